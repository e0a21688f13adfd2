"""wildbg's training data: positions with the chances of rollouts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bgdata.datasets.common.imports import PositionImport

if TYPE_CHECKING:
    from bgdata.formats.wildbg_csv import WildbgData
    from bgdata.store.manifest import Source

SAMPLE = """position_id,win,win_g,win_bg,lose_g,lose_bg
4HPwATDgc/ABMA,0.525,0.154,0.007,0.125,0.005
"""


class WildbgTraining(PositionImport):
    """Rows keep the order of the files."""

    name = "wildbg_training"
    revision = 1
    summary = (
        "wildbg's training data: a position before the roll and the five chances of the player on roll, rolled out."
    )
    source = "Imported from wildbg's CSV files, published at https://github.com/carsten-wenderdel/wildbg-training"
    licence = "as published by the wildbg project; see the licence file of its training repository"

    def parse(self, source: Source) -> WildbgData:
        from bgdata.formats.wildbg_csv import parse_wildbg_csv

        return parse_wildbg_csv(source.content)

    def write_sample(self, folder: Path) -> list[Path]:
        path = folder / "sample.csv"
        path.write_text(SAMPLE)
        return [path]


DATASET = WildbgTraining()
