"""Pages of a position: where it occurs in the tables, and the rows of the bearoff tables about it."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request

from bgdata.errors import NotCoveredError, QueryError
from bgdata.evaluation.pages.answers import table_rows
from bgdata.evaluation.probe import probe_rows
from bgdata.game.board_svg import format_board_svg
from bgdata.rows import whole_rows
from bgdata.store.names import identifier, sql_text
from bgdata.web.answer import Page, address
from bgdata.web.position_request import PositionRequest
from bgdata.web.site import Row, Site

FIRST = 5  # number of games of a corpus that a page of occurrences links to
ROWS = 20  # number of rows of a table that it links to
COUNTS = "select '{name}' as name, variant, count(*) as rows from {table} where position_id = $id group by all"
TURNS = f"""
with found as (
    select dataset, variant, game, min(turn) as turn, count(*) as rows from turns where position_id = $id group by all
)
select 'turns' as name, variant, sum(rows)::bigint as rows,
    list(struct_pack(dataset, game, turn) order by dataset, game)[:{FIRST}] as games
from found group by variant
"""


def occurrences_page(site: Site, request: Request) -> Page:
    """Show where a position occurs, with the player on roll: in every table that has positions, with links to the first
    games and rows."""
    asked = PositionRequest(request.path_params["text"], request.query_params)
    rows = site.keep(("where", asked.position.id), lambda: occurrences(site, asked.position.id))
    shown_ = {"asked": asked, "rows": rows, "names": table_names(site), "board": format_board_svg(asked.position)}
    return Page("where.html", shown_, rows)


def table_names(site: Site, *, filled: bool = False) -> list[str]:
    """The names of tables with a column of positions; if `filled`, only those of kinds that have versions."""
    kinds = [kind for kind in site.warehouse.kinds.values() if not filled or site.warehouse.variants(kind.name)]
    shapes = [shape for kind in kinds for shape in kind.tables]
    return sorted({shape.name for shape in shapes if any(column.name == "position_id" for column in shape.columns)})


def occurrences(site: Site, position_id: str) -> list[Row]:
    """Count the rows with a position in each table and variant, in the order of their names, with links to them."""
    names = table_names(site, filled=True)
    queries = {name: COUNTS.format(name=name, table=identifier(name)) for name in names if name != "turns"}
    found = row_counts(site, "turns", TURNS, position_id) if "turns" in names else []
    try:
        found += site.rows(" union all ".join(queries.values()), {"id": position_id}) if queries else []
    except QueryError:  # from a damaged version, which must not hide the other tables
        found += [row for name, query in queries.items() for row in row_counts(site, name, query, position_id)]
    rows = []
    for row in sorted(found, key=lambda each: (each["name"], each["variant"])):
        of_variant = f"variant = {sql_text(row['variant'])} and position_id = '{position_id}'"
        query = f"from {identifier(row['name'])} where {of_variant} limit {ROWS}"
        games = [
            address(f"/game/{game['dataset']}/{row['variant']}/{game['game']}", {"turn": game["turn"]}) + "#board"
            for game in row.get("games", ())
        ]
        link = address("/sql", {"q": query}) if row["rows"] else ""
        rows.append(
            {"table": row["name"], "variant": row["variant"], "rows": row["rows"], "address": link, "games": games}
        )
    return rows


def row_counts(site: Site, name: str, query: str, position_id: str) -> list[Row]:
    """Count the rows with a position in one table by `query`. If the table is damaged, there is one row, with the error
    in place of the variant."""
    try:
        return site.rows(query, {"id": position_id})
    except QueryError as error:
        return [{"name": name, "variant": site.public(error), "rows": None}]


def probe(site: Site, request: Request) -> Page:
    """Show what bearoff tables say about a position, without long computations. The JSON is what `bgdata probe` prints.
    Raises NotCoveredError if no table covers the position."""
    asked = PositionRequest(request.path_params["text"], request.query_params)
    found = list(table_rows(site, asked.position, most=1))
    if not found:
        raise NotCoveredError(f"expected a bearoff that a table of this warehouse covers, got {asked.position.id}")
    rows = whole_rows(probe_rows(asked.position, found))
    return Page("probe.html", {"asked": asked, "rows": rows, "board": partial(format_board_svg, asked.position)}, rows)
