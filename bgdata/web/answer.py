"""Responses of pages: HTML for people, JSON at the same address for programs, and errors in both formats."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response

from bgdata import errors
from bgdata.game.identifiers import parse_identifier
from bgdata.rows import json_value
from bgdata.store.table_html import cell_text, rows_html
from bgdata.web.site import Site

FOLDER = Path(__file__).parent
UNTOUCHED = ("/file/", "/static/")  # beginnings of addresses that may end in .json by themselves
STATUSES: tuple[tuple[int, Any], ...] = (  # (status, error classes); the first match counts
    (429, errors.TooMuchAskedError),
    (503, errors.TooBusyError),
    (404, errors.InvalidNameError | errors.MissingFileError | errors.MissingTableError | errors.MissingWarehouseError),
    (404, errors.NotCoveredError | errors.UnknownKindError),
    (400, errors.UsageError | errors.QueryError),
    (500, Exception),
)
STATUS_WORDS = {
    400: "That cannot be answered",
    404: "Not here",
    403: "Not from there",
    405: "This site is only read",
    411: "How much?",
    413: "Too much",
    414: "Too long",
    421: "Another host",
    429: "Too much at once",
    503: "Busy",
}


class Page(NamedTuple):
    """What an endpoint returns: the template of a page and the template's values, the JSON at the same address (or a
    function that returns it), and the HTTP status."""

    template: str
    shown: Mapping[str, Any]
    data: Any
    status: int = 200


Endpoint: TypeAlias = Callable[[Site, Request], "Page | Response"]


def position_path(position: object) -> str:
    """Return the path of the page about a position, which may be given in any notation."""
    return f"/position/{quote(str(position), safe='/+:=,-')}"


def address(path: str, given: Mapping[str, object]) -> str:
    """Return a path followed by a query string with those values that are not empty. Each item of a list becomes a
    parameter."""
    kept = {name: value for name, value in given.items() if value}
    return f"{path}?{urlencode(kept, doseq=True)}" if kept else path


def signed_text(value: float | None, digits: int = 4) -> str:
    """Return an equity as text, with its sign; a dash for None."""
    return "–" if value is None else f"{round(value, digits) + 0.0:+.{digits}f}".replace("-", "−")


def percent(value: float | None, digits: int = 2) -> str:
    """Return a chance, from 0 to 1, as text in percent; a dash for None."""
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def shade(value: float, most: float) -> int:
    """Return the shade of a cell in a heat map, from -5 to 5. Values of `most` or more, and of -`most` or less, have
    the strongest shades."""
    return round(5 * max(-1.0, min(1.0, value / most)))


def _size_text(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count = count / 1000
    return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"


def rows_table(
    rows: Sequence[Mapping[str, Any]],
    links: Sequence[str] = (),
    *,
    is_drawn: bool = False,
    heads: Mapping[str, str] | None = None,
) -> str:
    """Return an HTML table of rows, in which positions and tables are links to their pages. `links` are addresses for a
    last column, one for each row. If `is_drawn` is true, a picture of each position is added. `heads` are headings in
    HTML, by column."""

    def cell(name: str, value: Any) -> str:
        text, link = escape(cell_text(json_value(value))), _cell_address(name, value)
        shown = f'<a href="{escape(link, quote=True)}">{text}</a>' if link else text
        if not (is_drawn and link.startswith("/position/")):
            return shown
        picture = escape(f"/board{link[9:]}", quote=True)
        return f'{shown}<br><img class="drawn" src="{picture}" width="132" height="110" loading="lazy" alt="">'

    return rows_html(rows, cell, links, "board", heads) if rows else '<p class="none">No rows.</p>'


def _cell_address(name: str, value: Any) -> str:
    """Return the address of the page about a value of the column `name`, if the value is a position or a version; else
    an empty string."""
    if name.endswith("position_id") and isinstance(value, str) and is_position(value):
        return position_path(value)
    if name.endswith("board") and isinstance(value, list | tuple) and len(value) == 26:
        return position_path(",".join(map(str, value)))
    if name in ("source_version", "table_version") and isinstance(value, str) and value.count("/") == 2:
        return f"/table/{quote(value)}"
    return ""


def is_position(text: str) -> bool:
    """Return whether a string is a valid position in any notation."""
    try:
        return bool(parse_identifier(text))
    except errors.BgdataError:
        return False


# the templates of all subjects: everything is escaped, and an undefined name is an error
TEMPLATES = Environment(
    loader=FileSystemLoader([FOLDER / "templates", *sorted(FOLDER.parent.glob("*/templates"))]),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters |= {
    "signed": signed_text,
    "percent": percent,
    "size": _size_text,
    "cell": lambda value: cell_text(json_value(value)),
    "position_path": position_path,
}
TEMPLATES.globals |= {
    "address": address,
    "rows_table": rows_table,
    "is_static": False,
    "typed": "",
}  # `static_site` sets it


def client_of(request: Request) -> str:
    """Return who has sent a request, for limits on computing: the IP address."""
    return request.client.host if request.client else ""


def wants_json(request: Request) -> bool:
    """Return whether a request asks for JSON, by the ending of its address or by its Accept header."""
    if request.scope.get("bgdata.json"):
        return True
    accepted = request.headers.get("accept", "")
    return "application/json" in accepted and "text/html" not in accepted


def as_json(data: Any, status: int = 200) -> Response:
    """Return a response with these data as JSON."""
    text = json.dumps(json_value(data), allow_nan=False).replace("<", "\\u003c")  # so HTML readers see no tags
    return Response(text, status, media_type="application/json")


def respond(request: Request, found: Page | Response) -> Response:
    """Return the response with what an endpoint has returned: HTML, or JSON if the request asks for it."""
    if isinstance(found, Response):
        return found
    if wants_json(request):
        return as_json(found.data() if callable(found.data) else found.data, found.status)
    text = TEMPLATES.get_template(found.template).render(path=request.url.path, **found.shown)
    return Response(text, found.status, media_type="text/html")


def status_of(error: errors.BgdataError) -> int:
    """Return the HTTP status that fits an error."""
    return next(status for status, kinds in STATUSES if isinstance(error, kinds))


def respond_error(request: Request, message: str, status: int) -> Response:
    """Return the response with an error message: HTML, or JSON if the request asks for it."""
    shown = {"title": STATUS_WORDS.get(status, "Something went wrong"), "message": message}
    return respond(request, Page("error.html", shown, {"error": message}, status))
