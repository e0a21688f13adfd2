"""Asks another program, or a network that looks ahead, about each position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bgdata.errors import CheckSkippedError, InvalidParameterError, UnknownPlayerError
from bgdata.evaluation.chances import Evaluator, ordered_chances
from bgdata.evaluation.lookahead import evaluate_ahead
from bgdata.evaluation.player import as_evaluator, open_player_of_version
from bgdata.kinds.rechecking import check_arrays, check_chances
from bgdata.selfplay.kinds.engine_labels import EngineParameters
from bgdata.selfplay.kinds.shared.games_compute import (
    RowsComputation,
    places_of,
)
from bgdata.selfplay.kinds.shared.rollouts_compute import SAMPLE_ROWS, network_text, open_roller
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computed, Context, Recheck, sampled
from bgdata.store.table import Table

STEP = 4096  # positions asked for at a time at ply 0, between which a killed run goes on: programs are slow to start


class EngineLabelsComputation(RowsComputation[EngineParameters]):
    """Computation of `engine_labels`."""

    def compute(self, build: Build[EngineParameters]) -> None:
        parameters, inputs, job = build.parameters, build.inputs, build.job
        engine = open_engine(build)
        places = places_of(inputs["source"])
        n, step = len(places.boards), max(1, STEP >> 3 * parameters.ply)
        state: dict[str, Array] = {"chances": np.zeros((n, 5), np.float32)}

        def ask(rows: slice) -> dict[str, Array]:
            return {"chances": chances_by(engine, parameters, places.boards[rows])}

        job.fill("positions", state, step, ask)
        for name, values in {**places._asdict(), **state}.items():
            job.save(name, values)
        job.save("engine", engine_text(parameters, inputs))

    def own_columns(self, found: Mapping[str, Array], computed: Computed[EngineParameters]) -> dict[str, Any]:
        return {"ply": np.full(len(found["rows"]), computed.parameters.ply, np.int32)}

    def check_sample(self, recheck: Recheck[EngineParameters]) -> str:
        """Find the places again, and ask for some of them where the program of that version is installed."""
        table = recheck.table
        places = places_of(recheck.inputs["source"])
        check_arrays(table, places._asdict() | {"engine": engine_text(recheck.parameters, recheck.inputs)})
        try:
            engine = open_engine(recheck)
        except (UnknownPlayerError, InvalidParameterError) as error:
            raise CheckSkippedError(
                f"the positions are those of the source, but the engine cannot be asked: {error}"
            ) from error
        chosen = np.sort(recheck.generator.permutation(len(places.rows))[: min(recheck.rows, 10 * SAMPLE_ROWS)])
        check_chances(table, chosen, chances_by(engine, recheck.parameters, places.boards[chosen]))
        return sampled(len(chosen), len(places.rows))


def open_engine(context: Context[EngineParameters]) -> Evaluator:
    """Who is asked. Raises UnknownPlayerError for a program that is not installed or does not look so far,
    InvalidParameterError for another version of it, and MissingTableError for a network that is not there."""
    parameters = context.parameters
    if parameters.engine == "network":
        return open_roller(Context(parameters.choice(), context.inputs, context.warehouse))
    return as_evaluator(
        parameters.engine, open_player_of_version(parameters.engine, parameters.ply, parameters.version)
    )


def chances_by(engine: Evaluator, parameters: EngineParameters, boards: Array) -> Array:
    """float32[n, 5]: chances of any boards, held to 0 to 1 and to their order, which moves them by rounding alone."""
    ahead = parameters.ply if parameters.engine == "network" else 0  # programs look ahead by themselves
    return ordered_chances(evaluate_ahead(engine, boards, ahead).chances)


def engine_text(parameters: EngineParameters, inputs: Mapping[str, Table]) -> Array:
    """uint8[n]: name and version of the engine."""
    if parameters.engine == "network":
        return network_text(parameters.choice(), inputs)
    return np.frombuffer(f"{parameters.engine} {parameters.version}".encode(), np.uint8)


COMPUTATION = EngineLabelsComputation
