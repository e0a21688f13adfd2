"""The manifest of a version: its identity, its inputs, and the hashes that verify it."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from bgdata.errors import InvalidNameError, ManifestFormatError, MissingTableError, cite
from bgdata.store.names import is_name, parse_input
from bgdata.store.storage import open_regular, storage_errors, write_file

FORMAT = 1
PARTS_FORMAT = 2  # format of a version in several parts
FILE_NAME = "manifest.json"
SEAL = "manifest_sha256"  # hash of all other fields
MAX_BYTES = 1 << 24  # size of a manifest or a lock
Check: TypeAlias = Callable[[Any], bool]


@dataclass(frozen=True)
class FileEntry:
    """A file of a version, as its manifest lists it: name, size and SHA-256."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Part:
    """A part of a version, with its number of rows in the main table and the digest of its values. It is computed from
    the items (such as games) from `begin` to before `end`."""

    begin: int
    end: int
    rows: int
    digest: str

    @property
    def items(self) -> range:
        """The numbers of the items from which the part is computed."""
        return range(self.begin, self.end)


@dataclass(frozen=True)
class RawFile:
    """A file from which a version was imported: its name, size and hashes, and where it came from."""

    name: str
    bytes: int
    sha256: str
    content_sha256: str  # hash of the unpacked content
    address: str = ""
    licence: str = ""
    date: str = ""  # date of the file or its download

    @property
    def recipe(self) -> str:
        """The part of a recipe that identifies the file: the hash of its content, and the name by which rows refer to
        it."""
        return f"{self.content_sha256} {unpacked_name(self.name)}"


class Source(NamedTuple):
    """A file to import: its description, its unpacked content (bytes, or an object from which the kind reads them), and
    its number of items, such as lines, if the kind stores versions in parts."""

    file: RawFile
    content: Any
    items: int = 0


def unpacked_name(name: str) -> str:
    """Return the file name without an ending for compression, such as `.gz`."""
    return name.removesuffix(".gz").removesuffix(".bz2")


def file_names(paths: Sequence[Path]) -> list[str]:
    """Return the names by which a version refers to the files at these paths. A name is the file name. If several files
    have the same file name, it is preceded by as many folders, separated by `:`, as are needed to distinguish them.
    Only equal paths have equal names."""
    names = [path.name for path in paths]
    for count in range(2, max((len(path.parts) for path in paths), default=0) + 1):
        uses = Counter(map(unpacked_name, names))
        names = [
            name if uses[unpacked_name(name)] == 1 else ":".join(part.strip("/") for part in path.parts[-count:])
            for path, name in zip(paths, names, strict=True)
        ]
    return names


@dataclass(frozen=True)
class Manifest:
    """The manifest of a version: everything that is recorded about it. Time, machine and software are recorded too, but
    no digest depends on them."""

    dataset: str
    variant: str
    revision: int
    parameters: dict[str, Any]
    recipe_key: str
    digest: str  # digest of the values: see arrays.values_digest
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
    parts: list[Part] = field(default_factory=list)  # parts of the version; empty if it is not stored in parts

    @property
    def version(self) -> str:
        """The name of the version, which is the name of its folder."""
        return version_name(self.revision, self.digest)

    def to_bytes(self) -> bytes:
        """The content of manifest.json: the fields as JSON, with their hash, which reveals later changes."""
        return _seal(self.values())

    def values(self) -> dict[str, Any]:
        """The fields as JSON values. A statistic that is NaN, such as the mean of no rows, becomes null."""
        listed = {name: [vars(entry) for entry in getattr(self, name)] for name in ("files", "raw_files")}
        figures = {name: value if math.isfinite(value) else None for name, value in self.statistics.items()}
        found = vars(self) | listed | {"statistics": figures, "parts": [vars(entry) for entry in self.parts]}
        return found if self.parts else {name: value for name, value in found.items() if name != "parts"}

    def save(self, folder: Path) -> None:
        """Write manifest.json to a folder."""
        write_file(folder / FILE_NAME, self.to_bytes())


def parts_digest(parts: Sequence[Part], shared: str) -> str:
    """Return the digest of a version in parts: SHA-256 over the range and digest of each part, in order, and over
    `shared`, the digest of the arrays that all parts share."""
    return hashlib.sha256(canonical_json([shared, [[part.begin, part.end, part.digest] for part in parts]])).hexdigest()


def part_file(name: str, number: int) -> str:
    """The name that a file has in part `number` of a version: `part_00007_table.parquet` for `table.parquet`."""
    return f"part_{number:05d}_{name}"


def is_part_file(name: str) -> bool:
    """Whether a file name has the form of those that `part_file` returns."""
    return re.match(r"part_\d{5}_", name) is not None


