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
        ours, theirs = generator.integers(1, 3, 2)
        board[points[:ours]] += generator.integers(1, 3)
        board[points[ours : ours + theirs]] -= 1
        board[[0, 25]] = generator.integers(0, 2, 2)
    return boards


def as_floats(values: object) -> np.ndarray:
    return np.array(values, dtype=object).astype(np.float64)


def test_one_ply_is_the_mean_of_the_best_replies() -> None:
    boards = np.concatenate([sample_games().boards[::120], few_checkers(15, 1)])
    found = evaluate_ahead(Scrambled(), boards, 1)
    static = Scrambled().evaluate_many(boards)
    expected = [chances_ahead(judge, tuple(board), 1) for board in boards.tolist()]
    assert np.abs(found.chances - as_floats(expected)).max() < ROUNDING
    assert found.chances.dtype == np.float32
    assert (found.sources == static.sources).all()
    is_final = static.sources == AnswerSource.EXACT
    assert 0 < is_final.sum() < len(boards)
    assert (found.chances[is_final] == static.chances[is_final]).all()


def test_two_plies_are_one_ply_after_the_best_replies() -> None:
    boards = few_checkers(4, 2)
    found = evaluate_ahead(Scrambled(), boards, 2)
    expected = [chances_ahead(judge, tuple(board), 2) for board in boards.tolist()]
    assert np.abs(found.chances - as_floats(expected)).max() < ROUNDING
    assert (found.chances != evaluate_ahead(Scrambled(), boards, 1).chances).any(axis=1).sum() >= 3


NARROW = (PlayFilter(3, 0.5), PlayFilter(2, 0.25))


