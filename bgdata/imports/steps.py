"""Steps with other people's files: download, import and check them, and count positions that leak into benchmarks."""

from __future__ import annotations

import os
import shlex
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from bgdata.errors import (
    CheckFailedError,
    CorruptFileError,
    DigestMismatchError,
    DownloadError,
    ManifestFormatError,
    MissingFileError,
    StorageError,
    TooLargeError,
    UsageError,
    cite,
)
from bgdata.formats.lines import encoding_name
from bgdata.formats.unpacking import cause, is_archive, packing_error, unpack, unpack_archive
from bgdata.imports.sources import Source, SourceFile, load_sources
from bgdata.rows import Row
from bgdata.store.dataset import ImportedDataset
from bgdata.store.download import download, partial_path
from bgdata.store.manifest import unpacked_name
from bgdata.store.progress import Progress
from bgdata.store.storage import (
    check_room,
    checksum_bytes,
    hold_lock,
    parse_checksums,
    sha256_file,
    storage_errors,
    write_file,
)
from bgdata.store.table import Table
from bgdata.store.verify import verify
from bgdata.warehouse import Warehouse

RAW = "raw"  # folder of downloads in the warehouse
SUMS = "SHA256SUMS"  # hashes of the first downloads into a folder
ADVICE = "name the FILES that you need, or choose another folder with --output"  # advice if the disk is full
LOGIN_CODES = (401, 403)  # HTTP codes of a server that asks who downloads
STANDARD_INPUT = "/dev/stdin"  # the path of `-`


class Leak(NamedTuple):
    """The number of labelled rows of a variant whose positions also occur in benchmarks. Training leaves these rows
    out."""

    labels: str  # dataset/variant
    benchmarks: str  # benchmarks with these positions
    rows: int


def find_source(name: str) -> Source:
    """The publisher of this name. Raises UsageError if there is none."""
    sources = load_sources()
    if name not in sources:
        raise UsageError(f"expected a source among {', '.join(sources)}, got {cite(name)}; try: bgdata fetch")
    return sources[name]


def select_files(source: Source, names: Sequence[str]) -> list[SourceFile]:
    """Return the files of a publisher with these names, or all its files if there are no names. Raises UsageError for
    an unknown name."""
    known = [file.name for file in source.files]
    for name in names:
        if name not in known:
            raise UsageError(f"expected a file among {', '.join(known)}, got {cite(name)}")
    return [file for file in source.files if not names or file.name in names]


def check_free_disk(files: Sequence[SourceFile], folder: Path) -> None:
    """Raise TooLargeError if the disk is too small for the files that the folder does not contain yet. Files of unknown
    size do not count."""
    needed = 0
    for file in files:
        path = folder / file.name
        partial = partial_path(path)
        with storage_errors("read", path):
            if not path.exists():
                needed += max(0, file.size - (partial.stat().st_size if partial.is_file() else 0))
    check_room(folder, needed, ADVICE)


def fetch_file(source: Source, file: SourceFile, folder: Path, progress: Progress) -> Path:
    """Download a published file to a folder, unless it is there already, check its hash, and return its path.

    If no hash is published, SHA256SUMS in the folder records the hash of the first download, and later downloads are
    compared with it. Raises DownloadError if the download fails; StorageError if the file cannot be written;
    TooLargeError if the disk is full; CorruptFileError if the file is a web page, or is not compressed as its name
    says; DigestMismatchError if it has another hash; and ManifestFormatError if SHA256SUMS is damaged."""
    path = folder / file.name
    known = read_checksums(folder / SUMS).get(file.name, "")

    def check(found: Path) -> None:
        step = f"delete {path} and fetch it again" if found == path else "nothing is kept; try again later"
        _check_file(file, known, found, step)

    token = os.environ.get(source.login, "") if source.login else ""
    try:
        download(file.address, path, progress, check, token=token, advice=ADVICE)
    except DownloadError as error:
        if not source.login or token or getattr(error.__cause__, "code", 0) not in LOGIN_CODES:
            raise
        raise DownloadError(
            f"{error}; accept the conditions at {source.home}, and set {source.login} to a token of yours"
        ) from error
    check(path)
    if not known:
        with hold_lock(folder / f".{SUMS}.lock"):
            add_checksum(folder / SUMS, file.name, sha256_file(path))
    how = "hash is correct" if known or file.sha256 or file.content_sha256 else f"no hash is published, now in {SUMS}"
    progress.note(f"{file.name}: {path.stat().st_size:,} bytes, {how}")
    return path


