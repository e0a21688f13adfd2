"""One run of every case of `flows`, in a new process."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.pipelines.flows import MARK
from tests.pipelines.server import PrefectServer

ROOT = Path(__file__).parents[2]
# refuses connections to other machines; all our processes load it, Prefect's server too
OFFLINE = """
import os, sys
from pathlib import Path

FOLDER = Path(__file__).parent

def refuse(event, arguments):
    if event in {"socket.connect", "socket.sendto"}:
        host = arguments[1][0] if isinstance(arguments[1], tuple) else "localhost"
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host not in {None, "", "localhost", "127.0.0.1", "::1", "0.0.0.0"}:
        with (FOLDER / "refused").open("a") as file:
            file.write(f"{host}\\n")
        raise OSError(f"{host} is elsewhere")

sys.addaudithook(refuse)
(FOLDER / f"offline-{os.getpid()}").write_text(" ".join(sys.orig_argv))
"""


class Case(NamedTuple):
    """The output of one case of `flows`, and its result."""

    output: str
    errors: str
    result: Any


class Run(NamedTuple):
    """All cases of one process, its folder, and its processes."""

    cases: dict[str, Case]
    folder: Path
    started: list[int]


def output_by_case(text: str) -> dict[str, str]:
    """The text below the mark of each case."""
    parts = [part.partition("\n") for part in re.split(f"^{MARK}", text, flags=re.MULTILINE)]
    return {name: below for name, _, below in parts[1:]}


def environment(folder: Path) -> dict[str, str]:
    """Variables of a new process: no setting of Prefect, a home two levels down, offline."""
    (folder / "offline").mkdir()
    (folder / "offline" / "sitecustomize.py").write_text(OFFLINE)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    kept.pop("DO_NOT_TRACK", None)
    return kept | {
        "PREFECT_HOME": str(folder / "home" / "prefect"),
        "PYTHONPATH": os.pathsep.join([str(folder / "offline"), str(ROOT)]),
    }


@pytest.fixture(scope="session")
def flows(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run of all cases, because starting Prefect's server takes seconds."""
    folder = tmp_path_factory.mktemp("flows")
    done = subprocess.run(
        [sys.executable, "-m", "tests.pipelines.flows", str(folder)],
        capture_output=True, text=True, timeout=1200, cwd=folder, env=environment(folder), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    cases = {}
    errors = output_by_case(done.stderr)
    for name, text in output_by_case(done.stdout).items():
        *output, result = text.splitlines()
        cases[name] = Case("\n".join(output), errors[name], json.loads(result))
    started = [int(path.name.removeprefix("offline-")) for path in (folder / "offline").glob("offline-*")]
    return Run(cases, folder, started)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectServer]:
    """A server with all deployments, and a worker."""
    found = PrefectServer(tmp_path_factory.mktemp("server"))
    yield found
    found.close()
