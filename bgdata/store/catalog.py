"""The catalog: every table as a commented view over its Parquet files, with the SQL macros and views.

Connections that are opened here make the catalog in memory, from the manifests. Untrusted read-only queries use the
file catalog.duckdb instead, if this user wrote it and nothing has changed since. A catalog from another user may
contain anything, so it is never opened for queries (see `seal`).

catalog.duckdb is for other DuckDB clients. It is written as a temporary file and renamed, and can be deleted at any
time. Its views read files below the folder where it was written, which a file beside it names. In any other folder the
views raise an error, because in a copy they would read the original. After a warehouse was moved or copied, bgdata
writes the catalog again when it opens the warehouse. Until then, `set variable warehouse = '<folder>'` corrects the
views in any client.

The time to update the file depends on the number of changes: an index (see `survey`) records the state of each variant,
and `refresh_catalog` copies the file and replaces only rows and views of changed variants. The view of a kind reads a
list of files, and takes the variant from their folders.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb

from bgdata.errors import (
    BgdataError,
    CheckFailedError,
    CheckSkippedError,
    CorruptFileError,
    NotFetchedError,
    OlderTableError,
    StorageError,
    cite,
)
from bgdata.store.catalog_views import (
    KEEP_FOOTERS,
    WRITTEN_IN,
    create_views,
    fill_catalog,
    forget_manifests,
    insert_manifests,
    own_views,
)
from bgdata.store.checks import check_columns
from bgdata.store.dataset import Dataset, TableShape
from bgdata.store.locked_sql import QueryLimits, keep_to, lock, open_memory
from bgdata.store.names import CURRENT, identifier, is_name, sql_text
from bgdata.store.registry import PARTS, parse_script
from bgdata.store.storage import hold_lock, is_shortage, open_regular, storage_errors, write_file
from bgdata.store.survey import (
    KEY_BYTES,
    FolderFacts,
    Index,
    Variant,
    current_version,
    own_key,
    read_index,
    read_versions,
    state_of,
    states,
    survey,
    variant_names,
    write_index,
)
from bgdata.store.table import Table
from bgdata.store.versions import Versions

# the oldest layout that has all we need: clients from 1.2 on can open the catalog
STORAGE_VERSION = "v1.2.0"
WRITE_ANEW = "try: bgdata catalog"
DEFINED = {  # everything that a catalog defines, by kind of entry
    "views": "select view_name, sql, comment from duckdb_views() where not internal and",
    "tables": "select table_name, sql, comment from duckdb_tables() where not internal and",
    "macros": "select function_name, concat(parameters::varchar, macro_definition), comment from duckdb_functions()"
    " where not internal and",
    "types": "select type_name, logical_type, comment from duckdb_types() where not internal and",
    "schemas": "select schema_name, '', comment from duckdb_schemas() where not internal and",
    "sequences": "select sequence_name, '', comment from duckdb_sequences() where",
    "columns": "select concat(table_name, '.', column_name), data_type, comment from duckdb_columns()"
    " where not internal and",
}
SEAL_NAME = ".catalog.seal"
HASHED_BYTES = 1 << 20  # bytes of a catalog read at a time
_MAX_SEAL_BYTES = 1000


def write_catalog(warehouse: Versions) -> None:
    """Write a new catalog.duckdb from the manifests, while holding a lock. Raises StorageError if it cannot be
    written."""
    _write(warehouse, None, is_anew=True)


def refresh_catalog(warehouse: Versions, *, exact: set[str] | None = None) -> None:
    """Update catalog.duckdb while holding a lock. Only changed variants are written again, or all variants if the file
    was not written by this user in this folder. For the kinds in `exact` (None: all kinds) files are compared to find
    changes, for other kinds only the times of folders. Raises StorageError if the catalog cannot be written."""
    _write(warehouse, exact, is_anew=False)


def _write(warehouse: Versions, exact: set[str] | None, *, is_anew: bool) -> None:
    warehouse.check_staging()
    partial = warehouse.root / ".catalog.partial"
    with storage_errors("write", warehouse.catalog), hold_lock(warehouse.staging / "catalog.lock"):
        try:
            declared = declaration(warehouse)
            before = None if is_anew or warehouse.is_moved() else _own_index(warehouse, declared)
            if before and not _is_own(warehouse, before.state):
                before = None
            # versions that were published meanwhile may be missing in the index
            index = _index_of(warehouse, declared, before, exact=exact)
            if before:
                _update_catalog_to(partial, warehouse, before, index)
            else:
                _write_catalog_to(partial, warehouse, index)
            code = code_of(warehouse, index.state, partial)
            partial.replace(warehouse.catalog)
            write_file(warehouse.catalog_place, str(warehouse.root.resolve()).encode())
            write_index(warehouse, index)
            seal(warehouse, index.state, code)
        except duckdb.Error as error:
            raise StorageError(f"cannot write {warehouse.catalog}: {str(error).splitlines()[0]}") from error
        finally:
            _remove_database(partial)


def _own_index(warehouse: Versions, declared: str) -> Index | None:
    """Return the index of the catalog if this user wrote it in this folder and `declared`, the digest of the
    declarations of kinds, has not changed; otherwise None."""
    index = read_index(warehouse) if warehouse.kinds.has_modules_alone else None
    return index if index and index.declared == declared else None


def _index_of(warehouse: Versions, declared: str, before: Index | None, *, exact: set[str] | None = None) -> Index:
    """Make the index of the warehouse as it is now. Variants that have not changed are taken from the index
    `before`."""
    with _Reader(warehouse) as reader:
        variants = survey(warehouse, before.variants if before else {}, reader.read, exact=exact)
    return (before or declared_index(warehouse, declared))._replace(variants=variants)


def declared_index(warehouse: Versions, declared: str = "") -> Index:
    """An index with the tables and views that the kinds declare, and without variants."""
    kinds = warehouse.kinds
    tables = {kind.name: [(shape.name, shape.shared) for shape in kind.tables] for kind in kinds.values()}
    return Index(declared, tables, list(kinds.views(kinds.values())), {})


class _Reader:
    """Reads the folders of variants for the catalog, with one DuckDB connection for all of them."""

    def __init__(self, warehouse: Versions) -> None:
        self._warehouse = warehouse
        self._connection: duckdb.DuckDBPyConnection | None = None

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection:
            self._connection.close()

    def read(self, kind: str, name: str, seen: FolderFacts) -> Variant:
        """Read the folder of the variant `name` of a kind; `seen` are the facts of its files. Damaged tables are
        recorded with their error. An error is raised if the folder cannot be read now because memory or rights are
        missing or a disk fails."""
        warehouse, declared = self._warehouse, self._warehouse.kinds[kind]
        table, flaw = current_version(warehouse, kind, name)
        tables, files, lacking = dict[str, str](), dict[str, list[str]](), dict[str, dict[str, str]]()
        for shape in declared.tables:
            if not _is_stored(declared, shape, table):
                continue
            try:
                if flaw:
                    raise flaw
                files[shape.name], missing = self._checked_files(declared, shape, table)
                lacking |= missing
                tables[shape.name] = ""
            except (duckdb.Error, BgdataError) as error:
                if is_shortage(error):
                    raise
                tables[shape.name] = _reason(table, error)
        current = CURRENT if flaw else table.folder.name
        return Variant(*seen[:3], current, read_versions(warehouse, kind, name, seen), tables, files, lacking)

    def _checked_files(
        self, kind: Dataset[Any], shape: TableShape, table: Table
    ) -> tuple[list[str], dict[str, dict[str, str]]]:
        """The names of the Parquet files of one table of a version, and for each file the SQL of the derived columns
        that it lacks. Raises BgdataError or duckdb.Error if the files differ from the declaration."""
        files = table.check_files(shape.file)
        kind.recipe_of(table.manifest)
        self._connection = self._connection or open_memory()
        return [path.name for path in files], check_columns(self._connection, kind, shape, table)


def _reason(table: Table, error: Exception) -> str:
    """Return the message that a query of a damaged version raises: the version's name and the error."""
    flaw = str(error).splitlines()[0]
    if isinstance(error, OlderTableError | NotFetchedError):
        return flaw
    if table.folder.name == CURRENT:
        return f"{table.name.removesuffix('/' + CURRENT)} is not there: {flaw}"
    return f"{table.name} is damaged: {flaw}"


