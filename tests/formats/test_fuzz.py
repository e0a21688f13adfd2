"""Corrupted lines: reading never stops, every line is accounted for, and rows can be written and read again."""

import random

import numpy as np
import pytest

from bgdata.formats.gnubg_benchmark import format_gnubg_benchmark, parse_gnubg_benchmark
from bgdata.formats.lines import Intake
from bgdata.formats.mat import format_mat, parse_mat
from bgdata.formats.matches import MatchFile
from bgdata.formats.sgf import parse_sgf
from tests.faults.corrupting import corrupt_line, corrupt_lines
from tests.formats import samples, test_gnubg_benchmark, test_mat, test_position_files, test_sgf
from tests.reference.text_rows import lines_of

BENCHMARK = [
    *(samples.SETTINGS + test_gnubg_benchmark.GROUP + samples.BENCHMARK_ROWS).splitlines(keepends=True),
    b"c OAHDPAABDAOAHDPAABDA 51.25 49.875 ND\n",
    b"b OAHDPAABDAOAHDPAABDA 3 1 JIGHPAABDAOAHDPAABDA 0.5 0.125 0 0.1 0\n",
]
MAT = test_mat.EXAMPLE.encode().splitlines(keepends=True)


def check_reasons(intake: Intake) -> None:
    for bad in intake.rejects:
        assert bad.reason.startswith("expected ")
        assert bad.text.isprintable()


def check_every_line_is_counted(intake: Intake, text: bytes) -> None:
    counts = intake.counts
    assert counts.lines == len(lines_of(text)) == counts.rows + counts.comments + counts.quarantined
    bad_lines = [bad.line for bad in intake.rejects]
    assert len(bad_lines) == counts.quarantined
    assert bad_lines == sorted(set(bad_lines))
    check_reasons(intake)


FORMATS = test_position_files.FORMATS
LINES = {
    "training": [samples.TRAINING_ROW, test_position_files.START_ROW, b"# cycle 3\n"],
    "list": [b"4HPwATDgc/ABMA\n", b"v3sAAAhmdzMAAQ,1\n"],
}


def check_rows(name: str, text: bytes) -> None:
    """Check that all lines are counted, and that rows survive writing and reading."""
    write, parse = FORMATS[name].write, test_position_files.parse
    rows = parse(name, text)
    check_every_line_is_counted(rows, text)
    assert len(rows) == rows.counts.rows
    assert not set(rows.lines.tolist()) & {bad.line for bad in rows.rejects}
    written = b"".join(write(rows))
    again = parse(name, written)
    assert again.rejects == []
    assert b"".join(write(again)) == written
    for field, array in vars(rows).items():
        if isinstance(array, np.ndarray) and field != "lines":
            assert array.tobytes() == getattr(again, field).tobytes()


@pytest.mark.parametrize("name", FORMATS)
def test_corrupted_rows_are_read_or_quarantined(name: str) -> None:
    lines = LINES.get(name, [FORMATS[name].row])
    generator = random.Random(name)
    check_rows(name, corrupt_lines(lines, 10_000, generator))
    for _ in range(300):  # many small files, to corrupt beginnings and ends too
        check_rows(name, corrupt_lines(lines, generator.randrange(4), generator))


def check_benchmark(text: bytes) -> None:
    benchmark = parse_gnubg_benchmark(text)
    check_every_line_is_counted(benchmark, text)
    tables = ("decisions", "rollouts", "evaluations", "cube_rollouts", "best_plays", "seeds", "settings")
    assert benchmark.counts.rows == sum(len(getattr(benchmark, table)) for table in tables)
    written = b"".join(format_gnubg_benchmark(benchmark))
    again = parse_gnubg_benchmark(written)
    assert again.rejects == []
    assert b"".join(format_gnubg_benchmark(again)) == written
    for table in ("decisions", "plays"):
        for name in ("boards", "dice", "equities", "losses"):
            array = getattr(getattr(benchmark, table), name, None)
            assert array is None or array.tobytes() == getattr(getattr(again, table), name).tobytes()


def test_corrupted_benchmarks_are_read_or_quarantined() -> None:
    generator = random.Random("benchmark")
    check_benchmark(corrupt_lines(BENCHMARK, 10_000, generator))
    for _ in range(300):
        check_benchmark(corrupt_lines(BENCHMARK, generator.randrange(8), generator))


def written_matches(file: MatchFile) -> bytes:
    return b"".join(chunk for match in file.matches for chunk in format_mat(match))


def test_corrupted_matches_are_read_or_quarantined() -> None:
    generator = random.Random("mat")
    text = corrupt_lines(MAT, 10_000, generator)
    check_every_line_is_counted(parse_mat(text), text)
    for _ in range(300):
        lines = list(MAT)
        damaged = generator.randrange(len(lines))
        lines[damaged] = corrupt_line(lines[damaged], generator)
        text = b"".join(lines)
        file = parse_mat(text)
        check_every_line_is_counted(file, text)
        assert written_matches(parse_mat(written_matches(file))) == written_matches(file)


def test_corrupted_trees_are_read_or_quarantined() -> None:
    generator = random.Random("sgf")
    for _ in range(2000):
        file = parse_sgf(corrupt_line(corrupt_line(test_sgf.EXAMPLE.encode(), generator), generator))
        assert file.counts.lines == file.counts.rows + file.counts.quarantined
        assert file.counts.rows == sum(len(match.games) for match in file.matches)
        check_reasons(file)
