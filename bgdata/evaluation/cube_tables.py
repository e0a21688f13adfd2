"""Exact cube decisions of money play, from a two-sided bearoff table; see `equity.cube.ExactCube`."""

from __future__ import annotations

from functools import cached_property

from bgdata.bearoff.index import MAX_CHECKERS
from bgdata.bearoff.tables import Equities, TwoSidedTable
from bgdata.equity.doubling import NOT_ALLOWED, CubeEquities
from bgdata.errors import InvalidPositionError, NotCoveredError
from bgdata.game.match import CubeOwner, Money, Stakes
from bgdata.game.position import BAR, Position
from bgdata.store.table import Table


class MoneyBearoff:
    """The cube in money play wherever both sides are in the table. It is opened at the first question."""

    def __init__(self, table: Table) -> None:
        self.table = table

    @cached_property
    def reader(self) -> TwoSidedTable:
        """The mapped table. Raises ManifestFormatError."""
        return TwoSidedTable(self.table)

    @cached_property
    def accuracy(self) -> str:
        """How far its equities can be off, in words. Raises ManifestFormatError."""
        bound = self.table.manifest.statistics["cubeless_error_bound"]
        return f"exact, {self.table.name}: each equity within {2 * bound:.2g}"

    def cube_equities(self, position: Position, stakes: Stakes) -> CubeEquities | None:
        """Points per unit cube; None for a match, a position that is not in the table, and for a centered cube under
        the Jacoby rule while a gammon is possible, as the table has none."""
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
        """Whether the Jacoby rule takes gammons away that could be won."""
        is_jacoby = isinstance(stakes.score, Money) and stakes.score.is_jacoby
        may_lose_gammon = MAX_CHECKERS in (sum(row) for row in position.rows)
        return is_jacoby and stakes.cube.owner == CubeOwner.CENTERED and may_lose_gammon
