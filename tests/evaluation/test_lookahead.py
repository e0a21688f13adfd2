"""Looking ahead against plain recursion in fractions, and against tables that it must reproduce."""

from collections.abc import Mapping
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.layouts import all_layouts
from bgdata.errors import InvalidPositionError, InvalidRollError
from bgdata.evaluation import lookahead
from bgdata.evaluation.bearoff import map_tables
from bgdata.evaluation.chances import AnswerSource, Evaluations, Evaluator, cubeless_equities
from bgdata.evaluation.lookahead import (
    FILTERS,
    PlayFilter,
    evaluate_ahead,
    first_largest_in_group,
    largest_in_group,
    rank_all,
)
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.game.codec import Boards
from bgdata.game.position import START
from bgdata.kernel import threads
from tests.evaluation.network_versions import random_networks
from tests.evaluation.sample_evaluators import OnRollWins, Scrambled, judge
from tests.random_games import GamePositions, random_game_positions
from tests.reference.lookahead import chances_ahead, ranked, turned

ROUNDING = 3e-7  # rounding of chances


@cache
def sample_games() -> GamePositions:
    return random_game_positions(30, seed=23)


def few_checkers(count: int, seed: int) -> Boards:
    """Positions with one to three checkers a side, anywhere. They have few plays, so the reference can look far
    ahead."""
    generator = np.random.default_rng(seed)
    boards = np.zeros((count, 26), np.int8)
    for board in boards:
        points = generator.permutation(np.arange(1, 25))
        n_points, n_opponent_points = generator.integers(1, 3, 2)
        board[points[:n_points]] += generator.integers(1, 3)
        board[points[n_points : n_points + n_opponent_points]] -= 1
        board[[0, 25]] = generator.integers(0, 2, 2)
    return boards


def as_floats(values: object) -> np.ndarray:
    return np.array(values, dtype=object).astype(np.float64)


def test_one_ply_is_the_mean_of_the_best_replies() -> None:
    boards = np.concatenate([sample_games().boards[::120], few_checkers(15, 1)])
    evaluations = evaluate_ahead(Scrambled(), boards, 1)
    expected = [chances_ahead(judge, tuple(board), 1) for board in boards.tolist()]
    assert np.abs(evaluations.chances - as_floats(expected)).max() < ROUNDING
    assert evaluations.chances.dtype == np.float32
    static = Scrambled().evaluate_many(boards)
    assert (evaluations.sources == static.sources).all()
    is_final = static.sources == AnswerSource.EXACT
    assert 0 < is_final.sum() < len(boards)
    assert (evaluations.chances[is_final] == static.chances[is_final]).all()


def test_two_plies_are_one_ply_after_the_best_replies() -> None:
    boards = few_checkers(4, 2)
    chances = evaluate_ahead(Scrambled(), boards, 2).chances
    expected = [chances_ahead(judge, tuple(board), 2) for board in boards.tolist()]
    assert np.abs(chances - as_floats(expected)).max() < ROUNDING
    differs = (chances != evaluate_ahead(Scrambled(), boards, 1).chances).any(axis=1)
    assert differs.sum() >= 3


NARROW = (PlayFilter(3, 0.5), PlayFilter(2, 0.25))


