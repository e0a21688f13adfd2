"""gnubg as a player: where it is installed, and errors where it is not."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest

from bgdata.errors import ExternalProgramError, InvalidPositionError, UnknownPlayerError
from bgdata.evaluation import gnubg
from bgdata.evaluation.chances import AnswerSource, Evaluator, cubeless_equities
from bgdata.evaluation.gnubg import GnubgPlayer, GnubgServer, gnubg_version, require_gnubg
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.player import open_named_player
from bgdata.game.codec import flip_boards
from bgdata.game.dice import roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from bgdata.kernel import threads
from tests.game.gnubg_rules import after_moves
from tests.oracles import ask_gnubg, needs_gnubg_tool
from tests.random_games import random_game_positions


@needs_gnubg_tool("gnubg")
def test_gnubg_is_opened_by_name() -> None:
    player = open_named_player("gnubg")
    assert player.label == "gnubg-0ply"
    assert player.version == f"{gnubg_version()}-external"
    assert repr(player) == "GnubgPlayer(gnubg-0ply)"


@needs_gnubg_tool("gnubg")
def test_gnubg_chooses_known_opening_plays() -> None:
    boards, rolls = np.array([START.board] * 3, np.int8), np.array([[3, 1], [4, 2], [6, 1]], np.int8)
    chosen = flip_boards(GnubgPlayer().choose_plays(boards, rolls)).tolist()
    expected = [
        START.play(play, roll).flip() for play, roll in (("8/5 6/5", "31"), ("8/4 6/4", "42"), ("13/7 8/7", "61"))
    ]
    assert chosen == [list(position.board) for position in expected]


@needs_gnubg_tool("gnubg")
def test_gnubg_chooses_legal_plays() -> None:
    """42 decisions cannot be shared evenly by its processes."""
    games = random_game_positions(1, seed=9)
    boards, rolls = games.boards[:42], games.rolls[:42]
    chosen = flip_boards(GnubgPlayer().choose_plays(boards, rolls)).tolist()
    for board, roll, after_play in zip(boards.tolist(), rolls.tolist(), chosen, strict=True):
        assert tuple(after_play) in {play.after_play.board for play in legal_plays(Position(board), roll_of(*roll))}


@needs_gnubg_tool("gnubg")
@pytest.mark.parametrize("ply", [0, 1])
def test_gnubg_evaluates_for_the_player_on_roll(ply: int) -> None:
    bearoff = [0, 0, 1, 0, 0, 1, *[0] * 16, -1, -1, 0, 0]  # in its two-sided database
    won_gammon = [0, 1, 0, 0, 0, 0, *[0] * 13, -15, *[0] * 6]
    boards = np.array([START.board, START.board, bearoff, won_gammon], np.int8)
    player = GnubgPlayer(ply)
    assert isinstance(player, Evaluator)
    evaluations = player.evaluate_many(boards)
    assert (evaluations.sources == AnswerSource.PROGRAM).all()
    start, repeated, of_bearoff, of_gammon = evaluations.chances
    win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = start
    assert 0.5 < win < 0.56
    assert 0.10 < lose_gammon < win_gammon < 0.17
    assert 0 < lose_backgammon < win_backgammon < 0.02
    assert repeated.tobytes() == start.tobytes()
    assert of_bearoff == pytest.approx([0.671125, 0, 0, 0, 0], abs=1e-4)
    assert of_gammon == pytest.approx([1, 1, 0, 0, 0], abs=1e-4)
    assert player.accuracy == {AnswerSource.PROGRAM: f"GNU Backgammon {gnubg_version()}, its {ply}-ply"}


SCRIPT = """
import gnubg, json
for command in ["set player 0 human", "set player 1 human", "set automatic game off", "new session", "set jacoby off"]:
    gnubg.command(command)
info = gnubg.cubeinfo(1, -1, 1, 0, (0, 0), 0)
info['jacoby'] = 0
context = gnubg.evalcontext(0, PLY, 1, 0, 0.0)
for rows, dice in json.load(open("questions.json")):
    chances = gnubg.evaluate(rows, info, context)[:5]
    tell(json.dumps([chances, gnubg.findbestmove(rows, info, context, tuple(dice))]))
