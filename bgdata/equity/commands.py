"""`bgdata met`: builds, shows, compares and draws match equity tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from bgdata.cli.charts import new_figure, write_figure
from bgdata.cli.completion import complete_mets
from bgdata.cli.defaults import find_met_or_file
from bgdata.cli.options import (
    PICTURE,
    away_option,
    crawford_option,
    format_option,
    network_option,
    output_option,
    ply_option,
    refuse_beside,
    value_option,
)
from bgdata.cli.output import build_version, print_built, show_rows
from bgdata.equity.kinds.match_equity import DATASET, MatchEquityParameters
from bgdata.equity.match_equity import MatchEquity, cell_rows, find_met, score_rows
from bgdata.errors import UsageError
from bgdata.evaluation.rows import parse_away
from bgdata.formats.lines import write_bytes
from bgdata.formats.met_files import MetTable, format_met
from bgdata.game.match import MatchScore
from bgdata.rows import CHANCE, COUNT, Column, Quantity, table_lines
from bgdata.warehouse import Warehouse

length_option = click.option(
    "--length",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Maximum points to go.  [default: all; 15 in a comparison]",
)


@click.group()
def met() -> None:
    """Build, show, compare and draw match equity tables.

    A match equity table (MET) gives the chance of winning the match at every score. MET is the name of a table in the
    warehouse, such as published-12 (the table match_equity_tables lists them), or an XML file of gnubg, such as
    mec26.xml. To use such files in SQL, import them:

    \b
      bgdata import met_xml --name gnubg /usr/share/gnubg/met/*.xml
      bgdata query "select mwc('mec26', 3, 5), take_point('mec26', 3, 5)"
    """


@met.command()
@network_option
@ply_option(2, default=1)
@click.option(
    "--row",
    default="",
    metavar="CHANCES",
    help="The trailer's post-Crawford chances from 1-away on, such as '0.5 0.486'.  [default: those of the network]",
)
@click.option(
    "--gammon-rate", default="", metavar="SHARE", help="Share of games that end in a gammon.  [default: the network's]"
)
@value_option("--cube-life-index", "1", "X", "How live the cube is, 0 to 1.")
@value_option("--length", 25, "N", "Maximum points to go.", type=click.IntRange(1, 64))
@format_option
@click.pass_obj
def build(warehouse: Warehouse, /, network: str, form: str, **options: Any) -> None:
    """Build a table from a network's opening play, or from a row.

    The row contains the post-Crawford chances. Without one, the network evaluates the positions after the opening roll.

    \b
      bgdata met build --network better --ply 1
      bgdata met build --row "0.5 0.486 0.319 0.306" --gammon-rate 0.276 --length 4
    """
    from bgdata.training.steps import network_parameters

    if options["row"]:
        refuse_beside("--row", "network", "ply")
    given = {} if options["row"] else network_parameters(warehouse, network)
    read = {name: MatchEquityParameters.parse(name, value) for name, value in options.items() if isinstance(value, str)}
    parameters = MatchEquityParameters(**(options | read | given))
    table = build_version(warehouse, DATASET, parameters)
    if form != "table":
        print_built(table, (), form)
        return
    found = find_met(warehouse, DATASET.slug(parameters))
    rate = CHANCE.text(table.manifest.statistics["gammon_rate"])
    click.echo(f"{found.name}: to {found.length}-away, gammon rate {rate}")
    click.echo("\n".join(post_crawford_lines(found, found.length)))


@met.command()
@click.argument("met", default="", shell_complete=complete_mets)
@length_option
@away_option
@crawford_option
@format_option
@click.pass_obj
def show(warehouse: Warehouse, met: str, length: int | None, away: str | None, crawford: bool, form: str) -> None:
    """Print a MET, or the stakes of a game at one score.

    MET is a name or a file (see: bgdata met --help); the default is the table built here.

    \b
      bgdata met show published-12 --length 6
      bgdata met show --away 3-5
    """
    if away is None and crawford:
        raise UsageError("expected --away with --crawford, got none")
    if away is not None:
        refuse_beside("--away", "length")
        found, score = find_met_or_file(warehouse, met), parse_away(away, is_crawford=crawford)
        show_rows(score_rows(found, score), form, score_lines(found, score))
        return
    found = find_met_or_file(warehouse, met)
    shown = min(length or found.length, found.length)
    lines = (
        f"{found.name}: chance (%) of winning the match before a game, for a player who needs the points of the row",
        "against an opponent who needs those of the column; 1-away is the Crawford game\n",
        *grid_lines(found.cells[0, 1 : shown + 1, 1 : shown + 1], Quantity(2, 100)),
        "",
        *post_crawford_lines(found, shown),
    )
    show_rows(cell_rows(found, shown), form, lines)


@met.command()
@click.argument("met", shell_complete=complete_mets)
@click.argument("other", shell_complete=complete_mets)
@length_option
@format_option
@click.pass_obj
def compare(warehouse: Warehouse, met: str, other: str, length: int | None, form: str) -> None:
    """Compare MET and OTHER: differences in percentage points.

    MET and OTHER are names or files (see: bgdata met --help).

    \b
      bgdata met compare diverse-19-1ply-25 published-12 --length 6
    """
    one, two = find_met_or_file(warehouse, met), find_met_or_file(warehouse, other)
    shown = min(length or MAX_SHOWN, one.length, two.length)
    own, others = (table.cells[:, 1 : shown + 1, 1 : shown + 1] for table in (one, two))
    lines = (
        f"{one.name} minus {two.name}, in percentage points, to {shown}-away\n",
        *grid_lines((own - others)[0], Quantity(2, 100, sign="+")),
        "",
        *difference_lines(100 * (own - others)),
    )
    show_rows(cell_rows(one, shown, two), form, lines)


@met.command()
@click.argument("met", default="", shell_complete=complete_mets)
@click.option(
    "--minus",
    default="",
    metavar="MET",
    shell_complete=complete_mets,
    help="Draw the differences from this table.  [default: draw MET itself]",
)
@length_option
@output_option(required=True, kind=PICTURE)
@click.pass_obj
def plot(warehouse: Warehouse, met: str, minus: str, length: int | None, output: Path) -> None:
    """Draw a MET as a heat map in a PNG or SVG file.

    MET is a name or a file (see: bgdata met --help); the default is the table built here.

    \b
      bgdata met plot --output met.png
      bgdata met plot published-12 --minus diverse-19-1ply-25 --output difference.png
    """
    draw_met(find_met_or_file(warehouse, met), find_met_or_file(warehouse, minus) if minus else None, length, output)


SIDES = 1e-9  # chances of both sides that differ by less count as equal
MAX_SHOWN = 15  # greatest default number of points to go in a comparison


def difference_lines(differences: NDArray[np.float64]) -> Iterator[str]:
    """Yield lines of text with the largest and the mean difference between two tables, before and after the Crawford
    game. `differences` is float64[2, n, n]."""
    for part, when in enumerate(("before", "post-crawford")):
        sizes = np.abs(differences[part])
        if np.isfinite(sizes).any():
            first = int(np.nanargmax(sizes.round(9)))  # of the two sides of a score, this is the leader's
            away, opponent_away = (int(place) + 1 for place in np.unravel_index(first, sizes.shape))
            upper = sizes[np.triu_indices(len(sizes), 1)] if not part else sizes[1:, 0]
            mean = float(np.nanmean(upper)) if np.isfinite(upper).any() else 0.0
            yield (
                f"{when:<14} at most {np.nanmax(sizes):.2f} ({away}-away {opponent_away}-away), on average {mean:.2f}"
            )


def score_lines(met: MatchEquity, score: MatchScore) -> Iterator[str]:
    """Yield lines of text with the stakes of a game at a score, in percent."""
    yield f"{score} by {met.name}: {100 * met.at(score):.3f} %"
    chance = Quantity(3, 100)
    columns = (
        Column("cube_value", COUNT, "cube"),
        Column("mwc_win", chance, "win", width=8),
        Column("mwc_win_gammon", chance, "gammon", width=8, gap=1),
        Column("mwc_lose", chance, "lose", width=8, gap=1),
        Column("mwc_lose_gammon", chance, "gammon", width=8, gap=1),
        Column("gammon_value", Quantity(3), gap=3),
        Column("take_point", CHANCE, width=11, missing="-"),
    )
    yield from table_lines(columns, score_rows(met, score))


def grid_lines(cells: NDArray[np.float64], quantity: Quantity) -> list[str]:
    """Return lines of text with a float64[n, n] table, with the scores along both edges."""
    scores = [str(place + 1) for place in range(len(cells))]
    columns = [Column("", heading="   "), *(Column(score, quantity, width=6, gap=1, missing="-") for score in scores)]
    rows = zip(scores, cells.tolist(), strict=True)
    return table_lines(columns, ({"": f"{score:>3} ", **dict(zip(scores, row, strict=True))} for score, row in rows))


def post_crawford_lines(met: MatchEquity, length: int) -> list[str]:
    """Return lines of text with the trailer's post-Crawford chances up to `length`-away in percent, and the opponent's
    if they differ."""

    def shown_chances(values: NDArray[np.float64]) -> str:
        return " ".join(f"{value:.2f}" if np.isfinite(value) else "-" for value in values)

    own, other = (100 * table.cells[1, 1 : length + 1, 1] for table in (met, met.flip()))
    lines = [f"post-crawford, 1- to {length}-away: {shown_chances(own)}"]
    if not np.allclose(own, other, rtol=0, atol=SIDES, equal_nan=True):
        lines.append(f"post-crawford of the opponent, 1- to {length}-away: {shown_chances(other)}")
    return lines


def export_met(warehouse: Warehouse, name: str, output: Path) -> str:
    """Write a match equity table as an XML file that gnubg loads; returns a line of text about the file. Raises
    UsageError if the table has no post-Crawford chances, StorageError if the file cannot be written, and the errors of
    `find_met_or_file`."""
    met = find_met_or_file(warehouse, name)
    own, other = met.cells[1, 1:, 1], 1 - met.cells[1, 1, 1:]
    own, other = own[np.isfinite(own)], other[np.isfinite(other)]  # only known chances
    if not len(own) or not len(other):
        raise UsageError(f"expected a table with post-crawford chances, got {met.name}")
    same = own.shape == other.shape and np.abs(own - other).max() < SIDES
    theirs, before = own if same else other, np.asarray(met.cells[0, 1:, 1:])
    table = MetTable(met.name, "written by bgdata", met.length, "explicit", before, own, theirs, {}, "")
    write_bytes(output, format_met(table))
    return f"wrote {output}: {output.stat().st_size:,} bytes, to {met.length}-away"


DARK = 0.4  # text is white on colors darker than this
SMALL = 7  # text size in cells, in points
MAX_NUMBERED = 15  # most points to go for which cells show numbers


def draw_met(met: MatchEquity, other: MatchEquity | None, length: int | None, path: Path) -> None:
    """Draw a heat map of the chances of winning the match in percent, or of their differences from the table `other`.
    The row of the trailer after the Crawford game is below it. Raises StorageError if the file cannot be written."""
    most = min(length or met.length, met.length, other.length if other else met.length)
    cells = 100 * met.cells[:, 1 : most + 1, 1 : most + 1]
    if other is not None:
        cells = cells - 100 * other.cells[:, 1 : most + 1, 1 : most + 1]
    limit = float(np.nanmax(np.abs(cells))) or 1.0
    low, high, colours = (0.0, 100.0, "RdYlBu") if other is None else (-limit, limit, "RdBu")
    size = min(max(0.42 * most, 3.5), 11.0)
    with new_figure(size + 1.2, size + 1.4) as figure:
        above, below = figure.subplots(2, 1, height_ratios=[most, 1.2])
        form = "{:.0f}" if other is None else "{:+.1f}"
        for axes, values in ((above, cells[0]), (below, cells[1, :, :1].T)):
            image = axes.imshow(values, cmap=colours, vmin=low, vmax=high, aspect="auto")
            axes.set_xticks(range(most), range(1, most + 1))
            axes.tick_params(length=0, labelsize=8)
            axes.grid(visible=False)
            for (row, column), value in np.ndenumerate(values) if most <= MAX_NUMBERED else ():
                if np.isfinite(value):
                    red, green, blue, _ = image.to_rgba(np.array(value))
                    colour = "black" if 0.3 * red + 0.6 * green + 0.1 * blue > DARK else "white"
                    axes.text(column, row, form.format(value), ha="center", va="center", fontsize=SMALL, color=colour)
        above.set_yticks(range(most), range(1, most + 1))
        above.set(xlabel="points that the opponent needs", ylabel="points that the player needs")
        below.set_yticks([0], ["post-\nCrawford"])
        below.set_xlabel("points that the trailer needs, against 1")
        what = "chance of winning the match (%)" if other is None else "difference in percentage points"
        above.set_title(met.name if other is None else f"{met.name} minus {other.name}")
        figure.colorbar(image, ax=[above, below], label=what, shrink=0.7)
        write_figure(figure, path)
