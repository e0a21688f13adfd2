"""Networks with conditional outputs: every game against a reference, and what each trial may not do."""

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.kernel import threads
from bgdata.training.kinds import output_trials as declared
from bgdata.training.output_trials import (
    Trial,
    new_trial_networks,
    results_against_pubeval,
    train_trials,
    trial_chances_at_start,
)
from bgdata.training.turn_networks import TurnNetworks
from tests.reference.output_trials import TRIALS, TrialNetwork, numbers_of

UNITS, SEED, RATE = 4, 1, 0.25
START = [0, -2, 0, 0, 0, 0, 5, 0, 3, 0, 0, 0, -5, 5, 0, 0, 0, -3, 0, -5, 0, 0, 0, 0, 2, 0]


def train_trials_for(games: int) -> tuple[TurnNetworks, NDArray[np.int64]]:
    """The networks of the trials after these games, and their totals."""
    networks = new_trial_networks(UNITS, SEED)
    totals = np.zeros((len(Trial), 3), np.int64)
    train_trials(networks, RATE, SEED, 0, games, totals)
    return networks, totals


def reference_of(networks: TurnNetworks, trial: Trial) -> TrialNetwork:
    """The network of a trial in the form of the reference."""
    return TrialNetwork(TRIALS[trial], *numbers_of(networks.weights[trial], networks.biases[trial], UNITS))


def test_trials_have_the_names_of_the_kind() -> None:
    assert list(declared.TRIALS) == list(TRIALS) == [trial.name.lower().replace("_", " ") for trial in Trial]


@pytest.mark.parametrize("trial", Trial)
def test_games_match_the_reference(trial: Trial) -> None:
    """Turns and ends of every game, all weights afterwards, and the chances at the start equal those of the
    reference."""
    networks = new_trial_networks(UNITS, SEED)
    reference = reference_of(new_trial_networks(UNITS, SEED), trial)
    for game in range(2):
        totals = np.zeros((len(Trial), 3), np.int64)
        train_trials(networks, RATE, SEED, game, 1, totals)
        points, turns = reference.play_trial(SEED, game, RATE)
        assert totals[trial].tolist() == [turns, points == 2, points == 3]
        for trained_numbers, expected_numbers in zip(
            reference_of(networks, trial).numbers, reference.numbers, strict=True
        ):
            assert trained_numbers == pytest.approx(expected_numbers, abs=2e-4)
    for side in (0, 1):
        outputs = reference.answer(reference.inputs(START, 0, side))[1].tolist()
        expected = reference.chances(outputs, reference.mask(START, 0))
        assert trial_chances_at_start(networks)[trial, side] == pytest.approx(expected, abs=2e-4)


def test_chances_are_those_of_dice_passed() -> None:
    """The trial without conditional outputs equals the arm DICE_PASSED of `turn_networks`, up to rounding."""
    from bgdata.training.turn_networks import Arm, new_turn_networks, train_arms

    ours, _ = train_trials_for(3)
    theirs = new_turn_networks(UNITS, SEED)
    totals = np.zeros((len(Arm), 3), np.int64)
    train_arms(theirs, RATE, SEED, 0, 3, totals)
    assert ours.weights[Trial.CHANCES] == pytest.approx(theirs.weights[Arm.DICE_PASSED], abs=1e-5)


def test_outputs_that_a_trial_lacks_are_not_learned() -> None:
    backgammons = [2, 4]  # outputs that the trial GAMMON lacks
    before = new_trial_networks(UNITS, SEED)
    after, _ = train_trials_for(4)
    for trial in Trial:
        old = numbers_of(before.weights[trial], before.biases[trial], UNITS)[1][backgammons]
        new = numbers_of(after.weights[trial], after.biases[trial], UNITS)[1][backgammons]
        assert np.array_equal(old, new) == (trial is Trial.GAMMON)
    assert not trial_chances_at_start(after)[Trial.GAMMON][:, backgammons].any()


def test_games_follow_each_other_on_any_number_of_threads() -> None:
    """Training all games at once, in two parts or on one thread gives the same networks, totals and test results."""
    at_once, totals = train_trials_for(4)
    tests = results_against_pubeval(at_once, 2, 4)
    with threads(1):
        on_one_thread, _ = train_trials_for(4)
        assert results_against_pubeval(on_one_thread, 2, 4) == tests
    in_two_parts = new_trial_networks(UNITS, SEED)
    sums = np.zeros((len(Trial), 3), np.int64)
    for first, count in ((0, 1), (1, 3)):
        train_trials(in_two_parts, RATE, SEED, first, count, sums)
    assert np.array_equal(totals, sums)
    for networks in (on_one_thread, in_two_parts):
        assert np.array_equal(networks.weights, at_once.weights)
        assert np.array_equal(networks.biases, at_once.biases)


def test_games_against_pubeval_do_not_depend_on_batches() -> None:
    networks, _ = train_trials_for(2)
    first_half = results_against_pubeval(networks, 0, 4)
    second_half = results_against_pubeval(networks, 4, 4)
    for trial, result in enumerate(results_against_pubeval(networks, 0, 8)):
        mean = (first_half[trial].points_per_game + second_half[trial].points_per_game) / 2
        assert result.points_per_game == pytest.approx(mean)


@pytest.mark.slow
def test_games_teach_every_trial() -> None:
    """After training, each trial wins more against PubEval, and expects the player on roll to win about half."""
    networks = new_trial_networks(20, SEED)
    totals = np.zeros((len(Trial), 3), np.int64)
    before = results_against_pubeval(networks, 0, 200)
    train_trials(networks, 0.1, SEED, 0, 8000, totals)
    after = results_against_pubeval(networks, 0, 200)
    for trial in Trial:
        assert after[trial].points_per_game > before[trial].points_per_game + 0.5
        assert 0.3 < trial_chances_at_start(networks)[trial, 0, 0] < 0.7
