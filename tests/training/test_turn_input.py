"""Networks with the turn as input: every game against a reference, and the kind of dataset."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.game.board import START_BOARD
from bgdata.kernel import threads
from bgdata.store import job
from bgdata.training.kinds.turn_input import ARMS, DATASET, FIGURES, TurnInputParameters, games_of
from bgdata.training.temporal_difference import MAX_TURNS
from bgdata.training.turn_networks import Arm, TurnNetworks, chances_at_start, new_turn_networks, train_arms
from tests.contract.kinds import Corrupted, smallest_version
from tests.imports.killer import ReportKiller
from tests.rechecking import check_sample
from tests.reference.turn_input import ARMS as REFERENCE_ARMS
from tests.reference.turn_input import Network

UNITS, SEED, RATE = 4, 1, 0.25
START = list(START_BOARD)


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
    return Network(REFERENCE_ARMS[arm], first, later, biases[:UNITS], biases[UNITS:])


def test_arms_have_the_names_of_the_kind() -> None:
    assert list(ARMS) == list(REFERENCE_ARMS) == [arm.name.lower().replace("_", " ") for arm in Arm]


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


# the kind of dataset

SMALLEST = DATASET.smallest
# of SMALLEST on any machine; if it changes, raise the revision
DIGEST = "cbdc62c7e031e9813076845f70ccc4416d85625954858f705fdd9d8807e12d2b"


def test_digest_is_the_same_on_one_thread_and_after_a_kill(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    warehouse = bgdata.open_warehouse(memory_path)
    notes = ReportKiller(99)
    with threads(1):
        with pytest.raises(KeyboardInterrupt):
            warehouse.build(DATASET.name, SMALLEST, progress=ReportKiller(2))
        assert warehouse.build(DATASET.name, SMALLEST, progress=notes).manifest.digest == DIGEST
    assert f"going on with turn_input/{DATASET.slug(SMALLEST)} after step 1 of 3" in notes.notes


def test_rows_equal_the_networks(small_root: Path) -> None:
    """Each row has the chances of networks trained up to its number of games, fewer for the last row."""
    with bgdata.open_warehouse(small_root).connect() as connection:
        names = ", ".join(column.name for column in FIGURES)
        rows = connection.sql(f"select arm, games, {names} from turn_input order by games, arm").fetchall()
    networks = new_turn_networks(SMALLEST.units, SMALLEST.seed)
    expected = []
    for first, count in ((0, 2), (2, 2), (4, 1)):
        totals = np.zeros((3, 3), np.int64)
        train_arms(networks, SMALLEST.learning_rate, SMALLEST.seed, first, count, totals)
        chances = dict(zip(ARMS, chances_at_start(networks).tolist(), strict=True))
        for arm, arm_totals in zip(ARMS, totals.tolist(), strict=True):
            on_roll, opponent = chances[arm]
            flipped = [1 - opponent[0], *opponent[3:], *opponent[1:3]]
            means = [np.float32((a + b) / 2) for a, b in zip(on_roll, flipped, strict=True)]
            difference = np.float32(on_roll[0] - flipped[0])
            expected.append((arm, first + count, *means, difference, *(total / count for total in arm_totals)))
    assert rows == expected


def test_verify_finds_a_damaged_row(small_root: Path) -> None:
    """`verify` trains the first rows again and finds a changed figure, if that row is among them."""
    table = smallest_version(small_root, DATASET)
    summary = "the first 2 of 3 rows of every arm, trained again"
    assert check_sample(DATASET, table, {}, 2, np.random.default_rng(0)) == summary
    curve = np.array(table.array("curve"))
    curve[1, 1, 0] += 1e-6
    damaged = Corrupted(table, "curve", curve)
    assert check_sample(DATASET, damaged, {}, 1, np.random.default_rng(0))
    with pytest.raises(
        CheckFailedError, match=r"expected \[.*\] after 4 games with dice passed in turn_input/.*, found"
    ):
        check_sample(DATASET, damaged, {}, 2, np.random.default_rng(0))


def test_parameters_give_variant_and_rows() -> None:
    assert DATASET.slug(TurnInputParameters()) == "20000-units-40-rate-0-1-seed-1"
    assert games_of(replace(SMALLEST, games=7, row_games=3)) == [3, 6, 7]
    assert games_of(replace(SMALLEST, games=7, row_games=1000)) == [7]
    assert DATASET.estimate(TurnInputParameters()).rows == 60
    assert DATASET.defaults == ()


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"games": 0}, "expected 1 to 2^31 - 1 games, got 0"),
        ({"row_games": 1 << 31}, "expected 1 to 2^31 - 1 row_games, got 2147483648"),
        ({"row_games": 0}, "expected 1 to 2^31 - 1 row_games, got 0"),
        ({"units": 0}, "expected 1 to 2048 hidden units, got 0"),
        ({"units": 2049}, "expected 1 to 2048 hidden units, got 2049"),
        ({"learning_rate": 0.0}, "expected a learning rate above 0 and at most 1, got 0.0"),
        ({"learning_rate": float("nan")}, "expected a learning rate above 0 and at most 1, got nan"),
        ({"learning_rate": 1.1}, "expected a learning rate above 0 and at most 1, got 1.1"),
        ({"seed": -1}, "expected a seed from 0 to 2^63 - 1, got -1"),
    ],
)
def test_invalid_parameters_are_refused(changes: dict[str, float], error: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        DATASET.check_parameters(SMALLEST.with_changes(changes))
    assert str(caught.value) == error
