"""Independent programs for comparisons; tests are skipped where these are not installed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bgdata.errors import ExternalProgramError
from bgdata.evaluation.gnubg import find_gnubg_tool, require_gnubg

__all__ = ["ask_gnubg", "find_gnubg_tool", "needs_gnubg_tool"]
TELL = """
def tell(text, answers=open({answers!r}, "w", buffering=1)):
    answers.write(str(text) + "\\n")

"""


def needs_gnubg_tool(*names: str) -> Callable[[Any], Any]:
    """Decorator that marks a test or class `gnubg`, and skips it if a tool is missing."""
    missing = [name for name in names if find_gnubg_tool(name) is None]
    skip = pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} not installed (Debian package gnubg)")
    return lambda test: pytest.mark.gnubg(skip(test))


def ask_gnubg(script: str, folder: Path) -> list[str]:
    """Run a Python script inside gnubg; returns the texts, one line each, with which the script called `tell(text)`.

    gnubg mixes its own output with that of scripts and always exits with 0, so answers and an end mark go to a file.
    Raises ExternalProgramError if the script does not reach its end.
    """
    path, answers = folder / "script.py", folder / "answers.txt"
    path.write_text(TELL.format(answers=str(answers)) + script + "\ntell('end')\n")
    environment = os.environ | {"HOME": str(folder)}  # gnubg writes settings there
    done = subprocess.run(
        [require_gnubg(), "-t", "-q", "-r", "-p", str(path)],
        cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    told = answers.read_text().splitlines() if answers.exists() else []
    if told[-1:] != ["end"]:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise ExternalProgramError(f"expected gnubg to answer every question, found: {last}")
    return told[:-1]
