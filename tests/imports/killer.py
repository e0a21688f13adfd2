"""Progress listeners that kill a build."""

from __future__ import annotations

from bgdata.store.progress import Silence


class Killer(Silence):
    """Kills a build at the epoch report after `epochs` others; records the notes."""

    def __init__(self, epochs: int) -> None:
        self.left = epochs
        self.notes = list[str]()

    def note(self, text: str) -> None:
        self.notes.append(text)
        if text.startswith("epoch"):
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1


class ReportKiller(Silence):
    """Kills a build at its progress report number `reports`; records the notes."""

    def __init__(self, reports: int) -> None:
        self.left = reports
        self.notes = list[str]()

    def advance(self, count: int) -> None:  # noqa: ARG002
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt

    def note(self, text: str) -> None:
        self.notes.append(text)
