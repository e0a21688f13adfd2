"""The cost of a catalog grows with its changes: operations are counted in warehouses with a few variants more or
less."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from bgdata.process import cache_folder
from bgdata.store import build, catalog, catalog_views, survey, table
from bgdata.store.catalog import is_stale, write_catalog
from bgdata.store.housekeeping import remove
from bgdata.store.locked_sql import QueryLimits, read_only_query
from bgdata.store.registry import Kinds
from bgdata.store.table import Table
from bgdata.store.verify import Status, verify_files
from bgdata.warehouse import Warehouse
from bgdata.warehouse.rows import listing_rows
from tests.store.toy import DAMAGES, Count, overwrite

pytestmark = pytest.mark.catalog

LIMITS = QueryLimits(60)
COUNTS = range(10, 15)  # sizes of the five variants


@pytest.fixture
def five_variants(module_warehouse: Warehouse) -> Warehouse:
    """Five variants, unchanged for a while."""
    for count in COUNTS:
        module_warehouse.build("squares", Count(count), with_catalog=False)
    write_catalog(module_warehouse)
    return module_warehouse


@pytest.fixture
def operation_counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts of operations: manifests read, variants compared and read, views created."""
    counts: Counter[str] = Counter()

    def count_calls(module: Any, name: str, operation: str) -> None:
        function: Callable[..., Any] = getattr(module, name)

        def counted(*arguments: Any, **options: Any) -> Any:
            counts[operation] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(module, name, counted)

    count_calls(table, "load_manifest", "manifests")
    count_calls(survey, "read_folder_facts", "compared")
    count_calls(catalog._Reader, "read", "read")
    count_calls(catalog_views, "_create_view", "views")
    monkeypatch.setattr(survey, "RECENT_NS", 0)
    return counts


def first_value(warehouse: Warehouse, sql: str) -> Any:
    """The first value of a query, as `bgdata query` asks it."""
    with warehouse.connect(limits=LIMITS, for_query=sql) as connection:
        row = connection.execute(read_only_query(sql)).fetchone()
        return row[0] if row else None


def test_new_version_adds_one_row_and_its_views(five_variants: Warehouse, operation_counts: Counter[str]) -> None:
    """After a build of one variant, updating the catalog reads only that variant, and creates only its views."""
    five_variants.build("squares", Count(30), with_catalog=False)
    operation_counts.clear()
    build.refresh_catalog(five_variants)
    assert operation_counts["compared"] == 1
    assert operation_counts["read"] == 1
    assert operation_counts["views"] == 2  # of the kind and of the variant
    assert operation_counts["manifests"] <= 3
    assert not is_stale(five_variants)
    with duckdb.connect(str(five_variants.catalog), read_only=True) as plain:
        assert plain.sql("select count(*), count(distinct variant) from squares").fetchall() == [(90, 6)]
        assert plain.sql("select count(*) from versions").fetchall() == [(6,)]
        assert plain.sql("select max(square) from squares_30").fetchall() == [(841,)]


def test_query_compares_only_named_variants(five_variants: Warehouse, operation_counts: Counter[str]) -> None:
    """A query looks only at the folders of the kinds that it names, and does not write the catalog."""
    written = five_variants.catalog.stat().st_mtime_ns
    assert first_value(five_variants, "select 1") == 1
    assert operation_counts == {}
    assert first_value(five_variants, "select count(*) from square_sums") == 0
    assert operation_counts["compared"] == 0
    assert first_value(five_variants, "select max(square) from squares") == 13**2
    assert operation_counts == {"compared": len(COUNTS)}, "nothing is read"
    assert five_variants.catalog.stat().st_mtime_ns == written


