"""Building one version: compute aside, hash, write Parquet, check, and rename into place.

The staging folder is named by the recipe key, so the next build of the same recipe goes on where a killed one stopped:
from the last checkpoint, or from the finished arrays.
"""

from __future__ import annotations

import os
import platform
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from bgdata.errors import (
    BgdataError,
    CorruptFileError,
    DigestMismatchError,
    MissingTableError,
    StorageError,
    TooLargeError,
    UsageError,
)
from bgdata.process import free_memory, keep, keeping
from bgdata.store.arrays import Array, map_array, values_digest
from bgdata.store.checks import run_sql_checks
from bgdata.store.dataset import Build, Computed, Dataset, Estimate, ImportedDataset, Input, TableShape
from bgdata.store.job import Job, finished_part, intact_arrays, read_sealed, seal_record, tidy
from bgdata.store.linked import chosen_place, discard, link, link_again, place_of, prepare, require_own, stage
from bgdata.store.manifest import FILE_NAME as MANIFEST_NAME
from bgdata.store.manifest import (
    FileEntry,
    Manifest,
    RawFile,
    Source,
    file_names,
    recipe_key,
    unpacked_name,
    version_name,
)
from bgdata.store.names import check_name
from bgdata.store.parameters import Parameters, VersionRef
from bgdata.store.progress import Progress
from bgdata.store.storage import (
    is_want,
    locked,
    make_folder,
    publish,
    remove_folder,
    sha256_file,
    storage_errors,
    sync,
    write_file,
)
from bgdata.store.table import Table, install, published_version
from bgdata.store.versions import Versions, deleting, input_digests

COMPUTED = "computed.json"  # in the staging folder: all arrays are saved, and how long that took


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
    """Build a version and, first, its inputs; returns the one there is when nothing is to do. See Warehouse.build.

    What was asked for becomes current, and so does whatever had to be made for it; inputs that are there stay as they
    are.
    """
    parameters.check_types()
    kind.check_parameters(parameters)
    if inputs is None:
        parameters.check_determined()
    title = f"{kind.name}/{check_name('variant', kind.slug(parameters))}"  # else it is never found again
    elsewhere = directory and chosen_place(warehouse, title, directory)
    if elsewhere:
        link_again(warehouse, title, elsewhere)
    if inputs is None:
        inputs = {
            role: input_table(warehouse, wanted, progress, executor, with_catalog=with_catalog)
            for role, wanted in kind.inputs(parameters).items()
        }
    paths = tuple(sorted(files, key=lambda path: (unpacked_name(path.name), path)))  # in whatever order they are given
    plan = Plan(warehouse, kind, parameters, inputs, sources_of(kind, paths), executor, elsewhere)
    found = None if force else warehouse.find(kind, parameters, plan.raw_files, plan.inputs)
    if found is not None:
        progress.note(f"{plan.title}: already built ({found.folder.name})")
        if strict:
            kind.computation.check_strict(found.arrays())
        is_changed = warehouse.use(found)
    else:
        found = make(plan, progress, strict=strict, force=force)
        is_changed = True
    if is_changed and with_catalog:
        refresh_catalog(warehouse)
    return found


def input_table(
    warehouse: Versions, wanted: Input, progress: Progress, executor: Executor | None, *, with_catalog: bool
) -> Table:
    """A version that another is computed from: the one there is, or a new one."""
    found = warehouse.find_input(wanted)
    if found is not None:
        found.check_sizes()
        return found
    if isinstance(wanted, VersionRef):
        return warehouse.open_reference(wanted)  # raises
    name, parameters = wanted
    kind = warehouse.kind(name)
    if kind.takes_files:  # imported before, if at all
        found = warehouse.find(kind, parameters)
        if found is not None:
            return found
        for table in warehouse.versions(name, kind.slug(parameters)):
            table.check_sizes()  # what is there is damaged, rather than never imported
    return build(warehouse, kind, parameters, progress, executor=executor, with_catalog=with_catalog)


