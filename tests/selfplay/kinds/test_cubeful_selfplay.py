"""Self-play with the cube as a dataset: rows against the games, files of other programs, and interrupted builds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.networks.player import MappedNetwork
from bgdata.kernel import threads
from bgdata.matches.kinds.matches_compute import matches_of
from bgdata.selfplay.kinds import selfplay_compute as computing
from bgdata.selfplay.kinds.cubeful_selfplay import DATASET, CubefulParameters, sides_of
from bgdata.selfplay.series import CubefulCorpus, CubefulRules, cubeful_self_play
from bgdata.store.table import Table
from bgdata.warehouse.commands.export import write_text
from tests.contract.kinds import Corrupted
from tests.equity.samples import published_met
from tests.imports.importing import Imports
from tests.rechecking import check_sample, inputs_of
from tests.store.toy import Notes
from tests.subtests import each

MONEY = CubefulParameters(table_points=3, table_checkers=3, cube="0.2 0.5", games=20, seed=6)
MATCH = replace(MONEY, cube="0.4 money:0.3", games=10, length=5)
JACOBY = replace(MONEY, cube="0", jacoby=True)
CUBEFUL = replace(MATCH, cube="cubeful:0.4 cubeful:money:0.3", games=4)
AHEAD = replace(MONEY, cube="cubeful:0.2 0.5", games=3, ply=1)
ACTIONS = {0: "play", 1: "double", 2: "take", 3: "pass"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with the network of the package, small tables, and three corpora."""
    root = tmp_path_factory.mktemp("cubeful") / "warehouse"
    for parameters in (MONEY, MATCH, JACOBY, CUBEFUL, AHEAD):
        bgdata.open_warehouse(root).build(DATASET.name, parameters)
    return root


def table_of(root: Path, parameters: CubefulParameters) -> Table:
    return bgdata.open_warehouse(root).open(DATASET.name, DATASET.slug(parameters))


def games_of(root: Path, parameters: CubefulParameters) -> tuple[CubefulCorpus, str]:
    """The games of a corpus, and the name of their player."""
    found = bgdata.open_warehouse(root).find_inputs(DATASET, parameters)
    assert found
    assert ("met" in found) == bool(parameters.length)
    tables = BearoffEvaluator(found["two_sided"], found["one_sided"], found["gammon"])
    player = MappedNetwork(found["network"], tables)
    rules = CubefulRules(parameters.length, bool(parameters.jacoby), published_met() if parameters.length else None)
    sides = sides_of(parameters.cube)
    ply = parameters.ply
    name = f"{player.label} {player.version} 1-ply cube " if ply else f"{player.label} {player.version} cube "
    return cubeful_self_play(player.chooser, sides, rules, parameters.games, parameters.seed, ply=ply), name


def query_rows(root: Path, name: str, parameters: CubefulParameters) -> Iterator[Mapping[str, Any]]:
    with bgdata.open_warehouse(root).connect() as connection:
        found = connection.sql(f"from {name} where variant = '{DATASET.slug(parameters)}' order by all")
        for row in found.fetchall():
            yield dict(zip(found.columns, row, strict=True))


@pytest.mark.parametrize(
    "parameters", [MONEY, MATCH, JACOBY, CUBEFUL, AHEAD], ids=["money", "match", "jacoby", "cubeful", "ahead"]
)
def test_rows_equal_the_games(root: Path, parameters: CubefulParameters) -> None:
    """Every column of the tables `games` and `turns` equals the game that `cubeful_self_play` plays again."""
    corpus, name = games_of(root, parameters)
    words = [word.replace(":", " ") for word in parameters.cube.split()]
    match = np.searchsorted(corpus.results.offsets, np.arange(len(corpus.results.games)), side="right") - 1
    for game, row in enumerate(query_rows(root, "games", parameters)):
        score_0, score_1, is_crawford, winner, points, _, _, n_turns = corpus.results.games[game].tolist()
        number = game - int(corpus.results.offsets[match[game]])
        place = (match[game], number + 1) if parameters.length else (0, game + 1)
        assert row["game"] == game
        assert (row["match"], row["game_number"]) == place
        assert (row["player_0"], row["player_1"]) == (name + words[0], name + words[-1])
        assert (row["match_length"], row["score_0"], row["score_1"]) == (parameters.length, score_0, score_1)
        assert (row["is_crawford"], row["winner"], row["points_won"]) == (bool(is_crawford), winner, points)
        assert row["n_turns"] == n_turns
        assert row["seed"] == 6
        assert row["luck_0"] is None
        assert row["hedged_points"] is None
    assert game == len(corpus.results.games) - 1
    for turn, row in enumerate(query_rows(root, "turns", parameters)):
        player, action, on_roll, die1, die2, cube, owner = corpus.records[turn].tolist()
        assert (row["player"], row["action"], row["on_roll"]) == (player, ACTIONS[action], on_roll)
        assert row["board"] == corpus.boards[turn].tolist()
        assert (row["die1"], row["die2"]) == ((die1, die2) if die1 else (None, None))
        assert (row["cube_value"], row["cube_owner"]) == (cube, ("centered", "on_roll", "opponent")[owner])
        assert (row["cubeless_equity"], row["luck"]) == (float(corpus.equities[turn]), None)
        assert bool(row["play"]) == (action == 0)
    assert turn == len(corpus.records) - 1


