"""`bgdata analyze`: luck, errors and performance ratings of recorded matches, with the cube."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgdata.cli.completion import complete_tables
from bgdata.cli.defaults import find_met_or_file, open_player
from bgdata.cli.options import (
    OUTPUT,
    beavers_option,
    format_option,
    jacoby_option,
    met_option,
    network_option,
    plot_option,
    ply_option,
)
from bgdata.cli.output import write_rows
from bgdata.errors import UsageError
from bgdata.store.progress import progress_bars
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.evaluation.lookahead_player import LookaheadPlayer
    from bgdata.matches.commands.analysis_rows import MatchAnalysis


errors_option = click.option(
    "--errors",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    metavar="N",
    help="Maximum number of errors listed.",
)
page_option = click.option(
    "--page", type=OUTPUT, metavar="FILE", help="Write a self-contained page with boards, as HTML."
)


@click.command()
@click.argument("match", shell_complete=complete_tables)
@network_option
@ply_option(3, default=1)
@met_option
@jacoby_option
@beavers_option
@click.option("--by-game", is_flag=True, help="One row for each game, not each turn.")
@click.option("--by-player", is_flag=True, help="One row for each player, not each turn.")
@errors_option
@page_option
@format_option
@plot_option
@click.pass_obj
def analyze(
    warehouse: Warehouse, /, match: str, form: str, page: Path | None, plot: Path | None, **options: Any
) -> None:
    """Judge the luck, plays and cube actions of a MATCH.

    MATCH is a file (.mat, .sgf, .xg, .bgf, .ogxm), - for standard input, or matches/NAME of the warehouse. Values are
    match winning chances (mwc), or points in money play, with the cube: chances by the network, --ply rolls ahead, then
    Janowski's model of the cube. The luck of a roll is its value minus the mean over all rolls. The performance rating
    is what decisions lost, in thousandths of a point of normalised equity; plays count unless they are forced, cube
    actions if they are close or taken.

    Repairs of a record, and missing parts of a match, are reported on standard error, and in the column notes of games
    and players.

    Money play is judged by the Jacoby rule where the record says so (RU[Jacoby] in .sgf, ; [Jacoby "On"] in .mat), and
    with beavers in sessions where somebody beavers; --jacoby, --beavers and their opposites count for more.

    \b
      bgdata analyze game.mat
      bgdata analyze game.mat --ply 2 --page game.html
      bgdata analyze matches/mine --by-player --format csv
    """
    from bgdata.matches.commands.analysis_page import draw_analysis, write_page
    from bgdata.matches.commands.analysis_rows import describe_match, game_row, player_rows, turn_row

    if options["by_game"] and options["by_player"]:
        raise UsageError("expected one of --by-game and --by-player, got both")
    found = analyse(
        warehouse, match, options, open_player(warehouse, options["network"], options["ply"], endgames=False)
    )
    if plot:
        draw_analysis(found, plot)
    if page:
        write_page(found, page, options["errors"])
    if form == "table":
        is_short = options["by_game"] or options["by_player"]
        texts = (
            describe_match(each, options["errors"], with_turns=not is_short, with_games=not options["by_player"])
            for each in found
        )
        click.echo("\n\n".join(texts))
    elif options["by_player"]:
        write_rows((row for each in found for row in player_rows(each)), form)
    elif options["by_game"]:
        write_rows((game_row(each, game) for each in found for game in each.games), form)
    else:
        write_rows((turn_row(each, turn) for each in found for turn in each.turns), form)


def analyse(
    warehouse: Warehouse, source: str, options: Mapping[str, Any], player: LookaheadPlayer
) -> list[MatchAnalysis]:
    """Judge the matches of a file, or of an imported version, by a player. Raises InvalidGameError if a game breaks a
    rule, UsageError or InvalidScoreError if options do not fit the score, MissingTableError if the version is missing,
    and StorageError if the file cannot be read."""
    from bgdata.equity.cube import CubeRules
    from bgdata.matches.commands.analysis_rows import analysed_matches
    from bgdata.matches.situations import replayed_situations
    from bgdata.matches.steps import judge_all, matches_at

    matches = matches_at(warehouse, source)
    lengths = [match.length for match in matches]
    if lengths and not any(lengths) and options["met"]:
        raise UsageError("expected a match with --met, got money play")
    for name in ("jacoby", "beavers"):
        if options[name] and lengths and all(lengths):
            raise UsageError(f"expected money play with --{name}, got a match to {lengths[0]}")
    found = replayed_situations(matches, source, is_jacoby=options["jacoby"])
    met = find_met_or_file(warehouse, options["met"]) if any(match.length for match in matches) else None
    with progress_bars() as progress:
        rules, as_played = CubeRules(met=met, has_beavers=bool(options["beavers"])), options["beavers"] is None
        judged = judge_all(player, rules, found, progress, beavers_as_played=as_played)
    analysed = analysed_matches(judged, player.label)
    for each in analysed:
        print_notes(each.players, each.notes)
    return analysed


def print_notes(players: Sequence[str], notes: Iterable[Sequence[str]]) -> None:
    """Print notes on a match to standard error: repairs of its record, and missing games, whose results are not
    included in the sums."""
    for note in (note for found in notes for note in found):
        click.echo(f"note on {players[0]} against {players[1]}: {note}", err=True)
