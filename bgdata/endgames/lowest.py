"""The inner loop of endgames with contact, in vectors: the lowest cell among those that some plays lead to.

As for two-sided tables (`bearoff.lowest`), Numba would keep the lowest values in memory. Here each play leads to a cell
of its own, which is a vector.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_INDEX = ir.IntType(64)


def vector_at(builder: Any, array: Any, item: Any, kind: Any, lanes: int) -> Any:
    """A pointer to the vector of so many lanes that begins with an item of an array."""
    return builder.bitcast(builder.gep(array.data, [item]), ir.VectorType(kind, lanes).as_pointer())


def adding(lanes: int, *, hits: bool) -> Any:
    """The instruction for cells of so many lanes, for plays that hit or for those that do not."""

    @intrinsic
    def add_lowest(
        _context: Any,
        totals: Any,
        _weight: Any,
        cells: Any,
        results: Any,
        _begin: Any,
        _end: Any,
        _count: Any,
        touched: Any,
        shifts: Any,
        hit: Any,
        _opponent: Any,
    ) -> Any:
        """totals[lane] += weight * the lowest of cells[(layout * count + results[play]) * lanes + lane] over plays
        begin to end, of which there is one at least. `layout` is the opponent's after the play: hit[opponent * 16 +
        bits], where bit n says whether touched[play] has the point shifts[opponent * 4 + n]. Arrays are contiguous, of
        one dimension."""

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            totals_, weight_, cells_, results_, begin_, end_, count_, touched_, shifts_, hit_, opponent_ = (
                context.make_array(kind)(context, builder, value) if isinstance(kind, types.Array) else value
                for kind, value in zip(signature.args, arguments, strict=True)
            )
            cell, total, word = ir.FloatType(), ir.DoubleType(), ir.IntType(32)
            first_hit = builder.mul(opponent_, _INDEX(16))
            points = []
            for blot in range(4 if hits else 0):
                item = builder.add(builder.mul(opponent_, _INDEX(4)), _INDEX(blot))
                points.append(builder.zext(builder.load(builder.gep(shifts_.data, [item])), word))

            def row(play: Any) -> Any:
                bits = word(0)
                mask = builder.load(builder.gep(touched_.data, [play])) if hits else None
                for blot, point in enumerate(points):
                    bit = builder.and_(builder.lshr(mask, point), word(1))
                    bits = builder.or_(bits, builder.shl(bit, word(blot)))
                place = builder.add(first_hit, builder.zext(bits, _INDEX))
                layout = builder.sext(builder.load(builder.gep(hit_.data, [place])), _INDEX)
                result = builder.sext(builder.load(builder.gep(results_.data, [play])), _INDEX)
                pair = builder.add(builder.mul(layout, count_), result)
                pointer = vector_at(builder, cells_, builder.mul(pair, _INDEX(lanes)), cell, lanes)
                return builder.load(pointer, align=4)

            start, second = row(begin_), builder.add(begin_, _INDEX(1))
            before = builder.block
            head, body, after = (builder.append_basic_block(name) for name in ("plays", "play", "lowest"))
            builder.branch(head)
            builder.position_at_end(head)
            item, lowest = builder.phi(_INDEX), builder.phi(ir.VectorType(cell, lanes))
            builder.cbranch(builder.icmp_signed("<", item, end_), body, after)
            builder.position_at_end(body)
            new = row(item)
            lower = builder.select(builder.fcmp_ordered("<", new, lowest), new, lowest)
            following = builder.add(item, _INDEX(1))
            builder.branch(head)
            for phi, at_first, later in ((item, second, following), (lowest, start, lower)):
                phi.add_incoming(at_first, before)
                phi.add_incoming(later, body)
            builder.position_at_end(after)
            wide = ir.VectorType(total, lanes)
            one = builder.insert_element(wide(ir.Undefined), weight_, word(0))
            weights = builder.shuffle_vector(one, one, ir.VectorType(word, lanes)([0] * lanes))
            pointer = vector_at(builder, totals_, _INDEX(0), total, lanes)
            summand = builder.fmul(weights, builder.fpext(lowest, wide))
            builder.store(builder.fadd(builder.load(pointer, align=8), summand), pointer, align=8)
            return context.get_dummy_value()

        intp = types.intp
        given = (totals, types.float64, cells, results, intp, intp, intp, touched, shifts, hit, intp)
        return types.void(*given), emit

    return add_lowest


add_lowest_of_8, add_lowest_of_8_with_hits = adding(8, hits=False), adding(8, hits=True)
add_lowest_of_16, add_lowest_of_16_with_hits = adding(16, hits=False), adding(16, hits=True)
