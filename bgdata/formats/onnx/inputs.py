"""The inputs of networks for contact and for races, computed in a graph, with the same order and numbers as in
`evaluation.networks`.

*Own* numbering is that of the side itself, with 25 for the bar. *Ahead* is the opposite numbering, with 0 for the bar:
the side moves up, and the other side's checkers have their own numbers. Chances of hits and new points by one roll are
computed as in `evaluation.networks.shots`, for all rolls at once. Sets of squares ahead are bool[26, n] or bool[rolls,
26, n]. Boards are the last axis, so that moving checkers copies whole rows. Square 0 is in no set, so it can stand for
all squares beyond the board.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.networks.contact_inputs import MAX_INPUT, SIDE_INPUTS, UNIT, stuck_checkers
from bgdata.evaluation.networks.inputs import OFF_INPUTS, RACE_SIDE_INPUTS
from bgdata.evaluation.networks.shots import LAST_SQUARE, REACH, escape_counts
from bgdata.formats.onnx.graph import Value, concat
from bgdata.game.board import CHECKERS

SLOTS = np.arange(26)
FIELD = (SLOTS > 0) & (SLOTS < 25)
_SIGNS = np.where(SLOTS == 0, -1, 1)  # the opponent's bar has a positive count
DICE = np.arange(1, 7)
MIXED = np.array([(die, other) for die in range(1, 7) for other in range(die + 1, 7)])
DIE, OTHER = MIXED.T
_SQUARES = SLOTS[:, None]
_HOME_AND_BAR_POINT = (_SQUARES > 17) & FIELD[:, None]  # own points 7 to 1 of the mover
_CHANCES = np.round(np.arange(37) * UNIT / 36).astype(np.int32)  # by the number of rolls, of the 36
_ESCAPES, _STUCK = escape_counts().astype(np.int32), stuck_checkers().astype(np.int32).ravel()
_FROM, _TO = SLOTS[:, None], SLOTS[None, :]
_IN_FRONT = np.where((_FROM > _TO) & (_FROM <= _TO + REACH), 1 << np.maximum(_FROM - _TO - 1, 0), 0)  # bits of masks
_WITHIN_SIX = (_FROM < _TO) & (_FROM >= _TO - 6)
_RUNS = np.arange(1, 8)  # lengths of runs: 15 checkers make at most seven points
_WINDOWS = np.stack([(_FROM >= _TO) & (_TO + length > _FROM) for length in _RUNS], axis=1)  # [from, length, to]
_SIX_WINDOWS = _WINDOWS[:, 5, 1:20]
_HOME = (SLOTS >= 1) & (SLOTS <= 6)
_MAX_OFF = 5
_QUARTERS = np.maximum(SLOTS - 1, 0) // 6  # quarters of the board, counted from the home board


class Side(NamedTuple):
    """The checkers of one side on each board and those of the other side, each by the side's own points."""

    ours: Value  # int32[n, 26] checkers by point, 25 the bar; slot 0 is empty
    theirs: Value

    @property
    def checkers(self) -> Value:
        """The number of checkers that the side has on the board and the bar, as int32[n, 1]."""
        return self.ours.total()

    @property
    def off(self) -> Value:
        """The number of checkers that the side has borne off, as int32[n, 1]."""
        return CHECKERS - self.checkers

    @property
    def bar(self) -> Value:
        """The number of checkers that the side has on the bar, as int32[n, 1]."""
        return self.ours.take(np.array([25]))

    @property
    def rearmost(self) -> Value:
        """The own point of the side's rearmost checker, 0 if it has no checkers, as int32[n, 1]."""
        return highest(self.ours > 0)

    @property
    def front(self) -> Value:
        """The point of the other side's rearmost checker, as this side numbers points, as int32[n, 1]. It is 25 if the
        other side has no checkers."""
        return 25 - highest(self.theirs > 0)

    def other(self) -> Side:
        """The same boards as the other side sees them."""
        return Side(self.theirs, self.ours)

    def weigh(self, weights: np.ndarray) -> Value:
        """Sum the weights of the own points of all checkers of the side, as int32[n, 1]."""
        return self.ours @ weights.reshape(26, 1)


def side_on_roll(boards: Value) -> Side:
    """The side that is on roll, from int8[n, 26] boards."""
    signed = boards.to(np.int32) * _SIGNS
    return Side(signed.at_least(0), (-signed).at_least(0).take(SLOTS[::-1]))


