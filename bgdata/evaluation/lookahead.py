"""Looking ahead with any evaluator: the value of a position is the mean over 21 rolls of that after the best reply.

At ply 1 the replies are chosen and valued by the evaluator itself; at ply n they are chosen by it and valued at ply
n - 1. Positions that the rules or a table answer are not looked into. A filter lets only the better plays of a decision
reach the deeper plies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import Chances, cubeless_equities, turned_chances
from bgdata.evaluation.evaluator import Evaluations, Evaluator, Source
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.dice import ROLLS
from bgdata.game.play_kernels import batch_plays

MOST_PLY = 3
BATCH = 128  # positions looked into at a time: bounds the memory
_DICE = np.array([(roll.high, roll.low) for roll in ROLLS], np.int8)
_WEIGHTS = np.array([roll.weight for roll in ROLLS], np.float64) / 36
_LAST_FINAL = int(max(source for source in Source if source.is_final))


class PlayFilter(NamedTuple):
    """Which plays of a decision go on to the next ply: the best `keep` of those within `window` points of the best."""

    keep: int
    window: float


# of the static evaluations for ply 1, of ply 1 for ply 2, ...
FILTERS = (PlayFilter(8, 0.16), PlayFilter(4, 0.08), PlayFilter(2, 0.04))


class Ranked(NamedTuple):
    """The plays of some decisions: those of decision i are rows offsets[i] to offsets[i + 1], in the order of
    `plays.legal_plays`."""

    offsets: NDArray[np.int64]  # [n + 1]
    boards: Boards  # [k, 26] after the play, the OPPONENT on roll
    chances: Chances  # [k, 5] of the OPPONENT
    sources: NDArray[np.int8]  # [k]
    plies: NDArray[np.int8]  # [k] how far each was looked into

    @property
    def equities(self) -> NDArray[np.float32]:
        """float32[k]: cubeless equity of the player who moved."""
        return -cubeless_equities(self.chances)

    def best(self) -> NDArray[np.int64]:
        """int64[n]: the best play of each decision: among those looked into furthest, the first of equals."""
        depth = np.maximum.reduceat(self.plies, self.offsets[:-1])
        deepest = self.plies == np.repeat(depth, np.diff(self.offsets))
        return first_largest(np.where(deepest, self.equities, -np.inf), self.offsets)


def evaluate_ahead(evaluator: Evaluator, boards: Boards, ply: int) -> Evaluations:
    """Evaluations of int8[n, 26] boards at a ply of 0 (static) or more; the source is that of the static answer."""
    found = evaluator.evaluate_many(boards)
    if ply == 0:
        return found
    chances = found.chances.copy()
    open_rows = np.flatnonzero(found.sources > _LAST_FINAL)
    for start in range(0, len(open_rows), BATCH):
        rows = open_rows[start : start + BATCH]
        chances[rows] = _mean_after_rolls(evaluator, boards[rows], ply)
    return Evaluations(chances, found.sources)


def _mean_after_rolls(evaluator: Evaluator, boards: Boards, ply: int) -> Chances:
    """float32[n, 5]: chances over all rolls, the replies chosen by static evaluation and valued at ply - 1."""
    ranked = rank_all(evaluator, np.repeat(boards, len(_DICE), axis=0), np.tile(_DICE, (len(boards), 1)), 0)
    best = ranked.best()
    replies = ranked.boards[best]
    chances = ranked.chances[best] if ply == 1 else evaluate_ahead(evaluator, replies, ply - 1).chances
    own = turned_chances(chances).astype(np.float64).reshape(len(boards), len(_DICE), 5)
    mean = np.zeros((len(boards), 5))
    for roll, weight in enumerate(_WEIGHTS):  # in this order: sums of rounded numbers depend on it
        mean += weight * own[:, roll]
    return mean.astype(np.float32)


def rank_all(
    evaluator: Evaluator,
    boards: Boards,
    rolls: NDArray[np.integer],
    ply: int,
    filters: Sequence[PlayFilter] = FILTERS,
) -> Ranked:
    """Every play of int8[n, 26] boards and integers[n, 2] rolls, static, and those that pass the filters looked into.

    Raises InvalidPositionError and InvalidRollError as `play_kernels.batch_plays` does.
    """
    offsets, after_play = batch_plays(boards, rolls)
    after = flip_boards(after_play)
    chances, sources = evaluator.evaluate_many(after)
    ranked = Ranked(offsets, after, chances.copy(), sources, np.zeros(len(after), np.int8))
    for depth in range(1, ply + 1):
        rows = passing(ranked, filters[min(depth, len(filters)) - 1], depth)
        ranked.chances[rows] = evaluate_ahead(evaluator, after[rows], depth).chances
        ranked.plies[rows] = depth
    return ranked


def passing(ranked: Ranked, play_filter: PlayFilter, depth: int) -> NDArray[np.int64]:
    """int64[m]: the plays that the filter lets through to ply `depth`, among those that came as far as depth - 1; none
    of a decision with one play."""
    counts = np.diff(ranked.offsets)
    came = (ranked.plies == depth - 1) & np.repeat(counts > 1, counts)
    values = np.where(came, ranked.equities, -np.inf)
    decision = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((np.arange(len(values)), -values, decision))
    place = np.empty(len(values), np.int64)
    place[order] = np.arange(len(values)) - ranked.offsets[:-1][decision]
    best = np.maximum.reduceat(values, ranked.offsets[:-1])[decision]
    return np.flatnonzero(came & (place < play_filter.keep) & (values >= best - play_filter.window))


def first_largest(values: NDArray[np.floating], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[n]: the row of the largest of values[offsets[i]:offsets[i + 1]] for each i, the first of equals."""
    largest = np.repeat(np.maximum.reduceat(values, offsets[:-1]), np.diff(offsets))
    rows = np.where(values == largest, np.arange(len(values)), len(values))
    return np.asarray(np.minimum.reduceat(rows, offsets[:-1]))
