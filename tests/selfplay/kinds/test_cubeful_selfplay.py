"""Self-play with the cube as a dataset: rows against the games, files of other programs, and interrupted builds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.networks.player import MappedNetwork
from bgdata.matches.kinds.matches_compute import matches_of
from bgdata.selfplay.kinds.cubeful_selfplay import DATASET, CubefulParameters, sides_of
from bgdata.selfplay.series import CubefulCorpus, CubefulRules, cubeful_self_play
from bgdata.store.table import Table
from bgdata.warehouse.commands.export import write_text
from tests.contract.kinds import Corrupted
from tests.equity.samples import published_met
from tests.imports.importing import Imports
from tests.rechecking import check_sample, inputs_of
from tests.subtests import each

MONEY = CubefulParameters(table_points=3, table_checkers=3, cube="0.2 0.5", games=20, seed=6)
MATCH = replace(MONEY, cube="0.4 money:0.3", games=10, length=5)
JACOBY = replace(MONEY, cube="0", jacoby=True)
CUBEFUL = replace(MATCH, cube="cubeful:0.4 cubeful:money:0.3", games=4)
AHEAD = replace(MONEY, cube="cubeful:0.2 0.5", games=3, ply=1)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with the network of the package, small tables, and five corpora."""
    root = tmp_path_factory.mktemp("cubeful") / "warehouse"
    for parameters in (MONEY, MATCH, JACOBY, CUBEFUL, AHEAD):
        bgdata.open_warehouse(root).build(DATASET.name, parameters)
    return root


def table_of(root: Path, parameters: CubefulParameters) -> Table:
    return bgdata.open_warehouse(root).open(DATASET.name, DATASET.slug(parameters))


def games_of(root: Path, parameters: CubefulParameters) -> tuple[CubefulCorpus, str]:
    """The games of a version, played again, and the name of their player."""
    inputs = inputs_of(bgdata.open_warehouse(root), DATASET, parameters)
    assert ("met" in inputs) == bool(parameters.length)
    player = MappedNetwork(
        inputs["network"], BearoffEvaluator(inputs["two_sided"], inputs["one_sided"], inputs["gammon"])
    )
    rules = CubefulRules(parameters.length, bool(parameters.jacoby), published_met() if parameters.length else None)
    corpus = cubeful_self_play(
        player.chooser, sides_of(parameters.cube), rules, parameters.games, parameters.seed, ply=parameters.ply
    )
    return corpus, f"{player.label} {player.version}" + (" 1-ply" if parameters.ply else "")


def query_rows(root: Path, name: str, parameters: CubefulParameters) -> list[dict[str, Any]]:
    """The rows of a view for a version."""
    with bgdata.open_warehouse(root).connect() as connection:
        result = connection.sql(f"from {name} where variant = '{DATASET.slug(parameters)}' order by all")
        return [dict(zip(result.columns, row, strict=True)) for row in result.fetchall()]


ALL = pytest.mark.parametrize(
    "parameters", [MONEY, MATCH, JACOBY, CUBEFUL, AHEAD], ids=["money", "match", "jacoby", "cubeful plays", "1-ply"]
)


@ALL
def test_rows_of_games_equal_the_games(root: Path, parameters: CubefulParameters) -> None:
    corpus, player = games_of(root, parameters)
    cube_models = [model.replace(":", " ") for model in parameters.cube.split()]
    rows = query_rows(root, "games", parameters)
    assert len(rows) == len(corpus.results.games)
    offsets = corpus.results.offsets
    matches = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)).tolist()
    for game, row in enumerate(rows):
        score_0, score_1, is_crawford, winner, points, _, _, n_turns = corpus.results.games[game].tolist()
        match = matches[game] if parameters.length else 0
        expected = {
            "game": game, "match": match, "game_number": game - offsets[match] + 1,
            "player_0": f"{player} cube {cube_models[0]}", "player_1": f"{player} cube {cube_models[-1]}",
            "match_length": parameters.length, "score_0": score_0, "score_1": score_1,
            "is_crawford": bool(is_crawford), "winner": winner, "points_won": points, "n_turns": n_turns, "seed": 6,
            "luck_0": None, "hedged_points": None,
        }  # fmt: skip
        assert {name: row[name] for name in expected} == expected


@ALL
def test_rows_of_turns_equal_the_games(root: Path, parameters: CubefulParameters) -> None:
    corpus, _ = games_of(root, parameters)
    rows = query_rows(root, "turns", parameters)
    assert len(rows) == len(corpus.records)
    for turn, row in enumerate(rows):
        player, action, on_roll, die1, die2, cube, owner = corpus.records[turn].tolist()
        expected = {
            "player": player, "action": ("play", "double", "take", "pass")[action], "on_roll": on_roll,
            "board": corpus.boards[turn].tolist(), "die1": die1 or None, "die2": die2 or None, "cube_value": cube,
            "cube_owner": ("centered", "on_roll", "opponent")[owner],
            "cubeless_equity": float(corpus.equities[turn]), "luck": None,
        }  # fmt: skip
        assert {name: row[name] for name in expected} == expected
        assert bool(row["play"]) == (row["action"] == "play")


