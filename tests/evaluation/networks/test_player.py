"""Networks of a version: mapped, refused if kernels could not read them, quoted with measured scores, opened by
name."""

import ctypes
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.errors import CorruptFileError, MissingTableError, OlderTableError, UnknownPlayerError
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.choices import KernelPlayer
from bgdata.evaluation.networks import input_sets
from bgdata.evaluation.networks import player as network_player
from bgdata.evaluation.networks.inference import NO_NETWORKS, Networks, layer_sizes
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.player import (
    FILE,
    NetworkPlayer,
    NetworkScore,
    accuracy_text,
    best_scores,
    find_flaw,
    find_network,
    network_name,
    open_networks,
    read_scores,
    recorded_name,
    scores_in,
    shipped_scores,
    version_of_folders,
)
from bgdata.evaluation.player import PubEval, open_named_player
from bgdata.evaluation.players import DEFAULT_NETWORK, SHIPPED
from bgdata.game.position import START
from bgdata.measures.kinds.benchmark_scores import DATASET as BENCHMARKS
from bgdata.measures.kinds.benchmark_scores import ScoreParameters
from bgdata.measures.kinds.game_scores import GameParameters
from bgdata.selfplay.games import play_games
from bgdata.store.table import Table
from bgdata.training.kinds.network import DATASET
from bgdata.training.kinds.network import default_network as default_recipe
from bgdata.warehouse import Warehouse
from docs.ship import write_scores
from tests.evaluation.network_versions import HIDDEN, random_networks, write_network
from tests.evaluation.sample_networks import random_networks as sample_networks
from tests.kept import own


@cache
def good_networks() -> Networks:
    return random_networks(3)


def test_open_networks_maps_files(tmp_path: Path) -> None:
    networks = open_networks(Table(write_network(tmp_path, "good", good_networks())))
    for name, written in good_networks()._asdict().items():
        array = getattr(networks, name)
        assert np.array_equal(array, written)
        assert array.dtype == written.dtype
        assert not array.flags.writeable
        assert is_mapped(array)
        assert not is_mapped(written)


def is_mapped(array: NDArray[np.generic]) -> bool:
    """Whether an array's memory is a mapped file."""
    owner: object = array
    while isinstance(owner, np.ndarray | memoryview):
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    return isinstance(owner, ctypes.Array)  # over mapped pages: see store.arrays.mapped


def test_layer_sizes_are_read_from_shapes() -> None:
    assert [layer_sizes(row) for row in good_networks().shapes.tolist()] == [[*hidden, 5] for hidden in HIDDEN]


def corrupted_shapes(row: int, column: int, value: int) -> Callable[[Networks], Networks]:
    def corrupt(networks: Networks) -> Networks:
        shapes = networks.shapes.copy()
        shapes[row, column] = value
        return networks._replace(shapes=shapes)

    return corrupt


