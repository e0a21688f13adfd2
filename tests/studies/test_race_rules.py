"""Tests of rules of thumb for races: references, published examples and invalid input."""

from fractions import Fraction
from functools import cache
from math import nan
from typing import Any

import numpy as np
import pytest

from bgdata.errors import InvalidPositionError, UsageError
from bgdata.studies.race_rules import NAMES, RULES, Penalties, penalized_pips, race_decision
from tests.reference import race_rules as reference


def random_layout(random: np.random.Generator, points: int, most: int) -> list[int]:
    """A random layout of 1 to `most` checkers, stacked or spread with equal chances."""
    checkers = int(random.integers(1, most + 1))
    weights = random.dirichlet(np.full(points, 0.5))
    return list(random.multinomial(checkers, weights))


@cache
def random_pairs() -> list[tuple[list[int], list[int]]]:
    random = np.random.default_rng(11)
    sizes = ((400, 6, 9), (200, 6, 3), (400, 12, 15))
    return [
        (random_layout(random, points, most), random_layout(random, points, most))
        for count, points, most in sizes
        for _ in range(count)
    ]


def test_every_rule_has_a_reference() -> None:
    assert {**reference.BY_LAYOUT, **reference.BY_EFFECTIVE_PIPS}.keys() == RULES.keys()
    assert NAMES[: len(RULES)] == tuple(RULES)
    assert [name for name, rule in RULES.items() if rule.is_effective] == list(reference.BY_EFFECTIVE_PIPS)
    for rule in RULES.values():
        assert rule.source


@pytest.mark.parametrize("rule", reference.BY_LAYOUT)
def test_rules_match_their_references(rule: str) -> None:
    expected = [reference.BY_LAYOUT[rule](on_roll, opponent) for on_roll, opponent in random_pairs()]
    assert [tuple(race_decision(rule, on_roll, opponent)) for on_roll, opponent in random_pairs()] == expected
    assert len(set(expected)) >= 4  # all of no double, double, redouble and pass occur


@pytest.mark.parametrize("rule", reference.BY_EFFECTIVE_PIPS)
def test_rules_of_effective_pips_match_their_references(rule: str) -> None:
    """Rules that use effective pip counts equal their references, for counts in eighths of a pip, which are exact."""
    random = np.random.default_rng(12)
    counts = random.integers(56, 900, (1000, 2)) / 8
    counts[:, 1] = counts[:, 0] + random.integers(-40, 120, 1000) / 8
    expected = [
        reference.BY_EFFECTIVE_PIPS[rule](Fraction(on_roll), Fraction(opponent))
        for on_roll, opponent in counts.tolist()
    ]
    decisions = [tuple(race_decision(rule, [1], [1], (on_roll, opponent))) for on_roll, opponent in counts.tolist()]
    assert decisions == expected
    assert len(set(expected)) >= 4


FLAT, GAPPED = [2, 2, 2, 2, 3, 4], [3, 2, 5, 0, 1, 3, 0, 0, 0, 0, 1]  # bkgm.com, forum archive 1592
LONG, LONGER = [0, 0, 0, 0, 3, 6, 1, 3, 1, 0, 1], [0, 0, 0, 1, 2, 5, 1, 2, 1, 0, 1, 1, 1]  # bgonline.org, 170148


def with_pips(pips: int) -> list[int]:
    """A layout with this pip count: all checkers but one on point 18."""
    far, rest = divmod(pips - 1, 18)
    layout = [0] * 17 + [far]
    layout[rest] += 1
    return layout


@pytest.mark.parametrize(
    ("rule", "on_roll", "opponent", "decision"),
    [
        ("keith", FLAT, GAPPED, (False, False, True)),  # 70 against 64
        ("keith", LONG, LONGER, (False, False, True)),  # 117 against 112
        ("kleinman", with_pips(100), with_pips(113), (True, True, False)),  # Johansen: K = 1.383
        ("kleinman", with_pips(100), with_pips(106), (False, False, True)),  # K = 0.495
        ("rule-62", with_pips(74), with_pips(81), (True, True, True)),  # Simborg: a take up to 83
        ("rule-62", with_pips(74), with_pips(84), (True, True, False)),
        ("rule-62", with_pips(55), with_pips(62), (True, True, True)),
        ("rule-62", with_pips(55), with_pips(66), (True, True, False)),
        ("8-9-12", with_pips(84), with_pips(96), (True, True, False)),  # Scoones and Bower, 1998
        ("thorp", [0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 1], (True, True, True)),
    ],
)
def test_published_examples_are_reproduced(
    rule: str, on_roll: list[int], opponent: list[int], decision: tuple[bool, bool, bool]
) -> None:
    assert tuple(race_decision(rule, on_roll, opponent)) == decision


