"""The DuckDB file: derived, commented, readable by other clients, and updated after every change."""

import os
import re
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import bgdata
from bgdata.errors import BgdataError, MissingWarehouseError, OlderTableError, StorageError
from bgdata.store import build, catalog, catalog_views
from bgdata.store.catalog import connect, write_catalog
from bgdata.store.checks import connect_tables, define_version
from bgdata.store.dataset import Column, Computed
from bgdata.store.locked_sql import QueryLimits
from bgdata.store.progress import Silence
from bgdata.store.table import Table
from bgdata.store.verify import Status, verify
from bgdata.warehouse import Warehouse
from bgdata.warehouse.rows import listing_rows
from tests.command_line import output_of
from tests.store import processes
from tests.store.toy import DAMAGES, GONE, Count, Squares, overwrite, problems, toy_warehouse, update_manifest

pytestmark = pytest.mark.catalog

TEN = Count(10)
LARGEST = "select max(square) from squares"


def plain_client_value(path: Path, sql: str, *before: str) -> Any:
    """First value of a query in a plain DuckDB client."""
    with duckdb.connect(str(path), read_only=True) as connection:
        for statement in before:
            connection.execute(statement)
        row = connection.execute(sql).fetchone()
        return row[0] if row else None


def first_value(warehouse: Warehouse, sql: str) -> Any:
    """First value of a query in our own connection."""
    with warehouse.connect() as connection:
        row = connection.execute(sql).fetchone()
        return row[0] if row else None


def test_plain_clients_read_the_catalog(toys: Warehouse) -> None:
    toys.build("squares", TEN)
    assert plain_client_value(toys.catalog, LARGEST) == 81
    assert plain_client_value(toys.catalog, "select variant from squares_10 where square = 49") == "10"
    assert plain_client_value(toys.catalog, "select epc(6.0)") == 49


def test_missing_catalog_is_written_by_a_query(toys: Warehouse) -> None:
    toys.build("squares", TEN)
    toys.catalog.unlink()
    assert first_value(toys, LARGEST) == 81
    assert plain_client_value(toys.catalog, LARGEST) == 81


def test_damaged_catalog_does_not_hinder_a_query(toys: Warehouse) -> None:
    toys.build("squares", TEN)
    toys.catalog.write_bytes(b"junk" * 1000)
    assert first_value(toys, LARGEST) == 81


def test_moved_catalog_names_its_old_folder(toys: Warehouse, tmp_path: Path) -> None:
    """In a moved warehouse a plain DuckDB client gets an error that names the old folder, unless it sets the new one as
    a variable. Once bgdata has opened the warehouse, the catalog works again."""
    toys.build("squares", TEN)
    new_root = tmp_path / "else where"
    shutil.move(toys.root, new_root)
    with pytest.raises(duckdb.IOException, match=re.escape(str(toys.root))):
        plain_client_value(new_root / "catalog.duckdb", LARGEST)
    assert plain_client_value(new_root / "catalog.duckdb", LARGEST, f"set variable warehouse = '{new_root}'") == 81

    moved = toy_warehouse(new_root)
    assert moved.is_moved()
    assert first_value(moved, LARGEST) == 81
    assert plain_client_value(moved.catalog, LARGEST) == 81
    assert not moved.is_moved()


@pytest.fixture
def copy(toys: Warehouse, tmp_path: Path) -> Path:
    """The folder of a copy of the toy warehouse, whose catalog was written for the original."""
    toys.build("squares", TEN)
    return shutil.copytree(toys.root, tmp_path / "it's a copy")


def wrong_folder_message(original: Warehouse, copy: Path) -> str:
    """What the views of the copy answer to a plain client, as a pattern."""
    return re.escape(
        f"expected a catalog in {original.root}, where it was written, found it in {copy}; try: set variable"
    )


