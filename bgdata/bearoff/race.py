"""One-sided races: for every layout, the distribution of the number of rolls until a goal is reached.

The goal is given by the first *live* position index: every position below it has reached the goal.

* 1: all checkers are off (only the empty layout, index 0): the one-sided bearoff table.
* layout_count(P, 14): fewer than 15 checkers are on the board, so the first one is off: the gammon table.

Every play lowers the pip count, so one pass over pip layers solves all positions, each layer in parallel. Positions are
stored by *slot*: slot 0 is the reached goal, and live positions follow by pip count and then index. So the results of
plays from neighbouring slots are neighbours too.

A play consists of moves of one die each. The array `half` contains, for every position, the best result of one, two and
three more moves with each die. So a roll takes a few look-ups instead of hundreds of plays. Without contact a side can
always play every die, so this covers all legal plays, including those that waste pips.

Chances are integers in units of 1/scale, rounded once per roll; each row sums to exactly `scale`. Scale 65535 gives the
bytes of gnubg's files. Our tables use 2^30, which is exact to 2e-8.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.index import MAX_CHECKERS, layout_count
from bgdata.bearoff.layouts import NON_DOUBLES, ROLL_COUNT, all_layouts, fill_index_drops, pip_counts, pip_layers
from bgdata.game.dice import ROLLS
from bgdata.kernel import Array, kernel, prange

SCALE = 1 << 30  # a signed 64-bit key has 36 bits of expected rolls and 27 bits of slot
SLOT_BITS = 27
SLOT_MASK = (1 << SLOT_BITS) - 1
NO_KEY = np.iinfo(np.int64).max
WIDTH = 32  # stored chances of a distribution, from the first non-zero one: two cache lines
LONGEST = 96  # 15 checkers on 18 points take more rolls only with a chance below 1/scale
BLOCK = 128  # number of positions per task

GNUBG_SCALE = 65535
GNUBG_ROLLS = 32  # number of rolls that gnubg's files can store
# rolls in gnubg's order 11 21 22 31 ... 66, as indexes of our order 21 31 32 ... 65, then doubles
_ROLL_ORDER = np.array([ROLLS.index(roll) for roll in sorted(ROLLS)])
_WEIGHTS = np.array([roll.weight for roll in sorted(ROLLS)], np.float32)
_RECIPROCAL = np.float32(1) / np.float32(36)


class Race(NamedTuple):
    """A race that is being solved, by slot: its arrays are filled up to the last solved pip layer. All arrays except
    `order`, `layer_start`, `slot_of` and `layouts` are indexed by slot. `half` has 18 columns: the best key after one
    (0-5), two (6-11) and three (12-17) more moves of die 1 to 6. A key is expected rolls * scale, shifted, plus the
    slot."""

    scale: int
    order: NDArray[np.int32]  # [slots - 1] position index of slot n + 1
    layer_start: NDArray[np.int64]  # first slot of each pip layer, and the end
    slot_of: NDArray[np.int32]  # [positions] slot of each position index, 0 if the goal is reached
    layouts: NDArray[np.int8]  # [positions, points]
    key: NDArray[np.int64]
    half: NDArray[np.int64]
    first_roll: NDArray[np.uint8]  # first roll with a stored chance
    length: NDArray[np.uint8]  # number of stored chances
    chances: NDArray[np.uint32]  # [slots, WIDTH] in units of 1/scale


@kernel(inline=True)
def better_key(key: int, best: int) -> int:
    """Return the key with fewer expected rolls, or `best`, which came first, if they are equal."""
    return key if (key >> SLOT_BITS) < (best >> SLOT_BITS) else best


@kernel()
def fill_choices(slot: int, race: Race, drops: Array, reply: Array, results: Array) -> None:
    """Fill results[roll] with the slot after the best play of each roll, and the row of race.half for `slot`.

    reply[die - 1, :] is scratch: the best key after a first move with the die, followed by one move with each other die
    (columns 0-5), or none (6), two (7) or three (8) more of the same die. First moves go from the highest point down,
    the larger die first: among equal plays the first one wins, which is gnubg's rule."""
    index: Any = np.int64(race.order[slot - 1])
    layout, key, half = race.layouts[index], race.key, race.half
    highest = fill_index_drops(layout, drops)
    reply[:] = NO_KEY
    for die in range(1, 7):
        best = reply[die - 1]
        for point in range(highest, 0, -1):
            if layout[point - 1] == 0:
                continue
            if point > die:
                target = index - (drops[point] - drops[point - die])
            elif highest <= 6 and point in (die, highest):
                target = index - drops[point]
            else:
                continue
            after = race.slot_of[target]
            for column in range(6):
                best[column] = better_key(half[after, column], best[column])
            best[6] = better_key(key[after], best[6])
            best[7] = better_key(half[after, 5 + die], best[7])
            best[8] = better_key(half[after, 11 + die], best[8])
    roll = 0
    for high in range(1, 6):
        for low in range(high):
            results[roll] = better_key(reply[low, high], reply[high, low]) & SLOT_MASK
            roll += 1
    for die in range(6):
        half[slot, die] = reply[die, 6]
        half[slot, 6 + die] = reply[die, die]
        half[slot, 12 + die] = reply[die, 7]
        results[roll + die] = reply[die, 8] & SLOT_MASK


