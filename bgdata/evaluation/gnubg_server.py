"""The installed gnubg as a server: it evaluates positions and chooses plays over a connection that stays open.

Its command `external` listens on a socket in the file system and answers one line at a time, in a tenth of a
millisecond; scripts (`gnubg_program`) are answered a hundred times a second. Longer lines than ours would end it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bgdata.errors import ExternalProgramError, shown
from bgdata.evaluation.gnubg_program import require_gnubg
from bgdata.evaluation.talk import Talk
from bgdata.game.dice import Roll
from bgdata.game.fibs_board import format_money_board
from bgdata.game.position import Position
from bgdata.process import when_cut_off

START_SECONDS = 60  # a busy machine may take that long
ANSWER_SECONDS = 600.0  # at 4-ply, of a busy machine
END_SECONDS = 2  # that a process may take to end by itself
COMMANDS = """
set jacoby off
set evaluation chequerplay evaluation plies PLY
set evaluation chequerplay evaluation cubeful off
set evaluation chequerplay evaluation prune off
set evaluation chequerplay evaluation noise 0
external SOCKET
"""
# gnubg would wait for another connection when this process is gone: what reads its input to the end ends it then
WATCHED = 'exec 3<&0; { cat <&3 >/dev/null; kill $$; } 2>/dev/null & exec "$@" </dev/null >/dev/null 2>&1 3<&-'


class GnubgServer:
    """One process of gnubg at a ply, for cubeless money play without the Jacoby rule. `close` ends it, as does the end
    of this process, however it comes. An answer may take `patience_seconds`. Raises UnknownPlayerError and
    ExternalProgramError."""

    def __init__(self, ply: int, patience_seconds: float = ANSWER_SECONDS) -> None:
        self.ply, self.patience_seconds = ply, patience_seconds
        with (
            tempfile.TemporaryDirectory(prefix="gnubg-") as folder,  # not needed any more once it is connected
            when_cut_off(partial(shutil.rmtree, folder, ignore_errors=True)),
        ):
            process, connection = _start(Path(folder), ply)
        self.process_id = process.pid
        self._talk = Talk(connection.fileno(), connection.fileno(), "gnubg")
        self.close: Callable[[], object] = weakref.finalize(self, _end, process, connection)

    def chances(self, position: Position) -> list[float]:
        """The five cumulative chances of the player on roll, before the roll, to six decimals. Raises
        ExternalProgramError."""
        question = f"evaluation fibsboard {format_money_board(position)} plies {self.ply}"
        told = self._talk.ask(question, self.patience_seconds)
        try:
            chances = list(map(float, told.split()))[:5]
        except ValueError:
            chances = []
        if len(chances) != 5:
            raise ExternalProgramError(f"expected five chances of gnubg for {position.id}, got {shown(told)}")
        return chances

    def play(self, position: Position, roll: Roll) -> str:
        """The play that it chooses, in its notation; nothing where there is none. Raises ExternalProgramError."""
        return self._talk.ask(format_money_board(position, roll), self.patience_seconds)


def _start(folder: Path, ply: int) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """A process that listens, and a connection to it. Raises UnknownPlayerError and ExternalProgramError."""
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
        process.communicate(timeout=END_SECONDS)  # closes its input, whereupon it is told to end
    except subprocess.TimeoutExpired:  # it hangs, or was stopped
        process.kill()
        process.wait()
