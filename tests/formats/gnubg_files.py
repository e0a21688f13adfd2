"""gnubg's bearoff files assembled byte by byte, small enough to solve by hand."""

import struct
from pathlib import Path
from typing import TypeVar

import pytest

from bgdata.formats.gnubg_bearoff import GnubgHypergammon, GnubgOneSided, GnubgTwoSided, open_gnubg_bearoff

Table = TypeVar("Table", GnubgOneSided, GnubgTwoSided, GnubgHypergammon)


def header(name: str) -> bytes:
    """A header of 40 bytes."""
    return name.encode() + b"x" * (39 - len(name)) + b"\n"


def ace_point_counts() -> list[list[int]]:
    """One-sided table of the ace point in gnubg's integers: 6 of 36 rolls take off four checkers, 30 take off two."""
    table = [[65535] + [0] * 31]
    for checkers in range(1, 16):
        two, four = table[max(checkers - 2, 0)], table[max(checkers - 4, 0)]
        row = [0] + [(30 * two[roll] + 6 * four[roll] + 18) // 36 for roll in range(31)]
        row[row.index(max(row))] += 65535 - sum(row)
        table.append(row)
    return table


def ace_point_gammon() -> list[list[int]]:
    """Rolls until the first of 15 checkers is off: 0 with fewer than 15 checkers, else 1."""
    return [[0, 65535] + [0] * 30 if checkers == 15 else [65535] + [0] * 31 for checkers in range(16)]


def one_sided_bytes(has_gammon: bool, is_compressed: bool) -> bytes:
    """A file with the ace point table, assembled byte by byte."""
    parts = [ace_point_counts()] + ([ace_point_gammon()] if has_gammon else [])
    head = header(f"gnubg-OS-01-15-{has_gammon:d}-{is_compressed:d}-0")
    if not is_compressed:
        return head + b"".join(struct.pack("<32H", *part[n]) for n in range(16) for part in parts)
    table = b""
    values: list[int] = []
    for n in range(16):
        table += struct.pack("<I", len(values))
        for part in parts:
            rolls = [roll for roll, count in enumerate(part[n]) if count]
            table += bytes([len(rolls), rolls[0]])
            values += part[n][rolls[0] : rolls[-1] + 1]
    return head + table + struct.pack(f"<{len(values)}H", *values)


# three checkers on the ace point need a double (1/6); then the opponent takes off at least two
TWO_SIDED_ROWS = [[65535] * 4, [0, 65535, 65535, 65535], [0, 65535, 65535, 65535], [0, 10923, 10923, 56432]]


def two_sided_bytes(columns: int) -> bytes:
    """1 point, 3 checkers: the four equities are equal, since no double gains anything."""
    codes = [code for row in TWO_SIDED_ROWS for code in row for _ in range(columns)]
    return header(f"gnubg-TS-01-03-{columns == 4:d}") + struct.pack(f"<{len(codes)}H", *codes)


def write_bytes(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "x.bd"
    path.write_bytes(data)
    return path


VARIANTS = pytest.mark.parametrize(
    ("has_gammon", "is_compressed"), [(g, c) for g in (True, False) for c in (True, False)]
)


FILES = {
    "compressed": one_sided_bytes(True, True),
    "compressed, no gammon": one_sided_bytes(False, True),
    "uncompressed": one_sided_bytes(True, False),
    "normal": header("gnubg-OS-01-15-1-0-1") + bytes(16 * 16),
    "two-sided": two_sided_bytes(4),
    "cubeless": two_sided_bytes(1),
    "hypergammon": header("gnubg-H1") + bytes(28 * 26 * 26),
}


def open_as(kind: type[Table], path: Path) -> Table:
    """Open a file and check its kind."""
    opened = open_gnubg_bearoff(path)
    assert isinstance(opened, kind)
    return opened


def open_one_sided(tmp_path: Path, has_gammon: bool = True, is_compressed: bool = True) -> GnubgOneSided:
    return open_as(GnubgOneSided, write_bytes(tmp_path, one_sided_bytes(has_gammon, is_compressed)))
