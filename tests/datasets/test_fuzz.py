"""Spoiled files through every importer: nothing stops it, every line is accounted for, and what is in is legal."""

from __future__ import annotations

import json
import os
import random
import re
from typing import Any

import pytest

from bgdata.errors import NoRowsError
from bgdata.formats.met_xml import read_met
from bgdata.game.position import Position
from bgdata.store.progress import Silence
from bgdata.store.table import Table
from bgdata.store.verify import verify
from tests.datasets.importing import IMPORTED, Imports, counts, quarantined, rows
from tests.formats import samples, sessions
from tests.formats.test_fuzz import BENCHMARK, TRAINING, spoiled, spoiled_text
from tests.reference.text_rows import lines_of

LINES = 20_000
START = b"0 -2 0 0 0 0 5 0 3 0 0 0 -5 5 0 0 0 -3 0 -5 0 0 0 0 2 0"
ENTRY = {
    "board": [int(field) for field in START.split()],
    "equity": 0.07,
    "se": 0.001,
    "probs": [0.53, 0.15, 0, 0.1, 0],
}
WHOLE: dict[str, list[bytes]] = {
    "gnubg_training": TRAINING,
    "gnubg_benchmark": BENCHMARK,
    "wildbg_training": [
        b"4HPwATDgc/ABMA,0.525,0.154,0.007,0.125,0.005\n",
        b"v90EAIC3BgAAAA, 1, 0, 0, 0, 0\n",
        samples.WILDBG_BAD_ROW,
        b"# comment\n",
    ],
    "bgsage_rollouts": [samples.BGSAGE_ROW, START + b" 0.5250 0.1540 -0.0004 0.1250 0.12345\n", b"\n"],
    "positions": [b"4HPwATDgc/ABMA\n", b"v3sAAAhmdzMAAQ,contact\n", b"v90EAIC3BgAAAA\r\n", b"# comment\n"],
}
KEYS = {"gnubg_benchmark": "decision"}


def check(imports: Imports, table: Table, text: bytes) -> dict[int, dict[str, Any]]:
    """Every line is a row, a comment or in the quarantine, with the text as it is; rows by their line."""
    read, _, _, set_aside = counts(table)
    lines = lines_of(text)
    assert read == len(lines)
    found = quarantined(table)
    assert len({line for _, line, *_ in found}) == set_aside
    assert all(reason.startswith("expected ") and text.isprintable() for *_, text, reason in found)
    for _, line, text_there, _ in found[:200]:
        assert text_there[:20] == printable(lines[line - 1])[:20]
    by_line = {row["line"]: row for row in rows(table)}
    assert len(by_line) == table.manifest.rows
    assert not by_line.keys() & {line for _, line, *_ in found}
    for row in list(by_line.values())[:2000]:
        assert Position.from_board(row["board"]).id == row["position_id"]
    tables = list(imports.warehouse.versions())
    assert not [f for f in verify(imports.warehouse, tables, sample_rows=1, seed=0, progress=Silence()) if f.problem]
    return by_line


def printable(line: bytes) -> str:
    letters = line.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in letters)


@pytest.mark.parametrize("kind", WHOLE)
def test_spoiled_lines(imports: Imports, kind: str) -> None:
    chance = random.Random(kind)
    text = spoiled_text(WHOLE[kind], LINES, chance)
    by_line = check(imports, imports.text(kind, text), text)
    assert len(by_line) > LINES / 20
    lines = lines_of(text)
    whole = {line.rstrip(b"\r\n") for line in WHOLE[kind]} - {samples.WILDBG_BAD_ROW.strip()}
    for number, line in enumerate(lines, start=1):
        if line in whole and line.strip() and line[:1] not in b"#srRoeOcb":
            assert number in by_line or kind == "gnubg_benchmark", "a good line was set aside"


