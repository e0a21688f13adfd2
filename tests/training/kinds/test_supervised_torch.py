"""Networks taught in PyTorch, and averages of weights: one digest, also after a kill, and as good as by kernels."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import numpy as np
import pytest

from bgdata.errors import CheckFailedError, MissingExtraError, UsageError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.networks.player import open_networks
from bgdata.kernel import threads
from bgdata.store import job
from bgdata.training.kinds.supervised_network import CLASSES, DATASET
from bgdata.warehouse import Warehouse
from tests.imports.killer import Killer

TINY = DATASET.smallest.with_changes({"epochs": 4})
RECIPES: dict[str, dict[str, Any]] = {
    "kernels-averages": {"average_decay": 0.9},
    "torch": {"trainer": "torch"},
    "torch-averages": {"trainer": "torch", "average_decay": 0.9, "optimizer": "sgd", "learning_rate": 0.1},
}
CROSS_ENTROPY = 0.003  # nats that two ways of summing may end apart, of 1.3 to 1.8
SHARE = 0.1  # of what is learned, likewise


def need_torch(change: dict[str, Any]) -> None:
    """Skip the test where PyTorch is needed and missing."""
    if change.get("trainer") == "torch":
        pytest.importorskip("torch", reason="PyTorch is an extra")


@pytest.mark.parametrize("change", RECIPES.values(), ids=list(RECIPES))
def test_digest_on_one_thread_and_after_a_kill(
    untaught: Warehouse, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    need_torch(change)
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    recipe = TINY.with_changes(change)
    expected = untaught.build(DATASET.name, recipe).manifest.digest
    shutil.rmtree(untaught.root / DATASET.name)
    with threads(1):
        with pytest.raises(KeyboardInterrupt):
            untaught.build(DATASET.name, recipe, progress=Killer(epochs=3))
        progress = Killer(epochs=99)
        assert untaught.build(DATASET.name, recipe, progress=progress).manifest.digest == expected
    assert "going on with supervised_network/tiny-supervised after step 3 of 5" in progress.notes
    assert untaught.build(DATASET.name, TINY).manifest.digest != expected


@pytest.mark.parametrize("average", [0.0, 0.9])
@pytest.mark.parametrize("loss", ["cross-entropy", "squared"])
def test_pytorch_learns_as_well_as_kernels(untaught: Warehouse, loss: str, average: float) -> None:
    pytest.importorskip("torch", reason="PyTorch is an extra")
    curves = []
    for trainer in ("kernels", "torch"):
        recipe = TINY.with_changes({"trainer": trainer, "loss": loss, "average_decay": average})
        curves.append(np.asarray(untaught.build(DATASET.name, recipe).array("curve")))
    kernels, torch = curves
    assert np.array_equal(torch[:, :, :2], kernels[:, :, :2])  # rates and positions
    assert np.array_equal(torch[0], kernels[0])  # nothing learned yet
    for which in range(len(CLASSES)):
        errors, expected = torch[:, which, 2:4], kernels[:, which, 2:4]
        assert np.abs(errors - expected).max() < CROSS_ENTROPY
        learned = expected[0] - expected[-1]
        assert (learned > 0.01).all()
        assert np.abs(errors[0] - errors[-1] - learned).max() < SHARE * learned.min()


def test_what_is_tested_and_kept_are_the_averages(untaught: Warehouse) -> None:
    """At a rate that throws the weights for contact about, their averages do better; those that keep next to nothing
    are the weights. The player has what was tested."""
    labels = {source.name: source.weight for source in TINY.labels}
    last = {}
    for average in (0.0, 1e-9, 0.9):
        recipe = TINY.with_changes({"learning_rate": 0.1, "schedule": "constant", "average_decay": average})
        table = untaught.build(DATASET.name, recipe)
        curve = np.asarray(table.array("curve"))[:, 2]
        last[average] = curve[-1, 3]
        validation = untaught.batches(labels, split="validation", seed=TINY.seed).batch(0, 0)
        found = evaluations(open_networks(table), NO_TABLES, validation.boards)
        rows = found.sources == 5
        errors = cubeless_equities(found.chances[rows]) - cubeless_equities(validation.targets[rows])
        kept = curve[:, 3].argmin()
        assert float((errors.astype(float) ** 2).mean()) == pytest.approx(curve[kept, 5], rel=1e-6)
    assert last[0.9] < last[0.0] - 0.05
    assert last[1e-9] == pytest.approx(last[0.0], abs=1e-3)


def refused(warehouse: Warehouse, error: type[Exception], message: str, **change: Any) -> None:
    """A build that fails with this message, and leaves nothing."""
    with pytest.raises(error, match=message):
        warehouse.build(DATASET.name, TINY.with_changes({"trainer": "torch"} | change))
    assert list(warehouse.versions(DATASET.name)) == []


def test_without_pytorch(untaught: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "bgdata.training.supervised.torch_trainer", raising=False)
    refused(untaught, MissingExtraError, "^expected torch for the trainer torch, found none; try: ")


def test_another_platform_and_no_gpu(untaught: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is an extra")
    refused(untaught, UsageError, "^expected PyTorch 1.0 AVX, as the recipe says, found ", platform="1.0 AVX")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    refused(untaught, UsageError, "^expected a GPU for the device cuda, .*; try: --device cpu$", device="cuda")


def test_a_rate_that_is_too_high(untaught: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="PyTorch is an extra")
    monkeypatch.setattr(type(TINY), "rate_after", lambda *_: float("nan"))
    refused(untaught, CheckFailedError, "^expected finite weights after epoch 1, found others; ")
