"""Tests of the kind `reference_positions`: samples by theme, rows, digests, errors and verification."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckFailedError, MissingTableError, UsageError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import CHANCES, cubeless_equities
from bgdata.evaluation.choices import Chooser, chosen_boards
from bgdata.evaluation.player import PubEval, RandomPlayer
from bgdata.game.board import START_BOARD
from bgdata.game.board_kernels import game_outcomes, position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, check_legal_boards
from bgdata.game.dice import ROLLS
from bgdata.game.position_hash import position_hashes
from bgdata.game.themes import Theme, position_themes
from bgdata.kernel import threads
from bgdata.measures.kinds import reference_positions_compute as reference_positions
from bgdata.measures.kinds.reference_positions import DATASET, THEMES, ReferenceParameters, published_references
from bgdata.measures.kinds.reference_positions_compute import (
    MAX_TURNS,
    Positions,
    SourceGames,
    Sources,
    draw_positions,
    game_plan,
    sample_positions,
    source_games,
)
from bgdata.selfplay.kinds.shared.rollouts_compute import open_roller
from bgdata.selfplay.rollout import Limits, RolloutSettings, roll_out
from bgdata.selfplay.splits import SPLITS, halves_of_games
from bgdata.selfplay.training_games import Start
from bgdata.store.dataset import Context
from bgdata.training.feed.rows import benchmark_versions, labelled_versions
from bgdata.warehouse import Warehouse
from tests.contract.kinds import Corrupted, smallest_version
from tests.evaluation.sample_networks import pips_networks, pips_player
from tests.rechecking import check_sample, inputs_of
from tests.selfplay.test_training_games import start_boards

SMALLEST = DATASET.smallest
ROWS = len(THEMES) * SMALLEST.positions
COUNT, SEED = 8, 5
PUBEVAL, RANDOM = PubEval().chooser, RandomPlayer(3).chooser
NUMBERS = np.arange(22)
STARTS = (NUMBERS % len(Start)).astype(np.int8)


def chances_by_pips(boards: Boards) -> np.ndarray:
    """The chances of boards by a network that sees only pip counts."""
    return evaluations(pips_networks(), NO_TABLES, boards).chances


def sample_sources() -> Sources:
    network = pips_player().chooser
    pubeval = PubEval().chooser
    random = RandomPlayer(1).chooser
    return Sources([(network, network), (pubeval, pubeval), (network, pubeval), (random, random)], chances_by_pips)


@pytest.fixture(scope="module")
def sample() -> Positions:
    return sample_positions(sample_sources(), COUNT, SEED, 10_000)


def assert_same_positions(positions: Positions, expected: Positions) -> None:
    for name in Positions._fields:
        assert np.array_equal(getattr(positions, name), getattr(expected, name)), name


def test_every_theme_has_equally_many_positions(sample: Positions) -> None:
    check_legal_boards(sample.boards)
    assert np.array_equal(position_themes(sample.boards), sample.themes)
    assert Counter(sample.themes.tolist()) == {int(theme): COUNT for theme in Theme}
    halves = Counter(zip(sample.themes.tolist(), halves_of_games(SEED, sample.games).tolist(), strict=True))
    expected = {SPLITS.index(split) for split in ("validation", "test")}
    assert halves == {(int(theme), half): COUNT // 2 for theme in Theme for half in expected}


def test_positions_are_distinct_and_in_order(sample: Positions) -> None:
    assert len(np.unique(position_hashes(sample.boards))) == len(sample.boards)
    places = list(zip(sample.themes.tolist(), sample.games.tolist(), strict=True))
    assert places == sorted(set(places))


def test_small_bearoffs_and_decided_races_are_left_out(sample: Positions) -> None:
    assert (position_classes(sample.boards) != PositionClass.BEAROFF_TWO_SIDED).all()
    chances = chances_by_pips(sample.boards[sample.themes >= Theme.RACE])
    assert (np.minimum(chances, 1 - chances).max(axis=1) > 0.05).all()


def test_no_source_gives_more_than_twice_its_share(sample: Positions) -> None:
    sources = game_plan(sample.games, 4).sources.tolist()
    halves = halves_of_games(SEED, sample.games).tolist()
    positions_by_source = Counter(zip(sample.themes.tolist(), halves, sources, strict=True))
    equal_share = (COUNT // 2) // 4
    assert max(positions_by_source.values()) == 2 * equal_share
    assert set(sources) == {0, 1, 2, 3}


@pytest.mark.parametrize("size", [7, 100])
def test_sample_does_not_depend_on_rounds(sample: Positions, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(reference_positions, "ROUND", size)
    progress: list[int] = []
    assert_same_positions(sample_positions(sample_sources(), COUNT, SEED, 10_000, progress.append), sample)
    assert sum(progress) == len(sample.boards)


def test_positions_are_drawn_from_their_games(sample: Positions) -> None:
    """Playing some games again, alone, gives their positions."""
    rows = np.flatnonzero(sample.themes == Theme.CRASHED)
    drawn = draw_positions(sample_sources(), SEED, sample.games[rows])
    assert_same_positions(drawn.rows(np.flatnonzero(drawn.themes == Theme.CRASHED)), sample.rows(rows))


def test_game_gives_one_position_of_each_theme() -> None:
    """A game gives at most one position of each theme, not always from its first or last turn."""
    games = np.arange(11 * 4 * 20)
    drawn = draw_positions(sample_sources(), SEED, games)
    pairs = list(zip(drawn.games.tolist(), drawn.themes.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    assert set(drawn.games.tolist()) == set(games.tolist())
    assert len(set(drawn.turns[drawn.themes == Theme.OPENING].tolist())) >= 4


def test_games_alternate_sources_starts_and_perturbations() -> None:
    plan = game_plan(np.arange(4 * 44), 4)
    games = Counter(zip(plan.sources.tolist(), plan.starts.tolist(), plan.perturbed.tolist(), strict=True))
    assert len(games) == 4 * len(Start) * 2
    for (_source, _start, is_perturbed), count in games.items():
        assert count == (1 if is_perturbed else 3)


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (40, "expected 40 positions of the theme opening in 44 games, found .*; try more games, or fewer positions$"),
        *((count, "expected an even number of positions of each theme, at least 2, got") for count in (0, 1, 3)),
    ],
)
def test_invalid_counts_raise(count: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sample_positions(sample_sources(), count, SEED, 44)


def network() -> Chooser:
    return pips_player().chooser


def play_games(
    player: Chooser, opponent: Chooser, numbers: np.ndarray = NUMBERS, seed: int = 7, changed: bool = False
) -> SourceGames:
    return source_games((player, opponent), seed, numbers, STARTS[numbers], np.full(len(numbers), changed))


def test_games_do_not_depend_on_threads_or_batches() -> None:
    with threads(1):
        alone = play_games(network(), PUBEVAL)
    with threads(2):
        together = play_games(network(), PUBEVAL)
    two_games = play_games(network(), PUBEVAL, NUMBERS[[3, 17]])
    assert np.array_equal(alone.boards, together.boards)
    assert np.array_equal(alone.offsets, together.offsets)
    rows = np.r_[slice(*alone.offsets[3:5].tolist()), slice(*alone.offsets[17:19].tolist())]
    assert np.array_equal(two_games.boards, alone.boards[rows])
    assert not np.array_equal(play_games(network(), PUBEVAL, seed=8).boards[:100], alone.boards[:100])


def test_games_begin_from_their_start() -> None:
    games = play_games(PUBEVAL, PUBEVAL)
    for start in Start:
        assert np.array_equal(games.boards[games.offsets[int(start)]], start_boards(start, int(start) + 1)[int(start)])


def test_games_are_legal_to_the_end() -> None:
    """Every position follows from the one before by a player's play of some roll, and the last one may end the game."""
    games = play_games(PUBEVAL, PUBEVAL)
    rolls = np.array([(roll.high, roll.low) for roll in ROLLS], np.int8)
    check_legal_boards(games.boards)
    assert (game_outcomes(games.boards) == 0).all()
    for begin, end in zip(games.offsets[:-1].tolist(), games.offsets[1:].tolist(), strict=True):
        assert 1 <= end - begin <= MAX_TURNS
        for row in range(begin, end):
            following = chosen_boards(PUBEVAL, np.repeat(games.boards[row : row + 1], len(rolls), axis=0), rolls)
            if row < end - 1:
                assert (following == games.boards[row + 1]).all(axis=1).any()
            elif end - begin < MAX_TURNS:
                assert (game_outcomes(following) != 0).any()


