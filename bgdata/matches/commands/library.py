"""`bgdata matches`: the imported matches, and a report of a player's decisions in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from bgdata.cli.options import format_option
from bgdata.cli.output import show_rows
from bgdata.errors import MissingTableError, UsageError, cite
from bgdata.matches.commands.analyze import errors_option, page_option
from bgdata.matches.commands.report import PARTS, field_rows, format_report, part_rows, report_lines
from bgdata.rows import COUNT, Column, table_lines
from bgdata.store.names import sql_text
from bgdata.store.storage import write_file
from bgdata.warehouse import Warehouse

LIBRARY = "select date, player_0, player_1, match_length, n_games, event, place, source, imports from library"
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
      bgdata matches ann --page ann.html
      bgdata matches ann --alias "Ann B." --format json
    """
    if player is None:
        if page or aliases or analysis:
            raise UsageError("expected a PLAYER with --page, --alias and --analysis, got none")
        found = warehouse.rows(LIBRARY)
        show_rows(found, form, table_lines(LIBRARY_COLUMNS, found))
        return
    names = (player, *aliases)
    decisions = decisions_of(warehouse, names, analysis)
    figures = [row for part in PARTS for row in part_rows(warehouse, decisions, part)]
    if figures:
        figures += field_rows(warehouse, decisions)
    else:
        raise MissingTableError(f"no analysed decisions of {cite(player)} in {warehouse.root}; try: bgdata matches")
    worst = warehouse.rows(
        f"""select d.*, rollout_best, rollout_loss, rollout_standard_error, rollout_level
        from ({decisions} and loss > 0) d left join (select distinct on (xgid, subject, made) * from my_errors) e
            using (xgid, subject, made)
        where is_own order by d.loss desc limit {errors}"""
    )
    if page:
        write_file(page, format_report(player, figures, worst).encode())
    show_rows(figures, form, report_lines(player, figures, worst))


def decisions_of(warehouse: Warehouse, names: Sequence[str], analysis: str | None) -> str:
    """The query of all decisions of an analysis, with a column `is_own` that marks the player's decisions. Raises the
    errors of `chosen_analysis`."""
    chosen = sql_text(chosen_analysis(warehouse, analysis))
    own = ", ".join(f"player_named({sql_text(name)})" for name in names)
    return f"""
        select * replace (player_named(player_name) as player_name, player_named(other_name) as other_name),
            player_named(match_analysis.player_name) in ({own}) as is_own
        from match_analysis where variant = {chosen}"""


def chosen_analysis(warehouse: Warehouse, analysis: str | None) -> str:
    """The variant of match_analysis of this name, or the only one. Raises MissingTableError if there is no analysis,
    and UsageError if there are several and none is named."""
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
