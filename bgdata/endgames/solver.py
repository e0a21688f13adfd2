"""Exact equities of few checkers anywhere on the board, between bounds that close.

As in `bearoff.two_sided`, equities are points per unit cube for the player on roll, who does not double now; play and
cube are optimal from there on. Here hits make cycles, so values are found by going over all pairs again and again,
until they hardly move. That proves nothing of how far they are from the solution, so then each gets two bounds around
it, and the rounds go on: the upper bound of whoever is on roll after a play makes the lower bound of whoever played,
and the other way round. The recursion is monotone. Once rounds have led from bounds to bounds that lie within them
everywhere, there is a solution between them, rounding aside; and there is only one, since every game ends.

    cubeless         E0 = average over rolls of the  max over plays of  -E0'
    owned            E1:                                     max of  -E3'
    centered         E2:                                     max of  -max(E2', min(2 E3', 1))
    opponent_owned   E3:                                     max of  -max(E1', min(2 E3', 1))
    centered_jacoby  E4:                                     max of  -max(E4', min(2 E3', 1))

where ' marks the position after the play, with the opponent on roll. With gammons, a side that has borne no checker off
loses 2 points, or 3 with a checker on the bar or in the other home board; under the Jacoby rule 1 before the cube is
turned.

Each round moves all values by about the same share of what the one before did, so now and then they are moved on by all
that would follow. Like the order of pairs, that only makes it faster: what proves the values are the bounds.

Pairs are solved in order of their total of pips: without a hit a play leads to a lower total, which is solved in the
same round. Pairs of the same total are solved from the same bounds, in any order and on any number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.race import ROLL_COUNT
from bgdata.endgames.layouts import Layouts, own_points
from bgdata.endgames.lowest import (
    add_lowest_of_8,
    add_lowest_of_8_with_hits,
    add_lowest_of_16,
    add_lowest_of_16_with_hits,
)
from bgdata.endgames.plays import WEIGHTS, Plays
from bgdata.kernel import Array, in_threads, kernel

COLUMNS = ("cubeless", "owned", "centered", "opponent_owned", "centered_jacoby")
JACOBY = 4
LEAST_PAIRS = 2000  # that a thread is started for


class Bounds(NamedTuple):
    """Bounds of all pairs: of worths (what a doubling decision makes of values). Where no bounds are known yet, both
    are the value so far."""

    layouts: Layouts
    plays: Plays
    lanes: int  # of a pair: half of them lower bounds, half upper bounds
    worths: NDArray[np.float32]  # [on roll, opponent, lane], flat
    is_open: NDArray[np.bool_]  # [on roll, opponent] whether the game goes on


def stakes(layouts: Layouts, *, gammons: bool) -> NDArray[np.int8]:
    """int8[layouts]: points that a side loses whose opponent has borne off."""
    on_board = layouts.counts.sum(axis=1)
    if not gammons:
        return np.ones(len(on_board), np.int8)
    is_back = layouts.counts[:, 18:].any(axis=1)
    return np.where(on_board < layouts.checkers, 1, np.where(is_back, 3, 2)).astype(np.int8)


def is_possible(layouts: Layouts) -> NDArray[np.bool_]:
    """bool[on roll, opponent]: whether a pair shares no point and one side has checkers on the board."""
    apart: NDArray[np.bool_] = (own_points(layouts.counts)[:, None] & layouts.points[None, :]) == 0
    apart[0, 0] = False
    return apart


def start_bounds(layouts: Layouts, plays: Plays, *, gammons: bool) -> Bounds:
    """Values of finished games, and 0 elsewhere."""
    count, lost, half = len(layouts), stakes(layouts, gammons=gammons), 8 if gammons else 4
    worths = np.zeros((count, count, 2 * half), np.float32)
    worths[:, 0, :] = -lost[:, None]  # the other side has borne off: no cube is turned any more
    if gammons:
        worths[:, 0, [JACOBY, half + JACOBY]] = -1
        for unused in range(JACOBY + 1, half):
            worths[:, 0, [unused, half + unused]] = 0
    is_open = is_possible(layouts)
    is_open[0], is_open[:, 0] = False, False
    return Bounds(layouts, plays, 2 * half, worths.reshape(-1), is_open)


@kernel(borrows=True)
def add_rolls(
    totals: Array, worths: Array, start: Array, results: Array, touched: Array, reach: Array, first: int, count: int,
    shifts: Array, hit: Array, blots: int, opponent: int,
) -> None:  # fmt: skip
    """Fills totals[lane] with the sum over rolls, from start[first] on, of the lowest worth that a play leads to."""
    totals[:] = 0
    for roll in range(ROLL_COUNT):
        begin, end, weight = start[first + roll], start[first + roll + 1], WEIGHTS[roll]
        is_hitting = reach[first + roll] & blots
        if len(totals) == 8:
            if is_hitting:
                add_lowest_of_8_with_hits(
                    totals, weight, worths, results, begin, end, count, touched, shifts, hit, opponent
                )
            else:
                add_lowest_of_8(totals, weight, worths, results, begin, end, count, touched, shifts, hit, opponent)
        elif is_hitting:
            add_lowest_of_16_with_hits(
                totals, weight, worths, results, begin, end, count, touched, shifts, hit, opponent
            )
        else:
            add_lowest_of_16(totals, weight, worths, results, begin, end, count, touched, shifts, hit, opponent)


@kernel(borrows=True)
def fill_values(values: Array, totals: Array) -> None:
    """Fills values[lane], bounds of what a pair is worth to the player on roll, from sums of the lowest worths of 36
    rolls: lower bounds follow from the upper ones of the other side."""
    half = len(totals) // 2
    for lane in range(half):
        values[lane] = np.float32(-totals[lane + half] / 36.0)
        values[lane + half] = np.float32(-totals[lane] / 36.0)


@kernel(borrows=True)
def fill_worths(worths: Array, values: Array) -> None:
    """Fills worths[lane], by the columns of the side that plays to a pair, from values[lane] by those of `COLUMNS`."""
    half = len(values) // 2
    for bound in range(2):
        first = bound * half
        opponent_owned = values[first + 3]
        twice = opponent_owned + opponent_owned
        doubled = twice if twice < np.float32(1.0) else np.float32(1.0)
        worths[first] = values[first]
        worths[first + 1] = opponent_owned
        worths[first + 2] = max(values[first + 2], doubled)
        worths[first + 3] = max(values[first + 1], doubled)
        if half > 4:
            worths[first + 4] = max(values[first + 4], doubled)


@kernel()
def solve_opponents(
    begin: int, end: int, opponents: Array, total: int, pips: Array, order: Array, layer_start: Array, made: Array,
    sets: int, shifts: Array, hit: Array, blots: Array, start: Array, results: Array, touched: Array, reach: Array,
    worths: Array, is_open: Array, places: Array, values: Array,
) -> None:  # fmt: skip
    """Fills values[place, lane] of the open pairs of a total of pips in which the side not on roll is
    opponents[begin:end]; each opponent's places begin at places[opponent]."""
    count = len(pips)
    totals = np.empty(values.shape[1])
    for item in range(begin, end):
        opponent = opponents[item]
        layer = total - pips[opponent]
        for n in range(layer_start[layer], layer_start[layer + 1]):
            on_roll = order[n]
            if not is_open[on_roll, opponent]:
                continue
            first = (on_roll * sets + made[opponent]) * ROLL_COUNT
            add_rolls(
                totals, worths, start, results, touched, reach, first, count, shifts, hit, blots[opponent], opponent
            )
            fill_values(values[places[item] + n - layer_start[layer]], totals)


