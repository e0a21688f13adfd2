"""All that a player knows, as kernels take it: three networks, by class of position, and who answers for a board.

The plays of one position are evaluated together: each network's first layer is computed once, for the position as if
nothing had been moved, and then changed for each play. Values are the same to the last bit as computed anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import (
    Chances,
    equity_of,
    fill_outcome_chances,
    limit_chances,
    possible_outcomes,
)
from bgdata.evaluation.encoders import MOST_EXTRAS, Inputs
from bgdata.evaluation.network_kernels import NetworkArrays, Sums, Units, change_sums, fill_outputs, fill_sums
from bgdata.game.board_kernels import class_of, outcome_of
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, flip_into
from bgdata.game.play_kernels import MOST_NOTES, MOST_PLAYS, fill_plays
from bgdata.game.position import CHECKERS
from bgdata.kernel import kernel, prange

NETWORK_CLASSES = ("race", "crashed", "contact")  # which network is for what, in this order everywhere
# who answers; 1 and 2 are those of `bearoff_kernels`
SHAPE_COLUMNS = 5  # of a row of shapes before the sizes of the layers
OVER, RACE_NETWORK = 0, 3  # and 4 and 5 for the crashed and contact networks
_OVER, _RACE, _CRASHED = int(PositionClass.OVER), int(PositionClass.RACE), int(PositionClass.CRASHED)


class Knowledge(NamedTuple):
    """One level of flat arrays, since parallel kernels take no tuples of tuples."""

    shapes: NDArray[np.int64]  # [network, column] in the order of NETWORK_CLASSES: see `network_at`
    weights: Units  # of all networks, one after the other
    biases: Sums


class Work(NamedTuple):
    """Scratch of one thread: what is known of the position whose plays are evaluated, and room for one board."""

    before: Boards  # [26] the position without a move, seen by the opponent
    ready: NDArray[np.bool_]  # [network] whether its row of the next two is filled
    extras_before: Inputs  # [network, extra] of `before`
    sums_before: Sums  # [network, unit] of `before`
    board: Boards  # [26]
    extras: Inputs
    sums: Sums
    hidden: Units
    later: Sums


@kernel()
def network_at(knowledge: Knowledge, which: int) -> NetworkArrays:
    """One network: its row of shapes is encoder, inputs, start of its weights, start of its biases, layers, sizes."""
    shape = knowledge.shapes[which]
    sizes = shape[SHAPE_COLUMNS : SHAPE_COLUMNS + shape[4]]
    return NetworkArrays(shape[0], shape[1], sizes, knowledge.weights[shape[2] :], knowledge.biases[shape[3] :])


@kernel()
def new_work(knowledge: Knowledge) -> Work:
    """Scratch for one thread."""
    most = knowledge.shapes[:, SHAPE_COLUMNS:].max()
    return Work(
        np.empty(26, np.int8),
        np.zeros(3, np.bool_),
        np.empty((3, MOST_EXTRAS), np.int16),
        np.empty((3, most), np.int32),
        np.empty(26, np.int8),
        np.empty(MOST_EXTRAS, np.int16),
        np.empty(most, np.int32),
        np.empty(most, np.int16),
        np.empty(most, np.int32),
    )


@kernel()
def network_of(position_class: int) -> int:
    """Place in NETWORK_CLASSES of the network for a class of position that is not over."""
    return 0 if position_class <= _RACE else (1 if position_class == _CRASHED else 2)


@kernel()
def fill_chances(knowledge: Knowledge, board: Boards, work: Work, chances: Chances) -> int:
    """Fills chances[0:5] for board[slot], the player on roll about to roll; returns who answers."""
    position_class = class_of(board)
    if position_class == _OVER:
        fill_outcome_chances(outcome_of(board, CHECKERS), chances)
        return OVER
    which = network_of(position_class)
    network = network_at(knowledge, which)
    sums = work.sums[: network.sizes[0]]
    fill_sums(network, board, work.extras, sums)
    fill_outputs(network, sums, work.hidden, work.later, chances)
    limit_chances(possible_outcomes(board), chances)
    return RACE_NETWORK + which


@kernel()
def start_plays(board: Boards, work: Work) -> None:
    """Fills work.before with the position whose plays `fill_play_chances` is to evaluate."""
    flip_into(board, work.before)
    work.ready[:] = False


@kernel()
def fill_play_chances(knowledge: Knowledge, after_play: Boards, work: Work, chances: Chances) -> int:
    """Fills chances[0:5] for after_play[slot], a play from the position of `start_plays` seen by the player who moved;
    the chances are those of the OPPONENT, who is on roll. Returns who answers."""
    flip_into(after_play, work.board)
    position_class = class_of(work.board)
    if position_class == _OVER:
        fill_outcome_chances(outcome_of(work.board, CHECKERS), chances)
        return OVER
    which = network_of(position_class)
    network = network_at(knowledge, which)
    hidden = network.sizes[0]
    if not work.ready[which]:
        fill_sums(network, work.before, work.extras_before[which], work.sums_before[which, :hidden])
        work.ready[which] = True
    sums = work.sums[:hidden]
    sums[:] = work.sums_before[which, :hidden]
    change_sums(network, work.before, work.extras_before[which], work.board, work.extras, sums)
    fill_outputs(network, sums, work.hidden, work.later, chances)
    limit_chances(possible_outcomes(work.board), chances)
    return RACE_NETWORK + which


@kernel()
def choose_by_chances(knowledge: Knowledge, board: Boards, after: Boards, n: int, work: Work, chances: Chances) -> int:
    """The row of the best of after[0:n, slot], the first of equals; fills chances[0:5] of that play, seen by the
    OPPONENT, who is on roll. chances has two rows, the second one is scratch."""
    start_plays(board, work)
    best = 0
    fill_play_chances(knowledge, after[0], work, chances[0])
    lowest = equity_of(chances[0])
    for play in range(1, n):
        fill_play_chances(knowledge, after[play], work, chances[1])
        equity = equity_of(chances[1])
        if equity < lowest:
            best, lowest = play, equity
            chances[0] = chances[1]
    return best


@kernel(parallel=True)
def fill_evaluations(
    knowledge: Knowledge, boards: Boards, chances: Chances, sources: NDArray[np.int8]
) -> None:
    """Fills chances[row, 0:5] and sources[row] for boards[row, slot]."""
    block = 64
    for part in prange((len(boards) + block - 1) // block):
        work = new_work(knowledge)
        for row in range(part * block, min(len(boards), (part + 1) * block)):
            sources[row] = fill_chances(knowledge, boards[row], work, chances[row])


@kernel(parallel=True)
def fill_best_plays(
    knowledge: Knowledge, boards: Boards, rolls: NDArray[np.int8], chosen: Boards, counts: NDArray[np.int64]
) -> None:
    """Fills chosen[row, slot] with the best play of boards[row, slot] and rolls[row, 0:2], seen by the player who moved,
    and counts[row] with the number of plays."""
    block = 64
    for part in prange((len(boards) + block - 1) // block):
        work = new_work(knowledge)
        after, notes = np.empty((MOST_PLAYS, 26), np.int8), np.empty(MOST_NOTES, np.int64)
        chances = np.empty((2, 5), np.float32)
        for row in range(part * block, min(len(boards), (part + 1) * block)):
            n = fill_plays(boards[row], rolls[row, 0], rolls[row, 1], after, notes)
            counts[row] = n
            chosen[row] = after[choose_by_chances(knowledge, boards[row], after, n, work, chances)]
