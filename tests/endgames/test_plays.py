"""The listed plays of few checkers: those that the rules of the game allow, hits included."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.bearoff.layouts import ROLL_COUNT
from bgdata.endgames.layouts import Layouts, all_layouts, boards_of, layout_indexes
from bgdata.endgames.plays import DICE, WEIGHTS, Plays, all_plays
from bgdata.endgames.solver import is_possible
from bgdata.game.codec import flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.kernel import threads


def listed(layouts: Layouts, plays: Plays, on_roll: int, opponent: int, roll: int) -> set[tuple[int, int]]:
    """Pairs that the listed plays lead to: the opponent's layout, and the layout of the player who moved."""
    first = (on_roll * len(layouts.blocked) + layouts.made[opponent]) * ROLL_COUNT + roll
    found = set()
    for play in range(plays.start[first], plays.start[first + 1]):
        touched = int(plays.touched[play])
        bits = sum((touched >> int(shift) & 1) << n for n, shift in enumerate(layouts.shifts[opponent]))
        assert touched & ~int(plays.reach[first]) == 0
        found.add((int(layouts.hit[opponent, bits]), int(plays.results[play])))
    return found


@pytest.mark.parametrize(("checkers", "pairs"), [(1, 601), (2, 1500), (3, 1500)])
def test_plays_are_those_of_the_rules(checkers: int, pairs: int) -> None:
    layouts = all_layouts(checkers)
    possible = is_possible(layouts)
    possible[0], possible[:, 0] = False, False
    sides = np.argwhere(possible)
    sides = sides[np.random.default_rng(checkers).permutation(len(sides))[:pairs]]
    plays = all_plays(layouts)
    boards = boards_of(layouts.counts[sides[:, 0]], layouts.counts[sides[:, 1]])
    offsets, after = batch_plays(np.repeat(boards, len(DICE), axis=0), np.tile(DICE, (len(boards), 1)))
    theirs, ours = layout_indexes(flip_boards(after))
    for row in range(len(sides) * len(DICE)):
        (on_roll, opponent), roll = sides[row // len(DICE)].tolist(), row % len(DICE)
        part = slice(offsets[row], offsets[row + 1])
        expected = set(zip(theirs[part].tolist(), ours[part].tolist(), strict=True))
        assert listed(layouts, plays, on_roll, opponent, roll) == expected, (on_roll, opponent, DICE[roll])


def test_each_roll_has_its_weight() -> None:
    assert WEIGHTS.sum() == 36
    assert all(weight == (1 if high == low else 2) for (high, low), weight in zip(DICE.tolist(), WEIGHTS, strict=True))


def test_one_thread_lists_the_same() -> None:
    layouts = all_layouts(2)
    with threads(1):
        expected = all_plays(layouts)
    for found, wanted in zip(all_plays(layouts), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
