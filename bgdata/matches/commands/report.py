"""The report on a player of analysed matches: rows of figures, lines of text, and one page with boards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from bgdata.cli.output import grid, page_head, section
from bgdata.game.board_svg import format_board_svg
from bgdata.game.plays import judge_play
from bgdata.game.xgid import parse_xgid
from bgdata.matches.rows import FIGURES, PARTS, answer_board, trend_charts
from bgdata.rows import LOSS, Column, Row, table_cells, table_lines
from bgdata.web.charts import chart_svg

ROLLOUT = (
    Column("rollout_loss", LOSS, heading="by rollout"),
    Column("rollout_standard_error", LOSS, heading="s.e."),
    Column("rollout_best", heading="best by rollout"),
)
BOARD_WIDTH = 440  # pixels
CHART_STYLE = """<style>
.chart { max-width: 30rem; } .chart text { font-size: 11px; fill: var(--soft); }
.chart .title { font-size: 13px; fill: var(--ink); } .chart .left { text-anchor: end; }
.chart .below { text-anchor: middle; } .chart .rule { stroke: var(--rule); }
.chart .main, .chart .other { fill: none; stroke: var(--second); stroke-width: 2; }
.chart .other { stroke: var(--soft); stroke-dasharray: 5 3; stroke-width: 1.5; }
.chart .band { fill: var(--second); opacity: 0.2; }
</style>"""


def report_lines(player: str, figures: Sequence[Row], worst: Sequence[Row]) -> Iterator[str]:
    """Yield the report on a player as lines of text. `figures` are the rows of its parts, `worst` the rows of the worst
    errors."""
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
    """Return the report on a player as an HTML page with charts and boards."""
    parts = [*page_head(f"Decisions of {player}"), CHART_STYLE]
    for part in (*PARTS, "field"):
        rows = [row for row in figures if row["part"] == part]
        title = {"all": "In all matches", "field": "All players"}.get(part, f"By {part}")
        parts += section(title, table_cells(FIGURES, rows))
        if part == "all":
            charts = trend_charts([row for row in figures if row["part"] == "match"])
            parts += ['<div class="charts">', *map(chart_svg, charts), "</div>"] if charts else []
    parts.append(
        '<p class="soft">rating: thousandths of a point lost per decision; +/-: half of its 95 % interval; PR: '
    )
    parts.append("500ths of a point by the rules of eXtreme Gammon; luck in points; others: all other players</p>")
    if worst:
        parts.append("<h2>Worst errors</h2>")
    for number, row in enumerate(worst, 1):
        parts += error_parts(row, f"error-{number}")
    return "\n".join([*parts, "</body></html>"]) + "\n"


def error_parts(row: Row, name: str) -> Iterator[str]:
    """Yield the HTML elements of an error: the board with the action taken, and, for a play, the board with the best
    play. `name` is the prefix of the boards' identifiers."""
    found = parse_xgid(str(row["xgid"]))
    roll, stakes = found.match.roll, found.match.stakes
    is_play = row["subject"] == "play" and roll is not None
    where = f"match {row['match'] + 1}, game {row['game_number']}, turn {row['turn_number']}: {row['player_name']}"
    yield f"<h3>{escape(where)} loses {row['loss']:.3f}</h3>"
    yield '<div class="charts">'
    for which in ("made", "best") if is_play else ("made",):
        play = judge_play(str(row[which]), found.position, roll).play if is_play else None
        yield f"<div><p>{which}: {escape(str(row[which]))}</p>" if is_play else "<div>"
        yield answer_board(row, f"{name}-", BOARD_WIDTH) or format_board_svg(
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
