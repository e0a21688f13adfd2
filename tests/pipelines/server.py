"""A real Prefect server with the deployments of prefect.yaml and a worker of their pool, over HTTP."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx
import psutil

ROOT = Path(__file__).parents[2]
POOL = "bgdata-processes"
PATIENCE_SECONDS = 400  # for a server to start or a run to end on a busy machine
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


class PrefectServer:
    """The server, its pool and worker; `close` ends them and their processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}/api"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
        self.environment = kept | {  # separate from any other Prefect on this machine
            "DO_NOT_TRACK": "1",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            # no test reads logs or events from the server, and its writers of them keep its other writers waiting: 60 s
            # at a time, since all wait for one SQLite file with all of the 15 connections
            "PREFECT_LOGGING_TO_API_ENABLED": "false",
            "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "false",
            "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",
            "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_ENABLED": "false",
            "PREFECT_SERVER_DATABASE_TIMEOUT": "120",  # SQLite's timeout: other tests keep the disk busy
            "PREFECT_SERVER_DATABASE_CONNECTION_TIMEOUT": "60",
            "PREFECT_API_URL": self.address,
            "PREFECT_HOME": str(folder / "home"),
            "PREFECT_WORKER_QUERY_SECONDS": "2",
            "PYTHONPATH": str(ROOT),
        }
        self.started: list[subprocess.Popen[bytes]] = []
        (folder / "home").mkdir()
        self.start_server()
        self.run("work-pool", "create", POOL, "--type", "process")
        self.start_worker()  # starts while deploying
        self.run("--no-prompt", "deploy", "--all")

    def start_server(self) -> None:
        """Start the server, with its old database if it was killed."""
        self.server = self._start("server", "server", "start", "--host", "127.0.0.1", "--port", str(self.port))
        self.wait_for(lambda: self.request("GET", "health") is True, "the server to answer")

    def kill_server(self) -> None:
        """Kill the server and its processes."""
        for process in psutil.Process(self.server.pid).children(recursive=True):
            process.kill()
        self.server.kill()
        self.server.wait()

    def start_worker(self) -> None:
        """Start a worker of the pool; its log is appended to that of an earlier one."""
        self.worker = self._start("worker", "worker", "start", "--pool", POOL)

    def kill_worker(self) -> None:
        """Kill the worker but not the processes of its flows."""
        self.worker.kill()
        self.worker.wait()

    def run(self, *words: str) -> str:
        """The output of a command of Prefect."""
        done = subprocess.run(
            [sys.executable, "-m", "prefect", *words],
            capture_output=True, text=True, cwd=ROOT, env=self.environment, timeout=PATIENCE_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """The JSON of the server's response; None if it is not running, or its database is busy for too long. Raises
        AssertionError for a refusal."""
        try:
            answer = httpx.request(method, f"{self.address}/{path}", json=body, timeout=PATIENCE_SECONDS)
        except httpx.TransportError:
            return None
        if answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
            return None
        if method == "GET" and answer.status_code == HTTPStatus.INTERNAL_SERVER_ERROR:  # it waited for a connection
            return None
        assert answer.is_success, f"{method} {path}: {answer.status_code}, {answer.text[:500]}"
        return answer.json()

    def response(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """The JSON of the server's response, once there is one."""
        found: list[Any] = []

        def is_answered() -> bool:
            found.append(self.request(method, path, body))
            return found[-1] is not None

        self.wait_for(is_answered, f"an answer to {method} {path}")
        return found[-1]

    def deployment(self, flow: str) -> Any:
        """The deployment of a flow."""
        return self.response("GET", f"deployments/name/{flow}/default")

    def start_run(self, flow: str, **parameters: Any) -> str:
        """Request a run of a deployment; returns its id."""
        deployed = self.deployment(flow)["id"]
        address = f"deployments/{deployed}/create_flow_run"
        return str(self.response("POST", address, {"parameters": parameters})["id"])

    def state(self, run: str) -> str:
        """The state of a run by the server."""
        return str(self.response("GET", f"flow_runs/{run}")["state_type"])

    def finished_run(self, run: str) -> Any:
        """A run, once it has ended."""
        self.wait_for(lambda: self.state(run) in ENDED, f"run {run} to end")
        return self.response("GET", f"flow_runs/{run}")

    def artifacts(self, run: str) -> dict[str, Any]:
        """The artifacts of a run by key."""
        found = self.response("POST", "artifacts/filter", {"artifacts": {"flow_run_id": {"any_": [run]}}})
        return {each["key"]: each for each in found}

    def process(self, run: str) -> psutil.Process:
        """The process of a run."""
        children = psutil.Process(self.worker.pid).children()
        (found,) = (child for child in children if _environment(child).get("PREFECT__FLOW_RUN_ID") == run)
        return found

    def task_processes(self, run: str) -> list[psutil.Process]:
        """The processes of a run's tasks."""
        found = self.process(run).children(recursive=True)
        return [process for process in found if "spawn_main" in " ".join(_command(process))]

    def processes(self, *runs: str) -> list[psutil.Process]:
        """The process of each run and all its children."""
        flows = [self.process(run) for run in runs]
        return [process for flow in flows for process in (*flow.children(recursive=True), flow)]

    def is_waiting_for(self, run: str, lock: Path) -> bool:
        """Whether a process of a run has opened the file of a lock, which another process holds."""
        with suppress(ValueError, psutil.Error):  # the run has no process yet, or one has just ended
            files = [file.path for process in self.processes(run) for file in process.open_files()]
            return lock.name in {Path(path).name for path in files}
        return False

    def wait_for(self, is_so: Any, what: str) -> None:
        """Wait until a condition holds."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            assert time.monotonic() < until, f"expected {what} within {PATIENCE_SECONDS} s\n{self.log('worker')}"
            time.sleep(0.2)

    def log(self, name: str) -> str:
        """The output of the server or the worker."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def _start(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "prefect", *words], cwd=ROOT, env=self.environment, stdout=log, stderr=log
            )
        self.started.append(process)
        return process

    def close(self) -> None:
        """End the worker, then the server."""
        for process in reversed(self.started):
            children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
            for each in (process, *children):
                with suppress(psutil.NoSuchProcess):
                    each.terminate()
            psutil.wait_procs(children, timeout=30)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def kill(processes: Iterable[psutil.Process]) -> None:
    """Kill processes, some of which may have ended."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def free_port() -> int:
    """An unused port of this machine."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _environment(process: psutil.Process) -> dict[str, str]:
    """The environment of a process; empty once it has ended, as the workers of other runs may at any time."""
    try:
        return process.environ()
    except psutil.NoSuchProcess:
        return {}


def _command(process: psutil.Process) -> list[str]:
    """The command line of a process; empty once it has ended."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []
