"""Match states: their stakes for the player on roll, Match IDs and gnubg IDs, and invalid states."""

import base64
import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.errors import InvalidPositionError, InvalidScoreError
from bgdata.game.dice import Roll
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.match_state import (
    GameState,
    MatchState,
    Offer,
    Side,
    format_gnubg_id,
    format_match_id,
    parse_gnubg_id,
    parse_match_id,
)
from bgdata.game.position import START, Position
from tests.game.match_strategies import match_states, states_without_offer
from tests.game.strategies import positions
from tests.subtests import each

TOP, BOTTOM = Side.TOP, Side.BOTTOM
DOUBLED: dict[str, Any] = {"is_double_offered": True, "to_decide": TOP}


@pytest.mark.parametrize(
    ("on_roll", "stakes"),
    [
        (BOTTOM, Stakes(MatchScore(5, 4), Cube(2, CubeOwner.ON_ROLL))),
        (TOP, Stakes(MatchScore(4, 5), Cube(2, CubeOwner.OPPONENT))),
    ],
)
def test_stakes_are_from_the_view_of_the_side_on_roll(on_roll: Side, stakes: Stakes) -> None:
    match = MatchState(on_roll=on_roll, to_decide=on_roll, length=7, scores=(3, 2), cube_value=2, cube_owner=BOTTOM)
    assert match.stakes == stakes
    assert MatchState.from_stakes(stakes, on_roll=on_roll, length=7) == match


def test_default_length_is_the_shortest_match() -> None:
    match = MatchState.from_stakes(Stakes(MatchScore(1, 3, is_crawford=True)), roll=Roll(3, 1))
    assert match == MatchState(roll=Roll(3, 1), length=3, scores=(0, 2), is_crawford=True)


@given(states_without_offer())
def test_stakes_round_trip(match: MatchState) -> None:
    again = MatchState.from_stakes(match.stakes, roll=match.roll, on_roll=match.on_roll, length=match.length)
    assert again.stakes == match.stakes
    if match.length:  # stakes of money play do not have the points won so far
        assert again == match


@pytest.mark.parametrize(
    ("score", "length"), [(MatchScore(5, 4), 4), (Money(is_jacoby=True), 3), (MatchScore(1, 1), 0)]
)
def test_invalid_match_length_is_refused(score: MatchScore | Money, length: int) -> None:
    with pytest.raises(InvalidScoreError, match="expected a match length that fits"):
        MatchState.from_stakes(Stakes(score), length=length)


@given(match_states)
def test_offer_needs_an_offered_double(match: MatchState) -> None:
    assert (match.offer != Offer.NONE) == match.is_double_offered


def test_offer_distinguishes_beaver_and_raccoon() -> None:
    beaver = MatchState(is_double_offered=True, to_decide=BOTTOM, cube_value=2, cube_owner=TOP)
    raccoon = MatchState(is_double_offered=True, to_decide=TOP, cube_value=4, cube_owner=TOP)
    assert MatchState(**DOUBLED).offer == Offer.DOUBLE
    assert beaver.offer == Offer.BEAVER
    assert raccoon.offer == Offer.RACCOON
    resigned = MatchState(is_double_offered=True, to_decide=TOP, cube_value=2, cube_owner=TOP, resigned=1)
    assert resigned.offer == Offer.BEAVER


def test_finished_match_has_no_stakes() -> None:
    match = MatchState(length=5, scores=(6, 0), game_state=GameState.OVER)
    with pytest.raises(InvalidScoreError, match="expected at least 1 point to go"):
        _ = match.stakes


