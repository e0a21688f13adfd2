"""`bgdata cube-life`: what the atlas of a two-sided table says, and where rules of thumb go wrong."""

from __future__ import annotations

from collections.abc import Sequence

import click
import numpy as np

from bgdata.bearoff.layouts import all_layouts
from bgdata.commands.report import print_built, progress_bars
from bgdata.datasets.cube_life import DATASET, LOSSES, CubeLifeParameters
from bgdata.equity.cube_life import CUBES, NoIndex
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

REASONS = {
    NoIndex.BELOW: "worth less than a dead cube",
    NoIndex.ABOVE: "worth more than a live one",
    NoIndex.UNCERTAIN: "no telling",
}


def open_atlas(warehouse: Warehouse, points: int, checkers: int) -> Table:
    """The atlas of a size, built first where it is missing. Raises InvalidParameterError."""
    parameters = CubeLifeParameters(points, checkers)
    DATASET.check_parameters(parameters)
    found = warehouse.find(DATASET, parameters)
    if found is not None:
        return found
    with progress_bars() as progress:
        return warehouse.build(DATASET.name, parameters, progress=progress)


def print_atlas(table: Table, form: str = "table") -> None:
    """Shares and means of the indexes, and the largest losses with their positions."""
    figures = table.manifest.statistics
    if form != "table":
        print_built(table, (), form)
        return
    click.echo(f"{table.name}: {table.manifest.rows:,} pairs of layouts")
    click.echo("cube            index from 0 to 1  mean +/- spread   else")
    for cube in CUBES:
        others = ", ".join(
            f"{figures[f'{cube}_{reason.name.lower()}_share']:.1%} {words}" for reason, words in REASONS.items()
        )
        mean, spread, share = (figures[f"{cube}_{name}"] for name in ("mean_index", "sd_index", "index_share"))
        click.echo(f"{cube.replace('_', ' '):<15} {share:>17.1%}  {mean:.3f} +/- {spread:.3f}   {others}")
    click.echo("\nlargest loss of a decision, in points per unit cube")
    click.echo("decision                       loss     winning chance, exact and one-sided; layouts, ace point first")
    layouts = all_layouts(int(table.manifest.parameters["points"]), int(table.manifest.parameters["checkers"]))
    for place, name in enumerate(LOSSES):
        print_largest(table, place, name, layouts.tolist())


def print_largest(table: Table, place: int, name: str, layouts: Sequence[Sequence[int]]) -> None:
    """The first position with the largest loss of one kind."""
    losses, chances = table.array("losses")[:, :, place], table.array("chances")
    on_roll, opponent = np.unravel_index(int(np.argmax(losses)), losses.shape)
    exact, one_sided = chances[on_roll, opponent].tolist()
    words = name.removesuffix("_loss").replace("janowski", "Janowski 0.7:").replace("one_sided", "one-sided:")
    click.echo(
        f"{words.replace('_', ' '):<28} {losses[on_roll, opponent]:.6f}   {exact:.4f} {one_sided:.4f}   "
        f"{layouts[int(on_roll) + 1]} against {layouts[int(opponent) + 1]}"
    )