def _check_file(file: SourceFile, known: str, path: Path, step: str) -> None:
    """Check the file at `path`, which was just downloaded, against the published hashes and against `known`, the hash
    of an earlier download, which may be empty. Raises CorruptFileError or DigestMismatchError, whose message ends with
    `step`."""
    if file.name.endswith(".bz2"):
        content_sha256 = _unpacked_hash(file, path, step)
        if file.content_sha256 and content_sha256 != file.content_sha256:
            raise DigestMismatchError(_other_hash(file, "unpacked ", file.content_sha256, content_sha256, step))
    elif file.name.endswith(".zip") and not zipfile.is_zipfile(path):
        raise CorruptFileError(f"expected a whole zip archive from {file.address}, found something else; {step}")
    with path.open("rb") as start:
        if start.read(1000).lstrip().lower().startswith((b"<!doctype", b"<html")):
            raise CorruptFileError(f"expected data from {file.address}, found a web page; {step}")
    if file.sha256 or known:
        found = sha256_file(path)
        if file.sha256 and found != file.sha256:
            raise DigestMismatchError(_other_hash(file, "", file.sha256, found, step))
        if known and found != known:
            step = f"{step}, or delete its line in {SUMS} if the publisher has changed it"
            raise DigestMismatchError(_other_hash(file, "", known, found, step))


def _other_hash(file: SourceFile, what: str, expected: str, found: str, step: str) -> str:
    return f"expected SHA-256 {expected[:16]}... of {what}{file.name}, found {found[:16]}...; {step}"


def _unpacked_hash(file: SourceFile, path: Path, step: str) -> str:
    """SHA-256 of the content of the file at `path` after unpacking. Raises CorruptFileError, whose message ends with
    `step`, if the file is truncated or not compressed."""
    try:
        facts = unpack(path, lambda _: None)
    except CorruptFileError as error:
        raise CorruptFileError(f"expected a whole packed file from {file.address}; {step}") from error
    if facts.content_sha256 == facts.sha256:
        raise CorruptFileError(f"expected a packed file from {file.address}, found something else; {step}")
    return facts.content_sha256


def read_checksums(path: Path) -> dict[str, str]:
    """Read the file SHA256SUMS at `path`. Returns SHA-256 in hex by file name, none if the file does not exist. Raises
    ManifestFormatError if it is damaged."""
    with storage_errors("read", path):
        written = path.read_bytes() if path.exists() else b""
    try:
        return dict(parse_checksums(written))
    except ValueError as error:
        raise ManifestFormatError(
            f"expected a line of sha256sum in {path}, got {cite(str(error))}; try: delete it"
        ) from None


def add_checksum(path: Path, name: str, sha256: str) -> None:
    """Add the SHA-256 of a file to the file SHA256SUMS at `path`, whose lines are sorted by name."""
    write_file(path, checksum_bytes({**read_checksums(path), name: sha256}))


def next_step(file: SourceFile, path: Path) -> str:
    """Return the command that imports the downloaded file at `path`, empty if no kind of dataset imports it."""
    if not file.kind:
        return ""
    if path.suffix == ".zip":
        place = shlex.quote(str(path.with_suffix("")))
        return f"python -m zipfile -e {shlex.quote(str(path))} {place} && bgdata import {file.kind} {place}"
    return f"bgdata import {file.kind} {shlex.quote(str(path))}"


def source_rows() -> list[Row]:
    """A row for each file that `bgdata fetch` can download."""
    return [
        {
            "source": source.name, "file": file.name, "kind": file.kind or None, "bytes": file.size or None,
            "sha256": file.sha256 or None, "content_sha256": file.content_sha256 or None, "address": file.address,
            "licence": source.licence, "citation": source.citation,
        }
        for source in load_sources().values()
        for file in source.files
    ]  # fmt: skip


def import_files(
    warehouse: Warehouse,
    kind: str,
    files: Sequence[Path],
    progress: Progress,
    *,
    name: str | None = None,
    encoding: str = "",
    strict: bool = False,
    force: bool = False,
) -> Table:
    """Import files, and the files in folders, as one version of a kind. Without `name`, the variant is named after the
    files. `strict` and `force` are as for `Warehouse.build`. Raises UsageError for a kind that is computed,
    MissingFileError if a file does not exist, NoRowsError if no file gives a row, and the errors of
    `Warehouse.build`."""
    parameters = import_parameters(warehouse, kind, files, name, encoding)
    with TemporaryDirectory() as folder:
        found = collect_files(warehouse, kind, files, progress, Path(folder))
        return warehouse.build(kind, parameters, files=found, progress=progress, strict=strict, force=force)


def import_parameters(
    warehouse: Warehouse, kind: str, files: Sequence[Path], name: str | None = None, encoding: str = ""
) -> Any:
    """Return the parameters of the variant that an import of these files and folders would make. Raises UsageError for
    a kind that is computed, MissingTableError for an unknown kind, MissingFileError if a file does not exist, and
    InvalidParameterError for an invalid name."""
    declared = warehouse.kind(kind)
    if not isinstance(declared, ImportedDataset):
        raise UsageError(f"expected a kind that is imported from files, got {kind}; try: bgdata build {kind}")
    for path in map(input_path, files):
        if not path.exists():
            raise MissingFileError(f"expected a file in {path}, found none")
    found = declared.parameters_of([path.resolve() if path.is_dir() else input_path(path) for path in files], name)
    if not encoding:
        return found
    if "encoding" not in found.names():
        raise UsageError(f"expected --encoding with matches, which have names of players, got {kind}")
    return found.with_changes({"encoding": encoding_name(encoding)})


