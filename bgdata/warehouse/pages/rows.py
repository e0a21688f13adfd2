"""The page with the rows of a table: by page, filtered and sorted by column, with the values of a column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from bgdata.errors import MissingTableError, QueryError, UsageError, cite
from bgdata.store.dataset import Column, TableShape
from bgdata.warehouse.pages.sql import file_response, file_type
from bgdata.warehouse.pages.tables import open_version, row_position
from bgdata.warehouse.row_query import NUMBERS, OPERATORS, RowQuery, column_of, parse_filter
from bgdata.web.answer import Page, address, rows_table
from bgdata.web.charts import Bar, bar_chart_svg, round_step
from bgdata.web.position_request import integer_parameter
from bgdata.web.query_process import Result
from bgdata.web.site import Row, Site

PAGE = 50  # rows of a page
MAX_PAGE = 9_999_999
FEW = ("VARCHAR", "BOOLEAN", "TINYINT")  # types of columns that may have few different values
VALUES = 30  # maximum number of values of a column that are listed
BINS = 30  # approximate number of bars of a histogram


class RowsRequest(NamedTuple):
    """What an address asks the page of rows to show: the filters, the column to sort by, and the column whose values
    are listed, as the user wrote them."""

    path: str
    filters: tuple[str, ...]
    sort: str
    column: str

    def link(self, **changed: Any) -> str:
        """Return the address of this page with some of its parameters changed, such as the filters, the sort order or
        the page number."""
        given = {"filter": self.filters, "sort": self.sort, "column": self.column} | changed
        return address(self.path, given)

    def with_filter(self, text: str) -> str:
        """Return the address of the first page of rows after adding a filter."""
        return self.link(filter=[*(each for each in self.filters if each != text), text])

    def without(self, text: str) -> str:
        """Return the address of the first page of rows after removing a filter."""
        return self.link(filter=[each for each in self.filters if each != text])


def page(site: Site, request: Request) -> Page | Response:
    """The rows of a table of a variant, filtered and sorted by column, one page at a time. The JSON contains the rows
    of this page, as `bgdata query --format json` prints them."""
    given, parts = request.query_params, request.path_params
    table = open_version(site, {"kind": parts["kind"], "variant": parts["variant"]})
    shape = shape_of(site, parts["kind"], parts["table"])
    asked = RowsRequest(
        f"/rows/{parts['kind']}/{parts['variant']}/{shape.name}",
        tuple(text.strip() for text in given.getlist("filter") if text.strip()),
        given.get("sort", "").strip(),
        given.get("column", "").strip(),
    )
    if given.get("by"):  # the form adds a filter in three fields
        text = " ".join(filter(None, (given["by"], given.get("is", "="), given.get("value", "").strip())))
        return RedirectResponse(asked.with_filter(text), 303)
    shown_: dict[str, Any] = {"table": table, "shape": shape, "asked": asked, "operators": OPERATORS, "message": ""}
    try:
        if asked.sort:
            column_of(shape, asked.sort.removeprefix("-"))
        filters = [parse_filter(shape, text) for text in asked.filters]
        query = RowQuery(shape, parts["kind"], parts["variant"], filters, asked.sort)
        form = file_type(given)
        if form:
            return file_response(request, query.rows, form, f"{shape.name}.{form}")
        return rows_page(site, request, query, asked, shown_)
    except (UsageError, QueryError) as error:
        message = site.public(error)
        missing: Row = {"rows": "", "count": None, "number": 1, "last": 1, "sql": "", "values": None, "few": []}
        return Page("rows.html", {**shown_, **missing, "message": message}, {"error": message}, 400)


def shape_of(site: Site, kind: str, name: str) -> TableShape:
    """Return the declaration of the table `name` of a kind. Raises MissingTableError if the kind does not have it."""
    tables = site.warehouse.kind(kind).tables
    found = next((shape for shape in tables if shape.name == name), None)
    if found is None:
        names = ", ".join(shape.name for shape in tables)
        raise MissingTableError(f"expected a table of {kind}: {names}, got {cite(name)}")
    return found


def rows_page(site: Site, request: Request, query: RowQuery, asked: RowsRequest, shown_: Row) -> Page:
    """The page of rows for a valid request. `shown_` are values that the template always shows. Raises UsageError for a
    page number after the last, and QueryError if the query fails."""
    ask = request.app.state.queries.ask
    count = site.keep(("rows", query.count), lambda: int(ask(query.count).rows[0][0]))
    last = max(1, -(-count // PAGE))
    number = integer_parameter(request.query_params, "page", 1, least=1, most=MAX_PAGE)
    if number > last:
        raise UsageError(f"expected a page from 1 to {last:,}, got a later one")
    rows = row_dicts(ask(query.page(number, PAGE)))
    column = column_of(query.shape, asked.column) if asked.column else None
    shown_ |= {
        "rows": rows_table(rows, [row_position(shown_["table"], row) for row in rows], heads=sort_links(query, asked)),
        "count": count,
        "number": number,
        "last": last,
        "sql": query.rows,
        "few": site.keep(("few", query.source), lambda: columns_with_few_values(ask, query)),
        "values": site.keep(("values", query.source, asked), lambda: column_summary(ask, query, column, asked))
        if column
        else None,
    }
    return Page("rows.html", shown_, rows)


def row_dicts(result: Result) -> list[Row]:
    """Return the rows of a query's result as dictionaries by column."""
    return [dict(zip(result.names, row, strict=True)) for row in result.rows]


