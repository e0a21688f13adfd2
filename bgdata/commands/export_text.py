"""`bgdata export text`: tables of positions, benchmarks and matches in other programs' text formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from bgdata.errors import UsageError
from bgdata.store.arrays import Array
from bgdata.store.table import Table

Arrays = Mapping[str, Array]


def write_text(table: Table, form: str, output: Path) -> str:
    """Write a version in a format; returns a line that says what was written.

    Raises UsageError for a table that lacks what the format holds, and StorageError when the file cannot be written.
    """
    needed, writer = FORMATS[form]
    arrays = table.arrays()
    if not set(needed) <= set(arrays):
        able = [name for name, (arrays_of_format, _) in FORMATS.items() if set(arrays_of_format) <= set(arrays)]
        raise UsageError(f"expected a format for {table.name} among {', '.join(able) or 'none'}, got {form}")
    writer(arrays, output)
    return f"wrote {output}: {output.stat().st_size:,} bytes"


def write_training(arrays: Arrays, output: Path) -> None:
    """gnubg's training data, with the comments where there are any."""
    from bgdata.datasets.common.columns import text_column
    from bgdata.formats.gnubg_training import write_gnubg_training

    # rows of a second file may have no comment of their own: written, they stand below those of the first
    index = np.maximum.accumulate(arrays["comment_index"]) if "comment_index" in arrays else None
    comments = text_column(arrays, "comments").to_pylist() if index is not None else ()
    write_gnubg_training(output, arrays["boards"], arrays["chances"], comment_index=index, comments=comments)


def write_wildbg(arrays: Arrays, output: Path) -> None:
    """wildbg's CSV."""
    from bgdata.formats.wildbg_csv import write_wildbg_csv

    write_wildbg_csv(output, arrays["boards"], arrays["chances"])


def write_bgsage(arrays: Arrays, output: Path) -> None:
    """bgsage's rollouts: after the play, for the player who has played; as written where they came from there."""
    from bgdata.datasets.bgsage_rollouts import flipped_chances
    from bgdata.formats.bgsage_rollouts import write_bgsage_rollouts
    from bgdata.game.codec import flip_boards

    written = arrays.get("chances_after_play")
    chances = np.asarray(written) if written is not None else flipped_chances(arrays["chances"].astype(np.float64))
    write_bgsage_rollouts(output, flip_boards(arrays["boards"]), chances)


def write_positions(arrays: Arrays, output: Path) -> None:
    """Position IDs, one a line."""
    from bgdata.formats.position_list import write_position_list

    write_position_list(output, arrays["boards"])


def write_benchmark(arrays: Arrays, output: Path) -> None:
    """A gnubg benchmark file: as it was where it was imported, or of decisions that were rolled out here."""
    from bgdata.datasets import gnubg_benchmark
    from bgdata.datasets.common import decision_file as _decision_file
    from bgdata.formats.gnubg_benchmark_write import write_gnubg_benchmark

    is_imported = "decisions_lines" in arrays
    benchmark_of = gnubg_benchmark.benchmark_of if is_imported else _decision_file.benchmark_of
    write_gnubg_benchmark(output, benchmark_of(arrays))


def write_matches(arrays: Arrays, output: Path) -> None:
    """All matches in the Jellyfish format, one after the other."""
    from bgdata.datasets.matches import matches_of
    from bgdata.datasets.selfplay import match_arrays
    from bgdata.formats.lines import write_bytes
    from bgdata.formats.mat import format_mat

    arrays = arrays if "games" in arrays else match_arrays(arrays)
    write_bytes(output, (line for match in matches_of(arrays) for line in format_mat(match)))


FORMATS: dict[str, tuple[tuple[str, ...], Callable[[Arrays, Path], None]]] = {  # arrays that it needs, writer
    "gnubg-training": (("boards", "chances"), write_training),
    "gnubg-benchmark": (("decisions_boards", "plays_boards"), write_benchmark),
    "wildbg-csv": (("boards", "chances"), write_wildbg),
    "bgsage-rollouts": (("boards", "chances"), write_bgsage),
    "position-list": (("boards",), write_positions),
    "mat": (("turn_moves", "players"), write_matches),
}
