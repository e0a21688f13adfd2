"""`bgdata cube-life --plot`: the atlas of cube life indexes as a picture. Needs matplotlib, an extra."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bgdata.commands.plot import BLUE, GREY, RED, TEAL
from bgdata.errors import MissingExtraError
from bgdata.store.storage import write_file
from bgdata.store.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bgdata.store.arrays import Array

TITLES = ("centered cube", "cube of the player on roll", "cube of the opponent")
BINS = 50
LIVE_TAKE_POINT, LIVE_CASH_POINT = 0.2, 0.8


def draw_cube_life(table: Table, path: Path) -> None:
    """Write a PNG: how often each index occurs by winning chance, for each cube, and below it how far it spreads.

    Raises MissingExtraError without matplotlib, and StorageError.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("expected matplotlib, found none; try: pip install matplotlib") from error
    wins, indexes = np.asarray(table.array("chances"))[..., 0].ravel(), np.asarray(table.array("indexes"))
    figure = Figure(figsize=(10.5, 5.4), layout="constrained")
    panels = figure.subplots(2, 3, sharex="row", height_ratios=(2, 1))
    for place, title in enumerate(TITLES):
        values = indexes[..., place].ravel()
        known = (values >= 0.0) & (values <= 1.0)
        draw_map(panels[0][place], wins[known], values[known], title)
        draw_counts(panels[1][place], values[known], float(known.mean()))
    panels[0][0].set_ylabel("cube life index")
    panels[1][0].set_ylabel("pairs")
    figure.suptitle(f"{table.name}: the index that makes Janowski's model exact", fontsize=11)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120, metadata={"Software": None})
    write_file(path, picture.getvalue())


def draw_map(axes: Axes, wins: Array, values: Array, title: str) -> None:
    """Pairs by winning chance and index, darker where there are more, and the mean index of each chance."""
    from matplotlib.colors import LogNorm

    edges = np.linspace(0.0, 1.0, BINS + 1)
    counts, _, _ = np.histogram2d(wins, values, bins=(edges, edges))
    axes.pcolormesh(edges, edges, counts.T, norm=LogNorm(vmin=1), cmap="BuGn")
    bins = np.minimum((wins * BINS).astype(np.int64), BINS - 1)
    pairs = np.bincount(bins, minlength=BINS)
    means = np.bincount(bins, values, minlength=BINS) / np.maximum(pairs, 1)
    middle = (edges[:-1] + edges[1:]) / 2
    axes.plot(middle[pairs > 0], means[pairs > 0], color=RED, linewidth=1.2, label="mean")
    for point in (LIVE_TAKE_POINT, LIVE_CASH_POINT):
        axes.axvline(point, color=GREY, linewidth=0.6, linestyle=":")
    axes.set(title=title, xlabel="winning chance without a cube", xlim=(0, 1), ylim=(0, 1))
    axes.title.set_fontsize(10)
    axes.legend(frameon=False, fontsize=9, loc="lower right")


def draw_counts(axes: Axes, values: Array, share: float) -> None:
    """How many pairs have which index, and what share has any."""
    axes.hist(values, bins=BINS, range=(0.0, 1.0), color=TEAL)
    axes.axvline(float(values.mean()), color=RED, linewidth=1.2)
    axes.set(xlabel=f"index, for {share:.1%} of pairs: {values.mean():.3f} ± {values.std():.3f}", xlim=(0, 1))
    axes.xaxis.label.set_fontsize(9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=BLUE, alpha=0.3, linewidth=0.6, axis="y")
