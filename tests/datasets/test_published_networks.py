"""Networks as a dataset kind: the same from any start, on any number of threads; and those that come with bgdata."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.datasets import network
from bgdata.datasets.network import DATASET, PUBLISHED, NetworkParameters, published_networks
from bgdata.errors import BgdataError, CheckFailedError, InvalidParameterError, UnknownEncoderError
from bgdata.evaluation.network import open_networks
from bgdata.store.lockfile import load_lock
from bgdata.store.manifest import load_manifest, recipe_key
from bgdata.store.progress import Silence
from bgdata.store.storage import sha256_file
from bgdata.store.table import Table
from bgdata.store.warehouse import Warehouse, input_digests
from tests.store import processes
from tests.store.toy import Notes

TINY = DATASET.smallest
LOCK = Path(__file__).parents[2] / "warehouse" / "warehouse.lock"


def tiny(root: Path) -> Table:
    return bgdata.open_warehouse(root).open("network", "tiny")


def test_estimate(small_root: Path) -> None:
    estimate, manifest = DATASET.estimate(TINY), tiny(small_root).manifest
    assert estimate.disk_bytes / 2 < sum(entry.bytes for entry in manifest.files) < estimate.disk_bytes + 8000
    for parameters, folder in published_networks().items():
        size = sum(path.stat().st_size for path in folder.iterdir())
        assert 0.8 < DATASET.estimate(parameters).disk_bytes / size < 1.2


# ----------------------------------------------------------------- the same result


def test_another_seed_gives_another_network(small_root: Path, memory_path: Path) -> None:
    table = bgdata.open_warehouse(memory_path).build("network", replace(TINY, seed=2))
    assert table.manifest.digest != tiny(small_root).manifest.digest


class Slow(Silence):
    """Every round takes its time, so that the parent can kill the training between two."""

    def advance(self, count: int) -> None:  # noqa: ARG002
        time.sleep(0.2)


def train(root: Path, parameters: NetworkParameters) -> None:
    """In another process: train slowly, with a checkpoint after every round."""
    from bgdata.store import job

    job.CHECKPOINT_SECONDS = 0.0
    bgdata.open_warehouse(root).build("network", parameters, progress=Slow())


def killed(warehouse: Warehouse, parameters: NetworkParameters) -> Path:
    """Train, kill it in the middle, and return its checkpoint."""
    process = processes.start(train, warehouse.root, parameters)
    while not (found := sorted(warehouse.staging.glob("network-*/checkpoint-*[2-9]"))):
        assert process.is_alive(), "ended without a checkpoint"
        time.sleep(0.002)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert warehouse.variants("network") == []
    return max(warehouse.staging.glob("network-*/checkpoint-0*"), default=found[0])


def test_killed_it_goes_on_to_the_same_network(small_root: Path, memory_path: Path) -> None:
    warehouse = bgdata.open_warehouse(memory_path)
    done = int(killed(warehouse, TINY).name[-9:])
    notes = Notes()
    assert warehouse.build("network", TINY, progress=notes).manifest.digest == tiny(small_root).manifest.digest
    assert f"going on with network/tiny after step {done} of 4" in notes.texts
    assert [path for path in warehouse.staging.iterdir() if path.is_dir()] == []


def test_a_checkpoint_of_another_recipe_is_never_used(small_root: Path, memory_path: Path) -> None:
    """Neither where it was left, nor where somebody put it."""
    warehouse, other = bgdata.open_warehouse(memory_path), replace(TINY, seed=2)
    left = killed(warehouse, other)
    strange = memory_path / "strange"
    left.parent.rename(strange)
    expected = killed(warehouse, TINY)  # whose folder is of another name
    for checkpoint in expected.parent.glob("checkpoint*"):
        checkpoint.rename(memory_path / f"away-{checkpoint.name}")
    (strange / left.name).rename(expected.parent / left.name)
    notes = Notes()
    assert warehouse.build("network", TINY, progress=notes).manifest.digest == tiny(small_root).manifest.digest
    refused = [text for text in notes.texts if "checkpoint" in text]
    key = warehouse.recipe_key(DATASET, TINY)
    assert key is not None
    assert refused == [f"expected a checkpoint of recipe {key[:12]}, got one of another: {expected.parent / left.name}"]
    assert not [text for text in notes.texts if text.startswith("going on")]


# ----------------------------------------------------------------- checks


class Changed(Table):
    """A version with an array changed in memory."""

    def change(self, name: str, values: Any) -> None:
        self._arrays = {name: values}


@pytest.mark.parametrize("name", ["weights", "biases", "curve"])
def test_a_network_that_does_not_play_as_its_curve_says_is_found(small_root: Path, name: str) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    table = Changed(tiny(small_root).folder)
    inputs = warehouse.find_inputs(DATASET, TINY) or {}
    generator = np.random.default_rng(0)
    DATASET.check_sample(table, inputs, 1, generator)
    values = np.array(table.array(name))
    if name == "curve":
        values[-1] = values[0]
    else:
        values[-40:] *= -1  # of the contact network's last layer
    values.setflags(write=False)  # as mapped ones are
    table.change(name, values)
    with pytest.raises(
        CheckFailedError, match=r"expected points per game, .* from the weights of network/tiny/r1-\w+, "
    ):
        DATASET.check_sample(table, inputs, 1, generator)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"games": 0}, "expected games of at least 1, got 0"),
        ({"batch": 0}, "expected batch of at least 1, got 0"),
        ({"seed": -1}, "expected a seed of at least 0, got -1"),
        ({"hidden": "8-x"}, "expected hidden units such as 120 or 120-60, each 1 to 2048, got '8-x'"),
        ({"trace": 1.5}, r"expected a trace from 0 to 1, got 1\.5"),
        ({"rate": 0.1, "last_rate": 0.2}, r"expected 0 < last rate <= rate <= 1, got 0\.2 and 0\.1"),
        ({"row_games": 99}, "expected at least 100 games a row and 2 test games, got 99 and 20"),
        ({"test_games": 1}, "expected at least 100 games a row and 2 test games, got 200 and 1"),
        ({"name": "A/b"}, "expected a name of small letters, digits and -, got 'A/b'"),
        ({"name": ""}, "expected a name of small letters, digits and -, got ''"),
    ],
)
def test_wrong_recipes(memory_path: Path, changes: dict[str, Any], message: str) -> None:
    warehouse = bgdata.open_warehouse(memory_path / "warehouse")
    with pytest.raises(InvalidParameterError, match=f"^{message}$"):
        warehouse.build("network", replace(TINY, **changes))
    with pytest.raises(UnknownEncoderError, match=r"expected inputs among tesauro-196, .*, got colours"):
        warehouse.build("network", replace(TINY, inputs="colours"))
    assert not warehouse.root.exists()


# ----------------------------------------------------------------- networks that come with bgdata


def test_what_comes_with_bgdata_is_whole_and_small() -> None:
    assert list(published_networks()) == list(DATASET.defaults) != []
    for parameters, folder in published_networks().items():
        table = Table(folder)
        assert (folder.parent.name, folder.name) == (DATASET.slug(parameters), table.manifest.version)
        assert {entry.name: entry.sha256 for entry in table.manifest.files} == {
            path.name: sha256_file(path) for path in folder.iterdir() if path.name != "manifest.json"
        }
        open_networks(table)
    assert sum(path.stat().st_size for path in PUBLISHED.rglob("*.*")) <= 2_000_000


def test_what_comes_with_bgdata_has_the_recipe_of_this_code() -> None:
    """Else it would be trained for hours: its inputs are those of the lock, and its key follows from them."""
    locked = {f"{entry.dataset}/{entry.variant}": entry for entry in load_lock(LOCK)}
    for parameters, folder in published_networks().items():
        inputs = {}
        for role, (name, wanted) in DATASET.inputs(parameters).items():
            title = f"{name}/{bgdata.all_kinds()[name].slug(wanted)}"
            inputs[role] = f"{title}@{locked[title].digest}"
        manifest, entry = load_manifest(folder), locked[f"network/{DATASET.slug(parameters)}"]
        assert manifest.inputs == inputs
        assert manifest.recipe_key == recipe_key("network", DATASET.revision, vars(parameters), inputs)
        assert (entry.recipe_key, entry.digest) == (manifest.recipe_key, manifest.digest)


def test_published(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (parameters, folder), *_ = published_networks().items()
    assert DATASET.published(parameters) == folder
    assert DATASET.published(replace(parameters, seed=99)) is None
    monkeypatch.setattr(network, "PUBLISHED", tmp_path)
    assert DATASET.published(parameters) is None
    damaged = tmp_path / "x" / "r1-00000000"
    damaged.mkdir(parents=True)
    for text in ("", "{}", json.dumps({**json.loads((folder / "manifest.json").read_text()), "rows": 1})):
        (damaged / "manifest.json").write_text(text)
        assert published_networks() == {}
        with pytest.raises(BgdataError):
            load_manifest(damaged)


def test_a_published_network_is_installed(small_root: Path, memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its recipe: training it again needs --force."""
    table = tiny(small_root)
    monkeypatch.setattr(network, "PUBLISHED", memory_path / "networks")
    (memory_path / "networks").mkdir()
    (memory_path / "networks" / "tiny").symlink_to(table.folder.parent)
    warehouse, notes = bgdata.open_warehouse(memory_path / "warehouse"), Notes()
    installed = warehouse.build("network", TINY, progress=notes)
    assert notes.texts[-1] == f"network/tiny: comes with the package ({table.folder.name})"
    assert installed.manifest == table.manifest
    assert input_digests(warehouse.find_inputs(DATASET, TINY) or {}) == table.manifest.inputs
    forced = warehouse.build("network", TINY, progress=notes, force=True)
    assert notes.texts[-1].startswith(f"network/tiny: built {table.folder.name}, 2 rows in ")
    assert forced.manifest.created > table.manifest.created
