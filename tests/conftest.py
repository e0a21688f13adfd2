"""Shared fixtures: a small warehouse to read, and copies of it to corrupt."""

import os
import signal
import tempfile
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from filelock import FileLock

import bgdata
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.selfplay.kinds.selfplay import SelfPlayParameters
from bgdata.store.catalog import write_catalog
from bgdata.store.dataset import Dataset, ImportedDataset
from bgdata.training.kinds.network import Network, NetworkParameters
from bgdata.warehouse import Warehouse
from tests.evaluation.network_versions import random_networks, write_network
from tests.kept import forget_others, kept_folder, kept_home, link, protect

SharedFolder: TypeAlias = Callable[[str, Callable[[Path], object]], Path]
LUCKY = SelfPlayParameters("network", "", 6, 4, True)
pytest_plugins = ["tests.minutes", "tests.fixtures"]
real: dict[str, Callable[..., Any]] = {}  # originals of functions that most tests replace
# folders whose tests are about building: there network/tiny is trained, which takes some 15 seconds; elsewhere it is a
# copy of one that was trained before
TRAINING = ("cli", "contract", "faults", "kinds", "pipelines", "store", "training", "warehouse")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Delete kept folders of older sources at the start of a run. Restore interrupts, which tests need: a background
    job of a shell ignores them, and so do its children."""
    protect()
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(session.config, "workerinput") and not session.config.option.collectonly:
        forget_others()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Use one worker more than there are cores, because tests of servers, browsers and kills mostly wait."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Skip writing catalog.duckdb, which takes longer than most tests, because connections make their own catalog.
    Tests of the file, or of clients that read it, are marked `catalog`."""
    from bgdata.store import catalog

    real.setdefault("write_catalog", catalog.write_catalog)
    with pytest.MonkeyPatch.context() as patch:
        if item.get_closest_marker("catalog") is None:
            patch.setattr(catalog, "write_catalog", lambda _: None)
            patch.setattr(catalog, "refresh_catalog", lambda _, **__: None)
        if item.path.relative_to(Path(__file__).parent).parts[0] not in TRAINING:
            real.setdefault("published_network", Network.published_folder)
            patch.setattr(Network, "published_folder", published_or_trained)
        return (yield)


def published_or_trained(kind: Network, parameters: NetworkParameters) -> Path | None:
    """The folder in the package, or, for network/tiny, that of a version that was trained once for all tests."""
    if parameters != kind.smallest:
        found: Path | None = real["published_network"](kind, parameters)
        return found
    if os.environ.get("PYTEST_TRAINING"):  # `train_tiny` is building it
        return None
    variants = kept_folder("tiny", train_tiny) / "warehouse" / kind.name / kind.slug(parameters)
    return next(variants.glob("r*-*"))


def train_tiny(folder: Path) -> None:
    """Train network/tiny."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_TRAINING", "1")
        warehouse = bgdata.open_warehouse(folder / "warehouse")
        warehouse.build("network", warehouse.kind("network").smallest)


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """Use one thread for kernels, because workers share the cores; tests of threads set their own."""
    import numba

    numba.set_num_threads(1)


@pytest.fixture(scope="session")
def shared_folder() -> SharedFolder:
    """Folders that one worker fills and all workers read, also in later runs: `shared_folder("name", fill)`."""
    return kept_folder


@pytest.fixture(scope="session", autouse=True)
def _own_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep tests away from the user's own warehouse."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="session")
def small_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a warehouse with the smallest variant of every kind, read-only: use `warehouse` for changes.

    If it is missing, all workers build it together, every second one in reverse order. They wait for each other where
    they meet, and for the worker with the last variant, which writes the catalog.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    samples = tmp_path_factory.mktemp("samples")
    home = kept_home()
    with FileLock(home / f"{worker}.building"):
        if not (home / "small.done").exists():
            build_small(samples, home / "small", from_the_end=worker.endswith(("1", "3")))
    for building in home.glob("*.building"):
        with FileLock(building):
            continue
    return kept_folder("small", partial(build_small, samples), goes_on=True) / "warehouse"


def build_small(samples: Path, folder: Path, from_the_end: bool = False) -> None:
    """Build the missing smallest variants of all kinds, imported kinds first, because others may need them."""
    warehouse = bgdata.open_warehouse(folder / "warehouse")
    imported = [kind for kind in warehouse.kinds.values() if kind.takes_files]
    computed = [kind for kind in warehouse.kinds.values() if not kind.takes_files]
    for kind in (*imported, *(reversed(computed) if from_the_end else computed)):
        warehouse.build(kind.name, kind.smallest, files=sample_files(kind, samples))
    real.get("write_catalog", write_catalog)(warehouse)


def sample_files(kind: Dataset[Any], folder: Path) -> list[Path]:
    """The files from which tests import a kind; empty for a computed kind."""
    return kind.computation.write_sample(folder) if isinstance(kind, ImportedDataset) else []


@pytest.fixture(scope="session")
def player_root(shared_folder: SharedFolder) -> Path:
    """Folder of a warehouse with bearoff tables of 6 points, the exact table of 3 checkers, and network/random."""
    return shared_folder("player", build_for_player) / "warehouse"


def build_for_player(folder: Path) -> None:
    """Build the small tables of a player."""
    warehouse = bgdata.open_warehouse(folder / "warehouse")
    for kind in ("bearoff_one_sided", "bearoff_gammon"):
        warehouse.build(kind, RaceParameters(6))
    warehouse.build("bearoff_two_sided", TwoSidedParameters(6, 3))
    write_network(folder / "warehouse", "random", random_networks(7))


@pytest.fixture(scope="module")
def network_root(shared_folder: SharedFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a warehouse with the default network and some of its games with luck. Tests of a module build shared
    versions in it."""
    folder = shared_folder(
        "network", lambda folder: bgdata.open_warehouse(folder / "warehouse").build("selfplay", LUCKY)
    )
    return link(folder / "warehouse", tmp_path_factory.mktemp("network") / "warehouse")


@pytest.fixture
def warehouse(small_root: Path, tmp_path: Path) -> Warehouse:
    """The small warehouse, for builds and deletions. Its files are links: `own` copies those that a test writes to."""
    return bgdata.open_warehouse(link(small_root, tmp_path / "warehouse"))


@pytest.fixture
def memory_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory if possible, because dozens of builds would mostly wait for the disk."""
    if os.access("/dev/shm", os.W_OK):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            yield Path(folder)
    else:
        yield tmp_path
