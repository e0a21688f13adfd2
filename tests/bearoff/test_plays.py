"""The results of every roll, against the rules played out one checker at a time."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.bearoff.index import position_index
from bgdata.bearoff.layouts import all_layouts, pip_counts
from bgdata.bearoff.plays import all_plays, roll_results
from tests.reference.bearoff import after_roll, layouts

ROLLS = [(a, b) for a in range(2, 7) for b in range(1, a)] + [(a, a) for a in range(1, 7)]
SIZES = [(1, 6), (3, 6), (6, 4), (7, 3), (10, 3), (18, 2)]


@pytest.mark.parametrize(("points", "checkers"), SIZES)
def test_results_are_those_of_the_rules(points: int, checkers: int) -> None:
    plays = all_plays(points, checkers)
    for index, layout in enumerate(layouts(points, checkers)):
        for roll, dice in enumerate(ROLLS):
            found = plays.results[plays.start[index * 21 + roll] : plays.start[index * 21 + roll + 1]]
            assert found.tolist() == sorted(position_index(after) for after in after_roll(layout, dice)), (layout, dice)


def test_single_positions_have_the_same_results() -> None:
    every, plays = all_layouts(7, 4), all_plays(7, 4)
    for index in range(0, len(every), 7):
        for roll, found in enumerate(roll_results(index, every)):
            at = index * 21 + roll
            assert found.tolist() == plays.results[plays.start[at] : plays.start[at + 1]].tolist()


def test_plays_that_waste_pips_are_legal_plays() -> None:
    """A published generator kept only the plays that use the most pips: 14,176 results of 6x9 fewer than there are."""
    plays, pips = all_plays(6, 9), pip_counts(all_layouts(6, 9))
    fewest = np.minimum.reduceat(pips[plays.results], plays.start[:-1])
    wasteful = pips[plays.results] > np.repeat(fewest, np.diff(plays.start))
    assert np.count_nonzero(wasteful) == 14_176


def test_a_play_that_wastes_pips_by_name() -> None:
    """Checkers on the ace and the deuce point, 21 to play: 2/1 and then 1/off with the 2 is legal, if unwise."""
    assert after_roll((1, 1), (2, 1)) == {(0, 0), (1, 0)}
    assert roll_results(position_index([1, 1]), all_layouts(2, 2))[0].tolist() == [0, position_index([1, 0])]
