"""Match equity tables: the chance of winning the match (mwc, 0 to 1) before a game at any score.

>>> met = MatchEquity.of("example", [[0.5, 0.7], [0.3, 0.5]], [0.5, 0.49])
>>> met.mwc(1, 2), met.mwc(2, 1, is_post_crawford=True), met.mwc(1, 0)
(0.7, 0.49, 0.0)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgdata.errors import InvalidParameterError, InvalidScoreError, shown
from bgdata.game.integers import whole_numbers
from bgdata.game.match import MatchScore

MOST_AWAY = 64  # points to go of a table; gnubg has no more either
SHOWN = 15  # points to go that a notebook shows
CROOKED = 1e-9  # how far chances of a symmetric table may be from summing to 1


def _percent_cell(_: str, value: object) -> str:
    """A cell of a table that a notebook shows: a chance in percent, a dash where there is none, or points to go."""
    if not isinstance(value, float):
        return str(value)
    return f"{100 * value:.1f}" if np.isfinite(value) else "–"


class GameMwc(NamedTuple):
    """Chances of winning the match after a game at some cube value, for the player: after winning or losing a single
    game, a gammon or a backgammon."""

    win: tuple[float, float, float]
    lose: tuple[float, float, float]

    @property
    def gammon_value(self) -> float:
        """How much more winning a gammon is worth than winning a single game, as a share of the swing between winning
        and losing a single game: 0.5 for money. The gammon price of gnubg is twice that. NaN where the game decides
        nothing."""
        return _ratio(self.win[1] - self.win[0], self.win[0] - self.lose[0])

    def mean_win(self, gammon_share: float = 0.0, backgammon_share: float = 0.0) -> float:
        """W: mean mwc of a win, of which these shares are gammons (backgammons included) and backgammons."""
        return _mean(self.win, gammon_share, backgammon_share)

    def mean_loss(self, gammon_share: float = 0.0, backgammon_share: float = 0.0) -> float:
        """L: mean mwc of a loss, of which these shares are gammons (backgammons included) and backgammons."""
        return _mean(self.lose, gammon_share, backgammon_share)

    def mwc(self, chances: ArrayLike) -> NDArray[np.float64]:
        """float64[...]: mwc of games with these cumulative chances [..., 5] if the cube is never turned again."""
        win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = np.moveaxis(np.asarray(chances, float), -1, 0)
        won = win * self.win[0] + win_gammon * (self.win[1] - self.win[0])
        won += win_backgammon * (self.win[2] - self.win[1])
        lost = (1 - win) * self.lose[0] + lose_gammon * (self.lose[1] - self.lose[0])
        return np.asarray(won + lost + lose_backgammon * (self.lose[2] - self.lose[1]))


@dataclass(frozen=True, eq=False)
class MatchEquity:
    """A match equity table, seen by one player: `cells`, a read-only float64[2, n + 1, n + 1], is its mwc by (is
    post-Crawford, away, opponent_away). At 0-away the match is over; a score that the table does not have is NaN.

    A score with one side 1-away that is not post-Crawford is that of the Crawford game.
    """

    name: str
    cells: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"MatchEquity({self.name}, to {self.length}-away)"

    def _repr_html_(self) -> str:
        """Chances of winning the match by score, in percent, as notebooks show them: to 15-away at most."""
        from bgdata.store.table_html import rows_html

        scores = range(1, min(self.length, SHOWN) + 1)
        rows = [{"away": away} | {str(other): float(self.cells[0, away, other]) for other in scores} for away in scores]
        trailing = ", ".join(_percent_cell("", float(self.cells[1, 1, away])) for away in scores)
        return (
            f"<p><b>{escape(self.name)}</b>, to {self.length}-away: chance of winning the match before a game, in "
            "percent. Rows: points that the player needs; columns: points of the opponent; 1-away is the Crawford "
            f"game.</p>\n{rows_html(rows, _percent_cell)}\n"
            f"<p>Post-Crawford, 1-away against 1- to {len(scores)}-away: {trailing}</p>"
        )

    @classmethod
    def of(
        cls,
        name: str,
        before: ArrayLike,
        post_crawford: ArrayLike,
        opponent_post_crawford: ArrayLike | None = None,
        *,
        is_symmetric: bool | None = None,
    ) -> Self:
        """The table from mwc [n, n] by (away - 1, opponent_away - 1), of which the first row and column are those of
        the Crawford game, and `post_crawford`, the player's mwc when it trails 1-, 2-, ...-away after it.
        `opponent_post_crawford` is the same for the opponent, equal unless given. With `is_symmetric`, the default if
        there is one post-Crawford row, both sides must have the same chances. Raises InvalidParameterError for a table
        that breaks these rules."""
        own = np.asarray(post_crawford, float)
        other = own if opponent_post_crawford is None else np.asarray(opponent_post_crawford, float)
        table = np.asarray(before, float)
        check_table(name, table, own, other)
        symmetric = opponent_post_crawford is None if is_symmetric is None else is_symmetric
        cells = decided_cells(len(table))
        cells[0, 1:, 1:] = table
        cells[1, 1, 1 : len(other) + 1] = 1 - other
        cells[1, 1 : len(own) + 1, 1] = own
        cells.flags.writeable = False
        found = cls(name, cells)
        if symmetric and found.asymmetry > CROOKED:
            raise InvalidParameterError(f"expected both sides to have the same chances, got {found.crooked_cell()}")
        return found

    @property
    def length(self) -> int:
        """The largest number of points to go."""
        return int(self.cells.shape[1]) - 1

    @cached_property
    def post_crawford_length(self) -> int:
        """The largest number of points to go of a trailer after the Crawford game; in some tables it is less than
        `length`."""
        return int(np.isfinite(self.cells[1, 1:, 1]).sum())

    @property
    def asymmetry(self) -> float:
        """The largest deviation from 1 of the sum of the chances of both sides at a score."""
        return float(np.nanmax(self._crooked))

    @property
    def _crooked(self) -> NDArray[np.float64]:
        swapped: NDArray[np.float64] = np.abs(self.cells + self.cells.transpose(0, 2, 1) - 1)[:, 1:, 1:]
        return swapped

    def crooked_cell(self) -> str:
        """The score with the largest deviation of that sum, in words."""
        part, row, column = np.unravel_index(int(np.nanargmax(self._crooked)), self._crooked.shape)
        away, opponent_away = int(row) + 1, int(column) + 1
        here, there = self.cells[part, away, opponent_away], self.cells[part, opponent_away, away]
        when = " post-crawford" if part else ""
        return f"{here:.6g} at {away}-away {opponent_away}-away{when} and {there:.6g} the other way round"

    def flip(self) -> MatchEquity:
        """The table seen by the other player, which differs only if the table favours a side."""
        cells = 1 - self.cells.transpose(0, 2, 1)
        cells.flags.writeable = False
        return MatchEquity(self.name, cells)

    def mwc(self, away: int, opponent_away: int, *, is_post_crawford: bool = False) -> float:
        """The player's chance of winning the match before a game at this score; 1 or 0 once a side needs no more
        points. Raises InvalidScoreError for a score that the table does not have."""
        try:
            away, opponent_away = whole_numbers([away, opponent_away])
        except TypeError:
            given = f"{shown(away)} and {shown(opponent_away)}"
            raise InvalidScoreError(f"expected points to go as integers, got {given}") from None
        if away <= 0 or opponent_away <= 0:
            if away <= 0 and opponent_away <= 0:
                raise InvalidScoreError(f"expected one winner of the match, got {away}-away {opponent_away}-away")
            return float(away <= 0)
        most = self.length
        if max(away, opponent_away) > most:
            raise InvalidScoreError(
                f"expected at most {most} points to go, as {self.name} has, got {away}-away {opponent_away}-away"
            )
        found = float(self.cells[int(is_post_crawford), away, opponent_away])
        if np.isnan(found):
            raise InvalidScoreError(
                f"expected a score that {self.name} has, got {away}-away {opponent_away}-away"
                + (" post-crawford" if is_post_crawford else "")
            )
        return found

    def at(self, score: MatchScore) -> float:
        """The player's mwc before a game at this score. Raises InvalidScoreError."""
        return self.mwc(score.away, score.opponent_away, is_post_crawford=score.is_post_crawford)

    def after(self, score: MatchScore, points: int) -> float:
        """The player's mwc after winning `points` (negative: losing them) in a game at this score. Raises
        InvalidScoreError."""
        following = score.after_game(points)
        return float(points > 0) if following is None else self.at(following)

    def game(self, score: MatchScore, cube_value: int = 1) -> GameMwc:
        """The chances of winning the match after each result of a game at this score. Raises InvalidScoreError."""
        first, second, third = (self.after(score, points * cube_value) for points in (1, 2, 3))
        loses = (self.after(score, -points * cube_value) for points in (1, 2, 3))
        lose = tuple(loses)
        return GameMwc((first, second, third), (lose[0], lose[1], lose[2]))

    def take_point(
        self, score: MatchScore, cube_value: int = 1, *, win_gammon_share: float = 0.0, lose_gammon_share: float = 0.0
    ) -> float:
        """The winning chance from which the player should take if the opponent doubles from `cube_value` and the cube
        is dead afterwards; 0 where it may always take. The shares are those of gammons among its wins and its losses.
        Raises InvalidScoreError."""
        doubled = self.game(score, 2 * cube_value)
        win, lose = doubled.mean_win(win_gammon_share), doubled.mean_loss(lose_gammon_share)
        return _ratio(self.after(score, -cube_value) - lose, win - lose)