def version_name(revision: int, digest: str) -> str:
    """The name of a version with this revision and digest: `r<revision>-<first 8 hex digits of the digest>`."""
    return f"r{revision}-{digest[:8]}"


def _seal(values: dict[str, Any]) -> bytes:
    return canonical_json({**values, SEAL: hashlib.sha256(canonical_json(values)).hexdigest()}, indent=2)


def canonical_json(value: object, indent: int | None = None) -> bytes:
    """Write a value as JSON with sorted keys, so that equal values give equal bytes. Raises ValueError for NaN and
    infinity."""
    separators = (",", ":") if indent is None else None
    return (json.dumps(value, sort_keys=True, indent=indent, separators=separators, allow_nan=False) + "\n").encode()


def recipe_key(
    dataset: str, revision: int, parameters: dict[str, Any], inputs: dict[str, str], raw_files: Sequence[RawFile] = ()
) -> str:
    """Return the key of a recipe: the SHA-256 over everything that determines the values of a version: its kind,
    revision and parameters, the digests of its inputs, and the raw files."""
    recipe: dict[str, Any] = {"dataset": dataset, "revision": revision, "parameters": parameters, "inputs": inputs}
    if raw_files:
        recipe["raw_files"] = [file.recipe for file in raw_files]
    return hashlib.sha256(canonical_json(recipe)).hexdigest()


def load_manifest(folder: Path) -> Manifest:
    """Read and check the manifest in the folder of a version. Raises MissingTableError if there is none, and
    ManifestFormatError if it is damaged, or written in a newer format."""
    path = folder / FILE_NAME
    try:
        written = read_whole(path)
    except FileNotFoundError as error:
        raise MissingTableError(f"expected a manifest in {folder}, found none; try: bgdata verify") from error
    return parse_manifest(written, path)


def parse_manifest(written: bytes, path: Path | str) -> Manifest:
    """Parse and check the content of a manifest file. Errors name `path`. Raises ManifestFormatError if it is not a
    valid manifest."""
    try:
        data = parse_json(written)
    except ValueError as error:
        raise ManifestFormatError(f"expected JSON in {path}, found: {error}; try: bgdata verify --repair") from error
    if not isinstance(data, dict) or not is_count(data.get("format")):
        raise ManifestFormatError(f"expected a manifest of format {FORMAT} in {path}, found no format number")
    if data["format"] > PARTS_FORMAT:
        raise ManifestFormatError(
            f"expected a manifest of format {PARTS_FORMAT} or older in {path}, found format {data['format']}; "
            "upgrade bgdata"
        )
    known = {entry.name for entry in fields(Manifest)} | {SEAL}
    if data["format"] < PARTS_FORMAT:
        known.remove("parts")
    if set(data) != known:
        wrong = cite(", ".join(sorted(set(data) ^ known)))
        raise ManifestFormatError(
            f"expected the fields of manifest format {data['format']} in {path}, differing: {wrong}"
        )
    for name, (what, is_right) in _FIELDS.items():
        if name in data and not is_right(data[name]):
            raise ManifestFormatError(f"expected {what} as {name} in {path}, found {cite(data[name])}")
    del data[SEAL]
    if not _is_as_written(written):
        raise ManifestFormatError(f"expected {path} as it was written, found it changed; try: bgdata verify --repair")
    files = [FileEntry(**entry) for entry in data["files"]]
    raw_files = [RawFile(**entry) for entry in data["raw_files"]]
    statistics = {name: math.nan if value is None else value for name, value in data["statistics"].items()}
    parts = [Part(**entry) for entry in data.get("parts", ())]
    if sum(part.rows for part in parts) != (data["rows"] if parts else 0):
        raise ManifestFormatError(f"expected the rows of all parts in {path}, found {data['rows']} rows in all")
    lists = {"files": files, "raw_files": raw_files, "statistics": statistics, "parts": parts}
    return Manifest(**{**data, **lists})


@lru_cache(128)  # programs often open the same few tables again
def _is_as_written(written: bytes) -> bool:
    """Whether the fields of a manifest match the hash that it contains."""
    data = parse_json(written)
    del data[SEAL]
    return _seal(data) == written


def read_whole(path: Path) -> bytes:
    """Read the content of a manifest or lock file. Raises FileNotFoundError if it does not exist, CorruptFileError if
    it is not a regular file, ManifestFormatError if it is far larger than any valid one, and StorageError if it cannot
    be read."""
    with storage_errors("read", path):
        try:
            with open_regular(path) as file:
                written = file.read(min(os.fstat(file.fileno()).st_size, MAX_BYTES) + 1)
        except FileNotFoundError:
            written = None
    if written is None:
        raise FileNotFoundError(path)
    if len(written) > MAX_BYTES:
        raise ManifestFormatError(f"expected at most {MAX_BYTES:,} bytes in {path}, found more; try: bgdata verify")
    return written


