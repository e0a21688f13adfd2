"""`bgdata compare`: how far the values of players are from rollouts, theme by theme, or what their choices lose."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from bgdata.cli.charts import GREY, draw_marks, known, name_heights, new_figure, write_figure
from bgdata.cli.completion import complete_players
from bgdata.cli.options import format_option, given_of, on_option, plot_option, reference_option, threads_option
from bgdata.cli.output import show_rows
from bgdata.errors import UsageError
from bgdata.kinds.columns import CHANCE_COLUMNS
from bgdata.measures.commands.error_rates import compare_on_benchmarks, figure_column
from bgdata.measures.kinds.reference_scores import EVERY_THEME, GROUPS, HALVES
from bgdata.rows import COUNT, LOSS, Column, Row, table_lines
from bgdata.store.progress_bars import progress_bars
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

EQUITY = "cubeless_equity"
QUANTITIES = (EQUITY, *(column.name for column in CHANCE_COLUMNS))


@click.command()
@click.argument("players", nargs=-1, metavar="[PLAYER[:PLY]]...", shell_complete=complete_players)
@click.option(
    "--split",
    type=click.Choice(HALVES),
    default=HALVES[1],
    show_default=True,
    help="Half of the positions: choose by validation, report test.",
)
@click.option(
    "--quantity",
    type=click.Choice(QUANTITIES),
    default=EQUITY,
    show_default=True,
    help="Value that is compared.",
)
@reference_option
@click.option("--benchmarks", is_flag=True, help="Compare error rates on benchmarks instead.")
@on_option("all, with --benchmarks")
@plot_option
@threads_option
@format_option
@click.pass_context
def compare(
    context: click.Context,
    /,
    players: tuple[str, ...],
    plot: Path | None,
    form: str,
    *,
    benchmarks: bool,
    sets: tuple[str, ...],
    **options: str,
) -> None:
    """Compare PLAYERS by theme, or on the same decisions.

    A PLAYER is network (the one that comes with bgdata), network/NAME, gnubg, bgsage or an ONNX file such as
    mine.onnx; network:1 looks 1 roll ahead.
    Each is asked about every reference position once. Without players, all that were asked before are compared. The
    table has the RMSE of their values against the rollouts, with its standard error, theme by theme, and the error of
    the rollouts themselves, which is part of it. CSV and JSON have MAE and bias too, as the view `reference_errors`.

    With --benchmarks or --on, players choose plays on benchmarks instead, pubeval and random too. The table has their
    error rates, and how far these are from that of the first player on the same decisions, each with its standard
    error; CSV and JSON have more, as the views `benchmark_summary` and `benchmark_differences`.

    \b
      bgdata compare network network:1 gnubg --plot themes.svg
      bgdata compare network/mine network --split validation
      bgdata compare network network:1 pubeval --benchmarks
    """
    if not (benchmarks or sets):
        compare_players(context.obj, players, plot, form, **options)
        return
    check_themeless(options)
    compare_on_benchmarks(context.obj, players, sets, plot, form)


def check_themeless(names: Collection[str]) -> None:
    """Raise UsageError for an option of reference positions where benchmarks are compared."""
    for option in given_of(names):
        raise UsageError(f"expected either benchmarks (--benchmarks, --on) or reference positions, got {option} too")


class Compared(NamedTuple):
    """The errors of a player by theme; a theme without positions is missing."""

    label: str
    rows: Mapping[str, Row]

    def figures(self, name: str) -> list[float]:
        """A figure for each of GROUPS, NaN where it is not known."""
        return [known(self.rows.get(group, {}).get(name)) for group in GROUPS]


def compare_players(
    warehouse: Warehouse,
    players: Sequence[str],
    plot: Path | None,
    form: str,
    *,
    split: str,
    quantity: str,
    reference: str,
) -> None:
    """Ask each player, print the table, and draw it.

    Raises UsageError for a player that only chooses plays and where nobody was asked, UnknownPlayerError,
    MissingTableError for reference positions or a network that are not there, and StorageError.
    """
    from bgdata.measures.steps.references import build_reference_scores, error_rows, find_references
    from bgdata.measures.steps.scores import full_name, opponent_of

    wanted = [(full_name(name), ply) for name, ply in map(opponent_of, players)]
    references = find_references(warehouse, reference)
    with progress_bars() as progress:
        for player in dict.fromkeys(wanted):
            build_reference_scores(warehouse, references, *player, progress)
    rows = chosen_rows(error_rows(warehouse, references, split, quantity), wanted)
    if not rows:
        raise UsageError(
            f"expected players that were asked about {references.name}, found none; try: bgdata compare network"
        )
    show_rows(rows, form, compared_lines(references, split, quantity, compared(rows)))
    if plot:
        draw_errors(references, split, quantity, compared(rows), plot)


def chosen_rows(rows: Sequence[Row], wanted: Sequence[tuple[str, int]]) -> list[Row]:
    """The rows of the wanted players as they play, in this order; if none are wanted, those of all, in the order of
    their RMSE over all positions. Themes are in the order of GROUPS."""
    if wanted:
        found = [row for row in rows if row["has_tables"] and (row["player"], row["ply"]) in wanted]
        return sorted(found, key=lambda row: (wanted.index((row["player"], row["ply"])), GROUPS.index(row["theme"])))
    overall = {label_of(row): row["rmse"] for row in rows if row["theme"] == EVERY_THEME}
    return sorted(rows, key=lambda row: (overall[label_of(row)], label_of(row), GROUPS.index(row["theme"])))


def label_of(row: Row) -> str:
    """A player as it is named on the command line."""
    return f"{row['player']}:{row['ply']}" + ("" if row["has_tables"] else " without tables")


def compared(rows: Sequence[Row]) -> list[Compared]:
    """The players of rows, in their order."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(label_of(row), {})[row["theme"]] = row
    return [Compared(label, by_theme) for label, by_theme in found.items()]


