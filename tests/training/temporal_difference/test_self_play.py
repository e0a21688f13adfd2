"""Recorded games and what is learned from them, against a replay in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.evaluator import AnswerSource
from bgdata.evaluation.networks.inference import Networks
from bgdata.game.codec import check_legal_boards
from bgdata.game.position import START
from bgdata.kernel import threads
from bgdata.training.networks import rounded_networks
from bgdata.training.temporal_difference.run import MOST_TURNS, Record, Trainer, new_record, play_record, targets_of
from tests.evaluation.sample_networks import random_networks
from tests.reference.networks import Chances
from tests.reference.self_play import Board, Evaluator, lambda_returns, replay

SEED, GAMES = 12, 40


def record_of(networks: Networks, games: int, first: int = 0, most_turns: int = MOST_TURNS) -> Record:
    record = new_record(games)
    record = Record(
        np.ascontiguousarray(record.boards[:, :most_turns]),
        np.ascontiguousarray(record.chances[:, : most_turns + 1]),
        np.ascontiguousarray(record.sources[:, : most_turns + 1]),
        record.turns,
        record.outcomes,
    )
    play_record(networks, NO_TABLES, SEED, first, record)
    return record


def evaluator(networks: Networks) -> Evaluator:
    def evaluate(boards: Sequence[Board]) -> tuple[list[Chances], list[float]]:
        chances = evaluations(networks, NO_TABLES, np.array(boards, np.int8)).chances
        return chances.tolist(), cubeless_equities(chances).tolist()

    return evaluate


@pytest.fixture(scope="module")
def networks(tiny: Trainer) -> Networks:
    """Networks whose games come to an end."""
    return rounded_networks(tiny.networks)


@pytest.fixture(scope="module")
def record(networks: Networks) -> Record:
    """Some of these games."""
    return record_of(networks, GAMES)


def check_replay(networks: Networks, games: int, most_turns: int) -> Record:
    """Every game as plain Python plays it."""
    record, first = record_of(networks, games, first=3, most_turns=most_turns), 3
    for game in range(games):
        expected = replay(evaluator(networks), SEED, first + game, most_turns)
        turns = record.turns[game]
        assert turns == len(expected.boards)
        assert record.boards[game, :turns].tolist() == expected.boards
        assert record.chances[game, 1 : turns + 1].tolist() == expected.chances
        assert record.outcomes[game] == expected.outcome
    return record


def test_replay(networks: Networks) -> None:
    assert (check_replay(networks, 4, MOST_TURNS).outcomes != 0).all()


def test_replay_of_games_that_are_cut() -> None:
    record = check_replay(random_networks(1), 3, 25)
    assert record.turns.tolist() == [25] * 3
    assert not record.outcomes.any()


def test_record(record: Record, networks: Networks) -> None:
    """Every value is that of the player on roll after the play, the opponent of whoever chose it."""
    for game, turns in enumerate(record.turns.tolist()):
        boards = check_legal_boards(record.boards[game, :turns])
        found = evaluations(networks, NO_TABLES, boards)
        assert boards[0].tolist() == list(START.board)
        assert np.array_equal(found.chances[1:], record.chances[game, 1:turns])
        assert np.array_equal(found.sources[1:], record.sources[game, 1:turns])
        assert record.sources[game, turns] == AnswerSource.OVER
        worth = cubeless_equities(record.chances[game, turns : turns + 1])[0]  # to the opponent of who played last
        assert worth == (-record.outcomes[game] if turns % 2 else record.outcomes[game])
        assert worth < 0
        assert not record.boards[game, turns:].any()
    assert 30 < record.turns.mean() < 100
    assert {-2, -1, 1, 2} <= set(record.outcomes.tolist())


def test_any_threads_and_batches(record: Record, networks: Networks) -> None:
    for count in (1, 2):
        with threads(count):
            again = record_of(networks, GAMES)
            for name, expected in record._asdict().items():
                assert getattr(again, name).tobytes() == expected.tobytes()
    some = record_of(networks, 5, first=7)
    for name, expected in record._asdict().items():
        assert np.array_equal(getattr(some, name), expected[7:12])


@pytest.mark.parametrize("trace", [0.0, 0.3, 0.7, 1.0])
def test_lambda_returns(trace: float) -> None:
    """By brute force from random values, with a table that knows one position in ten; one game is cut."""
    generator = np.random.default_rng(5)
    turns = np.array([1, 2, 3, 8, 25, 25], np.int32)
    chances = generator.random((len(turns), 26, 5), np.float32)
    known = generator.random((len(turns), 26)) < 0.1
    sources = np.where(
        known,
        generator.integers(AnswerSource.EXACT, AnswerSource.COMBINED + 1, known.shape),
        AnswerSource.RACE_NETWORK,
    )
    for game, last in enumerate(turns.tolist()[:-1]):
        chances[game, last], sources[game, last] = [0, 0, 0, 1, 0], AnswerSource.OVER
        known[game, last] = False
    record = Record(np.zeros((6, 25, 26), np.int8), chances, sources.astype(np.int8), turns, np.zeros(6, np.int8))
    targets = np.full((6, 25, 5), 7, np.float32)
    targets_of(record, trace, targets)
    for game, last in enumerate(turns.tolist()):
        values = chances[game, : last + 1].tolist()
        assert targets[game, :last] == pytest.approx(np.array(lambda_returns(values, known[game], trace)), abs=1e-5)
        assert (targets[game, last:] == 7).all()
    assert known[3:, 1:8].any()
