"""Positions with chances by rollouts, which are labels with standard errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bgdata.imports.kinds.shared.imports import CHANCES_ARRAY, POSITION_ARRAYS
from bgdata.kinds.columns import CHANCE_COLUMNS, CLASS_COLUMN, DERIVED_PIPS, PIP_COLUMNS, POSITION_COLUMNS
from bgdata.selfplay.kinds.shared import rollouts
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray, Input
from bgdata.store.parameters import NONE_GIVEN, Given, VersionRef

if TYPE_CHECKING:
    from bgdata.store.table import Table


@dataclass(frozen=True)
class RolloutLabelParameters(rollouts.RollerParameters):
    """Parameters of `rollout_labels`: the source of the positions, the network and the settings of rollouts, and the
    seed of their dice. `source_recipe` contains the parameters of the source for `source_input`."""

    source: VersionRef = rollouts.UNNAMED
    seed: int = 0
    source_recipe: Given = NONE_GIVEN


class RolloutLabels(Dataset[RolloutLabelParameters]):
    """Kind `rollout_labels`: positions with chances by rollouts. One row per position, in the order of the source."""

    name = "rollout_labels"
    computed_by = "labels"
    revision = 2  # 2: luck in races considers likely plays too
    summary = "Positions rolled out by a network: five chances with standard errors, luck subtracted from each."
    source = "Computed: rollouts with stratified rolls and variance reduction by luck (Zare 2000, Montgomery 2000)"
    columns = (
        Column("row", "INTEGER", "", "Row of the source, from 0"),
        *POSITION_COLUMNS,
        CLASS_COLUMN,
        *PIP_COLUMNS,
        *CHANCE_COLUMNS,
        *rollouts.ERROR_COLUMNS,
        *rollouts.EQUITY_COLUMNS,
        rollouts.NETWORK_COLUMN,
    )
    key = ("row",)
    arrays = (
        *POSITION_ARRAYS,
        CHANCES_ARRAY,
        FlatArray("standard_errors", "float32", "row, chance", "Standard errors of `chances`"),
        FlatArray("equities", "float64", "row", "Cubeless money equities"),
        FlatArray("equity_standard_errors", "float64", "row", "Standard errors of `equities`"),
        FlatArray("plain_standard_errors", "float64", "row", "What they were if luck had not been subtracted"),
        FlatArray("trials", "int64", "row", "Games played"),
        rollouts.NETWORK_ARRAY,
    )
    parameters = RolloutLabelParameters
    defaults = ()
    smallest = RolloutLabelParameters(
        "tiny", "", 3, 3, 72, 0.02, 144, turns=2, source=VersionRef("positions", "sample")
    )
    part_items = rollouts.PART_POSITIONS

    def derived_columns(self, _parameters: RolloutLabelParameters) -> Mapping[str, str]:
        return DERIVED_PIPS

    def slug(self, parameters: RolloutLabelParameters) -> str:
        source = re.sub(r"[^a-z0-9]+", "-", str(parameters.source))
        by = f"{parameters.network}{parameters.how_text}"
        return f"{source}-by-{by}-{parameters.trials}-seed-{parameters.seed}"

    def check_parameters(self, parameters: RolloutLabelParameters) -> None:
        parameters.check_roller(parameters.seed)
        rollouts.source_input(parameters.source, parameters.source_recipe, turns=False)

    def inputs(self, parameters: RolloutLabelParameters) -> Mapping[str, Input]:
        source = rollouts.source_input(parameters.source, parameters.source_recipe, turns=False)
        return {"source": source, **parameters.network_inputs()}

    def item_count(self, _parameters: RolloutLabelParameters, inputs: Mapping[str, Table]) -> int:
        return rollouts.position_count(inputs["source"])

    def estimate(self, _parameters: RolloutLabelParameters) -> Estimate:
        return Estimate(0, 0, 1 << 28)  # the source decides the number of rows


DATASET = RolloutLabels()
