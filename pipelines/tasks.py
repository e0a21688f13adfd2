"""What the flows share: how tasks run side by side, what a task returns, artifacts, and the end of a flow."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.error import HTTPError
from urllib.request import urlopen

from prefect.artifacts import create_image_artifact
from prefect.futures import PrefectFuture, as_completed
from prefect.server.api.server import SubprocessASGIServer
from prefect.settings import PREFECT_API_URL, PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings
from prefect.task_runners import ProcessPoolTaskRunner

from bgdata.errors import BgdataError, ExternalProgramError, WorkerError, needing, shown
from bgdata.process import is_stopping, keep, shielding
from bgdata.store.executors import end_with_parent
from bgdata.store.progress import Silence, progress_bars

# each holds the memory of a table, and kernels take all cores anyway; one more than cores, as some wait for a download,
# or for what another one compiles
PROCESSES = min(4, (os.cpu_count() or 1) + 1)
ANSWER_SECONDS = 20  # that a server may take to say that it is there
MOST_WAITING = 500  # tasks at a time that wait for others, each in a thread; flows have tens


class Built(NamedTuple):
    """A built version, and the notes made while it was built."""

    name: str  # dataset/variant/version
    notes: list[str]


class Notes(Silence):
    """Progress of a task in another process: collects notes for the process that shows them."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        """Keep a note."""
        self.lines.append(text)


class SideBySide(ProcessPoolTaskRunner):
    """Processes for tasks, in which a task that waits for its inputs never holds up one that has them: Prefect lets
    tasks wait in as many threads as there are processes, so two of them could stop all that come after."""

    def __enter__(self) -> Self:
        super().__enter__()
        if self._resolver_executor is not None:
            self._resolver_executor.shutdown()
        self._resolver_executor = ThreadPoolExecutor(MOST_WAITING)
        return self


def processes() -> Any:
    """A few processes for the tasks of a flow; its type says less than flows take: any runner of tasks."""
    return SideBySide(PROCESSES, initializer=end_with_parent)


def finished(tasks: Sequence[PrefectFuture[Built]], unit: str = "tables") -> Iterator[str]:
    """Yields the version that each task has built as it finishes; a bar and notes on standard error show the
    progress."""
    return told((task_.result() for task_ in as_completed(list(tasks))), len(tasks), unit)


def told(found: Iterable[Built], total: int, unit: str = "tables") -> Iterator[str]:
    """Yields versions as they are built, `total` in all, and shows that and their notes on standard error."""
    with progress_bars() as progress:
        progress.start(unit, total, unit)
        for built in found:
            for line in built.notes:
                progress.note(line)
            progress.advance(1)
            keep("what is finished is kept")
            yield built.name


def check_pictures() -> None:
    """Raise MissingExtraError, before all the work, where `publish_picture` could draw none."""
    with needing("plots", "to draw pictures"):
        import_module("matplotlib")


def publish_picture(root: str, words: Sequence[str], key: str, description: str) -> None:
    """Publish the picture that a command of bgdata draws: its words, to which the file is added. Raises WorkerError if
    it draws none."""
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
    """Have a flow inside the block, and all processes of its tasks, use one server, which ends with this process, or
    yours where one is set. Each process would start its own, which takes seconds."""
    address = PREFECT_API_URL.value()
    if not address:
        server = SubprocessASGIServer()
        server.start()
        address = server.api_url
    else:
        check_server(address)
    # the heartbeat thread would hold every flow for a second
    with temporary_settings({PREFECT_API_URL: address, PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        yield


def check_server(address: str) -> None:
    """Raise ExternalProgramError where nobody answers at the address of a server."""
    try:
        with urlopen(f"{address.rstrip('/')}/health", timeout=ANSWER_SECONDS):
            return
    except HTTPError:
        return  # somebody answers, and will say what is wrong
    except (OSError, ValueError) as error:
        reason = shown(str(getattr(error, "reason", error)))
        raise ExternalProgramError(
            f"expected a Prefect server at {shown(address)}, found none: {reason}; try: prefect server start, or unset "
            "PREFECT_API_URL"
        ) from None


def run_flow(flow: Callable[[], Any]) -> int:
    """Run a flow to its end, and print one line of what went wrong; returns the exit code."""
    try:
        with one_server(), shielding():
            flow()
    except BgdataError as error:
        if is_stopping(error):
            raise
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
