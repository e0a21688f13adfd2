"""Learning curves of networks as charts, the same ones for a picture and for a page."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bgdata.cli.charts import PANEL, Chart, Line, draw_chart, new_figure, write_figure
from bgdata.datasets.network import DATASET as NETWORK
from bgdata.datasets.supervised_network import CLASSES, best_epoch
from bgdata.store.arrays import Array
from bgdata.store.manifest import Manifest
from bgdata.store.table import Table

MOST_COLUMNS = 3  # charts in a row


def draw_curve(table: Table, path: Path) -> None:
    """Write the learning curve of a network of any kind as one picture, PNG or SVG. Raises StorageError."""
    charts = curve_charts(table)
    rows = -(-len(charts) // MOST_COLUMNS)
    with new_figure(MOST_COLUMNS * PANEL[0], rows * PANEL[1] + 0.5) as figure:
        for axes, chart in zip(figure.subplots(rows, MOST_COLUMNS, squeeze=False).flat, charts, strict=True):
            draw_chart(axes, chart)
        figure.suptitle(f"{table.name}: {headline(table.manifest)}")
        write_figure(figure, path)


def curve_charts(table: Table) -> list[Chart]:
    """The charts of a network of any kind, three or six of them."""
    curve = np.asarray(table.array("curve"))
    return self_play_charts(curve) if table.manifest.dataset == NETWORK.name else supervised_charts(curve)


def supervised_charts(curve: Array) -> list[Chart]:
    """For each network, contact first: cross-entropies by epoch; then the RMSE of equities."""
    epochs, charts = list(range(len(curve))), []
    for title, columns, power in (("cross-entropy (nats)", (2, 3), 1.0), ("RMSE of equities (points)", (4, 5), 0.5)):
        for which in reversed(range(len(CLASSES))):
            lines = tuple(
                Line(label, (curve[:, which, column] ** power).tolist())
                for label, column in zip(("training", "validation"), columns, strict=True)
            )
            title_of_class = f"{CLASSES[which]}: {title}"
            charts.append(
                Chart(title_of_class, "epochs", epochs, lines, mark=best_epoch(curve, which), mark_label="kept")
            )
    return charts


def self_play_charts(curve: Array) -> list[Chart]:
    """Points per game, how games of self-play ended, and the error on bearoffs, by games."""
    columns = {column.name: curve[:, place].tolist() for place, column in enumerate(NETWORK.columns)}
    band = [2 * error for error in columns["standard_error"]]
    shares = [[100 * share for share in columns[name]] for name in ("backgammon_share", "gammon_share")]
    drawn: list[tuple[str, tuple[Line, ...], bool]] = [
        ("points per game against PubEval", (Line("± 2 standard errors", columns["points_per_game"], band),), False),
        ("endings of self-play games (%)", tuple(map(Line, ("backgammons", "gammons"), shares)), True),
        ("mean error on exact bearoffs (points)", (Line("error", columns["bearoff_error"]),), True),
    ]
    return [
        Chart(title, "games of self-play", columns["games"], lines, is_logarithmic=True, from_zero=from_zero)
        for title, lines, from_zero in drawn
    ]


def headline(manifest: Manifest) -> str:
    """How good a network is, in a sentence."""
    after, *before = (
        f"{statistics[f'{start}points_per_game']:+.3f} ± {statistics[f'{start}standard_error']:.3f}"
        for statistics in [manifest.statistics]
        for start in ("", "start_")
        if f"{start}points_per_game" in statistics
    )
    return f"{after} points per game against PubEval" + "".join(f", {text} before" for text in before)
