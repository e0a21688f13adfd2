"""Looks ahead with the cube: computes values of positions if both sides may double after each roll, with any evaluator.

Before a roll, a position has one value for each owner of the cube, without a double now. A double leads to the value
with a doubled cube that the other side owns. So the values with all future cubes are computed together. The value of a
roll is that of the position after the best play, in which the other side first makes its cube decision. The value of a
position is the mean over the 21 rolls. Plays are chosen by static evaluation with the current cube; for ply n, the
positions after them are evaluated at ply n - 1. In money play the value per unit cube does not depend on the cube's
value.

Arrays of values are float64[n, level, owner code]: the values for the player on roll without a double now, with a cube
of cube_value * 2^level. Money has one level. Kernels take float64[level, owner code] of one position. If they evaluate
all plays, their values equal those of `play_worth` with any evaluator, up to rounding. If the stakes have no cube,
values are cubeless equities.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.cube import CubeRules, check_rules, check_scores
from bgdata.equity.curves import CENTERED, ON_ROLL, OPPONENT, OWNER_CODES
from bgdata.equity.doubling import check_money, turned_strategy
from bgdata.equity.match_cube import MatchGame, mwc_after
from bgdata.evaluation.answers import (
    CUBELESS,
    MATCH,
    MONEY,
    CubeStakes,
    exact_equities,
    fill_all_chances,
    fill_chances,
    model_equities,
    turned_owner,
    value_of,
)
from bgdata.evaluation.bearoff_kernels import BearoffArrays, BearoffSource, bearoff_source
from bgdata.evaluation.chances import AnswerSource, Chances, Evaluations, cubeless_equities, equity_of, fill_turned
from bgdata.evaluation.lookahead import BATCH, FILTERS, Look, Worth
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.roll_values import LikelyPlays, RollScratch, Sight, fill_roll_values, new_roll_scratch
from bgdata.game.board_kernels import class_of
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, flip_boards, flip_into
from bgdata.game.match import MatchScore, Money, Stakes
from bgdata.game.play_kernels import MAX_PLAYS, batch_plays, fill_plays
from bgdata.game.rolls import CHANCES, DICE
from bgdata.kernel import in_threads, kernel

Values = NDArray[np.float64]
Value = TypeVar("Value", float, Values)
OWNERS = 3
_TURNED = [CENTERED, OPPONENT, ON_ROLL]  # `turned_owner` of each code
_LEVELS = 32  # more cube values than any match has
_EXACT, _OVER = int(BearoffSource.EXACT), int(PositionClass.OVER)
_SOURCE_OVER = int(AnswerSource.OVER)
_KEEP = np.array([each.keep for each in FILTERS], np.int64)
_WINDOWS = np.array([each.window for each in FILTERS], np.float64)


class CubeTree(NamedTuple):
    """Scratch memory for one thread. A depth is the number of rolls from the root position."""

    rolls: RollScratch
    after: Boards  # [MAX_PLAYS, 26] boards after the plays of the root's roll, the OPPONENT on roll
    play_values: Values  # [MAX_PLAYS] values of the plays for the opponent, normalized to this game
    equities: Values  # [MAX_PLAYS] static cubeless equities of the plays for the opponent
    rows: NDArray[np.int64]  # [MAX_PLAYS] rows of the remaining plays, best first
    replies: Boards  # [depth, 21, 26] boards after the best play of each roll, the opponent on roll
    places: NDArray[np.int64]  # [depth] number of finished rolls
    totals: Values  # [depth, level, owner code] mean over those rolls
    values: Values  # [level, owner code] values of the last position
    board: Boards  # [26]
    chances: Chances  # [5]


@kernel()
def new_cube_tree(networks: Networks, ply: int) -> CubeTree:
    """Allocate scratch memory for one thread that looks `ply` rolls ahead."""
    return CubeTree(
        new_roll_scratch(networks),
        np.empty((MAX_PLAYS, 26), np.int8),
        np.empty(MAX_PLAYS, np.float64),
        np.empty(MAX_PLAYS, np.float64),
        np.empty(MAX_PLAYS, np.int64),
        np.empty((ply, len(CHANCES), 26), np.int8),
        np.empty(ply, np.int64),
        np.empty((ply, _LEVELS, OWNERS), np.float64),
        np.empty((_LEVELS, OWNERS), np.float64),
        np.empty(26, np.int8),
        np.empty(5, np.float32),
    )


@kernel(borrows=True)
def turned_stakes(stakes: CubeStakes) -> CubeStakes:
    """The stakes as the opponent sees them."""
    game = MatchGame(stakes.game.opponent_away, stakes.game.away, stakes.game.is_crawford)
    strategy, owner = turned_strategy(stakes.strategy), turned_owner(stakes.owner)
    return CubeStakes(stakes.unit, strategy, stakes.is_jacoby, stakes.cells, game, stakes.cube_value, owner)


@kernel(borrows=True)
def single_games(stakes: CubeStakes) -> tuple[float, float]:
    """Return the values of losing and of winning a single game for the player on roll at these stakes."""
    if stakes.unit != MATCH:
        return -1.0, 1.0
    cube = stakes.cube_value
    return mwc_after(stakes.cells, stakes.game, -cube), mwc_after(stakes.cells, stakes.game, cube)


@kernel(borrows=True)
def level_count(stakes: CubeStakes) -> int:
    """Return how many cube values to consider: the current value and its doublings, up to the first value with which
    the winner of the game wins the match. It is 1 in money play."""
    levels = 1
    while stakes.unit == MATCH and stakes.cube_value << (levels - 1) < max(stakes.game.away, stakes.game.opponent_away):
        levels += 1
    return levels


@kernel(borrows=True)
def fill_static(
    tables: BearoffArrays, stakes: CubeStakes, board: Boards, chances: Chances, is_over: bool, values: Values
) -> bool:
    """Fill values[level, owner code] of a board from chances[0:5] by the cube model, or from an exact table in money
    play. Returns whether the values are final, so that looking ahead would not improve them."""
    is_exact = not is_over and stakes.unit == MONEY and bearoff_source(tables, board) == _EXACT
    for level in range(values.shape[0]):
        cube_value = stakes.cube_value << level
        for owner in range(values.shape[1]):
            cube = CubeStakes(
                stakes.unit, stakes.strategy, stakes.is_jacoby, stakes.cells, stakes.game, cube_value, owner
            )
            if stakes.unit == CUBELESS:
                values[level, owner] = equity_of(chances)
            elif is_exact:
                values[level, owner] = exact_equities(tables, board, owner).no_double
            else:
                values[level, owner] = model_equities(cube, chances).no_double
    return is_over or is_exact


@kernel(borrows=True)
def fill_decided(stakes: CubeStakes, values: Values) -> None:
    """Replace values[level, owner code] by the values after the best cube actions of the player on roll and the
    opponent."""
    if stakes.unit == CUBELESS or (stakes.unit == MATCH and stakes.game.is_crawford):
        return
    for level in range(values.shape[0]):
        cube_value = stakes.cube_value << level
        if stakes.unit == MONEY:
            answered = min(2.0 * values[level, OPPONENT], 1.0)
        elif stakes.game.away <= cube_value:
            continue
        else:
            answered = min(values[level + 1, OPPONENT], mwc_after(stakes.cells, stakes.game, cube_value))
        for owner in (CENTERED, ON_ROLL):
            values[level, owner] = max(values[level, owner], answered)


@kernel(borrows=True)
def fill_play_ahead(
    networks: Networks,
    tables: BearoffArrays,
    likely: LikelyPlays,
    stakes: CubeStakes,
    ply: int,
    board: Boards,
    dice: tuple[int, int],
    tree: CubeTree,
    chosen: Boards,
) -> None:
    """Choose the best play of the dice from `board` at a ply of 1 or more, and fill `chosen` with the board after it.
    The choice is that of `lookahead.rank_all` by cubeful values. Among equal values, the play with the best static
    value is chosen. `stakes` are as the opponent sees them."""
    sight = Sight(networks, tables, likely)
    n, rows = fill_play_values(networks, tables, stakes, board, dice, tree), tree.rows
    for depth in range(1, ply + 1):
        last = min(depth, len(_KEEP)) - 1
        n = keep_best(tree, n, _KEEP[last], _WINDOWS[last])
        if n == 1:
            break
        for place in range(n):
            after = tree.after[rows[place]]
            tree.play_values[rows[place]] = worth_ahead(sight, stakes, depth, after, tree)
    keep_best(tree, n, 1, 0.0)
    flip_into(tree.after[rows[0]], chosen)


@kernel(borrows=True)
def fill_play_values(
    networks: Networks, tables: BearoffArrays, stakes: CubeStakes, board: Boards, dice: tuple[int, int], tree: CubeTree
) -> int:
    """Fill tree.after, tree.play_values, tree.equities and tree.rows with all plays of the dice from `board` and their
    static values. Returns the number of plays."""
    evaluation, plays = tree.rolls.evaluation, tree.rolls.after
    n = fill_plays(board, max(dice[0], dice[1]), min(dice[0], dice[1]), plays, tree.rolls.notes)
    fill_all_chances(networks, tables, plays, 0, n, True, evaluation, evaluation.found, evaluation.sources)
    for play in range(n):
        chances, source = evaluation.found[play], evaluation.sources[play]
        flip_into(plays[play], tree.after[play])
        tree.play_values[play] = normalized_to_game(stakes, value_of(stakes, tables, tree.after[play], source, chances))
        tree.equities[play], tree.rows[play] = equity_of(chances), play
    return n


@kernel(borrows=True)
def normalized_to_game(stakes: CubeStakes, value: float) -> float:
    """Normalize a value to this game: a lost single game becomes -1, a won one 1."""
    lose, win = single_games(stakes)
    return 2.0 * (value - lose) / (win - lose) - 1.0


@kernel(borrows=True)
def keep_best(tree: CubeTree, n: int, most: int, window: float) -> int:
    """Keep the best plays of tree.rows[0:n], the best first, and return how many there are: up to `most` plays whose
    values for the opponent are within `window` of the best."""
    rows = tree.rows
    for place in range(min(n, most)):
        best = place
        for other in range(place + 1, n):
            gap = tree.play_values[rows[other]] - tree.play_values[rows[best]]
            if gap < 0.0 or (gap == 0.0 and tree.equities[rows[other]] < tree.equities[rows[best]]):
                best = other
        rows[place], rows[best] = rows[best], rows[place]
        if tree.play_values[rows[place]] - tree.play_values[rows[0]] > window:
            return place
    return min(n, most)


@kernel(borrows=True)
def worth_ahead(sight: Sight, stakes: CubeStakes, ply: int, board: Boards, tree: CubeTree) -> float:
    """Return the value of a board for the player on roll at a ply, before a double, normalized to this game."""
    values = tree.values[: level_count(stakes)]
    source = fill_chances(sight.networks, sight.tables, board, tree.rolls.evaluation, tree.chances)
    if not fill_static(sight.tables, stakes, board, tree.chances, source == _SOURCE_OVER, values):
        fill_values_ahead(sight, stakes, ply, board, tree, values)
    fill_decided(stakes, values)
    return normalized_to_game(stakes, values[0, stakes.owner])


@kernel(borrows=True)
def fill_values_ahead(
    sight: Sight, stakes: CubeStakes, ply: int, board: Boards, tree: CubeTree, values: Values
) -> None:
    """Fill values[level, owner code] of a board whose static values are not final, by looking `ply` rolls ahead: depth
    first, without recursion."""
    enter_position(sight, stakes, board, 0, ply, tree, values)
    depth = 0
    while True:
        if tree.places[depth] == len(CHANCES):
            for level in range(values.shape[0]):
                for owner in range(OWNERS):
                    values[level, owner] = tree.totals[depth, level, owner]
            if depth == 0:
                return
            depth -= 1
            add_reply(stakes, depth, tree, values)
            continue
        reply = tree.replies[depth, tree.places[depth]]
        source = fill_chances(sight.networks, sight.tables, reply, tree.rolls.evaluation, tree.chances)
        if fill_static(
            sight.tables, stakes_at_depth(stakes, depth + 1), reply, tree.chances, source == _SOURCE_OVER, values
        ):
            add_reply(stakes, depth, tree, values)
        else:
            depth += 1
            enter_position(sight, stakes, reply, depth, ply, tree, values)


@kernel(borrows=True)
def stakes_at_depth(stakes: CubeStakes, depth: int) -> CubeStakes:
    """The stakes as the player on roll at this depth sees them: `stakes` at even depths, turned at odd ones."""
    return stakes if depth % 2 == 0 else turned_stakes(stakes)


@kernel(borrows=True)
def enter_position(
    sight: Sight, stakes: CubeStakes, board: Boards, depth: int, ply: int, tree: CubeTree, values: Values
) -> None:
    """Begin with a position at a depth: fill tree.replies[depth] with the boards after the best play of each roll, and
    reset the count of finished rolls. At the last depth also fill tree.totals[depth, level, owner code] for all rolls.
    `values` is scratch."""
    rolls, theirs = tree.rolls, stakes_at_depth(stakes, depth + 1)
    fill_roll_values(sight.networks, sight.tables, sight.likely, board, rolls, theirs)
    tree.totals[depth] = 0.0
    tree.places[depth] = 0
    for roll in range(len(CHANCES)):
        reply = tree.replies[depth, roll]
        flip_into(rolls.best[roll], reply)
        if depth == ply - 1:
            fill_turned(rolls.values[roll], tree.chances)
            fill_static(sight.tables, theirs, reply, tree.chances, class_of(reply) == _OVER, values)
            add_reply(stakes, depth, tree, values)


@kernel(borrows=True)
def add_reply(stakes: CubeStakes, depth: int, tree: CubeTree, values: Values) -> None:
    """Add the value of the next roll to tree.totals[depth, level, owner code] and count the roll as finished. `values`
    are those of the opponent after the roll."""
    theirs, chance = stakes_at_depth(stakes, depth + 1), CHANCES[tree.places[depth]]
    fill_decided(theirs, values)
    for level in range(values.shape[0]):
        for owner in range(OWNERS):
            value = values[level, owner]
            own = 1.0 - value if stakes.unit == MATCH else -value
            tree.totals[depth, level, turned_owner(owner)] += chance * own
    tree.places[depth] += 1


def kernel_stakes(stakes: Stakes, rules: CubeRules) -> CubeStakes:
    """Convert stakes and rules to numbers for kernels, which do not support beavers. Raises InvalidParameterError for
    rules that do not fit the stakes, and InvalidScoreError for a score outside the match equity table."""
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
    """Compute the values of legal int8[n, 26] boards for the player on roll at a ply, before a double, as float64[n] in
    points per unit cube or mwc. In money play, values come from an exact table of `tables` if it covers the
    position."""
    values = values_ahead(look, tables, stakes, boards, ply)
    return after_decisions(stakes, values)[:, 0, stakes.owner]


def play_worth(look: Look, tables: BearoffArrays, theirs: CubeStakes) -> Worth:
    """Make the function by which `lookahead.rank_all` ranks plays at these stakes. `theirs` are the stakes as the
    opponent sees them, who is on roll after the plays. Values are in points per unit cube, or in a match normalized to
    this game (-1 is a lost and 1 a won single game)."""
    own = turned_stakes(theirs)

    def worth(boards: Boards, _found: Evaluations, ply: int) -> Values:
        return np.asarray(play_equity(own, cubeful_values(look, tables, theirs, boards, ply)))

    return worth


def play_equity(own: CubeStakes, theirs: Value) -> Value:
    """Convert the opponent's values after plays to equities of the player who moves, normalized to this game. `own` are
    the stakes as the player who moves sees them."""
    lose, win = single_games(own)
    return 2 * (turned_values(own, theirs) - lose) / (win - lose) - 1


def cubeful_figures(stakes: CubeStakes, equity: float) -> tuple[float, float | None]:
    """Return the equity of a play, which `play_worth` has normalized to this game, and its mwc, None in money play."""
    lose, win = single_games(stakes)
    return equity, lose + (win - lose) * (equity + 1) / 2 if stakes.unit == MATCH else None


def turned_values(stakes: CubeStakes, values: Value) -> Value:
    """Return the values for the other side."""
    return 1 - values if stakes.unit == MATCH else -values


def values_ahead(look: Look, tables: BearoffArrays, stakes: CubeStakes, boards: Boards, ply: int) -> Values:
    """Compute the values of boards for the player on roll at a ply, if it does not double now, as float64[n, level,
    owner code]. The module docstring explains levels and owner codes."""
    found = look(boards, 0)
    values, is_final = static_values(tables, stakes, boards, found)
    open_rows = np.flatnonzero(~is_final) if ply else np.empty(0, np.int64)
    for start in range(0, len(open_rows), BATCH):
        rows = open_rows[start : start + BATCH]
        values[rows] = _mean_after_rolls(look, tables, stakes, boards[rows], ply)
    return values


def _mean_after_rolls(look: Look, tables: BearoffArrays, stakes: CubeStakes, boards: Boards, ply: int) -> Values:
    """Compute the mean, over all 21 rolls, of the values after the best play, evaluated at ply - 1, as float64[n,
    level, owner code]."""
    theirs = turned_stakes(stakes)
    offsets, after_play = batch_plays(np.repeat(boards, len(DICE), axis=0), np.tile(DICE, (len(boards), 1)))
    after = flip_boards(after_play)
    found = look(after, 0)
    static, _ = static_values(tables, theirs, after, found)
    decided = after_decisions(theirs, static)[:, 0, theirs.owner]
    best = lowest_in_group(decided, cubeless_equities(found.chances), offsets)
    values = static[best] if ply == 1 else values_ahead(look, tables, theirs, after[best], ply - 1)
    own = turned_values(stakes, after_decisions(theirs, values))[:, :, _TURNED]
    return np.asarray(np.einsum("r,nrlo->nlo", CHANCES, own.reshape(len(boards), len(DICE), *own.shape[1:])))


def lowest_in_group(values: Values, equities: NDArray[np.float32], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row of the lowest value in each group values[offsets[i]:offsets[i + 1]], as int64[n]. Among equal
    values, the row with the lowest equity is chosen, then the first row."""
    group = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.lexsort((equities, values, group))[offsets[:-1]]


