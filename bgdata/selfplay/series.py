"""Series of games with the cube, money games and whole matches. A network plays them in a kernel, recorded with every
turn or as results in pairs; any two players that evaluate positions can play them too.

In `play_cubeful` all unfinished matches advance roll by roll, and each player evaluates many positions at a time. A
player chooses plays by cubeless money equity, and handles the cube by Janowski's model from its own chances, at the
score. So results measure how well a player plays and evaluates, not its own cube handling. Rules and dice are the same
as in `cubeful_games`: a network against itself plays the same games.

One network measures luck for both sides, as in `cubeful_games`: the value of a position after its best play, with the
cube and the score, minus the mean of that value over all rolls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.cube_models import CUBE_MODELS
from bgdata.equity.doubling import CONSTANT_STRATEGY, Strategy
from bgdata.equity.match_cube import MatchGame
from bgdata.equity.match_equity import MAX_AWAY, SYMMETRY_TOLERANCE, MatchEquity
from bgdata.errors import UsageError
from bgdata.evaluation.chances import Chances, Evaluator
from bgdata.evaluation.choices import Chooser, require_networks
from bgdata.evaluation.lookahead import MAX_PLY
from bgdata.evaluation.player import Player, as_evaluator
from bgdata.evaluation.roll_values import RollScratch, fill_roll_values, new_roll_scratch, roll_place
from bgdata.game.board_kernels import game_outcomes
from bgdata.game.codec import Boards
from bgdata.game.random import dice_of, opening_dice_of, random_bits, random_stream
from bgdata.kernel import Array, in_threads, kernel
from bgdata.selfplay.cubeful_games import (
    GAME_TURNS,
    LIKELY_FOR_LUCK,
    MAX_CUBE,
    NOBODY,
    PASSED,
    Book,
    Moment,
    Terms,
    doubles,
    fill_matches,
    play_stakes,
    roll_luck,
    takes,
)
from bgdata.selfplay.games import START, check_numbers, checked_choices

Numbers: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = NDArray[np.bool_]
TURNS = 96  # turns recorded while a money game is played; in a match, for each point
GAME_FIELDS = ("score_0", "score_1", "is_crawford", "winner", "points", "cube_value", "way", "turns")


@dataclass(frozen=True)
class CubeSide:
    """How one side handles the cube and chooses plays. `strategy` is its cube model, with one index for both players.
    In a match the model uses the score. If `as_money` is true, the side plays as for money within the rules of the
    match. If `is_local` is true, the jump model uses the volatility of each position, and its own volatility for cubes
    that have been turned. Plays are chosen by cubeless money equity, or, if `cubeful_plays` is true, by their value
    with the cube by the same model."""

    strategy: Strategy = CONSTANT_STRATEGY
    as_money: bool = False
    is_local: bool = False
    cubeful_plays: bool = False

    @property
    def row(self) -> tuple[float, ...]:
        """This side as a row of numbers in `cubeful_games.Terms`."""
        model, index, _, volatility, *_ = self.strategy
        return float(model), index, volatility, *map(float, (not self.as_money, self.is_local, self.cubeful_plays))


@dataclass(frozen=True)
class CubefulRules:
    """The rules of games with the cube: money games, with or without the Jacoby rule, or matches to `length` points
    with a match equity table."""

    length: int = 0
    is_jacoby: bool = False
    met: MatchEquity | None = None

    def check(self, sides: tuple[CubeSide, CubeSide]) -> None:
        """Raise UsageError if the rules contradict each other, or if the cube model of a side cannot play by them."""
        if not 0 <= self.length <= MAX_AWAY:
            raise UsageError(f"expected a match length of 1 to {MAX_AWAY} points, or 0 for money, got {self.length}")
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
        """Raise UsageError unless the match equity table covers the match and is symmetric."""
        if self.met is None:
            raise UsageError("expected a match equity table for a match, got none")
        if self.met.length < self.length or self.met.post_crawford_length < self.length:
            raise UsageError(f"expected a match equity table to {self.length}-away, got {self.met!r}")
        if self.met.asymmetry > SYMMETRY_TOLERANCE:
            raise UsageError(f"expected a match equity table that favours nobody, got {self.met.asymmetric_cell()}")


class CubefulResults(NamedTuple):
    """The games of matches first, first + 1, ..., in order."""

    offsets: NDArray[np.int64]  # [matches + 1] first row of the games of each match
    games: NDArray[np.int16]  # [games, (score of player 0, of player 1, is Crawford, winner, points, cube, way, turns)]
    lucks: NDArray[np.float64]  # [matches] luck of player 0, see `cubeful_games.Ending`; 0 unless measured

    def column(self, name: str) -> NDArray[np.int64]:
        """Return the column called `name`, one of GAME_FIELDS, as int64[games]."""
        return self.games[:, GAME_FIELDS.index(name)].astype(np.int64)


class CubefulCorpus(NamedTuple):
    """The games of matches, with every turn; see `cubeful_games.Book`."""

    results: CubefulResults
    first_turns: NDArray[np.int64]  # [games + 1] first row of the turns of each game
    boards: Boards  # [turns, 26]
    after_play: Boards
    records: NDArray[np.int8]  # [turns, 7]
    equities: NDArray[np.float32]  # [turns]


def terms_of(sides: tuple[CubeSide, CubeSide], rules: CubefulRules, *, with_luck: bool = False, ply: int = 0) -> Terms:
    """Return the rules, and how each side plays, in the form that kernels take."""
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
    """Play matches first, first + 1, ... of a seed, and return the results without turns. A money game is a match of
    one game. If `is_paired`, matches 2k and 2k + 1 use the same dice for each seat, and the side named first is player
    0 in 2k and player 1 in 2k + 1; else it is always player 0. Both sides look `ply` rolls ahead, to choose plays and
    to handle the cube. Measuring luck takes about twenty times as long at 0-ply.

    Match m of a seed is always the same, on any number of threads and in any batch. Raises UsageError if the player has
    no networks, the rules are impossible, `ply` is outside 0 to MAX_PLY, or a number is outside 0 to 2^63 - 1."""
    check_numbers(count, seed, first)
    terms = _terms(chooser, sides, rules, ply, with_luck=with_luck)
    return _play(chooser, terms, np.arange(first, first + count), seed, 0, is_paired=is_paired)[0]


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
    """Play matches first, first + 1, ... of a seed, and return them with every turn. Player 0 handles the cube as the
    side named first. A money game uses the same dice as the cubeless game of the same number. Raises the errors of
    `cubeful_results`."""
    check_numbers(count, seed, first)
    terms, matches = _terms(chooser, sides, rules, ply), np.arange(first, first + count)
    room = TURNS * max(rules.length, 1)
    results, turns, books = _play(chooser, terms, matches, seed, room)
    parts = [[values.reshape(-1, *values.shape[2:])[:0] for values in books]]
    for row, n in enumerate(turns.tolist()):
        if n <= room:
            parts.append([values[row, :n] for values in books])
        else:  # the few longer matches are played twice
            _, _, longer = _play(chooser, terms, matches[row : row + 1], seed, n)
            parts.append([values[0] for values in longer])
    boards, after_play, records, equities = (np.concatenate(values) for values in zip(*parts, strict=True))
    first_turns = np.concatenate([np.zeros(1, np.int64), np.cumsum(results.column("turns"))])
    return CubefulCorpus(results, first_turns, boards, after_play, records, equities)


def _terms(
    chooser: Chooser, sides: tuple[CubeSide, CubeSide], rules: CubefulRules, ply: int, *, with_luck: bool = False
) -> Terms:
    """Check the rules and the ply, and return them, with how each side plays, in the form that kernels take."""
    rules.check(sides)
    if with_luck and rules.length:
        rules.check_met()
    require_networks(chooser, "to handle the cube")
    if not 0 <= ply <= MAX_PLY:
        raise UsageError(f"expected a ply from 0 to {MAX_PLY}, got {ply}")
    return terms_of(sides, rules, with_luck=with_luck, ply=ply)


def _play(
    chooser: Chooser, terms: Terms, matches: Numbers, seed: int, room: int, *, is_paired: bool = False
) -> tuple[CubefulResults, Numbers, Book]:
    """Play matches in a kernel. Returns their results, the number of turns of each match (int64[matches]), and the
    records of up to `room` turns of each match: a `Book` with the matches as first axis."""
    n = len(matches)
    counts, lucks = np.empty((n, 2), np.int64), np.empty(n, np.float64)
    games = np.empty((n, max(1, 2 * terms.length - 1), len(GAME_FIELDS)), np.int16)
    boards, after_play, records = (np.empty((n, room, width), np.int8) for width in (26, 26, 7))
    books = Book(boards, after_play, records, np.empty((n, room), np.float32))
    in_threads(fill_matches, n, chooser, terms, is_paired, seed, matches, counts, lucks, games, books)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts[:, 0])])
    is_played = np.arange(games.shape[1]) < counts[:, :1]
    return CubefulResults(offsets, games[is_played], lucks), counts[:, 1], books


SIDES = (CubeSide(), CubeSide())
_SCORE, _PAST, _ON_ROLL, _CUBE, _OWNER, _ROLLS, _GAME = (slice(0, 2), *range(2, 8))  # columns of `_Table.state`


def play_cubeful(
    players: tuple[Player, Player],
    rules: CubefulRules,
    count: int,
    seed: int,
    first: int = 0,
    estimator: Chooser | None = None,
) -> CubefulResults:
    """Play matches first, first + 1, ... of a seed between two players, and return the results. A money game is a match
    of one game. Matches 2k and 2k + 1 use the same dice for each seat: the player named first is player 0 in 2k, and
    player 1 in 2k + 1. `turns` of games count rolls. An estimator, which must have networks, measures luck.

    Match m of a seed between the same players is always the same, in any batch. Raises UsageError if a player does not
    evaluate positions, the rules are impossible, or a number is outside 0 to 2^63 - 1, and InvalidPositionError if a
    player returns boards that are not positions."""
    check_numbers(count, seed, first)
    rules.check(SIDES)
    if estimator is not None:
        require_networks(estimator, "to estimate luck")
    judges = [as_evaluator(player.label, player) for player in players]
    table = _Table(np.arange(first, first + count), rules, seed)
    while len(table.rows):
        table.begin_games()
        passed = _turn_cubes(table, judges)
        _end_games(table, passed, table.state[:, _ON_ROLL], table.state[:, _CUBE], PASSED)
        _play_rolls(table, players, estimator)
        table.leave()
    return table.results()


class _Table:
    """The state of all unfinished matches, one row each, and the games that are over. A seat is 0 or 1; the players
    change seats in every second match."""

    def __init__(self, matches: Numbers, rules: CubefulRules, seed: int) -> None:
        self.matches, self.rules, self.seed = matches, rules, seed
        self.rows = np.arange(len(matches))  # unfinished matches
        self.state = np.zeros((len(matches), 8), np.int64)
        self.boards = np.empty((len(matches), 26), np.int8)
        self.dice = np.empty((len(matches), 2), np.int8)
        self.is_new = np.ones(len(matches), np.bool_)  # whether a new game begins
        self.is_over = np.zeros(len(matches), np.bool_)
        self.lucks = np.zeros(len(matches))
        self.games: list[tuple[Numbers, Numbers]] = []  # places of matches, and rows of GAME_FIELDS
        self.terms = terms_of(SIDES, rules, with_luck=True)

    @property
    def moments(self) -> Numbers:
        """The state of each match before a turn, as int64[n, 6]: who is on roll, cube value, cube owner, points that
        the player on roll needs, points that the opponent needs, whether it is the Crawford game."""
        on_roll = self.state[:, _ON_ROLL]
        away = self.rules.length - self.state[:, _SCORE]
        own, other = (away[np.arange(len(away)), seat] for seat in (on_roll, 1 - on_roll))
        columns = on_roll, self.state[:, _CUBE], self.state[:, _OWNER], own, other, self.is_crawford
        return np.stack(columns, axis=1).astype(np.int64)

    @property
    def is_crawford(self) -> Rows:
        """Whether the current game of each match is the Crawford game, as bool[n]."""
        away = self.rules.length - self.state[:, _SCORE]
        found: Rows = (self.state[:, _PAST] == 0) & ((away[:, 0] == 1) != (away[:, 1] == 1)) & (self.rules.length > 0)
        return found

    def seats(self, rows: Numbers, seats: Numbers) -> Numbers:
        """Return the players who have these seats in these rows, as int64[n]; 0 is the player named first."""
        return (seats + self.matches[self.rows[rows]]) % 2

    def begin_games(self) -> None:
        """Set up new games, and roll to decide who begins."""
        new = np.flatnonzero(self.is_new)
        self.boards[new] = START
        self.state[new, _CUBE], self.state[new, _OWNER], self.state[new, _ROLLS] = 1, NOBODY, 0
        fill_dice(self.seed, self.matches[self.rows] // 2, self.state[:, _GAME], self.state[:, _ROLLS], self.dice)
        self.state[new, _ON_ROLL] = self.dice[new, 0] < self.dice[new, 1]
        self.is_new[:] = False

    def leave(self) -> None:
        """Remove finished matches from the table."""
        goes_on = ~self.is_over
        if not goes_on.all():
            for name in ("rows", "state", "boards", "dice", "is_new", "is_over"):
                setattr(self, name, getattr(self, name)[goes_on])

    def results(self) -> CubefulResults:
        """Return the results of all games, in the order of their matches."""
        places = np.concatenate([np.zeros(0, np.int64), *(places for places, _ in self.games)])
        games = np.concatenate([np.zeros((0, len(GAME_FIELDS)), np.int64), *(rows for _, rows in self.games)])
        order = np.argsort(places, kind="stable")
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(places, minlength=len(self.matches)))])
        return CubefulResults(offsets, games[order].astype(np.int16), self.lucks)


def _turn_cubes(table: _Table, judges: list[Evaluator]) -> Rows:
    """Ask the players on roll whether they double, and their opponents whether they take. Returns in which matches a
    double was passed, as bool[n]."""
    on_roll, owner = table.state[:, _ON_ROLL], table.state[:, _OWNER]
    may = (table.state[:, _ROLLS] > 0) & (owner != 1 - on_roll) & (table.state[:, _CUBE] < MAX_CUBE)
    rows = np.flatnonzero(may & ~table.is_crawford)
    doubled = rows[_decisions(table, judges, rows, on_roll[rows], is_answer=False)]
    is_taken = _decisions(table, judges, doubled, 1 - on_roll[doubled], is_answer=True)
    taken = doubled[is_taken]
    table.state[taken, _OWNER] = 1 - on_roll[taken]
    table.state[taken, _CUBE] *= 2
    passed = np.zeros(len(table.rows), np.bool_)
    passed[doubled[~is_taken]] = True
    return passed


def _decisions(table: _Table, judges: list[Evaluator], rows: Numbers, seats: Numbers, *, is_answer: bool) -> Rows:
    """Return whether the players on these seats double in these rows, as bool[n]. If `is_answer` is true, return
    whether they take. Each player decides by the chances of its own evaluator."""
    found, chances = np.zeros(len(rows), np.bool_), np.empty((len(rows), 5), np.float32)
    players = table.seats(rows, seats)
    for number, judge in enumerate(judges):
        own = np.flatnonzero(players == number)
        if len(own):
            chances[own] = judge.evaluate_many(table.boards[rows[own]]).chances
    in_threads(fill_decisions, len(rows), table.terms, is_answer, table.moments[rows], chances, found)
    return found


def _play_rolls(table: _Table, players: tuple[Player, Player], estimator: Chooser | None) -> None:
    """Let the players on roll play their rolls in all matches, and end the games that are over."""
    rows = np.flatnonzero(~table.is_new & ~table.is_over)
    on_roll, rolls, chosen = table.state[rows, _ON_ROLL], table.state[rows, _ROLLS], np.empty((len(rows), 26), np.int8)
    seats = table.seats(rows, on_roll)
    for number, player in enumerate(players):
        own = np.flatnonzero(seats == number)
        if len(own):
            choices = checked_choices(player, table.boards[rows[own]], table.dice[rows[own]], table.rows[rows[own]], 0)
            chosen[own] = choices
    table.state[rows, _ON_ROLL], table.state[rows, _ROLLS] = 1 - on_roll, rolls + 1
    if estimator is not None:  # luck belongs to the player who rolled; its opponent is now on roll
        lucks, moments = np.empty(len(rows)), table.moments[rows]
        arrays = table.boards[rows], table.dice[rows], moments, rolls == 0, lucks
        in_threads(fill_lucks, len(rows), estimator, table.terms, *arrays)
        table.lucks[table.rows[rows]] += np.where(moments[:, 0] == 1, lucks, -lucks)
    table.boards[rows] = chosen
    ways = np.zeros(len(table.rows), np.int64)
    ways[rows] = -game_outcomes(chosen)  # from the side of the player who moved; its opponent is on roll
    cubes = table.state[:, _CUBE]
    ways_won = np.where((table.rules.length == 0) & table.rules.is_jacoby & (table.state[:, _OWNER] == NOBODY), 1, ways)
    _end_games(table, ways != 0, 1 - table.state[:, _ON_ROLL], ways_won * cubes, ways_won)


def _end_games(table: _Table, is_over: Rows, winners: Numbers, points: Numbers, ways: Numbers | int) -> None:
    """Record the games that are over, and mark their matches so that the next game begins."""
    rows = np.flatnonzero(is_over)
    won, by = winners[rows], points[rows]
    before, state = table.state[rows].copy(), table.state
    is_crawford = table.is_crawford[rows]
    way = np.broadcast_to(ways, is_over.shape)[rows]
    columns = before[:, 0], before[:, 1], is_crawford, won, by, before[:, _CUBE], way, before[:, _ROLLS]
    table.games.append((table.rows[rows], np.stack(columns, axis=1).astype(np.int64)))
    state[rows, won] += by
    state[rows, _PAST] |= is_crawford
    state[rows, _GAME] += 1
    table.is_new[rows] = True
    table.is_over[rows] = state[rows, _SCORE].max(axis=1, initial=0) >= table.rules.length


@kernel()
def fill_dice(seed: int, pairs: Numbers, games: Numbers, rolls: Numbers, dice: NDArray[np.int8]) -> None:
    """Fill dice[row, 0:2] with roll rolls[row] of game games[row] in match pair pairs[row]. The first roll is not a
    double."""
    for row in range(len(pairs)):
        bits = random_bits(random_stream(seed, pairs[row]), GAME_TURNS * games[row] + rolls[row])
        dice[row, 0], dice[row, 1] = opening_dice_of(bits) if rolls[row] == 0 else dice_of(bits)


@kernel()
def moment_of(row: Numbers) -> Moment:
    """Return the `Moment` that a row of `_Table.moments` describes."""
    return Moment(row[0], row[1], row[2], MatchGame(row[3], row[4], row[5] != 0))


@kernel()
def fill_decisions(
    begin: int, end: int, terms: Terms, is_answer: bool, moments: Numbers, chances: Chances, found: Rows
) -> None:
    """Decide about doubles for rows begin:end. Fills found[row] with whether the player on roll doubles by its
    chances[row, 0:5], or, if `is_answer` is true, whether the opponent takes by these same chances of the player on
    roll."""
    for row in range(begin, end):
        if is_answer:
            found[row] = takes(terms, moment_of(moments[row]), chances[row])
        else:
            found[row] = doubles(terms, moment_of(moments[row]), chances[row], terms.sides[0, 2])


@kernel()
def fill_lucks(
    begin: int,
    end: int,
    chooser: Chooser,
    terms: Terms,
    boards: Boards,
    dice: NDArray[np.int8],
    moments: Numbers,
    is_opening: Rows,
    found: Array,
) -> None:
    """Fill found[row] with the luck of dice[row, 0:2] for the player who rolled them in boards[row, slot], for rows
    begin:end. moments[row] is the moment after the roll."""
    scratch = new_roll_scratch(chooser.networks)
    for row in range(begin, end):
        place, moment = roll_place(dice[row, 0], dice[row, 1]), moment_of(moments[row])
        found[row] = luck_of(chooser, terms, moment, boards[row], place, is_opening[row], scratch)


@kernel(borrows=True)  # a kernel that counts references would free the borrowed result of `play_stakes`
def luck_of(
    chooser: Chooser, terms: Terms, opponent: Moment, board: Boards, place: int, is_opening: bool, scratch: RollScratch
) -> float:
    """Return the luck of the roll with index `place` at board[0:26], for the player who rolled it. `opponent` is the
    moment after it."""
    stakes = play_stakes(terms, opponent, 1 - opponent.on_roll)
    fill_roll_values(chooser.networks, chooser.tables, LIKELY_FOR_LUCK, board, scratch, stakes)
    return roll_luck(terms, opponent, scratch, place, is_opening)