def test_openings_begin_with_two_different_dice() -> None:
    numbers = np.arange(200)
    games = source_games((PUBEVAL, PUBEVAL), 7, numbers, np.zeros(200, np.int8), np.zeros(200, np.bool_))
    second_boards = {tuple(board) for board in games.boards[games.offsets[:-1] + 1].tolist()}
    rolls = np.array([(roll.high, roll.low) for roll in ROLLS if not roll.is_double], np.int8)
    after = chosen_boards(PUBEVAL, np.tile(np.array(START_BOARD, np.int8), (15, 1)), rolls)
    assert second_boards == {tuple(board) for board in after.tolist()}


def test_either_player_begins() -> None:
    """Either player begins: with the same dice, a game of two players begins like a game of one of them against
    itself."""
    mixed, pubeval, random = play_games(PUBEVAL, RANDOM), play_games(PUBEVAL, PUBEVAL), play_games(RANDOM, RANDOM)
    after_first_play = mixed.boards[mixed.offsets[:-1] + 1]
    pubeval_began = (after_first_play == pubeval.boards[pubeval.offsets[:-1] + 1]).all(axis=1)
    random_began = (after_first_play == random.boards[random.offsets[:-1] + 1]).all(axis=1)
    assert (pubeval_began | random_began).all()
    assert 3 < pubeval_began.sum() < 22
    assert 3 < random_began.sum() < 22


