"""Slow reference implementations of the rules of thumb: one pair of layouts at a time, in exact fractions, as in the
sources.

A layout is the checkers on points 1, 2, ...; a rule answers (doubles, redoubles, takes).
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

Layout = Sequence[int]
Answer = tuple[bool, bool, bool]


def pips(layout: Layout) -> int:
    return sum(point * checkers for point, checkers in enumerate(layout, start=1))


def on_point(layout: Layout, point: int) -> int:
    return layout[point - 1] if point <= len(layout) else 0


def beyond(layout: Layout, point: int, spare: int) -> int:
    return max(0, on_point(layout, point) - spare)


def gaps(layout: Layout) -> list[int]:
    return [point for point in (4, 5, 6) if on_point(layout, point) == 0]


def home_points(layout: Layout) -> int:
    return sum(1 for point in range(1, 7) if on_point(layout, point))


def outside(layout: Layout) -> int:
    return sum(layout[6:])


def crossovers(layout: Layout) -> int:
    return sum(checkers * ((point - 1) // 6) for point, checkers in enumerate(layout, start=1))


def percent_8_9_12(own: Layout, other: Layout) -> Answer:
    ahead = Fraction(pips(other) - pips(own), pips(own))
    return ahead >= Fraction(8, 100), ahead >= Fraction(9, 100), ahead <= Fraction(12, 100)


def percent_10(own: Layout, other: Layout) -> Answer:
    more = pips(own) + Fraction(pips(own), 10)
    return more <= pips(other) + 2, more <= pips(other) + 1, more >= pips(other) - 2


def thorp_count(layout: Layout) -> int:
    return pips(layout) + 2 * sum(layout) + on_point(layout, 1) - home_points(layout)


def thorp(own: Layout, other: Layout) -> Answer:
    leader, trailer = Fraction(thorp_count(own)), thorp_count(other)
    if leader > 30:
        leader += leader / 10
    return leader <= trailer + 2, leader <= trailer + 1, trailer <= leader + 2


def thorp_from_30(own: Layout, other: Layout) -> Answer:
    leader, trailer = Fraction(thorp_count(own)), thorp_count(other)
    if leader >= 30:
        leader += leader / 10
    return trailer - leader >= -2, trailer - leader >= -1, trailer - leader <= 2


def thorp_rounded(own: Layout, other: Layout) -> Answer:
    leader, trailer = thorp_count(own), thorp_count(other)
    if leader > 30:
        leader += math.floor(Fraction(leader, 10))
    return leader <= trailer + 2, leader <= trailer + 1, not trailer >= leader + 2


def ward_count(layout: Layout, other: Layout) -> Fraction:
    count = Fraction(pips(layout) + 2 * beyond(layout, 1, 2) + beyond(layout, 2, 2))
    if sum(layout) > sum(other):
        count += 2 * (sum(layout) - sum(other))
    if home_points(layout) > home_points(other):
        count -= home_points(layout) - home_points(other)
    if outside(layout) > outside(other):
        count += Fraction(outside(layout) - outside(other), 2)
    return count


def ward(own: Layout, other: Layout) -> Answer:
    leader, trailer = ward_count(own, other) * Fraction(11, 10), ward_count(other, own)
    mean = Fraction(pips(own) + pips(other), 2)
    if mean <= 50:
        deficit = Fraction(2)
    elif mean >= 100:
        deficit = Fraction(4)
    else:
        deficit = 2 + (mean - 50) / 25
    return leader <= trailer + 2, leader <= trailer + 1, trailer <= leader + deficit


def keith_count(layout: Layout) -> int:
    stacks = 2 * beyond(layout, 1, 1) + beyond(layout, 2, 1) + beyond(layout, 3, 3)
    return pips(layout) + stacks + len(gaps(layout))


def keith(own: Layout, other: Layout) -> Answer:
    leader = keith_count(own) + math.floor(Fraction(keith_count(own), 7))
    exceeds = leader - keith_count(other)
    return exceeds <= 4, exceeds <= 3, exceeds >= 2


def isight_count(layout: Layout, other: Layout) -> int:
    count = pips(layout) + 2 * beyond(layout, 1, 2) + beyond(layout, 2, 2) + beyond(layout, 3, 3)
    count += max(0, sum(layout) - sum(other)) + max(0, crossovers(layout) - crossovers(other))
    return count + sum(1 for point in gaps(layout) if point not in gaps(other))


def isight(own: Layout, other: Layout) -> Answer:
    leader, trailer = isight_count(own, other), isight_count(other, own)
    metric = 80 - Fraction(leader, 3) + 2 * (trailer - leader)
    return metric >= 68, metric >= 70, metric <= 76


def kleinman(own: Layout, other: Layout) -> Answer:
    lead, total = pips(other) - pips(own) + 4, pips(other) + pips(own) - 4
    if lead <= 0:
        return False, False, True
    metric = Fraction(lead * lead, total) if total > 0 else math.inf
    return metric >= Fraction(1, 2), metric >= Fraction(7, 10), metric <= Fraction(12, 10)


def last_take_62(count: Fraction) -> int:
    return math.floor((count - 5) / 7) if count <= 62 else math.ceil(count / 10) + 1


def trice_62(own: Layout, other: Layout) -> Answer:
    behind, last = pips(other) - pips(own), last_take_62(Fraction(pips(own)))
    return behind >= last - 3, behind >= last - 2, behind <= last


def effective_62(own: Fraction, other: Fraction) -> Answer:
    behind, last = other - own, last_take_62(own - 7)
    return behind >= last - 3, behind >= last - 2, behind <= last


def effective_rolls(own: Fraction, other: Fraction) -> Answer:
    behind, last = other - own, math.floor(own / 7 + Fraction(1, 2)) - 3
    return behind >= last - 2, behind >= last - 1, behind <= last


def effective_sevens(own: Fraction, other: Fraction) -> Answer:
    behind = other - own
    n = min(range(200), key=lambda rolls: (abs(7 * rolls + 1 - own), -rolls))
    return behind >= n - 5, behind >= n - 4, behind <= n - 1


BY_LAYOUT: dict[str, Callable[[Layout, Layout], Answer]] = {
    "8-9-12": percent_8_9_12,
    "10-percent": percent_10,
    "thorp": thorp,
    "thorp-from-30": thorp_from_30,
    "thorp-rounded": thorp_rounded,
    "ward": ward,
    "keith": keith,
    "isight": isight,
    "kleinman": kleinman,
    "rule-62": trice_62,
}
BY_EFFECTIVE_PIPS: dict[str, Callable[[Fraction, Fraction], Answer]] = {
    "epc-62": effective_62,
    "epc-rolls": effective_rolls,
    "epc-sevens": effective_sevens,
}
