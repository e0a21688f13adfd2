"""Tests of points by error rates on known figures."""

from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import MissingTableError
from tests.benchmarks.points import PUBLISHED, Measured, draw, fit, fit_lines, measure

RATES = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0], [5.0, 3.0]])


def test_plane_is_found_again() -> None:
    found = fit(RATES, 0.8 - 0.02 * RATES[:, 0] + 0.01 * RATES[:, 1])
    assert found.coefficients == pytest.approx([0.8, -0.02, 0.01])
    assert found.errors == pytest.approx([0, 0, 0], abs=1e-12)
    assert found.r2 == pytest.approx(1)


def test_errors_equal_a_least_squares_fit_by_hand() -> None:
    """The line through (0, 0), (1, 1), (2, 1) has slope 1/2."""
    found = fit(np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 1.0]))
    assert found.coefficients == pytest.approx([1 / 6, 1 / 2])
    assert found.errors == pytest.approx([(1 / 6 * (1 / 3 + 1 / 2)) ** 0.5, (1 / 12) ** 0.5])
    assert found.r2 == pytest.approx(0.75)


def test_as_many_coefficients_as_players_have_no_error() -> None:
    assert np.isnan(fit(RATES[:3], np.array([0.6, 0.5, 0.4])).errors).all()


def test_published_players_lie_on_a_line() -> None:
    values = np.array(list(PUBLISHED.values()))
    of_contact, of_all = fit_lines("published", values[:, :3], values[:, 3])
    assert of_contact.endswith("+0.8483 +/- 0.0124  -0.0196 +/- 0.0005  R2 99.4%")
    assert of_all.endswith("R2 99.7%")


def test_picture_is_written(tmp_path: Path) -> None:
    ours = [Measured(f"p{n}", (n, n, n), (0.1, 0.1, 0.1), 0.7 - 0.03 * n, 0.01) for n in (2.0, 4.0, 9.0)]
    draw(ours, tmp_path / "points.png")
    assert (tmp_path / "points.png").read_bytes().startswith(b"\x89PNG\r\n")


def test_missing_benchmarks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        MissingTableError, match=r"found no contact, crashed, race; try: bgdata build rollout_decisions$"
    ):
        measure(bgdata.open_warehouse(tmp_path), "network", 0)
