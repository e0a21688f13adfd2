"""Copying versions into the package: only complete ones of the current recipe, in place of earlier ones."""

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
import pytest

from bgdata.errors import CheckFailedError, DigestMismatchError, MissingTableError, UsageError
from bgdata.evaluation.networks.player import NetworkScore, recorded_name
from bgdata.evaluation.players import NETWORK_KINDS
from bgdata.measures.kinds import reference_positions, rollout_decisions
from bgdata.measures.kinds.reference_positions import DATASET as REFERENCES
from bgdata.measures.kinds.rollout_decisions import DATASET as DECISIONS
from bgdata.measures.kinds.rollout_decisions import DecisionParameters
from bgdata.openings.kinds import openings
from bgdata.openings.kinds.openings import DATASET as BOOKS
from bgdata.store.lockfile import load_lock
from bgdata.store.storage import sha256_file
from bgdata.store.table import Table, published_versions
from bgdata.store.verify import Finding, verify
from bgdata.studies.kinds import cube_studies
from bgdata.studies.kinds.cube_studies import DATASET as STUDIES
from bgdata.training.kinds.network import DATASET
from bgdata.warehouse import Warehouse
from docs import ship as shipping
from docs.ship import FOLDERS, LOCK, ship, write_scores, write_tables_anew
from tests.kept import own


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """A copy of the lock of the default warehouse."""
    path = tmp_path / "warehouse.lock"
    shutil.copy(LOCK, path)
    return path


def test_shipped_version_replaces_the_earlier_one(warehouse: Warehouse, tmp_path: Path, lock: Path) -> None:
    """Shipping a network removes the earlier one from the package, and changes only its own line of the lock."""
    before = load_lock(lock)
    package = tmp_path / "networks"
    (package / "older" / "r1-00000000").mkdir(parents=True)
    table = warehouse.open("network", "tiny")
    (folder,) = ship(["network/tiny"], str(warehouse.root), {"network": package}, lock)
    assert [path.parent for path in package.rglob("manifest.json")] == [folder]
    assert Table(folder).manifest == table.manifest
    after = load_lock(lock)
    assert [entry for entry in after if entry.dataset != "network"] == [e for e in before if e.dataset != "network"]
    (entry,) = [entry for entry in after if entry.dataset == "network"]
    assert (entry.variant, entry.digest, entry.recipe_key) == ("tiny", table.manifest.digest, table.manifest.recipe_key)


