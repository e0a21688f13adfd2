"""Queries use the catalog on disk only if this user wrote it and nothing has changed since."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import bgdata
from bgdata.kinds import SQL
from bgdata.process import cache_folder
from bgdata.store import build, catalog, survey
from bgdata.store.catalog import is_stale, write_catalog
from bgdata.store.locked_sql import QueryLimits, read_only_query
from bgdata.store.registry import Kinds
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.store import processes
from tests.store.test_catalog import DAMAGES
from tests.store.toy import Count, declare_toys
from tests.subtests import Subtests

pytestmark = pytest.mark.catalog

TEN = Count(10)
TWENTY = Count(20)
LIMITS = QueryLimits(60)
WHERE = "select current_database()"
LARGEST = "select max(square) from squares"


@pytest.fixture
def sql_scripts(tmp_path: Path) -> Path:
    """A few SQL scripts, so that a catalog takes milliseconds."""
    place = tmp_path / "sql"
    for path in (*SQL.glob("*/macros/*.sql"), SQL / "warehouse" / "views" / "versions.sql"):
        (place / path.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place / path.parent.name)
    return place


Make = Callable[[str], Warehouse]


@pytest.fixture
def make_toy_warehouse(memory_path: Path, tmp_path: Path, sql_scripts: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Make warehouses of toy kinds in modules, each with squares up to 9."""

    def make(name: str) -> Warehouse:
        (folder := tmp_path / name).mkdir()
        warehouse = Warehouse(memory_path / name, declare_toys(folder, monkeypatch, [sql_scripts]))
        warehouse.build("squares", TEN)
        return warehouse

    return make


@pytest.fixture
def module_warehouse(make_toy_warehouse: Make) -> Warehouse:
    return make_toy_warehouse("warehouse")


def first_value(warehouse: Warehouse, sql: str, **options: Any) -> Any:
    """The first value of a query, as `bgdata query` asks it."""
    with warehouse.connect(limits=LIMITS, **options) as connection:
        row = connection.execute(read_only_query(sql)).fetchone()
        return row[0] if row else None


def test_query_uses_the_written_catalog(module_warehouse: Warehouse) -> None:
    written = inode_of(module_warehouse.catalog)
    for _ in range(2):
        assert first_value(module_warehouse, WHERE) == "catalog"
        assert first_value(module_warehouse, LARGEST) == 81
    assert inode_of(module_warehouse.catalog) == written


