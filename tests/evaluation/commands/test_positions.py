"""`bgdata show`, `eval`, `hint` and `cube`: their output, every notation, and errors."""

import functools
import json
import re
import shutil
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_match import DATASET, MatchBearoffParameters
from bgdata.cli import main
from bgdata.cli.grammar import every_command
from bgdata.equity.cube import CubeRules
from bgdata.equity.doubling import Action, janowski, janowski_first, jump
from bgdata.equity.kinds.match_equity import PUBLISHED
from bgdata.equity.match_equity import find_met
from bgdata.evaluation.chances import AnswerSource
from bgdata.evaluation.commands.positions import describe_evaluation, describe_plays, describe_source
from bgdata.evaluation.lookahead_player import Evaluation, RankedPlay
from bgdata.evaluation.rows import ranked_rows
from bgdata.game.board_text import parse_board_text
from bgdata.game.dice import parse_roll
from bgdata.game.identifiers import identify
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.match_state import MatchState
from bgdata.game.position import START, Position
from tests.command_line import POSITION, error_of, output_of, position_id, run
from tests.evaluation.network_versions import random_networks, write_network
from tests.subtests import each

START_ID, KEY = "4HPwATDgc/ABMA", "OAHDPAABDAOAHDPAABDA"
XGID = "XGID=-b----E-C---eE---c-e----B-:0:0:1:{}:0:0:{}:0:10"  # roll, rules
NAMES = (START_ID, KEY, XGID.format("00", 0))
LIKE_START = (*NAMES, "4HPwATDgc/ABMA:cAkAAAAAAAAE", ",".join(map(str, START.board)))
BEAROFF_ID = "CgAAEAEAAAAAAA"
RANDOM = ("--network", "random")
MET = ("--met", "published-12")
MATCH = ("--away", "5-3", *MET)
JSON = ("--format", "json")
MONEY = Stakes(Money(is_jacoby=False))
SOLVED = "exact, solved for this position"
LOST = Position([0] * 18 + [-15] + [0] * 7)  # a gammon won by the opponent


