"""`bgdata rollout` with the cube in play: a cube decision, or the plays of a roll."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from bgdata.cli.options import limits_of, refuse_without
from bgdata.cli.output import say_left_out, write_rows
from bgdata.cli.stakes import chosen_rules
from bgdata.evaluation.rows.stakes import chosen_stakes
from bgdata.game.board_text import format_board_text
from bgdata.game.dice import parse_roll
from bgdata.game.identifiers import parse_identifier
from bgdata.game.match import MatchScore, Stakes
from bgdata.game.outcome import check_in_progress
from bgdata.rows import EQUITY, LOSS, Column, Quantity, table_lines
from bgdata.selfplay.rows import describe_limits, describe_player, is_reached, who_rolled
from bgdata.store.progress_bars import progress_bars
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.equity.cube import CubeRules
    from bgdata.evaluation.networks.player import NetworkPlayer
    from bgdata.selfplay.cubeful_rollout import CubefulRollout


class Row(NamedTuple):
    """A cube action or a play: its value to the player who decides, and how much less it is than that of the first."""

    choice: str
    value: float  # points per unit cube, or mwc
    standard_error: float
    plain_standard_error: float  # what it was if luck had not been subtracted
    loss: float
    loss_standard_error: float


def print_cubeful_rollout(
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
    rows = rows_of(result, list(starts), is_turned=roll is not None, is_match=is_match)
    errors = result.standard_errors / result.point
    if form == "table":
        lines = describe_rows(rows, int(result.trials[0]), is_match=is_match)
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


def rows_of(result: CubefulRollout, names: list[str], *, is_turned: bool, is_match: bool) -> list[Row]:
    """The rows, of plays the best first: then the values of `result` are the opponent's."""
    from bgdata.selfplay.cubeful_rollout import difference

    values = result.values if not is_turned else 1 - result.values if is_match else -result.values
    best, rows = int(values.argmax()) if is_turned else 0, []
    for place, name in enumerate(names):
        gap, error = difference(result, place, best)
        errors = float(result.standard_errors[place]), float(result.plain_standard_errors[place])
        rows.append(Row(name, float(values[place]), *errors, gap if is_turned else -gap, error))
    return sorted(rows, key=lambda row: row.loss) if is_turned else rows


def describe_rows(rows: list[Row], trials: int, *, is_match: bool) -> list[str]:
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
