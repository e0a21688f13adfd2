"""Positions, plays and cube decisions as rows of data and in words; stakes from options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bgdata.errors import UsageError, cite
from bgdata.game.classes import position_class
from bgdata.game.dice import Roll
from bgdata.game.identifiers import possible_identifiers
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.match_state import GameState, MatchState, Offer
from bgdata.game.plays import Play
from bgdata.game.position import Position
from bgdata.rows import EQUITY, LOSS, PERCENT, Column, Row

if TYPE_CHECKING:
    from bgdata.equity.cube import CubeDecision
    from bgdata.evaluation.lookahead_player import Evaluation, RankedPlay


def stakes_from_options(match: MatchState | None, options: Mapping[str, Any]) -> Stakes:
    """Return the stakes in the identifier of a position, overridden by command options. `match` is the match that the
    identifier contains, None if it contains no match. Raises UsageError if options do not fit each other, and
    InvalidScoreError for an impossible score."""
    given = match.stakes if match else Stakes(Money(is_jacoby=False))
    score: MatchScore | Money = given.score
    if options["away"] is not None:
        score = parse_away(options["away"], is_crawford=options["crawford"])
    elif options["crawford"]:
        if isinstance(score, Money):
            raise UsageError("expected --away with --crawford, got none")
        score = MatchScore(score.away, score.opponent_away, is_crawford=True)
    if options.get("jacoby") is not None:
        if isinstance(score, MatchScore) and options["jacoby"]:
            raise UsageError(f"expected the jacoby rule in money play only, got it at {score}")
        score = Money(options["jacoby"]) if isinstance(score, Money) else score
    cube, value, owner = given.cube, options["cube_value"], options["owner"]
    if value is None and owner is None:
        return Stakes(score, cube)
    if value is None:
        value = cube.value if owner == cube.owner else 1 if owner == CubeOwner.CENTERED else max(2, cube.value)
    if owner is None:  # the current owner, or else the player on roll
        owner = CubeOwner.CENTERED if value == 1 else cube.owner if cube.value > 1 else CubeOwner.ON_ROLL
    return Stakes(score, Cube(value, CubeOwner(owner)))


def parse_away(text: str, *, is_crawford: bool) -> MatchScore:
    """Parse a score such as `3-5`: the points that the player on roll and the opponent need. Raises UsageError for
    another form, and InvalidScoreError for an impossible score."""
    found = re.fullmatch(r"(\d{1,3})-(\d{1,3})", text, re.ASCII)
    if not found:
        raise UsageError(
            f"expected points that the player on roll and the opponent need, such as 3-5, got {cite(text)}"
        )
    return MatchScore(int(found[1]), int(found[2]), is_crawford)


def is_cubeful(options: Mapping[str, Any]) -> bool:
    """Whether options set the score, the cube or its model."""
    names = ("away", "cube_value", "owner", "met", "model", "index", "volatility")
    is_given = any(options[name] not in (None, "") for name in names)
    return is_given or options["crawford"] or options["as_money"] or options["jacoby"] is not None


def unused_parts(match: MatchState | None, *used: str) -> str:
    """Return a line that names the parts of a position's identifier that an answer does not use, empty if there are
    none. `used` are the parts that the answer uses, among score, cube, jacoby, beavers, roll, offer, resignation. A
    centered cube of 1 in money play is not named, because identifiers of positions that are not from a game contain it
    too."""
    if match is None:
        return ""
    cube = str(match.cube) if match.length or match.cube_value > 1 else ""
    score = match.stakes.score if match.length and match.game_state == GameState.PLAYING else ""
    parts = {
        "score": str(score) if score else f"a match to {match.length}" if match.length else "",
        "cube": cube,
        "jacoby": "the Jacoby rule" if match.is_jacoby else "",
        "beavers": "beavers" if match.has_beavers else "",
        "roll": f"the roll {match.roll}" if match.roll else "",
        "offer": f"a {match.offer} that is offered" if match.is_double_offered else "",
        "resignation": "a resignation" if match.resigned else "",
    }
    unused = [words for part, words in parts.items() if words and part not in used]
    return f"left out of what the position says: {', '.join(unused)}" if unused else ""


PLAY_CHANCES = (  # columns of a table of plays, in percent
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
    """Name the source of an evaluation and its ply, such as `contact network, 2 plies`. The ply is left out if looking
    ahead could not improve the evaluation."""
    who, ply = SOURCES[evaluation.source.name], evaluation.ply
    if evaluation.source.is_final:
        return who
    return f"{who}, " + ("static" if ply == 0 else "1 ply" if ply == 1 else f"{ply} plies")


def rolled_out_columns(equity: str, width: int) -> tuple[Column, ...]:
    """The columns of a table of rolled-out plays. `equity` is the name of the column of equities, and `width` the width
    of the column of plays."""
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
    """Return rows of plays, best first, for people: without the loss of the best play, which is 0."""
    best = {"loss": None, "loss_standard_error": None}
    return [
        {**row, "rank": rank, "lose": 1 - row["win"], **({} if rank > 1 else best)}
        for rank, row in enumerate(rows, start=1)
    ]


def position_facts(position: Position, match: MatchState | None) -> dict[str, str]:
    """Return the class of a position, and its identifiers by format. Formats that cannot represent the match are left
    out."""
    return {"class": position_class(position).name.lower(), **possible_identifiers(position, match)}


def position_rows(
    position: Position, match: MatchState | None, roll: Roll | None = None, plays: Sequence[Play] = ()
) -> list[Row]:
    """Return rows about a position: a single row, or a row for each play of a roll."""
    facts: Row = position_facts(position, match) | {"pip_count": position.pip_count}
    rows = ({"roll": str(roll), "play": str(each), "next_position_id": each.next_position.id} for each in plays)
    return [{**facts, **row} for row in rows] or [facts]


def evaluation_row(position: Position, evaluation: Evaluation) -> Row:
    """The row of a position with its chances, equity and source."""
    return {"position_id": position.id} | vars(evaluation)


def ranked_rows(position: Position, roll: Roll, ranked: Sequence[RankedPlay]) -> Iterator[Row]:
    """The rows of the plays of a roll, best first."""
    first = {"position_id": position.id, "roll": str(roll)}
    return (
        first
        | {"rank": rank, "play": str(row.play), "loss": row.loss}
        | {"cubeful_equity": row.cubeful_equity, "mwc": row.mwc}
        | vars(row.evaluation)
        for rank, row in enumerate(ranked, start=1)
    )


WORDS = {
    "NO_DOUBLE": "no double",
    "DOUBLE_TAKE": "double, take",
    "DOUBLE_PASS": "double, pass",
    "TOO_GOOD": "too good to double",
    "DOUBLE_BEAVER": "double, beaver",
}


def check_offer(match: MatchState | None, text: str) -> None:
    """Raise UsageError if the match has an unanswered beaver or raccoon, because decisions are only about doubles.
    `text` is the position's identifier, for the error message."""
    if match is not None and match.offer not in (Offer.NONE, Offer.DOUBLE):
        raise UsageError(f"expected a position before a double or its answer, got a {match.offer} in {text}")


