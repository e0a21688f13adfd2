"""`bgdata train plot` of networks that learned from labels. Needs matplotlib, an extra."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bgdata.commands.figures import BLUE, GREY, RED, TEAL, new_figure, write_figure
from bgdata.datasets.supervised_network import CLASSES, best_epoch
from bgdata.store.arrays import Array
from bgdata.store.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
