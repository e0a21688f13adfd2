"""Builds one version: computes it in a staging folder, hashes, writes Parquet, checks, and renames it into place. The
recipe key is part of the staging folder's name. So after a build was killed, the next build with the same recipe
resumes it, from its last checkpoint or from its finished arrays."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any, NamedTuple

from bgdata.errors import (
    BgdataError,
    CheckFailedError,
    CorruptFileError,
    DigestMismatchError,
    MissingTableError,
    NoRowsError,
    StorageError,
    UsageError,
)
from bgdata.process import keep, keeping
from bgdata.store import storage
from bgdata.store.arrays import map_array, values_digest
from bgdata.store.checks import run_sql_checks
from bgdata.store.dataset import Build, Computed, Dataset, ImportedDataset, Input, TableShape
from bgdata.store.job import (
    CHECKPOINT_ERRORS,
    PART,
    Job,
    intact_arrays,
    kernel_fingerprint,
    killed_build_progress,
    read_sealed,
    seal_record,
    source_fingerprint,
    tidy,
)
from bgdata.store.linked import discard, link_again, prepare, require_own, stage, variant_folder_below
from bgdata.store.manifest import FILE_NAME as MANIFEST_NAME
from bgdata.store.manifest import (
    FORMAT,
    PARTS_FORMAT,
    FileEntry,
    Manifest,
    Part,
    Source,
    file_names,
    load_manifest,
    part_file,
    parts_digest,
    unpacked_name,
    version_name,
)
from bgdata.store.names import check_name
from bgdata.store.parameters import Parameters, VersionRef
from bgdata.store.plan import Plan, check_estimate
from bgdata.store.progress import Progress
from bgdata.store.table import Table, install, published_version
from bgdata.store.versions import Versions, deleting, input_digests
from bgdata.system import peak_memory_bytes
from bgdata.version import __version__

COMPUTED = "computed.json"  # record in the staging folder that all arrays are saved, with the time of computing them


def build(
    warehouse: Versions,
    kind: Dataset[Any],
    parameters: Parameters,
    progress: Progress,
    *,
    files: Iterable[Path] = (),
    strict: bool = False,
    force: bool = False,
    executor: Executor | None = None,
    inputs: Mapping[str, Table] | None = None,
    directory: Path | None = None,
    with_catalog: bool = True,
) -> Table:
    """Build a version of `kind`, after any missing inputs, or return the existing version with this recipe. The
    arguments are those of `Warehouse.build`. The version becomes the current one of its variant, and so do inputs that
    were built here. Inputs that existed before do not change."""
    parameters.check_types()
    kind.check_parameters(parameters)
    if inputs is None:
        parameters.check_determined()
    title = f"{kind.name}/{check_name('variant', kind.slug(parameters))}"  # an invalid name could not be found again
    elsewhere = directory and variant_folder_below(warehouse, title, directory)
    if elsewhere:
        link_again(warehouse, title, elsewhere)
    if inputs is None:
        inputs = {
            role: _input_table(warehouse, wanted, progress, executor, with_catalog=with_catalog)
            for role, wanted in kind.inputs(parameters).items()
        }
    paths = tuple(sorted(files, key=lambda path: (unpacked_name(path.name), path)))  # in one order
    with _read_sources(warehouse, kind, paths) as sources:
        plan = Plan(warehouse, kind, parameters, inputs, sources, executor, elsewhere, progress, strict, force)
        found = plan.find()
        if found is not None:
            progress.note(f"{plan.title}: already built ({found.folder.name})")
            if strict:
                _check_strict(kind, found)
            is_changed = warehouse.use(found)
        else:
            found = _make(plan)
            is_changed = True
    if is_changed and with_catalog:
        refresh_catalog(warehouse)
    return found


def _input_table(
    warehouse: Versions, wanted: Input, progress: Progress, executor: Executor | None, *, with_catalog: bool
) -> Table:
    """The version that an input names: an existing one, or else one that is built now."""
    found = warehouse.find_input(wanted)
    if found is not None:
        found.check_sizes()
        return found
    if isinstance(wanted, VersionRef):
        return warehouse.open_reference(wanted)  # raises
    name, parameters = wanted
    kind = warehouse.kind(name)
    if kind.takes_files:  # a build cannot import files for its inputs
        found = warehouse.find(kind, parameters)
        if found is not None:
            return found
        for table in warehouse.versions(name, kind.slug(parameters)):
            table.check_sizes()  # the import is damaged, not missing
        return warehouse.open(name, kind.slug(parameters))  # raises
    return build(warehouse, kind, parameters, progress, executor=executor, with_catalog=with_catalog)


def _make(plan: Plan) -> Table:
    """Build the version that the plan describes, or wait while another process builds it, and make it the current
    one."""
    warehouse, kind, progress = plan.warehouse, plan.kind, plan.progress
    warehouse.check_staging()
    if not plan.elsewhere or (warehouse.root / kind.name).is_symlink():
        require_own(warehouse.root, *plan.title.split("/"))
    plan = plan.in_variant_folder()
    published = None if plan.force else published_version(kind, plan.parameters, plan.key)
    if published is None:
        check_estimate(plan)
    with storage.hold_lock(plan.lock, lambda: progress.note(f"{plan.title}: another process is building it; waiting")):
        # without the lock an input could be deleted between this check and the build
        with deleting(warehouse):  # later deletions see that this build is running
            for role, table in plan.inputs.items():
                if not table.folder.is_dir():
                    raise MissingTableError(
                        f"expected {table.name}, the {role} of {plan.title}, found that it was deleted meanwhile; "
                        "try again"
                    )
        plan = plan.in_variant_folder()  # another process may have begun the variant on another disk
        if plan.elsewhere:
            prepare(warehouse, plan.title, plan.elsewhere)
        found = plan.find()
        if found is None and published is not None:
            found = _install_published(plan, published)
        elif found is None:
            with keeping(lambda: _kept_part(plan)):
                found = _build_alone(plan)
            for staged in plan.staged_builds():  # left by killed builds, also with other recipes and kernels
                discard(plan.warehouse, staged)
            if not plan.force:
                keep("what is finished is kept")
        elif plan.strict:
            _check_strict(kind, found)
        warehouse.use(found)
    return found


@contextmanager
def _read_sources(warehouse: Versions, kind: Dataset[Any], files: tuple[Path, ...]) -> Iterator[tuple[Source, ...]]:
    """Read the files to import, each once, and yield them while they are open. Raises UsageError if there are too many
    or too few."""
    if not isinstance(kind, ImportedDataset):
        if files:
            raise UsageError(f"expected no files for {kind.name}, which is computed, got {files[0]}")
        yield ()
        return
    if not files:
        raise UsageError(f"expected files to import; try: bgdata import {kind.name} FILE...")
    kind.check_files(files)
    folder = next(path for path in (warehouse.root, *warehouse.root.absolute().parents) if path.is_dir())
    with kind.computation.read_files(files, folder) as sources:
        yield tuple(
            source._replace(file=replace(source.file, name=name))
            for source, name in zip(sources, file_names(files), strict=True)
        )


def _check_strict(kind: Dataset[Any], table: Table) -> None:
    """Raise CheckFailedError if rows of the imported files are in quarantine."""
    for part in table.parts:
        kind.computation.check_strict(part.arrays())


def _build_alone(plan: Plan) -> Table:
    """Compute, write, check and publish the version. The caller holds the lock of its variant."""
    begin, staging = time.perf_counter(), plan.staging
    if not plan.elsewhere and plan.staging_link.is_symlink():  # it leads to a folder that is not ours
        discard(plan.warehouse, plan.staging_link)
    if plan.elsewhere and stage(plan.warehouse, plan.staging_link, staging):
        plan.progress.note(
            f"{plan.title}: begins anew in {plan.elsewhere}; what a stopped build kept elsewhere is deleted"
        )
    with storage.storage_errors("create", staging):
        if (staging / MANIFEST_NAME).exists():  # a build was killed while publishing, and files may be read-only
            if plan.parts and (manifest := _whole_manifest(plan)):
                return _publish(plan, manifest, begin)
            storage.remove_folder(staging)
        storage.make_folder(staging)
        tidy(staging)
        for partial in staging.glob(".*.partial"):
            partial.unlink()
    if plan.parts:
        return _publish(plan, _build_parts(plan), begin)
    try:
        saved = _compute_arrays(plan)
    except BgdataError:
        if plan.files and not (staging / COMPUTED).exists():  # nothing is finished yet, and files may be invalid
            storage.remove_folder(staging)
        raise
    written = _write(plan, saved)
    manifest = _manifest(plan, written.digest, written.rows, written.files, written.statistics, saved["seconds"])
    (staging / COMPUTED).unlink()
    manifest.save(staging)
    return _publish(plan, manifest, begin)


def _publish(plan: Plan, manifest: Manifest, begin: float) -> Table:
    """Rename the folder of a finished build to its final path. `begin` is the time at which the build began."""
    storage.publish(plan.staging, plan.place / manifest.version)
    where = f", in {plan.place}" if plan.elsewhere else ""
    seconds = time.perf_counter() - begin  # the manifest contains only the time of computing
    plan.progress.note(f"{plan.title}: built {manifest.version}, {manifest.rows:,} rows in {seconds:.1f} s{where}")
    return plan.open_published(manifest.version)


def _whole_manifest(plan: Plan) -> Manifest | None:
    """Return the manifest of a build in parts that was killed just before its folder was renamed, None if there is no
    such manifest, or if a file does not match it."""
    try:
        manifest = load_manifest(plan.staging)
        for entry in manifest.files:
            if storage.sha256_file(plan.staging / entry.name) != entry.sha256:
                return None
    except (BgdataError, OSError) as error:
        if storage.is_shortage(error):
            raise
        return None
    storage.remove_folder(plan.staging / PART)
    return manifest if manifest.recipe_key == plan.key else None


class _PartRecord(NamedTuple):
    """The record of a finished part of a build, with which a later build can skip the part."""

    part: Part
    files: list[FileEntry]
    statistics: Mapping[str, float]
    seconds: float


def _build_parts(plan: Plan) -> Manifest:
    """Compute, write and check each part in turn, keep every finished part, and save the manifest of the whole
    version."""
    shared = {f"{array.name}.npy" for array in plan.kind.arrays_of(plan.parameters) if array.is_shared}
    records, rows = list[_PartRecord](), 0
    for number, items in enumerate(plan.parts):
        one = replace(plan, part=items)
        found = _finished_record(one, number)
        if found and plan.strict:
            plan.kind.computation.check_strict(plan.part_arrays(number))
        found = found or _build_part(one, number, rows, shared)
        if records and (others := _changed_names(records[0].files, found.files, shared)):
            raise CheckFailedError(f"expected the same {', '.join(others)} in all parts of {plan.title}, found others")
        records.append(found)
        rows += found.part.rows
    if plan.files:
        try:
            all_arrays = [plan.part_arrays(number) for number in range(len(records))]
            plan.kind.computation.check_parts(
                all_arrays, Job(plan.staging, plan.progress, plan.files, title=plan.title)
            )
        except NoRowsError:  # the same files never have rows
            storage.remove_folder(plan.staging)
            raise
    files = list({entry.name: entry for record in records for entry in record.files}.values())
    arrays = {name.removesuffix(".npy"): map_array(plan.staging / name) for name in sorted(shared)}
    parts = [record.part for record in records]
    statistics = plan.kind.computation.joined_statistics([(each.part.rows, each.statistics) for each in records])
    seconds = sum(record.seconds for record in records)
    manifest = _manifest(plan, parts_digest(parts, values_digest(arrays)), rows, files, statistics, seconds, parts)
    manifest.save(plan.staging)
    storage.remove_folder(plan.staging / PART)
    return manifest


def _changed_names(first: list[FileEntry], files: list[FileEntry], names: set[str]) -> list[str]:
    """Return the names among `names` of files whose contents differ between the two lists."""
    before, after = ({entry.name: entry.sha256 for entry in each if entry.name in names} for each in (first, files))
    return sorted(name for name in names if before.get(name) != after.get(name))


def _finished_record(plan: Plan, number: int) -> _PartRecord | None:
    """Return the record of part `number` if an earlier build finished it, None if it did not, or if the files of the
    part are damaged."""
    path, whole = plan.staging / f"{part_file('', number)[:-1]}.json", plan.staging.parent
    try:
        data = read_sealed(path)
        files = [FileEntry(**entry) for entry in data["files"]]
        for entry in files:
            if storage.sha256_file(whole / entry.name) != entry.sha256:
                raise DigestMismatchError(f"expected {whole / entry.name} as it was written, found it changed")
        if data["seal"] != plan.seal:
            return None
        return _PartRecord(Part(**data["part"]), files, data["statistics"], data["seconds"])
    except FileNotFoundError:
        return None
    except CHECKPOINT_ERRORS as error:
        if storage.is_shortage(error):
            raise
        plan.progress.note(f"{error}; part {number} of {plan.title} is damaged and computed again")
        return None


def _build_part(plan: Plan, number: int, first_row: int, shared: set[str]) -> _PartRecord:
    """Compute and write part `number` in a separate folder, then move its files beside those of the other parts. The
    record is moved last."""
    assert plan.part is not None
    staging, whole = plan.staging, plan.staging.parent
    storage.make_folder(staging)
    saved = _compute_arrays(plan)
    written = _write(plan, saved, number, first_row)
    files = []
    for entry in written.files:
        name = entry.name if entry.name in shared else part_file(entry.name, number)
        storage.sync(staging / entry.name)
        (staging / entry.name).replace(whole / name)
        files.append(entry if name == entry.name else replace(entry, name=name))
    part = Part(plan.part.start, plan.part.stop, written.rows, written.digest)
    record = {"seal": plan.seal, "part": vars(part), "files": [vars(entry) for entry in files],
              "statistics": dict(written.statistics), "seconds": saved["seconds"]}  # fmt: skip
    storage.sync(whole)
    storage.write_file(staging / f"{part_file('', number)[:-1]}.json", seal_record(record))
    (staging / COMPUTED).unlink()
    return _PartRecord(part, files, written.statistics, saved["seconds"])


def _kept_part(plan: Plan) -> str:
    """Return a clause for the user that says which work is kept if the build is stopped. It is empty if the next build
    has to start again."""
    if (plan.staging / COMPUTED).exists():
        return f"all values of {plan.title} are kept"
    part = killed_build_progress(plan.staging)
    return f"{plan.title} is kept {part}" if part else ""


def _install_published(plan: Plan, published: Table) -> Table:
    """Copy a version that comes with the package into the warehouse. Files that a killed build of the same recipe has
    left are kept."""
    version, staged = published.manifest.version, plan.lock.with_suffix(".published")
    if plan.elsewhere:
        stage(plan.warehouse, staged, plan.beside(staged))
    install(published, plan.beside(staged), plan.place / version)
    discard(plan.warehouse, staged)
    plan.progress.note(f"{plan.title}: comes with the package ({version})")
    return plan.open_published(version)


def _compute_arrays(plan: Plan) -> dict[str, Any]:
    """Compute and save all declared arrays in the staging folder, unless an earlier build has done so. Returns a
    record: the `seconds` that it took, and under `arrays` the SHA-256 of each file."""
    job = Job(plan.staging, plan.progress, plan.files,
              title=plan.title, strict=plan.strict, recipe=plan.seal, executor=plan.executor)  # fmt: skip
    computed = _load_computed(plan)
    if computed:
        plan.progress.note(f"going on with {plan.title} from finished arrays")
        if plan.strict:
            plan.kind.computation.check_strict(plan.arrays())
    else:
        start = time.perf_counter()
        plan.kind.computation.compute(Build(plan.parameters, plan.inputs, plan.warehouse, job, part=plan.part))
        seconds = time.perf_counter() - start
        paths = {entry.name: plan.staging / f"{entry.name}.npy" for entry in plan.kind.arrays_of(plan.parameters)}
        with storage.storage_errors("write", plan.staging):
            for path in paths.values():
                storage.sync(path)
        hashes = {name: storage.sha256_file(path) for name, path in paths.items()}
        computed = {"seconds": seconds, "arrays": hashes, "recipe": plan.seal}
        storage.write_file(plan.staging / COMPUTED, seal_record(computed))
    job.clear_checkpoints()
    return computed


def _load_computed(plan: Plan) -> dict[str, Any] | None:
    """Return the record that `_compute_arrays` saved in an earlier build, None if there is none, or if an array no
    longer matches its hash."""
    marker = plan.staging / COMPUTED
    if not marker.exists():
        return None
    try:
        computed = read_sealed(marker)
        if computed.get("recipe") != plan.seal:
            raise CorruptFileError(f"expected arrays of recipe {plan.key[:12]} beside {marker}, found those of another")
        intact_arrays(plan.staging, computed["arrays"])
    except (CorruptFileError, DigestMismatchError, MissingTableError, StorageError) as error:
        if storage.is_shortage(error):
            raise
        plan.progress.note(f"{error}; the finished arrays are damaged and computed again")
        marker.unlink()
        return None
    return computed


class _Written(NamedTuple):
    """The files that were written for a version, or for one of its parts."""

    digest: str
    rows: int  # rows of the main table
    files: list[FileEntry]
    statistics: Mapping[str, float]


def _write(plan: Plan, saved: Mapping[str, Any], number: int = -1, first_row: int = 0) -> _Written:
    """Hash the arrays, write the Parquet files, and run the SQL checks: for part `number`, whose first row is
    `first_row`, or for the whole version if it has no parts. If a check fails, the next build computes the arrays
    again."""
    kind, staging, parameters, arrays = plan.kind, plan.staging, plan.parameters, plan.arrays()
    try:
        shared = {array.name for array in kind.arrays_of(parameters) if array.is_shared and plan.part}
        digest = values_digest({name: values for name, values in arrays.items() if name not in shared})
        plan.progress.start(f"{plan.title}: writing Parquet", kind.estimate(parameters).rows, "rows")
        computed = Computed(parameters, arrays, plan.part.start if plan.part else 0, first_row)
        version = version_name(kind.revision, digest) if number < 0 else part_file("", number)[:-1]
        rows = write_tables(kind, computed, staging, plan.progress, version=version, digest=digest, recipe_key=plan.key)
        sources = {shape: [staging / shape.file] for shape in kind.tables_of(parameters)}
        run_sql_checks(plan.warehouse.kinds.sql, kind, parameters, sources)
        hashes = {shape.file: storage.sha256_file(staging / shape.file) for shape in kind.tables_of(parameters)}
        hashes |= {f"{name}.npy": found for name, found in saved["arrays"].items()}
        files = [FileEntry(name, (staging / name).stat().st_size, found) for name, found in hashes.items()]
        return _Written(digest, rows, files, dict(kind.computation.statistics(computed)))
    except StorageError:
        raise
    except Exception:  # after any error, these values must not be published
        (staging / COMPUTED).unlink(missing_ok=True)
        raise


def _manifest(
    plan: Plan,
    digest: str,
    rows: int,
    files: list[FileEntry],
    statistics: Mapping[str, float],
    seconds: float,
    parts: Sequence[Part] = (),
) -> Manifest:
    """The manifest of a version whose files have been written."""
    kind = plan.kind
    software = {name: installed_version(name) for name in ("numpy", "numba", "pyarrow", "duckdb")}
    software = (
        {"bgdata": __version__} | software | {"python": platform.python_version(), "sources": source_fingerprint(kind)}
    )
    return Manifest(
        dataset=kind.name,
        variant=kind.slug(plan.parameters),
        revision=kind.revision,
        parameters=plan.parameters.to_json(),
        recipe_key=plan.key,
        digest=digest,
        inputs=input_digests(plan.inputs),
        raw_files=list(plan.raw_files),
        warnings=kind.computation.warnings(plan.raw_files),
        rows=rows,
        files=files,
        statistics=dict(statistics),
        licence=kind.licence,
        source=kind.source,
        kernel_fingerprint=kernel_fingerprint(),
        software=software,
        source_commit=_source_commit(),
        created=datetime.now(UTC).isoformat(timespec="microseconds"),
        seconds=round(seconds, 3),
        peak_memory_bytes=peak_memory_bytes(),
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        format=PARTS_FORMAT if parts else FORMAT,
        parts=list(parts),
    )


def footer(
    kind: Dataset[Any], shape: TableShape, variant: str, version: str, digest: str, recipe_key: str
) -> dict[str, str]:
    """The metadata for the footer of a Parquet file: the table, and the version to which the file belongs."""
    return {
        "dataset": kind.name,
        "variant": variant,
        "version": version,
        "table": shape.name,
        "summary": shape.summary,
        "row": shape.row,
        "licence": kind.licence,
        "source": kind.source,
        "digest": digest,
        "recipe_key": recipe_key,
        "written_by": f"bgdata {__version__}",
    }


def write_tables(
    kind: Dataset[Any],
    computed: Computed[Parameters],
    folder: Path,
    progress: Progress,
    *,
    version: str,
    digest: str,
    recipe_key: str,
) -> int:
    """Write every table of a version as a Parquet file, with metadata that names the version. Returns the number of
    rows of the main table, even if the variant is too large for Parquet and stores this table only as arrays."""
    from bgdata.store.parquet import write_parquet

    rows = []
    variant = kind.slug(computed.parameters)
    for shape in kind.tables_of(computed.parameters):
        about = footer(kind, shape, variant, version, digest, recipe_key)
        batches = kind.computation.table_batches(shape, computed)
        rows.append(write_parquet(folder / shape.file, batches, shape, about, progress))
    return rows[0] if rows else kind.estimate(computed.parameters).rows


def refresh_catalog(warehouse: Versions) -> None:
    """Update catalog.duckdb after a build, which has changed the modification times of folders."""
    from bgdata.store import catalog

    catalog.refresh_catalog(warehouse, exact=set())


def mend_catalog(warehouse: Versions) -> None:
    """Update catalog.duckdb if versions were added or deleted after it was written."""
    from bgdata.store import catalog

    if catalog.is_stale(warehouse):
        catalog.refresh_catalog(warehouse)


def _source_commit() -> str:
    """Return the git commit of the source tree from which this package runs, with `-dirty` if there are local changes.
    The string is empty if the package is installed."""
    folder = Path(__file__).parents[2]
    if not (folder / ".git").exists():
        return ""
    try:
        result = subprocess.run(
            ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12", "--match=-"],
            capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout.strip()
