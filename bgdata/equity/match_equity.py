"""Match equity tables: the chance of winning the match (mwc, 0 to 1) before a game at every score. It also finds the
tables of a warehouse by name, whether built or imported. It needs only NumPy.

>>> met = MatchEquity.of("example", [[0.5, 0.7], [0.3, 0.5]], [0.5, 0.49])
>>> met.mwc(1, 2), met.mwc(2, 1, is_post_crawford=True), met.mwc(1, 0)
(0.7, 0.49, 0.0)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgdata.errors import CorruptFileError, InvalidParameterError, InvalidScoreError, MissingTableError, cite
from bgdata.game.integers import plain_integers
from bgdata.game.match import MatchScore
from bgdata.store.versions import Versions

MAX_AWAY = 64  # greatest number of points to go in a table, as in gnubg
SHOWN = 15  # greatest number of points to go that a notebook shows
KINDS = ("match_equity", "met_xml")  # built and imported; the first table with a name is used
# types of `row_arrays`
TYPES = {"met": "u2", "is_post_crawford": "u1", "away": "u1", "opponent_away": "u1", "mwc": "f8"}
Arrays = Mapping[str, NDArray[Any]]
SYMMETRY_TOLERANCE = 1e-9  # tolerance for the chances of both sides of a symmetric table to sum to 1


def _percent_cell(_: str, value: object) -> str:
    """Return the text of a cell in a notebook's table: a chance in percent, a dash if missing, or points to go."""
    if not isinstance(value, float):
        return str(value)
    return f"{100 * value:.1f}" if np.isfinite(value) else "–"


class GameMwc(NamedTuple):
    """The player's chances of winning the match after each result of a game at some cube value: after winning or losing
    a single game, a gammon or a backgammon."""

    win: tuple[float, ...]
    lose: tuple[float, ...]

    @property
    def gammon_value(self) -> float:
        """How much winning a gammon gains over winning a single game, as a share of the swing between winning and
        losing a single game: 0.5 for money. gnubg's gammon price is twice that. NaN if the game decides nothing."""
        return _ratio(self.win[1] - self.win[0], self.win[0] - self.lose[0])


@dataclass(frozen=True, eq=False)
class MatchEquity:
    """A match equity table from one player's point of view. `cells`, a read-only float64[2, n + 1, n + 1], contains the
    player's mwc by (is post-Crawford, away, opponent_away). At 0-away the match is over, and missing scores are NaN. If
    one side is 1-away, the score that is not post-Crawford is the Crawford game."""

    name: str
    cells: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"MatchEquity({self.name}, to {self.length}-away)"

    def _repr_html_(self) -> str:
        """Show the chances of winning the match by score in a notebook, in percent, up to 15-away."""
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
        """Make a match equity table from mwc [n, n] by (away - 1, opponent_away - 1), whose first row and column are
        the Crawford game. `post_crawford` is the player's mwc when it trails 1-, 2-, ...-away after the Crawford game.
        `opponent_post_crawford` is the same for the opponent, and defaults to `post_crawford`; without it,
        `is_symmetric` defaults to true. Both sides must have the same chances if `is_symmetric`. Raises
        InvalidParameterError for a table that breaks these rules."""
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
        if symmetric and found.asymmetry > SYMMETRY_TOLERANCE:
            raise InvalidParameterError(f"expected both sides to have the same chances, got {found.asymmetric_cell()}")
        return found

    @property
    def length(self) -> int:
        """The largest number of points to go in the table."""
        return int(self.cells.shape[1]) - 1

    @cached_property
    def post_crawford_length(self) -> int:
        """The largest number of points that a trailer may need after the Crawford game, at most `length`."""
        return int(np.isfinite(self.cells[1, 1:, 1]).sum())

    @property
    def asymmetry(self) -> float:
        """The largest difference from 1, over all scores, of the sum of both sides' chances."""
        return float(np.nanmax(self._asymmetries))

    @property
    def _asymmetries(self) -> NDArray[np.float64]:
        swapped: NDArray[np.float64] = np.abs(self.cells + self.cells.transpose(0, 2, 1) - 1)[:, 1:, 1:]
        return swapped

    def asymmetric_cell(self) -> str:
        """Return the score with the largest asymmetry, in words."""
        part, row, column = np.unravel_index(int(np.nanargmax(self._asymmetries)), self._asymmetries.shape)
        away, opponent_away = int(row) + 1, int(column) + 1
        here, there = self.cells[part, away, opponent_away], self.cells[part, opponent_away, away]
        when = " post-crawford" if part else ""
        return f"{here:.6g} at {away}-away {opponent_away}-away{when} and {there:.6g} the other way round"

    def flip(self) -> MatchEquity:
        """Return the table as the other player sees it. It is the same table unless it favours a side."""
        cells = 1 - self.cells.transpose(0, 2, 1)
        cells.flags.writeable = False
        return MatchEquity(self.name, cells)

    def mwc(self, away: int, opponent_away: int, *, is_post_crawford: bool = False) -> float:
        """Return the player's chance of winning the match before a game at this score, 1 or 0 if the match is over.
        Raises InvalidScoreError for a score that the table does not contain."""
        try:
            away, opponent_away = plain_integers([away, opponent_away])
        except TypeError:
            given = f"{cite(away)} and {cite(opponent_away)}"
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
        """Return the player's mwc before a game at this score. Raises InvalidScoreError for a score that the table does
        not contain."""
        return self.mwc(score.away, score.opponent_away, is_post_crawford=score.is_post_crawford)

    def after(self, score: MatchScore, points: int) -> float:
        """Return the player's mwc after winning `points` (negative: losing them) at this score. Raises
        InvalidScoreError for a score that the table does not contain."""
        following = score.after_game(points)
        return float(points > 0) if following is None else self.at(following)

    def game(self, score: MatchScore, cube_value: int = 1) -> GameMwc:
        """Return the chances of winning the match after each result of a game at this score. Raises InvalidScoreError
        for a score that the table does not contain."""
        points = (cube_value, 2 * cube_value, 3 * cube_value)
        return GameMwc(*(tuple(self.after(score, sign * each) for each in points) for sign in (1, -1)))

    def take_point(
        self, score: MatchScore, cube_value: int = 1, *, win_gammon_share: float = 0.0, lose_gammon_share: float = 0.0
    ) -> float:
        """Return the winning chance from which the player should take, if the opponent doubles a cube of `cube_value`
        and the cube is dead afterwards. It is 0 if taking is always right. `win_gammon_share` and `lose_gammon_share`
        are the shares of gammons among the player's wins and losses. Raises InvalidScoreError for a score that the
        table does not contain."""
        doubled = self.game(score, 2 * cube_value)
        win = doubled.win[0] + win_gammon_share * (doubled.win[1] - doubled.win[0])
        lose = doubled.lose[0] + lose_gammon_share * (doubled.lose[1] - doubled.lose[0])
        return _ratio(self.after(score, -cube_value) - lose, win - lose)


