"""`bgdata compare --benchmarks`: error rates of players, and their differences on the same decisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bgdata.cli.charts import GREY, draw_marks, known, name_heights, new_figure, write_figure
from bgdata.cli.output import show_rows
from bgdata.errors import UsageError
from bgdata.rows import Column, Quantity, Row, table_lines
from bgdata.store.progress_bars import progress_bars
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ERROR_RATE, DIFFERENCE = Quantity(2), Quantity(2, sign="+")
UNIT = "thousandths of a point a decision"


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


def label_of(row: Row) -> str:
    """A player as it is named on the command line."""
    return f"{row['player']}:{row['ply']}"


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
        texts = {"error rate": rate_text, "difference": difference_text, "same choices": same_text}
        for name, text in texts.items() if several else [("error rate", rate_text)]:
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


def same_text(row: Row) -> str:
    """The number of decisions with the same choice."""
    return str(row.get("same_choices", ""))


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
