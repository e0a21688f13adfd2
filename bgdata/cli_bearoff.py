"""Commands about solved bearoffs: what a position is worth, and how alive the cube is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bgdata.commands.options import gnubg_option
from bgdata.errors import UsageError
from bgdata.store.warehouse import Warehouse


@click.command(short_help="Look a bearoff position up in every table.")
@click.argument("position")
@gnubg_option
@click.option("--away", metavar="A-B", help="A match score: points to go, of the player on roll first.")
@click.option("--crawford", is_flag=True, help="In the Crawford game.")
@click.option("--cube", "cube_value", default=1, show_default=True, metavar="N", help="Value of the cube, in a match.")
@click.option("--owner", metavar="NAME", help="Whose the cube is: on_roll or opponent.  [default: on_roll above 1]")
@click.option("--met", default="", metavar="NAME", help="Match equity table.  [default: that of match_equity]")
@click.pass_obj
def probe(
    warehouse: Warehouse, /, position: str, gnubg_files: tuple[Path, ...], away: str | None, **stakes: Any
) -> None:
    """Look a bearoff position up in every table that covers it, or at a match score in the exact one.

    POSITION is a Position ID, gnubg ID, XGID, 20-letter key, 26 integers, or start. The player on roll is about to
    roll. A table of a match score is built first where it is missing.
    """
    from bgdata.commands.probe import print_probe
    from bgdata.commands.probe_match import MatchStakes, print_match_probe

    if away is not None:
        owner = stakes["owner"] or ""
        given = MatchStakes(away, stakes["crawford"], stakes["cube_value"], owner, stakes["met"])
        return print_match_probe(warehouse, position, given)
    if stakes["crawford"] or stakes["cube_value"] != 1 or stakes["owner"] or stakes["met"]:
        raise UsageError("expected --away beside --crawford, --cube, --owner or --met")
    return print_probe(warehouse, position, gnubg_files)


@click.command(name="cube-life", short_help="How alive the cube is in solved bearoffs.")
@click.option("--points", default=6, show_default=True, metavar="N", help="Number of points.")
@click.option("--checkers", default=6, show_default=True, metavar="N", help="Number of checkers.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw into a PNG file (matplotlib).")
@click.pass_obj
def cube_life(warehouse: Warehouse, points: int, checkers: int, plot: Path | None) -> None:
    """Say which cube life index makes Janowski's model exact in money bearoffs, and what decisions by it lose.

    The atlas has every pair of layouts of up to 6 checkers; one of another size is built first.

    \b
    By length, and the closest takes:
      bgdata query "from cube_life_by_length"
      bgdata query "from cube_decisions where double_margin > 0 and take_margin > 0 order by take_margin limit 5"
    """
    from bgdata.commands.cube_life import open_atlas, print_atlas

    table = open_atlas(warehouse, points, checkers)
    if plot:
        from bgdata.commands.cube_life_plot import draw_cube_life

        draw_cube_life(table, plot)
    print_atlas(table)


COMMANDS = (probe, cube_life)
