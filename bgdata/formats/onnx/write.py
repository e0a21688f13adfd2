"""Writes networks of bgdata as ONNX files, from `int8[N, 26]` boards to `float32[N, 5]` chances. It needs the extra
`onnx`."""

from __future__ import annotations

from typing import Any

import numpy as np

from bgdata.errors import needing
from bgdata.evaluation.networks.inference import Networks
from bgdata.formats.onnx.graph import OPSET, Graph, Node
from bgdata.formats.onnx.network import BOARDS, CHANCES, chances_of
from bgdata.version import __version__

with needing("onnx", "to write an ONNX file"):
    from onnx import TensorProto, checker, helper, numpy_helper

IR_VERSION = 8  # the oldest version with this opset, for older programs


def onnx_bytes(networks: Networks, properties: dict[str, str]) -> bytes:
    """Write the networks of a player as an ONNX file with these properties. The bytes are always the same."""
    graph = Graph()
    chances = chances_of(networks, graph.input(BOARDS, np.int8))
    graph.nodes.append(Node("Identity", (chances.name,), CHANCES, {}))
    model = helper.make_model(
        graph_proto(graph),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="bgdata",
        producer_version=__version__,
    )
    helper.set_model_props(model, properties | {"opset": f"ai.onnx {OPSET}"})
    checker.check_model(model, full_check=True)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def graph_proto(graph: Graph) -> Any:
    """Convert a graph and its constants to an ONNX message."""
    return helper.make_graph(
        [node_proto(node) for node in graph.nodes],
        "bgdata",
        [helper.make_tensor_value_info(BOARDS, TensorProto.INT8, ["N", 26])],
        [helper.make_tensor_value_info(CHANCES, TensorProto.FLOAT, ["N", 5])],
        [numpy_helper.from_array(values, name) for name, values in graph.constants.items()],
    )


def node_proto(node: Node) -> Any:
    """Convert a node to an ONNX message."""
    settings = dict(node.settings)
    if "to" in settings:
        settings["to"] = helper.np_dtype_to_tensor_dtype(settings["to"])
    return helper.make_node(node.operation, list(node.inputs), [node.output], **settings)
