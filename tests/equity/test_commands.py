"""`bgdata met` and `bgdata export met`."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.equity.kinds.match_equity import PUBLISHED_ROW
from bgdata.equity.kinds.met_xml_compute import SAMPLE
from bgdata.equity.match_equity import find_met
from bgdata.formats.lines import read_bytes
from bgdata.formats.met_files import parse_met
from bgdata.store.parameters import value_text
from tests.command_line import error_of, output_of, run
from tests.equity import published
from tests.oracles import ask_gnubg, needs_gnubg_tool
from tests.subtests import each


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with the published table and an imported table."""
    folder = tmp_path_factory.mktemp("met")
    (folder / "sample.xml").write_text(SAMPLE)
    root = folder / "warehouse"
    output_of(root, "met", "build", "--row", value_text(PUBLISHED_ROW), "--gammon-rate", "0.276", "--length", "12")
    output_of(root, "import", "met_xml", folder / "sample.xml")
    return root


def test_default_row_matches_the_publication() -> None:
    assert np.allclose(PUBLISHED_ROW, (1 - np.array(published.POST_CRAWFORD)) / 2)


def test_build_prints_the_table(tmp_path: Path) -> None:
    arguments = ("--row", "0.5 0.49 0.32", "--gammon-rate", "0.25", "--cube-life-index", "0.7", "--length", "3")
    title, row = output_of(tmp_path / "w", "met", "build", *arguments).splitlines()
    assert re.fullmatch(r"row-[0-9a-f]{8}-3-gammons-0-25-index-0-7: to 3-away, gammon rate 25\.00 %", title)
    assert row == "post-crawford, 1- to 3-away: 50.00 49.00 32.00"


def test_show_prints_the_table(root: Path) -> None:
    lines = output_of(root, "met", "show", "published-12", "--length", "3").splitlines()
    assert lines[0].startswith("published-12: chance (%) of winning the match")
    assert lines[3].split() == ["1", "2", "3"]
    assert lines[5].split() == ["2", "31.90", "50.00", "59.45"]
    assert lines[-1] == "post-crawford, 1- to 3-away: 50.00 48.60 31.90"


def test_show_away_prints_the_score(root: Path) -> None:
    title, _, *rows = output_of(root, "met", "show", "published-12", "--away", "2-3").splitlines()
    assert title == "2-away 3-away by published-12: 59.452 %"
    assert [row.split()[0] for row in rows] == ["1", "2", "4"]  # the cube
    won, won_gammon, lost, lost_gammon = map(float, rows[0].split()[1:5])
    assert won == 75.507
    assert won_gammon == 100.0
    assert lost == 50.0
    assert lost_gammon == pytest.approx(31.9)


def test_show_away_of_the_crawford_game_and_after_it(root: Path) -> None:
    crawford = output_of(root, "met", "show", "published-12", "--away", "1-3", "--crawford").splitlines()
    assert crawford[0] == "1-away 3-away crawford by published-12: 75.507 %"
    assert len(crawford) == 3
    post_crawford = output_of(root, "met", "show", "published-12", "--away", "3-1").splitlines()
    assert post_crawford[0] == "3-away 1-away by published-12: 31.900 %"


def test_compare_prints_the_differences(root: Path) -> None:
    lines = output_of(root, "met", "compare", "published-12", "sample").splitlines()
    assert lines[0] == "published-12 minus sample, in percentage points, to 2-away"
    assert lines[3].split() == ["1", "+0.00", "-1.90"]
    assert lines[-2] == "before         at most 1.90 (1-away 2-away), on average 1.90"
    assert lines[-1] == "post-crawford  at most 0.40 (1-away 2-away), on average 0.40"


def test_plot_is_reproducible(root: Path, tmp_path: Path) -> None:
    first, second, difference = tmp_path / "1.png", tmp_path / "2.png", tmp_path / "3.png"
    output_of(root, "met", "plot", "published-12", "-o", first)
    output_of(root, "met", "plot", "published-12", "-o", second)
    output_of(root, "met", "plot", "published-12", "--minus", "sample", "-o", difference)
    assert first.read_bytes().startswith(b"\x89PNG")
    assert first.read_bytes() == second.read_bytes()
    assert difference.read_bytes().startswith(b"\x89PNG")
    assert difference.read_bytes() != first.read_bytes()


