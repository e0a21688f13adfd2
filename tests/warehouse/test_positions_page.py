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
    found: dict[str, Any] = answer.json()
    return found


def query_rows(client: TestClient, query: str) -> list[dict[str, Any]]:
    """The rows of a query."""
    answer = client.get("/sql.json", params={"q": query})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


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
def test_filters_keep_the_rows_that_sql_counts(
    client: TestClient, source: str, query: dict[str, str], is_kept: Any
) -> None:
    """Filtering a source gives the rows of all its pages that satisfy the filter, in the same order."""
    every = []
    for number in range(1, browsed.MAX_PAGE):
        rows = positions_json(client, source=source, page=str(number))["positions"]
        every += rows
        if len(rows) < browsed.PAGE or number == 10:
            break
    found = positions_json(client, source=source, **query)["positions"]
    assert all(is_kept(row) for row in found)
    expected = [row for row in every if is_kept(row)][: browsed.PAGE]
    assert found[: len(expected)] == expected


def test_pages_have_every_row_once(client: TestClient) -> None:
    (count,) = query_rows(client, "select count(*) as n from turns")
    found = list[tuple[Any, ...]]()
    number = 1
    while rows := positions_json(client, source="games", page=str(number))["positions"]:
        found += [(row["dataset"], row["variant"], row["game"], row["turn"]) for row in rows]
        number += 1
        if number > browsed.MAX_PAGE:
            break
    assert len(set(found)) == len(found) == min(count["n"], browsed.PAGE * browsed.MAX_PAGE)


@pytest.mark.parametrize("order", list(browsed.SORTS))
def test_second_page_of_a_source_equals_the_query(client: TestClient, order: str) -> None:
    """The second page of each source has the same rows, in the same order, as an SQL query over the whole source."""
    columns = ["dataset", "variant", "game", "turn", "subject", "position_id", "made", "loss", "luck"]
    by = ", ".join(filter(None, [browsed.SORTS[order][1], browsed.PLACE]))
    for source in browsed.SOURCES:
        query = f"select {', '.join(columns)} from all_positions where source = '{source}' order by {by}"
        expected = query_rows(client, f"{query} limit {browsed.PAGE} offset {browsed.PAGE}")
        found = positions_json(client, source=source, sort=order, page="2")["positions"]
        assert [{name: row[name] for name in columns} for row in found] == expected, source


def test_themes_of_pages_are_those_of_their_boards(client: TestClient) -> None:
    import numpy as np

    from bgdata.game.position import Position
    from bgdata.game.themes import NO_THEME, Theme

    for source in ("games", "decisions", "references"):
        for row in positions_json(client, source=source)["positions"][:10]:
            number = theme_of(np.array(Position(row["position_id"]).board, np.int8))
            assert row["theme"] == (None if number == NO_THEME else Theme(number).label)


def test_sorted_rows_are_those_with_the_greatest_loss(client: TestClient) -> None:
    found = [row["loss"] for row in positions_json(client, source="matches", sort="loss")["positions"]]
    rows = query_rows(client, f"select loss from match_analysis order by loss desc limit {browsed.PAGE}")
    assert found == [row["loss"] for row in rows]
    luck = [row["luck"] for row in positions_json(client, source="games", sort="luck")["positions"]]
    assert luck == sorted(luck, key=lambda value: (value is None, -(value or 0)))


def test_plays_made_in_a_position_are_counted_with_their_results(client: TestClient) -> None:
    """The plays made in the starting position are counted as in the tables of turns and games, with the share of wins
    after each."""
    plays = positions_json(client, like=START)["plays"]
    turns = query_rows(
        client,
        f"select dataset, variant, game, player, die1, die2, play from turns where position_id = '{START}' "
        "and action = 'play' and play <> '' limit 50",
    )
    assert plays
    one = plays[0]
    roll = {one["die1"], one["die2"]}
    play = one["play"]
    same = [row for row in turns if {row["die1"], row["die2"]} == roll and row["play"] == play]
    if len(turns) < 50:
        assert sum(row["games"] for row in plays) == len(turns)
        assert one["games"] == len(same)
        results = [
            next(iter(query_rows(client, f"select winner, points_won from games where dataset = '{row['dataset']}' "
                                      f"and variant = '{row['variant']}' and game = {row['game']}")))
            | {"player": row["player"]}
            for row in same
        ]  # fmt: skip
        wins = [row["winner"] == row["player"] for row in results]
        assert one["win"] == sum(wins) / len(wins)
        points = [row["points_won"] * (1 if won else -1) for row, won in zip(results, wins, strict=True)]
        assert one["points"] == sum(points) / len(points)
    chosen = positions_json(client, like=START, roll=f"{one['die1']}{one['die2']}")["plays"]
    assert {(row["die1"], row["die2"]) for row in chosen} == {(one["die1"], one["die2"])}
    (again,) = [row for row in chosen if row["play"] == one["play"]]
    names = ("games", "win", "points", "standard_error")
    assert [again[name] for name in names] == pytest.approx([one[name] for name in names], rel=1e-12)  # other order


def test_similar_positions_are_sorted_and_linked(client: TestClient) -> None:
    """The positions like one are sorted by the number of moved checkers, each once and not the position itself, with
    links to their turns and to positions like them."""
    rows = positions_json(client, like=START)["positions"]
    moved = [row["moved"] for row in rows]
    assert moved == sorted(moved)
    assert moved[0] >= 1
    assert START not in {row["position_id"] for row in rows}
    assert len({row["position_id"] for row in rows}) == len(rows) > 3
    for row in rows[:3]:
        place = f"dataset = '{row['dataset']}' and variant = '{row['variant']}' and game = {row['game']}"
        (turn,) = query_rows(client, f"select position_id from turns where {place} and turn = {row['turn']}")
        assert turn["position_id"] == row["position_id"]
    page = read(client, f"/positions?like={START}")
    assert any(link.startswith("/positions?like=") and START[:8] not in link for link in page.links)


@each(
    ("query", "words"),
    [
        ({"source": "x"}, "expected a source of matches"), ({"class": "x"}, "as class, got"),
        ({"theme": "<b>"}, "as theme, got"), ({"roll": "71"}, "expected a roll such as 31"),
        ({"score": "3"}, "as score, got"), ({"score": "99-99-9"}, "as score"), ({"cube": "3"}, "as cube"),
        ({"loss": "nan"}, "expected points from 0 to 9 as loss"), ({"loss": "10"}, "expected points from 0 to 9"),
        ({"sort": "x"}, "as sort"), ({"page": "201"}, "from 1 to 200 as page"), ({"like": "nonsense"}, "expected"),
        ({"like": START, "roll": "7"}, "expected a roll"),
    ],
)  # fmt: skip
def test_wrong_values_are_refused(client: TestClient, query: dict[str, str], words: str) -> None:
    answer = client.get("/positions.json", params=query)
    assert (answer.status_code, words in answer.json()["error"]) == (400, True), answer.text
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
