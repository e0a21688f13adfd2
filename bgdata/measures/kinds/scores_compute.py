"""Collects the figures about a player from other versions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.errors import CheckSkippedError, InvalidParameterError, MissingTableError
from bgdata.kinds.column_values import text_arrays, text_column
from bgdata.kinds.rechecking import check_arrays
from bgdata.measures.kinds.scores import READERS, UNITS, Measure, ScoresParameters, role_of
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck, sample_text
from bgdata.store.table import Table


class ScoresComputation(Computation[ScoresParameters]):
    """Computes `scores`: collects the figures about a player from other versions."""

    def compute(self, build: Build[ScoresParameters]) -> None:
        found = score_arrays(build)
        build.job.progress.start(build.job.title, len(found["figures"]), "measures")
        build.job.progress.advance(len(found["figures"]))
        for name, values in found.items():
            build.job.save(name, values)

    def batches(self, computed: Computed[ScoresParameters]) -> Iterator[pa.RecordBatch]:
        parameters, arrays = computed.parameters, computed.arrays
        n = len(arrays["figures"])
        yield pa.record_batch(
            {
                "measure": text_column(arrays, "measures"),
                "against": text_column(arrays, "against"),
                "player_name": pa.array([parameters.player] * n),
                "ply": np.full(n, parameters.ply, np.int32),
                "player_version": pa.array([parameters.version] * n),
                "value": np.asarray(arrays["figures"]),
                "value_error": np.asarray(arrays["errors"]),
                "unit": text_column(arrays, "units"),
                "sample_size": np.asarray(arrays["sizes"]),
                "source_version": text_column(arrays, "sources"),
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
        """Read every figure again from its source and compare it, if all sources still exist."""
        table = recheck.table
        try:
            expected = score_arrays(recheck)
        except MissingTableError as error:
            raise CheckSkippedError(f"a source of the figures is gone: {error}") from error
        check_arrays(table, expected)
        return sample_text(table.manifest.rows, table.manifest.rows, "figures")


def score_arrays(context: Context[ScoresParameters]) -> dict[str, Array]:
    """Return all declared arrays, filled with the figures from all sources. Raises InvalidParameterError if a source is
    about another player, or if two sources have the same figure; and MissingTableError if a version is missing."""
    found: dict[tuple[str, str], Measure] = {}
    for place in context.parameters.sources:
        table = context.inputs.get(role_of(place)) or context.warehouse.open_reference(place)
        check_player(table, context.parameters)
        manifest = table.manifest
        for each in READERS[manifest.dataset](manifest.parameters, manifest.statistics):
            key = each.measure, each.against
            if key in found:
                raise InvalidParameterError(
                    f"expected one source for {' against '.join(key)}, got {found[key].source} and {table.name}"
                )
            found[key] = each._replace(size=each.size or manifest.rows, source=table.name)
    rows = [found[key] for key in sorted(found)]
    return {
        **text_arrays("measures", [row.measure for row in rows]),
        **text_arrays("against", [row.against for row in rows]),
        **text_arrays("units", [UNITS[row.measure] for row in rows]),
        **text_arrays("sources", [row.source for row in rows]),
        "figures": np.array([row.figure for row in rows], np.float64),
        "errors": np.array([row.error for row in rows], np.float64),
        "sizes": np.array([row.size for row in rows], np.int64),
    }


def check_player(table: Table, parameters: ScoresParameters) -> None:
    """Raise InvalidParameterError unless a version is about the player, ply and player's version in `parameters`."""
    recipe, (player, ply, version) = table.manifest.parameters, (parameters.player, parameters.ply, parameters.version)
    found = recipe["player"], recipe.get("ply", 0), recipe["version"]
    # a network without bearoff tables reports another version
    if found != (player, ply, version) and not (found[:2] == (player, ply) and recipe.get("tables") == 0):
        whose, theirs = (f"{name} ({plies}-ply) {version}" for name, plies, version in ((player, ply, version), found))
        raise InvalidParameterError(f"expected results of {whose}, got {table.name} of {theirs}")


COMPUTATION = ScoresComputation
