"""Turns files into arrays and rows, for every imported kind."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from bgdata.errors import CheckFailedError, NoRowsError
from bgdata.formats.lines import Intake, LineCounts, Quarantined, check_is_text
from bgdata.formats.unpacking import read_content
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.imports.kinds.shared.imports import QUARANTINE, FileImport, ImportParameters
from bgdata.kinds.column_values import chosen_texts, text_arrays, text_column
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computed, ImportedComputation
from bgdata.store.manifest import RawFile, Source, unpacked_name

MOST_REASONS = 20  # counted one by one in a manifest: reasons of games name lines, so they are many
FIRST_REASONS, SHORT_TEXT = 3, 40  # how many lines an error quotes, and how many letters of each
_REFERENCE = re.compile(r", see line \d+$")  # ends the reason of a line quarantined because of another line


class FileImportComputation(ImportedComputation[ImportParameters]):
    """Reads files into arrays and quarantines lines that break a rule. Subclasses name the reader and the arrays."""

    kind: FileImport
    sample: ClassVar[tuple[str, str]]  # the name and content of a small file to import in tests

    def read_file(self, path: Path) -> Source:
        """Read a file once. Raises the errors of `formats.unpacking.read_content`, and CorruptFileError for a binary
        file of another program."""
        content, facts = read_content(path)
        check_is_text(content, path.name)
        address = self.kind.address if self.is_published(facts.content_sha256) else ""
        return Source(RawFile(path.name, **vars(facts), address=address, licence=self.kind.licence), content)

    def is_published(self, _content_sha256: str) -> bool:
        """Whether a file with this content may come from `address`."""
        return True

    def write_sample(self, folder: Path) -> list[Path]:
        name, content = self.sample
        path = folder / name
        path.write_text(content)
        return [path]

    @abstractmethod
    def parse(self, source: Source) -> Intake:
        """Parse the content of a file and apply the rules of this kind."""

    def has_rows(self, intake: Any) -> bool:
        """Whether a file gave a row of any table."""
        counts: LineCounts = intake.counts
        return counts.rows > 0

    @abstractmethod
    def arrays_of(self, intakes: Sequence[Any]) -> dict[str, Array]:
        """The arrays of all files, except `source`, `line` and the quarantine."""

    def compute(self, build: Build[ImportParameters]) -> None:
        """Raises NoRowsError; with `strict`, CheckFailedError if a line breaks a rule."""
        job = build.job
        job.progress.start(f"{job.title}: reading", len(job.files), "files")
        intakes = []
        for source in job.files:
            intakes.append(self.parse(source))
            job.progress.advance(1)
        names = [unpacked_name(source.file.name) for source in job.files]
        arrays = text_arrays("sources", names) | self.arrays_of(intakes) | quarantine_arrays(intakes)
        if job.strict:
            self.check_strict(arrays)
        empty = [name for name, intake in zip(names, intakes, strict=True) if not self.has_rows(intake)]
        if len(empty) == len(names):
            raise NoRowsError(no_rows_text(names, intakes))
        for name in empty:
            job.progress.note(f"{job.title}: no row in {name}")
        for name, values in arrays.items():
            job.save(name, values)

    def check_strict(self, arrays: Mapping[str, Array]) -> None:
        count = len(arrays["quarantine_line"])
        if count:
            reasons = text_column(arrays, "quarantine_reason").to_pylist()
            first = next((row for row, reason in enumerate(reasons) if not refers_to_other_line(reason)), 0)
            source = text_column(arrays, "sources")[int(arrays["quarantine_source"][first])]
            text = text_column(arrays, "quarantine_text")[first].as_py()
            raise CheckFailedError(
                f"expected no line that breaks a rule, found {count:,}, first in {source}, "
                f"{Quarantined(int(arrays['quarantine_line'][first]), text, reasons[first])}; "
                "without --strict such lines are set aside"
            )

    def side_batches(self, name: str, computed: Computed[ImportParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        assert name == QUARANTINE.name
        yield pa.record_batch(
            {
                "source": chosen_texts(text_column(arrays, "sources"), arrays["quarantine_source"].astype(np.int32)),
                "line": pa.array(arrays["quarantine_line"]),
                "text": text_column(arrays, "quarantine_text"),
                "reason": text_column(arrays, "quarantine_reason"),
            }
        )

    def statistics(self, computed: Computed[ImportParameters]) -> Mapping[str, float]:
        totals = computed.arrays["line_counts"].sum(axis=0).tolist()
        ends = dict(
            zip(("lines_read", "lines_with_rows", "lines_of_comment", "lines_quarantined"), totals, strict=True)
        )
        found = text_column(computed.arrays, "quarantine_reason").to_pylist()
        reasons = Counter(_REFERENCE.sub(", see another line", reason) for reason in found)
        common = sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))[:MOST_REASONS]
        others = reasons.total() - sum(count for _, count in common)
        common += [("other reasons", others)] if others else []
        return ends | {f"quarantined: {reason}": count for reason, count in common}


def refers_to_other_line(reason: str) -> bool:
    """Whether a line is quarantined because of another one, as all lines of a game with one bad line are."""
    return _REFERENCE.search(reason) is not None


def no_rows_text(sources: Sequence[str], intakes: Sequence[Intake]) -> str:
    """The error message for files without rows: counts of their lines, and the first reasons."""
    counts = [intake.counts for intake in intakes]
    where = sources[0] if len(sources) == 1 else f"{len(sources):,} files"
    lines = sum(each.lines for each in counts)
    if not lines:
        return f"expected a row in {where}, found nothing at all; nothing was imported"
    others, comments, bad = (
        sum(getattr(each, name) for each in counts) for name in ("rows", "comments", "quarantined")
    )
    set_aside = (
        f"{source}, {replace(entry, text=entry.text[:SHORT_TEXT])}"
        for source, intake in zip(sources, intakes, strict=True)
        for entry in intake.rejects
        if not refers_to_other_line(entry.reason)
    )
    reasons = "; ".join(islice(set_aside, FIRST_REASONS))
    return (
        f"expected a row in {where}, found none in {lines:,} lines: "
        + (f"{others:,} without a table of their own, " if others else "")
        + f"{comments:,} of comment or blank, {bad:,} quarantined{f' ({reasons})' if reasons else ''}; "
        "nothing was imported"
    )


def quarantine_arrays(intakes: Sequence[Intake]) -> dict[str, Array]:
    """The quarantined lines of all files, and the line counts of each file."""
    found = [(source, entry) for source, intake in enumerate(intakes) for entry in intake.rejects]
    counts = [(c.lines, c.rows, c.comments, c.quarantined) for c in (intake.counts for intake in intakes)]
    return {
        "quarantine_source": np.array([source for source, _ in found], np.uint16),
        "quarantine_line": np.array([entry.line for _, entry in found], np.int32),
        "line_counts": np.array(counts, np.int64).reshape(-1, 4),
        **text_arrays("quarantine_text", [entry.text for _, entry in found]),
        **text_arrays("quarantine_reason", [entry.reason for _, entry in found]),
    }


def source_arrays(lines: Sequence[Array]) -> dict[str, Array]:
    """The arrays `source` and `line` of all rows, from the line numbers in each file."""
    sources = [np.full(len(numbers), source, np.uint16) for source, numbers in enumerate(lines)]
    return {"source": np.concatenate(sources), "line": np.concatenate(lines).astype(np.int32)}


def source_columns(arrays: Mapping[str, Array], rows: slice) -> dict[str, pa.Array]:
    """The columns `source` and `line` of some rows."""
    names = chosen_texts(text_column(arrays, "sources"), arrays["source"][rows].astype(np.int32))
    return {"source": names, "line": pa.array(arrays["line"][rows])}


def are_over(boards: Array) -> Array:
    """bool[n]: whether the game of each position is over."""
    return np.asarray(position_classes(boards) == PositionClass.OVER)
