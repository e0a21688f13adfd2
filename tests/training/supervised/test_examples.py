"""Cross-entropy against `math.log`, position by position."""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.evaluation.chances import Chances
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import encode, input_count
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards
from bgdata.training.supervised.examples import cross_entropies, fill_dense, natural_logarithms, read_examples
from tests.random_games import random_game_positions
from tests.reference.networks import inputs
from tests.reference.supervised import cross_entropy


class Files(NamedTuple):
    """A feed that gives these batches in order, like files of one class each."""

    batches: list[Batch]

    @property
    def row_count(self) -> int:
        return sum(len(batch.boards) for batch in self.batches)

    @property
    def class_counts(self) -> NDArray[np.int64]:
        return np.bincount(np.concatenate([batch.classes for batch in self.batches]))

    def __len__(self) -> int:
        return len(self.batches)

    def batch(self, _epoch: int, number: int) -> Batch:
        return self.batches[number]


class Batch(NamedTuple):
    """A batch of positions that are all of one class."""

    boards: Boards
    targets: Chances
    classes: NDArray[np.uint8]


def test_first_examples_include_later_classes() -> None:
    """With `of_each`, every network gets examples, even if the first batches contain no positions of its class."""
    order = (
        PositionClass.RACE,
        PositionClass.CONTACT,
        PositionClass.RACE,
        PositionClass.CRASHED,
        PositionClass.CRASHED,
    )
    boards = random_game_positions(1, seed=3).boards[:10]
    batches = [Batch(boards, np.zeros((10, 5), np.float32), np.full(10, each, np.uint8)) for each in order]

    def counts(count: int, most: int, *, of_each: bool) -> list[int]:
        return [len(part.boards) for part in read_examples(Files(batches[:count]), most, of_each=of_each)]

    assert counts(5, 1, of_each=False) == [10, 0, 0]
    assert counts(5, 1, of_each=True) == [10, 10, 10]  # race, crashed, contact
    assert counts(5, 15, of_each=True) == [10, 10, 10]
    assert counts(5, 45, of_each=True) == [20, 20, 10]
    assert counts(3, 1, of_each=True) == [10, 0, 10]  # there is no crashed position


def test_natural_logarithms_are_accurate() -> None:
    values = np.concatenate([np.random.default_rng(1).random(5000), 2.0 ** np.arange(-40, 3), [0.70710678118, 1.0]])
    assert natural_logarithms(values).tolist() == pytest.approx([log(value) for value in values], rel=1e-14, abs=1e-16)


def test_cross_entropies_equal_plain_python() -> None:
    boards = random_game_positions(40, seed=3).boards
    generator = np.random.default_rng(2)
    chances, targets = generator.random((2, len(boards), 5), np.float32)
    chances[::7] = np.round(chances[::7])  # chances of 0 and 1, often wrong
    expected = [cross_entropy(*rows) for rows in zip(boards.tolist(), chances.tolist(), targets.tolist(), strict=True)]
    assert cross_entropies(boards, chances, targets).tolist() == pytest.approx(expected, rel=1e-6)
    assert max(expected) > 20


@pytest.mark.parametrize("input_set", list(InputSet))
def test_dense_inputs_equal_the_input_set(input_set: InputSet) -> None:
    boards = random_game_positions(40, seed=12).boards
    assert len(boards) > 2000
    dense = np.full((len(boards), input_count(input_set)), np.nan, np.float32)
    fill_dense(int(input_set), boards, dense)
    assert np.array_equal(dense * 64, encode(input_set, boards))
    for row in range(0, len(boards), 97):
        assert (dense[row] * 64).tolist() == inputs(input_set.label, boards[row].tolist())
