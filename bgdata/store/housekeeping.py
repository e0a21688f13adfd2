"""Finds what depends on a version, deletes versions, and finds and deletes unneeded files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bgdata.errors import BgdataError, VersionInUseError
from bgdata.store.linked import discard, drop_variant, is_removable, move_aside
from bgdata.store.lockfile import FILE_NAME as LOCK_NAME
from bgdata.store.lockfile import read_lock
from bgdata.store.names import CURRENT
from bgdata.store.storage import is_locked, is_shortage, storage_errors
from bgdata.store.table import Table
from bgdata.store.versions import DELETING, VERSION, Versions, deleting, newest

DAMAGED = "damaged-"  # prefix of versions that a repair moved to the staging folder
MAX_NAMED = 10  # greatest number of names in a message
STAGED = re.compile(r"(.+?)(-[0-9a-f]{12}-[0-9a-f]{12}|\.published|\.lock)?")  # title of a build, and ending


class Rubbish(NamedTuple):
    """A path that `sweep` may delete, of a version or of an entry of the staging folder, with the reason and its size
    in bytes."""

    path: Path
    reason: str
    bytes: int


def needed_by(warehouse: Versions, table: Table) -> list[str]:
    """Return the names of everything that needs a version: the versions that were made from it, and `warehouse.lock` if
    it lists the version's digest. Raises ManifestFormatError if the lock is damaged."""
    wanted = _identities(table)
    return [who for who, needs in _all_needs(warehouse).items() if needs & wanted and who != table.name]


def _all_needs(warehouse: Versions) -> dict[str, set[str]]:
    """Return what each readable version and the lock need, by name: a set with `kind/variant@digest` of each input, and
    `rN-digest8` of each version that the parameters name. Raises ManifestFormatError if the lock is damaged."""
    found: dict[str, set[str]] = {}
    for table in warehouse.versions():
        try:
            named = re.findall(VERSION.pattern, json.dumps(table.manifest.parameters))
            found[table.name] = {*table.manifest.inputs.values(), *named}
        except BgdataError as error:
            if is_shortage(error):  # the inputs of the version are unknown
                raise
            continue
    if warehouse.lock.exists():
        entries = read_lock(warehouse.lock)
        found[LOCK_NAME] = {f"{entry.dataset}/{entry.variant}@{entry.digest}" for entry in entries}
    return found


def _identities(table: Table) -> set[str]:
    """Return the names by which other versions may refer to a version. For a damaged version, this is only the name of
    its folder."""
    kind, variant, version = table.folder.parts[-3:]
    try:
        return {version, f"{kind}/{variant}@{table.manifest.digest}"}
    except BgdataError:
        return {version}


def remove(warehouse: Versions, table: Table) -> Table | None:
    """Delete a version. If it was the current one of its variant, the newest of the other versions becomes current.
    Returns the variant's current version, or None if no version is left. Raises VersionInUseError if another version or
    the lock needs it, if a running build may need it, or if its folder is behind a link that this warehouse did not
    make."""
    with no_builds(warehouse):
        check_removable(warehouse, table)
        delete_version(warehouse, table)
    rest = list(warehouse.versions(*table.folder.parts[-3:-1]))
    return warehouse.open(*table.folder.parts[-3:-1]) if rest else None


def check_removable(warehouse: Versions, table: Table) -> None:
    """Raise VersionInUseError if another version or the lock needs a version, or if it belongs to another warehouse."""
    if not is_removable(warehouse, table):
        raise VersionInUseError(
            f"expected a version that this warehouse put where it is, got {table.name}, to which a link leads; "
            f"delete the link, or the version in the warehouse of {table.folder.resolve()}"
        )
    if who := needed_by(warehouse, table):
        named = ", ".join(who[:MAX_NAMED]) + (f" and {len(who) - MAX_NAMED} more" if len(who) > MAX_NAMED else "")
        raise VersionInUseError(f"expected a version that nothing depends on, got {table.name}, needed by {named}")


def delete_version(warehouse: Versions, table: Table) -> None:
    """Delete a version without checks. Its folder is first renamed as a whole, so that readers never see half of it."""
    kind, variant, version = table.folder.parts[-3:]
    rest = [other for other in warehouse.versions(kind, variant) if other.folder != table.folder]
    with storage_errors("delete", table.folder):
        if rest and is_current(warehouse, table):
            warehouse.use(newest(rest))
        if not rest:  # otherwise the file would name a missing version after a kill
            (table.folder.parent / CURRENT).unlink(missing_ok=True)
        discard(warehouse, move_aside(warehouse, table.folder, f"removed-{kind}-{variant}-{version}"))
        if not rest:
            drop_variant(warehouse, table.folder.parent)


