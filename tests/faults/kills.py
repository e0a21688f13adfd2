"""Kills work at any moment: nothing is half-published, existing versions stay valid, and the work can be resumed.

Half of the kills are right before a change of a file, chosen by number and reproducible by seed; the others are after a
random time, also inside native code.
"""

import os
import random
import signal
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import duckdb
import psutil

from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.errors import WorkerError
from bgdata.kinds import all_kinds
from bgdata.store import job
from bgdata.store.catalog import write_catalog
from bgdata.store.dataset import Build
from bgdata.store.executors import open_executor
from bgdata.store.housekeeping import rubbish, sweep
from bgdata.store.lockfile import read_lock, save_lock
from bgdata.store.manifest import FILE_NAME
from bgdata.store.names import CURRENT
from bgdata.store.parameters import Parameters
from bgdata.store.progress import Silence
from bgdata.store.shards import compute_shards, ranges
from bgdata.store.storage import sha256_file
from bgdata.warehouse import Warehouse
from tests.faults.campaign import Campaign
from tests.formats import samples
from tests.imports.importing import Imports
from tests.store import processes, sharing
from tests.store.toy import Count, Squares, SquareSums, problems, whole_versions

KILLED = -signal.SIGKILL
LOST_A_WORKER = 7
MAX_KILLS = 3  # kills of the same work, in turn
TRAINING_TEXT = (samples.TRAINING_ROW + b"# comment\nnonsense\n") * 500


class Slow(Silence):
    """Slow progress, so that kills occur between any two steps."""

    def advance(self, count: int) -> None:
        time.sleep(0.02 if count > 1 else 0.002)


class SharedSquares(Squares):
    """Squares computed in shards."""

    def compute(self, build: Build[Count]) -> None:
        parts = ranges(build.parameters.count, 4)
        found = compute_shards(build.job, "numbers", sharing.work(seconds="0.01"), parts)
        with build.job.create("square", "int64", (build.parameters.count,)) as writer:
            for part, arrays in zip(parts, found, strict=True):
                writer.write(part.start, arrays["square"])


class SquareParts(sharing.PartedSquares):
    """Squares in parts, beside the others."""

    name = "square_parts"


def warehouse_of(root: Path) -> Warehouse:
    """The warehouse that all work is done in."""
    toys = {"squares": SharedSquares(), "square_sums": SquareSums(), "square_parts": SquareParts()}
    return Warehouse(root, all_kinds() | toys)


def build(kind: str, parameters: Parameters, root: Path, *, force: bool = False, executor: str = "local") -> None:
    """Build a variant slowly; a lost worker becomes an exit code."""
    try:
        with open_executor(executor) as opened:
            warehouse_of(root).build(kind, parameters, progress=Slow(), force=force, executor=opened)
    except WorkerError:
        os._exit(LOST_A_WORKER)


def import_text(kind: str, text: bytes, root: Path) -> None:
    """Import a file."""
    folder = root.parent / f"{root.name}-files"
    imports = Imports(folder)
    imports.warehouse = warehouse_of(root)
    imports.text(kind, text)


def write_again(root: Path) -> None:
    """Rewrite the catalog and the lock several times."""
    warehouse = warehouse_of(root)
    for _ in range(3):
        write_catalog(warehouse)
        save_lock(warehouse.lock, [table.manifest for table in warehouse.versions()])


def import_two(root: Path) -> None:
    """Import two files under one name, in turn."""
    for text in (b"4HPwATDgc/ABMA\n", b"v90EAIC3BgAAAA\n"):
        import_text("positions", text, root)


def use_in_turn(root: Path) -> None:
    """Change the current version of a variant several times; the last one is current at the end."""
    warehouse = warehouse_of(root)
    for _ in range(4):
        for table in warehouse.versions("positions"):
            warehouse.use(table)


def clean_up(root: Path) -> None:
    """Delete versions that nothing needs."""
    warehouse = warehouse_of(root)
    sweep(warehouse, rubbish(warehouse))


class Work(NamedTuple):
    """Work to kill, and preparations that are not killed."""

    do: Callable[[Path], None]
    before: Callable[[Path], None] | None = None
    has_workers: bool = False


SUMS = partial(build, "square_sums", Count(30))
WORKS = {
    "steps": Work(SUMS),
    "rebuild": Work(partial(SUMS, force=True), SUMS),
    "shards": Work(partial(build, "squares", Count(100))),
    "processes": Work(partial(build, "squares", Count(100), executor="processes:2"), None, True),
    "parts": Work(partial(build, "square_parts", Count(12))),
    "one-sided": Work(partial(build, "bearoff_one_sided", RaceParameters(5))),
    "two-sided": Work(partial(build, "bearoff_two_sided", TwoSidedParameters(5, 6))),
    "import": Work(partial(import_text, "gnubg_training", TRAINING_TEXT)),
    "catalog and lock": Work(write_again, SUMS),
    "current": Work(use_in_turn, import_two),
    "clean up": Work(clean_up, import_two),
}


def perform(name: str, root: Path, begun: Path, kill_at: int | None, report: Path) -> None:
    """In another process: do some work and die at a chosen change, or write the number of changes and seconds."""
    changes = 0

    def count(number: int) -> None:
        nonlocal changes
        changes = number + 1

    job.CHECKPOINT_SECONDS = 0.0
    processes.drop_root_rights()
    if kill_at is None:
        processes.before_changes(root, count)
    else:
        processes.die_at_change(root, kill_at)
    begun.touch()
    start = time.monotonic()
    WORKS[name].do(root)
    report.write_text(f"{changes} {time.monotonic() - start}")


