"""Networks as rows of data, with their training and their results, and charts of their learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from bgdata.errors import BgdataError
from bgdata.rows import Row
from bgdata.store.arrays import Array
from bgdata.store.dataset import Dataset
from bgdata.store.manifest import Manifest
from bgdata.store.table import Table
from bgdata.training.kinds.network import DATASET as NETWORK
from bgdata.training.kinds.supervised_network import CLASSES, best_epoch
from bgdata.training.kinds.supervised_network import DATASET as SUPERVISED
from bgdata.warehouse import Warehouse

KINDS = (NETWORK.name, SUPERVISED.name)


def kind_of(manifest: Manifest) -> Dataset[Any]:
    """Return the kind of a network's version: the kind of networks trained by self-play, or of networks trained from
    labels."""
    return NETWORK if manifest.dataset == NETWORK.name else SUPERVISED


class Line(NamedTuple):
    """One line of a chart, with a value for each position on the x axis. Values that are not finite are left out."""

    label: str
    values: Sequence[float]
    errors: Sequence[float] = ()  # half the height of a band around the line


@dataclass(frozen=True)
class Chart:
    """One or two lines over the same values of the x axis, in ascending order."""

    title: str
    places_label: str
    places: Sequence[float]
    lines: tuple[Line, ...]
    is_logarithmic: bool = False  # whether the x axis is logarithmic; all places must then be above 0
    mark: int | None = None  # index of the place to mark on the last line, if any
    mark_label: str = ""
    from_zero: bool = False  # whether the y axis begins at 0
    is_scatter: bool = False  # whether values are points without a line; places may then have any order


def networks(warehouse: Warehouse) -> list[Table]:
    """Return the current versions of all networks, oldest first; damaged versions are left out."""
    found: list[tuple[str, Table]] = []
    for table in (table for kind in KINDS for table in warehouse.current(kind)):
        try:
            table.check_sizes()
            found.append((table.manifest.created, table))
        except BgdataError:
            continue  # pages of tables report the damage
    return [table for _, table in sorted(found, key=lambda each: (each[0], each[1].name))]


def network_row(manifest: Manifest) -> Row:
    """Return one row of data about a network: how it was trained, and its points per game against PubEval."""
    recipe, statistics = kind_of(manifest).parameters.from_manifest(manifest.parameters), manifest.statistics
    return {
        "network": f"{manifest.dataset}/{manifest.variant}",
        "version": manifest.version,
        "started_from": str(recipe.start) if recipe.start else None,
        "learned_from": describe_training(manifest),
        "hidden": recipe.hidden or None,
        "points_per_game": statistics["points_per_game"],
        "standard_error": statistics["standard_error"],
        "start_points_per_game": statistics.get("start_points_per_game"),
        "seconds": manifest.seconds,
        "created": manifest.created,
    }


def describe_training(manifest: Manifest) -> str:
    """Return what a network was trained on, and how much of it, as text such as "40,000 games of self-play"."""
    recipe = manifest.parameters
    if kind_of(manifest) is NETWORK:
        return f"{recipe['games']:,} games of self-play"
    return f"{recipe['epochs']} epochs of labels"


def curve_charts(table: Table) -> list[Chart]:
    """Return the charts of a network. For a network from labels they show cross-entropies and RMSE of equities by
    epoch, for each class, contact first. For a network from self-play they show points per game, endings of games and
    the error on bearoffs, by games."""
    curve: Array = np.asarray(table.array("curve"))
    if kind_of(table.manifest) is NETWORK:
        columns = {column.name: curve[:, place].tolist() for place, column in enumerate(NETWORK.columns)}
        points = Line("± 2 standard errors", columns["points_per_game"], [2 * e for e in columns["standard_error"]])
        shares = [[100 * share for share in columns[name]] for name in ("backgammon_share", "gammon_share")]
        drawn: list[tuple[str, tuple[Line, ...], bool]] = [
            ("points per game against PubEval", (points,), False),
            ("endings of self-play games (%)", tuple(map(Line, ("backgammons", "gammons"), shares)), True),
            ("mean error on exact bearoffs (points)", (Line("error", columns["bearoff_error"]),), True),
        ]
        return [
            Chart(title, "games of self-play", columns["games"], lines, is_logarithmic=True, from_zero=from_zero)
            for title, lines, from_zero in drawn
        ]
    epochs, charts = list(range(len(curve))), []
    for title, first, power in (("cross-entropy (nats)", 2, 1.0), ("RMSE of equities (points)", 4, 0.5)):
        for which in reversed(range(len(CLASSES))):
            values = (curve[:, which, first : first + 2] ** power).T.tolist()
            lines = tuple(map(Line, ("training", "validation"), values))
            best, name = best_epoch(curve, which), f"{CLASSES[which]}: {title}"
            charts.append(Chart(name, "epochs", epochs, lines, mark=best, mark_label="kept"))
    return charts


def headline(manifest: Manifest) -> str:
    """Return a phrase with the points per game of a network against PubEval. If it started from another network, the
    phrase also contains the points of that network."""
    after, *before = (
        f"{statistics[f'{start}points_per_game']:+.3f} ± {statistics[f'{start}standard_error']:.3f}"
        for statistics in [manifest.statistics]
        for start in ("", "start_")
        if f"{start}points_per_game" in statistics
    )
    return f"{after} points per game against PubEval" + "".join(f", {text} before" for text in before)


def describe_chart(chart: Chart) -> str:
    """Return a text that gives the first, the last and the lowest value of each line of a chart."""
    parts = []
    for line in chart.lines:
        known = [number for number in line.values if isfinite(number)]
        if known:
            parts.append(f"{line.label}: from {known[0]:.4g} to {known[-1]:.4g}, lowest {min(known):.4g}")
    return f"over {chart.places_label}; " + ("; ".join(parts) or "no numbers")
