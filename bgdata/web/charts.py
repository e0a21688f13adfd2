"""Charts of pages as plain SVG, with the colors of the site."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from math import ceil, floor, isfinite, log10
from typing import NamedTuple

from bgdata.training.rows import Chart, describe_chart

WIDTH, HEIGHT = 360, 220  # size of a chart
LEFT, TOP, RIGHT, BOTTOM = 48, 26, 352, 184  # edges of the plot
TICKS = 4  # approximate number of ticks on an axis
STEPS = (1, 2, 2.5, 5, 10)
LABEL, MAX_LABEL = 48, 10  # width of a label below a bar, and its maximum number of letters
LETTER = 5.5  # approximate width of a letter


def chart_svg(chart: Chart) -> str:
    """Draw a chart as an SVG element: title and description, grid lines, axis labels, lines with bands, and a legend.
    Missing values are left out."""
    values = [
        value + sign * error
        for line in chart.lines
        for value, error in zip(line.values, line.errors or [0.0] * len(line.values), strict=True)
        for sign in (-1, 1)
        if isfinite(value)
    ]
    lowest, highest = (min(values), max(values)) if values else (0.0, 1.0)
    if chart.from_zero:
        lowest = min(0.0, lowest)
    if highest - lowest < 1e-12:
        lowest, highest = lowest - 0.5, highest + 0.5
    first, last = min(chart.places), max(chart.places)

    def across(place: float) -> float:
        begin, end, here = ((log10(each) if chart.is_logarithmic else each) for each in (first, last, place))
        return LEFT + 4 + (RIGHT - LEFT - 8) * ((here - begin) / (end - begin) if end > begin else 0.5)

    def down(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (value - lowest) / (highest - lowest)

    label = escape(f"{chart.title}, {describe_chart(chart)}", quote=True)
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{label}">',
        f'<text class="title" x="2" y="14">{escape(chart.title)}</text>',
    ]
    for value in round_values(lowest, highest):
        svg.append(f'<path class="rule" d="M{LEFT} {down(value):.1f}H{RIGHT}"/>')
        svg.append(f'<text class="left" x="{LEFT - 5}" y="{down(value) + 4:.1f}">{value:.4g}</text>')
    marks = [place for place in round_values(first, last) if place >= first] if last > first else []
    if chart.is_logarithmic:
        marks = [10.0**power for power in range(12) if first <= 10.0**power <= last]
        marks = marks if len(marks) > 1 else [first, last]
    svg += [
        f'<text class="below" x="{across(place):.1f}" y="{BOTTOM + 15}">{short_count(place)}</text>' for place in marks
    ]
    svg.append(f'<text class="below" x="{(LEFT + RIGHT) / 2:g}" y="{HEIGHT - 4}">{escape(chart.places_label)}</text>')
    names = ["other"] * (len(chart.lines) - 1) + ["main"]  # the last line is the main one
    for name, line in zip(names, chart.lines, strict=True):
        found = zip(chart.places, line.values, line.errors or line.values, strict=True)
        known = [(place, value, error) for place, value, error in found if isfinite(value)]
        if line.errors:
            upper, lower = (
                [f"{across(place):.1f},{down(value + sign * error):.1f}" for place, value, error in known]
                for sign in (1, -1)
            )
            svg.append(f'<polygon class="band" points="{" ".join([*upper, *reversed(lower)])}"/>')
        places = [(f"{across(place):.1f}", f"{down(value):.1f}") for place, value, _ in known]
        if chart.is_scatter:
            svg += [f'<circle class="point" cx="{x}" cy="{y}" r="2.5"/>' for x, y in places]
        else:
            svg.append(f'<polyline class="{name}" points="{" ".join(map(",".join, places))}"/>')
    if chart.mark is not None and isfinite(value := chart.lines[-1].values[chart.mark]):
        x, y = across(chart.places[chart.mark]), down(value)
        svg.append(
            f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(chart.mark_label)}</title></circle>'
        )
    x = RIGHT + 0.0
    for name, line in zip(names, chart.lines, strict=True) if len(chart.lines) > 1 else ():
        x -= LETTER * len(line.label)
        svg.append(f'<text x="{x:g}" y="14">{escape(line.label)}</text>')
        svg.append(f'<path class="{name}" d="M{x - 18:g} 10h14"/>')
        x -= 26
    return "\n".join([*svg, "</svg>"])


def round_values(lowest: float, highest: float) -> list[float]:
    """Return a few round numbers between two limits, for the grid lines of a chart."""
    step = round_step((highest - lowest) / TICKS)
    first = floor(lowest / step) + (lowest / step > floor(lowest / step))
    found = [step * (first + place) for place in range(2 * TICKS) if step * (first + place) <= highest + step / 1000]
    return [value + 0.0 for value in found]


def round_step(least: float) -> float:
    """Return the smallest round number (1, 2, 2.5 or 5 times a power of ten) that is not below `least`, which is
    positive."""
    power = 10.0 ** floor(log10(least))
    return next(each * power for each in STEPS if each * power >= least * 0.999)


class Bar(NamedTuple):
    """A bar of a bar chart: the label below it, its height, the text shown while the pointer is over it, and the
    address that it links to."""

    label: str
    value: float
    hint: str = ""
    link: str = ""


def bar_chart_svg(title: str, bars: Sequence[Bar], label: str) -> str:
    """Draw a bar chart as an SVG element. Some of the bars have labels below them, and a bar with an address is a link.
    `label` is the label of the horizontal axis."""
    values = [bar.value for bar in bars if isfinite(bar.value)]
    lowest, highest = min([0.0, *values]), max([0.0, *values])
    highest = highest if highest > lowest else lowest + 1.0

    def down(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (value - lowest) / (highest - lowest)

    svg = opening_svg(
        title, f"{title}: {len(bars)} bars, {short_count(min(values, default=0))} to {short_count(highest)}"
    )
    svg += left_axis(lowest, highest, down)
    step = (RIGHT - LEFT) / max(1, len(bars))
    shown = max(1, -(-len(bars) * LABEL // (RIGHT - LEFT)))  # one of this number of bars has room for a label
    for place, bar in enumerate(bars):
        x, top, bottom = LEFT + place * step, down(max(0.0, bar.value)), down(min(0.0, bar.value))
        if isfinite(bar.value):
            hint = escape(bar.hint or f"{bar.label}: {bar.value:.6g}", quote=True)
            width = step - 1 if step > 3 else step
            size = f'x="{x + 0.5:.1f}" y="{top:.1f}" width="{width:.1f}" height="{bottom - top:.1f}"'
            drawn = f'<rect class="bar" {size}><title>{hint}</title></rect>'
            svg.append(
                f'<a href="{escape(bar.link, quote=True)}" aria-label="{hint}">{drawn}</a>' if bar.link else drawn
            )
        if place % shown == 0:
            svg.append(
                f'<text class="below" x="{x + step / 2:.1f}" y="{BOTTOM + 15}">{escape(cut_label(bar.label))}</text>'
            )
    svg.append(f'<text class="below" x="{(LEFT + RIGHT) / 2:g}" y="{HEIGHT - 4}">{escape(label)}</text>')
    return "\n".join([*svg, "</svg>"])


def heat_map_svg(title: str, cells: Mapping[tuple[str, str], float], labels: tuple[str, str]) -> str:
    """Draw a heat map as an SVG element, with a scale: blue above 0 and orange below. `cells` contains the value of
    each column and row, by their names; `labels` say what columns and rows are."""
    columns, rows = (list(dict.fromkeys(key[side] for key in cells)) for side in (0, 1))
    most = max(map(abs, cells.values()), default=0.0) or 1.0
    svg = opening_svg(title, f"{title}: {len(columns)} columns, {len(rows)} rows")
    wide, high = (RIGHT - LEFT) / max(1, len(columns)), (BOTTOM - TOP) / max(1, len(rows))
    for (column, row), value in cells.items():
        x, y = LEFT + columns.index(column) * wide, TOP + rows.index(row) * high
        hint = escape(f"{labels[0]} {column}, {labels[1]} {row}: {value:.6g}")
        size = f'x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}"'
        svg.append(f'<rect class="shade{round(5 * value / most)}" {size}><title>{hint}</title></rect>')
    for place, name in list(enumerate(columns))[:: ceil(LABEL / wide)]:
        x = LEFT + (place + 0.5) * wide
        svg.append(f'<text class="below" x="{x:.1f}" y="{BOTTOM + 15}">{escape(cut_label(name))}</text>')
    for place, name in list(enumerate(rows))[:: ceil(12 / high)]:
        y = TOP + (place + 0.5) * high + 4
        svg.append(f'<text class="left" x="{LEFT - 5}" y="{y:.1f}">{escape(cut_label(name, 8))}</text>')
    svg.append(f'<text class="left" x="{RIGHT}" y="{HEIGHT - 4}">{escape(labels[0])}</text>')
    svg += scale_svg(most, has_negative=any(value < 0 for value in cells.values()))
    return "\n".join([*svg, "</svg>"])


def scale_svg(most: float, *, has_negative: bool) -> list[str]:
    """Draw the scale below a heat map: its shades, with the values at both ends; `most` is at the right. Without
    negative values the scale begins at 0."""
    shades, left = range(-5 if has_negative else 0, 6), LEFT + 4
    svg = [
        f'<rect class="shade{each}" x="{left + 10 * place}" y="{HEIGHT - 13}" width="10" height="10"/>'
        for place, each in enumerate(shades)
    ]
    ends = (left - 4, "left", -most if has_negative else 0.0), (left + 10 * len(shades) + 4, "right", most)
    return svg + [
        f'<text class="{name}" x="{x}" y="{HEIGHT - 4}">{short_value(value)}</text>' for x, name, value in ends
    ]


def opening_svg(title: str, description: str) -> list[str]:
    """Return the first lines of a chart's SVG element, with title and description. Its role is a group, so that links
    in it can be reached by keyboard."""
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="group" '
        f'aria-label="{escape(description, quote=True)}">',
        f'<text class="title" x="2" y="14">{escape(title)}</text>',
    ]


def left_axis(lowest: float, highest: float, down: Callable[[float], float]) -> list[str]:
    """Draw grid lines with round values at the left. `down` converts a value to its vertical pixel."""
    svg = []
    for value in round_values(lowest, highest):
        svg.append(f'<path class="rule" d="M{LEFT} {down(value):.1f}H{RIGHT}"/>')
        svg.append(f'<text class="left" x="{LEFT - 5}" y="{down(value) + 4:.1f}">{short_value(value)}</text>')
    return svg


def short_value(value: float) -> str:
    """Return a value on an axis as a short string."""
    return short_count(value) if abs(value) >= 1000 else f"{value:.4g}"


def cut_label(label: str, most: int = MAX_LABEL) -> str:
    """Return a label cut to at most `most` letters."""
    return label if len(label) <= most else f"{label[: most - 1]}…"


def short_count(count: float) -> str:
    """Return a count as a short string, such as 40k or 2M."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if abs(count) >= size:
            return f"{count / size:.3g}{unit}"
    return f"{count:.3g}"
