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
    PLAIN,
    Limits,
    Rolled,
    RolloutResult,
    RolloutSettings,
    Values,
    difference_error,
    open_groups,
    roll_out,
    rolled_blocks,
    rolled_by,
)
from bgdata.selfplay.rollout_kernels import BLOCK, SUPERBLOCK, fill_blocks, fill_order
from bgdata.store.table import Table
from tests.evaluation.sample_networks import pips_networks, pips_player, random_networks, random_player
from tests.random_games import random_game_positions
from tests.reference.games import splitmix
from tests.reference.rollouts import Evaluator, ReferenceRollouts
from tests.subtests import each

DICE = np.array([(roll.high, roll.low) for roll in ROLLS], np.int8)
WEIGHTS = np.array([roll.weight for roll in ROLLS]) / 36
START_BOARD = np.array([START.board], np.int8)
WHOLE_GAMES = RolloutSettings("end")
FEW_TRIALS = Limits(72)
WITHOUT_LUCK = RolloutSettings("end", with_luck=False)


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
    """The tables of `exact` with cubed equities: a player with them plays perfectly, but misjudges every position."""
    equities = (
        exact_tables.equities
        if len(exact_tables.equities)
        else exact_tables.codes * (exact_tables.two_sided_limit / 32767.5) - 1.0
    )
    cubes = read_only((equities.astype(np.float64) ** 3).astype(np.float32))
    return exact_tables._replace(equities=cubes, codes=NO_TABLES.codes)


def chooser_of(number: int = 0, tables: BearoffArrays = NO_TABLES, size: float = 10.0) -> Chooser:
    return NetworkPlayer(random_networks(number, size), tables).chooser


def bearoff_boards(count: int, most: int, seed: int) -> Boards:
    """int8[n, 26]: random bearoffs with 1 to `most` checkers of each side at home."""
    generator = np.random.default_rng(seed)
    boards = np.zeros((count, 26), np.int8)
    for board in boards:
        for side in (1, -1):
            for point in generator.integers(1, 7, generator.integers(1, most + 1)):
                board[point if side == 1 else 25 - point] += side
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


def values_by_policy(chooser: Chooser, boards: Boards) -> NDArray[np.float64]:
    """float64[n, 5]: the exact chances if the player plays both sides, by enumeration of all rolls."""
    levels, links = [np.unique(boards, axis=0)], []
    while len(levels[-1]):
        is_open = game_outcomes(levels[-1]) == 0
        asked = np.repeat(levels[-1][is_open], len(ROLLS), axis=0)
        chosen = chosen_boards(chooser, asked, np.tile(DICE, (int(is_open.sum()), 1)))
        following, link = np.unique(chosen, axis=0, return_inverse=True)
        links.append((is_open, link.reshape(-1, len(ROLLS))))
        levels.append(following)
    values = np.zeros((0, 5))
    for level, (is_open, link) in zip(levels[-2::-1], links[::-1], strict=True):
        own = values[:, [0, 3, 4, 1, 2]]
        own[:, 0] = 1 - own[:, 0]
        outcomes = game_outcomes(level)
        ends = np.stack([outcomes > 0, outcomes > 1, outcomes > 2, outcomes < -1, outcomes < -2], axis=1)
        values = ends.astype(np.float64)
        if is_open.any():
            values[is_open] = (own[link] * WEIGHTS[:, None]).sum(axis=1)
    rows = {board.tobytes(): row for row, board in enumerate(levels[0])}
    return values[[rows[board.tobytes()] for board in boards]]


