"""Describes versions for workers: by name, by the hash of the manifest, and by their folder. A worker uses the folder,
on the same machine or on a shared disk, if the manifest there is the same. It finds versions of the package in its own
installation, and fetches all others from the store between the machines, if there is one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from bgdata.errors import BgdataError, MissingTableError
from bgdata.process import cache_folder
from bgdata.store.manifest import FILE_NAME as MANIFEST
from bgdata.store.manifest import read_whole
from bgdata.store.storage import storage_errors
from bgdata.store.table import Table

Settings = Mapping[str, str | int]
WAREHOUSE, ROLES = "warehouse", "roles"  # settings: the folder of the warehouse, and the roles of versions
PACKAGE = Path(__file__).parents[1]


class NeededVersion(NamedTuple):
    """A version that a worker needs, described so that the worker can find it on its own machine."""

    name: str  # kind/variant/version
    folder: str  # its folder on the sending machine
    packaged: str  # its folder in the package; empty if it is not there
    manifest_sha256: str

    def is_in(self, folder: Path) -> bool:
        """Whether a folder contains this version, judged by the hash of its manifest."""
        try:
            return hashlib.sha256(read_whole(folder / MANIFEST)).hexdigest() == self.manifest_sha256
        except (BgdataError, OSError):
            return False

    def locate(self, store: str) -> Path:
        """Return the folder of the version on this machine. If the version is neither in the sender's folder nor in the
        package, it is fetched from the store at the address `store`. Raises MissingTableError if it cannot be found,
        and the errors of `exchange.fetch_version`."""
        for folder in (Path(self.folder), PACKAGE / self.packaged):
            if self.is_in(folder):
                return folder
        if not store or self.packaged:
            raise MissingTableError(
                f"expected {self.name} in {self.folder}, found no such version; try: install the same bgdata, or share "
                "that folder, or --through ADDRESS, a store that all machines reach"
            )
        from bgdata.store.exchange import fetch_version

        return fetch_version(store, self.name, self.manifest_sha256)

    def send_to(self, store: str) -> None:
        """Copy the version to the store at the address `store`, from where workers fetch it. Raises StorageError if the
        store cannot be written to."""
        from bgdata.store.exchange import send_version

        if not self.packaged:
            send_version(store, self.name, self.manifest_sha256, Path(self.folder))


@dataclass(frozen=True)
class WorkerInputs:
    """The versions that workers need: those that their function reads, by role, and versions of players that it opens
    by name from a warehouse."""

    versions: Mapping[str, NeededVersion] = field(default_factory=dict)
    players: tuple[NeededVersion, ...] = ()
    warehouse: str = ""
    store: str = ""  # address of a store between the machines

    def sent_to(self, store: str) -> WorkerInputs:
        """Copy all these versions to the store at the address `store`, and return the inputs with that address. Raises
        StorageError if the store cannot be written to."""
        for version in (*self.versions.values(), *self.players):
            version.send_to(store)
        return replace(self, store=store)


def worker_inputs(
    tables: Mapping[str, Table], players: Iterable[Table] = (), warehouse: Path | None = None
) -> WorkerInputs:
    """Describe the versions that workers need: `tables` by role, and `players`, which are in the warehouse in the
    folder `warehouse`. Raises FileNotFoundError if a version has no manifest."""
    versions = {role: _needed_version(table) for role, table in tables.items()}
    return WorkerInputs(versions, tuple(map(_needed_version, players)), str(warehouse.resolve()) if warehouse else "")


def _needed_version(table: Table) -> NeededVersion:
    manifest, folder = table.manifest, table.folder.resolve()
    name = f"{manifest.dataset}/{manifest.variant}/{manifest.version}"
    packaged = str(folder.relative_to(PACKAGE)) if folder.is_relative_to(PACKAGE) else ""
    return NeededVersion(name, str(folder), packaged, hashlib.sha256(read_whole(folder / MANIFEST)).hexdigest())


def locate_inputs(inputs: WorkerInputs, settings: Settings) -> Settings:
    """Find all inputs on this machine, and return the settings with the folder of each version, by role, and the folder
    of a warehouse with the players. Raises MissingTableError if a version cannot be found."""
    folders = {role: str(version.locate(inputs.store)) for role, version in inputs.versions.items()}
    players = {version: version.locate(inputs.store) for version in inputs.players}
    is_there = all(str(folder) == version.folder for version, folder in players.items())
    warehouse = inputs.warehouse if is_there else str(_view(players))
    return {**settings, **folders, ROLES: " ".join(folders), WAREHOUSE: warehouse}


def _view(players: Mapping[NeededVersion, Path]) -> Path:
    """Make a folder that looks like a warehouse with only these versions, by links to their folders, and return its
    path."""
    digest = hashlib.sha256(repr(sorted(players.items())).encode()).hexdigest()
    root = cache_folder() / "views" / digest[:16]
    for version, folder in players.items():
        link = root / version.name
        with storage_errors("write", link):
            link.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                link.symlink_to(folder)
    return root
