"""Series of games as a dataset kind: the games that the players play, and their result."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import (
    CheckFailedError,
    CheckSkippedError,
    MissingTableError,
    UnknownPlayerError,
)
from bgdata.evaluation.choices import KernelPlayer
from bgdata.evaluation.player import PubEval, RandomPlayer, open_named_player
from bgdata.measures.kinds.game_scores import DATASET, GameParameters
from bgdata.selfplay.games import pair_error, play_games, play_games_with_luck, result_of
from bgdata.store.dataset import Computed
from bgdata.warehouse import Warehouse
from tests.contract.kinds import Corrupted
from tests.rechecking import check_sample

SMALL = DATASET.smallest
JUDGED = replace(SMALL, games=4, luck=True)


def network_parameters(warehouse: Warehouse) -> GameParameters:
    """The tiny network against PubEval."""
    version = open_named_player("network/tiny", 0, warehouse).version
    return GameParameters("network/tiny", 0, version, "pubeval", 0, "2", 40)


def test_rows_and_result_are_those_of_the_games(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    table = warehouse.open(DATASET.name, DATASET.slug(SMALL))
    games = play_games(PubEval(), RandomPlayer(), SMALL.games, SMALL.seed)
    result = result_of(games)
    with warehouse.connect() as connection:
        rows = connection.sql(
            "select number, outcome, turns, begins, net_luck, hedged_points from game_scores"
        ).fetchall()
        (found,) = [
            dict(zip(connection.sql("from game_summary").columns, row, strict=True))
            for row in connection.sql("from game_summary").fetchall()
        ]
    columns = games.numbers, games.outcomes, games.turns, games.begins
    nothing = [None] * SMALL.games
    assert rows == list(zip(*(column.tolist() for column in columns), nothing, nothing, strict=True))
    assert np.isnan(table.array("lucks")).all()
    assert [found[name] for name in found if name.startswith("hedged_")] == [None, None]
    expected = {"points_per_game": result.points_per_game, "standard_error": result.standard_error}
    assert expected.items() <= found.items()
    assert (found["win_share"], found["turns_per_game"]) == (result.win_share, result.mean_turns)
    names = {"player": "pubeval", "ply": 0, "player_version": "2", "opponent": "random", "opponent_ply": 0}
    assert {**names, "opponent_version": "1", "seed": SMALL.seed, "games": SMALL.games}.items() <= found.items()
    assert table.folder.parent.name == "pubeval-0ply-against-random-0ply-40-seed-2"


def test_shares_add_up_to_the_points() -> None:
    """As chances do: a gammon includes backgammons."""
    outcomes = [1, 1, 2, -3, 3, -1, -2, -2]
    shares = DATASET.computation.statistics(Computed(SMALL, arrays_of(outcomes)))
    assert [shares[name] for name in shares if name.endswith("_share")] == [4 / 8, 2 / 8, 1 / 8, 3 / 8, 1 / 8]
    won, win_gammon, win_backgammon, lose_gammon, lose_backgammon = (
        shares[name] for name in shares if name.endswith("_share")
    )
    points = 2 * won - 1 + win_gammon + win_backgammon - lose_gammon - lose_backgammon
    assert points == shares["points_per_game"] == np.mean(outcomes)


def arrays_of(outcomes: list[int], lucks: Any = np.nan) -> dict[str, Any]:
    """The arrays of some games."""
    return {
        "outcomes": np.array(outcomes, np.int8),
        "turns": np.full(len(outcomes), 50, np.int32),
        "lucks": np.broadcast_to(lucks, len(outcomes)),
    }


def test_hedged_results_by_hand() -> None:
    """Pairs of 0.5 and 1 points a game."""
    found = DATASET.computation.statistics(
        Computed(replace(SMALL, luck=True), arrays_of([1, -1, 3, 1], [0.5, -1.5, 1, 1]))
    )
    assert found["hedged_points_per_game"] == 0.75
    assert found["hedged_standard_error"] == pytest.approx(0.25)
    assert not [
        name for name in DATASET.computation.statistics(Computed(SMALL, arrays_of([1, -1, 3, 1]))) if "hedged" in name
    ]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory, network_root: Path) -> Path:
    """Folder of a warehouse with four games and their luck, judged by the default network and its tables."""
    root = tmp_path_factory.mktemp("judged") / "warehouse"
    shutil.copytree(network_root, root, ignore=shutil.ignore_patterns(".*"))
    bgdata.open_warehouse(root).build(DATASET.name, JUDGED)
    return root


def test_luck_is_that_of_the_judge(judged: Path) -> None:
    warehouse = bgdata.open_warehouse(judged)
    table = warehouse.open(DATASET.name, "pubeval-0ply-against-random-0ply-4-seed-2-luck")
    judge = open_named_player("network", 0, warehouse)
    assert isinstance(judge, KernelPlayer)
    games, lucks = play_games_with_luck(PubEval(), RandomPlayer(), judge.chooser, 4, 2)
    assert table.array("lucks").tolist() == lucks.tolist()
    assert set(table.manifest.inputs) == {"network", "two_sided", "one_sided", "gammon"}
    with warehouse.connect() as connection:
        rows = connection.sql("select outcome, net_luck, hedged_points from game_scores").fetchall()
        (summary,) = connection.sql("select hedged_points_per_game, hedged_standard_error from game_summary").fetchall()
    hedged = games.outcomes - lucks
    assert rows == list(zip(games.outcomes.tolist(), lucks.tolist(), hedged.tolist(), strict=True))
    statistics = table.manifest.statistics
    assert summary == (statistics["hedged_points_per_game"], statistics["hedged_standard_error"])
    assert summary == (hedged.mean(), pair_error(games.numbers, hedged))


def test_changed_luck_is_found(judged: Path) -> None:
    warehouse = bgdata.open_warehouse(judged)
    table = warehouse.open(DATASET.name, DATASET.slug(JUDGED))
    inputs = warehouse.find_inputs(DATASET, JUDGED) or {}
    check_sample(DATASET, table, inputs, 4, np.random.default_rng(0))
    values = np.array(table.array("lucks"))
    values[2] = np.nextafter(values[2], 9)
    with pytest.raises(CheckFailedError, match=r"expected lucks of .* in row 2 of game_scores/"):
        check_sample(DATASET, Corrupted(table, "lucks", values), inputs, 4, np.random.default_rng(0))


def test_a_network_plays_with_the_tables_of_the_warehouse(warehouse: Warehouse) -> None:
    parameters = network_parameters(warehouse)
    table = warehouse.build(DATASET.name, parameters)
    games = play_games(open_named_player("network/tiny", 0, warehouse), PubEval(), 40, parameters.seed)
    assert table.array("outcomes").tolist() == games.outcomes.tolist()
    assert table.folder.parent.name == "network-tiny-0ply-against-pubeval-0ply-40-seed-2"
    check_sample(DATASET, table, {}, 40, np.random.default_rng(0))


def test_unknown_players(memory_path: Path) -> None:
    warehouse = bgdata.open_warehouse(memory_path)
    with pytest.raises(UnknownPlayerError, match=r"expected a player among random, pubeval, .*, got nobody"):
        warehouse.build(DATASET.name, replace(SMALL, player="nobody"))
    with pytest.raises(MissingTableError, match=r"no network/x in .* \(have: none\); try: bgdata train td x"):
        warehouse.build(DATASET.name, replace(SMALL, player="network/x"))


def test_games_of_another_version_are_not_played_again(warehouse: Warehouse) -> None:
    """Such as after a table came or went, or the network was trained anew."""
    built = warehouse.build(DATASET.name, network_parameters(warehouse))
    table = Corrupted(built, "turns", np.array(built.array("turns")) + 1)
    shutil.rmtree(warehouse.root / "bearoff_two_sided" / "6x6")
    with pytest.raises(CheckSkippedError, match=r"no game can be played again: expected version \w+ of network/tiny"):
        check_sample(DATASET, table, {}, 40, np.random.default_rng(0))
