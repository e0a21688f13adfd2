"""Rollouts: what a position is worth when a player with networks plays both sides to the end, many times.

The luck of every roll, which averages to zero, is subtracted from each of the five chances (`roll_values`): the mean
stays the same, and the standard error falls to a fraction. First and second rolls are dealt out evenly.

A standard error comes from blocks of 36 trials, each of which has every first and every second roll once. That blocks
share out the pairs of these two rolls evenly makes the true error a little smaller still: stated ones are never too
small on that account.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.bearoff_kernels import BearoffSource
from bgdata.evaluation.choices import NETWORK, Brain
from bgdata.game.codec import Boards, check_boards, check_legal_boards
from bgdata.play.rollout_kernels import (
    BLOCK,
    LAST_TURN,
    MOST_TRIALS,
    SUPERBLOCK,
    Settings,
    fill_blocks,
    fill_statistics,
)

Values = NDArray[np.float64]
STOPS = {"end": BearoffSource.NONE, "exact": BearoffSource.EXACT, "tables": BearoffSource.COMBINED}
BATCH_BLOCKS = 1 << 16  # blocks held at a time: bounds the memory
_EQUITY = np.array([2.0, 1.0, 1.0, -1.0, -1.0])


class RolloutResult(NamedTuple):
    """One row a position, for the player on roll before the roll.

    Chances are means without bias, so that one near 0 may come out a little below it; `legal_chances` are not.
    """

    chances: Values  # [n, 5]
    standard_errors: Values  # [n, 5]
    equities: Values  # [n] cubeless
    equity_standard_errors: Values  # [n]
    plain_standard_errors: Values  # [n] what those of the equities were if luck had not been subtracted
    trials: NDArray[np.int64]  # [n]

    def legal_chances(self) -> NDArray[np.float32]:
        """float32[n, 5]: chances held to 0 to 1 and to their order, as files of training data want them."""
        chances = self.chances.astype(np.float32)
        win = np.clip(chances[:, 0], 0, 1)
        win_gammon, lose_gammon = np.clip(chances[:, 1], 0, win), np.clip(chances[:, 3], 0, np.float32(1) - win)
        win_backgammon = np.clip(chances[:, 2], 0, win_gammon)
        lose_backgammon = np.clip(chances[:, 4], 0, lose_gammon)
        return np.stack([win, win_gammon, win_backgammon, lose_gammon, lose_backgammon], axis=1)

    @property
    def reductions(self) -> Values:
        """float64[n]: how many times smaller luck made the standard errors of the equities; NaN for 0 / 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.plain_standard_errors / self.equity_standard_errors)

    @classmethod
    def joined(cls, results: list[Self]) -> Self:
        """The rows of all results, at least one."""
        return cls(*map(np.concatenate, zip(*results, strict=True)))


class How(NamedTuple):
    """How to roll out; the defaults play every game to an exact table or to its end."""

    stop: str = "exact"  # of STOPS: where a trial ends before the game does: nowhere, at exact tables, at any
    turns: int = 0  # rolls after which the static evaluation stands for the rest; 0: any number
    with_luck: bool = True  # whether to subtract luck; the games are the same

    def settings(self, seed: int) -> Settings:
        """For kernels. Raises UsageError for numbers or words that mean nothing."""
        if self.stop not in STOPS:
            raise UsageError(f"expected a rollout to stop at one of {', '.join(STOPS)}, got {self.stop!r}")
        if not 0 <= seed < 1 << 63:
            raise UsageError(f"expected a seed from 0 to 2^63 - 1, got {seed}")
        if not 0 <= self.turns < LAST_TURN:
            raise UsageError(f"expected 0 turns (to the end) or more, up to {LAST_TURN - 1}, got {self.turns}")
        return Settings(seed, self.turns or LAST_TURN, int(STOPS[self.stop]), self.with_luck)


PLAIN = How()


