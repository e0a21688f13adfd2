"""Building one version: compute aside, hash, write Parquet, check, and rename into place.

The staging folder is named by the recipe key, so the next build of the same recipe goes on where a killed one stopped:
from the last checkpoint, or from the finished arrays.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import psutil

from bgdata.errors import CheckFailedError, CorruptFileError, MissingTableError, TooLargeError
from bgdata.store.arrays import map_array, values_digest
from bgdata.store.dataset import Dataset, Estimate, Parameters
from bgdata.store.job import Job
from bgdata.store.manifest import FILE_NAME as MANIFEST_NAME
from bgdata.store.manifest import FileEntry, Manifest, recipe_key
from bgdata.store.progress import Progress
from bgdata.store.storage import locked, publish, remove_folder, sha256_file, storage_errors, sync, write_file
from bgdata.store.table import PARQUET, Table
from bgdata.store.warehouse import Warehouse, input_digests

COMPUTED = "computed.json"  # in the staging folder: all arrays are saved, and how long that took


@dataclass(frozen=True)
class Plan:
    """One version to build: everything that its recipe names."""

    warehouse: Warehouse
    kind: Dataset[Any]
    parameters: Parameters
    inputs: Mapping[str, Table]

    @property
    def key(self) -> str:
        """The recipe key."""
        return recipe_key(self.kind.name, self.kind.revision, vars(self.parameters), input_digests(self.inputs))

    @property
    def title(self) -> str:
        """`dataset/variant`, for messages."""
        return f"{self.kind.name}/{self.kind.slug(self.parameters)}"

    @property
    def staging(self) -> Path:
        """The folder of the unfinished build."""
        return self.warehouse.staging / f"{self.kind.name}-{self.kind.slug(self.parameters)}-{self.key[:12]}"


def build(
    warehouse: Warehouse, kind: Dataset[Any], parameters: Parameters, progress: Progress, *, force: bool
) -> Table:
    """Build a version and, first, its inputs; returns the one there is when nothing is to do. See Warehouse.build."""
    kind.check_parameters(parameters)
    inputs = {
        role: warehouse.build(name, wanted, progress=progress)
        for role, (name, wanted) in kind.inputs(parameters).items()
    }
    plan = Plan(warehouse, kind, parameters, inputs)
    found = None if force else warehouse.find(kind, parameters)
    if found is not None:
        progress.note(f"{plan.title}: already built ({found.folder.name})")
        return found
    check_estimate(plan)
    lock = plan.staging.with_suffix(".lock")
    with locked(lock, lambda: progress.note(f"{plan.title}: another process is building it; waiting")):
        found = None if force else warehouse.find(kind, parameters)
        table = found or build_alone(plan, progress)
    refresh_catalog(warehouse)
    return table


def build_alone(plan: Plan, progress: Progress) -> Table:
    """Compute, write, check and publish; the caller holds the lock."""
    with storage_errors("create", plan.staging):
        if (plan.staging / MANIFEST_NAME).exists():  # killed while it was published: files may be read-only already
            remove_folder(plan.staging)
        plan.staging.mkdir(parents=True, exist_ok=True)
        for partial in plan.staging.glob(".*.partial"):
            partial.unlink()
    seconds = compute_arrays(plan, progress)
    try:
        manifest = finish(plan, seconds, progress)
    except (CheckFailedError, CorruptFileError, MissingTableError):
        (plan.staging / COMPUTED).unlink(missing_ok=True)  # the next build computes the arrays anew
        raise
    target = plan.warehouse.root / manifest.dataset / manifest.variant / manifest.version
    publish(plan.staging, target)
    progress.note(f"{plan.title}: built {manifest.version}, {manifest.rows:,} rows in {manifest.seconds:.1f} s")
    return Table(target)


def compute_arrays(plan: Plan, progress: Progress) -> float:
    """Save every declared array in the staging folder, unless a killed build got that far; returns the seconds."""
    marker = plan.staging / COMPUTED
    job = Job(plan.staging, progress)
    if marker.exists():
        progress.note(f"going on with {plan.title} from finished arrays")
    else:
        start = time.perf_counter()
        plan.kind.compute(plan.parameters, plan.inputs, job)
        seconds = time.perf_counter() - start
        with storage_errors("write", plan.staging):
            for entry in plan.kind.arrays:
                sync(plan.staging / f"{entry.name}.npy")
        write_file(marker, json.dumps({"seconds": seconds}).encode())
    job.clear_checkpoints()
    return float(json.loads(marker.read_text())["seconds"])


def finish(plan: Plan, seconds: float, progress: Progress) -> Manifest:
    """Hash the arrays, write the Parquet file, run the SQL checks and save the manifest; returns it."""
    from bgdata.store.checks import run_sql_checks
    from bgdata.store.parquet import write_parquet

    kind, staging = plan.kind, plan.staging
    arrays = {entry.name: map_array(staging / f"{entry.name}.npy") for entry in kind.arrays}
    digest = values_digest(arrays)
    footer = {"bgdata.dataset": plan.title, "bgdata.digest": digest, "bgdata.recipe_key": plan.key}
    progress.start(f"{plan.title}: writing Parquet", kind.estimate(plan.parameters).rows, "rows")
    rows = write_parquet(staging / PARQUET, kind.batches(plan.parameters, arrays), kind.key, footer, progress)
    run_sql_checks(kind, plan.parameters, staging / PARQUET)
    statistics = dict(kind.statistics(plan.parameters, arrays))
    manifest = describe(plan, digest, rows, statistics, seconds)
    (staging / COMPUTED).unlink()
    manifest.save(staging)
    return manifest


def describe(plan: Plan, digest: str, rows: int, statistics: dict[str, float], seconds: float) -> Manifest:
    """The manifest of the arrays and the Parquet file in the staging folder."""
    from bgdata.kernel import kernel_fingerprint

    names = [PARQUET, *(f"{entry.name}.npy" for entry in plan.kind.arrays)]
    paths = [plan.staging / name for name in names]
    return Manifest(
        dataset=plan.kind.name,
        variant=plan.kind.slug(plan.parameters),
        revision=plan.kind.revision,
        parameters=vars(plan.parameters),
        recipe_key=plan.key,
        digest=digest,
        inputs=input_digests(plan.inputs),
        rows=rows,
        files=[FileEntry(path.name, path.stat().st_size, sha256_file(path)) for path in paths],
        statistics=statistics,
        licence=plan.kind.licence,
        source=plan.kind.source,
        kernel_fingerprint=kernel_fingerprint(),
        software={name: installed_version(name) for name in ("bgdata", "numpy", "numba", "pyarrow", "duckdb")}
        | {"python": platform.python_version()},
        source_commit=source_commit(),
        created=datetime.now(UTC).isoformat(timespec="microseconds"),
        seconds=round(seconds, 3),
        peak_memory_bytes=peak_memory_bytes(),
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    )


def check_estimate(plan: Plan) -> None:
    """Raise TooLargeError when the build would fit neither into memory nor onto the disk."""
    estimate = plan.kind.estimate(plan.parameters)
    memory = psutil.virtual_memory().available
    folder = plan.warehouse.root
    while not folder.exists():
        folder = folder.parent
    disk = shutil.disk_usage(folder).free
    for need, have, what in ((estimate.memory_bytes, memory, "memory"), (estimate.disk_bytes, disk, "disk space")):
        if need > have:
            raise TooLargeError(
                f"expected {readable_bytes(need)} of free {what} for {plan.title} ({estimate_text(estimate)}), "
                f"found {readable_bytes(have)}; build fewer points or checkers"
            )


def estimate_text(estimate: Estimate) -> str:
    """`25,050,025 rows, 0.4 GB on disk, 0.5 GB of memory`."""
    disk, memory = readable_bytes(estimate.disk_bytes), readable_bytes(estimate.memory_bytes)
    return f"{estimate.rows:,} rows, about {disk} on disk and {memory} of memory"


def readable_bytes(count: float) -> str:
    """A size in decimal units with three figures."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"


def refresh_catalog(warehouse: Warehouse) -> None:
    """Rebuild the catalog from the manifests."""
    from bgdata.store.catalog import write_catalog

    write_catalog(warehouse)


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
