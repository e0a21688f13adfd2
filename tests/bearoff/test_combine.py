"""Combined one-sided distributions, against sums of fractions and the published study of the error."""

from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.bearoff import combine
from bgdata.bearoff.kinds.bearoff_error import DATASET, ErrorParameters
from bgdata.bearoff.layouts import all_plays
from bgdata.errors import InvalidParameterError
from bgdata.kernel import threads
from tests.rechecking import check_sample, inputs_of
from tests.reference.bearoff import ROLLS, Layout, after_roll, layouts, one_sided_win_chance, race
from tests.reference.bearoff_chances import equity, exact_game
from tests.subtests import each


def as_array(chances: dict[int, Fraction]) -> np.ndarray:
    return np.array([float(chances.get(n, 0)) for n in range(max(chances) + 1)])


def matrix_of(distributions: list[dict[int, Fraction]]) -> np.ndarray:
    """float64[N, rolls]: chances of exactly n rolls."""
    matrix = np.zeros((len(distributions), max(map(max, distributions)) + 1))
    for row, chances in enumerate(distributions):
        matrix[row, : max(chances) + 1] = as_array(chances)
    return matrix


def test_win_chance_is_the_sum_over_both_distributions() -> None:
    distributions = [race(layout, 0) for layout in layouts(6, 2)]
    equities = combine.one_sided_equities(matrix_of(distributions))
    for row, on_roll in enumerate(distributions):
        for column, opponent in enumerate(distributions):
            expected = float(one_sided_win_chance(on_roll, opponent))
            assert combine.win_chance(as_array(on_roll), as_array(opponent)) == pytest.approx(expected, abs=1e-14)
            assert equities[row, column] == pytest.approx(2 * expected - 1, abs=1e-14)


def exact_combined_equity(on_roll: Layout, opponent: Layout) -> Fraction:
    """The equity if each side raced alone."""
    return 2 * one_sided_win_chance(race(on_roll, 0), race(opponent, 0)) - 1


def best_play_equity(on_roll: Layout, opponent: Layout, roll: tuple[int, int]) -> Fraction:
    """The equity of the best play of a roll by the combined equities of the opponent."""
    return max(
        Fraction(1) if not any(after) else -exact_combined_equity(opponent, after)
        for after in after_roll(on_roll, roll)
    )


def test_one_roll_ahead_is_exact() -> None:
    """Equities after trying all plays of one roll equal a plain search, for every pair of layouts of up to two checkers
    on six points."""
    few = layouts(6, 2)[1:]
    combined = np.array([[float(exact_combined_equity(on_roll, opponent)) for opponent in few] for on_roll in few])
    equities = combine.one_roll_ahead(combined, all_plays(6, 2))
    for row, column in product(range(len(few)), repeat=2):
        expected = sum(weight * best_play_equity(few[row], few[column], roll) for roll, weight in ROLLS) / 36
        assert equities[row, column] == pytest.approx(float(expected), abs=1e-13)
    assert (equities >= combined - 1e-13).all()  # choosing by equities is no worse than playing for the fewest rolls


def test_exact_equities_stay_the_same_one_roll_ahead() -> None:
    few = layouts(4, 3)[1:]
    exact = np.array([[equity(exact_game(on_roll, opponent, 15)) for opponent in few] for on_roll in few])
    assert combine.one_roll_ahead(exact, all_plays(4, 3)) == pytest.approx(exact, abs=1e-13)


def test_chosen_plays_get_the_given_values() -> None:
    """Plays chosen by some equities get the values that are passed in, here random numbers for every pair of up to
    three checkers on four points."""
    few = layouts(4, 3)[1:]
    indexes = {layout: index for index, layout in enumerate(few)}
    equities, values = np.random.default_rng(1).uniform(-0.9, 0.9, (2, len(few), len(few)))
    ahead = combine.one_roll_ahead(equities, all_plays(4, 3), values)
    for row, column in product(range(len(few)), repeat=2):
        expected = 0.0
        for roll, weight in ROLLS:
            after_plays = after_roll(few[row], roll)
            if any(not any(after) for after in after_plays):  # all checkers are off
                expected += weight / 36
            else:
                best = min((indexes[after] for after in after_plays), key=lambda index: equities[column, index])
                expected -= weight / 36 * values[column, best]
        assert ahead[row, column] == pytest.approx(expected, abs=1e-13)


