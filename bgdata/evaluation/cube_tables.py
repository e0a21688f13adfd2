"""Exact cube decisions from two-sided bearoff tables, for money and at match scores; see `equity.cube.ExactCube`."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from bgdata.bearoff.index import MAX_CHECKERS
from bgdata.bearoff.match_table import STEPS, MatchTable
from bgdata.bearoff.tables import Equities, TwoSidedTable
from bgdata.endgames.tables import EndgameTable
from bgdata.equity.doubling import NOT_ALLOWED, CubeEquities
from bgdata.equity.match_equity import MatchEquity
from bgdata.errors import InvalidPositionError, NotCoveredError
from bgdata.game.board import BAR
from bgdata.game.match import CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import Position
from bgdata.store.table import Table

SAME_MWC = 1e-9  # tables of one name whose mwc differ by more are not the same: one was built anew, or is a file


class MoneyBearoff:
    """Exact cube decisions in money play where both sides are in the table. The table is opened when it is first
    needed."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.table,)

    @cached_property
    def reader(self) -> TwoSidedTable:
        """The mapped table. Raises ManifestFormatError."""
        return TwoSidedTable(self.table)

    @cached_property
    def accuracy(self) -> str:
        """The error bound of its equities, in words. Raises ManifestFormatError."""
        bound = self.table.manifest.statistics["cubeless_error_bound"]
        return f"exact, {self.table.name}: each equity within {2 * bound:.2g}"

    def cube_equities(
        self,
        position: Position,
        stakes: Stakes,
        met: MatchEquity | None = None,  # noqa: ARG002
    ) -> CubeEquities | None:
        """Points per unit cube. None for a match, for a position that is not in the table, and for a centered cube
        under the Jacoby rule while a gammon is possible, since the table does not have these equities."""
        found = self._probe(position) if isinstance(stakes.score, Money) else None
        if found is None or self._ignores_gammons(position, stakes):
            return None
        if stakes.cube.owner == CubeOwner.OPPONENT:
            return CubeEquities(found.opponent_owned, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED)
        now = found.centered if stakes.cube.owner == CubeOwner.CENTERED else found.owned
        return CubeEquities(now, 2 * found.opponent_owned, 2 * found.opponent_owned, 1.0)

    def _probe(self, position: Position) -> Equities | None:
        opponent, on_roll = position.rows
        if on_roll[BAR - 1] or opponent[BAR - 1] or not any(on_roll) or not any(opponent):
            return None
        try:
            return self.reader.probe(on_roll[: BAR - 1], opponent[: BAR - 1])
        except (NotCoveredError, InvalidPositionError):
            return None

    @staticmethod
    def _ignores_gammons(position: Position, stakes: Stakes) -> bool:
        """Whether gammons are possible but do not count, by the Jacoby rule."""
        is_jacoby = isinstance(stakes.score, Money) and stakes.score.is_jacoby
        may_lose_gammon = MAX_CHECKERS in (sum(row) for row in position.rows)
        return is_jacoby and stakes.cube.owner == CubeOwner.CENTERED and may_lose_gammon


class MoneyEndgame(MoneyBearoff):
    """Exact cube decisions in money play where both sides have so few checkers that a table of contact endgames holds
    them, wherever they are."""

    @cached_property
    def reader(self) -> EndgameTable:  # type: ignore[override]
        """The mapped table. Raises ManifestFormatError."""
        return EndgameTable(self.table)

    def _probe(self, position: Position) -> Equities | None:
        opponent, on_roll = position.rows
        try:
            return self.reader.probe(on_roll, opponent)
        except NotCoveredError:
            return None


class MatchBearoff:
    """Exact cube decisions in a match, at the one score and cube value of a table that was solved with one match equity
    table. The table is opened at the first question about a match."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.table,)

    @cached_property
    def reader(self) -> MatchTable:
        """The mapped table. Raises ManifestFormatError."""
        return MatchTable(self.table)

    @cached_property
    def accuracy(self) -> str:
        """The error bound of its mwc, in words. Raises ManifestFormatError."""
        return f"exact, {self.table.name}: each mwc within {self.table.manifest.statistics['mwc_error_bound']:.2g}"

    def cube_equities(self, position: Position, stakes: Stakes, met: MatchEquity | None = None) -> CubeEquities | None:
        """mwc. None for money, for another score, cube value or match equity table, and for a position that is not in
        the table."""
        score = stakes.score
        if not isinstance(score, MatchScore) or met is None or not self._is_about(score, stakes.cube.value, met):
            return None
        try:
            found = self.reader.probe(position.board, stakes.cube.owner)
        except (NotCoveredError, InvalidPositionError):
            return None
        if found.double_take is None or score.away <= stakes.cube.value:
            return CubeEquities(found.no_double, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED)
        return CubeEquities(found.no_double, found.double_take, found.double_take, self._passed)

    def _is_about(self, score: MatchScore, cube_value: int, met: MatchEquity) -> bool:
        reader = self.reader
        if (reader.score, reader.cube_value, reader.met) != (score, cube_value, met.name):
            return False
        results = met.after(score, cube_value), met.after(score, -cube_value)
        return bool(np.allclose(results, (reader.won, reader.lost), rtol=0, atol=SAME_MWC))

    @cached_property
    def _passed(self) -> float:
        """mwc of a pass, rounded as what is stored is: a win that is certain is worth no less."""
        won = self.reader.won
        return round(won * STEPS) / STEPS if self.reader.stored.dtype == np.uint16 else float(np.float32(won))
