"""`bgdata rollout`: a position, a cube decision, or the plays of a roll, played out many times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from bgdata.cli.options import (
    format_option,
    jacoby_option,
    limits_of,
    model_options,
    plays_option,
    refuse_without,
    rollout_options,
    score_options,
    threads_option,
    within_option,
)
from bgdata.cli.output import say_left_out, write_rows
from bgdata.cli.stakes import chosen_rules
from bgdata.errors import UsageError
from bgdata.evaluation.rows import chosen_stakes, is_cubeful, play_rows, rolled_out_columns
from bgdata.game.board_text import format_board_text
from bgdata.game.dice import Roll, parse_roll
from bgdata.game.identifiers import parse_identifier
from bgdata.game.match import MatchScore, Stakes
from bgdata.game.outcome import check_in_progress
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.rows import EQUITY, LOSS, Column, Quantity, Row, table_lines
from bgdata.selfplay.commands.kept_rollout import kept_rollout
from bgdata.selfplay.rows import describe_limits, describe_player, is_reached, rollout_row, who_rolled
from bgdata.store.progress import progress_bars
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.equity.cube import CubeRules
    from bgdata.evaluation.networks.player import NetworkPlayer
    from bgdata.selfplay.cubeful_rollout import CubefulRollout
    from bgdata.selfplay.rollout import Limits, RolloutResult, Values
    from bgdata.selfplay.rollout_decisions import Decision


@click.command()
@click.argument("position")
@click.argument("roll", required=False)
@score_options
@jacoby_option
@model_options
@click.option("--cubeless", is_flag=True, help="Leave out what the position says of score and cube.")
@rollout_options
@within_option
@plays_option()
@threads_option
@format_option
@click.pass_obj
def rollout(
    warehouse: Warehouse,
    /,
    position: str,
    roll: str | None,
    network: str,
    form: str,
    **options: Any,
) -> None:
    """Roll out a POSITION, or the plays of a ROLL.

    POSITION is a Position ID, gnubg ID, XGID, 20-letter key, 26 integers or start. The network plays both sides many
    times; chances and equity have standard errors. With a ROLL such as 31, or an XGID or gnubg ID that contains one,
    the better plays are rolled out with the same dice and ranked. The luck of every roll is subtracted (variance
    reduction), which makes standard errors several times smaller.

    Where the position is an XGID or gnubg ID, or --cube, --away or another option says what is played for, the cube is
    in play: both sides turn it by the model and choose plays by their value with it. Without a ROLL, no double is
    rolled out beside double and take. The cube goes up to 64, and money games end at exact tables, with --model too.

    \b
      bgdata rollout 4HPwATDgc/ABMA
      bgdata rollout 4HPwATDgc/ABMA 31 --plays 3 --until 0.005
      bgdata rollout 4HPwATDgc/ABMA --cube 1
      bgdata rollout 4HPwATDgc/ABMA 21 --away 2-4
    """
    from bgdata.evaluation.networks.player import NetworkPlayer, open_network_player
    from bgdata.evaluation.players import NETWORK

    cubeless, (_, match) = options.pop("cubeless"), parse_identifier(position)
    if cubeless and is_cubeful(options):
        raise UsageError("expected --cubeless without what is played for, got both")
    player = open_network_player(f"{NETWORK}/{network}" if network else NETWORK, 0, warehouse, endgames=True)
    assert isinstance(player, NetworkPlayer)  # at ply 0
    if is_cubeful(options) or (match is not None and not cubeless):
        roll_out_cubeful(player, warehouse, (position, roll), options, form)
        return
    roll_out_cubeless(player, position, roll, form, options)


def roll_out_cubeless(
    player: NetworkPlayer, text: str, roll_text: str | None, form: str, options: dict[str, Any]
) -> None:
    """Roll out and print a position, or the better plays of a roll. Raises UsageError, InvalidPositionError or
    InvalidRollError."""
    from bgdata.selfplay.rollout import RolloutSettings, roll_out
    from bgdata.selfplay.rollout_decisions import Window, own_blocks, roll_out_decision

    position, match = parse_identifier(text)
    check_in_progress(position)
    say_left_out(match, "roll")
    roll = parse_roll(roll_text) if roll_text else match.roll if match else None
    how = RolloutSettings(options["stop"], options["truncate"], not options["no_luck"], play_ply=options["play_ply"])
    if roll is None:
        refuse_without("a roll", "plays", "within")
    limits = limits_of(options)
    stakes = match.stakes if match else None
    window = Window(options["within"], min(2, options["plays"]), options["plays"])
    board, seed, chooser = np.array(position.board, np.int8), options["seed"], player.chooser
    most, until = limits.most, limits.until
    asked = (roll.high, roll.low, window) if roll else ()
    with kept_rollout(player.label, player.version, position.board, seed, how, asked) as kept:
        with progress_bars() as progress:
            if roll is None:
                through = kept.watched(progress, most, estimate)
                result = roll_out(
                    board[None], chooser, limits.trials, seed, how, until=until, most_trials=limits.most_trials,
                    through=through,
                )  # fmt: skip
                rows, lines = [rollout_row(result, 0, limits)], describe_result(result)
            else:
                through = kept.watched(progress, most, lambda blocks: estimate(own_blocks(blocks)))
                dice = roll.high, roll.low
                decision = roll_out_decision(board, dice, chooser, seed, how, window, limits, through)
                plays = names_of(decision, position, roll)
                rows = [play_dictionary(decision, row, limits) | {"play": play} for row, play in enumerate(plays)]
                result, lines = decision.result, describe_decision(decision, rows)
        if form != "table":
            first = {"position_id": position.id, **who_rolled(player)}
            first |= {"roll": str(roll)} if roll else {}
            write_rows((first | row for row in rows), form)
            return
        click.echo(format_board_text(position, roll=roll, stakes=stakes))
        lines.append(describe_player(player))
        click.echo("\n" + "\n".join([*lines, *describe_limits(float(result.equity_standard_errors.max()), limits)]))


def estimate(blocks: Values) -> str:
    """The equity after the finished blocks of a rollout, with its standard error."""
    from bgdata.selfplay.rollout import result_of

    if blocks.shape[1] < 2:
        return ""
    result = result_of(blocks)
    best = int(result.equities.argmax())
    return EQUITY.text(result.equities[best], result.equity_standard_errors[best])


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
    lines.append(f"cubeless equity {EQUITY.text(result.equities[0], result.equity_standard_errors[0])}\n")
    return [*lines, describe_luck(result)]


def describe_luck(result: RolloutResult) -> str:
    """The number of trials, and how much subtracting luck reduced the standard error."""
    trials, plain, error = (
        column[0] for column in (result.trials, result.plain_standard_errors, result.equity_standard_errors)
    )
    if plain == error:
        return f"{trials:,} trials"
    times = f": {plain / error:.1f} times as much" if error > 0 else ""
    return f"{trials:,} trials; without subtracting luck the equity had +/- {LOSS.text(plain)}{times}"


def describe_decision(decision: Decision, rows: Sequence[Row]) -> list[str]:
    """A table of the plays: equity and loss with standard errors, and chances in percent."""
    lines = table_lines(rolled_out_columns("cubeless_equity", 26), play_rows(rows))
    if decision.n_plays > len(rows):
        lines.append(f"     and {decision.n_plays - len(rows)} more that were not rolled out")
    return [*lines, "\nall with the same dice; " + describe_luck(decision.result)]


def names_of(decision: Decision, position: Position, roll: Roll) -> list[str]:
    """The rolled-out plays in the usual notation."""
    from bgdata.game.codec import flip_boards

    plays = {tuple(play.after_play.board): str(play) for play in legal_plays(position, roll)}
    return [plays[tuple(board)] for board in flip_boards(decision.boards).tolist()]


def play_dictionary(decision: Decision, row: int, limits: Limits) -> dict[str, Any]:
    """The result of a play as one row of data."""
    return rollout_row(decision.result, row, limits) | {
        "loss": float(decision.losses[row]),
        "loss_standard_error": float(decision.loss_standard_errors[row]),
        "static_loss": float(decision.static_losses[row]),
    }


class Choice(NamedTuple):
    """A cube action or a play: its value to the player who decides, and how much less it is than that of the first."""

    choice: str
    value: float  # points per unit cube, or mwc
    standard_error: float
    plain_standard_error: float  # what it was if luck had not been subtracted
    loss: float
    loss_standard_error: float


def roll_out_cubeful(
    player: NetworkPlayer,
    warehouse: Warehouse,
    asked: tuple[str, str | None],
    options: Mapping[str, Any],
    form: str,
) -> None:
    """Roll out and print the cube decision of a position, or the better plays of a roll. Raises UsageError,
    InvalidPositionError, InvalidRollError, InvalidParameterError and InvalidScoreError."""
    from bgdata.evaluation.lookahead_player import LookaheadPlayer
    from bgdata.selfplay.cubeful_rollout import decision_starts, play_starts, roll_out_with_cube
    from bgdata.selfplay.rollout import RolloutSettings
    from bgdata.selfplay.rollout_decisions import Window

    position, match = parse_identifier(asked[0])
    check_in_progress(position)
    say_left_out(match, "score", "cube", "jacoby", "roll")
    roll = parse_roll(asked[1]) if asked[1] else match.roll if match else None
    stakes = chosen_stakes(match, options)
    rules, is_match = rollout_rules(warehouse, stakes, options), isinstance(stakes.score, MatchScore)
    if roll is None:
        refuse_without("a roll", "plays", "within")
        starts = decision_starts(position, stakes)
    else:
        window = Window(options["within"], min(2, options["plays"]), options["plays"])
        window.check()
        ranked = LookaheadPlayer(player).rank_plays(position, roll, stakes, rules)
        starts = play_starts(ranked, stakes, window.within, window.most_plays)
    limits = limits_of(options)
    how = RolloutSettings(options["stop"], options["truncate"], not options["no_luck"], play_ply=options["play_ply"])
    items = np.zeros(len(starts), np.int64)
    with progress_bars() as progress:
        progress.start("rollout", len(starts), "positions")
        given = list(starts.values()), player.chooser, rules, limits, options["seed"], how, items
        result = roll_out_with_cube(*given)
        progress.advance(len(starts))
    rows = choices_of(result, list(starts), is_turned=roll is not None, is_match=is_match)
    errors = result.standard_errors / result.point
    if form == "table":
        lines = choice_lines(rows, int(result.trials[0]), is_match=is_match)
        click.echo(format_board_text(position, roll=roll, stakes=stakes))
        lines.append(describe_player(player) + ("; the cube is the model's to the last roll" if is_match else ""))
        click.echo("\n" + "\n".join([*lines, *describe_limits(float(errors.max()), limits)]))
        return
    first = {"position_id": position.id, **who_rolled(player)}
    first |= {"roll": str(roll)} if roll else {}
    last = {"trials": int(result.trials[0]), "unit": "mwc" if is_match else "points per unit cube"}
    reached = {name: is_reached(error, limits) for name, error in zip(starts, errors.tolist(), strict=True)}
    write_rows((first | row._asdict() | last | {"is_reached": reached[row.choice]} for row in rows), form)


def rollout_rules(warehouse: Warehouse, stakes: Stakes, options: Mapping[str, Any]) -> CubeRules:
    """The rules of both sides. A match is worth mwc by a match equity table even if they play as for money. Raises what
    `cube.chosen_rules` raises."""
    is_match, as_money = isinstance(stakes.score, MatchScore), options["as_money"]
    rules = chosen_rules(warehouse, stakes, {**options, "as_money": as_money and not is_match})
    return replace(rules, as_money=as_money)


def choices_of(result: CubefulRollout, names: list[str], *, is_turned: bool, is_match: bool) -> list[Choice]:
    """The rows, of plays the best first: then the values of `result` are the opponent's."""
    from bgdata.selfplay.cubeful_rollout import difference

    values = result.values if not is_turned else 1 - result.values if is_match else -result.values
    best, rows = int(values.argmax()) if is_turned else 0, []
    for place, name in enumerate(names):
        gap, error = difference(result, place, best)
        errors = float(result.standard_errors[place]), float(result.plain_standard_errors[place])
        rows.append(Choice(name, float(values[place]), *errors, gap if is_turned else -gap, error))
    return sorted(rows, key=lambda row: row.loss) if is_turned else rows


def choice_lines(rows: list[Choice], trials: int, *, is_match: bool) -> list[str]:
    """A table of the actions or plays: value and loss with standard errors; mwc in percent."""
    value, amount = (Quantity(2, 100), Quantity(2, 100)) if is_match else (EQUITY, LOSS)
    columns = (
        Column("choice", heading="", width=26),
        Column("value", value, "mwc %" if is_match else "equity", width=7),
        Column("standard_error", amount, "+/-", width=6),
        Column("loss", amount, width=7),
        Column("loss_standard_error", amount, "+/-", width=6),
    )
    best = {"loss": None, "loss_standard_error": None}  # the first has none
    lines = table_lines(columns, (row._asdict() | (best if row is rows[0] else {}) for row in rows))
    plain, error = rows[0].plain_standard_error, rows[0].standard_error
    times = f"; without subtracting luck +/- {amount.text(plain)}" if plain != error else ""
    return [*lines, f"\nall with the same dice; {trials:,} trials{times}"]
