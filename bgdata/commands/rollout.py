"""`bgdata rollout` and `bgdata label`: positions, or the plays of a roll, played out many times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import click
import numpy as np

from bgdata.commands.kept_rollout import kept_rollout
from bgdata.commands.report import print_built, progress_bars
from bgdata.commands.rows import write_rows
from bgdata.datasets.common.rollouts import RollerParameters
from bgdata.datasets.common.sources import find_source
from bgdata.datasets.rollout_labels import DATASET as LABELS
from bgdata.datasets.rollout_labels import LabelParameters
from bgdata.evaluation.chances import CHANCES
from bgdata.evaluation.networks.named import KIND, find_network
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.networks.shipped import DEFAULT_NETWORK, SHIPPED
from bgdata.game.board_text import format_board_text
from bgdata.game.codec import flip_boards
from bgdata.game.dice import Roll, parse_roll
from bgdata.game.identifiers import parse_identifier
from bgdata.game.outcome import check_in_progress
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.play.rollout import Limits, RolloutResult, RolloutSettings, Values, result_of, roll_out
from bgdata.play.rollout_decisions import Decision, Window, own_blocks, roll_out_decision
from bgdata.warehouse import Warehouse


def print_rollout(player: NetworkPlayer, text: str, roll_text: str | None, form: str, options: dict[str, Any]) -> None:
    """Roll out and print a position, or the better plays of a roll. Raises UsageError, InvalidPositionError or
    InvalidRollError."""
    position, match = parse_identifier(text)
    check_in_progress(position)
    roll = parse_roll(roll_text) if roll_text else match.roll if match else None
    how = RolloutSettings(options["stop"], options["truncate"], not options["no_luck"])
    limits = Limits(options["trials"], options["until"] or math.inf, options["most_trials"] if options["until"] else 0)
    stakes = match.stakes if match else None
    window = Window(options["within"], min(2, options["plays"]), options["plays"])
    board, seed, brain = np.array(position.board, np.int8), options["seed"], player.chooser
    most, until = limits.most_trials or limits.trials, limits.until
    asked = (roll.high, roll.low, window) if roll else ()
    with kept_rollout(player.label, player.version, position.board, seed, how, asked) as kept:
        with progress_bars() as progress:
            if roll is None:
                through = kept.watched(progress, most, estimate)
                result = roll_out(
                    board[None], brain, limits.trials, seed, how, until=until, most_trials=limits.most_trials,
                    through=through,
                )  # fmt: skip
                rows, lines = [as_dictionary(result, 0, limits)], describe_result(result)
            else:
                through = kept.watched(progress, most, estimate_of_best)
                dice = roll.high, roll.low
                decision = roll_out_decision(board, dice, brain, seed, how, window, limits, through)
                plays = names_of(decision, position, roll)
                rows = [play_dictionary(decision, row, limits) | {"play": play} for row, play in enumerate(plays)]
                result, lines = decision.result, describe_decision(decision, plays)
        if form != "table":
            first = {"position_id": position.id, "player": player.label, "version": player.version}
            first |= {"roll": str(roll)} if roll else {}
            write_rows((first | row for row in rows), form)
            return
        click.echo(format_board_text(position, roll=roll, stakes=stakes))
        click.echo("\n" + "\n".join([*lines, *describe_limits(result, limits)]))


def estimate(blocks: Values) -> str:
    """The equity after the blocks of a rollout so far, and its standard error."""
    if blocks.shape[1] < 2:
        return ""
    result = result_of(blocks)
    best = int(result.equities.argmax())
    return f"{result.equities[best]:+.4f} +/- {result.equity_standard_errors[best]:.4f}"


def estimate_of_best(blocks: Values) -> str:
    """The same of the best play, from blocks that the opponent sees."""
    return estimate(own_blocks(blocks))


def label_positions(warehouse: Warehouse, source: str, network: str, options: dict[str, Any], form: str) -> None:
    """Build a table of labels and say how exact it is. Raises InvalidParameterError, and MissingTableError for a source
    or a network that is not there."""
    roller, (place, recipe) = roller_parameters(warehouse, network, options), find_source(warehouse, source)
    parameters = LabelParameters(**roller, source=place, seed=options["seed"], source_recipe=recipe)
    LABELS.check_parameters(parameters)
    with progress_bars() as progress:
        table = warehouse.build(LABELS.name, parameters, progress=progress)
    print_built(table, [describe_labels(table.manifest.rows, table.manifest.statistics, parameters)], form)


def roller_parameters(warehouse: Warehouse, network: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of who rolls out and how, from the options of a command. Raises MissingTableError."""
    return {
        **network_parameters(warehouse, network),
        "trials": options["trials"],
        "until": options["until"] or None,
        "most_trials": options["most_trials"] if options["until"] else 0,
        "stop": options["stop"],
        "turns": options["truncate"],
        "with_luck": not options["no_luck"],
    }


def network_parameters(warehouse: Warehouse, network: str) -> dict[str, Any]:
    """Which network an option names, and its version unless it comes with the package. Raises MissingTableError."""
    if not network:
        return {"network": DEFAULT_NETWORK, "network_version": ""}
    table = find_network(f"{KIND}/{network}", warehouse)
    name, version = table.folder.parts[-2:]
    return {"network": name, "network_version": "" if (SHIPPED / name / version).is_dir() else version}


