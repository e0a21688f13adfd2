"""What imported kinds share: the files they come from, the quarantine, and rows of one position each.

Arrays hold everything, as in the computed kinds: the Parquet files are made from them. A row knows its file (an index
of `sources`) and its line.
"""

from __future__ import annotations

import hashlib
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from bgdata.datasets._columns import (
    CHANCE_COLUMNS,
    CLASS_COLUMN,
    POSITION_COLUMNS,
    chance_columns,
    chosen_texts,
    class_column,
    position_columns,
    text_arrays,
    text_column,
    text_declarations,
)
from bgdata.errors import CheckFailedError, InvalidParameterError, UsageError
from bgdata.formats.lines import Quarantined, read_bytes
from bgdata.store.dataset import Column, Estimate, FlatArray, ImportedDataset, Parameters, TableShape
from bgdata.store.manifest import RawFile, unpacked_name

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.formats.lines import Intake
    from bgdata.store.arrays import Array
    from bgdata.store.job import Job
    from bgdata.store.table import Table

MOST_FILES = 1 << 16  # as the arrays number them
MOST_REASONS = 20  # that a manifest counts one by one: those of games name their lines
FILE_CLASSES = ("contact", "crashed", "race")
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
    *text_declarations("sources", "file", "Names of the files that rows were read from"),
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
class FileParameters(Parameters):
    """Base of the parameters of imported kinds: they come from the files' names, or from what the user says."""

    @property
    @abstractmethod
    def slug(self) -> str:
        """Name of the variant."""

    @abstractmethod
    def check(self) -> None:
        """Raise InvalidParameterError when no such variant can exist."""

    @classmethod
    @abstractmethod
    def of_files(cls, files: Sequence[Path], given: Mapping[str, str]) -> Self:
        """The variant that these files are. Raises InvalidParameterError."""


@dataclass(frozen=True)
class NamedParameters(FileParameters):
    """A name for what is imported; small letters, digits, single `-`."""

    name: str = "unnamed"

    @property
    def slug(self) -> str:
        """The name."""
        return self.name

    def check(self) -> None:
        """A name is part of paths and views."""
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.name):
            raise InvalidParameterError(f"expected a name of small letters, digits and single -, got {self.name!r}")

    @classmethod
    def of_files(cls, files: Sequence[Path], given: Mapping[str, str]) -> Self:
        """The name that is given, or that of the first file."""
        text = given.get("name") or files[0].name.split(".")[0]
        return cls(re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "unnamed")


@dataclass(frozen=True)
class ClassParameters(FileParameters):
    """The class of positions that the files promise: contact, crashed or race."""

    position_class: str = "contact"

    @property
    def slug(self) -> str:
        """The class."""
        return self.position_class

    def check(self) -> None:
        """Only some classes have files."""
        if self.position_class not in FILE_CLASSES:
            raise InvalidParameterError(f"expected a class of {', '.join(FILE_CLASSES)}, got {self.position_class}")

    @classmethod
    def of_files(cls, files: Sequence[Path], given: Mapping[str, str]) -> Self:
        """The class that is given, or that begins the name of every file."""
        if "class" in given:
            return cls(given["class"])
        begin = {next((entry for entry in FILE_CLASSES if path.name.lower().startswith(entry)), "") for path in files}
        if len(begin) != 1 or "" in begin:
            raise InvalidParameterError(
                f"expected file names that begin with one of {', '.join(FILE_CLASSES)}, "
                f"got {', '.join(path.name for path in files)}; try: --class contact"
            )
        return cls(begin.pop())


P = TypeVar("P", bound=FileParameters)


class FileImport(ImportedDataset[P]):
    """Files read into arrays, lines that break a rule set aside; a subclass says which reader and which arrays."""

    side_tables: ClassVar[tuple[TableShape, ...]] = (QUARANTINE,)
    defaults: tuple[P, ...] = ()

    def slug(self, parameters: P) -> str:
        return parameters.slug

    def check_parameters(self, parameters: P) -> None:
        parameters.check()

    def parameters_of(self, files: Sequence[Path], given: Mapping[str, str]) -> P:
        found: P = self.parameters.of_files(files, given)
        return found

    def check_files(self, files: Sequence[Path]) -> None:
        super().check_files(files)
        if len(files) > MOST_FILES:
            raise UsageError(f"expected at most {MOST_FILES:,} files at once, got {len(files):,}")

    @abstractmethod
    def read(self, path: Path, parameters: P) -> Intake:
        """Read one file and apply the rules of this kind."""

    @abstractmethod
    def arrays_of(self, intakes: Sequence[Any]) -> dict[str, Array]:
        """The arrays of all files together, `source` and `line` and the quarantine left out."""

    def provenance(self, path: Path, file: RawFile) -> RawFile:
        """With the hash of the unpacked content, which is what the recipe knows the file by."""
        return replace(file, licence=self.licence, content_sha256=hashlib.sha256(read_bytes(path)).hexdigest())

    def estimate(self, parameters: P) -> Estimate:  # noqa: ARG002
        """Unknown before the files are read."""
        return Estimate(0, 0, 0)

    def compute(self, parameters: P, inputs: Mapping[str, Table], job: Job) -> None:  # noqa: ARG002
        job.progress.start(f"{self.name}/{self.slug(parameters)}: reading", len(job.files), "files")
        intakes = []
        for path in job.files:
            intakes.append(self.read(path, parameters))
            job.progress.advance(1)
        names = text_arrays("sources", [unpacked_name(path.name) for path in job.files])
        arrays = names | self.arrays_of(intakes) | quarantine_arrays(intakes)
        if job.strict:
            self.check_strict(arrays)
        for name, values in arrays.items():
            job.save(name, values)

    def check_strict(self, arrays: Mapping[str, Array]) -> None:
        count = len(arrays["quarantine_line"])
        if count:
            source = text_column(arrays, "sources")[int(arrays["quarantine_source"][0])]
            text, reason = (text_column(arrays, f"quarantine_{name}")[0].as_py() for name in ("text", "reason"))
            raise CheckFailedError(
                f"expected no line that breaks a rule, found {count:,}, first in {source}, "
                f"{Quarantined(int(arrays['quarantine_line'][0]), text, reason)}; "
                "without --strict such lines are set aside"
            )

    def side_batches(self, name: str, parameters: P, arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        import pyarrow as pa

        assert name == QUARANTINE.name
        yield pa.record_batch(
            {
                "source": chosen_texts(text_column(arrays, "sources"), arrays["quarantine_source"].astype(np.int32)),
                "line": pa.array(arrays["quarantine_line"]),
                "text": text_column(arrays, "quarantine_text"),
                "reason": text_column(arrays, "quarantine_reason"),
            }
        )

    def statistics(self, parameters: P, arrays: Mapping[str, Array]) -> Mapping[str, float]:  # noqa: ARG002
        totals = arrays["line_counts"].sum(axis=0).tolist()
        ends = dict(
            zip(("lines_read", "lines_with_rows", "lines_of_comment", "lines_quarantined"), totals, strict=True)
        )
        reasons = Counter(text_column(arrays, "quarantine_reason").to_pylist())
        common = sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))[:MOST_REASONS]
        others = reasons.total() - sum(count for _, count in common)
        common += [("other reasons", others)] if others else []
        return ends | {f"quarantined: {reason}": count for reason, count in common}


