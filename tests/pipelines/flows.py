"""Runs the flows on the smallest tables, in a process of its own: `python -m tests.pipelines.flows FOLDER`.

Starting Prefect's server takes seconds, so one process runs every case. A line names each case on both outputs, and a
line of JSON ends it on standard output.
"""

import json
import os
import runpy
import shutil
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from bgdata import open_warehouse, process
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.kinds import all_kinds
from bgdata.store.lockfile import FILE_NAME as LOCK_NAME
from bgdata.store.lockfile import save_lock
from tests.contract.kinds import small_variants

MARK = "=== "
SMALL_PLAN = {
    "start": "network/tiny",
    "games": 20,
    "epochs": 1,
    "score-games": 4,
    "luck-adjusted-games": 0,
    "decisions": 20,
}


def case(name: str, function: Callable[[], Any]) -> None:
    """Print the name of a case, then its output, then its result or its exit code."""
    for stream in (sys.stdout, sys.stderr):
        print(f"{MARK}{name}", file=stream, flush=True)
    try:
        result = function()
    except SystemExit as error:
        result = error.code
        process._stop.code = None  # this process continues, and would exit with the same code
    print(json.dumps(result), flush=True)


def run_as_module(root: Path) -> None:
    """Run `python -m pipelines.build ROOT`."""
    sys.argv = ["pipelines.build", str(root)]
    runpy.run_module("pipelines.build", run_name="__main__", alter_sys=True)


def write_locks(root: Path) -> Path:
    """Lock the warehouse, and a copy of it with another digest for one table; returns the copy."""
    manifests = [table.manifest for table in open_warehouse(root).current()]
    other = root.with_name("other")
    shutil.copytree(root, other)
    save_lock(root / LOCK_NAME, manifests)
    save_lock(other / LOCK_NAME, [replace(manifests[0], digest="0" * 64), *manifests[1:]])
    return other


def refused_connection() -> str:
    """The error of a connection to another machine in this process."""
    try:
        socket.getaddrinfo("example.invalid", 443)
    except OSError as error:
        return str(error)
    return ""


def main(folder: Path) -> None:
    """Run every case, in order: later ones use the versions of earlier ones."""
    for kind in all_kinds().values():
        if kind.defaults:
            kind.defaults = small_variants(kind)
            kind.more = ()
    gammon = all_kinds()["bearoff_gammon"]
    gammon.more = (RaceParameters(2),)
    gammon.defaults += gammon.more
    root = folder / "warehouse"
    (folder / "file").write_text("not a folder")
    case("file in its place", lambda: run_as_module(folder / "file"))

    from prefect.settings import get_current_settings

    from pipelines import SETTINGS, build, match_equity, tasks, train

    case("fresh", lambda: build.main(str(root)))
    with tasks.one_server():
        case("one kind", lambda: build.build_warehouse(str(folder / "one"), kinds=["bearoff_gammon"]))
    names = [table.name for table in open_warehouse(root).current()]
    case("report", lambda: build.report(str(root), names))
    other = write_locks(root)
    case("locked", lambda: build.main(str(root)))
    case("all", lambda: build.main(str(other), is_all=True))
    words = ["--warehouse", str(folder / "page"), "--plies", "0", "--length", "7"]
    case("page", lambda: match_equity.main(words))
    trained = shutil.copytree(root, folder / "trained")
    few = [f"--{name}={value}" for name, value in SMALL_PLAN.items()]
    for name in ("train", "train again"):
        case(name, lambda: train.main(["mine", "--warehouse", str(trained), *few]))
    case("train wrong", lambda: train.main(["tiny", "--warehouse", str(trained), *few]))
    case("settings", lambda: get_current_settings().to_environment_variables(include_secrets=True))
    case("environment", lambda: {name: os.environ[name] for name in SETTINGS})
    case("children", lambda: [child.pid for child in psutil.Process().children(recursive=True)])
    case("refused", refused_connection)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
