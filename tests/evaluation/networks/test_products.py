"""Products of whole numbers as vectors, against NumPy's in 64 bits."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.evaluation.networks.products import LANES, STEP, UNITS, add_products
from bgdata.kernel import kernel


@kernel()
def add(hidden: np.ndarray, weights: np.ndarray, place: int, count: int, sums: np.ndarray, unit: int) -> None:
    """`add_products` for Python."""
    add_products(hidden, weights, place, count, sums, unit)


@pytest.mark.parametrize("count", [1, STEP - 1, STEP, STEP + 1, 3 * STEP, 1024, 1000])
def test_exact_sums(count: int) -> None:
    """Anywhere in the arrays; what no vector of 32 reaches is left out, and nothing else is written."""
    generator = np.random.default_rng(count)
    hidden = generator.integers(-(1 << 15), 1 << 15, (LANES, count + 5)).astype(np.int16)
    weights = generator.integers(-(1 << 15), 1 << 15, 7 + UNITS * count).astype(np.int16)
    sums = generator.integers(-1000, 1000, (LANES, UNITS + 9)).astype(np.int32)
    whole = count - count % STEP
    products = hidden[:, :whole].astype(np.int64) @ weights[7:].reshape(UNITS, count)[:, :whole].T.astype(np.int64)
    expected = sums.copy()
    expected[:, 4 : 4 + UNITS] += products.astype(np.int32)  # beyond 32 bits it starts again, as all sums here do
    add(hidden, weights, 7, count, sums, 4)
    assert sums.tolist() == expected.tolist()
    assert (whole == 0) == (products == 0).all()
