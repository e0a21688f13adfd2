"""Writes pages that need no server: tables, match equity, openings, players, claims and races, with relative links.

Links point to the files of other written pages, or become plain text; navigation entries and buttons without a target
are removed, as are forms, which need a server. Manifests are written beside the pages, and optionally the files of
tables.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from html import escape, unescape
from itertools import product
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.requests import Request

from bgdata.equity import pages as equity
from bgdata.errors import BgdataError, UsageError
from bgdata.measures.pages import SCORES, players
from bgdata.openings.pages.book import OBJECTIVES, openings
from bgdata.store.storage import storage_errors, write_file
from bgdata.studies.pages import races, register
from bgdata.warehouse import Warehouse
from bgdata.warehouse.pages import tables
from bgdata.web import home
from bgdata.web.answer import FOLDER, TEMPLATES, Endpoint, Page, address
from bgdata.web.site import Site

LINK = re.compile(r' (href|src)="(/[^"]*)"')
FORM = re.compile(r"<form\b.*?</form>", re.DOTALL)
NAVIGATION = re.compile(r"<nav\b.*?</nav>", re.DOTALL)
NOWHERE = re.compile(r'<a(?: aria-\w+="\w+")?>[^<]*</a>\s*')
CHIP = re.compile(r'<a class="chip"(?: aria-\w+="\w+")?>[^<]*</a>\s*')


def write_static(warehouse: Warehouse, folder: Path, *, with_files: bool = False) -> int:
    """Write the pages of the site that need no server to a folder, with relative links, and return their number. If
    `with_files` is true, the files of all tables are copied too. Pages of missing tables are left out. Raises
    MissingWarehouseError if there is no warehouse, UsageError if the folder contains other files, and StorageError if a
    file cannot be written."""
    warehouse.require()
    with storage_errors("read", folder):
        if folder.is_dir() and any(folder.iterdir()) and not (folder / "static" / "site.css").is_file():
            raise UsageError(f"expected an empty folder, or one with pages of an earlier run, got {folder}")
    site = Site(warehouse)
    pages = dict(_rendered_pages(site))
    names = file_names(pages) | dict(_write_files(warehouse, folder, with_files=with_files))
    for where, text in pages.items():
        path = folder / names[where]
        with storage_errors("write", path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, relink(text, names, names[where]).encode())
    with storage_errors("write", folder / "static"):
        shutil.copytree(FOLDER / "static", folder / "static", dirs_exist_ok=True)
    return len(pages)


def _write_files(warehouse: Warehouse, folder: Path, *, with_files: bool) -> Iterator[tuple[str, str]]:
    """Write the manifest of each version, and its files if `with_files` is true. Yields the address and the path of
    each file. Damaged versions are left out. Raises StorageError if a file cannot be written."""
    for table in (table for kind in warehouse.kinds for table in warehouse.versions(kind)):
        try:
            manifest = table.manifest
            sources = [table.check_file(each.name) for each in manifest.files] if with_files else []
        except BgdataError:
            continue
        place = f"file/{table.name}"
        with storage_errors("write", folder / place):
            (folder / place).mkdir(parents=True, exist_ok=True)
        write_file(folder / place / "manifest.json", manifest.to_bytes())
        for source in sources:
            link_or_copy(source, folder / place / source.name)
        yield from ((f"/{place}/{name}", f"{place}/{name}") for name in ("manifest.json", *(s.name for s in sources)))


def link_or_copy(source: Path, target: Path) -> None:
    """Make `target` a hard link to the file `source`, or a copy if the file system has no hard links. Raises
    StorageError if the file cannot be written."""
    with storage_errors("write", target):
        target.unlink(missing_ok=True)
        try:
            os.link(source, target)
        except OSError:
            shutil.copyfile(source, target)


def _rendered_pages(site: Site) -> Iterator[tuple[str, str]]:
    """Yield the address and the HTML of each page. A page that cannot be made is left out."""
    for where, function, given in _page_list(site):
        path, query = urlsplit(where).path, urlsplit(where).query
        request = Request(  # a request such as a server would receive
            {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": [],
             "path_params": given, "root_path": "", "scheme": "http", "server": ("localhost", 80)}
        )  # fmt: skip
        with suppress(BgdataError):
            found = function(site, request)
            if isinstance(found, Page):
                template = TEMPLATES.get_template(found.template)
                yield where, template.render(path=path, is_static=True, **found.shown)


def _page_list(site: Site) -> Iterator[tuple[str, Endpoint, dict[str, str]]]:
    """Yield the address, the function and the path parameters of each page to write."""
    yield from (
        ("/", home.home, {}),
        ("/table", tables.kinds, {}),
        ("/claims", register.claims, {}),
        ("/players", players, {}),
        ("/match-equity", equity.page, {}),
    )
    tables_of_races: list[dict[str, str]] = [{}]
    for name, query in (("rules", races.RULE_TABLES), ("errors", races.ERROR_TABLES)):
        with suppress(BgdataError):
            tables_of_races += [{name: variant} for variant in races.query_variants(site, query)]
    for by, table_of_races in product(("", *races.WEIGHTINGS), tables_of_races):
        yield address("/race", {"by": by, **table_of_races}), races.page, {}
    with suppress(BgdataError):
        for name in dict.fromkeys(row["player_name"] for row in site.rows(SCORES)):
            yield address("/players", {"player": name}), players, {}
    for name in site.warehouse.kinds:
        yield f"/table/{name}", tables.kind, {"kind": name}
        for variant in site.warehouse.variants(name):
            yield f"/table/{name}/{variant}", tables.table, {"kind": name, "variant": variant}
            for table in site.warehouse.versions(name, variant):
                given = {"kind": name, "variant": variant, "version": table.folder.name}
                yield f"/table/{table.name}", tables.table, given
    for name, other in product(equity.names_of(site), ("", *equity.names_of(site))):
        if name != other:
            yield address("/match-equity", {"met": name, "minus": other}), equity.page, {}
    if not any(site.warehouse.variants("openings")):
        return
    yield "/openings", openings, {}
    for objective in OBJECTIVES:
        yield f"/openings?{urlencode({'objective': objective})}", openings, {}
        for roll in (f"{high}{low}" for high in range(2, 7) for low in range(1, high)):
            yield f"/openings?{urlencode({'objective': objective, 'roll': roll})}", openings, {}


def file_names(addresses: Iterable[str]) -> dict[str, str]:
    """Return the path of a file for each address, each path once: `/table/x/y` becomes table/x/y.html, and a query
    becomes part of the name."""
    found: dict[str, str] = {}
    for each in addresses:
        parts = urlsplit(each)
        words = [value.replace("/", "_") for _, value in parse_qsl(parts.query)]
        name = re.sub(r"[^\w/.-]", "_", "-".join([parts.path.strip("/") or "index", *words]))
        while f"{name}.html" in found.values():
            name += "_"
        found[each] = f"{name}.html"
    return found


def relink(text: str, names: dict[str, str], here: str) -> str:
    """Return the HTML of a page in which links lead to files, as paths relative to the page's own file `here`. Links,
    forms and buttons that need a server are removed."""
    folder = posixpath.dirname(here)

    def file_link(found: re.Match[str]) -> str:
        where, mark, place = unescape(found[2]).partition("#")
        target = where.lstrip("/") if where.startswith("/static/") else names.get(where)
        if target is None:
            return ""
        return f' {found[1]}="{escape(posixpath.relpath(target, folder or "."))}{escape(mark + place)}"'

    found = CHIP.sub("", LINK.sub(file_link, FORM.sub("", text)))
    return NAVIGATION.sub(lambda part: NOWHERE.sub("", part[0]), found)
