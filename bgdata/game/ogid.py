"""OpenGammon IDs (OGID), as HedgeHog, OpenGammon and GammonView write them.

`11ccccchhhjjjjj:66666888dddddoo:N0N:31:W:R:0:0:7:1` begins with the checkers of white and black, a letter for each
checker: 0 is white's bar, 1 to o are the points as black counts them, p is black's bar. The fields after them are the
cube (owner, exponent, action), the dice, the player who acted last, the state, the scores of white and black, and the
match length. The player who did not act last is on roll; before an opening roll it is white. Source: the specification
of HedgeHog, docs/OGID.md.
"""

from __future__ import annotations

import re

from bgdata.errors import InvalidPositionError, InvalidScoreError, cite
from bgdata.game.dice import parse_roll
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.match_state import MatchState
from bgdata.game.position import Position

POINTS = "0123456789abcdefghijklmnop"
SHAPE = re.compile(
    r"(?:OGID[=:])?([0-9a-p]{0,15}):([0-9a-p]{0,15}):([WBN])(\d)[NOTP](?::([1-6]{2})?(?::([WB])(?::(\w{1,3}))?"
    r"(?::(\d{1,5}):(\d{1,5}):(\d{1,5})([A-Z]*)\d*(?::\d+)*)?)?)?",
    re.IGNORECASE,
)
WHITE, BLACK = "W", "B"
OWNERS = {WHITE: CubeOwner.OPPONENT, BLACK: CubeOwner.ON_ROLL, "N": CubeOwner.CENTERED}  # to black


def parse_ogid(text: str) -> tuple[Position, MatchState]:
    """Parse an OGID. Returns the position for the player on roll, and the match. Black is on roll if the text does not
    say who acted. Raises InvalidPositionError, which names the rule, and InvalidScoreError for impossible scores."""
    found = SHAPE.fullmatch(text.strip())
    if found is None:
        raise InvalidPositionError(f"expected checkers of two sides, the cube and more in an ogid, got {cite(text)}")
    white, black, owner, exponent, dice, actor, state, *scores, rule = found.groups()
    counts = [0] * len(POINTS)
    for letters, sign in ((white, -1), (black, 1)):
        for letter in letters.lower():
            place = POINTS.index(letter)
            if place == (0 if sign > 0 else len(POINTS) - 1):
                raise InvalidPositionError(f"expected the bar of each side beside its own checkers, got {cite(text)}")
            if counts[place] * sign < 0:
                raise InvalidPositionError(f"expected one side on point {place}, got both in {cite(text)}")
            counts[place] += sign if place else 1  # checkers on a bar have no sign
    position = Position(counts)
    cube = Cube(2 ** int(exponent), OWNERS[owner.upper()])
    is_black = (actor or WHITE).upper() == WHITE and not ((state or "").upper() == "IW" and not dice)
    own, other, length = (int(score or 0) for score in scores)
    if is_black:
        own, other = other, own
    else:
        position, cube = position.flip(), cube.flip()
    if length and max(own, other) >= length:
        raise InvalidScoreError(f"expected scores below the {length} points of the match, got {own} and {other}")
    score = (
        MatchScore(length - own, length - other, is_crawford="C" in (rule or "").upper()) if length else Money(False)
    )
    roll = parse_roll(dice) if dice else None
    return position, MatchState.from_stakes(Stakes(score, cube), roll=roll, length=length)
