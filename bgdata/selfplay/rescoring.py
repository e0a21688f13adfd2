"""Rescored labels: exact chances of solved positions replace the outcomes of games.

The label of a position is the five chances that a network learns for it; without rescoring each is 0 or 1 by the
outcome of the game. A position that a table covers gets the chances of the table. An earlier position gets those of the
first covered position that its game reached, seen by its own side; this removes the luck of all later rolls. Games that
reach no covered position keep their outcome. (Lc0 rescores its games of self-play in this way with endgame tablebases.)

A luck-adjusted label subtracts luck instead. The value of a position is, on average, the value one turn later less the
luck of the roll in between, since luck is 0 on average however it is measured. Going backwards from the end of a game,
or from its first covered position, this gives every position an unbiased label without most of the noise of later
rolls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.bearoff_kernels import BearoffArrays, BearoffSource, bearoff_source, fill_bearoff_chances
from bgdata.evaluation.chances import Chances, cubeless_equities, fill_outcome_chances, fill_turned
from bgdata.game.codec import Boards
from bgdata.kernel import kernel, prange

_EXACT, _NONE = int(BearoffSource.EXACT), int(BearoffSource.NONE)


class GameOutcomes(NamedTuple):
    """Games in the form of `corpus.Corpus`: game g has the turns offsets[g] to offsets[g + 1], with the sides in
    turn."""

    outcomes: NDArray[np.int8]  # [games] points to player 0
    begins: NDArray[np.int8]  # [games] who rolls first: 0 or 1
    offsets: NDArray[np.int64]  # [games + 1]


class Labels(NamedTuple):
    """One row for each turn, seen by the player on roll before the roll."""

    outcomes: Chances  # [n, 5] 0 or 1, by how the game ended
    rescored: Chances  # [n, 5] rescored
    solved: NDArray[np.int64]  # [n] the row of the covered position that the label is from, -1 for the outcome


class RescoringReport(NamedTuple):
    """What rescoring changed. Variances and squares are of cubeless equities, in points squared."""

    positions: int
    rescored: int  # positions whose label is no longer the outcome
    covered: int  # those among them that a table covers themselves
    variance_before: float  # of the labels of all positions around their mean
    variance_after: float
    mean_square_change: float  # of all positions: the noise that is gone
    mean_square_change_covered: float  # of the covered ones: nan if there are none


def rescored_labels(tables: BearoffArrays, games: GameOutcomes, boards: Boards, *, combined: bool = False) -> Labels:
    """Labels of int8[n, 26] boards before the roll: the rows of the games, in order.

    A position is covered if the two-sided table has it, and with `combined` also if two one-sided distributions can be
    combined, which is an approximation. Labels are the same on any number of threads.
    """
    n = len(boards)
    labels = Labels(np.empty((n, 5), np.float32), np.empty((n, 5), np.float32), np.empty(n, np.int64))
    fill_labels(tables, combined, games.outcomes, games.begins, games.offsets, boards, *labels)
    return labels


def rescoring_report(labels: Labels) -> RescoringReport:
    """How much of the variance of labels rescoring removed; zeros without positions."""
    if len(labels.solved) == 0:
        return RescoringReport(0, 0, 0, 0.0, 0.0, 0.0, float("nan"))
    before, after = (cubeless_equities(each).astype(np.float64) for each in (labels.outcomes, labels.rescored))
    squares = (after - before) ** 2
    is_covered = labels.solved == np.arange(len(labels.solved))
    return RescoringReport(
        len(squares),
        int((labels.solved >= 0).sum()),
        int(is_covered.sum()),
        float(before.var()),
        float(after.var()),
        float(squares.mean()),
        float(squares[is_covered].mean()) if is_covered.any() else float("nan"),
    )


def luck_adjusted_equities(
    labels: Labels, offsets: NDArray[np.int64], lucks: NDArray[np.float32]
) -> NDArray[np.float32]:
    """float32[n]: cubeless equity of the player on roll before each roll, in points; game g has the rows offsets[g] to
    offsets[g + 1]. It is exact where a table covers the position, and NaN where the luck of the roll is unknown.

    The value after a game's last turn is its outcome. Summed game by game, so a game is the same in any corpus.
    """
    is_covered = labels.solved == np.arange(len(labels.solved))
    rescored = cubeless_equities(labels.rescored).astype(np.float64)
    adjusted = np.empty(len(lucks))
    ends, lengths = offsets[1:], np.diff(offsets)
    alive = np.flatnonzero(lengths)
    later = -cubeless_equities(labels.outcomes[ends[alive] - 1]).astype(np.float64)  # as who would roll next sees it
    for step in range(1, int(lengths.max(initial=0)) + 1):
        is_left = lengths[alive] >= step
        alive, later = alive[is_left], later[is_left]
        rows = ends[alive] - step
        later = np.where(is_covered[rows], rescored[rows], -later - lucks[rows])
        adjusted[rows] = later
    adjusted[np.isnan(lucks)] = np.nan
    return adjusted.astype(np.float32)


@kernel(parallel=True)
def fill_labels(
    tables: BearoffArrays,
    combined: bool,
    outcomes: NDArray[np.int8],
    begins: NDArray[np.int8],
    offsets: NDArray[np.int64],
    boards: Boards,
    outcome_labels: Chances,
    rescored: Chances,
    solved: NDArray[np.int64],
) -> None:
    """Fills outcome_labels[turn, 0:5], rescored[turn, 0:5] and solved[turn], for turns offsets[game]:offsets[game + 1]
    of boards[turn, slot], from the last to the first."""
    for game in prange(len(outcomes)):
        begin, end = offsets[game], offsets[game + 1]
        for turn in range(end - 1, begin - 1, -1):
            is_player_0 = (turn - begin + begins[game]) % 2 == 0
            fill_outcome_chances(outcomes[game] if is_player_0 else -outcomes[game], outcome_labels[turn])
            source = bearoff_source(tables, boards[turn])
            if source == _EXACT or (combined and source != _NONE):
                fill_bearoff_chances(tables, boards[turn], rescored[turn])
                solved[turn] = turn
            elif turn + 1 < end:
                fill_turned(rescored[turn + 1], rescored[turn])
                solved[turn] = solved[turn + 1]
            else:
                rescored[turn] = outcome_labels[turn]
                solved[turn] = -1
