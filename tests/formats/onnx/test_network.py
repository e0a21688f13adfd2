"""Inputs, networks and rules in a graph equal those of the kernels to the last bit."""

import numpy as np
import pytest

from bgdata.evaluation.answers import network_of
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.chances import fill_outcome_chances, limit_chances, possible_outcomes
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import encode, input_count
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.formats.onnx.inputs import side_on_roll
from bgdata.formats.onnx.network import (
    OVER,
    chances_of,
    layers,
    limit,
    network_class,
    network_inputs,
    outcome_chances,
    single_network,
)
from bgdata.game.board_kernels import game_outcomes, position_classes
from bgdata.game.codec import Boards
from tests.evaluation.sample_networks import SHAPES, random_networks
from tests.formats.onnx.boards import all_boards
from tests.formats.onnx.runs import compute_values, function_of


@pytest.fixture(scope="module")
def boards() -> Boards:
    return all_boards(1500, seed=7)


def answers(networks: Networks, boards: Boards) -> np.ndarray:
    """float32[n, 5]: our answers without bearoff tables."""
    return NetworkPlayer(networks, BearoffEvaluator().arrays).evaluate_many(boards).chances


@pytest.mark.parametrize("input_set", list(InputSet), ids=lambda input_set: input_set.label)
def test_inputs_equal_those_of_the_kernels(boards: Boards, input_set: InputSet) -> None:
    actual = compute_values(lambda value: network_inputs(input_set, value, side_on_roll(value)), boards)
    np.testing.assert_array_equal(actual, encode(input_set, boards))


@pytest.mark.parametrize("number", range(len(SHAPES)))
@pytest.mark.parametrize("size", [3.0, 10.0])
def test_answers_equal_those_of_the_kernels(boards: Boards, number: int, size: float) -> None:
    networks = random_networks(number, size)
    actual = compute_values(lambda value: chances_of(networks, value), boards)
    np.testing.assert_array_equal(actual, answers(networks, boards))
    assert actual.dtype == np.float32
    assert len(np.unique(actual, axis=0)) > len(boards) // 5


def test_boards_of_a_single_class_are_answered(boards: Boards) -> None:
    networks = random_networks(1)
    evaluate = function_of(lambda value: chances_of(networks, value))
    for rows in (0, 1, 2):
        for start in range(0, len(boards), 101):  # a sample of the classes
            batch = boards[start : start + rows]
            np.testing.assert_array_equal(evaluate(batch), answers(networks, batch))


@pytest.mark.parametrize("number", range(len(SHAPES)))
@pytest.mark.parametrize("which", range(3))
def test_layers_equal_those_of_the_kernels(number: int, which: int) -> None:
    input_sets, sizes = SHAPES[number]
    network = single_network(random_networks(number), which)
    assert network.inputs == input_count(input_sets[which])
    weights = [values for values, _ in layers(network)]
    assert [len(biases) for _, biases in layers(network)] == [*sizes[which], 5]
    first, *later = weights  # the first layer is stored by input, the others by neuron
    flat = np.concatenate([first.ravel(), *(values.T.ravel() for values in later)])
    np.testing.assert_array_equal(flat, network.weights[: len(flat)])


def test_classes_equal_those_of_the_kernels(boards: Boards) -> None:
    actual = compute_values(lambda value: network_class(side_on_roll(value)), boards)[:, 0]
    expected = [network_of(number) if number else OVER for number in position_classes(boards).tolist()]
    np.testing.assert_array_equal(actual, expected)
    assert set(expected) == {OVER, 0, 1, 2}


def test_finished_games_have_certain_chances(boards: Boards) -> None:
    actual = compute_values(lambda value: outcome_chances(side_on_roll(value)), boards)
    expected = np.zeros((len(boards), 5), np.float32)
    outcomes = game_outcomes(boards)
    for row in np.flatnonzero(outcomes):
        fill_outcome_chances(int(outcomes[row]), expected[row])
    np.testing.assert_array_equal(actual, expected)
    assert set(outcomes.tolist()) == set(range(-3, 4))


def test_limits_equal_those_of_the_kernels(boards: Boards) -> None:
    unlimited = np.array([0.4, 0.6, 0.3, 0.7, 0.8], np.float32)
    running = boards[game_outcomes(boards) == 0]
    actual = compute_values(
        lambda value: limit(side_on_roll(value), (value.to(np.float32) * 0).take(np.arange(5)) + unlimited), running
    )
    expected = np.tile(unlimited, (len(running), 1))
    for board, chances in zip(running, expected, strict=True):
        limit_chances(possible_outcomes(board), chances)
    np.testing.assert_array_equal(actual, expected)
    assert len(np.unique(expected, axis=0)) >= 5