def _write_catalog_to(path: Path, warehouse: Versions, index: Index) -> None:
    """Write a catalog with the contents of `index` to a new file at `path`. Raises duckdb.Error."""
    _remove_database(path)
    with open_memory() as connection:
        _attach(connection, path, warehouse, set(index.tables))
        fill_catalog(connection, warehouse, index, is_file=True)
        connection.execute("commit; use memory; detach catalog")


def _update_catalog_to(path: Path, warehouse: Versions, before: Index, index: Index) -> None:
    """Copy the catalog, whose index was `before`, to a new file at `path`, and write the differences of `index`. Raises
    duckdb.Error."""
    _remove_database(path)
    shutil.copyfile(warehouse.catalog, path)
    old, new = before.variants, index.variants
    changed = {
        key for key in old.keys() | new.keys() if key not in old or key not in new or old[key].what != new[key].what
    }
    were, are = own_views(warehouse, before), own_views(warehouse, index)
    others = {name for name in were.keys() | are.keys() if were.get(name) != are.get(name)}
    keys = changed | {place[0] for place in ({**were, **are}[name] for name in others)}
    with open_memory() as connection:
        _attach(connection, path, warehouse, {key.partition("/")[0] for key in keys})
        for name in sorted(name for name in others if name in were):
            connection.execute(f"drop view {identifier(name)}")
        for key in sorted(changed & old.keys()):
            forget_manifests(connection, key)
        insert_manifests(connection, warehouse, {key: new[key] for key in changed & new.keys()})
        create_views(connection, warehouse, index, keys=keys)
        connection.execute("commit; use memory; detach catalog")


