"""Luck-adjusted labels: how games ended, or what tables say of where they got to, without what the dice did on the way.

A position is worth to the player on roll what the one a turn later is worth to it, less the luck of the roll between,
which is 0 on average whoever measures it. So from the end of a game, or from the first position there that a table
covers, backwards: fair labels of every position, with most of the noise of later rolls gone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import cubeless_equities
from bgdata.play.rescoring import Labels

Values = NDArray[np.float32]


def luck_adjusted_equities(labels: Labels, offsets: NDArray[np.int64], lucks: Values) -> Values:
    """float32[n]: cubeless points to the player on roll before each roll, game g having the rows offsets[g] to
    offsets[g + 1]; that of the table where it covers the position; NaN where the luck of the roll is not known.

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
