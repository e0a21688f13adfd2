"""Where the time of a run goes: the slowest tests, and seconds of collection, set-up and calls by folder.

The slowest folders of the last run begin first, so that no worker ends with a long one; with `--shuffle SEED` files and
tests run in a random order instead.
"""

import random
import time
from collections import defaultdict
from collections.abc import Generator
from typing import Any

import pytest

PARTS = ("collection", "setup", "call", "teardown")
SLOWEST = 40
LAST_RUN = "minutes/seconds_by_file"  # in pytest's cache
GUESSES = {"slow": 60.0, "prefect": 40.0, "kills": 30.0, "faults": 30.0, "gnubg": 5.0}  # seconds of a test by its mark
Seconds = defaultdict[str, dict[str, float]]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for a random order, which should not change results."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="Run files and tests in a random order.")


def pytest_configure(config: pytest.Config) -> None:
    """Measure times wherever tests run or are reported."""
    config.pluginmanager.register(Minutes(config), "bgdata-minutes")


def guessed_seconds(tests: list[pytest.Item]) -> float:
    """A guess of the seconds for one file's tests, by their marks: for the first run in a clone."""
    return sum(max((GUESSES.get(mark.name, 0.0) for mark in test.iter_markers()), default=0.0) for test in tests)


class Minutes:
    """Adds up the seconds of each file and test by part."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.files: Seconds = defaultdict(lambda: dict.fromkeys(PARTS, 0.0))
        self.tests: Seconds = defaultdict(lambda: dict.fromkeys(PARTS, 0.0))
        self.compiling = 0.0
        self.collected: dict[str, float] = {}

    def last_run(self) -> dict[str, float]:
        """Seconds by file in earlier runs; empty without pytest's cache."""
        cache = getattr(self.config, "cache", None)
        return dict(cache.get(LAST_RUN, {})) if cache else {}

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        """Time the import of a file."""
        begin = time.perf_counter()
        result = yield
        if isinstance(collector, pytest.File):
            self.collected[collector.nodeid] = time.perf_counter() - begin
        return result

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Order tests: the slowest files of the last run first, or all at random."""
        files: dict[str, list[pytest.Item]] = {}
        for item in items:
            files.setdefault(item.nodeid.partition("::")[0], []).append(item)
        seed = self.config.getoption("--shuffle")
        if seed is not None:
            generator = random.Random(seed)
            order = sorted(files)
            generator.shuffle(order)
            for name in order:
                generator.shuffle(files[name])
        else:
            seconds = {name: guessed_seconds(tests) for name, tests in files.items()} | self.last_run()
            order = sorted(files, key=lambda name: -seconds[name])
        items[:] = [item for name in order for item in files[name]]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send a worker's collection and compilation times to the main process."""
        from bgdata.process import compilation

        self.compiling += compilation.seconds
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["collected"], output["compiling"] = self.collected, self.compiling

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Receive the times of a worker."""
        output = getattr(node, "workeroutput", {})
        self.compiling += output.get("compiling", 0.0)
        for name, seconds in output.get("collected", {}).items():
            self.collected[name] = self.collected.get(name, 0.0) + seconds

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the time of one part of a test to the test and its file."""
        for name, seconds in ((report.nodeid.partition("::")[0], self.files), (report.nodeid, self.tests)):
            if report.when in PARTS:  # a dead worker reports other parts
                seconds[name][report.when] += report.duration

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print both tables."""
        if not self.tests or self.config.getoption("verbose") < -1:
            return
        for name, seconds in self.collected.items():
            self.files[name]["collection"] += seconds
        whole = {name: sum(parts.values()) for name, parts in self.files.items()}
        if cache := getattr(self.config, "cache", None):
            cache.set(LAST_RUN, {**self.last_run(), **{name: round(value, 2) for name, value in whole.items()}})
        line = terminalreporter.write_line
        line(f"\n{'seconds by folder':<50}" + "".join(f"{part:>12}" for part in PARTS))
        folders: Seconds = defaultdict(lambda: dict.fromkeys(PARTS, 0.0))
        for name, parts in self.files.items():
            for part, value in parts.items():
                folders[name.rpartition("/")[0]][part] += value
        for name, parts in sorted(folders.items(), key=lambda each: -sum(each[1].values())):
            line(f"{name:<50}" + "".join(f"{parts[part]:>12.1f}" for part in PARTS))
        sums = {part: sum(parts[part] for parts in folders.values()) for part in PARTS}
        line(f"{'all workers':<50}" + "".join(f"{sums[part]:>12.1f}" for part in PARTS))
        line(f"of which kernels were compiled for {self.compiling:.1f} s")
        line(f"\nthe {SLOWEST} slowest tests, in seconds")
        slowest = sorted(self.tests.items(), key=lambda each: -sum(each[1].values()))[:SLOWEST]
        for name, parts in slowest:
            line(f"{sum(parts.values()):>8.1f}  {name}")