# by flaw: a function that corrupts networks, and the beginning of the message
FLAWS: dict[str, tuple[Callable[[Networks], Networks], str]] = {
    "no such inputs": (corrupted_shapes(0, 0, 4), r"other inputs of the race network: \d+ of input set 4"),
    "no inputs below 0": (corrupted_shapes(1, 0, -1), r"other inputs of the crashed network: 198 of input set -1"),
    "other features": (corrupted_shapes(2, 0, int(InputSet.TESAURO_196)), r"other inputs of the contact network: \d+"),
    "other inputs": (corrupted_shapes(1, 1, 199), "other inputs of the crashed network: 199 of input set 1"),
    "first weight": (corrupted_shapes(1, 2, 0), r"the shape \[1, 198, 0, .* of the crashed network"),
    "first weight below 0": (corrupted_shapes(0, 2, -1), r"the shape \[2, \d+, -1, .* of the race network"),
    "first bias": (corrupted_shapes(2, 3, 1 << 40), r"the shape .* of the contact network"),
    "no such activation": (corrupted_shapes(2, 4, 2), "the shape .* of the contact network"),
    "no hidden layer": (corrupted_shapes(1, 5, 1), "the shape .* of the crashed network"),
    "no layers": (corrupted_shapes(1, 5, 0), "the shape .* of the crashed network"),
    "layers below 0": (corrupted_shapes(1, 5, -3), "the shape .* of the crashed network"),
    "layers beyond the columns": (corrupted_shapes(0, 5, 4), "the shape .* of the race network"),
    "no units": (corrupted_shapes(0, 6, 0), "the shape .* of the race network"),
    "units below 0": (corrupted_shapes(0, 7, -4), "the shape .* of the race network"),
    "six outputs": (corrupted_shapes(0, 8, 6), "the shape .* of the race network"),
    "units after the outputs": (corrupted_shapes(1, 8, 1 << 60), "the shape .* of the crashed network"),
    "more units than weights": (corrupted_shapes(2, 6, 8), r"weights of \[\d+\] for \d+ and biases of \[\d+\] for \d+"),
    "two networks": (lambda n: n._replace(shapes=n.shapes[:2]), r"shapes of \[2, 9\]"),
    "flat shapes": (lambda n: n._replace(shapes=n.shapes.reshape(-1)), r"shapes of \[27\]"),
    "narrow shapes": (lambda n: n._replace(shapes=np.ascontiguousarray(n.shapes[:, :7])), r"shapes of \[3, 7\]"),
    "shapes of int32": (lambda n: n._replace(shapes=n.shapes.astype(np.int32)), r"shapes of int32\[3, 9\]"),
    "weights of float32": (lambda n: n._replace(weights=n.weights.astype(np.float32)), r"weights of float32\["),
    "missing weight": (lambda n: n._replace(weights=n.weights[:-1]), r"weights of \[\d+\] for \d+"),
    "weights in a table": (lambda n: n._replace(weights=n.weights[None]), r"weights of \[1, \d+\] for \d+"),
    "bias too many": (lambda n: n._replace(biases=np.append(n.biases, np.int32(0))), "weights of .* and biases of"),
    "biases of int64": (lambda n: n._replace(biases=n.biases.astype(np.int64)), r"biases of int64\["),
    "none": (lambda _: NO_NETWORKS, r"shapes of \[3, 7\]"),
}  # fmt: skip


def test_valid_networks_have_no_flaw() -> None:
    assert find_flaw(good_networks()) == ""


@pytest.mark.parametrize(("corrupt", "message"), FLAWS.values(), ids=FLAWS)
def test_flawed_networks_are_refused(tmp_path: Path, corrupt: Callable[[Networks], Networks], message: str) -> None:
    """Kernels would misread them."""
    folder = write_network(tmp_path, "bad", corrupt(good_networks()))
    start = "expected networks that bgdata can read in network/bad/r1-0123abcd, found "
    with pytest.raises(CorruptFileError, match=f"^{start}{message}.*; try: bgdata verify"):
        open_networks(Table(folder))


def test_networks_of_older_inputs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    (folder,) = (SHIPPED / DEFAULT_NETWORK).iterdir()
    open_networks(Table(folder))
    monkeypatch.setitem(input_sets._REVISIONS, InputSet.CONTACT, 2)
    with pytest.raises(OlderTableError, match=r"expected networks with the inputs contact@2 in .*, found contact@1"):
        open_networks(Table(folder))


def points_per_game(value: float, error: float, size: int) -> NetworkScore:
    return NetworkScore("points_per_game", "pubeval", value, error, size, "game_scores/x/r1-00000000")


def default_network() -> Table:
    (folder,) = (SHIPPED / DEFAULT_NETWORK).glob("r*-*")
    return Table(folder)


def score_of_default_network(measure: str, against: str) -> NetworkScore:
    """Its shipped score against an opponent or benchmark whose name begins with `against`."""
    scores = shipped_scores(default_network())
    (score,) = (score for score in scores if score.measure == measure and score.against.startswith(against))
    return score


def test_shipped_games_are_more_accurate_than_those_of_training() -> None:
    score = score_of_default_network("points_per_game", "pubeval")
    assert score.sample_size >= 40_000
    assert score.value_error < default_network().manifest.statistics["standard_error"] / 2


@pytest.mark.parametrize("position_class", ["contact", "crashed", "race"])
def test_default_network_has_scores_on_every_benchmark(position_class: str) -> None:
    assert score_of_default_network("error_rate", f"rollout_decisions/{position_class}-")


