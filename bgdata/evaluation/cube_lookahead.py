"""Looking ahead with the cube: what positions are worth when both sides turn it on the way, with any evaluator.

Before a roll, a position has one value for each owner of the cube if it is not turned now; turning it leads to the
value of a cube of twice the size that the other side owns. So the values of all cubes that may come are looked ahead
together: that of a roll is the mean, over the 21 rolls, of what the position after the best reply is worth to the other
side, which decides about the cube first. Replies are chosen by static evaluation, with the cube as it stands, and
looked ahead to ply n - 1 for ply n. In money play a cube is worth the same, per unit, whatever it shows.

Arrays of values are float64[n, level, owner code], of the player on roll, who does not double now: the cube shows
cube_value * 2^level, and there is one level for money.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.cube import CubeRules, check_rules, check_scores
from bgdata.equity.curves import CENTERED, ON_ROLL, OPPONENT, OWNER_CODES
from bgdata.equity.doubling import check_money
from bgdata.equity.match_cube import MatchGame
from bgdata.evaluation.bearoff_kernels import BearoffArrays
from bgdata.evaluation.chances import Chances, cubeless_equities
from bgdata.evaluation.cube_lookahead_kernels import (
    OWNERS,
    fill_decided,
    fill_static,
    n_levels,
    single_games,
    turned_stakes,
)
from bgdata.evaluation.cube_values import CUBELESS, MATCH, MONEY, CubeStakes
from bgdata.evaluation.evaluator import AnswerSource, Evaluations
from bgdata.evaluation.lookahead import BATCH, Look, Worth
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.match import MatchScore, Money, Stakes
from bgdata.game.play_kernels import batch_plays
from bgdata.game.rolls import CHANCES, DICE
from bgdata.kernel import in_threads, kernel

Values = NDArray[np.float64]
Value = TypeVar("Value", float, Values)
_TURNED = [CENTERED, OPPONENT, ON_ROLL]  # `turned_owner` of each code
_OVER = int(AnswerSource.OVER)


def kernel_stakes(stakes: Stakes, rules: CubeRules) -> CubeStakes:
    """Stakes and rules as numbers. Beavers are left out. Raises InvalidParameterError for rules that do not fit the
    stakes, and InvalidScoreError for a score that the match equity table does not have."""
    check_rules(stakes, rules)
    score, cube = stakes.score, stakes.cube
    if isinstance(score, Money) or rules.as_money:
        is_jacoby = isinstance(score, Money) and score.is_jacoby
        owner = check_money(rules.strategy, cube.owner, is_jacoby=is_jacoby)
        cells = np.zeros((2, 1, 1))
        unit = CUBELESS if stakes.is_crawford else MONEY
        return CubeStakes(unit, rules.strategy, is_jacoby, cells, MatchGame(0, 0, False), cube.value, owner)
    assert isinstance(score, MatchScore)
    assert rules.met is not None
    check_scores(rules.met, score, cube.value)
    game = MatchGame(score.away, score.opponent_away, score.is_crawford)
    return CubeStakes(MATCH, rules.strategy, False, rules.met.cells.copy(), game, cube.value, OWNER_CODES[cube.owner])


def cubeful_values(look: Look, tables: BearoffArrays, stakes: CubeStakes, boards: Boards, ply: int) -> Values:
    """float64[n]: what legal int8[n, 26] boards are worth at a ply to the player on roll, before a double: points per
    unit cube, or mwc. In money play an exact table of `tables` answers where one reaches."""
    values = values_ahead(look, tables, stakes, boards, ply)
    return after_decisions(stakes, values)[:, 0, stakes.owner]


def play_worth(look: Look, tables: BearoffArrays, theirs: CubeStakes) -> Worth:
    """The worth of plays for `lookahead.rank_all` by stakes that are seen by the opponent, who is on roll after them:
    points per unit cube, in a match as equity of this game, -1 where a single game is lost and 1 where it is won."""
    own = turned_stakes(theirs)

    def worth(boards: Boards, _found: Evaluations, ply: int) -> Values:
        return np.asarray(play_equity(own, cubeful_values(look, tables, theirs, boards, ply)))

    return worth


def play_equity(own: CubeStakes, theirs: Value) -> Value:
    """What the opponent's values after plays are as equity of this game to the player who moves, for `own` stakes."""
    lose, win = single_games(own)
    return 2 * (turned_values(own, theirs) - lose) / (win - lose) - 1


