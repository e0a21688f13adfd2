"""Lines that break a rule: quarantined with the reason, or refused with --strict."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bgdata.errors import CheckFailedError, NoRowsError, StorageError
from bgdata.game.position import START, format_key20, parse_key20
from tests.formats import samples
from tests.formats.test_gnubg_benchmark import AFTER_42, START_KEY
from tests.formats.test_position_files import FORMATS
from tests.imports.importing import IMPORTED, Imports, counts, quarantined, rows
from tests.store.toy import Notes, whole_versions

each_kind = pytest.mark.parametrize("kind", IMPORTED)
START_ID = START.id
NO_POSITION = "expected a position in one of the notations in the first column"
POSITION_TEXT = f"{START_ID}\n{START_ID[:13]}\n# x\n\nnonsense\n"  # a row, two bad lines, two of comment or blank


def test_quarantine_has_file_line_text_and_reason(imports: Imports) -> None:
    """The text of a bad line is made printable and cut off."""
    files = [imports.file("b.csv", POSITION_TEXT), imports.file("a.csv", "\n4HPwATDgc/ABMB\x07" + "," * 600 + "\n")]
    table = imports.build("positions", files)
    assert counts(table) == (7, 1, 3, 3)
    assert [(row["source"], row["line"]) for row in rows(table)] == [("b.csv", 1)]
    assert quarantined(table) == [
        ("a.csv", 2, r"4HPwATDgc/ABMB\x07" + "," * 485 + "... (615 bytes)", NO_POSITION),
        ("b.csv", 2, START_ID[:13], NO_POSITION),
        ("b.csv", 5, "nonsense", NO_POSITION),
    ]
    assert table.manifest.statistics[f"quarantined: {NO_POSITION}"] == 3
    with imports.warehouse.connect() as connection:
        view = connection.sql("select dataset, variant, source, line from quarantine order by all").fetchall()
    assert view == [
        ("positions", "a-and-b", "a.csv", 2),
        ("positions", "a-and-b", "b.csv", 2),
        ("positions", "a-and-b", "b.csv", 5),
    ]


def test_all_kinds_share_the_quarantine(imports: Imports) -> None:
    for kind, declared in IMPORTED.items():
        (path,) = declared.computation.write_sample(imports.folder)
        path.write_text(path.read_text() + "nonsense 1\n")
        imports.build(kind, [path])
    with imports.warehouse.connect() as connection:
        view = connection.sql("select dataset, text from quarantine order by dataset").fetchall()
    assert view == [(kind, "nonsense 1") for kind in sorted(IMPORTED)]


OVER = "expected a position of a game that goes on"
ILLEGAL = "expected plays that are legal for the roll"


def test_finished_positions_of_training_data_are_quarantined(imports: Imports) -> None:
    table = imports.text("gnubg_training", samples.TRAINING_ROW + b"AAAAAAAAAAAAAAAAAAAA 0.5 0 0 0 0\n")
    assert [(line, reason) for _, line, _, reason in quarantined(table)] == [(2, OVER)]


@pytest.mark.parametrize("name", ["x.jsonl", "x.txt"])
def test_bad_lines_of_bgsage_json_are_quarantined(imports: Imports, name: str) -> None:
    table = imports.text("bgsage_rollouts", FORMATS["entries"].row + b"null\n", name)
    reason = "expected a JSON object with board, equity, se, probs"
    assert quarantined(table) == [(name, 2, "null", reason)]


def test_bgsage_chances_are_clipped(imports: Imports) -> None:
    start = " ".join(map(str, START.board))
    first, second = rows(imports.text("bgsage_rollouts", f"{start} 1.04 0.1 0 -0.04 0\n{start} -0.04 0 0 0.1 0\n"))
    assert (first["win"], first["win_gammon"]) == (0, 0)  # of the player on roll, who has not just played
    assert second["win"] == 1


def test_wildbg_files_with_other_headings_are_refused(imports: Imports) -> None:
    """Chances under another heading might be exclusive, and would pass as cumulative ones."""
    heading = "expected the heading position_id,win,win_g,win_bg,lose_g,lose_bg or none"
    with pytest.raises(NoRowsError, match=rf"2 quarantined \(contact.txt, line 1: {heading}, got .* line 2: {heading}"):
        imports.text("wildbg_training", f"position_id,win_normal,win_g\n{START_ID},0.5,0.1,0,0.1,0\n")


def test_illegal_decisions_of_gnubg_benchmarks_are_quarantined(imports: Imports) -> None:
    flipped_key = format_key20(parse_key20("OAHDOEABCBOAHDPAABDA").flip())
    legal = [
        f"m {START_KEY} 2 4 {AFTER_42} 0.114795 OAHDOEABCBOAHDPAABDA 0.0421133",
        f"m {START_KEY} 4 2 {AFTER_42} -3e0 OAHDOEABCBOAHDPAABDA 0",
        "m AAAAABNMAAAAAAAAAAAA 6 1 APAAAAAAAACAAAAAAAAA 0.345939 ALAAAAAAAABAAAAAAAAA 0",  # a race
    ]
    illegal = [
        f"m {START_KEY} 2 3 {AFTER_42} 0.1",
        f"m {START_KEY} 2 4 {START_KEY} 0.1",
        f"m {START_KEY} 2 4 {AFTER_42} 0.1 {flipped_key} 0.2",
    ]
    finished = f"m AAAAAAAAAAAAAAAAAAAA 2 4 {AFTER_42} 0.1"
    table = imports.text("gnubg_benchmark", "".join(f"{line}\n" for line in [*legal, *illegal, finished]))
    assert counts(table) == (7, 3, 0, 4)
    assert [(text, reason) for _, _, text, reason in quarantined(table)] == [
        *((line, ILLEGAL) for line in illegal),
        (finished, OVER),
    ]
    for name in ("benchmark_rollouts", "benchmark_positions", "benchmark_cube_rollouts", "benchmark_best_plays"):
        assert rows(table, name) == []


def test_lines_that_break_a_rule_quarantine_their_game(imports: Imports) -> None:
    """Other games are imported."""
    text = """\
 3 point match

 Game 1
 ann : 0                        bob : 0
  1) 31: 8/5 6/5                 42: 8/4 7/4
  2)  Doubles => 2                Drops
      Wins 1 point

 Game 2
 ann : 1                        bob : 0
  1) 31: 8/5 6/5                  Doubles => 2
  2)  Drops                       Wins 1 point

 Game 3
 ann : 1                        bob : 1
  1) 31: 8/5 6/5                 hello
      Wins 1 point
