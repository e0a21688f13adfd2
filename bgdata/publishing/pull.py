"""Makes a warehouse from a published folder: arrays are restored from rows or unpacked, compared with the digest in the
manifest, and Parquet is written again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bgdata.errors import MissingFileError
from bgdata.process import keep, keeping
from bgdata.publishing.contents import LISTING, Contents, PublishedVersion, parse_contents
from bgdata.publishing.proof import check_hash, computed_parts
from bgdata.publishing.published_arrays import PublishedArrays
from bgdata.store.arrays import save_array
from bgdata.store.build import write_tables
from bgdata.store.dataset import Dataset
from bgdata.store.linked import require_own
from bgdata.store.manifest import FILE_NAME as MANIFEST
from bgdata.store.manifest import MAX_BYTES, FileEntry, Manifest, load_manifest, part_file, read_whole
from bgdata.store.places import Folder, Place
from bgdata.store.progress import Progress
from bgdata.store.storage import (
    check_room,
    hold_lock,
    make_folder,
    publish,
    remove_folder,
    sha256_file,
    storage_errors,
    sync,
    write_file,
)
from bgdata.store.transfer import Moved, fetch_file, in_scopes, is_whole
from bgdata.warehouse import Warehouse


def published_contents(place: Place) -> Contents | None:
    """Return the contents of a published folder in a place; None if the place is not a published folder. Raises
    DownloadError if they cannot be downloaded, and ManifestFormatError if they are damaged."""
    try:
        return parse_contents(place.part(LISTING, 0, MAX_BYTES).data, place.where(LISTING))
    except MissingFileError:
        return None


@dataclass
class PublishedPull:
    """Copies versions from a published folder, which may be at an address, into a warehouse."""

    warehouse: Warehouse
    place: Place
    contents: Contents
    progress: Progress
    use: bool = False  # whether the copied versions become current even if others are current
    is_dry: bool = False

    def pull(self, scopes: Sequence[str] = ()) -> list[Moved]:
        """Copy the versions in the scopes, or all versions, into the warehouse; returns which were copied. If a variant
        is new in the warehouse, its first version becomes current. Raises MissingTableError if a scope has no versions,
        TooLargeError if the disk is full, DigestMismatchError if values do not agree with the manifest, and the errors
        of reading and writing. Finished versions are kept."""
        warehouse = self.warehouse
        warehouse.check_staging()
        offered = {version.name: version for version in self.contents.versions}
        names = in_scopes(list(offered), scopes, self.place.address)
        done: list[Moved] = []
        wanted: list[PublishedVersion] = []
        for name in names:
            if name.partition("/")[0] not in warehouse.kinds:
                self.progress.note(f"left out {name}: this bgdata has no such kind")
            elif is_whole(warehouse, name):
                done.append(Moved(name, False, 0, 0))
            else:
                wanted.append(offered[name])
        sizes = {version.name: sum(file.bytes for file in version.all_files) for version in wanted}
        if self.is_dry:
            return sorted(done + [Moved(each.name, True, len(each.all_files), sizes[each.name]) for each in wanted])
        check_room(warehouse.root, 2 * sum(sizes.values()))
        with keeping(lambda: f"{len(done)} of {len(names)} versions are there"):
            for version in wanted:
                if self._pull(version):
                    done.append(Moved(version.name, True, len(version.all_files), sizes[version.name]))
        keep("")
        from bgdata.store.catalog import refresh_catalog  # loads DuckDB

        refresh_catalog(warehouse, exact=set())
        return sorted(done)

    def _pull(self, version: PublishedVersion) -> bool:
        """Copy a version into the warehouse. Returns false if this bgdata does not know its kind."""
        warehouse = self.warehouse
        kind_name, variant, name = version.name.split("/")
        require_own(warehouse.root, kind_name, variant)
        is_first = next(warehouse.versions(kind_name, variant), None) is None
        title = f"{kind_name}-{variant}"
        staging = warehouse.staging / f"{title}-published-{name}"
        with hold_lock(warehouse.staging / f"{title}.lock", lambda: self.progress.note(f"waiting for {version.name}")):
            folder = self._fetch(version, staging / "published")
            manifest = load_manifest(folder / version.folder)
            kind = warehouse.kind(kind_name)
            if kind.revision != manifest.revision:
                self.progress.note(f"left out {version.name}: this bgdata has revision {kind.revision} of {kind_name}")
                return False
            target = staging / name
            with storage_errors("write", target):
                remove_folder(target)
                make_folder(target)
            self.progress.start(f"{version.name}: writing arrays and rows", manifest.rows, "rows")
            restore_version(kind, PublishedArrays(folder, version, manifest), manifest, target, self.progress)
            if not (target / MANIFEST).exists():
                write_file(target / MANIFEST, read_whole(folder / version.folder / MANIFEST))
            publish(target, warehouse.root / version.name)
            with storage_errors("delete", staging):
                remove_folder(staging)
        table = warehouse.open(kind_name, variant, name)
        if is_first or self.use:
            warehouse.use(table)
        return True

    def _fetch(self, version: PublishedVersion, folder: Path) -> Path:
        """Return the folder that contains the files of a version, after checking each file against its hash. It is the
        published folder itself, or the folder into which the files were downloaded."""
        if isinstance(self.place, Folder):
            for file in version.all_files:
                check_hash(self.place.root / file.name, file.sha256)
            return self.place.root
        files = version.all_files
        self.progress.start(f"{version.name}: fetching", sum(file.bytes for file in files), "bytes")
        for file in files:
            home, _, name = file.name.rpartition("/")
            with storage_errors("create", folder / home):
                make_folder(folder / home)
            entry = FileEntry(name, file.bytes, file.sha256)
            fetch_file(self.place, home, entry, folder / home, self.progress.advance)
        return folder


def restore_version(
    kind: Dataset[Any], arrays: PublishedArrays, manifest: Manifest, target: Path, progress: Progress
) -> None:
    """Write the arrays and Parquet files of a version to the folder `target`. If the new Parquet files have other bytes
    than those in `manifest`, a new manifest is written. Raises DigestMismatchError if the arrays do not agree with the
    digest in the manifest."""
    arrays.check_digest()
    for entry in manifest.files:
        if entry.name.endswith(".npy"):
            save_array(target / entry.name, arrays.file(entry.name))
    for number, computed in enumerate(computed_parts(kind, arrays, manifest)):
        part = manifest.parts[number] if manifest.parts else None
        version = part_file("", number)[:-1] if part else manifest.version
        write_tables(
            kind, computed, target, progress, version=version, digest=part.digest if part else manifest.digest,
            recipe_key=manifest.recipe_key,
        )  # fmt: skip
        for shape in kind.tables_of(computed.parameters) if part else ():
            (target / shape.file).rename(target / part_file(shape.file, number))
    entries = list(_entries(manifest, target))
    if entries != manifest.files:
        replace(manifest, files=entries).save(target)


def _entries(manifest: Manifest, target: Path) -> Iterator[FileEntry]:
    """Yield the manifest's entry for each file of a version, with the sizes and hashes of the files just written to
    `target`."""
    for entry in manifest.files:
        path = target / entry.name
        sync(path)
        yield FileEntry(entry.name, path.stat().st_size, sha256_file(path))
