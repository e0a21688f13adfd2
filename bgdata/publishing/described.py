"""The descriptions of a published folder, derived from its contents and the declarations of its kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from bgdata.publishing.contents import Contents, PublishedTable, PublishedVersion
from bgdata.publishing.licences import OURS
from bgdata.store.dataset import Dataset, TableShape
from bgdata.store.manifest import Manifest, load_manifest

if TYPE_CHECKING:
    from bgdata.store.registry import Kinds

BOUNDS = ("error", "bound", "difference", "largest")  # in the names of figures about accuracy


class DescribedTable(NamedTuple):
    """A table with its declaration."""

    version: PublishedVersion
    table: PublishedTable
    manifest: Manifest
    kind: Dataset[Any]
    shape: TableShape
    schema: pa.Schema

    @property
    def summary(self) -> str:
        """A sentence that says what the table contains, and in which variant."""
        return f"{self.shape.summary} Variant {self.manifest.variant} of {self.kind.name}. {self.shape.row}"


@dataclass(frozen=True)
class Described:
    """A published folder and the declarations of its kinds."""

    contents: Contents
    folder: Path
    kinds: Kinds

    @cached_property
    def manifests(self) -> Mapping[str, Manifest]:
        """The manifests by name of their version."""
        return {each.name: load_manifest(self.folder / each.folder) for each in self.contents.versions}

    @cached_property
    def tables(self) -> list[DescribedTable]:
        """All tables, in order of their versions."""
        return list(self._tables())

    def _tables(self) -> Iterator[DescribedTable]:
        for version in self.contents.versions:
            manifest = self.manifests[version.name]
            kind = self.kinds[manifest.dataset]
            shapes = {shape.name: shape for shape in kind.tables}
            for table in version.tables:
                schema = pq.read_schema(self.folder / table.files[0].name)
                yield DescribedTable(version, table, manifest, kind, shapes[table.table], schema)

    @cached_property
    def licences(self) -> list[str]:
        """The licences of all tables, with ours first."""
        found = {version.licence for version in self.contents.versions}
        return sorted(found, key=lambda licence: (licence != OURS, licence))

    @property
    def newest(self) -> str:
        """The day on which the newest version was made."""
        return max(manifest.created for manifest in self.manifests.values())[:10]
