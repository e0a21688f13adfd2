"""Builds of every kind: the same values with any threads and processes, complete manifests, realistic estimates."""

import dataclasses
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

import numpy as np
import psutil
import pyarrow.parquet as pq
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.errors import InvalidParameterError, ManifestFormatError
from bgdata.kernel import threads
from bgdata.kinds import all_kinds
from bgdata.store import job, storage
from bgdata.store.dataset import Dataset
from bgdata.store.executors import InProcess, open_executor
from bgdata.store.parameters import Parameters, VersionRef
from bgdata.store.plan import folder_bytes
from bgdata.store.table import Table
from tests.conftest import sample_files
from tests.contract.kinds import HEADERS_BYTES, each_kind, sized_kinds, smallest_version
from tests.subtests import Subtests, each

P = ParamSpec("P")
T = TypeVar("T")

SHARDED = {"cube_studies", "cubeful_selfplay", "selfplay"}  # kinds that are known to use shards; others may too
# kinds besides bearoff tables with errors of approximation or rounding; others hold recorded, played or written data
BOUNDED = {"bearoff_labels", "bearoff_match", "race_rules", "referee_scores", "selfplay_labels"}
# kinds that need no statistics besides their rows
WITHOUT_STATISTICS = {"cube_studies", "engine_labels", "published_luck"}
# fields of manifests; fast builds have 0 seconds
MAY_BE_EMPTY = {"source_commit", "warnings", "statistics", "inputs", "raw_files", "seconds", "parts"}

PAGE_BYTES = 300  # overhead of a Parquet column with few values: headers of page and dictionary, minimum and maximum
TURNS = 45  # turns of a game of average players, assumed by estimates; the smallest networks play longer
GAMES = 2.5  # a match of n points has up to 2 n - 1 games; estimates assume 0.8 n
SMALL_BYTES = 1 << 20  # a megabyte never matters
WORKING_BYTES = 1 << 27  # for DuckDB and Arrow to write and check the files of any version


def network_kinds() -> dict[str, Dataset[Any]]:
    return {name: kind for name, kind in all_kinds().items() if "network_version" in kind.parameters.names()}


@each("kind", network_kinds)
def test_networks_that_may_be_retrained_are_named_by_version(memory_path: Path, kind: Dataset[Any]) -> None:
    """A recipe that names a network without its version is refused, because after retraining it would give other
    values."""
    warehouse = bgdata.open_warehouse(memory_path / "warehouse")
    with pytest.raises(InvalidParameterError, match="expected the version of the network mine, which does"):
        warehouse.build(kind.name, replace(kind.smallest, network="mine"))


@each("name", ["supervised_network", "contact_parts"])
def test_excluded_benchmarks_are_named_by_version(memory_path: Path, name: str) -> None:
    warehouse = bgdata.open_warehouse(memory_path / "warehouse")
    guard = VersionRef("rollout_decisions", "contact-1")
    with pytest.raises(InvalidParameterError, match="expected a version in guard, such as rollout_dec"):
        warehouse.build(name, replace(all_kinds()[name].smallest, guard=(guard,)))


class CountingExecutor(InProcess):
    """Computes shards in this process and counts them."""

    shards = 0

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        self.shards += 1
        return super().submit(function, *args, **kwargs)


@pytest.mark.slow
def test_every_kind_is_rebuilt_with_the_same_values(small_root: Path, memory_path: Path) -> None:
    """Every kind gives the same digest with other numbers of threads and processes, within the memory of its
    estimate."""
    shutil.copytree(small_root, memory_path / "warehouse")
    with open_executor("processes:2") as processes, Subtests() as subtests:
        for kind in all_kinds().values():
            with subtests.test(kind.name):
                digest = smallest_version(small_root, kind).manifest.digest
                check_rebuilds(kind, memory_path, digest, processes)


def check_rebuilds(kind: Dataset[Any], folder: Path, digest: str, processes: Executor) -> None:
    """Build the smallest variant of `kind` again with one thread, two threads and several processes: its digest is
    always `digest`, and it takes no more memory than was estimated."""
    warehouse = bgdata.open_warehouse(folder / "warehouse")
    in_process = CountingExecutor()
    files = sample_files(kind, folder)
    rebuild = partial(warehouse.build, kind.name, kind.smallest, files=files, force=True)
    with threads(1):
        assert rebuild(executor=in_process).manifest.digest == digest
    reset_peak_memory()
    before = psutil.Process().memory_info().rss
    with threads(2):
        assert rebuild(executor=in_process).manifest.digest == digest
    if sys.platform == "linux":
        assert peak_memory() - before <= kind.estimate(kind.smallest).memory_bytes + WORKING_BYTES
    assert in_process.shards or kind.name not in SHARDED
    if in_process.shards:
        assert rebuild(executor=processes).manifest.digest == digest


