"""Tests of `bgdata cube-life`: the atlas as text and picture."""

from pathlib import Path

import numpy as np
import pytest

import bgdata
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
