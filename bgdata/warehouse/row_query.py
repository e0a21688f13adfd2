"""SQL queries for the rows of a table: filtered, sorted, counted, and the values of one column. Declared names of
columns and tables need no quotes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

from bgdata.errors import UsageError, cite
from bgdata.store.dataset import Column, TableShape
from bgdata.store.names import sql_text

NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE")
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
OPERATORS = (*COMPARISONS, "contains", "is missing", "is known")
FILTER = re.compile(r"(\w+)\s*(<=|>=|!=|=|<|>|contains\s|is missing$|is known$)\s*(.*)", re.DOTALL)
LIST = re.compile(r"\[[-+.\deE,\s]*\]")


class Filter(NamedTuple):
    """A condition that rows must satisfy: a column, one of OPERATORS, and a value as a string."""

    column: Column
    operator: str
    value: str = ""

    @property
    def text(self) -> str:
        """The filter as a user would write it, such as `n_turns >= 100`."""
        return " ".join(filter(None, (self.column.name, self.operator, self.value)))

    @property
    def sql(self) -> str:
        """The filter as an SQL condition."""
        name = self.column.name
        if self.operator in ("is missing", "is known"):
            return f"{name} is {'not ' * (self.operator == 'is known')}null"
        if self.operator == "contains":
            return f"contains({name}, {sql_text(self.value)})"
        return f"{name} {self.operator} {_literal(self.column, self.value)}"


def _literal(column: Column, value: str) -> str:
    """Return the SQL literal for a value of a column. The form of the value must have been checked."""
    if column.type in NUMBERS or column.type == "BOOLEAN":
        return value
    return f"{sql_text(value)}::{column.type}" if column.type.endswith("[]") else sql_text(value)


def column_of(shape: TableShape, name: str) -> Column:
    """Return the column `name` of a table. Raises UsageError if the table does not have this column."""
    found = next((column for column in shape.columns if column.name == name), None)
    if found is None:
        names = ", ".join(column.name for column in shape.columns)
        raise UsageError(f"expected a column of {shape.name}: {names}, got {cite(name)}")
    return found


def parse_filter(shape: TableShape, text: str) -> Filter:
    """Parse a filter such as `n_turns >= 100`. Raises UsageError if it has another form, names a column that the table
    does not have, or compares the column with a value of another type."""
    found = FILTER.fullmatch(text.strip())
    if not found or "\0" in text:
        raise UsageError(f"expected a filter such as {shape.columns[0].name} = 1, got {cite(text)}")
    column, operator = column_of(shape, found[1]), found[2].strip()
    if operator in ("is missing", "is known"):
        return Filter(column, operator)
    if operator == "contains" and column.type != "VARCHAR":
        raise UsageError(f"expected a column of texts for contains, got {column.name}, of type {column.type}")
    return Filter(column, operator, _value(column, found[3].strip()))


def _value(column: Column, text: str) -> str:
    """Check a value that a user wrote for a column, and return it as SQL writes it. Raises UsageError if the value does
    not have the column's type."""
    if column.type in NUMBERS:
        value = text.replace(",", "").replace("−", "-")
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not value.isascii() or not isfinite(number) or "_" in value:
            raise UsageError(f"expected a number for {column.name}, got {cite(text)}")
        return value
    if column.type == "BOOLEAN":
        words = {"yes": "true", "true": "true", "1": "true", "no": "false", "false": "false", "0": "false"}
        if text.lower() not in words:
            raise UsageError(f"expected yes or no for {column.name}, got {cite(text)}")
        return words[text.lower()]
    if column.type.endswith("[]") and not LIST.fullmatch(text):
        raise UsageError(f"expected a list such as [0, 2] for {column.name}, got {cite(text)}")
    return text


@dataclass(frozen=True)
class RowQuery:
    """SQL queries about the rows of one table of a variant that pass all filters. The rows are sorted by the column
    `sort`, in descending order if it begins with a minus. If `sort` is empty, they are in the table's own order."""

    shape: TableShape
    kind: str
    variant: str
    filters: Sequence[Filter] = ()
    sort: str = ""

    @property
    def source(self) -> str:
        """The `from` and `where` clauses that all of these queries share."""
        owner = [f"dataset = {sql_text(self.kind)}"] if self.shape.shared else []
        conditions = [*owner, f"variant = {sql_text(self.variant)}", *(each.sql for each in self.filters)]
        return f"from {self.shape.name} where {' and '.join(conditions)}"

    @property
    def rows(self) -> str:
        """The query for all rows, without columns that have the same value in every row."""
        shared = "dataset, variant" if self.shape.shared else "variant"
        return f"select * exclude ({shared}) {self.source}{self._order}"

    @property
    def _order(self) -> str:
        if not self.sort:
            return ""
        name = self.sort.removeprefix("-")
        others = [key for key in self.shape.key if key != name]  # make the order unique, so that pages do not overlap
        return f" order by {', '.join([name + ' desc' * self.sort.startswith('-') + ' nulls last', *others])}"

    def page(self, number: int, size: int) -> str:
        """Return the query for page `number` of the rows, from 1, with `size` rows on a page."""
        return f"{self.rows} limit {size}" + (f" offset {(number - 1) * size}" if number > 1 else "")

    @property
    def count(self) -> str:
        """The query for the number of rows."""
        return f"select count(*) as n {self.source}"

    def figures(self, column: Column) -> str:
        """Return the query that describes a column: the number of rows that have a value, the approximate number of
        different values, and the minimum, maximum and mean of numbers."""
        name = column.name
        finite = f" filter (where isfinite({name}))" if column.type in ("FLOAT", "DOUBLE") else ""
        numbers = f", min({name}){finite} as least, max({name}){finite} as most, avg({name}){finite} as mean"
        return (
            f"select count(*) as n, count({name}) as known, approx_count_distinct({name}) as different"
            f"{numbers if column.type in NUMBERS else ''} {self.source}"
        )

    def different(self, names: Sequence[str]) -> str:
        """Return the query for the approximate number of different values in each of these columns."""
        return f"select {', '.join(f'approx_count_distinct({name}) as {name}' for name in names)} {self.source}"

    def values(self, column: Column, most: int) -> str:
        """Return the query for the `most` most frequent values of a column, with the number of rows of each."""
        name = column.name
        return f"select {name}, count(*) as n {self.source} group by all order by n desc, {name} limit {most}"

    def bins(self, column: Column, width: float) -> str:
        """Return the query for a histogram of a column of numbers: the number of rows in each bin. Bin b counts values
        from b * width to below (b + 1) * width."""
        name = column.name
        finite = f" and isfinite({name})" if column.type in ("FLOAT", "DOUBLE") else ""
        return (
            f"select floor({name} / {width!r})::bigint as bin, count(*) as n {self.source}"
            f" and {name} is not null{finite} group by all order by bin"
        )
