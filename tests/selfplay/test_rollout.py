"""Rollouts: trial by trial against a reference, and against values that are known exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.errors import InvalidPositionError, UsageError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff import map_tables
from bgdata.evaluation.bearoff_kernels import NO_TABLES, BearoffArrays
from bgdata.evaluation.chances import turned_chances
from bgdata.evaluation.choices import Chooser, chosen_boards
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.player import PubEval
from bgdata.game.board_kernels import game_outcomes
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.dice import ROLLS
from bgdata.game.play_kernels import batch_plays
from bgdata.game.position import START
from bgdata.kernel import read_only, threads
from bgdata.selfplay.rollout import (
    Limits,
    Rolled,
    RolloutResult,
    RolloutSettings,
    Values,
    difference_error,
    equities_of,
    roll_out,
    rolled_blocks,
    rolled_by,
)
from bgdata.selfplay.rollout_kernels import BLOCK, SUPERBLOCK, fill_blocks, fill_order
from bgdata.store.table import Table
from tests.evaluation.sample_networks import pips_player, random_networks, random_player
from tests.random_games import random_game_positions
from tests.reference.games import splitmix
from tests.reference.rollouts import Evaluator, ReferenceRollouts

DICE = np.array([(roll.high, roll.low) for roll in ROLLS], np.int8)
ROLL_CHANCES = np.array([roll.weight for roll in ROLLS]) / 36
START_BOARD = np.array([START.board], np.int8)
WHOLE_GAMES = RolloutSettings("end")
WITHOUT_LUCK = RolloutSettings("end", with_luck=False)
FOUR_TURNS = RolloutSettings("end", 4)
FIVE_TURNS = RolloutSettings("end", 5)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Table]:
    """A two-sided table of up to 4 checkers, and one-sided tables of 6 points."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("rollout"))
    race = RaceParameters(6)
    return {
        "two_sided": warehouse.build("bearoff_two_sided", TwoSidedParameters(6, 4)),
        "one_sided": warehouse.build("bearoff_one_sided", race),
        "gammon": warehouse.build("bearoff_gammon", race),
    }


@pytest.fixture(scope="module")
def exact_tables(tables: dict[str, Table]) -> BearoffArrays:
    """Tables that cover every position of up to 4 checkers a side."""
    return map_tables(tables["two_sided"], None, None)


@pytest.fixture(scope="module")
def distorted_tables(exact_tables: BearoffArrays) -> BearoffArrays:
    """The exact tables with cubed equities: a player with them plays perfectly, but misjudges every position."""
    equities = (
        exact_tables.equities
        if len(exact_tables.equities)
        else exact_tables.codes * (exact_tables.two_sided_limit / 32767.5) - 1.0
    )
    cubed = read_only((equities.astype(np.float64) ** 3).astype(np.float32))
    return exact_tables._replace(equities=cubed, codes=NO_TABLES.codes)


def random_chooser(seed: int, tables: BearoffArrays = NO_TABLES) -> Chooser:
    """The chooser of a player with random networks."""
    return NetworkPlayer(random_networks(seed, 10.0), tables).chooser


def bearoff_boards(count: int, most_checkers: int, seed: int) -> Boards:
    """int8[n, 26]: random bearoffs with 1 to `most_checkers` checkers of each side at home."""
    generator = np.random.default_rng(seed)
    boards = np.zeros((count, 26), np.int8)
    for board in boards:
        for point in generator.integers(1, 7, generator.integers(1, most_checkers + 1)):
            board[point] += 1
        for point in generator.integers(1, 7, generator.integers(1, most_checkers + 1)):
            board[25 - point] -= 1
    return boards


