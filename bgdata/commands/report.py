"""Lists, explanations and progress on a terminal."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from bgdata.errors import BgdataError
from bgdata.process import when_cut_off
from bgdata.store.checks import sql_checks
from bgdata.store.dataset import Dataset, Input, Parameters
from bgdata.store.progress import Progress
from bgdata.store.table import Table
from bgdata.store.warehouse import Warehouse

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

LARGE_BYTES = 4_000_000_000  # a build of more disk or memory than this is asked about


def print_kinds(warehouse: Warehouse) -> None:
    """One line for each kind, and one for each of its versions; a `*` marks the current one of a variant."""
    for name, kind in warehouse.kinds.items():
        defaults = ", ".join(kind.slug(parameters) for parameters in kind.defaults)
        click.echo(f"{name}  [{defaults}]\n    {kind.summary}")
        for table in warehouse.versions(name):
            try:
                table.check_sizes()
                manifest = table.manifest
                size = sum(entry.bytes for entry in manifest.files)
                mark = "*" if is_current(warehouse, table) else " "
                title = f"{manifest.variant:<8} {manifest.version}"
                click.echo(f"  {mark} {title}  {manifest.rows:>12,} rows  {size / 1e6:>8,.1f} MB")
            except BgdataError as error:
                click.echo(f"    {table.name} is damaged: {error}")
    if not warehouse.root.is_dir():
        click.echo(f"\nno warehouse in {warehouse.root} yet; try: bgdata build")


def is_current(warehouse: Warehouse, table: Table) -> bool:
    """Whether a version answers for its variant; nothing does where `current` is damaged."""
    try:
        return warehouse.open(*table.folder.parts[-3:-1]).folder == table.folder
    except BgdataError:
        return False


def print_kind(kind: Dataset[Any], parameters: Parameters) -> None:
    """The declaration of a kind, and what a variant of it would need."""
    from bgdata.store.build import estimate_text

    kind.check_parameters(parameters)
    click.echo(f"{kind.name} (revision {kind.revision})\n{kind.summary}\n{kind.source}. Licence: {kind.licence}.\n")
    for shape in kind.tables:
        click.echo(f"columns of {shape.name} (variant, then)")
        for column in shape.columns:
            click.echo(f"  {column.name:<18} {column.type:<10} {column.comment}")
    click.echo("\nflat arrays")
    for array in kind.arrays:
        click.echo(f"  {array.name:<18} {array.dtype:<10} [{array.axes}] {array.meaning}")
    click.echo("\nparameters [defaults of the builds by `make build`]")
    for field in fields(kind.parameters):
        values = ", ".join(str(getattr(default, field.name)) for default in kind.defaults)
        click.echo(f"  --{field.name.replace('_', '-')} [{values}]")
    click.echo("\nSQL checks: each returns the rows that break the claim")
    for shape in kind.tables:
        for claim, _ in sql_checks(shape.name):
            click.echo(f"  {claim.replace('_', ' ')}")
    for role, wanted in kind.inputs(parameters).items():
        click.echo(f"\ninput {role}: {input_text(wanted)}")
    click.echo(f"\na build of {kind.slug(parameters)}: {estimate_text(kind.estimate(parameters))}")


def input_text(wanted: Input) -> str:
    """`KIND/VARIANT/VERSION`, or a kind with its parameters."""
    if isinstance(wanted, str):
        return wanted
    return f"{wanted[0]} with {', '.join(f'{key} {value}' for key, value in vars(wanted[1]).items())}"


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
