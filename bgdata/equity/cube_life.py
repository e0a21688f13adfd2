"""The cube life index with which Janowski's model is exact, and the losses of decisions by the model, without gammons.

The model's equity of the player on roll if it does not double now is `index` x live + (1 - index) x dead, from its
cubeless winning chance (see `curves`). So the exact index is (exact - dead) / (live - dead).
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgdata.equity.cube_models import DEFAULT_INDEX
from bgdata.game.match import CubeOwner

CERTAINTY = 0.01  # largest accepted uncertainty of an index
TIE = 1e-9  # equities of actions that differ by less are equal: chances are sums of rounded chances
CUBES = ("centered", "owned", "opponent_owned")
Values = NDArray[np.float64]


class NoIndex(IntEnum):
    """Codes that are stored in place of a cube life index, for the reasons why a position has none."""

    BELOW = -1  # the exact equity is below that of a dead cube
    ABOVE = 2  # the exact equity is above that of a live cube
    UNCERTAIN = 3  # the equities of a live and a dead cube are too close


def model_equities(win_chance: ArrayLike, index: float) -> Values:
    """Return the equities without a double by Janowski's model for each cube of `CUBES`, as float64[..., 3]. `index` is
    the cube life index."""
    from bgdata.equity.curves import janowski_equities  # here: the declaration of the kind needs no kernel

    return np.stack([janowski_equities(win_chance, owner=owner, cube_life_index=index) for owner in CubeOwner], axis=-1)


def cube_life_indexes(win_chance: ArrayLike, exact: ArrayLike, error_bound: float) -> Values:
    """Return the cube life index from 0 to 1 with which Janowski's model is exact, or a NoIndex, for each cube of
    `CUBES`, as float64[..., 3].

    `exact` are equities without a double, [..., 3]. Their error, and the error of 2 x win_chance - 1, are at most
    `error_bound`. An index that is outside 0 to 1 by no more than this error explains counts as 0 or 1."""
    win, equities = np.asarray(win_chance, np.float64), np.asarray(exact, np.float64)
    dead = (2.0 * win - 1.0)[..., None]
    gap = model_equities(win, 1.0) - dead
    # the equity and the dead one may be off by the bound, the live one by up to 5 / 3 of it
    uncertainty = 5.0 * error_bound / np.maximum(np.abs(gap), error_bound)
    is_uncertain = uncertainty > CERTAINTY
    index = (equities - dead) / np.where(is_uncertain, 1.0, gap)
    found = np.clip(index, 0.0, 1.0)
    found = np.where(index < -uncertainty, float(NoIndex.BELOW), found)
    found = np.where(index > 1.0 + uncertainty, float(NoIndex.ABOVE), found)
    return np.where(is_uncertain, float(NoIndex.UNCERTAIN), found)


def margins(exact: ArrayLike) -> Values:
    """Return how much doubling a centered cube, redoubling, and taking gain (negative: lose), as float64[..., 3] in
    points per unit cube before the double, from exact equities [..., 3]."""
    found = np.asarray(exact, np.float64)
    taken = 2.0 * found[..., 2]
    doubled = np.minimum(taken, 1.0)
    return np.stack([doubled - found[..., 0], doubled - found[..., 1], 1.0 - taken], axis=-1)


def decision_losses(win_chance: ArrayLike, exact_margins: ArrayLike, index: float = DEFAULT_INDEX) -> Values:
    """Return how much the model's decisions to double, redouble and take lose, from the exact margins, as float64[...,
    3]. The loss is 0 if the model is right. If two actions have equal equities, the decision is to double and to pass,
    as in gnubg."""
    by_model, exact = margins(model_equities(win_chance, index)), np.asarray(exact_margins, np.float64)
    acts = np.concatenate([by_model[..., :2] > -TIE, by_model[..., 2:] > TIE], axis=-1)
    return np.where(acts, np.maximum(-exact, 0.0), np.maximum(exact, 0.0))
