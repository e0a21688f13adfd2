"""wildbg's training data: positions with the chances of rollouts."""

from __future__ import annotations

from bgdata.imports.kinds.shared.imports import PositionImport


class WildbgTraining(PositionImport):
    """Kind `wildbg_training`: training data of wildbg, with chances from rollouts. Each position gives a row, in the
    order of the files."""

    name = "wildbg_training"
    revision = 1
    summary = (
        "wildbg's training data: a position before the roll and the five chances of the player on roll, rolled out."
    )
    source = "Imported from wildbg's CSV files, published at https://github.com/carsten-wenderdel/wildbg-training"
    licence = "CC0-1.0"


DATASET = WildbgTraining()
