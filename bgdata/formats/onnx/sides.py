"""Both sides of boards as counts of checkers: what the inputs of every set begin with.

*Own* numbering is that of the side itself, bar 25. *Ahead* runs the other way, bar 0: there a side moves up, and the
other side stands on its own numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bgdata.formats.onnx.graph import Value, joined
from bgdata.game.board import CHECKERS

SLOTS = np.arange(26)
FIELD = (SLOTS > 0) & (SLOTS < 25)
_SIGNS = np.where(SLOTS == 0, -1, 1)  # the opponent's bar holds a positive number


class Side(NamedTuple):
    """One side of each board, and the other side, in the own numbering of each."""

    ours: Value  # int32[n, 26] checkers by point, 25 the bar; slot 0 is empty
    theirs: Value

    @property
    def checkers(self) -> Value:
        """int32[n, 1]: checkers that are not off."""
        return self.ours.total()

    @property
    def off(self) -> Value:
        """int32[n, 1]: checkers borne off."""
        return CHECKERS - self.checkers

    @property
    def bar(self) -> Value:
        """int32[n, 1]: checkers on the bar."""
        return self.ours.take(np.array([25]))

    @property
    def rearmost(self) -> Value:
        """int32[n, 1]: own point of the rearmost checker, 0 without any."""
        return highest(self.ours > 0)

    @property
    def front(self) -> Value:
        """int32[n, 1]: where the other side's rearmost checker stands, in this side's numbering; 25 without any."""
        return 25 - highest(self.theirs > 0)

    def other(self) -> Side:
        """The same boards, seen by the other side."""
        return Side(self.theirs, self.ours)

    def weighed(self, weights: np.ndarray) -> Value:
        """int32[n, 1]: the sum of own points' weights over the checkers."""
        return self.ours @ weights.reshape(26, 1)


def side_on_roll(boards: Value) -> Side:
    """The player on roll of int8[n, 26] boards."""
    signed = boards.to(np.int32) * _SIGNS
    return Side(signed.at_least(0), (-signed).at_least(0).take(SLOTS[::-1]))


def highest(points: Value) -> Value:
    """int32[n, 1]: the highest number in a set bool[n, 26], 0 for none."""
    return (points.to(np.int32) * SLOTS).largest()


def lowest(points: Value, nothing: int) -> Value:
    """int32[n, 1]: the lowest number in a set bool[n, 26], or `nothing`, which is not below 25."""
    return points.where(points.graph.constant(SLOTS.astype(np.int32)), nothing).smallest()


def by_side(inputs: Callable[[Side], Value], side: Side, count: int) -> Value:
    """[n, 2 * count]: the inputs [n, count] of each side, in one row for each board."""
    other = side.other()
    both = Side(joined([side.ours, other.ours], axis=0), joined([side.theirs, other.theirs], axis=0))
    halves = inputs(both).shaped(2, -1, count)
    return halves.graph.add("Transpose", [halves], perm=[1, 0, 2]).shaped(-1, 2 * count)
