"""The answers of every table and network to a position, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import islice

from bgdata.equity.cube import CubeRules
from bgdata.equity.doubling import best_equity
from bgdata.equity.pages import met_of
from bgdata.errors import BgdataError
from bgdata.evaluation.chances import AnswerSource
from bgdata.evaluation.cube_tables import MatchBearoff, MoneyBearoff, MoneyEndgame
from bgdata.evaluation.lookahead_player import Evaluation
from bgdata.evaluation.probe import Tables, checker_rows, current_tables, exact_rows, one_sided_rows
from bgdata.evaluation.rows import source_words
from bgdata.game.match import MatchScore
from bgdata.game.position import Position
from bgdata.web.position_request import PositionRequest
from bgdata.web.site import Row, Site


def cube_rules_for(site: Site, asked: PositionRequest) -> CubeRules:
    """Return the rules for cube decisions at the stakes of a request for a page, with the match equity table in a
    match. Raises MissingTableError if there is no such table."""
    if isinstance(asked.own_stakes.score, MatchScore):
        return CubeRules(met=met_of(site, asked.options["met"]))
    return CubeRules(has_beavers=asked.has_beavers)


def table_rows(site: Site, position: Position, most: int | None = None) -> Iterator[Row]:
    """Look up a position in every bearoff table that covers it, and yield a row for each. If `most` is given, only the
    smallest `most` exact and the smallest `most` one-sided tables are used. There are no rows if no table covers the
    position."""
    try:
        on_roll, opponent = checker_rows(position)
    except BgdataError:
        return
    for find in (exact_rows, one_sided_rows):
        try:
            yield from islice(find(cached_tables(site), on_roll, opponent), most)
        except BgdataError as error:
            yield {"source": site.public(error), "method": "damaged"}


METHODS = {"exact": "exact, two-sided", "combined": "one-sided, combined"}
READERS = {"bearoff_two_sided": MoneyBearoff, "contact_endgame": MoneyEndgame}


def cached_tables(site: Site) -> Tables:
    """Return a function from a kind to the site's current tables of that kind, the smallest first. Manifests are read
    and arrays mapped only once."""
    return site.keep("tables", lambda: cache(partial(current_tables, site.warehouse)))


def exact_cubes(site: Site, asked: PositionRequest, rules: CubeRules) -> Iterator[Row]:
    """Yield a row with the value of the best cube action for each exact table, with the current cube. In money play,
    values are points per unit cube. In a match, they are mwc from tables for this score, and the rows contain cubeless
    chances too. Damaged tables are skipped in money play, where `table_rows` reports them."""
    stakes = asked.own_stakes
    if not isinstance(stakes.score, MatchScore):
        for kind, reader in READERS.items():
            for table in cached_tables(site)(kind):
                with suppress(BgdataError):
                    if found := reader(table).cube_equities(asked.position, stakes):
                        yield {"source": table.name, "cubeful": best_equity(found)}
        return
    for table in cached_tables(site)("bearoff_match"):
        try:
            solved = MatchBearoff(table)
            found = solved.cube_equities(asked.position, stakes, rules.met)
            if found:
                decision = solved.reader.probe(asked.position.board, stakes.cube.owner)
                swing = solved.reader.won - solved.reader.lost
                win = (decision.cubeless - solved.reader.lost) / swing if swing else None
                yield {
                    "who": "exact, at this score",
                    "source": table.name,
                    "win": win,
                    "equity": None if win is None else 2 * win - 1,
                    "bound": table.manifest.statistics["mwc_error_bound"],
                    "cubeful": best_equity(found),
                }
        except BgdataError as error:
            empty = dict.fromkeys(("win", "equity", "bound", "cubeful"))
            yield {"who": "damaged", "source": site.public(error), **empty}


def side_by_side(
    evaluation: Evaluation, probed: Sequence[Row], bare: Evaluation, exact: Sequence[Row] = ()
) -> list[Row]:
    """List all answers for a position, the most exact first, each with its difference from the first answer. `probed`
    are the rows of bearoff tables, `bare` is the static evaluation, and `exact` the rows of `exact_cubes`, whose
    cubeful values are added to the rows of the same tables."""
    known = {row["source"]: row["cubeful"] for row in exact if "who" not in row}
    rows: list[Row] = [row for row in exact if "who" in row]
    rows += [
        {
            "who": METHODS.get(row["method"], row["method"]),
            "source": row["source"],
            "win": row.get("win"),
            "equity": row.get("cubeless"),
            "bound": row.get("error_bound"),
            "cubeful": known.get(row["source"]),
        }
        for row in probed
    ]
    sources = [(evaluation, "")] if evaluation.ply else []
    sources += [(bare, bare.accuracy.partition(":")[0])] if bare.source is not AnswerSource.OVER else []
    for each, source in sources:
        chances = {"win": each.win, "equity": each.cubeless_equity}
        rows.append({"who": source_words(each), "source": source, **chances, "bound": None, "cubeful": None})
    first = next((row["equity"] for row in rows if row["equity"] is not None), None)
    return [
        row | {"difference": None if row["equity"] is None or first is None else row["equity"] - first} for row in rows
    ]
