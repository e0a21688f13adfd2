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
from bgdata.game.plays import legal_plays, parse_play
from bgdata.game.position import START, Position
from bgdata.kernel import threads
from tests.game.gnubg_rules import after_moves
from tests.oracles import ask_gnubg, needs_gnubg_tool
from tests.random_games import random_game_positions


@pytest.mark.parametrize(
    ("position", "roll", "play", "moves"),
    [
        (START, "31", "8/5 6/5", [8, 5, 6, 5]),
        (START, "66", "24/18(2) 13/7(2)", [24, 18, 24, 18, 13, 7, 13, 7]),
        (Position([0, *[0] * 3, 1, 1, *[0] * 18, -1, 0]), "64", "5/off 4/off", [5, 0, 4, 0]),
        (Position([0, *[0] * 19, -1, -1, 0, 0, -1, 1]), "54", "bar/21*/16", [25, 21, 21, 16]),
        (Position([0, *[0] * 19, -1, -1, 0, 0, -1, 1]), "54", "bar/20*/16", [25, 20, 20, 16]),
    ],
)
def test_plays_in_gnubgs_notation(position: Position, roll: str, play: str, moves: list[int]) -> None:
    assert after_moves(position, moves) == parse_play(play, position, roll).after_play


def test_play_is_empty_without_a_legal_play() -> None:
    assert after_moves(START, []) == START


@needs_gnubg_tool("gnubg")
def test_gnubg_chooses_known_opening_plays() -> None:
    """gnubg chooses known best plays of the opening, and legal plays of random positions, in batches that its processes
    cannot share evenly."""
    games = random_game_positions(1, seed=9)
    boards = np.vstack([np.array([START.board] * 3, np.int8), games.boards[:39]])
    rolls = np.vstack([np.array([[3, 1], [4, 2], [6, 1]], np.int8), games.rolls[:39]])
    player = open_named_player("gnubg")
    assert (player.label, player.version) == ("gnubg-0ply", f"{gnubg_version()}-external")
    assert repr(player) == "GnubgPlayer(gnubg-0ply)"
    chosen = flip_boards(player.choose_plays(boards, rolls)).tolist()
    for row, play in enumerate(("8/5 6/5", "8/4 6/4", "13/7 8/7")):
        assert tuple(chosen[row]) == parse_play(play, START, roll_of(*rolls[row].tolist())).after_play.board
    for board, roll, found in zip(boards.tolist(), rolls.tolist(), chosen, strict=True):
        assert tuple(found) in {play.after_play.board for play in legal_plays(Position(board), roll_of(*roll))}


# a won gammon, a lost backgammon, a race in its two-sided database, a certain gammon won, and one lost
OVER = [[0] * 18 + [-15] + [0] * 7, [0] * 24 + [1, 14]]
BEAROFF = [0, 0, 1, 0, 0, 1, *[0] * 16, -1, -1, 0, 0]
GAMMON = [0, 1, 0, 0, 0, 0, *[0] * 13, -15, *[0] * 6]


@needs_gnubg_tool("gnubg")
@pytest.mark.parametrize("ply", [0, 1])
def test_gnubg_evaluates_for_the_player_on_roll(ply: int) -> None:
    """gnubg's chances are for the player on roll and repeatable; the rules evaluate finished games."""
    player = GnubgPlayer(ply)
    assert isinstance(player, Evaluator)
    boards = np.array([START.board, *OVER, BEAROFF, GAMMON, START.board], np.int8)
    chances, sources = player.evaluate_many(boards)
    program, over = AnswerSource.PROGRAM, AnswerSource.OVER
    assert sources.tolist() == [program, over, over, program, program, program]
    assert chances[1:3].tolist() == [[1, 1, 0, 0, 0], [0, 0, 0, 1, 1]]
    start = chances[0]
    assert 0.5 < start[0] < 0.56
    assert 0.10 < start[3] < start[1] < 0.17
    assert 0 < start[4] < start[2] < 0.02
    assert chances[5].tobytes() == start.tobytes()
    assert chances[3] == pytest.approx([0.671125, 0, 0, 0, 0], abs=1e-4)
    assert chances[4] == pytest.approx([1, 1, 0, 0, 0], abs=1e-4)
    assert player.accuracy == {program: f"GNU Backgammon {gnubg_version()}, its {ply}-ply"}


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
    """The server gives the chances of gnubg's scripts to six decimals, and plays of equal value, because gnubg may
    choose another of equal plays."""
    games = random_game_positions(20, seed=4)
    boards, rolls = games.boards[::97][:40], games.rolls[::97][:40]
    positions = [Position(board) for board in boards.tolist()]
    rows = [[list(row) for row in position.rows] for position in positions]
    (tmp_path / "questions.json").write_text(json.dumps(list(zip(rows, rolls.tolist(), strict=True))))
    told = [json.loads(line) for line in ask_gnubg(SCRIPT.replace("PLY", str(ply)), tmp_path)]
    player = GnubgPlayer(ply)
    assert np.abs(player.evaluate_many(boards).chances - [chances for chances, _ in told]).max() < 6e-7
    theirs = [after_moves(position, moves).flip().board for position, (_, moves) in zip(positions, told, strict=True)]
    ours = player.choose_plays(boards, rolls)
    values = [player.evaluate_many(each).chances for each in (ours, np.array(theirs, np.int8))]
    assert cubeless_equities(values[0]) == pytest.approx(cubeless_equities(values[1]), abs=1e-6)


