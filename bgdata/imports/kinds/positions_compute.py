"""Reads files with one position per line. Rows of bgsage are converted to the point of view of the player on roll."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from bgdata.formats import position_files
from bgdata.formats.lines import LineCounts, comment_text
from bgdata.formats.position_files import NO_HEADING, Heading, PositionRows
from bgdata.formats.text_files import Block, Spool, TextFile, open_text_file
from bgdata.game.board_kernels import position_classes
from bgdata.game.codec import flip_boards
from bgdata.imports.kinds.shared.imports import ImportParameters
from bgdata.imports.kinds.shared.imports_compute import (
    FileImportComputation,
    are_over,
    rejected_arrays,
    row_slices,
    source_columns,
)
from bgdata.kinds.column_values import (
    chance_columns,
    class_column,
    fixed_lists,
    position_columns,
    select_texts,
    text_arrays,
    text_column,
)
from bgdata.store.arrays import Array, GrowingWriter
from bgdata.store.dataset import Build, Computed
from bgdata.store.job import Job
from bgdata.store.manifest import Source, unpacked_name

T = TypeVar("T")
R = TypeVar("R")


class Piece(NamedTuple):
    """A block of lines of a file: the number of the file, the lines, and the first line of the file, which may be its
    heading."""

    source: int
    block: Block
    heading: Heading


class Parsed(NamedTuple):
    """The result of parsing a block of lines: the rows, as arrays, and how many lines were comments, rows or
    quarantined."""

    source: int
    arrays: dict[str, Array]
    counts: LineCounts


def parse_training(file: TextFile, piece: Piece) -> PositionRows:  # noqa: ARG001
    """Parse a block of lines of gnubg's training data. Positions in which the game is over are quarantined."""
    rows = position_files.training_rows(piece.block.lines())
    return rows.quarantine(are_over(rows.boards), "expected a position of a game that goes on")


def parse_bgsage(file: TextFile, piece: Piece) -> PositionRows:
    """Parse a block of lines of bgsage's rollouts or JSON lines."""
    is_called_json = unpacked_name(file.path.name.lower()).endswith(".jsonl")
    is_json = is_called_json or file.first_letter == b"{"
    parse = position_files.entry_rows if is_json else position_files.rollout_rows
    return parse(piece.block.lines())


class Reader(NamedTuple):
    """How files of a kind are read: the parser of their lines, and the name and content of a sample file."""

    parse: Callable[[TextFile, Piece], PositionRows]
    name: str
    content: str
    has_heading: bool = False


READERS = {
    "positions": Reader(
        lambda _, piece: position_files.list_rows(piece.block.lines(), piece.heading),
        "sample.csv",
        "position_id\n4HPwATDgc/ABMA\nv3sAAAhmdzMAAQ\n",
        has_heading=True,
    ),
    "wildbg_training": Reader(
        lambda _, piece: position_files.wildbg_rows(piece.block.lines(), piece.heading),
        "sample.csv",
        f"{position_files.WILDBG_HEADING}\n4HPwATDgc/ABMA,0.525,0.154,0.007,0.125,0.005\n",
        has_heading=True,
    ),
    "gnubg_training": Reader(
        parse_training,
        "contact-train-data",
        "# Positions added in cycle 3\nNIKOIJADCANIGOAHADBA 0.61959 0.24388 0.00981 0.08774 0.00183\n",
    ),
    "bgsage_rollouts": Reader(
        parse_bgsage,
        "sample-rollout",
        "0 -2 5 3 -2 5 0 0 0 0 0 0 0 0 0 0 0 0 0 -3 -2 -2 -2 -1 -1 0 0.7823 0.4430 0.0480 0.0025 -0.0002\n",
    ),
}