@kernel()
def keep_opponents(
    begin: int, end: int, opponents: Array, total: int, pips: Array, order: Array, layer_start: Array, worths: Array,
    is_open: Array, places: Array, values: Array, moves: Array,
) -> None:  # fmt: skip
    """Fills worths[pair, lane] from values[place, lane] of `solve_opponents`, and moves[opponent] with the largest
    change of a worth."""
    count, lanes = len(pips), values.shape[1]
    found = np.zeros(lanes, np.float32)  # lanes beyond the last column stay 0
    for item in range(begin, end):
        opponent = opponents[item]
        layer = total - pips[opponent]
        for n in range(layer_start[layer], layer_start[layer + 1]):
            on_roll = order[n]
            if not is_open[on_roll, opponent]:
                continue
            fill_worths(found, values[places[item] + n - layer_start[layer]])
            pair = (on_roll * count + opponent) * lanes
            for lane in range(lanes):
                moves[item] = max(moves[item], abs(found[lane] - worths[pair + lane]))
                worths[pair + lane] = found[lane]


def totals_of(layouts: Layouts) -> range:
    """Totals of pips of both sides, in the order in which they are solved."""
    return range(2, 2 * int(layouts.pips.max()) + 1)


class Pairs(NamedTuple):
    """The pairs of a total of pips, by opponents."""

    opponents: NDArray[np.int64]
    places: NDArray[np.int64]  # [opponents + 1] of the first pair of each, and how many pairs there are
    least: int  # opponents that a thread is started for


