"""Queries use the catalog on disk only if this user wrote it and nothing has changed since."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import bgdata
from bgdata.process import cache_folder
from bgdata.store import catalog, survey
from bgdata.store.catalog import is_stale, write_catalog
from bgdata.store.locked_sql import QueryLimits, read_only_query
from bgdata.store.registry import Kinds
from bgdata.warehouse import Warehouse
from tests.store import processes
from tests.store.toy import Count

pytestmark = pytest.mark.catalog

LIMITS = QueryLimits(60)
DATABASE_NAME = "select current_database()"  # catalog: the file; memory: a catalog in memory
LARGEST = "select max(square) from squares"


def first_value(warehouse: Warehouse, sql: str, **options: Any) -> Any:
    """The first value of a query, as `bgdata query` asks it."""
    with warehouse.connect(limits=LIMITS, **options) as connection:
        row = connection.execute(read_only_query(sql)).fetchone()
        return row[0] if row else None


def inode_and_time(path: Path) -> tuple[int, int]:
    """An identity that changes when a file is rewritten."""
    status = path.stat()
    return status.st_ino, status.st_mtime_ns


def test_query_uses_the_written_catalog(module_warehouse: Warehouse) -> None:
    written = inode_and_time(module_warehouse.catalog)
    for _ in range(2):
        assert first_value(module_warehouse, DATABASE_NAME) == "catalog"
        assert first_value(module_warehouse, LARGEST) == 81
    assert inode_and_time(module_warehouse.catalog) == written


def test_query_imports_no_kinds(module_warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = module_warehouse.kinds
    assert isinstance(kinds, Kinds)
    modules = [module for module in kinds.modules.values() if module in sys.modules]
    assert len(modules) == 2
    for module in modules:
        monkeypatch.delitem(sys.modules, module)
    assert first_value(module_warehouse, LARGEST) == 81
    assert [module for module in modules if module in sys.modules] == []


def test_writable_connection_is_in_memory(module_warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(module_warehouse.root.parent)
    relative = Warehouse(module_warehouse.root.name, module_warehouse.kinds)
    assert first_value(module_warehouse, DATABASE_NAME, allow_files=True) == "memory"
    assert first_value(module_warehouse, DATABASE_NAME, mend=False) == "memory"
    assert first_value(relative, DATABASE_NAME, is_relative=True) == "memory"
    assert first_value(relative, DATABASE_NAME) == "catalog"
    with module_warehouse.connect() as connection:
        assert connection.sql(DATABASE_NAME).fetchall() == [("memory",)]
        connection.execute("drop view squares_10")


def test_kinds_without_modules_are_in_memory(module_warehouse: Warehouse) -> None:
    """If kinds are given as objects, whose source is unknown, queries use a catalog in memory."""
    without_modules = Warehouse(module_warehouse.root, dict(module_warehouse.kinds))
    for _ in range(2):
        assert first_value(without_modules, DATABASE_NAME) == "memory"


def test_new_script_is_in_the_catalog(module_warehouse: Warehouse, sql_scripts: Path) -> None:
    assert first_value(module_warehouse, DATABASE_NAME) == "catalog"
    (sql_scripts / "views" / "ones.sql").write_text("create view ones as select 1 as one;")
    assert first_value(module_warehouse, "select one from ones") == 1
    assert first_value(module_warehouse, DATABASE_NAME) == "catalog"


@pytest.fixture
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder whose key a test may change."""
    monkeypatch.setenv("BGDATA_CACHE", str(tmp_path / "cache"))


def replace_catalog(warehouse: Warehouse) -> None:
    """Write a catalog of the same form with other values."""
    warehouse.catalog.unlink()
    with duckdb.connect(str(warehouse.catalog)) as connection:
        connection.execute("create view squares as select 0 as square")


def seal_catalog(warehouse: Warehouse) -> None:
    """Seal the catalog as for the present warehouse."""
    state = catalog.catalog_state(warehouse)
    catalog.seal(warehouse, state, catalog.code_of(warehouse, state, warehouse.catalog))


def seal_with_key_of_another_user(warehouse: Warehouse) -> None:
    replace_catalog(warehouse)
    key_file = cache_folder() / "key"
    key = key_file.read_bytes()
    key_file.write_bytes(bytes(survey.KEY_BYTES))
    seal_catalog(warehouse)
    key_file.write_bytes(key)


