"""Comparing stored arrays with what they must hold, by what `check_sample` of several kinds says."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

import numpy as np

from bgdata.errors import CheckFailedError
from bgdata.store.arrays import Array
from bgdata.store.table import Table


def quickest(games: Mapping[int, int], most: int) -> list[int]:
    """The rows with the fewest games each, up to `most` games together; one row at least."""
    rows = sorted(games, key=lambda row: games[row])
    return rows[: max(1, sum(total <= most for total in accumulate(games[row] for row in rows)))]


def check_arrays(table: Table, expected: Mapping[str, Array]) -> None:
    """Raise CheckFailedError unless a version has these whole arrays, naming the first row that differs."""
    for name, values in expected.items():
        found = np.asarray(table.array(name))
        if found.shape != values.shape:
            raise CheckFailedError(f"expected {name} of shape {values.shape} in {table.name}, found {found.shape}")
        for row in np.unique(np.nonzero(found != values)[0])[:1].tolist():
            raise CheckFailedError(
                f"expected {name} of {values[row].tolist()} in row {row} of {table.name}, found {found[row].tolist()}"
            )
