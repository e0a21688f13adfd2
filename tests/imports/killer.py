"""Builds that are killed on purpose."""

from __future__ import annotations

from bgdata.store.progress import Silence


class Killer(Silence):
    """Stops a build when an epoch has been reported after `epochs` others, and keeps what is said."""

    def __init__(self, epochs: int) -> None:
        self.left, self.notes = epochs, list[str]()

    def note(self, text: str) -> None:
        self.notes.append(text)
        if text.startswith("epoch"):
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1


class ReportKiller(Silence):
    """Stops a build when it reports progress for the time given, and keeps what is said."""

    def __init__(self, reports: int) -> None:
        self.left, self.notes = reports, list[str]()

    def advance(self, count: int) -> None:  # noqa: ARG002
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt

    def note(self, text: str) -> None:
        self.notes.append(text)
