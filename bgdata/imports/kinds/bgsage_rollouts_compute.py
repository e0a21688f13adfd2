"""Reads bgsage's rollouts, and turns them to the player on roll."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.formats.bgsage_rollouts import BgsageRollouts, clip_chances, parse_bgsage_entries, parse_bgsage_rollouts
from bgdata.game.board_kernels import position_classes
from bgdata.game.codec import flip_boards
from bgdata.imports.kinds.shared.imports_compute import PositionImportComputation
from bgdata.kinds.column_values import fixed_lists
from bgdata.store.arrays import Array
from bgdata.store.manifest import Source, unpacked_name

SAMPLE = "0 -2 5 3 -2 5 0 0 0 0 0 0 0 0 0 0 0 0 0 -3 -2 -2 -2 -1 -1 0 0.7823 0.4430 0.0480 0.0025 -0.0002\n"


class BgsageComputation(PositionImportComputation):
    """Computation of `bgsage_rollouts`."""

    sample = ("sample-rollout", SAMPLE)

    def parse(self, source: Source) -> BgsageRollouts:
        is_called_json = unpacked_name(source.file.name.lower()).endswith(".jsonl")
        is_json = is_called_json or source.content.lstrip().startswith(b"{")
        return parse_bgsage_entries(source.content) if is_json else parse_bgsage_rollouts(source.content)

    def arrays_of(self, intakes: Sequence[Any]) -> dict[str, Array]:
        found = super().arrays_of(intakes)
        boards = flip_boards(found["boards"])
        written = np.concatenate([intake.chances for intake in intakes])
        return found | {
            "boards": boards,
            "classes": position_classes(boards).astype(np.uint8),
            "chances": flipped_chances(clip_chances(written)).astype(np.float32),
            "chances_after_play": written,
            "equities_after_play": numbers(intakes, "equities"),
            "standard_errors": numbers(intakes, "standard_errors"),
        }

    def row_columns(self, arrays: Mapping[str, Array], rows: slice) -> dict[str, pa.Array]:
        return super().row_columns(arrays, rows) | {
            "chances_after_play": fixed_lists(arrays["chances_after_play"][rows]),
            "equity_after_play": pa.array(arrays["equities_after_play"][rows], from_pandas=True),
            "standard_error": pa.array(arrays["standard_errors"][rows], from_pandas=True),
        }


def flipped_chances(chances: Array) -> Array:
    """The chances of the other side: (1 - win, lose_gammon, lose_backgammon, win_gammon, win_backgammon)."""
    return np.column_stack([1 - chances[:, 0], chances[:, 3], chances[:, 4], chances[:, 1], chances[:, 2]])


def numbers(intakes: Sequence[Any], name: str) -> Array:
    """A column that only some files have; NaN in the others."""
    parts = [getattr(intake, name, np.full(len(intake.lines), np.nan)) for intake in intakes]
    return np.concatenate(parts).astype(np.float64)


COMPUTATION = BgsageComputation
