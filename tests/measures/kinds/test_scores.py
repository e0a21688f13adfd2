"""Tests of the kind `scores`: figures from other versions, and their players."""

import re
import shutil
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckFailedError, CheckSkippedError, InvalidParameterError, MissingTableError
from bgdata.evaluation.player import open_named_player
from bgdata.measures.kinds import benchmark_scores, game_scores, referee_scores, reference_positions, reference_scores
from bgdata.measures.kinds.scores import (
    DATASET,
    UNITS,
    ScoresParameters,
    game_measures,
    referee_measures,
    reference_measures,
    share_error,
)
from bgdata.selfplay.kinds import selfplay
from bgdata.store.dataset import Dataset
from bgdata.store.parameters import VersionRef
from bgdata.warehouse import Warehouse
from tests.contract.kinds import Corrupted, smallest_version
from tests.rechecking import check_sample

SMALLEST = DATASET.smallest
SOURCES: list[Dataset[Any]] = [
    benchmark_scores.DATASET,
    game_scores.DATASET,
    referee_scores.DATASET,
    selfplay.DATASET,
]


def smallest_scores(root: Path, kinds: list[Dataset[Any]]) -> ScoresParameters:
    """The parameters of PubEval's scores, collected from the smallest versions of these kinds."""
    return ScoresParameters(
        sources=tuple(VersionRef.parse(name) for name in sorted(smallest_version(root, kind).name for kind in kinds))
    )


def test_rows_equal_the_figures_of_the_sources(warehouse: Warehouse) -> None:
    """Each row is the figure of one source, with its standard error, number of games or decisions, and unit."""
    benchmark, games, referee, self_play = (
        smallest_version(warehouse.root, kind).manifest.statistics for kind in SOURCES
    )
    decisions = smallest_version(warehouse.root, benchmark_scores.DATASET).manifest.rows
    gammons, backgammons = self_play["gammon_share"], self_play["backgammon_share"]
    table = warehouse.build(DATASET.name, smallest_scores(warehouse.root, SOURCES))
    rows = warehouse.rows("from scores")
    columns = ("measure", "against", "value", "value_error", "sample_size")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        ("backgammon_share", "pubeval-0ply", backgammons, share_error(backgammons, 20), 20),
        ("bearoff_loss", "bearoff_two_sided/3x3", referee["mean_loss"], referee["standard_error"], 20),
        ("error_rate", "gnubg_benchmark/contact", benchmark["error_rate"], benchmark["standard_error"], decisions),
        ("gammon_share", "pubeval-0ply", gammons, share_error(gammons, 20), 20),
        ("points_per_game", "random-0ply", games["points_per_game"], games["standard_error"], 40),
    ]
    versions = {table.name for table in warehouse.versions()}
    for row in rows:
        assert row["variant"] == "pubeval-0ply"
        assert (row["player_name"], row["ply"], row["player_version"]) == ("pubeval", 0, "2")
        assert row["source_version"] in versions
        assert row["unit"] == UNITS[row["measure"]]
    statistics = table.manifest.statistics
    assert statistics["points_per_game_against_random_0ply"] == games["points_per_game"]
    assert statistics["points_per_game_against_random_0ply_standard_error"] == games["standard_error"]
    assert len(statistics) == 2 * len(rows)


def test_luck_adjusted_points_are_a_separate_measure() -> None:
    recipe = {"opponent": "gnubg", "opponent_ply": 1, "luck": True}
    statistics = {
        "points_per_game": 1.0,
        "standard_error": 0.5,
        "hedged_points_per_game": 0.9,
        "hedged_standard_error": 0.1,
    }
    assert game_measures(recipe, statistics) == [("hedged_points_per_game", "gnubg-1ply", 0.9, 0.1, 0, "")]
    assert game_measures(recipe | {"luck": False}, statistics) == [("points_per_game", "gnubg-1ply", 1.0, 0.5, 0, "")]