@pytest.mark.parametrize(("ply", "filters"), [(0, NARROW), (1, FILTERS), (1, NARROW), (2, NARROW)])
def test_ranked_plays_match_the_reference(ply: int, filters: tuple[PlayFilter, ...]) -> None:
    """Chances, plies and losses of every play equal those of plain recursion, and so does the best play."""
    boards = np.concatenate(
        [sample_games().boards[::400] if ply < 2 else sample_games().boards[:0], few_checkers(5, 3)]
    )
    rolls = np.array([(1 + row % 6, 1 + row // 3 % 6) for row in range(len(boards))])
    found = rank_all(partial(evaluate_ahead, Scrambled()), boards, rolls, ply, filters)
    best = found.best()
    plies = set()
    for row, board in enumerate(boards.tolist()):
        expected = ranked(judge, tuple(board), tuple(rolls[row].tolist()), ply, filters)
        rows = slice(found.offsets[row], found.offsets[row + 1])
        assert found.boards[rows].tolist() == [list(seen.board) for seen in expected]
        assert found.plies[rows].tolist() == [seen.ply for seen in expected]
        chances = [turned(seen.chances) for seen in expected]
        assert np.abs(found.chances[rows] - as_floats(chances)).max() < ROUNDING
        assert np.abs(found.losses[rows] - as_floats([seen.loss for seen in expected])).max() < 10 * ROUNDING
        deepest = max(seen.ply for seen in expected)
        wanted = max((seen for seen in expected if seen.ply == deepest), key=lambda seen: seen.value)
        assert found.boards[best[row]].tolist() == list(wanted.board)
        plies |= {seen.ply for seen in expected}
    assert plies == set(range(ply + 1))
    assert found.values == pytest.approx(-cubeless_equities(found.chances))


def test_last_filter_serves_all_deeper_plies() -> None:
    boards = few_checkers(3, 4)
    rolls = np.tile([[5, 3]], (3, 1))
    look = partial(evaluate_ahead, OnRollWins())
    given = rank_all(look, boards, rolls, 2, (PlayFilter(2, 1.0),))
    assert given.plies.tolist() == rank_all(look, boards, rolls, 2, (PlayFilter(2, 1.0),) * 2).plies.tolist()
    assert (given.plies == 2).sum() >= 4


def test_ties_go_to_the_first_play() -> None:
    boards, rolls = np.array([START.board] * 2, np.int8), np.array([(3, 1), (6, 6)])
    look = partial(evaluate_ahead, OnRollWins())
    found = rank_all(look, boards, rolls, 1, (PlayFilter(3, 0.0),))
    assert found.offsets.tolist() == [0, 16, 27]
    assert found.plies.tolist() == [1] * 3 + [0] * 13 + [1] * 3 + [0] * 8
    assert found.best().tolist() == [0, 16]
    assert not found.losses.any()
    assert rank_all(look, boards, rolls, 0).best().tolist() == [0, 16]


def test_equal_plays_pass_by_cubeless_equity() -> None:
    """Among plays of equal value, such as those after which the opponent will cash, the higher cubeless equity passes
    the filter."""
    boards = sample_games().boards[::100]
    look = partial(evaluate_ahead, Scrambled())
    rolls = np.array([(3, 1)] * len(boards))
    equities = rank_all(look, boards, rolls, 0).values
    found = rank_all(look, boards, rolls, 1, [PlayFilter(3, 1.0)], lambda boards, *_: np.zeros(len(boards)))
    ends = pairwise(found.offsets.tolist())
    decisions = [slice(begin, end) for begin, end in ends if end - begin > 3]
    assert len(decisions) > 5
    for rows in decisions:
        assert sorted(equities[rows][found.plies[rows] == 1]) == sorted(equities[rows])[-3:]


def test_largest_of_each_group_is_found() -> None:
    values, offsets = np.array([1, 3, 3, 2, 5, -np.inf, -np.inf]), np.array([0, 4, 5, 7])
    assert largest_in_group(values, offsets).tolist() == [3] * 4 + [5] + [-np.inf] * 2
    assert first_largest_in_group(values, offsets).tolist() == [1, 4, 5]
    assert first_largest_in_group(values[:0], offsets[:1]).tolist() == []


class WithoutFinalAnswers:
    """An evaluator whose exact answers are looked ahead like others."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator, self.label, self.version = evaluator, "doubted", "1"
        self.accuracy: Mapping[AnswerSource, str] = {}

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """See chances.Evaluator."""
        found = self.evaluator.evaluate_many(boards)
        return Evaluations(
            found.chances, np.where(found.sources == AnswerSource.OVER, AnswerSource.OVER, AnswerSource.PROGRAM)
        )


@pytest.mark.parametrize(("ply", "step"), [(1, 7), (2, 250)])
def test_exact_table_equals_its_mean_over_rolls(player_root: Path, ply: int, step: int) -> None:
    """Looking ahead reproduces exact values: the best replies to all rolls, averaged, give the value before (Bellman's
    equation)."""
    table = bgdata.open_warehouse(player_root).open("bearoff_two_sided", "6x3")
    player = NetworkPlayer(random_networks(1), map_tables(table, None, None))
    sides = [side.ravel()[::step] for side in np.mgrid[1:84, 1:84]]
    layouts = all_layouts(6, 3)
    boards = np.zeros((len(sides[0]), 26), np.int8)
    boards[:, 1:7], boards[:, 24:18:-1] = layouts[sides[0]], -layouts[sides[1]]
    exact = player.evaluate_many(boards)
    assert set(exact.sources.tolist()) == {AnswerSource.EXACT}
    found = evaluate_ahead(WithoutFinalAnswers(player), boards, ply)
    assert np.abs(found.chances - exact.chances).max() < 2e-6
    assert exact.chances[:, 0].std() > 0.15
    # final answers are not looked ahead
    assert (evaluate_ahead(player, boards, ply).chances == exact.chances).all()


# checkers of the player on roll, whose opponent bears off next turn; rolls of 36 that win
BEAROFFS = [({6: 1}, 27), ({5: 1}, 31), ({1: 2}, 36), ({6: 1, 1: 1}, 15), ({5: 1, 2: 1}, 19), ({4: 1, 3: 1}, 17),
            ({6: 2}, 4), ({1: 3}, 6), ({16: 1}, 3), ({18: 1}, 2), ({25: 1}, 0)]  # fmt: skip


@pytest.mark.parametrize(("checkers", "wins"), BEAROFFS)
def test_chances_of_bearing_off_in_one_roll_are_known(checkers: dict[int, int], wins: int) -> None:
    board = np.zeros((1, 26), np.int8)
    board[0, 24] = -1
    for point, count in checkers.items():
        board[0, point] = count
    found = evaluate_ahead(OnRollWins(), board, 1)
    assert found.chances[0].tolist() == [np.float32(wins / 36), 0, 0, 0, 0]


def test_gammons_are_seen_one_ply_ahead() -> None:
    """One ply sees the gammons and backgammons of the 27 rolls that bear off our last checker while the opponent has
    all 15."""
    board = np.zeros((1, 26), np.int8)
    board[0, [6, 12, 20]] = 1, -1, -14
    win = np.float32(27 / 36)
    assert evaluate_ahead(OnRollWins(), board, 1).chances[0].tolist() == [win, win, 0, 0, 0]
    board[0, [3, 12]] = -1, 0
    assert evaluate_ahead(OnRollWins(), board, 1).chances[0].tolist() == [win, win, win, 0, 0]


@pytest.mark.parametrize("ply", [0, 1, 2])
def test_finished_games_have_their_result_at_any_ply(ply: int) -> None:
    over = np.zeros((2, 26), np.int8)
    over[0, 4], over[1, 4] = 3, -3  # the opponent has borne off all checkers, then the player on roll
    found = evaluate_ahead(Scrambled(), over, ply)
    assert found.chances.tolist() == [[0] * 5, [1, 0, 0, 0, 0]]
    assert set(found.sources.tolist()) == {AnswerSource.OVER}
    ranked = rank_all(partial(evaluate_ahead, Scrambled()), over, np.array([(2, 1)] * 2), ply)
    assert ranked.offsets.tolist() == [0, 1, 2]
    assert ranked.sources.tolist() == [AnswerSource.OVER] * 2


@pytest.mark.parametrize("ply", [0, 1, 2])
def test_no_positions_give_empty_results(ply: int) -> None:
    none = np.zeros((0, 26), np.int8)
    found = evaluate_ahead(Scrambled(), none, ply)
    assert found.chances.shape == (0, 5)
    assert found.sources.shape == (0,)
    ranked = rank_all(partial(evaluate_ahead, Scrambled()), none, np.empty((0, 2), np.int8), ply)
    assert ranked.best().tolist() == []


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
    look = partial(evaluate_ahead, OnRollWins())
    board = np.array([START.board], np.int8)
    with pytest.raises(InvalidRollError, match="expected dice from 1 to 6, got \\[7, 1\\] in row 0"):
        rank_all(look, board, np.array([(7, 1)]), 0)
    with pytest.raises(InvalidPositionError, match="expected"):
        rank_all(look, board * 2, np.array([(3, 1)]), 0)