@pytest.mark.parametrize(
    "sql", [LARGEST, "select count(*) from squares", "select square from squares_10 where number = 3"]
)
def test_copy_does_not_read_the_original(toys: Warehouse, copy: Path, tmp_path: Path, sql: str) -> None:
    """A plain DuckDB client never reads the original warehouse through the catalog of a copy."""
    (tmp_path / "link").symlink_to(copy)
    for root in (copy, tmp_path / "link"):
        with pytest.raises(duckdb.Error, match=wrong_folder_message(toys, copy)):
            plain_client_value(root / "catalog.duckdb", sql)


def test_copy_can_be_read_with_the_variable_or_after_a_query(copy: Path) -> None:
    quoted = str(copy).replace("'", "''")
    assert plain_client_value(copy / "catalog.duckdb", LARGEST, f"set variable warehouse = '{quoted}'") == 81
    assert first_value(toy_warehouse(copy), LARGEST) == 81
    assert plain_client_value(copy / "catalog.duckdb", LARGEST) == 81


def test_attached_catalogs_know_their_folders(toys: Warehouse, copy: Path) -> None:
    quoted = str(copy).replace("'", "''")
    with duckdb.connect() as client:
        client.execute(f"attach '{toys.catalog}' as original (read_only)")
        assert client.sql("select max(square) from original.squares").fetchall() == [(81,)]
        client.execute(f"attach '{quoted}/catalog.duckdb' as copy (read_only)")
        with pytest.raises(duckdb.Error, match=wrong_folder_message(toys, copy)):
            client.sql("select max(square) from copy.squares").fetchall()


def test_linked_catalog_can_be_read(toys: Warehouse, tmp_path: Path) -> None:
    toys.build("squares", TEN)
    (tmp_path / "link.duckdb").symlink_to(toys.catalog)
    assert plain_client_value(tmp_path / "link.duckdb", LARGEST) == 81


def view_definitions(path: Path) -> str:
    """The SQL of all views of a catalog."""
    return str(plain_client_value(path, "select string_agg(sql) from duckdb_views() where not internal"))


def test_commands_update_a_moved_catalog(warehouse: Warehouse, small_root: Path) -> None:
    """Even a command that reads no catalog rewrites that of a copied warehouse, so that it no longer names the
    original."""
    assert str(small_root) in view_definitions(warehouse.catalog)
    output_of(warehouse.root, "list")
    assert str(small_root) not in view_definitions(warehouse.catalog)
    assert str(warehouse.root) in view_definitions(warehouse.catalog)
    assert plain_client_value(warehouse.catalog, "select count(*) from bearoff_one_sided_3x15") == 816


def files_state(root: Path) -> dict[Path, tuple[int, int]]:
    """The time and the inode of each file of a folder."""
    return {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in root.rglob("*")}


def test_unmoved_catalog_is_not_written(warehouse: Warehouse) -> None:
    warehouse.connect().close()
    before = files_state(warehouse.root)
    for command in (["list"], ["explain", "bearoff_one_sided"], ["query", "from bearoff_error_summary"]):
        output_of(warehouse.root, *command)
    bgdata.open_warehouse(warehouse.root).connect().close()
    assert files_state(warehouse.root) == before


def test_two_names_of_one_folder_are_not_a_move(toys: Warehouse, tmp_path: Path) -> None:
    """A warehouse that is opened by another path of the same folder, such as a link, is not taken for moved. Otherwise
    two readers would rewrite the catalog in turns forever."""
    toys.build("squares", TEN)
    (tmp_path / "other").symlink_to(toys.root)
    assert not toy_warehouse(tmp_path / "other").is_moved()
    toys.catalog_place.write_text(str(tmp_path / "other"))
    assert not toys.is_moved()


