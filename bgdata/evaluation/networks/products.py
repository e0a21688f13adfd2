"""Integer products as processor vectors: the loops in which networks spend their time.

Sums are exact in any order, so vectors give the same result, bit for bit. Numba does not compile loops over arrays to
such code, so vectors of 32 numbers are passed to LLVM directly. Pairs of products are added by the instruction
VPMADDWD, or by VPDPWSSD, which also adds them to a sum.

`copy_points` copies the inputs of the points, and `weigh_points` sums over the checkers of a side. `count_changes`
counts and `collect_changes` collects changed inputs. `add_rows` adds the weights of these inputs to the sums of the
first layer, which stay in registers. The other functions are for later layers. Most rectified units are 0, and mostly
the same units after all plays of a position. `gather_active` collects the units that are not 0 in some lane, and
`add_products_6` adds their products to the sums of a later layer, which stay in registers too. Each weight is read once
for six plays.
"""

from __future__ import annotations

import functools
from typing import Any

import llvmlite.binding
import numba.core.cgutils
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from bgdata.kernel import config, read_only
from bgdata.vectors import splat, unpack, vector_at

LANES = 6  # number of boards that are computed together
STEP = 32  # number of numbers in a vector
SUMS = STEP // 2  # number of sums of units in one vector
cgutils: Any = numba.core.cgutils
_I16, _I32, _I64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)
_NUMBERS, _WIDE = ir.VectorType(_I16, STEP), ir.VectorType(_I32, STEP)
_HALF, _EIGHT = ir.VectorType(_I32, SUMS), ir.VectorType(_I16, 8)
_EVEN, _ODD = (ir.Constant(_HALF, list(range(first, STEP, 2))) for first in (0, 1))
# vectors interleave the lower and upper four of every eight numbers of two rows, as processors do; and the inverse
# order
_FOURS = [[8 * eight + half + item for eight in range(4) for item in range(4)] for half in (0, 4)]
_IN_TURN = [ir.Constant(_WIDE, [place + row for place in fours for row in (0, STEP)]) for fours in _FOURS]
_ORDER = [(_FOURS[0] + _FOURS[1]).index(number) for number in range(STEP)]
_IN_ORDER = [ir.Constant(_HALF, _ORDER[begin : begin + SUMS]) for begin in (0, SUMS)]
UNITS = read_only(np.array(_ORDER, np.int64))  # [place] the unit of 32 whose weight `add_products_6` reads there
# by processor feature: the instruction that adds neighbouring products, and its number of products
_PAIRS = {
    "avx512bw": ("llvm.x86.avx512.pmaddw.d.512", 32),
    "avx2": ("llvm.x86.avx2.pmadd.wd", 16),
    "sse2": ("llvm.x86.sse2.pmadd.wd", 8),
}
llvmlite.binding.initialize_native_asmparser()


@intrinsic
def _copy_points(_context: Any, of_count: Any, board: Any, inputs: Any) -> Any:
    """copy_points(of_count, board, inputs), in a kernel: for each point p from 1 to 24 of an int8[26] board, copies the
    eight int16 numbers of_count[board[p] + 15, 0:8] to inputs[8 * (p - 1):8 * p]. All arrays are contiguous. Numba's
    loop would check at each point whether the arrays overlap."""
    return types.void(of_count, board, inputs), _generate_points


@intrinsic
def _weigh_points(_context: Any, board: Any, _side: Any, weights: Any, _row: Any) -> Any:
    """weigh_points(board, side, weights, row), in a kernel: returns the sum over the points p from 1 to 24 of max(side
    * board[p], 0) * weights[row, p], where board is int8[26], side is 1 or -1, and weights are int16[rows, 25]. The sum
    must fit int16. Both arrays are contiguous. Numba's loop would go point by point."""
    return types.intp(board, types.intp, weights, types.intp), _generate_weighed


@intrinsic
def _count_changes(_context: Any, inputs: Any, _row: Any, _other: Any, _begin: Any, _end: Any) -> Any:
    """count_changes(inputs, row, other, begin, end), in a kernel: returns in how many of the items begin to end - 1 the
    rows inputs[row] and inputs[other] differ. The int16 array is contiguous, with room for whole vectors from `begin`
    on."""
    return types.intp(inputs, *[types.intp] * 4), _generate_count


