"""The installed gnubg: a player and evaluator that asks server processes, and scripts that run inside gnubg.

The player asks for cubeless money play without the Jacoby rule. Its processes start with the first questions and
continue to run: each answers thousands of questions a second at 0-ply. gnubg's command `external` listens on a Unix
socket and answers one line at a time, in a tenth of a millisecond. Lines longer than ours would end the process.
Scripts are for questions that `external` cannot answer.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from bgdata.errors import ExternalProgramError, UnknownPlayerError, cite
from bgdata.evaluation.chances import AnswerSource, Chances
from bgdata.evaluation.programs import ProgramPlayer, chance_array, check_program_ply
from bgdata.evaluation.talk import Talk
from bgdata.game.codec import Boards
from bgdata.game.dice import Roll
from bgdata.game.fibs_board import format_money_board
from bgdata.game.position import Position
from bgdata.kernel import thread_count
from bgdata.process import when_cut_off

START_SECONDS = 60  # a start may take this long on a busy machine
ANSWER_SECONDS = 600.0  # an answer at 4-ply may take this long on a busy machine
END_SECONDS = 2  # how long to wait until a process ends by itself
COMMANDS = """
set jacoby off
set evaluation chequerplay evaluation plies PLY
set evaluation chequerplay evaluation cubeful off
set evaluation chequerplay evaluation prune off
set evaluation chequerplay evaluation noise 0
external SOCKET
"""
# gnubg would outlive this process and wait for another connection, so a watcher kills it when its input ends
WATCHED = 'exec 3<&0; { cat <&3 >/dev/null; kill $$; } 2>/dev/null & exec "$@" </dev/null >/dev/null 2>&1 3<&-'
GAMES_FOLDERS = ("/usr/games", "/usr/local/games")  # where distributions put gnubg, often not on PATH


def find_gnubg_tool(name: str) -> str | None:
    """The path of a program of gnubg: `gnubg`, `makebearoff`, `makehyper` or `bearoffdump`. None if it is not
    installed."""
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(GAMES_FOLDERS))


def require_gnubg() -> str:
    """The path of gnubg. Raises UnknownPlayerError if it is not installed."""
    path = find_gnubg_tool("gnubg")
    if path is None:
        raise UnknownPlayerError("expected GNU Backgammon on this machine, found none (Debian package gnubg)")
    return path


@functools.cache
def gnubg_version() -> str:
    """The version that gnubg prints, such as 1.07.001. Raises UnknownPlayerError if it is not installed."""
    done = subprocess.run([require_gnubg(), "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"\d+\.\d+\.\d+", done.stdout)
    return found[0] if found else "unknown"


class GnubgServer:
    """A process of gnubg that answers at a fixed ply, for cubeless money play without the Jacoby rule. It ends with
    `close` or with this process. An answer may take `patience_seconds`. Raises UnknownPlayerError if gnubg is not
    installed, and ExternalProgramError if it does not start."""

    def __init__(self, ply: int, patience_seconds: float = ANSWER_SECONDS) -> None:
        self.ply, self.patience_seconds = ply, patience_seconds
        with (
            tempfile.TemporaryDirectory(prefix="gnubg-") as folder,  # not needed after the connection
            when_cut_off(partial(shutil.rmtree, folder, ignore_errors=True)),
        ):
            process, connection = _start(Path(folder), ply)
        self.process_id = process.pid
        self._talk = Talk(connection.fileno(), connection.fileno(), "gnubg")
        self.close: Callable[[], object] = weakref.finalize(self, _end, process, connection)

    def chances(self, position: Position) -> list[float]:
        """The five cumulative chances of the player on roll, before the roll, to six decimals. Raises
        ExternalProgramError if gnubg does not answer as expected."""
        question = f"evaluation fibsboard {format_money_board(position)} plies {self.ply}"
        told = self._talk.ask(question, self.patience_seconds)
        try:
            chances = list(map(float, told.split()))[:5]
        except ValueError:
            chances = []
        if len(chances) != 5:
            raise ExternalProgramError(f"expected five chances of gnubg for {position.id}, got {cite(told)}")
        return chances

    def play(self, position: Position, roll: Roll) -> str:
        """Choose a play, in gnubg's notation; an empty string if there is no legal play. Raises ExternalProgramError if
        gnubg does not answer as expected."""
        return self._talk.ask(format_money_board(position, roll), self.patience_seconds)


def _start(folder: Path, ply: int) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start gnubg with its external player listening, and connect to it. Raises UnknownPlayerError if gnubg is not
    installed, and ExternalProgramError if it does not start."""
    path = folder / "socket"
    (folder / "commands").write_text(COMMANDS.replace("PLY", str(ply)).replace("SOCKET", str(path)))
    gnubg = [require_gnubg(), "-t", "-q", "-r", "-c", str(folder / "commands")]
    process = subprocess.Popen(
        ["/bin/sh", "-c", WATCHED, "sh", *gnubg],
        stdin=subprocess.PIPE, cwd=folder, env=os.environ | {"HOME": str(folder)},
    )  # fmt: skip
    connection, until = socket.socket(socket.AF_UNIX), time.monotonic() + START_SECONDS
    while True:
        try:
            connection.connect(str(path))
        except OSError as error:
            if process.poll() is not None or time.monotonic() > until:
                _end(process, connection)
                raise ExternalProgramError(f"expected gnubg to listen within {START_SECONDS} s, found none") from error
            time.sleep(0.05)
        else:
            return process, connection


