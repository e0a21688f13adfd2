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
from bgdata.equity.cube import CubeRules
from bgdata.equity.doubling import Action, janowski, janowski_first, jump
from bgdata.equity.kinds.match_equity import PUBLISHED
from bgdata.equity.match_equity import find_met
from bgdata.evaluation.chances import AnswerSource
from bgdata.evaluation.commands.positions import describe_evaluation, describe_plays, describe_source
from bgdata.evaluation.lookahead_player import Evaluation
from bgdata.evaluation.rows import ranked_rows
from bgdata.game.board_text import format_board_text
from bgdata.game.dice import parse_roll
from bgdata.game.identifiers import possible_identifiers
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.match_state import MatchState
from bgdata.game.position import START, Position
from tests.command_line import POSITION, error_of, every_command, output_of, position_id, run
from tests.evaluation.network_versions import random_networks, write_network

START_ID, KEY = "4HPwATDgc/ABMA", "OAHDPAABDAOAHDPAABDA"
XGID = "XGID=-b----E-C---eE---c-e----B-:0:0:1:{}:0:0:{}:0:10"  # roll, rules
START_XGID = XGID.format("00", 0)
START_NOTATIONS = (START_ID, KEY, START_XGID, "4HPwATDgc/ABMA:cAkAAAAAAAAE", ",".join(map(str, START.board)))
BEAROFF_ID = "CgAAEAEAAAAAAA"
RANDOM = ("--network", "random")
MET = ("--met", "published-12")
MATCH = ("--away", "5-3", *MET)
JSON = ("--format", "json")
MONEY = Stakes(Money(is_jacoby=False))
SOLVED = "exact, solved for this position"
WON_GAMMON = Position([0] * 18 + [-15] + [0] * 7)  # the player on roll has borne off all checkers


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


def decision(root: Path, *arguments: str) -> Any:
    """The JSON of a cube decision."""
    (row,) = rows(root, "cube", *arguments)
    return row


# ----------------------------------------------------------------- show


@pytest.mark.parametrize("text", START_NOTATIONS)
def test_every_identifier_shows_the_same_position(tmp_path: Path, text: str) -> None:
    drawing, _, rest = output_of(tmp_path, "show", text).partition("\n\n")
    stakes = MONEY if ":" in text else None  # XGIDs and gnubg IDs hold the stakes too
    assert drawing == format_board_text(START, stakes=stakes, with_id=False)
    for identifier in (START_ID, KEY, START_XGID):
        assert identifier in rest
    assert "class        contact" in rest


def test_xgid_may_begin_with_a_minus(tmp_path: Path) -> None:
    """Many sites give XGIDs without the prefix, so they look like options."""
    text = START_XGID.removeprefix("XGID=")
    assert START_ID in output_of(tmp_path, "show", text)
    assert START_ID in output_of(tmp_path, "show", "--", text)
    assert run(tmp_path, "show", "-b").exit_code == 2


def test_show_lists_the_plays_of_a_roll(tmp_path: Path) -> None:
    output = output_of(tmp_path, "show", START_ID, "--roll", "66")
    assert "11 plays of 66\n" in output
    assert re.search(r"\n +24/18\(2\) 13/7\(2\) +4NvBwQDgc/ABMA\n", output)


def test_show_draws_a_play(tmp_path: Path) -> None:
    picture = tmp_path / "board.svg"
    output = output_of(tmp_path, "show", "start", "--roll", "31", "--play", "6/5, 8/5", "--svg", picture)
    assert "after 8/5 6/5, for the opponent: sGfwATDgc/ABMA" in output
    assert picture.read_text() == START.svg("8/5 6/5", "31")


@pytest.mark.parametrize("form", ["table", "json"])
def test_show_notes_identifiers_without_beavers(tmp_path: Path, form: str) -> None:
    with_beavers = XGID.format("00", 3)
    result = run(tmp_path, "show", with_beavers, "--format", form)
    assert with_beavers in result.stdout
    assert "4HPwATDgc/ABMA:cAkAAAAAAAAA" in result.stdout
    assert result.stderr == "match_id and gnubg_id do not say that beavers are allowed\n"
    assert run(tmp_path, "show", START_XGID, "--format", form).stderr == ""


