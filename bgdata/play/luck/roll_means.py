"""Values of positions at 1-ply: the mean over the 21 rolls of the chances after the best play of each.

They are better labels than the 0-ply evaluation, and the difference between both shows where looking ahead matters.
Positions whose answers are final, by the rules or a table, are not looked ahead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.answers import fill_chances
from bgdata.evaluation.bearoff_kernels import BearoffArrays
from bgdata.evaluation.chances import Chances, limit_chances, possible_outcomes
from bgdata.evaluation.evaluator import AnswerSource
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.roll_values import ALL_PLAYS, LikelyPlays, fill_roll_values, new_roll_scratch
from bgdata.game.codec import Boards, check_boards, check_legal_boards
from bgdata.kernel import in_threads, kernel

_LAST_FINAL = int(max(source for source in AnswerSource if source.is_final))


class RollMeans(NamedTuple):
    """One row a position, seen by the player on roll, before the roll."""

    chances: Chances  # [n, 5] at 1-ply
    static_chances: Chances  # [n, 5] at 0-ply
    sources: NDArray[np.int8]  # [n] who answers at 0-ply, a number of `AnswerSource`: both are the same of a final one


def roll_means(networks: Networks, tables: BearoffArrays, boards: Boards, likely: LikelyPlays = ALL_PLAYS) -> RollMeans:
    """Chances of int8[n, 26] boards at 1-ply, from all or the `likely` plays of each roll, and at 0-ply; the same on
    any number of threads.

    Raises InvalidPositionError for another shape or type, or an illegal board.
    """
    boards = check_legal_boards(np.ascontiguousarray(check_boards(boards)))
    n = len(boards)
    found = RollMeans(np.empty((n, 5), np.float32), np.empty((n, 5), np.float32), np.empty(n, np.int8))
    in_threads(fill_roll_means, n, networks, tables, likely, boards, *found)
    return found


@kernel()
def fill_roll_means(
    begin: int,
    end: int,
    networks: Networks,
    tables: BearoffArrays,
    likely: LikelyPlays,
    boards: Boards,
    chances: Chances,
    static_chances: Chances,
    sources: NDArray[np.int8],
) -> None:
    """Fills chances[row, 0:5], static_chances[row, 0:5] and sources[row] for boards[row, slot], for the rows begin:end.
    Means are limited by the rules, which changes them by rounding at most."""
    scratch = new_roll_scratch(networks)
    for row in range(begin, end):
        sources[row] = fill_chances(networks, tables, boards[row], scratch.evaluation, static_chances[row])
        if sources[row] <= _LAST_FINAL:
            for item in range(5):
                chances[row, item] = static_chances[row, item]
        else:
            fill_roll_values(networks, tables, likely, boards[row], scratch)
            for item in range(5):
                chances[row, item] = scratch.mean[item]
            limit_chances(possible_outcomes(boards[row]), chances[row])
