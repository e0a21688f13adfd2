"""Imported match equity tables: XML files of gnubg, and .met files of eXtreme Gammon and Snowie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bgdata.equity.kinds.match_equity import CELL_ARRAYS, MATCH_EQUITY, MATCH_EQUITY_TABLES, TABLE_ARRAYS
from bgdata.errors import UsageError
from bgdata.imports.kinds.shared.imports import QUARANTINE, QUARANTINE_ARRAYS, FileImport, name_of_file
from bgdata.kinds.columns import text_declarations
from bgdata.store.dataset import TableShape


class MetXml(FileImport):
    """Kind `met_xml`: imported match equity tables. They have one row for each table and score, in the order of the
    file names, which are also the names of the tables."""

    name = "met_xml"
    revision = 3  # 3: files of eXtreme Gammon and Snowie
    endings = (".xml", ".met")
    summary = (
        "Match equity tables of other people, from XML files as gnubg reads them, and .met files of eXtreme Gammon and "
        "Snowie; of formulas the parameters."
    )
    source = "Imported from match equity table files: MET XML, as in the package gnubg-data of Debian, or .met"
    licence = "as of the files: see the column notice of match_equity_tables"
    columns = MATCH_EQUITY.columns
    key = MATCH_EQUITY.key
    arrays = (
        *TABLE_ARRAYS,
        *CELL_ARRAYS,
        *text_declarations("sources", "file", "Names of the files"),
        *QUARANTINE_ARRAYS,
    )

    @property
    def tables(self) -> tuple[TableShape, ...]:
        return MATCH_EQUITY, MATCH_EQUITY_TABLES, QUARANTINE

    def check_files(self, files: Sequence[Path]) -> None:
        super().check_files(files)
        for name, count in Counter(met_name(path.name) for path in files).items():
            if count > 1:
                raise UsageError(f"expected files whose names give different tables, got {name} {count} times")


def met_name(file: str) -> str:
    """Return the name of a match equity table, from the name of its file."""
    return name_of_file(file) or "unnamed"


DATASET = MetXml()
