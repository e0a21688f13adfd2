"""Corrupted lines: reading never stops, every line is accounted for, and rows can be written and read again."""

import random

import numpy as np
import pytest

from bgdata.formats.gnubg_benchmark import format_gnubg_benchmark, parse_gnubg_benchmark
from bgdata.formats.lines import Intake
from bgdata.formats.mat import format_mat, parse_mat
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


def check_accounts(intake: Intake, text: bytes) -> None:
    counts = intake.counts
    assert counts.lines == len(lines_of(text)) == counts.rows + counts.comments + counts.quarantined
    quarantined = intake.rejects
    assert len(quarantined) == counts.quarantined
    assert all(bad.reason.startswith("expected ") and bad.text.isprintable() for bad in quarantined)
    numbers = [bad.line for bad in quarantined]
    assert numbers == sorted(set(numbers))


FORMATS = test_position_files.FORMATS
LINES = {
    "training": [samples.TRAINING_ROW, test_position_files.START_ROW, b"# cycle 3\n"],
    "list": [b"4HPwATDgc/ABMA\n", b"v3sAAAhmdzMAAQ,1\n"],
}


def check_again(name: str, text: bytes) -> None:
    """Reading accounts for all lines, and the rows survive writing and reading."""
    parse, write, _ = FORMATS[name]
    intake = parse(text)
    check_accounts(intake, text)
    assert len(intake) == intake.counts.rows
    assert not set(intake.lines.tolist()) & {bad.line for bad in intake.rejects}
    written = b"".join(write(intake))
    again = parse(written)
    assert again.rejects == []
    assert b"".join(write(again)) == written
    for field, array in vars(intake).items():
        if isinstance(array, np.ndarray) and field != "lines":
            assert array.tobytes() == getattr(again, field).tobytes()


@pytest.mark.parametrize("name", FORMATS)
def test_corrupted_rows_are_read_or_quarantined(name: str) -> None:
    lines = LINES.get(name, [FORMATS[name].row])
    chance = random.Random(name)
    check_again(name, corrupt_lines(lines, 10_000, chance))
    for _ in range(300):  # many small files, to corrupt beginnings and ends too
        check_again(name, corrupt_lines(lines, chance.randrange(4), chance))


def check_benchmark(text: bytes) -> None:
    benchmark = parse_gnubg_benchmark(text)
    check_accounts(benchmark, text)
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
    chance = random.Random("benchmark")
    check_benchmark(corrupt_lines(BENCHMARK, 10_000, chance))
    for _ in range(300):
        check_benchmark(corrupt_lines(BENCHMARK, chance.randrange(8), chance))


def test_corrupted_matches_are_read_or_quarantined() -> None:
    chance = random.Random("mat")
    check_accounts(parse_mat(text := corrupt_lines(MAT, 10_000, chance)), text)
    for _ in range(300):
        damage = chance.randrange(len(MAT))
        text = b"".join([*MAT[:damage], corrupt_line(MAT[damage], chance), *MAT[damage + 1 :]])
        file = parse_mat(text)
        check_accounts(file, text)
        written = b"".join(b"".join(format_mat(match)) for match in file.matches)
        assert b"".join(b"".join(format_mat(match)) for match in parse_mat(written).matches) == written


def test_corrupted_trees_are_read_or_quarantined() -> None:
    chance = random.Random("sgf")
    for _ in range(2000):
        text = corrupt_line(corrupt_line(test_sgf.EXAMPLE.encode(), chance), chance)
        file = parse_sgf(text)
        counts = file.counts
        assert counts.lines == counts.rows + counts.quarantined
        assert counts.rows == sum(len(match.games) for match in file.matches)
        assert all(bad.reason.startswith("expected ") and bad.text.isprintable() for bad in file.rejects)
