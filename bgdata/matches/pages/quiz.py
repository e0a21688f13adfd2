"""The page of a quiz: a question with its board, and after an answer the values of all answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request

from bgdata.equity.cube import CubeRules
from bgdata.equity.pages import met_of as find_met
from bgdata.errors import MissingTableError, UsageError, cite
from bgdata.game.board_svg import format_board_svg
from bgdata.game.match import MatchScore
from bgdata.game.plays import parse_play
from bgdata.game.themes import Theme
from bgdata.matches.questions import KINDS, SOURCES, book_questions, error_questions, met_of
from bgdata.matches.quiz import PHASES, RIGHT, Answer, Question, answer_of, filter_questions, with_answers
from bgdata.rows import whole_rows
from bgdata.web.answer import Page, address, position_path
from bgdata.web.position_request import integer_parameter
from bgdata.web.site import Row, Site

ABOUT = ("plays", "cube")
NAMES = ("from", "player", "analysis", "theme", "phase", "about", "loss")  # parameters that choose the questions
MOST = 99_999  # limit of the number of questions
COUNTED = ("answered", "right")  # parameters that count the answers so far
PLY = 1  # ply of the player that evaluates the answers of errors
PLAYERS = """
select player, variant as analysis, count(*) as questions from my_errors group by all order by questions desc, player
"""
COUNTS = {
    "openings": "select count(distinct (variant, decision)) as n from openings",
    "decisions": "select count(distinct (variant, decision)) as n from benchmark_decisions "
    "where dataset = 'rollout_decisions'",
}


def quiz(site: Site, request: Request) -> Page:
    """The page of a question: an error of a player, a rolled-out decision, or a decision of the opening book. After an
    answer it shows the values of all plays or cube actions, and after the last question how many were right."""
    given = dict(request.query_params)
    sources = site.keep("quiz sources", lambda: sources_of(site))
    if sources and not (given.get("from") or given.get("player", "").strip()):
        given |= {"from": sources[0]["from"] or "", "player": sources[0]["player"] or ""}
    chosen = chosen_questions(site, given, sources)
    number = integer_parameter(given, "number", 1, least=1, most=MOST)
    answered, right = count_answers(given)
    shown: dict[str, Any] = {
        "sources": sources,
        "given": {name: given.get(name, "") for name in NAMES},
        "themes": [each.label for each in Theme],
        "phases": PHASES,
        "abouts": ABOUT,
        "n_questions": len(chosen),
        "question": None,
        "is_over": bool(chosen) and number == len(chosen) + 1,
        "answered": answered,
        "right": right,
    }
    here: dict[str, object] = {name: given.get(name, "") for name in NAMES}
    if not chosen:
        return Page("quiz.html", shown, quiz_row(sources, 0, None, None, None, []))
    if shown["is_over"]:
        ends: dict[str, Any] = {
            "previous": address("/quiz", here | {"number": number - 1}),
            "again": address("/quiz", here),
        }
        return Page("quiz.html", shown | ends, quiz_row(sources, len(chosen), None, None, None, []))
    if number > len(chosen):
        raise UsageError(f"expected a question from 1 to {len(chosen):,} as number, got {number:,}")
    question = answer_question(site, chosen[number - 1], given.get("analysis", "") or analysis_of(given, sources))
    choices = question.shuffled_answers(0)
    answer = chosen_answer(given.get("answer", "").strip(), choices)
    is_right = answer is not None and answer.loss < RIGHT
    before = {"answered": answered, "right": right}
    after = {"answered": answered + 1, "right": right + is_right} if answer else before
    more = {
        "question": question,
        "number": number,
        "answer": answer,
        "is_right": is_right,
        "choices": [
            (each, address("/quiz", here | {"number": number, **before, "answer": each.text})) for each in choices
        ],
        "boards": boards_of(question, answer),
        "position": position_path(question.xgid),
        "previous": address("/quiz", here | {"number": number - 1, **before}) if number > 1 else "",
        "next": address("/quiz", here | {"number": number + 1, **after}),
    }
    return Page("quiz.html", shown | after | more, quiz_row(sources, len(chosen), number, question, answer, choices))


def count_answers(given: Mapping[str, str]) -> tuple[int, int]:
    """Return the number of questions answered so far in this quiz, and how many of the answers were right. Raises
    UsageError if these are not numbers."""
    answered, right = (integer_parameter(given, name, 0, most=MOST) for name in COUNTED)
    return answered, min(right, answered)


def sources_of(site: Site) -> list[Row]:
    """Return what a quiz can ask about in this warehouse, as rows with the number of questions: tables, then players
    who made errors."""
    tables = [(name, site.rows(COUNTS[name])[0]["n"]) for name in reversed(SOURCES)]
    found = [{"from": name, "player": None, "analysis": None, "questions": count} for name, count in tables if count]
    return found + [{"from": None, **row} for row in site.rows(PLAYERS)]


def analysis_of(given: Mapping[str, str], sources: Sequence[Row]) -> str:
    """Return the analysis that contains the most errors of the player in the address; empty if the address names no
    player."""
    player = given.get("player", "").strip()
    return next((str(row["analysis"]) for row in sources if player and row["player"] == player), "")


def chosen_questions(site: Site, given: Mapping[str, str], sources: Sequence[Row]) -> list[Question]:
    """Return the questions from the source that the address names, the greatest loss first; empty if the address names
    no source. Raises UsageError for an unknown word, and MissingTableError if the source has no questions."""
    words = {"from": SOURCES, "theme": [each.label for each in Theme], "phase": PHASES, "about": ABOUT}
    for name, known in words.items():
        if given.get(name) and given[name] not in known:
            raise UsageError(f"expected {', '.join(known[:-1])} or {known[-1]} as {name}, got {cite(given[name])}")
    least = least_loss(given.get("loss", "").strip())
    source, player = given.get("from", ""), given.get("player", "").strip()
    if source and player:
        raise UsageError("expected a player, or from with decisions or openings, got both")
    if not (source or player):
        return []
    analysis = given.get("analysis", "") or analysis_of(given, sources)

    def read() -> list[Question]:
        found = error_questions(site.rows, player, analysis) if player else book_questions(site.rows, source)
        return sorted(found, key=lambda question: -question.loss)

    found = site.keep(("quiz", source, player, analysis), read)
    if not found:
        what = f"errors of {cite(player)}" if player else KINDS[source]
        raise MissingTableError(f"no {what} in this warehouse; see the sources at /quiz")
    about = given.get("about")
    key = ("quiz", source, player, analysis, given.get("theme"), given.get("phase"), about, least)
    is_cube = about == "cube" if about else None
    theme, phase = given.get("theme") or None, given.get("phase") or None
    return site.keep(key, lambda: filter_questions(found, theme=theme, phase=phase, is_cube=is_cube, least_loss=least))


def least_loss(text: str) -> float:
    """Return the smallest loss that questions must have, in points, from a query parameter. Raises UsageError unless it
    is a number from 0 to 9."""
    try:
        found = float(text or 0)
        if not 0 <= found <= 9:
            raise ValueError
    except ValueError as error:
        raise UsageError(f"expected points from 0 to 9 as loss, got {cite(text)}") from error
    return found


def answer_question(site: Site, question: Question, analysis: str) -> Question:
    """Return the question with its answers. The site's player evaluates them if the source has none."""
    if question.answers:
        return question

    def evaluate() -> Question:
        is_match = isinstance(question.place.match.stakes.score, MatchScore)
        met = find_met(site, met_of(site.warehouse, analysis)) if is_match else None
        with site.player(PLY) as player:
            return with_answers(question, player, CubeRules(met=met))

    return site.keep(("quiz answers", question.key, analysis), evaluate)


