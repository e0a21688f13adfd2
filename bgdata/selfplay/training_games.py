"""Games for training: they begin anywhere, every turn considers all 21 rolls, and both give labels.

Games begin at the opening, after random plays, or at a position set up by rule. Self-play from the opening rarely
reaches back games, late hits or broken boards, so a network trained on it alone does not know them. A position set up
by rule is crude, but the turns played from it resemble those of real games with the same structure.

The 1-ply chances of a position are the mean over all rolls of the static chances after the best play. Its return
continues from there: the 1-ply chances, plus `td_lambda` times the return of the next position minus the static chances
of that position. Both contain the roll, so a return contains no luck of the dice except for which positions were
reached. With a td_lambda of 0 the return is the 1-ply chances. With 1 it is the outcome of the game minus all luck,
which is unbiased for any networks (Sutton 1988; Zare, "Hedging toward skill"). After a turn that was not the best play
the return begins anew, because later results no longer tell the value of the position before that turn.
"""

from __future__ import annotations

from enum import IntEnum
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
from bgdata.game.board import BAR, CHECKERS, HOME_POINTS, OPPONENT_BAR, START_BOARD
from bgdata.game.board_kernels import checkers_within, class_of, outcome_of
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, flip_into
from bgdata.game.play_kernels import Notes, fill_plays
from bgdata.game.random import dice_of, high_below, low_below, opening_dice_of, random_bits, random_stream
from bgdata.kernel import in_threads, kernel
from bgdata.selfplay.games import check_numbers

_START = np.array(START_BOARD, np.int8)
MIN_RANDOM, MAX_RANDOM = 2, 60  # random plays before a game
_SETUP_STREAM = 1 << 40  # first counter of random numbers for set-ups, above the counters of all turns


class Start(IntEnum):
    """The kind of position where a game begins; its number is stored."""

    OPENING = 0
    RANDOM_PLAYS = 1  # 2 to 60 plays chosen at random after the opening
    BACK_GAME = 2  # two anchors in the opponent's home board, any pair
    ACE_POINT = 3  # an anchor on the opponent's ace point alone, the opponent coming home or bearing off
    CONTAINMENT = 4  # a late hit: the opponent has one or two checkers back, and has borne some off
    BLITZ = 5  # checkers of the opponent on the bar or alone in our home board
    PRIMES = 6  # both sides hold a back anchor and build a prime in front of the other's
    HOLDING = 7  # both sides hold an advanced anchor
    BEAR_IN = 8  # bringing checkers home, or bearing off, against an anchor or a checker on the bar
    CRASHED = 9  # a broken board: many checkers on the lowest points
    ANYWHERE = 10  # checkers of both sides on any points

    @property
    def label(self) -> str:
        """The name of the start in parameters and tables, such as back-game."""
        return self.name.lower().replace("_", "-")


_OPENING, _RANDOM_PLAYS, _BACK_GAME, _ACE_POINT, _CONTAINMENT, _BLITZ, *_OTHERS = (int(start) for start in Start)
_PRIMES, _HOLDING, _BEAR_IN, _CRASHED, _ = _OTHERS
Counter = NDArray[np.int64]  # [1] the next counter of a stream
GIVEN = len(Start)  # the number of games that begin at a given position, not by a rule of `Start`
MAX_TURNS = 200  # turns of a game; longer games are cut, and their last return is the 1-ply chances
_RACE, _NONE, _ONE = int(PositionClass.RACE), np.float32(0), np.float32(1)
NO_POSITIONS = np.empty((0, 26), np.int8)
_OVERLOOKS, _CHOICES = 1 << 41, 1 << 42  # first counters that decide whether plays are overlooked, and which


