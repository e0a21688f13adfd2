"""`bgdata probe`: every table that covers a position."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import bgdata
from bgdata.bearoff.tables import mean_excess
from bgdata.evaluation.probe import cube_action
from bgdata.game.identifiers import identify
from bgdata.game.position import Position
from tests.command_line import ON_ROLL, OPPONENT, POSITION, error_of, position_id, run, succeeds


def test_probe(small_root: Path) -> None:
    shown = succeeds(small_root, "probe", POSITION)
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


def test_probe_of_gammons_and_gnubg_files(small_root: Path, tmp_path: Path) -> None:
    for option, size in (("--one-sided", "3"), ("--two-sided", "3x3")):
        succeeds(small_root, "export", "gnubg-bd", option, size, "-o", tmp_path / f"{option[2:]}.bd")
    shown = succeeds(
        small_root, "probe", POSITION, "--bd", tmp_path / "one-sided.bd", "--bd", tmp_path / "two-sided.bd"
    )
    assert len(re.findall("combined: win chance", shown)) == 2
    assert len(re.findall(r"^ +centered +\+0\.", shown, re.MULTILINE)) == 1
    everybody = position_id([15], [0, 0, 15])
    shown = succeeds(small_root, "probe", everybody)
    assert re.search(r"win gammon  0\.\d{6} \(approximate: bearoff_gammon/3x15/", shown)
    assert re.search(r"lose gammon 0\.\d{6} \(approximate: bearoff_gammon/3x15/", shown)
    result = run(small_root, "probe", everybody, "--bd", tmp_path / "two-sided.bd")
    assert "expected a position with at most 3 checkers a side for" in error_of(result, 1)


def test_combined_chances_are_chances_and_gammons_count(small_root: Path) -> None:
    """Against 15 checkers the last one of the player on roll wins a gammon, in the combined equity too."""
    *_, row = json.loads(
        succeeds(small_root, "probe", position_id(opponent=[0, 0, 15], on_roll=[1]), "--format", "json")
    )
    assert (row["win"], row["win_gammon"], row["cubeless"]) == pytest.approx((1, 1, 2), abs=1e-6)
    assert row["win"] <= 1
    assert row["win_gammon"] <= 1
    shown = succeeds(small_root, "probe", position_id([15], [0, 0, 15]))
    assert "-0.000000" not in shown


def test_a_leader_is_worth_less_than_combined_tables_say(small_root: Path) -> None:
    leader, trailer = [2, 3, 0], [0, 2, 4]
    text = position_id(opponent=trailer, on_roll=leader)
    *_, combined = json.loads(succeeds(small_root, "probe", text, "--format", "json"))
    table = bgdata.open_one_sided(small_root, 3)
    wastages = [table.probe_mean_rolls(leader) * 49 / 6 - 8, table.probe_mean_rolls(trailer) * 49 / 6 - 16]
    excess = mean_excess(combined["cubeless"], *wastages)
    assert combined["cubeless"] - combined["corrected"] == pytest.approx(excess, abs=1e-12)
    assert excess > 0
    expected = f"less what the leader is overrated by on average: cubeless equity {combined['corrected']:+.6f}"
    assert expected in succeeds(small_root, "probe", text)


def test_one_side_with_few_checkers_is_corrected_too(small_root: Path) -> None:
    text = position_id(opponent=[0, 0, 4], on_roll=[5, 0, 0])
    *_, combined = json.loads(succeeds(small_root, "probe", text, "--format", "json"))
    assert combined["corrected"] < combined["cubeless"] - 0.001


def test_with_few_checkers_combined_equities_are_not_corrected(small_root: Path) -> None:
    exact, combined = json.loads(succeeds(small_root, "probe", POSITION, "--format", "json"))
    assert exact["corrected"] is combined["corrected"] is None
    assert combined["cubeless"] == pytest.approx(exact["cubeless"], abs=0.01)
    assert "overrated" not in succeeds(small_root, "probe", POSITION)


def test_probe_reads_every_notation(small_root: Path) -> None:
    shown = succeeds(small_root, "probe", POSITION)
    for name, text in identify(Position(POSITION)).items():
        if name != "match_id":
            assert succeeds(small_root, "probe", text) == shown
