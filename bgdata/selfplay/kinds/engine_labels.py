"""Positions with the chances of another evaluator: an installed program, or a network at a higher ply."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bgdata.errors import InvalidParameterError
from bgdata.evaluation.players import DEFAULT_NETWORK, PLAYERS, PROGRAMS
from bgdata.imports.kinds.shared.imports import CHANCES_ARRAY
from bgdata.kinds.columns import CHANCE_COLUMNS, EQUITY_COLUMN, JOINS_GAMES, JOINS_TURNS, SPLITS_ARRAY
from bgdata.selfplay.kinds.shared import rollouts
from bgdata.selfplay.kinds.shared.corpora import RowsOfGames
from bgdata.store.dataset import BY_PLAYERS, Column, Estimate, FlatArray, Input
from bgdata.store.parameters import NONE_GIVEN, Given, Parameters, VersionRef

MAX_PLY = max(player.most_ply for player in PLAYERS.values())

if TYPE_CHECKING:
    from bgdata.store.table import Table


@dataclass(frozen=True)
class EngineParameters(Parameters):
    """Parameters of `engine_labels`: the source of the positions, and the engine that evaluates them. The engine is a
    program with its version and ply (0 is static), or `network` with its bearoff tables, as in `NetworkChoice`.
    `source_recipe` contains the parameters of the source for `source_input`."""

    source: VersionRef = rollouts.UNNAMED
    engine: str = "gnubg"
    ply: int = 0
    version: str = ""
    network: str = ""
    network_version: str = ""
    table_points: int = 6
    table_checkers: int = 6
    source_recipe: Given = NONE_GIVEN

    def choice(self) -> rollouts.NetworkChoice:
        """Return the network and its bearoff tables. The network is the default network of bgdata unless these
        parameters name another."""
        return rollouts.NetworkChoice(
            network=self.network or DEFAULT_NETWORK,
            network_version=self.network_version,
            table_points=self.table_points,
            table_checkers=self.table_checkers,
        )

    def check_determined(self) -> None:
        """Raise InvalidParameterError if the engine is a network that is not part of bgdata and these parameters give
        no version of it."""
        self.choice().check_determined()


class EngineLabels(RowsOfGames[EngineParameters]):
    """Kind `engine_labels`: positions with the chances of another program or a network. One row per position, in the
    order of the source."""

    name = "engine_labels"
    made_again = BY_PLAYERS
    computed_by = "labels"
    revision = 2
    summary = (
        "Positions evaluated by another program, or by a network that looks further: five chances before the roll."
    )
    source = "Computed: answers of the installed program that the column engine names, for cubeless money play"
    columns = (
        *rollouts.PLACE_COLUMNS,
        *CHANCE_COLUMNS,
        EQUITY_COLUMN,
        Column("engine", "VARCHAR", "", "Program or network, and its version"),
        Column("ply", "INTEGER", "", "How many rolls it looked ahead; 0 is the static evaluation"),
        rollouts.SPLIT_COLUMN,
    )
    joins = (JOINS_TURNS, JOINS_GAMES)
    key = ("row",)
    arrays = (
        *rollouts.PLACE_ARRAYS,
        CHANCES_ARRAY,
        SPLITS_ARRAY,
        FlatArray("engine", "uint8", "byte", "Program or network, and its version: UTF-8", is_shared=True),
    )
    parameters = EngineParameters
    defaults = ()
    smallest = EngineParameters(
        VersionRef("positions", "sample"), "network", 0, network="tiny", table_points=3, table_checkers=3
    )
    part_items = rollouts.PART_POSITIONS

    def slug(self, parameters: EngineParameters) -> str:
        source = re.sub(r"[^a-z0-9]+", "-", str(parameters.source))
        engine = parameters.choice().network if parameters.engine == "network" else parameters.engine
        return f"{source}-by-{engine}-{parameters.ply}ply"

    def check_parameters(self, parameters: EngineParameters) -> None:
        if parameters.engine not in (*PROGRAMS, "network"):
            raise InvalidParameterError(
                f"expected an engine among {', '.join(PROGRAMS)} and network, got {parameters.engine!r}"
            )
        if not 0 <= parameters.ply <= MAX_PLY:
            raise InvalidParameterError(f"expected a ply of 0 to {MAX_PLY}, got {parameters.ply}")
        if bool(parameters.version) != (parameters.engine in PROGRAMS):
            raise InvalidParameterError(
                f"expected a version of a program, and none of a network, got {parameters.version!r} of "
                f"{parameters.engine}"
            )
        parameters.choice().check_network()
        if parameters.engine != "network":
            for name in ("network", "network_version", "table_points", "table_checkers"):  # a program uses no network
                if (given := getattr(parameters, name)) != getattr(self.parameters, name):
                    raise InvalidParameterError(f"expected no {name} with the program {parameters.engine}, got {given}")
        rollouts.source_input(parameters.source, parameters.source_recipe)
        rollouts.check_splits(parameters.source)

    def inputs(self, parameters: EngineParameters) -> Mapping[str, Input]:
        source = {"source": rollouts.source_input(parameters.source, parameters.source_recipe)}
        return source | (parameters.choice().network_inputs() if parameters.engine == "network" else {})

    def item_count(self, _parameters: EngineParameters, inputs: Mapping[str, Table]) -> int:
        return rollouts.position_count(inputs["source"])

    def estimate(self, _parameters: EngineParameters) -> Estimate:
        return Estimate(0, 0, 1 << 28)  # as many rows as the source has positions


DATASET = EngineLabels()
