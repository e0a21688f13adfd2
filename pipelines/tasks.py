"""Parts that the flows share: tasks that run side by side, pictures, command lines, and the end of a flow."""

from __future__ import annotations

import argparse
import base64
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.error import HTTPError
from urllib.request import urlopen

from prefect import task
from prefect.artifacts import create_image_artifact
from prefect.cache_policies import NO_CACHE
from prefect.futures import PrefectFuture, as_completed
from prefect.settings import PREFECT_API_URL, PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings
from prefect.task_runners import ProcessPoolTaskRunner

from bgdata import open_warehouse
from bgdata.errors import BgdataError, ExternalProgramError, WorkerError, cite, needing
from bgdata.process import is_stopping, keep, shielding
from bgdata.store.executors import end_with_parent, open_executor
from bgdata.store.progress import Silence, progress_bars
from bgdata.store.table import Table
from bgdata.training.rows import KINDS as NETWORKS
from bgdata.training.rows import Chart, Line, curve_charts
from bgdata.warehouse import Warehouse
from bgdata.warehouse.rows import pip_spread
from bgdata.web.charts import HEIGHT, WIDTH, chart_svg

# number of processes: each has the memory of a table, and its kernels use all cores; one more than cores, because some
# wait for downloads or for the compilation of others
PROCESSES = min(4, (os.cpu_count() or 1) + 1)
ANSWER_SECONDS = 20  # how long to wait for the first answer of a server
MAX_WAITING = 500  # tasks that may wait for others at a time, each in a thread; flows have tens
RETRIED: dict[str, Any] = {"retries": 1, "retry_delay_seconds": 1}  # retries of flows and tasks
COLUMNS = 3  # number of charts in a row
HEAD, GAP = 32, 16  # above a chart, for the name of its version; beside and below it
# copied from the style sheet of the explorer, because a picture stands alone, on white
STYLE = """
svg { font-family: sans-serif; } .kind { font-size: 13px; fill: #1d2129; } .variant { font-size: 10px; fill: #5b6270; }
.chart text { font-size: 11px; fill: #5b6270; } .chart .title { fill: #1d2129; }
.chart .left { text-anchor: end; } .chart .below { text-anchor: middle; } .chart .rule { stroke: #d9dde5; }
.chart .main, .chart .other { fill: none; stroke: #1d7f8c; stroke-width: 2; }
.chart .other { stroke: #6b7a99; stroke-dasharray: 5 3; } .chart .band { fill: #1d7f8c; opacity: 0.2; }
.chart .mark { fill: #b8382b; }
"""


class Built(NamedTuple):
    """The result of a task: the name of the version that it built, and messages for the user from the build."""

    name: str  # dataset/variant/version
    notes: list[str]


