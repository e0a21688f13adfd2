"""Chances of one roll, in rolls of 36: hitting blots, and making points.

Everything is *ahead* (`point_sets`): the side that moves goes up, from its bar at 0, over points that are the other
side's own numbers 1 to 24. So one shift moves all its checkers together by a die.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.networks.point_sets import bit_count, bit_count_32, lowest
from bgdata.kernel import kernel

_NOBODY = 1 << 25  # stands for no hit: nothing is lost there
_NOBODY_32, _ALL_PIPS, _ONE = np.int32(_NOBODY), np.int32(25), np.int32(1)
SIDES = 16  # whose rolls are counted together: lanes of 32 bits in a vector
RollNumbers = NDArray[np.int32]  # [ROLL_NUMBERS] what `fill_roll_counts` is given of each lane, and finds
ROLL_NUMBERS = 12 * SIDES
MOVERS, SINGLES, TARGETS, LANDINGS, SOURCES, PAIRS, WANTED, HITTING, HITTING_TWO, PIPS, MAKING, ON_BLOT = range(
    0, ROLL_NUMBERS, SIDES
)


@kernel()
def entering_shots(movers: int, bar: int, targets: int, landings: int) -> tuple[int, int, int]:
    """(rolls of 36 that can hit, that can hit two blots, pips lost to the best hit summed over 36 rolls) of a side with
    `bar` checkers on the bar, 1 or more.

    `movers` are its other checkers, `targets` the blots, `landings` the points not blocked, all ahead. A blot on the
    other side's own point p loses 25 - p pips. The rule that a roll must be played in full is ignored.
    """
    hitting, hitting_two, pips = 0, 0, 0
    for die in range(1, 7):
        for other_die in range(die, 7):
            if die == other_die:
                hits, two = entering_double(movers, bar, targets, landings, die)
            else:
                hits, two = entering_mixed(movers, bar, targets, landings, die, other_die)
            ways = 1 + (die != other_die)
            hitting += ways * (hits != 0)
            hitting_two += ways * two
            pips += ways * (25 - lowest(hits | _NOBODY))
    return hitting, hitting_two, pips


@kernel()
def entering_mixed(movers: int, bar: int, targets: int, landings: int, die: int, other_die: int) -> tuple[int, bool]:
    """(targets that two different dice can hit from the bar, whether they can hit two)."""
    entry, other_entry = (1 << die) & landings, (1 << other_die) & landings
    hits = (entry | other_entry) & targets
    if bar > 1:
        return hits, bit_count(hits) >= 2
    two = False
    if entry:
        later = ((movers | entry) << other_die) & targets
        hits |= later
        two = (entry & targets) != 0 and (later & ~entry) != 0
    if other_entry:
        later = ((movers | other_entry) << die) & targets
        hits |= later
        two = two or ((other_entry & targets) != 0 and (later & ~other_entry) != 0)
    return hits, two


@kernel()
def entering_double(movers: int, bar: int, targets: int, landings: int, die: int) -> tuple[int, bool]:
    """(targets that a double can hit from the bar, whether it can hit two): the steps left after entering are for all
    checkers, and every point is taken to have checkers enough."""
    entry = (1 << die) & landings
    if entry == 0:
        return 0, False
    here, moved = entry & targets, movers | entry
    first = (moved << die) & landings if bar < 4 else 0
    second = (first << die) & landings if bar < 3 else 0
    third = (second << die) & landings if bar < 2 else 0
    later = (first | second | third) & targets
    two = here != 0 and (later & ~here) != 0
    if bar == 2:
        two = two or bit_count(first & targets) >= 2
    elif bar == 1 and (first & targets) != 0:
        two = two or bit_count((first | second) & targets) >= 2
    again = ((first & targets) << die) & second  # where a checker can be that has hit before
    again |= ((again | (second & targets)) << die) & third
    return here | later, two or (again & targets) != 0


@kernel(borrows=True)
def fill_roll_counts(numbers: RollNumbers) -> None:
    """Fills numbers[HITTING + lane] to numbers[ON_BLOT + lane] from the six numbers[MOVERS + lane] to
    numbers[WANTED + lane], for all lanes, each a side without a checker on the bar.

    Of 36 rolls HITTING can hit, HITTING_TWO can hit two blots, and PIPS is what the best hits lose, summed; MAKING make
    a new point that is WANTED, ON_BLOT on a blot. All sets are ahead: MOVERS the checkers, those alone on their point
    SINGLES, TARGETS the blots, LANDINGS the points not blocked. A point is made by two checkers from two different
    SOURCES, or by one that covers a single checker; by a double also by two from one of the PAIRS, and in one or two
    steps each. The rule that a roll must be played in full is ignored.

    Loops over lanes have no branches and stay in 32 bits, and all numbers are in one array, so that they become
    vectors.
    """
    for lane in range(SIDES):
        numbers[HITTING + lane] = numbers[HITTING_TWO + lane] = numbers[PIPS + lane] = 0
        numbers[MAKING + lane] = numbers[ON_BLOT + lane] = 0
    for high in range(2, 7):
        for low in range(1, high):
            add_mixed_roll(numbers, np.int32(high), np.int32(low))
    for die in range(1, 7):
        add_double(numbers, np.int32(die))


@kernel(borrows=True)
def add_mixed_roll(numbers: RollNumbers, high: np.int32, low: np.int32) -> None:
    """Adds two rolls of 36 to the counts of all lanes: those of two different dice. One checker hits two blots in
    passing, or two do: of the pairs of a hit by one die and a hit by the other, those are none that are of one blot, or
    of one single checker."""
    for lane in range(SIDES):
        target, landing, single = numbers[TARGETS + lane], numbers[LANDINGS + lane], numbers[SINGLES + lane]
        moved, other_moved = np.int32(numbers[MOVERS + lane] << high), np.int32(numbers[MOVERS + lane] << low)
        direct, other_direct = np.int32(moved & target), np.int32(other_moved & target)
        through = np.int32(np.int32(moved & landing) << low) | np.int32(np.int32(other_moved & landing) << high)
        hits = np.int32(np.int32(direct | other_direct) | np.int32(through & target))
        in_passing = np.int32((np.int32(direct << low) | np.int32(other_direct << high)) & target)
        pairs = np.int32(bit_count_32(direct) * bit_count_32(other_direct))
        of_one = np.int32(np.int32(direct >> high) & np.int32(other_direct >> low) & single)
        none = np.int32(bit_count_32(np.int32(direct & other_direct)) + bit_count_32(of_one))
        found = np.int32(hits | _NOBODY_32)
        lost = np.int32(_ALL_PIPS - bit_count_32(np.int32(np.int32(found & np.int32(-found)) - _ONE)))
        numbers[HITTING + lane] += np.int32(hits != 0) << _ONE
        numbers[HITTING_TWO + lane] += np.int32((in_passing != 0) | (pairs > none)) << _ONE
        numbers[PIPS + lane] += lost << _ONE
        source, other_source = np.int32(numbers[SOURCES + lane] << high), np.int32(numbers[SOURCES + lane] << low)
        points = np.int32(np.int32(source & other_source) | np.int32(single & np.int32(source | other_source)))
        points = np.int32(points & numbers[WANTED + lane])
        numbers[MAKING + lane] += np.int32(points != 0) << _ONE
        numbers[ON_BLOT + lane] += np.int32(np.int32(points & target) != 0) << _ONE


@kernel(borrows=True)
def add_double(numbers: RollNumbers, die: np.int32) -> None:
    """Adds one roll of 36, a double, to the counts of all lanes; every point is taken to have checkers enough for its
    four steps."""
    for lane in range(SIDES):
        target, landing = numbers[TARGETS + lane], numbers[LANDINGS + lane]
        first = np.int32(np.int32(numbers[MOVERS + lane] << die) & landing)
        second = np.int32(np.int32(first << die) & landing)
        third = np.int32(np.int32(second << die) & landing)
        fourth = np.int32(np.int32(third << die) & landing)
        in_one, in_two = np.int32(first & target), np.int32(np.int32(first | second) & target)
        in_three = np.int32(in_two | np.int32(third & target))
        hits = np.int32(in_three | np.int32(fourth & target))
        again = np.int32(np.int32(in_one << die) & landing)
        hit_again = again
        again = np.int32(np.int32(np.int32(again | np.int32(second & target)) << die) & landing)
        hit_again = np.int32(hit_again | again)
        again = np.int32(np.int32(np.int32(again | np.int32(third & target)) << die) & landing)
        hit_again = np.int32(np.int32(hit_again | again) & target)
        two = (bit_count_32(in_two) >= 2) | ((in_one != 0) & (bit_count_32(in_three) >= 2)) | (hit_again != 0)
        found = np.int32(hits | _NOBODY_32)
        lost = np.int32(_ALL_PIPS - bit_count_32(np.int32(np.int32(found & np.int32(-found)) - _ONE)))
        numbers[HITTING + lane] += np.int32(hits != 0)
        numbers[HITTING_TWO + lane] += np.int32(two)
        numbers[PIPS + lane] += lost
        together, alone = np.int32(numbers[PAIRS + lane] << die), np.int32(numbers[SOURCES + lane] << die)
        together = np.int32(together | np.int32(np.int32(together & landing) << die))
        alone = np.int32(alone | np.int32(np.int32(alone & landing) << die))
        points = np.int32(np.int32(together | np.int32(numbers[SINGLES + lane] & alone)) & numbers[WANTED + lane])
        numbers[MAKING + lane] += np.int32(points != 0)
        numbers[ON_BLOT + lane] += np.int32(np.int32(points & target) != 0)
