"""Lines to and from a program that sends invalid text or does not read; `protocols/test_external.py` has more."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from bgdata.errors import ExternalProgramError
from bgdata.evaluation.talk import Talk


@pytest.fixture
def pair() -> Iterator[tuple[Talk, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Talk(ours.fileno(), ours.fileno(), "somebody", most_bytes=10), theirs


def test_lines_are_read_one_by_one(pair: tuple[Talk, socket.socket]) -> None:
    talk, theirs = pair
    theirs.sendall(b"a\r\n\0 b\tc \n\n" + b"d" * 10 + b"\n")
    theirs.shutdown(socket.SHUT_WR)
    assert [talk.read_line(30) for _ in range(6)] == ["a", "b\tc", "", "d" * 10, None, None]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"\xff\n", r"expected a line of text, got .*, in the answer of somebody to 'who'"),
        (b"\x07\n", r"expected a line of printable text, got .*, in the answer of somebody to 'who'"),
        (b"12345678901\n", "expected lines of at most 10 bytes, got a longer one, in the answer of somebody to 'who'"),
    ],
)
def test_invalid_lines_are_refused(answer: bytes, reason: str, pair: tuple[Talk, socket.socket]) -> None:
    talk, theirs = pair
    theirs.sendall(answer + b"me\n")
    with pytest.raises(ExternalProgramError, match=f"^{reason}$"):
        talk.ask("who", 30)
    assert talk.read_line(30) == "me"


def test_closed_connection_is_refused(pair: tuple[Talk, socket.socket]) -> None:
    talk, theirs = pair
    theirs.shutdown(socket.SHUT_WR)
    with pytest.raises(ExternalProgramError, match=r"^expected somebody to answer 'who', found it gone$"):
        talk.ask("who", 30)


def test_write_without_a_reader_times_out(pair: tuple[Talk, socket.socket]) -> None:
    """Writing more bytes than the sockets can buffer raises an error after the patience."""
    talk, _ = pair
    with pytest.raises(ExternalProgramError, match=r"^expected somebody to read within 0\.05 s$"):
        talk.write_line("x" * 10_000_000, 0.05)


def test_endless_line_times_out(pair: tuple[Talk, socket.socket]) -> None:
    """Endless NUL bytes, which are dropped, and a line without end raise an error after the patience."""
    talk, theirs = pair
    for flood in (b"\0" * 4096, b"x" * 4096):
        ends = threading.Event()

        def send(data: bytes = flood, ends: threading.Event = ends) -> None:
            theirs.settimeout(0.1)
            while not ends.is_set():
                with suppress(TimeoutError):
                    theirs.send(data)

        sender = threading.Thread(target=send)
        sender.start()
        try:
            with pytest.raises(ExternalProgramError, match=r"^expected a line of somebody within 0\.2 s, got none"):
                talk.read_line(0.2)
        finally:
            ends.set()
            sender.join()
