"""Plays in rounds: who goes on has its own next games; differences of plays that have unlike many."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.game.position import START
from bgdata.play.rollout import Limits, RolloutSettings, Values, rolled_blocks
from bgdata.play.rollout_kernels import BLOCK
from bgdata.play.rounds import blocks_while_open, difference_error
from tests.evaluation.sample_networks import pips_player

SHORT = RolloutSettings("end", 4)


@cache
def opening_plays() -> Boards:
    return flip_boards(batch_plays(np.array([START.board], np.int8), np.array([[3, 1]], np.int8))[1])[:2]


def rolled(open_after: list[list[bool]], limits: Limits) -> tuple[list[Values], list[list[int]]]:
    """The blocks of two plays that are open after each round as given, and how many each had then."""
    answers, seen = iter(open_after), list[list[int]]()

    def still_open(blocks: list[Values]) -> NDArray[np.bool_]:
        seen.append([len(each) for each in blocks])
        return np.array(next(answers))

    return blocks_while_open(opening_plays(), pips_player().chooser, SHORT, limits, 5, 3, still_open), seen


def test_one_that_was_out_goes_on_where_it_stopped() -> None:
    limits = Limits(2 * BLOCK, 1e-9, 12 * BLOCK)
    blocks, seen = rolled([[True, False], [True, True], [False, True], [False, False]], limits)
    assert seen == [[2, 2], [4, 2], [6, 4], [6, 6]]
    expected = rolled_blocks(
        opening_plays(), pips_player().chooser, 5, SHORT, Limits(6 * BLOCK), np.full(2, 3), np.zeros(2, np.int64)
    )
    for found, others in zip(blocks, expected, strict=True):
        assert np.array_equal(found, others)


def test_nobody_has_more_than_the_most() -> None:
    _, seen = rolled([[True, False], [True, True], [True, True]], Limits(2 * BLOCK, 1e-9, 4 * BLOCK))
    assert seen == [[2, 2], [4, 2], [4, 4]]
    _, seen = rolled([[True, True]], Limits(2 * BLOCK))
    assert seen == [[2, 2]]


def test_wrong_limits() -> None:
    with pytest.raises(UsageError, match="expected a multiple of 36 trials"):
        rolled([], Limits(50))


def test_error_of_a_difference() -> None:
    """Against many draws of pairs that share much, where one side has more than the other."""
    generator = np.random.default_rng(1)
    n, m, draws = 30, 12, 4000
    shared = generator.normal(size=(draws, n))
    first, second = shared + 0.5 * generator.normal(size=(draws, n)), shared + 0.5 * generator.normal(size=(draws, n))
    second = second[:, :m]
    spread = (first.mean(axis=1) - second.mean(axis=1)).std()
    stated = [difference_error(*pair) for pair in zip(first[:300], second[:300], strict=True)]
    assert np.sqrt(np.mean(np.square(stated))) == pytest.approx(spread, rel=0.05)
    assert difference_error(second[0], first[0]) == pytest.approx(difference_error(first[0], second[0]))
    same = first[0] - first[1]
    assert difference_error(first[0], first[1]) == pytest.approx(same.std(ddof=1) / np.sqrt(n))
