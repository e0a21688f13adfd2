"""All layouts and their plays, against the slow enumeration."""

from itertools import pairwise

import numpy as np
import pytest

from bgdata.bearoff.index import layout_count, position_index
from bgdata.bearoff.layouts import all_layouts, all_plays, all_slots, pip_counts, pip_layers, roll_results
from tests.reference.bearoff import after_roll, layouts


@pytest.mark.parametrize(("points", "checkers"), [(1, 1), (1, 15), (3, 3), (6, 5), (12, 3), (18, 2)])
def test_layouts_are_in_index_order(points: int, checkers: int) -> None:
    assert [tuple(row) for row in all_layouts(points, checkers).tolist()] == layouts(points, checkers)


def test_pip_counts_match_a_loop() -> None:
    expected = [sum(point * count for point, count in enumerate(row, start=1)) for row in layouts(6, 4)]
    assert pip_counts(all_layouts(6, 4)).tolist() == expected
    assert pip_counts(np.array([[*[0] * 17, 15]], np.int8)).tolist() == [270]  # in the largest table


def test_layers_sort_positions_by_pips_and_index() -> None:
    pips = pip_counts(all_layouts(6, 5))
    order, start = pip_layers(pips)
    assert sorted(order.tolist()) == list(range(layout_count(6, 5)))
    assert order.tolist() == sorted(range(len(pips)), key=lambda index: (pips[index], index))
    for layer, (begin, end) in enumerate(pairwise(start.tolist())):
        assert (pips[order[begin:end]] == layer).all()


ROLLS = [(high, low) for high in range(2, 7) for low in range(1, high)] + [(die, die) for die in range(1, 7)]


@pytest.mark.parametrize(("points", "checkers"), [(1, 6), (3, 6), (6, 4), (7, 3), (10, 3), (18, 2)])
def test_plays_match_the_reference(points: int, checkers: int) -> None:
    plays = all_plays(points, checkers)
    for index, layout in enumerate(layouts(points, checkers)):
        for roll, dice in enumerate(ROLLS):
            begin, end = plays.start[index * 21 + roll : index * 21 + roll + 2]
            expected = sorted(position_index(after) for after in after_roll(layout, dice))
            assert plays.results[begin:end].tolist() == expected, (layout, dice)


def test_roll_results_match_all_plays() -> None:
    plays = all_plays(7, 4)
    for index in range(0, layout_count(7, 4), 7):
        for roll, results in enumerate(roll_results(index, all_layouts(7, 4))):
            begin, end = plays.start[index * 21 + roll : index * 21 + roll + 2]
            assert results.tolist() == plays.results[begin:end].tolist()


def test_plays_that_waste_pips_are_legal() -> None:
    """Plays that waste pips are listed: 14,176 results of 6x9 that a published generator lacked, because it kept only
    the plays that use the most pips."""
    plays = all_plays(6, 9)
    pips = pip_counts(all_layouts(6, 9))
    fewest = np.minimum.reduceat(pips[plays.results], plays.start[:-1])
    wasteful = pips[plays.results] > np.repeat(fewest, np.diff(plays.start))
    assert np.count_nonzero(wasteful) == 14_176


def test_one_play_that_wastes_pips() -> None:
    """With checkers on the ace and deuce points and 21 to play, 2/1 and then 1/off with the 2 is listed, although it is
    unwise."""
    assert after_roll((1, 1), (2, 1)) == {(0, 0), (1, 0)}
    assert roll_results(position_index([1, 1]), all_layouts(2, 2))[0].tolist() == [0, position_index([1, 0])]


def test_slots_are_sorted_by_pips_and_plays_lead_to_lower_layers() -> None:
    slots = all_slots(4, 5)
    layouts = all_layouts(4, 5)
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


def test_reachable_slots_are_the_closure_of_plays() -> None:
    slots = all_slots(4, 4)
    plays = all_plays(4, 4)
    first_slot = 37
    reached = {int(slots.order[first_slot])}
    to_visit = list(reached)
    while to_visit:
        index = to_visit.pop()
        results = set(plays.results[plays.start[index * 21] : plays.start[index * 21 + 21]].tolist())
        to_visit += results - reached
        reached |= results
    assert set(slots.order[slots.reachable_from(np.array([first_slot]))].tolist()) == reached
