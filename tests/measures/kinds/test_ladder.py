"""Tests of the kind `ladder`: ratings by hand and in simulations, rows, SQL and errors."""

import math
import shutil
from dataclasses import replace
from itertools import combinations
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckSkippedError, InvalidParameterError, UsageError
from bgdata.evaluation.player import PubEval, open_named_player
from bgdata.measures.kinds.game_scores import GameParameters
from bgdata.measures.kinds.ladder import DATASET, LadderParameters
from bgdata.measures.kinds.ladder_compute import LEVEL, MAX_RATING, MIN_ERROR, Pairing, expected_points, fit_ratings
from bgdata.store.parameters import VersionRef
from bgdata.warehouse import Warehouse
from tests.rechecking import check_sample

SMALLEST = DATASET.smallest
NAMED_SOURCES = tuple(VersionRef("game_scores", name, "r1-01234567") for name in ("a", "b"))
TRUE_RATINGS = (0.0, 0.04, -0.6, -3.5, 0.01)


def simulated_pairings(generator: np.random.Generator, scale: float, error: float) -> list[Pairing]:
    """Simulated results of all pairings of players whose ratings are TRUE, with normal errors."""
    return [
        Pairing(
            a, b, expected_points(TRUE_RATINGS[a] - TRUE_RATINGS[b], scale) + error * float(generator.normal()), error
        )
        for a, b in combinations(range(len(TRUE_RATINGS)), 2)
    ]


def test_exact_results_reproduce_the_ratings() -> None:
    pairings = [pairing._replace(error=0.01) for pairing in simulated_pairings(np.random.default_rng(0), 3.0, 0.0)]
    ratings = fit_ratings(len(TRUE_RATINGS), 0, pairings, 3.0)
    assert ratings.values == pytest.approx(TRUE_RATINGS, abs=1e-7)
    assert ratings.chi_square == pytest.approx(0, abs=1e-9)
    assert ratings.degrees_of_freedom == 10 - 4


@pytest.mark.parametrize(
    ("points", "error", "scale", "rating", "rating_error"),
    [
        (0.5, 0.1, 1.0, -math.atanh(0.5), 0.1 / (1 - 0.25)),
        (0.5, 0.1, 1.0, -math.log(0.75 / 0.25) / 2, None),  # Bradley-Terry: half the log odds of 75 of 100 matches
        (0.0, 0.0, 3.0, 0.0, MIN_ERROR),  # identical players do not outweigh all others
    ],
)
def test_ratings_of_two_players_match_values_by_hand(
    points: float, error: float, scale: float, rating: float, rating_error: float | None
) -> None:
    ratings = fit_ratings(2, 0, [Pairing(0, 1, points, error)], scale)
    assert ratings.values == pytest.approx([0, rating], abs=1e-8)
    assert ratings.covariances[0] == [0.0, 0.0]
    assert rating_error is None or ratings.covariances[1][1] ** 0.5 == pytest.approx(rating_error, rel=1e-6)


def test_standard_errors_equal_the_spread_of_simulations() -> None:
    """The standard errors of ratings equal their spread over 300 simulations, and chi-square its degrees of freedom."""
    generator = np.random.default_rng(3)
    error = 0.02
    fits = [fit_ratings(len(TRUE_RATINGS), 0, simulated_pairings(generator, 3.0, error), 3.0) for _ in range(300)]
    values = np.array([fit.values for fit in fits])
    reported = np.array([np.sqrt(np.diagonal(fit.covariances)) for fit in fits]).mean(axis=0)
    spread = values.std(axis=0)
    assert values.mean(axis=0) == pytest.approx(TRUE_RATINGS, abs=0.01)
    assert spread[1:] == pytest.approx(
        reported[1:], rel=0.2
    )  # reported errors are a little larger, because they are never reduced
    assert np.mean([fit.chi_square for fit in fits]) == pytest.approx(6, rel=0.15)


