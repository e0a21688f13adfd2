"""Networks that see a whole game from one side, and are told whose turn it is (Tesauro, 1992).

Chances are those of player 0, whoever is on roll. The inputs are `InputSet.TESAURO_198` of the board as player 0 sees
it, the last two of which say whose turn it is: 1 and 0 for player 0, 0 and 1 for the opponent. Every turn is learned at
once by TD(0): the chances of the position move towards those after the play, where it is the opponent's turn. The arms
differ only in what they are told of it; each chooses its plays by the same chances that it learns towards.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import Chances, equity_of, fill_outcome_chances
from bgdata.evaluation.networks.contact_inputs import UNIT, Inputs
from bgdata.evaluation.networks.inference import LAYERS, OUTPUTS, SIZES
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import fill_without_contact
from bgdata.game.board import CHECKERS
from bgdata.game.board_kernels import outcome_of
from bgdata.game.codec import Boards, flip_into
from bgdata.game.play_kernels import MOST_NOTES, MOST_PLAYS, Notes, fill_plays
from bgdata.game.random import random_stream
from bgdata.kernel import in_threads, kernel
from bgdata.selfplay.games import START, dice_at
from bgdata.training.gradient import backward, fill_errors
from bgdata.training.networks import Floats, new_networks
from bgdata.training.temporal_difference.learning import fill_layers, fill_used, step
from bgdata.training.temporal_difference.run import MOST_TURNS


class Arm(IntEnum):
    """What a network is told of whose turn it is."""

    DICE_KEPT = 0  # after a play, that it is still the turn of whoever has just played
    DICE_PASSED = 1  # after a play, that it is the other player's turn
    NO_INPUT = 2  # nothing: both inputs are 0, and their weights never change


_SET, _NO_INPUT, _DICE_KEPT = int(InputSet.TESAURO_198), int(Arm.NO_INPUT), int(Arm.DICE_KEPT)
_ALL_CHANCES = (1 << OUTPUTS) - 1


class TurnNetworks(NamedTuple):
    """A network with one hidden layer for each arm."""

    shape: NDArray[np.int64]  # of all of them: a row of `FloatNetworks.shapes`
    weights: Floats  # [arm, weight]
    biases: Floats  # [arm, unit]


class TurnScratch(NamedTuple):
    """Scratch of one thread."""

    after: Boards  # [MOST_PLAYS, 26]
    notes: Notes  # [MOST_NOTES]
    seen: Boards  # [26] a board as player 0 sees it
    inputs: Inputs  # [198]
    used: NDArray[np.int64]  # [199]
    values: Floats  # [layer, 1, unit]
    deltas: Floats  # [layer, 1, unit]
    target: Chances  # [5]


def new_turn_networks(hidden: int, seed: int) -> TurnNetworks:
    """The same new network for each arm, with small random weights."""
    shapes, weights, biases = new_networks((InputSet.TESAURO_198,), ((hidden,),), seed)
    return TurnNetworks(shapes[0], np.tile(weights, (len(Arm), 1)), np.tile(biases, (len(Arm), 1)))


def train_arms(
    networks: TurnNetworks, rate: float, seed: int, first: int, count: int, totals: NDArray[np.int64]
) -> None:
    """Train every arm, in place, with games first, first + 1, ... of a seed: the dice are the same for all arms, the
    results on any number of threads. totals[arm, 0:3] grow by the turns of these games, their gammons and backgammons.
    """
    in_threads(fill_trained, len(Arm), *networks, np.float32(rate), seed, first, count, totals)


def chances_at_start(networks: TurnNetworks) -> Chances:
    """float32[arm, side, 5]: chances of player 0 at the starting position with the dice (side 0), and without."""
    found = np.empty((len(Arm), 2, OUTPUTS), np.float32)
    fill_at_start(*networks, found)
    return found


@kernel()
def new_turn_scratch(shape: NDArray[np.int64]) -> TurnScratch:
    """Scratch for one thread."""
    size = shape[LAYERS], 1, shape[SIZES:].max()
    return TurnScratch(
        np.empty((MOST_PLAYS, 26), np.int8),
        np.empty(MOST_NOTES, np.int64),
        np.empty(26, np.int8),
        np.empty(shape[1], np.int16),
        np.empty(shape[1] + 1, np.int64),
        np.empty(size, np.float32),
        np.empty(size, np.float32),
        np.empty(OUTPUTS, np.float32),
    )


@kernel()
def fill_trained(
    begin: int,
    end: int,
    shape: NDArray[np.int64],
    weights: Floats,
    biases: Floats,
    rate: np.float32,
    seed: int,
    first: int,
    count: int,
    totals: NDArray[np.int64],
) -> None:
    """Fills weights[arm] and biases[arm] with what games first:first + count make of them, and totals[arm, 0:3] with
    themselves plus turns, gammons and backgammons, for the arms begin:end."""
    scratch, board = new_turn_scratch(shape), START.copy()
    for arm in range(begin, end):
        for game in range(first, first + count):
            board[:] = START
            outcome, turns = train_game(
                arm, shape, weights[arm], biases[arm], rate, random_stream(seed, game), game % 2, board, scratch
            )
            totals[arm, 0] += turns
            for points in (2, 3):
                totals[arm, points - 1] += abs(outcome) == points


@kernel(borrows=True)
def train_game(
    arm: int,
    shape: NDArray[np.int64],
    weights: Floats,
    biases: Floats,
    rate: np.float32,
    stream: np.uint64,
    side: int,
    board: Boards,
    scratch: TurnScratch,
) -> tuple[int, int]:
    """Fills weights and biases with what each turn of a game teaches; `side` begins, and board[slot], seen by it, is
    overwritten. Returns (points to player 0, turns); a game of MOST_TURNS is cut there, for 0 points."""
    for turn in range(MOST_TURNS):
        die, other_die = dice_at(stream, turn)
        n = fill_plays(board, die, other_die, scratch.after, scratch.notes)
        best = choose_and_fill_target(arm, shape, weights, biases, side, n, scratch)
        count = evaluate(arm, shape, weights, biases, side, side, board, scratch)
        fill_errors(scratch.target, _ALL_CHANCES, True, scratch.values[1, 0], scratch.deltas[1, 0])
        backward(shape, weights, scratch.values, scratch.deltas, 0)
        used = scratch.used[:count]
        step(shape, weights, biases, scratch.inputs, used, scratch.values, scratch.deltas, rate)
        outcome = outcome_of(scratch.after[best], CHECKERS)
        if outcome != 0:
            return (outcome if side == 0 else -outcome), turn + 1
        flip_into(scratch.after[best], board)
        side = 1 - side
    return 0, MOST_TURNS


@kernel(borrows=True)
def choose_and_fill_target(
    arm: int, shape: NDArray[np.int64], weights: Floats, biases: Floats, side: int, n: int, scratch: TurnScratch
) -> int:
    """The row of scratch.after[0:n, slot], boards seen by `side`, with the highest equity for it, the first of equals;
    fills scratch.target[0:5] with the chances of player 0 there, as the arm sees them."""
    sign = 1 - 2 * side
    on_roll = side if arm == _DICE_KEPT else 1 - side
    best, highest, outputs = 0, -np.inf, scratch.values[1, 0]
    for row in range(n):
        outcome = outcome_of(scratch.after[row], CHECKERS)
        if outcome != 0:
            fill_outcome_chances(sign * outcome, outputs)
        else:
            evaluate(arm, shape, weights, biases, side, on_roll, scratch.after[row], scratch)
        equity = sign * equity_of(outputs)
        if equity > highest:
            best, highest = row, equity
            for item in range(OUTPUTS):
                scratch.target[item] = outputs[item]
    return best


@kernel(borrows=True)
def evaluate(
    arm: int,
    shape: NDArray[np.int64],
    weights: Floats,
    biases: Floats,
    side: int,
    on_roll: int,
    board: Boards,
    scratch: TurnScratch,
) -> int:
    """Fills scratch.values[1, 0, 0:5] with the chances of player 0 on board[slot], seen by `side`, if `on_roll` has the
    dice; inputs, used rows and hidden units stay in scratch. Returns the number of inputs that are not 0."""
    seen = scratch.seen
    if side == 0:
        for slot in range(len(seen)):
            seen[slot] = board[slot]
    else:
        flip_into(board, seen)
    inputs = scratch.inputs
    fill_without_contact(_SET, seen, inputs)
    for player in range(2):
        inputs[len(inputs) - 2 + player] = UNIT * (arm != _NO_INPUT and on_roll == player)
    count = fill_used(inputs, scratch.used)
    fill_layers(shape, weights, biases, inputs, scratch.used[:count], scratch.values, scratch.deltas[0, 0])
    return count


@kernel()
def fill_at_start(shape: NDArray[np.int64], weights: Floats, biases: Floats, chances: Chances) -> None:
    """Fills chances[arm, side, 0:5] with those of player 0 at the start, if `side` has the dice."""
    scratch = new_turn_scratch(shape)
    for arm in range(len(chances)):
        for side in range(2):
            evaluate(arm, shape, weights[arm], biases[arm], 0, side, START, scratch)
            chances[arm, side] = scratch.values[1, 0, :OUTPUTS]
