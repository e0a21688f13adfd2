"""A folder of versions: finds them, opens them, and builds the ones that are missing.

    warehouse/<dataset>/<variant>/r<revision>-<digest8>/{manifest.json, table.parquet, *.npy}
    warehouse/<dataset>/<variant>/current

The file `current` contains the name of the current version, which is used unless another version is named. The last
build, import or `use` has set it. If a variant has no such file, because it is from an older bgdata or was copied by
hand, its newest version is current.

Opening needs only NumPy. DuckDB and PyArrow are loaded when something is built or queried.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgdata.errors import (
    BgdataError,
    CorruptFileError,
    MissingTableError,
    MissingWarehouseError,
    StorageError,
    UnknownKindError,
    UsageError,
    cite,
)
from bgdata.store.linked import MAX_PATH_BYTES, check_link, require_own
from bgdata.store.lockfile import FILE_NAME as LOCK_NAME
from bgdata.store.manifest import FILE_NAME as MANIFEST_NAME
from bgdata.store.manifest import RawFile, recipe_key
from bgdata.store.names import CURRENT, is_name, parse_scope
from bgdata.store.names import VERSION as VERSION_NAME
from bgdata.store.parameters import Parameters, VersionRef
from bgdata.store.registry import Kinds
from bgdata.store.storage import hold_lock, is_shortage, open_regular, storage_errors, write_file
from bgdata.store.table import Table

if TYPE_CHECKING:
    from bgdata.store.dataset import Dataset, Input

VERSION = VERSION_NAME  # other folders, such as copies made by hand, are ignored
CATALOG = "catalog.duckdb"
CATALOG_PLACE = ".catalog.place"
STAGING = ".staging"
DELETING = "deleting"  # name of the lock held while versions are deleted


class Versions:
    """The versions of datasets in a folder. `kinds` are the kinds of dataset that it may contain, by name."""

    def __init__(self, root: str | os.PathLike[str], kinds: Mapping[str, Dataset[Any]]) -> None:
        self.root = Path(root)
        self.kinds = kinds if isinstance(kinds, Kinds) else Kinds(kinds)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.root)!r})"

    @property
    def catalog(self) -> Path:
        """The path of catalog.duckdb, which has a view for every table. It is made from the versions, so it can be
        deleted."""
        return self.root / CATALOG

    @property
    def catalog_place(self) -> Path:
        """The path of a file that records for which folder catalog.duckdb was written, because its views contain
        absolute paths."""
        return self.root / CATALOG_PLACE

    @property
    def lock(self) -> Path:
        """The path of warehouse.lock."""
        return self.root / LOCK_NAME

    @property
    def staging(self) -> Path:
        """The folder of unfinished builds. It is on the same disk as the versions, so that a finished build can be
        renamed."""
        return self.root / STAGING

    def check_staging(self) -> None:
        """Raise StorageError if the staging folder is a link, because builds would then write to its target."""
        if self.staging.is_symlink():
            raise StorageError(f"expected a folder in {self.staging}, found a link; delete it")

    def is_moved(self) -> bool:
        """Whether catalog.duckdb exists and was not written for this folder, as far as is recorded."""
        if not self.catalog.exists():
            return False
        try:
            with open_regular(self.catalog_place) as file:
                place = file.read(MAX_PATH_BYTES).decode()
            return place != str(self.root.resolve()) and not Path(place).samefile(self.root)
        except (CorruptFileError, OSError, ValueError):  # ValueError: invalid UTF-8, or a null byte in a path
            return True

    def kind(self, name: str) -> Dataset[Any]:
        """The declaration of the kind with this name. Raises UnknownKindError if there is none."""
        return self.kinds[self.checked_kind(name)]

    def checked_kind(self, name: str) -> str:
        """Return the name if there is a kind with this name, without importing its declaration. Raises UnknownKindError
        if there is none."""
        if name not in self.kinds:
            near = difflib.get_close_matches(name[:100].lower(), self.kinds, n=3, cutoff=0.5)
            step = f"do you mean {' or '.join(near)}?" if near else "see: bgdata list"
            raise UnknownKindError(f"expected a kind of dataset, got {cite(name)}; {step}")
        return name

    def require(self) -> None:
        """Raise MissingWarehouseError if the folder of the warehouse does not exist."""
        if not self.root.is_dir():
            raise MissingWarehouseError(f"expected a warehouse in {self.root}, found no such folder; try: bgdata build")

    def variants(self, kind: str) -> list[str]:
        """The names of the variants of a kind, sorted. A variant whose versions are lost is listed if its folder
        contains the file `current` or is a link, so that opening it raises an error."""
        return [
            path.name
            for path in self.variant_folders(kind)
            if path.is_symlink() or os.path.lexists(path / CURRENT) or any(self.versions(kind, path.name))
        ]

    def variant_folders(self, kind: str) -> list[Path]:
        """Return the folders of the variants of a kind, sorted. Some may be links, and some may contain no version,
        because a build or repair was killed. Raises StorageError if the folder of the kind is a link to a missing
        folder."""
        folder = self.root / kind
        check_link(folder)
        if not folder.is_dir():
            return []
        found = (path for path in folder.iterdir() if is_name("variant", path.name))
        return sorted(path for path in found if path.is_dir() or path.is_symlink())

    def lost(self, kind: str) -> Iterator[tuple[str, BgdataError]]:
        """Yield the name of each variant of a kind whose current version cannot be opened, with the error."""
        for variant in self.variants(kind):
            try:
                self.open(kind, variant)
            except BgdataError as error:
                yield variant, error

    def versions(self, kind: str | None = None, variant: str | None = None) -> Iterator[Table]:
        """Yield the versions of all kinds, of one kind, or of one variant of it. A damaged manifest raises an error
        only when it is read."""
        for name in sorted(self.kinds) if kind is None else [self.checked_kind(kind)]:
            named = [self.root / name / variant] if variant is not None and is_name("variant", variant) else []
            for folder in self.variant_folders(name) if variant is None else named:
                for version in version_names(folder):
                    yield self.table_in(folder / version, name)

    def table_in(self, folder: Path, kind: str) -> Table:
        """The version whose folder is `folder`, opened as a table."""
        return Table(folder, kind)

    def versions_in(self, scope: str | None) -> list[Table]:
        """The versions in a scope: KIND, KIND/VARIANT or KIND/VARIANT/VERSION; all versions if it is None. Raises
        UnknownKindError if there is no such kind, InvalidNameError if the scope has another form, and MissingTableError
        if there is no such variant or version."""
        kind, variant, version = parse_scope(scope)
        if kind is None or variant is None:
            return list(self.versions(kind))
        if version is not None:
            return [self.open(kind, variant, version)]
        found = list(self.versions(kind, variant))
        if not found and variant not in self.variants(kind):
            self.open(kind, variant)  # raises
        return found

    def open(self, kind: str, variant: str, version: str | None = None) -> Table:
        """Open a version of a variant, by default the current one. Raises UnknownKindError if there is no such kind,
        MissingTableError if there is no such version, CorruptFileError if the file `current` is invalid or names a
        missing version, and StorageError if the variant is on a disk that is missing."""
        wanted = version or self.pointer(self.checked_kind(kind), variant)
        if wanted and is_name("variant", variant) and is_name("version", wanted):
            folder = self.root / kind / variant / wanted
            if folder.is_dir():
                return self.table_in(folder, kind)
        tables = {table.folder.name: table for table in self.versions(kind, variant)}
        if wanted is None and tables:
            return newest(tables.values())
        if wanted in tables:
            return tables[wanted]
        self.require()
        check_link(self.root / kind / variant)
        if tables or (wanted and not version):
            what = "" if version else "current version "
            step = f"bgdata use {kind}/{variant}/{next(reversed(tables))}" if tables else "bgdata verify --repair"
            text = (
                f"no {what}{kind}/{variant}/{wanted} in {self.root} (have: {', '.join(tables) or 'none'}); try: {step}"
            )
            raise MissingTableError(text) if version else CorruptFileError(text)  # the version is lost, not missing
        if (self.root / kind / variant).is_symlink() and not version:
            raise CorruptFileError(
                f"expected versions of {kind}/{variant} in {(self.root / kind / variant).resolve()}, to which a link "
                f"leads, found none; if they are gone for good, delete the link {self.root / kind / variant}"
            )
        have = ", ".join(self.variants(kind)) or "none"
        step = f"import {kind} FILE..." if self.kind(kind).takes_files else f"build {kind}"
        name = f"{kind}/{variant}" + (f"/{version}" if version else "")
        raise MissingTableError(f"no {name} in {self.root} (have: {have}); try: bgdata {step}")

    def open_reference(self, reference: VersionRef | str) -> Table:
        """Open the version that KIND/VARIANT/VERSION names, or the current version of KIND/VARIANT. Raises UsageError
        for any other string, and the errors of `open`."""
        parts = str(reference).split("/")
        if len(parts) not in (2, 3) or not all(parts):
            raise UsageError(f"expected KIND/VARIANT or KIND/VARIANT/VERSION, got {cite(reference)}")
        return self.open(*parts)

    def current(self, kind: str | None = None) -> Iterator[Table]:
        """Yield the current version of every variant, or of every variant of one kind. Raises the errors of `open`."""
        for name in sorted(self.kinds) if kind is None else [self.checked_kind(kind)]:
            for variant in self.variants(name):
                yield self.open(name, variant)

    def pointer(self, kind: str, variant: str) -> str | None:
        """The name of the version in a variant's file `current`; None if there is no such file. Raises CorruptFileError
        if the file does not contain the name of a version."""
        if not is_name("variant", variant):
            return None
        path = self.root / kind / variant / CURRENT
        with storage_errors("read", path):
            try:
                with open_regular(path) as file:
                    written = file.read(100)
            except FileNotFoundError:
                return None
        name = written.decode(errors="replace").strip()
        if not is_name("version", name):
            raise CorruptFileError(
                f"expected the name of a version in {path}, found {name!r}; try: bgdata use {kind}/{variant}/VERSION"
            )
        return name

    def use(self, table: Table) -> bool:
        """Make a version the current one of its variant. Returns false if it already was. Raises StorageError if the
        file `current` cannot be written, or if the variant's folder is a link that this warehouse did not make."""
        kind, variant, version = table.folder.parts[-3:]
        try:
            if self.pointer(kind, variant) == version:
                return False
        except CorruptFileError:
            pass
        require_own(self.root, kind, variant)
        write_file(table.folder.parent / CURRENT, f"{version}\n".encode())
        return True

    def find(
        self,
        kind: Dataset[Any],
        parameters: Parameters,
        raw_files: Sequence[RawFile] = (),
        inputs: Mapping[str, Table] | None = None,
    ) -> Table | None:
        """Find an undamaged version with this recipe. Returns None if there is none. If there are several, the current
        version is preferred, then the newest. `inputs` are the inputs of the recipe, by default those that a build
        would use now. For an imported kind without `raw_files`, any version of the variant is accepted, whichever files
        it was imported from."""
        any_recipe = kind.takes_files and not raw_files
        key = None if any_recipe else self.recipe_key(kind, parameters, raw_files, inputs)
        if key is None and not any_recipe:
            return None
        variant = kind.slug(parameters)
        tables = sorted(self.versions(kind.name, variant), key=_age, reverse=True)
        with suppress(BgdataError):
            current = self.pointer(kind.name, variant)
            tables.sort(key=lambda table: table.folder.name != current)
        for table in tables:
            try:
                if any_recipe or table.manifest.recipe_key == key:
                    table.check_sizes()
                    return table
            except BgdataError as error:
                if is_shortage(error):  # otherwise an existing version would be built again
                    raise
                continue
        return None

    def recipe_key(
        self,
        kind: Dataset[Any],
        parameters: Parameters,
        raw_files: Sequence[RawFile] = (),
        inputs: Mapping[str, Table] | None = None,
    ) -> str | None:
        """Return the recipe key of a variant, None if an input is not built. `inputs` are the inputs of the recipe, by
        default those that a build would use now."""
        made_from = self.find_inputs(kind, parameters) if inputs is None else inputs
        if made_from is None:
            return None
        return recipe_key(kind.name, kind.revision, parameters.to_json(), input_digests(made_from), raw_files)

    def find_inputs(self, kind: Dataset[Any], parameters: Parameters) -> dict[str, Table] | None:
        """Return the versions that a build of the variant with these parameters would use as inputs, by role, None if
        an input is not built."""
        found = {role: self.find_input(wanted) for role, wanted in kind.inputs(parameters).items()}
        tables = {role: table for role, table in found.items() if table is not None}
        return tables if len(tables) == len(found) else None

    def find_input(self, wanted: Input) -> Table | None:
        """Return the version that a build would use for an input, None if it is not built."""
        if isinstance(wanted, VersionRef):
            return next(
                (table for table in self.versions(wanted.kind, wanted.variant) if table.name == str(wanted)), None
            )
        return self.find(self.kind(wanted[0]), wanted[1])

    def made_from(self, table: Table) -> dict[str, Table]:
        """Return the versions from which a version was computed, by role, according to its manifest. Raises
        MissingTableError if one of them is not in the warehouse."""
        found = {}
        for role, name in table.manifest.inputs.items():
            title, _, digest = name.partition("@")
            candidates = [each for each in self.versions(*title.split("/")) if each.folder.name.endswith(digest[:8])]
            if not candidates:
                raise MissingTableError(f"expected {name} in {self.root}, which {table.name} was computed from")
            found[role] = candidates[0]
        return found


