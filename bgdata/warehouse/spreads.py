"""Which positions a version holds: how many there are by pips, for a picture that tells corpora and files apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bgdata.game.codec import pip_counts
from bgdata.store.table import Table

GROUP_PIPS = 10  # pip counts that make one group
# arrays of int8[n, 26] boards of the player on roll, the one that a version is about first
BOARDS = ("boards", "turn_boards", "decisions_boards")


class PipSpread(NamedTuple):
    """Positions of a version by pips of the player on roll, in groups of `GROUP_PIPS` from 0 up."""

    pips: list[int]  # where each group begins
    percents: list[float]  # of all positions, for each group


def pip_spread(table: Table) -> PipSpread | None:
    """How the positions of a version spread over pips; None for a version that holds none."""
    arrays = table.arrays()
    boards = next((arrays[name] for name in BOARDS if name in arrays), None)
    if boards is None or not len(boards):
        return None
    counts = np.bincount(pip_counts(boards)[:, 0] // GROUP_PIPS)
    return PipSpread(
        [GROUP_PIPS * group for group in range(len(counts))],
        [round(100 * int(count) / len(boards), 2) for count in counts],
    )
