"""gnubg's training data: the published row, every rule, round trips."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.errors import InvalidPositionError, UsageError
from bgdata.formats import lines as lines_module
from bgdata.formats.gnubg_training import (
    TrainingData,
    format_gnubg_training,
    parse_gnubg_training,
)
from bgdata.formats.lines import LineCounts
from bgdata.game.board import Flaw
from bgdata.game.position import START, Position, format_key20
from tests.formats.samples import TRAINING_ROW
from tests.game.strategies import boards
from tests.reference.text_rows import lines_of, training_row
from tests.together import each

START_ROW = b"OAHDPAABDAOAHDPAABDA 0.52500 0.14900 0.00800 0.12500 0.00700\n"
COMMENT = "# Positions added in cycle 3"


def key20_of_id(position_id: str) -> str:
    """The 20 letters of the ten bytes of a Position ID, legal or not."""
    return base64.b64decode(position_id + "==").hex().translate(str.maketrans("0123456789abcdef", "ABCDEFGHIJKLMNOP"))


def text_of(data: TrainingData) -> bytes:
    return b"".join(
        format_gnubg_training(data.boards, data.chances, comment_index=data.comment_index, comments=data.comments)
    )


def test_the_published_row() -> None:
    data = parse_gnubg_training(TRAINING_ROW)
    assert data.counts == LineCounts(1, 1, 0, 0)
    assert data.boards.tolist() == [
        [0, -1, 0, 0, 2, 2, 3, 2, 3, 0, 0, 0, -3, 2, 0, -1, 0, -2, -1, -3, -2, -2, 0, 1, 0, 0]
    ]
    assert data.position_ids.tolist() == [b"2K6JAyDYbgcDEA"]
    position = Position(data.boards[0])
    assert (position.pip_count, position.opponent_pip_count) == (123, 132)
    assert data.chances.tolist() == [
        [np.float32(text) for text in ("0.61959", "0.24388", "0.00981", "0.08774", "0.00183")]
    ]
    assert (data.boards.dtype, data.chances.dtype, data.comment_index.dtype) == (np.int8, np.float32, np.int32)
    assert data.comment_index.tolist() == [-1]
    assert text_of(data) == TRAINING_ROW


def test_comments_in_force() -> None:
    text = b"# head\n\n" + START_ROW + b"# a\n# " + "ü\n".encode() + TRAINING_ROW + b"bad\n" + START_ROW + b"# end"
    data = parse_gnubg_training(text)
    assert data.counts == LineCounts(9, 3, 5, 1)
    assert data.comments == ("# head", "# a", "# ü", "# end")
    assert data.comment_index.tolist() == [0, 2, 2]
    assert data.lines.tolist() == [3, 6, 8]
    assert text_of(data) == text.replace(b"\n\n", b"\n").replace(b"bad\n", b"") + b"\n"


BAD_ROWS = {
    "OAHDPAABDAOAHDPAABDA 0.5 0.1 0 0.1": "expected 6 fields (key and five chances), got 5",
    "OAHDPAABDAOAHDPAABDA 0.5 0.1 0 0.1 0 0": "expected 6 fields (key and five chances), got 7",
    "OAHDPAABDAOAHDPAABDA 0.5 0.1 0 0.1 0 # why": "expected 6 fields (key and five chances), got 8",
    "OAHDPAABDAOAHDPAABD 0.5 0.1 0 0.1 0": "expected a key of 20 letters",
    "OAHDPAABDAOAHDPAABDAA 0.5 0.1 0 0.1 0": "expected a key of 20 letters",
    "OAHDPAABDAOAHDPAABDQ 0.5 0.1 0 0.1 0": "expected only the letters of the format in the 20-letter key",
    "oahdpaabdaoahdpaabda 0.5 0.1 0 0.1 0": "expected only the letters of the format in the 20-letter key",
    "OAHDPAABDAOAHDPAAB\0A 0.5 0.1 0 0.1 0": "expected only the letters of the format in the 20-letter key",
    "OAHDPAABDAOAHDPAABDA 0.5 x 0 0.1 0": "expected a number as win_gammon",
    "OAHDPAABDAOAHDPAABDA nan 0.1 0 0.1 0": "expected a number as win",
    "OAHDPAABDAOAHDPAABDA 0.5 0.1 0 0.1 inf": "expected a number as lose_backgammon",
    "OAHDPAABDAOAHDPAABDA 0.5 0.1 0 0.1 0xyz": "expected a number as lose_backgammon",
    "OAHDPAABDAOAHDPAABDA 0.5 0.1 0 0,1 0": "expected a number as lose_gammon",
    "OAHDPAABDAOAHDPAABDA 1.00001 0.1 0 0 0": "expected chances from 0 to 1",
    "OAHDPAABDAOAHDPAABDA 0.5 0.1 -0.00001 0.1 0": "expected chances from 0 to 1",
    "OAHDPAABDAOAHDPAABDA 0.5 0.50002 0 0.1 0": "expected win_gammon at most win",
    "OAHDPAABDAOAHDPAABDA 0.5 0.1 0.10002 0.1 0": "expected win_backgammon at most win_gammon",
    "OAHDPAABDAOAHDPAABDA 0.5 0.1 0 0.50002 0": "expected lose_gammon at most 1 - win",
    "OAHDPAABDAOAHDPAABDA 0.5 0.1 0 0.1 0.10002": "expected lose_backgammon at most lose_gammon",
    # the known defect of wildbg's sets, as it would look here: bar checkers missing, so that they look borne off
    f"{key20_of_id('mxmAQ4PbAQAAAA')} 0.96142 0.87269 0.36960 0.00000 0.00000": (
        "expected no win_gammon once the opponent has borne off a checker"
    ),
    "AAAAABNMAAAAAAAAAAAA 0.60000 0.00000 0.00000 0.00002 0.00000": (
        "expected no lose_gammon once the player himself has borne off a checker"
    ),
}


for position_id, flaw in {
    "AAAA/v8PAAAAAA": Flaw.CHECKERS,
    "//8AAAAAAAAAAA": Flaw.OPPONENT_CHECKERS,
    "AQAAAAAAAgAAAA": Flaw.SHARED_POINT,
    "AAAAAAAAAAAAgA": Flaw.UNUSED_BITS,
    "27YBANC2bQAABA": Flaw.CLOSED_BOARDS,
}.items():
    BAD_ROWS[f"{key20_of_id(position_id)} 0.5 0 0 0 0"] = f"{flaw.rule} in the 20-letter key"


@each(("row", "reason"), BAD_ROWS.items())
def test_each_rule(row: str, reason: str) -> None:
    data = parse_gnubg_training(START_ROW + row.encode() + b"\n" + TRAINING_ROW)
    (bad,) = data.quarantined
    assert (bad.line, bad.reason) == (2, reason)
    assert bad.text == row.replace("\0", "\\x00")
    assert data.lines.tolist() == [1, 3]


@pytest.mark.parametrize(
    "row",
    [
        "OAHDPAABDAOAHDPAABDA 0.5 0.50001 0.50002 0.50001 0.50002",  # rounding: one unit each
        "\tOAHDPAABDAOAHDPAABDA  0.5 .1 0 1e-1 0 \r",
        "OAHDPAABDAOAHDPAABDA 1 1 1 0 0",
        "AAAAABNMAAAAAAAAAAAA 0.6 0.00001 0 0.00001 0",
    ],
)
def test_rows_that_are_good_enough(row: str) -> None:
    assert parse_gnubg_training(row.encode()).counts == LineCounts(1, 1, 0, 0)


def test_a_rule_of_the_caller_takes_rows_out() -> None:
    data = parse_gnubg_training(START_ROW + TRAINING_ROW)
    rest = data.quarantine(np.array([True, False]), "expected a race")
    assert rest.position_ids.tolist() == [b"2K6JAyDYbgcDEA"]
    assert [str(bad) for bad in rest.quarantined] == [f"line 1: expected a race, got '{START_ROW.decode().strip()}'"]
    assert rest.counts == LineCounts(2, 1, 0, 1)


@pytest.mark.parametrize("data", [b"", b"\n", b"# only\n", b"\xef\xbb\xbf", b"\0\0\0", b"\xff" * 1000])
def test_files_without_rows(data: bytes) -> None:
    read = parse_gnubg_training(data)
    assert len(read) == 0
    assert read.boards.shape == (0, 26)
    assert read.chances.shape == (0, 5)
    assert b"".join(format_gnubg_training(read.boards, read.chances)) == b""


chances = st.lists(st.integers(0, 50000).map(lambda n: n / 100000), min_size=5, max_size=5).map(
    lambda c: [sorted(c[:3])[2], *sorted(c[:3])[1::-1], *sorted(c[3:], reverse=True)]
)


@given(st.lists(st.tuples(boards(), chances, st.integers(0, 1)), max_size=20))
def test_round_trip(rows: list[tuple[list[int], list[float], int]]) -> None:
    comments = [f"# cycle {number}" for number in range(sum(row[2] for row in rows))]
    index = np.cumsum([row[2] for row in rows], dtype=np.int32) - 1
    positions = [Position(row[0]) for row in rows]
    values = np.array([row[1] for row in rows], np.float32).reshape(-1, 5)
    for row, position in enumerate(positions):
        values[row, 1:3] *= position.opponent_off == 0
        values[row, 3:] *= position.off == 0
    board_array = np.array([row[0] for row in rows], np.int8).reshape(-1, 26)
    text = b"".join(format_gnubg_training(board_array, values, comment_index=index.astype(np.int32), comments=comments))
    data = parse_gnubg_training(text)
    assert data.counts == LineCounts(len(rows) + len(comments), len(rows), len(comments), 0)
    assert (data.boards == board_array).all()
    assert (data.chances == values).all()
    assert data.position_ids.tolist() == [position.id.encode() for position in positions]
    assert (list(data.comments), data.comment_index.tolist()) == (comments, index.tolist())
    assert text_of(data) == text


@given(st.lists(st.floats(0, 0.5, width=32), min_size=2, max_size=2))
def test_any_float32_comes_back(pair: list[float]) -> None:
    values = np.array([[max(pair), min(pair), 0, 0, 0]], np.float32)
    board = np.array([START.board], np.int8)
    data = parse_gnubg_training(b"".join(format_gnubg_training(board, values)))
    assert data.chances.tobytes() == values.tobytes()


def test_values_beyond_five_decimals_are_written_shortly() -> None:
    values = np.array([[0.1234567, 0.1, 1e-7, 0, 0]], np.float32)
    (line,) = b"".join(format_gnubg_training(np.array([START.board], np.int8), values)).splitlines()
    assert line == b"OAHDPAABDAOAHDPAABDA 0.1234567 0.10000 1e-07 0.00000 0.00000"


def test_invalid_data_is_not_written() -> None:
    board, values = np.array([START.board], np.int8), np.zeros((1, 5), np.float32)
    with pytest.raises(UsageError, match="expected chances for 1 boards"):
        format_gnubg_training(board, values[:0])
    with pytest.raises(UsageError, match="expected ascending indexes of 0 comments"):
        format_gnubg_training(board, values, comment_index=np.zeros(1, np.int32))
    with pytest.raises(UsageError, match="expected a comment as one line that begins with '#', got 'x'"):
        format_gnubg_training(board, values, comments=["x"])
    with pytest.raises(InvalidPositionError):
        list(format_gnubg_training(np.full((1, 26), 9, np.int8), values))


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"".join(
        [START_ROW, b"# a\n", b"bad\n", TRAINING_ROW, START_ROW, b"# b\n", b"\n", b"worse row\n", START_ROW]
    )
    expected = parse_gnubg_training(text)
    for block in (1, 2, 4):
        monkeypatch.setattr(lines_module, "BLOCK", block)
        data = parse_gnubg_training(text)
        assert data.counts == expected.counts == LineCounts(9, 4, 3, 2)
        assert data.quarantined == expected.quarantined
        assert data.lines.tolist() == expected.lines.tolist() == [1, 4, 5, 9]
        assert data.boards.tolist() == expected.boards.tolist()
        assert data.comment_index.tolist() == [-1, 0, 0, 1]


@given(
    st.lists(
        st.one_of(
            st.sampled_from([START_ROW, TRAINING_ROW, b"# x\n", b"\n"]),
            st.tuples(
                boards(), st.lists(st.sampled_from(["0", "1", "0.3", "0.30001", "x"]), min_size=4, max_size=6)
            ).map(lambda row: f"{format_key20(Position(row[0]))} {' '.join(row[1])}\n".encode()),
            st.binary(max_size=30),
        )
    ).map(b"".join)
)
def test_each_line_is_judged_as_by_its_twin(text: bytes) -> None:
    data = parse_gnubg_training(text)
    found = [training_row(line) for line in lines_of(text)]
    assert [line - 1 for line in data.lines] == [index for index, row in enumerate(found) if isinstance(row, tuple)]
    assert data.counts.comments == found.count("comment")
    assert data.counts.quarantined == found.count("bad") == len(data.quarantined)
    rows = [row for row in found if isinstance(row, tuple)]
    assert data.boards.tolist() == [list(row[0]) for row in rows]
    assert data.chances.tolist() == np.array([row[1] for row in rows], np.float32).reshape(-1, 5).tolist()


def test_keys_are_those_of_position() -> None:
    assert format_key20(START) == key20_of_id("4HPwATDgc/ABMA")
