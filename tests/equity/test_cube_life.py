"""Exact cube life indexes, margins and losses, compared with exact rational arithmetic."""

from collections.abc import Sequence
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


class Bearoffs(NamedTuple):
    """Winning chances and no-double equities of all small bearoffs, as fractions and as arrays."""

    wins: list[Fraction]
    equities: list[Equities]
    win_array: NDArray[np.float64]
    equity_array: NDArray[np.float64]


@pytest.fixture(scope="module")
def bearoffs() -> Bearoffs:
    """Bearoffs of up to 3 checkers a side on 4 points, solved with fractions."""
    wins = []
    exact = []
    for on_roll, opponent in product(layouts(4, 3)[1:], repeat=2):
        cubeless, owned, centered, opponent_owned = equities(on_roll, opponent)
        wins.append((cubeless + 1) / 2)
        exact.append(Equities(centered, owned, opponent_owned))
    return Bearoffs(wins, exact, np.array(wins, float), np.array(exact, float))


def test_rules_of_thumb_use_the_default_index() -> None:
    assert float(INDEX) == DEFAULT_INDEX


def test_sample_contains_bearoffs_of_all_kinds(bearoffs: Bearoffs) -> None:
    double_take = 2 * bearoffs.equity_array[:, 2]
    is_take = double_take < 1
    is_no_double = bearoffs.equity_array[:, 0] > np.minimum(double_take, 1)
    assert len(bearoffs.wins) == 34 * 34
    assert 20 < is_take.sum() < len(bearoffs.wins)
    assert is_no_double.sum() > 20


@pytest.mark.parametrize("index", [0, 0.25, 0.7, 1])
def test_model_equities_match_fractions(index: float) -> None:
    wins = [Fraction(n, 200) for n in range(201)]
    expected = np.array([model(win, Fraction(index)) for win in wins], float)
    assert np.abs(model_equities(np.array(wins, float), index) - expected).max() < 1e-12


def test_exact_indexes_reproduce_the_equities(bearoffs: Bearoffs) -> None:
    """The model with the index of a position gives its exact equity; positions without an index have the reason
    instead."""
    indexes = cube_life_indexes(bearoffs.win_array, bearoffs.equity_array, BOUND)
    for row, (win, exact) in enumerate(zip(bearoffs.wins, bearoffs.equities, strict=True)):
        for owner, expected in enumerate(exact_indexes(win, exact)):
            index = indexes[row, owner]
            if expected is None:
                assert index == NoIndex.UNCERTAIN
            elif expected < 0:
                assert index == NoIndex.BELOW
            elif expected > 1:
                assert index == NoIndex.ABOVE
            else:
                assert index == pytest.approx(float(expected), abs=1e-6)
                assert float(model(win, Fraction(index))[owner]) == pytest.approx(float(exact[owner]), abs=1e-9)
    assert set(NoIndex) <= set(indexes.ravel().tolist())
    assert len(set(indexes.ravel().tolist())) > 100


@pytest.mark.parametrize(
    ("bound", "is_certain"),
    [(1e-9, [False, True, True]), (1e-6, [False, False, True]), (1e-3, [False, False, False])],
)
def test_index_is_uncertain_where_errors_decide(bound: float, is_certain: list[bool]) -> None:
    """A centered cube has no index where half of the games are won, because live and dead equities are equal there."""
    wins = np.array([0.5, 0.5 + 1e-5, 0.6])
    exact = 0.3 * (2 * wins - 1) + 0.7 * (wins - 0.5) / 0.3  # a mixture of dead and live cube with index 0.7
    indexes = cube_life_indexes(wins, np.stack([exact] * 3, axis=-1), bound)[:, 0]
    assert (indexes != NoIndex.UNCERTAIN).tolist() == is_certain
    assert indexes[is_certain] == pytest.approx(0.7, abs=1e-6)


def test_index_errors_are_within_the_reported_bound(bearoffs: Bearoffs) -> None:
    """Equities rounded to 16-bit codes, as in a table, change an index by no more than the reported bound."""
    step, bound = 1 / 32767.5, 1 / 65535
    rounded_equities = np.rint((bearoffs.equity_array + 1) / step) * step - 1
    rounded_wins = (np.rint(2 * bearoffs.win_array / step) * step) / 2
    exact = cube_life_indexes(bearoffs.win_array, bearoffs.equity_array, 1e-12)
    exact = np.where(exact == NoIndex.BELOW, 0, np.where(exact == NoIndex.ABOVE, 1, exact))
    rounded = cube_life_indexes(rounded_wins, rounded_equities, bound)
    is_known = (rounded >= 0) & (rounded <= 1)
    assert is_known.sum() > 1000
    assert np.abs(rounded - exact)[is_known].max() < CERTAINTY


