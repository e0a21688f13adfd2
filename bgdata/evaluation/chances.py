"""Five cumulative chances, and the protocol of evaluators: networks, tables and other programs return the same chances.

`chances[0:5]` is float32: win, win_gammon, win_backgammon, lose_gammon, lose_backgammon of the player on roll, before
the roll. A gammon includes backgammons, and a win includes both.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bgdata.game.board import CHECKERS, HOME_POINTS
from bgdata.game.codec import Boards
from bgdata.kernel import kernel

CHANCES = ("win", "win_gammon", "win_backgammon", "lose_gammon", "lose_backgammon")
Chances = NDArray[np.float32]


def cubeless_equities(chances: Chances) -> NDArray[np.float32]:
    """Compute the cubeless equities of the player on roll, in points per unit cube, from float32[n, 5] chances. Returns
    float32[n]."""
    doubled = np.float32(2) * chances[:, 0] - np.float32(1)
    return np.asarray(doubled + chances[:, 1] + chances[:, 2] - chances[:, 3] - chances[:, 4])


def turned_chances(chances: Chances) -> Chances:
    """Return the chances of the other player, as float32[n, 5]."""
    turned = chances[:, [0, 3, 4, 1, 2]]
    turned[:, 0] = np.float32(1) - turned[:, 0]
    return turned


def ordered_chances(chances: NDArray[np.floating]) -> Chances:
    """Limit chances to 0 to 1 and put them in order, so that a gammon is never likelier than a win. Rounded chances and
    unbiased estimates may violate this order. Returns float32[n, 5]."""
    found = chances.astype(np.float32)
    win = np.clip(found[:, 0], 0, 1)
    win_gammon, lose_gammon = np.clip(found[:, 1], 0, win), np.clip(found[:, 3], 0, np.float32(1) - win)
    win_backgammon = np.clip(found[:, 2], 0, win_gammon)
    lose_backgammon = np.clip(found[:, 4], 0, lose_gammon)
    return np.stack([win, win_gammon, win_backgammon, lose_gammon, lose_backgammon], axis=1)


@kernel(borrows=True)
def equity_of(chances: Chances) -> float:
    """The cubeless equity, in points per unit cube, of a player with chances[0:5]."""
    equity: float = np.float32(2) * chances[0] - np.float32(1) + chances[1] + chances[2] - chances[3] - chances[4]
    return equity


@kernel(borrows=True)
def fill_turned(chances: Chances, turned: Chances) -> None:
    """Fill turned[0:5] with the other player's chances; the two arrays must be different."""
    turned[0] = np.float32(1) - chances[0]
    turned[1], turned[2] = chances[3], chances[4]
    turned[3], turned[4] = chances[1], chances[2]


@kernel(borrows=True)
def fill_outcome_chances(outcome: int, chances: Chances) -> None:
    """Fill chances[0:5] for a finished game, worth `outcome` points (-3 to 3, not 0) to the player."""
    chances[0] = np.float32(outcome > 0)
    chances[1], chances[2] = np.float32(outcome > 1), np.float32(outcome > 2)
    chances[3], chances[4] = np.float32(outcome < -1), np.float32(outcome < -2)


@kernel(borrows=True)
def possible_outcomes(board: Boards) -> int:
    """Return bits that say which of chances[1:5] may be above 0 on `board`. Bit 0 stands for win_gammon, and so on. A
    gammon is impossible once the loser has borne off a checker. A backgammon is impossible once contact is over and the
    loser has left the winner's home board."""
    ours, theirs = int(board[25]), int(board[0])
    our_rearmost, their_rearmost = 25 * (ours > 0), 25 * (theirs > 0)
    for point in range(1, 25):
        count = int(board[point])
        if count > 0:
            ours += count
            our_rearmost = max(our_rearmost, point)
        elif count < 0:
            theirs -= count
            their_rearmost = max(their_rearmost, 25 - point)
    is_contact = our_rearmost + their_rearmost > 24
    possible = 0
    if theirs == CHECKERS:
        possible |= 3 if is_contact or their_rearmost > 24 - HOME_POINTS else 1
    if ours == CHECKERS:
        possible |= 12 if is_contact or our_rearmost > 24 - HOME_POINTS else 4
    return possible


@kernel(borrows=True)
def limit_chances(possible: int, chances: Chances) -> None:
    """Limit chances[0:5] by the rules: impossible chances become 0, a backgammon is at most as likely as a gammon, and
    a gammon as a win. `possible` is a result of `possible_outcomes`."""
    chances[1] = min(chances[1], chances[0]) if possible & 1 else np.float32(0)
    chances[2] = min(chances[2], chances[1]) if possible & 2 else np.float32(0)
    chances[3] = min(chances[3], np.float32(1) - chances[0]) if possible & 4 else np.float32(0)
    chances[4] = min(chances[4], chances[3]) if possible & 8 else np.float32(0)


class AnswerSource(IntEnum):
    """The source of an evaluation; EXACT and COMBINED have the numbers of `bearoff_kernels.BearoffSource`."""

    OVER = 0  # the rules: the game is over
    EXACT = 1  # a two-sided bearoff table, or one of contact endgames
    COMBINED = 2  # two one-sided bearoff distributions
    RACE_NETWORK = 3
    CRASHED_NETWORK = 4
    CONTACT_NETWORK = 5
    PROGRAM = 6  # another program

    @property
    def is_final(self) -> bool:
        """Whether answers from this source are final: looking ahead cannot improve them."""
        return self <= AnswerSource.COMBINED


LAST_FINAL = int(
    max(source for source in AnswerSource if source.is_final)
)  # for kernels: sources up to this one are final


class Evaluations(NamedTuple):
    """Evaluations of positions: one row per position, for the player on roll, before the roll."""

    chances: Chances  # [n, 5] win, win_gammon, win_backgammon, lose_gammon, lose_backgammon
    sources: NDArray[np.int8]  # [n] `AnswerSource` numbers


@runtime_checkable
class Evaluator(Protocol):
    """Evaluates positions independently of each other: the same position always gets the same answer, to the last bit.
    An evaluator with a method `evaluate_ahead(boards, ply)` looks ahead by itself: see `lookahead.evaluate_ahead`."""

    @property
    def label(self) -> str:
        """The name and settings of the evaluator, in letters, digits and `-`."""

    @property
    def version(self) -> str:
        """A string that changes whenever the answers may have changed."""

    @property
    def accuracy(self) -> Mapping[AnswerSource, str]:
        """How accurate the answers from each source are, in words, as far as this is known."""

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """Evaluate int8[n, 26] boards. Raises InvalidPositionError for another shape or type, or an illegal board."""