def make(plan: Plan, progress: Progress, *, strict: bool, force: bool) -> Table:
    """Build the version alone, or wait for whoever builds it already, and make it the current one."""
    warehouse, kind, parameters = plan.warehouse, plan.kind, plan.parameters
    warehouse.check_staging()
    if not plan.elsewhere or (warehouse.root / kind.name).is_symlink():
        require_own(warehouse.root, *plan.title.split("/"))
    plan = with_place(plan)
    published = None if force else published_version(kind, parameters, plan.key)
    if published is None:
        check_estimate(plan)
    with locked(plan.lock, lambda: progress.note(f"{plan.title}: another process is building it; waiting")):
        # without the lock an input could be deleted between this look and the build
        with deleting(warehouse):  # whoever deletes from now on sees that this build is running
            for role, table in plan.inputs.items():
                if not table.folder.is_dir():
                    raise MissingTableError(
                        f"expected {table.name}, the {role} of {plan.title}, found that it was deleted meanwhile; "
                        "try again"
                    )
        plan = with_place(plan)  # another process may have begun elsewhere
        if plan.elsewhere:
            prepare(warehouse, plan.title, plan.elsewhere)
        found = None if force else warehouse.find(kind, parameters, plan.raw_files, plan.inputs)
        if found is None and published is not None:
            found = install_published(plan, published, progress)
        elif found is None:
            with keeping(lambda: kept_part(plan)):
                found = build_alone(plan, progress, strict=strict)
            for staged in staged_builds(plan):  # of killed builds, with other recipes and kernels too
                discard(plan.warehouse, staged)
            if not force:
                keep("what is finished is kept")
        elif strict:
            kind.computation.check_strict(found.arrays())
        warehouse.use(found)
    return found


def sources_of(kind: Dataset[Any], files: tuple[Path, ...]) -> tuple[Source, ...]:
    """The files to import, each read once. Raises UsageError for files too many or too few."""
    if not isinstance(kind, ImportedDataset):
        if files:
            raise UsageError(f"expected no files for {kind.name}, which is computed, got {files[0]}")
        return ()
    if not files:
        raise UsageError(f"expected files to import; try: bgdata import {kind.name} FILE...")
    kind.check_files(files)
    sources = map(kind.computation.read_file, files)
    return tuple(
        source._replace(file=replace(source.file, name=name))
        for source, name in zip(sources, file_names(files), strict=True)
    )


def build_alone(plan: Plan, progress: Progress, *, strict: bool) -> Table:
    """Compute, write, check and publish; the caller holds the lock."""
    begin = time.perf_counter()
    if not plan.elsewhere and plan.staging_link.is_symlink():  # to what is not ours
        discard(plan.warehouse, plan.staging_link)
    if plan.elsewhere and stage(plan.warehouse, plan.staging_link, plan.staging):
        progress.note(f"{plan.title}: begins anew in {plan.elsewhere}; what a stopped build kept elsewhere is deleted")
    with storage_errors("create", plan.staging):
        if (plan.staging / MANIFEST_NAME).exists():  # killed while it was published: files may be read-only already
            remove_folder(plan.staging)
        make_folder(plan.staging)
        tidy(plan.staging)
        for partial in plan.staging.glob(".*.partial"):
            partial.unlink()
    try:
        computed = compute_arrays(plan, progress, strict=strict)
    except BgdataError:
        if plan.files and not (plan.staging / COMPUTED).exists():  # nothing of it is finished, and may never be
            remove_folder(plan.staging)
        raise
    try:
        manifest = finish(plan, computed, progress)
    except StorageError:
        raise
    except Exception:  # of values that no build would publish, whatever found it out
        (plan.staging / COMPUTED).unlink(missing_ok=True)  # the next build computes the arrays anew
        raise
    publish(plan.staging, plan.place / manifest.version)
    where = f", in {plan.place}" if plan.elsewhere else ""
    seconds = time.perf_counter() - begin  # the manifest has those of computing alone
    progress.note(f"{plan.title}: built {manifest.version}, {manifest.rows:,} rows in {seconds:.1f} s{where}")
    return open_linked(plan, manifest.version)


