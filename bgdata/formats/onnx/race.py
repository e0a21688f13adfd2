"""The inputs of `evaluation.networks.race_inputs` in a graph: in the same order, and the same numbers."""

from __future__ import annotations

import numpy as np

from bgdata.evaluation.networks.contact_inputs import MOST, UNIT
from bgdata.evaluation.networks.race_inputs import OFF_INPUTS, SIDE_INPUTS
from bgdata.formats.onnx.graph import Value, joined
from bgdata.formats.onnx.sides import SLOTS, Side, both_sides, lowest, off_of, side_by_side

_HOME = (SLOTS >= 1) & (SLOTS <= 6)
_QUARTERS = np.maximum(SLOTS - 1, 0) // 6  # from the home board


def race_inputs(side: Side) -> Value:
    """int32[n, 60]: the inputs RACE_INPUTS in units of 1/64."""
    return side_by_side(side_inputs(both_sides(side)), SIDE_INPUTS)


def side_inputs(side: Side) -> Value:
    """int32[n, 30]: the inputs of one side."""
    pips, left = side.weighed(SLOTS), side.checkers
    lead = (side.other().weighed(SLOTS) - pips).at_least(0)
    outside_pips = side.weighed(np.maximum(SLOTS - 6, 0))
    return joined(
        [
            UNIT * (off_of(side) > np.arange(OFF_INPUTS)).to(np.int32),
            pips.at_most(3 * UNIT),
            (2 * lead).at_most(MOST),
            (4 * UNIT * lead // pips.at_least(1)).at_most(MOST),
            8 * side.weighed(SLOTS > 6),
            (4 * side.weighed(_QUARTERS)).at_most(MOST),
            outside_pips.at_most(MOST),
            (4 * pips // left.at_least(1)).at_most(MOST),
            *home(side, left),
            *gammons(side, outside_pips),
        ]
    )


def home(side: Side, left: Value) -> list[Value]:
    """gaps to odd_checkers."""
    empty = ((side.ours <= 0) & _HOME).total()
    stacks = [8 * side.ours.take(np.array([point])) for point in (1, 2, 3)]
    return [(left > 0).where(UNIT * empty // 6, 0), *stacks, UNIT * (left - left // 2 * 2)]


def gammons(side: Side, outside_pips: Value) -> list[Value]:
    """gammon_possible to backgammon_pips, all 0 once a checker is off."""
    is_possible = off_of(side).equals(0).to(np.int32)
    back, back_pips = side.weighed(SLOTS > 18), side.weighed(np.maximum(SLOTS - 18, 0))
    lowest_point = lowest((side.ours > 0) & _HOME, 25).at_most(6)
    found = [(outside_pips + lowest_point).at_most(MOST), (16 * back).at_most(MOST), (4 * back_pips).at_most(MOST)]
    return [UNIT * is_possible, *(is_possible * each for each in found)]