def test_research_page_quotes_the_shipped_score() -> None:
    page = (Path(bgdata.__file__).parents[1] / "docs/research/networks.md").read_text()
    row = re.search(r"\| ours \| ([+-]\d\.\d{3}) \+/- (\d\.\d{3}) ", page)
    score = score_of_default_network("points_per_game", "pubeval")
    assert row
    assert float(row[1]) == pytest.approx(score.value, abs=1e-3)
    assert float(row[2]) == pytest.approx(score.value_error, abs=1e-3)


def test_evaluations_quote_shipped_scores(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    accuracy = bgdata.open_player(tmp_path / "w").evaluate(START).accuracy
    score = score_of_default_network("points_per_game", "pubeval")
    games = f"{score.value:+.4f} +/- {score.value_error:.4f} points per game against PubEval (40,000 games, 0-ply)"
    assert games in accuracy
    assert re.search(r", error rate \d\.\d \+/- \d\.\d in 500 contact decisions$", accuracy)


def test_evaluations_quote_scores_of_training_without_others(warehouse: Warehouse) -> None:
    table = warehouse.open("network", "tiny")
    value, error = table.manifest.statistics["points_per_game"], table.manifest.statistics["standard_error"]
    expected = f"{value:+.3f} +/- {error:.3f} points per game against PubEval in training"
    assert accuracy_text(table, [], "contact") == f"{table.name}: {expected}"
    assert bgdata.open_player(warehouse.root, "tiny").evaluate(START).accuracy.endswith(expected)


def test_scores_of_the_warehouse_are_quoted(warehouse: Warehouse) -> None:
    player = open_named_player("network/tiny", 0, warehouse)
    series = GameParameters("network/tiny", 0, player.version, "pubeval", 0, "2", 40, 3)
    warehouse.build("game_scores", series)
    (benchmark,) = warehouse.current("rollout_decisions")
    warehouse.build(BENCHMARKS.name, ScoreParameters.on(benchmark, "network/tiny", 0, player.version))
    scores = {score.measure: score for score in scores_in(warehouse, "tiny", player.version)}
    assert scores["points_per_game"].sample_size == 40
    assert scores["error_rate"].against == "/".join(benchmark.name.split("/")[:2])
    assert scores_in(warehouse, "tiny", "00000000") == []
    accuracy = bgdata.open_player(warehouse.root, "tiny").evaluate(START).accuracy
    assert "points per game against PubEval (40 games, 0-ply)" in accuracy
    assert "training" not in accuracy


def test_scores_on_a_replaced_benchmark_are_skipped(warehouse: Warehouse) -> None:
    """The decisions of a benchmark change with the network of its games."""
    player = open_named_player("network/tiny", 0, warehouse)
    (benchmark,) = warehouse.current("rollout_decisions")
    table = warehouse.build(BENCHMARKS.name, ScoreParameters.on(benchmark, "network/tiny", 0, player.version))
    assert len(scores_in(warehouse, "tiny", player.version)) == 1
    older = {**table.manifest.parameters["benchmark"], "version": "r1-00000000"}
    replace(table.manifest, parameters={**table.manifest.parameters, "benchmark": older}).save(table.folder)
    assert scores_in(warehouse, "tiny", player.version) == []


@pytest.mark.parametrize(
    ("part", "name"), [("parameters", "player"), ("parameters", "version"), ("statistics", "points_per_game")]
)
def test_incomplete_manifests_of_scores_are_skipped(warehouse: Warehouse, part: str, name: str) -> None:
    player = open_named_player("network/tiny", 0, warehouse)
    table = warehouse.build("game_scores", GameParameters("network/tiny", 0, player.version, "pubeval", 0, "2", 40, 3))
    path = table.folder / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest[part][name]
    own(path).write_text(json.dumps(manifest))
    assert scores_in(warehouse, "tiny", player.version) == []
    assert "in training" in bgdata.open_player(warehouse.root, "tiny").evaluate(START).accuracy


@pytest.mark.parametrize(("factor", "is_local_quoted"), [(2, False), (0.5, True)])
def test_score_with_the_smallest_error_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: float, is_local_quoted: bool
) -> None:
    shipped = score_of_default_network("points_per_game", "pubeval")
    local = points_per_game(0.5, factor * shipped.value_error, 100)
    monkeypatch.setattr("bgdata.evaluation.networks.player.scores_in", lambda *_: [local])
    best = best_scores(default_network(), "", bgdata.open_warehouse(tmp_path / "w"))
    (quoted,) = (score for score in best if score.measure == "points_per_game")
    assert quoted == (local if is_local_quoted else shipped)


