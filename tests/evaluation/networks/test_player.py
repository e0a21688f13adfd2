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
from bgdata.errors import CorruptFileError, MissingTableError, OlderTableError, UnknownPlayerError, UsageError
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
from bgdata.game.codec import flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.measures.kinds.benchmark_scores import DATASET as BENCHMARKS
from bgdata.measures.kinds.benchmark_scores import ScoreParameters
from bgdata.measures.kinds.game_scores import GameParameters
from bgdata.selfplay.games import play_games
from bgdata.store.arrays import save_array
from bgdata.store.table import Table
from bgdata.training.kinds.network import DATASET
from bgdata.training.kinds.network import default_network as default_recipe
from bgdata.warehouse import Warehouse
from docs.ship import write_scores
from tests.evaluation.network_versions import HIDDEN, random_networks, write_network
from tests.evaluation.sample_networks import random_networks as sample_networks
from tests.kept import own
from tests.random_games import random_game_positions
from tests.subtests import each


@cache
def good_networks() -> Networks:
    return random_networks(3)


def test_open_networks_maps_files(tmp_path: Path) -> None:
    opened = open_networks(Table(write_network(tmp_path, "good", good_networks())))
    for name, written in good_networks()._asdict().items():
        found = getattr(opened, name)
        assert np.array_equal(found, written)
        assert found.dtype == written.dtype
        assert not found.flags.writeable
        assert is_mapped(found)


def is_mapped(array: NDArray[np.generic]) -> bool:
    """Whether an array's memory is a mapped file."""
    owner: object = array
    while isinstance(owner, np.ndarray | memoryview):
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    return isinstance(owner, ctypes.Array)  # over mapped pages: see store.arrays.mapped


def test_array_in_memory_is_not_mapped() -> None:
    assert not is_mapped(np.zeros(3))


def test_layer_sizes_are_read_from_shapes() -> None:
    assert [layer_sizes(row) for row in good_networks().shapes.tolist()] == [[*hidden, 5] for hidden in HIDDEN]


def corrupted_shapes(row: int, column: int, value: int) -> Callable[[Networks], Networks]:
    def corrupt(networks: Networks) -> Networks:
        shapes = networks.shapes.copy()
        shapes[row, column] = value
        return networks._replace(shapes=shapes)

    return corrupt


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
    "shapes in columns": (lambda n: n._replace(shapes=np.asfortranarray(n.shapes)), r"the shape \(3, 9\) by columns"),
    "shapes of int32": (lambda n: n._replace(shapes=n.shapes.astype(np.int32)), r"shapes of int32\[3, 9\]"),
    "weights of float32": (lambda n: n._replace(weights=n.weights.astype(np.float32)), r"weights of float32\["),
    "weights of big end": (lambda n: n._replace(weights=n.weights.astype(">i2")), "values of type >i2"),
    "missing weight": (lambda n: n._replace(weights=n.weights[:-1]), r"weights of \[\d+\] for \d+"),
    "weights in a table": (lambda n: n._replace(weights=n.weights[None]), r"weights of \[1, \d+\] for \d+"),
    "bias too many": (lambda n: n._replace(biases=np.append(n.biases, np.int32(0))), "weights of .* and biases of"),
    "biases of int64": (lambda n: n._replace(biases=n.biases.astype(np.int64)), r"biases of int64\["),
    "none": (lambda _: NO_NETWORKS, r"shapes of \[3, 7\]"),
}  # fmt: skip


@each("name", list(FLAWS))
def test_flawed_networks_are_refused(tmp_path: Path, name: str) -> None:
    """Arrays that kernels would misread raise an error that names the version and the flaw."""
    corrupt, message = FLAWS[name]
    assert find_flaw(good_networks()) == ""
    folder = write_network(tmp_path, "bad", corrupt(good_networks()))
    if name == "shapes in columns":  # saving would turn them into rows
        np.save(folder / "shapes.npy", np.asfortranarray(good_networks().shapes))
    with pytest.raises(CorruptFileError) as caught:
        open_networks(Table(folder))
    text = str(caught.value)
    start, end = "expected networks that bgdata can read in network/bad/r1-0123abcd, found ", "; try: bgdata verify"
    if name in ("shapes in columns", "weights of big end"):  # our arrays never have these forms
        assert re.match(
            rf"expected a whole \.npy array in {folder}/\w+\.npy, found: {message}; try: bgdata verify", text
        )
        return
    assert text.startswith(start)
    assert text.endswith(end)
    assert re.match(message, text.removeprefix(start)), text


