"""Chances of one roll in a graph: hits and new points, as in `evaluation.networks.shots`, for all rolls at once.

Sets are bool[26, n] of squares ahead, or bool[rolls, 26, n]: the boards come last, so that moving checkers copies whole
rows. Square 0 is in no set, so it stands for whatever lies beyond the ends of the board.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.formats.onnx.graph import Value
from bgdata.formats.onnx.sides import FIELD, SLOTS

Dice = NDArray[np.int64]
DICE = np.arange(1, 7)
MIXED = np.array([(die, other) for die in range(1, 7) for other in range(die + 1, 7)])
DIE, OTHER = MIXED.T
_SQUARES = SLOTS[:, None]
_HOME_AND_BAR_POINT = (_SQUARES > 17) & FIELD[:, None]  # the mover's own points 7 to 1


class Movers(NamedTuple):
    """A side about to roll, and what is before it."""

    all: Value  # bool[26, n] squares with checkers, without the bar
    singles: Value  # those with one checker
    bar: Value  # int32[1, n] checkers on the bar
    targets: Value  # the other side's blots
    landings: Value  # squares that are not blocked


class Hits(NamedTuple):
    """What each of some rolls can hit."""

    points: Value  # bool[rolls, 26, n]
    two: Value  # bool[rolls, 1, n] whether it can hit two blots


def places(distances: Dice) -> NDArray[np.int64]:
    """int64[rolls, 26]: from which square one comes to each square by a distance, 0 for none."""
    found = SLOTS - distances[:, None]
    return np.where((found > 0) & (found < 25), found, 0)


def moved(points: Value, distances: Dice) -> Value:
    """bool[rolls, 26, n]: a set bool[26, n] after these steps."""
    return points.take(places(distances), axis=0)


def moved_each(points: Value, distances: Dice) -> Value:
    """bool[rolls, 26, n]: a set for each roll, after the step of that roll."""
    rolls = np.arange(len(distances))[:, None]
    return points.shaped(26 * len(distances), -1).take(26 * rolls + places(distances), axis=0)


def entries(landings: Value, dice: Dice) -> Value:
    """bool[rolls, 26, n]: where a checker on the bar enters by these dice."""
    is_entry: NDArray[np.bool_] = dice[:, None, None] == _SQUARES
    return landings & is_entry


def count(points: Value) -> Value:
    """int32[rolls, 1, n]: how many squares."""
    return points.total(1)


def shot_counts(movers: Movers) -> tuple[Value, Value, Value]:
    """(rolls of 36 that hit, that hit two blots, pips lost to the best hit summed over 36 rolls), int32[n, 1] each."""
    is_entering = movers.bar > 0
    rearmost = movers.all.where(movers.bar.like(_SQUARES), 26).smallest(0)
    free = movers._replace(targets=movers.targets & (rearmost <= _SQUARES))  # blots before it are out of reach
    mixed = either(is_entering, mixed_hits_from_bar(movers), mixed_hits(free))
    doubles = either(is_entering, double_hits_from_bar(movers), double_hits(free))
    sums = [2 * of_mixed + of_doubles for of_mixed, of_doubles in zip(rolls_of(mixed), rolls_of(doubles), strict=True)]
    return sums[0], sums[1], sums[2]


def either(condition: Value, then: Hits, other: Hits) -> Hits:
    """The first hits where the condition bool[1, n] holds, else the others."""
    pairs = zip(then, other, strict=True)
    points, two = ((condition & first) | (~condition & second) for first, second in pairs)
    return Hits(points, two)


def rolls_of(hits: Hits) -> tuple[Value, Value, Value]:
    """(rolls that hit, that hit two blots, pips lost to the best hit summed over the rolls), int32[n, 1] each."""
    pips = (hits.points.to(np.int32) * (25 - _SQUARES)).largest(1)
    sums = [each.total(0).shaped(-1, 1) for each in (pips > 0, hits.two, pips)]
    return sums[0], sums[1], sums[2]


def mixed_hits(movers: Movers) -> Hits:
    """What two different dice can hit, with no checker on the bar."""
    targets, landings = movers.targets, movers.landings
    by_die, by_other = moved(movers.all, DIE), moved(movers.all, OTHER)
    direct, other_direct = by_die & targets, by_other & targets
    through = moved_each(by_die & landings, OTHER) | moved_each(by_other & landings, DIE)
    in_passing = (moved_each(direct, OTHER) | moved_each(other_direct, DIE)) & targets
    two = in_passing.any(1) | hits_two(direct, other_direct, movers.singles)
    return Hits(direct | other_direct | (through & targets), two)


def hits_two(direct: Value, other_direct: Value, singles: Value) -> Value:
    """bool[rolls, 1, n]: whether one checker can hit in `direct` by a die, and another one a second blot in
    `other_direct` by the other die; a checker that is alone on its point cannot do both."""
    is_used = moved(singles, OTHER) & moved_each(direct, OTHER - DIE)
    left = count(direct) - direct.to(np.int32) - is_used.to(np.int32)
    return (other_direct & (left > 0)).any(1)


def double_hits(movers: Movers) -> Hits:
    """What the four steps of a double can hit; every point is taken to have checkers enough."""
    targets, landings = movers.targets, movers.landings
    steps = [moved(movers.all, DICE) & landings]
    while len(steps) < 4:
        steps.append(moved_each(steps[-1], DICE) & landings)
    reached = [step & targets for step in steps]
    in_two = reached[0] | reached[1]
    in_three = in_two | reached[2]
    again = [moved_each(reached[0], DICE) & landings]  # where a checker can be that has hit before
    for hit in reached[1:3]:
        again.append(moved_each(again[-1] | hit, DICE) & landings)
    hit_again = (again[0] | again[1] | again[2]) & targets
    two = (count(in_two) >= 2) | (reached[0].any(1) & (count(in_three) >= 2)) | hit_again.any(1)
    return Hits(in_three | reached[3], two)


def mixed_hits_from_bar(movers: Movers) -> Hits:
    """What two different dice can hit with checkers on the bar; with two or more, both dice bring them in."""
    targets = movers.targets
    is_alone = movers.bar <= 1
    entered = [entries(movers.landings, dice) for dice in (DIE, OTHER)]
    hits = (entered[0] | entered[1]) & targets
    two = ~is_alone & (count(hits) >= 2)
    for entry, dice in zip(entered, (OTHER, DIE), strict=True):
        later = is_alone & entry.any(1) & moved_each(movers.all | entry, dice) & targets
        hits = hits | later
        two = two | ((entry & targets).any(1) & (later & ~entry).any(1))
    return Hits(hits, two)


def double_hits_from_bar(movers: Movers) -> Hits:
    """What a double can hit with checkers on the bar; the steps left after entering are for all checkers."""
    targets, landings = movers.targets, movers.landings
    entry = entries(movers.landings, DICE)
    here, at = entry & targets, movers.all | entry
    can_enter = entry.any(1)
    steps: list[Value] = []
    for most in (3, 2, 1):  # checkers on the bar that leave so many steps
        at = moved_each(at, DICE) & landings & can_enter & (movers.bar <= most)
        steps.append(at)
    reached = [step & targets for step in steps]
    later = reached[0] | reached[1] | reached[2]
    two = here.any(1) & (later & ~here).any(1)
    two = two | (movers.bar.equals(2) & (count(reached[0]) >= 2))
    two = two | (movers.bar.equals(1) & reached[0].any(1) & (count(reached[0] | reached[1]) >= 2))
    again = moved_each(reached[0], DICE) & steps[1]  # where a checker can be that has hit before
    again = again | (moved_each(again | reached[1], DICE) & steps[2])
    return Hits(here | later, two | (again & targets).any(1))


def point_counts(sources: Value, pairs: Value, singles: Value, made: Value, movers: Movers) -> tuple[Value, Value]:
    """(rolls of 36 that make a new point from the bar point home, that make it on a blot), int32[n, 1] each: see
    `shots.point_counts`."""
    wanted, landings = movers.landings & ~made & _HOME_AND_BAR_POINT, movers.landings
    by_die, by_other = moved(sources, DIE), moved(sources, OTHER)
    mixed = wanted & ((by_die & by_other) | (singles & (by_die | by_other)))
    together, single = moved(pairs, DICE), moved(sources, DICE)
    together = together | moved_each(together & landings, DICE)
    single = single | moved_each(single & landings, DICE)
    doubles = wanted & (together | (singles & single))
    targets = movers.targets
    making = 2 * rolls_with(mixed) + rolls_with(doubles)
    return making, 2 * rolls_with(mixed & targets) + rolls_with(doubles & targets)


def rolls_with(points: Value) -> Value:
    """int32[n, 1]: how many rolls have a square in a set."""
    return points.any(1).total(0).shaped(-1, 1)
