"""The result of a series of games between two players: points per game, and its standard error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.cube_models import CUBE_MODELS
from bgdata.equity.doubling import DEFAULT_STRATEGY, Strategy
from bgdata.equity.match_equity import CROOKED, MOST_AWAY, MatchEquity
from bgdata.errors import UsageError
from bgdata.evaluation.choices import Chooser, require_networks
from bgdata.evaluation.lookahead import MOST_PLY
from bgdata.game.codec import Boards
from bgdata.kernel import in_threads
from bgdata.selfplay.cubeful_games import Book, Terms, fill_matches
from bgdata.selfplay.games import Games, check_numbers


class WinKinds(NamedTuple):
    """How one side won: shares of its wins, NaN if it never won."""

    single: float
    gammon: float
    backgammon: float


@dataclass(frozen=True)
class SeriesResult:
    """The result of a series, for the player named first."""

    games: int
    points_per_game: float
    standard_error: float  # of points_per_game, in points; nan for fewer than two pairs of games
    win_share: float  # games won, whatever they are worth, 0 to 1
    wins: WinKinds
    losses: WinKinds
    mean_turns: float  # rolls of both players

    def __str__(self) -> str:
        """`+0.595 +/- 0.006 points per game in 40,000 games, 62.1 % won`."""
        points = f"{self.points_per_game:+.3f} +/- {self.standard_error:.3f} points per game"
        return f"{points} in {self.games:,} games, {100 * self.win_share:.1f} % won"


def result_of(games: Games) -> SeriesResult:
    """The result of at least one game. Raises UsageError for none.

    The two games with one sequence of dice (numbers 2k and 2k + 1) are one observation, as the luck of the dice cancels
    between them; a game without its partner is an observation by itself.
    """
    count = len(games.outcomes)
    if count == 0:
        raise UsageError("expected at least one game, got none")
    won, lost = (np.bincount(np.maximum(side, 0), minlength=4)[1:] for side in (games.outcomes, -games.outcomes))
    return SeriesResult(
        count,
        float(games.outcomes.mean(dtype=np.float64)),
        pair_error(games.numbers, games.outcomes),
        int(won.sum()) / count,
        _kinds(won),
        _kinds(lost),
        float(games.turns.mean(dtype=np.float64)),
    )


def pair_error(numbers: NDArray[np.int64], points: NDArray[np.number]) -> float:
    """Standard error of the mean of [n] points of the games with these numbers, of which 2k and 2k + 1 depend on each
    other: the ratio estimator of cluster sampling. NaN for fewer than two pairs."""
    _, place = np.unique(numbers // 2, return_inverse=True)
    sums, sizes = np.bincount(place, points), np.bincount(place)
    if len(sums) < 2:
        return float("nan")
    spread = sums - sizes * points.mean(dtype=np.float64)
    squares = float(np.cumsum(spread * spread)[-1])  # in order: BLAS adds in another one on every processor
    return math.sqrt(squares * len(sums) / (len(sums) - 1)) / len(points)


def _kinds(counts: NDArray[np.int64]) -> WinKinds:
    """Shares of wins by kind, from int64[3] counts."""
    total = int(counts.sum())
    return WinKinds(*(int(count) / total if total else float("nan") for count in counts))


TURNS = 96  # turns of a money game, or for each point of a match, that are kept while it is played
GAME_FIELDS = ("score_0", "score_1", "is_crawford", "winner", "points", "cube_value", "way", "turns")


@dataclass(frozen=True)
class CubeSide:
    """How a side handles the cube: by a model with one index for both players. In a match it uses the score, or, with
    `as_money`, plays as for money within the rules of the match. `is_local`: the jump model goes by the volatility of
    each position, and by its own one for cubes that are turned. It chooses plays by cubeless money equity, or, with
    `cubeful_plays`, by the value that positions have with the cube by the same model."""

    strategy: Strategy = DEFAULT_STRATEGY
    as_money: bool = False
    is_local: bool = False
    cubeful_plays: bool = False

    @property
    def row(self) -> tuple[float, ...]:
        """The numbers of this side in `cubeful_games.Terms`."""
        model, index, _, volatility, _ = self.strategy
        return float(model), index, volatility, *map(float, (not self.as_money, self.is_local, self.cubeful_plays))


@dataclass(frozen=True)
class CubefulRules:
    """What is played: money games, with or without the Jacoby rule, or matches to `length` points with a match equity
    table."""

    length: int = 0
    is_jacoby: bool = False
    met: MatchEquity | None = None

    def check(self, sides: tuple[CubeSide, CubeSide]) -> None:
        """Raise UsageError for impossible rules, or rules that do not fit the models."""
        if not 0 <= self.length <= MOST_AWAY:
            raise UsageError(f"expected a match length of 1 to {MOST_AWAY} points, or 0 for money, got {self.length}")
        if self.length and self.is_jacoby:
            raise UsageError(f"expected the jacoby rule in money play only, got it in a match to {self.length}")
        for model in (CUBE_MODELS[side.strategy.model] for side in sides):
            if self.is_jacoby and not model.knows_jacoby:
                raise UsageError(f"expected a model that knows the jacoby rule, got {model.name}")
        by_score = [CUBE_MODELS[side.strategy.model] for side in sides if self.length and not side.as_money]
        for model in by_score:
            if not model.knows_matches:
                raise UsageError(f"expected a model that knows match scores, got {model.name}")
        if by_score:
            self.check_met()

    def check_met(self) -> None:
        """Raise UsageError unless the match equity table has all scores of the match, and favours nobody."""
        if self.met is None:
            raise UsageError("expected a match equity table for a match, got none")
        if self.met.length < self.length or self.met.post_crawford_length < self.length:
            raise UsageError(f"expected a match equity table to {self.length}-away, got {self.met!r}")
        if self.met.asymmetry > CROOKED:
            raise UsageError(f"expected a match equity table that favours nobody, got {self.met.crooked_cell()}")


class CubefulResults(NamedTuple):
    """Games of matches first, first + 1, ..., in order."""

    offsets: NDArray[np.int64]  # [matches + 1] where the games of each begin
    games: NDArray[np.int16]  # [games, (score of player 0, of player 1, is Crawford, winner, points, cube, way, turns)]
    lucks: NDArray[np.float64]  # [matches] of player 0, see `cubeful_games.Ending`; 0 unless it is measured

    def column(self, name: str) -> NDArray[np.int64]:
        """int64[games]: a column by its name in GAME_FIELDS."""
        return self.games[:, GAME_FIELDS.index(name)].astype(np.int64)


class CubefulCorpus(NamedTuple):
    """Games of matches, with every turn; see `cubeful_games.Book`."""

    results: CubefulResults
    first_turns: NDArray[np.int64]  # [games + 1] where the turns of each game begin
    boards: Boards  # [turns, 26]
    after_play: Boards
    records: NDArray[np.int8]  # [turns, 7]
    equities: NDArray[np.float32]  # [turns]


def terms_of(sides: tuple[CubeSide, CubeSide], rules: CubefulRules, *, with_luck: bool = False, ply: int = 0) -> Terms:
    """The rules, and how each side plays, as kernels take them."""
    cells = np.zeros((2, 1, 1)) if rules.met is None else rules.met.cells.copy()
    return Terms(np.array([side.row for side in sides]), cells, rules.length, rules.is_jacoby, with_luck, ply)


def cubeful_results(
    chooser: Chooser,
    sides: tuple[CubeSide, CubeSide],
    rules: CubefulRules,
    count: int,
    seed: int,
    first: int = 0,
    *,
    is_paired: bool = True,
    with_luck: bool = False,
    ply: int = 0,
) -> CubefulResults:
    """Results of matches first, first + 1, ...; a money game is a match of one game. In pairs, 2k and 2k + 1 have the
    same dice for each seat, and the side named first is player 0 in 2k and player 1 in 2k + 1; else it is always player
    0. With `with_luck` the luck of the dice is measured as well, which takes some twenty times as long at 0-ply. Both
    sides look `ply` rolls ahead, to choose plays and to handle the cube.

    Match m of a seed is always the same, on any number of threads and in any batch. Raises UsageError for a player
    without networks, impossible rules, a ply beyond 0 to MOST_PLY, and numbers beyond 0 to 2^63 - 1.
    """
    check_numbers(count, seed, first)
    matches = np.arange(first, first + count)
    found = _play(chooser, sides, rules, matches, seed, 0, ply, is_paired=is_paired, with_luck=with_luck)
    return found[0]


def cubeful_self_play(
    chooser: Chooser,
    sides: tuple[CubeSide, CubeSide],
    rules: CubefulRules,
    count: int,
    seed: int,
    first: int = 0,
    *,
    ply: int = 0,
) -> CubefulCorpus:
    """Matches first, first + 1, ... of a seed, with every turn; player 0 handles the cube as the side named first. A
    money game has the same dice as the cubeless game of its number. Raises what `cubeful_results` raises."""
    check_numbers(count, seed, first)
    matches, room = np.arange(first, first + count), TURNS * max(rules.length, 1)
    results, turns, books = _play(chooser, sides, rules, matches, seed, room, ply)
    parts = [[values.reshape(-1, *values.shape[2:])[:0] for values in books]]
    for row, n in enumerate(turns.tolist()):
        if n <= room:
            parts.append([values[row, :n] for values in books])
        else:  # the few longer ones are played twice
            _, _, longer = _play(chooser, sides, rules, matches[row : row + 1], seed, n, ply)
            parts.append([values[0] for values in longer])
    boards, after_play, records, equities = (np.concatenate(values) for values in zip(*parts, strict=True))
    first_turns = np.concatenate([np.zeros(1, np.int64), np.cumsum(results.column("turns"))])
    return CubefulCorpus(results, first_turns, boards, after_play, records, equities)


def _play(
    chooser: Chooser,
    sides: tuple[CubeSide, CubeSide],
    rules: CubefulRules,
    matches: NDArray[np.int64],
    seed: int,
    room: int,
    ply: int,
    *,
    is_paired: bool = False,
    with_luck: bool = False,
) -> tuple[CubefulResults, NDArray[np.int64], Book]:
    """(results, int64[matches] turns, records of up to `room` turns of each match, with an axis more than a `Book`)."""
    rules.check(sides)
    if with_luck and rules.length:
        rules.check_met()
    require_networks(chooser, "to handle the cube")
    if not 0 <= ply <= MOST_PLY:
        raise UsageError(f"expected a ply from 0 to {MOST_PLY}, got {ply}")
    n = len(matches)
    counts, lucks = np.empty((n, 2), np.int64), np.empty(n, np.float64)
    games = np.empty((n, max(1, 2 * rules.length - 1), len(GAME_FIELDS)), np.int16)
    boards, after_play, records = (np.empty((n, room, width), np.int8) for width in (26, 26, 7))
    books = Book(boards, after_play, records, np.empty((n, room), np.float32))
    terms = terms_of(sides, rules, with_luck=with_luck, ply=ply)
    in_threads(fill_matches, n, chooser, terms, is_paired, seed, matches, counts, lucks, games, books)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts[:, 0])])
    is_played = np.arange(games.shape[1]) < counts[:, :1]
    return CubefulResults(offsets, games[is_played], lucks), counts[:, 1], books
