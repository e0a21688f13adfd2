"""Judges games act by act: the luck of every roll, and the loss of every play and cube action; see `acts`.

The values of the 21 rolls of a position, with the cube, give the worth of every cube action. Plays are evaluated
statically, and the cube model and the stakes convert their chances to values. For each roll the best play is evaluated
`ply` rolls ahead; ties go to the highest cubeless equity. The mean over the rolls is the worth of rolling. The luck of
a roll is its value minus this mean. Luck averages to zero exactly, since all rolls are treated alike.

The first roll decides who begins: its luck is its value minus the mean over both players and their rolls.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.cube import (
    CubeRules,
    Values,
    for_other_side,
    normalised_point,
    position_values,
    why_no_double,
    worth_of_game,
    worth_of_result,
)
from bgdata.evaluation.chances import AnswerSource, Chances, cubeless_equities
from bgdata.evaluation.cube_lookahead import lowest_of
from bgdata.evaluation.lookahead import FILTERS, EvaluationCache
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.roll_values import roll_place
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.match import Money, Stakes
from bgdata.game.play_kernels import batch_plays
from bgdata.game.position import Position
from bgdata.game.rolls import DICE, WAYS
from bgdata.kernel import threads
from bgdata.matches.acts import (
    Act,
    ActKind,
    Candidate,
    CubeValues,
    Judged,
    JudgedGame,
    RecordedGame,
    RollJudgement,
)

CLOSE = 0.16  # in normalised points: a double this close to no double counts as a decision
FIRST_WEIGHTS = np.where(DICE[:, 0] == DICE[:, 1], 0.0, WAYS)  # the first roll of a game is never a double
# sources whose positions exact tables with the cube may have, including contact endgames
UNCONTESTED = [AnswerSource.EXACT, AnswerSource.COMBINED, AnswerSource.RACE_NETWORK, AnswerSource.PROGRAM]
_KEPT = 16  # cached positions: a double, its answer and the next roll have the same one


class Plays(NamedTuple):
    """The plays of the 21 rolls of a position, in the order of `dice.ROLLS`, statically evaluated."""

    offsets: NDArray[np.int64]  # [22] roll r has the rows offsets[r]:offsets[r + 1]
    after: Boards  # [k, 26] for the player who moved
    turned: Boards  # [k, 26] for the OPPONENT, who is on roll
    chances: Chances  # [k, 5] of the opponent
    sources: NDArray[np.int8]  # [k] numbers of `AnswerSource`


class RollValues(NamedTuple):
    """Values of the 21 rolls to the player on roll."""

    static: Values  # [k] of every play, at 0-ply
    values: Values  # [21] of the play that is best at 0-ply, at the ply of the analyst

    def mean(self, weights: Values = WAYS) -> float:
        """Worth of rolling: the mean over the rolls."""
        return float(self.values @ weights / weights.sum())


class Analyst:
    """Computes values of positions from a player's chances, `player.ply` rolls ahead, and the cube model of `rules`.
    Exact tables with the cube are used if the player has any."""

    def __init__(self, player: LookaheadPlayer, rules: CubeRules) -> None:
        self.player, self.rules = player, rules
        self._look = EvaluationCache(player.evaluator)
        self._plays, self._rolls = lru_cache(_KEPT)(self._plays_of), lru_cache(_KEPT)(self._rolls_of)

    def plays(self, board: Boards) -> Plays:
        """All plays of int8[26] board, for the player on roll."""
        return self._plays(board.tobytes())

    def _plays_of(self, key: bytes) -> Plays:
        board = np.frombuffer(key, np.int8)
        with threads(1):  # more threads are slower for so few positions
            offsets, after = batch_plays(board[None].repeat(len(DICE), axis=0), DICE)
        turned = flip_boards(after)
        return Plays(offsets, after, turned, *self._look(turned, 0))

    def rolls(self, board: Boards, stakes: Stakes) -> RollValues:
        """Values of the rolls from int8[26] board to the player on roll, who plays for `stakes`."""
        return self._rolls(board.tobytes(), stakes)

    def _rolls_of(self, key: bytes, stakes: Stakes) -> RollValues:
        self._exact(np.frombuffer(key, np.int8), stakes)  # solves the positions that it leads to, all at once
        plays = self._plays(key)
        static = self._values(plays, slice(None), stakes, 0)
        best = lowest_of(-static, cubeless_equities(plays.chances), plays.offsets)
        return RollValues(
            static, self._values(plays, best, stakes, self.player.ply) if self.player.ply else static[best]
        )

    def rows(self, board: Boards, rows: NDArray[np.int64], stakes: Stakes, ply: int) -> Values:
        """float64[m]: values of the given rows of `plays(board)` to the player on roll, at a ply."""
        return self._values(self.plays(board), rows, stakes, ply)

    def cube(self, board: Boards, stakes: Stakes) -> CubeValues:
        """Values of the cube actions to the player on roll, who may double."""
        return CubeValues(
            self.rolls(board, stakes).mean(),
            self.rolls(board, stakes.after_take()).mean(),
            worth_of_result(stakes.cube.value, stakes, self.rules),
        )

    def _values(self, plays: Plays, rows: NDArray[np.int64] | slice, stakes: Stakes, ply: int) -> Values:
        boards, sources, theirs = plays.turned[rows], plays.sources[rows], stakes.flip()
        chances = self._look(boards, ply).chances if ply else plays.chances[rows]
        found = position_values(chances, theirs, self.rules)
        for row in np.flatnonzero(np.isin(sources, UNCONTESTED)) if self.player.cubes else ():
            exact = self._exact(boards[row], theirs)
            found[row] = found[row] if exact is None else exact
        return for_other_side(found, stakes)

    def _exact(self, board: Boards, stakes: Stakes) -> float | None:
        """The value in the first table that contains the position; None with beavers, which tables do not contain, or
        if the rules exclude tables."""
        if self.rules.has_beavers or self.rules.by_model:
            return None
        found = self.player.exact_worth(Position(board.tolist()), stakes, self.rules)
        is_money = isinstance(stakes.score, Money)
        return found * stakes.cube.value if found is not None and is_money else found


def judge_game(analyst: Analyst, game: RecordedGame) -> Iterator[Judged]:
    """Judge every act of a game, in order. Raises InvalidScoreError for a score beyond the match equity table, and the
    errors of the analyst."""
    now, offered = worth_of_game(game.stakes, analyst.rules), 2  # worth of player 0; factor of the cube
    for place, act in enumerate(game.acts):
        carried = now if act.player == 0 else for_other_side(now, act.stakes)
        if act.kind is ActKind.ROLL:
            found = _judge_roll(analyst, act, carried, is_first=place == 0)
        elif act.kind is ActKind.DOUBLE:
            found, offered = _judge_double(analyst, act, carried), 2
        else:
            found = _judge_answer(analyst, act, carried, offered)
            offered *= 2 if act.kind is ActKind.BEAVER else 1
        now = found.end if act.player == 0 else for_other_side(found.end, act.stakes)
        yield found


def whole_game(analyst: Analyst, game: RecordedGame, acts: list[Judged]) -> JudgedGame:
    """The judged acts of a whole game with its beginning and its end."""
    initial = last = worth_of_game(game.stakes, analyst.rules)
    if acts:
        last = acts[-1].end if acts[-1].act.player == 0 else for_other_side(acts[-1].end, game.stakes)
    if game.result is None:
        return JudgedGame(acts, initial, None, None)
    result = worth_of_result(game.result, game.stakes, analyst.rules)
    return JudgedGame(acts, initial, result, result - last)


def _judge_double(analyst: Analyst, act: Act, carried: float) -> Judged:
    """Judge a double; `carried` is what the player had before."""
    cube = analyst.cube(act.board, act.stakes)
    end = _double_worth(analyst, cube)
    start = max(cube.no_double, end)
    point = normalised_point(act.stakes, analyst.rules)
    return Judged(act, point, start, end, start - carried, None, cube, start - end, None, is_cube_decision=True)


def _judge_roll(analyst: Analyst, act: Act, carried: float, *, is_first: bool) -> Judged:
    """Judge a roll with its play, and the choice of not doubling if there was one."""
    stakes, point = act.stakes, normalised_point(act.stakes, analyst.rules)
    rolls = analyst.rolls(act.board, stakes)
    cube = None if is_first or not stakes.may_double or why_no_double(stakes) else analyst.cube(act.board, stakes)
    before = _mean_of_first(analyst, act, rolls) if is_first else rolls.mean()
    answered = _double_worth(analyst, cube) if cube else -inf
    start, is_close = max(before, answered), before - answered < CLOSE * point
    roll = _judge_play(analyst, act, rolls, before, point)
    return Judged(act, point, start, roll.after, start - carried, roll, cube, start - before, None, is_close)


def _judge_answer(analyst: Analyst, act: Act, carried: float, offered: int) -> Judged:
    """Judge a take, pass or beaver of a cube that was offered at `offered` times its previous value."""
    cube, times, is_on_roll = analyst.cube(act.board, act.stakes), offered // 2, act.player == act.on_roll
    taken, passed = times * cube.double_take, cube.double_pass  # `times` is above 1 only in money play
    if not is_on_roll:
        taken, passed = for_other_side(taken, act.stakes), for_other_side(passed, act.stakes)
    choices = {ActKind.TAKE: taken, ActKind.PASS: passed if times == 1 else -times * float(act.stakes.cube.value)}
    if analyst.rules.has_beavers or act.kind is ActKind.BEAVER:
        choices[ActKind.BEAVER] = 2 * taken
    best = max(choices, key=lambda kind: choices[kind])
    start, end = choices[best], choices[act.kind]
    point = normalised_point(act.stakes, analyst.rules)
    return Judged(act, point, start, end, start - carried, None, cube, start - end, best, is_cube_decision=True)


def _double_worth(analyst: Analyst, cube: CubeValues) -> float:
    """Worth of a double after the best answer."""
    return min(cube.double_worth, 2 * cube.double_take) if analyst.rules.has_beavers else cube.double_worth


def _mean_of_first(analyst: Analyst, act: Act, rolls: RollValues) -> float:
    """The mean over both players and their first rolls, for the player who begins."""
    theirs = analyst.rolls(act.board, act.stakes.flip()).mean(FIRST_WEIGHTS)
    return (rolls.mean(FIRST_WEIGHTS) + for_other_side(theirs, act.stakes)) / 2


def _judge_play(analyst: Analyst, act: Act, rolls: RollValues, before: float, point: float) -> RollJudgement:
    """Judge a roll and its play, which is one of the candidates."""
    assert act.dice is not None
    place = roll_place(*act.dice)
    rolled = float(rolls.values[place])
    plays = analyst.plays(act.board)
    rows = np.arange(plays.offsets[place], plays.offsets[place + 1])
    made = act.board if act.after_play is None else act.after_play
    is_made = (plays.after[rows] == made).all(axis=1)
    if not is_made.any():
        return RollJudgement(before, rolled, rolled, rolled, (), is_forced=True)
    kept, values = _candidates(analyst, act, rolls.static[rows], rows, int(np.argmax(is_made)), point)
    order = np.argsort(-values, kind="stable")
    found = tuple(
        Candidate(plays.after[row], worth) for row, worth in zip(kept[order], values[order].tolist(), strict=True)
    )
    after = float(values[kept == rows[is_made][0]][0])
    return RollJudgement(before, rolled, found[0].worth, after, found, is_forced=len(rows) == 1)


def _candidates(
    analyst: Analyst, act: Act, static: Values, rows: NDArray[np.int64], made: int, point: float
) -> tuple[NDArray[np.int64], Values]:
    """The rows of the candidate plays, and their values at the last ply. Candidates are the plays that pass the filters
    of each ply, the play that was made, and the best one at 0-ply. Equal plays, as before a cash of the opponent, are
    in order of cubeless equity at 0-ply."""
    theirs = cubeless_equities(analyst.plays(act.board).chances)
    always, values = rows[[made, int(np.lexsort((theirs[rows], -static))[0])]], static
    for ply in range(1, analyst.player.ply + 1):
        keep, window = FILTERS[min(ply, len(FILTERS)) - 1]
        order = np.lexsort((theirs[rows], -values))[:keep]
        rows = np.union1d(rows[order[values[order] >= values.max() - window * point]], always)
        values = analyst.rows(act.board, rows, act.stakes, ply)
    return rows, values
