"""Steps with other people's files: fetch what is published, import, check, and count leaked positions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bgdata.errors import CheckFailedError, CorruptFileError, DigestMismatchError, MissingFileError, UsageError
from bgdata.formats.unpacking import unpack
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
    found = collect_files(warehouse, kind, files, progress)
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


def collect_files(warehouse: Warehouse, kind: str, paths: Sequence[Path], progress: Progress) -> list[Path]:
    """The given files, and the files in given folders and their subfolders with an ending of the kind. Skips hidden
    files and those of the warehouse. Raises MissingFileError for a folder without such files."""
    endings: tuple[str, ...] = getattr(warehouse.kind(kind), "endings", ())
    found: list[Path] = []
    for path in map(input_path, paths):
        if not path.is_dir():
            found.append(path)
            continue
        inside = [
            each
            for each in sorted(path.rglob("*"))
            if each.is_file()
            and not any(part.startswith(".") for part in each.relative_to(path).parts)
            and not each.resolve().is_relative_to(warehouse.root.resolve())
        ]
        wanted = [each for each in inside if unpacked_name(each.name.lower()).endswith(endings or "")]
        if not wanted:
            what = f"files that end in {', '.join(endings)}" if endings else "a file"
            raise MissingFileError(f"expected {what} in {path}, found none")
        if len(wanted) < len(inside):
            left_out = len(inside) - len(wanted)
            progress.note(
                f"{path}: left out {left_out} of {len(inside)} files: they do not end in {', '.join(endings)}"
            )
        found += wanted
    return found


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
