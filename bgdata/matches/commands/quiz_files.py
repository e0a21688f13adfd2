"""A quiz as a page whose answers open on request, and as a deck for Anki."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from bgdata.cli.output import grid, page_head
from bgdata.errors import StorageError, needing
from bgdata.game.board_svg import format_board_svg
from bgdata.game.plays import judge_play
from bgdata.matches.quiz import PLAY, Question
from bgdata.rows import EQUITY, LOSS

BOARD_WIDTH = 440  # pixels
MODEL = 1_606_203_801  # the number by which Anki recognises cards of this kind
CARD = "<div>{{Question}}</div>"
BACK = '{{FrontSide}}<hr id="answer">{{Answer}}'
STYLE = """.card { font-family: sans-serif; text-align: center; background: white; color: black; }
table { margin: 0 auto; border-collapse: collapse; }
th, td { padding: 2px 10px; text-align: left; font-weight: normal; }
svg { max-width: 100%; height: auto; }"""


def format_quiz(questions: Sequence[Question], title: str, seed: int) -> str:
    """Return the questions as an HTML page; each answer opens by a click."""
    parts = [*page_head(f"Quiz: {title}")]
    for number, question in enumerate(questions, 1):
        parts.append(f"<h2>Question {number}</h2>")
        parts += ['<div class="charts"><div>', question_board(question, f"question-{number}"), "</div><div>"]
        parts += [*question_parts(question, seed), "<details><summary>Answer</summary>"]
        parts += [*answer_parts(question, seed), "</details></div></div>"]
    return "\n".join([*parts, "</body></html>"]) + "\n"


def question_board(question: Question, name: str) -> str:
    """Return a picture of the board as the player who decides sees it. `name` is the prefix of its identifiers."""
    position, stakes, roll = question.view
    return format_board_svg(position, roll=roll, stakes=stakes, width=BOARD_WIDTH, prefix=f"{name}-")


def question_parts(question: Question, seed: int) -> Iterator[str]:
    """Yield the HTML elements of a question and its possible answers."""
    yield f"<p>{escape(question.words)}</p>"
    yield from grid([("", ""), *((str(n), each.text) for n, each in enumerate(question.shuffled_answers(seed), 1))])


def answer_parts(question: Question, seed: int) -> Iterator[str]:
    """Yield the HTML elements of a question's best answer, the values of all answers, and the origin of the
    question."""
    best, place = question.answers[0], question.place
    yield f"<p>Best: {escape(best.text)}</p>"
    numbers = {answer: number for number, answer in enumerate(question.shuffled_answers(seed), 1)}
    rows = [
        (str(numbers[each]), each.text, "" if each.equity is None else EQUITY.text(each.equity), LOSS.text(each.loss))
        for each in question.answers
    ]
    yield from grid([("", "", "equity", "loss"), *rows])
    if question.detail:
        yield f"<p>{escape(question.detail)}</p>"
    if question.subject == PLAY and place.match.roll:
        play = judge_play(best.text, place.position, place.match.roll).play
        if play:
            yield format_board_svg(
                place.position, roll=place.match.roll, play=play, stakes=place.match.stakes, width=BOARD_WIDTH,
                prefix=f"answer-{question.key}-",
            )  # fmt: skip
    made = f"; {question.made} was chosen" if question.made else ""
    yield f"<p>{escape(question.origin + made)}; values by {escape(question.judge)}</p>"
    yield f"<p><code>{escape(question.xgid)}</code></p>"


def write_deck(questions: Sequence[Question], title: str, seed: int, path: Path) -> None:
    """Write the questions as a deck for Anki. A question is the same card in every deck, so importing a deck again
    keeps the card's history. Raises MissingExtraError if genanki is not installed, and StorageError if the deck cannot
    be written."""
    with needing("matches", "to write a deck for Anki"):
        import genanki
    model = genanki.Model(
        MODEL,
        "Backgammon decision",
        fields=[{"name": "Question"}, {"name": "Answer"}],
        templates=[{"name": "Decision", "qfmt": CARD, "afmt": BACK}],
        css=STYLE,
    )
    number = int(hashlib.sha256(title.encode()).hexdigest()[:7], 16) + (1 << 30)
    deck = genanki.Deck(number, f"Backgammon: {title}")
    for question in questions:
        asked = "\n".join([question_board(question, question.key), *question_parts(question, seed)])
        answer = "\n".join(answer_parts(question, seed))
        deck.add_note(genanki.Note(model, [asked, answer], guid=question.key, tags=[question.theme, question.phase]))
    try:
        genanki.Package(deck).write_to_file(str(path), timestamp=0)
    except OSError as error:
        raise StorageError(f"expected to write {path}, found: {error.strerror}") from error