def open_linked(plan: Plan, version: str) -> Table:
    """A version that was published, as it is found in the warehouse."""
    if plan.elsewhere:
        link(plan.warehouse, plan.title, plan.elsewhere)
    return Table(plan.warehouse.root / plan.title / version)


def kept_part(plan: Plan) -> str:
    """What a stopped build goes on from, as a clause; nothing where it begins anew."""
    if (plan.staging / COMPUTED).exists():
        return f"all values of {plan.title} are kept"
    part = finished_part(plan.staging)
    return f"{plan.title} is kept {part}" if part else ""


def install_published(plan: Plan, published: Table, progress: Progress) -> Table:
    """Copy a version that comes with the package; what a killed build of the recipe left behind stays."""
    version, staged = published.manifest.version, plan.lock.with_suffix(".published")
    if plan.elsewhere:
        stage(plan.warehouse, staged, plan.beside(staged))
    install(published, plan.beside(staged), plan.place / version)
    discard(plan.warehouse, staged)
    progress.note(f"{plan.title}: comes with the package ({version})")
    return open_linked(plan, version)


def compute_arrays(plan: Plan, progress: Progress, *, strict: bool) -> dict[str, Any]:
    """Save every declared array in the staging folder, unless a killed build got that far.

    Returns `seconds`, and the SHA-256 of the file of every array as `arrays`.
    """
    job = Job(plan.staging, progress, plan.files,
              title=plan.title, strict=strict, recipe=plan.key, executor=plan.executor)  # fmt: skip
    computed = load_computed(plan, progress)
    if computed:
        progress.note(f"going on with {plan.title} from finished arrays")
        if strict:
            plan.kind.computation.check_strict(arrays_of(plan))
    else:
        start = time.perf_counter()
        plan.kind.computation.compute(Build(plan.parameters, plan.inputs, plan.warehouse, job))
        seconds = time.perf_counter() - start
        with storage_errors("write", plan.staging):
            for entry in plan.kind.arrays_of(plan.parameters):
                sync(plan.staging / f"{entry.name}.npy")
        names = [entry.name for entry in plan.kind.arrays_of(plan.parameters)]
        hashes = {name: sha256_file(plan.staging / f"{name}.npy") for name in names}
        computed = {"seconds": seconds, "arrays": hashes, "recipe": plan.key}
        write_file(plan.staging / COMPUTED, seal_record(computed))
    job.clear_checkpoints()
    return computed


def load_computed(plan: Plan, progress: Progress) -> dict[str, Any] | None:
    """What a build that got so far says of its finished arrays; None without one, or where they changed since."""
    marker = plan.staging / COMPUTED
    if not marker.exists():
        return None
    try:
        computed = read_sealed(marker)
        if computed.get("recipe") != plan.key:
            raise CorruptFileError(f"expected arrays of recipe {plan.key[:12]} beside {marker}, found those of another")
        intact_arrays(plan.staging, computed["arrays"])
    except (CorruptFileError, DigestMismatchError, MissingTableError, StorageError) as error:
        if is_want(error):
            raise
        progress.note(f"{error}; the finished arrays are damaged and computed again")
        marker.unlink()
        return None
    return computed


def arrays_of(plan: Plan) -> dict[str, Array]:
    """The arrays in the staging folder."""
    names = [entry.name for entry in plan.kind.arrays_of(plan.parameters)]
    return {name: map_array(plan.staging / f"{name}.npy") for name in names}


def finish(plan: Plan, saved: Mapping[str, Any], progress: Progress) -> Manifest:
    """Hash the arrays, write the Parquet file, run the SQL checks and save the manifest; returns it."""
    kind, staging = plan.kind, plan.staging
    arrays = arrays_of(plan)
    digest = values_digest(arrays)
    progress.start(f"{plan.title}: writing Parquet", kind.estimate(plan.parameters).rows, "rows")
    computed = Computed(plan.parameters, arrays)
    rows = write_tables(kind, computed, staging, progress, digest=digest, recipe_key=plan.key)
    run_sql_checks(plan.warehouse.kinds.sql, kind, plan.parameters, staging)
    statistics = dict(kind.computation.statistics(computed))
    manifest = describe(plan, digest, rows, statistics, saved)
    (staging / COMPUTED).unlink()
    manifest.save(staging)
    return manifest


