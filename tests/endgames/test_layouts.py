"""Layouts of few checkers on the whole board: ranks, boards, and hits."""

import numpy as np
import pytest

from bgdata.endgames.layouts import BAR, all_layouts, boards_of, layout_count, layout_indexes, own_points
from bgdata.game.codec import flip_boards


@pytest.mark.parametrize(("checkers", "expected"), [(1, 26), (2, 351), (3, 3276), (4, 23751)])
def test_number_of_layouts_matches_gnubg(checkers: int, expected: int) -> None:
    layouts = all_layouts(checkers)
    assert len(layouts) == layout_count(checkers) == expected
    assert layouts.counts.sum(axis=1).max() == checkers
    assert len(np.unique(layouts.counts, axis=0)) == expected


def test_layout_indexes_invert_boards_of() -> None:
    layouts = all_layouts(3)
    on_roll, opponent = np.random.default_rng(1).integers(0, len(layouts), (2, 500))
    share_a_point = own_points(layouts.counts[on_roll]) & layouts.points[opponent] != 0
    on_roll, opponent = on_roll[~share_a_point], opponent[~share_a_point]
    boards = boards_of(layouts.counts[on_roll], layouts.counts[opponent])
    assert np.array_equal(layout_indexes(boards), (on_roll, opponent))
    assert np.array_equal(layout_indexes(flip_boards(boards)), (opponent, on_roll))
    assert np.array_equal(boards[:, BAR], layouts.counts[on_roll, BAR - 1])


def test_hit_blots_go_to_the_bar() -> None:
    layouts = all_layouts(3)
    for layout in np.random.default_rng(2).integers(0, len(layouts), 200).tolist():
        blots = [point for point in range(1, BAR) if layouts.counts[layout, point - 1] == 1]
        assert [BAR - int(shift) for shift in layouts.shifts[layout] if shift < 31] == blots
        for hit_bits in range(1 << len(blots)):
            expected = layouts.counts[layout].copy()
            for n, point in enumerate(blots):
                if hit_bits >> n & 1:
                    expected[point - 1] -= 1
                    expected[BAR - 1] += 1
            assert np.array_equal(layouts.counts[layouts.hit[layout, hit_bits]], expected)
