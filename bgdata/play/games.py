"""Whole games between two players, each sequence of dice played twice with the sides swapped.

Games 2k and 2k + 1 are a pair: turn t has the same dice in both; the player named first begins game 2k, the other one
game 2k + 1. What dice give to one side they give to the other in the same pair, so a pair is one observation of skill
(`series.result_of`), and a player against itself has a score of exactly 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count as count_up
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import InvalidPositionError, UsageError
from bgdata.evaluation.answers import Scratch
from bgdata.evaluation.choices import Chooser, KernelPlayer, choice_scratch, choose, chosen_boards
from bgdata.evaluation.player import Player
from bgdata.game.board_kernels import game_outcomes, outcome_of
from bgdata.game.codec import Boards, check_legal_boards, flip_into
from bgdata.game.play_kernels import MOST_NOTES, MOST_PLAYS, Notes, fill_plays
from bgdata.game.position import CHECKERS, START
from bgdata.game.random import dice_of, opening_dice_of, random_bits, random_stream
from bgdata.kernel import kernel, prange

LOCKSTEP = 1 << 14  # games played side by side where a player is no kernel: bounds the memory
_START = np.array(START.board, np.int8)


class Games(NamedTuple):
    """One row a game."""

    numbers: NDArray[np.int64]  # [n] which game of the seed; 2k and 2k + 1 have the same dice
    outcomes: NDArray[np.int8]  # [n] points to the player named first, -3 to 3, never 0
    turns: NDArray[np.int32]  # [n] rolls of both players
    begins: NDArray[np.bool_]  # [n] whether the player named first began


class LockstepTurn(NamedTuple):
    """The same turn of many games: those that are not over before it."""

    rows: NDArray[np.int64]  # [n] places of these games among all that were asked for
    boards: Boards  # [n, 26] before the roll, seen by the player on roll
    rolls: NDArray[np.int8]  # [n, 2]
    outcomes: NDArray[np.int8]  # [n] points to the player named first, 0 where the game goes on


def play_games(first_player: Player, second_player: Player, count: int, seed: int, first: int = 0) -> Games:
    """Plays the games first, first + 1, ... of a seed to the end, without the cube. The first roll is never a double.

    Game g of a seed between the same players is always the same, on any number of threads and in any batch. Where both
    are `choices.KernelPlayer` a kernel plays the games; otherwise all unfinished games go on turn by turn, and whoever
    is on roll is asked for many plays at a time. Raises UsageError for numbers beyond 0 to 2^63 - 1, and
    InvalidPositionError if a player's answers are no positions.
    """
    check_numbers(count, seed, first)
    numbers = np.arange(first, first + count, dtype=np.int64)
    games = Games(numbers, np.empty(count, np.int8), np.empty(count, np.int32), numbers % 2 == 0)
    if isinstance(first_player, KernelPlayer) and isinstance(second_player, KernelPlayer):
        fill_games(first_player.chooser, second_player.chooser, seed, numbers, games.outcomes, games.turns)
        return games
    for start in range(0, count, LOCKSTEP):
        rows = slice(start, start + LOCKSTEP)
        turns = turns_in_lockstep((first_player, second_player), seed, numbers[rows])
        fill_results(turns, games.outcomes[rows], games.turns[rows])
    return games


def check_numbers(count: int, seed: int, first: int) -> None:
    """Raises UsageError unless all are from 0 to 2^63 - 1, the number of the last game too."""
    if min(count, seed, first) < 0 or max(first + count, seed) >= 1 << 63:
        raise UsageError(f"expected numbers from 0 to 2^63 - 1, got count {count}, seed {seed}, first {first}")


@kernel(parallel=True)
def fill_games(
    first_chooser: Chooser,
    second_chooser: Chooser,
    seed: int,
    numbers: NDArray[np.int64],
    outcomes: NDArray[np.int8],
    turns: NDArray[np.int32],
) -> None:
    """Fills outcomes[row] and turns[row] with game numbers[row] of a seed."""
    block = 16  # games that share scratch arrays
    for part in prange((len(outcomes) + block - 1) // block):
        after, notes = np.empty((MOST_PLAYS, 26), np.int8), np.empty(MOST_NOTES, np.int64)
        scratches = choice_scratch(first_chooser), choice_scratch(second_chooser)
        for row in range(part * block, min(len(outcomes), (part + 1) * block)):
            outcomes[row], turns[row] = game_result(
                first_chooser, second_chooser, seed, numbers[row], after, notes, scratches
            )


@kernel()
def game_result(
    first_chooser: Chooser,
    second_chooser: Chooser,
    seed: int,
    game: int,
    after: Boards,
    notes: Notes,
    scratches: tuple[Scratch, Scratch],
) -> tuple[int, int]:
    """(points to the player named first, turns). after[0:MOST_PLAYS, slot] and notes[0:MOST_NOTES] are scratch, and
    each player has a `choices.choice_scratch`."""
    stream = random_stream(seed, game // 2)
    board = _START.copy()
    side, turn = game % 2, 0
    while True:
        die, other_die = dice_at(stream, turn)
        n = fill_plays(board, die, other_die, after, notes)
        if side == 0:
            chosen = after[choose(first_chooser, board, after, n, game, turn, scratches[0])]
        else:
            chosen = after[choose(second_chooser, board, after, n, game, turn, scratches[1])]
        turn += 1
        outcome = outcome_of(chosen, CHECKERS)
        if outcome != 0:
            return (outcome if side == 0 else -outcome), turn
        flip_into(chosen, board)
        side = 1 - side


@kernel()
def dice_at(stream: np.uint64, turn: int) -> tuple[int, int]:
    """The roll of a turn; that of turn 0 is never a double."""
    bits = random_bits(stream, turn)
    return dice_of(bits) if turn else opening_dice_of(bits)


def fill_results(turns: Iterable[LockstepTurn], outcomes: NDArray[np.int8], n_turns: NDArray[np.int32]) -> None:
    """Fills outcomes[row] and n_turns[row] of every game from its turns; those of its last turn stay."""
    for number, turn in enumerate(turns, start=1):
        outcomes[turn.rows], n_turns[turn.rows] = turn.outcomes, number


def turns_in_lockstep(players: tuple[Player, Player], seed: int, numbers: NDArray[np.int64]) -> Iterator[LockstepTurn]:
    """Turn 0, 1, ... of games int64[n] `numbers` of a seed, until all are over."""
    rows, boards = np.arange(len(numbers)), np.tile(_START, (len(numbers), 1))
    for turn in count_up():
        if not len(rows):
            return
        games = numbers[rows]
        rolls, chosen = np.empty((len(rows), 2), np.int8), np.empty_like(boards)
        fill_rolls(seed, games, turn, rolls)
        for side, player in enumerate(players):
            asked = np.flatnonzero((games + turn) % 2 == side)
            if len(asked):
                chosen[asked] = _choices(player, boards[asked], rolls[asked], games[asked], turn)
        found = game_outcomes(chosen)  # for the opponent of whoever has played
        yield LockstepTurn(rows, boards, rolls, np.where((games + turn) % 2 == 0, -found, found).astype(np.int8))
        goes_on = found == 0
        rows, boards = rows[goes_on], chosen[goes_on]


def _choices(player: Player, boards: Boards, rolls: NDArray[np.int8], games: NDArray[np.int64], turn: int) -> Boards:
    """A kernel player chooses by game and turn, as in `fill_games`, if only its opponent is none."""
    if isinstance(player, KernelPlayer):
        return chosen_boards(player.chooser, boards, rolls, games, turn)
    chosen = player.choose_plays(boards, rolls)
    if chosen.shape != boards.shape:
        raise InvalidPositionError(
            f"expected {len(boards)} boards from player {player.label}, got {chosen.dtype}{list(chosen.shape)}"
        )
    return check_legal_boards(chosen)


@kernel()
def fill_rolls(seed: int, games: NDArray[np.int64], turn: int, rolls: NDArray[np.int8]) -> None:
    """Fills rolls[row, 0:2] with the dice of a turn of games[row]."""
    for row in range(len(games)):
        rolls[row, 0], rolls[row, 1] = dice_at(random_stream(seed, games[row] // 2), turn)
