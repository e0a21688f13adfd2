"""Values of the 21 rolls, networks that look ahead in a kernel, and local volatility, each compared with another
method."""

import pickle
from fractions import Fraction
from functools import cache
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
from tests.subtests import each

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
    """The played roll gets the best of all its plays, likely or not, and the values of rolls remain those of the likely
    plays."""
    likely = likely_plays(most)
    unlikely_best = 0
    for number, board in enumerate(np.concatenate([sample_boards(), ENDING])):
        roll = number % len(ROLLS)
        scratch = roll_values_of_played_roll(board, roll, likely)
        expected = chosen_boards(network_chooser(random_networks(4), NO_TABLES), board[None], DICE[roll : roll + 1])
        assert flip_boards(scratch.played[None]).tolist() == expected.tolist()
        alone = roll_values_of_played_roll(board, -1, likely)
        assert np.array_equal(scratch.values, alone.values)
        assert np.array_equal(scratch.best, alone.best)
        unlikely_best += not np.array_equal(scratch.best[roll], scratch.played)
    if most == 0:
        assert unlikely_best == 0
    if most == 1:
        assert unlikely_best > 5


def test_each_position_is_collected_once() -> None:
    """All plays of all rolls are collected in order, and a position that several rolls reach gets one row."""
    saved = 0
    for board in sample_boards():
        scratch = new_roll_scratch(random_networks(4))
        n = collect_plays(ALL_PLAYS, board, scratch, -1)
        offsets, plays = batch_plays(np.repeat(board[None], len(ROLLS), 0), DICE)
        assert scratch.ends.tolist() == [*offsets[1:].tolist(), len(plays)]
        assert np.array_equal(scratch.plays[scratch.rows[: len(plays)]], plays)
        assert n == len(np.unique(plays, axis=0))
        saved += len(plays) - n
    assert saved > 100


def test_each_roll_has_the_likely_plays() -> None:
    """Each roll gets at most `most` plays, including one that ends the game."""
    for board in np.concatenate([sample_boards(), ENDING]):
        scratch = new_roll_scratch(random_networks(4))
        collect_plays(likely_plays(2), board, scratch, 20)
        counts = np.diff(scratch.ends[:-1], prepend=0)
        offsets, plays = batch_plays(np.repeat(board[None], len(ROLLS), 0), DICE)
        assert counts.tolist() == np.minimum(np.diff(offsets), 2).tolist()
        assert scratch.ends[-1] - scratch.ends[-2] == offsets[-1] - offsets[-2]  # all plays of the played roll
        for roll in range(len(ROLLS)):
            every = plays[offsets[roll] : offsets[roll + 1]]
            likely = scratch.plays[scratch.rows[scratch.ends[roll] - counts[roll] : scratch.ends[roll]]]
            ends = [(some[:, 1:] <= 0).all(axis=1).any() for some in (every, likely)]
            assert ends[0] == ends[1]


def test_many_positions_may_repeat() -> None:
    """After FULL positions the search stops, so a position may have two rows."""
    scratch = new_roll_scratch(random_networks(4))
    scratch.buckets[:] = 0
    found = PlayArrays(scratch.plays, scratch.hashes, scratch.buckets)
    assert [find_or_add_row(board, found, n) for n, board in enumerate(sample_boards()[:3])] == [(0, 1), (1, 2), (2, 3)]
    assert find_or_add_row(sample_boards()[1], found, 3) == (1, 3)
    assert find_or_add_row(sample_boards()[1], found, FULL) == (FULL, FULL + 1)
    assert np.array_equal(scratch.plays[FULL], sample_boards()[1])


FINISHED = np.array([[0] * 6 + [-3] + [0] * 19, [0] * 20 + [5] + [0] * 4 + [1]], np.int8)  # won, lost
SHORT = [[0, 2] + [0] * 20 + [-1, 0, -2, 0], [0, 0, 0, 1] + [0] * 18 + [-2, 0, 0, 0]]  # three checkers at most


@cache
def game_boards() -> Boards:
    return random_game_positions(25, seed=37).boards


class Plain:
    """The evaluator without its own lookahead."""

    label, version, accuracy = "plain", "1", dict[AnswerSource, str]()

    def __init__(self, player: Evaluator) -> None:
        self.player = player

    def evaluate_many(self, boards: Boards) -> Evaluations:
        return self.player.evaluate_many(boards)


def check_same(player: NetworkPlayer, boards: Boards, ply: int) -> None:
    expected, found = evaluate_ahead(Plain(player), boards, ply), evaluate_ahead(player, boards, ply)
    assert np.array_equal(found.chances, expected.chances)
    assert np.array_equal(found.sources, expected.sources)
    is_final = np.array([AnswerSource(source).is_final for source in found.sources.tolist()])
    static = player.evaluate_many(boards).chances
    assert np.array_equal(found.chances[is_final], static[is_final])
    assert (found.chances != static).any(axis=1)[~is_final].all()
    assert is_final.any()


