"""A player on FIBS, the First Internet Backgammon Server, and on servers that speak its protocol, CLIP 1008.

    login bgdata 1008 NAME PASSWORD
    invite somebody 5
    move 13-8 6-5

A board with dice is a request for a play; another line is a request for a roll or a double. Other lines report the acts
of the opponent. They are checked: the session ends if the server shows a board that does not follow from the last play.
Points are counted as on the board that the server sends, upwards from 1 for a player who moves up.

Source: the description of CLIP 1008 (fibs.com/fibs_interface.html); no program text was used.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from bgdata.errors import (
    BgdataError,
    EngineRefusedError,
    ExternalProgramError,
    IllegalPlayError,
    InvalidGameError,
    InvalidMessageError,
    InvalidPositionError,
    InvalidScoreError,
    cite,
)
from bgdata.evaluation.talk import Talk
from bgdata.formats.matches import TurnKind
from bgdata.game.board import BAR
from bgdata.game.classes import check_in_progress
from bgdata.game.dice import roll_of
from bgdata.game.fibs_board import FibsBoard, parse_fibs_board
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.plays import OFF, Play, find_play, legal_plays
from bgdata.game.position import START, Position
from bgdata.protocols.decisions import Answer, Decisions
from bgdata.protocols.session import Record, State

CLIENT, PROMPT = "bgdata", "login:"
_SIZES = ("", "normal", "gammon", "backgammon")
_CHECKERS = 15
MAX_BAD_LINES = 100  # limit of bad lines in a row
MAX_TOLD = 20  # limit of bad lines that are reported in a session
MAX_LINES = 1000  # limit of valid lines from one turn to the next
REPLIES = {  # fixed replies, by message kind
    "next_game": "join",
    "not_ready": "toggle ready",
    "not_asked": "toggle double",
    "crawford": "roll",
}
PROTOCOL = "1008"  # the version of CLIP
YOU = "You"
NEWS = "3"  # the line before the message of the day
_OWN_INFO = (  # fields of the user's own line, after the name
    *("allowpip", "autoboard", "autodouble", "automove", "away", "bell", "crawford", "double", "experience", "greedy"),
    *("moreboards", "moves", "notify", "rating", "ratings", "ready", "redoubles", "report", "silent", "timezone"),
)
WANTED = {"autoboard": "1", "moreboards": "1", "automove": "0", "greedy": "0", "crawford": "1", "ready": "1"}
_NAME = r"[^\s:.]+"
_LENGTH = r"an? (?P<length>\d{1,4}|unlimi?ted)(?: point)? match"
_POINTS = r"(?P<points>\d{1,6}) points?"
_DICE = r"(?P<die>[1-6])%s(?P<other>[1-6])"
_PATTERNS = [  # the kinds of messages that a player must understand
    (kind, re.compile(pattern.replace("NAME", _NAME)))
    for kind, pattern in (
        ("board", r"(?P<board>board:.*)"),
        ("invited", rf"(?P<who>NAME) wants to play {_LENGTH} with you\."),
        ("invited_back", r"(?P<who>NAME) wants to resume a saved match with you\."),
        ("begun", rf"(?:\*\* )?(?:Player )?(?P<who>NAME) has joined you for {_LENGTH}\.?"),
        ("begun", rf"\*\* You are now playing {_LENGTH} with (?P<who>NAME)\.?"),
        ("resumed", r"(?P<who>NAME) has joined you\. Your running match was loaded\.?"),
        ("resumed", r"You are now playing with (?P<who>NAME)\. Your running match was loaded\.?"),
        ("new_game", r"Starting a new game with (?P<who>NAME)\.?"),
        ("opening", r"(?P<who>NAME) rolled (?P<die>[1-6]), NAME rolled (?P<other>[1-6])\.?"),
        ("rolls", rf"(?P<who>NAME) rolls? {_DICE % ' and '}\.?"),
        ("moves", r"(?P<who>NAME) moves? (?P<moves>(?:(?:bar|\d\d?)-(?:off|\d\d?) ?){1,4}) ?\.?"),
        ("forced", r"The only possible move is (?P<moves>(?:(?:bar|\d\d?)-(?:off|\d\d?) ?){1,4}) ?\.?"),
        ("cannot_move", r"(?P<who>NAME) can't move\.?"),
        ("to_roll", r"It's your turn(?:\. Please roll or double| to roll or double)\.?"),
        ("doubles", r"(?P<who>NAME) doubles?\. .*"),
        ("takes", r"(?P<who>NAME) accepts? the double\. The cube shows (?P<cube>\d{1,6})\.?"),
        ("passes", rf"NAME gives? up\. (?P<who>NAME) wins? {_POINTS}\.?"),
        ("resigns", rf"(?P<who>NAME) wants? to resign\. NAME will win {_POINTS}\.?.*"),
        ("won", rf"(?P<who>NAME) accepts? and wins? {_POINTS}\.?"),
        ("resignation_refused", r"(?P<who>NAME) rejects?\. The game continues\.?"),
        ("won", rf"(?P<who>NAME) wins? the game and gets? {_POINTS}\..*"),
        ("match_won", r"(?P<who>NAME) wins? the (?P<length>\d{1,4}) point match (?P<score>\d+-\d+) ?\.?"),
        ("next_game", r"Type 'join' if you want to play the next game, type 'leave' if you don't\."),
        ("saved", r".*[Tt]he game was saved\.?"),
        ("not_ready", r"\*\* You're now refusing to play with someone\.?"),
        ("not_asked", r"\*\* You won't be asked if you want to double\.?"),
        ("crawford", r"\*\* The Crawford rule doesn't allow you to double .*"),
        ("refused", r"\*\* (?:There is no one called|There's no saved match with|NAME is refusing games|"
                       r"NAME is already playing|NAME didn't invite you|You can't|You have to|You must|Error|Illegal|"
                       r"Unknown command|No one|Please).*"),
    )
]  # fmt: skip


class Message(NamedTuple):
    """A parsed line of the server: its kind, and the parts of the line by name."""

    kind: str
    words: Mapping[str, str]


class Ending(StrEnum):
    """How a session with the server ended."""

    PLAYED = "played"  # the match is over, or the wanted number of games was played
    SAVED = "saved"  # the server saved the match when the opponent left


@dataclass(frozen=True)
class MatchRequest:
    """Which match to play. The opponent is `opponent`, or, if that is empty, anyone who invites. `invites` sends an
    invitation to `length` points; 0 is an unlimited match, None the saved match. An unlimited match ends after `games`
    games, 0 for no limit."""

    opponent: str = ""
    invites: bool = False
    length: int | None = None
    games: int = 0


class FibsPlayer:
    """Plays one session on a server. `tell` receives reports, line by line. `record` contains what was played, however
    the session ended; `keep` receives it after every game. Every method raises ExternalProgramError if the server stops
    or does not answer, and InvalidGameError if it breaks the rules."""

    def __init__(
        self,
        talk: Talk,
        decisions: Decisions,
        user: str,
        tell: Callable[[str], None],
        patience_seconds: float = 600,
        record: Record | None = None,
        keep: Callable[[Record], object] = lambda _: None,
    ) -> None:
        self.talk, self.decisions, self.user, self.tell, self.keep = talk, decisions, user, tell, keep
        self.patience_seconds, self.record = patience_seconds, record
        self.board: FibsBoard | None = None
        self._wish = MatchRequest()
        self._answered = ""  # the last board that we replied to
        self._expected: State | None = None  # state after the last play
        self._dice: dict[int, tuple[int, int]] = {}  # the last roll, by player
        self._refused: Position | None = None  # position in which our resignation was refused
        self._owner: int | None = None  # owner of the cube, after a take
        self._is_new = self._is_resumed = self._is_asked = False
        self._ending: Ending | None = None
        self._bad_lines = self._lines = 0  # number of bad lines in the session, and of lines since the last turn
        self._turns = (0, 0)  # number of games, and number of turns in the last game

    def log_in(self, password: str) -> None:
        """Log in, and tell the server to send boards. Raises EngineRefusedError if name or password are wrong, or if
        the server speaks another protocol."""
        until = self._until()
        while self._line(until, PROMPT) != PROMPT:
            pass
        self._say(f"login {CLIENT} {PROTOCOL} {self.user} {password}")
        settings = None  # the second message of the server, before any news
        while settings is None and (line := self._line(until, PROMPT)) not in (PROMPT, NEWS):
            settings = parse_own_info(line, self.user)
        if settings is None and line == PROMPT:
            raise EngineRefusedError(f"expected {self.talk.name} to let {self.user} in, found a wrong name or password")
        if settings is None:
            raise EngineRefusedError(
                f"expected {self.talk.name} to begin with the settings of {self.user}, as CLIP {PROTOCOL} has it, "
                "got none"
            )
        self._say("set boardstyle 3")
        for name, value in WANTED.items():
            if settings[name] != value:
                self._say(f"toggle {name}")

    def play(self, wish: MatchRequest) -> Ending:
        """Play the match that `wish` describes to its end. Returns how the session ended."""
        self._wish, self._ending = wish, None
        if wish.invites:
            length = {None: "", 0: " unlimited"}.get(wish.length, f" {wish.length}")
            self._say(f"invite {wish.opponent}{length}")
        while self._ending is None:
            self._read()
            self._check_progress()
        return self._ending

    def leave(self) -> None:
        """Log out of the server."""
        self._say("bye")

    def _read(self) -> None:
        """Read and handle the next message of the server. If the server only sends other lines, it counts as not
        answering."""
        until = self._until()
        while (message := parse_message(line := self._line(until))) is None:
            pass
        try:
            if message.kind == "refused":
                raise EngineRefusedError(f"{self.talk.name} refused: {message.words['line']}")
            if message.kind in REPLIES:
                self._say(REPLIES[message.kind])
            else:
                getattr(self, f"_on_{message.kind}")(message)
        except (ExternalProgramError, InvalidGameError):
            raise
        except BgdataError as error:
            raise InvalidGameError(f"{error}, in a line of {self.talk.name}: {cite(line)}") from error

    def _check_progress(self) -> None:
        """Raise ExternalProgramError if the server keeps sending valid lines but no turn is played."""
        games = self.record.games if self.record else []
        turns = (len(games), len(games[-1].turns)) if games else (0, 0)
        self._lines = self._lines + 1 if turns == self._turns else 0
        self._turns = turns
        if self._lines >= MAX_LINES:
            raise ExternalProgramError(
                f"expected {self.talk.name} to go on, got {MAX_LINES} lines in a row that lead to no turn"
            )

    def _until(self) -> float:
        return time.monotonic() + self.patience_seconds

    def _line(self, until: float, prompt: str = "") -> str:
        """Return the next valid line of the server. Invalid lines are reported and skipped. Raises ExternalProgramError
        after too many invalid lines, or at the time `until`."""
        for _ in range(MAX_BAD_LINES):
            if time.monotonic() >= until:
                name, patience = self.talk.name, self.patience_seconds
                raise ExternalProgramError(f"expected {name} to go on within {patience:g} s, got lines that do not")
            try:
                line = self.talk.read_line(self.patience_seconds, prompt, until)
            except InvalidMessageError as error:
                self._bad_lines += 1
                if self._bad_lines <= MAX_TOLD:
                    self.tell(f"skipped: {error}")
                if self._bad_lines == MAX_TOLD:
                    self.tell("skipped: further lines like these")
                continue
            if line is None:
                raise ExternalProgramError(f"expected {self.talk.name} to keep the connection, found it closed")
            return line.removeprefix(">").strip()
        raise ExternalProgramError(f"expected lines of text of {self.talk.name}, got {MAX_BAD_LINES} others in a row")

    def _say(self, line: str) -> None:
        self.talk.write_line(line + "\r", self.patience_seconds)

    # before a match

    def _on_invited(self, message: Message) -> None:
        who, length = message.words["who"], message.words["length"]
        if self.record or self._wish.invites or self._wish.opponent not in ("", who):
            return
        most = self.decisions.rules.met.length if self.decisions.rules.met else 0
        if length.isdigit() and int(length) > most:
            self.tell(f"{who} invites to {length} points; the match equity table has {most}")
        else:
            self._say(f"join {who}")

    def _on_invited_back(self, message: Message) -> None:
        who = message.words["who"]
        if who == self._opponent or (self.record is None and self._wish.opponent in ("", who)):
            self._say(f"join {who}")

    def _on_begun(self, message: Message) -> None:
        who, text = message.words["who"], message.words["length"]
        length = int(text) if text.isdigit() else 0
        if self._wish.opponent not in ("", who):
            raise InvalidGameError(f"expected a match with {self._wish.opponent}, got one with {who}")
        self.record = Record((self.user, who), length)
        self.tell(f"{f'{length}-point match' if length else 'unlimited match'} with {who}")

    def _on_resumed(self, message: Message) -> None:
        self._is_resumed, self._answered, self._expected, self._dice = True, "", None, {}
        if message.words["who"] != self._opponent:
            self.record = None
        self.tell(f"the match with {message.words['who']} goes on")
        self._say("toggle double")
        self._request_board()

    # the game

    def _on_new_game(self, _: Message) -> None:
        self._is_new, self._is_resumed, self._is_asked = True, False, False
        self._answered, self._expected = "", State(-1, START)
        self._owner, self._refused, self._dice = None, None, {}
        self._say("toggle double")

    def _on_rolls(self, message: Message) -> None:
        dice = int(message.words["die"]), int(message.words["other"])
        if message.kind == "opening":  # the board says who plays these dice
            self._dice = {0: dice, 1: dice}
        else:
            self._dice[self._player(message)] = dice

    _on_opening = _on_rolls

    def _on_board(self, message: Message) -> None:
        """Check a board that the server sent, and make the decision that it asks for."""
        line = message.words["board"]
        board = parse_fibs_board(line)
        if board.turn == 0 or _CHECKERS in board.off:  # the game is over
            return
        if self.record is None:
            self.record = Record((self.user, board.names[1]), board.length)
        player = int(board.turn != board.color)
        position = check_position(board)
        if self._is_new:
            self._is_new = False
            self.record.begin_game(board.scores)
            self.tell(
                f"game {len(self.record.games)}: {self.user} {board.scores[0]}, {self._opponent} {board.scores[1]}"
            )
        elif self._is_resumed or not self.record.is_open:
            self._is_resumed = False
            self.record.resume(State(player, position), board.scores, is_doubled=board.is_doubled)
        expected = self._expected
        if expected and expected.player in (player, -1):
            self._expected = None
            if expected.position != position:
                sent = f"{self.talk.name} sent {position.id}"
                raise InvalidGameError(f"expected the board {expected.position.id} after the last play, {sent}")
        self.board = board
        if player or board.is_doubled:
            return
        if any(board.own_dice):
            if line != self._answered:
                self._answered = line
                roll = roll_of(*board.own_dice)
                play = self.decisions.play(position, roll, self._stakes(board))
                if play.moves:  # if no move is possible, the server passes for us
                    self._say(f"move {format_fibs_play(play, is_up=board.direction > 0)}")
                    self._add_play(0, (roll.high, roll.low), play)
        elif self._is_asked:
            self._is_asked = False
            self._begin_turn(position, board)

    def _on_to_roll(self, _: Message) -> None:
        """Begin a turn from the board that is known, or ask the server for a new board."""
        board = self.board
        if board and board.turn == board.color and not any(board.own_dice) and self._expected is None:
            self._begin_turn(board.position, board)
        else:
            self._request_board()

    def _request_board(self) -> None:
        """Ask the server for the board, to begin a turn with it."""
        self._is_asked = True
        self._say("board")

    def _begin_turn(self, position: Position, board: FibsBoard) -> None:
        """Begin our turn: double, resign or roll."""
        stakes = self._stakes(board)
        if board.may_double[0] and stakes.may_double and self.decisions.doubles(position, stakes):
            self._say("double")
        elif position != self._refused and (size := self.decisions.resignation(position, stakes)):
            self._refused = position
            self._say(f"resign {_SIZES[size]}")
        else:
            self._say("roll")

    def _add_play(self, player: int, dice: tuple[int, int], play: Play) -> None:
        self._record.add_play(player, dice, play)
        self._expected = State(1 - player, play.next_position)
        who = self._record.players[player]
        self.tell(f"  {who} {dice[0]}{dice[1]}: {play if play.moves else 'cannot move'}")

    def _on_moves(self, message: Message) -> None:
        """Record a play of the opponent, or a play that the server made for us."""
        player = 0 if message.kind == "forced" else self._player(message)
        board = self._game_board()
        if self._expected and self._expected.player == 1 - player:
            return  # the server repeats our own play
        if player != int(board.turn != board.color):
            raise InvalidGameError(
                f"expected a play of {self._record.players[1 - player]}, got one of {self._record.players[player]}"
            )
        dice = self._dice.get(player) or board.dice
        position, roll = board.position, roll_of(*dice)
        plays = legal_plays(position, roll)
        if message.kind == "cannot_move":
            if plays[0].moves:
                raise IllegalPlayError(f"expected a play of {roll} in {position.id}, such as {plays[0]}, got none")
            self._add_play(player, dice, plays[0])
            return
        is_up = board.direction * (1 if player == 0 else -1) > 0
        self._add_play(player, dice, find_fibs_play(message.words["moves"], plays, is_up=is_up))

    _on_forced = _on_cannot_move = _on_moves

    # the cube, and resignations

    def _on_doubles(self, message: Message) -> None:
        player, board = self._player(message), self._game_board()
        stakes = self._stakes(board)
        self._record.add_cube(player, TurnKind.DOUBLE, 2 * stakes.cube.value)
        self.tell(f"  {self._record.players[player]} doubles to {2 * stakes.cube.value}")
        if player == 1:
            if board.turn == board.color or not stakes.may_double:
                raise InvalidScoreError(f"expected a double of one who may, with {stakes.cube}")
            found = self.decisions.answer(board.position, stakes)
            self._say("reject" if found is Answer.PASS else "accept")

    def _on_takes(self, message: Message) -> None:
        player = self._player(message)
        self._owner = player
        self._record.add_cube(player, TurnKind.TAKE)
        self.tell(f"  {self._record.players[player]} takes")
        if player == 1:
            self._request_board()

    def _on_passes(self, message: Message) -> None:
        self._record.add_cube(1 - self._player(message), TurnKind.PASS)
        self._on_won(message)

    def _on_resigns(self, message: Message) -> None:
        """Accept the opponent's resignation if playing on without the cube is not worth more."""
        player = self._player(message)
        if player == 0:
            return
        board, points = self._game_board(), int(message.words["points"])
        position = board.position
        found = self.decisions.player.evaluate(position).cubeless_equity
        to_win = (found if board.turn == board.color else -found) * board.cube_value
        away = board.length - board.scores[0] if board.length else points + 1
        is_taken = points >= min(to_win, away)
        self.tell(f"  {self._opponent} resigns {points}: {'accepted' if is_taken else 'refused'}")
        self._say("accept" if is_taken else "reject")

    def _on_resignation_refused(self, message: Message) -> None:
        if self._player(message) == 1:
            self._request_board()

    def _on_won(self, message: Message) -> None:
        winner, points = self._player(message), int(message.words["points"])
        if self._record.is_open:
            self.tell(f"{self._record.players[winner]} wins {points} point{'s' * (points != 1)}")
            self._record.finish(winner, points)
            self.keep(self._record)
        self._expected = None
        if not self._record.length and self._wish.games and len(self._record.games) >= self._wish.games:
            self._say("leave")
            self._ending = Ending.PLAYED

    def _on_match_won(self, message: Message) -> None:
        winner = self._record.players[self._player(message)]
        self.tell(f"{winner} wins the match {message.words['score']}")
        self._ending = Ending.PLAYED

    def _on_saved(self, _: Message) -> None:
        self.tell("the server has saved the game")
        self._ending = Ending.SAVED

    # players and stakes

    @property
    def _record(self) -> Record:
        if self.record is None:
            raise InvalidGameError("expected a match before what happens in it")
        return self.record

    @property
    def _opponent(self) -> str:
        return self.record.players[1] if self.record else ""

    def _game_board(self) -> FibsBoard:
        if self.board is None or not self._record.is_open:
            raise InvalidGameError("expected a board before what is done on it")
        return self.board

    def _player(self, message: Message) -> int:
        """Return the number of the player that a message names: 0 for ourselves, 1 for the opponent. Raises
        InvalidGameError for any other name."""
        who = message.words["who"]
        if who not in (YOU, *self._record.players):
            raise InvalidGameError(f"expected {YOU} or {self._opponent}, got {who}")
        return int(who == self._opponent)

    def _stakes(self, board: FibsBoard) -> Stakes:
        """Return the stakes for the side whose turn it is. Raises InvalidScoreError if the score cannot occur."""
        mine, theirs = board.may_double
        owner = self._owner if mine == theirs else int(theirs)
        player = int(board.turn != board.color)
        seen = CubeOwner.ON_ROLL if owner == player else CubeOwner.OPPONENT
        cube = Cube(board.cube_value, CubeOwner.CENTERED if board.cube_value == 1 or owner is None else seen)
        if not board.length:
            return Stakes(Money(is_jacoby=False), cube)
        away = [board.length - score for score in board.scores]
        earlier = [game.score for game in self._record.games[:-1]]
        is_over = board.is_post_crawford or any(board.length - 1 in score for score in earlier)
        is_crawford = (away[0] == 1) != (away[1] == 1) and not is_over
        score = MatchScore(away[player], away[1 - player], is_crawford and board.cube_value == 1)
        return Stakes(score, cube)


