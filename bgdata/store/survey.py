"""The content of the folders of a warehouse, from file facts without reading the files again: the index of a catalog.

The index has a line for each variant: a digest of `current` and of names, types, sizes and times of its manifests and
Parquet files, and what was read from these. A line is valid as long as the digest is unchanged, and only if this user
wrote it here, as a code over its bytes proves (see `catalog.own_key`). To decide only whether the catalog for other
programs is outdated, the times of folders are compared instead of the times of files: adding, deleting, repairing or
choosing a version changes them; only writing into an existing file does not.
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
RECENT_NS = 2_000_000_000  # a folder that changed so shortly before reading may have changed again since
_MAX_POINTER_BYTES = 1000


class Version(NamedTuple):
    """The facts of an undamaged version that `bgdata list` shows."""

    sizes: str  # digest of names, types and sizes of all its files; empty to read the version again
    rows: int = 0
    bytes: int = 0


class Variant(NamedTuple):
    """The content of the folder of a variant."""

    state: str  # digest of `current`, and of names, types, sizes and times of manifests and Parquet files
    times: tuple[int, ...]  # when its folder and the folders of its versions were changed [ns]
    read_at: int  # [ns]
    current: str  # the current version, or `current` if there is none
    versions: dict[str, Version]
    tables: dict[str, str]  # tables of the current version with their error, empty for undamaged ones
    files: dict[str, list[str]]  # files of undamaged tables
    lacking: dict[str, dict[str, str]]  # SQL of the derived columns that files lack, by file and column

    @property
    def what(self) -> tuple[object, ...]:
        """All fields of the variant except times."""
        return self.state, self.current, self.versions, self.tables, self.files, self.lacking

    @property
    def is_whole(self) -> bool:
        """Whether the variant has no errors. Messages of errors depend on the reader."""
        return not any(self.tables.values()) and all(each.sizes for each in self.versions.values())


class Index(NamedTuple):
    """The sources of a catalog: a digest of declarations, the names of the tables of each kind and whether several
    kinds share them, generated SQL of views, and the variants by KIND/VARIANT."""

    declared: str
    tables: dict[str, list[tuple[str, bool]]]
    generated: list[str]
    variants: dict[str, Variant]

    @property
    def state(self) -> str:
        """The digest of the sources of a catalog with these variants."""
        return state_of(self.declared, {key: variant.state for key, variant in self.variants.items()})


class Seen(NamedTuple):
    """The facts of a variant's files; `sizes` are the sizes of files of each version by name."""

    state: str
    times: tuple[int, ...]
    read_at: int
    sizes: dict[str, str]


def state_of(declared: str, states: Mapping[str, str]) -> str:
    """The digest of declarations, and of the states of all variants by KIND/VARIANT."""
    return _digest(declared, sorted(states.items()))


def _digest(*what: object) -> str:
    return hashlib.blake2b(repr(what).encode(), digest_size=16).hexdigest()


def variant_names(warehouse: Versions, kind: str) -> list[tuple[str, bool]]:
    """The name of each folder of a variant, sorted, and whether it is a link. Raises StorageError if the folder of the
    kind is a broken link."""
    folder = warehouse.root / kind
    check_link(folder)
    with suppress(OSError), os.scandir(folder) as entries:
        return sorted(
            (each.name, each.is_symlink())
            for each in entries
            if is_name("variant", each.name) and (each.is_symlink() or each.is_dir())
        )
    return []


def see(folder: str, *, is_link: bool) -> Seen | None:
    """The facts of a variant's files; None if the folder contains no version and no `current`, and is not a link."""
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
    return Seen(_digest(facts, sorted(sizes)), times, read_at, sizes)


