"""Exact cube decisions (see `equity.cube.ExactCube`): from two-sided bearoff tables, for money and at match scores, and
from races that are solved on demand."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bgdata.bearoff.index import MAX_CHECKERS
from bgdata.bearoff.match_table import (
    STEPS,
    CubeState,
    MatchCube,
    MatchTable,
    money_states,
    reachable_states,
    start_states,
)
from bgdata.bearoff.match_two_sided import MAX_CELLS, Layout, SolvedRace, highest, solve_position
from bgdata.bearoff.remote import open_pairs
from bgdata.bearoff.tables import Equities, TwoSidedTable
from bgdata.endgames.tables import EndgameTable
from bgdata.equity.doubling import NOT_ALLOWED, CubeEquities
from bgdata.equity.match_equity import MatchEquity
from bgdata.errors import InvalidPositionError, NotCoveredError
from bgdata.game.board import BAR
from bgdata.game.match import CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import Position
from bgdata.store.table import Table

KEPT_CELLS = 2 * MAX_CELLS  # most cells of cached races: 256 MB
SAME_MWC = 1e-9  # mwc that differ by less are of the same match equity table, even if built again


class _TableCube:
    """Base class of exact cube decisions from a table. The table is mapped on first use; a pickle contains only the
    `Table`."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.table,)


class MoneyBearoff(_TableCube):
    """Exact cube decisions in money play from a two-sided bearoff table."""

    @cached_property
    def reader(self) -> TwoSidedTable:
        """The mapped table. Raises ManifestFormatError if its manifest is damaged."""
        return open_pairs(self.table)

    @cached_property
    def accuracy(self) -> str:
        """The error bound of the table's equities, in words. Raises ManifestFormatError if the manifest is damaged."""
        bound = self.table.manifest.statistics["cubeless_error_bound"]
        return f"exact, {self.table.name}: each equity within {2 * bound:.2g}"

    def cube_equities(
        self,
        position: Position,
        stakes: Stakes,
        met: MatchEquity | None = None,  # noqa: ARG002
    ) -> CubeEquities | None:
        """Return the equity of each cube action in points per unit cube. Returns None for a match and for a position
        outside the table. Returns None also for a centered cube under the Jacoby rule while a gammon is possible,
        because the table does not contain these equities."""
        owner = stakes.cube.owner
        if not isinstance(stakes.score, Money):
            return None
        has_gammons = MAX_CHECKERS in (sum(row) for row in position.rows)
        if stakes.score.is_jacoby and owner == CubeOwner.CENTERED and has_gammons:
            return None
        found = self._probe(position)
        if found is None:
            return None
        if owner == CubeOwner.OPPONENT:
            return without_double(found.opponent_owned)
        now = found.centered if owner == CubeOwner.CENTERED else found.owned
        return CubeEquities(now, 2 * found.opponent_owned, 2 * found.opponent_owned, 1.0)

    def _probe(self, position: Position) -> Equities | None:
        opponent, on_roll = position.rows
        if on_roll[BAR - 1] or opponent[BAR - 1] or not any(on_roll) or not any(opponent):
            return None
        try:
            return self.reader.probe(on_roll[: BAR - 1], opponent[: BAR - 1])
        except (NotCoveredError, InvalidPositionError):
            return None


class MoneyEndgame(MoneyBearoff):
    """Exact cube decisions in money play from a contact endgame table: positions with few checkers, anywhere on the
    board."""

    @cached_property
    def reader(self) -> EndgameTable:  # type: ignore[override]
        """The mapped table. Raises ManifestFormatError if its manifest is damaged."""
        return EndgameTable(self.table)

    def _probe(self, position: Position) -> Equities | None:
        opponent, on_roll = position.rows
        try:
            return self.reader.probe(on_roll, opponent)
        except NotCoveredError:
            return None


class MatchBearoff(_TableCube):
    """Exact cube decisions in a match, from a table that was solved for one score, cube value and match equity
    table."""

    @cached_property
    def reader(self) -> MatchTable:
        """The mapped table. Raises ManifestFormatError if its manifest is damaged."""
        return MatchTable(self.table)

    @cached_property
    def accuracy(self) -> str:
        """The error bound of the table's mwc, in words. Raises ManifestFormatError if the manifest is damaged."""
        return f"exact, {self.table.name}: each mwc within {self.table.manifest.statistics['mwc_error_bound']:.2g}"

    def cube_equities(self, position: Position, stakes: Stakes, met: MatchEquity | None = None) -> CubeEquities | None:
        """Return the mwc of each cube action. Returns None for money, for another score, cube value or match equity
        table, and for a position outside the table."""
        score = stakes.score
        if not isinstance(score, MatchScore) or met is None:
            return None
        reader = self.reader
        if (reader.score, reader.cube_value, reader.met) != (score, stakes.cube.value, met.name):
            return None
        results = met.after(score, stakes.cube.value), met.after(score, -stakes.cube.value)
        if not np.allclose(results, (reader.won, reader.lost), rtol=0, atol=SAME_MWC):
            return None
        try:
            found = reader.probe(position.board, stakes.cube.owner)
        except (NotCoveredError, InvalidPositionError):
            return None
        if found.double_take is None or score.away <= stakes.cube.value:
            return without_double(found.no_double)
        # the mwc of a pass is rounded like stored values, so that a certain win is not below it
        is_coded = reader.stored.dtype == np.uint16
        passed = round(reader.won * STEPS) / STEPS if is_coded else float(np.float32(reader.won))
        return CubeEquities(found.no_double, found.double_take, found.double_take, passed)


