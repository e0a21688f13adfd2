"""Building blocks of vector instructions that kernels pass to LLVM: see `numba.extending.intrinsic`.

Arrays of such instructions are contiguous, and vectors may begin at any item.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

_WORD = ir.IntType(32)


def unpack(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """The arguments of an instruction as LLVM values. An array becomes a structure that contains a pointer to its
    data."""
    return [
        context.make_array(kind)(context, builder, value) if isinstance(kind, types.Array) else value
        for kind, value in zip(signature.args, arguments, strict=True)
    ]


def vector_at(builder: Any, array: Any, item: Any, kind: Any, lanes: int) -> Any:
    """A pointer to the vector of `lanes` values, of the LLVM type `kind`, that begins at index `item` of an array."""
    return builder.bitcast(builder.gep(array.data, [item]), ir.VectorType(kind, lanes).as_pointer())


def splat(builder: Any, value: Any, kind: Any) -> Any:
    """A vector of the LLVM type `kind` that has the same value in each lane."""
    one = builder.insert_element(kind(ir.Undefined), value, _WORD(0))
    return builder.shuffle_vector(one, one, ir.VectorType(_WORD, kind.count)([0] * kind.count))