class TrainingGames(NamedTuple):
    """Positions and labels of games in order. Rows offsets[g]:offsets[g + 1] belong to game g. Chances are for the
    player on roll before the roll."""

    offsets: NDArray[np.int64]  # [games + 1]
    boards: Boards  # [rows, 26]
    static: Chances  # [rows, 5] 0-ply
    lookahead: Chances  # [rows, 5] 1-ply
    returns: Chances  # [rows, 5] limited to legal chances


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
    """Play games first, first + 1, ... of a seed. Game g begins as starts[g - first] says, a number of `Start`; if that
    is GIVEN, it begins at positions[g - first] of int8[games, 26], for the player on roll.

    A game ends when it is over or a bearoff table contains its chances, so networks never evaluate such positions. Only
    the `likely` plays of each roll are considered, or all if it is 0. In a share `overlooked` of the turns, the player
    overlooks half of the plays. Results depend on the seed alone, not on the number of threads. Raises UsageError if a
    number is outside 0 to 2^63 - 1, `likely` is more than MAX_LIKELY, or a position is missing."""
    n = len(starts)
    check_numbers(n, seed, first)
    if (starts == GIVEN).any() and len(positions) != n:
        raise UsageError(f"expected {n} positions where games begin, got {len(positions)}")
    counts = np.zeros(n, np.int64)
    boards, chances = np.empty((n, MAX_TURNS, 26), np.int8), np.empty((n, 3, MAX_TURNS, 5), np.float32)
    settings = seed, first, round(overlooked * (1 << 20)), np.float32(td_lambda)
    pages = counts, boards, chances
    in_threads(fill_games, n, networks, tables, likely_plays(likely), starts, positions, *settings, *pages)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    is_turn = np.arange(MAX_TURNS) < counts[:, None]
    return TrainingGames(offsets, boards[is_turn], *(chances[:, kind][is_turn] for kind in range(3)))


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
    """Play games first + row of a seed for rows begin:end. Fills counts[row], boards[row, turn, slot] and chances[row,
    kind, turn, 0:5]. `overlooked` is in units of 2^-20."""
    scratch, counter, board = new_roll_scratch(networks), np.empty(1, np.int64), np.empty(26, np.int8)
    is_best = np.empty(MAX_TURNS, np.bool_)
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
    """Play one game from board[0:26]. Fills boards[turn, slot], chances[0:2, turn, 0:5] and is_best[turn], which says
    whether the best play was made. Returns the number of turns."""
    turn = 0
    while turn < MAX_TURNS and not is_solved(tables, board):
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
            play = best_noticed_play(networks, tables, stream, turn, board, die, other_die, scratch)
            flip_into(scratch.after[play], board)
        turn += 1
    return turn


@kernel(borrows=True)
def is_solved(tables: BearoffArrays, board: Boards) -> bool:
    """Return whether the game is over at board[0:26], or a bearoff table contains its chances."""
    if outcome_of(board, CHECKERS) != 0:
        return True
    return may_cover(tables, class_of(board)) and int(bearoff_source(tables, board)) != 0


@kernel(borrows=True)
def best_noticed_play(
    networks: Networks,
    tables: BearoffArrays,
    stream: np.uint64,
    turn: int,
    board: Boards,
    die: int,
    other_die: int,
    scratch: RollScratch,
) -> int:
    """Return the play of a player that overlooks each play of a roll with a chance of one half. Fills
    scratch.after[play, slot] with the noticed plays, and returns the index of the best of them, or 0 if no play was
    noticed."""
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
    """Fill chances[2, turn, 0:5] with the returns (TD(lambda) targets) of all turns of boards[turn, slot]. The last
    turn has no next position to add: its chances are known, or the game was cut. Stored returns are limited to legal
    chances; earlier returns use the unlimited ones, which are unbiased. Overwrites scratch[0:2, 0:5]."""
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
    """Fill turned[0:5] with difference[0:5], a difference of chances, as the other player sees it."""
    turned[0] = -difference[0]
    turned[1], turned[2] = difference[3], difference[4]
    turned[3], turned[4] = difference[1], difference[2]


@kernel(borrows=True)
def fill_start(start: int, stream: np.uint64, board: Boards, counter: Counter, after: Boards, notes: Notes) -> None:
    """Fill board[0:26] with the position where game `stream` begins, for the player on roll. `start` is a number of
    `Start`. The position depends on `start` and `stream` alone, and is never a finished game. counter[0:1],
    after[0:MAX_PLAYS] and notes[0:MAX_NOTES] are scratch."""
    counter[0] = _SETUP_STREAM
    if start == _RANDOM_PLAYS:
        fill_random_plays(stream, counter, board, after, notes)
    elif start == _OPENING:
        for slot in range(26):
            board[slot] = _START[slot]
    else:
        fill_setup(start, stream, counter, board)
        if draw(stream, counter, 2):
            flip_into(board, after[0])
            for slot in range(26):
                board[slot] = after[0, slot]
        if board[BAR] > 0 and board[OPPONENT_BAR] > 0 and is_closed(board):
            for slot in range(26):
                board[slot] = _START[slot]


