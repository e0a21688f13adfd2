"""Labels positions by rollouts, by a network at 1-ply, by other programs, or by bearoff tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.bearoff.combine import win_chance
from bgdata.bearoff.index import MAX_CHECKERS
from bgdata.bearoff.kinds.bearoff_two_sided_compute import error_bound
from bgdata.bearoff.layouts import all_layouts
from bgdata.bearoff.pairs import paired_boards, random_pairs
from bgdata.bearoff.tables import RaceTable
from bgdata.errors import CheckFailedError, CheckSkippedError, InvalidParameterError, UnknownPlayerError
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.bearoff_kernels import BearoffSource
from bgdata.evaluation.chances import Evaluator, cubeless_equities, ordered_chances
from bgdata.evaluation.choices import Chooser
from bgdata.evaluation.lookahead import evaluate_ahead
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.player import as_evaluator, open_player_of_version
from bgdata.game.board_kernels import position_classes
from bgdata.game.position_hash import position_hashes
from bgdata.kinds.column_values import chance_columns, select_texts
from bgdata.kinds.rechecking import check_arrays, check_chances, check_rows
from bgdata.selfplay.kinds.bearoff_labels import BearoffParameters
from bgdata.selfplay.kinds.engine_labels import EngineParameters
from bgdata.selfplay.kinds.lookahead_labels import LookaheadParameters
from bgdata.selfplay.kinds.rollout_labels import RolloutLabelParameters
from bgdata.selfplay.kinds.shared import rollouts as rollout_kinds
from bgdata.selfplay.kinds.shared import rollouts_compute as rollouts
from bgdata.selfplay.kinds.shared.games_compute import Places, RowsComputation, counts_of, distinct_places
from bgdata.selfplay.splits import splits_of_hashes
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computed, Context, Recheck, sample_text
from bgdata.store.shards import context_of, fill_shards, opened_once, work_of
from bgdata.store.table import Table
from bgdata.store.worker_inputs import Settings

ROLLOUT_STEP = 4  # positions of a shard of rollouts, which takes seconds
STEP = 4096  # positions of a shard at ply 0; many, because programs are slow to start
LABEL_SOURCES = ("outcome", "exact", "combined", "lookahead")  # first three numbered as in `evaluator.AnswerSource`
TABLE_SOURCES = ("exact", "combined")
WIN_ERROR = 2e-6  # rounding of chances stored as float32
ROLLOUT_COLUMNS = {
    "equities": "equity",
    "equity_standard_errors": "standard_error",
    "plain_standard_errors": "plain_standard_error",
    "trials": "trials",
}


class RolloutLabelsComputation(RowsComputation[RolloutLabelParameters]):
    """Computes `rollout_labels`: rolls out each position of a source."""

    def compute(self, build: Build[RolloutLabelParameters]) -> None:
        boards, _ = source_boards(build)
        state = rollouts.empty_rollouts(rollouts.ROLLED, len(boards))
        work = work_of(build, f"{__name__}:roll_out_rows", rollouts.network_versions(build))
        fill_shards(build.job, "positions", state, ROLLOUT_STEP, work)
        for name, values in {**self._source_arrays(build, boards), **state}.items():
            build.job.save(name, values)

    def own_columns(self, found: Mapping[str, Array], computed: Computed[RolloutLabelParameters]) -> dict[str, Any]:
        errors, until = chance_columns(found["standard_errors"]), computed.parameters.limits().until
        return {
            **{f"{name}_standard_error": values for name, values in errors.items()},
            **{column: found[name] for name, column in ROLLOUT_COLUMNS.items()},
            "is_reached": pa.array(found["equity_standard_errors"] <= until),
        }

    def statistics(self, computed: Computed[RolloutLabelParameters]) -> Mapping[str, float]:
        arrays = computed.arrays
        errors, plain = np.asarray(arrays["equity_standard_errors"]), np.asarray(arrays["plain_standard_errors"])
        if not len(errors):
            return {}
        ratios = plain[errors > 0] / errors[errors > 0]
        return {
            "mean_standard_error": float(errors.mean()),
            "largest_standard_error": float(errors.max()),
            "reached_share": float((errors <= computed.parameters.limits().until).mean()),
            "median_reduction": float(np.median(ratios)) if len(ratios) else 1.0,
            "games": float(np.asarray(arrays["trials"]).sum()),
        }

    def check_sample(self, recheck: Recheck[RolloutLabelParameters]) -> str:
        """Roll out a random sample of the positions again, and compare the results with the stored ones."""
        table, parameters, names = recheck.table, recheck.parameters, rollouts.ROLLED
        chooser = rollouts.open_roller(recheck).chooser
        boards, first = source_boards(recheck)
        check_arrays(table, self._source_arrays(recheck, boards))
        count = min(recheck.rows, rollouts.SAMPLE_ROWS, len(boards))
        for row in recheck.generator.permutation(len(boards))[:count].tolist():
            rows = np.array([row])
            found = rollouts.rollout_arrays(parameters, parameters.seed, chooser, boards[rows], first + rows, names)
            check_rows(table, rows, found)
        return sample_text(count, len(boards), "rollouts")

    def _source_arrays(self, context: Context[RolloutLabelParameters], boards: Array) -> dict[str, Array]:
        """Return the arrays that need no rollout: the positions, their classes, and the name of the network that rolled
        them out."""
        network = rollouts.network_text(context.parameters, context.inputs)
        return {"boards": boards, "classes": position_classes(boards).astype(np.uint8), "network": network}


def roll_out_rows(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Return the rollout arrays of the source rows from `begin` to before `end`. If only a part of the source is
    labelled, rows count from the start of that part."""
    parameters, chooser, boards, first = opened_once(open_rollouts, settings)
    items = first + np.arange(begin, end)
    return rollouts.rollout_arrays(parameters, parameters.seed, chooser, boards[begin:end], items, rollouts.ROLLED)


