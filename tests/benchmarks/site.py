"""Speed of the explorer: `python -m tests.benchmarks.site WAREHOUSE` starts it and prints a table."""

import argparse
import http.client
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, sleep

import psutil

from tests.benchmarks.measure import Row

START, BEAROFF = "/position/4HPwATDgc/ABMA", "CgAAEAEAAAAAAA"
ROWS = "/rows/bearoff_two_sided/6x6/bearoff_two_sided?filter=cubeless+%3E+0&sort=-owned"
RATE = 200  # static files asked for in a second
WARM = 3  # answers that are not counted
PAGES = (  # (what it is, address, milliseconds that 95 of 100 answers may take)
    ("a position", START, 40.0),
    ("a position and the plays of a roll", f"{START}?roll=31", 40.0),
    ("a bearoff, with every table that covers it", f"/position/{BEAROFF}.json", 40.0),
    ("an exact probe", f"/probe/{BEAROFF}.json", 10.0),
    ("a table", "/table/bearoff_two_sided/6x6", 50.0),
    ("rows of a table, sorted and filtered", ROWS, 60.0),
    ("claims", "/claims", 60.0),
    ("match equity", "/match-equity", 50.0),
    ("home", "/", 50.0),
    ("a static file", "/static/site.css", 5.0),
)


def times_of(port: int, address: str, count: int, *, warm: int = WARM) -> list[float]:
    """Milliseconds of each of `count` answers on one connection, after `warm` others."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    found = []
    for _ in range(count + warm):
        started = perf_counter()
        connection.request("GET", address)
        answer = connection.getresponse()
        answer.read()
        found.append(1000 * (perf_counter() - started))
        assert answer.status == 200, (address, answer.status)
    return found[warm:]


def load(server: psutil.Process, port: int, seconds: int) -> tuple[int, int, float, float]:
    """(answers, errors, megabytes before and after) of a load of 200 static files per second."""
    before, answers, errors = server.memory_info().rss / 1e6, 0, 0
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    started = perf_counter()
    while (now := perf_counter() - started) < seconds:
        sleep(max(0.0, answers / RATE - now))
        connection.request("GET", "/static/site.css")
        answer = connection.getresponse()
        answer.read()
        answers, errors = answers + 1, errors + (answer.status != 200)
    return answers, errors, before, server.memory_info().rss / 1e6


@contextmanager
def serving(warehouse: Path) -> Iterator[tuple[psutil.Process, int, float]]:
    """(process, port, start time) of a server; compiled Python files are cached as usual."""
    command = [sys.executable, "-m", "bgdata", "serve", "--port", "0", "--warehouse", str(warehouse)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = perf_counter()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stderr
        try:
            line = next(line for line in server.stderr if "http://" in line)
            port = int(line.partition("http://")[2].partition("/")[0].rpartition(":")[2])
            yield psutil.Process(server.pid), port, started
        finally:
            server.terminate()  # SIGINT is ignored below a shell that runs this in the background


def processor_seconds(server: psutil.Process) -> float:
    """Seconds of the processor that a server has used so far."""
    return float(sum(server.cpu_times()[:2]))


def figures(warehouse: Path, count: int, seconds: int) -> Iterator[Row]:
    """Seconds to start, milliseconds of each page by clock and processor, and results of a load."""
    with serving(warehouse) as (_, port, _):
        times_of(port, START, 0, warm=1)  # kernels and modules are compiled now
    with serving(warehouse) as (server, port, started):
        for what, address, wanted in (("answers", "/", "<= 1.5 s"), ("shows a position", START, "none")):
            times_of(port, address, 0, warm=1)
            measured = f"{perf_counter() - started:.2f} s, processor {processor_seconds(server):.2f} s"
            yield Row(f"`bgdata serve` until it {what}", measured, wanted)
        for what, address, goal in PAGES:
            spent = processor_seconds(server)
            times = times_of(port, address, count)
            own = 1000 * (processor_seconds(server) - spent) / (count + WARM)
            measured = f"p95 {quantiles(times, n=20)[-1]:.1f} ms, median {median(times):.1f} ms, processor {own:.1f} ms"
            yield Row(f"explorer: {what}", measured, f"p95 <= {goal:g} ms")
        answers, errors, before, after = load(server, port, seconds)
        measured = f"{answers / seconds:.0f}/s, {errors} errors, {before:.0f} MB before and {after:.0f} MB after"
        yield Row(f"explorer: static files for {seconds} s", measured, f"{RATE}/s, no error, memory flat")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("warehouse", type=Path)
    parser.add_argument("--count", type=int, default=200, help="answers to each address")
    parser.add_argument("--seconds", type=int, default=60, help="of the load of static files")
    given = parser.parse_args()
    print("| work | found | goal |\n| - | - | - |")
    for row in figures(given.warehouse, given.count, given.seconds):
        print(f"| {row.work} | {row.ours} | {row.goal} |", flush=True)


if __name__ == "__main__":
    main()
