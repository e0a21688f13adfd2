"""The page of SQL questions is run: every query gives what it shows, in a DuckDB client without bgdata."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from bgdata.cli import main
from tests.test_readme import built, pages, reader_warehouse

pytestmark = pytest.mark.catalog

__all__ = ["built"]  # the fixture
PAGE = "docs/how_to/sql_questions.md"


def queries() -> list[tuple[str, str]]:
    """The queries of the page, each with its answer."""
    return re.findall(r"```sql\n(.*?)```\n\n```text\n(.*?)```\n", pages()[PAGE], re.DOTALL)


def shown(relation: duckdb.DuckDBPyRelation) -> str:
    """Rows as the page shows them: columns side by side."""
    texts = [[text_of(value) for value in row] for row in relation.fetchall()]
    rows = [relation.columns, *texts]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in rows
    )
    return "".join(lines)


def text_of(value: object) -> str:
    """A value as SQL has it; nothing for null."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def test_every_query_has_its_answer() -> None:
    assert len(queries()) == pages()[PAGE].count("```sql") >= 10


# slow: needs the default warehouse
@pytest.mark.slow
def test_queries_give_what_the_page_shows(built: Path, tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    reader_warehouse(PAGE, built, warehouse)
    result = CliRunner().invoke(main, ["--warehouse", str(warehouse), "benchmark", "pubeval"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    with duckdb.connect(str(warehouse / "catalog.duckdb"), read_only=True) as connection:
        connection.execute("set enable_progress_bar = false")
        for query, expected in queries():
            assert shown(connection.sql(query)) == expected, query