def open_rollouts(settings: Settings) -> tuple[RolloutLabelParameters, Chooser, Array, int]:
    """Open what `roll_out_rows` needs, from its settings. Returns the parameters, the player, the boards, and the
    source row of the first board."""
    context = context_of(settings, RolloutLabelParameters)
    return context.parameters, rollouts.open_roller(context).chooser, *source_boards(context)


def source_boards(context: Context[RolloutLabelParameters]) -> tuple[Array, int]:
    """Return the positions of the source as int8[n, 26], and the source row of the first one. If only a part of the
    source is labelled, these are the positions of that part."""
    boards = context.inputs["source"].array("boards")
    rows = context.items(len(boards))
    return np.ascontiguousarray(boards[rows.start : rows.stop]), rows.start


def source_places(context: Context[Any]) -> Places:
    """Return the distinct positions of the source, or of the part of it that is labelled."""
    source = context.inputs["source"]
    return distinct_places(source, context.items(rollout_kinds.position_count(source)))


class LookaheadLabelsComputation(RowsComputation[LookaheadParameters]):
    """Computes `lookahead_labels`: evaluates each position at 1-ply by a network and its tables."""

    weighed_by = dict.fromkeys(("mean_change", "mean_absolute_change"), "lookahead")

    def compute(self, build: Build[LookaheadParameters]) -> None:
        places = source_places(build)
        n = len(places.boards)
        state: dict[str, Array] = {
            "chances": np.zeros((n, 5), np.float32),
            "static_chances": np.zeros((n, 5), np.float32),
            "sources": np.zeros(n, np.uint8),
        }
        work = work_of(build, f"{__name__}:look_ahead", rollouts.network_versions(build))
        fill_shards(build.job, "positions", state, STEP, work)
        for name, values in changed_labels(build.parameters, places, state).items():
            build.job.save(name, values)
        build.job.save("network", rollouts.network_text(build.parameters, build.inputs))

    def own_columns(self, found: Mapping[str, Array], _computed: Computed[LookaheadParameters]) -> dict[str, Any]:
        return {
            "static_equity": cubeless_equities(found["static_chances"]),
            "change": found["changes"],
            "label_source": select_texts(pa.array(LABEL_SOURCES), found["sources"].astype(np.int32)),
        }

    def statistics(self, computed: Computed[LookaheadParameters]) -> Mapping[str, float]:
        arrays = computed.arrays
        changes = np.asarray(arrays["changes"])[np.asarray(arrays["sources"]) == LABEL_SOURCES.index("lookahead")]
        found = counts_of(arrays["sources"], LABEL_SOURCES)
        if not len(changes):
            return found
        sizes = np.abs(changes.astype(np.float64))
        return found | {
            "mean_change": float(changes.mean(dtype=np.float64)),
            "mean_absolute_change": float(sizes.mean()),
            "largest_absolute_change": float(sizes.max()),
        }

    def check_sample(self, recheck: Recheck[LookaheadParameters]) -> str:
        """Evaluate a random sample of source positions again, and compare the results with the stored rows."""
        table = recheck.table
        check_arrays(table, {"network": rollouts.network_text(recheck.parameters, recheck.inputs)})
        player, every = rollouts.open_roller(recheck), source_places(recheck)
        places = every.chosen(np.sort(recheck.generator.permutation(len(every.rows))[: recheck.rows]))
        expected = changed_labels(recheck.parameters, places, evaluate_both(player, places.boards))
        where, count = np.flatnonzero(np.isin(table.array("rows"), places.rows)), len(expected["rows"])
        if len(where) != count:
            raise CheckFailedError(
                f"expected {count} of {len(places.rows)} positions in {table.name}, found {len(where)}"
            )
        check_rows(table, where, expected)
        return sample_text(len(places.rows), len(every.rows), "positions")


