"""Everybody's answer to a position, side by side: tables, the network, and who looks ahead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial

from bgdata.equity.cube import CubeRules
from bgdata.equity.doubling import CubeEquities
from bgdata.errors import BgdataError
from bgdata.evaluation.cube_tables import MatchBearoff, MoneyBearoff, MoneyEndgame
from bgdata.evaluation.evaluator import AnswerSource
from bgdata.evaluation.lookahead_player import Evaluation
from bgdata.evaluation.rows.positions import source_words
from bgdata.evaluation.rows.probe import Tables, covering
from bgdata.game.match import MatchScore
from bgdata.web.asked import Asked
from bgdata.web.site import Row, Site

METHODS = {"exact": "exact, two-sided", "combined": "one-sided, combined"}
READERS = {"bearoff_two_sided": MoneyBearoff, "contact_endgame": MoneyEndgame}


def kept_tables(site: Site) -> Tables:
    """The current tables of any kind, smallest first; their manifests are read and their arrays mapped once."""
    return site.keep("tables", lambda: cache(partial(covering, site.warehouse)))


def exact_cubes(site: Site, asked: Asked, rules: CubeRules) -> Iterator[Row]:
    """What the best cube action is worth by each table that knows it, at the cube as it stands: points per unit cube in
    money play, mwc by tables that were solved for this score. A damaged table has no answer."""
    stakes = asked.own_stakes
    if isinstance(stakes.score, MatchScore):
        yield from match_cubes(site, asked, rules)
        return
    for kind, reader in READERS.items():
        for table in kept_tables(site)(kind):
            try:
                found = reader(table).cube_equities(asked.position, stakes)
            except BgdataError:
                continue  # `tables_of` says so
            if found:
                yield {"source": table.name, "cubeful": best(found)}


def match_cubes(site: Site, asked: Asked, rules: CubeRules) -> Iterator[Row]:
    """The same by match tables, which stand in rows of their own: with their chances without a cube, too."""
    for table in kept_tables(site)("bearoff_match"):
        try:
            solved = MatchBearoff(table)
            found = solved.cube_equities(asked.position, asked.own_stakes, rules.met)
            if found:
                decision = solved.reader.probe(asked.position.board, asked.own_stakes.cube.owner)
                swing = solved.reader.won - solved.reader.lost
                win = (decision.cubeless - solved.reader.lost) / swing if swing else None
                chances = {"win": win, "equity": None if win is None else 2 * win - 1}
                bound = table.manifest.statistics["mwc_error_bound"]
                row = {"who": "exact, at this score", "source": table.name, "bound": bound, "cubeful": best(found)}
                yield row | chances
        except BgdataError as error:
            empty = dict.fromkeys(("win", "equity", "bound", "cubeful"))
            yield {"who": "damaged", "source": site.public(error), **empty}


def best(found: CubeEquities) -> float:
    """The value of the best action of both sides."""
    return max(found.no_double, min(found.double_take, found.double_beaver, found.double_pass))


def side_by_side(
    evaluation: Evaluation, probed: Sequence[Row], bare: Evaluation, exact: Sequence[Row] = ()
) -> list[Row]:
    """Everybody's answer, the most exact first, each with its difference from that one, and with the cube where a table
    knows it."""
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
    if evaluation.ply:
        rows.append(answer_row(evaluation, ""))
    if bare.source is not AnswerSource.OVER:
        rows.append(answer_row(bare, bare.accuracy.partition(":")[0]))
    first = next((row["equity"] for row in rows if row["equity"] is not None), None)
    return [
        row | {"difference": None if row["equity"] is None or first is None else row["equity"] - first} for row in rows
    ]


def answer_row(evaluation: Evaluation, source: str) -> Row:
    """The row of a player's answer."""
    chances = {"win": evaluation.win, "equity": evaluation.cubeless_equity}
    return {"who": source_words(evaluation), "source": source, **chances, "bound": None, "cubeful": None}