"""


@needs_gnubg_tool("gnubg")
@pytest.mark.parametrize("ply", [0, 1])
def test_server_answers_equal_gnubgs_scripts(ply: int, tmp_path: Path) -> None:
    """Chances to six decimals, and plays of equal value, because gnubg may choose another of equal plays."""
    games = random_game_positions(20, seed=4)
    boards, rolls = games.boards[::97][:40], games.rolls[::97][:40]
    positions = [Position(board) for board in boards.tolist()]
    questions = [
        ([list(row) for row in position.rows], roll) for position, roll in zip(positions, rolls.tolist(), strict=True)
    ]
    (tmp_path / "questions.json").write_text(json.dumps(questions))
    answers = [json.loads(line) for line in ask_gnubg(SCRIPT.replace("PLY", str(ply)), tmp_path)]
    player = GnubgPlayer(ply)
    assert np.abs(player.evaluate_many(boards).chances - [chances for chances, _ in answers]).max() < 6e-7

    by_script = [after_moves(position, moves).flip() for position, (_, moves) in zip(positions, answers, strict=True)]
    after_script = player.evaluate_many(np.array([position.board for position in by_script], np.int8)).chances
    after_server = player.evaluate_many(player.choose_plays(boards, rolls)).chances
    assert cubeless_equities(after_server) == pytest.approx(cubeless_equities(after_script), abs=1e-6)


@needs_gnubg_tool("gnubg")
def test_dead_process_is_replaced() -> None:
    player = GnubgPlayer()
    board = np.array([START.board], np.int8)
    chances = player.evaluate_many(board).chances
    player._servers[0].close()
    with pytest.raises(ExternalProgramError, match="expected gnubg to"):
        player.evaluate_many(board)
    assert player.evaluate_many(board).chances.tobytes() == chances.tobytes()
    assert pickle.loads(pickle.dumps(player)).evaluate_many(board).chances.tobytes() == chances.tobytes()


@needs_gnubg_tool("gnubg")
def test_process_ends_when_its_parent_is_killed() -> None:
    code = (
        "import os; from bgdata.evaluation.gnubg import GnubgServer; from bgdata.game.position import START;"
        "server = GnubgServer(0); server.chances(START); print(server.process_id, flush=True); os.kill(os.getpid(), 9)"
    )
    parent = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    process_id = int(parent.stdout)
    deadline = time.monotonic() + 30
    while psutil.pid_exists(process_id) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not psutil.pid_exists(process_id)


@needs_gnubg_tool("gnubg")
def test_stopped_process_times_out() -> None:
    """`close` kills it without waiting for an answer."""
    server = GnubgServer(0, patience_seconds=0.2)
    os.kill(server.process_id, signal.SIGSTOP)
    for _ in range(2):
        with pytest.raises(ExternalProgramError, match=r"^expected a line of gnubg within 0\.2 s, got none$"):
            server.chances(START)
    server.close()
    assert not psutil.pid_exists(server.process_id)


# it listens where its commands say, ignores requests to end, and sends an answer
FAKE_GNUBG = """\
import re, signal, socket, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
listening = socket.socket(socket.AF_UNIX)
if ANSWER:
    listening.bind(re.search("external (.*)", open(sys.argv[-1]).read())[1])
    listening.listen()
    connection, _ = listening.accept()
    connection.recv(4096)
    connection.sendall(ANSWER)
