"""SQL over tables of versions, without a catalog: checks of columns and claims, comparisons with another version, and
queries over these tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from bgdata.errors import CheckFailedError, CorruptFileError, OlderTableError, QueryError, UsageError
from bgdata.store.dataset import Column, Dataset, TableShape
from bgdata.store.names import identifier, parquet_source, sql_text
from bgdata.store.parameters import Parameters
from bgdata.store.registry import Kinds, SqlFolders

if TYPE_CHECKING:
    import duckdb

    from bgdata.store.table import Table


def select_columns(
    kind: Dataset[Any], parameters: Parameters, shape: TableShape, missing: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the SQL select list of a table: `variant`, then the declared columns. For columns that the Parquet file
    does not contain, `missing` has the SQL that computes them."""
    owner = [f"{sql_text(kind.name)} as dataset"] if shape.shared else []
    return ", ".join([*owner, f"{sql_text(kind.slug(parameters))} as variant", *shape.select_list(missing)])


def select_files(
    connection: duckdb.DuckDBPyConnection,
    kind: Dataset[Any],
    parameters: Parameters,
    shape: TableShape,
    paths: Iterable[Path],
) -> str:
    """An SQL query for the rows of a version's Parquet files: `variant`, then the declared columns."""
    groups: dict[tuple[str, ...], list[Path]] = {}
    names = {column.name for column in shape.columns}
    derived = {name: sql for name, sql in kind.derived_columns(parameters).items() if name in names}
    for path in paths:
        there = connection.sql(f"from {parquet_source(path)}").columns if derived else ()
        groups.setdefault(tuple(sorted(set(derived) - {*there})), []).append(path)
    return " union all ".join(
        f"select {select_columns(kind, parameters, shape, {name: derived[name] for name in names})} "
        f"from {parquet_source(*files)}"
        for names, files in groups.items()
    )


def check_columns(
    connection: duckdb.DuckDBPyConnection, kind: Dataset[Any], shape: TableShape, table: Table
) -> dict[str, dict[str, str]]:
    """Check that the Parquet files of one table of a version have the declared columns. Returns, for each file, the SQL
    of the derived columns that it lacks. Raises OlderTableError if the columns differ and the version has an older
    revision, CorruptFileError if they differ in the current revision, and duckdb.Error for an invalid Parquet file."""
    declared = {column.name: column.type for column in shape.columns}
    lacking: dict[str, dict[str, str]] = {}
    for path in table.check_files(shape.file):  # not the resolved path, because errors show the path
        relation = connection.sql(f"from {parquet_source(path)}")
        found = dict(zip(relation.columns, map(str, relation.types), strict=True))
        if found == declared:
            continue
        derived = kind.derived_columns(kind.recipe_of(table.manifest))
        missing = {name: sql for name, sql in derived.items() if name in declared and name not in found}
        if found != {name: type_ for name, type_ in declared.items() if name not in missing}:
            break
        lacking[path.name] = missing
    else:
        return lacking
    wrong = ", ".join(name for name in {**declared, **found} if found.get(name) != declared.get(name))
    if table.manifest.revision < kind.revision:
        step = f"import {kind.name} FILE..." if kind.takes_files else f"build {kind.name}"
        raise OlderTableError(
            f"{table.name} was written by an older bgdata, with other columns: {wrong}; try: bgdata {step}"
        )
    raise CorruptFileError(f"expected columns as declared in {table.name}/{shape.file}, found other {wrong}")


def run_sql_checks(
    sql: SqlFolders, kind: Dataset[Any], parameters: Parameters, files: Mapping[TableShape, Sequence[Path]]
) -> None:
    """Run every SQL check of a kind on the tables in these Parquet files. Raises CheckFailedError, which names the
    first row that breaks a rule."""
    from bgdata.store.locked_sql import keep_to, open_memory

    checks = [(shape, *check) for shape in files for check in sql.checks(shape.name)]
    with open_memory() as connection:
        sources = {shape: [path.resolve() for path in paths] for shape, paths in files.items()}
        keep_to(connection, chain(*sources.values()))
        sql.run(connection, "macros", wanted=sql.needed_by(" ".join(query for _, _, query in checks)))
        for shape, source in sources.items():
            query = select_files(connection, kind, parameters, shape, source)
            connection.execute(f"create view {identifier(shape.name)} as {query}")
        for shape, claim, query in checks:
            rows = connection.sql(query).limit(1).fetchall()
            if rows:
                table = "" if shape == kind.tables[0] else f"{shape.name} of "
                raise CheckFailedError(
                    f"expected {claim.replace('_', ' ')} in every row of "
                    f"{table}{kind.name}/{kind.slug(parameters)}, found {rows[0]}; the table is not published"
                )