def test_export_keeps_all_chances(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    output = output_of(root, "export", "met", "published-12", "-o", path)
    assert output == f"wrote {path}: {path.stat().st_size:,} bytes, to 12-away\n"
    table = parse_met(read_bytes(path)).table
    met = find_met(bgdata.open_warehouse(root), "published-12")
    assert table is not None
    assert table.before is not None
    assert table.post_crawford is not None
    assert np.array_equal(table.before, met.cells[0, 1:, 1:])
    assert np.array_equal(table.post_crawford, met.cells[1, 1:, 1])
    of_file, of_warehouse = (output_of(root, "met", "show", name).splitlines()[2:] for name in (path, "published-12"))
    assert of_file == of_warehouse


@needs_gnubg_tool("gnubg")
def test_gnubg_reads_exported_tables(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    output_of(root, "export", "met", "published-12", "-o", path)
    script = f"gnubg.command('set met {path}')\nfor row in gnubg.met(12)[0]:\n    tell(' '.join(map(repr, row)))\n"
    by_gnubg = np.array([[float(text) for text in line.split()] for line in ask_gnubg(script, tmp_path)])
    met = find_met(bgdata.open_warehouse(root), "published-12")
    assert np.abs(by_gnubg - met.cells[0, 1:, 1:]).max() < 1e-7


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with invalid tables: bad.xml, formula.xml and empty.xml."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "bad.xml").write_text(SAMPLE.replace("0.5", "1.5", 1))
    (folder / "empty.xml").write_text("")
    info = "<info><name>x</name><description>x</description><length>-1</length></info>"
    parameters = '<parameters><parameter name="gammon-rate">0.26</parameter></parameters>'
    tables = [f'<{part}-crawford-table type="mec">{parameters}</{part}-crawford-table>' for part in ("pre", "post")]
    (folder / "formula.xml").write_text(f"<met>{info}{''.join(tables)}</met>")
    return folder


@each(
    ("command", "code", "message"),
    [
        ("show x", 1, r"no match equity table x in .* \(have: published-12, sample\); try: "),
        ("show FILES/none.xml", 1, r"expected a file at .*none\.xml"),
        ("show FILES/bad.xml", 1, r"expected a match equity table in .*bad\.xml, found in line 7: expected cha"),
        ("show FILES/formula.xml", 1, r"expected a match equity table of chances in .*, found a formula \(mec\)"),
        ("show FILES/empty.xml", 1, r"expected a match equity table of chances in .*empty\.xml, found none"),
        ("show sample --away 2", 2, "expected points that .* such as 3-5, got '2'"),
        ("show sample --away 0-2", 2, "expected at least 1 point to go for each side, got"),
        ("show sample --away 3-2", 2, "expected at most 2 points to go, as sample has, got"),
        ("show sample --away 2-2 --crawford", 2, "expected one side at 1-away"),
        ("build --cube-life-index 1.5", 2, r"expected a cube life index from 0 to 1, got 1\.5"),
        ("build --cube-life-index x", 2, "expected float for cube_life_index, got 'x'"),
        ("build --gammon-rate -1", 2, r"expected a gammon rate from 0 to 1, got -1\.0"),
        ("build --row '0.5 1.4' --gammon-rate 0.2 --length 2", 2, "expected chances from 0"),
        ("build --row '0.5 0.4'", 2, "expected a gammon rate from 0 to 1 beside the row, got none"),
        ("build --row '0.5 x'", 2, "expected .*, got "),
        ("build --row '0.5 0.4' --gammon-rate 0.2", 2, "expected a length of 2 to 2 points, .* got 25"),
        ("build --network none", 1, "no network/none in "),
    ],
)
def test_invalid_arguments_are_refused(root: Path, files: Path, command: str, code: int, message: str) -> None:
    """Unknown names, damaged files, formulas and impossible scores give one line with what was expected."""
    arguments = [argument.replace("FILES", str(files)) for argument in shlex.split(command)]
    error = error_of(run(root, "met", *arguments), code)
    assert re.match(message, error), error


def test_export_of_an_unknown_table_is_refused(root: Path, tmp_path: Path) -> None:
    error = error_of(run(root, "export", "met", "x", "-o", tmp_path / "x.xml"), 1)
    assert error.startswith("no match equity table x in ")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("build --row '0.5 0.486' --length 2 --network none", "expected either --row or --network"),
        ("build --row '0.5 0.486' --length 2 --ply 2", "expected either --row or --ply"),
        ("show published-12 --away 3-5 --length 4", "expected either --away or --length"),
        (
            "plot published-12 -o x.pdf",
            "invalid value for '-o' / '--output': expected a file that ends in .png or .svg",
        ),
    ],
)
def test_options_without_effect_are_refused(root: Path, command: str, message: str) -> None:
    assert error_of(run(root, "met", *shlex.split(command)), 2).startswith(f"{message}, got ")