def decided_cells(length: int) -> NDArray[np.float64]:
    """Return the cells of a table in which only the scores of finished matches are filled in, as float64[2, length + 1,
    length + 1]."""
    cells = np.full((2, length + 1, length + 1), np.nan)
    cells[:, 0, 1:] = 1.0
    cells[:, 1:, 0] = 0.0
    return cells


def check_table(name: str, before: NDArray[np.float64], own: NDArray[np.float64], other: NDArray[np.float64]) -> None:
    """Raise InvalidParameterError unless the values of a table are chances and its sizes match: `before` the Crawford
    game, and `own` and `other` post-Crawford chances."""
    if before.ndim != 2 or before.shape[0] != before.shape[1] or not 1 <= len(before) <= MAX_AWAY:
        raise InvalidParameterError(
            f"expected a square table of 1 to {MAX_AWAY} points to go, got {name} of {'x'.join(map(str, before.shape))}"
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
    if abs(own[0] + other[0] - 1) > SYMMETRY_TOLERANCE:
        raise InvalidParameterError(
            f"expected chances at 1-away 1-away post-crawford that sum to 1, got {own[0]:g} and {other[0]:g}"
        )


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


def check_gammon_rate(rate: float) -> None:
    """Raise InvalidParameterError unless a gammon rate is from 0 to 1."""
    if not 0 <= rate <= 1:
        raise InvalidParameterError(f"expected a gammon rate from 0 to 1, got {rate}")


def find_met(warehouse: Versions, name: str = "") -> MatchEquity:
    """Find the match equity table with this name; if `name` is empty, the default table. Raises MissingTableError if
    the warehouse does not contain it."""
    wanted, known = name or default_met(warehouse), list[str]()
    for kind in KINDS:
        for table in warehouse.current(kind):
            names = met_names(table.arrays())
            if wanted in names:
                return met_of_arrays(table.arrays(), wanted)
            known += names
    have = ", ".join(dict.fromkeys(known)) or "none"
    raise MissingTableError(
        f"no match equity table {name or 'is built'} in {warehouse.root} (have: {have}); try: bgdata build match_equity"
    )


def default_met(warehouse: Versions) -> str:
    """Return the name of the default match equity table of a warehouse."""
    kind = warehouse.kind(KINDS[0])
    return kind.slug(kind.defaults[0])


def met_names(arrays: Arrays) -> list[str]:
    """Return the names of the match equity tables in a version, including those given by formulas."""
    return decode_texts(arrays, "mets")


def met_of_arrays(arrays: Arrays, name: str) -> MatchEquity:
    """Make the match equity table `name` from the arrays of a version. Raises MissingTableError if the version does not
    contain the table, or if it is a formula without chances, and CorruptFileError if scores or chances are invalid."""
    names = met_names(arrays)
    rows = np.flatnonzero(np.asarray(arrays["met"]) == names.index(name)) if name in names else np.zeros(0, np.int64)
    if not len(rows):
        have = ", ".join(names[number] for number in np.unique(arrays["met"])) or "none"
        what = f"{name}, which is a formula without chances" if name in names else name
        raise MissingTableError(f"expected a match equity table among {have}, got {what}")
    if len({len(arrays[key]) for key in TYPES}) > 1:
        raise CorruptFileError(
            f"expected as many scores as chances in the match equity table {name}, found different numbers; "
            "try: bgdata verify --repair"
        )
    is_post_crawford, away, opponent_away = (
        np.asarray(arrays[key])[rows].astype(np.int64) for key in ("is_post_crawford", "away", "opponent_away")
    )
    mwc = np.asarray(arrays["mwc"])[rows]
    scores, length = np.stack([away, opponent_away]), int(away.max())
    if not ((scores >= 1) & (scores <= length) & (mwc >= 0) & (mwc <= 1)).all() or is_post_crawford.max() > 1:
        raise CorruptFileError(
            f"expected scores of 1-away to {length}-away and chances from 0 to 1 in the match equity table {name}, "
            "found others; try: bgdata verify --repair"
        )
    cells = decided_cells(length)
    cells[is_post_crawford, away, opponent_away] = mwc
    cells.flags.writeable = False
    return MatchEquity(name, cells)


def row_arrays(mets: Sequence[MatchEquity | None]) -> dict[str, NDArray[Any]]:
    """Return the arrays `met` (index of the table), `is_post_crawford`, `away`, `opponent_away` and `mwc` of all known
    cells of these tables. A table that is None has no cells."""
    found: list[tuple[NDArray[Any], ...]] = []
    for number, met in enumerate(mets):
        if met is not None:
            places = np.nonzero(np.isfinite(met.cells[:, 1:, 1:]))
            values = met.cells[:, 1:, 1:][places]
            found.append((np.full(len(values), number), places[0], places[1] + 1, places[2] + 1, values))
    columns = [np.concatenate(parts) for parts in zip(*found, strict=True)] or [np.zeros(0)] * 5
    return {key: column.astype(type_) for (key, type_), column in zip(TYPES.items(), columns, strict=True)}


def decode_texts(arrays: Arrays, name: str) -> list[str]:
    """Decode strings that are stored as two arrays. The array `name` contains the bytes of all strings, and the array
    `name` + `_ends` contains the end of each."""
    letters, ends = np.asarray(arrays[name]).tobytes(), np.asarray(arrays[f"{name}_ends"]).tolist()
    return [letters[begin:end].decode() for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def cell_rows(met: MatchEquity, length: int, other: MatchEquity | None = None) -> Iterator[dict[str, Any]]:
    """Yield rows with the columns of the SQL table `match_equity`, one for each known score up to `length`-away. If
    another table is given, the rows are the scores that both contain, with its chances and the differences."""
    names, columns = {"met": met.name}, {"mwc": met.cells[:, 1 : length + 1, 1 : length + 1]}
    if other is not None:
        names["other_met"], columns["other_mwc"] = other.name, other.cells[:, 1 : length + 1, 1 : length + 1]
        columns["difference"] = columns["mwc"] - columns["other_mwc"]
    chances = np.stack(list(columns.values()))
    for part, away, opponent_away in np.argwhere(np.isfinite(chances).all(axis=0)).tolist():
        score = {"is_post_crawford": bool(part), "away": away + 1, "opponent_away": opponent_away + 1}
        values = chances[:, part, away, opponent_away].tolist()
        yield {**names, **score, **dict(zip(columns, values, strict=True))}


def score_rows(met: MatchEquity, score: MatchScore) -> Iterator[dict[str, Any]]:
    """Yield rows with what is at stake in a game at a score, as chances of winning the match. There is a row for each
    cube value that matters."""
    cube_value = 1
    while True:
        game = met.game(score, cube_value)
        yield {
            "met": met.name,
            **{name: getattr(score, name) for name in ("away", "opponent_away", "is_crawford")},
            "mwc": met.at(score),
            "cube_value": cube_value,
            **dict(zip(("mwc_win", "mwc_win_gammon"), game.win, strict=False)),
            **dict(zip(("mwc_lose", "mwc_lose_gammon"), game.lose, strict=False)),
            "gammon_value": game.gammon_value,
            "take_point": None if score.is_crawford else met.take_point(score, cube_value),
        }
        if cube_value >= max(score.away, score.opponent_away) or score.is_crawford:
            return
        cube_value *= 2
