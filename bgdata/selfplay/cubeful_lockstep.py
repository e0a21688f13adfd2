"""Games with the cube, money games and whole matches, between any two players that evaluate positions.

`cubeful_games` plays a network against itself in a kernel. Here all unfinished matches advance roll by roll, and each
player is asked for many positions at a time: it chooses plays by cubeless money equity, and handles the cube by
Janowski's model from its own chances, at the score. So results say how well a player plays and evaluates, not how good
its own cube handling is. The rules and the dice are those of `cubeful_games`: a network against itself plays the very
same games.

Luck is measured as there, for both sides by one network: the value of a position after its best play, with the cube
and the score, less the mean of that over all rolls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.match_cube import MatchGame
from bgdata.evaluation.chances import Chances, Evaluator
from bgdata.evaluation.choices import Chooser, require_networks
from bgdata.evaluation.player import as_evaluator
from bgdata.evaluation.roll_values import RollScratch, fill_roll_values, new_roll_scratch, roll_place
from bgdata.game.board_kernels import game_outcomes
from bgdata.game.codec import Boards
from bgdata.game.random import dice_of, opening_dice_of, random_bits, random_stream
from bgdata.kernel import Array, in_threads, kernel
from bgdata.selfplay.cubeful_games import (
    GAME_TURNS,
    LIKELY_FOR_LUCK,
    MOST_CUBE,
    NOBODY,
    PASSED,
    Moment,
    Terms,
    doubles,
    play_stakes,
    roll_luck,
    takes,
)
from bgdata.selfplay.games import START, check_numbers, checked_choices
from bgdata.selfplay.series import GAME_FIELDS, CubefulResults, CubefulRules, CubeSide, terms_of

if TYPE_CHECKING:
    from bgdata.evaluation.player import Player

Numbers: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = NDArray[np.bool_]
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
    """Matches first, first + 1, ... of a seed; a money game is a match of one game. Matches 2k and 2k + 1 have the same
    dice for each seat: the player named first is player 0 in 2k, and player 1 in 2k + 1. `turns` of games are rolls.
    With an estimator, which must have networks, the luck of the dice is measured.

    Match m of a seed between the same players is always the same, in any batch. Raises UsageError for a player that
    does not evaluate positions, impossible rules, and numbers beyond 0 to 2^63 - 1, and InvalidPositionError if a
    player's answers are not positions.
    """
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
    """The matches, and the state of those that go on, one row each: the seats of players are 0 and 1."""

    def __init__(self, matches: Numbers, rules: CubefulRules, seed: int) -> None:
        self.matches, self.rules, self.seed = matches, rules, seed
        self.rows = np.arange(len(matches))  # which of them go on
        self.state = np.zeros((len(matches), 8), np.int64)
        self.boards = np.empty((len(matches), 26), np.int8)
        self.dice = np.empty((len(matches), 2), np.int8)
        self.is_new = np.ones(len(matches), np.bool_)  # whether a game begins
        self.is_over = np.zeros(len(matches), np.bool_)
        self.lucks = np.zeros(len(matches))
        self.games: list[tuple[Numbers, Numbers]] = []  # places of matches, and rows of GAME_FIELDS
        self.terms = terms_of(SIDES, rules, with_luck=True)

    @property
    def moments(self) -> Numbers:
        """int64[n, 6]: on roll, cube value, owner, away, opponent's away, whether it is the Crawford game."""
        on_roll = self.state[:, _ON_ROLL]
        away = self.rules.length - self.state[:, _SCORE]
        own, other = (away[np.arange(len(away)), seat] for seat in (on_roll, 1 - on_roll))
        columns = on_roll, self.state[:, _CUBE], self.state[:, _OWNER], own, other, self.is_crawford
        return np.stack(columns, axis=1).astype(np.int64)

    @property
    def is_crawford(self) -> Rows:
        """bool[n]: whether this is the Crawford game."""
        away = self.rules.length - self.state[:, _SCORE]
        found: Rows = (self.state[:, _PAST] == 0) & ((away[:, 0] == 1) != (away[:, 1] == 1)) & (self.rules.length > 0)
        return found

    def seats(self, rows: Numbers, seats: Numbers) -> Numbers:
        """int64[n]: which of the two players, in order of name, sits on these seats."""
        return (seats + self.matches[self.rows[rows]]) % 2

    def begin_games(self) -> None:
        """Set up those that are new, and roll for who begins."""
        new = np.flatnonzero(self.is_new)
        self.boards[new] = START
        self.state[new, _CUBE], self.state[new, _OWNER], self.state[new, _ROLLS] = 1, NOBODY, 0
        fill_dice(self.seed, self.matches[self.rows] // 2, self.state[:, _GAME], self.state[:, _ROLLS], self.dice)
        self.state[new, _ON_ROLL] = self.dice[new, 0] < self.dice[new, 1]
        self.is_new[:] = False

    def leave(self) -> None:
        """Forget matches that are over."""
        goes_on = ~self.is_over
        if not goes_on.all():
            self.rows, self.state, self.boards = self.rows[goes_on], self.state[goes_on], self.boards[goes_on]
            self.dice, self.is_new, self.is_over = self.dice[goes_on], self.is_new[goes_on], self.is_over[goes_on]

    def results(self) -> CubefulResults:
        """All games, in order of matches."""
        places = np.concatenate([np.zeros(0, np.int64), *(places for places, _ in self.games)])
        games = np.concatenate([np.zeros((0, len(GAME_FIELDS)), np.int64), *(rows for _, rows in self.games)])
        order = np.argsort(places, kind="stable")
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(places, minlength=len(self.matches)))])
        return CubefulResults(offsets, games[order].astype(np.int16), self.lucks)


