"""The listed plays of few checkers, including hits, against the rules of the game."""

import numpy as np
import pytest

from bgdata.bearoff.layouts import ROLL_COUNT
from bgdata.endgames.layouts import BAR, Layouts, all_layouts, boards_of, layout_indexes
from bgdata.endgames.plays import BLOCK, DICE, NO_STEP, OFF, WEIGHTS, Plays, Steps, all_plays, all_steps
from bgdata.endgames.solver import are_unfinished
from bgdata.game.codec import flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.kernel import threads


def listed_results(layouts: Layouts, plays: Plays, on_roll: int, opponent: int, roll: int) -> set[tuple[int, int]]:
    """The pairs after the listed plays: the opponent's layout, and the layout of the player who moved."""
    first = (on_roll * len(layouts.blocked) + layouts.made[opponent]) * ROLL_COUNT + roll
    found = set()
    for play in range(plays.start[first], plays.start[first + 1]):
        touched = int(plays.touched[play])
        bits = sum((touched >> int(shift) & 1) << n for n, shift in enumerate(layouts.shifts[opponent]))
        assert touched & ~int(plays.reach[first]) == 0
        found.add((int(layouts.hit[opponent, bits]), int(plays.results[play])))
    return found


@pytest.mark.parametrize(("checkers", "pairs"), [(1, 601), (2, 1500), (3, 1500)])
def test_plays_match_the_rules(checkers: int, pairs: int) -> None:
    layouts = all_layouts(checkers)
    possible = are_unfinished(layouts)
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
        assert listed_results(layouts, plays, on_roll, opponent, roll) == expected, (on_roll, opponent, DICE[roll])


def test_weights_count_ordered_rolls() -> None:
    assert WEIGHTS.sum() == 36
    assert all(weight == (1 if high == low else 2) for (high, low), weight in zip(DICE.tolist(), WEIGHTS, strict=True))


def test_plays_do_not_depend_on_threads() -> None:
    layouts = all_layouts(2)
    with threads(1):
        expected = all_plays(layouts)
    for found, wanted in zip(all_plays(layouts), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.fixture(name="steps", scope="module")
def _steps() -> Steps:
    return all_steps(all_layouts(3))


def test_places_are_in_order_of_pips(steps: Steps) -> None:
    layouts = all_layouts(3)
    assert sorted(steps.layout.tolist()) == list(range(len(layouts)))
    assert (np.diff(steps.pips) >= 0).all()
    assert np.array_equal(steps.pips, layouts.pips[steps.layout])


def test_steps_match_the_rules(steps: Steps) -> None:
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
                assert found == [(0, OFF)] * 4  # game over
            else:
                assert {step for step in found if step[1] != NO_STEP} == expected


def test_steps_stay_within_the_ring(steps: Steps) -> None:
    places = np.repeat(np.arange(len(steps.pips)), 24)
    taken = steps.point != NO_STEP
    assert (places - steps.after)[taken].max() + BLOCK < steps.ring
    assert np.array_equal(steps.near, steps.after % steps.ring)
