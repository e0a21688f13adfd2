"""Hand-made gnubg bearoff files: reading, writing, and errors for invalid files."""

import contextlib
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from bgdata.errors import (
    CorruptFileError,
    InvalidParameterError,
    NotCoveredError,
    StorageError,
    TooLargeError,
    UsageError,
)
from bgdata.formats import gnubg_bearoff, lines
from tests.formats.gnubg_files import (
    FILES,
    TWO_SIDED_ROWS,
    VARIANTS,
    ace_point_counts,
    ace_point_gammon,
    header,
    one_sided_bytes,
    open_as,
    open_one_sided,
    two_sided_bytes,
    write_bytes,
)
from tests.subtests import each

HEADERS = {
    "gnubg-OS-04-15-1-1-0": gnubg_bearoff.BearoffHeader("one_sided", 4, 15, has_gammon=True, is_compressed=True),
    "gnubg-OS-04-15-1-0-1": gnubg_bearoff.BearoffHeader("one_sided", 4, 15, has_gammon=True, is_normal=True),
    "gnubg-OS-04-15-0-0-0": gnubg_bearoff.BearoffHeader("one_sided", 4, 15),
    "gnubg-OS-23-15-0-1-0": gnubg_bearoff.BearoffHeader("one_sided", 23, 15, is_compressed=True),
    "gnubg-TS-03-03-1": gnubg_bearoff.BearoffHeader("two_sided", 3, 3, is_cubeful=True),
    "gnubg-TS-06-11-0": gnubg_bearoff.BearoffHeader("two_sided", 6, 11),
    "gnubg-H1": gnubg_bearoff.BearoffHeader("hypergammon", 25, 1),
    "gnubg-H3": gnubg_bearoff.BearoffHeader("hypergammon", 25, 3),
}


@each(("name", "expected"), HEADERS.items())
def test_header_round_trip(name: str, expected: gnubg_bearoff.BearoffHeader) -> None:
    assert gnubg_bearoff.parse_header(header(name)) == expected
    assert gnubg_bearoff.format_header(expected) == header(name)
    assert expected.name == name


UNKNOWN_NAMES = (
    *("gnubg-OS-24-15-1-1-0", "gnubg-OS-00-15-1-1-0", "gnubg-OS-04-16-1-1-0", "gnubg-OS-04-15-1-1-1"),
    *("gnubg-OS-04-15-1-1", "gnubg-OS-04-15-2-1-0", "gnubg-OS-4-15-1-1-0"),
    *("gnubg-TS-06-06-2", "gnubg-TS-06-00-1", "gnubg-TS-0606-1", "gnubg-TS-\xb2\xb3-03-1"),
    *("gnubg-H4", "gnubg-H0", "gnubg-H", "gnubg-XX-06-06-1", "gnubg", "", "wildbg-H1"),
)


@each("name", UNKNOWN_NAMES)
def test_unknown_headers_are_refused(name: str) -> None:
    data = name.encode("latin-1").ljust(39, b"x") + b"\n"
    with pytest.raises(CorruptFileError, match=r"expected a header gnubg-OS-.* in y\.bd, found b'"):
        gnubg_bearoff.parse_header(data, "y.bd")


def test_every_flipped_bit_of_a_header_is_noticed_or_changes_its_meaning() -> None:
    original = header("gnubg-OS-04-15-1-1-0")
    for bit in range(8 * len(original)):
        flipped = bytearray(original)
        flipped[bit // 8] ^= 1 << bit % 8
        with contextlib.suppress(CorruptFileError):
            assert gnubg_bearoff.parse_header(bytes(flipped)) != gnubg_bearoff.parse_header(original)


def test_impossible_headers_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="1 to 23 points"):
        gnubg_bearoff.BearoffHeader("one_sided", 24, 15)
    with pytest.raises(InvalidParameterError, match="25 to 25 points and 1 to 3 checkers"):
        gnubg_bearoff.BearoffHeader("hypergammon", 25, 4)
    with pytest.raises(InvalidParameterError, match="uncompressed"):
        gnubg_bearoff.BearoffHeader("one_sided", 4, 15, has_gammon=True, is_compressed=True, is_normal=True)


# one-sided


