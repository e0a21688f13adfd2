"""Small records with problems that users have met, and the right results: see `shared/cases`."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from bgdata.errors import CorruptFileError, InvalidPositionError
from bgdata.formats.gnubg_bearoff import open_gnubg_bearoff
from bgdata.formats.lines import read_bytes
from bgdata.formats.match_files import parse_matches
from bgdata.formats.matches import Game, missing_parts
from bgdata.formats.met_files import parse_met
from bgdata.formats.replay import ReplayedFile, replay_file
from bgdata.game.identifiers import parse_identifier
from bgdata.matches.kinds.shared.match_rows import file_rows
from tests.command_line import output_of, run
from tests.formats.samples import SHARED
from tests.formats.test_position_files import parse
from tests.subtests import each

CASES = SHARED.parent / "cases"
BOTH = ["1 0-0 +1", "2 1-0 -1"]  # many cases have this match: two games of one point, for the first player
UNFINISHED = "the record ends at 1-0, before anybody has 3 points"


def case_file(name: str) -> Path:
    """A file of the cases; skips the test if it is missing."""
    if not CASES.is_dir():
        pytest.skip(f"no cases in {CASES}")
    return CASES / name


# by file: games kept, with score and points of the first player; words of a note or of a reason for quarantine
MATCHES: dict[str, tuple[list[str], str]] = {
    "01-galaxy-losses-line/match.mat": (["1 0-0 -1", "2 0-1 +2"], ""),
    "03-empty-row-behind-last-result/match.txt": (["1 0-0 +2"], "the record ends at 2-0"),
    "04-nackgammon-read-as-backgammon/nack.mat": ([], "expected backgammon, got a record of 'NackGammon'"),
    "04-nackgammon-read-as-backgammon/nack.sgf": ([], "expected backgammon, got a record of 'Nackgammon'"),
    "07-analysis-of-a-match-with-a-missing-game/match.mat": (
        ["1 0-0 -1", "2 0-1 -2", "3 0-3 -1"],
        "the record ends at 0-4",
    ),
    "09-nothing-rolled-and-hidden-play/match.txt": (["1 0-0 +1"], UNFINISHED),
    "10-import-error-hides-the-cause/match.mat": ([], "line 8: expected a roll with checker moves"),
    "16-name-changes-between-games/match.mat": (["1 0-0 -1", "2 0-1 -1"], "'Nora' is called 'Nora B.' in this game"),
    "18-small-words-of-other-writers/arrow.mat": (["1 0-0 +2"], "the record ends at 2-0"),
    "18-small-words-of-other-writers/spaces.mat": (["1 0-0 +1"], UNFINISHED),
    "18-small-words-of-other-writers/resigned.mat": (["1 0-0 +1"], UNFINISHED),
    "20-reason-names-the-wrong-line/match.mat": ([], "line 6: expected a play of 52, which has several"),
    "22-binary-files-of-other-programs/really_mat.sgf": (BOTH, ""),
    "23-sgf-position-set-by-hand/setboard.sgf": ([], "expected a game from the start position without changes by hand"),
    "28-utf-16-text/cr_only.mat": (BOTH, ""),
    "28-utf-16-text/utf16.mat": (BOTH, ""),
    "310-mat-named-sgf/really_mat.sgf": (BOTH, ""),
    "311-cr-only/cr_only.mat": (BOTH, ""),
    "307-no-chain/match.mat": (["1 0-0 +1", "2 0-2 -1"], "game 2 begins at 0-2, where game 1 ends at 1-0"),
    "f01-mat-play-not-recorded/match.mat": (["1 0-0 -1", "2 0-1 +1"], "the record ends at 1-1"),
    "f04-mat-money-numeric-bar-off-no-folding/match.mat": (["1 0-0 -1"], ""),
    "f05-mat-words-of-other-servers/opengammon.mat": (
        ["1 0-0 +4", "2 4-0 -1", "3 4-1 +1"],
        "'Lost on time' is kept as",
    ),
    "f05-mat-words-of-other-servers/forfeit.mat": ([], "expected a result that follows from the last position"),
    "f05-mat-words-of-other-servers/cant_move.mat": (["1 0-0 +1"], "but the roll has plays"),
    "f06-mat-match-of-n-points-and-no-colon/match.mat": (["1 0-0 +1"], "the record ends at 1-0"),
    "f07-mat-name-before-each-action/match.mat": ([], "line 5: expected a roll with checker moves"),
    "f08-mat-columns-swap-between-games/match.mat": (["1 0-0 +1", "2 1-0 +1"], "are swapped in this game"),
    "f09-mat-one-blank-between-columns/match.mat": ([], "got '13/11 6/5', in line 6: ben play"),
    "f09-mat-one-blank-between-columns/tabs.mat": (["1 0-0 +1"], UNFINISHED),
    "f13-mat-cut-off/whole.mat": (BOTH, ""),
    "f13-mat-cut-off/cut_in_turn.mat": (["1 0-0 +1", "2 1-0 ?"], "game 2 has no result: the record ends in it"),
    "f13-mat-cut-off/cut_in_number.mat": (["1 0-0 +1"], "line 14: expected a roll"),
    "f13-mat-cut-off/cut_between_games.mat": (["1 0-0 +1"], UNFINISHED),
    **{f"f14-text-encodings/{name}.mat": (BOTH, "") for name in ("cr_only", "utf16", "utf8_bom_crlf", "nul", "u2028")},
    "f14-text-encodings/latin1.mat": (BOTH, "the names are not in UTF-8"),
    "f14-text-encodings/cp1253.mat": (BOTH, "the names are not in UTF-8"),
    "f15-file-is-not-what-its-name-says/no_ending": (BOTH, ""),
    "f15-file-is-not-what-its-name-says/match.txt": (BOTH, ""),
    "f20-mat-scores-that-do-not-chain/number.mat": (["7 0-0 +1"], UNFINISHED),
    "f20-mat-scores-that-do-not-chain/too_many.mat": ([], "expected scores below the 3 points of the match, got 3-0"),
    "f21-sgf-luck-minus-inf-and-analysis/match.sgf": (BOTH, ""),
    "f22-sgf-set-up-board-and-open-end/no_result.sgf": (["1 0-0 ?", "2 1-0 -1"], "game 1 has no result, and game 2"),
    "f22-sgf-set-up-board-and-open-end/cut.sgf": ([], "expected nodes of properties"),
    "f22-sgf-set-up-board-and-open-end/crlf_comment.sgf": (BOTH, ""),
    "f22-sgf-set-up-board-and-open-end/variation.sgf": (["1 0-0 ?"], "game 1 has no result"),
    "f22-sgf-set-up-board-and-open-end/gm1.sgf": ([], "expected a game of backgammon, GM[6]"),
}


def read_case(name: str) -> ReplayedFile:
    path = case_file(name)
    return replay_file(parse_matches(path.name, path.read_bytes()))


def game_text(game: Game) -> str:
    """Number, score, and the points that the first player won."""
    points = "?" if game.winner is None else f"{(1 - 2 * game.winner) * (game.points or 0):+}"
    return f"{game.number} {game.score[0]}-{game.score[1]} {points}"


@each(("name", "games", "words"), [(name, games, words) for name, (games, words) in MATCHES.items()])
def test_match_is_read_as_expected(name: str, games: list[str], words: str) -> None:
    file = read_case(name)
    assert [game_text(game) for match in file.matches for game in match.games] == games
    messages = [f"line {bad.line}: {bad.reason}" for bad in file.rejects]
    for match in file.matches:
        for game, missing in zip(match.games, missing_parts(match), strict=True):
            messages += [note.text for note in (*game.notes, *missing)]
    if words:
        assert words in " ".join(messages)
    else:
        assert [text for text in messages if not text.startswith("the record ends at")] == []


@each("name", ["match.mat", "match.sgf"])
def test_roll_before_a_resignation_is_kept(name: str) -> None:
    (replayed,) = read_case(f"06-roll-then-resign-is-stored-as-no-play/{name}").replays.values()
    fifth = replayed[4]
    assert (fifth.turn.kind, fifth.turn.dice, fifth.play) == ("roll", (6, 6), None)


def test_same_match_in_three_files_is_known_as_one() -> None:
    hashes = []
    for name in ("a.mat", "b_other_name.mat", "c.sgf"):
        (match,) = file_rows(read_case(f"f18-same-match-twice/{name}"), name).matches
        hashes.append(match.played)
    assert hashes == [hashes[0]] * 3


@each(
    ("name", "program"),
    [
        ("22-binary-files-of-other-programs/match.xg", "eXtreme Gammon"),
        ("22-binary-files-of-other-programs/match.bgf", "BGBlitz"),
        ("f15-file-is-not-what-its-name-says/xg_binary.mat", "eXtreme Gammon"),
        ("f15-file-is-not-what-its-name-says/match.ogxm", "OpenGammon (OGXM)"),
    ],
)
def test_damaged_binary_file_is_named_with_its_program(name: str, program: str) -> None:
    path = case_file(name)
    message = f"expected a whole file of {program} in {path.name}, found damage"
    with pytest.raises(CorruptFileError, match=re.escape(message)):
        parse_matches(path.name, path.read_bytes())


@each(
    ("name", "rows", "quarantined"),
    [
        ("24-list-of-positions-in-documented-notations/list.txt", 9, 0),
        ("f27-position-list-duplicates-and-both-sides/list.txt", 9, 0),
        ("f25-xg-text-with-analysis/english.txt", 1, 8),
        ("f25-xg-text-with-analysis/comma.txt", 1, 8),
        ("f25-xg-text-with-analysis/two.txt", 2, 16),
    ],
)
def test_position_list_is_read_as_expected(name: str, rows: int, quarantined: int) -> None:
    counts = parse("list", read_bytes(case_file(name))).counts
    assert counts.rows == rows
    assert counts.quarantined == quarantined


@each("name", ["english", "comma"])
def test_position_in_a_text_with_analysis_is_read(name: str) -> None:
    position, match = parse_identifier(case_file(f"f25-xg-text-with-analysis/{name}.txt").read_text())
    assert position.id == "sGfwATDgc+RBIA"
    assert match is not None
    assert str(match.roll) == "52"


def test_text_with_two_positions_is_refused() -> None:
    text = case_file("f25-xg-text-with-analysis/two.txt").read_text()
    with pytest.raises(InvalidPositionError, match="expected one position in a text, got 2"):
        parse_identifier(text)


def test_xgids_are_read_or_refused_as_expected() -> None:
    """XGIDs with nine fields are refused, as gnubg does, and all others are read as expected."""
    rows = [line.split("\t") for line in case_file("f23-xgid-odd-forms/xgids.tsv").read_text().splitlines()[1:]]
    for text, expected, _ in rows:
        if expected == "error" or text.count(":") == 8:
            with pytest.raises(InvalidPositionError):
                parse_identifier(text)
        else:
            assert parse_identifier(text)[0].id == expected.split()[0], text


# by text of the table of ids: position id; length, scores, cube value and roll of the match
IDENTIFIERS: dict[str, tuple[str, tuple[int, tuple[int, int], int, str] | None]] = {
    "4HPwATDgc/ABMA:8IhuACAACAAE": ("4HPwATDgc/ABMA", (3, (2, 1), 1, "53")),
    "4OvgATDgc+QBUA": ("4OvgATDgc+QBUA", None),
    '"4HPwATDgc/ABMA "': ("4HPwATDgc/ABMA", None),
    "mxmAQ4PbAQAAAA": ("mxmAQ4PbAQAAAA", None),
    "11ccccchhhjjjjj:66666888dddddoo:N0N:13:B:R:0:0:0:0": ("4HPwATDgc/ABMA", (0, (0, 0), 1, "31")),
    "cccccggggg:ddddiiiiii:N0N:63:W:IW:4:3:7:1:15": ("AB8+AACABz8AAA", (7, (4, 3), 1, "63")),
}
BAD_IDENTIFIERS = ["4HPwATDgc_ABMA", "4HPwATDgc/ABM", "4HPwATDgc/ABMA="]


@each(("text", "position_id", "stakes"), [(text, *expected) for text, expected in IDENTIFIERS.items()])
def test_gnubg_id_or_ogid_is_read_as_expected(
    text: str, position_id: str, stakes: tuple[int, tuple[int, int], int, str] | None
) -> None:
    position, match = parse_identifier(text.strip('"'))
    assert position.id == position_id
    if stakes is None:
        assert match is None
    else:
        assert match is not None
        assert (match.length, match.scores, match.cube_value, str(match.roll)) == stakes


@each("text", BAD_IDENTIFIERS)
def test_damaged_identifier_is_refused(text: str) -> None:
    with pytest.raises(InvalidPositionError, match="expected one of position id, gnubg id"):
        parse_identifier(text)


def test_every_identifier_of_the_cases_is_tested() -> None:
    lines = case_file("f24-gnubg-ids-and-ogid/ids.tsv").read_text().splitlines()[1:]
    assert {line.split("\t")[0] for line in lines} == {*IDENTIFIERS, *BAD_IDENTIFIERS}


@each(
    ("name", "rows", "reason"),
    [
        ("contact", 1, "line 2: expected no win_gammon once the opponent has borne off a checker"),
        ("semicolon", 0, "line 1: expected 6 fields (position id and five chances), got 1"),
        ("comma_decimals", 0, "line 1: expected 6 fields (position id and five chances), got 1"),
        ("bom", 1, ""),
        ("exclusive", 1, ""),  # a row by itself does not say that its gammons are without backgammons
        ("other_columns", 0, "line 1: expected the heading position_id,win,win_g,win_bg,lose_g,lose_bg or none"),
    ],
)
def test_wildbg_table_is_read_as_expected(name: str, rows: int, reason: str) -> None:
    table = parse("wildbg", read_bytes(case_file(f"f26-wildbg-csv-impossible-rows/{name}.csv")))
    assert table.counts.rows == rows
    first_reason = str(next(iter(table.rejects), ""))
    assert first_reason.startswith(reason)


def test_bgsage_entries_other_than_cubeless_rollouts_are_quarantined() -> None:
    """The reason names the field that says so."""
    entries = parse("entries", read_bytes(case_file("309-bgsage-levels/rollouts.jsonl")))
    assert entries.counts.rows == 2
    fields = {bad.line: bad.reason.rpartition(", as ")[2] for bad in entries.rejects}
    assert fields == {
        2: "eval_level rollout would say",
        3: "tier rollout would say",
        5: "cube_owner none would say",
    }


def test_match_equity_table_of_extreme_gammon_is_read() -> None:
    table = parse_met(read_bytes(case_file("25-met-files-of-xg-and-snowie/small.met"))).table
    assert table is not None
    assert table.before is not None
    assert table.before[1, 2] == 0.6


@each(
    ("name", "reason"),
    [
        ("percent", "line 6: expected chances from 0 to 1"),
        ("short_row", "line 6: expected 3 chances in the row, found 2"),
        ("nan", "line 6: expected a number"),
        ("decimal_comma", "line 6: expected a number"),
        ("not_symmetric", "line 5: expected the same chances for both sides"),
        ("entity", "line 2: expected no entities but those of XML, found x"),
    ],
)
def test_odd_match_equity_table_is_refused(name: str, reason: str) -> None:
    file = parse_met(read_bytes(case_file(f"f31-met-xml-odd-files/{name}.xml")))
    assert file.table is None
    assert any(str(bad).startswith(reason) for bad in file.rejects)


def test_match_equity_table_is_the_same_in_every_layout() -> None:
    names = ("good", "same_values_other_layout", "latin1")
    tables = [parse_met(read_bytes(case_file(f"f31-met-xml-odd-files/{name}.xml"))).table for name in names]
    good, other, latin = (table for table in tables if table)
    for field in ("before", "post_crawford", "opponent_post_crawford"):
        assert np.array_equal(getattr(good, field), getattr(other, field))
    assert good.before is not None
    assert latin.name == "Müller"


def test_xgid_without_prefix_is_read_by_commands(tmp_path: Path) -> None:
    """An XGID that begins with a minus, without its prefix, is read as an argument and not as an option."""
    text = "-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10"
    expected = output_of(tmp_path, "show", f"XGID={text}")
    assert "4HPwATDgc/ABMA" in expected
    assert output_of(tmp_path, "show", text) == expected
    assert output_of(tmp_path, "show", "--", text) == expected


def test_warehouse_in_a_folder_with_an_equals_sign_is_read(tmp_path: Path) -> None:
    """A warehouse in a folder with an equals sign can be queried, although DuckDB takes such a name for a partition."""
    (tmp_path / "one.txt").write_text("4HPwATDgc/ABMA\n")
    for name in ("run=7", "variant=x"):
        output_of(tmp_path / name, "import", "positions", "--name", "p", tmp_path / "one.txt")
        text = output_of(tmp_path / name, "query", "select count(*) as n from positions", "--format", "csv")
        assert text.splitlines() == ["n", "1"]


def test_positions_from_a_pipe_are_read(tmp_path: Path) -> None:
    reading_end, writing_end = os.pipe()
    os.write(writing_end, b"4HPwATDgc/ABMA\n")
    os.close(writing_end)
    try:
        output = output_of(tmp_path, "import", "positions", "--name", "a", f"/dev/fd/{reading_end}")
    finally:
        os.close(reading_end)
    assert "1 with rows" in output


@pytest.mark.gnubg
def test_cut_and_longer_bearoff_files_are_refused(tmp_path: Path) -> None:
    """Both sizes are named, and `diff` names the row with a wrong byte."""
    subprocess.run(["sh", case_file("f28-bearoff-file-cut-off/make.sh")], cwd=tmp_path, check=True)
    flipped = tmp_path / "gnubg_ts0-flipped.bd"
    damaged = [path for path in sorted(tmp_path.glob("*.bd")) if not path.name.endswith(("flipped.bd", "own_os6.bd"))]
    assert len(damaged) == 9
    for path in damaged:
        with pytest.raises(CorruptFileError) as caught:
            open_gnubg_bearoff(path)
        assert re.match(rf"expected .* in {path}, found ({path.stat().st_size}\b|b'gnubg)", str(caught.value))
    output = run(tmp_path, "diff", flipped, "/var/lib/gnubg/gnubg_ts0.bd").output
    assert re.search(r"cubeless +1 of 853,776 rows changed, at most 0.003479 \(row 67 587\)", output)
