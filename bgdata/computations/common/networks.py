"""Opens networks that other versions are made from."""

from __future__ import annotations

from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.store.versions import Versions


def opened(place: VersionRef, table: Table | None, warehouse: Versions) -> Table:
    """The input network, or else the named version. Raises MissingTableError."""
    return table or warehouse.open_reference(place)
