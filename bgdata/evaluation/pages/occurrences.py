"""Pages of a position: where it occurs in the tables, and the rows of the bearoff tables about it."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request

from bgdata.errors import BgdataError, NotCoveredError
from bgdata.evaluation.pages.answers import table_rows
from bgdata.evaluation.probe import probe_rows
from bgdata.game.board_svg import format_board_svg
from bgdata.rows import whole_rows
from bgdata.store.names import identifier, sql_text
from bgdata.web.answer import Page, address
from bgdata.web.position_request import PositionRequest
from bgdata.web.site import Row, Site

FIRST = 5  # games of a corpus that are linked from a page of occurrences
ROWS = 20  # rows of a table that are linked
GAMES = f"""
select dataset, variant, game, min(turn) as turn from turns where position_id = $id
group by dataset, variant, game
qualify row_number() over (partition by variant order by dataset, game) <= {FIRST} order by all
"""


def where(site: Site, request: Request) -> Page:
    """The page of the occurrences of a position, for the player on roll, in every table that has positions, with links
    to the first games and rows."""
    asked = PositionRequest(request.path_params["text"], request.query_params)
    shapes = [shape for kind in site.warehouse.kinds.values() for shape in kind.tables]
    names = sorted({shape.name for shape in shapes if any(column.name == "position_id" for column in shape.columns)})
    rows: list[Row] = []
    for name in names:
        query = f"select variant, count(*) as rows from {identifier(name)} where position_id = $id group by all"
        try:
            found = site.rows(query, {"id": asked.position.id})
        except BgdataError as error:
            found = [{"variant": site.public(error), "rows": None}]
        rows += [{"table": name, **row, "address": "", "games": []} for row in found]
    games = site.rows(GAMES, {"id": asked.position.id}) if any(row["table"] == "turns" for row in rows) else []
    for row in (row for row in rows if row["rows"]):
        of_variant = f"variant = {sql_text(row['variant'])} and position_id = '{asked.position.id}'"
        row["address"] = address("/sql", {"q": f"from {identifier(row['table'])} where {of_variant} limit {ROWS}"})
        row["games"] = [
            address(f"/game/{game['dataset']}/{game['variant']}/{game['game']}", {"turn": game["turn"]}) + "#board"
            for game in games
            if (row["table"], row["variant"]) == ("turns", game["variant"])
        ]
    shown_ = {"asked": asked, "rows": rows, "names": names, "board": format_board_svg(asked.position)}
    return Page("where.html", shown_, rows)


def probe(site: Site, request: Request) -> Page:
    """The page of the rows of bearoff tables for a position, without long computations; its JSON is what `bgdata probe`
    prints. Raises NotCoveredError if no table covers the position."""
    asked = PositionRequest(request.path_params["text"], request.query_params)
    found = list(table_rows(site, asked.position, most=1))
    if not found:
        raise NotCoveredError(f"expected a bearoff that a table of this warehouse covers, got {asked.position.id}")
    rows = whole_rows(probe_rows(asked.position, found))
    return Page("probe.html", {"asked": asked, "rows": rows, "board": partial(format_board_svg, asked.position)}, rows)
