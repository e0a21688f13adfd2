"""Runs commands of `bgdata` on an untrusted warehouse in another process, which may hang or die."""

import json
import os
import sys
import time
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

from bgdata.cli import main
from bgdata.process import cache_folder
from tests.store import processes

HANG_SECONDS = 90.0  # without a new answer
STARTING = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect", "socket.getaddrinfo"}


class Answer(NamedTuple):
    """The result of a command; `failure` has exceptions other than an exit, and processes that it started."""

    arguments: list[str]
    code: int
    output: str
    error: str
    failure: str


def run_commands(root: Path, place: Path, commands: Sequence[Sequence[str]], answers_file: Path) -> None:
    """In another process: run commands from a folder, and write each answer at once."""
    started: list[str] = []

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event in STARTING and arguments[0] != "git":  # builds call git for the commit of the source
            started.append(f"{event} {arguments!r:.200}")

    os.chdir(place)
    os.environ.setdefault("BGDATA_CACHE", str(cache_folder()))  # the cache of compiled kernels
    os.environ["HOME"] = str(place)
    sys.addaudithook(note)
    with answers_file.open("w") as file:
        for arguments in commands:
            result = CliRunner().invoke(main, ["--warehouse", str(root), *arguments])
            is_exit = result.exception is None or isinstance(result.exception, SystemExit)
            failure = " ".join([*([] if is_exit else [repr(result.exception)]), *started])
            answer = Answer(list(arguments), result.exit_code, result.stdout, result.stderr, failure)
            file.write(json.dumps(answer) + "\n")
            file.flush()


def ask(root: Path, place: Path, commands: Sequence[Sequence[str]]) -> list[Answer]:
    """The answers; raises AssertionError for a command that hangs, dies, or prints more than one line of error."""
    answers_file = place.parent / f"{place.name}-told"
    process = processes.start(run_commands, root, place, commands, answers_file)
    hangs = not ends(process, answers_file)
    answers = [Answer(*json.loads(line)) for line in answers_file.read_text().splitlines()]
    assert not hangs, f"expected an answer to {list(commands[len(answers)])}, found none for {HANG_SECONDS:.0f} s"
    assert process.exitcode == 0, f"expected answers, found exit code {process.exitcode} after {answers[-1:]}"
    for answer in answers:
        assert not answer.failure, f"expected {answer.arguments} to end by itself, found {answer.failure}"
        lines = [line for line in answer.error.splitlines() if line.startswith("error: ")]
        assert answer.code in (0, 1, 2), f"expected exit code 0, 1 or 2 of {answer.arguments}, found {answer.code}"
        assert len(lines) <= 1, f"expected one line of error of {answer.arguments}, found {answer.error}"
    return answers


def ends(process: BaseProcess, answers_file: Path) -> bool:
    """Wait until a process ends; kill it and return False if answers stop."""
    given = 0
    since = time.monotonic()
    while process.is_alive():
        process.join(0.2)
        found = answers_file.stat().st_size if answers_file.exists() else 0
        if found != given:
            given = found
            since = time.monotonic()
        elif time.monotonic() - since > HANG_SECONDS:
            process.kill()
            process.join()
            return False
    return True