@pytest.fixture(scope="module")
def root(player_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The player's warehouse with a match equity table."""
    root = tmp_path_factory.mktemp("cube") / "warehouse"
    shutil.copytree(player_root, root)
    bgdata.open_warehouse(root).build("match_equity", PUBLISHED)
    return root


def rows(root: Path, *arguments: str) -> Any:
    """The JSON of a command; nothing else is printed."""
    result = run(root, *arguments, *RANDOM, *JSON)
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    return json.loads(result.stdout)


def decision(root: Path, *arguments: str) -> dict[str, Any]:
    (found,) = rows(root, "cube", *arguments)
    assert isinstance(found, dict)
    return found


# ----------------------------------------------------------------- show


@pytest.mark.parametrize("text", LIKE_START)
def test_every_identifier_shows_the_same_position(tmp_path: Path, text: str) -> None:
    drawing, _, rest = output_of(tmp_path, "show", text).partition("\n\n")
    assert parse_board_text(drawing) == START
    assert all(identifier in rest for identifier in NAMES)
    assert "class        contact" in rest


def test_xgid_may_begin_with_a_minus(tmp_path: Path) -> None:
    """An XGID without its prefix is an argument and not an option, although it begins with a minus, as many sites give
    it."""
    text = NAMES[2].removeprefix("XGID=")
    for arguments in ([text], ["--", text]):
        assert START_ID in output_of(tmp_path, "show", *arguments)
    assert run(tmp_path, "show", "-b").exit_code == 2


def test_show_plays_and_pictures(tmp_path: Path) -> None:
    picture = tmp_path / "board.svg"
    lines = output_of(tmp_path, "show", START_ID, "--roll", "66", "--svg", str(picture)).splitlines()
    assert "11 plays of 66" in lines
    assert any(line.split() == ["24/18(2)", "13/7(2)", "4NvBwQDgc/ABMA"] for line in lines)
    assert picture.read_text().startswith("<svg")
    shown = output_of(tmp_path, "show", "start", "--roll", "31", "--play", "6/5, 8/5", "--svg", str(picture))
    assert "after 8/5 6/5, for the opponent: sGfwATDgc/ABMA" in shown
    assert picture.read_text() == START.svg("8/5 6/5", "31")


@pytest.mark.parametrize("form", ["table", "json"])
def test_beavers_of_an_xgid_are_kept(tmp_path: Path, form: str) -> None:
    """The shown identifiers keep the beaver of an XGID, and a note outside the data names the notations that leave it
    out."""
    found = run(tmp_path, "show", XGID.format("00", 3), "--format", form)
    assert XGID.format("00", 3) in found.stdout
    assert "4HPwATDgc/ABMA:cAkAAAAAAAAA" in found.stdout
    assert found.stderr == "match_id and gnubg_id do not say that beavers are allowed\n"
    assert run(tmp_path, "show", NAMES[2], "--format", form).stderr == ""


# ----------------------------------------------------------------- eval


@pytest.mark.parametrize("text", LIKE_START)
def test_eval_prints_the_player_evaluation(player_root: Path, text: str) -> None:
    found = bgdata.open_player(player_root, "random").evaluate(START)
    board, words, source = output_of(player_root, "eval", text, *RANDOM).split("\n\n")
    assert board.startswith(f"Position ID: {START_ID}\n+-13-")
    assert "X on roll" in board
    win, lose, equity = words.splitlines()
    numbers = [float(number) / 100 for number in re.findall(r"\d+\.\d\d", win + lose)]
    expected = [found.win, found.win_gammon, found.win_backgammon, 1 - found.win]
    assert numbers == pytest.approx([*expected, found.lose_gammon, found.lose_backgammon], abs=6e-5)
    assert equity == f"cubeless equity {found.cubeless_equity:+.4f}"
    assert " ".join(source.split()) == f"contact network, static: {found.accuracy}"


def test_eval_json_keeps_float32(player_root: Path) -> None:
    """The chances that are read from the JSON are the same float32 values that the player has."""
    found = bgdata.open_player(player_root, "random").evaluate(START)
    (printed,) = rows(player_root, "eval", START_ID)
    assert printed == {"position_id": START_ID} | vars(found) | {"source": "contact_network"}
    assert all(float(np.float32(value)) == value for value in printed.values() if isinstance(value, float))


def test_eval_looks_ahead(player_root: Path) -> None:
    found = bgdata.open_player(player_root, "random", ply=1).evaluate(START)
    shown = output_of(player_root, "eval", START_ID, *RANDOM, "--ply", "1")
    assert f"cubeless equity {found.cubeless_equity:+.4f}\n\ncontact network, 1 ply: " in shown
    assert found.cubeless_equity != bgdata.open_player(player_root, "random").evaluate(START).cubeless_equity


def test_eval_looks_a_bearoff_up_at_any_ply(player_root: Path) -> None:
    shown = output_of(player_root, "eval", BEAROFF_ID, *RANDOM, "--ply", "2")
    assert "win   67.11 %   with a gammon   0.00 %   backgammon  0.00 %\n" in shown
    assert "cubeless equity +0.3422" in shown
    assert "\ntwo-sided table: exact, bearoff_two_sided/6x3/r" in shown


def test_eval_of_a_finished_game_is_its_result(player_root: Path) -> None:
    shown = output_of(player_root, "eval", LOST.id, *RANDOM)
    assert "win  100.00 %   with a gammon 100.00 %   backgammon  0.00 %" in shown
    assert shown.endswith("cubeless equity +2.0000\n\nthe rules: the game is over\n")
    shown = output_of(player_root, "eval", Position([1, *[0] * 25]).id)  # the opponent has borne off fourteen
    assert "cubeless equity +1.0000" in shown


def evaluation(source: AnswerSource, ply: int, accuracy: str = "") -> Evaluation:
    return Evaluation(0.5, 0.25, 0.125, 0.0625, 0.03125, 0.28125, source, ply, accuracy)


@pytest.mark.parametrize(
    ("source", "ply", "text"),
    [
        (AnswerSource.OVER, 0, "the rules"),
        (AnswerSource.EXACT, 0, "two-sided table"),
        (AnswerSource.COMBINED, 0, "one-sided tables combined"),
        (AnswerSource.RACE_NETWORK, 0, "race network, static"),
        (AnswerSource.CRASHED_NETWORK, 1, "crashed network, 1 ply"),
        (AnswerSource.CONTACT_NETWORK, 2, "contact network, 2 plies"),
        (AnswerSource.PROGRAM, 0, "another program, static"),
    ],
)
def test_evaluation_names_its_source(source: AnswerSource, ply: int, text: str) -> None:
    assert describe_source(evaluation(source, ply)) == text
    assert describe_source(evaluation(source, ply, "roughly")) == f"{text}: roughly"


def test_evaluation_has_chances_in_percent() -> None:
    assert describe_evaluation(evaluation(AnswerSource.RACE_NETWORK, 0)).splitlines()[:3] == [
        "win   50.00 %   with a gammon  25.00 %   backgammon 12.50 %",
        "lose  50.00 %   with a gammon   6.25 %   backgammon  3.12 %",
        "cubeless equity +0.2812",
    ]


def test_long_accuracy_is_wrapped() -> None:
    text = describe_source(evaluation(AnswerSource.COMBINED, 0, "within -0.0279 to +0.0236 " * 12))
    assert len(text.splitlines()) == 3
    assert max(map(len, text.splitlines())) <= 118
    assert " ".join(text.split()).count("within -0.0279 to +0.0236") == 12


# ----------------------------------------------------------------- hint


@pytest.mark.parametrize("ply", ["0", "1"])
def test_hint_ranks_plays(player_root: Path, ply: str) -> None:
    """Text and JSON of `hint` list the plays in the order, and with the values, of `rank_plays`."""
    ranked = bgdata.open_player(player_root, "random", ply=int(ply)).rank_plays(START, "31")
    shown = output_of(player_root, "hint", START_ID, "31", *RANDOM, "--ply", ply, "--plays", "3")
    board, table, source = shown.split("\n\n")
    assert "X to play 31" in board
    head, *lines, more = table.splitlines()
    assert head.split()[:4] == ["ply", "play", "equity", "loss"]
    assert [line.split()[0] for line in lines] == ["1", "2", "3"]
    for line, row in zip(lines, ranked, strict=False):
        assert f" {row.evaluation.ply}  {row.play!s:<26}{row.evaluation.cubeless_equity:+8.4f}" in line
        assert f"{100 * row.evaluation.win:.1f} " in line
        assert (f"  {row.loss:.4f}   " in line) == (row is not ranked[0])
        assert row.loss >= 0
    assert more.split() == ["and", "13", "more"]
    assert source.startswith("contact network, ")
    printed = rows(player_root, "hint", START_ID, "31", "--ply", ply, "--plays", "99")
    found = [(row["play"], row["loss"], row["win"], row["source"]) for row in printed]
    assert found == [(str(row.play), row.loss, row.evaluation.win, "contact_network") for row in ranked]
    assert {(row["cubeful_equity"], row["mwc"]) for row in printed} == {(None, None)}


def test_hint_uses_the_roll_of_an_xgid(player_root: Path) -> None:
    given = output_of(player_root, "hint", XGID.format("31", 0), *RANDOM)
    assert "X to play 31" in given
    same = output_of(player_root, "hint", START_ID, "13", "--no-jacoby", *RANDOM)
    assert given.partition("\n\n")[2] == same.partition("\n\n")[2]
    assert "X to play 66" in output_of(player_root, "hint", XGID.format("31", 0), "66", *RANDOM)


def test_hint_without_a_legal_play(player_root: Path) -> None:
    closed_out = Position([0, 0, 0, 0, 0, 0, 2, *[0] * 12, -2, -2, -2, -2, -2, -2, 1])
    shown = output_of(player_root, "hint", closed_out.id, "65", *RANDOM, "--ply", "1")
    assert re.search(r"\n  1   1  no play  ", shown)
    assert "more" not in shown


def test_hint_has_aligned_columns(player_root: Path) -> None:
    ranked = bgdata.open_player(player_root, "random").rank_plays(START, "66")
    lines = describe_plays([*ranked_rows(START, parse_roll("66"), ranked[:11])], len(ranked) - 11).splitlines()
    assert len(lines) == 12
    assert len(set(map(len, lines))) == 1


def test_hint_uses_the_cube(root: Path) -> None:
    """`hint` prints cubeful equity, and mwc in a match, if options or an identifier give the stakes."""
    player = bgdata.open_player(root, "random")
    met = find_met(bgdata.open_warehouse(root), "published-12")
    score = Stakes(MatchScore(2, 4))
    rules = CubeRules(met=met)
    owned = Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.OPPONENT))
    best: RankedPlay | None = None
    for options, stakes, cube_rules in (
        (("--cube", "2", "--owner", "opponent"), owned, CubeRules()),
        (("--index", "0.2"), MONEY, CubeRules(janowski(0.2))),
        (("--away", "2-4", *MET), score, rules),
    ):
        best, *others = player.rank_plays(START, "21", stakes, cube_rules)
        for row, expected in zip(rows(root, "hint", START_ID, "21", *options), [best, *others], strict=False):
            assert (row["play"], row["loss"]) == (str(expected.play), expected.loss)
            assert row["cubeful_equity"] == pytest.approx(expected.cubeful_equity, abs=1e-6)
            assert row["mwc"] == (pytest.approx(expected.mwc, abs=1e-6) if expected.mwc else None)
    assert best
    assert best.mwc
    shown = output_of(root, "hint", START_ID, "21", "--away", "2-4", *MET, *RANDOM)
    assert re.search(r"\n +ply  play +equity +loss +mwc +win ", shown)
    assert f"{100 * best.mwc:.2f} %" in shown


