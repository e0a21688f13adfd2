"""The page of the right cube action at every score."""

from __future__ import annotations

from starlette.requests import Request

from bgdata.bearoff.match_two_sided import MAX_CELLS
from bgdata.equity.cube import CubeRules, Method
from bgdata.equity.pages import met_of
from bgdata.errors import UsageError
from bgdata.evaluation.chances import AnswerSource
from bgdata.evaluation.cube_tables import SolvedRaces
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.rows import (
    best_words,
)
from bgdata.game.board_svg import format_board_svg
from bgdata.game.match import MatchScore, Stakes
from bgdata.web.answer import Page
from bgdata.web.position_request import PositionRequest, whole
from bgdata.web.site import Site

MAP = 9  # default points to go of a cube map


def page(site: Site, request: Request) -> Page:
    """The page of the right cube action at every score up to a number of points to go, with a centered cube of 1: exact
    if a table covers it, or if its share of a few seconds is enough to solve the race."""
    asked = PositionRequest(request.path_params["text"], request.query_params)
    length = whole(request.query_params, "length", MAP)
    if not 2 <= length <= 15:
        raise UsageError(f"expected 2 to 15 points to go, got {length}")
    met = met_of(site, asked.options["met"])
    rules, rows = CubeRules(met=met), []
    with site.player(asked.ply) as shared:
        tables = [table for table in shared.cubes if not isinstance(table, SolvedRaces)]
        solved = SolvedRaces(2 * MAX_CELLS // length**2)
        player = LookaheadPlayer(shared.evaluator, shared.ply, shared.filters, [*tables, solved])
        if player.evaluate(asked.position).source is AnswerSource.OVER:
            raise UsageError("expected a game in progress, got one that is over")
        for away in range(1, length + 1):
            for opponent_away in range(1, length + 1):
                stakes = Stakes(MatchScore(away, opponent_away, (away == 1) != (opponent_away == 1)))
                decision = player.decide_cube(asked.position, stakes, rules)
                rows.append({
                    "away": away, "opponent_away": opponent_away, "is_crawford": stakes.is_crawford,
                    "action": decision.action.name.lower() if decision.may_double else "none",
                    "words": best_words(decision, stakes), "mwc": decision.equity, "method": str(decision.method),
                    "double_gain": decision.double_gain, "take_gain": decision.take_gain,
                })  # fmt: skip
    exact = sum(row["method"] == Method.EXACT for row in rows)
    shown_ = {
        "asked": asked,
        "rows": rows,
        "exactness": "none" if not exact else "all" if exact == len(rows) else "some",
        "length": length,
        "met": met.name,
        "board": format_board_svg(asked.position),
    }
    return Page("cube_map.html", shown_, rows)
