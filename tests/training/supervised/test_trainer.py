"""Trainers against dense NumPy in double precision, whose gradients are checked by finite differences."""

from copy import deepcopy
from dataclasses import replace
from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.evaluation.answers import network_of
from bgdata.evaluation.chances import Chances, limit_chances, possible_outcomes
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import encode, input_count
from bgdata.game.board_kernels import position_classes
from bgdata.game.codec import Boards
from bgdata.kernel import threads
from bgdata.training.networks import FloatNetworks
from bgdata.training.recipes import SupervisedRecipe
from bgdata.training.supervised.examples import Examples
from bgdata.training.supervised.run import open_trainers
from bgdata.training.supervised.trainer import FIRST_LIMIT, LATER_LIMIT, NetworkTrainer, sparse_inputs
from tests.evaluation.sample_networks import random_floats
from tests.random_games import random_game_positions
from tests.reference.networks import unpacked
from tests.reference.supervised import gradients, matrices, total_loss, trained, trained_averages

WITH_TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is an extra")
# allowed errors of sums as a share of the largest change: kernels approximate the logistic function
each_trainer = pytest.mark.parametrize(
    ("trainer", "tolerance"), [("kernels", 0.02), pytest.param("torch", 0.001, marks=WITH_TORCH)]
)


@cache
def sample_boards() -> Boards:
    return random_game_positions(30, seed=17).boards


@cache
def sample_classes() -> NDArray[np.int64]:
    return np.array([network_of(number) for number in position_classes(sample_boards())])


def examples(which: int, count: int, seed: int = 4) -> Examples:
    """Positions of the class of network `which`, with random chances that the rules allow."""
    boards = np.ascontiguousarray(sample_boards()[which == sample_classes()][:count])
    assert len(boards) == count
    targets: Chances = np.random.default_rng(seed).random((count, 5), np.float32)
    for row, board in zip(targets, boards, strict=True):
        limit_chances(possible_outcomes(board), row)
    return Examples(boards, targets)


def learn(
    networks: FloatNetworks,
    which: int,
    recipe: SupervisedRecipe,
    *parts: Examples,
    averages: FloatNetworks | None = None,
) -> NetworkTrainer:
    """Train one network on these examples, one after the other, at the rate of the recipe. Returns the trainer."""
    trainer = open_trainers(networks, recipe, averages)[which]
    trainer.load()
    with trainer.settings():
        for part in parts:
            trainer.learn(trainer.prepare(part), [recipe.learning_rate, recipe.learning_rate])
    trainer.store()
    return trainer


@pytest.mark.parametrize("input_set", list(InputSet))
@pytest.mark.parametrize("batch", [7, 64])
def test_sparse_inputs_equal_the_input_set(input_set: InputSet, batch: int) -> None:
    """Sparse inputs, by position and by input, equal the encoded inputs to the last bit."""
    boards = np.ascontiguousarray(sample_boards()[:200])
    expected = encode(input_set, boards) / np.float32(64)
    starts_by_threads = []
    for count in (1, 2):
        with threads(count):
            sparse = sparse_inputs(input_set, input_count(input_set), boards, batch)
        by_row, by_input = np.zeros_like(expected), np.zeros_like(expected)
        for row, entries in enumerate(sparse.counts.tolist()):
            assert entries % 4 == 0
            np.add.at(by_row[row], sparse.columns[row, :entries], sparse.values[row, :entries])
        for number, starts in enumerate(sparse.starts):
            for item in range(len(starts) - 1):
                samples = sparse.samples[number, starts[item] : starts[item + 1]]
                assert (np.diff(samples) > 0).all()
                by_input[number * batch + samples, item] = sparse.factors[number, starts[item] : starts[item + 1]]
        assert np.array_equal(by_row, expected)
        assert np.array_equal(by_input, expected)
        starts_by_threads.append(sparse.starts.tobytes())
    assert starts_by_threads[0] == starts_by_threads[1]


def full_house() -> Boards:
    """A position with the most inputs, because checkers are on as many points as possible."""
    board = np.zeros((1, 26), np.int8)
    board[0, 1:16], board[0, 24:15:-1], board[0, 0] = 1, -1, 6
    return board


@pytest.mark.parametrize("input_set", list(InputSet))
def test_sparse_inputs_have_room_for_the_fullest_board(input_set: InputSet) -> None:
    sparse = sparse_inputs(input_set, input_count(input_set), full_house()[:0], 1)
    room = sparse.columns.shape[1]
    assert (encode(input_set, np.concatenate([full_house(), sample_boards()])) != 0).sum(axis=1).max() <= room


@pytest.mark.slow
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("number", [0, 1, 3])  # also two and three hidden layers
def test_gradients_of_the_reference_equal_finite_differences(number: int, squared: bool) -> None:
    """The gradients of the reference network equal finite differences of its loss, for some random weights of each
    layer."""
    which = 2
    layers = unpacked(random_floats(number, size=3), which)
    samples = examples(which, 5)
    boards = samples.boards.tolist()
    targets = samples.targets.tolist()
    slopes = gradients(layers, boards, targets, squared)
    generator = np.random.default_rng(2)
    for part, slope in enumerate(slopes):
        for _ in range(4):
            index = tuple(int(generator.integers(size)) for size in slope.shape)
            losses = []
            for change in (1e-4, -1e-4):
                moved = deepcopy(layers)
                layer = part // 2
                if part % 2:
                    moved.biases[layer][index[0]] += change
                elif layer == 0:
                    moved.first[index[0]][index[1]] += change
                else:
                    moved.later[layer - 1][index[1]][index[0]] += change
                losses.append(total_loss(moved, boards, targets, squared))
            expected = (losses[1] - losses[0]) / 2e-4
            assert slope[index] == pytest.approx(
                expected, rel=5e-3, abs=2e-4
            )  # the logistic function is approximated there


