"""Progress reports for long work. By default they are ignored; the command line draws bars."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bgdata.process import when_cut_off

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID


class Progress:
    """Receives reports about long work, which is done in stages: the label of each stage, its number of units, and how
    many units are done. This class ignores the reports."""

    def start(self, label: str, total: int, unit: str) -> None:
        """Begin a stage with `total` units. `unit` is the name of the units, such as `games`."""

    def advance(self, count: int) -> None:
        """Count `count` more units of the current stage as done."""

    def tell(self, text: str) -> None:
        """Receive an interim result of the current stage, such as an estimate with its standard error."""

    def note(self, text: str) -> None:
        """Receive a message, for example that a build waits, resumes, or had already finished."""


class Silence(Progress):
    """Ignores all reports: for callers that want no progress."""


class TerminalBars(Progress):
    """Shows each stage as a bar in the terminal, with its rate and the time left."""

    def __init__(self, bars: Bars, *, notes: bool = True) -> None:
        self._bars, self._has_notes = bars, notes
        self._task: TaskID | None = None
        self._notes: set[str] = set()

    def start(self, label: str, total: int, unit: str) -> None:
        """Replace the bar with a bar for the next stage."""
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(label, total=total, unit=unit, known="")

    def advance(self, count: int) -> None:
        """Move the bar by `count` units."""
        if self._task is not None:
            self._bars.advance(self._task, count)

    def tell(self, text: str) -> None:
        """Show an interim result beside the label."""
        if self._task is not None:
            self._bars.update(self._task, known=text)

    def note(self, text: str) -> None:
        """Print a message above the bar. Each message is printed only once, since one table may be the input of many
        versions."""
        if text in self._notes or not self._has_notes:
            return
        self._notes.add(text)
        self._bars.console.print(text, highlight=False, markup=False)


@contextmanager
def progress_bars(*, notes: bool = True) -> Iterator[Progress]:
    """Show progress on standard error while the `with` block runs: bars, and messages above them unless `notes` is
    false. If standard error is not a terminal, only the messages are shown."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars
    from rich.text import Text

    class Rate(ProgressColumn):
        """The column of a bar that shows the number of units per second."""

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