def quarantine_arrays(intakes: Sequence[Intake]) -> dict[str, Array]:
    """The quarantined lines of all files, and how the lines of each ended."""
    found = [(source, entry) for source, intake in enumerate(intakes) for entry in intake.quarantined]
    counts = [(c.lines, c.rows, c.comments, c.quarantined) for c in (intake.counts for intake in intakes)]
    return {
        "quarantine_source": np.array([source for source, _ in found], np.uint16),
        "quarantine_line": np.array([entry.line for _, entry in found], np.int32),
        "line_counts": np.array(counts, np.int64).reshape(-1, 4),
        **text_arrays("quarantine_text", [entry.text for _, entry in found]),
        **text_arrays("quarantine_reason", [entry.reason for _, entry in found]),
    }


def sources_of(lines: Sequence[Array]) -> dict[str, Array]:
    """`source` and `line` of the rows of all files, from the line numbers in each."""
    sources = [np.full(len(numbers), source, np.uint16) for source, numbers in enumerate(lines)]
    return {"source": np.concatenate(sources), "line": np.concatenate(lines).astype(np.int32)}


def source_columns(arrays: Mapping[str, Array], rows: slice) -> dict[str, pa.Array]:
    """`source` and `line` of some rows."""
    import pyarrow as pa

    names = chosen_texts(text_column(arrays, "sources"), arrays["source"][rows].astype(np.int32))
    return {"source": names, "line": pa.array(arrays["line"][rows])}


class PositionImport(FileImport[P]):
    """One position a row, with chances or without."""

    columns: ClassVar[tuple[Column, ...]] = (*SOURCE_COLUMNS, *POSITION_COLUMNS, CLASS_COLUMN, *CHANCE_COLUMNS)
    key = ("source", "line")
    arrays: ClassVar[tuple[FlatArray, ...]] = (*SOURCE_ARRAYS, *POSITION_ARRAYS, CHANCES_ARRAY, *QUARANTINE_ARRAYS)

    def arrays_of(self, intakes: Sequence[Any]) -> dict[str, Array]:
        from bgdata.game.board_kernels import position_classes

        boards = np.concatenate([intake.boards for intake in intakes])
        found = {
            **sources_of([intake.lines for intake in intakes]),
            "boards": boards,
            "classes": position_classes(boards).astype(np.uint8),
        }
        if CHANCES_ARRAY in self.arrays:
            found["chances"] = np.concatenate([intake.chances for intake in intakes]).astype(np.float32)
        return found

    def batches(self, parameters: P, arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        import pyarrow as pa

        count = len(arrays["boards"])
        for start in range(0, max(count, 1), self.row_group_rows):
            rows = slice(start, min(count, start + self.row_group_rows))
            yield pa.record_batch(self.row_columns(arrays, rows))

    def row_columns(self, arrays: Mapping[str, Array], rows: slice) -> dict[str, pa.Array]:
        """The columns of some rows, in the order declared."""
        found = {**source_columns(arrays, rows), **position_columns(arrays["boards"][rows])}
        found["class"] = class_column(arrays["classes"][rows])
        return found | (chance_columns(arrays["chances"][rows]) if "chances" in arrays else {})


def is_class(boards: Array, wanted: str) -> Array:
    """bool[n]: whether positions are of the class that a file promises; bearoff positions are races."""
    from bgdata.game.board_kernels import position_classes
    from bgdata.game.classes import PositionClass

    is_wanted = np.zeros(max(PositionClass) + 1, np.bool_)
    for entry in PositionClass:
        is_wanted[entry] = entry.file_class.name.lower() == wanted
    return np.asarray(is_wanted[position_classes(boards)])
