"""Steps with other people's files: fetch what is published, import, check, and count leaked positions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from bgdata.errors import (
    CheckFailedError,
    CorruptFileError,
    DigestMismatchError,
    MissingFileError,
    StorageError,
    UsageError,
)
from bgdata.formats.unpacking import cause, is_archive, unpack, unpack_archive
from bgdata.imports.kinds import gnubg_benchmark, gnubg_training
from bgdata.store.dataset import ImportedDataset
from bgdata.store.download import download
from bgdata.store.lockfile import PinnedFile, load_pins, save_pin
from bgdata.store.manifest import unpacked_name
from bgdata.store.progress import Progress
from bgdata.store.storage import sha256_file
from bgdata.store.table import Table
from bgdata.store.verify import verify
from bgdata.warehouse import Warehouse

RAW = "raw"  # folder of downloads in the warehouse
STANDARD_INPUT = "/dev/stdin"  # the path of `-`


class Published(NamedTuple):
    """A published file; `content_sha256` is that of the uncompressed content, empty if unknown."""

    kind: str
    name: str
    address: str
    content_sha256: str = ""


class Leak(NamedTuple):
    """Labelled rows of a variant whose positions are in benchmarks; the training feed skips them."""

    labels: str  # dataset/variant
    benchmarks: str  # benchmarks with these positions
    rows: int


def published_files(address: str | None = None) -> list[Published]:
    """gnubg's published files; `address` replaces that of the site with a mirror's."""
    site = address.rstrip("/") + "/" if address else None
    files = []
    for entry, content_sha256 in gnubg_benchmark.PUBLISHED.items():
        name = f"{entry}.bm.bz2"
        files.append(Published("gnubg_benchmark", name, (site or gnubg_benchmark.ADDRESS) + name, content_sha256))
        name = f"{entry}-train-data.bz2"
        files.append(Published("gnubg_training", name, (site or gnubg_training.ADDRESS) + name))
    return files


def fetch_file(warehouse: Warehouse, file: Published, progress: Progress) -> Path:
    """Download a file into `raw/` of the warehouse, unless it is there, and check its hash. Raises DownloadError,
    StorageError, CorruptFileError, or DigestMismatchError for an unexpected hash."""
    path = download(file.address, warehouse.root / RAW / file.name, progress)
    if file.content_sha256:
        expected, found = file.content_sha256, _unpacked_hash(path)
    else:  # the hash was pinned at the first fetch
        pins = {pin.name: pin.sha256 for pin in load_pins(warehouse.lock)}
        found = sha256_file(path)
        expected = pins.get(file.name, found)
        if file.name not in pins:
            _unpacked_hash(path)
            save_pin(warehouse.lock, PinnedFile(file.name, file.address, path.stat().st_size, found))
    if found != expected:
        raise DigestMismatchError(
            f"expected SHA-256 {expected[:16]}... of {path}, found {found[:16]}...; delete it and fetch it again"
        )
    progress.note(f"{file.name}: {path.stat().st_size:,} bytes, hash is correct")
    return path


def _unpacked_hash(path: Path) -> str:
    """SHA-256 of the uncompressed content. Raises CorruptFileError for a truncated or uncompressed file."""
    try:
        facts = unpack(path, lambda _: None)
    except CorruptFileError as error:
        raise CorruptFileError(f"expected a whole packed file in {path}; delete it and fetch it again") from error
    if facts.content_sha256 == facts.sha256:
        raise CorruptFileError(f"expected a packed file in {path}, found something else; delete it and fetch it again")
    return facts.content_sha256


def import_files(
    warehouse: Warehouse,
    kind: str,
    files: Sequence[Path],
    progress: Progress,
    *,
    name: str | None = None,
    strict: bool = False,
    force: bool = False,
) -> Table:
    """Import files, and all files in folders, as one version of a kind. Raises UsageError for a computed kind,
    MissingFileError, NoRowsError, and errors of `Warehouse.build`."""
    parameters = import_parameters(warehouse, kind, files, name)
    with TemporaryDirectory() as folder:
        found = collect_files(warehouse, kind, files, progress, Path(folder))
        return warehouse.build(kind, parameters, files=found, progress=progress, strict=strict, force=force)


def import_parameters(warehouse: Warehouse, kind: str, files: Sequence[Path], name: str | None = None) -> Any:
    """The parameters of the variant for these files and folders. Raises UsageError for a computed kind,
    MissingTableError for an unknown kind, MissingFileError, and InvalidParameterError for an invalid name."""
    declared = warehouse.kind(kind)
    if not isinstance(declared, ImportedDataset):
        raise UsageError(f"expected a kind that is imported from files, got {kind}; try: bgdata build {kind}")
    for path in map(input_path, files):
        if not path.exists():
            raise MissingFileError(f"expected a file in {path}, found none")
    return declared.parameters_of([path.resolve() if path.is_dir() else input_path(path) for path in files], name)


def input_path(path: Path) -> Path:
    """The path itself; for `-`, that of standard input."""
    return Path(STANDARD_INPUT) if str(path) == "-" else path


def collect_files(
    warehouse: Warehouse, kind: str, paths: Sequence[Path], progress: Progress, unpacked: Path
) -> list[Path]:
    """The given files, and the files of the kind in given folders and their subfolders. Skips hidden files and those of
    the warehouse. Archives of a kind that is told by content are unpacked into `unpacked`.

    Raises MissingFileError for a folder or archive without such files, and the errors of `unpack_archive`.
    """
    declared: Any = warehouse.kind(kind)
    found: list[Path] = []
    for path in map(input_path, paths):
        archives = _is_told_by_content(declared) and is_archive(path)
        if not path.is_dir() and not archives:
            found.append(path)
            continue
        inside = unpack_archive(path, unpacked) if archives else _files_in(warehouse, path)
        if _is_told_by_content(declared):
            packed = [each for each in inside if is_archive(each)]
            inside = [each for each in inside if each not in packed]
            inside += [member for each in packed for member in unpack_archive(each, unpacked)]
        wanted = [each for each in inside if _is_wanted(declared, each)]
        if not wanted:
            raise MissingFileError(f"expected {_what(declared)} in {path}, found none in {len(inside):,} files")
        if len(wanted) < len(inside):
            progress.note(f"{path}: left out {len(inside) - len(wanted)} of {len(inside)} files: not {_what(declared)}")
        found += wanted
    return found


def _is_told_by_content(kind: Any) -> bool:
    return bool(getattr(kind, "is_told_by_content", False))


def _files_in(warehouse: Warehouse, folder: Path) -> list[Path]:
    return [
        each
        for each in sorted(folder.rglob("*"))
        if each.is_file()
        and not any(part.startswith(".") for part in each.relative_to(folder).parts)
        and not each.resolve().is_relative_to(warehouse.root.resolve())
    ]


def _is_wanted(kind: Any, path: Path) -> bool:
    """Whether a file of a folder is imported. Raises StorageError for one that cannot be read."""
    if not _is_told_by_content(kind):
        return unpacked_name(path.name.lower()).endswith(getattr(kind, "endings", None) or "")
    try:
        return bool(kind.computation.holds(path))
    except OSError as error:
        raise StorageError(f"expected to read {path}, found: {cause(error)}") from error


def _what(kind: Any) -> str:
    if _is_told_by_content(kind):
        return f"files with {kind.name}"
    endings = getattr(kind, "endings", ())
    return f"files that end in {', '.join(endings)}" if endings else "a file"


def check_version(warehouse: Warehouse, version: str, progress: Progress, *, seed: int = 0) -> list[str]:
    """The lines that `bgdata verify` prints of a version, one per check. Raises CheckFailedError for a failed check."""
    findings = list(verify(warehouse, [warehouse.open_reference(version)], seed=seed, progress=progress))
    if wrong := [finding for finding in findings if finding.problem]:
        raise CheckFailedError(f"{version}: {wrong[0].check}: {wrong[0].text}")
    return [f"{finding.check}: {finding.status}" for finding in findings]


def leakage_counts(warehouse: Warehouse) -> list[Leak]:
    """The view `leakage` counted by labels: one row for each variant and the benchmarks that share its positions."""
    query = (
        "select dataset || '/' || variant as labels, list_aggregate(benchmarks, 'string_agg', ', '), count(*) "
        "from leakage group by all order by all"
    )
    with warehouse.connect(for_query=query) as connection:
        rows = connection.sql(query).fetchall()
    return [Leak(*row) for row in rows]
