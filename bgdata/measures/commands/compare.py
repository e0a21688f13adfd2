"""`bgdata compare`: how far the values of players are from rollouts, theme by theme, or what their choices lose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from bgdata.cli.charts import GREY, draw_marks, known, name_heights, new_figure, write_figure
from bgdata.cli.completion import complete_players
from bgdata.cli.options import format_option, given_of, on_option, plot_option, reference_option, threads_option
from bgdata.cli.output import show_rows
from bgdata.errors import UsageError
from bgdata.kinds.columns import CHANCE_COLUMNS
from bgdata.measures.kinds.reference_scores import EVERY_THEME, GROUPS, HALVES
from bgdata.rows import COUNT, LOSS, Column, Quantity, Row, table_lines
from bgdata.store.progress import progress_bars
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EQUITY = "cubeless_equity"
ERROR_RATE, DIFFERENCE = Quantity(2), Quantity(2, sign="+")
UNIT = "thousandths of a point a decision"
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
    for option in given_of(options):
        raise UsageError(f"expected either benchmarks (--benchmarks, --on) or reference positions, got {option} too")
    compare_on_benchmarks(context.obj, players, sets, plot, form)


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
    return f"{row['player']}:{row['ply']}" + ("" if row.get("has_tables", True) else " without tables")


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


def compare_on_benchmarks(
    warehouse: Warehouse, players: Sequence[str], names: Sequence[str], plot: Path | None, form: str
) -> None:
    """Let each player decide on each benchmark, unless it has, print the table, and draw it.

    Raises UsageError where nobody was scored and for a version that is not the current one, UnknownPlayerError,
    InvalidParameterError for what is not a benchmark, MissingTableError for a benchmark or a network that is not there,
    and StorageError.
    """
    from bgdata.measures.steps.benchmarks import build_benchmark_scores, compared_rows, current_sets
    from bgdata.measures.steps.scores import full_name, opponent_of

    wanted = list(dict.fromkeys((full_name(name), ply) for name, ply in map(opponent_of, players)))
    sets = current_sets(warehouse, names)
    with progress_bars() as progress:
        for name, ply in wanted:
            build_benchmark_scores(warehouse, sets, name, ply, progress)
    rows = compared_rows(warehouse, sets, wanted)
    if not rows:
        found = ", ".join(table.name for table in sets)
        raise UsageError(f"expected players that were scored on {found}, found none; try: bgdata benchmark network")
    show_rows(rows, form, rate_lines(rows))
    if plot:
        draw_rates(rows, plot)


def first_label(rows: Sequence[Row]) -> str:
    """The player that the others are compared with."""
    return next(
        (f"{row['other_player']}:{row['other_ply']}" for row in rows if "other_player" in row), label_of(rows[0])
    )


def labels_of(rows: Sequence[Row]) -> list[str]:
    """The players, the one that the others are compared with first."""
    return list(dict.fromkeys([first_label(rows), *map(label_of, rows)]))


def by_benchmark(rows: Sequence[Row]) -> dict[str, dict[str, Row]]:
    """The rows of each benchmark, by player."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(row["benchmark"], {})[label_of(row)] = row
    return found


def figure_column(player: str) -> Column:
    """The column of a player, with room for a figure and its standard error."""
    return Column(player, heading=player, width=19, is_right=True)


def rate_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Up to three lines for each benchmark, a column for each player."""
    players = labels_of(rows)
    several = len(players) > 1
    lines: list[Row] = []
    titles = {}  # before which line the name of a benchmark stands
    for benchmark, found in by_benchmark(rows).items():
        titles[len(lines)] = f"{benchmark}, {next(iter(found.values()))['decisions']:,} decisions"
        texts = {"error rate": rate_text}
        if several:
            texts |= {"difference": difference_text, "same choices": lambda row: str(row.get("same_choices", ""))}
        for name, text in texts.items():
            lines.append({"name": f"  {name}", **{each: text(found.get(each, {})) for each in players}})
    yield f"error rate ({UNIT})" + (f", and difference from {players[0]} on the same decisions" if several else "")
    head, *cells = table_lines([Column("name", heading="", width=14), *map(figure_column, players)], lines)
    yield head
    for place, line in enumerate(cells):
        if place in titles:
            yield titles[place]
        yield line


def rate_text(row: Row) -> str:
    """The error rate with its standard error; nothing where a player was not scored."""
    return ERROR_RATE.text(row["error_rate"], row["standard_error"]) if row else ""


def difference_text(row: Row) -> str:
    """The difference with its standard error, where that is known."""
    return DIFFERENCE.text(row["difference"], row["difference_standard_error"]) if "difference" in row else ""


def draw_rates(rows: Sequence[Row], path: Path) -> None:
    """Write a picture, PNG or SVG: benchmarks from top to bottom, a mark and its standard error for each player; error
    rates on the left, differences on the right if there are several players. Raises StorageError."""
    benchmarks, several = list(by_benchmark(rows)), len(labels_of(rows)) > 1
    with new_figure(8.5, 0.7 * len(benchmarks) + 1.6) as figure:
        panels = figure.subplots(1, 2 if several else 1, sharey=True, squeeze=False)[0]
        draw_figures(panels[0], rows, "error_rate", "standard_error")
        name_heights(panels[0], [name.replace("/", "/\n", 1) for name in benchmarks])
        panels[0].set_xlim(left=0)
        panels[0].set_xlabel("error rate ± 1 standard error")
        if several:
            draw_figures(panels[1], rows, "difference", "difference_standard_error")
            panels[1].axvline(0, color=GREY, linewidth=0.8)
            panels[1].set_xlabel(f"difference from {first_label(rows)},\nbelow 0: better")
        figure.suptitle(UNIT)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        write_figure(figure, path)


def draw_figures(axes: Axes, rows: Sequence[Row], name: str, error_name: str) -> None:
    """Draw a figure of every player on every benchmark; what is not known is left out."""
    found = by_benchmark(rows).values()

    def column(player: str, wanted: str) -> list[float]:
        return [known(each.get(player, {}).get(wanted)) for each in found]

    draw_marks(axes, {each: (column(each, name), column(each, error_name)) for each in labels_of(rows)})
