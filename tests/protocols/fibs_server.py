"""A small fake FIBS server: one account and one opponent, who plays at random and turns the cube.

It follows the protocol as far as players see it: login, settings, invitations of both sides, boards, rolls, plays, the
cube, resignations, scores, the Crawford rule, saved matches. Colors and directions change with every game. `faults` are
errors that the server makes, each once, before the board of that number.
"""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from bgdata.game.classes import game_outcome, is_over
from bgdata.game.dice import roll_of
from bgdata.game.plays import Play, legal_plays
from bgdata.game.position import START, Position

USER, PASSWORD, OPPONENT = "ann", "secret word".replace(" ", "_"), "mary"
LONG_BYTES = 100_000_000
NOT = "won't"
OWN_INFO = f"2 {USER} 1 0 0 1 0 0 1 1 2396 0 0 1 0 3457.85 0 0 0 0 0 UTC"  # not ready; server plays forced moves


class GoneError(Exception):
    """The player has left the server, or the server has dropped the player."""


@dataclass
class SavedMatch:
    """The state of an interrupted match. Sides are 0, the player, and 1, the opponent."""

    length: int
    scores: list[int] = field(default_factory=lambda: [0, 0])
    games: int = 0
    position: Position = START  # for the side whose turn it is
    turn: int = 0
    dice: tuple[int, int] | None = None
    cube: int = 1
    owner: int | None = None
    crawford: str = "before"
    is_playing: bool = False  # a game has begun and is not over