def test_query_imports_no_kinds(module_warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = [module for module in toy_kinds(module_warehouse).modules.values() if module in sys.modules]
    assert len(modules) == 2
    for module in modules:
        monkeypatch.delitem(sys.modules, module)
    assert first_value(module_warehouse, LARGEST) == 81
    assert [module for module in modules if module in sys.modules] == []


def inode_of(path: Path) -> tuple[int, int]:
    """An identity that changes when a file is rewritten."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def toy_kinds(warehouse: Warehouse) -> Kinds:
    """The kinds of a warehouse, given as modules."""
    assert isinstance(warehouse.kinds, Kinds)
    return warehouse.kinds


def test_writable_connection_is_in_memory(module_warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(module_warehouse.root.parent)
    relative = Warehouse(module_warehouse.root.name, module_warehouse.kinds)
    assert first_value(module_warehouse, WHERE, allow_files=True) == "memory"
    assert first_value(module_warehouse, WHERE, mend=False) == "memory"
    assert first_value(relative, WHERE, is_relative=True) == "memory"
    assert first_value(relative, WHERE) == "catalog"
    with module_warehouse.connect() as connection:
        assert connection.sql(WHERE).fetchall() == [("memory",)]
        connection.execute("drop view squares_10")


def test_kinds_without_modules_are_in_memory(module_warehouse: Warehouse) -> None:
    """If kinds are given as objects, whose source is unknown, queries use a catalog in memory."""
    bare = Warehouse(module_warehouse.root, dict(module_warehouse.kinds))
    for _ in range(2):
        assert first_value(bare, WHERE) == "memory"


def publish_version(warehouse: Warehouse) -> None:
    """Publish another version by a build that ended before it wrote the catalog."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "refresh_catalog", lambda _: None)
        warehouse.build("squares", TWENTY)


def use_copied_version(warehouse: Warehouse) -> None:
    """Make another version of the same variant the current one."""
    (table,) = warehouse.versions("squares")
    other = table.folder.with_name("r1-00000000")
    shutil.copytree(table.folder, other)
    write_catalog(warehouse)
    assert first_value(warehouse, WHERE) == "catalog"
    warehouse.use(Table(other, "squares"))


def delete_version(warehouse: Warehouse) -> None:
    (table,) = warehouse.versions("squares")
    shutil.rmtree(table.folder)


def edit_declaration(warehouse: Warehouse) -> None:
    (source,) = (path for path in toy_kinds(warehouse).files() if path.name == "squares.py")
    with source.open("a") as file:
        file.write("# one more line\n")


def damage_version(name: str) -> Callable[[Warehouse], object]:
    return lambda warehouse: DAMAGES[name](next(warehouse.versions("squares")))


CHANGES: dict[str, Callable[[Warehouse], object]] = {
    "a new version": publish_version,
    "another current version": use_copied_version,
    "no version": delete_version,
    "an edited declaration": edit_declaration,
    **{name: damage_version(name) for name in DAMAGES},
}


def test_every_change_makes_the_catalog_stale(make_toy_warehouse: Make) -> None:
    """After any change of the warehouse, a query gives the same result as with a catalog in memory, and the catalog
    file is rewritten."""
    with Subtests() as subtests:
        for number, (name, change) in enumerate(CHANGES.items()):
            with subtests.test(name):
                warehouse = make_toy_warehouse(f"warehouse_{number}")
                assert first_value(warehouse, WHERE) == "catalog"
                change(warehouse)
                assert is_stale(warehouse)
                found = query_results(warehouse, mend=True)
                assert not is_stale(warehouse)
                assert found == query_results(warehouse, mend=True) == query_results(warehouse, mend=False)


def query_results(warehouse: Warehouse, *, mend: bool) -> list[Any]:
    """The results or errors of queries of a warehouse."""
    found: list[Any] = []
    with warehouse.connect(limits=LIMITS, mend=mend) as connection:
        for sql in (
            "from squares order by all",
            "select version, is_current from versions order by all",
            "select count(*) from square_sums",
        ):
            try:
                found.append(connection.execute(read_only_query(sql)).fetchall())
            except duckdb.Error as error:
                found.append(str(error).splitlines()[0])
    return found


def test_new_script_is_in_the_catalog(module_warehouse: Warehouse, sql_scripts: Path) -> None:
    assert first_value(module_warehouse, WHERE) == "catalog"
    (sql_scripts / "views" / "ones.sql").write_text("create view ones as select 1 as one;")
    assert first_value(module_warehouse, "select one from ones") == 1
    assert first_value(module_warehouse, WHERE) == "catalog"


def test_foreign_catalog_is_never_opened(
    make_toy_warehouse: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A catalog that this user did not write is not opened: queries use one in memory, with the right values."""
    with Subtests() as subtests:
        for number, (name, forge) in enumerate(FORGERIES.items()):
            with subtests.test(name), monkeypatch.context() as patch:
                patch.setenv("BGDATA_CACHE", str(tmp_path / f"cache_{number}"))
                warehouse = make_toy_warehouse(f"warehouse_{number}")
                assert first_value(warehouse, WHERE) == "catalog"
                forge(warehouse, patch)
                assert first_value(warehouse, WHERE) == "memory"
                assert first_value(warehouse, LARGEST) == 81


def write_forged(warehouse: Warehouse, *_: object) -> None:
    """Write a catalog of the same form with other values."""
    warehouse.catalog.unlink()
    with duckdb.connect(str(warehouse.catalog)) as connection:
        connection.execute("create view squares as select 0 as square")


def seal_anew(warehouse: Warehouse) -> None:
    """Seal the catalog as for the present warehouse."""
    state = catalog.catalog_state(warehouse)
    catalog.seal(warehouse, state, catalog.code_of(warehouse, state, warehouse.catalog))


def forge_with_own_seal(warehouse: Warehouse, _: pytest.MonkeyPatch) -> None:
    """Forge a catalog sealed with another key."""
    write_forged(warehouse)
    key = cache_folder() / "key"
    mine = key.read_bytes()
    key.write_bytes(bytes(32))
    seal_anew(warehouse)
    key.write_bytes(mine)


def forge_without_code(warehouse: Warehouse, _: pytest.MonkeyPatch) -> None:
    write_forged(warehouse)
    (warehouse.root / catalog.SEAL_NAME).write_text(f"{catalog.catalog_state(warehouse)} ")


def seal_with_no_key(warehouse: Warehouse, patch: pytest.MonkeyPatch) -> None:
    """A user without a key does not trust seals without a key either."""
    patch.setenv("BGDATA_CACHE", "/dev/null/none")
    seal_anew(warehouse)


def lose_the_key(*_: object) -> None:
    (cache_folder() / "key").unlink()


def cut_the_key_off(*_: object) -> None:
    (cache_folder() / "key").write_bytes(b"short")


def link_the_catalog(warehouse: Warehouse, _: pytest.MonkeyPatch) -> None:
    warehouse.catalog.rename(warehouse.root / "other.duckdb")
    warehouse.catalog.symlink_to("other.duckdb")


FORGERIES: dict[str, Callable[[Warehouse, pytest.MonkeyPatch], object]] = {
    "another catalog": write_forged,
    "sealed by another": forge_with_own_seal,
    "sealed by nobody": forge_without_code,
    "sealed without a key": seal_with_no_key,
    "no key": lose_the_key,
    "a key that was cut off": cut_the_key_off,
    "a link": link_the_catalog,
}


def test_copy_is_not_used_for_the_original(module_warehouse: Warehouse, memory_path: Path) -> None:
    """A read-only copy of a warehouse does not use its catalog, which was written for the original."""
    shutil.copytree(module_warehouse.root, memory_path / "copy")
    shutil.rmtree(module_warehouse.root / "squares")
    copy = Warehouse(memory_path / "copy", module_warehouse.kinds)
    for path in (copy.root, copy.staging):
        path.chmod(0o555)
    with processes.bare_thread() as thread:
        assert thread.submit(first_value, copy, WHERE).result() == "memory"
        assert thread.submit(first_value, copy, LARGEST).result() == 81


def test_unreadable_seal_is_ignored(module_warehouse: Warehouse) -> None:
    with Subtests() as subtests:
        for content in (b"", b"x", b"a b c", b"\xff\xfe \x00", b"x" * 10_000):
            with subtests.test(content[:10]):
                (module_warehouse.root / catalog.SEAL_NAME).write_bytes(content)
                assert is_stale(module_warehouse)
                assert first_value(module_warehouse, WHERE) == "catalog"
                assert not is_stale(module_warehouse)


def test_catalog_locked_by_another_program_is_not_used(module_warehouse: Warehouse) -> None:
    """While another program holds the catalog file, queries use a catalog in memory."""
    together = processes.barrier(2)
    process = processes.start(hold_database_open, module_warehouse.catalog, together)
    together.wait(60)
    assert first_value(module_warehouse, WHERE) == "memory"
    assert first_value(module_warehouse, LARGEST) == 81
    together.wait(60)
    process.join(60)
    assert process.exitcode == 0


def hold_database_open(path: Path, together: Any) -> None:
    """In another process: keep a database open for writing until the query is done."""
    with duckdb.connect(str(path)):
        together.wait(60)
        together.wait(60)


def test_connection_opens_only_its_tables(module_warehouse: Warehouse, tmp_path: Path) -> None:
    """A connection for untrusted queries reads the Parquet files of its tables and nothing else, and cannot write or
    change its settings."""
    (tmp_path / "x.csv").write_text("a\n1\n")
    (table,) = module_warehouse.versions("squares")
    before = {path: path.read_bytes() for path in module_warehouse.root.rglob("*") if path.is_file()}
    for path in (
        tmp_path / "x.csv",
        table.folder / "manifest.json",
        table.folder / "square.npy",
        module_warehouse.lock,
    ):
        with pytest.raises(duckdb.PermissionException):
            first_value(module_warehouse, f"from read_blob('{path}')")
    with module_warehouse.connect(limits=LIMITS) as connection:
        for statement in (
            f"copy (select 1) to '{tmp_path / 'y.csv'}'",
            "create table catalog.main.x as select 1",
            "drop view squares_10",
            "set allowed_paths = []",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(statement)
    assert first_value(module_warehouse, f"select count(*) from '{table.parquet}'") == 10
    assert {path: path.read_bytes() for path in module_warehouse.root.rglob("*") if path.is_file()} == before


def test_link_to_a_table_is_not_followed(module_warehouse: Warehouse, memory_path: Path) -> None:
    """A Parquet file that was replaced by a link cannot be read, neither through the catalog nor directly."""
    (table,) = module_warehouse.versions("squares")
    table.parquet.rename(memory_path / "table.parquet")
    table.parquet.symlink_to(memory_path / "table.parquet")
    with pytest.raises(duckdb.Error, match="is damaged"):
        first_value(module_warehouse, LARGEST)
    assert first_value(module_warehouse, WHERE) == "catalog"
    for path in (table.parquet, memory_path / "table.parquet"):
        with pytest.raises(duckdb.PermissionException):
            first_value(module_warehouse, f"from '{path}'")


def test_variants_on_another_disk_are_queried(module_warehouse: Warehouse, memory_path: Path) -> None:
    (memory_path / "elsewhere").mkdir()
    module_warehouse.build("squares", TWENTY, directory=memory_path / "elsewhere")
    assert first_value(module_warehouse, WHERE) == "catalog"
    assert first_value(module_warehouse, LARGEST) == 361


def test_warehouse_may_be_opened_by_another_path(module_warehouse: Warehouse, memory_path: Path) -> None:
    (memory_path / "link").symlink_to(module_warehouse.root)
    other = Warehouse(memory_path / "link", module_warehouse.kinds)
    written = inode_of(module_warehouse.catalog)
    assert first_value(other, LARGEST) == 81
    assert inode_of(module_warehouse.catalog) == written


def test_key_is_private(module_warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BGDATA_CACHE", str(tmp_path / "new" / "cache"))
    write_catalog(module_warehouse)
    key = tmp_path / "new" / "cache" / "key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_bytes()) == survey.KEY_BYTES == len(survey.own_key())
    assert key.read_bytes() not in (module_warehouse.root / catalog.SEAL_NAME).read_bytes()
    assert first_value(module_warehouse, WHERE) == "catalog"


def test_file_equals_catalog_in_memory(small_root: Path) -> None:
    """The catalog file and the catalog in memory have the same tables, views, columns, macros and comments, and both
    use the functions written in Python."""
    warehouse = bgdata.open_warehouse(small_root)
    shown = "select * exclude (database_name, database_oid, schema_oid{}) from {} where not internal order by all"
    queries = {
        "views": shown.format(", view_oid, sql", "duckdb_views()"),
        "tables": shown.format(", table_oid", "duckdb_tables()"),
        "columns": shown.format(", table_oid", "duckdb_columns()"),
        "names of macros": "select function_name, comment from duckdb_functions() where not internal order by all",
        "show": "from (show tables)",
        "versions": "from versions order by all",
        "a view with functions": "from leakage order by all",
        "functions": "select position_class(board(position_id)) as class from turns order by all",
    }
    with warehouse.connect(limits=LIMITS) as found, warehouse.connect(limits=LIMITS, mend=False) as expected:
        assert found.sql(WHERE).fetchall() == [("catalog",)]
        with Subtests() as subtests:
            for name, sql in queries.items():
                with subtests.test(name):
                    assert found.execute(sql).fetchall() == expected.execute(sql).fetchall()
        plan = "explain select position_class(board(position_id)) from turns"
        for connection in (found, expected):
            assert "fast_position_class" in str(connection.execute(plan).fetchall())
