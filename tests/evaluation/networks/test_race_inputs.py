"""The race inputs against their twin, by hand, and turned around."""

from __future__ import annotations

from functools import cache
from hashlib import sha256

import numpy as np

from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import RACE_INPUTS, RACE_SIDE_INPUTS, encode
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, flip_boards
from tests.random_games import random_game_positions
from tests.reference.race_inputs import inputs

RACE_NAMES = [name for name, _ in RACE_INPUTS]


@cache
def sample_boards() -> Boards:
    """Contact too: every input has a meaning there."""
    return random_game_positions(100, seed=41).boards


@cache
def sample_races() -> Boards:
    boards = sample_boards()
    return np.ascontiguousarray(boards[position_classes(boards) <= PositionClass.RACE])


def race_inputs(boards: Boards) -> np.ndarray:
    return encode(InputSet.RACE, boards)[:, -len(RACE_INPUTS) :]


def named(board: list[int]) -> dict[str, int]:
    return dict(zip(RACE_NAMES, race_inputs(np.array([board], np.int8))[0].tolist(), strict=True))


def test_names() -> None:
    assert len(set(RACE_NAMES)) == len(RACE_NAMES) == 2 * RACE_SIDE_INPUTS == 60
    assert all(each.meaning for each in RACE_INPUTS)
    assert list(RACE_NAMES[RACE_SIDE_INPUTS:]) == [f"opponent_{name}" for name in RACE_NAMES[:RACE_SIDE_INPUTS]]


def test_order_is_frozen() -> None:
    """Trained networks know their inputs by place alone: a change here makes them worthless."""
    assert sha256("\n".join(RACE_NAMES).encode()).hexdigest()[:16] == "30daf859134ba6bc"


def test_twin() -> None:
    assert len(sample_races()) > 500
    boards = np.concatenate([sample_races(), sample_boards()[::4]])
    assert race_inputs(boards).tolist() == [inputs(board) for board in boards.tolist()]


def test_range() -> None:
    found = race_inputs(sample_boards())
    assert found.dtype == np.int16
    assert found.min() == 0
    assert 128 < found.max() <= 192
    assert (race_inputs(sample_races()).max(axis=0) >= 50).all()  # every input is used


def test_sides_change_places() -> None:
    assert np.array_equal(
        race_inputs(flip_boards(sample_races())), np.roll(race_inputs(sample_races()), RACE_SIDE_INPUTS, axis=1)
    )


def test_by_hand() -> None:
    # seven left: two on 1, one each on 3, 4, 6, 9 and 10; the opponent has fourteen on his 2 and one on his 7
    board = [0, 2, 0, 1, 1, 0, 1, 0, 0, 1, 1, *[0] * 6, 0, -1, *[0] * 4, -14, 0, 0]
    found = named(board)
    assert [found[f"off_{off}_or_more"] for off in (1, 8, 9, 14)] == [64, 64, 0, 0]
    assert (found["pips"], found["opponent_pips"]) == (34, 7 + 28)
    assert (found["race_lead"], found["opponent_race_lead"]) == (2, 0)
    assert found["relative_lead"] == 256 // 34
    assert (found["outside"], found["crossovers"], found["outside_pips"]) == (16, 8, 7)
    assert found["average_distance"] == 4 * 34 // 7
    assert (found["gaps"], found["ace_stack"], found["deuce_stack"], found["three_stack"]) == (64 * 2 // 6, 16, 0, 8)
    assert (found["odd_checkers"], found["gammon_possible"], found["gammon_pips"]) == (64, 0, 0)
    assert (found["opponent_gammon_possible"], found["opponent_gammon_pips"]) == (64, 1 + 2)
    assert (found["opponent_backgammon_checkers"], found["opponent_backgammon_pips"]) == (0, 0)


def test_backgammon_danger() -> None:
    found = named([0, 0, 0, 0, 0, 0, 12, *[0] * 12, 2, *[0] * 4, 1, 0])
    assert (found["backgammon_checkers"], found["backgammon_pips"]) == (48, 4 * (1 + 1 + 6))
    found = named([0, 0, 0, 0, 0, 0, 11, *[0] * 12, 2, *[0] * 4, 1, 0])  # one is off: no gammon any more
    assert (found["backgammon_checkers"], found["backgammon_pips"]) == (0, 0)
