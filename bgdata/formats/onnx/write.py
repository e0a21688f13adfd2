"""ONNX files of our networks: `int8[N, 26]` boards to `float32[N, 5]` chances. Needs the extra `onnx`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np

from bgdata.errors import MissingExtraError
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.networks.measured import recorded_name
from bgdata.formats.onnx.graph import OPSET, Graph, Node
from bgdata.formats.onnx.network import chances_of
from bgdata.store.table import Table

try:
    from onnx import TensorProto, checker, helper, numpy_helper
except ImportError as error:
    raise MissingExtraError("expected onnx to write an ONNX file; try: pip install bgdata[onnx]") from error

BOARDS, CHANCES = "boards", "chances"
IR_VERSION = 8  # the first that has this opset: older programs can read the file
MEANINGS = {
    "opset": f"ai.onnx {OPSET}",
    BOARDS: "int8[N, 26], seen by the player on roll, before the roll: [0] checkers of the opponent on the bar, [1] to "
    "[24] checkers on the points of the player on roll, those of the opponent negative, [25] own checkers on the bar",
    CHANCES: "float32[N, 5] of the player on roll in cubeless money play: win, win_gammon, win_backgammon, "
    "lose_gammon, lose_backgammon; a gammon includes backgammons, a win both",
    "bound": "with onnxruntime on a processor, equal to the last bit to what bgdata answers without bearoff tables",
}


def properties_of(table: Table) -> dict[str, str]:
    """What the file of a version of networks says about itself. Raises ManifestFormatError."""
    found = table.manifest
    named = {"name": found.variant, "version": recorded_name(table), "digest": found.digest, "licence": found.licence}
    return named | MEANINGS


def onnx_bytes(networks: Networks, properties: dict[str, str]) -> bytes:
    """The file of the networks of a player, with these properties; the same bytes every time."""
    graph = Graph()
    chances = chances_of(networks, graph.input(BOARDS, np.int8))
    graph.nodes.append(Node("Identity", (chances.name,), CHANCES, {}))
    model = helper.make_model(
        graph_proto(graph),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="bgdata",
        producer_version=version("bgdata"),
    )
    helper.set_model_props(model, properties)
    checker.check_model(model, full_check=True)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def graph_proto(graph: Graph) -> Any:
    """The graph with its constants, in the words of ONNX."""
    return helper.make_graph(
        [node_proto(node) for node in graph.nodes],
        "bgdata",
        [helper.make_tensor_value_info(BOARDS, TensorProto.INT8, ["N", 26])],
        [helper.make_tensor_value_info(CHANCES, TensorProto.FLOAT, ["N", 5])],
        [numpy_helper.from_array(values, name) for name, values in graph.constants.items()],
    )


def node_proto(node: Node) -> Any:
    """One node; types are numbers in ONNX."""
    settings = dict(node.settings)
    if "to" in settings:
        settings["to"] = helper.np_dtype_to_tensor_dtype(settings["to"])
    return helper.make_node(node.operation, list(node.inputs), [node.output], **settings)
