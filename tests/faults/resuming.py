"""Stopped work with damaged checkpoints: resuming gives the same values, or an error of one line."""

import ast
import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import pytest

import bgdata
from bgdata.bearoff.kinds.shared.two_sided_parquet import write_parts
from bgdata.bearoff.tables import TwoSidedTable
from bgdata.errors import BgdataError, StorageError
from bgdata.imports.sources import Source, SourceFile
from bgdata.imports.steps import fetch_file
from bgdata.kernel_cache import kernel_cache
from bgdata.store import catalog, job
from bgdata.store.places import Folder
from bgdata.store.progress import Silence
from bgdata.store.storage import remove_folder
from bgdata.store.transfer import Transfer
from bgdata.warehouse import Warehouse
from tests.conftest import build_small, sample_files
from tests.faults.asking import HANG_SECONDS
from tests.faults.campaign import Campaign, shuffled
from tests.faults.damage import DAMAGES
from tests.kept import PACKAGE, kept_folder, link
from tests.store import processes

MOMENTS = (1, 2, 3, 5, 8, 13, 21, 34)  # reports of progress after which the state is copied
Words = Counter[str]


class Moments(Silence):
    """Copies a staging folder during a build, as a killed build would leave it."""

    def __init__(self, staging: Path, place: Path) -> None:
        self.staging = staging
        self.place = place
        self.reports = 0
        self.taken: list[Path] = []
        self.notes: list[str] = []

    def start(self, label: str, total: int, unit: str) -> None:  # noqa: ARG002
        """Copy when values are complete and Parquet is written."""
        if "Parquet" in label:
            self.take()

    def advance(self, count: int) -> None:  # noqa: ARG002
        """Copy at some of the reports."""
        self.reports += 1
        if self.reports in MOMENTS:
            self.take()

    def note(self, text: str) -> None:
        """Store the note."""
        self.notes.append(text)

    def take(self) -> None:
        """Copy the folder, unless a thread is changing it."""
        target = self.place / str(len(self.taken))
        with suppress(OSError):
            shutil.copytree(self.staging, target, ignore=shutil.ignore_patterns("*.lock"))
            if parts_in(target):
                self.taken.append(target)
                return
        shutil.rmtree(target, ignore_errors=True)


