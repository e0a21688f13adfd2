"""The contents of a catalog: macros, a commented view over the files of each table, and a row for each manifest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import duckdb

from bgdata.errors import BgdataError
from bgdata.store.dataset import Column, TableShape
from bgdata.store.names import identifier, read_parquet, sql_text
from bgdata.store.registry import parse_script
from bgdata.store.survey import Index, Variant
from bgdata.store.table import Table
from bgdata.store.versions import CATALOG, Versions

MANIFESTS = "Manifests of all versions as JSON; see the view versions"
WRITTEN_IN = f"{MANIFESTS}. Written in "
# raises an error, in every client, unless every open catalog is in the folder where it was written
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
FILES_IN = """
create macro files_in(folder, files) as list_transform(
    string_split(files, chr(10)), lambda file: concat(coalesce(getvariable('warehouse'), folder), file)
);
comment on macro files_in is 'Paths of files, one per line, below a folder or the one that the variable warehouse names'
"""
OF_THE_FOLDER = "split_part(filename, '/', -3)"  # the variant in <variant>/<version>/table.parquet
WITH_NAMES = ", filename = true"
KEEP_FOOTERS = "set parquet_metadata_cache = true"  # files of versions never change


def fill_catalog(
    connection: duckdb.DuckDBPyConnection,
    warehouse: Versions,
    index: Index,
    *,
    is_file: bool,
    is_relative: bool = False,
    wanted: frozenset[str] | None = None,
) -> None:
    """Create all macros, views and tables of the catalog, with their comments, in a database.

    In a file (`is_file`), views find the folder of the warehouse by a variable, or else by the path where the file was
    written. If `is_relative` is true, they use the path with which the warehouse was opened. If `wanted` is given, only
    views, macros and tables with these names are created, without comments, and other kinds are not imported. The view
    of a damaged version raises an error that names the version."""
    sql = warehouse.kinds.sql
    sql.run(connection, "macros", wanted=wanted)
    connection.execute(IS_IN_PLACE)
    connection.execute(FILES_IN)
    if wanted is None or "manifests" in wanted:
        _create_manifests(connection, None if is_relative else warehouse.root.resolve())
        insert_manifests(connection, warehouse, index.variants)
    root = None if is_file else warehouse.root if is_relative else warehouse.root.resolve()
    create_views(connection, warehouse, index, wanted=wanted, root=root)
    for text in index.generated:
        if wanted is None or parse_script(text).creates & wanted:
            connection.execute(text)
    sql.run(connection, "lookups", "views", wanted=wanted)
    if not is_file:  # only here: the footers of the files of all views would take much memory
        connection.execute(KEEP_FOOTERS)


def own_views(warehouse: Versions, index: Index) -> dict[str, tuple[str, str]]:
    """Return the views that show a single variant, by name of the view, as KIND/VARIANT and the table. A view is left
    out if another table, view or macro has its name."""
    scripts = [*map(parse_script, index.generated), *warehouse.kinds.sql.scripts("lookups", "views")]
    taken = {name for each in index.tables.values() for name, _ in each}
    taken |= {name for script in scripts for name in script.creates}
    found: dict[str, tuple[str, str]] = {}
    for key, variant in index.variants.items():
        kind, _, name = key.partition("/")
        for table, is_shared in index.tables[kind]:
            view = f"{table}_{name.replace('-', '_')}"
            if table in variant.tables and not is_shared and view not in taken:
                found.setdefault(view, (key, table))
    return found


def create_views(
    connection: duckdb.DuckDBPyConnection,
    warehouse: Versions,
    index: Index,
    *,
    keys: set[str] | None = None,
    wanted: frozenset[str] | None = None,
    root: Path | None = None,
) -> None:
    """Create the views of each table: one for each variant, and one over all variants. If `keys` is given, only the
    views of these variants, KIND/VARIANT, and of their tables are created, and existing views are replaced. If `wanted`
    is given, only views with these names are created. Views name their files below the folder `root`; without it, they
    stay valid if the catalog is moved."""
    tables, variants = index.tables, index.variants
    by_kind: dict[str, list[tuple[str, Variant]]] = {}
    for key, variant in variants.items():
        by_kind.setdefault(key.partition("/")[0], []).append((key, variant))
    of_kinds = None if keys is None else {key.partition("/")[0] for key in keys}
    shapes: dict[str, TableShape] = {}  # a shared table is declared by several kinds
    for kind, named in tables.items():
        for table, is_shared in named if of_kinds is None or kind in of_kinds else ():
            is_own = wanted is not None and not is_shared and any(name.startswith(f"{table}_") for name in wanted)
            if wanted is None or table in wanted or is_own:
                shapes.setdefault(table, next(each for each in warehouse.kinds[kind].tables if each.name == table))
    with_comments, replaced = wanted is None, keys is not None
    for view, (key, table) in own_views(warehouse, index).items():
        if table in shapes and (keys is None or key in keys) and (wanted is None or view in wanted):
            shape, variant, name = shapes[table], variants[key], key.partition("/")[2]
            comment = f"{shape.comment} Variant {name}, {variant.current}." if with_comments else ""
            query = _select(warehouse, shape, [(key, variant)], root)
            _create_view(connection, view, shape, query, comment, replaced=replaced)
    for table, shape in shapes.items():
        filling = [kind for kind, named in tables.items() if (table, shape.shared) in named]
        queries = [_select(warehouse, shape, by_kind[kind], root) for kind in filling if kind in by_kind]
        columns = [*_leading_columns(shape), *shape.columns]
        empty = ", ".join(f"null::{column.type} as {identifier(column.name)}" for column in columns)
        query = " union all ".join(filter(None, queries)) or f"select {empty} where false"
        _create_view(connection, table, shape, query, shape.comment if with_comments else "", replaced=replaced)


def _select(warehouse: Versions, shape: TableShape, variants: Iterable[tuple[str, Variant]], root: Path | None) -> str:
    """Return an SQL query for the rows of one table of these variants of a kind. For each damaged variant it contains a
    query that raises its error. It is empty if no variant has the table."""
    damaged, kind = [], ""
    groups: dict[str, list[str]] = {}  # files by the SQL of their columns
    for key, variant in variants:
        kind, _, name = key.partition("/")
        flaw = variant.tables.get(shape.name)
        if flaw:
            damaged.append(_damaged_select(kind, shape, name, flaw))
        elif flaw is not None:
            for file in variant.files[shape.name]:
                columns = ", ".join(shape.select_list(variant.lacking.get(file, {})))
                groups.setdefault(columns, []).append(f"/{key}/{variant.current}/{file}")
    owner = f"{sql_text(kind)} as dataset, " if shape.shared else ""
    selects = [
        f"select {owner}{OF_THE_FOLDER} as variant, {columns} from {_files_of(warehouse, files, root)}"
        for columns, files in groups.items()
    ]
    return " union all ".join([*selects, *damaged])


def _files_of(warehouse: Versions, files: Iterable[str], root: Path | None) -> str:
    """Return the SQL expression that reads these Parquet files, below the folder `root`, or below the folder of the
    catalog if it is None."""
    if root is not None:
        paths = f"[{', '.join(sql_text(f'{root}{file}') for file in files)}]"
    else:  # absolute unless a variable is set: DuckDB resolves relative paths against the client's folder
        # one string: DuckDB takes ten times as long to write and read a list of thousands of strings
        listed = sql_text("\n".join(files))
        paths = f"files_in({sql_text(str(warehouse.root.resolve()))}, {listed})"
    place = "" if root is not None else f" where is_in_place({sql_text(str(warehouse.root.resolve()))})"
    return f"{read_parquet(paths, options=WITH_NAMES)}{place}"


def is_readable(table: Table) -> bool:
    """Whether the manifest of a version can be read. `bgdata verify` reports manifests that cannot be read."""
    try:
        return bool(table.manifest)
    except BgdataError:
        return False


def _create_manifests(connection: duckdb.DuckDBPyConnection, root: Path | None) -> None:
    """Create the table behind the view `versions`, with a row for each version: its whole manifest is in the row as
    JSON. The comment of the table names the folder `root` for which it was written, if any."""
    connection.execute("create table manifests (version varchar, is_current boolean, manifest json)")
    for place, text in {
        "table manifests": MANIFESTS if root is None else f"{WRITTEN_IN}{root}",
        "column manifests.version": "Folder of the version: r<revision>-<digest8>",
        "column manifests.is_current": "Whether the views show this version of its variant",
        "column manifests.manifest": "The whole manifest.json",
    }.items():
        connection.execute(f"comment on {place} is {sql_text(text)}")


MAX_MANIFESTS = 256  # number of manifests in memory at once


def insert_manifests(
    connection: duckdb.DuckDBPyConnection, warehouse: Versions, variants: Mapping[str, Variant]
) -> None:
    """Insert a row for each version of these variants that has a readable manifest."""
    rows: list[tuple[str, bool, str]] = []
    for key, variant in variants.items():
        for name in variant.versions:
            table = Table(warehouse.root / key / name, key.partition("/")[0])
            if is_readable(table):
                rows.append((name, name == variant.current, json.dumps(table.manifest.values())))
        if len(rows) >= MAX_MANIFESTS:
            _insert_rows(connection, rows)
            rows = []
    _insert_rows(connection, rows)


def _insert_rows(connection: duckdb.DuckDBPyConnection, rows: list[tuple[str, bool, str]]) -> None:
    if rows:
        columns = [list(column) for column in zip(*rows, strict=True)]
        connection.execute("insert into manifests select unnest($1), unnest($2), unnest($3)", columns)


def forget_manifests(connection: duckdb.DuckDBPyConnection, key: str) -> None:
    """Delete the rows of the variant `key`, KIND/VARIANT, from the table of manifests."""
    connection.execute(
        "delete from manifests where manifest->>'dataset' = $1 and manifest->>'variant' = $2", key.split("/")
    )


def _create_view(
    connection: duckdb.DuckDBPyConnection, name: str, shape: TableShape, query: str, comment: str, *, replaced: bool
) -> None:
    """Create a view named `name` from a query; If `replaced` is true, it may replace an existing view. If `comment` is
    not empty, the view gets it as its comment, and its columns get the comments that the table declares."""
    statements = [f"create {'or replace ' * replaced}view {identifier(name)} as {query}"]
    if comment:
        statements.append(f"comment on view {identifier(name)} is {sql_text(comment)}")
        for column in (*_leading_columns(shape), *shape.columns):
            place = f"{identifier(name)}.{identifier(column.name)}"
            statements.append(f"comment on column {place} is {sql_text(column.comment)}")
    connection.execute("; ".join(statements))  # separate calls would take a third longer


def _leading_columns(shape: TableShape) -> list[Column]:
    """Return the columns that a view has before the declared columns: the variant and, for a shared table, the kind."""
    variant = Column("variant", "VARCHAR", "", "Name of the parameters, such as 6x9")
    return [Column("dataset", "VARCHAR", "", "Dataset kind"), variant] if shape.shared else [variant]


def _damaged_select(kind: str, shape: TableShape, variant: str, reason: str) -> str:
    """Return an SQL query with the columns of a table, which fails with the message `reason` when it runs."""
    columns = {column.name: f"null::{column.type}" for column in shape.columns}
    columns["variant"] = sql_text(variant)
    if shape.shared:
        columns["dataset"] = sql_text(kind)
    shown = ", ".join(f"{columns[c.name]} as {identifier(c.name)}" for c in (*_leading_columns(shape), *shape.columns))
    return f"select {shown} where error({sql_text(reason)}) is null"
