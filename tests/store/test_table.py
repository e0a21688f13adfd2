"""An opened version: its content, and errors for missing or damaged parts."""

import shutil
from pathlib import Path

import pytest

from bgdata.errors import CorruptFileError, DigestMismatchError, ManifestFormatError, MissingTableError
from bgdata.store.manifest import FILE_NAME
from bgdata.store.table import Table, is_published, published_folder
from bgdata.warehouse import Warehouse
from tests.store import processes
from tests.store.toy import Count, Notes, Squares, toy_warehouse, whole_versions


@pytest.fixture
def table(toys: Warehouse) -> Table:
    return toys.build("squares", Count(10))


def test_open_table_has_manifest_and_arrays(table: Table) -> None:
    assert table.name == f"squares/10/{table.manifest.version}"
    assert table.array("square").tolist() == [number**2 for number in range(10)]
    assert table.array("square") is table.array("square")
    assert table.arrays().keys() == {"square"}
    table.check_sizes()


def test_opening_reads_nothing(tmp_path: Path) -> None:
    table = Table(tmp_path / "kind" / "variant" / "r1-00000000")
    assert table.name == "kind/variant/r1-00000000"
    with pytest.raises(MissingTableError, match="expected a manifest"):
        table.manifest  # noqa: B018
    with pytest.raises(MissingTableError, match="expected the array"):
        table.array("square")


@pytest.mark.parametrize("name", ["square.npy", "table.parquet"])
def test_files_of_another_size_are_refused(table: Table, name: str) -> None:
    path = table.folder / name
    size = path.stat().st_size
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptFileError, match=rf"expected {size} bytes in .*{name}, found {size - 1}; try: bgdata ve"):
        table.check_sizes()
    path.unlink()
    with pytest.raises(MissingTableError, match=rf"expected .*{name}, found no such file; try: bgdata verify --repair"):
        table.check_sizes()


TEN = Count(10)


class Shipped(Squares):
    """Squares, of which squares/10 comes with the package, in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def published_folder(self, parameters: Count) -> Path | None:
        return self.folder if parameters == TEN else None


@pytest.fixture
def package_folder(memory_path: Path) -> Path:
    """A folder like that of the package, with writable files."""
    table = toy_warehouse(memory_path / "elsewhere").build("squares", TEN)
    folder = memory_path / "package" / "10" / table.folder.name
    shutil.copytree(table.folder, folder)
    for path in folder.iterdir():
        path.chmod(0o644)
    return folder


@pytest.fixture
def warehouse(memory_path: Path, package_folder: Path) -> Warehouse:
    return toy_warehouse(memory_path / "warehouse", squares=Shipped(package_folder))


def test_published_version_is_copied(warehouse: Warehouse, package_folder: Path) -> None:
    """A build of a version that comes with the package copies it, byte for byte."""
    notes = Notes()
    table = warehouse.build("squares", TEN, progress=notes)
    assert notes.texts == [f"squares/10: comes with the package ({table.folder.name})"]
    assert {path.name: path.read_bytes() for path in table.folder.iterdir()} == {
        path.name: path.read_bytes() for path in package_folder.iterdir()
    }
    assert whole_versions(warehouse) == [f"squares/10/{table.manifest.version}"]
    assert list(warehouse.staging.iterdir()) == []
    assert is_published(warehouse.kind("squares"), table)
    with warehouse.connect() as connection:
        assert connection.sql("select max(square) from squares_10").fetchall() == [(81,)]
    notes = Notes()
    warehouse.build("squares", TEN, progress=notes)
    assert notes.texts == [f"squares/10: already built ({table.folder.name})"]


def test_forced_builds_and_other_recipes_are_computed(
    warehouse: Warehouse, memory_path: Path, package_folder: Path
) -> None:
    """A version that comes with the package is computed if the build is forced, or if the parameters or the revision
    differ."""

    class NextRevision(Shipped):
        revision = 2

    copied = warehouse.build("squares", TEN).manifest
    newer = toy_warehouse(memory_path / "newer", squares=NextRevision(package_folder))
    forced = warehouse.build("squares", TEN, force=True)
    assert not is_published(warehouse.kind("squares"), forced)
    assert forced.manifest.digest == copied.digest
    assert forced.manifest.created > copied.created
    other = warehouse.build("squares", Count(11))
    assert not is_published(warehouse.kind("squares"), other)
    next_revision = newer.build("squares", TEN)
    assert next_revision.folder.name.startswith("r2-")
    assert not is_published(newer.kind("squares"), next_revision)


def test_damaged_published_version_is_refused(warehouse: Warehouse, package_folder: Path) -> None:
    """A damaged file of a version in the package gives an error, and nothing is copied."""
    array, manifest = package_folder / "square.npy", package_folder / FILE_NAME
    undamaged = array.read_bytes()
    message = (
        rf"expected SHA-256 \w+\.\.\. of {array}, which comes with the package, found \w+\.\.\.; "
        "try: install bgdata again"
    )
    array.write_bytes(undamaged[:-1] + b"\1")
    with pytest.raises(DigestMismatchError, match=message):
        warehouse.build("squares", TEN)
    size = len(undamaged)
    array.write_bytes(undamaged[:-1])
    with pytest.raises(CorruptFileError, match=f"expected {size} bytes in {array}, found {size - 1}"):
        warehouse.build("squares", TEN)
    array.unlink()
    with pytest.raises(MissingTableError, match=f"expected {array}, found no such file"):
        warehouse.build("squares", TEN)
    manifest.write_text("{}")
    with pytest.raises(ManifestFormatError, match=f"expected a manifest of format 1 in {manifest}"):
        warehouse.build("squares", TEN)
    assert whole_versions(warehouse) == []
    assert not is_published(warehouse.kind("squares"), warehouse.build("squares", TEN, force=True))


def test_damaged_manifest_is_not_missing(package_folder: Path) -> None:
    """A damaged version in the package raises an error for its own variant, so that a long computation does not begin
    silently; other variants are not affected."""
    package = package_folder.parents[1]
    assert published_folder(package, TEN, "10") == package_folder
    assert published_folder(package, Count(11), "10") is None
    (package_folder / FILE_NAME).write_text("{")
    for parameters in (TEN, Count(12)):
        with pytest.raises(
            ManifestFormatError, match=f"^expected a whole version in {package_folder}, which comes with the pack"
        ):
            published_folder(package, parameters, "10")
    assert published_folder(package, Count(11), "11") is None


def build_and_die(root: Path, package_folder: Path, kill_at: int) -> None:
    """In another process: build, and die at this change."""
    processes.die_at_change(root, kill_at)
    toy_warehouse(root, squares=Shipped(package_folder)).build("squares", TEN)


@pytest.mark.parametrize("kill_at", range(0, 24, 3))
def test_copy_survives_a_kill(memory_path: Path, package_folder: Path, kill_at: int) -> None:
    warehouse = toy_warehouse(memory_path / "warehouse", squares=Shipped(package_folder))
    processes.run(build_and_die, warehouse.root, package_folder, kill_at)
    assert len(whole_versions(warehouse)) <= 1
    table = warehouse.build("squares", TEN)
    assert whole_versions(warehouse) == [f"squares/10/{table.manifest.version}"]
    assert is_published(warehouse.kind("squares"), table)
    assert not [path for path in warehouse.staging.iterdir() if path.is_dir()]
