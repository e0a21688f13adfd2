"""Charts as SVG: well-formed, every point where its numbers say, round ticks, and words for those who do not see it."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from xml.etree import ElementTree

import pytest

from bgdata.cli.chart_svg import (
    HEIGHT,
    WIDTH,
    Chart,
    Line,
    format_chart_svg,
    place_axis,
    round_step,
    tick_text,
    value_axis,
)

SVG = "{http://www.w3.org/2000/svg}"
SIMPLE = Chart("errors & more", "epochs", [0, 1, 2, 3, 4], (Line("error", [4.0, 3.0, 2.0, 1.0, 0.0]),))


def points(chart: Chart) -> list[list[tuple[float, float]]]:
    """Coordinates of the lines of a chart, those of the legend not included."""
    lines = ElementTree.fromstring(format_chart_svg(chart)).findall(f"{SVG}polyline")[: len(chart.lines)]
    pairs = [[point.split(",") for point in line.attrib["points"].split()] for line in lines]
    return [[(float(x), float(y)) for x, y in each] for each in pairs]


def test_points_are_where_the_numbers_say() -> None:
    ((first, *_, last),) = points(SIMPLE)
    assert points(SIMPLE)[0] == [
        (pytest.approx(first[0] + step * (last[0] - first[0]) / 4, abs=0.06),
         pytest.approx(first[1] + step * (last[1] - first[1]) / 4, abs=0.06)) for step in range(5)
    ]  # fmt: skip
    assert 0 < first[0] < last[0] < WIDTH
    assert 0 < first[1] < last[1] < HEIGHT  # downwards


def test_numbers_stand_beside_their_lines() -> None:
    picture = ElementTree.fromstring(format_chart_svg(SIMPLE))
    ticks = [text.text for text in picture.findall(f"{SVG}text")]
    assert ticks[0] == "errors & more"
    assert ticks[1:6] == ["0", "1", "2", "3", "4"]
    heights = [float(line.attrib["y1"]) for line in picture.findall(f"{SVG}line")]
    assert heights == [y for _, y in reversed(points(SIMPLE)[0])]


def test_games_on_a_logarithmic_axis() -> None:
    chart = Chart("points", "games", [100, 1_000, 10_000], (Line("a", [0.0, 1.0, 2.0]),), is_logarithmic=True)
    ((first, middle, last),) = points(chart)
    assert middle[0] == pytest.approx((first[0] + last[0]) / 2, abs=0.06)
    assert place_axis(chart).ticks == [100, 200, 500, 1_000, 2_000, 5_000, 10_000]
    assert {"100", "1k", "10k"} <= {text.text for text in ElementTree.fromstring(format_chart_svg(chart)).iter()}
    assert place_axis(replace(chart, places=[20, 1e3, 2e6])).ticks == [1e2, 1e3, 1e4, 1e5, 1e6]
    assert place_axis(SIMPLE).ticks == [0, 1, 2, 3, 4]


def test_a_band_has_both_of_its_ends() -> None:
    chart = Chart("points", "games", [1, 2], (Line("a", [1.0, 2.0], [1.0, 0.5]),))
    picture = ElementTree.fromstring(format_chart_svg(chart))
    (band,) = picture.findall(f"{SVG}polygon")
    heights = [float(point.split(",")[1]) for point in band.attrib["points"].split()]
    (first, second), line = points(chart)[0], heights
    assert len(line) == 4
    assert (line[0] + line[3]) / 2 == pytest.approx(first[1], abs=0.1)
    assert (line[1] + line[2]) / 2 == pytest.approx(second[1], abs=0.1)
    assert (line[3] - line[0]) == pytest.approx(2 * (line[2] - line[1]), abs=0.3)


def test_two_lines_have_a_legend_and_a_mark() -> None:
    lines = (Line("learned", [2.0, 1.0, 0.5]), Line("validation", [2.0, 1.5, 1.75]))
    chart = Chart("errors", "epochs", [0, 1, 2], lines, mark=1, mark_label="kept")
    picture = ElementTree.fromstring(format_chart_svg(chart))
    texts = [text.text for text in picture.findall(f"{SVG}text")]
    assert texts[-3:] == ["learned", "validation", "kept"]
    mark = picture.findall(f"{SVG}circle")[0]
    assert (float(mark.attrib["cx"]), float(mark.attrib["cy"])) == points(chart)[1][1]
    (description,) = picture.findall(f"{SVG}desc")
    assert description.text == (
        "over epochs; learned: from 2 to 0.5, lowest 0.5; validation: from 2 to 1.75, lowest 1.5"
    )


def test_what_is_no_number_is_left_out() -> None:
    assert len(points(Chart("a", "b", [0, 1, 2], (Line("c", [nan, 1.0, 2.0]),)))[0]) == 2
    nothing = ElementTree.fromstring(format_chart_svg(Chart("a", "b", [0, 1], (Line("c", [nan, nan]),))))
    assert [text.text for text in nothing.findall(f"{SVG}text")] == ["a", "nothing learned"]


@pytest.mark.parametrize("value", [0.0, 1.5, -3.0])
def test_one_point_or_one_value(value: float) -> None:
    for places in ([0.0], [0.0, 1.0]):
        for is_logarithmic in (False, True):
            moved = [place + 1 for place in places]
            chart = Chart("a", "b", moved, (Line("c", [value] * len(places)),), is_logarithmic=is_logarithmic)
            for x, y in points(chart)[0]:
                assert 0 < x < WIDTH
                assert 0 < y < HEIGHT


def test_round_numbers() -> None:
    steps = [round_step(step) for step in (0.9, 1.0, 1.1, 3.0, 7.0, 0.03)]
    assert steps == pytest.approx([1, 1, 2, 5, 10, 0.05])
    assert value_axis([0.31, 1.9], from_zero=False).ticks == pytest.approx([0, 0.5, 1, 1.5, 2])
    assert value_axis([5.0, 6.0], from_zero=True).least == 0
    assert [tick_text(tick) for tick in (0.0, 1e-12, 0.25, 2500, 40_000, 2e6, -0.5)] == [
        "0", "0", "0.25", "2.5k", "40k", "2M", "-0.5",
    ]  # fmt: skip
