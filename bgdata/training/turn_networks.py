"""Networks that see a whole game from one side, with inputs for whose turn it is (Tesauro, 1992).

Chances are for player 0, also when the opponent is on roll. The inputs are `InputSet.TESAURO_198` of the board from
player 0's point of view; the last two mark the turn: 1 and 0 for player 0, 0 and 1 for the opponent. Every turn is
learned at once by TD(0): the chances of the position move towards the chances after the play, where it is the
opponent's turn. The arms differ only in these two inputs after a play; each arm chooses plays by the chances that it
learns towards.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from bgdata.evaluation.chances import Chances, equity_of, fill_outcome_chances
from bgdata.evaluation.networks.contact_inputs import UNIT
from bgdata.evaluation.networks.inference import OUTPUTS
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import fill_without_contact
from bgdata.game.board import CHECKERS
from bgdata.game.board_kernels import outcome_of
from bgdata.game.codec import Boards, flip_into
from bgdata.game.play_kernels import MAX_NOTES, MAX_PLAYS, Notes, fill_plays
from bgdata.game.random import random_stream
from bgdata.kernel import in_threads, kernel
from bgdata.selfplay.games import START, dice_at
from bgdata.training.gradient import Network, Pass, backward, fill_errors, fill_values, new_pass, step
from bgdata.training.networks import Floats, Integers, new_networks
from bgdata.training.temporal_difference import MAX_TURNS


class Arm(IntEnum):
    """Which inputs tell a network whose turn it is. Each arm is one network of the comparison."""

    DICE_KEPT = 0  # after a play, it is still the turn of the player who moved
    DICE_PASSED = 1  # after a play, it is the other player's turn
    NO_INPUT = 2  # both inputs are 0, and their weights never change


_SET, _NO_INPUT, _DICE_KEPT = int(InputSet.TESAURO_198), int(Arm.NO_INPUT), int(Arm.DICE_KEPT)
_ALL_CHANCES = (1 << OUTPUTS) - 1


class TurnNetworks(NamedTuple):
    """One network with one hidden layer for each arm."""

    shape: Integers  # the shape that all networks have: a row of `FloatNetworks.shapes`
    weights: Floats  # [arm, weight]
    biases: Floats  # [arm, unit]


class TurnScratch(NamedTuple):
    """Scratch memory in which one thread trains an arm."""

    after: Boards  # [MAX_PLAYS, 26]
    notes: Notes  # [MAX_NOTES]
    seen: Boards  # [26] a board from player 0's point of view
    target: Chances  # [5]
    given: Pass


def new_turn_networks(hidden: int, seed: int, arms: int = len(Arm)) -> TurnNetworks:
    """Return new networks for `arms` arms, with the same small random weights in each."""
    shapes, weights, biases = new_networks((InputSet.TESAURO_198,), ((hidden,),), seed)
    return TurnNetworks(shapes[0], np.tile(weights, (arms, 1)), np.tile(biases, (arms, 1)))


def train_arms(networks: TurnNetworks, rate: float, seed: int, first: int, count: int, totals: Integers) -> None:
    """Train every arm's network in place with games first, first + 1, ... of a seed. The dice are the same for all
    arms, and the results are the same on any number of threads. The turns, gammons and backgammons of these games are
    added to totals[arm, 0:3]."""
    in_threads(_fill_trained, len(Arm), networks, np.float32(rate), seed, first, count, totals)


def chances_at_start(networks: TurnNetworks) -> Chances:
    """Return the chances of player 0 at the starting position, on roll (side 0) and off roll (side 1), as float32[arm,
    side, 5]."""
    found = np.empty((len(Arm), 2, OUTPUTS), np.float32)
    _fill_at_start(networks, found)
    return found


@kernel()
def new_turn_scratch(shape: Integers) -> TurnScratch:
    """Allocate scratch memory for one thread and networks of this shape."""
    return TurnScratch(
        np.empty((MAX_PLAYS, 26), np.int8),
        np.empty(MAX_NOTES, np.int64),
        np.empty(26, np.int8),
        np.empty(OUTPUTS, np.float32),
        new_pass(shape),
    )


@kernel()
def _fill_trained(
    begin: int, end: int, networks: TurnNetworks, rate: np.float32, seed: int, first: int, count: int, totals: Integers
) -> None:
    """Train weights[arm] and biases[arm] with games first:first + count, for arms begin:end. Adds their turns, gammons
    and backgammons to totals[arm, 0:3]."""
    scratch, board = new_turn_scratch(networks.shape), START.copy()
    for arm in range(begin, end):
        network = Network(networks.shape, networks.weights[arm], networks.biases[arm])
        for game in range(first, first + count):
            board[:] = START
            outcome, turns = train_game(arm, network, rate, random_stream(seed, game), game % 2, board, scratch)
            totals[arm, 0] += turns
            for points in (2, 3):
                totals[arm, points - 1] += abs(outcome) == points


@kernel(borrows=True)
def train_game(
    arm: int, network: Network, rate: np.float32, stream: np.uint64, side: int, board: Boards, scratch: TurnScratch
) -> tuple[int, int]:
    """Play one game of a network with itself from board[0:26], and train the network by each turn. `side` begins; the
    board is from its point of view, and is overwritten. Returns the points of player 0, and the number of turns. A game
    that is longer than MAX_TURNS turns stops there, with 0 points."""
    given = scratch.given
    for turn in range(MAX_TURNS):
        die, other_die = dice_at(stream, turn)
        n = fill_plays(board, die, other_die, scratch.after, scratch.notes)
        best = choose_and_fill_target(arm, network, side, n, scratch)
        count = evaluate(arm, network, side, side, board, scratch)
        fill_errors(scratch.target, _ALL_CHANCES, True, given.values[1, 0], given.deltas[1, 0])
        backward(network.shape, network.weights, given.values, given.deltas, 0)
        step(network, given, count, rate)
        outcome = outcome_of(scratch.after[best], CHECKERS)
        if outcome != 0:
            return (outcome if side == 0 else -outcome), turn + 1
        flip_into(scratch.after[best], board)
        side = 1 - side
    return 0, MAX_TURNS


@kernel(borrows=True)
def choose_and_fill_target(arm: int, network: Network, side: int, n: int, scratch: TurnScratch) -> int:
    """Choose the play with the highest equity for `side`, and return its row in scratch.after[0:n, slot], the boards
    for `side`. Ties go to the first play. Also fills scratch.target[0:5] with the chances of player 0 there, by the
    inputs of the arm."""
    sign = 1 - 2 * side
    on_roll = side if arm == _DICE_KEPT else 1 - side
    best, highest, outputs = 0, -np.inf, scratch.given.values[1, 0]
    for row in range(n):
        outcome = outcome_of(scratch.after[row], CHECKERS)
        if outcome != 0:
            fill_outcome_chances(sign * outcome, outputs)
        else:
            evaluate(arm, network, side, on_roll, scratch.after[row], scratch)
        equity = sign * equity_of(outputs)
        if equity > highest:
            best, highest = row, equity
            for item in range(OUTPUTS):
                scratch.target[item] = outputs[item]
    return best


@kernel(borrows=True)
def evaluate(arm: int, network: Network, side: int, on_roll: int, board: Boards, scratch: TurnScratch) -> int:
    """Evaluate board[0:26], which is seen from `side`, if player `on_roll` is on roll. Fills scratch.given.values[1, 0,
    0:5] with the chances of player 0. Returns the number of inputs that are not 0."""
    seen, inputs = scratch.seen, scratch.given.inputs
    if side == 0:
        for slot in range(len(seen)):
            seen[slot] = board[slot]
    else:
        flip_into(board, seen)
    fill_without_contact(_SET, seen, inputs)
    for player in range(2):
        inputs[len(inputs) - 2 + player] = UNIT * (arm != _NO_INPUT and on_roll == player)
    return fill_values(network, scratch.given)


@kernel()
def _fill_at_start(networks: TurnNetworks, chances: Chances) -> None:
    """Fill chances[arm, side, 0:5] with the chances of player 0 at the starting position, where `side` is on roll."""
    scratch = new_turn_scratch(networks.shape)
    for arm in range(len(chances)):
        network = Network(networks.shape, networks.weights[arm], networks.biases[arm])
        for side in range(2):
            evaluate(arm, network, 0, side, START, scratch)
            chances[arm, side] = scratch.given.values[1, 0, :OUTPUTS]
