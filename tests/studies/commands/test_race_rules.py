"""Tests of `bgdata race-rules`: rules as text, data and picture, and errors."""

import json
from pathlib import Path

import pytest

import bgdata
from bgdata.studies.race_rules import NAMES
from tests.command_line import error_of, output_of, run

CORPUS = "selfplay/pubeval-20-seed-3"
SIZE = ("--table", "6x6")


def test_rules_are_printed_side_by_side(small_root: Path) -> None:
    """The command prints each rule with its losses, the least first, and the formulas of the found rules."""
    head, units, _, _, *lines = output_of(small_root, "race-rules", CORPUS, *SIZE).splitlines()
    table = bgdata.open_warehouse(small_root).open("race_rules", "6x6-of-pubeval-20-seed-3")
    figures = table.manifest.statistics
    assert head == (
        f"{table.name}: 851,929 pairs of layouts; {figures['played_positions']} positions of the corpus, "
        f"{figures['longer_positions']} of them longer"
    )
    assert units.startswith("mean loss in thousandths of a point per unit cube")
    rules = [line.split() for line in lines[: len(NAMES)]]
    found = lines[len(NAMES) :]
    assert sorted(rule[0] for rule in rules) == sorted(NAMES)
    assert [line.split(":")[0] for line in found] == [name for name, *_ in rules if name.startswith("found")]
    played = [float(rule[4]) for rule in rules]
    assert played == sorted(played)
    for losses in bgdata.open_warehouse(small_root).rows("from race_rule_losses"):
        (row,) = (rule for rule in rules if rule[0] == losses["rule"])
        for column, name in ((3, "played_take_loss"), (8, "longer_total_loss"), (12, "total_loss")):
            assert row[column] == ("-" if losses[name] is None else f"{1000 * losses[name]:.1f}")


def test_data_equal_the_view(small_root: Path) -> None:
    rows = json.loads(output_of(small_root, "race-rules", CORPUS, *SIZE, "--format", "json"))
    assert rows == bgdata.open_warehouse(small_root).rows("select * exclude variant from race_rule_losses")


def test_picture_has_all_rules(small_root: Path, tmp_path: Path) -> None:
    output_of(small_root, "race-rules", CORPUS, *SIZE, "--plot", tmp_path / "a.svg")
    picture = (tmp_path / "a.svg").read_text()
    for text in (*NAMES, "redouble", "as they come up in play"):
        assert f">{text}<" in picture


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("selfplay/none", *SIZE), 1, "no selfplay/none in "),
        (("games", *SIZE), 2, "expected a corpus such as selfplay/network-10000-seed-1, got 'games'"),
        ((CORPUS, "--table", "big"), 2, "expected a size such as 6x9, got 'big'"),
        ((CORPUS, "--table", "5x5"), 1, "expected bearoff_two_sided/5x5 in "),
    ],
)
def test_invalid_arguments_are_refused(small_root: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    assert error_of(run(small_root, "race-rules", *arguments), code).startswith(message)
