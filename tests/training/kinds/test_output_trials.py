"""Trials of outputs as a dataset: the same digest everywhere, also after a kill, and its rows."""

from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import InvalidParameterError
from bgdata.kernel import threads
from bgdata.store import job
from bgdata.training.kinds.output_trials import DATASET, FIGURES, TRIALS, OutputTrialParameters
from bgdata.training.output_trials import new_trial_networks, results_against_pubeval, train_trials
from tests.imports.killer import ReportKiller

SMALLEST = DATASET.smallest
DIGEST = "bca8e60d9a3f6f53f14ed7e0426ae4b2985e488d37e41a2e1a2c15dcccebc2da"  # of SMALLEST, on any machine


def test_digest_is_unchanged(small_root: Path) -> None:
    """If tables change on purpose, raise the revision."""
    table = bgdata.open_warehouse(small_root).open(DATASET.name, DATASET.slug(SMALLEST))
    assert table.manifest.digest == DIGEST


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


def test_statistics_are_of_the_last_half(small_root: Path) -> None:
    table = bgdata.open_warehouse(small_root).open(DATASET.name, DATASET.slug(SMALLEST))
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
