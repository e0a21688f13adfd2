"""Charts of pages: every point where its number says, and nothing outside the picture."""

from __future__ import annotations

from math import inf, nan
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.training.rows import Chart, Line
from bgdata.web.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, chart_svg, round_values, short

SVG = "{http://www.w3.org/2000/svg}"


def lines_of(chart: Chart) -> list[list[tuple[float, float]]]:
    found = ElementTree.fromstring(chart_svg(chart)).iter(f"{SVG}polyline")
    return [
        [(float(x), float(y)) for x, y in (point.split(",") for point in line.attrib["points"].split())]
        for line in found
    ]


def test_points_are_where_the_numbers_say() -> None:
    ((first, second, third),) = lines_of(Chart("error", "epochs", [0, 1, 2], (Line("a", [4.0, 2.0, 3.0]),)))
    assert (first[1], second[1], third[1]) == (TOP, BOTTOM, (TOP + BOTTOM) / 2)
    assert LEFT < first[0] < RIGHT
    assert second[0] - first[0] == pytest.approx(third[0] - second[0], abs=0.11)


def test_games_on_a_logarithmic_axis() -> None:
    chart = Chart("points", "games", [100, 1_000, 10_000], (Line("a", [0.0, 1.0, 2.0]),), is_logarithmic=True)
    ((first, second, third),) = lines_of(chart)
    assert second[0] - first[0] == pytest.approx(third[0] - second[0], abs=0.11)
    assert {"100", "1k", "10k"} <= {text.text for text in ElementTree.fromstring(chart_svg(chart)).iter(f"{SVG}text")}


def test_from_zero_and_what_is_not_known() -> None:
    ((only, last),) = lines_of(Chart("share", "games", [1, 2, 3], (Line("a", [1.0, nan, 2.0]),), from_zero=True))
    assert (only[1], last[1]) == ((TOP + BOTTOM) / 2, TOP)


def test_infinite_values_are_left_out() -> None:
    ((first, last),) = lines_of(Chart("rate", "games", [1, 2, 3], (Line("a", [1.0, inf, 2.0]),)))
    assert (first[1], last[1]) == (BOTTOM, TOP)


def test_two_lines_have_a_legend_and_a_mark() -> None:
    lines = (Line("training", [2.0, 1.0]), Line("validation <b>", [2.0, 1.5]))
    text = chart_svg(Chart("errors & more", "epochs", [0, 1], lines, mark=1, mark_label="kept"))
    found = ElementTree.fromstring(text)
    assert {"training", "validation <b>", "errors & more"} <= {each.text for each in found.iter(f"{SVG}text")}
    (mark,) = found.iter(f"{SVG}circle")
    assert (float(mark.attrib["cx"]), float(mark.attrib["cy"])) == lines_of(Chart("errors", "epochs", [0, 1], lines))[
        1
    ][1]


@given(
    st.lists(st.one_of(st.just(nan), st.floats(-1e6, 1e6)), min_size=1, max_size=8),
    st.booleans(),
    st.booleans(),
)
def test_drawing_stays_inside_the_picture(values: list[float], from_zero: bool, is_logarithmic: bool) -> None:
    places = [10.0 * (place + 1) for place in range(len(values))]
    chart = Chart("a", "games", places, (Line("a", values, [0.5] * len(values)),), is_logarithmic, from_zero=from_zero)
    for line in lines_of(chart):
        assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in line)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_round_values_lie_between(lowest: float, width: float) -> None:
    found = round_values(lowest, lowest + width)
    assert 1 <= len(found) <= 6
    assert all(lowest - 1e-3 * width <= value <= lowest + 1.01 * width for value in found)


def test_short_counts() -> None:
    assert [short(count) for count in (7, 40_000, 1_200_000, 3e6)] == ["7", "40k", "1.2M", "3M"]
