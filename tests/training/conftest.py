"""A weak but plausible player, trained for some seconds, and a warehouse of labels."""

from pathlib import Path

import pytest

import bgdata
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.training.recipes import TemporalDifferenceRecipe
from bgdata.training.temporal_difference import Trainer
from bgdata.warehouse import Warehouse
from tests.training.labels import GNUBG_LABELS, ROLLOUT_LABELS, label_boards, sample_boards, write_labels

TINY = TemporalDifferenceRecipe(
    games=2000, round_games=20, inputs="tesauro-196", race_inputs="tesauro-196",
    hidden="10", crashed_hidden="5", race_hidden="5", learning_rate=0.3, tables=0,
)  # fmt: skip


def trained(recipe: TemporalDifferenceRecipe, rounds: int | None = None) -> Trainer:
    """Train networks without bearoff tables for a whole run, or for its first rounds."""
    trainer = Trainer(recipe, NO_TABLES)
    for number in range(recipe.rounds if rounds is None else rounds):
        trainer.play_round(number)
    return trainer


@pytest.fixture
def label_root(tmp_path: Path) -> Path:
    """A warehouse with two labelled versions, one with half as many rows."""
    write_labels(tmp_path, GNUBG_LABELS, label_boards())
    write_labels(tmp_path, ROLLOUT_LABELS, sample_boards(25, seed=2))
    return tmp_path


@pytest.fixture
def label_warehouse(label_root: Path) -> Warehouse:
    """The warehouse of `label_root`."""
    return bgdata.open_warehouse(label_root)


@pytest.fixture(scope="session")
def tiny() -> Trainer:
    """The finished run with the settings TINY. Read-only."""
    return trained(TINY)
