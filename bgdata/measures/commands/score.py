"""`bgdata score` measures a player in every available way; `bgdata compare` compares players by the errors of their
values, theme by theme, or by what their choices lose."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from bgdata.cli.charts import GREY, draw_marks, name_heights, new_figure, number_or_nan, write_figure
from bgdata.cli.completion import complete_players
from bgdata.cli.options import (
    against_option,
    executor_option,
    format_option,
    games_option,
    given_options,
    on_option,
    plot_option,
    ply_option,
    reference_option,
    threads_option,
)
from bgdata.cli.output import show_rows
from bgdata.errors import MissingTableError, UsageError
from bgdata.kinds.columns import CHANCE_COLUMNS
from bgdata.measures.kinds.reference_scores import EVERY_THEME, GROUPS, HALVES
from bgdata.rows import COUNT, LOSS, Column, Quantity, Row, table_lines
from bgdata.store.progress import progress_bars
from bgdata.warehouse import Warehouse

ERRORS = """
select player, ply, player_version, has_tables, reference, reference_version, split, theme, quantity, positions, rmse,
       rmse_standard_error, mae, mae_standard_error, bias, bias_standard_error, judge_rmse, source_version
from reference_errors
where reference = $reference and reference_version = $version and split = $split and quantity = $quantity
order by all
"""
EQUITY = "cubeless_equity"
UNIT = "thousandths of a point per decision"
QUANTITIES = (EQUITY, *(column.name for column in CHANCE_COLUMNS))


@click.command()
@click.argument("player", shell_complete=complete_players)
@ply_option()
@games_option(None, "4000 against each opponent, and in self-play")
@click.option(
    "--luck-adjusted-games",
    type=int,
    metavar="N",
    help="Games against each opponent whose luck is measured too, 0 for none.  [default: 1000]",
)
@click.option("--decisions", type=int, metavar="N", help="Maximum number of decisions.  [default: 10000]")
@against_option
@click.option("--no-programs", is_flag=True, help="Leave out gnubg and bgsage even if they are installed.")
@click.option("--quick", is_flag=True, help="A first estimate: 400 games, 40 luck-adjusted games and 1000 decisions.")
@plot_option
@executor_option
@threads_option
@format_option
@click.pass_obj
def score(warehouse: Warehouse, /, player: str, ply: int, plot: Path | None, form: str, **options: Any) -> None:
    """Measure how good a PLAYER is, in every way available here.

    PLAYER is random, pubeval, network (the one that comes with bgdata), network/NAME, gnubg, bgsage or an ONNX file
    such as mine.onnx. Each figure has a standard error:

    \b
      points per game against PubEval, plain and luck-adjusted
      shares of gammons and backgammons in self-play
      error rates on all benchmarks of the warehouse, imported or made here
      how far these are from those of network and of each opponent, on the same decisions
      points lost per bearoff decision, judged by the largest exact table
      RMSE, MAE and bias of equity and of each chance, by theme of reference positions
      head to head with the installed gnubg and bgsage, and with those given

    The table leaves out MAE and bias of chances; CSV and JSON have a row for every figure. --plot draws what the
    table has by theme. In SQL, figures are rows of the table `scores`, those by theme of the view `reference_errors`,
    differences of the view `benchmark_differences`.

    What has been measured before is not measured again. A stopped command is resumed by running it again. Figures by
    theme are of the test split, which is for reporting: to choose among players, see `bgdata compare --split
    validation`. How many reference positions the player evaluates in a second is measured every time, and only
    printed.

    \b
      bgdata score network --quick --plot network.svg
      bgdata score network/better --against network --no-programs
    """
    from bgdata.evaluation.player import open_named_evaluator
    from bgdata.measures.steps import scores, sets

    given = {name: options[name] for name in scores.Amount._fields if options[name] is not None}
    amount = (scores.QUICK if options["quick"] else scores.Amount())._replace(**given)
    opponents = [scores.PUBEVAL, *map(scores.opponent_of, options["against"])]
    programs = not options["no_programs"]
    references = ""
    if plot:  # this may raise, so it comes before any measuring; the picture shows the set with the most positions
        open_named_evaluator(player, ply, warehouse)
        references = sets.find_references(warehouse).name.rpartition("/")[0]
    with progress_bars() as progress:
        table, left_out = scores.build_scores(warehouse, (player, ply), opponents, amount, progress, programs=programs)
        rivals = scores.build_rivals(warehouse, (player, ply), opponents, progress, programs=programs)
    rows = scores.figure_rows(warehouse, table, rivals)
    for line in left_out:
        click.echo(f"left out: {line}", err=True)
    show_rows(rows, form, scores.score_lines(table, rows))
    with suppress(MissingTableError, UsageError):  # no positions, or a player that only chooses plays
        found, evaluator = sets.find_references(warehouse), open_named_evaluator(player, ply, warehouse)
        rate = sets.positions_per_second(evaluator, found.array("boards"))
        measured = f"{sets.workers_text(player)}, median of {sets.RUNS} runs on {found.name}"
        click.echo(f"speed: {rate:,.0f} positions a second, {ply}-ply, {measured}", err=True)
    if plot:
        draw_values(rows, references, plot)


def draw_values(rows: Sequence[dict[str, Any]], references: str, path: Path) -> None:
    """Write a picture, PNG or SVG, of a player's errors by theme on a set of reference positions. The RMSE of equities
    is on the left, the RMSE of chances on the right. Raises StorageError if the picture cannot be written."""
    from bgdata.measures.steps.scores import CHANCES, EQUITY_HEADS, by_theme

    themes = by_theme(rows)[references]
    with new_figure(10, 0.38 * len(themes) + 2.1) as figure:
        panels = figure.subplots(1, 2, sharey=True)
        chances = {name: f"{name}_rmse" for name in CHANCES}
        for axes, measures in zip(panels, (EQUITY_HEADS, chances), strict=True):
            draw_marks(axes, marks_of(themes.values(), measures, "value", "value_error"))
        name_heights(panels[0], list(themes))
        panels[0].axvline(0, color=GREY, linewidth=0.8)
        panels[1].set_xlim(left=0)
        panels[0].set_xlabel("equity ± 1 standard error (points)")
        panels[1].set_xlabel("RMSE of chances ± 1 standard error")
        for axes in panels:
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2)
        figure.suptitle(f"{rows[0]['player_name']}:{rows[0]['ply']}, test split of {references}")
        write_figure(figure, path)


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
    context: click.Context, /, players: Sequence[str], plot: Path | None, form: str, *, benchmarks: bool, **options: Any
) -> None:
    """Compare PLAYERS by theme, or on the same decisions.

    A PLAYER is network (the one that comes with bgdata), network/NAME, gnubg, bgsage or an ONNX file such as mine.onnx;
    network:1 looks 1 roll ahead. Each is asked about every reference position once. Without players, all that were
    asked before are compared. The table shows the RMSE of their values against the rollouts, with its standard error,
    theme by theme, and the error of the rollouts themselves, which is part of it. CSV and JSON have MAE and bias too,
    as the view `reference_errors`.

    With --benchmarks or --on, players choose plays on benchmarks instead, pubeval and random too. The table shows their
    error rates, and how far these are from that of the first player on the same decisions, each with its standard
    error; CSV and JSON have more, as the views `benchmark_summary` and `benchmark_differences`.

    \b
      bgdata compare network network:1 gnubg --plot themes.svg
      bgdata compare network/mine network --split validation
      bgdata compare network network:1 pubeval --benchmarks
    """
    sets = options.pop("sets")
    if not (benchmarks or sets):
        compare_players(context.obj, players, plot, form, options)
        return
    for option in given_options(options):
        raise UsageError(f"expected either benchmarks (--benchmarks, --on) or reference positions, got {option} too")
    compare_on_benchmarks(context.obj, players, sets, plot, form)


def compare_players(
    warehouse: Warehouse, players: Sequence[str], plot: Path | None, form: str, options: Mapping[str, str]
) -> None:
    """Evaluate the reference positions with each player, print a table of errors by theme, and draw it if `plot` is
    given. Raises UsageError if a player only chooses plays, or if there are no results; UnknownPlayerError if there is
    no such player; MissingTableError if reference positions or a network are missing; and StorageError if the picture
    cannot be written."""
    from bgdata.measures.steps.scores import full_name, opponent_of
    from bgdata.measures.steps.sets import build_reference_scores, find_references

    wanted = [(full_name(name), ply) for name, ply in map(opponent_of, players)]
    references, split, quantity = (
        find_references(warehouse, options["reference"]),
        options["split"],
        options["quantity"],
    )
    with progress_bars() as progress:
        for player in dict.fromkeys(wanted):
            build_reference_scores(warehouse, references, *player, progress)
    variant, _, version = references.name.rpartition("/")
    split, quantity = options["split"], options["quantity"]
    given = {"reference": variant, "version": version, "split": split, "quantity": quantity}
    rows = chosen_rows(warehouse.rows(ERRORS, given), wanted)
    if not rows:
        raise UsageError(
            f"expected players that were asked about {references.name}, found none; try: bgdata compare network"
        )
    title = f"RMSE of {quantity} ({'points' if quantity == EQUITY else 'chance'}), {split} split of {references.name}"
    show_rows(rows, form, error_lines(title, rows))
    if plot:
        draw_errors(title, rows, plot)


def chosen_rows(rows: Sequence[Row], players: Sequence[tuple[str, int]]) -> list[Row]:
    """Return the rows of these players in the given order. If `players` is empty, return the rows of all players, by
    RMSE over all positions. A player's themes are in the order of GROUPS."""
    if players:
        found = [row for row in rows if row["has_tables"] and (row["player"], row["ply"]) in players]
        return sorted(found, key=lambda row: (players.index((row["player"], row["ply"])), GROUPS.index(row["theme"])))
    overall = {label_of(row): row["rmse"] for row in rows if row["theme"] == EVERY_THEME}
    return sorted(rows, key=lambda row: (overall[label_of(row)], label_of(row), GROUPS.index(row["theme"])))


