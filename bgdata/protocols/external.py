"""gnubg's external player: gnubg connects, sends the board at each decision, and is answered by one line.

    set player 0 external localhost:7200

Source: what gnubg 1.07 sends and accepts; no program text was used. It turns no board: checkers of its player 1 are
positive. Names and scores are those of player 0 and player 1, the other way round where somebody else than the player
on roll is asked; the turn is always that of the player on roll. Who is to answer a beaver, or one that is turned back,
is known from the lines before. gnubg takes an invalid line as no play.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from bgdata.errors import BgdataError, ExternalProgramError, InvalidMessageError, InvalidScoreError
from bgdata.evaluation.talk import Talk
from bgdata.game.classes import check_in_progress
from bgdata.game.dice import Roll
from bgdata.game.fibs_board import FibsBoard, parse_fibs_board
from bgdata.game.match import CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import Position
from bgdata.protocols.decisions import Answer, Decisions

REFUSED = "Error: "  # how gnubg itself begins what it answers to a line that is wrong
MOST_OTHER_LINES = 100  # in a row, then it is not gnubg
_REPLIES = {Answer.TAKE: "take", Answer.PASS: "drop", Answer.BEAVER: "beaver"}


class QuestionKind(StrEnum):
    """The kind of a question of gnubg."""

    PLAY = "play"  # of the roll
    TURN = "turn"  # a roll, a double or a resignation
    ANSWER = "answer"  # to a double


@dataclass(frozen=True, slots=True)
class Question:
    """A decision; position and stakes are seen by the player on roll, who is the opponent where it has doubled and no
    beaver is to be answered."""

    kind: QuestionKind
    players: tuple[str, str]  # the one who is asked first, then the opponent
    length: int
    scores: tuple[int, int]  # in the same order
    position: Position
    stakes: Stakes
    roll: Roll | None
    is_beaver: bool = False  # the player on roll has doubled, and is asked what it answers to a beaver


@dataclass(frozen=True, slots=True)
class Exchange:
    """A line of gnubg and the reply to it; no question if the line was invalid."""

    line: str
    reply: str
    question: Question | None = None


class ExternalPlayer:
    """Answers the lines of one connection. It remembers its side, and the resignation that was refused."""

    def __init__(self, decisions: Decisions, *, is_jacoby: bool = False) -> None:
        self.decisions, self.is_jacoby = decisions, is_jacoby
        self._color: int | None = None
        self._refused: Question | None = None

    def exchange(self, line: str) -> Exchange:
        """The reply to a line, an error message for an invalid one."""
        try:
            board = parse_fibs_board(line)
            color = color_to_decide(board, self._color)
            question = parse_question(board, color, is_jacoby=self.is_jacoby)
            self._color = color
            return Exchange(line, self._reply(question), question)
        except BgdataError as error:
            return Exchange(line, REFUSED + str(error))

    def exchanges(self, talk: Talk, patience_seconds: float | None = None) -> Iterator[Exchange]:
        """Every exchange until the other side ends. Raises ExternalProgramError if it is silent for too long, floods
        with lines that ask nothing, does not read, or ends within a line."""
        others = 0
        while others < MOST_OTHER_LINES:
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
        raise ExternalProgramError(f"expected boards of {talk.name}, got {MOST_OTHER_LINES} other lines in a row")

    def _reply(self, question: Question) -> str:
        position, stakes = question.position, question.stakes
        if question.kind is QuestionKind.ANSWER:
            return _REPLIES[self.decisions.answer(position, stakes, by_roller=question.is_beaver)]
        if question.roll is not None:
            play = self.decisions.play(position, question.roll, stakes)
            return str(play) if play.moves else ""  # gnubg reads unknown words as some play
        if self.decisions.doubles(position, stakes):
            return "double"
        size = self.decisions.resignation(position, stakes)
        if size and question != self._refused:
            self._refused = question
            return f"resign {size}"
        return "roll"


def color_to_decide(board: FibsBoard, known: int | None = None) -> int:
    """The color to decide; `known` is that of the lines before."""
    if not board.is_doubled:
        return board.turn
    if board.cube.owner == CubeOwner.OPPONENT and known is not None:
        return known
    return -board.turn


def parse_question(board: FibsBoard, color: int, *, is_jacoby: bool) -> Question:
    """The decision that a board asks of a color. Raises InvalidPositionError, InvalidRollError or InvalidScoreError."""
    position, roll = check_in_progress(board.position), board.roll
    kind = QuestionKind.ANSWER if board.is_doubled else QuestionKind.PLAY if roll else QuestionKind.TURN
    is_on_roll = color == board.turn
    own = int((color == 1) == is_on_roll)  # player 1, the color 1, is the second name, or the first the other way round
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
