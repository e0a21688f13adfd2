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
PAIR_OF_LAYOUTS = tuple[tuple[int, ...], tuple[int, ...]]


def solved(points: int, checkers: int, score: MatchScore, cube_value: int, name: str = "fair") -> MatchPairs:
    return solver.solve_match(points, checkers, MatchCube(score, TABLES[name]().at), cube_value)


def no_double_mwc(match: MatchPairs, state: CubeState, score: MatchScore, name: str = "fair") -> NDArray[np.float64]:
    """The mwc of each pair of layouts if the player on roll does not double."""
    return solver.state_mwc(match, MatchCube(score, TABLES[name]().at), state)


def decided_mwc(match: MatchPairs, state: CubeState, score: MatchScore, name: str = "fair") -> NDArray[np.float64]:
    """The mwc of each pair of layouts after the best cube decision."""
    return solver.state_mwc(match, MatchCube(score, TABLES[name]().at), state, is_decided=True)


def owners_of(cube_value: int) -> tuple[CubeOwner, ...]:
    """The possible owners of a cube."""
    return (CENTERED,) if cube_value == 1 else (ON_ROLL, OPPONENT)


@each(
    ("name", "score", "cube_value"),
    [
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
    ],
)
@each(("points", "checkers"), [(2, 2), (6, 1)])
def test_mwc_of_small_tables_are_exact(
    points: int, checkers: int, name: str, score: MatchScore, cube_value: int
) -> None:
    """Mwc before and after the cube decision equals rational arithmetic for every pair of layouts."""
    match = solved(points, checkers, score, cube_value, name)
    game = exact_game(name)
    for owner in owners_of(cube_value):
        stakes = Stakes(score, Cube(cube_value, owner))
        state = CubeState(0, cube_value, owner)
        no_double = no_double_mwc(match, state, score, name)
        decided = decided_mwc(match, state, score, name)
        for row, on_roll in enumerate(layouts(points, checkers)):
            for column, opponent in enumerate(layouts(points, checkers)):
                if any(on_roll) or any(opponent):
                    assert abs(no_double[row, column] - float(game.no_double(on_roll, opponent, stakes))) < ROUNDING
                    assert abs(decided[row, column] - float(game.decided(on_roll, opponent, stakes))) < ROUNDING


@pytest.mark.parametrize(("row", "column"), [(19, 19), (15, 18), (7, 12), (19, 4), (4, 19), (18, 15)])
def test_mwc_of_longer_games_are_exact(row: int, column: int) -> None:
    score = MatchScore(5, 7)
    match = solved(3, 3, score, 1)
    no_double = no_double_mwc(match, CubeState(0, 1, CENTERED), score)
    double_take = decided_mwc(match, CubeState(0, 2, OPPONENT), score)
    pair = layouts(3, 3)[row], layouts(3, 3)[column]
    game, stakes = exact_game("fair"), Stakes(score, Cube())
    assert abs(no_double[row, column] - float(game.no_double(*pair, stakes))) < ROUNDING
    assert abs(double_take[row, column] - float(game.double_take(*pair, stakes))) < ROUNDING


@pytest.mark.parametrize(
    ("score", "cube_value"),
    [(MatchScore(1, 1), 1), (MatchScore(3, 4), 4), (MatchScore(2, 7), 8), (MatchScore(1, 1), 2)],
)
def test_dead_cube_has_cubeless_mwc(score: MatchScore, cube_value: int) -> None:
    """A dead cube has the mwc of the winning chance, also in the slow reference, which still allows doubles."""
    match = solved(2, 2, score, cube_value)
    assert match.states.names == ()
    owner = owners_of(cube_value)[0]
    won, lost = fair_table().after(score, cube_value), fair_table().after(score, -cube_value)
    mwc = no_double_mwc(match, CubeState(0, cube_value, owner), score)
    assert np.abs(mwc - (lost + solver.win_chances(match) * (won - lost))).max() < ROUNDING
    game = exact_game("fair")
    for row, on_roll in enumerate(layouts(2, 2)[1:], start=1):
        for column, opponent in enumerate(layouts(2, 2)[1:], start=1):
            exact = game.cubeless(on_roll, opponent, score, cube_value)
            assert abs(mwc[row, column] - float(exact)) < ROUNDING
            assert exact == game.decided(on_roll, opponent, Stakes(score, Cube(cube_value, owner)))


