"""Networks in integers against a reference: equal sums and hidden units, and chances within a millionth."""

from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import tanh

import numpy as np
import pytest

from bgdata.evaluation.networks import inference
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import encode, fill_many_inputs
from bgdata.evaluation.networks.products import LANES, STEP
from bgdata.evaluation.networks.shots import ROLL_NUMBERS
from bgdata.game.codec import Boards
from bgdata.game.play_kernels import batch_plays
from bgdata.game.position import Position
from tests.evaluation.sample_networks import PIPS_PER_UNIT, SHAPES, pips_networks, random_networks
from tests.random_games import GamePositions, random_game_positions
from tests.reference.networks import answer, first_sums, logistic, tangent, unpacked

PAIRS = [(number, which) for number in range(len(SHAPES)) for which in range(3)]  # networks, and class of positions
for_each_network = pytest.mark.parametrize(("number", "which"), PAIRS)


@cache
def sample_boards() -> Boards:
    return sample_games().boards[::4]


@cache
def sample_games() -> GamePositions:
    return random_game_positions(20, seed=71)


def new_changes() -> inference.Changes:
    """Scratch with arbitrary content."""
    return inference.Changes(*(np.full(inference.INPUT_ROOM + STEP, 7, np.int16) for _ in inference.Changes._fields))


def inputs_of(network: inference.NetworkArrays, board: np.ndarray) -> np.ndarray:
    """int16[INPUT_ROOM]: the inputs of one board, followed by arbitrary content."""
    inputs = np.full((1, inference.INPUT_ROOM), 7, np.int16)
    fill_many_inputs(network.input_set, board[None], 1, np.zeros(ROLL_NUMBERS, np.int32), inputs)
    return inputs[0]


def fill_sums(network: inference.NetworkArrays, inputs: np.ndarray, sums: np.ndarray) -> None:
    """Fill sums[0:hidden] with the sums of the first layer, starting from the biases."""
    nothing = np.full(inference.INPUT_ROOM, 7, np.int16)
    nothing[: network.inputs] = 0
    inference.change_sums(network, nothing, network.biases, inputs, new_changes(), sums)


def network_of(networks: inference.Networks, which: int) -> inference.NetworkArrays:
    """Python version of `network_at`, whose views only kernels may use because it counts no references."""
    return inference.network_at.py_func(networks, which)  # type: ignore[attr-defined]


