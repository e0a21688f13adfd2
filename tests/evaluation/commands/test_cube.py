"""`bgdata cube`: what it prints, where stakes come from, and one line for what it refuses."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import bgdata
from bgdata.equity.cube import CubeRules
from bgdata.equity.doubling import Action, janowski, janowski_first, jump
from bgdata.equity.kinds.match_equity import PUBLISHED
from bgdata.equity.match_equity import find_met
from bgdata.game.identifiers import identify
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.match_state import MatchState
from bgdata.game.position import START, Position
from tests.command_line import error_of, run, succeeds
from tests.together import each

START_ID = "4HPwATDgc/ABMA"
BEAROFF_ID = "CgAAEAEAAAAAAA"
RANDOM = ("--network", "random")
MATCH = ("--away", "5-3", "--met", "published-12")
JSON = ("--format", "json")


@pytest.fixture(scope="module")
def root(player_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The player's warehouse with a match equity table."""
    root = tmp_path_factory.mktemp("cube") / "warehouse"
    shutil.copytree(player_root, root)
    bgdata.open_warehouse(root).build("match_equity", PUBLISHED)
    return root


def printed(root: Path, *arguments: str) -> dict[str, object]:
    (found,) = json.loads(succeeds(root, "cube", *arguments, *RANDOM, *JSON))
    assert isinstance(found, dict)
    return found


def test_an_exact_decision_in_words(root: Path) -> None:
    shown = succeeds(root, "cube", BEAROFF_ID, *RANDOM)
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


def test_redoubles_and_the_opponents_cube(root: Path) -> None:
    assert "\n\nno redouble\n\n" in succeeds(root, "cube", BEAROFF_ID, *RANDOM, "--cube", "2", "--owner", "on_roll")
    shown = succeeds(root, "cube", BEAROFF_ID, *RANDOM, "--owner", "opponent")
    assert "\n\nno cube decision: the opponent owns the cube\n\n" in shown
    assert "double, take" not in shown
    assert "winning chances: take from 21.3 %\n" in shown


def test_hint_with_the_cube(root: Path) -> None:
    """By the stakes of options or of an identifier: the equity with the cube, and the mwc in a match."""
    player, met = bgdata.open_player(root, "random"), find_met(bgdata.open_warehouse(root), "published-12")
    owned = Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.OPPONENT))
    score, rules = Stakes(MatchScore(2, 4)), CubeRules(met=met)
    for options, ranked in (
        (("--cube", "2", "--owner", "opponent"), player.rank_plays(START, "21", owned)),
        (("--away", "2-4", "--met", "published-12"), player.rank_plays(START, "21", score, rules)),
        (("--index", "0.2"), player.rank_plays(START, "21", Stakes(Money(is_jacoby=False)), CubeRules(janowski(0.2)))),
    ):
        rows = json.loads(succeeds(root, "hint", START_ID, "21", *options, *RANDOM, "--format", "json"))
        for row, expected in zip(rows, ranked, strict=False):
            assert (row["play"], row["loss"]) == (str(expected.play), expected.loss)
            assert row["cubeful_equity"] == pytest.approx(expected.cubeful_equity, abs=1e-6)
            assert row["mwc"] == (pytest.approx(expected.mwc, abs=1e-6) if expected.mwc else None)
    shown = succeeds(root, "hint", START_ID, "21", "--away", "2-4", "--met", "published-12", *RANDOM)
    assert re.search(r"\n +ply  play +equity +loss +mwc +win ", shown)
    assert f"{100 * player.rank_plays(START, '21', score, rules)[0].mwc:.2f} %" in shown  # type: ignore[operator]
    plain = json.loads(succeeds(root, "hint", START_ID, "21", *RANDOM, "--format", "json"))
    assert {(row["cubeful_equity"], row["mwc"]) for row in plain} == {(None, None)}


def test_a_match_in_words(root: Path) -> None:
    shown = succeeds(root, "cube", START_ID, *RANDOM, *MATCH)
    assert "5-away" in shown
    assert re.search(r"\n +mwc change +equity\nno double  +\d+\.\d\d %", shown)
    assert re.search(r"\nJanowski's model, cube life index 0.7, published-12\nwinning chances: take from ", shown)
    met = find_met(bgdata.open_warehouse(root), "published-12")
    found = bgdata.open_player(root, "random").decide_cube(START, Stakes(MatchScore(5, 3)), CubeRules(met=met))
    assert f"no double       {100 * found.no_double:7.2f} %" in shown


@each(
    ("arguments", "stakes", "rules"),
    [
        ((), Stakes(Money(is_jacoby=False)), CubeRules()),
        (("--jacoby",), Stakes(Money(is_jacoby=True)), CubeRules()),
        (("--jacoby", "--beavers"), Stakes(Money(is_jacoby=True)), CubeRules(has_beavers=True)),
        (("--index", "0.5"), Stakes(Money(is_jacoby=False)), CubeRules(janowski(0.5))),
        (("--model", "jump"), Stakes(Money(is_jacoby=False)), CubeRules(jump())),
        (
            ("--model", "janowski-first", "--index", "0.8"),
            Stakes(Money(is_jacoby=False)),
            CubeRules(janowski_first(0.8)),
        ),
        (("--model", "jump", "--volatility", "0.05"), Stakes(Money(is_jacoby=False)), CubeRules(jump(0.05))),
        (("--owner", "on_roll"), Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.ON_ROLL)), CubeRules()),
        (("--cube", "4"), Stakes(Money(is_jacoby=False), Cube(4, CubeOwner.ON_ROLL)), CubeRules()),
        (("--away", "2-3", "--as-money"), Stakes(MatchScore(2, 3)), CubeRules(as_money=True)),
    ],
)
def test_options_are_stakes_and_rules(root: Path, arguments: tuple[str, ...], stakes: Stakes, rules: CubeRules) -> None:
    expected = bgdata.open_player(root, "random").decide_cube(START, stakes, rules)
    found = printed(root, START_ID, *arguments)
    assert found["no_double"] == expected.no_double
    assert found["double_take"] == expected.double_take
    assert found["double_beaver"] == expected.double_beaver
    assert (found["cube_value"], found["cube_owner"]) == (stakes.cube.value, stakes.cube.owner)
    assert found["best"] == [Action(action).name.lower() for action in expected.best]
    assert found["accuracy"] == expected.accuracy