def label_of(row: Row) -> str:
    """Return the name and ply of a row's player, such as network:1, as on the command line."""
    return f"{row['player']}:{row['ply']}" + ("" if row.get("has_tables", True) else " without tables")


def group_rows(rows: Sequence[Row], name: str) -> dict[str, dict[str, Row]]:
    """Return the rows by value of the column `name` (a theme or a benchmark), and within that by player."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(row[name], {})[label_of(row)] = row
    return found


def player_columns(players: Iterable[str]) -> list[Column]:
    """Return a column for each player, wide enough for a figure and its standard error."""
    return [Column(player, heading=player, width=19, is_right=True) for player in players]


def marks_of(
    groups: Collection[Mapping[str, Row]], series: Mapping[str, str], name: str, error: str
) -> dict[str, tuple[list[float], list[float]]]:
    """Return the figures and the standard errors to draw for each series, by label: one pair for each group, NaN where
    a group has no row. `series` gives the key of each label's row in a group; `name` and `error` are the columns."""
    found = {label: [group.get(key, {}) for group in groups] for label, key in series.items()}
    return {
        label: ([number_or_nan(row.get(name)) for row in rows], [number_or_nan(row.get(error)) for row in rows])
        for label, rows in found.items()
    }


def error_lines(title: str, rows: Sequence[Row]) -> Iterator[str]:
    """Yield a table as lines of text: a row for each theme, a column for each player."""
    yield title
    players = list(dict.fromkeys(map(label_of, rows)))
    rmse = Column("rmse", LOSS, error="rmse_standard_error")
    lines = [
        {**found[players[0]], **{player: rmse.text(row) for player, row in found.items()}}
        for found in group_rows(rows, "theme").values()
    ]
    rollouts = Column("judge_rmse", LOSS, "rollouts", width=8)
    yield from table_lines(
        [Column("theme", width=24), Column("positions", COUNT), *player_columns(players), rollouts], lines
    )


