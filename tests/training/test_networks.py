"""Networks to start from: unchanged after rounding, and wider ones, or ones with more inputs, with the same outputs."""

import numpy as np
import pytest

from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.networks.inference import LATER_WEIGHT, LAYERS, SIZES, Activation
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import encode
from bgdata.training.networks import (
    copy_networks,
    feature_names,
    layer_views,
    new_networks,
    numbers_of,
    revive,
    rounded_networks,
    starting_networks,
)
from tests.evaluation.sample_networks import RECTIFIED, SHAPES, random_floats, random_networks
from tests.random_games import random_game_positions

SAME: tuple[tuple[int, ...], ...] = ((), (), ())


@pytest.mark.parametrize("number", range(5))
def test_rounding_started_networks_changes_nothing(number: int) -> None:
    networks = random_networks(number)
    rounded = rounded_networks(starting_networks(networks, SAME, seed=3))
    for name, expected in networks._asdict().items():
        assert np.array_equal(getattr(rounded, name), expected)


def test_revive_changes_idle_units_only() -> None:
    """Units that are always 0 get other weights, while outputs stay the same to the last bit."""
    boards = random_game_positions(20, seed=5).boards
    networks = random_floats(RECTIFIED)
    layers = layer_views(networks, 2)
    idle = [3, len(layers[1][1]) - 1]
    layers[1][1][idle] = -100  # below any sum
    before = copy_networks(networks)
    answers_before = evaluations(rounded_networks(networks), NO_TABLES, boards)
    count = revive(networks, 2, encode(InputSet(networks.shapes[2, 0]), boards), seed=4)
    assert count >= len(idle)
    answers_after = evaluations(rounded_networks(networks), NO_TABLES, boards)
    assert np.array_equal(answers_after.chances, answers_before.chances)
    is_same = (layers[1][0] == layer_views(before, 2)[1][0]).all(axis=0)
    assert len(is_same) - count <= is_same.sum() < len(is_same)
    assert not is_same[idle].any()
    assert not layers[1][1][idle].any()
    values = np.clip(encode(InputSet(networks.shapes[2, 0]), boards) / 64 @ layers[0][0] + layers[0][1], 0, 8)
    assert (values @ layers[1][0] + layers[1][1])[:, idle].max(axis=0).min() > 0  # no longer 0 everywhere
    for which in (0, 1):
        assert np.array_equal(numbers_of(networks, which)[0], numbers_of(before, which)[0])


def test_logistic_units_are_never_idle() -> None:
    networks = random_floats(0)
    before = copy_networks(networks)
    assert revive(networks, 2, encode(InputSet(networks.shapes[2, 0]), random_game_positions(3, seed=5).boards), 4) == 0
    assert np.array_equal(networks.weights, before.weights)


def test_wider_networks_give_the_same_outputs() -> None:
    networks = random_networks(1)  # 6-4, 16 and 5-3-4 hidden units
    wider = starting_networks(networks, ((9, 4), (), (5, 7, 30)), seed=3)
    assert wider.shapes[:, SIZES:].tolist() == [[9, 4, 5, 0], [16, 5, 0, 0], [5, 7, 30, 5]]
    boards = random_game_positions(20, seed=5).boards
    before, after = (evaluations(each, NO_TABLES, boards) for each in (networks, rounded_networks(wider)))
    assert np.array_equal(before.sources, after.sources)
    assert np.array_equal(before.chances, after.chances)
    first = wider.weights[: 256 * 9].reshape(256, 9)
    assert 0 < np.abs(first[:, 6:]).max() <= 0.1  # new units have weights, so that they can learn
    assert not np.array_equal(first[:, 6], first[:, 7])


def test_deeper_networks_give_the_same_outputs() -> None:
    """Added layers, one as wide as the previous layer and one wider, do not change outputs."""
    networks = rounded_networks(random_floats(RECTIFIED))
    sizes = [row[SIZES : SIZES + row[LAYERS] - 1] for row in networks.shapes.tolist()]
    deeper_sizes = ((), (*sizes[1], sizes[1][-1]), (sizes[2][0] + 3, *sizes[2][1:], sizes[2][-1] + 2, sizes[2][-1] + 1))
    deeper = starting_networks(networks, deeper_sizes, seed=3)
    assert deeper.shapes[:, LAYERS].tolist() == [len(each) + 1 for each in (sizes[0], *deeper_sizes[1:])]
    boards = random_game_positions(20, seed=5).boards
    before, after = (evaluations(each, NO_TABLES, boards) for each in (networks, rounded_networks(deeper)))
    assert set(before.sources.tolist()) == {3, 4, 5}  # all three networks
    assert np.array_equal(before.chances, after.chances)
    weights = layer_views(deeper, 2)[-2][0]
    assert np.abs(weights[:, sizes[2][-1] :]).min() > 0  # new units have weights
    assert np.array_equal(weights[: sizes[2][-1], : sizes[2][-1]], np.eye(sizes[2][-1]))


