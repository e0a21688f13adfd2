"""Values of the 21 rolls, networks that look ahead in a kernel, and local volatility, each compared with another
method."""

import pickle
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.errors import InvalidPositionError, UsageError
from bgdata.evaluation.bearoff import open_bearoff
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import AnswerSource, Evaluations, Evaluator, cubeless_equities, turned_chances
from bgdata.evaluation.choices import chosen_boards, network_chooser
from bgdata.evaluation.lookahead import LIKELY, evaluate_ahead
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import NetworkPlayer, open_network_player
from bgdata.evaluation.roll_values import (
    ALL_PLAYS,
    FULL,
    LikelyPlays,
    PlayArrays,
    chances_in_two_rolls,
    collect_plays,
    evaluations_ahead,
    fill_roll_values,
    find_or_add_row,
    likely_plays,
    local_volatility,
    local_volatility_by,
    new_roll_scratch,
    new_volatility_scratch,
)
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.dice import ROLLS, Roll
from bgdata.game.play_kernels import batch_plays
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.kernel import threads
from bgdata.selfplay.games import self_play
from tests.evaluation.sample_evaluators import Scrambled, judge
from tests.evaluation.sample_networks import random_networks, random_player, shipped_networks, shipped_player
from tests.evaluation.test_lookahead import few_checkers
from tests.random_games import random_game_positions
from tests.reference.pubeval import likely_boards

ENDING = np.zeros((1, 26), np.int8)  # two checkers left against several
ENDING[0, [1, 2, 20]] = 1, 1, -12
DICE = np.array([(roll.high, roll.low) for roll in ROLLS], np.int8)


@cache
def sample_boards() -> Boards:
    boards = random_game_positions(12, seed=8).boards
    classes = position_classes(boards)
    return np.concatenate([boards[classes > PositionClass.RACE][::30], boards[classes == PositionClass.RACE][::12]])


def roll_values_of_played_roll(board: Boards, roll: int, likely: LikelyPlays) -> Any:
    """The scratch after `fill_roll_values` for a position with a played roll."""
    scratch = new_roll_scratch(random_networks(4))
    fill_roll_values(random_networks(4), NO_TABLES, likely, board, scratch, None, roll)
    return scratch


@pytest.mark.parametrize("most", [0, 1, 4])
def test_played_roll_has_the_best_of_all_plays(most: int) -> None:
    """Likely or not; the values of rolls remain those of the likely plays."""
    likely = likely_plays(most)
    chooser = network_chooser(random_networks(4), NO_TABLES)
    unlikely_best = 0
    for number, board in enumerate(np.concatenate([sample_boards(), ENDING])):
        roll = number % len(ROLLS)
        scratch = roll_values_of_played_roll(board, roll, likely)
        expected = chosen_boards(chooser, board[None], DICE[roll : roll + 1])
        assert flip_boards(scratch.played[None]).tolist() == expected.tolist()
        without_played_roll = roll_values_of_played_roll(board, -1, likely)
        assert np.array_equal(scratch.values, without_played_roll.values)
        assert np.array_equal(scratch.best, without_played_roll.best)
        unlikely_best += not np.array_equal(scratch.best[roll], scratch.played)
    if most == 0:
        assert unlikely_best == 0, "0 means all plays"
    if most == 1:
        assert unlikely_best > 5


def test_each_position_is_collected_once() -> None:
    """Plays are collected in the order of rolls; a position that several rolls reach gets one row."""
    shared_positions = 0
    for board in sample_boards():
        scratch = new_roll_scratch(random_networks(4))
        n = collect_plays(ALL_PLAYS, board, scratch, -1)
        offsets, plays = batch_plays(np.repeat(board[None], len(ROLLS), 0), DICE)
        assert scratch.ends.tolist() == [*offsets[1:].tolist(), len(plays)]
        assert np.array_equal(scratch.plays[scratch.rows[: len(plays)]], plays)
        assert n == len(np.unique(plays, axis=0))
        shared_positions += len(plays) - n
    assert shared_positions > 100


def test_each_roll_has_the_likely_plays() -> None:
    """At most two plays of each roll, including one that ends the game; of the played roll all plays."""
    played_roll = len(ROLLS) - 1
    for board in np.concatenate([sample_boards(), ENDING]):
        scratch = new_roll_scratch(random_networks(4))
        collect_plays(likely_plays(2), board, scratch, played_roll)
        counts = np.diff(scratch.ends[:-1], prepend=0)
        offsets, plays = batch_plays(np.repeat(board[None], len(ROLLS), 0), DICE)
        assert counts.tolist() == np.minimum(np.diff(offsets), 2).tolist()
        assert scratch.ends[-1] - scratch.ends[-2] == offsets[-1] - offsets[-2], "plays of the played roll"
        for roll in range(len(ROLLS)):
            all_plays = plays[offsets[roll] : offsets[roll + 1]]
            likely = scratch.plays[scratch.rows[scratch.ends[roll] - counts[roll] : scratch.ends[roll]]]
            assert can_end_game(likely) == can_end_game(all_plays)


