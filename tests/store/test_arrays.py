"""Flat arrays: written, mapped and hashed; damaged ones are refused."""

import hashlib
import io
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from bgdata.errors import CorruptFileError, MissingTableError, StorageError
from bgdata.store.arrays import ArrayWriter, GrowingWriter, map_array, release_pages, save_array, values_digest
from tests.store.processes import bare_thread

VALUES = np.arange(24, dtype=np.float32).reshape(6, 4)


@pytest.fixture
def saved_path(tmp_path: Path) -> Path:
    save_array(tmp_path / "x.npy", VALUES)
    return tmp_path / "x.npy"


def test_saved_arrays_are_mapped_read_only(saved_path: Path) -> None:
    mapped = map_array(saved_path)
    assert type(mapped) is np.ndarray
    assert mapped.dtype == VALUES.dtype
    np.testing.assert_array_equal(mapped, VALUES)
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
    header_bytes = 128
    undamaged = saved_path.read_bytes()
    refused = 0
    for bit in range(header_bytes * 8):
        damaged = bytearray(undamaged)
        damaged[bit // 8] ^= 1 << bit % 8
        saved_path.write_bytes(damaged)
        try:
            values = map_array(saved_path)
        except CorruptFileError as error:
            assert "\n" not in str(error)  # noqa: PT017
            refused += 1
        else:
            is_same = values.tobytes() == VALUES.tobytes() and values.shape == VALUES.shape
            assert is_same or values_digest({"x": values}) != values_digest({"x": VALUES})
    assert refused > 600  # most: a change of white space, for example, is none


@pytest.mark.parametrize("dtype", ["float32", "uint16", "int8", "bool", "int64", "S5"])
@pytest.mark.parametrize("shape", [(0,), (5,), (3, 2), (2, 3, 4)])
def test_files_of_numpy_are_read(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    np.save(tmp_path / "x.npy", values)
    mapped = map_array(tmp_path / "x.npy")
    assert mapped.dtype == values.dtype
    assert mapped.shape == values.shape
    assert mapped.tobytes() == values.tobytes()


def make_socket(path: Path) -> None:
    socket.socket(socket.AF_UNIX).bind(str(path))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (Path.mkdir, "folder"),
        (lambda path: path.symlink_to("x.npy"), "link"),
        (os.mkfifo, "pipe"),
        (make_socket, "socket"),
    ],
    ids=["folder", "link", "pipe", "socket"],
)
def test_special_file_is_refused_without_waiting(tmp_path: Path, make: Callable[[Path], None], name: str) -> None:
    save_array(tmp_path / "x.npy", VALUES)
    make(tmp_path / "other.npy")
    with pytest.raises(CorruptFileError, match=rf"expected a regular file in .*other\.npy, found a {name}"):
        map_array(tmp_path / "other.npy")


def test_device_is_refused() -> None:
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


def check_refused(path: Path, content: bytes, reason: str = "") -> None:
    """A file with this content is refused for this reason, a pattern."""
    path.write_bytes(content)
    message = rf"expected a whole \.npy array in .*x\.npy, found: {reason}.*; try: bgdata v"
    with pytest.raises(CorruptFileError, match=message):
        map_array(path)


@pytest.mark.parametrize("size", [0, 5, 10, 60, 128, 200, 223])  # of 224 bytes, of which 128 are the header
def test_truncated_array_is_refused(tmp_path: Path, size: int) -> None:
    check_refused(tmp_path / "x.npy", npy_bytes("<f4", VALUES.shape, VALUES.tobytes())[:size])


@pytest.mark.parametrize(
    "content", [b"PK\x03\x04" + bytes(200), b"junk" * 50, bytes(224)], ids=["zip", "junk", "zeros"]
)
def test_file_of_another_format_is_refused(tmp_path: Path, content: bytes) -> None:
    check_refused(tmp_path / "x.npy", content)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 4), 'x': 1, }",
        "{'descr': '<f4', 'fortran_order': 1 == 2, 'shape': (6, 4), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 2 + 2), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 24, }",
        "(" * 100,
    ],
)
def test_invalid_header_is_refused_and_not_evaluated(tmp_path: Path, header: str) -> None:
    check_refused(tmp_path / "x.npy", npy_with_header(header), "the header ")


@pytest.mark.parametrize("dtype", [">f4", "<c8", "<M8[D]", "<U1", "|V4", "|S0"])
def test_unknown_type_is_refused(tmp_path: Path, dtype: str) -> None:
    shape, content = ((10**18,), b"") if dtype == "|S0" else ((12,), bytes(96))
    check_refused(tmp_path / "x.npy", npy_bytes(dtype, shape, content), f"values of type {re.escape(dtype)}")


