"""Tests of `bgdata matches`: the list of matches, and the report of a player."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result

from tests.command_line import run
from tests.imports.importing import Imports
from tests.matches.kinds.test_match_analysis import MATCH, analysed


@pytest.fixture
def library(imports: Imports) -> Path:
    """A warehouse with an analysed match that is in two imports."""
    analysed(imports, "m", MATCH)
    imports.build("matches", [imports.file("again.mat", MATCH)], name="again")
    return imports.warehouse.root


def figures(result: Result) -> list[dict[str, object]]:
    assert result.exit_code == 0, result.output
    found: list[dict[str, object]] = json.loads(result.stdout)
    return found


def test_matches_are_listed_once(library: Path) -> None:
    (row,) = figures(run(library, "matches", "--format", "json"))
    assert row["player_0"] == "ann"
    assert row["player_1"] == "bob"
    assert row["n_games"] == 2
    assert row["imports"] == 2
    lines = run(library, "matches").stdout.splitlines()
    assert len(lines) == 2
    assert lines[1].split()[:4] == ["ann", "bob", "3", "2"]


def test_report_of_a_player(library: Path) -> None:
    found = figures(run(library, "matches", "ann", "--format", "json"))
    by_part = {part: [row for row in found if row["part"] == part] for part in ("all", "match", "decision", "theme")}
    (whole,) = by_part["all"]
    assert [row["name"] for row in by_part["match"]] == ["001 against bob"]
    assert {row["name"] for row in by_part["decision"]} == {"play", "double", "answer"}
    for part in ("match", "decision", "theme"):
        assert sum(float(str(row["loss"])) for row in by_part[part]) == pytest.approx(whole["loss"])
    assert whole["performance_rating"] == pytest.approx(1000 * float(str(whole["loss"])) / int(str(whole["decisions"])))
    other = figures(run(library, "matches", "bob", "--format", "json"))[0]
    assert whole["field_rating"] == other["performance_rating"]
    text = run(library, "matches", "ann", "--errors", "1").stdout
    assert text.startswith("decisions of ann\n")
    assert "the 1 worst errors" in text
    assert "by theme" in text


def test_page_has_boards(library: Path, tmp_path: Path) -> None:
    page = tmp_path / "ann.html"
    assert run(library, "matches", "ann", "--page", page).exit_code == 0
    text = page.read_text()
    assert "<h1>Decisions of ann</h1>" in text
    assert text.count("<svg") == text.count("<h3>") >= 1
    assert "XGID=" in text


def test_aliases_are_one_player(library: Path) -> None:
    both = figures(run(library, "matches", "ann", "--alias", "bob", "--format", "json"))[0]
    single = [figures(run(library, "matches", name, "--format", "json"))[0] for name in ("ann", "bob")]
    assert both["decisions"] == sum(int(str(row["decisions"])) for row in single)
    assert both["field_rating"] is None


def test_wrong_requests_are_refused(library: Path, tmp_path: Path) -> None:
    for arguments, message in (
        (("eve",), "no analysed decisions of 'eve'"),
        (("o'brien",), "no analysed decisions of"),
        (("ann", "--analysis", "none"), "no match_analysis/'none' in"),
        (("--alias", "ann"), "expected a PLAYER with --page, --alias and --analysis, got none"),
    ):
        result = run(library, "matches", *arguments)
        assert result.exit_code in (1, 2), arguments
        assert message in result.stderr
    assert "no analysis of matches in" in run(tmp_path / "none", "matches", "ann").stderr


def test_one_analysis_is_chosen(library: Path, imports: Imports) -> None:
    analysed(imports, "other", MATCH)
    result = run(library, "matches", "ann")
    assert result.exit_code == 2
    assert "expected --analysis with one of" in result.stderr
    chosen = result.stderr.partition("one of ")[2].partition(",")[0]
    assert run(library, "matches", "ann", "--analysis", chosen).exit_code == 0
