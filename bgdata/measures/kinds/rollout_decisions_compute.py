"""Chooses decisions of self-play, and rolls out their better plays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.evaluation.choices import Chooser
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.imports.kinds.positions_compute import flipped_chances
from bgdata.kinds.column_values import constant
from bgdata.kinds.rechecking import check_arrays, check_rows, quickest
from bgdata.measures.kinds.rollout_decisions import DecisionParameters
from bgdata.measures.kinds.shared.benchmarks import ROLLOUTS
from bgdata.measures.kinds.shared.benchmarks_compute import (
    BenchmarkRows,
    decision_columns,
    play_columns,
    rollout_columns,
)
from bgdata.measures.kinds.shared.decision_file import CHANCE_DECIMALS, DECIMALS, with_lines
from bgdata.measures.kinds.shared.decision_sample import SampledTurns, decision_hashes, sampled_turns
from bgdata.selfplay.kinds.shared.rollouts_compute import network_text, open_roller
from bgdata.selfplay.rollout_decisions import roll_out_decision
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Recheck
from bgdata.store.table import Table

CANDIDATES = 8  # of which verify rolls out again those with the fewest games: each takes up to a minute
REPLAYED_GAMES = 1000  # in all; one decision at least
PLAY_DTYPES = {  # what a play has, in arrays `plays_...`, but for its board
    "equities": "float64",
    "standard_errors": "float64",
    "losses": "float64",
    "loss_standard_errors": "float64",
    "trials": "int64",
}


class RolloutDecisionsComputation(Computation[DecisionParameters]):
    """Computation of `rollout_decisions`."""

    def compute(self, build: Build[DecisionParameters]) -> None:
        parameters, inputs, job = build.parameters, build.inputs, build.job
        chooser = open_roller(build).chooser
        sample = sample_of(parameters, inputs["games"], chooser)
        n, most = parameters.decisions, parameters.most_plays
        state: dict[str, Array] = {name: np.zeros((n, most), dtype) for name, dtype in PLAY_DTYPES.items()}
        state["boards"] = np.zeros((n, most, 26), np.int8)
        state["chances"] = np.zeros((n, most, 5), np.float32)
        counts = np.zeros((n, 2), np.int64)  # plays rolled out, and all
        for row in job.steps("decisions", range(n), [1] * n, {**state, "counts": counts}):
            found, n_legal_plays = rollout_arrays(parameters, chooser, sample, row)
            counts[row] = len(found["trials"]), n_legal_plays
            for name, values in found.items():
                state[name][row, : counts[row, 0]] = values
        job.save("decisions_classes", position_classes(sample.boards).astype(np.uint8))
        job.save("network", network_text(parameters, inputs))
        for name, values in sample._asdict().items():
            job.save(f"decisions_{name}", values)
        is_play = np.arange(most) < counts[:, :1]
        plays = {f"plays_{name}": values[is_play] for name, values in state.items()}
        for name, values in {**play_places(counts), **plays}.items():
            job.save(name, values)

    def batches(self, computed: Computed[DecisionParameters]) -> Iterator[pa.RecordBatch]:
        rows = BenchmarkRows(with_lines(computed.arrays), "decisions")
        text = np.asarray(computed.arrays["network"]).tobytes().decode()
        network = constant(text, "VARCHAR", len(rows))
        more = {"n_legal_plays": rows["n_legal_plays"], "game": rows["games"], "turn": rows["turns"]}
        return rows.batches(decision_columns(rows, pa.array(rows["seeds"])), more, {"network": network})

    def side_batches(self, name: str, computed: Computed[DecisionParameters]) -> Iterator[pa.RecordBatch]:
        if name == ROLLOUTS.name:
            rows = BenchmarkRows(with_lines(computed.arrays), "rollouts")
            return rows.batches(rollout_columns(rows))
        rows = BenchmarkRows(computed.arrays, "plays")
        more = {"standard_error": "standard_errors", "loss_standard_error": "loss_standard_errors", "trials": "trials"}
        return rows.batches(play_columns(rows), {column: rows[field] for column, field in more.items()})

    def statistics(self, computed: Computed[DecisionParameters]) -> Mapping[str, float]:
        arrays = computed.arrays
        errors, limits = np.asarray(arrays["plays_standard_errors"]), computed.parameters.limits()
        is_done = (errors <= limits.until) | (np.asarray(arrays["plays_trials"]) < limits.most_trials)
        return {
            "plays": float(len(errors)),
            "mean_standard_error": float(errors.mean()),
            "largest_standard_error": float(errors.max()),
            "reached_share": float(is_done.mean()),
            "mean_loss_standard_error": float(np.asarray(arrays["plays_loss_standard_errors"]).mean()),
            "games": float(np.asarray(arrays["plays_trials"]).sum()),
        }

    def check_sample(self, recheck: Recheck[DecisionParameters]) -> str:
        """Decisions are turns of the corpus; of some, those with the fewest games are rolled out again."""
        table = recheck.table
        arrays = table.arrays()
        chosen = recheck.generator.permutation(len(arrays["decisions_seeds"]))[: min(recheck.rows, CANDIDATES)].tolist()
        check_turns(table, recheck.inputs["games"], chosen)
        check_games(recheck.parameters, table)
        boards, first = np.asarray(arrays["decisions_boards"]), arrays["decisions_first_plays"]
        counts = np.stack([arrays["decisions_n_plays"], arrays["decisions_n_legal_plays"]], axis=1)
        classes, network = position_classes(boards).astype(np.uint8), network_text(recheck.parameters, recheck.inputs)
        check_arrays(table, {**play_places(counts), "decisions_classes": classes, "network": network})
        games = {row: int(arrays["plays_trials"][first[row]] * counts[row, 0]) for row in chosen}
        chooser, rows = open_roller(recheck).chooser, quickest(games, REPLAYED_GAMES)
        for row in rows:
            check_decision(recheck, chooser, row)
        return f"{len(rows)} of {len(boards)} decisions rolled out again, and {len(chosen)} found in the corpus"


def check_decision(recheck: Recheck[DecisionParameters], chooser: Chooser, row: int) -> None:
    """Raise CheckFailedError unless a decision comes out the same when it is rolled out again."""
    table, arrays = recheck.table, recheck.table.arrays()
    sample = SampledTurns(*(np.asarray(arrays[f"decisions_{name}"]) for name in SampledTurns._fields))
    first, count = int(arrays["decisions_first_plays"][row]), int(arrays["decisions_n_plays"][row])
    plays, n_legal_plays = rollout_arrays(recheck.parameters, chooser, sample, row)
    if n_legal_plays != arrays["decisions_n_legal_plays"][row]:
        raise CheckFailedError(f"expected {n_legal_plays} legal plays in decision {row} of {table.name}, found others")
    check_rows(table, np.arange(first, first + count), {f"plays_{name}": values for name, values in plays.items()})


def sample_of(parameters: DecisionParameters, corpus: Table, chooser: Chooser) -> SampledTurns:
    """The decisions. Raises InvalidParameterError for a corpus that has too few."""
    wanted, count = PositionClass[parameters.position_class.upper()], parameters.decisions
    found = sampled_turns(
        corpus,
        wanted,
        count,
        parameters.sample_seed,
        chooser,
        parameters.window(),
        one_per_game=parameters.one_per_game,
    )
    if len(found.seeds) < count:
        raise InvalidParameterError(
            f"expected {count:,} decisions of the class {parameters.position_class} with a play that loses up to "
            f"{parameters.within} in {'as many' if parameters.one_per_game else 'the'} test games of {corpus.name}, "
            f"found {len(found.seeds):,}; try more games"
        )
    return found


def rollout_arrays(
    parameters: DecisionParameters, chooser: Chooser, sample: SampledTurns, row: int
) -> tuple[dict[str, Array], int]:
    """(the arrays of the plays of a decision, the number of its legal plays); they depend on this decision alone."""
    high, low = sample.dice[row].tolist()
    given = sample.boards[row], (high, low), chooser, int(sample.seeds[row]), parameters.how()
    settled_at = parameters.settled_at
    found = roll_out_decision(*given, parameters.window(), parameters.limits(), settled_at=settled_at)
    equities = np.round(found.result.equities, DECIMALS)
    chances = flipped_chances(found.result.legal_chances().astype(np.float64))
    return {
        "boards": found.boards,
        "chances": np.round(chances, CHANCE_DECIMALS).astype(np.float32),
        "equities": equities,
        "standard_errors": found.result.equity_standard_errors,
        "losses": np.round(equities[0] - equities, DECIMALS),
        "loss_standard_errors": found.loss_standard_errors,
        "trials": found.result.trials,
    }, found.n_plays


def play_places(counts: Array) -> dict[str, Array]:
    """Which plays belong to which decision, from int64[n, 2] numbers of plays rolled out and of all."""
    n_plays = np.ascontiguousarray(counts[:, 0])
    first_plays = np.cumsum(n_plays) - n_plays
    decisions = np.repeat(np.arange(len(counts)), n_plays)
    return {
        "decisions_n_legal_plays": counts[:, 1].astype(np.int32),
        "decisions_n_plays": n_plays,
        "decisions_first_plays": first_plays,
        "plays_decisions": decisions,
        "plays_ranks": np.arange(len(decisions)) - first_plays[decisions],
    }


def check_turns(table: Table, corpus: Table, chosen: list[int]) -> None:
    """Raise CheckFailedError unless decisions are the turns of the corpus that they name, with the seeds of those."""
    seed = int(table.manifest.parameters["sample_seed"])
    first_turns, boards, dice = (corpus.array(name) for name in ("first_turns", "turn_boards", "dice"))
    rows = np.array(chosen, np.int64)
    places = first_turns[table.array("decisions_games")[rows]] + table.array("decisions_turns")[rows]
    found, rolls = np.asarray(boards[places]), -np.sort(-np.asarray(dice[places]), axis=1)
    seeds = (decision_hashes(found, rolls, seed) >> np.uint64(1)).astype(np.int64)
    check_rows(table, rows, {"decisions_boards": found, "decisions_dice": rolls, "decisions_seeds": seeds})


def check_games(parameters: DecisionParameters, table: Table) -> None:
    """Raise CheckFailedError for two decisions of one game where there must be none."""
    games, counts = np.unique(table.array("decisions_games"), return_counts=True)
    if parameters.one_per_game and (counts > 1).any():
        raise CheckFailedError(
            f"expected one decision of each game in {table.name}, found {counts.max()} of game {games[counts.argmax()]}"
        )


COMPUTATION = RolloutDecisionsComputation