def cubeful_figures(stakes: CubeStakes, equity: float) -> tuple[float, float | None]:
    """What a play is worth as equity of this game, as `play_worth` has it, and in a match as mwc."""
    lose, win = single_games(stakes)
    return equity, lose + (win - lose) * (equity + 1) / 2 if stakes.unit == MATCH else None


def turned_values(stakes: CubeStakes, values: Value) -> Value:
    """Values as seen by the other side."""
    return 1 - values if stakes.unit == MATCH else -values


def values_ahead(look: Look, tables: BearoffArrays, stakes: CubeStakes, boards: Boards, ply: int) -> Values:
    """float64[n, level, owner code]: see the module."""
    found = look(boards, 0)
    values, is_final = static_values(tables, stakes, boards, found)
    open_rows = np.flatnonzero(~is_final) if ply else np.empty(0, np.int64)
    for start in range(0, len(open_rows), BATCH):
        rows = open_rows[start : start + BATCH]
        values[rows] = _mean_after_rolls(look, tables, stakes, boards[rows], ply)
    return values


def _mean_after_rolls(look: Look, tables: BearoffArrays, stakes: CubeStakes, boards: Boards, ply: int) -> Values:
    """float64[n, level, owner code]: the mean over all rolls, valued at ply - 1 after the best replies."""
    theirs = turned_stakes(stakes)
    offsets, after_play = batch_plays(np.repeat(boards, len(DICE), axis=0), np.tile(DICE, (len(boards), 1)))
    after = flip_boards(after_play)
    found = look(after, 0)
    static, _ = static_values(tables, theirs, after, found)
    decided = after_decisions(theirs, static)[:, 0, theirs.owner]
    best = lowest_of(decided, cubeless_equities(found.chances), offsets)
    values = static[best] if ply == 1 else values_ahead(look, tables, theirs, after[best], ply - 1)
    own = turned_values(stakes, after_decisions(theirs, values))[:, :, _TURNED]
    return np.asarray(np.einsum("r,nrlo->nlo", CHANCES, own.reshape(len(boards), len(DICE), *own.shape[1:])))


def lowest_of(values: Values, equities: NDArray[np.float32], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[n]: the row of the lowest of values[offsets[i]:offsets[i + 1]] for each i, of equals that of the lowest
    equity, of these the first."""
    group = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.lexsort((equities, values, group))[offsets[:-1]]


def static_values(
    tables: BearoffArrays, stakes: CubeStakes, boards: Boards, found: Evaluations
) -> tuple[Values, NDArray[np.bool_]]:
    """Values by the model from chances, or exact ones in money play; and bool[n], whether looking ahead would not
    improve them."""
    values = np.empty((len(boards), n_levels(stakes), OWNERS))
    is_final = np.empty(len(boards), np.bool_)
    rows = np.ascontiguousarray(boards), np.ascontiguousarray(found.chances), found.sources
    in_threads(fill_static_values, len(boards), tables, stakes, *rows, values, is_final, least=64)
    return values, is_final


@kernel()
def fill_static_values(
    begin: int,
    end: int,
    tables: BearoffArrays,
    stakes: CubeStakes,
    boards: Boards,
    chances: Chances,
    sources: NDArray[np.int8],
    values: Values,
    is_final: NDArray[np.bool_],
) -> None:
    """Fills values[row, level, owner code] and is_final[row] from boards[row, slot], chances[row, 0:5] and
    sources[row], for the rows begin:end."""
    for row in range(begin, end):
        is_over = sources[row] == _OVER
        is_final[row] = fill_static(tables, stakes, boards[row], chances[row], is_over, values[row])


def after_decisions(stakes: CubeStakes, values: Values) -> Values:
    """float64[n, level, owner code]: the values with the best cube actions of the player on roll and of the
    opponent."""
    decided = values.copy()
    in_threads(fill_all_decided, len(decided), stakes, decided, least=256)
    return decided


@kernel()
def fill_all_decided(begin: int, end: int, stakes: CubeStakes, values: Values) -> None:
    """Fills values[row, level, owner code] as `fill_decided` does, for the rows begin:end."""
    for row in range(begin, end):
        fill_decided(stakes, values[row])
