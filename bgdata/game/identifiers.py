"""Positions as strings: `parse_identifier` reads every format, `possible_identifiers` writes them.

* position id: `4HPwATDgc/ABMA`
* gnubg id: `4HPwATDgc/ABMA:cAkAAAAAAAAE`
* 20-letter key: `OAHDPAABDAOAHDPAABDA`
* xgid: `XGID=-b----E-C---eE---c-e----B-:0:0:1:00:0:0:0:0:10`
* 26 integers: `[0, -2, 0, 0, 0, 0, 5, ...]`, also with spaces for commas or without brackets
* opengammon id: `11ccccchhhjjjjj:66666888dddddoo:N0N`, and what may follow
* start: `start`, the opening position

An identifier may also stand inside a longer text, such as an analysis of eXtreme Gammon or gnubg, or in the address of
a page of the explorer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from urllib.parse import parse_qs, unquote

from bgdata.errors import InvalidPositionError, InvalidScoreError, cite
from bgdata.game.dice import parse_roll
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.match_state import MatchState, format_gnubg_id, format_match_id, parse_gnubg_id
from bgdata.game.ogid import SHAPE, parse_ogid
from bgdata.game.position import START, Position, format_key20, parse_key20, parse_position_id, set_text_reader
from bgdata.game.xgid import PREFIX, Xgid, parse_xgid

FORMATS = ("position id", "gnubg id", "20-letter key", "xgid", "opengammon id", "26 integers", "start")

_INTEGER = re.compile(r"-?\d{1,3}", re.ASCII)
_ADDRESS = re.compile(r"(?:https?://[^\s/]*)?/position/([^\s?#]+)(?:\?([^\s#]*))?")
_FIRST_XGID = re.compile(r"^\s*(XGID=[-A-Pa-p]{26}(?::-?\w+){8,9})\s*$", re.MULTILINE)  # alone in a line
_XGID = re.compile(r"XGID=[-A-Pa-p]{26}(?::-?\w+){8,9}")
_LABELLED = re.compile(
    r"Position\s+ID\s*:?\s*([A-Za-z0-9+/]{14})(?![\w+/])(?:\s*Match\s+ID\s*:?\s*([A-Za-z0-9+/]{12})(?![\w+/]))?"
)
_GNUBG = re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{14}:[A-Za-z0-9+/]{12}(?![\w+/:])")
_OGID = re.compile(rf"(?<!\S){SHAPE.pattern}(?=[\s.,;)]|\Z)")
_AROUND = " \t\r\n\"'`<>.,;!?\u200b\ufeff"  # characters that are copied together with an identifier
_YES = ("1", "true", "yes", "on")
MAX_TEXT = 20_000  # longest text, in letters, that is searched for an identifier
_BRACKETS = {"[": "]", "(": ")"}


def parse_identifier(text: str) -> tuple[Position, MatchState | None]:
    """Parse an identifier in any of `FORMATS`. Returns the position for the player on roll, and the match that a gnubg
    ID, XGID, OpenGammon ID or address contains (None for other formats). `Position(text)` returns the position alone.

    >>> position, match = parse_identifier("XGID=---BBBAAAD--aaA-bbbbbb----:1:1:1:52:0:0:3:0:10")
    >>> position, match.cube_value
    (Position('2LaNAgC2VQ8CAA'), 2)

    Raises InvalidPositionError, which lists the formats. It also says which character or rule is wrong for the format
    that the text resembles most."""
    text = text.strip()
    try:
        return parse_alone(text)
    except InvalidPositionError as error:
        found = [each for each in identifiers_in(text) if each != text]
        if len(found) == 1:
            return parse_alone(found[0])
        if found:
            some = " and ".join(map(cite, found[:2]))
            raise InvalidPositionError(f"expected one position in a text, got {len(found)}: {some}") from error
        name = closest_format(text)
        raise InvalidPositionError(f"expected one of {', '.join(FORMATS)}; as {name}: {error}") from error


def parse_alone(text: str) -> tuple[Position, MatchState | None]:
    """Parse an identifier as `parse_identifier` does, but not inside a longer text."""
    try:
        if SHAPE.fullmatch(text):
            return parse_ogid(text)
        if address := _ADDRESS.fullmatch(text):
            return _parse_address(address[1], address[2] or "")
    except InvalidScoreError as error:
        raise InvalidPositionError(f"{error}, in {cite(text)}") from error
    return parse_plain(text)


def parse_plain(text: str) -> tuple[Position, MatchState | None]:
    """Parse an identifier as `parse_identifier` does, except OpenGammon IDs, addresses, and identifiers inside a longer
    text."""
    if text.lower() == "start":
        return START, None
    name = closest_format(text)
    if name == "xgid":
        xgid = parse_xgid(text)
        return xgid.position, xgid.match
    if name == "gnubg id":
        return parse_gnubg_id(text)
    parse = {"position id": parse_position_id, "20-letter key": parse_key20, "26 integers": parse_board}[name]
    return parse(text), None


def identifiers_in(text: str) -> list[str]:
    """Find the identifiers inside a text, each once. The first rule that finds any decides: XGIDs that are alone in a
    line; other XGIDs; gnubg IDs, IDs after the words Position ID, OpenGammon IDs and addresses of the explorer; an
    identifier in quotes or before a full stop."""
    text = text[:MAX_TEXT]
    found = _FIRST_XGID.findall(text) or _XGID.findall(text)
    if not found:
        found = [f"{position}:{match}" if match else position for position, match in _LABELLED.findall(text)]
        found += _GNUBG.findall(text)
        found += [each[0].strip(_AROUND) for each in _OGID.finditer(text)]
        found += [each[0].rstrip(_AROUND + ")") for each in _ADDRESS.finditer(text)]
    bare = text.strip(_AROUND)
    if not found and bare != text:
        with suppress(InvalidPositionError):
            parse_alone(bare)
            found = [bare]
    return list(dict.fromkeys(found))


def _parse_address(path: str, query: str) -> tuple[Position, MatchState | None]:
    """Parse the address of a position's page in the explorer: the position in its path, and roll, score and cube in its
    query. Raises InvalidPositionError or InvalidScoreError."""
    position, match = parse_alone(unquote(path).removesuffix(".json"))
    given = {name: values[-1] for name, values in parse_qs(query).items()}
    if not given.keys() & {"roll", "away", "cube", "owner", "jacoby", "crawford"}:
        return position, match
    stakes = match.stakes if match else Stakes(Money(is_jacoby=False), Cube())
    score, is_crawford = stakes.score, given.get("crawford", "") in _YES
    if away := re.fullmatch(r"(\d{1,3})-(\d{1,3})", given.get("away", "")):
        score = MatchScore(int(away[1]), int(away[2]), is_crawford)
    elif isinstance(score, Money) and "jacoby" in given:
        score = Money(given["jacoby"] in _YES)
    cube = stakes.cube
    if given.get("cube", "").isdecimal():
        value = int(given["cube"][:9])
        owner = given.get("owner") or (CubeOwner.CENTERED if value == 1 else CubeOwner.ON_ROLL)
        if owner not in list(CubeOwner):
            raise InvalidPositionError(f"expected centered, on_roll or opponent as owner, got {cite(owner)}")
        cube = Cube(value, CubeOwner(owner))
    roll = parse_roll(given["roll"]) if given.get("roll") else match.roll if match else None
    return position, MatchState.from_stakes(Stakes(score, cube), roll=roll)


def parse_board(text: str) -> Position:
    """Parse 26 integers separated by commas or spaces, with or without brackets. Raises InvalidPositionError, which
    names the invalid number or the rule that the position breaks."""
    inner = text.strip()
    if inner[:1] in _BRACKETS:
        if inner[-1] != _BRACKETS[inner[0]]:
            raise InvalidPositionError(f"expected {_BRACKETS[inner[0]]!r} at the end of a board, got {cite(text)}")
        inner = inner[1:-1].strip()
    numbers = re.split(r"\s*,\s*|\s+", inner)
    for place, number in enumerate(numbers, start=1):
        if not _INTEGER.fullmatch(number):
            raise InvalidPositionError(f"expected an integer, got {cite(number)} as number {place} of {cite(text)}")
    return Position(list(map(int, numbers)))


def format_board(position: Position) -> str:
    """Write a position as a 26-integer board, "0,-2,0,0,...", without brackets."""
    return ",".join(map(str, position.board))


def format_xgid(position: Position, match: MatchState) -> str:
    """Write a position as an XGID. The cube limit is 1024, or the cube if it is larger. Raises InvalidScoreError if an
    XGID cannot represent the match."""
    return str(Xgid(position, match, max_cube=max(1024, match.cube_value)))


WRITERS: Mapping[str, Callable[[Position, MatchState], str]] = {  # by column name
    "position_id": lambda position, _: position.id,
    "match_id": lambda _, match: format_match_id(match),
    "gnubg_id": format_gnubg_id,
    "xgid": format_xgid,
    "key20": lambda position, _: format_key20(position),
    "board": lambda position, _: format_board(position),
}


def possible_identifiers(position: Position, match: MatchState | None = None) -> dict[str, str]:
    """Return the identifiers of a position, for the player on roll, by the name of the format. Formats that cannot
    represent the match are left out. Match ID, gnubg ID and XGID contain the match. The default is money play without
    the Jacoby rule, before the roll, with the player on roll at the bottom."""
    found = {}
    for name, write in WRITERS.items():
        with suppress(InvalidScoreError):
            found[name] = write(position, match or MatchState())
    return found


def omission_note(match: MatchState | None) -> str:
    """Return a sentence on what the identifiers of a match leave out, empty if they leave out nothing."""
    return "match_id and gnubg_id do not say that beavers are allowed" if match and match.has_beavers else ""


def closest_format(text: str) -> str:
    """Return the format in `FORMATS` in which a text is written, or that it resembles most. `start` counts as a
    Position ID."""
    text = text.strip()
    is_board = text.count("-") > 1 and not re.search(r"[\d\s]", text)
    if is_board or text.upper().startswith(PREFIX) or text.count(":") > 1:
        return "xgid"
    if ":" in text:
        return "gnubg id"
    if text[:1] in _BRACKETS or re.search(r"[\s,]", text):
        return "26 integers"
    is_key = len(text) >= 17 or (len(text) > 14 and set(text) <= set("ABCDEFGHIJKLMNOP"))
    return "20-letter key" if is_key else "position id"


set_text_reader(lambda text: parse_identifier(text)[0])
