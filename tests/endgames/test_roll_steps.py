"""Steps of single checkers: places by pips, and where steps lead."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.endgames.layouts import BAR, all_layouts
from bgdata.endgames.roll_steps import BLOCK, NO_STEP, OFF, Steps, all_steps


@pytest.fixture(name="steps", scope="module")
def _steps() -> Steps:
    return all_steps(all_layouts(3))


def test_places_are_in_order_of_pips(steps: Steps) -> None:
    layouts = all_layouts(3)
    assert sorted(steps.layout.tolist()) == list(range(len(layouts)))
    assert (np.diff(steps.pips) >= 0).all()
    assert np.array_equal(steps.pips, layouts.pips[steps.layout])


def test_steps_are_those_of_the_rules(steps: Steps) -> None:
    layouts = all_layouts(3)
    place_of = {tuple(layouts.counts[index].tolist()): place for place, index in enumerate(steps.layout.tolist())}
    for counts, place in place_of.items():
        for die in range(1, 7):
            expected = set()
            for point in range(1, BAR + 1):
                is_bar_first = point == BAR or counts[BAR - 1] == 0
                is_borne_off = point <= die
                is_allowed = not is_borne_off or (not any(counts[6:]) and (point == die or not any(counts[point:6])))
                if counts[point - 1] and is_bar_first and is_allowed:
                    moved = list(counts)
                    moved[point - 1] -= 1
                    if not is_borne_off:
                        moved[point - die - 1] += 1
                    expected.add((place_of[tuple(moved)], max(point - die, OFF)))
            each = slice((place * 6 + die - 1) * 4, (place * 6 + die) * 4)
            found = list(zip(steps.after[each].tolist(), steps.point[each].tolist(), strict=True))
            if place == 0:
                assert found == [(0, OFF)] * 4  # the game is over
            else:
                assert {step for step in found if step[1] != NO_STEP} == expected


def test_what_steps_lead_to_is_still_in_the_ring(steps: Steps) -> None:
    places = np.repeat(np.arange(len(steps.pips)), 24)
    taken = steps.point != NO_STEP
    assert (places - steps.after)[taken].max() + BLOCK < steps.ring
    assert np.array_equal(steps.near, steps.after % steps.ring)
