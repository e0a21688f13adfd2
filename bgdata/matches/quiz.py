"""Questions about decisions, and Leitner's boxes, which decide when each is asked again.

A question is in a box from 1 to 5; a new question is in no box. A right answer moves it up one box, a wrong answer
moves it to box 1. The boxes are for questions that are asked again after 1, 2, 4, 8 or 16 sessions. Questions that are
due come first, from box 1 up; new questions follow, the greatest loss first.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bgdata.errors import CorruptFileError, StorageError, cite
from bgdata.game.classes import position_class
from bgdata.game.dice import Roll
from bgdata.game.match import MatchScore, Stakes
from bgdata.game.position import Position
from bgdata.game.xgid import Xgid, parse_xgid

if TYPE_CHECKING:
    from bgdata.equity.cube import CubeRules
    from bgdata.evaluation.lookahead_player import LookaheadPlayer

BOXES = 5
RIGHT = 0.02  # points: an answer that loses less is right
PLAY, DOUBLE, ANSWER = SUBJECTS = ("play", "double", "answer")
PHASES = ("contact", "crashed", "race")
MOST_PLAYS = 5  # maximum number of answers of a question about a play


@dataclass(frozen=True)
class Answer:
    """A possible answer, a play or cube action: its equity, and how much it loses against the best answer, in
    points."""

    text: str
    equity: float | None
    loss: float


@dataclass(frozen=True)
class Question:
    """A decision of the player on roll, or of the opponent who is doubled. Its answers, best first, are empty before
    they are evaluated.

    `made` is the action that was taken, and `loss` how much it lost. In decisions that nobody made, `loss` is how much
    the second best play loses. `origin` says where the decision is from, `judge` who evaluated the answers, `detail`
    the values of all cube actions."""

    xgid: str
    subject: str
    loss: float
    origin: str
    made: str = ""
    answers: tuple[Answer, ...] = ()
    judge: str = ""
    detail: str = ""
    key: str = field(init=False)

    def __post_init__(self) -> None:
        key = hashlib.sha256(f"{self.subject} {self.xgid}".encode()).hexdigest()[:16]
        object.__setattr__(self, "key", key)

    @property
    def place(self) -> Xgid:
        """The position with its score, cube and roll."""
        return parse_xgid(self.xgid)

    @property
    def view(self) -> tuple[Position, Stakes, Roll | None]:
        """The board and the stakes as the player who decides sees them, and the roll if a play is asked for."""
        place = self.place
        if self.subject == ANSWER:
            return place.position.flip(), place.match.stakes.flip(), None
        return place.position, place.match.stakes, place.match.roll if self.subject == PLAY else None

    @property
    def names(self) -> tuple[str, str]:
        """The labels of the player below and the player above in a picture of `view`."""
        return ("you", "opponent, doubles") if self.subject == ANSWER else ("on roll", "opponent")

    @property
    def theme(self) -> str:
        """The name of the position's theme; empty if it has none."""
        from bgdata.game.themes import NO_THEME, Theme, theme_of

        number = theme_of(np.array(self.place.position.board, np.int8))
        return "" if number == NO_THEME else Theme(number).label

    @property
    def phase(self) -> str:
        """The phase of the game: contact, crashed or race."""
        return position_class(self.place.position).file_class.name.lower()

    @property
    def words(self) -> str:
        """The text of the question."""
        if self.subject == PLAY:
            return f"How do you play {self.place.match.roll}?"
        return "Do you double?" if self.subject == DOUBLE else "The opponent doubles. Do you take?"

    def shuffled_answers(self, seed: int) -> list[Answer]:
        """Return the answers in an order that does not tell which is best. The order of plays depends on the seed."""
        if self.subject != PLAY:
            return sorted(self.answers, key=lambda answer: answer.text, reverse=self.subject == ANSWER)
        return random.Random(f"{seed} {self.key}").sample(self.answers, len(self.answers))


@dataclass(frozen=True)
class Result:
    """The history of a question: how often it was asked and answered wrongly, its box, and the last session that asked
    it."""

    box: int
    asked: int
    wrong: int
    session: int


@dataclass
class Results:
    """The results of all questions, and the number of sessions so far."""

    sessions: int = 0
    by_key: dict[str, Result] = field(default_factory=dict)

    def add(self, key: str, *, is_right: bool) -> Result:
        """Record an answer of the present session, which moves the question called `key` to another box."""
        before = self.by_key.get(key) or Result(0, 0, 0, 0)
        box = min(before.box + 1, BOXES) if is_right else 1
        found = Result(box, before.asked + 1, before.wrong + (not is_right), self.sessions)
        self.by_key[key] = found
        return found

    def is_due(self, key: str) -> bool:
        """Return whether the question called `key` should be asked in the present session, or was never asked."""
        found = self.by_key.get(key)
        return found is None or self.sessions - found.session >= 2 ** (found.box - 1)


