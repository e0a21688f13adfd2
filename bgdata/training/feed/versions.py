"""Versions that a feed reads: found by name, held to their digests, and which of their rows train."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import MissingTableError, UsageError
from bgdata.store.table import Table
from bgdata.store.versions import Versions


def labelled_versions(warehouse: Versions, source: str) -> dict[str, str]:
    """Digests by `kind/variant/version` of a kind (the current versions of all its variants), a variant or a version.

    Raises UnknownKindError, UsageError for a kind without labels, and MissingTableError.
    """
    name, _, variant = source.partition("/")
    if not warehouse.kind(name).is_labelled:
        labelled = ", ".join(kind.name for kind in warehouse.kinds.values() if kind.is_labelled)
        raise UsageError(f"expected a kind that has positions with chances: {labelled}, got {name}")
    variants = [variant] if variant else warehouse.variants(name) or ["any"]
    tables = [warehouse.open(name, *variant.split("/", 1)) for variant in variants]
    return {table.name: table.manifest.digest for table in tables}


def benchmark_versions(warehouse: Versions) -> dict[str, str]:
    """Digests by `kind/variant/version` of the current versions that players are scored on."""
    kinds = [kind.name for kind in warehouse.kinds.values() if kind.is_benchmark]
    tables = [warehouse.open(kind, variant) for kind in kinds for variant in warehouse.variants(kind)]
    return {table.name: table.manifest.digest for table in tables}


def open_version(warehouse: Versions, version: str, digest: str) -> Table:
    """The version `kind/variant/version`. Raises MissingTableError, and UsageError where it has another digest."""
    table = warehouse.open_reference(version)
    if table.manifest.digest != digest:
        raise UsageError(f"expected {version} with the digest {digest}, found {table.manifest.digest}")
    return table


def splits_of(warehouse: Versions, table: Table) -> NDArray[np.uint8] | None:
    """uint8[rows]: places in `play.splits.SPLITS`, as the version says, or the positions that it labels; None where
    neither does.

    Raises MissingTableError when the version of these positions is gone: without it the split would be another.
    """
    if (table.folder / "splits.npy").exists():
        return table.array("splits")
    source = table.manifest.inputs.get("source", "")
    name, _, digest = source.partition("@")
    kind, _, variant = name.partition("/")
    if not source or "splits" not in [array.name for array in warehouse.kind(kind).arrays]:
        return None
    for version in warehouse.versions(kind, variant):
        if version.manifest.digest == digest:
            return splits_of(warehouse, version)
    raise MissingTableError(f"expected {source}, whose games split {table.name}, found no such version")
