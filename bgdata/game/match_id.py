"""Match IDs of GNU Backgammon: 12 characters for everything about a match but the checkers.

Nine bytes in Base64; the fields of `_WIDTHS` follow each other from the lowest bit of the first byte. A Position ID
and a Match ID joined by a colon are a *gnubg ID*; its Position ID sees the checkers from the side on roll.
"""

from __future__ import annotations

import base64
import re

from bgdata.errors import InvalidPositionError, InvalidRollError, InvalidScoreError, shown
from bgdata.game.board import BASE64_LETTERS
from bgdata.game.dice import roll_of
from bgdata.game.match_state import GameState, MatchState, Side
from bgdata.game.position import Position, parse_position_id

CHARACTERS = 12
MAX_LENGTH = 64  # gnubg refuses longer matches, and its match equity tables end there
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
    "no_jacoby": 1,  # gnubg's later extension: old Match IDs have 0 here, also in matches
    "unused": 5,
}
_CENTERED = 3  # as cube owner
_OWNERS = {0: Side.TOP, 1: Side.BOTTOM, _CENTERED: None}


def parse_match_id(text: str) -> MatchState:
    """The match state of a 12-character Match ID.

    The dice may stand in either order. The Jacoby bit is read in money play only. Raises InvalidScoreError that says
    which character is wrong, or which rule the match breaks.
    """
    if not _PATTERN.fullmatch(text):
        raise InvalidScoreError(_letter_error(text))
    bits, field = int.from_bytes(base64.b64decode(text), "little"), {}
    for name, width in _WIDTHS.items():
        field[name] = bits & ((1 << width) - 1)
        bits >>= width
    try:
        return _state(field)
    except (InvalidScoreError, InvalidRollError) as error:
        raise InvalidScoreError(f"{error}, in match id {shown(text)}") from error


def format_match_id(match: MatchState) -> str:
    """The 12-character Match ID of a match state, as gnubg writes it.

    Raises InvalidScoreError for a match to more than 64 points, a cube above 32768 and a score above 32767.
    """
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
    """The position, seen by the player on roll, and the match of a `Position ID:Match ID`.

    Raises InvalidPositionError that says which character is wrong, or which rule is broken.
    """
    position_id, colon, match_id = text.partition(":")
    if not colon:
        raise InvalidPositionError(f"expected a position id, ':' and a match id, got {shown(text)}")
    position = parse_position_id(position_id)
    try:
        return position, parse_match_id(match_id)
    except InvalidScoreError as error:
        raise InvalidPositionError(str(error)) from error


def format_gnubg_id(position: Position, match: MatchState) -> str:
    """The `Position ID:Match ID` of a position, seen by the player on roll. Raises InvalidScoreError."""
    return f"{position.id}:{format_match_id(match)}"


def _state(field: dict[str, int]) -> MatchState:
    """The match state of unpacked fields; errors name the rule alone."""
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


def _letter_error(text: str) -> str:
    """Say which character of `text` is wrong."""
    for place, letter in enumerate(text, start=1):
        if letter not in BASE64_LETTERS:
            return f"expected letters of a match id, got {letter!r} at character {place} of {shown(text)}"
    return f"expected {CHARACTERS} characters in a match id, got {len(text)}: {shown(text)}"