def highest(points: Value) -> Value:
    """Return the highest point in each set of points, bool[n, 26], 0 for an empty set, as int32[n, 1]."""
    return (points.to(np.int32) * SLOTS).largest()


def lowest(points: Value, nothing: int) -> Value:
    """Return the lowest point in each set of points, bool[n, 26], as int32[n, 1]. For an empty set it is `nothing`,
    which must be at least 25."""
    return points.where(points.graph.constant(SLOTS.astype(np.int32)), nothing).smallest()


def by_side(inputs: Callable[[Side], Value], side: Side, count: int) -> Value:
    """Return the inputs of both sides, `side` first, as [n, 2 * count]. `inputs` computes the inputs of one side, [n,
    count]."""
    other = side.other()
    both = Side(concat([side.ours, other.ours], axis=0), concat([side.theirs, other.theirs], axis=0))
    halves = inputs(both).reshape(2, -1, count)
    return halves.graph.add("Transpose", [halves], perm=[1, 0, 2]).reshape(-1, 2 * count)


def contact_inputs(side: Side) -> Value:
    """Compute the CONTACT_INPUTS of both sides, as int32[n, 64] in units of 1/64."""
    return by_side(contact_side, side, SIDE_INPUTS)


def contact_side(side: Side) -> Value:
    """Compute the contact inputs of one side, as int32[n, 32] in units of 1/64."""
    own_made = (side.ours > 1) & FIELD
    ahead, bar, off = side.ours.take(SLOTS[::-1]), side.bar, side.off
    blots, landings = side.theirs.equals(1) & FIELD, (side.theirs <= 1) & FIELD
    sets = ((ahead > 0) & FIELD, ahead.equals(1) & FIELD, bar, blots, landings)
    movers = Movers(*(each.transpose() for each in sets))
    hitting, hitting_two, pips = shot_counts(movers)
    # a pair on one of the points 1 to 7 stays there; all other checkers may make new points
    sources = movers.checkers & (~ahead.transpose().equals(2) | (SLOTS[:, None] < 18))
    made = movers.checkers & ~movers.singles
    new_points = point_counts(sources, sources & made, movers.singles, made, movers)
    making, on_blot = (chances(bar.equals(0).where(each, 0)) for each in new_points)
    home_blots, exposed_blots, unlinked = weak_point_inputs(side, own_made)
    lead = side.other().weigh(SLOTS) - side.weigh(SLOTS)
    behind = (-lead).at_least(0).at_most(MAX_INPUT)
    to_pass = (side.ours * (side.ours.like(SLOTS) - side.front).at_least(0)).total()
    outside = side.weigh(np.maximum(SLOTS - 6, 0))
    anchors = own_made & (SLOTS >= 18)
    is_back_game = (own_made & (SLOTS >= 19)).total() >= 2
    return concat(
        [
            *(UNIT * (off - _MAX_OFF * part).at_least(0).at_most(_MAX_OFF) // _MAX_OFF for part in range(3)),
            (side.weigh(SLOTS) // 2).at_most(MAX_INPUT),
            lead.at_least(0).at_most(MAX_INPUT),
            (to_pass // 2).at_most(MAX_INPUT),
            off.equals(0).where((outside // 2).at_most(MAX_INPUT), 0),
            2 * side.rearmost,
            9 * (25 - lowest(anchors, 25)),
            (32 * anchors.total()).at_most(MAX_INPUT),
            is_back_game.where(behind, 0),
            *(chances(hitting), chances(hitting_two), pips // 9, home_blots, exposed_blots),
            *escape_inputs(side, ahead),
            *block_inputs(side, own_made),
            *shape_inputs(side),
            *(unlinked, making, on_blot),
        ]
    )


def chances(rolls: Value) -> Value:
    """Convert numbers of rolls, of the 36, to chances in units of 1/64."""
    return rolls.lookup(_CHANCES)


def weak_point_inputs(side: Side, own_made: Value) -> tuple[Value, Value, Value]:
    """Compute the inputs home_blots, exposed_blots and unlinked of a side. `own_made` is the set of points that it has
    made, in its own numbering."""
    their_checkers = (side.theirs > 0).take(SLOTS[::-1])
    attacked, linked = ((points.to(np.int32) @ _WITHIN_SIX) > 0 for points in (their_checkers, own_made))
    blots = side.ours.equals(1) & FIELD
    home, exposed = (blots & _HOME).total(), (blots & attacked).total()
    unlinked = ((side.ours > 0) & (SLOTS >= 7) & ~linked).total()
    return (32 * home).at_most(MAX_INPUT), (16 * exposed).at_most(MAX_INPUT), (16 * unlinked).at_most(MAX_INPUT)


def escape_rolls(blocks_ahead: Value) -> Value:
    """Count how many of the 36 rolls escape from each square over the blocked points, bool[n, 26], as int32[n, 26]."""
    return (blocks_ahead.to(np.int32) @ _IN_FRONT).lookup(_ESCAPES)


def escape_inputs(side: Side, ahead: Value) -> list[Value]:
    """Compute the inputs escape_chance, back_escape_chance and mobility of a side. The last two are 1 if there are no
    such checkers."""
    rolls = escape_rolls((side.theirs > 1) & FIELD)
    found = [chances(rolls.pick((25 - side.rearmost).at_most(24)))]
    for last in (7, 18):
        checkers = ahead * (last >= SLOTS)
        count = checkers.total()
        found.append((count > 0).where(16 * (checkers * rolls).total() // (9 * count.at_least(1)), UNIT))
    return found


def block_inputs(side: Side, own_made: Value) -> list[Value]:
    """Compute the inputs from blockade to stuck_checkers of a side. `own_made` is the set of points that it has made,
    in its own numbering."""
    front = side.front
    beyond = own_made & (front < SLOTS)
    rolls = (escape_rolls(own_made) + UNIT * own_made.to(np.int32)).at_most(
        36
    )  # a made point has no checker of the other side
    squares = rolls.take(np.arange(LAST_SQUARE + 1))
    reached = (front <= np.arange(LAST_SQUARE + 1)).where(squares, 36)
    runs = (beyond.to(np.int32) @ _WINDOWS.reshape(26, -1)).reshape(-1, len(_RUNS), 26)
    near = [own_made & (front < SLOTS) & (front + reach >= SLOTS) for reach in (6, REACH)]
    closed = ((side.theirs > 1) & _HOME).total()
    return [
        chances(36 - reached.smallest()),
        chances(36 - squares.smallest()),
        64 * (runs >= _RUNS[:, None]).any(2).total().reshape(-1, 1) // 6,
        64 * (beyond.to(np.int32) @ _SIX_WINDOWS).largest() // 6,
        4 * (near[0].total() + near[1].total()),
        chances(closed * closed),
        (16 * closed + side.bar).lookup(_STUCK),
    ]


def shape_inputs(side: Side) -> list[Value]:
    """Compute the inputs from timing to moment of a side."""
    far = side.weigh(np.where((SLOTS >= 7) & (SLOTS <= 17), SLOTS - 6, 0))
    near = Side((side.ours - 2).at_least(0), side.theirs).weigh(np.where((SLOTS >= 3) & (SLOTS <= 6), SLOTS - 2, 0))
    low = side.weigh((SLOTS == 1) | (SLOTS == 2)).at_most(11)
    checkers = side.checkers.at_least(1)
    behind = (side.ours.like(SLOTS) - side.weigh(SLOTS) // checkers).at_least(0)
    moment = (side.ours * behind * behind).total() // checkers
    return [(far + near).at_most(MAX_INPUT), low * low, moment.at_most(MAX_INPUT)]


def race_inputs(side: Side) -> Value:
    """Compute the RACE_INPUTS of both sides, as int32[n, 60] in units of 1/64."""
    return by_side(race_side, side, RACE_SIDE_INPUTS)


def race_side(side: Side) -> Value:
    """Compute the race inputs of one side, as int32[n, 30] in units of 1/64."""
    pips, left, off = side.weigh(SLOTS), side.checkers, side.off
    lead = (side.other().weigh(SLOTS) - pips).at_least(0)
    outside_pips = side.weigh(np.maximum(SLOTS - 6, 0))
    empty = ((side.ours <= 0) & _HOME).total()
    is_gammon = off.equals(0).to(np.int32)
    back, back_pips = side.weigh(SLOTS > 18), side.weigh(np.maximum(SLOTS - 18, 0))
    lowest_point = lowest((side.ours > 0) & _HOME, 25).at_most(6)
    return concat(
        [
            UNIT * (off > np.arange(OFF_INPUTS)).to(np.int32),
            pips.at_most(3 * UNIT),
            (2 * lead).at_most(MAX_INPUT),
            (4 * UNIT * lead // pips.at_least(1)).at_most(MAX_INPUT),
            8 * side.weigh(SLOTS > 6),
            (4 * side.weigh(_QUARTERS)).at_most(MAX_INPUT),
            outside_pips.at_most(MAX_INPUT),
            (4 * pips // left.at_least(1)).at_most(MAX_INPUT),
            (left > 0).where(UNIT * empty // 6, 0),
            *(8 * side.ours.take(np.array([point])) for point in (1, 2, 3)),
            UNIT * (left - left // 2 * 2),
            UNIT * is_gammon,
            is_gammon * (outside_pips + lowest_point).at_most(MAX_INPUT),
            is_gammon * (16 * back).at_most(MAX_INPUT),
            is_gammon * (4 * back_pips).at_most(MAX_INPUT),
        ]
    )


class Movers(NamedTuple):
    """A side that is about to roll, and the points ahead of it."""

    checkers: Value  # bool[26, n] squares with checkers, except the bar
    singles: Value  # squares with one checker
    bar: Value  # int32[1, n] checkers on the bar
    targets: Value  # the other side's blots
    landings: Value  # squares that are not blocked


class Hits(NamedTuple):
    """The hits of each roll: the set of targets that it can hit, and whether it can hit two of them."""

    points: Value  # bool[rolls, 26, n]
    two: Value  # bool[rolls, 1, n] whether it can hit two blots


def places(distances: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the square from which a step by each distance leads to each square, 0 if there is none, as int64[rolls,
    26]."""
    found = SLOTS - distances[:, None]
    return np.where((found > 0) & (found < 25), found, 0)


def move(points: Value, distances: NDArray[np.int64]) -> Value:
    """Move a set of squares, bool[26, n], by each of `distances`, one for each roll. Returns bool[rolls, 26, n]."""
    return points.take(places(distances), axis=0)


def move_each(points: Value, distances: NDArray[np.int64]) -> Value:
    """Move a set of squares for each roll by that roll's distance. Returns bool[rolls, 26, n]."""
    rolls = np.arange(len(distances))[:, None]
    return points.reshape(26 * len(distances), -1).take(26 * rolls + places(distances), axis=0)


def entries(landings: Value, dice: NDArray[np.int64]) -> Value:
    """Return the squares where a checker on the bar can enter with each of these dice, as bool[rolls, 26, n]."""
    is_entry: NDArray[np.bool_] = dice[:, None, None] == _SQUARES
    return landings & is_entry


def count(points: Value) -> Value:
    """Count the squares in each set, as int32[rolls, 1, n]."""
    return points.total(1)


def shot_counts(movers: Movers) -> tuple[Value, Value, Value]:
    """Count the rolls, of the 36, that hit, and the rolls that hit two blots, and sum the pips lost to the best hit
    over all rolls. Each result is int32[n, 1]."""
    is_entering = movers.bar > 0
    rearmost = movers.checkers.where(movers.bar.like(_SQUARES), 26).smallest(0)
    free = movers._replace(targets=movers.targets & (rearmost <= _SQUARES))  # others are out of reach
    mixed = choose_hits(is_entering, mixed_hits_from_bar(movers), mixed_hits(free))
    doubles = choose_hits(is_entering, double_hits_from_bar(movers), double_hits(free))
    sums = [2 * of_mixed + of_doubles for of_mixed, of_doubles in zip(rolls_of(mixed), rolls_of(doubles), strict=True)]
    return sums[0], sums[1], sums[2]


def choose_hits(condition: Value, then: Hits, other: Hits) -> Hits:
    """Choose between hits by a condition, bool[1, n]: `then` where it is true, `other` elsewhere."""
    pairs = zip(then, other, strict=True)
    points, two = ((condition & first) | (~condition & second) for first, second in pairs)
    return Hits(points, two)


def rolls_of(hits: Hits) -> tuple[Value, Value, Value]:
    """Count the rolls that hit, and the rolls that hit two blots, and sum the pips lost to the best hit over the rolls.
    Each result is int32[n, 1]."""
    pips = (hits.points.to(np.int32) * (25 - _SQUARES)).largest(1)
    sums = [each.total(0).reshape(-1, 1) for each in (pips > 0, hits.two, pips)]
    return sums[0], sums[1], sums[2]


def mixed_hits(movers: Movers) -> Hits:
    """Find the hits of rolls of two different dice, for sides that have no checker on the bar."""
    targets, landings = movers.targets, movers.landings
    by_die, by_other = move(movers.checkers, DIE), move(movers.checkers, OTHER)
    direct, other_direct = by_die & targets, by_other & targets
    through = move_each(by_die & landings, OTHER) | move_each(by_other & landings, DIE)
    in_passing = (move_each(direct, OTHER) | move_each(other_direct, DIE)) & targets
    two = in_passing.any(1) | can_hit_two(direct, other_direct, movers.singles)
    return Hits(direct | other_direct | (through & targets), two)


def can_hit_two(direct: Value, other_direct: Value, singles: Value) -> Value:
    """Return whether one checker can hit in `direct` with one die, and another checker can hit a second blot in
    `other_direct` with the other die, as bool[rolls, 1, n]. The same single checker cannot do both."""
    is_used = move(singles, OTHER) & move_each(direct, OTHER - DIE)
    left = count(direct) - direct.to(np.int32) - is_used.to(np.int32)
    return (other_direct & (left > 0)).any(1)


def double_hits(movers: Movers) -> Hits:
    """Find the hits of doubles in four steps. Every point is assumed to have enough checkers."""
    targets, landings = movers.targets, movers.landings
    steps = [move(movers.checkers, DICE) & landings]
    while len(steps) < 4:
        steps.append(move_each(steps[-1], DICE) & landings)
    reached = [step & targets for step in steps]
    in_two = reached[0] | reached[1]
    in_three = in_two | reached[2]
    again = [move_each(reached[0], DICE) & landings]  # squares that a checker reaches after a hit
    for hit in reached[1:3]:
        again.append(move_each(again[-1] | hit, DICE) & landings)
    hit_again = (again[0] | again[1] | again[2]) & targets
    two = (count(in_two) >= 2) | (reached[0].any(1) & (count(in_three) >= 2)) | hit_again.any(1)
    return Hits(in_three | reached[3], two)


def mixed_hits_from_bar(movers: Movers) -> Hits:
    """Find the hits of rolls of two different dice, for sides with checkers on the bar. Two or more checkers need both
    dice to enter."""
    targets = movers.targets
    is_alone = movers.bar <= 1
    entered = [entries(movers.landings, dice) for dice in (DIE, OTHER)]
    hits = (entered[0] | entered[1]) & targets
    two = ~is_alone & (count(hits) >= 2)
    for entry, dice in zip(entered, (OTHER, DIE), strict=True):
        later = is_alone & entry.any(1) & move_each(movers.checkers | entry, dice) & targets
        hits = hits | later
        two = two | ((entry & targets).any(1) & (later & ~entry).any(1))
    return Hits(hits, two)


def double_hits_from_bar(movers: Movers) -> Hits:
    """Find the hits of doubles, for sides with checkers on the bar. All checkers can use the steps that are left after
    entering."""
    targets, landings = movers.targets, movers.landings
    entry = entries(movers.landings, DICE)
    here, at = entry & targets, movers.checkers | entry
    can_enter = entry.any(1)
    steps: list[Value] = []
    for most in (3, 2, 1):  # steps that are left after entering
        at = move_each(at, DICE) & landings & can_enter & (movers.bar <= most)
        steps.append(at)
    reached = [step & targets for step in steps]
    later = reached[0] | reached[1] | reached[2]
    two = here.any(1) & (later & ~here).any(1)
    two = two | (movers.bar.equals(2) & (count(reached[0]) >= 2))
    two = two | (movers.bar.equals(1) & reached[0].any(1) & (count(reached[0] | reached[1]) >= 2))
    again = move_each(reached[0], DICE) & steps[1]  # squares that a checker reaches after a hit
    again = again | (move_each(again | reached[1], DICE) & steps[2])
    return Hits(here | later, two | (again & targets).any(1))


def point_counts(sources: Value, pairs: Value, singles: Value, made: Value, movers: Movers) -> tuple[Value, Value]:
    """Count the rolls, of the 36, that make a new point from the bar point to the ace point, and the rolls that make
    such a point on a blot. Each result is int32[n, 1]. See `shots.fill_roll_counts` for the sets."""
    wanted, landings = movers.landings & ~made & _HOME_AND_BAR_POINT, movers.landings
    by_die, by_other = move(sources, DIE), move(sources, OTHER)
    mixed = wanted & ((by_die & by_other) | (singles & (by_die | by_other)))
    together, single = move(pairs, DICE), move(sources, DICE)
    together = together | move_each(together & landings, DICE)
    single = single | move_each(single & landings, DICE)
    doubles = wanted & (together | (singles & single))
    targets = movers.targets
    making = 2 * rolls_with(mixed) + rolls_with(doubles)
    return making, 2 * rolls_with(mixed & targets) + rolls_with(doubles & targets)


def rolls_with(points: Value) -> Value:
    """Count the rolls whose set is not empty, as int32[n, 1]."""
    return points.any(1).total(0).reshape(-1, 1)
