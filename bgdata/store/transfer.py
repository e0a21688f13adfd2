"""Copies versions between places. Only missing files are copied, several at once, and a version exists only when it is
complete.

A version is fetched into a staging folder, each file is checked against the hash in its manifest, and the folder is
renamed into place. Interrupted fetches resume. Stores of fsspec cannot rename: the manifest is written last, and a
version without a manifest does not exist yet. Meanwhile `.pushing.json` contains the hash of the sender's manifest. So
it is known to which manifest the files that were already sent belong, and two senders of equal values in different
bytes do not mix their files.

    {"manifest_sha256": "...", "time": 1764403200}
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent import futures
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

from bgdata.errors import (
    BgdataError,
    CorruptFileError,
    DigestMismatchError,
    ManifestFormatError,
    MissingFileError,
    MissingTableError,
    UsageError,
    VersionInUseError,
    cite,
)
from bgdata.process import is_stopping, keep, keeping
from bgdata.store import storage
from bgdata.store.job import tidy
from bgdata.store.linked import discard, folder_of_versions, require_own, stage
from bgdata.store.manifest import FILE_NAME as MANIFEST
from bgdata.store.manifest import MAX_BYTES, FileEntry, Manifest, canonical_json, parse_json, parse_manifest, read_whole
from bgdata.store.names import CURRENT, is_name, parse_scope
from bgdata.store.places import LEVELS, Advance, Entry, Folder, OpenPlace, Place, Store
from bgdata.store.progress import Progress
from bgdata.store.table import Table
from bgdata.store.versions import Versions, deleting, newest

INDEX = "index.json"  # list of versions at the root of a place, for servers that cannot list files
FORMAT = 1
PUSHING = ".pushing.json"
JOBS = 8  # default number of files that are copied at once
CLAIM_SECONDS = 3600  # age at which a claim to send a version expires
RENEW_SECONDS = 600


class Listed(NamedTuple):
    """A version in the listing of a place: its files, or None if the place cannot list files, and a tag of its
    manifest. The tag is the SHA-256 of the manifest if the version comes from `index.json`."""

    files: dict[str, Entry] | None
    tag: str


class Listing(NamedTuple):
    """The versions in a place, by name, and the current version of each variant, by `kind/variant`."""

    versions: dict[str, Listed]
    current: dict[str, str]


class Moved(NamedTuple):
    """The outcome of copying a version: whether it was copied, or existed already."""

    name: str
    is_moved: bool
    files: int  # number of files that were, or would be, copied
    bytes: int


def listing(place: Place) -> Listing:
    """List the versions in a place that have a manifest. Raises DownloadError if the place does not respond, and
    ManifestFormatError if its `index.json` is damaged."""
    if not isinstance(place, OpenPlace):
        return _read_index(place)
    found: dict[str, dict[str, Entry]] = {}
    pointers = []
    for name, entry in place.entries().items():
        parts = name.split("/")
        if len(parts) == 4 and all(map(is_name, LEVELS, parts)):
            found.setdefault("/".join(parts[:3]), {})[parts[3]] = entry
        elif len(parts) == 3 and parts[2] == CURRENT and all(map(is_name, LEVELS[:2], parts)):
            pointers.append("/".join(parts[:2]))
    versions = {
        name: Listed(files, f"{files[MANIFEST].size} {files[MANIFEST].tag}")
        for name, files in sorted(found.items())
        if MANIFEST in files
    }

    def pointer(title: str) -> str:
        with suppress(MissingFileError):  # the file was deleted meanwhile
            return place.part(f"{title}/{CURRENT}", 0, 100).data.decode(errors="replace").strip()
        return ""

    with futures.ThreadPoolExecutor(JOBS) as pool:
        named = dict(zip(pointers, pool.map(pointer, pointers), strict=True))
    return Listing(versions, {title: name for title, name in named.items() if is_name("version", name)})


def _read_index(place: Place) -> Listing:
    try:
        written = place.read(INDEX)
    except MissingFileError as error:
        raise MissingFileError(f"{error}; a place that lists no files needs it, and bgdata push writes it") from error
    try:
        data = parse_json(written)
        if data["format"] > FORMAT:
            raise ManifestFormatError(
                f"expected an index of format {FORMAT} in {place.where(INDEX)}, "
                f"found {cite(data['format'])}; upgrade bgdata"
            )
        versions, current = data["versions"], data["current"]
        for name, digest in versions.items():
            if not (_is_version(name) and is_name("digest", digest)):
                raise ValueError(f"{name}: {digest}")
        for title, version in current.items():
            if not _is_version(f"{title}/{version}"):
                raise ValueError(f"{title}: {version}")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ManifestFormatError(
            f"expected an index of versions in {place.where(INDEX)}, found: {cite(str(error))}"
        ) from error
    return Listing({name: Listed(None, digest) for name, digest in sorted(versions.items())}, dict(current))


def _is_version(name: object) -> bool:
    parts = name.split("/") if isinstance(name, str) else ()
    return len(parts) == 3 and all(map(is_name, LEVELS, parts))


def write_index(place: OpenPlace, anew: Iterable[str] = ()) -> None:
    """Write `index.json`, the list of the versions in a place. The hashes in the old list are used again, except for
    the versions in `anew`, whose manifests are read. If several processes write the list at once, the last list is
    complete, because each process checks again after writing. Raises StorageError if it cannot be written."""
    known, written = dict[str, str](), None
    with suppress(BgdataError):
        written = place.read(INDEX)
        known = {name: listed.tag for name, listed in _read_index(place).versions.items() if name not in set(anew)}
    while True:
        found = listing(place)
        for name in found.versions.keys() - known.keys():
            known[name] = hashlib.sha256(place.read(f"{name}/{MANIFEST}")).hexdigest()
        versions = {name: known[name] for name in found.versions}
        data = canonical_json({"format": FORMAT, "versions": versions, "current": found.current}, indent=2)
        if data == written:
            return
        place.write(INDEX, data)
        written = data


def in_scopes(names: Collection[str], scopes: Sequence[str], where: str) -> list[str]:
    """Select the `names`, KIND/VARIANT/VERSION, that are in the scopes, which are KIND, KIND/VARIANT or
    KIND/VARIANT/VERSION. All names are returned if there are no scopes. Errors call the place `where`. Raises
    InvalidNameError if a scope has another form, and MissingTableError if no version is in it."""
    chosen = set()
    for scope in scopes:
        wanted = [part for part in parse_scope(scope) if part is not None]
        found = {name for name in names if name.split("/")[: len(wanted)] == wanted}
        if not found:
            kinds = ", ".join(sorted({name.partition("/")[0] for name in names})[:8]) or "nothing"
            raise MissingTableError(f"no {scope} in {where} (have: {kinds}); try: bgdata list")
        chosen |= found
    return sorted(chosen) if scopes else sorted(names)


def manifest_of(place: Place, name: str) -> tuple[bytes, Manifest]:
    """Read the manifest of the version `name` in a place, and return its bytes and the parsed manifest. Raises
    ManifestFormatError if it is invalid or belongs to another version."""
    where = place.where(f"{name}/{MANIFEST}")
    data = place.part(f"{name}/{MANIFEST}", 0, MAX_BYTES).data
    found = parse_manifest(data, where)
    other = f"{found.dataset}/{found.variant}/{found.version}"
    if other != name:
        raise ManifestFormatError(f"expected the manifest of {name} in {where}, found that of {other}")
    return data, found


def fetched_manifest(place: Place, name: str, listed: Listed) -> tuple[bytes, Manifest]:
    """Read the manifest of a version in a listing, and return its bytes and the parsed manifest. Raises the errors of
    `manifest_of`, and DigestMismatchError if its hash is not the one in `index.json`."""
    data, found = manifest_of(place, name)
    if listed.files is None and (has := hashlib.sha256(data).hexdigest()) != listed.tag:
        where = place.where(f"{name}/{MANIFEST}")
        raise DigestMismatchError(f"expected SHA-256 {listed.tag[:16]}... of {where}, found {has[:16]}...")
    return data, found


def fetch_file(place: Place, name: str, entry: FileEntry, folder: Path, advance: Advance) -> bool:
    """Download a file of the version `name` into a folder, unless it is there already, and check its hash. A partial
    download is resumed. Returns whether anything was downloaded. Raises DownloadError if the place does not respond,
    MissingFileError if it lacks the file, CorruptFileError if the file is too short, DigestMismatchError if it has
    another hash, and StorageError if it cannot be written."""
    target, partial = folder / entry.name, folder / f".{entry.name}.partial"
    with storage.storage_errors("write", target):
        if target.is_file() and target.stat().st_size == entry.bytes and storage.sha256_file(target) == entry.sha256:
            return False
        begun = partial.stat().st_size if partial.is_file() and not partial.is_symlink() else -1
        if begun > entry.bytes or begun < 0:
            partial.unlink(missing_ok=True)
        place.fetch(f"{name}/{entry.name}", partial, entry.bytes, advance)
        found = storage.sha256_file(partial)
        if found != entry.sha256:
            partial.unlink()
            if begun > 0:  # the beginning may be from an older file of the place
                return fetch_file(place, name, entry, folder, advance)
            raise DigestMismatchError(
                f"expected SHA-256 {entry.sha256[:16]}... of {place.where(name)}/{entry.name}, found {found[:16]}..."
            )
        storage.sync(partial)
        partial.replace(target)
    return True


class _Fetch:
    """A version that is to be copied into a warehouse, with the folder of its unfinished files."""

    def __init__(self, warehouse: Versions, place: Place, name: str, data: bytes, manifest: Manifest) -> None:
        self.warehouse, self.place, self.name, self.data, self.manifest = warehouse, place, name, data, manifest
        self.kind, self.variant, self.version = name.split("/")
        title = f"{self.kind}-{self.variant}"
        self.lock = warehouse.staging / f"{title}.lock"  # the lock of builds
        digest = hashlib.sha256(data).hexdigest()
        self.staged = warehouse.staging / f"{title}-{manifest.recipe_key[:12]}-{digest[:12]}"
        self.home = folder_of_versions(warehouse, f"{self.kind}/{self.variant}", ())
        is_inside = self.home == warehouse.root / self.kind / self.variant
        self.folder = self.staged if is_inside else self.home / f".{self.staged.name}"  # on the disk of the versions

    @property
    def files(self) -> list[FileEntry]:
        return self.manifest.files

    @property
    def bytes(self) -> int:
        """The number of bytes that are still to be downloaded."""
        return sum(entry.bytes for entry in self.files if not (self.folder / entry.name).is_file())

    def prepare(self) -> None:
        """Create the folder of unfinished files, or delete from an existing one all files that are not of this
        version."""
        with storage.storage_errors("create", self.folder):
            if self.folder != self.staged:
                stage(self.warehouse, self.staged, self.folder)
            elif self.staged.is_symlink():
                discard(self.warehouse, self.staged)
            storage.make_folder(self.folder)
            tidy(self.folder)
            names = {entry.name for entry in self.files}
            for path in self.folder.iterdir():
                if path.name.removeprefix(".").removesuffix(".partial") not in names:
                    path.unlink()

    def finish(self) -> None:
        """Write the manifest, and rename the folder to its final path."""
        storage.write_file(self.folder / MANIFEST, self.data)
        storage.publish(self.folder, self.home / self.version)
        with storage.storage_errors("delete", self.staged):
            discard(self.warehouse, self.staged)

    def renew(self) -> None:
        """Do nothing: unlike a claim in a store, the lock does not expire."""


class _Send:
    """A version that is to be copied to a store, with the claim that tells other processes about it."""

    def __init__(self, place: Store, table: Table) -> None:
        self.place, self.table, self.name = place, table, table.name
        self.data = read_whole(table.folder / MANIFEST)
        self.files = table.manifest.files
        self.bytes = sum(entry.bytes for entry in self.files)
        self.digest = hashlib.sha256(self.data).hexdigest()
        self.claim_name = f"{self.name}/{PUSHING}"

    def claim(self) -> bool:
        """Write a claim for this version to the store. Returns whether there already was a claim for the same manifest,
        so that the files that were already sent can be kept. Raises VersionInUseError if another process is sending the
        version with a different manifest."""
        if self.renew(is_new=True):
            return False
        digest, seconds = self.read_claim()
        age = time.time() - seconds
        if digest not in ("", self.digest) and age < CLAIM_SECONDS:
            minutes = max(0, age) / 60
            raise VersionInUseError(
                f"expected nobody else to push {self.name} to {self.place.address}, found that somebody does since "
                f"{minutes:.0f} minutes, with other files; try again when that is done, or after an hour"
            )
        self.renew()
        return digest == self.digest

    def check_claim(self, there: Collection[str]) -> bool:
        """Whether another process has finished sending this version; `there` are the names of its files in the store.
        Raises VersionInUseError if another process has sent, or is sending, different files."""
        name = f"{self.name}/{MANIFEST}"
        is_there = name in there
        claimed = self.read_claim()[0] or self.digest
        if claimed != self.digest or (is_there and self.place.read(name) != self.data):
            raise VersionInUseError(
                f"expected nobody else to push {self.name} to {self.place.address}, found that somebody does, with "
                "other files; try again"
            )
        return is_there

    def read_claim(self) -> tuple[str, float]:
        """Return the SHA-256 of the manifest in the store's claim, and the time of the claim in seconds since 1970.
        Returns an empty string and 0 if there is no claim."""
        try:
            claim = parse_json(self.place.read(self.claim_name))
            return str(claim["manifest_sha256"]), float(claim["time"])
        except (MissingFileError, ValueError, LookupError, TypeError):
            return "", 0.0

    def renew(self, *, is_new: bool = False) -> bool:
        """Write the claim with the present time. If `is_new` is true, it is written only if there is none. Returns
        whether it was written."""
        claim = {"manifest_sha256": self.digest, "time": int(time.time())}
        return self.place.write(self.claim_name, canonical_json(claim), is_new=is_new)


@dataclass
class Transfer:
    """Copies versions from or to a place, with progress, several files at once."""

    progress: Progress
    jobs: int = JOBS
    is_dry: bool = False  # whether to report only, without copying
    use: bool = False  # whether current versions of the source become current
    _stop: threading.Event = field(default_factory=threading.Event)
    _done: list[Moved] = field(default_factory=list)

    def pull(self, warehouse: Versions, place: Place, scopes: Sequence[str] = ()) -> list[Moved]:
        """Copy the versions of a place that are in the scopes into a warehouse in a folder. If a variant had no version
        in the warehouse, the place's current version becomes current. Raises MissingTableError if no version is in a
        scope, TooLargeError if the disk is full, and the errors of `fetch_file` for the first file that fails; finished
        versions are kept."""
        warehouse.check_staging()
        offered = listing(place)
        names = _select_versions(warehouse, offered, scopes, place.address)
        self._done = [Moved(name, False, 0, 0) for name in names if is_whole(warehouse, name)]
        there = {each.name for each in self._done}
        titles = {name.rpartition("/")[0] for name in names}
        is_first = {title: next(warehouse.versions(*title.split("/")), None) is None for title in titles}
        for title in titles:
            require_own(warehouse.root, *title.split("/"))
        wanted = [name for name in names if name not in there]
        with futures.ThreadPoolExecutor(self.jobs) as pool:
            manifests = list(pool.map(lambda name: fetched_manifest(place, name, offered.versions[name]), wanted))
        plans = [_Fetch(warehouse, place, name, *each) for name, each in zip(wanted, manifests, strict=True)]
        if not self._begin(f"from {place.address}", plans):
            return sorted(self._done)
        storage.check_room(warehouse.root, sum(plan.bytes for plan in plans))
        self._together(plans, self._fetch_version, len(names))
        for title in sorted(titles):
            self._point(warehouse, title, offered.current.get(title), is_first=is_first[title])
        from bgdata.store.catalog import refresh_catalog  # loads DuckDB

        refresh_catalog(warehouse, exact=set())
        return sorted(self._done)

    def push(self, warehouse: Versions, place: Place, scopes: Sequence[str] = ()) -> list[Moved]:
        """Copy the versions of a warehouse in a folder that are in the scopes to a place: another folder, or a store.
        If a variant had no version there, this warehouse's current version becomes current there. The place's
        `index.json` is written again. Raises the errors of `pull`, UsageError if the place is read-only, and
        VersionInUseError if another process is sending a version with different files."""
        warehouse.require()
        if isinstance(place, Folder):
            there = type(warehouse)(place.root, warehouse.kinds)
            moved = self.pull(there, Folder(warehouse.root), scopes)
            if not self.is_dry:
                write_index(place, [each.name for each in moved if each.is_moved])
            return moved
        if not isinstance(place, Store):
            raise UsageError(f"expected a folder or a store to push to, got {place.address}, which is only read from")
        own, offered = listing(Folder(warehouse.root)), listing(place)
        names = _select_versions(warehouse, own, scopes, str(warehouse.root))
        self._done = [Moved(name, False, 0, 0) for name in names if name in offered.versions]
        plans = [_Send(place, warehouse.open_reference(name)) for name in names if name not in offered.versions]
        for plan in plans:
            plan.table.check_sizes()
        if not self._begin(f"to {place.address}", plans):
            return sorted(self._done)
        try:
            self._together(plans, self._send_version, len(names))
        finally:
            if not is_stopping():
                self._point_there(place, names, own.current)
        return sorted(self._done)

    def _begin(self, title: str, plans: Sequence[_Fetch] | Sequence[_Send]) -> bool:
        """Report how much is to be copied. Returns false if `is_dry` says to copy nothing."""
        if self.is_dry:
            self._done += [Moved(plan.name, True, len(plan.files), plan.bytes) for plan in plans]
        else:
            self.progress.start(title, sum(plan.bytes for plan in plans), "bytes")
        return not self.is_dry

    def _together(self, plans: Sequence[P], move: Callable[[P, futures.Executor], Moved], count: int) -> None:
        """Call `move` for each version, several at a time. After the first failure, no other version is begun, and the
        error is raised. `count` is the number of all versions, for messages."""
        waiting = list(plans)
        failures: list[BaseException] = []
        busy: list[BaseException] = []
        running: dict[futures.Future[Moved], P] = {}
        with (
            keeping(lambda: f"{len(self._done)} of {count} versions are there"),
            futures.ThreadPoolExecutor(self.jobs) as files,
            futures.ThreadPoolExecutor(self.jobs) as versions,
        ):
            try:
                while running or (waiting and not failures):
                    while waiting and not failures and len(running) < self.jobs:
                        plan = waiting.pop(0)
                        running[versions.submit(move, plan, files)] = plan
                    finished, _ = futures.wait(running, RENEW_SECONDS, futures.FIRST_COMPLETED)
                    for plan in () if finished else running.values():
                        plan.renew()
                    for each in finished:
                        del running[each]
                        error = each.exception()
                        if error is None:
                            self._done.append(each.result())
                        elif isinstance(error, VersionInUseError):
                            busy.append(error)
                        else:
                            failures.append(error)
                            self._stop.set()
            finally:
                self._stop.set()
        for error in (*sorted(failures, key=lambda error: isinstance(error, futures.CancelledError)), *busy):
            raise error
        keep("what is finished is kept")

    def _each_file(self, plan: P, files: futures.Executor, move: Callable[[P, FileEntry], int]) -> list[int]:
        """Call `move` for each file of a version, several at a time, and return the results. Raises the first error,
        after all running calls have ended."""

        def move_file(entry: FileEntry) -> int:
            try:
                return move(plan, entry)
            except BaseException:
                self._stop.set()
                raise

        waiting = [files.submit(move_file, entry) for entry in plan.files]
        futures.wait(waiting)
        failures = [error for each in waiting if (error := each.exception())]
        for error in sorted(failures, key=lambda error: isinstance(error, futures.CancelledError)):
            raise error
        return [each.result() for each in waiting]

    def _fetch_version(self, plan: _Fetch, files: futures.Executor) -> Moved:
        def say() -> None:
            self.progress.note(f"{plan.name}: another process builds or pulls this variant; waiting")

        with storage.hold_lock(plan.lock, say):
            with deleting(plan.warehouse):  # later deletions see that this copy is running
                pass
            if is_whole(plan.warehouse, plan.name):
                return Moved(plan.name, False, 0, 0)
            plan.prepare()
            counts = self._each_file(plan, files, self._fetch_file)
            plan.finish()
        return Moved(plan.name, True, sum(count > 0 for count in counts), sum(counts))

    def _fetch_file(self, plan: _Fetch, entry: FileEntry) -> int:
        self._go_on()
        return entry.bytes * fetch_file(plan.place, plan.name, entry, plan.folder, self._advance)

    def _send_version(self, plan: _Send, files: futures.Executor) -> Moved:
        is_resumed = plan.claim()
        there = plan.place.entries(plan.name)
        counts, is_there = [0], f"{plan.name}/{MANIFEST}" in there
        if not is_there:
            known = {name.rpartition("/")[2]: entry.size for name, entry in there.items()} if is_resumed else {}
            counts = self._each_file(plan, files, lambda plan, entry: self._send_file(plan, entry, known))
            there = plan.place.entries(plan.name)
            for entry in plan.files:
                name = f"{plan.name}/{entry.name}"
                if name not in there or there[name].size != entry.bytes:
                    found = f"{there[name].size:,}" if name in there else "no such file"
                    raise CorruptFileError(
                        f"expected {entry.bytes:,} bytes in {plan.place.where(name)}, which was sent, found {found}; "
                        "try again"
                    )
            is_there = plan.check_claim(there)
            if not is_there:
                plan.place.write(f"{plan.name}/{MANIFEST}", plan.data)
        plan.place.remove(plan.claim_name)
        return Moved(plan.name, not is_there, sum(count > 0 for count in counts), sum(counts))

    def _send_file(self, plan: _Send, entry: FileEntry, known: Mapping[str, int]) -> int:
        self._go_on()
        path = plan.table.folder / entry.name
        found = 0
        if known.get(entry.name) != entry.bytes:
            digest = storage.sha256_file(path, inside=True)
            if digest != entry.sha256:
                raise DigestMismatchError(
                    f"expected SHA-256 {entry.sha256[:16]}... of {path}, found {digest[:16]}...; "
                    "try: bgdata verify --repair"
                )
            plan.place.send(path, f"{plan.name}/{entry.name}")
            found = entry.bytes
        self.progress.advance(entry.bytes)
        return found

    def _advance(self, count: int) -> None:
        self._go_on()
        self.progress.advance(count)

    def _go_on(self) -> None:
        if self._stop.is_set():
            raise futures.CancelledError

    def _point(self, warehouse: Versions, title: str, version: str | None, *, is_first: bool) -> None:
        """Make a version of the variant `title` the current one if the variant is new in the warehouse (`is_first`), or
        if `use` is set."""
        if not (is_first or self.use):
            return
        tables = {table.folder.name: table for table in warehouse.versions(*title.split("/"))}
        if version in tables:
            warehouse.use(tables[version])
        elif is_first and tables:
            warehouse.use(newest(tables.values()))

    def _point_there(self, place: Store, names: Sequence[str], current: Mapping[str, str]) -> None:
        """In a store, make the versions in `current`, by variant, the current ones if a variant has no current version,
        or if `use` is set. Then write the store's `index.json`."""
        offered = listing(place)
        for title in sorted({name.rpartition("/")[0] for name in names}):
            there = [name.rpartition("/")[2] for name in offered.versions if name.startswith(f"{title}/")]
            version = current.get(title)
            if version not in there:
                version = there[-1] if there and title not in offered.current else None
            if version and (self.use or title not in offered.current) and offered.current.get(title) != version:
                place.write(f"{title}/{CURRENT}", f"{version}\n".encode())
        write_index(place, [each.name for each in self._done if each.is_moved])


P = TypeVar("P", _Fetch, _Send)


def _select_versions(warehouse: Versions, offered: Listing, scopes: Sequence[str], where: str) -> list[str]:
    """Return the names of the offered versions that are in the scopes, or, without scopes, of all versions whose kind
    is known. Errors call the place `where`. Raises UnknownKindError if a scope names an unknown kind, and the errors of
    `in_scopes`."""
    if not offered.versions:
        raise MissingTableError(f"expected versions in {where}, found none")
    for scope in scopes:
        warehouse.checked_kind(scope.partition("/")[0])
    return in_scopes([name for name in offered.versions if name.partition("/")[0] in warehouse.kinds], scopes, where)


def is_whole(warehouse: Versions, name: str) -> bool:
    """Whether a warehouse contains the version `name`, with all files of the sizes in its manifest."""
    table = Table(warehouse.root / name, name.partition("/")[0])
    if not table.folder.is_dir():
        return False
    try:
        table.check_sizes()
    except BgdataError as error:
        if storage.is_shortage(error):
            raise
        return False
    return True
