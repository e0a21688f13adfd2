"""Match bearoffs against exact rational arithmetic without dead cubes, money tables, and cubeless chances."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.bearoff import match_two_sided as solver
from bgdata.bearoff.layouts import all_slots
from bgdata.bearoff.match_table import CubeState, MatchCube, money_states, reachable_states
from bgdata.bearoff.match_two_sided import MatchPairs, SolvedRace
from bgdata.equity.match_equity import MatchEquity
from bgdata.equity.met_induction import induced_table
from bgdata.game.match import Cube, CubeOwner, MatchScore, Stakes
from bgdata.kernel import threads
from tests.bearoff.test_two_sided import money_table
from tests.reference.bearoff import layouts
from tests.reference.match_bearoff import MatchGame
from tests.subtests import each


@cache
def fair_table() -> MatchEquity:
    """A table for equal players. The first row is roughly the published one; the trailer's chances halve every four
    points."""
    row = [0.5, *(0.48 * 0.5 ** (away // 2 / 2) for away in range(1, 25))]
    return induced_table("fair", row, 0.26)


@cache
def crooked_table() -> MatchEquity:
    """A table for unequal players, of whom the first is better."""
    points = np.arange(1, 6)
    before = (points[None, :] / (points[None, :] + points[:, None])) ** 0.8
    return MatchEquity.of("crooked", before, before[:, 0] * 0.95, 1 - before[0] * 0.95, is_symmetric=False)


@cache
def exact_game(name: str) -> MatchGame:
    """The slow reference with one of the tables."""
    met = {"fair": fair_table(), "crooked": crooked_table()}[name]
    return MatchGame(lambda score: Fraction(met.at(score)))


TABLES = {"fair": fair_table, "crooked": crooked_table}
CENTERED, ON_ROLL, OPPONENT = CubeOwner.CENTERED, CubeOwner.ON_ROLL, CubeOwner.OPPONENT
ROUNDING = 1e-13


def solved(points: int, checkers: int, score: MatchScore, cube_value: int, name: str = "fair") -> MatchPairs:
    return solver.solve_match(points, checkers, MatchCube(score, TABLES[name]().at), cube_value)


def no_double_of(match: MatchPairs, state: CubeState, score: MatchScore, name: str = "fair") -> NDArray[np.float64]:
    return solver.state_mwc(match, MatchCube(score, TABLES[name]().at), state)


def decided_of(match: MatchPairs, state: CubeState, score: MatchScore, name: str = "fair") -> NDArray[np.float64]:
    return solver.state_mwc(match, MatchCube(score, TABLES[name]().at), state, is_decided=True)


CASES = [
    ("fair", MatchScore(1, 1), 1),
    ("fair", MatchScore(2, 1), 1),
    ("fair", MatchScore(1, 3), 1),
    ("fair", MatchScore(2, 2), 1),
    ("fair", MatchScore(2, 4), 1),
    ("fair", MatchScore(3, 5), 1),
    ("fair", MatchScore(5, 3), 2),
    ("fair", MatchScore(4, 4), 2),
    ("fair", MatchScore(9, 7), 4),
    ("fair", MatchScore(5, 3), 4),
    ("fair", MatchScore(5, 3), 8),
    ("fair", MatchScore(1, 4, is_crawford=True), 1),
    ("fair", MatchScore(9, 9), 1),
    ("crooked", MatchScore(4, 4), 1),
    ("crooked", MatchScore(3, 5), 2),
]


@each(("name", "score", "cube_value"), CASES)
@each(("points", "checkers"), [(2, 2), (6, 1)])
def test_mwc_of_small_tables_are_exact(
    points: int, checkers: int, name: str, score: MatchScore, cube_value: int
) -> None:
    """Mwc before and after the cube decision equals rational arithmetic for every pair of layouts."""
    match = solved(points, checkers, score, cube_value, name)
    game = exact_game(name)
    owners = (CENTERED,) if cube_value == 1 else (ON_ROLL, OPPONENT)
    enumerated = layouts(points, checkers)
    for owner in owners:
        stakes = Stakes(score, Cube(cube_value, owner))
        state = CubeState(0, cube_value, owner)
        no_double, decided = no_double_of(match, state, score, name), decided_of(match, state, score, name)
        for index, on_roll in enumerate(enumerated):
            for other, opponent in enumerate(enumerated):
                if index or other:
                    expected = game.no_double(on_roll, opponent, stakes)
                    assert abs(no_double[index, other] - float(expected)) < ROUNDING
                    expected = game.decided(on_roll, opponent, stakes)
                    assert abs(decided[index, other] - float(expected)) < ROUNDING


def test_mwc_of_longer_games_are_exact() -> None:
    score = MatchScore(5, 7)
    game = exact_game("fair")
    match = solved(3, 3, score, 1)
    enumerated = layouts(3, 3)
    stakes = Stakes(score, Cube())
    no_double = no_double_of(match, CubeState(0, 1, CENTERED), score)
    taken = decided_of(match, CubeState(0, 2, OPPONENT), score)
    for index, other in [(19, 19), (15, 18), (7, 12), (19, 4), (4, 19), (18, 15)]:
        pair = enumerated[index], enumerated[other]
        assert abs(no_double[index, other] - float(game.no_double(*pair, stakes))) < ROUNDING
        assert abs(taken[index, other] - float(game.double_take(*pair, stakes))) < ROUNDING


@pytest.mark.parametrize(
    ("score", "cube_value"),
    [(MatchScore(1, 1), 1), (MatchScore(3, 4), 4), (MatchScore(2, 7), 8), (MatchScore(1, 1), 2)],
)
def test_dead_cube_has_cubeless_mwc(score: MatchScore, cube_value: int) -> None:
    """A dead cube has the mwc of the winning chance, also in the slow reference, which still allows doubles."""
    match = solved(2, 2, score, cube_value)
    assert match.states.names == ()
    owner = CENTERED if cube_value == 1 else ON_ROLL
    chances = solver.win_chances(match)
    met = fair_table()
    won, lost = met.after(score, cube_value), met.after(score, -cube_value)
    found = no_double_of(match, CubeState(0, cube_value, owner), score)
    assert np.abs(found - (lost + chances * (won - lost))).max() < ROUNDING
    enumerated = layouts(2, 2)
    game = exact_game("fair")
    for index, on_roll in enumerate(enumerated[1:], start=1):
        for other, opponent in enumerate(enumerated[1:], start=1):
            exact = game.cubeless(on_roll, opponent, score, cube_value)
            assert abs(found[index, other] - float(exact)) < ROUNDING
            assert exact == game.decided(on_roll, opponent, Stakes(score, Cube(cube_value, owner)))


def test_cubeless_chances_match_the_money_table() -> None:
    money = money_table(4, 4)[:, :, 0]
    chances = solver.win_chances(solved(4, 4, MatchScore(3, 3), 1))
    assert np.abs(2 * chances[1:, 1:] - 1 - money[1:, 1:]).max() < 2e-6


def test_equal_sides_share_columns() -> None:
    assert {name.side for name in solved(2, 2, MatchScore(4, 4), 1).states.names} == {0}
    assert {name.side for name in solved(2, 2, MatchScore(4, 5), 1).states.names} == {0, 1}
    assert {name.side for name in solved(2, 2, MatchScore(4, 4), 1, "crooked").states.names} == {0, 1}


def test_owner_redoubles_a_cube_that_loses_the_match() -> None:
    """The owner of a cube with which it would lose the match redoubles at once."""
    score = MatchScore(5, 2)
    match = solved(3, 3, score, 2)
    owned = CubeState(0, 2, ON_ROLL)
    no_double, decided = no_double_of(match, owned, score), decided_of(match, owned, score)
    taken = decided_of(match, CubeState(0, 4, OPPONENT), score)
    won = fair_table().after(score, 2)
    assert (np.minimum(taken, won)[1:, 1:] >= no_double[1:, 1:] - ROUNDING).all()
    assert (decided[1:, 1:] >= no_double[1:, 1:]).all()


def test_values_do_not_depend_on_threads() -> None:
    def values(count: int) -> bytes:
        score = MatchScore(3, 5)
        with threads(count):
            match = solved(4, 4, score, 1)
        return (
            no_double_of(match, CubeState(0, 1, CENTERED), score).tobytes() + solver.column_by_index(match, 3).tobytes()
        )

    assert values(1) == values(2)


def test_long_matches_approach_money() -> None:
    """Normalised equities without a double, with a centered cube, approach those of money as matches get longer; beyond
    2x2 the cube matters even more."""
    money = money_table(3, 3)[1:, 1:, 2]
    met = fair_table()
    distances = []
    for length in (3, 6, 12, 24):
        score = MatchScore(length, length)
        mwc = no_double_of(solved(3, 3, score, 1), CubeState(0, 1, CENTERED), score)[1:, 1:]
        won, lost = met.after(score, 1), met.after(score, -1)
        distances.append(float(np.abs((2 * mwc - won - lost) / (won - lost) - money).max()))
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 0.05
    assert Fraction(distances[-1]) < Fraction(distances[0]) / 4


PAIRS = [((0, 1, 1), (0, 0, 2)), ((3, 0, 0), (0, 2, 0)), ((0, 1, 1, 1), (2, 1)), ((1,), (0, 0, 0, 0, 0, 1))]


def solve_pair(
    pair: tuple[tuple[int, ...], tuple[int, ...]], score: MatchScore, cube_value: int, name: str = "fair"
) -> SolvedRace:
    owners = (CubeOwner.CENTERED,) if cube_value == 1 else (CubeOwner.ON_ROLL, CubeOwner.OPPONENT)
    cube = MatchCube(score, TABLES[name]().at)
    found = solver.solve_position(
        *pair, reachable_states(cube, tuple(CubeState(0, cube_value, owner) for owner in owners))
    )
    assert found is not None
    return found


STATES = [
    ("fair", MatchScore(7, 7), 1),
    ("fair", MatchScore(7, 5), 2),
    ("fair", MatchScore(2, 3), 1),
    ("fair", MatchScore(1, 3), 1),
    ("crooked", MatchScore(3, 3), 1),
    ("crooked", MatchScore(3, 5), 2),
]


@each(("name", "score", "cube_value"), STATES)
@each("pair", PAIRS)
def test_solved_positions_are_exact_in_every_state(
    pair: tuple[tuple[int, ...], tuple[int, ...]], name: str, score: MatchScore, cube_value: int
) -> None:
    """A position solved on demand equals rational arithmetic with either side on roll, in every cube state that the
    game can reach."""
    race = solve_pair(pair, score, cube_value, name)
    game = exact_game(name)
    for turned in (False, True):
        layouts = pair[::-1] if turned else pair
        slots = race.find(*layouts)
        assert slots is not None
        for state in race.states.names:
            seen = score if state.side == 0 else score.flip()
            if turned and state.side == 0 and len({each.side for each in race.states.names}) == 1:
                seen = score  # both sides are alike
            if name == "crooked" and state.side == 1:
                continue  # the reference sees a table of unequal players from one side
            found = race.worth(slots, state)
            stakes = Stakes(seen, Cube(state.cube_value, state.cube_owner))
            assert found is not None
            assert abs(found.no_double - float(game.no_double(*layouts, stakes))) < ROUNDING
            if found.taken is not None:
                assert abs(found.taken - float(game.double_take(*layouts, stakes))) < ROUNDING


def test_money_states_match_the_money_table() -> None:
    """Money play, solved as a match, gives the money table for every pair of 4 points and 4 checkers and every cube
    owner, within rounding."""
    table = money_table(4, 4)
    race = solver.solve_position((1, 0, 0, 3), (0, 0, 0, 4), money_states())
    assert race is not None
    owners = (CubeOwner.ON_ROLL, CubeOwner.CENTERED, CubeOwner.OPPONENT)
    enumerated = layouts(4, 4)
    for own, layout in enumerate(enumerated[1:], start=1):
        for other, other_layout in enumerate(enumerated[1:], start=1):
            slots = race.find(layout, other_layout)
            if slots is None:  # more pips than the solved position
                continue
            found = [race.worth(slots, CubeState(0, 1, owner)) for owner in owners]
            no_doubles = [2 * race.win(slots) - 1, *(2 * worth.no_double - 1 for worth in found if worth)]
            assert np.abs(np.array(no_doubles) - table[own, other]).max() < 2e-6
            for worth in found[:2]:
                assert worth is not None
                assert worth.taken is not None
                assert 2 * worth.taken - 1 == pytest.approx(2 * table[own, other, 3], abs=4e-6)


def test_only_reachable_layouts_are_solved() -> None:
    for layout in ((1, 2, 3), (5, 1, 1), (0, 0, 0, 0, 0, 6), (2, 0, 2, 1)):
        every = all_slots(6, 6 if sum(layout) <= 6 else 7)
        first = int(np.flatnonzero(every.order == solver.index_of(layout, 6))[0])
        assert every.reachable_from(np.array([first])).sum() <= solver.count_below(layout)
        race = solver.solve_position(layout, layout, money_states())
        assert race is not None
        assert len(race.slot_of) == every.reachable_from(np.array([first])).sum()


def test_races_too_large_or_with_gammons_are_not_solved() -> None:
    states = money_states()
    for own, other in (((15,), (1,)), ((1,), (15,)), ((0,), (1,)), ((2,) * 6, (2,) * 6)):
        assert solver.solve_position(own, other, states) is None
    assert solver.solve_position((1,), (1,), states, most_cells=15) is None
    assert solver.solve_position((0,) * 18 + (1,), (1,), states) is None
    assert solver.MAX_CELLS >= 924**2 * 11, "6 points and 6 checkers at any score"


def test_unsolved_pairs_are_not_found() -> None:
    six = (0, 0, 0, 0, 0, 1)
    race = solver.solve_position(six, six, money_states())
    assert race is not None
    assert race.find(six, six) is not None
    assert race.find((0, 0, 1), six) is not None
    for pair in (((0, 2), six), ((0, 0, 0, 0, 0, 0, 1), (0, 0, 1)), ((0, 0, 0, 0, 0, 1, 0, 1), (0, 0, 1))):
        assert race.find(*pair) is None
