"""Self-play as a dataset: rows against the games, the same from any executor and after any interruption."""

from __future__ import annotations

import random
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckSkippedError, InvalidParameterError, MissingTableError, WorkerError
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.networks.player import MappedNetwork
from bgdata.evaluation.player import PubEval, open_named_player
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


def query_rows(root: Path, query: str) -> list[Row]:
    """The rows of a query."""
    with bgdata.open_warehouse(root).connect() as connection:
        result = connection.sql(query)
        return [dict(zip(result.columns, row, strict=True)) for row in result.fetchall()]


def rows_of(table: Table, name: str) -> list[Row]:
    """The rows of the table `games` or `turns` that SQL shows for a version."""
    where = f"where dataset = 'selfplay' and variant = '{table.folder.parent.name}' order by all"
    return query_rows(table.folder.parents[2], f"from {name} {where}")


def digest_of_build(root: Path, parameters: SelfPlayParameters, executor: str = "local") -> str:
    with open_executor(executor) as workers:
        return bgdata.open_warehouse(root).build(DATASET.name, parameters, executor=workers).manifest.digest


@pytest.fixture(scope="module")
def table_and_corpus(network_root: Path) -> tuple[Table, Corpus]:
    """A version whose luck the network of the package measured, and the same games played again."""
    warehouse = bgdata.open_warehouse(network_root)
    inputs = warehouse.find_inputs(DATASET, LUCKY)
    assert inputs
    player = network_player(inputs)
    return warehouse.build(DATASET.name, LUCKY), self_play(player.chooser, LUCKY.games, LUCKY.seed, with_luck=True)


def network_player(inputs: Mapping[str, Table]) -> MappedNetwork:
    """The network of the package with its bearoff tables, from the inputs of a version."""
    return MappedNetwork(inputs["network"], BearoffEvaluator(*(inputs[role] for role in TABLES)))


def check_rows(table: Table, corpus: Corpus, player: str) -> None:
    """Check every column of the tables `games` and `turns`."""
    net_luck = net_lucks(corpus.begins, corpus.offsets, corpus.lucks)
    n_turns = np.diff(corpus.offsets)
    games = rows_of(table, "games")
    assert len(games) == len(corpus.outcomes)
    for game, row in enumerate(games):
        outcome = int(corpus.outcomes[game])
        is_known = not np.isnan(net_luck[game])
        expected = {
            "game": game, "match": 0, "game_number": game + 1, "n_turns": n_turns[game], "player_0": player,
            "player_1": player, "match_length": 0, "score_0": 0, "score_1": 0, "is_crawford": False,
            "winner": int(outcome < 0), "points_won": abs(outcome), "luck_0": net_luck[game] if is_known else None,
            "hedged_points": outcome - net_luck[game] if is_known else None,
        }  # fmt: skip
        assert {name: row[name] for name in expected} == expected
    games_of_turns = np.repeat(np.arange(len(games)), n_turns)
    turns = rows_of(table, "turns")
    assert len(turns) == len(corpus.boards)
    for row, game, turn in zip(turns, games_of_turns.tolist(), range(len(turns)), strict=True):
        check_turn(row, corpus, game, turn)