def input_path(path: Path) -> Path:
    """Return the path, or for `-` the path of standard input."""
    return Path(STANDARD_INPUT) if str(path) == "-" else path


def collect_files(
    warehouse: Warehouse, kind: str, paths: Sequence[Path], progress: Progress, unpacked: Path
) -> list[Path]:
    """Return the files to import: the files among `paths`, and the files of the kind in folders among `paths` and in
    their subfolders. Hidden files and files of the warehouse are skipped. For a kind that recognises its files by
    content, archives are unpacked into the folder `unpacked`. Raises MissingFileError if a folder or archive contains
    no file of the kind, and the errors of `unpack_archive`."""
    declared: Any = warehouse.kind(kind)
    found: list[Path] = []
    for path in map(input_path, paths):
        archives = declared.is_told_by_content and is_archive(path)
        if not path.is_dir() and not archives:
            if declared.is_told_by_content and (error := packing_error(path)):
                raise error
            found.append(path)
            continue
        inside = unpack_archive(path, unpacked) if archives else _files_in(warehouse, path)
        if declared.is_told_by_content:
            inside = [member for each in inside for member in _members(each, unpacked)]
        wanted = [each for each in inside if _is_wanted(declared, each, progress)]
        if not wanted:
            among = f" in {len(inside):,} files" if inside else ""
            raise MissingFileError(f"expected {_what(declared)} in {path}, found none{among}")
        if len(wanted) < len(inside):
            progress.note(f"{path}: left out {len(inside) - len(wanted)} of {len(inside)} files: not {_what(declared)}")
        found += _without_packed_copies(wanted, progress)
    return found


def _members(path: Path, unpacked: Path) -> list[Path]:
    """Return the files of an archive. For any other file, or an archive that cannot be unpacked, return only that
    file."""
    try:
        return unpack_archive(path, unpacked) if is_archive(path) else [path]
    except (CorruptFileError, TooLargeError):
        return [path]


def _files_in(warehouse: Warehouse, folder: Path) -> list[Path]:
    return [
        each
        for each in sorted(folder.rglob("*"))
        if each.is_file()
        and not any(part.startswith(".") for part in each.relative_to(folder).parts)
        and not each.resolve().is_relative_to(warehouse.root.resolve())
    ]


def _is_wanted(kind: Any, path: Path, progress: Progress) -> bool:
    """Whether a file in a folder is of the kind, and should be imported. Raises StorageError if it cannot be read."""
    try:
        if kind.is_told_by_content:
            return bool(kind.computation.holds(path))
        if not unpacked_name(path.name.lower()).endswith(kind.endings or ""):
            return False
        if error := packing_error(path):
            progress.note(f"left out: {error}")
        return error is None
    except OSError as failure:
        raise StorageError(f"expected to read {path}, found: {cause(failure)}") from failure


def _without_packed_copies(paths: Sequence[Path], progress: Progress) -> list[Path]:
    """Leave out files for which there is an unpacked file of the same name, such as `a.mat.gz` beside `a.mat`, because
    rows refer to a file by its unpacked name."""
    there = set(paths)
    copies = [path for path in paths if path.with_name(unpacked_name(path.name)) in there - {path}]
    for path in copies:
        progress.note(f"left out: {path}: {unpacked_name(path.name)} lies beside it")
    return [path for path in paths if path not in copies]


def _what(kind: Any) -> str:
    if kind.is_told_by_content:
        return f"files with {kind.name}"
    return f"files that end in {', '.join(kind.endings)}" if kind.endings else "a file"


def check_version(warehouse: Warehouse, version: str, progress: Progress) -> list[str]:
    """Run all checks on the version KIND/VARIANT/VERSION, and return a line for each, as `bgdata verify` prints them.
    Raises CheckFailedError if a check fails."""
    findings = list(verify(warehouse, [warehouse.open_reference(version)], seed=0, progress=progress))
    if wrong := [finding for finding in findings if finding.problem]:
        raise CheckFailedError(f"{version}: {wrong[0].check}: {wrong[0].text}")
    return [f"{finding.check}: {finding.status}" for finding in findings]


def leakage_counts(warehouse: Warehouse) -> list[Leak]:
    """Count the labelled rows whose positions occur in benchmarks, with the view `leakage`. There is a result for each
    variant and each set of benchmarks that share its positions."""
    query = (
        "select dataset || '/' || variant as labels, list_aggregate(benchmarks, 'string_agg', ', '), count(*) "
        "from leakage group by all order by all"
    )
    with warehouse.connect(for_query=query) as connection:
        rows = connection.sql(query).fetchall()
    return [Leak(*row) for row in rows]
