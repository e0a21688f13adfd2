"""Versions in parts: computed, written and checked one at a time, kept after a kill, and read as one."""

import functools
import json
import random
import signal
from collections.abc import Mapping
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
from bgdata.store.manifest import FILE_NAME, PARTS_FORMAT, SEAL, Manifest, load_manifest, parse_manifest
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


def test_parts_read_like_one_version(memory_path: Path) -> None:
    """A version in three parts reads like one version: its arrays are joined, and offsets are counted on from part to
    part."""
    table = warehouse_with_parts(memory_path).build("squares", TEN)
    expected = np.arange(10) ** 2
    assert [(part.begin, part.end, part.rows) for part in table.manifest.parts] == [(0, 4, 4), (4, 8, 4), (8, 10, 2)]
    assert (table.manifest.rows, table.manifest.format) == (10, PARTS_FORMAT)
    assert table.manifest.statistics == {"largest": 81.0}
    assert np.asarray(table.array("square")).tolist() == expected.tolist()
    digits = "".join(map(str, expected.tolist()))
    firsts = np.cumsum([0, *(len(str(square)) for square in expected.tolist())])
    assert np.asarray(table.array("first_digits")).tolist() == firsts.tolist()
    assert "".join(map(str, table.array("digits")[2:9].tolist())) == digits[2:9]
    assert bytes(table.array("author")) == b"a"
    assert set(table.arrays()) == {"square", "digits", "first_digits", "author"}
    assert [part.array("first_digits")[0] for part in table.parts] == [0, 0, 0]
    assert [part.array("square").tolist() for part in table.parts][1] == [16, 25, 36, 49]
    assert whole_versions(warehouse_with_parts(memory_path)) == [table.name]
    assert problems(warehouse_with_parts(memory_path)) == []


class SomeTexts(PartedSquares):
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
    table = toy_warehouse(memory_path, squares=SomeTexts()).build("squares", TEN)
    assert np.asarray(table.array("text_ends")).tolist() == [1, 2, 3, 4, 5, 6]
    assert bytes(np.asarray(table.array("text"))) == b"012389"
    assert [len(part.array("text_ends")) for part in table.parts] == [4, 0, 2]


def test_small_versions_stay_in_one_part(memory_path: Path) -> None:
    table = warehouse_with_parts(memory_path).build("squares", Count(4))
    assert table.manifest.parts == []
    assert json.loads((table.folder / FILE_NAME).read_bytes())["format"] == 1
    assert b"parts" not in (table.folder / FILE_NAME).read_bytes()
    assert {path.name for path in table.folder.glob("*.npy")} == {f"{each.name}.npy" for each in PartedSquares.arrays}
    assert [part.name for part in table.parts] == [table.name]


def test_views_show_all_parts(memory_path: Path) -> None:
    warehouse = warehouse_with_parts(memory_path / "here")
    table = warehouse.build("squares", TEN)
    found = warehouse.rows("select number, square from squares order by number")
    assert [(row["number"], row["square"]) for row in found] == [(number, number**2) for number in range(10)]
    assert warehouse.rows("select rows, digest from versions")[0] == {"rows": 10, "digest": table.manifest.digest}
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


class Interrupting(Notes):
    """Progress that stops the build when its second part begins."""

    begun = 0

    def start(self, label: str, total: int, unit: str) -> None:
        super().start(label, total, unit)
        self.begun += unit == "numbers"
        if self.begun == 2:
            raise StoppedError


def computed_ranges(log: Path) -> list[str]:
    """The computed ranges, in order."""
    return [line.split()[0] for line in log.read_text().splitlines()]


def test_finished_parts_are_kept(memory_path: Path, tmp_path: Path) -> None:
    warehouse = warehouse_with_parts(memory_path, log=str(tmp_path / "log"))
    log = tmp_path / "log"
    with pytest.raises(StoppedError):
        warehouse.build("squares", TEN, progress=Interrupting())
    assert computed_ranges(log) == ["0-2", "2-4"]
    (staging,) = (path for path in warehouse.staging.iterdir() if path.is_dir())
    assert (staging / "part" / "part_00000.json").exists()
    warehouse.build("squares", TEN)
    assert computed_ranges(log) == ["0-2", "2-4", "4-6", "6-8", "8-10"]
    assert not [path for path in warehouse.staging.iterdir() if path.is_dir()]


@pytest.mark.parametrize("damaged", ["part_00000_square.npy", "part/part_00000.json", "part_00000_table.parquet"])
def test_damaged_parts_are_computed_again(memory_path: Path, tmp_path: Path, damaged: str) -> None:
    """A part of a stopped build whose file was changed is computed again, and the digest is that of an undisturbed
    build."""
    expected = (
        warehouse_with_parts(memory_path / "whole", log=str(tmp_path / "other")).build("squares", TEN).manifest.digest
    )
    warehouse = warehouse_with_parts(memory_path / "cut", log=str(tmp_path / "log"))
    log = tmp_path / "log"
    notes = Notes()
    with pytest.raises(StoppedError):
        warehouse.build("squares", TEN, progress=Interrupting())
    (staging,) = (path for path in warehouse.staging.iterdir() if path.is_dir())
    data = bytearray((staging / damaged).read_bytes())
    data[-1] ^= 1
    overwrite(staging / damaged, bytes(data))
    assert warehouse.build("squares", TEN, progress=notes).manifest.digest == expected
    assert computed_ranges(log)[2:4] == ["0-2", "2-4"]
    assert any("part 0 of squares/10 is damaged and computed again" in text for text in notes.texts)


