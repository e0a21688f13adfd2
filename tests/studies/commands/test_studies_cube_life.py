"""Tests of `bgdata cube-life`: the atlas, and the index of rollouts, as text and picture."""

import json
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.studies.commands.cube_index import drawn_groups
from tests.command_line import error_of, output_of, run

SIZE = ("--points", "3", "--checkers", "3")


def test_atlas_is_printed(small_root: Path) -> None:
    """The command prints means and spreads of the indexes and the largest losses, as the table has them."""
    output = output_of(small_root, "cube-life", *SIZE)
    table = bgdata.open_warehouse(small_root).open("cube_life", "3x3")
    figures = table.manifest.statistics
    losses = table.array("losses")
    assert f"{table.name}: 361 pairs of layouts" in output
    assert f"{figures['centered_mean_index']:.3f} +/- {figures['centered_sd_index']:.3f}" in output
    for decision in range(6):
        assert f" {losses[:, :, decision].max():.6f}   " in output
    assert "against [" in output
    values = np.asarray(table.array("indexes"))[:, :, 1]
    indexes = values[(values >= 0) & (values <= 1)]
    assert figures["owned_index_share"] == pytest.approx(len(indexes) / values.size)
    assert figures["owned_mean_index"] == pytest.approx(indexes.mean(), abs=1e-6)
    assert figures["owned_above_share"] == pytest.approx((values == 2).mean())


def test_picture_is_drawn(small_root: Path, tmp_path: Path) -> None:
    output_of(small_root, "cube-life", *SIZE, "--plot", tmp_path / "a.png")
    picture = (tmp_path / "a.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 10_000


def test_invalid_sizes_are_refused(small_root: Path) -> None:
    error = error_of(run(small_root, "cube-life", "--checkers", "15"), 2)
    assert error == "expected 1 to 18 points and 1 to 14 checkers, got 6 points and 15 checkers"


def test_index_of_rollouts_is_printed(small_root: Path) -> None:
    """The table has the groups of `cube_index` without themes, and JSON has all of them."""
    warehouse = bgdata.open_warehouse(small_root)
    title, heading, *lines = output_of(small_root, "cube-life", "--rollouts").splitlines()
    assert title.startswith("cubeful_equities/12-of-30-and-6-games-of-contact-160-seed-1-by-72-published-met/r1-")
    assert title.endswith(": 12 positions; errors are model - measured, in points")
    assert heading.split()[:4] == ["score", "class", "cube", "positions"]
    (whole,) = warehouse.rows(
        "from cube_index where score = 'all' and class = 'all' and theme = 'all' and cube_owner = 'all'"
    )
    index, error, rms = whole["best_index"], whole["standard_error"], whole["rms"]
    assert lines[0].split()[:8] == ["all", "all", "all", "12", f"{index:.3f}", "+/-", f"{error:.3f}", f"{rms:.4f}"]
    assert any(line.startswith("match, ") for line in lines)
    rows = json.loads(output_of(small_root, "cube-life", "--rollouts", "--format", "json"))
    assert len(rows) == warehouse.rows("select count(*) as n from cube_index")[0]["n"]
    assert {"variant"}.isdisjoint(rows[0])


def test_picture_of_rollouts_is_drawn(small_root: Path, tmp_path: Path) -> None:
    output_of(small_root, "cube-life", "--rollouts", "--plot", tmp_path / "index.svg")
    picture = (tmp_path / "index.svg").read_text()
    for words in ("Janowski's model against 12 rolled-out equities", "at the best index", "noise"):
        assert words in picture


def group(score: str, error: float | None, **names: str) -> dict[str, object]:
    """A row of `cube_index` with this standard error of the index."""
    names = {"class": "all", "theme": "all", "cube_owner": "all"} | names
    return {"score": score, "best_index": error and 0.7, "standard_error": error, **names}


def test_uncertain_groups_are_not_drawn() -> None:
    rows = [
        group("all", 0.01),
        group("money", 0.01),
        group("money", 0.01, **{"class": "race"}),
        group("money", 0.01, theme="race"),
        group("money", 0.25, **{"class": "race", "cube_owner": "on_roll"}),
        group("money", 0.26, **{"class": "race", "cube_owner": "opponent"}),
        group("match, 2-3 away", None),
        group("match, 4-5 away", 0.1),
    ]
    assert [name for name, _ in drawn_groups(rows)] == ["money", "match, 4-5 away", "money, race, on roll"]


def test_missing_rollouts_give_a_one_line_error(tmp_path: Path) -> None:
    error = error_of(run(tmp_path, "cube-life", "--rollouts"), 1)
    assert error == (
        f"expected cubeful_equities in {tmp_path}, found none; try: bgdata build cubeful_equities --set positions=20000"
    )


def test_sizes_are_refused_beside_rollouts(small_root: Path) -> None:
    error = error_of(run(small_root, "cube-life", "--rollouts", "--points", "3"), 2)
    assert error == "expected either --rollouts or --points, got both"
