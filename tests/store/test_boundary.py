"""A warehouse from another user: invalid manifests, files, links and catalogs lead only to an error."""

import dataclasses
import os
import shutil
from pathlib import Path

import duckdb
import pytest

from bgdata.errors import BgdataError, QueryError
from bgdata.store.catalog import connect, write_catalog
from bgdata.store.locked_sql import QueryLimits, read_only_query
from bgdata.store.table import Table
from bgdata.store.verify import Status, verify_files
from bgdata.warehouse import Warehouse
from tests.store.toy import Count, problems, toy_warehouse

TEN = Count(10)


def change_manifest(table: Table, **changes: object) -> None:
    """Change fields of a manifest, with a valid hash."""
    manifest = dataclasses.replace(table.manifest, **changes)  # type: ignore[arg-type]
    (table.folder / "manifest.json").unlink()
    manifest.save(table.folder)


@pytest.mark.parametrize("field", ["dataset", "variant"])
@pytest.mark.parametrize(
    "sql",
    ["10; copy (select 1) to '{path}'; create view x as select 1", "10' union all from read_text('/etc/passwd')--"],
)
def test_sql_in_names_is_not_run(toys: Warehouse, tmp_path: Path, field: str, sql: str) -> None:
    """Neither by `verify` nor by queries."""
    table = toys.build("squares", TEN)
    change_manifest(table, **{field: sql.format(path=tmp_path / "evil")})
    write_catalog(toys)
    assert "expected the name of a" in "".join(problems(toys))
    with toys.connect() as connection, pytest.raises(duckdb.Error, match="is damaged: expected the name of a"):
        connection.sql("from squares").fetchall()
    with duckdb.connect(str(toys.catalog), read_only=True) as plain, pytest.raises(duckdb.Error, match="is damaged"):
        plain.sql("from squares").fetchall()
    assert not (tmp_path / "evil").exists()


def test_sql_in_parameters_is_not_run(toys: Warehouse) -> None:
    change_manifest(toys.build("squares", TEN), parameters={"count": "10'; drop view x; --"})
    with toys.connect() as connection, pytest.raises(duckdb.Error, match="expected count of type int"):
        connection.sql("from squares").fetchall()


@pytest.mark.parametrize("name", ["a'b", "x; drop view y", "..", "$(id)", "A", "a--b", "é", "x" * 250])
def test_invalid_folder_names_are_ignored(toys: Warehouse, name: str) -> None:
    table = toys.build("squares", TEN)
    (toys.root / "squares" / name / table.folder.name).mkdir(parents=True)
    write_catalog(toys)
    assert [version.name for version in toys.versions()] == [table.name]
    assert list(toys.versions("squares", name)) == []
    with pytest.raises(BgdataError):
        toys.open("squares", name)


@pytest.mark.parametrize(
    "sql",
    [
        "create view squares as from read_text('{secret}')",
        "create view squares as from read_csv('{secret}')",
        "create view squares as select 666 as square, '10' as variant, 1 as number",
        "create view squares_10 as from read_blob('{secret}'); create view squares as from squares_10",
        "create macro epc(x) as (select content from read_text('{secret}')); create view squares as select 7 as s",
        "create table squares as select 7 as square",
    ],
)
@pytest.mark.catalog
def test_catalog_of_another_user_is_never_queried(toys: Warehouse, tmp_path: Path, sql: str) -> None:
    toys.build("squares", TEN)
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    toys.catalog.unlink()
    with duckdb.connect(str(toys.catalog)) as connection:
        connection.execute(sql.format(secret=secret))
    with toys.connect() as connection:
        assert connection.sql("select max(square), pip_count([1, 1]) from squares").fetchall() == [(81, 3)]
        assert "secret" not in str(connection.sql("from squares").fetchall())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["manifest.json", "square.npy", "table.parquet", "current"])
