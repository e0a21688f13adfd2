"""The page of a position: same data as commands, and errors for invalid addresses."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bgdata
from bgdata.bearoff.match_table import MatchTable
from bgdata.game.dice import ROLLS
from bgdata.game.identifiers import format_xgid, identify
from bgdata.game.plays import judge_play
from bgdata.game.position import Position
from bgdata.web.answer import percent, signed_text
from bgdata.web.position_request import PositionRequest
from tests.command_line import POSITION, output_of, position_id, run
from tests.stated_parts import CHANGES, CONTACT
from tests.subtests import each
from tests.web.reading import PageReader, inner_links, read

if TYPE_CHECKING:
    from starlette.testclient import TestClient

START = "4HPwATDgc/ABMA"
XGID = "XGID=-b----E-C---eE---c-e----B-:1:1:1:31:2:3:0:7:10"
OVER = position_id([0, 2], [])


def data(root: Path, *arguments: str) -> object:
    return json.loads(output_of(root, *arguments, "--format", "json"))


@pytest.mark.parametrize(
    ("notation", "query", "commands"),
    [
        (START, "", {"show": (), "eval": (), "cube": ()}),
        (START, "roll=31", {"show": ("--roll", "31"), "hint": ("31", "--plays", "10"), "eval": ()}),
        (START, "roll=31&ply=1&plays=2", {"hint": ("31", "--plays", "2", "--ply", "1"), "eval": ("--ply", "1")}),
        (START, "roll=31&cube=2&owner=opponent", {"hint": ("31", "--plays=10", "--cube", "2", "--owner", "opponent")}),
        (START, "cube=2", {"cube": ("--cube", "2")}),
        (START, "jacoby=1&beavers=1", {"cube": ("--jacoby", "--beavers")}),
        (START, "away=2-4&met=published-12", {"cube": ("--away", "2-4", "--met", "published-12")}),
        (START, "away=1-4&crawford=1&met=published-12", {"cube": ("--away=1-4", "--crawford", "--met=published-12")}),
        (POSITION, "", {"show": (), "eval": (), "probe": (), "cube": ()}),
        (XGID, "met=published-12", {"show": (), "eval": (), "hint": ("--plays", "10", "--met", "published-12")}),
    ],
)  # fmt: skip
def test_json_equals_command_output(
    client: TestClient, site_root: Path, notation: str, query: str, commands: dict[str, tuple[str, ...]]
) -> None:
    found = client.get(f"/position/{quote(notation, safe='/+:=,-')}.json?{query}").json()
    for name, arguments in commands.items():
        assert found[name] == data(site_root, name, notation, *arguments), name


def test_every_notation_is_an_address(client: TestClient) -> None:
    expected = client.get(f"/position/{START}.json").json()["eval"]
    for name, text in identify(Position(START)).items():
        if name != "match_id":
            assert client.get(f"/position/{quote(text, safe='/')}.json").json()["eval"] == expected, name


def test_page_has_all_answers(client: TestClient, site_root: Path) -> None:
    """The page shows the value of each cube position, and the answers of all tables side by side, with cubeful values
    where available."""
    page = read(client, f"/position/{POSITION}")
    words = ("Before the roll", "two-sided table", "exact, two-sided", "one-sided, combined", "race network")
    for text in (*words, "centered", "owned by the opponent", *identify(Position(POSITION)).values()):
        assert text in page.text
    assert "The game is over" in read(client, f"/position/{OVER}").text
    for arguments in ((), ("--cube", "2", "--owner", "on_roll"), ("--cube", "2", "--owner", "opponent")):
        (row,) = json.loads(run(site_root, "cube", POSITION, *arguments, "--format", "json").stdout)
        assert f"{row['no_double']:+.4f}".replace("-", "−") in page.text
    (row,) = json.loads(output_of(site_root, "cube", POSITION, "--format", "json"))
    assert page.text.count("with the cube") == 1
    assert signed_text(row["equity"], 5) in page.text
    assert "with the cube" not in read(client, f"/position/{START}").text


def test_tables_of_a_score_are_listed_separately(client: TestClient, site_root: Path) -> None:
    (table,) = bgdata.open_warehouse(site_root).current("bearoff_match")
    solved = MatchTable(table)
    score = f"away={solved.score.away}-{solved.score.opponent_away}&met={solved.met}"
    position = position_id([0, 2], [1, 1])
    page = read(client, f"/position/{position}?{score}")
    assert f"exact, at this score {table.name}" in page.text
    assert percent(solved.probe(Position(position)).mwc, 3) in page.text
    assert "exact, at this score" not in read(client, f"/position/{position}?away=9-9&met={solved.met}").text


def test_identifiers_hold_roll_score_and_cube(client: TestClient) -> None:
    """The XGID and gnubg ID on a page lead to the same answers; with a cube too large for both, the page has only the
    Position ID."""
    page = read(client, f"/position/{START}?roll=31&away=2-4&cube=2&owner=on_roll&met=published-12")
    (xgid,) = (word for word in page.text.split() if word.startswith("XGID="))
    (gnubg_id,) = (word for word in page.text.split() if word.startswith(f"{START}:"))
    expected = client.get(f"/position/{START}.json?roll=31&away=2-4&cube=2&owner=on_roll&met=published-12").json()
    for name in (xgid, gnubg_id):
        found = client.get(f"/position/{quote(name, safe='/')}.json?met=published-12").json()
        assert (found["cube"], found["hint"]) == (expected["cube"], expected["hint"]), name
    assert START in read(client, f"/position/{START}?cube=8192&owner=on_roll").text


def test_identifiers_hold_beavers(client: TestClient) -> None:
    """Beavers from an XGID or the address stay in the identifiers, and the page names those that leave them out."""
    words = "match_id and gnubg_id do not say that beavers are allowed"
    both, none = (f"XGID=-b----E-C---eE---c-e----B-:0:0:1:00:0:0:{rules}:0:10" for rules in (3, 1))
    cases = [(both, "", both), (START, "?jacoby=1&beavers=1", both), (both, "?beavers=0", none), (none, "", none)]
    for notation, query, expected in cases:
        text = read(client, f"/position/{notation}{query}").text
        assert expected in text.split(), (notation, query)
        assert (words in text) == (expected == both), (notation, query)
    assert client.get(f"/position/{both}.json").json()["show"][0]["xgid"] == both
    assert "XGID=" in read(client, f"/position/{START}?away=2-4&beavers=1&met=published-12").text
    assert both.replace(":3:0:10", ":2:0:10") in read(client, f"/position/{START}?beavers=1").text.split()


@pytest.mark.parametrize(("rest", "offer"), [("1:-1:1:B", "beaver"), ("2:-1:1:R", "raccoon")])
def test_unanswered_beaver_has_no_cube_decision(client: TestClient, rest: str, offer: str) -> None:
    """The page of an unanswered beaver shows the error of the command line in place of a cube decision, and everything
    else."""
    xgid = f"XGID=-b----E-C---eE---c-e----B-:{rest}:0:0:3:0:10"
    message = f"expected a position before a double or its answer, got a {offer} in {xgid}"
    text = read(client, f"/position/{xgid}").text
    assert f"No cube: {message}" in text
    assert "as it stands" not in text
    found, bare = (client.get(f"/position/{notation}.json").json() for notation in (xgid, START))
    assert (found["cube"], found["errors"]) == ([], {"cube": message})
    assert found["eval"] == bare["eval"]
    assert found["show"][0]["xgid"] == xgid


def test_plays_link_to_the_next_position(client: TestClient) -> None:
    """Each play links to its next position, with score and cube owner turned, because the opponent is on roll."""
    page = read(client, f"/position/{START}?roll=31&away=2-4&cube=2&owner=on_roll&met=published-12&plays=60")
    after = [play.next_position.id for play in Position(START).legal_plays("31")]
    for name in after:
        assert f"/position/{name}?away=4-2&cube=2&owner=opponent&met=published-12" in page.links


def test_page_shows_the_best_play_of_each_roll(client: TestClient, site_root: Path) -> None:
    """The table of rolls has the first of the ranked plays of each roll."""
    player = bgdata.open_player(site_root)
    rows = client.get(f"/position/{START}.json").json()["rolls"]
    assert [row["roll"] for row in rows] == [str(roll) for roll in ROLLS]
    for row in rows:
        assert row["equity"] == pytest.approx(player.best_play(START, row["roll"]).evaluation.cubeless_equity, abs=1e-6)
    weights = np.array([row["weight"] for row in rows])
    assert np.array([row["luck"] for row in rows]) @ weights == pytest.approx(0, abs=1e-9)


@each(
    ("query", "words"),
    [
        ("roll=31", "31 to play: 8/5 6/5"),
        ("", "Before the roll: no double; if doubled: take"),
        ("cube=2&owner=opponent", "Before the roll: the opponent owns the cube"),
        ("cube=2&owner=on_roll", "Before the roll: no redouble"),
    ],
)
def test_headline_answers_the_question_of_the_board(client: TestClient, query: str, words: str) -> None:
    page = read(client, f"/position/{START}?{query}")
    assert words in page.text
    if query.startswith("roll"):
        best, second, *_ = client.get(f"/position/{START}.json?{query}").json()["hint"]
        assert f"{signed_text(best['cubeless_equity'])} without a cube" in page.text
        assert f"{second['play']} loses {second['loss']:.4f}" in page.text


def test_plays_without_a_choice_have_no_losses(client: TestClient) -> None:
    dance = ",".join(map(str, [0, *[0] * 18, *[-2] * 6, 1]))
    page = read(client, f"/position/{dance}?roll=31")
    assert "31 to play: no play" in page.text
    assert "No other play is legal." in page.text


def test_equities_at_lower_plies_are_shown(client: TestClient) -> None:
    """A page at 2-ply has the equities at 1-ply and 0-ply too, for plays that were evaluated at that ply."""
    page = read(client, f"/position/{START}?roll=62&ply=2&plays=60")
    assert "1-ply 0-ply" in page.text
    for ply in (0, 1, 2):
        for row in client.get(f"/position/{START}.json?roll=62&ply={ply}&plays=60").json()["hint"]:
            assert row["ply"] < ply or signed_text(row["cubeless_equity"]) in page.text, (ply, row["play"])
    assert "1-ply 0-ply" not in read(client, f"/position/{START}?roll=62").text


@each(
    ("where", "typed"),
    [
        ("/position/nonsense?roll=31&away=3-5", {"q": "nonsense", "roll": "31", "own": "3", "theirs": "5"}),
        (f"/position/{START}?roll=71", {"q": START, "roll": "71", "p24": "2", "p1": "-2"}),
        ("/position?q=nonsense&cube=4&owner=opponent", {"q": "nonsense", "cube": "4", "owner": "opponent"}),
        ("/position?edit=1&p1=16&p2=x&own=3", {"p1": "16", "p2": "x", "own": "3"}),
        ("/position/AAAAAAAAAAAAAA?away=3-5", {"q": "AAAAAAAAAAAAAA", "p6": "0", "own": "3"}),
    ],
)
def test_refused_position_keeps_what_was_typed(client: TestClient, where: str, typed: dict[str, str]) -> None:
    fields = dict(read(client, where, 400).fields)
    assert typed.items() <= fields.items()


def test_board_is_cleared_and_set_up_again(client: TestClient) -> None:
    """A cleared board has the form and no error message, and keeps score and cube."""
    fields = fields_of(read(client, f"/position/{START}?roll=31&away=3-5&met=published-12"))
    cleared = redirect_of(client, fields | {"set": "clear"})
    assert cleared == "/position/AAAAAAAAAAAAAA?away=3-5&met=published-12&setup=1"
    page = read(client, cleared, 400)
    assert "An empty board" in page.text
    assert "expected a position with checkers" in client.get(cleared.replace("?", ".json?")).json()["error"]
    fields = fields_of(page)
    assert redirect_of(client, fields | {"set": "start"}) == cleared.replace("AAAAAAAAAAAAAA", START)
    placed = redirect_of(client, fields | {"p1": "1", "p24": "-1"})
    assert placed.startswith(f"/position/{position_id([1], [1])}?away=3-5")


def redirect_of(client: TestClient, fields: Mapping[str, str]) -> str:
    """The address to which the editor redirects these fields."""
    return client.get("/position", params=fields).headers["location"]


def test_addresses_do_not_grow_with_edits(client: TestClient) -> None:
    """Ten edits one after another lead to an address with the position alone, and an unchanged form leads back to
    it."""
    where = f"/position/{START}?away=3-5&met=published-12"
    assert redirect_of(client, fields_of(read(client, where))) == f"{where}&setup=1"
    for _ in range(10):
        where = redirect_of(client, fields_of(read(client, where)) | {"flip": "1"})
    assert where == f"/position/{START}?away=3-5&met=published-12&setup=1"
    assert "undo" not in read(client, f"/position/{START}?undo={START}").text, "addresses of older versions"


def fields_of(page: PageReader) -> dict[str, str]:
    """The fields that an untouched editor sends."""
    return {name: value for name, value in page.fields if value}


@pytest.mark.parametrize("notation", [XGID, "4HPwATDgc/ABMA:UYnlADAAEAAE"])
def test_edit_keeps_the_stakes(client: TestClient, notation: str) -> None:
    """Moving a checker keeps roll, score, cube, match equity table and ply in any form of address."""
    where = f"/position/{quote(notation, safe='/')}?met=published-12&ply=1"
    page = read(client, where)
    before = PositionRequest(notation, {"met": "published-12", "ply": "1"})
    board = list(before.position.board)
    board[6], board[5] = board[6] - 1, board[5] + 1
    fields = fields_of(page) | {"edit": "1", "p6": str(board[6]), "p5": str(board[5])}
    after = redirect_of(client, fields)
    found = PositionRequest(unquote(urlsplit(after).path)[10:], dict(parse_qsl(urlsplit(after).query)))
    assert found.position == Position(board)
    assert (found.stakes, found.roll, found.rules) == (before.stakes, before.roll, before.rules)
    assert before.stakes is not None


def test_edit_keeps_beavers_and_the_jacoby_rule(client: TestClient) -> None:
    """Editing a money XGID keeps both rules that it sets."""
    fields = fields_of(read(client, "/position/XGID=-b----E-C---eE---c-e----B-:1:1:1:00:0:0:3:0:10"))
    assert redirect_of(client, fields).startswith(f"/position/{START}?cube=2&owner=on_roll&jacoby=1&beavers=1")


def test_new_notation_sets_the_stakes(client: TestClient) -> None:
    """A new notation replaces fields that were not edited, and edited fields replace its parts."""
    fields = fields_of(read(client, f"/position/{START}?away=5-5&cube=4&owner=opponent&met=published-12&roll=31"))
    assert redirect_of(client, fields | {"q": XGID}).startswith(f"/position/{XGID}?met=published-12&setup=1")
    location = redirect_of(client, fields | {"q": XGID, "rolled": "66", "cube": "8"})
    assert location.startswith(f"/position/{XGID}?")
    assert {("roll", "66"), ("cube", "8")} <= set(parse_qsl(urlsplit(location).query))


COUNTS = {f"p{point}": str(count) for point, count in enumerate(Position(POSITION).board)}


@each(
    ("fields", "expected"),
    [
        # leftovers of another score are dropped, because users of a touch screen would have to clear them first
        ({"q": START, "own": "3", "theirs": "5", "crawford": "1", "jacoby": "1"}, f"{START}?away=3-5"),
        ({"q": START, "own": "1", "theirs": "5", "crawford": "1"}, f"{START}?away=1-5&crawford=1"),
        ({"q": START, "own": "4", "theirs": ""}, f"{START}?away=4-4"),
        ({"q": START, "own": "", "theirs": "", "crawford": "1"}, START),
        ({"q": START, "away": "3-5", "cube": "2"}, f"{START}?away=3-5&cube=2"),
        (COUNTS | {"edit": "1", "q": START, "roll": "21", "away": "", "owner": ""}, f"{POSITION}?roll=21"),
        ({}, START),
        ({"q": "", "roll": "21"}, f"{START}?roll=21"),
    ],
)
def test_editor_leads_to_a_position(client: TestClient, fields: dict[str, str], expected: str) -> None:
    answer = client.get("/position", params=fields)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/position/{expected}")


def test_edited_checkers_count_without_the_box(client: TestClient) -> None:
    """Changed checkers count although the box is not ticked, but a form with changed checkers and notation is
    refused."""
    fields = fields_of(read(client, f"/position/{START}"))
    changed = fields | {"p6": "4", "p5": "1"}
    board = list(Position(START).board)
    board[6], board[5] = 4, 1
    edited = f"/position/{Position(board).id}"
    both = changed | {"q": POSITION, "edit": "1"}
    for sent, expected in ((changed, edited), (fields | {"q": POSITION}, f"/position/{POSITION}"), (both, edited)):
        assert redirect_of(client, sent).partition("?")[0] == expected
    page = read(client, f"/position?{urlencode(changed | {'q': POSITION})}", 400)
    assert "expected another notation or other checkers, got both; tick the box to use the checkers" in page.text


@each("change", list(CHANGES))
def test_every_part_of_an_identifier_is_used_by_the_page(client: TestClient, change: str) -> None:
    """Identifiers that differ in any part have different cubeful answers; the page of a cubeless rollout names unused
    parts."""
    first, second, words = CHANGES[change]
    asked = [quote(format_xgid(Position(CONTACT), state), safe="/") for state in (first, second)]
    pages = [client.get(f"/position/{text}.json?met=published-12").json() for text in asked]
    used = [(page["cube"], page["hint"]) for page in pages]
    assert used[0] != used[1]
    rows = [client.get(f"/rollout/{text}.json?trials=72").json() for text in asked]
    assert rows[0] == rows[1]
    assert words in client.get(f"/rollout/{asked[1]}?trials=72").text


def test_position_has_pictures(client: TestClient) -> None:
    answer = client.get(f"/board/{START}?roll=31&play=8/5 6/5")
    assert answer.headers["content-type"] == "image/svg+xml"
    style = answer.text[answer.text.index("<style>") : answer.text.index("</style>") + len("</style>")]
    assert answer.text.replace(style, "") == Position(START).svg("8/5 6/5", "31")
    assert "prefers-color-scheme: dark" in style


def test_occurrences_link_to_games_and_rows(client: TestClient) -> None:
    """The page links to the first turn of each game with the position, and to the rows of each table."""
    page = read(client, f"/where/{START}")
    rows = client.get(f"/where/{START}.json").json()
    query = f"select variant, count(*) as rows from turns where position_id = '{START}' group by all order by all"
    counts = sorted((row["variant"], row["rows"]) for row in rows if row["table"] == "turns")
    assert counts == [(row["variant"], row["rows"]) for row in client.get("/sql.json", params={"q": query}).json()]
    assert {row["address"] for row in rows} <= set(page.links)
    for row in rows:
        where = urlsplit(row["address"])
        found = client.get(f"{where.path}.json?{where.query}").json()
        assert len(found) == min(row["rows"], 20), row
        assert {each["position_id"] for each in found} == {START}
        assert bool(row["games"]) == (row["table"] == "turns")
    games = [game for row in rows for game in row["games"]]
    assert games
    assert set(games) <= set(page.links)
    place = dict(parse_qsl(urlsplit(games[0]).query)).get("turn", "0")
    turns = client.get(f"{urlsplit(games[0]).path}.json").json()["turns"]
    assert turns[int(place)]["position_id"] == START
    assert client.get(f"/where/{OVER}.json").json() == []


def test_cube_map_has_a_cell_for_each_score(client: TestClient, site_root: Path) -> None:
    rows = client.get(f"/cube-map/{START}.json?met=published-12&length=4").json()
    assert len(rows) == 16
    for row in rows:
        away = ("--away", f"{row['away']}-{row['opponent_away']}") + (("--crawford",) if row["is_crawford"] else ())
        found = json.loads(run(site_root, "cube", START, *away, "--met", "published-12", "--format", "json").stdout)
        assert row["mwc"] == pytest.approx(found[0]["equity"])
        assert row["action"] == (found[0]["best"][0] if found[0]["double_take"] is not None else "none")


@each(("query", "marked"), [("away=3-4", ["3-4"]), ("away=1-2&crawford=1", ["1-2"]), ("away=1-2", []), ("", [])])
def test_cube_map_marks_the_present_score(client: TestClient, query: str, marked: list[str]) -> None:
    """The cell of the present score is marked; money and scores after the Crawford game have no cell."""
    page = client.get(f"/cube-map/{START}?met=published-12&length=4&{query}").text
    found = re.findall(r'<td class="[a-z_]+ here" aria-current="true"><a href="[^"]*away=(\d+-\d+)', page)
    assert found == marked
    back = read(client, f"/cube-map/{START}?met=published-12&length=4&{query}").text
    assert "back to the position " + ("at " if query else "for money") in back


@each("show", ["gain", "mwc", "window", "take"])
def test_cube_map_shows_values(client: TestClient, show: str) -> None:
    """The cell of 3-away 3-away has the value in the JSON, and all nine cells are marked as answers of the model."""
    where = f"/cube-map/{START}?met=published-12&length=3&show={show}"
    (row,) = (
        row for row in client.get(where.replace("?", ".json?")).json() if (row["away"], row["opponent_away"]) == (3, 3)
    )
    expected = {
        "gain": signed_text(100 * row["double_gain"], 1),
        "mwc": f"{100 * row['mwc']:.1f}",
        "window": f"{100 * row['double_point']:.0f}–{100 * row['cash_point']:.0f}",
        "take": f"{100 - 100 * row['cash_point']:.0f}",
    }[show]
    page = client.get(where)
    assert f">{expected}<sup>m</sup>" in page.text
    assert page.text.count("<sup>") == 9


def test_exact_cells_of_a_cube_map_are_marked(client: TestClient) -> None:
    rows = client.get(f"/cube-map/{POSITION}.json?met=published-12&length=3").json()
    page = client.get(f"/cube-map/{POSITION}?met=published-12&length=3").text
    exact = sum(row["method"] == "exact" for row in rows)
    assert exact
    assert (page.count("<sup>e</sup>"), page.count("<sup>m</sup>")) == (exact, 9 - exact)


def test_cube_map_compares_four_kinds_of_stakes(client: TestClient) -> None:
    """The cube map compares money, double match point, gammon-go and gammon-save: the best plays of a roll, or before
    it the values."""
    page = read(client, f"/cube-map/{START}?met=published-12&roll=21&length=2")
    for name, query in (
        ("money", "cube=1&owner=centered&jacoby=0"),
        ("double match point", "away=1-1"),
        ("gammon-go", "away=2-1&crawford=1"),
        ("gammon-save", "away=1-2&crawford=1"),
    ):
        best = client.get(f"/position/{START}.json?met=published-12&roll=21&{query}").json()["hint"][0]
        assert f"{name} {best['play']} {signed_text(best['cubeful_equity'])}" in page.text, name
    assert f"/position/{START}?roll=21&away=2-1&crawford=1&met=published-12" in page.links
    page = read(client, f"/cube-map/{START}?met=published-12&length=2")
    (row,) = client.get(f"/position/{START}.json?met=published-12&away=1-1").json()["cube"]
    assert f"double match point no cube {percent(row['equity'])} mwc" in page.text


FROM_BAR = ",".join(map(str, [0, *[0] * 7, 2, *[0] * 11, -1, -2, *[0] * 3, 1]))  # an 8 point, and 20 to be hit


@pytest.mark.parametrize(
    ("notation", "roll", "text", "play"),
    [
        (START, "62", "24/18, 13/11", "24/18 13/11"),
        (START, "62", " 13-11;24 - 18 ", "24/18 13/11"),
        (START, "26", "13/11 24/18", "24/18 13/11"),
        (FROM_BAR, "52", "8/6 , BAR / 20*", "bar/20* 8/6"),
        (FROM_BAR, "52", "25/20,8/6", "bar/20* 8/6"),
        (START, "", "8/5,6/5", "8/5 6/5"),
    ],
)
def test_plays_are_read_in_any_notation(client: TestClient, notation: str, roll: str, text: str, play: str) -> None:
    found = client.get(f"/position/{notation}.json", params={"roll": roll, "play": text}).json()
    assert found["verdict"] == f"legal: {play}"
    assert found["legal_plays"].count(play) == 1
    if roll:
        assert found["legal_plays"] == [str(each) for each in Position(notation).legal_plays(roll)]
        assert [row["play"] for row in found["show"]] == [play]
    page = client.get(f"/position/{notation}", params={"roll": roll, "play": text})
    assert f"legal: {play}" in page.text
    assert f'href="/position/{Position(notation).play(play, roll or None).id}"' in page.text


def test_positions_without_a_play_have_no_verdict(client: TestClient) -> None:
    for query, verdict, count in ((f"{START}.json?roll=31", None, 16), (f"{START}.json", None, 0)):
        found = client.get(f"/position/{query}").json()
        assert (found["verdict"], len(found["legal_plays"])) == (verdict, count)
    found = client.get(f"/position/{OVER}.json?roll=31&play=pass").json()
    assert (found["verdict"], found["legal_plays"]) == ("legal: no play", ["no play"])


@pytest.mark.parametrize(
    ("notation", "roll", "text", "reason"),
    [
        (START, "31", "8/5", "another die can be played too"),
        (START, "51", "24/19 6/5", "the opponent holds 19"),
        (START, "31", "23/20", "no checker is on 23"),
        (START, "61", "6/off", "no checker is borne off while others are not home"),
        (FROM_BAR, "52", "8/1", "checkers on the bar enter first"),
        (FROM_BAR, "52", "bar/20", "another die can be played too"),
        (START, "31", "hello", "expected checker moves such as 'bar/22* 6/5(2)', got 'hello'"),
        (START, "31", "<b>&", "expected checker moves such as 'bar/22* 6/5(2)', got '<b>&'"),
        (START, "31", "no play", "a checker can move"),
        (START, "", "24/1", "no roll is played so"),
    ],
)
def test_illegal_play_lists_all_legal_ones(
    client: TestClient, notation: str, roll: str, text: str, reason: str
) -> None:
    """The page and JSON of an illegal play have the reason, and link to all legal plays with the stakes turned."""
    where = {"roll": roll, "play": text, "away": "3-5", "met": "published-12"}
    answer = client.get(f"/position/{notation}.json", params=where)
    assert answer.status_code == 400
    found = answer.json()
    assert found.keys() == {"error", "verdict", "legal_plays"}
    assert found["verdict"] == f"illegal: {reason}"
    assert found["error"].endswith(reason)
    verdict = judge_play(text, Position(notation), roll or None)
    assert found["legal_plays"] == [str(play) for play in verdict.legal_plays]
    asked = f"/position/{notation}?{urlencode(where)}"
    page = read(client, asked, 400)
    assert f"illegal: {reason}" in page.text
    links = inner_links(page, asked)
    for play in verdict.legal_plays:
        assert str(play) in page.text
        assert f"/position/{play.next_position.id}?away=5-3&met=published-12" in links


def test_cube_map_keeps_match_equity_table_and_ply(client: TestClient) -> None:
    """The links to the map and back keep both parameters, also at a score."""
    page = read(client, f"/position/{START}?met=published-12&ply=1")
    assert f"/cube-map/{START}?met=published-12&ply=1" in page.links
    page = read(client, f"/cube-map/{START}?met=published-12&ply=1&length=2")
    assert f"/position/{START}?away=2-2&met=published-12&ply=1" in page.links


WRONG = {
    "/position/nonsense": "expected one of position id, gnubg id",
    f"/position/{START[:-1]}": "expected 14 characters in a position id",
    f"/position/{'A' * 400}": "expected a position of at most 300 characters",
    f"/position/{START}?roll=71": "expected two dice such as '31'",
    f"/position/{START}?roll=71&play=24/1": "expected two dice such as '31'",
    f"/board/{START}?roll=31&play=24/1": "got '24/1': the opponent holds 1",
    f"/position/{START}?away=0-5": "expected at least 1 point to go for each side",
    f"/position/{START}?away=x": "expected points that the player on roll and the opponent need",
    f"/position/{START}?crawford=1": "expected --away with --crawford",
    f"/position/{START}?crawford=maybe": "expected 1 or 0 as crawford",
    f"/position/{START}?cube=3": "expected a power of two as cube value",
    f"/position/{START}?cube=-2": "expected a whole number from 1 to 1,073,741,824 as cube",
    f"/position/{START}?owner=me": "expected an owner of the cube",
    f"/position/{START}?ply=3": "expected a ply from 0 to 2 on this site",
    f"/position/{START}?plays=0": "expected 1 to 60 plays",
    f"/position/{START}?plays=1e3": "expected a whole number from 0 to 9,999 as plays",
    f"/cube-map/{START}?length=1&met=published-12": "expected 2 to 15 points to go",
    f"/cube-map/{START}?met=published-12&show=all": "expected one of action, gain, mwc, window, take to show",
    f"/cube-map/{OVER}?met=published-12": "expected a game in progress",
    "/position?q=nonsense": "expected one of position id",
    "/position?edit=1&p1=16": "expected at most 15 checkers",
}


@each(("where", "message"), WRONG.items())
def test_invalid_addresses_name_the_expectation(client: TestClient, where: str, message: str) -> None:
    assert message in read(client, where, 400).text
    path, mark, query = where.partition("?")
    assert message in client.get(f"{path}.json{mark}{query}").json()["error"]


def test_too_many_checkers_are_named_beside_their_boxes(client: TestClient) -> None:
    fields = fields_of(read(client, f"/position/{START}")) | {"p6": "6"}
    answer = client.get("/position", params=fields)
    assert answer.status_code == 400
    message = "expected at most 15 checkers of the player on roll, got 16"
    assert answer.text.count(message) == 1
    assert answer.text.index("Checkers by point") < answer.text.index(message)
    fields |= {"p6": "5", "p19": "-5", "p0": "1"}
    message = "expected at most 15 checkers of the opponent, got 16"
    assert message in client.get("/position", params=fields).text


def test_wrong_xgid_says_only_what_is_wrong_with_it(client: TestClient) -> None:
    """The error of a wrong XGID mentions no other notation, and the board stays the one before."""
    fields = fields_of(read(client, f"/position/{POSITION}"))
    answer = client.get("/position", params=fields | {"q": XGID.replace("B-:", "B--:")})
    assert answer.status_code == 400
    assert "expected 26 characters as field 1 (position), got 27, in xgid" in answer.text
    assert "gnubg id" not in answer.text
    board = answer.text[answer.text.index("<svg") : answer.text.index("</svg>")]
    assert f"Backgammon position {POSITION}" in board


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(max_size=40), st.text(max_size=8), st.text(max_size=8), st.sampled_from(["away", "cube", "owner", "met"])
)
def test_any_text_gives_a_page_without_injected_elements(
    client: TestClient, text: str, roll: str, value: str, name: str
) -> None:
    """Any text gives a page, and none becomes an HTML element."""
    for where in ("position", "board", "where", "cube-map"):
        try:
            path = quote(text, safe="")
        except UnicodeEncodeError:
            return
        answer = client.get(f"/{where}/{path}", params={"roll": roll, name: value})
        assert answer.status_code in (200, 303, 307, 400, 404)
    answer = client.get(f"/position/{START}", params={"roll": roll, name: value, "play": text})
    assert answer.status_code in (200, 400, 404)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(-3, 3), min_size=26, max_size=26))
def test_any_checkers_give_a_page(client: TestClient, counts: list[int]) -> None:
    answer = client.get(f"/position/{','.join(map(str, counts))}", params={"roll": "52"})
    assert answer.status_code in (200, 400)


def test_probe_page_equals_the_command(client: TestClient, site_root: Path) -> None:
    rows = json.loads(output_of(site_root, "probe", POSITION, "--format", "json"))
    assert client.get(f"/probe/{POSITION}.json").json() == rows
    assert rows[0]["source"] in read(client, f"/probe/{POSITION}").text
    assert f"/probe/{POSITION}" in read(client, f"/position/{POSITION}").links
    assert "expected a bearoff that a table" in read(client, f"/probe/{START}", 404).text
    read(client, "/probe/nonsense", 400)
