"""Compares stored arrays with recomputed ones, for the method `check_sample` of several kinds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

import numpy as np

from bgdata.errors import CheckFailedError
from bgdata.store.arrays import Array
from bgdata.store.table import Table

TOLERANCE = 1e-5  # of recomputed chances, since programs add numbers in different orders


def cheapest_rows(games: Mapping[int, int], most: int) -> list[int]:
    """Choose the rows to recompute that take the fewest games, at least one row, up to `most` games in all. `games`
    maps each row to its number of games."""
    rows = sorted(games, key=lambda row: games[row])
    return rows[: max(1, sum(total <= most for total in accumulate(games[row] for row in rows)))]


def check_arrays(table: Table, expected: Mapping[str, Array]) -> None:
    """Raise CheckFailedError unless the arrays of a version equal the `expected` arrays. The error names the first row
    that differs."""
    for name, values in expected.items():
        found = table.array(name)
        if found.shape != values.shape:
            raise CheckFailedError(f"expected {name} of shape {values.shape} in {table.name}, found {found.shape}")
        check_rows(table, np.arange(len(values)), {name: values})


def check_rows(table: Table, rows: Array, expected: Mapping[str, Array]) -> None:
    """Raise CheckFailedError unless the arrays of a version have the `expected` values in the rows `rows`, int64[n].
    The error names the first row that differs. NaN equals NaN."""
    for name, values in expected.items():
        if len(rows) != len(values):
            raise CheckFailedError(f"expected {len(values)} rows of {name} in {table.name}, found {len(rows)}")
        found = table.array(name)[rows]
        is_same = (found == values) | ((found != found) & (values != values))
        for place in np.unique(np.nonzero(~is_same)[0])[:1].tolist():
            raise CheckFailedError(
                f"expected {name} of {values[place].tolist()} in row {rows[place]} of {table.name}, "
                f"found {found[place].tolist()}"
            )


def check_replayed(table: Table, what: str, rows: slice, expected: Mapping[str, Array]) -> None:
    """Raise CheckFailedError unless the arrays of a version have the `expected` bytes in the rows of a game or match
    that was replayed. The error calls it `what`, such as `game 7`."""
    for name, values in expected.items():
        if np.asarray(table.array(name)[rows]).tobytes() != values.tobytes():
            raise CheckFailedError(f"expected the {name} of {what} of {table.name} to equal their replay, found others")


def check_chances(table: Table, rows: Array, expected: Array) -> None:
    """Raise CheckFailedError unless the chances of a version in the rows `rows`, int64[n], equal `expected`, float32[n,
    5], within TOLERANCE."""
    found = table.array("chances")[rows]
    for place in np.flatnonzero(~(np.abs(found - expected) <= TOLERANCE).all(axis=1))[:1].tolist():
        raise CheckFailedError(
            f"expected chances of {expected[place].tolist()} in row {rows[place]} of {table.name}, "
            f"found {found[place].tolist()}"
        )