def seal_without_code(warehouse: Warehouse) -> None:
    replace_catalog(warehouse)
    (warehouse.root / catalog.SEAL_NAME).write_text(f"{catalog.catalog_state(warehouse)} ")


def delete_key(_: Warehouse) -> None:
    (cache_folder() / "key").unlink()


def truncate_key(_: Warehouse) -> None:
    (cache_folder() / "key").write_bytes(b"short")


def replace_catalog_by_link(warehouse: Warehouse) -> None:
    warehouse.catalog.rename(warehouse.root / "other.duckdb")
    warehouse.catalog.symlink_to("other.duckdb")


@pytest.mark.parametrize(
    "forge",
    [
        replace_catalog,
        seal_with_key_of_another_user,
        seal_without_code,
        delete_key,
        truncate_key,
        replace_catalog_by_link,
    ],
)
@pytest.mark.usefixtures("private_cache")
def test_foreign_catalog_is_never_opened(module_warehouse: Warehouse, forge: Callable[[Warehouse], None]) -> None:
    """If this user did not write the catalog, queries use one in memory, with the right values."""
    assert first_value(module_warehouse, DATABASE_NAME) == "catalog"
    forge(module_warehouse)
    assert first_value(module_warehouse, DATABASE_NAME) == "memory"
    assert first_value(module_warehouse, LARGEST) == 81


