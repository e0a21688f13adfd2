"""Tests of `bgdata export text`: imported files are reproduced byte for byte."""

import bz2
import gzip
import re
from pathlib import Path

import pytest

from bgdata.warehouse.commands.export import FORMATS
from tests.command_line import error_of, output_of, run
from tests.formats import samples, sessions
from tests.formats.test_gnubg_benchmark import GROUP
from tests.imports.importing import IMPORTED, Imports
from tests.subtests import each

TRAINING = b"""\
# Positions added in cycle 3
NIKOIJADCANIGOAHADBA 0.61959 0.24388 0.00981 0.08774 0.00183
OAHDPAABDAOAHDPAABDA 0.52500 0.14900 0.00800 0.12500 0.00700
# cycle 4
#
NIKOIJADCANIGOAHADBA 1.00000 0.00000 0.00000 0.00000 0.00000
# the end
"""
WILDBG = b"""\
position_id,win,win_g,win_bg,lose_g,lose_bg
4HPwATDgc/ABMA,0.525,0.154,0.007,0.125,0.005
v90EAIC3BgAAAA,1,0,0,0,0
XHsKpABfAAAAAA,0.9614198,0.00012,0,0,0
"""
BENCHMARK = (
    samples.SETTINGS
    + b"# comment\n"
    + GROUP
    + b"".join(samples.BENCHMARK_ROWS.splitlines(keepends=True)[:2])
    + b"c OAHDPAABDAOAHDPAABDA 51.25 49.875 ND\nb OAHDPAABDAOAHDPAABDA 3 1 JIGHPAABDAOAHDPAABDA 0.5 0.125 0 0.1 0\n"
)
START = b"0 -2 0 0 0 0 5 0 3 0 0 0 -5 5 0 0 0 -3 0 -5 0 0 0 0 2 0"
SAMPLES = {  # format -> kind, text
    "gnubg-training": ("gnubg_training", TRAINING),
    "wildbg-csv": ("wildbg_training", WILDBG),
    "gnubg-benchmark": ("gnubg_benchmark", BENCHMARK),
    "bgsage-rollouts": ("bgsage_rollouts", samples.BGSAGE_ROW + START + b" 0.5250 0.1540 -0.0004 0.1250 0.12345\n"),
    "position-list": ("positions", b"4HPwATDgc/ABMA\nv3sAAAhmdzMAAQ\n4HPwATDgc/ABMA\n"),
    "mat": ("matches", sessions.MAT.encode()),
}


def export(imports: Imports, table: str, form: str, name: str = "out") -> bytes:
    path = imports.folder / name
    shown = output_of(imports.warehouse.root, "export", "text", table, "--format", form, "-o", path)
    assert shown == f"wrote {path}: {path.stat().st_size:,} bytes\n"
    return path.read_bytes()


@each("form", list(FORMATS))
def test_imported_file_is_exported_byte_for_byte(memory_path: Path, form: str) -> None:
    imports = Imports(memory_path)
    kind, text = SAMPLES[form]
    assert imports.text(kind, text).manifest.statistics["lines_quarantined"] == 0
    assert export(imports, f"{kind}/contact", form) == text
    assert gzip.decompress(export(imports, f"{kind}/contact", form, "out.gz")) == text
    assert bz2.decompress(export(imports, f"{kind}/contact", form, "out.bz2")) == text


@pytest.mark.parametrize("form", ["gnubg-training", "bgsage-rollouts", "position-list"])
def test_several_files_are_exported_as_one(imports: Imports, form: str) -> None:
    """The export includes rows of the second file without a comment."""
    kind, text = SAMPLES[form]
    second = text.removeprefix(TRAINING.splitlines(keepends=True)[0])
    files = [imports.file("contact-1", text.removesuffix(b"# the end\n")), imports.file("contact-2", second)]
    imports.build(kind, files, name="contact")
    assert export(imports, f"{kind}/contact", form) == text.removesuffix(b"# the end\n") + second


def test_quarantined_lines_are_not_exported(imports: Imports) -> None:
    for form, (kind, text) in SAMPLES.items():
        corrupted = text + b"nonsense\n" if form != "mat" else text.replace(b"Wins 8 points\n", b"Wins 8 pints\n", 1)
        assert imports.text(kind, corrupted).manifest.statistics["lines_quarantined"] > 0
        expected = text
        if form == "mat":
            before, _, rest = text.partition(b" Game 1\n")
            expected = before + b" Game 2\n" + rest.partition(b" Game 2\n")[2]
        assert export(imports, f"{kind}/contact", form) == expected


@pytest.mark.parametrize("class_", ["contact", "race", "crashed"])
def test_published_benchmark_rows_are_exported(imports: Imports, class_: str) -> None:
    rows = samples.shared_file("gnubg", "benchmark_samples.bm").read_bytes().splitlines(keepends=True)
    text = b"".join(row.split(b" ", 2)[2] for row in rows if row.startswith(class_.encode()))
    table = imports.text("gnubg_benchmark", text, f"{class_}.bm")
    assert table.manifest.rows == {"contact": 15, "race": 14, "crashed": 14}[class_]
    assert export(imports, f"gnubg_benchmark/{class_}", "gnubg-benchmark") == text


