"""Parts that imported kinds share: their source files, the quarantine, and rows with one position each.

As in computed kinds, the arrays contain everything, and the Parquet files are made from them. Each row contains its
file (an index into `sources`) and its line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from bgdata.errors import InvalidParameterError, UsageError
from bgdata.kinds.columns import CHANCE_COLUMNS, CLASS_COLUMN, POSITION_COLUMNS, text_declarations
from bgdata.store.dataset import Column, Estimate, FlatArray, ImportedDataset, TableShape
from bgdata.store.manifest import unpacked_name
from bgdata.store.names import is_name
from bgdata.store.parameters import Parameters

MAX_FILES = 1 << 16  # the range of the array `source`
LONGEST_NAME = 64  # longest name of a variant, in letters
NAME_HINT = "try: --name NAME"
SOURCE_COLUMNS = (
    Column("source", "VARCHAR", "", "Name of the file that the row was read from"),
    Column("line", "INTEGER", "", "Line of the file, from 1"),
)
QUARANTINE = TableShape(
    name="quarantine",
    file="quarantine.parquet",
    summary="Lines of imported files that break a rule, with the reason; they are in no other table.",
    columns=(
        *SOURCE_COLUMNS,
        Column("text", "VARCHAR", "", "The line, cut if it is long, other than printable characters escaped"),
        Column("reason", "VARCHAR", "", "The rule that the line breaks"),
    ),
    key=("source", "line"),
    shared=True,
)
SOURCE_ARRAYS = (
    *text_declarations("sources", "file", "Names of the files that rows were read from", is_shared=True),
    FlatArray("source", "uint16", "row", "Index of the row's file in `sources`"),
    FlatArray("line", "int32", "row", "Line of the file, from 1"),
)
QUARANTINE_ARRAYS = (
    FlatArray("quarantine_source", "uint16", "quarantined line", "Index of the line's file in `sources`"),
    FlatArray("quarantine_line", "int32", "quarantined line", "Line of the file, from 1"),
    *text_declarations("quarantine_text", "quarantined line", "The lines"),
    *text_declarations("quarantine_reason", "quarantined line", "What is wrong with them"),
    FlatArray("line_counts", "int64", "file, (lines, rows, comments, quarantined)", "How the lines of each file ended"),
)
POSITION_ARRAYS = (
    FlatArray("boards", "int8", "row, 26 integers", "Boards of the player on roll"),
    FlatArray("classes", "uint8", "row", "Class of the position, numbered as by gnubg"),
)
CHANCES_ARRAY = FlatArray(
    "chances", "float32", "row, (win, win_gammon, win_backgammon, lose_gammon, lose_backgammon)", "Cumulative chances"
)


@dataclass(frozen=True)
class ImportParameters(Parameters):
    """The parameters of an import. The only parameter is the name, which the user gives, or which is made from the
    names of the files. It consists of lower-case letters, digits, and single `-`."""

    name: str = "unnamed"

    def check(self) -> None:
        """Raise InvalidParameterError if the name could not be part of a path or of a view's name."""
        if not is_name("variant", self.name) or len(self.name) > LONGEST_NAME:
            raise InvalidParameterError(
                f"expected a name of at most {LONGEST_NAME} small letters, digits and single - between them, "
                f"got {self.name!r}"
            )

    @classmethod
    def of_files(cls, files: Sequence[Path], name: str | None = None) -> Self:
        """Make the parameters for importing these files. The name is `name`, or the names of all files and folders,
        joined by `-and-`, and shortened if they are too long. Raises InvalidParameterError for an invalid name."""
        if name is None:
            names = {path.name: name_of_file(path.name) for path in files}
            for file, found in names.items():
                if not found:
                    raise InvalidParameterError(f"expected a file name with letters a to z, got {file}; {NAME_HINT}")
            name = shorten("-and-".join(sorted(names.values())))
        parameters = cls(name)
        parameters.check()
        return parameters

    @classmethod
    def from_manifest(cls, values: Mapping[str, Any]) -> Self:
        """Make parameters from the JSON values in a manifest. Early imports of gnubg's files recorded a class of
        positions in place of a name."""
        if set(values) == {"position_class"}:
            values = {"name": values["position_class"]}
        return super().from_manifest(values)


def name_of_file(name: str) -> str:
    """Make the name of a variant from the name of a file: in lower case, without endings for format and compression,
    and with a single `-` for characters other than letters and digits. The result is empty if nothing is left."""
    stem = re.sub(r"(?<=.)\.[A-Za-z]+$", "", unpacked_name(name))
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")


def shorten(name: str) -> str:
    """Return the name of a variant, or, if it is too long, its beginning and a hash of the whole name."""
    if len(name) <= LONGEST_NAME:
        return name
    mark = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: LONGEST_NAME - len(mark) - 1].rstrip('-')}-{mark}"


class FileImport(ImportedDataset[ImportParameters]):
    """Base of kinds whose files are read line by line into arrays. A line that breaks a rule goes to quarantine.
    Subclasses declare the reader and the arrays."""

    address: ClassVar[str] = ""  # where the files are published
    side_tables: ClassVar[tuple[TableShape, ...]] = (QUARANTINE,)
    parameters = ImportParameters
    defaults: tuple[ImportParameters, ...] = ()
    smallest = ImportParameters("sample")

    def slug(self, parameters: ImportParameters) -> str:
        return parameters.name

    def check_parameters(self, parameters: ImportParameters) -> None:
        parameters.check()

    def parameters_of(self, files: Sequence[Path], name: str | None = None) -> ImportParameters:
        return self.parameters.of_files(files, name)

    def check_files(self, files: Sequence[Path]) -> None:
        super().check_files(files)
        if len(files) > MAX_FILES:
            raise UsageError(f"expected at most {MAX_FILES:,} files at once, got {len(files):,}")

    def estimate(self, _parameters: ImportParameters) -> Estimate:
        """Return an estimate of 0, because the size is unknown until the files are read."""
        return Estimate(0, 0, 0)


class PositionImport(FileImport):
    """Base of imported kinds in which a row is a position, with or without chances. Versions are divided into parts by
    lines."""

    computed_by = "positions"
    part_items = 4_000_000
    columns: ClassVar[tuple[Column, ...]] = (*SOURCE_COLUMNS, *POSITION_COLUMNS, CLASS_COLUMN, *CHANCE_COLUMNS)
    key = ("source", "line")
    arrays: ClassVar[tuple[FlatArray, ...]] = (*SOURCE_ARRAYS, *POSITION_ARRAYS, CHANCES_ARRAY, *QUARANTINE_ARRAYS)