def test_stakes_of_identifiers(root: Path) -> None:
    stakes = Stakes(MatchScore(5, 3), Cube(2, CubeOwner.ON_ROLL))
    names = identify(START, MatchState.from_stakes(stakes, length=7))
    expected = printed(root, START_ID, *MATCH, "--cube", "2", "--owner", "on_roll")
    assert (expected["away"], expected["opponent_away"], expected["is_crawford"]) == (5, 3, False)
    for text in (names["gnubg_id"], names["xgid"]):
        assert printed(root, text, "--met", "published-12") == expected
    other = printed(root, names["xgid"], "--met", "published-12", "--owner", "opponent")
    assert (other["cube_value"], other["cube_owner"], other["double_take"]) == (2, "opponent", None)


def test_rules_of_an_xgid(root: Path) -> None:
    xgid = "XGID=-b----E-C---eE---c-e----B-:0:0:1:00:0:0:{}:0:10"
    expected = {0: (False, None), 1: (True, None), 3: (True, 1)}
    for rules, (is_jacoby, beaver) in expected.items():
        found = printed(root, xgid.format(rules))
        assert (found["is_jacoby"], found["double_beaver"] is not None) == (is_jacoby, beaver is not None)
    assert printed(root, xgid.format(3), "--no-jacoby", "--no-beavers") == printed(root, START_ID)
    on_the_bar = "XGID=aa----E-C---eE---c-e----B-:0:0:1:00:0:0:3:0:10"
    assert printed(root, on_the_bar.removeprefix("XGID=")) == printed(root, on_the_bar)


def test_crawford(root: Path) -> None:
    found = printed(root, START_ID, "--away", "1-5", "--crawford", "--met", "published-12")
    assert (found["is_crawford"], found["best"], found["double_take"]) == (True, ["no_double"], None)
    assert found["why_not"] == "nobody doubles in the crawford game"
    after = printed(root, START_ID, "--away", "5-1", "--met", "published-12")
    assert after["why_not"] == ""


OVER = Position([0] * 18 + [-15] + [0] * 7).id
FAILURES: list[tuple[list[str], int, str]] = [
    (["nope"], 2, "expected one of position id, gnubg id"),
    ([OVER], 2, "expected a game in progress, got .*, in which the .* has borne off every checker"),
    ([START_ID, "--cube", "1", "--owner", "on_roll"], 2, "expected a cube of 1 to be centered, got owner 'on_roll'"),
    ([START_ID, "--cube", "3"], 2, "expected a power of two as cube value, got 3"),
    ([START_ID, *MATCH, "--cube", "2", "--owner", "centered"], 2, "expected a centered cube of 1 in a match, got 2"),
    ([START_ID, "--away", "1-5", "--crawford", "--cube", "2", "--owner", "opponent"], 2,
     "expected a centered cube of 1 in the crawford game, got a cube of 2, owned by the opponent"),
    ([START_ID, *MATCH, "--as-money", "--met", "published-12"], 2, "expected either --as-money or --met, got both"),
    ([START_ID, "--away", "4-5", "--crawford"], 2, "expected one side at 1-away in the "),
    ([START_ID, "--crawford"], 2, "expected --away with --crawford, got none"),
    ([START_ID, "--away", "3:2"], 2, "expected points that the player on roll and the opponent need, .*, got '3:2'"),
    ([START_ID, "--away", "0-2"], 2, "expected at least 1 point to go for each side, got 0-away 2-away"),
    ([START_ID, "--away", "15-15", "--met", "published-12"], 2, "expected at most 12 points to go, as publi"),
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
    ([START_ID, "--met", "published-12"], 2, "expected a match with --met, got money play"),
    ([START_ID, "--as-money"], 2, "expected a match with --as-money, got money play"),
    ([START_ID, "--away", "6-5", "--met", "none"], 1, r"no match equity table none in .*\(have: pub"),
]  # fmt: skip


@each(("arguments", "code", "message"), FAILURES)
def test_failures(root: Path, arguments: list[str], code: int, message: str) -> None:
    assert re.match(f".*{message}", error_of(run(root, "cube", *arguments, *RANDOM), code))


def test_options_override_a_match(root: Path) -> None:
    """The score of an identifier holds until an option names another; --crawford alone speaks of that score."""
    names = identify(START, MatchState.from_stakes(Stakes(MatchScore(1, 3)), length=7))
    met = ("--met", "published-12")
    assert printed(root, names["xgid"], *met, "--crawford") == printed(
        root, START_ID, *met, "--away", "1-3", "--crawford"
    )
    assert printed(root, names["gnubg_id"], *met, "--away", "5-3") == printed(root, START_ID, *met, "--away", "5-3")


def test_a_position_with_a_beaver_is_refused(root: Path) -> None:
    xgid = "XGID=-b----E-C---eE---c-e----B-:1:-1:1:B:0:0:3:0:10"
    message = error_of(run(root, "cube", xgid, *RANDOM), 2)
    assert message.startswith("expected a position before a double or its answer, got a beaver in XGID=")
