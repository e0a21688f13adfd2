"""Pages of kinds and versions, with the description, proof and origin of tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from bgdata.bearoff.index import layout_at
from bgdata.bearoff.tables import TwoSidedTable
from bgdata.endgames.tables import EndgameTable
from bgdata.errors import BgdataError, MissingTableError, cite
from bgdata.game.position import Position
from bgdata.rows import whole_rows
from bgdata.store.dataset import Dataset, TableShape
from bgdata.store.manifest import Manifest
from bgdata.store.names import check_name
from bgdata.store.parameters import value_text
from bgdata.store.parquet import middle_rows
from bgdata.store.table import Table
from bgdata.training.rows import KINDS as NETWORKS
from bgdata.training.rows import curve_charts
from bgdata.warehouse.pages.lineage import lineage_svg
from bgdata.warehouse.rows import kind_parts, listing_rows, part_rows
from bgdata.web.answer import Page, address, position_path
from bgdata.web.charts import chart_svg
from bgdata.web.site import Row, Site

SAMPLE = 8  # number of sample rows of a table on its page
FLAT_ROWS: dict[str, Callable[[Table], list[dict[str, Any]]]] = {  # samples of tables that are too large for Parquet
    "bearoff_two_sided": lambda found: TwoSidedTable(found).middle_rows(SAMPLE),
    "contact_endgame": lambda found: EndgameTable(found).middle_rows(SAMPLE),
}
BOUNDS = ("error", "bound", "difference")  # words in the names of figures about the accuracy of a table


def list_rows(site: Site) -> list[Row]:
    """Return a row for each version in the warehouse, and for each kind without versions, as
    `bgdata list --format json` prints them."""

    def read() -> list[Row]:
        rows = whole_rows(listing_rows(site.warehouse))
        return [row | {"damage": site.public(row["damage"]) if row["damage"] else None} for row in rows]

    return site.keep("listed", read)


def kinds(site: Site, _: Request) -> Page:
    """All kinds of dataset with their versions. The JSON is what `bgdata list` prints."""
    rows = list_rows(site)
    groups = {name: [row for row in rows if row["dataset"] == name] for name in site.warehouse.kinds}
    return Page("tables.html", {"groups": groups, "kinds": site.warehouse.kinds}, rows)


def kind(site: Site, request: Request) -> Page:
    """One kind of dataset: its columns, arrays, checks and versions. The JSON is what `bgdata explain` prints."""
    declared = site.warehouse.kind(request.path_params["kind"])
    parameters = declared.complete((*declared.defaults, declared.smallest)[0], site.warehouse)
    shown_ = {
        "kind": declared,
        "versions": [row for row in list_rows(site) if row["dataset"] == declared.name and row["variant"]],
        "checks": claims_by_table(site, declared),
        "defaults": [declared.slug(each) for each in declared.defaults],
    }
    parts = kind_parts(declared, parameters, site.warehouse.kinds.sql)
    return Page("kind.html", shown_, whole_rows(part_rows(declared.name, parts)))


def claims_by_table(site: Site, kind: Dataset[Any]) -> dict[str, list[str]]:
    """Return the claims that the SQL checks of a kind test, by name of the table."""
    sql = site.warehouse.kinds.sql
    return {shape.name: [claim for claim, _ in sql.checks(shape.name)] for shape in kind.tables}


def open_version(site: Site, given: Mapping[str, Any]) -> Table:
    """Open the version that the parts of an address name: kind, variant, and version; the default is the current
    version. Raises UnknownKindError, InvalidNameError or MissingTableError if there is no such version."""
    variant, version = check_name("variant", given["variant"]), given.get("version")
    if version is not None:
        check_name("version", version)
    return site.warehouse.open(site.warehouse.kind(given["kind"]).name, variant, version)


def table(site: Site, request: Request) -> Page:
    """One version of a variant, by default the current one. The JSON contains its manifest, columns and sample rows."""
    found = open_version(site, request.path_params)
    return site.keep(("table", found.name), lambda: table_page(site, found))


def table_page(site: Site, found: Table) -> Page:
    """The page of the version `found`. Raises ManifestFormatError if its manifest is damaged."""
    manifest, declared = found.manifest, site.warehouse.kind(found.folder.parts[-3])
    damage = ""
    try:
        found.check_sizes()
        parameters = declared.recipe_of(manifest)
    except BgdataError as error:
        damage, parameters = site.public(error), None
    is_flat = parameters is not None and not declared.tables_of(parameters)
    samples = [] if damage else [_sample(site, found, shape, is_flat=is_flat) for shape in declared.tables]
    others = [row for row in list_rows(site) if (row["dataset"], row["variant"]) == found.folder.parts[-3:-1]]
    current = any(row["is_current"] for row in others if row["version"] == found.folder.name)
    kind, variant = found.folder.parts[-3:-1]
    rows_at = [(shape.name, f"/rows/{kind}/{variant}/{shape.name}") for shape in declared.tables]
    bounds = {name: value for name, value in manifest.statistics.items() if any(word in name for word in BOUNDS)}
    shown_ = {
        "table": found,
        "manifest": manifest,
        "kind": declared,
        "damage": damage,
        "is_current": current,
        "others": others,
        "samples": samples,
        "bounds": bounds,
        "figures": {name: value for name, value in manifest.statistics.items() if name not in bounds},
        "rebuild": _rebuild_command(declared, manifest, parameters),
        "lineage": lineage_svg(site.warehouse, found),
        "charts": [] if damage or declared.name not in NETWORKS else list(map(chart_svg, curve_charts(found))),
        "rows_at": [] if damage or is_flat or not current else rows_at,
        "seen": _seen_at(declared, found),
        "checks": claims_by_table(site, declared),
    }
    data = {
        "name": found.name,
        "is_current": current,
        "damage": damage or None,
        "manifest": manifest.values(),
        "rebuild": shown_["rebuild"],
        "tables": {each["shape"].name: each["rows"] for each in samples},
    }
    return Page("table.html", shown_, data)


def _seen_at(declared: Dataset[Any], found: Table) -> list[tuple[str, str]]:
    """Return the other pages that show a version, as pairs of what the page shows and its address."""
    kind, variant = found.folder.parts[-3:-1]
    own = {
        "match_equity": ("as a heat map", address("/match-equity", {"met": variant})),
        "race_rules": ("rules side by side", address("/race", {"rules": variant})),
        "race_error": ("as a picture", address("/race", {"errors": variant})),
        "openings": ("the book", "/openings"),
        "claims": ("the register", "/claims"),
        "scores": ("players side by side", "/players"),
    }
    games = [("its games", f"/game/{kind}/{variant}")] if declared.tables[0].name == "games" else []
    return games + [own[name] for name in (kind,) if name in own]


def _sample(site: Site, found: Table, shape: TableShape, *, is_flat: bool) -> Row:
    """Return sample rows of one table of a version for the template, or a note that says why there are none."""
    try:
        rows = FLAT_ROWS[shape.name](found) if is_flat else middle_rows(middle_file(found, shape), SAMPLE)
    except BgdataError as error:
        return {"shape": shape, "rows": [], "links": [], "note": site.public(error)}
    return {"shape": shape, "rows": whole_rows(rows), "links": [row_position(found, row) for row in rows], "note": ""}


def middle_file(found: Table, shape: TableShape) -> Path:
    """Return the Parquet file of one table of a version, or of its middle part if it has parts. Raises the same
    exceptions as `check_file`."""
    (name,) = found.parts[len(found.parts) // 2].files_of(shape.file)
    return found.check_file(name)


def row_position(found: Table, row: Row) -> str:
    """Return the address of the page of the position that a row of a bearoff table is about; empty for rows of other
    tables."""
    points = int(str(found.manifest.parameters.get("points", 0)))
    try:
        if {"on_roll_index", "opponent_index"} <= set(row):
            return pair_path(points, row["on_roll_index"], row["opponent_index"])
        return _layouts_path(row["points"], row["points"]) if isinstance(row.get("points"), list) else ""
    except BgdataError:
        return ""


def pair_path(points: int, on_roll_index: int, opponent_index: int) -> str:
    """Return the address of the position in which each side has the bearoff layout of this index on `points` points.
    Raises BgdataError if an index is invalid."""
    return _layouts_path(layout_at(on_roll_index, points), layout_at(opponent_index, points))


def _layouts_path(on_roll: Sequence[int], opponent: Sequence[int]) -> str:
    rows = ([*side, *[0] * (25 - len(side))] for side in (opponent, on_roll))
    return position_path(Position.from_rows(*rows))


def _rebuild_command(declared: Dataset[Any], manifest: Manifest, parameters: Any) -> str:
    if declared.takes_files:
        files = " ".join(file.name for file in manifest.raw_files) or "FILE..."
        return f"bgdata import {declared.name} {files}"
    if parameters is None or parameters in declared.defaults:
        return f"bgdata build {declared.name}"
    words = (f"--set '{name}={value_text(value)}'" for name, value in vars(parameters).items())
    return " ".join([f"bgdata build {declared.name}", *words])


def file(site: Site, request: Request) -> Response:
    """A file of a version to download, with its SHA-256 as entity tag. Raises the errors of `open_version`,
    MissingTableError if the manifest does not list the file, and CorruptFileError if the file is damaged."""
    found, name = open_version(site, request.path_params), request.path_params["name"]
    if name == "manifest.json":
        return Response(found.manifest.to_bytes(), media_type="application/json")
    entry = next((each for each in found.manifest.files if each.name == name), None)
    if entry is None:
        have = ", ".join(each.name for each in found.manifest.files)
        raise MissingTableError(f"expected a file of {found.name}: {have}, got {cite(name)}")
    headers = {"etag": f'"{entry.sha256}"', "cache-control": "public, max-age=31536000, immutable"}
    return FileResponse(found.check_file(name), media_type="application/octet-stream", filename=name, headers=headers)