class FibsServer(threading.Thread):
    """A server that serves connections one after the other until it is closed. `heard` contains every line of the
    player."""

    def __init__(
        self,
        seed: int,
        *,
        faults: dict[int, str] | None = None,
        invites: str = "",
        refuses: str = "",
        own_info: str = OWN_INFO,
        flood: Callable[[], bytes] = bytes,
    ) -> None:
        super().__init__(daemon=True)
        self.own_info, self.flood = own_info, flood
        self.random, self.faults, self.invites, self.refuses = random.Random(seed), faults or {}, invites, refuses
        self.saved: SavedMatch | None = None
        self.heard: list[str] = []
        self.plays: list[tuple[int, str, list[tuple[int, int]]]] = []  # side, roll, moves in order
        self.results: list[tuple[int, int]] = []  # winner and points of each game
        self.boards = 0
        self.listening = socket.create_server(("localhost", 0))
        self.port: int = self.listening.getsockname()[1]

    def __enter__(self) -> FibsServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self.listening.shutdown(socket.SHUT_RDWR)  # wakes `accept`
        self.listening.close()
        self.join(20)

    def run(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.listening.accept()
                with connection, suppress(GoneError, OSError):
                    connection.settimeout(60)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # each act is several lines
                    _Session(self, connection).serve()


class _Session:
    """One connection of the player to the server."""

    def __init__(self, server: FibsServer, connection: socket.socket) -> None:
        self.server, self.connection = server, connection
        self.lines = connection.makefile("rb")
        self.settings = {"double": False, "moreboards": False, "ready": False, "automove": True}
        self.has_boards = False  # boardstyle 3 is set
        self.match: Any = None

    def say(self, *lines: str) -> None:
        self.send("".join(f"{line}\r\n" for line in lines).encode())

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def hear(self) -> list[str]:
        line = self.lines.readline()
        if not line.endswith(b"\n"):
            raise GoneError
        text = line.decode().strip()
        self.server.heard.append(text)
        return text.split()

    def serve(self) -> None:
        self.send(b"\r\n   FIBS   \r\nWELCOME TO A STAND-IN\r\nlogin: ")
        while self.hear() != ["login", "bgdata", "1008", USER, PASSWORD]:
            self.send(b"\r\nlogin: ")
        self.say("", f"1 {USER} 1041253132 192.168.1.308", self.server.own_info, "3", "Not much news.", "4")
        self.say(f"5 {OPPONENT} - - 1 0 1500.00 23 0 1041253132 host - -", "6", "13 bob is anybody here?")
        if self.server.invites:
            self.invite()
        while True:
            words = self.command()
            if words[:1] == ["bye"]:
                return
            if words[:2] == ["invite", OPPONENT]:
                self.invited(words[2:])
            elif words == ["join", OPPONENT]:
                self.begin(self.server.invites, "** You are now playing {what} with {who}.")

    def command(self) -> list[str]:
        """The player's next command. Settings and requests for the board are handled before it."""
        while True:
            words = self.hear()
            if words[:1] == ["toggle"] and words[1] in self.settings:
                is_on = self.settings[words[1]] = not self.settings[words[1]]
                self.toggled(words[1], is_on)
            elif words == ["set", "boardstyle", "3"]:
                self.has_boards = True
                self.say("Value of 'boardstyle' set to 3.")
            elif words == ["board"]:
                self.board()
            elif words[:1] not in (["toggle"], ["set"]):
                return words

    def toggled(self, name: str, is_on: bool) -> None:
        if name == "double":
            self.say(f"** You {'will' if is_on else NOT} be asked if you want to double.")
        elif name == "ready":
            self.say(
                "** You're now " + ("ready to invite or join someone." if is_on else "refusing to play with someone.")
            )
        else:
            self.say(f"** You changed {name}.")

    def invite(self) -> None:
        if self.server.saved:
            self.say(f"{OPPONENT} wants to resume a saved match with you.")
        else:
            what = (
                "an unlimited match" if self.server.invites == "unlimited" else f"a {self.server.invites} point match"
            )
            self.say(f"{OPPONENT} wants to play {what} with you.")
        self.say(f"Type 'join {OPPONENT}' to accept.")

    def invited(self, words: list[str]) -> None:
        if self.server.refuses:
            self.say(self.server.refuses)
        elif not words and self.server.saved is None:
            self.say(f"** There's no saved match with {OPPONENT}. Please give a match length.")
        else:
            to = " to resume a saved match" if not words else f" to a {words[0]} point match"
            self.say(f"** You invited {OPPONENT}{to}.")
            self.begin(words[0] if words else "", "** Player {who} has joined you for {what}.")

    def begin(self, length: str, words: str) -> None:
        if not self.settings["ready"]:
            raise AssertionError("expected a player who is ready")
        if self.server.saved is None:
            points = 9999 if length == "unlimited" else int(length)
            self.match = SavedMatch(points)
            what = "an unlimited match" if points == 9999 else f"a {points} point match"
            self.say(words.format(who=OPPONENT, what=what))
        else:
            self.match = self.server.saved
            self.say(f"{OPPONENT} has joined you. Your running match was loaded.")
            self.say(f"turn: {self.name(self.match.turn)}.", f"match length: {self.match.length}")
        try:
            self.play()
        finally:
            self.match = None

    # a match

    def play(self) -> None:
        match = self.match
        self.server.saved = match
        while max(match.scores) < match.length:
            if not match.is_playing:
                self.new_game()
            else:
                self.board()
            self.turns()
            if max(match.scores) < match.length and not self.next_game():
                self.server.saved = None
                return
        winner = match.scores.index(max(match.scores))
        own, other = match.scores
        score = f"{own}-{other}" if winner == 0 else f"{other}-{own}"
        self.server.saved = None
        self.say(f"{self.name(winner)} win{'s' * winner} the {match.length} point match {score} .")

    def next_game(self) -> bool:
        self.say("Type 'join' if you want to play the next game, type 'leave' if you don't.")
        if (words := self.command()) == ["join"]:
            return True
        if words != ["leave"]:
            raise AssertionError(words)
        self.say("** You terminated the game. The game was saved.")
        return False

    def new_game(self) -> None:
        match = self.match
        self.settings["double"] = False
        first, second = self.server.random.sample(range(1, 7), 2)
        match.position, match.dice, match.cube, match.owner = START, (first, second), 1, None
        match.turn, match.is_playing = int(second > first), True
        match.games += 1
        match.crawford = {"before": "before", "now": "over", "over": "over"}[match.crawford]
        if match.crawford == "before" and match.length - 1 in match.scores:
            match.crawford = "now"
        self.say(f"Starting a new game with {OPPONENT}.", f"You rolled {first}, {OPPONENT} rolled {second}")
        self.say("It's your turn to move." if match.turn == 0 else f"{OPPONENT} makes the first move.")
        self.board()

    def name(self, side: int) -> str:
        return "You" if side == 0 else OPPONENT

    def turns(self) -> None:
        match = self.match
        while match.is_playing:
            if match.dice is None and not self.before_roll():
                continue
            if match.dice is None:
                match.dice = self.server.random.randint(1, 6), self.server.random.randint(1, 6)
                self.say(f"{self.name(match.turn)} roll{'s' * match.turn} {match.dice[0]} and {match.dice[1]}.")
                self.board()
            self.one_play()

    def before_roll(self) -> bool:
        """Let the side on roll double or resign. Returns whether the turn goes on to the roll."""
        match = self.match
        may = match.owner in (None, match.turn) and match.crawford != "now"
        if match.turn == 1:
            draw = self.server.random.random()
            if may and draw < 0.08:
                return self.double(1)
            if draw > 0.985:
                return self.resigned()
            return True
        if not self.settings["double"] or not may:
            return True
        self.say("It's your turn. Please roll or double.")
        words = self.command()
        if words == ["double"]:
            return self.double(0)
        if words[:1] == ["resign"]:
            points = match.cube * (1 + ["normal", "gammon", "backgammon"].index(words[1]))
            self.say(f"You want to resign. {OPPONENT} will win {points} point{'s' * (points > 1)}.")
            self.say(f"{OPPONENT} accepts and wins {points} point{'s' * (points > 1)}.")
            return self.won(1, points)
        if words != ["roll"]:
            raise AssertionError(f"expected roll, double or resign, got {words}")
        return True

    def double(self, side: int) -> bool:
        match = self.match
        if side == 0:
            self.say(f"You double. Please wait for {OPPONENT} to accept or reject.")
            is_taken = self.server.random.random() < 0.6
        else:
            self.say(f"{OPPONENT} doubles. Type 'accept' or 'reject'.")
            is_taken = self.command() == ["accept"]
        other = self.name(1 - side)
        if not is_taken:
            points = f"{match.cube} point{'s' * (match.cube > 1)}"
            self.say(f"{other} give{'s' * (side == 0)} up. {self.name(side)} win{'s' * side} {points}.")
            return self.won(side, match.cube)
        match.cube, match.owner = 2 * match.cube, 1 - side
        self.say(f"{other} accept{'s' * (side == 0)} the double. The cube shows {match.cube}.")
        return True

    def resigned(self) -> bool:
        points = self.match.cube
        self.say(f"{OPPONENT} wants to resign. You will win {points} points. Type 'accept' or 'reject'.")
        if self.command() == ["accept"]:
            self.say(f"You accept and win {points} points.")
            return self.won(0, points)
        self.say("You reject. The game continues.")
        return True

    def won(self, winner: int, points: int) -> bool:
        self.match.scores[winner] += points
        self.match.is_playing = False
        self.server.results.append((winner, points))
        return False

    def one_play(self) -> None:
        match = self.match
        roll = roll_of(*match.dice)
        side = match.turn
        plays = legal_plays(match.position, roll)
        if not plays[0].moves:
            self.say(f"{self.name(side)} can't move.")
            play = plays[0]
        elif side == 0:
            play = self.asked(plays)
        else:
            play = self.server.random.choice(plays)
            self.say(f"{OPPONENT} moves {self.format_play(play)} .")
        self.server.plays.append((side, str(roll), sorted(move[:2] for move in play.moves)))
        match.position, match.turn, match.dice = play.next_position, 1 - side, None
        if is_over(match.position):
            points = match.cube * abs(int(game_outcome(match.position)))
            won = f"{points} point{'s' * (points > 1)}"
            ends = (
                f"You win the game and get {won}. Congratulations!",
                f"{OPPONENT} wins the game and gets {won}. Sorry.",
            )
            self.say(ends[side])
            self.won(side, points)
        else:
            self.board()

    def asked(self, plays: list[Play]) -> Play:
        self.say(f"Please move {len(plays[0].moves)} pieces.")
        while (words := self.command()) == ["roll"]:
            self.say("** You did already roll the dice.")
        for play in plays:
            steps = [step.split("-") for step in self.format_play(play, 0).split()]
            if words[0] == "move" and sorted(words[1:]) == sorted("-".join(step) for step in steps):
                return play
        self.say("** You can't move like that.")
        raise AssertionError(f"expected a legal play, got {words} ({[str(play) for play in plays]})")

    # boards

    @property
    def direction(self) -> int:
        """The direction in which the player moves, which changes with every game."""
        return 1 if self.match.games % 2 else -1

    @property
    def color(self) -> int:
        return 1 if self.match.games % 3 else -1

    def format_play(self, play: Play, side: int = 1) -> str:
        """A play in the server's notation, `13-8 6-5`, or `24-1` if an illegal play is due."""
        if side == 1 and self.fault("illegal play"):
            return "24-1"
        is_up = (self.direction if side == 0 else -self.direction) > 0
        names = {25: "bar", 0: "off"}
        points = {p: names.get(p) or str(25 - p if is_up else p) for p in range(26)}
        return " ".join(f"{points[start]}-{points[end]}" for start, end, _ in play.moves)

    def fault(self, name: str) -> bool:
        """Whether the fault called `name` is due; it happens once."""
        for number, fault in list(self.server.faults.items()):
            if fault == name and self.server.boards >= number:
                del self.server.faults[number]
                return True
        return False

    def board(self) -> None:
        if not self.has_boards or self.match is None:
            return
        self.server.boards += 1
        line = self.board_line(self.match)
        if self.fault("die"):
            raise GoneError
        if self.fault("half"):
            self.send(line[:60].encode())
            raise GoneError
        if self.fault("hang"):
            while self.lines.readline():
                self.say("13 bob is anybody here?")
            raise GoneError
        while self.fault("chatter"):
            self.server.faults[0] = "chatter"
            self.say("13 bob is anybody here?")
        while self.fault("nothing"):
            self.server.faults[0] = "nothing"
            self.send(b"\0" * 1000)
        while self.fault("flood"):
            self.server.faults[0] = "flood"
            self.send(self.server.flood())
        if self.fault("binary"):
            self.send(bytes(range(128, 256)) + b"\xff\xfb\x01\r\n")
        if self.fault("long"):
            for _ in range(100):
                self.send(b"x" * (LONG_BYTES // 100))
            self.send(b"\r\n")
        if self.fault("extra checker"):
            line = line.replace(":5:", ":6:", 1)
        if self.fault("other board") and self.match.position != START:
            self.match.position = START
            line = self.board_line(self.match)
        if self.fault("saved"):
            self.say(f"** Player {OPPONENT} has left the game. The game was saved.")
            raise GoneError
        self.say(line)

    def board_line(self, match: SavedMatch) -> str:
        own = match.position if match.turn == 0 else match.position.flip()
        opponent, on_roll = own.rows
        points = [0] * 26
        for point in range(1, 25):
            points[point] = on_roll[point - 1] - opponent[24 - point]
        points[25], points[0] = on_roll[24], -opponent[24]
        points = [self.color * count for count in points]
        if self.direction > 0:
            points.reverse()
        dice = [0, 0, 0, 0]
        if match.dice:
            dice[2 * match.turn : 2 * match.turn + 2] = match.dice
        may = [int(match.owner in (None, side) and match.crawford != "now") for side in (0, 1)]
        turn = self.color if match.turn == 0 else -self.color
        ends = [0, 25] if self.direction < 0 else [25, 0]
        off = [15 - sum(on_roll), 15 - sum(opponent)]
        fields = [match.length, *match.scores, *points, turn, *dice, match.cube, *may, 0, self.color, self.direction,
                  *ends, *off, on_roll[24], opponent[24], 0, 0, int(match.crawford == "over"), 0]  # fmt: skip
        return ":".join(map(str, ["board", "You", OPPONENT, *fields]))