def test_networks_of_older_inputs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    (folder,) = (SHIPPED / DEFAULT_NETWORK).iterdir()
    open_networks(Table(folder))
    monkeypatch.setitem(input_sets._REVISIONS, InputSet.CONTACT, 2)
    with pytest.raises(OlderTableError, match=r"expected networks with the inputs contact@2 in .*, found contact@1"):
        open_networks(Table(folder))


def test_missing_and_truncated_arrays_are_refused(tmp_path: Path) -> None:
    folder = write_network(tmp_path, "bad", good_networks())
    (folder / "biases.npy").unlink()
    with pytest.raises(MissingTableError, match=r"expected the array .*biases\.npy, found no such file"):
        open_networks(Table(folder))
    save_array(folder / "biases.npy", good_networks().biases)
    whole = (folder / "weights.npy").read_bytes()
    (folder / "weights.npy").write_bytes(whole[:-10])
    with pytest.raises(CorruptFileError, match=r"expected a whole \.npy array in .*weights\.npy"):
        open_networks(Table(folder))


START_ID = "4HPwATDgc/ABMA"


def points(value: float, error: float, size: int) -> NetworkScore:
    return NetworkScore("points_per_game", "pubeval", value, error, size, "game_scores/x/r1-00000000")


def default_network() -> Table:
    (folder,) = (SHIPPED / DEFAULT_NETWORK).glob("r*-*")
    return Table(folder)


def test_default_network_has_its_measured_scores() -> None:
    """The shipped scores of the default network are from 40,000 games and all three benchmarks, instead of the 8,000
    games at the end of its training."""
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
    accuracy = bgdata.open_player(tmp_path / "w").evaluate(START_ID).accuracy
    games = next(each for each in shipped_scores(default_network()) if each.measure == "points_per_game")
    points = f"{games.value:+.4f} +/- {games.value_error:.4f} points per game"
    assert f"{points} against PubEval (40,000 games, 0-ply)" in accuracy
    assert re.search(r", error rate \d\.\d \+/- \d\.\d in 500 contact decisions$", accuracy)


def test_scores_of_training_are_named_so(warehouse: Warehouse) -> None:
    table = warehouse.open("network", "tiny")
    found = table.manifest.statistics
    expected = (
        f"{found['points_per_game']:+.3f} +/- {found['standard_error']:.3f} points per game against PubEval in training"
    )
    assert accuracy_text(table, [], "contact") == f"{table.name}: {expected}"
    assert bgdata.open_player(warehouse.root, "tiny").evaluate(START_ID).accuracy.endswith(expected)


def test_scores_of_the_warehouse_are_quoted(warehouse: Warehouse) -> None:
    """Scores that were measured in a warehouse replace the figures of training in the accuracy of an evaluation."""
    player = open_named_player("network/tiny", 0, warehouse)
    series = GameParameters("network/tiny", 0, player.version, "pubeval", 0, "2", 40, 3)
    warehouse.build("game_scores", series)
    (benchmark,) = warehouse.current("rollout_decisions")
    warehouse.build(BENCHMARKS.name, ScoreParameters.on(benchmark, "network/tiny", 0, player.version))
    found = {each.measure: each for each in scores_in(warehouse, "tiny", player.version)}
    assert found["points_per_game"].sample_size == 40
    assert found["error_rate"].against == "/".join(benchmark.name.split("/")[:2])
    assert scores_in(warehouse, "tiny", "00000000") == []
    accuracy = bgdata.open_player(warehouse.root, "tiny").evaluate(START_ID).accuracy
    assert "points per game against PubEval (40 games, 0-ply)" in accuracy
    assert "training" not in accuracy


