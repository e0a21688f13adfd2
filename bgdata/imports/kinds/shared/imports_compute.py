"""Reads files into arrays and rows, for every imported kind."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from bgdata.errors import CheckFailedError, NoRowsError
from bgdata.formats.lines import Intake, LineCounts, Quarantined, check_is_text
from bgdata.formats.unpacking import FileFacts, read_content
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.imports.kinds.shared.imports import QUARANTINE, FileImport, ImportParameters
from bgdata.kinds.column_values import select_texts, text_arrays, text_column
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computed, ImportedComputation
from bgdata.store.job import Job
from bgdata.store.manifest import RawFile, Source, unpacked_name

MAX_REASONS = 20  # most reasons in a manifest: reasons of games name lines, so there are many
REASON, OTHER_REASONS = "quarantined: ", "other reasons"
FIRST_REASONS, SHORT_TEXT = 3, 40  # how many lines an error quotes, and how many letters of each
_REFERENCE = re.compile(r", see line \d+$")  # end of the reason of a line that was quarantined because of another line


class FileImportComputation(ImportedComputation[ImportParameters]):
    """Base of computations that read files line by line into arrays. A line that breaks a rule goes to quarantine."""

    kind: FileImport
    sample: ClassVar[tuple[str, str]]  # the name and content of a small file to import in tests

    def read_file(self, path: Path) -> Source:
        """Read a file once. Returns its content and hashes, and what is known about its origin. Raises CorruptFileError
        for a binary file of another program, and the errors of `formats.unpacking.read_content`."""
        content, facts = read_content(path)
        check_is_text(content, path.name)
        return Source(self.raw_file(path, facts), content)

    def holds(self, _path: Path) -> bool:
        """Whether a file in a folder is to be imported as this kind. Kinds that recognise their files by content
        override this method."""
        return True

    def raw_file(self, path: Path, facts: FileFacts) -> RawFile:
        """Return the description of an imported file for the manifest."""
        address = self.kind.address if self.is_published(facts.content_sha256) else ""
        return RawFile(path.name, **vars(facts), address=address, licence=self.kind.licence)

    def is_published(self, _content_sha256: str) -> bool:
        """Whether a file whose content has this SHA-256 may be one of the files that are published at the kind's
        `address`."""
        return True

    def write_sample(self, folder: Path) -> list[Path]:
        name, content = self.sample
        path = folder / name
        path.write_text(content)
        return [path]

    def check_strict(self, arrays: Mapping[str, Array]) -> None:
        count = len(arrays["quarantine_line"])
        if count:
            source, first = next(quarantined_lines(arrays), None) or next(
                quarantined_lines(arrays, with_references=True)
            )
            raise CheckFailedError(
                f"expected no line that breaks a rule, found {count:,}, first in {source}, {first}; "
                "without --strict such lines are set aside"
            )

    def check_rows(self, parts: Sequence[Mapping[str, Array]], has_rows: Sequence[bool], job: Job) -> None:
        """Tell the user which files gave no row. `has_rows` says for each file whether it gave rows. Raises NoRowsError
        if no file gave a row."""
        names = [unpacked_name(source.file.name) for source in job.files]
        if not any(has_rows):
            raise NoRowsError(no_rows_text(names, parts))
        for name in (name for name, found in zip(names, has_rows, strict=True) if not found):
            job.progress.note(f"{job.title}: no row in {name}")

    def side_batches(self, name: str, computed: Computed[ImportParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        assert name == QUARANTINE.name
        for rows in row_slices(len(arrays["quarantine_line"]), self.kind.row_group_rows):
            sources = arrays["quarantine_source"][rows].astype(np.int32)
            yield pa.record_batch(
                {
                    "source": select_texts(text_column(arrays, "sources"), sources),
                    "line": pa.array(arrays["quarantine_line"][rows]),
                    "text": text_column(arrays, "quarantine_text", rows),
                    "reason": text_column(arrays, "quarantine_reason", rows),
                }
            )

    def statistics(self, computed: Computed[ImportParameters]) -> Mapping[str, float]:
        totals = computed.arrays["line_counts"].sum(axis=0).tolist()
        ends = dict(
            zip(("lines_read", "lines_with_rows", "lines_of_comment", "lines_quarantined"), totals, strict=True)
        )
        return ends | common_reasons(_reason_counts(computed.arrays))

    def joined_statistics(self, parts: Sequence[tuple[int, Mapping[str, float]]]) -> Mapping[str, float]:
        """Return the statistics of a version: the sums of the statistics of its parts. A reason for quarantine is
        counted only in the parts in which it is among the most frequent reasons."""
        sums = Counter[str]()
        for _, figures in parts:
            sums.update({name: int(value) for name, value in figures.items()})
        reasons = Counter({name.removeprefix(REASON): sums.pop(name) for name in list(sums) if name.startswith(REASON)})
        return dict(sums) | common_reasons(reasons)


class WholeFilesComputation(FileImportComputation):
    """Base of computations that have all rows of all files in memory at once. Subclasses declare the reader and the
    arrays."""

    @abstractmethod
    def parse(self, source: Source, parameters: ImportParameters) -> Intake:
        """Parse the content of a file. Lines that break a rule of the kind are quarantined."""

    def has_rows(self, intake: Any) -> bool:
        """Whether a parsed file has a row in any table."""
        counts: LineCounts = intake.counts
        return counts.rows > 0

    @abstractmethod
    def arrays_of(self, intakes: Sequence[Any]) -> dict[str, Array]:
        """Return the arrays of all parsed files together, without the arrays `source` and `line` and those of the
        quarantine."""

    def compute(self, build: Build[ImportParameters]) -> None:
        """Import the files and save the arrays. Raises NoRowsError if no file gives a row. If the build is strict,
        raises CheckFailedError if a line breaks a rule."""
        job = build.job
        job.progress.start(f"{job.title}: reading", len(job.files), "files")
        intakes = []
        for source in job.files:
            intakes.append(self.parse(source, build.parameters))
            job.progress.advance(1)
        names = [unpacked_name(source.file.name) for source in job.files]
        arrays = text_arrays("sources", names) | self.arrays_of(intakes) | quarantine_arrays(intakes)
        if job.strict:
            self.check_strict(arrays)
        self.check_rows([arrays], [self.has_rows(intake) for intake in intakes], job)
        for name, values in arrays.items():
            job.save(name, values)


def _reason_counts(arrays: Mapping[str, Array]) -> Counter[str]:
    """Count the lines that were quarantined for each reason. Reasons that differ only in the number of another line
    count as one."""
    found = Counter[str]()
    for rows in row_slices(len(arrays["quarantine_line"]), 1 << 16):
        for entry in text_column(arrays, "quarantine_reason", rows).value_counts():
            found[_REFERENCE.sub(", see another line", entry["values"].as_py())] += entry["counts"].as_py()
    return found


def common_reasons(reasons: Counter[str]) -> dict[str, int]:
    """Return the statistics about quarantine for the manifest: how many lines were quarantined for each of the most
    frequent reasons, and for all other reasons together."""
    others = reasons.pop(OTHER_REASONS, 0)
    common = sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))[:MAX_REASONS]
    others += reasons.total() - sum(count for _, count in common)
    common += [(OTHER_REASONS, others)] if others else []
    return {f"{REASON}{reason}": count for reason, count in common}


def quarantined_lines(
    arrays: Mapping[str, Array], *, with_references: bool = False
) -> Iterator[tuple[str, Quarantined]]:
    """Yield each quarantined line with the name of its file, in order. A line that only refers to another line is left
    out, unless `with_references` is true."""
    for row, line in enumerate(arrays["quarantine_line"]):
        reason = text_column(arrays, "quarantine_reason", slice(row, row + 1))[0].as_py()
        if with_references or not _REFERENCE.search(reason):
            source = text_column(arrays, "sources")[int(arrays["quarantine_source"][row])].as_py()
            text = text_column(arrays, "quarantine_text", slice(row, row + 1))[0].as_py()
            yield source, Quarantined(int(line), text, reason)


def no_rows_text(sources: Sequence[str], parts: Sequence[Mapping[str, Array]]) -> str:
    """Return the error message about files that gave no row: the verdicts on their lines, and the first reasons for
    quarantine."""
    where = sources[0] if len(sources) == 1 else f"{len(sources):,} files"
    lines, others, comments, bad = sum(arrays["line_counts"].sum(axis=0) for arrays in parts).tolist()
    if not lines:
        return f"expected a row in {where}, found nothing at all; nothing was imported"
    first = islice(chain.from_iterable(map(quarantined_lines, parts)), FIRST_REASONS)
    reasons = "; ".join(f"{source}, {replace(entry, text=entry.text[:SHORT_TEXT])}" for source, entry in first)
    return (
        f"expected a row in {where}, found none in {lines:,} lines: "
        + (f"{others:,} without a table of their own, " if others else "")
        + f"{comments:,} of comment or blank, {bad:,} quarantined{f' ({reasons})' if reasons else ''}; "
        "nothing was imported"
    )


def row_slices(count: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` rows, which together cover `count` rows, or one empty slice if there are no
    rows."""
    for start in range(0, max(count, 1), size):
        yield slice(start, min(count, start + size))


