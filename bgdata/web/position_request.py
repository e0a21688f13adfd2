"""Parses addresses of positions: the position, roll and play, and the stakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bgdata.errors import IllegalPlayError, UsageError, cite
from bgdata.evaluation.rows import is_cubeful, stakes_from_options
from bgdata.game.classes import check_has_checkers
from bgdata.game.dice import Roll, parse_roll
from bgdata.game.identifiers import parse_identifier
from bgdata.game.match import MAX_CUBE, CubeOwner, Money, Stakes
from bgdata.game.match_state import MatchState
from bgdata.game.plays import Play, Verdict, judge_play
from bgdata.game.position import Position
from bgdata.web.answer import address, position_path

PLAYS = 10  # number of plays on a page
LONGEST = 300  # maximum number of characters of a notation
SHORT = ("away", "crawford", "cube", "owner", "jacoby", "beavers", "met")  # names of the stakes in a query


class PositionRequest:
    """What the address of a page about a position contains: the position, the roll, the play with a `verdict` on it,
    the score, the cube and the rules. Raises InvalidPositionError, InvalidRollError, InvalidScoreError or UsageError if
    a part is invalid."""

    def __init__(self, text: str, given: Mapping[str, str]) -> None:
        if len(text) > LONGEST:
            raise UsageError(f"expected a position of at most {LONGEST} characters, got {cite(text)}")
        self.text, self.given = text, given
        self.position, self.match = parse_identifier(text)
        check_has_checkers(self.position)
        self.options = options_of(given)
        roll = given.get("roll", "").strip()
        self.roll: Roll | None = parse_roll(roll) if roll else self.match.roll if self.match else None
        play = given.get("play", "").strip()
        self.verdict: Verdict | None = judge_play(play, self.position, self.roll) if play else None
        self.ply = integer_parameter(given, "ply", 0)
        self.plays = integer_parameter(given, "plays", PLAYS)
        self.is_setup = boolean_parameter(given, "setup") or False  # whether the editor is open
        self.stakes: Stakes | None = None
        if self.match or is_cubeful(self.options):
            self.stakes = stakes_from_options(self.match, self.options)

    @property
    def play(self) -> Play | None:
        """The play in the address; None if there is none. Raises IllegalPlayError if it is illegal."""
        if self.verdict and self.verdict.play is None:
            raise IllegalPlayError(self.verdict.error)
        return self.verdict.play if self.verdict else None

    @property
    def own_stakes(self) -> Stakes:
        """The score and cube for cube decisions. If the address contains none, they are money play without the Jacoby
        rule."""
        return self.stakes or Stakes(Money(is_jacoby=False))

    @property
    def state(self) -> MatchState | None:
        """The roll, score, cube and rules as an identifier such as an XGID can express them; None if the address
        contains none. Raises InvalidScoreError if an identifier cannot express them."""
        if self.match and not is_cubeful(self.options):
            found = self.match
        elif self.stakes or self.roll or self.has_beavers:
            found = MatchState.from_stakes(self.own_stakes, roll=self.roll)
        else:
            return None
        return replace(found, has_beavers=self.has_beavers and not found.length)

    @property
    def has_beavers(self) -> bool:
        """Whether beavers are allowed, as the address or an XGID in it says."""
        given: bool | None = self.options["beavers"]
        if given is None and self.match and isinstance(self.own_stakes.score, Money):
            return self.match.has_beavers
        return bool(given)

    @property
    def rules(self) -> dict[str, object]:
        """The parameters of the address that affect the evaluation of the position, besides roll, score and cube."""
        return {"met": self.options["met"], "beavers": int(self.has_beavers), "ply": self.ply}

    @property
    def stakes_parameters(self) -> dict[str, object]:
        """The roll, score and cube as parameters of an address."""
        return {"roll": self.roll, **stakes_query(self.stakes)}

    @property
    def fields(self) -> dict[str, str]:
        """The parameters of the address as strings for the fields of a form; empty for those that are missing."""
        values = {**dict.fromkeys(("roll", *SHORT, "ply"), ""), **self.stakes_parameters, **self.rules}
        return {name: str(value) if value else "" for name, value in values.items()}

    def own_address(self, **changes: object) -> str:
        """Return the address of the page about this position with some of its parameters changed."""
        rest = {"plays": self.given.get("plays"), "setup": int(self.is_setup)}
        return address(position_path(self.position), self.stakes_parameters | self.rules | rest | changes)

    def address_with_rules(self, path: str, **more: object) -> str:
        """Return the address of another page about this position, below `path`, with the same rules, but without roll,
        score and cube."""
        return address(f"{path}{position_path(self.position)[9:]}", self.rules | {"beavers": None} | more)

    def address_with_stakes(self, path: str, **more: object) -> str:
        """Return the address of another page about this position, below `path`, with the same roll, score, cube and
        rules."""
        return address(f"{path}{position_path(self.position)[9:]}", self.stakes_parameters | self.rules | more)

    def address_after(self, play: Play) -> str:
        """Return the address of the page about the position after a play, in which the opponent is on roll."""
        return self._opponent_address(play.next_position)

    @property
    def flip_address(self) -> str:
        """The address of the page about the same checkers with the other player on roll."""
        return self._opponent_address(self.position.flip())

    def _opponent_address(self, position: Position) -> str:
        """Return the address of the page about a position in which the opponent is on roll. Score and cube are seen
        from the opponent's side."""
        stakes = self.stakes.flip() if self.stakes else None
        return address(position_path(position), stakes_query(stakes) | self.rules | {"setup": int(self.is_setup)})