def roll_out(
    boards: Boards,
    brain: Brain,
    trials: int = SUPERBLOCK,
    seed: int = 0,
    how: How = PLAIN,
    items: NDArray[np.int64] | None = None,
) -> RolloutResult:
    """Rolls int8[n, 26] boards out, each in so many trials: a multiple of 36, at least 72.

    Board i has the dice of items[i] of the seed, int64[n], not below 0; of item i if none are given. The result of a
    position depends on nothing else: not on other positions, batches or threads. Raises UsageError for numbers beyond
    these and for a player without networks, and InvalidPositionError.
    """
    check_trials(trials, brain)
    settings, numbers = how.settings(seed), numbers_of(boards, items)
    step = max(1, BATCH_BLOCKS * BLOCK // trials)
    results = []
    for start in range(0, max(len(boards), 1), step):
        rows = slice(start, start + step)
        first = np.zeros(len(boards[rows]), np.int64)
        results.append(result_of(rolled_blocks(boards[rows], brain, settings, numbers[rows], first, trials // BLOCK)))
    return RolloutResult.joined(results)


def roll_out_until(
    boards: Boards,
    brain: Brain,
    until: float,
    most_trials: int,
    trials: int = SUPERBLOCK,
    seed: int = 0,
    how: How = PLAIN,
    items: NDArray[np.int64] | None = None,
) -> RolloutResult:
    """`roll_out` in rounds of `trials` until each equity has a standard error of at most `until` points.

    A position that does not get there in `most_trials`, a multiple of `trials`, has as many and the larger standard
    error that it got to. Raises as `roll_out` does.
    """
    check_trials(trials, brain)
    if not until > 0 or most_trials < trials or most_trials % trials or most_trials > MOST_TRIALS:
        raise UsageError(
            f"expected a standard error above 0 and most trials a multiple of {trials}, got {until} and {most_trials}"
        )
    settings, numbers = how.settings(seed), numbers_of(boards, items)
    step = max(1, BATCH_BLOCKS * BLOCK // most_trials)
    results = []
    for start in range(0, max(len(boards), 1), step):
        rows = slice(start, start + step)
        limits = until, most_trials // trials, trials // BLOCK
        results.append(_rounds(np.ascontiguousarray(boards[rows]), brain, settings, numbers[rows], limits))
    return RolloutResult.joined(results)


def _rounds(
    boards: Boards, brain: Brain, settings: Settings, items: NDArray[np.int64], limits: tuple[float, int, int]
) -> RolloutResult:
    """Rounds of so many blocks, until the standard error is small enough or there were so many rounds."""
    until, most_rounds, count = limits
    rows = np.arange(len(boards))
    blocks = np.empty((len(rows), 0, 2, 5))
    result = RolloutResult(*(np.zeros((len(rows), *shape), dtype) for shape, dtype in _SHAPES))
    for number in range(most_rounds):
        first = np.full(len(rows), number * count, np.int64)
        more = rolled_blocks(boards[rows], brain, settings, items[rows], first, count)
        blocks = np.concatenate([blocks, more], axis=1)
        found = result_of(blocks)
        for values, new in zip(result, found, strict=True):
            values[rows] = new
        is_open = ~(found.equity_standard_errors <= until)
        rows, blocks = rows[is_open], blocks[is_open]
        if not len(rows):
            break
    return result


_SHAPES = (((5,), float), ((5,), float), ((), float), ((), float), ((), float), ((), np.int64))


def check_trials(trials: int, brain: Brain) -> None:
    """Raises UsageError unless there is a standard error for so many trials, and networks to play them."""
    if trials < 2 * BLOCK or trials % BLOCK or trials > MOST_TRIALS:
        raise UsageError(f"expected a multiple of {BLOCK} trials, at least {2 * BLOCK}, got {trials}")
    if brain.kind != NETWORK:
        raise UsageError("expected a player with networks to roll out, got one that only chooses plays")


def numbers_of(boards: Boards, items: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """int64[n]: the given items, or 0 to n - 1. Raises UsageError and InvalidPositionError."""
    check_legal_boards(np.ascontiguousarray(check_boards(boards)))
    numbers = np.arange(len(boards), dtype=np.int64) if items is None else np.asarray(items, np.int64)
    if numbers.shape != (len(boards),) or (numbers < 0).any():
        raise UsageError(f"expected {len(boards)} items not below 0, got {numbers.tolist()[:5]}")
    return numbers


def rolled_blocks(
    boards: Boards,
    brain: Brain,
    settings: Settings,
    items: NDArray[np.int64],
    first: NDArray[np.int64],
    count: int,
) -> Values:
    """float64[n, count, 2, 5]: means of the chances at the end and of the luck in blocks first[i] to first[i] + count
    - 1 of each board, 36 trials each."""
    blocks = np.empty((len(boards), count, 2, 5))
    fill_blocks(brain, settings, np.ascontiguousarray(boards), items, first, blocks)
    return blocks


def result_of(blocks: Values) -> RolloutResult:
    """Means and standard errors of `rolled_blocks`, at least two a board."""
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
    """float64[...]: cubeless equity of float64[..., 5 or more] chances, added up in their order."""
    total = 2.0 * chances[..., 0] - 1.0
    for place in range(1, 5):
        total = total + _EQUITY[place] * chances[..., place]
    return np.asarray(total)
