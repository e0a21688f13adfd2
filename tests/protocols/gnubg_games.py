"""Games of the installed gnubg against `bgdata external`, as recorded by both."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from bgdata.evaluation.talk import Talk
from bgdata.formats.lines import read_bytes
from bgdata.formats.matches import Game, Match, TurnKind
from bgdata.formats.replay import replay_game
from bgdata.formats.sgf import parse_sgf
from bgdata.game.dice import roll_of
from bgdata.game.plays import NO_PLAY, legal_plays, parse_play
from bgdata.game.position import Position
from bgdata.protocols.decisions import Decisions
from bgdata.protocols.external import Exchange, ExternalPlayer, QuestionKind
from tests.oracles import ask_gnubg

SCRIPT = """
import gnubg
gnubg.command("set player SIDE external localhost:PORT")
gnubg.command("set player OTHER gnubg")
for decision in ("chequerplay", "cubedecision"):
    gnubg.command("set player OTHER %s evaluation plies 0" % decision)
    gnubg.command("set player OTHER %s evaluation noise NOISE" % decision)
for command in ["set automatic roll on", "set automatic move on", "set automatic bearoff on", "set display off",
                "set rng mersenne", "set seed SEED", *EXTRA]:
    gnubg.command(command)
if LENGTH:
    for command in ["set automatic game on", "new match LENGTH", "play"]:
        gnubg.command(command)
else:
    for command in ["set automatic game off", "new session", "play"] + ["new game", "play"] * (GAMES - 1):
        gnubg.command(command)
gnubg.command("save match match.sgf")
"""


class Played(NamedTuple):
    """A match as gnubg recorded it, and all questions that it asked with our replies."""

    match: Match
    exchanges: list[Exchange]


class Act(NamedTuple):
    """What one side did where it had a choice: the position after a play, or a word for a cube action."""

    position_id: str
    done: str


def gnubg_script(port: int, **settings: object) -> str:
    """A script that makes gnubg play a match to `length` points or a session of `games` games, in which the program at
    the port plays side `side`. `extra` contains more settings of gnubg."""
    values = {"side": 0, "length": 0, "games": 1, "seed": 1, "noise": 0, "extra": []} | settings
    script = SCRIPT.replace("OTHER", str(1 - int(str(values["side"])))).replace("PORT", str(port))
    for name, value in values.items():
        script = script.replace(name.upper(), json.dumps(value))
    return script


def play_gnubg(decisions: Decisions, folder: Path, *, is_jacoby: bool = True, **settings: object) -> Played:
    """Play against gnubg as `gnubg_script` says, and collect every exchange."""
    exchanges: list[Exchange] = []
    with closing(socket.create_server(("localhost", 0))) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                talk = Talk(connection.fileno(), connection.fileno(), "gnubg")
                exchanges.extend(ExternalPlayer(decisions, is_jacoby=is_jacoby).exchanges(talk, 300))

        server = threading.Thread(target=serve)
        server.start()
        ask_gnubg(gnubg_script(listening.getsockname()[1], **settings), folder)
        server.join()
    (match,) = parse_sgf(read_bytes(folder / "match.sgf")).matches
    return Played(match, exchanges)


def gnubg_acts(match: Match, side: int) -> Iterator[Act]:
    """Yield one side's acts in gnubg's record: plays with a choice, and cube actions."""
    for game in match.games:
        yield from game_acts(match, game, side)


def game_acts(match: Match, game: Game, side: int) -> Iterator[Act]:
    """Yield the acts of one side in one game."""
    for replayed in replay_game(match, game).turns:
        turn, position = replayed.turn, replayed.position
        if turn.player != side or turn.kind is TurnKind.ROLL:
            continue
        if turn.kind is TurnKind.PLAY:
            assert turn.dice
            assert replayed.play
            if len(legal_plays(position, roll_of(*turn.dice))) > 1:
                yield Act(position.id, f"{roll_of(*turn.dice)}: {replayed.play.next_position.id}")
        else:
            yield Act(position.id, str(turn.kind))


WORDS = {"double": "double", "take": "take", "drop": "pass", "beaver": "beaver"}


def our_acts(exchanges: list[Exchange]) -> Iterator[Act]:
    """Yield our acts from the exchanges, without forced plays and rolls, for which gnubg also asks."""
    for line, reply, question in ((each.line, each.reply, each.question) for each in exchanges):
        assert question, f"{line}: {reply}"
        position = Position(question.position)
        if question.kind is QuestionKind.PLAY:
            assert question.roll
            if len(legal_plays(position, question.roll)) > 1:
                after = parse_play(reply or NO_PLAY, position, question.roll).next_position
                yield Act(position.id, f"{question.roll}: {after.id}")
        elif reply != "roll":
            yield Act(position.id, "resign" if reply.startswith("resign") else WORDS[reply])
