"""Views of the catalog against manifests, arrays and each other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import bgdata
from bgdata.store.checks import SQL

VIEWS = {path.stem: path.read_text() for path in (SQL / "views").glob("*.sql")}


@pytest.mark.parametrize("name", VIEWS)
def test_a_file_creates_the_view_of_its_name(name: str) -> None:
    assert re.findall(r"^create view (\w+)", VIEWS[name], re.MULTILINE) == [name]


def test_versions(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    with warehouse.connect() as connection:
        rows = connection.sql("from versions").fetchall()
        columns = connection.sql("from versions").columns
    found = {row[columns.index("dataset")]: dict(zip(columns, row, strict=True)) for row in rows}
    assert set(found) == set(warehouse.kinds)
    for table in warehouse.versions():
        manifest, row = table.manifest, found[table.manifest.dataset]
        assert row.pop("version") == table.folder.name
        assert row.pop("is_current") is True
        assert row.pop("bytes") == sum(entry.bytes for entry in manifest.files)
        assert row.pop("created").isoformat() == manifest.created
        assert json.loads(row.pop("files")) == [vars(entry) for entry in manifest.files]
        for name in ("parameters", "inputs", "statistics", "software"):
            assert json.loads(row.pop(name)) == getattr(manifest, name)
        for name, value in row.items():
            assert value == getattr(manifest, name), name


def test_positions_are_those_of_the_one_sided_tables(small_root: Path) -> None:
    with bgdata.open_warehouse(small_root).connect() as connection:
        assert connection.sql("from bearoff_positions").columns == [
            "variant", "position_index", "points", "checkers", "pip_count",
        ]  # fmt: skip
        assert connection.sql(
            "select count(*) from bearoff_positions p join bearoff_one_sided o using (variant, position_index) "
            "where p.points = o.points and p.checkers = o.checkers and p.pip_count = o.pip_count"
        ).fetchall() == [(816,)]


def test_error_summary_is_what_the_manifest_states(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    table = warehouse.open("bearoff_error", "3x3")
    with warehouse.connect() as connection:
        rows = connection.sql("from bearoff_error_summary")
        (found,) = [dict(zip(rows.columns, row, strict=True)) for row in rows.fetchall()]
    assert (found.pop("variant"), found.pop("pairs")) == ("3x3", table.manifest.rows)
    stated = {name: value for name, value in table.manifest.statistics.items() if not name.endswith("bound")}
    assert found == pytest.approx(stated, rel=1e-6, abs=1e-12)
