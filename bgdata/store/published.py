"""Versions that come with the package: copied into a warehouse, with their hashes checked, instead of being
computed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, TypeVar

from bgdata.errors import BgdataError, DigestMismatchError, ManifestFormatError
from bgdata.store.dataset import Dataset
from bgdata.store.manifest import FILE_NAME as MANIFEST_NAME
from bgdata.store.manifest import load_manifest
from bgdata.store.parameters import Parameters
from bgdata.store.storage import publish, remove_folder, sha256_file, storage_errors
from bgdata.store.table import Table

P = TypeVar("P", bound=Parameters)


def published_versions(folder: Path, recipe: type[P]) -> dict[P, Path]:
    """Folders <variant>/<version> within a folder of the package, by their parameters; damaged ones are left out."""
    found: dict[P, Path] = {}
    for version in sorted(folder.glob("*/r*-*")):
        try:
            found[recipe.from_manifest(load_manifest(version).parameters)] = version
        except BgdataError:
            continue
    return found


def published_folder(folder: Path, parameters: Parameters, variant: str) -> Path | None:
    """The version of a recipe within a folder of the package, or None. Raises ManifestFormatError where a version of
    this variant is damaged: what takes hours would be computed again without a word."""
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
    """The version of a recipe that comes with the package, or None; its recipe key must be the same.

    Raises ManifestFormatError if its manifest is damaged.
    """
    folder = kind.published(parameters)
    if folder is None or load_manifest(folder).recipe_key != key:
        return None
    return Table(folder)


def is_published(kind: Dataset[Any], table: Table) -> bool:
    """Whether a version of a warehouse is a copy of one that comes with the package."""
    try:
        folder = kind.published(kind.parameters.from_manifest(table.manifest.parameters))
        return folder is not None and load_manifest(folder) == table.manifest
    except BgdataError:
        return False


def install(table: Table, staging: Path, target: Path) -> Table:
    """Copy a version to `target` by way of the folder `staging`, the manifest last; returns the copy.

    Raises MissingTableError, CorruptFileError or DigestMismatchError for a file that is not as its manifest says.
    """
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
