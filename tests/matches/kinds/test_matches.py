"""Tests of the kind `matches`: games and turns of .mat and .sgf files, and their export."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bgdata.errors import NoRowsError, UsageError
from bgdata.formats.replay import replay_game
from bgdata.game.position import START, parse_key20
from bgdata.matches.kinds.matches_compute import matches_of
from bgdata.store.table import Table
from bgdata.warehouse.commands.export import write_text
from tests.formats import sessions
from tests.formats.test_matches_oracle import MATCHES, PREAMBLE
from tests.imports.importing import Imports, counts, quarantined, rows
from tests.oracles import ask_gnubg, needs_gnubg_tool

Row = dict[str, Any]


def games(table: Table, name: str = "games") -> list[Row]:
    """The rows of the table `games`, or of another one, for one version, without the version's name."""
    games_of_version = rows(table, name)
    assert {row.pop("corpus") for row in games_of_version} <= {f"matches/{table.manifest.variant}"}
    return games_of_version


def turns(table: Table, game: int | None = None) -> list[Row]:
    return [row for row in games(table, "turns") if game in (None, row["game"])]


def sgf(nodes: str, length: int = 3, game: int = 0, white: int = 0, black: int = 0, more: str = "") -> str:
    """The text of one game as an SGF tree."""
    root = f"FF[4]GM[6]PW[ann]PB[bob]MI[length:{length}][game:{game}][ws:{white}][bs:{black}]"
    return f"(;{root}{more}{nodes})\n"


def test_sample_has_rows_of_games_and_turns(imports: Imports) -> None:
    table = imports.sample("matches")
    assert counts(table) == (6, 5, 1, 0)
    (game,) = games(table)
    assert tuple(game.values()) == (0, 0, 1, "left", "right", 1, 0, 0, None, 0, 1, 2, None, None, None)
    first, second = turns(table)
    assert (first["position_id"], first["board"], first["class"]) == (START.id, list(START.board), "contact")
    names = ("player", "action", "on_roll", "die1", "die2", "play", "cube_value", "cube_owner", "luck")
    assert tuple(first[name] for name in names) == (0, "play", 0, 3, 1, "8/5 6/5", 1, "centered", None)
    after_31 = [0, -2, 0, 0, 0, 0, 5, 0, 3, 0, 0, 0, -5, 5, 0, 0, 0, -2, 0, -4, -2, 0, 0, 0, 2, 0]
    assert (second["board"], second["play"], second["player"]) == (after_31, "24/13", 1)


def test_cube_actions_are_rows(imports: Imports) -> None:
    table = imports.text(
        "matches", sgf(";W[42hdfd];B[double];W[take];B[31qtst];W[double];B[drop]", more="RE[W+2]"), "x.sgf"
    )
    names = ("player", "action", "on_roll", "die1", "die2", "play", "cube_value", "cube_owner")
    assert [tuple(row[name] for name in names) for row in turns(table)] == [
        (0, "play", 0, 4, 2, "8/4 6/4", 1, "centered"),
        (1, "double", 1, None, None, "", 1, "centered"),
        (0, "take", 1, None, None, "", 1, "centered"),
        (1, "play", 1, 3, 1, "8/5 6/5", 2, "opponent"),
        (0, "double", 0, None, None, "", 2, "on_roll"),
        (1, "pass", 0, None, None, "", 2, "on_roll"),
    ]
    ids = [row["position_id"] for row in turns(table)]
    assert ids[:4] == [START.id, *[parse_key20("JIGHPAABDAOAHDPAABDA").id] * 3]


