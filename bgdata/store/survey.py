"""The index of a catalog: what is in the folders of a warehouse. Unchanged files are not read again.

The index has a line for each variant: a digest of `current` and of the names, types, sizes and times of its manifests
and Parquet files, and the data that were read from these files. A line is valid as long as the digest does not change,
and only if this user wrote it here, which a code over its bytes proves (see `own_key`). To find out whether the catalog
for other programs is outdated, the times of folders are compared instead of the times of files. Adding, deleting,
repairing or choosing a version changes the times of folders; only writing into an existing file does not.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bgdata.errors import BgdataError, CorruptFileError
from bgdata.process import cache_folder
from bgdata.store.linked import check_link
from bgdata.store.manifest import FILE_NAME as MANIFEST
from bgdata.store.names import CURRENT, is_name
from bgdata.store.storage import is_shortage, open_regular, write_file
from bgdata.store.table import Table
from bgdata.store.versions import Versions

INDEX_NAME = ".catalog.index"
KEY_BYTES = 32
RECENT_NS = 2_000_000_000  # if a folder changed within this time before it was read, it may have changed again since
_MAX_POINTER_BYTES = 1000


class Version(NamedTuple):
    """What `bgdata list` shows of an undamaged version."""

    sizes: str  # digest of names, types and sizes of all its files; empty to read the version again
    rows: int = 0
    bytes: int = 0


class Variant(NamedTuple):
    """The content of a variant's folder: its versions, the current version, and the tables of the current version."""

    state: str  # digest of `current`, and of names, types, sizes and times of manifests and Parquet files
    times: tuple[int, ...]  # when its folder and the folders of its versions were changed [ns]
    read_at: int  # [ns]
    current: str  # the name of the current version, or `current` if there is none
    versions: dict[str, Version]
    tables: dict[str, str]  # tables of the current version with their error, empty if undamaged
    files: dict[str, list[str]]  # files of undamaged tables
    lacking: dict[str, dict[str, str]]  # SQL of the derived columns that files lack, by file and column

    @property
    def what(self) -> tuple[object, ...]:
        """All fields of the variant except times."""
        return self.state, self.current, self.versions, self.tables, self.files, self.lacking

    @property
    def is_whole(self) -> bool:
        """Whether no version and no table of the variant has an error. The text of an error may depend on the user who
        reads the warehouse."""
        return not any(self.tables.values()) and all(each.sizes for each in self.versions.values())


class Index(NamedTuple):
    """Everything that a catalog is made from: a digest of the declarations; for each kind, the names of its tables and
    whether other kinds share them; the SQL of generated views; and the variants, by KIND/VARIANT."""

    declared: str
    tables: dict[str, list[tuple[str, bool]]]
    generated: list[str]
    variants: dict[str, Variant]

    @property
    def state(self) -> str:
        """A digest of everything that a catalog with these variants is made from."""
        return state_of(self.declared, {key: variant.state for key, variant in self.variants.items()})


class FolderFacts(NamedTuple):
    """The facts about a variant that the file system knows, without reading its files. `sizes` contains a digest of the
    sizes of the files of each version, by its name."""

    state: str
    times: tuple[int, ...]
    read_at: int
    sizes: dict[str, str]


def state_of(declared: str, states: Mapping[str, str]) -> str:
    """A digest of the declarations, and of the state of each variant by KIND/VARIANT."""
    return _digest(declared, sorted(states.items()))


def _digest(*what: object) -> str:
    return hashlib.blake2b(repr(what).encode(), digest_size=16).hexdigest()


def variant_names(warehouse: Versions, kind: str) -> list[tuple[str, bool]]:
    """The name of each variant's folder in the folder of a kind, sorted, and whether it is a link. Raises StorageError
    if the folder of the kind is a link to a missing folder."""
    folder = warehouse.root / kind
    check_link(folder)
    with suppress(OSError), os.scandir(folder) as entries:
        return sorted(
            (each.name, each.is_symlink())
            for each in entries
            if is_name("variant", each.name) and (each.is_symlink() or each.is_dir())
        )
    return []


