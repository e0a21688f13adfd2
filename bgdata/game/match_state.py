"""The state of a match in the form of identifiers: both sides keep their places, whichever is on roll.

`Stakes` sees a game from the player on roll. Match ID and XGID do not turn the board: they name its *top* and *bottom*
side (gnubg: player 0 or O, and player 1 or X). `MatchState` holds what they hold, `MatchState.stakes` turns it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from bgdata.errors import InvalidScoreError
from bgdata.game.dice import Roll
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes


class Side(IntEnum):
    """A side of the drawn board; the numbers are gnubg's player numbers and index `MatchState.scores`."""

    TOP = 0
    BOTTOM = 1

    @property
    def other(self) -> Side:
        """The side across the board."""
        return Side(1 - self)


class GameState(IntEnum):
    """How far the game is; the numbers are those of the Match ID."""

    NO_GAME = 0
    PLAYING = 1
    OVER = 2
    RESIGNED = 3
    DROPPED = 4


class Offer(StrEnum):
    """An offer of the cube that waits for an answer."""

    NONE = "none"
    DOUBLE = "double"
    BEAVER = "beaver"
    RACCOON = "raccoon"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchState:
    """A match or a money session at one moment, not seen by either player: every field of a Match ID, and of an XGID
    but the limit of the cube.

    * `on_roll` has rolled or is about to; `to_decide` must act: it is the other side after a double or a resignation.
    * `cube_value` and `cube_owner` (None: centered) stand as before the double that is offered, if one is. A double
      offered by a player whose opponent owns the cube is the answer to a beaver, or the beaver itself; see `offer`.
    * `resigned`: 0, or 1 to 3 for a single game, gammon or backgammon offered.
    * `length` 0 is money play. `scores` are points won by (top, bottom).
    * `is_jacoby` says whether the Jacoby rule is in force, and `has_beavers` whether beavers are allowed, which a Match
      ID does not say: both in money play only.

    Raises InvalidScoreError, which names the rule. The rules of the score are not checked for a game that is not being
    played, since identifiers keep the cube, the dice and the Crawford flag of a game beside the score after it.
    """

    roll: Roll | None = None
    cube_value: int = 1
    cube_owner: Side | None = None
    on_roll: Side = Side.BOTTOM
    to_decide: Side = Side.BOTTOM
    is_double_offered: bool = False
    resigned: int = 0
    length: int = 0
    scores: tuple[int, int] = (0, 0)
    is_crawford: bool = False
    is_jacoby: bool = False
    has_beavers: bool = False
    game_state: GameState = GameState.PLAYING

    def __post_init__(self) -> None:
        if self.length < 0 or min(self.scores) < 0:
            raise InvalidScoreError(f"expected no negative score or length, got {self.scores} and {self.length}")
        if not 0 <= self.resigned <= 3:
            raise InvalidScoreError(f"expected a resignation of 0 to 3 games, got {self.resigned}")
        if self.is_crawford and not self.length:
            raise InvalidScoreError("expected the crawford game in a match only, got it in money play")
        if self.is_jacoby and self.length:
            raise InvalidScoreError(f"expected the jacoby rule in money play only, got it in a match to {self.length}")
        if self.has_beavers and self.length:
            raise InvalidScoreError(f"expected beavers in money play only, got them in a match to {self.length}")
        _ = self.cube
        if self.game_state == GameState.PLAYING:
            _ = self.stakes
            self._check_offers()

    @classmethod
    def from_stakes(
        cls, stakes: Stakes, *, roll: Roll | None = None, on_roll: Side = Side.BOTTOM, length: int | None = None
    ) -> MatchState:
        """The state of a player on roll who plays for `stakes`, on the given side, with nothing offered.

        `length` defaults to the shortest match with that score, in which the trailing side has no points yet. Raises
        InvalidScoreError.
        """
        score = stakes.score
        away = (0, 0) if isinstance(score, Money) else (score.away, score.opponent_away)
        length = max(away) if length is None else length
        if length < max(away) or (isinstance(score, Money) and length):
            raise InvalidScoreError(f"expected a match length that fits {score}, got {length}")
        won = (length - away[0], length - away[1])
        owners = {CubeOwner.CENTERED: None, CubeOwner.ON_ROLL: on_roll, CubeOwner.OPPONENT: on_roll.other}
        return cls(
            roll=roll,
            cube_value=stakes.cube.value,
            cube_owner=owners[stakes.cube.owner],
            on_roll=on_roll,
            to_decide=on_roll,
            length=length,
            scores=won if on_roll == Side.TOP else won[::-1],
            is_crawford=stakes.is_crawford,
            is_jacoby=isinstance(score, Money) and score.is_jacoby,
        )

    @property
    def cube(self) -> Cube:
        """The cube seen by the player on roll."""
        if self.cube_owner is None:
            return Cube(self.cube_value)
        return Cube(self.cube_value, CubeOwner.ON_ROLL if self.cube_owner == self.on_roll else CubeOwner.OPPONENT)

    @property
    def stakes(self) -> Stakes:
        """What the player on roll plays for; a double that is offered does not count yet.

        Raises InvalidScoreError once the match is over.
        """
        if not self.length:
            return Stakes(Money(self.is_jacoby), self.cube)
        away, opponent_away = (self.length - self.scores[side] for side in (self.on_roll, self.on_roll.other))
        return Stakes(MatchScore(away, opponent_away, self.is_crawford), self.cube)

    @property
    def offer(self) -> Offer:
        """What was offered last: a double, a beaver (a double turned at once by its taker, who keeps the cube), ..."""
        if not self.is_double_offered:
            return Offer.NONE
        if self.cube_owner != self.on_roll.other:
            return Offer.DOUBLE
        asked = self.to_decide.other if self.resigned else self.to_decide
        return Offer.BEAVER if asked == self.on_roll else Offer.RACCOON

    def _check_offers(self) -> None:
        """Raise unless doubles and resignations fit the game, and the side that has to answer decides."""
        offer = self.offer
        if offer != Offer.NONE and self.roll is not None:
            raise InvalidScoreError(f"expected a double before the roll, got it after {self.roll}")
        if offer == Offer.DOUBLE and self.is_crawford:
            raise InvalidScoreError("expected no double in the crawford game, got one")
        if offer in (Offer.BEAVER, Offer.RACCOON) and self.length:
            raise InvalidScoreError(
                "expected a double by a player who may turn the cube, got one while the opponent owns it"
            )
        if offer == Offer.RACCOON and self.cube_value < 4:
            raise InvalidScoreError(f"expected a cube of at least 4 after a beaver, got {self.cube_value}")
        decides = self.on_roll.other if offer in (Offer.DOUBLE, Offer.RACCOON) else self.on_roll
        decides = decides.other if self.resigned else decides
        if self.to_decide != decides:
            offered = [f"a {offer}"] * self.is_double_offered + ["a resignation"] * (self.resigned > 0)
            raise InvalidScoreError(
                f"expected {decides.name} to decide: {self.on_roll.name} is on roll, "
                f"{' and '.join(offered) or 'nothing'} is offered, got {self.to_decide.name}"
            )
