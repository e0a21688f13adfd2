"""Rollouts give the value of a position when a player with networks plays both sides to the end, many times.

The luck of every roll, which averages to zero, is subtracted from each of the five chances (variance reduction, see
`roll_values`). The mean stays the same, and the standard error falls to a fraction. First and second rolls are
stratified.

A standard error comes from blocks of 36 trials, each of which contains every first and every second roll once. Blocks
also share the pairs of these two rolls evenly, so the true error is a little smaller than the stated one, never larger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.bearoff_kernels import BearoffSource
from bgdata.evaluation.chances import ordered_chances
from bgdata.evaluation.choices import Chooser, require_networks
from bgdata.evaluation.lookahead import LIKELY
from bgdata.evaluation.roll_values import likely_plays
from bgdata.game.codec import Boards, check_boards, check_legal_boards
from bgdata.kernel import in_threads
from bgdata.selfplay.games import LOCKSTEP, checked_choices
from bgdata.selfplay.rollout_kernels import (
    BLOCK,
    LAST_TURN,
    MAX_TRIALS,
    SUPERBLOCK,
    KernelSettings,
    fill_blocks,
    fill_ends,
    fill_rolls,
    fill_statistics,
)

if TYPE_CHECKING:
    from bgdata.evaluation.player import Player

Values = NDArray[np.float64]
Rows = NDArray[np.int64]
Rolled = Callable[[Rows, Rows, int], Values]
"""A function that plays `count` blocks of the boards with these int64[rows] indexes, from int64[rows] first blocks on.
It returns float64[rows, blocks, 2, 5]."""
Wrapper = Callable[[Rolled], Rolled]
StillOpen = Callable[[list[Values]], NDArray[np.bool_]]
STOPS = {"end": BearoffSource.NONE, "exact": BearoffSource.EXACT, "tables": BearoffSource.COMBINED}
_EQUITY = np.array([2.0, 1.0, 1.0, -1.0, -1.0])


class RolloutResult(NamedTuple):
    """The result of a rollout: one row for each position, for the player on roll before the roll. Chances are unbiased
    means, so a chance near 0 may be slightly negative; `legal_chances` are limited to 0 to 1."""

    chances: Values  # [n, 5]
    standard_errors: Values  # [n, 5]
    equities: Values  # [n] cubeless
    equity_standard_errors: Values  # [n]
    plain_standard_errors: Values  # [n] standard errors of equities without subtracting luck
    trials: NDArray[np.int64]  # [n]

    def legal_chances(self) -> NDArray[np.float32]:
        """Return the chances as float32[n, 5], limited to 0 to 1 and put in order (a backgammon is also a gammon), for
        files of training data."""
        return ordered_chances(self.chances)

    def rows(self, chosen: NDArray[np.int64]) -> Self:
        """Return the rows whose indexes are `chosen`, in that order."""
        columns: Iterator[Any] = (column[chosen] for column in self)
        return type(self)(*columns)

    @classmethod
    def join(cls, results: list[Self]) -> Self:
        """Return one result with the rows of all `results`, of which there is at least one."""
        return cls(*map(np.concatenate, zip(*results, strict=True)))


class RolloutSettings(NamedTuple):
    """Settings of a rollout; by default every game is played to an exact table or to its end."""

    stop: str = "exact"  # one of STOPS: a trial ends with the game, at exact tables, or at any table
    turns: int = 0  # rolls after which a trial ends with the static evaluation; 0: never
    with_luck: bool = True  # whether to subtract luck; the games are the same
    likely: int = 6  # plays of each roll considered for luck, by PubEval's choice; 0: all
    play_ply: int = 0  # 0 or 1: ply at which both sides choose plays

    def for_kernels(self, seed: int) -> KernelSettings:
        """Return the settings as numbers for kernels, with the dice of `seed`. Raises UsageError if a value is out of
        range or a word unknown."""
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
MIN_ERROR, MAX_ERROR = 1e-50, 1e3  # limits of `until`, in points: games increase as 1 / until^2


class Limits(NamedTuple):
    """How many trials a rollout has: rounds of `trials` until the standard error is small enough."""

    trials: int = SUPERBLOCK
    until: float = math.inf  # largest standard error of the equity, in points
    most_trials: int = 0  # a multiple of `trials`; 0: one round

    @property
    def most(self) -> int:
        """The maximum number of trials of one position."""
        return self.most_trials or self.trials

    def check(self) -> None:
        """Raise UsageError if a rollout with these limits would have no standard error or would not end."""
        if self.trials > MAX_TRIALS:
            raise UsageError(f"expected at most {MAX_TRIALS:,} trials, got {self.trials}")
        if self.trials < 2 * BLOCK or self.trials % BLOCK:
            raise UsageError(f"expected a multiple of {BLOCK} trials, at least {2 * BLOCK}, got {self.trials}")
        if not self.until > 0:
            raise UsageError(f"expected a standard error above 0, got {self.until}")
        if not (MIN_ERROR <= self.until <= MAX_ERROR or self.until == math.inf):
            raise UsageError(f"expected a standard error from {MIN_ERROR:g} to {MAX_ERROR:g}, got {self.until}")
        if self.most_trials % self.trials or not 0 <= self.most_trials <= MAX_TRIALS:
            raise UsageError(f"expected most trials to be a multiple of {self.trials}, got {self.most_trials}")


def roll_out(
    boards: Boards,
    chooser: Chooser,
    limits: Limits | int = SUPERBLOCK,
    seed: int = 0,
    settings: RolloutSettings = PLAIN,
    *,
    items: Rows | None = None,
    wrap: Wrapper = lambda rolled: rolled,
) -> RolloutResult:
    """Roll out int8[n, 26] boards. `limits` is the number of trials of each board, a multiple of 36, at least 72, or
    `Limits`.

    If `limits.until` is set, rounds of `trials` are added, up to `most_trials` in all, until the standard error of the
    equity is at most `until` points; a position that does not reach it keeps its larger standard error. Board i gets
    the dice of items[i] of the seed (int64[n], 0 or more; by default i). The result of a position does not depend on
    other positions or on threads, with one exception: with `until`, boards of one item get as many rounds as the
    slowest of them. `wrap` is passed to `rolled_blocks`. Raises UsageError if numbers are out of range or the player
    has no networks, and InvalidPositionError if a board is illegal."""
    numbers, limits = numbers_of(boards, items), limits if isinstance(limits, Limits) else Limits(limits)
    still_open = open_groups(numbers, limits)
    blocks = rolled_blocks(boards, chooser, seed, settings, limits, numbers, still_open, wrap)
    return RolloutResult.join([result_of(np.empty((0, 2, 2, 5))), *(result_of(found[None]) for found in blocks)])


def rollout_rounds(
    board: Boards, chooser: Chooser, trials: int, most_trials: int, seed: int = 0, settings: RolloutSettings = PLAIN
) -> Iterator[RolloutResult]:
    """Roll out one int8[26] board, and yield its result after each round of `trials`, up to `most_trials` in all. The
    caller may stop after any round. Raises the errors of `roll_out`."""
    Limits(trials, most_trials=most_trials).check()
    require_networks(chooser, "to roll out")
    count, blocks = trials // BLOCK, np.empty((1, 0, 2, 5))
    roll_out_block = rolled_in_kernel(board[None], chooser, seed, settings, numbers_of(board[None], None))
    for begin in range(0, most_trials // BLOCK, count):
        blocks = np.concatenate([blocks, roll_out_block(np.arange(1), np.array([begin]), count)], axis=1)
        yield result_of(blocks)


def rolled_blocks(
    boards: Boards,
    chooser: Chooser,
    seed: int,
    settings: RolloutSettings,
    limits: Limits,
    items: Rows,
    still_open: StillOpen,
    wrap: Wrapper = lambda rolled: rolled,
) -> list[Values]:
    """Play the blocks of int8[n, 26] boards, and return float64[blocks, 2, 5] for each board: means of the final
    chances and of the luck in blocks of 36 trials. Board i has the dice of items[i] of the seed.

    All boards get one round of `limits.trials`, then open boards get more rounds, up to `limits.most_trials` each.
    `still_open` takes the blocks of all boards and returns bool[n], whether a board needs more games. A closed board
    may open again: it continues with its own next games, so its blocks depend on its number of games alone. `wrap`
    takes the function that rolls out blocks and returns a function to call instead of it, which may roll out fewer
    blocks at a time, show progress, or return blocks from an earlier run.

    Raises UsageError if limits are wrong or the player has no networks.
    """
    limits.check()
    require_networks(chooser, "to roll out")
    roll = wrap(rolled_in_kernel(boards, chooser, seed, settings, items))
    blocks, rows = [np.empty((0, 2, 5))] * len(boards), np.arange(len(boards))
    while len(rows):
        begins = np.array([len(blocks[row]) for row in rows.tolist()], np.int64)
        for row, more in zip(rows.tolist(), roll(rows, begins, limits.trials // BLOCK), strict=True):
            blocks[row] = np.concatenate([blocks[row], more])
        rows = np.flatnonzero(still_open(blocks) & (np.array([len(each) for each in blocks]) < limits.most // BLOCK))
    return blocks


def open_groups(groups: Rows, limits: Limits) -> StillOpen:
    """Return a function for `rolled_blocks` to call as `still_open`, for boards in groups (int64[n]). Boards of a group
    get the same number of blocks, as many as the slowest board needs for its standard error."""

    def still_open(blocks: list[Values]) -> NDArray[np.bool_]:
        errors = np.array([result_of(each[None]).equity_standard_errors[0] for each in blocks])
        return np.isin(groups, groups[~(errors <= limits.until)])

    return still_open


def rolled_in_kernel(
    boards: Boards, chooser: Chooser, seed: int, settings: RolloutSettings, items: NDArray[np.int64]
) -> Rolled:
    """Return a function that rolls out blocks of int8[n, 26] boards with a network for both sides."""
    kernel_settings, boards = settings.for_kernels(seed), np.ascontiguousarray(boards)

    def roll_out_block(rows: Rows, begins: Rows, count: int) -> Values:
        found = np.empty((len(rows), count, 2, 5))
        arrays = boards[rows], items[rows], begins, found
        in_threads(fill_blocks, len(rows) * count, chooser, kernel_settings, *arrays)
        return found

    return roll_out_block


def rolled_by(
    player: Player, boards: Boards, chooser: Chooser, seed: int, settings: RolloutSettings, items: NDArray[np.int64]
) -> Rolled:
    """Return a function that rolls out blocks of int8[n, 26] boards, for the `wrap` of `rolled_blocks`, with any player
    for both sides, such as gnubg or bgsage. The player chooses the plays of many games at a time.

    `chooser` contains the networks and tables that measure luck and end games. Luck averages to zero with any player.
    Raises UsageError if settings are wrong, and InvalidPositionError if the player's answers are not positions.
    """
    kernel_settings = settings.for_kernels(seed)

    def roll_out_block(rows: Rows, begins: Rows, count: int) -> Values:
        trials = (begins[:, None] * BLOCK + np.arange(count * BLOCK)).ravel()
        games = rows.repeat(count * BLOCK)
        found = np.empty((len(trials), 2, 5))
        for start in range(0, len(trials), LOCKSTEP):
            part = slice(start, start + LOCKSTEP)
            own_boards, own_items = boards[games[part]], items[games[part]]
            found[part] = played_trials(player, own_boards, chooser, kernel_settings, own_items, trials[part])
        blocks = found.reshape(len(rows), count, BLOCK, 2, 5)
        total = np.zeros((len(rows), count, 2, 5))
        for number in range(BLOCK):  # in the order of the kernel, on which rounding depends
            total += blocks[:, :, number]
        return total / BLOCK

    return roll_out_block


def played_trials(
    player: Player,
    boards: Boards,
    chooser: Chooser,
    settings: KernelSettings,
    items: NDArray[np.int64],
    trials: NDArray[np.int64],
) -> Values:
    """Play int64[n] trials of items from int8[n, 26] boards to the end. Returns float64[n, 2, 5]: the chances at the
    end and the luck of all rolls, both for the player first on roll."""
    ends, lucks = np.zeros((2, len(boards), 5))
    rows, boards, turn = np.arange(len(boards)), np.ascontiguousarray(boards), 0
    while True:
        is_end, chances = np.empty(len(rows), np.bool_), np.empty((len(rows), 5))
        in_threads(fill_ends, len(rows), chooser, settings, turn, boards, is_end, chances)
        ends[rows[is_end]] = chances[is_end]
        rows, boards = rows[~is_end], boards[~is_end]
        if not len(rows):
            return np.stack([ends, lucks], axis=1)
        rolls, luck = np.empty((len(rows), 2), np.int8), lucks[rows]
        in_threads(fill_rolls, len(rows), chooser, settings, turn, boards, items[rows], trials[rows], rolls, luck)
        lucks[rows] = luck
        boards = checked_choices(player, boards, rolls, trials[rows], turn)
        turn += 1


def numbers_of(boards: Boards, items: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return the numbers that choose the dice of each board, as int64[n]: `items`, or 0 to n - 1 by default. Raises
    UsageError if there are too few or too many, or if one is negative, and InvalidPositionError if a board is
    illegal."""
    check_legal_boards(np.ascontiguousarray(check_boards(boards)))
    numbers = np.arange(len(boards), dtype=np.int64) if items is None else np.asarray(items, np.int64)
    if numbers.shape != (len(boards),) or (numbers < 0).any():
        raise UsageError(f"expected {len(boards)} items not below 0, got {numbers.tolist()[:5]}")
    return numbers


