"""An opened version of a dataset: its manifest and its arrays, which are memory-mapped when they are first used. The
module needs only NumPy.

Versions of the package are copied into a warehouse, with their hashes checked, instead of being computed.
"""

from __future__ import annotations

import shutil
import stat
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from bgdata.errors import BgdataError, CorruptFileError, DigestMismatchError, ManifestFormatError, MissingTableError
from bgdata.store.arrays import Array, PartedArray, map_array
from bgdata.store.dataset import PARQUET, Dataset
from bgdata.store.manifest import FILE_NAME as MANIFEST_NAME
from bgdata.store.manifest import Manifest, is_part_file, load_manifest, part_file
from bgdata.store.parameters import Parameters
from bgdata.store.storage import not_regular, publish, remove_folder, sha256_file, storage_errors

# names of arrays that contain row numbers of other arrays: where rows begin (and one past the last row), or where texts
# end; in each part they count from 0
BEGINS, ENDS = "first_", "_ends.npy"


def reopen(folder: Path, kind: str) -> Table:
    """Open the version in a folder when a `Table` is unpickled. Raises MissingTableError if it no longer exists."""
    if not folder.is_dir():
        name = "/".join(folder.parts[-3:])
        raise MissingTableError(
            f"expected the version {name} of a pickled table in {folder}, found no such folder; "
            f"try: bgdata list {folder.parts[-3]}, and open the table again"
        )
    return Table(folder, kind)


