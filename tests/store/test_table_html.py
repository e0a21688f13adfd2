"""Tables in notebooks: the content of cells, escaped names, and reported damage."""

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds import bearoff_two_sided
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.bearoff.match_table import MatchTable
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.endgames.tables import EndgameTable
from bgdata.equity.match_equity import MatchEquity
from bgdata.store.parquet import middle_rows
from bgdata.store.table_html import SAMPLE, cell_text, rows_html
from tests.kept import own
from tests.subtests import each


class CellReader(HTMLParser):
    """The texts of all cells."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.heads: list[str] = []
        self.cells: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, _: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        if tag in ("td", "th"):
            (self.cells if tag == "td" else self.heads).append("")

    def handle_data(self, data: str) -> None:
        if self._tag in ("td", "th"):
            found = self.cells if self._tag == "td" else self.heads
            found[-1] += data

    def handle_endtag(self, _: str) -> None:
        self._tag = ""


def test_version_shows_rows_and_hashes(small_root: Path) -> None:
    table = bgdata.open_warehouse(small_root).open("bearoff_two_sided", "3x3")
    text = table._repr_html_()
    rows = middle_rows(table.parquet, SAMPLE)
    assert CellReader(text).heads == list(rows[0])
    assert CellReader(text).cells == [cell_text(value) for row in rows for value in row.values()]
    assert table.name in text
    assert table.manifest.digest in text


def test_every_table_has_html(small_root: Path) -> None:
    for table in bgdata.open_warehouse(small_root).current():
        assert f"<b>{table.name}</b>" in table._repr_html_()


def test_table_without_parquet_shows_the_same_rows(
    small_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = bgdata.open_warehouse(small_root).open("bearoff_two_sided", "3x3")
    monkeypatch.setattr(bearoff_two_sided, "PARQUET_PAIRS", 0)
    flat = bgdata.open_warehouse(tmp_path).build("bearoff_two_sided", TwoSidedParameters(3, 3))
    assert not flat.parquet.exists()
    found, expected = (CellReader(text) for text in (TwoSidedTable(flat)._repr_html_(), small._repr_html_()))
    assert found.heads == expected.heads
    assert found.cells == expected.cells
    assert "Its values are in equities.npy and equities_row_sha256.npy." in flat._repr_html_()


def test_every_reader_shows_its_version(small_root: Path) -> None:
    """In a notebook, every class that reads a table shows the table's version."""
    warehouse = bgdata.open_warehouse(small_root)
    readers: dict[str, Any] = {
        "bearoff_two_sided": TwoSidedTable, "bearoff_one_sided": RaceTable, "bearoff_gammon": RaceTable,
        "bearoff_match": MatchTable, "contact_endgame": EndgameTable,
    }  # fmt: skip
    for kind, reader in readers.items():
        table = next(warehouse.current(kind))
        assert reader(table)._repr_html_() == table._repr_html_()


def test_match_equity_table_shows_chances() -> None:
    """In a notebook, a match equity table shows its chances in percent by score, a dash for a missing score, and its
    name escaped."""
    met = MatchEquity.of("<b>", [[0.5, 0.7], [0.3, 0.5]], [0.5, 0.49])
    found = CellReader(met._repr_html_())
    assert found.heads == ["away", "1", "2"]
    assert found.cells == ["1", "50.0", "70.0", "2", "30.0", "50.0"]
    assert "50.0, 51.0</p>" in met._repr_html_()
    assert "<b><b>" not in met._repr_html_()
    assert "51.0, –</p>" in MatchEquity.of("short", np.full((3, 3), 0.5), [0.5, 0.49])._repr_html_()


def test_only_showing_a_reader_loads_parquet(small_root: Path) -> None:
    """Opening and reading a table, and showing a match equity table, import neither DuckDB nor PyArrow."""
    code = (
        "import sys, bgdata\n"
        "from bgdata.bearoff.tables import TwoSidedTable\n"
        "from bgdata.equity.match_equity import MatchEquity\n"
        f"TwoSidedTable(bgdata.open_warehouse({str(small_root)!r}).open('bearoff_two_sided', '3x3')).probe(1, 1)\n"
        "MatchEquity.of('x', [[0.5]], [0.5])._repr_html_()\n"
        "print(sorted({'duckdb', 'pyarrow', 'prefect'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_names_are_escaped() -> None:
    text = rows_html([{"<script>": "<b>", "n": 3}], links=['/position/"><i>'], word="board")
    assert "<script>" not in text
    assert "<b>" not in text
    assert "<i>" not in text
    assert CellReader(text).heads == ["board", "<script>", "n"]
    assert CellReader(text).cells[1:] == ["<b>", "3"]


def test_damaged_version_shows_the_error(warehouse: bgdata.Warehouse) -> None:
    table = warehouse.open("bearoff_gammon", "3x15")
    own(table.parquet).write_bytes(b"")
    assert "expected" in table._repr_html_()
    own(table.folder / "manifest.json").write_text("<script>")
    again = warehouse.open("bearoff_gammon", "3x15")._repr_html_()
    assert "expected" in again
    assert "<script>" not in again


@each(
    ("value", "text"),
    [
        (True, "yes"), (None, ""), (12_345, "12,345"), (0.1234567, "0.123457"), ([1, 2], "[1, 2]"),
        ("a" * 400, "a" * 297 + "..."),
    ],
)  # fmt: skip
def test_values_are_shown_as_cell_text(value: object, text: str) -> None:
    assert cell_text(value) == text
