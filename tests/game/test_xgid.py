"""XGIDs: published examples, round trips, and invalid texts."""

import contextlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.errors import InvalidPositionError, InvalidScoreError
from bgdata.game.match import Cube, CubeOwner, MatchScore, Stakes
from bgdata.game.match_state import GameState, MatchState, Offer, Side, format_gnubg_id
from bgdata.game.position import START, Position
from bgdata.game.xgid import Xgid, parse_xgid
from tests.game.match_strategies import running_states
from tests.game.strategies import positions
from tests.subtests import each

START_BOARD = "-b----E-C---eE---c-e----B-"

EXAMPLES = {  # XGID: the gnubg ID that gnubg gives
    f"XGID={START_BOARD}:0:0:1:31:0:0:0:0:10": "4HPwATDgc/ABMA:cIkFAAAAAAAE",
    f"XGID={START_BOARD}:0:0:1:31:0:0:1:0:10": "4HPwATDgc/ABMA:cIkFAAAAAAAA",
    f"XGID={START_BOARD}:1:1:1:00:2:3:0:7:10": "4HPwATDgc/ABMA:UQngADAAEAAE",
    f"XGID={START_BOARD}:1:-1:1:63:2:3:0:7:10": "4HPwATDgc/ABMA:QQnvADAAEAAE",
    f"XGID={START_BOARD}:0:0:1:21:4:6:1:7:10": "4HPwATDgc/ABMA:8AnlAGAAIAAE",
    "XGID=aa--BBBB----dE---d-e----B-:0:0:1:00:0:0:0:0:10": "4PPgAVDYNvABMA:cAkAAAAAAAAE",
    "XGID=aBaB--C-A---dE--ac-e----B-:0:0:1:00:0:0:0:0:10": "4HPhAUgzTvABMA:cAkAAAAAAAAE",
    "XGID=---BBBAAAD--aaA-bbbbbb----:1:1:1:52:0:0:3:0:10": "2LaNAgC2VQ8CAA:UYkKAAAAAAAA",
    "XGID=-BBCCCB------------bbcccb-:0:0:1:00:0:0:0:0:10": "u7sNAADb3Q0AAA:cAkAAAAAAAAE",
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_published_xgids_are_parsed(text: str) -> None:
    xgid = parse_xgid(text)
    assert format_gnubg_id(xgid.position, xgid.match) == EXAMPLES[text]
    assert str(xgid) == text


def test_optional_fields_are_parsed() -> None:
    xgid = parse_xgid("XGID=---BBBAAAD--aaA-bbbbbb----:1:1:1:52:0:0:3:0:8")
    assert (xgid.match.has_beavers, xgid.max_cube, xgid.match.is_jacoby) == (True, 256, True)
    assert parse_xgid(f"{START_BOARD}:0:0:1:31:0:0:2:0:10").match.has_beavers
    assert parse_xgid(f" xgid={START_BOARD}:0:0:1:13:0:0:0:0:10\n") == parse_xgid(f"{START_BOARD}:0:0:1:31:0:0:0:0:10")


def test_board_does_not_turn_with_the_side_on_roll() -> None:
    below = parse_xgid("XGID=a-B--B-BBB-BA----a-bcbbba-:1:1:1:51:2:3:0:7:10")
    above = parse_xgid("XGID=a-B--B-BBB-BA----a-bcbbba-:1:1:-1:51:2:3:0:7:10")
    assert above.position == below.position.flip()
    assert below.position.board[0] == above.position.board[25] == 1  # the top side is on the bar
    assert below.match.stakes == above.match.stakes.flip() == Stakes(MatchScore(5, 4), Cube(2, CubeOwner.ON_ROLL))


@given(positions, running_states, st.integers(10, 20), st.booleans())
def test_xgids_are_parsed_back(position: Position, match: MatchState, doublings: int, has_beavers: bool) -> None:
    is_money_play = not match.length
    xgid = Xgid(position, replace(match, has_beavers=has_beavers and is_money_play), max_cube=1 << doublings)
    assert parse_xgid(str(xgid)) == xgid


@given(st.integers(0, 48), st.sampled_from("-AaPp019:DBRQ "))
def test_one_changed_character_is_a_position_or_an_error(place: int, letter: str) -> None:
    text = f"XGID={START_BOARD}:1:1:1:31:2:3:0:7:10"
    text = text[:place] + letter + text[place + 1 :]
    with contextlib.suppress(InvalidPositionError):
        assert parse_xgid(str(parse_xgid(text))) == parse_xgid(text)


@pytest.mark.parametrize(
    ("text", "offer", "to_decide"),
    [
        (f"{START_BOARD}:0:0:1:D:2:3:0:7:10", Offer.DOUBLE, Side.TOP),
        (f"{START_BOARD}:1:-1:-1:D:2:3:0:7:10", Offer.DOUBLE, Side.BOTTOM),
        (f"{START_BOARD}:1:-1:1:B:0:0:2:0:10", Offer.BEAVER, Side.BOTTOM),
        (f"{START_BOARD}:2:-1:1:R:0:0:2:0:10", Offer.RACCOON, Side.TOP),
    ],
)
def test_offers_are_parsed_back(text: str, offer: Offer, to_decide: Side) -> None:
    xgid = parse_xgid(text)
    assert xgid.match.offer == offer
    assert xgid.match.to_decide == to_decide
    assert xgid.match.roll is None
    assert str(xgid) == "XGID=" + text


def corrupted(number: int, value: str) -> str:
    """An XGID with one field replaced; fields count from 1."""
    fields = f"XGID={START_BOARD}:1:1:1:31:2:3:0:7:10".split(":")
    return ":".join([*fields[: number - 1], value, *fields[number:]])


@each(
    ("text", "rule"),
    [
        ("", "10 fields in an xgid, got 1: ''"),
        (f"XGID={START_BOARD}:1:1:1:31:2:3:0:7", "10 fields in an xgid, got 9"),
        (f"XGID={START_BOARD}:1:1:1:31:2:3:0:7:10:", "10 fields in an xgid, got 11"),
        (f"XG={START_BOARD}:1:1:1:31:2:3:0:7:10", "A to P, a to p or '-', got 'X' at character 1"),
        (corrupted(1, "-b----E-C---eE---c-e----q-"), "A to P, a to p or '-', got 'q' at character 25"),
        (corrupted(1, START_BOARD[:-1]), r"26 characters as field 1 \(position\), got 25"),
        (corrupted(1, "A" + START_BOARD[1:]), r"a small letter first \(top's bar\) and a capital last"),
        (corrupted(1, START_BOARD[:-1] + "a"), r"a small letter first \(top's bar\) and a capital last"),
        (corrupted(1, START_BOARD[:-1] + "A"), "at most 15 checkers of the player on roll"),
        (corrupted(1, "a" + START_BOARD[1:]), "at most 15 checkers of the opponent"),
        (corrupted(2, "-1"), r"a number from 0 to 30 as field 2 \(cube\), got '-1'"),
        (corrupted(2, "31"), r"a number from 0 to 30 as field 2 \(cube\), got '31'"),
        (corrupted(2, "11"), "a cube of at most 1024, got 2048"),
        (corrupted(3, "2"), r"0 or 1 or -1 as field 3 \(cube owner\), got '2'"),
        (corrupted(4, "0"), r"1 or -1 as field 4 \(turn\), got '0'"),
        (corrupted(5, "0"), r"two dice, 00, D, B or R as field 5 \(dice\), got '0'"),
        (corrupted(5, "71"), r"two dice, 00, D, B or R as field 5 \(dice\), got '71'"),
        (corrupted(5, "d"), r"two dice, 00, D, B or R as field 5 \(dice\), got 'd'"),
        (corrupted(5, "B"), "the cube at the side that beavered after a beaver"),
        (corrupted(5, "R"), "the cube at the side that beavered after a raccoon"),
        (corrupted(3, "-1").replace(":31:", ":D:"), "a double by a player who may turn the cube"),
        (corrupted(3, "-1").replace(":31:", ":B:"), "a double by a player who may turn the cube, got one while"),
        (f"{START_BOARD}:1:-1:1:R:0:0:2:0:10", "a cube of at least 4 after a beaver, got 2"),
        (f"{START_BOARD}:0:0:1:D:4:6:1:7:10", "no double in the crawford game"),
        (corrupted(6, "x"), r"a number from 0 to 99999 as field 6 \(score of bottom\), got 'x'"),
        (corrupted(6, "7"), "at least 1 point to go for each side"),
        (corrupted(7, "-3"), r"a number from 0 to 99999 as field 7 \(score of top\), got '-3'"),
        (corrupted(7, "03"), r"a number from 0 to 99999 as field 7 \(score of top\), got '03'"),
        (corrupted(7, "8"), "at least 1 point to go for each side"),
        (corrupted(8, "2"), r"a number from 0 to 1 as field 8 \(crawford/jacoby\), got '2'"),
        (f"{START_BOARD}:1:1:1:31:2:3:4:0:10", r"a number from 0 to 3 as field 8 \(crawford/jacoby\), got '4'"),
        (corrupted(9, "\u0667"), r"a number from 0 to 99999 as field 9 \(match length\)"),
        (corrupted(10, ""), r"a number from 0 to 30 as field 10 \(cube limit\), got ''"),
    ],
)
def test_invalid_xgids_are_refused(text: str, rule: str) -> None:
    with pytest.raises(InvalidPositionError, match=f"^expected {rule}.*{text[-6:]}"):
        parse_xgid(text)


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"match": MatchState(game_state=GameState.OVER)}, "a game in progress in an xgid, got OVER"),
        ({"match": MatchState(resigned=1, to_decide=Side.TOP)}, "no resignation in an xgid"),
        ({"max_cube": 1000}, "a power of two as cube limit, got 1000"),
        ({"match": MatchState(cube_value=4), "max_cube": 2}, "a cube of at most 2, got 4"),
    ],
)
def test_match_that_an_xgid_cannot_hold_is_refused(fields: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidScoreError, match=f"^expected {rule}"):
        Xgid(START, **fields)