def is_current(warehouse: Versions, table: Table) -> bool:
    """Whether a version is the current one of its variant. If the file `current` is damaged, the answer is yes for
    every version of the variant, because it may have named any of them."""
    try:
        return warehouse.open(*table.folder.parts[-3:-1]).folder == table.folder
    except BgdataError:
        return True


def rubbish(warehouse: Versions, *, damaged: bool = False) -> list[Rubbish]:
    """Return the paths that `sweep` may delete: staging folders that no process has locked, and undamaged versions that
    are neither current nor in the lock, nor needed by a version that is. Behind links, only versions that this
    warehouse put there are listed. If `damaged` is true, damaged versions that a repair has moved to the staging folder
    are listed too. Raises ManifestFormatError if the lock is damaged."""
    unheld = [path for path in _staged_paths(warehouse) if path.suffix != ".lock" and not _is_held(path)]
    aside = [path for path in unheld if path.name.startswith(DAMAGED)]
    found = [Rubbish(path, "no process holds it", size(path)) for path in unheld if path not in aside]
    found += [Rubbish(path, "a repair has set it aside", size(path)) for path in aside if damaged]
    kept = _kept_versions(warehouse)
    unneeded = [table for table in warehouse.versions() if table.name not in kept and is_removable(warehouse, table)]
    return found + [Rubbish(table.folder, "nothing needs it", size(table.folder)) for table in unneeded]


def _staged_paths(warehouse: Versions) -> list[Path]:
    """Return the entries of the staging folder, sorted. If that folder is a link, there are none, because the link
    might lead anywhere."""
    return [] if warehouse.staging.is_symlink() else sorted(warehouse.staging.glob("*"))


def _kept_versions(warehouse: Versions) -> set[str]:
    """The names of the versions that are current, in the lock, or damaged, and of all their inputs."""
    needs = _all_needs(warehouse)
    kept: set[str] = set()
    names: dict[str, set[str]] = {}  # versions by the names that others use: equal values have equal names
    for table in warehouse.versions():
        for identity in _identities(table):
            names.setdefault(identity, set()).add(table.name)
        try:
            table.check_sizes()  # hashing would take long
            if is_current(warehouse, table):
                kept.add(table.name)
        except BgdataError:
            kept.add(table.name)
    waiting = [LOCK_NAME, *kept]
    while waiting:
        needed = {name for each in needs.get(waiting.pop(), ()) for name in names.get(each, ())} - kept
        waiting += needed
        kept |= needed
    return kept


def sweep(warehouse: Versions, what: list[Rubbish]) -> list[Rubbish]:
    """Delete the paths of `what` that `rubbish` still lists, and return them. Raises VersionInUseError if a running
    build may need one of them, and StorageError if a path cannot be deleted."""
    with no_builds(warehouse):
        still = {entry.path for entry in rubbish(warehouse, damaged=True)}
        swept = [entry for entry in what if entry.path in still]
        for entry in swept:
            if not entry.path.is_relative_to(warehouse.staging):
                delete_version(warehouse, Table(entry.path))
                continue
            with storage_errors("delete", entry.path):
                discard(warehouse, entry.path)
        for path in _staged_paths(warehouse):
            if path.suffix == ".lock":
                is_locked(path, remove=True)
    return swept


@contextmanager
def no_builds(warehouse: Versions) -> Iterator[None]:
    """Inside the `with` block, in which versions are deleted, keep builds from starting: they wait, and look for their
    inputs afterwards. Raises VersionInUseError if a build is already running, because it may need a version that is
    deleted."""
    with deleting(warehouse):
        locks = [path for path in _staged_paths(warehouse) if path.suffix == ".lock"]
        held = [lock.stem for lock in locks if lock.stem not in ("catalog", DELETING) and _is_held(lock)]
        if held:
            raise VersionInUseError(
                f"expected no running build in {warehouse.root}, found {', '.join(held)}; try again then"
            )
        yield


def _is_held(path: Path) -> bool:
    """Whether a running process has locked an entry of the staging folder."""
    match = STAGED.fullmatch(path.name)
    return is_locked(path.with_name(f"{match[1] if match else path.name}.lock"))


def size(path: Path) -> int:
    """The number of bytes of a file, or of all files below a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.lstat().st_size for file in files if not file.is_dir())
