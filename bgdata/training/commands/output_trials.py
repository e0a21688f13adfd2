"""`bgdata train output-trials`: networks with conditional outputs, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click
import numpy as np

from bgdata.cli import options
from bgdata.cli.charts import format_places, mark_style, new_figure, write_figure
from bgdata.cli.output import build_version, show_rows
from bgdata.cli.recipes import TD_RECIPE, recipe_options
from bgdata.rows import EQUITY, PERCENT, Column, Quantity, Row, table_lines
from bgdata.training.kinds.output_trials import DATASET, FIGURES, TRIALS, OutputTrialParameters
from bgdata.warehouse import Warehouse

ROWS = f"""
select trial, games, {", ".join(column.name for column in FIGURES)}
from output_trials
where variant = $variant
order by list_position($trials, trial), games
"""
COLUMNS = (
    Column("trial", width=15),
    Column("points_per_game", EQUITY, "points per game", error="standard_error", width=18),
    Column("turns_per_game", Quantity(1), "rolls", width=6),
    *(Column(f"{size}_share", PERCENT, f"{size}s", width=12) for size in ("gammon", "backgammon")),
    *(Column(name, PERCENT, name.replace("_", " "), width=12) for name in ("win", "win_gammon", "lose_gammon")),
)
PANELS = (  # (figure, title, factor)
    ("points_per_game", "points per game against PubEval", 1),
    ("gammon_share", "gammons in self-play (%)", 100),
    ("gammon_given_win", "gammon given a win, at the start (%)", 100),
)


@click.command(name="output-trials")
@options.games_option(OutputTrialParameters.games)
@options.value_option("--units", OutputTrialParameters.units, "N", "Hidden units of each network.")
@recipe_options(OutputTrialParameters, TD_RECIPE, ("learning_rate", "row_games", "test_games"))
@options.seed_option(OutputTrialParameters.seed)
@options.plot_option
@options.threads_option
@options.force_option
@options.format_option
@click.pass_obj
def output_trials(warehouse: Warehouse, /, plot: Path | None, force: bool, form: str, **recipe: Any) -> None:
    """Train networks with conditional outputs, in six ways.

    Six networks that see the whole game from one side, and are told whose turn it is, learn by TD(0) from their own
    games at a constant learning rate. In five of them outputs are conditional: the chance to win, of a gammon given a
    win, of a backgammon given a gammon, and so for losses. The trials are "gammon" (no output for backgammons),
    "backgammon" (all five), "weighted" (outputs learn in proportion to the chance of their condition before the play),
    "weighted after" (after it), "zeroed" (a gammon that the rules exclude is 0 and not learned), and "chances" (the
    five chances without conditions). The command prints means of the last half of training: points against PubEval,
    how games of self-play end, and chances of the player on roll at the start. The table is `output_trials`. A
    stopped command, run again, resumes from its last checkpoint; the result is the same on any number of threads.

    \b
      bgdata train output-trials --games 20000 --plot trials.png
      bgdata query "from output_trials where trial = 'zeroed' order by games"
    """
    parameters = OutputTrialParameters(**recipe)
    table = build_version(warehouse, DATASET, parameters, force=force)
    rows = warehouse.rows(ROWS, {"variant": table.manifest.variant, "trials": list(TRIALS)})
    means = [mean_row([row for row in rows if row["trial"] == trial]) for trial in TRIALS]
    show_rows(rows, form, chain([str(table.folder)], mean_lines(means)))
    if plot is not None:
        draw_trials(rows, plot)


def mean_row(rows: Sequence[Row]) -> Row:
    """Return the mean of each figure over the last half of a trial's rows. The test games of different rows have
    different dice, so the standard error is that of independent results."""
    last = rows[len(rows) // 2 :]
    names = [column.name for column in FIGURES]
    means = {name: float(np.mean([row[name] for row in last])) for name in names}
    error = float(np.sqrt(np.sum([row["standard_error"] ** 2 for row in last]))) / len(last)
    return {"trial": rows[0]["trial"], "games": last[0]["games"], **means, "standard_error": error}


def mean_lines(means: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table of these means, with shares and chances in percent."""
    begin = means[0]["games"]
    yield f"means from {begin:,} games on; in %: shares of self-play, chances at the start for the player on roll"
    yield from table_lines(COLUMNS, means)


def figure_value(row: Row, name: str) -> float:
    """Return the figure called `name` in a row. The figure `gammon_given_win` is the chance of a gammon divided by the
    chance to win."""
    return float(row["win_gammon"] / row["win"] if name == "gammon_given_win" else row[name])


def draw_trials(rows: Sequence[Row], path: Path) -> None:
    """Write a picture with a chart for each figure: its value by number of games, with one line for each trial. Raises
    StorageError if the picture cannot be written."""
    with new_figure(10.5, 3.6) as figure:
        for axes, (name, title, factor) in zip(figure.subplots(1, len(PANELS)), PANELS, strict=True):
            for place, trial in enumerate(TRIALS):
                of_trial = [row for row in rows if row["trial"] == trial]
                values = [factor * figure_value(row, name) for row in of_trial]
                axes.plot([row["games"] for row in of_trial], values, label=trial, **mark_style(place))
            axes.set(title=title, xlabel="games of self-play")
            format_places(axes, is_logarithmic=False)
        figure.axes[0].legend()
        write_figure(figure, path)
