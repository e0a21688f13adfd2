"""Looks ahead with any evaluator: the value of a position is the mean, over the 21 rolls, of the value after the best
play. Networks look ahead by themselves, in `roll_values`.

Plays are chosen by static evaluation; for ply n, the positions after them are evaluated at ply n - 1. There is no
looking ahead from positions with final answers, from the rules or a table. Filters select the better plays of a
decision, which alone are evaluated at deeper plies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import LAST_FINAL, Chances, Evaluations, Evaluator, cubeless_equities, turned_chances
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.dice import ROLLS
from bgdata.game.play_kernels import batch_plays
from bgdata.game.rolls import DICE

REVISION = 2  # raised when an answer may change
MAX_PLY = 3
LIKELY = 18  # number of plays of a roll that networks evaluate: those with the highest PubEval scores
BATCH = 128  # number of positions at a time, to limit memory
MAX_ANSWERS = 1 << 16  # number of positions in a cache: some 20 MB

Number = TypeVar("Number", bound=np.generic)
Look = Callable[[Boards, int], Evaluations]  # evaluations of legal int8[n, 26] boards at a ply
# values of plays in points to the player who moved: from boards after them, their evaluations at a ply, and that ply
Worth = Callable[[Boards, Evaluations, int], NDArray[np.floating]]


class PlayFilter(NamedTuple):
    """Which plays of a decision are evaluated at the next ply: the best `keep` plays, if within `window` points of the
    best."""

    keep: int
    window: float


# filters that select plays by static evaluation for ply 1, by ply 1 for ply 2, ...
FILTERS = (PlayFilter(8, 0.16), PlayFilter(4, 0.08), PlayFilter(2, 0.04))


class Ranking(NamedTuple):
    """The evaluated plays of several decisions. The rows offsets[i] to offsets[i + 1] - 1 are the plays of decision i,
    in the order of `plays.legal_plays`."""

    offsets: NDArray[np.int64]  # [n + 1]
    boards: Boards  # [k, 26] after the play, the OPPONENT on roll
    chances: Chances  # [k, 5] of the OPPONENT
    sources: NDArray[np.int8]  # [k] `AnswerSource` numbers
    plies: NDArray[np.int8]  # [k] ply of each evaluation
    losses: NDArray[np.float32]  # [k] how much worse than the best play of the decision at that ply, in points
    values: NDArray[np.float32]  # [k] by which plays are ranked, for the player who moved: cubeless equity by default

    def best(self) -> NDArray[np.int64]:
        """Return the row of the best play of each decision, among its plays that were evaluated at the deepest ply, as
        int64[n]. Among equal plays, it is the first."""
        return first_largest_in_group(self._equities_at(largest_in_group(self.plies, self.offsets)), self.offsets)

    def _equities_at(self, plies: NDArray[np.int8]) -> NDArray[np.float32]:
        """Return the values of plays that were evaluated at ply plies[k], and minus infinity for all other plays, as
        float32[k]."""
        return np.where(self.plies == plies, self.values, np.float32(-np.inf))

    def fill_losses(self) -> None:
        """Set the losses of the plays that were evaluated at the deepest ply of their decision. The losses of other
        plays do not change."""
        values = self._equities_at(largest_in_group(self.plies, self.offsets))
        np.subtract(largest_in_group(values, self.offsets), values, out=self.losses, where=values > -np.inf)


def evaluate_ahead(evaluator: Evaluator, boards: Boards, ply: int) -> Evaluations:
    """Evaluate int8[n, 26] boards at a ply of 0 (static) or more. The sources are those of the static evaluations. An
    evaluator with a method `evaluate_ahead(boards, ply)` looks ahead by itself, as networks do in a kernel. Raises
    InvalidPositionError if the evaluator does."""
    if ply and hasattr(evaluator, "evaluate_ahead"):
        by_itself: Evaluations = evaluator.evaluate_ahead(boards, ply)
        return by_itself
    found = evaluator.evaluate_many(boards)
    if ply == 0:
        return found
    chances = found.chances.copy()
    open_rows = np.flatnonzero(found.sources > LAST_FINAL)
    for start in range(0, len(open_rows), BATCH):
        rows = open_rows[start : start + BATCH]
        chances[rows] = _mean_after_rolls(evaluator, boards[rows], ply)
    return Evaluations(chances, found.sources)


class EvaluationCache:
    """A `Look` that caches up to `most` evaluations at ply 1 and above. A full cache is emptied. The evaluation of a
    board is always the same, to the last bit, so a cached evaluation equals a new one."""

    def __init__(self, evaluator: Evaluator, most: int = MAX_ANSWERS) -> None:
        self.evaluator, self.most = evaluator, most
        self._answers: dict[bytes, tuple[NDArray[np.float32], int]] = {}

    def __len__(self) -> int:
        return len(self._answers)

    def __call__(self, boards: Boards, ply: int) -> Evaluations:
        """Evaluate int8[n, 26] boards at a ply, or take the evaluations from the cache: see `evaluate_ahead`."""
        if ply == 0:
            return self.evaluator.evaluate_many(boards)
        keys = [bytes([ply]) + board.tobytes() for board in boards]
        known = [self._answers.get(key) for key in keys]
        missing = {key: row for row, (key, answer) in enumerate(zip(keys, known, strict=True)) if answer is None}
        new: dict[bytes, tuple[NDArray[np.float32], int]] = {}
        if missing:
            found = evaluate_ahead(self.evaluator, boards[list(missing.values())], ply)
            new = dict(zip(missing, zip(found.chances, found.sources.tolist(), strict=True), strict=True))
        if len(self._answers) + len(new) > self.most:
            self._answers.clear()
        self._answers.update(islice(new.items(), self.most))
        answers = [answer or new[key] for key, answer in zip(keys, known, strict=True)]
        chances = np.array([chances for chances, _ in answers], np.float32).reshape(-1, 5)
        return Evaluations(chances, np.array([source for _, source in answers], np.int8))


def best_replies(look: Look, boards: Boards) -> tuple[Boards, Chances]:
    """Choose the best play of each of the 21 rolls by static evaluation. Returns int8[21 n, 26], the boards after these
    plays with the opponent on roll, and float32[21 n, 5], the opponent's chances."""
    ranked = rank_all(look, np.repeat(boards, len(DICE), axis=0), np.tile(DICE, (len(boards), 1)), 0)
    best = ranked.best()
    return ranked.boards[best], ranked.chances[best]


