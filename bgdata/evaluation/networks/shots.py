"""Chances of one roll, in rolls of 36: hitting blots, and making points.

Everything is *ahead* (`point_sets`): the side that moves goes up, from its bar at 0, over points that are the other
side's own numbers 1 to 24. So one shift moves all its checkers together by a die.
"""

from __future__ import annotations

from bgdata.evaluation.networks.point_sets import bit_count, lowest
from bgdata.kernel import kernel

_NOBODY = 1 << 25  # stands for no hit: nothing is lost there
_HOME_AND_BAR_POINT = 0b1111111 << 18  # the mover's own points 7 to 1


@kernel()
def hits_two(direct: int, other_direct: int, die: int, other_die: int, singles: int) -> bool:
    """Whether one checker can hit in `direct` by `die` and another one a second blot in `other_direct`."""
    if direct == 0 or other_direct == 0 or bit_count(direct | other_direct) < 2:
        return False
    left = other_direct
    while left:
        blot = left & -left
        left ^= blot
        rest = direct & ~blot
        source = blot >> other_die
        if source & singles:  # that checker is gone
            rest &= ~(source << die)
        if rest:
            return True
    return False


@kernel()
def mixed_hits(movers: int, singles: int, targets: int, landings: int, die: int, other_die: int) -> tuple[int, bool]:
    """(targets that two different dice can hit, whether they can hit two), with no checker on the bar."""
    moved, other_moved = movers << die, movers << other_die
    direct, other_direct = moved & targets, other_moved & targets
    through = ((moved & landings) << other_die | (other_moved & landings) << die) & targets
    in_passing = (direct << other_die | other_direct << die) & targets
    two = in_passing != 0 or hits_two(direct, other_direct, die, other_die, singles)
    return direct | other_direct | through, two


@kernel()
def double_hits(movers: int, targets: int, landings: int, die: int) -> tuple[int, bool]:
    """The same for the four steps of a double; every point is taken to have checkers enough."""
    first = (movers << die) & landings
    second = (first << die) & landings
    third = (second << die) & landings
    fourth = (third << die) & landings
    in_one, in_two = first & targets, (first | second) & targets
    in_three = in_two | (third & targets)
    again = (in_one << die) & landings  # where a checker can be that has hit before
    hit_again = again
    again = ((again | (second & targets)) << die) & landings
    hit_again |= again
    again = ((again | (third & targets)) << die) & landings
    hit_again |= again
    two = bit_count(in_two) >= 2 or (in_one != 0 and bit_count(in_three) >= 2) or (hit_again & targets) != 0
    return in_three | (fourth & targets), two


@kernel()
def hits_from_bar(movers: int, bar: int, targets: int, landings: int, die: int, other_die: int) -> tuple[int, bool]:
    """The same for any roll with `bar` checkers on the bar, 1 or more; `movers` are the others."""
    if die == other_die:
        return double_hits_from_bar(movers, bar, targets, landings, die)
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
def double_hits_from_bar(movers: int, bar: int, targets: int, landings: int, die: int) -> tuple[int, bool]:
    """The same for a double from the bar: the steps left after entering are for all checkers."""
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


@kernel()
def shot_counts(movers: int, singles: int, bar: int, targets: int, landings: int) -> tuple[int, int, int]:
    """(rolls of 36 that can hit, that can hit two blots, pips lost to the best hit summed over 36 rolls).

    `movers` and, alone on their points, `singles` are the side's checkers not on the bar, `bar` how many are there,
    `targets` the blots, `landings` the points not blocked, all ahead. A blot on the other side's own point p loses 25 -
    p pips. The rule that a roll must be played in full is ignored.
    """
    hitting, hitting_two, pips = 0, 0, 0
    if bar == 0:
        targets &= -(movers & -movers)  # those past the rearmost checker are out of reach
    if targets == 0:
        return hitting, hitting_two, pips
    for die in range(1, 7):
        for other_die in range(die, 7):
            if bar > 0:
                hits, two = hits_from_bar(movers, bar, targets, landings, die, other_die)
            elif die == other_die:
                hits, two = double_hits(movers, targets, landings, die)
            else:
                hits, two = mixed_hits(movers, singles, targets, landings, die, other_die)
            ways = 1 + (die != other_die)
            hitting += ways * (hits != 0)
            hitting_two += ways * two
            pips += ways * (25 - lowest(hits | _NOBODY))
    return hitting, hitting_two, pips


@kernel()
def point_counts(sources: int, pairs: int, singles: int, made: int, targets: int, landings: int) -> tuple[int, int]:
    """(rolls of 36 that make a new point, rolls that make it on a blot), from the mover's bar point home.

    A point is made by two checkers from two different `sources`, or by one that covers a single checker; by a double
    also by two from one of the `pairs`, and in one or two steps each. `targets` are the other side's blots.
    """
    making, on_blot = 0, 0
    wanted = _HOME_AND_BAR_POINT & landings & ~made
    for die in range(1, 7):
        moved = sources << die
        for other_die in range(die + 1, 7):
            other_moved = sources << other_die
            points = wanted & ((moved & other_moved) | (singles & (moved | other_moved)))
            making += 2 * (points != 0)
            on_blot += 2 * ((points & targets) != 0)
        together, alone = pairs << die, moved
        together |= (together & landings) << die
        alone |= (alone & landings) << die
        points = wanted & (together | (singles & alone))
        making += points != 0
        on_blot += (points & targets) != 0
    return making, on_blot