def pairs_of(layouts: Layouts, total: int) -> Pairs:
    """The pairs of a total of pips, in both of which a side has checkers on the board."""
    sizes = np.diff(layouts.start)
    layer = total - layouts.pips.astype(np.int64)
    opponents = np.flatnonzero((layer > 0) & (layer < len(sizes)) & (layouts.pips > 0))
    places = np.concatenate([[0], np.cumsum(sizes[layer[opponents]])])
    return Pairs(opponents, places, max(1, LEAST_PAIRS * len(opponents) // max(1, int(places[-1]))))


def values_of(bounds: Bounds, total: int, wanted: NDArray[np.bool_]) -> tuple[Pairs, NDArray[np.float32]]:
    """The pairs of a total of pips, and float32[place, lane] bounds of their values, for those that are
    wanted[on roll, opponent]; they follow from the worths as they are."""
    layouts, plays, pairs = bounds.layouts, bounds.plays, pairs_of(bounds.layouts, total)
    values = np.empty((int(pairs.places[-1]), bounds.lanes), np.float32)
    in_threads(
        solve_opponents, len(pairs.opponents), pairs.opponents, total, layouts.pips, layouts.order, layouts.start,
        layouts.made, len(layouts.blocked), layouts.shifts.reshape(-1), layouts.hit.reshape(-1), layouts.blots,
        plays.start, plays.results, plays.touched, plays.reach, bounds.worths, wanted, pairs.places, values,
        least=pairs.least,
    )  # fmt: skip
    return pairs, values


def solve_total(bounds: Bounds, total: int) -> float:
    """Solve the pairs of a total of pips again; the largest change of a worth."""
    layouts = bounds.layouts
    pairs, values = values_of(bounds, total, bounds.is_open)
    moves = np.zeros(len(pairs.opponents))
    in_threads(
        keep_opponents, len(pairs.opponents), pairs.opponents, total, layouts.pips, layouts.order, layouts.start,
        bounds.worths, bounds.is_open, pairs.places, values, moves, least=8 * pairs.least,
    )  # fmt: skip
    return float(moves.max(initial=0))


def middles(bounds: Bounds) -> NDArray[np.float32]:
    """float32[pairs, column]: the lower bounds of all worths, which are the values themselves where none are known."""
    return bounds.worths.reshape(-1, bounds.lanes)[:, : bounds.lanes // 2]


def extrapolate(bounds: Bounds, before: NDArray[np.float32], ratio: float) -> None:
    """Move the values of all games that go on to where they would end if each round moved them by `ratio` of what the
    one before did, from float32[pairs, column] `before` the last round. No bounds are known yet."""
    half = bounds.lanes // 2
    worths = bounds.worths.reshape(-1, bounds.lanes)
    worths[:, :half] += (worths[:, :half] - before) * np.float32(ratio / (1 - ratio))
    worths[:, half:] = worths[:, :half]


def widen(bounds: Bounds, middle: NDArray[np.float32], by: float) -> None:
    """Give the worths of all games that go on bounds so far from float32[pairs, column] middles."""
    half, is_open = bounds.lanes // 2, bounds.is_open.reshape(-1)
    worths = bounds.worths.reshape(-1, bounds.lanes)
    worths[is_open, :half] = middle[is_open] - np.float32(by)
    worths[is_open, half:] = middle[is_open] + np.float32(by)


def is_within(bounds: Bounds, middle: NDArray[np.float32], by: float) -> bool:
    """Whether all bounds lie within the distance from the middles that `widen` gave them."""
    half, is_open = bounds.lanes // 2, bounds.is_open.reshape(-1)
    worths = bounds.worths.reshape(-1, bounds.lanes)
    low = (worths[:, :half] >= middle - np.float32(by)) | ~is_open[:, None]
    high = (worths[:, half:] <= middle + np.float32(by)) | ~is_open[:, None]
    return bool(low.all() and high.all())


@kernel()
def keep_values(
    begin: int, end: int, opponents: Array, total: int, pips: Array, order: Array, layer_start: Array, wanted: Array,
    places: Array, values: Array, columns: Array, equities: Array,
) -> None:  # fmt: skip
    """Fills equities[on roll, opponent, column] from the first lanes of values[place, lane]."""
    for item in range(begin, end):
        opponent = opponents[item]
        layer = total - pips[opponent]
        for n in range(layer_start[layer], layer_start[layer + 1]):
            on_roll = order[n]
            if wanted[on_roll, opponent]:
                for column in range(len(columns)):
                    place = places[item] + n - layer_start[layer]
                    equities[on_roll, opponent, column] = values[place, columns[column]]


def fill_equities(
    bounds: Bounds, equities: NDArray[np.float32], columns: Sequence[int], lost: NDArray[np.int8]
) -> None:
    """Fills equities[on roll, opponent, column] with the values of the chosen columns, where both bounds are the value.

    They are NaN where two sides share a point or neither has checkers. Where one side has borne off it has won the
    points that the other one has lost.
    """
    layouts, possible, chosen = bounds.layouts, is_possible(bounds.layouts), np.array(columns)
    equities[...] = np.nan
    points = np.where(chosen == JACOBY, 1, lost[1:, None])
    equities[0, 1:], equities[1:, 0] = points, -points
    for total in totals_of(layouts):
        pairs, values = values_of(bounds, total, possible)
        in_threads(
            keep_values, len(pairs.opponents), pairs.opponents, total, layouts.pips, layouts.order, layouts.start,
            possible, pairs.places, values, chosen, equities, least=8 * pairs.least,
        )  # fmt: skip
