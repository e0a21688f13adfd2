"""What a game is played for: the stakes of an identifier, changed by what else is said of score and cube."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bgdata.errors import UsageError, shown
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.match_state import GameState, MatchState


def chosen_stakes(match: MatchState | None, options: Mapping[str, Any]) -> Stakes:
    """The stakes of the identifier, changed by the options that are given. Raises UsageError or InvalidScoreError."""
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
    return Stakes(score, cube_of(given.cube, options["cube_value"], options["owner"]))


def cube_of(given: Cube, value: int | None, owner: str | None) -> Cube:
    """The cube of an identifier with its value, owner or both replaced. Raises InvalidScoreError."""
    if value is None and owner is None:
        return given
    if value is None:
        value = given.value if owner == given.owner else 1 if owner == CubeOwner.CENTERED else max(2, given.value)
    if owner is None:  # whoever has it, else the player on roll, as in `bgdata probe`
        owner = CubeOwner.CENTERED if value == 1 else given.owner if given.value > 1 else CubeOwner.ON_ROLL
    return Cube(value, CubeOwner(owner))


AWAY = re.compile(r"(\d{1,3})-(\d{1,3})", re.ASCII)


def parse_away(text: str, *, is_crawford: bool) -> MatchScore:
    """The score of `3-5`: points that the player on roll and the opponent need. Raises UsageError or
    InvalidScoreError."""
    found = AWAY.fullmatch(text)
    if not found:
        raise UsageError(
            f"expected points that the player on roll and the opponent need, such as 3-5, got {shown(text)}"
        )
    return MatchScore(int(found[1]), int(found[2]), is_crawford)


def is_cubeful(options: Mapping[str, Any]) -> bool:
    """Whether an option of a score, of the cube or of its model is given."""
    names = ("away", "cube_value", "owner", "met", "model", "index", "volatility")
    is_given = any(options[name] not in (None, "") for name in names)
    return is_given or options["crawford"] or options["as_money"] or options["jacoby"] is not None


def left_out(match: MatchState | None, *used: str) -> str:
    """What an identifier says of the game and an answer has no use for, as one line; empty where that is nothing.
    `used` are parts: score, cube, jacoby, beavers, roll, offer, resignation. A centered cube of 1 in money play is what
    a position without a game has, and is not named."""
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
