"""`bgdata probe --away`: a position at a match score, in a table that is built when it is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_match import DATASET, MatchBearoffParameters
from bgdata.bearoff.match_table import MatchTable
from bgdata.evaluation.commands import probe
from tests.command_line import ON_ROLL, OPPONENT, POSITION, error_of, position_id, run, succeeds

MET = ("--met", "published-12")
SMALL = MatchBearoffParameters(3, 3, met="published-12")


@pytest.fixture
def root(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A warehouse folder, where tables of 3 points and 3 checkers are built on demand: those of 6 take longer."""
    recipe = probe.parameters_of
    changes = {"points": 3, "checkers": 3}
    monkeypatch.setattr(probe, "parameters_of", lambda *given: recipe(*given).with_changes(changes))
    (memory_path / "warehouse").mkdir()
    return memory_path / "warehouse"


def test_probe_builds_the_table_once(root: Path) -> None:
    shown = succeeds(root, "probe", POSITION, "--away", "2-3", *MET)
    (table,) = bgdata.open_warehouse(root).versions(DATASET.name)
    reader = MatchTable(table)
    decision = reader.probe_layouts(ON_ROLL, OPPONENT)
    assert table.manifest.variant == "3x3-away-2-3-cube-1-published-12"
    assert "on roll   2pt:2 3pt:1  (3 checkers, 7 pips)" in shown
    assert "2-away 3-away, cube 1 centered, by published-12" in shown
    assert f"exact, {table.name} (each within 3e-08)" in shown
    assert f"no double          mwc {decision.no_double:.6f}  equity {reader.equity(decision.no_double):+.6f}" in shown
    assert f"right: {decision.action}, mwc {decision.mwc:.6f}" in shown
    assert succeeds(root, "probe", POSITION, "--away", "2-3", *MET) == shown
    assert len(list(bgdata.open_warehouse(root).versions(DATASET.name))) == 1


def test_owners_and_crawford(root: Path) -> None:
    own = succeeds(root, "probe", POSITION, "--away", "4-3", "--cube", "2", *MET)
    assert "4-away 3-away, cube 2 owned by on roll, by published-12" in own
    assert own == succeeds(root, "probe", POSITION, "--away", "4-3", "--cube", "2", "--owner", "on_roll", *MET)
    other = succeeds(root, "probe", POSITION, "--away", "4-3", "--cube", "2", "--owner", "opponent", *MET)
    assert "cube 2 owned by opponent" in other
    assert "double, take" not in other
    crawford = succeeds(root, "probe", POSITION, "--away", "1-3", "--crawford", *MET)
    assert "1-away 3-away crawford, cube 1 centered" in crawford
    assert "right: no double" in crawford


def test_a_larger_table_is_used_where_it_is_there(root: Path) -> None:
    larger = position_id([0, 0, 0, 1], [2, 2])
    error = error_of(run(root, "probe", larger, "--away", "2-3", *MET), 1)
    assert error == (
        "expected up to 3 checkers a side on points 1 to 3, got 4 checkers up to point 4; "
        "try: bgdata build bearoff_match --points 6 --checkers 6 --set away=2 --set opponent_away=3 "
        "--set is_crawford=false --set cube_value=1 --set met=published-12"
    )
    bgdata.open_warehouse(root).build(
        DATASET.name, SMALL.with_changes({"points": 4, "checkers": 4, "away": 2, "opponent_away": 3})
    )
    assert "exact, bearoff_match/4x4-away-2-3-cube-1-published-12/" in succeeds(
        root, "probe", larger, "--away", "2-3", *MET
    )


def test_build_takes_scores(memory_path: Path) -> None:
    root = memory_path / "warehouse"
    size = ("--points", "2", "--checkers", "2")
    settings = ["away=3", "opponent_away=4", "cube_value=2", "met=published-12"]
    options = [text for setting in settings for text in ("--set", setting)]
    succeeds(root, "build", "bearoff_match", *size, *options)
    (table,) = bgdata.open_warehouse(root).versions(DATASET.name)
    assert table.manifest.variant == "2x2-away-3-4-cube-2-published-12"
    error = error_of(run(root, "build", "bearoff_match", *size, "--set", "met=nobody"), 1)
    assert error.startswith("expected a match equity table among ")
    assert error.endswith(", got nobody")


WRONG = [
    (("--away", "3"), 2, "expected points that the player on roll and the opponent need, such as 3-5, got '3'"),
    (("--away", "0-5"), 2, "expected at least 1 point to go for each side, got 0-away 5-away"),
    (("--away", "13-5"), 2, "expected at most 12 points to go, as published-12 has, got 13-away 5-away"),
    (
        ("--away", "3-5", "--crawford"),
        2,
        "expected one side at 1-away in the crawford game, got 3-away 5-away crawford",
    ),
    (("--away", "1-5", "--crawford", "--cube", "2"), 2, "expected a centered cube of 1 in the crawford game, got "),
    (("--away", "3-5", "--cube", "3"), 2, "expected a power of two as cube value, got 3"),
    (("--away", "3-5", "--cube", "1", "--owner", "on_roll"), 2, "expected a cube of 1 to be centered, got owner 'on"),
    (
        ("--away", "3-5", "--cube", "2", "--owner", "me"),
        2,
        "invalid value for '--owner': 'me' is not one of 'centered', 'on_roll', 'opponent'; see: bgdata probe --help",
    ),
    (("--cube", "2"), 2, "expected --away beside --crawford, --cube, --owner or --met"),
]


@pytest.mark.parametrize(("options", "code", "message"), WRONG, ids=lambda value: str(value)[:40])
def test_wrong_scores_and_cubes(root: Path, options: tuple[str, ...], code: int, message: str) -> None:
    assert error_of(run(root, "probe", POSITION, *options, *MET), code).startswith(message)


def test_an_unknown_match_equity_table(root: Path) -> None:
    error = error_of(run(root, "probe", POSITION, "--away", "3-5", "--met", "nobody"), 1)
    assert error.startswith("expected a match equity table among ")


@pytest.mark.parametrize("points", [{}, {1: 1}], ids=["on the bar", "on the bar and a point"])
def test_a_checker_on_the_bar(root: Path, points: dict[int, int]) -> None:
    board = ["0"] * 26
    board[25], board[0] = "1", "1"
    for point, count in points.items():
        board[point] = str(count)
    before = {path.name for path in root.glob("bearoff_match/*")}
    result = run(root, "probe", "--away", "3-3", *MET, "--", " ".join(board))
    assert error_of(result, 1) == "expected a bearoff position, got a checker on the bar"
    assert {path.name for path in root.glob("bearoff_match/*")} == before
