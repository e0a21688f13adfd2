"""TODO"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isfinite, log10
from typing import NamedTuple

WIDTH, HEIGHT = 420, 280  # in units of the picture
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 14, 48, 42  # margins
_LEGEND = 124  # between two entries
_TICKS = 5  # about so many on an axis
_MOST_TICKS = 8  # for which there is room
_STEPS = (1, 2, 5, 10)

# colours of the page's style, in light and in dark
STYLE = """
.chart text { fill: var(--ink); font: 12px sans-serif; }
.chart .heading { font-weight: bold; font-size: 13px; }
.chart .grid { stroke: var(--rule); stroke-width: 1; }
.chart polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
.chart polygon { stroke: none; fill-opacity: 0.2; }
.chart .first { stroke: var(--first); } .chart .second { stroke: var(--second); }
.chart .mark { fill: var(--mark); }
.chart polygon.first { fill: var(--first); } .chart polygon.second { fill: var(--second); }
.chart .dashed { stroke-dasharray: 6 3; }
""".strip()


class Line(NamedTuple):
    """Points joined, of one row of numbers each; those that are no numbers are left out."""

    label: str
    values: Sequence[float]
    errors: Sequence[float] = ()  # half the height of a band around it


@dataclass(frozen=True)
class Chart:
    """One or two lines over one row of places, ascending."""

    title: str
    places_label: str
    places: Sequence[float]
    lines: tuple[Line, ...]
    is_logarithmic: bool = False  # the axis of places, which are above 0 then
    mark: int | None = None  # index of the place that is marked on the last line
    mark_label: str = ""
    from_zero: bool = False  # whether the axis of values begins there


class Axis(NamedTuple):
    """Where numbers are along an axis."""

    least: float
    most: float
    ticks: list[float]


def format_chart_svg(chart: Chart) -> str:
    """The chart as the text of an SVG element, or one that says that there is nothing to draw."""
    numbers = [number for line in chart.lines for number in band_ends(line) if isfinite(number)]
    description = describe_chart(chart)
    name = "chart-" + hashlib.sha256(f"{chart.title}{description}".encode()).hexdigest()[:12]
    found = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="{name}-title {name}-desc">',
        f'<title id="{name}-title">{escape(chart.title)}</title>',
        f'<desc id="{name}-desc">{escape(description)}</desc>',
        _text(_LEFT, 16, chart.title, "start", "heading"),
    ]
    if numbers:
        values = value_axis(numbers, chart.from_zero)
        places = place_axis(chart)
        found += [*_frame(chart, places, values), *_lines(chart, places, values), *_legend(chart)]
    else:
        found.append(_text(WIDTH / 2, HEIGHT / 2, "nothing learned", "middle"))
    return "\n".join([*found, "</svg>"]) + "\n"


def describe_chart(chart: Chart) -> str:
    """First, last and lowest number of each line."""
    parts = []
    for line in chart.lines:
        known = [number for number in line.values if isfinite(number)]
        if known:
            parts.append(f"{line.label}: from {known[0]:.4g} to {known[-1]:.4g}, lowest {min(known):.4g}")
    return f"over {chart.places_label}; " + ("; ".join(parts) or "no numbers")


def band_ends(line: Line) -> Iterator[float]:
    """All that must have room: the values, and the ends of their bands."""
    for number, error in zip(line.values, line.errors or [0.0] * len(line.values), strict=True):
        yield from (number - error, number + error)


def value_axis(numbers: Sequence[float], from_zero: bool) -> Axis:
    """An axis with round ticks that has room for all numbers."""
    least, most = min(numbers), max(numbers)
    least = min(least, 0.0) if from_zero else least
    step = round_step((most - least) / _TICKS or abs(most) / _TICKS or 1.0)
    first, last = floor(least / step), ceil(most / step)
    last += first == last
    return Axis(first * step, last * step, [tick * step for tick in range(first, last + 1)])


def round_step(step: float) -> float:
    """The next of 1, 2, 5, 10 times a power of ten."""
    power = 10.0 ** floor(log10(step))
    return next(factor * power for factor in _STEPS if factor * power >= step * (1 - 1e-9))


def place_axis(chart: Chart) -> Axis:
    """An axis that ends with the last place; a logarithmic one has ticks at 1, 2 and 5 times powers of ten, or at
    these alone where there are many."""
    least, most = chart.places[0], chart.places[-1]
    if not chart.is_logarithmic:
        step = max(round_step((most - least) / _TICKS or 1.0), 1)
        ticks = [tick * step for tick in range(ceil(least / step), floor(most / step) + 1)]
        return Axis(least, most, ticks)
    powers = range(floor(log10(least)), ceil(log10(most)) + 1)
    ticks = [factor * 10.0**power for power in powers for factor in _STEPS[:3]]
    inside = [tick for tick in ticks if least <= tick <= most]
    return Axis(
        least, most, inside if len(inside) <= _MOST_TICKS else [tick for tick in inside if log10(tick) % 1 == 0]
    )


def _x(chart: Chart, axis: Axis, place: float) -> float:
    """Units from the left edge."""
    ends = [log10(number) if chart.is_logarithmic else number for number in (axis.least, axis.most, place)]
    share = (ends[2] - ends[0]) / (ends[1] - ends[0]) if ends[1] > ends[0] else 0.5
    return _LEFT + share * (WIDTH - _LEFT - _RIGHT)


def _y(axis: Axis, value: float) -> float:
    """Units from the upper edge."""
    return HEIGHT - _BOTTOM - (value - axis.least) / (axis.most - axis.least) * (HEIGHT - _TOP - _BOTTOM)


def _frame(chart: Chart, places: Axis, values: Axis) -> Iterator[str]:
    """Grid lines with their numbers, and what the places are."""
    for tick in values.ticks:
        y = _y(values, tick)
        yield f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{WIDTH - _RIGHT}" y2="{y:.1f}"/>'
        yield _text(_LEFT - 6, y + 4, tick_text(tick), "end")
    for tick in places.ticks:
        yield _text(_x(chart, places, tick), HEIGHT - _BOTTOM + 16, tick_text(tick), "middle")
    yield _text((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 6, chart.places_label, "middle")


def _lines(chart: Chart, places: Axis, values: Axis) -> Iterator[str]:
    """Bands, lines, and the mark on the last line."""
    xs = [_x(chart, places, place) for place in chart.places]
    for style, line in zip(("first", "second"), chart.lines, strict=False):
        rows = [row for row in zip(xs, line.values, line.errors or line.values, strict=True) if isfinite(row[1])]
        if line.errors:
            ends = [(x, number + error) for x, number, error in rows]
            ends += [(x, number - error) for x, number, error in reversed(rows)]
            yield f'<polygon class="{style}" points="{_points(ends, values)}"/>'
        dashes = " dashed" if style == "first" and len(chart.lines) > 1 else ""  # told apart without colours too
        yield f'<polyline class="{style}{dashes}" points="{_points([row[:2] for row in rows], values)}"/>'
    if chart.mark is not None:
        x, y = xs[chart.mark], _y(values, chart.lines[-1].values[chart.mark])
        yield f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'


def _points(rows: Sequence[tuple[float, float]], values: Axis) -> str:
    """Coordinates of (units from the left, value)."""
    return " ".join(f"{x:.1f},{_y(values, value):.1f}" for x, value in rows)


def _legend(chart: Chart) -> Iterator[str]:
    """What the lines are, in a row below the title; nothing for a single line without a mark."""
    styles = [f"first{' dashed' if len(chart.lines) > 1 else ''}", "second"]
    rows = [(style, line.label) for style, line in zip(styles, chart.lines, strict=False)] * (len(chart.lines) > 1)
    if chart.mark is not None:
        rows.append(("mark", chart.mark_label))
    for number, (style, label) in enumerate(rows):
        x, y = _LEFT + _LEGEND * number, 32
        if style == "mark":
            yield f'<circle class="mark" cx="{x + 12}" cy="{y}" r="5"/>'
        else:
            yield f'<polyline class="{style}" points="{x},{y} {x + 24},{y}"/>'
        yield _text(x + 30, y + 4, label, "start")


def tick_text(tick: float) -> str:
    """A number in few letters: 0.25, 40k, 2M."""
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if abs(tick) >= unit:
            return f"{tick / unit:.4g}{letter}"
    return f"{tick:.4g}" if abs(tick) > 1e-9 else "0"


def _text(x: float, y: float, text: str, anchor: str, style: str = "") -> str:
    """A text element."""
    kind = f' class="{style}"' if style else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
