"""Products of whole numbers for six plays and two units at a time, as vectors of the processor.

A later layer of one play reads every weight for one product; the weights of a large layer do not fit into the fastest
cache, and reading them is most of the work. Six plays together read them once, and two units read each hidden unit
once. The sums are exact in any order, so this changes no bit. Numba's loops over arrays do not become such code: it is
given to LLVM as vectors of 32 numbers, which it turns into what a processor has, such as VPMADDWD or VPDPWSSD.
"""

from __future__ import annotations

from typing import Any

import numba.core.cgutils
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

LANES, UNITS = 6, 2  # plays and units that are computed together
STEP = 32  # numbers of a vector
cgutils: Any = numba.core.cgutils
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_NUMBERS, _WIDE = ir.VectorType(ir.IntType(16), STEP), ir.VectorType(_I32, STEP)
_HALF = ir.VectorType(_I32, STEP // 2)
_EVEN, _ODD = (ir.Constant(_HALF, list(range(first, STEP, 2))) for first in (0, 1))


@intrinsic
def _add_products(_context: Any, hidden: Any, weights: Any, _place: Any, _count: Any, sums: Any, _unit: Any) -> Any:
    """add_products(hidden, weights, place, count, sums, unit), in a kernel: fills int32 sums[0:6, unit:unit + 2] with
    themselves plus the sums over k < count of int16 hidden[lane, k] * weights[place + i * count + k], i being 0 for the
    first of these units; less those of the last count % 32 of k. All arrays are contiguous."""
    signature = types.void(hidden, weights, types.intp, types.intp, sums, types.intp)
    return signature, _generate


add_products: Any = _add_products


def _generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    hidden, weights, place, count, sums, unit = values
    hidden, weights, sums = (
        context.make_array(signature.args[at])(context, builder, value)
        for at, value in ((0, hidden), (1, weights), (4, sums))
    )
    most, units = (cgutils.unpack_tuple(builder, array.shape)[1] for array in (hidden, sums))
    totals = [
        [cgutils.alloca_once_value(builder, ir.Constant(_HALF, None)) for _ in range(UNITS)] for _ in range(LANES)
    ]
    whole = builder.sub(count, builder.srem(count, _number(STEP)))
    with cgutils.for_range_slice(builder, _number(0), whole, _number(STEP), intp=_I64) as (start, _):
        lanes = [_numbers(builder, hidden, builder.mul(most, _number(lane)), start) for lane in range(LANES)]
        for row in range(UNITS):
            first = builder.add(place, builder.mul(count, _number(row)))
            factors = _numbers(builder, weights, first, start)
            for lane in range(LANES):
                products = builder.mul(lanes[lane], factors)
                halves = (builder.shuffle_vector(products, products, which) for which in (_EVEN, _ODD))
                total = totals[lane][row]
                builder.store(builder.add(builder.load(total), builder.add(*halves)), total)
    add_up = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(_I32, [_HALF]), f"llvm.vector.reduce.add.v{STEP // 2}i32"
    )
    for lane in range(LANES):
        for row in range(UNITS):
            at = builder.add(builder.add(builder.mul(units, _number(lane)), unit), _number(row))
            address = builder.gep(sums.data, [at])
            found = builder.call(add_up, [builder.load(totals[lane][row])])
            builder.store(builder.add(builder.load(address), found), address)
    return context.get_dummy_value()


def _number(value: int) -> Any:
    return ir.Constant(_I64, value)


def _numbers(builder: Any, array: Any, first: Any, start: Any) -> Any:
    """STEP numbers of an int16 array from first + start on, as int32."""
    address = builder.bitcast(builder.gep(array.data, [builder.add(first, start)]), _NUMBERS.as_pointer())
    found = builder.load(address)
    found.align = 2
    return builder.sext(found, _WIDE)
