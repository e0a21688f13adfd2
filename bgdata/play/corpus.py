"""Games of a player against himself with every position, roll and play, and if wanted the luck of every roll.

What the luck leaves of a result is the hedged result: the points less the luck of both sides. Each roll's luck is 0 on
average, whoever plays and however well he knows the positions, so the mean stays what it was while most of the noise
of the dice is gone (Zare, "Hedging toward skill", GammonVillage 2000).
"""

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
from bgdata.play.luck.roll_values import fill_roll_values, mean_equity, new_roll_room, roll_place

Values = NDArray[np.float32]
Dice = NDArray[np.int8]
ROOM = 96  # turns of a game that are kept while it is played; the few longer games are played twice
_START = np.array(START.board, np.int8)


class Corpus(NamedTuple):
    """Games first, first + 1, ...; game g has the turns offsets[g] to offsets[g + 1], of both sides in turn."""

    outcomes: NDArray[np.int8]  # [games] points to player 0, -3 to 3
    begins: NDArray[np.int8]  # [games] who rolls first: 0 or 1
    offsets: NDArray[np.int64]  # [games + 1]
    boards: Boards  # [turns, 26] before the roll, seen by the player on roll
    dice: Dice  # [turns, 2]
    after_play: Boards  # [turns, 26] still seen by the player who moved
    equities: Values  # [turns] static cubeless equity before the roll, of the player on roll; NaN where nobody judges
    lucks: Values  # [turns] luck of the roll for the player on roll; NaN where it was not asked for


class Pages(NamedTuple):
    """The first ROOM turns of every game, as they are played."""

    boards: Boards  # [games, ROOM, 26]
    dice: Dice  # [games, ROOM, 2]
    after_play: Boards  # [games, ROOM, 26]


def self_play(
    brain: Brain, count: int, seed: int, first: int = 0, *, with_luck: bool = False, judge: Brain | None = None
) -> Corpus:
    """Plays the games first, first + 1, ... of a seed, without the cube. Player 0 begins if the first die is higher.

    Game g of a seed is always the same, on any number of threads and in any batch. The judge, who has networks, says
    what positions and rolls are worth: the player himself if none is given. Raises UsageError where luck is asked for
    and nobody has networks, and for numbers beyond 0 to 2^63 - 1.
    """
    check_numbers(count, seed, first)
    judge = brain if judge is None else judge
    if with_luck and judge.kind != NETWORK:
        raise UsageError("expected a player with networks to say how lucky a roll is, got one that only chooses plays")
    outcomes, begins, turns = np.empty(count, np.int8), np.empty(count, np.int8), np.empty(count, np.int64)
    pages = Pages(*(np.empty((count, ROOM, width), np.int8) for width in (26, 2, 26)))
    fill_games(brain, seed, first, outcomes, begins, turns, *pages)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(turns)])
    n = int(offsets[-1])
    boards, dice, after = np.empty((n, 26), np.int8), np.empty((n, 2), np.int8), np.empty((n, 26), np.int8)
    fill_corpus(brain, seed, first, offsets, *pages, boards, dice, after)
    values = np.full((2, n), np.nan, np.float32)
    if judge.kind == NETWORK:
        fill_values(judge, with_luck, offsets, boards, dice, values)
    return Corpus(outcomes, begins, offsets, boards, dice, after, values[0], values[1])


def net_lucks(begins: NDArray[np.integer], offsets: NDArray[np.int64], lucks: Values) -> NDArray[np.float64]:
    """float64[games]: points that the dice gave to player 0, his own luck less that of player 1; NaN without luck.

    Summed in order of the turns, so that every machine agrees. The hedged result of player 0 is his points less this.
    """
    games = np.repeat(np.arange(len(begins)), np.diff(offsets))
    is_player_0 = (begins[games] + np.arange(len(games)) - offsets[games]) % 2 == 0
    signed = np.where(is_player_0, lucks, -lucks).astype(np.float64)
    return np.bincount(games, signed, minlength=len(begins)).astype(np.float64)


@kernel(parallel=True)
def fill_games(
    brain: Brain,
    seed: int,
    first: int,
    outcomes: NDArray[np.int8],
    begins: NDArray[np.int8],
    turns: NDArray[np.int64],
    boards: Boards,
    dice: Dice,
    after_play: Boards,
) -> None:
    """Fills outcomes[row], begins[row], turns[row] and, as far as there is room, boards[row, turn, slot],
    dice[row, turn, 0:2] and after_play[row, turn, slot] with game first + row."""
    for row in prange(len(outcomes)):
        outcomes[row], begins[row], turns[row] = fill_game(
            brain, seed, first + row, boards[row], dice[row], after_play[row]
        )


@kernel(parallel=True)
def fill_corpus(
    brain: Brain,
    seed: int,
    first: int,
    offsets: NDArray[np.int64],
    paged_boards: Boards,
    paged_dice: Dice,
    paged_after: Boards,
    boards: Boards,
    dice: Dice,
    after: Boards,
) -> None:
    """Fills boards[turn, slot], dice[turn, 0:2] and after[turn, slot] for the turns offsets[row]:offsets[row + 1] with
    game first + row, from the `Pages` if they hold all of it."""
    for row in prange(len(offsets) - 1):
        begin, end = offsets[row], offsets[row + 1]
        n = end - begin
        if n <= paged_boards.shape[1]:
            boards[begin:end] = paged_boards[row, :n]
            dice[begin:end] = paged_dice[row, :n]
            after[begin:end] = paged_after[row, :n]
        else:
            fill_game(brain, seed, first + row, boards[begin:end], dice[begin:end], after[begin:end])


@kernel()
def fill_game(
    brain: Brain, seed: int, game: int, boards: Boards, dice: Dice, after_play: Boards
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


@kernel(parallel=True)
def fill_values(
    judge: Brain, with_luck: bool, offsets: NDArray[np.int64], boards: Boards, dice: Dice, values: Values
) -> None:
    """Fills values[0, turn] with the static equity of boards[turn, slot], and values[1, turn] with the luck of
    dice[turn, 0:2] if asked; the game of each row has the turns offsets[row]:offsets[row + 1]."""
    for row in prange(len(offsets) - 1):
        networks, tables = networks_of(judge), tables_of(judge)
        room = new_roll_room(networks)
        for turn in range(offsets[row], offsets[row + 1]):
            fill_chances(networks, tables, boards[turn], room.work, room.work.chances[0])
            values[0, turn] = equity_of(room.work.chances[0])
            if with_luck:
                fill_roll_values(networks, tables, boards[turn], room)
                best = equity_of(room.values[roll_place(dice[turn, 0], dice[turn, 1])])
                values[1, turn] = best - mean_equity(room, turn == offsets[row])
