"""Builds versions, and prints rows as text, CSV and JSON, and pages in HTML. A page is one file without scripts and
other resources; its colours follow the reader's choice of light or dark mode."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

import click

from bgdata.evaluation.rows import unused_parts
from bgdata.game.match_state import MatchState
from bgdata.rows import Row, csv_value, whole_rows
from bgdata.store.dataset import Dataset
from bgdata.store.parameters import Parameters
from bgdata.store.progress import progress_bars
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1d2129; --soft: #5b6270; --rule: #d9dde5;
  --first: #6b7a99; --second: #1d7f8c; --mark: #b8382b; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171c; --ink: #e6e8ec; --soft: #a0a7b4; --rule: #363c47;
    --first: #a9b5cc; --second: #4fc3d0; --mark: #ef7a6d; } }
body { background: var(--paper); color: var(--ink); font: 16px/1.5 sans-serif; max-width: 82rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1rem; }
.chart { width: 100%; height: auto; stroke-linejoin: round; stroke-linecap: butt; }
.charts svg { max-width: 100%; height: auto; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.15rem 0.8rem 0.15rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--rule); }
td.number, th.number { text-align: right; white-space: nowrap; }
td, code { overflow-wrap: anywhere; } .soft { color: var(--soft); }
pre { overflow-x: auto; padding: 0.6rem; border: 1px solid var(--rule); }
""".strip()


def build_version(warehouse: Warehouse, kind: Dataset[Any], parameters: Parameters, *, force: bool = False) -> Table:
    """Build a version, or return the existing one, with progress bars. Raises the same exceptions as
    `Warehouse.build`."""
    with progress_bars() as progress:
        return warehouse.build(kind.name, parameters, progress=progress, force=force)


def show_rows(rows: Iterable[Row], form: str, lines: Iterable[str]) -> None:
    """Print a result as the user asked for it. If `form` is `table`, prints `lines`; else prints the rows as `csv` or
    `json`, by `write_rows`."""
    if form == "table":
        click.echo("\n".join(lines))
    else:
        write_rows(rows, form)


def write_rows(rows: Iterable[Row], form: str) -> None:
    """Print rows as `csv`, or as `json`, an array of objects. There is a column for every name that occurs in a row.
    Missing values and NaN are empty in CSV and null in JSON."""
    whole = whole_rows(rows)
    if form == "json":
        click.echo(json.dumps(whole, allow_nan=False))
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(whole[0] if whole else [])
    writer.writerows([csv_value(value) for value in row.values()] for row in whole)


def print_built(table: Table, lines: Iterable[str], form: str) -> None:
    """Print what was built, as the user asked for it: the folder of the version and `lines`, or a row with the
    statistics in its manifest."""
    if form == "table":
        click.echo("\n".join([str(table.folder), *lines]))
        return
    manifest = table.manifest
    names = {"dataset": manifest.dataset, "variant": manifest.variant, "version": manifest.version}
    statistics = {name.replace("-", "_"): value for name, value in manifest.statistics.items()}
    figures = {name: value for name, value in statistics.items() if name.isidentifier()}  # no reasons of quarantine
    write_rows([{**names, "rows": manifest.rows, **figures}], form)


def print_left_out(match: MatchState | None, *used: str, step: str = "") -> None:
    """Tell the user, on standard error, which parts of the given identifier (such as a score) a command did not use,
    and what to do about this (`step`). `used` are the parts that the command used. See
    `evaluation.rows.unused_parts`."""
    if words := unused_parts(match, *used):
        click.echo(words + step, err=True)


def page_head(title: str) -> Iterator[str]:
    """Yield the first lines of an HTML page, up to its heading."""
    yield "<!DOCTYPE html>"
    yield '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    yield f"<title>{escape(title)}</title>"
    yield f"<style>\n{STYLE}\n</style></head><body>"
    yield f"<h1>{escape(title)}</h1>"


def section(title: str, rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the HTML of a heading and a table; the first row has the headings of the columns."""
    yield f"<h2>{escape(title)}</h2>"
    yield from grid(list(rows))


def grid(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the HTML of a table; the first row has the headings of the columns. Empty if there are no other rows."""
    head, *others = rows
    yield '<div class="wide"><table>'
    if any(head):
        yield "<thead><tr>" + "".join(f'<th scope="col">{escape(text)}</th>' for text in head) + "</tr></thead>"
    yield "<tbody>"
    for row in others:
        first, *rest = row
        cells = (f"<td{' class=number' * _is_number(text)}>{escape(text)}</td>" for text in rest)
        yield f'<tr><th scope="row">{escape(first)}</th>{"".join(cells)}</tr>'
    yield "</tbody></table></div>"


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return True


def ask(prompt: str) -> str:
    """Ask the user a question, and return the answer; `quit` if the input has ended."""
    if sys.stdin.isatty():
        try:
            return input(prompt)
        except EOFError:
            click.echo()
            return "quit"
    answer = sys.stdin.readline()
    click.echo(prompt + (answer.rstrip("\n") if answer else "quit"))
    return answer or "quit"
