"""The page of the imported matches: every match once, the ratings of players, and the report on one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.requests import Request

from bgdata.errors import MissingTableError, cite
from bgdata.game.xgid import parse_xgid
from bgdata.matches.rows import FIGURES, PARTS, answer_board, decisions_of, report_rows, trend_charts, worst_rows
from bgdata.matches.steps import import_of
from bgdata.rows import table_cells, whole_rows
from bgdata.web.answer import Page, address, position_path
from bgdata.web.charts import chart_svg
from bgdata.web.position_request import integer_parameter
from bgdata.web.site import Row, Site

PAGE = 50  # matches of a page
MAX_PAGE = 99_999
MAX_PLAYERS = 100
ERRORS = 12  # worst errors of a report
SPANS = {"last week": 7, "last month": 30}  # number of days
# the score of a match after its last game, or the points won in a money session
SCORE = """if(any_value(match_length) > 0, arg_max(score_{side} + if(winner = {side}, points_won, 0), game_number),
    coalesce(sum(points_won) filter (winner = {side}), 0))::integer"""
MATCHES = f"""
with page as (
    from library where date >= $since or $since = ''
    order by date desc nulls last, variant, match limit {PAGE + 1} offset $start
), played as (
    select variant, match, min(game) as first_game,
        {", ".join(f"{SCORE.format(side=side)} as score_{side}" for side in (0, 1))}
    from games where dataset = 'matches' and (variant, match) in (select (variant, match) from page) group by all
)
from page left join played using (variant, match) order by date desc nulls last, variant, match
"""
PLAYERS = f"""
select variant as analysis, player, matches, decisions, performance_rating, pr, luck_per_game
from players order by matches desc, decisions desc, player, analysis limit {MAX_PLAYERS}
"""
ANALYSES = """
select variant as analysis from players where player = player_named($player) order by decisions desc, variant
"""
TITLES = {"all": "", "field": "All players"}


def matches(site: Site, request: Request) -> Page:
    """The page of the imported matches and the ratings of players; with the query parameter `player`, the report on
    that player's decisions."""
    number = integer_parameter(request.query_params, "page", 1, least=1, most=MAX_PAGE)
    player = request.query_params.get("player", "").strip()
    since = request.query_params.get("since", "").strip()
    if player:
        return report(site, player, request.query_params.get("analysis", "").strip(), since)
    is_there = bool(site.warehouse.variants("matches"))
    rows = site.rows(MATCHES, {"start": PAGE * (number - 1), "since": since}) if is_there else []
    players = site.keep("players of matches", lambda: site.rows(PLAYERS)) if has_analysis(site) else []
    shown_ = {"matches": rows[:PAGE], "has_more": len(rows) > PAGE, "page": number, "players": players}
    shown_ |= {"since": since, "is_any": is_there, "spans": spans("/matches", {}, since)}
    data = {"matches": whole_rows(rows[:PAGE]), "players": whole_rows(players), "report": [], "worst": []}
    return Page("library.html", shown_, data)


def has_analysis(site: Site) -> bool:
    """Return whether the warehouse contains an analysis of matches."""
    return bool(site.warehouse.variants("match_analysis"))


def spans(path: str, given: Mapping[str, object], since: str) -> list[tuple[str, str, bool]]:
    """Return links to the matches of the last week, the last month and all times, as (words, address, whether it is
    shown)."""
    today = datetime.now(UTC).date()
    dates = {words: str(today - timedelta(days)) for words, days in SPANS.items()} | {"all matches": ""}
    return [(words, address(path, {**given, "since": date}), date == since) for words, date in dates.items()]


def report(site: Site, player: str, analysis: str, since: str) -> Page:
    """The page of the report on a player, from the analysis called `analysis`; by default the analysis with most
    decisions of the player. If `since` is not empty, only matches of this date and later count. Raises
    MissingTableError if there is no such analysis."""
    analyses = [row["analysis"] for row in site.rows(ANALYSES, {"player": player})] if has_analysis(site) else []
    if not analyses or analysis not in ("", *analyses):
        by = f" in match_analysis/{cite(analysis)}" if analysis else ""
        raise MissingTableError(f"no analysed decisions of {cite(player)}{by}; see the players at /matches")
    chosen = analysis or analyses[0]
    source = site.keep(("import of", chosen), lambda: import_of(site.warehouse, chosen))
    decisions = decisions_of([player], chosen, source, since)

    def read() -> tuple[list[Row], list[Row]]:
        figures = [dict(row) for row in report_rows(site.rows, decisions)]
        return figures, [dict(row) for row in worst_rows(site.rows, decisions, ERRORS)]

    figures, worst = site.keep(("report", player, chosen, since), read)
    games = source and f"/game/{source}"
    by_part = {part: [row for row in figures if row["part"] == part] for part in (*PARTS, "field")}
    shown_ = {
        "player": player,
        "analysis": chosen,
        "since": since,
        "spans": spans("/matches", {"player": player, "analysis": chosen}, since),
        "others": [each for each in analyses if each != chosen],
        "parts": [
            (TITLES.get(part, f"By {part}"), table_cells(FIGURES, rows)) for part, rows in by_part.items() if rows
        ],
        "charts": [chart_svg(chart) for chart in trend_charts(by_part["match"])] if figures else [],
        "worst": [
            error_row(row, games) | {"drawn": answer_board(row, f"error-{number}-")} for number, row in enumerate(worst)
        ],
        "quiz": address("/quiz", {"player": player, "analysis": chosen}),
        "sql": address("/sql", {"q": f"from my_errors where variant = '{chosen}' limit 50"}),
    }
    data = {"matches": [], "players": [], "report": whole_rows(figures), "worst": whole_rows(map(error_columns, worst))}
    return Page("report.html", shown_, data)


ERROR_COLUMNS = (
    *("match", "game", "turn", "subject", "error", "theme", "xgid", "made", "best", "loss"),
    *("rollout_best", "rollout_loss", "rollout_standard_error"),
)


def error_columns(row: Mapping[str, Any]) -> Row:
    """Return the columns of an error that are part of the page's JSON."""
    return {name: row[name] for name in ERROR_COLUMNS}


def error_row(row: Row, games: str) -> Row:
    """Return an error with the addresses of its position, of its turn in the game, and of pictures of the play made and
    the best play. `games` is the address of the games."""
    position, is_play = position_path(row["xgid"]), row["subject"] == "play"
    picture = f"/board{position.removeprefix('/position')}"
    plays: Sequence[str] = (row["made"], row["best"]) if is_play else ("",)
    boards = [(play, address(picture, {"play": play})) for play in plays]
    stakes = parse_xgid(str(row["xgid"])).match
    here = address(f"{games}/{row['game']}", {"turn": row["turn"]}) + "#board" if games else ""
    return row | {
        "here": here,
        "position": position,
        "boards": boards,
        "roll": str(stakes.roll or "") if is_play else "",
    }
