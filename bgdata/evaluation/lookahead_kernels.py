"""Networks that look ahead, in a kernel: where all plays are looked at, the same answers as those of any evaluator that
`lookahead.evaluate_ahead` asks, to the last bit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.answers import fill_chances
from bgdata.evaluation.bearoff_kernels import BearoffArrays
from bgdata.evaluation.chances import Chances, fill_turned
from bgdata.evaluation.evaluator import LAST_FINAL, Evaluations
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.roll_values import ALL_PLAYS, LikelyPlays, RollScratch, fill_roll_values, new_roll_scratch
from bgdata.game.codec import Boards, flip_into
from bgdata.game.rolls import WAYS
from bgdata.kernel import in_threads, kernel


class TreeScratch(NamedTuple):
    """Scratch of one thread. A depth is the number of rolls between a position and the one that is asked for."""

    rolls: RollScratch
    replies: Boards  # [depth, 21, 26] after the best play of each roll, the opponent on roll
    places: NDArray[np.int64]  # [depth] rolls that are done
    totals: NDArray[np.float64]  # [depth, 5] chances of the player on roll over those rolls, 36 times
    turned: Chances  # [5]


@kernel()
def new_tree_scratch(networks: Networks, ply: int) -> TreeScratch:
    """Scratch for one thread that looks as far as this."""
    return TreeScratch(
        new_roll_scratch(networks),
        np.empty((ply, len(WAYS), 26), np.int8),
        np.empty(ply, np.int64),
        np.empty((ply, 5), np.float64),
        np.empty(5, np.float32),
    )


def evaluations_ahead(
    networks: Networks, tables: BearoffArrays, boards: Boards, ply: int, likely: LikelyPlays = ALL_PLAYS
) -> Evaluations:
    """Evaluations of legal int8[n, 26] boards before the roll, at a ply of 1 or more, from all plays or the
    `likely` ones; the source is that of the static answer. The same on any number of threads. Raises UsageError for a
    lower ply."""
    if ply < 1:
        raise UsageError(f"expected a ply of 1 or more to look ahead, got {ply}")
    found = Evaluations(np.empty((len(boards), 5), np.float32), np.empty(len(boards), np.int8))
    in_threads(fill_evaluations_ahead, len(boards), networks, tables, likely, ply, boards, *found)
    return found


@kernel()
def fill_evaluations_ahead(
    begin: int,
    end: int,
    networks: Networks,
    tables: BearoffArrays,
    likely: LikelyPlays,
    ply: int,
    boards: Boards,
    chances: Chances,
    sources: NDArray[np.int8],
) -> None:
    """Fills chances[row, 0:5] and sources[row] for boards[row, slot], for the rows begin:end."""
    scratch = new_tree_scratch(networks, ply)
    for row in range(begin, end):
        sources[row] = fill_chances_at(networks, tables, likely, ply, boards[row], scratch, chances[row])


@kernel(borrows=True)
def fill_chances_at(
    networks: Networks,
    tables: BearoffArrays,
    likely: LikelyPlays,
    ply: int,
    board: Boards,
    scratch: TreeScratch,
    chances: Chances,
) -> int:
    """Fills chances[0:5] for board[slot] at a ply of 0 or more; returns the number of the `AnswerSource` of the static
    answer."""
    source = fill_chances(networks, tables, board, scratch.rolls.evaluation, chances)
    if ply > 0 and source > LAST_FINAL:
        fill_ahead(networks, tables, likely, ply, board, scratch, chances)
    return source


@kernel(borrows=True)
def fill_ahead(
    networks: Networks,
    tables: BearoffArrays,
    likely: LikelyPlays,
    ply: int,
    board: Boards,
    scratch: TreeScratch,
    chances: Chances,
) -> None:
    """Fills chances[0:5] for board[slot], whose static answer is not final: depth first, without recursion."""
    enter(networks, tables, likely, board, 0, ply, scratch)
    depth = 0
    while True:
        if scratch.places[depth] == len(WAYS):
            for item in range(5):
                chances[item] = np.float32(scratch.totals[depth, item] / 36)
            if depth == 0:
                return
            depth -= 1
            add_reply(chances, depth, scratch)
            continue
        reply = scratch.replies[depth, scratch.places[depth]]
        if fill_chances(networks, tables, reply, scratch.rolls.evaluation, chances) <= LAST_FINAL:
            add_reply(chances, depth, scratch)
        else:
            depth += 1
            enter(networks, tables, likely, reply, depth, ply, scratch)


@kernel(borrows=True)
def enter(
    networks: Networks,
    tables: BearoffArrays,
    likely: LikelyPlays,
    board: Boards,
    depth: int,
    ply: int,
    scratch: TreeScratch,
) -> None:
    """Fills scratch.replies[depth, roll, slot] from board[slot], with no roll done; at the last depth
    scratch.totals[depth, 0:5], with all of them done."""
    rolls, total = scratch.rolls, scratch.totals[depth]
    fill_roll_values(networks, tables, likely, board, rolls)
    for item in range(5):
        total[item] = 0.0
    scratch.places[depth] = len(WAYS) if depth == ply - 1 else 0
    for roll in range(len(WAYS)):
        if depth == ply - 1:
            for item in range(5):
                total[item] += WAYS[roll] * rolls.values[roll, item]
        else:
            flip_into(rolls.best[roll], scratch.replies[depth, roll])


@kernel(borrows=True)
def add_reply(chances: Chances, depth: int, scratch: TreeScratch) -> None:
    """Fills scratch.totals[depth, 0:5] with itself plus what the next roll is worth, after which the opponent has these
    chances[0:5]; one more roll is done."""
    fill_turned(chances, scratch.turned)
    ways = WAYS[scratch.places[depth]]
    for item in range(5):
        scratch.totals[depth, item] += ways * scratch.turned[item]
    scratch.places[depth] += 1
