"""`bgdata train parts`: networks for parts of the contact positions, divided by hand and by k-means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click
import numpy as np

from bgdata.cli.charts import mark_style, new_figure, write_figure
from bgdata.cli.options import force_option, format_option, plot_option, seed_option, threads_option, value_option
from bgdata.cli.output import build_version, show_rows
from bgdata.cli.recipes import SL_RECIPE, label_options, recipe_options
from bgdata.rows import COUNT, THOUSANDTHS, Column, Row, table_lines
from bgdata.store.parameters import VersionRef
from bgdata.studies.kinds.contact_parts import CONTACT_THEMES, ContactPartsParameters
from bgdata.studies.kinds.contact_parts import DATASET as CONTACT_PARTS
from bgdata.warehouse import Warehouse

ROWS = """
select arm, grouping, group_name, learned, tested, rmse, rmse_standard_error, bias
from contact_parts
where variant = $variant
order by arm, grouping, try_cast(group_name as integer), group_name
"""


MEASURES = (  # (grouping by theme, grouping of all, source of the equities to compare with)
    ("theme", "all", "labels that none has learned from"),
    ("reference-theme", "reference", "rollouts of reference positions"),
)


@click.command(name="parts")
@label_options
@value_option(
    "--parts",
    ContactPartsParameters.parts,
    "N",
    "Number of parts that k-means makes; once for each number.",
    multiple=True,
    type=int,
)
@value_option("--units", ContactPartsParameters.units, "N", "Hidden units of each network.")
@recipe_options(ContactPartsParameters, SL_RECIPE, ("epochs", "epoch_rows", "learning_rate"))
@seed_option(ContactPartsParameters.seed)
@plot_option
@threads_option
@force_option
@format_option
@click.pass_obj
def parts(
    warehouse: Warehouse, /, labels: tuple[str, ...], guard: bool, plot: Path | None, force: bool, form: str,
    **recipe: Any,
) -> None:  # fmt: skip
    """Train a network for each part of the contact positions.

    Positions with contact are divided by hand, by gnubg's classes (contact, crashed) and by theme, and by k-means
    over their inputs, which knows nothing of backgammon. A network for each part learns from the labels of that
    part; beside them one learns from all. All have the same inputs, the same hidden units and the same batches. The
    command prints how far their equities are from labels of the validation split, and from the rollouts of
    reference positions of that split, by theme. The table is `contact_parts`; no player uses these networks. A
    stopped command, run again, resumes from its last checkpoint; the result is the same on any number of threads.

    \b
      bgdata train parts --labels selfplay_labels/network-10000-seed-1-6x9 --plot parts.png
      bgdata train parts --labels training_games --parts 3 --parts 12 --units 128
    """
    from bgdata.measures.steps.sets import find_references
    from bgdata.training.steps import label_parameters

    reference = VersionRef.parse(find_references(warehouse).name)
    parameters = ContactPartsParameters(**label_parameters(warehouse, labels, guard), reference=reference, **recipe)
    table = build_version(warehouse, CONTACT_PARTS, parameters, force=force)
    rows = warehouse.rows(ROWS, {"variant": table.manifest.variant})
    show_rows(rows, form, chain([str(table.folder)], part_lines(rows, parameters)))
    if plot is not None:
        draw_parts(rows, parameters, plot)


def part_lines(rows: Sequence[Row], parameters: ContactPartsParameters) -> Iterator[str]:
    """Yield lines of a table: the RMSE of each division by theme, in thousandths of a point, against labels and then
    against rollouts."""
    found = {(row["arm"], row["grouping"], row["group_name"]): row for row in rows}
    for by_theme, overall, judge in MEASURES:
        yield f"RMSE of cubeless equity in thousandths of a point, from {judge}"
        columns = [Column("theme", width=26), Column("tested", COUNT, "positions", gap=1)]
        columns += [Column(arm, THOUSANDTHS, arm, width=9, missing="-") for arm in parameters.arms]
        lines = []
        for theme in (*CONTACT_THEMES, "all"):
            cells = {arm: found[arm, overall if theme == "all" else by_theme, theme] for arm in parameters.arms}
            figures = {arm: cell["rmse"] for arm, cell in cells.items()}
            lines.append({"theme": theme, "tested": cells[parameters.arms[0]]["tested"], **figures})
        yield from table_lines(columns, lines)
        errors = (found[arm, overall, "all"]["rmse_standard_error"] or 0 for arm in parameters.arms)
        yield " " * 36 + "".join(f"+/- {THOUSANDTHS.text(error)}".rjust(11) for error in errors)
    columns = [Column("parts", width=36)]
    columns += [
        Column(arm, COUNT, str(size), width=9) for arm, size in zip(parameters.arms, parameters.sizes, strict=True)
    ]
    smallest = {
        arm: min(row["tested"] for row in rows if row["arm"] == arm and row["grouping"] == "part")
        for arm in parameters.arms
    }
    yield from table_lines(columns, [{"parts": "positions of the smallest part", **smallest}])


def draw_parts(rows: Sequence[Row], parameters: ContactPartsParameters, path: Path) -> None:
    """Write a picture of the RMSE by theme, against labels and against rollouts, with a mark for each division. Raises
    StorageError if the picture cannot be written."""
    found = {(row["arm"], row["grouping"], row["group_name"]): row["rmse"] for row in rows}
    names = [*CONTACT_THEMES, "all"]
    with new_figure(10.5, 4.6) as figure:
        for axes, (by_theme, overall, judge) in zip(figure.subplots(1, 2, sharey=True), MEASURES, strict=True):
            for place, arm in enumerate(parameters.arms):
                values = [*(found[arm, by_theme, theme] for theme in CONTACT_THEMES), found[arm, overall, "all"]]
                figures = np.array([np.nan if value is None else 1000 * value for value in values])
                axes.plot(figures, range(len(names)), linestyle="none", label=arm, **mark_style(place))
            axes.set_title(f"from {judge}", fontsize="medium")
            axes.set_xlabel("RMSE of cubeless equity, thousandths of a point")
            axes.set_xlim(left=0)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.legend()
        figure.suptitle("One network for all contact positions, and networks for parts of them")
        write_figure(figure, path)
