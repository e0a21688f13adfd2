"""Commands about match equity tables: build, show, compare, plot, and write them for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bgdata.store.warehouse import Warehouse

OUTPUT = click.Path(path_type=Path, dir_okay=False)
LENGTH = click.IntRange(1, 64)


@click.group(short_help="Match equity tables: build, show, compare, plot.")
def met() -> None:
    """Match equity tables: the chance of winning the match at every score.

    A MET is the name of one in the warehouse, such as published-12 (see the table match_equity_tables), or a file that
    gnubg reads, such as /usr/share/gnubg/met/mec26.xml. To have files in the warehouse and in SQL:

    \b
      bgdata import met_xml --name gnubg /usr/share/gnubg/met/*.xml
      bgdata query "select mwc('mec26', 3, 5), take_point('mec26', 3, 5)"
    """


@met.command()
@click.option("--network", default="", metavar="NAME", help="Network of the warehouse.  [default: that of the package]")
@click.option("--ply", default=1, show_default=True, type=click.IntRange(0, 2), help="Rolls that it looks ahead.")
@click.option("--row", default="", metavar="CHANCES", help="Trailer's mwc from 1-away on instead, as '0.5 0.486 ...'.")
@click.option(
    "--gammon-rate", default="", metavar="SHARE", help="Games that end in a gammon.  [default: the network's]"
)
@click.option("--cube-life-index", default="1", show_default=True, metavar="X", help="How live the cube is, 0 to 1.")
@click.option("--length", default=25, show_default=True, type=LENGTH, help="Points to go.")
@click.pass_obj
def build(warehouse: Warehouse, /, network: str, **options: Any) -> None:
    """Build a table from how a network opens, or from a post-Crawford row that is given."""
    from bgdata.commands.met import build_met

    build_met(warehouse, network, options)


@met.command()
@click.argument("met", default="")
@click.option("--length", type=LENGTH, metavar="N", help="Points to go that are shown.  [default: all]")
@click.option("--score", default="", metavar="A-B", help="What is played for when the sides need A and B points.")
@click.option("--post-crawford", is_flag=True, help="The Crawford game is over (with --score).")
@click.pass_obj
def show(warehouse: Warehouse, met: str, length: int | None, score: str, post_crawford: bool) -> None:
    """Print a MET in percent, or what is played for at one score."""
    from bgdata.commands.met import open_met, show_met

    show_met(open_met(warehouse, met), length, score, is_post_crawford=post_crawford)


@met.command()
@click.argument("met")
@click.argument("other")
@click.option("--length", type=LENGTH, metavar="N", help="Points to go that are compared.  [default: up to 15]")
@click.pass_obj
def compare(warehouse: Warehouse, met: str, other: str, length: int | None) -> None:
    """Print how far a MET is from OTHER, in percent points."""
    from bgdata.commands.met import compare_mets, open_met

    compare_mets(open_met(warehouse, met), open_met(warehouse, other), length)


@met.command()
@click.argument("met", default="")
@click.option("--against", default="", metavar="MET", help="Draw the difference from this table.")
@click.option("--length", type=LENGTH, metavar="N", help="Points to go that are drawn.  [default: all]")
@click.option("-o", "--output", required=True, type=OUTPUT, help="PNG file to write.")
@click.pass_obj
def plot(warehouse: Warehouse, met: str, against: str, length: int | None, output: Path) -> None:
    """Draw a MET as a heat map (needs matplotlib)."""
    from bgdata.commands.met import open_met
    from bgdata.commands.met_plot import draw_met

    draw_met(open_met(warehouse, met), open_met(warehouse, against) if against else None, length, output)


@click.command(name="met")
@click.argument("met", default="")
@click.option("-o", "--output", required=True, type=OUTPUT, help="File to write; packed if it ends in .gz or .bz2.")
@click.pass_obj
def export(warehouse: Warehouse, met: str, output: Path) -> None:
    """Write a MET as the XML file that gnubg loads (`set met FILE`)."""
    from bgdata.commands.met import export_met

    click.echo(export_met(warehouse, met, output))


COMMANDS = (met,)
