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
from bgdata.store.table import Table
from bgdata.store.verify import Status, verify_files
from bgdata.warehouse import Warehouse
from bgdata.warehouse.rows import listing_rows
from tests.store.test_catalog import DAMAGES
from tests.store.test_seal import Make, make_toy_warehouse, module_warehouse, sql_scripts  # noqa: F401 (fixtures)
from tests.store.toy import Count, overwrite
from tests.subtests import Subtests, each

pytestmark = pytest.mark.catalog

LIMITS = QueryLimits(60)
MANY = range(11, 15)


@pytest.fixture
def five_variants(module_warehouse: Warehouse) -> Warehouse:  # noqa: F811
    """Five variants, unchanged for a while."""
    for count in MANY:
        module_warehouse.build("squares", Count(count), with_catalog=False)
    write_catalog(module_warehouse)
    return module_warehouse


@pytest.fixture
def operation_counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts of operations: manifests read, variants compared and read, views created."""
    found: Counter[str] = Counter()

    def count(module: Any, name: str, what: str) -> None:
        function: Callable[..., Any] = getattr(module, name)

        def counting(*arguments: Any, **options: Any) -> Any:
            found[what] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(module, name, counting)

    count(table, "load_manifest", "manifests")
    count(survey, "read_folder_facts", "looked at")
    count(catalog._Reader, "read", "read")
    count(catalog_views, "_create_view", "views")
    monkeypatch.setattr(survey, "RECENT_NS", 0)
    return found


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
    assert (operation_counts["looked at"], operation_counts["read"], operation_counts["views"]) == (1, 1, 2)
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
    assert operation_counts["looked at"] == 0
    assert first_value(five_variants, "select max(square) from squares") == 13**2
    assert operation_counts["looked at"] == 5
    assert operation_counts["read"] == 0
    assert operation_counts["manifests"] == 0
    assert operation_counts["views"] == 0
    assert five_variants.catalog.stat().st_mtime_ns == written


def test_list_reads_no_manifests(five_variants: Warehouse, operation_counts: Counter[str]) -> None:
    """Listing the versions reads no manifest of an unchanged version, but finds a damaged one."""
    rows = [row for row in listing_rows(five_variants) if row["version"]]
    assert [row["rows"] for row in rows] == [10, *MANY]
    assert all(row["is_current"] and row["bytes"] > 0 for row in rows)
    assert operation_counts["manifests"] == 0
    damaged = five_variants.open("squares", "12")
    overwrite(damaged.folder / "square.npy", b"short")
    flaws = [row["damage"] for row in listing_rows(five_variants) if row["damage"]]
    assert len(flaws) == 1
    assert f"bytes in {damaged.folder / 'square.npy'}, found 5" in flaws[0]


def test_query_cannot_open_files_of_other_kinds(five_variants: Warehouse) -> None:
    with (
        five_variants.connect(limits=LIMITS, for_query="select 1") as connection,
        pytest.raises(duckdb.PermissionException),
    ):
        connection.execute("select count(*) from squares").fetchall()
    parquet = five_variants.open("squares", "12").parquet
    assert first_value(five_variants, f"select count(*) from '{parquet}'") == 12
    assert first_value(five_variants, "select count(*) from query_table('squ' || 'ares')") == sum([10, *MANY])


def publish_version(warehouse: Warehouse) -> None:
    """Publish by a build that was killed before it wrote the catalog."""
    warehouse.build("squares", Count(40), with_catalog=False)


def rename_variant(warehouse: Warehouse) -> None:
    shutil.move(warehouse.root / "squares" / "11", warehouse.root / "squares" / "99")


def delete_variant(warehouse: Warehouse) -> None:
    shutil.rmtree(warehouse.root / "squares" / "11")


def use_copied_version(warehouse: Warehouse) -> None:
    """Makes a copy of the first version, under another name, current."""
    first = warehouse.open("squares", "11")
    other = first.folder.with_name("r1-00000000")
    shutil.copytree(first.folder, other)
    warehouse.use(Table(other, "squares"))


def move_to_other_disk(warehouse: Warehouse) -> None:
    variant = warehouse.root / "squares" / "11"
    shutil.move(variant, warehouse.root / "disk")
    variant.symlink_to(warehouse.root / "disk")


def damage_version(name: str) -> Callable[[Warehouse], object]:
    return lambda warehouse: DAMAGES[name](warehouse.open("squares", "11"))


CHANGES: dict[str, Callable[[Warehouse], object]] = {
    "published": publish_version,
    "another name": rename_variant,
    "lost": delete_variant,
    "another current version": use_copied_version,
    "removed": lambda warehouse: remove(warehouse, warehouse.open("squares", "11")),
    "elsewhere": move_to_other_disk,
    **{name: damage_version(name) for name in DAMAGES},
}


def test_changed_catalog_equals_a_new_one(make_toy_warehouse: Make) -> None:  # noqa: F811
    """After any change of the warehouse, the updated catalog equals one that is written anew, and a query gives the
    same result with either."""
    with Subtests() as subtests:
        for number, (name, change) in enumerate(CHANGES.items()):
            with subtests.test(name):
                warehouse = make_toy_warehouse(f"warehouse_{number}")
                warehouse.build("squares", Count(11))
                change(warehouse)
                assert is_stale(warehouse)
                found = query_result(warehouse, mend=True)
                assert not is_stale(warehouse)
                assert [each.status for each in verify_files(warehouse)] == [Status.PASSED]
                assert found == query_result(warehouse, mend=False)


def query_result(warehouse: Warehouse, *, mend: bool) -> object:
    """The result of a query over all squares, or its error."""
    sql = "select list((variant, square) order by variant, square) from squares"
    with warehouse.connect(limits=LIMITS, mend=mend, for_query=sql) as connection:
        try:
            return connection.execute(read_only_query(sql)).fetchall()
        except duckdb.Error as error:
            return str(error).splitlines()[0]


def test_query_sees_files_changed_in_place(five_variants: Warehouse, operation_counts: Counter[str]) -> None:
    """A query finds a file that was damaged without changing the time of its folder; queries of other kinds do not look
    there."""
    found = five_variants.open("squares", "12")
    times = [path.stat().st_mtime_ns for path in (found.folder, found.folder.parent)]
    overwrite(found.parquet, found.parquet.read_bytes()[:-4])
    assert times == [path.stat().st_mtime_ns for path in (found.folder, found.folder.parent)]
    assert first_value(five_variants, "select 1") == 1
    assert operation_counts["looked at"] == 0
    with pytest.raises(duckdb.Error, match=r"squares/12/.* is damaged"):
        first_value(five_variants, "select max(square) from squares")


def forged_index(warehouse: Warehouse) -> bytes:
    """The index with other rows of a variant, without a valid code."""
    code, _, body = (warehouse.root / survey.INDEX_NAME).read_bytes().partition(b"\n")
    seal = json.loads(body)
    for versions in (variant[4] for variant in seal[3].values()):
        for version in versions.values():
            version[1] = 666
    return code + b"\n" + json.dumps(seal, separators=(",", ":")).encode()


def index_of_another_user(warehouse: Warehouse) -> bytes:
    """An index that is signed with another user's key."""
    key = cache_folder() / "key"
    mine = key.read_bytes()
    key.write_bytes(os.urandom(survey.KEY_BYTES))
    _, _, body = forged_index(warehouse).partition(b"\n")
    code = survey._code_of(warehouse, body)
    key.write_bytes(mine)
    return code.encode() + b"\n" + body