def best_words(decision: CubeDecision, stakes: Stakes) -> str:
    """Return the best cube action in words, such as `double, take`, and all actions that are equally good."""
    if not decision.may_double:
        return f"no cube decision: {decision.why_not}"
    words = " or ".join(WORDS[action.name] for action in decision.best)
    return words.replace("double", "redouble") if stakes.cube.owner == CubeOwner.ON_ROLL else words


def cube_row(position: Position, decision: CubeDecision, stakes: Stakes, evaluation: Evaluation) -> Row:
    """The row of a position with its cube decision and its chances."""
    from bgdata.equity.curves import NEVER

    score = stakes.score
    played_for = dict.fromkeys(("away", "opponent_away", "is_crawford", "is_jacoby")) | (
        {"is_jacoby": score.is_jacoby}
        if isinstance(score, Money)
        else {"away": score.away, "opponent_away": score.opponent_away, "is_crawford": score.is_crawford}
    )
    names = ("no_double", "double_take", "double_beaver", "double_pass", "unit", "method", "accuracy", "why_not")
    own = ("source", "ply", "accuracy")  # columns about the chances
    return {
        "position_id": position.id,
        **played_for,
        "cube_value": stakes.cube.value,
        "cube_owner": stakes.cube.owner,
        "best": list(decision.best),
        "equity": decision.equity,
        "double_gain": decision.double_gain,
        "take_gain": decision.take_gain,
        **{name: getattr(decision, name) for name in names},
        **{name: None if chance >= NEVER else chance for name, chance in decision.points._asdict().items()},
        **{f"chances_{name}" if name in own else name: value for name, value in vars(evaluation).items()},
    }
