"""Positions with the chances of a network at 1-ply. These labels are cheap, and better than the network's chances at
0-ply."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bgdata.errors import InvalidParameterError
from bgdata.imports.kinds.shared.imports import CHANCES_ARRAY
from bgdata.kinds.columns import CHANCE_COLUMNS, EQUITY_COLUMN, JOINS_GAMES, JOINS_TURNS, SPLITS_ARRAY
from bgdata.selfplay.kinds.position_sample import DATASET as SAMPLE
from bgdata.selfplay.kinds.shared import rollouts
from bgdata.selfplay.kinds.shared.corpora import RowsOfGames
from bgdata.store.dataset import Column, Estimate, FlatArray, Input
from bgdata.store.parameters import NONE_GIVEN, Given, VersionRef, number_text

if TYPE_CHECKING:
    from bgdata.store.table import Table


@dataclass(frozen=True)
class LookaheadParameters(rollouts.NetworkChoice):
    """Parameters of `lookahead_labels`: the source of the positions, and the network that evaluates them. Positions
    whose equity changes by less than `least_change` points from 0-ply to 1-ply are left out; 0 keeps all.
    `source_recipe` contains the parameters of the source for `source_input`."""

    source: VersionRef = rollouts.UNNAMED
    source_recipe: Given = NONE_GIVEN
    least_change: float = 0.0


class LookaheadLabels(RowsOfGames[LookaheadParameters]):
    """Kind `lookahead_labels`: positions with the chances of a network at 1-ply. One row per position, in the order of
    the source."""

    name = "lookahead_labels"
    computed_by = "labels"
    revision = 3  # 3: 18 plays of each roll are considered, in races too
    summary = "Positions with the chances of a network at 1-ply, and how far they are from those at 0-ply."
    source = "Computed: the mean over the 21 rolls of the chances after the best play of each"
    columns = (
        *rollouts.PLACE_COLUMNS,
        *CHANCE_COLUMNS,
        EQUITY_COLUMN,
        Column("static_equity", "FLOAT", "points", "Equity by the network at 0-ply"),
        Column("change", "FLOAT", "points", "cubeless_equity less static_equity: what looking ahead was worth"),
        Column("label_source", "VARCHAR", "", "Who says so: lookahead, exact or combined (tables), or outcome"),
        Column("network", "VARCHAR", "", "Network that played both sides, and its version"),
        rollouts.SPLIT_COLUMN,
    )
    joins = (JOINS_TURNS, JOINS_GAMES)
    key = ("row",)
    arrays = (
        *rollouts.PLACE_ARRAYS,
        CHANCES_ARRAY,
        FlatArray("static_chances", "float32", "row, chance", "Cumulative chances at 0-ply"),
        FlatArray("changes", "float32", "row", "Cubeless equity of `chances` less that of `static_chances`"),
        FlatArray("sources", "uint8", "row", "Outcome, exact, combined or lookahead: 0, 1, 2 or 3"),
        SPLITS_ARRAY,
        FlatArray("network", "uint8", "byte", "Network that played both sides, and its version: UTF-8", is_shared=True),
    )
    parameters = LookaheadParameters
    defaults = ()
    smallest = LookaheadParameters("tiny", "", 3, 3, VersionRef(SAMPLE.name, SAMPLE.slug(SAMPLE.smallest)))
    part_items = rollouts.PART_POSITIONS

    def slug(self, parameters: LookaheadParameters) -> str:
        change = number_text(parameters.least_change) if parameters.least_change else ""
        source, change = (re.sub(r"[^a-z0-9]+", "-", text) for text in (str(parameters.source), change))
        return f"{source}-by-{parameters.network}-1ply" + (f"-change-{change}" if change else "")

    def check_parameters(self, parameters: LookaheadParameters) -> None:
        parameters.check_network()
        if not 0 <= parameters.least_change <= 6:
            raise InvalidParameterError(f"expected a least change of 0 to 6 points, got {parameters.least_change}")
        rollouts.source_input(parameters.source, parameters.source_recipe)
        rollouts.check_splits(parameters.source)

    def inputs(self, parameters: LookaheadParameters) -> Mapping[str, Input]:
        source = rollouts.source_input(parameters.source, parameters.source_recipe)
        return {**parameters.network_inputs(), "source": source}

    def item_count(self, _parameters: LookaheadParameters, inputs: Mapping[str, Table]) -> int:
        return rollouts.position_count(inputs["source"])

    def estimate(self, _parameters: LookaheadParameters) -> Estimate:
        return Estimate(0, 0, 1 << 28)  # as many rows as the source has positions


DATASET = LookaheadLabels()
