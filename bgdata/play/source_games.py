"""Games whose positions players are measured on: between any two kernel players, begun anywhere, sometimes perturbed.

A perturbed position has one or two checkers of either side moved to random points: it resembles those of games and came
up in none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.choices import Chooser
from bgdata.game.board import BAR, CHECKERS, OPPONENT_BAR
from bgdata.game.codec import Boards
from bgdata.game.random import random_bits, random_stream
from bgdata.kernel import in_threads, kernel
from bgdata.play.games import Turns, new_game_scratch, nothing_recorded, play_game
from bgdata.play.starts import Counter, Start, drawn, fill_start

MOST_TURNS = 200  # of a game; what comes after is not looked at
_OPENING = int(Start.OPENING)
_SIDES, _PERTURBATIONS = 1 << 41, 1 << 42  # counters of a stream: who begins, and how positions are perturbed
_CHANGES = 64  # counters for one perturbation


class SourceGames(NamedTuple):
    """Games in order; game g has the rows offsets[g] to offsets[g + 1]."""

    offsets: NDArray[np.int64]  # [games + 1]
    boards: Boards  # [rows, 26] before the roll, seen by the player on roll; perturbed where that was asked for


def source_games(
    players: tuple[Chooser, Chooser],
    seed: int,
    numbers: NDArray[np.int64],
    starts: NDArray[np.int8],
    perturbed: NDArray[np.bool_],
) -> SourceGames:
    """Play games int64[n] `numbers` of a seed, each from a `Start` and up to MOST_TURNS turns long; which player begins
    is random. Where bool[n] `perturbed` is set, each recorded position has checkers moved; the game itself goes on as
    it was.

    Always the same for a seed and a number, on any number of threads and in any batch. Raises UsageError for numbers
    beyond 0 to 2^63 - 1.
    """
    n = len(numbers)
    if not 0 <= min(seed, int(numbers.min(initial=0))) <= max(seed, int(numbers.max(initial=0))) < 1 << 63:
        raise UsageError(f"expected numbers from 0 to 2^63 - 1, got seed {seed}")
    counts, boards = np.zeros(n, np.int64), np.empty((n, MOST_TURNS, 26), np.int8)
    in_threads(fill_games, n, *players, seed, numbers, starts, perturbed, counts, boards)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return SourceGames(offsets, boards[np.arange(MOST_TURNS) < counts[:, None]])


@kernel()
def fill_games(
    begin: int,
    end: int,
    first_chooser: Chooser,
    second_chooser: Chooser,
    seed: int,
    numbers: NDArray[np.int64],
    starts: NDArray[np.int8],
    perturbed: NDArray[np.bool_],
    counts: NDArray[np.int64],
    boards: Boards,
) -> None:
    """Fills boards[row, turn, slot] and counts[row], how many turns, with game numbers[row], for the rows begin:end."""
    scratch, nothing = new_game_scratch(first_chooser, second_chooser), nothing_recorded()
    board, counter = np.empty(26, np.int8), np.empty(1, np.int64)
    for row in range(begin, end):
        stream, is_opening = random_stream(seed, numbers[row]), starts[row] == _OPENING
        fill_start(starts[row], stream, board, counter, scratch.after, scratch.notes)
        side = int(random_bits(stream, _SIDES) & np.uint64(1))
        record = Turns(boards[row], nothing.dice, nothing.after_play, nothing.chances, nothing.sources)
        _, counts[row] = play_game(
            first_chooser, second_chooser, stream, numbers[row], side, board, is_opening, MOST_TURNS, scratch, record
        )
        if perturbed[row]:
            for turn in range(counts[row]):
                counter[0] = _PERTURBATIONS + turn * _CHANGES
                perturb(stream, counter, boards[row, turn])


@kernel(borrows=True)
def perturb(stream: np.uint64, counter: Counter, board: Boards) -> None:
    """Fills board[slot] with itself after one or two checkers were taken from where they are, the bar included, and put
    on points where the other side has none. Nobody comes onto the bar or off it to bear off."""
    for _ in range(1 + drawn(stream, counter, 2)):
        sign = 1 if drawn(stream, counter, 2) == 0 else -1
        place = nth_checker(board, sign, drawn(stream, counter, CHECKERS))
        target = 1 + drawn(stream, counter, BAR - 1)
        if sign * board[target] >= 0:
            on_bar = place in (BAR, OPPONENT_BAR)
            board[place] -= 1 if on_bar else sign
            board[target] += sign


@kernel(borrows=True)
def nth_checker(board: Boards, sign: int, number: int) -> int:
    """The slot of a side's checker (1: on roll, -1: the opponent) of board[slot], counted from its ace point on and, if
    there are not so many, again from there."""
    while True:
        for step in range(1, BAR + 1):
            slot = step if sign > 0 else BAR - step
            number -= max(int(board[slot]) if step == BAR else sign * int(board[slot]), 0)
            if number < 0:
                return slot
