"""Both sides bearing off: exact cubeless and cubeful equities of every pair of layouts.

Equities are points per unit cube for the player on roll, who does not double before this roll. After that play and cube
are optimal (money game, unlimited cube, no Jacoby rule).

    cubeless         E0 = average over rolls of the  max over plays of  -E0'
    owned            E1, the player on roll owns the cube:   max of  -E3'
    centered         E2:                                     max of  -max(E2', min(2 E3', 1))
    opponent_owned   E3, the opponent owns the cube:         max of  -max(E1', min(2 E3', 1))

where ' marks the position after the play, with the opponent on roll. min(2 E3', 1) is the opponent's value of doubling:
after a take the other side owns the cube at twice the stake, and after a pass the opponent wins one point. The best
play may differ by column. With fewer than 15 checkers gammons are impossible; with 15 a win against 15 checkers counts
two points.

The maximum of a column depends on one value for each result of a play, its *cube value*. So cells contain cube values,
each computed once, and the inner loop takes the lowest of some rows (see `lowest`). A cell is in the tile of the player
on roll, in the row of the other side. So all values that are needed to play against the 16 players of a tile are in one
strip of memory.

Pairs are solved in batches of consecutive pip totals. They depend only on totals up to 24 smaller, so the memory of
earlier rows is freed. Rows get memory when they are first written. So a table may be far larger than memory. Columns
that do not depend on each other may be solved one after another.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bgdata.bearoff.index import MAX_CHECKERS, layout_count
from bgdata.bearoff.layouts import NON_DOUBLES, ROLL_COUNT, Slots, all_layouts, all_slots
from bgdata.bearoff.lowest import TILE, subtract_rolls
from bgdata.bearoff.tables import Equities
from bgdata.errors import TooLargeError
from bgdata.kernel import Array, in_threads, kernel
from bgdata.system import give_back, private_memory, use_large_pages

COLUMNS = Equities._fields
ALL = (0, 1, 2, 3)  # columns solved together; (0,) and (1, 2, 3) can be solved one after the other
STEPS = 32767.5  # code = round((equity / limit + 1) * STEPS): with limit 1 the scale of gnubg's files
REACH = 24  # most pips of a roll
BATCH = 3  # number of totals solved at once: a roll is at least three pips, unless few pips are left
MIN_PAIRS = 10_000  # fewest pairs per thread: about a millisecond
CALL_PAIRS = 1 << 23  # number of pairs solved in one call and returned together

WON, LOST = 32767, -32768  # gnubg's integers: equity * 32767.5 - 0.5, so that changing sides is a bitwise not
WEIGHTS = np.array([2] * NON_DOUBLES + [1] * (ROLL_COUNT - NON_DOUBLES))
ROWS = 64  # number of rows made at a time

KEPT_BYTES = 1 << 30  # a window up to this size keeps its memory, in large pages


class Block(NamedTuple):
    """The pairs of layouts in which the player on roll has `on_roll` pips and the opponent `opponent` pips. Their
    values are in the order [slot on roll, slot of the opponent, column] from `place` on."""

    on_roll: int  # pips
    opponent: int
    place: int


class SolvedBlocks(NamedTuple):
    """Blocks of pairs that were solved in one call, and their values one after the other."""

    blocks: list[Block]
    values: NDArray[Any]


class Window(NamedTuple):
    """Some columns of a two-sided table that is being solved: cube values of the pairs with the most recently solved
    pip totals."""

    slots: Slots
    columns: tuple[int, ...]
    tile_start: NDArray[np.int64]  # [layers + 1] first tile of each layer
    places: NDArray[np.int64]  # [slots] index in `cells` of each slot on roll, in row 0
    is_full: NDArray[np.bool_]  # [slots] whether a gammon can be lost: all 15 checkers are on the board
    cells: NDArray[Any]  # [tiles * slots * columns * TILE] float32, or int16 for gnubg's arithmetic
    memory: mmap.mmap  # memory of the cells
    settled: int  # from this pip count on, every roll takes at least BATCH pips

    @property
    def row_bytes(self) -> int:
        """The size of a row in one tile, in bytes."""
        return len(self.columns) * TILE * self.cells.itemsize

    def batches(self) -> list[range]:
        """Return the pip totals that are solved together, in the order of solving."""
        totals = self.slots.totals
        return [totals[start : start + BATCH] for start in range(0, len(totals), BATCH)]


@kernel(inline=True)
def halve(value: int) -> int:
    """Return `value` / 2, truncated toward zero as in C."""
    return (value + (1 if value < 0 else 0)) >> 1


@kernel(borrows=True)
def fill_cube_values(
    values: Array, place: int, columns: int, count: int, cells: Array, cell: int, width: int, integer: bool | None
) -> None:
    """Fill the cells of one player on roll with cube values, from its values against `count` opponents. Cells start at
    `cell`, with a row for each opponent; values are [opponent, column] from `place` on. `integer` is None for floating
    point, anything else for gnubg's rule, whose comparisons truncate."""
    for opponent in range(count):
        here, there = place + opponent * columns, cell + opponent * width
        if columns != 3:
            cells[there] = values[here]
        if columns >= 3:
            here, there = here + columns - 3, there + (columns - 3) * TILE
            owned, centered, opponent_owned = values[here], values[here + 1], values[here + 2]
            cells[there] = opponent_owned
            if integer is None:
                twice = opponent_owned + opponent_owned
                doubled = twice if twice < np.float32(1.0) else np.float32(1.0)
                cells[there + TILE] = centered if centered > doubled else doubled
                cells[there + 2 * TILE] = owned if owned > doubled else doubled
            else:
                doubled = WON if opponent_owned >= WON // 2 else 2 * opponent_owned
                cells[there + TILE] = doubled if opponent_owned >= halve(centered) else centered
                cells[there + 2 * TILE] = doubled if opponent_owned >= halve(owned) else owned


