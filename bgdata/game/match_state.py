"""`MatchState`, the match as identifiers store it, and gnubg's Match ID. Its sides stay the same, whoever is on roll.

`Stakes` is from the point of view of the player on roll. Match ID and XGID instead name the *top* and the *bottom* side
(gnubg: player 0 or O, and player 1 or X). `MatchState` has the fields of both; `MatchState.stakes` is the view of the
player on roll.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from bgdata.errors import InvalidPositionError, InvalidRollError, InvalidScoreError, cite
from bgdata.game.board import BASE64_LETTERS
from bgdata.game.dice import Roll, roll_of
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import Position, letter_error, parse_position_id


class Side(IntEnum):
    """A side of the board as it is drawn. The values are player numbers in gnubg, and index `MatchState.scores`."""

    TOP = 0
    BOTTOM = 1

    @property
    def other(self) -> Side:
        """The opposite side."""
        return Side(1 - self)


class GameState(IntEnum):
    """Whether a game is in progress, or how it ended; the values are the numbers in a Match ID."""

    NO_GAME = 0
    PLAYING = 1
    OVER = 2
    RESIGNED = 3
    DROPPED = 4


class Offer(StrEnum):
    """A cube offer that has not been answered."""

    NONE = "none"
    DOUBLE = "double"
    BEAVER = "beaver"
    RACCOON = "raccoon"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchState:
    """A match or money session at one moment, from neither player's point of view. It has all fields of a Match ID, and
    those of an XGID except the cube limit.

    * `on_roll` has rolled or is about to roll. `to_decide` must act: the other side after a double or a resignation.
    * `cube_value` and `cube_owner` (None: centered) describe the cube before an offered double. If the opponent of
      the player on roll owns the cube, the double is a beaver, or the answer to one (a raccoon); see `offer`.
    * `resigned` is 0, or 1 to 3 for an offered single game, gammon or backgammon.
    * `length` 0 is money play. `scores` are points won by (top, bottom).
    * `is_jacoby` and `has_beavers` (beavers are allowed) are rules of money play. A Match ID does not store
      `has_beavers`.

    Raises InvalidScoreError, which names the rule. Only a game in progress must keep the rules of the score: after a
    game, identifiers combine the new score with the old cube, dice and Crawford flag.
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
        """Make the state of a match in which `on_roll` plays for `stakes` and nothing is offered. `length` defaults to
        the shortest match with that score, in which the trailing side has no points. Raises InvalidScoreError if the
        score does not fit the length."""
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
        """The cube as the player on roll sees it."""
        if self.cube_owner is None:
            return Cube(self.cube_value)
        return Cube(self.cube_value, CubeOwner.ON_ROLL if self.cube_owner == self.on_roll else CubeOwner.OPPONENT)

    @property
    def stakes(self) -> Stakes:
        """The stakes for the player on roll. An offered double does not count yet. Raises InvalidScoreError once the
        match is over."""
        if not self.length:
            return Stakes(Money(self.is_jacoby), self.cube)
        away, opponent_away = (self.length - self.scores[side] for side in (self.on_roll, self.on_roll.other))
        return Stakes(MatchScore(away, opponent_away, self.is_crawford), self.cube)

    @property
    def offer(self) -> Offer:
        """The cube offer that waits for an answer, if any. A beaver is an immediate redouble by the player who took,
        and who keeps the cube. A raccoon is a redouble in answer to a beaver."""
        if not self.is_double_offered:
            return Offer.NONE
        if self.cube_owner != self.on_roll.other:
            return Offer.DOUBLE
        decider = self.to_decide.other if self.resigned else self.to_decide
        return Offer.BEAVER if decider == self.on_roll else Offer.RACCOON

    def _check_offers(self) -> None:
        """Raise InvalidScoreError unless doubles and resignations fit the game and `to_decide` is the side that must
        answer."""
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


CHARACTERS = 12  # nine bytes in Base64; the fields of _WIDTHS start at the lowest bit of the first byte
MAX_LENGTH = 64  # gnubg refuses longer matches
MAX_CUBE = 32768
MAX_SCORE = 32767

_PATTERN = re.compile(f"[{re.escape(BASE64_LETTERS)}]{{{CHARACTERS}}}", re.ASCII)
_WIDTHS = {
    "cube": 4,  # binary logarithm
    "cube_owner": 2,
    "on_roll": 1,
    "crawford": 1,
    "game_state": 3,
    "to_decide": 1,
    "double_offered": 1,
    "resigned": 2,
    "die": 3,  # 0: not rolled
    "other_die": 3,
    "length": 15,
    "score_top": 15,
    "score_bottom": 15,
    "no_jacoby": 1,  # a later extension of gnubg: 0 in older Match IDs, even in matches
    "unused": 5,
}
_CENTERED = 3  # the cube owner in a Match ID if the cube is centered
_OWNERS = {0: Side.TOP, 1: Side.BOTTOM, _CENTERED: None}


