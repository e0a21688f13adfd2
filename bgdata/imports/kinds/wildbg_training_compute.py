"""Reads wildbg's training data."""

from __future__ import annotations

from bgdata.formats.wildbg_csv import WildbgData, parse_wildbg_csv
from bgdata.imports.kinds.shared.imports_compute import PositionImportComputation
from bgdata.store.manifest import Source

SAMPLE = """position_id,win,win_g,win_bg,lose_g,lose_bg
4HPwATDgc/ABMA,0.525,0.154,0.007,0.125,0.005
"""


class WildbgTrainingComputation(PositionImportComputation):
    """Computation of `wildbg_training`."""

    sample = ("sample.csv", SAMPLE)

    def parse(self, source: Source) -> WildbgData:
        return parse_wildbg_csv(source.content)


COMPUTATION = WildbgTrainingComputation
