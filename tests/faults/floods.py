"""Floods against all servers and clients: endless lines and bytes, half messages, slow bytes, and idle connections.

Each command ends by itself with one line, or continues to answer others, in limited time, memory and log size.
"""

import http.client
import os
import random
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path

import psutil

import bgdata
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.equity.cube import CubeRules
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.process import data_segment_bytes
from bgdata.protocols.decisions import Decisions
from tests.evaluation.sample_evaluators import Scrambled
from tests.faults.campaign import Campaign
from tests.faults.corrupting import SPICE, corrupt_lines
from tests.protocols.fibs_server import OPPONENT, PASSWORD, USER, FibsServer
from tests.store import processes
from tests.web.reading import serving, wait_until

PATIENCE_SECONDS = 1
HANG_SECONDS = 90.0  # for a busy machine
FLOOD_SECONDS = 3.0  # length of endless floods: several times the patience
MAX_MEMORY = 200 << 20  # bytes beyond those at the start
MAX_LOG = 100_000  # bytes that a command may print about a flood
MAX_REPLY = 2000  # bytes of the answer to one line
OPEN_FILES = 128  # files that the site may open: floods are of more connections
CONNECTIONS = 100
BOARD = (
    b"board:gnubg:root:0:0:0:0:-2:0:0:0:0:5:0:3:0:0:0:-5:5:0:0:0:-3:0:-5:0:0:0:0:2:0:-1:4:1:4:1:1:1:1:0:1:"
    b"-1:0:25:0:0:0:0:0:0:0:1\n"
)
LINES = {
    "fibs": [
        b"13 bob is anybody here?\r\n",
        b"mary rolls 6 and 3.\r\n",
        b"bob wants to play a 5 point match with you.\r\n",
        b"mary has joined you. Your running match was loaded.\r\n",
        b"** You can't move.\r\n",
        b"login: ",
        BOARD,
    ],
    "external": [BOARD, b"nonsense\n", b"board:\n"],
    "ubgi": [b"isready\n", b"keys\n", b"position gnubgid 4HPwATDgc/ABMA\n", b"dice 3 1\n", b"go chequer\n", b"what\n"],
}
PAGES = (b"/", b"/position/4HPwATDgc/ABMA", b"/table", b"/table/bearoff_gammon", b"/static/site.css")


def flood_of(side: str, chance: random.Random) -> Callable[[], bytes]:
    """A flood: a function that returns its next bytes, possibly slowly."""
    lines = LINES[side]
    text = corrupt_lines(lines, 100, chance)
    half = chance.choice(lines).rstrip(b"\r\n")[: chance.randint(1, 20)]
    chosen = chance.choice(lines)
    return chance.choice(
        [
            lambda: b"\0" * 4096,
            lambda: b"x" * 4096,
            lambda: b"\n" * 4096,
            lambda: b"\xff\r\n" * 50 + lines[0],
            lambda: chosen * 100,
            lambda: text,
            lambda: chance.randbytes(4096),
            lambda: half + b"\0" * 1000,
            lambda: drip_bytes(half),
            lambda: chance.choice([*lines, *SPICE]) * chance.randint(1, 20),
        ]
    )


def drip_bytes(data: bytes) -> bytes:
    """The data, one byte at a time."""
    time.sleep(0.05)
    return data[:1]


def run_with_little_memory(work: Callable[[], object], output_file: Path, files: int = 0) -> None:
    """In another process: do some work with little memory, and write its output to a file."""
    with output_file.open("wb") as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
    most = data_segment_bytes() + MAX_MEMORY
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    if files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    work()


