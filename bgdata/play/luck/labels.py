"""Luck-adjusted labels: outcomes of games, or exact values of positions that they reached, less the luck on the way.

The value of a position is, on average, the value one turn later less the luck of the roll in between, since luck is 0
on average however it is measured. Going backwards from the end of a game, or from its first position that a table
covers, this gives every position an unbiased label without most of the noise of later rolls.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import cubeless_equities
from bgdata.play.rescoring import Labels

Values = NDArray[np.float32]


def luck_adjusted_equities(labels: Labels, offsets: NDArray[np.int64], lucks: Values) -> Values:
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