def test_perturbed_positions_have_one_or_two_moved_checkers() -> None:
    """In perturbed positions one or two checkers have moved, none to the bar or off, and nothing else changes."""
    plain, changed = play_games(network(), network()), play_games(network(), network(), changed=True)
    assert np.array_equal(plain.offsets, changed.offsets)
    check_legal_boards(changed.boards)
    assert (game_outcomes(changed.boards) == 0).all()
    before = plain.boards.astype(np.int64)
    after = changed.boards.astype(np.int64)
    for sign, bar in ((1, 25), (-1, 0)):
        ours, ours_after = (np.maximum(sign * boards[:, 1:25], 0) for boards in (before, after))
        assert (ours.sum(axis=1) + before[:, bar] == ours_after.sum(axis=1) + after[:, bar]).all()
        assert (after[:, bar] <= before[:, bar]).all()
    moved = (np.abs(before - after).sum(axis=1) + 1) // 2
    assert set(moved.tolist()) == {0, 1, 2}
    assert 0.6 < (moved > 0).mean() < 1.0
    assert (moved == 2).sum() > 50


def test_numbers_out_of_range_raise() -> None:
    with pytest.raises(UsageError, match="from 0 to 2"):
        play_games(PUBEVAL, PUBEVAL, seed=-1)


