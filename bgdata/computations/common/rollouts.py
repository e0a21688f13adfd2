"""Opens the network that rolls out, and stores its name in a version."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bgdata.datasets.common.rollouts import NetworkChoice
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.networks.named import KIND, find_network
from bgdata.evaluation.networks.player import MappedNetwork, NetworkPlayer
from bgdata.store.arrays import Array
from bgdata.store.context import Context
from bgdata.store.table import Table

BEAROFF_ROLES = ("two_sided", "one_sided", "gammon")
SAMPLE_ROWS = 3  # that `verify` rolls out again: each takes seconds


def network_table(context: Context[NetworkChoice]) -> Table:
    """The version of the chosen network. Raises MissingTableError."""
    parameters, table = context.parameters, context.inputs.get("network")
    if table is not None:
        return table
    return find_network(f"{KIND}/{parameters.network}", context.warehouse, parameters.network_version or None)


def open_roller(context: Context[NetworkChoice]) -> NetworkPlayer:
    """The chosen network as a player. Raises MissingTableError for a missing version."""
    return MappedNetwork(network_table(context), BearoffEvaluator(*(context.inputs[role] for role in BEAROFF_ROLES)))


def network_text(parameters: NetworkChoice, inputs: Mapping[str, Table]) -> Array:
    """uint8[n]: name and version of the network."""
    version = inputs["network"].folder.name if "network" in inputs else parameters.network_version
    return np.frombuffer(f"network/{parameters.network}/{version}".encode(), np.uint8)