def draw_errors(title: str, rows: Sequence[Row], path: Path) -> None:
    """Write a picture, PNG or SVG, with a mark and its standard error for each theme and player. Raises StorageError if
    it cannot be written."""
    themes = group_rows(rows, "theme")
    groups, players = [themes.get(group, {}) for group in GROUPS], {label_of(row): label_of(row) for row in rows}
    with new_figure(8.5, 0.38 * len(GROUPS) + 1.4) as figure:
        axes = figure.subplots()
        rollouts = [number_or_nan(group.get(label_of(rows[0]), {}).get("judge_rmse")) for group in groups]
        axes.plot(rollouts, range(len(GROUPS)), "|", color=GREY, markersize=9, label="rollouts themselves")
        draw_marks(axes, marks_of(groups, players, "rmse", "rmse_standard_error"))
        name_heights(axes, GROUPS)
        axes.set_xlim(left=0)
        axes.set_xlabel("RMSE ± 1 standard error")
        figure.suptitle(title)
        axes.legend()
        write_figure(figure, path)


def compare_on_benchmarks(
    warehouse: Warehouse, players: Sequence[str], names: Sequence[str], plot: Path | None, form: str
) -> None:
    """Score each player on each benchmark where it has no score yet, print a table of error rates, and draw it if
    `plot` is given.

    Raises UsageError if there are no scores, or if a version is not current; UnknownPlayerError if there is no such
    player; InvalidParameterError if a table is not a benchmark; MissingTableError if a benchmark or network is missing;
    and StorageError if the picture cannot be written."""
    from bgdata.measures.steps.scores import full_name, opponent_of
    from bgdata.measures.steps.sets import build_benchmark_scores, compared_rows, current_sets

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
    """Return the label of the player with which all other players are compared."""
    others = (f"{row['other_player']}:{row['other_ply']}" for row in rows if "other_player" in row)
    return next(others, label_of(rows[0]))


