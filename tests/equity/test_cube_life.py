"""Exact cube life indexes, margins and losses, compared with exact rational arithmetic."""

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.equity.cube_life import CERTAINTY, NoIndex, cube_life_indexes, decision_losses, margins, model_equities
from bgdata.equity.cube_models import DEFAULT_INDEX
from tests.reference.bearoff import equities, layouts
from tests.reference.cube_life import Equities, exact_indexes, loss_of_double, loss_of_take, model

BOUND = 1e-9
INDEX = Fraction(7, 10)


class Solved(NamedTuple):
    """Winning chances and no-double equities of all small bearoffs, as fractions and as arrays."""

    wins: list[Fraction]
    exact: list[Equities]
    win_array: NDArray[np.float64]
    exact_array: NDArray[np.float64]


@pytest.fixture(scope="module")
def solved() -> Solved:
    found = [equities(on_roll, opponent) for on_roll, opponent in product(layouts(4, 3)[1:], repeat=2)]
    wins, exact = [(cubeless + 1) / 2 for cubeless, *_ in found], [Equities(c, o, x) for _, o, c, x in found]
    return Solved(wins, exact, np.array(wins, float), np.array(exact, float))


def test_rules_of_thumb_use_the_default_index() -> None:
    assert float(INDEX) == DEFAULT_INDEX


def test_sample_contains_bearoffs_of_all_kinds(solved: Solved) -> None:
    taken = 2 * solved.exact_array[:, 2]
    assert len(solved.wins) == 34 * 34
    assert 20 < (taken < 1).sum() < len(solved.wins)
    assert (solved.exact_array[:, 0] > np.minimum(taken, 1)).sum() > 20


@pytest.mark.parametrize("index", [0, 0.25, 0.7, 1])
def test_model_equities_match_fractions(index: float) -> None:
    wins = [Fraction(n, 200) for n in range(201)]
    expected = np.array([model(win, Fraction(index)) for win in wins], float)
    assert np.abs(model_equities(np.array(wins, float), index) - expected).max() < 1e-12


def test_exact_indexes_reproduce_the_equities(solved: Solved) -> None:
    """The model with the index of a position gives its exact equity; positions without an index have the reason
    instead."""
    found = cube_life_indexes(solved.win_array, solved.exact_array, BOUND)
    reasons = set()
    for row, (win, exact) in enumerate(zip(solved.wins, solved.exact, strict=True)):
        for place, index in enumerate(exact_indexes(win, exact)):
            if index is None:
                assert found[row, place] == NoIndex.UNCERTAIN
            elif index < 0 or index > 1:
                assert found[row, place] == (NoIndex.BELOW if index < 0 else NoIndex.ABOVE)
            else:
                assert found[row, place] == pytest.approx(float(index), abs=1e-6)
                exact_again = model(win, Fraction(found[row, place]))[place]
                assert float(exact_again) == pytest.approx(float(exact[place]), abs=1e-9)
            reasons.add(found[row, place])
    assert {-1.0, 0.0, 2.0, 3.0} < reasons
    assert len(reasons) > 100


def test_index_is_uncertain_where_errors_decide() -> None:
    """A centered cube has no index where half of the games are won, because live and dead equities are equal there."""
    wins = np.array([0.5, 0.5 + 1e-5, 0.6])
    exact = 0.3 * (2 * wins - 1) + 0.7 * (wins - 0.5) / 0.3
    for bound, certain in ((1e-9, [False, True, True]), (1e-6, [False, False, True]), (1e-3, [False, False, False])):
        index = cube_life_indexes(wins, np.stack([exact] * 3, axis=-1), bound)[:, 0]
        assert (index != NoIndex.UNCERTAIN).tolist() == certain
        assert index[certain] == pytest.approx(0.7, abs=1e-6)