def parts_in(folder: Path) -> list[Path]:
    """The files that are not empty in a folder of stopped work."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)


def damaged(folder: Path, others: Iterable[Path], name: str, chance: random.Random) -> Path:
    """Damage one file of a folder and return it; swapping uses a file of the same name from `others`."""
    parts = parts_in(folder)
    part = chance.choice(parts)
    same = [each for each in others if each.name == part.name and each.read_bytes() != part.read_bytes()]
    beside = [each for each in parts if each != part]
    DAMAGES[name if same or beside else "removed"](part, chance.choice(same or beside or [part]), chance)
    return part


def outcome(go_on: Callable[[], bool]) -> str:
    """Words for the result of resumed work, which must be correct or one line of error."""
    try:
        is_right = go_on()
    except BgdataError as error:
        lines = str(error).splitlines()
    else:
        assert is_right, "expected the values of undamaged work, found others"
        return "same values"
    assert len(lines) == 1, f"expected one line, found {lines}"
    return "told in one line"


def builds(kind: str, small: Path, folder: Path, chance: random.Random) -> Words:
    """Resume builds of the smallest variant of a kind from copies, each with one damaged file."""
    job.CHECKPOINT_SECONDS = 0.0
    warehouse = bgdata.open_warehouse(link(small, folder / "warehouse"))
    declared = warehouse.kind(kind)
    (folder / "files").mkdir()
    files = sample_files(declared, folder / "files")
    variant = warehouse.root / kind / declared.slug(declared.smallest)
    expected = warehouse.open(kind, variant.name).manifest.digest

    def build(progress: Silence) -> bool:
        remove_folder(variant)
        table = warehouse.build(kind, declared.smallest, files=files, progress=progress, with_catalog=False)
        return table.manifest.digest == expected

    remove_folder(warehouse.staging)
    moments = Moments(warehouse.staging, folder / "moments")
    moments.place.mkdir()
    assert build(moments), "expected the digest of the small warehouse"
    found = Words()
    parts = [part for each in moments.taken for part in parts_in(each)]
    for name in DAMAGES if parts else ():
        shutil.rmtree(warehouse.staging, ignore_errors=True)
        shutil.copytree(chance.choice(moments.taken), warehouse.staging)
        part = damaged(warehouse.staging, parts, name, chance)
        try:
            found[f"{outcome(lambda: build(Silence()))}"] += 1
        except Exception as error:
            error.add_note(f"{kind}: {part.relative_to(warehouse.staging)} {name}")
            raise
    found["kinds that keep nothing at their smallest"] += not parts
    return found


def downloads(small: Path, folder: Path, chance: random.Random) -> Words:  # noqa: ARG001
    """Resume downloads from a damaged first part of a file."""
    import bz2
    import hashlib

    from tests.pipelines.mirror import Mirror

    text = chance.randbytes(300_000).hex().encode()
    mirror = Mirror("file.bz2", bz2.compress(text))
    mirror.may_finish.set()
    found = Words()
    try:
        for name in DAMAGES:
            path = folder / name / "file.bz2"
            path.parent.mkdir(parents=True)
            partial = path.with_name("file.bz2.partial")
            other = folder / "other"
            partial.write_bytes(mirror.content[: chance.randrange(1, len(mirror.content))])
            other.write_bytes(chance.randbytes(chance.randrange(1, 2 * len(mirror.content))))
            DAMAGES[name](partial, other, chance)
            digest = hashlib.sha256(text).hexdigest()
            file = SourceFile("file.bz2", f"{mirror.address}/file.bz2", content_sha256=digest)
            source = Source("mirror", "", "", "", "", (file,))
            kept = other.read_bytes()

            def is_whole() -> bool:
                return fetch_file(source, file, path.parent, Silence()).read_bytes() == mirror.content  # noqa: B023

            found[outcome(is_whole)] += 1
            assert other.read_bytes() == kept, "expected nothing to be written through a link"
    finally:
        mirror.close()
    return found


def rollouts(small: Path, folder: Path, chance: random.Random) -> Words:
    """Resume rollouts from damaged blocks of trials."""
    kernels = kernel_cache()
    cache = folder / "cache"
    cache.mkdir()
    (cache / kernels.name).symlink_to(kernels)
    os.environ["BGDATA_CACHE"] = str(cache)  # before kernels are imported, which remember where they are kept
    from bgdata.selfplay.commands import rollout as command
    from tests.command_line import output_of, run
    from tests.selfplay.commands.test_rollout import POSITION, run_stopped

    command.MIN_BLOCKS = 1
    command.SLICE_SECONDS = 0.0
    arguments = tuple("tiny" if word == "random" else word for word in POSITION)
    whole = output_of(small, "rollout", *arguments)
    found = Words()
    for name in DAMAGES:
        with pytest.MonkeyPatch.context() as patch:
            for _ in range(2):
                run_stopped(patch, small, arguments, 1, KeyboardInterrupt())
        parts = parts_in(cache / "rollouts")
        assert parts, "expected blocks to be kept"
        damaged(cache / "rollouts", parts, name, chance)
        result = run(small, "rollout", *arguments)
        assert (result.exit_code, result.stdout) == (0, whole), (
            f"expected the figures with {name} parts, found {result}"
        )
        assert not parts_in(cache / "rollouts"), "expected nothing to be left"
        found["same values"] += 1
    return found


def parquet_parts(small: Path, folder: Path, chance: random.Random) -> Words:
    """Resume the export of Parquet parts from damaged ones."""
    table = TwoSidedTable(bgdata.open_warehouse(small).open("bearoff_two_sided", "3x3"))
    whole = folder / "whole"
    write_parts(table, whole, Silence())
    import pyarrow.dataset as ds  # loads pandas

    expected = ds.dataset(whole, partitioning="hive").to_table()
    found = Words()

    def goes_on(place: Path) -> bool:
        write_parts(table, place, Silence())
        return bool(ds.dataset(place, partitioning="hive").to_table().equals(expected))

    for name in DAMAGES:
        place = Path(shutil.copytree(whole, folder / name))
        chance.choice(sorted(place.rglob("[!.]*.parquet"))).unlink()
        damaged(place, parts_in(whole), name, chance)
        found[outcome(lambda: goes_on(place))] += 1  # noqa: B023
    return found


class CutShort(Silence):
    """Fails after so many reports."""

    def __init__(self, reports: int) -> None:
        self.reports = reports

    def advance(self, count: int) -> None:  # noqa: ARG002
        self.reports -= 1
        if self.reports < 0:
            raise StorageError("cut short")


def transfers(small: Path, folder: Path, chance: random.Random) -> Words:
    """Resume pulls from a damaged file of a version that is half there."""
    source = bgdata.open_warehouse(small).open("bearoff_two_sided", "3x3")
    found = Words()

    def goes_on(warehouse: Warehouse) -> bool:
        Transfer(Silence()).pull(warehouse, Folder(small), [source.name])
        return warehouse.open("bearoff_two_sided", "3x3").manifest.digest == source.manifest.digest

    for name in DAMAGES:
        warehouse = bgdata.open_warehouse(folder / name)
        with suppress(BgdataError):
            Transfer(CutShort(1), jobs=1).pull(warehouse, Folder(small), [source.name])
        parts = parts_in(warehouse.staging)
        if parts:
            damaged(warehouse.staging, parts_in(source.folder), name, chance)
        found["pulls that kept nothing"] += not parts
        found[outcome(lambda: goes_on(warehouse))] += 1  # noqa: B023
    return found


def publications(small: Path, folder: Path, chance: random.Random) -> Words:
    """Publish again into a folder in which a file of a finished version is damaged."""
    from bgdata.publishing import publish  # loads PyArrow

    warehouse = bgdata.open_warehouse(small)
    scopes = ["bearoff_two_sided/3x3", "bearoff_gammon"]
    whole = folder / "whole"
    found = Words()

    def contents(place: Path) -> dict[str, bytes]:
        return {path.relative_to(place).as_posix(): path.read_bytes() for path in parts_in(place)}

    def publish_again(place: Path) -> bool:
        publish(warehouse, place, scopes)
        return contents(place) == contents(whole)

    publish(warehouse, whole, scopes)
    for name in DAMAGES:
        place = Path(shutil.copytree(whole, folder / name))
        damaged(place / "data", parts_in(whole / "data"), name, chance)
        found[outcome(lambda: publish_again(place))] += 1  # noqa: B023
    return found


def published_pulls(small: Path, folder: Path, chance: random.Random) -> Words:
    """Resume pulls from a published folder, from a damaged file of a version that is half there."""
    from bgdata.publishing import publish  # loads PyArrow
    from bgdata.publishing.pull import PublishedPull

    source = bgdata.open_warehouse(small)
    published = folder / "published"
    found = Words()
    contents = publish(source, published, ["bearoff_two_sided/3x3"])
    (version,) = contents.versions

    def goes_on(warehouse: Warehouse) -> bool:
        PublishedPull(warehouse, Folder(published), contents, Silence()).pull()
        return (
            warehouse.open_reference(version.name).manifest.digest
            == source.open_reference(version.name).manifest.digest
        )

    for name in DAMAGES:
        warehouse = bgdata.open_warehouse(folder / name)
        with suppress(BgdataError):
            PublishedPull(warehouse, Folder(published), contents, CutShort(0)).pull()
        parts = parts_in(warehouse.staging)
        if parts:
            damaged(warehouse.staging, parts_in(published), name, chance)
        found["pulls that kept nothing"] += not parts
        found[outcome(lambda: goes_on(warehouse))] += 1  # noqa: B023
    return found


# work that can be resumed, by its module: the first has all kinds
KEEPERS: dict[str, Callable[[Path, Path, random.Random], Words] | None] = {
    "store/build.py": None,
    "store/download.py": downloads,
    "store/transfer.py": transfers,
    "publishing/folder.py": publications,
    "publishing/pull.py": published_pulls,
    "selfplay/commands/rollout.py": rollouts,
    "bearoff/kinds/shared/two_sided_parquet.py": parquet_parts,
}


def modules_that_keep() -> set[str]:
    """The modules of the package that call `process.keeping`."""
    return {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "keeping"
    }


def perform(name: str, small: Path, folder: Path, seed: str, report: Path) -> None:
    """In another process: damage the checkpoints of one work in every way."""
    keeper = KEEPERS.get(name)
    chance = random.Random(seed)
    found = keeper(small, folder, chance) if keeper else builds(name, small, folder, chance)
    report.write_text(json.dumps(found))


class Resuming(Campaign):
    """Each case is one kind, or other work that can be resumed, with every damage to its checkpoints."""

    name = "resuming"
    small = 8
    full = 2 * (len(bgdata.all_kinds()) + len(KEEPERS))

    def prepare(self) -> None:
        samples = self.root / "samples"
        samples.mkdir()
        with pytest.MonkeyPatch.context() as patch:  # one at the end is enough, and takes as long as all builds
            patch.setattr(catalog, "refresh_catalog", lambda _, **__: None)
            self.whole = kept_folder("small", lambda folder: build_small(samples, folder), goes_on=True) / "warehouse"
        others = [name for name, keeper in KEEPERS.items() if keeper]
        self.names = shuffled([*bgdata.all_kinds(), *others], self.seed)

    def case(self, number: int, chance: random.Random, folder: Path) -> Iterable[str]:
        name = self.names[number % len(self.names)]
        report = folder / "report"
        process = processes.start(perform, name, self.whole, folder, str(chance.random()), report)
        process.join(HANG_SECONDS)
        is_hanging = process.exitcode is None
        process.kill()
        assert not is_hanging, f"expected {name} to go on or to end, found that it hangs"
        assert process.exitcode == 0, f"expected {name} to go on or to end, found exit code {process.exitcode}"
        return Words(json.loads(report.read_text())).elements()
