"""Answers the questions of a quiz, and checks what a user asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bgdata.errors import UsageError, cite
from bgdata.game.match import MatchScore
from bgdata.matches.questions import SOURCES
from bgdata.matches.quiz import Question, with_answers

if TYPE_CHECKING:
    from bgdata.evaluation.lookahead_player import LookaheadPlayer
    from bgdata.warehouse import Warehouse


def evaluate_questions(
    questions: Sequence[Question], warehouse: Warehouse, player: LookaheadPlayer, met: str
) -> Iterator[Question]:
    """Yield the questions with answers; a question that has answers is not changed."""
    from bgdata.cli.defaults import find_met_or_file
    from bgdata.equity.cube import CubeRules

    for question in questions:
        if question.answers:
            yield question
            continue
        is_match = isinstance(question.place.match.stakes.score, MatchScore)
        yield with_answers(question, player, CubeRules(met=find_met_or_file(warehouse, met) if is_match else None))


def check_source(player: str | None, source: str | None) -> None:
    """Raise UsageError unless the questions have one source."""
    if (player is None) == (source is None):
        both = "neither" if player is None else "both"
        raise UsageError(f"expected a PLAYER, or --from with {' or '.join(SOURCES)}, got {both}")


def check_theme(theme: str | None) -> None:
    """Raise UsageError for a name that is no theme."""
    from bgdata.game.themes import Theme

    labels = [each.label for each in Theme]
    if theme not in (None, *labels):
        raise UsageError(f"expected {', '.join(labels[:-1])} or {labels[-1]} as theme, got {cite(theme)}")
