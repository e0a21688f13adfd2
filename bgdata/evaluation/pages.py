"""Pages of one position: its evaluations, plays, rolls, and occurrences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import islice
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from bgdata.bearoff.match_two_sided import MAX_CELLS
from bgdata.equity.cube import CubeRules, Method
from bgdata.equity.doubling import best_equity
from bgdata.equity.pages import met_of, names_of
from bgdata.errors import BgdataError, NotCoveredError, UsageError
from bgdata.evaluation.chances import AnswerSource, cubeless_equities
from bgdata.evaluation.cube_tables import MatchBearoff, MoneyBearoff, MoneyEndgame, SolvedRaces
from bgdata.evaluation.lookahead_player import Evaluation, LookaheadPlayer, RankedPlay
from bgdata.evaluation.probe import Tables, checker_rows, covering, exact_rows, one_sided_rows, probe_rows
from bgdata.evaluation.rows import (
    best_words,
    check_offer,
    cube_row,
    evaluation_row,
    position_facts,
    position_rows,
    ranked_rows,
    source_words,
)
from bgdata.game.board_svg import format_board_svg
from bgdata.game.codec import flip_boards
from bgdata.game.dice import ROLLS
from bgdata.game.identifiers import omission_note, parse_identifier
from bgdata.game.match import Cube, CubeOwner, MatchScore, Stakes
from bgdata.game.play_kernels import batch_plays
from bgdata.game.plays import Play, Verdict, legal_plays
from bgdata.game.position import Position
from bgdata.game.rolls import CHANCES, DICE
from bgdata.kernel import threads
from bgdata.rows import whole_rows
from bgdata.store.names import identifier, sql_text
from bgdata.web.answer import Page, address, position_path, shade
from bgdata.web.position_request import BETWEEN, SHORT, PositionRequest, stakes_query, whole
from bgdata.web.site import Row, Site

STEPS = ((0.005, "best"), (0.02, "good"), (0.04, "doubtful"), (0.08, "mistake"), (9.0, "blunder"))  # points lost
LUCKY = 0.6  # points: the strongest color of a roll


def rules_of(site: Site, asked: PositionRequest) -> CubeRules:
    """The match equity table and the rules for the stakes. Raises MissingTableError."""
    if isinstance(asked.own_stakes.score, MatchScore):
        return CubeRules(met=met_of(site, asked.options["met"]))
    return CubeRules(has_beavers=asked.has_beavers)


def page(site: Site, request: Request) -> Page:
    """The page of a position. JSON has under `show`, `eval`, `cube`, `probe` and `hint` what these commands print. If
    `play` is illegal, page and JSON give the reason and all legal plays."""
    return answer_of(site, request.path_params["text"], request.query_params)


def answer_of(site: Site, text: str, given: Mapping[str, str]) -> Page:
    """The page of a position with the parameters of its address. Raises the errors of `PositionRequest` and the player,
    and TooBusyError."""
    asked = PositionRequest(text, given)
    if not 1 <= asked.plays <= site.limits.plays:
        raise UsageError(f"expected 1 to {site.limits.plays} plays, got {asked.plays}")
    position, roll = asked.position, asked.roll
    if (verdict := asked.verdict) and verdict.play is None:
        drawing = format_board_svg(position, roll=roll, stakes=asked.stakes)
        shown_ = {"asked": asked, "verdict": verdict, "position": position, "board": drawing}
        return Page("illegal.html", shown_, {"error": verdict.error, **verdict_of(verdict, verdict.legal_plays)}, 400)
    with site.player(asked.ply) as player:
        found = position_answers(site, player, asked)
    own, _, theirs = asked.fields["away"].partition("-")
    # initial values of the editor's fields
    filled = {"q": asked.text if asked.match else position.id, **asked.fields, "own": own, "theirs": theirs}
    more = {
        "asked": asked,
        "position": position,
        "board": format_board_svg(position, roll=roll, play=asked.play, stakes=asked.stakes),
        "facts": position_facts(position, asked.state),  # with roll and stakes, in the identifiers that can hold them
        "unsaid": omission_note(asked.state),
        "source": source_words(found["evaluation"]),
        "answers": side_by_side(found["evaluation"], found["probed"], found["bare"], found["exact"]),
        "ranked": list(play_rows(asked, found["ranked"])),
        "n_plays": len(found["ranked"]),
        "mean": sum(row["equity"] * row["weight"] for row in found["rolls"]) / 36 if found["rolls"] else None,
        "mets": names_of(site),
        "filled": filled,
        "filled_text": urlencode(filled),
    }
    return Page("position.html", found | more, page_data(asked, found))


def verdict_of(verdict: Verdict | None, plays: Sequence[Play]) -> dict[str, object]:
    """The JSON of a play's verdict, and of all legal plays."""
    return {"verdict": str(verdict) if verdict else None, "legal_plays": [str(play) for play in plays]}