@contextmanager
def connect_tables(kinds: Kinds, tables: Iterable[Table]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB connection with the macros, and with a view of each table over the given versions. It may open only
    the files of these versions."""
    from bgdata.store.locked_sql import keep_to, open_memory

    sources: dict[str, list[str]] = {}
    versions = [(table, kinds[table.manifest.dataset]) for table in tables]
    shapes = [
        (table, kind, each) for table, kind in versions for each in kind.tables_of(kind.recipe_of(table.manifest))
    ]
    files = [[path.resolve() for path in table.check_files(shape.file)] for table, _, shape in shapes]
    with open_memory() as connection:
        keep_to(connection, [*chain(*files)])
        for (table, kind, shape), file in zip(shapes, files, strict=True):
            check_columns(connection, kind, shape, table)
            query = select_files(connection, kind, kind.recipe_of(table.manifest), shape, file)
            sources.setdefault(shape.name, []).append(query)
        connection.execute("set threads = 1")  # for reproducible sums
        connection.execute("set enable_progress_bar = false")
        kinds.sql.run(connection, "macros")
        for name, selects in sources.items():
            connection.execute(f"create view {identifier(name)} as {' union all '.join(selects)}")
        yield connection


def only_row(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    """Return the values of the only row of an SQL query. Raises QueryError if the query fails, returns no row or
    several rows, or if a value is null."""
    import duckdb

    try:
        rows = connection.sql(query).limit(2).fetchall()
    except duckdb.Error as error:
        raise QueryError(f"expected a query that can be run, got {query!r}: {str(error).splitlines()[0]}") from error
    if len(rows) != 1 or None in rows[0]:
        raise QueryError(f"expected a query with one row of values, got {rows or 'no row'} from {query!r}")
    found: tuple[Any, ...] = rows[0]
    return found


NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE")


class ColumnChange(NamedTuple):
    """How one column differs between two versions, over the rows that both have."""

    column: str
    rows_compared: int
    rows_changed: int
    largest_change: float  # for lists the largest change of an entry, for other values 0 or 1
    mean_absolute_change: float
    key_of_largest: str


class Comparison(NamedTuple):
    """How one table differs between two versions."""

    shape: TableShape
    only_before: int  # number of rows whose key is only in the first version
    only_after: int
    changes: list[ColumnChange]

    @property
    def is_same(self) -> bool:
        """Whether both tables have the same rows."""
        return not (self.only_before or self.only_after or any(change.rows_changed for change in self.changes))

    @property
    def has_common(self) -> bool:
        """Whether at least one row, identified by its key, is in both tables."""
        return all(change.rows_compared for change in self.changes)


def define_version(
    connection: duckdb.DuckDBPyConnection, name: str, kind: Dataset[Any], shape: TableShape, table: Table
) -> None:
    """Create a temporary view `name` of one table of a version. Raises OlderTableError or CorruptFileError if its
    columns are not the declared ones."""
    parameters: Parameters = kind.recipe_of(table.manifest)
    if not kind.tables_of(parameters):
        raise UsageError(f"expected a version with Parquet files, got {table.name}, which is too large for them")
    check_columns(connection, kind, shape, table)
    files = [path.resolve() for path in table.check_files(shape.file)]
    query = select_files(connection, kind, parameters, shape, files)
    connection.execute(f"create or replace temp view {identifier(name)} as {query}")


def compare_views(connection: duckdb.DuckDBPyConnection, shape: TableShape) -> Comparison:
    """Compare the views `before` and `after`, which show the same table of two versions: the rows whose key is in only
    one view, and, for rows in both, each column that both have."""
    keys = [identifier(name) for name in shape.key]
    same_key = " and ".join(f"before.{name} is not distinct from after.{name}" for name in keys)  # also if it is null
    alone = []
    for one, other in (("before", "after"), ("after", "before")):
        ((count,),) = connection.sql(f"select count(*) from {one} anti join {other} on {same_key}").fetchall()
        alone.append(count)
    common = set(connection.sql("from before").columns) & set(connection.sql("from after").columns)
    key = ", ".join(f"before.{name}" for name in keys)
    changes = []
    for column in shape.columns:
        if column.name in shape.key or column.name not in common:
            continue
        old, new = (f"{side}.{identifier(column.name)}" for side in ("before", "after"))
        size, is_changed = _change_size(column, old, new), f"{new} is distinct from {old}"
        ((compared, changed, largest, mean, where),) = connection.sql(
            f"select count(*), count(*) filter ({is_changed}), max({size}), avg({size}), "
            f"arg_max(concat_ws(' ', {key}), {size}) filter ({is_changed}) "
            f"from before join after on {same_key}"
        ).fetchall()
        changes.append(ColumnChange(column.name, compared, changed, largest or 0.0, mean or 0.0, where or ""))
    return Comparison(shape, alone[0], alone[1], changes)


def _change_size(column: Column, old: str, new: str) -> str:
    """SQL for the size of the change of a value: the absolute difference of numbers, the largest such difference of two
    lists, and 0 or 1 for other values."""
    if column.type in NUMBERS:
        return f"abs({new}::double - {old}::double)"
    if column.type.removesuffix("[]") in NUMBERS:
        return (
            f"list_max(list_transform(list_zip({new}, {old}), "
            "lambda pair: abs(coalesce(pair[1]::double, 0) - coalesce(pair[2]::double, 0))))"
        )
    return f"({new} is distinct from {old})::integer"
