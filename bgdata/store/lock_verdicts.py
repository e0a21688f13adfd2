"""Whether a warehouse holds what its lock lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bgdata.store.lockfile import LockEntry, load_lock
from bgdata.store.versions import Versions

SAME, MISSING = "same", "not built"


class Verdict(NamedTuple):
    """A locked variant, and in words how its current version compares with the lock."""

    entry: LockEntry
    text: str
    is_right: bool  # whether the digests are equal, or nothing is built that only `bgdata build --all` builds

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
    return [verdict_on(versions, entry) for entry in load_lock(versions.lock)]


def verdict_on(versions: Versions, entry: LockEntry) -> Verdict:
    """Whether the current version of a locked variant is the locked one. Raises what `Versions.open` raises."""
    built = list(versions.versions(entry.dataset, entry.variant))
    if not built:
        if is_more(versions, entry):
            return Verdict(entry, f"{MISSING}; try: bgdata build {entry.dataset}", is_right=True)
        return Verdict(entry, MISSING, is_right=False)
    current = versions.open(entry.dataset, entry.variant)
    if current.manifest.digest == entry.digest:
        return Verdict(entry, SAME, is_right=True)
    locked = [table for table in built if table.folder.name.endswith(entry.digest[:8])]
    step = f"; try: bgdata use {locked[0].name}" if locked else ""
    return Verdict(entry, f"DIFFERS: current is {current.manifest.digest[:16]}{step}", is_right=False)


def is_more(versions: Versions, entry: LockEntry) -> bool:
    """Whether only `bgdata build --all` builds a locked variant."""
    kind = versions.kind(entry.dataset)
    return entry.variant in map(kind.slug, kind.more)


def left_out(versions: Versions, kind: str | None = None) -> list[str]:
    """KIND/VARIANT of all that `bgdata build --all` would build and `bgdata build` does not (of one kind, or of all),
    as far as it is not there."""
    kinds = versions.kinds.values() if kind is None else [versions.kind(kind)]
    slugs = [(each.name, each.slug(parameters)) for each in kinds for parameters in each.more]
    return ["/".join(title) for title in slugs if next(versions.versions(*title), None) is None]


def advice(missing: Sequence[str]) -> str:
    """A line that names what `left_out` found, and the command that builds it."""
    return f"not built: {', '.join(missing)}; try: bgdata build --all"
