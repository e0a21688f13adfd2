"""Learning curves of networks as charts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bgdata.cli.charts import BLUE, GREY, RED, TEAL, new_figure, write_figure
from bgdata.datasets.network import DATASET as NETWORK
from bgdata.datasets.supervised_network import CLASSES, best_epoch
from bgdata.store.arrays import Array
from bgdata.store.table import Table

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


def draw_taught_curve(table: Table, path: Path) -> None:
    """Write the learning curve of a taught network as PNG: the cross-entropies of each of its networks by epoch.

    Raises MissingExtraError without matplotlib, and StorageError.
    """
    curve = np.asarray(table.array("curve"))
    figure = new_figure(10.5, 3.4)
    for axes, which in zip(figure.subplots(1, len(CLASSES)), reversed(range(len(CLASSES))), strict=True):
        draw_network(axes, curve, which)
    statistics = table.manifest.statistics
    figure.suptitle(
        f"{table.name}: {statistics['points_per_game']:+.3f} ± {statistics['standard_error']:.3f} points per game "
        f"against PubEval, {statistics['start_points_per_game']:+.3f} before",
        fontsize=11,
    )
    write_figure(figure, path)


def draw_network(axes: Axes, curve: Array, which: int) -> None:
    """Errors of one network: on what it learned and on what it did not, and the epoch whose weights were kept."""
    epochs, kept = np.arange(len(curve)), best_epoch(curve, which)
    for place, colour, label in ((2, BLUE, "learned"), (3, TEAL, "validation")):
        axes.plot(epochs, curve[:, which, place], color=colour, marker=".", markersize=4, label=label)
    if kept is not None:
        axes.plot(kept, curve[kept, which, 3], color=RED, marker="o", markersize=5, linestyle="", label="kept")
        axes.legend(frameon=False, fontsize=9)
    else:
        axes.text(0.5, 0.5, "did not learn", transform=axes.transAxes, ha="center", color=GREY)
    axes.set(xlabel="epochs")
    axes.set_title(f"{CLASSES[which]}: cross-entropy", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=BLUE, alpha=0.3, linewidth=0.6)
