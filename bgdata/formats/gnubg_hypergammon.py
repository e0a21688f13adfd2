"""Writing hypergammon databases as gnubg's makehyper does.

Source: files made by makehyper of GNU Backgammon 1.07, byte for byte; no program text was used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bgdata.formats.gnubg_bearoff_header import BearoffHeader
from bgdata.formats.gnubg_bearoff_write import check_array, write_file

SCALE = (1 << 24) - 1  # of 24-bit numbers
LIMIT = 3  # equities are from -3 to 3
EQUITIES = [1, 2, 4, 3]  # columns of `endgames.solver.COLUMNS` in the order of a record


def write_hypergammon(
    path: str | os.PathLike[str], checkers: int, chances: NDArray[np.float32], equities: NDArray[np.float32]
) -> None:
    """Write a file that gnubg reads as `hyper1.bd` to `hyper3.bd`.

    chances: float32[on roll, opponent, 5] as in gnubg, equities: float32[on roll, opponent, 4]: owned, centered,
    centered with the Jacoby rule, opponent_owned. Where they are NaN the file has zeros: gnubg never asks. Raises
    UsageError for another shape or type and StorageError where the file cannot be written.
    """
    header = BearoffHeader("hypergammon", 25, checkers)
    count = header.position_count
    check_array(chances, (count, count, 5), np.float32)
    check_array(equities, (count, count, 4), np.float32)
    write_file(path, header, records(chances, equities))


def records(chances: NDArray[np.float32], equities: NDArray[np.float32]) -> Iterator[bytes]:
    """The records of each player on roll: nine 24-bit numbers, lowest byte first, and a zero byte."""
    for row in range(len(chances)):
        shares = np.concatenate([chances[row], equities[row] / (2 * LIMIT) + 0.5], axis=1).astype(np.float64)
        numbers = np.rint(np.nan_to_num(np.clip(shares, 0, 1)) * SCALE).astype("<u4")
        record = np.zeros((len(numbers), 28), np.uint8)
        record[:, :27] = numbers.view(np.uint8).reshape(len(numbers), 9, 4)[:, :, :3].reshape(len(numbers), 27)
        yield record.tobytes()
