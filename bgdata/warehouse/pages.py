"""Pages of kinds and versions, with the description, proof and origin of tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from bgdata.bearoff.index import layout_at
from bgdata.bearoff.tables import TwoSidedTable
from bgdata.endgames.tables import EndgameTable
from bgdata.errors import BgdataError, MissingTableError, UsageError, cite
from bgdata.game.position import Position
from bgdata.rows import whole_rows
from bgdata.store.dataset import Dataset, TableShape
from bgdata.store.manifest import Manifest
from bgdata.store.names import check_name, parse_input
from bgdata.store.parameters import value_text
from bgdata.store.parquet import middle_rows
from bgdata.store.table import Table
from bgdata.store.versions import Versions
from bgdata.training.rows import KINDS as NETWORKS
from bgdata.training.rows import curve_charts
from bgdata.warehouse.rows import kind_parts, listed_rows, part_rows
from bgdata.web.answer import Page, address, position_path
from bgdata.web.charts import chart_svg
from bgdata.web.query_process import Result
from bgdata.web.site import Row, Site

SAMPLE = 8  # rows of a table on its page
FLAT_ROWS: dict[str, Callable[[Table], list[dict[str, Any]]]] = {  # samples of tables that are too large for Parquet
    "bearoff_two_sided": lambda found: TwoSidedTable(found).middle_rows(SAMPLE),
    "contact_endgame": lambda found: EndgameTable(found).middle_rows(SAMPLE),
}
BOUNDS = ("error", "bound", "difference")  # in the names of figures about the accuracy of a table


def list_rows(site: Site) -> list[Row]:
    """Rows of versions, and of kinds that have none, as in `bgdata list --format json`."""

    def read() -> list[Row]:
        rows = whole_rows(listed_rows(site.warehouse))
        return [row | {"damage": site.public(row["damage"]) if row["damage"] else None} for row in rows]

    return site.keep("listed", read)


def kinds(site: Site, _: Request) -> Page:
    """The page of all kinds and their versions; its JSON is what `bgdata list` prints."""
    rows = list_rows(site)
    groups = {name: [row for row in rows if row["dataset"] == name] for name in site.warehouse.kinds}
    return Page("tables.html", {"groups": groups, "kinds": site.warehouse.kinds}, rows)


def kind(site: Site, request: Request) -> Page:
    """The page of one kind: its columns, arrays, checks and versions. Its JSON is what `bgdata explain` prints."""
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
    """The claims of a kind's SQL checks, by table."""
    sql = site.warehouse.kinds.sql
    return {shape.name: [claim for claim, _ in sql.checks(shape.name)] for shape in kind.tables}


def open_version(site: Site, given: Mapping[str, Any]) -> Table:
    """The version of an address. Raises UnknownKindError, InvalidNameError or MissingTableError if there is no such
    version."""
    variant, version = check_name("variant", given["variant"]), given.get("version")
    if version is not None:
        check_name("version", version)
    return site.warehouse.open(site.warehouse.kind(given["kind"]).name, variant, version)


def table(site: Site, request: Request) -> Page:
    """The page of one version, by default the current one of a variant. Its JSON contains its manifest, columns and
    samples."""
    found = open_version(site, request.path_params)
    return site.keep(("table", found.name), lambda: table_page(site, found))


def table_page(site: Site, found: Table) -> Page:
    """The page of a version. Raises ManifestFormatError if its manifest is damaged."""
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
    """The description and address of other pages that show a version."""
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
    """Rows of one table of a version, or the reason why there are none."""
    try:
        rows = FLAT_ROWS[shape.name](found) if is_flat else middle_rows(middle_file(found, shape), SAMPLE)
    except BgdataError as error:
        return {"shape": shape, "rows": [], "links": [], "note": site.public(error)}
    return {"shape": shape, "rows": whole_rows(rows), "links": [_row_position(found, row) for row in rows], "note": ""}


