"""Judges games act by act: the luck of every roll, and the loss of every play and cube action; see `acts`.

The values of the 21 rolls of a position, with the cube, give the value of every cube action. Plays are evaluated
statically, and the cube model and the stakes convert their chances to values. For each roll the best play is evaluated
`ply` rolls ahead; ties go to the highest cubeless equity. The mean over the rolls is the value before the roll. The
luck of a roll is its value minus this mean. Luck averages to zero exactly, since all rolls are treated alike.

The first roll decides who begins: its luck is its value minus the mean over both players and their rolls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
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
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import AnswerSource, Chances, Evaluations, cubeless_equities
from bgdata.evaluation.cube_lookahead import after_decisions, kernel_stakes, lowest_in_group, static_values
from bgdata.evaluation.lookahead import FILTERS, EvaluationCache
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.roll_values import roll_place
from bgdata.game.board import CHECKERS
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.match import CubeOwner, Money, Stakes
from bgdata.game.play_kernels import batch_plays
from bgdata.game.rolls import DICE, WAYS
from bgdata.kernel import threads
from bgdata.matches.acts import (
    Act,
    ActKind,
    Candidate,
    CubeValues,
    JudgedAct,
    JudgedGame,
    RecordedGame,
    RollJudgement,
)

CLOSE = 0.16  # normalised points: a double counts as a decision if it is this close to no double
FIRST_WEIGHTS = np.where(DICE[:, 0] == DICE[:, 1], 0.0, WAYS)  # the first roll of a game is never a double
_KEPT = 1024  # number of positions whose plays are cached, some 30 kB each
_FEW = 8  # fewer positions are evaluated on one thread
BATCH = 256  # acts that are prepared together


class Plays(NamedTuple):
    """The legal plays of each of the 21 rolls from a position, in the order of `dice.ROLLS`, with static
    evaluations."""

    offsets: NDArray[np.int64]  # [22] roll r has the rows offsets[r]:offsets[r + 1]
    after: Boards  # [k, 26] for the player who moved
    turned: Boards  # [k, 26] for the OPPONENT, who is on roll
    chances: Chances  # [k, 5] of the opponent
    sources: NDArray[np.int8]  # [k] numbers of `AnswerSource`


def joined_plays(found: Sequence[Plays]) -> Plays:
    """Join the plays of several positions in one table, with 21 rolls for each position."""
    if len(found) == 1:
        return found[0]
    counts = np.concatenate([np.diff(each.offsets) for each in found])
    _, *tables = zip(*found, strict=True)
    return Plays(np.concatenate([[0], np.cumsum(counts)]), *(np.concatenate(table) for table in tables))


class RollValues(NamedTuple):
    """The values of the 21 rolls to the player on roll."""

    static: Values  # [k] value of every play, at 0-ply
    values: Values  # [21] value of the play that is best at 0-ply, at the ply of the analyst

    def mean(self, weights: Values = WAYS) -> float:
        """Return the value before the roll: the mean over the rolls, with these weights."""
        return float(self.values @ weights / weights.sum())


class Analyst:
    """Computes values of positions. Chances are a player's, `player.ply` rolls ahead; the cube model of `rules`
    converts them to values.

    In money play without beavers, the player's two-sided table gives the values with the cube where it covers a
    position. Races at match scores are judged by the model, because solving each of them would take longer than
    everything else.

    `prepare` computes the values of many acts at once. They are the same, to the last bit, as values computed one at a
    time."""

    def __init__(self, player: LookaheadPlayer, rules: CubeRules) -> None:
        self.player, self.rules = player, rules
        self._look = EvaluationCache(player.evaluator)
        self._point = lru_cache(_KEPT)(partial(normalised_point, rules=rules))
        self._plays: dict[bytes, Plays] = {}
        self._rolls: dict[tuple[bytes, Stakes], RollValues] = {}

    def prepare(self, acts: Sequence[Act], *, starts_game: bool) -> None:
        """Compute everything that judging these acts needs, all positions of a ply together. `starts_game` says that
        the first act is the first of a game."""
        self._add_plays(dict.fromkeys(act.board.tobytes() for act in acts))
        self._add_rolls(
            dict.fromkeys(
                (act.board.tobytes(), stakes)
                for place, act in enumerate(acts)
                for stakes in _stakes_of_values(act, is_first=starts_game and place == 0)
            )
        )
        rolls = [act for act in acts if act.kind is ActKind.ROLL]
        for ply in range(1, self.player.ply + 1):
            boards = [self.plays(act.board).turned[_candidate_rows(self, act, ply)] for act in rolls]
            self._look(np.concatenate([np.zeros((0, 26), np.int8), *boards]), ply)

    def plays(self, board: Boards) -> Plays:
        """Return the legal plays of all rolls from int8[26] board, for the player on roll."""
        key = board.tobytes()
        if key not in self._plays:
            self._add_plays([key])
        return self._plays[key]

    def rolls(self, board: Boards, stakes: Stakes) -> RollValues:
        """Return the values of all rolls from int8[26] board to the player on roll, who plays for `stakes`."""
        key = board.tobytes(), stakes
        if key not in self._rolls:
            self._add_rolls([key])
        return self._rolls[key]

    def _add_plays(self, boards: Iterable[bytes]) -> None:
        """Compute and cache the plays from these boards, unless they are cached already."""
        missing = [key for key in boards if key not in self._plays]
        if not missing:
            return
        if len(self._plays) + len(missing) > _KEPT:
            self._plays.clear()
            self._rolls.clear()
        n, table = len(DICE), np.frombuffer(b"".join(missing), np.int8).reshape(-1, 26)
        with threads(1 if len(missing) < _FEW else None):  # more threads are slower for few positions
            offsets, after = batch_plays(np.repeat(table, n, axis=0), np.tile(DICE, (len(missing), 1)))
            turned = flip_boards(after)
            chances, sources = self._look(turned, 0)
        for number, key in enumerate(missing):
            ends = offsets[n * number : n * number + n + 1]
            own = slice(ends[0], ends[-1])
            self._plays[key] = Plays(ends - ends[0], after[own], turned[own], chances[own], sources[own])

    def _add_rolls(self, keys: Iterable[tuple[bytes, Stakes]]) -> None:
        """Compute and cache the values of the rolls from these boards with these stakes, unless they are cached
        already."""
        missing = [key for key in keys if key not in self._rolls]
        self._add_plays(dict.fromkeys(board for board, _ in missing))
        groups: dict[Stakes, list[bytes]] = {}
        for board, stakes in missing:
            groups.setdefault(stakes, []).append(board)
        found = {stakes: self._static_rolls(stakes, boards) for stakes, boards in groups.items()}
        if self.player.ply and missing:
            self._look(np.concatenate([plays.turned[best] for plays, _, best in found.values()]), self.player.ply)
        for stakes, (plays, static, best) in found.items():
            values = self._values(plays, best, stakes, self.player.ply) if self.player.ply else static[best]
            end = 0
            for number, board in enumerate(groups[stakes]):
                begin, end = end, end + len(self._plays[board].after)
                own = values[len(DICE) * number : len(DICE) * (number + 1)]
                self._rolls[board, stakes] = RollValues(static[begin:end], own)

    def _static_rolls(self, stakes: Stakes, boards: Sequence[bytes]) -> tuple[Plays, Values, NDArray[np.int64]]:
        """Return the plays from all boards in one table, their values at 0-ply, and the row of the best play of each
        roll."""
        plays = joined_plays([self._plays[board] for board in boards])
        static = self._values(plays, slice(None), stakes, 0)
        return plays, static, lowest_in_group(-static, cubeless_equities(plays.chances), plays.offsets)

    def rows(self, board: Boards, rows: NDArray[np.int64], stakes: Stakes, ply: int) -> Values:
        """Return the values of `plays(board)` in these rows to the player on roll, who plays for `stakes`, at a ply, as
        float64[m]."""
        return self._values(self.plays(board), rows, stakes, ply)

    def cube(self, board: Boards, stakes: Stakes) -> CubeValues:
        """Return the values of the cube actions to the player on roll, who may double."""
        return CubeValues(
            self.rolls(board, stakes).mean(),
            self.rolls(board, stakes.after_take()).mean(),
            worth_of_result(stakes.cube.value, stakes, self.rules),
        )

    def point(self, stakes: Stakes) -> float:
        """Return the value of one point of normalised equity with these stakes, in mwc or points."""
        return self._point(stakes)

    def _values(self, plays: Plays, rows: NDArray[np.int64] | slice, stakes: Stakes, ply: int) -> Values:
        boards, sources, theirs = plays.turned[rows], plays.sources[rows], stakes.flip()
        chances = self._look(boards, ply).chances if ply else plays.chances[rows]
        found = position_values(chances, theirs, self.rules)
        self._fill_exact(boards, Evaluations(chances, sources), theirs, found)
        return for_other_side(found, stakes)

    def _fill_exact(self, boards: Boards, answers: Evaluations, stakes: Stakes, values: Values) -> None:
        """In money play, replace values[n] of boards by exact values where the two-sided table covers them. The table
        does not consider beavers, nor a centered cube under the Jacoby rule while gammons are possible."""
        tables = getattr(self.player.evaluator, "tables", NO_TABLES)
        if not isinstance(stakes.score, Money) or self.rules.has_beavers or self.rules.by_model:
            return
        is_open = answers.sources == AnswerSource.EXACT
        if stakes.score.is_jacoby and stakes.cube.owner is CubeOwner.CENTERED:
            is_open &= (np.maximum(boards, 0).sum(axis=1) < CHECKERS) & (np.minimum(boards, 0).sum(axis=1) > -CHECKERS)
        rows = np.flatnonzero(is_open)
        kernel, some = kernel_stakes(stakes, self.rules), Evaluations(answers.chances[rows], answers.sources[rows])
        exact, is_final = static_values(tables, kernel, boards[rows], some)
        decided = after_decisions(kernel, exact)[:, 0, kernel.owner]
        values[rows[is_final]] = stakes.cube.value * decided[is_final]


def judge_game(analyst: Analyst, game: RecordedGame) -> Iterator[JudgedAct]:
    """Judge every act of a game, and yield them in order. Raises InvalidScoreError for a score beyond the match equity
    table, and the errors of the analyst."""
    now, offered = worth_of_game(game.stakes, analyst.rules), 2  # value for player 0; factor of the cube
    for place, act in enumerate(game.acts):
        if place % BATCH == 0:
            analyst.prepare(game.acts[place : place + BATCH], starts_game=place == 0)
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


def whole_game(analyst: Analyst, game: RecordedGame, acts: list[JudgedAct]) -> JudgedGame:
    """Return the judged acts of a whole game, with its values at the beginning and at the end."""
    initial = last = worth_of_game(game.stakes, analyst.rules)
    if acts:
        last = acts[-1].end if acts[-1].act.player == 0 else for_other_side(acts[-1].end, game.stakes)
    if game.result is None:
        return JudgedGame(acts, initial, None, None)
    result = worth_of_result(game.result, game.stakes, analyst.rules)
    return JudgedGame(acts, initial, result, result - last)


def _judge_double(analyst: Analyst, act: Act, carried: float) -> JudgedAct:
    """Judge a double. `carried` is the value that the previous act left to the player."""
    cube = analyst.cube(act.board, act.stakes)
    end = _double_worth(analyst, cube)
    start = max(cube.no_double, end)
    point = analyst.point(act.stakes)
    return JudgedAct(act, point, start, end, start - carried, None, cube, start - end, None, is_cube_decision=True)


def _judge_roll(analyst: Analyst, act: Act, carried: float, *, is_first: bool) -> JudgedAct:
    """Judge a roll with its play, and the choice not to double if the player could double. `carried` is the value that
    the previous act left to the player."""
    stakes, point = act.stakes, analyst.point(act.stakes)
    rolls = analyst.rolls(act.board, stakes)
    cube = analyst.cube(act.board, stakes) if _has_double(act, is_first=is_first) else None
    before = _mean_of_first(analyst, act, rolls) if is_first else rolls.mean()
    answered = _double_worth(analyst, cube) if cube else -inf
    start, is_close = max(before, answered), before - answered < CLOSE * point
    roll = _judge_play(analyst, act, rolls, before)
    return JudgedAct(act, point, start, roll.after, start - carried, roll, cube, start - before, None, is_close)


def _judge_answer(analyst: Analyst, act: Act, carried: float, offered: int) -> JudgedAct:
    """Judge a take, pass or beaver. The cube was offered at `offered` times its previous value; `carried` is the value
    that the previous act left to the player."""
    cube, times, is_on_roll = analyst.cube(act.board, act.stakes), offered // 2, act.player == act.on_roll
    taken, passed = times * cube.double_take, cube.double_pass  # `times` is above 1 only in money play
    if not is_on_roll:
        taken, passed = for_other_side(taken, act.stakes), for_other_side(passed, act.stakes)
    choices = {ActKind.TAKE: taken, ActKind.PASS: passed if times == 1 else -times * float(act.stakes.cube.value)}
    if analyst.rules.has_beavers or act.kind is ActKind.BEAVER:
        choices[ActKind.BEAVER] = 2 * taken
    best = max(choices, key=lambda kind: choices[kind])
    start, end = choices[best], choices[act.kind]
    point = analyst.point(act.stakes)
    return JudgedAct(act, point, start, end, start - carried, None, cube, start - end, best, is_cube_decision=True)


def _double_worth(analyst: Analyst, cube: CubeValues) -> float:
    """Return the value of a double after the opponent's best answer."""
    return min(cube.double_worth, 2 * cube.double_take) if analyst.rules.has_beavers else cube.double_worth


