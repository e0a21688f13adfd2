"""Reads the published figures of luck, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.kinds.column_values import select_texts
from bgdata.kinds.rechecking import check_arrays
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Recheck, sample_text
from bgdata.studies.kinds.published_luck import FIGURES, INTEGERS, LuckParameters, published_rows

PROGRAMS = ("jellyfish", "snowie")


class PublishedLuckComputation(Computation[LuckParameters]):
    """Computes `published_luck`: reads the published figures from the package's file."""

    def compute(self, build: Build[LuckParameters]) -> None:
        for name, values in published_arrays().items():
            build.job.save(name, values)

    def batches(self, computed: Computed[LuckParameters]) -> Iterator[pa.RecordBatch]:
        columns: dict[str, Any] = {name: np.asarray(computed.arrays[f"{name}s"]) for name in (*INTEGERS, *FIGURES)}
        columns["round"] = columns["round"].astype(np.int32)
        columns["program"] = select_texts(pa.array(PROGRAMS), np.asarray(computed.arrays["programs"]).astype(np.int32))
        yield pa.record_batch({column.name: columns[column.name] for column in self.kind.columns})

    def check_sample(self, recheck: Recheck[LuckParameters]) -> str:
        """Compare every stored row with the package's file."""
        check_arrays(recheck.table, published_arrays())
        return sample_text(len(published_rows()), len(published_rows()), "rolls")


def published_arrays() -> dict[str, Array]:
    """Return all declared arrays, from the rows of the package's file."""
    rows = published_rows()
    arrays: dict[str, Array] = {f"{name}s": np.array([int(row[name]) for row in rows], np.int8) for name in INTEGERS}
    arrays["programs"] = np.array([PROGRAMS.index(row["program"]) for row in rows], np.uint8)
    return arrays | {f"{name}s": np.array([float(row[name]) for row in rows]) for name in FIGURES}


COMPUTATION = PublishedLuckComputation
