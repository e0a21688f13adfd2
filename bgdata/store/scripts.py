"""The .sql files: macros, lookups, views, and checks `sql/checks/<table>__<claim>.sql`, which return the rows that
violate the claim."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import duckdb

_PACKAGE = Path(__file__).parents[1]
FOLDERS = ("macros", "lookups", "views")  # that every catalog is made from, in this order
# plain SQL stands beside the package in a checkout, and in it once installed from a wheel (see pyproject.toml)
SQL = next(folder for folder in (_PACKAGE / "sql", _PACKAGE.parent / "sql") if folder.is_dir())


def catalog_scripts() -> list[Path]:
    """The .sql files that every catalog is made from."""
    return [path for folder in FOLDERS for path in (SQL / folder).glob("*.sql")]


def sql_checks(table: str) -> Iterator[tuple[str, str]]:
    """(claim, query) of every check of a table; the query reads the view of that name."""
    for path in sorted((SQL / "checks").glob(f"{table}__*.sql")):
        yield path.stem.partition("__")[2], path.read_text()


class Script(NamedTuple):
    """An .sql file: its text, the views and macros that it creates, and all words in it."""

    text: str
    creates: frozenset[str]
    words: frozenset[str]


def scripts_in(folder: str) -> list[Script]:
    """Every .sql file of sql/<folder>, in order of name."""
    return [script_at(path, path.stat().st_mtime_ns) for path in sorted((SQL / folder).glob("*.sql"))]


@cache
def script_at(path: Path, _: int) -> Script:
    """An .sql file as it was at a time."""
    text = path.read_text()
    created = re.findall(r"(?im)^create\s+(?:or\s+replace\s+)?(?:view|macro|table)\s+(\w+)", text)
    return Script(text, frozenset(created), words_of(text))


def words_of(sql: str) -> frozenset[str]:
    """All words of some SQL, in small letters: whatever it names is among them."""
    return frozenset(re.findall(r"\w+", sql.lower()))


def needed_by(sql: str, others: Iterable[Script] = ()) -> frozenset[str]:
    """The words of some SQL, and of all that it is made from: views and macros of the scripts, and `others`."""
    scripts = [*others, *(script for folder in FOLDERS for script in scripts_in(folder))]
    wanted = words_of(sql)
    while more := {word for script in scripts if script.creates & wanted for word in script.words} - wanted:
        wanted |= more
    return wanted


def run_scripts(connection: duckdb.DuckDBPyConnection, folder: str, wanted: frozenset[str] | None = None) -> None:
    """Run every .sql file of sql/<folder>, in order of name, or those alone that create something `wanted`."""
    for script in scripts_in(folder):
        if wanted is None or script.creates & wanted:
            connection.execute(script.text)


def created_names(folder: str) -> Iterator[str]:
    """Names of the views and macros that the .sql files of sql/<folder> create."""
    for script in scripts_in(folder):
        yield from script.creates
