"""Inputs of networks against slow references, by hand, and with sides exchanged."""

import hashlib
from functools import cache

import numpy as np
import pytest

from bgdata.errors import InvalidPositionError, UnknownInputSetError
from bgdata.evaluation.networks.contact_inputs import CONTACT_INPUTS, UNIT, Inputs, NamedInput
from bgdata.evaluation.networks.input_sets import InputSet, input_set_named
from bgdata.evaluation.networks.inputs import (
    MAX_BOARDS,
    MAX_INPUTS,
    POINT_INPUTS,
    RACE_INPUTS,
    encode,
    fill_many_inputs,
    input_count,
)
from bgdata.evaluation.networks.shots import ROLL_NUMBERS
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.position import START
from bgdata.kernel import threads
from tests.random_games import random_game_positions
from tests.reference import contact_inputs as contact_reference
from tests.reference import race_inputs as race_reference
from tests.reference.networks import INPUT_SETS, base_inputs, inputs
from tests.subtests import each

# by input set: its revision, and the beginning of the SHA-256 of its inputs for `sample_boards`
VALUES = {
    InputSet.TESAURO_196: (1, "e3c747499e6ab129"),
    InputSet.TESAURO_198: (1, "4974f6cd77ab24bc"),
    InputSet.RACE: (1, "fa090ed6770ffe25"),
    InputSet.CONTACT: (1, "d63977f23b7177a6"),
}
FEATURES = {InputSet.RACE: RACE_INPUTS, InputSet.CONTACT: CONTACT_INPUTS}
each_input_set = pytest.mark.parametrize("input_set", InputSet)
each_features = pytest.mark.parametrize("input_set", FEATURES)


@cache
def sample_boards() -> Boards:
    """Boards of all classes, because every input is defined for all."""
    return random_game_positions(60, seed=61).boards


@cache
def sample_races() -> Boards:
    boards = random_game_positions(100, seed=41).boards
    return np.ascontiguousarray(boards[position_classes(boards) <= PositionClass.RACE])


def features(input_set: InputSet, boards: Boards) -> Inputs:
    return encode(input_set, boards)[:, -len(FEATURES[input_set]) :]


def named(input_set: InputSet, board: list[int]) -> dict[str, int]:
    found = features(input_set, np.array([board], np.int8))[0].tolist()
    return dict(zip((name for name, _ in FEATURES[input_set]), found, strict=True))


def test_labels_and_numbers_are_fixed() -> None:
    """Labels and numbers of input sets do not change, because recipes contain the labels and networks the numbers."""
    assert [(input_set.label, int(input_set)) for input_set in InputSet] == [
        (label, n) for n, label in enumerate(INPUT_SETS)
    ]
    assert [input_set_named(label) for label in INPUT_SETS] == list(InputSet)
    assert [input_count(input_set) for input_set in InputSet] == [196, 198, 256, 260]
    assert max(map(input_count, InputSet)) == MAX_INPUTS


