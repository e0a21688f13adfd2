"""Chooses decisions of self-play, rolls out their better plays, and writes them as a benchmark file.

Decisions are the turns with the lowest hashes in the test games of a corpus.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.evaluation.choices import Chooser
from bgdata.formats import gnubg_benchmark as tables
from bgdata.formats.gnubg_benchmark import parse_gnubg_benchmark
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.game.random import mix_bits
from bgdata.imports.kinds.positions_compute import flipped_chances
from bgdata.kinds.column_values import constant
from bgdata.kinds.rechecking import cheapest_rows, check_arrays, check_rows
from bgdata.measures.kinds.rollout_decisions import DecisionParameters
from bgdata.measures.kinds.shared import benchmarks_compute as benchmarks
from bgdata.measures.kinds.shared.benchmarks import ROLLOUTS
from bgdata.measures.kinds.shared.benchmarks_compute import BenchmarkRows
from bgdata.selfplay.kinds.shared.games_compute import board_hashes, file_classes, turn_places
from bgdata.selfplay.kinds.shared.rollouts_compute import network_text, network_versions, open_roller
from bgdata.selfplay.rollout_decisions import roll_out_decision, static_losses
from bgdata.selfplay.splits import SPLITS, splits_of_games
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Recheck
from bgdata.store.shards import compute_shards, context_of, opened_once, ranges, work_of
from bgdata.store.table import Table
from bgdata.store.worker_inputs import Settings

CANDIDATES = 8  # decisions of which verify rolls out again those with the fewest games, up to a minute each
REPLAYED_GAMES = 1000  # games that verify rolls out in all, but at least one decision
CHUNK = 256  # turns whose plays are evaluated at a time
MIN_LOSS = 0.001  # points that some play of the window must lose; otherwise there is nothing to decide
DECIMALS = 7  # decimals of equities and losses, as in the newer lines of gnubg's files
CHANCE_DECIMALS = 6


class SampledTurns(NamedTuple):
    """Turns of a corpus that are decisions of the benchmark, in the order of their hashes."""

    seeds: Array  # int64[n] half of the hash; also the seeds of the rollouts
    boards: Array  # int8[n, 26] of the player on roll
    dice: Array  # int8[n, 2] the higher die first
    games: Array  # int32[n]
    turns: Array  # int32[n]

    def rows(self, chosen: Array | slice) -> SampledTurns:
        """Return the turns whose indexes are `chosen`, in that order."""
        return SampledTurns(*(values[chosen] for values in self))

    def as_text(self) -> str:
        """Return the turns as a string, for the settings of workers; `from_text` reads it back."""
        return " ".join(np.ascontiguousarray(values).tobytes().hex() for values in self)

    @classmethod
    def from_text(cls, text: str) -> SampledTurns:
        """Return the turns from a string that `as_text` returned."""
        types = np.int64, np.int8, np.int8, np.int32, np.int32
        values = [np.frombuffer(bytes.fromhex(word), kind) for word, kind in zip(text.split(), types, strict=True)]
        return cls(values[0], values[1].reshape(-1, 26), values[2].reshape(-1, 2), values[3], values[4])


class RolloutDecisionsComputation(Computation[DecisionParameters]):
    """Computes `rollout_decisions`: chooses decisions from a corpus, and rolls out their better plays."""

    def compute(self, build: Build[DecisionParameters]) -> None:
        parameters, inputs, job = build.parameters, build.inputs, build.job
        chooser = open_roller(build).chooser
        sample = sample_of(parameters, inputs["games"], chooser)
        tables = {role: table for role, table in network_versions(build).items() if role != "games"}
        work = work_of(build, f"{__name__}:roll_out_rows", tables, sample=sample.as_text())
        shards = list(compute_shards(job, "decisions", work, ranges(parameters.decisions, 1)))
        counts = np.concatenate([shard.pop("counts") for shard in shards])
        job.save("decisions_classes", position_classes(sample.boards).astype(np.uint8))
        job.save("network", network_text(parameters, inputs))
        for name, values in sample._asdict().items():
            job.save(f"decisions_{name}", values)
        plays = {f"plays_{name}": np.concatenate([shard[name] for shard in shards]) for name in shards[0]}
        for name, values in {**play_places(counts), **plays}.items():
            job.save(name, values)

    def batches(self, computed: Computed[DecisionParameters]) -> Iterator[pa.RecordBatch]:
        rows = BenchmarkRows(add_file_lines(computed.arrays), "decisions")
        text = np.asarray(computed.arrays["network"]).tobytes().decode()
        network = constant(text, "VARCHAR", len(rows))
        more = {"n_legal_plays": rows["n_legal_plays"], "game": rows["games"], "turn": rows["turns"]}
        return rows.batches(benchmarks.decision_columns(rows, pa.array(rows["seeds"])), more, {"network": network})

    def side_batches(self, name: str, computed: Computed[DecisionParameters]) -> Iterator[pa.RecordBatch]:
        if name == ROLLOUTS.name:
            rows = BenchmarkRows(add_file_lines(computed.arrays), "rollouts")
            return rows.batches(benchmarks.rollout_columns(rows))
        rows = BenchmarkRows(computed.arrays, "plays")
        more = {"standard_error": "standard_errors", "loss_standard_error": "loss_standard_errors", "trials": "trials"}
        return rows.batches(benchmarks.play_columns(rows), {column: rows[field] for column, field in more.items()})

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
        """Find a random sample of the decisions in the corpus, and roll out again those decisions that took the fewest
        games."""
        table = recheck.table
        arrays = table.arrays()
        chosen = recheck.generator.permutation(len(arrays["decisions_seeds"]))[: min(recheck.rows, CANDIDATES)].tolist()
        corpus, turns = recheck.inputs["games"], np.array(chosen, np.int64)
        first_turns, all_boards, dice = (corpus.array(name) for name in ("first_turns", "turn_boards", "dice"))
        places = first_turns[table.array("decisions_games")[turns]] + table.array("decisions_turns")[turns]
        found, rolls = np.asarray(all_boards[places]), -np.sort(-np.asarray(dice[places]), axis=1)
        seeds = (decision_hashes(found, rolls, recheck.parameters.sample_seed) >> np.uint64(1)).astype(np.int64)
        check_rows(table, turns, {"decisions_boards": found, "decisions_dice": rolls, "decisions_seeds": seeds})
        check_games(recheck.parameters, table)
        boards, first = np.asarray(arrays["decisions_boards"]), arrays["decisions_first_plays"]
        counts = np.stack([arrays["decisions_n_plays"], arrays["decisions_n_legal_plays"]], axis=1)
        classes, network = position_classes(boards).astype(np.uint8), network_text(recheck.parameters, recheck.inputs)
        check_arrays(table, {**play_places(counts), "decisions_classes": classes, "network": network})
        games = {row: int(arrays["plays_trials"][first[row]] * counts[row, 0]) for row in chosen}
        chooser, rows = open_roller(recheck).chooser, cheapest_rows(games, REPLAYED_GAMES)
        for row in rows:
            check_decision(recheck, chooser, row)
        return f"{len(rows)} of {len(boards)} decisions rolled out again, and {len(chosen)} found in the corpus"


def check_decision(recheck: Recheck[DecisionParameters], chooser: Chooser, row: int) -> None:
    """Raise CheckFailedError unless rolling out decision `row` again gives the stored result."""
    table, arrays = recheck.table, recheck.table.arrays()
    sample = SampledTurns(*(np.asarray(arrays[f"decisions_{name}"]) for name in SampledTurns._fields))
    first, count = int(arrays["decisions_first_plays"][row]), int(arrays["decisions_n_plays"][row])
    plays, n_legal_plays = rollout_arrays(recheck.parameters, chooser, sample, row)
    if n_legal_plays != arrays["decisions_n_legal_plays"][row]:
        raise CheckFailedError(f"expected {n_legal_plays} legal plays in decision {row} of {table.name}, found others")
    check_rows(table, np.arange(first, first + count), {f"plays_{name}": values for name, values in plays.items()})


def sample_of(parameters: DecisionParameters, corpus: Table, chooser: Chooser) -> SampledTurns:
    """Return the turns whose decisions are rolled out. Raises InvalidParameterError if the corpus has too few such
    turns."""
    found = sample_turns(parameters, corpus, chooser)
    if len(found.seeds) < parameters.decisions:
        raise InvalidParameterError(
            f"expected {parameters.decisions:,} decisions of the class {parameters.position_class} with a play that "
            f"loses up to {parameters.within} in {'as many' if parameters.one_per_game else 'the'} test games of "
            f"{corpus.name}, found {len(found.seeds):,}; try more games"
        )
    return found


def sample_turns(parameters: DecisionParameters, corpus: Table, chooser: Chooser) -> SampledTurns:
    """Return the first turns of a class, by hash, in which a play is worse than the best one, but within the window. If
    there are too few, return all of them.

    A position with the same roll is taken once. Several turns may be from one game; if `one_per_game` is true, only the
    first of each game is taken, so that decisions are independent. A larger sample of the same corpus begins with a
    smaller one."""
    count, window = parameters.decisions, parameters.window()
    wanted = PositionClass[parameters.position_class.upper()]
    turns = turns_of_test_games(corpus, wanted, parameters.sample_seed)
    found, games = list[SampledTurns](), np.zeros(0, np.int32)
    for start in range(0, len(turns.seeds), CHUNK):
        part = turns.rows(slice(start, start + CHUNK))
        offsets, after_play = batch_plays(np.ascontiguousarray(part.boards), np.ascontiguousarray(part.dice))
        losses = static_losses(chooser, flip_boards(after_play), offsets)
        is_loss = (losses >= MIN_LOSS) & (losses <= window.within)
        part = part.rows(np.flatnonzero(np.logical_or.reduceat(is_loss, offsets[:-1])))
        if parameters.one_per_game:
            _, first = np.unique(part.games, return_index=True)
            part = part.rows(np.sort(first[~np.isin(part.games[first], games)]))
            games = np.append(games, part.games)
        found.append(part)
        if sum(len(part.seeds) for part in found) >= count:
            break
    return SampledTurns(*map(np.concatenate, zip(*found, strict=True))).rows(slice(count)) if found else turns


def turns_of_test_games(corpus: Table, class_number: int, seed: int) -> SampledTurns:
    """Return all turns of the corpus's test games whose position is of class `class_number`, in the order of their
    hashes."""
    classes, dice = file_classes(np.asarray(corpus.array("turn_classes"))), np.asarray(corpus.array("dice"))
    games, turns = turn_places(np.asarray(corpus.array("first_turns")), slice(0, len(dice)))
    corpus_seed = int(corpus.manifest.parameters["seed"])
    is_test = splits_of_games(corpus_seed, games) == SPLITS.index("test")
    rows = np.flatnonzero(is_test & (classes == class_number))
    boards = np.asarray(corpus.array("turn_boards"))[rows]
    dice = -np.sort(-dice[rows], axis=1)
    hashes, first = np.unique(decision_hashes(boards, dice, seed), return_index=True)
    rows = rows[first]
    return SampledTurns(
        (hashes >> np.uint64(1)).astype(np.int64),
        boards[first],
        dice[first],
        games[rows].astype(np.int32),
        turns[rows].astype(np.int32),
    )


def decision_hashes(boards: Array, dice: Array, seed: int) -> Array:
    """Return hashes of decisions, as uint64[n], from int8[n, 26] boards, int8[n, 2] dice and the seed."""
    rolls = dice.astype(np.uint64) @ np.array([7, 1], np.uint64)
    with np.errstate(over="ignore"):
        return np.asarray(mix_bits(board_hashes(boards) + mix_bits(rolls + np.uint64(64) * np.uint64(seed))))


def roll_out_rows(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Roll out the plays of the decisions from `begin` to before `end`. Returns their arrays, and `counts`, as
    int64[n, 2]: how many plays were rolled out, and how many are legal."""
    parameters, chooser, sample = opened_once(open_rollouts, settings)
    found = [rollout_arrays(parameters, chooser, sample, row) for row in range(begin, end)]
    counts = np.array([(len(plays["trials"]), n_legal_plays) for plays, n_legal_plays in found], np.int64)
    return {"counts": counts} | {name: np.concatenate([plays[name] for plays, _ in found]) for name in found[0][0]}