def footer(
    kind: Dataset[Any], shape: TableShape, variant: str, version: str, digest: str, recipe_key: str
) -> dict[str, str]:
    """What a Parquet file of a version says of itself."""
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
        "written_by": f"bgdata {installed_version('bgdata')}",
    }


def write_tables(
    kind: Dataset[Any],
    computed: Computed[Parameters],
    folder: Path,
    progress: Progress,
    *,
    digest: str,
    recipe_key: str,
) -> int:
    """Write the Parquet files of a version, which say themselves what they hold; returns the rows of the main table,
    which a large variant has in arrays alone."""
    from bgdata.store.parquet import write_parquet

    rows = []
    variant, version = kind.slug(computed.parameters), version_name(kind.revision, digest)
    for shape in kind.tables_of(computed.parameters):
        about = footer(kind, shape, variant, version, digest, recipe_key)
        batches = kind.computation.table_batches(shape, computed)
        rows.append(write_parquet(folder / shape.file, batches, shape, about, progress))
    return rows[0] if rows else kind.estimate(computed.parameters).rows


def describe(plan: Plan, digest: str, rows: int, statistics: dict[str, float], computed: Mapping[str, Any]) -> Manifest:
    """The manifest of the arrays and the Parquet file in the staging folder."""
    from bgdata.kernel_cache import kernel_fingerprint

    hashes = {shape.file: sha256_file(plan.staging / shape.file) for shape in plan.kind.tables_of(plan.parameters)}
    hashes |= {f"{name}.npy": digest for name, digest in computed["arrays"].items()}
    return Manifest(
        dataset=plan.kind.name,
        variant=plan.kind.slug(plan.parameters),
        revision=plan.kind.revision,
        parameters=plan.parameters.to_json(),
        recipe_key=plan.key,
        digest=digest,
        inputs=input_digests(plan.inputs),
        raw_files=list(plan.raw_files),
        warnings=plan.kind.computation.warnings(plan.raw_files),
        rows=rows,
        files=[FileEntry(name, (plan.staging / name).stat().st_size, found) for name, found in hashes.items()],
        statistics=statistics,
        licence=plan.kind.licence,
        source=plan.kind.source,
        kernel_fingerprint=kernel_fingerprint(),
        software={name: installed_version(name) for name in ("bgdata", "numpy", "numba", "pyarrow", "duckdb")}
        | {"python": platform.python_version()},
        source_commit=source_commit(),
        created=datetime.now(UTC).isoformat(timespec="microseconds"),
        seconds=round(computed["seconds"], 3),
        peak_memory_bytes=peak_memory_bytes(),
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    )


def check_estimate(plan: Plan) -> None:
    """Raise TooLargeError when the build would not fit into memory or onto the disk.

    What a killed build of the recipe has left there is used or replaced by this one, so it counts as free.
    """
    estimate = plan.kind.estimate(plan.parameters)
    memory = free_memory()
    folder = plan.place
    while not folder.exists():
        folder = folder.parent
    disk = shutil.disk_usage(folder).free + folder_bytes(plan.staging)
    space = f"disk space in {plan.elsewhere}" if plan.elsewhere else "disk space"
    fewer = f"build fewer {' or '.join(plan.parameters.size_names)}" if plan.parameters.size_names else "ask for less"
    for need, have, what, step in (
        (estimate.memory_bytes, memory, "memory", fewer),
        (estimate.building_bytes, disk, space, f"{fewer}, or on another disk: bgdata build --directory DIR"),
    ):
        if need > have:
            raise TooLargeError(
                f"expected {readable_bytes(need)} of free {what} for {plan.title} ({estimate_text(estimate)}), "
                f"found {readable_bytes(have)}; {step}"
            )