@needs_gnubg_tool("gnubg")
def test_dead_process_is_replaced() -> None:
    player = GnubgPlayer()
    board = np.array([START.board], np.int8)
    before = player.evaluate_many(board).chances
    player._servers[0].close()
    with pytest.raises(ExternalProgramError, match="expected gnubg to"):
        player.evaluate_many(board)
    assert player.evaluate_many(board).chances.tobytes() == before.tobytes()
    assert pickle.loads(pickle.dumps(player)).evaluate_many(board).chances.tobytes() == before.tobytes()


@needs_gnubg_tool("gnubg")
def test_process_ends_with_its_parent() -> None:
    """The process of gnubg ends when its parent ends or is killed."""
    code = (
        "import os; from bgdata.evaluation.gnubg import GnubgServer; from bgdata.game.position import START;"
        "server = GnubgServer(0); server.chances(START); print(server.process_id, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    number = int(done.stdout)
    until = time.monotonic() + 30
    while psutil.pid_exists(number) and time.monotonic() < until:
        time.sleep(0.05)
    assert not psutil.pid_exists(number)


@needs_gnubg_tool("gnubg")
def test_stopped_process_times_out() -> None:
    """A stopped process raises an error after the patience, and `close` kills it without waiting for an answer."""
    server = GnubgServer(0, patience_seconds=0.2)
    os.kill(server.process_id, signal.SIGSTOP)
    for _ in range(2):
        with pytest.raises(ExternalProgramError, match=r"^expected a line of gnubg within 0\.2 s, got none$"):
            server.chances(START)
    server.close()
    assert not psutil.pid_exists(server.process_id)


# a fake gnubg: it listens where its commands say, cannot be told to end, and then sends an answer
STAND_IN = """\
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
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Replace gnubg by a program that sends this answer."""

    def install(answer: bytes) -> None:
        path = tmp_path / "gnubg"
        path.write_text(f"#!{sys.executable}\n" + STAND_IN.replace("ANSWER", repr(answer)))
        path.chmod(0o755)
        monkeypatch.setattr(gnubg, "require_gnubg", lambda: str(path))

    monkeypatch.setattr(gnubg, "END_SECONDS", 0.2)
    return install


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"0.5 0.1", r"expected a line of gnubg within 2 s, got none, only '0\.5 0\.1'"),
        (b"0.5 0.1\n", r"expected five chances of gnubg for 4HPwATDgc/ABMA, got '0\.5 0\.1'"),
        (b"Error\n", "expected five chances of gnubg for 4HPwATDgc/ABMA, got 'Error'"),
        (b"\xff\xfe\n", "expected a line of text, got .*, in the answer of gnubg to 'evaluation fibsboard .*"),
        (b"9" * 5000 + b"\n", "expected lines of at most 4096 bytes, got a longer one, in the answer of gnubg to .*"),
    ],
    ids=["half", "two", "error", "binary", "long"],
)
def test_invalid_answers_are_refused(stand_in: Callable[[bytes], None], answer: bytes, words: str) -> None:
    stand_in(answer)
    server = GnubgServer(0, patience_seconds=2)
    with pytest.raises(ExternalProgramError, match=f"^{words}$") as raised:
        server.chances(START)
    assert len(str(raised.value)) < 400
    server.close()
    assert not psutil.pid_exists(server.process_id)


def test_silent_player_times_out(stand_in: Callable[[bytes], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """The player and its pickled copy respect their patience, and new processes answer the next questions."""
    monkeypatch.setattr(gnubg, "gnubg_version", lambda: "1.07.001")
    stand_in(b"0.5 0.1")
    player = GnubgPlayer(0, patience_seconds=0.5)
    board = np.array([START.board] * 2, np.int8)
    for asked in (player, pickle.loads(pickle.dumps(player))):
        with (
            threads(2),
            pytest.raises(ExternalProgramError, match=r"^expected a line of gnubg within 0\.5 s, got none"),
        ):
            asked.evaluate_many(board)
        assert asked._servers == []
    assert GnubgPlayer().patience_seconds == 600


def test_program_that_ends_or_never_listens_is_refused(
    stand_in: Callable[[bytes], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(b"")
    monkeypatch.setattr(gnubg, "START_SECONDS", 0.5)
    with pytest.raises(ExternalProgramError, match=r"^expected gnubg to listen within 0\.5 s, found none$"):
        GnubgServer(0)
    monkeypatch.setattr(gnubg, "START_SECONDS", 60)  # but the test does not wait that long
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
    """A script that fails raises an error although gnubg exits with 0."""
    assert ask_gnubg("tell(1)\ntell('x y')", tmp_path) == ["1", "x y"]
    for script in ("tell(1)\nraise ValueError('no')", "import sys\nsys.exit(3)", "tell("):
        with pytest.raises(ExternalProgramError, match="expected gnubg to answer every question, found: "):
            ask_gnubg(script, tmp_path)


def test_invalid_ply_is_refused() -> None:
    for ply in (-1, 5):
        with pytest.raises(UnknownPlayerError, match=f"expected --ply 0 to 4 for gnubg, got {ply}"):
            GnubgPlayer(ply)


def test_missing_gnubg_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    gnubg_version.cache_clear()
    monkeypatch.setattr(gnubg, "find_gnubg_tool", lambda _: None)
    message = r"expected GNU Backgammon on this machine, found none \(Debian package gnubg\)"
    for function in (require_gnubg, gnubg_version, GnubgPlayer):
        with pytest.raises(UnknownPlayerError, match=message):
            function()
