"""One step of training against finite differences in double precision, and the numbers of networks."""

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.evaluation.answers import network_of
from bgdata.evaluation.chances import Chances, limit_chances, possible_outcomes
from bgdata.evaluation.networks.inference import FIRST_SUM, FIRST_WEIGHT, LATER_WEIGHT, Activation
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import encode
from bgdata.game.board_kernels import position_classes
from bgdata.game.codec import Boards
from bgdata.kernel import threads
from bgdata.training.gradient import learn, weigh_floats
from bgdata.training.networks import FloatNetworks, copy_networks, new_networks, rounded_networks
from tests.evaluation.sample_networks import SHAPES, random_floats
from tests.random_games import random_game_positions
from tests.reference.games import stream_bits
from tests.reference.learning import learned, numbers, outputs
from tests.reference.networks import unpacked


@cache
def sample_boards() -> Boards:
    return random_game_positions(20, seed=91).boards


@cache
def sample_classes() -> NDArray[np.int64]:
    return np.array([network_of(number) for number in position_classes(sample_boards())])


def targets(boards: Boards, seed: int = 4) -> Chances:
    """Random chances that the rules allow."""
    chances = np.random.default_rng(seed).random((len(boards), 5), np.float32)
    for row, board in zip(chances, boards, strict=True):
        limit_chances(possible_outcomes(board), row)
    return chances


def train(networks: FloatNetworks, boards: Boards, wanted: Chances, rate: float = 0.1, squared: bool = False) -> None:
    """Train every network on the boards of its class, in order."""
    classes = np.array([network_of(number) for number in position_classes(boards)])
    order = np.argsort(classes, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(classes, minlength=3))])
    learn(networks, boards, wanted, order, ends, np.float32(rate), squared)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("number", [0, 1, 3, 4])  # also two and three hidden layers, and rectified units
def test_one_step_follows_the_gradient(number: int, squared: bool) -> None:
    """Weights change as in the reference, and other networks stay as they are."""
    before = random_floats(number, size=3, seed=number + 1)
    for which in range(3):
        row = np.flatnonzero(which == sample_classes())[7]
        board = sample_boards()[row : row + 1]
        target = targets(sample_boards()[row : row + 1])
        after = copy_networks(before)
        train(after, board, target, rate=0.5, squared=squared)
        layers, after_layers = unpacked(before, which), unpacked(after, which)
        expected = learned(layers, board[0].tolist(), target[0].tolist(), 0.5, squared)
        steps = largest = 0.0
        for old, new, right in zip(numbers(layers), numbers(after_layers), numbers(expected), strict=True):
            change, wanted_change = np.subtract(new, old), np.subtract(right, old)
            # derivatives of the approximated logistic function differ slightly from v (1 - v); weights are float32
            assert change == pytest.approx(wanted_change, rel=2e-3, abs=2e-6)
            largest = max(largest, float(np.abs(wanted_change).max()))
            steps += float(np.abs(change).sum())
        assert largest > 0.01
        assert steps > 0.1
        for other in {0, 1, 2} - {which}:
            assert unpacked(after, other) == unpacked(before, other)


def test_impossible_chances_are_not_learned() -> None:
    """A wrong target for a gammon that the rules exclude changes nothing."""
    networks = random_floats(0)
    board = np.zeros((1, 26), np.int8)
    board[0, [3, 22]] = 5, -5  # both sides have checkers off, so gammons are impossible
    answers = np.array([outputs(unpacked(networks, 0), encode(InputSet.RACE, board)[0] / 64)], np.float32)
    before = copy_networks(networks)
    target = answers.copy()
    target[0, 1:] = 1
    train(networks, board, target, rate=1.0)
    assert networks.weights == pytest.approx(before.weights, abs=1e-5)
    target[0, 0] = 1 - answers[0, 0]
    train(networks, board, target, rate=1.0)
    assert networks.weights != pytest.approx(before.weights, abs=1e-2)


def test_positions_are_learned_in_order() -> None:
    """One call equals a call for each position; in another order, other weights result."""
    boards = np.ascontiguousarray(sample_boards()[sample_classes() == 2][:20])
    chances = targets(boards)
    rate = np.float32(0.3)
    at_once, one_by_one, backwards = (random_floats(1) for _ in range(3))
    ends = np.array([0, 0, 0, 20])
    learn(at_once, boards, chances, np.arange(20), ends, rate, False)
    learn(backwards, boards, chances, np.arange(20)[::-1].copy(), ends, rate, False)
    for row in range(20):
        learn(one_by_one, boards, chances, np.array([row]), np.minimum(ends, 1), rate, False)
    assert np.array_equal(at_once.weights, one_by_one.weights)
    assert np.array_equal(at_once.biases, one_by_one.biases)
    assert not np.array_equal(at_once.weights, backwards.weights)


