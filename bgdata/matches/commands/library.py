"""`bgdata matches`: the imported matches, and a report of a player's decisions in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import click

from bgdata.cli.options import format_option
from bgdata.cli.output import grid, page_head, section, show_rows
from bgdata.errors import MissingTableError, UsageError, cite
from bgdata.game.board_svg import format_board_svg
from bgdata.game.plays import judge_play
from bgdata.game.xgid import parse_xgid
from bgdata.matches.commands.analyze import errors_option, page_option
from bgdata.rows import COUNT, LOSS, Column, Quantity, Row, table_cells, table_lines
from bgdata.store.names import sql_text
from bgdata.store.storage import write_file
from bgdata.warehouse import Warehouse

RATING, LUCK = Quantity(1), Quantity(3, sign="+")
LIBRARY = "select date, player_0, player_1, match_length, n_games, event, place, source, imports from library"
LIBRARY_COLUMNS = (
    *(Column(name) for name in ("date", "player_0", "player_1")),
    *(Column(name, COUNT) for name in ("match_length", "n_games")),
    *(Column(name) for name in ("event", "place", "source")),
)
# parts of a report: what the rows of each are named by
PARTS = {
    "all": "'all'",
    "match": "format('{:03d} against {}', match + 1, if(is_own, other_name, player_name))",
    "decision": "subject",
    "error": "coalesce(error, 'none')",
    "theme": "coalesce(theme, 'over')",
    "score": "coalesce(format('{}-away against {}-away', away, opponent_away), 'money')",
}
FIGURES = (
    Column("name", heading=""),
    Column("decisions", COUNT),
    Column("loss", LOSS),
    Column("performance_rating", RATING, heading="rating"),
    Column("pr", RATING, heading="PR"),
    Column("luck", LUCK),
    Column("field_rating", RATING, heading="others' rating"),
)
BOARD_WIDTH = 440  # pixels


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
    name in the analysed matches: `bgdata build match_analysis --set source=matches/NAME` analyses them. The report says
    what the decisions of the player lost, by match, decision, error, theme and score, beside the rating of all other
    players. The rating is in thousandths of a point, PR in 500ths of a point by the rules of eXtreme Gammon.

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
    if not figures:
        raise MissingTableError(f"no analysed decisions of {cite(player)} in {warehouse.root}; try: bgdata matches")
    worst = warehouse.rows(f"select * from ({decisions}) where is_own and loss > 0 order by loss desc limit {errors}")
    if page:
        write_file(page, format_report(player, figures, worst).encode())
    show_rows(figures, form, report_lines(player, figures, worst))


def decisions_of(warehouse: Warehouse, names: Sequence[str], analysis: str | None) -> str:
    """The query of all decisions of an analysis, with a column `is_own` that marks the player's decisions. Raises the
    errors of `chosen_analysis`."""
    chosen = sql_text(chosen_analysis(warehouse, analysis))
    own = ", ".join(sql_text(name) for name in names)
    return f"select *, player_name in ({own}) as is_own from match_analysis where variant = {chosen}"


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


def part_rows(warehouse: Warehouse, decisions: str, part: str) -> Sequence[Row]:
    """The rows of a part of the report, those with the greatest losses first; the rows of matches are in order of
    time."""
    order = "name" if part == "match" else "loss desc, name"
    return warehouse.rows(
        f"""with summed as (
            select {PARTS[part]} as name, is_own,
                count(*) filter (where is_decision) as decisions,
                sum(loss) as loss,
                count(*) filter (where counts_for_pr) as pr_decisions,
                sum(loss) filter (where counts_for_pr) as pr_loss,
                coalesce(sum(luck), 0) as luck
            from ({decisions}) group by all
        )
        select '{part}' as part, own.name, own.decisions, own.loss,
            1000 * own.loss / nullif(own.decisions, 0) as performance_rating,
            500 * own.pr_loss / nullif(own.pr_decisions, 0) as pr,
            own.luck,
            1000 * other.loss / nullif(other.decisions, 0) as field_rating
        from summed own left join (from summed where not is_own) other using (name)
        where own.is_own order by {order}""",
    )


def report_lines(player: str, figures: Sequence[Row], worst: Sequence[Row]) -> Iterator[str]:
    """The report on a player as lines of text."""
    yield f"decisions of {player}"
    for part in PARTS:
        if rows := [row for row in figures if row["part"] == part]:
            yield from ("", f"by {part}") if part != "all" else ()
            yield from table_lines(FIGURES, rows)
    if worst:
        columns = (Column("loss", LOSS), *(Column(name) for name in ("made", "best", "xgid")))
        yield from ("", f"the {len(worst)} worst errors")
        yield from table_lines(columns, worst)


def format_report(player: str, figures: Sequence[Row], worst: Sequence[Row]) -> str:
    """The report as an HTML page with boards."""
    parts = [*page_head(f"Decisions of {player}")]
    for part in PARTS:
        rows = [row for row in figures if row["part"] == part]
        title = "In all matches" if part == "all" else f"By {part}"
        parts += section(title, table_cells(FIGURES, rows))
    if worst:
        parts.append("<h2>Worst errors</h2>")
    for number, row in enumerate(worst, 1):
        parts += error_parts(row, f"error-{number}")
    return "\n".join([*parts, "</body></html>"]) + "\n"


def error_parts(row: Row, name: str) -> Iterator[str]:
    """The HTML elements of an error: the board with the best play, and what was done. Equal boards have equal
    identifiers, so `name` is put before them."""
    found = parse_xgid(str(row["xgid"]))
    roll = found.match.roll
    play = judge_play(str(row["best"]), found.position, roll).play if roll else None
    where = f"match {row['match'] + 1}, game {row['game_number']}, turn {row['turn_number']}: {row['player_name']}"
    yield f"<h3>{escape(where)} loses {row['loss']:.3f}</h3>"
    yield '<div class="charts"><div>'
    board = format_board_svg(found.position, roll=roll, play=play, stakes=found.match.stakes, width=BOARD_WIDTH)
    yield board.replace('"board-', f'"{name}-board-').replace(" board-", f" {name}-board-")
    yield "</div><div>"
    facts: dict[str, Any] = {"made": row["made"], "best": row["best"], "error": row["error"], "theme": row["theme"]}
    yield from grid([("", ""), *((key, str(value)) for key, value in facts.items())])
    yield f"<p><code>{escape(str(row['xgid']))}</code></p></div></div>"