def command(arguments: list[str], output_file: Path, reading: int | None = None) -> None:
    """In another process: run a command of bgdata with a player that needs no tables."""
    from bgdata.__main__ import main
    from bgdata.protocols.commands import external, fibs

    for module in (external, fibs):
        vars(module)["open_decisions"] = lambda *_: Decisions(LookaheadPlayer(Scrambled()), CubeRules())
    fibs.PAUSE_SECONDS = 0
    os.environ[fibs.PASSWORD] = PASSWORD
    sys.argv = ["bgdata", *arguments]
    if reading is not None:
        os.dup2(reading, 0)
    run_with_little_memory(main, output_file)


def site(root: Path, port: Path, output_file: Path, stop: Path) -> None:
    """In another process: serve a warehouse until told to stop."""
    from bgdata.web import connections
    from bgdata.web.app import create_app

    connections.PATIENCE_SECONDS = PATIENCE_SECONDS

    def serve() -> None:
        with serving(create_app(bgdata.open_warehouse(root))) as number:
            port.with_suffix(".new").write_text(str(number))
            port.with_suffix(".new").rename(port)
            while not stop.exists() and os.getppid() > 1:
                time.sleep(0.05)

    run_with_little_memory(serve, output_file, OPEN_FILES)


class Floods(Campaign):
    """Each case is one flood against one of the commands, in turn."""

    name = "floods"
    small = 12
    full = 200

    def prepare(self) -> None:
        root = self.root / "warehouse"
        bgdata.open_warehouse(root).build("bearoff_gammon", RaceParameters(2))
        self.output_file = self.root / "site"
        port = self.root / "port"
        stop = self.root / "stop"
        self.server = processes.start(site, root, port, self.output_file, stop)
        self.open.callback(self.server.kill)
        wait_until(port.exists, HANG_SECONDS)
        self.port = int(port.read_text())
        wait_until(self.is_answered, HANG_SECONDS)
        statuses = [self.status_of(page.decode()) for page in PAGES]
        assert set(statuses) == {http.HTTPStatus.OK}, f"expected pages that exist, found {statuses}"
        self.memory = psutil.Process(self.server.pid).memory_info().rss

    def case(self, number: int, chance: random.Random, folder: Path) -> Iterable[str]:
        floods = (self.fibs, self.external, self.ubgi, self.site)
        flood = floods[number % len(floods)]
        flood(chance, folder)
        return [f"floods of {flood.__name__}"]

    def fibs(self, chance: random.Random, folder: Path) -> None:
        """A server that floods before the login or in a match, also after reconnecting."""
        flood = flood_of("fibs", chance)
        arguments = ["fibs", USER, "--host", "localhost", "--patience", str(PATIENCE_SECONDS), "--reconnect"]
        arguments += [str(chance.randrange(2)), "--save", str(folder / "match.mat")]
        output_file = folder / "output"
        if chance.random() < 0.3:
            with socket.create_server(("localhost", 0)) as listener, flooding(listener, flood):
                port = listener.getsockname()[1]
                process = processes.start(command, [*arguments, "--port", str(port)], output_file)
                check_ends(process, output_file)
            return
        wish = ["--opponent", OPPONENT, "--invite", "--length", "0"]
        with FibsServer(chance.randrange(1000), faults={chance.randint(1, 20): "flood"}, flood=flood) as server:
            process = processes.start(command, [*arguments, *wish, "--port", str(server.port)], output_file)
            check_ends(process, output_file)

    def external(self, chance: random.Random, folder: Path) -> None:
        """A program that connects in place of gnubg, floods, and reads or not."""
        output_file = folder / "output"
        with closing(socket.create_server(("localhost", 0))) as free:
            port = free.getsockname()[1]
        arguments = ["external", "--once", "--port", str(port), "--patience", str(PATIENCE_SECONDS)]
        process = processes.start(command, arguments, output_file)
        wait_until(lambda: output_file.exists() and b"listens" in output_file.read_bytes(), HANG_SECONDS)
        with socket.create_connection(("localhost", port), timeout=HANG_SECONDS) as client:
            pour(client, flood_of("external", chance), is_reading=chance.random() < 0.7)
        check_ends(process, output_file, is_error=False)

    def ubgi(self, chance: random.Random, folder: Path) -> None:
        """A program that floods an engine for a while; the engine answers line by line."""
        output_file = folder / "output"
        reading, writing = os.pipe()
        os.set_inheritable(reading, True)
        with closing(os.fdopen(reading)), closing(os.fdopen(writing, "wb", buffering=0)) as pipe:
            process = subprocess.Popen(  # a pipe does not pass to what is forked elsewhere
                [sys.executable, "-c", COMMAND, str(output_file), "ubgi"], stdin=reading, stdout=subprocess.DEVNULL
            )
            self.open.callback(process.kill)
            lines = 0
            flood = flood_of("ubgi", chance)
            until = time.monotonic() + FLOOD_SECONDS
            while time.monotonic() < until:
                data = flood()
                lines += data.count(b"\n")
                pipe.write(data)
        assert process.wait(HANG_SECONDS) in (0, 1), f"expected an end, found exit code {process.returncode}"
        output = output_file.read_bytes()
        assert len(output) < MAX_LOG + MAX_REPLY * lines, f"expected an answer for each of {lines} lines: {output!r}"
        check_words(output, is_error=process.returncode == 1)

    def site(self, chance: random.Random, folder: Path) -> None:  # noqa: ARG002
        """More connections of one sort than the site can hold; others are still answered."""
        sent = chance.choice([half_open, slow_headers, endless_header, endless_body, many_pages, unread_pages, garbage])
        before = self.output_file.stat().st_size
        clients = list[socket.socket]()
        try:
            for _ in range(CONNECTIONS):
                with suppress(OSError):
                    clients.append(socket.create_connection(("127.0.0.1", self.port), timeout=HANG_SECONDS))
            sent(clients, chance)
            wait_until(self.is_answered, HANG_SECONDS)
            wait_until(lambda: all(is_closed(client) for client in clients), HANG_SECONDS)
        finally:
            for client in clients:
                client.close()
        wait_until(self.is_answered, HANG_SECONDS)  # idle threads have to end first, if their stacks left no memory
        more = psutil.Process(self.server.pid).memory_info().rss - self.memory
        assert more < MAX_MEMORY, f"expected little memory for {sent.__name__}, found {more:,} bytes more"
        log = self.output_file.read_bytes()[before:]
        assert len(log) < MAX_LOG, f"expected a short log of {sent.__name__}, found {log[:500]!r}"
        assert b"Traceback" not in log, f"expected no traceback of {sent.__name__}, found {log!r}"

    def is_answered(self) -> bool:
        """Whether the site answers another client."""
        with suppress(OSError, http.client.HTTPException):
            return self.status_of("/") == http.HTTPStatus.OK
        return False

    def status_of(self, page: str) -> int:
        """The status of the site's answer to another client."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_SECONDS)) as client:
            client.request("GET", page, headers={"accept": "text/html"})
            return client.getresponse().status


COMMAND = f"""
import sys
from pathlib import Path
from {__name__} import command
if __name__ == "__main__":
    command(sys.argv[2:], Path(sys.argv[1]))