def test_list_reads_no_manifests(five_variants: Warehouse, operation_counts: Counter[str]) -> None:
    """Listing the versions reads no manifest of an unchanged version, but finds a damaged one."""
    rows = [row for row in listing_rows(five_variants) if row["version"]]
    assert [row["rows"] for row in rows] == list(COUNTS)
    for row in rows:
        assert row["is_current"]
        assert row["bytes"] > 0
    assert operation_counts["manifests"] == 0
    array = five_variants.open("squares", "12").folder / "square.npy"
    overwrite(array, b"short")
    (damage,) = (row["damage"] for row in listing_rows(five_variants) if row["damage"])
    assert f"bytes in {array}, found 5" in damage


def test_query_cannot_open_files_of_other_kinds(five_variants: Warehouse) -> None:
    with (
        five_variants.connect(limits=LIMITS, for_query="select 1") as connection,
        pytest.raises(duckdb.PermissionException),
    ):
        connection.execute("select count(*) from squares").fetchall()
    parquet = five_variants.open("squares", "12").parquet
    assert first_value(five_variants, f"select count(*) from '{parquet}'") == 12
    assert first_value(five_variants, "select count(*) from query_table('squ' || 'ares')") == sum(COUNTS)


def publish_version(warehouse: Warehouse) -> None:
    """Publish by a build that was killed before it wrote the catalog."""
    warehouse.build("squares", Count(40), with_catalog=False)


def rename_variant(warehouse: Warehouse) -> None:
    shutil.move(warehouse.root / "squares" / "11", warehouse.root / "squares" / "99")


def delete_variant(warehouse: Warehouse) -> None:
    shutil.rmtree(warehouse.root / "squares" / "11")


def delete_all_versions(warehouse: Warehouse) -> None:
    for version in warehouse.versions("squares"):
        shutil.rmtree(version.folder)


def remove_version(warehouse: Warehouse) -> None:
    """Remove as `bgdata rm` does."""
    remove(warehouse, warehouse.open("squares", "11"))


def use_copied_version(warehouse: Warehouse) -> None:
    """Make a copy of a version, which is in the catalog already, the current one."""
    version = warehouse.open("squares", "11")
    copy = version.folder.with_name("r1-00000000")
    shutil.copytree(version.folder, copy)
    write_catalog(warehouse)
    assert not is_stale(warehouse)
    warehouse.use(Table(copy, "squares"))


def edit_declaration(warehouse: Warehouse) -> None:
    assert isinstance(warehouse.kinds, Kinds)
    (source,) = (path for path in warehouse.kinds.files() if path.name == "squares.py")
    with source.open("a") as file:
        file.write("# one more line\n")


def move_to_other_disk(warehouse: Warehouse) -> None:
    variant = warehouse.root / "squares" / "11"
    shutil.move(variant, warehouse.root / "disk")
    variant.symlink_to(warehouse.root / "disk")


def damage_version(name: str) -> Callable[[Warehouse], object]:
    return lambda warehouse: DAMAGES[name](warehouse.open("squares", "11"))


def query_result(warehouse: Warehouse, sql: str, **options: Any) -> object:
    """The result of a query, or its error."""
    with warehouse.connect(limits=LIMITS, **options) as connection:
        try:
            return connection.execute(read_only_query(sql)).fetchall()
        except duckdb.Error as error:
            return str(error).splitlines()[0]


@pytest.mark.parametrize(
    "change",
    [
        publish_version,
        rename_variant,
        delete_variant,
        delete_all_versions,
        remove_version,
        use_copied_version,
        move_to_other_disk,
        edit_declaration,
        *(pytest.param(damage_version(name), id=f"damage: {name}") for name in DAMAGES),
    ],
)
def test_changed_catalog_equals_a_new_one(module_warehouse: Warehouse, change: Callable[[Warehouse], object]) -> None:
    """After any change of the warehouse, the updated catalog equals one that is written anew, and queries give the same
    results as with a catalog in memory."""
    squares = "from squares order by all"
    module_warehouse.build("squares", Count(11))
    change(module_warehouse)
    assert is_stale(module_warehouse)
    result = query_result(module_warehouse, squares, for_query=squares)
    assert not is_stale(module_warehouse)
    assert [found.status for found in verify_files(module_warehouse) if found.subject == "catalog.duckdb"] == [
        Status.PASSED
    ]
    assert query_result(module_warehouse, squares) == result
    assert query_result(module_warehouse, squares, mend=False) == result
    for sql in ("select version, is_current from versions order by all", "select count(*) from square_sums"):
        assert query_result(module_warehouse, sql) == query_result(module_warehouse, sql, mend=False)


