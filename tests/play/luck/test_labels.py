"""Labels less luck: against a twin, by hand, and how much less they scatter."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from bgdata.evaluation.chances import cubeless_equities
from bgdata.play.luck.labels import luck_adjusted_equities
from bgdata.play.rescoring import Labels
from tests.reference.luck import luck_adjusted

WIN, LOSE, LOSE_GAMMON, HALF = [1.0, 0, 0, 0, 0], [0.0, 0, 0, 0, 0], [0.0, 0, 0, 1, 0], [0.5, 0, 0, 0, 0]


def labels_of(outcomes: list[list[float]], rescored: list[list[float]], solved: list[int]) -> Labels:
    return Labels(np.array(outcomes, np.float32), np.array(rescored, np.float32), np.array(solved))


def test_by_hand() -> None:
    """Two games: one that its loser lost by bad luck in the last roll but one, one that a table covers in between."""
    labels = labels_of(
        [LOSE_GAMMON, [1.0, 1, 0, 0, 0], LOSE, WIN, LOSE],
        [LOSE_GAMMON, [1.0, 1, 0, 0, 0], HALF, HALF, [0.25, 0, 0, 0, 0]],
        [-1, -1, 3, 3, 4],
    )
    lucks = np.array([-1.5, 0.25, 0.125, 9, 9], np.float32)
    # the second player won a gammon with a lucky roll of 0.25; the first had lost 1.5 by his own roll
    assert luck_adjusted_equities(labels, np.array([0, 2, 5]), lucks).tolist() == [
        -1.75 + 1.5, 1.75,
        -0.0 - 0.125, 0, -0.5,  # what comes after a position that is covered is no luck of the label's
    ]  # fmt: skip


def test_twin() -> None:
    """Games of all lengths, some covered from somewhere on, some here and there, some never."""
    generator = np.random.default_rng(8)
    lengths = generator.integers(1, 60, 200)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    n = int(offsets[-1])
    covered = generator.random(n) < np.repeat(generator.choice([0, 0.02, 0.5], 200), lengths)
    rescored = np.sort(generator.random((n, 5)).astype(np.float32))[:, ::-1] / 2
    solved = np.full(n, -1)
    outcomes = np.zeros((n, 5), np.float32)
    lucks = generator.normal(0, 0.3, n).astype(np.float32)
    expected: list[float] = []
    for begin, end in pairwise(offsets):
        won = int(generator.integers(2))
        for row in range(begin, end):
            later = [place for place in range(row, end) if covered[place]]
            solved[row] = later[0] if later else -1
            outcomes[row, 0] = won ^ (end - 1 - row) % 2
        known = cubeless_equities(np.ascontiguousarray(rescored[begin:end])).tolist()
        table = [known[row] if covered[begin + row] else None for row in range(end - begin)]
        expected += luck_adjusted(table, lucks[begin:end].tolist(), 2 * won - 1)
    found = luck_adjusted_equities(Labels(outcomes, np.ascontiguousarray(rescored), solved), offsets, lucks)
    assert found.dtype == np.float32
    assert found == pytest.approx(np.array(expected), abs=1e-5)
    some = slice(offsets[7], offsets[9])  # two games alone: to the last bit
    part = Labels(
        outcomes[some], np.ascontiguousarray(rescored[some]), np.where(solved[some] < 0, -1, solved[some] - offsets[7])
    )
    assert np.array_equal(luck_adjusted_equities(part, offsets[7:10] - offsets[7], lucks[some]), found[some])


def test_without_luck_or_turns() -> None:
    labels = labels_of([LOSE, WIN], [HALF, HALF], [1, 1])
    assert np.isnan(luck_adjusted_equities(labels, np.array([0, 2]), np.full(2, np.nan, np.float32))).all()
    nothing = Labels(np.zeros((0, 5), np.float32), np.zeros((0, 5), np.float32), np.zeros(0, np.int64))
    assert luck_adjusted_equities(nothing, np.zeros(1, np.int64), np.zeros(0, np.float32)).shape == (0,)
