"""Distinct positions of self-play, a number of each class, for labelling; split by game."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bgdata.datasets.common.columns import CLASS_COLUMN, POSITION_COLUMNS
from bgdata.datasets.selfplay import DATASET as SELFPLAY
from bgdata.datasets.selfplay import SelfPlayParameters
from bgdata.errors import InvalidParameterError
from bgdata.store.dataset import Dataset, Estimate
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Parameters


@dataclass(frozen=True)
class SampleParameters(SelfPlayParameters):
    """A corpus, and the maximum number of positions of each class."""

    most: int = 2000


class PositionSample(Dataset[SampleParameters]):
    """One row for each position, in the order of the games."""

    name = "position_sample"
    revision = 1
    summary = "Distinct positions of self-play, of each class as many, split into train, validation and test by game."
    source = "Computed: chosen from a version of selfplay by a hash of the position"
    columns = (
        Column("game", "INTEGER", "", "Number of the first game of the corpus that has the position"),
        Column("turn", "INTEGER", "", "Number of the turn in that game, from 0"),
        *POSITION_COLUMNS,
        CLASS_COLUMN,
        Column("split", "VARCHAR", "", "train, validation or test: the same for all positions of a game"),
    )
    key = ("game", "turn")
    arrays = (
        FlatArray("boards", "int8", "row, 26 integers", "Boards of the player on roll"),
        FlatArray("classes", "uint8", "row", "Class of the position, numbered as by gnubg"),
        FlatArray("games", "int32", "row", "Number of the game"),
        FlatArray("turns", "int32", "row", "Number of the turn in it"),
        FlatArray("splits", "uint8", "row", "Train, validation or test: 0, 1 or 2"),
    )
    parameters = SampleParameters
    defaults = (SampleParameters(),) if SELFPLAY.defaults else ()
    smallest = SampleParameters(**vars(SELFPLAY.smallest), most=40)

    def slug(self, parameters: SampleParameters) -> str:
        return f"{SELFPLAY.slug(corpus_of(parameters))}-most-{parameters.most}"

    def check_parameters(self, parameters: SampleParameters) -> None:
        SELFPLAY.check_parameters(corpus_of(parameters))
        if not 1 <= parameters.most < 1 << 31:
            raise InvalidParameterError(f"expected at least 1 position of each class, got {parameters.most}")

    def inputs(self, parameters: SampleParameters) -> Mapping[str, tuple[str, Parameters]]:
        return {"games": (SELFPLAY.name, corpus_of(parameters))}

    def estimate(self, parameters: SampleParameters) -> Estimate:
        rows = min(3 * parameters.most, 40 * parameters.games)
        return Estimate(rows, 80 * rows, (1 << 28) + 6000 * parameters.games)


def corpus_of(parameters: SelfPlayParameters) -> SelfPlayParameters:
    """The corpus that is sampled, by parameters that name more than it."""
    return SelfPlayParameters(**{name: getattr(parameters, name) for name in SelfPlayParameters.names()})


DATASET = PositionSample()
