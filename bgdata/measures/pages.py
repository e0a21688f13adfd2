"""The page with the scores of players and the ledger of networks."""

from __future__ import annotations

from starlette.requests import Request

from bgdata.errors import UsageError, cite
from bgdata.rows import whole_rows
from bgdata.training.rows import curve_charts, network_row, networks
from bgdata.web.answer import Page
from bgdata.web.charts import chart_svg
from bgdata.web.site import Row, Site

SCORES = "from scores order by player_name, ply, measure, against"


def players(site: Site, request: Request) -> Page:
    """The page of the scores of players, and of the ledger of networks with their learning curves. Its JSON contains
    the rows of the table `scores` and of the ledger."""
    player = request.query_params.get("player", "")
    rows = site.keep("scores", lambda: site.rows(SCORES))
    chosen = [row for row in rows if not player or row["player_name"] == player]
    if player and not chosen:
        raise UsageError(f"expected a player that was scored here, got {cite(player)}")
    groups: dict[str, list[Row]] = {}
    for row in chosen:
        groups.setdefault(f"{row['player_name']}, {row['ply']}-ply", []).append(row)
    ledger, curves = ([], []) if player else site.keep("ledger", lambda: learning_rows(site))
    shown_ = {"groups": groups, "player": player, "ledger": ledger, "curves": curves}
    return Page("players.html", shown_, {"scores": whole_rows(chosen), "networks": ledger})


def learning_rows(site: Site) -> tuple[list[Row], list[Row]]:
    """Return the rows of the ledger of networks, and the first chart of each network's learning curve with the
    network's name."""
    tables = networks(site.warehouse)
    curves = [{"name": table.name, "chart": chart_svg(curve_charts(table)[0])} for table in tables]
    return whole_rows(network_row(table.manifest) for table in tables), curves
