"""Learning curves of networks as one picture."""

from __future__ import annotations

from pathlib import Path

from bgdata.cli.charts import PANEL, draw_chart, new_figure, write_figure
from bgdata.store.table import Table
from bgdata.training.rows import curve_charts, headline

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