# ----------------------------------------------------------------- eval


def test_eval_prints_the_player_evaluation(player_root: Path) -> None:
    expected = bgdata.open_player(player_root, "random").evaluate(START)
    board, chances, source = output_of(player_root, "eval", START_ID, *RANDOM).split("\n\n")
    assert board.startswith(f"Position ID: {START_ID}\n+-13-")
    assert "X on roll" in board
    win, lose, equity = chances.splitlines()
    assert percents(win) == pytest.approx([expected.win, expected.win_gammon, expected.win_backgammon], abs=6e-5)
    assert percents(lose) == pytest.approx([1 - expected.win, expected.lose_gammon, expected.lose_backgammon], abs=6e-5)
    assert equity == f"cubeless equity {expected.cubeless_equity:+.4f}"
    assert " ".join(source.split()) == f"contact network, static: {expected.accuracy}"


def percents(line: str) -> list[float]:
    return [float(number) / 100 for number in re.findall(r"\d+\.\d\d", line)]


def test_eval_json_keeps_float32(player_root: Path) -> None:
    evaluation = bgdata.open_player(player_root, "random").evaluate(START)
    (row,) = rows(player_root, "eval", START_ID)
    assert row == {"position_id": START_ID} | vars(evaluation) | {"source": "contact_network"}
    assert row["win"] == float(np.float32(row["win"]))


def test_eval_looks_ahead(player_root: Path) -> None:
    equity = bgdata.open_player(player_root, "random").evaluate(START).cubeless_equity
    equity_at_1_ply = bgdata.open_player(player_root, "random", ply=1).evaluate(START).cubeless_equity
    assert equity_at_1_ply != equity
    output = output_of(player_root, "eval", START_ID, *RANDOM, "--ply", "1")
    assert f"cubeless equity {equity_at_1_ply:+.4f}\n\ncontact network, 1 ply: " in output


def test_eval_looks_a_bearoff_up_at_any_ply(player_root: Path) -> None:
    output = output_of(player_root, "eval", BEAROFF_ID, *RANDOM, "--ply", "2")
    assert "win   67.11 %   with a gammon   0.00 %   backgammon  0.00 %\n" in output
    assert "cubeless equity +0.3422" in output
    assert "\ntwo-sided table: exact, bearoff_two_sided/6x3/r" in output


def test_eval_of_a_finished_game_is_its_result(player_root: Path) -> None:
    output = output_of(player_root, "eval", WON_GAMMON.id, *RANDOM)
    assert "win  100.00 %   with a gammon 100.00 %   backgammon  0.00 %" in output
    assert output.endswith("cubeless equity +2.0000\n\nthe rules: the game is over\n")
    no_gammon = Position([1, *[0] * 25])  # the opponent has borne off 14 checkers
    assert "cubeless equity +1.0000" in output_of(player_root, "eval", no_gammon.id)


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
    ranked = bgdata.open_player(player_root, "random", ply=int(ply)).rank_plays(START, "31")
    output = output_of(player_root, "hint", START_ID, "31", *RANDOM, "--ply", ply, "--plays", "3")
    board, table, source = output.split("\n\n")
    assert "X to play 31" in board
    header, *lines, footer = table.splitlines()
    assert header.split()[:4] == ["ply", "play", "equity", "loss"]
    assert footer.split() == ["and", "13", "more"]
    assert source.startswith("contact network, ")
    for rank, line in enumerate(lines, start=1):
        expected = ranked[rank - 1]
        assert line.split()[0] == str(rank)
        assert f" {expected.evaluation.ply}  {expected.play!s:<26}{expected.evaluation.cubeless_equity:+8.4f}" in line
        assert f"{100 * expected.evaluation.win:.1f} " in line
        assert (f"  {expected.loss:.4f}   " in line) == (rank > 1)


