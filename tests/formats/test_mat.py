"""Match files in the Jellyfish format: gnubg's example, files of other programs, every rule, round trips."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.errors import UsageError
from bgdata.formats.lines import LineCounts, is_utf8
from bgdata.formats.mat import format_mat, parse_mat
from bgdata.formats.matches import BY_HAND, Flaw, Game, Match, Note, RecordedMove, Turn, TurnKind
from tests.subtests import each

# gnubg's export of a match against itself, seed 4711; $ marks the end of a line with trailing blanks
EXAMPLE = """\
; [EventDate "2026.11.20"]

 3 point match

 Game 1
 alice : 0                      bob : 0
  1)                             42: 8/4 6/4 $
  2) 32: 24/22 13/10             61: 13/7 8/7 $
  3) 52: 13/11 13/8              64: 24/20 20/14* $
  4) 31: 25/24 8/5                Doubles => 2
  5)  Takes                      31: 14/11 11/10 $
  6) 54:                         53: 8/3 7/4 $
  7) 22: 24/22 22/20 20/18 18/16* 61: 25/24 24/18 $
  8) 42: 9/5 2/0                 42: 3/0 3/1 $
                                  Wins 2 points

 Game 2
 alice : 0                      bob : 2
  1) 66: 7/1 7/1                 33: 13/10 13/10 13/10 6/3
  2)  Doubles => 2                Drops
      Wins 1 point

 Game 3
 alice : 1                      bob : 2
  1) 31: 8/5 6/5                 65: 24/18 18/13 $
  2)  Doubles => 2                Takes
  3) 65: 1/0                     $
      Wins 2 points

 Game 4
 alice : 1                      bob : 2
  1)                             54: 13/8 24/20 $
  2) 21: 13/11 6/5                Doubles => 2
  3)  Drops                       Wins 1 point $

""".replace("$\n", "\n")
HEAD = " 5 point match\n\n Game 1\n Ann Lee : 0                    Bo : 0\n"
OPENING = "  1) 31: 8/5 6/5                 64: 24/18 13/9\n"
WON = "      Wins 1 point\n"


def written_text(match: Match) -> str:
    return b"".join(format_mat(match)).decode()


def parse_game(rows: str) -> Game:
    """The only game of these rows, without quarantined lines."""
    file = parse_mat((HEAD + rows).encode())
    assert file.rejects == []
    return file.matches[0].games[0]


def test_example_of_gnubg_is_read() -> None:
    file = parse_mat(EXAMPLE.encode())
    assert file.counts == LineCounts(lines=35, rows=29, comments=6, quarantined=0)
    (match,) = file.matches
    assert match.players == ("alice", "bob")
    assert match.length == 3
    assert match.info == (("EventDate", "2026.11.20"),)
    assert [(game.number, game.score, game.winner, game.points) for game in match.games] == [
        (1, (0, 0), 1, 2),
        (2, (0, 2), 0, 1),
        (3, (1, 2), 0, 2),
        (4, (1, 2), 1, 1),
    ]
    turns = match.games[0].turns
    assert turns[0] == Turn(1, TurnKind.PLAY, (4, 2), (RecordedMove(8, 4, False), RecordedMove(6, 4, False)))
    assert turns[4].checker_moves[1] == RecordedMove(20, 14, True)
    assert turns[6] == Turn(1, TurnKind.DOUBLE, cube_value=2)
    assert turns[7] == Turn(0, TurnKind.TAKE)
    assert turns[9] == Turn(0, TurnKind.PLAY, (5, 4))
    assert (turns[0].line, turns[-1].line) == (7, 14)
    assert match.games[3].turns[-1] == Turn(0, TurnKind.PASS)
    assert written_text(match) == EXAMPLE


def test_columns_tell_whose_turn_it_is() -> None:
    game = parse_game(
        "  1)                             65: 24/18 18/13 \n  2) 51:                         Wins 1 point\n"
    )
    assert game.turns[1] == Turn(0, TurnKind.PLAY, (5, 1))
    assert (game.winner, game.points) == (1, 1)


def test_left_out_take_and_joined_rolls_of_gnubg_are_read() -> None:
    """gnubg leaves out the take after a beaver, and writes a roll without padding before the next."""
    game = parse_game(
        "  1) 31: 8/5 6/5                  Doubles => 2\n  2)  Beavers => 4\n  3) 63: 11: 8/7 8/7 6/5 6/5\n"
    )
    acts = [(turn.player, str(turn.kind)) for turn in game.turns]
    assert acts == [(0, "play"), (1, "double"), (0, "beaver"), (0, "play"), (1, "play")]
    assert game.turns[2].cube_value == 4
    assert len(game.turns[4].checker_moves) == 4
    assert (game.winner, game.points) == (None, None)


def test_files_of_other_programs_are_read() -> None:
    text = """\
