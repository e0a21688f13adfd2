"""Any UBGI engine as a player, and as an evaluator if it answers `go eval`, as `bgdata ubgi` does.

The first line of a file NAME.ubgi is the command that starts the engine. The lines below are settings, with a key and a
value each. `patience` is not sent to the engine: it says how many seconds the player waits for a line.

    bgdata ubgi --network diverse-19
    engine.seed 7
    patience 60
"""

from __future__ import annotations

import hashlib
import itertools
import re
import shlex
import subprocess
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bgdata.errors import (
    EngineRefusedError,
    ExternalProgramError,
    InvalidMessageError,
    MissingFileError,
    UnknownPlayerError,
    UsageError,
    cite,
)
from bgdata.evaluation.chances import AnswerSource, Chances
from bgdata.evaluation.programs import ProgramPlayer, chance_array
from bgdata.evaluation.talk import Talk
from bgdata.game.codec import Boards
from bgdata.game.dice import Roll
from bgdata.game.position import Position

PATIENCE, PATIENCE_SECONDS = "patience", 600.0  # default time for one line of an engine
PROTOCOLS = ("0.1", "0.2")  # supported versions; an engine that names no version has the first
MAX_LINES = 10_000  # lines that an engine may print before its answer


class UbgiPlayer(ProgramPlayer):
    """The UBGI engine that a file NAME.ubgi starts, as a player. It looks `ply` rolls ahead if that is 1 or more. The
    engine's process starts with the first question, and ends with this process. Raises MissingFileError if there is no
    file, and UnknownPlayerError if the file contains no command."""

    def __init__(self, path: str, ply: int = 0) -> None:
        try:
            text = Path(path).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise MissingFileError(f"expected a file of text that starts an engine, found none in {path}") from error
        super().__init__(f"{re.sub('[^A-Za-z0-9]+', '-', Path(path).stem)}-{ply}ply")
        self.path, self.ply = path, ply
        self._engine: _Engine | None = None
        first, *rest = [line for line in text.splitlines() if line.strip() and not line.startswith("#")] or [""]
        try:
            self.command = shlex.split(first)
        except ValueError:
            self.command = []
        if not self.command:
            raise UnknownPlayerError(f"expected the command of an engine as first line of {path}, got {cite(first)}")
        settings = [line.split() for line in rest] + ([["engine.ply", str(ply + 1)]] if ply else [])
        if wrong := [each for each in settings if len(each) != 2]:
            raise UnknownPlayerError(f"expected lines KEY VALUE below the command in {path}, got {cite(wrong[0])}")
        self._settings = [each for each in settings if each[0] != PATIENCE]
        *_, patience = [str(PATIENCE_SECONDS), *(value for key, value in settings if key == PATIENCE)]
        is_number = re.fullmatch(r"\d{1,6}(\.\d{1,6})?", patience, re.ASCII)
        self.patience_seconds = float(patience) if is_number else 0.0
        if not self.patience_seconds:
            raise UnknownPlayerError(f"expected {PATIENCE} SECONDS above 0 in {path}, got {cite(patience)}")
        self._text = re.sub(rf"\n[ \t]*{PATIENCE}[ \t].*", "", text)  # without patience, on which answers do not depend

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.ply)

    @property
    def version(self) -> str:
        """Eight hex digits that change with the engine's name and version, and with its file."""
        described = repr([self._running().identity, self._text, self.ply])
        return hashlib.sha256(described.encode()).hexdigest()[:8]

    @property
    def accuracy(self) -> Mapping[AnswerSource, str]:
        """The engine's name and version, as the accuracy of its answers; see `chances.Evaluator`."""
        return {AnswerSource.PROGRAM: ", ".join(self._running().identity)}

    def chances(self, boards: Boards) -> Chances:
        """Return the chances that the engine estimates: see `ProgramEvaluator`. Raises UsageError if the engine cannot
        evaluate positions."""
        return chance_array([self._evaluation(Position(board)) for board in boards.tolist()])

    def plays(self, decisions: Sequence[tuple[Position, Roll]]) -> Iterator[str]:
        for position, roll in decisions:
            engine = self._running()
            lines = [f"position gnubgid {position.id}", f"dice {roll.high} {roll.low}", engine.go]
            yield engine.ask(lines, "bestmove")

    def _evaluation(self, position: Position) -> list[float]:
        try:
            told = self._running().ask([f"position gnubgid {position.id}", "go eval"], "chances")
        except EngineRefusedError as error:
            raise UsageError(f"expected an engine that answers go eval, got {self.label}: {error}") from error
        try:
            chances = list(map(float, told.split()))
        except ValueError:
            chances = []
        if len(chances) != 5 or not all(0 <= chance <= 1 for chance in chances):
            raise ExternalProgramError(
                f"expected five chances from 0 to 1 of {self.label} for {position.id}, got {cite(told)}"
            )
        return chances

    def _running(self) -> _Engine:
        """The process of the engine, started again if the last one has ended."""
        if self._engine is None or self._engine.is_gone:
            self._engine = _Engine(self.command, self._settings, self.label, self.patience_seconds)
        return self._engine