@pytest.mark.parametrize("ply", ["0", "1"])
def test_hint_json_has_every_play(player_root: Path, ply: str) -> None:
    ranked = bgdata.open_player(player_root, "random", ply=int(ply)).rank_plays(START, "31")
    plays = rows(player_root, "hint", START_ID, "31", "--ply", ply, "--plays", "99")
    for row, expected in zip(plays, ranked, strict=True):
        assert row["play"] == str(expected.play)
        assert row["loss"] == expected.loss >= 0
        assert row["win"] == expected.evaluation.win
        assert row["source"] == "contact_network"
        assert row["cubeful_equity"] is row["mwc"] is None


def test_hint_uses_the_roll_of_an_xgid(player_root: Path) -> None:
    from_xgid = output_of(player_root, "hint", XGID.format("31", 0), *RANDOM)
    assert "X to play 31" in from_xgid
    from_argument = output_of(player_root, "hint", START_ID, "13", "--no-jacoby", *RANDOM)
    assert from_xgid.partition("\n\n")[2] == from_argument.partition("\n\n")[2]
    assert "X to play 66" in output_of(player_root, "hint", XGID.format("31", 0), "66", *RANDOM)


def test_hint_without_a_legal_play(player_root: Path) -> None:
    closed_out = Position([0, 0, 0, 0, 0, 0, 2, *[0] * 12, -2, -2, -2, -2, -2, -2, 1])
    output = output_of(player_root, "hint", closed_out.id, "65", *RANDOM, "--ply", "1")
    assert "\n  1   1  no play  " in output
    assert "more" not in output


def test_hint_has_aligned_columns(player_root: Path) -> None:
    ranked = bgdata.open_player(player_root, "random").rank_plays(START, "66")
    lines = describe_plays([*ranked_rows(START, parse_roll("66"), ranked[:11])], len(ranked) - 11).splitlines()
    assert len(lines) == 12
    assert len(set(map(len, lines))) == 1


@pytest.mark.parametrize(
    ("options", "stakes", "rules"),
    [
        (("--cube", "2", "--owner", "opponent"), Stakes(MONEY.score, Cube(2, CubeOwner.OPPONENT)), CubeRules()),
        (("--index", "0.2"), MONEY, CubeRules(janowski(0.2))),
    ],
)
def test_hint_has_cubeful_equities(root: Path, options: tuple[str, ...], stakes: Stakes, rules: CubeRules) -> None:
    ranked = bgdata.open_player(root, "random").rank_plays(START, "21", stakes, rules)
    for row, expected in zip(rows(root, "hint", START_ID, "21", *options), ranked, strict=False):
        assert row["play"] == str(expected.play)
        assert row["loss"] == expected.loss
        assert row["cubeful_equity"] == pytest.approx(expected.cubeful_equity, abs=1e-6)
        assert row["mwc"] is None


def test_hint_in_a_match_has_mwc(root: Path) -> None:
    rules = CubeRules(met=find_met(bgdata.open_warehouse(root), "published-12"))
    ranked = bgdata.open_player(root, "random").rank_plays(START, "21", Stakes(MatchScore(2, 4)), rules)
    for row, expected in zip(rows(root, "hint", START_ID, "21", "--away", "2-4", *MET), ranked, strict=False):
        assert row["play"] == str(expected.play)
        assert row["loss"] == expected.loss
        assert row["cubeful_equity"] == pytest.approx(expected.cubeful_equity, abs=1e-6)
        assert row["mwc"] == pytest.approx(expected.mwc, abs=1e-6)
    output = output_of(root, "hint", START_ID, "21", "--away", "2-4", *MET, *RANDOM)
    assert re.search(r"\n +ply  play +equity +loss +mwc +win ", output)
    assert ranked[0].mwc is not None
    assert f"{100 * ranked[0].mwc:.2f} %" in output


# ----------------------------------------------------------------- cube


def test_exact_decision_is_explained(root: Path) -> None:
    output = output_of(root, "cube", BEAROFF_ID, *RANDOM)
    board, action, table, reasons, chances, _ = output.split("\n\n")
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
    assert not re.search(r" +\n", output), "spaces at the end of a line"


