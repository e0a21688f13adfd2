"""How commands print data: rows as CSV and JSON, and the figures of a build."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import click

from bgdata.store.table import Table

Row = Mapping[str, Any]  # a value by the name that its column has in SQL


def write_rows(rows: Iterable[Row], form: str) -> None:
    """Print rows as `csv`, or as `json`: one array with an object for each row. The columns are those of all rows
    together; missing values, and NaN, are empty or null."""
    found = [{name: plain(value) for name, value in row.items()} for row in rows]
    columns = list(dict.fromkeys(name for row in found for name in row))
    whole = [{name: row.get(name) for name in columns} for row in found]
    if form == "json":
        click.echo(json.dumps(whole, allow_nan=False))
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([as_cell(value) for value in row.values()] for row in whole)


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
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def as_cell(value: Any) -> Any:
    """A plain value as text for CSV: lists as in JSON, true and false as in SQL."""
    return json.dumps(value) if isinstance(value, list | dict | bool) else value


def print_built(table: Table, lines: Iterable[str], form: str) -> None:
    """Print what was built: the folder and `lines` for people, or one row with the statistics of the manifest."""
    if form == "table":
        click.echo("\n".join([str(table.folder), *lines]))
        return
    manifest = table.manifest
    names = {"dataset": manifest.dataset, "variant": manifest.variant, "version": manifest.version}
    figures = {name: value for name, value in manifest.statistics.items() if name.isidentifier()}  # no reasons of lines
    write_rows([{**names, "rows": manifest.rows, **figures}], form)
