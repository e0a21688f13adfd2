"""Tests of the pages of imported matches and of reports on players: results, dates, and the side of who decides."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

import bgdata
from bgdata.game.board_svg import format_board_svg
from bgdata.game.xgid import parse_xgid
from bgdata.kinds import SQL
from bgdata.matches.commands.report import error_parts
from bgdata.matches.pages.quiz import boards_of
from bgdata.matches.quiz import Question
from bgdata.matches.rows import PARTS, answer_board, decisions_of
from tests.web.reading import read

if TYPE_CHECKING:
    from starlette.testclient import TestClient

XGID = "XGID=bEBC-BB----A---c-c-bc---b-:0:0:1:D:1:2:0:5:10"  # who doubles is 4-away, who answers 3-away
TAKE = {
    "xgid": XGID, "subject": "answer", "player_name": "ben", "other_name": "<b>anna", "match": 0, "game_number": 1,
    "turn_number": 50, "loss": 3.8, "made": "take", "best": "pass", "error": "wrong take", "theme": "blitz",
    "rollout_loss": None,
}  # fmt: skip


def test_answers_to_doubles_are_drawn_from_the_side_that_answers() -> None:
    """Boards of answers to doubles show the player who answers below, in reports, errors and quizzes."""
    doubler = parse_xgid(XGID)
    expected = format_board_svg(
        doubler.position.flip(),
        stakes=doubler.match.stakes.flip(),
        names=("ben", "<b>anna, doubles"),
        prefix="first-",
    )
    assert "ben, 3-away, 133 pips" in expected
    assert "&lt;b&gt;anna, doubles, 4-away, 51 pips" in expected
    assert answer_board(TAKE, "first-") == expected
    assert answer_board({**TAKE, "subject": "double"}, "") == ""
    assert "ben, 3-away" in "".join(error_parts(TAKE, "error-1"))
    ((_, answer_svg),) = boards_of(Question(XGID, "answer", 3.8, ""), None)
    assert "you, 3-away, 133 pips" in answer_svg
    assert "opponent, doubles, 4-away, 51 pips" in answer_svg
    ((_, double_svg),) = boards_of(Question(XGID.replace(":D:", ":00:"), "double", 3.8, ""), None)
    assert "on roll, 4-away, 51 pips" in double_svg


def library_connection() -> duckdb.DuckDBPyConnection:
    """A connection with the tables of a library of six matches, of one decision each."""
    connection = duckdb.connect()
    connection.execute("create macro player_named(name) as name")
    connection.execute((SQL / "matches" / "macros" / "iso_date.sql").read_text())
    connection.execute("""create table match_analysis as
        select 'mine' as variant, 'ben' as player_name, 'anna' as other_name, * from (values
            (0, 'play', 4, 3), (1, 'double', 5, 2), (2, 'answer', 4, 3), (3, 'answer', null, null),
            (4, 'play', 4, 3), (5, 'play', 4, 3)
        ) _(match, subject, away, opponent_away)""")
    connection.execute("""create table imported_matches as select 'games' as variant, * from (values
        (0, '2026.11.24'), (1, '11/30/26'), (2, '2026-11-25'), (3, '11/24/2026'), (4, null), (5, '25.11.2026')
    ) _(match, date)""")
    return connection


def test_report_counts_decisions_at_the_score_of_who_decides() -> None:
    decisions = decisions_of(["ben"], "mine", "matches/games")
    with library_connection() as connection:
        rows = connection.sql(f"select subject, {PARTS['score']} from ({decisions}) order by match limit 4").fetchall()
    assert rows == [
        ("play", "4-away against 3-away"),
        ("double", "5-away against 2-away"),
        ("answer", "3-away against 4-away"),
        ("answer", "money"),
    ]


def test_dates_of_all_forms_are_compared() -> None:
    decisions = decisions_of(["ben"], "mine", "matches/games")
    recent = decisions_of(["ben"], "mine", "matches/games", "2026-11-25")
    imported_again = decisions_of(["ben"], "mine", "")  # after the analysis
    with library_connection() as connection:
        rows = connection.sql(f"select match, date from ({recent}) order by match").fetchall()
        assert rows == [(1, "2026-11-30"), (2, "2026-11-25"), (5, "2026-11-25")]
        assert connection.sql(f"select match from ({decisions}) where date is null").fetchall() == [(4,)]
        assert connection.sql(f"select count(date) from ({imported_again})").fetchall() == [(0,)]


def test_matches_show_their_results(client: TestClient, site_root: Path) -> None:
    """The page shows the score of a match after its last game, or the points that were won for money."""
    warehouse = bgdata.open_warehouse(site_root)
    matches = client.get("/matches.json").json()["matches"]
    assert matches
    text = read(client, "/matches").text
    for row in matches:
        where = "from games where dataset = 'matches' and variant = $variant and match = $match order by game_number"
        games = warehouse.rows(where, {"variant": row["variant"], "match": row["match"]})
        if not games:
            assert (row["score_0"], row["score_1"]) == (None, None)
            continue
        points = [sum(game["points_won"] or 0 for game in games if game["winner"] == side) for side in (0, 1)]
        if row["match_length"]:
            points = [games[0][f"score_{side}"] + points[side] for side in (0, 1)]
        assert [row["score_0"], row["score_1"]] == points
        assert f"{points[0]} : {points[1]}" in text


def test_matches_are_listed_since_a_date(client: TestClient) -> None:
    matches = client.get("/matches.json").json()["matches"]
    recent = client.get("/matches.json", params={"since": "2000"}).json()["matches"]
    assert recent == [row for row in matches if row["date"] and row["date"] >= "2000"]
    assert len(recent) < len(matches)
    html = client.get("/matches", params={"since": "2000-01-01"}).text
    assert re.search(r'href="/matches\?player=[^"]+&amp;since=2000-01-01#worst"', html), "errors since the same date"
    assert "No match since then." in read(client, "/matches?since=9999-01-01").text
    assert "<b>" not in client.get("/matches", params={"since": '"><b>'}).text
