"""Slow reference implementation of the race inputs from their definitions; sides as in `contact_inputs`."""

from collections.abc import Sequence

from tests.reference.contact_inputs import Row, pips, sides


def crossovers(point: int) -> int:
    """Quarters of the board between a point and home. The bar counts one more than the last quarter."""
    return 4 if point == 25 else (point - 1) // 6


def side_inputs(own: Row, other: Row) -> list[int]:
    """The 30 inputs of a side in units of 1/64."""
    places = [point for point, count in enumerate(own) for _ in range(count)]
    home = [point for point in places if point <= 6]
    outside = [point for point in places if point > 6]
    back = [point for point in places if point > 18]
    off, lead = 15 - len(places), max(pips(other) - pips(own), 0)
    to_home = sum(point - 6 for point in outside)
    gammon = [
        64,
        min(to_home + min(home, default=6), 128),
        min(16 * len(back), 128),
        min(4 * sum(point - 18 for point in back), 128),
    ]
    return [
        *(64 * (off >= threshold) for threshold in range(1, 15)),
        min(sum(places), 192),
        min(2 * lead, 128),
        min(256 * lead // max(pips(own), 1), 128),
        8 * len(outside),
        min(4 * sum(crossovers(point) for point in places), 128),
        min(to_home, 128),
        min(4 * sum(places) // max(len(places), 1), 128),
        64 * len({1, 2, 3, 4, 5, 6} - set(home)) // 6 if places else 0,
        *(8 * places.count(point) for point in (1, 2, 3)),
        64 * (len(places) % 2),
        *(gammon if off == 0 else [0] * 4),
    ]


def inputs(board: Sequence[int]) -> list[int]:
    """The 60 inputs of a 26-integer board: the player on roll, then the opponent."""
    own, other = sides(board)
    return side_inputs(own, other) + side_inputs(other, own)
