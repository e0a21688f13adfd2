"""Rows for people: quantities with digits and signs, columns with widths."""

from math import nan

from bgdata.rows import CHANCE, COUNT, EQUITY, LOSS, PERCENT, THOUSANDTHS, Column, Quantity, table_lines
from tests.subtests import each


@each(
    ("quantity", "value", "error", "text"),
    [
        (COUNT, 1234567, None, "1,234,567"),
        (EQUITY, 0.12345, None, "+0.1235"),
        (EQUITY, -0.5, 0.00126, "-0.5000 +/- 0.0013"),
        (LOSS, 1234.5, None, "1234.5000"),
        (LOSS, 0.02, 0.0, "0.0200 +/- 0.0000"),
        (CHANCE, 0.5267, None, "52.67 %"),
        (PERCENT, 0.5267, None, "52.7"),
        (THOUSANDTHS, 0.0123, 0.002, "12.3 +/- 2.0"),
        (Quantity(2, 100, "+", " %"), 0.031, None, "+3.10 %"),
    ],
)
def test_quantity_has_the_declared_digits(quantity: Quantity, value: float, error: float | None, text: str) -> None:
    assert quantity.text(value, error) == text


def test_columns_are_as_wide_as_their_longest_value() -> None:
    columns = (
        Column("first_roll", width=4),
        Column("play", heading="best play"),
        Column("equity", EQUITY, error="standard_error"),
        Column("note", is_right=True, gap=1, missing="-"),
        Column("games", COUNT, missing="?"),
    )
    rows = [
        {"first_roll": "31", "play": "8/5 6/5", "equity": 0.16, "standard_error": 0.0012, "note": "far", "games": 1296},
        {"first_roll": "21", "play": "13/11 6/5 or other", "equity": -0.0101, "note": None, "games": nan},
    ]
    assert table_lines(columns, rows) == [
        "first roll  best play                       equity note  games",
        "31          8/5 6/5             +0.1600 +/- 0.0012  far  1,296",
        "21          13/11 6/5 or other             -0.0101    -      ?",
    ]


def test_empty_headings_are_left_out() -> None:
    columns = [Column("name", heading=""), Column("count", COUNT, heading="", width=4)]
    assert table_lines(columns, ({"name": name, "count": 7} for name in "ab")) == ["a     7", "b     7"]
    assert table_lines(columns, []) == []
    assert table_lines([Column("name")], []) == ["name"]


def test_control_characters_are_escaped() -> None:
    assert table_lines([Column("name", heading="")], [{"name": "a\n\x1b[31m\u202eb"}]) == [r"a\n\x1b[31m\u202eb"]
