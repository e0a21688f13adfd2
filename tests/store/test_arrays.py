"""Flat arrays: written, mapped and hashed; damaged ones are refused."""

import hashlib
import io
import os
import re
import socket
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from bgdata.errors import CorruptFileError, MissingTableError, StorageError
from bgdata.store.arrays import ArrayWriter, GrowingWriter, map_array, release_pages, save_array, values_digest
from tests.store.processes import bare_thread
from tests.subtests import each

VALUES = np.arange(24, dtype=np.float32).reshape(6, 4)


@pytest.fixture
def saved_path(tmp_path: Path) -> Path:
    save_array(tmp_path / "x.npy", VALUES)
    return tmp_path / "x.npy"


def test_saved_arrays_are_mapped_read_only(saved_path: Path) -> None:
    mapped = map_array(saved_path)
    assert type(mapped) is np.ndarray
    assert (mapped.dtype, mapped.tolist()) == (VALUES.dtype, VALUES.tolist())
    with pytest.raises(ValueError, match="read-only"):
        mapped[0, 0] = 1


def test_writing_row_by_row_gives_the_same_file(saved_path: Path, tmp_path: Path) -> None:
    with ArrayWriter(tmp_path / "rows.npy", np.float32, (6, 4)) as writer:
        writer.write(3, VALUES[3:])
        writer.write(0, VALUES[0].astype(np.float64))
        writer.write(1, VALUES[1:3])
    assert (tmp_path / "rows.npy").read_bytes() == saved_path.read_bytes()
    with ArrayWriter(tmp_path / "numbers.npy", np.int64, (2,)) as writer:
        writer.write(1, np.array(7))
        writer.write(0, np.array(5))
    assert map_array(tmp_path / "numbers.npy").tolist() == [5, 7]


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingTableError, match=r"expected the array .*x\.npy, found no such file; try: bgdata verify"):
        map_array(tmp_path / "x.npy")


def test_unreadable_files_are_refused(saved_path: Path) -> None:
    saved_path.chmod(0)
    with bare_thread() as thread, pytest.raises(StorageError, match=r"cannot read .*x\.npy: permission denied"):
        thread.submit(map_array, saved_path).result()


def test_flipped_header_bits_are_refused_or_change_shape_or_dtype(saved_path: Path) -> None:
    """A header with a flipped bit is refused, or gives another shape or dtype, which the digest of the values then
    reveals. The header itself has no checksum."""
    whole = saved_path.read_bytes()
    refused = 0
    for bit in range(128 * 8):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        saved_path.write_bytes(changed)
        try:
            found = map_array(saved_path)
        except CorruptFileError as error:
            assert "\n" not in str(error)  # noqa: PT017
            refused += 1
        else:
            is_same = found.tobytes() == VALUES.tobytes() and found.shape == VALUES.shape
            assert is_same or values_digest({"x": found}) != values_digest({"x": VALUES})
    assert refused > 600


