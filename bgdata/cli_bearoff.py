"""Commands about solved bearoffs."""

from __future__ import annotations

from pathlib import Path

import click

from bgdata.store.warehouse import Warehouse


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


COMMANDS = (cube_life,)