def test_query_sees_files_changed_in_place(five_variants: Warehouse, operation_counts: Counter[str]) -> None:
    """A query finds a file that was damaged without changing the time of its folder; queries of other kinds do not look
    there."""
    version = five_variants.open("squares", "12")
    times = [path.stat().st_mtime_ns for path in (version.folder, version.folder.parent)]
    overwrite(version.parquet, version.parquet.read_bytes()[:-4])
    assert times == [path.stat().st_mtime_ns for path in (version.folder, version.folder.parent)]
    assert first_value(five_variants, "select 1") == 1
    assert operation_counts["compared"] == 0
    with pytest.raises(duckdb.Error, match=r"squares/12/.* is damaged"):
        first_value(five_variants, "select max(square) from squares")


def forged_index(warehouse: Warehouse) -> bytes:
    """The index with another number of rows, without a valid code."""
    code, _, body = (warehouse.root / survey.INDEX_NAME).read_bytes().partition(b"\n")
    index = json.loads(body)
    for variant in index[3].values():
        for version in variant[4].values():
            version[1] = 666
    return code + b"\n" + json.dumps(index, separators=(",", ":")).encode()


def index_signed_by_another_user(warehouse: Warehouse) -> bytes:
    key_file = cache_folder() / "key"
    key = key_file.read_bytes()
    key_file.write_bytes(os.urandom(survey.KEY_BYTES))
    _, _, body = forged_index(warehouse).partition(b"\n")
    code = survey._code_of(warehouse, body)
    key_file.write_bytes(key)
    return code.encode() + b"\n" + body


def check_index_is_ignored(warehouse: Warehouse, index: bytes) -> None:
    (warehouse.root / survey.INDEX_NAME).write_bytes(index)
    assert survey.read_index(warehouse) is None
    assert [row["rows"] for row in listing_rows(warehouse) if row["version"]] == [10]
    assert first_value(warehouse, "select count(*) from squares") == 10


@pytest.mark.parametrize("forge", [forged_index, index_signed_by_another_user])
def test_index_of_another_user_is_ignored(module_warehouse: Warehouse, forge: Callable[[Warehouse], bytes]) -> None:
    check_index_is_ignored(module_warehouse, forge(module_warehouse))


@pytest.mark.parametrize("index", [b"", b"\n{}", b"\xff\n[]", b"x" * 10_000], ids=lambda index: index[:5])
def test_unreadable_index_is_ignored(module_warehouse: Warehouse, index: bytes) -> None:
    check_index_is_ignored(module_warehouse, index)


def test_index_of_another_folder_is_ignored(module_warehouse: Warehouse, memory_path: Path) -> None:
    shutil.copytree(module_warehouse.root, memory_path / "copy")
    copy = Warehouse(memory_path / "copy", module_warehouse.kinds)
    assert survey.read_index(module_warehouse)
    assert survey.read_index(copy) is None
    assert first_value(copy, "select count(*) from squares") == 10
    index = survey.read_index(copy)
    assert index
    assert index.variants.keys() == {"squares/10"}


def test_recently_changed_folder_is_read_again(module_warehouse: Warehouse) -> None:
    """A folder that changed just before it was read is read again, because the clock of a disk is coarse, and a second
    change could have the same time."""
    index = survey.read_index(module_warehouse)
    assert index
    variant = index.variants["squares/10"]
    folder = str(module_warehouse.root / "squares" / "10")
    assert not survey.is_as_before(folder, variant)
    assert survey.is_as_before(folder, variant._replace(read_at=max(variant.times) + survey.RECENT_NS + 1))
