"""Random pairs of bearoff layouts for training, reproducible by a seed. Every layout is on roll once before any layout
is on roll twice.

In a random half of the pairs the opponent has a similar pip count, as in real races. In the other half the opponent has
any layout, because a player that compares plays must evaluate uneven races too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.layouts import pip_counts, pip_layers
from bgdata.game.random import GAMMA, mix_bits

NEAR = 10  # opponents with a similar pip count differ by at most pips / NEAR
MIN_PIPS = 2  # but they may differ by this much at least


class LayoutPairs(NamedTuple):
    """Pairs of layouts, as row numbers, in ascending order of (on_roll, opponent), without repetitions."""

    on_roll: NDArray[np.int64]
    opponent: NDArray[np.int64]


def random_pairs(layouts: NDArray[np.int8], count: int, seed: int) -> LayoutPairs:
    """Draw `count` random pairs of int8[n, points] layouts, which are in index order, without the empty layout.
    Repeated pairs are dropped, so there may be fewer; this is rare unless `count` is close to the number of all pairs.
    Raises ValueError if the only layout is the empty one."""
    if len(layouts) < 2:
        raise ValueError(f"expected layouts beside the empty one, got {len(layouts)} in all")
    n = len(layouts) - 1
    rounds, last = divmod(count, n)
    chosen = np.sort(np.argsort(hash_rows(np.arange(n), seed, 0), kind="stable")[:last])
    on_roll = np.concatenate([np.tile(np.arange(n), rounds), chosen]) + 1
    place = np.repeat(np.arange(rounds + 1), [n] * rounds + [last])
    bits = hash_rows(on_roll, seed, 1 + place.astype(np.uint64))
    is_near = (bits & np.uint64(1)).astype(np.bool_)
    opponent = np.where(is_near, near_layouts(layouts, on_roll, bits), 1 + random_below(bits, n))
    codes = np.unique(on_roll * len(layouts) + opponent)
    return LayoutPairs(*np.divmod(codes, len(layouts)))


def near_layouts(layouts: NDArray[np.int8], rows: NDArray[np.int64], bits: NDArray[np.uint64]) -> NDArray[np.int64]:
    """For the layout in each of `rows`, int64[k], choose the row of a layout with a similar pip count, by 64 random
    bits. Returns int64[k]."""
    pips = pip_counts(layouts).astype(np.int64)
    order, start = pip_layers(pips.astype(np.int16))
    width = np.maximum(MIN_PIPS, pips[rows] // NEAR)
    first = start[np.maximum(pips[rows] - width, 1)]  # without the empty layout
    end = start[np.minimum(pips[rows] + width + 1, len(start) - 1)]
    return np.asarray(order[first + random_below(bits, end - first)], np.int64)


def random_below(bits: NDArray[np.uint64], counts: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Return random numbers from 0 to `counts` - 1 (counts up to 2^32), from the upper 32 of 64 random bits, as
    int64[k]."""
    return ((bits >> np.uint64(32)) * np.asarray(counts).astype(np.uint64) >> np.uint64(32)).astype(np.int64)


def hash_rows(rows: NDArray[np.int64], seed: int, stream: NDArray[np.uint64] | int) -> NDArray[np.uint64]:
    """Return pseudo-random bits for each row as uint64[k]: the finalizer of splitmix64 (Steele, Lea and Flood, 2014),
    applied to the seed, the stream and the row in turn."""
    with np.errstate(over="ignore"):
        bits = np.zeros(len(rows), np.uint64)
        for part in (np.uint64(seed), np.asarray(stream, np.uint64), rows.astype(np.uint64)):
            bits = mix_bits(bits + (part + np.uint64(1)) * GAMMA)
    return bits


def paired_boards(layouts: NDArray[np.int8], pairs: LayoutPairs) -> NDArray[np.int8]:
    """Return the boards of pairs of layouts for the player on roll, as int8[k, 26]. Layouts must have at most 12
    points, so that there is no contact."""
    points = layouts.shape[1]
    boards = np.zeros((len(pairs.on_roll), 26), np.int8)
    boards[:, 1 : points + 1] = layouts[pairs.on_roll]
    boards[:, 25 - points : 25] = -layouts[pairs.opponent][:, ::-1]
    return boards
