"""Finds the questions of a quiz: in a player's errors, rolled-out decisions, and the opening book."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from bgdata.errors import MissingTableError, UsageError, cite
from bgdata.game.dice import parse_roll
from bgdata.game.identifiers import format_xgid
from bgdata.game.match import Cube, MatchScore, Money, Stakes
from bgdata.game.match_state import MatchState
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.matches.quiz import PLAY, Answer, Question, with_answers
from bgdata.rows import Row
from bgdata.store.names import sql_text

if TYPE_CHECKING:
    from bgdata.evaluation.lookahead_player import LookaheadPlayer
    from bgdata.warehouse import Warehouse

DECISIONS, OPENINGS = SOURCES = ("decisions", "openings")
MONEY, LAST_GAME = Stakes(Money(is_jacoby=False), Cube()), Stakes(MatchScore(1, 1), Cube())


def error_questions(warehouse: Warehouse, player: str, analysis: str) -> list[Question]:
    """Questions from the errors of a player, whose answers are not evaluated yet. Raises MissingTableError if there is
    no such analysis."""
    rows = warehouse.rows(
        f"""select * from my_errors
        where player = player_named({sql_text(player)}) and variant = {sql_text(analysis)}
        order by loss desc, match, game_number, turn_number, subject"""
    )
    if not rows:
        raise MissingTableError(f"no errors of {cite(player)} in match_analysis/{analysis}; try: bgdata matches")
    return [
        Question(row["xgid"], row["subject"], row["loss"], _where(row), row["made"])
        for row in rows
        if row["subject"] == PLAY or "beaver" not in f"{row['made']} {row['best']}"
    ]


def met_of(warehouse: Warehouse, analysis: str) -> str:
    """The match equity table of an analysis, by its variant."""
    table = warehouse.open_reference(f"match_analysis/{analysis}")
    return table.manifest.inputs["met"].split("@")[0].split("/")[1]


def _where(row: Row) -> str:
    return (
        f"match {row['match'] + 1}, game {row['game_number']}, turn {row['turn_number']}, "
        f"{row['player']} against {row['other_player']}"
    )


def book_questions(warehouse: Warehouse, source: str) -> list[Question]:
    """Questions from the decisions of a source, with the values of their rollouts. Raises MissingTableError if there is
    none."""
    query = _OPENINGS if source == OPENINGS else _DECISIONS
    rows = warehouse.rows(query)
    if not rows:
        kind = "openings" if source == OPENINGS else "rollout_decisions"
        raise MissingTableError(f"no {kind} in {warehouse.root}; try: bgdata build {kind}")
    read = _opening if source == OPENINGS else _decision
    grouped = groupby(rows, key=lambda row: (row["variant"], row["decision"]))
    found = [read(list(group)) for _, group in grouped]
    return [question for question in found if len(question.answers) > 1]


_DECISIONS = """
    select variant, decision, d.position_id, die1, die2, p.position_id as next_position_id, equity, loss
    from benchmark_decisions d join benchmark_plays p using (dataset, variant, decision)
    where dataset = 'rollout_decisions' order by variant, decision, rank"""
_OPENINGS = """
    select variant, decision, objective, first_roll, first_play, coalesce(reply_roll, first_roll) as roll, position_id,
        play, equity, loss
    from openings order by variant, decision, rank"""


def _decision(rows: Sequence[Row]) -> Question:
    first = rows[0]
    position, roll = Position(first["position_id"]), parse_roll(f"{first['die1']}{first['die2']}")
    texts = {play.next_position.id: str(play) for play in legal_plays(position, roll)}
    answers = [Answer(texts[row["next_position_id"]], row["equity"], row["loss"]) for row in rows]
    xgid = format_xgid(position, MatchState.from_stakes(MONEY, roll=roll))
    return _question(xgid, answers, f"rollout_decisions/{first['variant']}, decision {first['decision']}")


def _opening(rows: Sequence[Row]) -> Question:
    first = rows[0]
    roll = parse_roll(first["roll"])
    stakes = MONEY if first["objective"] == "money" else LAST_GAME
    xgid = format_xgid(Position(first["position_id"]), MatchState.from_stakes(stakes, roll=roll))
    reply = f"after {first['first_roll']}: {first['first_play']}" if first["first_play"] else "first roll"
    answers = [Answer(row["play"], row["equity"], row["loss"]) for row in rows]
    return _question(xgid, answers, f"opening book, {reply}")


def _question(xgid: str, answers: Sequence[Answer], origin: str) -> Question:
    second = answers[1].loss if len(answers) > 1 else 0.0
    return Question(xgid, PLAY, second, origin, "", tuple(answers), "rollout")


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
