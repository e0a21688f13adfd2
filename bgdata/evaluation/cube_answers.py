"""The values of cube actions according to other programs and to bgdata's player, in points of normalised equity.

Values are those of the player on roll before the roll: -1 is a lost and 1 a won single game with the present cube, at
any score. gnubg and bgsage use their own match equity tables. Money play has neither the Jacoby rule nor beavers.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.cube import CubeRules, normalised_equity
from bgdata.equity.curves import MAX_VOLATILITY
from bgdata.errors import ExternalProgramError, UnknownPlayerError, needing
from bgdata.evaluation.gnubg import ask_gnubg
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.programs import SEEDS, check_program_ply
from bgdata.evaluation.roll_values import local_volatility_by
from bgdata.game.match import CubeOwner, Money, Stakes
from bgdata.game.position import Position

Values = NDArray[np.float64]
NO_DOUBLE, DOUBLE_TAKE, DOUBLE_PASS = ACTIONS = range(3)  # columns of values
BGSAGE_OWNERS = {CubeOwner.CENTERED: "centered", CubeOwner.ON_ROLL: "player", CubeOwner.OPPONENT: "opponent"}
GNUBG_OWNERS = {CubeOwner.CENTERED: -1, CubeOwner.ON_ROLL: 1, CubeOwner.OPPONENT: 0}


class CubeQuestion(NamedTuple):
    """A cube decision: a position before the roll, and stakes at which the player on roll may double."""

    position: Position
    stakes: Stakes


class CubeRollout(NamedTuple):
    """The result of rolling out a cube decision: the values of no double, double and take, and double and pass; the
    standard errors of the first two values; and the number of games for each action."""

    values: tuple[float, float, float]
    standard_errors: tuple[float, float]
    games: int


class GameLimits(NamedTuple):
    """How many games another program rolls out: at least `least`, then more until both standard errors are at most
    `until` points, but no more than `most`. The program chooses plays and cube actions in these games at `ply`."""

    ply: int
    least: int
    until: float
    most: int


def in_points(value: float, stakes: Stakes, rules: CubeRules) -> float:
    """Convert a value, in points per unit cube (money) or mwc (match), to points of normalised equity."""
    return value if isinstance(stakes.score, Money) else normalised_equity(value, stakes, rules)


# ours


def decided_values(
    player: LookaheadPlayer, questions: Sequence[CubeQuestion], rules: CubeRules, *, local: bool = False
) -> Values:
    """Compute the values of the three cube actions as `player.decide_cube` does: from exact tables, or by looking
    ahead, unless `rules.by_model` is true. If `local` is true, the jump model uses the volatility of each position.
    Returns float64[n, 3]. Raises the errors of `decide_cube`."""
    found = np.empty((len(questions), len(ACTIONS)))
    for row, (position, stakes) in enumerate(questions):
        own = rules
        if local:
            size = min(local_volatility_by(player.evaluator, position), MAX_VOLATILITY)
            own = replace(own, strategy=own.strategy._replace(local_volatility=size))
        decision = player.decide_cube(position, stakes, own)
        values = decision.equities.no_double, decision.equities.double_take, decision.equities.double_pass
        found[row] = [in_points(value, stakes, own) for value in values]
    return found


# gnubg

PREPARED = """
import gnubg, json
for command in ["set player 0 human", "set player 1 human", "set automatic game off", "set automatic roll off",
                "set automatic move off", "set automatic bearoff off", "set display off", "set beavers 0",
                "new session", "set turn 1"]:
    gnubg.command(command)
questions = json.loads('QUESTIONS')
"""
EVALUATED = """
context = gnubg.evalcontext(1, PLY, 1, 0, 0.0)
for position, xgid, away, cube, owner in questions:
    length = max(away)
    info = gnubg.cubeinfo(cube, owner, 1, length, (length - away[1], length - away[0]), 0)
    info["jacoby"], info["beavers"] = 0, 0
    tell(json.dumps(gnubg.cfevaluate(gnubg.positionfromid(position), info, context)[1:4]))
"""
ROLLED_OUT = """
for command in ["set rollout seed SEED", "set rollout trials MOST", "set rollout cubeful on",
                "set rollout varredn on", "set rollout quasirandom on", "set rollout truncation enable off",
                "set rollout chequerplay plies PLY", "set rollout cubedecision plies PLY",
                "set rollout limit enable LIMITED", "set rollout limit minimumgames LEAST",
                "set rollout limit maxerror UNTIL"]:
    gnubg.command(command)
for position, xgid, *_ in questions:
    for command in ["set xgid " + xgid, "set jacoby off", "double", "previous", "analyse move",
                    "analyse rollout cube"]:
        gnubg.command(command)
    found = gnubg.match(1, 1, 0, 1)["games"][0]["game"][-1]
    answer, info = found["analysis"], gnubg.cubeinfo()
    def points(value):
        return gnubg.mwc2eq(value, info) if info["matchto"] else value
    def error(name):
        value, size = answer[name + "-cubeful-eq"], answer[name + "-cubeful-eq-std"]
        return points(value + size) - points(value)
    values = [points(answer[name + "-cubeful-eq"]) for name in ("nd", "dt")]
    tell(json.dumps([gnubg.positionid(), answer["type"], *values, error("nd"), error("dt"), answer["trials"]]))
