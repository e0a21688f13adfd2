"""The innermost loops of endgames with contact, with vector instructions.

If Numba does not know the number of lanes, it compiles plain loops over them to scalar code. Arrays are contiguous,
one-dimensional, and float32 unless stated otherwise.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from bgdata.endgames.layouts import MAX_CHECKERS
from bgdata.endgames.plays import NOWHERE
from bgdata.kernel import Array, kernel
from bgdata.vectors import splat, unpack, vector_at

_INDEX, _FLOAT = ir.IntType(64), ir.FloatType()


def lower_of(builder: Any, one: Any, other: Any) -> Any:
    """Generate code for the lower of two vectors, lane by lane."""
    return builder.select(builder.fcmp_ordered("<", one, other), one, other)


def lowest(builder: Any, vectors: list[Any]) -> Any:
    """Generate code for the lowest of four vectors, lane by lane."""
    first, second, third, fourth = vectors
    return lower_of(builder, lower_of(builder, first, second), lower_of(builder, third, fourth))


def items_after(builder: Any, given: list[Any], offset: Any, stride: int) -> list[Any]:
    """Generate code for the items after four steps from `step` on: offset + bases[first + point[step]] + stride *
    after[step], or bases[first + NOWHERE] if that base is negative. `given` are after, point, step, bases and first."""
    after, point, step, bases, first = given
    nowhere = builder.load(builder.gep(bases.data, [builder.add(first, _INDEX(NOWHERE))]))
    found = []
    for n in range(MAX_CHECKERS):
        item = builder.add(step, _INDEX(n))
        met = builder.zext(builder.load(builder.gep(point.data, [item])), _INDEX)
        base = builder.load(builder.gep(bases.data, [builder.add(first, met)]))
        place = builder.sext(builder.load(builder.gep(after.data, [item])), _INDEX)
        there = builder.add(builder.add(base, offset), builder.mul(place, _INDEX(stride)))
        found.append(builder.select(builder.icmp_signed("<", base, _INDEX(0)), nowhere, there))
    return found


def make_store_lowest(lanes: int, width: int) -> Any:
    """Make the intrinsic function `store_lowest` for this number of lanes, with `width` items from one place to the
    next."""

    @intrinsic
    def store_lowest(
        _context: Any, target: Any, _at: Any, source: Any, _offset: Any, after: Any, point: Any, _step: Any, bases: Any,
        _first: Any,
    ) -> Any:  # fmt: skip
        """store_lowest(target, at, source, offset, after, point, step, bases, first), in a kernel: fills target[at +
        lane] with the lowest of source[offset + item + lane] for four items, see `items_after`."""

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            target_, at_, source_, offset_, *given = unpack(context, builder, signature, arguments)
            items = items_after(builder, given, offset_, width)
            found = [builder.load(vector_at(builder, source_, item, _FLOAT, lanes), align=4) for item in items]
            builder.store(lowest(builder, found), vector_at(builder, target_, at_, _FLOAT, lanes), align=4)
            return context.get_dummy_value()

        intp = types.intp
        return types.void(target, intp, source, intp, after, point, intp, bases, intp), emit

    return store_lowest


def make_store_lowest_bounds(lanes: int) -> Any:
    """Make the intrinsic function `store_lowest_bounds` for this number of lanes."""

    @intrinsic
    def store_lowest_bounds(
        _context: Any, target: Any, _at: Any, cube_values: Any, slack: Any, _unit: Any, after: Any, point: Any,
        _step: Any, bases: Any, _first: Any,
    ) -> Any:  # fmt: skip
        """store_lowest_bounds(target, at, cube_values, slack, unit, after, point, step, bases, first), in a kernel:
        fills 2 * lanes from target[at] on, for four items (see `items_after`). The first lanes get the lowest of
        cube_values[item + lane] - unit * slack[2 * item + lane], the other lanes the lowest of cube_values[item + lane]
        + unit * slack[2 * item + lanes + lane]. slack is uint8."""

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            target_, at_, cube_values_, slack_, unit_, *given = unpack(context, builder, signature, arguments)
            wide = ir.VectorType(_FLOAT, lanes)
            units = splat(builder, unit_, wide)
            items = items_after(builder, given, _INDEX(0), lanes)
            values = [builder.load(vector_at(builder, cube_values_, each, _FLOAT, lanes), align=4) for each in items]
            for bound, moved in enumerate((builder.fsub, builder.fadd)):
                found = []
                for item, value in zip(items, values, strict=True):
                    place = builder.add(builder.mul(item, _INDEX(2)), _INDEX(bound * lanes))
                    steps = builder.load(vector_at(builder, slack_, place, ir.IntType(8), lanes), align=1)
                    found.append(moved(value, builder.fmul(units, builder.uitofp(steps, wide))))
                to = builder.add(at_, _INDEX(bound * lanes))
                builder.store(lowest(builder, found), vector_at(builder, target_, to, _FLOAT, lanes), align=4)
            return context.get_dummy_value()

        intp = types.intp
        given = (target, intp, cube_values, slack, types.float32, after, point, intp, bases, intp)
        return types.void(*given), emit

    return store_lowest_bounds


def make_add_lanes(lanes: int) -> Any:
    """Make the intrinsic function `add_lanes` for this number of lanes."""

    @intrinsic
    def add_lanes(_context: Any, totals: Any, _weight: Any, source: Any, _item: Any, _other: Any) -> Any:
        """add_lanes(totals, weight, source, item, other), in a kernel: adds weight times the lower of source[item +
        lane] and source[other + lane] to totals[lane], in float64."""

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            totals_, weight_, source_, *items = unpack(context, builder, signature, arguments)
            wide = ir.VectorType(ir.DoubleType(), lanes)
            weights = splat(builder, weight_, wide)
            found = [builder.load(vector_at(builder, source_, item, _FLOAT, lanes), align=4) for item in items]
            target = vector_at(builder, totals_, _INDEX(0), ir.DoubleType(), lanes)
            new = builder.fmul(weights, builder.fpext(lower_of(builder, *found), wide))
            builder.store(builder.fadd(builder.load(target, align=8), new), target, align=8)
            return context.get_dummy_value()

        return types.void(totals, types.float64, source, types.intp, types.intp), emit

    return add_lanes


# by the number of lanes of a place
_lowest_of_4, _lowest_of_8 = (make_store_lowest(lanes, lanes) for lanes in (4, 8))
_die_of_4, _die_of_8, _die_of_16 = (make_store_lowest(lanes, 6 * lanes) for lanes in (4, 8, 16))  # for one die
_dice_of_4, _dice_of_8, _dice_of_16 = (make_store_lowest(6 * lanes, 6 * lanes) for lanes in (4, 8, 16))
_lowest_bounds_of_4, _lowest_bounds_of_8 = map(make_store_lowest_bounds, (4, 8))
_add_4, _add_8, _add_16 = map(make_add_lanes, (4, 8, 16))


@kernel(borrows=True)
def fill_worth(
    target: Array, at: int, cube_values: Array, slack: Array, unit: float, steps: Any, step: int, bases: Array,
    first: int, lanes: int,
) -> None:  # fmt: skip
    """Fill target[at + lane] with the lowest cube_values[item + lane] after four steps, for 4 or 8 lanes. bases[first +
    point] are offsets of rows of cube values. With slack, fill 4 or 8 lower bounds, and then as many upper bounds."""
    if len(slack) == 0:
        if lanes == 4:
            _lowest_of_4(target, at, cube_values, 0, steps.after, steps.point, step, bases, first)
        else:
            _lowest_of_8(target, at, cube_values, 0, steps.after, steps.point, step, bases, first)
    elif lanes == 8:
        _lowest_bounds_of_4(target, at, cube_values, slack, unit, steps.after, steps.point, step, bases, first)
    else:
        _lowest_bounds_of_8(target, at, cube_values, slack, unit, steps.after, steps.point, step, bases, first)


@kernel(borrows=True)
def fill_die(
    target: Array, at: int, source: Array, offset: int, steps: Any, step: int, bases: Array, first: int, lanes: int
) -> None:
    """Fill target[at + lane] with the lowest source[offset + item + lane] after four steps, for 4, 8 or 16 lanes.
    bases[first + point] are offsets of arrays [place % steps.ring, die, lane], and `offset` selects the die."""
    if lanes == 4:
        _die_of_4(target, at, source, offset, steps.near, steps.point, step, bases, first)
    elif lanes == 8:
        _die_of_8(target, at, source, offset, steps.near, steps.point, step, bases, first)
    else:
        _die_of_16(target, at, source, offset, steps.near, steps.point, step, bases, first)


@kernel(borrows=True)
def fill_dice(
    target: Array, at: int, source: Array, offset: int, steps: Any, step: int, bases: Array, first: int, lanes: int
) -> None:
    """Fill target[at + die * lanes + lane] as `fill_die` does, for all dice."""
    if lanes == 4:
        _dice_of_4(target, at, source, offset, steps.near, steps.point, step, bases, first)
    elif lanes == 8:
        _dice_of_8(target, at, source, offset, steps.near, steps.point, step, bases, first)
    else:
        _dice_of_16(target, at, source, offset, steps.near, steps.point, step, bases, first)


@kernel(borrows=True)
def add_lower(totals: Array, weight: float, source: Array, item: int, other: int, lanes: int) -> None:
    """Add weight times the lower of source[item + lane] and source[other + lane] to float64 totals[lane]."""
    if lanes == 4:
        _add_4(totals, weight, source, item, other)
    elif lanes == 8:
        _add_8(totals, weight, source, item, other)
    else:
        _add_16(totals, weight, source, item, other)
