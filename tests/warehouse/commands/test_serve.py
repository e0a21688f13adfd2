"""Tests of `bgdata serve` in a separate process."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from bgdata.warehouse.commands.serve import listening_socket
from tests.command_line import error_of, run


def test_invalid_addresses_are_refused(small_root: Path, tmp_path: Path) -> None:
    """`bgdata serve` refuses hosts and ports that it cannot use, options that do not fit together, and an import that
    other machines could reach."""
    assert error_of(run(tmp_path / "none", "serve"), 1).startswith("expected a warehouse in ")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        message = error_of(run(small_root, "serve", "--port", port), 1)
        assert message.startswith(f"expected an address to listen on, got 127.0.0.1:{port}: ")
    assert "expected an address to listen on, got nowhere.invalid" in error_of(
        run(small_root, "serve", "--host", "nowhere.invalid"), 1
    )
    error_of(run(small_root, "serve", "--port", "70000"), 2)
    assert error_of(run(small_root, "serve", "--host", ""), 2).startswith("expected an address to listen on, got ''")
    for option, *value in (("--host", "::1"), ("--port", "9000"), ("--import",)):  # these pages need no server
        result = run(small_root, "serve", "--static", tmp_path / "pages", option, *value)
        assert error_of(result, 2) == f"expected either --static or {option}, got both"
    for host in ("0.0.0.0", "::", "192.0.2.1", "<b>"):  # others would reach the page that writes
        message = error_of(run(small_root, "serve", "--import", "--host", host), 2)
        assert message == f"expected --host 127.0.0.1, localhost or ::1 with --import, got '{host}'"
    assert not (tmp_path / "pages").exists()


def test_answers_are_sent_without_delay() -> None:
    """The body does not wait for the acknowledgement of the head."""
    with listening_socket("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(("host", "warns"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_server_answers_and_stops(small_root: Path, host: str, warns: bool) -> None:
    """The server prints its address, warns if others can reach it, answers, and ends when interrupted."""
    command = [sys.executable, "-m", "bgdata", "serve", "--host", host, "--port", "0", "--warehouse", str(small_root)]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    ) as server:
        try:
            assert server.stderr
            first = server.stderr.readline()
            found = re.fullmatch(rf"serving .* at http://{re.escape(host)}:(\d+)/ \(stop with Ctrl-C\)\n", first)
            assert found, first
            if warns:
                assert server.stderr.readline().startswith(f"warning: anybody who reaches {host} can read all tables")
            with urllib.request.urlopen(f"http://127.0.0.1:{found[1]}/table.json", timeout=60) as answer:
                assert len(json.load(answer)) > 10
        finally:
            server.send_signal(signal.SIGINT)
            rest = server.communicate(timeout=60)[1]
    assert server.returncode == 130, rest
    assert "Traceback" not in rest


def test_address_for_match_files_changes_after_each_start(small_root: Path) -> None:
    """The address at which the site takes match files contains a secret that differs after each start."""
    command = [sys.executable, "-m", "bgdata", "serve", "--import", "--port", "0", "--warehouse", str(small_root)]
    tokens = set[str]()
    for _ in range(2):
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
        ) as server:
            try:
                assert server.stderr
                server.stderr.readline()
                line = server.stderr.readline()
                found = re.fullmatch(r"taking match files at (http://127\.0\.0\.1:\d+/import/([\w-]{22}))\n", line)
                assert found, line
                tokens.add(found[2])
                with urllib.request.urlopen(found[1], timeout=60) as answer:
                    assert b"Add your matches" in answer.read()
            finally:
                server.send_signal(signal.SIGINT)
                server.communicate(timeout=60)
    assert len(tokens) == 2
