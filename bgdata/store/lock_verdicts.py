"""Whether a warehouse holds what its lock lists."""

from __future__ import annotations

from typing import NamedTuple

from bgdata.store.lockfile import LockEntry, load_lock
from bgdata.store.versions import Versions

SAME = "same"


class Verdict(NamedTuple):
    """A locked variant, and in words how its current version compares with the lock."""

    entry: LockEntry
    text: str

    @property
    def is_same(self) -> bool:
        """Whether the digests are equal."""
        return self.text == SAME

    def __str__(self) -> str:
        return f"{self.entry.dataset}/{self.entry.variant}: locked {self.entry.digest[:16]}, {self.text}"


def lock_verdicts(versions: Versions) -> list[Verdict]:
    """A verdict on each locked variant, in the order of the lock. Raises MissingWarehouseError, what `load_lock`
    raises, and ManifestFormatError for a damaged manifest."""
    versions.require()
    return [Verdict(entry, verdict_on(versions, entry)) for entry in load_lock(versions.lock)]


def verdict_on(versions: Versions, entry: LockEntry) -> str:
    """Whether the current version of a locked variant is the locked one, in words. Raises what `Versions.open`
    raises."""
    built = list(versions.versions(entry.dataset, entry.variant))
    if not built:
        return "not built"
    current = versions.open(entry.dataset, entry.variant)
    if current.manifest.digest == entry.digest:
        return SAME
    locked = [table for table in built if table.folder.name.endswith(entry.digest[:8])]
    step = f"; try: bgdata use {locked[0].name}" if locked else ""
    return f"DIFFERS: current is {current.manifest.digest[:16]}{step}"