def test_shared_arrays_that_differ_are_refused(memory_path: Path) -> None:
    warehouse = warehouse_with_parts(memory_path, author="b")
    with pytest.raises(CheckFailedError, match=r"expected the same author\.npy in all parts of squares/10"):
        warehouse.build("squares", TEN)
    assert whole_versions(warehouse) == []


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        ("part_00001_square.npy", "SHA-256"),
        ("part_00002_table.parquet", "SHA-256"),
        ("author.npy", "SHA-256"),
    ],
)
def test_verify_finds_a_changed_byte_in_any_part(memory_path: Path, file: str, problem: str) -> None:
    warehouse = warehouse_with_parts(memory_path)
    path = warehouse.build("squares", TEN).folder / file
    overwrite(path, path.read_bytes()[:-1] + b"\x07")
    assert any(problem in text and file in text for text in problems(warehouse))


def test_verify_recomputes_rows_of_every_part(memory_path: Path) -> None:
    """A wrong value in the last part is found when rows are recomputed, and the error names the part."""

    class Wrong(PartedSquares):
        def compute(self, build: Build[Count]) -> None:
            super().compute(build)
            if build.part and build.part.start == 8:
                build.job.save("square", np.zeros(2, np.int64))

    warehouse = toy_warehouse(memory_path, squares=Wrong())
    warehouse.build("squares", TEN)
    (problem,) = problems(toy_warehouse(memory_path, squares=PartedSquares()), rows=1)
    assert "expected squares from 8 on" in problem
    assert "part 2" in problem


@pytest.mark.parametrize(
    "parts",
    [
        [{"begin": 0, "end": 4, "rows": 10, "digest": 64 * "a"}],
        [{"begin": 0, "end": 4, "rows": 4, "digest": 64 * "a"}, {"begin": 5, "end": 10, "rows": 6, "digest": 64 * "a"}],
        [{"begin": 0, "end": 4, "rows": 4, "digest": 64 * "a"}, {"begin": 4, "end": 10, "rows": 5, "digest": 64 * "a"}],
        [{"begin": 0, "end": 4, "rows": 4, "digest": "a"}, {"begin": 4, "end": 10, "rows": 6, "digest": 64 * "a"}],
        "parts",
    ],
)
def test_wrong_parts_in_a_manifest_are_refused(memory_path: Path, parts: object) -> None:
    manifest = warehouse_with_parts(memory_path).build("squares", TEN).manifest
    values = manifest.values() | {"parts": parts}
    with pytest.raises(ManifestFormatError, match="parts"):
        parse_manifest(manifest_with(values), "manifest.json")


def manifest_with(values: Mapping[str, object]) -> bytes:
    """A manifest with these fields and a valid hash."""
    from bgdata.store.manifest import _seal

    return _seal(dict(values))


def test_manifest_of_parts_round_trips(memory_path: Path) -> None:
    table = warehouse_with_parts(memory_path).build("squares", TEN)
    found: Manifest = load_manifest(table.folder)
    assert found.to_bytes() == (table.folder / FILE_NAME).read_bytes()
    assert SEAL in json.loads(found.to_bytes())


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.data())
def test_parted_arrays_index_like_joined_ones(sizes: list[int], data: st.DataObject) -> None:
    """Indexing a `PartedArray` by a number, a slice, a list or a mask gives what the joined array gives."""
    ends = np.cumsum(sizes)
    parts = [np.arange(3 * (end - size), 3 * end).reshape(size, 3) for end, size in zip(ends, sizes, strict=True)]
    joined = np.concatenate(parts)
    found = PartedArray(parts)
    total = len(joined)
    assert found.shape == joined.shape
    assert found.dtype == joined.dtype
    assert len(found) == total
    assert found.ndim == 2
    place = st.integers(-total, total - 1)
    places = data.draw(st.lists(place, max_size=8))
    key = data.draw(
        st.one_of(place, st.slices(total), st.just(np.array(places, np.int64)), st.just(joined[:, 0] % 2 == 0))
    )
    np.testing.assert_array_equal(found[key], joined[key])
    np.testing.assert_array_equal(found[key, 1], joined[key, 1])
    np.testing.assert_array_equal(np.asarray(found), joined)
    with pytest.raises(IndexError, match="expected rows below"):
        found[total]


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
    expected = warehouse_with_parts(memory_path / "whole").build("squares", TEN).name
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
        assert not [path for path in warehouse.staging.iterdir() if path.is_dir()], kill_at
        kill_at += random.Random(kill_at).randint(1, 3)
    assert kill_at > 60  # else the changes are not noticed any more
