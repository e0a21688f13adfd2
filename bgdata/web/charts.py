"""Charts of pages as plain SVG: lines over places, with the colors of the site."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import floor, isfinite, log10

from bgdata.training.rows import Chart, Line, describe_chart

WIDTH, HEIGHT = 360, 220  # of a chart
LEFT, TOP, RIGHT, BOTTOM = 48, 26, 352, 184  # edges of what is drawn
TICKS = 4  # about so many on an axis
STEPS = (1, 2, 2.5, 5, 10)
LETTER = 5.5  # width of a letter, about


def chart_svg(chart: Chart) -> str:
    """A chart as an SVG element that says in words what is drawn."""
    values = [bound for line in chart.lines for bound in bounds(line)]
    lowest, highest = (min(values), max(values)) if values else (0.0, 1.0)
    if chart.from_zero:
        lowest = min(0.0, lowest)
    if highest - lowest < 1e-12:
        lowest, highest = lowest - 0.5, highest + 0.5
    label = escape(f"{chart.title}, {describe_chart(chart)}", quote=True)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="{label}">',
            f'<text class="title" x="2" y="14">{escape(chart.title)}</text>',
            *grid(lowest, highest),
            *places_below(chart),
            *(line_svg(chart, number, lowest, highest) for number in range(len(chart.lines))),
            *mark_svg(chart, lowest, highest),
            *(() if len(chart.lines) < 2 else legend(chart)),
            "</svg>",
        ]
    )


def bounds(line: Line) -> Iterator[float]:
    """The values of a line that are known, with the edges of its band."""
    errors = line.errors or [0.0] * len(line.values)
    for value, error in zip(line.values, errors, strict=True):
        if isfinite(value):
            yield from (value - error, value + error)


def across(chart: Chart, place: float) -> float:
    """How far to the right a place is drawn."""
    first, last, place = ((log10(each) if chart.is_logarithmic else each) for each in (*ends(chart), place))
    return LEFT + 4 + (RIGHT - LEFT - 8) * ((place - first) / (last - first) if last > first else 0.5)


def ends(chart: Chart) -> tuple[float, float]:
    """The first and the last place."""
    return chart.places[0], chart.places[-1]


def down(value: float, lowest: float, highest: float) -> float:
    """How far down a value is drawn."""
    return BOTTOM - (BOTTOM - TOP) * (value - lowest) / (highest - lowest)


def round_values(lowest: float, highest: float) -> list[float]:
    """Round values between two others, a few of them."""
    rough = (highest - lowest) / TICKS
    power = 10.0 ** floor(log10(rough))
    step = next(each * power for each in STEPS if each * power >= rough * 0.999)
    first = floor(lowest / step) + (lowest / step > floor(lowest / step))
    found = [step * (first + place) for place in range(2 * TICKS) if step * (first + place) <= highest + step / 1000]
    return [value + 0.0 for value in found]


def grid(lowest: float, highest: float) -> Iterator[str]:
    """A line for each round value, and what it is."""
    for value in round_values(lowest, highest):
        y = down(value, lowest, highest)
        yield f'<path class="rule" d="M{LEFT} {y:.1f}H{RIGHT}"/>'
        yield f'<text class="left" x="{LEFT - 5}" y="{y + 4:.1f}">{value:.4g}</text>'


def short(count: float) -> str:
    """A count of places: 40k, 2M."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return f"{count:.3g}"


def places_below(chart: Chart) -> Iterator[str]:
    """Places below the chart, and what they are."""
    first, last = ends(chart)
    marks: Sequence[float] = [place for place in round_values(first, last) if place >= first] if last > first else []
    if chart.is_logarithmic:
        marks = [10.0**power for power in range(12) if first <= 10.0**power <= last]
        marks = marks if len(marks) > 1 else [first, last]
    for place in marks:
        yield f'<text class="below" x="{across(chart, place):.1f}" y="{BOTTOM + 15}">{short(place)}</text>'
    yield f'<text class="below" x="{(LEFT + RIGHT) / 2:g}" y="{HEIGHT - 4}">{escape(chart.places_label)}</text>'


def name_of(chart: Chart, number: int) -> str:
    """The class of a line: the last one is the one that matters."""
    return "main" if number == len(chart.lines) - 1 else "other"


def line_svg(chart: Chart, number: int, lowest: float, highest: float) -> str:
    """A line with its band; what is not known is left out."""
    line = chart.lines[number]
    known = [(across(chart, place), index) for index, place in enumerate(chart.places) if isfinite(line.values[index])]
    path = " ".join(f"{x:.1f},{down(line.values[index], lowest, highest):.1f}" for x, index in known)
    band = ""
    if line.errors:
        upper, lower = (
            [
                f"{x:.1f},{down(line.values[index] + sign * line.errors[index], lowest, highest):.1f}"
                for x, index in known
            ]
            for sign in (1, -1)
        )
        band = f'<polygon class="band" points="{" ".join([*upper, *reversed(lower)])}"/>'
    return f'{band}<polyline class="{name_of(chart, number)}" points="{path}"/>'


def mark_svg(chart: Chart, lowest: float, highest: float) -> Iterator[str]:
    """The place that is marked on the last line, with its word."""
    if chart.mark is not None and isfinite(chart.lines[-1].values[chart.mark]):
        x = across(chart, chart.places[chart.mark])
        y = down(chart.lines[-1].values[chart.mark], lowest, highest)
        yield f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(chart.mark_label)}</title></circle>'


def legend(chart: Chart) -> Iterator[str]:
    """What the lines are, beside the title; the last one first."""
    x = RIGHT + 0.0
    for number, line in enumerate(chart.lines):
        x -= LETTER * len(line.label)
        yield f'<text x="{x:g}" y="14">{escape(line.label)}</text>'
        yield f'<path class="{name_of(chart, number)}" d="M{x - 18:g} 10h14"/>'
        x -= 26
