"""Distinct positions of self-play for labelling, the same number of each class, split by game."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bgdata.errors import InvalidParameterError
from bgdata.kinds import columns as col
from bgdata.selfplay.kinds.selfplay import DATASET as SELFPLAY
from bgdata.selfplay.kinds.selfplay import SelfPlayParameters
from bgdata.selfplay.kinds.shared.corpora import RowsOfGames
from bgdata.store.dataset import Column, Estimate, FlatArray
from bgdata.store.parameters import Parameters


@dataclass(frozen=True)
class SampleParameters(SelfPlayParameters):
    """Parameters of `position_sample`: a corpus, and the maximum number of positions of each class."""

    most: int = 2000


class PositionSample(RowsOfGames[SampleParameters]):
    """Kind `position_sample`: distinct positions of self-play. One row per position, in the order of the games."""

    name = "position_sample"
    computed_by = "sample"
    revision = 1
    summary = "Distinct positions of self-play, of each class as many, split into train, validation and test by game."
    source = "Computed: chosen from a version of selfplay by a hash of the position"
    columns = (
        col.CORPUS_COLUMN,
        Column("game", "INTEGER", "", "Number of the first game of the corpus that has the position"),
        col.TURN_COLUMN,
        *col.POSITION_COLUMNS,
        col.CLASS_COLUMN,
        *col.PIP_COLUMNS,
        col.GAME_SPLIT_COLUMN,
    )
    joins = (col.JOINS_TURNS, col.JOINS_GAMES)
    key = ("game", "turn")
    arrays = (
        FlatArray("boards", "int8", "row, 26 integers", "Boards of the player on roll"),
        FlatArray("classes", "uint8", "row", "Class of the position, numbered as by gnubg"),
        *col.TURN_PLACE_ARRAYS,
        col.SPLITS_ARRAY,
    )
    parameters = SampleParameters
    defaults = (SampleParameters(),) if SELFPLAY.defaults else ()
    smallest = SampleParameters(**vars(SELFPLAY.smallest), most=40)

    def slug(self, parameters: SampleParameters) -> str:
        return f"{SELFPLAY.slug(parameters.corpus)}-most-{parameters.most}"

    def check_parameters(self, parameters: SampleParameters) -> None:
        SELFPLAY.check_parameters(parameters.corpus)
        if not 1 <= parameters.most < 1 << 31:
            raise InvalidParameterError(f"expected at least 1 position of each class, got {parameters.most}")

    def inputs(self, parameters: SampleParameters) -> Mapping[str, tuple[str, Parameters]]:
        return {"games": (SELFPLAY.name, parameters.corpus)}

    def estimate(self, parameters: SampleParameters) -> Estimate:
        rows = min(3 * parameters.most, 40 * parameters.games)
        return Estimate(rows, 80 * rows, (1 << 29) + 100 * rows + 16 * parameters.games)


DATASET = PositionSample()
