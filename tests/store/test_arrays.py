"""Flat arrays: written, mapped, hashed, and damaged ones refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from bgdata.errors import CorruptFileError, MissingTableError, StorageError
from bgdata.store.arrays import ArrayWriter, map_array, save_array, values_digest
from tests.store.processes import bare_thread

VALUES = np.arange(24, dtype=np.float32).reshape(6, 4)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_array(tmp_path / "x.npy", VALUES)
    return tmp_path / "x.npy"


def test_saved_arrays_are_mapped_read_only(saved: Path) -> None:
    mapped = map_array(saved)
    assert type(mapped) is np.ndarray
    assert (mapped.dtype, mapped.tolist()) == (VALUES.dtype, VALUES.tolist())
    with pytest.raises(ValueError, match="read-only"):
        mapped[0, 0] = 1


def test_writing_row_by_row_makes_the_same_file(saved: Path, tmp_path: Path) -> None:
    with ArrayWriter(tmp_path / "rows.npy", np.float32, (6, 4)) as writer:
        writer.write(3, VALUES[3:])
        writer.write(0, VALUES[0].astype(np.float64))
        writer.write(1, VALUES[1:3])
    assert (tmp_path / "rows.npy").read_bytes() == saved.read_bytes()


def test_single_numbers_can_be_written(tmp_path: Path) -> None:
    with ArrayWriter(tmp_path / "x.npy", np.int64, (2,)) as writer:
        writer.write(1, np.int64(7))
        writer.write(0, np.int64(5))
    assert map_array(tmp_path / "x.npy").tolist() == [5, 7]


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MissingTableError, match=r"expected the array .*x\.npy, found no such file; try: bgdata verify"):
        map_array(tmp_path / "x.npy")


def test_unreadable_files(saved: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot read .*: Is a directory"):
        map_array(saved.parent)
    saved.chmod(0)
    with bare_thread() as thread, pytest.raises(StorageError, match=r"cannot read .*x\.npy: permission denied"):
        thread.submit(map_array, saved).result()


@pytest.mark.parametrize("size", [0, 5, 10, 60, 128, 200, 223])
def test_truncated_file(saved: Path, size: int) -> None:
    saved.write_bytes(saved.read_bytes()[:size])
    with pytest.raises(CorruptFileError, match=r"expected a whole \.npy array in .*x\.npy, found: .*; try: bgdata ver"):
        map_array(saved)


@pytest.mark.parametrize("content", [b"PK\x03\x04" + bytes(200), b"junk" * 50, bytes(224)])
def test_other_files(saved: Path, content: bytes) -> None:
    saved.write_bytes(content)
    with pytest.raises(CorruptFileError, match=r"expected a whole \.npy array"):
        map_array(saved)


# numpy warns of other ways to write the same header
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_flipped_bit_of_the_header_is_refused_or_changes_shape_dtype_or_nothing(saved: Path) -> None:
    """The header carries no checksum: what still reads as a header is left to the digest and the file's hash."""
    whole = saved.read_bytes()
    refused = 0
    for bit in range(128 * 8):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        saved.write_bytes(changed)
        try:
            found = map_array(saved)
        except CorruptFileError as error:
            assert "\n" not in str(error)  # noqa: PT017
            refused += 1
        else:
            is_same = found.tobytes() == VALUES.tobytes() and found.shape == VALUES.shape
            assert is_same or values_digest({"x": found}) != values_digest({"x": VALUES})
    assert refused > 600


def test_objects_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(CorruptFileError, match="objects"):
        map_array(tmp_path / "x.npy")


def test_digest_is_stated_by_hand() -> None:
    """Names in order; name, dtype and shape as JSON; then little-endian values."""
    text = b'["a", "<i2", [2]]\n' + b"\x01\x00\x02\x00" + b'["b", "|u1", [1, 2]]\n' + b"\x03\x04"
    found = values_digest({"b": np.array([[3, 4]], np.uint8), "a": np.array([1, 2], np.int16)})
    assert found == hashlib.sha256(text).hexdigest()


@given(arrays_of.arrays(st.sampled_from([np.float32, np.int64, np.uint8]), arrays_of.array_shapes(max_dims=3)))
def test_digest_depends_on_values_only(values: np.ndarray) -> None:
    swapped = np.asfortranarray(values.astype(values.dtype.newbyteorder(">")))
    assert values_digest({"x": swapped}) == values_digest({"x": values})
    changed = values.copy()
    changed.view(np.uint8).flat[0] ^= 1
    renamed, reshaped = {"y": values}, {"x": values[None]}
    for other in ({"x": changed}, renamed, reshaped, {"x": values.view(f"V{values.itemsize}")}):
        assert values_digest(other) != values_digest({"x": values})


def test_digest_of_pieces_is_that_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = values_digest({"x": VALUES})
    for size in (1, 17, 33):
        monkeypatch.setattr("bgdata.store.arrays._HASHED_AT_ONCE_BYTES", size)
        assert values_digest({"x": VALUES}) == whole


def test_digest_of_nothing() -> None:
    assert values_digest({"x": np.empty(0, np.int8)}) == hashlib.sha256(b'["x", "|i1", [0]]\n').hexdigest()
    assert values_digest({"x": np.empty((2, 0), np.int8)}) == hashlib.sha256(b'["x", "|i1", [2, 0]]\n').hexdigest()