def test_owner_of_the_cube_limits_the_decision(root: Path) -> None:
    owned = output_of(root, "cube", BEAROFF_ID, *RANDOM, "--cube", "2", "--owner", "on_roll")
    assert "\n\nno redouble\n\n" in owned
    owned_by_opponent = output_of(root, "cube", BEAROFF_ID, *RANDOM, "--owner", "opponent")
    assert "\n\nno cube decision: the opponent owns the cube\n\n" in owned_by_opponent
    assert "double, take" not in owned_by_opponent
    assert "winning chances: take from 21.3 %\n" in owned_by_opponent


MODEL = "Janowski's model, cube life index 0.7 (free doubles 0.97), published-12"


def test_decision_of_the_model_in_a_match_is_explained(root: Path) -> None:
    output = output_of(root, "cube", START_ID, *RANDOM, *MATCH)
    assert "5-away" in output
    assert re.search(r"\n +mwc change +equity\nno double  +\d+\.\d\d %", output)
    assert f"\n{MODEL}\nwinning chances: take from " in output
    rules = CubeRules(met=find_met(bgdata.open_warehouse(root), "published-12"))
    expected = bgdata.open_player(root, "random").decide_cube(START, Stakes(MatchScore(5, 3)), rules)
    assert f"no double       {100 * expected.no_double:7.2f} %" in output


def test_exact_decision_in_a_match_is_explained(root: Path) -> None:
    _, action, table, reasons, _, _ = output_of(root, "cube", POSITION, *MATCH, *RANDOM).split("\n\n")
    assert action == "double, pass"
    assert table.splitlines()[0].split() == ["mwc", "change", "equity"]
    _, source, model, points = reasons.splitlines()
    assert source == SOLVED
    assert model == f"winning chances are those of {MODEL}"
    assert points.startswith("winning chances: take from ")


