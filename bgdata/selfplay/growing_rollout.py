"""Rollouts of plays or cube actions that can grow: each choice can get more games at any time, and has an estimate
after every round. All choices have the same dice, so the result of a choice depends on its number of games alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bgdata.equity.cube import CubeRules
from bgdata.evaluation.choices import Chooser
from bgdata.evaluation.lookahead_player import RankedPlay
from bgdata.game.match import Money, Stakes
from bgdata.game.position import Position
from bgdata.selfplay.cubeful_rollout import decision_starts, play_starts, rolled_with_cube, values_of
from bgdata.selfplay.rollout import PLAIN, Values, difference_error, equities_of, mean_and_error, rolled_in_kernel
from bgdata.selfplay.rollout_kernels import BLOCK

POINTS, MWC = "points per unit cube", "mwc"
RollBlocks = Callable[[int, int, int], Values]
"""A function that plays blocks of a choice, from a first block on. It returns float64[count] values minus luck, one for
each block, for the player who decides."""


class ChoiceEstimate(NamedTuple):
    """The estimate of one play or cube action for the player who decides. It has the mean over all games so far, and
    the loss against the best choice, in points per unit cube or mwc."""

    choice: str
    value: float
    standard_error: float | None  # None after only 36 games
    loss: float
    loss_standard_error: float | None  # 0 for the best choice
    trials: int
    unit: str


class GrowingRollout:
    """A rollout of several plays or cube actions. Each choice has as many blocks of 36 games as `grow` has added."""

    def __init__(self, names: list[str], roll_blocks: RollBlocks, unit: str) -> None:
        self.names, self.unit, self._roll_blocks = names, unit, roll_blocks
        self._blocks: list[Values] = [np.empty(0) for _ in names]

    def trials(self, row: int) -> int:
        """Return the number of games that choice `row` has so far."""
        return BLOCK * len(self._blocks[row])

    def grow(self, row: int, trials: int) -> None:
        """Play more games of choice `row`. `trials` is a multiple of 36."""
        blocks = self._blocks[row]
        more = self._roll_blocks(row, len(blocks), trials // BLOCK)
        self._blocks[row] = np.concatenate([blocks, more])

    def estimates(self, most: int | None = None) -> list[ChoiceEstimate]:
        """Return the estimates of all choices that have games, best first. If `most` is given, only the first `most`
        games of each choice count."""
        count = None if most is None else most // BLOCK
        blocks = {name: own[:count] for name, own in zip(self.names, self._blocks, strict=True) if len(own)}
        values = {name: float(own.mean()) for name, own in blocks.items()}
        best = max(values, key=lambda name: values[name], default="")
        rows = []
        for name, own in blocks.items():
            is_known = len(own) > 1  # a single block has no standard error
            error = float(mean_and_error(own[:, None])[1][0]) if is_known else None
            lost_error = difference_error(own, blocks[best]) if is_known and len(blocks[best]) > 1 else None
            row = (name, values[name], error, values[best] - values[name], lost_error, BLOCK * len(own), self.unit)
            rows.append(ChoiceEstimate(*row))
        return sorted(rows, key=lambda row: row.loss)


def rollout_of_plays(
    ranked: list[RankedPlay], stakes: Stakes | None, rules: CubeRules, chooser: Chooser, within: float, most: int
) -> GrowingRollout:
    """Return a rollout of the better plays of a roll: those within `within` points of the best, at least two and at
    most `most`. If `stakes` of the player who moves are given, both sides handle the cube by `rules`; otherwise values
    are cubeless. Raises the errors of `roll_out_with_cube`."""
    if stakes is None:
        chosen = [row for place, row in enumerate(ranked[:most]) if place < 2 or row.loss <= within]
        boards = np.array([row.play.next_position.board for row in chosen], np.int8)
        roll = rolled_in_kernel(boards, chooser, 0, PLAIN, np.zeros(len(chosen), np.int64))

        def cubeless(row: int, first: int, count: int) -> Values:
            blocks = roll(np.array([row]), np.array([first]), count)[0]
            return -equities_of(blocks[:, 0] - blocks[:, 1])

        return GrowingRollout([str(row.play) for row in chosen], cubeless, POINTS)
    starts = play_starts(ranked, stakes, within, most)
    with_cube = rolled_with_cube([*starts.values()], chooser, rules)
    is_money = isinstance(stakes.score, Money)

    def cubeful(row: int, first: int, count: int) -> Values:
        blocks = with_cube(np.array([row]), first, count)[0]
        theirs = values_of(blocks[:, 0] - blocks[:, 1], stakes)
        return -theirs if is_money else 1 - theirs

    return GrowingRollout([*starts], cubeful, POINTS if is_money else MWC)


def rollout_of_cube(position: Position, stakes: Stakes, rules: CubeRules, chooser: Chooser) -> GrowingRollout:
    """Return a rollout of the cube actions that the player on roll has before its roll. Raises the errors of
    `roll_out_with_cube`."""
    starts = decision_starts(position, stakes)
    with_cube = rolled_with_cube([*starts.values()], chooser, rules)

    def cubeful(row: int, first: int, count: int) -> Values:
        blocks = with_cube(np.array([row]), first, count)[0]
        return values_of(blocks[:, 0] - blocks[:, 1], stakes)

    return GrowingRollout([*starts], cubeful, POINTS if isinstance(stakes.score, Money) else MWC)