class PositionsComputation(FileImportComputation):
    """Imports files of any kind in which a line is a position, and fills the arrays that the kind declares. Only some
    blocks of lines are in memory at a time, never a whole file or all rows."""

    @property
    def reader(self) -> Reader:
        """How files of this kind are read."""
        return READERS[self.kind.name]

    @property
    def has_comments(self) -> bool:
        """Whether each row records the comment above it in the file."""
        return any(array.name == "comment_index" for array in self.kind.arrays)

    def write_sample(self, folder: Path) -> list[Path]:
        (folder / self.reader.name).write_text(self.reader.content)
        return [folder / self.reader.name]

    @contextmanager
    def read_files(self, paths: Sequence[Path], folder: Path) -> Iterator[tuple[Source, ...]]:
        spool, is_list = Spool(folder), self.kind.name == "positions"
        with spool.file:
            sources = []
            for path in paths:
                file, facts = open_text_file(path, spool, takes_others=is_list, has_comments=self.has_comments)
                sources.append(Source(self.raw_file(path, facts), file, file.lines))
            yield tuple(sources)

    def compute(self, build: Build[ImportParameters]) -> None:
        """Import the files, or the lines of one part, and save the arrays. Raises NoRowsError if no file gives a row.
        If the build is strict, raises CheckFailedError if a line breaks a rule."""
        job = build.job
        items = build.items(sum(source.items for source in job.files))
        job.progress.start(f"{job.title}: reading", len(items), "lines")
        counts = np.zeros((len(job.files), 4), np.int64)
        with GrowingArrays(job) as growing:
            comments = Comments(job.files, items) if self.has_comments else None
            if comments:
                growing.append(comments.first_arrays())
            for found in map_ahead(partial(self._parse, job.files), self._pieces(job.files, items)):
                growing.append(comments.place_rows(found) if comments else found.arrays)
                counts[found.source] += astuple(found.counts)
                job.progress.advance(found.counts.lines)
        names = [unpacked_name(source.file.name) for source in job.files]
        for name, values in {**text_arrays("sources", names), "line_counts": counts}.items():
            job.save(name, values)
        arrays = job.map_saved(array.name for array in self.kind.arrays)
        if job.strict:
            self.check_strict(arrays)
        if build.part is None:
            self.check_parts([arrays], job)

    def check_parts(self, parts: Sequence[Mapping[str, Array]], job: Job) -> None:
        """Raise NoRowsError if no file gave a row in any part."""
        rows = np.sum([arrays["line_counts"][:, 1] for arrays in parts], axis=0)
        self.check_rows(parts, (rows > 0).tolist(), job)

    def _pieces(self, files: Sequence[Source], items: range) -> Iterator[Piece]:
        """Divide the lines of a part into blocks, and yield them. If there are no lines, yield one empty block."""
        if not items:
            yield Piece(0, Block(0, b""), NO_HEADING)
        for source, lines in lines_of_files(files, items):
            file: TextFile = files[source].content
            heading = first_row(file) if self.reader.has_heading else NO_HEADING
            for block in file.blocks(lines.start, lines.stop):
                yield Piece(source, block, heading._replace(place=heading.place - block.first_line))

    def _parse(self, files: Sequence[Source], piece: Piece) -> Parsed:
        """Parse a block of lines. Its rows refer to comments by their index among the comments of the block."""
        rows = self.reader.parse(files[piece.source].content, piece)
        first_line, boards, chances = piece.block.first_line, rows.boards, rows.chances
        names = {array.name for array in self.kind.arrays}
        found: dict[str, Any] = {
            "source": np.full(len(rows), piece.source, np.uint16),
            "line": (rows.lines + first_line).astype(np.int32),
        }
        if "chances_after_play" in names:
            found["chances_after_play"] = chances
            found["equities_after_play"] = np.full(len(rows), np.nan) if rows.equities is None else rows.equities
            errors = rows.standard_errors
            found["standard_errors"] = np.full(len(rows), np.nan) if errors is None else errors
            boards, chances = flip_boards(boards), flipped_chances(np.clip(chances, 0, 1))
        found |= {"boards": boards, "classes": position_classes(boards).astype(np.uint8)}
        if "chances" in names:
            found["chances"] = chances.astype(np.float32)
        if rows.comment_index is not None:
            found |= {"comment_index": rows.comment_index, **text_arrays("comments", rows.comments)}
        rejects = [(piece.source, replace(entry, line=entry.line + first_line)) for entry in rows.rejects]
        return Parsed(piece.source, found | rejected_arrays(rejects), rows.counts)

    def batches(self, computed: Computed[ImportParameters]) -> Iterator[pa.RecordBatch]:
        for rows in row_slices(len(computed.arrays["boards"]), self.kind.row_group_rows):
            yield pa.record_batch(row_columns(computed.arrays, rows))