def test_index_errors_are_within_the_reported_bound(solved: Solved) -> None:
    """Equities rounded to 16-bit codes, as in a table, change an index by no more than the reported bound."""
    step, bound = 1 / 32767.5, 1 / 65535
    rounded = np.rint((solved.exact_array + 1) / step) * step - 1
    wins = (np.rint(2 * solved.win_array / step) * step) / 2
    before, after = (
        cube_life_indexes(solved.win_array, solved.exact_array, 1e-12),
        cube_life_indexes(wins, rounded, bound),
    )
    known = (after >= 0) & (after <= 1)
    assert known.sum() > 1000
    expected = np.where(before == NoIndex.BELOW, 0, np.where(before == NoIndex.ABOVE, 1, before))
    assert np.abs(after - expected)[known].max() < CERTAINTY


def test_margins_and_losses_match_fractions(solved: Solved) -> None:
    """Margins, and what the model's decisions lose, equal those in rational arithmetic."""
    found = margins(solved.exact_array)
    losses = decision_losses(solved.win_array, found)
    for row, (win, exact) in enumerate(zip(solved.wins, solved.exact, strict=True)):
        guess = model(win, INDEX)
        taken, guessed = 2 * exact.opponent_owned, 2 * guess.opponent_owned
        doubled = min(taken, Fraction(1))
        expected = [doubled - exact.centered, doubled - exact.owned, 1 - taken]
        assert found[row].tolist() == pytest.approx([float(margin) for margin in expected], abs=1e-12)
        lost = [
            loss_of_double(exact.centered, taken, guess.centered, guessed),
            loss_of_double(exact.owned, taken, guess.owned, guessed),
            loss_of_take(taken, guessed),
        ]
        assert losses[row].tolist() == pytest.approx([float(loss) for loss in lost], abs=1e-12)
    assert (losses > 0.01).any(axis=0).all()


def test_exact_indexes_have_no_loss() -> None:
    wins = np.linspace(0, 1, 1001)
    assert decision_losses(wins, margins(model_equities(wins, 0.7)), 0.7).max() < 1e-9
    assert decision_losses(wins, margins(model_equities(wins, 0.7)), 0.2).max() > 0.01


def test_view_finds_the_closest_takes(small_root: Path) -> None:
    """The view `cube_decisions` finds the takes of the 3x3 table that are closest to a pass."""
    with bgdata.open_warehouse(small_root).connect() as connection:
        rows = connection.sql(
            "select on_roll_points::integer[], opponent_points::integer[], take_margin, centered_action "
            "from cube_decisions where double_margin > 0 and take_margin > 0 order by take_margin limit 3"
        ).fetchall()
        everything = connection.sql("select count(*) from cube_decisions").fetchall()
    assert everything == [(19 * 19,)]
    takes = [
        (1 - 2 * equities(tuple(on_roll), tuple(opponent))[3])
        for on_roll in layouts(3, 3)[1:]
        for opponent in layouts(3, 3)[1:]
    ]
    closest = min(margin for margin in takes if margin > 0)
    assert rows[0][2] == pytest.approx(float(closest), abs=1e-5)
    for on_roll, opponent, margin, action in rows:
        exact = equities(tuple(on_roll), tuple(opponent))
        assert action == "double, take"
        assert margin == pytest.approx(float(1 - 2 * exact[3]), abs=1e-5)


def test_length_classes_contain_every_pair(small_root: Path) -> None:
    """The classes of race lengths have all 19 x 19 pairs, and the mean and spread of their indexes."""
    with bgdata.open_warehouse(small_root).connect() as connection:
        rows = connection.sql("from cube_life_by_length").fetchall()
        columns = connection.sql("from cube_life_by_length").columns
        indexes = connection.sql(
            "select centered_cube_life_index from cube_life where least(on_roll_pip_count, opponent_pip_count) <= 5"
        ).fetchnumpy()["centered_cube_life_index"]
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    assert sum(row["pairs"] for row in found) == 19 * 19
    assert [(row["least_pips"], row["most_pips"]) for row in found] == [(1, 5), (6, 10)]
    known = np.ma.compressed(indexes)
    assert found[0]["pairs"] == len(indexes)
    assert found[0]["centered_index_share"] == pytest.approx(len(known) / len(indexes))
    assert found[0]["centered_mean_index"] == pytest.approx(known.mean())
    assert found[0]["centered_sd_index"] == pytest.approx(known.std(), abs=1e-6)