def _mean_of_first(analyst: Analyst, act: Act, rolls: RollValues) -> float:
    """Return the value of the start to the player who begins: the mean over both players and their first rolls."""
    theirs = analyst.rolls(act.board, act.stakes.flip()).mean(FIRST_WEIGHTS)
    return (rolls.mean(FIRST_WEIGHTS) + for_other_side(theirs, act.stakes)) / 2


def _judge_play(analyst: Analyst, act: Act, rolls: RollValues, before: float) -> RollJudgement:
    """Judge a roll and its play, which is one of the candidates. `before` is the value before the roll."""
    assert act.dice is not None
    plays, rolled = analyst.plays(act.board), float(rolls.values[roll_place(*act.dice)])
    made = _made_rows(plays, act)
    if not len(made):
        return RollJudgement(before, rolled, rolled, rolled, (), is_forced=True)
    kept, values = _candidates(analyst, act, analyst.player.ply)
    order = np.argsort(-values, kind="stable")
    found = tuple(
        Candidate(plays.after[row], worth) for row, worth in zip(kept[order], values[order].tolist(), strict=True)
    )
    after = float(values[kept == made[0]][0])
    return RollJudgement(before, rolled, found[0].worth, after, found, is_forced=len(_roll_rows(plays, act)) == 1)