def can_end_game(after_play: Boards) -> bool:
    """Whether after a play the player who moved has no checkers left."""
    return bool((after_play[:, 1:] <= 0).all(axis=1).any())


def test_position_may_have_two_rows_after_many_positions() -> None:
    """The search for equal positions stops at FULL rows."""
    scratch = new_roll_scratch(random_networks(4))
    scratch.buckets[:] = 0
    arrays = PlayArrays(scratch.plays, scratch.hashes, scratch.buckets)
    first, second, third = sample_boards()[:3]
    assert find_or_add_row(first, arrays, 0) == (0, 1), "its row, and the number of rows"
    assert find_or_add_row(second, arrays, 1) == (1, 2)
    assert find_or_add_row(third, arrays, 2) == (2, 3)
    assert find_or_add_row(second, arrays, 3) == (1, 3)
    assert find_or_add_row(second, arrays, FULL) == (FULL, FULL + 1)
    assert np.array_equal(scratch.plays[FULL], second)


FINISHED = np.array([[0] * 6 + [-3] + [0] * 19, [0] * 20 + [5] + [0] * 4 + [1]], np.int8)  # won, lost
SHORT = [[0, 2] + [0] * 20 + [-1, 0, -2, 0], [0, 0, 0, 1] + [0] * 18 + [-2, 0, 0, 0]]  # three checkers at most


@cache
def game_boards() -> Boards:
    return random_game_positions(25, seed=37).boards


class WithoutLookahead:
    """An evaluator without its own lookahead, so that Python looks ahead."""

    label, version, accuracy = "plain", "1", dict[AnswerSource, str]()

    def __init__(self, player: Evaluator) -> None:
        self.player = player

    def evaluate_many(self, boards: Boards) -> Evaluations:
        return self.player.evaluate_many(boards)


def check_kernel_equals_python(player: NetworkPlayer, boards: Boards, ply: int) -> None:
    by_python = evaluate_ahead(WithoutLookahead(player), boards, ply)
    by_kernel = evaluate_ahead(player, boards, ply)
    assert np.array_equal(by_kernel.chances, by_python.chances)
    assert np.array_equal(by_kernel.sources, by_python.sources)
    is_final = np.array([AnswerSource(source).is_final for source in by_kernel.sources.tolist()])
    assert is_final.any()
    static = player.evaluate_many(boards).chances
    assert np.array_equal(by_kernel.chances[is_final], static[is_final])
    assert (by_kernel.chances != static).any(axis=1)[~is_final].all()


@pytest.mark.parametrize("ply", [1, 2, 3])
def test_kernel_equals_lookahead_to_the_last_bit(ply: int) -> None:
    boards = {1: game_boards()[::40], 2: few_checkers(12, 3), 3: few_checkers(3, 4)}[ply]
    check_kernel_equals_python(random_player(0).with_all_plays(), np.concatenate([boards, FINISHED]), ply)


def test_kernel_with_tables_equals_lookahead(player_root: Path) -> None:
    """Positions of a table end the tree, at its root and below."""
    tables = open_bearoff(bgdata.open_warehouse(player_root)).arrays
    player = NetworkPlayer(random_networks(0), tables).with_all_plays()
    is_network = player.evaluate_many(game_boards()).sources > AnswerSource.COMBINED
    boards = np.concatenate([game_boards()[is_network][-4:], few_checkers(6, 5), np.array(SHORT, np.int8), FINISHED])
    assert set(player.evaluate_many(boards).sources.tolist()) >= {AnswerSource.OVER, AnswerSource.EXACT}
    check_kernel_equals_python(player, boards, 2)


@pytest.mark.parametrize("most", [1, 3, 21])
def test_one_ply_is_the_mean_after_likely_plays(most: int) -> None:
    """That is, after the network's best plays among the `most` plays with the highest PubEval scores."""
    boards = game_boards()[::40]
    is_contact = position_classes(boards) > PositionClass.RACE
    assert 5 < is_contact.sum() < len(boards) - 2
    chances = evaluations_ahead(random_player(0).networks, NO_TABLES, boards, 1, likely_plays(most)).chances
    for board, board_chances in zip(boards, chances, strict=True):
        replies = np.concatenate([best_reply(board, roll.high, roll.low, most) for roll in ROLLS])
        assert board_chances.tolist() == mean_after(random_player(0).evaluate_many(replies).chances).tolist()
    if most < 21:
        with_all_plays = random_player(0).with_all_plays().evaluate_ahead(boards, 1).chances
        assert (np.abs(chances - with_all_plays).max(axis=1) > 0.001).sum() > 5


