"""Self-play as a dataset: rows against the games, the same from any executor and after any interruption."""

from __future__ import annotations

import random
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckSkippedError, InvalidParameterError, MissingTableError, WorkerError
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.networks.player import MappedNetwork
from bgdata.evaluation.player import PubEval, RandomPlayer, open_named_player
from bgdata.game.dice import roll_of
from bgdata.game.plays import Play, format_play, legal_plays
from bgdata.game.position import Position
from bgdata.selfplay.games import Corpus, net_lucks, self_play
from bgdata.selfplay.kinds import selfplay_compute as selfplay
from bgdata.selfplay.kinds.selfplay import DATASET, TABLES, SelfPlayParameters
from bgdata.selfplay.kinds.selfplay_compute import play_shard, play_texts
from bgdata.store.executors import open_executor
from bgdata.store.shards import Work
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands.export import write_text
from tests.conftest import LUCKY
from tests.contract.kinds import Corrupted
from tests.imports.importing import Imports
from tests.rechecking import check_sample
from tests.store import processes
from tests.store.toy import Notes, whole_versions

Row = dict[str, Any]
SMALLEST = DATASET.smallest
RANDOM = SelfPlayParameters("random", "1", 5, 9)


def rows(table: Table, name: str) -> list[Row]:
    """The rows of the table `games` or `turns` that SQL shows for a version."""
    where = f"where dataset = 'selfplay' and variant = '{table.folder.parent.name}' order by all"
    return query_rows(table.folder.parents[2], f"from {name} {where}")


def digest(root: Path, parameters: SelfPlayParameters, executor: str = "local") -> str:
    with open_executor(executor) as workers:
        table = bgdata.open_warehouse(root).build(DATASET.name, parameters, executor=workers)
    return table.manifest.digest


def few_at_a_time(monkeypatch: pytest.MonkeyPatch, games: int) -> None:
    monkeypatch.setattr(selfplay, "SHARD_GAMES", {False: games, True: games})


@pytest.fixture(scope="module")
def corpus_with_luck(network_root: Path) -> tuple[Table, Corpus]:
    """A corpus whose luck the network of the package measured, and the games of that corpus."""
    warehouse = bgdata.open_warehouse(network_root)
    found = warehouse.find_inputs(DATASET, LUCKY)
    assert found
    tables = BearoffEvaluator(found["two_sided"], found["one_sided"], found["gammon"])
    player = MappedNetwork(found["network"], tables)
    return warehouse.build(DATASET.name, LUCKY), self_play(player.chooser, LUCKY.games, LUCKY.seed, with_luck=True)


def check_rows(table: Table, corpus: Corpus, name: str) -> None:
    net = net_lucks(corpus.begins, corpus.offsets, corpus.lucks).tolist()
    shown = iter(rows(table, "turns"))
    for game, row in enumerate(rows(table, "games")):
        turns = range(corpus.offsets[game], corpus.offsets[game + 1])
        outcome = int(corpus.outcomes[game])
        assert row["game"] == game
        assert row["match"] == 0
        assert row["game_number"] == game + 1
        assert row["n_turns"] == len(turns)
        assert row["player_0"] == row["player_1"] == name
        assert row["match_length"] == 0
        assert row["score_0"] == 0
        assert row["score_1"] == 0
        assert not row["is_crawford"]
        assert (row["winner"], row["points_won"]) == (int(outcome < 0), abs(outcome))
        assert row["luck_0"] == (None if np.isnan(net[game]) else net[game])
        assert row["hedged_points"] == (None if np.isnan(net[game]) else outcome - net[game])
        for number, turn in enumerate(turns):
            check_turn(next(shown), corpus, game, number, turn)
    assert next(shown, None) is None


def check_turn(row: Row, corpus: Corpus, game: int, number: int, turn: int) -> None:
    board = corpus.boards[turn].tolist()
    dice = tuple(corpus.dice[turn].tolist())
    player = (int(corpus.begins[game]) + number) % 2
    assert row["game"] == game
    assert row["turn"] == number
    assert row["player"] == player
    assert row["on_roll"] == player
    assert row["action"] == "play"
    position = Position(board)
    assert row["position_id"] == position.id
    assert row["board"] == board
    assert (row["die1"], row["die2"]) == dice
    after = tuple(corpus.after_play[turn].tolist())
    (text,) = (str(play) for play in legal_plays(position, roll_of(*dice)) if play.after_play.board == after)
    assert row["play"] == text
    assert (row["cube_value"], row["cube_owner"]) == (1, "centered")
    for column, values in (("cubeless_equity", corpus.equities), ("luck", corpus.lucks)):
        assert row[column] == (None if np.isnan(values[turn]) else float(values[turn]))


