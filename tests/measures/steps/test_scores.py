"""Tests of figures about players as text: order, digits and missing values."""

from typing import Any

import pytest

from bgdata.measures.steps import scores
from bgdata.measures.steps.scores import by_theme, figure_text, theme_lines

REFERENCE = "reference_positions/x"


def row_of(
    measure: str, against: str, value: float, error: float | None = None, unit: str = "points"
) -> dict[str, Any]:
    return {
        "measure": measure, "against": against, "value": value, "value_error": error, "unit": unit, "sample_size": 1512,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("measure", "value", "error", "text"),
    [
        ("points_per_game", 0.25, 0.125, "+0.25 +/- 0.12"),
        ("error_rate", 11.0, 6.7, "11.0 +/- 6.7"),
        ("error_rate_difference", -2.0, 0.015, "-2.000 +/- 0.015"),
        ("error_rate_difference", 2.0, None, "+2.0000"),
        ("bearoff_loss", 0.0, 0.0, "0.0000 +/- 0.0000"),
        ("equity_bias", 0.5, 0.25, "+0.50 +/- 0.25"),
    ],
)
def test_standard_errors_have_two_digits(measure: str, value: float, error: float | None, text: str) -> None:
    """Standard errors have two digits, and figures that may be negative a sign; a figure without an error has four
    digits."""
    assert figure_text(row_of(measure, "", value, error)) == text


def test_difference_follows_its_error_rate() -> None:
    names = ["bearoff_loss", "error_rate_difference", "error_rate", "points_per_game"]
    rows = [row_of(name, against, 0.0) for name in names for against in ("b", "a")]
    order = [(row["measure"], row["against"]) for row in sorted(rows, key=scores._place)]
    assert order == [(name, against) for name in reversed(names) for against in ("a", "b")]


def test_values_are_grouped_by_set_and_theme() -> None:
    """Values are grouped by reference set and theme, in the order of themes; other measures are left out."""
    rows = [
        row_of("equity_rmse", REFERENCE, 0.5),
        row_of("win_bias", f"{REFERENCE} race", 0.25, unit="chance"),
        row_of("win_rmse", f"{REFERENCE} blitz", 0.125, unit="chance"),
        row_of("equity_rmse", "reference_positions/y", 0.0),
        row_of("error_rate", REFERENCE, 1.0),
    ]
    groups = by_theme(rows)
    assert list(groups) == [REFERENCE, "reference_positions/y"]
    assert list(groups[REFERENCE]) == ["blitz", "race", "all"]
    assert groups[REFERENCE]["race"] == {"win_bias": rows[1]}


def test_missing_figures_are_blank() -> None:
    """A theme without a figure, or without its error, has blanks; chances have no errors."""
    rows = [
        row_of("equity_rmse", f"{REFERENCE} blitz", 0.5, 0.25),
        row_of("equity_bias", REFERENCE, -0.25),
        row_of("win_rmse", REFERENCE, 0.125, 0.0625, unit="chance"),
    ]
    heads, blitz, total = theme_lines(by_theme(rows)[REFERENCE])
    assert blitz.split() == ["blitz", "1,512", "0.5000", "+/-", "0.2500"]
    assert total.split() == ["all", "1,512", "-0.2500", "0.1250"]
    ends = {name: heads.index(f" {name}") + len(name) + 1 for name in ("RMSE", "bias", "win")}
    assert blitz[: ends["RMSE"]].endswith("0.2500")
    assert total[: ends["bias"]].endswith("-0.2500")
    assert total[: ends["win"]].endswith("0.1250")
