"""Tests of the page with the rows of a table: its filters, order, pages, values and files, against DuckDB."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import duckdb
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bgdata
from bgdata.errors import UsageError
from bgdata.store.dataset import Column, TableShape
from bgdata.warehouse.pages.rows import PAGE
from bgdata.warehouse.row_query import RowQuery, parse_filter
from tests.subtests import each
from tests.web.reading import read

if TYPE_CHECKING:
    from starlette.testclient import TestClient

PAIRS = "/rows/bearoff_two_sided/3x3/bearoff_two_sided"
TURNS = "/rows/selfplay/pubeval-20-seed-3/turns"
SHAPE = TableShape(
    "things",
    "things.parquet",
    "Things.",
    (
        Column("name", "VARCHAR", "", "A name"),
        Column("size", "INTEGER", "", "A size"),
        Column("worth", "FLOAT", "points", "A worth"),
        Column("is_new", "BOOLEAN", "", "Whether it is new"),
        Column("board", "TINYINT[]", "", "A board"),
    ),
    ("name",),
)


def page_address(path: str, **parameters: Any) -> str:
    """An address; lists are repeated."""
    return f"{path}?{urlencode(parameters, doseq=True)}"


def rows_at(client: TestClient, path: str, **parameters: Any) -> list[dict[str, Any]]:
    """The rows of an address as JSON."""
    answer = client.get(page_address(f"{path}.json", **parameters))
    assert answer.status_code == 200, answer.text
    rows: list[dict[str, Any]] = answer.json()
    return rows


def all_rows(client: TestClient, path: str, **parameters: Any) -> list[dict[str, Any]]:
    """The rows of every page."""
    rows = rows_at(client, path, **parameters)
    page = 2
    while len(rows) == (page - 1) * PAGE and page <= last_page(client, path, **parameters):
        rows += rows_at(client, path, page=page, **parameters)
        page += 1
    return rows


def last_page(client: TestClient, path: str, **parameters: Any) -> int:
    """The number of pages according to the first page, or 1."""
    match = re.search(r"page 1 of ([\d,]+)", read(client, page_address(path, **parameters)).text)
    return int(match[1].replace(",", "")) if match else 1


def test_pages_together_have_every_row(client: TestClient, site_root: Path) -> None:
    with bgdata.open_warehouse(site_root).connect() as connection:
        query = "select * exclude (variant) from bearoff_two_sided where variant = '3x3'"
        expected = connection.sql(query).to_arrow_table().to_pylist()
    assert all_rows(client, PAIRS) == expected
    page = read(client, page_address(PAIRS, page=2))
    assert f"{len(expected):,} rows" in page.text
    assert f"page 2 of {math.ceil(len(expected) / PAGE)}" in page.text


@each("sort", ["cubeless", "-cubeless", "opponent_index", "-on_roll_index"])
def test_rows_are_sorted_by_a_column(client: TestClient, sort: str) -> None:
    name = sort.removeprefix("-")
    values = [row[name] for row in all_rows(client, PAIRS, sort=sort)]
    assert values == sorted(values, reverse=sort.startswith("-"))
    page = read(client, page_address(PAIRS, sort=sort))
    assert ("▼" if sort.startswith("-") else "▲") in page.text
    other = name if sort.startswith("-") else f"-{name}"
    assert page_address(PAIRS, sort=other) in page.links


def test_several_filters_are_combined(client: TestClient) -> None:
    rows = all_rows(client, PAIRS)
    expected = [
        row for row in rows if row["cubeless"] > 0.5 and row["on_roll_index"] <= 7 and row["opponent_index"] != 3
    ]
    assert 0 < len(expected) < len(rows)
    filters = ["cubeless > 0.5", "on_roll_index <= 7", "opponent_index != 3"]
    assert all_rows(client, PAIRS, filter=filters) == expected


def test_missing_values_can_be_filtered(client: TestClient) -> None:
    assert all_rows(client, PAIRS, filter="cubeless is missing") == []
    assert all_rows(client, PAIRS, filter="cubeless is known") == all_rows(client, PAIRS)
    assert read(client, page_address(PAIRS, filter="cubeless is missing")).text.count("No rows.") == 1


def test_texts_numbers_and_lists_can_be_filtered(client: TestClient) -> None:
    turns = all_rows(client, TURNS)
    board = turns[3]["board"]
    for text, expected in {
        "class = contact": [row for row in turns if row["class"] == "contact"],
        "class contains ace": [row for row in turns if "ace" in row["class"]],
        f"board = {board}": [row for row in turns if row["board"] == board],
        "die1 = 6": [row for row in turns if row["die1"] == 6],
    }.items():
        assert expected != []
        assert all_rows(client, TURNS, filter=text) == expected, text


def test_form_redirects_to_a_short_address(client: TestClient) -> None:
    """Sending the form redirects to an address with one filter more; empty fields are left out of it."""
    fields = {"filter": "die1 = 6", "sort": "-die2", "by": "class", "is": "=", "value": "contact", "column": ""}
    answer = client.get(page_address(TURNS, **fields), follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == page_address(TURNS, filter=["die1 = 6", "class = contact"], sort="-die2")
    answer = client.get(page_address(TURNS, by="play", **{"is": "is missing"}), follow_redirects=False)
    assert answer.headers["location"] == page_address(TURNS, filter="play is missing")


@each(
    ("parameters", "message"),
    [
        ({"filter": "nothing"}, "expected a filter such as"),
        ({"filter": "cubeless = \0"}, "expected a filter such as"),
        ({"filter": "colour = 3"}, "expected a column of bearoff_two_sided"),
        ({"filter": "cubeless > much"}, "expected a number for cubeless, got 'much'"),
        ({"filter": "cubeless > 1e999"}, "expected a number for cubeless"),
        ({"filter": "cubeless contains 1"}, "expected a column of texts"),
        ({"sort": "colour"}, "expected a column of bearoff_two_sided"),
        ({"column": "'; drop table x"}, "expected a column of bearoff_two_sided"),
        ({"page": "0"}, "expected a whole number from 1"),
        ({"page": "9999999"}, "expected a page from 1 to"),
        ({"format": "xml"}, "expected the format rows, csv or parquet"),
    ],
)
def test_wrong_parameters_keep_the_form(client: TestClient, parameters: dict[str, str], message: str) -> None:
    page = read(client, page_address(PAIRS, **{"filter": "cubeless > 0", "sort": "owned"} | parameters), 400)
    assert message in page.text
    assert {name for name, _ in page.fields} >= {"filter", "value"}
    assert ("filter", parameters.get("filter", "cubeless > 0")) in page.fields
    answer = client.get(page_address(f"{PAIRS}.json", **parameters))
    assert answer.status_code == 400
    assert list(answer.json()) == ["error"]


def test_unknown_tables_are_refused(client: TestClient) -> None:
    for path in ("/rows/nothing/x/y", "/rows/selfplay/nothing/turns", "/rows/selfplay/pubeval-20-seed-3/rolls"):
        assert client.get(path).status_code == 404
    assert "games, turns" in read(client, "/rows/selfplay/pubeval-20-seed-3/rolls", 404).text


def test_files_have_the_rows_of_the_page(client: TestClient) -> None:
    parameters = {"filter": ["cubeless > 0.5"], "sort": "-owned"}
    expected = all_rows(client, PAIRS, **parameters)
    answer = client.get(page_address(PAIRS, format="csv", **parameters))
    assert answer.headers["content-disposition"] == 'attachment; filename="bearoff_two_sided.csv"'
    rows = csv.DictReader(io.StringIO(answer.text))
    assert [{name: float(value) for name, value in row.items()} for row in rows] == expected
    parquet = client.get(page_address(PAIRS, format="parquet", **parameters)).content
    assert pq.read_table(io.BytesIO(parquet)).to_pylist() == expected


def test_query_of_the_page_gives_its_rows(client: TestClient) -> None:
    parameters = {"filter": ["class = contact", "die1 = 6"], "sort": "turn"}
    links = read(client, page_address(TURNS, **parameters)).links
    (link,) = (link for link in links if link.startswith("/sql?"))
    assert client.get(link.replace("/sql?", "/sql.json?")).json() == rows_at(client, TURNS, **parameters)


def test_values_of_a_column_are_counted_and_linked(client: TestClient) -> None:
    turns = all_rows(client, TURNS)
    page = read(client, page_address(TURNS, column="class"))
    for name in {row["class"] for row in turns}:
        count = sum(row["class"] == name for row in turns)
        assert f"{name} {count:,} {100 * count / len(turns):.1f} %" in page.text
        assert page_address(TURNS, filter=f"class = {name}", column="class") in page.links
    assert page_address(TURNS, column="die1") in page.links  # few values are offered


def test_histogram_counts_every_row_once(client: TestClient) -> None:
    page = read(client, page_address(PAIRS, column="cubeless"))
    everything = all_rows(client, PAIRS)
    bars = [link for link in page.links if link.count("filter=") == 2]
    assert 10 < len(bars) <= 40
    counts = [len(all_rows(client, PAIRS, **filters_of(link))) for link in bars]
    assert sum(counts) == len(everything)
    assert min(counts) > 0


def filters_of(link: str) -> dict[str, list[str]]:
    """The filters of an address."""
    return {"filter": [value for name, value in parse_qsl(urlsplit(link).query) if name == "filter"]}


def test_table_page_links_to_its_rows(client: TestClient) -> None:
    links = read(client, "/table/selfplay/pubeval-20-seed-3").links
    assert "/rows/selfplay/pubeval-20-seed-3/turns" in links
    assert "/rows/selfplay/pubeval-20-seed-3/games" in links


def test_no_declared_name_needs_quotes() -> None:
    query = "select keyword_name from duckdb_keywords() where keyword_category in ('reserved', 'type_function')"
    with duckdb.connect() as connection:
        reserved = {name for (name,) in connection.execute(query).fetchall()}
    shapes = [shape for kind in bgdata.all_kinds().values() for shape in kind.tables]
    names = {name for shape in shapes for name in (shape.name, *(column.name for column in shape.columns))}
    assert reserved & names == set()
    assert all(name.isidentifier() and name == name.lower() for name in names)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    column=st.sampled_from(SHAPE.columns),
    operator=st.sampled_from(["=", "<", ">=", "contains", "is missing"]),
    value=st.text(max_size=12),
)
def test_any_filter_is_refused_or_a_valid_condition(column: Column, operator: str, value: str) -> None:
    """Whatever the value of a filter contains, the filter is refused, or its query runs and returns no other rows than
    those of the table."""
    try:
        condition = parse_filter(SHAPE, f"{column.name} {operator} {value}")
    except UsageError:
        return
    assert parse_filter(SHAPE, condition.text) == condition
    with duckdb.connect() as connection:
        columns = ", ".join(f"{each.name} {each.type}" for each in SHAPE.columns)
        connection.execute(f"create table things (variant varchar, {columns})")
        connection.execute("insert into things values ('x', 'a', 1, 0.5, true, [1, 2]), ('y', 'a', 1, 0.5, true, [1])")
        rows = connection.sql(RowQuery(SHAPE, "things", "x", [condition], "-worth").rows).fetchall()
    assert rows in ([], [("a", 1, 0.5, True, [1, 2])])