def warm_up(site: Site) -> None:
    """Load the kernels that pages need, so that the first page is as quick as others."""
    for text, roll in (("4HPwATDgc/ABMA", "31"), ("CgAAEAEAAAAAAA", "")):
        try:
            answer_of(site, text, {"roll": roll} if roll else {})
        except BgdataError:
            return  # pages will report it


def position_answers(site: Site, player: LookaheadPlayer, asked: PositionRequest) -> dict[str, Any]:
    """The answers of a player and the tables for a position, by their names in the template. Raises the player's
    errors."""
    position, roll = asked.position, asked.roll
    evaluation, bare = player.evaluate(position), site.bare_player().evaluate(position)
    found: dict[str, Any] = {
        "evaluation": evaluation,
        "bare": bare,  # without tables
        "is_over": evaluation.source is AnswerSource.OVER,
        "standing": None,  # the decision at the current cube
        "failed": "",  # why there is no cube decision
        **{name: [] for name in ("probed", "cubes", "exact", "ranked", "rolls")},
    }
    if found["is_over"]:
        return found
    try:
        check_offer(asked.match, asked.text)
        rules = rules_of(site, asked)
        found["standing"] = player.decide_cube(position, asked.own_stakes, rules)
        found["cubes"] = list(cube_states(player, asked, rules))
        found["exact"] = list(exact_cubes(site, asked, rules))
        if roll:
            found["ranked"] = player.rank_plays(position, roll, *((asked.stakes, rules) if asked.stakes else ()))
    except BgdataError as error:
        found["failed"] = site.public(error)
        found["ranked"] = player.rank_plays(position, roll) if roll else []
    return found | {"probed": list(table_rows(site, position)), "rolls": roll_rows(player, position)}


def page_data(asked: PositionRequest, found: Mapping[str, Any]) -> dict[str, object]:
    """The JSON of the page."""
    position, roll, evaluation = asked.position, asked.roll, found["evaluation"]
    legal = asked.verdict.legal_plays if asked.verdict else legal_plays(position, roll) if roll else []
    plays = [asked.play] if asked.play else [] if found["is_over"] else legal
    standing = found["standing"]
    smallest: dict[str, Row] = {}  # the first answer of each method is from its smallest table
    for row in found["probed"]:
        smallest.setdefault(row["method"], row)
    return {
        **verdict_of(asked.verdict, legal),
        "show": whole_rows(position_rows(position, asked.match, roll, plays)),
        "eval": whole_rows([evaluation_row(position, evaluation)]),
        "cube": whole_rows([cube_row(position, standing, asked.own_stakes, evaluation)] if standing else []),
        "probe": whole_rows(probe_rows(position, smallest.values())),
        "hint": whole_rows(ranked_rows(position, roll, found["ranked"][: asked.plays])) if roll else [],
        "rolls": whole_rows(found["rolls"]),
        "errors": {"cube": found["failed"]} if found["failed"] else {},
    }


def cube_states(player: LookaheadPlayer, asked: PositionRequest, rules: CubeRules) -> Iterator[Row]:
    """The decision for each position of the cube. Raises the errors of `decide_cube` of the player."""
    own = asked.own_stakes
    value = max(2, own.cube.value)
    for name, cube in (
        ("centered", Cube()),
        ("owned by the player on roll", Cube(value, CubeOwner.ON_ROLL)),
        ("owned by the opponent", Cube(value, CubeOwner.OPPONENT)),
    ):
        if own.is_crawford and cube != Cube():
            continue
        stakes = Stakes(own.score, cube)
        found = player.decide_cube(asked.position, stakes, rules)
        words = best_words(found, stakes) if found.may_double else f"no decision: {found.why_not}"
        yield {"name": name, "decision": found, "words": words, "is_standing": cube == own.cube}


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


def loss_step(loss: float) -> str:
    """The word for a loss in points, which is also its color."""
    return next(word for most, word in STEPS if loss < most or most == STEPS[-1][0])


def play_rows(asked: PositionRequest, ranked: list[RankedPlay]) -> Iterator[Row]:
    """The plays of a page, each with its address and color."""
    for rank, row in enumerate(ranked[: asked.plays], start=1):
        yield {
            "rank": rank,
            "play": str(row.play),
            "address": asked.after(row.play),
            "picture": address(f"/board{position_path(asked.position)[9:]}",
                               {"roll": asked.roll, "play": str(row.play), **stakes_query(asked.stakes)}),
            "equity": row.evaluation.cubeless_equity if row.cubeful_equity is None else row.cubeful_equity,
            "mwc": row.mwc,
            "loss": row.loss,
            "step": loss_step(row.loss),
            "evaluation": row.evaluation,
        }  # fmt: skip