def sort_links(query: RowQuery, asked: RowsRequest) -> Mapping[str, str]:
    """Return the heading of each column as an HTML link that sorts the rows by the column, or in descending order if
    they are sorted by it already."""
    found = {}
    for column in query.shape.columns:
        sort = f"-{column.name}" if query.sort == column.name else column.name
        arrow = {column.name: " ▲", f"-{column.name}": " ▼"}.get(query.sort, "")
        link, hint = escape(asked.link(sort=sort), quote=True), escape(column.meaning, quote=True)
        found[column.name] = f'<a href="{link}" title="{hint}">{escape(column.name)}</a>{arrow}'
    return found


def columns_with_few_values(ask: Callable[[str], Result], query: RowQuery) -> list[tuple[str, int]]:
    """Return the columns of strings, booleans and small integers that have at least 2 and at most VALUES different
    values, each with the number of these values. `ask` runs an SQL query."""
    names = [column.name for column in query.shape.columns if column.type in FEW]
    counts = ask(query.different(names)).rows[0] if names else []
    return [(name, count) for name, count in zip(names, counts, strict=True) if 1 < count <= VALUES]


def column_summary(ask: Callable[[str], Result], query: RowQuery, column: Column, asked: RowsRequest) -> Row:
    """Return what the page shows of one column: figures such as its extremes, and either a histogram or the most
    frequent values. Each bar or value links to its rows. `ask` runs an SQL query."""
    (figures,) = row_dicts(ask(query.figures(column)))
    shown_ = {"column": column, "figures": figures, "chart": "", "values": [], "is_all": True}
    spread = (figures.get("most") or 0) - (figures.get("least") or 0)
    if column.type in NUMBERS and figures["different"] > VALUES and spread > 0:
        return shown_ | {"chart": histogram(ask, query, column, asked, round_step(spread / BINS))}
    rows = ask(query.values(column, VALUES + 1)).rows
    values = []
    for value, count in rows[:VALUES]:
        text = f"{column.name} is missing" if value is None else f"{column.name} = {filter_text(value)}"
        values.append((value, count, asked.with_filter(text)))
    return shown_ | {"values": values, "is_all": len(rows) <= VALUES}


def filter_text(value: object) -> str:
    """Return a value of a row in the form that filters use."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def histogram(ask: Callable[[str], Result], query: RowQuery, column: Column, asked: RowsRequest, width: float) -> str:
    """Draw a histogram of a column as SVG, with bins of this width. Each bar links to the rows in its bin. `ask` runs
    an SQL query."""
    width = max(width, 1.0) if column.type not in ("FLOAT", "DOUBLE") else width
    counts = dict(ask(query.bins(column, width)).rows)
    bars = []
    for place in range(min(counts), max(counts) + 1):
        begin, end = (f"{width * edge:.10g}" for edge in (place, place + 1))
        filters = [*asked.filters, f"{column.name} >= {begin}", f"{column.name} < {end}"]
        count = counts.get(place, 0)
        link = asked.link(filter=list(dict.fromkeys(filters))) if count else ""
        bars.append(Bar(begin, count, f"{begin} to {end}: {count:,} rows", link))
    return bar_chart_svg(f"Rows by {column.name}", bars, column.unit or column.name)