class Notes(Silence):
    """Collects the messages of a task that runs in another process, for the process that prints them."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        """Add a message."""
        self.lines.append(text)


@task(**RETRIED, cache_policy=NO_CACHE)
def build_step(root: str, step: Callable[..., Table], *given: Any, executor: str = "") -> Built:
    """Run one step of a flow in the warehouse at `root`: the function `step` of bgdata, which builds a version, or
    finds it if it exists. It is called with the warehouse, the arguments `given`, workers if an executor is named, and
    progress. Versions from other tasks are passed by name."""
    notes, names = Notes(), [each.name if isinstance(each, Built) else each for each in given]
    with open_executor(executor) if executor else nullcontext() as workers:
        table = step(open_warehouse(root), *names, *([workers] if executor else []), notes)
    return Built(table.name, notes.lines)


class SideBySide(ProcessPoolTaskRunner):
    """Runs the tasks of a flow in processes. By default, Prefect has only as many threads for waiting tasks as there
    are processes, so two tasks that wait for their inputs could block all others. Here a waiting task never blocks a
    task that is ready."""

    def __enter__(self) -> Self:
        super().__enter__()
        if self._resolver_executor is not None:
            self._resolver_executor.shutdown()
        self._resolver_executor = ThreadPoolExecutor(MAX_WAITING)
        return self


def processes() -> Any:
    """A task runner with a few processes for the tasks of a flow. Its declared type is wide because flows accept any
    task runner."""
    return SideBySide(PROCESSES, initializer=end_with_parent)


def tell_finished(tasks: Sequence[PrefectFuture[Built]], unit: str = "tables") -> Iterator[str]:
    """Yield the name of the version that each task has built, as soon as it has finished. A bar and messages on
    standard error show the progress."""
    return tell_built((task_.result() for task_ in as_completed(list(tasks))), len(tasks), unit)


def tell_built(found: Iterable[Built], total: int, unit: str = "tables") -> Iterator[str]:
    """Yield the names of versions as they are built, `total` of them in all. A bar and messages on standard error show
    the progress."""
    with progress_bars() as progress:
        progress.start(unit, total, unit)
        for built in found:
            for line in built.notes:
                progress.note(line)
            progress.advance(1)
            keep("what is finished is kept")
            yield built.name


def publish_charts(warehouse: Warehouse, versions: Sequence[str], key: str, description: str) -> None:
    """Publish a picture of versions to Prefect: learning curves of networks, and distributions of positions over pip
    counts. Versions without a chart are left out. If no version has a chart, nothing is published."""
    tables = [warehouse.open_reference(version) for version in versions]
    charts = [(table, chart) for table in tables if (chart := _chart_of(table))]
    if charts:
        picture = base64.b64encode(_side_by_side(charts).encode()).decode()
        create_image_artifact(f"data:image/svg+xml;base64,{picture}", key=key, description=description)


def _chart_of(table: Table) -> Chart | None:
    """Return the chart of a version, the first if there are several (`bgdata train plot` draws all), or None if it has
    none."""
    if table.manifest.dataset in NETWORKS:
        return curve_charts(table)[0]
    if (spread := pip_spread(table)) is None:
        return None
    line = Line("% of positions", spread.percents)
    return Chart("% of positions", "pips of the player on roll", spread.pips, (line,), from_zero=True)


def _side_by_side(charts: Sequence[tuple[Table, Chart]]) -> str:
    """Arrange the charts of versions in rows, as one self-contained SVG."""
    across, down = WIDTH + GAP, HEAD + HEIGHT + GAP
    width, height = across * min(COLUMNS, len(charts)), down * -(-len(charts) // COLUMNS)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f'<style>{STYLE}</style><rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for place, (table, chart) in enumerate(charts):
        x, y = across * (place % COLUMNS), down * (place // COLUMNS)
        lines += [
            f'<text class="kind" x="{x + 2}" y="{y + 14}">{table.manifest.dataset}</text>',
            f'<text class="variant" x="{x + 2}" y="{y + 28}">{table.manifest.variant}</text>',
            chart_svg(chart).replace("<svg ", f'<svg x="{x}" y="{y + HEAD}" width="{WIDTH}" height="{HEIGHT}" ', 1),
        ]
    return "\n".join([*lines, "</svg>"])


def check_pictures() -> None:
    """Raise MissingExtraError if the package for drawing pictures is missing. Call this before any work begins."""
    with needing("plots", "to draw pictures"):
        import_module("matplotlib")


def publish_picture(root: str, words: Sequence[str], key: str, description: str) -> None:
    """Run a command of bgdata that draws a picture, and publish the picture to Prefect. `words` are its command line,
    to which the output file is added. Raises WorkerError if the command wrote no picture."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "picture.png"
        command = [sys.executable, "-m", "bgdata", "--warehouse", root, *words, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not path.is_file():
            raise WorkerError(f"expected a picture by bgdata {' '.join(words)}, found none: {done.stderr.strip()}")
        picture = base64.b64encode(path.read_bytes()).decode()
    create_image_artifact(f"data:image/png;base64,{picture}", key=key, description=description)


@contextmanager
def one_server() -> Iterator[None]:
    """Inside the `with` block, let a flow and all processes of its tasks use the same Prefect server: the server in the
    user's settings, or else one that ends with this process. Otherwise each process would start its own server, which
    takes seconds."""
    address = PREFECT_API_URL.value()
    if not address:
        from prefect.server.api.server import SubprocessASGIServer  # half of Prefect: no process of a task needs it

        server = SubprocessASGIServer()
        server.start()
        address = server.api_url
    else:
        check_server(address)
    # the heartbeat thread would delay the end of every flow by a second
    with temporary_settings({PREFECT_API_URL: address, PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        yield


def check_server(address: str) -> None:
    """Raise ExternalProgramError if no Prefect server answers at the address."""
    try:
        with urlopen(f"{address.rstrip('/')}/health", timeout=ANSWER_SECONDS):
            return
    except HTTPError:
        return  # the server answers, and reports its own errors
    except (OSError, ValueError) as error:
        reason = cite(str(getattr(error, "reason", error)))
        raise ExternalProgramError(
            f"expected a Prefect server at {cite(address)}, found none: {reason}; try: prefect server start, or unset "
            "PREFECT_API_URL"
        ) from None


def flow_parser(name: str, description: str) -> argparse.ArgumentParser:
    """The command line parser of a flow, with an option for the folder of the warehouse. Its help shows the description
    up to the first colon."""
    parser = argparse.ArgumentParser(prog=f"python -m {__package__}.{name}", description=description.partition(":")[0])
    parser.add_argument("--warehouse", default="warehouse", metavar="DIR", help="folder of the tables")
    return parser


def add_plan(parser: argparse.ArgumentParser, plan: type[Any], meanings: Mapping[str, str]) -> None:
    """Add an option to a parser for each field of a plan with an entry in `meanings`, which is the help text."""
    for field in fields(plan):
        if field.name in meanings:
            kind, option = type(field.default), f"--{field.name.replace('_', '-')}"
            letter = "TEXT" if kind is str else "N"
            parser.add_argument(option, type=kind, default=field.default, metavar=letter, help=meanings[field.name])


def run_flow(flow: Callable[[], int | None]) -> int:
    """Run a flow to its end. Returns the exit code: the result of the flow (None is 0), or 1 after an error, which is
    printed in one line."""
    try:
        with one_server(), shielding():
            return flow() or 0
    except BgdataError as error:
        if is_stopping(error):
            raise
        print(f"error: {error}", file=sys.stderr)
        return 1
