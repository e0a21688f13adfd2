"""UBGI: conversations, settings, and invalid lines."""

import random
import re
import socket
import subprocess
import sys
import threading
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bgdata import open_player
from bgdata.equity.cube import CubeRules
from bgdata.equity.match_equity import MatchEquity
from bgdata.errors import ExternalProgramError
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.player import open_named_player
from bgdata.evaluation.talk import Talk
from bgdata.game.dice import parse_roll
from bgdata.game.identifiers import format_xgid
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.match_state import MatchState, Offer, Side, format_gnubg_id
from bgdata.game.plays import legal_plays, parse_play
from bgdata.game.position import START, Position
from bgdata.game.xgid import Xgid
from bgdata.protocols.decisions import Decisions
from bgdata.protocols.ubgi import KEYS, UbgiEngine, format_moves
from tests.evaluation.sample_evaluators import Scrambled
from tests.stated_parts import CHANGES, CONTACT
from tests.subtests import each

PAGE = Path(__file__).parents[2] / "docs/how_to/speak_ubgi.md"


@pytest.fixture
def engine(player_root: Path) -> UbgiEngine:
    return UbgiEngine(Decisions(open_player(player_root), CubeRules()))


@pytest.fixture
def match_engine(player_root: Path, met: MatchEquity) -> UbgiEngine:
    """An engine that also plays matches, because it has a match equity table."""
    return UbgiEngine(Decisions(open_player(player_root), CubeRules(met=met)))


def simple_engine() -> UbgiEngine:
    """An engine that loads no files."""
    return UbgiEngine(Decisions(LookaheadPlayer(Scrambled())))


def test_conversation_for_money_has_known_answers(engine: UbgiEngine) -> None:
    hello = engine.answers("ubgi")
    assert hello[0] == "id name bgdata diverse-19"
    assert hello[-2:] == ["proto 0.2", "ubgiok"]
    assert engine.answers("isready") == ["readyok"]
    for line in ("newgame", f"position gnubgid {START.id}", "dice 3 1", ""):
        assert engine.answers(line) == []
    *infos, best = engine.answers("go chequer")
    assert best == "bestmove 8/5 6/5"
    assert len(infos) == 5
    assert infos[0].startswith("info multipv 1 score 0.")
    assert engine.answers("go role chequer")[-1] == best
    assert engine.answers("go")[-1] == best
    assert engine.answers("go cube")[-1] == "bestcube nodouble"
    assert engine.answers("go turn")[-1] == "bestturn cube=nodouble move=8/5 6/5"
    (chances,) = engine.answers("go eval")
    assert 0.5 < float(chances.split()[1]) < 0.56
    assert not engine.is_quit
    assert engine.answers("quit") == []
    assert engine.is_quit


def test_plies_trials_and_seeds_can_be_set(engine: UbgiEngine) -> None:
    for line in (f"position gnubgid {START.id}", "dice 6 2", "set engine.ply 2"):
        assert engine.answers(line) == []
    assert engine.answers("get engine.ply") == ["value engine.ply 2"]
    assert engine.answers("go") == engine.answers("go ply 2") != engine.answers("go ply 1")
    rollout = engine.answers("go trials 72 seed 1")
    assert engine.answers("go trials 72 seed 1") == rollout
    assert engine.answers("go trials 72 seed 2") != rollout
    assert "error 0.0" in rollout[0]
    assert "error 0.000000" not in rollout[0]
    assert engine.answers("go cube trials 72 seed 1")[-1] == "bestcube nodouble"
    assert engine.answers("go trials 70")[0].startswith("error bad_value expected a multiple of 36 trials")


def test_rollouts_bear_off_the_last_checkers(engine: UbgiEngine) -> None:
    for line in ("position xgid XGID=-AA---------------------b-:0:0:1:00:0:0:0:0:10", "dice 2 1"):
        assert engine.answers(line) == []
    won, lost, best = engine.answers("go trials 72")
    assert best == "bestmove 2/off 1/off"
    assert won.startswith("info multipv 1 score 1.000000 points error 0.000000")
    assert lost.startswith("info multipv 2 score -1.000000 points error 0.000000")


