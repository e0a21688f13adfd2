"""A player's values of reference positions, compared with the values of rollouts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from bgdata.errors import InvalidParameterError
from bgdata.imports.kinds.shared.imports import CHANCES_ARRAY
from bgdata.kinds.columns import CHANCE_COLUMNS, CLASS_COLUMN, EQUITY_COLUMN, POSITION_COLUMNS
from bgdata.measures.kinds.reference_positions import DATASET as REFERENCE
from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.measures.kinds.shared.players import check_player_name, player_slug, source_input
from bgdata.store.dataset import BY_PLAYERS, Column, Dataset, Estimate, FlatArray, Input
from bgdata.store.parameters import Parameters, VersionRef
from bgdata.store.table import Table

HALVES = ("validation", "test")  # test is for published figures, and never serves to choose a player
EVERY_THEME = "all"
GROUPS = (*THEMES, EVERY_THEME)
SMALLEST = VersionRef(REFERENCE.name, REFERENCE.slug(REFERENCE.smallest))


@dataclass(frozen=True)
class ReferenceScoreParameters(Parameters):
    """Parameters of `reference_scores`: a player, its ply and version, whether a network plays with its bearoff tables,
    and the reference positions that it evaluates. `reference` names a version, or a set whose smallest variant is built
    first."""

    player: str = "network"
    ply: int = 0
    version: str = ""
    tables: bool = True
    reference: VersionRef = SMALLEST

    @classmethod
    def on(cls, table: Table, player: str, ply: int, version: str) -> Self:
        """Return the parameters to score a player that reports `version` on the reference positions in `table`."""
        return cls(player, ply, version, reference=VersionRef.parse(table.name))


class ReferenceScores(Dataset[ReferenceScoreParameters]):
    """Kind `reference_scores`: a player's values of reference positions. One row per position, in the order of
    `reference_positions`."""

    name = "reference_scores"
    made_again = BY_PLAYERS
    revision = 1
    summary = "What a player says of reference positions, and how far its equities are from those of the rollouts."
    source = "Computed: the player's chances before the roll in cubeless money play, less those of the rollouts"
    columns = (
        Column("row", "INTEGER", "", "Row of reference_positions of the same set, from 0"),
        Column("theme", "VARCHAR", "", f"What kind of game is played: {', '.join(THEMES)}"),
        Column("split", "VARCHAR", "", "validation or test: choose by the one, report the other"),
        Column("game", "INTEGER", "", "Number of the game that the position is from"),
        POSITION_COLUMNS[0],
        CLASS_COLUMN,
        *CHANCE_COLUMNS,
        EQUITY_COLUMN,
        Column("equity_error", "DOUBLE", "points", "cubeless_equity less that of the rollout"),
        Column("standard_error", "DOUBLE", "points", "Standard error of the rollout"),
    )
    key = ("row",)
    arrays = (
        FlatArray("boards", "int8", "row, 26 integers", "Board of the player on roll"),
        CHANCES_ARRAY,
        FlatArray("themes", "uint8", "row", f"Theme: {', '.join(THEMES)} from 0 on"),
        FlatArray("splits", "uint8", "row", "Validation or test: 1 or 2"),
        FlatArray("games", "int32", "row", "Number of the game"),
        FlatArray("equity_errors", "float64", "row", "The player's cubeless equity less that of the rollout"),
        FlatArray("equity_standard_errors", "float64", "row", "Standard error of the rollout"),
    )
    parameters = ReferenceScoreParameters
    defaults = ()
    smallest = ReferenceScoreParameters("network/tiny", 0, "b49ded87", tables=False)

    def slug(self, parameters: ReferenceScoreParameters) -> str:
        player = player_slug(parameters.player, parameters.ply) + ("" if parameters.tables else "-without-tables")
        return f"{player}-on-{parameters.reference.variant}"

    def check_parameters(self, parameters: ReferenceScoreParameters) -> None:
        check_player_name(parameters.player)
        self.inputs(parameters)

    def inputs(self, parameters: ReferenceScoreParameters) -> Mapping[str, Input]:
        return {"reference": reference_input(parameters.reference)}

    def estimate(self, _parameters: ReferenceScoreParameters) -> Estimate:
        return Estimate(0, 0, 1 << 28)  # a row for each reference position


def reference_input(reference: VersionRef) -> Input:
    """Return the input that `reference` names: a version of reference positions, or the smallest variant. Raises
    InvalidParameterError for anything else."""
    if reference.kind != REFERENCE.name:
        raise InvalidParameterError(f"expected a version of {REFERENCE.name}, got {reference}")
    return source_input(reference)


def statistic_name(split: str, group: str, figure: str) -> str:
    """Return the name of a theme's figure in the manifest, such as test_back_game_on_roll_rmse."""
    return f"{split}_{group}_{figure}".replace("-", "_")


DATASET = ReferenceScores()