@kernel()
def solve_tasks(
    begin: int, end: int, tasks: Array, play_start: Array, results: Array, weights: Array, places: Array,
    is_wanted: Array, rows: int, columns: int, cells: Array, values: Array, integer: bool | None,
) -> None:  # fmt: skip
    """Solve the pairs in tasks[begin:end]: fill their `values` and `cells`. All pairs on which they depend must be
    filled. A pair is skipped if `is_wanted` is False for the slots of both sides.

    A task is (tile, first opponent, one past the last, first player on roll, one past the last, place of the first pair
    in `values`, values from one player on roll to the next); the tile is the tile of the opponents."""
    width = columns * TILE
    totals = np.empty(width, weights.dtype)
    for task in range(begin, end):
        tile, opponent, opponent_end, first, last, place, step = tasks[task]
        strip = tile * rows * width
        is_tile_wanted = is_wanted[opponent:opponent_end].any()
        for on_roll in range(first, last):
            if not is_tile_wanted and not is_wanted[on_roll]:
                continue
            subtract_rolls(totals, weights, cells, strip, columns, results, play_start, on_roll * ROLL_COUNT)
            for item in range(width):
                if integer is None:
                    totals[item] = totals[item] / np.float32(36.0)
                else:  # the sum of bitwise nots, divided with truncation toward zero
                    total = totals[item] - 36
                    totals[item] = total // 36 if total >= 0 else -(-total // 36)
            here = place + (on_roll - first) * step
            for lane in range(opponent_end - opponent):
                for column in range(columns):
                    values[here + lane * columns + column] = totals[column * TILE + lane]
            cell = places[on_roll] + opponent * width
            fill_cube_values(values, here, columns, opponent_end - opponent, cells, cell, width, integer)


@kernel()
def restore_tasks(begin: int, end: int, tasks: Array, places: Array, columns: int, cells: Array, values: Array) -> None:
    """Fill the cells of pairs that are already solved from their values, see `solve_tasks`."""
    for task in range(begin, end):
        _, opponent, opponent_end, first, last, place, step = tasks[task]
        for on_roll in range(first, last):
            cell = places[on_roll] + opponent * columns * TILE
            here = place + (on_roll - first) * step
            fill_cube_values(values, here, columns, opponent_end - opponent, cells, cell, columns * TILE, None)