def read_folder_facts(folder: str, *, is_link: bool) -> FolderFacts | None:
    """Read the facts about the folder of a variant from the file system. Returns None if the folder contains neither a
    version nor the file `current`, unless it is a link."""
    read_at = time.time_ns()
    facts: list[object] = [is_link]
    sizes: dict[str, str] = {}
    times = _times(folder, ())
    for name in _names_in(folder):
        if name == CURRENT:
            facts.append(_pointer(f"{folder}/{name}"))
        elif is_name("version", name):
            with suppress(OSError):
                times += _times(folder, (name,))[1:]
                files = _files_in(f"{folder}/{name}")
                facts += [(name, file) for file in files if file[0] == MANIFEST or file[0].endswith(".parquet")]
                sizes[name] = _digest([file[:3] for file in files])
    if len(facts) == 1 and not sizes and not is_link:
        return None
    return FolderFacts(_digest(facts, sorted(sizes)), times, read_at, sizes)


def _names_in(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 (three times as fast as Path.iterdir)
    except OSError:
        return []


def _files_in(folder: str) -> list[tuple[str, int, int, int]]:
    """The name, mode, size [bytes] and modification time [ns] of each entry of a folder, sorted by name. Raises OSError
    if it is not a folder."""
    found = []
    with os.scandir(folder) as entries:
        for each in entries:
            with suppress(FileNotFoundError):  # the file was deleted meanwhile
                status = each.stat(follow_symlinks=False)
                found.append((each.name, status.st_mode, status.st_size, status.st_mtime_ns))
    return sorted(found)


def _pointer(path: str) -> object:
    """Return the content of the file `current` at `path`. If it is not a regular file, return the kind of file, or None
    if it is missing."""
    with suppress(CorruptFileError, OSError), open_regular(Path(path)) as file:
        return file.read(_MAX_POINTER_BYTES)
    with suppress(OSError):
        return stat.S_IFMT(Path(path).lstat().st_mode)
    return None


def _times(folder: str, versions: Iterator[str] | tuple[str, ...]) -> tuple[int, ...]:
    """The modification times [ns] of a variant's folder and of the folders of these versions; 0 for a missing
    folder."""
    found = []
    for path in (folder, *(f"{folder}/{name}" for name in versions)):
        try:
            found.append(os.stat(path).st_mtime_ns)  # noqa: PTH116 (for all folders, at each query)
        except OSError:
            found.append(0)
    return tuple(found)


def is_as_before(folder: str, known: Variant) -> bool:
    """Whether neither a variant's folder nor the folders of its versions have changed since `known` was read from
    them."""
    return max(known.times) < known.read_at - RECENT_NS and _times(folder, tuple(sorted(known.versions))) == known.times


def survey(
    warehouse: Versions,
    known: Mapping[str, Variant],
    read: Callable[[str, str, FolderFacts], Variant],
    *,
    kinds: set[str] | None = None,
    exact: set[str] | None = None,
) -> dict[str, Variant]:
    """Return all variants of the warehouse by KIND/VARIANT, in alphabetical order. A variant that has not changed is
    taken from `known`; any other is read by `read(kind, name, seen)`. For the kinds in `exact` (None: all kinds) files
    are compared to find changes, for other kinds only the times of folders. If `kinds` is given, only variants of these
    kinds are returned. Raises StorageError if a folder cannot be read."""
    found = {}
    for kind in sorted(warehouse.kinds if kinds is None else kinds):
        for name, is_link in variant_names(warehouse, kind):
            key, folder = f"{kind}/{name}", f"{warehouse.root}/{kind}/{name}"
            before = known.get(key)
            if before and exact is not None and kind not in exact and is_as_before(folder, before):
                found[key] = before
            elif seen := read_folder_facts(folder, is_link=is_link):
                sizes = {each: version.sizes for each, version in before.versions.items()} if before else {}
                found[key] = (
                    before._replace(times=seen.times, read_at=seen.read_at)
                    if before and before.state == seen.state and sizes == seen.sizes
                    else read(kind, name, seen)
                )
    return found


def states(warehouse: Versions, known: Mapping[str, Variant], exact: set[str] | None = None) -> dict[str, str]:
    """The state of each variant by KIND/VARIANT, a digest of its files' names, sizes and times. No file is read.
    `known` and `exact` are as for `survey`."""
    found = survey(warehouse, known, lambda _kind, _name, seen: Variant(*seen[:3], "", {}, {}, {}, {}), exact=exact)
    return {key: variant.state for key, variant in found.items()}


def current_version(warehouse: Versions, kind: str, variant: str) -> tuple[Table, BgdataError | None]:
    """Return the current version of a variant, and None. If the file `current` is invalid or names a missing version,
    return another table and the error. This table is the last version by name, or one for the path `current` if there
    are no versions."""
    folder = warehouse.root / kind / variant
    try:
        return warehouse.open(kind, variant), None
    except BgdataError as error:
        there = warehouse.versions(kind, variant)
        return max(there, key=lambda each: each.folder, default=warehouse.table_in(folder / CURRENT, kind)), error


def read_versions(warehouse: Versions, kind: str, name: str, seen: FolderFacts) -> dict[str, Version]:
    """Read the manifest of each version of the variant `name`, and compare the sizes of its files. Returns the facts by
    version. A damaged version is marked to be read again next time."""
    found = {}
    for version, sizes in seen.sizes.items():
        table = warehouse.table_in(warehouse.root / kind / name / version, kind)
        try:
            table.check_sizes()
            found[version] = Version(sizes, table.manifest.rows, sum(entry.bytes for entry in table.manifest.files))
        except BgdataError:
            found[version] = Version("")
    return found


def read_variant(warehouse: Versions, kind: str, name: str, seen: FolderFacts) -> Variant:
    """Read the folder of the variant `name` for `bgdata list`: its versions and which is current, but not its
    tables."""
    table, flaw = current_version(warehouse, kind, name)
    if is_shortage(flaw) or flaw:
        table = warehouse.table_in(table.folder.with_name(CURRENT), kind)
    return Variant(*seen[:3], table.folder.name, read_versions(warehouse, kind, name, seen), {}, {}, {})


def write_index(warehouse: Versions, index: Index) -> None:
    """Write the index of the catalog to its file, with a keyed hash that proves which user wrote it. Raises
    StorageError if it cannot be written."""
    body = json.dumps(index, separators=(",", ":")).encode()
    write_file(warehouse.root / INDEX_NAME, _code_of(warehouse, body).encode() + b"\n" + body)


def read_index(warehouse: Versions) -> Index | None:
    """Read the index of the catalog. Returns None if there is none, or if it was written by another user or for another
    folder."""
    try:
        with open_regular(warehouse.root / INDEX_NAME) as file:
            code, _, body = file.read().partition(b"\n")
    except (CorruptFileError, OSError):
        return None
    if not code or code.decode(errors="replace") != _code_of(warehouse, body):
        return None
    declared, tables, generated, variants = json.loads(body)
    return Index(
        declared,
        {kind: [(name, is_shared) for name, is_shared in each] for kind, each in tables.items()},
        generated,
        {
            key: Variant(
                state,
                tuple(times),
                read_at,
                current,
                {name: Version(*each) for name, each in versions.items()},
                named,
                files,
                lacking,
            )
            for key, (state, times, read_at, current, versions, named, files, lacking) in variants.items()
        },
    )


def _code_of(warehouse: Versions, body: bytes) -> str:
    key = own_key()
    layout = Index._fields, Variant._fields, Version._fields  # another bgdata may have other fields
    title = f"{warehouse.root.resolve()}\0{INDEX_NAME} {layout}\0".encode()
    return hashlib.blake2b(title + body, key=key).hexdigest() if len(key) == KEY_BYTES else ""


def own_key() -> bytes:
    """Return the secret key of this user, which is created on first use. It is empty if it cannot be saved."""
    path = cache_folder() / "key"
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(handle, "wb") as file:  # noqa: PTH123 (a descriptor, no path)
                file.write(os.urandom(KEY_BYTES))
        return path.read_bytes()
    return b""
