"""Tests of positions inside texts: eXtreme Gammon's and gnubg's texts with analysis, OpenGammon IDs, addresses of the
explorer, and identifiers with punctuation around them."""

from pathlib import Path

import pytest

from bgdata.errors import InvalidPositionError, InvalidScoreError
from bgdata.game.identifiers import identifiers_in, parse_identifier
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.ogid import parse_ogid
from bgdata.game.position import START
from tests.command_line import run
from tests.subtests import each

XGID = "XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10"
OTHER = "XGID=-b----E-C--AeD---bAdb---A-:0:0:1:52:0:0:3:0:10"
XG_TEXT = f"""{OTHER}
X:Player 1   O:Player 2
Score is X:0 O:0. Unlimited Game, Jacoby Beaver
 +13-14-15-16-17-18------19-20-21-22-23-24-+
X to play 52

    1. XG Roller++  18/11                       eq:-0.0026
      Player:   50.64% (G:11.55% B:0.54%)

A note of mine, with {XGID} inside
"""
GNUBG_TEXT = """ GNU Backgammon  Position ID: 4HPwATDgc/ABMA
                 Match ID   : cAlpAAAAAAAE
 +13-14-15-16-17-18------19-20-21-22-23-24-+     O: gnubg
"""
OPENING = "11ccccchhhjjjjj:66666888dddddoo"


@each(
    ("text", "roll"),
    [
        (f"see {XGID}, please", "31"),
        (f"({XGID})", "31"),
        (f"{XGID}.", "31"),
        (f"\ufeff{XGID}\u200b", "31"),
        (GNUBG_TEXT, "22"),
        ("GNU Backgammon  Position ID: 4HPwATDgc/ABMA", None),
        ("gnubg says 4HPwATDgc/ABMA:cAlpAAAAAAAE, doesn't it?", "22"),
        ('"4HPwATDgc/ABMA "', None),
        ("4HPwATDgc/ABMA.", None),
        ("`4HPwATDgc/ABMA`", None),
        ("http://127.0.0.1:8000/position/4HPwATDgc/ABMA", None),
        ("https://example.org/position/4HPwATDgc%2FABMA?roll=31", "31"),
        (f"/position/{XGID}", "31"),
        (f"look at http://localhost/position/{XGID}.", "31"),
        (f"{OPENING}:N0N:31:W:R:0:0:0:1", "31"),
        (f"the position {OPENING}:N0N, I think", None),
    ],
)
def test_position_in_a_text_is_found(text: str, roll: str | None) -> None:
    position, match = parse_identifier(text)
    assert position == START
    assert (str(match.roll) if match and match.roll else None) == roll


def test_first_line_of_extreme_gammon_text_is_the_position() -> None:
    position, match = parse_identifier(XG_TEXT)
    assert (position, match) == parse_identifier(OTHER)
    assert match is not None
    assert match.is_jacoby


@pytest.mark.parametrize(
    ("query", "stakes"),
    [
        ("away=5-3&cube=2&owner=opponent&roll=64", Stakes(MatchScore(5, 3), Cube(2, CubeOwner.OPPONENT))),
        ("away=1-3&crawford=1", Stakes(MatchScore(1, 3, is_crawford=True))),
        ("jacoby=1&unknown=x", Stakes(Money(is_jacoby=True))),
    ],
)
def test_stakes_in_an_address_are_read(query: str, stakes: Stakes) -> None:
    _, match = parse_identifier(f"/position/4HPwATDgc/ABMA?{query}")
    assert match is not None
    assert match.stakes == stakes


def test_text_with_several_positions_is_refused() -> None:
    for text in (f"{XGID}\n{OTHER}", f"{XGID} or {OTHER}?"):
        with pytest.raises(InvalidPositionError, match=r"expected one position in a text, got 2: 'XGID=.*' and 'XGID="):
            parse_identifier(text)
    assert parse_identifier(f"{XGID} and {XGID}")[0] == START


