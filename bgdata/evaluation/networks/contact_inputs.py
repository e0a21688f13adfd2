"""Inputs of a network for contact positions: features that human players look at, besides the checkers.

Inputs are int16 in units of 1/64, so that sums are exact. Most are between 0 and 1 (64), some reach 2. Each side has
the same inputs, the player on roll first. The values of inputs do not depend on who rolls next. The definitions are
bgdata's, after well-known ideas of the field, and not those of another program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.networks.products import weigh_points
from bgdata.evaluation.networks.shots import (
    FIELD,
    HITTING,
    HITTING_TWO,
    LANDINGS,
    MAKING,
    MOVERS,
    ON_BLOT,
    PAIRS,
    PIPS,
    SINGLES,
    SOURCES,
    TARGETS,
    WANTED,
    RollNumbers,
    SideSets,
    bit_count,
    entering_shots,
    escapes_from,
    fewest_escapes,
    fill_roll_counts,
    longest_run,
    lowest,
    most_in_six,
    points_in_front,
    side_sets,
)
from bgdata.game.codec import Boards
from bgdata.kernel import kernel

UNIT = 64  # an input of 1
MAX_INPUT = 2 * UNIT  # the limit of inputs without a natural maximum
Inputs = NDArray[np.int16]


class NamedInput(NamedTuple):
    """An input of a network, with its name and meaning."""

    name: str
    meaning: str


_SIDE = (
    NamedInput("off_first", "checkers 1 to 5 borne off, of 5"),
    NamedInput("off_second", "checkers 6 to 10 borne off, of 5"),
    NamedInput("off_third", "checkers 11 to 15 borne off, of 5"),
    NamedInput("pips", "pip count, of 128, at most 2"),
    NamedInput("race_lead", "pips ahead in the race, of 64, at most 2; 0 when behind"),
    NamedInput("contact_pips", "pips until all checkers are past the other side's rearmost, of 128, at most 2"),
    NamedInput("gammon_pips", "pips until all checkers are home, of 128, at most 2; 0 once a checker is off"),
    NamedInput("rearmost", "point of the rearmost checker (bar 25), of 32"),
    NamedInput("best_anchor", "most advanced anchor on points 18 (7) to 24 (1), of 7.1; 0 without one"),
    NamedInput("anchors", "made points from 18 to 24, of 2, at most 2"),
    NamedInput("back_game", "with two anchors or more on points 19 to 24: pips behind in the race, of 64, at most 2"),
    NamedInput("hit_chance", "chance that a roll of this side can hit"),
    NamedInput("double_hit_chance", "chance that a roll of this side can hit two blots"),
    NamedInput("hit_pips", "mean over all rolls of the pips that the best hit costs the other side, of 16"),
    NamedInput("home_blots", "blots in the home board, of 2, at most 2"),
    NamedInput("exposed_blots", "blots within 6 pips of one of the other side's checkers behind them, of 4, at most 2"),
    NamedInput("escape_chance", "chance that a roll brings the rearmost checker past the block in front of it"),
    NamedInput("back_escape_chance", "the same, mean over the checkers on points 18 and above; 1 without any"),
    NamedInput("mobility", "the same, mean over the checkers on points 7 and above; 1 without any"),
    NamedInput("blockade", "chance not to escape on the worst square before the other side's rearmost checker"),
    NamedInput("blockade_from_bar", "the same over all squares that a checker sent to the bar has before it"),
    NamedInput("longest_prime", "most made points in a row before the other side's rearmost checker, of 6"),
    NamedInput("broken_prime", "most made points among six in a row before the other side's rearmost checker, of 6"),
    NamedInput("block_in_front", "made points up to 6 (counting 2) and 12 pips before their rearmost checker, of 16"),
    NamedInput("dance_chance", "chance that a checker of this side on the bar cannot enter, should there be one"),
    NamedInput("stuck_checkers", "checkers expected to be on the bar still after a roll, at most 2"),
    NamedInput("timing", "pips to play before home points break: to 6 from 7 to 17, spares of 3 to 6 to 2, of 64"),
    NamedInput("crunch", "square of the checkers on the two lowest points, of 64, at most 121/64"),
    NamedInput("moment", "squared pips of checkers behind the mean, summed, by checkers, of 64, at most 2"),
    NamedInput("unlinked", "points from 7 up, bar too, without an own made point 1 to 6 pips below, of 4, at most 2"),
    NamedInput("point_making_chance", "chance that a roll makes a new point from 1 to 7, nobody being on the bar"),
    NamedInput("blot_pointing_chance", "chance that a roll makes one of these points on a blot"),
)
SIDE_INPUTS = len(_SIDE)
CONTACT_INPUTS = _SIDE + tuple(NamedInput(f"opponent_{name}", f"opponent: {meaning}") for name, meaning in _SIDE)

_CHANCES = np.array([round(rolls * UNIT / 36) for rolls in range(37)], np.int64)
_BAR_POINT_UP = -1 << 7  # points 7 and above
_BACK = -1 << 18  # the other side's home board and bar point
_HOME = (1 << 7) - 2
_HOME_AND_BAR_POINT = 0b1111111 << 18  # points 7 to 1, ahead


def stuck_checkers() -> NDArray[np.int64]:
    """Compute the mean number of checkers that remain on the bar after a roll, at most 2, as int64[7, 16] in units of
    1/64. The first index is the number of closed points, the second the number of checkers on the bar before the
    roll."""
    table = np.zeros((7, 16), np.int64)
    for closed in range(7):
        for bar in range(1, 16):
            left = 0  # summed over 36 rolls; it does not matter which points are closed
            for die in range(1, 7):
                for other in range(1, 7):
                    entering = (die > closed) + (other > closed) if die != other else 4 * (die > closed)
                    left += max(bar - entering, 0)
            table[closed, bar] = min(MAX_INPUT, round(left * UNIT / 36))
    return table


_STUCK = stuck_checkers()
_NONE, _TWO = np.int32(0), np.int32(2)


class Totals(NamedTuple):
    """Sums over all checkers of a side. The last two fields do not count checkers on the bar."""

    checkers: int
    pips: int
    outside: int  # pips needed to reach the home board
    to_pass: int  # pips needed to pass the other side's rearmost checker
    timing: int
    low: int  # checkers on the two lowest points


def _by_slot(value: Callable[[int], int]) -> NDArray[np.int32]:
    """Compute `value` of the point at each index of a board, as int32[2, 26]: first with the point numbers of the
    player on roll, then with those of the opponent."""
    own = [value(point) for point in range(26)]
    return np.array([own, own[::-1]], np.int32)


_POINTS = _by_slot(lambda point: point)
_OUTSIDE = _by_slot(lambda point: max(point - 6, 0))
_FAR = _by_slot(lambda point: point - 6 if 7 <= point <= 17 else 0)
_NEAR = _by_slot(lambda point: point - 2 if 3 <= point <= 6 else 0)
_LOW = _by_slot(lambda point: int(1 <= point <= 2))
# int16[52, 25]: by mean from 0 to 25 and point, the squared number of pips by which a checker is behind the mean, for
# the player on roll, then for the opponent
_SQUARED = np.array(
    [[max(point - mean, 0) ** 2 for point in points] for points in (range(25), range(25, 0, -1)) for mean in range(26)],
    np.int16,
)


@kernel(borrows=True)
def fill_many_contact_inputs(boards: Boards, n: int, numbers: RollNumbers, inputs: Inputs) -> None:
    """Fill inputs[row, 0:64] with the CONTACT_INPUTS of the first n boards, for the player about to roll; n is at most
    SIDES / 2. `numbers` is scratch, in which `shots.fill_roll_counts` counts the rolls of all sides together."""
    for row in range(n):
        board = boards[row]
        ours, theirs = side_sets(board)
        our_totals, their_totals = side_totals(board, 1, theirs), side_totals(board, -1, ours)
        lead = their_totals.pips - our_totals.pips
        fill_side(board, 1, ours, theirs, our_totals, lead, inputs[row], 0)
        fill_side(board, -1, theirs, ours, their_totals, -lead, inputs[row], SIDE_INPUTS)
        set_side(board, 1, ours, theirs, 2 * row, numbers)
        set_side(board, -1, theirs, ours, 2 * row + 1, numbers)
    fill_roll_counts(numbers)
    for row in range(n):
        fill_rolls(bar_of(boards[row], 1), numbers, 2 * row, inputs[row], 0)
        fill_rolls(bar_of(boards[row], -1), numbers, 2 * row + 1, inputs[row], SIDE_INPUTS)


@kernel(borrows=True)
def fill_side(
    board: Boards, side: int, us: SideSets, them: SideSets, totals: Totals, lead: int, inputs: Inputs, at: int
) -> None:
    """Fill inputs[at:at + 32] of a side (1: on roll, -1: opponent), except those that `fill_rolls` fills. `lead` is how
    many pips the side is ahead."""
    off, bar = 15 - totals.checkers, bar_of(board, side)
    for part in range(3):
        inputs[at + part] = UNIT * min(max(off - 5 * part, 0), 5) // 5
    inputs[at + 3] = min(totals.pips >> 1, MAX_INPUT)
    inputs[at + 4] = min(max(lead, 0), MAX_INPUT)
    inputs[at + 5] = min(totals.to_pass >> 1, MAX_INPUT)
    inputs[at + 6] = min(totals.outside >> 1, MAX_INPUT) if off == 0 else 0
    inputs[at + 7] = 2 * max(25 - lowest(us.ahead), 0)
    anchors = us.own_made & _BACK
    inputs[at + 8] = 9 * (25 - lowest(anchors)) if anchors else 0
    inputs[at + 9] = min(32 * bit_count(anchors), MAX_INPUT)
    inputs[at + 10] = min(max(-lead, 0), MAX_INPUT) if bit_count(anchors >> 19) >= 2 else 0
    fill_weak_points(us, them, inputs, at + 14)
    fill_escapes(board, side, us.ahead, them.own_made, inputs, at + 16)
    fill_blocks(us, them, bar, inputs, at + 19)
    inputs[at + 26] = min(totals.timing, MAX_INPUT)
    inputs[at + 27] = min(totals.low, 11) ** 2
    checkers = max(totals.checkers, 1)
    mean = totals.pips // checkers
    behind = weigh_points(board, side, _SQUARED, mean if side > 0 else 26 + mean)
    inputs[at + 28] = min(int(behind + bar * (25 - mean) ** 2) // checkers, MAX_INPUT)


@kernel(borrows=True)
def count_at(board: Boards, side: int, slot: int) -> int:
    """Count the checkers of a side (1: on roll, -1: opponent) at an index of the board from 1 to 24."""
    return max(side * int(board[slot]), 0)


@kernel(borrows=True)
def bar_of(board: Boards, side: int) -> int:
    """The number of checkers that a side has on the bar."""
    return int(board[25]) if side > 0 else int(board[0])


@kernel(borrows=True)
def side_totals(board: Boards, side: int, them: SideSets) -> Totals:
    """Compute the sums over all checkers of a side (1: on roll, -1: opponent); `them` are the sets of points of the
    other side."""
    row = 0 if side > 0 else 1
    front = np.int32(min(lowest(them.ahead), 25))  # their rearmost checker, in our numbering
    checkers = pips = outside = to_pass = timing = low = _NONE
    for slot in range(1, 25):  # 32-bit sums, so that eight points are added at once
        count, point = max(np.int32(side * board[slot]), _NONE), _POINTS[row, slot]
        spare = max(np.int32(count - _TWO), _NONE)
        checkers = np.int32(checkers + count)
        pips = np.int32(pips + count * point)
        outside = np.int32(outside + count * _OUTSIDE[row, slot])
        to_pass = np.int32(to_pass + count * max(np.int32(point - front), _NONE))
        timing = np.int32(timing + count * _FAR[row, slot] + spare * _NEAR[row, slot])
        low = np.int32(low + count * _LOW[row, slot])
    bar = bar_of(board, side)
    passing = int(to_pass) + bar * (25 - int(front))
    return Totals(int(checkers) + bar, int(pips) + 25 * bar, int(outside) + 19 * bar, passing, int(timing), int(low))


@kernel(borrows=True)
def fill_rolls(bar: int, numbers: RollNumbers, lane: int, inputs: Inputs, at: int) -> None:
    """Fill the five inputs that depend on what rolls can do, from the counts in one lane of `numbers`: hit_chance to
    hit_pips in inputs[at + 11:at + 14], and the last two in inputs[at + 30:at + 32]. `bar` is the number of the side's
    checkers on the bar."""
    if bar == 0:
        hitting, hitting_two = int(numbers[HITTING + lane]), int(numbers[HITTING_TWO + lane])
        pips, making, on_blot = int(numbers[PIPS + lane]), int(numbers[MAKING + lane]), int(numbers[ON_BLOT + lane])
    else:
        movers, targets, landings = numbers[MOVERS + lane], numbers[TARGETS + lane], numbers[LANDINGS + lane]
        hitting, hitting_two, pips = entering_shots(int(movers), bar, int(targets), int(landings))
        making, on_blot = 0, 0
    inputs[at + 11] = _CHANCES[hitting]
    inputs[at + 12] = _CHANCES[hitting_two]
    inputs[at + 13] = pips // 9
    inputs[at + 30] = _CHANCES[making]
    inputs[at + 31] = _CHANCES[on_blot]


@kernel(borrows=True)
def set_side(board: Boards, side: int, us: SideSets, them: SideSets, lane: int, numbers: RollNumbers) -> None:
    """Fill one lane of `numbers`, which `shots.fill_roll_counts` reads, with the sets of a side. A new point is not
    made with a checker whose move would break an own point from 7 to 1."""
    movers, landings = us.ahead & FIELD, FIELD & ~them.own_made
    singles = movers & ~us.ahead_made
    base = 0 if side > 0 else 25
    sources = (movers & ~_HOME_AND_BAR_POINT) | singles
    for point in range(1, 8):
        sources |= int(count_at(board, side, base + side * point) > 2) << (25 - point)
    numbers[MOVERS + lane], numbers[SINGLES + lane] = movers, singles
    numbers[TARGETS + lane], numbers[LANDINGS + lane] = them.own & landings, landings
    numbers[SOURCES + lane], numbers[PAIRS + lane] = sources, sources & us.ahead_made
    numbers[WANTED + lane] = _HOME_AND_BAR_POINT & landings & ~us.ahead_made


@kernel(borrows=True)
def fill_weak_points(us: SideSets, them: SideSets, inputs: Inputs, at: int) -> None:
    """Fill the inputs home_blots and exposed_blots, inputs[at] and inputs[at + 1], and unlinked, inputs[at + 15], of a
    side."""
    attacked, linked = 0, 0
    for die in range(1, 7):
        attacked |= them.ahead << die
        linked |= us.own_made << die
    blots = us.own & FIELD & ~us.own_made
    inputs[at] = min(32 * bit_count(blots & _HOME), MAX_INPUT)
    inputs[at + 1] = min(16 * bit_count(blots & attacked), MAX_INPUT)
    inputs[at + 15] = min(16 * bit_count(us.own & _BAR_POINT_UP & ~linked), MAX_INPUT)


@kernel(borrows=True)
def fill_escapes(board: Boards, side: int, ahead: int, blocks: int, inputs: Inputs, at: int) -> None:
    """Fill inputs[at:at + 3] with the chances to escape: of the rearmost checker, of the checkers far back, and of the
    checkers outside the home board."""
    base = 0 if side > 0 else 25
    inputs[at] = _CHANCES[escapes_from(min(lowest(ahead), 24), blocks)]
    bar = bar_of(board, side)
    n, total = bar, bar * escapes_from(0, blocks)
    n_back, total_back = n, total
    left = ahead & ((1 << 19) - 2)  # points 24 to 7
    while left:
        square = lowest(left)
        left &= left - 1
        count = count_at(board, side, base + side * (25 - square))
        escapes = count * escapes_from(square, blocks)
        n += count
        total += escapes
        if square <= 7:
            n_back, total_back = n, total
    inputs[at + 1] = (16 * total_back) // (9 * n_back) if n_back else UNIT
    inputs[at + 2] = (16 * total) // (9 * n) if n else UNIT


@kernel(borrows=True)
def fill_blocks(us: SideSets, them: SideSets, bar: int, inputs: Inputs, at: int) -> None:
    """Fill inputs[at:at + 7], from blockade to stuck_checkers, of a side."""
    front = min(lowest(them.ahead), 25)
    fewest, fewest_of_all = fewest_escapes(front, us.own_made)
    inputs[at] = _CHANCES[36 - fewest]
    inputs[at + 1] = _CHANCES[36 - fewest_of_all]
    before = us.own_made & (-2 << front)
    inputs[at + 2] = 64 * longest_run(before) // 6
    inputs[at + 3] = 64 * most_in_six(before) // 6
    inputs[at + 4] = 4 * points_in_front(front, us.own_made)
    closed = bit_count(them.own_made & _HOME)
    inputs[at + 5] = _CHANCES[closed * closed]
    inputs[at + 6] = _STUCK[closed, bar]
