"""The inputs of networks, `contact_inputs` and those of races, in a graph: in the same order, and the same
numbers."""

from __future__ import annotations

import numpy as np

from bgdata.evaluation.networks.contact_inputs import MOST, SIDE_INPUTS, UNIT, stuck_checkers
from bgdata.evaluation.networks.inputs import OFF_INPUTS, RACE_SIDE_INPUTS
from bgdata.evaluation.networks.shots import LAST_SQUARE, REACH, escape_counts
from bgdata.formats.onnx.graph import Value, joined
from bgdata.formats.onnx.shots import Movers, point_counts, shot_counts
from bgdata.formats.onnx.sides import FIELD, SLOTS, Side, by_side, lowest

_CHANCES = np.round(np.arange(37) * UNIT / 36).astype(np.int32)  # by rolls of 36
_ESCAPES, _STUCK = escape_counts().astype(np.int32), stuck_checkers().astype(np.int32).ravel()
_FROM, _TO = SLOTS[:, None], SLOTS[None, :]
_IN_FRONT = np.where((_FROM > _TO) & (_FROM <= _TO + REACH), 1 << np.maximum(_FROM - _TO - 1, 0), 0)  # bits of masks
_WITHIN_SIX = (_FROM < _TO) & (_FROM >= _TO - 6)
_RUNS = np.arange(1, 8)  # points of a run: 15 checkers make seven
_WINDOWS = np.stack([(_FROM >= _TO) & (_TO + length > _FROM) for length in _RUNS], axis=1)  # [from, length, to]
_SIX_WINDOWS = _WINDOWS[:, 5, 1:20]
_HOME = (SLOTS >= 1) & (SLOTS <= 6)
_MOST_OFF = 5
_QUARTERS = np.maximum(SLOTS - 1, 0) // 6  # from the home board


def contact_inputs(side: Side) -> Value:
    """int32[n, 64]: the inputs CONTACT_INPUTS in units of 1/64."""
    return by_side(contact_side, side, SIDE_INPUTS)