def _candidates(analyst: Analyst, act: Act, ply: int) -> tuple[NDArray[np.int64], Values]:
    """Return the rows of the candidate plays, and their values at a ply. At 0-ply all plays of the roll are
    candidates."""
    if ply > 0:
        rows = _candidate_rows(analyst, act, ply)
        return rows, analyst.rows(act.board, rows, act.stakes, ply)
    rows = _roll_rows(analyst.plays(act.board), act)
    return rows, analyst.rolls(act.board, act.stakes).static[rows]


def _candidate_rows(analyst: Analyst, act: Act, ply: int) -> NDArray[np.int64]:
    """Return the rows of the plays that are evaluated at a ply of 1 or more; empty if the play that was made is not
    legal.

    These are the plays that pass the filters of each ply, the play that was made, and the best play at 0-ply. Plays
    with equal values, such as plays before a double that the opponent should pass, are in order of cubeless equity at
    0-ply."""
    plays = analyst.plays(act.board)
    made = _made_rows(plays, act)
    if not len(made):
        return made
    theirs, (rows, values) = cubeless_equities(plays.chances), _candidates(analyst, act, ply - 1)
    everything, static = _candidates(analyst, act, 0)
    always = everything[[int(np.lexsort((theirs[everything], -static))[0])]]
    keep, window = FILTERS[min(ply, len(FILTERS)) - 1]
    order = np.lexsort((theirs[rows], -values))[:keep]
    passing = values[order] >= values.max() - window * analyst.point(act.stakes)
    found: NDArray[np.int64] = np.unique(np.concatenate([rows[order[passing]], always, made[:1]]))
    return found


def _roll_rows(plays: Plays, act: Act) -> NDArray[np.int64]:
    """Return the rows of the plays that are legal with the roll of an act."""
    assert act.dice is not None
    place = roll_place(*act.dice)
    return np.arange(plays.offsets[place], plays.offsets[place + 1])


def _made_rows(plays: Plays, act: Act) -> NDArray[np.int64]:
    """Return the row of the play that was made; empty if the play is not legal."""
    rows = _roll_rows(plays, act)
    made = act.board if act.after_play is None else act.after_play
    is_made = (plays.after[rows] == made).all(axis=1)
    return rows[np.flatnonzero(is_made)]


def _has_double(act: Act, *, is_first: bool) -> bool:
    """Return whether the player on roll could double before the act."""
    return not is_first and act.stakes.may_double and not why_no_double(act.stakes)


def _stakes_of_values(act: Act, *, is_first: bool) -> Iterator[Stakes]:
    """Yield the stakes with which the values of rolls are needed to judge an act."""
    yield act.stakes
    if act.kind is not ActKind.ROLL or _has_double(act, is_first=is_first):
        yield act.stakes.after_take()
    if act.kind is ActKind.ROLL and is_first:
        yield act.stakes.flip()