def _end(process: subprocess.Popen[bytes], connection: socket.socket) -> None:
    connection.close()
    try:
        process.communicate(timeout=END_SECONDS)  # closes its input, so the watcher ends it
    except subprocess.TimeoutExpired:  # it hangs or was stopped
        process.kill()
        process.wait()


Question = TypeVar("Question")
Answer = TypeVar("Answer")


class GnubgPlayer(ProgramPlayer):
    """gnubg as a player at a fixed ply, counted as in gnubg: 0 is the static evaluation. An answer may take
    `patience_seconds`. Raises UnknownPlayerError if gnubg is not installed, and later ExternalProgramError if it stops
    answering."""

    def __init__(self, ply: int = 0, patience_seconds: float = ANSWER_SECONDS) -> None:
        check_program_ply("gnubg", ply)
        super().__init__(f"gnubg-{ply}ply", "gnubg")
        self.ply, self.patience_seconds = ply, patience_seconds
        self.version = f"{gnubg_version()}-external"  # six decimals, unlike gnubg's scripts
        self._servers: list[GnubgServer] = []
        self._asking = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.ply, self.patience_seconds)

    @property
    def accuracy(self) -> Mapping[AnswerSource, str]:
        """The version of gnubg and its ply, as the accuracy of its answers; see `chances.Evaluator`."""
        return {AnswerSource.PROGRAM: f"GNU Backgammon {gnubg_version()}, its {self.ply}-ply"}

    def chances(self, boards: Boards) -> Chances:
        return chance_array(self._ask_all(GnubgServer.chances, [Position(board) for board in boards.tolist()]))

    def plays(self, decisions: Sequence[tuple[Position, Roll]]) -> list[str]:
        return self._ask_all(lambda server, decision: server.play(*decision), decisions)

    def _ask_all(self, ask: Callable[[GnubgServer, Question], Answer], questions: Sequence[Question]) -> list[Answer]:
        """Answer `questions` in their order, with as many gnubg processes as there are threads."""
        count = min(thread_count(), len(questions))
        if not count:
            return []
        parts = [questions[part::count] for part in range(count)]
        with self._asking, ThreadPoolExecutor(count) as executor:
            try:
                missing = count - len(self._servers)
                self._servers += executor.map(GnubgServer, [self.ply] * missing, [self.patience_seconds] * missing)
                answers = list(
                    executor.map(lambda server, part: [ask(server, each) for each in part], self._servers, parts)
                )
            except ExternalProgramError:
                self._servers = []  # new processes answer the next questions
                raise
        return [answers[row % count][row // count] for row in range(len(questions))]


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
