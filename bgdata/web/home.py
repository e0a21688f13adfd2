"""The home page, and the search of every page."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from bgdata.errors import BgdataError, UsageError, cite
from bgdata.game.board_svg import format_board_svg
from bgdata.game.position import START
from bgdata.store.names import identifier
from bgdata.studies.pages.register import register_of
from bgdata.studies.rows import is_named
from bgdata.warehouse.pages import list_rows
from bgdata.web.answer import Page, address, is_position, position_path
from bgdata.web.position_request import LONGEST
from bgdata.web.site import Row, Site

PLAYERS = "select distinct player_name as name from scores"
VIEWS = "select view_name as name from duckdb_views() where not internal"
ROWS = 20  # rows of a view in search results


def home(site: Site, _: Request) -> Page:
    """The home page: the contents of this warehouse on one screen. Its JSON is one row for each kind."""
    kinds = site.keep("kinds", lambda: kinds_here(site))
    missing = [name for name in site.warehouse.kinds if name not in {row["kind"] for row in kinds}]
    shown_ = {"kinds": kinds, "missing": missing, "board": format_board_svg(START), "start": START}
    return Page("home.html", shown_, kinds)


def kinds_here(site: Site) -> list[Row]:
    """A row for each kind that has a version, or has lost one."""
    by_kind: dict[str, list[Row]] = {}
    for row in list_rows(site):
        if row["variant"]:
            by_kind.setdefault(row["dataset"], []).append(row)
    return [
        {"kind": name, "summary": found[0]["summary"], "variants": sorted({row["variant"] for row in found}),
         "rows": sum(row["rows"] or 0 for row in found if row["is_current"]),
         "bytes": sum(row["bytes"] or 0 for row in found if row["is_current"]),
         "damaged": sum(bool(row["damage"]) for row in found)}
        for name, found in by_kind.items()
    ]  # fmt: skip


def search(site: Site, request: Request) -> Response:
    """Redirect to the page that a string names: a position in any notation, a kind, table, view, claim or player.
    Raises UsageError for any other string."""
    text = request.query_params.get("q", "").strip()[: LONGEST + 1]
    if not text:
        return RedirectResponse("/", 303)
    found = named_address(site, text)
    if not found:
        raise UsageError(
            f"expected a position in any notation, a table such as bearoff_two_sided/6x9, a view such as games, "
            f"a claim such as A8 or a player, got {cite(text)}"
        )
    return RedirectResponse(found, 303)


def named_address(site: Site, text: str) -> str:
    """The address of the page that a string names; empty if there is none."""
    kind, _, rest = text.partition("/")
    if kind in site.warehouse.kinds:
        return f"/table/{quote(text)}" if rest else f"/table/{kind}"
    if is_position(text):
        return position_path(text)
    with suppress(BgdataError):  # without a register
        if any(is_named(row["claim"], row["part"], text) for row in register_of(site)[1]):
            return address("/claims", {"name": text})
    for name in site.warehouse.kinds:
        if text in site.warehouse.variants(name):
            return f"/table/{name}/{quote(text)}"
    if text in known_names(site, VIEWS):
        return address("/sql", {"q": f"from {text if text.isidentifier() else identifier(text)} limit {ROWS}"})
    return address("/players", {"player": text}) if text in known_names(site, PLAYERS) else ""


def known_names(site: Site, query: str) -> set[str]:
    """The names that a query finds; empty if the warehouse cannot answer."""
    try:
        return site.keep(("names", query), lambda: {row["name"] for row in site.rows(query)})
    except BgdataError:
        return set()
