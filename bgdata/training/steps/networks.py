"""Resolves names of networks and labels into recipes for playing, rolling out and learning."""

from __future__ import annotations

from typing import Any

from bgdata.errors import UsageError, shown
from bgdata.evaluation.networks.mapped import open_networks
from bgdata.evaluation.networks.named import KIND, find_network
from bgdata.evaluation.networks.shipped import DEFAULT_NETWORK, SHIPPED
from bgdata.store.parameters import VersionRef
from bgdata.training.feed.rows import benchmark_versions, labelled_versions
from bgdata.training.kinds.network import DATASET as NETWORK
from bgdata.training.kinds.shared.networks import pinned
from bgdata.training.kinds.supervised_network import NEW, SupervisedParameters, WeightedLabels
from bgdata.training.networks import feature_names
from bgdata.warehouse import Warehouse


def network_parameters(warehouse: Warehouse, network: str) -> dict[str, Any]:
    """The parameters for the network that an option names, with its version unless it comes with the package. Raises
    MissingTableError."""
    if not network:
        return {"network": DEFAULT_NETWORK, "network_version": ""}
    table = find_network(f"{KIND}/{network}", warehouse)
    name, version = table.folder.parts[-2:]
    return {"network": name, "network_version": "" if (SHIPPED / name / version).is_dir() else version}


def chosen_parameters(
    warehouse: Warehouse, name: str, labels: tuple[str, ...], start: str, guard: bool, recipe: dict[str, Any]
) -> SupervisedParameters:
    """The recipe, completed by defaults and by the versions that the names stand for now.

    Raises UsageError, MissingTableError, UnknownPlayerError, and MissingExtraError where PyTorch is missing.
    """
    if (SHIPPED / name).is_dir() or name in warehouse.variants(NETWORK.name):
        raise UsageError(f"expected a name that no network has that learned by self-play, got {shown(name)}")
    table = None if start == NEW else find_network(start, warehouse)
    return SupervisedParameters(
        **recipe,
        name=name,
        start=pinned(warehouse, table) if table else None,
        **label_parameters(warehouse, labels, guard),
        features=tuple(feature_names(open_networks(table)).split()) if table else (),
        platform=found_platform(
            *(recipe.get(name, getattr(SupervisedParameters, name)) for name in ("trainer", "device"))
        ),
    )


def found_platform(trainer: str, device: str) -> str:
    """The platform of PyTorch on this machine; empty for the kernels, which give the same result anywhere. Raises
    MissingExtraError, and UsageError for a missing device."""
    if trainer != "torch":
        return ""
    from bgdata.training.supervised.torch_trainer import platform_name

    return platform_name(device)


def label_parameters(warehouse: Warehouse, labels: tuple[str, ...], guard: bool) -> dict[str, Any]:
    """The parameters for what is learned from, and with `guard` for the benchmarks whose positions are left out. Raises
    UsageError and MissingTableError."""
    return {
        "labels": tuple(pinned_labels(warehouse, text) for text in labels),
        "guard": tuple(map(VersionRef.parse, benchmark_versions(warehouse))) if guard else (),
    }


def pinned_labels(warehouse: Warehouse, text: str) -> WeightedLabels:
    """The versions that `KIND[/VARIANT[/VERSION]][:WEIGHT]` stands for, and their weight."""
    place, _, weight = text.partition(":")
    try:
        share = float(weight or 1)
    except ValueError:
        raise UsageError(f"expected labels KIND/VARIANT:WEIGHT, got {shown(text)}") from None
    return WeightedLabels(tuple(map(VersionRef.parse, labelled_versions(warehouse, place))), share)