def decided_cells(length: int) -> NDArray[np.float64]:
    """float64[2, length + 1, length + 1]: cells of an empty table: the scores of matches that are over."""
    cells = np.full((2, length + 1, length + 1), np.nan)
    cells[:, 0, 1:] = 1.0
    cells[:, 1:, 0] = 0.0
    return cells


def check_table(name: str, before: NDArray[np.float64], own: NDArray[np.float64], other: NDArray[np.float64]) -> None:
    """Raise InvalidParameterError unless these are chances, and of sizes that belong together."""
    if before.ndim != 2 or before.shape[0] != before.shape[1] or not 1 <= len(before) <= MOST_AWAY:
        raise InvalidParameterError(
            f"expected a square table of 1 to {MOST_AWAY} points to go, "
            f"got {name} of {'x'.join(map(str, before.shape))}"
        )
    for row in (own, other):
        if row.ndim != 1 or not 1 <= len(row) <= len(before):
            raise InvalidParameterError(
                f"expected 1 to {len(before)} post-crawford chances, as {name} has points to go, got {row.size}"
            )
    for values in (before, own, other):
        wrong = ~((values >= 0) & (values <= 1))
        if wrong.any():
            raise InvalidParameterError(f"expected chances from 0 to 1 in {name}, got {values[wrong][0]:g}")
    if abs(own[0] + other[0] - 1) > CROOKED:
        raise InvalidParameterError(
            f"expected chances at 1-away 1-away post-crawford that sum to 1, got {own[0]:g} and {other[0]:g}"
        )


def _mean(values: tuple[float, float, float], gammon_share: float, backgammon_share: float) -> float:
    single, gammon, backgammon = values
    return single + gammon_share * (gammon - single) + backgammon_share * (backgammon - gammon)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


def check_gammon_rate(rate: float) -> None:
    """Raise InvalidParameterError unless it is from 0 to 1."""
    if not 0 <= rate <= 1:
        raise InvalidParameterError(f"expected a gammon rate from 0 to 1, got {rate}")