@VARIANTS
@pytest.mark.parametrize("has_small_blocks", [False, True])
def test_one_sided_files_are_read_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_gammon: bool, is_compressed: bool, has_small_blocks: bool
) -> None:
    if has_small_blocks:
        monkeypatch.setattr(gnubg_bearoff, "_BLOCK", 5)
        monkeypatch.setattr(gnubg_bearoff, "_BLOCK_VALUES", 3 * 32)
    table = open_one_sided(tmp_path, has_gammon, is_compressed)
    assert (len(table), table.points, table.checkers) == (16, 1, 15)
    counts, gammon_counts = table.read_all()
    assert counts.dtype == np.uint16
    assert counts.tolist() == ace_point_counts()
    assert [table.probe_counts(index).tolist() for index in range(16)] == ace_point_counts()
    if has_gammon:
        assert gammon_counts is not None
        assert gammon_counts.tolist() == ace_point_gammon()
        assert [table.probe_counts(index, is_gammon=True).tolist() for index in range(16)] == ace_point_gammon()
        assert table.probe_chances(15, is_gammon=True).tolist() == [0, 1] + [0] * 30
    else:
        assert gammon_counts is None
    gnubg_bearoff.write_one_sided(tmp_path / "again.bd", 1, counts, gammon_counts, compressed=is_compressed)
    assert (tmp_path / "again.bd").read_bytes() == one_sided_bytes(has_gammon, is_compressed)


@pytest.mark.parametrize("is_compressed", [False, True])
def test_missing_gammon_part_is_refused(tmp_path: Path, is_compressed: bool) -> None:
    table = open_one_sided(tmp_path, has_gammon=False, is_compressed=is_compressed)
    with pytest.raises(NotCoveredError, match=r"expected a gammon part in .*x\.bd, found none"):
        table.probe_chances(15, is_gammon=True)


def test_one_sided_chances_give_the_mean(tmp_path: Path) -> None:
    table = open_one_sided(tmp_path)
    assert table.probe_chances(3)[:4] == pytest.approx([0, 1 / 6, 5 / 6, 0], abs=1 / 65535)
    assert table.mean_rolls(3) == pytest.approx(11 / 6, abs=1e-5)
    assert table.mean_rolls(0) == 0
    assert table.probe_chances(15).sum() == pytest.approx(1)
    assert "gnubg-OS-01-15-1-1-0" in repr(table)


def test_compressed_distribution_may_have_a_hole_and_fill_all_rolls(tmp_path: Path) -> None:
    counts = np.array(ace_point_counts(), np.uint16)
    counts[15] = 0
    counts[15, [0, 31]] = 1, 65534
    gnubg_bearoff.write_one_sided(tmp_path / "x.bd", 1, counts, None, compressed=True)
    table = open_as(gnubg_bearoff.GnubgOneSided, tmp_path / "x.bd")
    assert table.probe_counts(15).tolist() == counts[15].tolist()


@pytest.fixture
def moments() -> np.ndarray:
    """float32[16, 4]: mean, standard deviation and those of the gammon part; 15 checkers need 2 rolls on average."""
    moments = np.zeros((16, 4), np.float32)
    moments[15] = 2, 0.25, 1, 0
    return moments


@pytest.fixture
def normal_table(tmp_path: Path, moments: np.ndarray) -> gnubg_bearoff.GnubgOneSided:
    path = write_bytes(tmp_path, header("gnubg-OS-01-15-1-0-1") + moments.tobytes())
    return open_as(gnubg_bearoff.GnubgOneSided, path)


def test_normal_variant_gives_the_density_at_integers(
    tmp_path: Path, moments: np.ndarray, normal_table: gnubg_bearoff.GnubgOneSided
) -> None:
    assert normal_table.moments.tolist() == moments.tolist()
    assert normal_table.mean_rolls(15) == 2
    chances = normal_table.probe_chances(15)
    assert chances[2] == pytest.approx(4 / np.sqrt(2 * np.pi))  # above 1: the density is not normalized
    assert chances[1] == pytest.approx(4 / np.sqrt(2 * np.pi) * np.exp(-8))
    assert normal_table.probe_chances(15, is_gammon=True).tolist() == [0, 1] + [0] * 30
    assert normal_table.probe_chances(0).tolist() == [1] + [0] * 31
    gnubg_bearoff.write_one_sided_normal(tmp_path / "again.bd", 1, moments)
    assert (tmp_path / "again.bd").read_bytes()[40:] == moments.tobytes()


