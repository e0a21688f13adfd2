"""Slow reference implementations of match equity from -1 to 1: by the published description, and as a diffusion.

`described_table` is Tom Keith's algorithm as described by the author of the published table (14 March 2012): functions
of the winning chance that call each other, with take and cash points found by bisection. `diffusion_table` uses neither
point: the winning chance diffuses, each side doubles whenever it gains, and the equations are solved on a grid.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Table = dict[tuple[int, int], float]  # equity, -1 to 1, of the player n-away against m-away


def described_post_crawford(weights: Sequence[float], chances: Sequence[Sequence[float]], length: int) -> list[float]:
    """Equities of the leader, 1-away against 1- to `length`-away after the Crawford game. The chances are the
    leader's."""
    found = [0.0]
    for away in range(2, length + 1):

        def after(points: int, away: int = away) -> float:
            return found[away - points - 1] if away > points else -1.0

        total = 0.0
        for weight, (win, _, _, gammon, backgammon) in zip(weights, chances, strict=True):
            single = 1 - win - gammon
            take = win + single * after(2) + (gammon - backgammon) * after(4) + backgammon * after(6)
            total += weight * max(take, found[-1])
        found.append(total)
    return found


def described_table(leader: Sequence[float], gammon_chance: float) -> Table:
    """Every score up to len(leader)-away, from the leader's equities after the Crawford game and the chance to win a
    gammon."""
    length, g = len(leader), gammon_chance
    post = dict(enumerate(leader, start=1)) | dict.fromkeys(range(-3, 1), -1.0)
    table: Table = {(1, 1): 0.0}
    for away in range(2, length + 1):
        table[1, away] = 0.5 + (0.5 - g) * post[away - 1] + g * post[away - 2]
        table[away, 1] = -table[1, away]
    for total in range(4, 2 * length + 1):
        for n in range(2, length + 1):
            m = total - n
            if 2 <= m <= length:
                table[n, m] = pre_crawford_equity(table, n, m, 2 * g)
    return table


def pre_crawford_equity(table: Mapping[tuple[int, int], float], n: int, m: int, gammons: float) -> float:
    """Equity of the player n-away against m-away, from the equities of scores with fewer points to go."""

    def score(own: int, other: int) -> float:
        return 1.0 if own <= 0 else -1.0 if other <= 0 else table[own, other]

    def won(cube: int) -> float:
        return (1 - gammons) * score(n - cube, m) + gammons * score(n - 2 * cube, m)

    def lost(cube: int) -> float:
        return (1 - gammons) * score(n, m - cube) + gammons * score(n, m - 2 * cube)

    last = 4
    while last < max(n, m):
        last *= 2

    @cache
    def cash_point(cube: int) -> float:
        return bisected(lambda win: equity(2 * cube, "opponent", win), score(n - cube, m))

    @cache
    def take_point(cube: int) -> float:
        return bisected(lambda win: equity(2 * cube, "player", win), score(n, m - cube))

    def equity(cube: int, owner: str, win: float) -> float:
        if cube == last:
            return 2 * win - 1
        knots = [(0.0, lost(cube)), (1.0, won(cube))]
        if owner in ("opponent", "centered"):
            knots.append((take_point(cube), score(n, m - cube)))
        if owner in ("player", "centered"):
            knots.append((cash_point(cube), score(n - cube, m)))
        return on_line(sorted(knots), win)

    return equity(1, "centered", 0.5)


def on_line(knots: Sequence[tuple[float, float]], place: float) -> float:
    """The value at `place` on the line through the knots."""
    for (left, below), (right, above) in pairwise(knots):
        if left <= place <= right and right > left:
            return below + (above - below) * (place - left) / (right - left)
    return knots[-1][1]


def bisected(function: Callable[[float], float], wanted: float) -> float:
    """The place where an increasing function has the wanted value."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < wanted else (low, middle)
    return (low + high) / 2


def diffusion_table(leader: Sequence[float], gammon_chance: float, grid: int = 200) -> Table:
    """Like `described_table`, with `diffusion_equity` for every score without 1-away."""
    table = {place: value for place, value in described_table(leader, gammon_chance).items() if 1 in place}
    for total in range(4, 2 * len(leader) + 1):
        for n in range(2, len(leader) + 1):
            m = total - n
            if n <= m <= len(leader):
                table[n, m] = diffusion_equity(table, n, m, 2 * gammon_chance, grid)
                table[m, n] = -table[n, m]
    return table


def diffusion_equity(table: Mapping[tuple[int, int], float], n: int, m: int, gammons: float, grid: int = 200) -> float:
    """Equity at winning chance 0.5 if the winning chance diffuses between 0 and 1.

    For each cube value and owner, equity over winning chance has no curvature (the backward equation of a diffusion
    that stops only at the ends) except where a side gains by doubling, where it is the equity after the double. Solved
    on `grid` steps by relaxing odd and even places in turn, largest cube first.
    """

    def score(own: int, other: int) -> float:
        return 1.0 if own <= 0 else -1.0 if other <= 0 else table[own, other]

    chances = np.linspace(0.0, 1.0, grid + 1)
    cube = 1
    while cube < max(n, m):
        cube *= 2
    player = opponent = 2 * chances - 1  # no more doubles
    while cube > 1:
        cube //= 2
        win = (1 - gammons) * score(n - cube, m) + gammons * score(n - 2 * cube, m)
        lose = (1 - gammons) * score(n, m - cube) + gammons * score(n, m - 2 * cube)
        line = lose + (win - lose) * chances
        nothing = np.full_like(line, np.inf)
        player_doubles = np.minimum(opponent, score(n - cube, m))  # the opponent takes or passes
        opponent_doubles = np.maximum(player, score(n, m - cube))
        if cube == 1:
            return float(relaxed(line, player_doubles, opponent_doubles)[grid // 2])
        player, opponent = relaxed(line, player_doubles, nothing), relaxed(line, -nothing, opponent_doubles)
    return float((2 * chances - 1)[grid // 2])


def relaxed(
    start: NDArray[np.float64], least: NDArray[np.float64], most: NDArray[np.float64], close: float = 1e-9
) -> NDArray[np.float64]:
    """Values without curvature between the ends of `start`, at least `least` and at most `most` (`least` if both
    apply), by successive over-relaxation."""
    values, factor = start.copy(), 2 / (1 + np.sin(np.pi / (len(start) - 1)))
    parts = [np.arange(first, len(start) - 1, 2) for first in (1, 2)]
    for _ in range(100_000):
        before = values.copy()
        for part in parts:
            mean = (values[part - 1] + values[part + 1]) / 2
            step = values[part] + factor * (mean - values[part])
            values[part] = np.maximum(np.minimum(step, most[part]), least[part])
        if np.abs(values - before).max() < close:
            return values
    raise AssertionError("expected values that settle")
