"""Networks trained from labels: the same digest everywhere and after a kill, the best epoch, and invalid inputs."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import bgdata
from bgdata.errors import (
    BgdataError,
    CheckFailedError,
    InvalidNameError,
    InvalidParameterError,
    MissingTableError,
    UnknownInputSetError,
    UsageError,
)
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import AnswerSource, cubeless_equities
from bgdata.evaluation.networks.inference import ACTIVATION, SIZES
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.player import find_network, open_networks
from bgdata.evaluation.player import open_named_player
from bgdata.formats.lines import write_bytes
from bgdata.formats.position_files import format_gnubg_training
from bgdata.game.classes import PositionClass
from bgdata.kernel import read_only, threads
from bgdata.store import job
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.training.feed.rows import Batch
from bgdata.training.kinds.supervised_network import CLASSES, DATASET, SupervisedParameters, WeightedLabels, best_epoch
from bgdata.training.networks import layer_views
from bgdata.warehouse import Warehouse
from tests.contract.kinds import Corrupted, smallest_version
from tests.imports.killer import Killer
from tests.rechecking import check_sample, inputs_of

SMALLEST = DATASET.smallest
POSITIONS, VALIDATION_CROSS_ENTROPY, VALIDATION_SQUARED_ERROR = 1, 3, 5  # columns of the curve
DIGEST = "72bda22702f24537cf1e7f1eaa5ba602734d5f36dbb9a4b1215d8ed62937d8cf"  # of SMALLEST, on any machine


def test_digest_is_unchanged(small_root: Path) -> None:
    """If networks change on purpose, raise the revision."""
    assert smallest_version(small_root, DATASET).manifest.digest == DIGEST


def test_labels_of_the_same_games_are_noted(warehouse_with_labels: Warehouse) -> None:
    labels = next(warehouse_with_labels.versions("selfplay_labels"))
    copy = labels.folder.parents[1] / "copy" / labels.folder.name
    shutil.copytree(labels.folder, copy)
    replace(labels.manifest, variant="copy").save(copy)
    copy_name = f"selfplay_labels/copy/{copy.name}"
    progress = Killer(epochs=99)
    warehouse_with_labels.build(
        DATASET.name, smallest_with({"labels": f"{labels.name}+{copy_name}", "epochs": 1}), progress=progress
    )
    games = "games of pubeval 2 with the seed 3"
    assert f"{copy_name} and {labels.name} are of the same games: {games}" in progress.notes


def test_format_of_the_feed_is_a_parameter(warehouse_with_labels: Warehouse) -> None:
    table = warehouse_with_labels.build(DATASET.name, smallest_with({"feed_format": 2, "epochs": 1}))
    assert table.manifest.parameters["feed_format"] == 2


def test_each_network_keeps_its_best_epoch(warehouse_with_labels: Warehouse) -> None:
    """At a learning rate that is too high, the weights of the epoch with the lowest error are those of the player."""
    table = warehouse_with_labels.build(
        DATASET.name, SMALLEST.with_changes({"learning_rate": 0.1, "schedule": "constant", "epochs": 4})
    )
    curve = np.asarray(table.array("curve"))
    best_epochs = curve[:, :, VALIDATION_CROSS_ENTROPY].argmin(axis=0).tolist()
    assert best_epochs != [4, 4, 4]
    validation = warehouse_with_labels.batches(SMALLEST.labels[0].name, split="validation", seed=SMALLEST.seed).batch(
        0, 0
    )
    for which, name in enumerate(CLASSES):
        epoch = best_epochs[which]
        assert best_epoch(curve, which) == epoch
        assert table.manifest.statistics[f"{name}_epoch"] == epoch
        assert squared_error(table, which, validation) == pytest.approx(
            curve[epoch, which, VALIDATION_SQUARED_ERROR], rel=1e-6
        )


def squared_error(table: Table, which: int, batch: Batch) -> float:
    """The mean squared error of equities of network number `which`."""
    answers = evaluations(open_networks(table), NO_TABLES, batch.boards)
    rows = answers.sources == AnswerSource.RACE_NETWORK + which
    errors = cubeless_equities(answers.chances[rows]) - cubeless_equities(batch.targets[rows])
    return float((errors.astype(float) ** 2).mean())


def test_rows_equal_the_curve(small_root: Path) -> None:
    table = smallest_version(small_root, DATASET)
    with duckdb.connect() as connection:
        rows = connection.sql(f"from '{table.parquet}'").fetchall()
    curve = np.asarray(table.array("curve"))
    assert [row[:2] for row in rows] == [(epoch, name) for epoch in range(3) for name in sorted(CLASSES)]
    for epoch, name, *numbers in rows:
        assert numbers == curve[epoch, CLASSES.index(name)].tolist()


def test_networks_learn(small_root: Path) -> None:
    curve = np.asarray(smallest_version(small_root, DATASET).array("curve"))
    assert (curve[0, :, POSITIONS] == 0).all()
    assert (curve[1:, :, POSITIONS] > 10).all()
    assert (curve[2, :, VALIDATION_CROSS_ENTROPY] < curve[0, :, VALIDATION_CROSS_ENTROPY]).all()


def test_network_plays_by_name(small_root: Path) -> None:
    """A network from labels is found as network/NAME, also by version, and plays."""
    warehouse = bgdata.open_warehouse(small_root)
    table = smallest_version(small_root, DATASET)
    assert find_network("network/tiny-supervised", warehouse).folder == table.folder
    assert find_network("network/tiny-supervised", warehouse, table.folder.name).folder == table.folder
    player = open_named_player("network/tiny-supervised", 0, warehouse)
    assert player.label == "tiny-supervised"
    evaluation = player.evaluate_many(np.zeros((0, 26), np.int8))  # type: ignore[attr-defined]
    assert len(evaluation.chances) == 0
    assert open_networks(table).shapes[2, SIZES] == 12
    with pytest.raises(MissingTableError, match="tiny-supervised/r1-00000000"):
        find_network("network/tiny-supervised", warehouse, "r1-00000000")


@pytest.mark.parametrize(("array", "place", "value"), [("tests", (1, 0), 0.5), ("weights", slice(-60, None), 30_000)])
def test_check_finds_changed_values(small_root: Path, array: str, place: Any, value: float) -> None:
    table = smallest_version(small_root, DATASET)
    inputs = inputs_of(bgdata.open_warehouse(small_root), DATASET, SMALLEST)
    values = np.array(table.array(array))
    values[place] = value
    with pytest.raises(CheckFailedError, match=r"points per game within 0\.0000, as in the first 20 test games"):
        check_sample(DATASET, Corrupted(table, array, read_only(values)), inputs, 50, np.random.default_rng(0))


def test_named_versions_give_the_same_network(warehouse_with_labels: Warehouse) -> None:
    """Labels named by version are no inputs, but give the same network as labels named by variant."""
    names = {
        title[0]: "/".join(next(warehouse_with_labels.versions(*title)).folder.parts[-3:])
        for title in (("network", "tiny"), ("selfplay_labels",))
    }
    changes = {
        "start": names["network"],
        "labels": f"{names['selfplay_labels']}:0.5",
        "features": "race@1 contact@1 contact@1",
    }
    pinned = SMALLEST.with_texts(changes)
    assert set(DATASET.inputs(pinned)) == {"one_sided", "gammon"}
    table = warehouse_with_labels.build(DATASET.name, pinned)
    assert table.manifest.digest == DIGEST


def test_sources_of_labels_are_parsed() -> None:
    """In the text of labels, `+` joins versions of one source, and a number after `:` is its weight."""
    two_versions, one_version = SupervisedParameters.parse("labels", "a/b+a/c:2 d/e")
    assert two_versions == WeightedLabels((VersionRef("a", "b"), VersionRef("a", "c")), 2.0)
    assert str(two_versions) == "a/b+a/c:2"
    assert one_version == WeightedLabels((VersionRef("d", "e"),), 1.0)
    assert str(one_version) == "d/e:1"


def test_verify_without_the_start_checks_the_rest(warehouse_with_labels: Warehouse) -> None:
    """If the start network has been deleted, `verify` checks the rest and says so."""
    start = next(warehouse_with_labels.versions("network", "tiny"))
    name = "/".join(start.folder.parts[-3:])
    table = warehouse_with_labels.build(DATASET.name, SMALLEST.with_texts({"start": name}))
    inputs = inputs_of(warehouse_with_labels, DATASET, DATASET.recipe_of(table.manifest))
    message = check_sample(DATASET, table, inputs, 1, np.random.default_rng(0))
    assert message == "20 of 20 test games; it was not trained again"
    shutil.rmtree(start.folder)
    assert (
        check_sample(DATASET, table, inputs, 1, np.random.default_rng(0))
        == f"{message}, and {name}, where it began, is not here"
    )
    tests = np.array(table.array("tests"))
    tests[1, 0] += 0.5
    with pytest.raises(CheckFailedError, match="in the first 20 test games of supervised_network"):
        check_sample(DATASET, Corrupted(table, "tests", read_only(tests)), inputs, 1, np.random.default_rng(0))


def test_labels_of_one_class_train_one_network(warehouse_with_labels: Warehouse, memory_path: Path) -> None:
    """Labels of one class, as in gnubg's training files, train only that network; a note says that the others are
    unchanged."""
    labels = next(warehouse_with_labels.versions("selfplay_labels"))
    is_contact = np.asarray(labels.array("classes")) == PositionClass.CONTACT
    boards = np.asarray(labels.array("boards"))[is_contact]
    chances = np.asarray(labels.array("chances"))[is_contact]
    path = memory_path / "contact-train-data"
    write_bytes(path, format_gnubg_training(boards, chances))
    warehouse_with_labels.build("gnubg_training", bgdata.all_kinds()["gnubg_training"].smallest, files=[path])
    progress = Killer(epochs=99)
    table = warehouse_with_labels.build(
        DATASET.name, SMALLEST.with_texts({"labels": "gnubg_training/contact-train-data"}), progress=progress
    )
    start = open_networks(next(warehouse_with_labels.versions("network", "tiny")))
    trained = open_networks(table)
    first_contact_weight = start.shapes[2, 2]
    assert np.array_equal(start.weights[:first_contact_weight], trained.weights[:first_contact_weight])
    assert "race: stays as it is, with 0 positions to learn from and 0 to be tested on" in progress.notes
    statistics = table.manifest.statistics
    assert statistics["contact_cross_entropy"] < statistics["start_contact_cross_entropy"]
    assert "race_cross_entropy" not in statistics


def test_new_networks_with_rectified_units_learn(warehouse_with_labels: Warehouse) -> None:
    new = {"hidden": "12-6", "crashed_hidden": "9-6", "race_hidden": "8-4", "activation": "rectified"}
    recipe = replace(SMALLEST, name="new", start=None, inputs="tesauro-196", features=(), **new)  # type: ignore[arg-type]
    networks = open_networks(warehouse_with_labels.build(DATASET.name, recipe))
    assert networks.shapes[:, :2].tolist() == [[2, 256], [0, 196], [0, 196]]
    assert networks.shapes[:, ACTIVATION].tolist() == [1, 1, 1]


def test_networks_learn_with_added_inputs(warehouse_with_labels: Warehouse) -> None:
    """Networks with 196 inputs get 64 more, learn, and play."""
    new = {"hidden": "8", "crashed_hidden": "6", "race_hidden": "4"}
    few = replace(SMALLEST, name="few", start=None, inputs="tesauro-196", features=(), **new)  # type: ignore[arg-type]
    start = warehouse_with_labels.build(DATASET.name, few)
    more = replace(
        SMALLEST, name="more", start=VersionRef.parse(start.name), add_inputs="contact", features=(), hidden=""
    )
    networks = open_networks(warehouse_with_labels.build(DATASET.name, more))
    assert networks.shapes[:, :2].tolist() == [[2, 256], [3, 260], [3, 260]]
    weights, _ = layer_views(networks, 2)[0]
    assert weights[196:].any()


# ----------------------------------------------------------------- wrong inputs


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "expected epochs from 1 to 2,147,483,647, got 0"),
        (
            {"add_inputs": "contact", "start": None},
            "expected networks to add_inputs to, got new ones; try: --inputs",
        ),
        ({"name": "my--net"}, "expected a variant named by small letters, digits and single -"),
        ({"name": "Tiny"}, "expected a name of small letters, digits and -, got 'Tiny'"),
        ({"test_games": 3}, "expected 4 to 1,073,741,824 test games, got 3"),
        ({"test_games": 10**12}, "expected 4 to 1,073,741,824 test games, got 1000000000000"),
        ({"batch_size": 1 << 21}, "expected batch_size from 1 to 1,048,576, got 2097152"),
        ({"labels": ""}, "expected labels KIND/VARIANT/VERSION:WEIGHT, got none"),
        ({"labels": "a/b:x"}, "expected labels KIND/VARIANT/VERSION:WEIGHT, got 'a/b:x'"),
        ({"labels": "a/b:-1"}, "expected labels KIND/VARIANT/VERSION:WEIGHT, got 'a/b:-1'"),
        ({"labels": "../b"}, "expected labels KIND/VARIANT/VERSION:WEIGHT, got '../b'"),
        ({"labels": "none/b"}, "expected a version, such as none/b/r1-0123abcd, or a default variant, got none/b"),
        ({"start": "td"}, "expected KIND/VARIANT/VERSION, got 'td'"),
        ({"guard": "x"}, "expected KIND/VARIANT/VERSION, got 'x'"),
        (
            {"labels": (*SMALLEST.labels, replace(SMALLEST.labels[0], weight=9.0))},
            f"expected labels once, with one weight, got {SMALLEST.labels[0].name} twice",
        ),
        ({"add_inputs": "all"}, "expected inputs among tesauro-196, tesauro-198, race, contact, got all"),
        (
            {"start": None, "race_hidden": ""},
            "expected hidden units for all three networks without networks to start from",
        ),
        ({"activation": "rectified"}, "expected --start new for activation rectified, got network/tiny"),
        ({"inputs": "tesauro-198"}, "expected --start new for inputs tesauro-198, got network/tiny"),
        ({"feed_format": 3}, "expected feed_format from 1 to 2, got 3"),
    ],
)
def test_invalid_parameters_are_refused(memory_path: Path, change: dict[str, Any], message: str) -> None:
    warehouse = bgdata.open_warehouse(memory_path / "warehouse")
    with pytest.raises((InvalidParameterError, InvalidNameError, UnknownInputSetError)) as error:
        warehouse.build(DATASET.name, smallest_with(change))
    assert str(error.value).startswith(message)
    assert not warehouse.root.exists()


def smallest_with(change: dict[str, Any]) -> SupervisedParameters:
    """The smallest parameters with these changes, some of them given as text."""
    texts = {name: value for name, value in change.items() if isinstance(value, str)}
    return SMALLEST.with_changes(change).with_texts(texts)


def check_refused(warehouse: Warehouse, error: type[BgdataError], message: str, **change: Any) -> None:
    """Check that a build fails with this message, and leaves nothing."""
    with pytest.raises(error, match=message):
        warehouse.build(DATASET.name, smallest_with(change))
    assert list(warehouse.versions(DATASET.name)) == []


def test_features_of_another_revision_are_refused(
    warehouse_with_labels: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InputSet, "revision", 2)
    message = "expected networks with the inputs race@1 contact@1 contact@1, got race@2 contact@2 contact@2"
    check_refused(warehouse_with_labels, UsageError, message, features="race@1 contact@1 contact@1")


def test_missing_versions_are_refused(warehouse_with_labels: Warehouse) -> None:
    check_refused(
        warehouse_with_labels, MissingTableError, "no .*/r1-01234567 in ", labels="selfplay_labels/x/r1-01234567"
    )
    check_refused(warehouse_with_labels, MissingTableError, "no .*/r1-01234567 in ", start="network/tiny/r1-01234567")


def test_narrower_layers_are_refused(warehouse_with_labels: Warehouse) -> None:
    message = "expected at least the 8 hidden units of the contact network to start from, got 7"
    check_refused(warehouse_with_labels, InvalidParameterError, message, hidden="7")


def test_too_high_rate_is_refused(warehouse_with_labels: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SupervisedParameters, "learning_rate_at", lambda *_: float("nan"))
    check_refused(
        warehouse_with_labels,
        CheckFailedError,
        "expected finite weights after epoch 1, found others; try a learning rate below",
    )


FOUR_EPOCHS = DATASET.smallest.with_changes({"epochs": 4})
TORCH = {"trainer": "torch"}
RECIPES: dict[str, dict[str, Any]] = {
    "smoothstep": {"schedule": "smoothstep"},
    "cycles": {"schedule": "cycles"},
    "kernels-averages": {"average_decay": 0.9},
    "torch": TORCH,
    "torch-averages": {"trainer": "torch", "average_decay": 0.9, "optimizer": "sgd", "learning_rate": 0.1},
}
CROSS_ENTROPY = 0.003  # nats that two orders of sums may differ, of 1.3 to 1.8
ALLOWED_SHARE = 0.1  # share of the improvement by which two orders of sums may differ


@pytest.mark.parametrize("change", RECIPES.values(), ids=list(RECIPES))
def test_digest_is_the_same_on_one_thread_and_after_a_kill(
    warehouse_with_labels: Warehouse, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    """Training that is killed and resumed on one thread gives the same digest; with another seed it does not."""
    if change.get("trainer") == "torch":
        pytest.importorskip("torch", reason="PyTorch is an extra")
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    recipe = FOUR_EPOCHS.with_changes(change)
    expected = warehouse_with_labels.build(DATASET.name, recipe).manifest.digest
    shutil.rmtree(warehouse_with_labels.root / DATASET.name)
    with threads(1):
        with pytest.raises(KeyboardInterrupt):
            warehouse_with_labels.build(DATASET.name, recipe, progress=Killer(epochs=3))
        progress = Killer(epochs=99)
        assert warehouse_with_labels.build(DATASET.name, recipe, progress=progress).manifest.digest == expected
    assert "going on with supervised_network/tiny-supervised after step 3 of 5" in progress.notes
    assert [note.partition(",")[0] for note in progress.notes if note.startswith("epoch")] == ["epoch 3", "epoch 4"]
    other = FOUR_EPOCHS if recipe != FOUR_EPOCHS else FOUR_EPOCHS.with_changes({"seed": 9})
    assert warehouse_with_labels.build(DATASET.name, other).manifest.digest != expected


@pytest.mark.parametrize("average", [0.0, 0.9])
@pytest.mark.parametrize("loss", ["cross-entropy", "squared"])
def test_pytorch_learns_as_well_as_kernels(warehouse_with_labels: Warehouse, loss: str, average: float) -> None:
    """PyTorch's errors after each epoch are near those of kernels, with the same batches and learning rates."""
    pytest.importorskip("torch", reason="PyTorch is an extra")
    curves = []
    for trainer in ("kernels", "torch"):
        recipe = FOUR_EPOCHS.with_changes({"trainer": trainer, "loss": loss, "average_decay": average})
        curves.append(np.asarray(warehouse_with_labels.build(DATASET.name, recipe).array("curve")))
    kernels, torch = curves
    assert np.array_equal(torch[:, :, :2], kernels[:, :, :2])  # rates and positions
    assert np.array_equal(torch[0], kernels[0])  # nothing learned yet
    for which in range(len(CLASSES)):
        errors = torch[:, which, 2:4]
        expected = kernels[:, which, 2:4]
        assert np.abs(errors - expected).max() < CROSS_ENTROPY
        learned = expected[0] - expected[-1]
        assert (learned > 0.01).all()
        assert np.abs(errors[0] - errors[-1] - learned).max() < ALLOWED_SHARE * learned.min()


