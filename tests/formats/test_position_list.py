"""Lists of positions: wildbg's files, and what is not a position."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.errors import InvalidPositionError
from bgdata.formats.lines import LineCounts, read_bytes
from bgdata.formats.position_list import (
    format_position_list,
    parse_position_list,
)
from bgdata.game.position import START, Position
from tests.formats.samples import shared_file
from tests.game.strategies import boards


@pytest.mark.parametrize(("name", "first"), [("contact.csv", b"v3sAAAhmdzMAAQ"), ("race.csv", b"v90EAIC3BgAAAA")])
def test_wildbg_benchmark_positions(name: str, first: bytes) -> None:
    path = shared_file("wildbg", name)
    positions = parse_position_list(read_bytes(path))
    assert positions.counts == LineCounts(1000, 1000, 0, 0)
    assert positions.position_ids[0] == first
    assert b"".join(format_position_list(positions.boards)) == path.read_bytes()


def test_headings_columns_and_comments() -> None:
    positions = parse_position_list(b"position_id,win\n# x\n4HPwATDgc/ABMA, 0.5,x\r\n\n v3sAAAhmdzMAAQ\n4HPwATDgc/ABMA")
    assert positions.counts == LineCounts(6, 3, 3, 0)
    assert positions.position_ids.tolist() == [b"4HPwATDgc/ABMA", b"v3sAAAhmdzMAAQ", b"4HPwATDgc/ABMA"]
    assert positions.lines.tolist() == [3, 5, 6]
    assert positions.boards[0].tolist() == list(Position("4HPwATDgc/ABMA").board)


NOTATIONS = "expected a position in one of the notations in the first column"
NO_POSITIONS = (
    "4HPwATDgc/ABM",
    "4HPwATDgc/ABMA:cAkA",
    ",4HPwATDgc/ABMA",
    "4HPwATDgc/ABMA 0.5",
    "position_id",
    "0,-2,0,0,0,0,5,0,3,0,0,0,-5,5,0,0,0,-3,0,-5,0,0,0,0,2",
    "[0,-2,0,0,0,0,5,0,3,0,0,0,-5,5,0,0,0,-3,0,-5,0,0,0,0,2,0",
    "XGID=-b----E-C---eE---c-e----B:0:0:1:00:0:0:0:0:10",
    "A remark of mine, with XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10 inside",
    "AAAAAAAAAAAAAAAAAAAZ",
    "begin",
)


def test_every_notation() -> None:
    board = ",".join(map(str, START.board))
    texts = [
        *("4HPwATDgc/ABMA", '"4HPwATDgc/ABMA"', "4HPwATDgc/ABMA:cAkAAAAAAAAE", "OAHDPAABDAOAHDPAABDA", "start"),
        *("XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10", "-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10"),
        *(board, board.replace(",", " "), f"[{board}]", f"({board.replace(',', ', ')})"),
    ]
    for end in ("", ", a remark, with commas", ",0.5,1"):
        positions = parse_position_list("".join(f"{text}{end}\n" for text in texts).encode())
        assert positions.quarantined == []
        assert positions.lines.tolist() == list(range(1, len(texts) + 1))
        assert positions.position_ids.tolist() == [b"4HPwATDgc/ABMA"] * len(texts)
        assert (positions.boards == START.board).all()


def test_the_positions_of_an_export_of_extreme_gammon() -> None:
    """The analysis below each is set aside, and so is an XGID that somebody quotes in a note."""
    xgid = "XGID=-b----E-C--AeD---bAdb---A-:0:0:1:52:0:0:3:0:10"
    lines = [xgid, "X:Player 1   O:Player 2", "Score is X:0 O:0. Unlimited Game", "", "    1. 3-ply 18/11  eq:-0,0026"]
    positions = parse_position_list("\n".join([*lines, f"so: {xgid}"]).encode())
    assert positions.counts == LineCounts(6, 1, 1, 4)
    assert positions.boards[0].tolist() == list(Position(xgid).board)


def test_text_of_other_systems() -> None:
    for data in ("4HPwATDgc/ABMA\nstart\n".encode("utf-16"), b"4HPwATDgc/ABMA\rstart\r"):
        assert parse_position_list(data).position_ids.tolist() == [b"4HPwATDgc/ABMA"] * 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        *((line, NOTATIONS) for line in NO_POSITIONS),
        ("4HPwATDgc/ABMB", "expected one of A, Q, g, w as the last of 14 characters in the position id"),
        ("4HPwATDgc_ABMA", "expected only the letters of the format in the position id"),
        ("AQAAAAAAAgAAAA", "expected checkers of one side only on each point in the position id"),
    ],
)
def test_each_rule(line: str, reason: str) -> None:
    positions = parse_position_list(f"4HPwATDgc/ABMA\n{line}\n".encode())
    assert [(bad.line, bad.text, bad.reason) for bad in positions.quarantined] == [(2, line, reason)]
    assert len(positions) == 1


def test_no_positions() -> None:
    for data in (b"", b"\n", b"position_id\n", b"\xef\xbb\xbfposition_id"):
        positions = parse_position_list(data)
        assert positions.boards.shape == (0, 26)
        assert positions.counts.comments == positions.counts.lines
    assert b"".join(format_position_list(positions.boards, heading=True)) == b"position_id\n"
    with pytest.raises(InvalidPositionError):
        format_position_list(np.full((1, 26), 9, np.int8))


@given(st.lists(boards(), max_size=20), st.booleans())
def test_round_trip(rows: list[list[int]], heading: bool) -> None:
    board_array = np.array(rows, np.int8).reshape(-1, 26)
    text = b"".join(format_position_list(board_array, heading=heading))
    positions = parse_position_list(text)
    assert (positions.boards == board_array).all()
    assert positions.counts == LineCounts(len(rows) + heading, len(rows), int(heading), 0)
    assert b"".join(format_position_list(positions.boards, heading=heading)) == text
