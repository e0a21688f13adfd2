"""Lists, what was built, and progress on a terminal."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from bgdata.commands.rows import Row, write_rows
from bgdata.errors import BgdataError
from bgdata.process import when_cut_off
from bgdata.store.dataset import Dataset
from bgdata.store.parameters import Parameters
from bgdata.store.progress import Progress
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

LARGE_BYTES = 4_000_000_000  # a build of more disk or memory than this is asked about


def print_kinds(warehouse: Warehouse, form: str = "table") -> None:
    """One line for each kind, and one for each of its versions; a `*` marks the current one of a variant."""
    if form != "table":
        write_rows(listed_rows(warehouse), form)
    for name, kind in warehouse.kinds.items() if form == "table" else ():
        defaults = ", ".join(kind.slug(parameters) for parameters in kind.defaults)
        click.echo(f"{name}  [{defaults}]\n    {kind.summary}")
        for row in version_rows(warehouse, name):
            if row["damage"]:
                click.echo(f"    {name}/{row['variant']}/{row['version']} is damaged: {row['damage']}")
                continue
            mark = "*" if row["is_current"] else " "
            title = f"{row['variant']:<8} {row['version']}"
            click.echo(f"  {mark} {title}  {row['rows']:>12,} rows  {row['bytes'] / 1e6:>8,.1f} MB")
    if not warehouse.root.is_dir():
        click.echo(f"no warehouse in {warehouse.root} yet; try: bgdata build", err=True)


def listed_rows(warehouse: Warehouse) -> Iterator[Row]:
    """A row for each version, and for each kind that has none."""
    for name, kind in warehouse.kinds.items():
        kept = list(version_rows(warehouse, name))
        for row in kept or [{}]:
            empty = dict.fromkeys(("variant", "version", "is_current", "rows", "bytes", "damage"))
            yield {"dataset": name, "summary": kind.summary, **empty, **row}


def version_rows(warehouse: Warehouse, name: str) -> Iterator[dict[str, Any]]:
    """The versions of a kind: how large each is, or what is wrong with it."""
    for table in warehouse.versions(name):
        variant, version = table.folder.parts[-2:]
        row = {"variant": variant, "version": version, "is_current": is_current(warehouse, table)}
        try:
            table.check_sizes()
            size = sum(entry.bytes for entry in table.manifest.files)
            yield row | {"rows": table.manifest.rows, "bytes": size, "damage": None}
        except BgdataError as error:
            yield row | {"rows": None, "bytes": None, "damage": str(error)}


def print_built(table: Table, lines: Iterable[str], form: str) -> None:
    """What was built: its folder and lines for people, or a row with the figures of its manifest."""
    if form == "table":
        click.echo("\n".join([str(table.folder), *lines]))
        return
    manifest = table.manifest
    names = {"dataset": manifest.dataset, "variant": manifest.variant, "version": manifest.version}
    figures = {name: value for name, value in manifest.statistics.items() if name.isidentifier()}  # no reasons of lines
    write_rows([{**names, "rows": manifest.rows, **figures}], form)


def is_current(warehouse: Warehouse, table: Table) -> bool:
    """Whether a version answers for its variant; nothing does where `current` is damaged."""
    try:
        return warehouse.open(*table.folder.parts[-3:-1]).folder == table.folder
    except BgdataError:
        return False


def confirm_large(warehouse: Warehouse, kind: Dataset[Any], parameters: Parameters, *, yes: bool) -> None:
    """Show what a large build needs, and ask before it starts; builds that cannot fit are refused by the build."""
    from bgdata.store.build import estimate_text

    estimate = kind.estimate(parameters)
    if max(estimate.building_bytes, estimate.memory_bytes) < LARGE_BYTES or warehouse.find(kind, parameters):
        return
    click.echo(f"{kind.name}/{kind.slug(parameters)}: {estimate_text(estimate)}", err=True)
    if not yes and sys.stdin.isatty():
        click.confirm("build it?", abort=True, err=True)


class TerminalBars:
    """Progress as bars with a rate and the time left."""

    def __init__(self, bars: Bars, *, notes: bool = True) -> None:
        self._bars, self._has_notes = bars, notes
        self._task: TaskID | None = None
        self._notes: set[str] = set()

    def start(self, label: str, total: int, unit: str) -> None:
        """Replace the bar by that of the next stage."""
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(label, total=total, unit=unit, known="")

    def advance(self, count: int) -> None:
        """Move the bar on."""
        if self._task is not None:
            self._bars.advance(self._task, count)

    def tell(self, text: str) -> None:
        """Show what is known so far beside the label."""
        if self._task is not None:
            self._bars.update(self._task, known=text)

    def note(self, text: str) -> None:
        """Print a line above the bar, once: a table may be the input of many."""
        if text in self._notes or not self._has_notes:
            return
        self._notes.add(text)
        self._bars.console.print(text, highlight=False, markup=False)


@contextmanager
def progress_bars(*, notes: bool = True) -> Iterator[Progress]:
    """Bars on standard error while the block runs, and `notes`; without a terminal only these."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars
    from rich.text import Text

    class Rate(ProgressColumn):
        """Units a second."""

        def render(self, task: Any) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.0f} {task.fields['unit']}/s" if speed else "")

    class Lines(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    console = Lines(stderr=True, soft_wrap=True)
    ends = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn()
    columns = (*ends, TextColumn("{task.fields[known]}", markup=False))
    bars = Bars(*columns, console=console, transient=True, disable=not console.is_terminal)
    with bars, when_cut_off(bars.stop):
        yield TerminalBars(bars, notes=notes)