# ----------------------------------------------------------------- cube


def test_exact_decision_is_explained(root: Path) -> None:
    """The answer of `cube` has the board, the action, a table of all actions, the gains, the source and the chances."""
    shown = output_of(root, "cube", BEAROFF_ID, *RANDOM)
    board, action, table, reasons, chances, _ = shown.split("\n\n")
    assert board.startswith(f"Position ID: {BEAROFF_ID}\n")
    assert "cube 1, money" in board
    assert action == "double, take"
    assert table.splitlines() == [
        "                   equity   change",
        "no double         +0.1605  -0.1605",
        "double, take      +0.3210",
        "double, pass      +1.0000  +0.6790",
    ]
    gains, source, _, points = reasons.splitlines()
    assert gains == "doubling gains 0.1605; to the opponent, taking gains 0.6790"
    assert source.startswith("exact, bearoff_two_sided/6x3/r")
    assert points.startswith("winning chances: take from 21.3 %, double from ")
    assert chances.startswith("win   67.11 %")
    assert all(line == line.rstrip() for line in shown.splitlines())


def test_owner_of_the_cube_limits_the_decision(root: Path) -> None:
    assert "\n\nno redouble\n\n" in output_of(root, "cube", BEAROFF_ID, *RANDOM, "--cube", "2", "--owner", "on_roll")
    shown = output_of(root, "cube", BEAROFF_ID, *RANDOM, "--owner", "opponent")
    assert "\n\nno cube decision: the opponent owns the cube\n\n" in shown
    assert "double, take" not in shown
    assert "winning chances: take from 21.3 %\n" in shown