def gammon_boards(count: int, seed: int) -> Boards:
    """int8[n, 26]: 3 or 4 checkers of one side near the end, and all 15 of the other, one not home yet. The player on
    roll has 15 in every other board."""
    generator = np.random.default_rng(seed)
    boards = np.zeros((count, 26), np.int8)
    for board in boards:
        for point in generator.integers(1, 4, generator.integers(3, 5)):
            board[point] += 1
        for point in (*generator.integers(1, 3, 14), generator.integers(8, 14)):
            board[25 - point] -= 1
    boards[1::2] = flip_boards(boards[1::2])
    return boards


def enumerated_chances(chooser: Chooser, boards: Boards) -> NDArray[np.float64]:
    """float64[n, 5]: the exact chances if the player plays both sides, by enumeration of all rolls."""
    # forwards: the different positions after each turn, and the row of the position that follows each roll
    positions_by_turn = [np.unique(boards, axis=0)]
    followers_by_turn = []
    while len(positions_by_turn[-1]):
        positions = positions_by_turn[-1]
        unfinished = positions[game_outcomes(positions) == 0]
        after_rolls = chosen_boards(
            chooser, np.repeat(unfinished, len(ROLLS), axis=0), np.tile(DICE, (len(unfinished), 1))
        )
        next_positions, followers = np.unique(after_rolls, axis=0, return_inverse=True)
        positions_by_turn.append(next_positions)
        followers_by_turn.append(followers.reshape(-1, len(ROLLS)))
    # backwards: the mean over the rolls of the chances after each
    chances = np.zeros((0, 5))
    for positions, followers in zip(positions_by_turn[-2::-1], followers_by_turn[::-1], strict=True):
        after_turn = chances[:, [0, 3, 4, 1, 2]]  # of the player who moved
        after_turn[:, 0] = 1 - after_turn[:, 0]
        outcomes = game_outcomes(positions)
        ends = [outcomes > 0, outcomes > 1, outcomes > 2, outcomes < -1, outcomes < -2]
        chances = np.stack(ends, axis=1).astype(np.float64)
        if len(followers):
            chances[outcomes == 0] = (after_turn[followers] * ROLL_CHANCES[:, None]).sum(axis=1)
    rows = {board.tobytes(): row for row, board in enumerate(positions_by_turn[0])}
    return chances[[rows[board.tobytes()] for board in boards]]


def check_scores(result: RolloutResult, chances: NDArray[np.float64], settings: RolloutSettings) -> None:
    """Check a rollout of ten blocks: deviations of each chance and of the equity, in standard errors, have a mean near
    0 and a variance near that of Student's distribution with nine degrees of freedom, 9 / 7."""
    variance = 9 / 7
    exact = np.column_stack([chances, equities_of(chances)])
    rolled_out = np.column_stack([result.chances, result.equities])
    errors = np.column_stack([result.standard_errors, result.equity_standard_errors])
    n_checked = 0
    for column in range(6):
        # standard errors of rare events, from a few games, are unreliable
        events = exact[:, [column]] if column < 5 else chances[:, [0, 1, 3]]
        is_frequent = (np.abs(events - 0.5) < 0.4).any(axis=1) & (errors[:, column] > 1e-6)
        scores = (rolled_out - exact)[is_frequent, column] / errors[is_frequent, column]
        if len(scores) < 50:
            continue
        n_checked += 1
        assert abs(scores.mean()) < 4 * np.sqrt(variance / len(scores)), (column, scores.mean())
        assert 0.5 * variance < (scores**2).mean() < 1.6 * variance, (column, (scores**2).mean())
    assert n_checked >= 2
    # without any deviation: decided by two rolls, or so rare that 360 games without subtracted luck had none
    is_constant = errors <= 1e-6
    assert rolled_out[is_constant] == pytest.approx(exact[is_constant], abs=1e-6 if settings.with_luck else 0.03)


