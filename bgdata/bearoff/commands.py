"""`bgdata race-error`: the error of combining two one-sided tables, compared with an exact table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import numpy as np

from bgdata.bearoff.index import layout_at
from bgdata.bearoff.kinds.race_error import DATASET as RACE_ERROR
from bgdata.bearoff.kinds.race_error import RaceErrorParameters
from bgdata.cli.charts import new_figure, write_figure
from bgdata.cli.options import force_option, format_option, plot_option, table_option, threads_option
from bgdata.cli.output import build_version, show_rows
from bgdata.rows import COUNT, Column, Quantity, Row, table_lines
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

PER_MILLE = 1000
DIFFERENCE = Quantity(2, PER_MILLE)
COLUMNS = (
    Column("checkers", width=12),
    Column("pairs", COUNT, width=13),
    Column("mean_difference", DIFFERENCE, "mean", width=9),
    Column("sd_difference", DIFFERENCE, "deviation", width=9),
    Column("mean_absolute_difference", DIFFERENCE, "mean size", width=9),
    Column("largest_difference", DIFFERENCE, "largest", width=9),
    Column("smallest_difference", DIFFERENCE, "smallest", width=9),
)


@click.command(name="race-error")
@table_option
@click.option(
    "--combination",
    type=click.Choice(RACE_ERROR.combinations),
    default=RaceErrorParameters.combination,
    show_default=True,
    help="How tables are combined: as independent races, or less the mean excess of that.",
)
@plot_option
@threads_option
@force_option
@format_option
@click.pass_obj
def race_error(
    warehouse: Warehouse, /, table: str, combination: str, plot: Path | None, form: str, *, force: bool
) -> None:
    """Compare one-sided tables with an exact one, pair by pair.

    Two one-sided tables combined give the equity of a race in which neither side cares about the other. The command
    compares that with the exact equity of every pair of layouts: overall, by checkers, and for the worst pairs. The
    table `race_error` also groups pairs by pips and by wastage (effective less plain pips).

    \b
      bgdata race-error --table 6x9 --plot error.png
      bgdata query "from race_error where grouping = 'wastage'"
    """
    from bgdata.measures.steps.scores import table_size

    points, checkers = table_size(warehouse, table, "to compare one-sided tables with")
    found = build_version(warehouse, RACE_ERROR, RaceErrorParameters(points, checkers, combination), force=force)
    query = "select * exclude variant from race_error where variant = $variant order by all"
    rows = warehouse.rows(query, {"variant": found.manifest.variant})
    show_rows(rows, form, error_lines(found, rows))
    if plot is not None:
        draw_errors(found, rows, plot)


def error_lines(table: Table, rows: Sequence[Row]) -> Iterator[str]:
    """Yield lines of text about the errors of all pairs, of pairs with equal numbers of checkers, and of the two worst
    pairs."""
    (everything,) = (row for row in rows if row["grouping"] == "all")
    yield f"{table.name}: {everything['pairs']:,} pairs of layouts"
    yield "combined minus exact equity of the player on roll, in thousandths of a point"
    groups = [{**everything, "checkers": "all"}]
    for row in rows:
        if row["grouping"] == "checkers" and row["on_roll_group"] == row["opponent_group"]:
            groups.append({**row, "checkers": f"{row['on_roll_group']} a side"})
    yield from table_lines(COLUMNS, groups)
    for which in ("largest", "smallest"):
        sides = (
            layout_at(everything[f"{which}_{side}_index"], int(table.manifest.parameters["points"]))
            for side in ("on_roll", "opponent")
        )
        own, other = (" ".join(map(str, side)) for side in sides)
        yield f"{which}: {own} on roll against {other} (checkers on each point, the ace point first)"


def draw_errors(table: Table, rows: Sequence[Row], path: Path) -> None:
    """Draw a chart of the mean and the mean absolute difference by the pips of both sides. Raises StorageError if
    `path` cannot be written."""
    chosen = [row for row in rows if row["grouping"] == "pips"]
    most = max(row["on_roll_group"] for row in chosen)
    with new_figure(9.4, 4.2) as figure:
        for axes, column, title, colours in (
            (figure.add_subplot(1, 2, 1), "mean_difference", "mean: red where the roller is underrated", "RdBu"),
            (figure.add_subplot(1, 2, 2), "mean_absolute_difference", "mean size", "viridis"),
        ):
            grid = np.full((most + 1, most + 1), np.nan)
            for row in chosen:
                grid[row["opponent_group"], row["on_roll_group"]] = PER_MILLE * row[column]
            widest = float(np.nanquantile(np.abs(grid), 0.99))
            lowest = -widest if colours == "RdBu" else 0.0
            image = axes.imshow(grid, origin="lower", cmap=colours, vmin=lowest, vmax=widest)
            figure.colorbar(image, ax=axes)
            axes.set(xlabel="pips of the player on roll", ylabel="pips of the opponent", title=title)
            axes.set(xlim=(0.5, most + 0.5), ylim=(0.5, most + 0.5))
            axes.grid(visible=False)
        figure.suptitle(f"{table.name.rpartition('/')[0]}: combined minus exact equity, thousandths of a point")
        write_figure(figure, path)
