"""Networks that other versions are made from, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bgdata.errors import InvalidParameterError
from bgdata.evaluation.networks.shipped import DEFAULT_NETWORK, KINDS
from bgdata.kinds import all_kinds
from bgdata.store.parameters import VersionRef

if TYPE_CHECKING:
    from bgdata.store.parameters import Parameters
    from bgdata.store.table import Table
    from bgdata.store.versions import Versions


def known_variant(place: VersionRef) -> tuple[str, Parameters]:
    """(kind, parameters) of a variant: a default or smallest variant, or an imported one. Raises
    InvalidParameterError."""
    name, variant = place.kind, place.variant
    kind = all_kinds().get(name)
    if kind is not None and kind.takes_files:
        return name, kind.parameters(variant)
    for known in (*kind.defaults, kind.smallest) if kind else ():
        if kind is not None and kind.slug(known) == variant:
            return name, known
    raise InvalidParameterError(f"expected a version, such as {place}/r1-0123abcd, or a default variant, got {place}")


def known_network(name: str) -> tuple[str, Parameters] | None:
    """(kind, parameters) of a network that comes with bgdata, or of the smallest ones; None for any other name."""
    for kind in KINDS:
        try:
            return known_variant(VersionRef(kind, name))
        except InvalidParameterError:
            continue
    return None


def default_network() -> tuple[str, Parameters]:
    """(kind, parameters) of the network that plays as `network`. Raises InvalidParameterError if the package lacks
    it."""
    found = known_network(DEFAULT_NETWORK)
    if found is None:
        raise InvalidParameterError(f"expected the network {DEFAULT_NETWORK} with the package, found none")
    return found


def pinned(warehouse: Versions, table: Table) -> VersionRef:
    """The version of a network, or only its variant if it comes with the package."""
    kind, variant, version = table.manifest.dataset, *table.folder.parts[-2:]
    return VersionRef(kind, variant, version if table.folder.is_relative_to(warehouse.root) else "")