def integer_parameter(given: Mapping[str, str], name: str, default: int, *, least: int = 0, most: int = 9999) -> int:
    """Return the integer that the query parameter `name` gives, or the default if the parameter is missing. Raises
    UsageError if it is not an integer from `least` to `most`."""
    text = given.get(name, "").strip()
    if not text:
        return default
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(most))
    if not is_number or not least <= int(text) <= most:
        raise UsageError(f"expected a whole number from {least} to {most:,} as {name}, got {cite(text)}")
    return int(text)


def boolean_parameter(given: Mapping[str, str], name: str) -> bool | None:
    """Return the boolean that the query parameter `name` gives, as 1, 0, yes or no; None if the parameter is missing.
    Raises UsageError for any other word."""
    text = given.get(name, "").strip().lower()
    words = {"": None, "1": True, "yes": True, "on": True, "0": False, "no": False}
    if text not in words:
        raise UsageError(f"expected 1 or 0 as {name}, got {cite(text)}")
    return words[text]


def options_of(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the score, cube and rules in a query, in the form of a command's options. Raises UsageError if a value is
    invalid."""
    owner = given.get("owner", "").strip() or None
    if owner not in (None, *CubeOwner):
        raise UsageError(f"expected an owner of the cube: {', '.join(CubeOwner)}, got {cite(owner)}")
    return {
        "away": given.get("away", "").strip() or None,
        "crawford": boolean_parameter(given, "crawford") or False,
        "cube_value": integer_parameter(given, "cube", 0, least=1, most=MAX_CUBE) or None,
        "owner": owner,
        "met": given.get("met", "").strip(),
        "jacoby": boolean_parameter(given, "jacoby"),
        "beavers": boolean_parameter(given, "beavers"),
        "as_money": False,
        **dict.fromkeys(("model", "index", "volatility")),
    }


def stakes_query(stakes: Stakes | None) -> dict[str, object]:
    """Return the score and cube as query parameters; empty if `stakes` is None."""
    if stakes is None:
        return {}
    cube = {"cube": stakes.cube.value, "owner": str(stakes.cube.owner)}
    if isinstance(stakes.score, Money):
        return cube | {"jacoby": int(stakes.score.is_jacoby)}
    score = {"away": f"{stakes.score.away}-{stakes.score.opponent_away}", "crawford": int(stakes.score.is_crawford)}
    return score | (cube if stakes.cube.value > 1 else {})