def read_results(path: Path) -> Results:
    """Read results from a file; empty if there is no file. Raises CorruptFileError if it is damaged, and StorageError
    if it cannot be read."""
    try:
        content = json.loads(path.read_text())
        found = {str(key): Result(**row) for key, row in content["questions"].items()}
        results = Results(int(content["sessions"]), found)
        numbers = [results.sessions, *(number for row in found.values() for number in asdict(row).values())]
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError("numbers below 0, or not whole")
        if any(not 1 <= row.box <= BOXES for row in found.values()):
            raise ValueError(f"a box that is not 1 to {BOXES}")
    except FileNotFoundError:
        return Results()
    except OSError as error:
        raise StorageError(f"expected results of a quiz in {path}, found: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CorruptFileError(
            f"expected results of a quiz in {path}, found others ({cite(str(error))}); "
            "to begin anew, delete it or name another file with --results"
        ) from error
    return results


def format_results(results: Results) -> str:
    """Return the results in the form in which a file stores them."""
    rows = {key: asdict(row) for key, row in sorted(results.by_key.items())}
    return json.dumps({"sessions": results.sessions, "questions": rows}, indent=1) + "\n"


def choose_questions(questions: Iterable[Question], results: Results, count: int) -> list[Question]:
    """Return at most `count` questions that are due, each once. Questions of low boxes come first, then new questions;
    within both, greater losses come first. Ties keep the order of `questions`."""
    by_key = {question.key: question for question in reversed(list(questions))}
    due = [question for question in reversed(by_key.values()) if results.is_due(question.key)]

    def place(question: Question) -> tuple[int, float]:
        found = results.by_key.get(question.key)
        return (found.box if found else BOXES + 1), -question.loss

    return sorted(due, key=place)[:count]


def filter_questions(
    questions: Iterable[Question], *, theme: str | None, phase: str | None, is_cube: bool | None, least_loss: float
) -> list[Question]:
    """Return the questions of a theme and phase, about plays or about the cube, in which at least `least_loss` can be
    lost. A condition that is None is not checked."""
    return [
        question
        for question in questions
        if question.loss >= least_loss
        and is_cube in (None, question.subject != PLAY)
        and theme in (None, question.theme)
        and phase in (None, question.phase)
    ]


def with_answers(question: Question, player: LookaheadPlayer, rules: CubeRules) -> Question:
    """Return the question with its possible answers, as the player evaluates them."""
    from bgdata.equity.cube import normalised_equity

    place = question.place
    stakes = place.match.stakes
    if question.subject == PLAY:
        roll = place.match.roll
        assert roll is not None
        ranked = player.rank_plays(place.position, roll, stakes, rules)
        kept = [row for rank, row in enumerate(ranked) if rank < MOST_PLAYS or str(row.play) == question.made]
        answers = tuple(
            Answer(str(row.play), _equity(row.cubeful_equity, row.evaluation.cubeless_equity), row.loss) for row in kept
        )
    else:
        decision = player.decide_cube(place.position, stakes, rules)
        assert decision.double_take is not None
        assert decision.double_pass is not None
        values = {
            "no double": decision.no_double,
            "take": decision.double_take,
            "pass": decision.double_pass,
        }
        if isinstance(stakes.score, MatchScore):
            values = {name: normalised_equity(value, stakes, rules) for name, value in values.items()}
        answers = cube_answers(question.subject, values)
        words = ("no double", "double, take", "double, pass")
        worths = ", ".join(f"{word} {value:+.4f}" for word, value in zip(words, values.values(), strict=True))
        question = replace(question, detail=f"to the player who may double: {worths}")
    return replace(question, answers=answers, judge=player.label)


def _equity(cubeful: float | None, cubeless: float) -> float:
    return cubeless if cubeful is None else cubeful


def cube_answers(subject: str, values: Mapping[str, float]) -> tuple[Answer, ...]:
    """Return the two possible cube actions, best first, from the values of `no double`, `take` and `pass` to the player
    who may double. `subject` says whether the decision is to double or to answer."""
    if subject == DOUBLE:
        worth = {"no double": values["no double"], "double": min(values["take"], values["pass"])}
    else:
        worth = {"take": -values["take"], "pass": -values["pass"]}
    best = max(worth.values())
    return tuple(
        Answer(text, value, best - value) for text, value in sorted(worth.items(), key=lambda entry: -entry[1])
    )


def answer_of(text: str, shown: Sequence[Answer]) -> Answer | None:
    """Return the answer among those `shown` that a user means by its number, from 1, or by its text; None if it is not
    among them."""
    text = " ".join(text.lower().split())
    if text.isdecimal():
        return shown[int(text) - 1] if 1 <= int(text) <= len(shown) else None
    named = {"d": "double", "n": "no double", "t": "take", "p": "pass"}
    wanted = named.get(text, text)
    return next((answer for answer in shown if answer.text.lower() == wanted), None)
