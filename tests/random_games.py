"""Complete random games for tests, which reach positions of every kind."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.game.board import CHECKERS, START_BOARD
from bgdata.game.board_kernels import outcome_of
from bgdata.game.codec import Boards, flip_into
from bgdata.game.play_kernels import MAX_NOTES, MAX_PLAYS, Notes, fill_plays
from bgdata.game.random import dice_of, low_below, opening_dice_of, random_bits, random_stream
from bgdata.kernel import in_threads, kernel

_START = np.array(START_BOARD, np.int8)


class RandomGames(NamedTuple):
    """One row per game."""

    outcomes: NDArray[np.int8]  # [n] points to the player who rolls first, -3 to 3
    turns: NDArray[np.int64]  # [n] rolls of both players


class GamePositions(NamedTuple):
    """One row per turn; rows offsets[g] to offsets[g + 1] belong to game g. The player on roll changes with every
    row."""

    offsets: NDArray[np.int64]  # [n + 1]
    boards: Boards  # [turns, 26] before the roll, for the player on roll
    rolls: NDArray[np.int8]  # [turns, 2]


def random_games(count: int, seed: int, first: int = 0) -> RandomGames:
    """Play the games first, first + 1, ... of a seed to the end; each distinct play of a roll has the same chance.

    Game g of a seed is always the same, with any number of threads. The first roll of a game is never a double. Raises
    UsageError for numbers outside 0 to 2^63 - 1, including that of the last game.
    """
    if min(count, seed, first) < 0 or max(first + count, seed) >= 1 << 63:
        raise UsageError(f"expected numbers from 0 to 2^63 - 1, got count {count}, seed {seed}, first {first}")
    games = RandomGames(np.empty(count, np.int8), np.empty(count, np.int64))
    in_threads(fill_games, count, seed, first, np.zeros(count + 1, np.int64), *_room(0), *games, least=16)
    return games


def random_game_positions(count: int, seed: int, first: int = 0) -> GamePositions:
    """Every position and roll of the games of `random_games`. Raises the same exceptions."""
    games = random_games(count, seed, first)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(games.turns)])
    room = _room(int(offsets[-1]))
    in_threads(fill_games, count, seed, first, offsets, *room, *games, least=16)
    return GamePositions(offsets, *room)


def _room(turns: int) -> tuple[Boards, NDArray[np.int8]]:
    """Empty boards and rolls."""
    return np.empty((turns, 26), np.int8), np.empty((turns, 2), np.int8)


@kernel()
def fill_games(
    begin: int,
    end: int,
    seed: int,
    first: int,
    offsets: NDArray[np.int64],
    boards: Boards,
    rolls: NDArray[np.int8],
    outcomes: NDArray[np.int8],
    turns: NDArray[np.int64],
) -> None:
    """Fill outcomes[row] and turns[row] with game first + row, and boards[turn, slot] and rolls[turn, 0:2] for turns
    offsets[row]:offsets[row + 1], for the rows begin:end."""
    after = np.empty((MAX_PLAYS, 26), np.int8)
    notes = np.empty(MAX_NOTES, np.int64)
    for row in range(begin, end):
        kept = slice(offsets[row], offsets[row + 1])
        outcomes[row], turns[row] = fill_game(seed, first + row, boards[kept], rolls[kept], after, notes)


@kernel()
def fill_game(
    seed: int, game: int, boards: Boards, rolls: NDArray[np.int8], after: Boards, notes: Notes
) -> tuple[int, int]:
    """Fill boards[turn, slot] and rolls[turn, 0:2] while there is room; returns (points to the player who rolls first,
    turns). after[0:MAX_PLAYS] and notes[0:MAX_NOTES] are scratch."""
    stream = random_stream(seed, game)
    board = _START.copy()
    turn = 0
    while True:
        bits = random_bits(stream, turn)
        die, other_die = dice_of(bits) if turn else opening_dice_of(bits)
        if turn < len(boards):
            boards[turn] = board
            rolls[turn, 0], rolls[turn, 1] = die, other_die
        n = fill_plays(board, die, other_die, after, notes)
        chosen = after[low_below(bits, n)]
        turn += 1
        outcome = outcome_of(chosen, CHECKERS)
        if outcome != 0:
            return (outcome if turn % 2 else -outcome), turn
        flip_into(chosen, board)
