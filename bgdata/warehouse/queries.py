"""Rows of the catalog as commands use them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bgdata.warehouse import Warehouse

Row = dict[str, Any]  # a value by the name of its column


def rows_of(warehouse: Warehouse, query: str, given: Mapping[str, Any]) -> list[Row]:
    """The rows of an SQL query with `given` parameters, the same to the last bit each time. Raises QueryError for a
    table that cannot be read."""
    from bgdata.store.locked_sql import query_errors

    with warehouse.connect(for_query=query) as connection, query_errors():
        connection.execute("set threads = 1")  # the order of a sum is part of its last digit
        found = connection.execute(query, dict(given))
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
