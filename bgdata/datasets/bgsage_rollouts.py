"""bgsage's rollouts, turned to the perspective of all our tables: before the roll, the player on roll."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bgdata.datasets.common.imports import PositionImport
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.manifest import Source, unpacked_name

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.formats.bgsage_rollouts import BgsageRollouts
    from bgdata.store.arrays import Array

SAMPLE = "0 -2 5 3 -2 5 0 0 0 0 0 0 0 0 0 0 0 0 0 -3 -2 -2 -2 -1 -1 0 0.7823 0.4430 0.0480 0.0025 -0.0002\n"


class Bgsage(PositionImport):
    """Rows keep the order of the files, rollout files and JSON lines mixed as given."""

    name = "bgsage_rollouts"
    revision = 1
    summary = (
        "bgsage's rollouts: a position before the roll and the five chances of the player on roll. The files have them "
        "after the play, for the player who has played: they are flipped here, chances cut to 0 to 1, and the numbers "
        "kept as written."
    )
    source = "Imported from bgsage's *-rollout files (26 integers and five chances) and rollouts.jsonl"
    licence = "as published by the bgsage project (AGPL-3.0 where its repository is)"
    columns = (
        *PositionImport.columns,
        Column(
            "chances_after_play", "DOUBLE[]", "chance", "As written, of the player who has played: may leave 0 to 1"
        ),
        Column("equity_after_play", "DOUBLE", "points", "As written, null where the file has none"),
        Column("standard_error", "DOUBLE", "points", "Of the equity, null where the file has none"),
    )
    arrays = (
        *PositionImport.arrays,
        FlatArray("chances_after_play", "float64", "row, five chances", "As written: of the player who has played"),
        FlatArray("equities_after_play", "float64", "row", "As written, NaN where the file has none"),
        FlatArray("standard_errors", "float64", "row", "Of the equities, NaN where the file has none"),
    )

    def parse(self, source: Source) -> BgsageRollouts:
        from bgdata.formats.bgsage_rollouts import parse_bgsage_entries, parse_bgsage_rollouts

        is_json = unpacked_name(source.file.name.lower()).endswith(".jsonl")
        return parse_bgsage_entries(source.content) if is_json else parse_bgsage_rollouts(source.content)

    def arrays_of(self, intakes: Sequence[Any]) -> dict[str, Array]:
        from bgdata.formats.bgsage_rollouts import clipped
        from bgdata.game.board_kernels import position_classes
        from bgdata.game.codec import flip_boards

        found = super().arrays_of(intakes)
        boards = flip_boards(found["boards"])
        written = np.concatenate([intake.chances for intake in intakes])
        return found | {
            "boards": boards,
            "classes": position_classes(boards).astype(np.uint8),
            "chances": flipped_chances(clipped(written)).astype(np.float32),
            "chances_after_play": written,
            "equities_after_play": numbers(intakes, "equities"),
            "standard_errors": numbers(intakes, "standard_errors"),
        }

    def row_columns(self, arrays: Mapping[str, Array], rows: slice) -> dict[str, pa.Array]:
        import pyarrow as pa

        from bgdata.datasets.common.columns import fixed_lists

        return super().row_columns(arrays, rows) | {
            "chances_after_play": fixed_lists(arrays["chances_after_play"][rows]),
            "equity_after_play": pa.array(arrays["equities_after_play"][rows], from_pandas=True),
            "standard_error": pa.array(arrays["standard_errors"][rows], from_pandas=True),
        }

    def write_sample(self, folder: Path) -> list[Path]:
        path = folder / "sample-rollout"
        path.write_text(SAMPLE)
        return [path]


def flipped_chances(chances: Array) -> Array:
    """The chances of the other side: (1 - win, lose_gammon, lose_backgammon, win_gammon, win_backgammon)."""
    return np.column_stack([1 - chances[:, 0], chances[:, 3], chances[:, 4], chances[:, 1], chances[:, 2]])


def numbers(intakes: Sequence[Any], name: str) -> Array:
    """A column that only some files have; NaN in the others."""
    parts = [getattr(intake, name, np.full(len(intake.lines), np.nan)) for intake in intakes]
    return np.concatenate(parts).astype(np.float64)


DATASET = Bgsage()
