"""Lines that break a rule: quarantined with the reason, or refused with --strict."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bgdata.errors import CheckFailedError, NoRowsError, StorageError
from bgdata.game.position import START, format_key20, parse_key20
from bgdata.store.table import Table
from tests.formats import samples, test_gnubg_benchmark
from tests.formats.test_position_files import BAD_ROWS, FORMATS, GOOD_ROWS
from tests.imports.importing import IMPORTED, Imports, counts, quarantined, rows
from tests.store.toy import Notes, whole_versions
from tests.subtests import each

each_kind = pytest.mark.parametrize("kind", IMPORTED)
START_ID = START.id
START_BOARD = list(START.board)
CHANCES = ("win", "win_gammon", "win_backgammon", "lose_gammon", "lose_backgammon")
POSITION_TEXT = f"{START_ID}\n{START_ID[:13]}\n# x\n\nnonsense\n"


def test_quarantine_has_file_line_and_reason(imports: Imports) -> None:
    """Each bad line is set aside with its file, its number, its text (short and printable) and the reason."""
    files = [imports.file("b.csv", POSITION_TEXT), imports.file("a.csv", "\n4HPwATDgc/ABMB\x07" + "," * 600 + "\n")]
    table = imports.build("positions", files)
    assert counts(table) == (7, 1, 3, 3)
    assert [(row["source"], row["line"]) for row in rows(table)] == [("b.csv", 1)]
    reason = "expected a position in one of the notations in the first column"
    found = quarantined(table)
    assert [(source, line) for source, line, *_ in found] == [("a.csv", 2), ("b.csv", 2), ("b.csv", 5)]
    assert [text for *_, text, _ in found] == [
        r"4HPwATDgc/ABMB\x07" + "," * 485 + "... (615 bytes)",
        START_ID[:13],
        "nonsense",
    ]
    assert [row[-1] for row in found] == [reason] * 3
    assert table.manifest.statistics[f"quarantined: {reason}"] == 3
    with imports.warehouse.connect() as connection:
        shown = connection.sql("select dataset, variant, source, line from quarantine order by all").fetchall()
    assert shown == [("positions", "a-and-b", *row[:2]) for row in found]


def test_all_kinds_share_the_quarantine(imports: Imports) -> None:
    for kind, declared in IMPORTED.items():
        (path,) = declared.computation.write_sample(imports.folder)
        path.write_text(path.read_text() + "nonsense 1\n")
        imports.build(kind, [path])
    with imports.warehouse.connect() as connection:
        shown = connection.sql("select dataset, text from quarantine order by dataset").fetchall()
    assert shown == [(kind, "nonsense 1") for kind in sorted(IMPORTED)]


def test_manifest_groups_rare_reasons(imports: Imports) -> None:
    text = "".join(f"{'1 ' * number}\n" for number in range(7, 60)) + "# x\n" + samples.TRAINING_ROW.decode()
    table = imports.text("gnubg_training", text)
    reasons = [name for name in table.manifest.statistics if name.startswith("quarantined: ")]
    assert len(reasons) == 21
    assert table.manifest.statistics["quarantined: other reasons"] == 33
    assert counts(table) == (55, 1, 1, 53)


OVER = "expected a position of a game that goes on"
START_KEY = test_gnubg_benchmark.START_KEY
AFTER_42 = test_gnubg_benchmark.AFTER_42
ILLEGAL = "expected plays that are legal for the roll"
# rules of the readers of formats, then those of the kinds: a good line, bad lines with their reasons
RULES: dict[str, tuple[str, dict[str, str]]] = {
    "gnubg_training": ("training", {"AAAAAAAAAAAAAAAAAAAA 0.5 0 0 0 0": OVER}),
    "wildbg_training": ("wildbg", {}),
    "bgsage_rollouts": ("bgsage", {}),
    "positions": ("list", {}),
}
BENCHMARK = {
    f"m {START_KEY} 2 3 {AFTER_42} 0.1": ILLEGAL,
    f"m {START_KEY} 2 4 {START_KEY} 0.1": ILLEGAL,
    f"m {START_KEY} 2 4 {AFTER_42} 0.1 {format_key20(parse_key20('OAHDOEABCBOAHDPAABDA').flip())} 0.2": ILLEGAL,
    f"m AAAAAAAAAAAAAAAAAAAA 2 4 {AFTER_42} 0.1": OVER,
}


def check_rules(imports: Imports, kind: str, good: list[str], bad: dict[str, str], name: str = "contact") -> Table:
    """Import good and bad lines; exactly the bad ones are quarantined, each with its reason."""
    bad = {line: reason for line, reason in bad.items() if line.isprintable() and len(line) < 500}
    lines = [*good, *bad]
    table = imports.text(kind, "".join(f"{line}\n" for line in lines), name)
    found = [(number, text, reason) for _, number, text, reason in quarantined(table)]
    assert found == [(number, *entry) for number, entry in enumerate(bad.items(), start=len(good) + 1)]
    assert counts(table) == (len(lines), len(good), 0, len(bad))
    with pytest.raises(
        CheckFailedError, match=f"expected no line that breaks a rule, found {len(bad)}, first in {name}"
    ):
        imports.build(kind, [imports.folder / name], strict=True)
    return table


@each("kind", list(RULES))
def test_lines_of_position_files_that_break_a_rule_are_quarantined(memory_path: Path, kind: str) -> None:
    name, more = RULES[kind]
    good = [FORMATS[name].row.decode().strip(), *GOOD_ROWS[name]]
    table = check_rules(Imports(memory_path), kind, good, BAD_ROWS[name] | more)
    assert [row["line"] for row in rows(table)] == [*range(1, len(good) + 1)]


def test_lines_of_bgsage_json_that_break_a_rule_are_quarantined(imports: Imports) -> None:
    """Bad JSON lines of bgsage are quarantined, each with its reason, whether the file is called .jsonl or not."""
    row = FORMATS["entries"].row.decode().strip()
    for name in ("x.jsonl", "x.txt"):
        check_rules(imports, "bgsage_rollouts", [row], BAD_ROWS["entries"], name)


def test_bgsage_chances_are_clipped(imports: Imports) -> None:
    start = " ".join(map(str, START_BOARD))
    table = imports.text("bgsage_rollouts", f"{start} 1.04 0.1 0 -0.04 0\n{start} -0.04 0 0 0.1 0\n")
    shown = [row[name] for row in rows(table) for name in CHANCES]
    assert (min(shown), max(shown)) == (0, 1)


def test_wildbg_files_with_other_headings_are_refused(imports: Imports) -> None:
    """A file with another heading than wildbg's is refused. It might have exclusive chances, which would pass as
    cumulative ones."""
    heading = "expected the heading position_id,win,win_g,win_bg,lose_g,lose_bg or none"
    with pytest.raises(NoRowsError, match=rf"2 quarantined \(contact.txt, line 1: {heading}, got .* line 2: {heading}"):
        imports.text("wildbg_training", f"position_id,win_normal,win_g\n{START_ID},0.5,0.1,0,0.1,0\n")


def test_lines_of_gnubg_benchmarks_that_break_a_rule_are_quarantined(imports: Imports) -> None:
    good = [
        f"m {START_KEY} 2 4 {AFTER_42} 0.114795 OAHDOEABCBOAHDPAABDA 0.0421133",
        f"m {START_KEY} 4 2 {AFTER_42} -3e0 OAHDOEABCBOAHDPAABDA 0",
        "m AAAAABNMAAAAAAAAAAAA 6 1 APAAAAAAAACAAAAAAAAA 0.345939 ALAAAAAAAABAAAAAAAAA 0",  # a race
    ]
    check_rules(imports, "gnubg_benchmark", good, test_gnubg_benchmark.BAD_LINES | BENCHMARK)
    for name in ("benchmark_rollouts", "benchmark_positions", "benchmark_cube_rollouts", "benchmark_best_plays"):
        assert rows(imports.warehouse.open("gnubg_benchmark", "contact"), name) == []


def test_lines_that_break_a_rule_quarantine_their_game(imports: Imports) -> None:
    """In a match, a line that cannot be read, or a play that is illegal, quarantines its whole game; other games are
    imported."""
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
    found = {line: reason for _, line, _, reason in quarantined(table)}
    assert set(found) == {3, 4, 5, 6, 7, 14, 15, 16, 17}
    assert re.fullmatch(illegal, found.pop(5))
    assert found.pop(16).startswith("expected a roll with checker moves, or Doubles => N, ")
    see = {line: f"expected a whole game, see line {5 if line < 8 else 16}" for line in found}
    assert found == see
    reasons = {name: count for name, count in table.manifest.statistics.items() if name.startswith("quarantined: ")}
    assert reasons["quarantined: expected a whole game, see another line"] == 7


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
    """A strict import of a file with a bad line is refused, also after an import of it without `--strict`."""
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

    def full(*_: Any) -> int:
        raise StorageError("cannot write: the disk is full")

    monkeypatch.setattr("bgdata.store.parquet.write_parquet", full)
    with pytest.raises(StorageError):
        imports.text("positions", POSITION_TEXT, "x")
    monkeypatch.undo()
    with pytest.raises(CheckFailedError, match="expected no line that breaks a rule, found 2"):
        imports.text("positions", POSITION_TEXT, "x", strict=True)
    assert list(imports.warehouse.versions()) == []
    notes = Notes()
    assert counts(imports.text("positions", POSITION_TEXT, "x", progress=notes)) == (5, 1, 2, 2)
    assert notes.texts[0] == "going on with positions/x from finished arrays"
