"""Where the minutes of a run go: the slowest tests, and seconds of collection, set-up and calls by folder.

Folders that took longest in the last run begin first, so that no worker is left with a long one at the end; with
`--shuffle SEED` files and tests run in a random order instead.
"""

from __future__ import annotations

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
    """The order of tests should not matter."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="Run files and tests in a random order.")


def pytest_configure(config: pytest.Config) -> None:
    """Keep times wherever tests run or are reported."""
    config.pluginmanager.register(Minutes(config), "bgdata-minutes")


def guessed_seconds(tests: list[pytest.Item]) -> float:
    """About what tests of one file take, by their marks: for the first run in a clone."""
    return sum(max((GUESSES.get(mark.name, 0.0) for mark in test.iter_markers()), default=0.0) for test in tests)


class Minutes:
    """Adds up what each file and each test took, in seconds by part."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.files: Seconds = defaultdict(lambda: dict.fromkeys(PARTS, 0.0))
        self.tests: Seconds = defaultdict(lambda: dict.fromkeys(PARTS, 0.0))
        self.compiling = 0.0
        self.collected: dict[str, float] = {}

    def last_run(self) -> dict[str, float]:
        """Seconds by file in the runs of before; none where pytest keeps no cache."""
        cache = getattr(self.config, "cache", None)
        return dict(cache.get(LAST_RUN, {})) if cache else {}

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        """Time how long a file takes to be imported."""
        begin = time.perf_counter()
        result = yield
        if isinstance(collector, pytest.File):
            self.collected[collector.nodeid] = time.perf_counter() - begin
        return result

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """The longest files of the last run first, or all in a random order."""
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
        """A worker tells the run what collection and compilation took in it."""
        from bgdata.process import compilation

        self.compiling += compilation.seconds
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["collected"], output["compiling"] = self.collected, self.compiling

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Hear what a worker tells."""
        output = getattr(node, "workeroutput", {})
        self.compiling += output.get("compiling", 0.0)
        for name, seconds in output.get("collected", {}).items():
            self.collected[name] = self.collected.get(name, 0.0) + seconds

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add one part of a test to its own time and to that of its file."""
        for name, seconds in ((report.nodeid.partition("::")[0], self.files), (report.nodeid, self.tests)):
            if report.when in PARTS:  # where a worker died, nothing is known of a part
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
