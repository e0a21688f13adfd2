"""The themes of positions: what kind of game is being played. Players are scored by theme.

A position of a game in progress has the theme of the first rule that is true. Each rule counts points from the point of
view of the side that it speaks of. A rule with "either" is true if it is true of one side.

1. Bear-off: the sides have passed each other and all checkers are home. Race: they have passed, and some are not home.

2. Opening: each side has moved at most four checkers from their starting points.

3. Containment: either side has borne off checkers and has one to three on the bar or outside its home board, after a
   late hit.

4. Back game: a side holds two or more anchors (points with two or more checkers) in the other side's home board, and
   trails in the race. One theme is for the player on roll, the other for its opponent.

5. Ace-point game: either side holds the other's ace point and no other anchor and trails in the race, and the other
   side has no checker behind its midpoint.

6. Bear-off against contact: either side has all checkers home, and the other one has checkers behind them.

7. Blitz: either side has made two to five points of its home board and has ten checkers in the zone (its home and outer
   boards). The other side has no anchor there, but two or more blots or a checker on the bar.

8. Bear-in against contact: either side has no checker behind its midpoint, and the other one has a checker in that home
   board or on the bar.

9. Crashed: either side has at most six checkers left to play with, as gnubg counts them (see `classes`).

10. Priming battle: both sides have a prime (four or more points in a row) with a checker of the other side behind it.

11. Mutual holding: the rearmost checkers of both sides are an advanced anchor, on the opponent's 4 point to bar point.

12. Middle game: everything else.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from bgdata.game.board import BAR, CHECKERS, HOME_POINTS, START_BOARD
from bgdata.game.board_kernels import checkers_at, checkers_within, class_of
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, check_boards
from bgdata.kernel import kernel

OPENING_MOVED = 4  # most checkers of a side that have left their starting points
HIT_LATE = 3  # most checkers on the bar or outside home after a late hit
MIDPOINT = 13
ZONE, ZONE_CHECKERS = 12, 10  # the attacker's points 1 to 12, and how many of its checkers a blitz needs there
BLITZ_POINTS = 2  # home points that a blitz needs
PRIME = 4  # points in a row
ADVANCED = (18, 21)  # points of an advanced anchor: the opponent's bar point to its 4 point


class Theme(IntEnum):
    """The theme of a position; tables store its number."""

    OPENING = 0
    MIDDLE_GAME = 1
    BLITZ = 2
    PRIMING_BATTLE = 3
    MUTUAL_HOLDING = 4
    ACE_POINT_GAME = 5
    BACK_GAME_ON_ROLL = 6  # the player on roll plays it
    BACK_GAME_AGAINST = 7  # the opponent plays it
    CONTAINMENT = 8
    BEAR_IN_AGAINST_CONTACT = 9
    BEAR_OFF_AGAINST_CONTACT = 10
    CRASHED = 11
    RACE = 12
    BEAR_OFF = 13

    @property
    def label(self) -> str:
        """The name of the theme in tables, such as back-game-on-roll."""
        return self.name.lower().replace("_", "-")


NO_THEME = -1  # theme of a finished game
_START = np.array(START_BOARD, np.int8)
_OVER, _RACE_CLASS, _CRASHED_CLASS = (
    int(each) for each in (PositionClass.OVER, PositionClass.RACE, PositionClass.CRASHED)
)
_OPENING, _MIDDLE_GAME, _BLITZ, _PRIMING_BATTLE, _MUTUAL_HOLDING, _ACE_POINT_GAME = (
    int(each) for each in Theme if each < 6
)
_ON_ROLL, _AGAINST, _CONTAINMENT, _BEAR_IN, _BEAR_OFF_AGAINST = (int(each) for each in Theme if 6 <= each < 11)
_CRASHED, _RACE, _BEAR_OFF = int(Theme.CRASHED), int(Theme.RACE), int(Theme.BEAR_OFF)
_FIRST_ADVANCED, _LAST_ADVANCED = ADVANCED


def position_themes(boards: Boards) -> NDArray[np.int8]:
    """Return the `Theme` number of each int8[n, 26] board as int8[n], NO_THEME if the game is over. Raises
    InvalidPositionError for another shape or type."""
    themes = np.empty(len(check_boards(boards)), np.int8)
    fill_themes(boards, themes)
    return themes


@kernel(borrows=True)
def fill_themes(boards: Boards, themes: NDArray[np.int8]) -> None:
    """Fill themes[row] with the `Theme` number of boards[row]."""
    for row in range(len(boards)):
        themes[row] = theme_of(boards[row])


@kernel(borrows=True)
def theme_of(board: Boards) -> int:
    """Return the `Theme` number of a position, NO_THEME if the game is over."""
    position_class = class_of(board)
    if position_class == _OVER:
        return NO_THEME
    if position_class <= _RACE_CLASS:
        return _RACE if position_class == _RACE_CLASS else _BEAR_OFF
    if moved_checkers(board, 0) <= OPENING_MOVED and moved_checkers(board, 1) <= OPENING_MOVED:
        return _OPENING
    behind = BAR - HOME_POINTS  # the first point of the other side's home board
    for side in range(2):
        outside = checkers_within(board, side, HOME_POINTS + 1, BAR)
        if 1 <= outside <= HIT_LATE and outside + checkers_within(board, side, 1, HOME_POINTS) < CHECKERS:
            return _CONTAINMENT
    for side in range(2):
        if points_within(board, side, behind, BAR - 1) >= 2 and is_behind(board, side):
            return _ON_ROLL if side == 0 else _AGAINST
    for side in range(2):
        is_only_anchor = checkers_at(board, side, BAR - 1) >= 2 and points_within(board, side, behind, BAR - 2) == 0
        if is_only_anchor and rearmost(board, 1 - side) <= MIDPOINT and is_behind(board, side):
            return _ACE_POINT_GAME
    if min(rearmost(board, 0), rearmost(board, 1)) <= HOME_POINTS:
        return _BEAR_OFF_AGAINST
    if is_blitzing(board, 0) or is_blitzing(board, 1):
        return _BLITZ
    for side in range(2):
        if rearmost(board, side) <= MIDPOINT and rearmost(board, 1 - side) >= behind:
            return _BEAR_IN
    if position_class == _CRASHED_CLASS:
        return _CRASHED
    if has_prime(board, 0) and has_prime(board, 1):
        return _PRIMING_BATTLE
    return _MUTUAL_HOLDING if has_advanced_anchor(board, 0) and has_advanced_anchor(board, 1) else _MIDDLE_GAME


@kernel(borrows=True)
def points_within(board: Boards, side: int, lowest: int, highest: int) -> int:
    """Count the points from `lowest` to `highest` that a side has made (with two or more checkers)."""
    total = 0
    for point in range(lowest, highest + 1):
        total += checkers_at(board, side, point) >= 2
    return total


@kernel(borrows=True)
def rearmost(board: Boards, side: int) -> int:
    """Return the highest own point on which a side has a checker; 25 is the bar."""
    point = BAR
    while point > 0 and checkers_at(board, side, point) == 0:
        point -= 1
    return point


@kernel(borrows=True)
def is_behind(board: Boards, side: int) -> bool:
    """Whether a side has the higher pip count, so that it trails in the race."""
    lead = 0
    for point in range(1, BAR + 1):
        lead += point * (checkers_at(board, 1 - side, point) - checkers_at(board, side, point))
    return lead < 0


@kernel(borrows=True)
def moved_checkers(board: Boards, side: int) -> int:
    """Count the checkers of a side that are not on their starting points."""
    there = 0
    for point in range(1, BAR):
        there += min(checkers_at(board, side, point), max(int(_START[point]), 0))
    return CHECKERS - there


@kernel(borrows=True)
def is_blitzing(board: Boards, side: int) -> bool:
    """Whether a side is blitzing (rule 7 in the module docstring)."""
    behind, made = BAR - HOME_POINTS, points_within(board, side, 1, HOME_POINTS)
    if made < BLITZ_POINTS or made == HOME_POINTS or points_within(board, 1 - side, behind, BAR - 1) > 0:
        return False
    is_loose = checkers_at(board, 1 - side, BAR) > 0 or checkers_within(board, 1 - side, behind, BAR - 1) >= 2
    return is_loose and checkers_within(board, side, 1, ZONE) >= ZONE_CHECKERS


@kernel(borrows=True)
def has_prime(board: Boards, side: int) -> bool:
    """Whether a side has a prime with a checker of the other side behind it."""
    length, most_behind = 0, rearmost(board, 1 - side)
    for point in range(1, BAR):
        length = length + 1 if checkers_at(board, side, point) >= 2 else 0
        if length >= PRIME and most_behind > BAR - (point - PRIME + 1):
            return True
    return False


@kernel(borrows=True)
def has_advanced_anchor(board: Boards, side: int) -> bool:
    """Whether a side's rearmost checkers are an advanced anchor."""
    point = rearmost(board, side)
    return _FIRST_ADVANCED <= point <= _LAST_ADVANCED and checkers_at(board, side, point) >= 2
