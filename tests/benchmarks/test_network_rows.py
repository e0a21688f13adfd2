"""Tests of the rows of the network: installed and missing peers, and likely plays."""

import numpy as np
import pytest

from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.lookahead import LIKELY
from bgdata.evaluation.roll_values import evaluations_ahead, likely_plays
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from tests.benchmarks import network_rows
from tests.benchmarks.network_rows import Peer, network_row, rate_text
from tests.benchmarks.player_workloads import likely_and_all, mixed_positions, rms
from tests.evaluation.sample_networks import random_player

SECONDS = {"ours": 0.001, "slow": 0.1, "fast": 0.02}


@pytest.mark.parametrize(
    ("there", "peer", "ratio"),
    [
        ({"a", "b"}, "a 10/s, b 50/s", "20x"),  # the fastest
        ({"a"}, "a 10/s, b 7/s elsewhere", "100x"),
        (set(), "a 3/s elsewhere, b 7/s elsewhere", "-"),
    ],
)
def test_installed_peers_are_measured(monkeypatch: pytest.MonkeyPatch, there: set[str], peer: str, ratio: str) -> None:
    monkeypatch.setattr(network_rows, "player_seconds", lambda workload: SECONDS[workload])
    monkeypatch.setattr(network_rows, "find_spec", lambda _name: None)
    monkeypatch.setattr(network_rows, "find_gnubg_tool", lambda name: name if name in there else None)
    peers = Peer("a", "3/s", ("slow",)), Peer("b", "7/s", ("fast",))
    found = network_row("work", "goal", rate_text, ("ours",), *peers)
    assert found == ("work", "1,000/s", "goal", peer, ratio)


def test_mixed_positions_are_distinct_and_varied() -> None:
    boards, equities = mixed_positions()
    assert len(np.unique(boards, axis=0)) == len(boards) == len(equities) > 3000
    assert len(set(position_classes(boards[:300]).tolist())) >= 4
    races = position_classes(boards) <= PositionClass.RACE
    own, other = np.maximum(boards[:, 1:25], 0), np.maximum(-boards[:, 24:0:-1], 0)
    leads = (other - own).astype(int) @ np.arange(1, 25)  # pips
    is_clear = races & (np.abs(leads) > 30)
    assert is_clear.sum() > 100
    assert np.array_equal(equities[is_clear] > 0, leads[is_clear] > 0)


def test_likely_plays_give_other_values() -> None:
    boards = mixed_positions()[0][:12]
    found = likely_and_all(random_player(0), boards)
    assert found.shape == (2, 2, 12)
    for row, most in enumerate((LIKELY, 0)):
        chances = evaluations_ahead(random_player(0).networks, NO_TABLES, boards, 1, likely_plays(most)).chances
        assert np.array_equal(found[0, row], cubeless_equities(chances))
    assert (found[0] != found[1]).any()
    assert (found[:, 0] != found[:, 1]).any()


def test_rms_is_over_the_last_axis() -> None:
    assert rms(np.array([[[3.0, 4.0, 0.0, 0.0], [1.0, -1.0, 1.0, -1.0]]])) == pytest.approx([2.5, 1.0])
