"""gnubg's training data: positions with the chances that its networks were trained on."""

from __future__ import annotations

from bgdata.imports.kinds.shared.imports import ImportParameters, PositionImport
from bgdata.kinds.columns import text_declarations
from bgdata.store.dataset import Column, FlatArray

ADDRESS = "https://alpha.gnu.org/gnu/gnubg/nn-training/1.00/training_data/"


class GnubgTraining(PositionImport):
    """Kind `gnubg_training`: training data of gnubg. Each position gives a row, in the order of the files."""

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
        FlatArray("comment_index", "int32", "row", "Index of the row's comment in `comments` of its part, -1 for none"),
        *text_declarations(
            "comments", "comment", "Comments of all files, in order; a later part begins with the one above it"
        ),
    )
    smallest = ImportParameters("contact-train-data")


DATASET = GnubgTraining()
