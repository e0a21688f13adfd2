"""What a network is made from: the networks that it goes on from, and its labels, as rows for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bgdata.datasets.network import DATASET as NETWORK
from bgdata.datasets.supervised_network import SupervisedParameters
from bgdata.errors import MissingTableError
from bgdata.evaluation.networks.named import find_network
from bgdata.evaluation.networks.shipped import KINDS
from bgdata.store.manifest import Manifest
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

NOT_HERE = "not in this warehouse"


class Ancestor(NamedTuple):
    """A network and how good it was, in words."""

    name: str
    learned: str
    points_per_game: str = ""
    standard_error: str = ""


def ancestors(warehouse: Warehouse, manifest: Manifest) -> Iterator[Ancestor]:
    """The network itself, the one that it started from, and so on, as far as the warehouse knows."""
    name = f"{manifest.dataset}/{manifest.variant}/{manifest.version}"
    while True:
        statistics = manifest.statistics
        points, error = f"{statistics['points_per_game']:+.3f}", f"{statistics['standard_error']:.3f}"
        yield Ancestor(name, how_learned(manifest), points, error)
        given = manifest.parameters.get("start")
        if not given:
            return
        place = VersionRef(**given)
        try:
            table = find_version(warehouse, place)
            name, manifest = table.name, table.manifest
        except MissingTableError:
            yield Ancestor(str(place), NOT_HERE)
            return


def how_learned(manifest: Manifest) -> str:
    """From what, and how much of it."""
    recipe = manifest.parameters
    if manifest.dataset == NETWORK.name:
        return f"{recipe['games']:,} games of self-play"
    return f"{recipe['epochs']} epochs of labels"


def find_version(warehouse: Warehouse, place: VersionRef) -> Table:
    """The version that is named, of networks also one that comes with the package, or the current one of a variant.
    Raises MissingTableError."""
    if place.kind in KINDS:
        return find_network(f"{NETWORK.name}/{place.variant}", warehouse, place.version or None)
    if not warehouse.root.is_dir():
        raise MissingTableError(f"no {place} in {warehouse.root}, which is no folder")
    return warehouse.open_reference(place)


def label_rows(warehouse: Warehouse, manifest: Manifest) -> Iterator[tuple[str, ...]]:
    """A head, and a row for each version of labels, and of benchmarks whose positions are left out."""
    yield ("version", "rows", "share of what is learned", "digest")
    recipe = SupervisedParameters.from_manifest(manifest.parameters)
    total = sum(labels.weight for labels in recipe.labels)
    for labels in recipe.labels:
        share = f"{100 * labels.weight / total:.3g} %" + " together" * (len(labels.versions) > 1)
        for place in labels.versions:
            yield (str(place), *version_facts(warehouse, place, share))
    for place in recipe.guard:
        yield (str(place), *version_facts(warehouse, place, "none: its positions are left out"))


def version_facts(warehouse: Warehouse, place: VersionRef, share: str) -> tuple[str, str, str]:
    """How many rows a version has, the share, and the digest of its values."""
    try:
        manifest = find_version(warehouse, place).manifest
    except MissingTableError:
        return NOT_HERE, share, ""
    return f"{manifest.rows:,}", share, manifest.digest