def test_training_does_not_depend_on_threads() -> None:
    results = []
    for count in (1, 2):
        networks = random_floats(1)
        with threads(count):
            train(networks, sample_boards(), targets(sample_boards()))
        results.append((networks.weights.tobytes(), networks.biases.tobytes()))
    assert results[0] == results[1]
    assert results[0][0] != random_floats(1).weights.tobytes()


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 120, 121])
def test_sums_are_by_halving(count: int) -> None:
    """Sums have the documented order to the last bit: the upper half is added to the lower one; a middle item stays."""
    values, weights = np.random.default_rng(11).random((2, count), np.float32) - np.float32(0.5)
    parts = list(values * weights)
    while len(parts) > 1:
        half = len(parts) // 2
        upper = parts[len(parts) - half :]
        parts = [part + other for part, other in zip(parts, upper, strict=False)] + parts[half : len(parts) - half]
    assert weigh_floats(values, weights, np.empty(count + 3, np.float32)) == parts[0]
    assert float(parts[0]) == pytest.approx(float(values.astype(float) @ weights.astype(float)), abs=1e-5)


def test_new_networks_are_small_and_random() -> None:
    """New networks have the given shapes, zero biases, and weights from -0.1 to 0.1 by the documented random
    numbers."""
    input_sets, hidden = SHAPES[1]
    networks = new_networks(input_sets, hidden, seed=9)
    sizes = [[256, 6, 4, 5], [196, 16, 5], [260, 5, 3, 4, 5]]
    assert networks.shapes.tolist() == [
        [2, 256, 0, 0, 0, 3, 6, 4, 5, 0],
        [0, 196, 256 * 6 + 24 + 20, 15, 0, 2, 16, 5, 0, 0],
        [3, 260, 1580 + 196 * 16 + 80, 36, 0, 4, 5, 3, 4, 5],
    ]
    for which, (first, *later) in enumerate(sizes):
        layers = unpacked(networks, which)
        assert len(layers.first) == first
        assert [len(row) for row in layers.biases] == later
        assert not any(any(row) for row in layers.biases)
    shares = [(stream_bits(9, 0, item) >> 40) / 2**24 for item in range(len(networks.weights))]
    assert networks.weights.tolist() == pytest.approx([0.2 * share - 0.1 for share in shares], abs=1e-8)
    assert np.array_equal(new_networks(input_sets, hidden, 9).weights, networks.weights)
    assert not np.array_equal(new_networks(input_sets, hidden, 10).weights, networks.weights)


def test_rounded_weights_are_nearest_integers() -> None:
    """Rounding multiplies weights and biases by the documented factors and takes the nearest integers."""
    floats = random_floats(1, size=20)
    integers = rounded_networks(floats)
    for which in range(3):
        exact, rounded = unpacked(floats, which), unpacked(integers, which)
        for units, rows, integer_rows in (
            (FIRST_WEIGHT, exact.first, rounded.first),
            (FIRST_SUM, exact.biases[:1], rounded.biases[:1]),
        ):
            assert np.array_equal(np.rint(np.array(rows) * units), integer_rows)
        for rows, integer_rows in zip(exact.later, rounded.later, strict=True):
            assert np.array_equal(np.rint(np.array(rows) * LATER_WEIGHT), integer_rows)
        for row, integer_rows in zip(exact.biases[1:], rounded.biases[1:], strict=True):
            assert np.array(integer_rows) == pytest.approx(
                np.array(row) * Activation.LOGISTIC.later_sum, abs=2
            )  # beyond 24 bits of a float32
    assert [values.dtype for values in integers] == [np.int64, np.int16, np.int32]
    assert not any(values.flags.writeable for values in integers)


def test_rounding_clips_large_weights() -> None:
    floats = random_floats(0)
    floats.weights[:4] = [9, -9, 1e30, -np.inf]
    floats.biases[:2] = [1e6, -np.inf]
    integers = rounded_networks(floats)
    assert integers.weights[:4].tolist() == [32767, -32767, 32767, -32767]
    assert integers.biases[:2].tolist() == [2**30, -(2**30)]
