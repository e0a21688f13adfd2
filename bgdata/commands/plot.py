"""`bgdata train plot`: the learning curve of a network as a picture. Needs matplotlib, an extra."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bgdata.commands.figures import BLUE, GREY, RED, TEAL, new_figure, write_figure
from bgdata.datasets.network import DATASET as NETWORK
from bgdata.store.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curve = dict[str, Any]  # column -> float64[rows]


def draw_curve(table: Table, path: Path) -> None:
    """Write the learning curve of a network as PNG: points per game, shares of gammons, bearoff error.

    Raises MissingExtraError without matplotlib, and StorageError.
    """
    values = np.asarray(table.array("curve"))
    curve = {column.name: values[:, place] for place, column in enumerate(NETWORK.columns)}
    figure = new_figure(10.5, 3.4)
    points, shares, bearoff = figure.subplots(1, 3)
    draw_points(points, curve)
    draw_shares(shares, curve)
    draw_bearoff(bearoff, curve)
    for axes in (points, shares, bearoff):
        draw_frame(axes)
    figure.suptitle(title(table), fontsize=11)
    write_figure(figure, path)


def draw_frame(axes: Axes) -> None:
    """What the panels share: games on a logarithmic axis."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    axes.set(xscale="log", xlabel="games of self-play")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=BLUE, alpha=0.3, linewidth=0.6)


def title(table: Table) -> str:
    """Which network, and its size."""
    recipe = table.manifest.parameters
    return f"{table.name}: {recipe['games']:,} games, {recipe['hidden']} hidden units"


def draw_points(axes: Axes, curve: Curve) -> None:
    """Points per game against PubEval, with two standard errors on either side."""
    games, points, error = curve["games"], curve["points_per_game"], 2 * curve["standard_error"]
    axes.fill_between(games, points - error, points + error, color=TEAL, alpha=0.25, linewidth=0)
    axes.plot(games, points, color=TEAL, marker=".", markersize=4)
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.text(0.97, 0.06, f"at last {points[-1]:+.3f} ± {error[-1] / 2:.3f}", transform=axes.transAxes, ha="right")
    axes.set_title("points per game against PubEval", fontsize=10)


def draw_shares(axes: Axes, curve: Curve) -> None:
    """How the games of self-play ended."""
    for name, colour, label in (("gammon_share", TEAL, "gammons"), ("backgammon_share", RED, "backgammons")):
        axes.plot(curve["games"], 100 * curve[name], color=colour, marker=".", markersize=4, label=label)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=9)
    axes.set_title("self-play games that end so (%)", fontsize=10)


def draw_bearoff(axes: Axes, curve: Curve) -> None:
    """How far the race network is from the exact table."""
    axes.plot(curve["games"], curve["bearoff_error"], color=TEAL, marker=".", markersize=4)
    axes.set_ylim(bottom=0)
    axes.set_title("mean error on exact bearoffs (points)", fontsize=10)
