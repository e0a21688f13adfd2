"""Runs Python scripts inside the installed gnubg, which answer questions that its external player does not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from bgdata.errors import ExternalProgramError
from bgdata.evaluation.gnubg import require_gnubg

TELL = """
def tell(text, answers=open({answers!r}, "w", buffering=1)):
    answers.write(str(text) + "\\n")

"""


def ask_gnubg(script: str, folder: Path) -> list[str]:
    """Run a Python script inside gnubg. Returns the lines of text that the script passed to `tell(text)`. The script
    and its answers are written to `folder`, which must exist.

    gnubg mixes its own output with that of scripts and always exits with 0, so answers and an end mark go to a file.
    Raises UnknownPlayerError if gnubg is not installed, and ExternalProgramError if the script does not reach its
    end."""
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