def test_only_normal_variant_has_moments(tmp_path: Path, normal_table: gnubg_bearoff.GnubgOneSided) -> None:
    for probe in (
        normal_table.read_all,
        lambda: normal_table.probe_counts(15),
        lambda: normal_table.probe_counts(15, is_gammon=True),
    ):
        with pytest.raises(NotCoveredError, match=r"found the normal variant; use moments"):
            probe()
    with pytest.raises(NotCoveredError, match="expected the normal variant"):
        _ = open_one_sided(tmp_path).moments


@each("index", [-1, 16, 10**9])
def test_one_sided_indexes_are_checked(tmp_path: Path, index: int) -> None:
    table = open_one_sided(tmp_path)
    for probe in (table.probe_counts, table.probe_chances, table.mean_rolls):
        with pytest.raises(NotCoveredError, match=rf"expected a position index from 0 to 15 in .*x\.bd, got {index}"):
            probe(index)


def test_numpy_indexes_do_not_overflow(tmp_path: Path) -> None:
    counts = np.zeros((816, gnubg_bearoff.ROLLS), np.uint16)  # 3 points
    counts[:, 1] = gnubg_bearoff.CHANCE_SCALE
    gnubg_bearoff.write_one_sided(tmp_path / "x.bd", 3, counts, None, compressed=True)
    table = open_as(gnubg_bearoff.GnubgOneSided, tmp_path / "x.bd")
    assert table.probe_counts(np.uint8(255)).tolist() == table.probe_counts(255).tolist()  # type: ignore[arg-type]


@VARIANTS
def test_wrong_sum_names_file_and_position(tmp_path: Path, has_gammon: bool, is_compressed: bool) -> None:
    data = bytearray(one_sided_bytes(has_gammon, is_compressed))
    data[-2 if is_compressed or not has_gammon else -62] ^= 1  # the last value; in a gammon part the chance of one roll
    table = open_as(gnubg_bearoff.GnubgOneSided, write_bytes(tmp_path, bytes(data)))
    table.probe_counts(14, is_gammon=has_gammon)
    for probe in (lambda: table.probe_counts(15, is_gammon=has_gammon), table.read_all):
        message = r"^[^\n]*sum to 65535 for position 15 in .*x\.bd, found 6553[4-6][^\n]*\Z"
        with pytest.raises(CorruptFileError, match=message):
            probe()


@each(("place", "value"), [(3, 0x7F), (0, 0xFF), (4, 200), (5, 31), (6, 0), (7, 255)])
def test_damaged_index_table_is_noticed(tmp_path: Path, place: int, value: int) -> None:
    data = bytearray(one_sided_bytes(True, True))
    data[40 + 8 * 7 + place] = value
    table = open_as(gnubg_bearoff.GnubgOneSided, write_bytes(tmp_path, bytes(data)))
    with pytest.raises(CorruptFileError, match="position 7"):
        table.probe_counts(7, is_gammon=place >= 6)
    with pytest.raises(CorruptFileError, match="position 7"):
        table.read_all()


# two-sided and hypergammon


@pytest.mark.parametrize("columns", [4, 1])
def test_two_sided_files_are_read_and_written(tmp_path: Path, columns: int) -> None:
    table = open_as(gnubg_bearoff.GnubgTwoSided, write_bytes(tmp_path, two_sided_bytes(columns)))
    assert (len(table), table.points, table.checkers) == (4, 1, 3)
    assert table.codes.shape == (4, 4, columns)
    assert table.codes[:, :, 0].tolist() == TWO_SIDED_ROWS
    # three checkers on each ace point: lost if the first roll is no double and the second one is
    assert table.probe(3, 3).cubeless == pytest.approx(2 * 31 / 36 - 1, abs=1 / 32767)
    assert table.probe(3, 1).cubeless == pytest.approx(2 / 6 - 1, abs=1 / 32767)
    assert table.probe(1, 3).cubeless == 1
    assert (table.probe(0, 0).owned is None) == (columns == 1)
    equities = table.probe_many(np.array([3, 1, 3]), np.array([1, 3, 0]))
    assert equities.dtype == np.float64
    pairs = [(3, 1), (1, 3), (3, 0)]
    assert equities.tolist() == [[table.probe(*pair).cubeless] * columns for pair in pairs]
    gnubg_bearoff.write_two_sided(tmp_path / "again.bd", 1, 3, table.codes)
    assert (tmp_path / "again.bd").read_bytes() == two_sided_bytes(columns)


