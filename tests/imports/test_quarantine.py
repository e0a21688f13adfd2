"""Lines that break a rule: set aside with the reason, or refused with --strict."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from bgdata.errors import CheckFailedError, NoRowsError, StorageError
from bgdata.game.position import START, Position, format_key20, parse_key20
from tests.formats import samples
from tests.imports.importing import IMPORTED, Imports, counts, quarantined, rows
from tests.store.toy import Notes, whole_versions

each_kind = pytest.mark.parametrize("kind", IMPORTED)
START_ID, START_BOARD = START.id, list(START.board)
CHANCES = ("win", "win_gammon", "win_backgammon", "lose_gammon", "lose_backgammon")
POSITION_TEXT = f"{START_ID}\n{START_ID[:13]}\n# x\n\nnonsense\n"


def test_the_quarantine(imports: Imports) -> None:
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


def test_the_quarantine_of_all_kinds_is_one_table(imports: Imports) -> None:
    for kind, declared in IMPORTED.items():
        (path,) = declared.computation.write_sample(imports.folder)
        path.write_text(path.read_text() + "nonsense 1\n")
        imports.build(kind, [path])
    with imports.warehouse.connect() as connection:
        shown = connection.sql("select dataset, text from quarantine order by dataset").fetchall()
    assert shown == [(kind, "nonsense 1") for kind in sorted(IMPORTED)]


def test_manifests_do_not_count_reasons_without_end(imports: Imports) -> None:
    text = "".join(f"{'1 ' * number}\n" for number in range(7, 60)) + "# x\n" + samples.TRAINING_ROW.decode()
    table = imports.text("gnubg_training", text)
    reasons = [name for name in table.manifest.statistics if name.startswith("quarantined: ")]
    assert len(reasons) == 21
    assert table.manifest.statistics["quarantined: other reasons"] == 33
    assert counts(table) == (55, 1, 1, 53)


KEY = "NIKOIJADCANIGOAHADBA"
OFF = Position([*START_BOARD[:13], 4, *START_BOARD[14:]])  # the player on roll has borne off one checker
RACE = "v90EAIC3BgAAAA"
OVER = "expected a position of a game that goes on"
CHECKERS = "expected at most 15 checkers of the player on roll in the {}"
OTHER_CHECKERS = "expected at most 15 checkers of the opponent in the {}"
SHARED = "expected checkers of one side only on each point in the {}"
CLOSED = "expected an open point when both sides are on the bar: nobody could ever move in the {}"
UNUSED = "expected no 1 bit after the 50th 0 bit of the key in the {}"
LETTERS = "expected only the letters of the format in the {}"
RANGE = "expected chances from 0 to 1"
NO_WIN_GAMMON = "expected no win_gammon once the opponent has borne off a checker"
NO_LOSE_GAMMON = "expected no lose_gammon once the player himself has borne off a checker"

# of the text of a position: 20-letter keys, and Position IDs of the same bytes
BAD_KEYS = {
    f"{KEY[:19]}Q": LETTERS,
    KEY.lower(): LETTERS,
    "PPPPAAAAAAAAAAAAAAAA": OTHER_CHECKERS,
    f"{KEY[:19]}P": CHECKERS,
    "AAAAAAAAAAAAAAAAAAAI": UNUSED,
    "ABAAAAAAAAAAACAAAAAA": SHARED,
    "NLLGABAANALGGNAAAAAE": CLOSED,
}
BAD_IDS = {
    "4HPwATDgc-ABMA": LETTERS,
    "4HPwATDgc/ABMB": "expected one of A, Q, g, w as the last of 14 characters in the {}",
    "//8AAAAAAAAAAA": OTHER_CHECKERS,
    "2K6JAyDYbgcD8A": CHECKERS,
    "AAAAAAAAAAAACA": UNUSED,
    "AQAAAAAAAgAAAA": SHARED,
}
# of five chances behind a good position (or another): rounded ones may be out of order by 0.00001
BAD_CHANCES = {
    "x 0.1 0 0.1 0": "expected a number as win",
    "0.5 nan 0 0.1 0": "expected a number as win_gammon",
    "0.5 0.1 1e999 0.1 0": "expected a number as win_backgammon",
    "0.5 0.1 0 -inf 0": "expected a number as lose_gammon",
    "0.5 0.1 0 0.1 0,1": "expected a number as lose_backgammon",
    "1.00001 0.1 0 0 0": RANGE,
    "0.5 0.1 0 0.1 -0.00001": RANGE,
    "0.5 0.50002 0 0.1 0": "expected win_gammon at most win",
    "0.5 0.1 0.10002 0.1 0": "expected win_backgammon at most win_gammon",
    "0.5 0.1 0 0.50002 0": "expected lose_gammon at most 1 - win",
    "0.5 0.1 0 0.1 0.10002": "expected lose_backgammon at most lose_gammon",
}
GOOD_CHANCES = ["0.5 0.50001 0.50001 0.50001 0.50001", "1 0 0 0 0", "+0 0. .0 1e0 100e-2"]


def check_rules(imports: Imports, kind: str, good: list[str], bad: dict[str, str], name: str = "contact") -> None:
    """Good and bad lines mixed: exactly the bad ones are in the quarantine, each with its reason."""
    lines = [*good, *bad]
    random.Random(kind).shuffle(lines)
    table = imports.text(kind, "".join(f"{line}\n" for line in lines), name)
    expected = {line: (number, reason) for number, line in enumerate(lines, start=1) if (reason := bad.get(line))}
    found = {text: (number, reason) for _, number, text, reason in quarantined(table)}
    assert found == expected
    assert counts(table) == (len(lines), len(good), 0, len(bad))
    key = "decision" if kind == "gnubg_benchmark" else "line"
    wanted = range(len(good)) if key == "decision" else [n for n, line in enumerate(lines, start=1) if line not in bad]
    assert [row[key] for row in rows(table)] == list(wanted)
    with pytest.raises(
        CheckFailedError, match=f"expected no line that breaks a rule, found {len(bad)}, first in {name}"
    ):
        imports.build(kind, [imports.folder / name], strict=True)


def test_rules_of_gnubg_training(imports: Imports) -> None:
    off, other_off = format_key20(OFF), format_key20(OFF.flip())
    bad = {
        "word": "expected 6 fields (key and five chances), got 1",
        f"{KEY} 0.5 0.1 0 0.1": "expected 6 fields (key and five chances), got 5",
        f"{KEY} 0.5 0.1 0 0.1 0 0": "expected 6 fields (key and five chances), got 7",
        f"{KEY[:19]} 0.5 0.1 0 0.1 0": "expected a key of 20 letters",
        f"{KEY}A 0.5 0.1 0 0.1 0": "expected a key of 20 letters",
        **{f"{key} 0.5 0.1 0 0.1 0": reason.format("20-letter key") for key, reason in BAD_KEYS.items()},
        **{f"{KEY} {text}": reason for text, reason in BAD_CHANCES.items()},
        f"{other_off} 0.5 0.00002 0 0 0": NO_WIN_GAMMON,
        f"{off} 0.5 0 0 0.00002 0": NO_LOSE_GAMMON,
        "AAAAAAAAAAAAAAAAAAAA 0.5 0 0 0 0": OVER,
    }
    good = [
        *(f"{KEY} {text}" for text in GOOD_CHANCES),
        f"{off} 0.5 0.1 0 0 0",
        f"{other_off} 0.5 0 0 0.1 0",
        "AAAAABNMAAAAAAAAAAAA 0.5 0 0 0 0",  # of other classes
        f"{format_key20(Position('mxmAQ4PbAQAAAA'))} 0.5 0 0 0 0",
    ]
    check_rules(imports, "gnubg_training", good, bad)


def test_rules_of_wildbg_training(imports: Imports) -> None:
    """With the defect of some published sets: checkers on the bar are missing and look borne off."""
    bad = {
        samples.WILDBG_BAD_ROW.decode().strip(): NO_WIN_GAMMON,
        samples.WILDBG_BAD_ROW.decode()
        .strip()
        .replace(",", " "): "expected 6 fields (position id and five chances), got 1",
        f"{START_ID},0.5,0.1,0,0.1": "expected 6 fields (position id and five chances), got 5",
        f"{START_ID},0.5,0.1,0,0.1,0,": "expected 6 fields (position id and five chances), got 7",
        f"{START_ID[:13]},0.5,0.1,0,0.1,0": "expected a position id of 14 characters",
        f"{START_ID}A,0.5,0.1,0,0.1,0": "expected a position id of 14 characters",
        **{f"{text},0.5,0.1,0,0.1,0": reason.format("position id") for text, reason in BAD_IDS.items()},
        **{
            f"{START_ID},{text.replace(' ', ',')}": reason
            for text, reason in BAD_CHANCES.items()
            if not text.endswith("0,1")
        },
        f"{OFF.flip().id},0.5,0.00002,0,0,0": NO_WIN_GAMMON,
        f"{OFF.id},0.5,0,0,0.00002,0": NO_LOSE_GAMMON,
    }
    good = [f"{START_ID},{text.replace(' ', ',')}" for text in GOOD_CHANCES] + [f"{RACE} , 1,0,0 ,0,0"]
    check_rules(imports, "wildbg_training", good, bad)


def test_wildbg_files_of_other_columns(imports: Imports) -> None:
    """Such as those of inputs: exclusive chances, which would pass as cumulative ones."""
    heading = "expected the heading position_id,win,win_g,win_bg,lose_g,lose_bg or none"
    with pytest.raises(NoRowsError, match=rf"2 quarantined \(contact.txt, line 1: {heading}, got .* line 2: {heading}"):
        imports.text("wildbg_training", f"position_id,win_normal,win_g\n{START_ID},0.5,0.1,0,0.1,0\n")


def test_rules_of_positions(imports: Imports) -> None:
    bad = {
        f"{START_ID}A": "expected a position in one of the notations in the first column",
        "position_id ,": "expected a position in one of the notations in the first column",
        f",{START_ID}": "expected a position in one of the notations in the first column",
        **{f"{text},": reason.format("position id") for text, reason in BAD_IDS.items()},
    }
    check_rules(imports, "positions", [START_ID, f"{RACE},whatever,0", f" {START_ID} ,"], bad)


def test_rules_of_bgsage_rollouts(imports: Imports) -> None:
    """Noisy numbers: out of range or order by up to a twentieth."""
    start = " ".join(map(str, START_BOARD))
    integers = "expected integers from -15 to 15 as a board"
    bad = {
        f"{start} 0.5 0.1 0 0.1": "expected 31 fields (a board and five chances), got 30",
        f"{start} 0 0.5 0.1 0 0.1 0": "expected 31 fields (a board and five chances), got 32",
        f"16{start[1:]} 0.5 0.1 0 0.1 0": integers,
        f"1.5{start[1:]} 0.5 0.1 0 0.1 0": integers,
        f"x{start[1:]} 0.5 0.1 0 0.1 0": integers,
        f"-1{start[1:]} 0.5 0.1 0 0.1 0": "expected no negative count on a bar in the board",
        f"1{start[1:]} 0.5 0.1 0 0.1 0": OTHER_CHECKERS.format("board"),
        f"{start[:-1]}1 0.5 0.1 0 0.1 0": CHECKERS.format("board"),
        f"1{' 2' * 6}{' 0' * 12}{' -2' * 6} 1 0.5 0.1 0 0.1 0": CLOSED.format("board"),
        f"{start} 0.5 0.1 0 0.1 x": "expected a number as lose_backgammon",
        f"{start} 1.0501 0.1 0 0.1 0": RANGE,
        f"{start} 0.5 0.1 0 0.1 -0.0501": RANGE,
        f"{start} 0.5 0.5502 0 0.1 0": "expected win_gammon at most win",
        f"{start} 0.5 0.1 0.1502 0.1 0": "expected win_backgammon at most win_gammon",
        f"{start} 0.5 0.1 0 0.5502 0": "expected lose_gammon at most 1 - win",
        f"{start} 0.5 0.1 0 0.1 0.1502": "expected lose_backgammon at most lose_gammon",
        f"{' '.join(map(str, OFF.board))} 0.5 0.1 0 0.0502 0": NO_LOSE_GAMMON,
        f"{' '.join(map(str, OFF.flip().board))} 0.5 0.0502 0 0.1 0": NO_WIN_GAMMON,
    }
    good = [
        samples.BGSAGE_ROW.decode().strip(),
        f"{start} 1.04 0.1 0 -0.04 0",
        f"{start} -0.04 0 0 0.1 0",
        f"{start} 0.5 0.5498 0.5498 0.5498 0.5498",
        f"{' '.join(map(str, OFF.board))} 0.5 0.1 0 0.0498 0",
    ]
    check_rules(imports, "bgsage_rollouts", good, bad)
    table = imports.warehouse.open("bgsage_rollouts", "contact")
    shown = [value for row in rows(table) for name in CHANCES for value in [row[name]]]
    assert (min(shown), max(shown)) == (0, 1)


def test_rules_of_bgsage_entries(imports: Imports) -> None:
    entry = {"board": START_BOARD, "equity": 0.07, "se": 0.001, "probs": [0.53, 0.15, 0.01, 0.12, 0]}
    numbers = "expected finite numbers as equity, se and five probs"
    names = "expected a JSON object with board, equity, se, probs"
    bad = {
        "{": names,
        "[]": names,
        "7": names,
        "null": names,
        "[" * 100_000: names,
        json.dumps({**entry, "board": START_BOARD[:25]}): "expected integers from -15 to 15 as a board",
        json.dumps({**entry, "board": [True, *START_BOARD[1:]]}): "expected integers from -15 to 15 as a board",
        json.dumps({**entry, "board": [16, *START_BOARD[1:]]}): "expected integers from -15 to 15 as a board",
        json.dumps({**entry, "board": [1, *START_BOARD[1:]]}): OTHER_CHECKERS.format("board"),
        json.dumps({**entry, "equity": float("nan")}): numbers,
        json.dumps({**entry, "equity": "0.07"}): numbers,
        json.dumps({**entry, "equity": 10**400}): numbers,
        json.dumps({**entry, "probs": [0.5] * 4}): numbers,
        json.dumps({**entry, "se": -1e-9}): "expected se of at least 0",
        json.dumps({**entry, "probs": [1.06, 0, 0, 0, 0]}): RANGE,
    }
    table = imports.text("bgsage_rollouts", "".join(f"{line}\n" for line in [json.dumps(entry), "", *bad]), "x.jsonl")
    assert counts(table) == (len(bad) + 2, 1, 1, len(bad))
    assert [row[3] for row in quarantined(table)] == list(bad.values())


def test_json_lines_of_bgsage_by_content_and_level(imports: Imports) -> None:
    """Searched values are no rollouts; what the file is called does not matter."""
    entry = {"board": START_BOARD, "equity": 0.07, "se": 0.001, "probs": [0.53, 0.15, 0.01, 0.12, 0]}
    lines = [entry | {"eval_level": "Rollout"}, entry | {"eval_level": "3-ply", "se": 0.0}]
    table = imports.text("bgsage_rollouts", "".join(f"{json.dumps(line)}\n" for line in lines), "x.txt")
    assert counts(table) == (2, 1, 0, 1)
    assert [(line, reason) for _, line, _, reason in quarantined(table)] == [
        (2, "expected cubeless values that were rolled out to the end, as eval_level rollout would say")
    ]


def test_rules_of_gnubg_benchmark(imports: Imports) -> None:
    best, other = "JIGHPAABDAOAHDPAABDA", "OAHDOEABCBOAHDPAABDA"
    start = "OAHDPAABDAOAHDPAABDA"
    kinds = "expected a line of m, s, #R, o, e, O, c, b, r or a comment"
    illegal = "expected plays that are legal for the roll"
    dice = "expected dice from 1 to 6"
    bad = {
        "x y z": kinds,
        f"M {start} 2 4 {best} 0.1": kinds,
        "s version": "expected pairs of a name and a value",
        "r": "expected 2 fields, got 1",
        "r 1.5": "expected an integer of at most 64 bits as seed",
        "r 9223372036854775808": "expected an integer of at most 64 bits as seed",
        f"m {start} 2 4": "expected 4 fields and two for each play, got 4",
        f"m {start} 2 4 {best} 0.1 {other}": "expected 4 fields and two for each play, got 7",
        f"m {start} 0 4 {best} 0.1": dice,
        f"m {start} 2 7 {best} 0.1": dice,
        f"m {start} 24 4 {best} 0.1": dice,
        f"m {start} 2 4 {best} x": "expected a number as equity",
        f"m {start} 2 4 {best} 0.1 {other} x": "expected a number as loss",
        f"m {start} 2 4 {best} 0.1 {other} -0.01": "expected losses of at least 0",
        f"m {start} 2 4 {best} 0.1 {other} 0.2 OAHDOBABCEOAHDPAABDA 0.1": "expected ascending losses",
        f"m {start} 2 4 {best} 3.1": "expected equities from -3 to 3",
        f"m {start} 2 4 {best} 0 {other} 3.1": "expected equities from -3 to 3",
        f"m {start} 2 4 {best} 0.1 {best} 0.2": "expected every play once",
        f"m {start} 2 4 {best[:19]} 0.1": "expected a key of 20 letters",
        f"m {start} 2 3 {best} 0.1": illegal,
        f"m {start} 2 4 {start} 0.1": illegal,
        f"m {start} 2 4 {best} 0.1 {format_key20(parse_key20(other).flip())} 0.2": illegal,
        f"m AAAAAAAAAAAAAAAAAAAA 2 4 {best} 0.1": OVER,
        **{f"o {key} 0.5 0.1 0 0.1 0": reason.format("20-letter key") for key, reason in BAD_KEYS.items()},
        **{f"m {key} 2 4 {best} 0.1": reason.format("20-letter key") for key, reason in BAD_KEYS.items()},
        f"#R {KEY} 0.5 0.1 0 0.1": "expected 7 fields, got 6",
        f"e {KEY} 1.06 0.1 0 0.1 0": RANGE,
        f"O {KEY} 0.5 0.56 0 0.1 0": "expected win_gammon at most win",
        f"o {KEY} 0.5 0.1 0 0.1 x": "expected a number as lose_backgammon",
        f"c {start} 51 50 NO": "expected one of TG, D/T, D/D, ND as cube action",
        f"c {start} 101 50 ND": "expected percentages from 0 to 100",
        f"c {start} x 50 ND": "expected a number as no-double percentage",
        f"b {start} 3 0 {best} 0.5 0.1 0 0.1 0": dice,
    }
    good = [
        f"m {start} 2 4 {best} 0.114795 {other} 0.0421133",
        f"m {start} 4 2 {best} -3e0 {other} 0",
        f"m {start} 4 2 {other} 1e-05",
        "m AAAAABNMAAAAAAAAAAAA 6 1 APAAAAAAAACAAAAAAAAA 0.345939 ALAAAAAAAABAAAAAAAAA 0",  # a race
    ]
    check_rules(imports, "gnubg_benchmark", good, bad)
    for name in ("benchmark_rollouts", "benchmark_positions", "benchmark_cube_rollouts", "benchmark_best_plays"):
        assert rows(imports.warehouse.open("gnubg_benchmark", "contact"), name) == []


def test_rules_of_matches(imports: Imports) -> None:
    """A game with a bad line or an illegal play is taken out, all its lines; the others stay."""
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


def test_the_first_cause_comes_first(imports: Imports) -> None:
    """Not its consequences for the other lines of the game, which begins above."""
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
def test_strict_publishes_nothing(imports: Imports, kind: str) -> None:
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
    with pytest.raises(CheckFailedError, match=message):  # set aside before, but not now
        imports.build(kind, [path], strict=True)
    assert whole_versions(imports.warehouse) == [table.name]
    good = Imports(imports.folder / "good").sample(kind, strict=True)
    assert counts(good)[3] == 0


def test_strict_does_not_go_on_from_what_was_set_aside(imports: Imports, monkeypatch: pytest.MonkeyPatch) -> None:
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
