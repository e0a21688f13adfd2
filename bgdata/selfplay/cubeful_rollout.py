"""Rollouts with the cube: the value of a position when a player with networks plays both sides to the end, and both
sides handle the cube by a model.

Both sides choose plays by their value with the cube, statically or one roll ahead, and double by static chances. The
luck of every roll, in points of the game or in match winning chance, is subtracted. Luck is zero on average with any
model, so the mean stays the same and the standard error falls. First and second rolls are stratified as in `rollout`.
Positions of one item get the same dice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.cube import CubeRules, check_rules, normalised_point
from bgdata.equity.doubling import best_equity, check_money
from bgdata.equity.match_cube import MatchGame, mwc_after
from bgdata.errors import InvalidParameterError, UsageError
from bgdata.evaluation.answers import exact_equities, fill_chances
from bgdata.evaluation.chances import AnswerSource
from bgdata.evaluation.choices import Chooser, require_networks
from bgdata.evaluation.cube_lookahead import CubeTree, new_cube_tree
from bgdata.evaluation.lookahead_player import RankedPlay
from bgdata.game.board import CHECKERS
from bgdata.game.board_kernels import outcome_of
from bgdata.game.codec import Boards, flip_into
from bgdata.game.match import CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import Position
from bgdata.game.random import random_stream
from bgdata.kernel import in_threads, kernel
from bgdata.selfplay.cubeful_games import (
    MAX_CUBE,
    NOBODY,
    Moment,
    Terms,
    doubles,
    owner_code,
    play_roll,
    takes,
    way_of,
)
from bgdata.selfplay.rollout import PLAIN, Limits, RolloutSettings, Values, numbers_of
from bgdata.selfplay.rollout_kernels import (
    BLOCK,
    MAX_TRIALS,
    KernelSettings,
    fill_order,
    fill_statistics,
    first_rolls,
    roll_at,
)
from bgdata.selfplay.series import CubefulRules, CubeSide, terms_of
from bgdata.selfplay.solved_endings import DEAD, SolvedEndings, ending_value, endings_of, is_ending

_EXACT = int(AnswerSource.EXACT)
_OWNERS = {CubeOwner.CENTERED: NOBODY, CubeOwner.ON_ROLL: 0, CubeOwner.OPPONENT: 1}


class CubefulStart(NamedTuple):
    """A position to roll out and its stakes, both for the player on roll."""

    board: Boards  # [26]
    stakes: Stakes
    may_double: bool = True  # whether the player on roll may turn the cube before the first roll


def decision_starts(position: Position, stakes: Stakes) -> dict[str, CubefulStart]:
    """Return the positions to roll out to compare the cube actions of the player on roll, by name of the action."""
    board = np.array(position.board, np.int8)
    starts = {"no double": CubefulStart(board, stakes, may_double=False)}
    if stakes.may_double:
        starts["double, take"] = CubefulStart(board, stakes.after_take(), may_double=False)
    return starts


def play_starts(ranked: list[RankedPlay], stakes: Stakes, within: float, most: int) -> dict[str, CubefulStart]:
    """Return the positions to roll out after the better plays of a roll, by name of the play. The better plays lose at
    most `within` points. There are at most `most` of them, and at least two if the roll has two plays. In the positions
    the opponent is on roll, and may double."""
    chosen = [row for place, row in enumerate(ranked[:most]) if place < 2 or row.loss <= within]
    return {
        str(row.play): CubefulStart(np.array(row.play.next_position.board, np.int8), stakes.flip()) for row in chosen
    }


class CubefulRollout(NamedTuple):
    """The result of a rollout with the cube, one row for each position. Values are for the player on roll in that
    position, in points per unit of the first position's cube, or in match winning chance (mwc). `point` is the size of
    one point of normalised equity in that unit: 1 in money play."""

    values: Values  # [n]
    standard_errors: Values  # [n]
    plain_standard_errors: Values  # [n] standard errors without subtracting luck
    trials: NDArray[np.int64]  # [n]
    blocks: Values  # [n, blocks] means of 36 trials minus luck, for accurate differences between rows
    point: float


def roll_out_with_cube(
    starts: list[CubefulStart],
    chooser: Chooser,
    rules: CubeRules,
    limits: Limits,
    seed: int = 0,
    settings: RolloutSettings = PLAIN,
    item: int = 0,
) -> CubefulRollout:
    """Roll out one or more positions at the same score. Rounds of `limits.trials` are played until every standard error
    is at most `limits.until` points of normalised equity, or each position has `limits.most_trials`. In matches both
    sides use the score unless `rules` are as for money.

    All positions get the same dice, those of `item` of the seed. The result does not depend on the number of threads.
    Games are played to the end, to an exact table in money play, or to one of the `solved_endings`; `settings` must not
    truncate them.

    Raises UsageError if numbers are out of range, the player has no networks or settings cut games short;
    InvalidParameterError if rules do not fit the stakes; and InvalidPositionError if a position is invalid."""
    limits.check()
    roll, stakes = rolled_with_cube(starts, chooser, rules, seed, settings, item), starts[0].stakes
    rows, blocks = np.arange(len(starts)), np.empty((len(starts), 0, 2))
    while True:
        blocks = np.concatenate([blocks, roll(rows, blocks.shape[1], limits.trials // BLOCK)], axis=1)
        result = result_of(blocks, stakes, rules)
        is_reached = (result.standard_errors <= limits.until * result.point).all()
        if blocks.shape[1] * BLOCK >= limits.most_trials or is_reached:
            return result


def rolled_with_cube(
    starts: list[CubefulStart],
    chooser: Chooser,
    rules: CubeRules,
    seed: int = 0,
    settings: RolloutSettings = PLAIN,
    item: int = 0,
) -> Callable[[NDArray[np.int64], int, int], Values]:
    """Return a function that rolls out blocks of 36 trials. The function takes rows of `starts` as int64[k], the first
    block and the number of blocks. It returns float64[k, count, (value, luck)] for `result_of`.

    Raises UsageError if the stakes cannot be rolled out, numbers are out of range or the player has no networks;
    InvalidParameterError if rules do not fit the stakes; and InvalidPositionError if a position is invalid."""
    if (settings.stop, settings.turns) != (PLAIN.stop, PLAIN.turns):
        raise UsageError(
            "expected neither --stop nor --truncate with the cube in play, whose games go to an end; try: --cubeless"
        )
    require_networks(chooser, "to handle the cube")
    boards = np.array([start.board for start in starts], np.int8)
    numbers_of(boards, None)  # raises for an invalid position
    terms = rollout_terms(starts[0].stakes, rules, with_luck=settings.with_luck, ply=settings.play_ply)
    fields = []
    for start in starts:
        cube, score = start.stakes.cube, start.stakes.score
        game = (0, 0, False) if isinstance(score, Money) else (score.away, score.opponent_away, score.is_crawford)
        fields.append((cube.value, _OWNERS[cube.owner], start.may_double, *game))
    kernel_settings, own = settings.for_kernels(seed), np.array(fields, np.int64)
    lowest = min((start.stakes for start in starts), key=lambda stakes: stakes.cube.value)

    def roll_out_blocks(rows: NDArray[np.int64], first: int, count: int) -> Values:
        found = np.empty((len(rows), count, 2))
        endings = endings_of(lowest, rules, chooser.tables)  # not stored with a rollout, because they are large
        arrays = np.ascontiguousarray(boards[rows]), own[rows], item, first, found
        in_threads(fill_cubeful_blocks, len(rows) * count, chooser, terms, endings, kernel_settings, *arrays)
        return found

    return roll_out_blocks


def rollout_terms(stakes: Stakes, rules: CubeRules, *, with_luck: bool, ply: int) -> Terms:
    """Return the rules and stakes of the games of a rollout, where both sides look `ply` rolls ahead. Raises UsageError
    if the stakes cannot be rolled out. Raises InvalidParameterError if `rules` do not fit the stakes, or have beavers,
    two cube life indexes or a local volatility."""
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
    return terms_of((side, side), played, with_luck=with_luck, ply=ply)


def result_of(blocks: Values, stakes: Stakes, rules: CubeRules) -> CubefulRollout:
    """Return the means and standard errors of the trials in float64[n, blocks, (value, luck)] `blocks`, which are in
    the unit of trials. The result is in points per unit of the cube of `stakes`, or in mwc."""
    n, count = blocks.shape[:2]
    plain, luck = (blocks[:, :, place] for place in (0, 1))
    is_money = isinstance(stakes.score, Money)
    values = np.stack([values_of(plain - luck, stakes), values_of(plain, stakes)], axis=2)
    means, errors = np.empty((n, 2)), np.empty((n, 2))
    fill_statistics(values, means, errors)
    trials = np.full(n, count * BLOCK, np.int64)
    point = 1.0 if is_money else normalised_point(stakes, rules)
    return CubefulRollout(means[:, 0], errors[:, 0], errors[:, 1], trials, values[:, :, 0], point)


def values_of(trials: Values, stakes: Stakes) -> Values:
    """Return the values of trials, converted to points per unit of the cube of `stakes`, or to mwc."""
    scale, shift = (1.0 / stakes.cube.value, 0.0) if isinstance(stakes.score, Money) else (0.5, 0.5)
    return scale * trials + shift


def difference(result: CubefulRollout, row: int, other: int) -> tuple[float, float]:
    """Return the value of position `row` minus the value of position `other` in a result, and the standard error of
    this difference, which comes from the differences of blocks."""
    gaps = result.blocks[row] - result.blocks[other]
    return float(gaps.mean()), float(gaps.std(ddof=1) / math.sqrt(len(gaps)))


@kernel()
def fill_cubeful_blocks(
    begin: int,
    end: int,
    chooser: Chooser,
    terms: Terms,
    endings: SolvedEndings,
    settings: KernelSettings,
    boards: Boards,
    starts: NDArray[np.int64],
    item: int,
    first: int,
    blocks: Values,
) -> None:
    """Roll out positions with the cube, in blocks of 36 trials. Fills blocks[row, block, 0] with the mean value of
    block first + block of an item, for the player on roll, and blocks[row, block, 1] with the mean of that player's
    luck.

    Row `row` is the position boards[row, slot] with starts[row, (cube value, owner, whether it may double, fields of a
    `MatchGame`)]. begin:end are pairs of row and block, in order."""
    tree, order = new_cube_tree(chooser.networks, terms.ply), np.empty(BLOCK, np.int64)
    board, chosen = np.empty(26, np.int8), np.empty(26, np.int8)
    stream: Any = random_stream(settings.seed, item)  # the seed of one stream for each trial
    for place in range(begin, end):
        row, column = place // blocks.shape[1], place % blocks.shape[1]
        block, given = first + column, starts[row]
        start = Moment(0, given[0], given[1], MatchGame(given[3], given[4], given[5] != 0))
        fill_order(random_stream(stream, MAX_TRIALS + block // BLOCK), order)
        total, luck = 0.0, 0.0
        for trial in range(block * BLOCK, (block + 1) * BLOCK):
            for slot in range(26):
                board[slot] = boards[row, slot]
            dice = random_stream(stream, trial), first_rolls(trial, order)
            found = trial_of(chooser, terms, endings, settings, start, given[2] != 0, dice, tree, board, chosen)
            total, luck = total + found[0], luck + found[1]
        blocks[row, column, 0], blocks[row, column, 1] = total / BLOCK, luck / BLOCK


@kernel(borrows=True)
def trial_of(
    chooser: Chooser,
    terms: Terms,
    endings: SolvedEndings,
    settings: KernelSettings,
    start: Moment,
    may_double: bool,
    dice: tuple[np.uint64, tuple[int, int]],
    tree: CubeTree,
    board: Boards,
    chosen: Boards,
) -> tuple[float, float]:
    """Play one game from board[0:26] to the end. Returns its value and the luck of all rolls, both for player 0, who is
    on roll first, in points, or from -1 (lost) to 1 (won) in a match. In money play a game ends where the two-sided
    table covers it. `dice` are the stream of rolls, and the indexes of the first two rolls among all 36. board[0:26]
    and chosen[0:26] are overwritten."""
    seen = start.game, MatchGame(start.game.opponent_away, start.game.away, start.game.is_crawford)
    over = outcome_of(board, CHECKERS)
    if over != 0:  # after a play that ends the game
        winner = 0 if over > 0 else 1
        value = win_value(terms, Moment(winner, start.cube_value, start.owner, seen[winner]), abs(over))
        return value if winner == 0 else -value, 0.0
    on_roll, cube_value, owner, turn, luck = 0, start.cube_value, start.owner, 0, 0.0
    networks, tables, evaluation = chooser.networks, chooser.tables, tree.rolls.evaluation
    chances, likely = evaluation.chances[0], (settings.likely, settings.ahead)
    while True:
        sign = 1.0 if on_roll == 0 else -1.0
        moment = Moment(on_roll, cube_value, owner, seen[on_roll])
        source = fill_chances(networks, tables, board, evaluation, chances)
        may_double = may_double or turn > 0
        if terms.length == 0 and source == _EXACT:
            known = exact_equities(tables, board, owner_code(moment))
            return sign * cube_value * (best_equity(known) if may_double else known.no_double), luck
        if may_double and is_ending(endings, board):
            return sign * settled_value(terms, endings, board, moment), luck
        if may_double and doubles(terms, moment, chances, terms.sides[on_roll, 2]):
            if not takes(terms, moment, chances):
                return sign * points_value(terms, moment, cube_value), luck
            cube_value, owner = 2 * cube_value, 1 - on_roll
        place = dice[1][turn] if turn < 2 else roll_at(dice[0], turn)
        opponent, roll = Moment(1 - on_roll, cube_value, owner, seen[1 - on_roll]), (place // 6 + 1, place % 6 + 1)
        found, _ = play_roll(chooser, terms, likely, opponent, board, roll, False, tree.rolls, tree, chosen)
        luck += sign * found
        outcome, turn = outcome_of(chosen, CHECKERS), turn + 1
        if outcome != 0:
            return sign * win_value(terms, Moment(on_roll, cube_value, owner, seen[on_roll]), outcome), luck
        flip_into(chosen, board)
        on_roll = 1 - on_roll


@kernel(borrows=True)
def settled_value(terms: Terms, endings: SolvedEndings, board: Boards, moment: Moment) -> float:
    """Return the value of one of the endings for the player on roll, who may double, in the unit of `points_value`."""
    column = endings.columns[moment.on_roll, min(moment.cube_value, MAX_CUBE), owner_code(moment)]
    value = ending_value(endings, board, column)
    if terms.length == 0:
        return (2.0 * value - 1.0) * moment.cube_value
    if column != DEAD:
        return 2.0 * value - 1.0
    lost = points_value(terms, moment, -moment.cube_value)
    return lost + value * (points_value(terms, moment, moment.cube_value) - lost)


@kernel(borrows=True)
def win_value(terms: Terms, moment: Moment, outcome: int) -> float:
    """Return the value of winning the game, for the player on roll. `outcome` is a single game, gammon or backgammon (1
    to 3)."""
    return points_value(terms, moment, way_of(terms, moment.owner, outcome) * moment.cube_value)


@kernel(borrows=True)
def points_value(terms: Terms, moment: Moment, points: int) -> float:
    """Return the value of winning `points`, for the player on roll: the points, or a value from -1 (lost) to 1 (won) in
    a match."""
    return 2.0 * mwc_after(terms.cells, moment.game, points) - 1.0 if terms.length > 0 else float(points)