def version_names(variant: Path) -> list[str]:
    """The names of the versions in the folder of a variant, sorted. Folders with other names, such as copies made by
    hand, are left out."""
    try:
        with os.scandir(variant) as found:
            return sorted(each.name for each in found if is_name("version", each.name) and each.is_dir())
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def deleting(warehouse: Versions) -> AbstractContextManager[None]:
    """Hold the lock for deleting versions during the `with` block. A build takes the lock for a moment when it begins.
    So a deletion sees all builds that have begun, and later builds wait until the deletion has ended. Raises
    StorageError if the lock cannot be taken."""
    warehouse.check_staging()
    return hold_lock(warehouse.staging / f"{DELETING}.lock")


def input_digests(inputs: Mapping[str, Table]) -> dict[str, str]:
    """The inputs of a version in the form that recipes and manifests record: `dataset/variant@digest` by role."""
    return {
        role: f"{table.manifest.dataset}/{table.manifest.variant}@{table.manifest.digest}"
        for role, table in inputs.items()
    }


def newest(tables: Iterable[Table]) -> Table:
    """Return the version that is current if the variant has no file `current`: the newest version of the highest
    revision. `tables` are the versions of the variant. Raises ValueError if there are none."""
    found = list(tables)
    if len(found) == 1 and (found[0].folder / MANIFEST_NAME).exists():
        return found[0]  # the manifest is not read
    return max(found, key=_age)


def _age(table: Table) -> tuple[int, str]:
    """The key by which versions are sorted: revision, then date of the build. A damaged version comes before all
    others."""
    try:
        return table.manifest.revision, table.manifest.created
    except BgdataError:
        return -1, ""
