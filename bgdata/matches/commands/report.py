"""The report on a player of analysed matches: rows of figures, lines of text, and one page with boards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import sqrt

from bgdata.cli.output import grid, page_head, section
from bgdata.game.board_svg import format_board_svg
from bgdata.game.plays import judge_play
from bgdata.game.xgid import parse_xgid
from bgdata.rows import COUNT, LOSS, Column, Quantity, Row, table_cells, table_lines
from bgdata.warehouse import Warehouse

RATING, LUCK = Quantity(1), Quantity(3, sign="+")
# parts of a report: what the rows of each are named by
PARTS = {
    "all": "'all'",
    "match": "format('{:03d} against {}', match + 1, if(is_own, other_name, player_name))",
    "opponent": "if(is_own, other_name, player_name)",
    "decision": "subject",
    "error": "coalesce(error, 'none')",
    "theme": "coalesce(theme, 'over')",
    "phase": "class",
    "score": "coalesce(format('{}-away against {}-away', away, opponent_away), 'money')",
}
FIGURES = (
    Column("name", heading=""),
    Column("decisions", COUNT),
    Column("loss", LOSS),
    Column("performance_rating", RATING, heading="rating"),
    Column("margin", RATING, heading="+/-"),
    Column("pr", RATING, heading="PR"),
    Column("luck", LUCK),
    Column("field_rating", RATING, heading="others' rating"),
)
ROLLOUT = (
    Column("rollout_loss", LOSS, heading="by rollout"),
    Column("rollout_standard_error", LOSS, heading="s.e."),
    Column("rollout_best", heading="best by rollout"),
)
SURE = 1.96  # standard errors of an interval that holds in 95 of 100 cases
AVERAGE = 5  # matches of a moving average
BOARD_WIDTH = 440  # pixels
CHART_STYLE = """<style>
.chart { max-width: 30rem; } .chart text { font-size: 11px; fill: var(--soft); }
.chart .title { font-size: 13px; fill: var(--ink); } .chart .left { text-anchor: end; }
.chart .below { text-anchor: middle; } .chart .rule { stroke: var(--rule); }
.chart .main, .chart .other { fill: none; stroke: var(--second); stroke-width: 2; }
.chart .other { stroke: var(--soft); stroke-dasharray: 5 3; stroke-width: 1.5; }
.chart .band { fill: var(--second); opacity: 0.2; }
</style>"""


def part_rows(warehouse: Warehouse, decisions: str, part: str) -> Sequence[Row]:
    """The rows of a part of the report, those with the greatest losses first; matches in order. `margin` is half of the
    95 % interval of the rating."""
    order = "name" if part == "match" else "loss desc, name"
    return warehouse.rows(
        f"""with summed as (
            select {PARTS[part]} as name, is_own,
                count(*) filter (where is_decision) as decisions,
                sum(loss) as loss,
                1000 * {SURE} * stddev_samp(loss) filter (where is_decision)
                    / sqrt(count(*) filter (where is_decision)) as margin,
                count(*) filter (where counts_for_pr) as pr_decisions,
                sum(loss) filter (where counts_for_pr) as pr_loss,
                coalesce(sum(luck), 0) as luck
            from ({decisions}) group by all
        )
        select '{part}' as part, own.name, own.decisions, own.loss,
            1000 * own.loss / nullif(own.decisions, 0) as performance_rating,
            own.margin,
            500 * own.pr_loss / nullif(own.pr_decisions, 0) as pr,
            own.luck,
            1000 * other.loss / nullif(other.decisions, 0) as field_rating
        from summed own left join (from summed where not is_own) other using (name)
        where own.is_own order by {order}""",
    )


def field_rows(warehouse: Warehouse, decisions: str) -> Sequence[Row]:
    """A row for each player of the analysis, the best first."""
    return warehouse.rows(
        f"""select 'field' as part, player_name as name,
            count(*) filter (where is_decision) as decisions,
            sum(loss) as loss,
            1000 * sum(loss) / nullif(count(*) filter (where is_decision), 0) as performance_rating,
            1000 * {SURE} * stddev_samp(loss) filter (where is_decision)
                / sqrt(count(*) filter (where is_decision)) as margin,
            500 * sum(loss) filter (where counts_for_pr) / nullif(count(*) filter (where counts_for_pr), 0) as pr,
            coalesce(sum(luck), 0) as luck,
            null::double as field_rating
        from ({decisions}) group by player_name order by performance_rating nulls last, name"""
    )


def report_lines(player: str, figures: Sequence[Row], worst: Sequence[Row]) -> Iterator[str]:
    """The report as text."""
    yield f"decisions of {player}"
    for part in (*PARTS, "field"):
        if rows := [row for row in figures if row["part"] == part]:
            yield from ("", "all players" if part == "field" else f"by {part}") if part != "all" else ()
            yield from table_lines(FIGURES, rows)
    if worst:
        texts = [Column(name) for name in ("made", "best", "xgid")]
        rolled_out = ROLLOUT if any(row["rollout_loss"] is not None for row in worst) else ()
        columns = (Column("loss", LOSS), *texts[:2], *rolled_out, texts[2])
        yield from ("", f"the {len(worst)} worst errors")
        yield from table_lines(columns, worst)


def format_report(player: str, figures: Sequence[Row], worst: Sequence[Row]) -> str:
    """The report as a page with charts and boards."""
    parts = [*page_head(f"Decisions of {player}"), CHART_STYLE]
    for part in (*PARTS, "field"):
        rows = [row for row in figures if row["part"] == part]
        title = {"all": "In all matches", "field": "All players"}.get(part, f"By {part}")
        parts += section(title, table_cells(FIGURES, rows))
        if part == "all":
            parts += trend([row for row in figures if row["part"] == "match"])
    parts.append(
        '<p class="soft">rating: thousandths of a point lost per decision; +/-: half of its 95 % interval; PR: '
    )
    parts.append("500ths of a point by the rules of eXtreme Gammon; luck in points; others: all other players</p>")
    if worst:
        parts.append("<h2>Worst errors</h2>")
    for number, row in enumerate(worst, 1):
        parts += error_parts(row, f"error-{number}")
    return "\n".join([*parts, "</body></html>"]) + "\n"


def trend(matches: Sequence[Row]) -> Iterator[str]:
    """Charts of the ratings of matches in order, with their intervals and a moving average, and of the sum of luck."""
    from bgdata.training.rows import Chart, Line
    from bgdata.web.charts import chart_svg

    if len(matches) < 2:
        return
    places = list(range(1, len(matches) + 1))
    ratings = [row["performance_rating"] or 0.0 for row in matches]
    averages, errors = [], []
    for place in places:
        recent = matches[max(0, place - AVERAGE) : place]
        count = sum(row["decisions"] for row in recent) or 1
        averages.append(1000 * sum(row["loss"] for row in recent) / count)
        spread = (row["decisions"] ** 2 * (row["margin"] or 0.0) ** 2 for row in recent)
        errors.append(sqrt(sum(spread)) / count)
    luck, sums = 0.0, []
    for row in matches:
        luck += row["luck"]
        sums.append(luck)
    title = f"rating, and mean of {AVERAGE} matches (95 %)"
    yield '<div class="charts">'
    yield chart_svg(Chart(title, "match", places, (Line("", ratings), Line("", averages, errors)), from_zero=True))
    yield chart_svg(Chart("sum of luck, points", "match", places, (Line("luck", sums),)))
    yield "</div>"


def error_parts(row: Row, name: str) -> Iterator[str]:
    """The HTML elements of an error: the board with what was done, and, if it is a play, the board with the best play.
    `name` is the prefix of the boards' identifiers."""
    found = parse_xgid(str(row["xgid"]))
    roll, stakes = found.match.roll, found.match.stakes
    is_play = row["subject"] == "play" and roll is not None
    where = f"match {row['match'] + 1}, game {row['game_number']}, turn {row['turn_number']}: {row['player_name']}"
    yield f"<h3>{escape(where)} loses {row['loss']:.3f}</h3>"
    yield '<div class="charts">'
    for which in ("made", "best") if is_play else ("made",):
        play = judge_play(str(row[which]), found.position, roll).play if is_play else None
        yield f"<div><p>{which}: {escape(str(row[which]))}</p>" if is_play else "<div>"
        yield format_board_svg(
            found.position, roll=roll if is_play else None, play=play, stakes=stakes, width=BOARD_WIDTH,
            prefix=f"{name}-{which}-",
        )  # fmt: skip
        yield "</div>"
    yield "<div>"
    facts = {"made": row["made"], "best": row["best"], "error": row["error"], "theme": row["theme"]}
    if row["rollout_loss"] is not None:
        error = f"{LOSS.text(row['rollout_loss'])}, standard error {LOSS.text(row['rollout_standard_error'])}"
        facts |= {"loss by rollout": error, "best by rollout": row["rollout_best"], "level": row["rollout_level"]}
    yield from grid([("", ""), *((key, str(value)) for key, value in facts.items())])
    yield f"<p><code>{escape(str(row['xgid']))}</code></p></div></div>"
