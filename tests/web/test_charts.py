"""Tests of the charts of pages."""

from __future__ import annotations

from math import inf, nan
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.training.rows import Chart, Line
from bgdata.web.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Bar,
    bar_chart_svg,
    chart_svg,
    heat_map_svg,
    round_step,
    round_values,
    short_count,
)

SVG = "{http://www.w3.org/2000/svg}"
MIDDLE = (TOP + BOTTOM) / 2


def lines_of(chart: Chart) -> list[list[tuple[float, float]]]:
    """The points of each line of a chart, in pixels."""
    lines = ElementTree.fromstring(chart_svg(chart)).iter(f"{SVG}polyline")
    points = [[point.split(",") for point in line.attrib["points"].split()] for line in lines]
    return [[(float(x), float(y)) for x, y in line] for line in points]


def texts_of(svg: str) -> set[str | None]:
    """All texts of a picture."""
    return {text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")}


@pytest.mark.parametrize(
    ("places", "values", "options", "heights"),
    [
        ([0, 1, 2], [4.0, 2.0, 3.0], {}, [TOP, BOTTOM, MIDDLE]),
        ([100, 1_000, 10_000], [0.0, 1.0, 2.0], {"is_logarithmic": True}, [BOTTOM, MIDDLE, TOP]),
        ([1, 2, 3], [1.0, nan, 2.0], {"from_zero": True}, [MIDDLE, TOP]),
        ([1, 2, 3], [1.0, inf, 2.0], {}, [BOTTOM, TOP]),
    ],
    ids=["linear", "logarithmic", "missing", "infinite"],
)
def test_points_are_at_their_values(
    places: list[float], values: list[float], options: dict[str, bool], heights: list[float]
) -> None:
    chart = Chart("error", "epochs", places, (Line("a", values),), **options)  # type: ignore[arg-type]
    (points,) = lines_of(chart)
    assert [y for _, y in points] == heights
    assert LEFT < points[0][0] < points[-1][0] < RIGHT
    if len(points) == 3:
        assert points[1][0] - points[0][0] == pytest.approx(points[2][0] - points[1][0], abs=0.11)
    if options.get("is_logarithmic"):
        assert {"100", "1k", "10k"} <= texts_of(chart_svg(chart))


def test_chart_of_two_lines_has_legend_and_mark() -> None:
    lines = (Line("training", [2.0, 1.0]), Line("validation <b>", [2.0, 1.5]))
    svg = chart_svg(Chart("errors & more", "epochs", [0, 1], lines, mark=1, mark_label="kept"))
    assert {"training", "validation <b>", "errors & more"} <= texts_of(svg)
    (mark,) = ElementTree.fromstring(svg).iter(f"{SVG}circle")
    last_line = lines_of(Chart("errors", "epochs", [0, 1], lines))[1]
    assert (float(mark.attrib["cx"]), float(mark.attrib["cy"])) == last_line[1]


@given(
    st.lists(st.one_of(st.just(nan), st.floats(-1e6, 1e6)), min_size=1, max_size=8),
    st.booleans(),
    st.booleans(),
)
def test_drawing_stays_inside_the_picture(values: list[float], from_zero: bool, is_logarithmic: bool) -> None:
    places = [10.0 * (index + 1) for index in range(len(values))]
    chart = Chart("a", "games", places, (Line("a", values, [0.5] * len(values)),), is_logarithmic, from_zero=from_zero)
    for line in lines_of(chart):
        assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in line)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_round_values_are_within_the_limits(lowest: float, width: float) -> None:
    values = round_values(lowest, lowest + width)
    assert 1 <= len(values) <= 6
    assert all(lowest - 1e-3 * width <= value <= lowest + 1.01 * width for value in values)


def test_short_counts() -> None:
    assert [short_count(count) for count in (7, 40_000, 1_200_000, 3e6)] == ["7", "40k", "1.2M", "3M"]


def test_bars_stand_on_zero() -> None:
    bars = [Bar("a", 4.0, "a <4>", "/x?y=1&z=2"), Bar("b", -2.0), Bar("c", 0.0), Bar("a long label", nan)]
    svg = bar_chart_svg("Things", bars, "kinds")
    picture = ElementTree.fromstring(svg)
    tops_and_heights = [float(bar.attrib[name]) for bar in picture.iter(f"{SVG}rect") for name in ("y", "height")]
    zero = TOP + (BOTTOM - TOP) * 2 / 3  # between 4 and -2
    assert tops_and_heights == pytest.approx([TOP, zero - TOP, zero, BOTTOM - zero, zero, 0.0], abs=0.1)
    (link,) = picture.iter(f"{SVG}a")
    assert (link.attrib["href"], link.attrib["aria-label"]) == ("/x?y=1&z=2", "a <4>")
    assert {"a", "b", "c", "a long la…", "Things", "kinds"} <= texts_of(svg)


def test_scattered_points_are_at_their_values_in_any_order() -> None:
    chart = Chart("y by x", "x", [2, 0, 1], (Line("y", [2.0, 0.0, nan]),), is_scatter=True)
    points = list(ElementTree.fromstring(chart_svg(chart)).iter(f"{SVG}circle"))
    assert [float(point.attrib["cy"]) for point in points] == [TOP, BOTTOM]
    assert float(points[0].attrib["cx"]) > float(points[1].attrib["cx"])


@pytest.mark.parametrize(("least", "ends"), [(-4.0, {"-4", "4"}), (1.0, {"0", "4"})])
def test_heat_map_has_shades_and_a_scale(least: float, ends: set[str]) -> None:
    cells = {("1", "a"): 4.0, ("2", "a"): least, ("1", "b"): 2.0}
    svg = heat_map_svg("Heat", cells, ("column", "row"))
    cells_of_svg = ElementTree.fromstring(svg).iter(f"{SVG}rect")
    shades = {rect.findtext(f"{SVG}title"): rect.attrib["class"] for rect in cells_of_svg}
    assert shades["column 1, row a: 4"] == "shade5"
    assert shades[f"column 2, row a: {least:g}"] == ("shade-5" if least < 0 else "shade1")
    assert ends | {"column", "1", "2", "a", "b"} <= texts_of(svg)


@pytest.mark.parametrize(("least", "step"), [(0.03, 0.05), (1.0, 1.0), (260, 500), (2.1e-7, 2.5e-7)])
def test_round_step_is_the_next_round_value(least: float, step: float) -> None:
    assert round_step(least) == pytest.approx(step)
