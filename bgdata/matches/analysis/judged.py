"""Games judged act by act: the luck of every roll, what every play and cube action lost; see `acts` for what the
numbers are.

The first roll decides who begins: its luck is what it is worth less the mean over both players and their rolls.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.cube import Worths, normalised_point, seen_by_other, why_no_double, worth_of_game, worth_of_result
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.lookahead import FILTERS
from bgdata.evaluation.roll_values import roll_place
from bgdata.matches.analysis.acts import (
    Act,
    ActKind,
    Candidate,
    CubeWorths,
    Judged,
    JudgedGame,
    RecordedGame,
    RollJudgement,
)
from bgdata.matches.analysis.outlook import FIRST_WEIGHTS, Analyst, RollWorths

CLOSE = 0.16  # in normalised points: a double this close to no double is a decision


def judge_game(analyst: Analyst, game: RecordedGame) -> Iterator[Judged]:
    """Every act of a game, judged in order. Raises InvalidScoreError for a score that the match equity table does not
    have, and what the analyst raises."""
    now, offered = worth_of_game(game.stakes, analyst.rules), 2  # of player 0; times the cube
    for place, act in enumerate(game.acts):
        carried = now if act.player == 0 else seen_by_other(now, act.stakes)
        if act.kind is ActKind.ROLL:
            found = _judge_roll(analyst, act, carried, is_first=place == 0)
        elif act.kind is ActKind.DOUBLE:
            found, offered = _judge_double(analyst, act, carried), 2
        else:
            found = _judge_answer(analyst, act, carried, offered)
            offered *= 2 if act.kind is ActKind.BEAVER else 1
        now = found.end if act.player == 0 else seen_by_other(found.end, act.stakes)
        yield found


def whole_game(analyst: Analyst, game: RecordedGame, acts: list[Judged]) -> JudgedGame:
    """The judged acts of a whole game with its beginning and its end."""
    initial = last = worth_of_game(game.stakes, analyst.rules)
    if acts:
        last = acts[-1].end if acts[-1].act.player == 0 else seen_by_other(acts[-1].end, game.stakes)
    if game.result is None:
        return JudgedGame(acts, initial, None, None)
    result = worth_of_result(game.result, game.stakes, analyst.rules)
    return JudgedGame(acts, initial, result, result - last)


def _judge_double(analyst: Analyst, act: Act, carried: float) -> Judged:
    """A double; `carried` is what the player had before."""
    cube = analyst.cube(act.board, act.stakes)
    end = _answered(analyst, cube)
    start = max(cube.no_double, end)
    point = normalised_point(act.stakes, analyst.rules)
    return Judged(act, point, start, end, start - carried, None, cube, start - end, None, is_cube_decision=True)


def _judge_roll(analyst: Analyst, act: Act, carried: float, *, is_first: bool) -> Judged:
    """A roll with its play, and with the choice of not doubling where there is one."""
    stakes, point = act.stakes, normalised_point(act.stakes, analyst.rules)
    rolls = analyst.rolls(act.board, stakes)
    cube = None if is_first or not stakes.may_double or why_no_double(stakes) else analyst.cube(act.board, stakes)
    before = _mean_of_first(analyst, act, rolls) if is_first else rolls.mean()
    answered = _answered(analyst, cube) if cube else -inf
    start, is_close = max(before, answered), before - answered < CLOSE * point
    roll = _judge_play(analyst, act, rolls, before, point)
    return Judged(act, point, start, roll.after, start - carried, roll, cube, start - before, None, is_close)


def _judge_answer(analyst: Analyst, act: Act, carried: float, offered: int) -> Judged:
    """A take, pass or beaver of a cube that was offered at so many times its value before."""
    cube, times, is_on_roll = analyst.cube(act.board, act.stakes), offered // 2, act.player == act.on_roll
    taken, passed = times * cube.double_take, cube.double_pass  # several times only in money play
    if not is_on_roll:
        taken, passed = seen_by_other(taken, act.stakes), seen_by_other(passed, act.stakes)
    choices = {ActKind.TAKE: taken, ActKind.PASS: passed if times == 1 else -times * float(act.stakes.cube.value)}
    if analyst.rules.has_beavers or act.kind is ActKind.BEAVER:
        choices[ActKind.BEAVER] = 2 * taken
    best = max(choices, key=lambda kind: choices[kind])
    start, end = choices[best], choices[act.kind]
    point = normalised_point(act.stakes, analyst.rules)
    return Judged(act, point, start, end, start - carried, None, cube, start - end, best, is_cube_decision=True)


def _answered(analyst: Analyst, cube: CubeWorths) -> float:
    """What a double is worth if it is answered best."""
    return min(cube.answered, 2 * cube.double_take) if analyst.rules.has_beavers else cube.answered


def _mean_of_first(analyst: Analyst, act: Act, rolls: RollWorths) -> float:
    """The mean over both players and their first rolls, seen by the one who has won the first roll."""
    theirs = analyst.rolls(act.board, act.stakes.flip()).mean(FIRST_WEIGHTS)
    return (rolls.mean(FIRST_WEIGHTS) + seen_by_other(theirs, act.stakes)) / 2


def _judge_play(analyst: Analyst, act: Act, rolls: RollWorths, before: float, point: float) -> RollJudgement:
    """A roll, and its play among the candidates."""
    assert act.dice is not None
    place = roll_place(*act.dice)
    rolled = float(rolls.worths[place])
    plays = analyst.plays(act.board)
    rows = np.arange(plays.offsets[place], plays.offsets[place + 1])
    made = act.board if act.after_play is None else act.after_play
    is_made = (plays.after[rows] == made).all(axis=1)
    if not is_made.any():
        return RollJudgement(before, rolled, rolled, rolled, (), is_forced=True)
    kept, worths = _candidates(analyst, act, rolls.static[rows], rows, int(np.argmax(is_made)), point)
    order = np.argsort(-worths, kind="stable")
    found = tuple(
        Candidate(plays.after[row], worth) for row, worth in zip(kept[order], worths[order].tolist(), strict=True)
    )
    after = float(worths[kept == rows[is_made][0]][0])
    return RollJudgement(before, rolled, found[0].worth, after, found, is_forced=len(rows) == 1)


def _candidates(
    analyst: Analyst, act: Act, static: Worths, rows: NDArray[np.int64], made: int, point: float
) -> tuple[NDArray[np.int64], Worths]:
    """The rows of the plays that pass the filters of each ply, of the play that was made, and of the one that is best
    at 0-ply; and their worths at the last ply. Of plays that are worth the same, as where the opponent will cash after
    each, those of the higher cubeless equity at 0-ply come first."""
    theirs = cubeless_equities(analyst.plays(act.board).chances)
    always, worths = rows[[made, int(np.lexsort((theirs[rows], -static))[0])]], static
    for ply in range(1, analyst.player.ply + 1):
        keep, window = FILTERS[min(ply, len(FILTERS)) - 1]
        order = np.lexsort((theirs[rows], -worths))[:keep]
        rows = np.union1d(rows[order[worths[order] >= worths.max() - window * point]], always)
        worths = analyst.rows(act.board, rows, act.stakes, ply)
    return rows, worths
