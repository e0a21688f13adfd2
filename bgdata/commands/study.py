"""`bgdata study`: one study of cube handling, ours beside what was published."""

from __future__ import annotations

from collections.abc import Iterator

import click
import numpy as np

from bgdata.commands.report import progress_bars
from bgdata.commands.selfplay import network_of
from bgdata.datasets._columns import text_column
from bgdata.datasets._cube_arms import NAMES
from bgdata.datasets.cube_studies import DATASET, HEDGED, StudyParameters
from bgdata.store.executors import open_executor
from bgdata.store.table import Table
from bgdata.store.warehouse import Warehouse

POINTS = ("points_per_game", "points_per_match", *HEDGED)
GAMES, HEDGED_GAMES = 100_000, 1000  # by default, without and with luck
WIDTH = 24  # of names


def run_study(
    warehouse: Warehouse,
    study: str,
    player: str,
    games: int | None,
    seed: int,
    *,
    luck: bool,
    executor: str,
    force: bool,
) -> None:
    """Build the version of a study, and print its figures. Raises InvalidParameterError, UsageError for a player that
    is no network, MissingTableError, and what executors raise."""
    found = network_of(warehouse, player)
    count = games if games is not None else HEDGED_GAMES if luck else GAMES
    parameters = StudyParameters(
        found.network, found.network_version, study=study, games=count, seed=seed, with_luck=int(luck)
    )
    DATASET.check_parameters(parameters)
    with open_executor(executor) as workers, progress_bars() as progress:
        table = warehouse.build(DATASET.name, parameters, progress=progress, force=force, executor=workers)
    click.echo("\n".join(study_lines(table, parameters)))


def study_lines(table: Table, parameters: StudyParameters) -> Iterator[str]:
    """A block for each match length: a line a measure, a column a setting, and below what was published."""
    arrays = table.arrays()
    measures = text_column(arrays, "measures").to_pylist()
    lengths, settings, figures, errors, published = (
        np.asarray(arrays[name]).tolist() for name in ("lengths", "settings", "figures", "errors", "published")
    )
    rows = dict(
        zip(zip(lengths, settings, measures, strict=True), zip(figures, errors, published, strict=True), strict=True)
    )
    yield f"{NAMES[parameters.study]}: {parameters.games:,} games each, {table.folder}"
    for length in sorted(set(lengths)):
        columns = sorted({setting for found, setting in zip(lengths, settings, strict=True) if found == length})
        shown = [measure for measure in dict.fromkeys(measures) if (length, columns[0], measure) in rows]
        title = f"match to {length}" if length else "money"
        yield title.ljust(WIDTH) + "".join(f"{column:>19g}" for column in columns)
        for measure in sorted(shown, key=lambda name: (name not in POINTS, name)):
            cells = [rows[length, column, measure] for column in columns]
            yield measure.ljust(WIDTH) + "".join(f"{figure_text(measure, *cell[:2]):>19}" for cell in cells)
            if not all(np.isnan(cell[2]) for cell in cells):
                texts = ("" if np.isnan(cell[2]) else f"({number(measure, cell[2])})" for cell in cells)
                yield "  (published)".ljust(WIDTH) + "".join(f"{text:>19}" for text in texts)


def figure_text(measure: str, value: float, error: float) -> str:
    """A figure with its standard error, shares in percent."""
    scale = 100 if measure.endswith("_share") else 1
    return f"{number(measure, value)} +/- {scale * error:.{digits(measure)}f}"


def number(measure: str, value: float) -> str:
    """A figure, shares in percent."""
    sign = "+" if measure in POINTS else ""
    return f"{100 * value:.2f}" if measure.endswith("_share") else f"{value:{sign}.{digits(measure)}f}"


def digits(measure: str) -> int:
    """Behind the point."""
    return 4 if measure in POINTS else 2
