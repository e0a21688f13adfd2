"""`bgdata study --plot`: figures of a study by its setting, beside what was published. Needs matplotlib, an extra."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bgdata.commands.figures import BLUE, GREY, RED, TEAL, new_figure, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (TEAL, RED, BLUE, "#c9a227")


class Series(NamedTuple):
    """A measure by setting, with standard errors; what was published, NaN where nothing was."""

    name: str
    settings: Sequence[float]
    values: Sequence[float]
    errors: Sequence[float]
    published: Sequence[float]


def draw_study(title: str, setting: str, unit: str, series: Sequence[Series], path: Path) -> None:
    """Write all series as one picture (PNG): ours as points with twice their standard errors, what was published as
    crosses. Raises MissingExtraError without matplotlib, and StorageError."""
    figure = new_figure(6.4, 4.2)
    axes = figure.subplots()
    for colour, found in zip(COLOURS, series, strict=False):
        draw_series(axes, found, colour)
    if any(np.isfinite(found.published).any() for found in series):
        axes.plot([], [], "x", color=GREY, label="published in 2012")
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.set(xlabel=setting, ylabel=unit)
    axes.set_title(title, fontsize=10)
    axes.legend(fontsize=8, frameon=False)
    write_figure(figure, path)


def draw_series(axes: Axes, found: Series, colour: str) -> None:
    """One measure."""
    errors = 2 * np.asarray(found.errors)
    axes.errorbar(
        found.settings, found.values, errors, fmt="o-", color=colour, capsize=3, markersize=4, label=found.name
    )
    axes.plot(found.settings, found.published, "x", color=colour, markersize=8)