class Table:
    """An opened version of a dataset. Opening reads nothing: the manifest and each array are read on first use. The
    path of its folder ends in <variant>/<version>, or in <kind>/<variant>/<version> if `kind` is given, and must agree
    with the manifest."""

    def __init__(self, folder: Path, kind: str = "") -> None:
        self.folder = folder
        self._kind = kind
        self._arrays: dict[str, Array] = {}
        self._scattered: dict[str, Array] = {}
        self.items: range | None = None  # items of the part if this is one: see Dataset.part_items
        self.first_row = 0  # row number in the main table of the first row of a part

    def __repr__(self) -> str:
        return f"Table({self.folder})"

    def _repr_html_(self) -> str:
        from bgdata.store.table_html import version_html

        return version_html(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path of the version, not its values. Unpickling maps the same files, or raises an error if they no
        longer exist."""
        return reopen, (self.folder.resolve(), self._kind)

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest of the version. Raises MissingTableError if there is none, and ManifestFormatError if it is
        damaged, or does not agree with the path of the folder."""
        found = load_manifest(self.folder)
        names = (self._kind or found.dataset, *self.folder.parts[-2:])
        if (found.dataset, found.variant, found.version) != names:
            raise ManifestFormatError(
                f"expected the manifest of {'/'.join(names)} in {self.folder}, "
                f"found that of {found.dataset}/{found.variant}/{found.version}; try: bgdata verify"
            )
        return found

    @property
    def name(self) -> str:
        """`dataset/variant/version`, for messages."""
        return "/".join(self.folder.parts[-3:])

    @property
    def parquet(self) -> Path:
        """The path of the Parquet file of the main table."""
        return self.folder / PARQUET

    def has_file(self, file: str) -> bool:
        """Whether the version has a file such as `table.parquet`, once or in each part."""
        return bool({entry.name for entry in self.manifest.files}.intersection(self.files_of(file)))

    def array(self, name: str, *, scattered: bool = False) -> Array:
        """Return the array `name`, memory-mapped read-only. `scattered` is as for `map_array`. For a version in parts,
        it is a `PartedArray` with the rows of all parts. Raises MissingTableError if there is no such array, and
        CorruptFileError if its file is damaged."""
        # two maps of one file, because reading ahead helps to read all rows, but takes 4 ms for a random row
        arrays = self._scattered if scattered else self._arrays
        if name not in arrays:
            arrays[name] = self._map(f"{name}.npy", scattered=scattered)
        return arrays[name]

    def _map(self, file: str, *, scattered: bool) -> Array:
        is_whole = (self.folder / file).exists() or not (self.folder / MANIFEST_NAME).exists()
        names = [file] if is_whole else self.files_of(file)
        found = [map_array(self.folder / name, scattered=scattered) for name in names]
        if len(found) == 1:
            return found[0]
        if file.startswith(BEGINS) or file.endswith(ENDS):
            firsts = np.cumsum([0, *(values[-1] if len(values) else 0 for values in found)])
            own = [values if file.endswith(ENDS) else values[:-1] for values in found]
            last = firsts[:0] if file.endswith(ENDS) else firsts[-1:]
            return np.concatenate([*(values + first for values, first in zip(own, firsts[:-1], strict=True)), last])
        parted: Any = PartedArray(found)
        rows: Array = parted  # has the parts of the interface that long arrays need: rows, slices, shape
        return rows

    def arrays(self) -> dict[str, Array]:
        """All arrays of the version, by name."""
        return {name: self.array(name) for name in self.array_names}

    @property
    def array_names(self) -> list[str]:
        """The names of the arrays of the version."""
        names = [entry.name for entry in self.manifest.files if entry.name.endswith(".npy")]
        if self.manifest.parts:
            names = [name.removeprefix(part_file("", 0)) for name in names]
            names = [name for name in names if not is_part_file(name)]
        return [name.removesuffix(".npy") for name in names]

    def files_of(self, file: str) -> list[str]:
        """Return the names that a file such as `table.parquet` has in the version: that name itself, or a name for each
        part."""
        if file in {entry.name for entry in self.manifest.files}:
            return [file]
        return [part_file(file, number) for number in range(len(self.manifest.parts))] or [file]

    def check_files(self, file: str) -> list[Path]:
        """Return the paths of a file such as `table.parquet`, one for each part, after checking that each exists with
        the right size. Raises MissingTableError and CorruptFileError as `check_file` does."""
        return [self.check_file(name) for name in self.files_of(file)]

    def has_array(self, name: str) -> bool:
        """Whether the version has an array of this name."""
        return any((self.folder / file).exists() for file in (f"{name}.npy", *self.files_of(f"{name}.npy")))

    @property
    def parts(self) -> Sequence[Table]:
        """The parts of the version, or the version itself if it has no parts. A part can be used like a version with
        only its rows."""
        return [TablePart(self, number) for number in range(len(self.manifest.parts))] or [self]

    def check_sizes(self) -> None:
        """Check that every file that the manifest lists exists with the right size. Raises MissingTableError if a file
        is missing, and CorruptFileError if a file has another size."""
        for entry in self.manifest.files:
            self.check_file(entry.name)

    def check_file(self, name: str) -> Path:
        """Return the path of a file that the manifest lists, after checking that it exists with the right size. Raises
        MissingTableError if it does not exist, and CorruptFileError if it has another size or is not a regular file."""
        path = self.folder / name
        sizes = {entry.name: entry.bytes for entry in self.manifest.files}
        if name not in sizes:
            raise MissingTableError(f"expected {name} in the manifest of {self.name}, found no such file")
        try:
            status = path.lstat()
        except FileNotFoundError as error:
            raise MissingTableError(f"expected {path}, found no such file; try: bgdata verify --repair") from error
        if not stat.S_ISREG(status.st_mode):
            raise CorruptFileError(not_regular(path))
        if status.st_size != sizes[name]:
            raise CorruptFileError(
                f"expected {sizes[name]} bytes in {path}, found {status.st_size}; try: bgdata verify --repair"
            )
        return path


class TablePart(Table):
    """A part of a version. It can be used like a version with only its rows."""

    def __init__(self, whole: Table, number: int) -> None:
        super().__init__(whole.folder)
        self.whole, self.number, self.part = whole, number, whole.manifest.parts[number]
        self.items = self.part.items
        self.first_row = sum(part.rows for part in whole.manifest.parts[:number])

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest of the whole version, but with the number of rows and the digest of this part."""
        return replace(self.whole.manifest, rows=self.part.rows, digest=self.part.digest, parts=[])

    @property
    def name(self) -> str:
        """`dataset/variant/version, part 7`, for messages."""
        return f"{self.whole.name}, part {self.number}"

    def array(self, name: str, *, scattered: bool = False) -> Array:
        """Return the array `name` of this part, memory-mapped. The map is not cached, so that only the parts in use are
        mapped."""
        return self._map(f"{name}.npy", scattered=scattered)

    def _map(self, file: str, *, scattered: bool) -> Array:
        (name,) = self.files_of(file)
        return map_array(self.folder / name, scattered=scattered)

    def arrays(self) -> dict[str, Array]:
        """All arrays of the part, by name."""
        return {name: self.array(name) for name in self.whole.array_names}

    def files_of(self, file: str) -> list[str]:
        """The name of this part's own file, or else of the file that all parts share."""
        own = part_file(file, self.number)
        return [own if own in {entry.name for entry in self.manifest.files} else file]


P = TypeVar("P", bound=Parameters)


def published_versions(folder: Path, recipe: type[P]) -> dict[P, Path]:
    """Return the paths of the versions, <variant>/<version>, below a folder of the package, by their parameters, which
    are of the class `recipe`. Damaged versions are left out."""
    found: dict[P, Path] = {}
    for version in sorted(folder.glob("*/r*-*")):
        try:
            found[recipe.from_manifest(load_manifest(version).parameters)] = version
        except BgdataError:
            continue
    return found


def published_folder(folder: Path, parameters: Parameters, variant: str) -> Path | None:
    """The path of the version with these parameters below a folder of the package; None if there is none. Raises
    ManifestFormatError if a version of this variant is damaged, because otherwise it would be computed again, which
    takes hours."""
    found = published_versions(folder, type(parameters)).get(parameters)
    if found is None:
        for version in folder.glob(f"{variant}/r*-*"):
            try:
                load_manifest(version)
            except BgdataError as error:
                raise ManifestFormatError(
                    f"expected a whole version in {version}, which comes with the package, found a damaged manifest; "
                    "try: install bgdata again"
                ) from error
    return found


def published_version(kind: Dataset[Any], parameters: Parameters, key: str) -> Table | None:
    """The version in the package that has these parameters and this recipe key; None if there is none. Raises
    ManifestFormatError if its manifest is damaged."""
    folder = kind.published_folder(parameters)
    if folder is None or load_manifest(folder).recipe_key != key:
        return None
    return Table(folder)


def is_published(kind: Dataset[Any], table: Table) -> bool:
    """Whether a version in a warehouse is a copy of a version in the package."""
    try:
        folder = kind.published_folder(kind.parameters.from_manifest(table.manifest.parameters))
        return folder is not None and load_manifest(folder) == table.manifest
    except BgdataError:
        return False


def install(table: Table, staging: Path, target: Path) -> Table:
    """Copy a version to the folder `target`, by way of the folder `staging`, and return the copy. The manifest is
    copied last. Raises MissingTableError, CorruptFileError or DigestMismatchError if a file is missing or does not
    match the manifest."""
    table.check_sizes()
    names = [entry.name for entry in table.manifest.files]
    with storage_errors("write", staging):
        remove_folder(staging)
        staging.mkdir(parents=True)
        for name in (*names, MANIFEST_NAME):
            shutil.copyfile(table.folder / name, staging / name)
    for entry in table.manifest.files:
        found = sha256_file(staging / entry.name)
        if found != entry.sha256:
            raise DigestMismatchError(
                f"expected SHA-256 {entry.sha256[:16]}... of {table.folder / entry.name}, which comes with the "
                f"package, found {found[:16]}...; try: install bgdata again"
            )
    publish(staging, target)
    return Table(target)