@pytest.mark.parametrize("parameters", [MONEY, MATCH, JACOBY], ids=["money", "match", "jacoby"])
def test_exported_matches_can_be_imported(root: Path, parameters: CubefulParameters, imports: Imports) -> None:
    """Matches that are written as .mat and read again have legal turns and cube actions, and the same games and
    rules."""
    table = table_of(root, parameters)
    path = imports.folder / "games.mat"
    write_text(table, "mat", path)
    imported = imports.build("matches", [path], name="games")
    assert imported.manifest.statistics.get("quarantined", 0) == 0
    assert {match.is_jacoby for match in matches_of(imported.arrays())} == {parameters.jacoby}
    for name in ("first_turns", "turn_boards", "turns"):
        assert np.array_equal(table.array(name), imported.array(name)), name
    columns = [1, 2, 3, 4, 6, 7]  # match numbers differ, and the Crawford game is not written
    games, imported_games = np.asarray(table.array("games")), np.asarray(imported.array("games"))
    assert np.array_equal(games[:, columns], imported_games[:, columns])


@pytest.mark.parametrize("parameters", [MONEY, MATCH], ids=["money", "match"])
def test_summary_equals_the_games(root: Path, parameters: CubefulParameters) -> None:
    """The view `cube_summary` and the manifest's statistics equal sums over the games."""
    (summary,) = query_rows(root, "cube_summary", parameters)
    corpus, _ = games_of(root, parameters)
    games = corpus.results
    if parameters.length:
        results = games.column("winner")[games.offsets[1:] - 1] == 0
    else:
        results = games.column("points") * (1 - 2 * games.column("winner"))
    passed_share = (games.column("way") == 0).mean()
    mean_cube_value = games.column("cube_value").mean()
    assert table_of(root, parameters).manifest.statistics == pytest.approx(
        {
            "passed_share": passed_share,
            "mean_cube_value": mean_cube_value,
            "turns_per_game": len(corpus.records) / len(games.games),
            "matches_won_share" if parameters.length else "points_per_game": results.mean(),
            "standard_error": results.std(ddof=1) / len(results) ** 0.5,
        }
    )
    assert summary["passed_share"] == pytest.approx(passed_share)
    assert summary["mean_cube_value"] == pytest.approx(mean_cube_value)
    assert summary["games"] == len(games.games)
    assert summary["doubles"] == (corpus.records[:, 1] == 1).sum()
    assert summary["takes"] == (corpus.records[:, 1] == 2).sum()


@pytest.mark.parametrize("parameters", [MONEY, AHEAD], ids=["0-ply", "1-ply"])
def test_verify_finds_changed_turns(root: Path, parameters: CubefulParameters) -> None:
    """`verify` plays money games again; the tests of all kinds cover matches."""
    table = table_of(root, parameters)
    inputs = inputs_of(bgdata.open_warehouse(root), DATASET, parameters)
    check_sample(DATASET, table, inputs, 4, np.random.default_rng(0))
    turns = np.array(table.array("turns"))
    turns[:, 5] += 1  # the cube
    with pytest.raises(CheckFailedError, match=r"^expected the turns of match \d of .* to equal their replay, fo"):
        check_sample(DATASET, Corrupted(table, "turns", turns), inputs, 2, np.random.default_rng(0))


INVALID_PARAMETERS = [
    (replace(MONEY, cube="1.5"), "expected a cube life index from 0 to 1, got 1.5"),
    (replace(MONEY, cube="jump:0.5"), "expected a jump volatility from 0 to 0.25, got 0.5"),
    (replace(MONEY, cube="high"), "expected cube models such as 0.7, jump:0.08, money:0.7 or cubeful:0.7, got 'high'"),
    (replace(MONEY, cube=""), "expected one cube model, or two with a space between, got ''"),
    (replace(MONEY, cube="0.7  0.7"), "expected one cube model, or two with a space between, got '0.7  0.7'"),
    (replace(MONEY, length=65), "expected a match length of 1 to 64 points, or 0 for money, got 65"),
    (replace(MONEY, length=-1), "expected a match length of 1 to 64 points, or 0 for money, got -1"),
    (replace(MATCH, jacoby=True), "expected the jacoby rule in money play only, got it in a match to 5"),
    (replace(MATCH, cube="first:0.1"), "expected a model that knows match scores, got janowski-first"),
    (replace(MONEY, ply=-1), "expected a ply from 0 to 2, got -1"),
    (replace(MONEY, ply=3), "expected a ply from 0 to 2, got 3"),
    (replace(MONEY, games=0), "expected 1 to 1,073,741,824 games, got 0"),
    (replace(MONEY, seed=-1), r"expected a seed from 0 to 2\^63 - 1, got -1"),
    (replace(MONEY, network="../x"), r"expected the name of a network, got '../x'"),
]


@each(("parameters", "message"), INVALID_PARAMETERS)
def test_invalid_parameters_are_refused(parameters: CubefulParameters, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"^{message}"):
        DATASET.check_parameters(parameters)


def test_recipes_without_a_ply_are_unchanged() -> None:
    """Parameters at the default ply are stored and named as before there were plies."""
    assert "ply" not in MONEY.to_json()
    assert DATASET.slug(MONEY) == "diverse-19-money-cube-0-2-0-5-20-seed-6"
    assert DATASET.slug(AHEAD) == "diverse-19-1ply-money-cube-cubeful-0-2-0-5-3-seed-6"
    assert CubefulParameters.from_manifest(MONEY.to_json()) == MONEY
    assert CubefulParameters.from_manifest(AHEAD.to_json()) == AHEAD


def test_matches_use_the_published_table_if_long_enough() -> None:
    """Matches longer than the published table use the computed one; sides that play as for money need none."""
    assert "met" not in DATASET.inputs(replace(MATCH, cube="money:0.7"))
    tables = {length: DATASET.inputs(replace(MATCH, length=length))["met"][1] for length in (12, 13, 25, 40)}
    assert [vars(table)["length"] for table in tables.values()] == [12, 25, 25, 40]
    assert [bool(vars(table)["row"]) for table in tables.values()] == [True, False, False, False]
