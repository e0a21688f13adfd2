"""Tests of the kind `cube_studies`: figures against sums over games, published figures, resuming and errors."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.equity.cube_models import JANOWSKI_FIRST
from bgdata.equity.kinds.match_equity import DATASET as MATCH_EQUITY
from bgdata.equity.kinds.match_equity import PUBLISHED
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.choices import Chooser
from bgdata.evaluation.networks.player import MappedNetwork
from bgdata.kernel import threads
from bgdata.selfplay.kinds.cubeful_selfplay import sides_of
from bgdata.selfplay.series import CubefulRules, cubeful_results, cubeful_self_play
from bgdata.store.table import Table
from bgdata.studies.kinds import cube_studies_compute as cube_studies
from bgdata.studies.kinds.cube_studies import DATASET, StudyParameters
from bgdata.studies.kinds.shared.cube_arms import CUBE_STATISTICS, NAMES, arms_of
from tests.contract.kinds import Corrupted
from tests.equity.samples import published_met
from tests.rechecking import check_sample, inputs_of
from tests.store.toy import Notes

INDEX = StudyParameters(table_points=3, table_checkers=3, study="index", games=20, seed=6)
MATCH = replace(INDEX, study="match", games=4)
LUCK_ADJUSTED = replace(INDEX, games=4, with_luck=True)
STATISTICS = replace(INDEX, study="statistics")
WINNER, POINTS, CUBE, WAY = 3, 4, 5, 6  # columns of results
PASSED, GAMMON = 0, 2  # ways in which games end
Key = tuple[int, float, str]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with the network of the package, small tables, and small studies."""
    root = tmp_path_factory.mktemp("studies") / "warehouse"
    for parameters in (INDEX, MATCH, STATISTICS, LUCK_ADJUSTED, replace(MATCH, with_luck=True)):
        bgdata.open_warehouse(root).build(DATASET.name, parameters)
    return root


def table_of(root: Path, parameters: StudyParameters) -> Table:
    return bgdata.open_warehouse(root).open(DATASET.name, DATASET.slug(parameters))


def rows_of(root: Path, parameters: StudyParameters) -> dict[Key, dict[str, Any]]:
    """The rows of a study by match length, setting and measure."""
    rows = bgdata.open_warehouse(root).rows(f"from cube_studies where variant = '{DATASET.slug(parameters)}'")
    return {(row["match_length"], row["setting"], row["measure"]): row for row in rows}


def network_chooser(root: Path) -> Chooser:
    inputs = bgdata.open_warehouse(root).find_inputs(DATASET, INDEX)
    assert inputs
    return MappedNetwork(
        inputs["network"], BearoffEvaluator(inputs["two_sided"], inputs["one_sided"], inputs["gammon"])
    ).chooser


def check_row(row: dict[str, Any], observations: list[float], games: int) -> None:
    """Compare a row with the mean and standard error of `observations`: of pairs, or of games without pairs."""
    assert row["value"] == pytest.approx(np.mean(observations), abs=1e-12)
    error = np.std(observations, ddof=1) / math.sqrt(len(observations))
    assert row["value_error"] == pytest.approx(error, abs=1e-12)
    assert row["sample_size"] == games


@pytest.mark.slow
def test_paired_figures_equal_sums_over_pairs(root: Path) -> None:
    """Figures are means over pairs, in which the studied side is player 0 in the first game and player 1 in the
    second."""
    chooser = network_chooser(root)
    rows = rows_of(root, INDEX)
    for setting in (0.25, 1.0):
        pairs: dict[str, list[float]] = {name: [] for name in ("points_per_game", "win_share", "mean_cube_value")}
        pairs |= {"passed_share": [], "gammon_share": [], "cube_4_share": []}
        sides = sides_of(f"{setting:g} 0.7")
        games = [cubeful_self_play(chooser, order, CubefulRules(), 10, 6).results for order in (sides, sides[::-1])]
        for pair in range(10):
            two_games = [result.games[pair].tolist() for result in games]
            won = [two_games[0][WINNER] == 0, two_games[1][WINNER] == 1]
            points = [game[POINTS] if is_won else -game[POINTS] for game, is_won in zip(two_games, won, strict=True)]
            pairs["win_share"].append(sum(won) / 2)
            pairs["points_per_game"].append(sum(points) / 2)
            pairs["mean_cube_value"].append(sum(game[CUBE] for game in two_games) / 2)
            pairs["cube_4_share"].append(sum(game[CUBE] == 4 for game in two_games) / 2)
            pairs["passed_share"].append(sum(game[WAY] == PASSED for game in two_games) / 2)
            pairs["gammon_share"].append(sum(game[WAY] == GAMMON for game in two_games) / 2)
        for measure, observations in pairs.items():
            check_row(rows[0, setting, measure], observations, 20)
    equal = rows[0, 0.5, "points_per_game"]
    assert (equal["published_value"], equal["against"], equal["unit"]) == (-0.04, "0.7", "points")
    assert rows[0, 0.5, "passed_share"]["published_value"] is None


