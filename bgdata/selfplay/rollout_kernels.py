"""Kernels of `rollout` for trials of one position, in blocks of 36 that contain every first roll and every second roll
once.

A trial is one game from the position. Its random numbers depend on (seed, item, trial) alone, so candidate plays rolled
out as the same item get the same dice. In every SUPERBLOCK trials, each pair of first and second roll occurs once. All
trials share the first position, and those with the same first roll share the second position, so the evaluations of
these positions are stored and used again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.answers import choose_by_chances, fill_all_chances, fill_chances
from bgdata.evaluation.bearoff_kernels import BearoffArrays, bearoff_source, may_cover
from bgdata.evaluation.chances import Chances, equity_of, fill_turned
from bgdata.evaluation.choices import Chooser
from bgdata.evaluation.lookahead import FILTERS
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.roll_values import (
    LikelyPlays,
    Sight,
    TreeScratch,
    fill_chances_at,
    fill_roll_values,
    new_tree_scratch,
    roll_place,
)
from bgdata.game.board_kernels import class_of
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, flip_into
from bgdata.game.play_kernels import MAX_PLAYS, fill_plays
from bgdata.game.random import high_below, random_bits, random_stream
from bgdata.game.rolls import DICE
from bgdata.kernel import kernel, prange

BLOCK = 36  # trials
SUPERBLOCK = BLOCK * BLOCK
MAX_TRIALS = 1 << 40
LAST_TURN = 1 << 30
# limits of the plays that are evaluated at 1-ply
MAX_CANDIDATES, _WINDOW = FILTERS[0].keep, np.float32(FILTERS[0].window)
_WORST: Any = np.float32(np.inf)  # higher than any equity of the opponent
_OVER = int(PositionClass.OVER)
Values = NDArray[np.float64]


class KernelSettings(NamedTuple):
    """The settings of a rollout as numbers, for kernels."""

    seed: int
    last_turn: int  # roll after which a trial ends with the static evaluation
    stop: int  # greatest `BearoffSource` that ends a game; 0: no table ends it
    with_luck: bool  # whether to subtract luck
    likely: LikelyPlays  # plays of each roll considered for luck
    ahead: LikelyPlays  # plays of the next roll considered at 1-ply
    play_ply: int  # 0 or 1: ply at which plays are chosen


class Roller(NamedTuple):
    """The networks and tables by which both sides play, and the settings of the rollout."""

    networks: Networks
    tables: BearoffArrays
    settings: KernelSettings


class FirstTurns(NamedTuple):
    """Values at the first two rolls from one position that one thread has computed so far. Index 0 is the position
    itself; index 1 + r is the position after first roll r."""

    is_known: NDArray[np.bool_]  # [22]
    values: Chances  # [22, 21, 5] as in `RollScratch`, like `means`
    means: Values  # [22, 5]
    is_played: NDArray[np.bool_]  # [21]
    after: Boards  # [21, 26] after the best play of the first roll, for the opponent


class RolloutScratch(NamedTuple):
    """Scratch memory in which one thread rolls out positions."""

    first: FirstTurns
    tree: TreeScratch  # its `rolls` are also the rolls of the current position
    static: NDArray[np.float32]  # [MAX_PLAYS] equities of the OPPONENT after the plays of a roll
    candidates: Boards  # [MAX_CANDIDATES, 26] after plays evaluated at 1-ply, the OPPONENT on roll
    board: Boards  # [26]
    turned: Chances  # [5]
    end: Values  # [5] chances at the end of a trial
    luck: Values  # [5] sum over all rolls of a trial
    order: NDArray[np.int64]  # [36] of the second rolls


@kernel()
def fill_blocks(
    begin: int,
    end: int,
    chooser: Chooser,
    settings: KernelSettings,
    boards: Boards,
    items: NDArray[np.int64],
    first: NDArray[np.int64],
    blocks: Values,
) -> None:
    """Roll out boards[row, slot] in blocks of 36 trials. Fills blocks[row, block, 0, 0:5] with the mean chances of the
    player on roll in block first[row] + block of item items[row], and blocks[row, block, 1, 0:5] with the mean of the
    player's luck in these trials, zero unless measured. begin:end are pairs of row and block, in order."""
    count, networks = blocks.shape[1], chooser.networks
    roller, scratch = Roller(networks, chooser.tables, settings), new_rollout_scratch(networks)
    for place in range(begin, end):
        row, block = place // count, place % count
        if block == 0:
            scratch.first.is_known[:] = False
            scratch.first.is_played[:] = False
        fill_block(roller, boards[row], items[row], first[row] + block, scratch, blocks[row, block])


