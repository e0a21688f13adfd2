"""Who hears how far long work has come. The default hears nothing; the command line draws bars."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told of each stage of work: a label, how many units there are, and each step done."""

    def start(self, label: str, total: int, unit: str) -> None:
        """A stage begins."""

    def advance(self, count: int) -> None:
        """`count` more units of the current stage are done."""

    def tell(self, text: str) -> None:
        """What is known so far of what the current stage computes, such as an estimate and its error."""

    def note(self, text: str) -> None:
        """Something worth a line: waiting for another build, resuming, already built."""


class Silence:
    """Progress that nobody watches."""

    def start(self, label: str, total: int, unit: str) -> None:
        """Ignored."""

    def advance(self, count: int) -> None:
        """Ignored."""

    def tell(self, text: str) -> None:
        """Ignored."""

    def note(self, text: str) -> None:
        """Ignored."""
