"""gnubg's external player: gnubg connects, sends the board at each decision, and reads a reply of one line.

    set player 0 external localhost:7200

Source: the lines that gnubg 1.07 sends and accepts; no program text was used. gnubg never turns the board: checkers of
its player 1 are positive. Names and scores are of player 0 and player 1, swapped if the side that must answer is not on
roll; the turn is always the turn of the player on roll. The previous lines say which side answers a beaver or raccoon.
gnubg treats an invalid line as no play.

Between its questions gnubg rolls and plays unseen, so an `ExternalRecord` infers its turns from the boards, for a .mat
file. If several rolls and plays lead to the same board, it writes the likeliest, and a note counts these cases. The
result of a game follows from the score of the next one, so the last result is missing unless we made the last decision.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from bgdata.errors import BgdataError, ExternalProgramError, InvalidMessageError, InvalidScoreError
from bgdata.evaluation.talk import Talk
from bgdata.formats.matches import Match, TurnKind
from bgdata.game.classes import check_in_progress, game_outcome, is_over
from bgdata.game.dice import ROLLS, Roll
from bgdata.game.fibs_board import FibsBoard, parse_fibs_board
from bgdata.game.match import CubeOwner, MatchScore, Money, Stakes
from bgdata.game.plays import NO_PLAY, Play, legal_plays, parse_play
from bgdata.game.position import START, Position
from bgdata.protocols.decisions import Answer, Decisions
from bgdata.protocols.session import Record, State, rules_info

REFUSED = "Error: "  # gnubg's own replies to invalid lines begin like this
MAX_OTHER_LINES = 100  # limit of invalid lines in a row; with more, the other side is not gnubg
_REPLIES = {Answer.TAKE: "take", Answer.PASS: "drop", Answer.BEAVER: "beaver"}
_FIRST = State(0, START)  # state of a game in which we play first
_MAX_LETTERS = 40  # letters of a name: two names fit a line of a .mat file
_NOTE = "game {game}: {open} of {rolls} rolls of {name} may have been others that lead to the same board"


class QuestionKind(StrEnum):
    """The kinds of decisions that gnubg asks for."""

    PLAY = "play"  # play of the roll
    TURN = "turn"  # a roll, a double or a resignation
    ANSWER = "answer"  # answer to a double


@dataclass(frozen=True, slots=True)
class Question:
    """A decision that gnubg asks for. Position and stakes are from the point of view of the player on roll. That is the
    opponent if it has doubled, unless gnubg asks about its beaver of our double."""

    kind: QuestionKind
    players: tuple[str, str]  # the side asked, then the opponent
    length: int
    scores: tuple[int, int]  # scores in the same order
    position: Position
    stakes: Stakes
    roll: Roll | None
    is_beaver: bool = False  # the player on roll has doubled, and now answers a beaver


@dataclass(frozen=True, slots=True)
class Exchange:
    """A line from gnubg and our reply to it. `question` is None if the line was invalid."""

    line: str
    reply: str
    question: Question | None = None


class ExternalPlayer:
    """Answers the lines of one connection with gnubg. It remembers which side it plays, and which resignation was
    refused."""

    def __init__(self, decisions: Decisions, *, is_jacoby: bool = False) -> None:
        self.decisions, self.is_jacoby = decisions, is_jacoby
        self._color: int | None = None
        self._refused: Question | None = None

    def exchange(self, line: str) -> Exchange:
        """Answer a line of gnubg. If the line is invalid, the reply is an error message."""
        try:
            board = parse_fibs_board(line)
            color = color_to_decide(board, self._color)
            question = parse_question(board, color, is_jacoby=self.is_jacoby)
            self._color = color
            return Exchange(line, self._reply(question), question)
        except BgdataError as error:
            return Exchange(line, REFUSED + str(error))

    def exchanges(self, talk: Talk, patience_seconds: float | None = None) -> Iterator[Exchange]:
        """Yield every exchange until the other side ends. Raises ExternalProgramError if the other side is silent for
        too long, sends too many lines that are not questions, does not read, or ends within a line."""
        others = 0
        while others < MAX_OTHER_LINES:
            try:
                line = talk.read_line(patience_seconds)
                if line is None:
                    return
                exchange = self.exchange(line) if line else None
            except InvalidMessageError as error:
                exchange = Exchange("", REFUSED + str(error))
            others = 0 if exchange and exchange.question else others + 1
            if exchange:
                talk.write_line(exchange.reply, patience_seconds)
                yield exchange
        raise ExternalProgramError(f"expected boards of {talk.name}, got {MAX_OTHER_LINES} other lines in a row")

    def _reply(self, question: Question) -> str:
        position, stakes = question.position, question.stakes
        if question.kind is QuestionKind.ANSWER:
            return _REPLIES[self.decisions.answer(position, stakes, by_roller=question.is_beaver)]
        if question.roll is not None:
            play = self.decisions.play(position, question.roll, stakes)
            return str(play) if play.moves else ""  # gnubg would read any word as a play
        if self.decisions.doubles(position, stakes):
            return "double"
        size = self.decisions.resignation(position, stakes)
        if size and question != self._refused:
            self._refused = question
            return f"resign {size}"
        return "roll"


def color_to_decide(board: FibsBoard, known: int | None = None) -> int:
    """Return the color of the player who decides; `known` is the color that previous lines imply."""
    if not board.is_doubled:
        return board.turn
    if board.cube.owner == CubeOwner.OPPONENT and known is not None:
        return known
    return -board.turn


def parse_question(board: FibsBoard, color: int, *, is_jacoby: bool) -> Question:
    """Return the decision that gnubg asks from the player of a color, from a board. Raises InvalidPositionError,
    InvalidRollError or InvalidScoreError if position, dice or score are invalid."""
    position, roll = check_in_progress(board.position), board.roll
    kind = QuestionKind.ANSWER if board.is_doubled else QuestionKind.PLAY if roll else QuestionKind.TURN
    is_on_roll = color == board.turn
    own = int((color == 1) == is_on_roll)  # color 1 is player 1: the second name, or the first if names are swapped
    scores = board.scores[own], board.scores[1 - own]
    if not board.length:
        stakes = Stakes(Money(is_jacoby), board.cube)
    else:
        if not all(0 <= score < board.length for score in scores):
            raise InvalidScoreError(f"expected scores from 0 to {board.length - 1}, got {scores[0]} and {scores[1]}")
        away = board.length - scores[0], board.length - scores[1]
        seen = MatchScore(*(away if is_on_roll else away[::-1]), is_crawford=board.is_crawford)
        stakes = Stakes(seen, board.cube)
    players = board.names[own], board.names[1 - own]
    return Question(
        kind, players, board.length, scores, position, stakes, roll, kind is QuestionKind.ANSWER and is_on_roll
    )


class ExternalRecord:
    """Records matches against gnubg from the exchanges of any number of connections."""

    def __init__(self) -> None:
        self._records: list[_MatchRecord] = []

    @property
    def matches(self) -> list[Match]:
        """The matches so far. A new match begins where the players or the length change, or a score falls."""
        return [record.match for record in self._records]

    def add(self, exchange: Exchange) -> bool:
        """Add an exchange to the record. Returns whether it shows that a game is over."""
        question = exchange.question
        if question is None:
            return False
        record = self._records[-1] if self._records else None
        if record is None or not record.can_continue_with(question):
            self._records.append(_MatchRecord(question))
            is_over = record is not None
        else:
            is_over = record.begin_next(question)
        self._records[-1].add(question, exchange.reply)
        return is_over or not self._records[-1].is_open


class _MatchRecord:
    """The record of one match or session: its turns, its current state, and the rolls that are uncertain because gnubg
    does not send them."""

    def __init__(self, question: Question) -> None:
        own, other = map(_name, question.players)
        info = rules_info(question.stakes.score)
        self._names, self._record = question.players, Record((own, other), question.length, info=info)
        self._rolls: dict[int, list[bool]] = {}  # [game] whether other rolls fit too, for each roll of gnubg
        self._state: State | None = None  # state of the last game; None before its first roll
        self._last: Question | None = None
        self._turns_before = 0  # number of turns before the last reply
        self._begin(question.scores)

    @property
    def is_open(self) -> bool:
        """Whether the last game of the match is unfinished."""
        return self._record.is_open

    @property
    def match(self) -> Match:
        """The match, with notes on uncertain rolls."""
        match, name = self._record.match, self._record.players[1]
        notes = [
            ("Note", _NOTE.format(game=game, open=sum(rolls), rolls=len(rolls), name=name))
            for game, rolls in self._rolls.items()
            if any(rolls)
        ]
        return replace(match, info=(*match.info, *notes))

    def can_continue_with(self, question: Question) -> bool:
        """Return whether a question can belong to this match: scores never fall, and every game has a winner."""
        score = self._record.games[-1].score
        if question == self._last:
            return True
        if (question.players, question.length) != (self._names, self._record.length):
            return False
        if question.scores == score:
            if score != (0, 0) or not self.is_open:
                return self.is_open
            wanted = _state_of(question)  # the board of a new game or of the current game
            if (
                self._state is None
                or wanted == self._state
                or self._ways_to(wanted)
                or self._record.has_been_in(wanted)
            ):
                return True
            return wanted != _FIRST and not _beginnings(wanted)
        return all(now >= before for now, before in zip(question.scores, score, strict=True))

    def begin_next(self, question: Question) -> bool:
        """If the score in a question shows that the game is over, finish the game and begin the next one. Returns
        whether the game was over."""
        before = self._record.games[-1].score
        gains = [now - then for now, then in zip(question.scores, before, strict=True)]
        if not any(gains):
            return False
        if not all(gains):  # otherwise we missed some games
            self._finish(int(gains[1] > 0), max(gains))
        self._begin(question.scores)
        return True

    def add(self, question: Question, reply: str) -> None:
        """Add what gnubg did before this question, and our reply."""
        if question == self._last and not self._ways_to(
            _state_of(question)
        ):  # gnubg repeats its question after an error, or its user went back
            self._record.take_back(self._turns_before)
            self._state = _state_of(question)
        else:
            self._add_theirs(question)
        self._last, self._turns_before = question, len(self._record.games[-1].turns)
        self._add_ours(question, reply)

    def _begin(self, scores: tuple[int, int]) -> None:
        self._record.begin_game(scores)
        self._state = None
        self._rolls[len(self._record.games)] = []

    def _finish(self, winner: int, points: int) -> None:
        """Finish a game by the score. If we doubled last, and won as much as the cube was worth before, gnubg has
        passed."""
        turns = self._record.games[-1].turns
        if turns and turns[-1].kind in (TurnKind.DOUBLE, TurnKind.BEAVER) and (turns[-1].player, winner) == (0, 0):
            is_passed = points == (turns[-1].cube_value or 0) // 2
            if is_passed or turns[-1].kind is TurnKind.DOUBLE:
                self._record.add_cube(1, TurnKind.PASS if is_passed else TurnKind.TAKE)
        self._record.finish(winner, points, is_certain=True)

    # gnubg's acts

    def _add_theirs(self, question: Question) -> None:
        wanted = _state_of(question)
        plays = self._ways_to(wanted)
        if plays:
            self._add_play(plays)
        elif wanted != self._state and (self._state is not None or wanted != _FIRST):
            self._follow_set_board(wanted, question)
        elif self._record.last_act == (0, TurnKind.DOUBLE) and question.kind is not QuestionKind.ANSWER:
            self._record.add_cube(1, TurnKind.TAKE)
        self._state = wanted
        if question.kind is QuestionKind.ANSWER:
            is_beaver = question.is_beaver or question.stakes.cube.owner == CubeOwner.OPPONENT
            self._record.add_cube(1, TurnKind.BEAVER if is_beaver else TurnKind.DOUBLE, 2 * question.stakes.cube.value)

    def _ways_to(self, state: State) -> list[tuple[Roll, Play]]:
        """Return the rolls and plays of gnubg that lead to `state`, the position and the side on roll, likeliest
        first."""
        if self._state is None:
            return _beginnings(state)
        return list(_ways(self._state.position, state.position)) if (self._state.player, state.player) == (1, 0) else []

    def _add_play(self, plays: list[tuple[Roll, Play]]) -> None:
        roll, play = plays[0]
        self._record.add_play(1, (roll.high, roll.low), play)
        self._rolls[len(self._record.games)].append(len(plays) > 1)

    def _follow_set_board(self, wanted: State, question: Question) -> None:
        """Continue the record from a board that gnubg's user has set up or has gone back to."""
        if not self._record.go_back(wanted):
            if self._record.last_act:
                self._begin(question.scores)
            if plays := _beginnings(wanted):
                self._add_play(plays)
            elif wanted != _FIRST:
                self._record.note_missing_start()

    # our replies

    def _add_ours(self, question: Question, reply: str) -> None:
        value = question.stakes.cube.value
        if question.kind is QuestionKind.ANSWER:  # gnubg does not record the take of a beaver
            if reply == "beaver":
                self._record.add_cube(0, TurnKind.BEAVER, 4 * value)
            elif reply == "drop":
                self._record.add_cube(0, TurnKind.PASS)
                self._record.finish(1, value)
            elif self._record.last_act == (1, TurnKind.DOUBLE):
                self._record.add_cube(0, TurnKind.TAKE)
        elif question.roll is not None:
            play = parse_play(reply or NO_PLAY, question.position, question.roll)
            self._record.add_play(0, (question.roll.high, question.roll.low), play)
            self._state = State(1, play.next_position)
            if is_over(play.next_position):
                self._record.finish(0, question.stakes.points(-game_outcome(play.next_position)))
        elif reply == "double":
            self._record.add_cube(0, TurnKind.DOUBLE, 2 * value)


def _state_of(question: Question) -> State:
    """Return the side on roll and the position of a question. gnubg is on roll if it has doubled, unless the question
    is about its beaver."""
    return State(int(question.kind is QuestionKind.ANSWER and not question.is_beaver), question.position)


def _beginnings(state: State) -> list[tuple[Roll, Play]]:
    """Return the first rolls of a game with plays that lead to `state`, where the other side is on roll."""
    return [] if state.player else [way for way in _ways(START, state.position) if not way[0].is_double]


def _ways(before: Position, after: Position) -> Iterator[tuple[Roll, Play]]:
    """Yield rolls with plays that lead from position `before` to position `after`, likeliest first."""
    used_pips = before.pip_count - after.opponent_pip_count
    for roll in sorted(ROLLS, key=lambda each: each.is_double):
        if sum(roll.dice) >= used_pips >= 0:
            found = next((play for play in legal_plays(before, roll) if play.next_position == after), None)
            if found:
                yield roll, found


def _name(text: str) -> str:
    """Return a player's name in a form that a .mat file can contain."""
    return re.sub(r"[^\w.-]+", "_", text)[:_MAX_LETTERS] or "_"