@each(
    "content",
    [
        forged_index,
        index_of_another_user,
        lambda _: b"",
        lambda _: b"\n{}",
        lambda _: b"\xff\n[]",
        lambda _: b"x" * 10_000,
    ],
)
def test_index_of_another_user_is_ignored(
    module_warehouse: Warehouse,  # noqa: F811
    content: Callable[[Warehouse], bytes],
) -> None:
    path: Path = module_warehouse.root / survey.INDEX_NAME
    path.write_bytes(content(module_warehouse))
    assert survey.read_index(module_warehouse) is None
    assert [row["rows"] for row in listing_rows(module_warehouse) if row["version"]] == [10]
    assert first_value(module_warehouse, "select count(*) from squares") == 10


def test_index_of_another_folder_is_ignored(module_warehouse: Warehouse, memory_path: Path) -> None:  # noqa: F811
    shutil.copytree(module_warehouse.root, memory_path / "copy")
    copy = Warehouse(memory_path / "copy", module_warehouse.kinds)
    assert survey.read_index(module_warehouse)
    assert survey.read_index(copy) is None
    assert first_value(copy, "select count(*) from squares") == 10
    found = survey.read_index(copy)
    assert found
    assert found.variants.keys() == {"squares/10"}


def test_recently_changed_folder_is_read_again(module_warehouse: Warehouse) -> None:  # noqa: F811
    """A folder that changed just before it was read is read again, because the clock of a disk is coarse, and a second
    change could have the same time."""
    found = survey.read_index(module_warehouse)
    assert found
    variant = found.variants["squares/10"]
    folder = str(module_warehouse.root / "squares" / "10")
    assert not survey.is_as_before(folder, variant)
    assert survey.is_as_before(folder, variant._replace(read_at=max(variant.times) + survey.RECENT_NS + 1))