@pytest.mark.parametrize("damage", ["missing", "another folder", "a link", "no text", "no path"])
def test_catalog_of_an_unknown_folder_is_rewritten(toys: Warehouse, tmp_path: Path, damage: str) -> None:
    """If the record of the folder for which the catalog was written is missing or damaged, the catalog is rewritten."""
    toys.build("squares", TEN)
    toys.catalog_place.unlink()
    if damage == "another folder":
        toys.catalog_place.write_text(str(tmp_path))
    elif damage == "a link":
        toys.catalog_place.symlink_to(toys.root / "squares")
    elif damage == "no text":
        toys.catalog_place.write_bytes(b"\xff\xfe")
    elif damage == "no path":
        toys.catalog_place.write_bytes(b"a\0b")
    assert toys.is_moved()
    toys.mend_catalog()
    assert not toys.is_moved()
    assert toys.catalog_place.read_text() == str(toys.root.resolve())
    assert plain_client_value(toys.catalog, LARGEST) == 81


def test_moved_read_only_warehouse_can_be_queried(toys: Warehouse, tmp_path: Path) -> None:
    """A warehouse that was moved and cannot be written can be queried; its catalog is not rewritten."""
    toys.build("squares", TEN)
    shutil.move(toys.root, tmp_path / "moved")
    moved = toy_warehouse(tmp_path / "moved")
    for folder in (moved.root, moved.staging):
        folder.chmod(0o555)
    with processes.bare_thread() as thread:
        thread.submit(moved.mend_catalog).result()
        assert thread.submit(first_value, moved, LARGEST).result() == 81
    assert moved.is_moved()
    assert plain_client_value(moved.catalog, LARGEST, f"set variable warehouse = '{moved.root}'") == 81


def mend_and_read_catalog(root: Path, barrier: Any) -> None:
    """In another process: open a moved warehouse at the same time as others."""
    barrier.wait()
    warehouse = toy_warehouse(root)
    warehouse.mend_catalog()
    assert first_value(warehouse, LARGEST) == 81
    assert plain_client_value(warehouse.catalog, LARGEST) == 81


def test_moved_warehouse_can_be_opened_by_many_at_once(toys: Warehouse, tmp_path: Path) -> None:
    toys.build("squares", TEN)
    moved = tmp_path / "moved"
    shutil.move(toys.root, moved)
    barrier = processes.barrier(4)
    processes.run_all([(mend_and_read_catalog, moved, barrier)] * 4)
    assert plain_client_value(moved / "catalog.duckdb", LARGEST) == 81


