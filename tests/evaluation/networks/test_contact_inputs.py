"""The contact inputs against their twin, by hand, and turned around."""

from __future__ import annotations

from functools import cache
from hashlib import sha256

import numpy as np

from bgdata.evaluation.networks.contact_inputs import CONTACT_INPUTS, CONTACT_NAMES, SIDE_INPUTS
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import encode
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.position import START
from tests.random_games import random_game_positions
from tests.reference.contact_inputs import inputs
from tests.together import each


@cache
def sample_boards() -> Boards:
    """Races too: every input has a meaning there."""
    return random_game_positions(60, seed=31).boards


def contact_inputs(boards: Boards) -> np.ndarray:
    return encode(InputSet.CONTACT, boards)[:, -len(CONTACT_INPUTS) :]


def named(board: list[int]) -> dict[str, int]:
    return dict(zip(CONTACT_NAMES, contact_inputs(np.array([board], np.int8))[0].tolist(), strict=True))


def test_names() -> None:
    assert len(set(CONTACT_NAMES)) == len(CONTACT_NAMES) == 2 * SIDE_INPUTS == 64
    assert all(each.meaning for each in CONTACT_INPUTS)
    assert list(CONTACT_NAMES[SIDE_INPUTS:]) == [f"opponent_{name}" for name in CONTACT_NAMES[:SIDE_INPUTS]]


def test_order_is_frozen() -> None:
    """Trained networks know their inputs by place alone: a change here makes them worthless."""
    assert sha256("\n".join(CONTACT_NAMES).encode()).hexdigest()[:16] == "48588be59171995f"


def test_twin() -> None:
    boards = sample_boards()[::17]
    assert len(boards) > 300
    for board, found in zip(boards.tolist(), contact_inputs(boards).tolist(), strict=True):
        assert found == inputs(board), board


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
def test_twin_by_hand(name: str) -> None:
    board = HAND_MADE[name]
    assert contact_inputs(np.array([board], np.int8))[0].tolist() == inputs(board)


def test_start() -> None:
    found = named(list(START.board))
    assert found["pips"] == 167 // 2
    assert found["contact_pips"] == (24 * 2 + 13 * 5 + 8 * 3 + 6 * 5 - 15) // 2
    assert found["gammon_pips"] == (2 * 18 + 5 * 7 + 3 * 2) // 2
    assert (found["rearmost"], found["best_anchor"], found["anchors"], found["back_game"]) == (48, 9, 32, 0)
    assert (found["hit_chance"], found["home_blots"], found["exposed_blots"]) == (0, 0, 0)
    assert found["escape_chance"] == round(64 * 15 / 36)  # 8 pips or more, over points 6 and 8, not on 13
    assert (found["longest_prime"], found["broken_prime"]) == (64 // 6, 2 * 64 // 6)
    assert found["block_in_front"] == 4 * (2 + 1 + 1)
    assert found["dance_chance"] == round(64 / 36)
    assert found["timing"] == 5 * 7 + 3 * 2 + 3 * 4
    assert found["unlinked"] == 16  # the back checkers; 13 and 8 see 8 and 6
    assert found["point_making_chance"] == round(64 * 16 / 36)  # 31 42 53 61 64 and all doubles


def test_full_prime_and_closed_board() -> None:
    found = named(HAND_MADE["six_prime"])
    assert (found["blockade"], found["longest_prime"], found["broken_prime"]) == (64, 74, 64)
    assert found["opponent_escape_chance"] == 0
    found = named(HAND_MADE["closed_out"])
    assert (found["opponent_dance_chance"], found["opponent_stuck_checkers"]) == (64, 64)
    assert found["blockade_from_bar"] == 64


def test_range_and_use() -> None:
    found = contact_inputs(sample_boards())
    assert found.dtype == np.int16
    assert found.min() == 0
    assert found.max() == 128
    assert (found.max(axis=0) >= 32).all()  # every input is used


def test_sides_change_places() -> None:
    assert np.array_equal(
        contact_inputs(flip_boards(sample_boards())), np.roll(contact_inputs(sample_boards()), SIDE_INPUTS, axis=1)
    )
