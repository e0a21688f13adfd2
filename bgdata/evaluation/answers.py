"""Static evaluation of a board: by the rules, a bearoff table, or the network for its class of position.

The plays of one position are evaluated together: the first layer of each network is computed once, for the position
before the play, and then updated for each play. The values are the same, to the last bit, as computed from the
beginning.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.bearoff_kernels import BearoffArrays, fill_bearoff_chances, may_cover
from bgdata.evaluation.chances import (
    Chances,
    equity_of,
    fill_outcome_chances,
    limit_chances,
    possible_outcomes,
)
from bgdata.evaluation.cube_values import CubeStakes, value_of
from bgdata.evaluation.evaluator import AnswerSource, Evaluations
from bgdata.evaluation.networks.inference import (
    MOST_CHANGES,
    SIZES,
    Changes,
    Networks,
    Sums,
    Units,
    change_sums,
    fill_outputs,
    fill_sums,
    network_at,
)
from bgdata.evaluation.networks.inputs import MOST_EXTRAS, Inputs
from bgdata.game.board import CHECKERS
from bgdata.game.board_kernels import class_of, outcome_of
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, check_boards, flip_into
from bgdata.kernel import in_threads, kernel

NETWORK_CLASSES = ("race", "crashed", "contact")  # which network is for what, in this order everywhere
_FIRST_NETWORK, _SOURCE_OVER = int(AnswerSource.RACE_NETWORK), int(AnswerSource.OVER)
_OVER, _RACE, _CRASHED = int(PositionClass.OVER), int(PositionClass.RACE), int(PositionClass.CRASHED)


class Scratch(NamedTuple):
    """Scratch of one thread: the first layers for the position whose plays are evaluated, and room for one board."""

    before: Boards  # [26] the position without a move, seen by the opponent
    ready: NDArray[np.bool_]  # [network] whether its row of the next two is filled
    extras_before: Inputs  # [network, extra] of `before`
    sums_before: Sums  # [network, unit] of `before`
    board: Boards  # [26]
    extras: Inputs
    sums: Sums
    hidden: Units
    later: Sums
    change_rows: NDArray[np.int64]  # with the next, network_kernels.Changes
    change_values: NDArray[np.int32]
    chances: Chances  # [2, 5] of the best play so far, and of the one looked at


@kernel()
def new_scratch(networks: Networks) -> Scratch:
    """Scratch for one thread, in the sizes that these networks need."""
    most = networks.shapes[:, SIZES:].max()
    return Scratch(
        np.empty(26, np.int8),
        np.zeros(len(networks.shapes), np.bool_),
        np.empty((len(networks.shapes), MOST_EXTRAS), np.int16),
        np.empty((len(networks.shapes), most), np.int32),
        np.empty(26, np.int8),
        np.empty(MOST_EXTRAS, np.int16),
        np.empty(most, np.int32),
        np.empty(most, np.int16),
        np.empty(most, np.int32),
        np.empty(MOST_CHANGES, np.int64),
        np.empty(MOST_CHANGES, np.int32),
        np.empty((2, 5), np.float32),
    )


def evaluations(networks: Networks, tables: BearoffArrays, boards: Boards) -> Evaluations:
    """Static evaluations of int8[n, 26] boards before the roll, seen by the player on roll.

    Raises InvalidPositionError for another shape or type; whether each board is legal is not checked.
    """
    found = Evaluations(np.empty((len(check_boards(boards)), 5), np.float32), np.empty(len(boards), np.int8))
    arrays = np.ascontiguousarray(boards), found.chances, found.sources
    in_threads(fill_evaluations, len(boards), networks, tables, *arrays, least=64)
    return found


@kernel(borrows=True)
def network_of(position_class: int) -> int:
    """Place in NETWORK_CLASSES of the network for a class of position that is not over."""
    return 0 if position_class <= _RACE else (1 if position_class == _CRASHED else 2)


@kernel(borrows=True)
def fill_chances(networks: Networks, tables: BearoffArrays, board: Boards, scratch: Scratch, chances: Chances) -> int:
    """Fills chances[0:5] for board[slot], the player on roll about to roll; returns the number of an `AnswerSource`."""
    position_class = class_of(board)
    if position_class == _OVER:
        fill_outcome_chances(outcome_of(board, CHECKERS), chances)
        return _SOURCE_OVER
    source = fill_bearoff_chances(tables, board, chances) if may_cover(tables, position_class) else 0
    if source != 0:
        return source
    which = network_of(position_class)
    network = network_at(networks, which)
    sums = scratch.sums[: network.sizes[0]]
    fill_sums(network, board, scratch.extras, Changes(scratch.change_rows, scratch.change_values), sums)
    fill_outputs(network, sums, scratch.hidden, scratch.later, chances)
    limit_chances(possible_outcomes(board), chances)
    return _FIRST_NETWORK + which


@kernel(borrows=True)
def start_plays(board: Boards, scratch: Scratch) -> None:
    """Fills scratch.before with the position whose plays `fill_play_chances` is to evaluate."""
    flip_into(board, scratch.before)
    for which in range(len(scratch.ready)):
        scratch.ready[which] = False


@kernel(borrows=True)
def fill_play_chances(
    networks: Networks, tables: BearoffArrays, after_play: Boards, scratch: Scratch, chances: Chances
) -> int:
    """Fills chances[0:5] for after_play[slot], a play from the position of `start_plays` seen by the player who moved;
    the chances are those of the OPPONENT, who is on roll. Returns the number of an `AnswerSource`."""
    flip_into(after_play, scratch.board)
    position_class = class_of(scratch.board)
    if position_class == _OVER:
        fill_outcome_chances(outcome_of(scratch.board, CHECKERS), chances)
        return _SOURCE_OVER
    source = fill_bearoff_chances(tables, scratch.board, chances) if may_cover(tables, position_class) else 0
    if source != 0:
        return source
    which = network_of(position_class)
    network = network_at(networks, which)
    hidden = network.sizes[0]
    changes = Changes(scratch.change_rows, scratch.change_values)
    if not scratch.ready[which]:
        fill_sums(network, scratch.before, scratch.extras_before[which], changes, scratch.sums_before[which, :hidden])
        scratch.ready[which] = True
    sums = scratch.sums[:hidden]
    for unit in range(hidden):
        sums[unit] = scratch.sums_before[which, unit]
    change_sums(network, scratch.before, scratch.extras_before[which], scratch.board, scratch.extras, changes, sums)
    fill_outputs(network, sums, scratch.hidden, scratch.later, chances)
    limit_chances(possible_outcomes(scratch.board), chances)
    return _FIRST_NETWORK + which


@kernel(borrows=True)
def choose_by_chances(
    networks: Networks,
    tables: BearoffArrays,
    board: Boards,
    after: Boards,
    n: int,
    scratch: Scratch,
    stakes: CubeStakes | None = None,
) -> tuple[int, int]:
    """Fills scratch.chances[0, 0:5] with those of the OPPONENT, on roll after the best of after[0:n, slot], plays from
    board[slot]; returns (its row, the first of equals; the number of its `AnswerSource`).

    The best leaves the opponent the lowest value of these stakes, as seen by it, or without stakes the lowest cubeless
    equity; that also decides between equal values, such as after all plays that let the opponent cash.
    """
    start_plays(board, scratch)
    return choose_started(networks, tables, after, n, scratch, stakes)


@kernel(borrows=True)
def choose_started(
    networks: Networks,
    tables: BearoffArrays,
    after: Boards,
    n: int,
    scratch: Scratch,
    stakes: CubeStakes | None = None,
) -> tuple[int, int]:
    """`choose_by_chances` for another roll of the position that `start_plays` was given."""
    best = 0
    source = fill_play_chances(networks, tables, after[0], scratch, scratch.chances[0])
    lowest, equity = value_of(stakes, tables, scratch.board, source, scratch.chances[0]), equity_of(scratch.chances[0])
    for play in range(1, n):
        who = fill_play_chances(networks, tables, after[play], scratch, scratch.chances[1])
        value = value_of(stakes, tables, scratch.board, who, scratch.chances[1])
        other = equity_of(scratch.chances[1])
        if value < lowest or (value == lowest and other < equity):
            best, lowest, equity, source = play, value, other, who
            for item in range(5):
                scratch.chances[0, item] = scratch.chances[1, item]
    return best, source


@kernel()
def fill_evaluations(
    begin: int,
    end: int,
    networks: Networks,
    tables: BearoffArrays,
    boards: Boards,
    chances: Chances,
    sources: NDArray[np.int8],
) -> None:
    """Fills chances[row, 0:5] and sources[row] for boards[row, slot], for the rows begin:end."""
    scratch = new_scratch(networks)
    for row in range(begin, end):
        sources[row] = fill_chances(networks, tables, boards[row], scratch, chances[row])
