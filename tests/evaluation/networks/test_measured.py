"""The scores that evaluations quote: the surest that were measured, in the warehouse or before shipping."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import bgdata
from bgdata.errors import CorruptFileError
from bgdata.evaluation.networks.player import (
    FILE,
    NetworkScore,
    accuracy_text,
    best_scores,
    read_scores,
    recorded_name,
    scores_in,
    shipped_scores,
    write_scores,
)
from bgdata.evaluation.player import open_named_player
from bgdata.evaluation.players import DEFAULT_NETWORK, SHIPPED
from bgdata.measures.kinds.benchmark_scores import DATASET as BENCHMARKS
from bgdata.measures.kinds.benchmark_scores import ScoreParameters
from bgdata.measures.kinds.game_scores import GameParameters
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.kept import own

START_ID = "4HPwATDgc/ABMA"


def points(value: float, error: float, size: int) -> NetworkScore:
    return NetworkScore("points_per_game", "pubeval", value, error, size, "game_scores/x/r1-00000000")


def default_network() -> Table:
    (folder,) = (SHIPPED / DEFAULT_NETWORK).glob("r*-*")
    return Table(folder)


def test_the_default_network_comes_with_its_measured_scores() -> None:
    """40,000 games, as the page of networks has them, and all three benchmarks: not the 8,000 games of its training."""
    table = default_network()
    scores = {(each.measure, each.against.partition("-")[0]): each for each in shipped_scores(table)}
    games = scores["points_per_game", "pubeval"]
    assert games.sample_size >= 40_000
    assert games.value_error < table.manifest.statistics["standard_error"] / 2
    for name in ("contact", "crashed", "race"):
        assert ("error_rate", f"rollout_decisions/{name}") in scores
    page = (Path(bgdata.__file__).parents[1] / "docs/research/networks.md").read_text()
    row = re.search(r"\| ours \| ([+-]\d\.\d{3}) \+/- (\d\.\d{3}) ", page)
    assert row
    assert abs(float(row[1]) - games.value) < 1e-3
    assert abs(float(row[2]) - games.value_error) < 1e-3


def test_evaluations_quote_shipped_scores(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    said = bgdata.open_player(tmp_path / "w").evaluate(START_ID).accuracy
    games = next(each for each in shipped_scores(default_network()) if each.measure == "points_per_game")
    assert (
        f"{games.value:+.4f} +/- {games.value_error:.4f} points per game against PubEval (40,000 games, 0-ply)" in said
    )
    assert re.search(r", error rate \d\.\d \+/- \d\.\d in 500 contact decisions$", said)


def test_training_is_called_training(warehouse: Warehouse) -> None:
    table = warehouse.open("network", "tiny")
    found = table.manifest.statistics
    expected = (
        f"{found['points_per_game']:+.3f} +/- {found['standard_error']:.3f} points per game against PubEval in training"
    )
    assert accuracy_text(table, [], "contact") == f"{table.name}: {expected}"
    assert bgdata.open_player(warehouse.root, "tiny").evaluate(START_ID).accuracy.endswith(expected)


def test_scores_of_the_warehouse_are_quoted(warehouse: Warehouse) -> None:
    player = open_named_player("network/tiny", 0, warehouse)
    series = GameParameters("network/tiny", 0, player.version, "pubeval", 0, "2", 40, 3)
    warehouse.build("game_scores", series)
    (benchmark,) = warehouse.current("rollout_decisions")
    warehouse.build(BENCHMARKS.name, ScoreParameters.on(benchmark, "network/tiny", 0, player.version))
    found = {each.measure: each for each in scores_in(warehouse, "tiny", player.version)}
    assert found["points_per_game"].sample_size == 40
    assert found["error_rate"].against == "/".join(benchmark.name.split("/")[:2])
    assert scores_in(warehouse, "tiny", "00000000") == []
    said = bgdata.open_player(warehouse.root, "tiny").evaluate(START_ID).accuracy
    assert "points per game against PubEval (40 games, 0-ply)" in said
    assert "training" not in said


def test_scores_on_a_benchmark_that_another_one_replaced(warehouse: Warehouse) -> None:
    """The decisions of a set change with the network whose games they are from: a score of those before is none."""
    player = open_named_player("network/tiny", 0, warehouse)
    (benchmark,) = warehouse.current("rollout_decisions")
    table = warehouse.build(BENCHMARKS.name, ScoreParameters.on(benchmark, "network/tiny", 0, player.version))
    assert len(scores_in(warehouse, "tiny", player.version)) == 1
    before = {**table.manifest.parameters["benchmark"], "version": "r1-00000000"}
    replace(table.manifest, parameters={**table.manifest.parameters, "benchmark": before}).save(table.folder)
    assert scores_in(warehouse, "tiny", player.version) == []


@pytest.mark.parametrize("lost", ["player", "version", "points_per_game"])
def test_incomplete_manifests_are_skipped(warehouse: Warehouse, lost: str) -> None:
    """A warehouse may come from a stranger: `verify` says what is wrong, and evaluations go on."""
    player = open_named_player("network/tiny", 0, warehouse)
    table = warehouse.build("game_scores", GameParameters("network/tiny", 0, player.version, "pubeval", 0, "2", 40, 3))
    path = table.folder / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["parameters" if lost in manifest["parameters"] else "statistics"][lost]
    own(path).write_text(json.dumps(manifest))
    assert scores_in(warehouse, "tiny", player.version) == []
    assert "in training" in bgdata.open_player(warehouse.root, "tiny").evaluate(START_ID).accuracy


def test_smallest_error_is_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what was shipped and what was measured here, whichever has the smaller error."""
    table = default_network()
    shipped = {each.measure: each for each in best_scores(table, "", None)}["points_per_game"]
    warehouse = bgdata.open_warehouse(tmp_path / "w")
    for error, expected in ((2 * shipped.value_error, shipped), (shipped.value_error / 2, None)):
        here = points(0.5, error, 100)
        monkeypatch.setattr("bgdata.evaluation.networks.player.scores_in", lambda *_, here=here: [here])
        found = [each for each in best_scores(table, "", warehouse) if each.measure == "points_per_game"]
        assert found == [expected or here]


