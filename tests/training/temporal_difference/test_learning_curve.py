"""Rows of the learning curve against what they are about."""

from __future__ import annotations

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.bearoff.tables import TwoSidedTable
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.evaluator import AnswerSource
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.pubeval import PubEval
from bgdata.game.codec import check_legal_boards
from bgdata.selfplay.games import play_games
from bgdata.selfplay.series import result_of
from bgdata.training.networks import rounded_networks
from bgdata.training.temporal_difference.run import (
    COLUMNS,
    SAMPLE,
    BearoffSample,
    Tally,
    Trainer,
    bearoff_sample,
    curve_row,
    new_record,
    result_against_pubeval,
)
from tests.evaluation.sample_networks import random_networks
from tests.reference.bearoff import layouts
from tests.reference.games import stream_bits
from tests.reference.networks import equity


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> TwoSidedTable:
    """Four points, five checkers."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("curve"))
    return TwoSidedTable(warehouse.build("bearoff_two_sided", TwoSidedParameters(4, 5)))


@pytest.fixture(scope="module")
def sample(table: TwoSidedTable) -> BearoffSample:
    return bearoff_sample(table, seed=3)


def test_sample(table: TwoSidedTable, sample: BearoffSample) -> None:
    """Random pairs of layouts that are not empty, by the documented generator, with the equities of the table."""
    every = layouts(4, 5)
    for row, (board, exact) in enumerate(zip(sample.boards.tolist(), sample.equities.tolist(), strict=True)):
        indexes = [1 + ((stream_bits(3, 0, 2 * row + side) >> 32) * (len(every) - 1) >> 32) for side in range(2)]
        assert board[1:5] == list(every[indexes[0]])
        assert [-count for count in board[24:20:-1]] == list(every[indexes[1]])
        assert exact == table.probe(*indexes).cubeless
    assert len(sample.boards) == SAMPLE
    assert len(np.unique(check_legal_boards(sample.boards), axis=0)) > 0.9 * SAMPLE
    assert not sample.boards[:, [0, *range(5, 21), 25]].any()
    assert not np.array_equal(bearoff_sample(table, seed=4).boards, sample.boards)


def test_bearoff_error(sample: BearoffSample) -> None:
    """The race network alone, whatever tables there are; 0 for one that is always right."""
    networks = random_networks(0)
    found = evaluations(networks, NO_TABLES, sample.boards)
    assert set(found.sources.tolist()) == {AnswerSource.RACE_NETWORK}
    equities = [equity(chances) for chances in found.chances.tolist()]
    expected = sum(abs(value - right) for value, right in zip(equities, sample.equities.tolist(), strict=True)) / SAMPLE
    assert sample.error_of(networks) == pytest.approx(expected, abs=1e-6)
    assert 0.1 < expected < 2
    right = BearoffSample(sample.boards, np.array(equities, np.float32))
    assert right.error_of(networks) < 1e-6


def test_tally() -> None:
    tally, record = Tally(np.zeros(4, np.int64)), new_record(4)
    record.outcomes[:], record.turns[:] = [1, -2, 3, 0], [10, 20, 30, 400]  # the last one was cut
    tally.add(record)
    record.outcomes[:] = [-1, 2, -2, -3]
    tally.add(record)
    assert tally.counts.tolist() == [8, 3, 2, 920]
    assert tally.take() == [115, 3 / 8, 2 / 8]
    assert tally.counts.tolist() == [0, 0, 0, 0]


def test_row(tiny: Trainer, sample: BearoffSample) -> None:
    tally = Tally(np.zeros(4, np.int64))
    tally.add(tiny.record)
    row = curve_row(tiny, 1000, tally, sample, 60)
    networks = rounded_networks(tiny.networks)
    result = result_of(play_games(NetworkPlayer(networks, NO_TABLES), PubEval(), 60, seed=0))
    points = np.abs(tiny.record.outcomes)
    assert dict(zip(COLUMNS, row, strict=True)) == {
        "games": 1000,
        "rate": tiny.recipe.rate_after(1000),
        "turns_per_game": tiny.record.turns.mean(),
        "gammon_share": (points == 2).mean(),
        "backgammon_share": (points == 3).mean(),
        "points_per_game": result.points_per_game,
        "standard_error": result.standard_error,
        "bearoff_error": sample.error_of(networks),
    }
    assert result_against_pubeval(networks, NO_TABLES, 60) == result
    assert not tally.counts.any()