def contact_side(side: Side) -> Value:
    """int32[n, 32]: the inputs of one side."""
    own_made = (side.ours > 1) & FIELD
    ahead, bar, off = side.ours.take(SLOTS[::-1]), side.bar, side.off
    blots, landings = side.theirs.equals(1) & FIELD, (side.theirs <= 1) & FIELD
    sets = ((ahead > 0) & FIELD, ahead.equals(1) & FIELD, bar, blots, landings)
    movers = Movers(*(each.turned() for each in sets))
    hitting, hitting_two, pips = shot_counts(movers)
    # points are made by checkers that are not two on one of the points 1 to 7
    sources = movers.all & (~ahead.turned().equals(2) | (SLOTS[:, None] < 18))
    made = movers.all & ~movers.singles
    new_points = point_counts(sources, sources & made, movers.singles, made, movers)
    making, on_blot = (chances(bar.equals(0).where(each, 0)) for each in new_points)
    home_blots, exposed_blots, unlinked = weak_points(side, own_made)
    lead = side.other().weighed(SLOTS) - side.weighed(SLOTS)
    behind = (-lead).at_least(0).at_most(MOST)
    to_pass = (side.ours * (side.ours.like(SLOTS) - side.front).at_least(0)).total()
    outside = side.weighed(np.maximum(SLOTS - 6, 0))
    anchors = own_made & (SLOTS >= 18)
    is_back_game = (own_made & (SLOTS >= 19)).total() >= 2
    return joined(
        [
            *(UNIT * (off - _MOST_OFF * part).at_least(0).at_most(_MOST_OFF) // _MOST_OFF for part in range(3)),
            (side.weighed(SLOTS) // 2).at_most(MOST),
            lead.at_least(0).at_most(MOST),
            (to_pass // 2).at_most(MOST),
            off.equals(0).where((outside // 2).at_most(MOST), 0),
            2 * side.rearmost,
            9 * (25 - lowest(anchors, 25)),
            (32 * anchors.total()).at_most(MOST),
            is_back_game.where(behind, 0),
            *(chances(hitting), chances(hitting_two), pips // 9, home_blots, exposed_blots),
            *escapes(side, ahead),
            *blocks(side, own_made),
            *shape(side),
            *(unlinked, making, on_blot),
        ]
    )


def chances(rolls: Value) -> Value:
    """Rolls of 36 as a chance."""
    return rolls.lookup(_CHANCES)


def weak_points(side: Side, own_made: Value) -> tuple[Value, Value, Value]:
    """home_blots, exposed_blots and unlinked."""
    their_checkers = (side.theirs > 0).take(SLOTS[::-1])
    attacked, linked = ((points.to(np.int32) @ _WITHIN_SIX) > 0 for points in (their_checkers, own_made))
    blots = side.ours.equals(1) & FIELD
    home, exposed = (blots & _HOME).total(), (blots & attacked).total()
    unlinked = ((side.ours > 0) & (SLOTS >= 7) & ~linked).total()
    return (32 * home).at_most(MOST), (16 * exposed).at_most(MOST), (16 * unlinked).at_most(MOST)


def escape_rolls(blocks_ahead: Value) -> Value:
    """int32[n, 26]: rolls of 36 that escape from each square over a set of blocks bool[n, 26]."""
    return (blocks_ahead.to(np.int32) @ _IN_FRONT).lookup(_ESCAPES)


def escapes(side: Side, ahead: Value) -> list[Value]:
    """escape_chance, back_escape_chance and mobility, the last two 1 without such checkers."""
    rolls = escape_rolls((side.theirs > 1) & FIELD)
    found = [chances(rolls.pick((25 - side.rearmost).at_most(24)))]
    for last in (7, 18):
        checkers = ahead * (last >= SLOTS)
        count = checkers.total()
        found.append((count > 0).where(16 * (checkers * rolls).total() // (9 * count.at_least(1)), UNIT))
    return found


def blocks(side: Side, own_made: Value) -> list[Value]:
    """blockade to stuck_checkers."""
    front = side.front
    beyond = own_made & (front < SLOTS)
    rolls = (escape_rolls(own_made) + UNIT * own_made.to(np.int32)).at_most(36)  # nobody stands on a made point
    squares = rolls.take(np.arange(LAST_SQUARE + 1))
    reached = (front <= np.arange(LAST_SQUARE + 1)).where(squares, 36)
    runs = (beyond.to(np.int32) @ _WINDOWS.reshape(26, -1)).shaped(-1, len(_RUNS), 26)
    near = [own_made & (front < SLOTS) & (front + reach >= SLOTS) for reach in (6, REACH)]
    closed = ((side.theirs > 1) & _HOME).total()
    return [
        chances(36 - reached.smallest()),
        chances(36 - squares.smallest()),
        64 * (runs >= _RUNS[:, None]).any(2).total().shaped(-1, 1) // 6,
        64 * (beyond.to(np.int32) @ _SIX_WINDOWS).largest() // 6,
        4 * (near[0].total() + near[1].total()),
        chances(closed * closed),
        (16 * closed + side.bar).lookup(_STUCK),
    ]


def shape(side: Side) -> list[Value]:
    """timing to moment."""
    far = side.weighed(np.where((SLOTS >= 7) & (SLOTS <= 17), SLOTS - 6, 0))
    near = Side((side.ours - 2).at_least(0), side.theirs).weighed(np.where((SLOTS >= 3) & (SLOTS <= 6), SLOTS - 2, 0))
    low = side.weighed((SLOTS == 1) | (SLOTS == 2)).at_most(11)
    checkers = side.checkers.at_least(1)
    behind = (side.ours.like(SLOTS) - side.weighed(SLOTS) // checkers).at_least(0)
    moment = (side.ours * behind * behind).total() // checkers
    return [(far + near).at_most(MOST), low * low, moment.at_most(MOST)]


def race_inputs(side: Side) -> Value:
    """int32[n, 60]: the inputs RACE_INPUTS in units of 1/64."""
    return by_side(race_side, side, RACE_SIDE_INPUTS)


def race_side(side: Side) -> Value:
    """int32[n, 30]: the inputs of one side."""
    pips, left, off = side.weighed(SLOTS), side.checkers, side.off
    lead = (side.other().weighed(SLOTS) - pips).at_least(0)
    outside_pips = side.weighed(np.maximum(SLOTS - 6, 0))
    empty = ((side.ours <= 0) & _HOME).total()
    is_gammon = off.equals(0).to(np.int32)
    back, back_pips = side.weighed(SLOTS > 18), side.weighed(np.maximum(SLOTS - 18, 0))
    lowest_point = lowest((side.ours > 0) & _HOME, 25).at_most(6)
    return joined(
        [
            UNIT * (off > np.arange(OFF_INPUTS)).to(np.int32),
            pips.at_most(3 * UNIT),
            (2 * lead).at_most(MOST),
            (4 * UNIT * lead // pips.at_least(1)).at_most(MOST),
            8 * side.weighed(SLOTS > 6),
            (4 * side.weighed(_QUARTERS)).at_most(MOST),
            outside_pips.at_most(MOST),
            (4 * pips // left.at_least(1)).at_most(MOST),
            (left > 0).where(UNIT * empty // 6, 0),
            *(8 * side.ours.take(np.array([point])) for point in (1, 2, 3)),
            UNIT * (left - left // 2 * 2),
            UNIT * is_gammon,
            is_gammon * (outside_pips + lowest_point).at_most(MOST),
            is_gammon * (16 * back).at_most(MOST),
            is_gammon * (4 * back_pips).at_most(MOST),
        ]
    )
