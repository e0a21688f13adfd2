"""Cross-entropy against `math.log`, position by position."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from bgdata.play.random_games import random_game_positions
from bgdata.training.supervised.examples import cross_entropies, natural_logarithms
from tests.reference.supervised import cross_entropy


def test_logarithms() -> None:
    values = np.concatenate([np.random.default_rng(1).random(5000), 2.0 ** np.arange(-40, 3), [0.70710678118, 1.0]])
    assert natural_logarithms(values).tolist() == pytest.approx([log(value) for value in values], rel=1e-14, abs=1e-16)


def test_cross_entropies() -> None:
    boards = random_game_positions(40, seed=3).boards
    generator = np.random.default_rng(2)
    chances, targets = generator.random((2, len(boards), 5), np.float32)
    chances[::7] = np.round(chances[::7])  # certain, and often wrong
    expected = [cross_entropy(*rows) for rows in zip(boards.tolist(), chances.tolist(), targets.tolist(), strict=True)]
    assert cross_entropies(boards, chances, targets).tolist() == pytest.approx(expected, rel=1e-6)
    assert max(expected) > 20
