"""The 26-integer board: slots, number of checkers, starting position, and the rules that a board must keep.

Kernels take their constants from here. The class for users is `position.Position`.
"""

from __future__ import annotations

from enum import IntEnum

CHECKERS = 15
BAR = 25
OPPONENT_BAR = 0
BASE64_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
LAST_LETTERS = "AQgw"  # the last of 14 characters carries only two bits of the key
HOME_POINTS = 6
# board[0] the opponent's bar, board[1..24] the points of the player on roll, board[25] its bar
START_BOARD = (0, -2, 0, 0, 0, 0, 5, 0, 3, 0, 0, 0, -5, 5, 0, 0, 0, -3, 0, -5, 0, 0, 0, 0, 2, 0)


class Flaw(IntEnum):
    """A rule that a string or a board breaks, or NONE. Functions of `codec` return one for each row."""

    NONE = 0
    CHARACTER = 1
    LAST_CHARACTER = 2
    UNUSED_BITS = 3
    NEGATIVE_BAR = 4
    CHECKERS = 5
    OPPONENT_CHECKERS = 6
    SHARED_POINT = 7
    CLOSED_BOARDS = 8

    @property
    def rule(self) -> str:
        """The rule in words, as the beginning of an error message: "expected at most 15 checkers of the opponent"."""
        return _RULES[self]


_RULES = {
    Flaw.NONE: "expected anything",
    Flaw.CHARACTER: "expected only the letters of the format",
    Flaw.LAST_CHARACTER: f"expected one of {', '.join(LAST_LETTERS)} as the last of 14 characters",
    Flaw.UNUSED_BITS: "expected no 1 bit after the 50th 0 bit of the key",
    Flaw.NEGATIVE_BAR: "expected no negative count on a bar",
    Flaw.CHECKERS: f"expected at most {CHECKERS} checkers of the player on roll",
    Flaw.OPPONENT_CHECKERS: f"expected at most {CHECKERS} checkers of the opponent",
    Flaw.SHARED_POINT: "expected checkers of one side only on each point",
    Flaw.CLOSED_BOARDS: "expected an open point when both sides are on the bar: nobody could ever move",
}
