"""Finds the questions of a quiz: in a player's errors, rolled-out decisions, and the opening book."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from bgdata.game.dice import parse_roll
from bgdata.game.identifiers import format_xgid
from bgdata.game.match import Cube, MatchScore, Money, Stakes
from bgdata.game.match_state import MatchState
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.matches.quiz import PLAY, Answer, Question
from bgdata.store.names import sql_text

if TYPE_CHECKING:
    from bgdata.warehouse import Warehouse

Row: TypeAlias = Mapping[str, Any]
RowsOf: TypeAlias = Callable[[str], Sequence[Row]]  # a function that returns the rows of a query
DECISIONS, OPENINGS = SOURCES = ("decisions", "openings")
KINDS = {DECISIONS: "rollout_decisions", OPENINGS: "openings"}  # the kind of dataset of each source
MONEY, LAST_GAME = Stakes(Money(is_jacoby=False), Cube()), Stakes(MatchScore(1, 1), Cube())


def error_questions(rows_of: RowsOf, player: str, analysis: str) -> list[Question]:
    """Return questions about the errors of a player, the greatest loss first. Their answers are not evaluated yet."""
    rows = rows_of(
        f"""select * from my_errors
        where player = player_named({sql_text(player)}) and variant = {sql_text(analysis)}
        order by loss desc, match, game_number, turn_number, subject"""
    )
    return [
        Question(row["xgid"], row["subject"], row["loss"], _where(row), row["made"])
        for row in rows
        if row["subject"] == PLAY or "beaver" not in f"{row['made']} {row['best']}"
    ]


def met_of(warehouse: Warehouse, analysis: str) -> str:
    """Return the match equity table by which an analysis judged matches. `analysis` is a variant."""
    table = warehouse.open_reference(f"match_analysis/{analysis}")
    return table.manifest.inputs["met"].split("@")[0].split("/")[1]


def _where(row: Row) -> str:
    return (
        f"match {row['match'] + 1}, game {row['game_number']}, turn {row['turn_number']}, "
        f"{row['player']} against {row['other_player']}"
    )


def book_questions(rows_of: RowsOf, source: str) -> list[Question]:
    """Return questions about the decisions of the table `source`, with answers valued by rollouts; empty if the table
    has no decisions."""
    rows = rows_of(_OPENINGS if source == OPENINGS else _DECISIONS)
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
