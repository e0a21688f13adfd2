"""`bgdata train`: networks that learn from their own games or from labels, and pictures of their learning curves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from bgdata.cli import options
from bgdata.cli.charts import LOOKS, PANEL, draw_chart, format_places, new_figure, write_figure
from bgdata.cli.completion import complete_networks, complete_players
from bgdata.cli.output import build_version, print_built, show_rows
from bgdata.cli.recipes import SL_RECIPE, TD_RECIPE, label_options, recipe_options
from bgdata.errors import UsageError, cite
from bgdata.rows import COUNT, PERCENT, Column, Quantity, Row, table_lines
from bgdata.selfplay.kinds.training_games import DATASET as GAMES
from bgdata.selfplay.kinds.training_games import MIXED, STARTS, StartShare
from bgdata.selfplay.kinds.training_games import TrainingGameParameters as GameParameters
from bgdata.store.arrays import Array
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.studies.commands.contact_parts import parts
from bgdata.training.commands.output_trials import output_trials
from bgdata.training.kinds.network import DATASET as NETWORK
from bgdata.training.kinds.network import NetworkParameters, curve_line, known_network, network_ref
from bgdata.training.kinds.supervised_network import DATASET as SUPERVISED
from bgdata.training.kinds.supervised_network import NEW, SupervisedParameters, best_epoch, epoch_line
from bgdata.training.kinds.turn_input import ARMS, FIGURES, TurnInputParameters, games_of
from bgdata.training.kinds.turn_input import DATASET as TURN_INPUT
from bgdata.training.rows import curve_charts, headline
from bgdata.warehouse import Warehouse

CHARTS_IN_ROW = 3
SHOWN = {"win": "win", "win_gammon": "win a gammon", "lose_gammon": "lose a gammon"}  # chances on roll
FIGURE_NAMES = [column.name for column in FIGURES]
START = f"Networks to start from: network, network/NAME, or {NEW} for random weights."


@click.group()
def train() -> None:
    """Train networks, and plot their learning curves."""


train.add_command(parts)
train.add_command(output_trials)


@train.command()
@click.argument("name", default=NetworkParameters.name, shell_complete=complete_networks)
@options.value_option("--start", NEW, "PLAYER", START, shell_complete=complete_players)
@recipe_options(NetworkParameters, TD_RECIPE)
@options.threads_option
@options.force_option
@options.format_option
@click.pass_obj
def td(warehouse: Warehouse, /, name: str, start: str, force: bool, form: str, **recipe: Any) -> None:
    """Train the network NAME by self-play.

    NAME is made of small letters, digits and hyphens. The network learns by temporal differences from games against
    itself, and is tested against PubEval. A network to start from must not have more hidden units. The result is
    network/NAME in the warehouse; the bearoff tables that it needs are built first. A stopped command, run again,
    resumes from its last checkpoint; the result is the same on any number of threads. Another recipe under the same
    name is a new version, and starts from the beginning.

    \b
    A try of some seconds, and a player that beats PubEval after some minutes:
      bgdata train td tiny --games 800 --hidden 20 --crashed-hidden 20 --race-hidden 20 --row-games 200
      bgdata train td small --games 40000 --hidden 40 --crashed-hidden 40 --race-hidden 40 --final-learning-rate 0.02
    On from a network that comes with bgdata, with more hidden units:
      bgdata train td wide --start network/contact-160 --hidden 320 --crashed-hidden 160 \\
        --learning-rate 0.02 --final-learning-rate 0.001
    """
    from bgdata.evaluation.networks.player import find_network

    known = known_network(name)
    if name in warehouse.variants(SUPERVISED.name) or (known and known[0] != NETWORK.name):
        raise UsageError(f"expected a name that no network has that learned from labels, got {cite(name)}")
    place = None if start == NEW else network_ref(warehouse, find_network(start, warehouse))
    parameters = NetworkParameters(**{**recipe, "tables": int(recipe["tables"]), "name": name, "start": place})
    table = build_version(warehouse, NETWORK, parameters, force=force)
    print_built(table, [curve_line(table.array("curve")[-1].tolist())], form)


@train.command()
@click.argument("name", default=GameParameters.name)
@options.network_option
@options.games_option(GameParameters.games)
@options.seed_option(GameParameters.seed)
@click.option(
    "--begin",
    "starts",
    multiple=True,
    type=StartShare.parse,
    metavar="START[:SHARE]",
    help=f"Where games begin, and their share: {', '.join(STARTS)}.  [default: all, mixed]",
)
@click.option(
    "--doubts",
    type=VersionRef.parse,
    metavar="KIND/VARIANT",
    help="Earlier training_games for `--begin doubtful`: where 0-ply and 1-ply disagreed most.  [default: none]",
)
@options.value_option(
    "--likely",
    GameParameters.likely,
    "N",
    "Plays of each roll to evaluate, those PubEval scores highest; 0 for all.",
    type=int,
)
@options.value_option(
    "--overlooked", GameParameters.overlooked, "SHARE", "Share of turns played without considering half of the plays."
)
@options.value_option("--td-lambda", GameParameters.td_lambda, "N", TD_RECIPE["td_lambda"])
@options.executor_option
@options.threads_option
@options.force_option
@options.format_option
@click.pass_obj
def games(
    warehouse: Warehouse, /, name: str, network: str, starts: tuple[StartShare, ...], doubts: VersionRef | None,
    force: bool, form: str, **recipe: Any,
) -> None:  # fmt: skip
    """Play games for training, begun anywhere.

    A network plays both sides, and evaluates all 21 rolls before every turn. Games begin at the opening, after random
    plays, or in positions set up by rule, such as back games, which self-play rarely reaches. The result is
    training_games/NAME-..., labels for `bgdata train sl`: the chances of every turn at 1-ply, and what the rest of the
    game adds to them. The games of a seed are the same from any executor and any number of threads. A stopped command,
    run again, plays only the missing games.

    \b
      bgdata train games --games 2000
      bgdata train games back --games 2000 --begin back-game --begin ace-point:0.5
      bgdata train games more --begin doubtful --doubts training_games/mixed-by-diverse-19-2000-seed-1
      bgdata query "select start, count(*) from training_games group by start"
    """
    from bgdata.training.steps import network_parameters

    network_choice = network_parameters(warehouse, network)
    place = doubts and network_ref(warehouse, warehouse.open_reference(str(doubts)))
    parameters = GameParameters(name=name, starts=starts or MIXED, doubts=place, **network_choice, **recipe)
    table = build_version(warehouse, GAMES, parameters, force=force)
    change = table.manifest.statistics["rms_change_from_static"]
    print_built(table, [f"labels are {change:.4f} points from 0-ply (root mean square)"], form)


@train.command()
@click.argument("name", required=False, shell_complete=complete_networks)
@options.output_option("NAME.png", kind=options.PICTURE)
@click.pass_obj
def plot(warehouse: Warehouse, name: str | None, output: Path | None) -> None:
    """Draw the learning curve of a network.

    NAME is the name of a network; the default is the one that comes with bgdata. The picture is PNG or SVG.

    \b
      bgdata train plot better -o better.svg
    """
    from bgdata.evaluation.networks.player import find_network

    table = find_network(f"network/{name}" if name else "network", warehouse)
    path = output or Path(f"{table.folder.parent.name}.png")
    charts = curve_charts(table)
    rows = -(-len(charts) // CHARTS_IN_ROW)
    with new_figure(CHARTS_IN_ROW * PANEL[0], rows * PANEL[1] + 0.5) as figure:
        for axes, chart in zip(figure.subplots(rows, CHARTS_IN_ROW, squeeze=False).flat, charts, strict=True):
            draw_chart(axes, chart)
        figure.suptitle(f"{table.name}: {headline(table.manifest)}")
        write_figure(figure, path)


@train.command()
@click.argument("name", default=SupervisedParameters.name, shell_complete=complete_networks)
@label_options
@options.value_option("--start", NETWORK.name, "PLAYER", START, shell_complete=complete_players)
@recipe_options(SupervisedParameters, SL_RECIPE)
@options.threads_option
@options.force_option
@options.format_option
@click.pass_obj
def sl(
    warehouse: Warehouse, /, name: str, labels: tuple[str, ...], start: str, guard: bool,
    force: bool, form: str, **recipe: Any,
) -> None:  # fmt: skip
    """Train the network NAME from labels: supervised learning.

    NAME is made of small letters, digits and hyphens; training starts from the weights of another network. Labels are
    tables of the warehouse that hold positions with chances: rollouts, self-play with its outcomes, or imported
    training data of gnubg and wildbg. Eight tenths of the positions are for training and one tenth is for validation
    after every epoch; each network keeps the weights that did best there. The result is supervised_network/NAME, which
    plays as network/NAME. A stopped command, run again, resumes from its last checkpoint; the result is the same on any
    number of threads. With PyTorch this holds for one version of PyTorch and one kind of processor, which are part of
    the recipe.

    \b
    From the network that comes with bgdata; then a wider one from two kinds of labels, two thirds of the first:
      bgdata train sl better --labels selfplay_labels/network-10000-seed-1-6x9 --epochs 10
      bgdata train sl wide --labels rollout_labels:2 --labels selfplay_labels --hidden 240 --start network/better
    gnubg's training files, once downloaded:
      bgdata import gnubg_training contact-train-data && bgdata train sl mine --labels gnubg_training
    A large network by PyTorch (extra torch) on a GPU, with averages of its weights:
      bgdata train sl large --labels rollout_labels --hidden 1024 --trainer torch --device cuda --average-decay 0.999
    The recipe of 2012, except for batches of 16:
      bgdata train sl cycled --labels gnubg_training --optimizer sgd --learning-rate 1 --loss squared \\
        --schedule cycles --batch-size 16 --epochs 200
    """
    from bgdata.training.steps import supervised_parameters

    parameters = supervised_parameters(warehouse, name, labels, start, guard, recipe, anew=force)
    table = build_version(warehouse, SUPERVISED, parameters, force=force)
    statistics, curve = table.manifest.statistics, table.array("curve")
    before, after = (
        Quantity(3, sign="+").text(statistics[f"{start}points_per_game"], statistics[f"{start}standard_error"])
        for start in ("start_", "")
    )
    last = epoch_line(len(curve) - 1, curve)
    kept = [f"{name} {best_epoch(curve, which)}" for which, name in enumerate(("race", "crashed", "contact"))]
    line = f"kept epochs: {', '.join(kept)}; {after} points per game against PubEval, {before} before"
    print_built(table, [last, line], form)


@train.command()
@options.games_option(TurnInputParameters.games)
@options.value_option("--units", TurnInputParameters.units, "N", "Hidden units of each network.")
@recipe_options(TurnInputParameters, TD_RECIPE, ("learning_rate", "row_games"))
@options.seed_option(TurnInputParameters.seed)
@options.plot_option
@options.threads_option
@options.force_option
@options.format_option
@click.pass_obj
def turn_input(warehouse: Warehouse, /, plot: Path | None, force: bool, form: str, **recipe: Any) -> None:
    """Train networks with and without the turn as input.

    Three networks that see the whole game from one side learn by TD(0) from their own games, at a constant learning
    rate. Two have inputs for whose turn it is. In the evaluation after a play, towards which they learn, one gives the
    turn to the player who has just moved ("dice kept"), the other to the opponent ("dice passed"). The third has no
    such inputs. The command prints the chances of each network at the starting position as it learns, for the player
    on roll, as the mean of both sides. The table is `turn_input`. A stopped command, run again, resumes from its
    last checkpoint; the result is the same on any number of threads.

    \b
      bgdata train turn-input --plot turn.png
      bgdata query "from turn_input where arm = 'dice kept' order by games"
    """
    parameters = TurnInputParameters(**recipe)
    table = build_version(warehouse, TURN_INPUT, parameters, force=force)
    games, curve = games_of(parameters), table.array("curve")
    rows = list(_curve_rows(games, curve))
    show_rows(rows, form, [str(table.folder), *_curve_lines(games, rows)])
    if plot is not None:
        _write_picture(table, games, plot)


def _curve_lines(games: list[int], rows: list[Row]) -> Iterator[str]:
    """Yield lines of text with the chances of each arm in percent, one line for each number of games."""
    yield "chances at the start for the player on roll, in %: to win, to win a gammon, to lose a gammon"
    columns, lines = [Column("games", COUNT, width=9)], [{"games": count} for count in games]
    for place, arm in enumerate(ARMS):
        of_arm = rows[place * len(games) : (place + 1) * len(games)]
        for name, width in zip(SHOWN, (8, 4, 4), strict=True):
            columns.append(Column(f"{arm} {name}", PERCENT, "", width=width))
            for line, row in zip(lines, of_arm, strict=True):
                line[f"{arm} {name}"] = row[name]
    yield "games".rjust(9) + "".join(arm.rjust(22) for arm in ARMS)
    yield from table_lines(columns, lines)[1:]


def _curve_rows(games: list[int], curve: Array) -> Iterator[Row]:
    """Yield a row of the table `turn_input` for each arm and number of games, from the array `curve`."""
    single = [column.type == "FLOAT" for column in FIGURES]
    rounded = np.where(single, curve.astype(np.float32), curve).tolist()
    for arm, rows in zip(ARMS, rounded, strict=True):
        for count, figures in zip(games, rows, strict=True):
            yield {"arm": arm, "games": count, **dict(zip(FIGURE_NAMES, figures, strict=True))}


def _write_picture(table: Table, games: list[int], path: Path) -> None:
    """Write a picture with a chart for each chance: its value by number of games, with one line for each arm. Raises
    StorageError if the picture cannot be written."""
    curve = table.array("curve")
    with new_figure(10.5, 3.3) as figure:
        panels = figure.subplots(1, len(SHOWN), sharey=True)
        for axes, (name, title) in zip(panels, SHOWN.items(), strict=True):
            for arm, values, (colour, marker) in zip(ARMS, curve[:, :, FIGURE_NAMES.index(name)], LOOKS, strict=False):
                axes.plot(games, 100 * values, color=colour, marker=marker, label=arm)
            axes.set(title=f"{title} (%)", xlabel="games of self-play", ylim=(-3, 103))
            format_places(axes, is_logarithmic=False)
        panels[0].legend()
        figure.suptitle("Chances at the starting position, for the player who has the dice")
        write_figure(figure, path)
