"""Losses of rules of thumb in solved races: integer sums over pairs of layouts, so that their order does not matter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.game.random import GAMMA, mix_bits
from bgdata.kernel import Array, kernel, prange
from bgdata.studies.race_rules import NAMES, PASS, answer

STEPS = 10_000_000  # steps in a point, for integer sums
N_DECISIONS = 3  # double, redouble, take
SUMS = ("positions", "occurrences", "loss", "errors", "largest", "on_roll", "opponent")
_POSITIONS, _OCCURRENCES, _LOSS, _ERRORS, _LARGEST, _ON_ROLL, _OPPONENT = range(len(SUMS))
_ROW = np.uint64(1 << 20)  # above the number of layouts of 6 points, so that smaller tables have the same halves


def is_tested(on_roll: NDArray[np.int64], opponent: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether a pair of position indexes is in the half on which rules are tested, as bool[...]. A hash of the
    pair decides."""
    with np.errstate(over="ignore"):
        bits = on_roll.astype(np.uint64) * _ROW + opponent.astype(np.uint64) + GAMMA
    return (mix_bits(bits) & np.uint64(1)).astype(np.bool_)


@kernel(parallel=True)
def fill_sums(
    sides: Array, on_roll: Array, opponents: Array, margins: Array, weights: Array, halves: Array, limits: Array,
    tolerance: int, sums: Array,
) -> None:  # fmt: skip
    """Fill sums[row, rule, decision, half, (as SUMS)] with the losses of every rule. The pairs are on_roll[row] and
    opponents[row, pair] (rows of `sides`), with margins[row, pair, decision] in steps. Losses up to `tolerance` are not
    errors. The last two sums are the position indexes of the first pair with the largest loss, -1 if there is no
    loss."""
    for row in prange(len(on_roll)):
        sums[row, ..., :_ON_ROLL] = 0
        sums[row, ..., _ON_ROLL:] = -1
        for half in range(2):
            sums[row, :, :, half, _POSITIONS] = (halves[row] == half).sum()
            sums[row, :, :, half, _OCCURRENCES] = ((halves[row] == half) * weights[row]).sum()
        for rule in range(sums.shape[1]):
            for pair in range(opponents.shape[1]):
                # bits DOUBLE and REDOUBLE; the third is to take
                bits = answer(rule, sides, on_roll[row], opponents[row, pair], limits) ^ PASS
                for decision in range(N_DECISIONS):
                    margin = margins[row, pair, decision]
                    loss = -margin if bits >> decision & 1 else margin
                    if loss <= 0:
                        continue
                    half, weight = halves[row, pair], weights[row, pair]
                    sums[row, rule, decision, half, _LOSS] += weight * loss
                    sums[row, rule, decision, half, _ERRORS] += weight * (loss > tolerance)
                    if loss > sums[row, rule, decision, half, _LARGEST]:
                        sums[row, rule, decision, half, _LARGEST] = loss
                        sums[row, rule, decision, half, _ON_ROLL] = on_roll[row] + 1
                        sums[row, rule, decision, half, _OPPONENT] = opponents[row, pair] + 1


def merge_sums(sums: NDArray[np.int64], axis: int = 0) -> NDArray[np.int64]:
    """Add int64[..., SUMS] over an axis. The largest loss and its pair are not added, but taken from the largest; ties
    go to the first."""
    found: NDArray[np.int64] = sums.sum(axis=axis)
    first = np.expand_dims(sums[..., _LARGEST].argmax(axis=axis), (axis, -1))
    found[..., _LARGEST:] = np.take_along_axis(sums[..., _LARGEST:], first, axis).squeeze(axis)
    return found


def pair_sums(
    sides: NDArray[np.float64], on_roll: NDArray[np.int64], opponents: NDArray[np.int64], margins: NDArray[np.float64],
    weights: NDArray[np.int64], limits: NDArray[np.int64], tolerance: float,
) -> NDArray[np.int64]:  # fmt: skip
    """Return the sums of `fill_sums` over all rows, as int64[rules, decisions, 2 halves, SUMS]; the second half is the
    tested half. `on_roll` [rows] and `opponents` [rows, pairs] are position indexes, from 1; `margins` [rows, pairs,
    decisions] and `tolerance` are in points. `sides` has no row for index 0."""
    steps = np.rint(margins * STEPS).astype(np.int32)
    sums = np.empty((len(on_roll) + 1, len(NAMES), N_DECISIONS, 2, len(SUMS)), np.int64)
    sums[-1, ..., :_ON_ROLL], sums[-1, ..., _ON_ROLL:] = 0, -1  # the result if there are no pairs
    halves = is_tested(on_roll[:, None], opponents).astype(np.int8, order="C")  # so the kernel is compiled only once
    others = np.ascontiguousarray(opponents - 1)
    counted = np.array(np.broadcast_to(weights, opponents.shape), order="C")
    fill_sums(sides, on_roll - 1, others, steps, counted, halves, limits, round(tolerance * STEPS), sums)
    return merge_sums(sums)
