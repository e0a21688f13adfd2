"""Finding and opening versions, also among damaged ones and other people's files."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest

from bgdata.errors import MissingTableError, MissingWarehouseError, UnknownKindError
from bgdata.store.names import CURRENT
from bgdata.store.storage import publish
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.store.toy import Count, toy_warehouse

TEN = Count(10)


def add_version(table: Table, **changes: Any) -> Table:
    """A copy of a version with another manifest, published beside it."""
    manifest = dataclasses.replace(table.manifest, **changes)
    staging = table.folder.with_name("staging")
    shutil.copytree(table.folder, staging)
    manifest.save(staging)
    target = table.folder.with_name(manifest.version)
    publish(staging, target)
    return Table(target)


def test_versions_and_variants_are_listed(toys: Warehouse) -> None:
    """Versions and current versions are listed for the whole warehouse, a kind or a variant, in order of their
    names."""
    squares_10 = toys.build("squares", TEN).name
    squares_20 = toys.build("squares", Count(20)).name
    sums = toys.build("square_sums", TEN).name
    assert [table.name for table in toys.versions()] == [sums, squares_10, squares_20]
    assert [table.name for table in toys.versions("squares")] == [squares_10, squares_20]
    assert [table.name for table in toys.versions("squares", "20")] == [squares_20]
    assert [table.name for table in toys.current()] == [sums, squares_10, squares_20]
    assert [table.name for table in toys.current("squares")] == [squares_10, squares_20]
    assert toys.variants("squares") == ["10", "20"]


def test_names_without_versions_have_empty_lists(toys: Warehouse) -> None:
    toys.build("squares", TEN)
    assert toys.variants("square_sums") == []
    assert list(toys.versions("squares", "30")) == []
    with pytest.raises(UnknownKindError, match=r"expected a kind of dataset, got 'cubes'; "):
        next(toys.current("cubes"))


def test_newest_of_the_highest_revision_is_current_without_a_pointer(toys: Warehouse) -> None:
    """Without the file `current`, the newest version of the highest revision is the current one."""
    table = toys.build("squares", TEN)
    (table.folder.parent / CURRENT).unlink()
    later = add_version(table, digest="1" * 64, created="9999")
    assert toys.open("squares", "10").folder == later.folder
    assert [current.folder for current in toys.current()] == [later.folder]
    newer = add_version(table, digest="0" * 64, revision=2, created="0000")
    assert toys.open("squares", "10").folder == newer.folder
    assert toys.open("squares", "10", table.folder.name).folder == table.folder


def test_find_prefers_the_current_version(toys: Warehouse) -> None:
    """Of several versions with the same recipe, `find` returns the current one, else the newest; damaged ones are
    skipped."""

    def find_folder() -> Path:
        version = toys.find(toys.kind("squares"), TEN)
        assert version is not None
        return version.folder

    table = toys.build("squares", TEN)
    later = add_version(table, digest="1" * 64, created="9999")
    assert find_folder() == table.folder
    (table.folder.parent / CURRENT).unlink()
    assert find_folder() == later.folder
    add_version(table, digest="2" * 64, created="9999-2", recipe_key="0" * 64)
    assert find_folder() == later.folder
    (later.folder / "square.npy").unlink()
    assert find_folder() == table.folder


def test_versions_with_missing_inputs_are_not_found(toys: Warehouse) -> None:
    """A version is not found if its inputs are missing, because its recipe contains their digests."""
    sums = toys.kind("square_sums")
    assert toys.find(sums, TEN) is None
    assert toys.recipe_key(sums, TEN) is None
    table = toys.build("square_sums", TEN)
    assert toys.recipe_key(sums, TEN) == table.manifest.recipe_key
    shutil.rmtree(toys.root / "squares")
    assert toys.find(sums, TEN) is None


def test_damaged_versions_are_not_current(toys: Warehouse) -> None:
    table = toys.build("squares", TEN)
    later = add_version(table, digest="1" * 64, created="9999")
    (later.folder / "manifest.json").chmod(0o644)
    (later.folder / "manifest.json").write_text("{")
    assert toys.open("squares", "10").folder == table.folder


@pytest.mark.parametrize("name", ["r1-0123abcd.zip", "r1-0123abcd (copy)", "r1-old", "notes", ".DS_Store"])
@pytest.mark.parametrize("is_folder", [True, False])
def test_other_files_are_ignored(toys: Warehouse, name: str, is_folder: bool) -> None:
    table = toys.build("squares", TEN)
    for folder in (toys.root, toys.root / "squares", table.folder.parent):
        path = folder / name
        path.mkdir() if is_folder else path.touch()
    assert [version.name for version in toys.versions()] == [table.name]
    assert toys.open("squares", "10").name == table.name
    with toys.connect() as connection:
        assert connection.sql("select count(*) from versions").fetchall() == [(1,)]


def test_missing_names_are_refused(toys: Warehouse) -> None:
    """A missing warehouse, kind, variant or version gives an error that names what there is."""
    with pytest.raises(
        MissingWarehouseError, match=r"expected a warehouse in .*, found no such folder; try: bgdata bu"
    ):
        toys.open("squares", "10")
    with pytest.raises(MissingWarehouseError):
        toys.connect()
    toys.build("squares", TEN)
    with pytest.raises(MissingTableError, match=r"no squares/7 in .* \(have: 10\); try: bgdata build squares"):
        toys.open("squares", "7")
    with pytest.raises(MissingTableError, match=r"no squares/10/r1-00000000 in .* \(have: r1-5a44f529\)"):
        toys.open("squares", "10", "r1-00000000")
    with pytest.raises(MissingTableError, match=r"no square_sums/7 in .* \(have: none\)"):
        toys.open("square_sums", "7")
    with pytest.raises(UnknownKindError, match=r"expected a kind of dataset, got 'cubes'; "):
        toys.open("cubes", "10")


def test_moved_warehouses_are_found_again(toys: Warehouse, tmp_path: Path) -> None:
    toys.build("square_sums", TEN)
    moved = toy_warehouse(Path(shutil.move(toys.root, tmp_path / "it's [moved]")))
    assert moved.open("squares", "10").array("square")[9] == 81
    assert moved.find(moved.kind("square_sums"), TEN) is not None
    with moved.connect() as connection:
        assert connection.sql("select sum(square), max(total) from squares, square_sums").fetchall() == [(2850, 285)]
