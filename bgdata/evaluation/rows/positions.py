"""A position, its evaluation and its plays, as rows of data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bgdata.game.classes import position_class
from bgdata.game.dice import Roll
from bgdata.game.identifiers import possible_identifiers
from bgdata.game.match_state import MatchState
from bgdata.game.plays import Play
from bgdata.game.position import Position
from bgdata.rows import EQUITY, LOSS, PERCENT, Column, Row

if TYPE_CHECKING:
    from bgdata.evaluation.lookahead_player import Evaluation, RankedPlay


PLAY_CHANCES = (  # of a table of plays, in percent
    Column("win", PERCENT, width=5, gap=3),
    Column("win_gammon", PERCENT, "g", width=5, gap=1),
    Column("win_backgammon", PERCENT, "bg", width=5, gap=1),
    Column("", heading="-", missing="-"),
    Column("lose", PERCENT, width=5, gap=1),
    Column("lose_gammon", PERCENT, "g", width=5, gap=1),
    Column("lose_backgammon", PERCENT, "bg", width=5, gap=1),
)
SOURCES = {
    "OVER": "the rules",
    "EXACT": "two-sided table",
    "COMBINED": "one-sided tables combined",
    "RACE_NETWORK": "race network",
    "CRASHED_NETWORK": "crashed network",
    "CONTACT_NETWORK": "contact network",
    "PROGRAM": "another program",
}


def source_words(evaluation: Evaluation) -> str:
    """`contact network, 2 plies`: the source of an evaluation, and its ply where the source is not final."""
    who, ply = SOURCES[evaluation.source.name], evaluation.ply
    if evaluation.source.is_final:
        return who
    return f"{who}, " + ("static" if ply == 0 else "1 ply" if ply == 1 else f"{ply} plies")


def rolled_out_columns(equity: str, width: int) -> tuple[Column, ...]:
    """The columns of a table of plays that were rolled out; `equity` is the name of that column, `width` that of a
    play."""
    return (
        Column("rank", heading="", width=3, is_right=True),
        Column("play", width=width),
        Column(equity, EQUITY, "equity", width=7, gap=1),
        Column("standard_error", LOSS, "+/-", width=6),
        Column("loss", LOSS, width=7),
        Column("loss_standard_error", LOSS, "+/-", width=6),
        *PLAY_CHANCES,
    )


def play_rows(rows: Sequence[Row]) -> list[Row]:
    """Rows of plays, the best first, as a table for people has them: the best play has no loss."""
    best = {"loss": None, "loss_standard_error": None}
    return [
        {**row, "rank": rank, "lose": 1 - row["win"], **({} if rank > 1 else best)}
        for rank, row in enumerate(rows, start=1)
    ]


def position_facts(position: Position, match: MatchState | None) -> dict[str, str]:
    """Its class, and by name every identifier of a position that can hold the match."""
    return {"class": position_class(position).name.lower(), **possible_identifiers(position, match)}


def position_rows(
    position: Position, match: MatchState | None, roll: Roll | None = None, plays: Sequence[Play] = ()
) -> list[Row]:
    """A position as one row, or one row for each of some plays of a roll."""
    facts: Row = position_facts(position, match) | {"pip_count": position.pip_count}
    rows = ({"roll": str(roll), "play": str(each), "next_position_id": each.next_position.id} for each in plays)
    return [{**facts, **row} for row in rows] or [facts]


def evaluation_row(position: Position, evaluation: Evaluation) -> Row:
    """The chances and the equity of a position, and their source."""
    return {"position_id": position.id} | vars(evaluation)


def ranked_rows(position: Position, roll: Roll, ranked: Sequence[RankedPlay]) -> Iterator[Row]:
    """One row for each play of a roll, best first."""
    first = {"position_id": position.id, "roll": str(roll)}
    return (
        first
        | {"rank": rank, "play": str(row.play), "loss": row.loss}
        | {"cubeful_equity": row.cubeful_equity, "mwc": row.mwc}
        | vars(row.evaluation)
        for rank, row in enumerate(ranked, start=1)
    )