def _attach(connection: duckdb.DuckDBPyConnection, path: Path, warehouse: Versions, kinds: set[str]) -> None:
    """Open the catalog at `path` for writing. The connection may then open only this warehouse, and the targets of
    links. Only links of these kinds, and of kinds that share tables with them, count."""
    root = warehouse.root.resolve()
    linked = {
        _real_folder(warehouse, kind, name)
        for kind in kinds
        for name, is_link in variant_names(warehouse, kind)
        if is_link or (warehouse.root / kind).is_symlink()
    }
    keep_to(connection, (), folders=[root, path.absolute().parent, *linked])
    connection.execute(f"attach {sql_text(str(path))} as catalog (storage_version '{STORAGE_VERSION}')")
    connection.execute("use catalog; begin transaction")  # each single statement would wait for the disk


def _database_files(path: Path) -> list[Path]:
    """Return the path of a DuckDB database, and the paths of the files that DuckDB writes beside it."""
    return [path, *(path.with_name(path.name + end) for end in (".wal", ".wal.checkpoint"))]


def _remove_database(path: Path) -> None:
    for file in _database_files(path):
        file.unlink(missing_ok=True)


def _parquet_files(warehouse: Versions, variants: Mapping[str, Variant]) -> Iterator[Path]:
    """The resolved paths of the Parquet files that the views of these variants read."""
    for key, variant in variants.items():
        if variant.files:
            folder = _real_folder(warehouse, *key.split("/")) / variant.current
            yield from (folder / file for files in variant.files.values() for file in files)


def _real_folder(warehouse: Versions, kind: str, name: str) -> Path:
    """The resolved path of the folder of the variant `name` of a kind."""
    folder = warehouse.root / kind / name
    return folder.resolve() if folder.is_symlink() else folder.parent.resolve() / name


