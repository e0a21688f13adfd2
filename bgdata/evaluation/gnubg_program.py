"""The installed gnubg as an independent program: scripts run in its own Python, in a process of its own."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from bgdata.errors import ExternalProgramError, UnknownPlayerError

GAMES_FOLDERS = ("/usr/games", "/usr/local/games")  # where distributions put gnubg, often not on PATH
TELL = """
def tell(text, answers=open({answers!r}, "w", buffering=1)):
    answers.write(str(text) + "\\n")

"""


def find_gnubg_tool(name: str) -> str | None:
    """Path of `gnubg`, `makebearoff`, `makehyper` or `bearoffdump`; None where it is not installed."""
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(GAMES_FOLDERS))


def require_gnubg() -> str:
    """Path of gnubg. Raises UnknownPlayerError where it is not installed."""
    path = find_gnubg_tool("gnubg")
    if path is None:
        raise UnknownPlayerError("expected GNU Backgammon on this machine, found none (Debian package gnubg)")
    return path


@functools.cache
def gnubg_version() -> str:
    """The version that gnubg prints, such as 1.07.001. Raises UnknownPlayerError where it is not installed."""
    done = subprocess.run([require_gnubg(), "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"\d+\.\d+\.\d+", done.stdout)
    return found[0] if found else "unknown"


def ask_gnubg(script: str, folder: Path) -> list[str]:
    """Run a Python script inside gnubg; returns the texts, one line each, for which the script called `tell(text)`.

    gnubg mixes its own output with that of scripts and always exits with 0, so answers, and a mark at the end, are
    written to a file. Raises ExternalProgramError if the script does not reach its end.
    """
    path, answers = folder / "script.py", folder / "answers.txt"
    path.write_text(TELL.format(answers=str(answers)) + script + "\ntell('end')\n")
    environment = os.environ | {"HOME": str(folder)}  # it writes settings there
    done = subprocess.run(
        [require_gnubg(), "-t", "-q", "-r", "-p", str(path)],
        cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    told = answers.read_text().splitlines() if answers.exists() else []
    if told[-1:] != ["end"]:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise ExternalProgramError(f"expected gnubg to answer every question, found: {last}")
    return told[:-1]
