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

BOUNDS = ("error", "bound", "difference", "largest")  # words in the names of figures about accuracy


class TableDescription(NamedTuple):
    """A published table with its manifest and the declaration of its kind."""

    version: PublishedVersion
    table: PublishedTable
    manifest: Manifest
    kind: Dataset[Any]
    shape: TableShape
    schema: pa.Schema

    @property
    def summary(self) -> str:
        """Sentences that say what the table contains, to which variant it belongs, and what one row is."""
        return f"{self.shape.summary} Variant {self.manifest.variant} of {self.kind.name}. {self.shape.row}"


@dataclass(frozen=True)
class PublishedFolder:
    """A published folder with its contents and the declarations of its kinds, for everything that describes it."""

    contents: Contents
    folder: Path
    kinds: Kinds

    @cached_property
    def manifests(self) -> Mapping[str, Manifest]:
        """The manifest of each version, by KIND/VARIANT/VERSION."""
        return {each.name: load_manifest(self.folder / each.folder) for each in self.contents.versions}

    @cached_property
    def tables(self) -> list[TableDescription]:
        """All published tables, in the order of their versions."""
        return list(self._tables())

    def _tables(self) -> Iterator[TableDescription]:
        for version in self.contents.versions:
            manifest = self.manifests[version.name]
            kind = self.kinds[manifest.dataset]
            shapes = {shape.name: shape for shape in kind.tables}
            for table in version.tables:
                schema = pq.read_schema(self.folder / table.files[0].name)
                yield TableDescription(version, table, manifest, kind, shapes[table.table], schema)

    @cached_property
    def licences(self) -> list[str]:
        """The licences of all tables, each once; the licence of bgdata's own tables comes first."""
        found = {version.licence for version in self.contents.versions}
        return sorted(found, key=lambda licence: (licence != OURS, licence))

    @property
    def newest(self) -> str:
        """The date, YYYY-MM-DD, on which the newest version was made."""
        return max(manifest.created for manifest in self.manifests.values())[:10]
