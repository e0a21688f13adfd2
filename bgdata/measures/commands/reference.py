"""`bgdata reference` rolls out positions of every theme, on which players are measured; `bgdata check-reference` rolls
out a sample of them again with another player."""

from __future__ import annotations

from typing import Any

import click

from bgdata.cli.completion import complete_players
from bgdata.cli.options import executor_option, format_option, reference_option, rollout_options, threads_option
from bgdata.cli.output import build_version, show_rows
from bgdata.measures.kinds.reference_checks import DATASET as CHECKS
from bgdata.measures.kinds.reference_checks import ReferenceCheckParameters
from bgdata.measures.kinds.reference_positions import DATASET, THEMES, ReferenceParameters
from bgdata.rows import COUNT, EQUITY, LOSS, Column, Quantity, table_lines
from bgdata.selfplay.commands.labels import roller_parameters, unreached_text
from bgdata.store.parameters import VersionRef
from bgdata.warehouse import Warehouse

CHECKED = """
select theme, positions, mean_difference, mean_standard_error, rms_difference, rms_standard_error, rms_z_score, beyond_3
from reference_check_summary
where variant = $variant
order by theme = 'all', theme
"""
THEME_COLUMNS = (
    Column("theme", width=26),
    Column("positions", COUNT),
    Column("mean_standard_error", LOSS),
    Column("games", COUNT, width=12),  # games of the rollouts
    Column("source_games", COUNT, "found in games"),  # games searched for the positions
)
CHECK_COLUMNS = (
    Column("theme", width=24),
    Column("positions", COUNT),
    Column("mean_difference", EQUITY, error="mean_standard_error", width=19),
    Column("rms_difference", LOSS, "RMS difference"),
    Column("rms_standard_error", LOSS, "by dice alone"),
    Column("rms_z_score", Quantity(2), "RMS z-score"),
    Column("beyond_3", COUNT),
)


@click.command()
@click.option(
    "--positions",
    default=ReferenceParameters.positions,
    show_default=True,
    type=click.IntRange(2),
    metavar="N",
    help="Number of positions of each theme, half for validation and half for test.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="PLAYER[+PLAYER]",
    help="Players of the games: network, pubeval, random or network/NAME/VERSION; can be given several times.  "
    f"[default: {', '.join(ReferenceParameters.sources)}]",
)
@click.option(
    "--most-games",
    default=ReferenceParameters.most_games,
    show_default=True,
    type=click.IntRange(1),
    metavar="N",
    help="Maximum number of games that positions are looked for in.",
)
@rollout_options
@executor_option
@threads_option
@format_option
@click.pass_obj
def reference(warehouse: Warehouse, /, network: str, form: str, **options: Any) -> None:
    """Make reference positions of every theme, rolled out.

    Themes are kinds of games, such as blitz or back-game-on-roll; there are as many positions of each. They come from
    games of several players, begun anywhere, some with checkers moved at random. Half of them, by game, are for
    validation, half for test; the training feed leaves all of them out. Each is rolled out until its standard error is
    at most 0.007 points, or what --until says: some hours for the default number. A stopped command,
    run again, rolls out only the missing ones; the positions are the same from any executor and any number of threads.

    \b
      bgdata reference
      bgdata reference --positions 20 --until 0.02 --source network --source pubeval+random
      bgdata query "select theme, count(*) from reference_positions group by theme"
    """
    roller = roller_parameters(warehouse, network, options, ReferenceParameters.until)
    parameters = ReferenceParameters(
        **roller,
        positions=options["positions"],
        sources=options["sources"] or ReferenceParameters.sources,
        most_games=options["most_games"],
        seed=options["seed"],
    )
    table = build_version(warehouse, DATASET, parameters)
    statistics = table.manifest.statistics
    rows = [
        {
            "theme": theme,
            "positions": round(statistics[f"{name}_positions"]),
            "mean_standard_error": statistics[f"{name}_mean_standard_error"],
            "reached_share": statistics[f"{name}_reached_share"],
            "games": round(statistics[f"{name}_games"]),
            "source_games": round(statistics[f"{name}_source_games"]),
        }
        for theme, name in ((theme, theme.replace("-", "_")) for theme in THEMES)
    ]
    missed = unreached_text(table.manifest.rows, "positions", statistics, parameters)
    show_rows(rows, form, ["\n".join([str(table.folder), *table_lines(THEME_COLUMNS, rows)]) + missed])


@click.command()
@click.argument("player", metavar="PLAYER[:PLY]", shell_complete=complete_players)
@reference_option
@click.option(
    "--checked",
    default=ReferenceCheckParameters.positions,
    show_default=True,
    type=click.IntRange(1),
    metavar="N",
    help="Number of positions to roll out, of each theme as many.",
)
@rollout_options
@executor_option
@threads_option
@format_option
@click.pass_obj
def check_reference(
    warehouse: Warehouse, /, player: str, reference: str, checked: int, network: str, form: str, **options: Any
) -> None:
    """Roll out a sample of the reference positions again.

    PLAYER plays both sides, with other dice. It is what `bgdata benchmark` takes: network (the one that comes with
    bgdata), network/NAME, gnubg, bgsage, pubeval; network:1 looks one roll ahead. Who plays makes a difference, and
    this says how large it is: for each theme the mean difference of the equity, the root mean square difference beside
    the one that the dice alone would make, and z-scores, differences by their standard errors. Luck is measured by
    --network, whatever PLAYER is. gnubg and bgsage are asked for every play: give them fewer positions (--checked) or
    fewer
    --trials; z-scores need hundreds, since standard errors come from blocks of 36. A stopped command, run
    again, rolls out only the missing ones.

    \b
      bgdata check-reference network:1 --trials 360
      bgdata check-reference gnubg --checked 56 --trials 360
      bgdata query "select row, equity_difference, z_score from reference_checks order by abs(z_score) desc limit 5"
    """
    from bgdata.evaluation.player import open_named_player
    from bgdata.measures.steps.scores import full_name, opponent_of
    from bgdata.measures.steps.sets import find_references

    name, ply = opponent_of(player)
    references = find_references(warehouse, reference)
    parameters = ReferenceCheckParameters(
        **roller_parameters(warehouse, network, options),
        player=full_name(name),
        ply=ply,
        version=open_named_player(full_name(name), ply, warehouse).version,
        reference=VersionRef.parse(references.name),
        positions=checked,
        seed=options["seed"],
    )
    table = build_version(warehouse, CHECKS, parameters)
    rows = warehouse.rows(CHECKED, {"variant": table.manifest.variant})
    show_rows(rows, form, [str(table.folder), *table_lines(CHECK_COLUMNS, rows)])