def check_position(board: FibsBoard) -> Position:
    """Return the position on a board of a game in progress, for the side whose turn it is. Raises InvalidPositionError
    if the position is impossible, or contradicts the number of checkers off."""
    position = check_in_progress(board.position)
    off = (position.off, position.opponent_off)
    told = board.off if board.turn == board.color else board.off[::-1]
    if off != told:
        raise InvalidPositionError(
            f"expected {told[0]} and {told[1]} of {_CHECKERS} checkers off, got a board with {off[0]} and {off[1]}"
        )
    return position


def format_fibs_play(play: Play, *, is_up: bool) -> str:
    """Return checker moves in the server's notation: `bar-20 13-8`, or `bar-5 12-17` if the player's points are counted
    upwards (`is_up`)."""
    names = {point: str(BAR - point if is_up else point) for point in range(1, BAR)} | {BAR: "bar", OFF: "off"}
    return " ".join(f"{names[start]}-{names[end]}" for start, end, _ in play.moves)


def find_fibs_play(text: str, plays: list[Play], *, is_up: bool) -> Play:
    """Return the legal play among `plays` that the server reports as `text`. Raises IllegalPlayError if there is no
    such play."""
    if is_up:
        text = re.sub(r"\d+", lambda found: str(BAR - int(found[0])), text)
    return find_play(text.replace("-", "/"), plays)


def parse_own_info(line: str, user: str) -> dict[str, str] | None:
    """Return the user's settings on the server, by name; None if the line contains none. Raises EngineRefusedError if
    the server's protocol has another version."""
    number_and_name, values = line.split()[:2], line.split()[2:]
    if number_and_name != ["2", user]:
        return None
    clip = f"as CLIP {PROTOCOL} has it"
    if len(values) != len(_OWN_INFO):
        raise EngineRefusedError(
            f"expected {len(_OWN_INFO)} settings of {user}, {clip}, got {len(values)}: {cite(line)}"
        )
    settings = dict(zip(_OWN_INFO, values, strict=True))
    for name in WANTED:
        if settings[name] not in ("0", "1"):
            raise EngineRefusedError(f"expected 0 or 1 as {name} of {user}, {clip}, got {cite(settings[name])}")
    return settings


def parse_message(line: str) -> Message | None:
    """Parse a line into a message; None for lines that do not matter to a player, such as chat."""
    for kind, pattern in _PATTERNS:
        if found := pattern.fullmatch(line):
            return Message(kind, {"line": line, **found.groupdict()})
    return None
