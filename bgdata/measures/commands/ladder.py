"""`bgdata ladder`: ratings of players with confidence intervals, from stored games."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from bgdata.cli.charts import GREY, LOOKS, new_figure, write_figure
from bgdata.cli.completion import complete_players
from bgdata.cli.options import executor_option, format_option, games_option, plot_option, seed_option, threads_option
from bgdata.cli.output import show_rows
from bgdata.measures.kinds.ladder import PLAYS, match_length
from bgdata.rows import COUNT, Column, Quantity, Row, table_lines
from bgdata.store.names import parquet_source
from bgdata.store.progress import progress_bars
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

RATING = Quantity(3, sign="+")
EDGE = -0.3  # the picture shows lower ratings as numbers only


@click.command()
@click.argument("players", nargs=-1, shell_complete=complete_players)
@click.option(
    "--for",
    "plays",
    multiple=True,
    default=("cubeless",),
    show_default=True,
    metavar="PLAY",
    help=f"What is played for: {PLAYS}, such as match-5. Can be given several times.",
)
@games_option(None, "60 of each pairing, 40 for money, 10 matches")
@click.option("--alone", is_flag=True, help="Rate only these players, not those that the ladder has.")
@seed_option(1)
@plot_option
@executor_option
@threads_option
@format_option
@click.pass_obj
def ladder(
    warehouse: Warehouse,
    /,
    players: tuple[str, ...],
    plays: tuple[str, ...],
    plot: Path | None,
    form: str,
    **options: Any,
) -> None:
    """Rate PLAYERS by the games of all pairings.

    A rating is points per game, of matches wins minus losses, against the network that comes with bgdata, which is
    rated 0. All players play each other: each sequence of dice twice with the sides swapped, and the luck of every
    roll, as that network measures it, is subtracted. PLAYERS such as network/NAME, gnubg:1 (at 1-ply), mine.onnx or
    mine.ubgi are added to those that the ladder has; a new ladder begins with all installed players.

    With a cube, players choose plays by cubeless equity, and turn the cube by Janowski's model and their own chances;
    players that do not evaluate positions are left out. Games are kept in the tables `game_scores` and
    `cubeful_scores`: a stopped command, run again, goes on, and a new player costs only its own games. The tables are
    `ladder` and `ladder_pairings`.

    \b
      bgdata ladder
      bgdata ladder gnubg:2 mine.onnx --for cubeless --for match-5 --plot ladder.png
      bgdata ladder network gnubg --alone --games 1000
      bgdata query "from ladder_by_play"
    """
    from bgdata.measures.steps.ladder import DEFAULT_PLAYERS, build_ladder, ladder_players
    from bgdata.measures.steps.scores import opponent_of

    for play in plays:
        match_length(play)
    tables = []
    for play in dict.fromkeys(plays):
        given = [opponent_of(player) for player in players]
        before = [] if options["alone"] else ladder_players(warehouse, play) or list(DEFAULT_PLAYERS)
        with progress_bars() as progress:
            table, left_out = build_ladder(
                warehouse, [*before, *given], play, options["games"], options["seed"], progress
            )
        for line in left_out:
            click.echo(f"left out of {play}: {line}", err=True)
        tables.append((play, table))
    query = "from {} order by rank"  # rows of this version, best player first
    rows = {play: warehouse.rows(query.format(parquet_source(table.parquet)), {}) for play, table in tables}
    lines = ("\n".join(ladder_lines(table, rows[play])) for play, table in tables)
    show_rows(({"play": play, **row} for play, found in rows.items() for row in found), form, ["\n\n".join(lines)])
    if plot is not None:
        draw_ladders(rows, plot)


def short_name(row: Row) -> str:
    """Return the short name of a player with its ply, such as `diverse-19 1-ply`."""
    name = str(row["player_name"]).removeprefix("network/")
    return f"{Path(name).name} {row['ply']}-ply"


def ladder_lines(table: Table, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the ladder as lines of text: a line of figures for each player, and how well the ratings fit the games."""
    found = table.manifest.statistics
    unit = "matches" if table.manifest.parameters["play"].startswith("match") else "games"
    columns = (
        Column("rank", COUNT, "", width=3),
        Column("player", width=22),
        Column("rating", RATING, width=7),
        Column("interval", heading="95 % interval", width=16, is_right=True),
        Column("games", COUNT, unit, width=7),
    )

    def interval(row: Row) -> str:
        return f"{RATING.text(row['rating_low'])} {RATING.text(row['rating_high'])}" if row["rating_error"] else "fixed"

    yield f"{table.name}: {found['games']:,.0f} {unit} of {found['pairings']:.0f} pairings"
    yield from table_lines(columns, ({**row, "player": short_name(row), "interval": interval(row)} for row in rows))
    freedom = found["degrees_of_freedom"]
    yield f"chi-square {found['chi_square']:.1f} with {freedom:.0f} degrees of freedom"


def draw_ladders(ladders: Mapping[str, Sequence[Row]], path: Path) -> None:
    """Write a picture of the ratings with their 95 % intervals, one chart for each kind of play, the best player on
    top. Raises StorageError if it cannot be written."""
    most = max(map(len, ladders.values()))
    with new_figure(3.6 * len(ladders) + 0.6, 0.26 * most + 1.2) as figure:
        panels = figure.subplots(1, len(ladders), squeeze=False)[0]
        for axes, (play, rows), (colour, marker) in zip(panels, ladders.items(), LOOKS * len(ladders), strict=False):
            for place, row in enumerate(reversed(rows)):
                if row["rating"] < EDGE:  # to scale, this rating would squeeze all others together
                    where = axes.get_yaxis_transform()
                    axes.text(0.02, place, f"← {row['rating']:+.2f}", transform=where, color=colour, va="center")
                    continue
                width = row["rating_high"] - row["rating"]
                axes.errorbar(row["rating"], place, xerr=width, fmt=marker, color=colour, capsize=2)
            axes.axvline(0, color=GREY, linewidth=0.8)
            axes.locator_params(axis="x", nbins=5)
            axes.set_yticks(range(len(rows)), [short_name(row) for row in reversed(rows)])
            axes.set_ylim(-0.6, len(rows) - 0.4)
            axes.set_title(play)
            axes.set_xlabel("wins minus losses" if play.startswith("match") else "points per game")
        figure.suptitle("Ratings against the network of the package, with 95 % intervals")
        write_figure(figure, path)
