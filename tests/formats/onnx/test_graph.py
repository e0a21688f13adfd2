"""Arithmetic that adds nodes to a graph."""

import numpy as np
import pytest

from bgdata.formats.onnx.graph import Graph, Value, concat
from tests.formats.onnx.boards import all_boards
from tests.formats.onnx.runs import compute_values


def test_equal_constants_are_stored_once() -> None:
    graph = Graph()
    value = graph.input("boards", np.int32)
    total = value + 3 - 3 + np.array([3])
    assert [node.operation for node in graph.nodes] == ["Add", "Sub", "Add"]
    assert [values.tolist() for values in graph.constants.values()] == [[3]]
    assert graph.nodes[-1].output == total.name
    assert value.like(3).name == graph.nodes[0].inputs[1]
    assert value.to(np.float32).like(3).name != value.like(3).name


def test_node_names_are_numbered_in_order() -> None:
    def names() -> list[str]:
        graph = Graph()
        value = graph.input("boards", np.int32)
        concat([value.at_least(2), value * 2 > 4])
        return [node.output for node in graph.nodes]

    assert names() == names() == ["max_0", "mul_1", "greater_2", "concat_3"]


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda x: 5 - x * 2, lambda x: 5 - 2 * x),
        (lambda x: x.at_least(0) // 3, lambda x: np.maximum(x, 0) // 3),
        (lambda x: (x > 1).where(x, -1), lambda x: np.where(x > 1, x, -1)),
        (lambda x: (~(x <= 2) | x.equals(0)).total(), lambda x: ((x > 2) | (x == 0)).sum(1, keepdims=True)),
        (lambda x: x.take(np.array([3, 0])), lambda x: x[:, [3, 0]]),
        (lambda x: x.pick(x.take(np.array([25]))), lambda x: np.take_along_axis(x, x[:, 25:], 1)),
        (lambda x: (x.to(np.float32) / 4).floor(), lambda x: np.floor(x / np.float32(4))),
        (lambda x: (x + 15).lookup(np.arange(31) ** 2), lambda x: (x + 15) ** 2),
        (lambda x: x @ np.eye(26)[:, :3], lambda x: x[:, :3]),
        (lambda x: (x < 0).any().to(np.int32), lambda x: (x < 0).any(1, keepdims=True)),
        (lambda x: -x.largest() + x.smallest(), lambda x: (x.min(1) - x.max(1))[:, None]),
    ],
)
def test_arithmetic_equals_numpy(write: object, expected: object) -> None:
    boards = all_boards(40, seed=3)
    actual = compute_values(lambda value: write(value.to(np.int32)), boards)  # type: ignore[operator]
    np.testing.assert_array_equal(actual, expected(boards.astype(np.int32)))  # type: ignore[operator]


def test_operations_keep_the_type_of_the_first_value() -> None:
    graph = Graph()
    value = graph.input("boards", np.int8)
    assert (value.to(np.float32) * 2).dtype == np.float32
    assert (value > 0).dtype == np.bool_
    assert isinstance(value.lookup(np.zeros(3, np.float64)), Value)
    assert value.lookup(np.zeros(3, np.float64)).dtype == np.float64
