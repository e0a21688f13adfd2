"""Tests of binary match files: one session that other programs wrote in three formats, and damage to them."""

import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bgdata.errors import CorruptFileError, MissingExtraError
from bgdata.formats.gammonview import XG_RECORDS, _Ending, join_files, match_file, parse_document, split_stream
from bgdata.formats.match_files import holds_matches, match_form, read_matches
from bgdata.formats.matches import BY_HAND, MatchFile, TurnKind
from bgdata.formats.replay import ReplayedFile, replay_file
from tests.subtests import each

pytest.importorskip("gvformat", reason="the extra matches is not installed")
FOLDER = Path(__file__).parent / "binary"
FORMS = ("xg", "bgf", "ogxm")
XG_RECORD = 2560  # bytes


def session(form: str) -> ReplayedFile:
    """The session as one program wrote it, replayed."""
    return replay_file(read_matches(FOLDER / f"session.{form}"))


def plays_of(file: ReplayedFile) -> list[list[tuple[Any, ...]]]:
    """What happened in each game, without names and columns."""
    return [
        [
            (entry.turn.kind, tuple(sorted(entry.turn.dice or ())), entry.position, str(entry.play))
            for entry in replayed
            if entry.turn.kind in (TurnKind.PLAY, TurnKind.DOUBLE, TurnKind.TAKE, TurnKind.PASS)
        ]
        for replayed in file.replays.values()
    ]


@each("form", FORMS)
def test_games_equal_those_of_the_text_file(form: str) -> None:
    text, found = session("mat"), session(form)
    assert plays_of(found) == plays_of(text)
    assert found.rejects == []
    (match,), (expected,) = found.matches, text.matches
    assert sorted(match.players) == sorted(expected.players) == ["Bluepoint02", "Fox"]
    assert (match.form, match.length) == (form, 0)
    seat = match.players.index(expected.players[0])
    results = [((game.winner or 0) ^ seat, game.points) for game in match.games]
    assert results == [(game.winner, game.points) for game in expected.games]


def test_ledger_has_a_line_for_each_turn() -> None:
    counts = session("xg").counts
    assert counts.lines == counts.rows == sum(len(turns) for turns in session("xg").replays.values()) + 3


def test_analysis_of_a_turn_is_read() -> None:
    first = next(iter(session("xg").replays.values()))[0].turn
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
    turns = next(iter(session("bgf").replays.values()))
    double, passed = (entry.turn for entry in turns if entry.turn.kind in (TurnKind.DOUBLE, TurnKind.PASS))
    for turn in (double, passed):
        (cube,) = (said for said in turn.analyses if said.subject == "cube")
        assert [(choice.text, choice.equity) for choice in cube.choices] == [
            ("no double", 0.7887), ("double, take", 0.9156), ("double, pass", 1.0),
        ]  # fmt: skip


def test_match_has_its_date_place_and_ratings() -> None:
    info = dict(session("xg").matches[0].info)
    assert (info["EventDate"], info["Site"]) == ("2026.01.04", "SampleServer")
    assert "Rating" in info


@each(("name", "form"), [("session.mat", "mat"), *((f"session.{form}", form) for form in FORMS)])
def test_format_is_found_by_content(tmp_path: Path, name: str, form: str) -> None:
    renamed = tmp_path / "renamed.dat"
    renamed.write_bytes((FOLDER / name).read_bytes())
    assert match_form(renamed.read_bytes()) == form
    assert holds_matches(renamed)
    assert [match.form for match in read_matches(renamed).matches] == [form]


def test_files_without_matches_are_recognized(tmp_path: Path) -> None:
    path = tmp_path / "no-match"
    for content in (b"", b"# A list\n", b'{"version": 1}', b"RGM", b"\x89PNG\r\n", b"12 points\n"):
        path.write_bytes(content)
        assert not holds_matches(path), content


