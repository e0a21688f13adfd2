"""Reads lists of positions."""

from __future__ import annotations

from bgdata.formats.position_list import PositionList, parse_position_list
from bgdata.imports.kinds.shared.imports_compute import PositionImportComputation
from bgdata.store.manifest import Source

SAMPLE = """position_id
4HPwATDgc/ABMA
v3sAAAhmdzMAAQ
"""


class PositionsComputation(PositionImportComputation):
    """Computation of `positions`."""

    sample = ("sample.csv", SAMPLE)

    def parse(self, source: Source) -> PositionList:
        return parse_position_list(source.content)


COMPUTATION = PositionsComputation
