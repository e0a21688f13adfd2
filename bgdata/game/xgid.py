"""XGIDs, the identifiers of eXtreme Gammon: checkers, cube, dice and score in ten fields with colons between them.

    XGID=-b----E-C---eE---c-e----B-:1:1:1:31:2:3:0:7:10

The fields: 26 characters for the board, cube (binary logarithm), its owner, side on roll, dice, scores of bottom and
top, Crawford or money rules, match length, cube limit (binary logarithm). The board is always from the bottom side's
point of view, whoever is on roll. Capital letters are the bottom side's checkers. Side 1 is bottom, -1 is top.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from bgdata.errors import InvalidPositionError, InvalidScoreError, cite
from bgdata.game.board import BAR, OPPONENT_BAR
from bgdata.game.dice import parse_roll
from bgdata.game.match import MAX_CUBE
from bgdata.game.match_state import GameState, MatchState, Offer, Side
from bgdata.game.position import Position

PREFIX = "XGID="

_NAMES = (
    "position", "cube", "cube owner", "turn", "dice", "score of bottom", "score of top", "crawford/jacoby",
    "match length", "cube limit",
)  # fmt: skip
_BOTTOM_LETTERS, _TOP_LETTERS = "-ABCDEFGHIJKLMNOP", "-abcdefghijklmnop"
_COUNTS = {letter: count for count, letter in enumerate(_BOTTOM_LETTERS)} | {
    letter: -count for count, letter in enumerate(_TOP_LETTERS)
}
_NUMBER = re.compile(r"0|[1-9]\d{0,4}", re.ASCII)
_ROLL = re.compile(r"[1-6][1-6]", re.ASCII)
_OWNER_CODES: dict[Side | None, str] = {None: "0", Side.BOTTOM: "1", Side.TOP: "-1"}
_SIDE_CODES = {Side.BOTTOM: "1", Side.TOP: "-1"}
_OFFER_CODES = {Offer.NONE: "00", Offer.DOUBLE: "D", Offer.BEAVER: "B", Offer.RACCOON: "R"}

_MAX_LOG2 = MAX_CUBE.bit_length() - 1  # logarithm of the largest cube

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Xgid:
    """The contents of an XGID. `position` is from the point of view of the player on roll, `match.on_roll`. `max_cube`
    is the highest cube allowed. `str()` gives the XGID, with "XGID=" and the larger die first. Raises InvalidScoreError
    for states that an XGID cannot represent: a resignation, or a game that is not in progress."""

    position: Position
    match: MatchState = field(default_factory=MatchState)
    max_cube: int = 1024

    def __post_init__(self) -> None:
        if self.match.game_state != GameState.PLAYING:
            raise InvalidScoreError(f"expected a game in progress in an xgid, got {self.match.game_state.name}")
        if self.match.resigned:
            raise InvalidScoreError("expected no resignation in an xgid, got one")
        if self.max_cube < 1 or self.max_cube & (self.max_cube - 1):
            raise InvalidScoreError(f"expected a power of two as cube limit, got {self.max_cube}")
        if self.match.cube_value > self.max_cube:
            raise InvalidScoreError(f"expected a cube of at most {self.max_cube}, got {self.match.cube_value}")

    def __str__(self) -> str:
        match = self.match
        position = self.position if match.on_roll == Side.BOTTOM else self.position.flip()
        counts = (-position.board[OPPONENT_BAR], *position.board[1:])
        fields = [
            "".join(_BOTTOM_LETTERS[count] if count >= 0 else _TOP_LETTERS[-count] for count in counts),
            match.cube_value.bit_length() - 1,
            _OWNER_CODES[match.cube_owner],
            _SIDE_CODES[match.on_roll],
            match.roll or _OFFER_CODES[match.offer],
            match.scores[Side.BOTTOM],
            match.scores[Side.TOP],
            int(match.is_crawford) if match.length else match.is_jacoby + 2 * match.has_beavers,
            match.length,
            self.max_cube.bit_length() - 1,
        ]
        return PREFIX + ":".join(map(str, fields))


def parse_xgid(text: str) -> Xgid:
    """Parse an XGID. "XGID=" is optional and may be in lower case. In place of dice, `D`, `B` and `R` stand for an
    offered double, beaver and raccoon; then the side on roll is the one that doubled first, and the cube is that before
    the last offer. Raises InvalidPositionError, which names the field, character or rule."""
    body = text.strip()
    fields = (body[len(PREFIX) :] if body.upper().startswith(PREFIX) else body).split(":")
    if len(fields) != len(_NAMES):
        raise InvalidPositionError(f"expected {len(_NAMES)} fields in an xgid, got {len(fields)}: {cite(text)}")
    field_of = dict(zip(_NAMES, fields, strict=True))
    try:
        match = _match_state(field_of)
        max_cube = 1 << _number(field_of, "cube limit", _MAX_LOG2)
        position = _parse_board(field_of["position"])
        return Xgid(position if match.on_roll == Side.BOTTOM else position.flip(), match, max_cube)
    except (InvalidPositionError, InvalidScoreError) as error:
        raise InvalidPositionError(f"{error}, in xgid {cite(text)}") from error


def _match_state(field_of: Mapping[str, str]) -> MatchState:
    """Make a match state from the fields of an XGID, without the board and the cube limit."""
    on_roll, owner = _choice(field_of, "turn", _SIDE_CODES), _choice(field_of, "cube owner", _OWNER_CODES)
    text = field_of["dice"]
    roll, offer = parse_roll(text) if _ROLL.fullmatch(text) else None, Offer.NONE
    if roll is None:
        if text not in _OFFER_CODES.values():
            raise InvalidPositionError(f"expected two dice, 00, D, B or R as {_place('dice')}, got {cite(text)}")
        offer = _choice(field_of, "dice", _OFFER_CODES)
    # after a beaver the other side owns the cube; before a double it cannot
    is_beavered = owner == on_roll.other
    if offer == Offer.DOUBLE and is_beavered:
        raise InvalidPositionError("expected a double by a player who may turn the cube, got one by its opponent")
    if offer in (Offer.BEAVER, Offer.RACCOON) and not is_beavered:
        raise InvalidPositionError(f"expected the cube at the side that beavered after a {offer}, got it elsewhere")
    length = _number(field_of, "match length")
    rules = _number(field_of, "crawford/jacoby", 1 if length else 3)
    return MatchState(
        roll=roll,
        cube_value=1 << _number(field_of, "cube", _MAX_LOG2),
        cube_owner=owner,
        on_roll=on_roll,
        to_decide=on_roll.other if offer in (Offer.DOUBLE, Offer.RACCOON) else on_roll,
        is_double_offered=offer != Offer.NONE,
        length=length,
        scores=(_number(field_of, "score of top"), _number(field_of, "score of bottom")),
        is_crawford=bool(length and rules),
        is_jacoby=not length and bool(rules & 1),
        has_beavers=not length and bool(rules & 2),
    )


def _choice(field_of: Mapping[str, str], name: str, codes: Mapping[T, str]) -> T:
    """Return the value of `codes` whose code is in the field `name`."""
    for value, code in codes.items():
        if code == field_of[name]:
            return value
    raise InvalidPositionError(f"expected {' or '.join(codes.values())} as {_place(name)}, got {cite(field_of[name])}")


def _number(field_of: Mapping[str, str], name: str, highest: int = 99999) -> int:
    """Return the number in the field `name`, from 0 to `highest`."""
    if not _NUMBER.fullmatch(field_of[name]) or int(field_of[name]) > highest:
        raise InvalidPositionError(
            f"expected a number from 0 to {highest} as {_place(name)}, got {cite(field_of[name])}"
        )
    return int(field_of[name])


def _place(name: str) -> str:
    return f"field {_NAMES.index(name) + 1} ({name})"


def _parse_board(text: str) -> Position:
    """Parse the board field: the position as the bottom side sees it."""
    for place, letter in enumerate(text, start=1):
        if letter not in _COUNTS:
            raise InvalidPositionError(f"expected A to P, a to p or '-', got {letter!r} at character {place}")
    if len(text) != 26:
        raise InvalidPositionError(f"expected 26 characters as {_place('position')}, got {len(text)}")
    counts = [_COUNTS[letter] for letter in text]
    if counts[OPPONENT_BAR] > 0 or counts[BAR] < 0:
        raise InvalidPositionError(f"expected a small letter first (top's bar) and a capital last, got {cite(text)}")
    return Position((-counts[OPPONENT_BAR], *counts[1:]))
