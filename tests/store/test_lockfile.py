"""warehouse.lock: read back, in a stable order; damaged ones are refused."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bgdata.errors import CorruptFileError, ManifestFormatError, MissingTableError
from bgdata.store.lockfile import (
    LockEntry,
    Verdict,
    advice,
    load_lock,
    lock_verdicts,
    missing_extra_variants,
    read_lock,
    save_lock,
)
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.store import processes
from tests.store.test_manifest import MANIFEST
from tests.store.toy import Count, Squares

OTHER = dataclasses.replace(MANIFEST, dataset="cubes")


def test_lock_round_trips_in_order(tmp_path: Path) -> None:
    """The entries of a lock are sorted, whatever the order in which they were given."""
    path = tmp_path / "warehouse.lock"
    save_lock(path, [MANIFEST, OTHER])
    expected = [LockEntry(name, "10", "ab" * 32, "cd" * 32) for name in ("cubes", "squares")]
    assert load_lock(path) == expected
    written = path.read_bytes()
    save_lock(path, [OTHER, MANIFEST])
    assert path.read_bytes() == written


def test_missing_lock_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingTableError, match=r"expected .*x\.lock, found no such file; try: bgdata lock"):
        load_lock(tmp_path / "x.lock")
    with pytest.raises(CorruptFileError, match=r"expected a regular file in .*, found a folder"):
        load_lock(tmp_path)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", '{"format": 1}', '{"format": "1", "entries": []}', '{"format": 1, "entries": [{}]}'],
)
def test_damaged_lock_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.lock").write_text(content)
    with pytest.raises(ManifestFormatError, match=r"expected a lock file in .*x\.lock, found: .*; restore it from ver"):
        load_lock(tmp_path / "x.lock")


def test_newer_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.lock").write_text(json.dumps({"format": 2, "things": []}))
    with pytest.raises(ManifestFormatError, match=r"expected a lock of format 1 .*, found 2; upgrade bgdata"):
        load_lock(tmp_path / "x.lock")


@pytest.mark.parametrize(
    "hostile", ["'; drop view x; --", "../../evil", "/etc/passwd", "$(id)", "a\nb", 7, None, ["x"]]
)
def test_hostile_text_is_refused_in_every_field(tmp_path: Path, hostile: object) -> None:
    path = tmp_path / "x.lock"
    save_lock(path, [MANIFEST])
    lock = json.loads(path.read_bytes())
    (entry,) = lock["entries"]
    for field in entry:
        path.write_text(json.dumps({**lock, "entries": [{**entry, field: hostile}]}))
        with pytest.raises(ManifestFormatError, match="expected a lock file") as error:
            read_lock(path)
        assert str(error.value).isprintable()


def lock_repeatedly(path: Path, name: str, barrier: Any) -> None:
    """In another process: lock a variant many times."""
    barrier.wait()
    for _ in range(5):
        save_lock(path, [dataclasses.replace(MANIFEST, dataset=name)])


def test_concurrent_writers_leave_one_whole_lock(memory_path: Path) -> None:
    path = memory_path / "warehouse.lock"
    barrier = processes.barrier(3)
    processes.run_all((lock_repeatedly, path, name, barrier) for name in ("cubes", "roots", "squares"))
    assert len(load_lock(path)) == 1
    assert list(memory_path.iterdir()) == [path]


class SquaresWithExtraVariant(Squares):
    """Squares whose longer variant is not in the default build."""

    more = (Count(30),)


@pytest.fixture
def warehouse(memory_path: Path) -> Warehouse:
    return Warehouse(memory_path / "warehouse", {"squares": SquaresWithExtraVariant()})


@pytest.fixture
def locked_tables(warehouse: Warehouse) -> list[Table]:
    """squares/20 and squares/30, in the lock."""
    tables = [warehouse.build("squares", Count(count)) for count in (20, 30)]
    save_lock(warehouse.lock, [table.manifest for table in tables])
    return tables


def verdict_on(warehouse: Warehouse, variant: str) -> Verdict:
    (verdict,) = (verdict for verdict in lock_verdicts(warehouse) if verdict.entry.variant == variant)
    return verdict


def test_basic_variants_exclude_more() -> None:
    assert SquaresWithExtraVariant().basic == [Count(20)]
    assert Squares().basic == [Count(20), Count(30)]


@pytest.mark.usefixtures("locked_tables")
def test_complete_warehouse_matches_the_lock(warehouse: Warehouse) -> None:
    for variant in ("20", "30"):
        assert verdict_on(warehouse, variant).text == "same"
        assert verdict_on(warehouse, variant).is_same
        assert verdict_on(warehouse, variant).is_right
    assert missing_extra_variants(warehouse) == missing_extra_variants(warehouse, "squares") == []


def test_only_optional_variants_may_be_missing(warehouse: Warehouse, locked_tables: list[Table]) -> None:
    """A missing variant agrees with the lock only if `bgdata build` does not build it by default."""
    for table in locked_tables:
        table.folder.rename(warehouse.root.parent / table.folder.name)
    assert verdict_on(warehouse, "20").text == "not built"
    assert not verdict_on(warehouse, "20").is_same
    assert not verdict_on(warehouse, "20").is_right
    assert verdict_on(warehouse, "30").text == "not built; try: bgdata build squares"
    assert not verdict_on(warehouse, "30").is_same
    assert verdict_on(warehouse, "30").is_right
    assert missing_extra_variants(warehouse) == missing_extra_variants(warehouse, "squares") == ["squares/30"]
    assert advice(["squares/30", "x/y"]) == "not built: squares/30, x/y; try: bgdata build --all"


def test_kinds_built_by_name_only_are_not_missing(
    warehouse: Warehouse, locked_tables: list[Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert locked_tables
    shutil.rmtree(warehouse.root / "squares" / "30")
    monkeypatch.setattr(Squares, "named_only", True)
    assert missing_extra_variants(warehouse) == []


def test_existing_versions_must_match_the_lock(warehouse: Warehouse, locked_tables: list[Table]) -> None:
    """A version with another digest than in the lock is reported as different, whether its variant is optional or
    not."""
    save_lock(warehouse.lock, [dataclasses.replace(table.manifest, digest="0" * 64) for table in locked_tables])
    for verdict in lock_verdicts(warehouse):
        assert verdict.text.startswith("DIFFERS: current is ")
        assert not verdict.is_right
