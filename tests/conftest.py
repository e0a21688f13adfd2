"""What tests of the store, the commands and SQL share: a small warehouse to read, and copies of it to corrupt."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from filelock import FileLock

import bgdata
from bgdata.datasets.bearoff_two_sided import TwoSidedParameters
from bgdata.datasets.common.race import RaceParameters
from bgdata.datasets.selfplay import SelfPlayParameters
from bgdata.store.dataset import Dataset, ImportedDataset
from bgdata.warehouse import Warehouse
from tests.evaluation.network_versions import random_networks, write_network

SharedFolder: TypeAlias = Callable[[str, Callable[[Path], object]], Path]
LUCKY = SelfPlayParameters("network", "", 6, 4, True)
LONG = {"faults", "gnubg", "kills", "prefect", "slow"}  # marks of what takes long
END = "BGDATA_TESTS_END"  # environment variable: when long tests begin no more, for all workers of a run
NO_TIME = "the minutes of this run are over"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where machines differ and time is limited, a run can say how long it may be."""
    words = (
        "Begin no test that takes long after so many minutes; all quick ones are run, and those left out are counted."
    )
    parser.addoption("--minutes", type=float, help=words)


def pytest_configure(config: pytest.Config) -> None:
    """Set the end once, where the run starts: workers find it in their environment."""
    if (minutes := config.getoption("--minutes")) is not None:
        os.environ.setdefault(END, str(time.time() + 60 * minutes))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave a long test out where the minutes are over."""
    if LONG & {mark.name for mark in item.iter_markers()} and time.time() > float(os.environ.get(END, "inf")):
        pytest.skip(NO_TIME)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how much was left out: a short run should not look like a whole one."""
    if left_out := sum(NO_TIME in str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(f"{left_out} long tests were left out: {NO_TIME} (make test-all runs them all)")


@pytest.fixture(scope="session")
def common(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that all workers of a run have in common."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def shared_folder(common: Path) -> SharedFolder:
    """Folders that one worker fills, for all of them to read: `shared_folder("name", fill)`."""

    def filled(name: str, fill: Callable[[Path], object]) -> Path:
        folder, done = common / name, common / f"{name}.done"
        with FileLock(common / f"{name}.lock"):
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed half-way
                folder.mkdir()
                fill(folder)
                done.touch()
        return folder

    return filled


@pytest.fixture(scope="session", autouse=True)
def _own_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test writes to the warehouse that is the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="session")
def small_root(common: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a warehouse with the smallest variant of every kind. Only to be read: `warehouse` is a copy.

    All workers build it together, every second one from the end: they wait for each other where they meet, go on, and
    wait for each other at the end, since the one that builds the last variant still writes the catalog then.
    """
    folder, worker = common / "small", os.environ.get("PYTEST_XDIST_WORKER", "")
    root = folder / "warehouse"
    folder.mkdir(exist_ok=True)
    with FileLock(folder / f"{worker}.building"):
        build_small(root, tmp_path_factory.mktemp("samples"), from_the_end=worker.endswith(("1", "3")))
    for building in folder.glob("*.building"):
        with FileLock(building):
            continue
    return root


def build_small(root: Path, samples: Path, from_the_end: bool) -> None:
    """Build the smallest variant of every kind that is not there yet, those that are imported first: others may be
    made from them."""
    warehouse = bgdata.open_warehouse(root)
    imported = [kind for kind in warehouse.kinds.values() if kind.takes_files]
    computed = [kind for kind in warehouse.kinds.values() if not kind.takes_files]
    for kind in (*imported, *(reversed(computed) if from_the_end else computed)):
        warehouse.build(kind.name, kind.smallest, files=sample_files(kind, samples))


def sample_files(kind: Dataset[Any], folder: Path) -> list[Path]:
    """What an imported kind is imported from in tests; nothing for one that is computed."""
    return kind.computation.write_sample(folder) if isinstance(kind, ImportedDataset) else []


@pytest.fixture(scope="session")
def player_root(shared_folder: SharedFolder) -> Path:
    """Folder of a warehouse with bearoff tables of 6 points, the exact one of 3 checkers, and network/random."""
    return shared_folder("player", build_for_player) / "warehouse"


def build_for_player(folder: Path) -> None:
    """Build what a player of small tables needs."""
    warehouse = bgdata.open_warehouse(folder / "warehouse")
    for kind in ("bearoff_one_sided", "bearoff_gammon"):
        warehouse.build(kind, RaceParameters(6))
    warehouse.build("bearoff_two_sided", TwoSidedParameters(6, 3))
    write_network(folder / "warehouse", "random", random_networks(7))


@pytest.fixture(scope="session")
def network_root(shared_folder: SharedFolder) -> Path:
    """Folder of a warehouse with the network that comes with bgdata, and some games of it with luck."""
    return (
        shared_folder("network", lambda folder: bgdata.open_warehouse(folder / "warehouse").build("selfplay", LUCKY))
        / "warehouse"
    )


@pytest.fixture
def warehouse(small_root: Path, tmp_path: Path) -> Warehouse:
    """A copy of the small warehouse, with files that a test can write to."""
    root = tmp_path / "warehouse"
    shutil.copytree(small_root, root)
    for path in root.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return bgdata.open_warehouse(root)


@pytest.fixture
def memory_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there can be one: builds by the dozen would wait for the disk most of the time."""
    if os.access("/dev/shm", os.W_OK):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            yield Path(folder)
    else:
        yield tmp_path
