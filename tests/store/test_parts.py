"""Versions in parts: computed, written and checked one at a time, kept after a kill, and read as one."""

import functools
import json
import random
import signal
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.errors import CheckFailedError, ManifestFormatError
from bgdata.store.arrays import PartedArray
from bgdata.store.dataset import Build, FlatArray
from bgdata.store.executors import open_executor
from bgdata.store.manifest import FILE_NAME, PARTS_FORMAT, _seal, load_manifest, parse_manifest
from bgdata.warehouse import Warehouse
from tests.store import processes
from tests.store.sharing import PartedSquares
from tests.store.toy import Count, Notes, overwrite, problems, toy_warehouse, whole_versions

KILLED = -signal.SIGKILL
TEN = Count(10)


def warehouse_with_parts(root: Path, **changes: str) -> Warehouse:
    """A warehouse whose squares have parts; `changes` are attributes of their kind."""
    kind = PartedSquares()
    for name, value in changes.items():
        setattr(kind, name, value)
    return toy_warehouse(root, squares=kind)


def test_manifest_lists_the_parts(memory_path: Path) -> None:
    table = warehouse_with_parts(memory_path).build("squares", TEN)
    manifest = table.manifest
    assert [(part.begin, part.end, part.rows) for part in manifest.parts] == [(0, 4, 4), (4, 8, 4), (8, 10, 2)]
    assert manifest.rows == 10
    assert manifest.format == PARTS_FORMAT
    assert manifest.statistics == {"largest": 81.0}
    assert load_manifest(table.folder).to_bytes() == (table.folder / FILE_NAME).read_bytes()
    assert whole_versions(warehouse_with_parts(memory_path)) == [table.name]
    assert problems(warehouse_with_parts(memory_path)) == []


def test_parts_read_like_one_version(memory_path: Path) -> None:
    """Arrays are joined, and offsets are counted on from part to part."""
    table = warehouse_with_parts(memory_path).build("squares", TEN)
    assert set(table.arrays()) == {"square", "digits", "first_digits", "author"}
    assert np.asarray(table.array("square")).tolist() == [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]
    assert np.asarray(table.array("first_digits")).tolist() == [0, 1, 2, 3, 4, 6, 8, 10, 12, 14, 16]
    assert table.array("digits")[2:9].tolist() == [4, 9, 1, 6, 2, 5, 3]
    assert bytes(table.array("author")) == b"a"
    assert table.parts[1].array("square").tolist() == [16, 25, 36, 49]
    assert [part.array("first_digits")[0] for part in table.parts] == [0, 0, 0]


class SquaresWithTexts(PartedSquares):
    """Squares with texts, of which the second part has none."""

    arrays: ClassVar[tuple[FlatArray, ...]] = (
        FlatArray("square", "int64", "number", "Squares"),
        FlatArray("text", "uint8", "byte", "Texts"),
        FlatArray("text_ends", "int64", "text", "Where each text ends"),
    )

    def compute(self, build: Build[Count]) -> None:
        items = build.items(build.parameters.count)
        build.job.save("square", np.arange(items.start, items.stop) ** 2)
        texts = [] if items.start == 4 else [str(number) for number in items]
        build.job.save("text", np.frombuffer("".join(texts).encode(), np.uint8))
        build.job.save("text_ends", np.cumsum([len(text) for text in texts], dtype=np.int64))


def test_texts_of_a_part_without_any_are_joined(memory_path: Path) -> None:
    table = toy_warehouse(memory_path, squares=SquaresWithTexts()).build("squares", TEN)
    assert np.asarray(table.array("text_ends")).tolist() == [1, 2, 3, 4, 5, 6]
    assert bytes(np.asarray(table.array("text"))) == b"012389"
    assert [len(part.array("text_ends")) for part in table.parts] == [4, 0, 2]


def test_small_versions_stay_in_one_part(memory_path: Path) -> None:
    table = warehouse_with_parts(memory_path).build("squares", Count(4))
    assert table.manifest.parts == []
    assert json.loads((table.folder / FILE_NAME).read_bytes())["format"] == 1
    assert b"parts" not in (table.folder / FILE_NAME).read_bytes()
    assert {path.name for path in table.folder.glob("*.npy")} == {
        "square.npy", "digits.npy", "first_digits.npy", "author.npy"
    }  # fmt: skip
    assert [part.name for part in table.parts] == [table.name]


