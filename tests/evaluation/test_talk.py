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
    """A connection with lines of at most 10 bytes, and the socket of the program at its other end."""
    here, program = socket.socketpair()
    with here, program:
        yield Talk(here.fileno(), here.fileno(), "somebody", most_bytes=10), program


def test_lines_are_read_one_by_one(pair: tuple[Talk, socket.socket]) -> None:
    talk, program = pair
    program.sendall(b"a\r\n\0 b\tc \n\n" + b"d" * 10 + b"\n")
    program.shutdown(socket.SHUT_WR)
    assert [talk.read_line(30) for _ in range(6)] == ["a", "b\tc", "", "d" * 10, None, None]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"\xff\n", r"expected a line of text, got .*, in the answer of somebody to 'who'"),
        (b"\x07\n", r"expected a line of printable text, got .*, in the answer of somebody to 'who'"),
        (b"12345678901\n", "expected lines of at most 10 bytes, got a longer one, in the answer of somebody to 'who'"),
    ],
)
def test_invalid_lines_are_refused(answer: bytes, message: str, pair: tuple[Talk, socket.socket]) -> None:
    talk, program = pair
    program.sendall(answer + b"me\n")
    with pytest.raises(ExternalProgramError, match=f"^{message}$"):
        talk.ask("who", 30)
    assert talk.read_line(30) == "me"


def test_closed_connection_is_refused(pair: tuple[Talk, socket.socket]) -> None:
    talk, program = pair
    program.shutdown(socket.SHUT_WR)
    with pytest.raises(ExternalProgramError, match=r"^expected somebody to answer 'who', found it gone$"):
        talk.ask("who", 30)


def test_write_without_a_reader_times_out(pair: tuple[Talk, socket.socket]) -> None:
    talk, _ = pair
    more_than_sockets_buffer = "x" * 10_000_000
    with pytest.raises(ExternalProgramError, match=r"^expected somebody to read within 0\.05 s$"):
        talk.write_line(more_than_sockets_buffer, 0.05)


@pytest.mark.parametrize("data", [b"\0" * 4096, b"x" * 4096], ids=["NUL bytes, which are dropped", "no end of line"])
def test_endless_line_times_out(pair: tuple[Talk, socket.socket], data: bytes) -> None:
    talk, program = pair
    stop = threading.Event()

    def send() -> None:
        program.settimeout(0.1)
        while not stop.is_set():
            with suppress(TimeoutError):
                program.send(data)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        with pytest.raises(ExternalProgramError, match=r"^expected a line of somebody within 0\.2 s, got none"):
            talk.read_line(0.2)
    finally:
        stop.set()
        sender.join()