@pytest.mark.parametrize("name", ["contact", "race"])
def test_published_positions_are_exported(imports: Imports, name: str) -> None:
    path = samples.shared_file("wildbg", f"{name}.csv")
    table = imports.build("positions", [path])
    assert (table.manifest.rows, table.manifest.statistics["lines_quarantined"]) == (1000, 0)
    assert export(imports, f"positions/{name}", "position-list") == path.read_bytes()


def test_conversion_to_another_format_and_back_keeps_the_rows(imports: Imports) -> None:
    """gnubg's and wildbg's training data keep five decimals."""
    plain = b"".join(line for line in TRAINING.splitlines(keepends=True) if not line.startswith(b"#"))
    imports.text("gnubg_training", plain)
    csv = export(imports, "gnubg_training/contact", "wildbg-csv")
    assert csv.splitlines()[1] == b"2K6JAyDYbgcDEA,0.61959,0.24388,0.00981,0.08774,0.00183"
    imports.text("wildbg_training", csv)
    assert export(imports, "wildbg_training/contact", "gnubg-training") == plain
    # to bgsage's values, after the play and for the other player, and back
    rollouts = export(imports, "gnubg_training/contact", "bgsage-rollouts")
    board = rollouts.splitlines()[1].split()[:26]
    chances = rollouts.splitlines()[1].split()[26:]
    assert board == START.split()
    assert list(map(float, chances)) == pytest.approx([0.475, 0.125, 0.007, 0.149, 0.008], abs=1e-7)
    imports.text("bgsage_rollouts", rollouts)
    again = export(imports, "bgsage_rollouts/contact", "gnubg-training").splitlines()
    for found, expected in zip(again, plain.splitlines(), strict=True):
        assert found.split()[0] == expected.split()[0]
        numbers = [list(map(float, line.split()[1:])) for line in (found, expected)]
        assert numbers[0] == pytest.approx(numbers[1], abs=1e-7)


POSITIONS_AND_CHANCES = ["gnubg-training", "wildbg-csv", "bgsage-rollouts", "position-list"]
ABLE = {
    "gnubg_training": POSITIONS_AND_CHANCES,
    "wildbg_training": POSITIONS_AND_CHANCES,
    "bgsage_rollouts": POSITIONS_AND_CHANCES,
    "positions": ["position-list"],
    "gnubg_benchmark": ["gnubg-benchmark"],
    "matches": ["mat"],
    "met_xml": [],
}


@pytest.mark.parametrize("kind", IMPORTED)
def test_formats_without_their_arrays_are_refused(imports: Imports, kind: str) -> None:
    """A table can be exported in exactly those text formats whose fields it has; others are refused, with those that
    would do."""
    table = imports.sample(kind)
    title = f"{kind}/{table.manifest.variant}"
    for form in FORMATS:
        path = imports.folder / f"{form}.out"
        result = run(imports.warehouse.root, "export", "text", title, "--format", form, "-o", path)
        if form in ABLE[kind]:
            assert (result.exit_code, path.exists()) == (0, True), form
        else:
            able = ", ".join(name for name in FORMATS if name in ABLE[kind]) or "none"
            assert error_of(result, 2) == f"expected a format for {table.name} among {able}, got {form}"
            assert not path.exists()


def test_tables_without_a_format_and_missing_ones_are_refused(small_root: Path, tmp_path: Path) -> None:
    """Exporting a table that no text format fits, a missing table, or to a missing folder gives an error of one line
    and no file."""
    for title in ("bearoff_gammon/3x15", "benchmark_scores/pubeval-0ply-imported-contact"):
        for form in FORMATS:
            result = run(small_root, "export", "text", title, "--format", form, "-o", tmp_path / "x")
            assert re.fullmatch(rf"expected a format for {title}/r\S+ among none, got {form}", error_of(result, 2))
    assert list(tmp_path.iterdir()) == []

    def error(title: str, output: Path) -> str:
        return error_of(run(small_root, "export", "text", title, "--format", "position-list", "-o", output), 1)

    found = error("positions/none", tmp_path / "x")
    assert found == f"no positions/none in {small_root} (have: sample); try: bgdata import positions FILE..."
    wrong = run(small_root, "export", "text", "positions", "--format", "position-list", "-o", tmp_path / "x")
    assert error_of(wrong, 2) == "expected KIND/VARIANT or KIND/VARIANT/VERSION, got 'positions'"
    missing = tmp_path / "no" / "x"
    expected = f"expected to write {missing}, found: no such file or directory; choose a folder that "
    assert error("positions/sample", missing) == expected + "exists, can be written and has room"
    wrong = run(small_root, "export", "text", "positions/sample", "--format", "sgf", "-o", tmp_path / "x")
    assert wrong.exit_code == 2
    assert "'sgf' is not one of 'gnubg-training'" in wrong.stderr
