"""Players in kernels: legal choices that follow their evaluations; and players that maximize wins."""

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.errors import InvalidPositionError, InvalidRollError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff import open_bearoff
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import AnswerSource
from bgdata.evaluation.choices import (
    KernelPlayer,
    choice_scratch,
    choose,
    chosen_boards,
    network_chooser,
    win_only,
    win_only_chooser,
)
from bgdata.evaluation.player import PubEval, RandomPlayer
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.kernel import threads
from tests.evaluation.sample_networks import SHAPES, random_networks
from tests.random_games import GamePositions, random_game_positions
from tests.reference.games import random_chooser


@cache
def turns() -> tuple[Boards, NDArray[np.int8]]:
    games = random_game_positions(30, seed=41)
    return games.boards, games.rolls


def test_random_choices_match_the_reference() -> None:
    boards, rolls = turns()
    offsets, after_play = batch_plays(boards, rolls)
    numbers = np.arange(len(boards), dtype=np.int64)[::-1].copy()
    chosen = flip_boards(chosen_boards(RandomPlayer(9).chooser, boards, rolls, numbers, 6)).tolist()
    reference = random_chooser(9)
    for row, game in enumerate(numbers.tolist()):
        candidates = after_play[offsets[row] : offsets[row + 1]].tolist()
        assert chosen[row] == reference(boards[row].tolist(), candidates, game, 6)


def test_choices_do_not_depend_on_threads_or_batches() -> None:
    boards, rolls = turns()
    for chooser in (RandomPlayer(4).chooser, PubEval().chooser):
        numbers = np.arange(len(boards))
        expected = chosen_boards(chooser, boards, rolls)
        for count in (1, 2):
            with threads(count):
                assert np.array_equal(chosen_boards(chooser, boards, rolls, numbers), expected)
        late = slice(100, None)
        assert np.array_equal(chosen_boards(chooser, boards[late], rolls[late], numbers[late]), expected[late])


def test_only_play_is_chosen() -> None:
    board = turns()[0][0]
    assert choose(PubEval().chooser, board, board[None], 1, 0, 0, choice_scratch(PubEval().chooser)) == 0
    assert choose(RandomPlayer().chooser, board, board[None], 1, 0, 0, choice_scratch(RandomPlayer().chooser)) == 0


def test_invalid_positions_and_rolls_are_refused() -> None:
    chooser, boards, rolls = PubEval().chooser, *(values[:3] for values in turns())
    assert isinstance(PubEval(), KernelPlayer)
    with pytest.raises(InvalidPositionError, match="expected"):
        chosen_boards(chooser, 3 * boards, rolls)
    with pytest.raises(InvalidRollError, match="expected dice from 1 to 6"):
        chosen_boards(chooser, boards, rolls + 6)
    with pytest.raises(InvalidRollError, match=r"expected rolls as integers\[3, 2\]"):
        chosen_boards(chooser, boards, rolls[:2])


NETWORKS = (AnswerSource.RACE_NETWORK, AnswerSource.CRASHED_NETWORK, AnswerSource.CONTACT_NETWORK)


@cache
def sample_games() -> GamePositions:
    return random_game_positions(6, 4)


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_win_only_keeps_wins_and_drops_gammons(number: int) -> None:
    networks = random_networks(number)
    before, found = (evaluations(each, NO_TABLES, sample_games().boards) for each in (networks, win_only(networks)))
    assert np.array_equal(found.chances[:, 0], before.chances[:, 0])
    is_network = np.isin(found.sources, NETWORKS)
    assert found.chances[is_network, 1:].max() < 1e-6
    assert before.chances[is_network, 1:].max() > 0.01
    assert np.array_equal(found.chances[~is_network], before.chances[~is_network])  # how finished games ended


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_win_only_chooses_the_play_that_wins_most(number: int) -> None:
    chooser = network_chooser(random_networks(number, 30.0), NO_TABLES)
    rows = slice(0, 120)
    boards, rolls = sample_games().boards[rows], sample_games().rolls[rows]
    found = chosen_boards(win_only_chooser(chooser), boards, rolls)
    offsets, after_play = batch_plays(boards, rolls)
    after = flip_boards(after_play)
    lost = evaluations(chooser.networks, NO_TABLES, after).chances[:, 0]
    chosen = evaluations(chooser.networks, NO_TABLES, found).chances[:, 0]
    least = np.minimum.reduceat(lost, offsets[:-1])
    assert chosen == pytest.approx(least, abs=2e-6)
    assert (chosen_boards(chooser, boards, rolls) != found).any()  # for money it chooses differently


def test_bearoff_tables_answer_where_no_gammon_is_possible(player_root: object) -> None:
    tables = open_bearoff(bgdata.open_warehouse(str(player_root))).arrays
    boards = np.zeros((2, 26), np.int8)
    boards[0, 1:4], boards[0, 22:25] = (5, 5, 5), (-4, -5, -5)  # the player on roll may still lose a gammon
    boards[1, 1:4], boards[1, 22:25] = (4, 5, 5), (-4, -5, -5)
    chooser = network_chooser(random_networks(0), tables)
    found = [evaluations(each.networks, each.tables, boards) for each in (chooser, win_only_chooser(chooser))]
    assert found[0].sources.tolist() == [AnswerSource.COMBINED] * 2
    assert found[1].sources.tolist() == [AnswerSource.RACE_NETWORK, AnswerSource.COMBINED]
    assert np.array_equal(found[0].chances[1], found[1].chances[1])
