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
    row = (on_roll * len(layouts.blocked) + layouts.made[opponent]) * ROLL_COUNT + roll
    results = set()
    for play in range(plays.start[row], plays.start[row + 1]):
        touched = int(plays.touched[play])
        assert touched & ~int(plays.reach[row]) == 0
        hit_bits = sum((touched >> int(shift) & 1) << n for n, shift in enumerate(layouts.shifts[opponent]))
        results.add((int(layouts.hit[opponent, hit_bits]), int(plays.results[play])))
    return results


@pytest.mark.parametrize(("checkers", "n_pairs"), [(1, 601), (2, 1500), (3, 1500)])
def test_plays_match_the_rules(checkers: int, n_pairs: int) -> None:
    layouts = all_layouts(checkers)
    plays = all_plays(layouts)
    pairs = np.random.default_rng(checkers).permutation(np.argwhere(are_unfinished(layouts)))[:n_pairs]
    boards = boards_of(layouts.counts[pairs[:, 0]], layouts.counts[pairs[:, 1]])
    offsets, after = batch_plays(np.repeat(boards, len(DICE), axis=0), np.tile(DICE, (len(boards), 1)))
    opponents, movers = layout_indexes(flip_boards(after))
    for row in range(len(pairs) * len(DICE)):
        (on_roll, opponent), roll = pairs[row // len(DICE)].tolist(), row % len(DICE)
        part = slice(offsets[row], offsets[row + 1])
        expected = set(zip(opponents[part].tolist(), movers[part].tolist(), strict=True))
        assert listed_results(layouts, plays, on_roll, opponent, roll) == expected, (on_roll, opponent, DICE[roll])


def test_weights_count_ordered_rolls() -> None:
    assert WEIGHTS.tolist() == [1 if high == low else 2 for high, low in DICE.tolist()]
    assert WEIGHTS.sum() == 36


def test_plays_do_not_depend_on_threads() -> None:
    layouts = all_layouts(2)
    with threads(1):
        expected = all_plays(layouts)
    for name, array in all_plays(layouts)._asdict().items():
        np.testing.assert_array_equal(array, getattr(expected, name))


@pytest.fixture(scope="module")
def steps() -> Steps:
    """The moves of one checker with one die, for every layout of three checkers."""
    return all_steps(all_layouts(3))


def test_places_are_in_order_of_pips(steps: Steps) -> None:
    layouts = all_layouts(3)
    assert sorted(steps.layout.tolist()) == list(range(len(layouts)))
    assert (np.diff(steps.pips) >= 0).all()
    assert np.array_equal(steps.pips, layouts.pips[steps.layout])


def moves_by_the_rules(counts: tuple[int, ...], die: int) -> set[tuple[tuple[int, ...], int]]:
    """(counts after the move, point that it reaches) for each legal move of one checker."""
    moves = set()
    for point in range(1, BAR + 1):
        is_borne_off = point <= die
        must_enter = point != BAR and counts[BAR - 1] > 0
        may_bear_off = not any(counts[6:]) and (point == die or not any(counts[point:6]))
        if counts[point - 1] and not must_enter and (may_bear_off or not is_borne_off):
            after = list(counts)
            after[point - 1] -= 1
            if not is_borne_off:
                after[point - die - 1] += 1
            moves.add((tuple(after), max(point - die, OFF)))
    return moves


@pytest.mark.parametrize("die", range(1, 7))
def test_steps_match_the_rules(steps: Steps, die: int) -> None:
    counts = [tuple(row) for row in all_layouts(3).counts[steps.layout].tolist()]
    for place in range(1, len(counts)):
        row = slice((place * 6 + die - 1) * 4, (place * 6 + die) * 4)
        moves = {
            (counts[after], point)
            for after, point in zip(steps.after[row].tolist(), steps.point[row].tolist(), strict=True)
            if point != NO_STEP
        }
        assert moves == moves_by_the_rules(counts[place], die)


def test_finished_game_has_only_steps_to_itself(steps: Steps) -> None:
    assert (steps.after[: 6 * 4] == 0).all()
    assert (steps.point[: 6 * 4] == OFF).all()


def test_steps_stay_within_the_ring(steps: Steps) -> None:
    places = np.repeat(np.arange(len(steps.pips)), 24)
    taken = steps.point != NO_STEP
    assert (places - steps.after)[taken].max() + BLOCK < steps.ring
    assert np.array_equal(steps.near, steps.after % steps.ring)
