"""The stakes of a game: the cube, and the match score or money, for the player on roll."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from enum import StrEnum

from bgdata.errors import InvalidScoreError
from bgdata.game.integers import convert_to_plain_integers


class CubeOwner(StrEnum):
    """The owner of the cube: the player who may double. The strings are values of columns."""

    CENTERED = "centered"
    ON_ROLL = "on_roll"
    OPPONENT = "opponent"

    def flip(self) -> CubeOwner:
        """The owner as the other player sees it."""
        return _FLIPPED[self]


OWNER_WORDS = {
    CubeOwner.CENTERED: "centered",
    CubeOwner.ON_ROLL: "owned by the player on roll",
    CubeOwner.OPPONENT: "owned by the opponent",
}
_FLIPPED = {
    CubeOwner.CENTERED: CubeOwner.CENTERED,
    CubeOwner.ON_ROLL: CubeOwner.OPPONENT,
    CubeOwner.OPPONENT: CubeOwner.ON_ROLL,
}


MAX_CUBE = 1 << 30  # far above any cube in play


@dataclass(frozen=True, slots=True)
class Cube:
    """The doubling cube: its value, a power of two, and its owner. Raises InvalidScoreError if value and owner cannot
    occur. An owned cube is at least 2. A centered cube is above 1 only in money play, after automatic doubles."""

    value: int = 1
    owner: CubeOwner = CubeOwner.CENTERED

    def __post_init__(self) -> None:
        try:
            convert_to_plain_integers(self, "value")
        except TypeError:
            raise InvalidScoreError(f"expected a whole number as cube value, got {self.value!r}") from None
        if self.value < 1 or self.value & (self.value - 1):
            raise InvalidScoreError(f"expected a power of two as cube value, got {self.value}")
        if self.value > MAX_CUBE:
            raise InvalidScoreError(f"expected a cube of at most {MAX_CUBE:,}, got {self.value:,}")
        if self.owner not in tuple(CubeOwner):
            raise InvalidScoreError(f"expected a cube owner in {{{', '.join(CubeOwner)}}}, got {self.owner!r}")
        if self.value == 1 and self.owner != CubeOwner.CENTERED:
            raise InvalidScoreError(f"expected a cube of 1 to be centered, got owner {str(self.owner)!r}")

    def __str__(self) -> str:
        return f"a cube of {self.value}, {OWNER_WORDS[self.owner]}"

    def flip(self) -> Cube:
        """The cube as the other player sees it."""
        return Cube(self.value, self.owner.flip())

    def after_double(self) -> Cube:
        """The cube after the player on roll doubles and the opponent takes, who then owns it."""
        if self.owner == CubeOwner.OPPONENT:
            raise InvalidScoreError("expected a cube that the player on roll may turn, got the opponent's")
        return Cube(2 * self.value, CubeOwner.OPPONENT)


@dataclass(frozen=True, slots=True)
class MatchScore:
    """The points that each side still needs to win the match, and whether this is the Crawford game. In the Crawford
    game, the first in which exactly one side is 1-away, neither side may double. Raises InvalidScoreError if the score
    cannot occur."""

    away: int
    opponent_away: int
    is_crawford: bool = False

    def __post_init__(self) -> None:
        try:
            convert_to_plain_integers(self, "away", "opponent_away")
        except TypeError:
            got = f"{self.away!r} and {self.opponent_away!r}"
            raise InvalidScoreError(f"expected whole points to go, got {got}") from None
        if min(self.away, self.opponent_away) < 1:
            raise InvalidScoreError(f"expected at least 1 point to go for each side, got {self}")
        if self.is_crawford and (self.away == 1) == (self.opponent_away == 1):
            raise InvalidScoreError(f"expected one side at 1-away in the crawford game, got {self}")

    @property
    def is_post_crawford(self) -> bool:
        """Whether a side is 1-away and this is not the Crawford game."""
        return 1 in (self.away, self.opponent_away) and not self.is_crawford

    def flip(self) -> MatchScore:
        """The score as the other player sees it."""
        return MatchScore(self.opponent_away, self.away, self.is_crawford)

    def after_game(self, points: int) -> MatchScore | None:
        """Return the score after the player on roll wins `points` (negative: loses them), None if the match is over."""
        points = operator.index(points)
        away, opponent_away = self.away - max(points, 0), self.opponent_away - max(-points, 0)
        if away <= 0 or opponent_away <= 0:
            return None
        is_crawford = (away == 1) != (opponent_away == 1) and 1 not in (self.away, self.opponent_away)
        return MatchScore(away, opponent_away, is_crawford)

    def __str__(self) -> str:
        return f"{self.away}-away {self.opponent_away}-away" + (" crawford" if self.is_crawford else "")


@dataclass(frozen=True, slots=True)
class Money:
    """Money play. By the Jacoby rule, gammons and backgammons count as single games while the cube is centered."""

    is_jacoby: bool


@dataclass(frozen=True, slots=True)
class Stakes:
    """The stakes of a game for the player on roll: match score or money, and the cube. Raises InvalidScoreError if the
    cube cannot occur at the score."""

    score: MatchScore | Money
    cube: Cube = Cube()

    def __post_init__(self) -> None:
        if isinstance(self.score, MatchScore) and self.cube.owner == CubeOwner.CENTERED and self.cube.value > 1:
            raise InvalidScoreError(f"expected a centered cube of 1 in a match, got {self.cube.value}")
        if self.is_crawford and self.cube != Cube():
            raise InvalidScoreError(f"expected a centered cube of 1 in the crawford game, got {self.cube}")

    @property
    def is_crawford(self) -> bool:
        """Whether this is the Crawford game of a match."""
        return isinstance(self.score, MatchScore) and self.score.is_crawford

    @property
    def may_double(self) -> bool:
        """Whether the rules let the player on roll double now; in a match doubling may be pointless."""
        return self.cube.owner != CubeOwner.OPPONENT and not self.is_crawford

    def flip(self) -> Stakes:
        """The stakes as the other player sees them."""
        score = self.score.flip() if isinstance(self.score, MatchScore) else self.score
        return Stakes(score, self.cube.flip())

    def after_take(self) -> Stakes:
        """The stakes after the player on roll doubles and the opponent takes. Raises InvalidScoreError if the rules do
        not allow the double."""
        if not self.may_double:
            raise InvalidScoreError(f"expected a player on roll who may double, got {self.score} with {self.cube}")
        return replace(self, cube=self.cube.after_double())

    def points(self, outcome: int) -> int:
        """Return the points that the player on roll gets if the game ends with `outcome` (-3 to 3, see
        `classes.Outcome`)."""
        outcome = operator.index(outcome)
        if isinstance(self.score, Money) and self.score.is_jacoby and self.cube.owner == CubeOwner.CENTERED:
            outcome = (outcome > 0) - (outcome < 0)
        return outcome * self.cube.value