def gammon_chance(winner: dict[int, Fraction], first_off: dict[int, Fraction], rolls_before: int) -> Fraction:
    """Chance that the winner is off in n rolls and the other side has not borne off a checker in n - rolls_before."""
    total = Fraction(0)
    for n, chance in winner.items():
        none_off = sum(chance for rolls, chance in first_off.items() if rolls > n - rolls_before)
        total += chance * none_off
    return total


def test_gammon_chances_are_exact() -> None:
    """Only sides with all 15 checkers lose gammons, and their chances are exact for every pair of layouts of 1, 8 or 15
    checkers on two points."""
    sample = [layout for layout in layouts(2, 15) if sum(layout) in (1, 8, 15)]
    full = [layout for layout in sample if sum(layout) == 15]
    first_full = len(sample) - len(full)
    assert sample[first_full:] == full
    rolls, first_off = [race(layout, 0) for layout in sample], [race(layout, 14) for layout in full]
    combination = combine.Combination(matrix_of(rolls), first_chances=matrix_of(first_off))
    equities = combination.equities(0, len(sample))
    for row, column in product(range(len(sample)), repeat=2):
        expected = 2 * one_sided_win_chance(rolls[row], rolls[column]) - 1
        if column >= first_full:
            expected += gammon_chance(rolls[row], first_off[column - first_full], 1)
        if row >= first_full:
            expected -= gammon_chance(rolls[column], first_off[row - first_full], 0)
        assert equities[row, column] == pytest.approx(float(expected), abs=1e-13)
    blocks_of_5 = [combination.equities(row, min(row + 5, len(sample))) for row in range(0, len(sample), 5)]
    assert np.concatenate(blocks_of_5).tobytes() == equities.tobytes()


def test_some_rows_are_corrected_like_all() -> None:
    matrix = matrix_of([race(layout, 0) for layout in layouts(6, 2)[1:]])
    wastages = np.linspace(5, 8, len(matrix))
    expected = combine.one_sided_equities(matrix)
    combine.correct_equities(expected, wastages, wastages)
    assert combine.Combination(matrix, wastages).equities(3, 9).tobytes() == expected[3:9].tobytes()


def test_excess_depends_on_the_wastage_of_both_sides() -> None:
    """The excess falls with the trailer's wastage, and is 0 if the race is even or over."""
    assert combine.excess(0.5, 8.0, 6.0) == pytest.approx(0.375 * (0.019 + 0.0007 * 8 - 0.0021 * 6), abs=1e-15)
    assert combine.excess(-0.5, 6.0, 8.0) == -combine.excess(0.5, 8.0, 6.0)
    assert combine.excess(0.5, 8.0, 5.0) > combine.excess(0.5, 8.0, 6.0) > combine.excess(0.5, 7.0, 6.0) > 0
    assert combine.excess(0.5, 8.0, 30.0) == 0
    for equity_of_race in (-1.0, 0.0, 1.0):
        assert combine.excess(equity_of_race, 7.0, 7.0) == 0


def test_excess_is_subtracted_from_each_equity() -> None:
    equities = np.array([[0.5, -0.5], [0.2, 0.0]])
    wastages = np.array([8.0, 7.0])
    expected = equities.copy()
    for row, column in product(range(2), repeat=2):
        expected[row, column] -= combine.excess(equities[row, column], wastages[row], wastages[column])
    combine.correct_equities(equities, wastages, wastages)
    assert equities.tolist() == expected.tolist()


@pytest.mark.parametrize("size", [(5, 8), (7, 5)], ids=str)
def test_corrections_reduce_the_error_of_other_sizes(tmp_path: Path, size: tuple[int, int]) -> None:
    """One roll ahead, the mean excess, and both together reduce the error in this order, on sizes to which the excess
    was not fitted. The check of a sample, which combines single pairs, agrees."""
    warehouse = bgdata.open_warehouse(tmp_path)
    errors = []
    for combination in DATASET.combinations:
        recipe = ErrorParameters(*size, combination)
        table = warehouse.build("bearoff_error", recipe)
        inputs = inputs_of(warehouse, DATASET, recipe)
        assert check_sample(DATASET, table, inputs, 40, np.random.default_rng(1)).startswith("40 rows drawn of")
        errors.append(float(np.sqrt(np.square(table.array("difference"), dtype=np.float64).mean())))
    plain, corrected, one_roll, both = errors
    assert both < corrected < one_roll < plain