time.sleep(600)
"""


@pytest.fixture
def fake_gnubg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """A function that replaces gnubg by a program that sends an answer."""

    def install(answer: bytes) -> None:
        path = tmp_path / "gnubg"
        path.write_text(f"#!{sys.executable}\n" + FAKE_GNUBG.replace("ANSWER", repr(answer)))
        path.chmod(0o755)
        monkeypatch.setattr(gnubg, "require_gnubg", lambda: str(path))

    monkeypatch.setattr(gnubg, "END_SECONDS", 0.2)
    return install


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"0.5 0.1", r"expected a line of gnubg within 2 s, got none, only '0\.5 0\.1'"),
        (b"0.5 0.1\n", r"expected five chances of gnubg for 4HPwATDgc/ABMA, got '0\.5 0\.1'"),
        (b"Error\n", "expected five chances of gnubg for 4HPwATDgc/ABMA, got 'Error'"),
        (b"9" * 5000 + b"\n", "expected lines of at most 4096 bytes, got a longer one, in the answer of gnubg to .*"),
    ],
    ids=["half a line", "two chances", "error", "long line"],
)
def test_invalid_answers_are_refused(fake_gnubg: Callable[[bytes], None], answer: bytes, message: str) -> None:
    fake_gnubg(answer)
    server = GnubgServer(0, patience_seconds=2)
    with pytest.raises(ExternalProgramError, match=f"^{message}$") as raised:
        server.chances(START)
    assert len(str(raised.value)) < 400
    server.close()
    assert not psutil.pid_exists(server.process_id)


@pytest.mark.parametrize("is_pickled", [False, True])
def test_silent_player_times_out(
    fake_gnubg: Callable[[bytes], None], monkeypatch: pytest.MonkeyPatch, is_pickled: bool
) -> None:
    """New processes answer the next questions."""
    monkeypatch.setattr(gnubg, "gnubg_version", lambda: "1.07.001")
    fake_gnubg(b"0.5 0.1")
    player = GnubgPlayer(0, patience_seconds=0.5)
    if is_pickled:
        player = pickle.loads(pickle.dumps(player))
    message = r"^expected a line of gnubg within 0\.5 s, got none"
    with threads(2), pytest.raises(ExternalProgramError, match=message):
        player.evaluate_many(np.array([START.board] * 2, np.int8))
    assert player._servers == []


def test_default_patience_is_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gnubg, "gnubg_version", lambda: "1.07.001")
    assert GnubgPlayer().patience_seconds == 600


def test_program_that_ends_or_never_listens_is_refused(
    fake_gnubg: Callable[[bytes], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_gnubg(b"")
    monkeypatch.setattr(gnubg, "START_SECONDS", 0.5)
    with pytest.raises(ExternalProgramError, match=r"^expected gnubg to listen within 0\.5 s, found none$"):
        GnubgServer(0)
    monkeypatch.setattr(gnubg, "START_SECONDS", 60)  # a program that ends is noticed at once
    monkeypatch.setattr(gnubg, "require_gnubg", lambda: "/bin/false")
    with pytest.raises(ExternalProgramError, match=r"^expected gnubg to listen within 60 s, found none$"):
        GnubgServer(0)


@needs_gnubg_tool("gnubg")
def test_plays_are_ranked_by_gnubg() -> None:
    best, *others = LookaheadPlayer(GnubgPlayer()).rank_plays(START, "31")
    assert str(best.play) == "8/5 6/5"
    assert best.evaluation.source is AnswerSource.PROGRAM
    assert 0.1 < best.evaluation.cubeless_equity < 0.25
    assert len(others) == 15
    assert others[0].loss > 0.05


@needs_gnubg_tool("gnubg")
def test_no_positions_need_no_process() -> None:
    player = GnubgPlayer(1)
    assert player.choose_plays(np.empty((0, 26), np.int8), np.empty((0, 2), np.int8)).shape == (0, 26)
    assert player.evaluate_many(np.empty((0, 26), np.int8)).chances.shape == (0, 5)
    assert player.label == "gnubg-1ply"
    with pytest.raises(InvalidPositionError, match="in row 0"):
        player.evaluate_many(np.array([[0, 16, *[0] * 24]], np.int8))


@needs_gnubg_tool("gnubg")
def test_failing_script_is_refused(tmp_path: Path) -> None:
    """gnubg itself exits with 0."""
    assert ask_gnubg("tell(1)\ntell('x y')", tmp_path) == ["1", "x y"]
    for script in ("tell(1)\nraise ValueError('no')", "import sys\nsys.exit(3)", "tell("):
        with pytest.raises(ExternalProgramError, match="expected gnubg to answer every question, found: "):
            ask_gnubg(script, tmp_path)


@pytest.mark.parametrize("ply", [-1, 5])
def test_invalid_ply_is_refused(ply: int) -> None:
    with pytest.raises(UnknownPlayerError, match=f"expected --ply 0 to 4 for gnubg, got {ply}"):
        GnubgPlayer(ply)


@pytest.mark.parametrize("function", [require_gnubg, gnubg_version, GnubgPlayer])
def test_missing_gnubg_is_refused(monkeypatch: pytest.MonkeyPatch, function: Callable[[], object]) -> None:
    gnubg_version.cache_clear()
    monkeypatch.setattr(gnubg, "find_gnubg_tool", lambda _: None)
    message = r"expected GNU Backgammon on this machine, found none \(Debian package gnubg\)"
    with pytest.raises(UnknownPlayerError, match=message):
        function()