@pytest.mark.parametrize(
    ("listed", "count", "digest"), [(RACE_INPUTS, 60, "30daf859134ba6bc"), (CONTACT_INPUTS, 64, "48588be59171995f")]
)
def test_order_of_inputs_is_fixed(listed: tuple[NamedInput, ...], count: int, digest: str) -> None:
    """The order of inputs does not change, because trained networks know inputs only by their place."""
    names = [name for name, _ in listed]
    assert len(set(names)) == len(names) == count
    assert all(each.meaning for each in listed)
    assert names[count // 2 :] == [f"opponent_{name}" for name in names[: count // 2]]
    assert hashlib.sha256("\n".join(names).encode()).hexdigest()[:16] == digest


@each_input_set
def test_values_change_only_with_the_revision(input_set: InputSet) -> None:
    digest = hashlib.sha256(encode(input_set, sample_boards()).astype("<i2").tobytes()).hexdigest()
    assert (input_set.revision, digest[:16]) == VALUES[input_set]


@each_input_set
@pytest.mark.parametrize("together", [1, 5, MAX_BOARDS])
def test_inputs_of_many_boards_equal_those_of_each(input_set: InputSet, together: int) -> None:
    """Boards that are encoded together get the inputs of boards encoded one by one, and no others are written."""
    numbers = np.full(ROLL_NUMBERS, 1 << 30, np.int32)  # arbitrary content
    alone = encode(input_set, sample_boards())
    many = np.full((len(sample_boards()), MAX_INPUTS), -1, np.int16)
    count = input_count(input_set)
    for begin in range(0, len(sample_boards()), together):
        rows = slice(begin, begin + together)
        fill_many_inputs(int(input_set), sample_boards()[rows], len(sample_boards()[rows]), numbers, many[rows])
    assert np.array_equal(many[:, :count], alone)
    assert (many[:, count:] == -1).all()
    # sides with checkers on the bar, whose rolls are counted separately
    ours, theirs = sample_boards()[:, 25] > 0, sample_boards()[:, 0] > 0
    assert min((ours & ~theirs).sum(), (theirs & ~ours).sum()) > 100
    assert (ours & theirs).any()


@each_input_set
def test_inputs_match_the_reference(input_set: InputSet) -> None:
    step = 17 if input_set == InputSet.CONTACT else 3  # the reference moves checkers for its shots: slow
    boards = np.concatenate([sample_boards()[::step], sample_races()[:: 3 * step]])
    found = encode(input_set, boards)
    assert found.dtype == np.int16
    assert found.tolist() == [inputs(input_set.label, board) for board in boards.tolist()]
    assert len(set(position_classes(boards).tolist())) >= 3


HAND_MADE = {
    "six_prime": [0, 0, -2, 0, 2, 2, 2, 2, 2, 2, 3, *[0] * 15],
    "four_on_bar": [0, *[0] * 18, -2, -2, 0, -1, -2, 0, 4],
    "closed_out": [1, 2, 2, 2, 2, 2, 2, *[0] * 17, -14, 0],
    "back_game": [0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, -3, 2, 0, -2, 0, -3, -2, -2, 3, 2, 2, 1, -1, 0],
    "nobody_left": [0] * 26,
    "no_opponent": [0, 1, *[0] * 24],
    "fifteen_on_bar": [15, *[0] * 24, 15],
    "blots_only": [0, *[1, -1] * 12, 1],
}


@each("name", list(HAND_MADE))
def test_inputs_match_values_by_hand(name: str) -> None:
    board = HAND_MADE[name]
    for input_set, reference in ((InputSet.CONTACT, contact_reference), (InputSet.RACE, race_reference)):
        assert features(input_set, np.array([board], np.int8))[0].tolist() == reference.inputs(board)


def test_every_count_on_every_point() -> None:
    """Inputs match the reference for 1 to 15 checkers of each side on every point, on the bar and off, which uses all
    entries of the lookup tables."""
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


def test_contact_inputs_of_the_start_by_hand() -> None:
    """The contact inputs of the starting position, in units of 1/64, are those calculated by hand."""
    found = named(InputSet.CONTACT, list(START.board))
    assert found["pips"] == 167 // 2
    assert found["contact_pips"] == (24 * 2 + 13 * 5 + 8 * 3 + 6 * 5 - 15) // 2
    assert found["gammon_pips"] == (2 * 18 + 5 * 7 + 3 * 2) // 2
    assert found["rearmost"] == 48
    assert found["best_anchor"] == 9
    assert found["anchors"] == 32
    assert found["back_game"] == 0
    assert (found["hit_chance"], found["home_blots"], found["exposed_blots"]) == (0, 0, 0)
    assert found["escape_chance"] == round(64 * 15 / 36)  # 8 pips or more, over points 6 and 8, not on 13
    assert (found["longest_prime"], found["broken_prime"]) == (64 // 6, 2 * 64 // 6)
    assert found["block_in_front"] == 4 * (2 + 1 + 1)
    assert found["dance_chance"] == round(64 / 36)
    assert found["timing"] == 5 * 7 + 3 * 2 + 3 * 4
    assert found["unlinked"] == 16  # the back checkers; 13 and 8 are linked to 8 and 6
    assert found["point_making_chance"] == round(64 * 16 / 36)  # 31 42 53 61 64 and all doubles


def test_inputs_of_a_full_prime() -> None:
    found = named(InputSet.CONTACT, HAND_MADE["six_prime"])
    assert found["blockade"] == 64
    assert found["longest_prime"] == 74
    assert found["broken_prime"] == 64
    assert found["opponent_escape_chance"] == 0


def test_inputs_of_a_closed_board() -> None:
    found = named(InputSet.CONTACT, HAND_MADE["closed_out"])
    assert found["opponent_dance_chance"] == 64
    assert found["opponent_stuck_checkers"] == 64
    assert found["blockade_from_bar"] == 64


def test_race_inputs_match_values_by_hand() -> None:
    # seven left: two on 1, one each on 3, 4, 6, 9 and 10; the opponent has fourteen on its 2 and one on its 7
    """The race inputs of three positions, in units of 1/64, are those calculated by hand."""
    board = [0, 2, 0, 1, 1, 0, 1, 0, 0, 1, 1, *[0] * 6, 0, -1, *[0] * 4, -14, 0, 0]
    found = named(InputSet.RACE, board)
    assert [found[f"off_{off}_or_more"] for off in (1, 8, 9, 14)] == [64, 64, 0, 0]
    assert (found["pips"], found["opponent_pips"]) == (34, 7 + 28)
    assert (found["race_lead"], found["opponent_race_lead"]) == (2, 0)
    assert found["relative_lead"] == 256 // 34
    assert (found["outside"], found["crossovers"], found["outside_pips"]) == (16, 8, 7)
    assert found["average_distance"] == 4 * 34 // 7
    assert found["gaps"] == 64 * 2 // 6
    assert found["ace_stack"] == 16
    assert found["deuce_stack"] == 0
    assert found["three_stack"] == 8
    assert (found["odd_checkers"], found["gammon_possible"], found["gammon_pips"]) == (64, 0, 0)
    assert (found["opponent_gammon_possible"], found["opponent_gammon_pips"]) == (64, 1 + 2)
    assert (found["opponent_backgammon_checkers"], found["opponent_backgammon_pips"]) == (0, 0)
    for six, expected in ((12, (48, 4 * (1 + 1 + 6))), (11, (0, 0))):  # one is off: no gammon is possible
        found = named(InputSet.RACE, [0, 0, 0, 0, 0, 0, six, *[0] * 12, 2, *[0] * 4, 1, 0])
        assert (found["backgammon_checkers"], found["backgammon_pips"]) == expected


@pytest.mark.parametrize(("input_set", "most", "used"), [(InputSet.CONTACT, 128, 32), (InputSet.RACE, 192, 50)])
def test_inputs_have_a_range_and_are_used(input_set: InputSet, most: int, used: int) -> None:
    boards = sample_races() if input_set == InputSet.RACE else sample_boards()
    found = features(input_set, np.concatenate([sample_boards(), sample_races()]))
    assert found.min() == 0
    assert found.max() <= most
    assert found.max() > most - 64
    assert (features(input_set, boards).max(axis=0) >= used).all()


@each_features
def test_inputs_are_exchanged_with_the_sides(input_set: InputSet) -> None:
    boards = np.concatenate([sample_boards(), sample_races()])
    side = len(FEATURES[input_set]) // 2
    turned = np.roll(features(input_set, boards), side, axis=1)
    assert np.array_equal(features(input_set, flip_boards(boards)), turned)


def test_inputs_of_points_are_exchanged_with_the_sides() -> None:
    """For the other player, the inputs of points are in reverse order with both halves exchanged, and so are both
    extras of a kind."""
    own, flipped = (encode(InputSet.TESAURO_196, each) for each in (sample_boards(), flip_boards(sample_boards())))
    points = own[:, :POINT_INPUTS].reshape(-1, 24, 2, 4)[:, ::-1, ::-1].reshape(-1, POINT_INPUTS)
    assert np.array_equal(flipped, np.hstack([points, own[:, [193, 192, 195, 194]]]))


@each_input_set
def test_threads_and_memory_order_do_not_matter(input_set: InputSet) -> None:
    expected = encode(input_set, sample_boards())
    with threads(1):
        assert np.array_equal(encode(input_set, sample_boards()), expected)
    boards = sample_boards()[:40]
    assert np.array_equal(encode(input_set, np.asfortranarray(boards)), expected[:40])
    assert encode(input_set, sample_boards()[:0]).shape == (0, input_count(input_set))


@pytest.mark.parametrize("label", ["", "tesauro", "Contact", "tesauro_196"])
def test_unknown_label_is_refused(label: str) -> None:
    with pytest.raises(UnknownInputSetError, match=f"expected inputs among tesauro-196, .*, contact, got {label}$"):
        input_set_named(label)


@pytest.mark.parametrize("wrong", [np.zeros((2, 25), np.int8), np.zeros(26, np.int8), np.zeros((2, 26), np.int16)])
def test_invalid_boards_are_refused(wrong: np.ndarray) -> None:
    with pytest.raises(InvalidPositionError, match=r"expected boards as int8\[n, 26\]"):
        encode(InputSet.RACE, wrong)