@pytest.mark.parametrize(("ply", "filters"), [(0, NARROW), (1, FILTERS), (1, NARROW), (2, NARROW)])
def test_ranked_plays_match_the_reference(ply: int, filters: tuple[PlayFilter, ...]) -> None:
    boards = few_checkers(5, 3)
    if ply < 2:  # the reference is slow with many checkers
        boards = np.concatenate([sample_games().boards[::400], boards])
    rolls = np.array([(1 + row % 6, 1 + row // 3 % 6) for row in range(len(boards))])
    ranking = rank_all(partial(evaluate_ahead, Scrambled()), boards, rolls, ply, filters)
    plies = set()
    for row, board in enumerate(boards.tolist()):
        expected = ranked(judge, tuple(board), tuple(rolls[row].tolist()), ply, filters)
        plays = slice(ranking.offsets[row], ranking.offsets[row + 1])
        assert ranking.boards[plays].tolist() == [list(play.board) for play in expected]
        assert ranking.plies[plays].tolist() == [play.ply for play in expected]
        chances = as_floats([turned(play.chances) for play in expected])
        assert np.abs(ranking.chances[plays] - chances).max() < ROUNDING
        losses = as_floats([play.loss for play in expected])
        assert np.abs(ranking.losses[plays] - losses).max() < 10 * ROUNDING
        best = max(expected, key=lambda play: (play.ply, play.value))
        assert ranking.boards[ranking.best()[row]].tolist() == list(best.board)
        plies |= {play.ply for play in expected}
    assert plies == set(range(ply + 1))
    assert ranking.values == pytest.approx(-cubeless_equities(ranking.chances))


def test_last_filter_serves_all_deeper_plies() -> None:
    boards, rolls = few_checkers(3, 4), np.tile([[5, 3]], (3, 1))
    evaluate = partial(evaluate_ahead, OnRollWins())
    one_filter = rank_all(evaluate, boards, rolls, 2, (PlayFilter(2, 1.0),))
    two_filters = rank_all(evaluate, boards, rolls, 2, (PlayFilter(2, 1.0),) * 2)
    assert one_filter.plies.tolist() == two_filters.plies.tolist()
    assert (one_filter.plies == 2).sum() >= 4


def test_ties_go_to_the_first_play() -> None:
    """All of the 16 plays of 31 and the 11 plays of 66 are equal."""
    boards, rolls = np.array([START.board] * 2, np.int8), np.array([(3, 1), (6, 6)])
    evaluate = partial(evaluate_ahead, OnRollWins())
    ranking = rank_all(evaluate, boards, rolls, 1, (PlayFilter(3, 0.0),))
    assert ranking.offsets.tolist() == [0, 16, 27]
    assert ranking.plies.tolist() == [1] * 3 + [0] * 13 + [1] * 3 + [0] * 8
    assert ranking.best().tolist() == [0, 16]
    assert (ranking.losses == 0).all()
    assert rank_all(evaluate, boards, rolls, 0).best().tolist() == [0, 16]


def test_plays_of_equal_value_pass_the_filter_by_cubeless_equity() -> None:
    """Plays may have equal values with the cube, such as those after which the opponent will cash."""
    boards = sample_games().boards[::100]
    rolls = np.array([(3, 1)] * len(boards))
    evaluate = partial(evaluate_ahead, Scrambled())
    equities = rank_all(evaluate, boards, rolls, 0).values
    ranking = rank_all(evaluate, boards, rolls, 1, [PlayFilter(3, 1.0)], lambda boards, *_: np.zeros(len(boards)))
    filtered = 0
    for begin, end in pairwise(ranking.offsets.tolist()):
        if end - begin > 3:
            passed = ranking.plies[begin:end] == 1
            assert sorted(equities[begin:end][passed]) == sorted(equities[begin:end])[-3:]
            filtered += 1
    assert filtered > 5


def test_largest_of_each_group_is_found() -> None:
    values, offsets = np.array([1, 3, 3, 2, 5, -np.inf, -np.inf]), np.array([0, 4, 5, 7])
    assert largest_in_group(values, offsets).tolist() == [3] * 4 + [5] + [-np.inf] * 2
    assert first_largest_in_group(values, offsets).tolist() == [1, 4, 5]
    assert first_largest_in_group(values[:0], offsets[:1]).tolist() == []


class WithoutFinalAnswers:
    """An evaluator whose exact answers are looked ahead like others."""

    label, version = "without-final-answers", "1"
    accuracy: Mapping[AnswerSource, str] = {}

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """See chances.Evaluator."""
        chances, sources = self.evaluator.evaluate_many(boards)
        is_over = sources == AnswerSource.OVER
        return Evaluations(chances, np.where(is_over, AnswerSource.OVER, AnswerSource.PROGRAM))


@pytest.mark.parametrize(("ply", "step"), [(1, 7), (2, 250)])
def test_exact_table_equals_its_mean_over_rolls(player_root: Path, ply: int, step: int) -> None:
    """The best replies to all rolls, averaged, give the value before (Bellman's equation)."""
    table = bgdata.open_warehouse(player_root).open("bearoff_two_sided", "6x3")
    player = NetworkPlayer(random_networks(1), map_tables(table, None, None))
    sides = [side.ravel()[::step] for side in np.mgrid[1:84, 1:84]]
    layouts = all_layouts(6, 3)
    boards = np.zeros((len(sides[0]), 26), np.int8)
    boards[:, 1:7], boards[:, 24:18:-1] = layouts[sides[0]], -layouts[sides[1]]
    exact = player.evaluate_many(boards)
    assert set(exact.sources.tolist()) == {AnswerSource.EXACT}
    assert exact.chances[:, 0].std() > 0.15
    chances = evaluate_ahead(WithoutFinalAnswers(player), boards, ply).chances
    assert np.abs(chances - exact.chances).max() < 2e-6
    assert (evaluate_ahead(player, boards, ply).chances == exact.chances).all(), "final answers are not looked ahead"


# checkers by point of the player on roll, and how many of the 36 rolls bear them all off
BEAROFFS = [({6: 1}, 27), ({5: 1}, 31), ({1: 2}, 36), ({6: 1, 1: 1}, 15), ({5: 1, 2: 1}, 19), ({4: 1, 3: 1}, 17),
            ({6: 2}, 4), ({1: 3}, 6), ({16: 1}, 3), ({18: 1}, 2), ({25: 1}, 0)]  # fmt: skip


@pytest.mark.parametrize(("checkers", "wins"), BEAROFFS)
def test_chances_of_bearing_off_in_one_roll_are_known(checkers: dict[int, int], wins: int) -> None:
    board = np.zeros((1, 26), np.int8)
    board[0, 24] = -1
    for point, count in checkers.items():
        board[0, point] = count
    assert evaluate_ahead(OnRollWins(), board, 1).chances[0].tolist() == [np.float32(wins / 36), 0, 0, 0, 0]


def test_gammons_are_seen_one_ply_ahead() -> None:
    """27 rolls bear off the last checker while the opponent has all 15."""
    win = np.float32(27 / 36)
    board = np.zeros((1, 26), np.int8)
    board[0, [6, 12, 20]] = 1, -1, -14
    assert evaluate_ahead(OnRollWins(), board, 1).chances[0].tolist() == [win, win, 0, 0, 0]
    board[0, [3, 12]] = -1, 0  # in the home board of the player on roll
    assert evaluate_ahead(OnRollWins(), board, 1).chances[0].tolist() == [win, win, win, 0, 0]


@pytest.mark.parametrize("ply", [0, 1, 2])
def test_finished_games_have_their_result_at_any_ply(ply: int) -> None:
    lost_and_won = np.zeros((2, 26), np.int8)
    lost_and_won[:, 4] = 3, -3
    evaluations = evaluate_ahead(Scrambled(), lost_and_won, ply)
    assert evaluations.chances.tolist() == [[0] * 5, [1, 0, 0, 0, 0]]
    assert evaluations.sources.tolist() == [AnswerSource.OVER] * 2
    ranking = rank_all(partial(evaluate_ahead, Scrambled()), lost_and_won, np.array([(2, 1)] * 2), ply)
    assert ranking.offsets.tolist() == [0, 1, 2]
    assert ranking.sources.tolist() == [AnswerSource.OVER] * 2


@pytest.mark.parametrize("ply", [0, 1, 2])
def test_no_positions_give_empty_results(ply: int) -> None:
    no_boards, no_rolls = np.zeros((0, 26), np.int8), np.zeros((0, 2), np.int8)
    evaluations = evaluate_ahead(Scrambled(), no_boards, ply)
    assert evaluations.chances.shape == (0, 5)
    assert evaluations.sources.shape == (0,)
    assert rank_all(partial(evaluate_ahead, Scrambled()), no_boards, no_rolls, ply).best().tolist() == []


def test_result_does_not_depend_on_batches_or_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    player = NetworkPlayer(random_networks(2), map_tables(None, None, None))
    boards = sample_games().boards[::60]
    expected = evaluate_ahead(player, boards, 1)
    for count in (1, 2):
        with threads(count):
            assert evaluate_ahead(player, boards, 1).chances.tobytes() == expected.chances.tobytes()
    assert evaluate_ahead(player, boards[7:8], 1).chances.tobytes() == expected.chances[7:8].tobytes()
    monkeypatch.setattr(lookahead, "BATCH", 5)
    assert evaluate_ahead(player, boards, 1).chances.tobytes() == expected.chances.tobytes()


def test_invalid_positions_and_rolls_are_refused() -> None:
    evaluate = partial(evaluate_ahead, OnRollWins())
    boards = np.array([START.board], np.int8)
    with pytest.raises(InvalidRollError, match=r"expected dice from 1 to 6, got \[7, 1\] in row 0"):
        rank_all(evaluate, boards, np.array([(7, 1)]), 0)
    with pytest.raises(InvalidPositionError, match="expected"):
        rank_all(evaluate, boards * 2, np.array([(3, 1)]), 0)
