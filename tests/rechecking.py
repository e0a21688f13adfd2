"""Recompute rows of a version, as `bgdata verify` does, with given inputs and random generator."""

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
    """The result of the kind's `check_sample`. Raises the same exceptions."""
    warehouse = bgdata.open_warehouse(table.folder.parents[2])
    return kind.computation.check_sample(
        Recheck(kind.recipe_of(table.manifest), inputs, warehouse, table, rows, generator)
    )


def inputs_of(warehouse: Warehouse, kind: Dataset[Any], recipe: Any) -> dict[str, Table]:
    """The input tables of a recipe by role, all of which must exist."""
    inputs = warehouse.find_inputs(kind, recipe)
    assert inputs is not None
    return inputs