"""


@contextmanager
def flooding(listener: socket.socket, flood: Callable[[], bytes]) -> Iterator[None]:
    """Flood every client that connects, during the block."""

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection, suppress(OSError):
                    while True:
                        connection.sendall(flood())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        thread.join(HANG_SECONDS)


def pour(client: socket.socket, flood: Callable[[], bytes], *, is_reading: bool) -> None:
    """Flood a connection for a while, or until it is closed."""
    until = time.monotonic() + FLOOD_SECONDS
    with suppress(OSError):
        while time.monotonic() < until:
            client.settimeout(0.1)
            with suppress(TimeoutError):
                client.send(flood())
            if is_reading and is_closed(client):
                return


def check_ends(process: BaseProcess, output_file: Path, *, is_error: bool = True) -> None:
    """Check that a command ended by itself, with one line if it is an error, and within its memory."""
    process.join(HANG_SECONDS)
    is_hanging = process.exitcode is None
    process.kill()
    output = output_file.read_bytes()
    assert not is_hanging, f"expected an end within its patience, found that it goes on: {output[-500:]!r}"
    assert process.exitcode == int(is_error), f"expected its end, found exit code {process.exitcode}: {output[-500:]!r}"
    assert len(output) < MAX_LOG, f"expected a short log, found {len(output):,} bytes: {output[:500]!r}"
    check_words(output, is_error=is_error)


def check_words(output: bytes, *, is_error: bool) -> None:
    """Check that the output has at most one line of error, and no traceback."""
    lines = output.decode().splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    assert len(errors) <= 1, f"expected one line of error, found {errors}"
    assert bool(errors) or not is_error, f"expected a line of error, found {lines[-3:]}"
    wrong = [line for line in lines if "Traceback" in line or "memory" in line or len(line) > MAX_REPLY]
    assert not wrong, f"expected short lines, found {wrong[0][:500]}"


# floods of the site


def is_closed(client: socket.socket) -> bool:
    """Whether the other side has closed a connection; reads the bytes that it sent."""
    client.settimeout(0)
    try:
        while client.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def send(clients: Iterable[socket.socket], data: bytes) -> None:
    """Send as much of the data to each client as is possible without blocking."""
    for client in clients:
        with suppress(OSError):
            client.settimeout(0)
            client.send(data)


def half_open(clients: list[socket.socket], chance: random.Random) -> None:
    """Send nothing."""


def slow_headers(clients: list[socket.socket], chance: random.Random) -> None:
    """A request, byte by byte."""
    request = b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 1000
    until = time.monotonic() + FLOOD_SECONDS
    begin = chance.randrange(20)
    while time.monotonic() < until and begin < len(request):
        send(clients, request[begin : begin + 1])
        begin += 1
        time.sleep(0.02)


def endless_header(clients: list[socket.socket], chance: random.Random) -> None:
    """A header that does not end."""
    for _ in range(50):
        send(clients, b"GET / HTTP/1.1\r\n" * (chance.random() < 0.1) + b"x" * 65536)


def endless_body(clients: list[socket.socket], chance: random.Random) -> None:
    """A request with a body that does not end."""
    head = b"%s / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    send(clients, head % chance.choice([b"GET", b"POST"]))
    for _ in range(50):
        send(clients, b"10000\r\n" + b"x" * 65536 + b"\r\n")


def many_pages(clients: list[socket.socket], chance: random.Random) -> None:
    """Requests for pages with new numbers, which are not cached."""
    for client in clients[:30]:
        send(
            [client],
            b"".join(
                request(b"/rows/bearoff_gammon/2x15/bearoff_gammon?page=%d" % chance.randint(1, 10**6))
                for _ in range(5)
            ),
        )


def unread_pages(clients: list[socket.socket], chance: random.Random) -> None:
    """Requests for several pages whose answers are not read for a while."""
    few = 1 << 12
    many = 1 << 20
    for client in clients:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, few)
    send(clients, request(chance.choice(PAGES)) * 20)
    time.sleep(FLOOD_SECONDS)
    for client in clients:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, many)  # the rest, and the end, arrive at once


def garbage(clients: list[socket.socket], chance: random.Random) -> None:
    """Random bytes, some of them like a request."""
    lines = [
        b"GET / HTTP/1.1\r\n",
        b"host: localhost\r\n",
        b"content-length: 9\r\n",
        b"\r\n",
        b"connection: upgrade\r\n",
    ]
    for client in clients:
        send([client], corrupt_lines(lines, 10, chance))


def request(page: bytes) -> bytes:
    """A whole request."""
    return b"GET %s HTTP/1.1\r\nhost: localhost\r\naccept: text/html\r\n\r\n" % page