def _all_parquet_files(warehouse: Versions) -> Iterator[Path]:
    """The resolved paths of the Parquet files of all versions. A file that is itself a link is left out."""
    for kind in sorted(warehouse.kinds):
        for name, _ in variant_names(warehouse, kind):
            folder = _real_folder(warehouse, kind, name)
            for version in sorted(os.listdir(folder)) if folder.is_dir() else ():  # noqa: PTH208 (is faster)
                if is_name("version", version):
                    with suppress(OSError), os.scandir(folder / version) as files:
                        inside = Path(os.path.realpath(folder / version))
                        yield from (
                            inside / each.name
                            for each in files
                            if each.name.endswith(".parquet") and each.is_file(follow_symlinks=False)
                        )


def _is_stored(kind: Dataset[Any], shape: TableShape, table: Table) -> bool:
    """Whether a version has a Parquet file of the table `shape`, or would have one if the version were not damaged."""
    try:
        return shape in kind.tables_of(kind.recipe_of(table.manifest))
    except BgdataError:
        return True


def connect(
    warehouse: Versions,
    *,
    limits: QueryLimits | None = None,
    allow_files: bool = False,
    outputs: Iterable[Path] = (),
    mend: bool = True,
    is_relative: bool = False,
    functions: Callable[[duckdb.DuckDBPyConnection], None] | None = None,
    for_query: str = "",
) -> duckdb.DuckDBPyConnection:
    """Open an in-memory DuckDB connection with the views and macros of the catalog. It may read only the tables of the
    warehouse.

    `limits` are for untrusted queries (see `read_only_query`): they lock the configuration of the connection, which
    then uses catalog.duckdb if possible. `allow_files` lets the connection open any file; `outputs` are files that it
    may write; `functions` is called with the connection, to add SQL functions. If catalog.duckdb is outdated and can be
    written, it is updated for other clients, unless `mend` is false: then nothing is written. Raises
    MissingWarehouseError if the folder does not exist, and StorageError if it cannot be read.

    If `is_relative` is true, views name their files by the path with which the warehouse was opened, so that queries do
    not see the full path of the folder; the process must then stay in its working directory. The setting
    `allowed_paths` still shows that path. `for_query` is an SQL query: the connection then has only what this query
    names. With catalog.duckdb, only the tables of the named kinds can be opened; in memory, nothing else is created or
    updated, so `for_query` is only for queries of bgdata itself."""
    warehouse.require()
    is_read = mend and limits is not None and not allow_files and not is_relative
    declared = declaration(warehouse)
    index, kinds, state = _own_index(warehouse, declared), None, ""
    if is_read and index and for_query and not ANY_FILE.search(for_query):
        kinds = _kinds_of(index, _named_by(warehouse, index, for_query))
    if mend and (is_read or not for_query):
        state = state_of(declared, states(warehouse, index.variants if index else {}, kinds))
        if is_stale(warehouse, state):
            with suppress(StorageError):
                refresh_catalog(warehouse, exact=kinds)
                index = _own_index(warehouse, declared)
                state = index.state if index else ""
    connection = open_memory(is_relative=is_relative)
    try:
        is_own = is_read and index and _is_own(warehouse, state)
        if not (is_own and index and _take_catalog(connection, warehouse, index, kinds, outputs)):
            base = index or declared_index(warehouse, declared)
            query = "" if limits else for_query
            _fill_memory(connection, warehouse, base, outputs, allow_files, is_relative=is_relative, for_query=query)
        if functions:
            functions(connection)
        if limits:
            lock(connection, limits)
    except BaseException:
        connection.close()
        raise
    return connection


ANY_FILE = re.compile(r"/|parquet|query|json_execute", re.IGNORECASE)  # in queries that may open files outside tables


def _named_by(warehouse: Versions, index: Index, query: str) -> frozenset[str]:
    """Return all words of a query, and all words of the views and macros that it uses, directly or indirectly."""
    return warehouse.kinds.sql.needed_by(query, map(parse_script, index.generated))