def test_contradicting_results_widen_intervals() -> None:
    """Players who beat each other in a circle, like rock, paper and scissors, have wider intervals."""
    circle = [Pairing(0, 1, 0.5, 0.01), Pairing(1, 2, 0.5, 0.01), Pairing(2, 0, 0.5, 0.01)]
    ratings = fit_ratings(3, 0, circle, 3.0)
    assert ratings.values == pytest.approx([0, 0, 0], abs=1e-9)
    assert ratings.chi_square == pytest.approx(3 * 50**2)
    assert ratings.covariances[1][1] ** 0.5 > 0.3


def test_loss_beyond_the_scale_gives_a_bounded_rating() -> None:
    ratings = fit_ratings(2, 0, [Pairing(0, 1, 3.1, 0.1)], 3.0)
    assert -MAX_RATING <= ratings.values[1] < -6
    assert ratings.covariances[1][1] > 1


def test_one_sided_matches_give_a_bounded_rating() -> None:
    pairs = ((1, 0), (2, 0), (3, 0), (3, 1), (2, 3), (4, 0), (1, 4), (4, 2))
    ratings = fit_ratings(5, 0, [Pairing(winner, loser, 1.0, 0.0) for winner, loser in pairs], 1.0)
    assert ratings.values[0] == 0
    assert all(2 < value <= MAX_RATING for value in ratings.values[1:])


def test_unconnected_pairings_raise() -> None:
    with pytest.raises(UsageError, match="lead from every player to player 0, none leads from 2"):
        fit_ratings(4, 0, [Pairing(0, 1, 0.1, 0.1), Pairing(2, 3, 0.1, 0.1)], 3.0)


@pytest.mark.parametrize(("points", "error"), [(0.5, nan), (nan, 0.1), (inf, 0.1), (0.5, inf)])
def test_infinite_results_raise(points: float, error: float) -> None:
    with pytest.raises(UsageError, match="expected finite results of pairings, got "):
        fit_ratings(2, 0, [Pairing(1, 0, points, error)], 3.0)


def ladder_of(warehouse: Warehouse, *series: GameParameters) -> LadderParameters:
    """The parameters of a ladder of these series of games, which are built first."""
    names = [warehouse.build("game_scores", parameters).name for parameters in series]
    return LadderParameters(sources=tuple(sorted(map(VersionRef.parse, names), key=str)))


def games(player: str, opponent: str, seed: int = 1, count: int = 8) -> GameParameters:
    """The parameters of a few games between players that need no tables."""
    versions = {"pubeval": "2", "random": "1"}
    return GameParameters(player, 0, versions[player], opponent, 0, versions[opponent], count, seed)


def test_rows_of_the_smallest_ladder_equal_its_ratings(small_root: Path) -> None:
    """The ladder of one pairing has the rating and interval that follow from its pairs of games."""
    warehouse = bgdata.open_warehouse(small_root)
    table = warehouse.open(DATASET.name, "cubeless")
    game_table = warehouse.open("game_scores", SMALLEST.sources[0].variant)
    outcomes = np.asarray(game_table.array("outcomes"), np.float64)
    pairs = (outcomes[::2] + outcomes[1::2]) / 2
    error = pairs.std(ddof=1) / len(pairs) ** 0.5
    expected = fit_ratings(2, 0, [Pairing(0, 1, pairs.mean(), error)], 3.0)
    pubeval, random = warehouse.rows("select * exclude variant from ladder order by rank")
    assert list(pubeval.values()) == [1, "pubeval", 0, "2", 0.0, 0.0, 0.0, 0.0, 1, 40]
    rating = expected.values[1]
    rating_error = expected.covariances[1][1] ** 0.5
    interval = (rating - LEVEL * rating_error, rating + LEVEL * rating_error)
    assert list(random.values())[:4] == [2, "random", 0, "1"]
    assert list(random.values())[4:8] == pytest.approx([rating, rating_error, *interval])
    (pairing,) = warehouse.rows("select * exclude variant from ladder_pairings")
    assert list(pairing.values())[:5] == ["pubeval", 0, "random", 0, 40]
    assert list(pairing.values())[5:] == pytest.approx([pairs.mean(), error, pairs.mean(), 0], abs=1e-7)
    assert table.manifest.statistics == {
        "players": 2, "pairings": 1, "games": 40, "chi_square": 0.0, "degrees_of_freedom": 0
    }  # fmt: skip


