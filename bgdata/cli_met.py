"""Commands about match equity tables: build, show, compare, plot, and write them for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bgdata.commands.completion import complete_mets
from bgdata.commands.options import (
    away_option,
    crawford_option,
    format_option,
    network_option,
    output_option,
    ply_option,
)
from bgdata.errors import UsageError
from bgdata.warehouse import Warehouse

length_option = click.option(
    "--length", type=click.IntRange(1, 64), metavar="N", help="Points to go, at most.  [default: all; to compare, 15]"
)


@click.group()
def met() -> None:
    """Build, show, compare and draw match equity tables.

    They have the chance of winning the match at every score. A MET is the name of one in the warehouse, such as
    published-12 (see the table match_equity_tables), or a file that gnubg reads, such as mec26.xml. To have files in
    the warehouse and in SQL:

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
    help="Trailer's chances to win the match from 1-away on, such as '0.5 0.486'.  [default: found by the network]",
)
@click.option(
    "--gammon-rate", default="", metavar="SHARE", help="Share of games that end in a gammon.  [default: the network's]"
)
@click.option("--cube-life-index", default="1", show_default=True, metavar="X", help="How live the cube is, 0 to 1.")
@click.option(
    "--length", default=25, show_default=True, type=click.IntRange(1, 64), metavar="N", help="Points to go, at most."
)
@format_option
@click.pass_obj
def build(warehouse: Warehouse, /, network: str, form: str, **options: Any) -> None:
    """Build a table from how a network opens, or from a row.

    The row is that of chances after the Crawford game.

    \b
      bgdata met build --network better --ply 1
      bgdata met build --row "0.5 0.486 0.319 0.306" --gammon-rate 0.276 --length 4
    """
    from bgdata.commands.met import build_met

    build_met(warehouse, network, options, form)


@met.command()
@click.argument("met", default="", shell_complete=complete_mets)
@length_option
@away_option
@crawford_option
@format_option
@click.pass_obj
def show(warehouse: Warehouse, met: str, length: int | None, away: str | None, crawford: bool, form: str) -> None:
    """Print a MET, or what is played for at one score.

    MET is a name or a file, as `bgdata met --help` says; without one it is the table built here.

    \b
      bgdata met show published-12 --length 6
      bgdata met show --away 3-5
    """
    from bgdata.commands.met import open_met, show_met, show_score

    if away is None and crawford:
        raise UsageError("expected --away with --crawford, got none")
    if away is None:
        show_met(open_met(warehouse, met), length, form)
    else:
        show_score(open_met(warehouse, met), away, form, is_crawford=crawford)


@met.command()
@click.argument("met", shell_complete=complete_mets)
@click.argument("other", shell_complete=complete_mets)
@length_option
@format_option
@click.pass_obj
def compare(warehouse: Warehouse, met: str, other: str, length: int | None, form: str) -> None:
    """Print how far a MET is from OTHER, in percent points.

    MET and OTHER are names or files, as `bgdata met --help` says.

    \b
      bgdata met compare taught-400-1ply-25 published-12 --length 6
    """
    from bgdata.commands.met import compare_mets, open_met

    compare_mets(open_met(warehouse, met), open_met(warehouse, other), length, form)


@met.command()
@click.argument("met", default="", shell_complete=complete_mets)
@click.option(
    "--minus",
    default="",
    metavar="MET",
    shell_complete=complete_mets,
    help="Draw what a cell has more than in this table.  [default: the table itself]",
)
@length_option
@output_option(required=True)
@click.pass_obj
def plot(warehouse: Warehouse, met: str, minus: str, length: int | None, output: Path) -> None:
    """Draw a MET as a heat map in a PNG file (needs matplotlib).

    MET is a name or a file, as `bgdata met --help` says; without one it is the table built here.

    \b
      bgdata met plot --output met.png
      bgdata met plot published-12 --minus taught-400-1ply-25 --output difference.png
    """
    from bgdata.commands.met import open_met
    from bgdata.commands.met_plot import draw_met

    draw_met(open_met(warehouse, met), open_met(warehouse, minus) if minus else None, length, output)


@click.command(name="met")
@click.argument("met", default="", shell_complete=complete_mets)
@output_option(required=True)
@click.pass_obj
def export(warehouse: Warehouse, met: str, output: Path) -> None:
    """Write a MET as the XML file that gnubg loads.

    MET is a name or a file, as `bgdata met --help` says; without one it is the table built here. gnubg loads the file
    with `set met FILE`; one that ends in .gz or .bz2 is packed.

    \b
      bgdata export met -o ours.xml
    """
    from bgdata.commands.met import export_met

    click.echo(export_met(warehouse, met, output))


COMMANDS = (met,)
