"""The cube of a match where winning chances drift without jumps (a live cube), and Janowski's mixture with a dead one.

Live, nobody doubles before the opponent is indifferent between taking and passing, so that mwc is piecewise linear in
the winning chance. Levels are solved from the cube that decides the match down: Tom Keith's algorithm
(https://bkgm.com/articles/met.html), which is the match form of Janowski's live cube (Take-Points in Money Games,
1993).
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgdata.equity.cube_life_index import check_cube_life_index
from bgdata.equity.match_equity import MatchEquity
from bgdata.game.match import Cube, CubeOwner, MatchScore


class Shares(NamedTuple):
    """Which shares of the player's wins and losses are gammons (backgammons included) and backgammons."""

    win_gammon: float = 0.0
    win_backgammon: float = 0.0
    lose_gammon: float = 0.0
    lose_backgammon: float = 0.0

    @classmethod
    def of_chances(cls, chances: ArrayLike) -> Shares:
        """From five cumulative chances; no gammons where there is nothing to win, or to lose."""
        win, *gammons = (float(chance) for chance in np.asarray(chances, float))
        whole = (win, win, 1 - win, 1 - win)
        return cls(*(part / total if total > 0 else 0.0 for part, total in zip(gammons, whole, strict=True)))


CENTERED = Cube()
NO_GAMMONS = Shares()


class CubeLines(NamedTuple):
    """mwc against winning chance before a roll at which nobody doubles: the live line through `chances` and `mwcs`,
    both float64[k] and ascending from 0 to 1 of winning chance, and the dead one between their ends."""

    chances: NDArray[np.float64]
    mwcs: NDArray[np.float64]

    def live(self, win: ArrayLike) -> NDArray[np.float64]:
        """mwc of a live cube."""
        return np.asarray(np.interp(np.asarray(win, float), self.chances, self.mwcs))

    def dead(self, win: ArrayLike) -> NDArray[np.float64]:
        """mwc of a cube that is never turned again."""
        first, last = float(self.mwcs[0]), float(self.mwcs[-1])
        return np.asarray(first + np.asarray(win, float) * (last - first))

    def mwc(self, win: ArrayLike, cube_life_index: float = 1.0) -> NDArray[np.float64]:
        """Janowski's mixture: the live line times the cube life index, and the dead one times the rest."""
        check_cube_life_index(cube_life_index)
        return cube_life_index * self.live(win) + (1 - cube_life_index) * self.dead(win)


class Level(NamedTuple):
    """The lines at one cube value: with the cube in the player's hands, and in the opponent's."""

    owned: CubeLines
    opponent_owned: CubeLines


def cube_lines(met: MatchEquity, score: MatchScore, cube: Cube = CENTERED, shares: Shares = NO_GAMMONS) -> CubeLines:
    """The lines of the player on roll at a score and cube. Raises InvalidScoreError for a score that `met` lacks."""
    if score.is_crawford:
        return _line(met, score, cube.value, shares)
    levels = _levels(met, score, 2 * cube.value, shares)
    owned = _owned(met, score, cube.value, shares, levels)
    opponent_owned = _opponent_owned(met, score, cube.value, shares, levels)
    if cube.owner != CubeOwner.CENTERED:
        return owned if cube.owner == CubeOwner.ON_ROLL else opponent_owned
    return CubeLines(
        np.concatenate([opponent_owned.chances[:-1], owned.chances[1:]]),
        np.concatenate([opponent_owned.mwcs[:-1], owned.mwcs[1:]]),
    )


def _levels(met: MatchEquity, score: MatchScore, cube_value: int, shares: Shares) -> Level:
    """The lines once the cube is at `cube_value`: from the first cube that decides the match, whoever wins, down."""
    top = cube_value
    while top < max(score.away, score.opponent_away):
        top *= 2
    line = _line(met, score, top, shares)
    level = Level(line, line)
    while top > cube_value:
        top //= 2
        level = Level(_owned(met, score, top, shares, level), _opponent_owned(met, score, top, shares, level))
    return level


def _line(met: MatchEquity, score: MatchScore, cube_value: int, shares: Shares) -> CubeLines:
    """The dead cube: from the mean of losses to the mean of wins."""
    game = met.game(score, cube_value)
    lose = game.mean_loss(shares.lose_gammon, shares.lose_backgammon)
    win = game.mean_win(shares.win_gammon, shares.win_backgammon)
    return CubeLines(np.array([0.0, 1.0]), np.array([lose, win]))


def _owned(met: MatchEquity, score: MatchScore, cube_value: int, shares: Shares, doubled: Level) -> CubeLines:
    """The cube is the player's: he doubles at his cash point, the least winning chance at which a pass is right."""
    (lose, win), cash = _line(met, score, cube_value, shares).mwcs, met.after(score, cube_value)
    chances, mwcs = doubled.opponent_owned
    # searched from above, since the last of several equal ones would be found
    cash_point = 1 - interpolated(-cash, -mwcs[::-1], 1 - chances[::-1])
    return CubeLines(np.array([0.0, cash_point, 1.0]), np.array([lose, cash, win]))


def _opponent_owned(met: MatchEquity, score: MatchScore, cube_value: int, shares: Shares, doubled: Level) -> CubeLines:
    """The cube is the opponent's: he doubles at the player's take point."""
    (lose, win), dropped = _line(met, score, cube_value, shares).mwcs, met.after(score, -cube_value)
    chances, mwcs = doubled.owned
    take_point = interpolated(dropped, mwcs, chances)
    return CubeLines(np.array([0.0, take_point, 1.0]), np.array([lose, dropped, win]))


def interpolated(place: float, places: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """The value at a place between ascending ones, of several equal ones the last; beyond the ends that of the end.

    As `np.interp`, which may round otherwise on other processors.
    """
    xs, ys = places.tolist(), values.tolist()
    above = bisect_right(xs, place)
    if above == 0 or above == len(xs):
        return float(ys[0 if above == 0 else -1])
    below = above - 1
    share = (place - xs[below]) / (xs[above] - xs[below])
    return float(ys[below] + share * (ys[above] - ys[below]))
