"""Models of the cube solved on grids, without the formulas of `curves`.

`drifting_money` and `drifting_match` solve the live cube: the winning chance drifts without jumps, and either player
turns the cube at any time.

Between decisions the equity E of a winning chance P at a time t solves sigma^2 / 2 d2E/dP2 + dE/dt = 0, the equation of
a diffusion without trend. If a player may double, the value of a double is a lower bound of E for this player, and an
upper bound if the opponent may double. Long before the end of time E depends on neither t nor sigma: it is straight
wherever nobody turns the cube. This E is found on a grid, by successive over-relaxation with the bounds imposed at
every point (Cryer 1971), as for American options. It should match the formulas of `curves` and `match_cube` for a live
cube up to the width of the grid, since decisions can change only at its points.

It does match, except at scores at which the player ahead should play for a gammon rather than cash, while Keith's
formula cashes.

Source: Computational Backgammon, "Full match equity tables" (2012), which showed in this way that Keith's algorithm is
the live cube.

`solve_jumps` solves the jump model on a grid without the approximation of `curves`, to check it and measure its error.

The cube is turned only after a jump. So the equity at a winning chance p is the mean, over jumps, of the equity after
the jump with the best cube action:

    owned    mean of max(owned, min(2 x opponent_owned, 1))
    centered mean of the same with centered, held from below by max(2 x owned, -1)

Games end at chances 0 and 1 with -L and W. Beyond these, equity continues linearly, with slopes that make the mean over
jumps from 0 and from 1 equal to -L and W. Equity is linear between the N + 1 points of the grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import erf, exp, pi, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.curves import NEVER, Points, situation_rows
from bgdata.equity.match_cube import Cells, MatchGame, dead_curve, mwc_after, shares_of
from bgdata.errors import InvalidParameterError
from bgdata.game.match import CubeOwner
from bgdata.kernel import kernel

OWNED, CENTERED, OPPONENT_OWNED = range(3)  # rows of equities
POINTS = 200  # intervals of the grid
MAX_POINTS = 10_000
MAX_ROUNDS, SETTLED = 100_000, 1e-12
JUMPS = ("double-exponential", "normal")
Equities = NDArray[np.float64]
Sides = Equities
"""float64[3, N + 1]: equities of the player on roll at winning chances 0, 1/N, ..., 1, with the cube owned, centered,
and owned by the opponent."""


class Turn(NamedTuple):
    """The equities after the cube is turned. After a take they are `factor` times the equities of row OPPONENT_OWNED
    (if the player on roll doubled) or OWNED (if the opponent doubled)."""

    factor: float
    passed: float  # equity of the player on roll if the opponent passes
    dropped: float  # equity of the player on roll if it passes
    doubles: bool  # whether the player on roll may turn the cube and gains from it
    is_doubled: bool  # whether the opponent may turn the cube and gains from it


def drifting_money(mean_win: float = 1.0, mean_loss: float = 1.0, points: int = POINTS) -> Sides:
    """Solve money play on a grid of winning chances, with a live cube. Returns equities in points per unit cube, from
    mean points of a win and of a loss.

    Raises InvalidParameterError for mean points outside 1 to 3, or a grid of fewer than 2 or more than MAX_POINTS
    intervals.

    >>> drifting_money(points=10)[:, 5].round(6).tolist()
    [0.25, 0.0, -0.25]"""
    check_grid(points)
    ((_, win, loss),) = situation_rows(0.5, mean_win, mean_loss)[0].tolist()
    sides = np.linspace(-loss, win, points + 1)[None].repeat(3, 0)
    settle(sides, sides, Turn(2.0, 1.0, -1.0, True, True))
    return sides


def drifting_match(cells: Cells, game: MatchGame, chances: NDArray[np.floating], points: int = POINTS) -> Sides:
    """Solve a game of a match on a grid of winning chances, with a live cube at 1. Returns mwc, from the cells of a
    match equity table and the shares of gammons in `chances`. In the Crawford game nobody turns the cube. Raises
    InvalidParameterError for a grid out of range."""
    check_grid(points)
    shares, value = shares_of(chances), 1
    while value < max(game.away, game.opponent_away) and not game.is_crawford:
        value *= 2
    dead = dead_curve(cells, game, value, shares)
    sides = np.linspace(dead.lose, dead.win, points + 1)[None].repeat(3, 0)
    while value > 1:
        value //= 2
        dead, doubled = dead_curve(cells, game, value, shares), sides
        sides = np.linspace(dead.lose, dead.win, points + 1)[None].repeat(3, 0)
        passed, dropped = mwc_after(cells, game, value), mwc_after(cells, game, -value)
        settle(sides, doubled, Turn(1.0, passed, dropped, game.away > value, game.opponent_away > value))
    return sides


def check_grid(points: int) -> None:
    """Raise InvalidParameterError for a grid with too few or too many intervals."""
    if not 2 <= points <= MAX_POINTS:
        raise InvalidParameterError(f"expected a grid of 2 to {MAX_POINTS:,} intervals, got {points:,}")


@kernel()
def settle(sides: Sides, turned: Sides, turn: Turn) -> None:
    """Iterate the equities sides[0:3, point] until they no longer change. The first and last values are fixed.
    turned[0:3, point], which may be the same array, are the equities after the cube is turned."""
    last = sides.shape[1] - 1
    relaxation = 2.0 / (1.0 + np.sin(np.pi / last))
    for _ in range(MAX_ROUNDS):
        change = 0.0
        for point in range(1, last):
            doubled = min(turn.factor * turned[OPPONENT_OWNED, point], turn.passed)
            was_doubled = max(turn.factor * turned[OWNED, point], turn.dropped)
            for row in range(3):
                mean = 0.5 * (sides[row, point - 1] + sides[row, point + 1])
                value = sides[row, point] + relaxation * (mean - sides[row, point])
                if turn.doubles and row != OPPONENT_OWNED:
                    value = max(value, doubled)
                if turn.is_doubled and row != OWNED:
                    value = min(value, was_doubled)
                change = max(change, abs(value - sides[row, point]))
                sides[row, point] = value
        if change < SETTLED:
            break


@dataclass(frozen=True, eq=False)
class SolvedJumps:
    """The jump model solved on a grid: equities of the player on roll without a double, float64[N + 1], at winning
    chances 0, 1/N, ..., 1."""

    chances: Equities
    owned: Equities
    centered: Equities
    opponent_owned: Equities

    def points(self, owner: CubeOwner = CubeOwner.CENTERED) -> Points:
        """Return the winning chances at which decisions change, for a cube that is centered or owned by the player on
        roll."""
        now = {CubeOwner.CENTERED: self.centered, CubeOwner.ON_ROLL: self.owned}[owner]
        doubled = np.minimum(2 * self.opponent_owned, 1.0)
        return Points(
            take_point=self._first(2 * self.owned + 1),
            double_point=self._first(doubled - now),
            cash_point=self._first(2 * self.opponent_owned - 1),
            too_good_point=self._first(now - 1),
        )

    def _first(self, gains: Equities) -> float:
        """Return the lowest winning chance from which a gain, which is below 0 at first, is not negative, or NEVER if
        there is none."""
        crossings = np.flatnonzero((gains[:-1] < 0) & (gains[1:] >= 0))
        if not len(crossings):
            return 0.0 if gains[0] >= 0 else NEVER
        place = int(crossings[0])
        share = gains[place] / (gains[place] - gains[place + 1])
        return float(self.chances[place] + share * (self.chances[place + 1] - self.chances[place]))


def solve_jumps(
    mean_win: float,
    mean_loss: float,
    volatility: float,
    *,
    jumps: str = "double-exponential",
    points: int = 100,
    is_jacoby: bool = False,
) -> SolvedJumps:
    """Solve the jump model by iteration, for mean points of a win and of a loss from 1 to 3. If `is_jacoby`, a game
    that ends with a centered cube is worth 1 point.

    `volatility` is the mean absolute size of a jump, up to 0.5; `jumps` is their distribution, one of JUMPS; `points`
    is N. Raises InvalidParameterError if a value is out of range."""
    for name, value in (("a win", mean_win), ("a loss", mean_loss)):
        if not 1 <= value <= 3:
            raise InvalidParameterError(f"expected mean points of {name} from 1 to 3, got {value:g}")
    if not 0 < volatility <= 0.5:
        raise InvalidParameterError(f"expected a jump volatility above 0 and up to 0.5, got {volatility:g}")
    if jumps not in JUMPS:
        raise InvalidParameterError(f"expected jumps that are {' or '.join(JUMPS)}, got {jumps}")
    if points < 2 / volatility or points < 10:
        least = max(10, int(np.ceil(2 / volatility)))
        raise InvalidParameterError(f"expected a grid of at least {least} points for such jumps, got {points}")
    mean = mean_over_jumps(points, _second_integral(jumps, volatility))
    chances = np.linspace(0.0, 1.0, points + 1)
    dead = chances * (mean_win + mean_loss) - mean_loss
    ends = np.array([-mean_loss, mean_win])

    def next_sides(sides: Equities) -> Equities:
        owned, other = sides
        return np.stack([np.maximum(owned, np.minimum(2 * other, 1)), np.minimum(other, np.maximum(2 * owned, -1))])

    owned, other = fixed_point(mean, next_sides, np.stack([dead, dead]), ends)

    def next_centered(sides: Equities) -> Equities:
        held = np.minimum(sides, np.maximum(2 * owned, -1))
        return np.asarray(np.where(np.minimum(2 * other, 1) > sides, np.minimum(2 * other, 1), held))

    (centered,) = fixed_point(mean, next_centered, dead[None], np.array([-1.0, 1.0]) if is_jacoby else ends)
    return SolvedJumps(chances, owned, centered, other)


def fixed_point(mean: Equities, decided: Callable[[Equities], Equities], start: Equities, ends: Equities) -> Equities:
    """Iterate equities from `start` to the fixed point, where they equal the mean of the `decided` equities after a
    jump. `mean` contains the weights of the mean, and `ends` the values at both ends of the grid. Returns float64[k, N
    + 1]."""
    equities = start
    for _ in range(MAX_ROUNDS):
        after = decided(equities)
        after[:, [0, -1]] = ends
        following = after @ mean.T
        change = np.abs(following - equities).max()
        equities = np.asarray(following)
        if change < SETTLED:
            break
    return equities


def mean_over_jumps(points: int, integral: Callable[[float], float]) -> Equities:
    """Return the weights of the equities at points k in the mean after a jump from grid point i, as float64[N + 1, N +
    1]. `integral` is the second integral of the density of jumps; means over straight pieces are its differences."""
    step = 1 / points
    at = np.array([integral(distance * step) for distance in range(-points - 1, points + 2)])
    place = np.arange(points + 1)
    apart = place[None, :] - place[:, None] + points + 1
    weights: Equities = (at[apart + 1] - 2 * at[apart] + at[apart - 1]) / step
    # half pieces at the ends; everything beyond an end counts as if at the end
    weights[:, 0] = (at[apart[:, 1]] - at[apart[:, 0]]) / step
    weights[:, -1] = 1 - (at[apart[:, -1]] - at[apart[:, -2]]) / step
    # and the linear continuation beyond the ends, with slopes that give the right means from both ends
    beyond = np.stack([-at[apart[:, 0]], at[apart[:, -1]] - (1 - place * step)], axis=1)
    wanted = np.zeros((2, points + 1))
    wanted[0, 0] = wanted[1, -1] = 1
    slopes = np.linalg.solve(beyond[[0, -1]], wanted - weights[[0, -1]])
    return np.asarray(weights + beyond @ slopes)


def _second_integral(jumps: str, volatility: float) -> Callable[[float], float]:
    """Make the function z -> mean of (z - jump)+, the integral of the distribution function of a jump from minus
    infinity to z."""
    if jumps == "normal":
        sd = volatility * sqrt(pi / 2)
        return lambda z: z * (1 + erf(z / sd / sqrt(2))) / 2 + sd / sqrt(2 * pi) * exp(-z * z / (2 * sd * sd))
    return lambda z: max(z, 0.0) + volatility / 2 * exp(-abs(z) / volatility)
