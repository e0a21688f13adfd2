"""Pages that need no server: those of tables, match equity, openings, players, claims and races, with relative links.

A page is made by the function that answers for it, and its links are turned: to the file of a page that is written
too, or into plain words. Forms, which need a server, are left out.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.requests import Request

from bgdata.errors import BgdataError
from bgdata.store.storage import storage_errors, write_file
from bgdata.warehouse import Warehouse
from bgdata.web import equity, home, races, register, tables
from bgdata.web.answer import FOLDER, TEMPLATES, Endpoint, Page
from bgdata.web.mets import names_of
from bgdata.web.site import Site

LINK = re.compile(r' (href|src)="(/[^"]*)"')
FORM = re.compile(r"<form\b.*?</form>", re.DOTALL)


def write_static(warehouse: Warehouse, folder: Path) -> int:
    """Write the pages into a folder, and return how many there are. Pages of what is not built are left out. Raises
    MissingWarehouseError or StorageError."""
    warehouse.require()
    site = Site(warehouse)
    pages = dict(rendered(site))
    names = {address: file_name(address) for address in pages}
    for address, text in pages.items():
        path = folder / names[address]
        with storage_errors("write", path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, relinked(text, names, names[address]).encode())
    with storage_errors("write", folder / "static"):
        shutil.copytree(FOLDER / "static", folder / "static", dirs_exist_ok=True)
    return len(pages)


def rendered(site: Site) -> Iterator[tuple[str, str]]:
    """(address, text) of every page that can be made."""
    for address, function, given in wanted(site):
        try:
            found = function(site, request_of(address, given))
        except BgdataError:
            continue
        if isinstance(found, Page):
            path = urlsplit(address).path
            yield address, TEMPLATES.get_template(found.template).render(path=path, **found.shown)


def wanted(site: Site) -> Iterator[tuple[str, Endpoint, dict[str, str]]]:
    """(address, function, parts of the path) of the pages."""
    yield from (
        ("/", home.home, {}),
        ("/table", tables.kinds, {}),
        ("/claims", register.claims, {}),
        ("/players", register.players, {}),
        ("/match-equity", equity.page, {}),
        ("/openings", register.openings, {}),
        ("/race", races.page, {}),
    )
    yield from ((f"/race?{urlencode({'by': by})}", races.page, {}) for by in races.WEIGHTINGS)
    for name in site.warehouse.kinds:
        yield f"/table/{name}", tables.kind, {"kind": name}
        for variant in site.warehouse.variants(name):
            yield f"/table/{name}/{variant}", tables.table, {"kind": name, "variant": variant}
            for table in site.warehouse.versions(name, variant):
                given = {"kind": name, "variant": variant, "version": table.folder.name}
                yield f"/table/{table.name}", tables.table, given
    for name in names_of(site):
        yield f"/match-equity?{urlencode({'met': name})}", equity.page, {}
    for objective in register.OBJECTIVES:
        yield f"/openings?{urlencode({'objective': objective})}", register.openings, {}
        for roll in (f"{high}{low}" for high in range(2, 7) for low in range(1, high)):
            yield f"/openings?{urlencode({'objective': objective, 'roll': roll})}", register.openings, {}


def request_of(address: str, given: dict[str, str]) -> Request:
    """A request for an address, as a server would have it."""
    path, query = urlsplit(address).path, urlsplit(address).query
    return Request(
        {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": [],
         "path_params": given, "root_path": "", "scheme": "http", "server": ("localhost", 80)}
    )  # fmt: skip


def file_name(address: str) -> str:
    """The file of an address: `/table/x/y` is table/x/y.html, what a query says is part of the name."""
    parts = urlsplit(address)
    words = [parts.path.strip("/") or "index", *(value for _, value in parse_qsl(parts.query))]
    return re.sub(r"[^\w/.-]", "_", "-".join(words)) + ".html"


def relinked(text: str, names: dict[str, str], here: str) -> str:
    """A page with its links turned to files, seen from the file `here`, and without forms."""
    folder = posixpath.dirname(here)

    def turned(found: re.Match[str]) -> str:
        address, mark, place = unescape(found[2]).partition("#")
        target = address.lstrip("/") if address.startswith("/static/") else names.get(address)
        if target is None:
            return ""
        return f' {found[1]}="{escape(posixpath.relpath(target, folder or "."))}{escape(mark + place)}"'

    return LINK.sub(turned, FORM.sub("", text))