@pytest.mark.parametrize(
    ("options", "stakes", "rules"),
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
def test_options_are_stakes_and_rules(root: Path, options: tuple[str, ...], stakes: Stakes, rules: CubeRules) -> None:
    expected = bgdata.open_player(root, "random").decide_cube(START, stakes, rules)
    row = decision(root, START_ID, *options)
    for name in ("no_double", "double_take", "double_beaver", "accuracy"):
        assert row[name] == getattr(expected, name)
    assert row["cube_value"] == stakes.cube.value
    assert row["cube_owner"] == stakes.cube.owner
    assert row["best"] == [Action(action).name.lower() for action in expected.best]


@pytest.mark.parametrize("notation", ["gnubg_id", "xgid"])
def test_identifier_sets_the_stakes(root: Path, notation: str) -> None:
    owned = Stakes(MatchScore(5, 3), Cube(2, CubeOwner.ON_ROLL))
    identifier = possible_identifiers(START, MatchState.from_stakes(owned, length=7))[notation]
    expected = decision(root, START_ID, *MATCH, "--cube", "2", "--owner", "on_roll")
    assert (expected["away"], expected["opponent_away"], expected["is_crawford"]) == (5, 3, False)
    assert decision(root, identifier, *MET) == expected


def test_options_override_the_stakes_of_identifiers(root: Path) -> None:
    owned = Stakes(MatchScore(5, 3), Cube(2, CubeOwner.ON_ROLL))
    xgid = possible_identifiers(START, MatchState.from_stakes(owned, length=7))["xgid"]
    row = decision(root, xgid, *MET, "--owner", "opponent")
    assert (row["cube_value"], row["cube_owner"], row["double_take"]) == (2, "opponent", None)
    identifiers = possible_identifiers(START, MatchState.from_stakes(Stakes(MatchScore(1, 3)), length=7))
    crawford = decision(root, START_ID, *MET, "--away", "1-3", "--crawford")
    assert decision(root, identifiers["xgid"], *MET, "--crawford") == crawford, "at the score of the identifier"
    assert decision(root, identifiers["gnubg_id"], *MET, "--away", "5-3") == decision(root, START_ID, *MATCH)


@pytest.mark.parametrize(("digit", "is_jacoby", "has_beavers"), [(0, False, False), (1, True, False), (3, True, True)])
def test_xgid_sets_the_rules(root: Path, digit: int, is_jacoby: bool, has_beavers: bool) -> None:
    row = decision(root, XGID.format("00", digit))
    assert row["is_jacoby"] == is_jacoby
    assert (row["double_beaver"] is not None) == has_beavers


def test_options_override_the_rules_of_an_xgid(root: Path) -> None:
    assert decision(root, XGID.format("00", 3), "--no-jacoby", "--no-beavers") == decision(root, START_ID)


def test_xgid_without_its_prefix_may_begin_with_a_letter(root: Path) -> None:
    on_the_bar = "XGID=aa----E-C---eE---c-e----B-:0:0:1:00:0:0:3:0:10"
    assert decision(root, on_the_bar.removeprefix("XGID=")) == decision(root, on_the_bar)


@pytest.mark.parametrize(("text", "method"), [(START_ID, "janowski"), (POSITION, "exact")])
def test_crawford_game_has_no_cube_decision(root: Path, text: str, method: str) -> None:
    row = decision(root, text, "--away", "1-5", "--crawford", *MET)
    assert row["is_crawford"] is True
    assert row["best"] == ["no_double"]
    assert row["double_take"] is None
    assert row["method"] == method
    assert row["why_not"] == "nobody doubles in the crawford game"
    assert decision(root, text, "--away", "5-1", *MET)["why_not"] == "", "after the Crawford game"


def test_race_solved_on_demand_equals_the_table_of_its_score(root: Path, tmp_path: Path) -> None:
    with_table = tmp_path / "warehouse"
    shutil.copytree(root, with_table)
    recipe = MatchBearoffParameters(3, 3, 5, 3, met="published-12")
    table = bgdata.open_warehouse(with_table).build(DATASET.name, recipe)
    solved, looked_up = decision(root, POSITION, *MATCH), decision(with_table, POSITION, *MATCH)
    assert (solved["method"], solved["unit"], solved["accuracy"]) == ("exact", "mwc", SOLVED)
    assert looked_up["accuracy"] == f"exact, {table.name}: each mwc within 3e-08"
    assert solved["best"] == looked_up["best"]
    for name in ("no_double", "double_take", "double_pass"):
        assert solved[name] == pytest.approx(looked_up[name], abs=6e-8)


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("exact", (position_id([2, 2], [1]), *MATCH)),  # beyond the table for money
        ("exact", (position_id([2, 2, 0, 0, 0, 0, 0, 1], [1]),)),  # a checker outside the home board
        ("exact", (POSITION, *MATCH, "--cube", "512", "--owner", "on_roll")),
        ("janowski", (POSITION, *MATCH, "--model", "janowski")),
        ("janowski", (POSITION, "--model", "janowski")),
        ("jump", (POSITION, "--model", "jump")),
        ("janowski", (START_ID, *MATCH)),
    ],
)
def test_decision_names_its_source(root: Path, method: str, arguments: tuple[str, ...]) -> None:
    assert decision(root, *arguments)["method"] == method


