"""Pages of match equity tables: a heat map of one, or of the difference of two, and the stakes of a game at a score."""

from __future__ import annotations

import numpy as np
from starlette.requests import Request

from bgdata.equity.match_equity import KINDS, MatchEquity, cell_rows, default_met, find_met, met_names, score_rows
from bgdata.errors import BgdataError, UsageError, cite
from bgdata.evaluation.rows import parse_away
from bgdata.game.match import MatchScore
from bgdata.rows import whole_rows
from bgdata.web.answer import Page, percent, shade, signed_text
from bgdata.web.position_request import boolean_parameter, integer_parameter
from bgdata.web.site import Row, Site

SHOWN = 15  # greatest default number of points to go
STRONGEST = 0.02  # difference of two tables with the strongest color
SHOWS = {"mwc": "chance of winning the match", "take": "take point"}  # what cells show
MIDDLE_TAKE, WIDTH_TAKE = 0.25, 0.25  # the take point without a color, and its distance from the strongest color


def page(site: Site, request: Request) -> Page:
    """Show a match equity table, its differences from another one, or the stakes of a game at a score. The JSON is what
    `bgdata met` prints."""
    given = request.query_params
    names = names_of(site)
    met = met_of(site, given.get("met", ""))
    other = met_of(site, given["minus"]) if given.get("minus") else None
    length = integer_parameter(given, "length", 0, least=1, most=64) or None
    shown = min(length or SHOWN, met.length, other.length if other else met.length)
    is_crawford = bool(boolean_parameter(given, "crawford"))
    show = given.get("show", "").strip() or "mwc"
    if show not in SHOWS:
        raise UsageError(f"expected {' or '.join(SHOWS)} to show, got {cite(show)}")
    score = parse_away(given["away"], is_crawford=is_crawford) if given.get("away") else None
    stakes = whole_rows(score_rows(met, score)) if score else []

    def cells() -> list[list[Row]]:
        scores = range(1, shown + 1)
        return [[heat_map_cell(met, other, away, opponent_away, show) for opponent_away in scores] for away in scores]

    shown_ = {
        "met": met,
        "other": other,
        "names": names,
        "length": shown,
        "cells": site.keep(("cells", met.name, other and other.name, shown, show), cells),
        "show": show,
        "shows": SHOWS,
        "scale": scale(is_difference=other is not None, show=show),
        "post_crawford": [percent(value) for value in met.cells[1, 1 : shown + 1, 1].tolist()],
        "score": score,
        "stakes": stakes,
    }
    if stakes:
        return Page("match_equity.html", shown_, stakes)
    most = min(length or (SHOWN if other else met.length), met.length, other.length if other else met.length)
    return Page("match_equity.html", shown_, whole_rows(cell_rows(met, most, other)))


def heat_map_cell(met: MatchEquity, other: MatchEquity | None, away: int, opponent_away: int, show: str) -> Row:
    """Return a cell of the heat map with its color and tooltip. If exactly one player is 1-away, it is the Crawford
    game. `show` is what the cells show: one of SHOWS."""
    is_crawford = (away == 1) != (opponent_away == 1)
    score = MatchScore(away, opponent_away, is_crawford)

    def stakes_text(table: MatchEquity) -> str:
        """Return a text on what is at stake in a game at the score with a cube of 1, by a table."""
        name, mwc = f"{table.name}, " if other else "", float(table.cells[0, away, opponent_away])
        if not np.isfinite(mwc):
            return name + percent(mwc)
        points = "" if is_crawford else f", take point {percent(table.take_point(score))}"
        return f"{name}{percent(mwc)}; gammon value {table.game(score).gammon_value:.3f}{points}"

    title = f"{score}: " + "\n".join(map(stakes_text, [met, other] if other else [met]))

    def quantity(table: MatchEquity) -> float:
        """Return the value of a table that the cell shows, NaN if there is none."""
        mwc = float(table.cells[0, away, opponent_away])
        if show == "mwc" or not np.isfinite(mwc):
            return mwc
        return float("nan") if 1 in (away, opponent_away) else table.take_point(score)

    drawn = quantity(met) - quantity(other) if other else quantity(met)
    middle, width = color_range(is_difference=other is not None, show=show)
    color = shade(drawn - middle, width) if np.isfinite(drawn) else 0
    shown = f"{100 * drawn:.1f}" if other is None else signed_text(100 * drawn, 2)
    text = shown if np.isfinite(drawn) else "–"
    return {"away": f"{away}-{opponent_away}", "crawford": is_crawford, "text": text, "shade": color, "title": title}


def color_range(*, is_difference: bool, show: str) -> tuple[float, float]:
    """Return the value that has no color, and the distance from it at which colors are strongest."""
    if is_difference:
        return 0.0, STRONGEST
    return (0.5, 0.5) if show == "mwc" else (MIDDLE_TAKE, WIDTH_TAKE)


def scale(*, is_difference: bool, show: str) -> list[tuple[int, str]]:
    """Return the color scale of the heat map: each shade with its middle value in percent."""
    middle, width = color_range(is_difference=is_difference, show=show)
    values = [(each, 100 * (middle + width * each / 5)) for each in range(-5, 6)]
    return [(each, signed_text(value, 1) if is_difference else f"{value:.0f}") for each, value in values]


def met_of(site: Site, name: str) -> MatchEquity:
    """Find the match equity table with this name; if `name` is empty, the default table, or the first if there is no
    default. Raises MissingTableError if the warehouse does not contain it."""

    def read() -> MatchEquity:
        wanted, names = default_met(site.warehouse), names_of(site)
        return find_met(site.warehouse, name or (wanted if wanted in names or not names else names[0]))

    return site.keep(("met", name), read)


def names_of(site: Site) -> list[str]:
    """Return the names of the match equity tables in the warehouse."""

    def read() -> list[str]:
        found: list[str] = []
        for table in (table for kind in KINDS for table in site.warehouse.current(kind)):
            try:
                found += met_names(table.arrays())
            except BgdataError:
                continue  # the pages of tables report the damage
        return list(dict.fromkeys(found))

    return site.keep("met names", read)
