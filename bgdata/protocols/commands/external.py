"""`bgdata external` plays against gnubg; `bgdata ubgi` is an engine for other programs."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from bgdata.cli.defaults import find_met_or_file, open_player
from bgdata.cli.options import OUTPUT, Option, beavers_option, jacoby_option, met_option, player_options, value_option
from bgdata.errors import BgdataError, ExternalProgramError, MissingTableError, StorageError
from bgdata.game.plays import NO_PLAY
from bgdata.process import continue_after_signal
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.formats.matches import Match
    from bgdata.protocols.decisions import Decisions
    from bgdata.protocols.external import Exchange, ExternalPlayer, Question

HOST = "localhost"


def patience_option(whom: str, *, default: int | None = None, note: str = "") -> Option:
    """Return the option `--patience`, which sets how many seconds `whom` may be silent."""
    words = f"Give up on {whom} after this many seconds." + (f"  [default: {note}]" if note else "")
    seconds = click.IntRange(1, 86_400)
    return click.option(
        "--patience", type=seconds, default=default, show_default=bool(default), metavar="SECONDS", help=words
    )


@click.command()
@value_option("--port", 7200, "N", "Port to listen on; 0 takes a free one.", type=click.IntRange(0, 65535))
@met_option
@jacoby_option
@beavers_option
@player_options
@patience_option("a silent program", note="never")
@click.option("--once", is_flag=True, help="End after the first connection.")
@click.option("--save", type=OUTPUT, metavar="FILE", help="Write the games as a .mat file, after every game.")
@click.option(
    "--record", type=OUTPUT, metavar="FILE", help="Write every question and reply to FILE, a JSON object a line."
)
@click.pass_obj
def external(
    warehouse: Warehouse,
    /,
    port: int,
    once: bool,
    patience: int | None,
    save: Path | None,
    record: Path | None,
    **options: Any,
) -> None:
    """Play games against gnubg, which connects to this command.

    Then type in gnubg: set player 0 external localhost:7200, and new match 7 or new session. gnubg asks for plays,
    doubles and answers to doubles, in matches and for money. It does not send the Jacoby rule, so give --jacoby, nor
    its rolls, so --save infers them from the boards. Ctrl-C ends the command.

    \b
      bgdata external --port 7200 --ply 1
      bgdata external --once --save games.mat --record games.jsonl
    """
    from bgdata.protocols.external import ExternalPlayer

    decisions = open_decisions(warehouse, options)
    with ExitStack() as stack:
        listening = stack.enter_context(listen(port))
        lines = stack.enter_context(open_record(record)) if record else None
        saver = Saver(save) if save else None
        here = listening.getsockname()[1]
        click.echo(f"{decisions.player.label} listens; in gnubg: set player 0 external {HOST}:{here}")
        try:
            while True:
                player = ExternalPlayer(decisions, is_jacoby=bool(options["jacoby"]))
                connection, _ = listening.accept()
                with connection:
                    serve(connection, player, patience, lines, saver)
                if once:
                    return
        except KeyboardInterrupt:
            continue_after_signal()
            click.echo("stopped")


def open_decisions(warehouse: Warehouse, options: dict[str, Any]) -> Decisions:
    """Open the player and the cube rules that a command's options name. The player also plays matches if there is a
    match equity table. Raises the errors of `open_player` and `find_met_or_file` of `cli.defaults`."""
    from bgdata.equity.cube import CubeRules
    from bgdata.protocols.decisions import Decisions

    player = open_player(warehouse, options["network"], options["ply"])
    try:
        met = find_met_or_file(warehouse, options["met"])
    except MissingTableError as error:
        if options["met"]:
            raise
        click.echo(f"for money only: {error}", err=True)
        met = None
    return Decisions(player, CubeRules(met=met, has_beavers=bool(options.get("beavers"))))


def listen(port: int) -> socket.socket:
    """Open a socket that listens on localhost only. Raises StorageError if the port cannot be used."""
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise StorageError(
            f"expected a port to listen on, got {port}: {(error.strerror or str(error)).lower()}"
        ) from error


def open_record(path: Path) -> IO[str]:
    """Open a file to which lines are appended. Raises StorageError if it cannot be opened."""
    with storage_errors(path):
        return path.open("a", buffering=1, encoding="utf-8")


def check_writable(path: Path) -> None:
    """Raise StorageError if a file cannot be written at this path, so that games are not played in vain."""
    with storage_errors(path):
        with suppress(FileNotFoundError):
            os.lstat(path)  # raises if the name is too long
        with tempfile.TemporaryFile(dir=path.parent):
            pass


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn any OSError of the `with` block into StorageError."""
    try:
        yield
    except BgdataError:  # some of these errors are OSErrors too, and are not changed
        raise
    except OSError as error:
        raise StorageError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from error