@kernel(borrows=True)
def draw(stream: np.uint64, counter: Counter, count: int) -> int:
    """Return the next random number of the stream, from 0 to count - 1. `counter[0]` is the count of numbers taken so
    far."""
    found = high_below(random_bits(stream, counter[0]), count)
    counter[0] += 1
    return found


@kernel(borrows=True)
def fill_random_plays(stream: np.uint64, counter: Counter, board: Boards, after: Boards, notes: Notes) -> None:
    """Fill board[0:26] with the position after MIN_RANDOM to MAX_RANDOM random plays from the start position, fewer if
    a play would end the game."""
    for slot in range(26):
        board[slot] = _START[slot]
    plays = MIN_RANDOM + draw(stream, counter, MAX_RANDOM - MIN_RANDOM + 1)
    for play in range(plays):
        bits = random_bits(stream, counter[0])
        counter[0] += 1
        die, other_die = dice_of(bits) if play else opening_dice_of(bits)
        n = fill_plays(board, die, other_die, after, notes)
        chosen = after[low_below(bits, n)]
        if outcome_of(chosen, CHECKERS) != 0:
            return
        flip_into(chosen, board)


@kernel(borrows=True)
def is_closed(board: Boards) -> bool:
    """Return whether both home boards are closed, so that neither side could enter from the bar."""
    ours, theirs = 0, 0
    for point in range(1, HOME_POINTS + 1):
        ours += board[point] >= 2
        theirs += board[BAR - point] <= -2
    return ours == HOME_POINTS and theirs == HOME_POINTS


@kernel(borrows=True)
def put(board: Boards, side: int, point: int, count: int) -> int:
    """Add `count` checkers of a side (0: on roll, 1: the opponent) to board[0:26] on one of the side's points (25: the
    bar), unless the other side has checkers there. Returns how many were added."""
    if point == BAR:
        if side == 0:
            board[BAR] += count
        else:
            board[OPPONENT_BAR] += count
        return count
    slot = point if side == 0 else BAR - point
    sign = 1 if side == 0 else -1
    if sign * board[slot] < 0:
        return 0
    board[slot] += sign * count
    return count


@kernel(borrows=True)
def spread(
    stream: np.uint64, counter: Counter, board: Boards, side: int, count: int, lowest: int, highest: int, pairs: int
) -> None:
    """Add `count` checkers of a side to board[0:26] on random points from lowest to highest, each in a pair with a
    chance of pairs / 8. Checkers that find no point are borne off."""
    left, tries = count, 0
    while left > 0 and tries < 200:
        both = 2 if left > 1 and draw(stream, counter, 8) < pairs else 1
        left -= put(board, side, lowest + draw(stream, counter, highest - lowest + 1), both)
        tries += 1