def compared_lines(references: Table, split: str, quantity: str, players: Sequence[Compared]) -> Iterator[str]:
    """A row for each theme, a column for each player."""
    yield title_of(references, split, quantity)
    columns = [Column("theme", width=24), Column("positions", COUNT), *(figure_column(each.label) for each in players)]
    first = players[0].rows
    rows = (
        {**first[group], **{each.label: LOSS.text(*figure(each.rows[group])) for each in players}}
        for group in GROUPS
        if group in first
    )
    yield from table_lines([*columns, Column("judge_rmse", LOSS, "rollouts", width=8)], rows)


def title_of(references: Table, split: str, quantity: str) -> str:
    """What is compared, of which positions."""
    unit = "points" if quantity == EQUITY else "chance"
    return f"RMSE of {quantity} ({unit}), {split} split of {references.name}"


def figure(row: Row) -> tuple[float, float | None]:
    """An RMSE and its standard error, where that is known."""
    return row["rmse"], row["rmse_standard_error"]


def draw_errors(references: Table, split: str, quantity: str, players: Sequence[Compared], path: Path) -> None:
    """Write a picture, PNG or SVG: themes from top to bottom, a mark and its standard error for each player. Raises
    StorageError."""
    with new_figure(8.5, 0.38 * len(GROUPS) + 1.4) as figure:
        axes = figure.subplots()
        heights, rollouts = range(len(GROUPS)), players[0].figures("judge_rmse")
        axes.plot(rollouts, heights, "|", color=GREY, markersize=9, label="rollouts themselves")
        draw_marks(axes, {each.label: (each.figures("rmse"), each.figures("rmse_standard_error")) for each in players})
        name_heights(axes, GROUPS)
        axes.set_xlim(left=0)
        axes.set_xlabel("RMSE ± 1 standard error")
        figure.suptitle(title_of(references, split, quantity))
        axes.legend()
        write_figure(figure, path)