def test_crawford_and_unfinished_games_are_marked(imports: Imports) -> None:
    games_of_file = [
        sgf(";W[31hefe]", more="RU[Crawford]RE[W+2R]"),
        sgf(";W[double];B[take]", game=1, white=2, more="RU[Crawford:CrawfordGame]RE[B+1R]"),
        sgf(";W[31hefe]", game=1, white=2, more="RU[Crawford:CrawfordGame]RE[B+1R]"),
        sgf(";W[double];B[take];W[31hefe];PL[B]DI[21]", game=2, white=2, black=1, more="RU[Crawford]"),
        sgf("", length=0, more="PB[cy]"),
    ]
    table = imports.text("matches", "".join(games_of_file), "x.sgf")
    names = ("match", "game_number", "match_length", "score_0", "is_crawford", "winner", "points_won", "n_turns")
    assert [tuple(row[name] for name in names) for row in games(table)] == [
        (0, 1, 3, 0, False, 0, 2, 2),
        (1, 2, 3, 2, True, 1, 1, 2),
        (1, 3, 3, 2, False, None, None, 4),
        (2, 1, 0, 0, None, None, None, 0),
    ]
    ((_, line, tree, reason),) = quarantined(table)
    assert (line, reason) == (2, "expected no double in the Crawford game, in line 2: ann double")
    assert tree.startswith("(;FF[4]GM[6]PW[ann]")
    assert [row["action"] for row in turns(table, 2)] == ["double", "take", "play", "roll"]


def test_several_files_are_one_version(imports: Imports) -> None:
    seven_games = sessions.MAT[: sessions.MAT.rindex(" Game 8")]
    table = imports.build("matches", [imports.file("b.MAT", seven_games), imports.file("a.sgf", sessions.SGF)])
    assert [row["match"] for row in games(table)] == [0] * 8 + [1] * 7
    assert [row["game"] for row in games(table)] == list(range(15))
    assert [row["is_crawford"] for row in games(table)] == [False] * 8 + [None] * 7
    (view,) = imports.warehouse.rows(
        "select count(*) as turns, count(distinct game) as games from turns where variant = 'a-and-b'"
    )
    assert view == {"turns": len(turns(table)), "games": 15}


def check_equal_plays(mat: Table, sgf: Table) -> None:
    """Check that games and plays of both formats are equal. Only .sgf has takes after beavers, and resignations."""
    expected_games = [{**row, "is_crawford": None, "n_turns": None} for row in games(sgf)]
    assert [{**row, "n_turns": None} for row in games(mat)] == expected_games
    for game in range(len(expected_games)):
        mat_plays, sgf_plays = (
            [{**row, "turn": None} for row in turns(table, game) if row["action"] not in ("take", "resign", "roll")]
            for table in (mat, sgf)
        )
        if mat_plays[-1:] != sgf_plays[-1:]:  # resigned after the roll: .mat has a roll without a play
            assert mat_plays.pop()["play"] == "no play"
        assert mat_plays == sgf_plays


def check_export(imports: Imports, table: Table, expected: bytes) -> None:
    path = imports.folder / "again.mat"
    write_text(table, "mat", path)
    assert path.read_bytes() == expected


def test_both_formats_of_a_session_are_equal(imports: Imports) -> None:
    mat = imports.text("matches", sessions.MAT, "x.mat", name="mat")
    sgf = imports.text("matches", sessions.SGF, "x.sgf", name="sgf")
    assert quarantined(mat) == quarantined(sgf) == []
    check_equal_plays(mat, sgf)
    check_export(imports, mat, sessions.MAT.encode())


AUTOMATIC = sgf(";W[31hefe];B[double];W[take];B[51lqst]", length=0, more="RU[Jacoby]RE[W+4R]CV[2]")


def test_automatic_doubles_are_exported(imports: Imports) -> None:
    table = imports.text("matches", AUTOMATIC + sgf("", length=0, game=1, white=4, more="RU[Jacoby]"), "x.sgf")
    (match,) = matches_of(table.arrays())
    assert [game.cube_value for game in match.games] == [2, 1]
    assert [turn.cube_value for turn in match.games[0].turns] == [None, 4, None, None, None]
    assert replay_game(match, match.games[0]).cube_value == 4


def test_jacoby_rule_is_exported(imports: Imports) -> None:
    text = f'; [Jacoby "On"]\n{sessions.MAT}'
    mat = imports.text("matches", text, "x.mat")
    sgf_games = AUTOMATIC + sgf(";W[31hefe]", length=0)
    sgf_table = imports.text("matches", sgf_games, "x.sgf", name="sgf")
    assert [match.is_jacoby for match in matches_of(mat.arrays())] == [True]
    assert [match.is_jacoby for match in matches_of(sgf_table.arrays())] == [True, False]
    check_export(imports, mat, text.encode())