def test_views_show_all_parts(memory_path: Path) -> None:
    warehouse = warehouse_with_parts(memory_path / "here")
    table = warehouse.build("squares", TEN)
    rows = warehouse.rows("select number, square from squares order by number")
    assert rows == [{"number": number, "square": number**2} for number in range(10)]
    assert warehouse.rows("select rows, digest from versions") == [{"rows": 10, "digest": table.manifest.digest}]
    warehouse.root.rename(memory_path / "moved")
    assert warehouse_with_parts(memory_path / "moved").rows("select count(*) as n from squares") == [{"n": 10}]


def test_digest_does_not_depend_on_executors_and_interruptions(memory_path: Path) -> None:
    digest = warehouse_with_parts(memory_path / "local").build("squares", TEN).manifest.digest
    with open_executor("processes:2") as executor:
        table = warehouse_with_parts(memory_path / "two").build("squares", TEN, executor=executor)
    assert table.manifest.digest == digest
    assert toy_warehouse(memory_path / "one").build("squares", TEN).manifest.digest != digest


class StoppedError(Exception):
    """Stops a build between two parts."""


class StopAtSecondPart(Notes):
    """Progress that stops the build when its second part begins."""

    begun_parts = 0

    def start(self, label: str, total: int, unit: str) -> None:
        super().start(label, total, unit)
        self.begun_parts += unit == "numbers"
        if self.begun_parts == 2:
            raise StoppedError


def staging_folders(warehouse: Warehouse) -> list[Path]:
    return [path for path in warehouse.staging.iterdir() if path.is_dir()]


@pytest.fixture
def stopped_build(memory_path: Path, tmp_path: Path) -> Warehouse:
    """A warehouse whose build of squares/10 was stopped after its first part. Computed ranges are in `log`."""
    warehouse = warehouse_with_parts(memory_path / "stopped", log=str(tmp_path / "log"))
    with pytest.raises(StoppedError):
        warehouse.build("squares", TEN, progress=StopAtSecondPart())
    return warehouse


def computed_ranges(log: Path) -> list[str]:
    """The computed ranges, in order."""
    return [line.split()[0] for line in log.read_text().splitlines()]


def test_finished_parts_are_kept(stopped_build: Warehouse, tmp_path: Path) -> None:
    assert computed_ranges(tmp_path / "log") == ["0-2", "2-4"]
    (staging,) = staging_folders(stopped_build)
    assert (staging / "part" / "part_00000.json").exists()
    stopped_build.build("squares", TEN)
    assert computed_ranges(tmp_path / "log") == ["0-2", "2-4", "4-6", "6-8", "8-10"]
    assert staging_folders(stopped_build) == []


@pytest.mark.parametrize("name", ["part_00000_square.npy", "part/part_00000.json", "part_00000_table.parquet"])
def test_damaged_part_is_computed_again(stopped_build: Warehouse, memory_path: Path, tmp_path: Path, name: str) -> None:
    expected = warehouse_with_parts(memory_path / "undisturbed").build("squares", TEN).manifest.digest
    (staging,) = staging_folders(stopped_build)
    data = (staging / name).read_bytes()
    overwrite(staging / name, data[:-1] + bytes([data[-1] ^ 1]))
    notes = Notes()
    assert stopped_build.build("squares", TEN, progress=notes).manifest.digest == expected
    assert computed_ranges(tmp_path / "log")[2:4] == ["0-2", "2-4"]
    assert "part 0 of squares/10 is damaged and computed again" in "\n".join(notes.texts)


def test_shared_arrays_that_differ_are_refused(memory_path: Path) -> None:
    warehouse = warehouse_with_parts(memory_path, author="b")
    with pytest.raises(CheckFailedError, match=r"expected the same author\.npy in all parts of squares/10"):
        warehouse.build("squares", TEN)
    assert whole_versions(warehouse) == []


@pytest.mark.parametrize("name", ["part_00001_square.npy", "part_00002_table.parquet", "author.npy"])
def test_verify_finds_a_changed_byte_in_any_part(memory_path: Path, name: str) -> None:
    warehouse = warehouse_with_parts(memory_path)
    path = warehouse.build("squares", TEN).folder / name
    overwrite(path, path.read_bytes()[:-1] + b"\x07")
    assert any("SHA-256" in problem and name in problem for problem in problems(warehouse))


