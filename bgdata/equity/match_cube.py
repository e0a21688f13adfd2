"""The cube in a match: Janowski's mixture with W and L from a match equity table, decisions in mwc.

A live cube is turned where taking and passing are equal, as in money play. But every cube value has its own curve: they
are solved downwards from the first value that decides the match for either side (T. Keith's algorithm). With a dead
cube, mwc is linear between the mean of losses and the mean of wins. The jump model is for money play only.

In kernels a match is `cells`, the float64[2, n + 1, n + 1] of a `MatchEquity`, and the points that both sides need.
Cubes rise as far as they can change anything.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.curves import (
    ON_ROLL,
    OPPONENT,
    Curve,
    Points,
    curve_equity,
    double_point,
    first_reaching,
    mixed,
)
from bgdata.equity.doubling import (
    NOT_ALLOWED,
    CubeEquities,
    Strategy,
    best_action,
)
from bgdata.equity.janowski import index_of
from bgdata.kernel import kernel

Cells = NDArray[np.float64]


class MatchGame(NamedTuple):
    """A game of a match, seen by the player on roll: the points that both sides need, and whether it is the Crawford
    game."""

    away: int
    opponent_away: int
    is_crawford: bool = False


class Shares(NamedTuple):
    """The winning chance, and the shares of wins and of losses that are gammons (backgammons included) and
    backgammons."""

    win: float
    win_gammon: float
    win_backgammon: float
    lose_gammon: float
    lose_backgammon: float


class MatchCurves(NamedTuple):
    """Live mwc by winning chance: for the present cube by owner, for the cube once doubled and taken, and for a
    pass."""

    owned: Curve
    opponent_owned: Curve
    doubled_owned: Curve  # the opponent has doubled
    doubled_opponent_owned: Curve  # the player on roll has
    passed: float  # the opponent passes
    dropped: float  # the player on roll does


@kernel(borrows=True)
def shares_of(chances: NDArray[np.floating]) -> Shares:
    """Shares from five cumulative chances[0:5]; no gammons where there is nothing to win, or to lose."""
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
    """mwc of the player on roll once it has won `points` (negative: lost)."""
    away, opponent_away = game.away - max(points, 0), game.opponent_away - max(-points, 0)
    if away <= 0:
        return 1.0
    if opponent_away <= 0:
        return 0.0
    is_post_crawford = game.away == 1 or game.opponent_away == 1
    return float(cells[1 if is_post_crawford else 0, away, opponent_away])


@kernel(borrows=True)
def mean_mwc(cells: Cells, game: MatchGame, points: int, gammon: float, backgammon: float) -> float:
    """mwc after a game of `points` (negative: lost), or a gammon or backgammon of it, by their shares."""
    single = mwc_after(cells, game, points)
    double, triple = mwc_after(cells, game, 2 * points), mwc_after(cells, game, 3 * points)
    return single + gammon * (double - single) + backgammon * (triple - double)


@kernel(borrows=True)
def dead_curve(cells: Cells, game: MatchGame, cube_value: int, shares: Shares) -> Curve:
    """mwc by winning chance with a cube that is never turned again."""
    lose = mean_mwc(cells, game, -cube_value, shares.lose_gammon, shares.lose_backgammon)
    win = mean_mwc(cells, game, cube_value, shares.win_gammon, shares.win_backgammon)
    return Curve(0.0, 1.0, lose, lose, win, win)


@kernel(borrows=True)
def match_curves(cells: Cells, game: MatchGame, cube_value: int, shares: Shares) -> MatchCurves:
    """The live cube's mwc, from the first cube that decides the match down to `cube_value`."""
    value = 2 * cube_value
    while value < max(game.away, game.opponent_away):
        value *= 2
    owned = dead_curve(cells, game, value, shares)
    opponent_owned, doubled_owned, doubled_other = owned, owned, owned
    passed, dropped = 1.0, 0.0
    while value > cube_value:
        value //= 2
        dead = dead_curve(cells, game, value, shares)
        passed, dropped = mwc_after(cells, game, value), mwc_after(cells, game, -value)
        doubled_owned, doubled_other = owned, opponent_owned
        cash_point = min(first_reaching(doubled_other, passed), 1.0) if game.away > value else 1.0
        take_point = min(first_reaching(doubled_owned, dropped), 1.0) if game.opponent_away > value else 0.0
        at_cash = passed if game.away > value else dead.win
        at_take = dropped if game.opponent_away > value else dead.lose
        owned = Curve(0.0, cash_point, dead.lose, dead.lose, at_cash, dead.win)
        opponent_owned = Curve(take_point, 1.0, dead.lose, at_take, dead.win, dead.win)
    return MatchCurves(owned, opponent_owned, doubled_owned, doubled_other, passed, dropped)