def reset_peak_memory() -> None:
    """Reset the peak memory of this process to its current memory, which only Linux supports."""
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> int:
    """The peak memory of this process in bytes since the last reset."""
    (line,) = (text for text in Path("/proc/self/status").read_text().splitlines() if text.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


@each_kind
def test_manifest_is_complete(small_root: Path, kind: Dataset[Any]) -> None:
    """The manifest of every kind has all its fields, and they agree with the kind's declaration and with the values."""
    table = smallest_version(small_root, kind)
    manifest = table.manifest
    inputs = kind.inputs(kind.smallest)
    for field in dataclasses.fields(manifest):
        assert getattr(manifest, field.name) or field.name in MAY_BE_EMPTY, field.name
    assert manifest.dataset == kind.name
    assert manifest.variant == kind.slug(kind.smallest)
    assert manifest.revision == kind.revision
    assert manifest.licence == kind.licence
    assert manifest.source == kind.source
    assert set(manifest.inputs) == set(inputs)
    assert bool(manifest.raw_files) == kind.takes_files
    assert manifest.recipe_key == bgdata.open_warehouse(small_root).recipe_key(kind, kind.smallest, manifest.raw_files)
    assert set(manifest.software) == {"bgdata", "numpy", "numba", "pyarrow", "duckdb", "python", "sources"}


@each_kind
def test_manifest_lists_every_file_and_counts_the_rows(small_root: Path, kind: Dataset[Any]) -> None:
    table = smallest_version(small_root, kind)
    declared = {shape.file for shape in kind.tables} | {f"{array.name}.npy" for array in kind.arrays}
    assert {entry.name for entry in table.manifest.files} == declared
    assert table.manifest.rows == pq.read_metadata(table.parquet).num_rows > 0


@each_kind
def test_statistics_are_finite_and_bounds_are_given(small_root: Path, kind: Dataset[Any]) -> None:
    statistics = smallest_version(small_root, kind).manifest.statistics
    assert bool(statistics) != (kind.name in WITHOUT_STATISTICS)
    assert all(np.isfinite(figure) for figure in statistics.values())
    if kind.name in BOUNDED | set(sized_kinds()):
        assert [name for name, figure in statistics.items() if name.endswith("error_bound") and 0 < figure < 0.1]


@each_kind
def test_parameters_round_trip_through_the_manifest(small_root: Path, kind: Dataset[Any]) -> None:
    recorded = smallest_version(small_root, kind).manifest.parameters
    assert recorded == kind.smallest.to_json()
    assert kind.parameters.from_manifest(recorded) == kind.smallest
    for invalid in ({}, {**recorded, "colour": 1}, {"colour": 1}):
        with pytest.raises(ManifestFormatError, match="expected the parameters "):
            kind.parameters.from_manifest(invalid)


@each_kind
def test_estimates_of_rows_and_disk_are_upper_bounds(small_root: Path, kind: Dataset[Any]) -> None:
    """The estimated rows and bytes of a build are not below the written ones, and not far above them."""
    estimate = kind.estimate(kind.smallest)
    manifest = smallest_version(small_root, kind).manifest
    if not estimate.rows:  # unknown before files, or another version, are read
        assert kind.takes_files or any(isinstance(value, VersionRef) for value in vars(kind.smallest).values())
        return
    length_factor = max(1.0, manifest.statistics.get("turns_per_game", 0.0) / TURNS)
    rows_factor = max(1.0, manifest.rows / estimate.rows)
    assert rows_factor <= (GAMES if length_factor > 1 else 1)
    if kind.name in sized_kinds():
        assert manifest.rows == estimate.rows
    written_bytes = sum(entry.bytes for entry in manifest.files)
    assert values_bytes(smallest_version(small_root, kind)) <= estimate.disk_bytes * length_factor * rows_factor
    assert estimate.disk_bytes <= max(4 * written_bytes, SMALL_BYTES)
    for parameters in kind.defaults:
        assert estimate.rows <= kind.estimate(parameters).rows


def values_bytes(table: Table) -> int:
    """The bytes of a version's values on disk, without fixed overheads of files."""
    arrays = sum(values.nbytes for values in table.arrays().values())
    return arrays + sum(parquet_bytes(path) for path in table.folder.glob("*.parquet"))


def parquet_bytes(path: Path) -> int:
    """The bytes of the values in a Parquet file."""
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    chunks = [group.column(column) for group in groups for column in range(metadata.num_columns)]
    return int(sum(max(0, chunk.total_compressed_size - PAGE_BYTES) for chunk in chunks))


@each_kind
def test_estimate_of_memory_is_sufficient(kind: Dataset[Any]) -> None:
    estimate = kind.estimate(kind.smallest)
    assert estimate.memory_bytes > estimate.disk_bytes / 2 or not estimate.disk_bytes
    for parameters in kind.defaults:
        assert estimate.memory_bytes <= kind.estimate(parameters).memory_bytes


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("bearoff_one_sided", RaceParameters(5)), ("bearoff_two_sided", TwoSidedParameters(5, 5))],
)
def test_estimates_have_room_for_checkpoints(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, parameters: Parameters
) -> None:
    """The estimated disk space of a build covers its largest use at any time, with a checkpoint after every step."""
    warehouse = bgdata.open_warehouse(memory_path)
    used_bytes: dict[str, list[int]] = {"remove_folder": [], "publish": []}

    def measure_before(module: ModuleType, name: str) -> None:
        function = getattr(module, name)

        def measured(*arguments: Any) -> None:
            used_bytes[name].append(folder_bytes(warehouse.staging))
            function(*arguments)

        monkeypatch.setattr(module, name, measured)

    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    measure_before(job, "remove_folder")  # of a checkpoint, once the next one is complete or the last is unnecessary
    measure_before(storage, "publish")  # after Parquet files are written
    warehouse.build(name, parameters)
    estimate = warehouse.kind(name).estimate(parameters)
    most_bytes = max(max(used_bytes["remove_folder"]), max(used_bytes["publish"]))
    assert most_bytes <= estimate.building_bytes + 2 * HEADERS_BYTES
    assert estimate.building_bytes < 1.6 * most_bytes
