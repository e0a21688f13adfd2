"""Kernels of `cubeful_rollout`: trials of one position with the cube in play, in blocks of 36 as `rollout_kernels` has
them, with the same dice.

Values of trials are points, or from -1 to 1 in a match. The luck of a roll is that of `cubeful_games`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.doubling import best_equity
from bgdata.equity.match_cube import MatchGame, mwc_after
from bgdata.evaluation.answers import choose_by_chances, fill_chances
from bgdata.evaluation.bearoff_kernels import BearoffArrays
from bgdata.evaluation.choices import Chooser, networks_of, tables_of
from bgdata.evaluation.cube_lookahead_kernels import CubeTree, fill_play_ahead, new_cube_tree
from bgdata.evaluation.cube_values import exact_equities
from bgdata.evaluation.evaluator import AnswerSource
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.roll_values import LikelyPlays, fill_roll_values, roll_place
from bgdata.game.board import CHECKERS
from bgdata.game.board_kernels import outcome_of
from bgdata.game.codec import Boards, flip_into
from bgdata.game.play_kernels import fill_plays
from bgdata.game.random import random_stream
from bgdata.kernel import kernel
from bgdata.play.cubeful_games import NOBODY, Moment, Terms, doubles, owner_code, play_stakes, roll_luck, takes
from bgdata.play.rollout_kernels import BLOCK, MOST_TRIALS, fill_order, first_rolls, roll_at

Values = NDArray[np.float64]
_EXACT = int(AnswerSource.EXACT)


class Start(NamedTuple):
    """Where trials begin: with the first player on roll, player 0."""

    game: MatchGame  # seen by player 0; of no meaning in money play
    cube_value: int
    owner: int  # 0, 1 or NOBODY
    may_double: bool  # whether player 0 may turn the cube before the first roll


class TrialSettings(NamedTuple):
    """The settings of a rollout as numbers."""

    seed: int
    likely: LikelyPlays  # plays of each roll that luck is seen by
    ahead: LikelyPlays  # those of later rolls, where plays are chosen ahead


@kernel()
def fill_cubeful_blocks(
    begin: int,
    end: int,
    chooser: Chooser,
    terms: Terms,
    settings: TrialSettings,
    boards: Boards,
    starts: NDArray[np.int64],
    games: NDArray[np.int64],
    items: NDArray[np.int64],
    first: int,
    blocks: Values,
) -> None:
    """Fills blocks[row, block, 0] with the mean value for the player on roll of the 36 trials of block first + block of
    item items[row], from boards[row, slot], starts[row, (cube value, owner, whether it may double)] and games[row, 0:3]
    as `MatchGame`, and blocks[row, block, 1] with the mean of its luck in them; for the pairs of row and block
    begin:end, in their order."""
    networks, tables = networks_of(chooser), tables_of(chooser)
    tree, order = new_cube_tree(networks, terms.ply), np.empty(BLOCK, np.int64)
    board, chosen = np.empty(26, np.int8), np.empty(26, np.int8)
    for place in range(begin, end):
        row, block = place // blocks.shape[1], first + place % blocks.shape[1]
        game = MatchGame(games[row, 0], games[row, 1], games[row, 2] != 0)
        start = Start(game, starts[row, 0], starts[row, 1], starts[row, 2] != 0)
        stream: Any = random_stream(settings.seed, items[row])  # the seed of others
        fill_order(random_stream(stream, MOST_TRIALS + block // BLOCK), order)
        total, luck = 0.0, 0.0
        for trial in range(block * BLOCK, (block + 1) * BLOCK):
            for slot in range(26):
                board[slot] = boards[row, slot]
            rolls = first_rolls(trial, order)
            found = trial_of(
                networks, tables, terms, settings, start, random_stream(stream, trial), rolls, tree, board, chosen
            )
            total, luck = total + found[0], luck + found[1]
        blocks[row, place % blocks.shape[1], 0], blocks[row, place % blocks.shape[1], 1] = total / BLOCK, luck / BLOCK


@kernel(borrows=True)
def trial_of(
    networks: Networks,
    tables: BearoffArrays,
    terms: Terms,
    settings: TrialSettings,
    start: Start,
    stream: np.uint64,
    rolls: tuple[int, int],
    tree: CubeTree,
    board: Boards,
    chosen: Boards,
) -> tuple[float, float]:
    """(value at the end, luck of all rolls) of player 0 in one game from board[slot], which it overwrites as it does
    chosen[slot]. `rolls` are the places of the first two among all 36. In money play a game ends where the two-sided
    table knows its value."""
    seen = start.game, MatchGame(start.game.opponent_away, start.game.away, start.game.is_crawford)
    over = outcome_of(board, CHECKERS)
    if over != 0:  # after a play that ends the game
        winner = 0 if over > 0 else 1
        value = won(terms, Moment(winner, start.cube_value, start.owner, seen[winner]), abs(over))
        return value if winner == 0 else -value, 0.0
    on_roll, cube_value, owner, turn, luck = 0, start.cube_value, start.owner, 0, 0.0
    evaluation = tree.rolls.evaluation
    chances = evaluation.chances[0]
    while True:
        sign = 1.0 if on_roll == 0 else -1.0
        moment = Moment(on_roll, cube_value, owner, seen[on_roll])
        source = fill_chances(networks, tables, board, evaluation, chances)
        may_double = turn > 0 or start.may_double
        if terms.length == 0 and source == _EXACT:
            known = exact_equities(tables, board, owner_code(moment))
            return sign * cube_value * (best_equity(known) if may_double else known.no_double), luck
        if may_double and doubles(terms, moment, chances, terms.sides[on_roll, 2]):
            if not takes(terms, moment, chances):
                return sign * result(terms, moment, cube_value), luck
            cube_value, owner = 2 * cube_value, 1 - on_roll
        place = rolls[turn] if turn < 2 else roll_at(stream, turn)
        opponent = Moment(1 - on_roll, cube_value, owner, seen[1 - on_roll])
        luck += sign * play(networks, tables, terms, settings, opponent, place, tree, board, chosen)
        outcome, turn = outcome_of(chosen, CHECKERS), turn + 1
        if outcome != 0:
            return sign * won(terms, Moment(on_roll, cube_value, owner, seen[on_roll]), outcome), luck
        flip_into(chosen, board)
        on_roll = 1 - on_roll


@kernel(borrows=True)
def won(terms: Terms, moment: Moment, outcome: int) -> float:
    """The value of a single game, gammon or backgammon (1 to 3) for the player on roll who has won it."""
    way = 1 if terms.length == 0 and terms.is_jacoby and moment.owner == NOBODY else outcome
    return result(terms, moment, way * moment.cube_value)


@kernel(borrows=True)
def result(terms: Terms, moment: Moment, points: int) -> float:
    """The value of winning points for the player on roll."""
    return 2.0 * mwc_after(terms.cells, moment.game, points) - 1.0 if terms.length > 0 else float(points)


@kernel(borrows=True)
def play(
    networks: Networks,
    tables: BearoffArrays,
    terms: Terms,
    settings: TrialSettings,
    opponent: Moment,
    place: int,
    tree: CubeTree,
    board: Boards,
    chosen: Boards,
) -> float:
    """Fills chosen[slot] with the play of the roll at `place` among all 36 from board[slot]; returns its luck, 0 unless
    it is measured. `opponent` is the moment after it."""
    die, other_die, rolls, luck = place // 6 + 1, place % 6 + 1, tree.rolls, 0.0
    stakes = play_stakes(terms, opponent, 1 - opponent.on_roll)
    if terms.with_luck:
        roll = roll_place(die, other_die)
        played = roll if terms.ply == 0 else -1
        fill_roll_values(networks, tables, settings.likely, board, rolls, stakes, played)
        luck = roll_luck(terms, opponent, rolls, roll, False)
    if terms.ply > 0:
        fill_play_ahead(networks, tables, settings.ahead, stakes, terms.ply, board, (die, other_die), tree, chosen)
        return luck
    after = rolls.played
    if not terms.with_luck:
        n = fill_plays(board, max(die, other_die), min(die, other_die), rolls.after, rolls.notes)
        best, _ = choose_by_chances(networks, tables, rolls.after, n, rolls.evaluation, stakes)
        after = rolls.after[best]
    for slot in range(26):
        chosen[slot] = after[slot]
    return luck