def test_decisions_in_a_match_are_explained(root: Path) -> None:
    """At a match score `cube` prints mwc in percent and names the model, or says that the race was solved."""
    shown = output_of(root, "cube", START_ID, *RANDOM, *MATCH)
    assert "5-away" in shown
    assert re.search(r"\n +mwc change +equity\nno double  +\d+\.\d\d %", shown)
    model = "Janowski's model, cube life index 0.7 (free doubles 0.97), published-12"
    assert f"\n{model}\nwinning chances: take from " in shown
    met = find_met(bgdata.open_warehouse(root), "published-12")
    found = bgdata.open_player(root, "random").decide_cube(START, Stakes(MatchScore(5, 3)), CubeRules(met=met))
    assert f"no double       {100 * found.no_double:7.2f} %" in shown
    _, action, table, reasons, _, _ = output_of(root, "cube", POSITION, *MATCH, *RANDOM).split("\n\n")
    assert action == "double, pass"
    assert table.splitlines()[0].split() == ["mwc", "change", "equity"]
    _, source, last, points = reasons.splitlines()
    assert source == SOLVED
    assert last == f"winning chances are those of {model}"
    assert points.startswith("winning chances: take from ")


@each(
    ("arguments", "stakes", "rules"),
    [
        ((), MONEY, CubeRules()),
        (("--jacoby",), Stakes(Money(is_jacoby=True)), CubeRules()),
        (("--jacoby", "--beavers"), Stakes(Money(is_jacoby=True)), CubeRules(has_beavers=True)),
        (("--index", "0.5"), MONEY, CubeRules(janowski(0.5))),
        (("--model", "jump"), MONEY, CubeRules(jump())),
        (("--model", "janowski-first", "--index", "0.8"), MONEY, CubeRules(janowski_first(0.8))),
        (("--model", "jump", "--volatility", "0.05"), MONEY, CubeRules(jump(0.05))),
        (("--owner", "on_roll"), Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.ON_ROLL)), CubeRules()),
        (("--cube", "4"), Stakes(Money(is_jacoby=False), Cube(4, CubeOwner.ON_ROLL)), CubeRules()),
        (("--away", "2-3", "--as-money"), Stakes(MatchScore(2, 3)), CubeRules(as_money=True)),
    ],
)
def test_options_are_stakes_and_rules(root: Path, arguments: tuple[str, ...], stakes: Stakes, rules: CubeRules) -> None:
    expected = bgdata.open_player(root, "random").decide_cube(START, stakes, rules)
    found = decision(root, START_ID, *arguments)
    for name in ("no_double", "double_take", "double_beaver", "accuracy"):
        assert found[name] == getattr(expected, name)
    assert (found["cube_value"], found["cube_owner"]) == (stakes.cube.value, stakes.cube.owner)
    assert found["best"] == [Action(action).name.lower() for action in expected.best]