def test_verify_recomputes_rows_of_every_part(memory_path: Path) -> None:
    """A wrong value in the last part is found when rows are recomputed, and the error names the part."""

    class WrongSquares(PartedSquares):
        def compute(self, build: Build[Count]) -> None:
            super().compute(build)
            if build.part and build.part.start == 8:
                build.job.save("square", np.zeros(2, np.int64))

    warehouse = toy_warehouse(memory_path, squares=WrongSquares())
    warehouse.build("squares", TEN)
    (problem,) = problems(toy_warehouse(memory_path, squares=PartedSquares()), rows=1)
    assert "expected squares from 8 on" in problem
    assert "part 2" in problem


DIGEST = 64 * "a"
FIRST_PART = {"begin": 0, "end": 4, "rows": 4, "digest": DIGEST}


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([{**FIRST_PART, "rows": 10}], id="one part"),
        pytest.param([FIRST_PART, {"begin": 5, "end": 10, "rows": 6, "digest": DIGEST}], id="gap"),
        pytest.param([FIRST_PART, {"begin": 4, "end": 10, "rows": 5, "digest": DIGEST}], id="missing row"),
        pytest.param(
            [{**FIRST_PART, "digest": "a"}, {"begin": 4, "end": 10, "rows": 6, "digest": DIGEST}], id="short digest"
        ),
        pytest.param("parts", id="text"),
    ],
)
def test_wrong_parts_in_a_manifest_are_refused(memory_path: Path, parts: object) -> None:
    manifest = warehouse_with_parts(memory_path).build("squares", TEN).manifest
    with pytest.raises(ManifestFormatError, match="parts"):
        parse_manifest(_seal(manifest.values() | {"parts": parts}), "manifest.json")


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.data())
def test_parted_arrays_index_like_joined_ones(sizes: list[int], data: st.DataObject) -> None:
    """Indexing a `PartedArray` by a number, a slice, a list or a mask gives what the joined array gives."""
    total = sum(sizes)
    joined = np.arange(3 * total).reshape(total, 3)
    parted = PartedArray(np.split(joined, np.cumsum(sizes)[:-1]))
    assert parted.shape == joined.shape
    assert parted.dtype == joined.dtype
    assert len(parted) == total
    assert parted.ndim == 2
    number = st.integers(-total, total - 1)
    numbers = st.lists(number, max_size=8).map(lambda rows: np.array(rows, np.int64))
    mask = st.just(joined[:, 0] % 2 == 0)
    key = data.draw(st.one_of(number, st.slices(total), numbers, mask))
    np.testing.assert_array_equal(parted[key], joined[key])
    np.testing.assert_array_equal(parted[key, 1], joined[key, 1])
    np.testing.assert_array_equal(np.asarray(parted), joined)
    with pytest.raises(IndexError, match="expected rows below"):
        parted[total]


def build_in_parts(root: Path, kill_at: int | None) -> None:
    """In another process: build, and die at this change."""
    processes.drop_root_rights()
    if kill_at is not None:
        processes.die_at_change(root, kill_at)
    warehouse_with_parts(root).build("squares", TEN)


@pytest.mark.kills
def test_build_survives_a_kill_at_every_change(memory_path: Path) -> None:
    """Whenever a build in parts is killed, either no version or a complete one exists, and the next build finishes
    it."""
    expected = warehouse_with_parts(memory_path / "undisturbed").build("squares", TEN).name
    exitcode: int | None = KILLED
    kill_at = 0
    while exitcode == KILLED:
        warehouse = warehouse_with_parts(memory_path / str(kill_at))
        exitcode = processes.run(build_in_parts, warehouse.root, kill_at)
        assert exitcode in (0, KILLED)
        assert whole_versions(warehouse) in ([expected], [])
        with processes.bare_thread() as thread:
            thread.submit(functools.partial(warehouse.build, "squares", TEN)).result()
        assert whole_versions(warehouse) == [expected], kill_at
        assert staging_folders(warehouse) == [], kill_at
        kill_at += random.Random(kill_at).randint(1, 3)
    assert kill_at > 60  # else the changes are not noticed any more
