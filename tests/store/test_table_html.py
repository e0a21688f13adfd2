"""Tables as notebooks show them: what stands in the cells, nothing that a name could break, and damage said."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

import bgdata
from bgdata.store.parquet import middle_rows
from bgdata.store.table_html import SAMPLE, cell_text, rows_html


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


def test_a_version_shows_its_rows_and_what_proves_it(small_root: Path) -> None:
    table = bgdata.open_warehouse(small_root).open("bearoff_two_sided", "3x3")
    text = table._repr_html_()
    rows = middle_rows(table.parquet, SAMPLE)
    assert CellReader(text).heads == list(rows[0])
    assert CellReader(text).cells == [cell_text(value) for row in rows for value in row.values()]
    assert table.name in text
    assert table.manifest.digest in text


def test_every_table_shows_itself(small_root: Path) -> None:
    for table in bgdata.open_warehouse(small_root).current():
        assert f"<b>{table.name}</b>" in table._repr_html_()


def test_names_are_escaped() -> None:
    text = rows_html([{"<script>": "<b>", "n": 3}], links=['/position/"><i>'])
    assert "<script>" not in text
    assert "<b>" not in text
    assert "<i>" not in text
    assert CellReader(text).heads == ["board", "<script>", "n"]
    assert CellReader(text).cells[1:] == ["<b>", "3"]


def test_a_damaged_version_says_so(warehouse: bgdata.Warehouse) -> None:
    table = warehouse.open("bearoff_gammon", "3x15")
    table.parquet.write_bytes(b"")
    assert "expected" in table._repr_html_()
    (table.folder / "manifest.json").write_text("<script>")
    again = warehouse.open("bearoff_gammon", "3x15")._repr_html_()
    assert "expected" in again
    assert "<script>" not in again


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "yes"),
        (None, ""),
        (12_345, "12,345"),
        (0.1234567, "0.123457"),
        ([1, 2], "[1, 2]"),
        ("a" * 400, "a" * 297 + "..."),
    ],
)
def test_values_as_people_read_them(value: object, text: str) -> None:
    assert cell_text(value) == text
