"""Arrays and Parquet files are identical with 1, 2 and 8 threads, and on a generic processor."""

import multiprocessing
import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import bgdata
from bgdata.kernel import config
from tests.conftest import sample_files
from tests.faults.campaign import Campaign

# in order of builds: quick ones first, then those with the most kernels
CHEAP = ("bearoff_one_sided", "bearoff_gammon", "bearoff_two_sided", "positions")
CACHE = Path(
    os.environ.get("BGDATA_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bgdata"
)
SETTINGS: dict[str, Mapping[str, str]] = {
    "1 thread": {"NUMBA_NUM_THREADS": "1"},
    "2 threads": {"NUMBA_NUM_THREADS": "2"},
    "8 threads": {"NUMBA_NUM_THREADS": "8"},
    "a generic processor": {
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "BGDATA_CACHE": str(CACHE / "generic"),
    },
}


def kinds_in_order() -> list[str]:
    """Cheap kinds first, then other imported ones, then computed ones, which may depend on these."""
    kinds = bgdata.all_kinds()
    return sorted(
        kinds, key=lambda name: (CHEAP.index(name) if name in CHEAP else len(CHEAP), not kinds[name].takes_files)
    )


def begin(variables: Mapping[str, str]) -> None:
    """In a new process: set the variables before anything that depends on them is loaded."""

    wanted = int(variables.get("NUMBA_NUM_THREADS", config.NUMBA_NUM_THREADS))
    assert wanted == config.NUMBA_NUM_THREADS
    assert (config.CPU_NAME or "") == variables.get("NUMBA_CPU_NAME", "")


def build(root: Path, name: str) -> dict[str, str]:
    """Build the smallest variant of a kind; SHA-256 of its files without the manifest, which has times."""
    warehouse = bgdata.open_warehouse(root)
    kind = warehouse.kind(name)
    folder = root.parent / f"{root.name}-files"
    folder.mkdir(exist_ok=True)
    table = warehouse.build(name, kind.smallest, files=sample_files(kind, folder))
    return {f"{table.name}/{entry.name}": entry.sha256 for entry in table.manifest.files}


class SameBytes(Campaign):
    """Each case is a kind of dataset, built in a process of each setting; processes and tables are reused."""

    name = "same-bytes"
    small = len(CHEAP)
    full = len(bgdata.all_kinds())

    def prepare(self) -> None:
        self.pools = {name: self.open.enter_context(pool_with(variables)) for name, variables in SETTINGS.items()}

    def case(self, number: int, chance: random.Random, folder: Path) -> Iterable[str]:  # noqa: ARG002
        kind = kinds_in_order()[number % self.full]
        futures = {
            name: pool.submit(build, self.root / name.replace(" ", "-"), kind) for name, pool in self.pools.items()
        }
        found = {name: future.result() for name, future in futures.items()}
        first, *others = found
        for name in others:
            different = [file for file, digest in found[first].items() if found[name].get(file) != digest]
            assert not different, f"expected the same bytes on {name} as on {first}, found others in {different}"
            assert found[name].keys() == found[first].keys()
        return Counter({"kinds": 1, "files": len(found[first])})


@contextmanager
def pool_with(variables: Mapping[str, str]) -> Iterator[ProcessPoolExecutor]:
    """One process with changed environment variables."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        pool.submit(begin, variables).result()
    finally:
        os.environ.clear()
        os.environ.update(before)
    with pool:
        yield pool