\ufeff; [Site "XG Gammon"]
; [Player 1 "Ann"]
# exported
; no info

7 point match

Game 1
Ann,1720.5 : 0                 Bo : 0
  1) 31: 8/5(2)                  52: bar/23/18* 6/off
  2) 64: ????                    66: Cannot Move
  3) 44: 24/20*(2) 13/9(2)        Redoubles => 4
  4)  Passes
                                  Wins 2 points and the match
"""
    file = parse_mat(text.encode())
    assert file.counts == LineCounts(14, 10, 4, 0)
    (match,) = file.matches
    assert match.info == (("Site", "XG Gammon"), ("Player 1", "Ann"))
    assert match.players == ("Ann,1720.5", "Bo")
    twice, hit, illegal, blocked, double_fours, redouble, answer = match.games[0].turns
    assert [tuple(move) for move in twice.checker_moves] == [(8, 5, False), (8, 5, False)]
    assert [tuple(move) for move in hit.checker_moves] == [(25, 23, False), (23, 18, True), (6, 0, False)]
    assert illegal.text == "????"
    assert blocked.text == "Cannot Move"
    assert [move[:2] for move in double_fours.checker_moves] == [(24, 20), (24, 20), (13, 9), (13, 9)]
    assert [move.is_hit for move in double_fours.checker_moves] == [True, False, False, False]
    assert redouble == Turn(1, TurnKind.DOUBLE, cube_value=4)
    assert answer == Turn(0, TurnKind.PASS)
    assert (match.games[0].winner, match.games[0].points) == (1, 2)


TURN = "expected a roll with checker moves, or Doubles => N, Takes, Drops, Beavers => N in a column"
MOVES = "expected checker moves such as 24/18, bar/21* or 6/off(2)"
FORWARDS = "expected checker moves from a higher point to a lower one"
PLACE = "expected a game without a result before turns and results"
HEADING = "expected a heading, turns, a result, or 'NAME : SCORE   NAME : SCORE' below a game's number"
BAD_LINES = {
    "  2) 71: 8/1": TURN,
    "  2) Double 2": TURN,
    "  2) 31: 8/5 x": MOVES,
    "  2) 31: 8-5 6-5": MOVES,
    "  2) 31: 8/5(5)": MOVES,
    "  2) 31: 5/8 6/5": FORWARDS,
    "  2) 31: 26/23": FORWARDS,
    "  2) 31: 0/5": FORWARDS,
    "  2) 31: off/5": MOVES,
    "  2) 31: 8/8": FORWARDS,
    "  2) 11: 8/7(4) 6/5": "expected at most 4 checker moves",
    "  2) Wins 1 point                31: 8/5 6/5": "expected nothing behind a result",
    "something": HEADING,
    "  Ann Lee : 0      Bo : 0": HEADING,
    "x" * 501: "expected at most 500 bytes in a line",
    "  2) 31: 8/5\x00": "expected printable text",
    "  2) 31: 8/5\x1b[1m": "expected printable text",
}


@each(("line", "reason"), BAD_LINES.items())
def test_invalid_line_is_refused_with_its_reason(line: str, reason: str) -> None:
    file = parse_mat(f"{HEAD}  1) 31: 8/5 6/5\n{line}\n  3) 21: 6/4 6/5\n".encode())
    assert [(bad.line, bad.reason) for bad in file.rejects] == [(6, reason)]
    (game,) = file.matches[0].games
    assert game.flaw == Flaw(6, reason)
    assert len(game.turns) == 2


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("  1) 31: 8/5 6/5\n", 1, PLACE),
        ("      Wins 1 point\n", 1, PLACE),
        (" Game 1\n", 1, "expected a line 'N point match' before a game"),
        (" 5 point match\n Game 1\n  1) 31: 8/5 6/5\n", 3, PLACE),
        (f"{HEAD}      Wins 1 point\n  1) 31: 8/5 6/5\n", 6, PLACE),
        (f"{HEAD} Game 2\n Cy : 0      Bob : 1\n", 6, "expected the players of the match, 'Ann Lee' and 'Bo'"),
        (f"{HEAD} Game 1\n Ann Lee : 0      Bob : 1\n", 6, "expected the players of the match, 'Ann Lee' and 'Bo'"),
        (f"{HEAD}; Set Pos=-b----E-C---eE---c-e----B-\n", 5, BY_HAND),
        (f"; Set CubePos = 1\n{HEAD}", 1, BY_HAND),
        (f"{HEAD}      Wins 1 point\n      Wins 2 points\n", 6, "expected one result of the game, that of line 5"),
        (f"{HEAD}      Wins 1 point\n  2)  Losses 1 point\n", 6, "expected one result of the game, that of line 5"),
    ],
)
def test_misplaced_lines_are_quarantined(text: str, line: int, reason: str) -> None:
    file = parse_mat(text.encode())
    assert [(bad.line, bad.reason) for bad in file.rejects] == [(line, reason)]


def test_file_may_have_several_matches() -> None:
    file = parse_mat((EXAMPLE + EXAMPLE.replace("alice", "carol")).encode())
    assert [match.players[0] for match in file.matches] == ["alice", "carol"]
    assert "".join(map(written_text, file.matches)) == EXAMPLE + EXAMPLE.replace("alice", "carol")


@pytest.mark.parametrize(
    ("setting", "length", "is_jacoby"),
    [("On", 0, True), ("on", 0, True), ("Off", 0, False), ("", 0, False), ("On", 3, False)],
)
def test_info_line_sets_the_jacoby_rule(setting: str, length: int, is_jacoby: bool) -> None:
    """XG also writes the line above matches, where it has no effect."""
    text = f'; [Jacoby "{setting}"]\n\n {length} point match\n'
    (match,) = parse_mat(text.encode()).matches
    assert match.is_jacoby == is_jacoby
    assert written_text(match) == f"{text}\n"


@pytest.mark.parametrize(("setting", "is_crawford"), [("On", None), ("Off", False), ("", None)])
def test_info_line_excludes_the_crawford_rule(setting: str, is_crawford: bool | None) -> None:
    (match,) = parse_mat(f'; [Crawford "{setting}"]\n{HEAD}{OPENING}'.encode()).matches
    assert match.games[0].is_crawford is is_crawford
    assert f'; [Crawford "{setting}"]' in written_text(match)


@each(
    ("name", "expected"),
    [
        (b"O\x92Neil", "O\u2019Neil"),  # an apostrophe of Windows
        (b"\x81x", "x"),  # not in the code page of Windows
        ("Ann\u00a0Lee".encode(), "Ann Lee"),
        (b"Ann\xa0Lee", "Ann Lee"),
        ("Ann\u200dLee".encode(), "Ann Lee"),
        (b"Ann\x07", "Ann"),
        ("Änn".encode("latin-1"), "Änn"),
        (b"", ""),
    ],
)
def test_names_in_other_encodings_are_decoded(name: bytes, expected: str) -> None:
    file = parse_mat((HEAD + OPENING).encode().replace(b"Ann Lee", name))
    assert file.rejects == []
    assert file.matches[0].players == (expected, "Bo")
    (game,) = file.matches[0].games
    note = Note(4, "the names are not in UTF-8: they were read as text of Windows, code page 1252")
    assert game.notes == (() if is_utf8(name) else (note,))
    assert len(game.turns) == 2


def test_unprintable_comments_are_accepted() -> None:
    comments = b'; by\x00 me\n; [Site "a\x92b\x00c"]\n# \xe2\x80\x8d\n'
    file = parse_mat(comments + HEAD.encode() + b"; \x1b[1m\n  1) 31: 8/5 6/5\n")
    assert file.rejects == []
    assert file.counts.comments == 4
    assert file.matches[0].info == (("Site", "a\u2019b c"),)


def test_row_numbers_without_a_turn_are_comments() -> None:
    file = parse_mat(f"{HEAD}{OPENING}  2)\n{WON}  3)    \n".encode())
    assert file.counts == LineCounts(lines=8, rows=5, comments=3, quarantined=0)


def test_length_may_be_written_in_the_old_form() -> None:
    (match,) = parse_mat(HEAD.replace(" 5 point match", "Match of 5 points").encode()).matches
    assert match.length == 5


def test_long_names_without_a_gap_between_them_are_read() -> None:
    names = " abcdefghijklmnopqrstuvwxyz01 : 0zzzzzzzzzzzzzzzzzzzzzzzzzz : 3\n"
    (match,) = parse_mat(f" 5 point match\n Game 1\n{names}".encode()).matches
    assert match.players == ("abcdefghijklmnopqrstuvwxyz01", "zzzzzzzzzzzzzzzzzzzzzzzzzz")
    assert match.games[0].score == (0, 3)
    assert names in written_text(match)


@pytest.mark.parametrize("data", [b"", b"\n", b"; x", b"\xff\xfe\0\0"])
def test_file_without_games_has_no_match(data: bytes) -> None:
    assert parse_mat(data).matches == ()


@pytest.mark.parametrize("data", [EXAMPLE.encode("utf-16"), EXAMPLE.replace("\n", "\r").encode()])
def test_text_of_other_systems_is_read(data: bytes) -> None:
    file = parse_mat(data)
    assert file.rejects == []
    assert file.matches == parse_mat(EXAMPLE.encode()).matches


@pytest.mark.parametrize("end", [b"\x1a", b"\r\n\x1a", b"\n\x1a\x1a"])
def test_dos_end_of_file_mark_is_dropped(end: bytes) -> None:
    file = parse_mat(HEAD.encode() + b"      Wins 1 point" + end)
    assert file.rejects == []
    assert file.counts.rows == 4
    assert file.matches[0].games[0].points == 1


def test_info_above_and_below_a_heading_belongs_to_its_match() -> None:
    def match_text(above: str, below: str) -> str:
        heading, game = HEAD.split("\n\n")
        return f'; [Event "{above}"]\n{heading}\n; [Event "{below}"]\n{game}{WON}'

    file = parse_mat((match_text("a", "b") + match_text("c", "d")).encode())
    assert file.rejects == []
    first, second = file.matches
    assert first.info == (("Event", "a"), ("Event", "b"))
    assert second.info == (("Event", "c"), ("Event", "d"))


def test_game_that_cannot_be_replayed_is_removed() -> None:
    """All lines of a game with a flaw are quarantined and refer to the line with the reason; the other games stay."""
    file = parse_mat((EXAMPLE + "bad line\n").encode())

    def check(match: Match, game: Game) -> Game | Flaw:
        assert match.players == ("alice", "bob")
        return Flaw(9, "expected legal play") if game.number == 1 else game

    remaining = file.quarantine_games(check)
    assert [game.number for game in remaining.matches[0].games] == [2, 3, 4]
    assert remaining.counts == LineCounts(36, 18, 6, 12)
    reasons = {bad.line: bad.reason for bad in remaining.rejects}
    assert reasons.pop(9) == "expected legal play"
    assert reasons.pop(36) == HEADING
    assert reasons == dict.fromkeys((5, 6, 7, 8, *range(10, 16)), "expected a whole game, see line 9")
    assert file.counts == LineCounts(36, 29, 6, 1)


def test_turns_and_results_that_the_format_lacks_are_left_out() -> None:
    """The format has no set-up, no resignation, and no winner without points."""
    roll, resignation = Turn(0, TurnKind.ROLL, (3, 1)), Turn(0, TurnKind.RESIGN)
    setup = Turn(1, TurnKind.SETUP, text="CV[2]")
    text = written_text(Match(("a", "b"), 0, (Game(1, (0, 0), (setup, roll, resignation), winner=1, points=3),)))
    assert text.splitlines()[-2] == "  1) 31:                         Wins 3 points"
    text = written_text(Match(("a", "b"), 0, (Game(1, (0, 0), (roll, resignation), winner=0),)))
    assert "Wins" not in text


def test_game_that_begins_with_a_higher_cube_is_not_written() -> None:
    with pytest.raises(
        UsageError,
        match=r"^expected games that begin with a cube of 1, as a \.mat file cannot say another, "
        r"got 2 in game 2 of 'a' and 'b'$",
    ):
        written_text(Match(("a", "b"), 0, (Game(1, (0, 0)), Game(2, (0, 0), cube_value=2))))


RESULTS = {
    "  2)  Losses 1 point                                               Wins 1 point\n": (1, 1),
    "  2) 64: 24/18 13/9               Losses 2 point\n      Wins 2 point and the match\n": (0, 2),
    "  2)  Losses 2 points\n": (1, 2),
    f"{'':34}Losses 2 points\n": (0, 2),
    "      Wins 1 point\n      Wins 1 point and the match\n": (0, 1),
    "      Wins 1 point and the      Match\n": (0, 1),
    "  2)  Wins 2 point\n  3)                                    \n": (0, 2),
    "      Wins 4 points with a gammon\n": (0, 4),
    "  2) 44: 24/20 24/20 13/9 13/9 Losses 1 point\n": (0, 1),
}


@each(("rows", "result"), RESULTS.items())
def test_results_of_servers_are_read(rows: str, result: tuple[int, int]) -> None:
    game = parse_game(OPENING + rows)
    assert (game.winner, game.points) == result
    assert game.notes == ()


@pytest.mark.parametrize(
    ("loser", "kind", "note"),
    [
        ("Losses 3 point", TurnKind.PLAY, "the loser loses 3 points and the winner wins 1: the latter are kept"),
        ("Lost on time", TurnKind.RESIGN, "'Lost on time' is kept as a resignation"),
    ],
)
def test_contradictory_results_get_a_note(loser: str, kind: TurnKind, note: str) -> None:
    game = parse_game(f"{OPENING}  2)  {loser:28}Wins 1 point\n")
    assert (game.winner, game.points, game.result_line) == (1, 1, 6)
    assert game.turns[-1].kind is kind
    assert game.notes == (Note(6, note),)


TURNS = {
    "  2)  Doubles ==> 2": [(0, TurnKind.DOUBLE)],
    "  2)  Doubles=>2": [(0, TurnKind.DOUBLE)],
    "  2)  Doubles": [(0, TurnKind.DOUBLE)],
    "  2)  Accepts": [(0, TurnKind.TAKE)],
    "  2)                              Rejects": [(1, TurnKind.PASS)],
    "  2)                              Resigned Game": [(1, TurnKind.RESIGN)],
    "  2)  Concedes": [(0, TurnKind.RESIGN)],
    "  2)  Resigns a gammon": [(0, TurnKind.RESIGN)],
    "  2)  ????": [(0, TurnKind.RESIGN)],
    "  2)                             00: ????": [(1, TurnKind.RESIGN)],
    "  2) 42: 8/4 6/4                 00:": [(0, TurnKind.PLAY), (1, TurnKind.RESIGN)],
    "  2) 42: Resigns": [(0, TurnKind.ROLL), (0, TurnKind.RESIGN)],
    "  2) 42: ???": [(0, TurnKind.PLAY)],
    "  2) 42: Can't Move              31 8/5 6/5": [(0, TurnKind.PLAY), (1, TurnKind.PLAY)],
    "  2) 42 8/4 6/4                  31 bar/24* 8/5": [(0, TurnKind.PLAY), (1, TurnKind.PLAY)],
    "  2) Takes   31: 8/5 6/5": [(0, TurnKind.TAKE), (1, TurnKind.PLAY)],
    "  2) 44: 24/20 24/20 13/9 13/9 Doubles => 2": [(0, TurnKind.PLAY), (1, TurnKind.DOUBLE)],
    "  2)\t Doubles => 2\t Drops": [(0, TurnKind.DOUBLE), (1, TurnKind.PASS)],
    "  2) 42: Illegal play (8/4 6/4)": [(0, TurnKind.PLAY)],
    "  2) Doubles => 64                31: 8/5 6/5": [(0, TurnKind.DOUBLE), (1, TurnKind.PLAY)],
}


@each(("row", "expected"), TURNS.items())
def test_turns_of_servers_are_read(row: str, expected: list[tuple[int, TurnKind]]) -> None:
    game = parse_game(f"{OPENING}{row}\n")
    assert [(turn.player, turn.kind) for turn in game.turns[2:]] == expected
    assert game.flaw is None


def parse_second_game(names: str) -> Game:
    """The second game of a match of anna and ben, with these names and scores above it."""
    first_game = f" Game 1\n anna : 0    ben : 0\n{OPENING}{WON}"
    file = parse_mat(f" 5 point match\n{first_game} Game 2\n {names}\n{OPENING}{WON}".encode())
    assert file.rejects == []
    assert file.matches[0].players == ("anna", "ben")
    first, second = file.matches[0].games
    assert first.notes == ()
    return second


def test_swapped_columns_follow_the_names() -> None:
    game = parse_second_game("ben : 0    anna : 1")
    assert game.score == (1, 0)
    assert game.winner == 1
    assert [turn.player for turn in game.turns] == [1, 0]
    assert game.notes == (Note(7, "the columns of 'anna' and 'ben' are swapped in this game"),)


@each(
    ("names", "notes"),
    [
        ("anna : 1    ben b. : 0", ["'ben' is called 'ben b.' in this game"]),
        ("Magriel : 1    ben : 0", ["'anna' is called 'Magriel' in this game"]),
        (" : 1    ben : 0", ["'anna' is called '' in this game"]),
        ("ben : 0    A : 1", ["'anna' is called 'A' in this game, and the columns are swapped"]),
        ("Anna : 1    ben,1834.2 : 0", []),
    ],
)
def test_renamed_players_keep_their_first_name(names: str, notes: list[str]) -> None:
    game = parse_second_game(names)
    assert game.score == (1, 0)
    assert [note.text for note in game.notes] == notes


def test_game_of_unknown_players_gives_one_reason() -> None:
    file = parse_mat(f"{HEAD}{OPENING}{WON} Game 2\n Cy : 0      Di : 0\n{OPENING}{WON}".encode())
    first, second = file.matches[0].games
    assert first.flaw is None
    assert second.flaw == Flaw(8, "expected the players of the match, 'Ann Lee' and 'Bo'")
    assert second.units == range(6, 10)
    assert len(file.rejects) == 1


SETUP = "; Set Pos=x\n"
LENGTH = " 0 point match\n"
UNFINISHED_GAME = f" Game 1\n a : 0   b : 0\n{OPENING}"
WON_GAME = UNFINISHED_GAME + WON


@each(
    ("text", "flawed_lines"),
    {
        "above the match": (SETUP + LENGTH + WON_GAME + WON_GAME, [1, None]),
        "above the first game": (LENGTH + SETUP + WON_GAME + WON_GAME, [2, None]),
        "between games": (LENGTH + WON_GAME + SETUP + WON_GAME, [None, 6]),
        "after an unfinished game": (LENGTH + UNFINISHED_GAME + SETUP + WON_GAME, [5, 5]),
        "inside a game": (LENGTH + UNFINISHED_GAME + SETUP + OPENING + WON_GAME, [5, None]),
        "above the names": (f"{LENGTH} Game 1\n{SETUP} a : 0   b : 0\n{OPENING}{WON_GAME}", [3, None]),
    },
)
def test_position_set_by_hand_spoils_only_its_game(text: str, flawed_lines: list[int | None]) -> None:
    (match,) = parse_mat(text.encode()).matches
    assert [game.flaw.line if game.flaw else None for game in match.games] == flawed_lines
    assert {game.flaw.reason for game in match.games if game.flaw} == {BY_HAND}


names = st.text("abcXYZ ä", min_size=1, max_size=20).map(str.strip).filter(bool)
moves = st.tuples(st.integers(1, 25), st.integers(0, 24), st.booleans()).filter(lambda move: move[0] > move[1])
plays = st.tuples(
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    st.lists(moves.map(lambda move: RecordedMove(*move)), max_size=4).map(tuple),
)
sides = st.integers(0, 1)
turns = st.one_of(
    st.builds(lambda side, play: Turn(side, TurnKind.PLAY, *play), sides, plays),
    st.builds(Turn, sides, st.sampled_from([TurnKind.TAKE, TurnKind.PASS])),
    st.builds(
        lambda side, kind, doublings: Turn(side, kind, cube_value=2**doublings),
        sides,
        st.sampled_from([TurnKind.DOUBLE, TurnKind.BEAVER]),
        st.integers(1, 12),
    ),
)
games = st.builds(
    Game,
    number=st.just(0),
    score=st.tuples(st.integers(0, 24), st.integers(0, 24)),
    turns=st.lists(turns, max_size=12).map(tuple),
    winner=sides,
    points=st.integers(1, 192),
)


@given(st.tuples(names, names), st.integers(0, 25), st.lists(games, max_size=4))
def test_random_matches_round_trip(players: tuple[str, str], length: int, games: list[Game]) -> None:
    numbered = tuple(replace(game, number=number) for number, game in enumerate(games, start=1))
    match = Match(players if games else ("", ""), length, numbered, (("Event", "Open \\ 'x'"),))
    file = parse_mat(written_text(match).encode())
    assert file.rejects == []
    assert file.matches == (match,)
    assert all(before.units.stop <= after.units.start for before, after in pairwise(file.matches[0].games))
    assert written_text(file.matches[0]) == written_text(match)


@pytest.mark.parametrize(
    "players", [("", ""), ("", "bob"), ("Ann\n 5 point match\nx", "Bob"), ("a\udc80b", "Bob"), ("a:b", "Bob")]
)
def test_unreadable_names_are_refused(players: tuple[str, str]) -> None:
    with pytest.raises(UsageError, match=r"^expected names of players that a \.mat file can hold"):
        list(format_mat(Match(players, 3, (Game(1, (0, 0)),))))


@pytest.mark.parametrize(("length", "is_cut"), [(3_000, False), (100_000, True)])
def test_very_long_info_is_cut(length: int, is_cut: bool) -> None:
    comment = "\u00e4" * length
    file = parse_mat(written_text(Match(("a", "b"), 3, (Game(1, (0, 0)),), (("GC", comment),))).encode())
    assert file.rejects == []
    ((name, value),) = file.matches[0].info
    assert name == "GC"
    assert comment.startswith(value)
    assert (len(value) < length) == is_cut
