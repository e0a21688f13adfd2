"""Rollouts: the value of a position when a player with networks plays both sides to the end, many times.

The luck of every roll, which averages to zero, is subtracted from each of the five chances (variance reduction, see
`roll_values`): the mean stays the same, and the standard error falls to a fraction. First and second rolls are
stratified.

A standard error comes from blocks of 36 trials, each of which has every first and every second roll once. Blocks also
share the pairs of these two rolls evenly, which makes the true error a little smaller than the stated one, never
larger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.bearoff_kernels import BearoffSource
from bgdata.evaluation.chances import ordered_chances
from bgdata.evaluation.choices import Chooser, require_networks
from bgdata.evaluation.roll_values import LIKELY, likely_plays
from bgdata.game.codec import Boards, check_boards, check_legal_boards
from bgdata.kernel import in_threads
from bgdata.play.rollout_kernels import (
    BLOCK,
    LAST_TURN,
    MOST_TRIALS,
    SUPERBLOCK,
    KernelSettings,
    fill_blocks,
    fill_statistics,
)

Values = NDArray[np.float64]
Rolled = Callable[[NDArray[np.int64], int, int], Values]
"""float64[rows, blocks, 2, 5] of int64[rows] boards, from a first block up to the one behind the last."""
Through = Callable[[Rolled], Rolled]
STOPS = {"end": BearoffSource.NONE, "exact": BearoffSource.EXACT, "tables": BearoffSource.COMBINED}
BATCH_BLOCKS = 1 << 16  # blocks held at a time: bounds the memory
_EQUITY = np.array([2.0, 1.0, 1.0, -1.0, -1.0])


class RolloutResult(NamedTuple):
    """One row a position, for the player on roll before the roll.

    Chances are unbiased means, so a chance near 0 may come out slightly negative; `legal_chances` are limited to 0 to
    1.
    """

    chances: Values  # [n, 5]
    standard_errors: Values  # [n, 5]
    equities: Values  # [n] cubeless
    equity_standard_errors: Values  # [n]
    plain_standard_errors: Values  # [n] what those of the equities were if luck had not been subtracted
    trials: NDArray[np.int64]  # [n]

    def legal_chances(self) -> NDArray[np.float32]:
        """float32[n, 5]: chances limited to 0 to 1 and to their order, as files of training data need them."""
        return ordered_chances(self.chances)

    @property
    def reductions(self) -> Values:
        """float64[n]: how many times smaller subtracting luck made the standard errors of the equities; NaN for 0 /
        0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.plain_standard_errors / self.equity_standard_errors)

    def rows(self, chosen: NDArray[np.int64]) -> Self:
        """The chosen rows, in the given order."""
        columns: Iterator[Any] = (column[chosen] for column in self)
        return type(self)(*columns)

    @classmethod
    def joined(cls, results: list[Self]) -> Self:
        """The rows of all results, of which there must be at least one."""
        return cls(*map(np.concatenate, zip(*results, strict=True)))


class RolloutSettings(NamedTuple):
    """Settings of a rollout; by default every game is played to an exact table or to its end."""

    stop: str = "exact"  # of STOPS: where a trial ends before the game does: nowhere, at exact tables, at any
    turns: int = 0  # rolls after which the static evaluation stands for the rest; 0: any number
    with_luck: bool = True  # whether to subtract luck; the games are the same
    likely: int = 6  # plays of each roll that luck is seen by, by PubEval's choice; 0: all
    play_ply: int = 0  # 0 or 1: how far the plays of both sides are chosen ahead

    def for_kernels(self, seed: int) -> KernelSettings:
        """The settings as numbers for kernels. Raises UsageError for values out of range or unknown words."""
        if self.stop not in STOPS:
            raise UsageError(f"expected a rollout to stop at one of {', '.join(STOPS)}, got {self.stop!r}")
        if not 0 <= seed < 1 << 63:
            raise UsageError(f"expected a seed from 0 to 2^63 - 1, got {seed}")
        if not 0 <= self.turns < LAST_TURN:
            raise UsageError(f"expected 0 turns (to the end) or more, up to {LAST_TURN - 1}, got {self.turns}")
        if self.play_ply not in (0, 1):
            raise UsageError(f"expected plays chosen at 0-ply or 1-ply, got {self.play_ply}-ply")
        turns, likely = self.turns or LAST_TURN, likely_plays(self.likely)
        ahead = likely_plays(LIKELY if self.likely else 0)
        return KernelSettings(seed, turns, int(STOPS[self.stop]), self.with_luck, likely, ahead, self.play_ply)