def test_rows_equal_games_of_pubeval(small_root: Path) -> None:
    table = bgdata.open_warehouse(small_root).open(DATASET.name, DATASET.slug(SMALLEST))
    assert table.folder.parent.name == "pubeval-20-seed-3"
    check_rows(table, self_play(PubEval().chooser, 20, 3), "pubeval 2")


def test_rows_equal_games_with_luck(corpus_with_luck: tuple[Table, Corpus]) -> None:
    table, corpus = corpus_with_luck
    assert table.folder.parent.name == "network-6-seed-4-luck"
    assert set(table.manifest.inputs) == {"network", "two_sided", "one_sided", "gammon"}
    name = table.manifest.inputs["network"].split("/")[1].partition("@")[0]
    title = rows(table, "games")[0]["player_0"]
    assert re.fullmatch(rf"{name} [0-9a-f]{{8}}", title)
    check_rows(table, corpus, title)
    assert not np.isnan(corpus.lucks).any()


@pytest.mark.parametrize("name", ["pubeval", "random"])
def test_network_measures_luck_of_other_players(
    network_root: Path, memory_path: Path, corpus_with_luck: tuple[Table, Corpus], name: str
) -> None:
    """The network of the package measures the luck of other players' rolls, and does not change their games."""
    shutil.copytree(network_root, memory_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
    warehouse = bgdata.open_warehouse(memory_path)
    player = open_named_player(name, 0, warehouse)
    parameters = SelfPlayParameters(name, player.version, 3, 4, True)
    table = warehouse.build(DATASET.name, parameters)
    assert table.folder.parent.name == f"{name}-3-seed-4-luck"
    assert table.manifest.inputs == corpus_with_luck[0].manifest.inputs
    found = warehouse.find_inputs(DATASET, parameters)
    assert found
    judge = MappedNetwork(found["network"], BearoffEvaluator(*(found[role] for role in TABLES)))
    brain = PubEval().chooser if name == "pubeval" else RandomPlayer().chooser
    corpus = self_play(brain, 3, 4, with_luck=True, estimator=judge.chooser)
    check_rows(table, corpus, f"{name} {player.version}")
    assert not np.isnan(corpus.lucks).any()
    check_sample(DATASET, table, found, 3, np.random.default_rng(0))


def test_row_groups_do_not_change_rows(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(DATASET), "row_group_rows", 7)
    table = bgdata.open_warehouse(memory_path).build(DATASET.name, replace(SMALLEST, games=9))
    check_rows(table, self_play(PubEval().chooser, 9, 3), "pubeval 2")


def query_rows(root: Path, query: str) -> list[Row]:
    """The rows of a query."""
    with bgdata.open_warehouse(root).connect() as connection:
        found = connection.sql(query)
        return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


def test_summary_equals_plain_sums(corpus_with_luck: tuple[Table, Corpus], network_root: Path) -> None:
    """The manifest's statistics and the view `selfplay_summary` equal sums over the games."""
    table, corpus = corpus_with_luck
    (summary,) = query_rows(network_root, "from selfplay_summary where variant = 'network-6-seed-4-luck'")
    outcomes = corpus.outcomes.astype(np.float64)
    hedged = outcomes - net_lucks(corpus.begins, corpus.offsets, corpus.lucks)
    names = ("single_share", "gammon_share", "backgammon_share")
    expected = {
        **{name: (abs(outcomes) == points).mean() for points, name in enumerate(names, start=1)},
        "turns_per_game": np.diff(corpus.offsets).mean(),
        "points_per_game": outcomes.mean(),
        "standard_error": outcomes.std(ddof=1) / 6**0.5,
        "hedged_points_per_game": hedged.mean(),
        "hedged_standard_error": hedged.std(ddof=1) / 6**0.5,
    }
    assert table.manifest.statistics == pytest.approx(expected)
    assert {name: summary[name] for name in expected} == pytest.approx(expected)
    assert summary["hedging_factor"] == pytest.approx(outcomes.std() / hedged.std())
    assert (summary["games"], summary["player"]) == (6, rows(table, "games")[0]["player_0"])
    by_game = query_rows(network_root, "from luck_by_game where dataset = 'selfplay' order by game")
    assert [row["points"] for row in by_game] == outcomes.tolist()
    assert [row["hedged_points"] for row in by_game] == hedged.tolist()
    for row in by_game:
        assert row["luck_of_player_0"] - row["luck_of_player_1"] == pytest.approx(row["luck_0"], abs=1e-6)
        assert abs(row["luck_of_player_0"]) > 0.01


def test_opening_plays_count_openings(corpus_with_luck: tuple[Table, Corpus], network_root: Path) -> None:
    """The view `opening_plays` counts the first plays of games, and gives their mean results, plain and
    luck-adjusted."""
    table, corpus = corpus_with_luck
    plays = query_rows(network_root, "from opening_plays where dataset = 'selfplay'")
    assert sum(row["games"] for row in plays) == 6
    turns = {row["game"]: row for row in rows(table, "turns") if row["turn"] == 0}
    hedged = corpus.outcomes - net_lucks(corpus.begins, corpus.offsets, corpus.lucks)
    for row in plays:
        assert row["roll"][0] > row["roll"][1]
        games = [
            game for game, turn in turns.items()
            if turn["play"] == row["play"] and {str(turn["die1"]), str(turn["die2"])} == set(row["roll"])
        ]  # fmt: skip
        signs = [1 if turns[game]["player"] == 0 else -1 for game in games]
        assert row["games"] == len(games)
        points = [sign * corpus.outcomes[game] for sign, game in zip(signs, games, strict=True)]
        assert row["mean_points"] == pytest.approx(np.mean(points))
        later = [sign * hedged[game] + turns[game]["luck"] for sign, game in zip(signs, games, strict=True)]
        assert row["hedged_mean_points"] == pytest.approx(np.mean(later))
    for roll in {row["roll"] for row in plays}:
        assert sum(row["share"] for row in plays if row["roll"] == roll) == pytest.approx(1)


def test_cluster_gives_the_same_digest(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    expected = digest(memory_path / "whole", SMALLEST)
    few_at_a_time(monkeypatch, 3)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster:
        name = cluster.scheduler_address.replace("tcp://", "dask://")
        assert digest(memory_path / "dask", SMALLEST, name) == expected


def play_slowly(root: Path, games: int) -> None:
    """Build a corpus in another process, one game at a time."""
    selfplay.SHARD_GAMES = {False: 1, True: 1}
    bgdata.open_warehouse(root).build(DATASET.name, replace(SMALLEST, games=games), progress=SlowProgress())


class SlowProgress(Notes):
    """Progress that pauses after every part."""

    def advance(self, count: int) -> None:
        super().advance(count)
        time.sleep(0.02)


def parts(root: Path) -> list[Path]:
    return sorted((root / ".staging").glob("*/shards/0*.npz"))


def test_killed_build_resumes_without_damaged_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed build resumes from its finished parts; a part that has been damaged since is reported in one line."""
    few_at_a_time(monkeypatch, 1)
    expected = digest(tmp_path / "whole", replace(SMALLEST, games=60))
    root = tmp_path / "killed"
    moments = random.Random(8)
    before = 0
    for _ in range(2):
        process = processes.start(play_slowly, root, 60)
        wait_for_parts(root, before + 3, process.is_alive)
        time.sleep(moments.uniform(0, 0.05))
        process.kill()
        process.join()
        assert before < len(parts(root)) < 60
        before = len(parts(root))
    corrupted = parts(root)[1]
    corrupted.write_bytes(corrupted.read_bytes()[:-40])
    warehouse = bgdata.open_warehouse(root)
    notes = Notes()
    assert list(warehouse.versions()) == []
    assert warehouse.build(DATASET.name, replace(SMALLEST, games=60), progress=notes).manifest.digest == expected
    damage, going_on, _ = notes.texts
    assert damage.endswith(f"of {corrupted}, found another; computing it anew")
    assert going_on == f"going on with selfplay/pubeval-60-seed-3: {before - 1} of 60 parts are there"
    assert len(whole_versions(warehouse)) == 1
    assert parts(root) == []


def wait_for_parts(root: Path, count: int, is_running: Callable[[], bool]) -> None:
    while len(parts(root)) < count:
        assert is_running(), "ended before it could be killed"
        time.sleep(0.001)


def test_network_of_the_package_is_an_input() -> None:
    """The network of the package and its bearoff tables are inputs, so the version depends on their digests."""
    inputs = DATASET.inputs(SelfPlayParameters())
    assert set(inputs) == {"network", "two_sided", "one_sided", "gammon"}
    for name, parameters in inputs.values():
        kind = bgdata.all_kinds()[name]
        assert parameters in kind.defaults
    assert DATASET.inputs(SMALLEST) == {}
    assert [DATASET.slug(parameters) for parameters in DATASET.defaults][:1] == ["network-10000-seed-1"]


def test_exported_games_can_be_imported(small_root: Path, memory_path: Path) -> None:
    """Games that are written as .mat and imported again have the same turns and results."""
    table = bgdata.open_warehouse(small_root).open(DATASET.name, DATASET.slug(SMALLEST))
    imports = Imports(memory_path)
    path = imports.folder / "again.mat"
    write_text(table, "mat", path)
    again = imports.build("matches", [path])
    with imports.warehouse.connect() as connection:
        assert connection.sql("select count(*) from quarantine").fetchall() == [(0,)]
        found = connection.sql(
            "select game, turn, player, die1, die2, position_id, play from turns order by all"
        ).fetchall()
        results = connection.sql("select winner, points_won, score_0, n_turns from games order by game").fetchall()
    expected = [
        tuple(row[name] for name in ("game", "turn", "player", "die1", "die2", "position_id", "play"))
        for row in rows(table, "turns")
    ]
    assert found == expected
    assert results == [(row["winner"], row["points_won"], 0, row["n_turns"]) for row in rows(table, "games")]
    assert again.manifest.rows == 20


def test_equal_plays_are_formatted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three times the same plays become three times the texts, but each different play is formatted once."""
    corpus = self_play(RandomPlayer().chooser, 4, 2)
    moves = np.concatenate([play_shard(settings(), 0, 4)["turn_moves"]] * 3)
    calls: list[int] = []

    def count_calls(play: Play) -> str:
        calls.append(1)
        return format_play(play)

    monkeypatch.setattr(selfplay, "format_play", count_calls)
    texts = play_texts(moves).to_pylist()
    assert len(texts) == 3 * len(corpus.boards)
    assert len(calls) == len(set(map(str, moves.tolist()))) < len(texts) / 3
    assert len(play_texts(moves[:0])) == 0


def settings(**changes: str | int) -> dict[str, str | int]:
    return {"player": "random", "seed": 2, "luck": 0, **changes}


def test_workers_with_other_kernels_are_refused() -> None:
    with pytest.raises(
        WorkerError, match=r"expected a worker with the kernels 0123, found .*; install the same bgdata"
    ):
        Work(f"{selfplay.__name__}:play_shard", settings(), "0123").compute(0, 1)


def test_named_networks_use_the_best_tables(warehouse: Warehouse) -> None:
    """A network given by name plays with the best bearoff tables of the warehouse, which are part of its version."""
    version = open_named_player("network/tiny", 0, warehouse).version
    parameters = SelfPlayParameters("network/tiny", version, 2, 5, True)
    table = warehouse.build(DATASET.name, parameters)
    assert table.folder.parent.name == "network-tiny-2-seed-5-luck"
    assert rows(table, "games")[0]["player_0"] == f"tiny {version}"
    check_sample(DATASET, table, {}, 2, np.random.default_rng(0))
    with pytest.raises(InvalidParameterError, match=f"^expected version {version} of network/tiny, .* got 0123$"):
        warehouse.build(DATASET.name, replace(parameters, version="0123"))


def test_missing_network_is_refused(memory_path: Path) -> None:
    with pytest.raises(MissingTableError, match="no network/x in"):
        bgdata.open_warehouse(memory_path).build(DATASET.name, replace(SMALLEST, player="network/x"))


def test_verify_skips_games_of_another_version(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    played = warehouse.open(DATASET.name, DATASET.slug(SMALLEST))
    table = Corrupted(played, "dice", np.array(played.array("dice")) + 1)
    monkeypatch.setattr(PubEval, "version", "3")
    with pytest.raises(CheckSkippedError, match="again: pubeval 2 has played, pubeval 3 is here"):
        check_sample(DATASET, table, {}, 20, np.random.default_rng(0))
