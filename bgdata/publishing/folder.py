"""Publishes versions as a folder. Each version is written to a working folder and then renamed to its path, and the
list of all files is written last."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from bgdata.errors import BgdataError, MissingTableError, UnknownLicenceError, UsageError, cite
from bgdata.process import keep, keeping
from bgdata.publishing.card import card_text
from bgdata.publishing.contents import (
    CARD,
    FORMAT,
    LISTING,
    SUMS,
    Contents,
    File,
    PublishedTable,
    PublishedVersion,
    parse_version,
    read_contents,
    visible_files,
)
from bgdata.publishing.croissant import croissant
from bgdata.publishing.licences import licence_of
from bgdata.publishing.lineage import lineage_events
from bgdata.publishing.package import data_package
from bgdata.publishing.packed import ARRAYS, pack_arrays
from bgdata.publishing.published_arrays import part_number
from bgdata.publishing.published_folder import PublishedFolder
from bgdata.publishing.pull import PublishedPull
from bgdata.publishing.recovery import PublishedRows, find_recipe
from bgdata.publishing.shards import missing_columns, row_counts, write_splits
from bgdata.publishing.splits import column_in_one_split, split_source
from bgdata.store.arrays import Array, map_array
from bgdata.store.build import footer
from bgdata.store.dataset import Dataset, TableShape
from bgdata.store.manifest import FILE_NAME as MANIFEST
from bgdata.store.manifest import canonical_json, parse_json, read_whole
from bgdata.store.names import parse_scope
from bgdata.store.parameters import Parameters
from bgdata.store.places import Folder
from bgdata.store.progress import Progress
from bgdata.store.storage import (
    checksum_bytes,
    hold_lock,
    make_folder,
    remove_folder,
    sha256_file,
    storage_errors,
    write_file,
)
from bgdata.store.table import Table
from bgdata.store.verify import check_hashes
from bgdata.warehouse import Warehouse

WORKING = ".publishing"  # folder of unfinished versions, and of records of finished versions
EXPLORER, SCRIPTS = "explorer", "scripts"  # folders that are written again each time
HINT = "choose another folder"
LAYOUT = 2  # version of the layout of files; 1 had no dictionaries of numbers


def publish_folder(
    warehouse: Warehouse,
    folder: Path,
    scopes: Sequence[str],
    title: str,
    about: str,
    progress: Progress,
    explorer: Callable[[Warehouse, Path], object] | None = None,
    scripts: Sequence[Path] = (),
) -> Contents:
    """Publish versions of a warehouse as a folder of files. The arguments and errors are those of
    `bgdata.publishing.publish`."""
    warehouse.require()
    if not (title.strip() and title.isprintable()):
        raise UsageError(f"expected a title of one line, got {cite(title)}")
    tables = select_versions(warehouse, scopes)
    check_folder(folder)
    with storage_errors("create", folder, HINT):
        make_folder(folder / WORKING)
    with hold_lock(folder / WORKING / "lock", lambda: progress.note(f"{folder}: another process publishes; waiting")):
        _reopen(folder)
        finished: list[PublishedVersion] = []
        left_out: dict[str, str] = {}
        with keeping(lambda: f"{len(finished)} of {len(tables)} versions are finished"):
            for table in tables:
                reason = reason_not_to_publish(warehouse, table)
                if reason:
                    progress.note(f"left out {table.name}: {reason}")
                    left_out[table.name] = reason
                else:
                    finished.append(
                        _find_finished(warehouse, folder, table, progress)
                        or _publish(warehouse, folder, table, progress)
                    )
            if not finished:
                raise UsageError(f"expected tables to publish, got none: {len(left_out)} versions are left out")
            contents = Contents(title, about, tuple(finished), left_out)
            _remove_others(folder, contents)
            for name in (EXPLORER, SCRIPTS):
                with storage_errors("delete", folder / name, HINT):
                    remove_folder(folder / name)
            if scripts:
                with storage_errors("create", folder / SCRIPTS, HINT):
                    make_folder(folder / SCRIPTS)
            for path in scripts:
                write_file(folder / SCRIPTS / path.name, path.read_bytes())
            for name, data in describe(PublishedFolder(contents, folder, warehouse.kinds)).items():
                write_file(folder / name, data)
            if explorer is not None:
                made = Warehouse(folder / WORKING / "warehouse", warehouse.kinds)
                PublishedPull(made, Folder(folder), contents, progress).pull()
                explorer(made, folder / EXPLORER)
            _write_lists(folder, contents)
    with storage_errors("delete", folder / WORKING, HINT):
        remove_folder(folder / WORKING)
    keep("")
    return contents


def select_versions(warehouse: Warehouse, scopes: Sequence[str]) -> list[Table]:
    """Return the versions in the scopes, or in the whole warehouse if there are no scopes. For each variant this is the
    current version, unless the scope names another. Raises UnknownKindError for an unknown kind, InvalidNameError if a
    scope has another form, and MissingTableError if a scope contains no version."""
    found: dict[str, Table] = {}
    for scope in scopes or (None,):
        kind, variant, version = parse_scope(scope)
        tables = [warehouse.open(str(kind), variant, version)] if variant else list(warehouse.current(kind))
        if not tables:
            what = scope or "versions"
            raise MissingTableError(
                f"expected {what} in {warehouse.root}, found none; try: bgdata build {scope or ''}".rstrip()
            )
        found |= {table.name: table for table in tables}
    return [found[name] for name in sorted(found)]


def check_folder(folder: Path) -> None:
    """Raise UsageError if a folder contains files but was not published before. Hidden files, such as those of git, do
    not count."""
    with storage_errors("read", folder, HINT):
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"expected a folder to publish into, got the file {cite(str(folder))}")
        there = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    if not {LISTING, WORKING} & set(there) and (others := [name for name in there if not name.startswith(".")]):
        raise UsageError(
            f"expected an empty folder, or one that was published into, got {cite(str(folder))} with "
            f"{cite(others[0])}; try another folder"
        )


def reason_not_to_publish(warehouse: Warehouse, table: Table) -> str:
    """Return the reason why a version cannot be published, for the user; empty if it can be."""
    manifest = table.manifest
    kind = warehouse.kind(manifest.dataset)
    if manifest.revision != kind.revision:
        return f"it is of revision {manifest.revision}, and this bgdata describes revision {kind.revision}"
    if not kind.tables_of(kind.recipe_of(manifest)):
        return "it is too large for Parquet"
    try:
        licence_of(warehouse, table)
    except UnknownLicenceError as error:
        return str(error)
    return ""


def _reopen(folder: Path) -> None:
    """Before a published folder is changed, record its finished versions in the working folder, and delete the two
    lists that mark the folder as complete."""
    if (folder / LISTING).exists():
        try:
            for version in read_contents(folder).versions:
                _write_record(folder, version)
        except BgdataError:
            pass  # the list is unreadable, so everything is written again
    with storage_errors("write", folder, HINT):
        for name in (LISTING, SUMS):
            (folder / name).unlink(missing_ok=True)


def _record(folder: Path, name: str) -> Path:
    return folder / WORKING / f"{name.replace('/', '-')}.json"


def _write_record(folder: Path, version: PublishedVersion) -> None:
    write_file(_record(folder, version.name), canonical_json(asdict(version)))


def writing_software() -> str:
    """Return the formats and the versions of software on which the bytes of published files depend. A version that was
    published with other software is written again."""
    return f"format {FORMAT}, layout {LAYOUT}, pyarrow {pa.__version__}"


def _find_finished(warehouse: Warehouse, folder: Path, table: Table, progress: Progress) -> PublishedVersion | None:
    """Return the published version of `table`, if an earlier call has published it and all of its files are unchanged;
    else None."""
    try:
        found = parse_version(parse_json(read_whole(_record(folder, table.name))))
        if found.writer != writing_software() or found.licence != licence_of(warehouse, table):
            return None
        manifest = hashlib.sha256(read_whole(table.folder / MANIFEST)).hexdigest()
        if manifest != next(file.sha256 for file in found.files if file.name.endswith(MANIFEST)):
            return None
        for file in found.all_files:
            path = folder / file.name
            if not path.is_file() or path.stat().st_size != file.bytes or sha256_file(path) != file.sha256:
                return None
    except (BgdataError, OSError, LookupError, ValueError, TypeError, AttributeError, StopIteration):
        return None
    progress.note(f"{table.name}: already published")
    return found


def _publish(warehouse: Warehouse, folder: Path, table: Table, progress: Progress) -> PublishedVersion:
    """Write all files of a version to the folder, and a record of them to the working folder."""
    kind = warehouse.kind(table.manifest.dataset)
    parameters = kind.recipe_of(table.manifest)
    table.check_sizes()
    check_hashes(table)
    progress.start(f"{table.name}: writing Parquet", table.manifest.rows, "rows")
    packed: dict[str, Array] = {}
    shapes = [shape for shape in kind.tables_of(parameters) if sum(row_counts(table.check_files(shape.file)))]
    tables = tuple(_publish_table(kind, parameters, table, shape, folder, packed, progress) for shape in shapes)
    rows = PublishedRows(folder, tables, packed.__getitem__)
    recipes = {}
    for entry in table.manifest.files:
        if entry.name.endswith(".npy"):
            values = map_array(table.folder / entry.name)
            recipe = find_recipe(values, rows, part_number(entry.name))
            if recipe is None:
                packed[entry.name] = values
            else:
                recipes[entry.name] = recipe
    home, working = f"versions/{table.name}", folder / WORKING / "version"
    _begin(working)
    write_file(working / MANIFEST, read_whole(table.folder / MANIFEST))
    if packed:
        pack_arrays(packed, working / ARRAYS)
    paths = sorted(working.iterdir())
    files = tuple(File(f"{home}/{path.name}", path.stat().st_size, sha256_file(path)) for path in paths)
    _move(working, folder / home)
    found = PublishedVersion(table.name, licence_of(warehouse, table), writing_software(), tables, files, recipes)
    _write_record(folder, found)
    return found


def _publish_table(
    kind: Dataset[Any],
    parameters: Parameters,
    table: Table,
    shape: TableShape,
    folder: Path,
    packed: dict[str, Array],
    progress: Progress,
) -> PublishedTable:
    """Write the Parquet files of one table of a version to the folder. If the table has several splits, the split of
    each row is added to `packed`, the arrays that are published in a file."""
    manifest, paths = table.manifest, table.check_files(shape.file)
    config = config_name(kind, shape, manifest.variant)
    missing = missing_columns(kind.derived_columns(parameters), shape, paths)
    source = replace(split_source(kind, parameters, shape, paths), variant=manifest.variant, missing=missing)
    about = footer(kind, shape, manifest.variant, manifest.version, manifest.digest, manifest.recipe_key)
    working, home = folder / WORKING / "table", f"data/{config}"
    _begin(working)
    splits = write_splits(source, working, home, about, progress)
    _move(working, folder / home)
    once = order = ""
    if source.codes is not None:
        once = column_in_one_split(shape)
        order = f"split_of_{shape.name}.npy"
        packed[order] = source.codes
    return PublishedTable(config, shape.name, splits, tuple(row_counts(paths)), once, order)


def config_name(kind: Dataset[Any], shape: TableShape, variant: str) -> str:
    """Return the name of a table's configuration on Hugging Face, such as `bearoff_two_sided-6x6` or
    `selfplay_turns-network-500-seed-2`."""
    name = shape.name if shape.name.startswith(kind.name) else f"{kind.name}_{shape.name}"
    return f"{name}-{variant}"


def _begin(working: Path) -> None:
    """Create the folder `working`; if it exists, empty it."""
    with storage_errors("write", working, HINT):
        remove_folder(working)
        make_folder(working)


def _move(working: Path, target: Path) -> None:
    """Rename a finished folder to its final path, and replace the folder that is there."""
    with storage_errors("write", target, HINT):
        remove_folder(target)
        make_folder(target.parent)
        working.rename(target)


def _remove_others(folder: Path, contents: Contents) -> None:
    """Delete from a published folder the files of tables and versions that `contents` does not list, and empty
    folders."""
    wanted = {folder / file.name for file in contents.files}
    with storage_errors("delete", folder, HINT):
        for place in (folder / "data", folder / "versions"):
            for path in sorted(place.rglob("*"), reverse=True):
                if path.is_dir() and not path.is_symlink():
                    if not any(path.iterdir()):
                        path.rmdir()
                elif path not in wanted:
                    path.unlink()


def _write_lists(folder: Path, contents: Contents) -> None:
    """Write SHA256SUMS with the hashes of all files, and then `published.json`, which marks the folder as complete."""
    known = {file.name: file.sha256 for file in contents.files}
    listed = contents.to_bytes()
    lines = {name: known.get(name) or sha256_file(folder / name) for name in visible_files(folder)}
    lines[LISTING] = hashlib.sha256(listed).hexdigest()
    lines.pop(SUMS, None)
    write_file(folder / SUMS, checksum_bytes(lines))
    write_file(folder / LISTING, listed)


def describe(published: PublishedFolder) -> dict[str, bytes]:
    """Return the content of each file that describes a published folder, by file name. The same contents give the same
    bytes."""
    return {
        CARD: card_text(published).encode(),
        "datapackage.json": data_package(published),
        "croissant.json": croissant(published),
        "openlineage.jsonl": lineage_events(published),
    }