PLAIN = RolloutSettings()
LEAST_ERROR, MOST_ERROR = 1e-50, 1e3  # points that may be asked for: the number of games goes with their square


class Limits(NamedTuple):
    """The number of trials: rounds of `trials` until the standard error is small enough."""

    trials: int = SUPERBLOCK
    until: float = math.inf  # points that the standard error of the equity may have
    most_trials: int = 0  # a multiple of `trials`; 0: one round

    @classmethod
    def rounds(cls, trials: int, until: float | None, most_trials: int) -> Limits:
        """One round of `trials`, or, with a standard error to reach, rounds of them up to `most_trials`."""
        return cls(trials) if until is None else cls(trials, until, most_trials)

    @property
    def most(self) -> int:
        """Trials that there are at most."""
        return self.most_trials or self.trials

    def check(self) -> None:
        """Raise UsageError unless these trials give a standard error, and come to an end."""
        if self.trials > MOST_TRIALS:
            raise UsageError(f"expected at most {MOST_TRIALS:,} trials, got {self.trials}")
        if self.trials < 2 * BLOCK or self.trials % BLOCK:
            raise UsageError(f"expected a multiple of {BLOCK} trials, at least {2 * BLOCK}, got {self.trials}")
        if not self.until > 0:
            raise UsageError(f"expected a standard error above 0, got {self.until}")
        if not (LEAST_ERROR <= self.until <= MOST_ERROR or self.until == math.inf):
            raise UsageError(f"expected a standard error from {LEAST_ERROR:g} to {MOST_ERROR:g}, got {self.until}")
        if self.most_trials % self.trials or not 0 <= self.most_trials <= MOST_TRIALS:
            raise UsageError(f"expected most trials to be a multiple of {self.trials}, got {self.most_trials}")