def test_cubeless_chances_match_the_money_table() -> None:
    money = money_table(4, 4)[:, :, 0]
    chances = solver.win_chances(solved(4, 4, MatchScore(3, 3), 1))
    assert np.abs(2 * chances[1:, 1:] - 1 - money[1:, 1:]).max() < 2e-6


def test_long_matches_approach_money() -> None:
    """Normalised equities with a centered cube approach those of money as matches get longer."""
    money = money_table(3, 3)[1:, 1:, 2]

    def distance_from_money(length: int) -> float:
        score = MatchScore(length, length)
        mwc = no_double_mwc(solved(3, 3, score, 1), CubeState(0, 1, CENTERED), score)[1:, 1:]
        won, lost = fair_table().after(score, 1), fair_table().after(score, -1)
        return float(np.abs((2 * mwc - won - lost) / (won - lost) - money).max())

    distances = [distance_from_money(length) for length in (3, 6, 12, 24)]
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 0.05
    assert distances[-1] < distances[0] / 4


def test_equal_sides_share_columns() -> None:
    assert {name.side for name in solved(2, 2, MatchScore(4, 4), 1).states.names} == {0}
    assert {name.side for name in solved(2, 2, MatchScore(4, 5), 1).states.names} == {0, 1}
    assert {name.side for name in solved(2, 2, MatchScore(4, 4), 1, "crooked").states.names} == {0, 1}


def test_values_do_not_depend_on_threads() -> None:
    score = MatchScore(3, 5)
    with threads(1):
        on_one = solved(4, 4, score, 1)
    with threads(2):
        on_two = solved(4, 4, score, 1)
    state = CubeState(0, 1, CENTERED)
    assert no_double_mwc(on_one, state, score).tobytes() == no_double_mwc(on_two, state, score).tobytes()
    on_one_column, on_two_column = (solver.column_by_index(match, 3)[1:] for match in (on_one, on_two))
    assert on_one_column.tobytes() == on_two_column.tobytes()  # row 0 has no cells: the player on roll has won


def solve_pair(pair: PAIR_OF_LAYOUTS, score: MatchScore, cube_value: int, name: str) -> SolvedRace:
    cube = MatchCube(score, TABLES[name]().at)
    states = tuple(CubeState(0, cube_value, owner) for owner in owners_of(cube_value))
    race = solver.solve_position(*pair, reachable_states(cube, states))
    assert race is not None
    return race


@each(
    ("name", "score", "cube_value"),
    [
        ("fair", MatchScore(7, 7), 1),
        ("fair", MatchScore(7, 5), 2),
        ("fair", MatchScore(2, 3), 1),
        ("fair", MatchScore(1, 3), 1),
        ("crooked", MatchScore(3, 3), 1),
        ("crooked", MatchScore(3, 5), 2),
    ],
)
@each(
    "pair",
    [((0, 1, 1), (0, 0, 2)), ((3, 0, 0), (0, 2, 0)), ((0, 1, 1, 1), (2, 1)), ((1,), (0, 0, 0, 0, 0, 1))],
)
def test_solved_positions_are_exact_in_every_state(
    pair: PAIR_OF_LAYOUTS, name: str, score: MatchScore, cube_value: int
) -> None:
    """A position solved on demand equals rational arithmetic with either side on roll, in every cube state that the
    game can reach."""
    race = solve_pair(pair, score, cube_value, name)
    game = exact_game(name)
    sides_are_alike = {state.side for state in race.states.names} == {0}
    for is_turned in (False, True):
        on_roll, opponent = pair[::-1] if is_turned else pair
        slots = race.find(on_roll, opponent)
        assert slots is not None
        for state in race.states.names:
            if name == "crooked" and state.side == 1:
                continue  # the reference sees a table of unequal players from one side
            state_score = score if state.side == 0 or (is_turned and sides_are_alike) else score.flip()
            stakes = Stakes(state_score, Cube(state.cube_value, state.cube_owner))
            worth = race.worth(slots, state)
            assert worth is not None
            assert abs(worth.no_double - float(game.no_double(on_roll, opponent, stakes))) < ROUNDING
            if worth.taken is not None:
                assert abs(worth.taken - float(game.double_take(on_roll, opponent, stakes))) < ROUNDING