@each(
    "text",
    [
        "hello", "4HPwATDgc/ABM", "backgammonbook is a word", "XGID=-b----E-C---eE---c-e----B:0:0:1:00:0:0:0:0:10",
        "see XGID=-b----E-C---eE---c-e----P-:0:0:1:00:0:0:0:0:10 there", "Position ID: 4HPwATDgc/ABMAA",
        "/position/nothing", "http://x/positions/4HPwATDgc/ABMA?", "/position/4HPwATDgc/ABMA?cube=2&owner=me",
        f"{OPENING}:N0N:31:B:R:9:0:7:1", "/position/4HPwATDgc/ABMA?cube=3", "/position/4HPwATDgc/ABMA?away=0-3",
        "66666:66666:N0N", "p:0:N0N", f"{OPENING}1:N0N", "", " ",
    ],
)  # fmt: skip
def test_text_without_a_position_is_refused(text: str) -> None:
    with pytest.raises(InvalidPositionError) as caught:
        parse_identifier(text)
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


def test_open_gammon_id_has_position_roll_and_score() -> None:
    position, match = parse_ogid(f"{OPENING}:N0N:31:W:R:4:3:7:1")  # white acted, so black is on roll
    assert position == START
    assert str(match.roll) == "31"
    assert match.stakes.score == MatchScore(4, 3)


def test_open_gammon_id_is_from_the_view_of_the_side_on_roll() -> None:
    position, match = parse_ogid("cccccggggg:ddddiiiiii:W1N:63:B:R:4:3:7:1")
    assert position.pip_count == 5 * 13 + 5 * 9
    assert position.opponent_pip_count == 4 * 13 + 6 * 18
    assert match.stakes == Stakes(MatchScore(3, 4), Cube(2, CubeOwner.ON_ROLL))


def test_open_gammon_ids_may_begin_a_match_or_be_crawford() -> None:
    assert parse_ogid(f"{OPENING}:N0N::W:IW:0:0:1:0")[1].stakes.score == MatchScore(1, 1)
    assert parse_ogid(f"OGID={OPENING}:N0N:31:W:R:6:5:7C:1")[1].stakes.is_crawford is True


def test_open_gammon_id_of_a_won_match_is_refused() -> None:
    with pytest.raises(InvalidScoreError, match="expected scores below the 7 points of the match, got 9 and 0"):
        parse_ogid(f"{OPENING}:N0N:31:B:R:9:0:7:1")


@each(
    "text",
    [
        "11ccccchhhjjjjj:66666888dddddoo:N0N::W:IW:0:0:1:0",
        "0cccchhhjjjjj:66666888dddddp:W2N:31:W:R:2:3:5:9",
        "0cccchhhjjjjj:66666888dddddp:B2N:31:B:R:2:3:5:9",
        "1133hhhjjjjj:6666688dddoo:N0N:62:B:R:0:0:0:9",
    ],
)
def test_open_gammon_ids_match_the_package_gammonview(text: str) -> None:
    gvformat = pytest.importorskip("gvformat", reason="the extra matches is not installed")
    expected = gvformat.parse_ogid(text)
    position, match = parse_ogid(text)
    assert list(position.board) == expected.board
    owner = {"centered": "centered", "player": "on_roll", "opponent": "opponent"}[expected.cube_owner]
    assert (match.stakes.cube.value, match.stakes.cube.owner) == (expected.cube_value, owner)
    if expected.match_length:
        score = match.stakes.score
        assert isinstance(score, MatchScore)
        assert (score.away, score.opponent_away) == (expected.away1, expected.away2)


def test_identifiers_in_long_texts_are_found_within_limits() -> None:
    assert identifiers_in("x " * 5000 + XGID) == [XGID]
    assert identifiers_in("x " * 50_000 + XGID) == []


NETWORK = ("--network", "random")


@pytest.mark.parametrize("command", [("show",), ("eval", *NETWORK), ("hint", *NETWORK), ("cube", *NETWORK)])
def test_commands_read_positions_in_texts(player_root: Path, command: tuple[str, ...]) -> None:
    assert run(player_root, *command, XG_TEXT).exit_code == 0
