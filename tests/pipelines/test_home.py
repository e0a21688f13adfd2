"""Where Prefect keeps its database, also where it may not write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHOW = "import os, pipelines; print(pipelines.HOME, os.environ['PREFECT_HOME'])"


def shown(home: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a process says that imports the pipelines."""
    root = str(Path(__file__).parents[2])
    variables = {**os.environ, "PREFECT_HOME": str(home), "PYTHONPATH": root, "TMPDIR": str(folder)}
    command = [sys.executable, "-c", SHOW]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env=variables, check=True)


def test_it_is_made(tmp_path: Path) -> None:
    done = shown(tmp_path / "a" / "b", tmp_path)
    assert (done.stdout.split(), done.stderr) == ([str(tmp_path / "a" / "b")] * 2, "")
    assert (tmp_path / "a" / "b").is_dir()


@pytest.mark.parametrize("inside", ["", "below"])
def test_one_that_cannot_be_written_is_replaced_for_this_run(tmp_path: Path, inside: str) -> None:
    (tmp_path / "file").touch()
    done = shown(tmp_path / "file" / inside, tmp_path)
    home, told = done.stdout.split()
    assert home == told
    assert Path(home).parent == tmp_path
    assert not Path(home).exists()  # it goes with the process
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"cannot write {tmp_path / 'file' / inside}: ")
    assert line.endswith("; this run is not recorded")