def test_margins_match_fractions(bearoffs: Bearoffs) -> None:
    computed = margins(bearoffs.equity_array)
    for row, exact in enumerate(bearoffs.equities):
        double_take = 2 * exact.opponent_owned
        doubled = min(double_take, Fraction(1))
        expected = [doubled - exact.centered, doubled - exact.owned, 1 - double_take]
        assert computed[row].tolist() == pytest.approx([float(margin) for margin in expected], abs=1e-12)


def test_losses_of_the_models_decisions_match_fractions(bearoffs: Bearoffs) -> None:
    losses = decision_losses(bearoffs.win_array, margins(bearoffs.equity_array))
    for row, (win, exact) in enumerate(zip(bearoffs.wins, bearoffs.equities, strict=True)):
        estimate = model(win, INDEX)
        double_take, estimated_take = 2 * exact.opponent_owned, 2 * estimate.opponent_owned
        expected = [
            loss_of_double(exact.centered, double_take, estimate.centered, estimated_take),
            loss_of_double(exact.owned, double_take, estimate.owned, estimated_take),
            loss_of_take(double_take, estimated_take),
        ]
        assert losses[row].tolist() == pytest.approx([float(loss) for loss in expected], abs=1e-12)
    assert (losses > 0.01).any(axis=0).all()


def test_exact_indexes_have_no_loss() -> None:
    wins = np.linspace(0, 1, 1001)
    assert decision_losses(wins, margins(model_equities(wins, 0.7)), 0.7).max() < 1e-9
    assert decision_losses(wins, margins(model_equities(wins, 0.7)), 0.2).max() > 0.01


def take_margin(on_roll: Sequence[int], opponent: Sequence[int]) -> Fraction:
    """The exact margin by which a double is a take."""
    *_, opponent_owned = equities(tuple(on_roll), tuple(opponent))
    return 1 - 2 * opponent_owned


def test_view_finds_the_closest_takes(small_root: Path) -> None:
    """The view `cube_decisions` finds the takes of the 3x3 table that are closest to a pass."""
    with bgdata.open_warehouse(small_root).connect() as connection:
        rows = connection.sql(
            "select on_roll_points::integer[], opponent_points::integer[], take_margin, centered_action "
            "from cube_decisions where double_margin > 0 and take_margin > 0 order by take_margin limit 3"
        ).fetchall()
        ((count,),) = connection.sql("select count(*) from cube_decisions").fetchall()
    assert count == 19 * 19
    all_margins = [take_margin(on_roll, opponent) for on_roll, opponent in product(layouts(3, 3)[1:], repeat=2)]
    assert rows[0][2] == pytest.approx(float(min(margin for margin in all_margins if margin > 0)), abs=1e-5)
    for on_roll, opponent, margin, action in rows:
        assert action == "double, take"
        assert margin == pytest.approx(float(take_margin(on_roll, opponent)), abs=1e-5)


def test_length_classes_contain_every_pair(small_root: Path) -> None:
    """The classes of race lengths have all 19 x 19 pairs, and the mean and spread of their indexes."""
    with bgdata.open_warehouse(small_root).connect() as connection:
        classes = connection.sql("from cube_life_by_length").fetchnumpy()
        indexes = connection.sql(
            "select centered_cube_life_index from cube_life where least(on_roll_pip_count, opponent_pip_count) <= 5"
        ).fetchnumpy()["centered_cube_life_index"]
    assert classes["pairs"].sum() == 19 * 19
    assert classes["least_pips"].tolist() == [1, 6]
    assert classes["most_pips"].tolist() == [5, 10]
    known = np.ma.compressed(indexes)
    assert classes["pairs"][0] == len(indexes)
    assert classes["centered_index_share"][0] == pytest.approx(len(known) / len(indexes))
    assert classes["centered_mean_index"][0] == pytest.approx(known.mean())
    assert classes["centered_sd_index"][0] == pytest.approx(known.std(), abs=1e-6)