def test_options_override_the_stakes_of_identifiers(root: Path) -> None:
    """An option replaces the score or cube in an identifier; --crawford alone applies to the identifier's score."""
    names = identify(START, MatchState.from_stakes(Stakes(MatchScore(5, 3), Cube(2, CubeOwner.ON_ROLL)), length=7))
    expected = decision(root, START_ID, *MATCH, "--cube", "2", "--owner", "on_roll")
    assert (expected["away"], expected["opponent_away"], expected["is_crawford"]) == (5, 3, False)
    for text in (names["gnubg_id"], names["xgid"]):
        assert decision(root, text, *MET) == expected
    other = decision(root, names["xgid"], *MET, "--owner", "opponent")
    assert (other["cube_value"], other["cube_owner"], other["double_take"]) == (2, "opponent", None)
    names = identify(START, MatchState.from_stakes(Stakes(MatchScore(1, 3)), length=7))
    crawford = decision(root, START_ID, *MET, "--away", "1-3", "--crawford")
    assert decision(root, names["xgid"], *MET, "--crawford") == crawford
    assert decision(root, names["gnubg_id"], *MET, "--away", "5-3") == decision(root, START_ID, *MATCH)


def test_xgid_sets_the_rules(root: Path) -> None:
    for rules, is_jacoby, has_beavers in ((0, False, False), (1, True, False), (3, True, True)):
        found = decision(root, XGID.format("00", rules))
        assert found["is_jacoby"] == is_jacoby
        assert (found["double_beaver"] is not None) == has_beavers
    assert decision(root, XGID.format("00", 3), "--no-jacoby", "--no-beavers") == decision(root, START_ID)
    on_the_bar = "XGID=aa----E-C---eE---c-e----B-:0:0:1:00:0:0:3:0:10"
    assert decision(root, on_the_bar.removeprefix("XGID=")) == decision(root, on_the_bar)