@each(
    ("fields", "rule"),
    [
        ({"length": -1}, "no negative score or length"),
        ({"scores": (0, -1)}, "no negative score or length"),
        ({"resigned": 4}, "a resignation of 0 to 3"),
        ({"is_crawford": True}, "the crawford game in a match only"),
        ({"is_jacoby": True, "length": 3}, "the jacoby rule in money play only"),
        ({"has_beavers": True, "length": 3}, "beavers in money play only, got them in a match to 3"),
        ({"cube_value": 3}, "a power of two"),
        ({"cube_owner": TOP}, "a cube of 1 to be centered"),
        ({"length": 5, "scores": (5, 0)}, "at least 1 point to go"),
        ({"length": 5, "cube_value": 2}, "a centered cube of 1 in a match"),
        ({"length": 5, "is_crawford": True}, "one side at 1-away"),
        ({"length": 5, "is_crawford": True, "scores": (4, 0), "cube_value": 2, "cube_owner": TOP}, "crawford game"),
        ({"to_decide": TOP}, "BOTTOM to decide: BOTTOM is on roll, nothing is offered, got TOP"),
        ({"is_double_offered": True}, "TOP to decide: BOTTOM is on roll, a double is offered, got BOTTOM"),
        ({"resigned": 2}, "TOP to decide: BOTTOM is on roll, a resignation is offered, got BOTTOM"),
        (DOUBLED | {"resigned": 2}, "a double and a resignation is offered, got TOP"),
        (DOUBLED | {"roll": Roll(2, 1)}, "a double before the roll, got it after 21"),
        (DOUBLED | {"length": 5, "is_crawford": True, "scores": (4, 0)}, "no double in the crawford game"),
        (DOUBLED | {"length": 5, "cube_value": 2, "cube_owner": TOP}, "a double by a player who may turn the cube"),
        (DOUBLED | {"cube_value": 2, "cube_owner": TOP}, "a cube of at least 4 after a beaver, got 2"),
    ],
)
def test_invalid_states_are_refused(fields: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidScoreError, match=f"^expected .*{rule}"):
        MatchState(**fields)


SEVEN: dict[str, Any] = {"length": 7, "scores": (3, 2), "cube_value": 2}
FIVE: dict[str, Any] = {"length": 5}

EXAMPLES = {  # by Match ID: nine bytes if published, and the state
    "cAkAAAAAAAAA": ("700900000000000000", MatchState(is_jacoby=True)),
    "cIkFAAAAAAAE": ("708905000000000004", MatchState(roll=Roll(3, 1))),
    "cIkFAAAAAAAA": ("708905000000000000", MatchState(roll=Roll(3, 1), is_jacoby=True)),
    "MIEJAAAAAAAA": ("308109000000000000", MatchState(roll=Roll(3, 2), on_roll=TOP, to_decide=TOP, is_jacoby=True)),
    "UQngADAAEAAE": ("5109e0003000100004", MatchState(cube_owner=BOTTOM, **SEVEN)),
    "QQnvADAAEAAE": ("4109ef003000100004", MatchState(cube_owner=TOP, roll=Roll(6, 3), **SEVEN)),
    "8AnlAGAAIAAE": ("f009e5006000200004", MatchState(roll=Roll(2, 1), length=7, scores=(6, 4), is_crawford=True)),
    "cAmgAAAAAAAE": ("", MatchState(**FIVE)),
    "cBGgAAAAAAAE": ("", MatchState(to_decide=TOP, is_double_offered=True, **FIVE)),
    "QQmgAAAAAAAE": ("", MatchState(cube_value=2, cube_owner=TOP, **FIVE)),
    "QQm3AAAAAAAE": ("", MatchState(cube_value=2, cube_owner=TOP, roll=Roll(6, 5), **FIVE)),
    "QSG3AAAAAAAE": ("", MatchState(cube_value=2, cube_owner=TOP, roll=Roll(6, 5), resigned=1, to_decide=TOP, **FIVE)),
    "cAkAAAAAAAAE": ("", MatchState()),
    "UYkKAAAAAAAA": ("", MatchState(cube_value=2, cube_owner=BOTTOM, roll=Roll(5, 2), is_jacoby=True)),
}


@each("text", list(EXAMPLES))
def test_published_examples_are_parsed(text: str) -> None:
    published, match = EXAMPLES[text]
    assert parse_match_id(text) == match
    assert format_match_id(match) == text
    assert base64.b64decode(text).hex() == (published or base64.b64decode(text).hex())


def test_beaver_and_raccoon_of_gnubg_are_parsed() -> None:
    assert parse_match_id("EREAAAAAAAAA").offer == Offer.BEAVER
    assert parse_match_id("EhkAAAAAAAAA").offer == Offer.RACCOON


def test_resigned_backgammon_of_gnubg_is_parsed() -> None:
    match = parse_match_id("QWOvAGAAAAAE")  # with a cube of 2, in a match to 5
    assert match.game_state == GameState.RESIGNED
    assert match.resigned == 3
    assert match.scores == (6, 0)
    assert match.length == 5


@given(match_states)
def test_match_ids_are_parsed_back(match: MatchState) -> None:
    assert parse_match_id(format_match_id(match)) == match


@given(positions, match_states)
def test_gnubg_ids_are_parsed_back(position: Position, match: MatchState) -> None:
    assert parse_gnubg_id(format_gnubg_id(position, match)) == (position, match)


@given(st.binary(min_size=9, max_size=9))
def test_random_bytes_are_a_match_or_an_error(key: bytes) -> None:
    with contextlib.suppress(InvalidScoreError):
        match = parse_match_id(base64.b64encode(key).decode())
        assert parse_match_id(format_match_id(match)) == match


