"""Themes of positions: by example, against the reference, and for the other side."""

import numpy as np
import pytest

from bgdata.game.codec import Boards, check_legal_boards, flip_boards
from bgdata.game.themes import NO_THEME, Theme, position_themes
from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.selfplay.training_games import Start
from tests.random_games import random_game_positions
from tests.reference.themes import theme
from tests.selfplay.test_training_games import start_boards
from tests.subtests import each

HOMEWARD = {8: 3, 6: 4, 5: 4, 4: 4}  # the opponent coming home, by its own points
EXAMPLES = [  # checkers of each side by its own points, 25 the bar
    ({24: 2, 13: 5, 8: 3, 6: 5}, {24: 2, 13: 5, 8: 3, 6: 5}, Theme.OPENING),
    ({24: 2, 13: 3, 8: 3, 6: 4, 5: 1, 4: 2}, {25: 1, 24: 1, 13: 4, 11: 1, 8: 3, 6: 5}, Theme.OPENING),
    ({24: 2, 13: 2, 8: 3, 6: 3, 5: 2, 4: 2, 3: 1}, {24: 2, 13: 5, 8: 3, 6: 5}, Theme.MIDDLE_GAME),  # five were moved
    ({24: 1, 20: 1, 13: 3, 8: 3, 6: 3, 5: 2, 4: 2}, {24: 2, 13: 3, 8: 4, 7: 2, 6: 4}, Theme.MIDDLE_GAME),  # one point
    ({24: 2, 8: 3, 6: 4, 5: 2, 4: 2, 3: 2}, {25: 1, 23: 1, 13: 5, 8: 3, 6: 5}, Theme.BLITZ),
    ({24: 2, 8: 3, 6: 4, 5: 2, 4: 2, 3: 2}, {24: 1, 23: 1, 13: 5, 8: 3, 6: 5}, Theme.BLITZ),  # two blots
    ({24: 2, 8: 3, 6: 4, 5: 2, 4: 2, 3: 2}, {23: 1, 13: 6, 8: 3, 6: 5}, Theme.MIDDLE_GAME),  # one blot
    ({24: 2, 8: 3, 6: 4, 5: 2, 4: 2, 3: 2}, {25: 1, 23: 2, 13: 4, 8: 3, 6: 5}, Theme.MIDDLE_GAME),  # an anchor
    ({24: 2, 6: 3, 5: 2, 4: 2, 3: 2, 2: 2, 1: 2}, {25: 2, 13: 5, 8: 3, 6: 5}, Theme.MIDDLE_GAME),  # closed
    ({24: 2, 16: 4, 6: 5, 5: 2, 4: 2}, {25: 1, 24: 1, 13: 5, 8: 3, 6: 5}, Theme.MIDDLE_GAME),  # nine in the zone
    ({24: 2, 8: 2, 7: 3, 6: 3, 5: 3, 4: 2}, {24: 2, 8: 2, 7: 3, 6: 3, 5: 3, 4: 2}, Theme.PRIMING_BATTLE),
    ({24: 2, 8: 2, 7: 3, 6: 3, 5: 3, 4: 2}, {16: 2, 8: 2, 7: 3, 6: 3, 5: 3, 3: 2}, Theme.MIDDLE_GAME),  # not behind
    ({24: 2, 8: 3, 7: 3, 6: 3, 5: 4}, {24: 2, 10: 2, 7: 4, 6: 4, 5: 3}, Theme.MIDDLE_GAME),  # three in a row
    ({20: 2, 13: 3, 10: 1, 8: 3, 6: 4, 4: 2}, {18: 2, 13: 3, 10: 1, 8: 3, 6: 4, 4: 2}, Theme.MUTUAL_HOLDING),
    ({21: 2, 13: 4, 9: 1, 8: 3, 6: 3, 3: 2}, {21: 3, 13: 3, 8: 3, 6: 4, 3: 2}, Theme.MUTUAL_HOLDING),
    (
        {22: 2, 13: 3, 10: 1, 8: 3, 6: 4, 4: 2},
        {20: 2, 13: 3, 10: 1, 8: 3, 6: 4, 4: 2},
        Theme.MIDDLE_GAME,
    ),  # not advanced
    ({20: 1, 13: 4, 10: 1, 8: 3, 6: 4, 4: 2}, {20: 2, 13: 3, 10: 1, 8: 3, 6: 4, 4: 2}, Theme.MIDDLE_GAME),  # a blot
    ({24: 2, 13: 3, 8: 4, 6: 4, 4: 2}, HOMEWARD, Theme.ACE_POINT_GAME),
    ({24: 3, 22: 1, 6: 6, 5: 5}, {6: 3, 5: 3, 4: 3, 2: 2}, Theme.ACE_POINT_GAME),  # bearing off already
    ({24: 2, 6: 5, 5: 4, 4: 4}, {13: 8, 11: 7}, Theme.BEAR_IN_AGAINST_CONTACT),  # it leads
    ({24: 2, 13: 3, 8: 4, 6: 4, 4: 2}, {14: 1, 8: 4, 6: 5, 5: 5}, Theme.MIDDLE_GAME),  # not coming home yet
    ({24: 2, 22: 2, 13: 3, 8: 3, 6: 5}, HOMEWARD, Theme.BACK_GAME_ON_ROLL),
    ({20: 2, 19: 2, 13: 3, 8: 3, 6: 5}, {8: 3, 7: 4, 4: 4, 3: 4}, Theme.BACK_GAME_ON_ROLL),
    (HOMEWARD, {24: 3, 23: 2, 13: 3, 8: 3, 6: 4}, Theme.BACK_GAME_AGAINST),
    ({24: 2, 22: 2, 3: 3, 2: 4, 1: 4}, {13: 5, 12: 5, 11: 5}, Theme.BEAR_IN_AGAINST_CONTACT),  # it leads
    ({6: 3, 5: 3, 4: 3, 3: 2, 2: 2, 1: 2}, {25: 1, 6: 5, 3: 2}, Theme.CONTAINMENT),
    ({14: 4, 6: 5, 5: 3, 4: 3}, {24: 2, 22: 1, 6: 6, 3: 2}, Theme.CONTAINMENT),
    ({14: 4, 6: 5, 5: 3, 4: 3}, {24: 2, 23: 1, 22: 1, 6: 5, 3: 2}, Theme.MIDDLE_GAME),  # four are back
    (HOMEWARD, {23: 2, 13: 3, 8: 4, 6: 4, 4: 2}, Theme.BEAR_IN_AGAINST_CONTACT),
    ({13: 2, 6: 3, 5: 2, 4: 2, 3: 2, 2: 2, 1: 2}, {25: 1, 13: 5, 8: 4, 6: 5}, Theme.BEAR_IN_AGAINST_CONTACT),  # closed
    ({13: 5, 6: 5, 5: 5}, {18: 2, 13: 3, 6: 5, 4: 5}, Theme.MIDDLE_GAME),  # nobody in the home board
    ({6: 5, 5: 5, 4: 5}, {23: 2, 13: 3, 8: 4, 6: 4, 4: 2}, Theme.BEAR_OFF_AGAINST_CONTACT),
    ({6: 2, 5: 2, 1: 1}, {25: 1, 6: 7, 5: 7}, Theme.BEAR_OFF_AGAINST_CONTACT),
    ({22: 2, 15: 1, 6: 2, 2: 5, 1: 5}, {18: 2, 14: 4, 8: 3, 6: 4, 4: 2}, Theme.CRASHED),
    ({13: 2, 12: 4, 8: 3, 6: 6}, {11: 5, 8: 3, 6: 4, 3: 3}, Theme.RACE),
    ({7: 1, 6: 14}, {6: 15}, Theme.RACE),
    ({6: 5, 5: 5, 2: 5}, {6: 5, 3: 5}, Theme.BEAR_OFF),
    ({1: 1}, {6: 1}, Theme.BEAR_OFF),
]
OF_OTHER_SIDE = {Theme.BACK_GAME_ON_ROLL: Theme.BACK_GAME_AGAINST, Theme.BACK_GAME_AGAINST: Theme.BACK_GAME_ON_ROLL}