def test_crawford_game_has_no_cube_decision(root: Path) -> None:
    for text, method in ((START_ID, "janowski"), (POSITION, "exact")):
        found = decision(root, text, "--away", "1-5", "--crawford", *MET)
        assert (found["is_crawford"], found["best"], found["double_take"]) == (True, ["no_double"], None)
        assert (found["method"], found["why_not"]) == (method, "nobody doubles in the crawford game")
    assert decision(root, START_ID, "--away", "5-1", *MET)["why_not"] == ""


def test_answers_at_a_score_equal_those_of_its_table(root: Path, tmp_path: Path) -> None:
    """A race that is solved on demand has the same answers as the table that was built for its score."""
    own = tmp_path / "warehouse"
    shutil.copytree(root, own)
    table = bgdata.open_warehouse(own).build(DATASET.name, MatchBearoffParameters(3, 3, 5, 3, met="published-12"))
    solved, looked_up = decision(root, POSITION, *MATCH), decision(own, POSITION, *MATCH)
    assert (solved["method"], solved["unit"], solved["accuracy"]) == ("exact", "mwc", SOLVED)
    assert looked_up["accuracy"] == f"exact, {table.name}: each mwc within 3e-08"
    assert solved["best"] == looked_up["best"]
    for name in ("no_double", "double_take", "double_pass"):
        assert solved[name] == pytest.approx(looked_up[name], abs=6e-8)


@each(
    ("method", "arguments"),
    [
        ("exact", (position_id([2, 2], [1]), *MATCH)),  # beyond the table for money
        ("exact", (position_id([2, 2, 0, 0, 0, 0, 0, 1], [1]),)),  # a checker outside the home board
        ("exact", (POSITION, *MATCH, "--cube", "512", "--owner", "on_roll")),
        ("janowski", (POSITION, *MATCH, "--model", "janowski")),
        ("janowski", (POSITION, "--model", "janowski")),
        ("jump", (POSITION, "--model", "jump")),
        ("janowski", (position_id([0] * 24 + [1], [1]), *MATCH)),  # on the bar
        ("janowski", (position_id([15], [0, 1]), *MATCH)),  # a gammon may be lost
        ("janowski", (START_ID, *MATCH)),
    ],
)
def test_decision_names_its_source(root: Path, method: str, arguments: tuple[str, ...]) -> None:
    assert decision(root, *arguments)["method"] == method


def test_match_as_money_uses_the_money_table(root: Path) -> None:
    as_money, money = decision(root, POSITION, "--away", "5-3", "--as-money"), decision(root, POSITION)
    names = ("method", "accuracy", "no_double", "double_take", "double_pass", "unit")
    assert [as_money[name] for name in names] == [money[name] for name in names]
    assert money["method"] == "exact"


def test_match_equity_table_may_be_a_file(root: Path, tmp_path: Path) -> None:
    """With a match equity table from a file, for which no bearoff table exists, the race is solved, and its mwc is that
    by the same table in the warehouse."""
    path = tmp_path / "other.xml"
    output_of(root, "export", "met", "published-12", "-o", str(path))
    found = decision(root, POSITION, "--away", "5-3", "--met", str(path))
    assert found["accuracy"] == SOLVED
    assert found["no_double"] == pytest.approx(decision(root, POSITION, *MATCH)["no_double"], abs=1e-5)


# ----------------------------------------------------------------- wrong inputs


