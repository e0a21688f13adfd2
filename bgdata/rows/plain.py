"""Rows of data: a value by the name that its column has in SQL, as JSON and CSV can hold it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from enum import Enum
from typing import Any

Row = Mapping[str, Any]  # a value by the name that its column has in SQL


def plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):  # of NumPy
        return plain(value.tolist())
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def whole_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Rows as JSON can hold them, each with the columns of all of them together; missing values, and NaN, are None."""
    found = [{name: plain(value) for name, value in row.items()} for row in rows]
    columns = list(dict.fromkeys(name for row in found for name in row))
    return [{name: row.get(name) for name in columns} for row in found]


def as_cell(value: Any) -> Any:
    """A plain value as text for CSV: lists as in JSON, true and false as in SQL."""
    return json.dumps(value) if isinstance(value, list | dict | bool) else value