def roll_out(
    boards: Boards,
    chooser: Chooser,
    trials: int = SUPERBLOCK,
    seed: int = 0,
    settings: RolloutSettings = PLAIN,
    *,
    until: float = math.inf,
    most_trials: int = 0,
    items: NDArray[np.int64] | None = None,
    through: Through = lambda rolled: rolled,
) -> RolloutResult:
    """Roll out int8[n, 26] boards, each with `trials` trials: a multiple of 36, at least 72.

    With `until` there are more rounds of `trials`, up to `most_trials` in all (a multiple of `trials`), until the
    standard error of the equity is at most `until` points; a position that does not reach it keeps its larger one.
    Board i has the dice of items[i] of the seed (int64[n], 0 or more; by default i). The result of a position depends
    on nothing else, neither on other positions nor on threads; but with `until`, boards of one item have as many rounds
    as the slowest of those that are rolled out together, in the same batch. `through` is that of `rolled_blocks`, once
    for each batch, with rows of all boards. Raises UsageError for numbers out of range and for a player without
    networks, and InvalidPositionError.
    """
    numbers = numbers_of(boards, items)
    limits = Limits(trials, until, most_trials)
    step = max(1, BATCH_BLOCKS * BLOCK // max(trials, most_trials, 1))
    results = []
    for start in range(0, max(len(boards), 1), step):
        rows, of_batch = slice(start, start + step), _of_batch(through, start)
        blocks = rolled_blocks(boards[rows], chooser, seed, settings, limits, numbers[rows], numbers[rows], of_batch)
        results += [result_of(found[None]) for found in blocks]
    return RolloutResult.joined(results) if results else result_of(np.empty((0, 2, 2, 5)))


def _of_batch(through: Through, start: int) -> Through:
    """The same for a batch of boards that begins at `start`: `through` counts rows from the first of all boards."""

    def of_batch(rolled: Rolled) -> Rolled:
        roll = through(lambda rows, begin, end: rolled(rows - start, begin, end))
        return lambda rows, begin, end: roll(rows + start, begin, end)

    return of_batch


def rolling(
    board: Boards, chooser: Chooser, trials: int, most_trials: int, seed: int = 0, settings: RolloutSettings = PLAIN
) -> Iterator[RolloutResult]:
    """The result of `roll_out` for one int8[26] board after each round of `trials`, up to `most_trials` in all: whoever
    watches it may stop at any time. Raises what `roll_out` raises."""
    Limits(trials, most_trials=most_trials).check()
    require_networks(chooser, "to roll out")
    kernel_settings, count = settings.for_kernels(seed), trials // BLOCK
    boards, items, blocks = board[None], numbers_of(board[None], None), np.empty((1, 0, 2, 5))
    for begin in range(0, most_trials // BLOCK, count):
        found = np.empty((1, count, 2, 5))
        arrays = np.ascontiguousarray(boards), items, np.full(1, begin, np.int64), found
        in_threads(fill_blocks, count, chooser, kernel_settings, *arrays)
        blocks = np.concatenate([blocks, found], axis=1)
        yield result_of(blocks)


def rolled_blocks(
    boards: Boards,
    chooser: Chooser,
    seed: int,
    settings: RolloutSettings,
    limits: Limits,
    items: NDArray[np.int64],
    groups: NDArray[np.int64],
    through: Through = lambda rolled: rolled,
) -> list[Values]:
    """float64[blocks, 2, 5] for each int8[n, 26] board: means of the final chances and of the luck in blocks of 36
    trials. Boards of a group (int64[n]) have the same number of blocks: as many as the slowest of their standard errors
    needs.

    `through` is given the function that rolls out blocks and returns a function to call in its place, which may ask for
    fewer blocks at a time, watch them, and have some of them from before.

    Raises UsageError for wrong limits and for a player without networks.
    """
    limits.check()
    require_networks(chooser, "to roll out")
    kernel_settings, count = settings.for_kernels(seed), limits.trials // BLOCK
    boards, rows = np.ascontiguousarray(boards), np.arange(len(boards))
    blocks = [np.empty((0, 2, 5))] * len(boards)

    def rolled(rows: NDArray[np.int64], begin: int, end: int) -> Values:
        found = np.empty((len(rows), end - begin, 2, 5))
        arrays = boards[rows], items[rows], np.full(len(rows), begin, np.int64), found
        in_threads(fill_blocks, found.shape[0] * found.shape[1], chooser, kernel_settings, *arrays)
        return found

    roll = through(rolled)
    for number in range(max(1, limits.most_trials // limits.trials)):
        found = roll(rows, number * count, (number + 1) * count)
        for row, more in zip(rows.tolist(), found, strict=True):
            blocks[row] = np.concatenate([blocks[row], more])
        errors = [result_of(blocks[row][None]).equity_standard_errors[0] for row in rows.tolist()]
        rows = rows[np.isin(groups[rows], groups[rows][~(np.array(errors) <= limits.until)])]
        if not len(rows):
            break
    return blocks


def numbers_of(boards: Boards, items: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """int64[n]: the given items, or 0 to n - 1. Raises UsageError and InvalidPositionError."""
    check_legal_boards(np.ascontiguousarray(check_boards(boards)))
    numbers = np.arange(len(boards), dtype=np.int64) if items is None else np.asarray(items, np.int64)
    if numbers.shape != (len(boards),) or (numbers < 0).any():
        raise UsageError(f"expected {len(boards)} items not below 0, got {numbers.tolist()[:5]}")
    return numbers


def result_of(blocks: Values) -> RolloutResult:
    """Means and standard errors from the float64[n, blocks, 2, 5] of `rolled_blocks`, at least two blocks for each
    board."""
    n, count = blocks.shape[:2]
    values = np.empty((n, count, 7))
    plain, luck = blocks[:, :, 0], blocks[:, :, 1]
    values[:, :, :5] = plain - luck
    for place, chances in ((5, values), (6, plain)):
        values[:, :, place] = equities_of(chances)
    means, errors = np.empty((n, 7)), np.empty((n, 7))
    fill_statistics(values, means, errors)
    trials = np.full(n, count * BLOCK, np.int64)
    return RolloutResult(means[:, :5], errors[:, :5], means[:, 5], errors[:, 5], errors[:, 6], trials)


def equities_of(chances: Values) -> Values:
    """float64[...]: cubeless equity of float64[..., 5 or more] chances, summed in their order."""
    total = 2.0 * chances[..., 0] - 1.0
    for place in range(1, 5):
        total = total + _EQUITY[place] * chances[..., place]
    return np.asarray(total)
