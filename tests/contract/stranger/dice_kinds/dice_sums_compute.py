"""Counts the rolls."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from bgdata.errors import CheckFailedError
from bgdata.store.dataset import Build, Computation, Computed, Recheck, sample_text

from .sums import DiceParameters


class DiceSumsComputation(Computation[DiceParameters]):
    """Computation of `dice_sums`."""

    def compute(self, build: Build[DiceParameters]) -> None:
        build.job.save("rolls", counts(build.parameters.sides))

    def batches(self, computed: Computed[DiceParameters]) -> Iterator[pa.RecordBatch]:
        rolls = np.asarray(computed.arrays["rolls"])
        yield pa.record_batch({"pip_count": np.arange(2, len(rolls) + 2, dtype=np.int32), "rolls": rolls})

    def check_sample(self, recheck: Recheck[DiceParameters]) -> str:
        if not np.array_equal(recheck.table.array("rolls"), counts(recheck.parameters.sides)):
            raise CheckFailedError(f"expected the rolls of {recheck.table.name} as they are counted, found others")
        return sample_text(recheck.table.manifest.rows, recheck.table.manifest.rows)


def counts(sides: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """int32[2 * sides - 1]: rolls with each sum from 2."""
    return np.bincount(np.add.outer(np.arange(sides), np.arange(sides)).ravel()).astype(np.int32)


COMPUTATION = DiceSumsComputation
