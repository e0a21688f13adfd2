"""The inner loop of two-sided tables, with vector instructions: it finds the lowest value of a set of rows in each
lane.

Compiled from nested loops over rows and lanes, the code would load and store the lowest values in memory for every row.
Here they are vectors, which LLVM keeps in registers. One loop handles all columns, because the processor cannot predict
well where a loop ends.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from bgdata.kernel import Array, kernel
from bgdata.vectors import splat, unpack, vector_at

TILE = 16  # number of lanes side by side: one cache line of float32
_INDEX = ir.IntType(64)


def make_subtract_lowest(columns: int) -> Any:
    """Make the intrinsic function `subtract_lowest` for rows with this number of columns."""

    @intrinsic
    def subtract_lowest(
        _context: Any, totals: Any, _weight: Any, cells: Any, _first: Any, results: Any, _begin: Any, _end: Any
    ) -> Any:
        """subtract_lowest(totals, weight, cells, first, results, begin, end), in a kernel: subtracts from totals[item]
        weight times the lowest of cells[first + result * width + item], over the results in results[begin:end], for all
        items of a row. There is at least one result; width is columns * TILE. Arrays are contiguous and
        one-dimensional."""

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            totals_, weight_, cells_, first_, results_, begin_, end_ = unpack(context, builder, signature, arguments)
            cell, total = (context.get_data_type(signature.args[n].dtype) for n in (2, 0))
            cell_bytes, total_bytes = (signature.args[n].dtype.bitwidth // 8 for n in (2, 0))
            is_integer = isinstance(cell, ir.IntType)

            def row(item: Any) -> list[Any]:
                result = builder.sext(builder.load(builder.gep(results_.data, [item])), _INDEX)
                place = builder.add(first_, builder.mul(result, _INDEX(columns * TILE)))
                places = [builder.add(place, _INDEX(column * TILE)) for column in range(columns)]
                return [builder.load(vector_at(builder, cells_, each, cell, TILE), align=cell_bytes) for each in places]

            start, second = row(begin_), builder.add(begin_, _INDEX(1))
            before = builder.block
            head, body, after = (builder.append_basic_block(name) for name in ("rows", "row", "lowest"))
            builder.branch(head)
            builder.position_at_end(head)
            item, *lowest = [builder.phi(kind) for kind in (_INDEX, *[ir.VectorType(cell, TILE)] * columns)]
            builder.cbranch(builder.icmp_signed("<", item, end_), body, after)
            builder.position_at_end(body)
            less = builder.icmp_signed if is_integer else builder.fcmp_ordered
            lower = [builder.select(less("<", new, old), new, old) for new, old in zip(row(item), lowest, strict=True)]
            following = builder.add(item, _INDEX(1))
            builder.branch(head)
            for phi, at_first, later in zip((item, *lowest), (second, *start), (following, *lower), strict=True):
                phi.add_incoming(at_first, before)
                phi.add_incoming(later, body)
            builder.position_at_end(after)
            wide = ir.VectorType(total, TILE)
            weights = splat(builder, weight_, wide)
            for column, found in enumerate(lowest):
                pointer = vector_at(builder, totals_, _INDEX(column * TILE), total, TILE)
                old = builder.load(pointer, align=total_bytes)
                if is_integer:
                    new = builder.sub(old, builder.mul(weights, builder.sext(found, wide)))
                else:
                    new = builder.fsub(old, builder.fmul(weights, found))
                builder.store(new, pointer, align=total_bytes)
            return context.get_dummy_value()

        intp = types.intp
        return types.void(totals, totals.dtype, cells, intp, results, intp, intp), emit

    return subtract_lowest


subtract_lowest_of_1, subtract_lowest_of_3, subtract_lowest_of_4 = map(make_subtract_lowest, (1, 3, 4))


@kernel(borrows=True)
def subtract_rolls(
    totals: Array, weights: Array, cells: Array, first: int, columns: int, results: Array, play_start: Array, rolls: int
) -> None:
    """Fill totals[column, lane] with minus the sum over all rolls of weight times the lowest of cells[first + result *
    columns * TILE + ...], for 1, 3 or 4 columns. `rolls` is the index of the first roll in `play_start`."""
    for item in range(columns * TILE):
        totals[item] = 0
    for roll in range(weights.shape[0]):
        begin, end = play_start[rolls + roll], play_start[rolls + roll + 1]
        if columns == 1:
            subtract_lowest_of_1(totals, weights[roll], cells, first, results, begin, end)
        elif columns == 3:
            subtract_lowest_of_3(totals, weights[roll], cells, first, results, begin, end)
        else:
            subtract_lowest_of_4(totals, weights[roll], cells, first, results, begin, end)
