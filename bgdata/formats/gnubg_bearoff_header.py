"""The header of gnubg's bearoff databases: the kind and variant of a file, and its size.

Source: files made by makebearoff and makehyper of GNU Backgammon 1.07, byte for byte; no program text was used.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Literal

import numpy as np

from bgdata.errors import CorruptFileError, InvalidParameterError

HEADER_BYTES = 40
ROLLS = 32  # a distribution covers 0 to 31 rolls
CHANCE_SCALE = 65535  # the counts of one distribution sum to this
EQUITY_SCALE = 32767.5  # code 0 is equity -1, code 65535 is +1
HYPERGAMMON_POINTS = 25  # 24 points and the bar


@dataclass(frozen=True)
class BearoffHeader:
    """What a file holds. Flags that do not belong to its kind are False.

    The normal variant (mean and s.d. instead of counts) always has the gammon part and is never compressed. Raises
    InvalidParameterError for sizes that no file has; allowed are 1 to 23 points and 1 to 15 checkers a side;
    hypergammon: 25 "points" (24 and the bar) and 1 to 3 checkers.
    """

    kind: Literal["one_sided", "two_sided", "hypergammon"]
    points: int
    checkers: int
    has_gammon: bool = False
    is_compressed: bool = False
    is_normal: bool = False
    is_cubeful: bool = False

    def __post_init__(self) -> None:
        is_hypergammon = self.kind == "hypergammon"
        fewest, most, checkers = (HYPERGAMMON_POINTS, HYPERGAMMON_POINTS, 3) if is_hypergammon else (1, 23, 15)
        if not (fewest <= self.points <= most and 1 <= self.checkers <= checkers):
            raise InvalidParameterError(
                f"expected {fewest} to {most} points and 1 to {checkers} checkers in a {self.kind} file, "
                f"got {self.points} and {self.checkers}"
            )
        if self.is_normal and (self.is_compressed or not self.has_gammon):
            raise InvalidParameterError("expected a normal variant with gammon part and uncompressed, got other flags")

    @property
    def name(self) -> str:
        """The header without filler, as in `gnubg-TS-06-06-1`."""
        return format_header(self).decode("ascii").rstrip("x\n")

    @property
    def position_count(self) -> int:
        """Number of positions of one side."""
        return comb(self.points + self.checkers, self.points)

    @property
    def record_count(self) -> int:
        """Number of records: one for each position of one side, or for each pair of positions."""
        return self.position_count ** (1 if self.kind == "one_sided" else 2)

    @property
    def record_bytes(self) -> int:
        """Size of one record; for a compressed file, of one entry of its index table."""
        if self.kind == "hypergammon":
            return 28
        if self.kind == "two_sided":
            return 8 if self.is_cubeful else 2
        if self.is_compressed:
            return entry_dtype(self.has_gammon).itemsize
        return 16 if self.is_normal else 2 * ROLLS * (1 + self.has_gammon)


def entry_dtype(has_gammon: bool) -> np.dtype[np.void]:
    """Entry of the index table of a compressed file.

    `offset`: where its values begin, in values from the end of the table. `window[part]`: (number of stored values,
    roll of the first); part 0 is bearing off, part 1 the gammon part, whose values follow those of part 0.
    """
    return np.dtype([("offset", "<u4"), ("window", "u1", (1 + has_gammon, 2))])


def format_header(header: BearoffHeader) -> bytes:
    """The 40 bytes at the beginning of a file."""
    if header.kind == "hypergammon":
        text = f"gnubg-H{header.checkers}"
    elif header.kind == "two_sided":
        text = f"gnubg-TS-{header.points:02}-{header.checkers:02}-{header.is_cubeful:d}"
    else:
        flags = f"{header.has_gammon:d}-{header.is_compressed:d}-{header.is_normal:d}"
        text = f"gnubg-OS-{header.points:02}-{header.checkers:02}-{flags}"
    return text.ljust(HEADER_BYTES - 1, "x").encode("ascii") + b"\n"


def parse_header(data: bytes, source: str = "the header") -> BearoffHeader:
    """What a file that begins with `data` holds; `source` names it in the error.

    Raises CorruptFileError for fewer than 40 bytes and for a header that no file has.
    """
    if len(data) < HEADER_BYTES:
        raise CorruptFileError(f"expected a header of {HEADER_BYTES} bytes in {source}, found {len(data)} bytes")
    head = bytes(data[:HEADER_BYTES])
    header = None
    try:
        kind, *numbers = head.decode("ascii").rstrip("x\n").removeprefix("gnubg-").split("-")
        if kind == "OS":
            points, checkers, gammon, compressed, normal = map(int, numbers)
            header = BearoffHeader("one_sided", points, checkers, bool(gammon), bool(compressed), bool(normal))
        elif kind == "TS":
            points, checkers, cubeful = map(int, numbers)
            header = BearoffHeader("two_sided", points, checkers, is_cubeful=bool(cubeful))
        else:
            header = BearoffHeader("hypergammon", HYPERGAMMON_POINTS, int(kind.removeprefix("H")))
    except (ValueError, InvalidParameterError):
        pass
    if header is None or format_header(header) != head:
        raise CorruptFileError(
            f"expected a header gnubg-OS-, gnubg-TS- or gnubg-H in {source}, found {head!r}; "
            "make the file with makebearoff, makehyper or bgdata"
        )
    return header
