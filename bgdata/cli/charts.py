"""Charts of all commands: one style and palette, and identical files for identical numbers."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgdata.errors import needing
from bgdata.store.storage import write_file
from bgdata.training.rows import Chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, GREY, RULE = "#1d2129", "#5b6270", "#d9dde5"  # colours of text, secondary text, and grids
BLUE, TEAL, RED = "#6b7a99", "#1d7f8c", "#b8382b"
LOOKS = [(TEAL, "o"), (RED, "s"), (BLUE, "^"), (INK, "D"), (GREY, "v")]  # colours and markers of players
PANEL = (3.5, 2.7)  # size in inches of one chart among several
# colours by their name in a style sheet, so that pages can change them in dark mode
ROLES = {INK: "--ink", GREY: "--soft", RULE: "--rule", BLUE: "--first", TEAL: "--second", RED: "--mark"}
STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "figure.titlesize": 11,
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.markersize": 4,
    "savefig.dpi": 120,
    "svg.fonttype": "none",  # text is written as text
    "svg.hashsalt": "bgdata",  # so that identifiers in a file depend on the drawing alone
    "text.color": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
}


def mark_style(place: int) -> dict[str, Any]:
    """Return the colour and marker of a player in charts, by the player's number from 0. When all colours are used,
    they repeat with hollow markers."""
    colour, marker = LOOKS[place % len(LOOKS)]
    return {"color": colour, "marker": marker, "markerfacecolor": colour if place < len(LOOKS) else "white"}


def draw_marks(axes: Axes, series: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> None:
    """Draw one row of marks with error bars at each height 0, 1, 2, ...; the players are slightly apart. `series`
    contains the figures of each player and their standard errors. NaN is not drawn."""
    step = min(0.18, 0.7 / len(series))
    for n, (label, (figures, errors)) in enumerate(series.items()):
        heights = [place + step * (n - (len(series) - 1) / 2) for place in range(len(figures))]
        axes.errorbar(figures, heights, xerr=errors, linestyle="none", label=label, **mark_style(n))


def name_heights(axes: Axes, names: Sequence[str]) -> None:
    """Label the heights 0, 1, 2, ... of a chart with these names, from top to bottom."""
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()


def number_or_nan(figure: float | None) -> float:
    """Return the figure, or NaN if it is None."""
    return nan if figure is None else figure


@contextmanager
def new_figure(width: float, height: float) -> Iterator[Figure]:
    """Yield an empty matplotlib figure, with width and height in inches. Draw and write the figure inside the `with`
    block, because only there it has the style of bgdata. Raises MissingExtraError if matplotlib is not installed."""
    with needing("plots", "to draw pictures"):
        import matplotlib
        from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        yield Figure(figsize=(width, height), layout="constrained")


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure to a file, as SVG if its name ends in .svg, else as PNG, and print its path. Raises StorageError
    if the file cannot be written."""
    write_file(path, _file_of(figure, "svg" if path.suffix.lower() == ".svg" else "png"))
    click.echo(f"wrote {path}", err=True)


def _file_of(figure: Figure, form: str, *, transparent: bool = False) -> bytes:
    """Return the content of a picture file in the format `form`, without date and program name, so that equal pictures
    give equal bytes."""
    file = io.BytesIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type") if form == "svg" else ("Software",))
    figure.savefig(file, format=form, metadata=nothing, transparent=transparent)
    return file.getvalue()


def draw_chart(axes: Axes, chart: Chart) -> None:
    """Draw a chart into axes: its lines with bands, mark and frame, and a legend if there are several lines."""
    colours = (BLUE, TEAL) if len(chart.lines) > 1 else (TEAL,)
    for colour, line in zip(colours, chart.lines, strict=True):
        dashes = "--" if colour == BLUE else "-"  # so lines differ even without colours
        axes.plot(chart.places, line.values, dashes, color=colour, label=line.label, marker=".")
        if line.errors:
            low, high = ([value + sign * error for value, error in zip(*line[1:], strict=True)] for sign in (-1, 1))
            axes.fill_between(chart.places, low, high, color=colour, alpha=0.2, linewidth=0)
    if chart.mark is not None:
        value = chart.lines[-1].values[chart.mark]
        axes.plot(chart.places[chart.mark], value, "o", color=RED, markersize=6, label=chart.mark_label)
    if not any(isfinite(value) for line in chart.lines for value in line.values):
        axes.text(0.5, 0.5, "nothing learned", transform=axes.transAxes, ha="center", color=GREY)
    elif len(chart.lines) > 1 or chart.mark is not None:
        axes.legend()
    if chart.from_zero:
        axes.set_ylim(bottom=0)
    axes.set(xlabel=chart.places_label, title=chart.title)
    format_places(axes, is_logarithmic=chart.is_logarithmic)


def format_places(axes: Axes, *, is_logarithmic: bool) -> None:
    """Label the horizontal axis with short integers, such as 40k or 2M."""
    from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullFormatter

    if is_logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))


def format_figure_svg(figure: Figure, title: str, description: str, size: tuple[float, float]) -> str:
    """Return a matplotlib figure as an SVG element for an HTML page; `size` is its width and height in inches. Its
    identifiers are unique on the page, and its colours are those of the page."""
    svg = _file_of(figure, "svg", transparent=True).decode()
    name = "chart-" + hashlib.sha256(f"{title}{description}".encode()).hexdigest()[:12]
    text = svg[svg.index("<g ") : svg.rindex("</svg>")]
    text = text.replace(' id="', f' id="{name}-').replace("url(#", f"url(#{name}-")
    text = text.replace('xlink:href="#', f'href="#{name}-')
    for colour, role in ROLES.items():
        text = text.replace(colour, f"var({role})")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {72 * size[0]:g} {72 * size[1]:g}" '
        f'role="img" aria-labelledby="{name}-title {name}-desc">\n'
        f'<title id="{name}-title">{escape(title)}</title>\n<desc id="{name}-desc">{escape(description)}</desc>\n'
        f"{text}</svg>\n"
    )
