"""Slow reference implementation of the exact referee for small bearoffs: games solved by recursion, plays from the
rules."""

from collections.abc import Sequence

from tests.reference.bearoff import Layout
from tests.reference.bearoff_chances import equity, exact_game, layouts_of
from tests.reference.plays import boards_after

Board = tuple[int, ...]


def exact_values(board: Sequence[int], die: int, other_die: int, points: int) -> dict[Board, float]:
    """Exact cubeless equity of the player on roll after each play, by the board that the opponent then sees. Both sides
    are on their first `points` points, and gammons are impossible."""
    values = {}
    for after in boards_after(board, die, other_die):
        ours, theirs = (shortened(side, points) for side in layouts_of(after))
        seen = (after[25], *(-count for count in after[24:0:-1]), after[0])
        values[seen] = 1.0 if not any(ours) else -equity(exact_game(theirs, ours, 15))
    return values


def shortened(side: Sequence[int], points: int) -> Layout:
    """The layout of a side with no checker beyond its first points."""
    assert not any(side[points:])
    return tuple(side[:points])


def verdict(values: dict[Board, float], chosen: Board) -> tuple[float, int, list[Board]]:
    """(loss, number of plays better by more than rounding, the best plays within rounding)."""
    best = max(values.values())
    better = sum(value > values[chosen] + 1e-5 for value in values.values())
    return best - values[chosen], better, [board for board, value in values.items() if value > best - 1e-5]