@intrinsic
def _collect_changes(_context: Any, before: Any, after: Any, _count: Any, rows: Any, changes: Any) -> Any:
    """collect_changes(before, after, count, rows, changes), in a kernel: finds the items below `count` in which int16
    `after` differs from `before`, and returns their number n. Fills int16 rows[0:n] with these items, and changes[0:n]
    with the differences; rows[n] and changes[n] become 0. All arrays are contiguous. The first two have room for
    `count` rounded up to whole vectors, the others for one vector more."""
    return types.intp(before, after, types.intp, rows, changes), _generate_changes


@intrinsic
def _add_rows(_context: Any, weights: Any, rows: Any, values: Any, _n: Any, before: Any, sums: Any) -> Any:
    """add_rows(weights, rows, values, n, before, sums), in a kernel: fills int32 sums[unit] with before[unit] plus the
    sum of values[i] * weights[rows[i] * len(sums) + unit] over i < n, except the last len(sums) % 32 units. n is even.
    Weights, rows and values are int16. All arrays are contiguous."""
    return types.void(weights, rows, values, types.intp, before, sums), _generate_rows


@intrinsic
def _gather_active(_context: Any, hidden: Any, _count: Any, active: Any, gathered: Any) -> Any:
    """gather_active(hidden, count, active, gathered), in a kernel: finds the units below `count` that are not 0 in at
    least one lane, and returns their number m. Fills int16 active[0:m] with these units, and gathered[lane, 0:m] with
    their values int16 hidden[lane, active[i]]. The units may include others; at least one more place of both arrays is
    0. Both have room for `count` rounded up to whole vectors, and one vector more."""
    return types.intp(hidden, types.intp, active, gathered), _generate_gathered


def make_add_products(lanes: int) -> Any:
    """Make the intrinsic function `add_products` for this number of lanes."""

    @intrinsic
    def add_products(
        _context: Any, weights: Any, _place: Any, _units: Any, active: Any, gathered: Any, _m: Any, sums: Any
    ) -> Any:
        """add_products(weights, place, units, active, gathered, m, sums), in a kernel: adds to int32 sums[lane, unit],
        for `lanes` lanes and `units` units, the sum of gathered[lane, i] * weights[place + active[i] * width + p] over
        i < m. Here `width` is `units` rounded up to whole vectors, and p is the place of the unit in UNITS. Sums up to
        `width` are overwritten. All arrays are contiguous, and zeros follow the first m, as `gather_active` leaves
        them."""
        arguments = weights, types.intp, types.intp, active, gathered, types.intp, sums
        return types.void(*arguments), functools.partial(_generate_products, lanes)

    return add_products


@intrinsic
def _shift_down(_context: Any, numbers: Any, _shift: Any, _most: Any, shifted: Any) -> Any:
    """shift_down(numbers, shift, most, shifted), in a kernel: fills int16 shifted[i] with int32 numbers[i] / 2^shift,
    rounded to the nearest integer and limited to 0 to `most`, except the last len(numbers) % 32. Both arrays are
    contiguous. Numba's loop would shift in 64 bits, which takes three times as long."""
    return types.void(numbers, types.int32, types.int32, shifted), _generate_shifted


copy_points: Any = _copy_points
weigh_points: Any = _weigh_points
count_changes: Any = _count_changes
collect_changes: Any = _collect_changes
add_rows: Any = _add_rows
shift_down: Any = _shift_down
gather_active: Any = _gather_active
add_products_1, add_products_6 = map(make_add_products, (1, LANES))


