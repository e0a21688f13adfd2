"""Tests of sums of losses against exact fractions, for every pair of small layouts."""

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from bgdata.studies.race_rules import FOUND, NAMES, Penalties, penalized_pips, side_counts
from bgdata.studies.race_scores import STEPS, is_tested, merge_sums, pair_sums
from tests.reference import race_rules as reference
from tests.reference.bearoff import equities, layouts, mean_rolls, race

LAYOUTS = layouts(4, 3)[1:]
LIMITS = np.array([[7, -4, -3, -2], [0, 1, 2, 5], [0, 1, 2, 5]])
PENALTIES = (
    Penalties(ace=2, ace_spare=1, deuce=1, deuce_spare=1, three=1, three_spare=3, gap=1),
    Penalties(),
    Penalties(),
)


@cache
def effective_pips() -> list[Fraction]:
    return [mean_rolls(race(layout, 0)) * Fraction(49, 6) for layout in LAYOUTS]


def found_answer(on_roll: reference.Layout, opponent: reference.Layout) -> reference.Answer:
    """The answer of found rules in plain Python, by the limits in the later rows of LIMITS."""
    ahead = reference.pips(opponent) - reference.pips(on_roll)
    return ahead >= 1, ahead >= 2, ahead <= 5


def decisions(rule: str, on_roll: int, opponent: int) -> reference.Answer:
    if rule in reference.BY_EFFECTIVE_PIPS:
        return reference.BY_EFFECTIVE_PIPS[rule](effective_pips()[on_roll], effective_pips()[opponent])
    found_rules = {"found-equal": reference.keith, "found-played": found_answer, "found-longer": found_answer}
    return {**reference.BY_LAYOUT, **found_rules}[rule](LAYOUTS[on_roll], LAYOUTS[opponent])


def margins_of(on_roll: int, opponent: int) -> tuple[Fraction, Fraction, Fraction]:
    _, owned, centered, opponent_owned = equities(LAYOUTS[on_roll], LAYOUTS[opponent])
    doubled = min(2 * opponent_owned, Fraction(1))
    return doubled - centered, doubled - owned, 1 - 2 * opponent_owned


PLACES = list(product(range(len(LAYOUTS)), range(len(LAYOUTS))))


@cache
def all_margins() -> dict[tuple[int, int], tuple[Fraction, Fraction, Fraction]]:
    return {pair: margins_of(*pair) for pair in PLACES}


def margin_array() -> np.ndarray:
    return np.array([all_margins()[pair] for pair in PLACES], float).reshape(34, 34, 3)


@pytest.fixture(scope="module")
def sides() -> np.ndarray:
    table = np.array(LAYOUTS, np.int8)
    counts = side_counts(table, np.array(effective_pips(), float))
    for n, penalties in enumerate(PENALTIES):
        counts[:, FOUND + n] = penalized_pips(table, penalties)
    return counts


@pytest.mark.parametrize("weight", [1, 3])
def test_sums_equal_exact_fractions(sides: np.ndarray, weight: int) -> None:
    """Positions, occurrences, losses, errors and the largest loss of each rule equal those computed with fractions."""
    indexes = np.arange(1, 35)
    weights = np.full((34, 34), 1)
    weights[4:9] = weight
    opponents = np.broadcast_to(indexes, (34, 34))
    sums = pair_sums(sides, indexes, opponents, margin_array(), weights, LIMITS, 1e-5)
    assert sums.shape == (len(NAMES), 3, 2, 7)
    halves = is_tested(indexes[:, None], opponents)
    for number, rule in enumerate(NAMES):
        for decision in range(3):
            for half in range(2):
                pairs = [pair for pair in PLACES if halves[pair] == half]
                lost = {
                    pair: abs(margin)
                    for pair in pairs
                    if (margin := all_margins()[pair][decision]) and decisions(rule, *pair)[decision] != (margin > 0)
                }
                positions, occurrences, loss, errors, largest, on_roll, opponent = sums[number, decision, half].tolist()
                assert positions == len(pairs)
                assert occurrences == sum(int(weights[pair]) for pair in pairs)
                expected = sum(int(weights[pair]) * float(each) for pair, each in lost.items())
                assert loss / STEPS == pytest.approx(expected, abs=1e-4)
                assert errors == sum(int(weights[pair]) for pair, each in lost.items() if each > 1e-5)
                assert largest / STEPS == pytest.approx(float(max(lost.values(), default=0)), abs=1e-6)
                if lost:
                    assert float(lost[on_roll - 1, opponent - 1]) == pytest.approx(largest / STEPS, abs=1e-6)
                else:
                    assert (on_roll, opponent) == (-1, -1)


def test_every_rule_loses_somewhere(sides: np.ndarray) -> None:
    indexes = np.arange(1, 35)
    sums = pair_sums(
        sides, indexes, np.broadcast_to(indexes, (34, 34)), margin_array(), np.ones(1, np.int64), LIMITS, 1e-5
    )
    assert (merge_sums(sums, axis=2)[..., 2].sum(axis=1) > 0).all()


def test_single_pairs_sum_to_rows(sides: np.ndarray) -> None:
    indexes = np.arange(1, 35)
    ones = np.ones(1, np.int64)
    rows = pair_sums(sides, indexes, np.broadcast_to(indexes, (34, 34)), margin_array(), ones, LIMITS, 1e-5)
    own = np.repeat(indexes, 34)
    other = np.tile(indexes, 34)
    single_pairs = pair_sums(sides, own, other[:, None], margin_array().reshape(-1, 1, 3), ones, LIMITS, 1e-5)
    assert (rows == single_pairs).all()


def test_sums_of_no_pairs_are_zero(sides: np.ndarray) -> None:
    no_pairs = np.zeros((0, 1), np.int64)
    sums = pair_sums(sides, no_pairs[:, 0], no_pairs, np.zeros((0, 1, 3)), no_pairs, LIMITS, 1e-5)
    assert sums[..., :5].max() == 0
    assert (sums[..., 5:] == -1).all()


def test_halves_do_not_depend_on_the_table() -> None:
    on_roll, opponent = np.meshgrid(np.arange(1, 300), np.arange(1, 300))
    tested = is_tested(on_roll, opponent)
    assert 0.49 < tested.mean() < 0.51
    assert abs(tested.mean(axis=0) - 0.5).max() < 0.15
    assert (is_tested(on_roll[:50], opponent[:50]) == tested[:50]).all()
