"""Tests of `bgdata serve` in a separate process."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bgdata.warehouse.commands.serve import listening_socket
from tests.command_line import error_of, run
from tests.subtests import each


def test_missing_warehouse_is_refused(tmp_path: Path) -> None:
    assert error_of(run(tmp_path / "none", "serve"), 1).startswith("expected a warehouse in ")


def test_used_port_is_refused(small_root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = str(used.getsockname()[1])
        message = error_of(run(small_root, "serve", "--port", port), 1)
    assert message.startswith(f"expected an address to listen on, got 127.0.0.1:{port}: ")


@each(
    ("options", "code", "message"),
    [
        (["--host", "nowhere.invalid"], 1, "expected an address to listen on, got nowhere.invalid"),
        (["--host", ""], 2, "expected an address to listen on, got ''"),
        (["--port", "70000"], 2, "invalid value for '--port'"),
        (["--static", "pages", "--host", "::1"], 2, "expected either --static or --host, got both"),
        (["--static", "pages", "--port", "9000"], 2, "expected either --static or --port, got both"),
        (["--static", "pages", "--import"], 2, "expected either --static or --import, got both"),
    ],
)
def test_invalid_options_are_refused(
    small_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], code: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert error_of(run(small_root, "serve", *options), code).startswith(message)
    assert list(tmp_path.iterdir()) == []


@each("host", ["0.0.0.0", "::", "192.0.2.1", "<b>"])
def test_import_that_others_could_reach_is_refused(small_root: Path, host: str) -> None:
    message = error_of(run(small_root, "serve", "--import", "--host", host), 2)
    assert message == f"expected --host 127.0.0.1, localhost or ::1 with --import, got '{host}'"


def test_answers_are_sent_without_delay() -> None:
    """The body does not wait for the acknowledgement of the head."""
    with listening_socket("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@contextmanager
def serving_process(root: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Start `bgdata serve` as a process, and interrupt it at the end of the block."""
    command = [sys.executable, "-m", "bgdata", "serve", "--port", "0", "--warehouse", str(root), *options]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        try:
            yield server
        finally:
            server.send_signal(signal.SIGINT)
            _, errors = server.communicate(timeout=60)
    assert server.returncode == 130, errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(("host", "warns"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_server_answers_and_stops(small_root: Path, host: str, warns: bool) -> None:
    with serving_process(small_root, "--host", host) as server:
        assert server.stderr
        line = server.stderr.readline()
        match = re.fullmatch(rf"serving .* at http://{re.escape(host)}:(\d+)/ \(stop with Ctrl-C\)\n", line)
        assert match, line
        if warns:
            assert server.stderr.readline().startswith(f"warning: anybody who reaches {host} can read all tables")
        with urllib.request.urlopen(f"http://127.0.0.1:{match[1]}/table.json", timeout=60) as answer:
            assert len(json.load(answer)) > 10


def test_address_for_match_files_changes_after_each_start(small_root: Path) -> None:
    tokens = set[str]()
    for _ in range(2):
        with serving_process(small_root, "--import") as server:
            assert server.stderr
            server.stderr.readline()
            line = server.stderr.readline()
            match = re.fullmatch(r"taking match files at (http://127\.0\.0\.1:\d+/import/([\w-]{22}))\n", line)
            assert match, line
            tokens.add(match[2])
            with urllib.request.urlopen(match[1], timeout=60) as answer:
                assert b"Add your matches" in answer.read()
    assert len(tokens) == 2
