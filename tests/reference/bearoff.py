"""Slow reference implementations of the bearoff kernels, in exact rational arithmetic, directly from the rules.

A layout is a tuple of checkers on points 1 to P, ace point first. No code is shared with the kernels.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

ROLLS = [((a, b), 2 if a > b else 1) for a in range(1, 7) for b in range(1, a + 1)]
Layout = tuple[int, ...]


def layouts(points: int, checkers: int) -> list[Layout]:
    """Every layout of at most `checkers` checkers in index order: by total, then most on the ace point, deuce point,
    ..."""
    found = set()
    for total in range(checkers + 1):
        for places in combinations_with_replacement(range(points), total):
            found.add(tuple(places.count(point) for point in range(points)))
    return sorted(found, key=lambda layout: (sum(layout), [-count for count in layout]))


def after_checker_moves(layout: Layout, die: int) -> set[Layout]:
    """Layouts after one checker move: from a point down by `die`, or off from the point of the die or from the highest
    point."""
    results = set()
    held = [point for point, count in enumerate(layout, start=1) if count]
    for point in held:
        after = list(layout)
        after[point - 1] -= 1
        if point > die:
            after[point - die - 1] += 1
        elif max(held) > 6 or (point < die and point != max(held)):
            continue
        results.add(tuple(after))
    return results


@cache
def after_roll(layout: Layout, roll: tuple[int, int]) -> frozenset[Layout]:
    """Layouts after the whole roll. A finished game needs no more moves."""
    first, second = roll
    orders = [[first] * 4] if first == second else [[first, second], [second, first]]
    results: set[Layout] = set()
    for dice in orders:
        reached = {layout}
        for die in dice:
            reached = {after for before in reached for after in (after_checker_moves(before, die) or {before})}
        results |= reached
    return frozenset(results)


@cache
def race(layout: Layout, checkers_left: int) -> dict[int, Fraction]:
    """Chance of having at most `checkers_left` checkers after exactly n rolls, with plays for the fewest expected
    rolls."""
    if sum(layout) <= checkers_left:
        return {0: Fraction(1)}
    total: dict[int, Fraction] = {}
    for roll, weight in ROLLS:
        best = min((race(after, checkers_left) for after in after_roll(layout, roll)), key=mean_rolls)
        for n, chance in best.items():
            total[n + 1] = total.get(n + 1, Fraction(0)) + chance * weight / 36
    return total


def mean_rolls(chances: dict[int, Fraction]) -> Fraction:
    """Expected number of rolls of a distribution."""
    return sum((n * chance for n, chance in chances.items()), Fraction(0))


@cache
def equities(on_roll: Layout, opponent: Layout) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """(cubeless, owned, centered, opponent_owned): no-double equities of the player on roll per unit cube.

    A side that still has all 15 checkers when the other is off loses two points, a gammon.
    """
    if not any(on_roll):
        return (Fraction(2 if sum(opponent) == 15 else 1),) * 4
    if not any(opponent):
        return (Fraction(-2 if sum(on_roll) == 15 else -1),) * 4
    totals = [Fraction(0)] * 4
    for roll, weight in ROLLS:
        replies = [equities(opponent, after) for after in after_roll(on_roll, roll)]
        columns_of_replies = zip(
            *[
                (-cubeless, -theirs, -cube_value(centered, theirs), -cube_value(owned, theirs))
                for cubeless, owned, centered, theirs in replies
            ],
            strict=True,
        )
        for column, values in enumerate(columns_of_replies):
            totals[column] += max(values) * weight / 36
    return totals[0], totals[1], totals[2], totals[3]


def cube_value(no_double: Fraction, opponent_owned: Fraction) -> Fraction:
    """Worth with the choice to double: no double, or the opponent's better answer to a double."""
    return max(no_double, min(2 * opponent_owned, Fraction(1)))


def one_sided_win_chance(on_roll: dict[int, Fraction], opponent: dict[int, Fraction]) -> Fraction:
    """Chance that the player on roll needs no more rolls than the opponent."""
    return sum((p * q for (n, p), (m, q) in product(on_roll.items(), opponent.items()) if n <= m), Fraction(0))