@each("dtype", [np.float32, np.uint16, np.int8, np.bool_, np.int64, "S5"])
@each("shape", [(0,), (5,), (3, 2), (2, 3, 4)])
def test_headers_of_numpy_are_read(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    np.save(tmp_path / "x.npy", values)
    found = map_array(tmp_path / "x.npy")
    assert (found.dtype, found.shape, found.tobytes()) == (values.dtype, values.shape, values.tobytes())


@pytest.mark.parametrize("what", ["folder", "link", "pipe", "socket"])
def test_special_file_is_refused_at_once(tmp_path: Path, saved_path: Path, what: str) -> None:
    """A folder, link, pipe, socket or device in place of an array is refused without waiting for it."""
    path = tmp_path / "other.npy"
    if what == "folder":
        path.mkdir()
    elif what == "link":
        path.symlink_to(saved_path)
    elif what == "pipe":
        os.mkfifo(path)
    else:
        socket.socket(socket.AF_UNIX).bind(str(path))
    with pytest.raises(CorruptFileError, match=rf"expected a regular file in .*other\.npy, found a {what}"):
        map_array(path)
    with pytest.raises(CorruptFileError, match=r"expected a regular file in /dev/zero, found a device"):
        map_array(Path("/dev/zero"))


def npy_bytes(dtype: str, shape: tuple[int, ...], content: bytes, *, fortran_order: bool = False) -> bytes:
    """A .npy file by hand, with any content."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": fortran_order, "shape": shape})
    return file.getvalue() + content


def npy_with_header(text: str) -> bytes:
    """A .npy file with this text as its header."""
    header = text.ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(96)


WHOLE = npy_bytes("<f4", VALUES.shape, VALUES.tobytes())


@each(
    ("content", "found"),
    [
        *((WHOLE[:size], "") for size in (0, 5, 10, 60, 128, 200, 223)),
        *((other, "") for other in (b"PK\x03\x04" + bytes(200), b"junk" * 50, bytes(224))),
        *(  # headers are not evaluated
            (npy_with_header(text), "the header ")
            for text in (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 4), 'x': 1, }",
                "{'descr': '<f4', 'fortran_order': 1 == 2, 'shape': (6, 4), }",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 2 + 2), }",
                "{'descr': '<f4', 'fortran_order': False, 'shape': 24, }",
                "(" * 100,
            )
        ),
        *(
            (npy_bytes(dtype, (12,), bytes(96)), f"values of type {re.escape(dtype)}")
            for dtype in (">f4", "<c8", "<M8[D]", "<U1", "|V4")
        ),
        (npy_bytes("|S0", (10**18,), b""), r"values of type \|S0"),
        (npy_bytes("|O", (1,), b""), "objects"),
        *(
            (npy_bytes("<f4", shape, content), "the shape")
            for shape, content in {
                (10**18,): bytes(96), (10**18, 0): b"", (0, 10**18): b"", (-6, -4): bytes(96), (2**32, 2**32): b"",
                (): bytes(4),
            }.items()
        ),
        (npy_bytes("<f4", (6, 3), bytes(96)), "224 bytes for float32"),
        (npy_bytes("<f4", (6, 5), bytes(96)), "224 bytes for float32"),
        (npy_bytes("<f4", (1,) * 70, bytes(4)), ".*dim"),
        (npy_bytes("<f4", (6, 4), bytes(96), fortran_order=True), ".* by columns"),
    ],
)  # fmt: skip
def test_invalid_arrays_are_refused(tmp_path: Path, content: bytes, found: str) -> None:
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(
        CorruptFileError, match=rf"expected a whole \.npy array in .*x\.npy, found: {found}.*; try: bgdata v"
    ):
        map_array(tmp_path / "x.npy")


def test_pickles_are_not_loaded(tmp_path: Path) -> None:
    """A .npy file with pickled objects is refused, and nothing in it runs: unpickling would create a file."""
    (tmp_path / "x.npy").write_bytes(
        npy_bytes("|O", (1,), b"cpathlib\nPath\n(S'" + str(tmp_path / "evil").encode() + b"'\ntRp0\n.")
    )
    with pytest.raises(CorruptFileError):
        map_array(tmp_path / "x.npy")
    (tmp_path / "x.npy").write_bytes(b"cos\nsystem\n(S'touch " + str(tmp_path / "evil").encode() + b"'\ntR.")
    with pytest.raises(CorruptFileError):
        map_array(tmp_path / "x.npy")
    assert not (tmp_path / "evil").exists()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_maps_keep_no_file_open_and_end_with_the_last_view(saved_path: Path) -> None:
    """Mapped arrays keep no file open. A map ends when the last view of it is gone, and views cannot be made
    writable."""

    def maps() -> int:
        return Path("/proc/self/maps").read_text().count(str(saved_path))

    def files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = files()
    arrays = [map_array(saved_path) for _ in range(10)]
    assert files() == before
    assert maps() == 10
    view = arrays[0][3:]
    del arrays
    assert maps() == 1
    assert view.tolist() == VALUES[3:].tolist()
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        view.flags.writeable = True
    del view
    assert maps() == 0


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs /proc")
@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.parametrize("large", [1, 1000])
def test_only_large_files_are_read_page_by_page(
    saved_path: Path, monkeypatch: pytest.MonkeyPatch, large: int, *, scattered: bool
) -> None:
    monkeypatch.setattr("bgdata.store.arrays.LARGE", large)
    mapped = map_array(saved_path, scattered=scattered)
    assert mapped.tolist() == VALUES.tolist()
    of_file = Path("/proc/self/smaps").read_text().split(str(saved_path), 1)[1]
    flags = next(line for line in of_file.splitlines() if line.startswith("VmFlags"))
    assert ("rr" in flags.split()) is (scattered and saved_path.stat().st_size >= large)


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells what is resident")
def test_released_pages_are_read_again(tmp_path: Path) -> None:
    """After its pages were released, a mapped array takes no memory, and its values can still be read."""
    path = tmp_path / "values.npy"
    values = np.arange(1 << 20)
    save_array(path, values)
    found = map_array(path)

    def resident() -> int:
        """Kibibytes of the map that are memory of this process."""
        lines = Path("/proc/self/smaps").read_text().splitlines()
        first = next(n for n, line in enumerate(lines) if line.endswith(str(path)))
        return next(int(line.split()[1]) for line in lines[first:] if line.startswith("Rss:"))

    assert found.sum() == values.sum()
    assert resident() > 4096
    release_pages(found[5:9])  # also of a view: the whole map
    assert resident() == 0
    assert np.array_equal(found, values)
    release_pages(values)  # not a map: its values would be lost
    assert np.array_equal(found, values)


def test_digest_equals_a_digest_by_hand() -> None:
    """The digest is SHA-256 over the name, dtype and shape of each array as JSON, followed by its little-endian values,
    in order of name."""
    text = b'["a", "<i2", [2]]\n' + b"\x01\x00\x02\x00" + b'["b", "|u1", [1, 2]]\n' + b"\x03\x04"
    found = values_digest({"b": np.array([[3, 4]], np.uint8), "a": np.array([1, 2], np.int16)})
    assert found == hashlib.sha256(text).hexdigest()
    for shape, stated in (((0,), "[0]"), ((2, 0), "[2, 0]")):
        expected = hashlib.sha256(f'["x", "|i1", {stated}]\n'.encode()).hexdigest()
        assert values_digest({"x": np.empty(shape, np.int8)}) == expected


@given(arrays_of.arrays(st.sampled_from([np.float32, np.int64, np.uint8]), arrays_of.array_shapes(max_dims=3)))
def test_digest_depends_on_values_only(values: np.ndarray) -> None:
    swapped = np.asfortranarray(values.astype(values.dtype.newbyteorder(">")))
    assert values_digest({"x": swapped}) == values_digest({"x": values})
    changed = values.copy()
    changed.view(np.uint8).flat[0] ^= 1
    renamed = {"y": values}
    reshaped = {"x": values[None]}
    for other in ({"x": changed}, renamed, reshaped, {"x": values.view(f"V{values.itemsize}")}):
        assert values_digest(other) != values_digest({"x": values})


def test_digest_does_not_depend_on_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = values_digest({"x": VALUES})
    for size in (1, 17, 33):
        monkeypatch.setattr("bgdata.store.arrays._HASHED_AT_ONCE_BYTES", size)
        assert values_digest({"x": VALUES}) == whole


def test_growing_file_has_the_bytes_of_a_whole_one(tmp_path: Path) -> None:
    """Appending rows gives the same bytes as writing the whole array, also without rows, and with so many that the
    header gets longer."""
    for shape in ((0,), (7,), (12_345, 3), (0, 26)):
        values = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
        with GrowingWriter(tmp_path / "growing.npy", values.dtype, shape[1:]) as writer:
            for start in range(0, len(values), 1000):
                writer.append(values[start : start + 1000])
                writer.append(values[:0])
        save_array(tmp_path / "whole.npy", values)
        assert (tmp_path / "growing.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()
        np.testing.assert_array_equal(map_array(tmp_path / "growing.npy"), values)
