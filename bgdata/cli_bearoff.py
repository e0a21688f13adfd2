"""Commands about solved bearoffs: what a position is worth, and how alive the cube is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bgdata.commands.options import format_option, gnubg_option, plot_option, score_options
from bgdata.errors import UsageError
from bgdata.warehouse import Warehouse


@click.command()
@click.argument("position")
@gnubg_option
@score_options
@format_option
@click.pass_obj
def probe(warehouse: Warehouse, /, position: str, gnubg_files: tuple[Path, ...], form: str, **options: Any) -> None:
    """Look a bearoff position up in every table.

    POSITION is a Position ID, gnubg ID, XGID, 20-letter key, 26 integers or start; the player on roll is about to roll.
    At a match score, of the position or of --away, the exact table of that score answers, which is built where it
    is missing.

    \b
      bgdata probe CgAAEAEAAAAAAA
      bgdata probe CgAAEAEAAAAAAA --away 3-5 --cube 2
      bgdata probe CgAAEAEAAAAAAA --bd gnubg_ts0.bd --format csv
    """
    from bgdata.commands.probe import print_probe
    from bgdata.commands.probe_match import match_stakes, print_match_probe

    stakes = match_stakes(position, options)
    if stakes is None:
        print_probe(warehouse, position, gnubg_files, form)
        return
    if gnubg_files:
        raise UsageError("expected --bd in money play only, got it at a match score")
    print_match_probe(warehouse, position, stakes, options["met"], form)


@click.command(name="cube-life")
@click.option("--points", default=6, show_default=True, metavar="N", help="Number of points.")
@click.option("--checkers", default=6, show_default=True, metavar="N", help="Number of checkers.")
@plot_option
@format_option
@click.pass_obj
def cube_life(warehouse: Warehouse, points: int, checkers: int, plot: Path | None, form: str) -> None:
    """Say how alive the cube is in solved bearoffs.

    That is which cube life index makes Janowski's model exact in money play, and what decisions by it lose. The atlas
    has every pair of layouts of up to 6 checkers; one of another size is built first.

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
    print_atlas(table, form)


COMMANDS = (probe, cube_life)
