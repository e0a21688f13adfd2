"""Layouts by pip count, and what they lead to."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.bearoff.layouts import all_layouts, pip_counts
from bgdata.bearoff.plays import all_plays, roll_results
from bgdata.bearoff.slots import all_slots


def test_slots_are_in_order_of_pips_and_plays_lead_to_earlier_layers() -> None:
    slots, layouts = all_slots(4, 5), all_layouts(4, 5)
    pips = pip_counts(layouts)[slots.order]
    assert (np.diff(pips) >= 0).all()
    assert slots.most_pips == pips[-1] == 20
    assert [pips[slots.layer_start[n]] for n in range(21)] == list(range(21))
    for slot in (1, 7, 60, len(pips) - 1):
        for roll, expected in enumerate(roll_results(int(slots.order[slot]), layouts)):
            begin, end = slots.play_start[slot * 21 + roll : slot * 21 + roll + 2]
            assert (slots.order[slots.results[begin:end]] == expected).all()
            assert (pips[slots.results[begin:end]] < pips[slot]).all()


@pytest.mark.parametrize(("points", "checkers"), [(1, 1), (3, 4), (6, 4)])
def test_totals_cover_all_pairs(points: int, checkers: int) -> None:
    slots = all_slots(points, checkers)
    assert sum(map(slots.pairs_of, slots.totals)) == (len(slots.order) - 1) ** 2


def test_what_a_layout_leads_to() -> None:
    slots, plays = all_slots(4, 4), all_plays(4, 4)
    first = 37
    reached, new = {int(slots.order[first])}, [int(slots.order[first])]
    while new:
        index = new.pop()
        found = set(plays.results[plays.start[index * 21] : plays.start[index * 21 + 21]].tolist())
        new += found - reached
        reached |= found
    assert set(slots.order[slots.reachable_from(np.array([first]))].tolist()) == reached