def test_published_example_of_effective_pips_is_reproduced() -> None:
    """The published example of effective pip counts, 68.5 against 71, is 10 rolls: take up to 75.5 and double from 73.5
    on."""
    assert tuple(race_decision("epc-rolls", FLAT, GAPPED, (68.5, 71.0))) == (False, False, True)
    assert tuple(race_decision("epc-rolls", FLAT, GAPPED, (68.5, 73.5))) == (True, False, True)
    assert tuple(race_decision("epc-rolls", FLAT, GAPPED, (68.5, 75.5))) == (True, True, True)
    assert tuple(race_decision("epc-rolls", FLAT, GAPPED, (68.5, 75.75))) == (True, True, False)


def test_penalized_pips_include_counts_of_keith_and_thorp() -> None:
    layouts = np.array([on_roll for on_roll, _ in random_pairs()[:600]], np.int8)
    keith = Penalties(ace=2, ace_spare=1, deuce=1, deuce_spare=1, three=1, three_spare=3, gap=1)
    assert penalized_pips(layouts, keith).tolist() == [reference.keith_count(layout) for layout in layouts.tolist()]
    thorp = Penalties(ace=1, checker=2, point=1)
    assert penalized_pips(layouts, thorp).tolist() == [reference.thorp_count(layout) for layout in layouts.tolist()]
    odd = penalized_pips(layouts, Penalties(odd=3)) - penalized_pips(layouts, Penalties())
    assert odd.tolist() == [3 * (sum(layout) % 2) for layout in layouts.tolist()]


@pytest.mark.parametrize(
    ("rule", "effective_pips", "message"),
    [
        ("found-equal", None, r"^expected a rule of 8-9-12, .*, got 'found-equal'$"),
        ("epc-62", None, "^expected the effective pip counts of both sides for epc-62, got none$"),
        ("epc-62", (70.0,), "^expected the effective pip counts of both sides"),
        ("epc-62", np.array([70.0, 80.0, 90.0]), "^expected the effective pip counts of both sides"),
        ("epc-62", (nan, 80.0), "^expected the effective pip counts of both sides"),
        ("epc-62", [], "^expected the effective pip counts of both sides"),
    ],
)
def test_invalid_rules_and_counts_are_refused(rule: str, effective_pips: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        race_decision(rule, [0, 1, 2, 2, 2, 2], [0, 0, 2, 3, 2, 2], effective_pips)


@pytest.mark.parametrize(
    ("on_roll", "opponent", "message"),
    [
        ([0, 0], [1], "^expected checkers on both sides, got a race that is over$"),
        ([1], [0], "^expected checkers on both sides, got a race that is over$"),
        ([1], [], r"^expected at most 15 checkers on 1 to 18 points, got \[\]$"),
        ([16], [1], r"^expected at most 15 checkers on 1 to 18 points, got \[16\]$"),
        ([2, -1], [1], r"^expected at most 15 checkers on 1 to 18 points, got \[2, -1\]$"),
        ([1.5], [1], r"^expected checkers on each point as integers, got \[1\.5\]$"),
    ],
)
def test_invalid_layouts_are_refused(on_roll: Any, opponent: Any, message: str) -> None:
    with pytest.raises(InvalidPositionError, match=message):
        race_decision("keith", on_roll, opponent)


def test_effective_pips_may_be_an_array() -> None:
    pips: Any = np.array([7.0, 9.0])
    assert race_decision("epc-62", [0, 1], [0, 0, 2], pips) == race_decision("epc-62", [0, 1], [0, 0, 2], (7.0, 9.0))