@pytest.mark.parametrize("replacement", ["pipe", "link", "folder"])
def test_only_regular_files_are_opened(toys: Warehouse, name: str, replacement: str) -> None:
    """A pipe, a link or a folder in place of a file is reported as damage. Opening a pipe would wait forever."""
    table = toys.build("squares", TEN)
    path = (table.folder.parent if name == "current" else table.folder) / name
    path.rename(toys.root / "other")
    if replacement == "pipe":
        os.mkfifo(path)
    elif replacement == "link":
        path.symlink_to(toys.root / "other")
    else:
        path.mkdir()
    if name != "current":
        assert f"expected a regular file in {path}, found a {replacement}" in "".join(problems(toys))
    write_catalog(toys)
    message = rf"is damaged: expected a regular file in .*{name}, found a {replacement}"
    with toys.connect() as connection:
        if name == "square.npy":  # SQL does not read it
            assert connection.sql("select max(square) from squares").fetchall() == [(81,)]
        else:
            with pytest.raises(duckdb.Error, match=message):
                connection.sql("from squares").fetchall()


WRITES = "(copy (select 1 as number) to '{parquet}' (use_tmp_file false))"


@pytest.mark.slow
@pytest.mark.parametrize(
    "sql",
    [
        "from read_text('/etc/passwd')",
        "from read_blob('{root}/warehouse.lock')",
        "from read_parquet('{root}/**/*.parquet')",
        "from glob('/etc/*')",
        "from '/etc/passwd'",
        "from read_csv('https://example.org/x.csv')",
        f"with a as {WRITES} select 1",
        f"select (with a as materialized {WRITES} select 1)",
        f"explain analyze with a as {WRITES} select 1",
        f"from query('with a as {WRITES.replace(chr(39), chr(39) * 2)} select 1')",
        "from enable_logging('QueryLog', storage='file', storage_path='{root}')",
        "from duckdb_secrets()",
        "from sql",
    ],
)
def test_queries_outside_tables_are_refused(toys: Warehouse, sql: str) -> None:
    table = toys.build("squares", TEN)
    rows = table.parquet.read_bytes()
    table.parquet.chmod(0o644)
    query = read_only_query(sql.format(root=toys.root.resolve(), parquet=table.parquet.resolve()))
    with connect(toys, limits=QueryLimits(10)) as connection, pytest.raises(duckdb.Error):
        connection.sql(query).fetchall()
    assert table.parquet.read_bytes() == rows


@pytest.mark.parametrize(
    "sql",
    [
        "copy (select 1) to 'x'",
        "copy (pivot (select 1 as a, 2 as b) on a using sum(b)) to 'x'",
        "explain analyze copy (select 1) to 'x'",
        "explain (analyze) copy (select 1) to 'x'",
        "install httpfs",
        "load httpfs",
        "attach 'x'",
        "set lock_configuration = false",
        "set variable x = 1",
        "pragma enable_profiling",
        "call enable_logging()",
        "export database 'x'",
        "drop view squares",
        "create table x as select 1",
        "insert into manifests select * from manifests",
    ],
)
def test_writing_statements_are_refused(sql: str) -> None:
    with pytest.raises(QueryError, match=r"expected a query that only reads, got .*; try: --allow-files"):
        read_only_query(sql)


@pytest.mark.parametrize("sql", ["select 1; select 2", "select 1; copy (select 1) to 'x'; --"])
def test_several_statements_are_refused(sql: str) -> None:
    with pytest.raises(QueryError, match="expected one query, got "):
        read_only_query(sql)


@pytest.mark.parametrize("sql", ["sel", "select 1) union (select 2", "select 1 )", "select /*", "select 'a"])
def test_invalid_sql_is_refused(sql: str) -> None:
    with pytest.raises(QueryError, match="expected a valid query: "):
        read_only_query(sql)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("select max(square) from squares;", [(81,)]),
        ("select (1); -- ;", [(1,)]),
        ("  -- first\nfrom squares where number = 3 -- last", [("10", 3, 9)]),
        ("select ';' as x", [(";",)]),
        ("pivot (select 1 as a, 2 as b) on a using sum(b)", [(2,)]),
        ("with a as (select 5 as x) from a", [(5,)]),
        ("values (1, 2)", [(1, 2)]),
        ("select epc(6.0)", [(49.0,)]),
        ("select bearoff_index([1, 0])", [(1,)]),
    ],
)
def test_queries_run_under_lock(toys: Warehouse, sql: str, rows: list[tuple[object, ...]]) -> None:
    """Untrusted queries run on a connection with a locked configuration, also if they call SQL functions written in
    Python."""
    toys.build("squares", TEN)
    with connect(toys, limits=QueryLimits(60)) as connection:
        assert [tuple(row) for row in connection.sql(read_only_query(sql)).fetchall()] == rows