@pytest.mark.parametrize(
    ("shape", "content", "reason"),
    [
        ((10**18,), bytes(96), "the shape"),
        ((10**18, 0), b"", "the shape"),
        ((0, 10**18), b"", "the shape"),
        ((-6, -4), bytes(96), "the shape"),
        ((2**32, 2**32), b"", "the shape"),
        ((), bytes(4), "the shape"),
        ((6, 3), bytes(96), "224 bytes for float32"),
        ((6, 5), bytes(96), "224 bytes for float32"),
        ((1,) * 70, bytes(4), ".*dim"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_shape_that_does_not_fit_is_refused(
    tmp_path: Path, shape: tuple[int, ...], content: bytes, reason: str
) -> None:
    check_refused(tmp_path / "x.npy", npy_bytes("<f4", shape, content), reason)


def test_array_by_columns_is_refused(tmp_path: Path) -> None:
    content = npy_bytes("<f4", (6, 4), bytes(96), fortran_order=True)
    check_refused(tmp_path / "x.npy", content, ".* by columns")


def test_pickles_are_not_loaded(tmp_path: Path) -> None:
    """A .npy file with pickled objects is refused, and nothing in it runs: unpickling would create a file."""
    pickled = f"cos\nsystem\n(S'touch {tmp_path / 'evil'}'\ntR.".encode()
    check_refused(tmp_path / "x.npy", npy_bytes("|O", (1,), pickled), "objects")
    check_refused(tmp_path / "x.npy", pickled)
    assert not (tmp_path / "evil").exists()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_maps_keep_no_file_open_and_end_with_the_last_view(saved_path: Path) -> None:
    def map_count() -> int:
        return Path("/proc/self/maps").read_text().count(str(saved_path))

    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = open_files()
    arrays = [map_array(saved_path) for _ in range(10)]
    assert open_files() == before
    assert map_count() == 10
    view = arrays[0][3:]
    del arrays
    assert map_count() == 1
    np.testing.assert_array_equal(view, VALUES[3:])
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        view.flags.writeable = True
    del view
    assert map_count() == 0


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("is_large", "scattered", "is_by_page"),
    [(True, True, True), (True, False, False), (False, True, False), (False, False, False)],
)
def test_only_large_files_are_read_page_by_page(
    saved_path: Path, monkeypatch: pytest.MonkeyPatch, is_large: bool, scattered: bool, is_by_page: bool
) -> None:
    monkeypatch.setattr("bgdata.store.arrays.LARGE", 1 if is_large else 1000)
    mapped = map_array(saved_path, scattered=scattered)
    np.testing.assert_array_equal(mapped, VALUES)
    _, facts = Path("/proc/self/smaps").read_text().split(str(saved_path), 1)
    flags = next(line for line in facts.splitlines() if line.startswith("VmFlags"))
    assert ("rr" in flags.split()) == is_by_page  # rr: random reads


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells what is resident")
def test_released_pages_are_read_again(tmp_path: Path) -> None:
    """After its pages were released, a mapped array takes no memory, and its values can still be read."""
    path = tmp_path / "values.npy"
    values = np.arange(1 << 20)
    save_array(path, values)
    mapped = map_array(path)

    def resident_kib() -> int:
        """Kibibytes of the map that are memory of this process."""
        _, facts = Path("/proc/self/smaps").read_text().split(str(path), 1)
        return int(re.search(r"Rss: +(\d+)", facts)[1])  # type: ignore[index]

    assert mapped.sum() == values.sum()
    assert resident_kib() > 4096
    release_pages(mapped[5:9])  # of a view: the whole map
    assert resident_kib() == 0
    np.testing.assert_array_equal(mapped, values)
    release_pages(values)  # not a map: its values would be lost
    np.testing.assert_array_equal(mapped, values)


def test_digest_equals_a_digest_by_hand() -> None:
    """The digest is SHA-256 over the name, dtype and shape of each array as JSON, followed by its little-endian values,
    in order of name."""
    text = b'["a", "<i2", [2]]\n' + b"\x01\x00\x02\x00" + b'["b", "|u1", [1, 2]]\n' + b"\x03\x04"
    digest = values_digest({"b": np.array([[3, 4]], np.uint8), "a": np.array([1, 2], np.int16)})
    assert digest == hashlib.sha256(text).hexdigest()
    for shape, sizes in (((0,), "[0]"), ((2, 0), "[2, 0]")):
        text_of_empty = f'["x", "|i1", {sizes}]\n'.encode()
        assert values_digest({"x": np.empty(shape, np.int8)}) == hashlib.sha256(text_of_empty).hexdigest()


@given(arrays_of.arrays(st.sampled_from([np.float32, np.int64, np.uint8]), arrays_of.array_shapes(max_dims=3)))
def test_digest_depends_on_values_only(values: np.ndarray) -> None:
    digest = values_digest({"x": values})
    in_another_order = np.asfortranarray(values.astype(values.dtype.newbyteorder(">")))
    assert values_digest({"x": in_another_order}) == digest
    changed = values.copy()
    changed.view(np.uint8).flat[0] ^= 1
    assert values_digest({"x": changed}) != digest
    assert values_digest({"y": values}) != digest
    assert values_digest({"x": values[None]}) != digest
    assert values_digest({"x": values.view(f"V{values.itemsize}")}) != digest


@pytest.mark.parametrize("block_bytes", [1, 17, 33])
def test_digest_does_not_depend_on_block_size(monkeypatch: pytest.MonkeyPatch, block_bytes: int) -> None:
    expected = values_digest({"x": VALUES})
    monkeypatch.setattr("bgdata.store.arrays._HASHED_AT_ONCE_BYTES", block_bytes)
    assert values_digest({"x": VALUES}) == expected


@pytest.mark.parametrize("shape", [(0,), (7,), (0, 26), (12_345, 3)])  # the last one makes the header longer
def test_appended_rows_give_the_same_file(tmp_path: Path, shape: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    with GrowingWriter(tmp_path / "growing.npy", values.dtype, shape[1:]) as writer:
        for start in range(0, len(values), 1000):
            writer.append(values[start : start + 1000])
            writer.append(values[:0])
    save_array(tmp_path / "saved.npy", values)
    assert (tmp_path / "growing.npy").read_bytes() == (tmp_path / "saved.npy").read_bytes()
    np.testing.assert_array_equal(map_array(tmp_path / "growing.npy"), values)