def describe_labels(rows: int, found: Mapping[str, float], parameters: LabelParameters) -> str:
    """How exact labels are, in a line or two."""
    if not rows:
        return "no positions"
    line = (
        f"{rows:,} positions, {found['games']:,.0f} games: standard errors of {found['mean_standard_error']:.4f} on "
        f"average, at most {found['largest_standard_error']:.4f}"
    )
    return line + describe_missed(rows, "positions", found, parameters)


def describe_missed(rows: int, what: str, found: Mapping[str, float], parameters: RollerParameters) -> str:
    """A second line where standard errors are larger than they should be, else nothing."""
    missed = round(rows * (1 - found["reached_share"]))
    if not missed:
        return ""
    return (
        f"\nexpected standard errors of at most {parameters.until}, got larger ones for {missed:,} {what} after "
        f"{parameters.most_trials:,} trials; try: --most-trials {4 * parameters.most_trials}"
    )


def describe_result(result: RolloutResult) -> list[str]:
    """The five chances and the equity of the first position, with standard errors."""
    chances, errors = 100 * result.chances[0], 100 * result.standard_errors[0]
    lines = []
    for name, most, places in (("win", chances[0], (0, 1, 2)), ("lose", 100 - chances[0], (0, 3, 4))):
        shares = most, chances[places[1]], chances[places[2]]
        any_, gammon, backgammon = (
            f"{share:6.2f} % +/- {errors[place]:.2f}" for share, place in zip(shares, places, strict=True)
        )
        lines.append(f"{name:<5}{any_}   with a gammon {gammon}   backgammon {backgammon}")
    lines.append(f"cubeless equity {result.equities[0]:+.4f} +/- {result.equity_standard_errors[0]:.4f}\n")
    return [*lines, describe_luck(result)]


def describe_luck(result: RolloutResult) -> str:
    """How many trials there were, and what subtracting luck was good for."""
    trials, plain, error = (
        column[0] for column in (result.trials, result.plain_standard_errors, result.equity_standard_errors)
    )
    if plain == error:
        return f"{trials:,} trials"
    times = f": {plain / error:.1f} times as much" if error > 0 else ""
    return f"{trials:,} trials; without subtracting luck the equity had +/- {plain:.4f}{times}"


def describe_decision(decision: Decision, plays: Sequence[str]) -> list[str]:
    """A table of the plays: equity and loss with standard errors, and chances in percent."""
    lines = [
        f"{'':>3}  {'play':<26}{'equity':>8}{'+/-':>8}{'loss':>9}{'+/-':>8}     win     g    bg  -  lose     g    bg"
    ]
    result = decision.result
    for row, play in enumerate(plays):
        win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = (100 * result.chances[row]).tolist()
        loss = f"{decision.losses[row]:9.4f}{decision.loss_standard_errors[row]:8.4f}" if row else " " * 17
        lines.append(
            f"{row + 1:>3}  {play:<26}{result.equities[row]:+8.4f}{result.equity_standard_errors[row]:8.4f}{loss}   "
            f"{win:5.1f} {win_gammon:5.1f} {win_backgammon:5.1f}  - {100 - win:5.1f} {lose_gammon:5.1f} "
            f"{lose_backgammon:5.1f}"
        )
    if decision.n_plays > len(plays):
        lines.append(f"     and {decision.n_plays - len(plays)} more that were not rolled out")
    return [*lines, "\nall with the same dice; " + describe_luck(result)]


def describe_limits(result: RolloutResult, limits: Limits) -> list[str]:
    """Whether the standard error that was wanted could not be reached."""
    worst = float(result.equity_standard_errors.max())
    if is_reached(worst, limits):
        return []
    return [
        f"expected a standard error of at most {limits.until:g}, got {worst:.4f} after {limits.most_trials:,} trials; "
        f"try: --most-trials {math.ceil((worst / limits.until) ** 2) * limits.most_trials}"
    ]


def is_reached(error: float, limits: Limits) -> bool:
    """Whether a standard error is as small as was wanted."""
    return error <= limits.until


def names_of(decision: Decision, position: Position, roll: Roll) -> list[str]:
    """The rolled-out plays in words."""
    plays = {tuple(play.after_play.board): str(play) for play in legal_plays(position, roll)}
    return [plays[tuple(board)] for board in flip_boards(decision.boards).tolist()]


def as_dictionary(result: RolloutResult, row: int, limits: Limits) -> dict[str, Any]:
    """A position as data."""
    error = float(result.equity_standard_errors[row])
    return {
        **dict(zip(CHANCES, result.chances[row].tolist(), strict=True)),
        **{f"{name}_standard_error": value for name, value in zip(CHANCES, result.standard_errors[row], strict=True)},
        "cubeless_equity": float(result.equities[row]),
        "standard_error": error,
        "plain_standard_error": float(result.plain_standard_errors[row]),
        "trials": int(result.trials[row]),
        "is_reached": is_reached(error, limits),
    }


def play_dictionary(decision: Decision, row: int, limits: Limits) -> dict[str, Any]:
    """A play as data."""
    return as_dictionary(decision.result, row, limits) | {
        "loss": float(decision.losses[row]),
        "loss_standard_error": float(decision.loss_standard_errors[row]),
        "static_loss": float(decision.static_losses[row]),
    }
