"""Match bearoffs: probes their tables (memory-mapped, with NumPy only), and lists the cube states that a game can
reach, with the MWC after winning and after losing in each. MWC are those of the player on roll.

A cube state says who is on roll, the value of the cube, and who may turn it. Doubling leads to a state with twice the
value. There are no states after a *dead* cube, with which its owner already wins the match. If the cube is dead for
both sides, no table is needed: without gammons, MWC = MWC after losing + chance of winning * (MWC after winning - MWC
after losing). No special rule is needed for the automatic redouble of a side that would lose the match anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isclose
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bgdata.bearoff.index import layout_count
from bgdata.bearoff.tables import Layout, MappedTable, index_pairs, layout_index, open_array
from bgdata.errors import InvalidScoreError, NotCoveredError, cite
from bgdata.game.board import BAR
from bgdata.game.match import Cube, CubeOwner, MatchScore, Stakes
from bgdata.game.position import Position, PositionLike
from bgdata.store.table import Table

STEPS = 65535  # code = round(mwc * STEPS)
TIE = 1e-9  # MWC that differ by less count as equal
OWNER_COLUMNS = {CubeOwner.CENTERED: "centered", CubeOwner.ON_ROLL: "owned", CubeOwner.OPPONENT: "opponent_owned"}


def match_columns(score: MatchScore, cube_value: int) -> tuple[str, ...]:
    """Return the names of the columns of a table for this score and cube value, in order. There are none if that cube
    cannot occur at the score."""
    if score.is_crawford:
        return ("cubeless",)
    owners = ("centered",) if cube_value == 1 else ("owned", "opponent_owned")
    return ("cubeless", *owners, "taken")


def match_owner(cube_value: int, cube_owner: CubeOwner | str) -> CubeOwner:
    """Return the owner of a cube in a match. A cube of 1 is centered; a higher cube has an owner. An empty `cube_owner`
    stands for the side that may double. Raises InvalidScoreError if the owner and the value do not fit."""
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
    """A cube decision in a match: for each action, the MWC of the player on roll before it rolls. `double_take` is None
    if the player may not double."""

    cubeless: float
    no_double: float
    double_take: float | None
    double_pass: float

    @property
    def mwc(self) -> float:
        """The MWC if both sides choose the right actions."""
        doubled = self.no_double if self.double_take is None else min(self.double_take, self.double_pass)
        return max(self.no_double, doubled)

    @property
    def action(self) -> str:
        """The right action: `no double`, `double, take` or `double, pass`. A tie is a double, unless all actions are
        equal."""
        if self.double_take is None or self.no_double > min(self.double_take, self.double_pass) + TIE:
            return "no double"
        if isclose(self.no_double, self.double_pass, abs_tol=TIE) and self.double_take > self.double_pass - TIE:
            return "no double"  # the match is almost won
        return "double, take" if self.double_take < self.double_pass else "double, pass"


class MatchTable(MappedTable):
    """An exact match bearoff table for one score, cube value and match equity table."""

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
        """Look up the cube decision in a position. By default the player on roll may double. Raises
        InvalidPositionError if the position is invalid, NotCoveredError if the table does not cover it, and
        InvalidScoreError if a cube of this value cannot have this owner."""
        opponent, on_roll = Position(position).rows
        if opponent[BAR - 1] or on_roll[BAR - 1]:
            raise NotCoveredError("expected a bearoff position, got a checker on the bar")
        return self.probe_layouts(on_roll[: BAR - 1], opponent[: BAR - 1], cube_owner)

    def probe_layouts(self, on_roll: Layout, opponent: Layout, cube_owner: CubeOwner | str = "") -> MatchDecision:
        """Look up the cube decision for two layouts or position indexes. Raises InvalidPositionError, NotCoveredError
        and InvalidScoreError as `probe` does."""
        owner = match_owner(self.cube_value, cube_owner)
        indexes = [self._index(on_roll), self._index(opponent)]
        values = self.decode(self.stored[indexes[0], indexes[1]])
        found = dict(zip(self.columns, (float(value) for value in values), strict=True))
        taken = None if owner == CubeOwner.OPPONENT else found.get("taken")
        no_double = found[OWNER_COLUMNS[owner]] if not self.score.is_crawford else found["cubeless"]
        return MatchDecision(found["cubeless"], no_double, taken, self.won)

    def probe_many(self, on_roll: ArrayLike, opponent: ArrayLike) -> NDArray[np.float64]:
        """Look up the MWC of n pairs of position indexes, as float64[n, columns], with columns as in `columns`. Raises
        UsageError if the shapes are not the same [n], and NotCoveredError for an index beyond the table."""
        return self.decode(self.stored[index_pairs(on_roll, opponent, self._count, self.table)])

    def equity(self, mwc: float) -> float:
        """Convert MWC to normalised equity: 1 for winning the points on the cube, -1 for losing them. It is NaN if
        winning and losing have the same MWC."""
        swing = self.won - self.lost
        return (2 * mwc - self.won - self.lost) / swing if swing else float("nan")

    def decode(self, stored: NDArray[np.float32]) -> NDArray[np.float64]:
        """Convert stored values of any shape to MWC, float64."""
        return np.asarray(stored, np.float64) / (STEPS if self.stored.dtype == np.uint16 else 1)

    def _index(self, layout: Layout) -> int:
        index = layout_index(layout, self.points)
        if not 0 <= index < self._count:
            raise NotCoveredError(f"expected a position in {self.table.name}, got {cite(layout)}")
        return index


NOBODY = -1  # in `take`: the side on roll may not double, or cannot gain by it
WIN_CHANCE = 0  # column of the chance of winning the game, which does not depend on cube and score
FAIR_MWC = 1e-12  # tolerance for the MWC of equal players to add up to 1


class CubeState(NamedTuple):
    """The state of the cube in a game: the side on roll (0: the player from whose point of view the table is), and the
    cube as this side sees it."""

    side: int
    cube_value: int
    cube_owner: CubeOwner


class States(NamedTuple):
    """The cube states that need a table, one for each column. Column 0 is the chance that the side on roll wins;
    `names` contains the states of the other columns. If both sides are equal they have the same columns; otherwise each
    side has different columns."""

    names: tuple[CubeState, ...]  # names of the columns from 1 on; higher cubes come first
    after_play: NDArray[np.int64]  # [columns] the same cube with the other side on roll
    take: NDArray[np.int64]  # [columns] the state after a take, the same side on roll; or NOBODY
    won: NDArray[np.float64]  # [columns] MWC of the side on roll after a win or a pass
    lost: NDArray[np.float64]  # [columns] MWC after a loss
    # [columns] MWC after a take = taken + per_unit * value in column `take`. With a live cube, the value is that MWC;
    # with a dead cube it is the chance of winning, which decides where the MWC is between losing and winning
    taken: NDArray[np.float64]
    per_unit: NDArray[np.float64]

    def column(self, state: CubeState) -> int | None:
        """Return the column of a state, None if its cube is dead."""
        return 1 + self.names.index(state) if state in self.names else None


class MatchCube:
    """The cube in one game of a match: the states that the rules allow, and their MWC. `mwc_of_score` is the match
    equity table, as a function from a score to the chance that the player who needs `away` points wins the match."""

    def __init__(self, score: MatchScore, mwc_of_score: Callable[[MatchScore], float]) -> None:
        self.score = score
        self.mwc_of_score = mwc_of_score
        self._aways = (score.away, score.opponent_away)
        self.sides = 2
        if score.away == score.opponent_away:
            # in tables of unequal players, one side gains more by winning
            points = [2**n for n in range(score.away.bit_length() + 1)]
            if all(abs(self.mwc(0, point) + self.mwc(0, -point) - 1.0) < FAIR_MWC for point in points):
                self.sides = 1

    def other(self, side: int) -> int:
        """Return the other side, or side 0 if both sides are equal and have the same states."""
        return self.sides - 1 - side

    def mwc(self, side: int, points: int) -> float:
        """Return the MWC of a side after winning `points` (negative: losing them). Raises InvalidScoreError for an MWC
        outside 0 to 1."""
        points = points if side == 0 else -points
        after = self.score.after_game(points)
        mwc = float(points > 0) if after is None else self.mwc_of_score(after)
        if not 0.0 <= mwc <= 1.0:
            raise InvalidScoreError(f"expected match winning chances from 0 to 1, got {mwc} at {after}")
        return mwc if side == 0 else 1.0 - mwc

    def worth(self, side: int, cube_value: int) -> tuple[float, float]:
        """Return the MWC of a side after winning, and after losing, a game with this cube. Raises InvalidScoreError if
        winning is worse than losing."""
        won, lost = self.mwc(side, cube_value), self.mwc(side, -cube_value)
        if won < lost:
            raise InvalidScoreError(
                f"expected a match equity table in which winning points helps, got {won} after winning {cube_value} "
                f"and {lost} after losing them at {self.score}"
            )
        return won, lost

    def is_live(self, state: CubeState) -> bool:
        """Whether the side on roll may double and may gain by it. A cube that already wins the match for that side is
        dead."""
        may_double = state.cube_owner != CubeOwner.OPPONENT and not self.score.is_crawford
        return may_double and state.cube_value < self._aways[state.side]

    def after_play(self, state: CubeState) -> CubeState:
        """Return the state after the side on roll has played: the same cube with the other side on roll."""
        return CubeState(self.other(state.side), state.cube_value, state.cube_owner.flip())


def after_take(state: CubeState) -> CubeState:
    """Return the state after the side on roll doubles and the other side takes."""
    return CubeState(state.side, 2 * state.cube_value, CubeOwner.OPPONENT)


def start_states(score: MatchScore, cube_value: int) -> tuple[CubeState, ...]:
    """Return the states that a table for this score and cube value covers: one for each possible owner, and the state
    after a double and take. Raises InvalidScoreError for an impossible cube."""
    if score.is_crawford and cube_value != 1:
        raise InvalidScoreError(f"expected a cube of 1 in the crawford game, got {cube_value}")
    owners = (CubeOwner.CENTERED,) if cube_value == 1 else (CubeOwner.ON_ROLL, CubeOwner.OPPONENT)
    may_double = Stakes(score, Cube(cube_value, owners[0])).may_double
    states = tuple(CubeState(0, cube_value, owner) for owner in owners)
    return (*states, after_take(states[0])) if may_double else states


def reachable_states(cube: MatchCube, starts: tuple[CubeState, ...]) -> States:
    """Find all states that can be reached from `starts` and in which a side can gain by doubling. The highest cube
    comes first. Raises InvalidScoreError for an invalid match equity table."""
    found: set[CubeState] = set()
    waiting = list(starts)
    while waiting:
        state = waiting.pop()
        if state not in found and (cube.is_live(state) or cube.is_live(cube.after_play(state))):
            found.add(state)
            waiting.append(cube.after_play(state))
            if cube.is_live(state):
                waiting.append(after_take(state))
    names = tuple(sorted(found, key=lambda state: (-state.cube_value, state.cube_owner, state.side)))
    column = {name: place for place, name in enumerate(names, start=1)}
    take, taken, per_unit = [NOBODY], [0.0], [0.0]
    for name in names:
        next_state = after_take(name)
        won_double, lost_double = cube.worth(name.side, 2 * name.cube_value)
        is_dead = next_state not in column
        take.append((WIN_CHANCE if is_dead else column[next_state]) if cube.is_live(name) else NOBODY)
        taken.append(lost_double if is_dead else 0.0)
        per_unit.append(won_double - lost_double if is_dead else 1.0)
    won, lost = np.array([(1.0, 0.0), *(cube.worth(name.side, name.cube_value) for name in names)]).T.copy()
    after_play = np.array([WIN_CHANCE, *(column[cube.after_play(name)] for name in names)], np.int64)
    return States(names, after_play, np.array(take, np.int64), won, lost, np.array(taken), np.array(per_unit))


def money_states() -> States:
    """Return the cube states of money play. Both sides are equal, and values per unit do not depend on the value of the
    cube. In place of MWC the states use (equity per unit cube + 1) / 2: 0 for a loss, 1 for a win."""
    owners = (CubeOwner.OPPONENT, CubeOwner.ON_ROLL, CubeOwner.CENTERED)
    names = tuple(CubeState(0, 1, owner) for owner in owners)
    columns = len(names) + 1
    return States(
        names,
        np.array([WIN_CHANCE, *(1 + owners.index(owner.flip()) for owner in owners)], np.int64),
        np.array([NOBODY, NOBODY, 1, 1], np.int64),
        np.ones(columns),
        np.zeros(columns),
        np.full(columns, -0.5),  # double and take: 2 w - 1/2 for w = (e + 1) / 2
        np.full(columns, 2.0),
    )
