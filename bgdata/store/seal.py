"""Which catalog.duckdb is up to date, and which may be opened to be queried.

A catalog is made from the versions of a warehouse and from what declares their tables: `catalog_state` is a digest of
all that. The file `.catalog.seal` has the state for which the catalog beside it was written, and a code of both that
nobody can make without the key in this user's cache: a catalog that came with a warehouse may hold anything.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bgdata.process import cache_folder
from bgdata.store.manifest import FILE_NAME as MANIFEST
from bgdata.store.names import is_name
from bgdata.store.scripts import PARTS
from bgdata.store.storage import open_regular, write_file
from bgdata.store.versions import CURRENT, Versions

FILE_NAME = ".catalog.seal"
KEY_BYTES = 32
MOST_BYTES = 1000


def catalog_state(warehouse: Versions) -> str:
    """A digest of all that a catalog of the warehouse is made from: the text of what declares and writes it, which
    version of each variant is current, and names, types, sizes and times of manifests and Parquet files."""
    kinds = warehouse.kinds
    digest = hashlib.sha256(repr(kinds.modules if kinds.has_modules_alone else sorted(kinds)).encode())
    scripts = (path for part in PARTS for path in kinds.sql.files(part))
    for path in sorted({*Path(__file__).parent.glob("*.py"), *scripts, *kinds.files()}):
        digest.update(path.read_bytes())
    for folder, name in version_files(warehouse):
        with suppress(OSError):  # it is being removed
            path = folder / name
            found = path.lstat()
            said: object = (found.st_mode, found.st_size, found.st_mtime_ns)
            if name == CURRENT and stat.S_ISREG(found.st_mode):
                with open_regular(path) as file:
                    said = file.read(MOST_BYTES)
            digest.update(repr((path.relative_to(warehouse.root).parts, said)).encode())
    return digest.hexdigest()


def version_files(warehouse: Versions) -> Iterator[tuple[Path, str]]:
    """(folder, name) of the files of versions that a catalog depends on, in order."""
    for kind in sorted(warehouse.kinds):
        for variant in warehouse.variant_folders(kind):
            if variant.is_symlink():  # which may lead nowhere
                yield variant.parent, variant.name
            for name in listed(variant):
                if name == CURRENT:
                    yield variant, name
                elif is_name("version", name):
                    yield from ((variant / name, file) for file in listed(variant / name) if is_shown(file))


def is_shown(name: str) -> bool:
    """Whether a catalog depends on a file of this name in the folder of a version."""
    return name == MANIFEST or name.endswith(".parquet")


def listed(folder: Path) -> list[str]:
    """The names in a folder, sorted; none where it cannot be read."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 (three times as fast as Path.iterdir)
    except OSError:
        return []


def seal(warehouse: Versions, state: str, catalog: bytes) -> None:
    """Say for which state this catalog of the warehouse was written. Raises StorageError."""
    write_file(warehouse.root / FILE_NAME, f"{state} {code_of(warehouse, state, catalog)}".encode())


def sealed(warehouse: Versions) -> tuple[str, str]:
    """(state, code) as they are written beside a catalog; empty where nothing is."""
    try:
        with open_regular(warehouse.root / FILE_NAME) as file:
            state, code = file.read(MOST_BYTES).decode().split(" ")
    except (OSError, ValueError):
        return "", ""
    return state, code


def is_own(warehouse: Versions, state: str) -> bool:
    """Whether catalog.duckdb was written by this user, here, for this state, and of kinds whose sources tell all."""
    written, code = sealed(warehouse)
    if not code or written != state or not warehouse.kinds.has_modules_alone:
        return False
    try:
        with open_regular(warehouse.catalog) as file:
            return code == code_of(warehouse, state, file.read())
    except (OSError, ValueError):
        return False


def code_of(warehouse: Versions, state: str, catalog: bytes) -> str:
    """A code of a catalog, the state for which it was written, and the folder; empty where this user has no key."""
    key = own_key()
    title = f"{warehouse.root.resolve()}\0{state}\0".encode()
    return hashlib.blake2b(title + catalog, key=key).hexdigest() if len(key) == KEY_BYTES else ""


def own_key() -> bytes:
    """The key of this user, made when it is first asked for; nothing where it cannot be kept."""
    path = cache_folder() / "key"
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(handle, "wb") as file:  # noqa: PTH123 (a descriptor, no path)
                file.write(os.urandom(KEY_BYTES))
        return path.read_bytes()
    return b""
