"""Layouts in *slots*, by pip count and then index: the order in which tables of both sides are solved.

Every play lowers the pip count, so pairs of layouts are solved by the total of pips of both sides: they depend on
smaller totals only. Layouts of one pip count, a *layer*, have neighbouring slots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.layouts import all_layouts, pip_counts, pip_layers
from bgdata.bearoff.plays import all_plays
from bgdata.bearoff.race import ROLL_COUNT


class Slots(NamedTuple):
    """The layouts of either side, and where its plays lead."""

    order: NDArray[np.int32]  # [slots] position index of each slot; slot 0 is the empty layout
    layer_start: NDArray[np.int64]  # [layers + 1] first slot of each pip count
    play_start: NDArray[np.int64]  # [slots * 21 + 1]
    results: NDArray[np.int32]  # [...] slots that the rolls of a slot lead to

    @property
    def most_pips(self) -> int:
        """The highest pip count of one side."""
        return len(self.layer_start) - 2

    @property
    def totals(self) -> range:
        """The pip totals to solve, in order."""
        return range(2, 2 * self.most_pips + 1)

    def layers_of(self, total: int) -> range:
        """Pip counts that a player on roll can have where both sides have this total, and neither has finished."""
        return range(max(1, total - self.most_pips), min(self.most_pips, total - 1) + 1)

    def pairs_of(self, total: int) -> int:
        """Number of pairs with this total of pips."""
        sizes = np.diff(self.layer_start).tolist()
        return sum(sizes[pips] * sizes[total - pips] for pips in self.layers_of(total))

    def reachable_from(self, first: NDArray[np.int64]) -> NDArray[np.bool_]:
        """bool[slots]: whether some of these slots lead there, in any number of rolls; they themselves included."""
        found = np.zeros(len(self.order), np.bool_)
        found[first] = True
        for slot in range(int(first.max()), 0, -1):  # every play leads to an earlier one
            if found[slot]:
                found[self.results[self.play_start[slot * ROLL_COUNT] : self.play_start[(slot + 1) * ROLL_COUNT]]] = (
                    True
                )
        return found

    def restrict(self, first: NDArray[np.int64]) -> Slots:
        """Those slots that some of these lead to, they themselves included, with numbers of their own."""
        found = self.reachable_from(first)
        number = np.cumsum(found) - 1
        counts = np.diff(self.play_start).reshape(-1, ROLL_COUNT)
        results = self.results[np.repeat(found, counts.sum(axis=1))]
        return Slots(
            self.order[found],
            np.concatenate([[0], np.cumsum(found)])[self.layer_start],
            np.concatenate([[0], np.cumsum(counts[found])]),
            number[results].astype(np.int32),
        )


def all_slots(points: int, checkers: int) -> Slots:
    """The layouts of up to `checkers` on points 1 to `points`."""
    order, layer_start = pip_layers(pip_counts(all_layouts(points, checkers)))
    plays = all_plays(points, checkers)  # in index order
    slot_of = np.empty_like(order)
    slot_of[order] = np.arange(len(order), dtype=np.int32)
    rolls = (order[:, None].astype(np.int64) * ROLL_COUNT + np.arange(ROLL_COUNT)).ravel()
    counts = np.diff(plays.start)[rolls]
    start = np.concatenate([[0], np.cumsum(counts)])
    source = np.repeat(plays.start[rolls] - start[:-1], counts) + np.arange(start[-1])
    return Slots(order, layer_start, start, slot_of[plays.results[source]])