def test_example_session_of_the_page_is_repeated(engine: UbgiEngine) -> None:
    """The engine answers as the documentation shows: typed lines are not indented there, replies are. Of rollouts only
    the last line is compared, because values depend on the tables present."""
    (session,) = re.findall(r"```\n(ubgi\n.*?)```", PAGE.read_text(), re.DOTALL)
    for exchange in re.split(r"^(?=\S)", session, flags=re.MULTILINE)[1:]:
        typed, *replies = exchange.splitlines()
        answers, expected = engine.answers(typed), [line.strip() for line in replies]
        if "trials" in typed:
            assert answers[-1] == expected[-1]
        else:
            assert answers == expected


def position_of(stakes: Stakes, position: Position = START, *, is_doubled: bool = False) -> str:
    """The command that sets a position, in which the bottom side is on roll, and may have doubled."""
    state = MatchState.from_stakes(stakes)
    if is_doubled:
        state = replace(state, to_decide=Side.TOP, is_double_offered=True)
    return f"position xgid {Xgid(position, state)}"


def bearing_off(*points: int) -> Position:
    """A position in which the side on roll has only these checkers left; the other side wins with its next roll."""
    return Position([points.count(point) if point else 0 for point in range(24)] + [-1, 0])


MONEY, OWNED = Money(is_jacoby=False), Cube(2, CubeOwner.ON_ROLL)
WON, LIKELY, UNLIKELY, LOST = bearing_off(1), bearing_off(2, 2), bearing_off(6, 2), bearing_off(6, 6)  # 36, 26, 13, 4


@pytest.mark.parametrize(
    ("position", "stakes", "best"),
    [
        (START, Stakes(MONEY), "take"),
        (WON, Stakes(MONEY), "pass"),
        (WON, Stakes(MONEY, OWNED), "pass"),
        (WON, Stakes(MatchScore(3, 3)), "pass"),
        (LIKELY, Stakes(MONEY), "take"),  # 10/36 > 1/4
        (LIKELY, Stakes(MONEY, OWNED), "take"),
        (LIKELY, Stakes(MatchScore(2, 2)), "pass"),  # a pass is worth more than 10/36
        (UNLIKELY, Stakes(MatchScore(3, 3)), "take"),
    ],
)
def test_answer_to_a_double(match_engine: UbgiEngine, position: Position, stakes: Stakes, best: str) -> None:
    """Where one roll decides, the engine takes or passes correctly, for money and at scores, with centered and owned
    cubes."""
    assert match_engine.answers(position_of(stakes, position, is_doubled=True)) == []
    assert match_engine.answers("go cube")[-1] == f"bestcube {best}"


@pytest.mark.parametrize(("is_allowed", "best"), [("true", "beaver"), ("false", "take")])
def test_beaver_only_where_it_is_allowed(match_engine: UbgiEngine, is_allowed: str, best: str) -> None:
    """A double of a side that wins 13 of 36 games is beavered where beavers are allowed, and taken elsewhere, as in
    matches."""
    assert match_engine.answers(f"set game.beavers {is_allowed}") == []
    for stakes, expected in ((Stakes(MONEY), best), (Stakes(MONEY, OWNED), best), (Stakes(MatchScore(7, 7)), "take")):
        assert match_engine.answers(position_of(stakes, UNLIKELY, is_doubled=True)) == []
        assert match_engine.answers("go cube")[-1] == f"bestcube {expected}"


@pytest.mark.parametrize(("rules", "best"), [(2, "beaver"), (0, "take")])
def test_xgid_decides_about_beavers(engine: UbgiEngine, rules: int, best: str) -> None:
    state = replace(MatchState.from_stakes(Stakes(MONEY)), has_beavers=rules == 2)
    state = replace(state, to_decide=Side.TOP, is_double_offered=True)
    assert engine.answers(f"position xgid {Xgid(UNLIKELY, state)}") == []
    assert engine.answers("go cube")[-1] == f"bestcube {best}"