@each(
    ("ply", "boards"),
    lambda: {"1-ply": (1, game_boards()[::40]), "2-ply": (2, few_checkers(12, 3)), "3-ply": (3, few_checkers(3, 4))},
)
def test_kernel_equals_lookahead_to_the_last_bit(ply: int, boards: Boards) -> None:
    check_same(random_player(0).with_all_plays(), np.concatenate([boards, FINISHED]), ply)


def test_kernel_with_tables_equals_lookahead(player_root: object) -> None:
    """A kernel looks ahead as Python does where positions of a table end the tree, at its root and below."""
    tables = open_bearoff(bgdata.open_warehouse(str(player_root))).arrays
    player = NetworkPlayer(random_networks(0), tables).with_all_plays()
    last = np.flatnonzero(player.evaluate_many(game_boards()).sources > AnswerSource.COMBINED)[-4:]
    boards = np.concatenate([game_boards()[last], few_checkers(6, 5), np.array(SHORT, np.int8), FINISHED])
    sources = set(player.evaluate_many(boards).sources.tolist())
    assert sources >= {AnswerSource.OVER, AnswerSource.EXACT}
    check_same(player, boards, 2)


@pytest.mark.parametrize("most", [1, 3, 21])
def test_one_ply_is_the_mean_after_likely_plays(most: int) -> None:
    """A 1-ply value is the mean after the network's best plays among the `most` plays with the highest PubEval
    scores."""
    boards = game_boards()[::40]
    found = evaluations_ahead(random_player(0).networks, NO_TABLES, boards, 1, likely_plays(most)).chances
    expected = random_player(0).with_all_plays().evaluate_ahead(boards, 1).chances
    is_contact = position_classes(boards) > PositionClass.RACE
    assert 5 < is_contact.sum() < len(boards) - 2
    for row in range(len(boards)):
        replies = [best_reply(boards[row], roll.high, roll.low, most) for roll in ROLLS]
        assert (
            found[row].tolist() == mean_after(random_player(0).evaluate_many(np.concatenate(replies)).chances).tolist()
        )
    if most < 21:
        assert (np.abs(found - expected).max(axis=1) > 0.001).sum() > 5  # all plays give other values


@pytest.mark.parametrize("most", [0, 4])
def test_two_ply_is_one_ply_after_the_best_replies(most: int) -> None:
    boards = game_boards()[[300, 40]]
    likely = likely_plays(most)
    found = evaluations_ahead(random_player(0).networks, NO_TABLES, boards, 2, likely).chances
    for board, chances in zip(boards, found, strict=True):
        replies = np.concatenate([best_reply(board, roll.high, roll.low, most) for roll in ROLLS])
        expected = mean_after(evaluations_ahead(random_player(0).networks, NO_TABLES, replies, 1, likely).chances)
        assert chances.tolist() == expected.tolist()


def best_reply(board: Boards, die: int, other_die: int, most: int) -> Boards:
    """[1, 26]: the board after the best play of a roll, by the network, among those with the highest PubEval scores of
    the reference; the opponent on roll."""
    _, plays = batch_plays(board[None], np.array([[die, other_die]], np.int8))
    after = flip_boards(np.array(likely_boards(board.tolist(), plays.tolist(), most), np.int8))
    return after[[cubeless_equities(random_player(0).evaluate_many(after).chances).argmin()]]


def mean_after(chances: NDArray[np.float32]) -> NDArray[np.float32]:
    """float32[5]: the mean over the rolls, from float32[21, 5] chances of the opponent after each."""
    total = np.zeros(5)
    for roll, own in zip(ROLLS, turned_chances(chances).astype(np.float64), strict=True):
        total += roll.weight * own
    return (total / 36).astype(np.float32)


def test_network_players_use_likely_plays_by_default() -> None:
    boards = game_boards()[::40]
    likely = evaluations_ahead(random_player(0).networks, NO_TABLES, boards, 1, likely_plays(LIKELY)).chances
    assert np.array_equal(random_player(0).evaluate_ahead(boards, 1).chances, likely)
    assert np.array_equal(LookaheadPlayer(random_player(0), 1).evaluate_many(boards).chances, likely)
    every = random_player(0).with_all_plays().evaluate_ahead(boards, 1).chances
    assert np.array_equal(every, evaluations_ahead(random_player(0).networks, NO_TABLES, boards, 1).chances)
    assert not np.array_equal(every, likely)
    assert LookaheadPlayer(random_player(0), 1).version != LookaheadPlayer(random_player(0).with_all_plays(), 1).version
    assert LookaheadPlayer(random_player(0), 0).version == LookaheadPlayer(random_player(0).with_all_plays(), 0).version


def test_pickled_network_keeps_its_likely_plays(player_root: object) -> None:
    player = open_network_player("network", 0, bgdata.open_warehouse(str(player_root)))
    assert isinstance(player, NetworkPlayer)
    assert pickle.loads(pickle.dumps(player)).likely == LIKELY
    with_all_plays = player.with_all_plays()
    assert player.likely == LIKELY
    assert with_all_plays.likely == 0
    found = pickle.loads(pickle.dumps(with_all_plays))
    assert found.likely == 0
    assert np.array_equal(
        found.evaluate_ahead(game_boards()[:9], 1).chances, with_all_plays.evaluate_ahead(game_boards()[:9], 1).chances
    )


