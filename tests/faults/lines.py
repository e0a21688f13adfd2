"""Corrupted files for every importer: imports do not stop, account for every line, and keep every good row."""

import json
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from bgdata.game.position import Position
from bgdata.store.table import Table
from tests.faults.campaign import Campaign
from tests.faults.corrupting import corrupt_line, corrupt_lines
from tests.formats import samples, sessions
from tests.formats.test_fuzz import BENCHMARK, LINES
from tests.imports.importing import IMPORTED, Imports, counts, quarantined, rows
from tests.reference.text_rows import lines_of
from tests.store.toy import problems

LINES_A_CASE = 2000
# columns that depend on the place in the file, not on the line
OF_PLACE = {"source", "line", "comment", "decision", "seed"}
START = b"0 -2 0 0 0 0 5 0 3 0 0 0 -5 5 0 0 0 -3 0 -5 0 0 0 0 2 0"
ENTRY = {
    "board": [int(field) for field in START.split()],
    "equity": 0.07,
    "se": 0.001,
    "probs": [0.53, 0.15, 0, 0.1, 0],
}
JSON_LINE = json.dumps(ENTRY).encode() + b"\n"


class Lines(NamedTuple):
    """A format with a row for each line: its kind, a file name, and sample lines."""

    kind: str
    file: str
    whole: list[bytes]

    def check(self, imports: Imports, count: int, chance: random.Random) -> Table:
        """Import many lines, mostly corrupted; intact lines give the same rows as alone."""
        alone = rows_of_lines(imports.text(self.kind, b"".join(self.whole), self.file), b"".join(self.whole))
        text = corrupt_lines(self.whole, count, chance)
        table = imports.text(self.kind, text, self.file)
        found = check_lines(table, text)
        for number, line in enumerate(lines_of(text), start=1):
            row = alone.get(line)
            if row is not None:
                assert facts(found.get(number, {})) == row, f"expected {row} of line {number}, {line!r}"
        return table


class Sessions(NamedTuple):
    """A format of matches: independent pieces of text."""

    file: str
    pieces: list[bytes]

    def check(self, imports: Imports, count: int, chance: random.Random) -> Table:
        """Import many pieces, half of them corrupted; the games of the others are the same as alone, once: a match that
        comes again is left out."""
        alone = {piece: games_of(imports.text("matches", piece, self.file)) for piece in self.pieces}
        expected = set[Any]()
        text = b""
        while text.count(b"\n") < count:
            piece = chance.choice(self.pieces)
            if chance.random() < 0.5:
                expected |= alone[piece].keys()
                text += piece
            else:
                text += corrupted_piece(piece, chance)
        table = imports.text("matches", text, self.file)
        lost = expected - games_of(table).keys()
        assert not lost, f"expected every game that is whole, lost {len(lost)}"
        assert all(row["action"] != "play" or row["play"] for row in rows(table, "turns"))
        check_positions(rows(table, "turns"))
        return table


class Tables(NamedTuple):
    """Match equity tables: a file is imported or quarantined as a whole."""

    def check(self, imports: Imports, count: int, chance: random.Random) -> Table:
        """Import many files, mostly corrupted; intact files keep every cell."""
        (path,) = IMPORTED["met_xml"].computation.write_sample(imports.folder)
        whole = path.read_bytes()
        alone = Counter(row["mwc"] for row in rows(imports.build("met_xml", [path])))
        paths: list[Path] = []
        n_whole = 0
        while len(paths) * whole.count(b"\n") < count:
            is_whole = not paths or chance.random() < 0.3
            n_whole += is_whole
            content = whole if is_whole else corrupted_piece(whole, chance)
            paths.append(imports.file(f"met{len(paths)}.xml", content))
        table = imports.build("met_xml", paths, name="corrupted")
        found = rows(table)
        assert all(0 <= row["mwc"] <= 1 for row in found)
        assert Counter(row["mwc"] for row in found) >= Counter({mwc: n * n_whole for mwc, n in alone.items()})
        aside = {source for source, *_ in quarantined(table)}
        assert n_whole <= len(paths) - len(aside), "expected no whole file to be set aside"
        return table