@pytest.mark.parametrize(
    ("position", "value", "side", "best"),
    [
        (UNLIKELY, 2, Side.BOTTOM, "take"),  # loses 10 of 36 games of 4 points rather than 2 points
        (LOST, 2, Side.BOTTOM, "pass"),
        (LOST, 4, Side.TOP, "take"),
        (WON, 4, Side.TOP, "pass"),
    ],
)
def test_answers_to_beavers(engine: UbgiEngine, position: Position, value: int, side: Side, best: str) -> None:
    """The doubling side answers a beaver, and the other side a raccoon."""
    state = MatchState(cube_value=value, cube_owner=Side.TOP, to_decide=side, is_double_offered=True)
    assert state.offer == (Offer.BEAVER if side == Side.BOTTOM else Offer.RACCOON)
    assert engine.answers(f"position gnubgid {format_gnubg_id(position, state)}") == []
    assert engine.answers("go cube")[-1] == f"bestcube {best}"


def cube_values(answers: list[str]) -> dict[str, float]:
    """The values of `info cube` lines by name."""
    words = answers[0].removeprefix("info cube ").split()
    return dict(zip(words[::2], map(float, words[1::2]), strict=True))


def test_values_of_a_match_are_winning_chances(match_engine: UbgiEngine) -> None:
    """At 2-away 2-away one roll decides the match after double and take."""
    ask = match_engine.answers
    assert ask("newgame") == ask(position_of(Stakes(MatchScore(2, 2)), LIKELY)) == []
    answers = ask("go cube")
    values = cube_values(answers)
    assert values["double_take"] == pytest.approx(26 / 36, abs=1e-4)
    assert 0.65 < values["double_pass"] < 0.71 < values["double_take"]
    assert answers[-1] == "bestcube double"
    assert ask("dice 2 1") == []
    *infos, best = ask("go")
    assert best == "bestmove 2/off 2/1"
    for info in infos:
        assert re.fullmatch(r"info multipv \d score 0\.\d{6} mwc error 0\.000000 pv .*", info)
    assert ask("go turn")[-1] == "bestturn cube=double move=2/off 2/1"


def test_crawford_game_has_no_double(match_engine: UbgiEngine) -> None:
    assert match_engine.answers(position_of(Stakes(MatchScore(1, 3, is_crawford=True)), LIKELY)) == []
    answers = match_engine.answers("go cube")
    assert cube_values(answers).keys() == {"no_double", "error"}
    assert answers[-1] == "bestcube nodouble"
    assert match_engine.answers("newgame") == []
    assert match_engine.answers("go cube") == ["error bad_state missing position"]


@each("change", list(CHANGES))
def test_every_xgid_field_matters(match_engine: UbgiEngine, change: str) -> None:
    """Two positions whose XGIDs differ in one field get different answers."""

    def answers(state: MatchState) -> list[str]:
        if change == "roll" and not state.roll:
            state = replace(state, roll=parse_roll("42"))
        lines = [f"position xgid {format_xgid(Position(CONTACT), state)}", "go chequer", "go cube", "go turn"]
        return [answer for line in lines for answer in match_engine.answers(line)]

    first, second = map(answers, CHANGES[change][:2])
    assert first != second
    assert not [answer for answer in first + second if answer.startswith("error")]


def test_engine_without_a_table_refuses_matches(engine: UbgiEngine) -> None:
    assert engine.answers(position_of(Stakes(MatchScore(2, 2)), LIKELY)) == []
    message = "error bad_value expected a match equity table for a match, got none"
    assert engine.answers("go cube")[0].startswith(message)


