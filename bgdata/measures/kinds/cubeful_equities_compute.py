"""Draws positions from games with the cube, and rolls them out with the cube.

A turn is a candidate if it is not the first of its game and someone may still turn the cube. In matches both players
must also need 2 to 9 points. Money games give one half of the positions, matches the other.

Candidates are divided into cells by class, theme and owner of the cube. Each cell gives as many positions as the
others, or all that it has. The rarest cells choose first, in the order of a hash. Each cell prefers games that have
given the fewest positions, so that a large corpus gives one position per game.

The player on roll may not double before the first roll, as in the model's value without a double.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from bgdata.equity.cube import CubeRules
from bgdata.equity.doubling import janowski
from bgdata.evaluation.cube_answers import in_points
from bgdata.game.board_kernels import position_classes
from bgdata.game.themes import Theme
from bgdata.game.xgid import parse_xgid
from bgdata.kinds.column_values import chance_columns, class_column, constant, position_columns, select_texts
from bgdata.kinds.rechecking import cheapest_rows, check_arrays, check_rows
from bgdata.measures.kinds.cube_benchmark_compute import DECIMALS
from bgdata.measures.kinds.cubeful_equities import MODEL_INDEXES, CubefulEquitiesParameters
from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.measures.kinds.shared.cube_corpora import MATCHES, MONEY_GAMES
from bgdata.measures.kinds.shared.cube_corpora_compute import (
    Candidates,
    check_number,
    corpus_candidates,
    model_equities,
)
from bgdata.selfplay.cubeful_rollout import CubefulStart, roll_out_with_cube
from bgdata.selfplay.kinds.shared.games_compute import OWNERS, file_classes
from bgdata.selfplay.kinds.shared.rollouts_compute import first_met, network_text, network_versions, open_roller
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck, sample_text
from bgdata.store.shards import compute_shards, context_of, opened_once, ranges, work_of
from bgdata.store.worker_inputs import Settings

PART_POSITIONS = 10  # positions of a shard, which takes about a second
REPLAYED_GAMES = 2000  # games that verify rolls out, in about three seconds


class CubefulEquitiesComputation(Computation[CubefulEquitiesParameters]):
    """Computes `cubeful_equities`: draws positions, and rolls them out."""

    def compute(self, build: Build[CubefulEquitiesParameters]) -> None:
        chosen = draw(build)
        order = np.lexsort((*chosen.cubes.T, *chosen.away.T))  # so endings are solved once for each score and cube
        at_scores = chosen.rows(order)
        tables = {role: table for role, table in network_versions(build).items() if role not in (MONEY_GAMES, MATCHES)}
        xgids, seeds = " ".join(at_scores.xgids()), " ".join(map(str, at_scores.seeds().tolist()))
        work = work_of(build, f"{__name__}:roll_out_shard", tables, xgids=xgids, seeds=seeds)
        shards = list(compute_shards(build.job, "positions", work, ranges(len(chosen.games), PART_POSITIONS)))
        rows = np.argsort(order)
        rolled_out = {name: np.concatenate([shard[name] for shard in shards])[rows] for name in shards[0]}
        for name, values in {**sample_arrays(build, chosen), **rolled_out}.items():
            build.job.save(name, values)

    def batches(self, computed: Computed[CubefulEquitiesParameters]) -> Iterator[pa.RecordBatch]:
        arrays = {name: np.asarray(values) for name, values in computed.arrays.items()}
        away, cubes, models, count = arrays["away"], arrays["cubes"], arrays["models"], len(arrays["games"])
        nothing = np.zeros(0, np.uint64)
        xgids = Candidates(arrays["boards"], away, cubes, arrays["games"], arrays["turns"], nothing, nothing).xgids()
        yield pa.record_batch(
            {
                "row": np.arange(count, dtype=np.int32),
                "xgid": pa.array(xgids),
                **position_columns(arrays["boards"]),
                "class": class_column(arrays["classes"]),
                "theme": select_texts(pa.array(THEMES), arrays["themes"].astype(np.int32)),
                "away": pa.array(away[:, 0], mask=away[:, 0] == 0),
                "opponent_away": pa.array(away[:, 1], mask=away[:, 1] == 0),
                "cube_value": np.ascontiguousarray(cubes[:, 0]),
                "cube_owner": select_texts(pa.array(OWNERS), np.ascontiguousarray(cubes[:, 1])),
                **chance_columns(arrays["chances"]),
                **{
                    name: np.ascontiguousarray(models[:, place]) for place, name in enumerate(("dead", "live", "model"))
                },
                "measured": arrays["measured"],
                "standard_error": arrays["standard_errors"],
                "trials": arrays["trials"],
                "network": constant(arrays["network"].tobytes().decode(), "VARCHAR", count),
                "game": arrays["games"],
                "turn": arrays["turns"],
            }
        )

    def statistics(self, computed: Computed[CubefulEquitiesParameters]) -> Mapping[str, float]:
        errors = np.asarray(computed.arrays["standard_errors"])
        return {
            "mean_standard_error": float(errors.mean()),
            "largest_standard_error": float(errors.max()),
            "games": float(np.asarray(computed.arrays["trials"]).sum()),
        }

    def check_sample(self, recheck: Recheck[CubefulEquitiesParameters]) -> str:
        """Draw the positions again, and compare them and the values of the model. Roll out again some of the positions
        that took the fewest games."""
        table, chosen = recheck.table, draw(recheck)
        check_arrays(table, sample_arrays(recheck, chosen))
        trials = np.asarray(table.array("trials"))
        drawn = recheck.generator.permutation(len(trials))[: recheck.rows].tolist()
        rows = np.sort(np.array(cheapest_rows({row: int(trials[row]) for row in drawn}, REPLAYED_GAMES), np.int64))
        again = chosen.rows(rows)
        check_rows(table, rows, Roller(recheck).arrays(again.xgids(), again.seeds().tolist()))
        return sample_text(len(rows), len(trials), "positions")


class Roller:
    """The network that rolls out positions with the cube, with the rules and settings of its rollouts."""

    def __init__(self, context: Context[CubefulEquitiesParameters]) -> None:
        self.parameters, self.player = context.parameters, open_roller(context)
        self.rules = CubeRules(met=first_met(context.inputs["met"].arrays()))

    def arrays(self, xgids: Sequence[str], seeds: Sequence[int]) -> dict[str, Array]:
        """Roll out the positions with these XGIDs and seeds. Returns their values and standard errors, in points of
        normalised equity, and their numbers of games."""
        limits, how, rows = self.parameters.limits(), self.parameters.how(), []
        for xgid, seed in zip(xgids, seeds, strict=True):
            found = parse_xgid(xgid)
            stakes = found.match.stakes
            start = CubefulStart(np.array(found.position.board, np.int8), stakes, may_double=False)
            result = roll_out_with_cube([start], self.player.chooser, self.rules, limits, seed, how)
            value = in_points(float(result.values[0]), stakes, self.rules)
            rows.append((value, float(result.standard_errors[0]) / result.point, int(result.trials[0])))
        values, errors, trials = zip(*rows, strict=True)
        return {
            "measured": np.round(np.array(values), DECIMALS),
            "standard_errors": np.round(np.array(errors), DECIMALS),
            "trials": np.array(trials, np.int64),
        }


def roll_out_shard(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Roll out the positions from `begin` to before `end`, and return their arrays."""
    roller, part = opened_once(open_shared_roller, settings), slice(begin, end)
    return roller.arrays(
        str(settings["xgids"]).split()[part], [int(seed) for seed in str(settings["seeds"]).split()[part]]
    )


