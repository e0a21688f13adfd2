"""`bgdata probe`: every table that covers a position; at a match score a missing table is built."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_match import DATASET, MatchBearoffParameters
from bgdata.bearoff.match_table import MatchTable
from bgdata.bearoff.tables import mean_excess
from bgdata.evaluation.commands import probe
from bgdata.evaluation.probe import cube_action
from tests.command_line import ON_ROLL, OPPONENT, POSITION, error_of, output_of, position_id, run


def probe_rows(root: Path, *arguments: str) -> Any:
    return json.loads(output_of(root, "probe", *arguments, "--format", "json"))


def test_probe_prints_every_table(small_root: Path) -> None:
    output = output_of(small_root, "probe", POSITION)
    equities = bgdata.open_two_sided(small_root, 3, 3).probe(ON_ROLL, OPPONENT)
    assert "on roll   2pt:2 3pt:1  (3 checkers, 7 pips)" in output
    assert "opponent  2pt:1 3pt:2  (3 checkers, 8 pips)" in output
    assert f"cubeless equity           {equities.cubeless:+.6f}" in output
    assert f"cube centered           {equities.centered:+.6f}  {cube_action(equities.centered, equities)}" in output
    assert f"owned by opponent       {equities.opponent_owned:+.6f}" in output
    mean = bgdata.open_one_sided(small_root, 3).probe_mean_rolls(OPPONENT)
    assert f"opponent  mean {mean:.5f}, standard deviation" in output
    assert f"EPC {mean * 49 / 6:.2f}" in output
    assert "(over all pairs of 3x3 the error of the combined equity is" in output


def test_probe_shows_files_of_gnubg_beside_the_tables(small_root: Path, tmp_path: Path) -> None:
    one_sided, two_sided = tmp_path / "one-sided.bd", tmp_path / "two-sided.bd"
    output_of(small_root, "export", "gnubg-bd", "--one-sided", "3", "-o", one_sided)
    output_of(small_root, "export", "gnubg-bd", "--two-sided", "3x3", "-o", two_sided)
    output = output_of(small_root, "probe", POSITION, "--bd", one_sided, "--bd", two_sided)
    assert output.count("combined: win chance") == 2
    assert len(re.findall(r"^ +centered +\+0\.", output, re.MULTILINE)) == 1
    result = run(small_root, "probe", position_id([15], [0, 0, 15]), "--bd", two_sided)
    assert "expected a position with at most 3 checkers a side for" in error_of(result, 1)


def test_gammon_chances_are_named_as_approximate(small_root: Path) -> None:
    output = output_of(small_root, "probe", position_id([15], [0, 0, 15]))
    assert re.search(r"win gammon  0\.\d{6} \(approximate: bearoff_gammon/3x15/", output)
    assert re.search(r"lose gammon 0\.\d{6} \(approximate: bearoff_gammon/3x15/", output)
    assert "-0.000000" not in output


def test_combined_equity_includes_gammons(small_root: Path) -> None:
    """Bearing off the last checker against 15 checkers wins a gammon."""
    *_, row = probe_rows(small_root, position_id(opponent=[0, 0, 15], on_roll=[1]))
    assert row["win"] == pytest.approx(1, abs=1e-6)
    assert row["win_gammon"] == pytest.approx(1, abs=1e-6)
    assert max(row["win"], row["win_gammon"]) <= 1
    assert row["cubeless"] == pytest.approx(2, abs=1e-6)


def test_combined_equity_of_a_leader_is_corrected(small_root: Path) -> None:
    leader, trailer = [2, 3, 0], [0, 2, 4]  # 8 and 16 pips
    text = position_id(opponent=trailer, on_roll=leader)
    *_, combined = probe_rows(small_root, text)
    table = bgdata.open_one_sided(small_root, 3)
    wastages = [table.probe_mean_rolls(leader) * 49 / 6 - 8, table.probe_mean_rolls(trailer) * 49 / 6 - 16]
    excess = mean_excess(combined["cubeless"], *wastages)
    assert excess > 0
    assert combined["cubeless"] - combined["corrected"] == pytest.approx(excess, abs=1e-12)
    expected = f"minus the average excess of the leader: cubeless equity {combined['corrected']:+.6f}"
    assert expected in output_of(small_root, "probe", text)


def test_few_checkers_of_one_side_are_corrected_too(small_root: Path) -> None:
    *_, combined = probe_rows(small_root, position_id(opponent=[0, 0, 4], on_roll=[5, 0, 0]))
    assert combined["corrected"] < combined["cubeless"] - 0.001


def test_few_checkers_of_both_sides_are_not_corrected(small_root: Path) -> None:
    exact, combined = probe_rows(small_root, POSITION)
    assert exact["corrected"] is combined["corrected"] is None
    assert combined["cubeless"] == pytest.approx(exact["cubeless"], abs=0.01)
    assert "overrated" not in output_of(small_root, "probe", POSITION)


MET = ("--met", "published-12")


@pytest.fixture
def root(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A warehouse that builds tables of 3 points and 3 checkers on demand, because tables of 6 points take longer."""
    original = probe.parameters_of

    def smaller_parameters(*arguments: Any) -> MatchBearoffParameters:
        return original(*arguments).with_changes({"points": 3, "checkers": 3})

    monkeypatch.setattr(probe, "parameters_of", smaller_parameters)
    (memory_path / "warehouse").mkdir()
    return memory_path / "warehouse"