class Saver:
    """Collects the matches of several connections, and writes them to one file, atomically."""

    def __init__(self, path: Path) -> None:
        from bgdata.protocols.external import ExternalRecord

        check_writable(path)
        self.path, self.record = path, ExternalRecord()

    def add(self, exchange: Exchange) -> None:
        """Add an exchange with gnubg. If it ends a game, write the file."""
        if self.record.add(exchange):
            save_matches(self.path, self.record.matches)

    def write(self) -> None:
        """Write all matches so far to the file. Raises StorageError if it cannot be written."""
        if self.record.matches:
            write_matches(self.path, self.record.matches)
            click.echo(f"saved {self.path}", err=True)


def write_matches(path: Path, matches: Iterable[Match]) -> None:
    """Write matches to one .mat file, atomically. Raises StorageError if the file cannot be written."""
    from bgdata.formats.lines import write_bytes
    from bgdata.formats.mat import format_mat

    write_bytes(path, (line for match in matches for line in format_mat(match)))


def save_matches(path: Path, matches: Iterable[Match]) -> None:
    """Write matches to one .mat file between games. If this fails, the error is printed and play continues, because a
    later attempt may succeed."""
    try:
        write_matches(path, matches)
    except StorageError as error:
        click.echo(f"not saved yet: {error}", err=True)


def serve(
    connection: socket.socket,
    player: ExternalPlayer,
    patience: int | None,
    record: IO[str] | None,
    saver: Saver | None = None,
) -> None:
    """Answer the lines of a connection until it ends. Every exchange is printed, and written to `record`, if given. The
    games are saved however the connection ends. Raises StorageError if they cannot be saved."""
    from bgdata.evaluation.talk import Talk

    heading, count = "", 0
    with ExitStack() as stack:
        if saver:
            stack.callback(saver.write)
        try:
            for exchange in player.exchanges(Talk(connection.fileno(), connection.fileno(), "gnubg"), patience):
                if exchange.question and (now := headline(exchange.question)) != heading:
                    heading = now
                    click.echo(f"\n{heading}")
                click.echo(f"  {describe(exchange)}")
                if record:
                    record.write(json.dumps(exchange_row(exchange)) + "\n")
                if saver:
                    saver.add(exchange)
                count += 1
        except ExternalProgramError as error:
            click.echo(f"error: {error}", err=True)
        click.echo(f"\ngnubg left after {count} question{'s' * (count != 1)}")


def headline(question: Question) -> str:
    """Return a line of text with the length of the match, or money, and the score."""
    own, other = (f"{name} {score}" for name, score in zip(question.players, question.scores, strict=True))
    what = f"{question.length}-point match" if question.length else "money"
    return f"{what}: {own}, {other}" + (", Crawford game" if question.stakes.is_crawford else "")


def describe(exchange: Exchange) -> str:
    """Return a line of text with gnubg's question and the reply, such as `31: 8/5 6/5`."""
    question = exchange.question
    if question is None:
        return exchange.reply
    if question.kind == "answer":
        return f"double to {2 * question.stakes.cube.value}: {exchange.reply}"
    return f"{question.roll}: {exchange.reply or NO_PLAY}" if question.roll else exchange.reply


def exchange_row(exchange: Exchange) -> dict[str, Any]:
    """Return a question and its reply as a JSON object, for a line of the record."""
    question = exchange.question
    if question is None:
        return {"reply": exchange.reply, "line": exchange.line}
    return {
        "asked": question.kind,
        "players": question.players,
        "length": question.length,
        "scores": question.scores,
        "is_crawford": question.stakes.is_crawford,
        "position_id": question.position.id,
        "roll": str(question.roll) if question.roll else None,
        "cube_value": question.stakes.cube.value,
        "cube_owner": question.stakes.cube.owner,
        "reply": exchange.reply,
        "line": exchange.line,
    }


@click.command()
@met_option
@player_options
@click.pass_obj
def ubgi(warehouse: Warehouse, /, **options: Any) -> None:
    """Answer as an engine, in lines of UBGI.

    UBGI is the Universal Backgammon Interface: programs that use engines start this command and talk to it through
    standard input and output. The UBGI command keys lists the settings, such as plies, trials and seed of rollouts.

    \b
      bgdata ubgi
      bgdata ubgi --ply 1 --network diverse-19
    """
    from bgdata.evaluation.talk import Talk
    from bgdata.protocols.ubgi import UbgiEngine

    engine = UbgiEngine(open_decisions(warehouse, options))
    for _ in engine.conversation(Talk(0, 1, "the asking program")):
        pass