class Whole(NamedTuple):
    """The result of complete work, and its duration."""

    versions: list[str]
    files: dict[str, str]
    changes: int
    seconds: float


class Kills(Campaign):
    """Each case kills one kind of work up to three times, then lets it end."""

    name = "kills"
    small = len(WORKS)
    full = 125

    def prepare(self) -> None:
        self.whole: dict[str, Whole] = {}

    def case(self, number: int, chance: random.Random, folder: Path) -> Iterable[str]:
        name = list(WORKS)[number % len(WORKS)]
        if name not in self.whole:
            self.whole[name] = whole_of(name, self.root / "whole" / name.replace(" ", "-"))
        whole = self.whole[name]
        root = folder / "warehouse"
        begin(name, root)
        there = whole_versions(warehouse_of(root))
        ends = []
        for _ in range(chance.randint(1, MAX_KILLS)):
            ends.append(kill(name, root, whole, chance))
            check_between(root, whole, there)
        assert finish(name, root, folder / "report") == 0, f"expected {name} to go on to the end"
        check_end(root, whole)
        return ends


def whole_of(name: str, root: Path) -> Whole:
    """The result of complete work in a new warehouse."""
    begin(name, root)
    report = root.parent / "report"
    assert finish(name, root, report) == 0, f"expected {name} to end"
    check_well(root)
    changes, seconds = report.read_text().split()
    return Whole(whole_versions(warehouse_of(root)), hashes(root), int(changes), float(seconds))


def begin(name: str, root: Path) -> None:
    """Make the preparations of the work."""
    root.parent.mkdir(parents=True, exist_ok=True)
    if before := WORKS[name].before:
        before(root)


def finish(name: str, root: Path, report: Path) -> int | None:
    """Complete the work in another process, and return its exit code."""
    return processes.run(perform, name, root, root.parent / "begun", None, report)


def kill(name: str, root: Path, whole: Whole, chance: random.Random) -> str:
    """Do the work, kill it or one of its workers, and return what happened."""
    begun = root.parent / "begun"
    report = root.parent / "report"
    begun.unlink(missing_ok=True)
    if chance.random() < 0.5:
        code = processes.run(perform, name, root, begun, chance.randrange(whole.changes), report)
    else:
        moment = chance.uniform(0, whole.seconds)
        is_worker = WORKS[name].has_workers and chance.random() < 0.5
        process = processes.start(perform, name, root, begun, None, report)
        while not begun.exists() and process.is_alive():
            time.sleep(0.001)
        time.sleep(moment)
        pid = process.pid or 0
        try:
            victims = psutil.Process(pid).children()[-1:] if is_worker else []
            for victim in victims or [psutil.Process(pid)]:
                victim.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            pass
        process.join(60)
        code = process.exitcode
    assert code in (0, KILLED, LOST_A_WORKER), f"expected {name} to be killed or to end, found exit code {code}"
    return {0: "ended before", KILLED: "kills", LOST_A_WORKER: "kills of a worker"}[code]


def check_between(root: Path, whole: Whole, there: list[str]) -> None:
    """Check after a kill that old and new versions are complete, and catalog and lock can be read."""
    warehouse = warehouse_of(root)
    found = whole_versions(warehouse)
    least = set(there) & set(whole.versions)
    most = set(there) | set(whole.versions)
    assert least <= set(found) <= most, f"expected {least} up to {most}, found {found}"
    assert {table.name for table in warehouse.current()} <= set(found)
    if warehouse.catalog.exists():
        with duckdb.connect(str(warehouse.catalog), read_only=True) as connection:
            for (view,) in connection.sql("select view_name from duckdb_views() where not internal").fetchall():
                connection.sql(f"select * from {view} limit 1").fetchall()
    if warehouse.lock.exists():
        read_lock(warehouse.lock)
    check_well(root)


def check_well(root: Path) -> None:
    """Check that verify finds no problems."""
    found = problems(warehouse_of(root))
    assert found == [], f"expected no problems, found {found}"


def check_end(root: Path, whole: Whole) -> None:
    """Check at the end: the same versions, byte for byte, in the catalog too, and no other files."""
    warehouse = warehouse_of(root)
    assert whole_versions(warehouse) == whole.versions
    assert hashes(root) == whole.files, "expected the same bytes as of work that nobody kills"
    left = [path.name for path in warehouse.staging.iterdir() if path.is_dir()]
    assert left == [], f"expected no folder in {warehouse.staging}, found {left}"
    with warehouse.connect() as connection:
        rows = connection.sql("select dataset || '/' || variant || '/' || version from versions").fetchall()
    assert sorted(name for (name,) in rows) == sorted(whole.versions)
    check_well(root)


def hashes(root: Path) -> dict[str, str]:
    """SHA-256 of every file of all versions, without manifests, which have times, and of the files `current`."""
    paths = [path for table in warehouse_of(root).versions() for path in table.folder.iterdir()]
    paths += root.glob(f"*/*/{CURRENT}")
    return {str(path.relative_to(root)): sha256_file(path) for path in sorted(paths) if path.name != FILE_NAME}