def row_columns(arrays: Mapping[str, Array], rows: slice) -> dict[str, pa.Array]:
    """Return the columns, in the declared order, of the rows in the slice `rows`."""
    found = {**source_columns(arrays, rows), **position_columns(arrays["boards"][rows])}
    found["class"] = class_column(arrays["classes"][rows])
    if "chances" in arrays:
        found |= chance_columns(arrays["chances"][rows])
    if "comment_index" in arrays:
        found["comment"] = select_texts(text_column(arrays, "comments"), arrays["comment_index"][rows])
    if "chances_after_play" in arrays:
        found["chances_after_play"] = fixed_lists(arrays["chances_after_play"][rows])
        found["equity_after_play"] = pa.array(arrays["equities_after_play"][rows], from_pandas=True)
        found["standard_error"] = pa.array(arrays["standard_errors"][rows], from_pandas=True)
    return found


def flipped_chances(chances: Array) -> Array:
    """Return the chances as the other side sees them, float32[n, 5]: (1 - win, lose_gammon, lose_backgammon,
    win_gammon, win_backgammon)."""
    return np.column_stack([1 - chances[:, 0], chances[:, 3], chances[:, 4], chances[:, 1], chances[:, 2]])


def lines_of_files(files: Sequence[Source], items: range) -> Iterator[tuple[int, range]]:
    """Yield, for each file that contains some of the lines `items`, the number of the file and the numbers of these
    lines in it. `items` are numbers of lines that are counted through all files."""
    first = 0
    for number, source in enumerate(files):
        begin, end = max(items.start - first, 0), min(items.stop - first, source.items)
        if begin < end:
            yield number, range(begin, end)
        first += source.items


def first_row(file: TextFile) -> Heading:
    """The first line of a file that is neither empty nor a comment."""
    for block in file.blocks():
        heading = position_files.find_heading(block.lines())
        if heading is not NO_HEADING:
            return heading._replace(place=heading.place + block.first_line)
    return NO_HEADING


class Comments:
    """Numbers the comments of a part of a version. In every part but the first, comment 0 is the comment above its
    first row, which may be in the part before. It is empty if there is none."""

    def __init__(self, files: Sequence[Source], items: range) -> None:
        self.count = int(items.start > 0)
        self.source, lines = next(lines_of_files(files, items), (0, items))
        above = files[self.source].content.comment_above(lines.start) if self.count else b""
        self.above, self.nearest = above, 0 if above else -1

    def first_arrays(self) -> dict[str, Array]:
        """Return the arrays that contain only comment 0, which is from before this part."""
        return text_arrays("comments", [comment_text(self.above)] * self.count)

    def place_rows(self, found: Parsed) -> dict[str, Array]:
        """Return the arrays of a block of lines, in which rows refer to comments by their number in the part."""
        if found.source != self.source:
            self.source, self.nearest = found.source, -1
        index, added = found.arrays["comment_index"], len(found.arrays["comments_ends"])
        placed = np.where(index < 0, self.nearest, index + self.count).astype(np.int32)
        self.count += added
        self.nearest = self.count - 1 if added else self.nearest
        return found.arrays | {"comment_index": placed}


class GrowingArrays(ExitStack):
    """Appends the rows of one block of lines after another to the arrays of a build. The ends of strings (see
    `text_arrays`) are counted from the first string of the build."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        self.job = job
        self.writers = dict[str, GrowingWriter]()
        self.ends = Counter[str]()

    def append(self, arrays: Mapping[str, Array]) -> None:
        """Append rows to each array, by its name."""
        for name, values in arrays.items():
            if name not in self.writers:
                self.writers[name] = self.enter_context(self.job.grow(name, values))
            placed = values + self.ends[name] if name.endswith("_ends") else values
            self.writers[name].append(placed)
            if name.endswith("_ends") and len(placed):
                self.ends[name] = int(placed[-1])


def map_ahead(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Yield `function(item)` for each item, in order. A thread for each core computes some items ahead."""
    threads = os.cpu_count() or 1
    with ThreadPoolExecutor(threads) as pool:
        waiting = deque[Future[R]]()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


COMPUTATION = PositionsComputation
