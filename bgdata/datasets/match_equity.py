"""Match equity tables that are built here: from a network's opening, or from a post-Crawford row that is given."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bgdata.datasets.common.columns import CHANCE_COLUMNS, POSITION_COLUMNS, chance_columns, position_columns
from bgdata.datasets.common.match_equity import (
    CELL_ARRAYS,
    MATCH_EQUITY,
    MATCH_EQUITY_TABLES,
    MET,
    SCORE_COLUMNS,
    TABLE_ARRAYS,
    Described,
    arrays_of_tables,
    cell_batches,
    score_columns,
    table_batches,
)
from bgdata.datasets.common.rollouts import NetworkChoice, open_roller
from bgdata.equity.cube_life_index import check_cube_life_index
from bgdata.equity.match_equity import MOST_AWAY, MatchEquity
from bgdata.equity.met_induction import OpeningStates, check_gammon_rate, induced_table, post_crawford_row, slopes
from bgdata.equity.stored_met import met_names, met_of_arrays
from bgdata.errors import CheckFailedError, CheckSkippedError, InvalidParameterError, MissingTableError
from bgdata.store.context import Build, Computed, Context, Recheck
from bgdata.store.dataset import Dataset, Estimate, sampled
from bgdata.store.declaration import Column, FlatArray, TableShape
from bgdata.store.parameters import Parameters, number_text, value_text

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.store.arrays import Array

# mwc of the trailer, 1- to 12-away, and gammon rate: computationalbackgammon.blogspot.com, 14 March 2012, by Player 3.3
PUBLISHED_ROW = (0.5, 0.486, 0.319, 0.306, 0.187, 0.1775, 0.113, 0.106, 0.0675, 0.063, 0.0405, 0.0375)
PUBLISHED_RATE = 0.276
MOST_PLY = 2
NOTICE = "Built by bgdata; in the public domain (CC0-1.0)."
STATES = ("state_boards", "state_weights", "state_chances")
GAMMON_POINT = 0.01  # of gammon rate: what sensitivities are per
CLOSE = 1e-12  # verification computes the same, but for the order of sums on other machines

SENSITIVITIES = TableShape(
    name="match_equity_sensitivities",
    file="sensitivities.parquet",
    summary="How mwc at every score would change if more games ended in a gammon.",
    columns=(
        MET,
        *SCORE_COLUMNS,
        Column("mwc_change", "DOUBLE", "chance", "Change of mwc for each point (0.01) of gammon rate"),
    ),
    key=MATCH_EQUITY.key,
)
FIRST_DOUBLES = TableShape(
    name="first_doubles",
    file="first_doubles.parquet",
    summary="The positions in which a trailer can first double: after a roll of the leader, or two of both.",
    columns=(
        Column("state", "INTEGER", "", "Number of the position: the leader's 15 first rolls, then 15 x 21"),
        *POSITION_COLUMNS,
        Column("weight", "DOUBLE", "chance", "How often the game comes there"),
        *CHANCE_COLUMNS,
    ),
    key=("state",),
)


@dataclass(frozen=True)
class MatchEquityParameters(NetworkChoice):
    """Where the post-Crawford row comes from, how many games end in a gammon, how live the cube is, and how many points
    to go the table has.

    The row is that of a network, looking `ply` rolls ahead; or else it is given, as mwc of the trailer from 1-away on.
    Without a gammon rate that of the network's opening counts.
    """

    ply: int = 1
    row: tuple[float, ...] = ()
    gammon_rate: float | None = None
    cube_life_index: float = 1.0
    length: int = 25

    def check_numbers(self) -> None:
        """Raise InvalidParameterError for an index or a rate out of range, and for a row without a rate."""
        check_cube_life_index(self.cube_life_index)
        if self.row and self.gammon_rate is None:
            raise InvalidParameterError("expected a gammon rate from 0 to 1 beside the row, got none")
        if self.gammon_rate is not None:
            check_gammon_rate(self.gammon_rate)


PUBLISHED = MatchEquityParameters(row=PUBLISHED_ROW, gammon_rate=PUBLISHED_RATE, length=12)


class MatchEquityTables(Dataset[MatchEquityParameters]):
    """One row a score, for both kinds of games that a score with 1-away can have."""

    name = "match_equity"
    revision = 2
    summary = "Match equity tables: the chance of winning a match at every score, from how a network opens."
    source = (
        "Computed: post-Crawford games from the 330 positions of first doubles, Crawford games without a cube, and the "
        "rest by Tom Keith's algorithm, mixed with a dead cube as Janowski does"
    )
    columns = MATCH_EQUITY.columns
    key = MATCH_EQUITY.key
    arrays = (
        *TABLE_ARRAYS,
        *CELL_ARRAYS,
        FlatArray("mwc_changes", "float64", "cell", "Change of mwc for each point (0.01) of gammon rate"),
        FlatArray("state_boards", "int8", "state, 26 integers", "Where the trailer, who is on roll, can first double"),
        FlatArray("state_weights", "float64", "state", "How often that comes about"),
        FlatArray("state_chances", "float32", "state, chance", "Five cumulative chances of the trailer, as evaluated"),
    )
    parameters = MatchEquityParameters
    defaults = (
        MatchEquityParameters(cube_life_index=0.8),
        MatchEquityParameters(),
        PUBLISHED,
    )
    smallest = MatchEquityParameters("tiny", "", 3, 3, ply=0, cube_life_index=0.5, length=4)

    @property
    def tables(self) -> tuple[TableShape, ...]:
        return MATCH_EQUITY, MATCH_EQUITY_TABLES, SENSITIVITIES, FIRST_DOUBLES

    def slug(self, parameters: MatchEquityParameters) -> str:
        row, index = parameters.row, number_text(parameters.cube_life_index)
        rate = "" if parameters.gammon_rate is None else number_text(parameters.gammon_rate)
        if row == PUBLISHED_ROW and parameters.gammon_rate == PUBLISHED_RATE:
            first, rate = "published", ""
        elif row:
            first = f"row-{hashlib.sha256(value_text(row).encode()).hexdigest()[:8]}"
        else:
            first = f"{parameters.network}-{parameters.ply}ply"
        rates = f"-gammons-{rate}" if rate else ""
        return re.sub(
            r"[^a-z0-9]+", "-", f"{first}-{parameters.length}{rates}" + (f"-index-{index}" if index != "1" else "")
        )

    def check_parameters(self, parameters: MatchEquityParameters) -> None:
        parameters.check_network()
        if not 0 <= parameters.ply <= MOST_PLY:
            raise InvalidParameterError(f"expected a ply from 0 to {MOST_PLY}, got {parameters.ply}")
        parameters.check_numbers()
        row = parameters.row
        most = len(row) if row else MOST_AWAY
        if not 2 <= parameters.length <= most:
            reason = f", as the row has {most}" if row else ""
            raise InvalidParameterError(f"expected a length of 2 to {most} points{reason}, got {parameters.length}")
        if row:
            MatchEquity.of("the row", np.full((len(row), len(row)), 0.5), row)

    def inputs(self, parameters: MatchEquityParameters) -> Mapping[str, tuple[str, Parameters]]:
        return {} if parameters.row else parameters.network_inputs()

    def estimate(self, parameters: MatchEquityParameters) -> Estimate:
        cells = parameters.length**2 + 2 * parameters.length - 1
        return Estimate(cells, 60 * cells + 60_000, 1 << 27)

    def compute(self, build: Build[MatchEquityParameters]) -> None:
        parameters, job = build.parameters, build.job
        job.progress.start(f"{self.name}/{self.slug(parameters)}", 1, "tables")
        states = {} if parameters.row else states_of(build)
        for name, values in built(self.slug(parameters), parameters, states).items():
            job.save(name, values)
        job.progress.advance(1)

    def batches(self, computed: Computed[MatchEquityParameters]) -> Iterator[pa.RecordBatch]:
        return cell_batches(computed.arrays)

    def side_batches(self, name: str, computed: Computed[MatchEquityParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        arrays = computed.arrays
        if name == MATCH_EQUITY_TABLES.name:
            yield from table_batches(arrays)
        elif name == SENSITIVITIES.name:
            yield pa.record_batch({**score_columns(arrays), "mwc_change": pa.array(np.asarray(arrays["mwc_changes"]))})
        else:
            boards, weights, chances = (np.asarray(arrays[key]) for key in STATES)
            yield pa.record_batch(
                {
                    "state": pa.array(np.arange(len(boards), dtype=np.int32)),
                    **position_columns(boards),
                    "weight": pa.array(weights),
                    **chance_columns(chances),
                }
            )

    def statistics(self, computed: Computed[MatchEquityParameters]) -> Mapping[str, float]:
        arrays = computed.arrays
        met = met_of_arrays(arrays, met_names(arrays)[0])
        found = {"gammon_rate": float(arrays["recipes"][0, 0]), "rounding_error": met.asymmetry}
        if len(arrays["state_weights"]):
            win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = means_of(arrays)
            found |= {"leader_win_bias": win - 0.5, "leader_gammon_bias": (win_gammon - lose_gammon) / 2}
            found["backgammon_rate"] = win_backgammon + lose_backgammon
        return found

    def check_sample(self, recheck: Recheck[MatchEquityParameters]) -> str:
        """The whole table again from its states, and those from the network where it is there."""
        table, parameters = recheck.table, recheck.parameters
        states = {name: np.asarray(table.array(name)) for name in STATES}
        gone = ""
        if not parameters.row:
            try:
                states = states_of(recheck)
            except MissingTableError as error:
                gone = f"the table follows from its states, but these cannot be played again: {error}"
        expected = built(self.slug(parameters), parameters, states)
        for name, values in expected.items():
            found = np.asarray(table.array(name))
            same = found.shape == values.shape and np.allclose(found, values, rtol=0, atol=CLOSE, equal_nan=True)
            if not same:
                raise CheckFailedError(f"expected {name} of {table.name} as they are computed again, found others")
        if gone:
            raise CheckSkippedError(gone)
        return sampled(table.manifest.rows, table.manifest.rows)


def states_of(context: Context[MatchEquityParameters]) -> dict[str, Array]:
    """The states as the network plays and judges them. Raises MissingTableError for a version that is not there."""
    from bgdata.evaluation.lookahead_player import LookaheadPlayer
    from bgdata.play.opening_states import first_doubles

    player = LookaheadPlayer(open_roller(context), context.parameters.ply)
    return dict(zip(STATES, first_doubles(player), strict=True))


def built(name: str, parameters: MatchEquityParameters, states: Mapping[str, Array]) -> dict[str, Array]:
    """Every array of a table, from the states of a network, or without any from the row that is given."""
    if parameters.row:
        states = dict(zip(STATES, (np.zeros((0, 26), np.int8), np.zeros(0), np.zeros((0, 5), np.float32)), strict=True))
    opening = OpeningStates.of_trailer(states["state_weights"], states["state_chances"]).fair()
    rate = parameters.gammon_rate
    rate = opening.gammon_rate if rate is None else rate

    def table(gammon_rate: float) -> MatchEquity:
        row = list(parameters.row[: parameters.length]) or post_crawford_row(
            opening.with_gammon_rate(gammon_rate), parameters.length
        )
        return induced_table(name, row, gammon_rate, parameters.cube_life_index)

    met = table(rate)
    given = "a given post-Crawford row" if parameters.row else f"{parameters.network} {parameters.ply}-ply"
    words = f"{given}, gammon rate {rate:.4f}, cube life index {number_text(parameters.cube_life_index)}"
    description = Described(
        name, met, f"bgdata {name}", words, "built", True, rate, parameters.cube_life_index, notice=NOTICE
    )
    arrays = arrays_of_tables([description])
    changes = GAMMON_POINT * slopes(table, rate)
    return {**arrays, "mwc_changes": changes[:, 1:, 1:][np.isfinite(met.cells[:, 1:, 1:])], **states}


def means_of(arrays: Mapping[str, Array]) -> list[float]:
    """Mean chances of the leader, as evaluated."""
    found: list[float] = OpeningStates.of_trailer(arrays["state_weights"], arrays["state_chances"]).means.tolist()
    return found


DATASET = MatchEquityTables()
