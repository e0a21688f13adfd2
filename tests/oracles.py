"""Programs that other people wrote and that answer independently: found where installed, else the test is skipped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
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