FORMATS: dict[str, Lines | Sessions | Tables] = {
    "training": Lines("gnubg_training", "contact.txt", LINES["training"]),
    "benchmark": Lines("gnubg_benchmark", "contact.txt", BENCHMARK),
    "wildbg": Lines(
        "wildbg_training",
        "x.csv",
        [
            b"4HPwATDgc/ABMA,0.525,0.154,0.007,0.125,0.005\n",
            b"v90EAIC3BgAAAA, 1, 0, 0, 0, 0\n",
            samples.WILDBG_BAD_ROW,
            b"# comment\n",
        ],
    ),
    "bgsage": Lines(
        "bgsage_rollouts", "x.txt", [samples.BGSAGE_ROW, START + b" 0.5250 0.1540 -0.0004 0.1250 0.12345\n", b"\n"]
    ),
    "bgsage json": Lines("bgsage_rollouts", "x.jsonl", [JSON_LINE, JSON_LINE.replace(b"0.07", b"-1e3"), b"\n"]),
    "positions": Lines(
        "positions",
        "x.txt",
        [b"4HPwATDgc/ABMA\n", b"v3sAAAhmdzMAAQ,contact\n", b"v90EAIC3BgAAAA\r\n", b"# comment\n"],
    ),
    "mat": Sessions("x.mat", [sessions.MAT.encode()]),
    "sgf": Sessions("x.sgf", [f"({tree}".encode() for tree in sessions.SGF.split("(")[1:]]),
    "met": Tables(),
}


class CorruptedLines(Campaign):
    """Each case is one or several files of one format."""

    name = "lines"
    small = len(FORMATS)
    full = 135

    def case(self, number: int, chance: random.Random, folder: Path) -> Iterable[str]:
        table = list(FORMATS.values())[number % len(FORMATS)].check(Imports(folder / "imports"), LINES_A_CASE, chance)
        read, with_rows, _, aside = counts(table)
        assert with_rows > read / 20
        assert aside > read / 20
        assert problems(Imports(folder / "imports").warehouse, 1) == []
        return Counter({"lines": read, "rows": table.manifest.rows, "lines set aside": aside})


def facts(row: dict[str, Any]) -> dict[str, Any]:
    """The columns of a row that depend on its line."""
    return {name: value for name, value in row.items() if name not in OF_PLACE}


def rows_of_lines(table: Table, text: bytes) -> dict[bytes, dict[str, Any]]:
    """The columns of each line's row, for lines with a row."""
    lines = lines_of(text)
    return {lines[row["line"] - 1]: facts(row) for row in rows(table)}


def check_lines(table: Table, text: bytes) -> dict[int, dict[str, Any]]:
    """Check that every line is a row, a comment or quarantined, and return rows by line."""
    lines = lines_of(text)
    aside = quarantined(table)
    check_quarantine(table, len(lines))
    for _, line, text_there, _ in aside[:200]:
        assert text_there[:20] == printable(lines[line - 1])[:20]
    by_line = {row["line"]: row for row in rows(table)}
    assert len(by_line) == table.manifest.rows
    assert not by_line.keys() & {line for _, line, *_ in aside}
    check_positions(list(by_line.values()))
    return by_line


def check_quarantine(table: Table, lines: int) -> None:
    """Check the number of lines read, and that quarantined lines have a reason and printable text."""
    read, _, _, set_aside = counts(table)
    assert read == lines, f"expected {lines} lines read, found {read}"
    aside = quarantined(table)
    assert len({line for _, line, *_ in aside}) == set_aside
    assert all(reason.startswith("expected ") and text.isprintable() for *_, text, reason in aside)


def check_positions(found: list[dict[str, Any]]) -> None:
    """Check that boards are legal and equal their Position IDs."""
    for row in found[:2000]:
        assert Position(row["board"]).id == row["position_id"]


def printable(line: bytes) -> str:
    """A line as the quarantine shows it."""
    letters = line.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in letters)


def games_of(table: Table) -> Counter[tuple[tuple[str, str, str], ...]]:
    """The games of an import by their turns."""
    turns: dict[int, list[tuple[str, str, str]]] = {row["game"]: [] for row in rows(table)}
    for row in rows(table, "turns"):
        turns[row["game"]].append((row["position_id"], row["action"], row["play"]))
    return Counter(tuple(game) for game in turns.values())


def corrupted_piece(piece: bytes, chance: random.Random) -> bytes:
    """The piece with one to three corrupted lines."""
    lines = piece.splitlines(keepends=True)
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(lines))
        lines[place] = corrupt_line(lines[place], chance)
    return b"".join(lines) if lines[-1].endswith(b"\n") else b"".join(lines) + b"\n"
