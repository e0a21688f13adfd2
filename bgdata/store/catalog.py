"""The catalog: every table as a commented view over its Parquet file, with the SQL macros and views.

Connections opened here have it in memory, made from the manifests. Queries of strangers, which change nothing, take the
file catalog.duckdb instead where this user wrote it and nothing has changed since: one that came with a warehouse may
hold anything, and is never opened to be queried (see `seal`). For other DuckDB clients the file is written aside and
renamed, and can be deleted at any time. Its views find their files below the folder that it was written in, which a
file beside it names. Opened from any other place they give no rows but an error: in a copy they would go on reading the
original. Where a warehouse was moved or copied, whatever opens it with bgdata writes it anew, and until then `set
variable warehouse = '<folder>'` puts it right in any client.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from bgdata.process import cache_folder
from bgdata.store.checks import check_columns, select_columns
from bgdata.store.dataset import Column, Dataset, TableShape
from bgdata.store.locked_sql import QueryLimits, keep_to, lock, open_memory
from bgdata.store.manifest import FILE_NAME as MANIFEST
from bgdata.store.names import CURRENT, identifier, is_name, parquet_source, read_parquet, sql_text
from bgdata.store.registry import PARTS, parse_script
from bgdata.store.storage import hold_lock, is_want, open_regular, storage_errors, write_file
from bgdata.store.table import Table
from bgdata.store.versions import CATALOG, Versions

# the oldest layout that holds all we write: clients from 1.2 on can open the catalog
STORAGE_VERSION = "v1.2.0"
MANIFESTS = "Manifests of all versions as JSON; see the view versions"
WRITTEN_IN = f"{MANIFESTS}. Written in "
# raises an error, in every client, unless all open catalogs that were written in a folder lie there
IS_IN_PLACE = f"""
create macro is_in_place(folder) as getvariable('warehouse') is not null or (
    select case when count(*) = 0 then true else error(concat(
        'expected a catalog in ', folder, ', where it was written, found it in ', any_value(place),
        '; try: set variable warehouse = ''', any_value(place), ''''
    )) end
    from (
        select regexp_replace(path, '/[^/]*$', '') as place
        from duckdb_databases() join duckdb_tables() as marked using (database_name)
        where marked.comment = concat({sql_text(WRITTEN_IN)}, folder)
          and path <> concat(folder, '/{CATALOG}')  -- null in memory
    )
);
comment on macro is_in_place is 'Whether the catalog lies in the folder in which it was written; else an error'
"""
KEEP_FOOTERS = "set parquet_metadata_cache = true"  # versions never change
WRITE_ANEW = "try: bgdata catalog"
DEFINED = {  # everything that a catalog defines, by what holds it
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
KEY_BYTES = 32
_MOST_SEAL_BYTES = 1000


def write_catalog(warehouse: Versions) -> None:
    """Rewrite catalog.duckdb from the manifests, under a lock. Raises StorageError."""
    warehouse.check_staging()
    partial = warehouse.root / ".catalog.partial"
    with storage_errors("write", warehouse.catalog), hold_lock(warehouse.staging / "catalog.lock"):
        try:
            state = catalog_state(warehouse)  # what is published while it is written may be missing in it
            _write_catalog_to(partial, warehouse)
            content = partial.read_bytes()
            partial.replace(warehouse.catalog)
            write_file(warehouse.catalog_place, str(warehouse.root.resolve()).encode())
            seal(warehouse, state, content)
        except duckdb.Error as error:
            raise StorageError(f"cannot write {warehouse.catalog}: {str(error).splitlines()[0]}") from error
        finally:
            _remove_database(partial)


def _write_catalog_to(path: Path, warehouse: Versions) -> None:
    """Write a catalog of the warehouse to a new file. Raises duckdb.Error."""
    _remove_database(path)
    tables = list(warehouse.versions())
    with open_memory() as connection:
        keep_to(connection, [*_parquet_files(warehouse, tables), *_database_files(path.absolute())])
        connection.execute(f"attach {sql_text(str(path))} as catalog (storage_version '{STORAGE_VERSION}')")
        connection.execute("use catalog; begin transaction")  # each alone would wait for the disk
        fill_catalog(connection, warehouse, tables, is_file=True)
        connection.execute("commit; use memory; detach catalog")


def _database_files(path: Path) -> list[Path]:
    """The files that DuckDB keeps for a database while it is written."""
    return [path, *(path.with_name(path.name + end) for end in (".wal", ".wal.checkpoint"))]


def _remove_database(path: Path) -> None:
    for file in _database_files(path):
        file.unlink(missing_ok=True)


def _parquet_files(warehouse: Versions, tables: Iterable[Table]) -> Iterator[Path]:
    """The Parquet files of versions that are as their manifests say: what a connection may open."""
    for table in tables:
        kind = warehouse.kinds[table.folder.parts[-3]]
        for shape in kind.tables:
            with suppress(BgdataError):
                if _is_stored(kind, shape, table):
                    yield from (path.resolve() for path in table.check_files(shape.file))


def _is_stored(kind: Dataset[Any], shape: TableShape, table: Table) -> bool:
    """Whether a version has a Parquet file of this table, or should have one, as far as one can see."""
    try:
        return shape in kind.tables_of(kind.recipe_of(table.manifest))
    except BgdataError:
        return True


def fill_catalog(
    connection: duckdb.DuckDBPyConnection,
    warehouse: Versions,
    versions: Sequence[Table],
    *,
    is_file: bool,
    is_relative: bool = False,
    for_query: str = "",
) -> None:
    """Create every macro, view, table and comment; in a file, views find their folder by a variable or where it was. If
    it `is_relative`, they name files as the warehouse was opened. If it is `for_query` alone, only what this query
    names and what that is made from is created, without comments.

    Of a damaged version there are views too: to read them is an error that names it.
    """
    sql = warehouse.kinds.sql
    generated = [parse_script(text) for text in warehouse.kinds.views(warehouse.kinds.values())]
    wanted = sql.needed_by(for_query, generated) if for_query else None
    current, flaws = _current_versions(warehouse, {table.folder: table for table in versions})
    connection.execute(KEEP_FOOTERS)
    sql.run(connection, "macros", wanted=wanted)
    connection.execute(IS_IN_PLACE)
    if wanted is None or "manifests" in wanted:
        _create_manifests(connection, versions, {table.folder for table in current})
        if not is_relative:
            written = WRITTEN_IN + str(warehouse.root.resolve())
            connection.execute(f"comment on table manifests is {sql_text(written)}")
    taken = {shape.name for kind in warehouse.kinds.values() for shape in kind.tables}
    taken |= {name for script in (*generated, *sql.scripts("lookups", "views")) for name in script.creates}
    shapes: dict[str, TableShape] = {}  # a shared table is declared by several kinds
    selects: dict[str, list[str]] = {}
    for kind in warehouse.kinds.values():
        for shape in kind.tables:
            is_variant = wanted is not None and any(name.startswith(f"{shape.name}_") for name in wanted)
            if wanted is not None and not is_variant and shape.name not in wanted:
                continue
            shapes.setdefault(shape.name, shape)
            for table in (each for each in current if each.folder.parts[-3] == kind.name):
                if not _is_stored(kind, shape, table):
                    continue
                try:
                    if table.folder in flaws:
                        raise flaws[table.folder]
                    query = _whole_select(connection, warehouse, kind, shape, table, is_file, is_relative)
                except (duckdb.Error, BgdataError) as error:
                    if is_want(error):
                        raise
                    query = _damaged_select(kind, shape, table, error)
                variant = table.folder.parent.name
                name = f"{shape.name}_{variant.replace('-', '_')}"
                if not shape.shared and name not in taken:  # a view of the variant's own
                    taken.add(name)
                    comment = f"{shape.summary} Variant {variant}, {table.folder.name}."
                    _create_view(connection, name, shape, query, comment if wanted is None else "")
                    query = f"select * from {identifier(name)}"
                selects.setdefault(shape.name, []).append(query)
    for name, shape in shapes.items():
        columns = [*_leading_columns(shape), *shape.columns]
        empty = ", ".join(f"null::{column.type} as {identifier(column.name)}" for column in columns)
        query = " union all ".join(selects.get(name, ())) or f"select {empty} where false"
        _create_view(connection, name, shape, query, shape.summary if wanted is None else "")
    for script in generated:
        if wanted is None or script.creates & wanted:
            connection.execute(script.text)
    sql.run(connection, "lookups", "views", wanted=wanted)


def is_readable(table: Table) -> bool:
    """Whether the version's manifest can be read; `bgdata verify` reports those that cannot."""
    try:
        return bool(table.manifest)
    except BgdataError:
        return False


def _create_manifests(connection: duckdb.DuckDBPyConnection, tables: Iterable[Table], current: set[Path]) -> None:
    """The table behind the view `versions`: one row per version whose manifest can be read, with that as JSON."""
    connection.execute("create table manifests (version varchar, is_current boolean, manifest json)")
    for place, text in {
        "table manifests": MANIFESTS,
        "column manifests.version": "Folder of the version: r<revision>-<digest8>",
        "column manifests.is_current": "Whether the views show this version of its variant",
        "column manifests.manifest": "The whole manifest.json",
    }.items():
        connection.execute(f"comment on {place} is {sql_text(text)}")
    for table in filter(is_readable, tables):
        row = [table.folder.name, table.folder in current, json.dumps(table.manifest.values())]
        connection.execute("insert into manifests values (?, ?, ?)", row)


def _current_versions(warehouse: Versions, opened: dict[Path, Table]) -> tuple[list[Table], dict[Path, BgdataError]]:
    """The version that answers for each variant; and by its folder what is wrong, where `current` names none, or one
    that is not there."""
    found, flaws = [], dict[Path, BgdataError]()
    folders = {path.parent for path in opened}
    for kind in sorted(warehouse.kinds):
        for variant in warehouse.variants(kind):
            folder = warehouse.root / kind / variant
            try:
                table = warehouse.open(kind, variant)
            except BgdataError as error:
                there = (each for path, each in opened.items() if path.parent == folder)
                table = max(there, key=lambda each: each.folder, default=Table(folder / CURRENT, kind))
                flaws[table.folder] = error
            if folder in folders or table.folder in flaws:  # others came after these were listed
                found.append(opened.get(table.folder, table))
    return found, flaws


def _create_view(connection: duckdb.DuckDBPyConnection, name: str, shape: TableShape, query: str, comment: str) -> None:
    """Create a view of a table's rows; with a comment, its columns are commented from the declaration too."""
    statements = [f"create view {identifier(name)} as {query}"]
    if comment:
        statements.append(f"comment on view {identifier(name)} is {sql_text(comment)}")
        for column in (*_leading_columns(shape), *shape.columns):
            place = f"{identifier(name)}.{identifier(column.name)}"
            statements.append(f"comment on column {place} is {sql_text(column.comment)}")
    connection.execute("; ".join(statements))  # a call for each would take a third longer


def _leading_columns(shape: TableShape) -> list[Column]:
    """The columns that tell versions apart."""
    variant = Column("variant", "VARCHAR", "", "Name of the parameters, such as 6x9")
    return [Column("dataset", "VARCHAR", "", "Dataset kind"), variant] if shape.shared else [variant]


def _whole_select(
    connection: duckdb.DuckDBPyConnection,
    warehouse: Versions,
    kind: Dataset[Any],
    shape: TableShape,
    table: Table,
    is_file: bool,
    is_relative: bool,
) -> str:
    """The query that reads the Parquet file. Raises BgdataError or duckdb.Error for one that is not as declared."""
    paths = table.check_files(shape.file)
    columns = select_columns(kind, kind.recipe_of(table.manifest), shape)
    with connection.cursor() as aside:  # an error would end the transaction
        check_columns(aside, kind, shape, table)
    if not is_file:
        return f"select {columns} from {parquet_source(*(path if is_relative else path.resolve() for path in paths))}"
    root = sql_text(str(warehouse.root.resolve()))
    places = [sql_text("/" + path.relative_to(warehouse.root).as_posix()) for path in paths]
    # DuckDB resolves relative paths against the client's folder, not the database file: so the path is absolute, and a
    # variable overrides it after a move
    source = read_parquet(*(f"coalesce(getvariable('warehouse'), {root}) || {place}" for place in places))
    return f"select {columns} from {source} where is_in_place({root})"


def _damaged_select(kind: Dataset[Any], shape: TableShape, table: Table, error: Exception) -> str:
    """A query with the columns of a table that fails as soon as it is read: it names the version and what is wrong."""
    columns = {column.name: f"null::{column.type}" for column in shape.columns}
    columns["variant"] = sql_text(table.folder.parent.name)
    if shape.shared:
        columns["dataset"] = sql_text(kind.name)
    shown = ", ".join(f"{columns[c.name]} as {identifier(c.name)}" for c in (*_leading_columns(shape), *shape.columns))
    flaw = str(error).splitlines()[0]
    said = f"{table.name} is damaged: {flaw}"
    if table.folder.name == CURRENT:
        said = f"{table.name.removesuffix('/' + CURRENT)} is not there: {flaw}"
    reason = sql_text(flaw if isinstance(error, OlderTableError | NotFetchedError) else said)
    return f"select {shown} where error({reason}) is null"


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
    """A connection of its own to the catalog in memory: it opens the tables of the warehouse and no other files.

    With `limits` its configuration is locked too: for queries that anybody may have written, see `reading_query`. It
    takes catalog.duckdb then, if it may. `allow_files` lets it open any file; `outputs` are files that it may write;
    `functions` adds functions to it. Raises MissingWarehouseError or StorageError. Brings catalog.duckdb up to date,
    for other clients, where it is old and can be written, unless `mend` is false: then nothing is written.

    If it `is_relative`, views name their files as the warehouse was opened: for as long as the process stays in its
    folder, and for queries that should not see where that is. The setting `allowed_paths` says so all the same. If it
    is `for_query`, one of our own, only what that names is there, in a tenth of the time, and nothing is mended.
    """
    warehouse.require()
    mend = mend and not for_query
    state = catalog_state(warehouse) if mend else ""
    if mend and is_stale(warehouse, state):
        with suppress(StorageError):
            write_catalog(warehouse)
    is_read = mend and limits is not None and not allow_files and not is_relative
    connection = open_memory(is_relative=is_relative)
    try:
        if not (is_read and _is_own(warehouse, state) and _take_catalog(connection, warehouse, outputs)):
            tables = list(warehouse.versions())
            if not allow_files:
                keep_to(connection, [*_parquet_files(warehouse, tables), *outputs])
            connection.execute("begin transaction")
            fill_catalog(connection, warehouse, tables, is_file=False, is_relative=is_relative, for_query=for_query)
            connection.execute("commit")
        if functions:
            functions(connection)
        if limits:
            lock(connection, limits)
    except BaseException:
        connection.close()
        raise
    return connection


def _take_catalog(connection: duckdb.DuckDBPyConnection, warehouse: Versions, outputs: Iterable[Path]) -> bool:
    """Open catalog.duckdb, and no other files than those that its views read and the outputs; returns false where
    another program keeps it from being opened."""
    try:
        connection.execute(f"attach {sql_text(str(warehouse.catalog.resolve()))} as catalog (read_only)")
    except duckdb.Error:
        return False
    files = [folder / name for folder, name in _version_files(warehouse) if name.endswith(".parquet")]
    keep_to(connection, [*(path.resolve() for path in files if not path.is_symlink()), *outputs])
    connection.execute("use catalog")
    connection.execute(KEEP_FOOTERS)
    return True


def is_stale(warehouse: Versions, state: str = "") -> bool:
    """Whether versions came or went after catalog.duckdb was written, the warehouse was moved, or a newer bgdata
    declares its tables and views; where there are no versions nobody needs it. `state` is that of now, if it is
    known."""
    if not warehouse.catalog.exists():
        return next(warehouse.versions(), None) is not None
    return warehouse.is_moved() or _read_seal(warehouse)[0] != (state or catalog_state(warehouse))


def check_catalog(warehouse: Versions) -> None:
    """catalog.duckdb, which other clients open, says what the manifests say and nothing else.

    Raises CheckFailedError naming what differs, CorruptFileError for what is no catalog, and CheckSkippedError where
    there is none, or an old one. In a copy its views still name the folder where it was written.
    """
    if not warehouse.catalog.is_symlink() and is_stale(warehouse):
        raise CheckSkippedError("there is none that is up to date; the next query writes it")
    with storage_errors("read", warehouse.catalog), open_regular(warehouse.catalog):
        pass
    with tempfile.TemporaryDirectory() as folder, open_memory() as connection:
        paths = {"expected": Path(folder).resolve() / "catalog.duckdb", "found": warehouse.catalog.resolve()}
        _write_catalog_to(paths["expected"], warehouse)
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
    """Whether what catalogs define differs by nothing but the folder of the warehouse, which has several names."""
    text = r"'(?:[^']|'')*'"
    place = re.compile(
        rf"(?<=getvariable\('warehouse'\), ){text}|(?<=is_in_place\(){text}|(?<={re.escape(WRITTEN_IN)}).*"
    )
    sides = ({tuple(place.sub("", str(part)) for part in each) for each in side} for side in (expected, found))
    return next(sides) == next(sides)


def catalog_state(warehouse: Versions) -> str:
    """A digest of all that a catalog of the warehouse is made from: the text of what declares and writes it, which
    version of each variant is current, and names, types, sizes and times of manifests and Parquet files."""
    kinds = warehouse.kinds
    digest = hashlib.sha256(repr(kinds.modules if kinds.has_modules_alone else sorted(kinds)).encode())
    scripts = (path for part in PARTS for path in kinds.sql.files(part))
    for path in sorted({*Path(__file__).parent.glob("*.py"), *scripts, *kinds.files()}):
        digest.update(path.read_bytes())
    for folder, name in _version_files(warehouse):
        with suppress(CorruptFileError, OSError):  # it is being removed, or is a link
            path = folder / name
            found = path.lstat()
            said: object = (found.st_mode, found.st_size, found.st_mtime_ns)
            if name == CURRENT and stat.S_ISREG(found.st_mode):
                with open_regular(path) as file:
                    said = file.read(_MOST_SEAL_BYTES)
            digest.update(repr((path.relative_to(warehouse.root).parts, said)).encode())
    return digest.hexdigest()


def _version_files(warehouse: Versions) -> Iterator[tuple[Path, str]]:
    """(folder, name) of the files of versions that a catalog depends on, in order."""
    for kind in sorted(warehouse.kinds):
        for variant in warehouse.variant_folders(kind):
            if variant.is_symlink():  # which may lead nowhere
                yield variant.parent, variant.name
            for name in _names_in(variant):
                if name == CURRENT:
                    yield variant, name
                elif is_name("version", name):
                    for file in _names_in(variant / name):
                        if file == MANIFEST or file.endswith(".parquet"):
                            yield variant / name, file


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 (three times as fast as Path.iterdir)
    except OSError:
        return []


def seal(warehouse: Versions, state: str, catalog: bytes) -> None:
    """Say for which state this catalog of the warehouse was written. Raises StorageError."""
    write_file(warehouse.root / SEAL_NAME, f"{state} {_code_of(warehouse, state, catalog)}".encode())


def _read_seal(warehouse: Versions) -> tuple[str, str]:
    """(state, code) as they are written beside a catalog; empty where nothing is."""
    try:
        with open_regular(warehouse.root / SEAL_NAME) as file:
            state, code = file.read(_MOST_SEAL_BYTES).decode().split(" ")
    except (CorruptFileError, OSError, ValueError):  # ValueError: no UTF-8, or not two words
        return "", ""
    return state, code


def _is_own(warehouse: Versions, state: str) -> bool:
    """Whether catalog.duckdb was written by this user, here, for this state, and of kinds whose sources tell all."""
    written, code = _read_seal(warehouse)
    if not code or written != state or not warehouse.kinds.has_modules_alone:
        return False
    try:
        with open_regular(warehouse.catalog) as file:
            return code == _code_of(warehouse, state, file.read())
    except (CorruptFileError, OSError):
        return False


def _code_of(warehouse: Versions, state: str, catalog: bytes) -> str:
    """A code of a catalog, the state for which it was written, and the folder; empty where this user has no key."""
    key = own_key()
    title = f"{warehouse.root.resolve()}\0{state}\0".encode()
    return hashlib.blake2b(title + catalog, key=key).hexdigest() if len(key) == KEY_BYTES else ""


def own_key() -> bytes:
    """The key of this user, made when it is first asked for; nothing where it cannot be kept."""
    path = cache_folder() / "key"
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(handle, "wb") as file:  # noqa: PTH123 (a descriptor, no path)
                file.write(os.urandom(KEY_BYTES))
        return path.read_bytes()
    return b""
