"""Rows of the report on a player of analysed matches, and the charts of a player's course."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from bgdata.game.board_svg import WIDTH, format_board_svg, short_name
from bgdata.matches.questions import RowsOf
from bgdata.matches.quiz import ANSWER, Question
from bgdata.rows import COUNT, LOSS, Column, Quantity, Row
from bgdata.store.names import sql_text
from bgdata.training.rows import Chart, Line

RATING, LUCK = Quantity(1), Quantity(3, sign="+")
# parts of a report, with the column that names the rows of each part
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
SURE = 1.96  # half of a 95 % interval, in standard errors
AVERAGE = 5  # number of matches in a moving average


def decisions_of(names: Sequence[str], analysis: str, source: str, since: str = "") -> str:
    """Return the SQL of all decisions of an analysis, a variant of match_analysis. The column `is_own` marks those of
    the player who has these names. `away` is the number of points that the player who decides needs; for answers, this
    is the player who takes or passes. `date` is the date of the match by the import `source`, as by `import_of`; null
    if the file gives none. `since` leaves out matches before this date, and matches without a date."""
    own = ", ".join(f"player_named({sql_text(name)})" for name in names)
    return f"""
        select match_analysis.* replace (
                player_named(player_name) as player_name, player_named(other_name) as other_name,
                if(subject = 'answer', opponent_away, away) as away,
                if(subject = 'answer', away, opponent_away) as opponent_away),
            player_named(match_analysis.player_name) in ({own}) as is_own, date
        from match_analysis left join (
            select match, iso_date(date) as date from imported_matches where 'matches/' || variant = {sql_text(source)}
        ) using (match)
        where variant = {sql_text(analysis)}{f" and date >= {sql_text(since)}" if since else ""}"""


def report_rows(rows_of: RowsOf, decisions: str) -> list[Row]:
    """Return the rows of all parts of the report on a player, with the greatest losses of each part first, and rows
    about all players; empty if the player made no decision. The rows of matches are ordered by date, then by number.
    `margin` is half of the 95 % interval of the rating. `decisions` is the SQL of `decisions_of`."""
    named = ", ".join(f"{{part: '{part}', name: {name}}}" for part, name in PARTS.items())
    found = rows_of(
        f"""with decisions as materialized ({decisions}),
        named as (select *, unnest([{named}], recursive := true) from decisions),
        summed as (
            select part, name, is_own, min(date) as date,
                count(*) filter (where is_decision) as decisions,
                sum(loss) as loss,
                1000 * {SURE} * stddev_samp(loss) filter (where is_decision)
                    / sqrt(count(*) filter (where is_decision)) as margin,
                count(*) filter (where counts_for_pr) as pr_decisions,
                sum(loss) filter (where counts_for_pr) as pr_loss,
                coalesce(sum(luck), 0) as luck
            from named group by all
        )
        select own.part, own.name, own.decisions, own.loss,
            1000 * own.loss / nullif(own.decisions, 0) as performance_rating,
            own.margin,
            500 * own.pr_loss / nullif(own.pr_decisions, 0) as pr,
            own.luck,
            1000 * other.loss / nullif(other.decisions, 0) as field_rating
        from summed own left join (from summed where not is_own) other using (part, name)
        where own.is_own
        order by list_position({list(PARTS)}, own.part), if(own.part = 'match', own.date, null) nulls last,
            if(own.part = 'match', 0, own.loss) desc, own.name"""
    )
    return [*found, *field_rows(rows_of, decisions)] if found else []


def worst_rows(rows_of: RowsOf, decisions: str, count: int) -> Sequence[Row]:
    """Return the player's decisions that lost most, at most `count`, with their rollouts if errors were rolled out.
    `decisions` is the SQL of `decisions_of`."""
    return rows_of(
        f"""select d.*, rollout_best, rollout_loss, rollout_standard_error, rollout_level
        from ({decisions} and loss > 0) d left join (select distinct on (xgid, subject, made) * from my_errors) e
            using (xgid, subject, made)
        where is_own order by d.loss desc, d.game, d.turn limit {count}"""
    )


def answer_board(row: Row, prefix: str, width: int = WIDTH) -> str:
    """Return a picture of an answer to a double that was an error, as the player who was doubled sees it; empty for
    other errors. `prefix` begins the identifiers in the picture."""
    if row["subject"] != ANSWER:
        return ""
    position, stakes, _ = Question(str(row["xgid"]), ANSWER, 0.0, "").view
    names = short_name(str(row["player_name"])), f"{short_name(str(row['other_name']))}, doubles"
    return format_board_svg(position, stakes=stakes, names=names, prefix=prefix, width=width)


def field_rows(rows_of: RowsOf, decisions: str) -> Sequence[Row]:
    """Return a row for each player in the analysis, the best first. `decisions` is the SQL of `decisions_of`."""
    return rows_of(
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


def trend_charts(matches: Sequence[Row]) -> list[Chart]:
    """Return charts over a player's matches in the given order: the ratings with their intervals and a moving average,
    and the sum of the player's luck so far."""
    if len(matches) < 2:
        return []
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
    return [
        Chart(title, "match", places, (Line("", ratings), Line("", averages, errors)), from_zero=True),
        Chart("sum of luck, points", "match", places, (Line("luck", sums),)),
    ]
