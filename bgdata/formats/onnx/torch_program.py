"""The graph of a network as a PyTorch program. It needs the extra `torch`."""

from __future__ import annotations

import io
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from bgdata.errors import needing
from bgdata.evaluation.networks.inference import Networks
from bgdata.formats.onnx.graph import Graph
from bgdata.formats.onnx.network import BOARDS, chances_of

with needing("torch", "to write a program of it"):
    import torch

if TYPE_CHECKING:
    from torch import Tensor

Operation = Callable[..., "Tensor"]
_SIMPLE: dict[str, Operation] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Neg": operator.neg,
    "And": operator.and_,
    "Or": operator.or_,
    "Not": operator.invert,
    "Greater": operator.gt,
    "GreaterOrEqual": operator.ge,
    "Less": operator.lt,
    "LessOrEqual": operator.le,
    "Equal": operator.eq,
    "MatMul": operator.matmul,
    "Min": torch.minimum,
    "Max": torch.maximum,
    "Floor": torch.floor,
    "Where": torch.where,
}


_WITH_SETTINGS: dict[str, Operation] = {
    "Div": lambda one, two: torch.div(one, two, rounding_mode=None if one.is_floating_point() else "trunc"),
    "Gather": lambda values, places, axis: values[places.long()] if axis == 0 else values[:, places],
    "Cast": lambda values, to: values.to(getattr(torch, np.dtype(to).name)),
    "GatherElements": lambda values, places, axis: torch.gather(values, axis, places.long()),
    "Concat": lambda *values, axis: torch.cat(values, axis),
    "Transpose": lambda values, perm: values.permute(perm),
    "ReduceMax": lambda values, axes, keepdims: values.amax(axes, keepdim=bool(keepdims)),
    "ReduceMin": lambda values, axes, keepdims: values.amin(axes, keepdim=bool(keepdims)),
}


class GraphModule(torch.nn.Module):  # type: ignore[misc]
    """A graph as a PyTorch module, which computes the last value of the graph from int8[N, 26] boards."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.nodes = graph.nodes
        self.fixed = {name: values.tolist() for name, values in graph.constants.items() if values.dtype == np.int64}
        for name, values in graph.constants.items():
            self.register_buffer(name, torch.from_numpy(values.copy()))

    def forward(self, boards: Tensor) -> Tensor:
        """Compute the value of the last node."""
        found = {**dict(self.named_buffers()), BOARDS: boards}
        for node in self.nodes:
            given = [found[name] for name in node.inputs]
            if node.operation == "Reshape":
                value = given[0].reshape(self.fixed[node.inputs[1]])
            elif node.operation == "ReduceSum":
                value = given[0].sum(self.fixed[node.inputs[1]], keepdim=True, dtype=given[0].dtype)
            elif node.operation in _SIMPLE:
                value = _SIMPLE[node.operation](*given)
            else:
                value = _WITH_SETTINGS[node.operation](*given, **node.settings)
            found[node.output] = value
        return found[self.nodes[-1].output]


def torch_bytes(networks: Networks, properties: dict[str, str]) -> bytes:
    """Write the networks of a player as a file for `torch.export.load`, with these properties as extra files."""
    graph = Graph()
    chances_of(networks, graph.input(BOARDS, np.int8), by_all=True)
    boards = torch.zeros((2, 26), dtype=torch.int8)
    rows = {BOARDS: {0: torch.export.Dim("N")}}
    program = torch.export.export(GraphModule(graph), (boards,), dynamic_shapes=rows)
    file = io.BytesIO()
    torch.export.save(program, file, extra_files=properties)
    return file.getvalue()
