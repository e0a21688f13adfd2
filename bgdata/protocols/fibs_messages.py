"""The messages of FIBS that a player has to understand, one a line.

Source: the description of its client protocol, CLIP 1008 (fibs.com/fibs_interface.html); no program text was used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from bgdata.errors import EngineRefusedError, shown

PROTOCOL = "1008"  # the version of CLIP
YOU = "You"
NEWS = "3"  # the line before the message of the day
_OWN_INFO = (  # the line about oneself, behind the name
    *("allowpip", "autoboard", "autodouble", "automove", "away", "bell", "crawford", "double", "experience", "greedy"),
    *("moreboards", "moves", "notify", "rating", "ratings", "ready", "redoubles", "report", "silent", "timezone"),
)
WANTED = {"autoboard": "1", "moreboards": "1", "automove": "0", "greedy": "0", "crawford": "1", "ready": "1"}


class Said(StrEnum):
    """The kind of a message."""

    BOARD = "board"
    INVITED = "invited"  # by somebody, to a new match
    INVITED_BACK = "invited back"  # to a saved one
    BEGUN = "begun"
    RESUMED = "resumed"
    NEW_GAME = "new game"
    OPENING = "opening"
    ROLLS = "rolls"
    MOVES = "moves"
    FORCED = "forced"  # our play, made by the server
    CANNOT_MOVE = "cannot move"
    TO_ROLL = "to roll"
    DOUBLES = "doubles"
    TAKES = "takes"
    PASSES = "passes"
    RESIGNS = "resigns"
    RESIGNATION_TAKEN = "resignation taken"
    RESIGNATION_REFUSED = "resignation refused"
    WINS_GAME = "wins game"
    WINS_MATCH = "wins match"
    NEXT_GAME = "next game"
    SAVED = "saved"
    NOT_READY = "not ready"
    NOT_ASKED = "not asked"  # whether we double
    CRAWFORD = "crawford"
    REFUSED = "refused"


class Message(NamedTuple):
    """A line that was understood: its kind, and its words by name."""

    said: Said
    words: Mapping[str, str]


_NAME = r"[^\s:.]+"
_LENGTH = r"an? (?P<length>\d{1,4}|unlimi?ted)(?: point)? match"
_POINTS = r"(?P<points>\d{1,6}) points?"
_DICE = r"(?P<die>[1-6])%s(?P<other>[1-6])"
_PATTERNS = [
    (said, re.compile(pattern.replace("NAME", _NAME)))
    for said, pattern in (
        (Said.BOARD, r"(?P<board>board:.*)"),
        (Said.INVITED, rf"(?P<who>NAME) wants to play {_LENGTH} with you\."),
        (Said.INVITED_BACK, r"(?P<who>NAME) wants to resume a saved match with you\."),
        (Said.BEGUN, rf"(?:\*\* )?(?:Player )?(?P<who>NAME) has joined you for {_LENGTH}\.?"),
        (Said.BEGUN, rf"\*\* You are now playing {_LENGTH} with (?P<who>NAME)\.?"),
        (Said.RESUMED, r"(?P<who>NAME) has joined you\. Your running match was loaded\.?"),
        (Said.RESUMED, r"You are now playing with (?P<who>NAME)\. Your running match was loaded\.?"),
        (Said.NEW_GAME, r"Starting a new game with (?P<who>NAME)\.?"),
        (Said.OPENING, r"(?P<who>NAME) rolled (?P<die>[1-6]), NAME rolled (?P<other>[1-6])\.?"),
        (Said.ROLLS, rf"(?P<who>NAME) rolls? {_DICE % ' and '}\.?"),
        (Said.MOVES, r"(?P<who>NAME) moves? (?P<moves>(?:(?:bar|\d\d?)-(?:off|\d\d?) ?){1,4}) ?\.?"),
        (Said.FORCED, r"The only possible move is (?P<moves>(?:(?:bar|\d\d?)-(?:off|\d\d?) ?){1,4}) ?\.?"),
        (Said.CANNOT_MOVE, r"(?P<who>NAME) can't move\.?"),
        (Said.TO_ROLL, r"It's your turn(?:\. Please roll or double| to roll or double)\.?"),
        (Said.DOUBLES, r"(?P<who>NAME) doubles?\. .*"),
        (Said.TAKES, r"(?P<who>NAME) accepts? the double\. The cube shows (?P<cube>\d{1,6})\.?"),
        (Said.PASSES, rf"NAME gives? up\. (?P<who>NAME) wins? {_POINTS}\.?"),
        (Said.RESIGNS, rf"(?P<who>NAME) wants? to resign\. NAME will win {_POINTS}\.?.*"),
        (Said.RESIGNATION_TAKEN, rf"(?P<who>NAME) accepts? and wins? {_POINTS}\.?"),
        (Said.RESIGNATION_REFUSED, r"(?P<who>NAME) rejects?\. The game continues\.?"),
        (Said.WINS_GAME, rf"(?P<who>NAME) wins? the game and gets? {_POINTS}\..*"),
        (Said.WINS_MATCH, r"(?P<who>NAME) wins? the (?P<length>\d{1,4}) point match (?P<score>\d+-\d+) ?\.?"),
        (Said.NEXT_GAME, r"Type 'join' if you want to play the next game, type 'leave' if you don't\."),
        (Said.SAVED, r".*[Tt]he game was saved\.?"),
        (Said.NOT_READY, r"\*\* You're now refusing to play with someone\.?"),
        (Said.NOT_ASKED, r"\*\* You won't be asked if you want to double\.?"),
        (Said.CRAWFORD, r"\*\* The Crawford rule doesn't allow you to double .*"),
        (Said.REFUSED, r"\*\* (?:There is no one called|There's no saved match with|NAME is refusing games|"
                       r"NAME is already playing|NAME didn't invite you|You can't|You have to|You must|Error|Illegal|"
                       r"Unknown command|No one|Please).*"),
    )
]  # fmt: skip


def parse_own_info(line: str, user: str) -> dict[str, str] | None:
    """The settings of a user by name, None for a line that has none. Raises EngineRefusedError for settings of another
    version of the protocol."""
    number_and_name, values = line.split()[:2], line.split()[2:]
    if number_and_name != ["2", user]:
        return None
    clip = f"as CLIP {PROTOCOL} has it"
    if len(values) != len(_OWN_INFO):
        raise EngineRefusedError(
            f"expected {len(_OWN_INFO)} settings of {user}, {clip}, got {len(values)}: {shown(line)}"
        )
    settings = dict(zip(_OWN_INFO, values, strict=True))
    for name in WANTED:
        if settings[name] not in ("0", "1"):
            raise EngineRefusedError(f"expected 0 or 1 as {name} of {user}, {clip}, got {shown(settings[name])}")
    return settings


def parse_message(line: str) -> Message | None:
    """The message of a line; None for lines that do not matter to a player, such as talk between others."""
    for said, pattern in _PATTERNS:
        if found := pattern.fullmatch(line):
            return Message(said, {"line": line, **found.groupdict()})
    return None
