"""Builds killed at any moment: nothing is half-published, and the next build has the same digest."""

import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.store.parameters import Parameters
from bgdata.store.progress import Silence
from bgdata.warehouse import Warehouse
from tests.store import processes
from tests.store.toy import Count, Notes, toy_warehouse, whole_versions

pytestmark = pytest.mark.kills
KILLED = -signal.SIGKILL
THREE_NUMBERS = Count(3)


def build(root: Path, kind: str, parameters: Parameters, force: bool = False, kill_at: int | None = None) -> None:
    """In another process: build with a checkpoint after every step, and die at this change."""
    from bgdata.store import job

    job.CHECKPOINT_SECONDS = 0.0
    processes.drop_root_rights()
    if kill_at is not None:
        processes.die_at_change(root, kill_at)
    warehouse = toy_warehouse(root) if kind == "squares" else bgdata.open_warehouse(root)
    warehouse.build(kind, parameters, progress=SlowProgress(), force=force)


class SlowProgress(Silence):
    """Delays every step, so that the parent can kill the build between any two."""

    def advance(self, count: int) -> None:
        time.sleep(0.02 if count > 1 else 0)


@pytest.mark.parametrize("force", [False, True])
def test_build_survives_a_kill_at_every_change(memory_path: Path, force: bool) -> None:
    """Whenever a build is killed, either no version or a complete one exists, and the next build finishes it with the
    same digest."""
    expected = toy_warehouse(memory_path / "complete").build("squares", THREE_NUMBERS).name
    exitcode: int | None = KILLED
    kill_at = 20 if force else 0  # until publishing both builds are the same
    while exitcode == KILLED:
        warehouse = toy_warehouse(memory_path / str(kill_at))
        if force:
            shutil.copytree(memory_path / "complete", warehouse.root)
        exitcode = processes.run(build, warehouse.root, "squares", THREE_NUMBERS, force, kill_at)
        assert exitcode in (0, KILLED)
        if force or whole_versions(warehouse):
            assert whole_versions(warehouse) == [expected]
        with processes.bare_thread() as thread:
            thread.submit(warehouse.build, "squares", THREE_NUMBERS, force=force).result()
        assert whole_versions(warehouse) == [expected], kill_at
        assert not [path for path in warehouse.staging.iterdir() if path.is_dir()], kill_at
        with warehouse.connect() as connection:
            assert connection.sql("select max(square) from squares").fetchall() == [(4,)]
        kill_at += 1
    assert kill_at > 30  # else the changes are not noticed any more


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [("bearoff_two_sided", TwoSidedParameters(5, 6)), ("bearoff_one_sided", RaceParameters(5))],
)
def test_build_survives_kills_at_random_moments(tmp_path: Path, kind: str, parameters: Parameters) -> None:
    """A build that is killed three times resumes from its last checkpoint, and has the digest of an undisturbed
    build."""
    expected = bgdata.open_warehouse(tmp_path / "undisturbed").build(kind, parameters).manifest.digest
    warehouse = bgdata.open_warehouse(tmp_path / "killed")
    generator = random.Random(20)
    step = 0
    for _ in range(3):
        process = processes.start(build, warehouse.root, kind, parameters)
        wait_for_checkpoint(process.is_alive, warehouse, step)
        time.sleep(generator.uniform(0, 0.1))
        process.kill()
        process.join()
        assert process.exitcode == KILLED
        assert list(warehouse.versions()) == []
        step = last_checkpoint(warehouse)
    notes = Notes()
    assert warehouse.build(kind, parameters, progress=notes).manifest.digest == expected
    resumed = re.fullmatch(rf"going on with {kind}/\w+ after step (\d+) of \d+", notes.texts[0])
    assert resumed is not None, notes.texts
    assert int(resumed[1]) == step
    assert len(whole_versions(warehouse)) == 1


def test_interrupted_build_can_be_resumed(tmp_path: Path) -> None:
    """Ctrl-C ends a build with one line, exit code 130, and a checkpoint from which the same command resumes."""
    warehouse = bgdata.open_warehouse(tmp_path / "warehouse")
    command = ["--warehouse", str(warehouse.root), "build", "bearoff_two_sided", "--points", "6", "--checkers", "6"]
    process = subprocess.Popen(
        processes.bgdata_command(*command),
        env=os.environ | {"BGDATA_CHECKPOINT_SECONDS": "0"},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in background jobs of a shell
    )
    wait_for_checkpoint(lambda: process.poll() is None, warehouse, 0)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    (line,) = (line for line in errors.splitlines() if "compil" not in line)  # kernels may be compiled
    kept = r"bearoff_two_sided/6x6 is kept up to step \d+, the same command goes on from there"
    assert re.fullmatch(f"error: interrupted; {kept}", line), errors
    assert process.returncode == 130
    assert last_checkpoint(warehouse) > 0
    assert list(warehouse.versions()) == []


def wait_for_checkpoint(is_running: Callable[[], bool], warehouse: Warehouse, step: int) -> None:
    """Wait until a running build has a checkpoint after this step."""
    while last_checkpoint(warehouse) <= step:
        assert is_running(), f"ended without a checkpoint after step {step}"
        time.sleep(0.001)


def last_checkpoint(warehouse: Warehouse) -> int:
    """The step of the newest checkpoint; 0 without one."""
    return max((int(path.name[-9:]) for path in warehouse.staging.glob("*/checkpoint-*")), default=0)
