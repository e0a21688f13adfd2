"""The player that maps what it knows: exact tables, one-sided tables and networks, and says who answered and how well.

>>> player = open_player("warehouse")                               # doctest: +SKIP
>>> player.evaluate("4HPwATDgc/ABMA").win                           # doctest: +SKIP
>>> str(player.best_play("4HPwATDgc/ABMA", "31").play)              # doctest: +SKIP
'8/5 6/5'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.bearoff import open_bearoff
from bgdata.evaluation.chances import cubeless_equities, turned_chances
from bgdata.evaluation.evaluator import Evaluations, Evaluator, Source
from bgdata.evaluation.lookahead import FILTERS, MOST_PLY, PlayFilter, evaluate_ahead, rank_all
from bgdata.evaluation.network import packaged_network
from bgdata.evaluation.network_player import map_network_player
from bgdata.game.codec import Boards, check_boards
from bgdata.game.dice import Roll, parse_roll
from bgdata.game.plays import Play, legal_plays
from bgdata.game.position import Position
from bgdata.store.warehouse import Warehouse

CACHED_POSITIONS = 1 << 16
DECISIONS = 256  # decisions looked into at a time: bounds the memory


@dataclass(frozen=True)
class Evaluation:
    """Five cumulative chances of one side, 0 to 1, its cubeless equity in points, and who says so."""

    win: float
    win_gammon: float
    win_backgammon: float
    lose_gammon: float
    lose_backgammon: float
    cubeless_equity: float
    source: Source
    ply: int
    accuracy: str  # how far to trust it, in words


@dataclass(frozen=True)
class RankedPlay:
    """A play and what it leads to, seen by the player who moves."""

    play: Play
    evaluation: Evaluation
    loss: float  # points behind the best play; of a play less looked into, by what was seen of it


class MappedPlayer:
    """Evaluates positions and chooses plays, `ply` rolls ahead, with any evaluator. Positions are seen by the player on
    roll, before the roll; a text is a Position ID. The same question always has the same answer."""

    def __init__(self, evaluator: Evaluator, ply: int = 0, filters: Sequence[PlayFilter] = FILTERS) -> None:
        if not 0 <= ply <= MOST_PLY:
            raise UsageError(f"expected a ply from 0 to {MOST_PLY}, got {ply}")
        self.evaluator, self.ply, self.filters = evaluator, ply, filters
        self._cache: dict[bytes, tuple[NDArray[np.float32], int]] = {}

    def __repr__(self) -> str:
        return f"MappedPlayer({self.label})"

    @cached_property
    def label(self) -> str:
        """Name and ply."""
        return f"{self.evaluator.label}-{self.ply}ply"

    @property
    def version(self) -> str:
        """Changes when the answers may."""
        return self.evaluator.version

    def evaluate(self, position: Position | str) -> Evaluation:
        """The five chances and the cubeless equity of a position. Raises InvalidPositionError."""
        board = np.array([_position(position).board], np.int8)
        chances, sources = self.evaluate_many(board)
        return self._evaluation(chances, int(sources[0]), self.ply)

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """Chances float32[n, 5] and sources int8[n] of int8[n, 26] boards; those looked ahead for are remembered.

        Raises InvalidPositionError for another shape or type."""
        boards = np.ascontiguousarray(check_boards(boards))
        if self.ply == 0:
            return self.evaluator.evaluate_many(boards)
        keys = [board.tobytes() for board in boards]
        unknown = {key: row for row, key in enumerate(keys) if key not in self._cache}
        rows = np.array(list(unknown.values()), np.int64)
        if len(self._cache) + len(rows) > CACHED_POSITIONS:
            self._cache.clear()
            rows = np.arange(len(boards))
            unknown = dict(zip(keys, rows.tolist(), strict=True))
        found = evaluate_ahead(self.evaluator, boards[rows], self.ply)
        self._cache.update(
            zip([keys[row] for row in rows], zip(found.chances, found.sources.tolist(), strict=True), strict=True)
        )
        answers = [self._cache[key] for key in keys]
        chances = np.array([chances for chances, _ in answers], np.float32).reshape(-1, 5)
        return Evaluations(chances, np.array([source for _, source in answers], np.int8))

    def rank_plays(self, position: Position | str, roll: Roll | str) -> list[RankedPlay]:
        """Every legal play of a roll, the best first; those the filters let through are looked into `ply` rolls ahead.

        Raises InvalidPositionError or InvalidRollError."""
        position, roll = _position(position), parse_roll(roll) if isinstance(roll, str) else roll
        ranked = rank_all(
            self.evaluator,
            np.array([position.board], np.int8),
            np.array([(roll.high, roll.low)], np.int8),
            self.ply,
            self.filters,
        )
        equities, plies = ranked.equities, ranked.plies
        order = sorted(range(len(equities)), key=lambda row: (-plies[row], -equities[row], row))
        plays, own = legal_plays(position, roll), turned_chances(ranked.chances)
        return [
            RankedPlay(
                plays[row],
                self._evaluation(own[row : row + 1], int(ranked.sources[row]), int(plies[row])),
                float(equities[order[0]] - equities[row]),
            )
            for row in order
        ]

    def best_play(self, position: Position | str, roll: Roll | str) -> RankedPlay:
        """The first of `rank_plays`."""
        return self.rank_plays(position, roll)[0]

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """See player.Player."""
        chosen = np.empty_like(boards)
        for start in range(0, len(boards), DECISIONS):
            rows = slice(start, start + DECISIONS)
            ranked = rank_all(self.evaluator, boards[rows], rolls[rows], self.ply, self.filters)
            chosen[rows] = ranked.boards[ranked.best()]
        return chosen

    def _evaluation(self, chances: NDArray[np.float32], source: int, ply: int) -> Evaluation:
        who = Source(source)
        return Evaluation(
            *(float(chance) for chance in chances[0]),
            cubeless_equity=float(cubeless_equities(chances)[0]),
            source=who,
            ply=0 if who.is_final else ply,
            accuracy=self.accuracy.get(who, ""),
        )

    @cached_property
    def accuracy(self) -> Mapping[Source, str]:
        """How far the answers of each source can be trusted, in words."""
        return {Source.OVER: "the game is over", **self.evaluator.accuracy}


def _position(position: Position | str) -> Position:
    return Position.from_id(position) if isinstance(position, str) else position


def map_player(warehouse: Warehouse, network: str = "", ply: int = 0) -> MappedPlayer:
    """A player with the best bearoff tables of a warehouse and one of its networks, or those of the package.

    Nothing is read but what is asked for, nothing is copied. Raises MissingWarehouseError, MissingTableError for a
    network that is not there, CorruptFileError, and UsageError for a ply that is not 0 to MOST_PLY.
    """
    table = warehouse.open("network", network) if network else packaged_network()
    return MappedPlayer(map_network_player(table, open_bearoff(warehouse)), ply)
