"""Tests of charts: points, SVG elements of pages, and reproducible files."""

import re
import subprocess
import sys
from collections.abc import Callable
from math import nan
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bgdata.cli import charts
from bgdata.cli.charts import PANEL, ROLES, draw_chart, format_figure_svg, new_figure, write_figure
from bgdata.training.rows import Chart, Line

SVG = "{http://www.w3.org/2000/svg}"
SIMPLE = Chart("errors & more", "epochs", [0, 1, 2, 3, 4], (Line("error", [4.0, 3.0, 2.0, 1.0, 0.0]),))
LEARNED = Line("learned", [2.0, 1.0, 0.5])
VALIDATION = Line("validation", [2.0, 1.5, 1.75])
MARKED = Chart("errors", "epochs", [0, 1, 2], (LEARNED, VALIDATION), mark=1, mark_label="kept")


def inspect_chart(chart: Chart, read: Callable[[Any], Any]) -> Any:
    """The result of `read` on the axes of a chart after layout."""
    with new_figure(*PANEL) as figure:
        axes = figure.subplots()
        draw_chart(axes, chart)
        figure.canvas.draw()
        return read(axes)


def points(chart: Chart) -> list[list[tuple[float, float]]]:
    """The points of all lines, in data units."""
    return inspect_chart(chart, lambda axes: [list(zip(*line.get_data(), strict=True)) for line in axes.lines])


def svg_of(chart: Chart) -> str:
    with new_figure(*PANEL) as figure:
        draw_chart(figure.subplots(), chart)
        return format_figure_svg(figure, chart.title, "lines & marks", PANEL)


def texts(chart: Chart) -> set[str]:
    """All texts in the SVG element of a chart."""
    return {"".join(text.itertext()) for text in ElementTree.fromstring(svg_of(chart)).iter(f"{SVG}text")}


def test_chart_has_points_at_their_values() -> None:
    assert points(SIMPLE) == [[(0, 4.0), (1, 3.0), (2, 2.0), (3, 1.0), (4, 0.0)]]
    assert {"errors & more", "epochs", "0", "1", "2", "3", "4"} <= texts(SIMPLE)
    assert "error" not in texts(SIMPLE), "a single line needs no legend"


def test_logarithmic_axis_and_band_are_drawn() -> None:
    chart = Chart("points", "games", [100, 1_000, 10_000], (Line("a", [0.0, 1.0, 2.0]),), is_logarithmic=True)
    assert inspect_chart(chart, lambda axes: axes.get_xscale()) == "log"
    assert {"100", "1k", "10k"} <= texts(chart)
    chart = Chart("points", "games", [1, 2], (Line("a", [1.0, 2.0], [1.0, 0.5]),))
    (corners,) = inspect_chart(chart, lambda axes: [band.get_paths()[0].vertices.tolist() for band in axes.collections])
    assert {(1.0, 0.0), (1.0, 2.0), (2.0, 1.5), (2.0, 2.5)} <= set(map(tuple, corners))


def test_chart_of_two_lines_has_legend_and_mark() -> None:
    assert {"learned", "validation", "kept"} <= texts(MARKED)
    assert points(MARKED)[2] == [(1, 1.5)], "on the last line"
    styles = inspect_chart(MARKED, lambda axes: {line.get_linestyle() for line in axes.lines[:2]})
    assert len(styles) == 2, "distinguishable without colours"
    (description,) = ElementTree.fromstring(svg_of(MARKED)).findall(f"{SVG}desc")
    assert description.text == "lines & marks"


def test_infinite_values_are_left_out_of_an_axis_from_zero() -> None:
    assert "nothing learned" not in texts(Chart("a", "b", [0, 1, 2], (Line("c", [nan, 1.0, 2.0]),)))
    assert "nothing learned" in texts(Chart("a", "b", [0, 1], (Line("c", [nan, nan]),)))
    chart = Chart("a", "b", [0, 1], (Line("c", [5.0, 6.0]),), from_zero=True)
    assert inspect_chart(chart, lambda axes: axes.get_ylim()[0]) == 0
    assert inspect_chart(Chart("a", "b", [0, 1], chart.lines), lambda axes: axes.get_ylim()[0]) > 4


@pytest.mark.parametrize("value", [0.0, 1.5, -3.0])
@pytest.mark.parametrize("is_logarithmic", [False, True])
def test_axis_contains_a_single_value(value: float, is_logarithmic: bool) -> None:
    for places in ([1.0], [1.0, 2.0]):
        chart = Chart("a", "b", places, (Line("c", [value] * len(places)),), is_logarithmic=is_logarithmic)
        low, high = inspect_chart(chart, lambda axes: axes.get_ylim())
        assert low < value < high


def test_svg_elements_have_unique_ids_and_page_colours() -> None:
    """Two charts on one page share no identifier; each refers only to its own identifiers, and takes all colours from
    the page."""
    elements = [svg_of(chart) for chart in (SIMPLE, MARKED)]
    names = [re.findall(r'\bid="([^"]+)"', text) for text in elements]
    assert len({*names[0], *names[1]}) == len(names[0]) + len(names[1])
    for text, known in zip(elements, names, strict=True):
        referred = re.findall(r'(?:url\(|href=")#([^")]+)', text)
        labels = re.findall(r'aria-labelledby="([^"]+)"', text)[0].split()
        assert {*referred, *labels} <= set(known)
        assert not re.search(r"#[0-9a-fA-F]{6}\b", text)
        assert set(re.findall(r"var\((--\w+)\)", text)) <= set(ROLES.values())


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_files_are_identical_in_every_process(tmp_path: Path, suffix: str) -> None:
    program = (
        "import sys; from pathlib import Path; from tests.cli.test_charts import MARKED, save\n"
        "save(MARKED, Path(sys.argv[1]))"
    )
    paths = [tmp_path / f"{number}.{suffix}" for number in range(2)]
    save(MARKED, paths[0])
    subprocess.run([sys.executable, "-c", program, paths[1]], check=True, cwd=Path(__file__).parents[2])
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].read_bytes().startswith(b"\x89PNG" if suffix == "png" else b"<?xml")
    assert b"matplotlib.org" not in paths[0].read_bytes()
    assert b"date" not in paths[0].read_bytes()


def save(chart: Chart, path: Path) -> None:
    with new_figure(*PANEL) as figure:
        draw_chart(figure.subplots(), chart)
        write_figure(figure, path)


def test_style_applies_only_in_the_block() -> None:
    import matplotlib

    before = matplotlib.rcParams["svg.hashsalt"]
    with new_figure(*PANEL):
        assert matplotlib.rcParams["svg.hashsalt"] == charts.STYLE["svg.hashsalt"] != before
    assert matplotlib.rcParams["svg.hashsalt"] == before