"""


def gnubg_values(questions: Sequence[CubeQuestion], ply: int) -> Values:
    """Return the values of the three cube actions according to gnubg at a ply, as float64[n, 3]. Raises
    UnknownPlayerError if gnubg is not installed or does not look that far ahead, and ExternalProgramError if it does
    not answer as expected."""
    check_program_ply("gnubg", ply)
    told = gnubg_answers(EVALUATED.replace("PLY", str(ply)), questions)
    return np.array(told, np.float64).reshape(-1, len(ACTIONS))


def roll_out_by_gnubg(question: CubeQuestion, limits: GameLimits, seed: int) -> CubeRollout:
    """Let gnubg roll a cube decision out: cubeful games to the end, with variance reduction and stratified first rolls.
    Raises UnknownPlayerError and ExternalProgramError as `gnubg_values` does."""
    check_program_ply("gnubg", limits.ply)
    words = {
        "SEED": seed % SEEDS, "MOST": limits.most, "PLY": limits.ply, "LIMITED": "on" if limits.until < 1 else "off",
        "LEAST": limits.least, "UNTIL": limits.until,
    }  # fmt: skip
    script = ROLLED_OUT
    for name, word in words.items():
        script = script.replace(name, str(word))
    ((board, kind, *figures, games),) = gnubg_answers(script, [question])
    if kind != "rollout" or Position(board) != question.position:
        raise ExternalProgramError(f"expected a rollout of {question.position.id} by gnubg, got {kind} of {board}")
    return CubeRollout((figures[0], figures[1], 1.0), (figures[2], figures[3]), games)


def gnubg_answers(script: str, questions: Sequence[CubeQuestion]) -> list[Any]:
    """Run a script inside gnubg for each question, and return its answers in order. Raises UnknownPlayerError if gnubg
    is not installed, and ExternalProgramError if it does not answer as expected."""
    from bgdata.game.identifiers import format_xgid
    from bgdata.game.match_state import MatchState

    rows = []
    for position, stakes in questions:
        score = stakes.score
        away = (0, 0) if isinstance(score, Money) else (score.away, score.opponent_away)
        xgid = format_xgid(position, MatchState.from_stakes(stakes)).partition("=")[2]
        rows.append((position.id, xgid, away, stakes.cube.value, GNUBG_OWNERS[stakes.cube.owner]))
    return answers_of_gnubg(script, rows)


def answers_of_gnubg(script: str, rows: Sequence[Any]) -> list[Any]:
    """Return the answers of a script to each row of `questions`, for money or a match. Raises UnknownPlayerError if
    gnubg is not installed, and ExternalProgramError unless there is an answer for each row."""
    with tempfile.TemporaryDirectory(prefix="gnubg-") as folder:
        told = ask_gnubg(PREPARED.replace("QUESTIONS", json.dumps(rows)) + script, Path(folder))
    if len(told) != len(rows):
        raise ExternalProgramError(f"expected {len(rows)} answers of gnubg, got {len(told)}")
    return [json.loads(answer) for answer in told]


# bgsage


def bgsage_values(questions: Sequence[CubeQuestion], ply: int) -> Values:
    """Return the values of the three cube actions according to bgsage at a ply, counted from 0, as float64[n, 3].
    Raises UnknownPlayerError if bgsage is not installed or does not look that far ahead."""
    check_program_ply("bgsage", ply)
    analyzer = bgsage_analyzer(eval_level=f"{ply + 1}ply")
    answers = [bgsage_answer(analyzer, question) for question in questions]
    rows = [(answer.equity_nd, answer.equity_dt, 1.0) for answer in answers]
    return np.array(rows, np.float64).reshape(-1, len(ACTIONS))


def roll_out_by_bgsage(question: CubeQuestion, limits: GameLimits, seed: int) -> CubeRollout:
    """Let bgsage roll a cube decision out: cubeful games to the end, in rounds of `limits.least` games, each round with
    a different seed. Raises UnknownPlayerError as `bgsage_values` does."""
    check_program_ply("bgsage", limits.ply)
    analyzer = bgsage_analyzer(
        eval_level="rollout", n_trials=limits.least, truncation_depth=0, decision_ply=limits.ply + 1, parallel_threads=1
    )
    rounds = list[tuple[float, float, float, float]]()
    while not rounds or (len(rounds) * limits.least < limits.most and max(mean_standard_errors(rounds)) > limits.until):
        analyzer.set_seed((seed + len(rounds)) % SEEDS)
        found = bgsage_answer(analyzer, question)
        rounds.append((found.equity_nd, found.equity_dt, found.equity_nd_se, found.equity_dt_se))
    no_double, taken = (float(value) for value in np.mean(rounds, axis=0)[:2])
    return CubeRollout((no_double, taken, 1.0), mean_standard_errors(rounds), len(rounds) * limits.least)


def mean_standard_errors(rounds: Sequence[tuple[float, float, float, float]]) -> tuple[float, float]:
    """Compute the standard errors of two values that are means over independent rounds. A round is (two values, two
    standard errors)."""
    first, second = (float(size) for size in np.sqrt(np.square(np.array(rounds)[:, 2:]).sum(axis=0)) / len(rounds))
    return first, second


def bgsage_analyzer(**settings: Any) -> Any:
    """Create an analyzer of the package bgsage with these settings. Raises UnknownPlayerError if bgsage is not
    installed."""
    with needing("oracles", "in this environment", UnknownPlayerError):
        bgsage: Any = import_module("bgsage")
    return bgsage.BgBotAnalyzer(**settings)


def bgsage_answer(analyzer: Any, question: CubeQuestion) -> Any:
    """Return bgsage's answer to a cube decision."""
    (position, stakes), score = question, question.stakes.score
    where: dict[str, int] = {"jacoby": False, "beaver": False}
    if not isinstance(score, Money):
        where |= {"away1": score.away, "away2": score.opponent_away}
    return analyzer.cube_action(list(position.board), stakes.cube.value, BGSAGE_OWNERS[stakes.cube.owner], **where)
