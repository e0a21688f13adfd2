"""Networks whose outputs are conditional chances, and the trials that Higgins made with them in October 2011.

As in `turn_networks`, a network sees a whole game from the side of player 0, is told whose turn it is, here always
correctly, and learns every turn by TD(0). Its outputs are, in this order, the chance to win, of a gammon given a win,
of a backgammon given a gammon, of a gammon given a loss, and of a backgammon given a lost gammon. Each output moves
towards its value after the play; at the end of a game only the outputs whose condition holds learn.

The weight of a turn matters because an unconditional chance is on average the same before and after a turn, while a
conditional chance is not. But the mean of (chance of the condition x conditional chance) stays the same. So learning
has the right limit if each turn counts by the chance of the condition after the play. A weight by the chance before the
play is the same for all rolls of a position, and changes only how fast the network learns.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import Chances, equity_of, fill_outcome_chances, possible_outcomes
from bgdata.evaluation.networks.inference import OUTPUTS
from bgdata.evaluation.pubeval import ScoreTables, choose_pubeval, published_tables
from bgdata.game.board import CHECKERS
from bgdata.game.board_kernels import outcome_of
from bgdata.game.codec import Boards, flip_into
from bgdata.game.play_kernels import fill_plays
from bgdata.game.random import random_stream
from bgdata.kernel import in_threads, kernel
from bgdata.selfplay.games import START, Games, SeriesResult, dice_at, result_of
from bgdata.training.gradient import Network, backward, step
from bgdata.training.networks import Floats, Integers
from bgdata.training.temporal_difference import MAX_TURNS, TEST_SEED
from bgdata.training.turn_networks import Arm, TurnNetworks, TurnScratch, evaluate, new_turn_networks, new_turn_scratch


class Trial(IntEnum):
    """A trial: what the outputs are, and how they learn."""

    GAMMON = 0  # no output for backgammons, which count as gammons
    BACKGAMMON = 1  # all five outputs
    WEIGHTED = 2  # all five; they learn in proportion to the chance of their condition before the play
    WEIGHTED_AFTER = 3  # all five; they learn in proportion to the chance of their condition after the play
    ZEROED = 4  # all five; outputs that the rules exclude are 0, and do not learn
    CHANCES = 5  # the five unconditional chances


_ALL = (1 << OUTPUTS) - 1
_BACKGAMMONS = 1 << 2 | 1 << 4  # bits of the outputs for backgammons
_DICE_PASSED = int(Arm.DICE_PASSED)
_GAMMON, _WEIGHTED, _WEIGHTED_AFTER = int(Trial.GAMMON), int(Trial.WEIGHTED), int(Trial.WEIGHTED_AFTER)
_ZEROED, _CHANCES = int(Trial.ZEROED), int(Trial.CHANCES)
_ONE, _NONE = np.float32(1), np.float32(0)


class TrialScratch(NamedTuple):
    """Scratch memory in which one thread trains or tests a trial."""

    turn: TurnScratch  # its `target` is the target of the outputs
    chances: Chances  # [5] of player 0
    after: Chances  # [5] of player 0 after the chosen play
    known: Floats  # [5] how much each output learns


def new_trial_networks(hidden: int, seed: int) -> TurnNetworks:
    """Return new networks for all trials, with the same small random weights in each."""
    return new_turn_networks(hidden, seed, len(Trial))


def train_trials(networks: TurnNetworks, rate: float, seed: int, first: int, count: int, totals: Integers) -> None:
    """Train every trial's network in place with games first, first + 1, ... of a seed. The numbers of turns, gammons
    and backgammons in these games are added to totals[trial, 0:3]. All trials play with the same dice, and results do
    not depend on the number of threads."""
    in_threads(_fill_trained, len(Trial), networks, np.float32(rate), seed, first, count, totals)


def trial_chances_at_start(networks: TurnNetworks) -> Chances:
    """Return the chances of player 0 at the starting position, on roll (side 0) and off roll (side 1), as
    float32[trial, side, 5]."""
    found = np.empty((len(Trial), 2, OUTPUTS), np.float32)
    _fill_at_start(networks, found)
    return found


def results_against_pubeval(networks: TurnNetworks, first: int, count: int) -> list[SeriesResult]:
    """Return the result of each trial's network against PubEval in test games first, first + 1, ..., an even number of
    games. The network is player 0 and begins in even games; in the next game it is player 1 with the same dice. A game
    that is longer than MAX_TURNS turns stops there, with 0 points."""
    outcomes, turns = np.empty((len(Trial), count), np.int8), np.empty((len(Trial), count), np.int32)
    in_threads(_fill_tested, len(Trial) * count, networks, published_tables(), TEST_SEED, first, outcomes, turns)
    numbers = np.arange(first, first + count, dtype=np.int64)
    return [result_of(Games(numbers, *each, numbers % 2 == 0)) for each in zip(outcomes, turns, strict=True)]


@kernel()
def _new_scratch(shape: Integers) -> TrialScratch:
    return TrialScratch(
        new_turn_scratch(shape),
        np.empty(OUTPUTS, np.float32),
        np.empty(OUTPUTS, np.float32),
        np.empty(OUTPUTS, np.float32),
    )


@kernel()
def _fill_trained(
    begin: int, end: int, networks: TurnNetworks, rate: np.float32, seed: int, first: int, count: int, totals: Integers
) -> None:
    """Train weights[trial] and biases[trial] with games first:first + count, for trials begin:end. Adds their turns,
    gammons and backgammons to totals[trial, 0:3]."""
    scratch, board = _new_scratch(networks.shape), START.copy()
    for trial in range(begin, end):
        network = Network(networks.shape, networks.weights[trial], networks.biases[trial])
        for game in range(first, first + count):
            board[:] = START
            outcome, turns = train_trial_game(trial, network, rate, random_stream(seed, game), game % 2, board, scratch)
            totals[trial, 0] += turns
            for points in (2, 3):
                totals[trial, points - 1] += abs(outcome) == points


@kernel(borrows=True)
def train_trial_game(
    trial: int, network: Network, rate: np.float32, stream: np.uint64, side: int, board: Boards, scratch: TrialScratch
) -> tuple[int, int]:
    """Play one game of a trial's network with itself from board[0:26], and train the network after each turn. `side`
    begins; the board is from its point of view, and is overwritten. Returns the points of player 0, and the number of
    turns. A game that is longer than MAX_TURNS turns stops there, with 0 points."""
    given, after = scratch.turn.given, scratch.turn.after
    for turn in range(MAX_TURNS):
        die, other_die = dice_at(stream, turn)
        n = fill_plays(board, die, other_die, after, scratch.turn.notes)
        best = choose_and_fill_outputs(trial, network, side, n, scratch)
        outcome = outcome_of(after[best], CHECKERS)
        count = evaluate(_DICE_PASSED, network, side, side, board, scratch.turn)
        outputs, deltas = given.values[1, 0], given.deltas[1, 0]
        fill_trial_chances(trial, scratch.turn.seen, outputs, scratch.chances)
        fill_known(trial, scratch.turn.seen, outcome != 0, scratch.chances, scratch.after, scratch.known)
        for output in range(OUTPUTS):
            error = scratch.known[output] * (scratch.turn.target[output] - outputs[output])
            deltas[output] = error * outputs[output] * (_ONE - outputs[output])
        backward(network.shape, network.weights, given.values, given.deltas, 0)
        step(network, given, count, rate)
        if outcome != 0:
            return (outcome if side == 0 else -outcome), turn + 1
        flip_into(after[best], board)
        side = 1 - side
    return 0, MAX_TURNS


@kernel(borrows=True)
def choose_and_fill_outputs(trial: int, network: Network, side: int, n: int, scratch: TrialScratch) -> int:
    """Choose the play with the highest equity for `side`, and return its row in scratch.turn.after[0:n, slot], the
    boards for `side`. Ties go to the first play. Also fills scratch.after[0:5] with the chances of player 0 there, and
    scratch.turn.target[0:5] with the outputs."""
    sign, best, highest = 1 - 2 * side, 0, -np.inf
    turn, outputs = scratch.turn, scratch.turn.given.values[1, 0]
    for row in range(n):
        outcome = outcome_of(turn.after[row], CHECKERS)
        if outcome != 0:
            fill_outcome_chances(sign * outcome, outputs)  # right for conditional chances whose condition holds, too
            fill_outcome_chances(sign * outcome, scratch.chances)
        else:
            evaluate(_DICE_PASSED, network, side, 1 - side, turn.after[row], turn)
            fill_trial_chances(trial, turn.seen, outputs, scratch.chances)
        equity = sign * equity_of(scratch.chances)
        if equity > highest:
            best, highest = row, equity
            possible = possible_of(trial, turn.seen) if outcome == 0 else _ALL
            for item in range(OUTPUTS):
                turn.target[item] = outputs[item] * np.float32(possible >> item & 1)
                scratch.after[item] = scratch.chances[item]
    return best


@kernel(borrows=True)
def possible_of(trial: int, seen: Boards) -> int:
    """Return a bit mask of the outputs that a trial uses on board `seen[0:26]`, as player 0 sees it."""
    if trial == _GAMMON:
        return _ALL - _BACKGAMMONS
    return 2 * possible_outcomes(seen) + 1 if trial == _ZEROED else _ALL


@kernel(borrows=True)
def fill_trial_chances(trial: int, seen: Boards, outputs: Floats, chances: Chances) -> None:
    """Convert a network's outputs[0:5] to chances[0:5] of player 0 on board `seen[0:26]`, as player 0 sees it."""
    possible = possible_of(trial, seen)
    for item in range(OUTPUTS):
        chances[item] = outputs[item] * np.float32(possible >> item & 1)
    if trial != _CHANCES:
        chances[1] *= chances[0]
        chances[2] *= chances[1]
        chances[3] *= _ONE - chances[0]
        chances[4] *= chances[3]


