"""Where games begin that are played to learn from: the opening, random plays after it, or a position set up by rule.

Self-play from the opening hardly ever reaches back games, late hits or broken boards, so a network that learned from it
alone does not know them. A position set up by rule is crude, but the turns played from there on are those of real games
that got into the same trouble.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from bgdata.game.board import BAR, CHECKERS, HOME_POINTS, OPPONENT_BAR, START_BOARD
from bgdata.game.board_kernels import checkers_within, outcome_of
from bgdata.game.codec import Boards, flip_into
from bgdata.game.play_kernels import Notes, fill_plays
from bgdata.game.random import dice_of, high_below, low_below, opening_dice_of, random_bits
from bgdata.kernel import kernel

_START = np.array(START_BOARD, np.int8)
LEAST_RANDOM, MOST_RANDOM = 2, 60  # random plays before a game
_SETUP_STREAM = 1 << 40  # counters of set-ups, beyond those of any turn


class Start(IntEnum):
    """How a game begins; the number is stored with it."""

    OPENING = 0
    RANDOM_PLAYS = 1  # 2 to 60 plays chosen at random after the opening
    BACK_GAME = 2  # two anchors in the opponent's home board, any pair
    ACE_POINT = 3  # an anchor on the opponent's ace point alone, the opponent coming home or bearing off
    CONTAINMENT = 4  # a late hit: the opponent has one or two checkers back, and has borne some off
    BLITZ = 5  # checkers of the opponent on the bar or alone in our home board
    PRIMES = 6  # both hold a back anchor and build in front of the other
    HOLDING = 7  # both hold an advanced anchor
    BEAR_IN = 8  # bringing checkers home, or bearing off, against an anchor or a checker on the bar
    CRASHED = 9  # a broken board: many checkers on the lowest points
    ANYWHERE = 10  # checkers of both sides on any points

    @property
    def label(self) -> str:
        """Name in parameters and tables, such as back-game."""
        return self.name.lower().replace("_", "-")


SETUPS = tuple(start for start in Start if start >= Start.BACK_GAME)
_OPENING, _RANDOM_PLAYS = int(Start.OPENING), int(Start.RANDOM_PLAYS)
_BACK_GAME, _ACE_POINT, _CONTAINMENT, _BLITZ = (int(start) for start in SETUPS[:4])
_PRIMES, _HOLDING, _BEAR_IN, _CRASHED = (int(start) for start in SETUPS[4:8])
Counter = NDArray[np.int64]  # [1] the next counter of a stream


@kernel(borrows=True)
def fill_start(start: int, stream: np.uint64, board: Boards, counter: Counter, after: Boards, notes: Notes) -> None:
    """Fills board[slot], the player on roll about to roll, with where game `stream` of a kind of `Start` begins.
    counter[0:1], after[0:MOST_PLAYS] and notes[0:MOST_NOTES] are scratch. Always the same for a stream; never a game
    that is over."""
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
    """A random number from 0 to count - 1, the next of the stream."""
    found = high_below(random_bits(stream, counter[0]), count)
    counter[0] += 1
    return found


@kernel(borrows=True)
def fill_random_plays(stream: np.uint64, counter: Counter, board: Boards, after: Boards, notes: Notes) -> None:
    """Fills board[slot] with the start position after LEAST_RANDOM to MOST_RANDOM random plays, or one play before the
    end of a game that would be over."""
    for slot in range(26):
        board[slot] = _START[slot]
    plays = LEAST_RANDOM + draw(stream, counter, MOST_RANDOM - LEAST_RANDOM + 1)
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
    """Whether either side can never enter: both home boards closed."""
    ours, theirs = 0, 0
    for point in range(1, HOME_POINTS + 1):
        ours += board[point] >= 2
        theirs += board[BAR - point] <= -2
    return ours == HOME_POINTS and theirs == HOME_POINTS


@kernel(borrows=True)
def put(board: Boards, side: int, point: int, count: int) -> int:
    """Fills board[slot] with `count` more checkers of a side (0: on roll, 1: the opponent) on one of its points, 25 the
    bar, if the other side has none there; returns how many were put."""
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
    """Fills board[slot] with `count` more checkers of a side on its random points from lowest to highest; each with a
    chance of pairs / 8 together with another one. Where every point is taken, they are off."""
    left, tries = count, 0
    while left > 0 and tries < 200:
        both = 2 if left > 1 and draw(stream, counter, 8) < pairs else 1
        left -= put(board, side, lowest + draw(stream, counter, highest - lowest + 1), both)
        tries += 1


@kernel(borrows=True)
def fill_setup(start: int, stream: np.uint64, counter: Counter, board: Boards) -> None:
    """Fills board[slot] with a position set up by the rule of a `Start`; side 0 is the one that the rule is about."""
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
    for side in range(2):  # a side without a checker would be over
        if checkers_within(board, side, 1, BAR) == 0:
            put(board, side, BAR, 1)


@kernel(borrows=True)
def fill_up(stream: np.uint64, counter: Counter, board: Boards, side: int, lowest: int, highest: int) -> None:
    """Fills board[slot] with the rest of a side's 15 checkers, on its points from lowest to highest."""
    spread(stream, counter, board, side, CHECKERS - checkers_within(board, side, 1, BAR), lowest, highest, 4)


@kernel(borrows=True)
def fill_back_game(stream: np.uint64, counter: Counter, board: Boards) -> None:
    """Fills board[slot]: side 0 holds two of the opponent's home points, the opponent is on its way home."""
    low = 1 + draw(stream, counter, 5)
    high = low + 1 + draw(stream, counter, HOME_POINTS - low)
    for point in (low, high):
        put(board, 0, BAR - point, 2 + (draw(stream, counter, 4) == 0))
    fill_up(stream, counter, board, 0, 1, 6 + draw(stream, counter, 13))
    off = max(0, draw(stream, counter, 8) - 5)
    spread(stream, counter, board, 1, CHECKERS - off, 1, 7 + draw(stream, counter, 10), 5)


@kernel(borrows=True)
def fill_containment(stream: np.uint64, counter: Counter, board: Boards) -> None:
    """Fills board[slot]: the opponent has borne some checkers off and has one or two back, on the bar or not far from
    it; side 0 has some points closed."""
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
    """Fills board[slot]: side 0 attacks one to three checkers that have no anchor in its home board."""
    for _ in range(1 + draw(stream, counter, 3)):
        put(board, 1, BAR if draw(stream, counter, 2) == 0 else 19 + draw(stream, counter, 6), 1)
    if draw(stream, counter, 3):
        put(board, 0, 24, 2)
    spread(stream, counter, board, 0, 8 + draw(stream, counter, 3), 1, 8, 5)
    fill_up(stream, counter, board, 1, 4, 14)
    fill_up(stream, counter, board, 0, 6, 14)
