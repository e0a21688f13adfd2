"""Reads files with one position per line; converts bgsage's to the player on roll."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from bgdata.formats import position_files
from bgdata.formats.position_files import PositionRows
from bgdata.game.board_kernels import position_classes
from bgdata.game.codec import flip_boards
from bgdata.imports.kinds.shared.imports import ImportParameters
from bgdata.imports.kinds.shared.imports_compute import FileImportComputation, are_over, source_arrays, source_columns
from bgdata.kinds.column_values import (
    chance_columns,
    chosen_texts,
    class_column,
    fixed_lists,
    position_columns,
    text_arrays,
    text_column,
)
from bgdata.store.arrays import Array
from bgdata.store.dataset import Computed
from bgdata.store.manifest import Source, unpacked_name


def parse_training(source: Source) -> PositionRows:
    """gnubg's training data; finished games are quarantined."""
    rows = position_files.parse_gnubg_training(source.content)
    return rows.quarantine(are_over(rows.boards), "expected a position of a game that goes on")


def parse_bgsage(source: Source) -> PositionRows:
    """bgsage's rollouts or JSON lines."""
    is_called_json = unpacked_name(source.file.name.lower()).endswith(".jsonl")
    is_json = is_called_json or source.content.lstrip().startswith(b"{")
    parse = position_files.parse_bgsage_entries if is_json else position_files.parse_bgsage_rollouts
    return parse(source.content)


class Reader(NamedTuple):
    """The parser for files of a kind, and the name and content of a sample file."""

    parse: Callable[[Source], PositionRows]
    name: str
    content: str


READERS = {
    "positions": Reader(
        lambda source: position_files.parse_position_list(source.content),
        "sample.csv",
        "position_id\n4HPwATDgc/ABMA\nv3sAAAhmdzMAAQ\n",
    ),
    "wildbg_training": Reader(
        lambda source: position_files.parse_wildbg_csv(source.content),
        "sample.csv",
        f"{position_files.WILDBG_HEADING}\n4HPwATDgc/ABMA,0.525,0.154,0.007,0.125,0.005\n",
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
    """Computation of every kind with one position per row; it fills the arrays that the kind declares."""

    def write_sample(self, folder: Path) -> list[Path]:
        _, name, content = READERS[self.kind.name]
        (folder / name).write_text(content)
        return [folder / name]

    def parse(self, source: Source) -> PositionRows:
        return READERS[self.kind.name].parse(source)

    def arrays_of(self, intakes: Sequence[Any]) -> dict[str, Array]:
        names = {array.name for array in self.kind.arrays}
        boards = np.concatenate([intake.boards for intake in intakes])
        written = chances = np.concatenate([intake.chances for intake in intakes])
        if "chances_after_play" in names:
            boards, chances = flip_boards(boards), flipped_chances(np.clip(chances, 0, 1))
        found = source_arrays([intake.lines for intake in intakes])
        found |= {"boards": boards, "classes": position_classes(boards).astype(np.uint8)}
        if "chances" in names:
            found["chances"] = chances.astype(np.float32)
        if "chances_after_play" in names:
            found["chances_after_play"] = written
            found["equities_after_play"] = joined_column(intakes, "equities")
            found["standard_errors"] = joined_column(intakes, "standard_errors")
        if "comment_index" in names:
            firsts = accumulate((len(intake.comments) for intake in intakes[:-1]), initial=0)
            indexes = [
                np.where(intake.comment_index < 0, -1, intake.comment_index + first)
                for intake, first in zip(intakes, firsts, strict=True)
            ]
            found["comment_index"] = np.concatenate(indexes).astype(np.int32)
            found |= text_arrays("comments", [comment for intake in intakes for comment in intake.comments])
        return found

    def batches(self, computed: Computed[ImportParameters]) -> Iterator[pa.RecordBatch]:
        count = len(computed.arrays["boards"])
        for start in range(0, max(count, 1), self.kind.row_group_rows):
            rows = slice(start, min(count, start + self.kind.row_group_rows))
            yield pa.record_batch(row_columns(computed.arrays, rows))


def row_columns(arrays: Mapping[str, Array], rows: slice) -> dict[str, pa.Array]:
    """The columns of some rows, in the declared order."""
    found = {**source_columns(arrays, rows), **position_columns(arrays["boards"][rows])}
    found["class"] = class_column(arrays["classes"][rows])
    if "chances" in arrays:
        found |= chance_columns(arrays["chances"][rows])
    if "comment_index" in arrays:
        found["comment"] = chosen_texts(text_column(arrays, "comments"), arrays["comment_index"][rows])
    if "chances_after_play" in arrays:
        found["chances_after_play"] = fixed_lists(arrays["chances_after_play"][rows])
        found["equity_after_play"] = pa.array(arrays["equities_after_play"][rows], from_pandas=True)
        found["standard_error"] = pa.array(arrays["standard_errors"][rows], from_pandas=True)
    return found


def flipped_chances(chances: Array) -> Array:
    """The chances of the other side: (1 - win, lose_gammon, lose_backgammon, win_gammon, win_backgammon)."""
    return np.column_stack([1 - chances[:, 0], chances[:, 3], chances[:, 4], chances[:, 1], chances[:, 2]])


def joined_column(intakes: Sequence[PositionRows], name: str) -> Array:
    """A column of all files; NaN for the rows of files without it."""
    parts = [(intake, getattr(intake, name)) for intake in intakes]
    return np.concatenate([np.full(len(intake), np.nan) if part is None else part for intake, part in parts])


COMPUTATION = PositionsComputation