@pytest.mark.parametrize(
    ("points", "tables", "error", "expected"),
    [
        (6, 1, 0.125, [("bearoff_loss", "bearoff_two_sided/6x3")]),
        (6, 0, 0.125, [("bearoff_loss_without_tables", "bearoff_two_sided/6x3")]),
        (25, 1, 0.125, [("contact_loss", "contact_endgame/3")]),
        (25, 0, 0.125, [("contact_loss_without_tables", "contact_endgame/3")]),
        (6, 1, nan, []),  # all decisions are from one game
    ],
)
def test_loss_measures_depend_on_judge_and_tables(
    points: int, tables: int, error: float, expected: list[tuple[str, str]]
) -> None:
    recipe = {"tables": tables, "points": points, "checkers": 3}
    measures = referee_measures(recipe, {"mean_loss": 0.25, "standard_error": error})
    assert [(row.measure, row.against) for row in measures] == expected
    for row in measures:
        assert row.measure in UNITS


def test_values_by_theme_are_from_the_test_split() -> None:
    """Errors by theme are those of the test split; themes without a standard error have no figure."""
    recipe = {"tables": True, "reference": {"variant": "x"}}
    statistics = {"test_blitz_rmse": 0.5, "test_blitz_positions": 1.0, "validation_all_rmse": 0.75}
    statistics |= {"test_all_rmse": 0.25, "test_all_rmse_standard_error": 0.125, "test_all_positions": 7.0}
    statistics |= {"test_back_game_on_roll_rmse": 0.5, "test_back_game_on_roll_rmse_standard_error": 0.0}
    statistics |= {"test_back_game_on_roll_positions": 2.0}
    assert reference_measures(recipe, statistics) == [
        ("equity_rmse", "reference_positions/x back-game-on-roll", 0.5, 0.0, 2, ""),
        ("equity_rmse", "reference_positions/x", 0.25, 0.125, 7, ""),
    ]
    assert {row.measure for row in reference_measures(recipe | {"tables": False}, statistics)} == {
        "equity_rmse_without_tables"
    }


def test_values_are_rows_of_their_player(warehouse: Warehouse) -> None:
    """Each figure of a player's values is a row with its number of positions."""
    player = open_named_player("network/tiny", 0, warehouse)
    reference = smallest_version(warehouse.root, reference_positions.DATASET)
    recipe = reference_scores.ReferenceScoreParameters.on(reference, "network/tiny", 0, player.version)
    source = warehouse.build("reference_scores", recipe)
    parameters = ScoresParameters("network/tiny", 0, player.version, (VersionRef.parse(source.name),))
    warehouse.build(DATASET.name, parameters)
    (row,) = warehouse.rows("from scores where variant = 'network-tiny-0ply'")
    assert row["measure"] == "equity_rmse"
    assert row["against"] == reference.name.rpartition("/")[0]
    assert row["value"] == source.manifest.statistics["test_all_rmse"]
    assert row["value_error"] == source.manifest.statistics["test_all_rmse_standard_error"]
    assert row["unit"] == "points"
    assert row["sample_size"] == 14
    assert row["source_version"] == source.name
    message = (
        r"^expected results of network/tiny \(0-ply\) 0123abcd, got reference_scores/.* of network/tiny \(0-ply\) "
    )
    with pytest.raises(InvalidParameterError, match=message + player.version):
        warehouse.build(DATASET.name, replace(parameters, version="0123abcd"))


def test_standard_errors_of_shares() -> None:
    """Standard errors of shares are never 0, and binomial for many games."""
    assert share_error(0.0, 98) == pytest.approx((0.01 * 0.99 / 98) ** 0.5)
    assert share_error(0.25, 1_000_000) == pytest.approx((0.25 * 0.75 / 1_000_000) ** 0.5, rel=1e-5)


