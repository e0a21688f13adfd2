"""`bgdata external`: what it prints and saves, and ports where it cannot listen."""

import io
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bgdata.errors import StorageError
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.formats.lines import read_bytes
from bgdata.formats.mat import parse_mat
from bgdata.formats.replay import replay_file
from bgdata.formats.sgf import parse_sgf
from bgdata.protocols.commands.external import Saver, serve
from bgdata.protocols.decisions import Decisions
from bgdata.protocols.external import ExternalPlayer
from tests.command_line import run
from tests.evaluation.sample_evaluators import Scrambled
from tests.oracles import ask_gnubg, needs_gnubg_tool
from tests.protocols.gnubg_games import gnubg_script
from tests.protocols.test_external import VALID_LINE, check_same_games


def test_exchanges_are_printed_and_saved(capsys: pytest.CaptureFixture[str]) -> None:
    """Questions, replies and errors are printed and recorded, until gnubg leaves within a line."""
    ours, theirs = socket.socketpair()
    theirs.sendall(VALID_LINE + b"nonsense\n" + VALID_LINE + b"board:half")
    theirs.shutdown(socket.SHUT_WR)
    record = io.StringIO()
    serve(ours, ExternalPlayer(Decisions(LookaheadPlayer(Scrambled()))), 30, record)
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[:2] == ["", "money: gnubg 0, root 0"]
    assert lines[2].startswith("  41: ")
    assert lines[3] == "  Error: expected a line that begins with 'board:', got 'nonsense'"
    assert lines[-1] == "gnubg left after 3 questions"
    assert printed.err == "error: expected gnubg to end its last line, found it gone after 'board:half'\n"
    first, wrong, _ = map(json.loads, record.getvalue().splitlines())
    assert (first["asked"], first["roll"], first["position_id"]) == ("play", "41", "4HPwATDgc/ABMA")
    assert wrong["line"] == "nonsense"


def test_used_port_is_refused(player_root: Path) -> None:
    with socket.create_server(("localhost", 0)) as taken:
        number = taken.getsockname()[1]
        result = run(player_root, "external", "--port", str(number))
        lines = result.stderr.splitlines()
    assert result.exit_code == 1
    assert lines[-1].startswith(f"error: expected a port to listen on, got {number}: ")


# saved games

SECOND_GAME = VALID_LINE.replace(b"root:0:0:0:", b"root:0:0:2:")


@contextmanager
def start_command(root: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start the command as a process of its own. Yields the process and the port that it prints."""
    command = [sys.executable, "-m", "bgdata", "--warehouse", str(root), "external", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            match = re.search(r" listens; in gnubg: set player 0 external localhost:(\d+)$", process.stdout.readline())
            assert match
            yield process, int(match[1])
        finally:
            process.kill()


def test_finished_game_is_saved_before_the_next(player_root: Path, tmp_path: Path) -> None:
    """A game is on disk as soon as the score of the next question shows that gnubg has won it, even if the command is
    killed."""
    saved = tmp_path / "games.mat"
    with (
        start_command(player_root, "--save", str(saved)) as (process, port),
        socket.create_connection(("localhost", port)) as connection,
    ):
        connection.sendall(VALID_LINE + SECOND_GAME + SECOND_GAME)
        lines = connection.makefile()
        assert all(lines.readline() for _ in range(3))  # the third is answered only after the second was saved
        process.kill()
    first, second = replay_file(parse_mat(read_bytes(saved))).matches[0].games
    assert (first.winner, first.points, len(first.turns)) == (1, 2, 1)
    assert (second.score, second.winner) == ((0, 2), None)


def test_games_of_several_connections_are_saved_in_one_file(player_root: Path, tmp_path: Path) -> None:
    """The games of several connections are saved in one file; a connection that ends within a line prints an error, and
    the command goes on."""
    saved, record = tmp_path / "games.mat", tmp_path / "games.jsonl"
    with start_command(player_root, "--save", str(saved), "--record", str(record)) as (process, port):
        for data in (VALID_LINE + b"board:half", SECOND_GAME):
            with socket.create_connection(("localhost", port)) as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                assert connection.makefile().read().count("\n") == 1
            assert process.stderr
            while process.stderr.readline() != f"saved {saved}\n":
                assert process.poll() is None
    assert [len(game.turns) for game in parse_mat(read_bytes(saved)).matches[0].games] == [1, 1]
    assert len(record.read_text().splitlines()) == 2


def test_play_continues_when_saving_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A failure to save is printed and play goes on; the last failure is the error of the command."""
    (tmp_path / f".games.mat.{os.getpid()}.partial").mkdir()  # blocks the temporary file
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(VALID_LINE + SECOND_GAME + SECOND_GAME)
        theirs.shutdown(socket.SHUT_WR)
        saver = Saver(tmp_path / "games.mat")
        with pytest.raises(StorageError, match=r"expected to write .*games\.mat, found: is a directory"):
            serve(ours, ExternalPlayer(Decisions(LookaheadPlayer(Scrambled()))), 30, None, saver)
    printed = capsys.readouterr()
    assert printed.err.startswith("not saved yet: expected to write ")
    assert printed.out.endswith("\ngnubg left after 3 questions\n")


def test_unwritable_save_path_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot write .*games\.mat: no such file or directory"):
        Saver(tmp_path / "none" / "games.mat")
    with pytest.raises(StorageError, match="file name too long"):
        Saver(tmp_path / ("x" * 5000))


@needs_gnubg_tool("gnubg")
@pytest.mark.slow
def test_command_plays_gnubg(player_root: Path, tmp_path: Path) -> None:
    """gnubg connects to the command and plays three games at 1-ply; then the command ends."""
    saved, record = tmp_path / "games.mat", tmp_path / "games.jsonl"
    arguments = ["--once", "--ply", "1", "--jacoby", "--save", str(saved), "--record", str(record)]
    with start_command(player_root, *arguments) as (process, port):
        ask_gnubg(gnubg_script(port, games=3, seed=5), tmp_path)
        printed, stderr = process.communicate(timeout=60)
        assert process.returncode == 0
    rows = [json.loads(line) for line in record.read_text().splitlines()]
    assert printed.endswith(f"\ngnubg left after {len(rows)} questions\n")
    assert f"saved {saved}" in stderr.splitlines()  # a line about compilation may follow
    assert {row["asked"] for row in rows} >= {"play", "turn"}
    assert not any(row["reply"].startswith("Error") for row in rows)
    (ours,), (theirs,) = parse_mat(read_bytes(saved)).matches, parse_sgf(read_bytes(tmp_path / "match.sgf")).matches
    check_same_games(ours, theirs, 0)
