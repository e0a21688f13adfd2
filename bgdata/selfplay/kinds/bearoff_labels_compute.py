"""Draws pairs of layouts by a seed, and labels them with chances from bearoff tables.

No layout is on roll twice before every layout was on roll once. In half of the pairs, chosen at random, the opponent
has about as many pips, as in real races; in the others it has any layout, since a player comparing plays has to
evaluate lopsided races too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bgdata.bearoff.combine import win_chance
from bgdata.bearoff.index import MAX_CHECKERS
from bgdata.bearoff.kinds.bearoff_two_sided_compute import error_bound
from bgdata.bearoff.layouts import all_layouts, pip_counts, pip_layers
from bgdata.bearoff.tables import RaceTable
from bgdata.errors import CheckFailedError
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.bearoff_kernels import BearoffSource
from bgdata.game.board_kernels import position_classes
from bgdata.game.position_hash import position_hashes
from bgdata.game.random import GAMMA, mix_bits
from bgdata.kinds.column_values import chosen_texts
from bgdata.kinds.rechecking import check_rows
from bgdata.selfplay.kinds.bearoff_labels import BearoffParameters
from bgdata.selfplay.kinds.shared.games_compute import RowsComputation, counts_of
from bgdata.selfplay.splits import splits_of_hashes
from bgdata.store.arrays import Array
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import sampled
from bgdata.store.table import Table

SOURCES = ("exact", "combined")
NEAR = 10  # an opponent about as far from the end has this share of the pips more or less: one tenth
LEAST_PIPS = 2  # and at least so many
WIN_ERROR = 2e-6  # of chances stored as float32, against sums in double precision


class BearoffLabelsComputation(RowsComputation[BearoffParameters]):
    """Computation of `bearoff_labels`."""

    def compute(self, build: Build[BearoffParameters]) -> None:
        job = build.job
        boards = pair_boards(build.parameters)
        job.progress.start(job.title, len(boards), "positions")
        for name, values in label_arrays(build.inputs, boards).items():
            job.save(name, values)
        job.progress.advance(len(boards))

    def own_columns(self, found: Mapping[str, Array], _computed: Computed[BearoffParameters]) -> dict[str, Any]:
        return {"label_source": chosen_texts(pa.array(SOURCES), found["sources"].astype(np.int32))}

    def statistics(self, computed: Computed[BearoffParameters]) -> Mapping[str, float]:
        with_gammons = np.asarray(computed.arrays["chances"])[:, [1, 3]].any(axis=1)
        two_sided = computed.parameters.two_sided_parameters()
        bound = {"exact_equity_error_bound": error_bound(two_sided.points, two_sided.checkers)} if two_sided else {}
        return {**counts_of(computed.arrays["sources"], SOURCES), "with_gammons": float(with_gammons.sum()), **bound}

    def check_sample(self, recheck: Recheck[BearoffParameters]) -> str:
        """Draw the pairs again, answer some again, and those that are combined by another way as well."""
        table = recheck.table
        boards = pair_boards(BearoffParameters.from_manifest(table.manifest.parameters))
        if len(boards) != len(table.array("boards")):
            raise CheckFailedError(f"expected {len(boards)} pairs in {table.name}, found {len(table.array('boards'))}")
        chosen = np.sort(recheck.generator.permutation(len(boards))[: recheck.rows])
        check_rows(table, chosen, label_arrays(recheck.inputs, boards[chosen]))
        for row in chosen[table.array("sources")[chosen] == SOURCES.index("combined")].tolist():
            check_win(table, recheck.inputs["one_sided"], row)
        return sampled(len(chosen), len(boards))


def pair_boards(parameters: BearoffParameters) -> Array:
    """int8[n, 26]: the pairs, on the board."""
    layouts, two_sided = all_layouts(parameters.points, MAX_CHECKERS), parameters.two_sided_parameters()
    boards = paired_boards(layouts, random_pairs(layouts, parameters.pairs or len(layouts) - 1, parameters.seed))
    if two_sided is None:
        return boards
    layouts = all_layouts(two_sided.points, two_sided.checkers)
    more = paired_boards(layouts, random_pairs(layouts, parameters.exact_pairs, parameters.seed))
    return np.concatenate([boards, more])


def label_arrays(inputs: Mapping[str, Table], boards: Array) -> dict[str, Array]:
    """Every declared array of some pairs."""
    found = BearoffEvaluator(**inputs).evaluate_many(boards)
    return {
        "boards": boards,
        "classes": position_classes(boards).astype(np.uint8),
        "chances": found.chances,
        "sources": (found.sources != BearoffSource.EXACT).astype(np.uint8),
        "splits": splits_of_hashes(position_hashes(boards)),
    }


def check_win(table: Table, one_sided: Table, row: int) -> None:
    """Recompute the win chance of a combined row; raises CheckFailedError."""
    reader, board = RaceTable(one_sided), table.array("boards")[row].astype(int)
    points = reader.points
    on_roll, opponent = board[1 : points + 1].tolist(), (-board[24 : 24 - points : -1]).tolist()
    expected = win_chance(reader.probe_chances(on_roll), reader.probe_chances(opponent))
    found = float(table.array("chances")[row, 0])
    if not abs(found - expected) <= WIN_ERROR:  # NaN neither
        raise CheckFailedError(
            f"expected a win chance of {expected:.6f} in row {row} of {table.name}, found {found:.6f}"
        )


class LayoutPairs(NamedTuple):
    """Rows of the layouts that pairs were made from, in ascending order of both; no pair occurs twice."""

    on_roll: NDArray[np.int64]
    opponent: NDArray[np.int64]


def random_pairs(layouts: NDArray[np.int8], count: int, seed: int) -> LayoutPairs:
    """`count` pairs of int8[n, points] layouts in index order, the empty layout excluded. There may be fewer, since
    repeated pairs are dropped; they are rare unless `count` is close to the number of all pairs.

    Raises ValueError if there is no layout besides the empty one.
    """
    if len(layouts) < 2:
        raise ValueError(f"expected layouts beside the empty one, got {len(layouts)} in all")
    n = len(layouts) - 1
    rounds, last = divmod(count, n)
    chosen = np.sort(np.argsort(hash_rows(np.arange(n), seed, 0), kind="stable")[:last])
    on_roll = np.concatenate([np.tile(np.arange(n), rounds), chosen]) + 1
    place = np.repeat(np.arange(rounds + 1), [n] * rounds + [last])
    bits = hash_rows(on_roll, seed, 1 + place.astype(np.uint64))
    is_near = (bits & np.uint64(1)).astype(np.bool_)
    opponent = np.where(is_near, near_layouts(layouts, on_roll, bits), 1 + numbers_below(bits, n))
    codes = np.unique(on_roll * len(layouts) + opponent)
    return LayoutPairs(*np.divmod(codes, len(layouts)))


def near_layouts(layouts: NDArray[np.int8], rows: NDArray[np.int64], bits: NDArray[np.uint64]) -> NDArray[np.int64]:
    """int64[k]: for each of int64[k] rows a layout of about as many pips, chosen by 64 random bits."""
    pips = pip_counts(layouts).astype(np.int64)
    order, start = pip_layers(pips.astype(np.int16))
    width = np.maximum(LEAST_PIPS, pips[rows] // NEAR)
    first = start[np.maximum(pips[rows] - width, 1)]  # none of 0 pips
    end = start[np.minimum(pips[rows] + width + 1, len(start) - 1)]
    return np.asarray(order[first + numbers_below(bits, end - first)], np.int64)


def numbers_below(bits: NDArray[np.uint64], counts: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """int64[k]: numbers from 0 to `counts` - 1 (counts up to 2^32), from the upper 32 of 64 random bits."""
    return ((bits >> np.uint64(32)) * np.asarray(counts).astype(np.uint64) >> np.uint64(32)).astype(np.int64)


def hash_rows(rows: NDArray[np.int64], seed: int, stream: NDArray[np.uint64] | int) -> NDArray[np.uint64]:
    """uint64[k]: pseudo-random bits by seed, stream and row: the finisher of splitmix64 (Steele, Lea and Flood, 2014),
    applied to each in turn."""
    with np.errstate(over="ignore"):
        bits = np.zeros(len(rows), np.uint64)
        for part in (np.uint64(seed), np.asarray(stream, np.uint64), rows.astype(np.uint64)):
            bits = mix_bits(bits + (part + np.uint64(1)) * GAMMA)
    return bits


def paired_boards(layouts: NDArray[np.int8], pairs: LayoutPairs) -> NDArray[np.int8]:
    """int8[k, 26]: boards seen by the player on roll, for layouts of at most 12 points, which are never in contact."""
    points = layouts.shape[1]
    boards = np.zeros((len(pairs.on_roll), 26), np.int8)
    boards[:, 1 : points + 1] = layouts[pairs.on_roll]
    boards[:, 25 - points : 25] = -layouts[pairs.opponent][:, ::-1]
    return boards


COMPUTATION = BearoffLabelsComputation