class _Engine:
    """A process of the engine, which has finished the handshake and received its settings. Raises UnknownPlayerError
    for a command that cannot be started, an unsupported version or a key that the engine does not have, and
    ExternalProgramError if it does not answer."""

    def __init__(self, command: list[str], settings: list[list[str]], name: str, patience_seconds: float) -> None:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
            )
        except (OSError, ValueError) as error:  # ValueError for a null byte
            raise UnknownPlayerError(
                f"expected a command that starts an engine, got {cite(command)}: {error}"
            ) from error
        assert process.stdin
        assert process.stdout
        self._talk = Talk(process.stdout.fileno(), process.stdin.fileno(), name)
        self.close = weakref.finalize(self, _end, process)
        self.identity: list[str] = []
        self._patience_seconds = patience_seconds
        self.go = "go role chequer"  # as in version 0.1
        self._exchange(["ubgi"], self._handshake)
        for key, value in settings:
            try:
                self._exchange([f"set {key} {value}", "isready"], lambda reply: reply if reply == "readyok" else None)
            except EngineRefusedError as error:
                raise UnknownPlayerError(f"expected an engine that has {key} {value}: {error}") from error

    def ask(self, lines: list[str], word: str) -> str:
        """Write lines to the engine, and return the text after `word` in its answer. Raises ExternalProgramError if the
        engine does not answer as expected."""
        return self._exchange(lines, lambda told: told.removeprefix(word).strip() if told.split()[0] == word else None)

    def _handshake(self, line: str) -> str | None:
        """Remember the engine's identity or protocol version from a line of the handshake. Returns the line if it is
        the last one, otherwise None."""
        if line.startswith("id "):
            self.identity.append(line.removeprefix("id "))
        if line.startswith("proto "):
            version = line.removeprefix("proto ").strip()
            if version not in PROTOCOLS:
                known, name = " or ".join(PROTOCOLS), self._talk.name
                raise UnknownPlayerError(f"expected an engine of UBGI {known}, got {name} of {cite(version, 40)}")
            self.go = "go role chequer" if version == PROTOCOLS[0] else "go chequer"
        return line if line in ("ubgiok", "readyok") else None

    def _exchange(self, lines: list[str], found: Callable[[str], str | None]) -> str:
        """Write lines to the engine and read its answer line by line, until `found(line)` is not None. Returns that
        result. Raises ExternalProgramError if the engine does not answer as expected."""
        self.is_gone = True  # until the engine has answered; else the next lines would be unpredictable
        for line in lines:
            self._talk.write_line(line, self._patience_seconds)
        for reply in filter(None, itertools.islice(iter(self._read, None), MAX_LINES)):
            if reply.split()[0] in ("error", "sorry"):
                raise EngineRefusedError(f"{self._talk.name} answered {cite(reply)}")
            if (answer := found(reply)) is not None:
                self.is_gone = False
                return answer
        raise ExternalProgramError(f"expected an answer of {self._talk.name}, found none")

    def _read(self) -> str | None:
        try:
            return self._talk.read_line(self._patience_seconds)
        except InvalidMessageError as error:
            raise ExternalProgramError(f"{error}, in an answer of {self._talk.name}") from error


def _end(process: subprocess.Popen[bytes]) -> None:
    with process:
        process.kill()