def test_dice_order_and_jacoby_bit_of_matches_are_ignored() -> None:
    assert parse_match_id("cIkMAAAAAAAA") == parse_match_id("cIkFAAAAAAAA")
    assert parse_match_id("cAmgAAAAAAAA") == parse_match_id("cAmgAAAAAAAE")


def match_id(**fields: int) -> str:
    """A Match ID of money play, bottom on roll, with the given bit fields set."""
    places = {"cube": 0, "owner": 4, "on_roll": 6, "crawford": 7, "state": 8, "turn": 11, "double": 12, "resigned": 13}
    places |= {"die": 15, "other_die": 18, "length": 21, "top": 36, "bottom": 51, "unused": 67}
    fields = {"owner": 3, "on_roll": 1, "state": 1, "turn": 1} | fields
    bits = sum(value << places[name] for name, value in fields.items())
    return base64.b64encode(bits.to_bytes(9, "little")).decode()


@each(
    ("text", "rule"),
    [
        ("", "12 characters in a match id, got 0: ''"),
        ("cAkAAAAAAAA", "12 characters in a match id, got 11"),
        ("cAkAAAAAAAAAA", "12 characters in a match id, got 13"),
        ("cAk-AAAAAAAA", "letters of a match id, got '-' at character 4"),
        ("cAkAAAAAAAA=", "letters of a match id, got '=' at character 12"),
        ("cAkAAAAAAAAA\n", r"letters of a match id, got '\\n' at character 13"),
        ("cAkAAAAAAAAÄ", "letters of a match id, got 'Ä' at character 12"),
        (match_id(unused=1), "no 1 bit after the 67th, in match id"),
        (match_id(owner=2, cube=1), r"a cube owner in \{0, 1, 3\}, got 2"),
        (match_id(state=5), "a game state from 0 to 4, got 5"),
        (match_id(die=7, other_die=1), "two dice from 1 to 6, the higher first, got 7 and 1"),
        (match_id(die=3), "two dice from 1 to 6, the higher first, got 3 and 0"),
        (match_id(other_die=3), "two dice from 1 to 6, the higher first, got 3 and 0"),
        (match_id(length=65), "a match to at most 64 in a match id, got 65"),
        (match_id(length=5, top=6), "at least 1 point to go for each side"),
        (match_id(length=5, bottom=5), "at least 1 point to go for each side"),
        (match_id(crawford=1), "the crawford game in a match only"),
        (match_id(turn=0), "BOTTOM to decide: BOTTOM is on roll, nothing is offered, got TOP"),
        (match_id(double=1), "TOP to decide: BOTTOM is on roll, a double is offered, got BOTTOM"),
        (match_id(resigned=1), "TOP to decide: BOTTOM is on roll, a resignation is offered, got BOTTOM"),
    ],
)
def test_invalid_match_ids_are_refused(text: str, rule: str) -> None:
    with pytest.raises(InvalidScoreError, match=f"^expected {rule}"):
        parse_match_id(text)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"length": 65}, "a match to at most 64 in a match id, got 65"),
        ({"scores": (32768, 0)}, "a score of at most 32767 in a match id, got 32768"),
        ({"cube_value": 65536}, "a cube of at most 32768 in a match id, got 65536"),
    ],
)
def test_values_that_a_match_id_cannot_hold_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidScoreError, match=message):
        format_match_id(MatchState(**fields))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("4HPwATDgc/ABMA", "a position id, ':' and a match id"),
        ("4HPwATDgc/ABM:cAkAAAAAAAAE", "14 characters in a position id, got 13"),
        ("4HPwATDgc/ABMA:cAkAAAAAAA", "12 characters in a match id, got 10"),
        ("4HPwATDgc/ABMA:cAkAAAAAAAAE:", "letters of a match id, got ':' at character 13"),
    ],
)
def test_invalid_gnubg_ids_are_refused(text: str, rule: str) -> None:
    with pytest.raises(InvalidPositionError, match=f"^expected {rule}"):
        parse_gnubg_id(text)


def test_gnubg_id_position_is_from_the_view_of_the_side_on_roll() -> None:
    position, match = parse_gnubg_id("jGfkASjg8wcBMA:MIEJAAAAAAAA")
    assert match.on_roll == TOP
    assert position.rows[1][5] == 5  # five checkers on its own 6 point
    assert parse_gnubg_id("4HPwATDgc/ABMA:cAkAAAAAAAAE")[0] == START
