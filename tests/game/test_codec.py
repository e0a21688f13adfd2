"""The array functions against `position`, which converts one at a time; flaws instead of exceptions."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.errors import InvalidPositionError
from bgdata.game import codec
from bgdata.game.board import BASE64_LETTERS, LAST_LETTERS, Flaw
from bgdata.game.board_kernels import game_outcomes, position_classes
from bgdata.game.position import START, Position, board_flaw, format_key20
from bgdata.game.position_hash import position_hashes
from bgdata.game.themes import position_themes
from tests.game.strategies import boards
from tests.subtests import all_raise, each

batches = st.lists(boards(), min_size=1, max_size=20).map(lambda rows: np.array(rows, np.int8))


@given(batches)
def test_array_functions_match_single_positions(batch: codec.Boards) -> None:
    positions = [Position(board) for board in batch]
    assert codec.format_position_ids(batch).tolist() == [position.id.encode() for position in positions]
    assert codec.format_key20s(batch).tolist() == [format_key20(position).encode() for position in positions]
    assert [bytes(key) for key in codec.format_keys(batch)] == [position.key for position in positions]
    assert codec.flip_boards(batch).tolist() == [list(position.flip().board) for position in positions]
    expected = [[position.pip_count, position.opponent_pip_count] for position in positions]
    assert codec.pip_counts(batch).tolist() == expected
    assert not codec.board_flaws(batch).any()


@given(batches)
def test_formatted_arrays_are_parsed_back(batch: codec.Boards) -> None:
    ids = codec.format_position_ids(batch)
    for parsed, flaws in (
        codec.parse_position_ids(ids),
        codec.parse_position_ids(ids.view(np.uint8).reshape(-1, 14)),
        codec.parse_key20s(codec.format_key20s(batch)),
    ):
        assert not flaws.any()
        assert (parsed == batch).all()


@given(
    st.lists(st.text(BASE64_LETTERS + "!", min_size=13, max_size=13), min_size=1), st.sampled_from(LAST_LETTERS + "B")
)
def test_random_text_has_the_flaw_that_position_raises(texts: list[str], last: str) -> None:
    ids = [text + last for text in texts]
    parsed, flaws = codec.parse_position_ids(np.array(ids, "S14"))
    for text, board, flaw in zip(ids, parsed, flaws, strict=True):
        if flaw == Flaw.NONE:
            assert Position(text).board == tuple(board)
            continue
        assert not board.any()
        rule = "expected letters" if flaw == Flaw.CHARACTER else Flaw(flaw).rule
        with pytest.raises(InvalidPositionError, match=rule):
            Position(text)


@given(st.lists(st.integers(-9, 9), min_size=26, max_size=26))
def test_array_flaw_matches_board_flaw(board: list[int]) -> None:
    assert codec.board_flaws(np.array([board], np.int8)).tolist() == [board_flaw(board)]


@each(
    ("text", "flaw"),
    [
        ("4HPwATDgc/ABMA", Flaw.NONE),
        ("4HPwATDgc/ABM", Flaw.CHARACTER),
        ("4HPwATDgc/ABMB", Flaw.LAST_CHARACTER),
        ("AAAAAAAAAAAAgA", Flaw.UNUSED_BITS),
        ("AAAA/v8PAAAAAA", Flaw.CHECKERS),
        ("//8AAAAAAAAAAA", Flaw.OPPONENT_CHECKERS),
        ("AQAAAAAAAgAAAA", Flaw.SHARED_POINT),
        ("27YBANC2bQAABA", Flaw.CLOSED_BOARDS),
    ],
)
def test_invalid_ids_give_a_flaw(text: str, flaw: Flaw) -> None:
    assert codec.parse_position_ids(np.array([text], "S14"))[1].tolist() == [flaw]


def test_boards_may_have_a_single_open_point() -> None:
    """A board with both sides on the bar and all home points but one made is legal, because some roll can enter."""
    closed = np.zeros(26, np.int8)
    closed[[0, 25]] = 1
    closed[1:7] = 2
    closed[19:25] = -2
    assert codec.board_flaws(closed[None]).tolist() == [board_flaw(closed.tolist())] == [Flaw.CLOSED_BOARDS]
    for point in (*range(1, 7), *range(19, 25)):
        open_board = closed.copy()
        open_board[point] //= 2  # a blot
        assert codec.board_flaws(open_board[None]).tolist() == [board_flaw(open_board.tolist())] == [Flaw.NONE]


def test_invalid_key20s_give_a_flaw() -> None:
    texts = np.array(["NIKOIJADCANIGOAHADBA", "NIKOIJADCANIGOAHADB", "NIKOIJADCANIGOAHADBa", "P" * 20], "S20")
    _, flaws = codec.parse_key20s(texts)
    assert flaws.tolist() == [Flaw.NONE, Flaw.CHARACTER, Flaw.CHARACTER, Flaw.OPPONENT_CHECKERS]


def test_empty_arrays_are_accepted() -> None:
    parsed, flaws = codec.parse_position_ids(np.empty(0, "S14"))
    assert parsed.shape == (0, 26)
    assert flaws.shape == (0,)
    assert codec.format_position_ids(parsed).shape == (0,)


def test_invalid_arrays_are_refused() -> None:
    illegal = np.array([START.board, [0] * 25 + [16]], np.int8)
    wrong: Any = np.zeros((2, 26), np.int64)
    all_raise(
        InvalidPositionError,
        [
            (lambda: codec.format_position_ids(illegal), "at most 15 checkers of the player on roll.* in row 1"),
            (lambda: codec.board_flaws(wrong), r"expected boards as int8\[n, 26\], got int64\[2, 26\]"),
            (lambda: codec.parse_position_ids(np.array(["x" * 13], "S13")), r"S14\[n\] or .*, got \|S13\[1\]"),
            (lambda: game_outcomes(np.zeros(26, np.int8)), "expected boards as int8"),
            (lambda: position_classes(np.zeros((2, 25), np.int8)), "expected boards as int8"),
            (lambda: position_hashes(np.zeros((2, 25), np.int8)), "expected boards as int8"),
            (lambda: position_themes(np.zeros((2, 25), np.int8)), "expected boards as int8"),
        ],
    )
