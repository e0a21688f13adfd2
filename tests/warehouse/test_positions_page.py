"""Tests of the browser of positions: filters, pages, plays made in a position, and the positions like it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bgdata.game.themes import theme_of
from bgdata.warehouse.pages import positions as browsed
from tests.subtests import each
from tests.web.reading import read

if TYPE_CHECKING:
    import pytest
    from starlette.testclient import TestClient

START = "4HPwATDgc/ABMA"


def positions_json(client: TestClient, **query: str) -> dict[str, Any]:
    """The JSON of the page."""
    answer = client.get("/positions.json", params=query)
    assert answer.status_code == 200, answer.text
    page: dict[str, Any] = answer.json()
    return page


def query_rows(client: TestClient, query: str) -> list[dict[str, Any]]:
    """The rows of a query."""
    answer = client.get("/sql.json", params={"q": query})
    assert answer.status_code == 200, answer.text
    rows: list[dict[str, Any]] = answer.json()
    return rows


def test_every_source_has_positions_that_lead_to_their_pages(client: TestClient) -> None:
    sources = positions_json(client)["sources"]
    assert sources == list(browsed.SOURCES)
    for source in sources:
        rows = positions_json(client, source=source)["positions"]
        assert {row["source"] for row in rows} == {source}
        links = read(client, f"/positions?source={source}").links
        positions = [link for link in links if link.startswith("/position/")]
        assert len(positions) >= len(rows)
        for link in [*positions[1:3], *[link for link in links if link.startswith("/game/")][:2]]:
            assert client.get(link.partition("#")[0]).status_code == 200, link


@each(
    ("source", "query", "is_kept"),
    [
        ("games", {"class": "race"}, lambda row: row["class"] == "race"),
        ("games", {"theme": "race"}, lambda row: row["theme"] == "race"),
        ("games", {"roll": "13"}, lambda row: {row["die1"], row["die2"]} == {1, 3}),
        ("matches", {"loss": "0.05"}, lambda row: row["loss"] >= 0.05),
        ("openings", {"score": "money"}, lambda row: row["away"] is None),
        ("openings", {"score": "1-1"}, lambda row: row["away"] == row["opponent_away"] == 1),
        ("matches", {"cube": "1"}, lambda row: row["cube_value"] == 1),
    ],
)
def test_filters_keep_matching_rows_in_order(
    client: TestClient, source: str, query: dict[str, str], is_kept: Any
) -> None:
    all_positions = []
    for number in range(1, 11):
        page = positions_json(client, source=source, page=str(number))["positions"]
        all_positions += page
        if len(page) < browsed.PAGE:
            break
    positions = positions_json(client, source=source, **query)["positions"]
    assert all(map(is_kept, positions))
    expected = list(filter(is_kept, all_positions))[: browsed.PAGE]
    assert positions[: len(expected)] == expected


def test_pages_have_every_row_once(client: TestClient) -> None:
    turns = list[tuple[Any, ...]]()
    for number in range(1, browsed.MAX_PAGE + 1):
        page = positions_json(client, source="games", page=str(number))["positions"]
        turns += [(row["dataset"], row["variant"], row["game"], row["turn"]) for row in page]
        if not page:
            break
    (count,) = query_rows(client, "select count(*) as n from turns")
    assert len(turns) == min(count["n"], browsed.PAGE * browsed.MAX_PAGE)
    assert len(set(turns)) == len(turns)


@pytest.mark.parametrize("sort", list(browsed.SORTS))
def test_second_page_of_a_source_equals_the_query(client: TestClient, sort: str) -> None:
    columns = ["dataset", "variant", "game", "turn", "subject", "position_id", "made", "loss", "luck"]
    order = ", ".join(filter(None, [browsed.SORTS[sort][1], browsed.PLACE]))
    for source in browsed.SOURCES:
        query = f"select {', '.join(columns)} from all_positions where source = '{source}' order by {order}"
        expected = query_rows(client, f"{query} limit {browsed.PAGE} offset {browsed.PAGE}")
        positions = positions_json(client, source=source, sort=sort, page="2")["positions"]
        assert [{name: row[name] for name in columns} for row in positions] == expected, source


def test_themes_of_pages_are_those_of_their_boards(client: TestClient) -> None:
    import numpy as np

    from bgdata.game.position import Position
    from bgdata.game.themes import NO_THEME, Theme

    for source in ("games", "decisions", "references"):
        for row in positions_json(client, source=source)["positions"][:10]:
            number = theme_of(np.array(Position(row["position_id"]).board, np.int8))
            assert row["theme"] == (None if number == NO_THEME else Theme(number).label)


def test_sorted_rows_are_those_with_the_greatest_loss(client: TestClient) -> None:
    losses = [row["loss"] for row in positions_json(client, source="matches", sort="loss")["positions"]]
    expected = query_rows(client, f"select loss from match_analysis order by loss desc limit {browsed.PAGE}")
    assert losses == [row["loss"] for row in expected]


def test_plays_made_in_a_position_are_counted_with_their_results(client: TestClient) -> None:
    plays = positions_json(client, like=START)["plays"]
    query = f"""
        select least(die1, die2) as low, greatest(die1, die2) as high, play, count(*) as games,
            avg((winner = player)::int) as win, avg(if(winner = player, points_won, -points_won)) as points
        from turns join games using (dataset, variant, game)
        where position_id = '{START}' and action = 'play' and play <> '' group by all"""
    expected = {(row["low"], row["high"], row["play"]): row for row in query_rows(client, query)}
    assert plays
    assert sum(row["games"] for row in plays) == sum(row["games"] for row in expected.values())
    for row in plays:
        counted = expected[min(row["die1"], row["die2"]), max(row["die1"], row["die2"]), row["play"]]
        assert row["games"] == counted["games"]
        assert row["win"] == pytest.approx(counted["win"])
        assert row["points"] == pytest.approx(counted["points"])


def test_plays_of_one_roll_are_those_of_all_rolls(client: TestClient) -> None:
    play = positions_json(client, like=START)["plays"][0]
    plays_of_roll = positions_json(client, like=START, roll=f"{play['die1']}{play['die2']}")["plays"]
    assert {(row["die1"], row["die2"]) for row in plays_of_roll} == {(play["die1"], play["die2"])}
    (same_play,) = [row for row in plays_of_roll if row["play"] == play["play"]]
    for name in ("games", "win", "points", "standard_error"):
        assert same_play[name] == pytest.approx(play[name], rel=1e-12)  # sums are in another order


def test_similar_positions_are_sorted_and_linked(client: TestClient) -> None:
    rows = positions_json(client, like=START)["positions"]
    moved = [row["moved"] for row in rows]
    assert moved == sorted(moved)
    assert moved[0] >= 1
    assert START not in {row["position_id"] for row in rows}
    assert len({row["position_id"] for row in rows}) == len(rows) > 3
    for row in rows[:3]:
        turn_of_row = f"dataset = '{row['dataset']}' and variant = '{row['variant']}' and game = {row['game']}"
        (turn,) = query_rows(client, f"select position_id from turns where {turn_of_row} and turn = {row['turn']}")
        assert turn["position_id"] == row["position_id"]
    page = read(client, f"/positions?like={START}")
    assert any(link.startswith("/positions?like=") and START[:8] not in link for link in page.links)


@each(
    ("query", "message"),
    [
        ({"source": "x"}, "expected a source of matches"),
        ({"class": "x"}, "as class, got"),
        ({"theme": "<b>"}, "as theme, got"),
        ({"roll": "71"}, "expected a roll such as 31"),
        ({"score": "3"}, "as score, got"),
        ({"score": "99-99-9"}, "as score"),
        ({"cube": "3"}, "as cube"),
        ({"loss": "nan"}, "expected points from 0 to 9 as loss"),
        ({"loss": "10"}, "expected points from 0 to 9"),
        ({"sort": "x"}, "as sort"),
        ({"page": "201"}, "from 1 to 200 as page"),
        ({"like": "nonsense"}, "expected"),
        ({"like": START, "roll": "7"}, "expected a roll"),
    ],
)
def test_wrong_values_are_refused(client: TestClient, query: dict[str, str], message: str) -> None:
    answer = client.get("/positions.json", params=query)
    assert answer.status_code == 400
    assert message in answer.json()["error"]
    assert "<b>" not in client.get("/positions", params=query).text


def test_names_in_filters_are_values_not_sql(client: TestClient) -> None:
    assert positions_json(client, source="games", player="' or true --")["positions"] == []


def test_empty_warehouse_has_no_positions(empty: TestClient) -> None:
    assert positions_json(empty) == {"sources": [], "positions": [], "plays": []}
    assert "Nothing is built yet" in read(empty, "/positions").text
    assert "Nobody has played here" in read(empty, f"/positions?like={START}").text


def test_number_of_compared_positions_is_bounded(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    site = client.app.state.site  # type: ignore[attr-defined]
    from bgdata.game.position import Position

    monkeypatch.setattr(browsed, "MAX_BOARDS", 0)
    assert browsed.nearest_positions(site, Position(START)) == []