def test_keys_are_listed_and_set() -> None:
    engine = simple_engine()
    lines = engine.answers("keys")
    assert [line.split()[1] for line in lines] == ["game.variant", *KEYS]
    assert "key engine.seed int 0..4611686018427387904 0 ! of the dice of rollouts" in lines
    for line in ("set game.jacoby true", "setoption name game.beavers value on", "set game.variant backgammon"):
        assert engine.answers(line) == []
    assert engine.answers("get game.jacoby") == ["value game.jacoby true"]
    assert engine.answers("get game.variant") == ["value game.variant backgammon"]


@each(
    ("line", "error"),
    [
        ("hello", "bad_command expected one of ubgi isready newgame quit stop position dice go"),
        ("position", "bad_command expected position gnubgid ID or position xgid ID"),
        ("position gnubgid nonsense", "bad_value expected one of position id"),
        ("dice 3", "bad_value expected dice of 1 to 6"),
        ("dice 0 7", "bad_value expected dice of 1 to 6"),
        ("dice ² 3", "bad_value expected dice of 1 to 6"),
        ("go", "bad_state missing position"),
        ("go nowhere", "bad_command expected go chequer|cube|turn|eval, got 'nowhere'"),
        ("set", "bad_command expected set KEY VALUE"),
        ("set engine.ply 9", "bad_value engine.ply expected 1..4, got '9'"),
        ("set engine.ply ٣", "bad_value engine.ply expected 1..4"),
        ("set game.jacoby maybe", "bad_value game.jacoby expected true or false, got 'maybe'"),
        ("set game.variant nackgammon", "unsupported game.variant expected backgammon, got 'nackgammon'"),
        ("get colour", "unsupported expected a key among engine.ply"),
        ("setoption engine.ply 3", "bad_command expected setoption name KEY value VALUE"),
    ],
)
def test_invalid_lines_get_errors(line: str, error: str) -> None:
    (answer,) = simple_engine().answers(line)
    assert answer.startswith(f"error {error}")


def test_limits_of_every_key_can_be_set() -> None:
    engine = simple_engine()
    for name, key in KEYS.items():
        for number in (key.least, key.most) if key.kind == "int" else ():
            assert engine.answers(f"set {name} {number}") == []
            assert engine.answers(f"get {name}") == [f"value {name} {number}"]


def test_missing_state_gets_an_error() -> None:
    engine = simple_engine()
    engine.answers(f"position gnubgid {START.id}")
    assert engine.answers("go") == ["error bad_state missing dice"]
    assert engine.answers("go ply")[0].startswith("error bad_command expected ply, trials or seed and N, got 'ply'")
    assert engine.answers("go trials 72")[0].startswith("error bad_state missing dice")
    engine.answers("dice 3 1")
    assert engine.answers("go trials 72")[0].startswith("error bad_value expected a player with networks to roll out")


WORDS = ("ubgi", "isready", "newgame", "stop", "position", "gnubgid", "xgid", "dice", "go", "role", "chequer", "cube",
         "turn", "eval", "set", "setoption", "name", "value", "get", "keys", "engine.ply", "engine.seed", "ply", "seed",
         "1", "3", "6", "-1", "999999999999999999999", "true", START.id, "XGID=:::::::::", "4HPwATDgc/ABMA:zzz", "é",
         "\x7f")  # fmt: skip
UNANSWERED = ("newgame", "stop", "position", "dice", "set", "setoption")


def test_every_line_is_answered_or_changes_the_state() -> None:
    chance = random.Random(5)
    engine = simple_engine()
    errors = 0
    for _ in range(10_000):
        line = " ".join(chance.choices(WORDS, k=chance.randint(1, 6)))
        answers = engine.answers(line)
        errors += any(answer.startswith("error ") for answer in answers)
        assert answers or line.split()[0] in UNANSWERED, line
        assert all("\n" not in answer and len(answer) < 1000 for answer in answers), line
    assert errors > 3000


@pytest.mark.parametrize("roll", ["66", "31", "65"])
def test_moves_are_written_singly(roll: str) -> None:
    for play in legal_plays(START, roll):
        text = format_moves(play)
        assert parse_play(text, START, roll) == play
        assert not set("(*)") & set(text)