def open_shared_roller(settings: Settings) -> Roller:
    """Open the roller that `roll_out_shard` needs, from its settings."""
    return Roller(context_of(settings, CubefulEquitiesParameters))


def draw(context: Context[CubefulEquitiesParameters]) -> Candidates:
    """Choose the positions of a version, in ascending order of hashes. Raises InvalidParameterError if there are too
    few candidates."""
    parameters, halves = context.parameters, []
    for role in (MONEY_GAMES, MATCHES):
        found, wanted = corpus_candidates(context.inputs[role], parameters.sample_seed), parameters.positions // 2
        check_number(found, wanted, "positions before a roll", context.inputs[role], "more games")
        halves.append(spread(found, wanted))
    return halves[0].joined_with(halves[1])


def spread(found: Candidates, wanted: int) -> Candidates:
    """Choose `wanted` of the candidates, as many of each class, theme and owner of the cube as possible. The rarest of
    these cells chooses first, from the games that have given the fewest positions, and then in the order of hashes."""
    classes = file_classes(position_classes(found.boards)).astype(np.int64)
    cells = (classes * len(Theme) + found.themes) * len(OWNERS) + found.cubes[:, 1]
    shares = np.bincount(cells[np.argsort(earlier_in_group(cells), kind="stable")[:wanted]])
    taken, chosen = np.zeros(found.games.max() + 1, np.int64), list[Array]()
    for cell in np.argsort(np.bincount(cells)[: len(shares)], kind="stable"):
        rows = np.flatnonzero(cells == cell) if shares[cell] else np.zeros(0, np.int64)
        games = found.games[rows]
        rows = rows[np.argsort(taken[games] + earlier_in_group(games), kind="stable")[: shares[cell]]]
        np.add.at(taken, found.games[rows], 1)
        chosen.append(rows)
    return found.rows(np.concatenate(chosen))


def earlier_in_group(groups: Array) -> Array:
    """Return how many earlier rows have the same group, as int64[n], from int[n] groups."""
    order = np.argsort(groups, kind="stable")
    found = np.empty(len(groups), np.int64)
    found[order] = np.arange(len(groups)) - np.searchsorted(groups[order], groups[order])
    return found


def sample_arrays(context: Context[CubefulEquitiesParameters], chosen: Candidates) -> dict[str, Array]:
    """Return the arrays that describe the chosen positions, with the values of Janowski's model, without the
    rollouts."""
    player, rules = open_roller(context), CubeRules(met=first_met(context.inputs["met"].arrays()))
    boards = np.ascontiguousarray(chosen.boards)
    chances = player.evaluate_many(boards).chances
    return {
        "seeds": chosen.seeds(),
        "boards": boards,
        "classes": position_classes(boards).astype(np.uint8),
        "themes": chosen.themes.astype(np.uint8),
        "away": chosen.away,
        "cubes": chosen.cubes,
        "games": chosen.games,
        "turns": chosen.turns,
        "chances": chances,
        "models": model_values(chosen, chances, rules),
        "network": network_text(context.parameters, context.inputs),
    }


def model_values(chosen: Candidates, chances: Array, rules: CubeRules) -> Array:
    """Return the values of positions without a double by Janowski's model at each of MODEL_INDEXES, in points of
    normalised equity, as float64[n, 3], from float32[n, 5] chances."""
    strategies, values = [janowski(index) for index in MODEL_INDEXES], np.empty((len(chances), len(MODEL_INDEXES)))
    for row, given in enumerate(chances):
        stakes = chosen.stakes(row)
        values[row] = [model_equities(strategy, given, stakes, rules).no_double for strategy in strategies]
    return np.round(values, DECIMALS)


COMPUTATION = CubefulEquitiesComputation
