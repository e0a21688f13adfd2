"""The cube life index that fits rolled-out equities best: its table and its picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bgdata.cli.charts import BLUE, GREY, RED, TEAL, new_figure, write_figure
from bgdata.equity.cube_models import DEFAULT_INDEX
from bgdata.errors import MissingTableError
from bgdata.measures.kinds.cubeful_equities import DATASET as CUBEFUL_EQUITIES
from bgdata.rows import EQUITY, LOSS, Column, Quantity, Row, table_lines
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALL, MONEY = "all", "money"
WHOLE_SCORES = (ALL, MONEY, "match")  # scores that are not divided by points needed
GROUPS = """
    select * exclude (variant) from cube_index where variant = $variant
    order by score <> 'all', score <> 'money', score, theme <> 'all', theme, class <> 'all', class, cube_owner <> 'all',
             cube_owner
"""
COLUMNS = (
    Column("score", width=15),
    Column("class", width=7, gap=1),
    Column("cube_owner", heading="cube", gap=1),
    Column("positions", Quantity(), gap=1),
    Column("best_index", Quantity(3), "best index", error="standard_error", missing="-"),
    Column("rms", LOSS, "rms at best", missing="-"),
    Column("rms_at_default", LOSS, f"rms at {DEFAULT_INDEX:g}"),
    Column("noise", LOSS),
    Column("mean_error_at_default", EQUITY, f"mean error at {DEFAULT_INDEX:g}"),
)
LARGEST_ERROR = 0.25  # largest error of an index that the picture shows


def index_table(warehouse: Warehouse) -> Table:
    """Return the current version of `cubeful_equities` with the most positions. Raises MissingTableError if there is
    none."""
    tables = list(warehouse.current(CUBEFUL_EQUITIES.name))
    if not tables:
        raise MissingTableError(
            f"expected {CUBEFUL_EQUITIES.name} in {warehouse.root}, found none; "
            f"try: bgdata build {CUBEFUL_EQUITIES.name} --set positions=20000"
        )
    return max(tables, key=lambda table: table.manifest.rows)


def index_rows(warehouse: Warehouse, table: Table) -> Sequence[Row]:
    """Return the rows of `cube_index` for a version of `cubeful_equities`: money play before matches, all positions
    before parts."""
    return warehouse.rows(GROUPS, {"variant": table.manifest.variant})


def index_lines(table: Table, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the printed table: money play and matches by class and owner, and parts of matches."""
    yield f"{table.name}: {table.manifest.rows:,} positions; errors are model - measured, in points"
    shown = [row for row in rows if row["theme"] == ALL and (row["score"] in WHOLE_SCORES or is_whole(row))]
    yield from table_lines(COLUMNS, shown)


def is_whole(row: Row) -> bool:
    """Return whether a row of `cube_index` is about all classes and owners of the cube."""
    return bool(row["class"] == row["cube_owner"] == ALL)


def drawn_groups(rows: Sequence[Row]) -> list[tuple[str, Row]]:
    """Return the groups that the picture shows, with their names: scores, then money play by class and owner. Groups
    whose index is uncertain are left out."""
    certain = [
        row
        for row in rows
        if row["theme"] == ALL and row["best_index"] is not None and row["standard_error"] <= LARGEST_ERROR
    ]
    scores = [(str(row["score"]), row) for row in certain if is_whole(row) and row["score"] != ALL]
    parts = [row for row in certain if row["score"] == MONEY and ALL not in (row["class"], row["cube_owner"])]
    return [*scores, *((f"money, {row['class']}, {row['cube_owner'].replace('_', ' ')}", row) for row in parts)]


def draw_index(table: Table, rows: Sequence[Row], path: Path) -> None:
    """Write a picture with two charts by group: the index that fits best, and the errors that remain. Raises
    StorageError if the picture cannot be written."""
    groups = drawn_groups(rows)
    places = np.arange(len(groups))[::-1]  # the first group is on top
    with new_figure(9.0, 0.8 + 0.3 * max(len(groups), 4)) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        draw_fits(left, places, [row for _, row in groups])
        draw_errors(right, places, [row for _, row in groups])
        left.set_yticks(places, [name for name, _ in groups])
        figure.suptitle(f"Janowski's model against {table.manifest.rows:,} rolled-out equities")
        write_figure(figure, path)


def draw_fits(axes: Axes, places: np.ndarray, groups: Sequence[Row]) -> None:
    """Draw the index of each group with two standard errors, beside the default index."""
    errors = [2 * row["standard_error"] for row in groups]
    axes.errorbar([row["best_index"] for row in groups], places, xerr=errors, fmt="o", color=TEAL, capsize=3)
    axes.axvline(DEFAULT_INDEX, color=GREY, linewidth=0.8, linestyle="--")
    axes.set(xlabel=f"best index, ± 2 standard errors (dashed: {DEFAULT_INDEX:g})")


def draw_errors(axes: Axes, places: np.ndarray, groups: Sequence[Row]) -> None:
    """Draw the root mean square errors of each group at the default and at the best index, and their noise."""
    marks = {
        "rms_at_default": (f"at {DEFAULT_INDEX:g}", RED, "s"),
        "rms": ("at the best index", TEAL, "o"),
        "noise": ("noise", BLUE, "|"),
    }
    for name, (label, colour, marker) in marks.items():
        axes.plot(
            [row[name] for row in groups],
            places,
            marker,
            color=colour,
            label=label,
            markeredgewidth=1.5 if marker == "|" else 0.0,
        )
    axes.set(xlabel="rms of model - measured, points", xlim=(0, None))
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(marks), handletextpad=0.1, columnspacing=1.0)