def test_match_equity_table_may_be_a_file(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.xml"
    output_of(root, "export", "met", "published-12", "-o", path)
    row = decision(root, POSITION, "--away", "5-3", "--met", str(path))
    assert row["accuracy"] == SOLVED
    assert row["no_double"] == pytest.approx(decision(root, POSITION, *MATCH)["no_double"], abs=1e-5)


# ----------------------------------------------------------------- wrong inputs


@pytest.fixture(scope="module")
def corrupted_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with a valid network/random and a truncated network."""
    root = tmp_path_factory.mktemp("corrupted")
    valid = random_networks(7)
    write_network(root, "random", valid)
    write_network(root, "cut", valid._replace(weights=valid.weights[:-1]))
    return root


FAILURES: list[tuple[list[str], int, str]] = [
    (
        ["show", "nope"],
        2,
        "expected one of position id, gnubg id, 20-letter key, xgid, opengammon id, 26 integers, start; as ",
    ),
    (["show", START_ID, "--roll", "70"], 2, "expected two dice such as '31', got '70'"),
    (["show", "start", "--roll", "31", "--play", "6/1"], 2, "expected a legal play "),
    (["eval", "4HPwATDgc/ABM!", *RANDOM], 2, "expected one of .*; as position id: expected letters of a position id"),
    (["eval", START_ID, "--network", "none"], 1, r"no network/none in .* \(have: cut, random\)"),
    (["eval", START_ID, "--network", "cut"], 1, "expected networks that bgdata can read in network/cut/.*, found w"),
    (["hint", START_ID, *RANDOM], 2, f"expected a roll after the position, such as 31, got none with '{START_ID}'"),
    (["play", "--network", "none", "--seed", "1"], 1, "no network/none in "),
    (["play", *RANDOM, "--watch", "nobody"], 2, "expected a player among random, pubeval, .*, got nobody"),
]
CUBE_FAILURES: list[tuple[list[str], int, str]] = [
    (["nope"], 2, "expected one of position id, gnubg id"),
    ([WON_GAMMON.id], 2, "expected a game in progress, got .*, in which the .* has borne off every checker"),
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


@pytest.mark.parametrize(("arguments", "code", "message"), FAILURES)
def test_wrong_arguments_are_refused(corrupted_root: Path, arguments: list[str], code: int, message: str) -> None:
    assert re.match(f".*{message}", error_of(run(corrupted_root, *arguments), code))


@pytest.mark.parametrize(("arguments", "code", "message"), CUBE_FAILURES)
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

MORE = {  # further arguments
    "hint": ["31"],
    "rollout": ["--trials", "72", "--truncate", "3", "--stop", "end", "--cubeless"],
}
WON = Position([0] * 13 + [-15] + [0] * 12)
FINISHED = [WON, WON.flip(), Position([1, *[0] * 25]), Position([0] * 25 + [1]), Position("AAAAAgAAAAAAAA")]


@functools.cache
def commands() -> list[str]:
    """Names of the commands with an argument `position`."""
    return [
        " ".join(names)
        for names, command in every_command(main)
        if any(isinstance(parameter, click.Argument) and parameter.name == "position" for parameter in command.params)
    ]


def test_position_commands_are_found() -> None:
    assert {"cube", "eval", "hint", "probe", "rollout", "show"} <= set(commands())


def test_every_command_reads_every_notation(player_root: Path) -> None:
    notations = possible_identifiers(Position(POSITION))
    del notations["match_id"]  # has no position
    for command in commands():
        for text in notations.values():
            assert POSITION in output_of(player_root, command, text, *MORE.get(command, []))


def test_every_command_reads_the_word_start(player_root: Path) -> None:
    for command in commands():
        if command != "probe":
            assert START.id in output_of(player_root, command, "Start", *MORE.get(command, []))


@pytest.mark.parametrize("position", FINISHED, ids=lambda position: position.id)
def test_finished_game_is_refused_or_evaluated(player_root: Path, position: Position) -> None:
    side = "the player on roll" if position.off == 15 else "the opponent"
    message = f"expected a game in progress, got {position.id}, in which {side} has borne off every checker"
    for command in commands():
        result = run(player_root, command, position.id, *MORE.get(command, []))
        if command in ("eval", "show"):
            assert result.exit_code == 0
            assert position.id in result.stdout
        else:
            assert error_of(result, 2) == message, command


@pytest.mark.parametrize("text", ["AAAAAAAAAAAAAA", ",".join("0" * 26)])
def test_board_without_checkers_is_refused(player_root: Path, text: str) -> None:
    for command in commands():
        result = run(player_root, command, text, *MORE.get(command, []))
        assert error_of(result, 2) == "expected a position with checkers, got AAAAAAAAAAAAAA, which has none", command