@each("form", FORMS)
def test_damaged_files_raise_or_give_legal_games(form: str) -> None:
    """A file that is cut or has a wrong byte, at 25 places, raises an error or gives games that keep the rules."""
    content = (FOLDER / f"session.{form}").read_bytes()
    for place in range(20, len(content), len(content) // 25):
        cut = content[:place]
        wrong_byte = cut + bytes([content[place] ^ 0x5A]) + content[place + 1 :]
        for damaged in (cut, wrong_byte):
            with suppress(CorruptFileError):
                replay_file(parse_document(damaged, "x"))
    with pytest.raises(CorruptFileError, match=r"expected a whole file of .*, found damage"):
        parse_document(content[:200], "x")


def test_files_that_unpack_to_too_much_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BGDATA_MOST_UNPACKED_BYTES", "10000")
    for form in ("xg", "bgf"):
        with pytest.raises(CorruptFileError, match=r"expected at most 10,000 bytes in a \.(xg|bgf) file"):
            parse_document((FOLDER / f"session.{form}").read_bytes(), "x")


def changed_xg(change: Any) -> MatchFile:
    """The session with changed records."""
    content = (FOLDER / "session.xg").read_bytes()
    begin = XG_RECORDS + int.from_bytes(content[20:24], "little")
    unpacked = bytearray(zlib.decompress(content[begin:]))
    for place in range(0, len(unpacked), XG_RECORD):
        change(memoryview(unpacked)[place : place + XG_RECORD])
    return replay_file(parse_document(content[:begin] + zlib.compress(unpacked), "x"))


MOVE, CUBE, END_OF_GAME = 3, 2, 4  # kinds of records


def test_games_from_set_up_positions_are_set_aside() -> None:
    """Games that begin with another position are quarantined; so is the position in an .xgp file, which is read as such
    a game."""

    def set_up(record: memoryview) -> None:
        if record[8] == MOVE:
            record[9 + 6] = 4

    found = changed_xg(set_up)
    assert not any(match.games for match in found.matches)
    assert [bad.reason for bad in found.rejects if "see line" not in bad.reason] == [BY_HAND] * 3


def test_beavers_are_not_taken_for_passes() -> None:
    def beaver(record: memoryview) -> None:
        if record[8] == CUBE and record[16] == 1:
            record[20:24] = (2).to_bytes(4, "little")

    reasons = {bad.reason for bad in changed_xg(beaver).rejects if "see line" not in bad.reason}
    assert reasons == {"expected no beaver, which is not read from .xg files"}


def test_games_without_an_end_have_no_winner() -> None:
    def without_end(record: memoryview) -> None:
        if record[8] == END_OF_GAME:
            record[8] = 99

    found = changed_xg(without_end)
    assert found.matches[0].games
    assert {game.winner for game in found.matches[0].games} == {None}


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
    (first,) = (bad for bad in document(OPENING, ply).rejects if "see line" not in bad.reason)
    assert reason in first.reason
    assert first.line == 3
    assert first.text.startswith("game 1: ")


def test_missing_names_and_comments_are_accepted() -> None:
    said = {"annotations": [{"value": "Well played", "author": "bo"}], "analysis": {"luck": 0.5}}
    found = document(play(1, (3, 1), (17, 3), (19, 1), **said))
    assert found.matches[0].players == ("ann", "black")
    (turn,) = found.replays[0]
    assert [(said.subject, said.analyst, said.choices[0].text) for said in turn.turn.analyses] == [
        ("luck", "", ""), ("comment", "bo", "Well played"),
    ]  # fmt: skip


def test_unfinished_game_has_no_result() -> None:
    ending = {0: _Ending(None, is_over=False)}
    found = match_file({**DOCUMENT, "games": [{"plies": [OPENING], "winner": 0, "points_won": 1}]}, ending, "xg")
    assert found.matches[0].games[0].winner is None


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "gvformat", None)
    with pytest.raises(MissingExtraError, match=r"expected gvformat to read a\.xg, found none; try: .*\[matches\]"):
        parse_document((FOLDER / "session.xg").read_bytes(), "a.xg")


def test_files_written_by_the_package_are_read(tmp_path: Path) -> None:
    """The session is the same after the package has written it from text to .ogxm."""
    import gvformat

    path = tmp_path / "again.ogxm"
    path.write_bytes(gvformat.write_gvab(gvformat.convert_mat(FOLDER / "session.mat")))
    assert path.read_bytes().startswith(b"OGXM")
    assert plays_of(replay_file(read_matches(path))) == plays_of(session("mat"))


def stream() -> list[bytes]:
    """Three .ogxm files that GammonView wrote, two of them from texts; the first has the older format."""
    import gvformat

    texts = (FOLDER / "session.mat", EXPORTED)
    return [
        (FOLDER / "session.ogxm").read_bytes(),
        *(gvformat.write_gvab(gvformat.convert_mat(path)) for path in texts),
    ]


EXPORTED = Path(__file__).parent / "binary/short.mat"


def test_stream_has_the_matches_of_all_its_files() -> None:
    parts = stream()
    assert split_stream(b"".join(parts)) == parts
    file = replay_file(parse_document(b"".join(parts), "x.ogxms"))
    assert [len(match.games) for match in file.matches] == [3, 3, 1]
    assert plays_of(file)[:3] == plays_of(session("ogxm"))
    assert file.rejects == []
    lines = [game.units for match in file.matches for game in match.games]
    assert [units.start for units in lines[1:]] == [units.stop for units in lines[:-1]]


def test_damaged_part_of_a_stream_is_set_aside() -> None:
    first, second, third = stream()
    damaged = second[:40] + bytes(len(second) - 48) + second[-8:]
    file = replay_file(parse_document(first + damaged + third, "x.ogxms"))
    assert [len(match.games) for match in file.matches] == [3, 1]
    (bad,) = file.rejects
    assert bad.reason.startswith("expected a whole file of OpenGammon (OGXM) in part 2 of x.ogxms, found damage")
    cut = replay_file(parse_document(first + second[:60], "x.ogxms"))
    assert [len(match.games) for match in cut.matches] == [3]
    assert len(cut.rejects) == 1


def test_flaws_of_a_stream_name_their_line() -> None:
    bad = document(OPENING, {"color": 1, "action_id": 34})
    joined = join_files([session("ogxm"), bad])
    (first,) = (each for each in joined.rejects if "see line" not in each.reason)
    assert first.line == session("ogxm").counts.lines + 3
