"""Two tiny kinds without backgammon, which tests of the store build in milliseconds and damage."""

import functools
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.kinds import all_kinds
from bgdata.store import dataset
from bgdata.store.manifest import FileEntry
from bgdata.store.names import CURRENT
from bgdata.store.parameters import Parameters
from bgdata.store.progress import Silence
from bgdata.store.registry import Kinds
from bgdata.store.storage import remove_folder, sha256_file
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse


@dataclass(frozen=True)
class Count(Parameters):
    """Numbers below `count`."""

    count: int = 20


class Toy(dataset.Dataset[Count], dataset.Computation[Count]):
    """A column of integers and an array of the same name, declared and computed in one class."""

    value: ClassVar[str]
    revision = 1
    source = "Made up"
    key = ("number",)
    row_group_rows = 8
    parameters = Count
    defaults: tuple[Count, ...] = (Count(), Count(30))
    smallest = Count(10)

    def __init__(self) -> None:
        super().__init__(self)

    @functools.cached_property
    def computation(self) -> dataset.Computation[Count]:
        return self

    def slug(self, parameters: Count) -> str:
        return f"{parameters.count}"

    def check_parameters(self, parameters: Count) -> None:
        if parameters.count < 1:
            raise InvalidParameterError(f"expected at least 1 number, got {parameters.count}")

    def estimate(self, parameters: Count) -> dataset.Estimate:
        return dataset.Estimate(parameters.count, 1000 * parameters.count, 10_000 * parameters.count)

    def batches(self, computed: dataset.Computed[Count]) -> Iterator[pa.RecordBatch]:
        for start in range(0, computed.parameters.count, self.row_group_rows):
            values = computed.arrays[self.value][start : start + self.row_group_rows]
            numbers = np.arange(start, start + len(values), dtype=np.int32)
            yield pa.record_batch({"number": numbers, self.value: np.ascontiguousarray(values)})


class Squares(Toy):
    """Computed in steps with checkpoints."""

    name = "squares"
    value = "square"
    summary = "Squares of the first numbers."
    columns: ClassVar[tuple[dataset.Column, ...]] = (
        dataset.Column("number", "INTEGER", "", "Number"),
        dataset.Column("square", "BIGINT", "units", "Its square"),
    )
    arrays: ClassVar[tuple[dataset.FlatArray, ...]] = (dataset.FlatArray("square", "int64", "number", "Squares"),)

    def compute(self, build: dataset.Build[Count]) -> None:
        count = build.parameters.count
        state = {"done": np.zeros(count, np.int64)}
        for number in build.job.steps("numbers", range(count), [1] * count, state):
            state["done"][number] = number**2
        build.job.save("square", state["done"])

    def statistics(self, computed: dataset.Computed[Count]) -> Mapping[str, float]:
        return {"largest": float(computed.arrays["square"].max())}

    def check_sample(self, recheck: dataset.Recheck[Count]) -> str:
        squares = recheck.table.array("square")
        for number in recheck.generator.integers(0, len(squares), recheck.rows).tolist():
            if squares[number] != number**2:
                raise CheckFailedError(f"expected {number**2} at {number}, found {squares[number]}")
        return dataset.sample_text(recheck.rows, len(squares))


class SquareSums(Toy):
    """Computed from the squares, written row by row."""

    name = "square_sums"
    value = "total"
    summary = "Running sums of squares."
    columns = (
        dataset.Column("number", "INTEGER", "", "Number"),
        dataset.Column("total", "BIGINT", "units", "Sum of squares up to it"),
    )
    arrays = (dataset.FlatArray("total", "int64", "number", "Sums"),)

    def inputs(self, parameters: Count) -> Mapping[str, tuple[str, Parameters]]:
        return {"terms": ("squares", parameters)}

    def compute(self, build: dataset.Build[Count]) -> None:
        totals = np.cumsum(build.inputs["terms"].array("square"))
        with build.job.create("total", np.int64, (build.parameters.count,)) as writer:
            for number, total in enumerate(totals):
                writer.write(number, total)


