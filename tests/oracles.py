"""Programs that other people wrote and that answer independently: found where installed, else the test is skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GAMES_FOLDERS = ("/usr/games", "/usr/local/games")  # where distributions put gnubg, often not on PATH


def find_gnubg_tool(name: str) -> str | None:
    """Path of `gnubg`, `makebearoff`, `makehyper` or `bearoffdump`; None where it is not installed."""
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(GAMES_FOLDERS))


def needs_gnubg_tool(*names: str) -> Callable[[Any], Any]:
    """Decorator: mark a test or class `gnubg`, and skip it with a reason where a tool is missing."""
    missing = [name for name in names if find_gnubg_tool(name) is None]
    skip = pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} not installed (Debian package gnubg)")
    return lambda test: pytest.mark.gnubg(skip(test))


def ask_gnubg(script: str, folder: Path) -> list[str]:
    """What a Python script tells from inside gnubg: it calls `tell(text)`, and here are the texts, one each.

    gnubg mixes its own output with that of scripts and always exits with 0, so lines are marked, and so is the end.
    """
    path = folder / "script.py"
    path.write_text(f"def tell(text):\n    print('@@' + str(text))\n{script}\ntell('end')\n")
    command = [find_gnubg_tool("gnubg") or "gnubg", "-t", "-q", "-r", "-p", str(path)]
    environment = os.environ | {"HOME": str(folder)}  # it writes settings there
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    told = [line[2:] for line in done.stdout.splitlines() if line.startswith("@@")]
    assert told[-1:] == ["end"], done.stdout[-2000:] + done.stderr[-2000:]
    return told[:-1]
