"""Reports of the progress of long work. By default they are ignored; the command line draws bars."""

from __future__ import annotations


class Progress:
    """Receives the progress of each stage of work: its label, its number of units, and each step done. This one ignores
    it."""

    def start(self, label: str, total: int, unit: str) -> None:
        """A stage begins: its label, its number of units, and what a unit is."""

    def advance(self, count: int) -> None:
        """`count` more units of the current stage are done."""

    def tell(self, text: str) -> None:
        """An interim result of the current stage, such as an estimate with its error."""

    def note(self, text: str) -> None:
        """A message: waiting for another build, resuming, already built."""


class Silence(Progress):
    """Progress that ignores all reports."""
