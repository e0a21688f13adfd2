"""Games of a player against himself with every position, roll and play, and if wanted the luck of every roll."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.answers import fill_chances
from bgdata.evaluation.chances import equity_of
from bgdata.evaluation.choices import NETWORK, Brain, choose, networks_of, tables_of, thinking_room
from bgdata.game.board_kernels import outcome_of
from bgdata.game.codec import Boards, flip_into
from bgdata.game.play_kernels import MOST_NOTES, MOST_PLAYS, fill_plays
from bgdata.game.position import CHECKERS, START
from bgdata.game.random import dice_of, opening_dice_of, random_bits, random_stream
from bgdata.kernel import kernel, prange
from bgdata.play.games import check_numbers
from bgdata.play.roll_values import RollRoom, fill_roll_values, new_roll_room, roll_place

Values = NDArray[np.float32]
_START = np.array(START.board, np.int8)


class Corpus(NamedTuple):
    """Games first, first + 1, ...; game g has the turns offsets[g] to offsets[g + 1], of both sides in turn."""

    outcomes: NDArray[np.int8]  # [games] points to player 0, -3 to 3
    begins: NDArray[np.int8]  # [games] who rolls first: 0 or 1
    offsets: NDArray[np.int64]  # [games + 1]
    boards: Boards  # [turns, 26] before the roll, seen by the player on roll
    dice: NDArray[np.int8]  # [turns, 2]
    after_play: Boards  # [turns, 26] still seen by the player who moved
    equities: Values  # [turns] static cubeless equity before the roll, of the player on roll; NaN where he has none
    lucks: Values  # [turns] luck of the roll for the player on roll; NaN where it was not asked for


def self_play(brain: Brain, count: int, seed: int, first: int = 0, *, with_luck: bool = False) -> Corpus:
    """Plays the games first, first + 1, ... of a seed, without the cube. Player 0 begins if the first die is higher.

    Game g of a seed is always the same, on any number of threads and in any batch. Luck needs networks: raises
    UsageError for another player, and for numbers beyond 0 to 2^63 - 1.
    """
    check_numbers(count, seed, first)
    if with_luck and brain.kind != NETWORK:
        raise UsageError("expected a player with networks to say how lucky a roll is, got one that only chooses plays")
    outcomes, begins, turns = np.empty(count, np.int8), np.empty(count, np.int8), np.empty(count, np.int64)
    fill_results(brain, seed, first, outcomes, begins, turns)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(turns)])
    n = int(offsets[-1])
    boards, dice, after = np.empty((n, 26), np.int8), np.empty((n, 2), np.int8), np.empty((n, 26), np.int8)
    values = np.full((2, n), np.nan, np.float32)
    fill_corpus(brain, seed, first, with_luck, offsets, boards, dice, after, values)
    return Corpus(outcomes, begins, offsets, boards, dice, after, values[0], values[1])


@kernel(parallel=True)
def fill_results(
    brain: Brain,
    seed: int,
    first: int,
    outcomes: NDArray[np.int8],
    begins: NDArray[np.int8],
    turns: NDArray[np.int64],
) -> None:
    """Fills outcomes[row], begins[row] and turns[row] with game first + row."""
    for row in prange(len(outcomes)):
        nothing, no_dice = np.empty((0, 26), np.int8), np.empty((0, 2), np.int8)
        outcomes[row], begins[row], turns[row] = fill_game(brain, seed, first + row, nothing, no_dice, nothing)


@kernel(parallel=True)
def fill_corpus(
    brain: Brain,
    seed: int,
    first: int,
    with_luck: bool,
    offsets: NDArray[np.int64],
    boards: Boards,
    dice: NDArray[np.int8],
    after: Boards,
    values: Values,
) -> None:
    """Fills boards[turn, slot], dice[turn, 0:2], after[turn, slot] and values[0:2, turn] (equity, luck) for the turns
    offsets[row]:offsets[row + 1] with game first + row."""
    for row in prange(len(offsets) - 1):
        begin, end = offsets[row], offsets[row + 1]
        fill_game(brain, seed, first + row, boards[begin:end], dice[begin:end], after[begin:end])
        if brain.kind == NETWORK:
            fill_values(brain, with_luck, boards[begin:end], dice[begin:end], values[:, begin:end])


@kernel()
def fill_game(
    brain: Brain, seed: int, game: int, boards: Boards, dice: NDArray[np.int8], after_play: Boards
) -> tuple[int, int, int]:
    """Fills boards[turn, slot], dice[turn, 0:2] and after_play[turn, slot], as far as there is room; returns (points to
    player 0, who begins, turns)."""
    after, notes, work = np.empty((MOST_PLAYS, 26), np.int8), np.empty(MOST_NOTES, np.int64), thinking_room(brain)
    stream = random_stream(seed, game)
    board = _START.copy()
    die, other_die = opening_dice_of(random_bits(stream, 0))
    begins = int(die < other_die)
    turn = 0
    while True:
        n = fill_plays(board, die, other_die, after, notes)
        chosen = after[choose(brain, board, after, n, game, turn, work)]
        if turn < len(boards):
            boards[turn], after_play[turn] = board, chosen
            dice[turn, 0], dice[turn, 1] = die, other_die
        turn += 1
        outcome = outcome_of(chosen, CHECKERS)
        if outcome != 0:
            is_player_0 = (begins + turn) % 2 == 1
            return (outcome if is_player_0 else -outcome), begins, turn
        flip_into(chosen, board)
        die, other_die = dice_of(random_bits(stream, turn))


@kernel()
def fill_values(brain: Brain, with_luck: bool, boards: Boards, dice: NDArray[np.int8], values: Values) -> None:
    """Fills values[0, turn] with the static equity of boards[turn, slot], values[1, turn] with the luck of dice[turn]
    if asked."""
    networks, tables = networks_of(brain), tables_of(brain)
    room = new_roll_room(networks)
    for turn in range(len(boards)):
        fill_chances(networks, tables, boards[turn], room.work, room.work.chances[0])
        values[0, turn] = equity_of(room.work.chances[0])
        if with_luck:
            fill_roll_values(networks, tables, boards[turn], room)
            values[1, turn] = luck_of(room, roll_place(dice[turn, 0], dice[turn, 1]))


@kernel(borrows=True)
def luck_of(room: RollRoom, roll: int) -> float:
    """Equity after the best play of a roll less the mean over all rolls, from what `fill_roll_values` found."""
    mean = room.mean
    average = 2.0 * mean[0] - 1.0 + mean[1] + mean[2] - mean[3] - mean[4]
    return float(equity_of(room.values[roll]) - average)
