"""Claims about cube models and match equity, answered by formulas: decision points, Crawford games, cube tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import pi, sqrt

import numpy as np

from bgdata.equity.doubling import janowski, jump, money_points
from bgdata.equity.match_cube import MatchGame
from bgdata.equity.match_equity import MatchEquity
from bgdata.equity.met_induction import crawford_row, induced_table
from bgdata.equity.numeric import (
    CENTERED,
    SolvedJumps,
    drifting_match,
    drifting_money,
    solve_jumps,
)
from bgdata.game.match import CubeOwner

POINTS = {  # name in the published table: (cube, field of Points)
    "take": (CubeOwner.ON_ROLL, "take_point"),
    "cash": (CubeOwner.ON_ROLL, "cash_point"),
    "redouble": (CubeOwner.ON_ROLL, "double_point"),
    "initial_double": (CubeOwner.CENTERED, "double_point"),
    "too_good": (CubeOwner.ON_ROLL, "too_good_point"),
}
LINEAR = "linear"
# largest error of a formula: rounding of the printed result, plus half of the rounding of the printed equities in it
FITTING = 0.0005 + 0.0005 / 2
FORMULAS_OF_MWC = {"(E-1)/2": -1, "(E+1)/2": 1}  # term added to the equity before halving


def janowski_point(mean_win: float, mean_loss: float, index: float, name: str) -> float:
    """Return the winning chance at a decision point of Janowski's cube model. `name` is the name of the point."""
    owner, field = POINTS[name]
    return float(getattr(money_points(janowski(index), mean_win, mean_loss, owner=owner), field))


def jump_point(mean_win: float, mean_loss: float, volatility: float, method: str, name: str) -> float:
    """Return the winning chance at a decision point of the jump model. `method` is `linear`, or the distribution of
    jumps (normal or double-exponential), for which the model is solved on a grid of 100 intervals."""
    owner, field = POINTS[name]
    if method == LINEAR:
        return float(getattr(money_points(jump(volatility), mean_win, mean_loss, owner=owner), field))
    return float(getattr(solve_cached(mean_win, mean_loss, volatility, method).points(owner), field))


@lru_cache(maxsize=16)
def solve_cached(mean_win: float, mean_loss: float, volatility: float, jumps: str) -> SolvedJumps:
    """Solve the jump model with these parameters, and cache the solution for the next decision point."""
    return solve_jumps(mean_win, mean_loss, volatility, jumps=jumps)


def drifting_point(mean_win: float, mean_loss: float, points: int, name: str) -> float:
    """Return the winning chance at a decision point if the chance moves without jumps, on a grid of `points`
    intervals."""
    owner, field = POINTS[name]
    sides = drifting_money(mean_win, mean_loss, points)
    return float(getattr(SolvedJumps(np.linspace(0, 1, points + 1), *sides).points(owner), field))


def normal_jump_point(mean_win: float, mean_loss: float, deviation: float, name: str) -> float:
    """Return the winning chance of `jump_point` for normally distributed jumps, from their standard deviation instead
    of their mean absolute size."""
    return jump_point(mean_win, mean_loss, deviation * sqrt(2 / pi), "normal", name)


def post_crawford_equity(away: int, gammon_rate: float, backgammon_rate: float) -> float:
    """Return the equity of the leader after the Crawford game, against a trailer who needs an odd number of points and
    doubles at once. Gammons and backgammons are given as shares of all games; half of them are the trailer's. The
    leader takes, because a pass would save the trailer a game: from an even number of points, the trailer needs as many
    games as from one point less."""
    trailer = {1: 0.5}
    for points in range(3, away + 1, 2):
        single, gammon, backgammon = (trailer.get(points - won, 1.0) for won in (2, 4, 6))
        gammons, plain = gammon_rate - backgammon_rate, 1 - gammon_rate
        trailer[points] = (plain * single + gammons * gammon + backgammon_rate * backgammon) / 2
    return 1 - 2 * trailer[away]


def crawford_equity(away: int, gammon_chance: float, post_crawford: Sequence[float]) -> float:
    """Return the equity of the leader in the Crawford game, against a trailer who needs `away` points. `post_crawford`
    are the leader's equities after the Crawford game against trailers 1-, 2-, ... away; each side wins a gammon with
    `gammon_chance`."""
    trailer = [(1 - equity) / 2 for equity in post_crawford]
    return float(2 * crawford_row(trailer, 2 * gammon_chance)[away - 1] - 1)


