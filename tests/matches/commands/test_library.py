"""Tests of `bgdata matches`: the list of matches, and the report of a player."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest
from click.testing import Result

from bgdata.warehouse import open_whole
from tests.command_line import error_of, run
from tests.imports.importing import Imports
from tests.matches.kinds.test_match_analysis import BEAVERS, MATCH, analyse_texts


@pytest.fixture
def library(imports: Imports) -> Path:
    """A warehouse with an analysed match that is contained in two imports."""
    analyse_texts(imports, "m", MATCH)
    imports.build("matches", [imports.file("again.mat", MATCH)], name="again")
    return imports.warehouse.root


def rows_of(result: Result) -> list[dict[str, Any]]:
    """The rows of a command that printed JSON."""
    assert result.exit_code == 0, result.output
    rows: list[dict[str, Any]] = json.loads(result.stdout)
    return rows


def report(root: Path, player: str, *options: str) -> list[dict[str, Any]]:
    """The rows of the report on a player; the first is about all decisions."""
    return rows_of(run(root, "matches", player, *options, "--format", "json"))


def test_matches_are_listed_once(library: Path) -> None:
    (row,) = rows_of(run(library, "matches", "--format", "json"))
    assert (row["player_0"], row["player_1"]) == ("ann", "bob")
    assert (row["n_games"], row["imports"]) == (2, 2)
    _, line = run(library, "matches").stdout.splitlines()
    assert line.split()[:4] == ["ann", "bob", "3", "2"]


def test_parts_of_a_report_sum_to_the_whole(library: Path) -> None:
    rows = report(library, "ann")
    total = rows[0]
    assert total["performance_rating"] == pytest.approx(1000 * total["loss"] / total["decisions"])

    def part(name: str) -> dict[str, dict[str, Any]]:
        return {row["name"]: row for row in rows if row["part"] == name}

    for name in ("all", "match", "opponent", "decision", "error", "theme", "phase", "score"):
        assert sum(row["loss"] for row in part(name).values()) == pytest.approx(total["loss"])
    assert list(part("match")) == ["001 against bob"]
    assert list(part("opponent")) == ["bob"]
    assert part("decision").keys() == {"play", "double", "answer"}
    assert part("field").keys() == {"ann", "bob"}
    ratings = [row["performance_rating"] for row in part("field").values()]
    assert ratings == sorted(ratings)
    assert total["field_rating"] == report(library, "bob")[0]["performance_rating"]
    text = run(library, "matches", "ann", "--errors", "1").stdout
    assert text.startswith("decisions of ann\n")
    assert "the 1 worst errors" in text
    assert "by theme" in text


def test_matches_without_a_date_are_left_out_since_a_date(library: Path) -> None:
    assert rows_of(run(library, "matches", "--since", "2000-01-01", "--format", "json")) == []
    message = error_of(run(library, "matches", "ann", "--since", "2000-01-01"), 1)
    assert "no analysed decisions of 'ann' since 2000-01-01" in message


@pytest.mark.parametrize("date", ["yesterday", "11/30/26", ""])
def test_invalid_dates_are_refused(library: Path, date: str) -> None:
    message = error_of(run(library, "matches", "--since", date), 2)
    assert f"expected --since with a date such as 2026-11-30, got {date!r}" in message


def test_matches_of_a_report_are_ordered_by_date(imports: Imports) -> None:
    """The trend shows matches in the order in which they were played, not that of their files."""
    later = '; [EventDate "2026.11.30"]\n' + MATCH
    earlier = '; [EventDate "11/03/26"]\n' + MATCH.replace("bob", "cid").replace("24/23", "24/22")
    analyse_texts(imports, "m", later, earlier)
    root = imports.warehouse.root
    matches = [row["name"] for row in report(root, "ann") if row["part"] == "match"]
    assert matches == ["002 against cid", "001 against bob"]
    recent = [row["name"] for row in report(root, "ann", "--since", "2026-11-25") if row["part"] == "match"]
    assert recent == ["001 against bob"]


def test_page_has_boards(library: Path, tmp_path: Path) -> None:
    page = tmp_path / "ann.html"
    assert run(library, "matches", "ann", "--page", page).exit_code == 0
    text = page.read_text()
    assert "<h1>Decisions of ann</h1>" in text
    errors = text.split("<h2>Worst errors</h2>")[1].split("<h3>")[1:]
    assert len(errors) >= 1
    for error in errors:
        assert error.count("<svg") == (2 if "made: " in error else 1)
        assert "XGID=" in error


def test_margin_is_half_of_the_interval(library: Path) -> None:
    """The margin of a rating is 1.96 standard errors of the mean loss."""
    decisions = open_whole(library).rows("from match_analysis where player_name = 'ann' and is_decision")
    losses = [float(row["loss"]) for row in decisions]
    expected = 1000 * 1.96 * stdev(losses) / len(losses) ** 0.5
    assert report(library, "ann")[0]["margin"] == pytest.approx(expected)


def test_report_on_several_matches_has_charts(imports: Imports, tmp_path: Path) -> None:
    other = MATCH.replace("ann", "eve").replace("31: 8/5 6/5", "61: 13/7 8/7").replace("31: 24/23 8/5", "21: 13/10")
    analyse_texts(imports, "two", MATCH, other)
    page = tmp_path / "bob.html"
    assert run(imports.warehouse.root, "matches", "bob", "--page", page).exit_code == 0
    text = page.read_text()
    assert text.count('class="chart"') == 2
    assert "002 against eve" in text


def test_alias_of_a_report_is_one_player_with_it(library: Path) -> None:
    both = report(library, "ann", "--alias", "bob")[0]
    assert both["decisions"] == report(library, "ann")[0]["decisions"] + report(library, "bob")[0]["decisions"]
    assert both["field_rating"] is None


def test_aliases_of_the_warehouse_are_one_player_everywhere(library: Path) -> None:
    expected = report(library, "ann", "--alias", "bob")[0]
    (library / "players.toml").write_text('me = ["ann", "bob"]\n')
    for name in ("me", "ann", "bob"):
        assert report(library, name)[0] == expected
    (match,) = rows_of(run(library, "matches", "--format", "json"))
    assert (match["player_0"], match["player_1"]) == ("me", "me")
    assert [row["player"] for row in open_whole(library).rows("from players")] == ["me"]
    assert {row["player"] for row in open_whole(library).rows("from my_errors")} == {"me"}


def test_damaged_alias_file_is_reported(library: Path) -> None:
    (library / "players.toml").write_text("me = ann\n")
    assert "expected TOML in" in run(library, "matches", "me").stderr


HOSTILE = ("<b>ann</b>", "a'; drop table games--", "\x1b[31mann", "ann" * 100, 'a"%{}$', "ann\u202e", "ann" * 200)
TREE = """(;FF[4]GM[6]AP[GNU Backgammon:1.07]MI[length:3][game:0][ws:0][bs:0]PW[{0}]PB[bob]EV[{0}]PC[{0}]DT[{0}]RE[W+1]
;W[31hefe];B[41ablp];W[66xrxrmgmg];B[32adln]C[{0}];W[double];B[drop])"""


@pytest.mark.parametrize("form", ["mat", "sgf"])
def test_odd_player_names_are_shown_literally(imports: Imports, tmp_path: Path, form: str) -> None:
    """Markup, SQL, escapes of terminals and long names stay what they are, in lists, reports and pages, as do dates,
    events, places and remarks. A line of .mat of more than 500 bytes is quarantined."""
    root = imports.warehouse.root
    if form == "sgf":
        texts = [TREE.replace("{0}", name) for name in HOSTILE]
    else:
        texts = [MATCH.replace(" ann : 0                    ", f" {name} : 0 ") for name in HOSTILE]
    analyse_texts(imports, "m", *texts)
    players = [str(row["player_0"]) for row in rows_of(run(root, "matches", "--format", "json"))]
    assert len(players) == len(HOSTILE) - (form == "mat")
    assert max(map(len, players)) == (500 if form == "sgf" else 300)
    outputs = [run(root, "matches").stdout]
    for player in players:
        page = tmp_path / "page.html"
        assert report(root, player, "--page", str(page))[0]["decisions"] == 4
        assert "<b>ann" not in page.read_text()
        outputs += [page.read_text(), run(root, "matches", player).stdout]
    outputs += [run(root, "luck", f"{imports.folder}/m-2.mat").output, run(root, "quiz", players[2]).output]
    assert "\x1b" not in "".join(outputs)
    assert "\u202e" not in "".join(outputs)
    reasons = {row["reason"] for row in imports.warehouse.rows("select reason from quarantine where line = 4")}
    assert reasons == ({"expected at most 500 bytes in a line"} if form == "mat" else set())


def test_bad_files_are_set_aside_and_the_others_analysed(imports: Imports) -> None:
    """Illegal plays, other variants and lines that are cut off are set aside with the reason; games that have no end,
    swapped columns and beavers are analysed; the views count what is left."""
    illegal = MATCH.replace("ann", "ida").replace("24/23 8/5", "24/23 8/4")
    variant = f'; [Variation "Hypergammon"]\n{MATCH.replace("ann", "vera")}'
    cut = MATCH.replace("ann", "cara")[:-7]
    score_line, swapped_line = (
        " sue : 0                        bob : 1",
        " bob : 1                        sue : 0",
    )
    swapped = MATCH.replace("ann", "sue").replace(score_line, swapped_line)
    analyse_texts(imports, "m", illegal, variant, cut, swapped, BEAVERS.replace("ann", "mona"))
    quarantine = imports.warehouse.rows("from quarantine where reason not like '%see line%'")
    assert [(row["source"], row["line"], row["reason"].partition(" (")[0]) for row in quarantine] == [
        ("m-0.mat", 12, "expected a legal play"),
        ("m-1.mat", 4, "expected backgammon, got a record of 'Hypergammon'"),
        ("m-1.mat", 11, "expected backgammon, got a record of 'Hypergammon'"),
        ("m-2.mat", 12, "expected checker moves such as 24/18, bar/21* or 6/off(2)"),
    ]
    players = {str(row["player"]): row for row in imports.warehouse.rows("from players order by player")}
    decisions = {name: (row["matches"], row["decisions"]) for name, row in players.items()}
    assert decisions == {"bob": (4, 10), "cara": (1, 3), "ida": (1, 3), "mona": (1, 2), "sue": (1, 5)}
    errors = imports.warehouse.rows("select distinct player from my_errors")
    assert {str(row["player"]) for row in errors} <= players.keys()
    matches = rows_of(run(imports.warehouse.root, "matches", "--format", "json"))
    assert {row["player_0"] for row in matches} == {"cara", "ida", "mona", "sue"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("eve",), 1, "no analysed decisions of 'eve'"),
        (("o'brien",), 1, "no analysed decisions of"),
        (("ann", "--analysis", "none"), 1, "no match_analysis/'none' in"),
        (("--alias", "ann"), 2, "expected a PLAYER with --page, --alias and --analysis, got none"),
    ],
)
def test_invalid_arguments_are_refused(library: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    assert message in error_of(run(library, "matches", *arguments), code)


def test_missing_analysis_is_an_error(tmp_path: Path) -> None:
    assert "no analysis of matches in" in error_of(run(tmp_path / "none", "matches", "ann"), 1)


def test_analysis_must_be_named_if_there_are_two(library: Path, imports: Imports) -> None:
    analyse_texts(imports, "other", MATCH)
    message = error_of(run(library, "matches", "ann"), 2)
    assert "expected --analysis with one of" in message
    analysis = message.partition("one of ")[2].partition(",")[0]
    assert run(library, "matches", "ann", "--analysis", analysis).exit_code == 0
