"""How good a player is: the figures of its games, self-play, benchmarks and bearoffs in one table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bgdata.datasets.common.columns import text_arrays, text_column, text_declarations
from bgdata.datasets.common.measures import READERS, UNITS, Measure, measures_of
from bgdata.datasets.common.players import check_player_name, player_slug
from bgdata.datasets.game_scores import DATASET as GAMES
from bgdata.datasets.selfplay import DATASET as SELF_PLAY
from bgdata.errors import CheckFailedError, CheckSkippedError, InvalidParameterError, MissingTableError
from bgdata.store.context import Build, Computed, Context, Recheck
from bgdata.store.dataset import Dataset, Estimate, sampled
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Parameters, VersionRef, value_text

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.store.arrays import Array

VERSION = re.compile(r"([a-z_]+)/([A-Za-z0-9-]+)(/r\d+-[0-9a-f]{8})?")
TEXTS = ("measures", "against", "units", "sources")
NUMBERS = {"figures": "float64", "errors": "float64", "sizes": "int64"}
MOST_ROWS = 64  # of a player, or somewhat more: for estimates


SMALLEST = (
    VersionRef(GAMES.name, GAMES.slug(GAMES.smallest)),
    VersionRef(SELF_PLAY.name, SELF_PLAY.slug(SELF_PLAY.smallest)),
)


@dataclass(frozen=True)
class ScoresParameters(Parameters):
    """Who, how far it looks ahead, its version as it says it, and the versions that its figures are from,
    in order of name; one without a version is the smallest variant of its kind, built first."""

    player: str = "pubeval"
    ply: int = 0
    version: str = "2"
    sources: tuple[VersionRef, ...] = SMALLEST

    def check_sources(self) -> None:
        """Raise InvalidParameterError for what cannot be one, and for another order."""
        for place in self.sources:
            if place.kind not in READERS:
                raise InvalidParameterError(
                    f"expected sources KIND/VARIANT/VERSION of {', '.join(sorted(READERS))}, got '{place}'"
                )
        if not self.sources or list(self.sources) != sorted(set(self.sources), key=str):
            raise InvalidParameterError(f"expected sources in order, each once, got {value_text(self.sources)!r}")


class Scores(Dataset[ScoresParameters]):
    """One row a measure."""

    name = "scores"
    revision = 1
    summary = (
        "How good players are: results of games, hedged ones, gammons, error rates, bearoffs; with standard errors."
    )
    source = "Computed: figures of other versions here, which say how they were found"
    columns = (
        Column("measure", "VARCHAR", "", "What was measured: " + ", ".join(UNITS)),
        Column("against", "VARCHAR", "", "Opponent with its plies, set of decisions, or table that judges"),
        Column("player_name", "VARCHAR", "", "Player"),
        Column("ply", "INTEGER", "", "How many rolls it looked ahead, 0: at a glance"),
        Column("player_version", "VARCHAR", "", "Version of the player as it says it"),
        Column("value", "DOUBLE", "as unit says", "Mean of the sample"),
        Column("value_error", "DOUBLE", "as unit says", "Standard error of value"),
        Column("unit", "VARCHAR", "", "Unit of value and value_error"),
        Column("sample_size", "BIGINT", "", "Games, or decisions"),
        Column("source_version", "VARCHAR", "", "Where each game or decision is: dataset/variant/version"),
    )
    key = ("measure", "against")
    arrays = (
        *text_declarations("measures", "row", "What was measured"),
        *text_declarations("against", "row", "Opponent with its plies, set of decisions, or table that judges"),
        *text_declarations("units", "row", "Unit of the figure and its error"),
        *text_declarations("sources", "row", "Versions that the figures are from"),
        FlatArray("figures", "float64", "row", "Mean of the sample"),
        FlatArray("errors", "float64", "row", "Standard error of the mean"),
        FlatArray("sizes", "int64", "row", "Games, or decisions"),
    )
    parameters = ScoresParameters
    defaults = ()
    smallest = ScoresParameters()

    def slug(self, parameters: ScoresParameters) -> str:
        return player_slug(parameters.player, parameters.ply)

    def check_parameters(self, parameters: ScoresParameters) -> None:
        check_player_name(parameters.player)
        parameters.check_sources()
        self.inputs(parameters)

    def inputs(self, parameters: ScoresParameters) -> Mapping[str, tuple[str, Parameters]]:
        return {role_of(place): smallest_variant(place) for place in parameters.sources if not place.version}

    def estimate(self, _parameters: ScoresParameters) -> Estimate:
        return Estimate(MOST_ROWS, 200 * MOST_ROWS, 1 << 20)

    def compute(self, build: Build[ScoresParameters]) -> None:
        job = build.job
        found = list(rows_of(build))
        job.progress.start(f"{self.name}/{self.slug(build.parameters)}", len(found), "measures")
        job.progress.advance(len(found))
        for name, values in arrays_of(found).items():
            job.save(name, values)

    def batches(self, computed: Computed[ScoresParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

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
        return sampled(table.manifest.rows, table.manifest.rows, "figures")


def rows_of(context: Context[ScoresParameters]) -> list[Measure]:
    """The measures of all sources, in order. Raises InvalidParameterError for one of somebody else and for two of the
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
    """Every declared array."""
    columns: list[tuple[Any, ...]] = list(zip(*rows, strict=True))
    measures, against, figures, errors, sizes, sources = columns
    texts = measures, against, tuple(UNITS[measure] for measure in measures), sources
    found: dict[str, Array] = {}
    for name, column in zip(TEXTS, texts, strict=True):
        found |= text_arrays(name, column)
    for (name, dtype), column in zip(NUMBERS.items(), (figures, errors, sizes), strict=True):
        found[name] = np.array(column, dtype)
    return found


def role_of(place: VersionRef) -> str:
    """Role of a source among the inputs."""
    return str(place).replace("/", "_").replace("-", "_")


def smallest_variant(place: VersionRef) -> tuple[str, Parameters]:
    """(kind, parameters) of the smallest variant of a kind. Raises InvalidParameterError for another variant."""
    from bgdata.datasets import all_kinds

    kind = all_kinds()[place.kind]
    if kind.slug(kind.smallest) != place.variant:
        raise InvalidParameterError(f"expected a version, such as {place}/r1-0123abcd, got {place}")
    smallest: Parameters = kind.smallest
    return place.kind, smallest


DATASET = Scores()
