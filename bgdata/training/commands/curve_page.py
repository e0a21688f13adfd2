"""`bgdata train plot --page`: the learning curve of a network as one self-contained HTML file.

The file contains no scripts and loads nothing: charts are inline SVG, colours follow the reader's choice of light or
dark, and every drawn number is in a table too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

import numpy as np

from bgdata.cli.charts import format_chart_svg
from bgdata.cli.output import grid, page_head, section
from bgdata.cli.recipes import SL_RECIPE, TD_RECIPE, recipe_command
from bgdata.errors import MissingTableError
from bgdata.evaluation.players import NETWORK_KINDS
from bgdata.store.arrays import Array
from bgdata.store.dataset import Computed
from bgdata.store.manifest import Manifest
from bgdata.store.parameters import VersionRef
from bgdata.store.storage import write_file
from bgdata.store.table import Table
from bgdata.training.kinds.network import DATASET as NETWORK
from bgdata.training.kinds.supervised_network import CLASSES, SupervisedParameters, best_epoch
from bgdata.training.kinds.supervised_network import DATASET as SUPERVISED
from bgdata.training.rows import curve_charts, describe_training, headline, kind_of
from bgdata.warehouse import Warehouse

_LEAVE_OUT = ("name", "start", "labels", "guard")  # parts of the recipe with their own sections
_NOT_HERE = "not in this warehouse"


def write_page(table: Table, warehouse: Warehouse, path: Path) -> None:
    """Write the page of a network as an HTML file. The networks that it was trained from are looked up in the
    warehouse. Raises StorageError if the file cannot be written."""
    manifest, kind = table.manifest, kind_of(table.manifest)
    curve = np.asarray(table.array("curve"))
    parameters = kind.parameters.from_manifest(manifest.parameters)
    (batch,) = kind.computation.batches(Computed(parameters, {"curve": curve}))
    names = [column.name for column in kind.columns]
    rows = [[_cell(row[name]) for name in names] for row in batch.to_pylist()]
    parts = [
        *page_head(table.name),
        f"<p>{escape(headline(manifest))}</p>",
        "<h2>Learning curve</h2>",
        '<div class="charts">',
        *map(format_chart_svg, curve_charts(table)),
        "</div>",
        *section("Final figures", _figures(manifest, curve)),
        *section("Recipe", _recipe_rows(manifest)),
        *section("Lineage", _lineage_rows(warehouse, manifest)),
        *(section("Labels", _label_rows(warehouse, parameters)) if kind is SUPERVISED else ()),
        f"<h2>Command line</h2>\n<pre>{escape(recipe_command(manifest))}</pre>",
        *section("Version", _version_rows(manifest)),
        f"<h2>Table</h2>\n<details><summary>{len(rows)} rows of the learning curve</summary>",
        *grid([names, *rows]),
        "</details>",
        "</body></html>",
    ]
    write_file(path, ("\n".join(parts) + "\n").encode())


def _figures(manifest: Manifest, curve: Array) -> Iterator[Sequence[str]]:
    """Yield the rows of the table of final figures: name and value."""
    statistics = manifest.statistics
    if kind_of(manifest) is NETWORK:
        yield ("figure", "value", "unit", "meaning")
        for column in NETWORK.columns:
            yield (column.name, _cell(statistics[column.name]), column.unit, column.meaning)
        return
    yield ("network", "kept epoch", "cross-entropy", "before", "RMSE of equities", "before")
    for which in reversed(range(len(CLASSES))):
        name = CLASSES[which]
        if best_epoch(curve, which) is None:
            yield (name, "did not learn", "", "", "", "")
        else:
            keys = [f"{when}{name}_{what}" for what in ("cross_entropy", "equity_error") for when in ("", "start_")]
            yield (name, f"{statistics[f'{name}_epoch']:.0f}", *(f"{statistics[key]:.5f}" for key in keys))


def _recipe_rows(manifest: Manifest) -> Iterator[Sequence[str]]:
    """Yield a row for every training parameter: name, value and meaning."""
    meanings = (TD_RECIPE if kind_of(manifest) is NETWORK else SL_RECIPE) | {
        "features": "Inputs of the networks with their revisions.",
        "platform": "What PyTorch computed on.",
    }
    yield ("parameter", "value", "meaning")
    for name, value in manifest.parameters.items():
        if name not in _LEAVE_OUT:
            text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            yield (name, text, meanings.get(name, "").partition("  [")[0])


def _version_rows(manifest: Manifest) -> Iterator[Sequence[str]]:
    """Yield rows that identify the version: its name, its digest, and the software that made it."""
    software = ", ".join(f"{name} {version}" for name, version in sorted(manifest.software.items()))
    yield ("", "")
    yield from {
        "version": manifest.version,
        "digest of the values": manifest.digest,
        "recipe key": manifest.recipe_key,
        "made": f"{manifest.created}, in {manifest.seconds:,.0f} s",
        "software": software,
        "source": manifest.source,
        "licence": manifest.licence,
    }.items()


def _cell(value: object) -> str:
    """A value as short text for a cell of a table."""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:.6g}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _lineage_rows(warehouse: Warehouse, manifest: Manifest) -> Iterator[Sequence[str]]:
    """Yield a row for the network, one for the network that its training started from, and so on, until one is missing
    from the warehouse."""
    yield ("network", "learned", "points per game", "standard error")
    name = f"{manifest.dataset}/{manifest.variant}/{manifest.version}"
    while True:
        statistics = manifest.statistics
        points, error = f"{statistics['points_per_game']:+.3f}", f"{statistics['standard_error']:.3f}"
        yield (name, describe_training(manifest), points, error)
        place: VersionRef | None = kind_of(manifest).parameters.from_manifest(manifest.parameters).start
        if place is None:
            return
        try:
            table = _find_version(warehouse, place)
        except MissingTableError:
            yield (str(place), _NOT_HERE, "", "")
            return
        name, manifest = table.name, table.manifest


def _find_version(warehouse: Warehouse, place: VersionRef) -> Table:
    """The version that `place` names, or the current version of its variant if it names none. Networks of the package
    are found too. Raises MissingTableError if there is no such version."""
    from bgdata.evaluation.networks.player import find_network

    if place.kind in NETWORK_KINDS:
        return find_network(f"{NETWORK.name}/{place.variant}", warehouse, place.version or None)
    if not warehouse.root.is_dir():
        raise MissingTableError(f"no {place} in {warehouse.root}, which is not a folder")
    return warehouse.open_reference(place)


def _label_rows(warehouse: Warehouse, recipe: SupervisedParameters) -> Iterator[Sequence[str]]:
    """Yield a heading, a row for each version of labels that the network learned from, and a row for each benchmark
    whose positions were left out."""
    yield ("version", "rows", "share of what is learned", "digest")
    total, places = sum(labels.weight for labels in recipe.labels), list[tuple[VersionRef, str]]()
    for labels in recipe.labels:
        share = f"{100 * labels.weight / total:.3g} %" + " together" * (len(labels.versions) > 1)
        places += [(place, share) for place in labels.versions]
    for place, share in [*places, *((place, "none: its positions are left out") for place in recipe.guard)]:
        try:
            manifest = _find_version(warehouse, place).manifest
        except MissingTableError:
            yield (str(place), _NOT_HERE, share, "")
        else:
            yield (str(place), f"{manifest.rows:,}", share, manifest.digest)
