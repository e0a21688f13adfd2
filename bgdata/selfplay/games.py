"""Whole games between two players, each sequence of dice played twice with the sides swapped.

Games 2k and 2k + 1 are a pair: turn t has the same dice in both; the player named first begins game 2k, the other one
game 2k + 1. What the dice give to one side they give to the other in the same pair, so a pair is one observation of
skill (`series.result_of`), and a player against itself has a score of exactly 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count as count_up
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import InvalidPositionError, UsageError
from bgdata.evaluation.answers import Scratch, choose_by_chances
from bgdata.evaluation.chances import Chances
from bgdata.evaluation.choices import (
    Chooser,
    KernelPlayer,
    choice_scratch,
    choose,
    chosen_boards,
)
from bgdata.game.board import CHECKERS, START_BOARD
from bgdata.game.board_kernels import game_outcomes, outcome_of
from bgdata.game.codec import Boards, check_legal_boards, flip_into
from bgdata.game.play_kernels import MOST_NOTES, MOST_PLAYS, Notes, fill_plays
from bgdata.game.random import dice_of, opening_dice_of, random_bits, random_stream
from bgdata.kernel import in_threads, kernel, read_only

if TYPE_CHECKING:
    from bgdata.evaluation.player import Player

MOST_TURNS = 1 << 30  # no game is cut
LOCKSTEP = 1 << 14  # games played side by side where a player is no kernel: bounds the memory
START = read_only(np.array(START_BOARD, np.int8))


class Games(NamedTuple):
    """One row a game."""

    numbers: NDArray[np.int64]  # [n] which game of the seed; 2k and 2k + 1 have the same dice
    outcomes: NDArray[np.int8]  # [n] points to the player named first, -3 to 3, never 0
    turns: NDArray[np.int32]  # [n] rolls of both players
    begins: NDArray[np.bool_]  # [n] whether the player named first began


class LockstepTurn(NamedTuple):
    """The same turn of many games: of those that are not over before it."""

    rows: NDArray[np.int64]  # [n] places of these games among all that were asked for
    boards: Boards  # [n, 26] before the roll, seen by the player on roll
    rolls: NDArray[np.int8]  # [n, 2]
    outcomes: NDArray[np.int8]  # [n] points to the player named first, 0 where the game goes on


def play_games(first_player: Player, second_player: Player, count: int, seed: int, first: int = 0) -> Games:
    """Play games first, first + 1, ... of a seed to the end, without the cube. The first roll is never a double.

    Game g of a seed between the same players is always the same, on any number of threads and in any batch. If both are
    `choices.KernelPlayer`, a kernel plays the games; otherwise all unfinished games advance turn by turn, and the
    player on roll is asked for many plays at a time. Raises UsageError for numbers beyond 0 to 2^63 - 1, and
    InvalidPositionError if a player's answers are not positions.
    """
    check_numbers(count, seed, first)
    numbers = np.arange(first, first + count, dtype=np.int64)
    games = Games(numbers, np.empty(count, np.int8), np.empty(count, np.int32), numbers % 2 == 0)
    if isinstance(first_player, KernelPlayer) and isinstance(second_player, KernelPlayer):
        choosers = first_player.chooser, second_player.chooser
        in_threads(fill_games, len(numbers), *choosers, seed, numbers, games.outcomes, games.turns)
        return games
    for start in range(0, count, LOCKSTEP):
        rows = slice(start, start + LOCKSTEP)
        turns = turns_in_lockstep((first_player, second_player), seed, numbers[rows])
        fill_results(turns, games.outcomes[rows], games.turns[rows])
    return games


def check_numbers(count: int, seed: int, first: int) -> None:
    """Raise UsageError unless all numbers, including that of the last game, are from 0 to 2^63 - 1."""
    if min(count, seed, first) < 0 or max(first + count, seed) >= 1 << 63:
        raise UsageError(f"expected numbers from 0 to 2^63 - 1, got count {count}, seed {seed}, first {first}")


class Turns(NamedTuple):
    """Records of the turns of one game, as far as there is room; arrays without rows record nothing."""

    boards: Boards  # [turn, 26] before the roll, seen by the player on roll
    dice: NDArray[np.int8]  # [turn, 2]
    after_play: Boards  # [turn, 26] still seen by the player who moved
    chances: Chances  # [turn + 1, 5] of the opponent after the play of a turn, as the player saw them
    sources: NDArray[np.int8]  # [turn + 1] who says so: a number of `evaluator.AnswerSource`


class GameScratch(NamedTuple):
    """Scratch of one thread for playing games."""

    after: Boards  # [MOST_PLAYS, 26]
    notes: Notes  # [MOST_NOTES]
    first: Scratch  # of the player named first, and of the other one
    second: Scratch


@kernel()
def new_game_scratch(first_chooser: Chooser, second_chooser: Chooser) -> GameScratch:
    """Scratch for one thread."""
    after, notes = np.empty((MOST_PLAYS, 26), np.int8), np.empty(MOST_NOTES, np.int64)
    return GameScratch(after, notes, choice_scratch(first_chooser), choice_scratch(second_chooser))


@kernel()
def fill_games(
    begin: int,
    end: int,
    first_chooser: Chooser,
    second_chooser: Chooser,
    seed: int,
    numbers: NDArray[np.int64],
    outcomes: NDArray[np.int8],
    turns: NDArray[np.int32],
) -> None:
    """Fills outcomes[row] and turns[row] with game numbers[row] of a seed, for the rows begin:end."""
    scratch, record = new_game_scratch(first_chooser, second_chooser), nothing_recorded()
    for row in range(begin, end):
        game = numbers[row]
        stream, board = random_stream(seed, game // 2), START.copy()
        outcomes[row], turns[row] = play_game(
            first_chooser, second_chooser, stream, game, game % 2, board, True, MOST_TURNS, scratch, record
        )


@kernel()
def nothing_recorded() -> Turns:
    """`Turns` without room, so that nothing is recorded."""
    boards, chances = np.empty((0, 26), np.int8), np.empty((0, 5), np.float32)
    return Turns(boards, np.empty((0, 2), np.int8), boards, chances, np.empty(0, np.int8))


@kernel()
def play_game(
    first_chooser: Chooser,
    second_chooser: Chooser,
    stream: np.uint64,
    game: int,
    side: int,
    board: Boards,
    is_opening: bool,
    most_turns: int,
    scratch: GameScratch,
    record: Turns,
) -> tuple[int, int]:
    """Fills the record with the turns of a game from board[slot] on, which is overwritten. `side` begins, 0 for the
    player named first, 1 for the other one; with `is_opening` its first roll is no double. Returns (points to the
    player named first, turns). A game of `most_turns` is cut there, for 0 points."""
    outcome, turn = 0, 0
    while outcome == 0 and turn < most_turns:
        die, other_die = dice_at(stream, turn) if is_opening else dice_of(random_bits(stream, turn))
        n = fill_plays(board, die, other_die, scratch.after, scratch.notes)
        if side == 0:
            play = choose_play(first_chooser, board, n, game, turn, scratch.after, scratch.first, record)
        else:
            play = choose_play(second_chooser, board, n, game, turn, scratch.after, scratch.second, record)
        chosen = scratch.after[play]
        if turn < len(record.boards):
            record.boards[turn] = board
        if turn < len(record.dice):
            record.dice[turn, 0], record.dice[turn, 1], record.after_play[turn] = die, other_die, chosen
        outcome = outcome_of(chosen, CHECKERS)
        flip_into(chosen, board)
        turn, side = turn + 1, 1 - side
    return (outcome if side == 1 else -outcome), turn


@kernel(borrows=True)
def choose_play(
    chooser: Chooser, board: Boards, n: int, game: int, turn: int, after: Boards, scratch: Scratch, record: Turns
) -> int:
    """The row of after[0:n, slot] that a player chooses: see `choices.choose`. Fills chances and sources of the record
    if there is room; then even an only play is evaluated."""
    if len(record.sources) == 0:
        return choose(chooser, board, after, n, game, turn, scratch)
    best, source = choose_by_chances(chooser.networks, chooser.tables, after, n, scratch)
    for item in range(5):
        record.chances[turn + 1, item] = scratch.chances[0, item]
    record.sources[turn + 1] = source
    return best


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
    rows, boards = np.arange(len(numbers)), np.tile(START, (len(numbers), 1))
    for turn in count_up():
        if not len(rows):
            return
        games = numbers[rows]
        rolls, chosen = np.empty((len(rows), 2), np.int8), np.empty_like(boards)
        fill_rolls(seed, games, turn, rolls)
        for side, player in enumerate(players):
            asked = np.flatnonzero((games + turn) % 2 == side)
            if len(asked):
                chosen[asked] = checked_choices(player, boards[asked], rolls[asked], games[asked], turn)
        found = game_outcomes(chosen)  # for the opponent of whoever has played
        yield LockstepTurn(rows, boards, rolls, np.where((games + turn) % 2 == 0, -found, found).astype(np.int8))
        goes_on = found == 0
        rows, boards = rows[goes_on], chosen[goes_on]


def checked_choices(
    player: Player, boards: Boards, rolls: NDArray[np.int8], games: NDArray[np.int64], turn: int
) -> Boards:
    """int8[n, 26]: what `Player.choose_plays` gives for the turn of these games, checked. A kernel player chooses by
    game and turn, as in `fill_games`. Raises InvalidPositionError for answers that are no positions."""
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