def test_added_inputs_keep_the_outputs() -> None:
    """The crashed network gets contact inputs without a change of outputs; the contact network already has them, and
    the race network keeps its own."""
    networks = random_networks(1)
    started = starting_networks(networks, ((), (17,), ()), seed=3, added=InputSet.CONTACT)
    assert started.shapes[:, :2].tolist() == [[2, 256], [3, 260], [3, 260]]
    boards = random_game_positions(20, seed=5).boards
    before, after = (evaluations(each, NO_TABLES, boards) for each in (networks, rounded_networks(started)))
    assert set(before.sources.tolist()) == {3, 4, 5}  # all three networks
    assert np.array_equal(before.chances, after.chances)
    weights, _ = layer_views(started, 1)[0]
    assert not weights[196:, :16].any()
    assert np.abs(weights[196:, 16]).min() > 0  # a new unit uses the new inputs


def test_invalid_added_inputs_are_refused() -> None:
    message = "^expected networks of tesauro-196 or contact inputs to start from, got tesauro-198$"
    with pytest.raises(InvalidParameterError, match=message):
        starting_networks(random_networks(3), SAME, seed=1, added=InputSet.CONTACT)
    has_them = rounded_networks(starting_networks(random_networks(1), SAME, seed=1, added=InputSet.CONTACT))
    message = "^expected networks without contact inputs to add them to, got contact and crashed networks that have"
    with pytest.raises(InvalidParameterError, match=message):
        starting_networks(has_them, SAME, seed=1, added=InputSet.CONTACT)


@pytest.mark.parametrize(
    ("hidden", "message"),
    [
        (((6, 4, 4), (), ()), "expected 2 hidden layers, as the race network .* has logistic units, got 6-4-4"),
        (((6, 4, 3), (), ()), "expected at least the 6-4 hidden units of the race network to start from, got 6-4-3"),
        (((8,), (), ()), "expected at least the 6-4 hidden units of the race network to start from, got 8"),
        (((), (15,), ()), "expected at least the 16 hidden units of the crashed network to start from, got 15"),
        (((), (), (5, 3, 3)), "expected at least the 5-3-4 hidden units of the contact network .*, got 5-3-3"),
    ],
)
def test_invalid_hidden_units_are_refused(hidden: tuple[tuple[int, ...], ...], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"^{message}$"):
        starting_networks(random_networks(1), hidden, seed=1)


def test_feature_names_have_revisions() -> None:
    assert feature_names(random_networks(0)) == "race@1 contact@1 contact@1"


@pytest.mark.parametrize("activation", Activation)
@pytest.mark.parametrize(("share", "fits"), [(0.0, False), (0.4, True), (0.5, True), (0.6, True), (1.0, False)])
def test_sums_beyond_int32_are_refused(share: float, fits: bool, activation: Activation) -> None:
    """Networks whose sums might not fit int32 are refused. Units are never negative, so positive and negative weights
    do not add up, which gives twice the room."""
    units = 60
    hidden = ((units, 8) if activation is Activation.RECTIFIED else (units,),) * 3
    floats = new_networks(SHAPES[RECTIFIED][0], hidden, 1, activation)
    each = 0.75 * 2**31 / (units / 2) / activation.most / LATER_WEIGHT  # half of them reach three quarters of the limit
    layer_views(floats, 2)[1][0][:] = np.where(np.arange(units) < share * units, each, -each)[:, None]
    if fits:
        rounded_networks(floats)
    else:
        with pytest.raises(CheckFailedError, match=r"^expected weights of the contact network whose sums fit 32 bits,"):
            rounded_networks(floats)


def test_new_networks_keep_the_size_of_outputs() -> None:
    """In new rectified networks, outputs have about the same size in every layer."""
    floats = new_networks(*SHAPES[RECTIFIED], 1, Activation.RECTIFIED)
    first = floats.weights[: 196 * 16]
    assert np.abs(first).max() == pytest.approx((6 / 196) ** 0.5, rel=0.01)
    later = floats.weights[196 * 16 : 196 * 16 + 16 * 9]
    assert np.abs(later).max() == pytest.approx((6 / 16) ** 0.5, rel=0.05)