def test_money_states_match_the_money_table() -> None:
    """Money play, solved as a match, gives the money table for every pair of 4 points and 4 checkers and every cube
    owner, within rounding."""
    table = money_table(4, 4)
    race = solver.solve_position((1, 0, 0, 3), (0, 0, 0, 4), money_states())
    assert race is not None
    for row, on_roll in enumerate(layouts(4, 4)[1:], start=1):
        for column, opponent in enumerate(layouts(4, 4)[1:], start=1):
            slots = race.find(on_roll, opponent)
            if slots is None:  # more pips than the solved position
                continue
            cubeless, owned, centered, opponent_owned = table[row, column].tolist()
            assert 2 * race.win(slots) - 1 == pytest.approx(cubeless, abs=2e-6)
            for owner, expected in ((ON_ROLL, owned), (CENTERED, centered), (OPPONENT, opponent_owned)):
                worth = race.worth(slots, CubeState(0, 1, owner))
                assert worth is not None
                assert 2 * worth.no_double - 1 == pytest.approx(expected, abs=2e-6)
                if owner != OPPONENT:
                    assert worth.taken is not None
                    assert 2 * worth.taken - 1 == pytest.approx(2 * opponent_owned, abs=4e-6)


@pytest.mark.parametrize("layout", [(1, 2, 3), (5, 1, 1), (0, 0, 0, 0, 0, 6), (2, 0, 2, 1)])
def test_only_reachable_layouts_are_solved(layout: tuple[int, ...]) -> None:
    slots = all_slots(6, 6 if sum(layout) <= 6 else 7)
    slot = int(np.flatnonzero(slots.order == solver.index_of(layout, 6))[0])
    n_reachable = slots.reachable_from(np.array([slot])).sum()
    assert n_reachable <= solver.count_below(layout)
    race = solver.solve_position(layout, layout, money_states())
    assert race is not None
    assert len(race.slot_of) == n_reachable


@pytest.mark.parametrize(
    ("on_roll", "opponent"),
    [((15,), (1,)), ((1,), (15,)), ((0,), (1,)), ((2,) * 6, (2,) * 6), ((0,) * 18 + (1,), (1,))],
)
def test_races_with_gammons_or_too_large_are_not_solved(on_roll: tuple[int, ...], opponent: tuple[int, ...]) -> None:
    assert solver.solve_position(on_roll, opponent, money_states()) is None


def test_size_of_solved_races_is_limited() -> None:
    assert solver.solve_position((1,), (1,), money_states(), most_cells=15) is None
    assert solver.MAX_CELLS >= 924**2 * 11, "6 points and 6 checkers at any score"


def test_unsolved_pairs_are_not_found() -> None:
    six = (0, 0, 0, 0, 0, 1)
    race = solver.solve_position(six, six, money_states())
    assert race is not None
    assert race.find(six, six) is not None
    assert race.find((0, 0, 1), six) is not None
    for pair in (((0, 2), six), ((0, 0, 0, 0, 0, 0, 1), (0, 0, 1)), ((0, 0, 0, 0, 0, 1, 0, 1), (0, 0, 1))):
        assert race.find(*pair) is None