def test_probe_builds_the_table_of_a_score_once(root: Path) -> None:
    output = output_of(root, "probe", POSITION, "--away", "2-3", *MET)
    (table,) = bgdata.open_warehouse(root).versions(DATASET.name)
    assert table.manifest.variant == "3x3-away-2-3-cube-1-published-12"
    reader = MatchTable(table)
    decision = reader.probe_layouts(ON_ROLL, OPPONENT)
    assert "on roll   2pt:2 3pt:1  (3 checkers, 7 pips)" in output
    assert "2-away 3-away, cube 1 centered, by published-12" in output
    assert f"exact, {table.name} (each within 3e-08)" in output
    assert f"no double          mwc {decision.no_double:.6f}  equity {reader.equity(decision.no_double):+.6f}" in output
    assert f"right: {decision.action}, mwc {decision.mwc:.6f}" in output
    assert output_of(root, "probe", POSITION, "--away", "2-3", *MET) == output
    assert len(list(bgdata.open_warehouse(root).versions(DATASET.name))) == 1


def test_player_on_roll_owns_a_turned_cube_by_default(root: Path) -> None:
    turned = ("--away", "4-3", "--cube", "2", *MET)
    output = output_of(root, "probe", POSITION, *turned)
    assert "4-away 3-away, cube 2 owned by on roll, by published-12" in output
    assert output == output_of(root, "probe", POSITION, *turned, "--owner", "on_roll")


def test_no_double_is_shown_where_none_is_allowed(root: Path) -> None:
    output = output_of(root, "probe", POSITION, "--away", "4-3", "--cube", "2", "--owner", "opponent", *MET)
    assert "cube 2 owned by opponent" in output
    assert "double, take" not in output
    output = output_of(root, "probe", POSITION, "--away", "1-3", "--crawford", *MET)
    assert "1-away 3-away crawford, cube 1 centered" in output
    assert "right: no double" in output


def test_larger_table_is_used_if_present(root: Path) -> None:
    larger = position_id([0, 0, 0, 1], [2, 2])
    assert error_of(run(root, "probe", larger, "--away", "2-3", *MET), 1) == (
        "expected up to 3 checkers a side on points 1 to 3, got 4 checkers up to point 4; "
        "try: bgdata build bearoff_match --points 6 --checkers 6 --set away=2 --set opponent_away=3 "
        "--set is_crawford=false --set cube_value=1 --set met=published-12"
    )
    recipe = MatchBearoffParameters(4, 4, 2, 3, met="published-12")
    table = bgdata.open_warehouse(root).build(DATASET.name, recipe)
    assert f"exact, {table.name} " in output_of(root, "probe", larger, "--away", "2-3", *MET)


def test_table_for_a_score_can_be_built(memory_path: Path) -> None:
    root = memory_path / "warehouse"
    build = ("build", "bearoff_match", "--points", "2", "--checkers", "2")
    score = ("--set", "away=3", "--set", "opponent_away=4", "--set", "cube_value=2", "--set", "met=published-12")
    output_of(root, *build, *score)
    (table,) = bgdata.open_warehouse(root).versions(DATASET.name)
    assert table.manifest.variant == "2x2-away-3-4-cube-2-published-12"
    error = error_of(run(root, *build, "--set", "met=nobody"), 1)
    assert error.startswith("expected a match equity table among ")
    assert error.endswith(", got nobody")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--away", "13-5"), 2, "expected at most 12 points to go, as published-12 has, got 13-away 5-away"),
        (("--away", "1-5", "--crawford", "--cube", "2"), 2, "expected a centered cube of 1 in the crawford game, got "),
        (("--away", "3-5", "--owner", "me"), 2, "invalid value for '--owner': 'me' is not one of 'centered', 'on_"),
        (("--cube", "2"), 2, "expected --away beside --crawford, --cube, --owner or --met"),
        (("--away", "3-5", "--met", "nobody"), 1, "expected a match equity table among "),
    ],
)
def test_invalid_scores_and_cubes_are_refused(root: Path, options: tuple[str, ...], code: int, message: str) -> None:
    assert error_of(run(root, "probe", POSITION, *MET, *options), code).startswith(message)


@pytest.mark.parametrize("checkers_on_the_ace_point", [0, 1])
def test_checker_on_the_bar_is_refused(root: Path, checkers_on_the_ace_point: int) -> None:
    board = [0] * 26
    board[25], board[0], board[1] = 1, 1, checkers_on_the_ace_point
    result = run(root, "probe", "--away", "3-3", *MET, "--", " ".join(map(str, board)))
    assert error_of(result, 1) == "expected a bearoff position, got a checker on the bar"
    assert not (root / "bearoff_match").exists(), "no table is built"
