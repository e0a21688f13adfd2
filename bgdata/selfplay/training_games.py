"""Games played to learn from: begun anywhere, with a look at all 21 rolls before every turn, and labels from both.

The 1-ply chances of a position are the mean over all rolls of the static chances after the best play. Its return goes
on from there: the 1-ply chances, plus `td_lambda` times what the return of the next position is above its static
chances. The roll was in both, so a return has no luck of the dice in it, but for which positions were reached. With a
td_lambda of 0 it is the 1-ply chances; with 1 it is the outcome of the game less all luck, which is right on average
whatever the networks think (Sutton 1988; Zare, "Hedging toward skill"). After a turn that was not the best play the
return begins anew, since the position is not worth what was played.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.answers import choose_by_chances, fill_chances
from bgdata.evaluation.bearoff_kernels import BearoffArrays, bearoff_source, may_cover
from bgdata.evaluation.chances import Chances, limit_chances, possible_outcomes
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.roll_values import (
    LikelyPlays,
    RollScratch,
    fill_roll_values,
    likely_plays,
    new_roll_scratch,
    roll_place,
)
from bgdata.game.board import CHECKERS
from bgdata.game.board_kernels import class_of, outcome_of
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, flip_into
from bgdata.game.play_kernels import fill_plays
from bgdata.game.random import dice_of, high_below, random_bits, random_stream
from bgdata.kernel import in_threads, kernel
from bgdata.selfplay.games import check_numbers
from bgdata.selfplay.starts import Start, fill_start

GIVEN = len(Start)  # where a game begins: by no rule of `Start`, but at a position that is given
MOST_TURNS = 200  # of a game; the few that go on are cut, and the last return is that of 1-ply
_RACE, _NONE, _ONE = int(PositionClass.RACE), np.float32(0), np.float32(1)
NO_POSITIONS = np.empty((0, 26), np.int8)
_OVERLOOKS, _CHOICES = 1 << 41, 1 << 42  # counters of a stream: whether plays are overlooked, and which


class TrainingGames(NamedTuple):
    """Games in order; game g has the rows offsets[g] to offsets[g + 1]. Chances are those of the player on roll before
    the roll."""

    offsets: NDArray[np.int64]  # [games + 1]
    boards: Boards  # [rows, 26]
    static: Chances  # [rows, 5] 0-ply
    lookahead: Chances  # [rows, 5] 1-ply
    returns: Chances  # [rows, 5] limited by the rules


class Pages(NamedTuple):
    """Room for MOST_TURNS turns of each game."""

    counts: NDArray[np.int64]  # [games] turns
    boards: Boards  # [games, turn, 26]
    chances: Chances  # [games, kind, turn, 5] 0-ply, 1-ply, returns


def training_games(
    networks: Networks,
    tables: BearoffArrays,
    starts: NDArray[np.int8],
    seed: int,
    first: int = 0,
    *,
    positions: Boards = NO_POSITIONS,
    likely: int = 0,
    overlooked: float = 0.0,
    td_lambda: float = 0.0,
) -> TrainingGames:
    """Play games first, first + 1, ... of a seed; game g begins as starts[g - first], a number of `Start`, and if that
    is GIVEN at positions[g - first] of int8[games, 26], the player on roll about to roll.

    A game ends where it is over or a bearoff table knows its chances, which no network is asked for. Only
    the `likely` plays of each roll are looked at, 0: all. A share of `overlooked` turns is played without seeing half
    of the plays. Always the same for a seed, on any number of threads. Raises UsageError for numbers beyond 0 to 2^63 -
    1, more likely plays than MOST_LIKELY, or a game whose position is missing.
    """
    n = len(starts)
    check_numbers(n, seed, first)
    if (starts == GIVEN).any() and len(positions) != n:
        raise UsageError(f"expected {n} positions where games begin, got {len(positions)}")
    room = (n, MOST_TURNS)
    pages = Pages(np.zeros(n, np.int64), np.empty((*room, 26), np.int8), np.empty((n, 3, MOST_TURNS, 5), np.float32))
    settings = seed, first, round(overlooked * (1 << 20)), np.float32(td_lambda)
    in_threads(fill_games, n, networks, tables, likely_plays(likely), starts, positions, *settings, *pages)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(pages.counts)])
    is_turn = np.arange(MOST_TURNS) < pages.counts[:, None]
    return TrainingGames(offsets, pages.boards[is_turn], *(pages.chances[:, kind][is_turn] for kind in range(3)))


@kernel()
def fill_games(
    begin: int,
    end: int,
    networks: Networks,
    tables: BearoffArrays,
    likely: LikelyPlays,
    starts: NDArray[np.int8],
    positions: Boards,
    seed: int,
    first: int,
    overlooked: int,
    td_lambda: np.float32,
    counts: NDArray[np.int64],
    boards: Boards,
    chances: Chances,
) -> None:
    """Fills counts[row], boards[row, turn, slot] and chances[row, kind, turn, 0:5] with game first + row of a seed, for
    the rows begin:end. `overlooked` is in units of 2^-20."""
    scratch, counter, board = new_roll_scratch(networks), np.empty(1, np.int64), np.empty(26, np.int8)
    is_best = np.empty(MOST_TURNS, np.bool_)
    for row in range(begin, end):
        stream = random_stream(seed, first + row)
        if starts[row] == GIVEN:
            for slot in range(26):
                board[slot] = positions[row, slot]
        else:
            fill_start(starts[row], stream, board, counter, scratch.after, scratch.notes)
        turns = play_game(
            networks, tables, likely, stream, overlooked, board, scratch, is_best, boards[row], chances[row]
        )
        fill_returns(boards[row, :turns], is_best, td_lambda, chances[row], scratch.evaluation.chances)
        counts[row] = turns


@kernel(borrows=True)
def play_game(
    networks: Networks,
    tables: BearoffArrays,
    likely: LikelyPlays,
    stream: np.uint64,
    overlooked: int,
    board: Boards,
    scratch: RollScratch,
    is_best: NDArray[np.bool_],
    boards: Boards,
    chances: Chances,
) -> int:
    """Fills boards[turn, slot], chances[0:2, turn, 0:5] and is_best[turn], whether the best play was made, with the
    turns of a game from board[slot] on; returns how many."""
    turn = 0
    while turn < MOST_TURNS and not is_solved(tables, board):
        for slot in range(26):
            boards[turn, slot] = board[slot]
        fill_chances(networks, tables, board, scratch.evaluation, chances[0, turn])
        fill_roll_values(networks, tables, likely, board, scratch)
        for item in range(5):
            chances[1, turn, item] = scratch.mean[item]
        die, other_die = dice_of(random_bits(stream, turn))
        is_best[turn] = high_below(random_bits(stream, _OVERLOOKS + turn), 1 << 20) >= overlooked
        if is_best[turn]:
            flip_into(scratch.best[roll_place(die, other_die)], board)
        else:
            play = overlooking_play(networks, tables, stream, turn, board, die, other_die, scratch)
            flip_into(scratch.after[play], board)
        turn += 1
    return turn


@kernel(borrows=True)
def is_solved(tables: BearoffArrays, board: Boards) -> bool:
    """Whether the game is over, or a bearoff table knows the chances."""
    if outcome_of(board, CHECKERS) != 0:
        return True
    return may_cover(tables, class_of(board)) and int(bearoff_source(tables, board)) != 0


@kernel(borrows=True)
def overlooking_play(
    networks: Networks,
    tables: BearoffArrays,
    stream: np.uint64,
    turn: int,
    board: Boards,
    die: int,
    other_die: int,
    scratch: RollScratch,
) -> int:
    """Fills scratch.after[play, slot] with some plays of a roll, each kept with a chance of a half; returns the best of
    them, or 0, the first play of all, if none is kept."""
    n = fill_plays(board, die, other_die, scratch.after, scratch.notes)
    kept = 0
    for play in range(n):
        bits = random_bits(stream, _CHOICES + turn * 64 + play // 64)
        if bits >> np.uint64(play % 64) & np.uint64(1):
            for slot in range(26):
                scratch.after[kept, slot] = scratch.after[play, slot]
            kept += 1
    if kept == 0:
        return 0
    best, _ = choose_by_chances(networks, tables, scratch.after, kept, scratch.evaluation)
    return best


@kernel(borrows=True)
def fill_returns(
    boards: Boards, is_best: NDArray[np.bool_], td_lambda: np.float32, chances: Chances, scratch: Chances
) -> None:
    """Fills chances[2, turn, 0:5] with the returns of all turns of boards[turn, slot]. After the last one comes a
    position whose chances are known, or of which nothing is known as the game was cut: nothing to add in either case.

    What is kept is limited by the rules; what earlier returns are made of is not, as it is right on average.
    scratch[0:2, 0:5] is overwritten."""
    difference, turned = scratch[0], scratch[1]
    for item in range(5):
        difference[item] = 0
    for turn in range(len(boards) - 1, -1, -1):
        share = td_lambda if is_best[turn] else _NONE
        fill_turned_difference(difference, turned)
        for item in range(5):
            chances[2, turn, item] = chances[1, turn, item] + share * turned[item]
            difference[item] = chances[2, turn, item] - chances[0, turn, item]
            chances[2, turn, item] = min(max(chances[2, turn, item], _NONE), _ONE)
        limit_chances(possible_outcomes(boards[turn]), chances[2, turn])


@kernel(borrows=True)
def fill_turned_difference(difference: Chances, turned: Chances) -> None:
    """Fills turned[0:5] with a difference of chances as the other player sees it."""
    turned[0] = -difference[0]
    turned[1], turned[2] = difference[3], difference[4]
    turned[3], turned[4] = difference[1], difference[2]