# a process, and a player that runs it

TINY_PROGRAM = """\
import sys
for line in sys.stdin:
    word = line.split()[0]
    if word == "ubgi": print("id name tiny\\nubgiok")
    elif word == "isready": print("readyok")
    elif word == "go": print(ANSWER)
    sys.stdout.flush()
"""


def engine_file(folder: Path, text: str, *settings: str) -> str:
    """Write an engine file that starts a Python program with this text."""
    (folder / "program.py").write_text(text)
    path = folder / "tiny.ubgi"
    path.write_text("\n".join([f"{sys.executable} {folder / 'program.py'}", *settings]))
    return str(path)


def tiny_engine_file(folder: Path, answer: str, *settings: str) -> str:
    return engine_file(folder, TINY_PROGRAM.replace("ANSWER", answer), *settings)


BOARD, ROLL = np.array([START.board], np.int8), np.array([[3, 1]], np.int8)


@pytest.mark.parametrize("answer", ["bestmove 8/5 6/5", "info x\\nbestmove 6-5 8-5"])
def test_any_engine_plays(answer: str, tmp_path: Path) -> None:
    player = open_named_player(tiny_engine_file(tmp_path, f'"{answer}"'))
    assert player.label == "tiny-0ply"
    expected = parse_play("8/5 6/5", START, "31").next_position.board
    assert player.choose_plays(BOARD, ROLL).tolist() == [list(expected)]
    assert len(player.version) == 8


@pytest.mark.slow
def test_our_engine_is_a_player_and_evaluator(player_root: Path, tmp_path: Path) -> None:
    """Through a process of its own, the engine gives the answers of the player that it runs."""
    path = tmp_path / "ours.ubgi"
    path.write_text(f"# ours\n{sys.executable} -m bgdata --warehouse {player_root} ubgi\nengine.seed 3\n")
    engine = open_named_player(str(path), 1)
    player = open_player(player_root, ply=1)
    assert engine.label == "ours-1ply"
    assert LookaheadPlayer(engine).evaluate(START).win == player.evaluate(START).win  # type: ignore[arg-type]
    assert engine.choose_plays(BOARD, ROLL).tolist() == player.choose_plays(BOARD, ROLL).tolist()


def test_command_answers_on_pipes(player_root: Path) -> None:
    """The command answers on pipes, though the input contains bytes that are not text, and ends within a line."""
    command = [sys.executable, "-m", "bgdata", "--warehouse", str(player_root), "ubgi"]
    result = subprocess.run(command, input=b"isready\n\xff\xfe\nisready\nisrea", capture_output=True, check=False)
    first, second, third = result.stdout.decode().splitlines()
    assert first == "readyok"
    assert second.startswith("error bad_command expected a line of text, got ")
    assert third == "readyok"
    assert result.returncode == 1
    assert b"expected the asking program to end its last line, found it gone after 'isrea'" in result.stderr


def test_line_of_100_megabytes_gets_one_error() -> None:
    ours, theirs = socket.socketpair()
    chunk = b"9" * (1 << 16)

    def send() -> None:
        theirs.sendall(b"isready\n")
        for _ in range(100_000_000 // len(chunk)):
            theirs.sendall(chunk)
        theirs.sendall(b"\nisready\n" + chunk)
        theirs.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send)
    tracemalloc.start()
    with ours, theirs:
        sender.start()
        talk = Talk(ours.fileno(), ours.fileno(), "somebody")
        answers = list[str]()
        with pytest.raises(ExternalProgramError, match="expected somebody to end its last line, found it gone after"):
            answers.extend(each for _, lines in simple_engine().conversation(talk) for each in lines)
        sender.join()
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    too_long = "error bad_command expected lines of at most 4096 bytes, got a longer one"
    assert answers == ["readyok", too_long, "readyok"]
    assert most_bytes < 2_000_000