def test_scores_file_round_trips(tmp_path: Path) -> None:
    table = default_network()
    score = points_per_game(0.25, 0.125, 8)
    write_scores(tmp_path, {recorded_name(table): [score], "network/x/r1-00000000": []})
    assert list(read_scores(tmp_path)) == [recorded_name(table)]
    assert shipped_scores(table, tmp_path) == [score]
    write_scores(tmp_path, {})
    assert not (tmp_path / FILE).exists()
    assert shipped_scores(table, tmp_path) == []


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b'{"a": [{"value": 1}]}'])
def test_damaged_scores_file_is_refused(tmp_path: Path, content: bytes) -> None:
    write_scores(tmp_path, {"a": [NetworkScore("points_per_game", "pubeval", 0.5, 0.01, 10, "x")]})
    (path,) = tmp_path.iterdir()
    own(path).write_bytes(content)
    with pytest.raises(CorruptFileError, match=f"^expected scores of networks in {path}, found other content; try: "):
        read_scores(tmp_path)


def test_each_class_has_the_error_rate_of_its_benchmark() -> None:
    table = default_network()
    race = NetworkScore("error_rate", "rollout_decisions/race-20", 1, 0.5, 20, "x")
    contact = NetworkScore("error_rate", "rollout_decisions/contact-20", 4, 0.5, 20, "x")
    race_text, contact_text, crashed_text = (
        accuracy_text(table, [race, contact], position_class) for position_class in ("race", "contact", "crashed")
    )
    assert race_text.endswith(", error rate 1.0 +/- 0.5 in 20 race decisions")
    assert contact_text.endswith(", error rate 4.0 +/- 0.5 in 20 contact decisions")
    assert "error rate" not in crashed_text


def test_default_network_needs_no_warehouse(tmp_path: Path) -> None:
    warehouse = bgdata.open_warehouse(tmp_path / "none")
    kind, parameters = default_recipe()
    name = f"network/{warehouse.kind(kind).slug(parameters)}"
    assert network_name("network") == name
    folder = warehouse.kind(kind).published_folder(parameters)
    assert find_network("network", warehouse).folder == folder
    assert find_network(name, warehouse).folder == folder
    start, roll = np.array([START.board], np.int8), np.array([[3, 1]], np.int8)
    after_play = open_named_player("network", 0, warehouse).choose_plays(start, roll)
    assert after_play.tolist() == [list(START.play("8/5 6/5", "31").board)]
    assert not warehouse.root.exists()


def test_network_of_the_warehouse_comes_first(warehouse: Warehouse) -> None:
    """It replaces the shipped network of the same name, because it is newer."""
    player = open_named_player("network/tiny", 0, warehouse)
    assert isinstance(player, NetworkPlayer)
    assert repr(player) == f"MappedNetwork({player.label})"
    assert player.label == "tiny"
    assert np.array_equal(player.networks.weights, warehouse.open("network", "tiny").array("weights"))
    assert player.tables.two_sided_points == player.tables.gammon_points == 6
    installed = warehouse.root / "network" / DEFAULT_NETWORK
    installed.symlink_to(warehouse.root / "network" / "tiny")
    assert find_network("network", warehouse).folder.parent == installed


def test_missing_current_version_is_refused(tmp_path: Path) -> None:
    """The shipped network of the same name would play differently."""
    folder = tmp_path / "network" / DEFAULT_NETWORK
    folder.mkdir(parents=True)
    (folder / "current").write_text("r1-00000000\n")
    with pytest.raises(CorruptFileError, match=f"no current version network/{DEFAULT_NETWORK}/r1-00000000 in"):
        find_network("network", bgdata.open_warehouse(tmp_path))


