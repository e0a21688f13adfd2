"""The state of a match with sides that keep their places: what it says to the player on roll, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from bgdata.errors import InvalidScoreError
from bgdata.game.dice import Roll
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.match_state import GameState, MatchState, Offer, Side
from tests.game.match_strategies import match_states, quiet_states
from tests.together import each

TOP, BOTTOM = Side.TOP, Side.BOTTOM
DOUBLED: dict[str, Any] = {"is_double_offered": True, "to_decide": TOP}


def test_sides() -> None:
    assert (TOP.other, BOTTOM.other) == (BOTTOM, TOP)


@pytest.mark.parametrize(
    ("on_roll", "stakes"),
    [
        (BOTTOM, Stakes(MatchScore(5, 4), Cube(2, CubeOwner.ON_ROLL))),
        (TOP, Stakes(MatchScore(4, 5), Cube(2, CubeOwner.OPPONENT))),
    ],
)
def test_stakes_are_seen_by_the_side_on_roll(on_roll: Side, stakes: Stakes) -> None:
    match = MatchState(on_roll=on_roll, to_decide=on_roll, length=7, scores=(3, 2), cube_value=2, cube_owner=BOTTOM)
    assert match.stakes == stakes
    assert MatchState.from_stakes(stakes, on_roll=on_roll, length=7) == match


def test_the_shortest_match_with_a_score() -> None:
    match = MatchState.from_stakes(Stakes(MatchScore(1, 3, is_crawford=True)), roll=Roll(3, 1))
    assert match == MatchState(roll=Roll(3, 1), length=3, scores=(0, 2), is_crawford=True)


@given(quiet_states())
def test_stakes_make_the_state_again(match: MatchState) -> None:
    again = MatchState.from_stakes(match.stakes, roll=match.roll, on_roll=match.on_roll, length=match.length)
    assert again == (
        match if match.length else MatchState.from_stakes(match.stakes, roll=match.roll, on_roll=match.on_roll)
    )
    assert again.stakes == match.stakes


@pytest.mark.parametrize(
    ("score", "length"), [(MatchScore(5, 4), 4), (Money(is_jacoby=True), 3), (MatchScore(1, 1), 0)]
)
def test_length_that_does_not_fit(score: MatchScore | Money, length: int) -> None:
    with pytest.raises(InvalidScoreError, match="expected a match length that fits"):
        MatchState.from_stakes(Stakes(score), length=length)


@given(match_states)
def test_only_a_double_that_is_offered_is_an_offer(match: MatchState) -> None:
    assert (match.offer != Offer.NONE) == match.is_double_offered


def test_offers() -> None:
    beaver = MatchState(is_double_offered=True, to_decide=BOTTOM, cube_value=2, cube_owner=TOP)
    raccoon = MatchState(is_double_offered=True, to_decide=TOP, cube_value=4, cube_owner=TOP)
    assert MatchState(**DOUBLED).offer == Offer.DOUBLE
    assert (beaver.offer, raccoon.offer) == (Offer.BEAVER, Offer.RACCOON)
    resigned = MatchState(is_double_offered=True, to_decide=TOP, cube_value=2, cube_owner=TOP, resigned=1)
    assert resigned.offer == Offer.BEAVER


def test_a_finished_match_has_no_stakes() -> None:
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
def test_rules(fields: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidScoreError, match=f"^expected .*{rule}"):
        MatchState(**fields)
