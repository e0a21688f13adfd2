"""Turns of games with the cube, from which kinds draw positions, and the values of a cube model there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bgdata.equity.cube import CubeRules
from bgdata.equity.curves import OWNER_CODES
from bgdata.equity.doubling import CubeEquities, Strategy, money_equities
from bgdata.equity.match_cube import MatchGame, match_equities
from bgdata.errors import InvalidParameterError
from bgdata.evaluation.cube_answers import in_points
from bgdata.game.identifiers import format_xgid
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.match_state import MatchState
from bgdata.game.position import Position
from bgdata.game.random import mix_bits
from bgdata.game.themes import position_themes
from bgdata.measures.kinds.shared.cube_corpora import LEAST_AWAY, MOST_AWAY
from bgdata.selfplay.kinds.shared.games import ACTIONS as TURN_ACTIONS
from bgdata.selfplay.kinds.shared.games_compute import OWNERS, board_hashes, turn_places
from bgdata.store.arrays import Array
from bgdata.store.table import Table

OPPONENT = OWNERS.index("opponent")


class Candidates(NamedTuple):
    """Turns of games, before the player on roll doubles or rolls."""

    boards: Array  # int8[n, 26] of the player on roll
    away: Array  # int32[n, 2] points that the player on roll and the opponent need; 0 in money play
    cubes: Array  # int32[n, (value, index into OWNERS)]
    games: Array  # int32[n]
    turns: Array  # int32[n]
    hashes: Array  # uint64[n] ascending
    themes: Array  # int8[n]

    def rows(self, chosen: Array | slice) -> Candidates:
        """Return the turns whose indexes are `chosen`, in that order."""
        return Candidates(*(values[chosen] for values in self))

    def joined_with(self, other: Candidates) -> Candidates:
        """Return the turns of both, in ascending order of hashes."""
        both = Candidates(*map(np.concatenate, zip(self, other, strict=True)))
        return both.rows(np.argsort(both.hashes, kind="stable"))

    def stakes(self, row: int) -> Stakes:
        """Return the stakes of turn `row` for the player on roll."""
        (away, opponent_away), (value, owner) = self.away[row].tolist(), self.cubes[row].tolist()
        score = MatchScore(away, opponent_away) if away else Money(is_jacoby=False)
        return Stakes(score, Cube(value, CubeOwner(OWNERS[owner])))

    def xgids(self) -> list[str]:
        """Return the XGID of each turn: position, score and cube."""
        boards = [Position(board) for board in self.boards.tolist()]
        return [format_xgid(each, MatchState.from_stakes(self.stakes(row))) for row, each in enumerate(boards)]

    def seeds(self) -> Array:
        """Return the seed of the dice of each turn's rollout, as int64[n]. Seeds ascend."""
        return (self.hashes >> np.uint64(1)).astype(np.int64)


def corpus_candidates(corpus: Table, sample_seed: int) -> Candidates:
    """Return the turns of a corpus, except the first ones of games, before which someone may still turn the cube, in
    ascending order of hashes. In matches both players need 2 to 9 points. A position that occurs several times with the
    same stakes is taken once."""
    records, first_turns = np.asarray(corpus.array("turns")), np.asarray(corpus.array("first_turns"))
    games, turns = turn_places(first_turns, slice(0, len(records)))
    _, action, on_roll, _, _, value, owner = records.T
    score = np.asarray(corpus.array("games"))[games]
    length, won = score[:, 2:3], score[:, 3:5]
    away = np.where(length > 0, length - won, 0)
    away = np.where(on_roll[:, None] == 0, away, away[:, ::-1])
    acts = [TURN_ACTIONS.index(name) for name in ("play", "roll", "double")]
    is_wanted = np.isin(action, acts) & (turns > 0)
    if length.any():
        owner_away = np.where(owner == OPPONENT, away[:, 1], away[:, 0])
        is_wanted &= (away >= LEAST_AWAY).all(axis=1) & (away <= MOST_AWAY).all(axis=1) & (owner_away > value)
    rows = np.flatnonzero(is_wanted)
    boards, cubes = np.asarray(corpus.array("turn_boards"))[rows], np.stack([value, owner], axis=1)[rows]
    hashes, first = np.unique(stakes_hashes(boards, away[rows], cubes, sample_seed), return_index=True)
    rows, boards = rows[first], np.ascontiguousarray(boards[first])
    return Candidates(
        boards, away[rows].astype(np.int32), cubes[first].astype(np.int32), games[rows].astype(np.int32),
        turns[rows].astype(np.int32), hashes, position_themes(boards),
    )  # fmt: skip


def stakes_hashes(boards: Array, away: Array, cubes: Array, seed: int) -> Array:
    """Return hashes of decisions, as uint64[n], from int8[n, 26] boards, int[n, 2] points that both players need,
    int[n, 2] cubes (value, owner) and the seed."""
    numbers = np.concatenate([away, cubes], axis=1).astype(np.uint64) @ np.array([1, 32, 1024, 1 << 44], np.uint64)
    with np.errstate(over="ignore"):
        return np.asarray(mix_bits(board_hashes(boards) + mix_bits(numbers) + mix_bits(np.full(1, seed, np.uint64))))


def check_number(found: Candidates, wanted: int, what: str, corpus: Table, hint: str) -> None:
    """Raise InvalidParameterError if fewer turns than `wanted` were found in a corpus. The error calls them `what` and
    ends with `hint`."""
    if len(found.games) < wanted:
        raise InvalidParameterError(
            f"expected {wanted:,} {what} in {corpus.name}, found {len(found.games):,}; try {hint}"
        )


def model_equities(strategy: Strategy, chances: Array, stakes: Stakes, rules: CubeRules) -> CubeEquities:
    """Return the values of the cube actions of the player on roll by a cube model, in points of normalised equity, from
    float32[5] chances."""
    owner, score, cube = OWNER_CODES[stakes.cube.owner], stakes.score, stakes.cube.value
    if isinstance(score, Money):
        return CubeEquities(*money_equities(strategy, chances, owner, score.is_jacoby, False))
    assert rules.met is not None
    game = MatchGame(score.away, score.opponent_away, score.is_crawford)
    values = match_equities(strategy, rules.met.cells, game, cube, owner, chances)
    return CubeEquities(*(in_points(value, stakes, rules) for value in values))
