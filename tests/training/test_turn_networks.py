"""Networks with the turn as input: every game against a reference, and the effect of wrong inputs."""

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.kernel import threads
from bgdata.training.kinds import turn_input as declared
from bgdata.training.temporal_difference import MAX_TURNS
from bgdata.training.turn_networks import Arm, TurnNetworks, chances_at_start, new_turn_networks, train_arms
from tests.reference.turn_input import ARMS, Network

UNITS, SEED, RATE = 4, 1, 0.25
START = [0, -2, 0, 0, 0, 0, 5, 0, 3, 0, 0, 0, -5, 5, 0, 0, 0, -3, 0, -5, 0, 0, 0, 0, 2, 0]


def train_arms_for(games: int, *, units: int = UNITS, seed: int = SEED) -> tuple[TurnNetworks, NDArray[np.int64]]:
    """The networks of the arms after these games, and their totals."""
    networks = new_turn_networks(units, seed)
    totals = np.zeros((3, 3), np.int64)
    train_arms(networks, RATE, seed, 0, games, totals)
    return networks, totals


def reference_of(networks: TurnNetworks, arm: Arm) -> Network:
    """The network of an arm in the form of the reference."""
    weights = networks.weights[arm]
    biases = networks.biases[arm]
    end = 198 * UNITS
    first = weights[:end].reshape(198, UNITS)
    later = weights[end:].reshape(5, UNITS)
    return Network(ARMS[arm], first, later, biases[:UNITS], biases[UNITS:])


def test_arms_have_the_names_of_the_kind() -> None:
    assert list(declared.ARMS) == list(ARMS) == [arm.name.lower().replace("_", " ") for arm in Arm]


@pytest.mark.parametrize("arm", Arm)
def test_games_match_the_reference(arm: Arm) -> None:
    """Turns and ends of every game, all weights afterwards, and the chances at the start equal those of the
    reference."""
    networks = new_turn_networks(UNITS, SEED)
    reference = reference_of(new_turn_networks(UNITS, SEED), arm)
    for game in range(2):
        totals = np.zeros((3, 3), np.int64)
        train_arms(networks, RATE, SEED, game, 1, totals)
        points, turns = reference.play(SEED, game, RATE)
        assert totals[arm].tolist() == [turns, points == 2, points == 3]
        for trained_numbers, expected in zip(reference_of(networks, arm).numbers, reference.numbers, strict=True):
            assert trained_numbers == pytest.approx(expected, abs=1e-4)
    for side in (0, 1):
        expected = reference.answer(reference.inputs(START, 0, side))[1]
        assert chances_at_start(networks)[arm, side] == pytest.approx(expected, abs=1e-4)


def test_long_games_are_cut() -> None:
    """Games are cut after MAX_TURNS turns, as those of new networks, which do not bear off yet."""
    assert train_arms_for(1, seed=6)[1].tolist() == [[MAX_TURNS, 0, 0]] * 3


def test_arms_begin_with_the_same_weights() -> None:
    networks = new_turn_networks(UNITS, SEED)
    assert (networks.weights == networks.weights[0]).all()
    assert (networks.biases == 0).all()
    assert (networks.weights != new_turn_networks(UNITS, SEED + 1).weights).any()
    dice_kept, dice_passed, no_input = chances_at_start(networks)
    assert np.array_equal(dice_kept, dice_passed)
    assert np.array_equal(no_input[0], no_input[1])
    assert not np.array_equal(dice_kept[0], dice_kept[1])


def test_missing_inputs_are_not_learned() -> None:
    before, (after, _) = new_turn_networks(UNITS, SEED), train_arms_for(5)
    for arm in Arm:
        turn_weights_before = before.weights[arm].reshape(-1, UNITS)[196:198]
        turn_weights_after = after.weights[arm].reshape(-1, UNITS)[196:198]
        assert np.array_equal(turn_weights_before, turn_weights_after) == (arm is Arm.NO_INPUT)
    chances = chances_at_start(after)[Arm.NO_INPUT]
    assert np.array_equal(chances[0], chances[1])


def test_training_does_not_depend_on_threads_and_batches() -> None:
    """Playing games all at once or in two parts gives the same networks."""
    at_once, totals = train_arms_for(6)
    with threads(1):
        on_one_thread, _ = train_arms_for(6)
    in_two_parts = new_turn_networks(UNITS, SEED)
    sums = np.zeros((3, 3), np.int64)
    for first, count in ((0, 2), (2, 4)):
        train_arms(in_two_parts, RATE, SEED, first, count, sums)
    assert np.array_equal(totals, sums)
    for networks in (on_one_thread, in_two_parts):
        assert np.array_equal(networks.weights, at_once.weights)
        assert np.array_equal(networks.biases, at_once.biases)


@pytest.mark.slow
def test_chances_diverge_only_with_kept_dice() -> None:
    """If the player keeps the dice, it wins a gammon, so its chances to lose fall to 0. In the other arms chances
    become plausible."""
    networks, totals = train_arms_for(1500, units=20)
    dice_kept, dice_passed, no_input = chances_at_start(networks)
    assert dice_kept[0, 0] > 0.9
    assert dice_kept[1, 0] < 0.1
    for sane in (dice_passed[0], no_input[0]):
        assert 0.4 < sane[0] < 0.6
    assert dice_passed[0, 0] > dice_passed[1, 0]
    assert (totals[:, 0] / 1500 < 200).all()
