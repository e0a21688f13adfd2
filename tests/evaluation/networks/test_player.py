"""The player of networks: the best play by what it says itself of every position after one."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.choices import KernelPlayer
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.networks.player import NetworkPlayer, version_by
from bgdata.evaluation.player import PubEval
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.selfplay.games import play_games
from tests.evaluation.sample_networks import random_networks
from tests.random_games import random_game_positions


@cache
def turns() -> tuple[Boards, NDArray[np.int8]]:
    games = random_game_positions(10, seed=95)
    return games.boards, games.rolls


def test_choices_leave_the_opponent_least() -> None:
    networks = random_networks(0)
    offsets, after_play = batch_plays(*turns())
    next_boards = flip_boards(after_play)
    equities = cubeless_equities(evaluations(networks, NO_TABLES, next_boards).chances)
    best = [begin + equities[begin:end].argmin() for begin, end in pairwise(offsets)]
    chosen = NetworkPlayer(networks, NO_TABLES).choose_plays(*turns())
    assert np.array_equal(chosen, next_boards[best])
    assert len(best) > 500


def test_versions_of_players_follow_values_and_not_revisions() -> None:
    """The digests of games hold them: this is who played the default corpus."""
    tables = ["taught-400/r1-15aad32f", "6x6/r1-77285ba0", "6x15/r1-9d944484", "6x15/r1-f05b6197"]
    assert version_by(map(Path, tables)) == "7f3f62c5"
    assert version_by(Path(name.replace("/r1-", "/r2-")) for name in tables) == "7f3f62c5"
    assert version_by(Path(name.replace("77285ba0", "77285ba1")) for name in tables) != "7f3f62c5"


def test_it_plays_games_as_a_kernel_and_turn_by_turn() -> None:
    player = NetworkPlayer(random_networks(0), NO_TABLES)
    assert isinstance(player, KernelPlayer)
    assert player.label == "network"
    plain = Plain(player)
    assert not isinstance(plain, KernelPlayer)
    found = play_games(plain, PubEval(), 6, 1)
    for name, expected in play_games(player, PubEval(), 6, 1)._asdict().items():
        assert np.array_equal(getattr(found, name), expected)


class Plain:
    """A player that no kernel knows."""

    label = version = "plain"

    def __init__(self, player: NetworkPlayer) -> None:
        self.choose_plays = player.choose_plays


def test_versions_follow_the_weights() -> None:
    networks = random_networks(0)
    weights, biases = networks.weights.copy(), networks.biases.copy()
    weights[-1] += 1
    biases[-1] += 1
    changed = [
        networks,
        Networks(**{name: values.copy() for name, values in networks._asdict().items()}),
        networks._replace(weights=weights),
    ]
    versions = [NetworkPlayer(each, NO_TABLES).version for each in [*changed, networks._replace(biases=biases)]]
    assert versions[0] == versions[1]
    assert len(set(versions)) == 3
    assert all(len(version) == 8 for version in versions)