def quarantine_arrays(intakes: Sequence[Intake]) -> dict[str, Array]:
    """The arrays with the quarantined lines of all parsed files, and with the counts of lines in each file."""
    found = [(source, entry) for source, intake in enumerate(intakes) for entry in intake.rejects]
    counts = [astuple(intake.counts) for intake in intakes]
    return {"line_counts": np.array(counts, np.int64).reshape(-1, 4), **rejected_arrays(found)}


def rejected_arrays(rejects: Sequence[tuple[int, Quarantined]]) -> dict[str, Array]:
    """The arrays with quarantined lines, from pairs of the number of a file and a line of it."""
    return {
        "quarantine_source": np.array([source for source, _ in rejects], np.uint16),
        "quarantine_line": np.array([entry.line for _, entry in rejects], np.int32),
        **text_arrays("quarantine_text", [entry.text for _, entry in rejects]),
        **text_arrays("quarantine_reason", [entry.reason for _, entry in rejects]),
    }


def source_columns(arrays: Mapping[str, Array], rows: slice) -> dict[str, pa.Array]:
    """Return the columns `source` and `line`, which contain the file and the line of a row, for the rows in the slice
    `rows`."""
    names = select_texts(text_column(arrays, "sources"), arrays["source"][rows].astype(np.int32))
    return {"source": names, "line": pa.array(arrays["line"][rows])}


def are_over(boards: Array) -> Array:
    """Return whether the game is over in each of the positions, int8[n, 26], as bool[n]."""
    return np.asarray(position_classes(boards) == PositionClass.OVER)
