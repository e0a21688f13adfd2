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
from tests.store.test_seal import Make, declare, declared, scripts  # noqa: F401 (fixtures)
from tests.store.toy import Count, overwrite
from tests.subtests import Subtests, each

pytestmark = pytest.mark.catalog

LIMITS = QueryLimits(60)
MANY = range(11, 15)


@pytest.fixture
def many(declared: Warehouse) -> Warehouse:  # noqa: F811
    """Five variants, unchanged for a while."""
    for count in MANY:
        declared.build("squares", Count(count), with_catalog=False)
    write_catalog(declared)
    return declared


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
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


def ask(warehouse: Warehouse, sql: str) -> Any:
    """The first value of a query, as `bgdata query` asks it."""
    with warehouse.connect(limits=LIMITS, for_query=sql) as connection:
        row = connection.execute(read_only_query(sql)).fetchone()
        return row[0] if row else None


def test_new_version_adds_one_row_and_its_views(many: Warehouse, counted: Counter[str]) -> None:
    many.build("squares", Count(30), with_catalog=False)
    counted.clear()
    build.refresh_catalog(many)
    assert (counted["looked at"], counted["read"], counted["views"]) == (1, 1, 2)
    assert counted["manifests"] <= 3
    assert not is_stale(many)
    with duckdb.connect(str(many.catalog), read_only=True) as plain:
        assert plain.sql("select count(*), count(distinct variant) from squares").fetchall() == [(90, 6)]
        assert plain.sql("select count(*) from versions").fetchall() == [(6,)]
        assert plain.sql("select max(square) from squares_30").fetchall() == [(841,)]


def test_query_compares_only_named_variants(many: Warehouse, counted: Counter[str]) -> None:
    written = many.catalog.stat().st_mtime_ns
    assert ask(many, "select 1") == 1
    assert counted == {}
    assert ask(many, "select count(*) from square_sums") == 0
    assert counted["looked at"] == 0
    assert ask(many, "select max(square) from squares") == 13**2
    assert counted["looked at"] == 5
    assert counted["read"] == 0
    assert counted["manifests"] == 0
    assert counted["views"] == 0
    assert many.catalog.stat().st_mtime_ns == written


def test_list_reads_no_manifests(many: Warehouse, counted: Counter[str]) -> None:
    rows = [row for row in listing_rows(many) if row["version"]]
    assert [row["rows"] for row in rows] == [10, *MANY]
    assert all(row["is_current"] and row["bytes"] > 0 for row in rows)
    assert counted["manifests"] == 0
    damaged = many.open("squares", "12")
    overwrite(damaged.folder / "square.npy", b"short")
    flaws = [row["damage"] for row in listing_rows(many) if row["damage"]]
    assert len(flaws) == 1
    assert f"bytes in {damaged.folder / 'square.npy'}, found 5" in flaws[0]


def test_query_cannot_open_files_of_other_kinds(many: Warehouse) -> None:
    with many.connect(limits=LIMITS, for_query="select 1") as connection, pytest.raises(duckdb.PermissionException):
        connection.execute("select count(*) from squares").fetchall()
    parquet = many.open("squares", "12").parquet
    assert ask(many, f"select count(*) from '{parquet}'") == 12
    assert ask(many, "select count(*) from query_table('squ' || 'ares')") == sum([10, *MANY])


def published(warehouse: Warehouse) -> None:
    """Publish by a build that was killed before it wrote the catalog."""
    warehouse.build("squares", Count(40), with_catalog=False)


def renamed(warehouse: Warehouse) -> None:
    shutil.move(warehouse.root / "squares" / "11", warehouse.root / "squares" / "99")


def lost(warehouse: Warehouse) -> None:
    shutil.rmtree(warehouse.root / "squares" / "11")


def used(warehouse: Warehouse) -> None:
    first = warehouse.open("squares", "11")
    other = first.folder.with_name("r1-00000000")
    shutil.copytree(first.folder, other)
    warehouse.use(Table(other, "squares"))


def elsewhere(warehouse: Warehouse) -> None:
    variant = warehouse.root / "squares" / "11"
    shutil.move(variant, warehouse.root / "disk")
    variant.symlink_to(warehouse.root / "disk")


def damaged(name: str) -> Callable[[Warehouse], object]:
    return lambda warehouse: DAMAGES[name](warehouse.open("squares", "11"))


