"""Solves match bearoffs backwards, by the pip count of both sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.bearoff.kinds.bearoff_match import MatchBearoffParameters
from bgdata.bearoff.kinds.bearoff_two_sided import is_rounded
from bgdata.bearoff.kinds.bearoff_two_sided_compute import ROUNDED_GROUP_ROWS, pair_groups
from bgdata.bearoff.match_table import STEPS, MatchCube, match_columns
from bgdata.bearoff.match_two_sided import MatchPairs, mwc_columns, solve_match, solve_match_total, start_match
from bgdata.equity.match_equity import met_of_arrays
from bgdata.errors import CheckFailedError
from bgdata.kinds.column_values import constant, dictionary_column, null_columns
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Recheck, sample_text
from bgdata.store.table import Table

COLUMNS = ("cubeless", "owned", "centered", "opponent_owned", "taken")
RECURSION_ERROR = 1e-12  # error of float64, compared with exact rational arithmetic; measured: 1e-14
SINGLE_ERROR = 2**-25  # error of a float32 below 1


class BearoffMatchComputation(Computation[MatchBearoffParameters]):
    """Computes datasets of the kind `bearoff_match`."""

    def compute(self, build: Build[MatchBearoffParameters]) -> None:
        parameters = build.parameters
        cube = match_cube(parameters, build.inputs)
        match = start_match(parameters.points, parameters.checkers, cube, parameters.cube_value)
        totals = list(match.slots.totals)
        sizes = [match.slots.pairs_of(total) for total in totals]
        state = {"cells": match.cells, "no_double": match.no_double}
        for total in build.job.steps("pairs", totals, sizes, state):
            solve_match_total(match, total)
        for name, values in rounded_arrays(parameters, cube, match).items():
            build.job.save(name, values)

    def batches(self, computed: Computed[MatchBearoffParameters]) -> Iterator[pa.RecordBatch]:
        parameters = computed.parameters
        mwc = computed.arrays["mwc"]
        count, names = len(mwc), match_columns(parameters.score(), parameters.cube_value)
        is_coded = mwc.dtype == np.uint16
        shown = (np.arange(STEPS + 1) / STEPS).astype(np.float32)
        won, lost = np.asarray(computed.arrays["results"])[:, 0].astype(np.float32)
        alike = {  # the columns that are equal in every row
            **{name: (getattr(parameters, name), "INTEGER") for name in ("away", "opponent_away", "cube_value")},
            "met": (parameters.met, "VARCHAR"),
            "double_pass_mwc": (won, "FLOAT"),
            "lost_mwc": (lost, "FLOAT"),
        }
        most = ROUNDED_GROUP_ROWS if is_coded else self.kind.row_group_rows
        for rows, indexes in pair_groups(count, most, (0, count)):
            values = np.asarray(mwc[rows[0] : rows[-1] + 1]).reshape(-1, len(names))
            stored = {f"{name}_mwc": np.ascontiguousarray(values[:, n]) for n, name in enumerate(names)}
            found = {name: dictionary_column(each, shown) if is_coded else each for name, each in stored.items()}
            if parameters.is_crawford:  # no doubling, so the cube stays centered
                found["centered_mwc"] = found["cubeless_mwc"]
            unknown = {f"{name}_mwc" for name in COLUMNS} - set(found)
            columns: dict[str, Any] = {
                **indexes,
                **{name: constant(value, type_, len(values)) for name, (value, type_) in alike.items()},
                "is_crawford": np.full(len(values), parameters.is_crawford),
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
        """Check a table by computing all of it again: a row depends on rows with other cubes, and at the score as the
        opponent sees it."""
        table, parameters = recheck.table, recheck.parameters
        cube = match_cube(parameters, recheck.inputs)
        match = solve_match(parameters.points, parameters.checkers, cube, parameters.cube_value)
        for name, expected in rounded_arrays(parameters, cube, match).items():
            found = table.array(name)
            wrong = np.argwhere(~(np.abs(found.astype(np.float64) - expected.astype(np.float64)) <= SINGLE_ERROR))
            if len(wrong):
                place = tuple(wrong[0].tolist())
                raise CheckFailedError(
                    f"expected {name} {expected[place]} at {list(place)} in {table.name}, found {found[place]}"
                )
        return sample_text(table.manifest.rows, table.manifest.rows)


def match_cube(parameters: MatchBearoffParameters, inputs: Mapping[str, Table]) -> MatchCube:
    """Make the cube of the match, with the match equity table that the parameters name. Raises MissingTableError if the
    warehouse does not contain that table."""
    met = met_of_arrays(inputs["met"].arrays(), parameters.met)
    met.at(parameters.score())  # raises here for a score beyond the table, and not later for another score
    return MatchCube(parameters.score(), met.at)


def rounded_arrays(parameters: MatchBearoffParameters, cube: MatchCube, match: MatchPairs) -> dict[str, Array]:
    """Return the arrays of a solved table as they are stored. Each value is rounded once."""
    columns = mwc_columns(match, cube, parameters.cube_value)
    rounded = is_rounded(parameters.points, parameters.checkers)
    mwc = np.empty((*columns[0].shape, len(columns)), np.uint16 if rounded else np.float32)
    for place, column in enumerate(columns):
        mwc[:, :, place] = np.rint(column * STEPS) if rounded else column
    results = [cube.worth(0, parameters.cube_value * factor) for factor in (1, 2)]
    return {"mwc": mwc, "results": np.ascontiguousarray(np.array(results, np.float64).T)}


def error_bound(points: int, checkers: int) -> float:
    """Return the largest error of a stored MWC, which is rounded once. The match equity table is assumed to be
    exact."""
    return RECURSION_ERROR + (0.5 / STEPS if is_rounded(points, checkers) else SINGLE_ERROR)


COMPUTATION = BearoffMatchComputation