def parse_json(written: bytes) -> Any:
    """Parse JSON strictly, without NaN and infinity. Raises ValueError if the bytes are not valid."""

    def refuse(word: str) -> None:
        raise ValueError(f"{word}, which is not a number in JSON")

    try:
        value = json.loads(written, parse_constant=refuse)
        json.dumps(value, ensure_ascii=False).encode()  # raises for lone surrogates, which other readers reject
    except RecursionError:
        raise ValueError("values inside values without end") from None
    return value


def is_count(value: object) -> bool:
    """Whether a value is an integer from 0 to 2^63 - 1, and not a boolean."""
    return type(value) is int and 0 <= value < 1 << 63


def _is_number(value: object) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def is_text(value: object) -> bool:
    """Whether a value is a string."""
    return isinstance(value, str)


def _is_parameter(value: object) -> bool:
    """Whether a JSON value can be a parameter: a number, a string, a boolean, null, or a list or object of such
    values."""
    if isinstance(value, list):
        return all(map(_is_parameter, value))
    is_plain = value is None or isinstance(value, bool | str) or _is_number(value)
    return is_plain or _is_mapping(value, _is_parameter, "kind")


def _is_input(value: object) -> bool:
    """Whether a value is a string of the form `kind/variant@digest`, which names an input."""
    try:
        return bool(parse_input(value))
    except InvalidNameError:
        return False


def _is_mapping(value: object, is_right: Check, names: str = "") -> bool:
    """Whether a value is a mapping in which every value passes the check `is_right`, and every key is a name of the
    sort `names` (see `names.is_name`). If `names` is empty, keys are any strings."""
    return isinstance(value, dict) and all(
        (not names or is_name(names, name)) and is_right(entry) for name, entry in value.items()
    )


def _is_list(value: object, is_right: Check) -> bool:
    return isinstance(value, list) and all(map(is_right, value))


def _is_record_list(value: Any, checks: Mapping[str, Check]) -> bool:
    """Whether a value is a list of objects that have exactly the fields in `checks`, each of which passes its check."""
    return _is_list(value, lambda entry: isinstance(entry, dict) and set(entry) == set(checks)) and all(
        is_right(entry[name]) for entry in value for name, is_right in checks.items()
    )


_is_digest = partial(is_name, "digest")
_FILE_FIELDS: dict[str, Check] = {"name": partial(is_name, "file"), "bytes": is_count, "sha256": _is_digest}
_RAW_FILE_FIELDS: dict[str, Check] = {entry.name: is_text for entry in fields(RawFile)} | {
    "name": lambda value: is_text(value) and "/" not in value,  # otherwise any string is a valid name
    "bytes": is_count,
    "sha256": _is_digest,
    "content_sha256": _is_digest,
}
_PART_FIELDS: dict[str, Check] = {"begin": is_count, "end": is_count, "rows": is_count, "digest": _is_digest}
_FIELDS: dict[str, tuple[str, Check]] = {  # fields of a manifest: expectation and check
    "dataset": ("the name of a kind", partial(is_name, "kind")),
    "variant": ("the name of a variant", partial(is_name, "variant")),
    "revision": ("a number", is_count),
    "parameters": ("values by name", lambda value: _is_mapping(value, _is_parameter, "kind")),
    "recipe_key": ("64 hex digits", _is_digest),
    "digest": ("64 hex digits", _is_digest),
    "inputs": ("kind/variant@digest by role", lambda value: _is_mapping(value, _is_input, "role")),
    "raw_files": (
        "the files that it was imported from",
        lambda value: _is_record_list(value, _RAW_FILE_FIELDS),
    ),
    "warnings": ("texts", lambda value: _is_list(value, is_text)),
    "rows": ("a number", is_count),
    "files": (
        "name, bytes and sha256 for each file",  # each listed once
        lambda value: _is_record_list(value, _FILE_FIELDS) and len({each["name"] for each in value}) == len(value),
    ),
    "parts": (
        "ranges, one after the other, at least two",
        lambda value: (
            _is_record_list(value, _PART_FIELDS)
            and len(value) > 1
            and [each["begin"] for each in value] == [0, *(each["end"] for each in value[:-1])]
            and all(each["begin"] < each["end"] for each in value)
        ),
    ),
    "statistics": (
        "numbers or null by text",
        lambda value: _is_mapping(value, lambda each: each is None or _is_number(each)),
    ),
    "software": ("texts by name", lambda value: _is_mapping(value, is_text)),
    "seconds": ("a number", _is_number),
    "peak_memory_bytes": ("a number", is_count),
    **dict.fromkeys(
        ("licence", "source", "kernel_fingerprint", "source_commit", "created", "machine"), ("a text", is_text)
    ),
}
