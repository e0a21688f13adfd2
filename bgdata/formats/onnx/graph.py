"""Builds an ONNX graph from arithmetic in Python: `a + 1` adds a node and returns its value.

Each row of a value is one position. Values are int32, bool, float32 or float64; plain numbers take the type of the
other operand. Names of nodes are consecutive numbers, so the same calls give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

OPSET = 17
Numbers: TypeAlias = "Value | int | float | NDArray[Any]"


class Node(NamedTuple):
    """An operation in a graph: the names of its inputs, the name of the value that it computes, and its settings."""

    operation: str
    inputs: tuple[str, ...]
    output: str
    settings: dict[str, Any]


class Graph:
    """An ONNX graph that is being built: its nodes and constants so far. Equal constants are stored once."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.constants: dict[str, NDArray[Any]] = {}
        self._names: dict[tuple[bytes, str, tuple[int, ...]], str] = {}

    def input(self, name: str, dtype: DTypeLike) -> Value:
        """Add an input of the graph."""
        return Value(self, name, np.dtype(dtype))

    def constant(self, values: NDArray[Any]) -> Value:
        """Add an array as a constant. Equal arrays are stored once."""
        key = values.tobytes(), values.dtype.str, values.shape
        name = self._names.setdefault(key, f"constant_{len(self._names)}")
        self.constants[name] = values
        return Value(self, name, values.dtype)

    def add(self, operation: str, inputs: Sequence[Value], dtype: DTypeLike | None = None, **settings: Any) -> Value:
        """Add an operation and return its value. The value has type `dtype`, by default that of the first input."""
        output = f"{operation.lower()}_{len(self.nodes)}"
        self.nodes.append(Node(operation, tuple(each.name for each in inputs), output, settings))
        return Value(self, output, inputs[0].dtype if dtype is None else np.dtype(dtype))


def _operation(name: str, dtype: DTypeLike | None = None) -> Callable[[Value, Numbers], Value]:
    """Make a method of `Value` that adds an operation with another value or numbers."""

    def add(self: Value, other: Numbers) -> Value:
        return self.graph.add(name, [self, self.like(other)], dtype)

    return add


class Value:
    """A value in a graph: [n, ...] numbers or bools, one row for each position."""

    def __init__(self, graph: Graph, name: str, dtype: np.dtype[Any]) -> None:
        self.graph, self.name, self.dtype = graph, name, dtype

    def like(self, numbers: Numbers) -> Value:
        """Return numbers as a value of this graph, with the same type as this value."""
        if isinstance(numbers, Value):
            return numbers
        return self.graph.constant(np.ascontiguousarray(np.asarray(numbers, self.dtype)))

    __add__ = _operation("Add")
    __sub__ = _operation("Sub")
    __mul__ = _operation("Mul")
    __truediv__ = _operation("Div")
    __floordiv__ = _operation("Div")  # only for nonnegative integers: ONNX rounds towards 0
    __matmul__ = _operation("MatMul")
    __and__ = _operation("And")
    __or__ = _operation("Or")
    __gt__ = _operation("Greater", np.bool_)
    __ge__ = _operation("GreaterOrEqual", np.bool_)
    __lt__ = _operation("Less", np.bool_)
    __le__ = _operation("LessOrEqual", np.bool_)
    equals = _operation("Equal", np.bool_)
    at_least = _operation("Max")
    at_most = _operation("Min")

    def __radd__(self, other: float) -> Value:
        return self.like(other) + self

    def __rsub__(self, other: float) -> Value:
        return self.like(other) - self

    def __rmul__(self, other: float) -> Value:
        return self.like(other) * self

    def __neg__(self) -> Value:
        return self.graph.add("Neg", [self])

    def __invert__(self) -> Value:
        return self.graph.add("Not", [self])

    def where(self, then: Value, other: Numbers) -> Value:
        """Return `then` where this value is true, and `other` elsewhere."""
        return self.graph.add("Where", [self, then, then.like(other)], then.dtype)

    def to(self, dtype: DTypeLike) -> Value:
        """Convert the numbers to type `dtype`. Fractions are truncated."""
        return self.graph.add("Cast", [self], dtype, to=np.dtype(dtype))

    def floor(self) -> Value:
        """Return the numbers rounded down, as floats."""
        return self.graph.add("Floor", [self])

    def total(self, axis: int = 1) -> Value:
        """Return the sum along an axis, which then has length 1. A true bool counts as 1."""
        numbers = self.to(np.int32) if self.dtype == np.bool_ else self
        return self.graph.add("ReduceSum", [numbers, self.graph.constant(np.array([axis]))], keepdims=1)

    def largest(self, axis: int = 1) -> Value:
        """Return the maximum along an axis, which then has length 1."""
        return self.graph.add("ReduceMax", [self], axes=[axis], keepdims=1)

    def smallest(self, axis: int = 1) -> Value:
        """Return the minimum along an axis, which then has length 1."""
        return self.graph.add("ReduceMin", [self], axes=[axis], keepdims=1)

    def any(self, axis: int = 1) -> Value:
        """Return whether any value along an axis is true."""
        return self.to(np.int32).largest(axis) > 0

    def take(self, places: NDArray[Any] | Value, axis: int = 1) -> Value:
        """Return the numbers at the indexes `places` along an axis."""
        indices = places if isinstance(places, Value) else self.graph.constant(np.asarray(places, np.int64))
        return self.graph.add("Gather", [self, indices], axis=axis)

    def lookup(self, table: NDArray[Any]) -> Value:
        """Return the rows of a table at the integer indexes in this value."""
        values = self.graph.constant(np.ascontiguousarray(table))
        return self.graph.add("Gather", [values, self], table.dtype, axis=0)

    def pick(self, column: Value) -> Value:
        """Return, from each row of this value, [n, k], the number in the column given by `column`, [n, 1], as [n,
        1]."""
        return self.graph.add("GatherElements", [self, column], axis=1)

    def transpose(self) -> Value:
        """Return this value, [n, k], as [k, n]: positions become the last axis."""
        return self.graph.add("Transpose", [self], perm=[1, 0])

    def reshape(self, *sizes: int) -> Value:
        """Return the numbers in another shape. A size of -1 is inferred."""
        return self.graph.add("Reshape", [self, self.graph.constant(np.array(sizes))])


def concat(values: Sequence[Value], axis: int = 1) -> Value:
    """Concatenate values along an axis."""
    return values[0].graph.add("Concat", values, axis=axis)