def labels_of(rows: Sequence[Row]) -> list[str]:
    """Return the labels of all players. The player with which the others are compared comes first."""
    return list(dict.fromkeys([first_label(rows), *map(label_of, rows)]))


def rate_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield up to three lines of text for each benchmark, with a column for each player; unknown figures are blank."""
    players = labels_of(rows)
    several = len(players) > 1
    rate = Column("error_rate", Quantity(2), error="standard_error")
    difference = Column("difference", Quantity(2, sign="+"), error="difference_standard_error")
    figures = (rate, difference, Column("same_choices", COUNT)) if several else (rate,)
    lines: list[Row] = []
    titles = {}  # name of the benchmark by the number of its first line
    for benchmark, found in group_rows(rows, "benchmark").items():
        first = next(iter(found.values()))
        titles[len(lines)] = f"{benchmark}, {first['decisions']:,} decisions" + (
            f", judge {first['judge']}" if first["judge"] else ""
        )
        for each in figures:
            texts = {player: each.text(found.get(player, {})) for player in players}
            lines.append({"name": f"  {each.name.replace('_', ' ')}", **texts})
    yield f"error rate ({UNIT})" + (f", and difference from {players[0]} on the same decisions" if several else "")
    head, *cells = table_lines([Column("name", heading="", width=14), *player_columns(players)], lines)
    yield head
    for place, line in enumerate(cells):
        if place in titles:
            yield titles[place]
        yield line


def draw_rates(rows: Sequence[Row], path: Path) -> None:
    """Write a picture, PNG or SVG, with a mark and its standard error for each benchmark and player. Error rates are on
    the left; if there are several players, differences are on the right. Raises StorageError if it cannot be
    written."""
    benchmarks, players = group_rows(rows, "benchmark"), labels_of(rows)
    figures = ("error_rate", "standard_error"), ("difference", "difference_standard_error")
    with new_figure(8.5, 0.7 * len(benchmarks) + 1.6) as figure:
        panels = figure.subplots(1, 2 if len(players) > 1 else 1, sharey=True, squeeze=False)[0]
        for axes, names in zip(panels, figures, strict=False):
            draw_marks(axes, marks_of(benchmarks.values(), dict(zip(players, players, strict=True)), *names))
        name_heights(panels[0], [name.replace("/", "/\n", 1) for name in benchmarks])
        panels[0].set_xlim(left=0)
        panels[0].set_xlabel("error rate ± 1 standard error")
        for axes in panels[1:]:
            axes.axvline(0, color=GREY, linewidth=0.8)
            axes.set_xlabel(f"difference from {players[0]},\nbelow 0: better")
        figure.suptitle(UNIT)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        write_figure(figure, path)
