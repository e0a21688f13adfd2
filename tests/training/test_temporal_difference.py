"""Training from the first game on: it is deterministic, and gives a player with plausible chances."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.bearoff.tables import TwoSidedTable
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.evaluation.answers import evaluations, network_of
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import AnswerSource, cubeless_equities
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.player import PubEval, RandomPlayer
from bgdata.game.board_kernels import position_classes
from bgdata.game.codec import check_legal_boards
from bgdata.kernel import threads
from bgdata.selfplay.games import play_games, result_of
from bgdata.training.kinds.network import DATASET
from bgdata.training.networks import rounded_networks
from bgdata.training.temporal_difference import (
    MAX_TURNS,
    SAMPLE,
    BearoffSample,
    Record,
    Trainer,
    bearoff_sample,
    fill_targets,
    learning_order,
    new_record,
    play_record,
    result_against_pubeval,
)
from tests.evaluation.sample_networks import random_networks
from tests.reference.bearoff import layouts
from tests.reference.games import stream_bits
from tests.reference.networks import Chances, equity
from tests.reference.self_play import Board, Evaluator, lambda_returns, replay
from tests.training.conftest import TINY, trained


def test_start_chances_are_near_shares_of_outcomes(tiny: Trainer) -> None:
    """The trained network's chances at the start position are near the shares of outcomes in its own games, for the
    player who begins."""
    networks = rounded_networks(tiny.networks)
    record = new_record(1000)
    play_record(networks, NO_TABLES, 99, 0, record)
    shares = [(record.outcomes > least).mean() for least in (0, 1, 2)]
    shares += [(record.outcomes < most).mean() for most in (-1, -2)]
    chances = evaluations(networks, NO_TABLES, record.boards[0, :1]).chances[0]
    assert chances.tolist() == pytest.approx(shares, abs=0.08)


def test_training_games_are_played_to_the_end(tiny: Trainer) -> None:
    trainer = trained(replace(TINY, round_games=10), rounds=1)
    points = np.abs(trainer.record.outcomes)
    assert trainer.tally.tolist() == [10, *((points == won).sum() for won in (2, 3)), trainer.record.turns.sum()]
    assert (tiny.record.outcomes != 0).all()
    assert 40 < tiny.record.turns.mean() < 110
    assert 0.25 < (tiny.record.outcomes > 0).mean() < 0.75


def test_trained_network_beats_random_play(tiny: Trainer) -> None:
    player = NetworkPlayer(rounded_networks(tiny.networks), NO_TABLES)
    result = result_of(play_games(player, RandomPlayer(), 2000, seed=5))
    assert result.points_per_game > 1.0 + 5 * result.standard_error
    assert result.win_share > 0.9


@pytest.mark.parametrize("trace", [0.0, 0.7])
def test_networks_do_not_depend_on_threads(trace: float) -> None:
    recipe = replace(TINY, round_games=20, td_lambda=trace, hidden="4-3")
    results = []
    for count in (1, 2):
        with threads(count):
            trainer = trained(recipe, rounds=2)
        results.append([values.tobytes() for values in (*trainer.networks, *trainer.record)])
    assert results[0] == results[1]


@pytest.mark.parametrize("setting", [{"seed": 2}, {"td_lambda": 0.4}, {"learning_rate": 0.2}, {"round_games": 11}])
def test_every_setting_changes_the_networks(setting: dict[str, Any]) -> None:
    recipe = replace(TINY, round_games=10)
    changed = trained(replace(recipe, **setting), rounds=2)
    assert not np.array_equal(changed.networks.weights, trained(recipe, rounds=2).networks.weights)


def test_learning_order_is_by_network_and_random() -> None:
    """Every turn of every game occurs once, grouped by network, in the order of random bits within a network."""
    trainer = Trainer(replace(TINY, round_games=20), NO_TABLES)
    trainer.play_round(0)
    boards = trainer.record.boards.reshape(-1, 26)
    turns = trainer.record.turns.copy()
    turns[3] = 0
    rows, ends = learning_order(boards, turns, seed=6, number=4)
    expected = [game * MAX_TURNS + turn for game in range(20) for turn in range(turns[game])]
    networks = [network_of(number) for number in position_classes(boards[expected]).tolist()]
    keys = [(w, stream_bits(6, (-1 - 4) % 2**64, item) >> 2) for item, w in enumerate(networks)]
    assert rows.tolist() == [row for _, row in sorted(zip(keys, expected, strict=True))]
    assert ends.tolist() == [0, *np.cumsum([networks.count(network) for network in range(3)])]
    assert min(np.diff(ends)) > 0
    assert rows.tolist() != learning_order(boards, turns, seed=6, number=5)[0].tolist()


@pytest.mark.parametrize("place", ["weights", "biases"])
def test_infinite_weights_are_refused(place: str) -> None:
    trainer = Trainer(replace(TINY, round_games=2), NO_TABLES)
    getattr(trainer.networks, place)[0] = np.inf
    with pytest.raises(CheckFailedError, match="expected finite weights after 0 games"):
        trainer.play_round(0)


def test_invalid_recipe_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="expected round_games of at least 1, got 0"):
        Trainer(replace(TINY, round_games=0), NO_TABLES)


SEED, GAMES = 12, 40


def record_of(networks: Networks, games: int, first: int = 0, most_turns: int = MAX_TURNS) -> Record:
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
    """A record of some games of these networks."""
    return record_of(networks, GAMES)


def check_replay(networks: Networks, games: int, most_turns: int) -> Record:
    """Compare every recorded game with one that plain Python plays. Returns the record."""
    first_game = 3
    record = record_of(networks, games, first_game, most_turns)
    for game in range(games):
        expected = replay(evaluator(networks), SEED, first_game + game, most_turns)
        turns = record.turns[game]
        assert turns == len(expected.boards)
        assert record.boards[game, :turns].tolist() == expected.boards
        assert not record.boards[game, turns:].any()
        assert record.chances[game, 1 : turns + 1].tolist() == expected.chances
        assert record.outcomes[game] == expected.outcome
    return record


def test_games_equal_a_replay(networks: Networks) -> None:
    assert (check_replay(networks, 4, MAX_TURNS).outcomes != 0).all()


def test_cut_games_equal_a_replay() -> None:
    record = check_replay(random_networks(1), 3, 25)
    assert record.turns.tolist() == [25] * 3
    assert not record.outcomes.any()


def test_sources_of_recorded_chances_are_those_of_the_next_position(record: Record, networks: Networks) -> None:
    for game, turns in enumerate(record.turns.tolist()):
        answers = evaluations(networks, NO_TABLES, check_legal_boards(record.boards[game, :turns]))
        assert np.array_equal(record.sources[game, 1:turns], answers.sources[1:])
        assert record.sources[game, turns] == AnswerSource.OVER


def test_last_chances_of_a_game_are_its_outcome(record: Record) -> None:
    for game, turns in enumerate(record.turns.tolist()):
        equity_of_loser = cubeless_equities(record.chances[game, turns : turns + 1])[0]
        assert equity_of_loser < 0
        assert equity_of_loser == (-record.outcomes[game] if turns % 2 else record.outcomes[game])
    assert {-2, -1, 1, 2} <= set(record.outcomes.tolist())


def test_records_do_not_depend_on_threads_and_batches(record: Record, networks: Networks) -> None:
    for count in (1, 2):
        with threads(count):
            repeated = record_of(networks, GAMES)
            for name, expected in record._asdict().items():
                assert getattr(repeated, name).tobytes() == expected.tobytes()
    five_games = record_of(networks, 5, first=7)
    for name, expected in record._asdict().items():
        assert np.array_equal(getattr(five_games, name), expected[7:12])


@pytest.mark.parametrize("trace", [0.0, 0.3, 0.7, 1.0])
def test_targets_equal_lambda_returns(trace: float) -> None:
    """A table covers one position in ten, and the last game is cut."""
    generator = np.random.default_rng(5)
    turns = np.array([1, 2, 3, 8, 25, 25], np.int32)
    chances = generator.random((len(turns), 26, 5), np.float32)
    is_exact = generator.random((len(turns), 26)) < 0.1
    exact_sources = generator.integers(AnswerSource.EXACT, AnswerSource.COMBINED + 1, is_exact.shape)
    sources = np.where(is_exact, exact_sources, AnswerSource.RACE_NETWORK)
    for game, last in enumerate(turns.tolist()[:-1]):
        chances[game, last] = [0, 0, 0, 1, 0]
        sources[game, last] = AnswerSource.OVER
        is_exact[game, last] = False
    assert is_exact[3:, 1:8].any()
    record = Record(np.zeros((6, 25, 26), np.int8), chances, sources.astype(np.int8), turns, np.zeros(6, np.int8))
    untouched = 7
    targets = np.full((6, 25, 5), untouched, np.float32)
    fill_targets(record, np.float32(trace), targets)
    for game, last in enumerate(turns.tolist()):
        expected = lambda_returns(chances[game, : last + 1].tolist(), is_exact[game], trace)
        assert targets[game, :last] == pytest.approx(np.array(expected), abs=1e-5)
        assert (targets[game, last:] == untouched).all()


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> TwoSidedTable:
    """A two-sided table of four points and five checkers."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("curve"))
    return TwoSidedTable(warehouse.build("bearoff_two_sided", TwoSidedParameters(4, 5)))


