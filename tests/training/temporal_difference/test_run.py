"""Training from the first game on: deterministic, and to a player whose numbers are sane."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.evaluation.answers import evaluations, network_of
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.player import RandomPlayer
from bgdata.game.board_kernels import position_classes
from bgdata.game.position import START
from bgdata.kernel import threads
from bgdata.selfplay.games import play_games
from bgdata.selfplay.series import result_of
from bgdata.training.networks import rounded_networks
from bgdata.training.temporal_difference.run import MOST_TURNS, Trainer, learning_order, new_record, play_record
from tests.reference.games import stream_bits
from tests.training.conftest import TINY, trained


def test_the_start_position_is_about_even(tiny: Trainer) -> None:
    """To see the value after a play with the wrong side on roll lets chances run away to 0 or 1."""
    board = np.array([START.board], np.int8)
    chances = evaluations(rounded_networks(tiny.networks), NO_TABLES, board).chances
    assert 0.45 < chances[0, 0] < 0.60
    assert 0.1 < chances[0, 1] < 0.3
    assert 0.1 < chances[0, 3] < 0.3
    assert abs(cubeless_equities(chances)[0]) < 0.2


def test_chances_are_what_happens(tiny: Trainer) -> None:
    """Those of the start position against the outcomes of games, seen by whoever begins."""
    networks, record = rounded_networks(tiny.networks), new_record(1000)
    play_record(networks, NO_TABLES, 99, 0, record)
    shares = [(record.outcomes > least).mean() for least in (0, 1, 2)]
    shares += [(record.outcomes < most).mean() for most in (-1, -2)]
    chances = evaluations(networks, NO_TABLES, record.boards[0, :1]).chances[0]
    assert chances.tolist() == pytest.approx(shares, abs=0.08)


def test_games_come_to_an_end(tiny: Trainer) -> None:
    assert (tiny.record.outcomes != 0).all()
    assert 40 < tiny.record.turns.mean() < 110
    assert 0.25 < (tiny.record.outcomes > 0).mean() < 0.75


def test_it_beats_random_play(tiny: Trainer) -> None:
    player = NetworkPlayer(rounded_networks(tiny.networks), NO_TABLES)
    result = result_of(play_games(player, RandomPlayer(), 2000, seed=5))
    assert result.points_per_game > 1.0 + 5 * result.standard_error
    assert result.win_share > 0.9


@pytest.mark.parametrize("trace", [0.0, 0.7])
def test_same_networks_on_any_number_of_threads(trace: float) -> None:
    recipe, found = replace(TINY, round_games=20, td_lambda=trace, hidden="4-3"), []
    for count in (1, 2):
        with threads(count):
            trainer = trained(recipe, rounds=2)
        found.append([values.tobytes() for values in (*trainer.networks, *trainer.record)])
    assert found[0] == found[1]


def test_a_run_goes_on_where_it_stopped() -> None:
    """The weights and the number of the round are all that it needs."""
    recipe = replace(TINY, round_games=10, learning_rate=0.3)
    whole, second = trained(recipe, rounds=3), Trainer(recipe, NO_TABLES)
    first = trained(recipe, rounds=2)
    second.networks.weights[:], second.networks.biases[:] = first.networks.weights, first.networks.biases
    second.play_round(2)
    assert second.networks.weights.tobytes() == whole.networks.weights.tobytes()
    assert second.networks.biases.tobytes() == whole.networks.biases.tobytes()


def test_every_number_of_the_recipe_matters() -> None:
    base = replace(TINY, round_games=10)
    changes: list[dict[str, Any]] = [{"seed": 2}, {"td_lambda": 0.4}, {"learning_rate": 0.2}, {"round_games": 11}]
    weights = {trained(replace(base, **change), rounds=2).networks.weights.tobytes() for change in [{}, *changes]}
    assert len(weights) == 1 + len(changes)


def test_learning_order() -> None:
    """Every turn of every game once, those of a network together, sorted by 62 random bits of their place."""
    trainer = Trainer(replace(TINY, round_games=20), NO_TABLES)
    trainer.play_round(0)
    boards, turns = trainer.record.boards.reshape(-1, 26), trainer.record.turns.copy()
    turns[3] = 0
    rows, ends = learning_order(boards, turns, seed=6, number=4)
    expected = [game * MOST_TURNS + turn for game in range(20) for turn in range(turns[game])]
    which = [network_of(number) for number in position_classes(boards[expected]).tolist()]
    keys = [(w, stream_bits(6, (-1 - 4) % 2**64, item) >> 2) for item, w in enumerate(which)]
    assert rows.tolist() == [row for _, row in sorted(zip(keys, expected, strict=True))]
    assert ends.tolist() == [0, *np.cumsum([which.count(network) for network in range(3)])]
    assert min(np.diff(ends)) > 0
    assert rows.tolist() != learning_order(boards, turns, seed=6, number=5)[0].tolist()


def test_rates_that_are_too_high_end_in_one_clear_line() -> None:
    trainer = Trainer(replace(TINY, round_games=20), NO_TABLES)
    trainer.recipe = replace(
        trainer.recipe, learning_rate=1e38, final_learning_rate=1e38
    )  # `check` allows no more than 1
    message = r"^expected finite weights after 0 games, found others; try a learning rate below 1e\+38$"
    with pytest.raises(CheckFailedError, match=message):
        trainer.play_round(0)


@pytest.mark.parametrize("place", ["weights", "biases"])
def test_infinite_weights_are_noticed(place: str) -> None:
    trainer = Trainer(replace(TINY, round_games=2), NO_TABLES)
    getattr(trainer.networks, place)[0] = np.inf
    with pytest.raises(CheckFailedError, match="expected finite weights after 0 games"):
        trainer.play_round(0)


def test_a_recipe_that_cannot_be_followed_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="expected round_games of at least 1, got 0"):
        Trainer(replace(TINY, round_games=0), NO_TABLES)
