"""Collects the figures about a player from other versions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.errors import CheckFailedError, CheckSkippedError, InvalidParameterError, MissingTableError
from bgdata.kinds.column_values import text_arrays, text_column
from bgdata.measures.kinds.scores import ScoresParameters, role_of
from bgdata.measures.kinds.shared.measures import UNITS, Measure, measures_of
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck, sample_text

VERSION = re.compile(r"([a-z_]+)/([A-Za-z0-9-]+)(/r\d+-[0-9a-f]{8})?")
TEXTS = ("measures", "against", "units", "sources")
NUMBERS = {"figures": "float64", "errors": "float64", "sizes": "int64"}


class ScoresComputation(Computation[ScoresParameters]):
    """Computation of `scores`."""

    def compute(self, build: Build[ScoresParameters]) -> None:
        job = build.job
        found = list(rows_of(build))
        job.progress.start(job.title, len(found), "measures")
        job.progress.advance(len(found))
        for name, values in arrays_of(found).items():
            job.save(name, values)

    def batches(self, computed: Computed[ScoresParameters]) -> Iterator[pa.RecordBatch]:
        parameters, arrays = computed.parameters, computed.arrays
        n = len(arrays["figures"])
        texts = {name: text_column(arrays, name) for name in TEXTS}
        yield pa.record_batch(
            {
                "measure": texts["measures"],
                "against": texts["against"],
                "player_name": pa.array([parameters.player] * n),
                "ply": np.full(n, parameters.ply, np.int32),
                "player_version": pa.array([parameters.version] * n),
                "value": np.asarray(arrays["figures"]),
                "value_error": np.asarray(arrays["errors"]),
                "unit": texts["units"],
                "sample_size": np.asarray(arrays["sizes"]),
                "source_version": texts["sources"],
            }
        )

    def statistics(self, computed: Computed[ScoresParameters]) -> Mapping[str, float]:
        arrays = computed.arrays
        names = zip(*(text_column(arrays, name).to_pylist() for name in ("measures", "against")), strict=True)
        found: dict[str, float] = {}
        for row, (measure, against) in enumerate(names):
            name = re.sub(r"[^a-z0-9]+", "_", f"{measure}_against_{against}")
            found[name] = float(arrays["figures"][row])
            found[f"{name}_standard_error"] = float(arrays["errors"][row])
        return found

    def check_sample(self, recheck: Recheck[ScoresParameters]) -> str:
        """Read every figure again, where all its sources are still there."""
        table = recheck.table
        try:
            expected = arrays_of(rows_of(recheck))
        except MissingTableError as error:
            raise CheckSkippedError(f"a source of the figures is gone: {error}") from error
        for name, values in expected.items():
            if not np.array_equal(values, table.array(name)):
                raise CheckFailedError(f"expected the {name} of {table.name} as its sources have them, found others")
        return sample_text(table.manifest.rows, table.manifest.rows, "figures")


def rows_of(context: Context[ScoresParameters]) -> list[Measure]:
    """The measures of all sources, in order. Raises InvalidParameterError for one of another player and for two of the
    same, and MissingTableError for a version that is not there."""
    found: dict[tuple[str, str], Measure] = {}
    parameters = context.parameters
    for place in parameters.sources:
        table = context.inputs.get(role_of(place)) or context.warehouse.open_reference(place)
        for measure in measures_of(table, parameters.player, parameters.ply, parameters.version):
            key = measure.measure, measure.against
            if key in found:
                raise InvalidParameterError(
                    f"expected one source for {' against '.join(key)}, got {found[key].source} and {table.name}"
                )
            found[key] = measure
    return [found[key] for key in sorted(found)]


def arrays_of(rows: list[Measure]) -> dict[str, Array]:
    """Every declared array, from the rows."""
    columns: list[tuple[Any, ...]] = list(zip(*rows, strict=True))
    measures, against, figures, errors, sizes, sources = columns
    texts = measures, against, tuple(UNITS[measure] for measure in measures), sources
    found: dict[str, Array] = {}
    for name, column in zip(TEXTS, texts, strict=True):
        found |= text_arrays(name, column)
    for (name, dtype), column in zip(NUMBERS.items(), (figures, errors, sizes), strict=True):
        found[name] = np.array(column, dtype)
    return found


COMPUTATION = ScoresComputation
