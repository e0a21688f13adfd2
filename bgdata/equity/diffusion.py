"""The live cube without its formulas: the winning chance drifts without jumps, and either player turns the cube when it
likes.

Between decisions the equity E of a winning chance P at a time t solves sigma^2 / 2 d2E/dP2 + dE/dt = 0, the equation of
a diffusion without a trend. A player who may double holds E from below by what a double is worth, and its opponent from
above. Long before the end of time E depends on neither t nor sigma: it is straight wherever nobody turns the cube. That
E is found here on a grid, by successive over-relaxation with the bounds imposed at every point (Cryer 1971), as
American options are priced. The formulas of `janowski` and `match_cube` for a live cube should come out, up to the
width of the grid: decisions can change only at its points.

They do, but for scores at which who is ahead would rather play for a gammon than cash: Keith's formula cashes.

Source: Computational Backgammon, "Full match equity tables" (2012), which found so that Keith's algorithm is the live
cube.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.janowski import situation_rows
from bgdata.equity.match_cube import Cells, MatchGame, dead_curve, mwc_after, shares_of
from bgdata.errors import InvalidParameterError
from bgdata.kernel import kernel

OWNED, CENTERED, OPPONENT_OWNED = range(3)  # rows
POINTS = 200  # intervals of the grid
MOST_POINTS = 10_000
_MOST_ROUNDS, _SETTLED = 100_000, 1e-12
Sides = NDArray[np.float64]
"""float64[3, N + 1]: equities of the player on roll at winning chances 0, 1/N, ..., 1, with the cube owned, centered,
and owned by the opponent."""


class Turn(NamedTuple):
    """What turning the cube leads to: the equities once it is turned and taken are `factor` times those of the rows
    OPPONENT_OWNED, after a double by the player on roll, and OWNED, after one by the opponent."""

    factor: float
    passed: float  # equity of the player on roll if the opponent passes
    dropped: float  # if it passes itself
    doubles: bool  # whether the player on roll gains anything by a higher cube, and may turn it
    is_doubled: bool  # the same of the opponent


def drifting_money(mean_win: float = 1.0, mean_loss: float = 1.0, points: int = POINTS) -> Sides:
    """Equities in money play, in points per unit cube, from mean points of a win and of a loss.

    Raises InvalidParameterError for mean points beyond 1 to 3, or a grid of less than 2 or more than MOST_POINTS
    intervals.

    >>> drifting_money(points=10)[:, 5].round(6).tolist()
    [0.25, 0.0, -0.25]
    """
    check_grid(points)
    ((_, win, loss),) = situation_rows(0.5, mean_win, mean_loss)[0].tolist()
    sides = straight(-loss, win, points)
    settle(sides, sides, Turn(2.0, 1.0, -1.0, True, True))
    return sides


def drifting_match(
    cells: Cells, game: MatchGame, chances: NDArray[np.floating], cube_value: int = 1, points: int = POINTS
) -> Sides:
    """mwc in a match, from the cells of a match equity table, with the shares of gammons of chances[0:5]. In the
    Crawford game nobody turns the cube. Raises InvalidParameterError for a grid out of range.
    """
    check_grid(points)
    shares, value = shares_of(chances), cube_value
    while value < max(game.away, game.opponent_away) and not game.is_crawford:
        value *= 2
    dead = dead_curve(cells, game, value, shares)
    sides = straight(dead.lose, dead.win, points)
    while value > cube_value:
        value //= 2
        dead, doubled = dead_curve(cells, game, value, shares), sides
        sides = straight(dead.lose, dead.win, points)
        passed, dropped = mwc_after(cells, game, value), mwc_after(cells, game, -value)
        settle(sides, doubled, Turn(1.0, passed, dropped, game.away > value, game.opponent_away > value))
    return sides


def straight(lose: float, win: float, points: int) -> Sides:
    """Equities of a dead cube."""
    return np.linspace(lose, win, points + 1)[None].repeat(3, 0)


def check_grid(points: int) -> None:
    """Raise InvalidParameterError for a grid of too few or too many intervals."""
    if not 2 <= points <= MOST_POINTS:
        raise InvalidParameterError(f"expected a grid of 2 to {MOST_POINTS:,} intervals, got {points:,}")


@kernel()
def settle(sides: Sides, turned: Sides, turn: Turn) -> None:
    """Fills sides[0:3, point], whose ends stay as they are, with what they are long before the end of time;
    turned[0:3, point], which may be the same array, is the equity once the cube is turned."""
    last = sides.shape[1] - 1
    relaxation = 2.0 / (1.0 + np.sin(np.pi / last))
    for _ in range(_MOST_ROUNDS):
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
        if change < _SETTLED:
            break
