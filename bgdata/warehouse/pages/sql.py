"""The page of SQL queries."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from bgdata.errors import QueryError, UsageError, cite
from bgdata.warehouse.pages.query_charts import CHARTS, ChartRequest, draw_query_chart
from bgdata.web.answer import Page
from bgdata.web.site import Site

FILES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
MAX_NAME = 80  # maximum number of letters of the name of a query
EXAMPLES = (
    ("What is here, and how large is it?", "select dataset, variant, rows, bytes from versions where is_current"),
    ("What was each table made from?", "select dataset, variant, role, input_dataset, input_variant from lineage"),
    ("Match equities when 3 points are needed", "from match_equity where away = 3 and not is_post_crawford"),
    ("What the fifteen first rolls are worth", "from opening_book where reply_roll is null order by equity desc"),
    (
        "The luckiest rolls of self-play",
        "select position_id, die1, die2, play, luck from turns where luck is not null order by luck desc limit 20",
    ),
    ("The longest games", "select dataset, variant, game, n_turns from games order by n_turns desc limit 20"),
    ("How exact are combined one-sided tables?", "from bearoff_error_summary"),
    ("Claims that could not be reproduced", "select claim, published, answer from claims where status = 'open'"),
    ("How good are the players?", "from scores order by player_name, ply, measure, against"),
    ("Every table and view, and what it is", "select view_name, comment from duckdb_views() where not internal"),
)


def page(site: Site, request: Request) -> Page | Response:
    """The page on which one writes an SQL query, with the rows that it gives and a chart of them. The JSON contains
    only the rows, as `bgdata query --format json` prints them."""
    given = request.query_params
    query, result, message, chart = given.get("q", "").strip(), None, "", ""
    asked = ChartRequest()
    try:
        form, asked = file_type(given), ChartRequest.from_query(given)
        if query and form:
            return file_response(request, query, form, f"query.{form}")
        if query:
            result = request.app.state.queries.ask(query)
            chart = draw_query_chart(result, asked) if asked.chart else ""
    except (UsageError, QueryError) as error:
        message = site.public(error)
    data = [dict(zip(result.names, row, strict=True)) for row in result.rows] if result else []
    shown_ = {
        "query": query,
        "name": given.get("name", "").strip()[:MAX_NAME],
        "message": message,
        "asked": asked,
        "charts": CHARTS,
        "chart": chart,
        "result": result,
        "rows": data,
        "examples": EXAMPLES,
        "views": site.keep("views", lambda: site.rows(VIEWS)),
        "limits": site.limits,
    }
    return Page("sql.html", shown_, {"error": message} if message else data, 400 if message else 200)


def file_type(given: Mapping[str, str]) -> str:
    """Return the type of file that an address asks for: csv or parquet, or empty for a page. Raises UsageError for any
    other type."""
    form = given.get("format", "").strip() or "rows"
    if form not in ("rows", *FILES):
        raise UsageError(f"expected the format rows, csv or parquet, got {cite(form)}")
    return "" if form == "rows" else form


def file_response(request: Request, query: str, form: str, name: str) -> Response:
    """Return the rows of an SQL query as a file to download, called `name`, in the format `form`. Raises the errors of
    `QueryProcess.ask`."""
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(request.app.state.queries.ask(query, form), media_type=FILES[form], headers=headers)


VIEWS = """
select view_name as name, views.comment, list(column_name order by column_index) as columns
from duckdb_views() as views join duckdb_columns() as columns on columns.table_name = view_name
where not views.internal and coalesce(views.comment, '') not like '% Variant %, r%'
group by all order by name
"""
