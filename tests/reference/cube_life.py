"""Slow reference implementation of cube life: one position at a time, in exact rational arithmetic, from the model.

With single wins only, the live cube's take point is 1/5 and its cash point 4/5 (Janowski 1993).
"""

from fractions import Fraction
from typing import NamedTuple

TAKE_POINT, CASH_POINT = Fraction(1, 5), Fraction(4, 5)


class Equities(NamedTuple):
    """Equities of the player on roll without a double, per unit cube."""

    centered: Fraction
    owned: Fraction
    opponent_owned: Fraction


def between(win: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """-1 up to `low`, 1 from `high` on, linear between them."""
    return min(max(2 * (win - low) / (high - low) - 1, Fraction(-1)), Fraction(1))


def model(win: Fraction, index: Fraction) -> Equities:
    """Equities of the model."""
    zero, one = Fraction(0), Fraction(1)
    lives = (between(win, TAKE_POINT, CASH_POINT), between(win, zero, CASH_POINT), between(win, TAKE_POINT, one))
    return Equities(*(index * live + (1 - index) * (2 * win - 1) for live in lives))


def exact_indexes(win: Fraction, exact: Equities) -> list[Fraction | None]:
    """The index that makes the model exact for each cube owner; None if every index or no index does."""
    live, dead = model(win, Fraction(1)), 2 * win - 1
    return [
        (equity - dead) / (alive - dead) if alive != dead else None for equity, alive in zip(exact, live, strict=True)
    ]


def loss_of_double(no_double: Fraction, taken: Fraction, model_no_double: Fraction, model_taken: Fraction) -> Fraction:
    """Loss from the model's decision to double or not, if the opponent answers correctly."""
    doubled = min(taken, Fraction(1))
    best = max(no_double, doubled)
    return best - (doubled if min(model_taken, Fraction(1)) >= model_no_double else no_double)


def loss_of_take(taken: Fraction, model_taken: Fraction) -> Fraction:
    """Cost to the opponent of the model's decision to take or pass."""
    return (taken if model_taken < 1 else Fraction(1)) - min(taken, Fraction(1))
