"""Measurement of figures: the best of several runs, in a separate process if memory is measured."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
WAREHOUSE = ROOT / os.environ.get("BGDATA_WAREHOUSE", "warehouse")


class Row(NamedTuple):
    """One line of the table."""

    work: str
    ours: str
    goal: str
    peer: str = "-"
    ratio: str = "-"


class Measured(NamedTuple):
    """Seconds of the fastest run, and peak resident memory of a separate process."""

    seconds: float
    peak_bytes: int | None = None


def best_of(repeats: int, scratch: Callable[[], object]) -> float:
    """Seconds of the fastest of several runs."""
    fastest = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        scratch()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def seconds_text(seconds: float) -> str:
    """`1.23 s`, `4.5 ms` or `1.1 us`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def run_command(*command: str, folder: Path = ROOT) -> Measured:
    """Run a whole program and wait: its wall time and peak memory. Raises CalledProcessError."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Measured(seconds, usage.ru_maxrss * 1024)


def in_own_process(workload: str, *arguments: object, module: str = "workloads") -> Measured:
    """`<module>.<workload>(*arguments)` in a fresh process, which reports its own seconds and peak memory."""
    program = (
        "import json, resource\n"
        f"from tests.benchmarks import {module}\n"
        f"seconds = {module}.{workload}(*{arguments!r})\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024\n"
        "print(json.dumps([seconds, peak]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    return Measured(*json.loads(done.stdout))


def player_seconds(workload: str, *arguments: object) -> float:
    """Seconds that a workload of `player_workloads` reports."""
    return in_own_process(workload, *arguments, module="player_workloads").seconds
