"""Static evaluation of a board: by the rules, a bearoff table, or the network for its class of position.

Most boards differ little from a recently evaluated board, such as the one after another play of the same position. So
the first layer of a network is updated from the nearest recent board. Later layers are computed for a few boards at a
time. The values are, bit for bit, those of a full computation.

Plays are chosen by cubeless or by cubeful equity. Cubeful equity is the value of the position before the roll and
before doubling, if both sides make the best cube decisions. In money play it is exact where an exact table covers both
sides; elsewhere it comes from a model of the cube and the five chances. Choosing by cubeful equity takes 1.01 to 1.11
times as long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.curves import CENTERED, ON_ROLL, OPPONENT
from bgdata.equity.doubling import NOT_ALLOWED, CubeEquities, Strategy, best_equity, money_equities
from bgdata.equity.match_cube import Cells, MatchGame, match_equities
from bgdata.evaluation.bearoff_kernels import BearoffArrays, exact_cell, exact_equity, fill_bearoff_chances, may_cover
from bgdata.evaluation.chances import (
    AnswerSource,
    Chances,
    Evaluations,
    equity_of,
    fill_outcome_chances,
    limit_chances,
    possible_outcomes,
)
from bgdata.evaluation.networks.contact_inputs import Inputs
from bgdata.evaluation.networks.inference import (
    INPUT_ROOM,
    RECENT,
    SIZES,
    ActiveUnits,
    Changes,
    NetworkArrays,
    Networks,
    Sums,
    Units,
    change_sums,
    fill_first_hidden,
    fill_outputs,
    later_size,
    nearest_recent,
    network_at,
    pack_later,
    rounded_up,
)
from bgdata.evaluation.networks.inputs import fill_many_inputs, first_compared_input
from bgdata.evaluation.networks.products import LANES, STEP
from bgdata.evaluation.networks.shots import ROLL_NUMBERS, RollNumbers
from bgdata.game.board import CHECKERS
from bgdata.game.board_kernels import class_of, outcome_of
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, check_boards, flip_into
from bgdata.game.play_kernels import MAX_PLAYS
from bgdata.kernel import in_threads, kernel

CUBELESS, MONEY, MATCH = 0, 1, 2  # units of values
_EXACT = int(AnswerSource.EXACT)
_COLUMNS = np.array(
    [2, 1, 3], np.int64
)  # by owner code: offset of the equity in a two-sided table, from the cubeless one


class CubeStakes(NamedTuple):
    """The stakes of a game from the point of view of the player on roll, and the model of the cube."""

    unit: int  # CUBELESS: cubeless equity for any cube; MONEY: points per unit cube; MATCH: mwc
    strategy: Strategy
    is_jacoby: bool  # in money play
    cells: Cells  # cells of a match equity table; unused in money play
    game: MatchGame  # used only in a match
    cube_value: int
    owner: int  # a code of `equity.curves`


@kernel(borrows=True)
def model_equities(stakes: CubeStakes, chances: Chances) -> CubeEquities:
    """Compute the equity of each cube action for the player on roll, from chances[0:5], by the cube model of the
    stakes."""
    if stakes.unit == MATCH:
        return match_equities(stakes.strategy, stakes.cells, stakes.game, stakes.cube_value, stakes.owner, chances)
    return money_equities(stakes.strategy, chances, stakes.owner, stakes.is_jacoby, False)


@kernel(borrows=True)
def exact_equities(tables: BearoffArrays, board: Boards, owner: int) -> CubeEquities:
    """Read the equity of each cube action in money play, in points per unit cube, from the exact table that covers
    `board`. `owner` is the cube owner, a code of `equity.curves`."""
    cell = exact_cell(tables, board)
    now = exact_equity(tables, cell + _COLUMNS[owner])
    if owner == OPPONENT:
        return CubeEquities(now, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED)
    taken = 2.0 * exact_equity(tables, cell + _COLUMNS[OPPONENT])
    return CubeEquities(now, taken, taken, 1.0)


@kernel(borrows=True)
def value_of(stakes: CubeStakes | None, tables: BearoffArrays, board: Boards, source: int, chances: Chances) -> float:
    """Compute the value of a board for the player on roll, from its chances[0:5] and the `AnswerSource` number of these
    chances. Without stakes, this is the cubeless equity, and Numba compiles no model of the cube."""
    if stakes is None:
        return equity_of(chances)
    if stakes.unit == CUBELESS:
        return float(np.float64(equity_of(chances)))
    if stakes.unit == MONEY and source == _EXACT:
        return best_equity(exact_equities(tables, board, stakes.owner))
    return best_equity(model_equities(stakes, chances))


@kernel(borrows=True)
def turned_owner(owner: int) -> int:
    """The cube owner as the other player sees it."""
    if owner == CENTERED:
        return CENTERED
    return OPPONENT if owner == ON_ROLL else ON_ROLL


NETWORK_CLASSES = ("race", "crashed", "contact")  # the position class of each network, always in this order
MIN_BOARDS = 256  # boards per thread: packing the weights of a network takes as long as 50 evaluations
_NOT_SETTLED = -1  # not an `AnswerSource` number
_FIRST_NETWORK, _SOURCE_OVER = int(AnswerSource.RACE_NETWORK), int(AnswerSource.OVER)
_OVER, _RACE, _CRASHED = int(PositionClass.OVER), int(PositionClass.RACE), int(PositionClass.CRASHED)


class Scratch(NamedTuple):
    """Scratch memory for one thread: the first layers of recent boards, and the next boards to evaluate."""

    inputs: Inputs  # [network, RECENT, input] inputs of each network's recent boards, in units of 1/64
    sums: Sums  # [network, RECENT, unit] sums of the first layer of these boards, in units of 2^-18
    next_rows: NDArray[np.int64]  # [network] the row of `inputs` and `sums` to fill next
    board: Boards  # [26] the current board
    change_rows: Inputs  # this and the next field: inference.Changes
    change_values: Inputs
    packed: Units  # later weights of all networks: see `inference.pack_later`
    packed_begins: NDArray[np.int64]  # [network] index in `packed` of the first weight of each network
    is_ready: NDArray[np.bool_]  # [network] whether `prepare_network` was called
    active: Units  # this and the next field: inference.Gathered
    gathered: Units
    lanes: NDArray[np.int64]  # [lane] rows of the boards to evaluate next
    boards: Boards  # [lane, 26]
    roll_numbers: RollNumbers  # see `inputs.fill_many_inputs`
    hidden: Units  # [lane, unit]
    later: Sums  # [lane, unit]
    outputs: Chances  # [lane, 5]
    found: Chances  # [MAX_PLAYS, 5] chances of the OPPONENT after each play
    sources: NDArray[np.int8]  # [MAX_PLAYS] `AnswerSource` numbers of `found`
    every: NDArray[np.int64]  # [MAX_PLAYS] 0, 1, 2, ...
    chances: Chances  # [2, 5] of the best play and of another one


@kernel()
def new_scratch(networks: Networks) -> Scratch:
    """Allocate scratch memory for one thread, large enough for these networks."""
    most = rounded_up(networks.shapes[:, SIZES:].max())
    begins = np.zeros(len(networks.shapes) + 1, np.int64)
    for which in range(len(networks.shapes)):
        begins[which + 1] = begins[which] + packed_size(networks, which)
    return Scratch(
        np.empty((len(networks.shapes), RECENT, INPUT_ROOM), np.int16),
        np.empty((len(networks.shapes), RECENT, most), np.int32),
        np.zeros(len(networks.shapes), np.int64),
        np.empty(26, np.int8),
        np.empty(INPUT_ROOM + STEP, np.int16),
        np.empty(INPUT_ROOM + STEP, np.int16),
        np.empty(begins[-1], np.int16),
        begins,
        np.zeros(len(networks.shapes), np.bool_),
        np.empty(most + STEP, np.int16),
        np.empty((LANES, most + STEP), np.int16),
        np.empty(LANES, np.int64),
        np.empty((LANES, 26), np.int8),
        np.zeros(ROLL_NUMBERS, np.int32),
        np.zeros((LANES, most), np.int16),
        np.zeros((LANES, most), np.int32),
        np.empty((LANES, 5), np.float32),
        np.empty((MAX_PLAYS, 5), np.float32),
        np.empty(MAX_PLAYS, np.int8),
        np.arange(MAX_PLAYS),
        np.empty((2, 5), np.float32),
    )


@kernel(borrows=True)
def packed_size(networks: Networks, which: int) -> int:
    """The number of weights after the first layer that `pack_later` packs for network number `which`.

    This is a separate kernel because `network_at` returns a borrowed value, which a kernel that counts references would
    free."""
    return later_size(network_at(networks, which))


def evaluations(networks: Networks, tables: BearoffArrays, boards: Boards) -> Evaluations:
    """Evaluate int8[n, 26] boards statically, before the roll, for the player on roll. Raises InvalidPositionError for
    another shape or type. It is not checked whether the boards are legal."""
    found = Evaluations(np.empty((len(check_boards(boards)), 5), np.float32), np.empty(len(boards), np.int8))
    arrays = np.ascontiguousarray(boards), found.chances, found.sources
    in_threads(fill_evaluations, len(boards), networks, tables, *arrays, least=MIN_BOARDS)
    return found


@kernel(borrows=True)
def network_of(position_class: int) -> int:
    """The index in NETWORK_CLASSES of the network that evaluates an unfinished position of this class."""
    return 0 if position_class <= _RACE else (1 if position_class == _CRASHED else 2)


@kernel(inline=True)
def fill_settled(tables: BearoffArrays, position_class: int, board: Boards, chances: Chances) -> int:
    """Fill chances[0:5] of a board of this class if the rules or a table determine them. Returns the `AnswerSource`
    number, or _NOT_SETTLED if a network is needed."""
    if position_class == _OVER:
        fill_outcome_chances(outcome_of(board, CHECKERS), chances)
        return _SOURCE_OVER
    source = fill_bearoff_chances(tables, board, chances) if may_cover(tables, position_class) else 0
    return source if source != 0 else _NOT_SETTLED


@kernel(borrows=True)
def fill_chances(networks: Networks, tables: BearoffArrays, board: Boards, scratch: Scratch, chances: Chances) -> int:
    """Fill chances[0:5] of the player on roll, before the roll. Returns the `AnswerSource` number."""
    position_class = class_of(board)
    source = fill_settled(tables, position_class, board, chances)
    if source != _NOT_SETTLED:
        return source
    which = network_of(position_class)
    set_lane(board, 0, scratch)
    fill_lanes(networks, which, 1, scratch)
    set_chances(0, scratch, chances)
    return _FIRST_NETWORK + which


@kernel(borrows=True)
def set_lane(board: Boards, lane: int, scratch: Scratch) -> None:
    """Copy `board` into scratch.boards[lane]."""
    for slot in range(26):
        scratch.boards[lane, slot] = board[slot]


@kernel(borrows=True)
def set_chances(lane: int, scratch: Scratch, chances: Chances) -> None:
    """Fill chances[0:5] with the network outputs that `fill_lanes` wrote to a lane, limited to what the rules allow."""
    for item in range(5):
        chances[item] = scratch.outputs[lane, item]
    limit_chances(possible_outcomes(scratch.boards[lane]), chances)


@kernel(borrows=True)
def fill_lanes(networks: Networks, which: int, n: int, scratch: Scratch) -> None:
    """Evaluate scratch.boards[lane] by network number `which` into scratch.outputs[lane, 0:5], for the first n
    lanes."""
    network, first = network_at(networks, which), int(scratch.next_rows[which])
    if not scratch.is_ready[which]:
        prepare_network(network, which, scratch)
    scratch.next_rows[which] = first + n if first + n + LANES <= RECENT else 0
    inputs, sums, hidden = scratch.inputs[which], scratch.sums[which], network.sizes[0]
    fill_many_inputs(network.input_set, scratch.boards, n, scratch.roll_numbers, inputs[first:])
    changes = Changes(scratch.change_rows, scratch.change_values)
    for lane in range(n):
        row = first + lane
        nearest = nearest_recent(inputs, first_compared_input(network.input_set), network.inputs, first, lane)
        change_sums(network, inputs[nearest], sums[nearest, :hidden], inputs[row], changes, sums[row, :hidden])
        fill_first_hidden(network, sums[row, :hidden], scratch.hidden[lane])
    packed, gathered = scratch.packed[scratch.packed_begins[which] :], ActiveUnits(scratch.active, scratch.gathered)
    fill_outputs(network, packed, n, gathered, scratch.hidden, scratch.later, scratch.outputs)


@kernel(borrows=True)
def prepare_network(network: NetworkArrays, which: int, scratch: Scratch) -> None:
    """Pack the weights of a network after the first layer, and reset the cached first layers to a board whose inputs
    are all zero, so that its sums are the biases."""
    pack_later(network, scratch.packed[scratch.packed_begins[which] :])
    for row in range(RECENT):
        inputs, sums = scratch.inputs[which, row], scratch.sums[which, row]
        for item in range(INPUT_ROOM):
            inputs[item] = 0
        for unit in range(network.sizes[0]):
            sums[unit] = network.biases[unit]
    scratch.is_ready[which] = True


@kernel(borrows=True)
def fill_play_chances(
    networks: Networks, tables: BearoffArrays, after_play: Boards, scratch: Scratch, chances: Chances
) -> int:
    """Fill chances[0:5] for the position after a play, a board from the point of view of the player who moved. The
    chances are those of the OPPONENT, who is on roll. Returns the `AnswerSource` number."""
    flip_into(after_play, scratch.board)
    return fill_chances(networks, tables, scratch.board, scratch, chances)


@kernel(borrows=True)
def fill_all_chances(
    networks: Networks,
    tables: BearoffArrays,
    boards: Boards,
    begin: int,
    end: int,
    are_plays: bool,
    scratch: Scratch,
    chances: Chances,
    sources: NDArray[np.int8],
) -> None:
    """Fill chances[row] and sources[row] for boards[row], for the rows begin to end - 1. If `are_plays`, the boards are
    positions after plays, as in `fill_play_chances`; otherwise they are as in `fill_chances`."""
    waiting, which = 0, 0  # number of boards in lanes, and their network
    for row in range(begin, end):
        if are_plays:
            flip_into(boards[row], scratch.board)
        else:
            for slot in range(26):
                scratch.board[slot] = boards[row, slot]
        position_class = class_of(scratch.board)
        source = fill_settled(tables, position_class, scratch.board, chances[row])
        if source == _NOT_SETTLED:
            other = network_of(position_class)
            if waiting == LANES or other != which:
                fill_waiting(networks, which, waiting, scratch, chances)
                waiting, which = 0, other
            set_lane(scratch.board, waiting, scratch)
            scratch.lanes[waiting] = row
            waiting += 1
            source = _FIRST_NETWORK + which
        sources[row] = source
    fill_waiting(networks, which, waiting, scratch, chances)


@kernel(borrows=True)
def fill_waiting(networks: Networks, which: int, waiting: int, scratch: Scratch, chances: Chances) -> None:
    """Evaluate the boards that wait in the first `waiting` lanes, and fill chances[row] of their rows, which are in
    scratch.lanes."""
    if waiting > 0:
        fill_lanes(networks, which, waiting, scratch)
    for lane in range(waiting):
        set_chances(lane, scratch, chances[scratch.lanes[lane]])


@kernel(borrows=True)
def choose_by_chances(
    networks: Networks, tables: BearoffArrays, after: Boards, n: int, scratch: Scratch, stakes: CubeStakes | None = None
) -> tuple[int, int]:
    """Find the best play among after[0:n], the boards after each play for the player who moved. Returns its row and its
    `AnswerSource` number, and fills scratch.chances[0] with the OPPONENT's five chances after it.

    The best play leaves the opponent the lowest value at these stakes, or without stakes the lowest cubeless equity. If
    values are equal, as after plays that all let the opponent cash, the lowest cubeless equity decides, then the first
    row."""
    fill_all_chances(networks, tables, after, 0, n, True, scratch, scratch.found, scratch.sources)
    best = lowest_play(tables, after, scratch.every[:n], scratch.found, scratch.sources, scratch.board, stakes)
    for item in range(5):
        scratch.chances[0, item] = scratch.found[best, item]
    return best, int(scratch.sources[best])


@kernel(borrows=True)
def lowest_play(
    tables: BearoffArrays,
    after: Boards,
    rows: NDArray[np.int64],
    chances: Chances,
    sources: NDArray[np.int8],
    board: Boards,
    stakes: CubeStakes | None,
) -> int:
    """Return the row of the best play among `rows`, by the order of `choose_by_chances`. after[row] is the board after
    a play, and chances[row] and sources[row] are its evaluation. `board` is scratch."""
    best, lowest, equity = int(rows[0]), 0.0, 0.0  # set by the first play
    for play in rows:
        if stakes is not None:
            flip_into(after[play], board)
        value, other = value_of(stakes, tables, board, sources[play], chances[play]), equity_of(chances[play])
        if play == rows[0] or value < lowest or (value == lowest and other < equity):
            best, lowest, equity = play, value, other
    return best


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
    """Fill chances[row] and sources[row] for boards[row], for the rows begin to end - 1."""
    fill_all_chances(networks, tables, boards, begin, end, False, new_scratch(networks), chances, sources)