def test_network_without_tables_has_a_version_of_its_own(warehouse: Warehouse) -> None:
    """Its losses are a separate measure of the network with tables."""
    versions = {}
    sources = []
    for tables in (True, False):
        versions[tables] = open_named_player("network/tiny", 0, warehouse, tables=tables).version
        recipe = replace(
            referee_scores.DATASET.smallest, player="network/tiny", version=versions[tables], tables=tables
        )
        sources.append(VersionRef.parse(warehouse.build("referee_scores", recipe).name))
    assert versions[False] != versions[True]
    assert [source.variant for source in sources] == [
        "network-tiny-0ply-3x3-20-seed-1",
        "network-tiny-0ply-without-tables-3x3-20-seed-1",
    ]
    parameters = ScoresParameters("network/tiny", 0, versions[True], tuple(sorted(sources, key=str)))
    table = warehouse.build(DATASET.name, parameters)
    assert table.folder.parent.name == "network-tiny-0ply"
    assert "bearoff_loss_against_bearoff_two_sided_3x3" in table.manifest.statistics
    assert "bearoff_loss_without_tables_against_bearoff_two_sided_3x3" in table.manifest.statistics


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ("", "expected sources in order, each once, got ''"),
        ("b a", "expected KIND/VARIANT/VERSION, got 'b'"),
        ("positions/x/r1-01234567", "expected sources .*, got 'positions/x/r1-01234567'"),
        ("game_scores/x/r1-0123456", "expected KIND/VARIANT/VERSION, got 'game_scores/x/r1-0123456'"),
        ("selfplay/x/r1-01234567 game_scores/x/r1-01234567", "expected sources in order, .* got 'selfplay/x"),
        ("selfplay/x/r1-01234567 selfplay/x/r1-01234567", "expected sources in order, each once, got 'selfplay/x"),
        ("selfplay/x", "expected a version, such as selfplay/x/r1-0123abcd, got selfplay/x"),
        ("selfplay/x/r1-01234567", "no selfplay/x/r1-01234567 in "),
    ],
)
def test_invalid_sources_are_refused(memory_path: Path, sources: str, message: str) -> None:
    warehouse = bgdata.open_warehouse(memory_path / "warehouse")
    with pytest.raises((InvalidParameterError, MissingTableError), match=f"^{message}"):
        warehouse.build(DATASET.name, SMALLEST.with_texts({"sources": sources}))
    assert not warehouse.variants(DATASET.name)


def test_invalid_player_is_refused(memory_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="expected the name of a player, got 'a b'"):
        bgdata.open_warehouse(memory_path).build(DATASET.name, replace(SMALLEST, player="a b"))


@pytest.mark.parametrize(
    ("changes", "player"),
    [
        ({"version": "3"}, r"pubeval \(0-ply\) 3"),
        ({"ply": 1}, r"pubeval \(1-ply\) 2"),
        ({"player": "random"}, r"random \(0-ply\) 2"),
    ],
)
def test_sources_of_another_player_are_refused(warehouse: Warehouse, changes: dict[str, Any], player: str) -> None:
    parameters = smallest_scores(warehouse.root, [game_scores.DATASET])
    source = re.escape(str(parameters.sources[0]))
    with pytest.raises(
        InvalidParameterError, match=rf"^expected results of {player}, got {source} of pubeval \(0-ply\) 2$"
    ):
        warehouse.build(DATASET.name, replace(parameters, **changes))


def test_two_sources_of_one_measure_are_refused(warehouse: Warehouse) -> None:
    names = [
        warehouse.build("game_scores", replace(game_scores.DATASET.smallest, games=games)).name for games in (4, 6)
    ]
    message = (
        "expected one source for points_per_game against random-0ply, got game_scores/.*-4-.* and game_scores/.*-6-"
    )
    with pytest.raises(InvalidParameterError, match=message):
        warehouse.build(DATASET.name, ScoresParameters(sources=tuple(map(VersionRef.parse, names))))


@pytest.mark.parametrize("name", [array.name for array in DATASET.arrays])
def test_changed_figures_are_found(small_root: Path, name: str) -> None:
    table = smallest_version(small_root, DATASET)
    inputs = bgdata.open_warehouse(small_root).find_inputs(DATASET, SMALLEST) or {}
    check_sample(DATASET, table, inputs, 0, np.random.default_rng(0))
    values = np.array(table.array(name))
    values[1] += 1
    with pytest.raises(CheckFailedError, match=f"expected {name} of .* in row 1 of scores/pubeval-0ply/"):
        check_sample(DATASET, Corrupted(table, name, values), inputs, 0, np.random.default_rng(0))


def test_missing_source_skips_the_check(warehouse: Warehouse) -> None:
    built = warehouse.build(DATASET.name, smallest_scores(warehouse.root, [game_scores.DATASET]))
    table = Corrupted(built, "sizes", np.array(built.array("sizes")) + 1)
    shutil.rmtree(warehouse.root / "game_scores")
    with pytest.raises(CheckSkippedError, match="a source of the figures is gone: no game_scores/"):
        check_sample(DATASET, table, {}, 1, np.random.default_rng(0))
