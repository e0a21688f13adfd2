"""Texts in arrays: as written, and never from memory that is not theirs."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.errors import CorruptFileError
from bgdata.kinds.column_values import text_arrays, text_column

TEXTS = ["a", "", "Grüße", "b"]


def test_texts_come_back() -> None:
    assert text_column(text_arrays("x", TEXTS), "x").to_pylist() == TEXTS
    assert text_column(text_arrays("x", []), "x").to_pylist() == []


@pytest.mark.parametrize("ends", [[1, 1, 8, 10], [1, 0, 8, 9], [1, 1, 1 << 40, 9], [-1, 1, 8, 9], [1, 1, 4, 9]])
def test_arrays_that_hold_no_texts(ends: list[int]) -> None:
    """Beyond the letters, descending, and in the middle of a letter of two bytes."""
    arrays = text_arrays("x", TEXTS) | {"x_ends": np.array(ends)}
    with pytest.raises(CorruptFileError, match=r"^expected texts in x\.npy, one up to each of x_ends, found: "):
        text_column(arrays, "x")
