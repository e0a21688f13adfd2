"""Rows of a two-sided table, one a player on roll, from the blocks in which it is solved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bgdata.bearoff.slots import Slots
from bgdata.bearoff.two_sided import COLUMNS, LOST, STEPS, WON, Solved, Window, release, solve_batch, start_window
from bgdata.kernel import Array, kernel

ROWS = 64  # that are made at a time


@kernel()
def fill_stored(values: Array, scale: float, offset: float, stored: Array) -> None:
    """Fills stored[...] with values * scale + offset. For integers, the offset includes one half, so that truncation
    rounds to nearest."""
    for item in range(values.shape[0]):
        stored[item] = values[item] * scale + offset


@kernel()
def fill_rows(
    first: int, count: int, size: int, values: Array, columns: int, column: int, layer_start: Array, order: Array,
    rows: Array,
) -> None:  # fmt: skip
    """Fills rows[n, opponent index, column...] for `count` players on roll from number `first` of a layer of `size` on,
    whose blocks stand in `values`, opponents in order of pips: [block, on roll, opponent, column]."""
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
    """How equities are stored: float32 as they are, or uint16 codes.

    uint16: round((equity / limit + 1) * 32767.5), or gnubg's integers from 0 on.
    """

    def __init__(self, dtype: DTypeLike, limit: float, *, integer: bool = False) -> None:
        self.dtype = np.dtype(dtype)
        self.scale, self.offset = 1.0, 0.0
        if self.dtype == np.uint16:
            self.scale, self.offset = (1.0, float(-LOST)) if integer else (STEPS / limit, STEPS + 0.5)
        self.integer = integer

    def stored(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the recursion as they are stored."""
        found = np.empty(len(values), self.dtype)
        fill_stored(values, self.scale, self.offset, found)
        return found

    def finished(self, is_full: NDArray[np.bool_], *, is_won: bool) -> NDArray[Any]:
        """Stored values of a player who has finished, or whose opponent has; `is_full` where a gammon was lost."""
        if self.integer:
            return self.stored(np.full(len(is_full), float(WON if is_won else LOST)))
        return self.stored(np.where(is_full, 2.0, 1.0) * (1.0 if is_won else -1.0))


def first_row(window: Window, scale: Scale) -> NDArray[Any]:
    """[positions, 4] by opponent index: the player on roll has finished."""
    row = np.empty((len(window.slots.order), len(COLUMNS)), scale.dtype)
    row[window.slots.order] = scale.finished(window.is_full, is_won=True)[:, None]
    return row


def layer_rows(
    window: Window, layer: int, groups: Sequence[tuple[int, NDArray[Any]]], scale: Scale
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield (on-roll index, [positions, 4] by opponent index) for the players on roll of a layer. `groups` are pairs of
    the first column and the stored values of all blocks, for columns solved together."""
    slots = window.slots
    begin, end = slots.layer_start[layer : layer + 2].tolist()
    lost = scale.finished(window.is_full[begin:end], is_won=False)
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
    """Where a block begins and ends among the stored values of its layer."""
    size = int(slots.layer_start[on_roll + 1] - slots.layer_start[on_roll])
    begin, end = (int(slots.layer_start[opponent + n]) - 1 for n in (0, 1))
    return size * begin * columns, size * end * columns


class LayersInMemory:
    """Stored values of layers of which not all pairs are solved yet."""

    def __init__(self, window: Window, scale: Scale) -> None:
        self._window, self._scale = window, scale
        self._values: dict[int, NDArray[Any]] = {}

    def put(self, solved: Solved) -> None:
        """Keep what was solved."""
        slots, columns = self._window.slots, len(self._window.columns)
        for block in solved.blocks:
            begin, end = block_place(slots, block.on_roll, block.opponent, columns)
            if block.on_roll not in self._values:
                size = int(slots.layer_start[block.on_roll + 1] - slots.layer_start[block.on_roll])
                self._values[block.on_roll] = np.empty(size * (len(slots.order) - 1) * columns, self._scale.dtype)
            values = solved.values[block.place : block.place + end - begin]
            fill_stored(values, self._scale.scale, self._scale.offset, self._values[block.on_roll][begin:end])

    def take(self, layer: int) -> NDArray[Any]:
        """The stored values of a whole layer, which are kept no longer."""
        return self._values.pop(layer)


def finished_layers(slots: Slots, totals: range) -> range:
    """Layers of which the last pairs have one of these totals."""
    return range(max(1, totals.start - slots.most_pips), totals.stop - slots.most_pips)


def equity_rows(
    points: int, checkers: int, limit: float = 1.0, dtype: DTypeLike = np.float32, *, arithmetic: DTypeLike = np.float32
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Solve a table in memory; yield (on-roll index, [positions, 4] by opponent index) for every position.

    Stored as uint16 they are codes, see `Scale`. A player without checkers has won; against an opponent without
    checkers the game is lost. A row is only good until the next one.
    """
    window = start_window(points, checkers, arithmetic=arithmetic)
    scale = Scale(dtype, limit, integer=window.cells.dtype == np.int16)
    layers = LayersInMemory(window, scale)
    yield 0, first_row(window, scale)
    for totals in window.batches():
        for solved in solve_batch(window, totals):
            layers.put(solved)
        for layer in finished_layers(window.slots, totals):
            yield from layer_rows(window, layer, [(0, layers.take(layer))], scale)
        release(window, totals.stop)