def test_unsuitable_versions_are_refused(
    warehouse: Warehouse, tmp_path: Path, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(message: str) -> None:
        before = lock.read_bytes()
        with pytest.raises(CheckFailedError, match=message):
            ship(["network/tiny"], str(warehouse.root), {"network": tmp_path / "networks"}, lock)
        assert lock.read_bytes() == before
        assert not (tmp_path / "networks").exists()

    with monkeypatch.context() as patch:
        patch.setattr(shipping, "MAX_BYTES", 1000)
        refused(r"expected at most 1,000 bytes, found [\d,]+ in network/tiny/")
    with monkeypatch.context() as patch:
        patch.setattr(type(DATASET), "revision", 2)
        refused("expected network/tiny/.* to have the recipe of this code, found another; build it anew")
    path = own(warehouse.open("network", "tiny").folder / "weights.npy")
    weights = np.load(path)
    np.save(path, weights[::-1])
    refused("expected SHA-256 .* of .*weights.npy, found ")
    with pytest.raises(MissingTableError, match="no network/none in "):
        ship(["network/none"], str(warehouse.root), {"network": tmp_path / "networks"}, lock)


def test_both_kinds_of_networks_share_a_folder(warehouse: Warehouse, tmp_path: Path, lock: Path) -> None:
    """A supervised network is shipped with the network that it started from; shipping only one removes the other."""
    folders = dict.fromkeys(NETWORK_KINDS, tmp_path / "networks")
    shipped = ship(["network/tiny", "supervised_network/tiny-supervised"], str(warehouse.root), folders, lock)
    assert sorted(path.parent for path in (tmp_path / "networks").rglob("manifest.json")) == sorted(shipped)
    assert [entry.variant for entry in load_lock(lock) if entry.dataset in NETWORK_KINDS] == ["tiny", "tiny-supervised"]
    ship(["network/tiny"], str(warehouse.root), folders, lock)
    assert [entry.variant for entry in load_lock(lock) if entry.dataset in NETWORK_KINDS] == ["tiny"]
    assert [path.name for path in (tmp_path / "networks").iterdir()] == ["tiny"]


def test_newest_version_is_copied(warehouse: Warehouse, tmp_path: Path, lock: Path) -> None:
    table = warehouse.build("network", replace(DATASET.smallest, seed=5))
    (folder,) = ship(["network/tiny"], str(warehouse.root), {"network": tmp_path / "networks"}, lock)
    assert folder.name == table.folder.name


def test_named_versions_replace_all_of_their_kind(warehouse: Warehouse, tmp_path: Path, lock: Path) -> None:
    """Other kinds stay."""
    package = tmp_path / "benchmarks"
    folders = {DECISIONS.name: package, "network": tmp_path / "networks"}
    one = warehouse.open(DECISIONS.name, DECISIONS.slug(DECISIONS.smallest))
    two = warehouse.build(DECISIONS.name, replace(DECISIONS.smallest, decisions=1))
    names = ["/".join(table.folder.parts[-3:-1]) for table in (one, two)]
    before = [entry for entry in load_lock(lock) if entry.dataset != DECISIONS.name]
    for names_to_ship in (names, names[:1], names[1:]):
        shipped = ship(names_to_ship, str(warehouse.root), folders, lock)
        assert sorted(path.parent for path in package.rglob("manifest.json")) == sorted(shipped)
        after = load_lock(lock)
        assert [entry for entry in after if entry.dataset != DECISIONS.name] == before
        locked = {f"{entry.dataset}/{entry.variant}" for entry in after if entry.dataset == DECISIONS.name}
        assert locked == set(names_to_ship)
    assert list(published_versions(package, DecisionParameters)) == [replace(DECISIONS.smallest, decisions=1)]
    assert not (tmp_path / "networks").exists()


def test_shipped_versions_are_not_recomputed(
    warehouse: Warehouse, tmp_path: Path, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of shipped versions are only checked by hash, because recomputing a sample of every table would take
    seconds each."""
    package = tmp_path / "networks"
    verified = []

    def noted(warehouse: Warehouse, versions: list[Table], **options: Any) -> Iterable[Finding]:
        verified.append([table.manifest.variant for table in versions])
        return verify(warehouse, versions, **options)

    monkeypatch.setattr(shipping, "verify", noted)
    names = ["network/tiny", "supervised_network/tiny-supervised"]
    folders = dict.fromkeys(NETWORK_KINDS, package)
    ship(names[:1], str(warehouse.root), folders, lock)
    ship(names, str(warehouse.root), folders, lock)
    (shipped,) = (package / "tiny").iterdir()
    (shipped / "manifest.json").write_text(
        (shipped / "manifest.json").read_text().replace('"revision": ', '"revision": 1')
    )
    ship(names, str(warehouse.root), folders, lock)
    assert verified == [["tiny"], ["tiny-supervised"], ["tiny"]]
    path = own(warehouse.open("network", "tiny").folder / "weights.npy")
    np.save(path, np.load(path)[::-1])
    with pytest.raises(DigestMismatchError, match=r"expected SHA-256 .* of .*weights.npy, found "):
        ship(names, str(warehouse.root), folders, lock)


def test_rewriting_tables_changes_nothing_else(warehouse: Warehouse, tmp_path: Path) -> None:
    """Parquet files of an older bgdata lack descriptions."""
    table = warehouse.open(DECISIONS.name, DECISIONS.slug(DECISIONS.smallest))
    folder = tmp_path / "package" / table.folder.parent.name / table.folder.name
    shutil.copytree(table.folder, folder)
    assert write_tables_anew([tmp_path / "package"]) == []
    for entry in table.manifest.files:
        if entry.name.endswith(".parquet"):
            old = pq.read_table(folder / entry.name)
            pq.write_table(old.replace_schema_metadata({}), folder / entry.name)
    sizes = [
        replace(e, bytes=(folder / e.name).stat().st_size, sha256=sha256_file(folder / e.name))
        for e in table.manifest.files
    ]
    replace(table.manifest, files=sizes).save(folder)
    assert write_tables_anew([tmp_path / "package", tmp_path / "package"]) == [folder]
    assert Table(folder).manifest == table.manifest
    path = folder / "plays.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DigestMismatchError, match=r"expected SHA-256 .* of .*plays.parquet"):
        write_tables_anew([tmp_path / "package"])


def test_shipped_scores_stay_until_they_are_measured_again(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = warehouse.open("network", "tiny")
    shipped = [NetworkScore(what, "pubeval", 0.5, 0.01, 10, "x") for what in ("points_per_game", "error_rate")]
    write_scores(tmp_path, {recorded_name(table): shipped})
    here = shipped[1]._replace(value=0.25)
    monkeypatch.setattr(shipping, "scores_in", lambda *_: [here])
    assert shipping.measured_scores(warehouse, [table], tmp_path) == {recorded_name(table): [shipped[0], here]}


def test_scores_on_removed_benchmarks_are_removed(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = warehouse.open("network", "tiny")
    monkeypatch.setattr(rollout_decisions, "published_decisions", lambda: {DECISIONS.smallest: tmp_path})
    old, there, imported = (
        NetworkScore("error_rate", against, 0.5, 0.01, 10, "x")
        for against in (
            "rollout_decisions/contact-old",
            f"rollout_decisions/{DECISIONS.slug(DECISIONS.smallest)}",
            "gnubg_benchmark/contact",
        )
    )
    write_scores(tmp_path, {recorded_name(table): [old]})
    monkeypatch.setattr(shipping, "scores_in", lambda *_: [there, imported])
    assert shipping.measured_scores(warehouse, [table], tmp_path) == {recorded_name(table): [there, imported]}


def test_pages_and_code_name_the_default_network(tmp_path: Path) -> None:
    """A new default network replaces the old name in code and pages, but not in the history or in kept names."""
    texts = {
        "README.md": "old-1 plays",
        "docs/how_to/page.md": "old-1-1ply-25, old-1",
        "docs/research/networks.md": "old-1 came first",
        "bgdata/shipped.py": 'DEFAULT_NETWORK = "old-1"',
        "bgdata/versions/old-1/r1-0/manifest.json": '"old-1"',
        "CHANGELOG.md": "old-1 is there",
        "docs/how_to/other.md": "nothing",
        "docs/how_to/studies.md": "study-old-1-500, old-1 and old-1-500",
        "docs/how_to/kept.md": "study-old-1-500",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run("git init -q && git add -A", shell=True, cwd=tmp_path, check=True)
    changed = shipping.name_network(tmp_path, "old-1", "new", ["study-old-1-500"])
    assert {path.relative_to(tmp_path).as_posix() for path in changed} == {
        *("README.md", "bgdata/shipped.py", "docs/how_to/page.md", "docs/how_to/studies.md")
    }
    for name, text in texts.items():
        expected = text.replace("old-1", "new") if tmp_path / name in changed else text
        assert (tmp_path / name).read_text() == expected.replace("study-new-500", "study-old-1-500")
    assert shipping.name_network(tmp_path, "old-1", "new", ["study-old-1-500"]) == []


def test_recipes_of_the_default_network_have_counterparts_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recipes of the package for the same network, and their counterparts for another, whatever network rolled out
    the reference positions."""
    published = (
        *rollout_decisions.published_decisions(),
        *cube_studies.published_studies(),
        *openings.published_openings(),
        *reference_positions.published_references(),
    )
    followers = shipping.followers()
    kinds = [DECISIONS, STUDIES, BOOKS, REFERENCES]
    assert {id(each.kind) for each in followers} == {id(kind) for kind in kinds}
    assert sorted(map(repr, (each.before for each in followers))) == sorted(map(repr, published))
    assert [each.kind for each in followers] == sorted((each.kind for each in followers), key=kinds.index)
    monkeypatch.setattr(shipping, "DEFAULT_NETWORK", "another")
    for each in shipping.followers():
        is_first = each.kind is STUDIES and each.before.study.startswith("first-")
        network = "contact-160" if is_first else "another"  # equal in strength to the player of their published figures
        assert vars(each.recipe) == vars(each.before) | {"network": network, "network_version": ""}
        assert each.variants()[1].replace(network, each.before.network) == each.variants()[0]
    assert {each.before.study for each in followers if each.recipe.network == "contact-160"} == {
        "first-statistics", "first-index", "first-fine-index"
    }  # fmt: skip


class Package(NamedTuple):
    """A separate package and lock, with two small studies of the network `tiny`, and a page that names them."""

    root: Path  # folder of the warehouse with the studies
    lock: Path
    folder: Path
    page: Path
    before: list[str]  # the variants of the studies
    after: list[str]  # the same studies by `tiny-supervised`

    def variants(self) -> set[str]:
        """The variants of studies, which the lock and the package must both have."""
        locked = {entry.variant for entry in load_lock(self.lock) if entry.dataset == STUDIES.name}
        assert locked == {path.parts[-3] for path in (self.folder / STUDIES.name).glob("*/*/manifest.json")}
        return locked


@pytest.fixture
def package(warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """A clone and a package in `tmp_path`, with two small cube studies shipped and a page that names them."""
    root = tmp_path / "clone"
    folder = tmp_path / "package"
    for module in (rollout_decisions, cube_studies, openings, reference_positions):
        monkeypatch.setattr(module, "PUBLISHED", folder / module.DATASET.name)
        monkeypatch.setitem(FOLDERS, module.DATASET.name, folder / module.DATASET.name)
    lock = root / "warehouse" / "warehouse.lock"
    page = root / "docs" / "page.md"
    for path in (lock, page):
        path.parent.mkdir(parents=True)
    shutil.copy(LOCK, lock)
    recipes = [STUDIES.smallest, replace(STUDIES.smallest, games=6)]
    for recipe in recipes:
        warehouse.build(STUDIES.name, recipe)
    before = [STUDIES.slug(recipe) for recipe in recipes]
    ship([f"{STUDIES.name}/{variant}" for variant in before], str(warehouse.root), lock=lock)
    page.write_text(" ".join((*before, "tiny")))
    subprocess.run("git init -q && git add -A", shell=True, cwd=root, check=True)
    after = [STUDIES.slug(replace(recipe, network="tiny-supervised")) for recipe in recipes]
    return Package(warehouse.root, lock, folder, page, before, after)


def follow(package: Package) -> Iterator[Path]:
    """Make the studies of the package again by the default network, one after the other."""
    return shipping.follow(str(package.root), package.lock)


def test_no_study_is_made_again_by_an_unchanged_default_network(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The network `tiny` made the studies of the package."""
    assert package.variants() == set(package.before)
    monkeypatch.setattr(shipping, "DEFAULT_NETWORK", "tiny")
    assert list(follow(package)) == []
    assert set(shipping.kept_variants("tiny-supervised")) == set(package.before)
    assert shipping.kept_variants("tiny") == []


def test_stopped_command_has_shipped_the_finished_studies(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipping, "DEFAULT_NETWORK", "tiny-supervised")
    next(follow(package))
    (first,) = package.variants() & set(package.after)
    assert len(package.variants()) == 2
    changed = list(follow(package))  # continues with the second
    assert package.page in changed
    assert package.variants() == set(package.after)
    assert package.after[1 - package.after.index(first)] in package.page.read_text()
    assert package.page.read_text().endswith(" tiny")
    assert list(follow(package)) == []


def test_studies_of_an_old_revision_are_replaced_together(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    """None can stay, because the current code would compute another study under its name."""
    monkeypatch.setattr(shipping, "DEFAULT_NETWORK", "tiny-supervised")
    monkeypatch.setattr(type(STUDIES), "revision", STUDIES.revision + 1)
    next(follow(package))
    assert package.variants() == set(package.after)
    for variant in package.before:  # not computed again by the old network
        assert not list((package.root / STUDIES.name / variant).glob(f"r{STUDIES.revision}-*"))


def test_new_revision_recomputes_with_the_same_network(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipping, "DEFAULT_NETWORK", "tiny")
    monkeypatch.setattr(type(STUDIES), "revision", STUDIES.revision + 1)
    list(follow(package))
    assert package.variants() == set(package.before)
    for variant in package.before:
        assert list((package.folder / STUDIES.name / variant).glob(f"r{STUDIES.revision}-*"))
    assert list(follow(package)) == []


@pytest.mark.parametrize("name", ["selfplay/x", "network", "tiny"])
def test_kinds_outside_the_package_are_refused(warehouse: Warehouse, tmp_path: Path, lock: Path, name: str) -> None:
    known = " or ".join(
        f"{kind}/VARIANT"
        for kind in (
            *("network", "supervised_network", "rollout_decisions", "cube_benchmark", "cube_studies"),
            *("openings", "reference_positions"),
        )
    )
    message = f"expected {known}, got {name}"
    with pytest.raises(UsageError, match=message):
        ship([name], str(warehouse.root), {kind: tmp_path / kind for kind in FOLDERS}, lock)
