"""Other people's match equity tables, from the XML files that gnubg reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgdata.datasets.common.columns import text_declarations
from bgdata.datasets.common.imports import QUARANTINE, QUARANTINE_ARRAYS, FileImport, ImportParameters, name_of_file
from bgdata.datasets.common.match_equity import (
    CELL_ARRAYS,
    MATCH_EQUITY,
    MATCH_EQUITY_TABLES,
    TABLE_ARRAYS,
    Described,
    arrays_of_tables,
    cell_batches,
    table_batches,
)
from bgdata.equity.match_equity import MatchEquity
from bgdata.errors import UsageError
from bgdata.formats.met_xml import MetFile, MetTable, parse_met
from bgdata.store.context import Computed
from bgdata.store.declaration import TableShape
from bgdata.store.manifest import Source

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.store.arrays import Array

SAMPLE = """<?xml version="1.0"?>
<!-- Made up for tests: no rights reserved. -->
<met>
  <info><name>Sample</name><description>two points</description><length>2</length></info>
  <pre-crawford-table type="explicit">
    <row>
      <me>0.5</me>
      <me>0.7</me>
    </row>
    <row>
      <me>0.3</me>
      <me>0.5</me>
    </row>
  </pre-crawford-table>
  <post-crawford-table type="explicit" player="both">
    <row>
      <me>0.5</me>
      <me>0.49</me>
    </row>
  </post-crawford-table>
</met>
"""


class MetXml(FileImport):
    """Tables in order of the files' names, by which they are called."""

    name = "met_xml"
    revision = 2
    summary = "Match equity tables of other people, from XML files as gnubg reads them; of formulas the parameters."
    source = "Imported from match equity table files (MET XML), such as those in the package gnubg-data of Debian"
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

    def parse(self, source: Source) -> NamedMet:
        found = parse_met(source.content)
        return NamedMet(found.ledger, found.table, met_name(source.file.name))

    def arrays_of(self, intakes: Sequence[Any]) -> dict[str, Array]:
        found = [described(intake.name, intake.table) for intake in intakes if intake.table is not None]
        return arrays_of_tables(sorted(found, key=lambda table: table.name))

    def batches(self, computed: Computed[ImportParameters]) -> Iterator[pa.RecordBatch]:
        return cell_batches(computed.arrays)

    def side_batches(self, name: str, computed: Computed[ImportParameters]) -> Iterator[pa.RecordBatch]:
        if name == MATCH_EQUITY_TABLES.name:
            return table_batches(computed.arrays)
        return super().side_batches(name, computed)

    def write_sample(self, folder: Path) -> list[Path]:
        path = folder / "sample.xml"
        path.write_text(SAMPLE)
        return [path]


@dataclass(frozen=True)
class NamedMet(MetFile):
    """A file, and what its table is called."""

    name: str


def met_name(file: str) -> str:
    """What a table is called: as its file is."""
    return name_of_file(file) or "unnamed"


def described(name: str, table: MetTable) -> Described:
    """A file's table, as tables are kept."""
    met = None
    if table.before is not None and table.post_crawford is not None:
        other = table.opponent_post_crawford
        met = MatchEquity.of(name, table.before, table.post_crawford, other, is_symmetric=False)
    return Described(
        name, met, table.name, table.description, table.form, table.is_symmetric,
        formula=table.parameters, notice=table.notice,
    )  # fmt: skip


DATASET = MetXml()
