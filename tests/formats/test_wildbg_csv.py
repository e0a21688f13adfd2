"""wildbg's training data: headings, the known defect, every rule, round trips."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.errors import UsageError
from bgdata.formats.lines import LineCounts
from bgdata.formats.wildbg_csv import HEADING, format_wildbg_csv, parse_wildbg_csv
from bgdata.game.position import START
from tests.formats.samples import WILDBG_BAD_ROW
from tests.game.strategies import boards

ROW = b"4HPwATDgc/ABMA,0.5255432,0.14969136,0.007716049,0.12345679,0.00617284\n"


def test_rows_with_and_without_a_heading() -> None:
    for text in (f"{HEADING}\n".encode() + ROW, ROW, f" {HEADING.replace(',', ', ')}\r\n".encode() + ROW):
        data = parse_wildbg_csv(text)
        assert data.counts.rows == 1
        assert data.quarantined == []
        assert data.position_ids.tolist() == [b"4HPwATDgc/ABMA"]
        assert data.boards.tolist() == [list(START.board)]
        assert data.chances.dtype == np.float32
        assert data.chances[0, 0] == np.float32(0.5255432)
        assert b"".join(format_wildbg_csv(data.boards, data.chances)) == f"{HEADING}\n".encode() + ROW


def test_the_known_defect_is_found() -> None:
    data = parse_wildbg_csv(ROW + WILDBG_BAD_ROW)
    assert [(bad.line, bad.reason) for bad in data.quarantined] == [
        (2, "expected no win_gammon once the opponent has borne off a checker")
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("4HPwATDgc/ABMA,0.5,0,0,0", "expected 6 fields (position id and five chances), got 5"),
        ("4HPwATDgc/ABMA,0.5,0,0,0,0,", "expected 6 fields (position id and five chances), got 7"),
        ("4HPwATDgc/ABMA;0.5;0;0;0;0", "expected 6 fields (position id and five chances), got 1"),
        ("4HPwATDgc/ABM,0.5,0,0,0,0", "expected a position id of 14 characters"),
        ("4HPwATDgc/ABMB,0.5,0,0,0,0", "expected one of A, Q, g, w as the last of 14 characters in the position id"),
        ("4HPwATDgc/ABMA,0.5,,0,0,0", "expected a number as win_gammon"),
        ("4HPwATDgc/ABMA,0.5,0,0,0,0.1", "expected lose_backgammon at most lose_gammon"),
        (HEADING, "expected a position id of 14 characters"),
    ],
)
def test_each_rule(line: str, reason: str) -> None:
    data = parse_wildbg_csv(ROW + line.encode())
    assert [(bad.line, bad.reason) for bad in data.quarantined] == [(2, reason)]


def test_a_heading_of_other_columns_spoils_every_row() -> None:
    data = parse_wildbg_csv(b"\nposition_id,win,lose_g,lose_bg,win_g,win_bg\n" + ROW)
    assert data.counts == LineCounts(3, 0, 1, 2)
    assert {bad.reason for bad in data.quarantined} == {f"expected the heading {HEADING} or none"}


@given(st.lists(st.tuples(boards(), st.floats(0, 1, width=32)), max_size=20))
def test_round_trip(rows: list[tuple[list[int], float]]) -> None:
    board_array = np.array([row[0] for row in rows], np.int8).reshape(-1, 26)
    chances = np.array([[row[1], 0, 0, 0, 0] for row in rows], np.float32).reshape(-1, 5)
    text = b"".join(format_wildbg_csv(board_array, chances))
    data = parse_wildbg_csv(text)
    assert (data.boards == board_array).all()
    assert data.chances.tobytes() == chances.tobytes()
    assert b"".join(format_wildbg_csv(data.boards, data.chances)) == text
    with pytest.raises(UsageError, match=rf"expected chances for {len(rows)} boards, got \[5\]"):
        format_wildbg_csv(data.boards, np.zeros(5, np.float32))
