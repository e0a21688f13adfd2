"""The home page."""

from __future__ import annotations

from starlette.requests import Request

from bgdata.game.board_svg import format_board_svg
from bgdata.game.position import START
from bgdata.warehouse.pages.tables import list_rows
from bgdata.web.answer import Page
from bgdata.web.site import Row, Site


def home(site: Site, _: Request) -> Page:
    """The home page, which shows on one screen what the warehouse contains. The JSON has a row for each kind of
    dataset."""
    kinds = site.keep("kinds", lambda: kinds_here(site))
    missing = [name for name in site.warehouse.kinds if name not in {row["kind"] for row in kinds}]
    shown_ = {"kinds": kinds, "missing": missing, "board": format_board_svg(START), "start": START}
    return Page("home.html", shown_, kinds)


def kinds_here(site: Site) -> list[Row]:
    """Return a row for each kind of dataset of which the warehouse has a version, or has lost one."""
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