@pytest.mark.slow
def test_unpaired_figures_equal_sums_over_games(root: Path) -> None:
    """Figures of a model against itself are means over games."""
    rows = rows_of(root, STATISTICS)
    games = cubeful_self_play(network_chooser(root), sides_of("0.25"), CubefulRules(), 20, 6).results
    check_row(rows[0, 0.25, "mean_cube_value"], games.column("cube_value").tolist(), 20)
    check_row(rows[0, 0.25, "single_share"], (games.column("way") == 1).tolist(), 20)
    check_row(rows[0, 0.25, "cube_2_share"], (games.column("cube_value") == 2).tolist(), 20)
    for measure, published in CUBE_STATISTICS.items():
        scale = 100 if measure.endswith("share") else 1
        assert rows[0, 0.25, measure]["published_value"] == pytest.approx(published[1] / scale)
        assert rows[0, 0.25, measure]["against"] == "itself"


def test_match_figures_equal_sums_over_pairs(root: Path) -> None:
    """Figures of matches are means over pairs of matches with the same dice and the sides swapped."""
    rows = rows_of(root, MATCH)
    chooser = network_chooser(root)
    sides = sides_of("0.75 money:0.75")
    rules = CubefulRules(5, met=published_met())
    results = [cubeful_self_play(chooser, order, rules, 2, 6).results for order in (sides, sides[::-1])]
    points, games = [], []
    for pair in range(2):
        last_rows = [int(result.offsets[pair + 1]) - 1 for result in results]
        won = [result.games[row, 3] == seat for seat, (result, row) in enumerate(zip(results, last_rows, strict=True))]
        points.append(float(sum(won) - 1))
        games.append(float(np.mean([np.diff(result.offsets)[pair] for result in results])))
    check_row(rows[5, 0.75, "points_per_match"], points, 4)
    check_row(rows[5, 0.75, "win_share"], [(pair_points + 1) / 2 for pair_points in points], 4)
    check_row(rows[5, 0.75, "games_per_match"], games, 4)
    assert rows[9, 1.0, "points_per_match"]["published_value"] == 0.081
    assert {key[0] for key in rows} == {3, 5, 7, 9}


def test_cubeful_plays_differ_only_in_choosing_plays(root: Path) -> None:
    """Both sides decide about the cube alike and only one chooses plays by their value with the cube; the study decides
    about the Jacoby rule."""
    for study, is_jacoby in (("plays", False), ("plays-jacoby", True)):
        parameters = replace(INDEX, study=study, games=60)
        bgdata.open_warehouse(root).build(DATASET.name, parameters)
        (arm,), rows = arms_of(study), rows_of(root, parameters)
        cubeful_side, cubeless_side = sides_of(arm.cube)
        assert cubeful_side.cubeful_plays
        assert not cubeless_side.cubeful_plays
        assert cubeful_side.strategy == cubeless_side.strategy
        results = cubeful_results(
            network_chooser(root), (cubeful_side, cubeless_side), CubefulRules(is_jacoby=is_jacoby), 60, 6
        )
        won = results.column("winner") == np.arange(60) % 2
        points = np.where(won, results.column("points"), -results.column("points")).reshape(-1, 2).mean(1)
        check_row(rows[0, 0.7, "points_per_game"], points.tolist(), 60)
        assert rows[0, 0.7, "points_per_game"]["against"] == "cubeless plays"
        assert (points != 0).any()


def test_luck_is_subtracted(root: Path) -> None:
    """Luck-adjusted figures subtract the luck of both seats, in steps of 1/10,000 point."""
    chooser = network_chooser(root)
    rows = rows_of(root, LUCK_ADJUSTED)
    results = cubeful_results(chooser, sides_of("0.25 0.7"), CubefulRules(), 4, 6, with_luck=True)
    winners, points = results.column("winner"), results.column("points")
    hedged = []
    for game in range(4):
        sign = 1 if winners[game] == game % 2 else -1
        luck = results.lucks[game] if game % 2 == 0 else -results.lucks[game]
        hedged.append(round(float(sign * points[game] - luck), 4))
    check_row(rows[0, 0.25, "hedged_points_per_game"], np.reshape(hedged, (2, 2)).mean(1).tolist(), 4)
    assert rows[0, 0.25, "hedged_points_per_game"]["published_value"] == -0.14
    matches = rows_of(root, replace(MATCH, with_luck=True))
    for key, row in rows_of(root, MATCH).items():
        assert matches[key] == row | {"variant": matches[key]["variant"]}
    assert abs(matches[3, 0.5, "hedged_points_per_match"]["value"]) < 1
    assert matches[3, 0.5, "hedged_points_per_match"]["published_value"] == 0.051


