"""`bgdata train turn-input`: whose turn it is, as an input of a network, and how its outputs then converge or not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from bgdata.cli.charts import LOOKS, format_places, new_figure, write_figure
from bgdata.cli.options import force_option, format_option, games_option, plot_option, seed_option, threads_option
from bgdata.cli.output import build_version, show_rows
from bgdata.cli.recipes import TD_RECIPE, recipe_options
from bgdata.rows import COUNT, PERCENT, Column, Row, table_lines
from bgdata.store.arrays import Array
from bgdata.store.table import Table
from bgdata.training.kinds.turn_input import ARMS, FIGURES, TurnInputParameters, games_of
from bgdata.training.kinds.turn_input import DATASET as TURN_INPUT
from bgdata.warehouse import Warehouse

SHOWN = {"win": "win", "win_gammon": "win a gammon", "lose_gammon": "lose a gammon"}  # chances with the dice
NAMES = [column.name for column in FIGURES]


@click.command(name="turn-input")
@games_option(TurnInputParameters.games)
@click.option(
    "--units", default=TurnInputParameters.units, show_default=True, metavar="N", help="Hidden units of each network."
)
@recipe_options(TurnInputParameters, TD_RECIPE, ("learning_rate", "row_games"))
@seed_option(TurnInputParameters.seed)
@plot_option
@threads_option
@force_option
@format_option
@click.pass_obj
def turn_input(warehouse: Warehouse, /, plot: Path | None, force: bool, form: str, **recipe: Any) -> None:
    """Train networks told whose turn it is, rightly and wrongly.

    Three networks that see the whole game from one side learn by TD(0) from their own games, at a constant learning
    rate. Two have inputs that say whose turn it is. In the evaluation after a play, towards which they learn, one is
    told that the dice are still with the player who has just played ("dice kept"), the other that they are passed on
    ("dice passed"). The third has no such inputs. The command prints what each says of the starting position as it
    learns: the chances of whoever has the dice, the mean of both sides. The table is `turn_input`. A stopped command,
    run again, resumes from its last checkpoint; the result is the same on any number of threads.

    \b
      bgdata train turn-input --plot turn.png
      bgdata query "from turn_input where arm = 'dice kept' order by games"
    """
    parameters = TurnInputParameters(**recipe)
    table = build_version(warehouse, TURN_INPUT, parameters, force=force)
    games, curve = games_of(parameters), table.array("curve")
    rows = list(curve_rows(games, curve))
    show_rows(rows, form, [str(table.folder), *curve_lines(games, rows)])
    if plot is not None:
        draw_curves(table, games, plot)


def curve_lines(games: list[int], rows: list[Row]) -> Iterator[str]:
    """The chances of each arm in percent, a line for each row of the curve."""
    yield "chances at the start with the dice, in %: to win, to win a gammon, to lose a gammon"
    columns, lines = [Column("games", COUNT, width=9)], [{"games": count} for count in games]
    for place, arm in enumerate(ARMS):
        of_arm = rows[place * len(games) : (place + 1) * len(games)]
        for name, width in zip(SHOWN, (8, 4, 4), strict=True):
            columns.append(Column(f"{arm} {name}", PERCENT, "", width=width))
            for line, row in zip(lines, of_arm, strict=True):
                line[f"{arm} {name}"] = row[name]
    yield "games".rjust(9) + "".join(arm.rjust(22) for arm in ARMS)
    yield from table_lines(columns, lines)[1:]


def curve_rows(games: list[int], curve: Array) -> Iterator[Row]:
    """One row for each arm and number of games, with the numbers of the table."""
    single = [column.type == "FLOAT" for column in FIGURES]
    rounded = np.where(single, curve.astype(np.float32), curve).tolist()
    for arm, rows in zip(ARMS, rounded, strict=True):
        for count, figures in zip(games, rows, strict=True):
            yield {"arm": arm, "games": count, **dict(zip(NAMES, figures, strict=True))}


def draw_curves(table: Table, games: list[int], path: Path) -> None:
    """Write a picture of each shown chance by games, a line for each arm. Raises StorageError."""
    curve = table.array("curve")
    with new_figure(10.5, 3.3) as figure:
        panels = figure.subplots(1, len(SHOWN), sharey=True)
        for axes, (name, title) in zip(panels, SHOWN.items(), strict=True):
            for arm, values, (colour, marker) in zip(ARMS, curve[:, :, NAMES.index(name)], LOOKS, strict=False):
                axes.plot(games, 100 * values, color=colour, marker=marker, label=arm)
            axes.set(title=f"{title} (%)", xlabel="games of self-play", ylim=(-3, 103))
            format_places(axes, is_logarithmic=False)
        panels[0].legend()
        figure.suptitle("Chances at the starting position, for the player who has the dice")
        write_figure(figure, path)