def _names_in(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 (three times as fast as Path.iterdir)
    except OSError:
        return []


def _files_in(folder: str) -> list[tuple[str, int, int, int]]:
    """The mode, size and time of the entries of a folder, by name. Raises OSError if it is not a folder."""
    found = []
    with os.scandir(folder) as entries:
        for each in entries:
            with suppress(FileNotFoundError):  # deleted meanwhile
                status = each.stat(follow_symlinks=False)
                found.append((each.name, status.st_mode, status.st_size, status.st_mtime_ns))
    return sorted(found)


def _pointer(path: str) -> object:
    """The content of the file `current`."""
    with suppress(CorruptFileError, OSError), open_regular(Path(path)) as file:
        return file.read(_MAX_POINTER_BYTES)
    with suppress(OSError):
        return stat.S_IFMT(Path(path).lstat().st_mode)
    return None


def _times(folder: str, versions: Iterator[str] | tuple[str, ...]) -> tuple[int, ...]:
    """The modification times of the folders of a variant and of its versions; 0 if a folder is missing."""
    found = []
    for path in (folder, *(f"{folder}/{name}" for name in versions)):
        try:
            found.append(os.stat(path).st_mtime_ns)  # noqa: PTH116 (for all folders, at each query)
        except OSError:
            found.append(0)
    return tuple(found)


def is_as_before(folder: str, known: Variant) -> bool:
    """Whether no folder of a variant has changed since it was read."""
    return max(known.times) < known.read_at - RECENT_NS and _times(folder, tuple(sorted(known.versions))) == known.times


def survey(
    warehouse: Versions,
    known: Mapping[str, Variant],
    read: Callable[[str, str, Seen], Variant],
    *,
    kinds: set[str] | None = None,
    exact: set[str] | None = None,
) -> dict[str, Variant]:
    """The existing variants by KIND/VARIANT, in order: unchanged ones from `known`, all others from `read`. For kinds
    in `exact` (None: all kinds) files are compared, for other kinds only folders. `kinds` limits the result. Raises
    StorageError if a folder cannot be read."""
    found = {}
    for kind in sorted(warehouse.kinds if kinds is None else kinds):
        for name, is_link in variant_names(warehouse, kind):
            key, folder = f"{kind}/{name}", f"{warehouse.root}/{kind}/{name}"
            before = known.get(key)
            if before and exact is not None and kind not in exact and is_as_before(folder, before):
                found[key] = before
            elif seen := see(folder, is_link=is_link):
                sizes = {each: version.sizes for each, version in before.versions.items()} if before else {}
                found[key] = (
                    before._replace(times=seen.times, read_at=seen.read_at)
                    if before and before.state == seen.state and sizes == seen.sizes
                    else read(kind, name, seen)
                )
    return found


def states(warehouse: Versions, known: Mapping[str, Variant], exact: set[str] | None = None) -> dict[str, str]:
    """The states of all variants by KIND/VARIANT, as in `survey`, without reading files."""
    found = survey(warehouse, known, lambda _kind, _name, seen: Variant(*seen[:3], "", {}, {}, {}, {}), exact=exact)
    return {key: variant.state for key, variant in found.items()}


def current_of(warehouse: Versions, kind: str, variant: str) -> tuple[Table, BgdataError | None]:
    """The current version of a variant, and the error if `current` is invalid or names a missing version: then it is
    the last version by name, or `current` itself if there are no versions."""
    folder = warehouse.root / kind / variant
    try:
        return warehouse.open(kind, variant), None
    except BgdataError as error:
        there = warehouse.versions(kind, variant)
        return max(there, key=lambda each: each.folder, default=warehouse.table_in(folder / CURRENT, kind)), error


def read_versions(warehouse: Versions, kind: str, name: str, seen: Seen) -> dict[str, Version]:
    """The facts of each version of a variant, after reading manifests and comparing file sizes. Damaged or
    unreadable versions are left for later reads."""
    found = {}
    for version, sizes in seen.sizes.items():
        table = warehouse.table_in(warehouse.root / kind / name / version, kind)
        try:
            table.check_sizes()
            found[version] = Version(sizes, table.manifest.rows, sum(entry.bytes for entry in table.manifest.files))
        except BgdataError:
            found[version] = Version("")
    return found


def read_variant(warehouse: Versions, kind: str, name: str, seen: Seen) -> Variant:
    """A variant for `list`: its versions, and the current one, without its tables."""
    table, flaw = current_of(warehouse, kind, name)
    if is_shortage(flaw) or flaw:
        table = warehouse.table_in(table.folder.with_name(CURRENT), kind)
    return Variant(*seen[:3], table.folder.name, read_versions(warehouse, kind, name, seen), {}, {}, {})


def write_index(warehouse: Versions, index: Index) -> None:
    """Write the index of a catalog, with the code of this user. Raises StorageError if it cannot be written."""
    body = json.dumps(index, separators=(",", ":")).encode()
    write_file(warehouse.root / INDEX_NAME, _code_of(warehouse, body).encode() + b"\n" + body)


def read_index(warehouse: Versions) -> Index | None:
    """The index of a catalog, if this user wrote it for this folder."""
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
    layout = Index._fields, Variant._fields, Version._fields  # another bgdata may have other ones
    title = f"{warehouse.root.resolve()}\0{INDEX_NAME} {layout}\0".encode()
    return hashlib.blake2b(title + body, key=key).hexdigest() if len(key) == KEY_BYTES else ""


def own_key() -> bytes:
    """The key of this user, created when first needed; empty if it cannot be saved."""
    path = cache_folder() / "key"
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(handle, "wb") as file:  # noqa: PTH123 (a descriptor, no path)
                file.write(os.urandom(KEY_BYTES))
        return path.read_bytes()
    return b""