# slow: solves the 25 million pairs of 6x9
@pytest.mark.slow
def test_study_of_the_error_matches_published_figures(tmp_path: Path) -> None:
    """The errors over all pairs of 6x9 are the published ones of 2012, computed again with all legal plays, which
    include those that waste pips."""
    warehouse = bgdata.open_warehouse(tmp_path)
    warehouse.build("bearoff_error", ErrorParameters(6, 9))
    with warehouse.connect() as connection:
        summary = connection.sql(
            "select count(*), round(avg(difference), 6), round(stddev_pop(difference), 5), "
            "round(max(difference)::double, 4), round(min(difference)::double, 4), "
            "round(avg(abs(difference)), 6) from bearoff_error_6x9"
        ).fetchall()[0]
        extremes = connection.sql(
            "select bearoff_index([3,2,1,0,0,0]) || ' ' || bearoff_index([0,0,3,1,0,1]), "
            "bearoff_index([0,0,2,2,2,0]) || ' ' || bearoff_index([3,2,1,0,0,0]), "
            "arg_max(on_roll_index || ' ' || opponent_index, difference), "
            "arg_min(on_roll_index || ' ' || opponent_index, difference), "
            "round(arg_max(exact_equity, difference), 4), round(arg_max(one_sided_equity, difference), 4), "
            "round(arg_min(exact_equity, difference), 4), round(arg_min(one_sided_equity, difference), 4) "
            "from bearoff_error_6x9"
        ).fetchall()[0]
    assert summary == (25_040_016, 0.000197, 0.00249, 0.0236, -0.0279, 0.001687)
    assert extremes[2:4] == extremes[0:2]
    assert extremes[4:] == pytest.approx((0.7445, 0.7681, -0.5275, -0.5554), abs=1.01e-4)


def test_unknown_combination_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"expected a combination among plain, .*, got 'exact'"):
        DATASET.check_parameters(ErrorParameters(3, 3, "exact"))


def test_plain_combination_keeps_its_slug_and_key() -> None:
    assert [DATASET.slug(ErrorParameters(6, 9, name)) for name in ("plain", "one-roll")] == ["6x9", "6x9-one-roll"]
    assert "combination" not in ErrorParameters(6, 9).to_json()


COUNT = 50


@cache
def groups() -> np.ndarray:
    random = np.random.default_rng(4)
    return np.stack([np.zeros(COUNT, np.int64), random.integers(2, 5, COUNT), random.integers(0, 9, COUNT)], axis=1)


def group_sums(step: int, differences: np.ndarray) -> combine.GroupSums:
    """Sums of all pairs, added `step` players on roll at a time."""
    sizes = groups().max(axis=0) + 1
    sums = combine.start_sums(int((sizes**2).sum()))
    for first in range(0, COUNT, step):
        combine.add_pairs(sums, sizes, groups(), first, differences[first : first + step])
    return sums


@each("sign", [0, 1, -1])
def test_sums_match_numpy(sign: int) -> None:
    """Counts, sums and extremes of groups equal NumPy's, for differences of both signs and of one."""
    # quarters: sums are exact, and extremes occur more than once
    differences = np.random.default_rng(5).integers(-40, 40, (COUNT, COUNT)) / 4
    if sign:
        differences = sign * (np.abs(differences) + 1)
    sums = group_sums(COUNT, differences)
    row = 0
    for grouping, size in enumerate(groups().max(axis=0) + 1):
        for on_roll, opponent in product(range(size), repeat=2):
            is_inside = (groups()[:, None, grouping] == on_roll) & (groups()[:, grouping] == opponent)
            inside = differences[is_inside]
            assert sums.counts[row] == len(inside)
            assert sums.sums[row].tolist() == [inside.sum(), (inside**2).sum(), np.abs(inside).sum()]
            if len(inside):
                assert sums.extremes[row].tolist() == [inside.max(), inside.min()]
                for number, extreme in enumerate(sums.extremes[row]):
                    first_pair = np.argwhere(is_inside & (extreme == differences))[0]
                    assert sums.places[row, number].tolist() == first_pair.tolist()
            row += 1
    assert row == len(sums.counts)


@pytest.mark.parametrize("step", [1, 7, COUNT])
def test_sums_do_not_depend_on_blocks_and_threads(step: int) -> None:
    values = np.random.default_rng(6).standard_normal((COUNT, COUNT))
    with threads(1):
        expected = group_sums(COUNT, values)
    sums = group_sums(step, values)
    for name in combine.GroupSums._fields:
        assert getattr(sums, name).tobytes() == getattr(expected, name).tobytes()
