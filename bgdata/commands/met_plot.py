"""`bgdata met plot`: a match equity table, or the difference of two, as a heat map. Needs matplotlib, an extra."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bgdata.commands.figures import new_figure, write_figure
from bgdata.equity.match_equity import MatchEquity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

DARK = 0.4  # lightness below which text is white
SMALL = 7  # points of text in cells
MOST_NUMBERED = 15  # points to go up to which cells have room for numbers


def draw_met(met: MatchEquity, other: MatchEquity | None, length: int | None, path: Path) -> None:
    """Write a heat map as PNG: chances of winning the match in percent, or how far they are above those of the other.

    Below it is the trailer's row after the Crawford game. Raises MissingExtraError without matplotlib, and
    StorageError.
    """
    most = min(length or met.length, met.length, other.length if other else met.length)
    cells = 100 * met.cells[:, 1 : most + 1, 1 : most + 1]
    if other is not None:
        cells = cells - 100 * other.cells[:, 1 : most + 1, 1 : most + 1]
    limit = float(np.nanmax(np.abs(cells))) or 1.0
    low, high, colours = (0.0, 100.0, "RdYlBu") if other is None else (-limit, limit, "RdBu")
    size = min(max(0.42 * most, 3.5), 11.0)
    figure = new_figure(size + 1.2, size + 1.4)
    above, below = figure.subplots(2, 1, height_ratios=[most, 1.2])
    form = "{:.0f}" if other is None else "{:+.1f}"
    for axes, values in ((above, cells[0]), (below, cells[1, :, :1].T)):
        image = axes.imshow(values, cmap=colours, vmin=low, vmax=high, aspect="auto")
        axes.set_xticks(range(most), range(1, most + 1))
        axes.tick_params(length=0, labelsize=8)
        if most <= MOST_NUMBERED:
            write_numbers(axes, image, values, form)
    above.set_yticks(range(most), range(1, most + 1))
    above.set(xlabel="points that the opponent needs", ylabel="points that the player needs")
    below.set_yticks([0], ["post-\nCrawford"])
    below.set_xlabel("points that the trailer needs, against 1")
    what = "chance of winning the match (%)" if other is None else "difference in percent points"
    above.set_title(met.name if other is None else f"{met.name} less {other.name}", fontsize=10)
    figure.colorbar(image, ax=[above, below], label=what, shrink=0.7)
    write_figure(figure, path)


def write_numbers(axes: Axes, image: AxesImage, values: NDArray[np.float64], form: str) -> None:
    """The value of every cell that there is, light where its colour is dark."""
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            red, green, blue, _ = image.to_rgba(np.array(value))
            light = 0.3 * red + 0.6 * green + 0.1 * blue
            colour = "black" if light > DARK else "white"
            axes.text(column, row, form.format(value), ha="center", va="center", fontsize=SMALL, color=colour)