def open_rollouts(settings: Settings) -> tuple[DecisionParameters, Chooser, SampledTurns]:
    """Open what `roll_out_rows` needs, from its settings. Returns the parameters, the player and the turns."""
    context = context_of(settings, DecisionParameters)
    return context.parameters, open_roller(context).chooser, SampledTurns.from_text(str(settings["sample"]))


def rollout_arrays(
    parameters: DecisionParameters, chooser: Chooser, sample: SampledTurns, row: int
) -> tuple[dict[str, Array], int]:
    """Roll out the plays of decision `row`. Returns their arrays, and the number of legal plays; both are independent
    of other decisions."""
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
    """Return the arrays that link decisions and plays, from int64[n, 2] `counts`: how many plays of each decision were
    rolled out, and how many are legal."""
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


def check_games(parameters: DecisionParameters, table: Table) -> None:
    """Raise CheckFailedError if two decisions are from one game although `one_per_game` is true."""
    games, counts = np.unique(table.array("decisions_games"), return_counts=True)
    if parameters.one_per_game and (counts > 1).any():
        raise CheckFailedError(
            f"expected one decision of each game in {table.name}, found {counts.max()} of game {games[counts.argmax()]}"
        )


def add_file_lines(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the same arrays, with the line numbers in the benchmark file added. In the file, each decision has a
    comment, a seed, rollouts and a decision line."""
    n_plays, decisions = np.asarray(arrays["decisions_n_plays"]), np.asarray(arrays["plays_decisions"])
    lines = 1 + np.cumsum(n_plays + 2)
    rollouts = lines[decisions] - n_plays[decisions] + arrays["plays_ranks"]
    names = ("boards", "chances", "decisions")
    found = {f"rollouts_{name}": np.asarray(arrays[f"plays_{name}"]) for name in names}
    return {**arrays, "decisions_lines": lines, "rollouts_lines": rollouts, **found}


def benchmark_of(arrays: Mapping[str, Array]) -> tables.Benchmark:
    """Return the arrays of a benchmark in the form that is written as a gnubg benchmark file."""
    arrays = add_file_lines(arrays)
    decisions, plays, rollouts = (BenchmarkRows(arrays, name) for name in ("decisions", "plays", "rollouts"))
    text = f"# plays rolled out by {np.asarray(arrays['network']).tobytes().decode()}, all of a roll with the same dice"
    chances: Array = np.round(rollouts["chances"].astype(np.float64), CHANCE_DECIMALS)
    count, lines = len(plays), decisions["lines"]
    empty = parse_gnubg_benchmark(b"")
    return tables.Benchmark(
        empty.ledger,
        settings=(),
        comments=(tables.Text(1, text),),
        seeds=tables.Seeds(lines - decisions["n_plays"] - 1, decisions["seeds"]),
        decisions=tables.BenchmarkDecisions(
            lines, *(decisions[name] for name in ("boards", "dice", "seeds", "first_plays", "n_plays"))
        ),
        plays=tables.BenchmarkPlays(
            plays["decisions"],
            plays["ranks"],
            plays["boards"],
            plays["equities"],
            plays["losses"],
            forms=np.full(count, DECIMALS, np.int8),
            rollouts=np.arange(count),
        ),
        rollouts=tables.Rollouts(
            rollouts["lines"],
            rollouts["boards"],
            chances,
            np.full((count, 5), CHANCE_DECIMALS, np.int8),
            rollouts["decisions"],
        ),
        evaluations=empty.evaluations,
        cube_rollouts=empty.cube_rollouts,
        best_plays=empty.best_plays,
    )


COMPUTATION = RolloutDecisionsComputation
