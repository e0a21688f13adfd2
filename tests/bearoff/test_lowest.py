"""The lowest of some rows in each lane, against NumPy."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.bearoff.lowest import TILE, subtract_rolls


@pytest.mark.parametrize(("cell", "total"), [(np.float32, np.float32), (np.float64, np.float64), (np.int16, np.int32)])
@pytest.mark.parametrize("columns", [1, 3, 4])
def test_subtract_rolls_matches_numpy(cell: type, total: type, columns: int) -> None:
    """Totals are minus the weighted sum of the lowest reached cells, lane by lane, as NumPy computes them."""
    generator = np.random.default_rng(columns)
    rows, rolls = 90, 21
    cells: NDArray[Any] = generator.integers(-32768, 32768, (rows, columns, TILE)).astype(cell)
    weights: NDArray[Any] = generator.integers(1, 3, rolls).astype(total)
    play_start = np.concatenate([[0], np.cumsum(generator.integers(1, 9, 2 * rolls))])
    results = generator.integers(0, rows, play_start[-1]).astype(np.int32)
    totals: NDArray[Any] = np.full((columns, TILE), 7, total)
    subtract_rolls(totals.reshape(-1), weights, cells.reshape(-1), 0, columns, results, play_start, rolls)
    expected: NDArray[Any] = np.zeros((columns, TILE), total)
    for roll in range(rolls):
        reached = results[play_start[rolls + roll] : play_start[rolls + roll + 1]]
        expected -= weights[roll] * cells[reached].min(axis=0).astype(total)
    assert (totals == expected).all()
