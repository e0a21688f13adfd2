"""Builds match equity tables from a network's opening play, or from a post-Crawford row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.equity.kinds.match_equity import MATCH_EQUITY_TABLES, SENSITIVITIES, MatchEquityParameters
from bgdata.equity.kinds.shared import match_equity_compute as tables
from bgdata.equity.match_equity import MatchEquity, met_names, met_of_arrays
from bgdata.equity.met_induction import OpeningStates, induced_table, post_crawford_row, slopes
from bgdata.errors import CheckFailedError, CheckSkippedError, MissingTableError
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.game.position import START
from bgdata.game.rolls import CHANCES, DICE
from bgdata.kinds.column_values import chance_columns, position_columns
from bgdata.selfplay.kinds.shared.rollouts_compute import open_roller
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck, sample_text
from bgdata.store.parameters import number_text

NOTICE = "Built by bgdata; in the public domain (CC0-1.0)."
STATES = ("state_boards", "state_weights", "state_chances")
GAMMON_POINT = 0.01  # the unit of sensitivities, as a gammon rate
CLOSE = 1e-12  # tolerance of verification: other machines may add numbers in another order


class MatchEquityTablesComputation(Computation[MatchEquityParameters]):
    """Computes datasets of the kind `match_equity`."""

    def compute(self, build: Build[MatchEquityParameters]) -> None:
        parameters, job = build.parameters, build.job
        job.progress.start(job.title, 1, "tables")
        states = {} if parameters.row else opening_states(build)
        for name, values in table_arrays(self.kind.slug(parameters), parameters, states).items():
            job.save(name, values)
        job.progress.advance(1)

    def batches(self, computed: Computed[MatchEquityParameters]) -> Iterator[pa.RecordBatch]:
        return tables.cell_batches(computed.arrays)

    def side_batches(self, name: str, computed: Computed[MatchEquityParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        if name == MATCH_EQUITY_TABLES.name:
            yield from tables.table_batches(arrays)
        elif name == SENSITIVITIES.name:
            yield pa.record_batch(
                {**tables.score_columns(arrays), "mwc_change": pa.array(np.asarray(arrays["mwc_changes"]))}
            )
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
            opening = OpeningStates.from_trailer(arrays["state_weights"], arrays["state_chances"])
            win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = opening.means.tolist()
            found |= {"leader_win_bias": win - 0.5, "leader_gammon_bias": (win_gammon - lose_gammon) / 2}
            found["backgammon_rate"] = win_backgammon + lose_backgammon
        return found

    def check_sample(self, recheck: Recheck[MatchEquityParameters]) -> str:
        """Check a table by computing it again from its opening states, and these states from the network if it is
        available."""
        table, parameters = recheck.table, recheck.parameters
        states = {name: np.asarray(table.array(name)) for name in STATES}
        gone = ""
        if not parameters.row:
            try:
                states = opening_states(recheck)
            except MissingTableError as error:
                gone = f"the table follows from its states, but these cannot be played again: {error}"
        expected = table_arrays(self.kind.slug(parameters), parameters, states)
        for name, values in expected.items():
            found = np.asarray(table.array(name))
            same = found.shape == values.shape and np.allclose(found, values, rtol=0, atol=CLOSE, equal_nan=True)
            if not same:
                raise CheckFailedError(f"expected {name} of {table.name} as they are computed again, found others")
        if gone:
            raise CheckSkippedError(gone)
        return sample_text(table.manifest.rows, table.manifest.rows)


def opening_states(context: Context[MatchEquityParameters]) -> dict[str, Array]:
    """Compute the opening states, in which the trailer can first double, with the network of the parameters. Raises
    MissingTableError if its version is missing."""
    return first_doubles(LookaheadPlayer(open_roller(context).with_all_plays(), context.parameters.ply))


def first_doubles(player: LookaheadPlayer) -> dict[str, Array]:
    """Find the 330 positions in which the trailer of a post-Crawford game can first double, if `player` plays both
    sides by cubeless money equity. Returns boards int8[n, 26] with the trailer on roll, their weights float64[n] and
    five cumulative chances float32[n, 5].

    If the leader wins the opening roll, the trailer can double after it. These 15 positions come first, in the order of
    the rolls. If the trailer wins the opening roll, it can double after the leader's reply: 15 x 21 positions."""
    opened = play_rolls(player, np.array([START.board], np.int8), DICE[DICE[:, 0] != DICE[:, 1]])
    boards, first = np.concatenate([opened, play_rolls(player, opened, DICE)]), 0.5 / len(opened)
    weights = np.concatenate([np.full(len(opened), first), np.tile(first * CHANCES, len(opened))])
    return dict(zip(STATES, (boards, weights, player.evaluate_many(boards).chances), strict=True))


def play_rolls(player: LookaheadPlayer, boards: Array, rolls: Array) -> Array:
    """Play each of m rolls, int8[m, 2], from each of n boards, int8[n, 26]. Returns the boards after the plays, with
    the opponent on roll, as int8[n x m, 26]."""
    every = np.repeat(boards, len(rolls), axis=0)
    return np.ascontiguousarray(player.choose_plays(every, np.tile(rolls, (len(boards), 1))))


def table_arrays(name: str, parameters: MatchEquityParameters, states: Mapping[str, Array]) -> dict[str, Array]:
    """Compute all arrays of the table `name`, from the opening states of a network or from the row in the
    parameters."""
    if parameters.row:
        states = dict(zip(STATES, (np.zeros((0, 26), np.int8), np.zeros(0), np.zeros((0, 5), np.float32)), strict=True))
    opening = OpeningStates.from_trailer(states["state_weights"], states["state_chances"]).fair()
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
    description = tables.MetWithDescription(
        name, met, f"bgdata {name}", words, "built", True, rate, parameters.cube_life_index, notice=NOTICE
    )
    arrays = tables.arrays_of_tables([description])
    changes = GAMMON_POINT * slopes(table, rate)
    return {**arrays, "mwc_changes": changes[:, 1:, 1:][np.isfinite(met.cells[:, 1:, 1:])], **states}


COMPUTATION = MatchEquityTablesComputation
