"""The page of the right cube action at every score."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request

from bgdata.bearoff.match_two_sided import MAX_CELLS
from bgdata.equity.cube import CubeRules, Unit
from bgdata.equity.curves import NEVER, Points
from bgdata.equity.pages import met_of
from bgdata.errors import UsageError, cite
from bgdata.evaluation.chances import AnswerSource
from bgdata.evaluation.cube_tables import SolvedRaces
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.rows import best_words
from bgdata.game.board_svg import format_board_svg
from bgdata.game.match import MatchScore, Money, Stakes
from bgdata.rows import whole_rows
from bgdata.web.answer import Page, shade, signed_text
from bgdata.web.position_request import SHORT, PositionRequest, integer_parameter, stakes_query
from bgdata.web.site import Row, Site

MAP = 9  # default number of points to go in a cube map
LENGTHS = (3, 5, 7, 9, 11, 15)  # points to go that the page links to
SHOWN = {  # what the cells may show, by the word of the address
    "action": "the action",
    "gain": "what doubling gains",
    "mwc": "chance of winning the match",
    "window": "the market window",
    "take": "take point of the opponent",
}
GLANCE = (  # special stakes, by name
    ("money", Stakes(Money(is_jacoby=False))),
    ("double match point", Stakes(MatchScore(1, 1))),
    ("gammon-go", Stakes(MatchScore(2, 1, is_crawford=True))),
    ("gammon-save", Stakes(MatchScore(1, 2, is_crawford=True))),
)
STRONGEST_GAIN = 0.05  # mwc with the strongest color


def page(site: Site, request: Request) -> Page:
    """Show the right cube action at every score up to some number of points to go, with a centered cube of 1. The
    action is exact if a table covers the position, or if the race can be solved in this score's share of a few seconds.
    Take points and windows come from the cube model."""
    asked = PositionRequest(request.path_params["text"], request.query_params)
    length = integer_parameter(request.query_params, "length", MAP)
    if not 2 <= length <= 15:
        raise UsageError(f"expected 2 to 15 points to go, got {length}")
    show = request.query_params.get("show", "action")
    if show not in SHOWN:
        raise UsageError(f"expected one of {', '.join(SHOWN)} to show, got {cite(show)}")
    met = met_of(site, asked.options["met"])
    rules = CubeRules(met=met)
    with site.player(asked.ply) as shared:
        tables = [table for table in shared.cubes if not isinstance(table, SolvedRaces)]
        solved = SolvedRaces(2 * MAX_CELLS // length**2)
        player = LookaheadPlayer(shared.evaluator, shared.ply, shared.filters, [*tables, solved])
        if player.evaluate(asked.position).source is AnswerSource.OVER:
            raise UsageError("expected a game in progress, got one that is over")
        scores = [(away, other) for away in range(1, length + 1) for other in range(1, length + 1)]
        rows = [score_row(player, asked, rules, *score) for score in scores]
        glance = [glance_row(player, asked, rules, name, stakes) for name, stakes in GLANCE]
    shown_ = {
        "asked": asked,
        "cells": [row | {"text": cell_text(row, show), "color": cell_color(row, show)} for row in rows],
        "glance": glance,
        "length": length,
        "lengths": LENGTHS,
        "show": show,
        "shown": SHOWN,
        "legend": legend_of(show, rows),
        "met": met.name,
        "score": asked.own_stakes.score if isinstance(asked.own_stakes.score, MatchScore) else None,
        "board": format_board_svg(asked.position, roll=asked.roll),
    }
    return Page("cube_map.html", shown_, whole_rows(rows))


def score_row(player: LookaheadPlayer, asked: PositionRequest, rules: CubeRules, away: int, opponent_away: int) -> Row:
    """The row of a score: the decision with a centered cube. If exactly one player is 1-away, it is the Crawford
    game."""
    stakes = Stakes(MatchScore(away, opponent_away, (away == 1) != (opponent_away == 1)))
    decision = player.decide_cube(asked.position, stakes, rules)
    points = decision.points._asdict() if decision.may_double else dict.fromkeys(Points._fields, NEVER)
    return {
        "away": away,
        "opponent_away": opponent_away,
        "is_crawford": stakes.is_crawford,
        "action": decision.action.name.lower() if decision.may_double else "none",
        "words": best_words(decision, stakes),
        "mwc": decision.equity,
        "method": str(decision.method),
        "double_gain": decision.double_gain,
        "take_gain": decision.take_gain,
        **{name: None if chance >= NEVER else chance for name, chance in points.items()},
    }


def glance_row(
    player: LookaheadPlayer, asked: PositionRequest, rules: CubeRules, name: str, stakes: Stakes
) -> dict[str, object]:
    """Return the row named `name`, such as gammon-go: the best play of the roll at these stakes, or before the roll the
    value and the cube action."""
    own = CubeRules() if isinstance(stakes.score, Money) else rules
    row: dict[str, object] = {
        "name": name,
        "address": asked.own_address(**(dict.fromkeys(SHORT) | stakes_query(stakes) | {"met": asked.options["met"]})),
    }
    if asked.roll:
        best, *others = player.rank_plays(asked.position, asked.roll, stakes, own)
        next_best = others[0] if others else None
        return row | {
            "play": str(best.play), "equity": best.cubeful_equity, "mwc": best.mwc,
            "next_play": str(next_best.play) if next_best else "", "loss": next_best.loss if next_best else None,
        }  # fmt: skip
    decision = player.decide_cube(asked.position, stakes, own)
    words = best_words(decision, stakes) if decision.may_double else "no cube"
    is_match = decision.unit == Unit.MWC
    return row | {"words": words, "mwc": decision.equity if is_match else None, "equity": decision.equity}


LETTERS = {
    "no_double": "N",
    "double_take": "T",
    "double_pass": "P",
    "too_good": "G",
    "double_beaver": "B",
    "none": "–",
}


def cell_text(row: Row, show: str) -> str:
    """Return the text in a cell of the cube map, a few characters. Chances are in percent. `show` is what the map
    shows: one of SHOWN."""
    if show == "mwc":
        return f"{100 * row['mwc']:.1f}"
    if show == "action" or row["action"] == "none":
        return LETTERS[row["action"]]
    if show == "gain":
        return signed_text(100 * row["double_gain"], 1)
    first, last = row["double_point"], row["cash_point"]
    if show == "take":
        return "–" if last is None else f"{100 - 100 * last:.0f}"
    return "–" if first is None else f"{100 * first:.0f}–{100 * (1.0 if last is None else last):.0f}"


ACTIONS = {
    "no_double": "no double",
    "double_take": "double, take",
    "double_pass": "double, pass",
    "too_good": "too good to double",
    "double_beaver": "double, beaver",
    "none": "nobody may or need double",
}


def legend_of(show: str, rows: Sequence[Row]) -> list[tuple[str, str, str]]:
    """Return the meanings of the colors of cells, as (CSS class, text in the color, words beside it). The list is empty
    if cells have no colors. `show` is what the map shows: one of SHOWN."""
    if show == "action":
        found = {row["action"] for row in rows}
        return [(name, LETTERS[name], words) for name, words in ACTIONS.items() if name in found]
    if show == "mwc":
        return [(f"shade{each}", f"{50 + 10 * each} %", "") for each in range(-5, 6)]
    if show == "gain":
        return [(f"shade{each}", signed_text(20 * STRONGEST_GAIN * each, 0), "") for each in range(-5, 6)]
    return []


def cell_color(row: Row, show: str) -> str:
    """The CSS class with the color of a cell of the cube map. `show` is what the map shows: one of SHOWN."""
    if show == "mwc":
        return f"shade{shade(row['mwc'] - 0.5, 0.5)}"
    if show == "gain" and row["action"] != "none":
        return f"shade{shade(row['double_gain'], STRONGEST_GAIN)}"
    return str(row["action"]) if show == "action" else "shade0"
