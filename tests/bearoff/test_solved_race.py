"""Races that are solved when they are asked for, against exact rational arithmetic, and against the table for money."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.bearoff.match_states import CubeState, MatchCube, money_states, reachable_states
from bgdata.bearoff.slots import all_slots
from bgdata.bearoff.solved_race import MOST_CELLS, SolvedRace, count_below, index_of, solve_race
from bgdata.game.match import Cube, CubeOwner, MatchScore, Stakes
from tests.bearoff.match_tables import away, crooked_table, exact_game, fair_table
from tests.reference.bearoff import layouts
from tests.together import each

TABLES = {"fair": fair_table, "crooked": crooked_table}
ROUNDING = 1e-13
PAIRS = [((0, 1, 1), (0, 0, 2)), ((3, 0, 0), (0, 2, 0)), ((0, 1, 1, 1), (2, 1)), ((1,), (0, 0, 0, 0, 0, 1))]


def solved(
    pair: tuple[tuple[int, ...], tuple[int, ...]], score: MatchScore, cube_value: int, name: str = "fair"
) -> SolvedRace:
    owners = (CubeOwner.CENTERED,) if cube_value == 1 else (CubeOwner.ON_ROLL, CubeOwner.OPPONENT)
    cube = MatchCube(score, TABLES[name]().at)
    found = solve_race(*pair, reachable_states(cube, tuple(CubeState(0, cube_value, owner) for owner in owners)))
    assert found is not None
    return found


CASES = [
    ("fair", away(7, 7), 1),
    ("fair", away(7, 5), 2),
    ("fair", away(2, 3), 1),
    ("fair", away(1, 3), 1),
    ("crooked", away(3, 3), 1),
    ("crooked", away(3, 5), 2),
]


@each(("name", "score", "cube_value"), CASES)
@each("pair", PAIRS)
def test_every_state_is_exact(
    pair: tuple[tuple[int, ...], tuple[int, ...]], name: str, score: MatchScore, cube_value: int
) -> None:
    """Whoever is on roll, and whatever the cube may still come to."""
    race, game = solved(pair, score, cube_value, name), exact_game(name)
    for turned in (False, True):
        layouts = pair[::-1] if turned else pair
        slots = race.find(*layouts)
        assert slots is not None
        for state in race.states.names:
            seen = score if state.side == 0 else score.flip()
            if turned and state.side == 0 and len({each.side for each in race.states.names}) == 1:
                seen = score  # both sides are alike
            if name == "crooked" and state.side == 1:
                continue  # the twin sees a table of unequal players from one side
            found, stakes = race.worth(slots, state), Stakes(seen, Cube(state.cube_value, state.cube_owner))
            assert found is not None
            assert abs(found.no_double - float(game.no_double(*layouts, stakes))) < ROUNDING
            if found.taken is not None:
                assert abs(found.taken - float(game.double_take(*layouts, stakes))) < ROUNDING


def test_money_is_that_of_the_table() -> None:
    """Every pair of 4 points and 4 checkers, to what the table rounds: cubeless, owned, centered, opponent's."""
    from tests.bearoff.test_two_sided import rows

    table = rows(4, 4)
    race = solve_race((1, 0, 0, 3), (0, 0, 0, 4), money_states())
    assert race is not None
    owners = (CubeOwner.ON_ROLL, CubeOwner.CENTERED, CubeOwner.OPPONENT)
    enumerated = layouts(4, 4)
    for own, layout in enumerate(enumerated[1:], start=1):
        for other, other_layout in enumerate(enumerated[1:], start=1):
            slots = race.find(layout, other_layout)
            if slots is None:  # more pips than the position that was asked for
                continue
            found = [race.worth(slots, CubeState(0, 1, owner)) for owner in owners]
            no_doubles = [2 * race.win(slots) - 1, *(2 * worth.no_double - 1 for worth in found if worth)]
            assert np.abs(np.array(no_doubles) - table[own, other]).max() < 2e-6
            for worth in found[:2]:
                assert worth is not None
                assert worth.taken is not None
                assert 2 * worth.taken - 1 == pytest.approx(2 * table[own, other, 3], abs=4e-6)


def test_no_more_than_can_be_reached_is_solved() -> None:
    for layout in ((1, 2, 3), (5, 1, 1), (0, 0, 0, 0, 0, 6), (2, 0, 2, 1)):
        every = all_slots(6, 6 if sum(layout) <= 6 else 7)
        first = int(np.flatnonzero(every.order == index_of(layout, 6))[0])
        assert every.reachable_from(np.array([first])).sum() <= count_below(layout)
        race = solve_race(layout, layout, money_states())
        assert race is not None
        assert len(race.slot_of) == every.reachable_from(np.array([first])).sum()


def test_races_too_large_or_with_gammons_are_not_solved() -> None:
    states = money_states()
    for own, other in (((15,), (1,)), ((1,), (15,)), ((0,), (1,)), ((2,) * 6, (2,) * 6)):
        assert solve_race(own, other, states) is None
    assert solve_race((1,), (1,), states, most_cells=15) is None
    assert solve_race((0,) * 18 + (1,), (1,), states) is None
    assert MOST_CELLS >= 924**2 * 11, "6 points and 6 checkers at any score"


def test_what_was_solved_for_others_is_not_found() -> None:
    six = (0, 0, 0, 0, 0, 1)
    race = solve_race(six, six, money_states())
    assert race is not None
    assert race.find(six, six) is not None
    assert race.find((0, 0, 1), six) is not None
    for pair in (((0, 2), six), ((0, 0, 0, 0, 0, 0, 1), (0, 0, 1)), ((0, 0, 0, 0, 0, 1, 0, 1), (0, 0, 1))):
        assert race.find(*pair) is None