class SolvedRaces:
    """Exact cube decisions in races that no table covers, solved on demand: in money play, and in a match at any score
    with any match equity table. Both sides must have borne off a checker, so that no gammon is possible, and solving
    must take less than about a second. Each solved race is cached with all positions that it can lead to, for either
    side on roll."""

    accuracy = "exact, solved for this position"

    def __init__(self, most_cells: int = MAX_CELLS) -> None:
        self.most_cells = most_cells
        self.kept: list[_CachedRace] = []  # most recent first

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.most_cells,)

    def cube_equities(self, position: Position, stakes: Stakes, met: MatchEquity | None = None) -> CubeEquities | None:
        """Return the equity of each cube action in points per unit cube, or in a match its mwc by `met`. Returns None
        for a position with contact, for a position in which a side still has all its checkers, for a position that
        leads to too many other positions, and for a match without `met`. Raises InvalidScoreError for a score outside
        `met`."""
        opponent, on_roll = position.rows
        is_race = highest(on_roll) + highest(opponent) < BAR and any(on_roll) and any(opponent)
        if not is_race or (isinstance(stakes.score, MatchScore) and met is None):
            return None
        layouts = on_roll[: BAR - 1], opponent[: BAR - 1]
        solved = self._find(layouts, stakes, met)
        return solved.equities(layouts, stakes) if solved else None

    def _find(self, layouts: tuple[Layout, Layout], stakes: Stakes, met: MatchEquity | None) -> _CachedRace | None:
        for place, solved in enumerate(self.kept):
            if solved.applies_to(stakes, met) and solved.race.find(*layouts):
                self.kept.insert(0, self.kept.pop(place))
                return solved
        cube = MatchCube(stakes.score, met.at) if isinstance(stakes.score, MatchScore) and met else None
        states = reachable_states(cube, start_states(cube.score, stakes.cube.value)) if cube else money_states()
        race = solve_position(*layouts, states, self.most_cells)
        if race is None:
            return None
        self.kept.insert(0, _CachedRace(race, stakes, met, cube))
        while sum(solved.race.cells for solved in self.kept) > KEPT_CELLS:
            self.kept.pop()
        return self.kept[0]


class _CachedRace(NamedTuple):
    """A race that was solved at some stakes, from the point of view of side 0."""

    race: SolvedRace
    stakes: Stakes
    met: MatchEquity | None
    cube: MatchCube | None  # None for money

    def applies_to(self, stakes: Stakes, met: MatchEquity | None) -> bool:
        """Whether the values of this race apply to these stakes and this match equity table."""
        if self.cube is None:
            return not isinstance(stakes.score, MatchScore)
        if met is not self.met or not isinstance(stakes.score, MatchScore):
            return False
        scores = self.cube.score, self.cube.score.flip()
        return stakes.score in scores and self.stakes.cube.value <= stakes.cube.value

    def equities(self, layouts: tuple[Layout, Layout], stakes: Stakes) -> CubeEquities:
        """The equity of each cube action for the player on roll, whose layout is layouts[0]."""
        slots = self.race.find(*layouts)
        assert slots is not None
        if self.cube is None:
            found = self.race.worth(slots, CubeState(0, 1, stakes.cube.owner))
            assert found is not None
            if found.taken is None:
                return without_double(2 * found.no_double - 1)
            return CubeEquities(2 * found.no_double - 1, 2 * found.taken - 1, 2 * found.taken - 1, 1.0)
        side = 0 if stakes.score == self.cube.score else self.cube.sides - 1
        found = self.race.worth(slots, CubeState(side, stakes.cube.value, stakes.cube.owner))
        if found is None:
            won, lost = self.cube.worth(side, stakes.cube.value)
            return without_double(lost + self.race.win(slots) * (won - lost))
        if found.taken is None:
            return without_double(found.no_double)
        return CubeEquities(found.no_double, found.taken, found.taken, found.passed)


def without_double(equity: float) -> CubeEquities:
    """The equities of the cube actions of a player who may not double."""
    return CubeEquities(equity, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED)
