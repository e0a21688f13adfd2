"""Whether a warehouse holds what its lock lists."""

from __future__ import annotations

from typing import NamedTuple

from bgdata.store.lockfile import LockEntry, load_lock
from bgdata.store.warehouse import Warehouse

SAME = "same"


class Verdict(NamedTuple):
    """A locked variant, and in words whether its current version is the locked one."""

    entry: LockEntry
    text: str

    @property
    def is_same(self) -> bool:
        """Whether the digests are equal."""
        return self.text == SAME

    def __str__(self) -> str:
        return f"{self.entry.dataset}/{self.entry.variant}: locked {self.entry.digest[:16]}, {self.text}"


def lock_verdicts(warehouse: Warehouse) -> list[Verdict]:
    """A verdict on each locked variant, in the order of the lock. Raises MissingWarehouseError, what `load_lock`
    raises, and whatever is wrong with a manifest."""
    warehouse.require()
    return [Verdict(entry, verdict_on(warehouse, entry)) for entry in load_lock(warehouse.lock)]


def verdict_on(warehouse: Warehouse, entry: LockEntry) -> str:
    """Whether the current version of a locked variant is the locked one, in words. Raises as Warehouse.open."""
    versions = list(warehouse.versions(entry.dataset, entry.variant))
    if not versions:
        return "not built"
    current = warehouse.open(entry.dataset, entry.variant)
    if current.manifest.digest == entry.digest:
        return SAME
    locked = [table for table in versions if table.folder.name.endswith(entry.digest[:8])]
    step = f"; try: bgdata use {locked[0].name}" if locked else ""
    return f"DIFFERS: current is {current.manifest.digest[:16]}{step}"
