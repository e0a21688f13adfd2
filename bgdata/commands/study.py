"""`bgdata study`: one study of cube handling, ours beside what was published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import numpy as np

from bgdata.commands.figures import new_figure
from bgdata.commands.report import progress_bars
from bgdata.commands.rows import Row, write_rows
from bgdata.commands.selfplay import network_of
from bgdata.commands.study_plot import Series, draw_study
from bgdata.datasets.common.columns import text_column
from bgdata.datasets.common.cube_arms import NAMES
from bgdata.datasets.cube_studies import DATASET, HEDGED, StudyParameters
from bgdata.store.executors import open_executor
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

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
    plot: Path | None,
    executor: str,
    force: bool,
    form: str,
) -> None:
    """Build the version of a study, and print its figures; draw what its settings are worth to a PNG file. Raises
    InvalidParameterError, UsageError for a player that is no network, MissingTableError, MissingExtraError,
    StorageError, and what executors raise."""
    if plot is not None:
        new_figure(1, 1)  # says at once that matplotlib is missing
    found = network_of(warehouse, player)
    count = games if games is not None else HEDGED_GAMES if luck else GAMES
    parameters = StudyParameters(
        found.network, found.network_version, study=study, games=count, seed=seed, with_luck=luck
    )
    DATASET.check_parameters(parameters)
    with open_executor(executor) as workers, progress_bars() as progress:
        table = warehouse.build(DATASET.name, parameters, progress=progress, force=force, executor=workers)
    series = series_of(table)
    if form == "table":
        lengths = sorted({key[0] for key in series})
        click.echo(f"{NAMES[parameters.study]}: {parameters.games:,} games each, {table.folder}")
        click.echo("\n".join(line for length in lengths for line in study_lines(series, length)))
    else:
        write_rows(study_rows(series), form)
    if plot is not None:
        setting = "volatility" if study == "jump" else "cube life index"
        draw_study(NAMES[study], setting, *drawn(study, series), plot)
        click.echo(f"wrote {plot}", err=True)


def series_of(table: Table) -> dict[tuple[int, str], Series]:
    """Every measure by match length and name, in the order of settings."""
    arrays = table.arrays()
    names = ("settings", "figures", "errors", "published")
    rows: dict[tuple[int, str], list[tuple[float, ...]]] = {}
    keys = zip(np.asarray(arrays["lengths"]).tolist(), text_column(arrays, "measures").to_pylist(), strict=True)
    columns = (np.asarray(arrays[name]).tolist() for name in names)
    for key, *row in zip(keys, *columns, strict=True):
        rows.setdefault(key, []).append(tuple(row))
    return {key: Series(title_of(key[0]), *zip(*found, strict=True)) for key, found in rows.items()}


def study_rows(series: Mapping[tuple[int, str], Series]) -> Iterator[Row]:
    """A figure a row: a measure of a setting, with its standard error and what was published."""
    for (length, measure), (_, *columns) in series.items():
        for setting, value, error, published in zip(*columns, strict=True):
            figures = {"setting": setting, "value": value, "standard_error": error, "published": published}
            yield {"match_length": length or None, "measure": measure, **figures}


def title_of(length: int) -> str:
    """What is played."""
    return f"match to {length}" if length else "money"


def drawn(study: str, series: Mapping[tuple[int, str], Series]) -> tuple[str, list[Series]]:
    """The measure that a picture shows, and its series by match length: points, hedged if luck was measured, but the
    cube where a model plays itself."""
    measures = {name for _, name in series}
    wanted = ("mean_cube_value",) if study == "statistics" else (*HEDGED, "points_per_match", "points_per_game")
    measure = next(name for name in wanted if name in measures)
    return measure.replace("_", " "), [found for (_, name), found in series.items() if name == measure]


def study_lines(series: Mapping[tuple[int, str], Series], length: int) -> Iterator[str]:
    """One match length: a line a measure, a column a setting, and below what was published."""
    measures = sorted((name for found, name in series if found == length), key=lambda name: (name not in POINTS, name))
    settings = series[length, measures[0]].settings
    yield title_of(length).ljust(WIDTH) + "".join(f"{setting:>19g}" for setting in settings)
    for measure in measures:
        _, _, values, errors, published = series[length, measure]
        texts = [figure_text(measure, value, error) for value, error in zip(values, errors, strict=True)]
        yield measure.ljust(WIDTH) + "".join(f"{text:>19}" for text in texts)
        if np.isfinite(published).any():
            texts = [f"({number(measure, value)})" if np.isfinite(value) else "" for value in published]
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