def roll_rows(player: LookaheadPlayer, position: Position) -> list[Row]:
    """The cubeless value of each of the 21 rolls after its best play at 0-ply, and its luck."""
    board = np.array([position.board], np.int8).repeat(len(DICE), axis=0)
    with threads(1):  # so little work is slower with several threads
        offsets, after = batch_plays(board, DICE)
        found = player.evaluator.evaluate_many(flip_boards(after))
    values = np.maximum.reduceat(-cubeless_equities(found.chances).astype(np.float64), offsets[:-1])
    mean = float(values @ CHANCES)
    return [
        {
            "roll": str(roll),
            "weight": roll.weight,
            "equity": float(value),
            "luck": float(value) - mean,
            "shade": shade(float(value) - mean, LUCKY),
        }
        for roll, value in zip(ROLLS, values, strict=True)
    ]


def board(_: Site, request: Request) -> Response:
    """The picture of a position with a roll, and with a play as arrows."""
    asked = PositionRequest(request.path_params["text"].removesuffix(".svg"), request.query_params)
    text = format_board_svg(asked.position, roll=asked.roll, play=asked.play, stakes=asked.stakes)
    return Response(text, media_type="image/svg+xml", headers={"cache-control": "public, max-age=3600"})


def go(_: Site, request: Request) -> Response:
    """Redirect a form to the address of its position, which is a notation or the edited counts of checkers by point.
    Raises UsageError if both were changed, and the errors of `PositionRequest`."""
    given = dict(request.query_params)
    text, is_ticked = given.pop("q", "").strip(), bool(given.pop("edit", ""))
    filled = dict(parse_qsl(given.pop("filled", "")))
    counts = [given.pop(f"p{point}", "").strip() for point in range(26)]
    is_edited = is_ticked and any(counts)
    if not is_ticked and any(counts) and filled.get("q"):  # the checkers of the form no longer match its notation
        before = [str(count) for count in parse_identifier(filled["q"])[0].board]
        is_edited = [count or "0" for count in counts] != before
        if is_edited and text != filled["q"]:
            raise UsageError("expected another notation or other checkers, got both; tick the box to use the checkers")
    if is_edited:
        text = ",".join(count or "0" for count in counts)
    elif filled and text == filled.get("q"):  # the fields have the parts of this notation, perhaps edited
        text = parse_identifier(text)[0].id
    elif filled and parse_identifier(text or "start")[1] is not None:  # a new notation overrides untouched fields
        own_names = ("roll", "own", "theirs", *SHORT)
        given = {
            name: value for name, value in given.items()
            if name not in own_names or name == "met" or value != filled.get(name, "")
        }  # fmt: skip
    own, theirs = given.get("own", ""), given.get("theirs", "")
    if own or theirs:
        given["away"] = f"{own or theirs}-{theirs or own}"
        given.pop("jacoby", None)  # left from money play
    if "own" in given and (own == "1") == (theirs == "1"):
        given.pop("crawford", None)  # left from another score
    if "rolled" in given:  # a button
        given["roll"] = given["rolled"]
    given = {name: given[name] for name in ("roll", *SHORT, "ply", "undo", "flip") if name in given}
    asked = PositionRequest(text or "start", given)
    if given.pop("flip", ""):
        return RedirectResponse(asked.flipped_with(given.get("undo", "")), 303)
    if asked.earlier[-1:] == [asked.word]:  # unchanged
        given["undo"] = BETWEEN.join(asked.earlier[:-1])
    where = position_path(asked.text.strip() if asked.match else asked.position)
    return RedirectResponse(address(where, given), 303)


FIRST = 5  # games of a corpus that are linked from a page of occurrences
ROWS = 20  # rows of a table that are linked
GAMES = f"""
select dataset, variant, game, min(turn) as turn from turns where position_id = $id
group by dataset, variant, game
qualify row_number() over (partition by variant order by dataset, game) <= {FIRST} order by all
"""


def where(site: Site, request: Request) -> Page:
    """Occurrences of a position, for the player on roll, in every table that has positions, with links to the first
    games and rows."""
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
    """The rows of the bearoff tables for a position, without long computations; JSON is that of `bgdata probe`. Raises
    NotCoveredError if no table covers it."""
    asked = PositionRequest(request.path_params["text"], request.query_params)
    found = list(table_rows(site, asked.position, most=1))
    if not found:
        raise NotCoveredError(f"expected a bearoff that a table of this warehouse covers, got {asked.position.id}")
    rows = whole_rows(probe_rows(asked.position, found))
    return Page("probe.html", {"asked": asked, "rows": rows, "board": partial(format_board_svg, asked.position)}, rows)


MAP = 9  # default points to go of a cube map


def cube_map(site: Site, request: Request) -> Page:
    """The right cube action at every score up to some points to go, with a centered cube of 1: exact if a table covers
    it, or if its share of a few seconds is enough to solve the race."""
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