def test_automatic_doubles_cannot_be_exported(imports: Imports) -> None:
    table = imports.text("matches", AUTOMATIC, "x.sgf")
    with pytest.raises(UsageError, match=r"^expected games that begin with a cube of 1, .*, got 2 in game 1 of "):
        write_text(table, "mat", imports.folder / "x.mat")
    assert [path.name for path in imports.folder.iterdir() if "mat" in path.name] == []


def test_resignation_of_unknown_points_has_no_result(imports: Imports) -> None:
    table = imports.text("matches", sgf(";W[31hefe]", more="RE[W+R]"), "x.sgf")
    assert quarantined(table) == []
    assert [(row["winner"], row["points_won"]) for row in games(table)] == [(None, None)]
    assert [row["action"] for row in turns(table)] == ["play", "resign"]


def test_hits_are_marked_if_the_file_lacks_them(imports: Imports) -> None:
    """Hits, which .sgf does not mark, are taken from the board for the export."""
    table = imports.text("matches", sessions.SGF, "x.sgf")
    path = imports.folder / "x.mat"
    write_text(table, "mat", path)
    assert path.read_text().count("*") == sessions.MAT.count("*") == 7
    exported = imports.build("matches", [path], name="again")
    plays = [row["play"] for row in turns(table) if row["action"] == "play"]
    exported_plays = [row["play"] for row in turns(exported) if row["action"] == "play" and row["play"] != "no play"]
    assert exported_plays == plays


@pytest.mark.parametrize("name", ["a:b", "#1", "; x", ""])
def test_names_invalid_in_mat_files_are_refused(imports: Imports, name: str) -> None:
    table = imports.text("matches", sgf(";W[31hefe]").replace("PW[ann]", f"PW[{name}]"), "x.sgf")
    assert games(table)[0]["player_0"] == name
    with pytest.raises(
        UsageError, match=rf"expected names of players that a \.mat file can hold, got '{name}' and 'bob'"
    ):
        write_text(table, "mat", imports.folder / "x.mat")
    assert [path.name for path in imports.folder.iterdir() if "mat" in path.name] == []


@pytest.mark.parametrize(
    "numbers",
    [{"game": 32767}, {"length": 32768}, {"black": 99999}, {"length": 0, "more": "CV[16384]RE[W+32768R]"}],
    ids=["game", "length", "score", "points won"],
)
def test_numbers_beyond_their_columns_are_refused(imports: Imports, numbers: dict[str, Any]) -> None:
    message = r"x\.sgf, line 1: expected numbers of games and points up to 32,767, got "
    with pytest.raises(NoRowsError, match=message):
        imports.text("matches", sgf(";W[31hefe]", **numbers), "x.sgf")


def test_largest_numbers_are_stored(imports: Imports) -> None:
    last_game = imports.text("matches", sgf(";W[31hefe]", game=32766), "x.sgf")
    assert (len(games(last_game)), quarantined(last_game)) == (1, [])
    large_cube = imports.text("matches", sgf(";W[31hefe]", length=0, more="CV[16384]RE[W+16384R]"), "x.sgf")
    assert quarantined(large_cube) == []
    assert games(large_cube)[0]["points_won"] == 16384
    assert turns(large_cube)[0]["cube_value"] == 16384


NOTED_MATCH = """\
 3 point match

 Game 1
 anna : 0                       ben : 0
  1)  Doubles => 2                Takes
  2) 31: 8/5 6/5                  Doubles => 4
  3)  Takes                      66:
      Wins 3 points and the match

 Game 2
 ben : 0                        anna : 1
  1) 31: 8/5 6/5                 64: 24/18 13/9
      Wins 1 point
"""