CHANGES: dict[str, Callable[[Warehouse], object]] = {
    "published": published,
    "another name": renamed,
    "lost": lost,
    "another current version": used,
    "removed": lambda warehouse: remove(warehouse, warehouse.open("squares", "11")),
    "elsewhere": elsewhere,
    **{name: damaged(name) for name in DAMAGES},
}


def test_changed_catalog_equals_a_new_one(declare: Make) -> None:  # noqa: F811
    """Views, rows and comments are equal, and a query sees changes made by other processes."""
    with Subtests() as subtests:
        for number, (name, change) in enumerate(CHANGES.items()):
            with subtests.test(name):
                warehouse = declare(f"warehouse_{number}")
                warehouse.build("squares", Count(11))
                change(warehouse)
                assert is_stale(warehouse)
                found = answer_of(warehouse, mend=True)
                assert not is_stale(warehouse)
                assert [each.status for each in verify_files(warehouse)] == [Status.PASSED]
                assert found == answer_of(warehouse, mend=False)


def answer_of(warehouse: Warehouse, *, mend: bool) -> object:
    """The result of a query over all squares, or its error."""
    sql = "select list((variant, square) order by variant, square) from squares"
    with warehouse.connect(limits=LIMITS, mend=mend, for_query=sql) as connection:
        try:
            return connection.execute(read_only_query(sql)).fetchall()
        except duckdb.Error as error:
            return str(error).splitlines()[0]


def test_query_sees_files_changed_in_place(many: Warehouse, counted: Counter[str]) -> None:
    found = many.open("squares", "12")
    times = [path.stat().st_mtime_ns for path in (found.folder, found.folder.parent)]
    overwrite(found.parquet, found.parquet.read_bytes()[:-4])
    assert times == [path.stat().st_mtime_ns for path in (found.folder, found.folder.parent)]
    assert ask(many, "select 1") == 1
    assert counted["looked at"] == 0
    with pytest.raises(duckdb.Error, match=r"squares/12/.* is damaged"):
        ask(many, "select max(square) from squares")


def forge(warehouse: Warehouse) -> bytes:
    """The index with other rows of a variant, without a valid code."""
    code, _, body = (warehouse.root / survey.INDEX_NAME).read_bytes().partition(b"\n")
    seal = json.loads(body)
    for versions in (variant[4] for variant in seal[3].values()):
        for version in versions.values():
            version[1] = 666
    return code + b"\n" + json.dumps(seal, separators=(",", ":")).encode()


def sealed_by_another(warehouse: Warehouse) -> bytes:
    key = cache_folder() / "key"
    mine = key.read_bytes()
    key.write_bytes(os.urandom(survey.KEY_BYTES))
    _, _, body = forge(warehouse).partition(b"\n")
    code = survey._code_of(warehouse, body)
    key.write_bytes(mine)
    return code.encode() + b"\n" + body


@each(
    "content",
    [forge, sealed_by_another, lambda _: b"", lambda _: b"\n{}", lambda _: b"\xff\n[]", lambda _: b"x" * 10_000],
)
def test_index_of_another_user_is_ignored(
    declared: Warehouse,  # noqa: F811
    content: Callable[[Warehouse], bytes],
) -> None:
    path: Path = declared.root / survey.INDEX_NAME
    path.write_bytes(content(declared))
    assert survey.read_index(declared) is None
    assert [row["rows"] for row in listing_rows(declared) if row["version"]] == [10]
    assert ask(declared, "select count(*) from squares") == 10


def test_index_of_another_folder_is_ignored(declared: Warehouse, memory_path: Path) -> None:  # noqa: F811
    shutil.copytree(declared.root, memory_path / "copy")
    copy = Warehouse(memory_path / "copy", declared.kinds)
    assert survey.read_index(declared)
    assert survey.read_index(copy) is None
    assert ask(copy, "select count(*) from squares") == 10
    found = survey.read_index(copy)
    assert found
    assert found.variants.keys() == {"squares/10"}


def test_recently_changed_folder_is_read_again(declared: Warehouse) -> None:  # noqa: F811
    """Disk clocks are coarse: two changes in a moment have one time."""
    found = survey.read_index(declared)
    assert found
    variant = found.variants["squares/10"]
    folder = str(declared.root / "squares" / "10")
    assert not survey.is_as_before(folder, variant)
    assert survey.is_as_before(folder, variant._replace(read_at=max(variant.times) + survey.RECENT_NS + 1))
