"""Helpers for intrinsics with vector instructions, which kernels call: see `numba.extending.intrinsic`.

The arrays must be contiguous; a vector may begin at any item.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

_WORD = ir.IntType(32)


def unpack(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """Return the arguments of an intrinsic as LLVM values. An array becomes a structure with a pointer to its data."""
    return [
        context.make_array(kind)(context, builder, value) if isinstance(kind, types.Array) else value
        for kind, value in zip(signature.args, arguments, strict=True)
    ]


def vector_at(builder: Any, array: Any, item: Any, kind: Any, lanes: int) -> Any:
    """Return a pointer to a vector of `lanes` values of the LLVM type `kind`, which begins at index `item` of an
    array."""
    return builder.bitcast(builder.gep(array.data, [item]), ir.VectorType(kind, lanes).as_pointer())


def splat(builder: Any, value: Any, kind: Any) -> Any:
    """Return a vector that has `value` in each of its lanes. `kind` is the LLVM type of the vector."""
    one = builder.insert_element(kind(ir.Undefined), value, _WORD(0))
    return builder.shuffle_vector(one, one, ir.VectorType(_WORD, kind.count)([0] * kind.count))
