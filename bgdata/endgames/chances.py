"""The chances that each side wins, with gammons and backgammons, when both play for the best cubeless equity.

Solved equities determine the plays. Among equally good plays, the first in the order of `Plays` is chosen. The chances
are computed between bounds, which start at 0 and 1 and get closer in each round.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.layouts import ROLL_COUNT
from bgdata.endgames.layouts import Layouts
from bgdata.endgames.plays import WEIGHTS, Plays
from bgdata.endgames.solver import are_unfinished, is_possible
from bgdata.kernel import Array, in_threads, kernel

CHANCES = 5  # win, win gammon, win backgammon, lose gammon, lose backgammon
CLOSED = 5e-6  # bounds that differ by less are final
MIN_PAIRS = 2000  # fewest pairs per thread
OTHER_SIDE = np.array([0, 3, 4, 1, 2])  # index of the same chance for the side that just played


@kernel()
def choose_plays(
    begin: int, end: int, wanted: Array, made: Array, sets: int, shifts: Array, hit: Array, start: Array,
    results: Array, touched: Array, cubeless: Array, chosen: Array,
) -> None:  # fmt: skip
    """Fill chosen[on roll, opponent, roll] with the pair of layouts after the best play, for the players on roll begin
    to end - 1 and the wanted pairs."""
    count = len(made)
    for on_roll in range(begin, end):
        for opponent in range(count):
            if not wanted[on_roll, opponent]:
                continue
            first = (on_roll * sets + made[opponent]) * ROLL_COUNT
            for roll in range(ROLL_COUNT):
                lowest = np.float32(4.0)
                for play in range(start[first + roll], start[first + roll + 1]):
                    mask, which = touched[play], 0
                    for blot in range(shifts.shape[1]):
                        which |= (mask >> shifts[opponent, blot] & 1) << blot
                    after = hit[opponent, which]
                    if cubeless[after, results[play]] < lowest:
                        lowest = cubeless[after, results[play]]
                        chosen[on_roll, opponent, roll] = after * count + results[play]


@kernel()
def add_chances(
    begin: int, end: int, opponents: Array, total: int, pips: Array, order: Array, layer_start: Array, is_open: Array,
    places: Array, chosen: Array, bounds: Array, values: Array,
) -> None:  # fmt: skip
    """Compute the bounds of the open pairs with `total` pips: values[place, bound, chance], from bounds[pair, bound,
    chance] of the pairs after the chosen plays."""
    sums = np.empty((2, CHANCES))
    for item in range(begin, end):
        opponent = opponents[item]
        layer = total - pips[opponent]
        for n in range(layer_start[layer], layer_start[layer + 1]):
            on_roll = order[n]
            if not is_open[on_roll, opponent]:
                continue
            sums[:] = 0
            for roll in range(ROLL_COUNT):
                pair = chosen[on_roll, opponent, roll]
                for bound in range(2):
                    sums[bound, 0] += WEIGHTS[roll] * (np.float32(1) - bounds[pair, 1 - bound, 0])
                    for chance in range(1, CHANCES):
                        sums[bound, chance] += WEIGHTS[roll] * bounds[pair, bound, OTHER_SIDE[chance]]
            place = places[item] + n - layer_start[layer]
            for bound in range(2):
                for chance in range(CHANCES):
                    values[place, bound, chance] = sums[bound, chance] / 36.0


@kernel()
def keep_chances(
    begin: int, end: int, opponents: Array, total: int, pips: Array, order: Array, layer_start: Array, is_open: Array,
    places: Array, values: Array, bounds: Array, widths: Array, closed: float,
) -> None:  # fmt: skip
    """Copy values[place, bound, chance] to bounds[pair, bound, chance], update is_open, and fill widths[opponent] with
    the largest distance between the two bounds of a chance."""
    count = len(pips)
    for item in range(begin, end):
        opponent = opponents[item]
        layer = total - pips[opponent]
        for n in range(layer_start[layer], layer_start[layer + 1]):
            on_roll = order[n]
            if not is_open[on_roll, opponent]:
                continue
            found, width = values[places[item] + n - layer_start[layer]], 0.0
            bounds[on_roll * count + opponent] = found
            for chance in range(CHANCES):
                width = max(width, found[1, chance] - found[0, chance])
            is_open[on_roll, opponent] = width > closed
            widths[item] = max(widths[item], width)


class ChanceBounds(NamedTuple):
    """Bounds of the chances of all pairs of layouts, if both sides make the chosen plays."""

    layouts: Layouts
    chosen: NDArray[np.int32]  # [on roll, opponent, 21] pair after the best play, see `best_plays`
    values: NDArray[np.float32]  # [on roll * layouts + opponent, lower or upper, chance]
    is_open: NDArray[np.bool_]  # [on roll, opponent]


def best_plays(layouts: Layouts, plays: Plays, cubeless: NDArray[np.float32]) -> NDArray[np.int32]:
    """Choose the best play of each roll by cubeless equity, float32[on roll, opponent]. Returns the pairs of layouts
    after the plays as int32[on roll, opponent, 21]. The number of a pair is next on roll * layouts + next opponent."""
    wanted = are_unfinished(layouts)
    chosen = np.zeros((*wanted.shape, ROLL_COUNT), np.int32)
    in_threads(
        choose_plays, len(layouts), wanted, layouts.made, len(layouts.blocked), layouts.shifts, layouts.hit,
        plays.start, plays.results, plays.touched, np.ascontiguousarray(cubeless), chosen,
    )  # fmt: skip
    return chosen


def start_chances(layouts: Layouts, chosen: NDArray[np.int32], lost: NDArray[np.int8]) -> ChanceBounds:
    """Make the first bounds: exact for finished games, 0 and 1 for others. `lost` is the result of
    `solver.points_lost`."""
    values = np.zeros((len(layouts), len(layouts), 2, CHANCES), np.float32)
    values[:, :, 1] = 1
    values[:, 0], values[0, :] = 0, 0
    values[0, 1:, :, 0] = 1
    for points in (2, 3):
        values[1:, 0, :, points + 1] = (lost[1:] >= points)[:, None]
        values[0, 1:, :, points - 1] = (lost[1:] >= points)[:, None]
    return ChanceBounds(layouts, chosen, values.reshape(-1, 2, CHANCES), are_unfinished(layouts))


def solve_chances_of_total(bounds: ChanceBounds, total: int) -> float:
    """Narrow the bounds of the open pairs with `total` pips. Returns the largest distance between two bounds that
    remains."""
    layouts = bounds.layouts
    sizes, layer = np.diff(layouts.start), total - layouts.pips.astype(np.int64)
    opponents = np.flatnonzero((layer > 0) & (layer < len(sizes)) & (layouts.pips > 0))
    # first pair of each opponent, and the number of pairs
    places = np.concatenate([[0], np.cumsum(sizes[layer[opponents]])])
    count = int(places[-1])
    least = max(1, MIN_PAIRS * len(opponents) // max(1, count))
    values, widths = np.empty((count, 2, CHANCES), np.float32), np.zeros(len(opponents))
    shared = opponents, total, layouts.pips, layouts.order, layouts.start, bounds.is_open, places
    in_threads(add_chances, len(opponents), *shared, bounds.chosen, bounds.values, values, least=least)
    in_threads(keep_chances, len(opponents), *shared, values, bounds.values, widths, CLOSED, least=least)
    return float(widths.max(initial=0))


def fill_chances(bounds: ChanceBounds, chances: NDArray[np.float32]) -> None:
    """Fill chances[on roll, opponent, chance] with the middle between the bounds, NaN for impossible pairs."""
    low, high = bounds.values[:, 0], bounds.values[:, 1]
    chances[...] = (low + np.float32(0.5) * (high - low)).reshape(chances.shape)
    chances[~is_possible(bounds.layouts)] = np.nan
