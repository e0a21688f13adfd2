"""`bgdata fibs`: play on FIBS, the First Internet Backgammon Server."""

from __future__ import annotations

import os
import re
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgdata.cli.options import OUTPUT, met_option, player_options, value_option
from bgdata.errors import EngineRefusedError, ExternalProgramError, MissingTableError, UsageError, cite
from bgdata.protocols.commands.external import (
    check_writable,
    open_decisions,
    patience_option,
    save_matches,
    write_matches,
)
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.protocols.session import Record

PASSWORD = "BGDATA_FIBS_PASSWORD"
_WORD = re.compile(r"[!-9;-~]{1,80}", re.ASCII)  # names and passwords have no space and no colon
_NAME = re.compile(r"[A-Za-z_]{1,80}", re.ASCII)
PAUSE_SECONDS = 2  # pause before reconnecting


@click.command()
@click.argument("user")
@value_option("--host", "fibs.com", "ADDRESS", "The server.")
@value_option("--port", 4321, "N", "Port of the server.", type=click.IntRange(1, 65535))
@click.option("--opponent", default="", metavar="NAME", help="Play only against NAME.  [default: anyone who invites]")
@click.option("--invite", is_flag=True, help="Invite the opponent: to a saved match, or to one of --length points.")
@click.option(
    "--length",
    type=click.IntRange(0, 64),
    metavar="N",
    help="With --invite, points of a new match; 0 is an unlimited one.  [default: a saved match]",
)
@click.option(
    "--games",
    default=0,
    type=click.IntRange(0),
    metavar="N",
    help="Leave an unlimited match after N games.  [default: when the opponent does]",
)
@value_option("--reconnect", 3, "N", "How often to reconnect after a lost connection.", type=click.IntRange(0, 100))
@patience_option("a silent server", default=600)
@met_option
@player_options
@click.option(
    "--save", type=OUTPUT, metavar="FILE", help="Write the match as a .mat file.  [default: fibs-OPPONENT-TIME.mat]"
)
@click.pass_obj
def fibs(warehouse: Warehouse, /, user: str, save: Path | None, **options: Any) -> None:
    """Play a match on FIBS, the First Internet Backgammon Server.

    USER is your account there; the password is read from the variable BGDATA_FIBS_PASSWORD or a prompt. The player
    waits for an invitation or sends one, plays one match with the cube, and logs out. The match is saved after every
    game and after errors. Ask the people of a server first whether programs may play.

    \b
      bgdata fibs ann --opponent mary
      bgdata fibs ann --opponent mary --invite --length 5 --ply 1
      bgdata fibs ann --opponent mary --invite --host localhost --port 4321
    """
    from bgdata.evaluation.talk import Talk
    from bgdata.protocols.fibs import FibsPlayer, MatchRequest

    for name in (user, options["opponent"]):
        if name and not _NAME.fullmatch(name):
            raise UsageError(f"expected a name of letters and underscores, got {cite(name)}")
    password = os.environ.get(PASSWORD) or ""
    if not password and sys.stdin.isatty():
        password = click.prompt(f"password of {user}", hide_input=True, err=True)
    if not _WORD.fullmatch(password):
        raise UsageError(f"expected a password in {PASSWORD} or at the prompt, without spaces and colons")
    opponent, length = options["opponent"], options["length"]
    if options["invite"] and not opponent:
        raise UsageError("expected --opponent with --invite, got none")
    if length is not None and not options["invite"]:
        raise UsageError(f"expected --invite with --length, got --length {length} alone")
    wish = MatchRequest(opponent, options["invite"], length, options["games"])
    decisions = open_decisions(warehouse, options)
    met = decisions.rules.met
    if met is None and length != 0:
        raise MissingTableError(f"no match equity table in {warehouse.root}; try: bgdata build match_equity")
    if met and length and length > met.length:
        raise UsageError(f"expected at most {met.length} points, as {met.name} has, got --length {length}")
    saver, tell, left = Saver(save), click.echo, options["reconnect"]
    while True:
        try:
            with connect(options["host"], options["port"], options["patience"]) as connection:
                talk = Talk(connection.fileno(), connection.fileno(), options["host"])
                player = FibsPlayer(talk, decisions, user, tell, options["patience"], saver.record, saver.after_game)
                try:
                    player.log_in(password)
                    click.echo(f"{decisions.player.label} is {user} on {options['host']}")
                    player.play(wish)
                    player.leave()
                    return
                finally:
                    saver.write(player.record)
        except EngineRefusedError:
            raise
        except ExternalProgramError as error:
            if not left:
                raise
            left -= 1
            click.echo(f"{error}; reconnecting", err=True)
            time.sleep(PAUSE_SECONDS)
            if saver.record:  # the server has saved the match
                wish = MatchRequest(saver.record.players[1], True, None, wish.games)


class Saver:
    """Collects the record of a match over several connections, and writes it to one file, atomically."""

    def __init__(self, path: Path | None) -> None:
        check_writable(path or Path("match.mat"))
        self.path, self.record = path, None  # type: Path | None, Record | None

    def write(self, record: Record | None) -> None:
        """Write the record, and print the path of the file. Raises StorageError if it cannot be written."""
        if record and (path := self._path_for(record)):
            write_matches(path, [record.match])
            click.echo(f"saved {path}", err=True)

    def after_game(self, record: Record) -> None:
        """Write the record between games. If this fails, the error is printed and play continues."""
        if path := self._path_for(record):
            save_matches(path, [record.match])

    def _path_for(self, record: Record) -> Path | None:
        """Return the path of the file, the same for the whole match; None while the record is empty."""
        self.record = record
        if record.games and not self.path:
            self.path = Path(time.strftime(f"fibs-{record.players[1]}-%Y%m%d-%H%M%S.mat"))
        return self.path if record.games else None


def connect(host: str, port: int, patience: float) -> socket.socket:
    """Open a connection to a server, waiting up to `patience` seconds. Raises ExternalProgramError if the server does
    not answer."""
    try:
        connection = socket.create_connection((host, port), timeout=patience)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ExternalProgramError(f"expected a server at {host}:{port}, found none: {reason}") from error
    connection.settimeout(None)  # `Talk` has its own time limit
    return connection
