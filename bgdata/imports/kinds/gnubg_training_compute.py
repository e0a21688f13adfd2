"""Reads gnubg's training data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.formats.gnubg_training import TrainingData, parse_gnubg_training
from bgdata.imports.kinds.shared.imports_compute import PositionImportComputation, are_over
from bgdata.kinds.column_values import chosen_texts, text_arrays, text_column
from bgdata.store.arrays import Array
from bgdata.store.manifest import Source

SAMPLE = """# Positions added in cycle 3
NIKOIJADCANIGOAHADBA 0.61959 0.24388 0.00981 0.08774 0.00183
"""


class GnubgTrainingComputation(PositionImportComputation):
    """Computation of `gnubg_training`."""

    sample = ("contact-train-data", SAMPLE)

    def parse(self, source: Source) -> TrainingData:
        data = parse_gnubg_training(source.content)
        return data.quarantine(are_over(data.boards), "expected a position of a game that goes on")

    def arrays_of(self, intakes: Sequence[Any]) -> dict[str, Array]:
        firsts = accumulate((len(intake.comments) for intake in intakes), initial=0)
        indexes = [
            np.where(intake.comment_index < 0, -1, intake.comment_index + first)
            for intake, first in zip(intakes, firsts, strict=False)
        ]
        return {
            **super().arrays_of(intakes),
            "comment_index": np.concatenate(indexes).astype(np.int32),
            **text_arrays("comments", [comment for intake in intakes for comment in intake.comments]),
        }

    def row_columns(self, arrays: Mapping[str, Array], rows: slice) -> dict[str, pa.Array]:
        comments = chosen_texts(text_column(arrays, "comments"), arrays["comment_index"][rows])
        return super().row_columns(arrays, rows) | {"comment": comments}


COMPUTATION = GnubgTrainingComputation
