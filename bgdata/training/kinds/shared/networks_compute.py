"""Opens networks that other versions are made from."""

from __future__ import annotations

from bgdata.errors import MissingTableError
from bgdata.evaluation.networks.shipped import SHIPPED
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.store.versions import Versions


def opened(place: VersionRef, table: Table | None, warehouse: Versions) -> Table:
    """The input network, or else the named version, which may be one that comes with the package. Raises
    MissingTableError, and CorruptFileError for files of another size than they should have."""
    if table:
        return table
    try:
        found = warehouse.open_reference(place)
    except MissingTableError:
        found = Table(SHIPPED / place.variant / place.version)
        if not (place.version and found.folder.is_dir() and found.manifest.dataset == place.kind):
            raise
    found.check_sizes()
    return found
