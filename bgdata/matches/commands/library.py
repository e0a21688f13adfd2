"""`bgdata matches`: the imported matches, and a report of a player's decisions in them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from bgdata.cli.options import format_option
from bgdata.cli.output import show_rows
from bgdata.errors import MissingTableError, UsageError, cite
from bgdata.matches.commands.analyze import errors_option, page_option
from bgdata.matches.commands.report import format_report, report_lines
from bgdata.matches.rows import decisions_of, report_rows, worst_rows
from bgdata.rows import COUNT, Column, table_lines
from bgdata.store.storage import write_file
from bgdata.warehouse import Warehouse

LIBRARY = """
select date, player_0, player_1, match_length, n_games, event, place, source, imports from library
where date >= $since or $since = ''
"""
LIBRARY_COLUMNS = (
    *(Column(name) for name in ("date", "player_0", "player_1")),
    *(Column(name, COUNT) for name in ("match_length", "n_games")),
    *(Column(name) for name in ("event", "place", "source")),
)

analysis_option = click.option("--analysis", metavar="NAME", help="Variant of match_analysis.  [default: the only one]")


@click.command()
@click.argument("player", required=False)
@click.option("--alias", "aliases", multiple=True, metavar="NAME", help="Another name of the PLAYER.  [default: none]")
@analysis_option
@click.option(
    "--since",
    metavar="DATE",
    help="Leave out matches before this date, such as 2026-11-30, and those without a date.  [default: none]",
)
@errors_option
@page_option
@format_option
@click.pass_obj
def matches(
    warehouse: Warehouse,
    /,
    player: str | None,
    aliases: tuple[str, ...],
    analysis: str | None,
    since: str | None,
    errors: int,
    page: Path | None,
    form: str,
) -> None:
    """List the imported matches, or report on a PLAYER.

    Without PLAYER, every imported match is listed once, whatever the number of files and imports it is in. PLAYER is a
    name in the analysed matches, or an alias in players.toml of the warehouse: `bgdata build match_analysis --set
    source=matches/NAME` analyses them. The report says what the decisions of the player lost, by match, opponent,
    decision, error, theme, phase and score, beside the rating of all other players. The rating is in thousandths of a
    point, +/- half of its 95 % interval, PR in 500ths of a point by the rules of eXtreme Gammon. `bgdata build
    match_rollouts --set source=match_analysis/NAME` rolls out errors, which the report then shows too.

    \b
      bgdata matches
      bgdata matches ann --page ann.html --since 2026-11-01
      bgdata matches ann --alias "Ann B." --format json
    """
    from bgdata.matches.steps import import_of

    first = iso_day(since) if since is not None else ""
    if player is None:
        if page or aliases or analysis:
            raise UsageError("expected a PLAYER with --page, --alias and --analysis, got none")
        found = warehouse.rows(LIBRARY, {"since": first})
        show_rows(found, form, table_lines(LIBRARY_COLUMNS, found))
        return
    names = (player, *aliases)
    chosen = chosen_analysis(warehouse, analysis)
    decisions = decisions_of(names, chosen, import_of(warehouse, chosen), first)
    figures = report_rows(warehouse.rows, decisions)
    if not figures:
        when = f" since {first}" if first else ""
        raise MissingTableError(
            f"no analysed decisions of {cite(player)}{when} in {warehouse.root}; try: bgdata matches"
        )
    worst = worst_rows(warehouse.rows, decisions, errors)
    if page:
        write_file(page, format_report(player, figures, worst).encode())
    show_rows(figures, form, report_lines(player, figures, worst))


def iso_day(text: str) -> str:
    """Return the date in a text such as 2026-11-30, in the same form. Raises UsageError if the text is not a date."""
    try:
        return str(date.fromisoformat(text))
    except ValueError:
        raise UsageError(f"expected --since with a date such as 2026-11-30, got {cite(text)}") from None


def chosen_analysis(warehouse: Warehouse, analysis: str | None) -> str:
    """Return the variant of match_analysis called `analysis`, or the only one if no name is given. Raises
    MissingTableError if there is no analysis, and UsageError if there are several and no name is given."""
    variants = warehouse.variants("match_analysis")
    if not variants:
        step = "bgdata build match_analysis --set source=matches/NAME"
        raise MissingTableError(f"no analysis of matches in {warehouse.root}; try: {step}")
    if analysis is None and len(variants) > 1:
        raise UsageError(f"expected --analysis with one of {', '.join(variants)}, got none")
    chosen = analysis or variants[0]
    if chosen not in variants:
        raise MissingTableError(f"no match_analysis/{cite(chosen)} in {warehouse.root} (have: {', '.join(variants)})")
    return chosen
