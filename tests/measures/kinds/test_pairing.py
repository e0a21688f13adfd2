"""Tests of the kinds `game_scores` and `cubeful_scores`: games, statistics, verification and errors."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckFailedError, CheckSkippedError
from bgdata.evaluation.choices import KernelPlayer
from bgdata.evaluation.player import PubEval, RandomPlayer, open_named_player
from bgdata.measures.kinds.cubeful_scores import DATASET as CUBEFUL
from bgdata.measures.kinds.cubeful_scores import CubefulScoreParameters
from bgdata.measures.kinds.game_scores import DATASET, GameParameters
from bgdata.selfplay.games import pair_error, play_games, play_games_with_luck, result_of
from bgdata.selfplay.series import CubefulRules, play_cubeful
from bgdata.store.dataset import Computed, Recheck
from bgdata.warehouse import Warehouse
from tests.contract.kinds import Corrupted
from tests.rechecking import check_sample, inputs_of

SMALLEST = DATASET.smallest
JUDGED = replace(SMALLEST, games=4, luck=True)
SMALL_MATCHES = CUBEFUL.smallest


def network_parameters(warehouse: Warehouse) -> GameParameters:
    """The parameters of games of the tiny network against PubEval."""
    version = open_named_player("network/tiny", 0, warehouse).version
    return GameParameters("network/tiny", 0, version, "pubeval", 0, "2", 40)


def test_rows_and_statistics_equal_the_games(small_root: Path) -> None:
    """Rows, statistics and the summary equal the games that `play_games` plays again."""
    warehouse = bgdata.open_warehouse(small_root)
    table = warehouse.open(DATASET.name, DATASET.slug(SMALLEST))
    games = play_games(PubEval(), RandomPlayer(), SMALLEST.games, SMALLEST.seed)
    result = result_of(games)
    rows = warehouse.rows("from game_scores order by number")
    for column, values in (("number", games.numbers), ("outcome", games.outcomes), ("turns", games.turns)):
        assert [row[column] for row in rows] == values.tolist()
    assert [row["begins"] for row in rows] == games.begins.tolist()
    for row in rows:
        assert row["net_luck"] is None
        assert row["hedged_points"] is None
    assert np.isnan(table.array("lucks")).all()
    (summary,) = warehouse.rows("from game_summary")
    assert summary["points_per_game"] == result.points_per_game
    assert summary["standard_error"] == result.standard_error
    assert summary["win_share"] == result.win_share
    assert summary["turns_per_game"] == result.mean_turns
    assert summary["hedged_points_per_game"] is None
    assert summary["hedged_standard_error"] is None
    names = {"player": "pubeval", "ply": 0, "player_version": "2", "opponent": "random", "opponent_ply": 0}
    assert {**names, "opponent_version": "1", "seed": SMALLEST.seed, "games": SMALLEST.games}.items() <= summary.items()
    assert table.folder.parent.name == "pubeval-0ply-against-random-0ply-40-seed-2"


@pytest.mark.parametrize("luck", [False, True])
def test_statistics_match_values_by_hand(luck: bool) -> None:
    """Shares and means of a few games are as computed by hand: gammons include backgammons, hedged results are those of
    pairs."""
    outcomes, lucks = np.array([1, 1, 2, -3, 3, -1, -2, -2], np.int8), np.array([0.5, -0.5, 0, 0, 1, 0, -2, -2])
    arrays: dict[str, Any] = {"outcomes": outcomes, "turns": np.full(8, 50, np.int32), "lucks": lucks}
    statistics = DATASET.computation.statistics(Computed(replace(SMALLEST, luck=luck), arrays))
    shares = [statistics[name] for name in statistics if name.endswith("_share")]
    assert shares == [4 / 8, 2 / 8, 1 / 8, 3 / 8, 1 / 8]
    assert statistics["points_per_game"] == np.mean(outcomes)
    assert statistics["turns_per_game"] == 50
    hedged = {name: value for name, value in statistics.items() if "hedged" in name}
    means = np.array([1.0, -0.5, 0.5, 0.0])  # means of the pairs
    expected = {"hedged_points_per_game": 0.25, "hedged_standard_error": means.std(ddof=1) / 2}
    assert hedged == pytest.approx(expected if luck else {})


@pytest.fixture(scope="module")
def root_with_luck(tmp_path_factory: pytest.TempPathFactory, network_root: Path) -> Path:
    """A warehouse with four games, whose luck the default network and its tables have measured."""
    root = tmp_path_factory.mktemp("judged") / "warehouse"
    shutil.copytree(network_root, root, ignore=shutil.ignore_patterns(".*"))
    bgdata.open_warehouse(root).build(DATASET.name, JUDGED)
    return root


def test_luck_equals_that_of_the_judge(root_with_luck: Path) -> None:
    """The stored luck is the one that the judging network measures, and luck-adjusted results follow from it."""
    warehouse = bgdata.open_warehouse(root_with_luck)
    table = warehouse.open(DATASET.name, "pubeval-0ply-against-random-0ply-4-seed-2-luck")
    judge = open_named_player("network", 0, warehouse)
    assert isinstance(judge, KernelPlayer)
    games, lucks = play_games_with_luck(PubEval(), RandomPlayer(), judge.chooser, 4, 2)
    assert table.array("lucks").tolist() == lucks.tolist()
    assert set(table.manifest.inputs) == {"network", "two_sided", "one_sided", "gammon"}
    rows = warehouse.rows("from game_scores order by number")
    hedged = games.outcomes - lucks
    assert [row["outcome"] for row in rows] == games.outcomes.tolist()
    assert [row["net_luck"] for row in rows] == lucks.tolist()
    assert [row["hedged_points"] for row in rows] == hedged.tolist()
    (summary,) = warehouse.rows("from game_summary")
    statistics = table.manifest.statistics
    assert summary["hedged_points_per_game"] == statistics["hedged_points_per_game"] == hedged.mean()
    error = pair_error(games.numbers, hedged)
    assert summary["hedged_standard_error"] == statistics["hedged_standard_error"] == error


def test_changed_luck_is_found(root_with_luck: Path) -> None:
    warehouse = bgdata.open_warehouse(root_with_luck)
    table = warehouse.open(DATASET.name, DATASET.slug(JUDGED))
    inputs = warehouse.find_inputs(DATASET, JUDGED) or {}
    check_sample(DATASET, table, inputs, 4, np.random.default_rng(0))
    values = np.array(table.array("lucks"))
    values[2] = np.nextafter(values[2], 9)
    with pytest.raises(CheckFailedError, match=r"expected lucks of .* in row 2 of game_scores/"):
        check_sample(DATASET, Corrupted(table, "lucks", values), inputs, 4, np.random.default_rng(0))


def test_network_plays_with_the_tables_of_the_warehouse(warehouse: Warehouse) -> None:
    parameters = network_parameters(warehouse)
    table = warehouse.build(DATASET.name, parameters)
    games = play_games(open_named_player("network/tiny", 0, warehouse), PubEval(), 40, parameters.seed)
    assert table.array("outcomes").tolist() == games.outcomes.tolist()
    assert table.folder.parent.name == "network-tiny-0ply-against-pubeval-0ply-40-seed-2"
    check_sample(DATASET, table, {}, 40, np.random.default_rng(0))


def test_games_of_a_changed_player_are_not_replayed(warehouse: Warehouse) -> None:
    """`verify` skips games of a player that has other tables now, or has been trained again."""
    built = warehouse.build(DATASET.name, network_parameters(warehouse))
    table = Corrupted(built, "turns", np.array(built.array("turns")) + 1)
    shutil.rmtree(warehouse.root / "bearoff_two_sided" / "6x6")
    with pytest.raises(CheckSkippedError, match=r"no game can be played again: expected version \w+ of network/tiny"):
        check_sample(DATASET, table, {}, 40, np.random.default_rng(0))


def test_cubeful_rows_equal_the_games(warehouse: Warehouse) -> None:
    """Rows of games with the cube equal the games that `play_cubeful` plays again."""
    version = open_named_player("network/contact-160", 0, warehouse, tables=False).version
    parameters = replace(SMALL_MATCHES, length=0, games=6, opponent="network/contact-160", opponent_version=version)
    table = warehouse.build(CUBEFUL.name, parameters)
    players = [open_named_player(name, 0, warehouse, tables=False) for name in ("network/tiny", "network/contact-160")]
    games = play_cubeful((players[0], players[1]), CubefulRules(), 6, parameters.seed)
    points = np.where(games.column("winner") == np.arange(6) % 2, 1, -1) * games.column("points")
    rows = warehouse.rows(f"from cubeful_scores where variant = '{CUBEFUL.slug(parameters)}' order by number")
    assert [row["net_points"] for row in rows] == points.tolist()
    assert [row["turns"] for row in rows] == games.column("turns").tolist()
    for row in rows:
        assert row["games_played"] == 1
        assert row["net_luck"] is None
    assert table.manifest.statistics["points_per_game"] == points.mean()
    assert points.mean() < 0  # the tiny network is weak


def test_match_results_are_plus_or_minus_one(small_root: Path) -> None:
    table = bgdata.open_warehouse(small_root).open(CUBEFUL.name, CUBEFUL.slug(SMALL_MATCHES))
    outcomes = np.asarray(table.array("outcomes"))
    assert set(outcomes.tolist()) <= {1, -1}
    assert (outcomes[::2] + outcomes[1::2]).tolist() == [0] * (SMALL_MATCHES.games // 2)  # against itself


@pytest.mark.parametrize("length", [0, 3])
def test_luck_of_cubeful_games_is_subtracted(network_root: Path, tmp_path: Path, length: int) -> None:
    """Luck-adjusted results have less noise; for a player against itself, the results of a pair cancel."""
    shutil.copytree(network_root, tmp_path / "warehouse", ignore=shutil.ignore_patterns(".*"))
    warehouse = bgdata.open_warehouse(tmp_path / "warehouse")
    player = open_named_player("network/contact-160", 0, warehouse)
    entrant = ("network/contact-160", 0, player.version)
    table = warehouse.build(CUBEFUL.name, CubefulScoreParameters(*entrant, *entrant, length, 4, 1, True))
    lucks, outcomes = (np.asarray(table.array(name), np.float64) for name in ("lucks", "outcomes"))
    assert np.isfinite(lucks).all()
    assert (lucks != 0).all()
    assert (outcomes - lucks)[::2] + (outcomes - lucks)[1::2] == pytest.approx(0)
    assert (outcomes - lucks).std() < outcomes.std()
    assert table.manifest.statistics["hedged_standard_error"] == pytest.approx(0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": "older"}, "expected version b49ded87 of network/"),
        ({"player": "gone.ubgi"}, "expected a network to play without"),
    ],
)
def test_changed_players_are_not_rechecked(small_root: Path, changes: dict[str, Any], message: str) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    table = warehouse.open(CUBEFUL.name, CUBEFUL.slug(SMALL_MATCHES))
    inputs = inputs_of(warehouse, CUBEFUL, SMALL_MATCHES)
    recheck = Recheck(replace(SMALL_MATCHES, **changes), inputs, warehouse, table, 9, np.random.default_rng(0))
    with pytest.raises(CheckSkippedError, match=f"no game can be played again: {message}"):
        CUBEFUL.computation.check_sample(recheck)