def parse_match_id(text: str) -> MatchState:
    """Parse a 12-character Match ID. The dice may be in either order. The Jacoby bit is read in money play only. Raises
    InvalidScoreError, which names the invalid character or the broken rule."""
    if not _PATTERN.fullmatch(text):
        raise InvalidScoreError(letter_error(text, "match id", CHARACTERS, BASE64_LETTERS))
    bits, field = int.from_bytes(base64.b64decode(text), "little"), {}
    for name, width in _WIDTHS.items():
        field[name] = bits & ((1 << width) - 1)
        bits >>= width
    try:
        return _state(field)
    except (InvalidScoreError, InvalidRollError) as error:
        raise InvalidScoreError(f"{error}, in match id {cite(text)}") from error


def format_match_id(match: MatchState) -> str:
    """Write the state of a match as a 12-character Match ID, as gnubg does. Raises InvalidScoreError for a match to
    more than 64 points, a cube above 32768 or a score above 32767."""
    _check_size("match to", match.length, MAX_LENGTH)
    _check_size("score of", max(match.scores), MAX_SCORE)
    _check_size("cube of", match.cube_value, MAX_CUBE)
    field = {
        "cube": match.cube_value.bit_length() - 1,
        "cube_owner": _CENTERED if match.cube_owner is None else int(match.cube_owner),
        "on_roll": int(match.on_roll),
        "crawford": int(match.is_crawford),
        "game_state": int(match.game_state),
        "to_decide": int(match.to_decide),
        "double_offered": int(match.is_double_offered),
        "resigned": match.resigned,
        "die": match.roll.high if match.roll else 0,
        "other_die": match.roll.low if match.roll else 0,
        "length": match.length,
        "score_top": match.scores[Side.TOP],
        "score_bottom": match.scores[Side.BOTTOM],
        "no_jacoby": int(not match.is_jacoby),
        "unused": 0,
    }
    bits, place = 0, 0
    for name, width in _WIDTHS.items():
        bits |= field[name] << place
        place += width
    return base64.b64encode(bits.to_bytes(9, "little")).decode()


def parse_gnubg_id(text: str) -> tuple[Position, MatchState]:
    """Parse a gnubg ID, `Position ID:Match ID`. Returns the position for the player on roll, and the match. Raises
    InvalidPositionError, which names the invalid character or the broken rule."""
    position_id, colon, match_id = text.partition(":")
    if not colon:
        raise InvalidPositionError(f"expected a position id, ':' and a match id, got {cite(text)}")
    position = parse_position_id(position_id)
    try:
        return position, parse_match_id(match_id)
    except InvalidScoreError as error:
        raise InvalidPositionError(str(error)) from error


def format_gnubg_id(position: Position, match: MatchState) -> str:
    """Write a position, for the player on roll, and a match as a gnubg ID. Raises InvalidScoreError if a Match ID
    cannot represent the match."""
    return f"{position.id}:{format_match_id(match)}"


def _state(field: dict[str, int]) -> MatchState:
    """Make a match state from the fields of a Match ID. Errors name only the rule."""
    if field["unused"]:
        raise InvalidScoreError("expected no 1 bit after the 67th")
    if field["cube_owner"] not in _OWNERS:
        raise InvalidScoreError(f"expected a cube owner in {{0, 1, 3}}, got {field['cube_owner']}")
    if field["game_state"] > max(GameState):
        raise InvalidScoreError(f"expected a game state from 0 to {max(GameState)}, got {field['game_state']}")
    _check_size("match to", field["length"], MAX_LENGTH)
    dice = field["die"], field["other_die"]
    return MatchState(
        roll=roll_of(*dice) if any(dice) else None,
        cube_value=1 << field["cube"],
        cube_owner=_OWNERS[field["cube_owner"]],
        on_roll=Side(field["on_roll"]),
        to_decide=Side(field["to_decide"]),
        is_double_offered=bool(field["double_offered"]),
        resigned=field["resigned"],
        length=field["length"],
        scores=(field["score_top"], field["score_bottom"]),
        is_crawford=bool(field["crawford"]),
        is_jacoby=not field["no_jacoby"] and not field["length"],
        game_state=GameState(field["game_state"]),
    )


def _check_size(what: str, size: int, most: int) -> None:
    if size > most:
        raise InvalidScoreError(f"expected a {what} at most {most} in a match id, got {size}")