def test_relative_path_of_a_warehouse_works(toys: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(toys.root.parent)
    relative = toy_warehouse(Path(toys.root.name))
    relative.build("squares", TEN)
    monkeypatch.chdir("/")
    assert plain_client_value(toys.catalog, LARGEST) == 81


@pytest.mark.parametrize("name", ["it's", "a [1] *", "zürich", "variant=7", "square=3/number=4"])
def test_folder_names_are_quoted(memory_path: Path, name: str) -> None:
    warehouse = toy_warehouse(memory_path / name)
    warehouse.build("squares", TEN)
    variant_of_49 = "select variant from squares_10 where square = 49 and number = 7"
    assert first_value(warehouse, LARGEST) == 81
    assert plain_client_value(warehouse.catalog, LARGEST) == 81
    assert plain_client_value(warehouse.catalog, variant_of_49) == "10"
    assert problems(warehouse) == []


def test_variants_have_own_and_common_views(toys: Warehouse) -> None:
    toys.build("squares", TEN)
    toys.build("squares", Count(20))
    counts = "select variant, count(*) from squares group by all order by all"
    with toys.connect() as connection:
        assert connection.sql("select max(square) from squares_20").fetchall() == [(19**2,)]
        assert connection.sql(counts).fetchall() == [("10", 10), ("20", 20)]
    shutil.rmtree(toys.root / "squares" / "10")
    with toys.connect() as connection:
        assert connection.sql(counts).fetchall() == [("20", 20)]


def test_kinds_without_versions_are_empty_tables(toys: Warehouse) -> None:
    toys.build("squares", TEN)
    columns = "select string_agg(column_name || ' ' || data_type, ', ') from duckdb_columns() where table_name = "
    columns_of_squares = plain_client_value(toys.catalog, f"{columns} 'squares'")
    columns_of_sums = plain_client_value(toys.catalog, f"{columns} 'square_sums'")
    assert columns_of_squares == "variant VARCHAR, number INTEGER, square BIGINT"
    assert columns_of_sums == "variant VARCHAR, number INTEGER, total BIGINT"
    assert plain_client_value(toys.catalog, "select count(*) from square_sums") == 0


@pytest.mark.parametrize("lose", GONE.values(), ids=GONE)
def test_missing_current_version_is_not_an_empty_table(toys: Warehouse, lose: Callable[[Path], None]) -> None:
    """If the current version of a variant is missing, queries raise an error that names it, instead of returning fewer
    rows."""
    toys.build("squares", Count(20))
    toys.connect().close()
    lose(toys.build("squares", TEN).folder)
    with toys.connect() as connection, duckdb.connect(str(toys.catalog), read_only=True) as plain:
        for client in (connection, plain):
            with pytest.raises(duckdb.Error, match=r"squares/10\S* is (not there|damaged): "):
                client.sql("select count(*) from squares").fetchall()
            assert client.sql("select count(*) from squares where variant = '20'").fetchall() == [(20,)]
    with pytest.raises(BgdataError, match="squares/10"):
        list(toys.current("squares"))
    (row,) = (row for row in listing_rows(toys) if row["variant"] == "10" and row["version"] is None)
    assert "squares/10" in row["damage"]


def test_kind_on_a_missing_disk_is_named(toys: Warehouse) -> None:
    toys.build("squares", TEN)
    shutil.move(toys.root / "squares", toys.root / "moved")
    (toys.root / "squares").symlink_to("/nowhere/squares")
    with pytest.raises(StorageError, match="expected the folder /nowhere/squares, to which the link"):
        toys.connect()


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_query_of_damaged_version_fails(toys: Warehouse, damage: Callable[[Table], object]) -> None:
    """A query that reads a damaged version raises an error that names it; queries of other variants still work."""
    toys.build("squares", TEN)
    damaged = toys.build("squares", Count(20))
    damage(damaged)
    write_catalog(toys)
    with toys.connect() as connection, duckdb.connect(str(toys.catalog), read_only=True) as plain:
        for client in (connection, plain):
            for sql in (
                "select count(*) from squares",
                "select max(square) from squares_20",
                LARGEST,
                "from squares order by all",
            ):
                with pytest.raises(duckdb.Error, match=rf"{damaged.name} is damaged: .*"):
                    client.sql(sql).fetchall()
            assert client.sql("select max(square) from squares_10").fetchall() == [(81,)]
            assert client.sql("select count(*) from squares where variant = '10'").fetchall() == [(10,)]
            assert client.sql("select count(*) from square_sums").fetchall() == [(0,)]
            assert ("10",) in client.sql("select variant from versions").fetchall()


def test_query_fails_after_later_damage(toys: Warehouse) -> None:
    table = toys.build("squares", TEN)
    with toys.connect() as connection:
        assert connection.sql("select count(*) from squares_10").fetchall() == [(10,)]
        overwrite(table.parquet, table.parquet.read_bytes()[:-4])
        with pytest.raises(duckdb.Error, match=str(table.parquet)):
            connection.sql("select sum(number) from squares_10").fetchall()


def test_undeclared_columns_are_refused(toys: Warehouse) -> None:
    """A Parquet file whose columns have other types than declared is reported as damaged. In a view over all variants
    it would turn all numbers into strings."""
    toys.build("squares", TEN)
    table = toys.build("squares", Count(20))
    table.parquet.chmod(0o644)
    with duckdb.connect() as connection:
        connection.execute(f"copy (select 1::integer as number, 'a' as square) to '{table.parquet}'")
    update_manifest(table)
    assert first_value(toys, "select typeof(max(square)) from squares where variant = '10'") == "BIGINT"
    with pytest.raises(
        duckdb.Error, match=r"squares/20/r1-.* is damaged: expected columns as declared .* other square"
    ):
        first_value(toys, LARGEST)


class NamedSquares(Squares):
    """A newer declaration with another column and the same arrays."""

    revision = 2
    columns = (*Squares.columns, Column("name", "VARCHAR", "", "In words"))

    def batches(self, computed: Computed[Count]) -> Any:
        for batch in super().batches(computed):
            yield batch.append_column("name", pa.array(["a"] * len(batch)))


def test_outdated_columns_raise_and_say_how_to_rebuild(toys: Warehouse) -> None:
    old = toys.build("squares", TEN)
    newer = toy_warehouse(toys.root, squares=NamedSquares())
    kind = newer.kind("squares")
    write_catalog(newer)
    message = rf"{old.name} was written by an older bgdata, with other columns: name; try: bgdata build squares"
    with pytest.raises(duckdb.Error, match=message):
        first_value(newer, LARGEST)
    with pytest.raises(duckdb.Error, match=message):
        plain_client_value(newer.catalog, LARGEST)
    with pytest.raises(OlderTableError, match=message), connect_tables(newer.kinds, [old]):
        pass
    with duckdb.connect() as connection, pytest.raises(OlderTableError, match=message):
        define_version(connection, "before", kind, kind.tables[0], old)


def test_version_with_outdated_columns_is_valid(toys: Warehouse) -> None:
    """Its arrays can be read, and `verify` skips what cannot be compared."""
    old = toys.build("squares", TEN)
    newer = toy_warehouse(toys.root, squares=NamedSquares())
    assert newer.open("squares", "10").array("square")[9] == 81
    findings = list(verify(newer, [old], sample_rows=5, seed=0, progress=Silence()))
    assert [finding.check for finding in findings if finding.problem] == []
    skipped = {finding.check for finding in findings if finding.status is Status.SKIPPED}
    assert skipped == {"Parquet equals the arrays", "SQL checks"}


def test_rebuilt_version_has_the_new_columns(toys: Warehouse) -> None:
    old = toys.build("squares", TEN)
    newer = toy_warehouse(toys.root, squares=NamedSquares())
    new = newer.build("squares", TEN)
    assert new.folder.name == old.folder.name.replace("r1", "r2")
    assert new.manifest.digest == old.manifest.digest
    assert first_value(newer, "select count(name) from squares") == 10
    assert plain_client_value(newer.catalog, "select count(name) from squares") == 10


def test_names_of_variants_do_not_hide_views(toys: Warehouse) -> None:
    """The view of a single variant is left out if it would have the name of another table: here `square_sums`, for the
    variant `sums` of `square`."""

    class Square(Squares):
        name = "square"

        def slug(self, parameters: Count) -> str:
            return "sums" if parameters.count == 20 else super().slug(parameters)

    warehouse = toy_warehouse(toys.root, square=Square())
    warehouse.build("square", Count(20))
    warehouse.build("square_sums", TEN)
    assert first_value(warehouse, "select count(total) from square_sums") == 10
    assert first_value(warehouse, "select count(*) from square") == 20


def test_version_published_while_catalog_is_written(toys: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that another build publishes while the catalog is being written makes the catalog stale, so the next
    connection updates it."""
    toys.build("squares", TEN)
    fill = catalog_views.fill_catalog

    def fill_slowly(*arguments: Any, **options: Any) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(build, "refresh_catalog", lambda _: None)
            patch.setattr(catalog, "fill_catalog", fill)
            toy_warehouse(toys.root).build("squares", Count(30))
        fill(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(catalog, "fill_catalog", fill_slowly)
        catalog.write_catalog(toys)
    assert catalog.is_stale(toys)
    with toys.connect():
        assert not catalog.is_stale(toys)
    with duckdb.connect(str(toys.catalog), read_only=True) as connection:
        assert connection.sql("select count(distinct variant) from squares").fetchall() == [(2,)]


def build_with_others(root: Path, barrier: Any, count: int) -> None:
    """In another process: build at the same time as others."""
    barrier.wait()
    toy_warehouse(root).build("squares", Count(count))


def test_concurrent_builds_are_all_in_the_catalog(toys: Warehouse) -> None:
    toys.root.mkdir()
    counts = range(10, 16)
    barrier = processes.barrier(len(counts))
    processes.run_all((build_with_others, toys.root, barrier, count) for count in counts)
    assert plain_client_value(toys.catalog, "select count(distinct variant) from squares") == len(counts)
    assert plain_client_value(toys.catalog, "select count(*) from versions") == len(counts)


def keep_rewriting_catalog(root: Path) -> None:
    for _ in range(10):
        toy_warehouse(root).build("squares", TEN, force=True)


@pytest.mark.slow
def test_readers_see_a_complete_catalog_while_it_is_written(toys: Warehouse) -> None:
    toys.build("squares", TEN)
    writer = processes.start(keep_rewriting_catalog, toys.root)
    reads = 0
    while writer.is_alive() or not reads:
        assert plain_client_value(toys.catalog, LARGEST) == 81
        assert first_value(toys, LARGEST) == 81
        assert toys.open("squares", "10").array("square")[9] == 81
        reads += 1
    writer.join()
    assert writer.exitcode == 0
    assert reads > 3  # while it was written


@pytest.fixture
def least_counts() -> dict[str, int]:
    """The least numbers of what a catalog has, by the function that lists it."""
    kinds = bgdata.all_kinds()
    return {
        "duckdb_tables()": 1,
        "duckdb_views()": 2 * len(kinds) + 3,  # of each kind and its smallest variant
        "duckdb_columns()": 2 * sum(len(kind.columns) for kind in kinds.values()),
        "duckdb_functions()": 7,
    }


@pytest.mark.parametrize("listing", ["duckdb_tables()", "duckdb_views()", "duckdb_columns()", "duckdb_functions()"])
def test_everything_in_the_catalog_has_a_comment(small_root: Path, least_counts: dict[str, int], listing: str) -> None:
    sql = f"select comment from {listing} where database_name = 'catalog' and not internal"
    with duckdb.connect(str(small_root / "catalog.duckdb"), read_only=True) as connection:
        comments = connection.sql(sql).fetchall()
    assert len(comments) >= least_counts[listing]
    assert (None,) not in comments


def test_comments_come_from_the_declaration(small_root: Path) -> None:
    kind = bgdata.all_kinds()["bearoff_one_sided"]
    comment = "select comment from duckdb_columns() where table_name = 'bearoff_one_sided_3x15' and column_name = "
    for column in kind.columns:
        assert plain_client_value(small_root / "catalog.duckdb", f"{comment} '{column.name}'") == column.comment
    views = "select comment from duckdb_views() where view_name = "
    assert plain_client_value(small_root / "catalog.duckdb", f"{views} 'bearoff_one_sided'") == kind.summary


def test_catalog_is_rewritten_for_changed_kinds(
    memory_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalog is rewritten when the source of a kind has changed, and only then."""
    source = tmp_path / "declared_here.py"
    source.write_text("from tests.store.toy import Squares\n\n\nclass Declared(Squares):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    warehouse = toy_warehouse(memory_path / "warehouse", squares=import_module("declared_here").Declared())
    warehouse.build("squares", TEN)

    def inode_after_a_query() -> int:
        warehouse.connect().close()
        return warehouse.catalog.stat().st_ino

    inode = warehouse.catalog.stat().st_ino
    assert inode_after_a_query() == inode
    source.write_text(source.read_text().replace("pass", 'summary = "Other words."'))
    new_inode = inode_after_a_query()
    assert new_inode != inode
    assert inode_after_a_query() == new_inode


def test_catalog_is_rewritten_for_changed_shared_modules(
    memory_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalog is stale when a module that kinds import, such as one with common columns, has changed."""
    package = tmp_path / "declared_together"
    (package / "common").mkdir(parents=True)
    (package / "__init__.py").touch()
    shared = package / "common" / "columns.py"
    shared.write_text("SUMMARY = 'Words.'\n")
    (package / "squares.py").write_text(
        "from declared_together.common.columns import SUMMARY\nfrom tests.store.toy import Squares\n\n\n"
        "class Declared(Squares):\n    summary = SUMMARY\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    warehouse = toy_warehouse(memory_path / "warehouse", squares=import_module("declared_together.squares").Declared())
    warehouse.build("squares", TEN)
    assert not catalog.is_stale(warehouse)
    shared.write_text("SUMMARY = 'Other words.'\n")
    assert catalog.is_stale(warehouse)


def test_connections_may_have_different_settings(toys: Warehouse) -> None:
    """Connections with different settings, and a plain client, can read the same warehouse at once, although DuckDB
    allows only one setting for a file."""
    toys.build("squares", TEN)
    with (
        toys.connect() as usual,
        toys.connect(allow_files=True) as with_files,
        connect(toys, limits=QueryLimits(10)) as limited,
        duckdb.connect(str(toys.catalog), read_only=True) as plain,
        toys.connect() as beside_plain,
    ):
        for connection in (usual, with_files, limited, plain, beside_plain):
            assert connection.sql(LARGEST).fetchall() == [(81,)]


def test_connections_cannot_write(toys: Warehouse, tmp_path: Path) -> None:
    """What a connection changes in its own memory does not affect the catalog."""
    table = toys.build("squares", TEN)
    contents = {path: path.read_bytes() for path in toys.root.rglob("*") if path.is_file()}
    with toys.connect() as connection:
        for path in (toys.catalog, toys.root / "new.csv", table.folder / "square.npy", tmp_path / "new.csv"):
            with pytest.raises(duckdb.PermissionException):
                connection.execute(f"copy (select 1) to '{path}'")
        connection.execute("drop view squares_10")
    assert {path: path.read_bytes() for path in toys.root.rglob("*") if path.is_file()} == contents
    assert first_value(toys, "select max(square) from squares_10") == 81


def test_connection_with_files_allowed_writes_files(toys: Warehouse, tmp_path: Path) -> None:
    toys.build("squares", TEN)
    with toys.connect(allow_files=True) as connection:
        connection.execute(f"copy (from squares) to '{tmp_path / 'new.csv'}'")
        assert connection.sql(f"select count(*) from '{tmp_path / 'new.csv'}'").fetchall() == [(10,)]


def test_missing_permission_leaves_the_catalog_old(toys: Warehouse) -> None:
    toys.build("squares", TEN)
    toys.catalog.unlink()
    toys.root.chmod(0o555)
    with processes.bare_thread() as thread, pytest.raises(StorageError, match=r"cannot write .*catalog\.duckdb"):
        thread.submit(write_catalog, toys).result()


@pytest.mark.parametrize("has_catalog", [True, False])
def test_read_only_warehouse_is_queried_and_not_changed(toys: Warehouse, has_catalog: bool) -> None:
    os.utime(toys.build("squares", TEN).folder.parent)  # the catalog is outdated
    if not has_catalog:
        toys.catalog.unlink()
    before = files_state(toys.root)
    for folder in (toys.root, toys.staging):
        folder.chmod(0o555)
    with processes.bare_thread() as thread:
        assert thread.submit(first_value, toys, LARGEST).result() == 81
    assert files_state(toys.root) == before


def test_missing_and_empty_warehouses_are_not_changed(tmp_path: Path) -> None:
    with pytest.raises(MissingWarehouseError):
        toy_warehouse(tmp_path / "none").connect()
    assert first_value(toy_warehouse(tmp_path), "select count(*) from versions") == 0
    assert list(tmp_path.iterdir()) == []