@kernel(borrows=True)
def fill_known(trial: int, seen: Boards, is_over: bool, chances: Chances, after: Chances, known: Floats) -> None:
    """Fill known[0:5] with how much each output learns on board `seen[0:26]`, from the chances of player 0 before and
    after the play. `is_over` says that the play ended the game."""
    possible = possible_of(trial, seen)
    for item in range(OUTPUTS):
        known[item] = np.float32(possible >> item & 1)
    if trial == _WEIGHTED:
        weigh_by_condition(chances, known)
    if trial != _CHANCES and (is_over or trial == _WEIGHTED_AFTER):
        weigh_by_condition(after, known)


@kernel(borrows=True)
def weigh_by_condition(chances: Chances, known: Floats) -> None:
    """Multiply known[0:5] by the chance that each output is conditional on: a win for a gammon, a gammon for a
    backgammon, and so on."""
    known[1] *= chances[0]
    known[2] *= chances[1]
    known[3] *= _ONE - chances[0]
    known[4] *= chances[3]


@kernel()
def _fill_at_start(networks: TurnNetworks, chances: Chances) -> None:
    """Fill chances[trial, side, 0:5] with the chances of player 0 at the starting position, where `side` is on roll."""
    scratch = new_turn_scratch(networks.shape)
    for trial in range(len(chances)):
        network = Network(networks.shape, networks.weights[trial], networks.biases[trial])
        for side in range(2):
            evaluate(_DICE_PASSED, network, 0, side, START, scratch)
            fill_trial_chances(trial, scratch.seen, scratch.given.values[1, 0], chances[trial, side])