def test_notes_are_stored(imports: Imports) -> None:
    files = [imports.file("plain.mat", " 0 point match\n"), imports.file("noted.mat", NOTED_MATCH)]
    table = imports.build("matches", files, name="noted")
    assert quarantined(table) == []
    assert [(row["score_0"], row["winner"], row["points_won"]) for row in games(table)] == [(0, 0, 3), (1, 1, 1)]
    assert [tuple(row.values()) for row in rows(table, "game_notes")] == [
        (0, 0, "noted.mat", 8, "3 points are what the match lacked: the game was worth more"),
        (1, 1, "noted.mat", 11, "the columns of 'anna' and 'ben' are swapped in this game"),
        (1, 2, "noted.mat", 10, "game 2 begins at 1-0, where game 1 ends at 3-0"),
        (1, 3, "noted.mat", 13, "the record ends at 1-1, before anybody has 3 points"),
    ]
    assert table.manifest.statistics["notes"] == 4
    assert [(row["action"], row["play"]) for row in turns(table, 0)][-1] == ("roll", "")


def test_sgf_notes_have_the_line_of_their_game(imports: Imports) -> None:
    table = imports.text("matches", sgf(";W[31hefe]", more="RE[W+1R]") + sgf("", game=1, black=2), "x.sgf")
    assert [(row["game"], row["line"]) for row in rows(table, "game_notes")] == [(1, 2), (1, 2)]


def test_format_is_found_by_content_not_name(imports: Imports) -> None:
    expected_mat = games(imports.text("matches", sessions.MAT, "x.mat", name="x"))
    for name in ("x.sgf", "x.txt", "x"):
        assert games(imports.text("matches", sessions.MAT, name, name="x")) == expected_mat
    assert games(imports.text("matches", sessions.MAT.encode("utf-16"), "y.sgf", name="y")) == expected_mat
    expected_sgf = games(imports.text("matches", sessions.SGF, "z.sgf", name="z"))
    for name in ("z.txt", "z.mat"):
        assert games(imports.text("matches", sessions.SGF, name, name="z")) == expected_sgf
    pytest.importorskip("gvformat", reason="the extra matches is not installed")
    with pytest.raises(NoRowsError, match=r"expected a whole file of eXtreme Gammon in x\.mat, found damage"):
        imports.text("matches", b"RGMH\0\0", "x.mat")


GNUBG_SESSION = """
do("set player 0 human", "set player 1 human", "set automatic game off", "set automatic roll off")
do("set automatic move off", "set seed 11", "set beavers 3", "new session")
def play(turns):
    for _ in range(turns):
        if gnubg.posinfo()["dice"] == (0, 0):
            do("roll")
        if gnubg.posinfo()["dice"] == (0, 0):  # nothing can be moved
            continue
        board, dice = gnubg.board(), gnubg.posinfo()["dice"]
        best = gnubg.findbestmove(board, gnubg.cubeinfo(), gnubg.evalcontext(0, 0, 1, 0, 0.0), dice)
        do("move " + gnubg.movetupletostring(best, board))
answers = [("take",), ("drop",), ("redouble", "take"), ("redouble", "drop"), ("redouble", "redouble", "take"),
           ("redouble", "redouble", "drop"), ("redouble", "redouble", "redouble", "take")]
for number, answer in enumerate(answers):
    if number:
        do("new game")
    play(3 + number)
    do("double", *answer)
    if answer[-1] == "take":
        play(number)
        do(f"resign {number % 3 + 1}", "agree")
do("new game")
play(4); do("roll", "resign 1", "agree")
save("session")
"""


@needs_gnubg_tool("gnubg")
def test_matches_played_by_gnubg_are_imported_and_exported(imports: Imports, tmp_path: Path) -> None:
    """gnubg's `.mat` and `.sgf` files give equal plays, and the export equals the `.mat` file byte for byte."""
    matches = re.sub("names = .*", 'names = [("Ann Lee", "B")]', MATCHES)
    ask_gnubg(f"{PREAMBLE}{matches}{GNUBG_SESSION}", tmp_path)
    for name in ("match0", "session"):
        mat, sgf = (
            imports.build("matches", [tmp_path / f"{name}.{form}"], name=f"{name}-{form}") for form in ("mat", "sgf")
        )
        assert quarantined(mat) == quarantined(sgf) == []
        assert len(games(mat)) >= 2
        check_equal_plays(mat, sgf)
        check_export(imports, mat, (tmp_path / f"{name}.mat").read_bytes())
    assert {row["action"] for row in turns(sgf)} >= {"play", "double", "beaver", "take", "pass", "resign", "roll"}