def _kinds_of(index: Index, names: frozenset[str]) -> set[str]:
    """Return the kinds for which `names` contains a table, or the view of a single variant."""
    return {
        kind
        for kind, tables in index.tables.items()
        if any(table in names or any(name.startswith(f"{table}_") for name in names) for table, _ in tables)
    }


def _fill_memory(
    connection: duckdb.DuckDBPyConnection,
    warehouse: Versions,
    index: Index,
    outputs: Iterable[Path],
    allow_files: bool,
    *,
    is_relative: bool,
    for_query: str,
) -> None:
    """Create the views and macros of the catalog in memory, or only those that a query needs."""
    known = {key: variant for key, variant in index.variants.items() if variant.is_whole}
    wanted = _named_by(warehouse, index, for_query) if for_query else None
    kinds = None if wanted is None or "manifests" in wanted else _kinds_of(index, wanted)
    with _Reader(warehouse) as reader:
        index = index._replace(variants=survey(warehouse, known, reader.read, kinds=kinds))
    if not allow_files:
        files = _all_parquet_files(warehouse) if wanted is None else _parquet_files(warehouse, index.variants)
        keep_to(connection, [*files, *outputs])
    connection.execute("begin transaction")
    fill_catalog(connection, warehouse, index, is_file=False, is_relative=is_relative, wanted=wanted)
    connection.execute("commit")


def _take_catalog(
    connection: duckdb.DuckDBPyConnection,
    warehouse: Versions,
    index: Index,
    kinds: set[str] | None,
    outputs: Iterable[Path],
) -> bool:
    """Open catalog.duckdb. The connection may then read the files of the views of these kinds (None: all kinds) and
    write `outputs`, but open no other files. Returns false if another program prevents it."""
    try:
        connection.execute(f"attach {sql_text(str(warehouse.catalog.resolve()))} as catalog (read_only)")
    except duckdb.Error:
        return False
    if kinds is None:
        files = _all_parquet_files(warehouse)
    else:
        named = {key: variant for key, variant in index.variants.items() if key.partition("/")[0] in kinds}
        files = _parquet_files(warehouse, named)
    keep_to(connection, [*files, *outputs])
    connection.execute("use catalog")
    connection.execute(KEEP_FOOTERS)
    return True


def is_stale(warehouse: Versions, state: str = "") -> bool:
    """Whether catalog.duckdb is outdated: versions were added or deleted after it was written, the warehouse was moved,
    or a newer bgdata declares its tables and views. A missing catalog is stale only if the warehouse has versions.
    `state` is the result of `catalog_state`, if the caller has it."""
    if not warehouse.catalog.exists():
        return next(warehouse.versions(), None) is not None
    return warehouse.is_moved() or _read_seal(warehouse)[0] != (state or catalog_state(warehouse))


def check_catalog(warehouse: Versions) -> None:
    """Check that catalog.duckdb, which other clients open, agrees with the manifests. Raises CheckFailedError, which
    names the differences; CorruptFileError if the file is not a catalog; and CheckSkippedError if it is missing or
    outdated. In a copied warehouse the views may name the folder where the catalog was written."""
    if not warehouse.catalog.is_symlink() and is_stale(warehouse):
        raise CheckSkippedError("there is none that is up to date; the next query writes it")
    with storage_errors("read", warehouse.catalog), open_regular(warehouse.catalog):
        pass
    with tempfile.TemporaryDirectory() as folder, open_memory() as connection:
        paths = {"expected": Path(folder).resolve() / "catalog.duckdb", "found": warehouse.catalog.resolve()}
        _write_catalog_to(paths["expected"], warehouse, _index_of(warehouse, declaration(warehouse), None))
        keep_to(connection, [file for path in paths.values() for file in _database_files(path)])
        try:
            for name, path in paths.items():
                connection.execute(f"attach {sql_text(str(path))} as {name} (read_only)")
            for what, query in DEFINED.items():
                owned = f"{query} database_name = $1"
                expected, found = (set(connection.execute(owned, [name]).fetchall()) for name in paths)
                if expected == found or _differ_in_place(expected, found):
                    continue
                names = cite(", ".join(sorted({str(name) for name, *_ in expected ^ found})))
                raise CheckFailedError(f"expected its {what} as the manifests say, differing: {names}; {WRITE_ANEW}")
            expected, found = (set(connection.execute(f"from {name}.manifests").fetchall()) for name in paths)
            if expected != found:
                raise CheckFailedError(f"expected the manifests as they are, found others in it; {WRITE_ANEW}")
        except duckdb.Error as error:
            raise CorruptFileError(
                f"expected a DuckDB catalog, found: {str(error).splitlines()[0]}; {WRITE_ANEW}"
            ) from error


