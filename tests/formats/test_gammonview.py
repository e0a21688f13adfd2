"""Tests of binary match files: one session that other programs wrote in three formats, and damage to them."""

import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bgdata.errors import CorruptFileError, MissingExtraError
from bgdata.formats.gammonview import XG_RECORDS, _Ending, join_files, match_file, parse_document, split_stream
from bgdata.formats.match_files import holds_matches, match_form, read_matches
from bgdata.formats.matches import BY_HAND, Match, MatchFile, TurnKind
from bgdata.formats.replay import ReplayedFile, replay_file
from tests.subtests import each

pytest.importorskip("gvformat", reason="the extra matches is not installed")
FOLDER = Path(__file__).parent / "binary"
FORMS = ("xg", "bgf", "ogxm")
XG_RECORD = 2560  # bytes


def read_session(form: str) -> ReplayedFile:
    """The session as one program wrote it, replayed."""
    return replay_file(read_matches(FOLDER / f"session.{form}"))


def turns_by_game(file: ReplayedFile) -> list[list[tuple[Any, ...]]]:
    """The turns of each game: kind, dice, position and play, without names and columns."""
    return [
        [
            (entry.turn.kind, tuple(sorted(entry.turn.dice or ())), entry.position, str(entry.play))
            for entry in turns
            if entry.turn.kind in (TurnKind.PLAY, TurnKind.DOUBLE, TurnKind.TAKE, TurnKind.PASS)
        ]
        for turns in file.replays.values()
    ]


def winners(match: Match) -> list[tuple[str, int | None]]:
    """The winner's name and the points of each game."""
    return [(match.players[game.winner or 0], game.points) for game in match.games]


@each("form", FORMS)
def test_games_equal_those_of_the_text_file(form: str) -> None:
    file, text_file = read_session(form), read_session("mat")
    assert file.rejects == []
    assert turns_by_game(file) == turns_by_game(text_file)
    (match,), (expected,) = file.matches, text_file.matches
    assert sorted(match.players) == sorted(expected.players) == ["Bluepoint02", "Fox"]
    assert (match.form, match.length) == (form, 0)
    assert winners(match) == winners(expected)


def test_ledger_has_a_line_for_each_game_and_turn() -> None:
    file = read_session("xg")
    turns = sum(len(turns) for turns in file.replays.values())
    assert file.counts.lines == file.counts.rows == len(file.replays) + turns


def test_analysis_of_a_turn_is_read() -> None:
    first = next(iter(read_session("xg").replays.values()))[0].turn
    plays, luck = first.analyses
    assert plays.subject == "play"
    assert plays.analyst == "xg"
    assert luck.subject == "luck"
    best, second = plays.choices[:2]
    assert (best.equity, best.is_made, best.level) == (0.0269, True, "database")
    assert (second.equity, second.is_made) == (0.0127, False)
    assert best.chances == pytest.approx((0.5055, 0.1407, 0.0075, 0.1359, 0.0054), abs=1e-4)
    assert [(move.from_point, move.to_point) for move in best.moves or ()] == [(24, 20), (13, 8)]
    assert luck.choices[0].equity == 0.0269


def test_analysis_of_the_cube_is_read() -> None:
    turns = next(iter(read_session("bgf").replays.values()))
    cube_turns = [entry.turn for entry in turns if entry.turn.kind in (TurnKind.DOUBLE, TurnKind.PASS)]
    assert len(cube_turns) == 2
    for turn in cube_turns:
        (analysis,) = (analysis for analysis in turn.analyses if analysis.subject == "cube")
        equities = {choice.text: choice.equity for choice in analysis.choices}
        assert equities == {"no double": 0.7887, "double, take": 0.9156, "double, pass": 1.0}


def test_match_has_its_date_place_and_ratings() -> None:
    info = dict(read_session("xg").matches[0].info)
    assert (info["EventDate"], info["Site"]) == ("2026.01.04", "SampleServer")
    assert "Rating" in info


@each(("name", "form"), [("session.mat", "mat"), *((f"session.{form}", form) for form in FORMS)])
def test_format_is_found_by_content(tmp_path: Path, name: str, form: str) -> None:
    renamed = tmp_path / "renamed.dat"
    renamed.write_bytes((FOLDER / name).read_bytes())
    assert match_form(renamed.read_bytes()) == form
    assert holds_matches(renamed)
    assert [match.form for match in read_matches(renamed).matches] == [form]