@kernel()
def fill_distribution(slot: int, results: Array, race: Race, longest: int, total: Array) -> None:
    """Fill the distribution of a slot (key, first_roll, length and chances of `race`) from those of the slots
    results[roll]; total[LONGEST] is scratch. Non-doubles have weight 2/36. The rounding remainder is added to the first
    of the largest chances."""
    total[:] = 0
    end = 0
    for roll in range(ROLL_COUNT):
        result = results[roll]
        weight = np.uint64(2) if roll < NON_DOUBLES else np.uint64(1)
        start = np.int64(race.first_roll[result]) + 1
        count: Any = min(np.int64(race.length[result]), longest - start)
        end = max(end, start + count)
        for n in range(count):
            total[start + n] += weight * np.uint64(race.chances[result, n])
    largest = 0
    left = np.int64(race.scale)
    for n in range(end):
        total[n] = (total[n] + np.uint64(18)) // np.uint64(36)
        left -= np.int64(total[n])
        if total[n] > total[largest]:
            largest = n
    total[largest] = np.uint64(np.int64(total[largest]) + left)
    begin = 0
    while total[begin] == 0:
        begin += 1
    while total[end - 1] == 0:
        end -= 1
    expected = np.int64(0)
    for n in range(begin, end):
        expected += np.int64(n) * np.int64(total[n])
    race.key[slot] = (expected << SLOT_BITS) | slot
    race.first_roll[slot] = begin
    race.length[slot] = min(end - begin, WIDTH)
    for n in range(race.length[slot]):
        race.chances[slot, n] = total[begin + n]


