"""Positions with the chances that another evaluator gives them: an installed program, or a network that looks far."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bgdata.datasets.common.columns import CHANCE_COLUMNS, chance_columns
from bgdata.datasets.common.games import slices
from bgdata.datasets.common.imports import CHANCES_ARRAY
from bgdata.datasets.common.rollouts import (
    SAMPLE_ROWS,
    NetworkChoice,
    network_text,
    open_roller,
)
from bgdata.datasets.common.sources import (
    PLACE_ARRAYS,
    PLACE_COLUMNS,
    SPLIT_COLUMN,
    SPLITS_ARRAY,
    UNNAMED,
    place_columns,
    places_of,
    source_input,
    split_column,
)
from bgdata.errors import CheckFailedError, CheckSkippedError, InvalidParameterError, UnknownPlayerError
from bgdata.evaluation.networks.shipped import DEFAULT_NETWORK
from bgdata.store.context import Build, Computed, Context, Recheck
from bgdata.store.dataset import Dataset, Estimate, Input, sampled
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import NONE_GIVEN, Given, Parameters, VersionRef

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.evaluation.evaluator import Evaluator
    from bgdata.store.arrays import Array
    from bgdata.store.table import Table

PROGRAMS = ("gnubg", "bgsage")
MOST_PLY = 4
STEP = 4096  # positions asked for at a time at ply 0, between which a killed run goes on: programs are slow to start
TOLERANCE = 1e-5  # of a chance asked for again: programs add in an order of their own


@dataclass(frozen=True)
class EngineParameters(Parameters):
    """Whose positions; the program with the version that it says of itself, and how far it looks (0 is static); or
    `network`, which and with which bearoff tables, as in `_rollouts.NetworkChoice`.

    `source_recipe` is what `_sources.source_input` needs to know of the source.
    """

    source: VersionRef = UNNAMED
    engine: str = "gnubg"
    ply: int = 0
    version: str = ""
    network: str = ""
    network_version: str = ""
    table_points: int = 6
    table_checkers: int = 6
    source_recipe: Given = NONE_GIVEN

    def choice(self) -> NetworkChoice:
        """The network and its tables; that of the package where none is named."""
        return NetworkChoice(
            network=self.network or DEFAULT_NETWORK,
            network_version=self.network_version,
            table_points=self.table_points,
            table_checkers=self.table_checkers,
        )


class EngineLabels(Dataset[EngineParameters]):
    """One row a position, in the order of the source."""

    name = "engine_labels"
    revision = 1
    summary = (
        "Positions evaluated by another program, or by a network that looks further: five chances before the roll."
    )
    source = "Computed: answers of the installed program that the column engine names, for cubeless money play"
    columns = (
        *PLACE_COLUMNS,
        *CHANCE_COLUMNS,
        Column("cubeless_equity", "FLOAT", "points", "What the five chances are worth to the player on roll"),
        Column("engine", "VARCHAR", "", "Program or network, and its version"),
        Column("ply", "INTEGER", "", "How many rolls it looked ahead, 0: at a glance"),
        SPLIT_COLUMN,
    )
    key = ("row",)
    arrays = (
        *PLACE_ARRAYS,
        CHANCES_ARRAY,
        SPLITS_ARRAY,
        FlatArray("engine", "uint8", "byte", "Program or network, and its version: UTF-8"),
    )
    parameters = EngineParameters
    defaults = ()
    smallest = EngineParameters(
        VersionRef("positions", "sample"), "network", 0, network="tiny", table_points=3, table_checkers=3
    )

    def slug(self, parameters: EngineParameters) -> str:
        source = re.sub(r"[^a-z0-9]+", "-", str(parameters.source))
        engine = parameters.choice().network if parameters.engine == "network" else parameters.engine
        return f"{source}-by-{engine}-{parameters.ply}ply"

    def check_parameters(self, parameters: EngineParameters) -> None:
        if parameters.engine not in (*PROGRAMS, "network"):
            raise InvalidParameterError(
                f"expected an engine among {', '.join(PROGRAMS)} and network, got {parameters.engine!r}"
            )
        if not 0 <= parameters.ply <= MOST_PLY:
            raise InvalidParameterError(f"expected a ply of 0 to {MOST_PLY}, got {parameters.ply}")
        if bool(parameters.version) != (parameters.engine in PROGRAMS):
            raise InvalidParameterError(
                f"expected a version of a program, and none of a network, got {parameters.version!r} of "
                f"{parameters.engine}"
            )
        parameters.choice().check_network()
        source_input(parameters.source, parameters.source_recipe)

    def inputs(self, parameters: EngineParameters) -> Mapping[str, Input]:
        source = {"source": source_input(parameters.source, parameters.source_recipe)}
        return source | (parameters.choice().network_inputs() if parameters.engine == "network" else {})

    def estimate(self, _parameters: EngineParameters) -> Estimate:
        return Estimate(0, 0, 1 << 28)  # as many rows as the source has positions

    def compute(self, build: Build[EngineParameters]) -> None:
        parameters, inputs, job = build.parameters, build.inputs, build.job
        engine = open_engine(build)
        places = places_of(inputs["source"])
        n, step = len(places.boards), max(1, STEP >> 3 * parameters.ply)
        state: dict[str, Array] = {"chances": np.zeros((n, 5), np.float32)}
        starts = range(0, n, step)
        sizes = [min(step, n - start) for start in starts]
        for start in job.steps(f"{self.name}/{self.slug(parameters)}", "positions", starts, sizes, state):
            rows = slice(start, start + step)
            state["chances"][rows] = asked(engine, parameters, places.boards[rows])
        for name, values in {**places._asdict(), **state}.items():
            job.save(name, values)
        job.save("engine", engine_text(parameters, inputs))

    def batches(self, computed: Computed[EngineParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from bgdata.evaluation.chances import cubeless_equities

        arrays = computed.arrays
        engine = pa.array([np.asarray(arrays["engine"]).tobytes().decode()])
        for rows in slices(len(arrays["rows"]), self.row_group_rows):
            found = {name: np.asarray(values[rows]) for name, values in arrays.items() if name != "engine"}
            count = len(found["rows"])
            yield pa.record_batch(
                {
                    **place_columns(found),
                    **chance_columns(found["chances"]),
                    "cubeless_equity": cubeless_equities(found["chances"]),
                    "engine": pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int8)), engine),
                    "ply": np.full(count, computed.parameters.ply, np.int32),
                    "split": split_column(found["splits"]),
                }
            )

    def check_sample(self, recheck: Recheck[EngineParameters]) -> str:
        """Find the places again, and ask for some of them where the program of that version is installed."""
        table = recheck.table
        places = places_of(recheck.inputs["source"])
        for name, values in places._asdict().items():
            if not np.array_equal(table.array(name), values):
                raise CheckFailedError(f"expected {name} of the source in {table.name}, found others")
        try:
            engine = open_engine(recheck)
        except (UnknownPlayerError, InvalidParameterError) as error:
            raise CheckSkippedError(
                f"the positions are those of the source, but nobody can be asked: {error}"
            ) from error
        chosen = np.sort(recheck.generator.permutation(len(places.rows))[: min(recheck.rows, 10 * SAMPLE_ROWS)])
        found, expected = table.array("chances")[chosen], asked(engine, recheck.parameters, places.boards[chosen])
        for place in np.flatnonzero(~(np.abs(found - expected) <= TOLERANCE).all(axis=1))[:1]:
            raise CheckFailedError(
                f"expected chances of {expected[place].tolist()} in row {chosen[place]} of {table.name}, found "
                f"{found[place].tolist()}"
            )
        return sampled(len(chosen), len(places.rows))


def open_engine(context: Context[EngineParameters]) -> Evaluator:
    """Who is asked. Raises UnknownPlayerError for a program that is not installed or does not look so far,
    InvalidParameterError for another version of it, and MissingTableError for a network that is not there."""
    from bgdata.evaluation.evaluator import Evaluator
    from bgdata.evaluation.player import open_named_player

    parameters = context.parameters
    if parameters.engine == "network":
        return open_roller(Context(parameters.choice(), context.inputs, context.warehouse))
    engine = open_named_player(parameters.engine, parameters.ply)
    assert isinstance(engine, Evaluator)  # all of PROGRAMS are
    if engine.version != parameters.version:
        raise InvalidParameterError(
            f"expected version {engine.version} of {parameters.engine}, as it is here, got {parameters.version}"
        )
    return engine


def asked(engine: Evaluator, parameters: EngineParameters, boards: Array) -> Array:
    """float32[n, 5]: chances of any boards, held to 0 to 1 and to their order, which moves them by rounding alone."""
    from bgdata.evaluation.lookahead import evaluate_ahead

    ahead = parameters.ply if parameters.engine == "network" else 0  # programs look ahead by themselves
    chances = evaluate_ahead(engine, boards, ahead).chances
    win = np.clip(chances[:, 0], 0, 1)
    win_gammon, lose_gammon = np.clip(chances[:, 1], 0, win), np.clip(chances[:, 3], 0, np.float32(1) - win)
    win_backgammon, lose_backgammon = np.clip(chances[:, 2], 0, win_gammon), np.clip(chances[:, 4], 0, lose_gammon)
    return np.stack([win, win_gammon, win_backgammon, lose_gammon, lose_backgammon], axis=1)


def engine_text(parameters: EngineParameters, inputs: Mapping[str, Table]) -> Array:
    """uint8[n]: name and version of who was asked."""
    if parameters.engine == "network":
        return network_text(parameters.choice(), inputs)
    return np.frombuffer(f"{parameters.engine} {parameters.version}".encode(), np.uint8)


DATASET = EngineLabels()