def middle_file(found: Table, shape: TableShape) -> Path:
    """The Parquet file of a table; if the version has parts, the file of the part in the middle. Raises the same
    exceptions as `check_file`."""
    (name,) = found.parts[len(found.parts) // 2].files_of(shape.file)
    return found.check_file(name)


def _row_position(found: Table, row: Row) -> str:
    """The address of the position of a row of bearoff layouts; empty for other rows."""
    points = int(str(found.manifest.parameters.get("points", 0)))
    try:
        if {"on_roll_index", "opponent_index"} <= set(row):
            return pair_path(points, row["on_roll_index"], row["opponent_index"])
        return _layouts_path(row["points"], row["points"]) if isinstance(row.get("points"), list) else ""
    except BgdataError:
        return ""


def pair_path(points: int, on_roll_index: int, opponent_index: int) -> str:
    """The address of two layouts on `points` points. Raises BgdataError if an index is invalid."""
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
    """A file of a version, unchanged, with its SHA-256 as entity tag. Raises the errors of `opened`, MissingTableError
    if the manifest does not list the file, and CorruptFileError if the file is damaged."""
    found, name = open_version(site, request.path_params), request.path_params["name"]
    if name == "manifest.json":
        return Response(found.manifest.to_bytes(), media_type="application/json")
    entry = next((each for each in found.manifest.files if each.name == name), None)
    if entry is None:
        have = ", ".join(each.name for each in found.manifest.files)
        raise MissingTableError(f"expected a file of {found.name}: {have}, got {cite(name)}")
    headers = {"etag": f'"{entry.sha256}"', "cache-control": "public, max-age=31536000, immutable"}
    return FileResponse(found.check_file(name), media_type="application/octet-stream", filename=name, headers=headers)


FILES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
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


def sql(site: Site, request: Request) -> Page | Response:
    """The page with a box for a query, and its answer. Its JSON contains only the rows, as in `bgdata query --format
    json`."""
    query, form = request.query_params.get("q", "").strip(), request.query_params.get("format", "rows")
    if form not in ("rows", *FILES):
        raise UsageError(f"expected the format rows, csv or parquet, got {cite(form)}")
    result: Result | None = None
    if query:
        if form in FILES:
            name = {"content-disposition": f'attachment; filename="query.{form}"'}
            return Response(request.app.state.queries.ask(query, form), media_type=FILES[form], headers=name)
        result = request.app.state.queries.ask(query)
    views = site.keep("views", lambda: site.rows(VIEWS))
    data = [dict(zip(result.names, row, strict=True)) for row in result.rows] if result else []
    return Page(
        "sql.html",
        {"query": query, "result": result, "rows": data, "examples": EXAMPLES, "views": views, "limits": site.limits},
        data,
    )


VIEWS = """
select view_name as name, views.comment, list(column_name order by column_index) as columns
from duckdb_views() as views join duckdb_columns() as columns on columns.table_name = view_name
where not views.internal and coalesce(views.comment, '') not like '% Variant %, r%'
group by all order by name
"""


WIDTH, HEIGHT, GAP_X, GAP_Y = 232, 56, 44, 14  # size of a box, gaps between boxes
LINES = (17, 33, 48)  # heights of the lines of text in a box
MAX_BOXES = 60  # boxes
LETTERS = 33  # letters of a line in a box


class Box(NamedTuple):
    """A box of the graph: a version or a raw file, with three lines of text, its address, and its inputs."""

    lines: tuple[str, str, str]
    link: str
    kind: str  # version, missing or file
    inputs: tuple[str, ...]  # keys of other boxes


def lineage_svg(warehouse: Versions, table: Table) -> str:
    """The graph of a version, with its inputs to the left. Raises ManifestFormatError if its manifest is damaged."""
    boxes: dict[str, Box] = {}
    first = _add_version(warehouse, table, boxes)
    depth, waiting = {first: 0}, [first]  # inputs are left of everything that was made from them
    while waiting:
        key = waiting.pop()
        for other in boxes[key].inputs:
            if other in boxes and depth.get(other, -1) < depth[key] + 1 <= MAX_BOXES:
                depth[other] = depth[key] + 1
                waiting.append(other)
    columns: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for key in boxes:
        columns[len(columns) - 1 - depth.get(key, 0)].append(key)
    places = {
        key: (column * (WIDTH + GAP_X) + 2, row * (HEIGHT + GAP_Y) + 2)
        for column, keys in enumerate(columns)
        for row, key in enumerate(keys)
    }
    width = len(columns) * (WIDTH + GAP_X) - GAP_X + 4
    height = max(map(len, columns)) * (HEIGHT + GAP_Y) - GAP_Y + 4
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lineage" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="group" aria-label="What {escape(table.name)} was made from">'
    ]
    for key, box in boxes.items():
        end_x, end_y = places[key][0], places[key][1] + HEIGHT // 2
        for x, y in (
            (places[other][0] + WIDTH, places[other][1] + HEIGHT // 2) for other in box.inputs if other in places
        ):
            middle = (x + end_x) // 2
            lines.append(f'<path class="edge" d="M{x} {y}C{middle} {y} {middle} {end_y} {end_x} {end_y}"/>')
    lines += [_box_svg(box, *places[key]) for key, box in boxes.items()]
    return "\n".join([*lines, "</svg>"])


def _add_version(warehouse: Versions, table: Table, boxes: dict[str, Box]) -> str:
    """Add a version and all of its inputs, and return its key."""
    manifest = table.manifest
    key = f"{manifest.dataset}/{manifest.variant}@{manifest.digest}"
    if key in boxes or len(boxes) >= MAX_BOXES:
        return key
    names = list(dict.fromkeys(manifest.inputs.values()))
    files = [(f"file {file.name} {file.sha256}", file) for file in manifest.raw_files[:8]]
    lines = (manifest.dataset, manifest.variant, f"{table.folder.name}, {manifest.rows:,} rows")
    boxes[key] = Box(lines, f"/table/{table.name}", "version", (*names, *(name for name, _ in files)))
    for name, file in files:
        boxes[name] = Box(("raw file", file.name, f"{file.bytes:,} bytes, {file.sha256[:12]}"), "", "file", ())
    for name in names:
        found = _version_of(warehouse, name)
        if found is not None:
            _add_version(warehouse, found, boxes)
        elif name not in boxes:
            dataset, variant, digest = parse_input(name)
            boxes[name] = Box((dataset, variant, f"{digest[:8]}, not here"), "", "missing", ())
    return key


def _version_of(warehouse: Versions, name: str) -> Table | None:
    """The undamaged version that an input names, `kind/variant@digest`; None if it is missing."""
    dataset, variant, digest = parse_input(name)
    if dataset not in warehouse.kinds:
        return None
    for table in warehouse.versions(dataset, variant):
        with suppress(BgdataError):
            if table.manifest.digest == digest:
                return table
    return None


def _box_svg(box: Box, x: int, y: int) -> str:
    """A box with its lines of text, as a link if it has an address; hovering shows the whole text."""
    texts = ""
    for name, down, text in zip(("name", "variant", "note"), LINES, box.lines, strict=True):
        # beginning and end of a long text, which distinguish variants
        short = f"{text[: LETTERS // 2]}…{text[-(LETTERS - LETTERS // 2 - 1) :]}" if len(text) > LETTERS else text
        texts += f'<text class="{name}" x="{x + 8}" y="{y + down}">{escape(short)}</text>'
    whole = f"<title>{escape(', '.join(box.lines))}</title>"
    text = f'{whole}<rect class="{box.kind}" x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>{texts}'
    return f'<a href="{escape(box.link, quote=True)}">{text}</a>' if box.link else f"<g>{text}</g>"
