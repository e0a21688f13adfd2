"""Rows of data and their output: lines of text for people, JSON and CSV for programs.

A row maps the SQL names of its columns to values. A `Column` says how a column is printed for people. A `Quantity` says
how many digits, which sign and which unit a number has, the same in every table and sentence.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

Row = Mapping[str, Any]  # values by SQL column name


@dataclass(frozen=True)
class Quantity:
    """How a number, such as an equity or a chance, is printed for people: digits after the point, factor, sign and
    unit."""

    digits: int = 0
    scale: float = 1
    sign: str = ""  # "+": positive numbers have a sign too
    unit: str = ""  # printed after the number, such as " %"

    def text(self, value: float, error: float | None = None) -> str:
        """Format a value, and its standard error if that is given: `+0.1234 +/- 0.0012`."""
        group = "" if self.digits else ","
        found = f"{self.scale * value:{self.sign}{group}.{self.digits}f}{self.unit}"
        return found if error is None else f"{found} +/- {self.scale * error:.{self.digits}f}"


COUNT = Quantity()
EQUITY = Quantity(4, sign="+")  # in points, also for average results
LOSS = Quantity(4)  # in points; for an RMSE, a standard error and other amounts without a sign too
CHANCE = Quantity(2, 100, unit=" %")
PERCENT = Quantity(1, 100)  # a chance in a table of plays, a share
THOUSANDTHS = Quantity(1, 1000)  # thousandths of a point


@dataclass(frozen=True)
class Column:
    """A column of a printed table. Strings are left-aligned. Numbers are right-aligned and printed as `quantity`
    says."""

    name: str
    quantity: Quantity | None = None
    heading: str | None = None  # default: the name
    error: str = ""  # the column with the standard error, which is printed beside the value
    width: int = 0  # least width, in letters
    gap: int = 2  # blanks before the column
    missing: str = ""  # the text for None and NaN
    is_right: bool = False  # aligns strings like numbers

    def text(self, row: Row) -> str:
        """Format the value of a row in this column, with control characters escaped."""
        value = row.get(self.name)
        if value is None or value != value:
            return self.missing
        if self.quantity is None:
            text = str(value)
            return text if text.isprintable() else "".join(map(_escape_letter, text))
        return self.quantity.text(value, row.get(self.error) if self.error else None)


def _escape_letter(letter: str) -> str:
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode()


def table_cells(columns: Sequence[Column], rows: Iterable[Row]) -> list[list[str]]:
    """Return the cells of a printed table as strings: a list of the headings, then one list for each row."""
    heads = [column.name.replace("_", " ") if column.heading is None else column.heading for column in columns]
    return [heads, *([column.text(row) for column in columns] for row in rows)]


def table_lines(columns: Sequence[Column], rows: Iterable[Row]) -> list[str]:
    """Return the lines of a printed table, in which each column is as wide as its longest value. The headings come
    first, if there are any."""
    cells = table_cells(columns, rows)
    lines = [""] * len(cells)
    for place, column in enumerate(columns):
        width = max(column.width, *(len(line[place]) for line in cells))
        is_right = column.is_right or column.quantity is not None
        for line, texts in enumerate(cells):
            text = texts[place].rjust(width) if is_right else texts[place].ljust(width)
            lines[line] += " " * (column.gap if place else 0) + text
    lines = [line.rstrip() for line in lines]
    return lines if lines[0] else lines[1:]


def json_value(value: Any) -> Any:
    """Convert a value, such as a NumPy array, to one that JSON can express."""
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, Mapping):
        return {str(name): json_value(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(each) for each in value]
    if hasattr(value, "tolist"):  # NumPy
        return json_value(value.tolist())
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def whole_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Convert rows to values that JSON can express, and give all of them the same columns. Missing values and NaN
    become None."""
    found = [{name: json_value(value) for name, value in row.items()} for row in rows]
    columns = list(dict.fromkeys(name for row in found for name in row))
    return [{name: row.get(name) for name in columns} for row in found]


def csv_value(value: Any) -> Any:
    """Convert a result of `json_value` to a string for CSV. Lists are written as in JSON, and booleans as in SQL."""
    return json.dumps(value) if isinstance(value, list | dict | bool) else value