def estimate_text(estimate: Estimate) -> str:
    """`25,050,025 rows, about 426 MB on disk, 828 MB while it is built, and 600 MB of memory`."""
    disk, memory = readable_bytes(estimate.disk_bytes), readable_bytes(estimate.memory_bytes)
    if not estimate.checkpoint_bytes:
        return f"{estimate.rows:,} rows, about {disk} on disk and {memory} of memory"
    building = readable_bytes(estimate.building_bytes)
    return f"{estimate.rows:,} rows, about {disk} on disk, {building} while it is built, and {memory} of memory"


def folder_bytes(folder: Path) -> int:
    """Room that all files below a folder take, holes not counted; 0 where there is none."""
    found = (path.stat() for path in folder.rglob("*") if path.is_file())
    return sum(min(status.st_size, status.st_blocks * 512) for status in found)


def readable_bytes(count: float) -> str:
    """A size in decimal units with three figures."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"


def refresh_catalog(warehouse: Versions) -> None:
    """Rebuild the catalog from the manifests."""
    from bgdata.store.catalog import write_catalog

    write_catalog(warehouse)


def mend_catalog(warehouse: Versions) -> None:
    """Rebuild the catalog where versions came or went since it was written."""
    from bgdata.store.catalog import is_stale

    if is_stale(warehouse):
        refresh_catalog(warehouse)


def source_commit() -> str:
    """The commit of the source tree that this package runs from, `-dirty` with local changes; empty when installed."""
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


def peak_memory_bytes() -> int:
    """Most memory that this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


@dataclass(frozen=True)
class Plan:
    """One version to build: everything that its recipe names."""

    warehouse: Versions
    kind: Dataset[Any]
    parameters: Parameters
    inputs: Mapping[str, Table]
    files: tuple[Source, ...] = ()
    executor: Executor | None = None  # who computes shards; no part of the recipe
    elsewhere: Path | None = None  # the folder of the variant's versions, where that is not in the warehouse

    @property
    def raw_files(self) -> tuple[RawFile, ...]:
        """What the files to import are."""
        return tuple(source.file for source in self.files)

    @property
    def key(self) -> str:
        """The recipe key."""
        recipe = (self.kind.name, self.kind.revision, self.parameters.to_json(), input_digests(self.inputs))
        return recipe_key(*recipe, self.raw_files)

    @property
    def title(self) -> str:
        """`dataset/variant`, for messages."""
        return f"{self.kind.name}/{self.kind.slug(self.parameters)}"

    @property
    def staging_link(self) -> Path:
        """The folder of the unfinished build, or the link to it: another recipe or another kernel does not go on from
        it."""
        from bgdata.kernel_cache import kernel_fingerprint

        return self.warehouse.staging / f"{self.title.replace('/', '-')}-{self.key[:12]}-{kernel_fingerprint()}"

    @property
    def place(self) -> Path:
        """The folder of the variant's versions."""
        return self.elsewhere or self.warehouse.root / self.title

    @property
    def staging(self) -> Path:
        """The folder of the unfinished build, on the disk of the versions so that it can be renamed into place."""
        return self.beside(self.staging_link)

    def beside(self, staged: Path) -> Path:
        """What something in the staging folder is called on the disk of the versions."""
        return self.elsewhere / f".{staged.name}" if self.elsewhere else staged

    @property
    def lock(self) -> Path:
        """Held while a version of this variant is built."""
        return self.warehouse.staging / f"{self.title.replace('/', '-')}.lock"


def with_place(plan: Plan) -> Plan:
    """The plan of a version that goes where the others of its variant are, unless a folder was chosen for it. Raises
    StorageError where these are on a disk that is not there."""
    if plan.elsewhere:
        return plan
    place = place_of(plan.warehouse, plan.title, staged_builds(plan))
    return replace(plan, elsewhere=place if place != plan.place else None)


def staged_builds(plan: Plan) -> list[Path]:
    """What killed builds of this variant left in the staging folder: folders, and links to other disks."""
    return sorted(plan.warehouse.staging.glob(f"{plan.lock.stem}-{'?' * 12}-{'?' * 12}"))
