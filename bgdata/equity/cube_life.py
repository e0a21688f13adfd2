"""The cube life index that makes Janowski's model exact, and what decisions by the model lose, where gammons cannot be.

Winning chances P are those without a cube. A dead cube is worth 2 P - 1 points; a live one, with single wins only,

    centered         -1 up to P = 0.2, straight to 1 at P = 0.8, and 1 from there on
    owned            straight from -1 at P = 0 to 1 at P = 0.8, and 1 from there on
    opponent_owned   -1 up to P = 0.2, and straight to 1 at P = 1

to the player on roll who does not double now, per unit cube. The model is `index` x live + (1 - index) x dead, so the
index that makes it exact is (exact - dead) / (live - dead).

Source: R. Janowski, Take-Points in Money Games (1993).
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

TAKE_POINT, CASH_POINT = 0.2, 0.8  # of a live cube without gammons
MODEL_INDEX = 0.7  # the best constant one, by self-play
CERTAINTY = 0.01  # an index that equities leave more uncertain than this is none
CUBES = ("centered", "owned", "opponent_owned")
Values = NDArray[np.float64]


class NoIndex(IntEnum):
    """Why a position has no index, as stored in place of one."""

    BELOW = -1  # the cube is worth less than a dead one
    ABOVE = 2  # it is worth more than a live one
    UNCERTAIN = 3  # live and dead cubes are worth too nearly the same


def live_equities(win_chance: ArrayLike) -> Values:
    """float64[..., 3]: equity of a live cube that is centered, owned and the opponent's."""
    win = np.asarray(win_chance, np.float64)
    return np.stack(
        [
            np.clip((win - 0.5) / (CASH_POINT - 0.5), -1.0, 1.0),
            np.minimum(2.0 * win / CASH_POINT - 1.0, 1.0),
            np.maximum(1.0 - 2.0 * (1.0 - win) / CASH_POINT, -1.0),
        ],
        axis=-1,
    )


def model_equities(win_chance: ArrayLike, index: float = MODEL_INDEX) -> Values:
    """float64[..., 3]: equity by the model with the cube centered, owned and the opponent's, not doubling now."""
    win = np.asarray(win_chance, np.float64)
    return index * live_equities(win) + (1.0 - index) * (2.0 * win - 1.0)[..., None]


def cube_life_indexes(win_chance: ArrayLike, exact: ArrayLike, error_bound: float) -> Values:
    """float64[..., 3]: the index from 0 to 1 that makes the model exact for each cube of `CUBES`, or a NoIndex.

    exact: [..., 3] no-double equities; they and 2 x win_chance - 1 are within `error_bound` of the truth. An index that
    may be 0 or 1 by that bound is one.
    """
    win, equities = np.asarray(win_chance, np.float64), np.asarray(exact, np.float64)
    dead = (2.0 * win - 1.0)[..., None]
    gap = live_equities(win) - dead
    # the equity may be off by the bound, the dead one as well, and the live one by 5 / 3 of it where it is steepest
    uncertainty = 5.0 * error_bound / np.maximum(np.abs(gap), error_bound)
    is_uncertain = uncertainty > CERTAINTY
    index = (equities - dead) / np.where(is_uncertain, 1.0, gap)
    found = np.clip(index, 0.0, 1.0)
    found = np.where(index < -uncertainty, float(NoIndex.BELOW), found)
    found = np.where(index > 1.0 + uncertainty, float(NoIndex.ABOVE), found)
    return np.where(is_uncertain, float(NoIndex.UNCERTAIN), found)


def margins(exact: ArrayLike) -> Values:
    """float64[..., 3] by which doubling a centered cube, redoubling, and taking are right, negative where wrong, from
    exact equities [..., 3]; points per unit cube before the double."""
    found = np.asarray(exact, np.float64)
    taken = 2.0 * found[..., 2]
    doubled = np.minimum(taken, 1.0)
    return np.stack([doubled - found[..., 0], doubled - found[..., 1], 1.0 - taken], axis=-1)


def decision_losses(win_chance: ArrayLike, exact_margins: ArrayLike, index: float = MODEL_INDEX) -> Values:
    """float64[..., 3]: what doubling, redoubling and taking by the model with these winning chances loses against the
    right decision, whose margins are given; 0 where the model is right. Ties double, and pass, as in gnubg."""
    by_model, exact = margins(model_equities(win_chance, index)), np.asarray(exact_margins, np.float64)
    acts = np.concatenate([by_model[..., :2] >= 0.0, by_model[..., 2:] > 0.0], axis=-1)
    return np.where(acts, np.maximum(-exact, 0.0), np.maximum(exact, 0.0))
