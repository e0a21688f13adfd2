"""The manifest of a version: what it is, what it was made from, and the hashes that prove it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from bgdata.errors import ManifestFormatError, MissingTableError
from bgdata.store.storage import storage_errors, write_file

FORMAT = 1
FILE_NAME = "manifest.json"
SEAL = "manifest_sha256"  # hash of all other fields


@dataclass(frozen=True)
class FileEntry:
    """A file of a version: name, size and hash."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class RawFile:
    """A file that a version was imported from, and where it came from."""

    name: str
    bytes: int
    sha256: str
    content_sha256: str  # of the unpacked content
    address: str = ""
    licence: str = ""
    date: str = ""  # of the file itself or of its download

    @property
    def recipe(self) -> str:
        """What the values are made from: the content, and the name that rows remember."""
        return f"{self.content_sha256} {unpacked_name(self.name)}"


def unpacked_name(name: str) -> str:
    """The name of a file without the ending that says how it is packed."""
    return name.removesuffix(".gz").removesuffix(".bz2")


@dataclass(frozen=True)
class Manifest:
    """Everything about one version. Time, machine and software are recorded but are no part of any digest."""

    dataset: str
    variant: str
    revision: int
    parameters: dict[str, Any]
    recipe_key: str
    digest: str  # of the values: see arrays.values_digest
    inputs: dict[str, str]  # role -> "dataset/variant@digest"
    raw_files: list[RawFile]
    warnings: list[str]
    rows: int
    files: list[FileEntry]
    statistics: dict[str, float]
    licence: str
    source: str
    kernel_fingerprint: str
    software: dict[str, str]
    source_commit: str
    created: str
    seconds: float
    peak_memory_bytes: int
    machine: str
    format: int = field(default=FORMAT)

    @property
    def version(self) -> str:
        """Name of the version's folder: r<revision>-<first 8 hex digits of the digest>."""
        return f"r{self.revision}-{self.digest[:8]}"

    def to_bytes(self) -> bytes:
        """The file: JSON with a hash of the fields, so that any byte that changes later shows."""
        values = asdict(self)
        return canonical_json({**values, SEAL: hashlib.sha256(canonical_json(values)).hexdigest()}, indent=2)

    def save(self, folder: Path) -> None:
        """Write manifest.json into a folder."""
        write_file(folder / FILE_NAME, self.to_bytes())


def canonical_json(value: object, indent: int | None = None) -> bytes:
    """JSON with sorted keys, so equal values are equal bytes."""
    separators = (",", ":") if indent is None else None
    return (json.dumps(value, sort_keys=True, indent=indent, separators=separators) + "\n").encode()


def recipe_key(
    dataset: str, revision: int, parameters: dict[str, Any], inputs: dict[str, str], raw_files: Sequence[RawFile] = ()
) -> str:
    """SHA-256 of all that determines the values: kind, revision, parameters, digests of the inputs, and raw files."""
    recipe: dict[str, Any] = {"dataset": dataset, "revision": revision, "parameters": parameters, "inputs": inputs}
    if raw_files:
        recipe["raw_files"] = [file.recipe for file in raw_files]
    return hashlib.sha256(canonical_json(recipe)).hexdigest()


def load_manifest(folder: Path) -> Manifest:
    """Read and check the manifest of a version.

    Raises MissingTableError when there is none, ManifestFormatError when it is damaged or of a newer format.
    """
    path = folder / FILE_NAME
    with storage_errors("read", path):
        try:
            written = path.read_bytes()
        except FileNotFoundError as error:
            raise MissingTableError(f"expected a manifest in {folder}, found none; try: bgdata verify") from error
    try:
        data = json.loads(written)
    except ValueError as error:
        raise ManifestFormatError(f"expected JSON in {path}, found: {error}; try: bgdata verify --repair") from error
    if not isinstance(data, dict) or not isinstance(data.get("format"), int):
        raise ManifestFormatError(f"expected a manifest of format {FORMAT} in {path}, found no format number")
    if data["format"] > FORMAT:
        raise ManifestFormatError(
            f"expected a manifest of format {FORMAT} or older in {path}, found format {data['format']}; upgrade bgdata"
        )
    known = {entry.name for entry in fields(Manifest)} | {SEAL}
    if set(data) != known:
        wrong = ", ".join(sorted(set(data) ^ known))
        raise ManifestFormatError(f"expected the fields of manifest format {FORMAT} in {path}, differing: {wrong}")
    try:
        files = [FileEntry(**entry) for entry in data["files"]]
        raw_files = [RawFile(**entry) for entry in data["raw_files"]]
    except TypeError as error:
        raise ManifestFormatError(f"expected name, bytes and sha256 for each file in {path}, found: {error}") from error
    del data[SEAL]
    manifest = Manifest(**{**data, "files": files, "raw_files": raw_files})
    if manifest.to_bytes() != written:
        raise ManifestFormatError(f"expected {path} as it was written, found it changed; try: bgdata verify --repair")
    return manifest
