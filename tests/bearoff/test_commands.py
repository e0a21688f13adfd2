"""`bgdata race-error`: output as text, data and plot, and invalid arguments."""

import csv
from pathlib import Path

import pytest

import bgdata
from tests.command_line import error_of, output_of, run
from tests.kept import link


@pytest.fixture(scope="module")
def root(small_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the small warehouse to build in."""
    return link(small_root, tmp_path_factory.mktemp("race_error") / "warehouse")


def test_text_shows_the_statistics(root: Path) -> None:
    title, _, _, *rows, largest, smallest = output_of(root, "race-error", "--table", "6x6").splitlines()
    table = bgdata.open_warehouse(root).open("race_error", "6x6")
    assert title == f"{table.name}: 851,929 pairs of layouts"
    assert [row[:8].strip() for row in rows] == ["all", *(f"{checkers} a side" for checkers in range(1, 7))]
    columns = (
        "mean_difference",
        "sd_difference",
        "mean_absolute_difference",
        "largest_difference",
        "smallest_difference",
    )
    in_thousandths = [f"{1000 * table.manifest.statistics[column]:.2f}" for column in columns]
    assert rows[0].split() == ["all", "851,929", *in_thousandths]
    assert rows[-1].split()[:4] == ["6", "a", "side", f"{462**2:,}"]
    assert largest.startswith("largest: ")
    assert smallest.startswith("smallest: 0 0 2 2 2 0 on roll against 3 2 1 0 0 0 (")


def test_csv_has_the_rows_of_the_table(root: Path) -> None:
    text = output_of(root, "race-error", "--table", "6x6", "--combination", "corrected", "--format", "csv")
    rows = list(csv.DictReader(text.splitlines()))
    with bgdata.open_warehouse(root).connect() as connection:
        expected = connection.sql("select * exclude variant from race_error where variant = '6x6-corrected'")
        assert list(rows[0]) == expected.columns
        assert len(rows) == len(expected.fetchall())


def test_plot_is_written(root: Path, tmp_path: Path) -> None:
    output_of(root, "race-error", "--table", "6x6", "--plot", tmp_path / "a.svg")
    assert ">mean size<" in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--table", "big"), 2, "expected a size such as 6x9, got 'big'"),
        (("--table", "5x5"), 1, "expected bearoff_two_sided/5x5 in "),
        (("--combination", "best"), 2, "invalid value for '--combination'"),
    ],
)
def test_invalid_arguments_are_refused(root: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    assert message in error_of(run(root, "race-error", *arguments), code)