def check_scores(result: RolloutResult, chances: NDArray[np.float64], settings: RolloutSettings) -> None:
    """Check ten blocks: deviations of each chance and of the equity, in standard errors, have a mean near 0 and a
    variance near that of Student's distribution."""
    equities = chances @ np.array([2.0, 1.0, 1.0, -1.0, -1.0]) - 1.0
    exact = np.column_stack([chances, equities])
    found = np.column_stack([result.chances, result.equities])
    errors = np.column_stack([result.standard_errors, result.equity_standard_errors])
    columns = 0
    for column in range(6):
        # rare events: standard errors from a few games are unreliable
        chosen = exact[:, [column]] if column < 5 else chances[:, [0, 1, 3]]
        is_open = (np.abs(chosen - 0.5) < 0.4).any(axis=1) & (errors[:, column] > 1e-6)
        scores = (found - exact)[is_open, column] / errors[is_open, column]
        if len(scores) < 50:
            continue
        columns += 1
        variance = 9 / 7
        assert abs(scores.mean()) < 4 * np.sqrt(variance / len(scores)), (column, scores.mean())
        assert 0.5 * variance < (scores**2).mean() < 1.6 * variance, (column, (scores**2).mean())
    assert columns >= 2
    still = (
        errors <= 1e-6
    )  # decided by two rolls; and what never happened in 360 games is rare, and with luck seen for what it is
    assert found[still] == pytest.approx(exact[still], abs=1e-6 if settings.with_luck else 0.03)