def kernel_answer(networks: inference.Networks, which: int, board: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(sums of the first layer, chances) of one board."""
    network = network_of(networks, which)
    sums = np.empty(network.sizes[0], np.int32)
    fill_sums(network, inputs_of(network, board), sums)
    return sums, outputs_of(networks, which, sums[None])[0]


def outputs_of(networks: inference.Networks, which: int, sums: np.ndarray) -> np.ndarray:
    """float32[n, 5]: the chances of n boards at once, from int32[n, unit] sums of the first layer."""
    network = network_of(networks, which)
    most = inference.rounded_up(int(networks.shapes[:, inference.SIZES :].max()))
    packed = np.full(inference.later_size(network), 77, np.int16)
    inference.pack_later(network, packed)
    gathered = inference.ActiveUnits(np.full(most + STEP, 77, np.int16), np.full((LANES, most + STEP), 77, np.int16))
    hidden, later = np.full((LANES, most), 77, np.int16), np.full((LANES, most), 77, np.int32)  # arbitrary content
    chances = np.empty((LANES, 5), np.float32)
    for lane, of_lane in enumerate(sums):
        inference.fill_first_hidden(network, of_lane, hidden[lane])
    inference.fill_outputs(network, packed, len(sums), gathered, hidden, later, chances)
    return chances[: len(sums)]


@for_each_network
def test_networks_match_the_reference(number: int, which: int) -> None:
    """A hidden unit near a half may round differently in single precision; such boards are rare."""
    networks = random_networks(number)
    layers = unpacked(networks, which)
    input_set = SHAPES[number][0][which]
    rounded_alike = 0
    for board, values in zip(sample_boards(), encode(input_set, sample_boards()).tolist(), strict=True):
        sums, chances = kernel_answer(networks, which, board)
        assert sums.tolist() == first_sums(layers, values)
        expected = answer(layers, values)
        is_certain = expected.margin > 0.003
        assert chances.tolist() == pytest.approx(expected.chances, abs=1e-6 if is_certain else 1e-3)
        rounded_alike += is_certain
    assert rounded_alike > 0.6 * len(sample_boards())
    assert len(sample_boards()) > 300


@for_each_network
def test_boards_together_equal_boards_alone(number: int, which: int) -> None:
    """To the last bit, for any number of boards up to LANES."""
    networks = random_networks(number)
    for count in range(1, LANES + 1):
        boards = sample_boards()[count : 2 * count]
        sums, chances = zip(*(kernel_answer(networks, which, board) for board in boards), strict=True)
        assert outputs_of(networks, which, np.stack(sums)).tobytes() == np.stack(chances).tobytes()


def test_sample_networks_are_not_constant() -> None:
    networks = random_networks(0)
    chances = np.array([kernel_answer(networks, 2, board)[1] for board in sample_boards()])
    assert (chances.std(axis=0) > 0.02).all()


def test_network_of_pips_has_known_answers() -> None:
    """The winning chance is the formula of the pips that the weights express."""
    networks = pips_networks()
    for board in sample_boards():
        position = Position(board.tolist())
        lead = position.opponent_pip_count - position.pip_count
        sums, chances = kernel_answer(networks, 2, board)
        assert sums.tolist() == [lead * inference.FIRST_SUM // PIPS_PER_UNIT]
        hidden = round(inference.LOGISTIC_UNIT * logistic(lead / PIPS_PER_UNIT)) / inference.LOGISTIC_UNIT
        assert chances[0] == pytest.approx(logistic(4 * hidden - 2), abs=1e-4)
        assert (chances[1:] < 1e-4).all()


def test_fast_tanh_is_accurate() -> None:
    for point in np.concatenate([np.linspace(-6, 6, 4001), [-1e9, 1e9, 0.0, 1e-30]]).astype(np.float32):
        value = float(inference.fast_tanh(point))
        assert value == pytest.approx(tanh(point), abs=1e-4)
        assert value == pytest.approx(tangent(float(point)), abs=5e-7)
        assert abs(value) < 1


def test_fast_tanh_is_odd_and_rises() -> None:
    values = [float(inference.fast_tanh(point)) for point in np.linspace(-6, 6, 4001).astype(np.float32)]
    assert [-value for value in values] == values[::-1], "to the last bit"
    assert (np.diff(values) >= -2e-7).all()


def test_fast_tanh_is_lamberts_fraction() -> None:
    """In exact arithmetic, up to where it would exceed 1."""

    def fraction(y: Fraction) -> Fraction:
        below = Fraction(13)
        for odd in (11, 9, 7, 5, 3, 1):
            below = odd + y * y / below
        return y / below

    assert fraction(Fraction(497, 100)) < 1 < fraction(Fraction(498, 100))
    assert float(inference.fast_tanh(np.float32(1.5))) == pytest.approx(float(fraction(Fraction(3, 2))), abs=1e-7)


@pytest.mark.parametrize("unit", [inference.FIRST_SUM, inference.Activation.LOGISTIC.later_sum])
def test_logistic_units_are_rounded_to_the_nearest_step(unit: int) -> None:
    """They are in 8,192 steps and never outside 0 to 1."""
    sums = np.concatenate([np.linspace(-20 * unit, 20 * unit, 3001), [0, -(2**31), 2**31 - 1]]).astype(np.int32)
    hidden = np.empty(len(sums), np.int16)
    inference.fill_logistic(sums, np.float32(0.5 / unit), hidden)
    exact = [inference.LOGISTIC_UNIT * logistic(total / unit) for total in sums.tolist()]
    assert np.abs(hidden - exact).max() < 0.503
    assert hidden[-3:].tolist() == [inference.LOGISTIC_UNIT // 2, 0, inference.LOGISTIC_UNIT]
    assert hidden.min() == 0
    assert hidden.max() == inference.LOGISTIC_UNIT


@for_each_network
def test_updated_sums_equal_fresh_ones(number: int, which: int) -> None:
    """From any other board, not only from one a play apart."""
    networks = random_networks(number)
    network = network_of(networks, which)
    boards = np.concatenate([sample_boards()[:60], batch_plays(sample_games().boards[:2], sample_games().rolls[:2])[1]])
    updated, fresh = np.empty(network.sizes[0], np.int32), np.empty(network.sizes[0], np.int32)
    inputs = [inputs_of(network, board) for board in boards]
    fill_sums(network, inputs[0], updated)
    for before, after in pairwise(inputs):
        inference.change_sums(network, before, updated.copy(), after, new_changes(), updated)
        fill_sums(network, after, fresh)
        assert np.array_equal(updated, fresh)


@pytest.mark.parametrize(("begin", "end"), [(0, 32), (0, 196), (192, 260)])
def test_nearest_recent_board_is_found(begin: int, end: int) -> None:
    """It has the fewest different inputs; the newest of several is taken. Boards about to be refilled are skipped."""
    generator = np.random.default_rng(end)
    ties = 0
    for _ in range(50):
        inputs = generator.integers(0, 2, (inference.RECENT, inference.INPUT_ROOM)).astype(np.int16)
        inputs[:, begin + 4 : end] = 0
        first, lane = int(generator.integers(inference.RECENT - LANES + 1)), int(generator.integers(LANES))
        newest_first = [
            (first + lane - steps) % inference.RECENT for steps in range(1, inference.RECENT - LANES + lane + 1)
        ]
        assert set(range(inference.RECENT)) - set(newest_first) == set(range(first + lane, first + LANES))
        differences = (inputs[newest_first, begin:end] != inputs[first + lane, begin:end]).sum(axis=1)
        assert inference.nearest_recent(inputs, begin, end, first, lane) == newest_first[differences.argmin()]
        ties += int((differences == differences.min()).sum() > 1)
    assert ties > 10


@pytest.mark.parametrize("sign", [1, -1])
def test_largest_weights_fit_into_sums(sign: int) -> None:
    """Sums of the first layer equal those of Python integers."""
    shapes, weights, biases = random_networks(0)
    networks = inference.Networks(shapes, np.full_like(weights, sign * 32767), np.full_like(biases, sign * 2**30))
    for which, input_set in enumerate(SHAPES[0][0]):
        layers = unpacked(networks, which)
        for board, values in zip(sample_boards()[::10], encode(input_set, sample_boards()[::10]).tolist(), strict=True):
            assert kernel_answer(networks, which, board)[0].tolist() == first_sums(layers, values)


def test_every_input_set_is_tested() -> None:
    assert {input_set for input_sets, _ in SHAPES for input_set in input_sets} == set(InputSet)


def test_rectified_units_are_rounded_and_limited() -> None:
    """To the nearest, halves up; they are 0 below 0, and at most 8."""
    ends = [-(2**31), -257, -256, -1, 0, 255, 256, 767, 768, 2**21 - 257, 2**21 - 256, 2**31 - 257]
    expected = [0, 0, 0, 0, 0, 0, 1, 1, 2, 4095, 4095, 4095]
    for times in (1, 5):  # with and without whole vectors
        sums = np.array(ends * times, np.int32)
        hidden = np.empty(len(sums), np.int16)
        inference.fill_rectified(sums, np.int32(9), hidden)
        assert hidden.tolist() == expected * times
