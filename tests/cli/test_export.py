"""`bgdata export`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import bgdata
from tests.cli.command_line import succeeds


@pytest.mark.parametrize(
    ("options", "size"),
    [
        (["--two-sided", "3x3"], 3_240),
        (["--two-sided", "3x3", "-C"], 840),
        (["--one-sided", "2"], 2_452),
        (["--one-sided", "2", "-g", "-c"], 40 + 136 * 64),
        (["--one-sided", "2", "-n"], 40 + 136 * 16),
    ],
    ids=str,
)
def test_export_gnubg(tmp_path: Path, options: list[str], size: int) -> None:
    path = tmp_path / "x.bd"
    shown = succeeds(tmp_path, "export", "gnubg-bd", *options, "--threads", "1", "-o", path)
    assert path.stat().st_size == size
    assert re.fullmatch(rf"wrote {path}: {size:,} bytes, SHA-256 [0-9a-f]{{64}}\n", shown)


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_export_of_a_table(small_root: Path, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"x.{form}"
    options = ["--format", form] if form != "parquet" else []
    assert succeeds(small_root, "export", "table", "bearoff_error/3x3", *options, "-o", path) == ""
    kind = bgdata.all_kinds()["bearoff_error"]
    names = ["variant", *(column.name for column in kind.columns)]
    if form == "parquet":
        assert (pq.ParquetFile(path).metadata.num_rows, pq.read_schema(path).names) == (361, names)
    elif form == "csv":
        lines = path.read_text().splitlines()
        assert (len(lines), lines[0]) == (362, ",".join(names))
    else:
        assert [list(row) for row in json.loads(path.read_text())] == [names] * 361