def test_spoiled_json_lines(imports: Imports) -> None:
    entry = json.dumps(ENTRY).encode() + b"\n"
    text = spoiled_text([entry, entry.replace(b"0.07", b"-1e3"), b"\n"], LINES // 4, random.Random("json"))
    assert len(check(imports, imports.text("bgsage_rollouts", text, "x.jsonl"), text)) > 500


def test_every_importer_is_spoiled() -> None:
    assert set(WHOLE) | {"matches", "met_xml"} == set(IMPORTED)


@pytest.mark.parametrize("kind", IMPORTED)
def test_any_bytes(imports: Imports, kind: str) -> None:
    """Of no format at all, also as the other formats of a kind."""
    chance = random.Random(kind)
    for name in ("contact.txt", "contact.jsonl", "contact.sgf"):
        text = chance.randbytes(50_000)
        with pytest.raises(NoRowsError) as caught:
            imports.text(kind, text, name)
        if name != "contact.sgf" or kind != "matches":  # which has trees for lines
            assert f"none in {len(lines_of(text))} lines: " in str(caught.value)
    assert list(imports.warehouse.versions()) == []


def spoiled_session(chance: random.Random) -> bytes:
    """The session with a few of its lines spoiled."""
    lines = sessions.MAT.encode().splitlines(keepends=True)
    for _ in range(chance.randrange(4)):
        place = chance.randrange(len(lines))
        lines[place] = spoiled(lines[place], chance)
    return b"".join(lines)


def test_spoiled_match_equity_tables(imports: Imports) -> None:
    """A file is read whole, or set aside whole with a reason; what is read is a table of chances."""
    (path,) = imports.warehouse.kind("met_xml").write_sample(imports.folder)
    chance, whole = random.Random("met"), path.read_bytes().splitlines(keepends=True)
    found = set()
    for number in range(60):
        lines = list(whole)
        for _ in range(chance.randrange(3)):
            place = chance.randrange(len(lines))
            lines[place] = spoiled(lines[place], chance)
        file = imports.file(f"met{number}.xml", b"".join(lines))
        if read_met(file).table is None:
            with pytest.raises(NoRowsError, match=rf" quarantined \(met{number}.xml, line "):
                imports.build("met_xml", [file])
            found.add(False)
            continue
        table = imports.build("met_xml", [file])
        assert table.manifest.rows > 0
        assert quarantined(table) == []
        found.add(True)
        assert all(0 <= row["mwc"] <= 1 for row in rows(table))
    assert found == {True, False}


def test_spoiled_sessions(imports: Imports) -> None:
    """Games that cannot be replayed are set aside, all their lines; the others come out as they were."""
    chance = random.Random("mat")
    text = b"".join(spoiled_session(chance) for _ in range(250))
    table = imports.text("matches", text)
    assert counts(table)[0] == len(lines_of(text)) > 12_000
    assert 1000 < table.manifest.rows < 2000
    turns = rows(table, "turns")
    assert sum(row["n_turns"] for row in rows(table)) == len(turns)
    assert {Position.from_board(row["board"]).id == row["position_id"] for row in turns} == {True}
    assert all(row["action"] != "play" or row["play"] for row in turns)
    reasons = {re.sub(r"[(\d,].*", "", reason) for *_, reason in quarantined(table)}
    assert len(reasons) > 8


def test_spoiled_lines_of_matches(imports: Imports) -> None:
    chance = random.Random("lines")
    text = spoiled_text(sessions.MAT.encode().splitlines(keepends=True), LINES, chance)
    assert counts(imports.text("matches", text))[0] == len(lines_of(text))


def test_spoiled_trees(imports: Imports) -> None:
    chance = random.Random("sgf")
    trees = [f"({tree}".encode() for tree in sessions.SGF.split("(")[1:]]
    text = b"".join(spoiled(chance.choice(trees), chance) + b"\n" for _ in range(2000))
    table = imports.text("matches", text, "x.sgf")
    read, *_ = counts(table)
    assert read > 500
    assert table.manifest.rows > 100
    assert {Position.from_board(row["board"]).id == row["position_id"] for row in rows(table, "turns")} == {True}


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("BGDATA_EXHAUSTIVE"), reason="a million lines: set BGDATA_EXHAUSTIVE=1")
@pytest.mark.parametrize("kind", ["gnubg_training", "gnubg_benchmark"])
def test_a_million_spoiled_lines(imports: Imports, kind: str) -> None:
    text = spoiled_text(WHOLE[kind], 500_000, random.Random(1))
    assert len(check(imports, imports.text(kind, text), text)) > 25_000