def _mean_after_rolls(evaluator: Evaluator, boards: Boards, ply: int) -> Chances:
    """Compute the mean chances over all rolls, as float32[n, 5]. Plays are chosen by static evaluation, and the
    positions after them are evaluated at ply - 1."""
    look = partial(evaluate_ahead, evaluator)
    replies, chances = best_replies(look, boards)
    turned = turned_chances(chances if ply == 1 else look(replies, ply - 1).chances)
    own = turned.astype(np.float64).reshape(len(boards), len(DICE), 5)
    total = np.zeros((len(boards), 5))
    for number, roll in enumerate(ROLLS):  # fixed order, because sums of rounded numbers depend on it
        total += roll.weight * own[:, number]
    return (total / 36).astype(np.float32)


def cubeless_worth(_boards: Boards, found: Evaluations, _ply: int) -> NDArray[np.floating]:
    """Compute the cubeless equities of plays for the player who moved, from the opponent's evaluations, as
    float32[n]."""
    return -cubeless_equities(found.chances)


def rank_all(
    look: Look,
    boards: Boards,
    rolls: NDArray[np.integer],
    ply: int,
    filters: Sequence[PlayFilter] = FILTERS,
    worth: Worth = cubeless_worth,
) -> Ranking:
    """Rank all plays of int8[n, 26] boards and integers[n, 2] rolls by `worth`. Every play is evaluated statically, and
    at each deeper ply if it passes the filter for that ply. The last filter is used for all deeper plies. A forced play
    is only evaluated statically. Raises InvalidPositionError for an illegal board, and InvalidRollError for an invalid
    roll."""
    offsets, after_play = batch_plays(boards, rolls)
    after = flip_boards(after_play)
    found = look(after, 0)
    plies, losses = np.zeros(len(after), np.int8), np.zeros(len(after), np.float32)
    values = worth(after, found, 0).astype(np.float32)
    ranked = Ranking(offsets, after, found.chances.copy(), found.sources, plies, losses, values)
    ranked.fill_losses()
    for depth in range(1, ply + 1):
        rows = passing_plays(ranked, filters[min(depth, len(filters)) - 1], depth)
        found = look(after[rows], depth)
        ranked.chances[rows], ranked.values[rows] = found.chances, worth(after[rows], found, depth)
        ranked.plies[rows] = depth
        ranked.fill_losses()
    return ranked


def passing_plays(ranked: Ranking, play_filter: PlayFilter, depth: int) -> NDArray[np.int64]:
    """Return the rows of the plays that pass the filter to ply `depth`, among those evaluated at depth - 1, as
    int64[m]. Among equal plays, the higher cubeless equity is better. The only play of a decision never passes."""
    counts = np.diff(ranked.offsets)
    came = (ranked.plies == depth - 1) & np.repeat(counts > 1, counts)
    losses = np.where(came, ranked.losses, np.float32(np.inf))
    places = ranks_in_group(losses, ranked.offsets, cubeless_equities(ranked.chances))
    return np.flatnonzero(came & (places < play_filter.keep) & (losses <= play_filter.window))


def ranks_in_group(
    losses: NDArray[np.float32], offsets: NDArray[np.int64], then: NDArray[np.floating] | None = None
) -> NDArray[np.int64]:
    """Return the rank of each loss in its group losses[offsets[i]:offsets[i + 1]], from 0 for the smallest, as
    int64[k]. Equal losses are sorted by `then`, and then by their order."""
    group = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((losses, group) if then is None else (then, losses, group))  # stable
    places = np.empty(len(losses), np.int64)
    places[order] = np.arange(len(losses)) - offsets[:-1][group]
    return places


def largest_in_group(values: NDArray[Number], offsets: NDArray[np.int64]) -> NDArray[Number]:
    """Return, for each value, the largest value in its group values[offsets[i]:offsets[i + 1]], as an array [k]. No
    group may be empty."""
    largest: NDArray[Number] = np.repeat(np.maximum.reduceat(values, offsets[:-1]), np.diff(offsets))
    return largest


def first_largest_in_group(values: NDArray[np.floating], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row of the largest value in each group values[offsets[i]:offsets[i + 1]], as int64[n]. Among equal
    values, it is the first."""
    rows = np.where(values == largest_in_group(values, offsets), np.arange(len(values)), len(values))
    return np.asarray(np.minimum.reduceat(rows, offsets[:-1]))
