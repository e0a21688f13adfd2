"""A sample of reference positions that another player rolls out again shows how far the rollouts can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bgdata.errors import InvalidParameterError
from bgdata.imports.kinds.shared.imports import CHANCES_ARRAY
from bgdata.kinds.columns import CHANCE_COLUMNS, CLASS_COLUMN, POSITION_COLUMNS
from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.measures.kinds.reference_scores import SMALLEST, reference_input
from bgdata.measures.kinds.shared.players import check_player_name, player_slug
from bgdata.selfplay.kinds.shared.rollouts import ERROR_COLUMNS, RollerParameters
from bgdata.store.dataset import BY_PLAYERS, Column, Dataset, Estimate, FlatArray, Input
from bgdata.store.parameters import VersionRef


@dataclass(frozen=True)
class ReferenceCheckParameters(RollerParameters):
    """Parameters of `reference_checks`: the network that measures luck, the settings of the rollouts, the player, and
    the positions. `player` plays both sides at `ply`, and reports a version; it may be the network itself. `reference`
    is a version of reference positions. `positions` is the number of positions to roll out, about equally many of each
    theme."""

    trials: int = 360
    player: str = "network"
    ply: int = 0
    version: str = ""
    reference: VersionRef = SMALLEST
    positions: int = 200
    seed: int = 1


class ReferenceChecks(Dataset[ReferenceCheckParameters]):
    """Kind `reference_checks`: reference positions that another player has rolled out again. One row per position, in
    the order of `reference_positions`."""

    name = "reference_checks"
    made_again = BY_PLAYERS
    revision = 4  # 3: likely plays measure luck in races too; 4: other dice than in the reference
    summary = "A sample of reference positions rolled out again by another player, with z-scores."
    source = "Computed: rollouts with stratified rolls and variance reduction by luck (Zare 2000, Montgomery 2000)"
    columns = (
        Column("row", "INTEGER", "", "Row of reference_positions of the same set, from 0"),
        Column("theme", "VARCHAR", "", f"What kind of game is played: {', '.join(THEMES)}"),
        POSITION_COLUMNS[0],
        CLASS_COLUMN,
        *CHANCE_COLUMNS,
        *ERROR_COLUMNS,
        Column("equity", "DOUBLE", "points", "Cubeless equity by this player, of the player on roll"),
        Column("standard_error", "DOUBLE", "points", "Standard error of equity"),
        Column("equity_difference", "DOUBLE", "points", "equity less that of the reference"),
        Column(
            "difference_standard_error",
            "DOUBLE",
            "points",
            "Standard error of equity_difference: of both rollouts; 0 where tables end all of their games",
        ),
        Column(
            "z_score",
            "DOUBLE",
            "standard errors",
            "equity_difference by its standard error, null where both rollouts have none",
        ),
        Column("trials", "BIGINT", "games", "Games played"),
    )
    key = ("row",)
    arrays = (
        FlatArray("rows", "int32", "position", "Row of the reference positions"),
        FlatArray("boards", "int8", "position, 26 integers", "Board of the player on roll"),
        FlatArray("themes", "uint8", "position", f"Theme: {', '.join(THEMES)} from 0 on"),
        CHANCES_ARRAY,
        FlatArray("standard_errors", "float32", "position, chance", "Standard errors of `chances`"),
        FlatArray("equities", "float64", "position", "Cubeless equity by this player"),
        FlatArray("equity_standard_errors", "float64", "position", "Standard error of it"),
        FlatArray("differences", "float64", "position", "Equity less that of the reference"),
        FlatArray("difference_errors", "float64", "position", "Standard error of it: of both rollouts"),
        FlatArray("trials", "int64", "position", "Games played"),
    )
    parameters = ReferenceCheckParameters
    defaults = ()
    smallest = ReferenceCheckParameters("tiny", "", 3, 3, 72, turns=2, player="pubeval", version="2", positions=5)

    def slug(self, parameters: ReferenceCheckParameters) -> str:
        player = player_slug(parameters.player, parameters.ply)
        return f"{parameters.positions}-of-{parameters.reference.variant}-by-{player}-seed-{parameters.seed}"

    def check_parameters(self, parameters: ReferenceCheckParameters) -> None:
        parameters.check_roller(parameters.seed)
        check_player_name(parameters.player)
        if parameters.positions < 1:
            raise InvalidParameterError(f"expected at least 1 position, got {parameters.positions}")
        if parameters.play_ply:
            raise InvalidParameterError(
                f"expected the ply of the player, as in network:1, got --play-ply {parameters.play_ply}"
            )
        reference_input(parameters.reference)

    def inputs(self, parameters: ReferenceCheckParameters) -> Mapping[str, Input]:
        return {"reference": reference_input(parameters.reference), **parameters.network_inputs()}

    def estimate(self, parameters: ReferenceCheckParameters) -> Estimate:
        return Estimate(parameters.positions, 20_000 + 400 * parameters.positions, 1 << 28)


DATASET = ReferenceChecks()