@pytest.mark.parametrize("parameters", [MONEY, MATCH, JACOBY, AHEAD], ids=["money", "match", "jacoby", "ahead"])
def test_exported_matches_can_be_imported(root: Path, parameters: CubefulParameters, imports: Imports) -> None:
    """Matches that are written as .mat and read again have legal turns and cube actions, and the same games and
    rules."""
    table = table_of(root, parameters)
    path = imports.folder / "games.mat"
    write_text(table, "mat", path)
    again = imports.build("matches", [path], name="games")
    assert again.manifest.statistics.get("quarantined", 0) == 0
    assert {match.is_jacoby for match in matches_of(again.arrays())} == {parameters.jacoby}
    for name in ("first_turns", "turn_boards", "turns"):
        assert np.array_equal(table.array(name), again.array(name)), name
    columns = [1, 2, 3, 4, 6, 7]  # match numbers differ, and the Crawford game is not written
    assert np.array_equal(np.asarray(table.array("games"))[:, columns], np.asarray(again.array("games"))[:, columns])


def test_summary_equals_the_rows(root: Path) -> None:
    """The view `cube_summary` and the manifest's statistics equal sums over the games."""
    for parameters in (MONEY, MATCH, JACOBY, CUBEFUL):
        table, (row,) = table_of(root, parameters), query_rows(root, "cube_summary", parameters)
        corpus, _ = games_of(root, parameters)
        games = corpus.results
        actions = corpus.records[:, 1]
        won = games.column("points") * (1 - 2 * games.column("winner"))
        name = "points_per_game"
        if parameters.length:
            won = games.column("winner")[games.offsets[1:] - 1] == 0
            name = "matches_won_share"
        cubes = {
            "passed_share": (games.column("way") == 0).mean(),
            "mean_cube_value": games.column("cube_value").mean(),
        }
        assert {column: row[column] for column in cubes} == pytest.approx(cubes)
        assert table.manifest.statistics == pytest.approx(
            cubes
            | {"turns_per_game": len(corpus.records) / len(games.games), name: won.mean()}
            | {"standard_error": won.std(ddof=1) / len(won) ** 0.5}
        )
        counts = len(games.games), (actions == 1).sum(), (actions == 2).sum()
        assert (row["games"], row["doubles"], row["takes"]) == counts


def test_games_do_not_depend_on_parts_and_threads(
    root: Path, memory_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build that is interrupted and resumed, on another number of threads, gives the same games."""
    expected = table_of(root, MATCH).manifest.digest
    monkeypatch.setattr(computing, "SHARD_CUBEFUL_GAMES", 15)  # 3 matches
    play = computing.play_cubeful_shard
    calls = []

    def stopping(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return play(*arguments)

    monkeypatch.setattr(computing, "play_cubeful_shard", stopping)
    with pytest.raises(KeyboardInterrupt):
        bgdata.open_warehouse(memory_path).build(DATASET.name, MATCH)
    notes = Notes()
    with threads(1):
        table = bgdata.open_warehouse(memory_path).build(DATASET.name, MATCH, progress=notes)
    assert table.manifest.digest == expected
    assert f"going on with cubeful_selfplay/{DATASET.slug(MATCH)}: 2 of 4 parts are there" in notes.texts


def test_verify_finds_changed_turns(root: Path) -> None:
    """`verify` plays money games, at 0-ply and 1-ply, again; the tests of all kinds cover matches."""
    for parameters in (MONEY, AHEAD):
        table = table_of(root, parameters)
        found = inputs_of(bgdata.open_warehouse(root), DATASET, parameters)
        check_sample(DATASET, table, found, 4, np.random.default_rng(0))
        turns = np.array(table.array("turns"))
        turns[:, 5] += 1
        with pytest.raises(CheckFailedError, match=r"^expected the turns of match \d of .* to equal their replay, fo"):
            check_sample(DATASET, Corrupted(table, "turns", turns), found, 2, np.random.default_rng(0))


WRONG_PARAMETERS = [
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


@each(("parameters", "message"), WRONG_PARAMETERS)
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
    lengths = {length: DATASET.inputs(replace(MATCH, length=length))["met"][1] for length in (12, 13, 25, 40)}
    assert [vars(found)["length"] for found in lengths.values()] == [12, 25, 25, 40]
    assert [bool(vars(found)["row"]) for found in lengths.values()] == [True, False, False, False]