def start_window(
    points: int,
    checkers: int,
    columns: tuple[int, ...] = ALL,
    *,
    arithmetic: DTypeLike = np.float32,
    slots: Slots | None = None,
) -> Window:
    """Make a two-sided table in which only finished games are solved. `arithmetic` int16 is gnubg's, which ignores
    gammons as its files do; other types are floating point. `slots` are the slots of this size, which are computed if
    they are not given."""
    slots = slots or all_slots(points, checkers)
    sizes = np.diff(slots.layer_start)
    tile_start = np.concatenate([[0], np.cumsum(-(-sizes // TILE))])
    layer = np.repeat(np.arange(len(sizes)), sizes)
    lane = np.arange(len(layer)) - slots.layer_start[layer]
    dtype = np.dtype(arithmetic)
    is_integer = dtype == np.int16
    rows, width = len(layer), len(columns) * TILE
    places = (tile_start[layer] + lane // TILE) * rows * width + lane % TILE
    cell_count = int(tile_start[-1]) * rows * width
    memory = reserve_zeros(cell_count * dtype.itemsize)
    if len(memory) <= KEPT_BYTES:
        use_large_pages(memory)
    cells = np.frombuffer(memory, dtype)
    is_full = np.zeros(rows, np.bool_)
    if checkers == MAX_CHECKERS and not is_integer:
        is_full = all_layouts(points, checkers)[slots.order].sum(axis=1) == MAX_CHECKERS
    lost = np.where(is_full, -2.0, -1.0) if not is_integer else LOST
    for column in range(len(columns)):
        cells[places + column * TILE] = lost
    # lowest pip count from which every roll that does not end the game takes BATCH pips or more
    on_roll = np.repeat(layer, np.diff(slots.play_start[::ROLL_COUNT]))
    is_slow = (on_roll - layer[slots.results] < BATCH) & (slots.results > 0)
    settled = int(on_roll[is_slow].max(initial=0)) + 1
    return Window(slots, columns, tile_start, places, is_full, cells, memory, settled)


def reserve_zeros(size: int) -> mmap.mmap:
    """Reserve `size` bytes of zeros, whose memory is allocated when it is first written. Raises TooLargeError if the
    system refuses."""
    try:
        return private_memory(size)
    except OSError as error:
        raise TooLargeError(
            f"expected a system that gives {size / 1e9:.1f} GB of memory of which little more than half will be used, "
            f"got: {error.strerror}"
        ) from error


def solve_batch(window: Window, totals: range, wanted: NDArray[np.bool_] | None = None) -> Iterator[SolvedBlocks]:
    """Solve all pairs whose pip total is one of `totals`, and yield them in blocks. Smaller totals must be solved. If
    `wanted`, bool[slots], is given, only pairs with a wanted slot on either side are solved; other values are
    undefined."""
    is_wanted = np.ones(len(window.slots.order), np.bool_) if wanted is None else wanted
    integer = True if window.cells.dtype == np.int16 else None
    weights = WEIGHTS.astype(np.int32 if integer else window.cells.dtype)
    for solved in calls_of(window, totals):
        tasks = tasks_of(window, solved.blocks)
        in_threads(
            solve_tasks, len(tasks), tasks, window.slots.play_start, window.slots.results, weights, window.places,
            is_wanted, len(window.slots.order), len(window.columns), window.cells, solved.values, integer,
            least=-(-len(tasks) * len(window.columns) * MIN_PAIRS // len(solved.values)),
        )  # fmt: skip
        yield solved


def restore(window: Window, solved: SolvedBlocks) -> None:
    """Fill the cells of blocks that are already solved from their values."""
    tasks = tasks_of(window, solved.blocks)
    in_threads(restore_tasks, len(tasks), tasks, window.places, len(window.columns), window.cells, solved.values)


def calls_of(window: Window, totals: range) -> Iterator[SolvedBlocks]:
    """Yield the blocks of a batch in the order of solving, with room for their values. The first blocks depend only on
    totals below the batch. Then follow those of players on roll with few pips, one total after another."""
    layers = range(1, window.slots.most_pips + 1)
    groups = [
        [(on_roll, total - on_roll) for total in totals for on_roll in layers if on_roll >= window.settled],
        *([(on_roll, total - on_roll) for on_roll in layers if on_roll < window.settled] for total in totals),
    ]
    sizes = np.diff(window.slots.layer_start).tolist()
    for group in groups:
        # sorted by opponent, because layers with the same opponents read the same strips
        inside = sorted((opponent, on_roll) for on_roll, opponent in group if opponent in layers)
        blocks: list[Block] = []
        place = 0
        for _, same in groupby(inside, lambda pair: pair[0]):
            for opponent, on_roll in same:
                blocks.append(Block(on_roll, opponent, place * len(window.columns)))
                place += sizes[on_roll] * sizes[opponent]
            if place >= CALL_PAIRS:
                yield SolvedBlocks(blocks, np.empty(place * len(window.columns), window.cells.dtype))
                blocks, place = [], 0
        if blocks:
            yield SolvedBlocks(blocks, np.empty(place * len(window.columns), window.cells.dtype))


def tasks_of(window: Window, blocks: list[Block]) -> NDArray[np.int64]:
    """Make the tasks of `solve_tasks` for these blocks: each task is about the opponents in one tile, and all players
    on roll with the same pip count."""
    start, columns = window.slots.layer_start.tolist(), len(window.columns)
    tasks = []
    for opponent, same in groupby(blocks, lambda block: block.opponent):
        against = list(same)
        first, end = start[opponent], start[opponent + 1]
        for tile in range(-(-(end - first) // TILE)):
            slot = first + tile * TILE
            for block in against:
                tasks.append(
                    (
                        int(window.tile_start[opponent]) + tile, slot, min(slot + TILE, end),
                        start[block.on_roll], start[block.on_roll + 1],
                        block.place + tile * TILE * columns, (end - first) * columns,
                    )
                )  # fmt: skip
    return np.array(tasks, np.int64).reshape(-1, 7)


def release(window: Window, total: int) -> None:
    """Free the memory of cells on which no pair with `total` pips or more depends. Small windows keep their memory."""
    if len(window.memory) <= KEPT_BYTES:
        return
    start, rows = window.slots.layer_start.tolist(), len(window.slots.order)
    for opponent in range(1, window.slots.most_pips + 1):
        layer = min(total - REACH - opponent, window.slots.most_pips + 1)
        if layer > 1:
            for tile in range(int(window.tile_start[opponent]), int(window.tile_start[opponent + 1])):
                # up to the page before the last row; the first page stays, because it contains finished games
                begin = -(-(tile * rows + 1) * window.row_bytes // mmap.PAGESIZE) * mmap.PAGESIZE
                end = (tile * rows + start[layer]) * window.row_bytes // mmap.PAGESIZE * mmap.PAGESIZE
                if end > begin:
                    give_back(window.memory, begin, end - begin)


@kernel()
def fill_stored(values: Array, scale: float, offset: float, stored: Array) -> None:
    """Fill `stored` with values * scale + offset; for integers the offset includes one half, which rounds to the
    nearest."""
    for item in range(values.shape[0]):
        stored[item] = values[item] * scale + offset


@kernel()
def fill_rows(
    first: int, count: int, size: int, values: Array, columns: int, column: int, layer_start: Array, order: Array,
    rows: Array,
) -> None:  # fmt: skip
    """Fill rows[n, opponent index, column...] for `count` players on roll, from number `first` on, of the `size`
    players with the same pip count. Their blocks are in `values`, opponents in order of pips: [block, on roll,
    opponent, column]."""
    block = 0
    for layer in range(1, layer_start.shape[0] - 1):
        begin, end = layer_start[layer], layer_start[layer + 1]
        for n in range(count):
            place = block + (first + n) * (end - begin) * columns
            for slot in range(begin, end):
                for each in range(columns):
                    rows[n, order[slot], column + each] = values[place + (slot - begin) * columns + each]
        block += size * (end - begin) * columns


class Scale:
    """How equities are stored: as float32, or as uint16 codes. A code is round((equity / limit + 1) * 32767.5), or
    gnubg's integer shifted to start at 0."""

    def __init__(self, dtype: DTypeLike, limit: float, *, integer: bool = False) -> None:
        self.dtype = np.dtype(dtype)
        self.scale, self.offset = 1.0, 0.0
        if self.dtype == np.uint16:
            self.scale, self.offset = (1.0, float(-LOST)) if integer else (STEPS / limit, STEPS + 0.5)
        self.integer = integer

    def encode(self, values: NDArray[Any]) -> NDArray[Any]:
        """Convert values of the recursion to stored values."""
        found = np.empty(len(values), self.dtype)
        fill_stored(values, self.scale, self.offset, found)
        return found

    def encode_finished(self, is_full: NDArray[np.bool_], *, is_won: bool) -> NDArray[Any]:
        """Return the stored values for a player who has finished (if `is_won`), or whose opponent has finished.
        `is_full` says whether the loser loses a gammon."""
        if self.integer:
            return self.encode(np.full(len(is_full), float(WON if is_won else LOST)))
        return self.encode(np.where(is_full, 2.0, 1.0) * (1.0 if is_won else -1.0))


def first_row(window: Window, scale: Scale) -> NDArray[Any]:
    """Return the stored row of a player on roll who has finished, as [positions, 4] by opponent index."""
    row = np.empty((len(window.slots.order), len(COLUMNS)), scale.dtype)
    row[window.slots.order] = scale.encode_finished(window.is_full, is_won=True)[:, None]
    return row


def layer_rows(
    window: Window, layer: int, groups: Sequence[tuple[int, NDArray[Any]]], scale: Scale
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the position index and the stored row, [positions, 4] by opponent index, of each player on roll in a layer,
    which is a pip count. `groups` contains, for each group of columns that were solved together, the first column and
    the stored values of all blocks."""
    slots = window.slots
    begin, end = slots.layer_start[layer : layer + 2].tolist()
    lost = scale.encode_finished(window.is_full[begin:end], is_won=False)
    rows = np.empty((min(ROWS, end - begin), len(slots.order), len(COLUMNS)), scale.dtype)
    for first in range(0, end - begin, ROWS):
        count = min(ROWS, end - begin - first)
        rows[:count, 0] = lost[first : first + count, None]
        for column, values in groups:
            size = end - begin
            columns = len(values) // (size * (len(slots.order) - 1))
            fill_rows(first, count, size, values, columns, column, slots.layer_start, slots.order, rows)
        for n in range(count):
            yield int(slots.order[begin + first + n]), rows[n]


def block_place(slots: Slots, on_roll: int, opponent: int, columns: int) -> tuple[int, int]:
    """Return where a block begins and ends in the stored values of its layer. `on_roll` and `opponent` are the pip
    counts of the block."""
    size = int(slots.layer_start[on_roll + 1] - slots.layer_start[on_roll])
    begin, end = (int(slots.layer_start[opponent + n]) - 1 for n in (0, 1))
    return size * begin * columns, size * end * columns


def finished_layers(slots: Slots, totals: range) -> range:
    """Return the pip counts of the players on roll whose last pairs have one of these totals."""
    return range(max(1, totals.start - slots.most_pips), totals.stop - slots.most_pips)


def equity_rows(
    points: int,
    checkers: int,
    limit: float = 1.0,
    dtype: DTypeLike = np.float32,
    *,
    arithmetic: DTypeLike = np.float32,
    advance: Callable[[int], object] = lambda _: None,
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Solve a table in memory. Yields the position index and the stored row, [positions, 4] by opponent index, of every
    player on roll. Rows stored as uint16 are codes, see `Scale`. A player without checkers has won; against an opponent
    without checkers the game is lost. A row is overwritten by the next one. `advance` is called with the number of
    newly solved pairs."""
    window = start_window(points, checkers, arithmetic=arithmetic)
    slots, scale = window.slots, Scale(dtype, limit, integer=window.cells.dtype == np.int16)
    layers: dict[int, NDArray[Any]] = {}  # stored values of layers that still have unsolved pairs
    yield 0, first_row(window, scale)
    for totals in window.batches():
        for solved in solve_batch(window, totals):
            for on_roll, opponent, place in solved.blocks:
                begin, end = block_place(slots, on_roll, opponent, len(COLUMNS))
                if on_roll not in layers:
                    layers[on_roll] = np.empty(
                        block_place(slots, on_roll, slots.most_pips, len(COLUMNS))[1], scale.dtype
                    )
                layers[on_roll][begin:end] = scale.encode(solved.values[place : place + end - begin])
            advance(len(solved.values) // len(COLUMNS))
        for layer in finished_layers(slots, totals):
            yield from layer_rows(window, layer, [(0, layers.pop(layer))], scale)
        release(window, totals.stop)


def two_sided_codes(points: int, checkers: int, *, is_cubeless: bool = False) -> NDArray[np.uint16]:
    """Solve a table as gnubg does, and return its codes as uint16[positions on roll, positions of the opponent, 4 or
    1]. Equity is code / 32767.5 - 1."""
    count = layout_count(points, checkers)
    codes = np.empty((count, count, 1 if is_cubeless else 4), np.uint16)
    for index, row in equity_rows(points, checkers, dtype=np.uint16, arithmetic=np.int16):
        codes[index] = row[:, : codes.shape[2]]
    return codes