def chosen_answer(text: str, choices: Sequence[Answer]) -> Answer | None:
    """Return the answer called `text`; None if `text` is empty. Raises UsageError if it is not one of the choices."""
    found = answer_of(text, choices) if text else None
    if text and found is None:
        raise UsageError(f"expected {', '.join(each.text for each in choices)} as answer, got {cite(text)}")
    return found


def boards_of(question: Question, answer: Answer | None) -> list[tuple[str, str]]:
    """Return titles and pictures of boards, as the player who decides sees them. After an answer about a play, they
    show the best play and, if another play was chosen, that play."""
    position, stakes, roll = question.view
    if answer is None or roll is None:
        return [("", format_board_svg(position, roll=roll, stakes=stakes, names=question.names))]
    best = question.answers[0]
    titles = {best.text: "Best"} if answer.text == best.text else {best.text: "Best", answer.text: "Yours"}
    return [
        (f"{title}: {text}",
         format_board_svg(position, roll=roll, play=parse_play(text, position, roll), stakes=stakes))
        for text, title in titles.items()
    ]  # fmt: skip


def quiz_row(
    sources: Sequence[Row], count: int, number: int | None, question: Question | None, answer: Answer | None,
    choices: Sequence[Answer],
) -> Row:  # fmt: skip
    """Return the JSON form of the page. Without an answer, the fields that would give it away are null."""
    told = question if answer else None
    return {
        "questions": count,
        "number": number,
        "key": question and question.key,
        "subject": question and question.subject,
        "words": question and question.words,
        "xgid": question and question.xgid,
        "theme": question and question.theme,
        "origin": question and question.origin,
        "choices": [each.text for each in choices],
        "answer": answer and answer.text,
        "is_right": answer and answer.loss < RIGHT,
        "made": told and told.made,
        "judge": told and told.judge,
        "detail": told and told.detail,
        "answers": [{"text": each.text, "equity": each.equity, "loss": each.loss} for each in told.answers]
        if told
        else [],
        "sources": whole_rows(sources),
    }
