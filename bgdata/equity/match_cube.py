"""The cube in a match by Janowski's mixture or the jump model, with the values of wins and losses from a match equity
table. Decisions are in mwc.

As in money play, a live cube is turned where taking and passing are equal. But every cube value has a different curve.
The curves are solved downwards from the first cube value that decides the match for either side (T. Keith's algorithm).
With a dead cube, mwc is linear between the mean of losses and the mean of wins. With jumps, every bend of a live curve
costs as much as in money play, and the decision points come from the curves of the jump model.

In kernels a match is `cells`, the float64[2, n + 1, n + 1] of a `MatchEquity`, and the points that both sides need.
Cube values are followed until they cannot change the result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.cube_models import JUMP
from bgdata.equity.curves import (
    ON_ROLL,
    OPPONENT,
    Curve,
    LivePoints,
    Points,
    centered_jump_curve,
    curve_equity,
    double_point,
    first_reaching,
    index_of,
    mirror,
    mix,
    owned_jump_curve,
)
from bgdata.equity.doubling import NOT_ALLOWED, CubeEquities, Strategy, best_equity
from bgdata.kernel import kernel

Cells = NDArray[np.float64]


class MatchGame(NamedTuple):
    """A game of a match, from the point of view of the player on roll: the points that both sides need, and whether it
    is the Crawford game."""

    away: int
    opponent_away: int
    is_crawford: bool = False


class Shares(NamedTuple):
    """The winning chance, and the shares of wins and of losses that are gammons (including backgammons) and
    backgammons."""

    win: float
    win_gammon: float
    win_backgammon: float
    lose_gammon: float
    lose_backgammon: float


class MatchCurves(NamedTuple):
    """The curves of mwc by winning chance at one cube value, with a live cube or with jumps: for each owner of the
    present cube, for the cube after a double and take, and for a pass."""

    centered: Curve
    owned: Curve
    opponent_owned: Curve
    doubled_owned: Curve  # after a double by the opponent
    doubled_opponent_owned: Curve  # after a double by the player on roll
    passed: float  # after a pass of the opponent
    dropped: float  # after a pass of the player on roll


@kernel(borrows=True)
def shares_of(chances: NDArray[np.floating]) -> Shares:
    """Compute `Shares` from five cumulative chances; the shares of gammons are 0 if there are no wins, or no losses."""
    win = min(max(float(chances[0]), 0.0), 1.0)
    won, lost = max(win, 1e-12), max(1.0 - win, 1e-12)
    return Shares(
        win,
        min(chances[1] / won, 1.0),
        min(chances[2] / won, 1.0),
        min(chances[3] / lost, 1.0),
        min(chances[4] / lost, 1.0),
    )


@kernel(borrows=True)
def mwc_after(cells: Cells, game: MatchGame, points: int) -> float:
    """Return the mwc of the player on roll after winning `points` (negative: losing them)."""
    away, opponent_away = game.away - max(points, 0), game.opponent_away - max(-points, 0)
    if away <= 0:
        return 1.0
    if opponent_away <= 0:
        return 0.0
    is_post_crawford = game.away == 1 or game.opponent_away == 1
    return float(cells[1 if is_post_crawford else 0, away, opponent_away])


@kernel(borrows=True)
def mean_mwc(cells: Cells, game: MatchGame, points: int, gammon: float, backgammon: float) -> float:
    """Return the mean mwc after a game won for `points` as a single game (negative: lost). The mean is over single
    games, gammons and backgammons, by their shares."""
    single = mwc_after(cells, game, points)
    double, triple = mwc_after(cells, game, 2 * points), mwc_after(cells, game, 3 * points)
    return single + gammon * (double - single) + backgammon * (triple - double)


@kernel(borrows=True)
def dead_curve(cells: Cells, game: MatchGame, cube_value: int, shares: Shares) -> Curve:
    """Return the curve of mwc by winning chance if the cube is never turned again."""
    lose = mean_mwc(cells, game, -cube_value, shares.lose_gammon, shares.lose_backgammon)
    win = mean_mwc(cells, game, cube_value, shares.win_gammon, shares.win_backgammon)
    return Curve(0.0, 1.0, lose, lose, win, win)


@kernel(borrows=True)
def turning_points(game: MatchGame, value: int, higher: MatchCurves, passed: float, dropped: float) -> LivePoints:
    """Return the take and cash points of a cube of this value. `higher` are the curves of the next cube value, `passed`
    is the mwc after a pass by the opponent, and `dropped` after a pass by the player. The points are 0 and 1 for a side
    that gains nothing from the next cube."""
    cash_point = min(first_reaching(higher.opponent_owned, passed), 1.0) if game.away > value else 1.0
    take_point = min(first_reaching(higher.owned, dropped), 1.0) if game.opponent_away > value else 0.0
    return LivePoints(take_point, cash_point)


@kernel(borrows=True)
def live_below(cells: Cells, game: MatchGame, value: int, shares: Shares, higher: MatchCurves) -> MatchCurves:
    """Return the curves with a live cube of this value. `higher` are the curves of the next cube value."""
    dead = dead_curve(cells, game, value, shares)
    passed, dropped = mwc_after(cells, game, value), mwc_after(cells, game, -value)
    points = turning_points(game, value, higher, passed, dropped)
    at_cash = passed if game.away > value else dead.win
    at_take = dropped if game.opponent_away > value else dead.lose
    owned = Curve(0.0, points.cash_point, dead.lose, dead.lose, at_cash, dead.win)
    other = Curve(points.take_point, 1.0, dead.lose, at_take, dead.win, dead.win)
    centered = Curve(points.take_point, points.cash_point, dead.lose, at_take, at_cash, dead.win)
    return MatchCurves(centered, owned, other, higher.owned, higher.opponent_owned, passed, dropped)


@kernel(borrows=True)
def model_curves(strategy: Strategy, cells: Cells, game: MatchGame, cube_value: int, shares: Shares) -> MatchCurves:
    """Return the curves from which `model_curve` makes the curves of a cube model: those with a live cube, or with
    jumps. Before the cube is turned, jumps have the local size; afterwards they have the mean size."""
    value = 2 * cube_value
    while value < max(game.away, game.opponent_away):
        value *= 2
    last = dead_curve(cells, game, value, shares)  # with this cube the game decides the match for either side
    live = MatchCurves(last, last, last, last, last, 1.0, 0.0)
    found = live
    while value > cube_value:
        value //= 2
        live = live_below(cells, game, value, shares, live)
        if strategy.model != JUMP:
            found = live
            continue
        points = turning_points(game, value, found, live.passed, live.dropped)
        size = strategy.local_volatility if value == cube_value else strategy.volatility
        owned = owned_jump_curve(live.owned, points.cash_point, size)
        other = mirror(owned_jump_curve(mirror(live.opponent_owned), 1.0 - points.take_point, size))
        centered = centered_jump_curve(live.centered, size)
        found = MatchCurves(centered, owned, other, found.owned, found.opponent_owned, live.passed, live.dropped)
    return found


@kernel()
def model_curve(strategy: Strategy, curve: Curve, index: float) -> Curve:
    """Make the curve of a cube model from one of `model_curves`: mixed with a dead cube, or unchanged in the jump
    model."""
    return curve if strategy.model == JUMP else mix(curve, index)


@kernel()
def match_indexes(strategy: Strategy, game: MatchGame, cube_value: int) -> tuple[float, float]:
    """Return the cube life indexes of the player on roll and of the opponent at a cube value. A double costs nothing to
    a player who would lose the match with the present cube anyway, so that player doubles at the first turn."""
    own, other = strategy.cube_life_index, strategy.opponent_cube_life_index
    if game.opponent_away <= cube_value:
        own = max(own, strategy.free_index)
    if game.away <= cube_value:
        other = max(other, strategy.free_index)
    return own, other


@kernel(borrows=True)
def match_curve(
    cells: Cells, game: MatchGame, cube_value: int, owner: int, shares: Shares, strategy: Strategy, curves: MatchCurves
) -> Curve:
    """Return the mwc curve by the cube model for the present cube and its owner `owner` (CENTERED, ON_ROLL or
    OPPONENT), from its `model_curves`. For a centered cube, the index of a player who gains nothing from a higher cube
    is ignored."""
    if game.is_crawford:
        return dead_curve(cells, game, cube_value, shares)
    own, other = match_indexes(strategy, game, cube_value)
    if owner == ON_ROLL:
        return model_curve(strategy, curves.owned, own)
    if owner == OPPONENT:
        return model_curve(strategy, curves.opponent_owned, other)
    index = index_of(owner, own, other)
    if game.away <= cube_value:
        index = other
    elif game.opponent_away <= cube_value:
        index = own
    return model_curve(strategy, curves.centered, index)


@kernel(borrows=True)
def match_equities(
    strategy: Strategy, cells: Cells, game: MatchGame, cube_value: int, owner: int, chances: NDArray[np.floating]
) -> CubeEquities:
    """Return the mwc of each cube action for the player on roll in a match, from five cumulative chances. Doubling is
    NOT_ALLOWED if the rules forbid it, or if the cube already wins the match."""
    shares = shares_of(chances)
    curves = model_curves(strategy, cells, game, cube_value, shares)
    now = curve_equity(match_curve(cells, game, cube_value, owner, shares, strategy, curves), shares.win)
    if owner == OPPONENT or game.is_crawford or game.away <= cube_value:
        return CubeEquities(now, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED)
    _, index = match_indexes(strategy, game, 2 * cube_value)
    taken = curve_equity(model_curve(strategy, curves.doubled_opponent_owned, index), shares.win)
    return CubeEquities(now, taken, taken, curves.passed)


@kernel(borrows=True)
def match_points(
    strategy: Strategy, cells: Cells, game: MatchGame, cube_value: int, owner: int, chances: NDArray[np.floating]
) -> Points:
    """Return the winning chances at which cube decisions change in a match, with the shares of gammons that `chances`
    have. If the opponent owns the cube, only the take point is meaningful."""
    shares = shares_of(chances)
    curves = model_curves(strategy, cells, game, cube_value, shares)
    now = match_curve(cells, game, cube_value, owner, shares, strategy, curves)
    own_index, index = match_indexes(strategy, game, 2 * cube_value)
    taken = model_curve(strategy, curves.doubled_opponent_owned, index)
    own = model_curve(strategy, curves.doubled_owned, own_index)
    return Points(
        first_reaching(own, curves.dropped),
        double_point(now, taken, curves.passed, 1.0),
        first_reaching(taken, curves.passed),
        first_reaching(now, curves.passed),
    )


@kernel()
def fill_match_equities(
    strategy: Strategy, cells: Cells, game: MatchGame, cube_value: int, owner: int, chances: NDArray[np.floating],
    equities: Cells,
) -> None:  # fmt: skip
    """Fill equities[row] with the mwc if both sides choose their best actions, from chances[row]."""
    for row in range(len(chances)):
        equities[row] = best_equity(match_equities(strategy, cells, game, cube_value, owner, chances[row]))
