"""Tests of `bgdata matches`: the list of matches, and the report of a player."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import stdev

import pytest
from click.testing import Result

from bgdata.warehouse import open_whole
from tests.command_line import run
from tests.imports.importing import Imports
from tests.matches.kinds.test_match_analysis import BEAVERS, MATCH, analyse_texts


@pytest.fixture
def library(imports: Imports) -> Path:
    """A warehouse with an analysed match that is contained in two imports."""
    analyse_texts(imports, "m", MATCH)
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


def test_parts_of_a_report_sum_to_the_whole(library: Path) -> None:
    """The losses of each part of a report sum to the loss of all decisions, and all players are rated beside it."""
    found = figures(run(library, "matches", "ann", "--format", "json"))
    parts = ("all", "match", "opponent", "decision", "error", "theme", "phase", "score")
    by_part = {part: [row for row in found if row["part"] == part] for part in (*parts, "field")}
    (whole,) = by_part["all"]
    assert [row["name"] for row in by_part["match"]] == ["001 against bob"]
    assert {row["name"] for row in by_part["decision"]} == {"play", "double", "answer"}
    for part in parts:
        assert sum(float(str(row["loss"])) for row in by_part[part]) == pytest.approx(whole["loss"])
    assert whole["performance_rating"] == pytest.approx(1000 * float(str(whole["loss"])) / int(str(whole["decisions"])))
    assert [row["name"] for row in by_part["opponent"]] == ["bob"]
    assert sorted(str(row["name"]) for row in by_part["field"]) == ["ann", "bob"]
    ratings = [float(str(row["performance_rating"])) for row in by_part["field"]]
    assert ratings == sorted(ratings)
    other = figures(run(library, "matches", "bob", "--format", "json"))[0]
    assert whole["field_rating"] == other["performance_rating"]
    text = run(library, "matches", "ann", "--errors", "1").stdout
    assert text.startswith("decisions of ann\n")
    assert "the 1 worst errors" in text
    assert "by theme" in text


def test_matches_without_a_date_are_left_out_since_a_date(library: Path) -> None:
    assert figures(run(library, "matches", "--since", "2000-01-01", "--format", "json")) == []
    done = run(library, "matches", "ann", "--since", "2000-01-01")
    assert done.exit_code == 1
    assert "no analysed decisions of 'ann' since 2000-01-01" in done.output
    for wrong in ("yesterday", "11/30/26", ""):
        done = run(library, "matches", "--since", wrong)
        assert done.exit_code == 2
        assert f"expected --since with a date such as 2026-11-30, got {wrong!r}" in done.output


def test_matches_of_a_report_are_ordered_by_date(imports: Imports) -> None:
    """The trend shows matches in the order in which they were played, not that of their files."""
    later, first = (f'; [EventDate "{date}"]\n' for date in ("2026.11.30", "11/03/26"))
    analyse_texts(imports, "m", later + MATCH, first + MATCH.replace("bob", "cid").replace("24/23", "24/22"))
    found = figures(run(imports.warehouse.root, "matches", "ann", "--format", "json"))
    assert [row["name"] for row in found if row["part"] == "match"] == ["002 against cid", "001 against bob"]
    recent = figures(run(imports.warehouse.root, "matches", "ann", "--since", "2026-11-25", "--format", "json"))
    assert [row["name"] for row in recent if row["part"] == "match"] == ["001 against bob"]


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
    losses = [
        float(row["loss"])
        for row in open_whole(library).rows("from match_analysis where player_name = 'ann' and is_decision")
    ]
    (whole, *_) = figures(run(library, "matches", "ann", "--format", "json"))
    assert whole["margin"] == pytest.approx(1000 * 1.96 * stdev(losses) / len(losses) ** 0.5)


def test_report_on_several_matches_has_charts(imports: Imports, tmp_path: Path) -> None:
    other = MATCH.replace("ann", "eve").replace("31: 8/5 6/5", "61: 13/7 8/7").replace("31: 24/23 8/5", "21: 13/10")
    analyse_texts(imports, "two", MATCH, other)
    page = tmp_path / "bob.html"
    assert run(imports.warehouse.root, "matches", "bob", "--page", page).exit_code == 0
    text = page.read_text()
    assert text.count('class="chart"') == 2
    assert "002 against eve" in text


def test_aliases_of_the_warehouse(library: Path) -> None:
    """Players that `players.toml` joins are one player in reports, lists and views; an invalid file is reported."""
    separate = figures(run(library, "matches", "ann", "--alias", "bob", "--format", "json"))[0]
    (library / "players.toml").write_text('me = ["ann", "bob"]\n')
    try:
        for name in ("me", "ann", "bob"):
            assert figures(run(library, "matches", name, "--format", "json"))[0] == separate
        (row,) = figures(run(library, "matches", "--format", "json"))
        assert (row["player_0"], row["player_1"]) == ("me", "me")
        warehouse = open_whole(library)
        assert [row["player"] for row in warehouse.rows("from players")] == ["me"]
        assert {row["player"] for row in warehouse.rows("from my_errors")} == {"me"}
        (library / "players.toml").write_text("me = ann\n")
        assert "expected TOML in" in run(library, "matches", "me").stderr
    finally:
        (library / "players.toml").unlink()


def test_aliases_are_one_player(library: Path) -> None:
    both = figures(run(library, "matches", "ann", "--alias", "bob", "--format", "json"))[0]
    single = [figures(run(library, "matches", name, "--format", "json"))[0] for name in ("ann", "bob")]
    assert both["decisions"] == sum(int(str(row["decisions"])) for row in single)
    assert both["field_rating"] is None


HOSTILE = ("<b>ann</b>", "a'; drop table games--", "\x1b[31mann", "ann" * 100, 'a"%{}$', "ann\u202e", "ann" * 200)
TREE = """(;FF[4]GM[6]AP[GNU Backgammon:1.07]MI[length:3][game:0][ws:0][bs:0]PW[{0}]PB[bob]EV[{0}]PC[{0}]DT[{0}]RE[W+1]
;W[31hefe];B[41ablp];W[66xrxrmgmg];B[32adln]C[{0}];W[double];B[drop])"""


@pytest.mark.parametrize("form", ["mat", "sgf"])
def test_odd_player_names_are_shown_literally(imports: Imports, tmp_path: Path, form: str) -> None:
    """Markup, SQL, escapes of terminals and long names stay what they are, in lists, reports and pages, as do dates,
    events, places and remarks. A line of .mat of more than 500 bytes is quarantined."""
    root = imports.warehouse.root
    texts = [
        TREE.replace("{0}", name) if form == "sgf" else MATCH.replace(" ann : 0                    ", f" {name} : 0 ")
        for name in HOSTILE
    ]
    analyse_texts(imports, "m", *texts)
    players = [str(row["player_0"]) for row in figures(run(root, "matches", "--format", "json"))]
    assert len(players) == len(HOSTILE) - (form == "mat")
    assert max(map(len, players)) == (500 if form == "sgf" else 300)
    told = [run(root, "matches").stdout]
    for player in players:
        page = tmp_path / "page.html"
        found = figures(run(root, "matches", player, "--format", "json", "--page", page))
        assert found[0]["decisions"] == 4
        told += [page.read_text(), run(root, "matches", player).stdout]
        assert "<b>ann" not in told[-2]
    told += [run(root, *command).output for command in (("luck", f"{imports.folder}/m-2.mat"), ("quiz", players[2]))]
    assert not {"\x1b", "\u202e"} & set("".join(told))
    reasons = {row["reason"] for row in imports.warehouse.rows("select reason from quarantine where line = 4")}
    assert reasons == ({"expected at most 500 bytes in a line"} if form == "mat" else set())


def test_library_of_bad_files(imports: Imports) -> None:
    """Illegal plays, other variants and lines that are cut off are set aside with the reason; games that have no end,
    swapped columns and beavers are analysed; the views count what is left."""
    bad = {
        "illegal": MATCH.replace("ann", "ida").replace("24/23 8/5", "24/23 8/4"),
        "variant": f'; [Variation "Hypergammon"]\n{MATCH.replace("ann", "vera")}',
        "cut": MATCH.replace("ann", "cara")[:-7],
        "swapped": MATCH.replace("ann", "sue").replace(
            " sue : 0                        bob : 1", " bob : 1                        sue : 0"
        ),
        "money": BEAVERS.replace("ann", "mona"),
    }
    analyse_texts(imports, "m", *bad.values())
    found = imports.warehouse.rows("select source, line, reason from quarantine where reason not like '%see line%'")
    names = [f"m-{number}.mat" for number in range(len(bad))]
    assert [(row["source"], row["line"], row["reason"].partition(" (")[0]) for row in found] == [
        (names[0], 12, "expected a legal play"),
        (names[1], 4, "expected backgammon, got a record of 'Hypergammon'"),
        (names[1], 11, "expected backgammon, got a record of 'Hypergammon'"),
        (names[2], 12, "expected checker moves such as 24/18, bar/21* or 6/off(2)"),
    ]
    query = "select player, matches, decisions from players order by player"
    played = {str(row["player"]): (row["matches"], row["decisions"]) for row in imports.warehouse.rows(query)}
    assert played == {"bob": (4, 10), "cara": (1, 3), "ida": (1, 3), "mona": (1, 2), "sue": (1, 5)}
    errors = "select distinct player from my_errors"
    assert {str(row["player"]) for row in imports.warehouse.rows(errors)} <= played.keys()
    listed = figures(run(imports.warehouse.root, "matches", "--format", "json"))
    assert {row["player_0"] for row in listed} == {"cara", "ida", "mona", "sue"}


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
    analyse_texts(imports, "other", MATCH)
    result = run(library, "matches", "ann")
    assert result.exit_code == 2
    assert "expected --analysis with one of" in result.stderr
    chosen = result.stderr.partition("one of ")[2].partition(",")[0]
    assert run(library, "matches", "ann", "--analysis", chosen).exit_code == 0
