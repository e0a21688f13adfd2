"""Conversations with another program, line by line, over a socket or pipes. The length of lines and the waiting time
are limited."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress

from bgdata.errors import ExternalProgramError, InvalidMessageError, cite

MAX_BYTES = 4096  # longest line
_CHUNK = 1 << 16
_UNBLOCKED = 512  # bytes that a writable descriptor accepts without blocking


class Talk:
    """A conversation, line by line. It reads from one file descriptor and writes to another, which may be the same, and
    does not close them. `name` is the name of the other side in error messages."""

    def __init__(self, reading: int, writing: int, name: str, most_bytes: int = MAX_BYTES) -> None:
        self._reading, self._writing, self.name, self._most_bytes = reading, writing, name, most_bytes
        self._unread = bytearray()
        self._is_ended = False

    def read_line(
        self, patience_seconds: float | None = None, prompt: str = "", until: float | None = None
    ) -> str | None:
        """Read the next line, without its line end and NUL bytes; None if the other side has ended. A `prompt` counts
        as a line although it has no line end. `until` is the end of a wait of `patience_seconds` that has already
        begun, as a time of the monotonic clock.

        Raises InvalidMessageError for a line that is too long or not text; a line that is too long is read to its end
        first. Raises ExternalProgramError if no whole line comes in time, or the last line is cut off."""
        if until is None and patience_seconds is not None:
            until = time.monotonic() + patience_seconds
        is_too_long = False
        while b"\n" not in self._unread:
            if prompt and bytes(self._unread).strip() == prompt.encode():
                self._unread.clear()
                return prompt
            if len(self._unread) > self._most_bytes:
                is_too_long = True
                self._unread.clear()
            if not self._receive(until, patience_seconds):
                self._check_end(is_too_long=is_too_long)
                return None
        end = self._unread.index(b"\n")
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]  # in place: copying the rest for every line would take quadratic time
        if is_too_long or len(line) > self._most_bytes:
            raise InvalidMessageError(f"expected lines of at most {self._most_bytes} bytes, got a longer one")
        return _text(line)

    def write_line(self, text: str, patience_seconds: float | None = None) -> None:
        """Write a line. Raises ExternalProgramError if the other side is gone, or does not read in time."""
        left = f"{text}\n".encode()
        try:
            while left:
                if not select.select([], [self._writing], [], patience_seconds)[1]:
                    raise ExternalProgramError(f"expected {self.name} to read within {patience_seconds:g} s")
                left = left[os.write(self._writing, left[:_UNBLOCKED]) :]
        except OSError as error:
            raise ExternalProgramError(f"expected {self.name} to listen, found it gone: {error.strerror}") from error

    def ask(self, text: str, patience_seconds: float | None = None) -> str:
        """Write a line and return the reply. Raises ExternalProgramError if the other side does not answer in time."""
        self.write_line(text, patience_seconds)
        try:
            answer = self.read_line(patience_seconds)
        except InvalidMessageError as error:
            raise ExternalProgramError(f"{error}, in the answer of {self.name} to {cite(text)}") from error
        if answer is None:
            raise ExternalProgramError(f"expected {self.name} to answer {cite(text)}, found it gone")
        return answer

    def _receive(self, until: float | None, patience_seconds: float | None) -> bool:
        """Wait for bytes and read them into the buffer. Returns False at the end of the input."""
        if self._is_ended:
            return False
        left = None if until is None else until - time.monotonic()  # so endless bytes without a line end time out too
        if left is None:
            select.select([self._reading], [], [])
        elif left <= 0 or not select.select([self._reading], [], [], left)[0]:
            half = f", only {cite(_shown_bytes(self._unread))}" if self._unread else ""
            raise ExternalProgramError(f"expected a line of {self.name} within {patience_seconds:g} s, got none{half}")
        more = b""
        with suppress(ConnectionError):
            more = os.read(self._reading, _CHUNK)
        self._unread += more.replace(b"\0", b"")
        self._is_ended = not more
        return bool(more)

    def _check_end(self, *, is_too_long: bool) -> None:
        """Raise ExternalProgramError if the last line is cut off."""
        half, self._unread = bytes(self._unread), bytearray()
        if half or is_too_long:
            raise ExternalProgramError(
                f"expected {self.name} to end its last line, found it gone after {cite(_shown_bytes(half))}"
            )


def _text(line: bytes) -> str:
    """Decode a line. Raises InvalidMessageError if it is not UTF-8."""
    try:
        text = line.decode().strip()
    except UnicodeDecodeError:
        raise InvalidMessageError(f"expected a line of text, got {cite(line)}") from None
    if not text.replace("\t", " ").isprintable():
        raise InvalidMessageError(f"expected a line of printable text, got {cite(text)}")
    return text


def _shown_bytes(data: bytes | bytearray) -> str:
    return bytes(data[-100:]).decode(errors="replace")
