"""Every format is recognised, and errors are about the format that a text resembles most."""

import contextlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.errors import InvalidPositionError, InvalidScoreError
from bgdata.game.identifiers import (
    FORMATS,
    WRITERS,
    format_board,
    format_xgid,
    omission_note,
    parse_board,
    parse_identifier,
    possible_identifiers,
)
from bgdata.game.match_state import MatchState, Side, parse_match_id
from bgdata.game.position import START, Position
from tests.game.match_strategies import running_states
from tests.game.strategies import positions
from tests.subtests import each

START_BOARD = "-b----E-C---eE---c-e----B-"

EXAMPLES = {  # Position IDs of published positions, and the same positions in other formats
    "4HPwATDgc/ABMA": [
        "4HPwATDgc/ABMA:cAkAAAAAAAAA",
        "OAHDPAABDAOAHDPAABDA",
        f"XGID={START_BOARD}:0:0:1:31:0:0:0:0:10",
        "[0,-2,0,0,0,0,5,0,3,0,0,0,-5,5,0,0,0,-3,0,-5,0,0,0,0,2,0]",
        "0 -2 0 0 0 0 5 0 3 0 0 0 -5 5 0 0 0 -3 0 -5 0 0 0 0 2 0",
    ],
    "2K6JAyDYbgcDEA": [
        "NIKOIJADCANIGOAHADBA",
        "( 0, -1,  0, 0, 2, 2, 3, 2, 3, 0, 0, 0, -3,\n 2, 0, -1, 0, -2, -1, -3, -2, -2, 0, 1, 0, 0 )",
    ],
    "2LaNAgC2VQ8CAA": ["XGID=---BBBAAAD--aaA-bbbbbb----:1:1:1:52:0:0:3:0:10", "2LaNAgC2VQ8CAA:UYkKAAAAAAAA"],
    "u7sNAADb3Q0AAA": ["XGID=-BBCCCB------------bbcccb-:0:0:1:00:0:0:0:0:10"],
    **{published: [] for published in ("CwAAkO29gAAAAA", "2d4LCADbAQAAAA", "mGfwATDgc/ABMA", "AAAAAgAAAAAAAA")},
}


@pytest.mark.parametrize("position_id", EXAMPLES)
def test_every_format_is_recognised(position_id: str) -> None:
    for text in [position_id, *EXAMPLES[position_id]]:
        assert Position(text).id == position_id
        assert Position(f"\n {text}\t").id == position_id


@given(positions, st.none() | running_states.filter(lambda match: match.cube_value <= 1024))
def test_identifiers_are_parsed_back(position: Position, match: MatchState | None) -> None:
    identifiers = possible_identifiers(position, match)
    assert [*identifiers] == [*WRITERS]
    assert parse_match_id(identifiers.pop("match_id")) == (match or MatchState())
    for name, text in identifiers.items():
        match_of = (match or MatchState()) if name in ("gnubg_id", "xgid") else None
        assert parse_identifier(text) == (position, match_of)
    assert parse_board(str(list(position.board))) == parse_board(format_board(position)) == position


def test_identifiers_of_the_start() -> None:
    assert possible_identifiers(START) == {
        "position_id": "4HPwATDgc/ABMA",
        "match_id": "cAkAAAAAAAAE",
        "gnubg_id": "4HPwATDgc/ABMA:cAkAAAAAAAAE",
        "xgid": f"XGID={START_BOARD}:0:0:1:00:0:0:0:0:10",
        "key20": "OAHDPAABDAOAHDPAABDA",
        "board": "0,-2,0,0,0,0,5,0,3,0,0,0,-5,5,0,0,0,-3,0,-5,0,0,0,0,2,0",
    }


def test_match_that_an_identifier_cannot_hold_is_refused() -> None:
    resigned = MatchState(resigned=1, to_decide=Side.TOP)
    with pytest.raises(InvalidScoreError, match="expected no resignation in an xgid"):
        format_xgid(START, resigned)
    identifiers = possible_identifiers(START, resigned)
    assert "xgid" not in identifiers
    assert parse_match_id(identifiers["match_id"]) == resigned


