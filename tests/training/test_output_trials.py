"""Networks with conditional outputs: every game against a reference, the kind of dataset, and its command."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.game.board import START_BOARD
from bgdata.kernel import threads
from bgdata.store import job
from bgdata.training.commands.output_trials import figure_value, mean_row
from bgdata.training.kinds.output_trials import DATASET, FIGURES, TRIALS, OutputTrialParameters
from bgdata.training.output_trials import (
    Trial,
    new_trial_networks,
    results_against_pubeval,
    train_trials,
    trial_chances_at_start,
)
from bgdata.training.turn_networks import TurnNetworks
from tests.command_line import output_of, run
from tests.contract.kinds import Corrupted, smallest_version
from tests.imports.killer import ReportKiller
from tests.rechecking import check_sample
from tests.reference.output_trials import TRIALS as REFERENCE_TRIALS
from tests.reference.output_trials import TrialNetwork, numbers_of

UNITS, SEED, RATE = 4, 1, 0.25
START = list(START_BOARD)


def train_trials_for(games: int) -> tuple[TurnNetworks, NDArray[np.int64]]:
    """The networks of the trials after these games, and their totals."""
    networks = new_trial_networks(UNITS, SEED)
    totals = np.zeros((len(Trial), 3), np.int64)
    train_trials(networks, RATE, SEED, 0, games, totals)
    return networks, totals


def reference_of(networks: TurnNetworks, trial: Trial) -> TrialNetwork:
    """The network of a trial in the form of the reference."""
    return TrialNetwork(REFERENCE_TRIALS[trial], *numbers_of(networks.weights[trial], networks.biases[trial], UNITS))


def test_trials_have_the_names_of_the_kind() -> None:
    assert list(TRIALS) == list(REFERENCE_TRIALS) == [trial.name.lower().replace("_", " ") for trial in Trial]


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


# the kind of dataset

SMALLEST = DATASET.smallest
# of SMALLEST on any machine; if it changes, raise the revision
DIGEST = "bca8e60d9a3f6f53f14ed7e0426ae4b2985e488d37e41a2e1a2c15dcccebc2da"


def test_digest_is_the_same_on_one_thread_and_after_a_kill(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    warehouse = bgdata.open_warehouse(memory_path)
    with threads(1):
        with pytest.raises(KeyboardInterrupt):
            warehouse.build(DATASET.name, SMALLEST, progress=ReportKiller(2))
        assert warehouse.build(DATASET.name, SMALLEST, progress=ReportKiller(99)).manifest.digest == DIGEST


def test_rows_equal_games_of_the_networks(small_root: Path) -> None:
    """The test repeats the games of self-play and the tests of the last row, which follows fewer games; each row is
    tested with dice of its own."""
    rows = bgdata.open_warehouse(small_root).rows("from output_trials where games = 5")
    networks = new_trial_networks(SMALLEST.units, SMALLEST.seed)
    totals = np.zeros((len(TRIALS), 3), np.int64)
    train_trials(networks, SMALLEST.learning_rate, SMALLEST.seed, 0, 4, totals)
    totals[:] = 0
    train_trials(networks, SMALLEST.learning_rate, SMALLEST.seed, 4, 1, totals)
    results = dict(zip(TRIALS, results_against_pubeval(networks, 8, 4), strict=True))
    turns = dict(zip(TRIALS, totals[:, 0].tolist(), strict=True))
    assert len(rows) == len(TRIALS)
    for row in rows:
        assert row["points_per_game"] == results[row["trial"]].points_per_game
        assert row["turns_per_game"] == turns[row["trial"]]


def test_verify_finds_a_damaged_row(small_root: Path) -> None:
    """`verify` trains the first rows again and names the trial of a changed figure."""
    table = smallest_version(small_root, DATASET)
    summary = "the first 2 of 3 rows of every trial, trained again"
    assert check_sample(DATASET, table, {}, 2, np.random.default_rng(0)) == summary
    curve = np.array(table.array("curve"))
    curve[3, 1, 0] += 1e-6
    damaged = Corrupted(table, "curve", curve)
    with pytest.raises(CheckFailedError, match=r"after 4 games of the trial weighted after in output_trials/.*, found"):
        check_sample(DATASET, damaged, {}, 2, np.random.default_rng(0))


def test_statistics_are_of_the_last_half(small_root: Path) -> None:
    table = smallest_version(small_root, DATASET)
    place = [column.name for column in FIGURES].index("points_per_game")
    expected = table.array("curve")[:, 1:, place].mean(axis=1)
    names = [f"{name.replace(' ', '_')}_points_per_game" for name in TRIALS]
    assert dict(table.manifest.statistics) == pytest.approx(dict(zip(names, expected.tolist(), strict=True)))


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"games": 0}, "expected 1 to 2^31 - 1 games, got 0"),  # others are as in `turn_input`
        ({"test_games": 5}, "expected an even number of test_games from 4 to 2^31 - 2, got 5"),
        ({"test_games": 2}, "expected an even number of test_games from 4 to 2^31 - 2, got 2"),
    ],
)
def test_impossible_parameters_are_refused(changes: dict[str, float], error: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        DATASET.check_parameters(SMALLEST.with_changes(changes))
    assert str(caught.value) == error


def test_variants_name_their_sizes() -> None:
    assert DATASET.slug(OutputTrialParameters()) == "100000-units-40-rate-0-1-seed-1"
    assert DATASET.estimate(OutputTrialParameters()).rows == 120
    assert DATASET.defaults == ()


# the command

SMALL = ("train", "output-trials", "--games", "5", "--units", "4", "--row-games", "2", "--test-games", "4")


def test_output_trials_prints_a_line_for_each_trial(small_root: Path) -> None:
    folder, heading, _, *lines = output_of(small_root, *SMALL).splitlines()
    assert "output_trials/5-units-4-rate-0-1-seed-1/r1-" in folder
    assert heading.startswith("means from 4 games on; ")
    assert [line.split("  ")[0] for line in lines] == list(TRIALS)
    rows = json.loads(output_of(small_root, *SMALL, "--format", "json"))
    assert [row["trial"] for row in rows[::3]] == list(TRIALS)
    rows_of_last_trial = [row for row in rows if row["trial"] == "chances"]
    mean = f"{(rows_of_last_trial[1]['turns_per_game'] + rows_of_last_trial[2]['turns_per_game']) / 2:.1f}"
    assert mean in lines[-1].split()


def test_means_are_of_independent_games() -> None:
    rows = [{"trial": "zeroed", "games": n, **{column.name: float(n) for column in FIGURES}} for n in (1, 3, 4)]
    mean = mean_row(rows)
    assert mean["points_per_game"] == 3.5
    assert mean["standard_error"] == pytest.approx(5 / 2)
    assert mean["games"] == 3
    assert figure_value({"win_gammon": 0.2, "win": 0.5}, "gammon_given_win") == pytest.approx(0.4)
    assert figure_value({"gammon_share": 0.0}, "gammon_share") == 0.0


def test_picture_is_written(small_root: Path, tmp_path: Path) -> None:
    result = run(small_root, *SMALL, "--plot", tmp_path / "a.png")
    assert result.stderr.splitlines()[-1] == f"wrote {tmp_path / 'a.png'}"
    assert (tmp_path / "a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
