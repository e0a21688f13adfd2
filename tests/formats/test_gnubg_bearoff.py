"""Reading gnubg's bearoff files made by hand, and what is said about bad ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bgdata.errors import CorruptFileError, NotCoveredError, StorageError
from bgdata.formats.gnubg_bearoff import GnubgHypergammon, GnubgOneSided, GnubgTwoSided, open_gnubg_bearoff
from bgdata.formats.gnubg_bearoff_header import CHANCE_SCALE, ROLLS
from bgdata.formats.gnubg_bearoff_write import write_one_sided, write_one_sided_normal
from tests.formats.gnubg_files import (
    FILES,
    VARIANTS,
    ace_point_counts,
    ace_point_gammon,
    header,
    one_sided_bytes,
    open_one_sided,
    two_sided_bytes,
    write_bytes,
)


@VARIANTS
def test_one_sided_reads_every_variant(tmp_path: Path, has_gammon: bool, is_compressed: bool) -> None:
    table = open_one_sided(tmp_path, has_gammon, is_compressed)
    counts, gammon = table.read_all()
    assert (len(table), table.points, table.checkers) == (16, 1, 15)
    assert counts.dtype == np.uint16
    assert counts.tolist() == ace_point_counts() == [table.probe_counts(n).tolist() for n in range(16)]
    if has_gammon:
        assert gammon is not None
        assert (
            gammon.tolist() == ace_point_gammon() == [table.probe_counts(n, is_gammon=True).tolist() for n in range(16)]
        )
        assert table.probe_chances(15, is_gammon=True).tolist() == [0, 1] + [0] * 30
    else:
        assert gammon is None
        with pytest.raises(NotCoveredError, match=r"expected a gammon part in .*x\.bd, found none"):
            table.probe_chances(15, is_gammon=True)


def test_one_sided_chances_and_mean(tmp_path: Path) -> None:
    table = open_one_sided(tmp_path)
    assert table.probe_chances(3)[:4] == pytest.approx([0, 1 / 6, 5 / 6, 0], abs=1 / 65535)
    assert table.mean_rolls(3) == pytest.approx(11 / 6, abs=1e-5)
    assert table.mean_rolls(0) == 0
    assert table.probe_chances(15).sum() == pytest.approx(1)
    assert "gnubg-OS-01-15-1-1-0" in repr(table)


def test_normal_variant_gives_the_density_at_integers(tmp_path: Path) -> None:
    moments = np.zeros((16, 4), np.float32)
    moments[15] = 2, 0.25, 1, 0
    write_one_sided_normal(tmp_path / "x.bd", 1, moments)
    table = open_gnubg_bearoff(tmp_path / "x.bd")
    assert isinstance(table, GnubgOneSided)
    assert table.probe_chances(15)[2] == pytest.approx(4 / np.sqrt(2 * np.pi))  # above 1: not normalised
    assert table.probe_chances(15)[1] == pytest.approx(4 / np.sqrt(2 * np.pi) * np.exp(-8))
    assert table.probe_chances(15, is_gammon=True).tolist() == [0, 1] + [0] * 30
    assert table.probe_chances(0).tolist() == [1] + [0] * 31
    for is_gammon in (False, True):
        with pytest.raises(NotCoveredError, match=r"found the normal variant; use moments"):
            table.probe_counts(15, is_gammon=is_gammon)
    with pytest.raises(NotCoveredError, match="use moments"):
        table.read_all()


def test_counts_have_no_moments(tmp_path: Path) -> None:
    table = open_one_sided(tmp_path)
    with pytest.raises(NotCoveredError, match="expected the normal variant"):
        table.probe_normal(3)


def test_hypergammon_decodes_24_bits(tmp_path: Path) -> None:
    numbers = [0xFFFFFF, 0x800000, 0x000001, 0x010000, 0x000100, 0xFFFFFF, 0, 0xAAAAAA, 0x555555]
    record = b"".join(number.to_bytes(3, "little") for number in numbers) + b"\0"
    place = 28 * (24 * 26 + 7)
    data = bytes(place) + record + bytes(28 * 26 * 26 - place - 28)
    table = open_gnubg_bearoff(write_bytes(tmp_path, header("gnubg-H1") + data))
    assert isinstance(table, GnubgHypergammon)
    found = table.probe(24, 7)
    unit = 1 / 16777215
    assert table.probe(np.uint8(24), np.uint8(7)) == found  # type: ignore[arg-type]
    assert found[:5] == pytest.approx([1, 0x800000 * unit, unit, 65536 * unit, 256 * unit], rel=1e-12)
    assert found[5:] == pytest.approx([3, -3, 1, -1], rel=1e-12)
    assert table.probe(7, 24).owned == -3
    for pair in [(26, 0), (0, 26), (-1, 0)]:
        with pytest.raises(NotCoveredError, match="from 0 to 25"):
            table.probe(*pair)


@pytest.mark.parametrize("index", [-1, 16, 10**9])
def test_index_out_of_range(tmp_path: Path, index: int) -> None:
    table = open_one_sided(tmp_path)
    for probe in (table.probe_counts, table.probe_chances, table.mean_rolls):
        with pytest.raises(NotCoveredError, match=rf"expected a position index from 0 to 15 in .*x\.bd, got {index}"):
            probe(index)


def test_indexes_of_numpy_do_not_wrap_around(tmp_path: Path) -> None:
    counts = np.zeros((816, ROLLS), np.uint16)  # 3 points
    counts[:, 1] = CHANCE_SCALE
    write_one_sided(tmp_path / "x.bd", 3, counts, None, compressed=True)
    table = open_gnubg_bearoff(tmp_path / "x.bd")
    assert isinstance(table, GnubgOneSided)
    found = table.probe_counts(np.uint8(255))  # type: ignore[arg-type]
    assert found.tolist() == table.probe_counts(255).tolist()


@pytest.mark.parametrize("pair", [(-1, 0), (0, 4), (4, 0), (0, -1)])
def test_two_sided_index_out_of_range(tmp_path: Path, pair: tuple[int, int]) -> None:
    table = open_gnubg_bearoff(write_bytes(tmp_path, two_sided_bytes(4)))
    assert isinstance(table, GnubgTwoSided)
    with pytest.raises(NotCoveredError, match="from 0 to 3"):
        table.probe(*pair)
    with pytest.raises(NotCoveredError, match="from 0 to 3"):
        table.probe_many([0, pair[0]], [0, pair[1]])


@pytest.mark.parametrize("name", FILES)
def test_every_wrong_size_is_noticed(tmp_path: Path, name: str) -> None:
    data = FILES[name]
    for size in {0, 1, 39, 40, 41, 60, len(data) // 2, len(data) - 2, len(data) - 1}:
        with pytest.raises(CorruptFileError, match=rf"expected .* in .*x\.bd, found {size}\b"):
            open_gnubg_bearoff(write_bytes(tmp_path, data[:size]))
    with pytest.raises(
        CorruptFileError, match=rf"expected {len(data)} bytes for gnubg-.*, found {len(data) + 1}: someth"
    ):
        open_gnubg_bearoff(write_bytes(tmp_path, data + b"\0"))


def test_truncated_file_message_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    path = write_bytes(tmp_path, header("gnubg-TS-06-06-1") + bytes(960))
    with pytest.raises(CorruptFileError) as caught:
        open_gnubg_bearoff(path)
    assert str(caught.value) == (
        f"expected 6830248 bytes for gnubg-TS-06-06-1 in {path}, found 1000: the file is truncated; write it again"
    )


@VARIANTS
def test_wrong_sum_names_file_and_position(tmp_path: Path, has_gammon: bool, is_compressed: bool) -> None:
    data = bytearray(one_sided_bytes(has_gammon, is_compressed))
    data[-2 if is_compressed or not has_gammon else -62] ^= 1  # last value, or the gammon part's chance of one roll
    table = open_gnubg_bearoff(write_bytes(tmp_path, bytes(data)))
    assert isinstance(table, GnubgOneSided)
    table.probe_counts(14, is_gammon=has_gammon)
    for look_up in (lambda: table.probe_counts(15, is_gammon=has_gammon), table.read_all):
        with pytest.raises(
            CorruptFileError, match=r"sum to 65535 for position 15 in .*x\.bd, found 6553[4-6]"
        ) as caught:
            look_up()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("place", "value"), [(3, 0x7F), (0, 0xFF), (4, 200), (5, 31), (6, 0), (7, 255)])
def test_damaged_index_table_is_noticed(tmp_path: Path, place: int, value: int) -> None:
    data = bytearray(one_sided_bytes(True, True))
    data[40 + 8 * 7 + place] = value
    table = open_gnubg_bearoff(write_bytes(tmp_path, bytes(data)))
    assert isinstance(table, GnubgOneSided)
    with pytest.raises(CorruptFileError, match="position 7"):
        table.probe_counts(7, is_gammon=place >= 6)
    with pytest.raises(CorruptFileError, match="position 7"):
        table.read_all()


def test_missing_file_and_folder_instead_of_file(tmp_path: Path) -> None:
    for path in (tmp_path / "none.bd", tmp_path):
        with pytest.raises(StorageError, match=f"expected a gnubg bearoff file at {path}, found: ") as caught:
            open_gnubg_bearoff(path)
        assert "\n" not in str(caught.value)


def test_reading_needs_numpy_only() -> None:
    script = (
        "import sys, bgdata.formats.gnubg_bearoff; print({'numba', 'duckdb', 'pyarrow', 'prefect'} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout == "set()\n"