def _turn_cubes(table: _Table, judges: list[Evaluator]) -> Rows:
    """Turn the cubes that are doubled and taken; bool[n] where a double was passed."""
    on_roll, owner = table.state[:, _ON_ROLL], table.state[:, _OWNER]
    may = (table.state[:, _ROLLS] > 0) & (owner != 1 - on_roll) & (table.state[:, _CUBE] < MOST_CUBE)
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
    """bool[n]: whether the players on these seats double in these rows, or take, each by its own chances."""
    found, chances = np.zeros(len(rows), np.bool_), np.empty((len(rows), 5), np.float32)
    players = table.seats(rows, seats)
    for number, judge in enumerate(judges):
        own = np.flatnonzero(players == number)
        if len(own):
            chances[own] = judge.evaluate_many(table.boards[rows[own]]).chances
    in_threads(fill_decisions, len(rows), table.terms, is_answer, table.moments[rows], chances, found)
    return found


def _play_rolls(table: _Table, players: tuple[Player, Player], estimator: Chooser | None) -> None:
    """Have every roll played, and end the games that are over by it."""
    rows = np.flatnonzero(~table.is_new & ~table.is_over)
    on_roll, rolls, chosen = table.state[rows, _ON_ROLL], table.state[rows, _ROLLS], np.empty((len(rows), 26), np.int8)
    seats = table.seats(rows, on_roll)
    for number, player in enumerate(players):
        own = np.flatnonzero(seats == number)
        if len(own):
            choices = checked_choices(player, table.boards[rows[own]], table.dice[rows[own]], table.rows[rows[own]], 0)
            chosen[own] = choices
    table.state[rows, _ON_ROLL], table.state[rows, _ROLLS] = 1 - on_roll, rolls + 1
    if estimator is not None:  # the opponent of who rolled is on roll already
        lucks, moments = np.empty(len(rows)), table.moments[rows]
        arrays = table.boards[rows], table.dice[rows], moments, rolls == 0, lucks
        in_threads(fill_lucks, len(rows), estimator, table.terms, *arrays)
        table.lucks[table.rows[rows]] += np.where(moments[:, 0] == 1, lucks, -lucks)
    table.boards[rows] = chosen
    ways = np.zeros(len(table.rows), np.int64)
    ways[rows] = -game_outcomes(chosen)  # of who has played: the opponent is on roll
    cubes = table.state[:, _CUBE]
    ways_won = np.where((table.rules.length == 0) & table.rules.is_jacoby & (table.state[:, _OWNER] == NOBODY), 1, ways)
    _end_games(table, ways != 0, 1 - table.state[:, _ON_ROLL], ways_won * cubes, ways_won)


def _end_games(table: _Table, is_over: Rows, winners: Numbers, points: Numbers, ways: Numbers | int) -> None:
    """Note the games that are over, and begin the next ones of their matches."""
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
    """Fills dice[row, 0:2] with roll rolls[row] of game games[row] of the matches of pairs[row]; the first one is no
    double."""
    for row in range(len(pairs)):
        bits = random_bits(random_stream(seed, pairs[row]), GAME_TURNS * games[row] + rolls[row])
        dice[row, 0], dice[row, 1] = opening_dice_of(bits) if rolls[row] == 0 else dice_of(bits)


@kernel()
def moment_of(row: Numbers) -> Moment:
    """A row of moments."""
    return Moment(row[0], row[1], row[2], MatchGame(row[3], row[4], row[5] != 0))


@kernel()
def fill_decisions(
    begin: int, end: int, terms: Terms, is_answer: bool, moments: Numbers, chances: Chances, found: Rows
) -> None:
    """Fills found[row] with whether the player on roll doubles by chances[row, 0:5], or with `is_answer` whether the
    opponent takes by these chances of the player on roll, for rows begin:end."""
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
    """Fills found[row] with the luck of dice[row, 0:2] for who rolled them in boards[row, slot], where moments[row] is
    after it, for rows begin:end."""
    scratch = new_roll_scratch(chooser.networks)
    for row in range(begin, end):
        place, moment = roll_place(dice[row, 0], dice[row, 1]), moment_of(moments[row])
        found[row] = luck_of(chooser, terms, moment, boards[row], place, is_opening[row], scratch)


@kernel(borrows=True)  # what `play_stakes` returns is borrowed: a kernel that counts references would free it
def luck_of(
    chooser: Chooser, terms: Terms, opponent: Moment, board: Boards, place: int, is_opening: bool, scratch: RollScratch
) -> float:
    """The luck of roll `place` for who rolled it in board[slot]; `opponent` is the moment after it."""
    stakes = play_stakes(terms, opponent, 1 - opponent.on_roll)
    fill_roll_values(chooser.networks, chooser.tables, LIKELY_FOR_LUCK, board, scratch, stakes)
    return roll_luck(terms, opponent, scratch, place, is_opening)
