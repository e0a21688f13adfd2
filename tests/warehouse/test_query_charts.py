"""Tests of the charts of queries: what is drawn for each kind, columns by name or the first that fit, and refusals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from tests.subtests import each
from tests.web.reading import read

if TYPE_CHECKING:
    from starlette.testclient import TestClient

TEXTS = "select * from (values ('a', 1, 2.5), ('b', 4, -1.5), ('c', null, 0)) as t(word, n, x) order by all"


def chart_svg(client: TestClient, query: str, **parameters: str) -> str:
    """The chart on the page of a query."""
    where = f"/sql?{urlencode({'q': query} | parameters)}"
    read(client, where)
    (svg,) = re.findall(r'<svg[^>]*class="chart".*?</svg>', client.get(where).text, re.DOTALL)
    return str(svg)


def test_columns_are_the_first_that_fit(client: TestClient) -> None:
    bars = chart_svg(client, TEXTS, chart="bar")
    assert "n by word" in bars
    assert "c" not in re.findall(r">(\w)</text>", bars)  # without a value
    bars_of_x = chart_svg(client, TEXTS, chart="bar", y="x")
    assert re.findall(r"<title>(.*?)</title>", bars_of_x) == ["a: 2.5", "b: -1.5", "c: 0"]
    assert "x by n" in chart_svg(client, TEXTS, chart="line")
    assert chart_svg(client, TEXTS, chart="scatter").count("<circle") == 2


def test_points_of_a_line_chart_are_sorted(client: TestClient) -> None:
    line = chart_svg(client, "select 3 as a, 1 as b union all select 1, 2 union all select 2, 5", chart="line")
    (points,) = re.findall(r'points="([^"]+)"', line)
    places = [float(point.partition(",")[0]) for point in points.split()]
    assert places == sorted(places)
    assert len(places) == 3


def test_heat_map_shows_each_cell_once(client: TestClient) -> None:
    query = "select die1, die2, count(*) as n from turns group by all order by all"
    svg = chart_svg(client, query, chart="heat")
    assert svg.count("<title>") == len(client.get("/sql.json", params={"q": query}).json())
    assert "<title>die1 6, die2 6: " in svg


@each(
    ("query", "parameters", "message"),
    [
        (TEXTS, {"chart": "pie"}, "expected a chart: line, bar, scatter, heat, got 'pie'"),
        (TEXTS, {"chart": "line", "x": "word"}, "expected numbers in the column word, got 'a'"),
        (TEXTS, {"chart": "bar", "y": "z"}, "expected a column of the result as y: word, n, x, got 'z'"),
        ("select 'a' as word", {"chart": "bar"}, "expected a column that fits as y among word, found none"),
        ("select 1 as a where false", {"chart": "scatter"}, "expected a column that fits as x"),
        ("select 1 as a, 2 as b from range(3)", {"chart": "heat"}, "expected a column that fits as value"),
        ("select 1 as a, 2 as b, 3 as c from range(3)", {"chart": "heat"}, "expected one row for each a and b"),
        (
            "select null as a, 1 as b, 2 as c",
            {"chart": "scatter", "x": "a"},
            "expected numbers in the column a, got None",
        ),
        ("selec", {"chart": "bar"}, "expected a valid query"),
    ],
)
def test_invalid_chart_keeps_the_form(client: TestClient, query: str, parameters: dict[str, str], message: str) -> None:
    page = read(client, f"/sql?{urlencode({'q': query, 'name': 'My query'} | parameters)}", 400)
    assert message in page.text
    assert "My query" in page.text
    assert query in page.text
    answer = client.get(f"/sql.json?{urlencode({'q': query} | parameters)}")
    assert (answer.status_code, list(answer.json())) == (400, ["error"])


def test_examples_have_names(client: TestClient) -> None:
    (link,) = (link for link in read(client, "/sql").links if "longest" in link)
    page = read(client, link)
    assert page.text.count("The longest games") >= 2