def _generate_points(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    of_count, board, inputs = unpack(context, builder, signature, values)
    for point in range(1, 25):
        count = builder.sext(_item(builder, board, _number(0), point), _I64)
        row = builder.mul(builder.add(count, _number(15)), _number(8))
        _store(builder, inputs, _number(8 * (point - 1)), _numbers(builder, of_count, row, _number(0), _EIGHT))
    return context.get_dummy_value()


def _generate_weighed(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    board, side, weights, row = unpack(context, builder, signature, values)
    side, first = builder.trunc(side, _I16), builder.mul(row, _number(25))
    sums = []
    for begin, points in ((1, 16), (17, 8)):
        kind = ir.VectorType(_I16, points)
        checkers = _numbers(builder, board, _number(begin), _number(0), ir.VectorType(ir.IntType(8), points))
        checkers = builder.mul(builder.sext(checkers, kind), splat(builder, side, kind))
        zeros = ir.Constant(kind, None)
        checkers = builder.select(builder.icmp_signed(">", checkers, zeros), checkers, zeros)
        weighed = builder.mul(checkers, _numbers(builder, weights, first, _number(begin), kind))
        sums.append(_sum_of(builder, weighed))
    return builder.sext(builder.add(*sums), _I64)


def _generate_count(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    inputs, *rows, begin, end = unpack(context, builder, signature, values)
    room = cgutils.unpack_tuple(builder, inputs.shape)[1]
    firsts = [builder.mul(room, row) for row in rows]
    found = cgutils.alloca_once(builder, _I64)
    builder.store(_number(0), found)
    with cgutils.for_range_slice(builder, begin, end, _number(STEP), intp=_I64) as (start, _):
        differs = builder.icmp_unsigned("!=", *(_numbers(builder, inputs, first, start) for first in firsts))
        differs = builder.and_(differs, _is_left(builder, start, end))
        builder.store(builder.add(builder.load(found), _bits(builder, differs)), found)
    return builder.load(found)


def _generate_changes(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    before, after, count, rows, changes = unpack(context, builder, signature, values)
    found = cgutils.alloca_once_value(builder, _number(0))
    if _has("avx512vbmi2"):
        _collect_vectors(builder, before, after, count, (rows, changes), found)
    else:
        _collect_items(builder, before, after, count, (rows, changes), found)
    for array in (rows, changes):
        builder.store(_I16(0), builder.gep(array.data, [builder.load(found)]))
    return builder.load(found)


def _collect_vectors(builder: Any, before: Any, after: Any, count: Any, into: tuple[Any, Any], found: Any) -> None:
    """Generate the loop of `collect_changes` that takes 32 items at a time."""
    with cgutils.for_range_slice(builder, _number(0), count, _number(STEP), intp=_I64) as (start, _):
        change = builder.sub(*(_numbers(builder, array, start, _number(0)) for array in (after, before)))
        is_changed = builder.icmp_unsigned("!=", change, ir.Constant(_NUMBERS, None))
        is_changed = builder.and_(is_changed, _is_left(builder, start, count))
        at = builder.load(found)
        for array, vector in zip(into, (_numbers_from(builder, start), change), strict=True):
            _store(builder, array, at, _compress(builder, vector, is_changed))
        builder.store(builder.add(at, _bits(builder, is_changed)), found)


def _collect_items(builder: Any, before: Any, after: Any, count: Any, into: tuple[Any, Any], found: Any) -> None:
    """Generate the loop of `collect_changes` that takes one item at a time, without a branch."""
    with cgutils.for_range(builder, count, intp=_I64) as loop:
        change = builder.sub(*(_item(builder, array, loop.index, 0) for array in (after, before)))
        at = builder.load(found)
        for array, value in zip(into, (builder.trunc(loop.index, _I16), change), strict=True):
            builder.store(value, builder.gep(array.data, [at]))
        is_changed = builder.zext(builder.icmp_unsigned("!=", change, _I16(0)), _I64)
        builder.store(builder.add(at, is_changed), found)


def _generate_rows(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    weights, rows, factors, n, before, sums = unpack(context, builder, signature, values)
    (count,) = cgutils.unpack_tuple(builder, sums.shape)

    def add_block(start: Any, vectors: int) -> None:
        """Generate code that computes the sums of `vectors` vectors of units, from unit `start` on."""
        totals = [[_new_total(builder) for _ in _IN_TURN] for _ in range(vectors)]
        with cgutils.for_range_slice(builder, _number(0), n, _number(2), intp=_I64) as (item, _):
            pair_of_rows = [builder.sext(_item(builder, rows, item, row), _I64) for row in (0, 1)]
            firsts = [builder.add(builder.mul(count, row), start) for row in pair_of_rows]
            numbers = _pairs_of_items(builder, factors, item)
            for place, halves in enumerate(totals):
                pair = [_numbers(builder, weights, first, _number(place * STEP)) for first in firsts]
                for total, in_turn in zip(halves, _IN_TURN, strict=True):
                    mixed = builder.shuffle_vector(*pair, in_turn)
                    builder.store(_plus_products(builder, builder.load(total), mixed, numbers), total)
        for place, halves in enumerate(totals):
            found = [builder.load(total) for total in halves]
            for half, in_order in enumerate(_IN_ORDER):
                at = builder.add(start, _number(place * STEP + half * STEP // 2))
                more = builder.shuffle_vector(*found, in_order)
                _store(builder, sums, at, builder.add(_numbers(builder, before, at, _number(0), _HALF), more))

    together = _most_vectors()
    blocks = builder.sub(count, builder.srem(count, _number(together * STEP)))
    with cgutils.for_range_slice(builder, _number(0), blocks, _number(together * STEP), intp=_I64) as (start, _):
        add_block(start, together)
    with cgutils.for_range_slice(builder, blocks, _whole(builder, count), _number(STEP), intp=_I64) as (start, _):
        add_block(start, 1)
    return context.get_dummy_value()


def _generate_shifted(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    numbers, shift, most, shifted = unpack(context, builder, signature, values)
    shift, most = (splat(builder, each, _HALF) for each in (shift, most))
    zeros, ones = (ir.Constant(_HALF, [value] * SUMS) for value in (0, 1))
    half, most = builder.shl(ones, builder.sub(shift, ones)), builder.shl(most, shift)
    (count,) = cgutils.unpack_tuple(builder, numbers.shape)
    with cgutils.for_range_slice(builder, _number(0), _whole(builder, count), _number(SUMS), intp=_I64) as (start, _):
        found = _numbers(builder, numbers, start, _number(0), _HALF)
        for limit, sign in ((zeros, ">"), (most, "<")):  # before half is added, which might overflow 32 bits
            found = builder.select(builder.icmp_signed(sign, found, limit), found, limit)
        found = builder.ashr(builder.add(found, half), shift)
        _store(builder, shifted, start, builder.trunc(found, ir.VectorType(_I16, SUMS)))
    return context.get_dummy_value()


def _generate_gathered(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    hidden, count, active, gathered = unpack(context, builder, signature, values)
    lanes = range(LANES)
    most, room = (cgutils.unpack_tuple(builder, array.shape)[1] for array in (hidden, gathered))
    found = cgutils.alloca_once(builder, _I64)
    builder.store(_number(0), found)
    zeros = ir.Constant(_NUMBERS, None)

    def fill(vectors: list[Any]) -> None:
        """Generate code that stores the next vectors of units, and their values in each lane."""
        at = builder.load(found)
        places = [at, *(builder.add(builder.mul(room, _number(lane)), at) for lane in lanes)]
        for array, place, vector in zip([active] + [gathered] * LANES, places, vectors, strict=True):
            _store(builder, array, place, vector)

    with cgutils.for_range_slice(builder, _number(0), count, _number(STEP), intp=_I64) as (start, _):
        units = [_numbers(builder, hidden, builder.mul(most, _number(lane)), start) for lane in lanes]
        is_active = _is_left(builder, start, count)
        if _has("avx512vbmi2"):
            any_lane = functools.reduce(builder.or_, units)
            is_active = builder.and_(is_active, builder.icmp_unsigned("!=", any_lane, zeros))
        fill([_compress(builder, vector, is_active) for vector in (_numbers_from(builder, start), *units)])
        builder.store(builder.add(builder.load(found), _bits(builder, is_active)), found)
    fill([zeros] * (1 + LANES))
    return builder.load(found)


def _numbers_from(builder: Any, start: Any) -> Any:
    """Generate the numbers start, start + 1, and so on, as int16[32]."""
    return builder.add(ir.Constant(_NUMBERS, list(range(STEP))), splat(builder, builder.trunc(start, _I16), _NUMBERS))


def _is_left(builder: Any, start: Any, count: Any) -> Any:
    """Generate 32 conditions for the items from `start` on: whether the item is below `count`."""
    left = splat(builder, builder.trunc(builder.sub(count, start), _I16), _NUMBERS)
    return builder.icmp_signed("<", ir.Constant(_NUMBERS, list(range(STEP))), left)


def _bits(builder: Any, mask: Any) -> Any:
    """The number of true conditions in a mask of 32."""
    return builder.zext(builder.ctpop(builder.bitcast(mask, _I32)), _I64)


def _pairs_of_items(builder: Any, array: Any, item: Any) -> Any:
    """Load array[item] and array[item + 1] of an int16 array, repeated 16 times, as int16[32]."""
    address = builder.bitcast(builder.gep(array.data, [item]), _I32.as_pointer())
    return builder.bitcast(splat(builder, builder.load(address, align=2), _HALF), _NUMBERS)


def _compress(builder: Any, vector: Any, is_active: Any) -> Any:
    """Generate code that moves the numbers of a vector where `is_active` is true to the front, followed by zeros, as
    int16[32]. If the processor lacks AVX-512 VBMI2, the other numbers are only set to zero, so the active numbers must
    already be in front."""
    zeros = ir.Constant(_NUMBERS, None)
    if not _has("avx512vbmi2"):
        return builder.select(is_active, vector, zeros)
    kind = ir.FunctionType(_NUMBERS, [_NUMBERS, is_active.type, _NUMBERS])
    name = f"llvm.experimental.vector.compress.v{STEP}i16"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [vector, is_active, zeros])


def _generate_products(lanes: int, context: Any, builder: Any, signature: Any, values: Any) -> Any:
    weights, place, units, active, gathered, m, sums = unpack(context, builder, signature, values)
    room, most = (cgutils.unpack_tuple(builder, array.shape)[1] for array in (gathered, sums))
    width = _rounded_up(builder, units, STEP)
    vectors = builder.sdiv(_rounded_up(builder, units, SUMS), _number(SUMS))

    def add_units(first: Any, vectors: int) -> None:
        """Generate code that adds the sums of `vectors` vectors of units, from unit `first` on."""
        totals = [[cgutils.alloca_once(builder, _HALF) for _ in range(vectors)] for _ in range(lanes)]
        rows = [builder.add(builder.mul(most, _number(lane)), first) for lane in range(lanes)]
        for row, of_lane in zip(rows, totals, strict=True):
            for vector, total in enumerate(of_lane):
                builder.store(_numbers(builder, sums, row, _number(vector * SUMS), _HALF), total)
        begin = builder.add(place, first)
        with cgutils.for_range_slice(builder, _number(0), m, _number(2), intp=_I64) as (item, _):
            pair = [builder.sext(_item(builder, active, item, which), _I64) for which in (0, 1)]
            starts = [builder.add(begin, builder.mul(width, each)) for each in pair]
            factors = []
            for vector in range(vectors):
                if vector % 2 == 0:
                    both = [_numbers(builder, weights, start, _number(vector * SUMS)) for start in starts]
                factors.append(builder.shuffle_vector(*both, _IN_TURN[vector % 2]))
            for lane, of_lane in enumerate(totals):
                numbers = _pairs_of_items(builder, gathered, builder.add(builder.mul(room, _number(lane)), item))
                for total, factor in zip(of_lane, factors, strict=True):
                    builder.store(_plus_products(builder, builder.load(total), factor, numbers), total)
        for row, of_lane in zip(rows, totals, strict=True):
            for vector, total in enumerate(of_lane):
                _store(builder, sums, builder.add(row, _number(vector * SUMS)), builder.load(total))

    together = _most_vectors()
    whole = builder.sub(vectors, builder.srem(vectors, _number(together)))
    with cgutils.for_range_slice(builder, _number(0), whole, _number(together), intp=_I64) as (vector, _):
        add_units(builder.mul(vector, _number(SUMS)), together)
    for left in range(1, together):
        with builder.if_then(builder.icmp_signed("==", builder.sub(vectors, whole), _number(left))):
            add_units(builder.mul(whole, _number(SUMS)), left)
    return context.get_dummy_value()


def _plus_products(builder: Any, total: Any, numbers: Any, factors: Any) -> Any:
    """Generate the total plus the products of two int16[32] vectors, as int32[16]. Each item gets the products of two
    neighbours."""
    if _has("avx512vnni"):
        kind = ir.FunctionType(_HALF, [_HALF, _NUMBERS, _NUMBERS])
        return builder.asm(kind, "vpdpwssd $3, $2, $0", "=v,0,v,v", [total, numbers, factors], side_effect=False)
    for feature, (name, size) in _PAIRS.items():
        if _has(feature):
            return builder.add(total, _sums_of_pairs(builder, name, size, numbers, factors))
    products = builder.mul(builder.sext(numbers, _WIDE), builder.sext(factors, _WIDE))
    halves = (builder.shuffle_vector(products, products, which) for which in (_EVEN, _ODD))
    return builder.add(total, builder.add(*halves))


def _sums_of_pairs(builder: Any, name: str, size: int, numbers: Any, factors: Any) -> Any:
    """Generate the sums of two neighbouring products of int16[32] vectors, as int32[16], by the processor instruction
    `name`, which takes `size` numbers."""
    kind = ir.VectorType(_I16, size)
    called = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(ir.VectorType(_I32, size // 2), [kind, kind]), name
    )
    parts = []
    for begin in range(0, STEP, size):
        within = ir.Constant(ir.VectorType(_I32, size), list(range(begin, begin + size)))
        parts.append(builder.call(called, [builder.shuffle_vector(each, each, within) for each in (numbers, factors)]))
    while len(parts) > 1:
        both = ir.Constant(ir.VectorType(_I32, 2 * parts[0].type.count), list(range(2 * parts[0].type.count)))
        parts = [builder.shuffle_vector(*pair, both) for pair in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _sum_of(builder: Any, vector: Any) -> Any:
    """The sum of all numbers in a vector."""
    kind = vector.type
    name = f"llvm.vector.reduce.add.v{kind.count}i{kind.element.width}"
    summed = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind.element, [kind]), name)
    return builder.call(summed, [vector])


def _has(feature: str) -> bool:
    """Whether the processor for which code is compiled has a feature."""
    wanted = config.CPU_FEATURES
    if wanted is not None:
        return f"+{feature}" in wanted.split(",")
    return bool(llvmlite.binding.get_host_cpu_features().get(feature))


def _most_vectors() -> int:
    """Return how many vectors of sums stay in registers, an even number. AVX-512 has 32 registers."""
    return 4 if _has("avx512bw") else 2


def _new_total(builder: Any) -> Any:
    """The address of a new int32[16], which is set to zeros whenever the code reaches this point."""
    address = cgutils.alloca_once(builder, _HALF)
    builder.store(ir.Constant(_HALF, None), address)
    return address


def _number(value: int) -> Any:
    return ir.Constant(_I64, value)


def _rounded_up(builder: Any, value: Any, step: int) -> Any:
    """`value` rounded up to a multiple of `step`, a power of two."""
    return builder.and_(builder.add(value, _number(step - 1)), _number(-step))


def _whole(builder: Any, count: Any) -> Any:
    """`count` rounded down to a multiple of STEP."""
    return builder.sub(count, builder.srem(count, _number(STEP)))


def _item(builder: Any, array: Any, first: Any, place: int) -> Any:
    """Load the number array[first + place]."""
    return builder.load(builder.gep(array.data, [builder.add(first, _number(place))]))


def _numbers(builder: Any, array: Any, first: Any, start: Any, kind: Any = _NUMBERS) -> Any:
    """Load a vector of numbers from array[first + start] on: STEP numbers of int16, or as many as a vector of `kind`
    has."""
    address = vector_at(builder, array, builder.add(first, start), kind.element, kind.count)
    return builder.load(address, align=kind.element.width // 8)


def _store(builder: Any, array: Any, first: Any, vector: Any) -> None:
    """Store a vector at array[first] and the places after it."""
    kind = vector.type
    builder.store(vector, vector_at(builder, array, first, kind.element, kind.count), align=kind.element.width // 8)
