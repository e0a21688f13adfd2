"""The rules for five chances, each broken once, and against their twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bgdata.formats import chance_rules as rules
from bgdata.formats.chance_rules import NOISY, ROUNDED, Tolerance, chance_flaws
from bgdata.game.position import START, Position
from tests.game.strategies import boards
from tests.reference.text_rows import breaks_chance_rules
from tests.together import each

chances = st.lists(
    st.sampled_from([-0.06, -0.0002, 0.0, 1e-5, 2e-5, 0.04, 0.3, 0.5, 0.7, 1.0, 1.01]), min_size=5, max_size=5
)
OFF = Position((*START.board[:24], 1, 0))  # one checker fewer on the side on roll


@each(
    ("values", "flaw"),
    [
        ([0.5, 0.2, 0.1, 0.2, 0.1], 0),
        ([0.5, 0.50001, 0.50002, 0.50001, 0.50002], 0),
        ([1, 1, 1, 0, 0], 0),
        ([-0.00001, 0, 0, 0, 0], rules.RANGE),
        ([1.00001, 0, 0, 0, 0], rules.RANGE),
        ([0.5, np.nan, 0, 0, 0], rules.RANGE),
        ([0.5, 0.50002, 0, 0, 0], rules.WIN_GAMMON),
        ([0.5, 0.1, 0.10002, 0, 0], rules.WIN_BACKGAMMON),
        ([0.5, 0, 0, 0.50002, 0], rules.LOSE_GAMMON),
        ([0.5, 0, 0, 0.1, 0.10002], rules.LOSE_BACKGAMMON),
    ],
)
def test_each_rule(values: list[float], flaw: int) -> None:
    assert chance_flaws(np.array([START.board], np.int8), np.array([values]), ROUNDED).tolist() == [flaw]


def test_no_gammon_against_a_side_with_a_checker_off() -> None:
    position = np.array([OFF.board, OFF.flip().board], np.int8)
    lost = np.array([[0.5, 0, 0, 0.00002, 0]] * 2)
    won = np.array([[0.5, 0.00002, 0, 0, 0]] * 2)
    assert OFF.off == 1
    assert chance_flaws(position, lost, ROUNDED).tolist() == [rules.OFF, 0]
    assert chance_flaws(position, won, ROUNDED).tolist() == [0, rules.OPPONENT_OFF]
    assert not chance_flaws(position, lost / 2, ROUNDED).any()


@given(st.lists(st.tuples(boards(), chances), min_size=1, max_size=20), st.sampled_from([ROUNDED, NOISY]))
def test_the_kernel_equals_its_twin(rows: list[tuple[list[int], list[float]]], limits: Tolerance) -> None:
    flaws = chance_flaws(np.array([row[0] for row in rows], np.int8), np.array([row[1] for row in rows]), limits)
    for (board, values), flaw in zip(rows, flaws, strict=True):
        assert bool(flaw) == breaks_chance_rules(tuple(board), values, limits.range, limits.order)
