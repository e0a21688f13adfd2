"""What commands share that build and print: one body for building a version, rows as text, CSV and JSON."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable
from typing import Any

import click

from bgdata.evaluation.rows import left_out
from bgdata.game.match_state import MatchState
from bgdata.rows import Row, as_cell, whole_rows
from bgdata.store.dataset import Dataset
from bgdata.store.parameters import Parameters
from bgdata.store.progress import progress_bars
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse


def build_version(
    warehouse: Warehouse, kind: Dataset[Any], parameters: Parameters, *, executor: str = "local", force: bool = False
) -> Table:
    """Build a version, or find it, with bars of its progress. Raises what `Warehouse.build` and `open_executor` do."""
    from bgdata.store.executors import open_executor

    with open_executor(executor) as workers, progress_bars() as progress:
        return warehouse.build(kind.name, parameters, progress=progress, force=force, executor=workers)


def show_rows(rows: Iterable[Row], form: str, lines: Iterable[str]) -> None:
    """Print `lines` for people if the form is `table`, else the rows as `csv` or `json`; see `write_rows`."""
    if form == "table":
        click.echo("\n".join(lines))
    else:
        write_rows(rows, form)


def write_rows(rows: Iterable[Row], form: str) -> None:
    """Print rows as `csv`, or as `json`: one array with an object for each row. The columns are those of all rows
    together; missing values, and NaN, are empty or null."""
    whole = whole_rows(rows)
    if form == "json":
        click.echo(json.dumps(whole, allow_nan=False))
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(whole[0] if whole else [])
    writer.writerows([as_cell(value) for value in row.values()] for row in whole)


def print_built(table: Table, lines: Iterable[str], form: str) -> None:
    """Print what was built: the folder and `lines` for people, or one row with the statistics of the manifest."""
    if form == "table":
        click.echo("\n".join([str(table.folder), *lines]))
        return
    manifest = table.manifest
    names = {"dataset": manifest.dataset, "variant": manifest.variant, "version": manifest.version}
    statistics = {name.replace("-", "_"): value for name, value in manifest.statistics.items()}
    figures = {name: value for name, value in statistics.items() if name.isidentifier()}  # no reasons of lines
    write_rows([{**names, "rows": manifest.rows, **figures}], form)


def say_left_out(match: MatchState | None, *used: str, step: str = "") -> None:
    """Say on standard error what an identifier says of the game and the answer has no use for, with a next `step`; see
    `evaluation.rows.left_out`."""
    if words := left_out(match, *used):
        click.echo(words + step, err=True)
