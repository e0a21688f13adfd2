"""Looks up positions in tables of contact endgames, in a few microseconds. The tables are memory-mapped."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bgdata.bearoff.index import rank
from bgdata.bearoff.tables import Equities, MappedTable, open_array
from bgdata.errors import NotCoveredError, cite
from bgdata.game.board import BAR
from bgdata.store.table import Table


class EndgameTable(MappedTable):
    """A table of exact equities of few checkers anywhere on the board, for every pair of layouts that share no
    point."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.checkers = int(table.manifest.parameters["checkers"])
        count = math.comb(BAR + self.checkers, BAR)  # number of layouts
        self.stored = open_array(table, "equities", (count, count, 4), np.float32)

    def __len__(self) -> int:
        return self.table.manifest.rows

    def probe(self, on_roll: Sequence[int], opponent: Sequence[int]) -> Equities:
        """Look up the equities of the player on roll. Each side is given as its checkers on its own points 1 to 24 and
        on the bar. Raises NotCoveredError if a side has no checker or more than the table covers, or if both sides
        share a point."""
        sides = list(on_roll), list(opponent)
        if all(0 < sum(side) <= self.checkers and len(side) == BAR and min(side) >= 0 for side in sides):
            found = self.stored[rank(sides[0]), rank(sides[1])].tolist()
            if not math.isnan(found[0]):
                return Equities(*found)
        raise NotCoveredError(f"expected a position in {self.table.name}, got {cite(sides[0])} against {sides[1]}")

    def middle_rows(self, count: int) -> list[dict[str, float]]:
        """Return up to `count` rows from the middle of the table, as in the Parquet files of smaller tables."""
        found: list[dict[str, float]] = []
        for on_roll in range(len(self.stored) // 2, len(self.stored)):
            opponents = 1 + np.flatnonzero(~np.isnan(self.stored[on_roll, 1:, 0]))[: count - len(found)]
            for opponent in opponents.tolist():
                equities = self.stored[on_roll, opponent].tolist()
                pair = {"on_roll_index": on_roll, "opponent_index": opponent}
                found.append(pair | dict(zip(Equities._fields, equities, strict=True)))
            if len(found) == count:
                break
        return found
