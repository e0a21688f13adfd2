"""Bearoffs in a match: exact match winning chances of every pair of layouts at one score and cube value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bgdata.bearoff.index import MAX_POINTS, layout_count
from bgdata.bearoff.match_states import MatchCube, start_states
from bgdata.bearoff.match_table import STEPS, match_columns
from bgdata.datasets.bearoff_two_sided import ROUNDED_GROUP_ROWS, is_rounded
from bgdata.datasets.common.columns import constant, decoded, null_columns
from bgdata.datasets.common.sources import variant_input, variant_recipe
from bgdata.datasets.match_equity import DATASET as MATCH_EQUITY
from bgdata.equity.stored_met import KINDS, met_names, met_of_arrays
from bgdata.errors import CheckFailedError, InvalidParameterError, InvalidScoreError, MissingTableError
from bgdata.game.match import MatchScore
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Dataset, Estimate, sampled
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import NONE_GIVEN, Given, Parameters, VersionRef

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.bearoff.match_two_sided import MatchPairs
    from bgdata.equity.match_equity import MatchEquity
    from bgdata.store.arrays import Array
    from bgdata.store.table import Table
    from bgdata.store.versions import Versions

MOST_CHECKERS = 14  # with 15 a gammon is possible
MOST_AWAY = 64  # of match equity tables
COLUMNS = ("cubeless", "owned", "centered", "opponent_owned", "taken")
RECURSION_ERROR = 1e-12  # float64 against exact rational arithmetic, measured: 1e-14
SINGLE_ERROR = 2**-25  # float32 below 1
DEFAULT_MET = MATCH_EQUITY.slug(MATCH_EQUITY.defaults[0])


@dataclass(frozen=True)
class MatchBearoffParameters(Parameters):
    """Both sides have up to `checkers` on points 1 to `points`; the player on roll needs `away` points, and
    `is_crawford` tells the Crawford game.

    `met` is the name of a match equity table. `met_source` is the kind/variant that holds it, match_equity/MET where
    not given, and `met_recipe` what `_sources.variant_input` needs to know of that.
    """

    points: int = 6
    checkers: int = 6
    away: int = 5
    opponent_away: int = 5
    is_crawford: bool = False
    cube_value: int = 1
    met: str = DEFAULT_MET
    met_source: VersionRef | None = None
    met_recipe: Given = NONE_GIVEN

    def score(self) -> MatchScore:
        """The score. Raises InvalidScoreError."""
        return MatchScore(self.away, self.opponent_away, self.is_crawford)

    def source(self) -> VersionRef:
        """The variant that holds the match equity table."""
        return self.met_source or VersionRef(KINDS[0], self.met)


class BearoffMatch(Dataset[MatchBearoffParameters]):
    """Every ordered pair, the pairs with an empty side included."""

    name = "bearoff_match"
    revision = 2  # 2: Parquet holds all columns, as SQL shows them
    summary = (
        "Exact match winning chances of every pair of bearoff layouts at one score and cube value, for the player on "
        "roll who does not double now: optimal play and cube from there on, by a match equity table."
    )
    source = "Computed: backward recursion over all legal plays and cube actions, at every cube value still to come"
    columns = (
        Column("on_roll_index", "INTEGER", "", "Position index of the player on roll"),
        Column("opponent_index", "INTEGER", "", "Position index of the opponent"),
        Column("away", "INTEGER", "points", "Points that the player on roll still needs to win the match"),
        Column("opponent_away", "INTEGER", "points", "Points that the opponent still needs"),
        Column("is_crawford", "BOOLEAN", "", "Whether this is the Crawford game, in which nobody may double"),
        Column("cube_value", "INTEGER", "", "Value of the cube"),
        Column("met", "VARCHAR", "", "Name of the match equity table"),
        Column("cubeless_mwc", "FLOAT", "chance", "MWC if the cube is never turned again"),
        Column("owned_mwc", "FLOAT", "chance", "No-double MWC when the player on roll owns the cube; null at 1"),
        Column("centered_mwc", "FLOAT", "chance", "No-double MWC when the cube is in the middle; null above 1"),
        Column("opponent_owned_mwc", "FLOAT", "chance", "MWC when the opponent owns the cube; null at 1"),
        Column("taken_mwc", "FLOAT", "chance", "MWC after a double that is taken; null in the Crawford game"),
        Column("double_pass_mwc", "FLOAT", "chance", "MWC after winning the points on the cube, as by a pass"),
        Column("lost_mwc", "FLOAT", "chance", "MWC after losing the points on the cube"),
    )
    key = ("on_roll_index", "opponent_index")
    arrays = (
        FlatArray(
            "mwc",
            "float32",
            "on-roll index, opponent index, column",
            "MWC; in tables of more than 10 million pairs uint16 codes, mwc = code / 65535. Columns: cubeless; with a "
            "cube of 1 centered, above 1 owned and opponent's; and after a double that is taken, where one is allowed",
        ),
        FlatArray("results", "float64", "(won, lost), (this cube, twice the cube)", "MWC of the player after the game"),
    )
    parameters = MatchBearoffParameters
    defaults = (MatchBearoffParameters(), MatchBearoffParameters(away=3, opponent_away=5))
    smallest = MatchBearoffParameters(3, 3, 2, 3, met=MATCH_EQUITY.slug(MATCH_EQUITY.smallest))

    def slug(self, parameters: MatchBearoffParameters) -> str:
        crawford = "-crawford" if parameters.is_crawford else ""
        return (
            f"{parameters.points}x{parameters.checkers}-away-{parameters.away}-{parameters.opponent_away}{crawford}"
            f"-cube-{parameters.cube_value}-{parameters.met}"
        )

    def check_parameters(self, parameters: MatchBearoffParameters) -> None:
        if not (1 <= parameters.points <= MAX_POINTS and 1 <= parameters.checkers <= MOST_CHECKERS):
            raise InvalidParameterError(
                f"expected 1 to {MAX_POINTS} points and 1 to {MOST_CHECKERS} checkers, "
                f"got {parameters.points} points and {parameters.checkers} checkers"
            )
        if not all(1 <= away <= MOST_AWAY for away in (parameters.away, parameters.opponent_away)):
            raise InvalidParameterError(
                f"expected 1 to {MOST_AWAY} points to go, got {parameters.away}-away {parameters.opponent_away}-away"
            )
        if not re.fullmatch(r"[a-z0-9-]+", parameters.met):
            raise InvalidParameterError(f"expected the name of a match equity table, got {parameters.met!r}")
        if not 1 <= parameters.cube_value < 4 * MOST_AWAY:
            raise InvalidParameterError(f"expected a cube value of 1 to {2 * MOST_AWAY}, got {parameters.cube_value}")
        try:
            start_states(parameters.score(), parameters.cube_value)
        except InvalidScoreError as error:
            raise InvalidParameterError(str(error)) from None
        self.inputs(parameters)

    def completed(self, parameters: MatchBearoffParameters, warehouse: Versions) -> MatchBearoffParameters:
        """With the variant that has the match equity table. Raises MissingTableError."""
        known = [MATCH_EQUITY.slug(each) for each in (*MATCH_EQUITY.defaults, MATCH_EQUITY.smallest)]
        if parameters.met_source or parameters.met in known:
            return parameters
        have = list(known)
        for name in KINDS:
            for table in warehouse.current(name):
                names = met_names(table.arrays())
                if parameters.met in names:
                    source, recipe = VersionRef(name, table.manifest.variant), variant_recipe(warehouse, table)
                    return replace(parameters, met_source=source, met_recipe=recipe)
                have += names
        raise MissingTableError(
            f"expected a match equity table among {', '.join(dict.fromkeys(have))}, got {parameters.met}"
        )

    def inputs(self, parameters: MatchBearoffParameters) -> Mapping[str, tuple[str, Parameters]]:
        from bgdata.datasets import all_kinds

        source = parameters.source()
        kind = all_kinds().get(source.kind)
        if kind is None or source.kind not in KINDS:
            raise InvalidParameterError(f"expected a table of match equities, such as match_equity/NAME, got {source}")
        return {"met": variant_input(kind, source.variant, parameters.met_recipe)}

    def estimate(self, parameters: MatchBearoffParameters) -> Estimate:
        count = layout_count(parameters.points, parameters.checkers)
        columns = len(match_columns(parameters.score(), parameters.cube_value))
        most = max(parameters.away, parameters.opponent_away)
        states = 1 + sum(4 for level in range(8) if parameters.cube_value <= 2**level < most)
        item = 2 if is_rounded(parameters.points, parameters.checkers) else 4
        return Estimate(
            rows=count * count,
            disk_bytes=count * count * 2 * columns * item + count * count,
            memory_bytes=count * (count + 8) * 8 * (states + 4) + count * 21 * 6 * parameters.points * 8 + 2**28,
            checkpoint_bytes=count * (count + 8) * 8 * (states + 1),
        )

    def compute(self, build: Build[MatchBearoffParameters]) -> None:
        from bgdata.bearoff.match_two_sided import solve_match_total
        from bgdata.bearoff.two_sided import pairs_of_total

        parameters = build.parameters
        cube, match = started(parameters, build.inputs)
        totals = list(match.pairs.totals)
        sizes = [pairs_of_total(match.pairs, total) for total in totals]
        state = {"cells": match.pairs.cells, "no_double": match.no_double}
        for total in build.job.steps(f"{self.name}/{self.slug(parameters)}", "pairs", totals, sizes, state):
            solve_match_total(match, total)
        for name, values in finished(parameters, cube, match).items():
            build.job.save(name, values)

    def batches(self, computed: Computed[MatchBearoffParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        parameters = computed.parameters
        mwc = computed.arrays["mwc"]
        count, names = len(mwc), match_columns(parameters.score(), parameters.cube_value)
        is_coded = mwc.dtype == np.uint16
        step = max(1, (ROUNDED_GROUP_ROWS if is_coded else self.row_group_rows) // count)
        shown = (np.arange(STEPS + 1) / STEPS).astype(np.float32)
        for start in range(0, count, step):
            rows = np.arange(start, min(count, start + step), dtype=np.int32)
            values = np.asarray(mwc[start : start + len(rows)]).reshape(-1, len(names))
            stored = {f"{name}_mwc": np.ascontiguousarray(values[:, n]) for n, name in enumerate(names)}
            found = {name: decoded(each, shown) if is_coded else each for name, each in stored.items()}
            if parameters.is_crawford:  # nobody may double: the cube stays in the middle
                found["centered_mwc"] = found["cubeless_mwc"]
            unknown = {f"{name}_mwc" for name in COLUMNS} - set(found)
            columns: dict[str, Any] = {
                "on_roll_index": np.repeat(rows, count),
                "opponent_index": np.tile(np.arange(count, dtype=np.int32), len(rows)),
                **score_columns(parameters, computed.arrays, len(values)),
                **found,
                **null_columns(self.columns, unknown, len(values)),
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
        from bgdata.bearoff.match_two_sided import solve_match_total

        table = recheck.table
        cube, match = started(recheck.parameters, recheck.inputs)
        for total in match.pairs.totals:
            solve_match_total(match, total)
        for name, expected in finished(recheck.parameters, cube, match).items():
            found = table.array(name)
            wrong = np.argwhere(~(np.abs(found.astype(np.float64) - expected.astype(np.float64)) <= SINGLE_ERROR))
            if len(wrong):
                place = tuple(wrong[0].tolist())
                raise CheckFailedError(
                    f"expected {name} {expected[place]} at {list(place)} in {table.name}, found {found[place]}"
                )
        return sampled(table.manifest.rows, table.manifest.rows)


def started(parameters: MatchBearoffParameters, inputs: Mapping[str, Table]) -> tuple[MatchCube, MatchPairs]:
    """What the cube can do, and the table before its first step."""
    from bgdata.bearoff.match_two_sided import start_match

    met = met_of(inputs, parameters)
    met.at(parameters.score())  # refuses a score beyond the table, rather than one that the game leads to
    cube = MatchCube(parameters.score(), met.at)
    return cube, start_match(parameters.points, parameters.checkers, cube, parameters.cube_value)


def finished(parameters: MatchBearoffParameters, cube: MatchCube, match: MatchPairs) -> dict[str, Array]:
    """The arrays of a solved table, rounded once."""
    from bgdata.bearoff.match_two_sided import mwc_columns

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


DATASET = BearoffMatch()
