"""A player that has learned for some seconds: weak, but its games and chances are sane."""

from __future__ import annotations

import pytest

from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.training.recipe import Recipe
from bgdata.training.temporal_difference import Trainer

TINY = Recipe(
    games=2000, batch=20, inputs="tesauro-196", race_inputs="tesauro-196",
    hidden="10", crashed_hidden="5", race_hidden="5", rate=0.3, tables=0,
)  # fmt: skip


def trained(recipe: Recipe, rounds: int | None = None) -> Trainer:
    """A run without tables, or its first rounds."""
    trainer = Trainer(recipe, NO_TABLES)
    for number in range(recipe.rounds if rounds is None else rounds):
        trainer.play_round(number)
    return trainer


@pytest.fixture(scope="session")
def tiny() -> Trainer:
    """The whole run of TINY. Only to be read."""
    return trained(TINY)