def check_turn(row: Row, corpus: Corpus, game: int, turn: int) -> None:
    number = turn - int(corpus.offsets[game])
    player = (int(corpus.begins[game]) + number) % 2
    position = Position(corpus.boards[turn].tolist())
    die1, die2 = corpus.dice[turn].tolist()
    after_play = tuple(corpus.after_play[turn].tolist())
    (play,) = (play for play in legal_plays(position, roll_of(die1, die2)) if play.after_play.board == after_play)
    expected = {
        "game": game, "turn": number, "player": player, "on_roll": player, "action": "play",
        "position_id": position.id, "board": list(position.board), "die1": die1, "die2": die2, "play": str(play),
        "cube_value": 1, "cube_owner": "centered", "cubeless_equity": known(corpus.equities[turn]),
        "luck": known(corpus.lucks[turn]),
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected


def known(value: np.floating) -> float | None:
    """A value as SQL shows it: null where it is unknown."""
    return None if np.isnan(value) else float(value)


def test_rows_equal_games_of_pubeval(small_root: Path) -> None:
    table = bgdata.open_warehouse(small_root).open(DATASET.name, DATASET.slug(SMALLEST))
    assert table.folder.parent.name == "pubeval-20-seed-3"
    check_rows(table, self_play(PubEval().chooser, 20, 3), "pubeval 2")


def test_rows_equal_games_with_luck(table_and_corpus: tuple[Table, Corpus]) -> None:
    table, corpus = table_and_corpus
    assert table.folder.parent.name == "network-6-seed-4-luck"
    assert set(table.manifest.inputs) == {"network", "two_sided", "one_sided", "gammon"}
    network = table.manifest.inputs["network"].split("/")[1].partition("@")[0]
    player = rows_of(table, "games")[0]["player_0"]
    assert re.fullmatch(rf"{network} [0-9a-f]{{8}}", player)
    check_rows(table, corpus, player)
    assert not np.isnan(corpus.lucks).any()


def test_network_measures_luck_of_other_players(
    network_root: Path, memory_path: Path, table_and_corpus: tuple[Table, Corpus]
) -> None:
    """The network of the package measures the luck of other players' rolls, and does not change their games."""
    shutil.copytree(network_root, memory_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
    warehouse = bgdata.open_warehouse(memory_path)
    parameters = SelfPlayParameters("pubeval", PubEval.version, games=3, seed=4, luck=True)
    table = warehouse.build(DATASET.name, parameters)
    assert table.folder.parent.name == "pubeval-3-seed-4-luck"
    assert table.manifest.inputs == table_and_corpus[0].manifest.inputs
    inputs = warehouse.find_inputs(DATASET, parameters)
    assert inputs
    estimator = network_player(inputs).chooser
    corpus = self_play(PubEval().chooser, 3, 4, with_luck=True, estimator=estimator)
    check_rows(table, corpus, "pubeval 2")
    assert not np.isnan(corpus.lucks).any()
    check_sample(DATASET, table, inputs, 3, np.random.default_rng(0))


def test_row_groups_do_not_change_rows(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(DATASET), "row_group_rows", 7)
    table = bgdata.open_warehouse(memory_path).build(DATASET.name, replace(SMALLEST, games=9))
    check_rows(table, self_play(PubEval().chooser, 9, 3), "pubeval 2")


def test_summary_equals_plain_sums(table_and_corpus: tuple[Table, Corpus], network_root: Path) -> None:
    """The manifest's statistics and the view `selfplay_summary` equal sums over the games."""
    table, corpus = table_and_corpus
    (summary,) = query_rows(network_root, "from selfplay_summary where variant = 'network-6-seed-4-luck'")
    outcomes = corpus.outcomes.astype(np.float64)
    hedged = outcomes - net_lucks(corpus.begins, corpus.offsets, corpus.lucks)
    expected = {
        "single_share": (abs(outcomes) == 1).mean(),
        "gammon_share": (abs(outcomes) == 2).mean(),
        "backgammon_share": (abs(outcomes) == 3).mean(),
        "turns_per_game": np.diff(corpus.offsets).mean(),
        "points_per_game": outcomes.mean(),
        "standard_error": outcomes.std(ddof=1) / 6**0.5,
        "hedged_points_per_game": hedged.mean(),
        "hedged_standard_error": hedged.std(ddof=1) / 6**0.5,
    }
    assert table.manifest.statistics == pytest.approx(expected)
    assert {name: summary[name] for name in expected} == pytest.approx(expected)
    assert summary["hedging_factor"] == pytest.approx(outcomes.std() / hedged.std())
    assert summary["games"] == 6
    assert summary["player"] == rows_of(table, "games")[0]["player_0"]


def test_luck_by_game_equals_the_games(table_and_corpus: tuple[Table, Corpus], network_root: Path) -> None:
    _, corpus = table_and_corpus
    hedged = corpus.outcomes - net_lucks(corpus.begins, corpus.offsets, corpus.lucks)
    by_game = query_rows(network_root, "from luck_by_game where dataset = 'selfplay' order by game")
    assert [row["points"] for row in by_game] == corpus.outcomes.tolist()
    assert [row["hedged_points"] for row in by_game] == hedged.tolist()
    for row in by_game:
        assert row["luck_of_player_0"] - row["luck_of_player_1"] == pytest.approx(row["luck_0"], abs=1e-6)
        assert abs(row["luck_of_player_0"]) > 0.01


def test_opening_plays_count_openings(table_and_corpus: tuple[Table, Corpus], network_root: Path) -> None:
    """The view `opening_plays` counts the first plays of games, and gives their mean results, plain and
    luck-adjusted."""
    table, corpus = table_and_corpus
    opening_plays = query_rows(network_root, "from opening_plays where dataset = 'selfplay'")
    assert sum(row["games"] for row in opening_plays) == 6
    first_turns = {row["game"]: row for row in rows_of(table, "turns") if row["turn"] == 0}
    net_luck = net_lucks(corpus.begins, corpus.offsets, corpus.lucks)
    for row in opening_plays:
        assert row["roll"][0] > row["roll"][1]
        points = []
        hedged_points = []
        for game, turn in first_turns.items():
            if turn["play"] == row["play"] and {str(turn["die1"]), str(turn["die2"])} == set(row["roll"]):
                sign = 1 if turn["player"] == 0 else -1
                points.append(sign * corpus.outcomes[game])
                hedged_points.append(sign * (corpus.outcomes[game] - net_luck[game]) + turn["luck"])
        assert row["games"] == len(points)
        assert row["mean_points"] == pytest.approx(np.mean(points))
        assert row["hedged_mean_points"] == pytest.approx(np.mean(hedged_points))
    for roll in {row["roll"] for row in opening_plays}:
        assert sum(row["share"] for row in opening_plays if row["roll"] == roll) == pytest.approx(1)


def play_few_at_a_time(monkeypatch: pytest.MonkeyPatch, games: int) -> None:
    monkeypatch.setattr(selfplay, "SHARD_GAMES", {False: games, True: games})


def test_cluster_gives_the_same_digest(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    expected = digest_of_build(memory_path / "whole", SMALLEST)
    play_few_at_a_time(monkeypatch, 3)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster:
        executor = cluster.scheduler_address.replace("tcp://", "dask://")
        assert digest_of_build(memory_path / "dask", SMALLEST, executor) == expected


SIXTY_GAMES = replace(SMALLEST, games=60)


def play_slowly(root: Path) -> None:
    """Build a corpus in another process, one game at a time."""
    selfplay.SHARD_GAMES = {False: 1, True: 1}
    bgdata.open_warehouse(root).build(DATASET.name, SIXTY_GAMES, progress=SlowProgress())


class SlowProgress(Notes):
    """Progress that pauses after every part."""

    def advance(self, count: int) -> None:
        super().advance(count)
        time.sleep(0.02)


def finished_parts(root: Path) -> list[Path]:
    """The files of the games that a build has finished."""
    return sorted((root / ".staging").glob("*/shards/0*.npz"))


def test_killed_build_resumes_without_damaged_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed build resumes from its finished parts; a part that has been damaged since is reported in one line."""
    play_few_at_a_time(monkeypatch, 1)
    expected = digest_of_build(tmp_path / "whole", SIXTY_GAMES)
    root = tmp_path / "killed"
    delays = random.Random(8)
    n_finished = 0
    for _ in range(2):
        process = processes.start(play_slowly, root)
        while len(finished_parts(root)) < n_finished + 3:
            assert process.is_alive(), "ended before it could be killed"
            time.sleep(0.001)
        time.sleep(delays.uniform(0, 0.05))
        process.kill()
        process.join()
        assert n_finished < len(finished_parts(root)) < 60
        n_finished = len(finished_parts(root))
    warehouse = bgdata.open_warehouse(root)
    assert list(warehouse.versions()) == []
    damaged_part = finished_parts(root)[1]
    damaged_part.write_bytes(damaged_part.read_bytes()[:-40])
    notes = Notes()
    assert warehouse.build(DATASET.name, SIXTY_GAMES, progress=notes).manifest.digest == expected
    damage_note, resume_note, _ = notes.texts
    assert damage_note.endswith(f"of {damaged_part}, found another; computing it anew")
    assert resume_note == f"going on with selfplay/pubeval-60-seed-3: {n_finished - 1} of 60 parts are there"
    assert len(whole_versions(warehouse)) == 1
    assert finished_parts(root) == []


def test_network_of_the_package_is_an_input() -> None:
    """The network of the package and its bearoff tables are inputs, so the version depends on their digests."""
    inputs = DATASET.inputs(SelfPlayParameters())
    assert set(inputs) == {"network", "two_sided", "one_sided", "gammon"}
    for name, parameters in inputs.values():
        assert parameters in bgdata.all_kinds()[name].defaults
    assert DATASET.inputs(SMALLEST) == {}
    assert DATASET.slug(DATASET.defaults[0]) == "network-10000-seed-1"


def test_exported_games_can_be_imported(small_root: Path, memory_path: Path) -> None:
    """Games that are written as .mat and imported again have the same turns and results."""
    table = bgdata.open_warehouse(small_root).open(DATASET.name, DATASET.slug(SMALLEST))
    imports = Imports(memory_path)
    path = imports.folder / "again.mat"
    write_text(table, "mat", path)
    imported = imports.build("matches", [path])
    assert imported.manifest.rows == 20
    for name, columns in (
        ("turns", "game, turn, player, die1, die2, position_id, play"),
        ("games", "game, winner, points_won, score_0, n_turns"),
    ):
        expected = [{column: row[column] for column in columns.split(", ")} for row in rows_of(table, name)]
        assert query_rows(imports.warehouse.root, f"select {columns} from {name} order by all") == expected
    assert query_rows(imports.warehouse.root, "from quarantine") == []


def test_equal_plays_are_formatted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three times the same plays become three times the texts, but each different play is formatted once."""
    moves = np.concatenate([play_shard(SHARD_SETTINGS, 0, 4)["turn_moves"]] * 3)
    formatted: list[Play] = []

    def format_and_record(play: Play) -> str:
        formatted.append(play)
        return format_play(play)

    monkeypatch.setattr(selfplay, "format_play", format_and_record)
    texts = play_texts(moves).to_pylist()
    assert len(texts) == len(moves)
    assert texts[: len(moves) // 3] == texts[len(moves) // 3 * 2 :]
    assert len(formatted) == len({str(row) for row in moves.tolist()}) < len(texts) / 3
    assert len(play_texts(moves[:0])) == 0


SHARD_SETTINGS: dict[str, str | int] = {"player": "random", "seed": 2, "luck": 0}


def test_workers_with_other_kernels_are_refused() -> None:
    work = Work(f"{selfplay.__name__}:play_shard", SHARD_SETTINGS, "0123")
    with pytest.raises(
        WorkerError, match=r"expected a worker with the kernels 0123, found .*; install the same bgdata"
    ):
        work.compute(0, 1)


def test_named_networks_use_the_best_tables(warehouse: Warehouse) -> None:
    """A network given by name plays with the best bearoff tables of the warehouse, which are part of its version."""
    version = open_named_player("network/tiny", 0, warehouse).version
    parameters = SelfPlayParameters("network/tiny", version, 2, 5, True)
    table = warehouse.build(DATASET.name, parameters)
    assert table.folder.parent.name == "network-tiny-2-seed-5-luck"
    assert rows_of(table, "games")[0]["player_0"] == f"tiny {version}"
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
