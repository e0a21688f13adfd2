"""Small records with problems that users have met, and the right results: see `shared/cases`."""

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
from tests.command_line import output_of, run
from tests.formats.samples import SHARED
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


def test_xgids_are_read_or_refused_as_expected() -> None:
    """XGIDs with nine fields are refused, as gnubg does, and all others are read as expected."""
    rows = [line.split("\t") for line in case_file("f23-xgid-odd-forms/xgids.tsv").read_text().splitlines()[1:]]
    for text, expected, _ in rows:
        if expected == "error" or text.count(":") == 8:
            with pytest.raises(InvalidPositionError):
                parse_identifier(text)
        else:
            assert parse_identifier(text)[0].id == expected.split()[0], text


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
