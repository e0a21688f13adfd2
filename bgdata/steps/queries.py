"""Rows of the catalog as commands use them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb

from bgdata.errors import QueryError
from bgdata.warehouse import Warehouse

Row = dict[str, Any]  # a value by the name of its column


def rows_of(warehouse: Warehouse, query: str, given: Mapping[str, Any]) -> list[Row]:
    """The rows of an SQL query with `given` parameters, the same to the last bit each time. Raises QueryError for a
    table that cannot be read."""
    with warehouse.connect() as connection:
        connection.execute("set threads = 1")  # the order of a sum is part of its last digit
        try:
            found = connection.execute(query, dict(given))
            names = [column[0] for column in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        except duckdb.Error as error:
            raise QueryError(f"expected tables that can be read, got {str(error).strip().splitlines()[0]}") from error