@kernel(parallel=True)
def solve_layer(start: int, end: int, race: Race, longest: int) -> None:
    """Solve the slots start to end - 1 of a race, one pip layer. Lower layers must be solved."""
    for block in prange((end - start + BLOCK - 1) // BLOCK):
        drops = np.empty(race.layouts.shape[1] + 1, np.int64)
        reply = np.empty((6, 9), np.int64)
        results = np.empty(ROLL_COUNT, np.int64)
        total = np.empty(LONGEST, np.uint64)
        for slot in range(start + block * BLOCK, min(end, start + (block + 1) * BLOCK)):
            fill_choices(slot, race, drops, reply, results)
            fill_distribution(slot, results, race, longest, total)


def start_race(points: int, first_live: int, scale: int = SCALE) -> Race:
    """Make a race in which only the goal is solved: slot 0, which takes exactly 0 rolls. `first_live` is the lowest
    position index that has not reached the goal."""
    layouts = all_layouts(points, MAX_CHECKERS)
    order, layer_start = pip_layers(pip_counts(layouts)[first_live:])
    order += np.int32(first_live)
    slots = len(order) + 1
    slot_of = np.zeros(len(layouts), np.int32)
    slot_of[order] = np.arange(1, slots, dtype=np.int32)
    race = Race(
        scale=scale,
        order=order,
        layer_start=layer_start + 1,
        slot_of=slot_of,
        layouts=layouts,
        key=np.zeros(slots, np.int64),
        half=np.zeros((slots, 18), np.int64),
        first_roll=np.zeros(slots, np.uint8),
        length=np.zeros(slots, np.uint8),
        chances=np.zeros((slots, WIDTH), np.uint32),
    )
    race.chances[0, 0] = scale
    race.length[0] = 1
    return race


def solve_pips(race: Race, pips: int, longest: int = LONGEST) -> None:
    """Solve all positions with this pip count; lower pip counts must be solved. Chances of `longest` rolls or more are
    dropped (gnubg's files keep 32)."""
    start, end = race.layer_start[pips], race.layer_start[pips + 1]
    if start < end:
        solve_layer(start, end, race, longest)


def solve_race(race: Race, longest: int = LONGEST) -> Race:
    """Solve all positions of a race, and return it."""
    for pips in range(len(race.layer_start) - 1):
        solve_pips(race, pips, longest)
    return race


class Distributions(NamedTuple):
    """Distributions of the number of rolls, by position index, packed: chances[offsets[n] : offsets[n + 1]] are the
    chances of row n, from first_roll[n] rolls up."""

    offsets: NDArray[np.uint32]  # [rows + 1]
    first_roll: NDArray[np.uint8]  # [rows]
    chances: NDArray[np.float32]  # [offsets[-1]]
    mean_rolls: NDArray[np.float64]  # [rows]
    sd_rolls: NDArray[np.float32]  # [rows]


@kernel(parallel=True)
def fill_distributions(
    slots: Array, race: Race, offsets: Array, first_roll: Array, chances: Array, mean: Array, sd: Array
) -> None:
    """Fill the first_roll, chances, mean and sd of each row from the integer distribution at slots[row]. Output arrays
    are separate arguments: parallel loops lose writes to the arrays of a tuple."""
    scale = float(race.scale)
    for row in prange(slots.shape[0]):
        slot = slots[row]
        first = np.int64(race.first_roll[slot])
        first_roll[row] = first
        moment = np.int64(0)
        for n in range(race.length[slot]):
            moment += (first + n) * np.int64(race.chances[slot, n])
            chances[offsets[row] + n] = np.float32(race.chances[slot, n] / scale)
        mean[row] = moment / scale
        variance = 0.0
        for n in range(race.length[slot]):
            variance += (first + n - mean[row]) ** 2 * race.chances[slot, n]
        sd[row] = np.sqrt(variance / scale)


def distributions(race: Race, first_index: int) -> Distributions:
    """Return the distributions of a solved race as floating-point chances, from position index first_index on."""
    slots = race.slot_of[first_index:]
    rows = len(slots)
    offsets = np.zeros(rows + 1, np.uint32)
    np.cumsum(race.length[slots], out=offsets[1:])
    chances = np.empty(offsets[-1], np.float32)
    packed = Distributions(offsets, np.empty(rows, np.uint8), chances, np.empty(rows), np.empty(rows, np.float32))
    fill_distributions(slots, race, *packed)
    return packed


def integer_distributions(race: Race, longest: int) -> NDArray[np.uint32]:
    """Return the chance of each number of rolls for every position index, as uint32[positions, longest] in units of
    1/scale."""
    out = np.zeros((len(race.slot_of), longest), np.uint32)
    columns = race.first_roll[race.slot_of, None].astype(np.int64) + np.arange(WIDTH)
    kept = (np.arange(WIDTH) < race.length[race.slot_of, None]) & (columns < longest)
    rows = np.nonzero(kept)[0]
    out[rows, columns[kept]] = race.chances[race.slot_of][kept]
    return out


def one_sided_counts(points: int, *, is_gammon: bool = False) -> NDArray[np.uint16]:
    """Return the chances that it takes n rolls to bear off all checkers, or the first of 15 if `is_gammon`, as
    uint16[positions, 32] in units of 1/65535."""
    goal = layout_count(points, MAX_CHECKERS - 1) if is_gammon else 1
    solved = solve_race(start_race(points, goal, GNUBG_SCALE), GNUBG_ROLLS)
    return integer_distributions(solved, GNUBG_ROLLS).astype(np.uint16)


def normal_moments(points: int) -> NDArray[np.float32]:
    """Return the mean and standard deviation of the rolls to bear off, and then of the rolls to save the gammon, as
    float32[positions, 4] in index order.

    These are the moments of gnubg's normal-distribution files, bit for bit. They differ from the moments of the integer
    distributions by up to 2e-4. For each roll, the play is the one with the smallest stored mean. With x = mean + 1 and
    weight w, w * x and w * (sd^2 + x^2) are summed roll by roll and multiplied by the float32 reciprocal of 36; sd =
    sqrt(second moment - mean^2). Every step is rounded to float32."""
    columns = []
    for first_live in (1, layout_count(points, MAX_CHECKERS - 1)):
        race = start_race(points, first_live)
        mean, sd = np.zeros(len(race.key), np.float32), np.zeros(len(race.key), np.float32)
        for start, end in zip(race.layer_start[:-1], race.layer_start[1:], strict=True):
            if start < end:
                fill_moments(start, end, race, mean, sd)
                # positive floats sort like integers with the same bits; not in the kernel, which would treat two names
                # of one array as two arrays
                race.key[start:end] = mean[start:end].view(np.int32)
                race.key[start:end] = (race.key[start:end] << SLOT_BITS) | np.arange(start, end)
        columns += [mean[race.slot_of], sd[race.slot_of]]
    return np.column_stack(columns)


@kernel(parallel=True)
def fill_moments(start: int, end: int, race: Race, mean: Array, sd: Array) -> None:
    """Fill mean, sd and race.half at the slots start to end - 1, one pip layer. Lower layers must be filled."""
    for block in prange((end - start + BLOCK - 1) // BLOCK):
        drops = np.empty(race.layouts.shape[1] + 1, np.int64)
        reply = np.empty((6, 9), np.int64)
        results = np.empty(ROLL_COUNT, np.int64)
        for slot in range(start + block * BLOCK, min(end, start + (block + 1) * BLOCK)):
            fill_choices(slot, race, drops, reply, results)
            first = second = np.float32(0)
            for place in range(ROLL_COUNT):
                result = results[_ROLL_ORDER[place]]
                rolls = mean[result] + np.float32(1)
                first += _WEIGHTS[place] * rolls
                second += _WEIGHTS[place] * (sd[result] * sd[result] + rolls * rolls)
            mean[slot] = first * _RECIPROCAL
            sd[slot] = np.sqrt(second * _RECIPROCAL - mean[slot] * mean[slot])
