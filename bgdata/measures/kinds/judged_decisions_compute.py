"""Has a judge roll out the plays of decisions again, and orders the plays by its values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.errors import BgdataError, CheckSkippedError
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.play_rollouts import RollOutPlays, Values, roll_out_plays_by_bgsage, roll_out_plays_by_gnubg
from bgdata.evaluation.player import open_player_of_version
from bgdata.evaluation.players import PROGRAMS
from bgdata.game.codec import Boards, flip_boards
from bgdata.kinds import all_kinds
from bgdata.kinds.column_values import constant, text_arrays, text_column
from bgdata.kinds.rechecking import cheapest_rows, check_arrays, check_rows
from bgdata.measures.kinds.judged_decisions import JudgementParameters
from bgdata.measures.kinds.rollout_decisions_compute import DECIMALS, REPLAYED_GAMES
from bgdata.measures.kinds.shared import benchmarks_compute as benchmarks
from bgdata.measures.kinds.shared.benchmarks_compute import BenchmarkRows
from bgdata.selfplay.kinds.shared.rollouts_compute import player_tables
from bgdata.selfplay.rollout import Limits, RolloutSettings, roll_out
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck, sample_text
from bgdata.store.shards import compute_shards, context_of, opened_once, ranges, work_of
from bgdata.store.table import Table
from bgdata.store.worker_inputs import Settings

BY_PROGRAMS: dict[str, RollOutPlays] = {"gnubg": roll_out_plays_by_gnubg, "bgsage": roll_out_plays_by_bgsage}
KEPT = ("plays_decisions", "plays_ranks")  # arrays of plays that do not depend on the judge
RollOutRound = Callable[[Array, int], tuple[Values, Values]]
"""A function that plays one round of rollouts. From int64[k] plays and the number of the round, it returns equities and
standard errors."""


class JudgedDecisionsComputation(Computation[JudgementParameters]):
    """Computes `judged_decisions`: has a judge roll out the plays of decisions again."""

    def compute(self, build: Build[JudgementParameters]) -> None:
        Judge(build)  # if this raises, it does so before all the work
        parameters, job = build.parameters, build.job
        players = player_tables(parameters.judge, build.warehouse, has_tables=parameters.tables)
        work = work_of(build, f"{__name__}:judge_rows", build.inputs, players)
        count = len(build.inputs["decisions"].array("decisions_seeds"))
        shards = list(compute_shards(job, "decisions", work, ranges(count, 1)))
        judged = {name: np.concatenate([shard[name] for shard in shards]) for name in shards[0]}
        for name, values in {**kept_arrays(build), **judged}.items():
            job.save(name, values)

    def batches(self, computed: Computed[JudgementParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        n_plays = np.asarray(arrays["decisions_n_plays"])
        rows = BenchmarkRows({**arrays, "decisions_lines": 1 + np.cumsum(n_plays + 2)}, "decisions")
        (judge,) = text_column(arrays, "judge").to_pylist()
        more = {"n_legal_plays": rows["n_legal_plays"], "game": rows["games"], "turn": rows["turns"]}
        named = {"network": constant(judge, "VARCHAR", len(rows))}
        return rows.batches(benchmarks.decision_columns(rows, pa.array(rows["seeds"])), more, named)

    def side_batches(self, _name: str, computed: Computed[JudgementParameters]) -> Iterator[pa.RecordBatch]:
        rows = BenchmarkRows(computed.arrays, "plays")
        more = {"standard_error": "standard_errors", "loss_standard_error": "loss_standard_errors", "trials": "trials"}
        return rows.batches(benchmarks.play_columns(rows), {column: rows[field] for column, field in more.items()})

    def statistics(self, computed: Computed[JudgementParameters]) -> Mapping[str, float]:
        errors, trials = (np.asarray(computed.arrays[f"plays_{name}"]) for name in ("standard_errors", "trials"))
        return {
            "plays": float(len(errors)),
            "mean_standard_error": float(errors.mean()),
            "largest_standard_error": float(errors.max()),
            "games": float(trials.sum()),
        }

    def check_sample(self, recheck: Recheck[JudgementParameters]) -> str:
        """Compare the decisions with those of the set. If this version of the judge is installed, let it judge again
        some of the decisions that took few games."""
        table = recheck.table
        check_arrays(table, kept_arrays(recheck))
        try:
            judge = Judge(recheck)
        except BgdataError as error:
            raise CheckSkippedError(
                f"the decisions are those of the set, but the judge cannot be asked: {error}"
            ) from None
        first, counts = (np.asarray(table.array(f"decisions_{name}")) for name in ("first_plays", "n_plays"))
        games = np.add.reduceat(np.asarray(table.array("plays_trials")), first)
        chosen = recheck.generator.permutation(len(first))[: recheck.rows].tolist()
        rows = cheapest_rows({row: int(games[row]) for row in chosen}, REPLAYED_GAMES)
        for row in rows:
            check_rows(table, np.arange(first[row], first[row] + counts[row]), judge.plays_of(row))
        return sample_text(len(rows), len(first), "decisions")


class Judge:
    """The judge that the parameters name, and the decisions. Raises UnknownPlayerError if the judge is not installed,
    and InvalidParameterError if it has another version."""

    def __init__(self, context: Context[JudgementParameters]) -> None:
        self.parameters = parameters = context.parameters
        self.decisions: Table = context.inputs["decisions"]
        self.player = open_player_of_version(
            *parameters.player, parameters.version, context.warehouse, tables=parameters.tables
        )

    def plays_of(self, row: int) -> dict[str, Array]:
        """Return the arrays of a decision's plays, best first. They do not depend on other decisions."""
        arrays = self.decisions.arrays()
        begin, count = (int(arrays[f"decisions_{name}"][row]) for name in ("first_plays", "n_plays"))
        boards = np.asarray(arrays["plays_boards"][begin : begin + count])
        high, low = np.asarray(arrays["decisions_dice"][row]).tolist()
        seed = int(arrays["decisions_seeds"][row]) + 1  # other dice than in the set's own rollouts

        def roll_out_round(plays: Array, number: int) -> tuple[Values, Values]:
            return self.roll_out(arrays["decisions_boards"][row], (high, low), boards[plays], seed + number)

        settled_at = self.parameters.settled_at
        equities, errors, trials = roll_out_in_rounds(roll_out_round, count, self.parameters.limits(), settled_at)
        order = np.argsort(-equities, kind="stable")
        equities, errors = np.round(equities[order], DECIMALS), np.round(errors[order], DECIMALS)
        losses = np.hypot(errors, errors[0])
        losses[0] = 0.0
        found = {
            "boards": boards[order],
            "equities": equities,
            "standard_errors": errors,
            "losses": np.round(equities[0] - equities, DECIMALS),
            "loss_standard_errors": np.round(losses, DECIMALS),
            "trials": trials[order],
        }
        return {f"plays_{name}": values for name, values in found.items()}

    def roll_out(self, board: Boards, roll: tuple[int, int], after: Boards, seed: int) -> tuple[Values, Values]:
        """Play one round of rollouts. Returns equities of the player who moves, and standard errors. `after` are boards
        of the OPPONENT, who is on roll. Raises the errors of the judge."""
        wanted = self.parameters
        if wanted.judge in PROGRAMS:
            own = np.ascontiguousarray(flip_boards(after))
            return BY_PROGRAMS[wanted.judge](board, roll, own, wanted.ply, wanted.trials, seed)
        assert isinstance(self.player, NetworkPlayer)
        items, settings = np.zeros(len(after), np.int64), RolloutSettings(play_ply=wanted.ply)
        boards = np.ascontiguousarray(after)
        found = roll_out(boards, self.player.chooser, Limits(wanted.trials), seed, settings, items=items)
        return -found.equities, found.equity_standard_errors


