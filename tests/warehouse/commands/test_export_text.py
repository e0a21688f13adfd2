"""Tests of `bgdata export text`: imported files are reproduced byte for byte."""

import bz2
import gzip
import re
from pathlib import Path

import pytest
from click.testing import Result

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
UNCOMMENTED_TRAINING = b"".join(line for line in TRAINING.splitlines(True) if not line.startswith(b"#"))
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
    """Export a table as text, and return the bytes of the file."""
    path = imports.folder / name
    output = output_of(imports.warehouse.root, "export", "text", table, "--format", form, "-o", path)
    assert output == f"wrote {path}: {path.stat().st_size:,} bytes\n"
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


@each("form", list(SAMPLES))
def test_quarantined_lines_are_not_exported(memory_path: Path, form: str) -> None:
    """A bad line is left out, in a match the whole game."""
    imports = Imports(memory_path)
    kind, text = SAMPLES[form]
    if form == "mat":
        corrupted = text.replace(b"Wins 8 points\n", b"Wins 8 pints\n", 1)
        preamble, _, games = text.partition(b" Game 1\n")
        expected = preamble + b" Game 2\n" + games.partition(b" Game 2\n")[2]
    else:
        corrupted = text + b"nonsense\n"
        expected = text
    assert imports.text(kind, corrupted).manifest.statistics["lines_quarantined"] > 0
    assert export(imports, f"{kind}/contact", form) == expected


@pytest.mark.parametrize(("class_", "n_rows"), [("contact", 15), ("race", 14), ("crashed", 14)])
def test_published_benchmark_rows_are_exported(imports: Imports, class_: str, n_rows: int) -> None:
    lines = samples.shared_file("gnubg", "benchmark_samples.bm").read_bytes().splitlines(keepends=True)
    text = b"".join(line.split(b" ", 2)[2] for line in lines if line.startswith(class_.encode()))
    assert imports.text("gnubg_benchmark", text, f"{class_}.bm").manifest.rows == n_rows
    assert export(imports, f"gnubg_benchmark/{class_}", "gnubg-benchmark") == text


@pytest.mark.parametrize("name", ["contact", "race"])
def test_published_positions_are_exported(imports: Imports, name: str) -> None:
    path = samples.shared_file("wildbg", f"{name}.csv")
    table = imports.build("positions", [path])
    assert (table.manifest.rows, table.manifest.statistics["lines_quarantined"]) == (1000, 0)
    assert export(imports, f"positions/{name}", "position-list") == path.read_bytes()


def test_conversion_to_wildbg_and_back_keeps_the_rows(imports: Imports) -> None:
    """gnubg's and wildbg's training data keep five decimals."""
    imports.text("gnubg_training", UNCOMMENTED_TRAINING)
    csv = export(imports, "gnubg_training/contact", "wildbg-csv")
    assert csv.splitlines()[1] == b"2K6JAyDYbgcDEA,0.61959,0.24388,0.00981,0.08774,0.00183"
    imports.text("wildbg_training", csv)
    assert export(imports, "wildbg_training/contact", "gnubg-training") == UNCOMMENTED_TRAINING


def test_conversion_to_bgsage_and_back_keeps_the_rows(imports: Imports) -> None:
    """bgsage's values are those after the play, for the other player."""
    imports.text("gnubg_training", UNCOMMENTED_TRAINING)
    rollouts = export(imports, "gnubg_training/contact", "bgsage-rollouts")
    numbers = rollouts.splitlines()[1].split()
    assert numbers[:26] == START.split()
    assert list(map(float, numbers[26:])) == pytest.approx([0.475, 0.125, 0.007, 0.149, 0.008], abs=1e-7)
    imports.text("bgsage_rollouts", rollouts)
    lines = export(imports, "bgsage_rollouts/contact", "gnubg-training").splitlines()
    for line, expected in zip(lines, UNCOMMENTED_TRAINING.splitlines(), strict=True):
        position, *chances = line.split()
        expected_position, *expected_chances = expected.split()
        assert position == expected_position
        assert list(map(float, chances)) == pytest.approx(list(map(float, expected_chances)), abs=1e-7)


POSITIONS_AND_CHANCES = ["gnubg-training", "wildbg-csv", "bgsage-rollouts", "position-list"]
FORMATS_OF_KIND = {
    "gnubg_training": POSITIONS_AND_CHANCES,
    "wildbg_training": POSITIONS_AND_CHANCES,
    "bgsage_rollouts": POSITIONS_AND_CHANCES,
    "positions": ["position-list"],
    "gnubg_benchmark": ["gnubg-benchmark"],
    "matches": ["mat"],
    "met_xml": [],
}


@pytest.mark.parametrize("kind", IMPORTED)
def test_only_formats_with_the_fields_of_a_table_are_written(imports: Imports, kind: str) -> None:
    table = imports.sample(kind)
    title = f"{kind}/{table.manifest.variant}"
    possible = ", ".join(name for name in FORMATS if name in FORMATS_OF_KIND[kind]) or "none"
    for form in FORMATS:
        path = imports.folder / f"{form}.out"
        result = run(imports.warehouse.root, "export", "text", title, "--format", form, "-o", path)
        if form in FORMATS_OF_KIND[kind]:
            assert result.exit_code == 0
            assert path.exists()
        else:
            assert error_of(result, 2) == f"expected a format for {table.name} among {possible}, got {form}"
            assert not path.exists()


@each("form", list(FORMATS))
def test_computed_tables_have_no_text_format(small_root: Path, tmp_path: Path, form: str) -> None:
    title = "benchmark_scores/pubeval-0ply-imported-contact"
    result = run(small_root, "export", "text", title, "--format", form, "-o", tmp_path / "x")
    assert re.fullmatch(rf"expected a format for {title}/r\S+ among none, got {form}", error_of(result, 2))
    assert list(tmp_path.iterdir()) == []


def test_missing_tables_and_folders_are_refused(small_root: Path, tmp_path: Path) -> None:
    def export_positions(title: str, output: Path, form: str = "position-list") -> Result:
        return run(small_root, "export", "text", title, "--format", form, "-o", output)

    error = error_of(export_positions("positions/none", tmp_path / "x"), 1)
    assert error == f"no positions/none in {small_root} (have: sample); try: bgdata import positions FILE..."
    error = error_of(export_positions("positions", tmp_path / "x"), 2)
    assert error == "expected KIND/VARIANT or KIND/VARIANT/VERSION, got 'positions'"
    path = tmp_path / "no" / "x"
    error = error_of(export_positions("positions/sample", path), 1)
    next_step = "choose a folder that exists, can be written and has room"
    assert error == f"expected to write {path}, found: no such file or directory; {next_step}"
    result = export_positions("positions/sample", tmp_path / "x", "sgf")
    assert result.exit_code == 2
    assert "'sgf' is not one of 'gnubg-training'" in result.stderr