@pytest.mark.parametrize("content", [b"", b"# A list\n", b'{"version": 1}', b"RGM", b"\x89PNG\r\n", b"12 points\n"])
def test_files_without_matches_are_recognized(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "no-match"
    path.write_bytes(content)
    assert not holds_matches(path)


@each("form", FORMS)
def test_damaged_files_raise_or_give_legal_games(form: str) -> None:
    """Files are cut, or have a wrong byte, at 25 offsets."""
    content = (FOLDER / f"session.{form}").read_bytes()
    for offset in range(20, len(content), len(content) // 25):
        cut = content[:offset]
        wrong_byte = cut + bytes([content[offset] ^ 0x5A]) + content[offset + 1 :]
        for damaged in (cut, wrong_byte):
            with suppress(CorruptFileError):
                replay_file(parse_document(damaged, "x"))


@each("form", FORMS)
def test_cut_file_is_named_with_its_program(form: str) -> None:
    content = (FOLDER / f"session.{form}").read_bytes()
    program = {"xg": "eXtreme Gammon", "bgf": "BGBlitz", "ogxm": r"OpenGammon \(OGXM\)"}[form]
    with pytest.raises(CorruptFileError, match=f"expected a whole file of {program} in x, found damage"):
        parse_document(content[:200], "x")


@pytest.mark.parametrize("form", ["xg", "bgf"])
def test_files_that_unpack_to_too_much_are_refused(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setenv("BGDATA_MOST_UNPACKED_BYTES", "10000")
    with pytest.raises(CorruptFileError, match=rf"expected at most 10,000 bytes in a \.{form} file"):
        parse_document((FOLDER / f"session.{form}").read_bytes(), "x")


def reasons(file: MatchFile) -> list[str]:
    """Why games are quarantined, without their other lines."""
    return [bad.reason for bad in file.rejects if "see line" not in bad.reason]


def change_xg(change: Callable[[memoryview], None]) -> MatchFile:
    """Read the session with changed records."""
    content = (FOLDER / "session.xg").read_bytes()
    begin = XG_RECORDS + int.from_bytes(content[20:24], "little")
    unpacked = bytearray(zlib.decompress(content[begin:]))
    for offset in range(0, len(unpacked), XG_RECORD):
        change(memoryview(unpacked)[offset : offset + XG_RECORD])
    return replay_file(parse_document(content[:begin] + zlib.compress(unpacked), "x"))


CUBE, MOVE, END_OF_GAME = 2, 3, 4  # kinds of records, in their byte 8


def test_games_from_set_up_positions_are_set_aside() -> None:
    """The position in an .xgp file is read as such a game."""

    def put_four_checkers_on_point_6(record: memoryview) -> None:
        if record[8] == MOVE:
            record[9 + 6] = 4

    file = change_xg(put_four_checkers_on_point_6)
    assert not any(match.games for match in file.matches)
    assert reasons(file) == [BY_HAND] * 3


def test_beavers_are_not_taken_for_passes() -> None:
    def answer_doubles_by_beavers(record: memoryview) -> None:
        if record[8] == CUBE and record[16] == 1:
            record[20:24] = (2).to_bytes(4, "little")

    file = change_xg(answer_doubles_by_beavers)
    assert set(reasons(file)) == {"expected no beaver, which is not read from .xg files"}


def test_games_without_an_end_have_no_winner() -> None:
    def remove_end(record: memoryview) -> None:
        if record[8] == END_OF_GAME:
            record[8] = 99

    (match,) = change_xg(remove_end).matches
    assert len(match.games) == 3
    assert {game.winner for game in match.games} == {None}


DOCUMENT: dict[str, Any] = {"match_length": 3, "player_white": "ann", "player_black": "", "crawford": True}


def document(*plies: dict[str, Any], **more: Any) -> ReplayedFile:
    """A match of one game."""
    game = {"plies": list(plies), "winner": 0, "points_won": 1, "is_crawford": False}
    return replay_file(match_file({**DOCUMENT, "games": [game], **more}, {}, "ogxm"))


def play(color: int, dice: tuple[int, int], *steps: tuple[int, int], **more: Any) -> dict[str, Any]:
    moves = [{"from": start, "pips": pips} for start, pips in steps]
    return {"color": color, "action_id": 1, "d1": dice[0], "d2": dice[1], "moves": moves, **more}


OPENING = play(1, (3, 1), (17, 3), (19, 1))


def test_documents_with_variations_are_refused_by_name() -> None:
    for variant, name in ((1, "Nackgammon"), (2, "Hypergammon"), (7, "variant 7")):
        (first, *_) = document(OPENING, variant=variant).rejects
        assert first.reason == f"expected backgammon, got a record of '{name}'"


@each(
    ("ply", "reason"),
    [
        (play(0, (3, 1), (8, 3), (6, 2)), "expected a legal play"),
        ({"color": 1, "action_id": 31, "set_position": [0] * 26}, BY_HAND),
        ({"color": 1, "action_id": 31, "set_position": [0] * 26, "d1": 3, "d2": 1}, "got one that breaks the rules"),
        ({"color": 1, "action_id": 34}, "expected a roll or a cube action, got action 34"),
        ({"color": 1, "action_id": 22}, "expected a take of a double"),
    ],
)
def test_turn_that_breaks_a_rule_is_refused(ply: dict[str, Any], reason: str) -> None:
    (bad,) = (bad for bad in document(OPENING, ply).rejects if "see line" not in bad.reason)
    assert reason in bad.reason
    assert bad.line == 3
    assert bad.text.startswith("game 1: ")


def test_missing_name_is_the_color() -> None:
    (match,) = document(OPENING).matches
    assert match.players == ("ann", "black")


def test_comment_and_luck_of_a_turn_are_read() -> None:
    annotation = {"annotations": [{"value": "Well played", "author": "bo"}], "analysis": {"luck": 0.5}}
    (turn,) = document(OPENING | annotation).replays[0]
    luck, comment = turn.turn.analyses
    assert luck.subject == "luck"
    assert (comment.subject, comment.analyst, comment.choices[0].text) == ("comment", "bo", "Well played")


def test_unfinished_game_has_no_result() -> None:
    ending = {0: _Ending(None, is_over=False)}
    file = match_file({**DOCUMENT, "games": [{"plies": [OPENING], "winner": 0, "points_won": 1}]}, ending, "xg")
    assert file.matches[0].games[0].winner is None


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gvformat", None)
    with pytest.raises(MissingExtraError, match=r"expected gvformat to read a\.xg, found none; try: .*\[matches\]"):
        parse_document((FOLDER / "session.xg").read_bytes(), "a.xg")


def convert_text(name: str) -> bytes:
    """Let the package write a .mat file as .ogxm."""
    import gvformat

    return gvformat.write_gvab(gvformat.convert_mat(FOLDER / name))


@pytest.fixture(scope="module")
def files_of_a_stream() -> list[bytes]:
    """Three .ogxm files of 3, 3 and 1 games; the first has the older format."""
    return [(FOLDER / "session.ogxm").read_bytes(), convert_text("session.mat"), convert_text("short.mat")]


def test_stream_has_the_matches_of_all_its_files(files_of_a_stream: list[bytes]) -> None:
    stream = b"".join(files_of_a_stream)
    assert split_stream(stream) == files_of_a_stream
    file = replay_file(parse_document(stream, "x.ogxms"))
    assert file.rejects == []
    assert [len(match.games) for match in file.matches] == [3, 3, 1]
    assert turns_by_game(file)[:3] == turns_by_game(read_session("ogxm"))
    assert turns_by_game(file)[3:6] == turns_by_game(read_session("mat"))
    lines = [game.units for match in file.matches for game in match.games]
    for before, after in pairwise(lines):
        assert before.stop == after.start


def test_damaged_part_of_a_stream_is_quarantined(files_of_a_stream: list[bytes]) -> None:
    first, second, third = files_of_a_stream
    damaged = second[:40] + bytes(len(second) - 48) + second[-8:]
    file = replay_file(parse_document(first + damaged + third, "x.ogxms"))
    assert [len(match.games) for match in file.matches] == [3, 1]
    (bad,) = file.rejects
    assert bad.reason.startswith("expected a whole file of OpenGammon (OGXM) in part 2 of x.ogxms, found damage")


def test_cut_part_of_a_stream_is_quarantined(files_of_a_stream: list[bytes]) -> None:
    first, second, _ = files_of_a_stream
    file = replay_file(parse_document(first + second[:60], "x.ogxms"))
    assert [len(match.games) for match in file.matches] == [3]
    assert len(file.rejects) == 1


def test_flaws_of_a_stream_name_their_line() -> None:
    first = read_session("ogxm")
    second = document(OPENING, {"color": 1, "action_id": 34})
    (bad,) = (bad for bad in join_files([first, second]).rejects if "see line" not in bad.reason)
    assert bad.line == first.counts.lines + 3