def static_values(
    tables: BearoffArrays, stakes: CubeStakes, boards: Boards, found: Evaluations
) -> tuple[Values, NDArray[np.bool_]]:
    """Compute the values of boards from their evaluations `found`, by the cube model, or from an exact table in money
    play. Returns the values, and whether they are final, as bool[n]."""
    values = np.empty((len(boards), level_count(stakes), OWNERS))
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
    """Fill values[row, level, owner code] and is_final[row] from boards[row], chances[row] and sources[row], for the
    rows begin to end - 1."""
    for row in range(begin, end):
        is_over = sources[row] == _SOURCE_OVER
        is_final[row] = fill_static(tables, stakes, boards[row], chances[row], is_over, values[row])


def after_decisions(stakes: CubeStakes, values: Values) -> Values:
    """Return the values after the best cube actions of the player on roll and the opponent, as float64[n, level, owner
    code]."""
    decided = values.copy()
    in_threads(fill_all_decided, len(decided), stakes, decided, least=256)
    return decided


@kernel()
def fill_all_decided(begin: int, end: int, stakes: CubeStakes, values: Values) -> None:
    """Apply `fill_decided` to values[row, level, owner code], for the rows begin to end - 1."""
    for row in range(begin, end):
        fill_decided(stakes, values[row])