def test_user_without_a_key_trusts_no_seal(module_warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BGDATA_CACHE", "/dev/null/none")
    seal_catalog(module_warehouse)
    assert first_value(module_warehouse, DATABASE_NAME) == "memory"
    assert first_value(module_warehouse, LARGEST) == 81


def test_copy_is_not_used_for_the_original(module_warehouse: Warehouse, memory_path: Path) -> None:
    """A read-only copy of a warehouse does not use its catalog, which was written for the original."""
    shutil.copytree(module_warehouse.root, memory_path / "copy")
    shutil.rmtree(module_warehouse.root / "squares")
    copy = Warehouse(memory_path / "copy", module_warehouse.kinds)
    for path in (copy.root, copy.staging):
        path.chmod(0o555)
    with processes.bare_thread() as thread:
        assert thread.submit(first_value, copy, DATABASE_NAME).result() == "memory"
        assert thread.submit(first_value, copy, LARGEST).result() == 81


@pytest.mark.parametrize("content", [b"", b"x", b"a b c", b"\xff\xfe \x00", b"x" * 10_000], ids=lambda text: text[:5])
def test_unreadable_seal_is_replaced(module_warehouse: Warehouse, content: bytes) -> None:
    (module_warehouse.root / catalog.SEAL_NAME).write_bytes(content)
    assert is_stale(module_warehouse)
    assert first_value(module_warehouse, DATABASE_NAME) == "catalog"
    assert not is_stale(module_warehouse)


def hold_database_open(path: Path, barrier: Any) -> None:
    """In another process: keep a database open for writing until the query is done."""
    with duckdb.connect(str(path)):
        barrier.wait(60)  # it is open
        barrier.wait(60)  # the query is done


def test_catalog_locked_by_another_program_is_not_used(module_warehouse: Warehouse) -> None:
    barrier = processes.barrier(2)
    process = processes.start(hold_database_open, module_warehouse.catalog, barrier)
    barrier.wait(60)
    assert first_value(module_warehouse, DATABASE_NAME) == "memory"
    assert first_value(module_warehouse, LARGEST) == 81
    barrier.wait(60)
    process.join(60)
    assert process.exitcode == 0


def test_query_reads_only_parquet_files_of_tables(module_warehouse: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "outside.csv").write_text("a\n1\n")
    (table,) = module_warehouse.versions("squares")
    assert first_value(module_warehouse, f"select count(*) from '{table.parquet}'") == 10
    for path in (
        tmp_path / "outside.csv",
        table.folder / "manifest.json",
        table.folder / "square.npy",
        module_warehouse.lock,
    ):
        with pytest.raises(duckdb.PermissionException):
            first_value(module_warehouse, f"from read_blob('{path}')")


@pytest.mark.parametrize(
    "statement",
    [
        "copy (select 1) to '{folder}/new.csv'",
        "create table catalog.main.x as select 1",
        "drop view squares_10",
        "set allowed_paths = []",
    ],
)
def test_query_cannot_write_or_change_settings(module_warehouse: Warehouse, tmp_path: Path, statement: str) -> None:
    contents = {path: path.read_bytes() for path in module_warehouse.root.rglob("*") if path.is_file()}
    with module_warehouse.connect(limits=LIMITS) as connection, pytest.raises(duckdb.Error):
        connection.execute(statement.format(folder=tmp_path))
    assert {path: path.read_bytes() for path in module_warehouse.root.rglob("*") if path.is_file()} == contents


def test_link_to_a_table_is_not_followed(module_warehouse: Warehouse, memory_path: Path) -> None:
    """A Parquet file that was replaced by a link cannot be read, neither through the catalog nor directly."""
    (table,) = module_warehouse.versions("squares")
    table.parquet.rename(memory_path / "table.parquet")
    table.parquet.symlink_to(memory_path / "table.parquet")
    with pytest.raises(duckdb.Error, match="is damaged"):
        first_value(module_warehouse, LARGEST)
    assert first_value(module_warehouse, DATABASE_NAME) == "catalog"
    for path in (table.parquet, memory_path / "table.parquet"):
        with pytest.raises(duckdb.PermissionException):
            first_value(module_warehouse, f"from '{path}'")


def test_variants_on_another_disk_are_queried(module_warehouse: Warehouse, memory_path: Path) -> None:
    (memory_path / "elsewhere").mkdir()
    module_warehouse.build("squares", Count(20), directory=memory_path / "elsewhere")
    assert first_value(module_warehouse, DATABASE_NAME) == "catalog"
    assert first_value(module_warehouse, LARGEST) == 19**2


def test_warehouse_may_be_opened_by_another_path(module_warehouse: Warehouse, memory_path: Path) -> None:
    (memory_path / "link").symlink_to(module_warehouse.root)
    other = Warehouse(memory_path / "link", module_warehouse.kinds)
    written = inode_and_time(module_warehouse.catalog)
    assert first_value(other, LARGEST) == 81
    assert inode_and_time(module_warehouse.catalog) == written


def test_key_is_private(module_warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BGDATA_CACHE", str(tmp_path / "new" / "cache"))
    write_catalog(module_warehouse)
    key = tmp_path / "new" / "cache" / "key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_bytes()) == survey.KEY_BYTES
    assert key.read_bytes() not in (module_warehouse.root / catalog.SEAL_NAME).read_bytes()
    assert first_value(module_warehouse, DATABASE_NAME) == "catalog"


Connections = tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyConnection]


@pytest.fixture(scope="module")
def file_and_memory(small_root: Path) -> Iterator[Connections]:
    """Connections to the catalog file of the small warehouse, and to its catalog in memory."""
    warehouse = bgdata.open_warehouse(small_root)
    with warehouse.connect(limits=LIMITS) as in_file, warehouse.connect(limits=LIMITS, mend=False) as in_memory:
        assert in_file.sql(DATABASE_NAME).fetchall() == [("catalog",)]
        yield in_file, in_memory


WITHOUT_IDS = "select * exclude (database_name, database_oid, schema_oid"


@pytest.mark.parametrize(
    "sql",
    [
        f"{WITHOUT_IDS}, view_oid, sql) from duckdb_views() where not internal order by all",
        f"{WITHOUT_IDS}, table_oid) from duckdb_tables() where not internal order by all",
        f"{WITHOUT_IDS}, table_oid) from duckdb_columns() where not internal order by all",
        "select function_name, comment from duckdb_functions() where not internal order by all",
        "from (show tables)",
        "from versions order by all",
        "from leakage order by all",  # a view that calls functions
        "select position_class(board(position_id)) as class from turns order by all",
    ],
)
def test_file_equals_catalog_in_memory(file_and_memory: Connections, sql: str) -> None:
    in_file, in_memory = file_and_memory
    assert in_file.execute(sql).fetchall() == in_memory.execute(sql).fetchall()


def test_queries_use_functions_written_in_python(file_and_memory: Connections) -> None:
    for connection in file_and_memory:
        plan = connection.execute("explain select position_class(board(position_id)) from turns").fetchall()
        assert "fast_position_class" in str(plan)
