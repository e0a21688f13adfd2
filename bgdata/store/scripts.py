"""The .sql files that belong to kinds: folders with macros, lookups (macros that read tables), views, and checks
`checks/<table>__<claim>.sql`, which return the rows that violate the claim."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import duckdb

PARTS = ("macros", "lookups", "views")  # that a catalog is made from, in this order
COMMENTS_AND_TEXTS = re.compile(r"--[^\n]*|'(?:[^']|'')*'")


class Script(NamedTuple):
    """Some SQL: its text, the views and macros that it creates, the tables that it reads, and all words in it."""

    text: str
    creates: frozenset[str]
    reads: frozenset[str]
    words: frozenset[str]


def parse_script(text: str) -> Script:
    """What a script creates, reads and names, as far as its keywords tell."""
    created = re.findall(r"(?im)^create\s+(?:or\s+replace\s+)?(?:view|macro|table)\s+(\w+)", text)
    code = COMMENTS_AND_TEXTS.sub("''", text.lower())
    sources = re.findall(r"(?<!distinct )\b(?:from|join)\s+([a-z_]\w*)\b(?!\s*[(.])", code)
    subqueries = re.findall(r"\b(\w+)\s+as\s+(?:(?:not\s+)?materialized\s+)?\(", code)
    return Script(text, frozenset(created), frozenset(sources) - {*subqueries}, words_of(text))


@cache
def script_at(path: Path, _: int) -> Script:
    """An .sql file as it was at a time."""
    return parse_script(path.read_text())


def words_of(sql: str) -> frozenset[str]:
    """All words of some SQL, in small letters: whatever it names is among them."""
    return frozenset(re.findall(r"\w+", sql.lower()))


@dataclass(frozen=True)
class SqlFolders:
    """The folders of SQL that are handed to a warehouse with its kinds; later ones may use what earlier ones create."""

    folders: tuple[Path, ...] = ()

    def files(self, part: str, pattern: str = "*.sql") -> list[Path]:
        """The .sql files of a part, in order of folder and name."""
        return [path for folder in self.folders for path in sorted((folder / part).glob(pattern))]

    def scripts(self, *parts: str) -> list[Script]:
        """The scripts of these parts, in this order."""
        return [script_at(path, path.stat().st_mtime_ns) for part in parts for path in self.files(part)]

    def checks(self, table: str) -> Iterator[tuple[str, str]]:
        """(claim, query) of every check of a table; the query reads the view of that name."""
        for path in self.files("checks", f"{table}__*.sql"):
            yield path.stem.partition("__")[2], path.read_text()

    def needed_by(self, sql: str, others: Iterable[Script] = ()) -> frozenset[str]:
        """The words of some SQL, and of all that it is made from: views and macros of the scripts, and `others`."""
        scripts = [*others, *self.scripts(*PARTS)]
        wanted = words_of(sql)
        while more := {word for script in scripts if script.creates & wanted for word in script.words} - wanted:
            wanted |= more
        return wanted

    def run(self, connection: duckdb.DuckDBPyConnection, *parts: str, wanted: frozenset[str] | None = None) -> None:
        """Run the scripts of these parts, or those alone that create something `wanted`.

        Scripts that read tables of kinds which the connection does not have are left out, and whatever needs them.
        """
        found = connection.execute("select table_name from duckdb_tables() union select view_name from duckdb_views()")
        tables, missing = {name for (name,) in found.fetchall()}, set[str]()
        for script in self.scripts(*parts):
            if wanted is not None and not script.creates & wanted:
                continue
            if script.reads <= tables and not script.words & missing:
                connection.execute(script.text)
                tables |= script.creates
            else:
                missing |= script.creates