@kernel(borrows=True)
def match_curve(
    cells: Cells, game: MatchGame, cube_value: int, owner: int, shares: Shares, strategy: Strategy, curves: MatchCurves
) -> Curve:
    """The mwc of the present cube by the model, by owner code, from its `match_curves`. The index of a player who gains
    nothing from a higher cube does not count for a centered one."""
    if game.is_crawford:
        return dead_curve(cells, game, cube_value, shares)
    index = index_of(owner, strategy.cube_life_index, strategy.opponent_cube_life_index)
    if owner == ON_ROLL:
        return mixed(curves.owned, index)
    if owner == OPPONENT:
        return mixed(curves.opponent_owned, index)
    if game.away <= cube_value:
        index = strategy.opponent_cube_life_index
    elif game.opponent_away <= cube_value:
        index = strategy.cube_life_index
    low, high = curves.opponent_owned, curves.owned
    return mixed(Curve(low.low, high.high, low.lose, low.at_low, high.at_high, high.win), index)


@kernel(borrows=True)
def match_equities(
    strategy: Strategy, cells: Cells, game: MatchGame, cube_value: int, owner: int, chances: NDArray[np.floating]
) -> CubeEquities:
    """mwc of the cube decision of the player on roll in a match, from chances[0:5]. Doubling is NOT_ALLOWED by the
    rules, and where the cube already wins the match."""
    shares = shares_of(chances)
    curves = match_curves(cells, game, cube_value, shares)
    now = curve_equity(match_curve(cells, game, cube_value, owner, shares, strategy, curves), shares.win)
    if owner == OPPONENT or game.is_crawford or game.away <= cube_value:
        return CubeEquities(now, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED)
    taken = curve_equity(mixed(curves.doubled_opponent_owned, strategy.opponent_cube_life_index), shares.win)
    return CubeEquities(now, taken, taken, curves.passed)


@kernel(borrows=True)
def match_points(
    strategy: Strategy, cells: Cells, game: MatchGame, cube_value: int, owner: int, chances: NDArray[np.floating]
) -> Points:
    """Where decisions about a cube change in a match, with the shares of gammons among wins and losses taken from
    chances[0:5]. If the opponent owns the cube, only the take point is meaningful."""
    shares = shares_of(chances)
    curves = match_curves(cells, game, cube_value, shares)
    now = match_curve(cells, game, cube_value, owner, shares, strategy, curves)
    taken = mixed(curves.doubled_opponent_owned, strategy.opponent_cube_life_index)
    own = mixed(curves.doubled_owned, strategy.cube_life_index)
    return Points(
        first_reaching(own, curves.dropped),
        double_point(now, taken, curves.passed, 1.0),
        first_reaching(taken, curves.passed),
        first_reaching(now, curves.passed),
    )


@kernel()
def fill_match_equities(
    strategy: Strategy,
    cells: Cells,
    games: NDArray[np.int64],
    cube_value: int,
    owner: int,
    chances: NDArray[np.floating],
    equities: NDArray[np.float64],
    actions: NDArray[np.int8],
) -> None:
    """Fills equities[row, 0:4], as `CubeEquities`, and actions[row] from chances[row, 0:5] and games[row, 0:3], as
    `MatchGame`; all with the same cube."""
    for row in range(len(chances)):
        game = MatchGame(games[row, 0], games[row, 1], games[row, 2] != 0)
        found = match_equities(strategy, cells, game, cube_value, owner, chances[row])
        equities[row, 0], equities[row, 1] = found.no_double, found.double_take
        equities[row, 2], equities[row, 3] = found.double_beaver, found.double_pass
        actions[row] = best_action(found)