def test_each_study_has_its_arms() -> None:
    """Each study has the expected number of arms, with published figures for measures that it has."""
    assert {name: len(arms_of(name)) for name in NAMES} == {
        "statistics": 5, "index": 5, "fine-index": 5, "high-index": 5, "jump": 7, "match": 20,
        "match-cubeful": 20, "match-long": 4, "first-statistics": 5, "first-index": 5,
        "first-fine-index": 5, "local": 3, "match-own": 20, "match-own-cubeful": 20,
        "plays": 1, "plays-jacoby": 1, "plays-match": 10,
    }  # fmt: skip
    for name in NAMES:
        for arm in arms_of(name):
            assert arm.is_paired == ("statistics" not in name)
    assert arms_of("jump")[0].published == {"points_per_game": -0.006, "win_share": 0.502}
    for kind in ("statistics", "index", "fine-index"):
        for arm, first in zip(arms_of(kind), arms_of(f"first-{kind}"), strict=True):
            assert (first.setting, first.published) == (arm.setting, arm.published)
            models = [(side.strategy._replace(model=JANOWSKI_FIRST), side.as_money) for side in sides_of(arm.cube)]
            assert [(side.strategy, side.as_money) for side in sides_of(first.cube)] == models
    for name in NAMES:
        for arm in arms_of(name):
            assert sides_of(arm.cube)
            assert set(arm.published) <= set(cube_studies.measures_of(INDEX, arm))


def test_match_equity_table_of_a_study() -> None:
    """A study plays by the published match equity table, or by the default one if its name says so."""
    for study, ours in (("match", "match-own"), ("match-cubeful", "match-own-cubeful")):
        mets = [DATASET.inputs(replace(MATCH, study=name))["met"][1] for name in (study, ours)]
        assert mets == [PUBLISHED, MATCH_EQUITY.defaults[0]]
        assert arms_of(ours) == arms_of(study)
    assert "met" not in DATASET.inputs(INDEX)


def test_published_shares_sum_to_1() -> None:
    """Published shares sum to 1 within rounding, except the endings at 0.5, where 40.0 % passed is a misprint, maybe of
    35.0. The mean cube follows from its distribution."""
    for arm in arms_of("statistics"):
        cubes = {value: arm.published[f"cube_{value}_share"] for value in (1, 2, 4, 8, 16, 32, 64)}
        assert sum(cubes.values()) == pytest.approx(1, abs=0.0021)
        mean = sum(value * share for value, share in cubes.items())
        assert mean == pytest.approx(arm.published["mean_cube_value"], abs=0.04)
        ways = (arm.published[f"{way}_share"] for way in ("passed", "single", "gammon", "backgammon"))
        assert sum(ways) == pytest.approx(1.05 if arm.setting == 0.5 else 1, abs=0.0021)


def test_threads_and_interruption_leave_the_digest(
    root: Path, memory_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A study that is interrupted and resumed, on another number of threads, has the same digest."""
    monkeypatch.setattr(cube_studies, "SHARD_GAMES", 8)
    play = cube_studies.play_study
    calls = []

    def stopping(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return play(*arguments)

    monkeypatch.setattr(cube_studies, "play_study", stopping)
    with pytest.raises(KeyboardInterrupt):
        bgdata.open_warehouse(memory_path).build(DATASET.name, INDEX)
    notes = Notes()
    with threads(1):
        table = bgdata.open_warehouse(memory_path).build(DATASET.name, INDEX, progress=notes)
    assert table.manifest.digest == table_of(root, INDEX).manifest.digest
    assert f"going on with cube_studies/{DATASET.slug(INDEX)}: 4 of 15 parts are there" in notes.texts


@pytest.mark.parametrize(
    ("replayed_games", "changed"), [(20, np.index_exp[:, 1]), (0, np.index_exp[3, 0])], ids=["all games", "no game"]
)
def test_verify_finds_changed_sums(root: Path, replayed_games: int, changed: Any) -> None:
    """Without games that are played again, the figures must still follow from the sums."""
    table = table_of(root, MATCH)
    inputs = inputs_of(bgdata.open_warehouse(root), DATASET, MATCH)
    sums = np.array(table.array("sums"))
    sums[changed] += 2
    with pytest.raises(CheckFailedError, match=r"^expected the (figures|errors|sums) of .* as they are computed again"):
        check_sample(DATASET, Corrupted(table, "sums", sums), inputs, replayed_games, np.random.default_rng(0))


WRONG_PARAMETERS = [
    (replace(INDEX, study="x"), f"expected a study among {', '.join(NAMES)}, got 'x'"),
    (replace(INDEX, games=5), "expected an even number of at least 4 games, got 5"),
    (replace(INDEX, games=2), "expected an even number of at least 4 games, got 2"),
    (replace(INDEX, seed=1 << 63), r"expected a seed from 0 to 2\^63 - 1, got 9223372036854775808"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "message"), WRONG_PARAMETERS, ids=[message[:50] for _, message in WRONG_PARAMETERS]
)
def test_invalid_parameters_are_refused(parameters: StudyParameters, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"^{message}"):
        DATASET.check_parameters(parameters)
