"""The registry of a warehouse: its kinds of dataset by name, and their SQL.

A kind is imported when it is first needed. Listing kinds imports none. Installed packages add kinds by entry points.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bgdata.errors import PluginError, cite
from bgdata.store.names import is_name

if TYPE_CHECKING:
    import duckdb

    from bgdata.store.dataset import Dataset


Place = str  # full name of a module that declares a kind as `DATASET`


def _no_views(_: Iterable[Dataset[Any]]) -> Iterator[str]:
    return iter(())


class Kinds(Mapping[str, "Dataset[Any]"]):
    """The kinds of dataset by name, in alphabetical order. A kind is given as its declaration, or as the full name of
    the module that declares it as `DATASET`.

    sql: folders with SQL scripts, see `SqlFolders`.
    views: a function from declarations to the SQL of views; one string for each view, with its comments.
    group: the group of entry points through which installed packages add kinds. The name of an entry point is the name
        of the kind, and its value is a module. SQL scripts are in the folder `sql` of that module's top package."""

    def __init__(
        self,
        kinds: Mapping[str, Dataset[Any] | Place],
        *,
        sql: Iterable[Path] = (),
        views: Callable[[Iterable[Dataset[Any]]], Iterator[str]] = _no_views,
        group: str = "",
    ) -> None:
        self._own = dict(kinds)
        self._folders = tuple(sql)
        self.views = views
        self._group = group

    def __or__(self, more: Mapping[str, Dataset[Any] | Place]) -> Kinds:
        return Kinds({**self._own, **more}, sql=self._folders, views=self.views, group=self._group)

    @cached_property
    def _other_modules(self) -> dict[str, Place]:
        """The modules of the kinds that installed packages add, by name of the kind. A package cannot replace a kind of
        bgdata."""
        if not self._group:
            return {}
        from importlib.metadata import entry_points  # here, because it is slow to import

        found = {each.name: each.value for each in entry_points(group=self._group)}
        return {name: module for name, module in found.items() if name not in self._own and is_name("kind", name)}

    @cached_property
    def modules(self) -> dict[str, Dataset[Any] | Place]:
        """The declaration or the module of each kind, as it was given, in alphabetical order."""
        return dict(sorted({**self._own, **self._other_modules}.items()))

    @cached_property
    def sql(self) -> SqlFolders:
        """The folders with SQL scripts: those of bgdata, then those of installed packages."""
        added: list[Path] = []
        for package in sorted({module.partition(".")[0] for module in self._other_modules.values()}):
            spec = find_spec(package)  # imports nothing
            added += [Path(folder) / "sql" for folder in (spec and spec.submodule_search_locations) or ()]
        return SqlFolders((*self._folders, *(folder for folder in added if folder.is_dir())))

    def __getitem__(self, name: str) -> Dataset[Any]:
        place = self._own[name] if name in self._own else self._other_modules[name]
        if not isinstance(place, str):
            return place
        if name in self._own:
            found: Dataset[Any] = import_module(place).DATASET
            return found
        return _load_added(name, place)

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._other_modules

    def __iter__(self) -> Iterator[str]:
        return iter(self.modules)

    def __len__(self) -> int:
        return len(self.modules)

    @property
    def has_modules_alone(self) -> bool:
        """Whether every kind was given by its module, so that the source files in `files` declare all kinds."""
        return all(isinstance(place, str) for place in self.modules.values())

    def files(self) -> set[Path]:
        """The source files that declare the kinds, and every other module of their packages, because kinds may share
        code."""
        given = self.modules.values()
        names = {each for each in given if isinstance(each, str)}
        names |= {base.__module__ for each in given if not isinstance(each, str) for base in type(each).__mro__}
        packages = {name.rpartition(".")[0] for name in names} - {""}
        folders = {folder for package in packages for folder in import_module(package).__path__}
        found = {path for folder in folders for path in Path(folder).rglob("*.py")}
        for name in names:
            module = sys.modules.get(name)
            spec = None if module or "." in name else find_spec(name)
            origin = getattr(module, "__file__", None) or (spec and spec.origin)
            if origin:
                found.add(Path(origin))
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kinds):
            return super().__eq__(other)
        return (self.modules, self.sql) == (other.modules, other.sql)

    __hash__ = None  # type: ignore[assignment]


