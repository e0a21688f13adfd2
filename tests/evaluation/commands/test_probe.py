"""`bgdata probe`: every table that covers a position; at a match score a missing table is built."""

import json
import re
from pathlib import Path

import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_match import DATASET, MatchBearoffParameters
from bgdata.bearoff.match_table import MatchTable
from bgdata.bearoff.tables import mean_excess
from bgdata.evaluation.commands import probe
from bgdata.evaluation.probe import cube_action
from bgdata.game.identifiers import identify
from bgdata.game.position import Position
from tests.command_line import ON_ROLL, OPPONENT, POSITION, error_of, output_of, position_id, run


def test_probe_prints_every_table(small_root: Path) -> None:
    """The text has the layouts, and the values of the two-sided and the one-sided table."""
    shown = output_of(small_root, "probe", POSITION)
    table = bgdata.open_two_sided(small_root, 3, 3)
    equities = table.probe(ON_ROLL, OPPONENT)
    assert "on roll   2pt:2 3pt:1  (3 checkers, 7 pips)" in shown
    assert "opponent  2pt:1 3pt:2  (3 checkers, 8 pips)" in shown
    assert f"cubeless equity           {equities.cubeless:+.6f}" in shown
    assert f"cube centered           {equities.centered:+.6f}  {cube_action(equities.centered, equities)}" in shown
    assert f"owned by opponent       {equities.opponent_owned:+.6f}" in shown
    mean = bgdata.open_one_sided(small_root, 3).probe_mean_rolls(OPPONENT)
    assert f"opponent  mean {mean:.5f}, standard deviation" in shown
    assert f"EPC {mean * 49 / 6:.2f}" in shown
    assert "(over all pairs of 3x3 the error of the combined equity is" in shown


def test_probe_shows_gammons_and_gnubg_files(small_root: Path, tmp_path: Path) -> None:
    """Files of gnubg are probed beside the tables, and gammon chances are named as approximate."""
    for option, size in (("--one-sided", "3"), ("--two-sided", "3x3")):
        output_of(small_root, "export", "gnubg-bd", option, size, "-o", tmp_path / f"{option[2:]}.bd")
    shown = output_of(
        small_root, "probe", POSITION, "--bd", tmp_path / "one-sided.bd", "--bd", tmp_path / "two-sided.bd"
    )
    assert len(re.findall("combined: win chance", shown)) == 2
    assert len(re.findall(r"^ +centered +\+0\.", shown, re.MULTILINE)) == 1
    everybody = position_id([15], [0, 0, 15])
    shown = output_of(small_root, "probe", everybody)
    assert re.search(r"win gammon  0\.\d{6} \(approximate: bearoff_gammon/3x15/", shown)
    assert re.search(r"lose gammon 0\.\d{6} \(approximate: bearoff_gammon/3x15/", shown)
    result = run(small_root, "probe", everybody, "--bd", tmp_path / "two-sided.bd")
    assert "expected a position with at most 3 checkers a side for" in error_of(result, 1)


def test_combined_chances_include_gammons(small_root: Path) -> None:
    """Bearing off the last checker against 15 checkers wins a gammon, which counts in the combined equity too."""
    *_, row = json.loads(
        output_of(small_root, "probe", position_id(opponent=[0, 0, 15], on_roll=[1]), "--format", "json")
    )
    assert (row["win"], row["win_gammon"], row["cubeless"]) == pytest.approx((1, 1, 2), abs=1e-6)
    assert row["win"] <= 1
    assert row["win_gammon"] <= 1
    shown = output_of(small_root, "probe", position_id([15], [0, 0, 15]))
    assert "-0.000000" not in shown


def test_combined_equity_of_a_leader_is_corrected(small_root: Path) -> None:
    leader, trailer = [2, 3, 0], [0, 2, 4]
    text = position_id(opponent=trailer, on_roll=leader)
    *_, combined = json.loads(output_of(small_root, "probe", text, "--format", "json"))
    table = bgdata.open_one_sided(small_root, 3)
    wastages = [table.probe_mean_rolls(leader) * 49 / 6 - 8, table.probe_mean_rolls(trailer) * 49 / 6 - 16]
    excess = mean_excess(combined["cubeless"], *wastages)
    assert combined["cubeless"] - combined["corrected"] == pytest.approx(excess, abs=1e-12)
    assert excess > 0
    expected = f"minus the average excess of the leader: cubeless equity {combined['corrected']:+.6f}"
    assert expected in output_of(small_root, "probe", text)


def test_few_checkers_of_one_side_are_corrected_too(small_root: Path) -> None:
    text = position_id(opponent=[0, 0, 4], on_roll=[5, 0, 0])
    *_, combined = json.loads(output_of(small_root, "probe", text, "--format", "json"))
    assert combined["corrected"] < combined["cubeless"] - 0.001