def board_of(own: dict[int, int], opponent: dict[int, int]) -> Boards:
    """A legal board int8[1, 26] of each side's checkers by its own points."""
    board = np.zeros((1, 26), np.int8)
    for point, count in own.items():
        board[0, point] = count
    for point, count in opponent.items():
        assert point == 25 or board[0, 25 - point] == 0
        board[0, 25 - point] = count if point == 25 else -count
    return check_legal_boards(board)


@pytest.fixture(scope="module")
def boards() -> Boards:
    """Positions of many kinds: random games, and all starts of training games."""
    starts = [start_boards(start, 300) for start in Start]
    return np.concatenate([random_game_positions(300, seed=4).boards, *starts])


@each(("own", "opponent", "expected"), EXAMPLES)
def test_examples_have_their_themes(own: dict[int, int], opponent: dict[int, int], expected: Theme) -> None:
    board = board_of(own, opponent)
    assert Theme(position_themes(board)[0]) is expected
    assert Theme(position_themes(flip_boards(board))[0]) is OF_OTHER_SIDE.get(expected, expected)
    assert theme(board[0].tolist()) is expected


def test_every_theme_has_an_example() -> None:
    assert {expected for *_, expected in EXAMPLES} == set(Theme)


def test_themes_match_the_reference(boards: Boards) -> None:
    themes = position_themes(boards).tolist()
    assert themes == [theme(board) for board in boards.tolist()]
    assert set(themes) == set(Theme)


def test_flip_keeps_the_theme(boards: Boards) -> None:
    """The flipped board has the same theme, except back games, which one side plays and the other plays against."""
    expected = [OF_OTHER_SIDE.get(Theme(number), number) for number in position_themes(boards).tolist()]
    assert position_themes(flip_boards(boards)).tolist() == expected


def test_finished_games_have_no_theme() -> None:
    boards = np.zeros((2, 26), np.int8)
    boards[0, 3], boards[1, 3] = 1, -1
    assert position_themes(boards).tolist() == [NO_THEME, NO_THEME]
    assert theme(boards[0].tolist()) is theme(boards[1].tolist()) is None


def test_labels_and_numbers_are_fixed() -> None:
    assert Theme.BACK_GAME_ON_ROLL.label == "back-game-on-roll"
    assert list(map(int, Theme)) == list(range(14))


def test_declared_themes_match_the_labels() -> None:
    """The themes in the declaration, which imports no kernels, are the labels in order."""
    assert tuple(theme.label for theme in Theme) == THEMES