@pytest.mark.parametrize("ply", [1, 2])
def test_answers_do_not_depend_on_threads_or_batches(ply: int) -> None:
    boards = game_boards()[5 :: 60 * ply]
    with threads(1):
        alone = [random_player(0).evaluate_ahead(board[None], ply).chances for board in boards]
    with threads(2):
        together = random_player(0).evaluate_ahead(boards, ply).chances
    assert np.array_equal(np.concatenate(alone), together)
    assert random_player(0).evaluate_ahead(game_boards()[:0], ply).chances.shape == (0, 5)


# ----------------------------------------------------------------- wrong inputs


@pytest.mark.parametrize("ply", [0, -1])
def test_ply_below_one_is_refused(ply: int) -> None:
    with pytest.raises(UsageError, match=f"^expected a ply of 1 or more to look ahead, got {ply}$"):
        random_player(0).evaluate_ahead(game_boards()[:2], ply)


@pytest.mark.parametrize("boards", [np.zeros((2, 25), np.int8), np.zeros((2, 26)), np.full((1, 26), 3, np.int8)])
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
    """(position after the best play of a roll, from the opponent's point of view; its winning chance). Ties go to the
    first play."""

    def own_equity(after: Position) -> Fraction:
        (win, win_gammon, win_backgammon, lose_gammon, lose_backgammon), _ = judge(after.board)
        return -(2 * win - 1 + win_gammon + win_backgammon - lose_gammon - lose_backgammon)

    plays = [play.after_play.flip() for play in legal_plays(position, roll)]
    best = max(plays, key=own_equity)
    return best, Fraction(judge(best.board)[0][0])


def slow_chances(position: Position) -> list[list[Fraction]]:
    """The winning chance of the player on roll after each pair of rolls, by the sample evaluator."""
    rows = []
    for roll in ROLLS:
        reply, theirs = best_after(position, roll)
        has_own = any(count > 0 for count in reply.board[1:])
        is_over = not has_own or not (reply.board[0] or any(count < 0 for count in reply.board))
        rows.append([1 - theirs if is_over else best_after(reply, answer)[1] for answer in ROLLS])
    return rows


def test_local_volatility_matches_a_value_by_hand() -> None:
    """The volatility is as calculated by hand where 27 of 36 rolls bear off the last checker, and otherwise the
    opponent, on its ace point, wins."""
    wins = chances_in_two_rolls(Scrambled(), LAST_ROLLS)
    assert set(wins.ravel().tolist()) == {0.0, 1.0}
    assert local_volatility_by(Scrambled(), LAST_ROLLS) == pytest.approx(2 * 0.75 * 0.25)


@pytest.mark.parametrize("checkers", [[0, 0, 2, 0, 1, 0], [1, 1, 0, 0, 0, 1]])
def test_local_volatility_equals_enumeration(checkers: list[int]) -> None:
    position = Position([0, *checkers, *[0] * 12, 0, 0, -1, 0, -1, -1, 0])
    check_by_plain_enumeration(position)


@pytest.mark.parametrize("count", [1, 2])
def test_all_checkers_on_the_bar_is_not_a_win(count: int) -> None:
    check_by_plain_enumeration(Position([0, *[0] * 18, *[-2] * 6, count]))


def check_by_plain_enumeration(position: Position) -> None:
    expected = slow_chances(position)
    assert chances_in_two_rolls(Scrambled(), position).tolist() == [[float(win) for win in row] for row in expected]
    weights = [[Fraction(a.weight * b.weight, 1296) for b in ROLLS] for a in ROLLS]
    pairs = [(w, p) for row, wins in zip(weights, expected, strict=True) for w, p in zip(row, wins, strict=True)]
    mean = sum(w * p for w, p in pairs)
    assert local_volatility_by(Scrambled(), position) == pytest.approx(float(sum(w * abs(p - mean) for w, p in pairs)))


def test_volatility_kernel_equals_python() -> None:
    scratch = new_volatility_scratch(shipped_networks())
    on_the_bar = [0, *[0] * 17, 0, *[-2] * 6, 1]
    boards = [*contact_boards(), np.array(on_the_bar, np.int8), np.array(LAST_ROLLS.board, np.int8)]
    slow = [local_volatility_by(shipped_player(), Position(board.tolist())) for board in boards]
    found = [local_volatility(shipped_networks(), NO_TABLES, ALL_PLAYS, board, scratch) for board in boards]
    assert found == pytest.approx(slow, abs=1e-6)
    likely = [local_volatility(shipped_networks(), NO_TABLES, likely_plays(6), board, scratch) for board in boards]
    assert likely == pytest.approx(slow, abs=0.02)
    assert max(slow[:-1]) > 1.5 * np.median(slow)
    assert slow[-1] == pytest.approx(2 * 0.75 * 0.25)


def test_finished_game_has_no_volatility() -> None:
    with pytest.raises(InvalidPositionError):
        local_volatility_by(shipped_player(), Position([0, -1, *[0] * 24]))