@pytest.fixture(scope="module")
def sample(table: TwoSidedTable) -> BearoffSample:
    return bearoff_sample(table, seed=3)


def test_bearoff_sample_is_random_and_exact(table: TwoSidedTable, sample: BearoffSample) -> None:
    """The sample consists of random pairs of layouts that are not empty, by the documented generator, with the equities
    of the table."""
    all_layouts = layouts(4, 5)
    for row, (board, exact_equity) in enumerate(zip(sample.boards.tolist(), sample.equities.tolist(), strict=True)):
        on_roll, opponent = (
            1 + ((stream_bits(3, 0, 2 * row + side) >> 32) * (len(all_layouts) - 1) >> 32) for side in range(2)
        )
        assert board[1:5] == list(all_layouts[on_roll])
        assert [-count for count in board[24:20:-1]] == list(all_layouts[opponent])
        assert exact_equity == table.probe(on_roll, opponent).cubeless
    assert len(sample.boards) == SAMPLE
    assert len(np.unique(check_legal_boards(sample.boards), axis=0)) > 0.9 * SAMPLE
    assert not sample.boards[:, [0, *range(5, 21), 25]].any()
    assert not np.array_equal(bearoff_sample(table, seed=4).boards, sample.boards)


def test_bearoff_error_is_of_the_race_network(sample: BearoffSample) -> None:
    """The bearoff error is that of the race network without tables; a network that is always right has none."""
    networks = random_networks(0)
    answers = evaluations(networks, NO_TABLES, sample.boards)
    assert set(answers.sources.tolist()) == {AnswerSource.RACE_NETWORK}
    equities = [equity(chances) for chances in answers.chances.tolist()]
    expected = (
        sum(abs(value - exact_sample) for value, exact_sample in zip(equities, sample.equities.tolist(), strict=True))
        / SAMPLE
    )
    assert sample.error_of(networks) == pytest.approx(expected, abs=1e-6)
    assert 0.1 < expected < 2
    exact_sample = BearoffSample(sample.boards, np.array(equities, np.float32))
    assert exact_sample.error_of(networks) < 1e-6


def test_curve_row_counts_games_since_the_last_row(tiny: Trainer, sample: BearoffSample) -> None:
    """A row of the learning curve has the shares of games since the last row, and results of games against PubEval."""
    tiny.tally[:] = 8, 3, 2, 920
    row = tiny.curve_row(1000, sample, 60)
    networks = rounded_networks(tiny.networks)
    games = result_of(play_games(NetworkPlayer(networks, NO_TABLES), PubEval(), 60, seed=0))
    assert dict(zip((column.name for column in DATASET.columns), row, strict=True)) == {
        "games": 1000,
        "rate": tiny.recipe.learning_rate_at(1000),
        "turns_per_game": 115,
        "gammon_share": 3 / 8,
        "backgammon_share": 2 / 8,
        "points_per_game": games.points_per_game,
        "standard_error": games.standard_error,
        "bearoff_error": sample.error_of(networks),
    }
    assert result_against_pubeval(networks, NO_TABLES, 60) == games
    assert not tiny.tally.any()
