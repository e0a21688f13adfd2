"""Pieces of instructions in vectors, in one that adds a number to some items of an array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from bgdata.kernel import kernel
from bgdata.vectors import splat, unpack, vector_at

LANES = 8


@intrinsic
def _add_to_lanes(_context: Any, items: Any, _first: Any, _more: Any) -> Any:
    """items[first + lane] += more."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        items_, first, more = unpack(context, builder, signature, arguments)
        wide = ir.VectorType(ir.IntType(32), LANES)
        address = vector_at(builder, items_, first, wide.element, LANES)
        builder.store(builder.add(builder.load(address, align=4), splat(builder, more, wide)), address, align=4)
        return context.get_dummy_value()

    return types.void(items, types.intp, types.int32), emit


add_to_lanes: Any = _add_to_lanes


@kernel()
def added(items: NDArray[np.int32], first: int, more: np.int32) -> None:
    """The same for Python."""
    add_to_lanes(items, first, more)


@pytest.mark.parametrize("first", [0, 1, 5, 12])
def test_a_vector_begins_anywhere(first: int) -> None:
    items = np.arange(20, dtype=np.int32)
    expected = items + 7 * ((items >= first) & (items < first + LANES))
    added(items, first, np.int32(7))
    assert items.tolist() == expected.tolist()
