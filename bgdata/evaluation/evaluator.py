"""Evaluators: networks, tables and other programs evaluate positions, and all answer in the same form."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import Chances
from bgdata.game.codec import Boards


class AnswerSource(IntEnum):
    """What an answer comes from; EXACT and COMBINED have the numbers of `bearoff_kernels.BearoffSource`."""

    OVER = 0  # the rules: the game is over
    EXACT = 1  # a two-sided bearoff table, or one of contact endgames
    COMBINED = 2  # two one-sided bearoff distributions
    RACE_NETWORK = 3
    CRASHED_NETWORK = 4
    CONTACT_NETWORK = 5
    PROGRAM = 6  # another program

    @property
    def is_final(self) -> bool:
        """Whether looking ahead would not improve the answer."""
        return self <= AnswerSource.COMBINED


LAST_FINAL = int(max(source for source in AnswerSource if source.is_final))  # for kernels: up to it, all are


class Evaluations(NamedTuple):
    """One row a position, seen by the player on roll, before the roll."""

    chances: Chances  # [n, 5] win, win_gammon, win_backgammon, lose_gammon, lose_backgammon
    sources: NDArray[np.int8]  # [n] a number of `AnswerSource`


@runtime_checkable
class Evaluator(Protocol):
    """Evaluates each position independently: the same position always gets the same answer, to the last bit. One that
    also has `evaluate_ahead(boards, ply)` looks ahead by itself: see `lookahead.evaluate_ahead`."""

    @property
    def label(self) -> str:
        """Name and settings, in letters, digits and `-`."""

    @property
    def version(self) -> str:
        """A text that changes whenever the answers may have changed."""

    @property
    def accuracy(self) -> Mapping[AnswerSource, str]:
        """How accurate the answers of each source are, in words, as far as that is known."""

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """Evaluations of int8[n, 26] boards. Raises InvalidPositionError for another shape or type, or an illegal
        board."""