def reductions_of(result: RolloutResult) -> NDArray[np.float64]:
    """How many times smaller subtracting luck made each standard error."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(result.plain_standard_errors / result.equity_standard_errors)


def assert_same(result: RolloutResult, expected: RolloutResult) -> None:
    for name, values in result._asdict().items():
        assert np.array_equal(values, getattr(expected, name)), name


def reference_evaluator(tables: BearoffArrays, seed: int) -> Evaluator:
    """The static evaluations of random networks, as the reference asks for them."""

    def evaluate(boards: Sequence[list[int]]) -> tuple[list[list[float]], list[int]]:
        chances, sources = evaluations(random_networks(seed), tables, np.array(boards, np.int8))
        return chances.astype(np.float64).tolist(), sources.tolist()

    return evaluate


@pytest.mark.parametrize(
    ("stop", "ply", "turns", "likely"),
    [("end", 0, 0, 5), ("exact", 1, 0, 5), ("tables", 2, 0, 0), ("end", 0, 2, 3), ("end", 0, 2, 0), ("exact", 1, 1, 5)],
)
def test_trials_match_the_reference(tables: dict[str, Table], stop: str, ply: int, turns: int, likely: int) -> None:
    """The means of blocks of trials equal those of a reference in plain Python, for each place where trials may end."""
    arrays = map_tables(tables["two_sided"], tables["one_sided"], tables["gammon"])
    boards = bearoff_boards(3, 3 if ply == 0 else 5, seed=5)
    boards[2] = random_game_positions(1, 3).boards[40] if turns == 2 else gammon_boards(1, seed=6)[0]
    items = np.array([7, 0, 1 << 33])
    first_blocks = np.array([0, 35, 36])
    settings = RolloutSettings(stop, turns, likely=likely).for_kernels(9)
    blocks = np.empty((3, 1, 2, 5))
    fill_blocks(0, 3, random_chooser(1, arrays), settings, boards, items, first_blocks, blocks)

    reference = ReferenceRollouts(reference_evaluator(arrays, 1), splitmix, ply, turns, likely)
    for row in range(3):
        ends, lucks = reference.block(boards[row].tolist(), 9, int(items[row]), int(first_blocks[row]))
        assert blocks[row, 0, 0] == pytest.approx(np.mean(ends, axis=0), abs=1e-6)
        assert blocks[row, 0, 1] == pytest.approx(np.mean(lucks, axis=0), abs=1e-6)


@pytest.mark.parametrize("settings", [WHOLE_GAMES, WITHOUT_LUCK, RolloutSettings(turns=3, play_ply=1)])
def test_blocks_do_not_depend_on_others(settings: RolloutSettings) -> None:
    """Blocks have the same results alone and together, although values of the first two rolls are kept for one
    position."""
    boards = random_game_positions(1, 3).boards[8:12]
    items = np.arange(4)
    first_blocks = np.array([0, 2, 0, 35])
    arguments = random_chooser(1), settings.for_kernels(3), boards, items, first_blocks
    together = np.empty((4, 3, 2, 5))
    alone = np.empty((4, 3, 2, 5))
    fill_blocks(0, 12, *arguments, together)
    for block in range(12):
        fill_blocks(block, block + 1, *arguments, alone)
    assert together.tobytes() == alone.tobytes()
    assert len(np.unique(together.reshape(12, 10), axis=0)) == 12


def test_second_rolls_are_stratified() -> None:
    """A block has every first and every second roll once; 36 blocks have every pair of the two."""
    order = np.empty(BLOCK, np.int64)
    orders = set()
    for stream in range(50):
        fill_order(np.uint64(stream), order)
        assert sorted(order.tolist()) == list(range(BLOCK))
        orders.add(order.tobytes())
    assert len(orders) == 50
    pairs = {(first, int(order[(first + block) % BLOCK])) for block in range(BLOCK) for first in range(BLOCK)}
    assert len(pairs) == SUPERBLOCK


@pytest.mark.parametrize("settings", [WHOLE_GAMES, WITHOUT_LUCK], ids=["with luck", "without luck"])
def test_perfect_play_gives_exact_chances(
    exact_tables: BearoffArrays, distorted_tables: BearoffArrays, settings: RolloutSettings
) -> None:
    """If the player plays perfectly and evaluates badly, the mean is still the exact chance."""
    boards = bearoff_boards(300, most_checkers=4, seed=1)
    result = roll_out(boards, random_chooser(0, distorted_tables), 10 * BLOCK, 1, settings)
    exact = evaluations(random_networks(0), exact_tables, boards).chances.astype(np.float64)
    check_scores(result, exact, settings)
    reduction = np.median(reductions_of(result)[result.equity_standard_errors > 1e-3])
    assert reduction == 1 if settings is WITHOUT_LUCK else reduction > 2


def test_exact_luck_removes_all_noise(exact_tables: BearoffArrays) -> None:
    boards = bearoff_boards(50, most_checkers=4, seed=2)
    result = roll_out(boards, random_chooser(0, exact_tables), 2 * BLOCK, 1, RolloutSettings("end", likely=0))
    exact = evaluations(random_networks(0), exact_tables, boards).chances
    assert result.chances == pytest.approx(exact, abs=2e-6)
    assert result.standard_errors.max() < 1e-6
    assert result.plain_standard_errors.max() > 0.1


@pytest.mark.parametrize("settings", [WHOLE_GAMES, WITHOUT_LUCK], ids=["with luck", "without luck"])
def test_gammon_chances_equal_enumeration(settings: RolloutSettings) -> None:
    boards = gammon_boards(200, seed=3)
    result = roll_out(boards, random_chooser(0), 10 * BLOCK, 1, settings)
    check_scores(result, enumerated_chances(random_chooser(0), boards), settings)


def test_luck_of_gammons_is_subtracted(tables: dict[str, Table]) -> None:
    """Subtracting luck leaves little noise in every chance, because one-sided tables are nearly exact about gammons
    too."""
    nearly_won = np.zeros(26, np.int8)
    nearly_won[[1, 2]] = 2, 1
    nearly_won[[19, 20]] = -11, -4
    boards = np.stack([nearly_won, flip_boards(nearly_won[None])[0]])
    arrays = map_tables(None, tables["one_sided"], tables["gammon"])
    plain = roll_out(boards, random_chooser(0, arrays), 10 * BLOCK, 1, WITHOUT_LUCK)
    adjusted = roll_out(boards, random_chooser(0, arrays), 10 * BLOCK, 1, WHOLE_GAMES)
    for board, chance in ((0, 1), (1, 3)):  # winning and losing a gammon
        assert plain.standard_errors[board, chance] > 0.005
        assert plain.standard_errors[board, chance] > 10 * adjusted.standard_errors[board, chance]
    static = evaluations(random_networks(0), arrays, boards).chances
    assert adjusted.chances == pytest.approx(static, abs=0.002)


@pytest.mark.parametrize("play_ply", [0, 1])
def test_luck_averages_to_zero(play_ply: int) -> None:
    """Subtracting luck keeps the games and the mean."""
    boards = random_game_positions(1, seed=4).boards[[9, 20]]
    settings = FOUR_TURNS._replace(play_ply=play_ply)
    adjusted = roll_out(boards, random_chooser(0), 4 * BLOCK, 1, settings)
    plain = roll_out(boards, random_chooser(0), 4 * BLOCK, 1, settings._replace(with_luck=False))
    assert np.array_equal(adjusted.plain_standard_errors, plain.equity_standard_errors)
    assert np.array_equal(plain.plain_standard_errors, plain.equity_standard_errors)
    errors = np.hypot(adjusted.equity_standard_errors, plain.equity_standard_errors)
    assert (np.abs(adjusted.equities - plain.equities) < 4 * errors).all()
    with threads(1):
        assert_same(roll_out(boards, random_chooser(0), 4 * BLOCK, 1, settings), adjusted)


def test_subtracting_luck_makes_the_error_smaller() -> None:
    settings = RolloutSettings("end", 10)
    adjusted = roll_out(START_BOARD, pips_player().chooser, 2 * BLOCK, 3, settings)
    plain = roll_out(START_BOARD, pips_player().chooser, 2 * BLOCK, 3, settings._replace(with_luck=False))
    assert adjusted.plain_standard_errors == plain.equity_standard_errors == plain.plain_standard_errors
    assert adjusted.equity_standard_errors < plain.equity_standard_errors


@pytest.mark.parametrize("play_ply", [0, 1])
def test_trials_of_one_turn_equal_the_player(play_ply: int, exact_tables: BearoffArrays) -> None:
    """A block truncated after one roll is the mean over all 36 rolls of the static evaluation after the player's
    plays, so no noise is left."""
    player = NetworkPlayer(random_networks(0, 10.0), exact_tables).with_all_plays()
    boards = np.concatenate([random_game_positions(1, seed=4).boards[::9], bearoff_boards(4, 4, seed=3)])
    settings = RolloutSettings("end", 1, likely=0)
    result = roll_out(boards, player.chooser, 2 * BLOCK, 1, settings._replace(play_ply=play_ply))

    chooser = LookaheadPlayer(player, 1) if play_ply else player
    after_play = chooser.choose_plays(np.repeat(boards, len(DICE), axis=0), np.tile(DICE, (len(boards), 1)))
    chances = turned_chances(evaluations(player.networks, exact_tables, after_play).chances)
    expected = (chances.reshape(len(boards), len(DICE), 5) * ROLL_CHANCES[:, None]).sum(axis=1)
    assert result.chances == pytest.approx(expected, abs=1e-6)
    assert result.standard_errors.max() < 1e-6
    at_other_ply = roll_out(boards, player.chooser, 2 * BLOCK, 1, settings._replace(play_ply=1 - play_ply))
    assert (np.abs(result.equities - at_other_ply.equities) > 1e-4).any()


def test_results_depend_on_items_and_the_seed_alone() -> None:
    """The result of a board does not depend on other boards or on threads."""
    boards = random_game_positions(3, seed=5).boards[[0, 20, 40, 60, 80]]
    chooser = random_chooser(0)
    result = roll_out(boards, chooser, 3 * BLOCK, 4, FOUR_TURNS)
    with threads(1):
        assert_same(roll_out(boards, chooser, 3 * BLOCK, 4, FOUR_TURNS), result)
    for row in range(len(boards)):
        alone = roll_out(boards[[row]], chooser, 3 * BLOCK, 4, FOUR_TURNS, items=np.array([row]))
        assert_same(alone, result.rows(np.array([row])))
    other_seed = roll_out(boards, chooser, 3 * BLOCK, 5, FOUR_TURNS)
    assert not np.array_equal(result.chances, other_seed.chances)
    same_item = roll_out(boards[[0, 0]], chooser, 3 * BLOCK, 4, FOUR_TURNS, items=np.array([6, 6]))
    assert np.array_equal(same_item.chances[0], same_item.chances[1])


def test_rounds_stop_at_the_standard_error() -> None:
    """Boards get rounds until their standard error is small enough or they have the maximum number of trials."""
    boards = random_game_positions(3, seed=5).boards[[0, 20, 40, 60, 80, 100]]
    chooser = random_chooser(0)
    settings = RolloutSettings("end", 6)
    one_round = roll_out(boards, chooser, 2 * BLOCK, 4, settings)
    until = float(np.median(one_round.equity_standard_errors))
    result = roll_out(boards, chooser, Limits(2 * BLOCK, until, 6 * BLOCK), 4, settings)
    assert result.trials.min() == 2 * BLOCK
    assert result.trials.max() > 2 * BLOCK
    is_done = result.equity_standard_errors <= until
    assert (result.trials[~is_done] == 6 * BLOCK).all()
    for row, trials in enumerate(result.trials.tolist()):
        alone = roll_out(boards[[row]], chooser, trials, 4, settings, items=np.array([row]))
        assert_same(alone, result.rows(np.array([row])))


def test_finished_and_covered_positions_have_no_error(exact_tables: BearoffArrays) -> None:
    finished = np.zeros(26, np.int8)
    finished[[24, 20]] = -14, -1
    covered = np.zeros(26, np.int8)
    covered[[1, 2, 24]] = 1, 2, -3
    result = roll_out(np.stack([finished, covered]), random_chooser(0, exact_tables), 2 * BLOCK)
    assert result.chances[0].tolist() == [1, 1, 0, 0, 0]
    assert result.equities[0] == 2
    exact = evaluations(random_networks(0), exact_tables, covered[None]).chances[0]
    assert result.chances[1] == pytest.approx(exact)
    assert not result.standard_errors.any()
    assert not result.equity_standard_errors.any()


def test_legal_chances_are_limited_and_ordered() -> None:
    chances = np.array([[1.01, 1.02, -0.01, -0.02, 0.01], [0.4, 0.5, 0.45, 0.7, 0.65]])
    zeros = np.zeros(2)
    result = RolloutResult(chances, chances, zeros, zeros, zeros, np.zeros(2, np.int64))
    expected = [[1, 1, 0, 0, 0], [0.4, 0.4, 0.4, 0.6, 0.6]]
    assert result.legal_chances() == pytest.approx(np.array(expected, np.float32))
    assert result.legal_chances().dtype == np.float32


def test_no_positions_give_empty_results() -> None:
    result = roll_out(np.empty((0, 26), np.int8), random_chooser(0))
    assert [len(values) for values in result] == [0] * 6


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(-36), "a multiple of 36 trials, at least 72, got -36"),
        (Limits(0), "a multiple of 36 trials, at least 72, got 0"),
        (Limits(36), "a multiple of 36 trials, at least 72, got 36"),
        (Limits(73), "a multiple of 36 trials, at least 72, got 73"),
        (Limits((1 << 40) + 20), "at most 1,099,511,627,776 trials, got 1099511627796"),  # a multiple of 36
        (Limits(72, 0.0, 72), "a standard error above 0, got 0.0"),
        (Limits(72, -1.0, 72), "a standard error above 0, got -1.0"),
        (Limits(72, math.nan, 72), "a standard error above 0, got nan"),
        (Limits(72, 1e-200, 72), "a standard error from 1e-50 to 1000, got 1e-200"),
        (Limits(72, 0.1, -72), "most trials to be a multiple of 72, got -72"),
        (Limits(72, 0.1, 36), "most trials to be a multiple of 72, got 36"),
        (Limits(72, 0.1, 100), "most trials to be a multiple of 72, got 100"),
    ],
)
def test_invalid_limits_are_refused(limits: Limits, message: str) -> None:
    with pytest.raises(UsageError, match=f"^expected {message}"):
        roll_out(START_BOARD, random_chooser(0), limits)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (RolloutSettings(turns=-1), "0 turns"),
        (RolloutSettings(play_ply=2), "plays chosen at 0-ply or 1-ply, got 2-ply"),
        (RolloutSettings(likely=-1), "1 to 21 likely plays of a roll, or 0 for all"),
        (RolloutSettings(likely=22), "1 to 21 likely plays of a roll, or 0 for all"),
        (RolloutSettings("soon"), "a rollout to stop at one of end, exact, tables, got 'soon'"),
    ],
)
def test_invalid_settings_are_refused(settings: RolloutSettings, message: str) -> None:
    with pytest.raises(UsageError, match=f"^expected {message}"):
        roll_out(START_BOARD, random_chooser(0), 72, settings=settings)


def test_invalid_seeds_and_items_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^expected a seed"):
        roll_out(START_BOARD, random_chooser(0), 72, seed=-1)
    with pytest.raises(UsageError, match=r"^expected 1 items"):
        roll_out(START_BOARD, random_chooser(0), 72, items=np.array([1, 2]))
    with pytest.raises(UsageError, match=r"^expected 1 items not below 0"):
        roll_out(START_BOARD, random_chooser(0), 72, items=np.array([-1]))


def test_invalid_boards_and_players_are_refused() -> None:
    with pytest.raises(InvalidPositionError):
        roll_out(np.full((1, 26), 3, np.int8), random_chooser(0), 72)
    with pytest.raises(InvalidPositionError, match="int8"):
        roll_out(np.zeros((1, 26), np.int64), random_chooser(0), 72)
    with pytest.raises(UsageError, match="expected a player with networks"):
        roll_out(START_BOARD, Chooser(0), 72)


@cache
def boards_after_opening() -> Boards:
    """The boards after two plays of an opening 31, with the opponent on roll."""
    return flip_boards(batch_plays(START_BOARD, np.array([[3, 1]], np.int8))[1])[:2]


def rolled_while_open(open_after: list[list[bool]], limits: Limits) -> tuple[list[Values], list[list[int]]]:
    """Roll out two plays that are open after each round as `open_after` says. Returns their blocks, and the number of
    blocks of each at every round."""
    answers = iter(open_after)
    counts = list[list[int]]()

    def still_open(blocks: list[Values]) -> NDArray[np.bool_]:
        counts.append([len(blocks_of_play) for blocks_of_play in blocks])
        return np.array(next(answers))

    items = np.full(2, 3)
    blocks = rolled_blocks(boards_after_opening(), pips_player().chooser, 5, FOUR_TURNS, limits, items, still_open)
    return blocks, counts


def test_reopened_play_continues_with_its_next_games() -> None:
    limits = Limits(2 * BLOCK, 1e-9, 12 * BLOCK)
    blocks, counts = rolled_while_open([[True, False], [True, True], [False, True], [False, False]], limits)
    assert counts == [[2, 2], [4, 2], [6, 4], [6, 6]]
    expected, _ = rolled_while_open([[False, False]], Limits(6 * BLOCK))
    assert np.array_equal(blocks, expected)


def test_games_of_each_play_are_limited() -> None:
    _, counts = rolled_while_open([[True, False], [True, True], [True, True]], Limits(2 * BLOCK, 1e-9, 4 * BLOCK))
    assert counts == [[2, 2], [4, 2], [4, 4]]
    _, counts = rolled_while_open([[True, True]], Limits(2 * BLOCK))
    assert counts == [[2, 2]]


def test_difference_error_equals_simulation() -> None:
    """The simulation draws many correlated pairs, of which one side has more values than the other."""
    generator = np.random.default_rng(1)
    n, m, draws = 30, 12, 4000
    shared = generator.normal(size=(draws, n))
    first = shared + 0.5 * generator.normal(size=(draws, n))
    second = (shared + 0.5 * generator.normal(size=(draws, n)))[:, :m]
    spread = (first.mean(axis=1) - second.mean(axis=1)).std()
    errors = np.array([difference_error(first[draw], second[draw]) for draw in range(300)])
    assert np.sqrt((errors**2).mean()) == pytest.approx(spread, rel=0.05)
    assert difference_error(second[0], first[0]) == pytest.approx(difference_error(first[0], second[0]))
    differences = first[0] - first[1]
    assert difference_error(first[0], first[1]) == pytest.approx(differences.std(ddof=1) / np.sqrt(n))


ITEMS = np.array([3, 1, 4, 1])


@cache
def game_boards(settings: RolloutSettings) -> Boards:
    """Four boards of one game. For whole games they are late ones, without contact, because random networks may never
    end other games."""
    return random_game_positions(1, seed=4).boards[[-12, -9, -6, -3] if settings == WHOLE_GAMES else [0, 9, 20, -3]]


class OtherPlayer:
    """A network that plays outside kernels."""

    label = version = "asked"

    def __init__(self, player: NetworkPlayer | LookaheadPlayer) -> None:
        self.player = player

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        return self.player.choose_plays(boards, rolls)


def rolled_by_player(player: Any, settings: RolloutSettings = FIVE_TURNS, judge: NetworkPlayer | None = None) -> Rolled:
    """A function that rolls out blocks of ITEMS by `player`; `judge` measures luck, by default random networks."""
    chooser = (judge or random_player(0)).chooser
    return rolled_by(player, game_boards(settings), chooser, 7, settings, ITEMS)


def rollout_by(
    blocks: int, settings: RolloutSettings, player: Any, judge: NetworkPlayer | None = None
) -> RolloutResult:
    """A rollout of ITEMS by `player`."""

    def wrap(_: Rolled) -> Rolled:
        return rolled_by_player(player, settings, judge)

    chooser = (judge or random_player(0)).chooser
    return roll_out(game_boards(settings), chooser, blocks * BLOCK, 7, settings, items=ITEMS, wrap=wrap)


def rollout_by_kernel(blocks: int, settings: RolloutSettings) -> RolloutResult:
    """A rollout of ITEMS by the kernel, with random networks."""
    return roll_out(game_boards(settings), random_player(0).chooser, blocks * BLOCK, 7, settings, items=ITEMS)


@pytest.mark.parametrize("settings", [FIVE_TURNS, WHOLE_GAMES, FIVE_TURNS._replace(with_luck=False, likely=0)])
@pytest.mark.parametrize("is_known", [True, False], ids=["known", "other"])
def test_player_rollout_equals_the_kernel(is_known: bool, settings: RolloutSettings) -> None:
    player: Any = random_player(0) if is_known else OtherPlayer(random_player(0))
    assert_same(rollout_by(4, settings, player), rollout_by_kernel(4, settings))


def test_lookahead_player_rollout_equals_the_kernel() -> None:
    """A player that looks ahead outside kernels gives the rollout of the kernel: both consider all plays and filter the
    same ones."""
    settings = RolloutSettings("end", 3, likely=0, play_ply=1)
    result = rollout_by(2, settings, OtherPlayer(LookaheadPlayer(random_player(0).with_all_plays(), 1)))
    assert np.array_equal(result.equities, rollout_by_kernel(2, settings).equities)


def test_some_rows_give_the_same_blocks() -> None:
    roll_out_blocks = rolled_by_player(random_player(0))
    blocks = roll_out_blocks(np.arange(4), np.zeros(4, np.int64), 5)
    some_blocks = roll_out_blocks(np.array([2, 0]), np.array([3, 1]), 2)
    assert np.array_equal(some_blocks, [blocks[2, 3:], blocks[0, 1:3]])
    with threads(1):
        assert np.array_equal(roll_out_blocks(np.arange(4), np.zeros(4, np.int64), 5), blocks)


def test_luck_of_another_player_averages_to_zero() -> None:
    """PubEval's rollouts, with luck measured by networks that count pips, agree with those without luck."""
    settings = RolloutSettings("end", 6)
    adjusted = rollout_by(36, settings, PubEval(), judge=pips_player())
    plain = rollout_by(36, settings._replace(with_luck=False), PubEval(), judge=pips_player())
    assert adjusted.plain_standard_errors == pytest.approx(plain.equity_standard_errors)
    errors = np.hypot(adjusted.equity_standard_errors, plain.equity_standard_errors)
    assert (np.abs(adjusted.equities - plain.equities) < 4 * errors + 1e-9).all()
    assert (reductions_of(adjusted)[:3] > 1).all()


def test_invalid_answers_of_a_player_are_refused() -> None:
    class ShortAnswers(OtherPlayer):
        def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
            return super().choose_plays(boards, rolls)[:-1]

    with pytest.raises(InvalidPositionError, match="expected 288 boards from player asked, got int8"):
        rollout_by(2, FIVE_TURNS, ShortAnswers(random_player(0)))
