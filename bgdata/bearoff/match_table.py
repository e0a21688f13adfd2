"""Probing match bearoff tables: memory-mapped, NumPy alone. All figures are MWC of the player on roll."""

from __future__ import annotations

from math import isclose
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgdata.bearoff.index import layout_count
from bgdata.bearoff.tables import Layout, MappedTable, index_pairs, layout_index, open_array
from bgdata.errors import InvalidScoreError, NotCoveredError, shown
from bgdata.game.board import BAR
from bgdata.game.match import CubeOwner, MatchScore
from bgdata.game.position import Position, PositionLike
from bgdata.store.table import Table

STEPS = 65535  # code = round(mwc * STEPS)
TIE = 1e-9  # MWC that differ by less are the same
OWNER_COLUMNS = {CubeOwner.CENTERED: "centered", CubeOwner.ON_ROLL: "owned", CubeOwner.OPPONENT: "opponent_owned"}


def match_columns(score: MatchScore, cube_value: int) -> tuple[str, ...]:
    """The columns of a table for a score and cube value, in order; a cube that cannot occur has none."""
    if score.is_crawford:
        return ("cubeless",)
    owners = ("centered",) if cube_value == 1 else ("owned", "opponent_owned")
    return ("cubeless", *owners, "taken")


def checked_owner(cube_value: int, cube_owner: CubeOwner | str) -> CubeOwner:
    """The owner of a cube in a match: a cube of 1 is centered, a higher one is owned. An empty text means the side that
    may double. Raises InvalidScoreError."""
    if not cube_owner:
        return CubeOwner.CENTERED if cube_value == 1 else CubeOwner.ON_ROLL
    if cube_owner not in tuple(CubeOwner):
        raise InvalidScoreError(f"expected a cube owner in {{{', '.join(CubeOwner)}}}, got {cube_owner!r}")
    owner = CubeOwner(cube_owner)
    if (owner == CubeOwner.CENTERED) != (cube_value == 1):
        expected = "centered" if cube_value == 1 else "that of on_roll or opponent"
        raise InvalidScoreError(f"expected a cube of {cube_value} to be {expected}, got {str(owner)!r}")
    return owner


class MatchDecision(NamedTuple):
    """MWC of the player on roll before its roll, for each action; `double_take` is None where it may not double."""

    cubeless: float
    no_double: float
    double_take: float | None
    double_pass: float

    @property
    def mwc(self) -> float:
        """MWC if both sides decide rightly."""
        doubled = self.no_double if self.double_take is None else min(self.double_take, self.double_pass)
        return max(self.no_double, doubled)

    @property
    def action(self) -> str:
        """The right action: `no double`, `double, take` or `double, pass`. A tie is a double, unless no action makes a
        difference."""
        if self.double_take is None or self.no_double > min(self.double_take, self.double_pass) + TIE:
            return "no double"
        if isclose(self.no_double, self.double_pass, abs_tol=TIE) and self.double_take > self.double_pass - TIE:
            return "no double"  # won as good as surely
        return "double, take" if self.double_take < self.double_pass else "double, pass"


class MatchTable(MappedTable):
    """An exact match bearoff table: one score, cube value and match equity table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        recipe = table.manifest.parameters
        self.points, self.checkers = int(recipe["points"]), int(recipe["checkers"])
        self.score = MatchScore(int(recipe["away"]), int(recipe["opponent_away"]), bool(recipe["is_crawford"]))
        self.cube_value, self.met = int(recipe["cube_value"]), str(recipe["met"])
        self.columns = match_columns(self.score, self.cube_value)
        self._count = layout_count(self.points, self.checkers)
        shape = self._count, self._count, len(self.columns)
        self.stored = open_array(table, "mwc", shape, np.float32, np.uint16)  # MWC or codes
        results = np.asarray(table.array("results"))
        self.won, self.lost = float(results[0, 0]), float(results[1, 0])

    def __len__(self) -> int:
        return self._count * self._count

    def probe(self, position: PositionLike, cube_owner: CubeOwner | str = "") -> MatchDecision:
        """The decision in a position. Without `cube_owner`, the player on roll may double. Raises InvalidPositionError,
        NotCoveredError, or InvalidScoreError for an owner that the cube of this table cannot have."""
        opponent, on_roll = Position(position).rows
        if opponent[BAR - 1] or on_roll[BAR - 1]:
            raise NotCoveredError("expected a bearoff position, got a checker on the bar")
        return self.probe_layouts(on_roll[: BAR - 1], opponent[: BAR - 1], cube_owner)

    def probe_layouts(self, on_roll: Layout, opponent: Layout, cube_owner: CubeOwner | str = "") -> MatchDecision:
        """The decision for two layouts, or two position indexes. Raises as `probe` does."""
        owner = checked_owner(self.cube_value, cube_owner)
        indexes = [self._index(on_roll), self._index(opponent)]
        values = self.decode(self.stored[indexes[0], indexes[1]])
        found = dict(zip(self.columns, (float(value) for value in values), strict=True))
        taken = None if owner == CubeOwner.OPPONENT else found.get("taken")
        no_double = found[OWNER_COLUMNS[owner]] if not self.score.is_crawford else found["cubeless"]
        return MatchDecision(found["cubeless"], no_double, taken, self.won)

    def probe_many(self, on_roll: ArrayLike, opponent: ArrayLike) -> NDArray[np.float64]:
        """float64[n, columns] MWC of n pairs of indexes, by `columns`. Raises as `tables.index_pairs` does."""
        return self.decode(self.stored[index_pairs(on_roll, opponent, self._count, self.table)])

    def equity(self, mwc: float) -> float:
        """Normalised equity of an MWC: 1 for winning the points on the cube, -1 for losing them. NaN where both have
        the same MWC."""
        swing = self.won - self.lost
        return (2 * mwc - self.won - self.lost) / swing if swing else float("nan")

    def decode(self, stored: NDArray[np.float32]) -> NDArray[np.float64]:
        """float64 MWC of stored values, of any shape."""
        return np.asarray(stored, np.float64) / (STEPS if self.stored.dtype == np.uint16 else 1)

    def _index(self, layout: Layout) -> int:
        index = layout_index(layout, self.points)
        if not 0 <= index < self._count:
            raise NotCoveredError(f"expected a position in {self.table.name}, got {shown(layout)}")
        return index