@pytest.mark.parametrize("sql", ["describe squares", "show tables", "summarize squares", "explain select 1"])
def test_describing_statements_run_under_lock(toys: Warehouse, sql: str) -> None:
    toys.build("squares", TEN)
    with connect(toys, limits=QueryLimits(60)) as connection:
        assert connection.sql(read_only_query(sql)).fetchall()


def test_order_is_kept_under_lock(toys: Warehouse) -> None:
    toys.build("squares", Count(100))
    query = read_only_query("select number from squares order by number % 7, number desc")
    with connect(toys, limits=QueryLimits(60)) as connection:
        rows = connection.sql(query).fetchall()
    assert [number for (number,) in rows] == sorted(range(100), key=lambda number: (number % 7, -number))


def test_query_that_takes_too_long_is_stopped(toys: Warehouse) -> None:
    toys.build("squares", TEN)
    limits = QueryLimits(0.2)
    with connect(toys, limits=limits) as connection, pytest.raises(duckdb.InterruptException, match="maximum exec"):
        connection.sql("select count(*) from range(1000000000000)").fetchall()


def test_query_that_takes_too_much_memory_is_stopped(toys: Warehouse) -> None:
    toys.build("squares", TEN)
    limits = QueryLimits(60, 50_000_000)
    stopped = (duckdb.OutOfMemoryException, duckdb.InterruptException)
    with connect(toys, limits=limits) as connection, pytest.raises(stopped):
        connection.sql("select len(list(range)) from range(1000000000)").fetchall()


def test_no_temporary_folder_is_left(toys: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toys.build("squares", TEN)
    monkeypatch.chdir(tmp_path)
    with toys.connect() as connection:
        connection.sql("from squares order by all").fetchall()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("sql", "changed"),
    [
        ("create or replace view squares as select 1", "its views"),
        ("create or replace macro epc(x) as 7", "its macros"),
        ("create macro evil(x) as x", "its macros"),
        ("create table evil(x int)", "its tables"),
        ("create schema evil", "its schemas"),
        ("insert into manifests values ('r1-00000000', true, '{}')", "the manifests"),
    ],
)
@pytest.mark.catalog
def test_verify_finds_changes_of_the_catalog(toys: Warehouse, sql: str, changed: str) -> None:
    toys.build("squares", TEN)
    assert [finding.status for finding in verify_files(toys)] == [Status.PASSED]
    with duckdb.connect(str(toys.catalog)) as connection:
        connection.execute(sql)
    (finding,) = verify_files(toys)
    assert finding.subject == "catalog.duckdb"
    assert finding.status == Status.FAILED
    assert f"expected {changed} as" in finding.problem


@pytest.mark.catalog
def test_verify_finds_damaged_catalogs_and_locks(toys: Warehouse) -> None:
    toys.build("squares", TEN)
    toys.lock.write_text("junk")
    toys.catalog.write_bytes(b"junk" * 1000)
    lock, catalog = verify_files(toys)
    assert "expected a " in lock.problem
    assert "expected a " in catalog.problem


@pytest.mark.catalog
def test_missing_catalog_and_lock_are_skipped(toys: Warehouse) -> None:
    toys.build("squares", TEN)
    toys.catalog.unlink()
    assert [finding.status for finding in verify_files(toys)] == [Status.SKIPPED]


@pytest.mark.catalog
def test_copied_catalog_is_skipped(toys: Warehouse) -> None:
    toys.build("squares", TEN)
    shutil.copytree(toys.root, toys.root.with_name("copy"))
    (finding,) = verify_files(toy_warehouse(toys.root.with_name("copy")))
    assert finding.status is Status.SKIPPED, finding.text
