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
    turn = 6
    games = np.arange(len(boards), dtype=np.int64)[::-1].copy()  # in any order
    offsets, after_play = batch_plays(boards, rolls)
    chosen = flip_boards(chosen_boards(RandomPlayer(9).chooser, boards, rolls, games, turn)).tolist()
    choose_randomly = random_chooser(9)
    for row, game in enumerate(games.tolist()):
        candidates = after_play[offsets[row] : offsets[row + 1]].tolist()
        assert chosen[row] == choose_randomly(boards[row].tolist(), candidates, game, turn)


@pytest.mark.parametrize("player", [RandomPlayer(4), PubEval()], ids=repr)
def test_choices_do_not_depend_on_threads_or_batches(player: KernelPlayer) -> None:
    boards, rolls = turns()
    games = np.arange(len(boards))
    expected = chosen_boards(player.chooser, boards, rolls)
    for count in (1, 2):
        with threads(count):
            assert np.array_equal(chosen_boards(player.chooser, boards, rolls, games), expected)
    later = chosen_boards(player.chooser, boards[100:], rolls[100:], games[100:])
    assert np.array_equal(later, expected[100:])


def test_invalid_positions_and_rolls_are_refused() -> None:
    chooser, boards, rolls = PubEval().chooser, *(values[:3] for values in turns())
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
    with_gammons = evaluations(networks, NO_TABLES, sample_games().boards)
    without = evaluations(win_only(networks), NO_TABLES, sample_games().boards)
    assert np.array_equal(without.chances[:, 0], with_gammons.chances[:, 0])
    is_network = np.isin(without.sources, NETWORKS)
    assert without.chances[is_network, 1:].max() < 1e-6
    assert with_gammons.chances[is_network, 1:].max() > 0.01
    assert np.array_equal(without.chances[~is_network], with_gammons.chances[~is_network]), "of finished games"


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_win_only_chooses_the_play_that_wins_most(number: int) -> None:
    chooser = network_chooser(random_networks(number, 30.0), NO_TABLES)
    boards, rolls = sample_games().boards[:120], sample_games().rolls[:120]
    chosen = chosen_boards(win_only_chooser(chooser), boards, rolls)
    assert (chosen != chosen_boards(chooser, boards, rolls)).any(), "for money it chooses differently"
    offsets, after_play = batch_plays(boards, rolls)
    opponent_wins = evaluations(chooser.networks, NO_TABLES, flip_boards(after_play)).chances[:, 0]
    fewest_wins = np.minimum.reduceat(opponent_wins, offsets[:-1])
    assert evaluations(chooser.networks, NO_TABLES, chosen).chances[:, 0] == pytest.approx(fewest_wins, abs=2e-6)


def test_win_only_uses_tables_only_where_no_gammon_is_possible(player_root: object) -> None:
    tables = open_bearoff(bgdata.open_warehouse(str(player_root))).arrays
    boards = np.zeros((2, 26), np.int8)
    boards[0, 1:4], boards[0, 22:25] = (5, 5, 5), (-4, -5, -5)  # the player on roll may still lose a gammon
    boards[1, 1:4], boards[1, 22:25] = (4, 5, 5), (-4, -5, -5)
    chooser = network_chooser(random_networks(0), tables)
    wins_chooser = win_only_chooser(chooser)
    with_gammons = evaluations(chooser.networks, chooser.tables, boards)
    without = evaluations(wins_chooser.networks, wins_chooser.tables, boards)
    assert with_gammons.sources.tolist() == [AnswerSource.COMBINED, AnswerSource.COMBINED]
    assert without.sources.tolist() == [AnswerSource.RACE_NETWORK, AnswerSource.COMBINED]
    assert np.array_equal(with_gammons.chances[1], without.chances[1])
