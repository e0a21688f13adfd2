"""`bgdata external`: what it prints and saves of a conversation, and where it cannot listen."""

from __future__ import annotations

import io
import json
import socket
from pathlib import Path

import pytest

from bgdata.cli.external import serve
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.protocols.decisions import Decisions
from bgdata.protocols.external import ExternalPlayer
from tests.cli.command_line import run
from tests.evaluation.sample_evaluators import Scrambled
from tests.protocols.test_external import GOOD


def test_what_is_printed_and_saved(capsys: pytest.CaptureFixture[str]) -> None:
    ours, theirs = socket.socketpair()
    theirs.sendall(GOOD + b"nonsense\n" + GOOD + b"board:half")
    theirs.shutdown(socket.SHUT_WR)
    record = io.StringIO()
    serve(ours, ExternalPlayer(Decisions(LookaheadPlayer(Scrambled()))), 30, record)
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[:2] == ["", "money: gnubg 0, root 0"]
    assert lines[2].startswith("  41: ")
    assert lines[3] == "  Error: expected a line that begins with 'board:', got 'nonsense'"
    assert lines[-1] == "gnubg has gone after 3 questions"
    assert printed.err == "error: expected gnubg to end its last line, found it gone after 'board:half'\n"
    first, wrong, _ = map(json.loads, record.getvalue().splitlines())
    assert (first["asked"], first["roll"], first["position_id"]) == ("play", "41", "4HPwATDgc/ABMA")
    assert wrong["line"] == "nonsense"


def test_a_port_that_is_taken(player_root: Path) -> None:
    with socket.create_server(("localhost", 0)) as taken:
        number = taken.getsockname()[1]
        result = run(player_root, "external", "--port", str(number))
        lines = result.stderr.splitlines()
    assert result.exit_code == 1
    assert lines[-1].startswith(f"error: expected a port to listen on, got {number}: ")
