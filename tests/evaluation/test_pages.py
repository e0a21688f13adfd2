"""The page of a position: its answers, links and editor, and errors for invalid addresses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bgdata
from bgdata.bearoff.match_table import MatchTable
from bgdata.game.dice import ROLLS
from bgdata.game.identifiers import format_xgid, possible_identifiers
from bgdata.game.match_state import MatchState
from bgdata.game.plays import judge_play
from bgdata.game.position import Position
from bgdata.web.answer import percent, signed_text
from bgdata.web.position_request import PositionRequest
from tests.command_line import POSITION, output_of, position_id
from tests.stated_parts import CHANGES, CONTACT
from tests.web.reading import PageReader, inner_links, read

if TYPE_CHECKING:
    from starlette.testclient import TestClient

START = "4HPwATDgc/ABMA"
XGID = "XGID=-b----E-C---eE---c-e----B-:1:1:1:31:2:3:0:7:10"
MONEY_XGID = "XGID=-b----E-C---eE---c-e----B-:0:0:1:00:0:0:{rules}:0:10"
JACOBY, BEAVERS, JACOBY_AND_BEAVERS = (MONEY_XGID.format(rules=rules) for rules in (1, 2, 3))
OVER = position_id([0, 2], [])
# the player on roll has a checker on the bar and two on point 8; the opponent a blot on 20 and two checkers on 21
FROM_BAR = ",".join(map(str, [0, *[0] * 7, 2, *[0] * 11, -1, -2, *[0] * 3, 1]))


def command_json(root: Path, *arguments: str) -> Any:
    return json.loads(output_of(root, *arguments, "--format", "json"))


def position_json(client: TestClient, notation: str, query: str = "") -> Any:
    return client.get(f"/position/{quote(notation, safe='/')}.json?{query}").json()


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
    answers = position_json(client, notation, query)
    for command, options in commands.items():
        assert answers[command] == command_json(site_root, command, notation, *options), command


@pytest.mark.parametrize("name", sorted(possible_identifiers(Position(START)).keys() - {"match_id"}))
def test_every_notation_is_an_address(client: TestClient, name: str) -> None:
    notation = possible_identifiers(Position(START))[name]
    assert position_json(client, notation)["eval"] == position_json(client, START)["eval"]


def test_page_shows_every_source_of_a_bearoff(client: TestClient) -> None:
    page = read(client, f"/position/{POSITION}")
    for source in ("two-sided table", "exact, two-sided", "one-sided, combined", "race network"):
        assert source in page.text
    for identifier in possible_identifiers(Position(POSITION)).values():
        assert identifier in page.text


def test_finished_game_has_a_page_and_no_occurrences(client: TestClient) -> None:
    assert "The game is over" in read(client, f"/position/{OVER}").text
    assert client.get(f"/where/{OVER}.json").json() == []


def test_page_shows_the_cubeful_equity_for_each_owner_of_the_cube(client: TestClient, site_root: Path) -> None:
    page = read(client, f"/position/{POSITION}")
    assert "Before the roll" in page.text
    assert "centered" in page.text
    assert "owned by the opponent" in page.text
    for options in ((), ("--cube", "2", "--owner", "on_roll"), ("--cube", "2", "--owner", "opponent")):
        (decision,) = command_json(site_root, "cube", POSITION, *options)
        assert signed_text(decision["no_double"]) in page.text


def test_only_exact_answers_have_a_cubeful_equity(client: TestClient, site_root: Path) -> None:
    (decision,) = command_json(site_root, "cube", POSITION)
    bearoff_page = read(client, f"/position/{POSITION}")
    assert bearoff_page.text.count("with the cube") == 1
    assert signed_text(decision["equity"], 5) in bearoff_page.text
    assert "with the cube" not in read(client, f"/position/{START}").text


def test_page_shows_the_table_of_its_score(client: TestClient, site_root: Path) -> None:
    (table,) = bgdata.open_warehouse(site_root).current("bearoff_match")
    solved = MatchTable(table)
    position = position_id([0, 2], [1, 1])
    score = f"{solved.score.away}-{solved.score.opponent_away}"
    page = read(client, f"/position/{position}?away={score}&met={solved.met}")
    assert f"exact, at this score {table.name}" in page.text
    assert percent(solved.probe(Position(position)).mwc, 3) in page.text
    assert "exact, at this score" not in read(client, f"/position/{position}?away=9-9&met={solved.met}").text


def test_page_shows_the_best_play_of_each_roll(client: TestClient, site_root: Path) -> None:
    player = bgdata.open_player(site_root)
    rows = position_json(client, START)["rolls"]
    assert [row["roll"] for row in rows] == [str(roll) for roll in ROLLS]
    for row in rows:
        assert row["equity"] == pytest.approx(player.best_play(START, row["roll"]).evaluation.cubeless_equity, abs=1e-6)
    mean_luck = np.average([row["luck"] for row in rows], weights=[row["weight"] for row in rows])
    assert mean_luck == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("query", "headline"),
    [
        ("roll=31", "31 to play: 8/5 6/5"),
        ("", "Before the roll: no double; if doubled: take"),
        ("cube=2&owner=opponent", "Before the roll: the opponent owns the cube"),
        ("cube=2&owner=on_roll", "Before the roll: no redouble"),
    ],
)
def test_headline_is_the_best_play_or_cube_action(client: TestClient, query: str, headline: str) -> None:
    assert headline in read(client, f"/position/{START}?{query}").text


def test_page_shows_the_loss_of_the_second_best_play(client: TestClient) -> None:
    best, second, *_ = position_json(client, START, "roll=31")["hint"]
    page = read(client, f"/position/{START}?roll=31")
    assert f"{signed_text(best['cubeless_equity'])} without a cube" in page.text
    assert f"{second['play']} loses {second['loss']:.4f}" in page.text


def test_page_of_a_dance_has_no_losses(client: TestClient) -> None:
    closed_out = ",".join(map(str, [0, *[0] * 18, *[-2] * 6, 1]))
    page = read(client, f"/position/{closed_out}?roll=31")
    assert "31 to play: no play" in page.text
    assert "No other play is legal." in page.text


def test_equities_at_lower_plies_are_shown(client: TestClient) -> None:
    page = read(client, f"/position/{START}?roll=62&ply=2&plays=60")
    assert "1-ply 0-ply" in page.text
    for ply in (0, 1, 2):
        for row in position_json(client, START, f"roll=62&ply={ply}&plays=60")["hint"]:
            if row["ply"] == ply:  # the filter leaves other plays at a lower ply
                assert signed_text(row["cubeless_equity"]) in page.text, (ply, row["play"])
    assert "1-ply 0-ply" not in read(client, f"/position/{START}?roll=62").text


def test_probe_page_equals_the_command(client: TestClient, site_root: Path) -> None:
    rows = command_json(site_root, "probe", POSITION)
    assert client.get(f"/probe/{POSITION}.json").json() == rows
    assert rows[0]["source"] in read(client, f"/probe/{POSITION}").text
    assert f"/probe/{POSITION}" in read(client, f"/position/{POSITION}").links


def test_probe_page_refuses_positions_without_a_table(client: TestClient) -> None:
    assert "expected a bearoff that a table" in read(client, f"/probe/{START}", 404).text
    read(client, "/probe/nonsense", 400)


def test_board_is_a_picture_with_light_and_dark_style(client: TestClient) -> None:
    answer = client.get(f"/board/{START}?roll=31&play=8/5 6/5")
    assert answer.headers["content-type"] == "image/svg+xml"
    style = answer.text[answer.text.index("<style>") : answer.text.index("</style>") + len("</style>")]
    assert answer.text.replace(style, "") == Position(START).svg("8/5 6/5", "31")
    assert "prefers-color-scheme: dark" in style


def test_identifiers_hold_roll_score_and_cube(client: TestClient) -> None:
    query = "roll=31&away=2-4&cube=2&owner=on_roll&met=published-12"
    page = read(client, f"/position/{START}?{query}")
    (xgid,) = (word for word in page.text.split() if word.startswith("XGID="))
    (gnubg_id,) = (word for word in page.text.split() if word.startswith(f"{START}:"))
    expected = position_json(client, START, query)
    for identifier in (xgid, gnubg_id):
        answers = position_json(client, identifier, "met=published-12")
        assert answers["cube"] == expected["cube"], identifier
        assert answers["hint"] == expected["hint"], identifier


def test_cube_too_large_for_other_identifiers_leaves_the_position_id(client: TestClient) -> None:
    assert START in read(client, f"/position/{START}?cube=8192&owner=on_roll").text


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (JACOBY_AND_BEAVERS, JACOBY_AND_BEAVERS),
        (f"{START}?jacoby=1&beavers=1", JACOBY_AND_BEAVERS),
        (f"{START}?beavers=1", BEAVERS),
        (f"{JACOBY_AND_BEAVERS}?beavers=0", JACOBY),
        (JACOBY, JACOBY),
    ],
)
def test_xgid_holds_beavers(client: TestClient, address: str, expected: str) -> None:
    text = read(client, f"/position/{address}").text
    assert expected in text.split()
    has_note = "match_id and gnubg_id do not say that beavers are allowed" in text
    assert has_note == (expected != JACOBY)


def test_match_page_ignores_beavers(client: TestClient) -> None:
    assert "XGID=" in read(client, f"/position/{START}?away=2-4&beavers=1&met=published-12").text


@pytest.mark.parametrize(("cube_and_roll", "offer"), [("1:-1:1:B", "beaver"), ("2:-1:1:R", "raccoon")])
def test_unanswered_beaver_has_no_cube_decision(client: TestClient, cube_and_roll: str, offer: str) -> None:
    xgid = f"XGID=-b----E-C---eE---c-e----B-:{cube_and_roll}:0:0:3:0:10"
    message = f"expected a position before a double or its answer, got a {offer} in {xgid}"
    text = read(client, f"/position/{xgid}").text
    assert f"No cube: {message}" in text
    assert "as it stands" not in text
    answers = position_json(client, xgid)
    assert answers["cube"] == []
    assert answers["errors"] == {"cube": message}
    assert answers["eval"] == position_json(client, START)["eval"]
    assert answers["show"][0]["xgid"] == xgid


@pytest.mark.parametrize(("first", "second", "words"), CHANGES.values(), ids=CHANGES)
def test_every_part_of_an_identifier_changes_the_answers(
    client: TestClient, first: MatchState, second: MatchState, words: str
) -> None:
    """A cubeless rollout depends on no such part; its page names the parts that it leaves out."""
    first_xgid, second_xgid = (quote(format_xgid(Position(CONTACT), state), safe="/") for state in (first, second))
    first_answers, second_answers = (
        client.get(f"/position/{xgid}.json?met=published-12").json() for xgid in (first_xgid, second_xgid)
    )
    assert (first_answers["cube"], first_answers["hint"]) != (second_answers["cube"], second_answers["hint"])
    first_rollout, second_rollout = (
        client.get(f"/rollout/{xgid}.json?trials=72").json() for xgid in (first_xgid, second_xgid)
    )
    assert first_rollout == second_rollout
    assert words in client.get(f"/rollout/{second_xgid}?trials=72").text


def test_plays_link_to_the_next_position(client: TestClient) -> None:
    """The opponent is on roll there, so score and cube owner are turned."""
    page = read(client, f"/position/{START}?roll=31&away=2-4&cube=2&owner=on_roll&met=published-12&plays=60")
    for play in Position(START).legal_plays("31"):
        assert f"/position/{play.next_position.id}?away=4-2&cube=2&owner=opponent&met=published-12" in page.links


@pytest.mark.parametrize(
    ("notation", "roll", "text", "play"),
    [
        (START, "62", " 13-11;24 - 18 ", "24/18 13/11"),
        (FROM_BAR, "52", "8/6 , BAR / 20*", "bar/20* 8/6"),
    ],
)
def test_plays_are_read_in_any_notation(client: TestClient, notation: str, roll: str, text: str, play: str) -> None:
    query = urlencode({"roll": roll, "play": text})
    answers = position_json(client, notation, query)
    assert answers["verdict"] == f"legal: {play}"
    assert answers["legal_plays"] == [str(legal) for legal in Position(notation).legal_plays(roll)]
    assert [row["play"] for row in answers["show"]] == [play]
    page = read(client, f"/position/{notation}?{query}")
    assert f"legal: {play}" in page.text
    assert f"/position/{Position(notation).play(play, roll).id}" in page.links


def test_play_without_a_roll_is_legal_with_any_roll(client: TestClient) -> None:
    answers = position_json(client, START, "play=8/5,6/5")
    assert answers["verdict"] == "legal: 8/5 6/5"
    assert answers["legal_plays"].count("8/5 6/5") == 1
    page = read(client, f"/position/{START}?play=8/5,6/5")
    assert "legal: 8/5 6/5" in page.text
    assert f"/position/{Position(START).play('8/5 6/5').id}" in page.links


@pytest.mark.parametrize(
    ("notation", "query", "verdict", "number_of_plays"),
    [(START, "roll=31", None, 16), (START, "", None, 0), (OVER, "roll=31&play=pass", "legal: no play", 1)],
)
def test_verdict_needs_a_play(
    client: TestClient, notation: str, query: str, verdict: str | None, number_of_plays: int
) -> None:
    answers = position_json(client, notation, query)
    assert answers["verdict"] == verdict
    assert len(answers["legal_plays"]) == number_of_plays


@pytest.mark.parametrize(
    ("notation", "roll", "text", "reason"),
    [
        (START, "31", "8/5", "another die can be played too"),
        (START, "31", "<b>&", "expected checker moves such as 'bar/22* 6/5(2)', got '<b>&'"),
        (START, "", "24/1", "no roll is played so"),
    ],
)
def test_illegal_play_lists_all_legal_ones(
    client: TestClient, notation: str, roll: str, text: str, reason: str
) -> None:
    legal_plays = judge_play(text, Position(notation), roll or None).legal_plays
    query = urlencode({"roll": roll, "play": text, "away": "3-5", "met": "published-12"})
    answers = position_json(client, notation, query)
    assert answers.keys() == {"error", "verdict", "legal_plays"}
    assert answers["verdict"] == f"illegal: {reason}"
    assert answers["error"].endswith(reason)
    assert answers["legal_plays"] == [str(play) for play in legal_plays]

    address = f"/position/{notation}?{query}"
    page = read(client, address, 400)
    assert f"illegal: {reason}" in page.text
    links = inner_links(page, address)
    for play in legal_plays:
        assert str(play) in page.text
        assert f"/position/{play.next_position.id}?away=5-3&met=published-12" in links


def form_fields(page: PageReader) -> dict[str, str]:
    """The fields that an untouched editor sends."""
    return {name: value for name, value in page.fields if value}


def redirect_of(client: TestClient, fields: dict[str, str]) -> str:
    """The address to which the editor redirects these fields."""
    answer = client.get("/position", params=fields)
    assert answer.status_code == 303
    return answer.headers["location"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # leftovers of another score are dropped, because users of a touch screen would have to clear them first
        ({"q": START, "own": "3", "theirs": "5", "crawford": "1", "jacoby": "1"}, f"{START}?away=3-5"),
        ({"q": START, "own": "1", "theirs": "5", "crawford": "1"}, f"{START}?away=1-5&crawford=1"),
        ({"q": START, "own": "4", "theirs": ""}, f"{START}?away=4-4"),
        ({"q": START, "own": "", "theirs": "", "crawford": "1"}, START),
        ({"q": START, "away": "3-5", "cube": "2"}, f"{START}?away=3-5&cube=2"),
        ({}, START),
        ({"q": "", "roll": "21"}, f"{START}?roll=21"),
    ],
)
def test_editor_redirects_to_a_position(client: TestClient, fields: dict[str, str], expected: str) -> None:
    assert redirect_of(client, fields) == f"/position/{expected}"


def test_edited_checkers_replace_the_notation(client: TestClient) -> None:
    counts = {f"p{point}": str(count) for point, count in enumerate(Position(POSITION).board)}
    fields = counts | {"edit": "1", "q": START, "roll": "21", "away": "", "owner": ""}
    assert redirect_of(client, fields) == f"/position/{POSITION}?roll=21"


@pytest.mark.parametrize(
    ("address", "fields"),
    [
        ("/position/nonsense?roll=31&away=3-5", {"q": "nonsense", "roll": "31", "own": "3", "theirs": "5"}),
        (f"/position/{START}?roll=71", {"q": START, "roll": "71", "p24": "2", "p1": "-2"}),
        ("/position?q=nonsense&cube=4&owner=opponent", {"q": "nonsense", "cube": "4", "owner": "opponent"}),
        ("/position?edit=1&p1=16&p2=x&own=3", {"p1": "16", "p2": "x", "own": "3"}),
        ("/position/AAAAAAAAAAAAAA?away=3-5", {"q": "AAAAAAAAAAAAAA", "p6": "0", "own": "3"}),
    ],
)
def test_form_of_a_refused_position_keeps_its_fields(client: TestClient, address: str, fields: dict[str, str]) -> None:
    sent_again = dict(read(client, address, 400).fields)
    for name, value in fields.items():
        assert sent_again[name] == value


def test_board_is_cleared_and_set_up_again(client: TestClient) -> None:
    """A cleared board keeps score and match equity table, and its page has no error message."""
    fields = form_fields(read(client, f"/position/{START}?roll=31&away=3-5&met=published-12"))
    cleared = redirect_of(client, fields | {"set": "clear"})
    assert cleared == "/position/AAAAAAAAAAAAAA?away=3-5&met=published-12&setup=1"
    page = read(client, cleared, 400)
    assert "An empty board" in page.text
    assert "expected a position with checkers" in client.get(cleared.replace("?", ".json?")).json()["error"]

    fields = form_fields(page)
    assert redirect_of(client, fields | {"set": "start"}) == cleared.replace("AAAAAAAAAAAAAA", START)
    placed = redirect_of(client, fields | {"p1": "1", "p24": "-1"})
    assert placed.startswith(f"/position/{position_id([1], [1])}?away=3-5")


def test_addresses_do_not_grow_with_edits(client: TestClient) -> None:
    original = f"/position/{START}?away=3-5&met=published-12"
    address = redirect_of(client, form_fields(read(client, original)))
    assert address == f"{original}&setup=1"
    for _ in range(2):
        address = redirect_of(client, form_fields(read(client, address)) | {"flip": "1"})
    assert address == f"{original}&setup=1"


@pytest.mark.parametrize("notation", [XGID, "4HPwATDgc/ABMA:UYnlADAAEAAE"])
def test_edit_keeps_the_stakes(client: TestClient, notation: str) -> None:
    """Moving a checker from point 6 to 5 keeps roll, score, cube, match equity table and ply."""
    original = PositionRequest(notation, {"met": "published-12", "ply": "1"})
    page = read(client, f"/position/{quote(notation, safe='/')}?met=published-12&ply=1")
    board = list(original.position.board)
    board[6] -= 1
    board[5] += 1
    fields = form_fields(page) | {"edit": "1", "p6": str(board[6]), "p5": str(board[5])}
    address = urlsplit(redirect_of(client, fields))
    edited = PositionRequest(unquote(address.path).removeprefix("/position/"), dict(parse_qsl(address.query)))
    assert edited.position == Position(board)
    assert edited.stakes is not None
    assert edited.stakes == original.stakes
    assert edited.roll == original.roll
    assert edited.rules == original.rules


def test_edit_keeps_beavers_and_the_jacoby_rule(client: TestClient) -> None:
    fields = form_fields(read(client, "/position/XGID=-b----E-C---eE---c-e----B-:1:1:1:00:0:0:3:0:10"))
    assert redirect_of(client, fields).startswith(f"/position/{START}?cube=2&owner=on_roll&jacoby=1&beavers=1")


def test_new_notation_replaces_unedited_stakes(client: TestClient) -> None:
    fields = form_fields(read(client, f"/position/{START}?away=5-5&cube=4&owner=opponent&met=published-12&roll=31"))
    assert redirect_of(client, fields | {"q": XGID}).startswith(f"/position/{XGID}?met=published-12&setup=1")
    edited = redirect_of(client, fields | {"q": XGID, "rolled": "66", "cube": "8"})
    assert edited.startswith(f"/position/{XGID}?")
    query = dict(parse_qsl(urlsplit(edited).query))
    assert query["roll"] == "66"
    assert query["cube"] == "8"


def test_changed_checkers_count_without_the_box(client: TestClient) -> None:
    """The box says that the checkers count; only changed checkers and a changed notation together need it."""
    fields = form_fields(read(client, f"/position/{START}"))
    board = list(Position(START).board)
    board[6], board[5] = 4, 1
    edited = f"/position/{Position(board).id}?setup=1"
    changed_checkers = fields | {"p6": "4", "p5": "1"}
    assert redirect_of(client, changed_checkers) == edited
    assert redirect_of(client, fields | {"q": POSITION}) == f"/position/{POSITION}?setup=1"
    assert redirect_of(client, changed_checkers | {"q": POSITION, "edit": "1"}) == edited
    page = read(client, f"/position?{urlencode(changed_checkers | {'q': POSITION})}", 400)
    assert "expected another notation or other checkers, got both; tick the box to use the checkers" in page.text


def test_too_many_checkers_are_named_beside_their_boxes(client: TestClient) -> None:
    fields = form_fields(read(client, f"/position/{START}"))
    answer = client.get("/position", params=fields | {"p6": "6"})
    assert answer.status_code == 400
    message = "expected at most 15 checkers of the player on roll, got 16"
    assert answer.text.count(message) == 1
    assert answer.text.index("Checkers by point") < answer.text.index(message)
    answer = client.get("/position", params=fields | {"p6": "5", "p19": "-5", "p0": "1"})
    assert "expected at most 15 checkers of the opponent, got 16" in answer.text


def test_error_of_a_wrong_xgid_names_no_other_notation(client: TestClient) -> None:
    """The board stays the one before."""
    fields = form_fields(read(client, f"/position/{POSITION}"))
    answer = client.get("/position", params=fields | {"q": XGID.replace("B-:", "B--:")})
    assert answer.status_code == 400
    assert "expected 26 characters as field 1 (position), got 27, in xgid" in answer.text
    assert "gnubg id" not in answer.text
    board = answer.text[answer.text.index("<svg") : answer.text.index("</svg>")]
    assert f"Backgammon position {POSITION}" in board


def test_page_of_occurrences_counts_the_rows_of_each_table(client: TestClient) -> None:
    rows = client.get(f"/where/{START}.json").json()
    counts = sorted((row["variant"], row["rows"]) for row in rows if row["table"] == "turns")
    query = f"select variant, count(*) as rows from turns where position_id = '{START}' group by all order by all"
    assert counts == [(row["variant"], row["rows"]) for row in client.get("/sql.json", params={"q": query}).json()]


def test_page_of_occurrences_links_to_rows_and_turns(client: TestClient) -> None:
    page = read(client, f"/where/{START}")
    games = []
    for row in client.get(f"/where/{START}.json").json():
        assert row["address"] in page.links
        occurrences = client.get(row["address"].replace("?", ".json?")).json()
        assert len(occurrences) == min(row["rows"], 20), "rows on a page"
        assert {occurrence["position_id"] for occurrence in occurrences} == {START}
        assert bool(row["games"]) == (row["table"] == "turns")
        games += row["games"]
    assert games
    assert set(games) <= set(page.links)
    game = urlsplit(games[0])
    turn = int(dict(parse_qsl(game.query)).get("turn", "0"))
    assert client.get(f"{game.path}.json").json()["turns"][turn]["position_id"] == START


def test_cube_map_has_the_decision_at_each_score(client: TestClient, site_root: Path) -> None:
    rows = client.get(f"/cube-map/{START}.json?met=published-12&length=4").json()
    assert len(rows) == 4 * 4
    for row in rows:
        score = ["--away", f"{row['away']}-{row['opponent_away']}", "--met", "published-12"]
        if row["is_crawford"]:
            score.append("--crawford")
        (decision,) = command_json(site_root, "cube", START, *score)
        assert row["mwc"] == pytest.approx(decision["equity"])
        assert row["action"] == ("none" if decision["double_take"] is None else decision["best"][0])


@pytest.mark.parametrize(
    ("query", "scores"), [("away=3-4", ["3-4"]), ("away=1-2&crawford=1", ["1-2"]), ("away=1-2", []), ("", [])]
)
def test_cube_map_marks_the_present_score(client: TestClient, query: str, scores: list[str]) -> None:
    """Money and scores after the Crawford game have no cell."""
    address = f"/cube-map/{START}?met=published-12&length=4&{query}"
    marked_cell = r'<td class="[a-z_]+ here" aria-current="true"><a href="[^"]*away=(\d+-\d+)'
    assert re.findall(marked_cell, client.get(address).text) == scores
    assert f"back to the position {'at ' if query else 'for money'}" in read(client, address).text


@pytest.mark.parametrize("show", ["gain", "mwc", "window", "take"])
def test_cube_map_shows_values(client: TestClient, show: str) -> None:
    """The cell of 3-away 3-away has the value of the JSON; all nine cells are marked as answers of the model."""
    rows = client.get(f"/cube-map/{START}.json?met=published-12&length=3").json()
    (row,) = (row for row in rows if (row["away"], row["opponent_away"]) == (3, 3))
    expected = {
        "gain": signed_text(100 * row["double_gain"], 1),
        "mwc": f"{100 * row['mwc']:.1f}",
        "window": f"{100 * row['double_point']:.0f}–{100 * row['cash_point']:.0f}",
        "take": f"{100 - 100 * row['cash_point']:.0f}",
    }
    text = client.get(f"/cube-map/{START}?met=published-12&length=3&show={show}").text
    assert f">{expected[show]}<sup>m</sup>" in text
    assert text.count("<sup>") == 9


def test_cube_map_marks_exact_cells(client: TestClient) -> None:
    rows = client.get(f"/cube-map/{POSITION}.json?met=published-12&length=3").json()
    exact = sum(row["method"] == "exact" for row in rows)
    assert exact > 0
    text = client.get(f"/cube-map/{POSITION}?met=published-12&length=3").text
    assert text.count("<sup>e</sup>") == exact
    assert text.count("<sup>m</sup>") == len(rows) - exact


@pytest.mark.parametrize(
    ("name", "stakes"),
    [
        ("money", "cube=1&owner=centered&jacoby=0"),
        ("double match point", "away=1-1"),
        ("gammon-go", "away=2-1&crawford=1"),
        ("gammon-save", "away=1-2&crawford=1"),
    ],
)
def test_cube_map_compares_the_best_plays_of_a_roll(client: TestClient, name: str, stakes: str) -> None:
    page = read(client, f"/cube-map/{START}?met=published-12&roll=21&length=2")
    best, *_ = position_json(client, START, f"met=published-12&roll=21&{stakes}")["hint"]
    assert f"{name} {best['play']} {signed_text(best['cubeful_equity'])}" in page.text
    if name == "gammon-go":
        assert f"/position/{START}?roll=21&{stakes}&met=published-12" in page.links


def test_cube_map_compares_values_before_the_roll(client: TestClient) -> None:
    page = read(client, f"/cube-map/{START}?met=published-12&length=2")
    (decision,) = position_json(client, START, "met=published-12&away=1-1")["cube"]
    assert f"double match point no cube {percent(decision['equity'])} mwc" in page.text


def test_cube_map_keeps_match_equity_table_and_ply(client: TestClient) -> None:
    page = read(client, f"/position/{START}?met=published-12&ply=1")
    assert f"/cube-map/{START}?met=published-12&ply=1" in page.links
    page = read(client, f"/cube-map/{START}?met=published-12&ply=1&length=2")
    assert f"/position/{START}?away=2-2&met=published-12&ply=1" in page.links


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("/position/nonsense", "expected one of position id, gnubg id"),
        (f"/position/{START[:-1]}", "expected 14 characters in a position id"),
        pytest.param(f"/position/{'A' * 400}", "expected a position of at most 300 characters", id="400 characters"),
        (f"/position/{START}?roll=71", "expected two dice such as '31'"),
        (f"/position/{START}?roll=71&play=24/1", "expected two dice such as '31'"),
        (f"/board/{START}?roll=31&play=24/1", "got '24/1': the opponent holds 1"),
        (f"/position/{START}?crawford=maybe", "expected 1 or 0 as crawford"),
        (f"/position/{START}?cube=-2", "expected a whole number from 1 to 1,073,741,824 as cube"),
        (f"/position/{START}?owner=me", "expected an owner of the cube"),
        (f"/position/{START}?ply=3", "expected a ply from 0 to 2 on this site"),
        (f"/position/{START}?plays=0", "expected 1 to 60 plays"),
        (f"/position/{START}?plays=1e3", "expected a whole number from 0 to 9,999 as plays"),
        (f"/cube-map/{START}?length=1&met=published-12", "expected 2 to 15 points to go"),
        (f"/cube-map/{START}?met=published-12&show=all", "expected one of action, gain, mwc, window, take to show"),
        (f"/cube-map/{OVER}?met=published-12", "expected a game in progress"),
        ("/position?q=nonsense", "expected one of position id"),
        ("/position?edit=1&p1=16", "expected at most 15 checkers"),
    ],
)
def test_invalid_address_is_refused(client: TestClient, address: str, message: str) -> None:
    assert message in read(client, address, 400).text
    path, mark, query = address.partition("?")
    assert message in client.get(f"{path}.json{mark}{query}").json()["error"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(st.characters(codec="utf-8"), max_size=40),
    st.text(max_size=8),
    st.text(max_size=8),
    st.sampled_from(["away", "cube", "owner", "met"]),
)
def test_any_text_gives_a_page_or_an_error(client: TestClient, text: str, roll: str, value: str, name: str) -> None:
    for page in ("position", "board", "where", "cube-map"):
        answer = client.get(f"/{page}/{quote(text, safe='')}", params={"roll": roll, name: value})
        assert answer.status_code in (200, 303, 307, 400, 404)
    answer = client.get(f"/position/{START}", params={"roll": roll, name: value, "play": text})
    assert answer.status_code in (200, 400, 404)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(-3, 3), min_size=26, max_size=26))
def test_any_checkers_give_a_page_or_an_error(client: TestClient, counts: list[int]) -> None:
    answer = client.get(f"/position/{','.join(map(str, counts))}", params={"roll": "52"})
    assert answer.status_code in (200, 400)
