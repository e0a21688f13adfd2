"""Lists of positions without labels."""

from __future__ import annotations

from bgdata.imports.kinds.shared.imports import (
    POSITION_ARRAYS,
    QUARANTINE_ARRAYS,
    SOURCE_ARRAYS,
    SOURCE_COLUMNS,
    PositionImport,
)
from bgdata.kinds.columns import CLASS_COLUMN, POSITION_COLUMNS


class Positions(PositionImport):
    """Kind `positions`: lists of positions without evaluations. Each position gives a row, in the order of the
    files."""

    name = "positions"
    revision = 2  # 2: every notation of positions is read
    summary = "Lists of positions, such as those of a benchmark."
    source = "Imported from lists of positions, one a line or in the first column of a CSV file, in any notation"
    licence = "as of the list"
    columns = (*SOURCE_COLUMNS, *POSITION_COLUMNS, CLASS_COLUMN)
    arrays = (*SOURCE_ARRAYS, *POSITION_ARRAYS, *QUARANTINE_ARRAYS)


DATASET = Positions()