@kernel()
def _fill_tested(
    begin: int,
    end: int,
    networks: TurnNetworks,
    tables: ScoreTables,
    seed: int,
    first: int,
    outcomes: NDArray[np.int8],
    turns: NDArray[np.int32],
) -> None:
    """Play test games first + game of a seed, for items begin:end of (trial, game). Fills outcomes[trial, game] with
    the points of the network, and turns[trial, game]."""
    scratch, board, count = _new_scratch(networks.shape), START.copy(), outcomes.shape[1]
    for item in range(begin, end):
        trial, game = item // count, first + item % count
        network = Network(networks.shape, networks.weights[trial], networks.biases[trial])
        board[:] = START
        points, played = play_against_pubeval(
            trial, network, tables, random_stream(seed, game // 2), game % 2, board, scratch
        )
        outcomes[trial, game - first], turns[trial, game - first] = points, played


@kernel(borrows=True)
def play_against_pubeval(
    trial: int,
    network: Network,
    tables: ScoreTables,
    stream: np.uint64,
    player: int,
    board: Boards,
    scratch: TrialScratch,
) -> tuple[int, int]:
    """Play one game of a trial's network against PubEval from board[0:26], which is overwritten. Player 0 begins; the
    network is `player`. Returns the points of the network, and the number of turns."""
    side, after = 0, scratch.turn.after
    for turn in range(MAX_TURNS):
        die, other_die = dice_at(stream, turn)
        n = fill_plays(board, die, other_die, after, scratch.turn.notes)
        if side == player:
            best = choose_and_fill_outputs(trial, network, side, n, scratch)
        else:
            best = choose_pubeval(tables, board, after, n)
        outcome = outcome_of(after[best], CHECKERS)
        if outcome != 0:
            return (outcome if side == player else -outcome), turn + 1
        flip_into(after[best], board)
        side = 1 - side
    return 0, MAX_TURNS
