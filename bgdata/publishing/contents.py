"""The contents of a published folder: its versions, tables, splits and files, as `published.json` lists them.

README.md, datapackage.json, croissant.json, openlineage.jsonl, SHA256SUMS, published.json
data/<config>/<split>-00000-of-00001.parquet      the rows of a table, in shards
versions/<kind>/<variant>/<version>/              the manifest, and arrays that are not in the rows
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bgdata.errors import ManifestFormatError, MissingFileError, cite
from bgdata.store.manifest import canonical_json, is_count, parse_json, read_whole
from bgdata.store.names import is_name, parse_reference

LISTING = "published.json"
SUMS = "SHA256SUMS"
CARD = "README.md"
FORMAT = 1
TRAIN, TEST = "train", "test"
_FILE = re.compile(r"(data|versions)/[a-z0-9][a-z0-9_-]*(/[a-z0-9][a-z0-9_-]*)*/[a-z0-9][a-z0-9_.-]*")
_SPLIT = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class File:
    """A file of a published folder: its path in the folder, size and SHA-256. A shard also has the number of its
    rows."""

    name: str
    bytes: int
    sha256: str
    rows: int = 0


@dataclass(frozen=True)
class Split:
    """A split of a published table, such as train or test: a name, and the files with its rows in order."""

    name: str
    files: tuple[File, ...]

    @property
    def rows(self) -> int:
        """The number of rows in all files of the split."""
        return sum(file.rows for file in self.files)


@dataclass(frozen=True)
class PublishedTable:
    """A table of a published version. Hugging Face shows each table as a configuration of the dataset."""

    config: str
    table: str  # its name in SQL
    splits: tuple[Split, ...]
    part_rows: tuple[int, ...]  # number of rows of each part of the version, in the version's order
    once: str = ""  # column whose values are each in one split only: `game`, or else `position_id`
    row_order: str = ""  # array with the number of the split of each row of the version; empty for a single split

    @property
    def rows(self) -> int:
        """The number of rows in all splits."""
        return sum(split.rows for split in self.splits)

    @property
    def files(self) -> list[File]:
        """The files with the rows of all splits, split by split."""
        return [file for split in self.splits for file in split.files]


@dataclass(frozen=True)
class PublishedVersion:
    """A version in a published folder: its tables, its manifest, and where each of its arrays is: in columns of the
    rows or in a file."""

    name: str  # kind/variant/version
    licence: str
    writer: str  # the software on which the bytes of its files depend: see `folder.writing_software`
    tables: tuple[PublishedTable, ...]
    files: tuple[File, ...]  # files of its folder: the manifest, and packed arrays
    recipes: Mapping[str, Mapping[str, Any]]  # recipe by file of the array, such as `boards.npy`: see `recovery`

    @property
    def folder(self) -> str:
        """The folder of the version's manifest and arrays, as a path in the published folder."""
        return f"versions/{self.name}"

    @property
    def all_files(self) -> list[File]:
        """All files of the version: the rows of its tables, its manifest and its arrays."""
        return [*(file for table in self.tables for file in table.files), *self.files]


@dataclass(frozen=True)
class Contents:
    """The contents of a published folder, as its list `published.json` records them."""

    title: str
    about: str
    versions: tuple[PublishedVersion, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)  # reasons, by the name of a version or table

    @property
    def tables(self) -> list[PublishedTable]:
        """The tables of all versions."""
        return [table for version in self.versions for table in version.tables]

    @property
    def files(self) -> list[File]:
        """All files of tables and versions. Files that describe the folder, such as README.md, are left out."""
        return [file for version in self.versions for file in version.all_files]

    @property
    def rows(self) -> int:
        """The number of rows in all tables."""
        return sum(table.rows for table in self.tables)

    @property
    def size(self) -> int:
        """The number of bytes in all files of tables and versions."""
        return sum(file.bytes for file in self.files)

    def to_bytes(self) -> bytes:
        """Return the content of `published.json`."""
        return canonical_json({"format": FORMAT, **asdict(self)}, indent=2)


def visible_files(folder: Path) -> Iterator[str]:
    """Yield the paths of all files in a published folder, sorted. Files and folders at its top whose names begin with a
    dot, such as those of git, are left out."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not name.parts[0].startswith("."):
            yield name.as_posix()


def read_contents(folder: Path) -> Contents:
    """Read `published.json`, the list of a published folder. Raises MissingFileError if the list does not exist, and
    ManifestFormatError if it is damaged."""
    path = folder / LISTING
    try:
        return parse_contents(read_whole(path), path)
    except FileNotFoundError as error:
        raise MissingFileError(
            f"expected a published folder with {LISTING}, got {folder}; try: bgdata publish FOLDER"
        ) from error


def parse_contents(written: bytes, where: Path | str) -> Contents:
    """Parse the content of `published.json`; `where` is its path or address, for errors. Raises ManifestFormatError if
    the content is damaged, or if the path of a file leads out of the folder."""
    try:
        data = parse_json(written)
        if data["format"] != FORMAT:
            raise ManifestFormatError(
                f"expected a published folder of format {FORMAT} in {where}, found format {cite(data['format'])}; "
                "upgrade bgdata"
            )
        versions = tuple(map(parse_version, data["versions"]))
        return Contents(str(data["title"]), str(data["about"]), versions, dict(data["left_out"]))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        if isinstance(error, ManifestFormatError):
            raise
        raise ManifestFormatError(
            f"expected the list of a published folder in {where}, found: {cite(str(error))}"
        ) from error


def parse_version(data: Any) -> PublishedVersion:
    """Make a `PublishedVersion` from its JSON. Raises ValueError, LookupError or TypeError if it is invalid."""
    if parse_reference(data["name"])[2] is None:
        raise ValueError(data["name"])
    tables = tuple(map(_table, data["tables"]))
    return PublishedVersion(
        data["name"], str(data["licence"]), str(data["writer"]), tables, _files(data["files"]), dict(data["recipes"])
    )


def _table(data: Any) -> PublishedTable:
    if not is_name("kind", data["table"]) or not all(map(is_count, data["part_rows"])):
        raise ValueError(data["table"])
    if data["row_order"] and not is_name("file", data["row_order"]):
        raise ValueError(data["row_order"])
    if data["once"] and not is_name("kind", data["once"]):
        raise ValueError(data["once"])
    splits = tuple(Split(_check_text(_SPLIT, each["name"]), _files(each["files"])) for each in data["splits"])
    part_rows = tuple(data["part_rows"])
    return PublishedTable(str(data["config"]), data["table"], splits, part_rows, data["once"], data["row_order"])


def _files(data: Any) -> tuple[File, ...]:
    found = []
    for each in data:
        _check_text(_FILE, each["name"])
        if not (is_count(each["bytes"]) and is_count(each["rows"]) and is_name("digest", each["sha256"])):
            raise ValueError(each["name"])
        found.append(File(**each))
    return tuple(found)


def _check_text(rule: re.Pattern[str], text: Any) -> str:
    if not (isinstance(text, str) and rule.fullmatch(text)):
        raise ValueError(text)
    return text
