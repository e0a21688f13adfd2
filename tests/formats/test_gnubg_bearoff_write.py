"""Writing gnubg's bearoff files: the same bytes again, and nothing left behind when it fails."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from bgdata.errors import CorruptFileError, StorageError, TooLargeError, UsageError
from bgdata.formats import gnubg_bearoff_write, lines
from bgdata.formats.gnubg_bearoff import GnubgOneSided, GnubgTwoSided, open_gnubg_bearoff
from bgdata.formats.gnubg_bearoff_header import BearoffHeader
from bgdata.formats.gnubg_bearoff_write import write_one_sided, write_one_sided_normal, write_two_sided
from tests.formats.gnubg_files import (
    TWO_SIDED_ROWS,
    VARIANTS,
    ace_point_counts,
    header,
    one_sided_bytes,
    open_one_sided,
    two_sided_bytes,
    write_bytes,
)
from tests.together import each


@VARIANTS
def test_one_sided_round_trip(tmp_path: Path, has_gammon: bool, is_compressed: bool) -> None:
    table = open_one_sided(tmp_path, has_gammon, is_compressed)
    write_one_sided(tmp_path / "again.bd", 1, *table.read_all(), compressed=is_compressed)
    assert (tmp_path / "again.bd").read_bytes() == one_sided_bytes(has_gammon, is_compressed)


@VARIANTS
def test_one_sided_blocks_join(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_gammon: bool, is_compressed: bool
) -> None:
    monkeypatch.setattr("bgdata.formats.gnubg_bearoff._BLOCK", 5)
    monkeypatch.setattr(gnubg_bearoff_write, "_BLOCK_VALUES", 3 * 32)
    test_one_sided_round_trip(tmp_path, has_gammon, is_compressed)


def test_compressed_distribution_may_have_a_hole_and_fill_all_rolls(tmp_path: Path) -> None:
    counts = np.array(ace_point_counts(), np.uint16)
    counts[15] = 0
    counts[15, [0, 31]] = 1, 65534
    write_one_sided(tmp_path / "x.bd", 1, counts, None, compressed=True)
    table = open_gnubg_bearoff(tmp_path / "x.bd")
    assert isinstance(table, GnubgOneSided)
    assert table.probe_counts(15).tolist() == counts[15].tolist()


def test_normal_variant_round_trip(tmp_path: Path) -> None:
    moments = np.zeros((16, 4), np.float32)
    moments[15] = 6.5, 0.5, 1, 0
    path = write_bytes(tmp_path, header("gnubg-OS-01-15-1-0-1") + moments.tobytes())
    table = open_gnubg_bearoff(path)
    assert isinstance(table, GnubgOneSided)
    assert table.moments.tolist() == moments.tolist()
    assert table.probe_normal(15) == (6.5, 0.5, 1, 0)
    assert table.mean_rolls(15) == 6.5
    write_one_sided_normal(tmp_path / "again.bd", 1, table.moments)
    assert (tmp_path / "again.bd").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("columns", [4, 1])
def test_two_sided_reads_and_round_trips(tmp_path: Path, columns: int) -> None:
    table = open_gnubg_bearoff(write_bytes(tmp_path, two_sided_bytes(columns)))
    assert isinstance(table, GnubgTwoSided)
    assert (len(table), table.points, table.checkers) == (4, 1, 3)
    assert table.codes.shape == (4, 4, columns)
    assert table.codes[:, :, 0].tolist() == TWO_SIDED_ROWS
    assert table.probe(3, 3).cubeless == pytest.approx(
        2 * 31 / 36 - 1, abs=1 / 32767
    )  # lost only by no double, then one
    assert table.probe(3, 1).cubeless == pytest.approx(2 / 6 - 1, abs=1 / 32767)
    assert table.probe(1, 3)[0] == 1
    assert (table.probe(0, 0).owned is None) == (columns == 1)
    many = table.probe_many(np.array([3, 1, 3]), np.array([1, 3, 0]))
    assert many.dtype == np.float64
    assert many.tolist() == [[table.probe(a, b)[0]] * columns for a, b in [(3, 1), (1, 3), (3, 0)]]
    write_two_sided(tmp_path / "again.bd", 1, 3, table.codes)
    assert (tmp_path / "again.bd").read_bytes() == two_sided_bytes(columns)


def test_two_sided_columns_are_named_in_order_and_blocks_join(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.random.default_rng(1).integers(0, 65536, (6, 6, 4)).astype(np.uint16)
    monkeypatch.setattr(gnubg_bearoff_write, "_BLOCK_VALUES", 2 * 24)
    write_two_sided(tmp_path / "x.bd", 2, 2, codes)
    table = open_gnubg_bearoff(tmp_path / "x.bd")
    assert isinstance(table, GnubgTwoSided)
    assert (table.codes == codes).all()
    found = table.probe(4, 5)
    named = [found.cubeless, found.owned, found.centered, found.opponent_owned]
    assert named == (codes[4, 5] / 32767.5 - 1).tolist()
    assert table.probe_many(np.array([], int), np.array([], int)).shape == (0, 4)


def test_writer_refuses_wrong_arrays(tmp_path: Path) -> None:
    counts = np.array(ace_point_counts(), np.uint16)
    path = tmp_path / "x.bd"
    with pytest.raises(UsageError, match=r"expected uint16\[136, 32\], got uint16\[16, 32\]"):
        write_one_sided(path, 2, counts, None, compressed=True)
    with pytest.raises(UsageError, match=r"got int64\[16, 32\]"):
        write_one_sided(path, 1, counts.astype(np.int64), None, compressed=True)
    with pytest.raises(UsageError, match=r"got uint16\[15, 32\]"):
        write_one_sided(path, 1, counts, counts[1:], compressed=False)
    with pytest.raises(UsageError, match=r"expected float32\[16, 4\]"):
        write_one_sided_normal(path, 1, np.zeros((16, 2), np.float32))
    with pytest.raises(UsageError, match=r"expected uint16\[6, 6, 1\], got uint16\[6, 6, 3\]"):
        write_two_sided(path, 2, 2, np.zeros((6, 6, 3), np.uint16))
    with pytest.raises(UsageError, match="1 to 23 points"):
        write_two_sided(path, 30, 2, np.zeros((6, 6, 4), np.uint16))
    counts[9, 3] += 1
    with pytest.raises(UsageError, match="sum to 65535, got 65536 for position 9"):
        write_one_sided(path, 1, counts, None, compressed=True)
    assert list(tmp_path.iterdir()) == []


def write_something(path: Path) -> None:
    write_two_sided(path, 6, 2, np.zeros((28, 28, 4), np.uint16))


def test_writing_replaces_an_old_file_and_no_other(tmp_path: Path) -> None:
    path = write_bytes(tmp_path, b"old")
    (tmp_path / "x.bd.partial").write_bytes(b"somebody's download")
    write_something(path)
    assert len(path.read_bytes()) == 40 + 28 * 28 * 8
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["x.bd", "x.bd.partial"]
    assert (tmp_path / "x.bd.partial").read_bytes() == b"somebody's download"


def test_writing_to_an_invalid_path_is_refused(tmp_path: Path) -> None:
    old = write_bytes(tmp_path, b"old")
    (tmp_path / "folder.bd").mkdir()
    for path in (tmp_path / "none" / "x.bd", old / "x.bd", tmp_path / "folder.bd"):
        with pytest.raises(StorageError, match=f"expected to write gnubg-TS-06-02-1 to {path}, found: ") as caught:
            write_something(path)
        assert "\n" not in str(caught.value)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["folder.bd", "x.bd"]
    assert old.read_bytes() == b"old"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_writing_into_a_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StorageError, match="permission denied"):
            write_something(tmp_path / "x.bd")
        assert list(tmp_path.iterdir()) == []
    finally:
        tmp_path.chmod(0o700)


def test_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = write_bytes(tmp_path, b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # the same path as a full disk: write() fails half-way
    try:
        with pytest.raises(StorageError, match=r"expected to write .* found: file too large"):
            write_something(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.bd"]
    assert path.read_bytes() == b"old"


def test_too_many_values_for_a_compressed_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gnubg_bearoff_write, "_MOST_COMPRESSED_VALUES", 40)
    with pytest.raises(TooLargeError, match="in a compressed file, got"):
        write_one_sided(tmp_path / "x.bd", 1, np.array(ace_point_counts(), np.uint16), None, compressed=True)
    assert list(tmp_path.iterdir()) == []


HEADER = BearoffHeader("two_sided", 2, 2)


@each(
    "write",
    {"bd": lambda path, chunks: gnubg_bearoff_write.write_file(path, HEADER, chunks), "text": lines.write_bytes},
)
def test_errors_of_the_content_are_not_errors_of_the_file(
    tmp_path: Path, write: Callable[[Path, Iterator[bytes]], None]
) -> None:
    """A damaged table is an OSError too, as a full disk is."""

    def chunks() -> Iterator[bytes]:
        yield b"one"
        raise CorruptFileError("expected a whole array")

    with pytest.raises(CorruptFileError, match=r"^expected a whole array$"):
        write(tmp_path / "x", chunks())
    assert list(tmp_path.iterdir()) == []