def test_scores_on_a_replaced_benchmark_are_skipped(warehouse: Warehouse) -> None:
    """Scores on an older version of a benchmark do not count, because its decisions change with the network of its
    games."""
    player = open_named_player("network/tiny", 0, warehouse)
    (benchmark,) = warehouse.current("rollout_decisions")
    table = warehouse.build(BENCHMARKS.name, ScoreParameters.on(benchmark, "network/tiny", 0, player.version))
    assert len(scores_in(warehouse, "tiny", player.version)) == 1
    before = {**table.manifest.parameters["benchmark"], "version": "r1-00000000"}
    replace(table.manifest, parameters={**table.manifest.parameters, "benchmark": before}).save(table.folder)
    assert scores_in(warehouse, "tiny", player.version) == []


@pytest.mark.parametrize("lost", ["player", "version", "points_per_game"])
def test_incomplete_manifests_are_skipped(warehouse: Warehouse, lost: str) -> None:
    """A damaged manifest of scores does not stop evaluations; `verify` reports it."""
    player = open_named_player("network/tiny", 0, warehouse)
    table = warehouse.build("game_scores", GameParameters("network/tiny", 0, player.version, "pubeval", 0, "2", 40, 3))
    path = table.folder / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["parameters" if lost in manifest["parameters"] else "statistics"][lost]
    own(path).write_text(json.dumps(manifest))
    assert scores_in(warehouse, "tiny", player.version) == []
    assert "in training" in bgdata.open_player(warehouse.root, "tiny").evaluate(START_ID).accuracy


def test_score_with_the_smallest_error_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The most accurate of shipped and local scores is quoted."""
    table = default_network()
    shipped = {each.measure: each for each in best_scores(table, "", None)}["points_per_game"]
    warehouse = bgdata.open_warehouse(tmp_path / "w")
    for error, expected in ((2 * shipped.value_error, shipped), (shipped.value_error / 2, None)):
        here = points(0.5, error, 100)
        monkeypatch.setattr("bgdata.evaluation.networks.player.scores_in", lambda *_, here=here: [here])
        found = [each for each in best_scores(table, "", warehouse) if each.measure == "points_per_game"]
        assert found == [expected or here]


def test_scores_file_round_trips(tmp_path: Path) -> None:
    table = default_network()
    write_scores(tmp_path, {recorded_name(table): [points(0.25, 0.125, 8)], "network/x/r1-00000000": []})
    assert list(read_scores(tmp_path)) == [recorded_name(table)]
    assert shipped_scores(table, tmp_path) == [points(0.25, 0.125, 8)]
    assert json.loads((tmp_path / FILE).read_text())
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
    rates = [
        NetworkScore("error_rate", f"rollout_decisions/{name}-20", value, 0.5, 20, "x")
        for name, value in (("race", 1), ("contact", 4))
    ]
    table = default_network()
    assert accuracy_text(table, rates, "race").endswith(", error rate 1.0 +/- 0.5 in 20 race decisions")
    assert accuracy_text(table, rates, "contact").endswith(", error rate 4.0 +/- 0.5 in 20 contact decisions")
    assert "error rate" not in accuracy_text(table, rates, "crashed")


TINY = DATASET.smallest


def test_default_network_needs_no_warehouse(tmp_path: Path) -> None:
    """The shipped network plays legally, and the folder of the warehouse is not created."""
    warehouse = bgdata.open_warehouse(tmp_path / "none")
    kind, parameters = default_recipe()
    name = f"network/{warehouse.kind(kind).slug(parameters)}"
    folder = warehouse.kind(kind).published_folder(parameters)
    assert network_name("network") == name
    assert find_network("network", warehouse).folder == find_network(name, warehouse).folder == folder
    player = open_named_player("network", 0, warehouse)
    games = random_game_positions(5, seed=3)
    chosen = flip_boards(player.choose_plays(games.boards, games.rolls)).tolist()
    offsets, after_play = batch_plays(games.boards, games.rolls)
    candidates = after_play.tolist()
    assert all(board in candidates[offsets[row] : offsets[row + 1]] for row, board in enumerate(chosen))
    assert not warehouse.root.exists()


def test_network_of_the_warehouse_comes_first(warehouse: Warehouse) -> None:
    """A network in the warehouse replaces the shipped network of the same name, because it is newer."""
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
    """If the current version is missing, the shipped network of the same name, which would play differently, is not
    used."""
    folder = tmp_path / "network" / DEFAULT_NETWORK
    folder.mkdir(parents=True)
    (folder / "current").write_text("r1-00000000\n")
    with pytest.raises(CorruptFileError, match=f"no current version network/{DEFAULT_NETWORK}/r1-00000000 in"):
        find_network("network", bgdata.open_warehouse(tmp_path))


def test_version_changes_with_weights_and_tables(warehouse: Warehouse) -> None:
    versions = [open_named_player("network/tiny", 0, warehouse).version]
    assert open_named_player("network/tiny", 0, warehouse).version == versions[0]
    warehouse.build("network", replace(TINY, seed=5))
    versions.append(open_named_player("network/tiny", 0, warehouse).version)
    shutil.rmtree(warehouse.root / "bearoff_two_sided" / "6x6")
    versions.append(open_named_player("network/tiny", 0, warehouse).version)
    assert len(set(versions)) == 3
    assert all(len(version) == 8 for version in versions)


def test_open_player_looks_ahead(warehouse: Warehouse) -> None:
    player = open_named_player("network/tiny", 1, warehouse)
    assert player.label == "tiny-1ply"
    with pytest.raises(UsageError, match="expected a ply from 0 to 3, got 4"):
        open_named_player("network/tiny", 4, warehouse)


def test_invalid_names_are_refused(small_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors for invalid and missing networks list what exists, and say how to train one."""
    warehouse = bgdata.open_warehouse(small_root)
    for name in ("network/", "network/A", "network/../x", "network/a/b"):
        with pytest.raises(
            UnknownPlayerError, match=f"expected network, network/NAME or network/NAME/VERSION, got {name}"
        ):
            open_named_player(name, 0, warehouse)
    with pytest.raises(
        MissingTableError, match=r"no network/x in .* \(have: tiny, tiny-supervised\); try: bgdata train td x"
    ):
        open_named_player("network/x", 0, warehouse)
    with pytest.raises(
        UnknownPlayerError,
        match=r"expected a player among random, pubeval, gnubg, bgsage, NAME\.onnx, NAME\.ubgi, got network",
    ):
        open_named_player("network")
    monkeypatch.setattr(network_player, "SHIPPED", small_root / "none")
    with pytest.raises(MissingTableError, match=f"no network/{DEFAULT_NETWORK} in .*; try: bgdata train td "):
        open_named_player("network", 0, warehouse)


