"""Games with the cube between any two players: a network against itself plays the games of the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.errors import UsageError
from bgdata.evaluation.chances import AnswerSource, Evaluations, turned_chances
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.player import PubEval, open_named_player
from bgdata.game.codec import Boards
from bgdata.selfplay.series import SIDES, CubefulResults, CubefulRules, cubeful_results, play_cubeful
from tests.equity.samples import published_met
from tests.selfplay.test_cubeful_games import points_of_first


@pytest.fixture(scope="module")
def network(network_root: Path) -> NetworkPlayer:
    """The network of the package, with small tables."""
    player = open_named_player("network", 0, bgdata.open_warehouse(network_root))
    assert isinstance(player, NetworkPlayer)
    return player


def assert_same_games(results: CubefulResults, of_kernel: CubefulResults) -> None:
    """Compare games except for turns, which are rolls here, and rolls and cube actions in the kernel."""
    assert results.offsets.tolist() == of_kernel.offsets.tolist()
    for name in ("score_0", "score_1", "is_crawford", "winner", "points", "cube_value", "way"):
        assert results.column(name).tolist() == of_kernel.column(name).tolist(), name


@pytest.mark.parametrize(("length", "is_jacoby"), [(0, False), (0, True), (5, False)])
def test_games_of_a_network_equal_the_kernel(network: NetworkPlayer, length: int, is_jacoby: bool) -> None:
    rules = CubefulRules(length, is_jacoby, published_met() if length else None)
    expected = cubeful_results(network.chooser, SIDES, rules, 12, 5, 2, with_luck=True)
    results = play_cubeful((network, network), rules, 12, 5, 2, network.chooser)
    assert_same_games(results, expected)
    assert results.lucks == pytest.approx(expected.lucks, abs=1e-12)
    assert len(set(results.column("cube_value").tolist())) > 1


@pytest.mark.parametrize(("ply", "length", "count"), [(1, 0, 6), (1, 3, 2), (2, 0, 6)])
def test_games_of_a_lookahead_player_equal_the_kernel(
    network: NetworkPlayer, network_root: Path, ply: int, length: int, count: int
) -> None:
    lookahead_player = open_named_player("network", ply, bgdata.open_warehouse(network_root))
    rules = CubefulRules(length, met=published_met() if length else None)
    results = play_cubeful((lookahead_player, lookahead_player), rules, count, 5)
    assert_same_games(results, cubeful_results(network.chooser, SIDES, rules, count, 5, ply=ply))
    at_0_ply = play_cubeful((network, network), rules, count, 5)
    assert results.games.tobytes() != at_0_ply.games.tobytes()


def test_matches_do_not_depend_on_batches(network: NetworkPlayer) -> None:
    players = network, open_named_player("network/contact-160", 0, bgdata.open_warehouse("nowhere"))
    rules = CubefulRules(3, met=published_met())
    results = play_cubeful(players, rules, 6, 1, 0, network.chooser)
    batches = [play_cubeful(players, rules, 2, 1, first, network.chooser) for first in (0, 2, 4)]
    assert results.lucks.tobytes() == np.concatenate([batch.lucks for batch in batches]).tobytes()
    assert results.games.tobytes() == np.concatenate([batch.games for batch in batches]).tobytes()


def test_pairs_of_equal_players_score_zero(network: NetworkPlayer) -> None:
    results = play_cubeful((network, network), CubefulRules(), 10, 3)
    assert points_of_first(results).reshape(-1, 2).sum(axis=1).tolist() == [0] * 5
    assert results.lucks.tolist() == [0.0] * 10


def test_better_player_wins_from_both_seats(network: NetworkPlayer) -> None:
    """The better player wins from both seats against one whose chances are swapped: that one takes all doubles, and
    doubles when it is losing."""
    results = play_cubeful((SwappedEvaluator(network), network), CubefulRules(), 20, 3)
    assert points_of_first(results).mean() < -0.5
    assert (results.column("way") > 0).all()  # nobody passes


class SwappedEvaluator:
    """A player that plays as another one, and evaluates as if the opponent were on roll."""

    label = "backwards"
    version = "1"
    accuracy: Mapping[AnswerSource, str] = MappingProxyType({})

    def __init__(self, player: NetworkPlayer) -> None:
        self.player = player

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """The plays of the other player."""
        return self.player.choose_plays(boards, rolls)

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """The other player's chances of the opponent."""
        evaluations = self.player.evaluate_many(boards)
        return evaluations._replace(chances=turned_chances(evaluations.chances))


def test_invalid_players_and_rules_are_refused(network: NetworkPlayer) -> None:
    with pytest.raises(UsageError, match="expected a player that evaluates positions, got pubeval"):
        play_cubeful((PubEval(), network), CubefulRules(), 2, 1)
    with pytest.raises(UsageError, match="expected a match equity table for a match, got none"):
        play_cubeful((network, network), CubefulRules(3), 2, 1)
    with pytest.raises(UsageError, match="expected a player with networks to estimate luck"):
        play_cubeful((network, network), CubefulRules(), 2, 1, 0, PubEval().chooser)
    with pytest.raises(UsageError, match=r"expected numbers from 0 to 2\^63 - 1"):
        play_cubeful((network, network), CubefulRules(), 2, -1)