def test_few_checkers_of_both_sides_are_not_corrected(small_root: Path) -> None:
    exact, combined = json.loads(output_of(small_root, "probe", POSITION, "--format", "json"))
    assert exact["corrected"] is combined["corrected"] is None
    assert combined["cubeless"] == pytest.approx(exact["cubeless"], abs=0.01)
    assert "overrated" not in output_of(small_root, "probe", POSITION)


def test_probe_reads_every_notation(small_root: Path) -> None:
    shown = output_of(small_root, "probe", POSITION)
    for name, text in identify(Position(POSITION)).items():
        if name != "match_id":
            assert output_of(small_root, "probe", text) == shown


MET = ("--met", "published-12")
SMALL = MatchBearoffParameters(3, 3, met="published-12")


@pytest.fixture
def root(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A warehouse that builds tables of 3 points and 3 checkers on demand, because tables of 6 points take longer."""
    recipe = probe.parameters_of
    changes = {"points": 3, "checkers": 3}
    monkeypatch.setattr(probe, "parameters_of", lambda *given: recipe(*given).with_changes(changes))
    (memory_path / "warehouse").mkdir()
    return memory_path / "warehouse"


def test_probe_builds_the_table_once(root: Path) -> None:
    """The first probe at a score builds the exact table, and the second one reads it."""
    shown = output_of(root, "probe", POSITION, "--away", "2-3", *MET)
    (table,) = bgdata.open_warehouse(root).versions(DATASET.name)
    reader = MatchTable(table)
    decision = reader.probe_layouts(ON_ROLL, OPPONENT)
    assert table.manifest.variant == "3x3-away-2-3-cube-1-published-12"
    assert "on roll   2pt:2 3pt:1  (3 checkers, 7 pips)" in shown
    assert "2-away 3-away, cube 1 centered, by published-12" in shown
    assert f"exact, {table.name} (each within 3e-08)" in shown
    assert f"no double          mwc {decision.no_double:.6f}  equity {reader.equity(decision.no_double):+.6f}" in shown
    assert f"right: {decision.action}, mwc {decision.mwc:.6f}" in shown
    assert output_of(root, "probe", POSITION, "--away", "2-3", *MET) == shown
    assert len(list(bgdata.open_warehouse(root).versions(DATASET.name))) == 1


def test_probe_accepts_owners_and_crawford(root: Path) -> None:
    own = output_of(root, "probe", POSITION, "--away", "4-3", "--cube", "2", *MET)
    assert "4-away 3-away, cube 2 owned by on roll, by published-12" in own
    assert own == output_of(root, "probe", POSITION, "--away", "4-3", "--cube", "2", "--owner", "on_roll", *MET)
    other = output_of(root, "probe", POSITION, "--away", "4-3", "--cube", "2", "--owner", "opponent", *MET)
    assert "cube 2 owned by opponent" in other
    assert "double, take" not in other
    crawford = output_of(root, "probe", POSITION, "--away", "1-3", "--crawford", *MET)
    assert "1-away 3-away crawford, cube 1 centered" in crawford
    assert "right: no double" in crawford


def test_larger_table_is_used_if_present(root: Path) -> None:
    """A position outside the default table is refused until a larger table is built."""
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
    assert "exact, bearoff_match/4x4-away-2-3-cube-1-published-12/" in output_of(
        root, "probe", larger, "--away", "2-3", *MET
    )


def test_table_for_a_score_can_be_built(memory_path: Path) -> None:
    root = memory_path / "warehouse"
    size = ("--points", "2", "--checkers", "2")
    settings = ["away=3", "opponent_away=4", "cube_value=2", "met=published-12"]
    options = [text for setting in settings for text in ("--set", setting)]
    output_of(root, "build", "bearoff_match", *size, *options)
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
def test_invalid_scores_and_cubes_are_refused(root: Path, options: tuple[str, ...], code: int, message: str) -> None:
    assert error_of(run(root, "probe", POSITION, *options, *MET), code).startswith(message)


def test_unknown_match_equity_table_is_refused(root: Path) -> None:
    error = error_of(run(root, "probe", POSITION, "--away", "3-5", "--met", "nobody"), 1)
    assert error.startswith("expected a match equity table among ")


@pytest.mark.parametrize("points", [{}, {1: 1}], ids=["on the bar", "on the bar and a point"])
def test_checker_on_the_bar_is_refused(root: Path, points: dict[int, int]) -> None:
    board = ["0"] * 26
    board[25], board[0] = "1", "1"
    for point, count in points.items():
        board[point] = str(count)
    before = {path.name for path in root.glob("bearoff_match/*")}
    result = run(root, "probe", "--away", "3-3", *MET, "--", " ".join(board))
    assert error_of(result, 1) == "expected a bearoff position, got a checker on the bar"
    assert {path.name for path in root.glob("bearoff_match/*")} == before