def test_version_changes_with_weights_and_tables(warehouse: Warehouse) -> None:
    original = open_named_player("network/tiny", 0, warehouse).version
    assert open_named_player("network/tiny", 0, warehouse).version == original
    warehouse.build("network", replace(DATASET.smallest, seed=5))
    with_other_weights = open_named_player("network/tiny", 0, warehouse).version
    shutil.rmtree(warehouse.root / "bearoff_two_sided" / "6x6")
    with_other_tables = open_named_player("network/tiny", 0, warehouse).version
    assert len({original, with_other_weights, with_other_tables}) == 3
    assert len(original) == 8


def test_player_of_a_network_looks_ahead(warehouse: Warehouse) -> None:
    assert open_named_player("network/tiny", 1, warehouse).label == "tiny-1ply"


@pytest.mark.parametrize("name", ["network/", "network/A", "network/../x", "network/a/b"])
def test_invalid_names_are_refused(small_root: Path, name: str) -> None:
    message = f"expected network, network/NAME or network/NAME/VERSION, got {name}"
    with pytest.raises(UnknownPlayerError, match=message):
        open_named_player(name, 0, bgdata.open_warehouse(small_root))


def test_missing_networks_are_refused(small_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message lists what exists, or says how to train one."""
    warehouse = bgdata.open_warehouse(small_root)
    message = r"no network/x in .* \(have: contact-160, tiny, tiny-supervised\); try: bgdata train td x"
    with pytest.raises(MissingTableError, match=message):
        open_named_player("network/x", 0, warehouse)
    monkeypatch.setattr(network_player, "SHIPPED", small_root / "none")
    with pytest.raises(MissingTableError, match=f"no network/{DEFAULT_NETWORK} in .*; try: bgdata train td "):
        open_named_player("network", 0, warehouse)


def test_network_without_a_warehouse_is_refused() -> None:
    message = r"expected a player among random, pubeval, gnubg, bgsage, NAME\.onnx, NAME\.ubgi, got network"
    with pytest.raises(UnknownPlayerError, match=message):
        open_named_player("network")


def test_player_version_depends_on_values_not_revisions() -> None:
    """The version is that in the recipe of the default corpus."""
    tables = ["taught-400/r1-15aad32f", "6x6/r1-77285ba0", "6x15/r1-9d944484", "6x15/r1-f05b6197"]
    assert version_of_folders(map(Path, tables)) == "7f3f62c5"
    assert version_of_folders(Path(name.replace("/r1-", "/r2-")) for name in tables) == "7f3f62c5"
    assert version_of_folders(Path(name.replace("77285ba0", "77285ba1")) for name in tables) != "7f3f62c5"


class WithoutKernel:
    """A player that chooses the same plays in Python."""

    label = version = "without-kernel"

    def __init__(self, player: NetworkPlayer) -> None:
        self.choose_plays = player.choose_plays


def test_network_plays_the_same_games_in_a_kernel_and_in_python() -> None:
    player = NetworkPlayer(sample_networks(0), NO_TABLES)
    assert isinstance(player, KernelPlayer)
    assert not isinstance(WithoutKernel(player), KernelPlayer)
    by_kernel, by_python = (play_games(each, PubEval(), 6, 1) for each in (player, WithoutKernel(player)))
    for name, expected in by_kernel._asdict().items():
        assert np.array_equal(getattr(by_python, name), expected)


def test_version_changes_with_weights_and_biases() -> None:
    networks = sample_networks(0)
    weights, biases = networks.weights.copy(), networks.biases.copy()
    original = NetworkPlayer(networks, NO_TABLES).version
    assert NetworkPlayer(networks._replace(weights=weights, biases=biases), NO_TABLES).version == original
    weights[-1] += 1
    biases[-1] += 1
    with_other_weights = NetworkPlayer(networks._replace(weights=weights), NO_TABLES).version
    with_other_biases = NetworkPlayer(networks._replace(biases=biases), NO_TABLES).version
    assert len({original, with_other_weights, with_other_biases}) == 3
    assert len(original) == 8
