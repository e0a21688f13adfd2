"""Inputs and networks in a graph: the same numbers as the kernels', to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.networks.inference import Networks, network_at
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import encode, input_count
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.formats.onnx.network import chances_of, layers, network_inputs
from bgdata.formats.onnx.sides import side_on_roll
from bgdata.game.codec import Boards
from tests.evaluation.sample_networks import SHAPES, random_networks
from tests.formats.onnx.boards import all_boards
from tests.formats.onnx.runs import computed, function_of


@pytest.fixture(scope="module")
def boards() -> Boards:
    return all_boards(1500, seed=7)


def answers(networks: Networks, boards: Boards) -> np.ndarray:
    """float32[n, 5]: our answers without bearoff tables."""
    return NetworkPlayer(networks, BearoffEvaluator().arrays).evaluate_many(boards).chances


@pytest.mark.parametrize("input_set", list(InputSet), ids=lambda each: each.label)
def test_inputs(boards: Boards, input_set: InputSet) -> None:
    found = computed(lambda value: network_inputs(input_set, value, side_on_roll(value)), boards)
    np.testing.assert_array_equal(found, encode(input_set, boards))


@pytest.mark.parametrize("number", range(len(SHAPES)))
@pytest.mark.parametrize("size", [3.0, 10.0])
def test_answers(boards: Boards, number: int, size: float) -> None:
    networks = random_networks(number, size)
    found = computed(lambda value: chances_of(networks, value), boards)
    np.testing.assert_array_equal(found, answers(networks, boards))
    assert found.dtype == np.float32
    assert len(np.unique(found, axis=0)) > len(boards) // 5


def test_few_boards(boards: Boards) -> None:
    """A class without boards gives no answers, and disturbs none."""
    networks = random_networks(1)
    ask = function_of(lambda value: chances_of(networks, value))
    for rows in (0, 1, 2):
        for start in range(0, len(boards), 101):
            few = boards[start : start + rows]
            np.testing.assert_array_equal(ask(few), answers(networks, few))


def test_layers_are_those_of_the_kernels() -> None:
    for number, (sets, sizes) in enumerate(SHAPES):
        networks = random_networks(number)
        for which in range(3):
            network = network_at(networks, which)
            assert network.inputs == input_count(sets[which])
            found = list(layers(network))
            assert [len(biases) for _, biases in found] == [*sizes[which], 5]
            weights = network.weights[: sum(values.size for values, _ in found)]
            first, *later = (values for values, _ in found)
            flat = np.concatenate([first.ravel(), *(values.T.ravel() for values in later)])
            np.testing.assert_array_equal(flat, weights)
