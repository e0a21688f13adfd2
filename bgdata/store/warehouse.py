"""A folder of versions: finds them, opens them, and builds the ones that are missing.

    warehouse/<dataset>/<variant>/r<revision>-<digest8>/{manifest.json, table.parquet, *.npy}

Opening needs NumPy alone; DuckDB and PyArrow are loaded when something is built or queried.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgdata.errors import BgdataError, MissingTableError, MissingWarehouseError, UnknownKindError
from bgdata.store.dataset import Dataset, Parameters
from bgdata.store.lockfile import FILE_NAME as LOCK_NAME
from bgdata.store.manifest import FILE_NAME as MANIFEST_NAME
from bgdata.store.manifest import RawFile, recipe_key
from bgdata.store.names import is_name
from bgdata.store.progress import Progress, Silence
from bgdata.store.table import Table

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import duckdb

CATALOG = "catalog.duckdb"
STAGING = ".staging"


class Warehouse:
    """The versions below one folder, of the dataset kinds that it is given."""

    def __init__(self, root: str | os.PathLike[str], kinds: Mapping[str, Dataset[Any]]) -> None:
        self.root = Path(root)
        self.kinds = kinds

    def __repr__(self) -> str:
        return f"Warehouse({str(self.root)!r})"

    @property
    def catalog(self) -> Path:
        """The DuckDB file that names every table; derived, so it can be deleted."""
        return self.root / CATALOG

    @property
    def lock(self) -> Path:
        """The lock file."""
        return self.root / LOCK_NAME

    @property
    def staging(self) -> Path:
        """Where unfinished builds live, on the same disk so that they can be renamed into place."""
        return self.root / STAGING

    def kind(self, name: str) -> Dataset[Any]:
        """The declaration of a dataset kind. Raises UnknownKindError."""
        if name not in self.kinds:
            raise UnknownKindError(f"expected a dataset among {', '.join(sorted(self.kinds))}, got {name}")
        return self.kinds[name]

    def require(self) -> None:
        """Raise MissingWarehouseError when the folder does not exist."""
        if not self.root.is_dir():
            raise MissingWarehouseError(f"expected a warehouse in {self.root}, found no such folder; try: bgdata build")

    def variants(self, kind: str) -> list[str]:
        """Slugs that have at least one version, sorted."""
        folder = self.root / kind
        if not folder.is_dir():
            return []
        return sorted(path.name for path in folder.iterdir() if is_name("variant", path.name) and path.is_dir())

    def versions(self, kind: str | None = None, variant: str | None = None) -> Iterator[Table]:
        """Every version, or those of one kind or variant; a damaged manifest shows only when it is read."""
        for name in sorted(self.kinds) if kind is None else [self.kind(kind).name]:
            for slug in self.variants(name) if variant is None else [variant] if is_name("variant", variant) else []:
                folder = self.root / name / slug
                for path in sorted(folder.glob("r*-*")) if folder.is_dir() else []:
                    if is_name("version", path.name) and path.is_dir():  # copies made by hand are none
                        yield Table(path, name)

    def open(self, kind: str, variant: str, version: str | None = None) -> Table:
        """Open a version; the current one unless named. Raises UnknownKindError or MissingTableError."""
        tables = list(self.versions(kind, variant))
        if version is not None:
            tables = [table for table in tables if table.folder.name == version]
        if not tables:
            self.require()
            wanted = f"{kind}/{variant}" + (f"/{version}" if version else "")
            have = ", ".join(self.variants(kind)) or "none"
            step = f"import {kind} FILE..." if self.kind(kind).takes_files else f"build {kind}"
            raise MissingTableError(f"no {wanted} in {self.root} (have: {have}); try: bgdata {step}")
        if len(tables) == 1 and (tables[0].folder / MANIFEST_NAME).exists():
            return tables[0]
        return max(tables, key=_age)

    def current(self, kind: str | None = None) -> Iterator[Table]:
        """The current version of every variant, or of those of one kind. Raises UnknownKindError."""
        for name in sorted(self.kinds) if kind is None else [self.kind(kind).name]:
            for variant in self.variants(name):
                if next(self.versions(name, variant), None) is not None:
                    yield self.open(name, variant)

    def find(self, kind: Dataset[Any], parameters: Parameters, raw_files: Sequence[RawFile] = ()) -> Table | None:
        """The newest version with this recipe, or None. Damaged ones are passed over.

        An imported variant without files named is the newest import of it, whatever it was imported from.
        """
        any_recipe = kind.takes_files and not raw_files
        key = None if any_recipe else self.recipe_key(kind, parameters, raw_files)
        if key is None and not any_recipe:
            return None
        for table in sorted(self.versions(kind.name, kind.slug(parameters)), key=_age, reverse=True):
            try:
                if any_recipe or table.manifest.recipe_key == key:
                    table.check_sizes()
                    return table
            except BgdataError:
                continue
        return None

    def recipe_key(self, kind: Dataset[Any], parameters: Parameters, raw_files: Sequence[RawFile] = ()) -> str | None:
        """The recipe key of a variant, or None while one of its inputs is not built."""
        inputs = self.find_inputs(kind, parameters)
        if inputs is None:
            return None
        return recipe_key(kind.name, kind.revision, vars(parameters), input_digests(inputs), raw_files)

    def find_inputs(self, kind: Dataset[Any], parameters: Parameters) -> dict[str, Table] | None:
        """The tables that a variant is computed from, by role, or None while one is missing."""
        found: dict[str, Table] = {}
        for role, (name, wanted) in kind.inputs(parameters).items():
            table = self.find(self.kind(name), wanted)
            if table is None:
                return None
            found[role] = table
        return found

    def build(
        self,
        kind: str,
        parameters: Parameters,
        *,
        files: Iterable[Path] = (),
        progress: Progress | None = None,
        strict: bool = False,
        force: bool = False,
        executor: Executor | None = None,
    ) -> Table:
        """The version with this recipe, built first where it is missing or damaged, its inputs too.

        `files` are what an imported kind is read from; `strict` fails an import with rows that break a rule; `force`
        builds even when it is there; `executor` computes the shards of kinds that have them, this process if there is
        none: see executors.open_executor. Raises InvalidParameterError, UsageError, TooLargeError, StorageError or
        CheckFailedError; whatever happens, published versions stay whole.
        """
        from bgdata.store.build import build

        declared, paths = self.kind(kind), tuple(files)
        if declared.takes_files and not paths and not force:
            found = self.find(declared, parameters)  # imported before, and now the input of something else
            if found is not None:
                return found
        progress = progress or Silence()
        return build(self, declared, parameters, progress, files=paths, strict=strict, force=force, executor=executor)

    def connect(self, *, allow_files: bool = False) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection to the catalog, in memory, which opens the tables of the warehouse and, unless
        `allow_files`, no other files. Raises MissingWarehouseError."""
        from bgdata.store.catalog import connect

        return connect(self, allow_files=allow_files)


def input_digests(inputs: Mapping[str, Table]) -> dict[str, str]:
    """How inputs are named in recipes and manifests: role -> dataset/variant@digest."""
    return {
        role: f"{table.manifest.dataset}/{table.manifest.variant}@{table.manifest.digest}"
        for role, table in inputs.items()
    }


def _age(table: Table) -> tuple[int, str]:
    """Sorts versions of a variant: the highest revision, then the newest, is current; damaged ones come last."""
    try:
        return table.manifest.revision, table.manifest.created
    except BgdataError:
        return -1, ""
