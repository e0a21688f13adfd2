"""Rollouts with the cube in play: the value of a position when a player with networks plays both sides to the end, and
both turn the cube by a model.

Plays are chosen by their value with the cube, statically or one roll ahead; the cube is turned by static chances. The
luck of every roll, in points of the game or in mwc, is subtracted: it averages to zero whatever the model, so the mean
stays the same and the standard error falls. First and second rolls are stratified as in `rollout`, and positions of one
item have the same dice.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.cube import CubeRules, check_rules
from bgdata.equity.doubling import check_money
from bgdata.equity.worth import normalised_point
from bgdata.errors import InvalidParameterError, UsageError
from bgdata.evaluation.choices import Chooser, require_networks
from bgdata.evaluation.lookahead_player import RankedPlay
from bgdata.game.codec import Boards
from bgdata.game.match import CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import Position
from bgdata.kernel import in_threads
from bgdata.play.cubeful_games import NOBODY, Terms
from bgdata.play.cubeful_rollout_kernels import TrialSettings, fill_cubeful_blocks
from bgdata.play.cubeful_series import CubefulRules, CubeSide
from bgdata.play.rollout import PLAIN, Limits, RolloutSettings, Values, numbers_of
from bgdata.play.rollout_kernels import BLOCK, fill_statistics

_OWNERS = {CubeOwner.CENTERED: NOBODY, CubeOwner.ON_ROLL: 0, CubeOwner.OPPONENT: 1}


class CubefulStart(NamedTuple):
    """A position to roll out, and what is played for, both seen by the player on roll."""

    board: Boards  # [26]
    stakes: Stakes
    may_double: bool = True  # whether it may turn the cube before the first roll


def decision_starts(position: Position, stakes: Stakes) -> dict[str, CubefulStart]:
    """The actions of the player on roll before the roll, by name."""
    board = np.array(position.board, np.int8)
    starts = {"no double": CubefulStart(board, stakes, may_double=False)}
    if stakes.may_double:
        starts["double, take"] = CubefulStart(board, stakes.after_take(), may_double=False)
    return starts


def play_starts(ranked: list[RankedPlay], stakes: Stakes, within: float, most: int) -> dict[str, CubefulStart]:
    """The better plays by name, two or more if there are; the opponent is on roll after them, and may double."""
    chosen = [row for place, row in enumerate(ranked[:most]) if place < 2 or row.loss <= within]
    return {
        str(row.play): CubefulStart(np.array(row.play.next_position.board, np.int8), stakes.flip()) for row in chosen
    }


class CubefulRollout(NamedTuple):
    """One row a position, for the player on roll: points per unit of the first position's cube, or mwc. `point` is what
    a point of normalised equity is in that unit: 1, or mwc."""

    values: Values  # [n]
    standard_errors: Values  # [n]
    plain_standard_errors: Values  # [n] what those were if luck had not been subtracted
    trials: NDArray[np.int64]  # [n]
    blocks: Values  # [n, blocks] means of 36 trials less luck: differences between rows are more accurate
    point: float


def roll_out_with_cube(
    starts: list[CubefulStart],
    chooser: Chooser,
    rules: CubeRules,
    limits: Limits,
    seed: int = 0,
    settings: RolloutSettings = PLAIN,
    items: NDArray[np.int64] | None = None,
) -> CubefulRollout:
    """Roll out positions, at least one, all for the same score, in rounds of `limits.trials` until every standard error
    is at most `limits.until` points of normalised equity, up to `limits.most_trials`. In matches both sides go by the
    score unless `rules` are as for money.

    Position i has the dice of items[i] of the seed (by default i). The result does not depend on the number of threads.
    Of the settings, games are not cut short: they go to their end, in money play to an exact table. Raises UsageError
    for numbers out of range, a player without networks and games that are cut short, InvalidParameterError for rules
    that do not fit the stakes, and InvalidPositionError.
    """
    limits.check()
    if (settings.stop, settings.turns) != (PLAIN.stop, PLAIN.turns):
        raise UsageError(
            "expected neither --stop nor --truncate with the cube in play, whose games go to an end; try: --cubeless"
        )
    require_networks(chooser, "to handle the cube")
    boards = np.array([start.board for start in starts], np.int8)
    numbers, stakes = numbers_of(boards, items), starts[0].stakes
    terms = terms_of(stakes, rules, with_luck=settings.with_luck, ply=settings.play_ply)
    cubes = [start.stakes.cube for start in starts]
    rows = [(cube.value, _OWNERS[cube.owner], start.may_double) for cube, start in zip(cubes, starts, strict=True)]
    game = [game_of(start.stakes) for start in starts]
    arrays = boards, np.array(rows, np.int64), np.array(game, np.int64), numbers
    numbered, count = settings.for_kernels(seed), 0
    kernel_settings = TrialSettings(numbered.seed, numbered.likely, numbered.ahead)
    blocks = np.empty((len(boards), 0, 2))
    while True:
        found = np.empty((len(boards), limits.trials // BLOCK, 2))
        size = found.shape[0] * found.shape[1]
        in_threads(fill_cubeful_blocks, size, chooser, terms, kernel_settings, *arrays, count, found)
        blocks, count = np.concatenate([blocks, found], axis=1), count + found.shape[1]
        result = result_of(blocks, stakes, rules)
        if count * BLOCK >= limits.most_trials or (result.standard_errors <= limits.until * result.point).all():
            return result


def terms_of(stakes: Stakes, rules: CubeRules, *, with_luck: bool, ply: int) -> Terms:
    """What the games are played for, and how both sides play at a ply and handle the cube. Raises UsageError and
    InvalidParameterError, also for what the games do not know: beavers, two cube life indexes, local volatility."""
    check_rules(stakes, rules)
    if rules.has_beavers:
        raise InvalidParameterError("expected rollouts without beavers, got them")
    model = rules.strategy
    if (model.cube_life_index, model.volatility) != (model.opponent_cube_life_index, model.local_volatility):
        raise InvalidParameterError("expected rollouts with one cube life index, and one volatility, got two")
    score = stakes.score
    length = max(score.away, score.opponent_away) if isinstance(score, MatchScore) else 0
    is_jacoby = isinstance(score, Money) and score.is_jacoby
    check_money(rules.strategy, stakes.cube.owner, is_jacoby=is_jacoby)
    side = CubeSide(rules.strategy, rules.as_money, cubeful_plays=True)
    played = CubefulRules(length, is_jacoby, rules.met)
    played.check((side, side))
    if length:
        played.check_met()
    cells = np.zeros((2, 1, 1)) if rules.met is None else rules.met.cells.copy()
    return Terms(np.array([side.row, side.row]), cells, length, is_jacoby, with_luck, ply)


def game_of(stakes: Stakes) -> tuple[int, int, bool]:
    """The score as the numbers of a `MatchGame`, 0 for money."""
    score = stakes.score
    return (0, 0, False) if isinstance(score, Money) else (score.away, score.opponent_away, score.is_crawford)


def result_of(blocks: Values, stakes: Stakes, rules: CubeRules) -> CubefulRollout:
    """Means and standard errors from float64[n, blocks, (value, luck)], values as trials have them; those of the result
    are per unit of the cube of `stakes`."""
    n, count = blocks.shape[:2]
    plain, luck = (blocks[:, :, place] for place in (0, 1))
    is_money = isinstance(stakes.score, Money)
    scale, shift = (1.0 / stakes.cube.value, 0.0) if is_money else (0.5, 0.5)
    values = np.stack([scale * (plain - luck) + shift, scale * plain + shift], axis=2)
    means, errors = np.empty((n, 2)), np.empty((n, 2))
    fill_statistics(values, means, errors)
    trials = np.full(n, count * BLOCK, np.int64)
    point = 1.0 if is_money else normalised_point(stakes, rules)
    return CubefulRollout(means[:, 0], errors[:, 0], errors[:, 1], trials, values[:, :, 0], point)


def difference(result: CubefulRollout, row: int, other: int) -> tuple[float, float]:
    """How much more the value of a row is than that of another, and the standard error, block by block."""
    gaps = result.blocks[row] - result.blocks[other]
    return float(gaps.mean()), float(gaps.std(ddof=1) / math.sqrt(len(gaps)))
