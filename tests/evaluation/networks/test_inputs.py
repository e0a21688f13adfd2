"""What networks see, against the twin that counts from the meaning of every input."""

from __future__ import annotations

import hashlib
from functools import cache

import numpy as np
import pytest

from bgdata.errors import InvalidPositionError, UnknownInputSetError
from bgdata.evaluation.networks.contact_inputs import UNIT
from bgdata.evaluation.networks.input_sets import InputSet, input_set_named
from bgdata.evaluation.networks.inputs import (
    BASE_EXTRAS,
    EXTRAS,
    MOST_BOARDS,
    MOST_INPUTS,
    POINT_INPUTS,
    encode,
    fill_many_inputs,
    input_count,
)
from bgdata.evaluation.networks.shots import ROLL_NUMBERS
from bgdata.game.board_kernels import position_classes
from bgdata.game.codec import Boards
from bgdata.game.position import START
from bgdata.kernel import threads
from tests.random_games import random_game_positions
from tests.reference.networks import INPUT_SETS, base_inputs, inputs

# by input set: its revision, and the beginning of the SHA-256 of what it says of BOARDS
VALUES = {
    InputSet.TESAURO_196: (1, "e3c747499e6ab129"),
    InputSet.TESAURO_198: (1, "4974f6cd77ab24bc"),
    InputSet.RACE: (1, "fa090ed6770ffe25"),
    InputSet.CONTACT: (1, "d63977f23b7177a6"),
}
each_input_set = pytest.mark.parametrize("input_set", InputSet)


@cache
def sample_boards() -> Boards:
    return random_game_positions(60, seed=61).boards


def test_labels_and_numbers_are_frozen() -> None:
    """Networks are stored with the number; recipes with the label."""
    assert [(input_set.label, int(input_set)) for input_set in InputSet] == [
        (label, n) for n, label in enumerate(INPUT_SETS)
    ]
    assert [input_set_named(label) for label in INPUT_SETS] == list(InputSet)
    assert [input_count(input_set) for input_set in InputSet] == [196, 198, 256, 260]
    assert max(map(input_count, InputSet)) == MOST_INPUTS == 260


@each_input_set
def test_values_change_with_the_revision_alone(input_set: InputSet) -> None:
    digest = hashlib.sha256(encode(input_set, sample_boards()).astype("<i2").tobytes()).hexdigest()
    assert (input_set.revision, digest[:16]) == VALUES[input_set]


@each_input_set
@pytest.mark.parametrize("together", [1, 5, MOST_BOARDS])
def test_inputs_of_many_boards_are_those_of_each(input_set: InputSet, together: int) -> None:
    numbers = np.full(ROLL_NUMBERS, 1 << 30, np.int32)  # what another player left
    alone, many = encode(input_set, sample_boards()), np.full((len(sample_boards()), MOST_INPUTS), -1, np.int16)
    count = input_count(input_set)
    for begin in range(0, len(sample_boards()), together):
        rows = slice(begin, begin + together)
        fill_many_inputs(int(input_set), sample_boards()[rows], len(sample_boards()[rows]), numbers, many[rows])
    assert np.array_equal(many[:, :count], alone)
    assert (many[:, count:] == -1).all()
    # sides with checkers on the bar, whose rolls are counted alone
    ours, theirs = sample_boards()[:, 25] > 0, sample_boards()[:, 0] > 0
    assert min((ours & ~theirs).sum(), (theirs & ~ours).sum()) > 100
    assert (ours & theirs).any()


@each_input_set
def test_boards_in_any_order_of_memory(input_set: InputSet) -> None:
    """Kernels read the slots of a board as neighbours."""
    boards = sample_boards()[:40]
    assert np.array_equal(encode(input_set, np.asfortranarray(boards)), encode(input_set, boards))


@each_input_set
def test_twin(input_set: InputSet) -> None:
    step = 40 if input_set == InputSet.CONTACT else 3  # the twin moves checkers for its shots: slow
    boards = sample_boards()[::step]
    found = encode(input_set, boards)
    assert found.dtype == np.int16
    assert found.tolist() == [inputs(input_set.label, board) for board in boards.tolist()]
    assert len(set(position_classes(boards).tolist())) >= 3


def test_every_count_on_every_point() -> None:
    """1 to 15 checkers of either side on one point, on the bar, and off: all that a table is looked up for."""
    boards = np.zeros((2 * 15 * 24 + 2 * 16 + 2 * 16, 26), np.int8)
    cells = [(point, sign * count) for point in range(1, 25) for sign in (1, -1) for count in range(1, 16)]
    cells += [(slot, count) for slot in (0, 25) for count in range(16)]
    cells += [(point, sign * count) for point, sign in ((6, 1), (19, -1)) for count in range(16)]
    for board, (slot, count) in zip(boards, cells, strict=True):
        board[slot] = count
    found = encode(InputSet.TESAURO_196, boards)
    assert found.tolist() == [base_inputs(board) for board in boards.tolist()]
    assert found.max() == 15 * UNIT // 2  # 15 on the bar


def test_start_position_by_hand() -> None:
    found = encode(InputSet.TESAURO_198, np.array([START.board], np.int8))[0] / UNIT
    expected = np.zeros(198)
    expected[197 - 1] = 1  # it is our turn
    for point, count in ((6, 5), (8, 3), (13, 5), (24, 2)):
        for first in (8 * (point - 1), 8 * (25 - point - 1) + 4):
            expected[first : first + 4] = [1, 1, count > 2, max(count - 3, 0) / 2]
    assert found.tolist() == expected.tolist()


def test_sides_change_places() -> None:
    """The points from 24 down with both halves exchanged, and both extras of a kind."""
    own, flipped = (encode(InputSet.TESAURO_196, boards) for boards in (sample_boards(), flip(sample_boards())))
    points = own[:, :POINT_INPUTS].reshape(-1, 24, 2, 4)[:, ::-1, ::-1].reshape(-1, POINT_INPUTS)
    assert np.array_equal(flipped, np.hstack([points, own[:, [193, 192, 195, 194]]]))


def flip(boards: np.ndarray) -> np.ndarray:
    turned = -boards[:, ::-1]
    turned[:, [0, 25]] *= -1
    return np.ascontiguousarray(turned)


@each_input_set
def test_threads_and_no_boards(input_set: InputSet) -> None:
    expected, count = encode(input_set, sample_boards()), input_count(input_set)
    with threads(1):
        assert np.array_equal(encode(input_set, sample_boards()), expected)
    assert encode(input_set, sample_boards()[:0]).shape == (0, count)
    assert EXTRAS[input_set] >= BASE_EXTRAS


@pytest.mark.parametrize("label", ["", "tesauro", "Contact", "tesauro_196"])
def test_unknown_labels(label: str) -> None:
    with pytest.raises(UnknownInputSetError, match=f"expected inputs among tesauro-196, .*, contact, got {label}$"):
        input_set_named(label)


@pytest.mark.parametrize("wrong", [np.zeros((2, 25), np.int8), np.zeros(26, np.int8), np.zeros((2, 26), np.int16)])
def test_boards_of_another_form_are_refused(wrong: np.ndarray) -> None:
    with pytest.raises(InvalidPositionError, match=r"expected boards as int8\[n, 26\]"):
        encode(InputSet.RACE, wrong)
