"""The value of each of the 21 rolls: the basis of luck, and of rollouts that subtract it.

The luck of a roll is its value, that of the position after the best play, less the mean of the values of all 21 rolls,
found by the same player at the same ply: so it averages to zero exactly, however well it plays (Zare, "A Measure of
Luck" and "Hedging toward skill", GammonVillage 2000). The first roll of a game is never a double, so there the mean is
over the other 15 rolls.

Luck averages to zero whichever plays are considered, and most plays of a roll need no network: PubEval, in a fraction
of its time, selects the likely ones, by its weights for contact or for races. Values at 1-ply and 2-ply from 18 of them
differ from those of all by 0.0008 and 0.0009 points in positions of self-play (root mean square), from 12 by 0.0016,
from 8 by 0.004; rollouts are most accurate for their time with 6 to 12.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.answers import Scratch, fill_all_chances, lowest_of, new_scratch, start_plays
from bgdata.evaluation.bearoff_kernels import BearoffArrays
from bgdata.evaluation.chances import Chances, equity_of, fill_turned
from bgdata.evaluation.cube_values import CubeStakes
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.pubeval import published_tables
from bgdata.evaluation.pubeval_kernels import NO_SCORES, ScoreTables, is_off, score
from bgdata.game.board_kernels import class_of
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards
from bgdata.game.dice import ROLLS
from bgdata.game.play_kernels import MOST_NOTES, MOST_PLAYS, Notes, fill_plays
from bgdata.kernel import kernel

LIKELY = 18  # plays of a roll in values one roll ahead
OF_LUCK = 8  # in the luck of the rolls of games
MOST_LIKELY = 21  # plays of a roll: what scratch has room for
_LOWEST, _HIGHEST, _RACE = -(1 << 62), 1 << 62, int(PositionClass.RACE)
_DICE = np.array([(roll.high, roll.low) for roll in ROLLS], np.int8)
_WEIGHTS = np.array([roll.weight for roll in ROLLS], np.float64) / 36.0
# by high * 6 + low - 7: the place in ROLLS
_PLACES = np.zeros(36, np.int64)
for _place, _roll in enumerate(ROLLS):
    _PLACES[_roll.high * 6 + _roll.low - 7] = _PLACES[_roll.low * 6 + _roll.high - 7] = _place


class LikelyPlays(NamedTuple):
    """Which plays of a roll are evaluated: the `most` that PubEval scores highest, or all if it is 0."""

    most: int
    scores: ScoreTables


ALL_PLAYS = LikelyPlays(0, NO_SCORES)


def likely_plays(most: int = LIKELY) -> LikelyPlays:
    """The `most` likely plays of a roll, 0: all. Raises UsageError for a number out of range."""
    if not 0 <= most <= MOST_LIKELY:
        raise UsageError(f"expected 1 to {MOST_LIKELY} likely plays of a roll, or 0 for all, got {most}")
    return LikelyPlays(most, published_tables())


class RollScratch(NamedTuple):
    """Scratch of one thread, and the results for one position."""

    evaluation: Scratch
    after: Boards  # [MOST_PLAYS, 26] plays of one roll
    notes: Notes
    scores: NDArray[np.int64]  # [MOST_PLAYS] of PubEval
    plays: Boards  # [21 * MOST_PLAYS, 26] those of all rolls that are evaluated
    chances: Chances  # [21 * MOST_PLAYS, 5] of the OPPONENT after each
    sources: NDArray[np.int8]  # [21 * MOST_PLAYS]
    ends: NDArray[np.int64]  # [21] of the plays of each roll
    best: Boards  # [21, 26] after the best play of each roll, seen by the player who moved
    values: Chances  # [21, 5] chances of that player after it
    mean: NDArray[np.float64]  # [5] over all rolls


@kernel()
def new_roll_scratch(networks: Networks) -> RollScratch:
    """Scratch for one thread."""
    return RollScratch(
        new_scratch(networks),
        np.empty((MOST_PLAYS, 26), np.int8),
        np.empty(MOST_NOTES, np.int64),
        np.empty(MOST_PLAYS, np.int64),
        np.empty((len(_DICE) * MOST_PLAYS, 26), np.int8),
        np.empty((len(_DICE) * MOST_PLAYS, 5), np.float32),
        np.empty(len(_DICE) * MOST_PLAYS, np.int8),
        np.empty(len(_DICE), np.int64),
        np.empty((len(_DICE), 26), np.int8),
        np.empty((len(_DICE), 5), np.float32),
        np.empty(5, np.float64),
    )


@kernel(borrows=True)
def roll_place(die: int, other_die: int) -> int:
    """Place of a roll in `dice.ROLLS`."""
    return int(_PLACES[die * 6 + other_die - 7])


@kernel(borrows=True)
def fill_roll_values(
    networks: Networks,
    tables: BearoffArrays,
    likely: LikelyPlays,
    board: Boards,
    scratch: RollScratch,
    stakes: CubeStakes | None = None,
) -> None:
    """Fills scratch.best[roll, slot], scratch.values[roll, 0:5] and scratch.mean[0:5] for board[slot] before the roll,
    from all plays or the likely ones; the best by these stakes, as `answers.choose_by_chances`."""
    for item in range(5):
        scratch.mean[item] = 0.0
    kind, end = int(class_of(board) <= _RACE), 0
    for roll in range(len(_DICE)):
        n = fill_plays(board, _DICE[roll, 0], _DICE[roll, 1], scratch.after, scratch.notes)
        end += fill_likely(likely, kind, n, scratch, scratch.plays[end:])
        scratch.ends[roll] = end
    plays, chances, sources = scratch.plays, scratch.chances, scratch.sources
    start_plays(board, scratch.evaluation)
    fill_all_chances(networks, tables, plays, 0, end, True, scratch.evaluation, chances, sources)
    begin = 0
    for roll in range(len(_DICE)):
        end = scratch.ends[roll]
        best = lowest_of(tables, plays, begin, end, chances, sources, scratch.evaluation.board, stakes)
        for slot in range(26):
            scratch.best[roll, slot] = plays[best, slot]
        fill_turned(chances[best], scratch.values[roll])
        for item in range(5):
            scratch.mean[item] += _WEIGHTS[roll] * scratch.values[roll, item]
        begin = end


@kernel(borrows=True)
def fill_likely(likely: LikelyPlays, kind: int, n: int, scratch: RollScratch, plays: Boards) -> int:
    """Fills plays[0:k, slot] with the rows of scratch.after[0:n, slot] and returns k: with all of them if there are no
    more than likely.most, or if that is 0, else with those of the highest scores for contact (kind 0) or a race (1),
    the highest first, of equals the first. A play that ends the game scores higher than all others."""
    found, after, most = scratch.scores, scratch.after, likely.most
    if not 0 < most < n:
        for play in range(n):
            for slot in range(26):
                plays[play, slot] = after[play, slot]
        return n
    for play in range(n):
        found[play] = _HIGHEST if is_off(after, play) else score(likely.scores, kind, after, play)
    for place in range(most):
        highest = 0
        for play in range(1, n):
            if found[play] > found[highest]:
                highest = play
        found[highest] = _LOWEST
        for slot in range(26):
            plays[place, slot] = after[highest, slot]
    return most


@kernel(borrows=True)
def mean_equity(scratch: RollScratch, is_opening: bool) -> float:
    """Mean equity over all rolls that `fill_roll_values` has filled scratch.values for, without the doubles if this is
    the first roll of a game."""
    total, n = 0.0, 0
    for roll in range(len(_DICE)):
        is_double = _DICE[roll, 0] == _DICE[roll, 1]
        if not (is_double and is_opening):
            ways = 1 if is_double else 2
            total += ways * equity_of(scratch.values[roll])
            n += ways
    return total / n