@kernel(borrows=True)
def fill_setup(start: int, stream: np.uint64, counter: Counter, board: Boards) -> None:
    """Fill board[0:26] with a random position of the kind `start`, a number of `Start`. Side 0 is the side that the
    kind describes: it plays the back game, or attacks."""
    for slot in range(26):
        board[slot] = 0
    if start == _BACK_GAME:
        fill_back_game(stream, counter, board)
    elif start == _ACE_POINT:
        anchor = 2 + (draw(stream, counter, 4) == 0)
        put(board, 0, 24, anchor)
        spread(stream, counter, board, 0, CHECKERS - anchor, 1, 6 + draw(stream, counter, 12), 5)
        off = max(0, draw(stream, counter, 16) - 6)
        spread(stream, counter, board, 1, CHECKERS - off, 2, 6 if off else 6 + draw(stream, counter, 7), 5)
    elif start == _CONTAINMENT:
        fill_containment(stream, counter, board)
    elif start == _BLITZ:
        fill_blitz(stream, counter, board)
    elif start == _PRIMES:
        for side in range(2):
            put(board, side, 24 - (draw(stream, counter, 4) == 0), 2)
        for side in range(2):
            spread(stream, counter, board, side, 9 + draw(stream, counter, 3), 3, 9, 6)
            fill_up(stream, counter, board, side, 4, 18)
    elif start == _HOLDING:
        for side in range(2):
            put(board, side, 18 + draw(stream, counter, 4), 2)
        for side in range(2):
            fill_up(stream, counter, board, side, 2 + draw(stream, counter, 3), 8 + draw(stream, counter, 6))
    elif start == _BEAR_IN:
        anchor, behind = 1 + draw(stream, counter, 2), 19 + draw(stream, counter, 7)
        put(board, 1, behind, anchor)
        if draw(stream, counter, 4) == 0:
            put(board, 1, 19 + draw(stream, counter, 6), 1 + draw(stream, counter, 2))
        off = max(0, draw(stream, counter, 18) - 6)
        spread(stream, counter, board, 0, CHECKERS - off, 1, 6 if off else 6 + draw(stream, counter, 6), 5)
        fill_up(stream, counter, board, 1, 1, 6 + draw(stream, counter, 6))
    elif start == _CRASHED:
        spread(stream, counter, board, 0, 7 + draw(stream, counter, 4), 1, 3, 4)
        put(board, 1, 19 + draw(stream, counter, 6), 2)
        fill_up(stream, counter, board, 0, 1, 24)
        fill_up(stream, counter, board, 1, 1, 12 + draw(stream, counter, 8))
    else:
        for side in range(2):
            off = max(0, draw(stream, counter, 12) - 7)
            spread(stream, counter, board, side, CHECKERS - off, 1, 24 + (draw(stream, counter, 6) == 0), 4)
    for side in range(2):  # a side without checkers would have won
        if checkers_within(board, side, 1, BAR) == 0:
            put(board, side, BAR, 1)


@kernel(borrows=True)
def fill_up(stream: np.uint64, counter: Counter, board: Boards, side: int, lowest: int, highest: int) -> None:
    """Add the rest of a side's 15 checkers to board[0:26], on its points from lowest to highest."""
    spread(stream, counter, board, side, CHECKERS - checkers_within(board, side, 1, BAR), lowest, highest, 4)


@kernel(borrows=True)
def fill_back_game(stream: np.uint64, counter: Counter, board: Boards) -> None:
    """Set up a back game on board[0:26]: side 0 holds two of the opponent's home points, and the opponent brings its
    checkers home."""
    low = 1 + draw(stream, counter, 5)
    high = low + 1 + draw(stream, counter, HOME_POINTS - low)
    for point in (low, high):
        put(board, 0, BAR - point, 2 + (draw(stream, counter, 4) == 0))
    fill_up(stream, counter, board, 0, 1, 6 + draw(stream, counter, 13))
    off = max(0, draw(stream, counter, 8) - 5)
    spread(stream, counter, board, 1, CHECKERS - off, 1, 7 + draw(stream, counter, 10), 5)


@kernel(borrows=True)
def fill_containment(stream: np.uint64, counter: Counter, board: Boards) -> None:
    """Set up a containment game on board[0:26]: the opponent has borne off some checkers and has one or two back, on
    the bar or near it; side 0 has some points closed."""
    first = 1 + draw(stream, counter, 4)
    for point in range(first, first + 3 + draw(stream, counter, 4)):
        put(board, 0, point, 2)
    back = 1 + (draw(stream, counter, 4) == 0)
    for _ in range(back):
        place = BAR if draw(stream, counter, 3) == 0 else 12 + draw(stream, counter, 13)
        if put(board, 1, place, 1) == 0:
            put(board, 1, BAR, 1)
    spread(stream, counter, board, 1, draw(stream, counter, CHECKERS + 1 - back), 1, 6, 4)
    fill_up(stream, counter, board, 0, 1, 24)


@kernel(borrows=True)
def fill_blitz(stream: np.uint64, counter: Counter, board: Boards) -> None:
    """Set up a blitz on board[0:26]: side 0 attacks one to three checkers without an anchor in its home board."""
    for _ in range(1 + draw(stream, counter, 3)):
        put(board, 1, BAR if draw(stream, counter, 2) == 0 else 19 + draw(stream, counter, 6), 1)
    if draw(stream, counter, 3):
        put(board, 0, 24, 2)
    spread(stream, counter, board, 0, 8 + draw(stream, counter, 3), 1, 8, 5)
    fill_up(stream, counter, board, 1, 4, 14)
    fill_up(stream, counter, board, 0, 6, 14)