@pytest.mark.parametrize("rules", [2, 3], ids=["beavers", "jacoby and beavers"])
@pytest.mark.parametrize("cube_and_dice", ["0:0:1:00", "0:0:1:D", "1:-1:1:B", "2:-1:1:R"])
def test_only_xgids_say_that_beavers_are_allowed(cube_and_dice: str, rules: int) -> None:
    xgid = f"XGID={START_BOARD}:{cube_and_dice}:0:0:{rules}:0:10"
    position, match = parse_identifier(xgid)
    assert match is not None
    assert match.has_beavers
    identifiers = possible_identifiers(position, match)
    assert identifiers["xgid"] == xgid
    without_beavers = replace(match, has_beavers=False)
    assert parse_identifier(identifiers["gnubg_id"]) == (position, without_beavers)
    assert omission_note(match) == "match_id and gnubg_id do not say that beavers are allowed"
    assert omission_note(without_beavers) == omission_note(None) == ""


def test_cube_above_default_limit_raises_the_xgid_limit() -> None:
    match = MatchState(cube_value=2048, cube_owner=Side.BOTTOM)
    assert possible_identifiers(START, match)["xgid"].endswith(":0:11")


@each(
    ("text", "error"),
    [
        ("", "position id: expected 14 characters in a position id, got 0: ''"),
        ("4HPwATDgc/ABM", "position id: expected 14 characters in a position id, got 13"),
        ("4HPwATDgc!ABMA", "position id: expected letters of a position id, got '!' at character 10"),
        ("4HPwATDgc-ABMA", "position id: expected letters of a position id, got '-' at character 10"),
        ("4HPwATDgc/ABMAA", "position id: expected 14 characters in a position id, got 15"),
        ("//////////////", "position id: expected "),
        ("4HPwATDgc/ABMA=", "position id: expected letters of a position id, got '=' at character 15"),
        ("4HPwATDgc/ABMB", "position id: expected one of A, Q, g, w as the last of 14 characters, got 'B'"),
        ("4HPwATDgc/ABMA:", "gnubg id: expected 12 characters in a match id, got 0"),
        ("4HPwATDgc/ABMA:cAkAAAAAAA_E", "gnubg id: expected letters of a match id, got '_' at character 11"),
        ("4HPwATDgc/AB:cAkAAAAAAAAE", "gnubg id: expected 14 characters in a position id, got 12"),
        ("OAHDPAABDAOAHDPAABDQ", "20-letter key: expected letters of a 20-letter key, got 'Q' at character 20"),
        ("OAHDPAABDAOAHDPAABD", "20-letter key: expected 20 characters in a 20-letter key, got 19"),
        ("OAHDPAABDAOAHDP", "20-letter key: expected 20 characters in a 20-letter key, got 15"),
        (START_BOARD, "xgid: expected 10 fields in an xgid, got 1"),
        ("XGID=", "xgid: expected 10 fields in an xgid, got 1"),
        (f"XGID={START_BOARD}:0:0:2:31:0:0:0:0:10", "xgid: expected 1 or -1 as field 4"),
        ("[0, 1, 2]", "26 integers: expected 26 integers, got 3"),
        ("[0, 1, 2)", "26 integers: expected ']' at the end of a board, got"),
        ("[", "26 integers: expected ']' at the end of a board, got"),
        ("0,1,,2", "26 integers: expected an integer, got '' as number 3 of"),
        ("0 1 two", "26 integers: expected an integer, got 'two' as number 3 of"),
        ("0 1 2.0", "26 integers: expected an integer, got '2.0' as number 3 of"),
        (" ".join(["0"] * 27), "26 integers: expected 26 integers, got 27"),
        (" ".join(["-1"] * 26), "26 integers: expected no negative count on a bar"),
        (" ".join(["16", *["0"] * 25]), "26 integers: expected at most 15 checkers of the opponent"),
    ],
)
def test_errors_name_the_closest_format(text: str, error: str) -> None:
    with pytest.raises(InvalidPositionError) as caught:
        Position(text)
    assert str(caught.value).startswith(f"expected one of {', '.join(FORMATS)}; as {error}")


@given(st.text(max_size=60))
def test_random_text_is_a_position_or_an_error(text: str) -> None:
    with contextlib.suppress(InvalidPositionError):
        assert isinstance(Position(text), Position)
