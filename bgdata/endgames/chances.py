"""How often each side wins, with gammons and backgammons, when both play for the best cubeless equity.

The plays are known from solved equities: of equally good ones the first in the order of `Plays`. What follows from them
is found between bounds that begin at 0 and 1 and close round by round, whatever is between them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.race import ROLL_COUNT
from bgdata.endgames.layouts import Layouts
from bgdata.endgames.plays import WEIGHTS, Plays
from bgdata.endgames.solver import is_possible
from bgdata.kernel import Array, in_threads, kernel

CHANCES = 5  # win, win gammon, win backgammon, lose gammon, lose backgammon
CLOSED = 5e-6  # bounds as close as this are left alone
LEAST_PAIRS = 2000  # that a thread is started for
OTHER_SIDE = np.array([0, 3, 4, 1, 2])  # of the side that played: its gammons are lost by whoever is on roll then


class Chosen(NamedTuple):
    """The pair that the best play of each roll leads to, for all pairs."""

    layouts: Layouts
    pairs: NDArray[np.int32]  # [on roll, opponent, 21] next on roll * layouts + next opponent


@kernel()
def choose_plays(
    begin: int, end: int, wanted: Array, layouts: Layouts, plays: Plays, cubeless: Array, chosen: Array
) -> None:
    """Fills chosen[on roll, opponent, roll] of players on roll begin to end with the pairs that are wanted."""
    count, sets = len(layouts.made), len(layouts.blocked)
    for on_roll in range(begin, end):
        for opponent in range(count):
            if not wanted[on_roll, opponent]:
                continue
            first = (on_roll * sets + layouts.made[opponent]) * ROLL_COUNT
            for roll in range(ROLL_COUNT):
                lowest = np.float32(4.0)
                for play in range(plays.start[first + roll], plays.start[first + roll + 1]):
                    result, which = plays.results[play], 0
                    for blot in range(layouts.shifts.shape[1]):
                        which |= (plays.touched[play] >> layouts.shifts[opponent, blot] & 1) << blot
                    after = layouts.hit[opponent, which]
                    if cubeless[after, result] < lowest:
                        lowest = cubeless[after, result]
                        chosen[on_roll, opponent, roll] = after * count + result


def best_plays(layouts: Layouts, plays: Plays, cubeless: NDArray[np.float32]) -> Chosen:
    """The best play of every roll, from float32[on roll, opponent] cubeless equities."""
    wanted = is_possible(layouts)
    wanted[0], wanted[:, 0] = False, False
    chosen = Chosen(layouts, np.zeros((*wanted.shape, ROLL_COUNT), np.int32))
    in_threads(choose_plays, len(layouts), wanted, layouts, plays, np.ascontiguousarray(cubeless), chosen.pairs)
    return chosen


def totals_of(layouts: Layouts) -> range:
    """Totals of pips of both sides, in the order in which they are solved."""
    return range(2, 2 * int(layouts.pips.max()) + 1)


class Pairs(NamedTuple):
    """The pairs of a total of pips in which both sides have checkers on the board, by opponents."""

    opponents: NDArray[np.int64]
    places: NDArray[np.int64]  # [opponents + 1] of the first pair of each, and how many pairs there are


class ChanceBounds(NamedTuple):
    """Bounds of the chances of all pairs when the chosen plays are played."""

    chosen: Chosen
    values: NDArray[np.float32]  # [on roll * layouts + opponent, lower or upper, chance]
    is_open: NDArray[np.bool_]  # [on roll, opponent]


@kernel()
def add_chances(begin: int, end: int, pairs: Pairs, total: int, bounds: ChanceBounds, values: Array) -> None:
    """Fills values[place, bound, chance] of the open pairs of a total of pips from bounds.values[pair, bound, chance]
    of those that the chosen plays lead to."""
    layouts, sums = bounds.chosen.layouts, np.empty((2, CHANCES))
    for item in range(begin, end):
        opponent = pairs.opponents[item]
        layer = total - layouts.pips[opponent]
        for n in range(layouts.start[layer], layouts.start[layer + 1]):
            on_roll = layouts.order[n]
            if not bounds.is_open[on_roll, opponent]:
                continue
            sums[:] = 0
            for roll in range(ROLL_COUNT):
                pair = bounds.chosen.pairs[on_roll, opponent, roll]
                for bound in range(2):
                    sums[bound, 0] += WEIGHTS[roll] * (np.float32(1) - bounds.values[pair, 1 - bound, 0])
                    for chance in range(1, CHANCES):
                        sums[bound, chance] += WEIGHTS[roll] * bounds.values[pair, bound, OTHER_SIDE[chance]]
            place = pairs.places[item] + n - layouts.start[layer]
            for bound in range(2):
                for chance in range(CHANCES):
                    values[place, bound, chance] = sums[bound, chance] / 36.0


@kernel()
def keep_chances(
    begin: int, end: int, pairs: Pairs, total: int, bounds: ChanceBounds, values: Array, widths: Array
) -> None:
    """Fills bounds.values[pair, bound, chance] from values[place, bound, chance], bounds.is_open, and widths[opponent]
    with the largest distance of two bounds."""
    layouts = bounds.chosen.layouts
    for item in range(begin, end):
        opponent = pairs.opponents[item]
        layer = total - layouts.pips[opponent]
        for n in range(layouts.start[layer], layouts.start[layer + 1]):
            on_roll = layouts.order[n]
            if not bounds.is_open[on_roll, opponent]:
                continue
            found, width = values[pairs.places[item] + n - layouts.start[layer]], 0.0
            bounds.values[on_roll * len(layouts.pips) + opponent] = found
            for chance in range(CHANCES):
                width = max(width, found[1, chance] - found[0, chance])
            bounds.is_open[on_roll, opponent] = width > CLOSED
            widths[item] = max(widths[item], width)


def start_chances(chosen: Chosen, lost: NDArray[np.int8]) -> ChanceBounds:
    """Bounds of which only those of finished games are closed; `lost` as from `solver.stakes`."""
    layouts = chosen.layouts
    values = np.zeros((len(layouts), len(layouts), 2, CHANCES), np.float32)
    values[:, :, 1] = 1
    values[:, 0], values[0, :] = 0, 0
    values[0, 1:, :, 0] = 1
    for points in (2, 3):
        values[1:, 0, :, points + 1] = (lost[1:] >= points)[:, None]
        values[0, 1:, :, points - 1] = (lost[1:] >= points)[:, None]
    is_open = is_possible(layouts)
    is_open[0], is_open[:, 0] = False, False
    return ChanceBounds(chosen, values.reshape(-1, 2, CHANCES), is_open)


def solve_chances_of_total(bounds: ChanceBounds, total: int) -> float:
    """Close the bounds of the open pairs of a total of pips; the largest distance that is left between two bounds."""
    layouts = bounds.chosen.layouts
    sizes = np.diff(layouts.start)
    layer = total - layouts.pips.astype(np.int64)
    opponents = np.flatnonzero((layer > 0) & (layer < len(sizes)) & (layouts.pips > 0))
    pairs = Pairs(opponents, np.concatenate([[0], np.cumsum(sizes[layer[opponents]])]))
    count, pair_count = len(opponents), int(pairs.places[-1])
    values, widths = np.empty((pair_count, 2, CHANCES), np.float32), np.zeros(count)
    least = max(1, LEAST_PAIRS * count // max(1, pair_count))
    in_threads(add_chances, count, pairs, total, bounds, values, least=least)
    in_threads(keep_chances, count, pairs, total, bounds, values, widths, least=least)
    return float(widths.max(initial=0))


def fill_chances(bounds: ChanceBounds, chances: NDArray[np.float32]) -> float:
    """Fills chances[on roll, opponent, chance] with the middle of the bounds, NaN where two sides share a point or
    neither has checkers; the largest distance of a middle from a bound."""
    low, high = bounds.values[:, 0], bounds.values[:, 1]
    chances[...] = (low + np.float32(0.5) * (high - low)).reshape(chances.shape)
    chances[~is_possible(bounds.chosen.layouts)] = np.nan
    return float((high - low)[is_possible(bounds.chosen.layouts).reshape(-1)].max()) / 2
