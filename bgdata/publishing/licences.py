"""Licences of published tables. Tables of bgdata itself are CC0. Tables made from other people's files have the licence
of these files, or are not published."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from bgdata.errors import BgdataError, UnknownLicenceError
from bgdata.store.dataset import Dataset
from bgdata.store.names import parse_input
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

OURS = "CC0-1.0"
# identifiers of SPDX that allow others to publish, and their names on Hugging Face
LICENCES = {
    OURS: "cc0-1.0",
    "AGPL-3.0": "agpl-3.0",
    "AGPL-3.0-only": "agpl-3.0",
    "AGPL-3.0-or-later": "agpl-3.0",
    "Apache-2.0": "apache-2.0",
    "BSD-2-Clause": "bsd-2-clause",
    "BSD-3-Clause": "bsd-3-clause",
    "CC-BY-3.0": "cc-by-3.0",
    "CC-BY-4.0": "cc-by-4.0",
    "CC-BY-SA-4.0": "cc-by-sa-4.0",
    "GPL-2.0": "gpl-2.0",
    "GPL-2.0-or-later": "gpl-2.0",
    "GPL-3.0": "gpl-3.0",
    "GPL-3.0-only": "gpl-3.0",
    "GPL-3.0-or-later": "gpl-3.0",
    "MIT": "mit",
    "MPL-2.0": "mpl-2.0",
    "ODbL-1.0": "odbl",
}


def licence_of(warehouse: Warehouse, table: Table) -> str:
    """Return the licence under which a version can be published. If the version or its inputs are made from other
    people's files, it is the licence of these files, else CC0. Raises UnknownLicenceError if such a file has no known
    licence, or if the files have several licences."""
    found = _licences(warehouse, table, set()) - {OURS}
    for licence, name in sorted((licence, _origin(warehouse, table, licence)) for licence in found):
        if licence not in LICENCES:
            raise UnknownLicenceError(
                f"the licence of {name} does not say that others may publish it: {licence or 'none'}"
            )
    if len(found) > 1:
        raise UnknownLicenceError(f"it is made from data under several licences: {', '.join(sorted(found))}")
    return next(iter(found), OURS)


def _origin(warehouse: Warehouse, table: Table, licence: str) -> str:
    """Return the name of the version from which this licence comes: `table` itself, or one of its inputs."""
    for each in (table, *_inputs(warehouse, table)):
        if licence in _own(each):
            return each.name
    return table.name


def _own(table: Table) -> set[str]:
    """Return the licences of the files from which a version was imported, or else the licence in its manifest."""
    files = {file.licence for file in table.manifest.raw_files if file.licence}
    return files or {table.manifest.licence}


def _inputs(warehouse: Warehouse, table: Table) -> list[Table]:
    """Return the inputs of a version; empty if one of them is not in the warehouse."""
    with suppress(BgdataError):
        return list(warehouse.made_from(table).values())
    return []


def _licences(warehouse: Warehouse, table: Table, seen: set[str]) -> set[str]:
    """Return the licences of a version and of all its direct and indirect inputs, except inputs in `seen`. For an input
    that is not in the warehouse, it is the licence that the kind declares."""
    found = _own(table)
    for name in table.manifest.inputs.values():
        if name in seen:
            continue
        seen.add(name)
        kind, variant, digest = parse_input(name)
        versions = [
            each for each in warehouse.versions(kind, variant) if each.folder.name.endswith(digest[:8])
        ] if kind in warehouse.kinds else []  # fmt: skip
        if versions:
            found |= _licences(warehouse, versions[0], seen)
        else:
            declared: Dataset[Any] | None = warehouse.kinds.get(kind)
            found.add(declared.licence if declared else "")
    return found