def test_parts_of_a_pairing_are_joined_in_either_order(warehouse: Warehouse) -> None:
    swapped = replace(games("random", "pubeval", 2))
    parameters = ladder_of(warehouse, games("pubeval", "random", 1), swapped)
    table = warehouse.build(DATASET.name, parameters)
    outcomes, swapped_outcomes = (
        np.asarray(warehouse.open_reference(source).array("outcomes")) for source in parameters.sources
    )
    assert parameters.sources[0].variant.startswith("pubeval")
    assert table.array("counts").tolist() == [16]
    assert table.array("points").tolist() == [np.concatenate([outcomes, -swapped_outcomes]).mean()]


def test_parts_with_the_same_dice_are_refused(warehouse: Warehouse) -> None:
    """Two series of a pairing with the same seed are refused, because the games of one are the first of the other."""
    parameters = ladder_of(warehouse, games("pubeval", "random", 1), games("pubeval", "random", 1, count=12))
    with pytest.raises(InvalidParameterError, match="expected other dice in each part of a pairing, got game_scores/"):
        warehouse.build(DATASET.name, parameters)


def test_view_joins_ladders_by_play(warehouse: Warehouse) -> None:
    pubeval, random = warehouse.rows("from ladder_by_play")
    (second,) = warehouse.rows("from ladder where rank = 2")
    assert pubeval["player_name"] == "pubeval"
    assert pubeval["cubeless_rating"] == 0.0
    assert random["player_name"] == "random"
    assert random["cubeless_rating"] == second["rating"]
    for row in (pubeval, random):
        assert row["money_rating"] is None
        assert row["match_length"] is None


def test_missing_games_skip_the_check(warehouse: Warehouse) -> None:
    table = warehouse.build(DATASET.name, ladder_of(warehouse, games("pubeval", "random")))
    shutil.rmtree(warehouse.root / "game_scores")
    with pytest.raises(CheckSkippedError, match="the games of a pairing are gone: no game_scores/"):
        check_sample(DATASET, table, {}, 5, np.random.default_rng(0))


def test_two_versions_of_a_player_are_refused(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    before = warehouse.build("game_scores", games("pubeval", "random")).name
    monkeypatch.setattr(PubEval, "version", "3")
    after = warehouse.build("game_scores", replace(games("pubeval", "random", 2), version="3")).name
    sources = tuple(sorted(map(VersionRef.parse, (before, after)), key=str))
    with pytest.raises(InvalidParameterError, match=r"expected games of one version of pubeval \(0-ply\), got of two"):
        warehouse.build(DATASET.name, LadderParameters(sources=sources))


def test_missing_games_of_the_zero_player_are_refused(warehouse: Warehouse) -> None:
    parameters = replace(ladder_of(warehouse, games("random", "random")), zero="pubeval")
    with pytest.raises(InvalidParameterError, match=r"expected games of pubeval \(0-ply\), which is rated 0"):
        warehouse.build(DATASET.name, parameters)


def test_ladder_of_unconnected_pairings_is_refused(warehouse: Warehouse) -> None:
    version = open_named_player("network/tiny", 0, warehouse).version
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
        ({"sources": SMALLEST.sources * 2}, "expected sources in order, each once"),
        ({"sources": NAMED_SOURCES[::-1]}, "expected sources in order, each once"),
        ({"sources": (VersionRef("game_scores", "x"),)}, "expected sources game_scores/VARIANT/VERSION, got"),
        ({"sources": (VersionRef("selfplay", "x", "r1-01234567"),)}, "expected sources game_scores/VARIANT/VERSION"),
    ],
)
def test_invalid_parameters_are_refused(warehouse: Warehouse, change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        warehouse.build(DATASET.name, replace(SMALLEST, **change))  # type: ignore[arg-type]


def test_games_of_another_play_are_refused(warehouse: Warehouse) -> None:
    kind = warehouse.kind("cubeful_scores")
    match_games = VersionRef.parse(warehouse.open(kind.name, kind.slug(kind.smallest)).name)
    with pytest.raises(InvalidParameterError, match="expected games of money, got cubeful_scores/"):
        warehouse.build(DATASET.name, LadderParameters("money", "network/tiny", 0, (match_games,)))