"""
    table = imports.text("matches", text)
    assert counts(table) == (17, 5, 3, 9)
    assert [row["game_number"] for row in rows(table)] == [2]
    illegal = r"expected a legal play \(.*\), got '8/4 7/4', in line 5: bob play"
    reasons = {line: reason for _, line, _, reason in quarantined(table)}
    assert re.fullmatch(illegal, reasons.pop(5))
    assert reasons.pop(16).startswith("expected a roll with checker moves, or Doubles => N, ")
    other_lines = {
        **dict.fromkeys((3, 4, 6, 7), "expected a whole game, see line 5"),
        **dict.fromkeys((14, 15, 17), "expected a whole game, see line 16"),
    }
    assert reasons == other_lines
    assert table.manifest.statistics["quarantined: expected a whole game, see another line"] == 7


def test_error_names_the_cause_first(imports: Imports) -> None:
    """The error about a quarantined game begins with the line that breaks a rule, not with the lines above it."""
    game = " Game 1\n ann : 0      bob : 0\n  1) 31: 8/5 6/5                 Rolls 5 and 5\n      Wins 1 point\n"
    text = f" 3 point match\n{game}"
    cause = r"line 4: expected a roll with checker moves, .* in a column, got '  1\) 31: 8/5 6/5"
    with pytest.raises(
        NoRowsError, match=rf"found none in 5 lines: .* 4 quarantined \(x\.mat, {cause}[^;]*\); nothing"
    ):
        imports.text("matches", text, "x.mat")
    with pytest.raises(CheckFailedError, match=f"found 4, first in x.mat, {cause}"):
        imports.text("matches", text, "x.mat", strict=True)


@each_kind
def test_strict_import_publishes_nothing(imports: Imports, kind: str) -> None:
    (path,) = IMPORTED[kind].computation.write_sample(imports.folder)
    path.write_bytes(path.read_bytes() + b"nonsense\n")
    message = (
        rf"expected no line that breaks a rule, found 1, first in {path.name}, line \d+: expected .*, got 'nonsense'; "
    )
    with pytest.raises(CheckFailedError, match=message + "without --strict such lines are set aside"):
        imports.build(kind, [path], strict=True)
    assert list(imports.warehouse.versions()) == []
    table = imports.build(kind, [path])
    assert counts(table)[3] == 1
    with pytest.raises(CheckFailedError, match=message):  # the same file was accepted without --strict
        imports.build(kind, [path], strict=True)
    assert whole_versions(imports.warehouse) == [table.name]
    good = Imports(imports.folder / "good").sample(kind, strict=True)
    assert counts(good)[3] == 0


def test_strict_import_ignores_unfinished_lenient_one(imports: Imports, monkeypatch: pytest.MonkeyPatch) -> None:
    """A strict import does not go on from the finished arrays of one that was not strict."""

    def fail(*_: Any) -> int:
        raise StorageError("cannot write: the disk is full")

    monkeypatch.setattr("bgdata.store.parquet.write_parquet", fail)
    with pytest.raises(StorageError):
        imports.text("positions", POSITION_TEXT, "x")
    monkeypatch.undo()
    with pytest.raises(CheckFailedError, match="expected no line that breaks a rule, found 2"):
        imports.text("positions", POSITION_TEXT, "x", strict=True)
    assert list(imports.warehouse.versions()) == []
    notes = Notes()
    assert counts(imports.text("positions", POSITION_TEXT, "x", progress=notes)) == (5, 1, 2, 2)
    assert notes.texts[0] == "going on with positions/x from finished arrays"