def crawford_change(
    away: int,
    gammon_chance: float,
    post_crawford: Sequence[float],
    before: float,
    post_crawford_before: Sequence[float],
) -> float:
    """Return how much `crawford_equity` changes from a gammon chance of `before` and the post-Crawford equities
    `post_crawford_before`."""
    then = crawford_equity(away, before, post_crawford_before)
    return crawford_equity(away, gammon_chance, post_crawford) - then


def crawford_equity_by_lags(
    away: int, gammon_chance: float, post_crawford: Sequence[float], single: int, gammon: int
) -> float:
    """Return the equity of `crawford_equity` by another formula, where n is `away`. A won single game leads to the
    post-Crawford equity at n - `single`, and a gammon to the one at n - `gammon`."""

    def at(n: int) -> float:
        return post_crawford[n - 1] if n >= 1 else -1.0

    return 0.5 + (0.5 - gammon_chance) * at(away - single) + gammon_chance * at(away - gammon)


def crawford_lags(gammon_chance: float, post_crawford: Sequence[float], crawford: Sequence[float]) -> str:
    """Return the pairs of offsets, from 1 to 4, with which `crawford_equity_by_lags` gives a published row of Crawford
    equities, as text."""
    found = [
        f"n-{single}, n-{gammon}"
        for single in range(1, 5)
        for gammon in range(1, 5)
        if all(
            abs(crawford_equity_by_lags(away, gammon_chance, post_crawford, single, gammon) - crawford[away - 1])
            < FITTING
            for away in range(2, len(crawford) + 1)
        )
    ]
    return " or ".join(found) or "none"


def mwc_formula(equities: Sequence[float], chances: Sequence[float]) -> str:
    """Return the formulas among FORMULAS_OF_MWC that convert printed equities to the match winning chances printed for
    the same scores."""
    found = [
        formula
        for formula, added in FORMULAS_OF_MWC.items()
        if all(abs((equity + added) / 2 - chance) < FITTING for equity, chance in zip(equities, chances, strict=True))
    ]
    return " or ".join(found) or "none"


def equity_before_game(away: int, opponent_away: int, post_crawford: Sequence[float], gammon_rate: float) -> float:
    """Return the equity before a game at a score, by Keith's algorithm from the leader's post-Crawford equities. At a
    score with 1-away the game is the Crawford game."""
    cells = table_by_keith(tuple(post_crawford), gammon_rate).cells
    return float(2 * cells[0, away, opponent_away] - 1)


def percent_before_game(away: int, opponent_away: int, post_crawford: Sequence[float], gammon_rate: float) -> float:
    """Return the chance of winning the match, in percent, that corresponds to `equity_before_game`."""
    return 50 + 50 * equity_before_game(away, opponent_away, post_crawford, gammon_rate)


@lru_cache(maxsize=64)
def table_by_keith(post_crawford: tuple[float, ...], gammon_rate: float) -> MatchEquity:
    """Return the match equity table that Keith's algorithm makes from the leader's post-Crawford equities. It is
    cached, because every score needs it for each slightly changed printed figure."""
    return induced_table("", [(1 - equity) / 2 for equity in post_crawford], gammon_rate)


def diffusion_gap(post_crawford: Sequence[float], gammon_rate: float, points: int) -> float:
    """Return the largest difference in equity between a match equity table by Keith's algorithm and one in which
    winning chances move without jumps.

    Keith's table starts from the leader's post-Crawford equities; the other table is computed on a grid of `points`
    intervals, an even number. The scores are those at which both sides need two points or more; each table uses its own
    values at the scores that follow."""
    cells = table_by_keith(tuple(post_crawford), gammon_rate).cells
    chances = np.array([0.5, gammon_rate / 2, 0.0, gammon_rate / 2, 0.0])
    gaps = (
        abs(2 * (drifting_match(cells, MatchGame(away, other), chances, points=points)[CENTERED, points // 2] - cell))
        for away, row in enumerate(cells[0])
        for other, cell in enumerate(row.tolist())
        if 2 <= away < other
    )
    return float(max(gaps))


FORMULAS = {
    function.__name__: function
    for function in (
        *(janowski_point, jump_point, normal_jump_point, drifting_point),
        *(crawford_equity, crawford_change, post_crawford_equity, crawford_lags, mwc_formula),
        *(equity_before_game, percent_before_game, diffusion_gap),
    )
}