def test_averages_are_tested_and_kept(warehouse_with_labels: Warehouse) -> None:
    """At a rate where contact weights oscillate, their averages do better and are what the player uses; averages with
    almost no memory equal the weights."""
    contact = CLASSES.index("contact")
    labels = {source.name: source.weight for source in FOUR_EPOCHS.labels}
    validation = warehouse_with_labels.batches(labels, split="validation", seed=FOUR_EPOCHS.seed).batch(0, 0)
    last_losses = {}
    for decay in (0.0, 1e-9, 0.9):
        recipe = FOUR_EPOCHS.with_changes({"learning_rate": 0.1, "schedule": "constant", "average_decay": decay})
        table = warehouse_with_labels.build(DATASET.name, recipe)
        curve = np.asarray(table.array("curve"))[:, contact]
        last_losses[decay] = curve[-1, VALIDATION_CROSS_ENTROPY]
        best = curve[:, VALIDATION_CROSS_ENTROPY].argmin()
        assert squared_error(table, contact, validation) == pytest.approx(
            curve[best, VALIDATION_SQUARED_ERROR], rel=1e-6
        )
    assert last_losses[0.9] < last_losses[0.0] - 0.05
    assert last_losses[1e-9] == pytest.approx(last_losses[0.0], abs=1e-3)


def test_recipe_of_another_platform_is_refused(warehouse_with_labels: Warehouse) -> None:
    pytest.importorskip("torch", reason="PyTorch is an extra")
    check_refused(
        warehouse_with_labels,
        UsageError,
        "^expected PyTorch 1.0 AVX, as the recipe says, found ",
        platform="1.0 AVX",
        **TORCH,
    )


def test_too_high_rate_is_refused_by_pytorch(warehouse_with_labels: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="PyTorch is an extra")
    monkeypatch.setattr(type(FOUR_EPOCHS), "learning_rate_at", lambda *_: float("nan"))
    check_refused(
        warehouse_with_labels, CheckFailedError, "^expected finite weights after epoch 1, found others; ", **TORCH
    )