@each("pair", [(-1, 0), (0, 4), (4, 0), (0, -1)])
def test_two_sided_indexes_are_checked(tmp_path: Path, pair: tuple[int, int]) -> None:
    table = open_as(gnubg_bearoff.GnubgTwoSided, write_bytes(tmp_path, two_sided_bytes(4)))
    with pytest.raises(NotCoveredError, match="from 0 to 3"):
        table.probe(*pair)
    with pytest.raises(NotCoveredError, match="from 0 to 3"):
        table.probe_many([0, pair[0]], [0, pair[1]])


def test_two_sided_columns_are_named_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.random.default_rng(1).integers(0, 65536, (6, 6, 4)).astype(np.uint16)
    monkeypatch.setattr(gnubg_bearoff, "_BLOCK_VALUES", 2 * 24)  # two rows of codes
    gnubg_bearoff.write_two_sided(tmp_path / "x.bd", 2, 2, codes)
    table = open_as(gnubg_bearoff.GnubgTwoSided, tmp_path / "x.bd")
    assert (table.codes == codes).all()
    equities = table.probe(4, 5)
    in_order = [equities.cubeless, equities.owned, equities.centered, equities.opponent_owned]
    assert in_order == (codes[4, 5] / 32767.5 - 1).tolist()
    assert table.probe_many(np.array([], int), np.array([], int)).shape == (0, 4)


def test_hypergammon_decodes_24_bits(tmp_path: Path) -> None:
    """Records of 24-bit numbers, lowest byte first, become chances and equities."""
    numbers = [0xFFFFFF, 0x800000, 0x000001, 0x010000, 0x000100, 0xFFFFFF, 0, 0xAAAAAA, 0x555555]
    record = b"".join(number.to_bytes(3, "little") for number in numbers) + b"\0"
    records = bytearray(26 * 26 * len(record))
    begin = (24 * 26 + 7) * len(record)  # of the player's index 24, the opponent's 7
    records[begin : begin + len(record)] = record
    table = open_as(gnubg_bearoff.GnubgHypergammon, write_bytes(tmp_path, header("gnubg-H1") + records))
    values = table.probe(24, 7)
    unit = 1 / 0xFFFFFF
    assert values[:5] == pytest.approx([1, 0x800000 * unit, unit, 65536 * unit, 256 * unit], rel=1e-12)
    assert values[5:] == pytest.approx([3, -3, 1, -1], rel=1e-12)
    assert table.probe(7, 24).owned == -3
    assert table.probe(np.uint8(24), np.uint8(7)) == values  # type: ignore[arg-type]
    for pair in [(26, 0), (0, 26), (-1, 0)]:
        with pytest.raises(NotCoveredError, match="from 0 to 25"):
            table.probe(*pair)


# files


