"""Runs graphs with onnxruntime in tests."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bgdata.formats.onnx.graph import OPSET, Graph, Node, Value
from bgdata.game.codec import Boards

REASON = "the extra onnx is not installed"


def load_model(content: bytes, threads: int = 1) -> Callable[[Boards], np.ndarray]:
    """Load a file as a function of int8[n, 26] boards."""
    onnxruntime = pytest.importorskip("onnxruntime", reason=REASON)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return lambda boards: np.asarray(session.run(None, {session.get_inputs()[0].name: boards})[0])


def compute_values(write: Callable[[Value], Value], boards: Boards) -> np.ndarray:
    """Write a graph with `write` and compute it for int8[n, 26] boards."""
    return function_of(write)(boards)


def function_of(write: Callable[[Value], Value]) -> Callable[[Boards], np.ndarray]:
    """Write a graph with `write` and load it as a function of boards."""
    onnx = pytest.importorskip("onnx", reason=REASON)
    from bgdata.formats.onnx.write import node_proto

    graph = Graph()
    result = write(graph.input("boards", np.int8))
    graph.nodes.append(Node("Identity", (result.name,), "result", {}))
    helper: Any = onnx.helper
    kind = helper.np_dtype_to_tensor_dtype(result.dtype)
    proto = helper.make_graph(
        [node_proto(node) for node in graph.nodes],
        "test",
        [helper.make_tensor_value_info("boards", onnx.TensorProto.INT8, ["N", 26])],
        [helper.make_tensor_value_info("result", kind, None)],
        [onnx.numpy_helper.from_array(values, name) for name, values in graph.constants.items()],
    )
    model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    return load_model(model.SerializeToString())