def _load_added(name: str, module: Place) -> Dataset[Any]:
    """Import the kind `name` from a module of another package. Raises PluginError if that fails."""
    from bgdata.store.dataset import Dataset

    try:
        found = import_module(module).DATASET
    except Exception as error:  # modules of other packages may raise anything
        reason = f"{type(error).__name__}: {cite(str(error))}"
        raise PluginError(
            f"expected the kind {name} in the module {cite(module)} of another package, got {reason}; "
            "try: install that package again, or uninstall it"
        ) from error
    if not isinstance(found, Dataset) or found.name != name:
        raise PluginError(f"expected a Dataset named {name} as DATASET of {cite(module)}, got {cite(found)}")
    return found


PARTS = ("macros", "lookups", "views")  # scripts of a catalog, in this order
COMMENTS_AND_TEXTS = re.compile(r"--[^\n]*|'(?:[^']|'')*'")


class Script(NamedTuple):
    """An SQL script, with the views and macros that it creates, the tables that it reads, and all words in it."""

    text: str
    creates: frozenset[str]
    reads: frozenset[str]
    words: frozenset[str]


def parse_script(text: str) -> Script:
    """Find out what an SQL script creates, reads and names. Only keywords are examined."""
    created = re.findall(r"(?im)^create\s+(?:or\s+replace\s+)?(?:view|macro|table)\s+(\w+)", text)
    code = COMMENTS_AND_TEXTS.sub("''", text.lower())
    sources = re.findall(r"(?<!distinct )\b(?:from|join)\s+([a-z_]\w*)\b(?!\s*[(.])", code)
    subqueries = re.findall(r"\b(\w+)\s+as\s+(?:(?:not\s+)?materialized\s+)?\(", code)
    return Script(text, frozenset(created), frozenset(sources) - {*subqueries}, _words_of(text))


@cache
def _read_script(path: Path, _modified: int) -> Script:
    return parse_script(path.read_text())


def _words_of(sql: str) -> frozenset[str]:
    """All words of an SQL text in lower case, which include all names."""
    return frozenset(re.findall(r"\w+", sql.lower()))


@dataclass(frozen=True)
class SqlFolders:
    """The folders with SQL scripts of a warehouse. Scripts of a later folder may use what scripts of an earlier folder
    create."""

    folders: tuple[Path, ...] = ()

    def files(self, part: str, pattern: str = "*.sql") -> list[Path]:
        """The .sql files in the subfolder `part` of each folder, in the order of the folders, then by name."""
        return [path for folder in self.folders for path in sorted((folder / part).glob(pattern))]

    def scripts(self, *parts: str) -> list[Script]:
        """The scripts in these subfolders, such as `macros` and `views`, in this order."""
        return [_read_script(path, path.stat().st_mtime_ns) for part in parts for path in self.files(part)]

    def checks(self, table: str) -> Iterator[tuple[str, str]]:
        """Yield the claim and the SQL query of each check of a table. The query reads the view of that table."""
        for path in self.files("checks", f"{table}__*.sql"):
            yield path.stem.partition("__")[2], path.read_text()

    def needed_by(self, sql: str, others: Iterable[Script] = ()) -> frozenset[str]:
        """The words of an SQL text, with the words of all views and macros that it uses, directly or indirectly.
        `others` are scripts in addition to those in the folders."""
        scripts = [*others, *self.scripts(*PARTS)]
        wanted = _words_of(sql)
        while more := {word for script in scripts if script.creates & wanted for word in script.words} - wanted:
            wanted |= more
        return wanted

    def run(self, connection: duckdb.DuckDBPyConnection, *parts: str, wanted: frozenset[str] | None = None) -> None:
        """Run the scripts in these subfolders. If `wanted` is given, only scripts that create one of these names are
        run. A script is left out if it reads a table that does not exist, or uses a view or macro of a script that was
        left out."""
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
