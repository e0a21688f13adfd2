"""What a kind declares of its tables and arrays: names, types, units and meanings, which SQL and the pages show."""

from __future__ import annotations

from dataclasses import dataclass

PARQUET = "table.parquet"  # file of the main table


@dataclass(frozen=True)
class Column:
    """A column as SQL shows it: its DuckDB type, unit and meaning in one sentence."""

    name: str
    type: str
    unit: str
    meaning: str

    @property
    def comment(self) -> str:
        """Text of the column's comment in the catalog."""
        return f"{self.meaning} [{self.unit}]" if self.unit else self.meaning


@dataclass(frozen=True)
class TableShape:
    """One Parquet file of a version, and the SQL view over it. A table that several kinds declare is `shared`: one
    view over all of them, with a column that names the dataset."""

    name: str
    file: str
    summary: str
    columns: tuple[Column, ...]  # as SQL shows them, `variant` not included
    key: tuple[str, ...]  # columns that name a row; the table is sorted by them
    shared: bool = False

    @property
    def row(self) -> str:
        """What a row is, in one sentence."""
        return f"One row for each {' and '.join(self.key)}, in this order."


@dataclass(frozen=True)
class FlatArray:
    """An array that the player maps: its dtype, the meaning of its axes, and what it holds."""

    name: str
    dtype: str
    axes: str
    meaning: str