def test_player_version_depends_on_values_not_revisions() -> None:
    """The version of a player changes with the digests of its tables, not their revisions, and stays the one in the
    default corpus."""
    tables = ["taught-400/r1-15aad32f", "6x6/r1-77285ba0", "6x15/r1-9d944484", "6x15/r1-f05b6197"]
    assert version_of_folders(map(Path, tables)) == "7f3f62c5"
    assert version_of_folders(Path(name.replace("/r1-", "/r2-")) for name in tables) == "7f3f62c5"
    assert version_of_folders(Path(name.replace("77285ba0", "77285ba1")) for name in tables) != "7f3f62c5"


def test_network_plays_the_same_games_in_a_kernel_and_in_python() -> None:
    player = NetworkPlayer(sample_networks(0), NO_TABLES)
    assert isinstance(player, KernelPlayer)
    assert player.label == "network"
    plain = Plain(player)
    assert not isinstance(plain, KernelPlayer)
    found = play_games(plain, PubEval(), 6, 1)
    for name, expected in play_games(player, PubEval(), 6, 1)._asdict().items():
        assert np.array_equal(getattr(found, name), expected)


class Plain:
    """A player without a kernel."""

    label = version = "plain"

    def __init__(self, player: NetworkPlayer) -> None:
        self.choose_plays = player.choose_plays


def test_version_changes_with_the_weights() -> None:
    networks = sample_networks(0)
    weights, biases = networks.weights.copy(), networks.biases.copy()
    weights[-1] += 1
    biases[-1] += 1
    same = networks._replace(weights=networks.weights.copy(), biases=networks.biases.copy())
    others = networks._replace(weights=weights), networks._replace(biases=biases)
    versions = [NetworkPlayer(each, NO_TABLES).version for each in (networks, same, *others)]
    assert versions[0] == versions[1]
    assert len(set(versions)) == 3
    assert all(len(version) == 8 for version in versions)
