"""Solves bearoffs in a match backwards, by pip count of both sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.bearoff.kinds.bearoff_match import MatchBearoffParameters
from bgdata.bearoff.kinds.bearoff_two_sided import is_rounded
from bgdata.bearoff.kinds.bearoff_two_sided_compute import ROUNDED_GROUP_ROWS
from bgdata.bearoff.match_states import MatchCube
from bgdata.bearoff.match_table import STEPS, match_columns
from bgdata.bearoff.match_two_sided import MatchPairs, mwc_columns, solve_match_total, start_match
from bgdata.equity.match_equity import MatchEquity
from bgdata.equity.stored_met import met_of_arrays
from bgdata.errors import CheckFailedError
from bgdata.kinds.column_values import constant, dictionary_column, null_columns
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Recheck, sample_text
from bgdata.store.table import Table

COLUMNS = ("cubeless", "owned", "centered", "opponent_owned", "taken")
RECURSION_ERROR = 1e-12  # float64 against exact rational arithmetic, measured: 1e-14
SINGLE_ERROR = 2**-25  # float32 below 1


class BearoffMatchComputation(Computation[MatchBearoffParameters]):
    """Computation of `bearoff_match`."""

    def compute(self, build: Build[MatchBearoffParameters]) -> None:
        parameters = build.parameters
        cube, match = started(parameters, build.inputs)
        totals = list(match.slots.totals)
        sizes = [match.slots.pairs_of(total) for total in totals]
        state = {"cells": match.cells, "no_double": match.no_double}
        for total in build.job.steps("pairs", totals, sizes, state):
            solve_match_total(match, total)
        for name, values in finished(parameters, cube, match).items():
            build.job.save(name, values)

    def batches(self, computed: Computed[MatchBearoffParameters]) -> Iterator[pa.RecordBatch]:
        parameters = computed.parameters
        mwc = computed.arrays["mwc"]
        count, names = len(mwc), match_columns(parameters.score(), parameters.cube_value)
        is_coded = mwc.dtype == np.uint16
        step = max(1, (ROUNDED_GROUP_ROWS if is_coded else self.kind.row_group_rows) // count)
        shown = (np.arange(STEPS + 1) / STEPS).astype(np.float32)
        for start in range(0, count, step):
            rows = np.arange(start, min(count, start + step), dtype=np.int32)
            values = np.asarray(mwc[start : start + len(rows)]).reshape(-1, len(names))
            stored = {f"{name}_mwc": np.ascontiguousarray(values[:, n]) for n, name in enumerate(names)}
            found = {name: dictionary_column(each, shown) if is_coded else each for name, each in stored.items()}
            if parameters.is_crawford:  # nobody may double: the cube stays in the middle
                found["centered_mwc"] = found["cubeless_mwc"]
            unknown = {f"{name}_mwc" for name in COLUMNS} - set(found)
            columns: dict[str, Any] = {
                "on_roll_index": np.repeat(rows, count),
                "opponent_index": np.tile(np.arange(count, dtype=np.int32), len(rows)),
                **score_columns(parameters, computed.arrays, len(values)),
                **found,
                **null_columns(self.kind.columns, unknown, len(values)),
            }
            yield pa.record_batch(columns)

    def statistics(self, computed: Computed[MatchBearoffParameters]) -> Mapping[str, float]:
        won, lost = np.asarray(computed.arrays["results"])[:, 0].tolist()
        return {
            "mwc_error_bound": error_bound(computed.parameters.points, computed.parameters.checkers),
            "double_pass_mwc": won,
            "lost_mwc": lost,
        }

    def check_sample(self, recheck: Recheck[MatchBearoffParameters]) -> str:
        """The whole table again: a row follows from rows of other cubes, and of the score seen by the opponent."""
        table = recheck.table
        cube, match = started(recheck.parameters, recheck.inputs)
        for total in match.slots.totals:
            solve_match_total(match, total)
        for name, expected in finished(recheck.parameters, cube, match).items():
            found = table.array(name)
            wrong = np.argwhere(~(np.abs(found.astype(np.float64) - expected.astype(np.float64)) <= SINGLE_ERROR))
            if len(wrong):
                place = tuple(wrong[0].tolist())
                raise CheckFailedError(
                    f"expected {name} {expected[place]} at {list(place)} in {table.name}, found {found[place]}"
                )
        return sample_text(table.manifest.rows, table.manifest.rows)


def started(parameters: MatchBearoffParameters, inputs: Mapping[str, Table]) -> tuple[MatchCube, MatchPairs]:
    """The cube of the match, and the table before its first step."""
    met = met_of(inputs, parameters)
    met.at(parameters.score())  # refuses a score beyond the table, rather than one that the game leads to
    cube = MatchCube(parameters.score(), met.at)
    return cube, start_match(parameters.points, parameters.checkers, cube, parameters.cube_value)


def finished(parameters: MatchBearoffParameters, cube: MatchCube, match: MatchPairs) -> dict[str, Array]:
    """The arrays of a solved table, rounded once."""
    columns = mwc_columns(match, cube, parameters.cube_value)
    rounded = is_rounded(parameters.points, parameters.checkers)
    mwc = np.empty((*columns[0].shape, len(columns)), np.uint16 if rounded else np.float32)
    for place, column in enumerate(columns):
        mwc[:, :, place] = np.rint(column * STEPS) if rounded else column
    results = [cube.worth(0, parameters.cube_value * factor) for factor in (1, 2)]
    return {"mwc": mwc, "results": np.ascontiguousarray(np.array(results, np.float64).T)}


def score_columns(parameters: MatchBearoffParameters, arrays: Mapping[str, Array], count: int) -> dict[str, Any]:
    """What is the same in every row: the score, the cube, and what the game is worth when it is over."""
    won, lost = np.asarray(arrays["results"])[:, 0].astype(np.float32)
    numbers = {name: getattr(parameters, name) for name in ("away", "opponent_away", "cube_value")}
    return {
        **{name: constant(value, "INTEGER", count) for name, value in numbers.items()},
        "is_crawford": np.full(count, parameters.is_crawford),
        "met": constant(parameters.met, "VARCHAR", count),
        "double_pass_mwc": constant(won, "FLOAT", count),
        "lost_mwc": constant(lost, "FLOAT", count),
    }


def error_bound(points: int, checkers: int) -> float:
    """Largest error of any stored MWC, given the match equity table: rounding, once."""
    return RECURSION_ERROR + (0.5 / STEPS if is_rounded(points, checkers) else SINGLE_ERROR)


def met_of(inputs: Mapping[str, Table], parameters: MatchBearoffParameters) -> MatchEquity:
    """The match equity table that a recipe names. Raises MissingTableError."""
    return met_of_arrays(inputs["met"].arrays(), parameters.met)


COMPUTATION = BearoffMatchComputation