def look_ahead(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Evaluate the distinct source positions from `begin` to before `end` by `evaluate_both`. If only a part of the
    source is labelled, positions count from the start of that part."""
    player, places = opened_once(open_player_and_positions, settings)
    return evaluate_both(player, places.boards[begin:end])


def open_player_and_positions(settings: Settings) -> tuple[NetworkPlayer, Places]:
    """Open what `look_ahead` needs, from its settings. Returns the player and the distinct positions."""
    context = context_of(settings, LookaheadParameters)
    return rollouts.open_roller(context), source_places(context)


def evaluate_both(player: NetworkPlayer, boards: Array) -> dict[str, Array]:
    """Return the chances of boards at 1-ply and at 0-ply, and the sources of these chances, as indexes into
    LABEL_SOURCES."""
    found, static = player.evaluate_ahead(boards, 1), player.evaluate_many(boards).chances
    sources = np.minimum(found.sources, LABEL_SOURCES.index("lookahead")).astype(np.uint8)
    return {"chances": ordered_chances(found.chances), "static_chances": static, "sources": sources}


def changed_labels(parameters: LookaheadParameters, places: Places, evaluated: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays of `lookahead_labels`, except the network's name, for positions whose equity changes by at
    least `parameters.least_change` points from 0-ply to 1-ply. `evaluated` contains the arrays of `evaluate_both` for
    all of `places`."""
    changes = cubeless_equities(evaluated["chances"]) - cubeless_equities(evaluated["static_chances"])
    which = np.abs(changes) >= parameters.least_change
    found = {**places._asdict(), **evaluated, "changes": changes}
    return {name: values[which] for name, values in found.items()}


class EngineLabelsComputation(RowsComputation[EngineParameters]):
    """Computes `engine_labels`: evaluates each position by another program, or by a network that looks ahead."""

    def compute(self, build: Build[EngineParameters]) -> None:
        places = source_places(build)
        state: dict[str, Array] = {"chances": np.zeros((len(places.boards), 5), np.float32)}
        choice, tables = build.parameters.choice(), build.inputs
        if build.parameters.engine == "network":
            tables = rollouts.network_versions(Context(choice, build.inputs, build.warehouse))
        work = work_of(build, f"{__name__}:ask_engine", tables)
        fill_shards(build.job, "positions", state, max(1, STEP >> 3 * build.parameters.ply), work)
        for name, values in {**self._source_arrays(build, places), **state}.items():
            build.job.save(name, values)

    def own_columns(self, found: Mapping[str, Array], computed: Computed[EngineParameters]) -> dict[str, Any]:
        return {"ply": np.full(len(found["rows"]), computed.parameters.ply, np.int32)}

    def check_sample(self, recheck: Recheck[EngineParameters]) -> str:
        """Find the distinct positions again, and, if this version of the program is installed, evaluate a random sample
        of them again. Compares both with the stored rows."""
        places = source_places(recheck)
        check_arrays(recheck.table, self._source_arrays(recheck, places))
        try:
            engine = open_engine(recheck)
        except (UnknownPlayerError, InvalidParameterError) as error:
            raise CheckSkippedError(
                f"the positions are those of the source, but the engine cannot be asked: {error}"
            ) from error
        count = min(recheck.rows, 10 * rollouts.SAMPLE_ROWS)
        chosen = np.sort(recheck.generator.permutation(len(places.rows))[:count])
        check_chances(recheck.table, chosen, chances_by(engine, recheck.parameters, places.boards[chosen]))
        return sample_text(len(chosen), len(places.rows))

    def _source_arrays(self, context: Context[EngineParameters], places: Places) -> dict[str, Array]:
        """Return the arrays that need no engine: where each position is from, and the name and version of the
        engine."""
        parameters = context.parameters
        text = np.frombuffer(f"{parameters.engine} {parameters.version}".encode(), np.uint8)
        if parameters.engine == "network":
            text = rollouts.network_text(parameters.choice(), context.inputs)
        return {**places._asdict(), "engine": text}


def ask_engine(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Evaluate the distinct source positions from `begin` to before `end` by the engine, and return their chances. If
    only a part of the source is labelled, positions count from the start of that part."""
    engine, parameters, places = opened_once(open_engine_and_positions, settings)
    return {"chances": chances_by(engine, parameters, places.boards[begin:end])}


def open_engine_and_positions(settings: Settings) -> tuple[Evaluator, EngineParameters, Places]:
    """Open what `ask_engine` needs, from its settings. Returns the engine, the parameters and the distinct
    positions."""
    context = context_of(settings, EngineParameters)
    return open_engine(context), context.parameters, source_places(context)


def open_engine(context: Context[EngineParameters]) -> Evaluator:
    """Open the engine that the parameters name, as an evaluator. Raises UnknownPlayerError if it is not installed or
    cannot look so far ahead, InvalidParameterError if another version is installed, and MissingTableError if the
    network is missing."""
    parameters = context.parameters
    if parameters.engine == "network":
        return rollouts.open_roller(Context(parameters.choice(), context.inputs, context.warehouse))
    player = open_player_of_version(parameters.engine, parameters.ply, parameters.version)
    return as_evaluator(parameters.engine, player)


def chances_by(engine: Evaluator, parameters: EngineParameters, boards: Array) -> Array:
    """Return the chances of boards by an engine, as float32[n, 5]. Chances outside 0 to 1 or out of order are
    corrected, which changes them by rounding only."""
    ahead = parameters.ply if parameters.engine == "network" else 0  # programs look ahead by themselves
    return ordered_chances(evaluate_ahead(engine, boards, ahead).chances)


class BearoffLabelsComputation(RowsComputation[BearoffParameters]):
    """Computes `bearoff_labels`: chooses bearoffs at random, and looks up or combines their chances in bearoff
    tables."""

    def compute(self, build: Build[BearoffParameters]) -> None:
        job, boards = build.job, boards_of(build.parameters)
        job.progress.start(job.title, len(boards), "positions")
        for name, values in table_labels(build.inputs, boards).items():
            job.save(name, values)
        job.progress.advance(len(boards))

    def own_columns(self, found: Mapping[str, Array], _computed: Computed[BearoffParameters]) -> dict[str, Any]:
        return {"label_source": select_texts(pa.array(TABLE_SOURCES), found["sources"].astype(np.int32))}

    def statistics(self, computed: Computed[BearoffParameters]) -> Mapping[str, float]:
        with_gammons = np.asarray(computed.arrays["chances"])[:, [1, 3]].any(axis=1)
        found = {**counts_of(computed.arrays["sources"], TABLE_SOURCES), "with_gammons": float(with_gammons.sum())}
        if two_sided := computed.parameters.two_sided_parameters():
            found["exact_equity_error_bound"] = error_bound(two_sided.points, two_sided.checkers)
        return found

    def check_sample(self, recheck: Recheck[BearoffParameters]) -> str:
        """Choose the bearoffs again and compare the boards. For a random sample of them, look up or combine the chances
        again."""
        table, boards = recheck.table, boards_of(recheck.parameters)
        if len(boards) != len(table.array("boards")):
            raise CheckFailedError(f"expected {len(boards)} pairs in {table.name}, found {len(table.array('boards'))}")
        chosen = np.sort(recheck.generator.permutation(len(boards))[: recheck.rows])
        check_rows(table, chosen, table_labels(recheck.inputs, boards[chosen]))
        for row in chosen[table.array("sources")[chosen] == TABLE_SOURCES.index("combined")].tolist():
            check_win(table, recheck.inputs["one_sided"], row)
        return sample_text(len(chosen), len(boards))


def boards_of(parameters: BearoffParameters) -> Array:
    """Return the bearoffs that the parameters choose, as int8[n, 26]."""
    layouts, two_sided = all_layouts(parameters.points, MAX_CHECKERS), parameters.two_sided_parameters()
    boards = paired_boards(layouts, random_pairs(layouts, parameters.pairs or len(layouts) - 1, parameters.seed))
    if two_sided is None:
        return boards
    layouts = all_layouts(two_sided.points, two_sided.checkers)
    more = paired_boards(layouts, random_pairs(layouts, parameters.exact_pairs, parameters.seed))
    return np.concatenate([boards, more])


def table_labels(inputs: Mapping[str, Table], boards: Array) -> dict[str, Array]:
    """Return all declared arrays for these boards, with chances from the tables in `inputs`."""
    found = BearoffEvaluator(**inputs).evaluate_many(boards)
    return {
        "boards": boards,
        "classes": position_classes(boards).astype(np.uint8),
        "chances": found.chances,
        "sources": (found.sources != BearoffSource.EXACT).astype(np.uint8),
        "splits": splits_of_hashes(position_hashes(boards)),
    }


def check_win(table: Table, one_sided: Table, row: int) -> None:
    """Recompute the win chance of a row that combines two distributions. Raises CheckFailedError if the stored chance
    differs."""
    reader, board = RaceTable(one_sided), table.array("boards")[row].astype(int)
    points = reader.points
    on_roll, opponent = board[1 : points + 1].tolist(), (-board[24 : 24 - points : -1]).tolist()
    expected = win_chance(reader.probe_chances(on_roll), reader.probe_chances(opponent))
    found = float(table.array("chances")[row, 0])
    if not abs(found - expected) <= WIN_ERROR:  # also fails for NaN
        raise CheckFailedError(
            f"expected a win chance of {expected:.6f} in row {row} of {table.name}, found {found:.6f}"
        )


COMPUTATION = {
    "rollout_labels": RolloutLabelsComputation,
    "lookahead_labels": LookaheadLabelsComputation,
    "engine_labels": EngineLabelsComputation,
    "bearoff_labels": BearoffLabelsComputation,
}
