"""Inputs of networks against slow references, by hand, and with sides exchanged."""

import hashlib
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from bgdata.errors import InvalidPositionError, UnknownInputSetError
from bgdata.evaluation.networks.contact_inputs import CONTACT_INPUTS, UNIT, Inputs, NamedInput
from bgdata.evaluation.networks.input_sets import InputSet, input_set_named
from bgdata.evaluation.networks.inputs import (
    MAX_BOARDS,
    MAX_INPUTS,
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

# by input set: its revision, and the beginning of the SHA-256 of its inputs for `sample_boards`
VALUES = {
    InputSet.TESAURO_196: (1, "e3c747499e6ab129"),
    InputSet.TESAURO_198: (1, "4974f6cd77ab24bc"),
    InputSet.RACE: (1, "fa090ed6770ffe25"),
    InputSet.CONTACT: (1, "d63977f23b7177a6"),
}
FEATURES = {InputSet.RACE: RACE_INPUTS, InputSet.CONTACT: CONTACT_INPUTS}
for_each_input_set = pytest.mark.parametrize("input_set", InputSet, ids=lambda input_set: input_set.label)


@cache
def sample_boards() -> Boards:
    """Boards of all classes, because every input is defined for all."""
    return random_game_positions(60, seed=61).boards


@cache
def sample_races() -> Boards:
    boards = random_game_positions(100, seed=41).boards
    return np.ascontiguousarray(boards[position_classes(boards) <= PositionClass.RACE])


def features(input_set: InputSet, boards: Boards) -> Inputs:
    """The named inputs, without those of points, bars and checkers off."""
    return encode(input_set, boards)[:, -len(FEATURES[input_set]) :]


def features_by_name(input_set: InputSet, board: Sequence[int]) -> dict[str, int]:
    values = features(input_set, np.array([board], np.int8))[0].tolist()
    return dict(zip((name for name, _ in FEATURES[input_set]), values, strict=True))


def test_labels_and_numbers_are_fixed() -> None:
    """Recipes contain the labels, and networks the numbers."""
    assert [input_set.label for input_set in InputSet] == list(INPUT_SETS)
    assert [input_set_named(label) for label in INPUT_SETS] == list(InputSet)
    assert [int(input_set) for input_set in InputSet] == [0, 1, 2, 3]
    assert [input_count(input_set) for input_set in InputSet] == [196, 198, 256, 260]
    assert max(map(input_count, InputSet)) == MAX_INPUTS


@pytest.mark.parametrize(
    ("inputs", "count", "digest"),
    [(RACE_INPUTS, 60, "30daf859134ba6bc"), (CONTACT_INPUTS, 64, "48588be59171995f")],
    ids=["race", "contact"],
)
def test_order_of_inputs_is_fixed(inputs: tuple[NamedInput, ...], count: int, digest: str) -> None:
    """Trained networks know inputs only by their place."""
    names = [name for name, _ in inputs]
    assert len(set(names)) == len(names) == count
    assert all(named_input.meaning for named_input in inputs)
    assert names[count // 2 :] == [f"opponent_{name}" for name in names[: count // 2]]
    assert hashlib.sha256("\n".join(names).encode()).hexdigest()[:16] == digest


@for_each_input_set
def test_values_change_only_with_the_revision(input_set: InputSet) -> None:
    digest = hashlib.sha256(encode(input_set, sample_boards()).astype("<i2").tobytes()).hexdigest()
    assert (input_set.revision, digest[:16]) == VALUES[input_set]


@for_each_input_set
@pytest.mark.parametrize("batch", [1, 5, MAX_BOARDS])
def test_inputs_do_not_depend_on_batches(input_set: InputSet, batch: int) -> None:
    boards, count = sample_boards(), input_count(input_set)
    scratch = np.full(ROLL_NUMBERS, 1 << 30, np.int32)  # arbitrary content
    inputs = np.full((len(boards), MAX_INPUTS), -1, np.int16)
    for begin in range(0, len(boards), batch):
        rows = slice(begin, begin + batch)
        fill_many_inputs(int(input_set), boards[rows], len(boards[rows]), scratch, inputs[rows])
    assert np.array_equal(inputs[:, :count], encode(input_set, boards))
    assert (inputs[:, count:] == -1).all(), "no others are written"


def test_sample_boards_have_checkers_on_both_bars() -> None:
    """Their rolls are counted separately."""
    on_roll, opponent = sample_boards()[:, 25] > 0, sample_boards()[:, 0] > 0
    assert (on_roll & ~opponent).sum() > 100
    assert (opponent & ~on_roll).sum() > 100
    assert (on_roll & opponent).any()


@for_each_input_set
def test_inputs_match_the_reference(input_set: InputSet) -> None:
    step = 17 if input_set == InputSet.CONTACT else 3  # the reference moves checkers for its shots: slow
    boards = np.concatenate([sample_boards()[::step], sample_races()[:: 3 * step]])
    assert len(set(position_classes(boards).tolist())) >= 3
    values = encode(input_set, boards)
    assert values.dtype == np.int16
    assert values.tolist() == [inputs(input_set.label, board) for board in boards.tolist()]


UNUSUAL_BOARDS = {
    "six_prime": [0, 0, -2, 0, 2, 2, 2, 2, 2, 2, 3, *[0] * 15],
    "four_on_bar": [0, *[0] * 18, -2, -2, 0, -1, -2, 0, 4],
    "closed_out": [1, 2, 2, 2, 2, 2, 2, *[0] * 17, -14, 0],
    "back_game": [0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, -3, 2, 0, -2, 0, -3, -2, -2, 3, 2, 2, 1, -1, 0],
    "nobody_left": [0] * 26,
    "no_opponent": [0, 1, *[0] * 24],
    "fifteen_on_bar": [15, *[0] * 24, 15],
    "blots_only": [0, *[1, -1] * 12, 1],
}


@pytest.mark.parametrize("board", UNUSUAL_BOARDS.values(), ids=UNUSUAL_BOARDS)
def test_inputs_of_unusual_boards_match_the_reference(board: list[int]) -> None:
    boards = np.array([board], np.int8)
    assert features(InputSet.CONTACT, boards)[0].tolist() == contact_reference.inputs(board)
    assert features(InputSet.RACE, boards)[0].tolist() == race_reference.inputs(board)


def test_inputs_of_every_count_on_every_slot_match_the_reference() -> None:
    """This uses all entries of the lookup tables."""
    cells = [(point, sign * count) for point in range(1, 25) for sign in (1, -1) for count in range(1, 16)]
    cells += [(slot, count) for slot in (0, 25) for count in range(16)]
    cells += [(point, sign * count) for point, sign in ((6, 1), (19, -1)) for count in range(16)]
    boards = np.zeros((len(cells), 26), np.int8)
    for board, (slot, count) in zip(boards, cells, strict=True):
        board[slot] = count
    values = encode(InputSet.TESAURO_196, boards)
    assert values.tolist() == [base_inputs(board) for board in boards.tolist()]
    assert values.max() == 15 * UNIT // 2, "15 checkers on the bar"


def test_start_position_by_hand() -> None:
    values = encode(InputSet.TESAURO_198, np.array([START.board], np.int8))[0] / UNIT
    expected = np.zeros(198)
    expected[196] = 1  # the player on roll moves
    for point, count in ((6, 5), (8, 3), (13, 5), (24, 2)):
        first, first_of_opponent = 8 * (point - 1), 8 * (25 - point - 1) + 4
        for place in (first, first_of_opponent):
            expected[place : place + 4] = [1, 1, count > 2, max(count - 3, 0) / 2]
    assert values.tolist() == expected.tolist()


def test_contact_inputs_of_the_start_by_hand() -> None:
    """In units of 1/64."""
    values = features_by_name(InputSet.CONTACT, list(START.board))
    assert values["pips"] == 167 // 2
    assert values["contact_pips"] == (24 * 2 + 13 * 5 + 8 * 3 + 6 * 5 - 15) // 2
    assert values["gammon_pips"] == (2 * 18 + 5 * 7 + 3 * 2) // 2
    assert values["rearmost"] == 48
    assert values["best_anchor"] == 9
    assert values["anchors"] == 32
    assert values["back_game"] == 0
    assert values["hit_chance"] == values["home_blots"] == values["exposed_blots"] == 0
    assert values["escape_chance"] == round(64 * 15 / 36)  # 8 pips or more, over points 6 and 8, not on 13
    assert values["longest_prime"] == 64 // 6
    assert values["broken_prime"] == 2 * 64 // 6
    assert values["block_in_front"] == 4 * (2 + 1 + 1)
    assert values["dance_chance"] == round(64 / 36)
    assert values["timing"] == 5 * 7 + 3 * 2 + 3 * 4
    assert values["unlinked"] == 16  # the back checkers; 13 and 8 are linked to 8 and 6
    assert values["point_making_chance"] == round(64 * 16 / 36)  # 31 42 53 61 64 and all doubles


def test_inputs_of_a_full_prime() -> None:
    values = features_by_name(InputSet.CONTACT, UNUSUAL_BOARDS["six_prime"])
    assert values["blockade"] == 64
    assert values["longest_prime"] == 74
    assert values["broken_prime"] == 64
    assert values["opponent_escape_chance"] == 0


def test_inputs_of_a_closed_board() -> None:
    values = features_by_name(InputSet.CONTACT, UNUSUAL_BOARDS["closed_out"])
    assert values["opponent_dance_chance"] == 64
    assert values["opponent_stuck_checkers"] == 64
    assert values["blockade_from_bar"] == 64


def test_race_inputs_match_values_by_hand() -> None:
    """In units of 1/64. Seven checkers are left: two on 1, one each on 3, 4, 6, 9 and 10; the opponent has fourteen on
    its 2 and one on its 7."""
    board = [0, 2, 0, 1, 1, 0, 1, 0, 0, 1, 1, *[0] * 6, 0, -1, *[0] * 4, -14, 0, 0]
    values = features_by_name(InputSet.RACE, board)
    assert values["off_1_or_more"] == values["off_8_or_more"] == 64
    assert values["off_9_or_more"] == values["off_14_or_more"] == 0
    assert values["pips"] == 34
    assert values["opponent_pips"] == 7 + 28
    assert values["race_lead"] == 2
    assert values["opponent_race_lead"] == 0
    assert values["relative_lead"] == 256 // 34
    assert values["outside"] == 16
    assert values["crossovers"] == 8
    assert values["outside_pips"] == 7
    assert values["average_distance"] == 4 * 34 // 7
    assert values["gaps"] == 64 * 2 // 6
    assert values["ace_stack"] == 16
    assert values["deuce_stack"] == 0
    assert values["three_stack"] == 8
    assert values["odd_checkers"] == 64
    assert values["gammon_possible"] == values["gammon_pips"] == 0
    assert values["opponent_gammon_possible"] == 64
    assert values["opponent_gammon_pips"] == 1 + 2
    assert values["opponent_backgammon_checkers"] == values["opponent_backgammon_pips"] == 0


@pytest.mark.parametrize(("on_six", "checkers", "pips"), [(12, 48, 4 * (1 + 1 + 6)), (11, 0, 0)])
def test_backgammon_inputs_need_all_checkers(on_six: int, checkers: int, pips: int) -> None:
    """Three checkers are in the opponent's home board; with 11 others, one is off and no gammon is possible."""
    values = features_by_name(InputSet.RACE, [0, 0, 0, 0, 0, 0, on_six, *[0] * 12, 2, *[0] * 4, 1, 0])
    assert values["backgammon_checkers"] == checkers
    assert values["backgammon_pips"] == pips


@pytest.mark.parametrize(("input_set", "limit"), [(InputSet.CONTACT, 128), (InputSet.RACE, 192)])
def test_inputs_are_within_a_range(input_set: InputSet, limit: int) -> None:
    values = features(input_set, np.concatenate([sample_boards(), sample_races()]))
    assert values.min() == 0
    assert limit - 64 < values.max() <= limit


def test_every_input_is_used() -> None:
    assert features(InputSet.CONTACT, sample_boards()).max(axis=0).min() >= 32
    assert features(InputSet.RACE, sample_races()).max(axis=0).min() >= 50


@pytest.mark.parametrize("input_set", FEATURES, ids=lambda input_set: input_set.label)
def test_inputs_are_exchanged_with_the_sides(input_set: InputSet) -> None:
    boards = np.concatenate([sample_boards(), sample_races()])
    exchanged = np.roll(features(input_set, boards), len(FEATURES[input_set]) // 2, axis=1)
    assert np.array_equal(features(input_set, flip_boards(boards)), exchanged)


@for_each_input_set
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


def test_invalid_boards_are_refused() -> None:
    with pytest.raises(InvalidPositionError, match=r"expected boards as int8\[n, 26\]"):
        encode(InputSet.RACE, np.zeros((2, 25), np.int8))
