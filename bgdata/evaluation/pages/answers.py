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
from bgdata.evaluation.probe import Tables, checker_rows, covering, exact_rows, one_sided_rows
from bgdata.evaluation.rows import (
    source_words,
)
from bgdata.game.match import MatchScore
from bgdata.game.position import Position
from bgdata.web.position_request import PositionRequest
from bgdata.web.site import Row, Site


def rules_of(site: Site, asked: PositionRequest) -> CubeRules:
    """The match equity table and the rules for the stakes. Raises MissingTableError if there is no such table."""
    if isinstance(asked.own_stakes.score, MatchScore):
        return CubeRules(met=met_of(site, asked.options["met"]))
    return CubeRules(has_beavers=asked.has_beavers)


def table_rows(site: Site, position: Position, most: int | None = None) -> Iterator[Row]:
    """The rows of every table that covers a position, or of the smallest `most` exact and one-sided ones; empty for
    other positions."""
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
    """The current tables of any kind, smallest first; manifests are read and arrays mapped once."""
    return site.keep("tables", lambda: cache(partial(covering, site.warehouse)))


def exact_cubes(site: Site, asked: PositionRequest, rules: CubeRules) -> Iterator[Row]:
    """The value of the best cube action by each exact table, at the current cube: points per unit cube in money play;
    in a match, mwc from tables for this score, with rows of their own that include cubeless chances. Damaged tables are
    skipped in money play, where `table_rows` reports them."""
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
    """All answers, the most exact first, each with its difference from the first, and cubeful values from the tables
    that have them."""
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
