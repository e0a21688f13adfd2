"""Tests of `bgdata train parts`: errors by theme as text, data and picture."""

import json
import shutil
from pathlib import Path

import pytest

from bgdata.studies.kinds.contact_parts import CONTACT_THEMES
from tests.command_line import error_of, output_of, run

TINY = (
    *("train", "parts", "--labels", "selfplay_labels", "--parts", "2", "--parts", "3", "--units", "5"),
    *("--epochs", "2", "--learning-rate", "0.01"),
)
ARMS = ("one", "classes", "themes", "k-means 2", "k-means 3")


@pytest.fixture(scope="module")
def root(small_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the warehouse, which commands may change."""
    return Path(shutil.copytree(small_root, tmp_path_factory.mktemp("parts") / "warehouse"))


def test_every_theme_has_a_line(root: Path) -> None:
    """The printed errors by theme, against labels and against rollouts, equal those of the table."""
    lines = output_of(root, *TINY).splitlines()[-35:]
    assert "contact_parts/parts-2-3-units-5-epochs-2-seed-1/r2-" in lines[0]
    query = "select * from contact_parts where variant = 'parts-2-3-units-5-epochs-2-seed-1'"
    rows_by_group = {
        (row["arm"], row["grouping"], row["group_name"]): row
        for row in json.loads(output_of(root, "query", query, "--format", "json"))
    }
    for first_line, by_theme, overall, judge in (
        (1, "theme", "all", "labels that none has learned from"),
        (17, "reference-theme", "reference", "rollouts of reference positions"),
    ):
        about, head, *rows = lines[first_line : first_line + 16]
        assert about == f"RMSE of cubeless equity in thousandths of a point, from {judge}"
        assert head.split() == ["theme", "positions", *" ".join(ARMS).split()]
        for line, theme in zip(rows, CONTACT_THEMES, strict=False):
            cells = [rows_by_group[arm, by_theme, theme] for arm in ARMS]
            expected = ["-" if cell["rmse"] is None else f"{1000 * cell['rmse']:.1f}" for cell in cells]
            assert line.split() == [theme, f"{cells[0]['tested']:,}", *expected]
        cells = [rows_by_group[arm, overall, "all"] for arm in ARMS]
        assert rows[12].split()[2:] == [f"{1000 * cell['rmse']:.1f}" for cell in cells]
        assert rows[13].split()[1::2] == [f"{1000 * cell['rmse_standard_error']:.1f}" for cell in cells]
    parts, smallest = lines[33:]
    assert parts.split() == ["parts", "1", "2", "12", "2", "3"]
    assert int(smallest.split()[-1].replace(",", "")) == min(
        row["tested"] for row in rows_by_group.values() if row["arm"] == "k-means 3" and row["grouping"] == "part"
    )


def test_data_equal_the_table(root: Path) -> None:
    rows = json.loads(output_of(root, *TINY, "--format", "json"))
    assert {row["arm"] for row in rows} == set(ARMS)
    query = (
        "select * exclude (variant) from contact_parts where variant = 'parts-2-3-units-5-epochs-2-seed-1' "
        "order by arm, grouping, try_cast(group_name as integer), group_name"
    )
    assert rows == json.loads(output_of(root, "query", query, "--format", "json"))


def test_picture_has_all_arms(root: Path, tmp_path: Path) -> None:
    pictures = [tmp_path / f"{name}.svg" for name in "ab"]
    for picture in pictures:
        assert run(root, *TINY, "--plot", picture).stderr.splitlines()[-1] == f"wrote {picture}"
    assert b"one" in pictures[0].read_bytes()
    assert pictures[0].read_bytes() == pictures[1].read_bytes()


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--parts", "0"), 2, "expected 1 to 100 parts, got 0"),
        (("--learning-rate", "nan"), 2, "expected finite numbers as learning_rate, got nan"),
        (("--labels", "rollout_labels/none"), 1, "no rollout_labels/none in "),
    ],
)
def test_invalid_options_are_refused(root: Path, options: tuple[str, ...], code: int, message: str) -> None:
    result = run(root, "train", "parts", "--labels", "selfplay_labels", *options)
    assert error_of(result, code).startswith(message)
