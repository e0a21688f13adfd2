"""The jump model at a match score, solved on a grid for each cube, without its approximation; its cube life index."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.curves import owned_slope
from bgdata.equity.numeric import fixed_point, mean_over_jumps
from tests.reference.cube import MatchReference

Curve = NDArray[np.float64]


class Solved(NamedTuple):
    """mwc of the player on roll at winning chances 0, 1/N, ..., 1."""

    centered: Curve
    owned: Curve
    opponent_owned: Curve


def solved_match(match: MatchReference, cube: int, volatility: float, points: int) -> Solved:
    """With double-exponential jumps: mwc at a chance is the mean of mwc after the jump. A player with access to the
    cube turns it if that gives more, and the opponent takes or passes, whichever is better."""
    # second integral of the density exp(-|x| / v) / (2 v), so that means over linear pieces are its differences
    mean = mean_over_jumps(points, lambda x: max(x, 0.0) + volatility / 2 * float(np.exp(-abs(x) / volatility)))
    chances = np.linspace(0.0, 1.0, points + 1)
    lose, win = match.ends(cube)
    dead, ends = lose + chances * (win - lose), np.array([lose, win])
    if cube >= max(match.away, match.opponent_away):
        return Solved(dead, dead, dead)
    higher = solved_match(match, 2 * cube, volatility, points)
    doubled = np.minimum(higher.opponent_owned, match.after(cube)) if match.away > cube else np.full(points + 1, -1.0)
    redoubled = np.maximum(higher.owned, match.after(-cube)) if match.opponent_away > cube else np.full(points + 1, 2.0)

    def decided(rows: Curve) -> Curve:
        centered, owned, other = rows
        held = np.where(doubled > centered, doubled, np.minimum(centered, redoubled))
        return np.stack([held, np.maximum(owned, doubled), np.minimum(other, redoubled)])

    return Solved(*fixed_point(mean, decided, np.stack([dead, dead, dead]), ends))


def implied_index(mean_win: float, mean_loss: float, volatility: float) -> float:
    """The cube life index with which Janowski's model has the same take point as the jump model with this
    volatility."""
    take_point = (mean_loss - 0.5) / owned_slope(mean_win, mean_loss, volatility)
    return 2.0 * ((mean_loss - 0.5) / take_point - mean_win - mean_loss)
