"""The turn as an input, as a dataset: the same digest everywhere, also after a kill, and its rows."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.kernel import threads
from bgdata.store import job
from bgdata.training.kinds.turn_input import ARMS, DATASET, FIGURES, TurnInputParameters, games_of
from bgdata.training.turn_networks import chances_at_start, new_turn_networks, train_arms
from tests.contract.kinds import Corrupted
from tests.imports.killer import ReportKiller
from tests.rechecking import check_sample

SMALLEST = DATASET.smallest
DIGEST = "cbdc62c7e031e9813076845f70ccc4416d85625954858f705fdd9d8807e12d2b"  # of SMALLEST, on any machine


def test_digest_is_unchanged(small_root: Path) -> None:
    """If tables change on purpose, raise the revision."""
    table = bgdata.open_warehouse(small_root).open(DATASET.name, DATASET.slug(SMALLEST))
    assert table.manifest.digest == DIGEST


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
    table = bgdata.open_warehouse(small_root).open(DATASET.name, DATASET.slug(SMALLEST))
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
