"""`bgdata study` and `bgdata cube-life`: the doubling cube in played games and in solved bearoffs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from bgdata.cli.charts import BLUE, GREY, RED, TEAL, new_figure, write_figure
from bgdata.cli.options import (
    executor_option,
    force_option,
    format_option,
    games_option,
    luck_option,
    player_option,
    plot_option,
    refuse_beside,
    seed_option,
    threads_option,
    value_option,
)
from bgdata.cli.output import build_version, print_built, show_rows
from bgdata.equity.cube_life import CUBES, NoIndex
from bgdata.rows import EQUITY, LOSS, Column, Quantity, Row, table_lines
from bgdata.selfplay.commands.selfplay import network_choice
from bgdata.selfplay.kinds.shared.rollouts import NetworkChoice
from bgdata.store.arrays import Array
from bgdata.store.table import Table
from bgdata.studies.commands.cube_index import draw_index, index_lines, index_rows, index_table
from bgdata.studies.kinds.cube_life import DATASET as ATLASES
from bgdata.studies.kinds.cube_life import LOSSES, CubeLifeParameters
from bgdata.studies.kinds.cube_studies import DATASET as STUDIES
from bgdata.studies.kinds.cube_studies import LUCK_ADJUSTED, StudyParameters
from bgdata.studies.kinds.shared.cube_arms import FIRST, FIRST_PLAYER, NAMES, player_of
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@click.command()
@click.argument("study")
@games_option(None, "of each setting 100000, with --luck 1000; matches count as games")
@seed_option(1)
@luck_option
@player_option(None, f"network; for first-statistics and the like network/{FIRST_PLAYER}")
@plot_option
@executor_option
@threads_option
@force_option
@format_option
@click.pass_obj
def study(
    warehouse: Warehouse, /, study: str, games: int | None, seed: int, player: str | None, **options: Any
) -> None:
    """Run a STUDY of cube handling beside published figures.

    The figures are in the table `cube_studies`. STUDY is one of these:

    \b
      statistics     how games end, and how the cube is used, by cube life index
      index          a cube life index against 0.7
      fine-index     the same near 0.7
      high-index     the same from 0.8 to 1
      first-statistics, first-index, first-fine-index  the three by Janowski's rule as Higgins first had it, with a
                     network as strong as Player 3.3
      jump           the jump model at 5 to 11 % against Janowski at 0.7
      local          the jump model with the volatility of each position against one volatility
      match          cube decisions by the match score against those for money, to 3, 5, 7 and 9 points
      match-own      the same with the match equity table that is built here
      match-cubeful  as match, but both sides choose plays by their value with the cube
      match-own-cubeful  the same with the match equity table that is built here
      match-long     as match-cubeful at an index of 0.75, to 5, 9, 15 and 25 points
      plays          plays by their value with the cube against plays by cubeless equity, for money
      plays-jacoby   the same with the Jacoby rule
      plays-match    the same in matches to 3 to 25 points

    Where the sides differ, every sequence of dice is played twice, with the sides swapped. A stopped command, run
    again, plays only the missing games.

    \b
      bgdata study index --games 10000
      bgdata study jump --luck --plot jump.png
    """
    luck, plot, form = options["luck"], options["plot"], options["form"]
    found = NetworkChoice(player_of(study)) if player is None else network_choice(warehouse, player)
    count = games if games is not None else LUCK_ADJUSTED_GAMES if luck else GAMES
    parameters = StudyParameters(
        found.network, found.network_version, study=study, games=count, seed=seed, with_luck=luck
    )
    table = build_version(warehouse, STUDIES, parameters, force=options["force"])
    series = read_series(table)
    title = f"{NAMES[study]}: {count:,} games each, {table.folder}"
    lines = (line for length in sorted({key[0] for key in series}) for line in study_lines(series, length))
    show_rows(study_rows(series), form, chain([title], lines))
    if plot is not None:
        setting = "volatility" if study in ("jump", "local") else "cube life index"
        draw_study(NAMES[study], setting, *series_to_draw(study, series), plot)


@click.command(name="cube-life")
@value_option("--points", 6, "N", "Number of points.")
@value_option("--checkers", 6, "N", "Number of checkers.")
@click.option(
    "--rollouts", is_flag=True, help="Fit the index to the positions of games that cubeful_equities has rolled out."
)
@plot_option
@format_option
@click.pass_obj
def cube_life(warehouse: Warehouse, points: int, checkers: int, rollouts: bool, plot: Path | None, form: str) -> None:
    """Measure the cube life index in solved bearoffs.

    That is the cube life index that makes Janowski's model exact in money play. The command also prints what decisions
    by that model lose. The table `cube_life` contains every pair of layouts of up to 6 checkers; for another size, it
    is built first.

    With --rollouts it prints the index with which the model is nearest to rolled-out equities, by class, owner of the
    cube and score, and the errors that are left (the view `cube_index`).

    \b
      bgdata build cubeful_equities --set positions=20000
      bgdata cube-life --rollouts --plot index.png

    \b
    By length, and the closest takes:
      bgdata query "from cube_life_by_length"
      bgdata query "from cube_decisions where double_margin > 0 and take_margin > 0 order by take_margin limit 5"
    """
    if rollouts:
        refuse_beside("--rollouts", "points", "checkers")
        rolled_out = index_table(warehouse)
        rows = index_rows(warehouse, rolled_out)
        show_rows(rows, form, index_lines(rolled_out, rows))
        if plot:
            draw_index(rolled_out, rows, plot)
        return
    parameters = CubeLifeParameters(points, checkers)
    ATLASES.check_parameters(parameters)
    table = warehouse.find(ATLASES, parameters) or build_version(warehouse, ATLASES, parameters)
    if plot:
        draw_cube_life(table, plot)
    print_atlas(table, form)


class Series(NamedTuple):
    """The values of one measure at several settings, with standard errors and published values. A value that was not
    published is NaN."""

    name: str
    settings: Sequence[float]
    values: Sequence[float]
    errors: Sequence[float]
    published: Sequence[float]


POINTS = ("points_per_game", "points_per_match", *LUCK_ADJUSTED)
GAMES, LUCK_ADJUSTED_GAMES = 100_000, 1000  # default numbers of games, without and with luck


def read_series(table: Table) -> dict[tuple[int, str], Series]:
    """Return the series of every measure in a version, by match length and measure, with settings in the version's
    order."""
    from bgdata.kinds.column_values import text_column

    arrays = table.arrays()
    names = ("settings", "figures", "errors", "published")
    rows: dict[tuple[int, str], list[tuple[float, ...]]] = {}
    keys = zip(np.asarray(arrays["lengths"]).tolist(), text_column(arrays, "measures").to_pylist(), strict=True)
    columns = (np.asarray(arrays[name]).tolist() for name in names)
    for key, *row in zip(keys, *columns, strict=True):
        rows.setdefault(key, []).append(tuple(row))
    return {key: Series(series_title(key[0]), *zip(*found, strict=True)) for key, found in rows.items()}


def study_rows(series: Mapping[tuple[int, str], Series]) -> Iterator[Row]:
    """Yield a row of data for each measure and setting: value, standard error and published value."""
    for (length, measure), (_, *columns) in series.items():
        for setting, value, error, published in zip(*columns, strict=True):
            figures = {"setting": setting, "value": value, "standard_error": error, "published": published}
            yield {"match_length": length or None, "measure": measure, **figures}


def series_title(length: int) -> str:
    """Return the title of a table of results, such as "match to 7", or "money" if `length` is 0."""
    return f"match to {length}" if length else "money"


def series_to_draw(study: str, series: Mapping[tuple[int, str], Series]) -> tuple[str, list[Series]]:
    """Return the measure that the picture shows, and its series, one for each match length. The measure is points,
    luck-adjusted if luck was measured. If a model plays itself, it is the value of the cube."""
    measures = {name for _, name in series}
    is_of_one = study.removeprefix(FIRST) == "statistics"
    wanted = ("mean_cube_value",) if is_of_one else (*LUCK_ADJUSTED, "points_per_match", "points_per_game")
    measure = next(name for name in wanted if name in measures)
    return measure.replace("_", " "), [found for (_, name), found in series.items() if name == measure]


def study_lines(series: Mapping[tuple[int, str], Series], length: int) -> Iterator[str]:
    """Yield the lines of a table for one match length: measures by setting, with published values below."""
    measures = sorted((name for found, name in series if found == length), key=lambda name: (name not in POINTS, name))
    settings = [f"{setting:g}" for setting in series[length, measures[0]].settings]
    rows = []
    for measure in measures:
        _, _, values, errors, published = series[length, measure]
        quantity = EQUITY if measure in POINTS else Quantity(2, 100 if measure.endswith("_share") else 1)
        texts = map(quantity.text, values, errors)
        rows.append({"measure": measure, **dict(zip(settings, texts, strict=True))})
        if np.isfinite(published).any():
            printed = (f"({quantity.text(value)})" if np.isfinite(value) else "" for value in published)
            rows.append({"measure": "  (published)", **dict(zip(settings, printed, strict=True))})
    columns = [Column(setting, width=18, gap=1, is_right=True) for setting in settings]
    yield from table_lines([Column("measure", heading=series_title(length), width=24), *columns], rows)


# line styles and colours of series
LINES = [(line, colour) for line, colour in product(("-", "--", ":"), (TEAL, RED, BLUE, "#c9a227"))]


def draw_study(title: str, setting: str, unit: str, series: Sequence[Series], path: Path) -> None:
    """Write a picture of all series: our values with two standard errors, and published values as crosses. Raises
    StorageError if the picture cannot be written."""
    with new_figure(6.4, 4.2) as figure:
        axes = figure.subplots()
        for place, found in enumerate(series):
            draw_series(axes, found, *LINES[place % len(LINES)])
        if any(np.isfinite(found.published).any() for found in series):
            axes.plot([], [], "x", color=GREY, label="published in 2012")
        axes.axhline(0, color=GREY, linewidth=0.8)
        axes.set(xlabel=setting, ylabel=unit)
        axes.set_title(title)
        axes.legend()
        write_figure(figure, path)


def draw_series(axes: Axes, found: Series, line: str, colour: str) -> None:
    """Draw the values and the published values of one series."""
    errors = 2 * np.asarray(found.errors)
    axes.errorbar(found.settings, found.values, errors, fmt=f"o{line}", color=colour, capsize=3, label=found.name)
    axes.plot(found.settings, found.published, "x", color=colour, markersize=8)


INDEX_COLUMNS = (
    Column("cube", width=15),
    Column("share", Quantity(1, 100, unit="%"), "index from 0 to 1", gap=1),
    Column("mean", Quantity(3), "mean +/- spread", error="spread"),
    Column("else", gap=3),
)
LOSS_COLUMNS = (
    Column("decision", width=28),
    Column("loss", Quantity(6), gap=1),
    Column("where", heading="winning chance, exact and one-sided; layouts, ace point first", gap=3),
)
REASONS = {
    NoIndex.BELOW: "worth less than a dead cube",
    NoIndex.ABOVE: "worth more than a live one",
    NoIndex.UNCERTAIN: "no telling",
}


def print_atlas(table: Table, form: str = "table") -> None:
    """Print the distribution of cube life indexes in the atlas, and the largest losses with their positions."""
    from bgdata.bearoff.layouts import all_layouts

    figures = table.manifest.statistics
    if form != "table":
        print_built(table, (), form)
        return
    rows = []
    for cube in CUBES:
        mean, spread, share = (figures[f"{cube}_{name}"] for name in ("mean_index", "sd_index", "index_share"))
        shares = ((figures[f"{cube}_{reason.name.lower()}_share"], words) for reason, words in REASONS.items())
        others = ", ".join(f"{share:.1%} {words}" for share, words in shares)
        rows.append({"cube": cube.replace("_", " "), "share": share, "mean": mean, "spread": spread, "else": others})
    layouts = all_layouts(int(table.manifest.parameters["points"]), int(table.manifest.parameters["checkers"]))
    losses = [largest_loss(table, place, name, layouts.tolist()) for place, name in enumerate(LOSSES)]
    click.echo(f"{table.name}: {table.manifest.rows:,} pairs of layouts")
    click.echo("\n".join(table_lines(INDEX_COLUMNS, rows)))
    click.echo("\nlargest loss of a decision, in points per unit cube")
    click.echo("\n".join(table_lines(LOSS_COLUMNS, losses)))


def largest_loss(table: Table, place: int, name: str, layouts: Sequence[Sequence[int]]) -> Row:
    """Return a row about the largest loss of one kind and the first position that has it. `place` is the index of the
    kind of loss, `name` its name."""
    losses, chances = table.array("losses")[:, :, place], table.array("chances")
    on_roll, opponent = np.unravel_index(int(np.argmax(losses)), losses.shape)
    exact, one_sided = chances[on_roll, opponent].tolist()
    words = name.removesuffix("_loss").replace("janowski", "Janowski 0.7:").replace("one_sided", "one-sided:")
    where = f"{layouts[int(on_roll) + 1]} against {layouts[int(opponent) + 1]}"
    return {
        "decision": words.replace("_", " "),
        "loss": losses[on_roll, opponent],
        "where": f"{LOSS.text(exact)} {LOSS.text(one_sided)}   {where}",
    }


TITLES = ("centered cube", "cube of the player on roll", "cube of the opponent")
BINS = 50
LIVE_TAKE_POINT, LIVE_CASH_POINT = 0.2, 0.8


def draw_cube_life(table: Table, path: Path) -> None:
    """Write a picture with two charts for each position of the cube: the index by winning chance, and below it the
    distribution of the index. Raises StorageError if the picture cannot be written."""
    wins, indexes = np.asarray(table.array("chances"))[..., 0].ravel(), np.asarray(table.array("indexes"))
    with new_figure(10.5, 5.4) as figure:
        panels = figure.subplots(2, 3, sharex="row", height_ratios=(2, 1))
        for place, title in enumerate(TITLES):
            values = indexes[..., place].ravel()
            known = (values >= 0.0) & (values <= 1.0)
            draw_map(panels[0][place], wins[known], values[known], title)
            draw_counts(panels[1][place], values[known], float(known.mean()))
        panels[0][0].set_ylabel("cube life index")
        panels[1][0].set_ylabel("pairs")
        figure.suptitle(f"{table.name}: the index that makes Janowski's model exact")
        write_figure(figure, path)


def draw_map(axes: Axes, wins: Array, values: Array, title: str) -> None:
    """Draw the number of pairs of layouts by winning chance and index, darker for more pairs, and the mean index at
    each chance."""
    edges = np.linspace(0.0, 1.0, BINS + 1)
    counts, _, _ = np.histogram2d(wins, values, bins=(edges, edges))
    axes.pcolormesh(edges, edges, counts.T, norm="log", vmin=1, cmap="BuGn")
    bins = np.minimum((wins * BINS).astype(np.int64), BINS - 1)
    pairs = np.bincount(bins, minlength=BINS)
    means = np.bincount(bins, values, minlength=BINS) / np.maximum(pairs, 1)
    middle = (edges[:-1] + edges[1:]) / 2
    axes.plot(middle[pairs > 0], means[pairs > 0], color=RED, linewidth=1.2, label="mean")
    for point in (LIVE_TAKE_POINT, LIVE_CASH_POINT):
        axes.axvline(point, color=GREY, linewidth=0.6, linestyle=":")
    axes.set(title=title, xlabel="winning chance without a cube", xlim=(0, 1), ylim=(0, 1))
    axes.legend(loc="lower right")


def draw_counts(axes: Axes, values: Array, share: float) -> None:
    """Draw a histogram of the index. `share` is the share of pairs of layouts that have an index."""
    axes.hist(values, bins=BINS, range=(0.0, 1.0), color=TEAL)
    axes.axvline(float(values.mean()), color=RED, linewidth=1.2)
    axes.set(xlabel=f"index, for {share:.1%} of pairs: {values.mean():.3f} ± {values.std():.3f}", xlim=(0, 1))
    axes.grid(visible=False, axis="x")
