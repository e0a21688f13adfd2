"""gnubg's training data: positions with the chances that its networks were trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bgdata.datasets.common.columns import chosen_texts, text_arrays, text_column, text_declarations
from bgdata.datasets.common.imports import ImportParameters, PositionImport, are_over
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.manifest import Source

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.formats.gnubg_training import TrainingData
    from bgdata.store.arrays import Array

ADDRESS = "https://alpha.gnu.org/gnu/gnubg/nn-training/1.00/training_data/"
SAMPLE = """# Positions added in cycle 3
NIKOIJADCANIGOAHADBA 0.61959 0.24388 0.00981 0.08774 0.00183
"""


class GnubgTraining(PositionImport):
    """Rows keep the order of the file."""

    name = "gnubg_training"
    revision = 2
    summary = (
        "Training data of GNU Backgammon's networks: a position before the roll and the five chances of the player on "
        "roll, from rollouts or from 2-ply evaluation."
    )
    source = f"Imported from <class>-train-data files, published at {ADDRESS}"
    address = ADDRESS
    licence = "as published by the GNU Backgammon project; see the file's own notice"
    columns = (
        *PositionImport.columns,
        Column("comment", "VARCHAR", "", "The comment above the row that is nearest, such as the training cycle"),
    )
    arrays = (
        *PositionImport.arrays,
        FlatArray("comment_index", "int32", "row", "Index of the row's comment in `comments`, -1 for none"),
        *text_declarations("comments", "comment", "Comments of all files, in order"),
    )
    smallest = ImportParameters("contact-train-data")

    def parse(self, source: Source) -> TrainingData:
        from bgdata.formats.gnubg_training import parse_gnubg_training

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

    def write_sample(self, folder: Path) -> list[Path]:
        path = folder / "contact-train-data"
        path.write_text(SAMPLE)
        return [path]


DATASET = GnubgTraining()