@each_trainer
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("loss", ["cross-entropy", "squared"])
@pytest.mark.parametrize("number", [0, 1, 2, 3, 4])
def test_batches_equal_dense_arrays(trainer: str, tolerance: float, number: int, loss: str, optimizer: str) -> None:
    """Training on batches gives the weights of dense arrays in double precision, and changes only one network."""
    is_adam = optimizer == "adam"
    recipe = SupervisedRecipe(
        trainer=trainer, batch_size=9, optimizer=optimizer, loss=loss, learning_rate=0.001 if is_adam else 0.05
    )
    for which in range(3):
        before, networks = random_floats(number, size=3), random_floats(number, size=3)
        samples = examples(which, 40)  # the last batch is shorter
        learn(networks, which, recipe, samples)
        expected = trained(
            unpacked(before, which), samples.boards.tolist(), samples.targets.tolist(), 9, recipe.learning_rate,
            adam=is_adam, squared=loss == "squared",
        )  # fmt: skip
        start, result = matrices(unpacked(before, which)), matrices(unpacked(networks, which))
        for part, expected_part in enumerate(expected):
            largest_change = np.abs(expected_part - start[part]).max()
            assert largest_change > 1e-5
            is_off = np.abs(result[part] - expected_part) > tolerance * largest_change + 1e-6
            # Adam divides by the root of a mean square, which is steep for gradients near 0
            assert is_off.mean() <= (0.01 if is_adam else 0)
        for other in {0, 1, 2} - {which}:
            assert unpacked(networks, other) == unpacked(before, other)


@each_trainer
def test_weights_are_limited_to_the_range_of_players(trainer: str, tolerance: float) -> None:  # noqa: ARG001
    """Integer weights have this range."""
    networks = random_floats(0)
    samples = examples(2, 40)
    certain = Examples(samples.boards, (samples.targets > 0.5).astype(np.float32))
    recipe = SupervisedRecipe(trainer=trainer, batch_size=4, optimizer="sgd", learning_rate=10.0)
    learn(networks, 2, recipe, *[certain] * 30)
    first_weight, first_bias, later_weight, later_bias = (
        np.abs(part).max() for part in matrices(unpacked(networks, 2))
    )
    assert first_weight <= FIRST_LIMIT
    assert later_weight <= LATER_LIMIT
    assert first_weight == pytest.approx(FIRST_LIMIT) or later_weight == pytest.approx(LATER_LIMIT)
    assert max(first_bias, later_bias) <= 60


@each_trainer
@pytest.mark.parametrize("keep", [0.5, 0.7, 0.9])
def test_averages_equal_plain_means_at_first(trainer: str, tolerance: float, keep: float) -> None:
    """Averages equal those of dense arrays in double precision, which are plain means at first; averaging changes no
    weights."""
    recipe = SupervisedRecipe(trainer=trainer, batch_size=7, optimizer="sgd", learning_rate=0.05, average_decay=keep)
    for which in range(3):
        before, networks, averages, plain = (random_floats(1, size=3) for _ in range(4))
        samples = examples(which, 40)
        parts = [Examples(samples.boards[part], samples.targets[part]) for part in (slice(0, 14), slice(14, 40))]
        learn(networks, which, recipe, *parts, averages=averages)
        boards = samples.boards.tolist()
        targets = np.array(samples.targets.tolist())
        expected = trained_averages(unpacked(before, which), boards, targets, 7, 0.05, keep)
        start, result = matrices(unpacked(before, which)), matrices(unpacked(averages, which))
        for part, expected_part in enumerate(expected):
            largest_change = np.abs(expected_part - start[part]).max()
            assert np.abs(result[part] - expected_part).max() <= tolerance * largest_change + 1e-6
        learn(plain, which, replace(recipe, average_decay=0.0), *parts)
        assert np.array_equal(plain.weights, networks.weights)
        assert not np.array_equal(averages.weights, networks.weights)
        for other in {0, 1, 2} - {which}:
            assert unpacked(averages, other) == unpacked(before, other)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_results_do_not_depend_on_threads(optimizer: str) -> None:
    """Weights and Adam's state are equal to the last bit on any number of threads, with more units than fit in a
    block."""
    recipe = SupervisedRecipe(batch_size=16, optimizer=optimizer, learning_rate=0.01)
    results = []
    for count in (1, 2):
        networks = random_floats(2)  # 33 units
        with threads(count):
            trainer = learn(networks, 2, recipe, examples(2, 100))
        results.append([values.tobytes() for values in (*networks, trainer.means, trainer.squares)])
    assert results[0] == results[1]
    assert results[0][1] != random_floats(2).weights.tobytes()
