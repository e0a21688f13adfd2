"""Which positions are kept from training: those that a player is scored on, seen by either side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from bgdata.game.position_hash import Hashes, position_hashes
from bgdata.kernel import kernel
from bgdata.store.table import Table
from bgdata.store.versions import Versions
from bgdata.training.feed.versions import open_version


def open_guard(warehouse: Versions, benchmarks: Mapping[str, str]) -> Guard:
    """The guard for versions of benchmarks, by `kind/variant/version` and digest.

    Raises MissingTableError, and UsageError where one has another digest.
    """
    return Guard(open_version(warehouse, name, digest) for name, digest in benchmarks.items())


class Guard:
    """Positions by hash: those before the rolls of benchmarks, and those after their plays."""

    def __init__(self, tables: Iterable[Table]) -> None:
        hashes = [
            position_hashes(np.ascontiguousarray(boards))
            for table in tables
            for name, boards in table.arrays().items()
            if name.endswith("boards")
        ]
        self.known = np.unique(np.concatenate([np.zeros(0, np.uint64), *hashes]))
        bits = max(len(self.known).bit_length(), 1)
        self.shift = np.uint64(64 - bits)
        buckets = np.arange(1 << bits, dtype=np.uint64) << self.shift
        self.starts = np.append(np.searchsorted(self.known, buckets), len(self.known))

    def __len__(self) -> int:
        return len(self.known)

    def contains(self, hashes: Hashes) -> NDArray[np.bool_]:
        """bool[n]: whether positions with these hashes are guarded."""
        is_known = np.zeros(len(hashes), np.bool_)
        fill_contained(hashes, self.known, self.starts, self.shift, is_known)
        return is_known


@kernel()
def fill_contained(
    hashes: Hashes, known: Hashes, starts: NDArray[np.int64], shift: np.uint64, is_known: NDArray[np.bool_]
) -> None:
    """Fills is_known[row], all False before, with whether hashes[row] is among the ascending `known`, of which those
    with the upper bits b are known[starts[b]:starts[b + 1]]."""
    for row in range(len(hashes)):
        bucket = np.int64(hashes[row] >> shift)
        for place in range(starts[bucket], starts[bucket + 1]):
            is_known[row] |= known[place] == hashes[row]
