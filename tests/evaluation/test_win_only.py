"""Play for wins alone: the same chances to win, no gammons, and the play that wins most."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import bgdata
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff import open_bearoff
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import AnswerSource
from bgdata.evaluation.choices import chosen_boards, network_chooser, win_only, win_only_chooser
from bgdata.game.codec import flip_boards
from bgdata.game.play_kernels import batch_plays
from tests.evaluation.sample_networks import SHAPES, random_networks
from tests.random_games import GamePositions, random_game_positions

NETWORKS = (AnswerSource.RACE_NETWORK, AnswerSource.CRASHED_NETWORK, AnswerSource.CONTACT_NETWORK)


@cache
def sample_games() -> GamePositions:
    return random_game_positions(6, 4)


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_chances_to_win_stay_and_gammons_go(number: int) -> None:
    networks = random_networks(number)
    before, found = (evaluations(each, NO_TABLES, sample_games().boards) for each in (networks, win_only(networks)))
    assert np.array_equal(found.chances[:, 0], before.chances[:, 0])
    is_network = np.isin(found.sources, NETWORKS)
    assert found.chances[is_network, 1:].max() < 1e-6
    assert before.chances[is_network, 1:].max() > 0.01
    assert np.array_equal(found.chances[~is_network], before.chances[~is_network])  # how finished games ended


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_it_chooses_the_play_that_wins_most(number: int) -> None:
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
    assert (chosen_boards(chooser, boards, rolls) != found).any()  # for money it plays otherwise


def test_the_network_stays_as_it_was() -> None:
    networks = random_networks(0)
    weights, biases = networks.weights.copy(), networks.biases.copy()
    win_only(networks)
    assert np.array_equal(networks.weights, weights)
    assert np.array_equal(networks.biases, biases)


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