@kernel()
def new_rollout_scratch(networks: Networks) -> RolloutScratch:
    """Allocate scratch memory in which one thread rolls out positions with these networks."""
    count = len(DICE)
    first = FirstTurns(
        np.zeros(1 + count, np.bool_),
        np.empty((1 + count, count, 5), np.float32),
        np.empty((1 + count, 5), np.float64),
        np.zeros(count, np.bool_),
        np.empty((count, 26), np.int8),
    )
    return RolloutScratch(
        first,
        new_tree_scratch(networks, 1),
        np.empty(MAX_PLAYS, np.float32),
        np.empty((MAX_CANDIDATES, 26), np.int8),
        np.empty(26, np.int8),
        np.empty(5, np.float32),
        np.empty(5, np.float64),
        np.empty(5, np.float64),
        np.empty(BLOCK, np.int64),
    )


@kernel(borrows=True)
def fill_block(roller: Roller, board: Boards, item: int, block: int, scratch: RolloutScratch, means: Values) -> None:
    """Play one block of trials from board[0:26]. Fills means[0, 0:5] with the mean chances and means[1, 0:5] with the
    mean luck; trials are added in their order."""
    stream: Any = random_stream(roller.settings.seed, item)  # the seed of one stream for each trial
    fill_order(random_stream(stream, MAX_TRIALS + block // BLOCK), scratch.order)
    means[:] = 0.0
    for trial in range(block * BLOCK, (block + 1) * BLOCK):
        fill_trial(roller, board, random_stream(stream, trial), first_rolls(trial, scratch.order), scratch)
        for chance in range(5):
            means[0, chance] += scratch.end[chance]
            means[1, chance] += scratch.luck[chance]
    for chance in range(5):
        means[0, chance] /= BLOCK
        means[1, chance] /= BLOCK


@kernel(borrows=True)
def first_rolls(trial: int, order: NDArray[np.int64]) -> tuple[int, int]:
    """Return the indexes of the first two rolls of a trial among all 36 rolls. `order` is the order of second rolls in
    its superblock, from `fill_order`."""
    return trial % BLOCK, order[(trial + trial // BLOCK) % BLOCK]


@kernel(borrows=True)
def fill_order(stream: np.uint64, order: NDArray[np.int64]) -> None:
    """Fill order[0:n] with a random permutation of 0 to n - 1 (Fisher and Yates)."""
    for place in range(len(order)):
        order[place] = place
    for place in range(len(order) - 1, 0, -1):
        other: Any = np.int64(high_below(random_bits(stream, place), place + 1))
        order[place], order[other] = order[other], order[place]


@kernel(borrows=True)
def fill_trial(
    roller: Roller, board: Boards, stream: np.uint64, rolls: tuple[int, int], scratch: RolloutScratch
) -> None:
    """Play one game from board[0:26]. Fills scratch.end[0:5] with the chances at the end, and scratch.luck[0:5] with
    the luck of all rolls, both for the player first on roll. `rolls` are the indexes of the first two rolls among all
    36."""
    networks, tables, settings = roller
    for slot in range(26):
        scratch.board[slot] = board[slot]
    scratch.luck[:] = 0.0
    turn, before = 0, 0
    while turn < settings.last_turn and not is_final(tables, settings.stop, scratch.board):
        place = rolls[turn] if turn < 2 else roll_at(stream, turn)
        die, other_die = place // 6 + 1, place % 6 + 1
        roll = roll_place(die, other_die)
        if turn < 2:
            play_first_turn(roller, die, other_die, before, scratch)
            before = roll + 1
        else:
            found, is_played = scratch.tree.rolls, settings.with_luck and settings.play_ply == 0
            if settings.with_luck:
                played = roll if is_played else -1
                fill_roll_values(networks, tables, settings.likely, scratch.board, found, None, played)
                add_luck(found.values[roll], found.mean, turn % 2 == 0, scratch.luck)
            if is_played:
                flip_into(found.played, scratch.board)
            else:
                play(roller, die, other_die, scratch)
        turn += 1
    fill_end(roller, scratch.board, turn, scratch)


@kernel(borrows=True)
def play_first_turn(roller: Roller, die: int, other_die: int, before: int, scratch: RolloutScratch) -> None:
    """Play one of the first two turns of a trial, and reuse values that earlier trials computed. `before` is the index
    of the position in `FirstTurns`: 0 at the first roll, and 1 plus the index of the first roll at the second roll."""
    first, roll = scratch.first, roll_place(die, other_die)
    if roller.settings.with_luck:
        values, mean = first.values[before], first.means[before]
        if not first.is_known[before]:
            found = scratch.tree.rolls
            fill_roll_values(roller.networks, roller.tables, roller.settings.likely, scratch.board, found)
            for each in range(len(DICE)):
                for item in range(5):
                    values[each, item] = found.values[each, item]
            for item in range(5):
                mean[item] = found.mean[item]
            first.is_known[before] = True
        add_luck(values[roll], mean, before == 0, scratch.luck)
    if before > 0:
        play(roller, die, other_die, scratch)
        return
    if not first.is_played[roll]:
        play(roller, die, other_die, scratch)
        for slot in range(26):
            first.after[roll, slot] = scratch.board[slot]
        first.is_played[roll] = True
    for slot in range(26):
        scratch.board[slot] = first.after[roll, slot]


@kernel(borrows=True)
def fill_end(roller: Roller, board: Boards, turn: int, scratch: RolloutScratch) -> None:
    """Fill scratch.end[0:5] with the chances of board[slot] after `turn` rolls, for the player first on roll."""
    chances = scratch.tree.rolls.values[0]
    fill_chances(roller.networks, roller.tables, board, scratch.tree.rolls.evaluation, chances)
    if turn % 2:
        fill_turned(chances, scratch.turned)
        chances = scratch.turned
    for item in range(5):
        scratch.end[item] = chances[item]


@kernel(borrows=True)
def roll_at(stream: np.uint64, turn: int) -> int:
    """Return the index of the roll of a turn among all 36 rolls."""
    return np.int64(high_below(random_bits(stream, turn), BLOCK))  # type: ignore[return-value]  # unsigned otherwise


@kernel(borrows=True)
def is_final(tables: BearoffArrays, stop: int, board: Boards) -> bool:
    """Return whether a trial ends at board[0:26]: the game is over, or a table at which trials stop covers the
    position. `stop` says which tables those are."""
    position_class = class_of(board)
    if position_class == _OVER:
        return True
    return stop > 0 and may_cover(tables, position_class) and 0 < bearoff_source(tables, board) <= stop


@kernel(borrows=True)
def play(roller: Roller, die: int, other_die: int, scratch: RolloutScratch) -> None:
    """Make the best play of a roll on scratch.board[0:26], and turn the board to the opponent. The best play is the
    best at 0-ply, or the choice of `lookahead.rank_all` at 1-ply."""
    networks, tables, settings = roller
    after, evaluation = scratch.tree.rolls.after, scratch.tree.rolls.evaluation
    n = fill_plays(scratch.board, die, other_die, after, scratch.tree.rolls.notes)
    if settings.play_ply == 0:
        best, _ = choose_by_chances(networks, tables, after, n, evaluation)
        flip_into(after[best], scratch.board)
        return
    fill_all_chances(networks, tables, after, 0, n, True, evaluation, evaluation.found, evaluation.sources)
    for row in range(n):
        scratch.static[row] = equity_of(evaluation.found[row])
    count = fill_candidates(after, n, scratch)
    best, lowest = 0, _WORST
    for place in range(count):
        if count > 1:
            sight = Sight(networks, tables, settings.ahead)
            fill_chances_at(sight, 1, scratch.candidates[place], scratch.tree, scratch.turned)
            equity = equity_of(scratch.turned)
            if equity < lowest:
                best, lowest = place, equity
    for slot in range(26):
        scratch.board[slot] = scratch.candidates[best, slot]


@kernel(borrows=True)
def fill_candidates(after: Boards, n: int, scratch: RolloutScratch) -> int:
    """Choose the plays that are evaluated at 1-ply, and copy them from after[0:n, slot] to scratch.candidates[index,
    slot], best first. Returns their number. Overwrites their static equities."""
    static, lowest, count = scratch.static, _WORST, 0
    for place in range(min(n, MAX_CANDIDATES)):
        best = 0
        for row in range(1, n):
            if static[row] < static[best]:
                best = row
        if place == 0:
            lowest = static[best]
        elif static[best] - lowest > _WINDOW:
            break
        flip_into(after[best], scratch.candidates[place])
        static[best] = _WORST
        count += 1
    return count


@kernel(borrows=True)
def add_luck(values: Chances, mean: Values, is_own: bool, luck: Values) -> None:
    """Add to luck[0:5] the luck of a roll for each chance: values[0:5] of the roll minus mean[0:5] over all rolls. The
    opponent's luck counts with the opposite sign."""
    if is_own:
        for item in range(5):
            luck[item] += values[item] - mean[item]
    else:
        luck[0] -= values[0] - mean[0]
        for item in range(2):
            luck[1 + item] += values[3 + item] - mean[3 + item]
            luck[3 + item] += values[1 + item] - mean[1 + item]


@kernel()
def fill_ends(
    begin: int,
    end: int,
    chooser: Chooser,
    settings: KernelSettings,
    turn: int,
    boards: Boards,
    is_end: NDArray[np.bool_],
    chances: Values,
) -> None:
    """Fill is_end[row] with whether a trial ends at boards[row, slot] after `turn` rolls, for rows begin:end. Where it
    ends, also fill chances[row, 0:5] of the player first on roll."""
    networks = chooser.networks
    roller, scratch = Roller(networks, chooser.tables, settings), new_rollout_scratch(networks)
    for row in range(begin, end):
        is_end[row] = turn >= settings.last_turn or is_final(roller.tables, settings.stop, boards[row])
        if is_end[row]:
            fill_end(roller, boards[row], turn, scratch)
            for item in range(5):
                chances[row, item] = scratch.end[item]


@kernel()
def fill_rolls(
    begin: int,
    end: int,
    chooser: Chooser,
    settings: KernelSettings,
    turn: int,
    boards: Boards,
    items: NDArray[np.int64],
    trials: NDArray[np.int64],
    rolls: NDArray[np.int8],
    lucks: Values,
) -> None:
    """Fill rolls[row, 0:2] with the dice of a turn of trials[row] of items[row], and add its luck to lucks[row, 0:5],
    for rows begin:end."""
    networks, tables = chooser.networks, chooser.tables
    scratch = new_rollout_scratch(networks)
    for row in range(begin, end):
        stream: Any = random_stream(settings.seed, items[row])
        if turn < 2:
            fill_order(random_stream(stream, MAX_TRIALS + trials[row] // SUPERBLOCK), scratch.order)
            first, second = first_rolls(trials[row], scratch.order)
            place = second if turn else first
        else:
            place = roll_at(random_stream(stream, trials[row]), turn)
        rolls[row, 0], rolls[row, 1] = place // 6 + 1, place % 6 + 1
        if settings.with_luck:
            fill_roll_values(networks, tables, settings.likely, boards[row], scratch.tree.rolls)
            found = scratch.tree.rolls
            values = found.values[roll_place(rolls[row, 0], rolls[row, 1])]
            add_luck(values, found.mean, turn % 2 == 0, lucks[row])


@kernel(parallel=True)
def fill_statistics(blocks: Values, means: Values, errors: Values) -> None:
    """Fill means[row, column] and errors[row, column], the standard error of the mean, from blocks[row, block, column].
    There are at least 2 blocks, which are added in order."""
    count = blocks.shape[1]
    for row in prange(len(blocks)):
        for column in range(blocks.shape[2]):
            total, squares = 0.0, 0.0
            for block in range(count):
                total += blocks[row, block, column]
            mean = total / count
            for block in range(count):
                squares += (blocks[row, block, column] - mean) ** 2
            means[row, column], errors[row, column] = mean, np.sqrt(squares / (count - 1) / count)
