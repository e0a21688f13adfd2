"""Reads match equity tables from XML and INI files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bgdata.equity.kinds.match_equity import MATCH_EQUITY_TABLES
from bgdata.equity.kinds.met_xml import met_name
from bgdata.equity.kinds.shared.match_equity_compute import (
    MetWithDescription,
    arrays_of_tables,
    cell_batches,
    table_batches,
)
from bgdata.equity.match_equity import MatchEquity
from bgdata.formats.met_files import MetFile, MetTable, parse_met
from bgdata.imports.kinds.shared.imports import ImportParameters
from bgdata.imports.kinds.shared.imports_compute import WholeFilesComputation
from bgdata.store.arrays import Array
from bgdata.store.dataset import Computed
from bgdata.store.manifest import Source

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


class MetXmlComputation(WholeFilesComputation):
    """Computes datasets of the kind `met_xml`."""

    sample = ("sample.xml", SAMPLE)

    def parse(self, source: Source, _parameters: ImportParameters) -> NamedMet:
        found = parse_met(source.content)
        return NamedMet(found.ledger, found.table, met_name(source.file.name))

    def arrays_of(self, intakes: Sequence[Any]) -> dict[str, Array]:
        found = [describe_table(intake.name, intake.table) for intake in intakes if intake.table is not None]
        return arrays_of_tables(sorted(found, key=lambda table: table.name))

    def batches(self, computed: Computed[ImportParameters]) -> Iterator[pa.RecordBatch]:
        return cell_batches(computed.arrays)

    def side_batches(self, name: str, computed: Computed[ImportParameters]) -> Iterator[pa.RecordBatch]:
        if name == MATCH_EQUITY_TABLES.name:
            return table_batches(computed.arrays)
        return super().side_batches(name, computed)


@dataclass(frozen=True)
class NamedMet(MetFile):
    """The match equity table in a file, with the name that the table gets."""

    name: str


def describe_table(name: str, table: MetTable) -> MetWithDescription:
    """Combine the table from a file with its name and description."""
    met = None
    if table.before is not None and table.post_crawford is not None:
        other = table.opponent_post_crawford
        met = MatchEquity.of(name, table.before, table.post_crawford, other, is_symmetric=False)
    return MetWithDescription(
        name, met, table.name, table.description, table.form, table.is_symmetric,
        formula=table.parameters, notice=table.notice,
    )  # fmt: skip


COMPUTATION = MetXmlComputation
