"""Computing rows of a version again, as `bgdata verify` does, with inputs and a generator of the test's choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import bgdata
from bgdata.store.dataset import Dataset, Recheck
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse


def check_sample(
    kind: Dataset[Any], table: Table, inputs: Mapping[str, Table], rows: int, generator: np.random.Generator
) -> str:
    """What the kind says of a sample; raises as `Dataset.check_sample` does."""
    warehouse = bgdata.open_warehouse(table.folder.parents[2])
    return kind.computation.check_sample(
        Recheck(kind.recipe_of(table.manifest), inputs, warehouse, table, rows, generator)
    )


def inputs_of(warehouse: Warehouse, kind: Dataset[Any], recipe: Any) -> dict[str, Table]:
    """The tables that a recipe is computed from, by role; all have to be there."""
    found = warehouse.find_inputs(kind, recipe)
    assert found is not None
    return found
