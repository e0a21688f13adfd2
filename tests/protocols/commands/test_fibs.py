"""`bgdata fibs`: whole matches with a fake server, which are always saved."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import bgdata
from bgdata.cli import main
from bgdata.equity.kinds.match_equity import DATASET as MATCH_EQUITY
from bgdata.formats.lines import read_bytes
from bgdata.formats.mat import parse_mat
from bgdata.formats.replay import replay_file
from tests.protocols.fibs_server import OPPONENT, PASSWORD, USER, FibsServer

MET = "published-12"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with a match equity table."""
    folder = tmp_path_factory.mktemp("fibs") / "warehouse"
    bgdata.open_warehouse(folder).build(MATCH_EQUITY.name, MATCH_EQUITY.defaults[-1])
    return folder


@pytest.fixture(autouse=True)
def _working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set a working folder and the password, and reconnect without a pause."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BGDATA_FIBS_PASSWORD", PASSWORD)
    monkeypatch.setattr("bgdata.protocols.commands.fibs.PAUSE_SECONDS", 0)


def play(root: Path, server: FibsServer, *arguments: str) -> Result:
    """Run the command against the server."""
    options = ["--host", "localhost", "--port", str(server.port), "--warehouse", str(root), "--met", MET]
    return CliRunner().invoke(main, ["fibs", USER, "--opponent", OPPONENT, *options, *arguments])


def test_match_is_played_and_saved(root: Path) -> None:
    with FibsServer(1) as server:
        result = play(root, server, "--invite", "--length", "1")
    assert result.exit_code == 0, result.output
    first, second, third, *_ = result.stdout.splitlines()
    assert first == f"diverse-19-0ply is {USER} on localhost"
    assert (second, third) == (f"1-point match with {OPPONENT}", f"game 1: {USER} 0, {OPPONENT} 0")
    assert "wins the match 1-0" in result.stdout.splitlines()[-1]
    saved = re.search(r"^saved (fibs-mary-\d{8}-\d{6}\.mat)$", result.stderr, re.MULTILINE)
    assert saved
    (match,) = replay_file(parse_mat(read_bytes(saved[1]))).matches
    assert match.players == (USER, OPPONENT)
    assert match.games[0].winner in (0, 1)
    assert PASSWORD not in result.output


def test_lost_connection_is_made_again(root: Path) -> None:
    with FibsServer(2, faults={6: "die", 12: "half"}) as server:
        result = play(root, server, "--invite", "--length", "1", "--save", "match.mat")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("; reconnecting") == 2
    assert result.stdout.count(f"the match with {OPPONENT} goes on") == 2
    file = replay_file(parse_mat(read_bytes("match.mat")))
    assert not file.ledger.rejects
    assert len(file.matches[0].games[0].turns) == len(server.plays)


def test_too_many_lost_connections_end_the_command(root: Path) -> None:
    with FibsServer(2, faults={6: "die"}) as server:
        result = play(root, server, "--invite", "--length", "1", "--save", "match.mat", "--reconnect", "0")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == "error: expected localhost to keep the connection, found it closed"
    assert parse_mat(read_bytes("match.mat")).matches[0].games[0].turns


def test_illegal_play_of_the_server_ends_the_command(root: Path) -> None:
    with FibsServer(3, faults={9: "illegal play"}) as server:
        result = play(root, server, "--invite", "--length", "3", "--save", "match.mat")
    assert result.exit_code == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith("error: expected a legal play ")
    assert len(last) < 400
    assert "reconnecting" not in result.stderr
    game = replay_file(parse_mat(read_bytes("match.mat"))).matches[0].games[-1]
    assert game.winner is None
    assert game.turns


def test_match_longer_than_the_table_is_refused(root: Path) -> None:
    with FibsServer(4) as server:
        result = play(root, server, "--invite", "--length", "15")
        assert result.exit_code == 2
        assert result.stderr.endswith("expected at most 12 points, as published-12 has, got --length 15\n")
        assert not server.heard


def test_refused_invitation_is_reported(root: Path) -> None:
    with FibsServer(4, refuses="** mary is refusing games.") as server:
        result = play(root, server, "--invite", "--length", "3")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == "error: localhost refused: ** mary is refusing games."


def test_missing_server_is_reported(root: Path) -> None:
    with FibsServer(4) as server:
        pass  # closed again
    result = play(root, server, "--reconnect", "0")
    assert result.exit_code == 1
    assert re.search(r"error: expected a server at localhost:\d+, found none: connection refused", result.stderr)


@pytest.mark.parametrize(
    ("arguments", "password", "words"),
    [
        (["a b"], "x", "expected a name of letters and underscores, got 'a b'"),
        (["ann\nbye"], "x", "expected a name of letters and underscores"),
        ([USER], "two words", "expected a password in BGDATA_FIBS_PASSWORD or at the prompt"),
        ([USER], "", "expected a password in BGDATA_FIBS_PASSWORD or at the prompt"),
        ([USER, "--invite"], "x", "expected --opponent with --invite, got none"),
        ([USER, "--length", "3"], "x", "expected --invite with --length, got --length 3 alone"),
        ([USER, "--opponent", "mary 7"], "x", "expected a name of letters and underscores, got 'mary 7'"),
    ],
)
def test_invalid_arguments_are_refused(
    arguments: list[str], password: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BGDATA_FIBS_PASSWORD", password)
    result = CliRunner().invoke(main, ["fibs", *arguments])
    assert result.exit_code == 2
    assert words in result.stderr
    assert "two words" not in result.stderr


def test_interrupted_match_is_saved(root: Path) -> None:
    with FibsServer(5, faults={8: "hang"}) as server, start_command(root, server, "--length", "3") as process:
        wait_for(process, b"game 1")
        while server.faults:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert parse_mat(read_bytes("match.mat")).matches[0].games


def test_finished_game_is_saved_before_the_next(root: Path) -> None:
    with FibsServer(6) as server, start_command(root, server, "--length", "0") as process:
        wait_for(process, b"game 2")
        process.kill()
        process.wait(60)
    file = replay_file(parse_mat(read_bytes("match.mat")))
    assert not file.ledger.rejects
    game = file.matches[0].games[0]
    assert (game.winner, game.points) == server.results[0]


def test_play_continues_when_saving_fails(root: Path, tmp_path: Path) -> None:
    (tmp_path / f".match.mat.{os.getpid()}.partial").mkdir()  # blocks the temporary file
    with FibsServer(1) as server:
        result = play(root, server, "--invite", "--length", "1", "--save", str(tmp_path / "match.mat"))
    assert result.exit_code == 1
    assert "wins the match 1-0" in result.stdout
    assert server.heard[-1] == "bye"
    messages = [line for line in result.stderr.splitlines() if "expected to write" in line]
    assert [line.partition(": ")[0] for line in messages] == ["not saved yet", "error"]


@contextmanager
def start_command(root: Path, server: FibsServer, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start the command as a process that invites the opponent and saves into match.mat."""
    options = ["--host", "localhost", "--port", str(server.port), "--warehouse", str(root), "--met", MET]
    command = [sys.executable, "-m", "bgdata", "fibs", USER, "--opponent", OPPONENT, *options, "--invite", *arguments]
    process = subprocess.Popen([*command, "--save", "match.mat"], stdout=subprocess.PIPE, env=os.environ)
    with process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(process: subprocess.Popen[bytes], words: bytes) -> None:
    """Read the output of a process up to a line that contains these words."""
    assert process.stdout
    assert any(words in line for line in process.stdout)
