"""Helpers for imports in tests: write files, import them, read the rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import bgdata
from bgdata.store.dataset import ImportedDataset
from bgdata.store.progress import Progress
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

IMPORTED = {name: kind for name, kind in bgdata.all_kinds().items() if isinstance(kind, ImportedDataset)}


class Imports:
    """A folder of files to import, and a warehouse to import them into."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.warehouse: Warehouse = bgdata.open_warehouse(folder / "warehouse")

    def file(self, name: str, content: str | bytes) -> Path:
        """Write a file."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def build(
        self,
        kind: str,
        files: Sequence[Path],
        *,
        progress: Progress | None = None,
        strict: bool = False,
        force: bool = False,
        name: str | None = None,
    ) -> Table:
        """Import files as `bgdata import` does."""
        parameters = IMPORTED[kind].parameters_of(files, name)
        return self.warehouse.build(kind, parameters, files=files, progress=progress, strict=strict, force=force)

    def sample(self, kind: str, **options: Any) -> Table:
        """Import the sample of a kind."""
        return self.build(kind, IMPORTED[kind].computation.write_sample(self.folder), **options)

    def text(self, kind: str, text: str | bytes, file: str = "contact.txt", **options: Any) -> Table:
        """Write a file with this text and import it."""
        return self.build(kind, [self.file(file, text)], **options)


def rows(table: Table, name: str = "") -> list[dict[str, Any]]:
    """The rows of a table of a version; the main table by default."""
    shapes = {shape.name: shape for shape in IMPORTED[table.manifest.dataset].tables}
    file = shapes[name].file if name else "table.parquet"
    return pq.read_table(table.folder / file).to_pylist()


def quarantined(table: Table) -> list[tuple[str, int, str, str]]:
    """(source, line, text, reason) of the quarantined lines."""
    return [tuple(row.values()) for row in rows(table, "quarantine")]


def counts(table: Table) -> tuple[int, ...]:
    """Numbers of lines: read, with rows, comments, quarantined. The first is the sum of the others."""
    statistics = table.manifest.statistics
    found = tuple(
        int(statistics[name]) for name in ("lines_read", "lines_with_rows", "lines_of_comment", "lines_quarantined")
    )
    assert found[0] == sum(found[1:])
    assert found[3] == sum(int(count) for name, count in statistics.items() if name.startswith("quarantined: "))
    assert found[3] == len(rows(table, "quarantine"))
    return found