def test_rows_equal_rollouts(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    table = smallest_version(warehouse.root, DATASET)
    chooser = open_roller(Context(SMALLEST, inputs_of(warehouse, DATASET, SMALLEST), warehouse)).chooser
    boards = np.ascontiguousarray(table.array("boards"))
    result = roll_out(boards, chooser, Limits(72, 0.0001, 144), 1, RolloutSettings("exact", 2))
    assert set(result.trials.tolist()) == {72, 144}
    chances = result.legal_chances()
    equities = cubeless_equities(chances)
    version = warehouse.open("network", "tiny").folder.name
    rows = warehouse.rows("from reference_positions order by row")
    assert len(rows) == ROWS
    for number, row in enumerate(rows):
        assert row["row"] == number
        assert row["theme"] == Theme(position_themes(boards)[number]).label
        assert list(row["board"]) == boards[number].tolist()
        assert [row[name] for name in CHANCES] == chances[number].tolist()
        assert row["cubeless_equity"] == equities[number]
        assert row["standard_error"] == result.equity_standard_errors[number]
        assert row["trials"] == result.trials[number]
        assert row["is_reached"] == (result.equity_standard_errors[number] <= 0.0001)
        assert row["network"] == f"network/tiny/{version}"


def test_each_theme_has_a_position_in_each_split(small_root: Path) -> None:
    rows = bgdata.open_warehouse(small_root).rows("from reference_positions")
    expected = [(theme, split) for theme in THEMES for split in ("validation", "test")]
    assert sorted((row["theme"], row["split"]) for row in rows) == sorted(expected)
    sources = {row["source"] for row in rows}
    assert len(sources) > 2
    assert sources <= set(SMALLEST.sources)


def test_statistics_are_given_by_theme(small_root: Path) -> None:
    """The manifest's statistics, in all and by theme, equal sums over the arrays."""
    table = smallest_version(small_root, DATASET)
    statistics = table.manifest.statistics
    errors = np.asarray(table.array("equity_standard_errors"))
    rows = np.asarray(table.array("themes")) == Theme.BACK_GAME_ON_ROLL
    assert statistics["mean_standard_error"] == pytest.approx(errors.mean())
    assert statistics["reached_share"] == (errors <= 0.0001).mean()
    assert statistics["games"] == table.array("trials").sum()
    assert statistics["back_game_on_roll_positions"] == 2
    assert statistics["back_game_on_roll_mean_standard_error"] == pytest.approx(errors[rows].mean())
    assert statistics["back_game_on_roll_games"] == table.array("trials")[rows].sum()
    assert statistics["back_game_on_roll_source_games"] == table.array("games")[rows].max() + 1


def test_training_leaves_positions_out(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    assert smallest_version(warehouse.root, DATASET).name in benchmark_versions(warehouse)
    with pytest.raises(
        UsageError, match=r"expected a kind that has positions with chances: .*, got reference_positions"
    ):
        labelled_versions(warehouse, DATASET.name)
    left_out = warehouse.rows("select position_id(board) as id from benchmark_boards")
    references = warehouse.rows("select position_id as id from reference_positions")
    assert {row["id"] for row in references} <= {row["id"] for row in left_out}


def test_verify_samples_and_rolls_out_again(small_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify` draws positions from their games again, rolls some out again, and finds a changed turn."""
    warehouse = bgdata.open_warehouse(small_root)
    table = smallest_version(warehouse.root, DATASET)
    inputs = inputs_of(warehouse, DATASET, SMALLEST)
    generator = np.random.default_rng(0)
    message = check_sample(DATASET, table, inputs, ROWS, generator)
    assert message == f"{ROWS} of {ROWS} positions drawn from their games again, {ROWS} rolled out again"
    values = np.array(table.array("turns"))
    values[9] += 1
    message = "expected in row 9 of .* the position that is drawn from game .* for mutual-holding, found that of"
    with pytest.raises(CheckFailedError, match=message):
        check_sample(DATASET, Corrupted(table, "turns", values), inputs, ROWS, generator)
    monkeypatch.setattr(reference_positions, "REPLAYED_TRIALS", 0)
    message = check_sample(DATASET, table, inputs, 5, np.random.default_rng(0))
    assert message == f"5 of {ROWS} positions drawn from their games again, 1 rolled out again"


def test_network_version_of_the_warehouse_plays(warehouse: Warehouse) -> None:
    """A network of the warehouse, named by version, rolls out positions and is a source of games."""
    version = warehouse.open("network", "tiny").folder.name
    small = smallest_version(warehouse.root, DATASET)
    table = warehouse.build(DATASET.name, replace(SMALLEST, network_version=version))
    assert np.array_equal(table.array("chances"), small.array("chances"))
    named = tuple(source.replace("network", f"network/tiny/{version}") for source in SMALLEST.sources)
    table = warehouse.build(DATASET.name, replace(SMALLEST, sources=named))
    assert np.array_equal(table.array("boards"), small.array("boards"))
    with pytest.raises(MissingTableError, match="r1-00000000"):
        warehouse.build(DATASET.name, replace(SMALLEST, sources=("pubeval", "network/tiny/r1-00000000")))


def test_default_recipes_are_shipped() -> None:
    parameters = ReferenceParameters()
    DATASET.check_parameters(parameters)
    assert (parameters.positions, parameters.until) == (240, 0.007)
    assert DATASET.estimate(parameters).rows == 14 * 240
    assert list(DATASET.defaults) == list(published_references())
    assert parameters.players()[1:3] == (("pubeval", "pubeval"), ("network", "pubeval"))