@pytest.mark.parametrize("most", [0, 4])
def test_two_ply_is_one_ply_after_the_best_replies(most: int) -> None:
    boards = game_boards()[[300, 40]]
    networks, likely = random_player(0).networks, likely_plays(most)
    chances = evaluations_ahead(networks, NO_TABLES, boards, 2, likely).chances
    for board, board_chances in zip(boards, chances, strict=True):
        replies = np.concatenate([best_reply(board, roll.high, roll.low, most) for roll in ROLLS])
        expected = mean_after(evaluations_ahead(networks, NO_TABLES, replies, 1, likely).chances)
        assert board_chances.tolist() == expected.tolist()


def best_reply(board: Boards, die: int, other_die: int, most: int) -> Boards:
    """int8[1, 26]: the board after the network's best play among the `most` with the highest PubEval scores of the
    reference; the opponent on roll."""
    _, plays = batch_plays(board[None], np.array([[die, other_die]], np.int8))
    after = flip_boards(np.array(likely_boards(board.tolist(), plays.tolist(), most), np.int8))
    return after[[cubeless_equities(random_player(0).evaluate_many(after).chances).argmin()]]


def mean_after(chances: NDArray[np.float32]) -> NDArray[np.float32]:
    """float32[5]: the mean over the rolls, from float32[21, 5] chances of the opponent after each."""
    total = np.zeros(5)
    for roll, chances_after in zip(ROLLS, turned_chances(chances).astype(np.float64), strict=True):
        total += roll.weight * chances_after
    return (total / 36).astype(np.float32)


def test_network_players_use_likely_plays_by_default() -> None:
    boards = game_boards()[::40]
    player, networks = random_player(0), random_player(0).networks
    likely = evaluations_ahead(networks, NO_TABLES, boards, 1, likely_plays(LIKELY)).chances
    assert np.array_equal(player.evaluate_ahead(boards, 1).chances, likely)
    assert np.array_equal(LookaheadPlayer(player, 1).evaluate_many(boards).chances, likely)
    all_plays = evaluations_ahead(networks, NO_TABLES, boards, 1).chances
    assert np.array_equal(player.with_all_plays().evaluate_ahead(boards, 1).chances, all_plays)
    assert not np.array_equal(all_plays, likely)


def test_likely_plays_change_the_version_above_0_ply() -> None:
    player = random_player(0)
    assert LookaheadPlayer(player, 1).version != LookaheadPlayer(player.with_all_plays(), 1).version
    assert LookaheadPlayer(player, 0).version == LookaheadPlayer(player.with_all_plays(), 0).version


def test_pickled_network_keeps_its_likely_plays(player_root: Path) -> None:
    player = open_network_player("network", 0, bgdata.open_warehouse(player_root))
    assert isinstance(player, NetworkPlayer)
    with_all_plays = player.with_all_plays()
    assert pickle.loads(pickle.dumps(player)).likely == player.likely == LIKELY
    copy = pickle.loads(pickle.dumps(with_all_plays))
    assert copy.likely == with_all_plays.likely == 0
    boards = game_boards()[:9]
    expected = with_all_plays.evaluate_ahead(boards, 1).chances
    assert np.array_equal(copy.evaluate_ahead(boards, 1).chances, expected)


@pytest.mark.parametrize("ply", [1, 2])
def test_answers_do_not_depend_on_threads_or_batches(ply: int) -> None:
    boards = game_boards()[5 :: 60 * ply]
    with threads(1):
        alone = [random_player(0).evaluate_ahead(board[None], ply).chances for board in boards]
    with threads(2):
        together = random_player(0).evaluate_ahead(boards, ply).chances
    assert np.array_equal(np.concatenate(alone), together)
    assert random_player(0).evaluate_ahead(game_boards()[:0], ply).chances.shape == (0, 5)


@pytest.mark.parametrize("ply", [0, -1])
def test_ply_below_one_is_refused(ply: int) -> None:
    with pytest.raises(UsageError, match=f"^expected a ply of 1 or more to look ahead, got {ply}$"):
        random_player(0).evaluate_ahead(game_boards()[:2], ply)


