"""The .sql files: macros, lookups, views, and checks `sql/checks/<table>__<claim>.sql`, which return the rows that
violate the claim."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_PACKAGE = Path(__file__).parents[1]
# plain SQL stands beside the package in a checkout, and in it once installed from a wheel (see pyproject.toml)
SQL = next(folder for folder in (_PACKAGE / "sql", _PACKAGE.parent / "sql") if folder.is_dir())


def catalog_scripts() -> list[Path]:
    """The .sql files that every catalog is made from."""
    return [path for folder in ("macros", "lookups", "views") for path in (SQL / folder).glob("*.sql")]


def sql_checks(table: str) -> Iterator[tuple[str, str]]:
    """(claim, query) of every check of a table; the query reads the view of that name."""
    for path in sorted((SQL / "checks").glob(f"{table}__*.sql")):
        yield path.stem.partition("__")[2], path.read_text()


def run_scripts(connection: duckdb.DuckDBPyConnection, folder: str) -> None:
    """Run every .sql file of sql/<folder>, in order of name."""
    for path in sorted((SQL / folder).glob("*.sql")):
        connection.execute(path.read_text())


def created_names(folder: str) -> Iterator[str]:
    """Names of the views and macros that the .sql files of sql/<folder> create."""
    for path in sorted((SQL / folder).glob("*.sql")):
        yield from re.findall(r"(?im)^create\s+(?:view|macro|table)\s+(\w+)", path.read_text())