@pytest.mark.parametrize("name", FILES)
def test_wrong_sizes_are_refused(tmp_path: Path, name: str) -> None:
    data = FILES[name]
    for size in (0, 1, 39, 40, 41, 60, len(data) // 2, len(data) - 2, len(data) - 1):
        with pytest.raises(CorruptFileError, match=rf"expected .* in .*x\.bd, found {size}\b"):
            gnubg_bearoff.open_gnubg_bearoff(write_bytes(tmp_path, data[:size]))
    message = rf"expected {len(data)} bytes for gnubg-.*, found {len(data) + 1}: someth"
    with pytest.raises(CorruptFileError, match=message):
        gnubg_bearoff.open_gnubg_bearoff(write_bytes(tmp_path, data + b"\0"))


def test_error_for_a_truncated_file_has_advice(tmp_path: Path) -> None:
    path = write_bytes(tmp_path, header("gnubg-TS-06-06-1") + bytes(960))
    with pytest.raises(CorruptFileError) as caught:
        gnubg_bearoff.open_gnubg_bearoff(path)
    assert str(caught.value) == (
        f"expected 6830248 bytes for gnubg-TS-06-06-1 in {path}, found 1000: the file is truncated; write it again"
    )


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.bd", tmp_path):
        with pytest.raises(StorageError, match=f"^expected a gnubg bearoff file at {path}, found: [^\n]*$"):
            gnubg_bearoff.open_gnubg_bearoff(path)


def test_reading_needs_only_numpy() -> None:
    imported = "{'numba', 'duckdb', 'pyarrow', 'prefect'} & set(sys.modules)"
    script = f"import sys, bgdata.formats.gnubg_bearoff; print({imported})"
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert output == "set()\n"


def test_writer_refuses_wrong_arrays_and_leaves_no_file(tmp_path: Path) -> None:
    counts = np.array(ace_point_counts(), np.uint16)
    path = tmp_path / "x.bd"
    with pytest.raises(UsageError, match=r"expected uint16\[136, 32\], got uint16\[16, 32\]"):
        gnubg_bearoff.write_one_sided(path, 2, counts, None, compressed=True)
    with pytest.raises(UsageError, match=r"got int64\[16, 32\]"):
        gnubg_bearoff.write_one_sided(path, 1, counts.astype(np.int64), None, compressed=True)
    with pytest.raises(UsageError, match=r"got uint16\[15, 32\]"):
        gnubg_bearoff.write_one_sided(path, 1, counts, counts[1:], compressed=False)
    with pytest.raises(UsageError, match=r"expected float32\[16, 4\]"):
        gnubg_bearoff.write_one_sided_normal(path, 1, np.zeros((16, 2), np.float32))
    with pytest.raises(UsageError, match=r"expected uint16\[6, 6, 1\], got uint16\[6, 6, 3\]"):
        gnubg_bearoff.write_two_sided(path, 2, 2, np.zeros((6, 6, 3), np.uint16))
    with pytest.raises(UsageError, match="1 to 23 points"):
        gnubg_bearoff.write_two_sided(path, 30, 2, np.zeros((6, 6, 4), np.uint16))
    counts[9, 3] += 1
    with pytest.raises(UsageError, match="sum to 65535, got 65536 for position 9"):
        gnubg_bearoff.write_one_sided(path, 1, counts, None, compressed=True)
    assert list(tmp_path.iterdir()) == []


def write_table(path: Path) -> None:
    """Write a two-sided table of 6 points and 2 checkers."""
    gnubg_bearoff.write_two_sided(path, 6, 2, np.zeros((28, 28, 4), np.uint16))


def test_writing_replaces_only_its_own_file(tmp_path: Path) -> None:
    path = write_bytes(tmp_path, b"old")
    download = tmp_path / "x.bd.partial"
    download.write_bytes(b"somebody's download")
    write_table(path)
    assert len(path.read_bytes()) == 40 + 28 * 28 * 8
    assert sorted(tmp_path.iterdir()) == [path, download]
    assert download.read_bytes() == b"somebody's download"


def test_writing_to_an_invalid_path_is_refused(tmp_path: Path) -> None:
    old = write_bytes(tmp_path, b"old")
    folder = tmp_path / "folder.bd"
    folder.mkdir()
    for path in (tmp_path / "none" / "x.bd", old / "x.bd", folder):
        with pytest.raises(StorageError, match=f"^expected to write gnubg-TS-06-02-1 to {path}, found: [^\n]*$"):
            write_table(path)
    assert sorted(tmp_path.iterdir()) == [folder, old]
    assert old.read_bytes() == b"old"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_writing_into_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StorageError, match="permission denied"):
            write_table(tmp_path / "x.bd")
        assert list(tmp_path.iterdir()) == []
    finally:
        tmp_path.chmod(0o700)


def test_full_disk_leaves_only_the_old_file(tmp_path: Path) -> None:
    path = write_bytes(tmp_path, b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # the same path as a full disk: write() fails half-way
    try:
        with pytest.raises(StorageError, match=r"expected to write .* found: file too large"):
            write_table(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"old"


def test_too_many_values_for_a_compressed_file_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gnubg_bearoff, "_MAX_COMPRESSED_VALUES", 40)
    counts = np.array(ace_point_counts(), np.uint16)
    with pytest.raises(TooLargeError, match="in a compressed file, got"):
        gnubg_bearoff.write_one_sided(tmp_path / "x.bd", 1, counts, None, compressed=True)
    assert list(tmp_path.iterdir()) == []


HEADER = gnubg_bearoff.BearoffHeader("two_sided", 2, 2)


@each("write", {"bd": lambda path, chunks: gnubg_bearoff.write_file(path, HEADER, chunks), "text": lines.write_bytes})
def test_content_errors_are_not_reported_as_file_errors(
    tmp_path: Path, write: Callable[[Path, Iterator[bytes]], None]
) -> None:
    """A damaged table that is being written keeps its own message, although its error is an OSError like that of a full
    disk."""

    def chunks() -> Iterator[bytes]:
        yield b"one"
        raise CorruptFileError("expected a whole array")

    with pytest.raises(CorruptFileError, match=r"^expected a whole array$"):
        write(tmp_path / "x", chunks())
    assert list(tmp_path.iterdir()) == []
