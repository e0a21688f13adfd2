"""The networks and benchmarks of the package: whole, found by their parameters, and made by the current recipe."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import BgdataError
from bgdata.evaluation.networks.player import open_networks
from bgdata.evaluation.players import SHIPPED
from bgdata.measures.kinds import cube_benchmark, rollout_decisions
from bgdata.measures.kinds.cube_benchmark import DATASET as CUBE_DECISIONS
from bgdata.measures.kinds.reference_positions import DATASET as REFERENCES
from bgdata.measures.kinds.reference_positions import PUBLISHED as SHIPPED_REFERENCES
from bgdata.measures.kinds.reference_positions import THEMES, published_references
from bgdata.measures.kinds.rollout_decisions import DATASET as DECISIONS
from bgdata.store.dataset import Dataset
from bgdata.store.lockfile import load_lock
from bgdata.store.manifest import load_manifest, recipe_key
from bgdata.store.parameters import VersionRef
from bgdata.store.storage import sha256_file
from bgdata.store.table import Table, published_versions
from bgdata.store.versions import input_digests
from bgdata.training.kinds import network
from bgdata.training.kinds.network import DATASET, NetworkParameters, default_network
from bgdata.training.kinds.supervised_network import DATASET as TAUGHT
from bgdata.training.kinds.supervised_network import SupervisedParameters
from bgdata.warehouse import Warehouse
from tests.store.toy import Notes

TINY = DATASET.smallest
LOCK = Path(__file__).parents[2] / "warehouse" / "warehouse.lock"


KINDS = {
    "network": (DATASET, SHIPPED),
    "supervised_network": (TAUGHT, SHIPPED),
    "rollout_decisions": (DECISIONS, rollout_decisions.PUBLISHED),
    "reference_positions": (REFERENCES, SHIPPED_REFERENCES),
    "cube_benchmark": (CUBE_DECISIONS, cube_benchmark.PUBLISHED),
}
each_kind = pytest.mark.parametrize(("kind", "package"), KINDS.values(), ids=KINDS)


@each_kind
def test_published_versions_are_whole_and_small(kind: Dataset[Any], package: Path) -> None:
    published = published_versions(package, kind.parameters)
    assert list(published) == list(kind.defaults)
    for parameters, folder in published.items():
        table = Table(folder)
        assert folder.parent.name == kind.slug(parameters)
        assert folder.name == table.manifest.version
        hashes = {path.name: sha256_file(path) for path in folder.iterdir() if path.name != "manifest.json"}
        assert {entry.name: entry.sha256 for entry in table.manifest.files} == hashes
    max_bytes = 4_000_000 if package == SHIPPED else 2_000_000  # networks include their training state
    assert sum(path.stat().st_size for path in package.rglob("*.*")) <= max_bytes


def test_published_networks_open() -> None:
    for recipe in (NetworkParameters, SupervisedParameters):
        for folder in published_versions(SHIPPED, recipe).values():
            open_networks(Table(folder))
    assert default_network()[0] in KINDS


def test_published_benchmarks_reach_their_precision() -> None:
    """Plays that were clearly worse got no more games, and neither did a best play without rivals."""
    assert sorted(parameters.position_class for parameters in DECISIONS.defaults) == ["contact", "crashed", "race"]
    for parameters, folder in rollout_decisions.published_decisions().items():
        table = Table(folder)
        losses, errors = table.array("plays_losses"), table.array("plays_loss_standard_errors")
        is_close, decisions = losses <= parameters.settled_at * errors, table.array("plays_decisions")
        is_contested = is_close & (np.bincount(decisions[is_close])[decisions] > 1)
        assert table.array("plays_standard_errors")[is_contested].max() <= (parameters.until or 0) <= 0.006
        assert is_contested.sum() > parameters.decisions / 10
        assert len(table.array("decisions_seeds")) == parameters.decisions


def test_published_reference_positions_are_even_and_precise() -> None:
    """Every theme has the same number of positions, half of them in each split."""
    assert published_references()
    for parameters, folder in published_references().items():
        table = Table(folder)
        assert np.bincount(table.array("themes")).tolist() == [parameters.positions] * len(THEMES)
        assert np.bincount(table.array("splits")).tolist() == [0, *2 * [parameters.positions * len(THEMES) // 2]]
        assert table.array("equity_standard_errors").max() <= (parameters.until or 0) <= 0.007


@each_kind
def test_published_versions_have_current_recipes(kind: Dataset[Any], package: Path) -> None:
    """A version with another recipe would be computed for hours on first use."""
    locked = {f"{entry.dataset}/{entry.variant}": entry for entry in load_lock(LOCK)}
    for parameters, folder in published_versions(package, kind.parameters).items():
        manifest, inputs = load_manifest(folder), {}
        for role, needed in kind.inputs(parameters).items():
            assert not isinstance(needed, VersionRef)
            name, input_parameters = needed
            variant = f"{name}/{bgdata.all_kinds()[name].slug(input_parameters)}"
            # the lock has no corpora of games with the cube: those of a benchmark are as its manifest says
            digest = locked[variant].digest if variant in locked else manifest.inputs[role].partition("@")[2]
            inputs[role] = f"{variant}@{digest}"
        entry = locked[f"{kind.name}/{kind.slug(parameters)}"]
        assert manifest.inputs == inputs
        assert manifest.recipe_key == recipe_key(kind.name, kind.revision, parameters.to_json(), inputs)
        assert entry.recipe_key == manifest.recipe_key
        assert entry.digest == manifest.digest


def test_published_folder_is_found_only_for_its_parameters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (parameters, folder), *_ = published_versions(SHIPPED, NetworkParameters).items()
    assert DATASET.published_folder(parameters) == folder
    assert DATASET.published_folder(replace(parameters, seed=99)) is None
    monkeypatch.setattr(network, "SHIPPED", tmp_path)
    assert DATASET.published_folder(parameters) is None
    damaged = tmp_path / "x" / "r1-00000000"
    damaged.mkdir(parents=True)
    for text in ("", "{}", json.dumps({**json.loads((folder / "manifest.json").read_text()), "rows": 1})):
        (damaged / "manifest.json").write_text(text)
        assert published_versions(tmp_path, NetworkParameters) == {}
        with pytest.raises(BgdataError):
            load_manifest(damaged)


def test_network_estimate_matches_its_size() -> None:
    for parameters, folder in published_versions(SHIPPED, NetworkParameters).items():
        size = sum(path.stat().st_size for path in folder.iterdir())
        assert 0.8 < DATASET.estimate(parameters).disk_bytes / size < 1.2


def test_published_network_is_installed(
    small_root: Path, warehouse_with_bearoffs: Warehouse, memory_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The network is found by its recipe, beside the tables that it was made from."""
    table, notes = bgdata.open_warehouse(small_root).open("network", "tiny"), Notes()
    monkeypatch.setattr(network, "SHIPPED", memory_path / "networks")
    (memory_path / "networks").mkdir()
    (memory_path / "networks" / "tiny").symlink_to(table.folder.parent)
    installed = warehouse_with_bearoffs.build("network", TINY, progress=notes)
    assert notes.texts[-1] == f"network/tiny: comes with the package ({table.folder.name})"
    assert installed.manifest == table.manifest
    assert input_digests(warehouse_with_bearoffs.find_inputs(DATASET, TINY) or {}) == table.manifest.inputs