def _differ_in_place(expected: set[tuple[str, ...]], found: set[tuple[str, ...]]) -> bool:
    """Whether the definitions of two catalogs are equal apart from the path of the warehouse, because one folder may
    have several paths."""
    text = r"'(?:[^']|'')*'"
    place = re.compile(rf"(?<=files_in\(){text}|(?<=is_in_place\(){text}|(?<={re.escape(WRITTEN_IN)}).*")
    sides = ({tuple(place.sub("", str(part)) for part in each) for each in side} for side in (expected, found))
    return next(sides) == next(sides)


def catalog_state(warehouse: Versions) -> str:
    """A digest of everything that a catalog is made from: the source files that declare and write it, the current
    version of each variant, and the names, types, sizes and times of manifests and Parquet files."""
    return state_of(declaration(warehouse), states(warehouse, {}))


def declaration(warehouse: Versions) -> str:
    """A digest of the source files that declare the tables and write the catalog."""
    kinds = warehouse.kinds
    digest = hashlib.sha256(repr(kinds.modules if kinds.has_modules_alone else sorted(kinds)).encode())
    scripts = (path for part in PARTS for path in kinds.sql.files(part))
    for path in sorted({*Path(__file__).parent.glob("*.py"), *scripts, *kinds.files()}):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def seal(warehouse: Versions, state: str, code: str) -> None:
    """Record, in a file beside catalog.duckdb, the state from which it was made and the result of `code_of` for it.
    Raises StorageError if the file cannot be written."""
    write_file(warehouse.root / SEAL_NAME, f"{state} {code}".encode())


def _read_seal(warehouse: Versions) -> tuple[str, str]:
    """The state and the code that `seal` recorded; empty strings if there is no such file."""
    try:
        with open_regular(warehouse.root / SEAL_NAME) as file:
            state, code = file.read(_MAX_SEAL_BYTES).decode().split(" ")
    except (CorruptFileError, OSError, ValueError):  # ValueError: no UTF-8, or not two words
        return "", ""
    return state, code


def _is_own(warehouse: Versions, state: str) -> bool:
    """Whether this user wrote catalog.duckdb in this folder, from this state, and with kinds that are all given by
    modules."""
    written, code = _read_seal(warehouse)
    if not code or written != state or not warehouse.kinds.has_modules_alone:
        return False
    try:
        return code == code_of(warehouse, state, warehouse.catalog)
    except (CorruptFileError, OSError):
        return False


def code_of(warehouse: Versions, state: str, path: Path) -> str:
    """Return a keyed hash of the catalog file at `path`, of its state, and of the warehouse's folder, which proves that
    this user wrote it. It is empty if this user has no key. Raises CorruptFileError if the path is not a regular file,
    and OSError if it cannot be read."""
    key = own_key()
    code = hashlib.blake2b(f"{warehouse.root.resolve()}\0{state}\0".encode(), key=key)
    with open_regular(path) as file:
        while part := file.read(HASHED_BYTES):
            code.update(part)
    return code.hexdigest() if len(key) == KEY_BYTES else ""