def reductions_of(result: RolloutResult) -> NDArray[np.float64]:
    """How many times smaller subtracting luck made each standard error."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(result.plain_standard_errors / result.equity_standard_errors)


def assert_same(found: RolloutResult, expected: RolloutResult) -> None:
    for name, values in found._asdict().items():
        assert np.array_equal(values, getattr(expected, name)), name


def evaluator_of(tables: BearoffArrays, number: int) -> Evaluator:
    """The static evaluations of a network as the reference computes them."""

    def evaluate(boards: Sequence[list[int]]) -> tuple[list[list[float]], list[int]]:
        found = evaluations(random_networks(number), tables, np.array(boards, np.int8))
        return found.chances.astype(np.float64).tolist(), found.sources.tolist()

    return evaluate


@pytest.mark.parametrize(
    ("stop", "level", "turns", "likely"),
    [("end", 0, 0, 5), ("exact", 1, 0, 5), ("tables", 2, 0, 0), ("end", 0, 2, 3), ("end", 0, 2, 0), ("exact", 1, 1, 5)],
)
def test_trials_match_the_reference(tables: dict[str, Table], stop: str, level: int, turns: int, likely: int) -> None:
    """The means of blocks of trials equal those of a reference in plain Python, for each place where trials may end."""
    arrays = map_tables(tables["two_sided"], tables["one_sided"], tables["gammon"])
    chooser = chooser_of(1, arrays)
    boards = bearoff_boards(3, 3 if level == 0 else 5, 5)
    boards[2] = random_game_positions(1, 3).boards[40] if turns == 2 else gammon_boards(1, 6)[0]
    reference = ReferenceRollouts(evaluator_of(arrays, 1), splitmix, level, turns, likely)
    items, first = np.array([7, 0, 1 << 33]), np.array([0, 35, 36])
    blocks = np.empty((3, 1, 2, 5))
    settings = RolloutSettings(stop, turns, likely=likely).for_kernels(9)
    fill_blocks(0, len(boards), chooser, settings, boards, items, first, blocks)
    for board, item, number, found in zip(boards.tolist(), items.tolist(), first.tolist(), blocks[:, 0], strict=True):
        ends, lucks = reference.block(board, 9, item, number)
        assert found[0] == pytest.approx(np.mean(ends, axis=0), abs=1e-6)
        assert found[1] == pytest.approx(np.mean(lucks, axis=0), abs=1e-6)


@pytest.mark.parametrize("settings", [WHOLE_GAMES, WITHOUT_LUCK, RolloutSettings(turns=3, play_ply=1)])
def test_blocks_do_not_depend_on_others(settings: RolloutSettings) -> None:
    """Blocks have the same results alone and together, although values of the first two rolls are kept for one
    position."""
    boards = random_game_positions(1, 3).boards[8:12]
    kernel_settings = settings.for_kernels(3)
    chooser = chooser_of(1, NO_TABLES)
    items = np.arange(4)
    first = np.array([0, 2, 0, 35])
    together, alone = np.empty((4, 3, 2, 5)), np.empty((4, 3, 2, 5))
    fill_blocks(0, 12, chooser, kernel_settings, boards, items, first, together)
    for place in range(12):
        fill_blocks(place, place + 1, chooser, kernel_settings, boards, items, first, alone)
    assert together.tobytes() == alone.tobytes()
    assert len(np.unique(together.reshape(12, 10), axis=0)) == 12


def test_second_rolls_are_stratified() -> None:
    order = np.empty(BLOCK, np.int64)
    seen = set()
    for stream in range(50):
        fill_order(np.uint64(stream), order)
        assert sorted(order.tolist()) == list(range(BLOCK))
        seen.add(order.tobytes())
    assert len(seen) == 50
    pairs = {(first, int(order[(first + block) % BLOCK])) for block in range(BLOCK) for first in range(BLOCK)}
    assert len(pairs) == SUPERBLOCK


@pytest.mark.parametrize("settings", [WHOLE_GAMES, WITHOUT_LUCK])
def test_perfect_play_gives_exact_chances(
    exact_tables: BearoffArrays, distorted_tables: BearoffArrays, settings: RolloutSettings
) -> None:
    """If the player plays perfectly and evaluates badly, the mean is still the exact chance."""
    boards = bearoff_boards(300, 4, 1)
    result = roll_out(boards, chooser_of(0, distorted_tables), 10 * BLOCK, 1, settings)
    truth = evaluations(random_networks(0), exact_tables, boards).chances.astype(np.float64)
    check_scores(result, truth, settings)
    reduction = np.median(reductions_of(result)[result.equity_standard_errors > 1e-3])
    assert reduction == 1 if settings is WITHOUT_LUCK else reduction > 2


def test_exact_luck_removes_all_noise(exact_tables: BearoffArrays) -> None:
    boards = bearoff_boards(50, 4, 2)
    result = roll_out(boards, chooser_of(0, exact_tables), 2 * BLOCK, 1, RolloutSettings("end", likely=0))
    truth = evaluations(random_networks(0), exact_tables, boards).chances
    assert result.chances == pytest.approx(truth, abs=2e-6)
    assert result.standard_errors.max() < 1e-6
    assert result.plain_standard_errors.max() > 0.1


@pytest.mark.parametrize("settings", [WHOLE_GAMES, WITHOUT_LUCK])
def test_gammon_chances_equal_enumeration(settings: RolloutSettings) -> None:
    """Rolled-out chances of random networks agree with their exact chances, from an enumeration of all rolls."""
    chooser = chooser_of(0)
    boards = gammon_boards(200, 3)
    check_scores(roll_out(boards, chooser, 10 * BLOCK, 1, settings), values_by_policy(chooser, boards), settings)


def test_luck_of_gammons_is_subtracted(tables: dict[str, Table]) -> None:
    """Subtracting luck leaves little noise in every chance, because one-sided tables are nearly exact about gammons
    too."""
    boards = np.zeros((2, 26), np.int8)
    boards[0, [1, 2]], boards[0, [19, 20]] = (2, 1), (-11, -4)
    boards[1] = flip_boards(boards[:1])[0]
    chooser = chooser_of(0, map_tables(None, tables["one_sided"], tables["gammon"]))
    plain = roll_out(boards, chooser, 10 * BLOCK, 1, WITHOUT_LUCK)
    adjusted = roll_out(boards, chooser, 10 * BLOCK, 1, WHOLE_GAMES)
    assert plain.standard_errors[0, 1] > 0.005
    assert plain.standard_errors[1, 3] > 0.005
    assert (plain.standard_errors[[0, 1], [1, 3]] > 10 * adjusted.standard_errors[[0, 1], [1, 3]]).all()
    static = evaluations(random_networks(0), map_tables(None, tables["one_sided"], tables["gammon"]), boards).chances
    assert adjusted.chances == pytest.approx(static, abs=0.002)


def test_luck_does_not_change_the_games() -> None:
    board = START_BOARD
    chooser = NetworkPlayer(pips_networks(), NO_TABLES).chooser
    settings = RolloutSettings("end", 10)
    adjusted, plain = (
        roll_out(board, chooser, 2 * BLOCK, 3, each) for each in (settings, settings._replace(with_luck=False))
    )
    assert adjusted.plain_standard_errors == plain.equity_standard_errors == plain.plain_standard_errors
    assert adjusted.equity_standard_errors < plain.equity_standard_errors


def test_truncated_trials_end_with_the_static_evaluation() -> None:
    """After one roll the mean is the 1-ply value, and without luck no noise is left."""
    boards = random_game_positions(2, 8).boards[10:40:10]
    chooser = chooser_of(2)
    result = roll_out(boards, chooser, 2 * BLOCK, 1, RolloutSettings("end", 1))
    for board, chances, error in zip(boards, result.chances, result.standard_errors, strict=True):
        after = chosen_boards(chooser, np.tile(board, (len(ROLLS), 1)), DICE)
        found = evaluations(random_networks(2), NO_TABLES, after)
        assert chances == pytest.approx(WEIGHTS @ turned_chances(found.chances), abs=1e-6)
        assert error.max() < 1e-6


def test_results_depend_on_items_alone() -> None:
    """The result of a board depends on its item and the seed, not on other boards or on threads."""
    boards = random_game_positions(3, 5).boards[::20][:5]
    chooser = chooser_of(0)
    settings = RolloutSettings("end", 4)
    whole = roll_out(boards, chooser, 3 * BLOCK, 4, settings)
    with threads(1):
        single = roll_out(boards, chooser, 3 * BLOCK, 4, settings)
    assert_same(single, whole)
    for row in range(len(boards)):
        alone = roll_out(boards[row : row + 1], chooser, 3 * BLOCK, 4, settings, items=np.array([row]))
        assert_same(alone, whole.rows(np.array([row])))
    assert not np.array_equal(whole.chances, roll_out(boards, chooser, 3 * BLOCK, 5, settings).chances)
    same = roll_out(boards[[0, 0]], chooser, 3 * BLOCK, 4, settings, items=np.array([6, 6]))
    assert np.array_equal(same.chances[0], same.chances[1])


def test_rounds_stop_at_the_standard_error() -> None:
    """Boards get rounds until their standard error is small enough or they have the maximum number of trials."""
    boards = random_game_positions(3, 5).boards[::20][:6]
    chooser = chooser_of(0)
    settings = RolloutSettings("end", 6)
    first = roll_out(boards, chooser, 2 * BLOCK, 4, settings)
    until = float(np.median(first.equity_standard_errors))
    result = roll_out(boards, chooser, Limits(2 * BLOCK, until, 6 * BLOCK), 4, settings)
    assert set(result.trials.tolist()) >= {2 * BLOCK, 6 * BLOCK} - ({6 * BLOCK} if result.trials.max() < 200 else set())
    is_done = result.equity_standard_errors <= until
    assert (result.trials[~is_done] == 6 * BLOCK).all()
    for row, trials in enumerate(result.trials.tolist()):
        alone = roll_out(boards[row : row + 1], chooser, trials, 4, settings, items=np.array([row]))
        assert_same(alone, result.rows(np.array([row])))
    never = roll_out(boards, chooser, Limits(2 * BLOCK, 1e-9, 4 * BLOCK), 4, settings)
    assert (never.trials == 4 * BLOCK).all()
    assert (never.equity_standard_errors > 1e-9).all()


def test_finished_and_covered_positions_have_no_error(exact_tables: BearoffArrays) -> None:
    over, covered = np.zeros(26, np.int8), np.zeros(26, np.int8)
    over[[24, 20]] = -14, -1
    covered[[1, 2, 24]] = 1, 2, -3
    result = roll_out(np.stack([over, covered]), chooser_of(0, exact_tables), 2 * BLOCK)
    assert result.chances[0].tolist() == [1, 1, 0, 0, 0]
    assert result.equities[0] == 2
    expected = evaluations(random_networks(0), exact_tables, covered[None]).chances[0]
    assert result.chances[1] == pytest.approx(expected)
    assert not result.standard_errors.any()
    assert not result.equity_standard_errors.any()


def test_legal_chances_are_limited_and_ordered() -> None:
    chances = np.array([[1.01, 1.02, -0.01, -0.02, 0.01], [0.4, 0.5, 0.45, 0.7, 0.65]])
    nothing = np.zeros(2)
    result = RolloutResult(chances, chances, nothing, nothing, nothing, np.zeros(2, np.int64))
    expected = [[1, 1, 0, 0, 0], [0.4, 0.4, 0.4, 0.6, 0.6]]
    assert result.legal_chances() == pytest.approx(np.array(expected, np.float32))
    assert result.legal_chances().dtype == np.float32


def test_no_positions_give_empty_results() -> None:
    result = roll_out(np.empty((0, 26), np.int8), chooser_of(0))
    assert [len(values) for values in result] == [0] * 6


@each(
    ("settings", "limits", "arguments", "message"),
    [
        *((PLAIN, Limits(n), {}, "a multiple of 36 trials, at least 72") for n in (-36, 0, 36, 73, 100)),
        (PLAIN, Limits((1 << 40) + 20), {}, "at most 1,099,511,627,776 trials, got 1099511627796"),  # a multiple of 36
        (PLAIN, FEW_TRIALS, {"seed": -1}, "a seed"),
        (RolloutSettings(turns=-1), FEW_TRIALS, {}, "0 turns"),
        (RolloutSettings(play_ply=2), FEW_TRIALS, {}, "plays chosen at 0-ply or 1-ply, got 2-ply"),
        *(
            (RolloutSettings(likely=n), FEW_TRIALS, {}, "1 to 21 likely plays of a roll, or 0 for all")
            for n in (-1, 22)
        ),
        (RolloutSettings("soon"), FEW_TRIALS, {}, "a rollout to stop at one of end, exact, tables, got 'soon'"),
        (PLAIN, FEW_TRIALS, {"items": np.array([1, 2])}, "1 items"),
        (PLAIN, FEW_TRIALS, {"items": np.array([-1])}, "1 items not below 0"),
        *((PLAIN, Limits(72, until, 72), {}, "a standard error above 0") for until in (0.0, -1.0, math.nan)),
        *((PLAIN, Limits(72, 0.1, n), {}, "most trials to be a multiple of 72") for n in (-72, 36, 100)),
    ],
)
def test_invalid_numbers_are_refused(
    settings: RolloutSettings, limits: Limits, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=f"^expected {message}"):
        roll_out(START_BOARD, chooser_of(0), limits, settings=settings, **arguments)


def test_invalid_boards_and_players_are_refused() -> None:
    with pytest.raises(InvalidPositionError):
        roll_out(np.full((1, 26), 3, np.int8), chooser_of(0), 72)
    with pytest.raises(InvalidPositionError, match="int8"):
        roll_out(np.zeros((1, 26), np.int64), chooser_of(0), 72)
    with pytest.raises(UsageError, match="expected a player with networks"):
        roll_out(START_BOARD, Chooser(0), 72)


@pytest.mark.parametrize("number", [0, 1])
def test_plays_at_1_ply_equal_the_player(number: int, exact_tables: BearoffArrays) -> None:
    """A block truncated after one roll is the mean over all 36 first rolls of the static evaluation after the player's
    1-ply plays."""
    player = NetworkPlayer(random_networks(number, 10.0), exact_tables).with_all_plays()
    boards = np.concatenate([random_game_positions(1, seed=4).boards[::9], bearoff_boards(4, 4, 3)])
    found = roll_out(boards, player.chooser, 2 * BLOCK, 1, RolloutSettings("end", 1, False, likely=0, play_ply=1))
    plain = roll_out(boards, player.chooser, 2 * BLOCK, 1, RolloutSettings("end", 1, False, likely=0))
    chosen = LookaheadPlayer(player, 1).choose_plays(np.repeat(boards, len(DICE), 0), np.tile(DICE, (len(boards), 1)))
    own = turned_chances(evaluations(player.networks, exact_tables, chosen).chances).reshape(len(boards), len(DICE), 5)
    assert found.chances == pytest.approx((own * WEIGHTS[:, None]).sum(axis=1), abs=1e-6)
    assert (np.abs(found.equities - plain.equities) > 1e-4).any()


def test_luck_averages_to_zero_at_1_ply() -> None:
    """At 1-ply, subtracting luck keeps the mean; results are the same on any number of threads."""
    chooser = chooser_of(0)
    boards = random_game_positions(1, seed=4).boards[[9, 20]]
    settings = RolloutSettings("end", 4, play_ply=1)
    found = roll_out(boards, chooser, 4 * BLOCK, 1, settings)
    with threads(1):
        assert_same(roll_out(boards, chooser, 4 * BLOCK, 1, settings), found)
    plain = roll_out(boards, chooser, 4 * BLOCK, 1, settings._replace(with_luck=False))
    errors = np.hypot(found.equity_standard_errors, plain.equity_standard_errors)
    assert (np.abs(found.equities - plain.equities) < 4 * errors).all()
    assert plain.equity_standard_errors == pytest.approx(found.plain_standard_errors)


FOUR_TURNS = RolloutSettings("end", 4)


@cache
def opening_boards() -> Boards:
    return flip_boards(batch_plays(START_BOARD, np.array([[3, 1]], np.int8))[1])[:2]


def rolled_while_open(open_after: list[list[bool]], limits: Limits) -> tuple[list[Values], list[list[int]]]:
    """Roll out two plays that are open after each round as `open_after` says. Returns their blocks, and the number of
    blocks of each at every round."""
    answers = iter(open_after)
    seen = list[list[int]]()

    def still_open(blocks: list[Values]) -> NDArray[np.bool_]:
        seen.append([len(each) for each in blocks])
        return np.array(next(answers))

    return rolled_blocks(
        opening_boards(), pips_player().chooser, 5, FOUR_TURNS, limits, np.full(2, 3), still_open
    ), seen


def test_reopened_play_continues_with_its_next_games() -> None:
    limits = Limits(2 * BLOCK, 1e-9, 12 * BLOCK)
    blocks, seen = rolled_while_open([[True, False], [True, True], [False, True], [False, False]], limits)
    assert seen == [[2, 2], [4, 2], [6, 4], [6, 6]]
    once = Limits(6 * BLOCK)
    still_open = open_groups(np.zeros(2, np.int64), once)
    expected = rolled_blocks(opening_boards(), pips_player().chooser, 5, FOUR_TURNS, once, np.full(2, 3), still_open)
    for found, others in zip(blocks, expected, strict=True):
        assert np.array_equal(found, others)


def test_games_of_each_play_are_limited() -> None:
    _, seen = rolled_while_open([[True, False], [True, True], [True, True]], Limits(2 * BLOCK, 1e-9, 4 * BLOCK))
    assert seen == [[2, 2], [4, 2], [4, 4]]
    _, seen = rolled_while_open([[True, True]], Limits(2 * BLOCK))
    assert seen == [[2, 2]]


def test_difference_error_equals_simulation() -> None:
    """The simulation draws many correlated pairs, of which one side has more values than the other."""
    generator = np.random.default_rng(1)
    n, m, draws = 30, 12, 4000
    shared = generator.normal(size=(draws, n))
    first, second = shared + 0.5 * generator.normal(size=(draws, n)), shared + 0.5 * generator.normal(size=(draws, n))
    second = second[:, :m]
    spread = (first.mean(axis=1) - second.mean(axis=1)).std()
    stated = [difference_error(*pair) for pair in zip(first[:300], second[:300], strict=True)]
    assert np.sqrt(np.mean(np.square(stated))) == pytest.approx(spread, rel=0.05)
    assert difference_error(second[0], first[0]) == pytest.approx(difference_error(first[0], second[0]))
    same = first[0] - first[1]
    assert difference_error(first[0], first[1]) == pytest.approx(same.std(ddof=1) / np.sqrt(n))


ITEMS = np.array([3, 1, 4, 1])
FIVE_TURNS = RolloutSettings("end", 5)


@cache
def game_boards(settings: RolloutSettings) -> Boards:
    """The boards of one game. Without tables or truncation they are the last ones, without contact, because random
    networks may never end other games."""
    return random_game_positions(1, seed=4).boards[[-12, -9, -6, -3] if settings == WHOLE_GAMES else [0, 9, 20, -3]]


class OtherPlayer:
    """A network that plays outside kernels."""

    label = version = "asked"

    def __init__(self, player: NetworkPlayer | LookaheadPlayer) -> None:
        self.player = player

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        return self.player.choose_plays(boards, rolls)


def kernel_rollout(player: object, settings: RolloutSettings = FIVE_TURNS) -> Rolled:
    return rolled_by(player, game_boards(settings), random_player(0).chooser, 7, settings, ITEMS)  # type: ignore[arg-type]


def rollout_by(blocks: int, settings: RolloutSettings = FIVE_TURNS, player: object = None) -> RolloutResult:
    """A rollout of ITEMS by `player`, or by the kernel without one."""
    wrap = (lambda _: kernel_rollout(player, settings)) if player else (lambda kernel: kernel)
    boards = game_boards(settings)
    chooser = random_player(0).chooser
    return roll_out(boards, chooser, blocks * BLOCK, 7, settings, items=ITEMS, wrap=wrap)


@pytest.mark.parametrize("settings", [FIVE_TURNS, WHOLE_GAMES, FIVE_TURNS._replace(with_luck=False, likely=0)])
@pytest.mark.parametrize("known", [True, False])
def test_player_rollout_equals_the_kernel(known: bool, settings: RolloutSettings) -> None:
    found = rollout_by(4, settings, random_player(0) if known else OtherPlayer(random_player(0)))
    assert_same(found, rollout_by(4, settings))


def test_lookahead_player_rollout_equals_the_kernel() -> None:
    """A player that looks ahead outside kernels gives the rollout of the kernel: both consider all plays and filter the
    same ones."""
    settings = RolloutSettings("end", 3, likely=0, play_ply=1)
    found = rollout_by(2, settings, OtherPlayer(LookaheadPlayer(random_player(0).with_all_plays(), 1)))
    assert np.array_equal(found.equities, rollout_by(2, settings).equities)


def test_some_rows_give_the_same_blocks() -> None:
    blocks = kernel_rollout(random_player(0))(np.arange(4), np.zeros(4, np.int64), 5)
    some = kernel_rollout(random_player(0))(np.array([2, 0]), np.array([3, 1]), 2)
    assert np.array_equal(some, [blocks[2, 3:], blocks[0, 1:3]])
    with threads(1):
        assert np.array_equal(kernel_rollout(random_player(0))(np.arange(4), np.zeros(4, np.int64), 5), blocks)


def test_luck_of_another_player_averages_to_zero() -> None:
    """PubEval's rollouts, with luck measured by networks that count pips, agree with those without luck."""
    chooser = pips_player().chooser
    settings = RolloutSettings("end", 6)
    boards = game_boards(settings)
    results = []
    for each_settings in (settings, settings._replace(with_luck=False)):

        def wrap(_: Rolled, settings: RolloutSettings = each_settings) -> Rolled:
            return rolled_by(PubEval(), boards, chooser, 7, settings, ITEMS)

        results.append(roll_out(boards, chooser, 36 * BLOCK, 7, each_settings, items=ITEMS, wrap=wrap))
    found, plain = results
    assert found.plain_standard_errors == pytest.approx(plain.equity_standard_errors)
    errors = np.hypot(found.equity_standard_errors, plain.equity_standard_errors)
    assert (np.abs(found.equities - plain.equities) < 4 * errors + 1e-9).all()
    assert (reductions_of(found)[:3] > 1).all()


def test_invalid_answers_of_a_player_are_refused() -> None:
    class Wrong(OtherPlayer):
        def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
            return super().choose_plays(boards, rolls)[:-1]

    with pytest.raises(InvalidPositionError, match="expected 288 boards from player asked, got int8"):
        rollout_by(2, player=Wrong(random_player(0)))