def test_the_file_is_read_and_written(tmp_path: Path) -> None:
    table = default_network()
    write_scores(tmp_path, {recorded_name(table): [points(0.25, 0.125, 8)], "network/x/r1-00000000": []})
    assert list(read_scores(tmp_path)) == [recorded_name(table)]
    assert shipped_scores(table, tmp_path) == [points(0.25, 0.125, 8)]
    assert json.loads((tmp_path / FILE).read_text())
    write_scores(tmp_path, {})
    assert not (tmp_path / FILE).exists()
    assert shipped_scores(table, tmp_path) == []


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b'{"a": [{"value": 1}]}'])
def test_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    write_scores(tmp_path, {"a": [NetworkScore("points_per_game", "pubeval", 0.5, 0.01, 10, "x")]})
    (path,) = tmp_path.iterdir()
    own(path).write_bytes(content)
    with pytest.raises(CorruptFileError, match=f"^expected scores of networks in {path}, found other content; try: "):
        read_scores(tmp_path)


def test_a_class_has_the_error_rate_of_its_own_benchmark() -> None:
    rates = [
        NetworkScore("error_rate", f"rollout_decisions/{name}-20", value, 0.5, 20, "x")
        for name, value in (("race", 1), ("contact", 4))
    ]
    table = default_network()
    assert accuracy_text(table, rates, "race").endswith(", error rate 1.0 +/- 0.5 in 20 race decisions")
    assert accuracy_text(table, rates, "contact").endswith(", error rate 4.0 +/- 0.5 in 20 contact decisions")
    assert "error rate" not in accuracy_text(table, rates, "crashed")