@pytest.fixture(scope="module")
def corrupted_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with a valid network/random, a truncated network, and one with other inputs."""
    root = tmp_path_factory.mktemp("corrupted")
    good = random_networks(7)
    write_network(root, "random", good)
    write_network(root, "cut", good._replace(weights=good.weights[:-1]))
    shapes = good.shapes.copy()
    shapes[0, 1] = 196
    write_network(root, "other", good._replace(shapes=shapes))
    return root


FAILURES: list[tuple[list[str], int, str]] = [
    (
        ["show", "nope"],
        2,
        "expected one of position id, gnubg id, 20-letter key, xgid, opengammon id, 26 integers, start; as ",
    ),
    (["show", START_ID, "--roll", "70"], 2, "expected two dice such as '31', got '70'"),
    (["show", "start", "--roll", "31", "--play", "6/1"], 2, "expected a legal play "),
    (
        ["eval", "nope", *RANDOM],
        2,
        "expected one of position id, gnubg id, 20-letter key, xgid, opengammon id, 26 integers, start; ",
    ),
    (["eval", "4HPwATDgc/ABM!", *RANDOM], 2, "expected one of .*; as position id: expected letters of a position id"),
    (["eval", START_ID, "--network", "none"], 1, r"no network/none in .* \(have: cut, other, random\)"),
    (["eval", START_ID, "--network", "cut"], 1, "expected networks that bgdata can read in network/cut/.*, found w"),
    (["eval", START_ID, "--network", "other"], 1, "expected .*, found other inputs of the race network: 196 of "),
    (["hint", START_ID, *RANDOM], 2, f"expected a roll after the position, such as 31, got none with '{START_ID}'"),
    (["hint", START_ID, "70", *RANDOM], 2, "expected two dice such as '31', got '70'"),
    (["hint", "nope", "31", *RANDOM], 2, "expected one of position id, "),
    (["play", "--network", "none", "--seed", "1"], 1, "no network/none in "),
    (["play", *RANDOM, "--watch", "nobody"], 2, "expected a player among random, pubeval, .*, got nobody"),
]
CUBE_FAILURES: list[tuple[list[str], int, str]] = [
    (["nope"], 2, "expected one of position id, gnubg id"),
    ([LOST.id], 2, "expected a game in progress, got .*, in which the .* has borne off every checker"),
    ([START_ID, "--cube", "1", "--owner", "on_roll"], 2, "expected a cube of 1 to be centered, got owner 'on_roll'"),
    ([START_ID, "--cube", "3"], 2, "expected a power of two as cube value, got 3"),
    ([START_ID, *MATCH, "--cube", "2", "--owner", "centered"], 2, "expected a centered cube of 1 in a match, got 2"),
    ([START_ID, "--away", "1-5", "--crawford", "--cube", "2", "--owner", "opponent"], 2,
     "expected a centered cube of 1 in the crawford game, got a cube of 2, owned by the opponent"),
    ([START_ID, *MATCH, "--as-money", *MET], 2, "expected either --as-money or --met, got both"),
    ([START_ID, "--away", "4-5", "--crawford"], 2, "expected one side at 1-away in the "),
    ([START_ID, "--crawford"], 2, "expected --away with --crawford, got none"),
    ([START_ID, "--away", "3:2"], 2, "expected points that the player on roll and the opponent need, .*, got '3:2'"),
    ([START_ID, "--away", "0-2"], 2, "expected at least 1 point to go for each side, got 0-away 2-away"),
    ([START_ID, "--away", "15-15", *MET], 2, "expected at most 12 points to go, as publi"),
    ([START_ID, *MATCH, "--jacoby"], 2, "expected the jacoby rule in money play only, got it at 5-away 3-away"),
    ([START_ID, *MATCH, "--beavers"], 2, "expected beavers in money play only, got them at 5-away 3-away"),
    ([START_ID, *MATCH, "--model", "janowski-first"], 2, "expected a model that knows match scores, got janowski-f"),
    ([START_ID, "--jacoby", "--model", "janowski-first"], 2, "expected a model that knows the jacoby rule, got "),
    ([START_ID, "--index", "1.5"], 2, "expected a cube life index from 0 to 1, got 1.5"),
    ([START_ID, "--index", "nan"], 2, "expected a cube life index from 0 to 1, got nan"),
    ([START_ID, "--model", "jump", "--volatility", "0.9"], 2, "expected a jump volatility from 0 to 0.25, got 0.9"),
    ([START_ID, "--model", "jump", "--index", "0.5"], 2, "expected --index with the janowski model, got it with jump"),
    ([START_ID, "--local"], 2, "expected --local with --model jump, got it with janowski"),
    ([START_ID, "--volatility", "0.1"], 2, "expected --volatility with --model jump, got it with janowski: 0.1"),
    ([START_ID, *MET], 2, "expected a match with --met, got money play"),
    ([START_ID, "--as-money"], 2, "expected a match with --as-money, got money play"),
    ([START_ID, "--away", "6-5", "--met", "none"], 1, r"no match equity table none in .*\(have: pub"),
    (["XGID=-b----E-C---eE---c-e----B-:1:-1:1:B:0:0:3:0:10"], 2,
     "expected a position before a double or its answer, got a beaver in XGID="),
]  # fmt: skip


@each(("arguments", "code", "message"), FAILURES)
def test_wrong_arguments_are_refused(corrupted_root: Path, arguments: list[str], code: int, message: str) -> None:
    assert re.match(f".*{message}", error_of(run(corrupted_root, *arguments), code))


@each(("arguments", "code", "message"), CUBE_FAILURES)
def test_wrong_stakes_are_refused(root: Path, arguments: list[str], code: int, message: str) -> None:
    assert re.match(f".*{message}", error_of(run(root, "cube", *arguments, *RANDOM), code))


@pytest.mark.parametrize(
    "arguments", [["eval", START_ID], ["hint", START_ID, "31"], ["play", "--seed", "1"]], ids=" ".join
)
def test_missing_warehouse_is_refused(tmp_path: Path, arguments: list[str]) -> None:
    message = error_of(run(tmp_path / "none", *arguments, "--network", "random"), 1)
    assert re.match("expected a warehouse in .*none, found no such folder; try: bgdata build", message)


@pytest.mark.parametrize(
    "arguments",
    [["eval"], ["eval", START_ID, "--ply", "4"], ["eval", START_ID, "--format", "xml"], ["hint"],
     ["play", "--seed", "-1"], ["hint", START_ID, "31", "--plays", "0"], ["play", "--ply", "x"]],
    ids=" ".join,
)  # fmt: skip
def test_wrong_usage_is_refused(corrupted_root: Path, arguments: list[str]) -> None:
    result = run(corrupted_root, *arguments)
    assert result.exit_code == 2
    assert re.fullmatch(r"error: (invalid value|missing argument) .*; see: bgdata \w+ --help\n", result.stderr)


# ----------------------------------------------------------------- every command that takes a position

MORE = {  # arguments
    "hint": ["31"],
    "rollout": ["--trials", "72", "--truncate", "3", "--stop", "end", "--cubeless"],
}
OF_FINISHED_GAMES = {"eval", "show"}
WON = Position([0] * 13 + [-15] + [0] * 12)
FINISHED = [WON, WON.flip(), Position([1, *[0] * 25]), Position([0] * 25 + [1]), Position("AAAAAgAAAAAAAA")]


@functools.cache
def commands() -> list[str]:
    """Names of the commands with an argument `position`."""
    return [
        " ".join(names)
        for names, command in every_command(main)
        if any(isinstance(each, click.Argument) and each.name == "position" for each in command.params)
    ]


def test_position_commands_are_found() -> None:
    assert {"cube", "eval", "hint", "probe", "rollout", "show"} <= set(commands())


@each("command", commands)
def test_every_command_reads_every_notation(player_root: Path, command: str) -> None:
    for name, text in identify(Position(POSITION)).items():
        if name != "match_id":
            assert POSITION in output_of(player_root, command, text, *MORE.get(command, []))
    if command != "probe":
        assert START.id in output_of(player_root, command, "Start", *MORE.get(command, []))


@each("command", commands)
@each("position", FINISHED)
def test_finished_game_is_refused_or_evaluated(player_root: Path, command: str, position: Position) -> None:
    result = run(player_root, command, position.id, *MORE.get(command, []))
    if command in OF_FINISHED_GAMES:
        assert result.exit_code == 0
        assert position.id in result.stdout
    else:
        side = "the player on roll" if position.off == 15 else "the opponent"
        expected = f"expected a game in progress, got {position.id}, in which {side} has borne off every checker"
        assert error_of(result, 2) == expected


@each("command", commands)
@each("text", ["AAAAAAAAAAAAAA", ",".join("0" * 26)])
def test_board_without_checkers_is_refused(player_root: Path, command: str, text: str) -> None:
    result = run(player_root, command, text, *MORE.get(command, []))
    assert error_of(result, 2) == "expected a position with checkers, got AAAAAAAAAAAAAA, which has none"
