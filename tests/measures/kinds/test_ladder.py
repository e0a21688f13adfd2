"""The ladder as a dataset kind: from games to rows, side by side in SQL, and what goes wrong."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckFailedError, CheckSkippedError, InvalidParameterError, UsageError
from bgdata.measures.kinds.game_scores import GameParameters
from bgdata.measures.kinds.ladder import DATASET, LadderParameters
from bgdata.measures.kinds.ladder_compute import LEVEL
from bgdata.measures.ratings import Pairing, fit_ratings
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.rechecking import check_sample

SMALL = DATASET.smallest
NAMED = tuple(VersionRef("game_scores", name, "r1-01234567") for name in ("a", "b"))


def ladder_of(warehouse: Warehouse, *series: GameParameters) -> LadderParameters:
    """A ladder of these games, built first."""
    names = [warehouse.build("game_scores", each).name for each in series]
    return LadderParameters(sources=tuple(sorted(map(VersionRef.parse, names), key=str)))


def games(player: str, opponent: str, seed: int = 1, count: int = 8) -> GameParameters:
    """Some games of players that need no tables."""
    versions = {"pubeval": "2", "random": "1"}
    return GameParameters(player, 0, versions[player], opponent, 0, versions[opponent], count, seed)


def test_the_smallest_ladder(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    table = warehouse.open(DATASET.name, "cubeless")
    played = warehouse.open("game_scores", SMALL.sources[0].variant)
    outcomes = np.asarray(played.array("outcomes"), np.float64)
    pairs = (outcomes[::2] + outcomes[1::2]) / 2
    error = pairs.std(ddof=1) / len(pairs) ** 0.5
    expected = fit_ratings(2, 0, [Pairing(0, 1, pairs.mean(), error)], 3.0)
    with warehouse.connect() as connection:
        rows = connection.sql("select * exclude variant from ladder order by rank").fetchall()
        (pairing,) = connection.sql("select * exclude variant from ladder_pairings").fetchall()
    rating, rating_error = expected.values[1], expected.covariances[1][1] ** 0.5
    assert rows[0] == (1, "pubeval", 0, "2", 0.0, 0.0, 0.0, 0.0, 1, 40)
    assert rows[1][:4] == (2, "random", 0, "1")
    assert rows[1][4:8] == pytest.approx(
        (rating, rating_error, rating - LEVEL * rating_error, rating + LEVEL * rating_error)
    )
    assert pairing[:5] == ("pubeval", 0, "random", 0, 40)
    assert pairing[5:] == pytest.approx((pairs.mean(), error, pairs.mean(), 0), abs=1e-7)
    assert table.manifest.statistics == {
        "players": 2, "pairings": 1, "games": 40, "chi_square": 0.0, "degrees_of_freedom": 0
    }  # fmt: skip


def test_parts_of_a_pairing_are_one_result_whoever_is_named_first(warehouse: Warehouse) -> None:
    swapped = replace(games("random", "pubeval", 2))
    parameters = ladder_of(warehouse, games("pubeval", "random", 1), swapped)
    table = warehouse.build(DATASET.name, parameters)
    first, second = (np.asarray(warehouse.open_reference(source).array("outcomes")) for source in parameters.sources)
    assert parameters.sources[0].variant.startswith("pubeval")
    assert table.array("counts").tolist() == [16]
    assert table.array("points").tolist() == [np.concatenate([first, -second]).mean()]


def test_the_same_dice_are_counted_once(warehouse: Warehouse) -> None:
    """Eight games of a seed are the first of its twelve."""
    parameters = ladder_of(warehouse, games("pubeval", "random", 1), games("pubeval", "random", 1, count=12))
    with pytest.raises(InvalidParameterError, match="expected other dice in each part of a pairing, got game_scores/"):
        warehouse.build(DATASET.name, parameters)


def test_ladders_side_by_side(warehouse: Warehouse) -> None:
    with warehouse.connect() as connection:
        found = connection.sql(
            "select player_name, cubeless_rating, money_rating, match_length from ladder_by_play"
        ).fetchall()
        (rating,) = connection.sql("select rating from ladder where rank = 2").fetchall()
    assert found == [("pubeval", 0.0, None, None), ("random", rating[0], None, None)]


def test_other_ratings_are_found(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    table = Table(warehouse.open(DATASET.name, "cubeless").folder)
    table._arrays = {**table.arrays(), "ratings": np.asarray(table.array("ratings")) + 0.01}
    inputs = {"smallest": warehouse.open("game_scores", SMALL.sources[0].variant)}
    with pytest.raises(CheckFailedError, match=r"expected the ratings of ladder/cubeless/.* as the games have them"):
        check_sample(DATASET, table, inputs, 5, np.random.default_rng(0))


def test_games_that_are_gone(warehouse: Warehouse) -> None:
    table = warehouse.build(DATASET.name, ladder_of(warehouse, games("pubeval", "random")))
    shutil.rmtree(warehouse.root / "game_scores")
    with pytest.raises(CheckSkippedError, match="the games of a pairing are gone: no game_scores/"):
        check_sample(DATASET, table, {}, 5, np.random.default_rng(0))


def test_a_player_has_one_version(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    from bgdata.evaluation.player import PubEval

    before = warehouse.build("game_scores", games("pubeval", "random")).name
    monkeypatch.setattr(PubEval, "version", "3")
    after = warehouse.build("game_scores", replace(games("pubeval", "random", 2), version="3")).name
    sources = tuple(sorted(map(VersionRef.parse, (before, after)), key=str))
    with pytest.raises(InvalidParameterError, match=r"expected games of one version of pubeval \(0-ply\), got of two"):
        warehouse.build(DATASET.name, LadderParameters(sources=sources))


def test_who_is_rated_0_plays(warehouse: Warehouse) -> None:
    parameters = replace(ladder_of(warehouse, games("random", "random")), zero="pubeval")
    with pytest.raises(InvalidParameterError, match=r"expected games of pubeval \(0-ply\), which is rated 0"):
        warehouse.build(DATASET.name, parameters)


def test_pairings_connect_all(warehouse: Warehouse) -> None:
    tiny = bgdata.open_warehouse(warehouse.root)
    from bgdata.evaluation.player import open_named_player

    version = open_named_player("network/tiny", 0, tiny).version
    alone = GameParameters("network/tiny", 0, version, "network/tiny", 0, version, 4, 1)
    parameters = ladder_of(warehouse, games("pubeval", "random"), alone)
    with pytest.raises(UsageError, match="expected pairings that lead from every player"):
        warehouse.build(DATASET.name, parameters)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"play": "chouette"}, "expected cubeless, money or match-N with up to 25 points, got 'chouette'"),
        ({"play": "match-26"}, "expected cubeless, money or match-N with up to 25 points, got 'match-26'"),
        ({"play": "match-0"}, "expected cubeless, money or match-N"),
        ({"play": "money"}, "expected sources cubeful_scores/VARIANT/VERSION, got 'game_scores/"),
        ({"zero": "no player"}, "expected the name of a player"),
        ({"sources": ()}, "expected sources in order, each once"),
        ({"sources": SMALL.sources * 2}, "expected sources in order, each once"),
        ({"sources": NAMED[::-1]}, "expected sources in order, each once"),
        ({"sources": (VersionRef("game_scores", "x"),)}, "expected sources game_scores/VARIANT/VERSION, got"),
        ({"sources": (VersionRef("selfplay", "x", "r1-01234567"),)}, "expected sources game_scores/VARIANT/VERSION"),
    ],
)
def test_wrong_parameters(warehouse: Warehouse, change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        warehouse.build(DATASET.name, replace(SMALL, **change))  # type: ignore[arg-type]


def test_games_of_another_play(warehouse: Warehouse) -> None:
    played = VersionRef.parse(warehouse.open("cubeful_scores", DATASET_OF_MATCHES).name)
    with pytest.raises(InvalidParameterError, match="expected games of money, got cubeful_scores/"):
        warehouse.build(DATASET.name, LadderParameters("money", "network/tiny", 0, (played,)))


DATASET_OF_MATCHES = bgdata.all_kinds()["cubeful_scores"].slug(bgdata.all_kinds()["cubeful_scores"].smallest)