def result_of(blocks: Values, worth: Callable[[Values], Values] | None = None) -> RolloutResult:
    """Return the means and standard errors of each board, from the float64[n, blocks, 2, 5] of `rolled_blocks`, with at
    least two blocks for each board. `worth` converts chances, float64[..., 5 or more], to equities; by default to
    cubeless equities in money play."""
    worth = worth or equities_of
    n, count = blocks.shape[:2]
    values, plain = np.empty((n, count, 7)), blocks[:, :, 0]
    values[:, :, :5] = plain - blocks[:, :, 1]
    values[:, :, 5], values[:, :, 6] = worth(values), worth(plain)
    means, errors = np.empty((2, n, 7))
    fill_statistics(values, means, errors)
    trials = np.full(n, count * BLOCK, np.int64)
    return RolloutResult(means[:, :5], errors[:, :5], means[:, 5], errors[:, 5], errors[:, 6], trials)


def equities_of(chances: Values) -> Values:
    """Return the cubeless equity of chances, float64[..., 5 or more], as float64[...]. Terms are added in a fixed
    order."""
    total = 2.0 * chances[..., 0] - 1.0
    for place in range(1, 5):
        total = total + _EQUITY[place] * chances[..., place]
    return np.asarray(total)


def mean_and_error(values: Values) -> tuple[Values, Values]:
    """Return the mean and its standard error for each column of float64[n, columns], both as float64[columns]. Values
    are added in order."""
    means, errors = np.empty((2, 1, values.shape[1]))
    fill_statistics(np.ascontiguousarray(values[None]), means, errors)
    return means[0], errors[0]


def difference_error(first: Values, second: Values) -> float:
    """Return the standard error of the mean of float64[n] `first` minus the mean of float64[m] `second`. Values at the
    same index, up to the smaller of n and m, are pairs with the same dice."""
    if len(first) < len(second):
        first, second = second, first
    n, m = len(first), len(second)
    # the mean of `first` is m/n times the mean of its paired values, plus a rest that is independent of `second`
    _, paired = mean_and_error((first[:m] * (m / n) - second)[:, None])
    _, alone = mean_and_error(first[:, None])
    return float(np.sqrt(paired[0] ** 2 + (n - m) / n * alone[0] ** 2))