@pytest.mark.parametrize("boards", [np.zeros((2, 25), np.int8), np.full((1, 26), 3, np.int8)])
def test_invalid_boards_are_refused(boards: Boards) -> None:
    with pytest.raises(InvalidPositionError):
        random_player(0).evaluate_ahead(boards, 1)


@pytest.mark.parametrize("most", [-1, 22])
def test_invalid_numbers_of_likely_plays_are_refused(most: int) -> None:
    with pytest.raises(UsageError, match=f"^expected 1 to 21 likely plays of a roll, or 0 for all, got {most}$"):
        likely_plays(most)


LAST_ROLLS = Position([0, 0, 0, 0, 0, 0, 1, *[0] * 17, -1, 0])  # the opponent bears off next


@cache
def contact_boards() -> Boards:
    return self_play(shipped_player().chooser, 6, 7).boards[::9]


def best_after(position: Position, roll: Roll) -> tuple[Position, Fraction]:
    """The position after the best play of a roll, from the opponent's point of view, and the opponent's winning chance.
    Ties go to the first play."""

    def opponent_equity(after: Position) -> Fraction:
        (win, win_gammon, win_backgammon, lose_gammon, lose_backgammon), _ = judge(after.board)
        return 2 * win - 1 + win_gammon + win_backgammon - lose_gammon - lose_backgammon

    best = min((play.after_play.flip() for play in legal_plays(position, roll)), key=opponent_equity)
    return best, Fraction(judge(best.board)[0][0])


def enumerated_chances(position: Position) -> list[list[Fraction]]:
    """The winning chance of the player on roll after each pair of rolls, by the sample evaluator."""
    rows = []
    for roll in ROLLS:
        reply, opponent_wins = best_after(position, roll)
        opponent_is_off = not any(count > 0 for count in reply.board[1:])
        player_is_off = not reply.board[0] and not any(count < 0 for count in reply.board)
        if opponent_is_off or player_is_off:
            rows.append([1 - opponent_wins] * len(ROLLS))
        else:
            rows.append([best_after(reply, reply_roll)[1] for reply_roll in ROLLS])
    return rows


def test_local_volatility_matches_a_value_by_hand() -> None:
    """27 of 36 rolls bear off the last checker; otherwise the opponent, on its ace point, wins."""
    assert set(chances_in_two_rolls(Scrambled(), LAST_ROLLS).ravel().tolist()) == {0.0, 1.0}
    assert local_volatility_by(Scrambled(), LAST_ROLLS) == pytest.approx(2 * 0.75 * 0.25)


@pytest.mark.parametrize(
    "board",
    [
        [0, 0, 0, 2, 0, 1, 0, *[0] * 12, 0, 0, -1, 0, -1, -1, 0],
        [0, 1, 1, 0, 0, 0, 1, *[0] * 12, 0, 0, -1, 0, -1, -1, 0],
        [0, *[0] * 18, *[-2] * 6, 1],  # all checkers on the bar are not a win
        [0, *[0] * 18, *[-2] * 6, 2],
    ],
)
def test_local_volatility_equals_enumeration(board: list[int]) -> None:
    position = Position(board)
    chances = [[float(win) for win in row] for row in enumerated_chances(position)]
    assert chances_in_two_rolls(Scrambled(), position).tolist() == chances
    weights = np.array([roll.weight for roll in ROLLS]) / 36
    mean = weights @ np.array(chances) @ weights
    volatility = weights @ np.abs(np.array(chances) - mean) @ weights
    assert local_volatility_by(Scrambled(), position) == pytest.approx(volatility)


def test_volatility_kernel_equals_python() -> None:
    scratch = new_volatility_scratch(shipped_networks())
    on_the_bar = [0, *[0] * 18, *[-2] * 6, 1]
    boards = [*contact_boards(), np.array(on_the_bar, np.int8), np.array(LAST_ROLLS.board, np.int8)]
    expected = [local_volatility_by(shipped_player(), Position(board.tolist())) for board in boards]
    assert max(expected[:-1]) > 1.5 * np.median(expected)
    assert expected[-1] == pytest.approx(2 * 0.75 * 0.25)
    for plays, tolerance in ((ALL_PLAYS, 1e-6), (likely_plays(6), 0.02)):
        by_kernel = [local_volatility(shipped_networks(), NO_TABLES, plays, board, scratch) for board in boards]
        assert by_kernel == pytest.approx(expected, abs=tolerance)


def test_finished_game_has_no_volatility() -> None:
    with pytest.raises(InvalidPositionError):
        local_volatility_by(shipped_player(), Position([0, -1, *[0] * 24]))