def roll_out_in_rounds(
    roll_out_round: RollOutRound, count: int, limits: Limits, settled_at: float
) -> tuple[Values, Values, Array]:
    """Roll out plays, and return their equities and standard errors, float64[count] each, and their numbers of games,
    as int64[count]. After each round, plays that are more than `settled_at` standard errors behind the best get no more
    games. If the best play is alone, no play gets more games."""
    sums, squares, rounds = np.zeros(count), np.zeros(count), np.zeros(count, np.int64)
    is_open = np.ones(count, bool)
    while is_open.any():
        plays = np.flatnonzero(is_open)
        equities, errors = roll_out_round(plays, int(rounds.max()))
        sums[plays] += equities
        squares[plays] += errors**2
        rounds[plays] += 1
        means, spread = sums / rounds, np.sqrt(squares) / rounds
        best = means.argmax()
        is_close = means[best] - means <= settled_at * np.hypot(spread, spread[best])
        is_done = (spread <= limits.until) | (rounds * limits.trials >= limits.most)
        is_open = is_close & ~is_done & (is_close.sum() > 1)
    return means, spread, rounds * limits.trials


def judge_rows(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Return the arrays of the plays of the decisions from `begin` to before `end`."""
    judge = opened_once(open_judge, settings)
    found = [judge.plays_of(row) for row in range(begin, end)]
    return {name: np.concatenate([plays[name] for plays in found]) for name in found[0]}


def open_judge(settings: Settings) -> Judge:
    """Open what `judge_rows` needs, from its settings."""
    return Judge(context_of(settings, JudgementParameters, all_kinds()))


def kept_arrays(context: Context[JudgementParameters]) -> dict[str, Array]:
    """Return the arrays that do not depend on the judge's values, and the name of the judge."""
    arrays = context.inputs["decisions"].arrays()
    names = [name for name in arrays if name.startswith("decisions_")]
    judge = f"{context.parameters.judge} {context.parameters.version}"
    return {**{name: np.asarray(arrays[name]) for name in (*names, *KEPT)}, **text_arrays("judge", [judge])}


COMPUTATION = JudgedDecisionsComputation
