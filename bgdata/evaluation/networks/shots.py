"""Sets of points as integers, and what one roll can do there: escape, hit blots, make points.

Bit p of a set is point p, so that one instruction handles all points. A side's checkers are numbered in two directions.
In the side's *own* numbering they move down to point 1 (the bar is 25). In the other side's numbering, called *ahead*,
they move up (the bar is 0), and the other side's own points are the obstacles. So one shift moves all checkers by a
die.

For escapes, the 12 points in front of a checker are a mask, with bit i for the point i + 1 pips ahead. Its *block* ends
with the farthest made point within BLOCK pips. A roll escapes if the checker alone can move beyond the block, with one
die, with both, or with up to four steps of a double, without stopping on a made point. Points beyond 12 count as open.
Such counts are an old idea of the field (Berliner's programs used them); this definition is bgdata's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.game.codec import Boards
from bgdata.kernel import kernel

FIELD = (1 << 25) - 2  # points 1 to 24
_ONES, _PAIRS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_NIBBLES, _BYTES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
_ONES_32, _PAIRS_32, _NIBBLES_32, _BYTES_32 = map(np.int32, (0x55555555, 0x33333333, 0x0F0F0F0F, 0x01010101))
_I1, _I2, _I4, _I24 = map(np.int32, (1, 2, 4, 24))
_U1, _U2, _U4, _U56 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)


class SideSets(NamedTuple):
    """The points where one side has checkers, as sets in its own numbering and ahead (see the module docstring). `made`
    points have two checkers or more, and exclude the bar."""

    own: int
    own_made: int
    ahead: int
    ahead_made: int


@kernel()
def bit_count(points: int) -> int:
    """The number of points in a set. Compilers turn this code into one instruction."""
    bits = np.uint64(points)
    bits = bits - ((bits >> _U1) & _ONES)
    bits = (bits & _PAIRS) + ((bits >> _U2) & _PAIRS)
    bits = (bits + (bits >> _U4)) & _NIBBLES
    return int(np.int64((bits * _BYTES) >> _U56))


@kernel()
def bit_count_32(points: np.int32) -> np.int32:
    """The number of points in a set, which is an int32, as an int32, so that loops over lanes become vector
    instructions."""
    bits = np.int32(points - np.int32(np.int32(points >> _I1) & _ONES_32))
    bits = np.int32(np.int32(bits & _PAIRS_32) + np.int32(np.int32(bits >> _I2) & _PAIRS_32))
    bits = np.int32(np.int32(bits + np.int32(bits >> _I4)) & _NIBBLES_32)
    return np.int32(np.int32(bits * _BYTES_32) >> _I24)


@kernel()
def lowest(points: int) -> int:
    """The lowest point in a set; 64 if the set is empty."""
    return bit_count((points & -points) - 1)


@kernel()
def side_sets(board: Boards) -> tuple[SideSets, SideSets]:
    """The sets of points of the player on roll, then those of the opponent."""
    ours, our_made, theirs, their_made = 0, 0, 0, 0
    ours_ahead, ours_made_ahead, theirs_own, their_made_own = 0, 0, 0, 0
    for point in range(1, 25):
        count = int(board[point])
        mirrored = 25 - point
        ours |= int(count > 0) << point
        our_made |= int(count > 1) << point
        theirs |= int(count < 0) << point
        their_made |= int(count < -1) << point
        ours_ahead |= int(count > 0) << mirrored
        ours_made_ahead |= int(count > 1) << mirrored
        theirs_own |= int(count < 0) << mirrored
        their_made_own |= int(count < -1) << mirrored
    our_bar, their_bar = int(board[25] > 0), int(board[0] > 0)
    return (
        SideSets(ours | our_bar << 25, our_made, ours_ahead | our_bar, ours_made_ahead),
        SideSets(theirs_own | their_bar << 25, their_made_own, theirs | their_bar, their_made),
    )


REACH = 12
BLOCK = 7
MASKS = 1 << REACH
LAST_SQUARE = 15  # beyond this square (bar 0) a checker counts as escaped


def escape_counts() -> NDArray[np.int8]:
    """Count how many of the 36 rolls escape, by the mask of made points in front of the checker, as int8[4096]."""
    masks = np.arange(MASKS)
    near = masks & ((1 << BLOCK) - 1)
    end = np.array([mask.bit_length() for mask in range(1 << BLOCK)])[near]  # 0: no block
    is_open = [np.ones(MASKS, np.bool_)] + [masks >> distance & 1 == 0 for distance in range(REACH)]
    is_open += [np.ones(MASKS, np.bool_)] * (24 - REACH)
    counts = np.zeros(MASKS, np.int8)
    for die in range(1, 7):
        way, escapes = is_open[0], np.zeros(MASKS, np.bool_)
        for distance in range(die, 4 * die + 1, die):
            way = way & is_open[distance]
            escapes |= way & (distance > end)
        counts += escapes
        for other in range(die + 1, 7):
            one, both = is_open[die], is_open[die + other]
            escapes = (one & (die > end)) | (is_open[other] & (other > end))
            escapes |= (one | is_open[other]) & both & (die + other > end)
            counts += 2 * escapes.astype(np.int8)
    return counts


def window_counts() -> NDArray[np.int8]:
    """Find the largest number of points of a mask that are within six neighbouring points, by mask, as int8[4096]."""
    masks = np.arange(MASKS)
    counts = np.array([mask.bit_count() for mask in range(64)], np.int8)
    windows: NDArray[np.int8] = np.max([counts[masks >> start & 63] for start in range(7)], axis=0)
    return windows


_ESCAPES = escape_counts()
_WINDOWS = window_counts()


@kernel()
def escapes_from(square: int, made: int) -> int:
    """Return how many of the 36 rolls let a checker escape from `square` (0 is the bar) over the points `made` above
    it."""
    return int(_ESCAPES[(made >> (square + 1)) & (MASKS - 1)])


@kernel()
def fewest_escapes(rearmost: int, made: int) -> tuple[int, int]:
    """Return the smallest number of the 36 rolls that escape over the points `made`: from a square at or beyond
    `rearmost`, and from any square. Only the bar, 0, and squares up to LAST_SQUARE where a checker may be count. The
    number is 36 if there are no such squares."""
    fewest, fewest_of_all = 36, 36
    for square in range(LAST_SQUARE + 1):
        count = int(_ESCAPES[(made >> (square + 1)) & (MASKS - 1)]) | ((made >> square) & 1) << 6
        fewest_of_all = min(fewest_of_all, count)
        fewest = min(fewest, count if square >= rearmost else 36)
    return fewest, fewest_of_all


@kernel()
def longest_run(points: int) -> int:
    """The length of the longest run of neighbouring points in a set."""
    length = 0
    while points:
        points &= points >> 1
        length += 1
    return length


@kernel()
def most_in_six(points: int) -> int:
    """Return the largest number of points of a set (of points 1 to 24) that are within six neighbouring points."""
    low, middle, high = points >> 1, points >> 8, points >> 13
    return int(max(_WINDOWS[low & (MASKS - 1)], _WINDOWS[middle & (MASKS - 1)], _WINDOWS[high & (MASKS - 1)]))


@kernel()
def points_in_front(square: int, made: int) -> int:
    """Return a weight of the points `made` up to 12 pips above `square`: two for each of the nearest six points, one
    for each of the others."""
    ahead = made >> (square + 1)
    return bit_count(ahead & 63) + bit_count(ahead & (MASKS - 1))


_NOBODY = 1 << 25  # a target without loss, for no hit
_NOBODY_32, _ALL_PIPS, _ONE = np.int32(_NOBODY), np.int32(25), np.int32(1)
SIDES = 16  # number of sides counted together: 32-bit lanes of a vector
RollNumbers = NDArray[np.int32]  # [ROLL_NUMBERS] arguments and results of `fill_roll_counts`, by lane
ROLL_NUMBERS = 12 * SIDES
MOVERS, SINGLES, TARGETS, LANDINGS, SOURCES, PAIRS, WANTED, HITTING, HITTING_TWO, PIPS, MAKING, ON_BLOT = range(
    0, ROLL_NUMBERS, SIDES
)


@kernel()
def entering_shots(movers: int, bar: int, targets: int, landings: int) -> tuple[int, int, int]:
    """Count shots of a side with at least one checker on the bar. Returns how many of the 36 rolls can hit, how many
    can hit two blots, and the pips lost to the best hit, summed over the 36 rolls.

    `bar` is the number of checkers on the bar, `movers` the points of the other checkers, `targets` the blots to hit,
    `landings` the points that are not blocked, all ahead. A blot on the other side's own point p loses 25 - p pips. The
    rule that a roll must be played in full is ignored."""
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
    """The blots in `targets` that a side on the bar can hit with two different dice, and whether it can hit two."""
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
    """The blots in `targets` that a side on the bar can hit with a double, and whether it can hit two. All checkers can
    use the steps left after entering, and every point is assumed to have enough checkers."""
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
    again = ((first & targets) << die) & second  # squares that a checker reaches after a hit
    again |= ((again | (second & targets)) << die) & third
    return here | later, two or (again & targets) != 0


@kernel(borrows=True)
def fill_roll_counts(numbers: RollNumbers) -> None:
    """Count what rolls can do, for many sides (lanes) at once, none of which has a checker on the bar. Reads the six
    sets numbers[MOVERS + lane] to numbers[WANTED + lane], and fills the counts numbers[HITTING + lane] to
    numbers[ON_BLOT + lane].

    The counts: of the 36 rolls, HITTING can hit, HITTING_TWO can hit two blots, MAKING make a new point that is WANTED,
    and ON_BLOT make it on a blot. PIPS is the total loss by the best hits. The sets are all ahead: MOVERS are the
    checkers, SINGLES the checkers that are alone on their point, TARGETS the blots, LANDINGS the points that are not
    blocked. A point is made by two checkers from different SOURCES, or by a checker that covers a single one; a double
    can also make it with two checkers from one of the PAIRS, in one or two steps each. The rule that a roll must be
    played in full is ignored.

    Loops over lanes have no branches and use 32 bits, and all numbers are in one array, so that they become vectors."""
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
    """Add the two rolls with these different dice to the counts of all lanes. Two blots are hit by one checker on its
    way, or by two checkers. Two hits of the same blot, or with the same single checker, do not count."""
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
    """Add the double of `die` to the counts of all lanes. Every point is assumed to have enough checkers for its four
    steps."""
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