class Notes(Silence):
    """Progress that records notes and counts."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.total = self.done = 0

    def start(self, label: str, total: int, unit: str) -> None:  # noqa: ARG002
        self.total = total
        self.done = 0

    def advance(self, count: int) -> None:
        self.done += count

    def note(self, text: str) -> None:
        self.texts.append(text)


def toy_warehouse(root: Path, **changes: dataset.Dataset[Count]) -> Warehouse:
    """A warehouse that knows only the toys; `changes` replaces or adds declarations."""
    return Warehouse(
        root, Kinds({"squares": Squares(), "square_sums": SquareSums(), **changes}, sql=all_kinds().sql.folders)
    )


def whole_versions(warehouse: Warehouse) -> list[str]:
    """Names of all versions, after checking their files and hashes against the manifests."""
    from bgdata.store.verify import check_hashes, check_manifest, check_values

    names = []
    for table in warehouse.versions():
        check_manifest(warehouse, table)
        check_hashes(table)
        check_values(table)
        expected = {entry.name for entry in table.manifest.files} | {"manifest.json"}
        assert {path.name for path in table.folder.iterdir()} == expected
        names.append(table.name)
    return names


def problems(warehouse: Warehouse, rows: int = 5) -> list[str]:
    """The errors of `bgdata verify`."""
    from bgdata.store.verify import verify

    found = verify(warehouse, list(warehouse.versions()), sample_rows=rows, seed=0, progress=Silence())
    return [finding.problem for finding in found if finding.problem]


def overwrite(path: Path, data: bytes) -> None:
    """Write other bytes into a read-only file."""
    path.chmod(0o644)
    path.write_bytes(data)


def put_on_missing_disk(version: Path) -> None:
    """Put the variant on a missing disk."""
    remove_folder(version.parent)
    version.parent.symlink_to("/nowhere/disk")


def replace_by_broken_link(version: Path) -> None:
    """Replace the version by a broken link."""
    remove_folder(version)
    version.symlink_to("nowhere")


def replace_by_file(version: Path) -> None:
    """Replace the version by a file."""
    remove_folder(version)
    version.write_text("")


def break_pointer(version: Path) -> None:
    """Let `current` name a missing version."""
    (version.parent / CURRENT).write_text("r1-00000000\n")


# ways in which the current version, in the folder given, gets lost
GONE: dict[str, Callable[[Path], None]] = {
    lose.__name__: lose
    for lose in (remove_folder, put_on_missing_disk, replace_by_broken_link, replace_by_file, break_pointer)
}


def damage_parquet(table: Table, change: Callable[[bytes], bytes]) -> None:
    overwrite(table.parquet, change(table.parquet.read_bytes()))


def replace_parquet_by_link(table: Table) -> None:
    table.parquet.rename(table.folder / "other")
    table.parquet.symlink_to("other")


def replace_parquet_by_pipe(table: Table) -> None:
    table.parquet.unlink()
    os.mkfifo(table.parquet)


def change_parameters(table: Table, **parameters: int) -> None:
    replace(table.manifest, parameters=parameters).save(table.folder)


# kinds of damage that make queries of a version fail
DAMAGES: dict[str, Callable[[Table], object]] = {
    "longer": lambda table: damage_parquet(table, lambda data: data + b"x"),
    "truncated": lambda table: damage_parquet(table, lambda data: data[:-4]),
    "junk": lambda table: damage_parquet(table, lambda data: data[:-4] + b"junk"),
    "missing": lambda table: table.parquet.unlink(),
    "a link": replace_parquet_by_link,
    "a pipe": replace_parquet_by_pipe,
    "no manifest": lambda table: (table.folder / "manifest.json").unlink(),
    "other manifest": lambda table: overwrite(table.folder / "manifest.json", b"{}"),
    "other parameters": lambda table: change_parameters(table, size=40),
    "other variant": lambda table: change_parameters(table, count=40),
}


def update_manifest(table: Table) -> None:
    """Make the manifest of a version match its files again, as after a careful forgery."""
    files = [
        FileEntry(entry.name, (table.folder / entry.name).stat().st_size, sha256_file(table.folder / entry.name))
        for entry in table.manifest.files
    ]
    replace(table.manifest, files=files).save(table.folder)


PACKAGE_NUMBERS = itertools.count()


def declare_toys(folder: Path, monkeypatch: pytest.MonkeyPatch, sql: Iterable[Path] = ()) -> Kinds:
    """The toy kinds as modules of a new package in a folder of a test, and their SQL."""
    package = folder / f"toys_{next(PACKAGE_NUMBERS)}"  # a new one in each test, because imported modules stay
    package.mkdir()
    (package / "__init__.py").touch()
    for toy in (Squares, SquareSums):
        name = toy.__name__
        (package / f"{toy.name}.py").write_text(f"from tests.store.toy import {name}\n\nDATASET = {name}()\n")
    monkeypatch.syspath_prepend(folder)
    return Kinds({toy.name: f"{package.name}.{toy.name}" for toy in (Squares, SquareSums)}, sql=sql)
