"""The page of a position: its best play or cube action, and everything known about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from bgdata.equity.cube import CubeRules
from bgdata.errors import BgdataError, UsageError
from bgdata.evaluation.chances import AnswerSource, cubeless_equities
from bgdata.evaluation.lookahead_player import LookaheadPlayer, RankedPlay
from bgdata.evaluation.pages.answers import cube_rules_for, exact_cubes, side_by_side, table_rows
from bgdata.evaluation.pages.editor import form_values, refusal
from bgdata.evaluation.probe import probe_rows
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
from bgdata.game.dice import ROLLS, Roll
from bgdata.game.identifiers import omission_note
from bgdata.game.match import Cube, CubeOwner, Stakes
from bgdata.game.play_kernels import batch_plays
from bgdata.game.plays import Play, Verdict, legal_plays
from bgdata.game.position import Position
from bgdata.game.rolls import CHANCES, DICE
from bgdata.kernel import threads
from bgdata.rows import whole_rows
from bgdata.selfplay.pages.choices import kept_estimates
from bgdata.web.answer import Page, address, position_path, shade
from bgdata.web.position_request import PositionRequest, stakes_query
from bgdata.web.site import Row, Site

STEPS = ((0.005, "best"), (0.02, "good"), (0.04, "doubtful"), (0.08, "mistake"), (9.0, "blunder"))  # points lost
DARK = (  # colors of pictures beside text in light and dark mode, as in site.css
    "<style>svg > rect:first-of-type { fill: #fbfaf7 } "
    "@media (prefers-color-scheme: dark) { svg > rect:first-of-type { fill: #191613 } "
    'svg > text[font-size="16"] { fill: #ece6dc } }</style>'
)
LUCKY = 0.6  # luck of a roll with the strongest color, in points


def page(site: Site, request: Request) -> Page:
    """Show a position with its best play or cube action. The JSON contains what the commands `show`, `eval`, `cube`,
    `probe` and `hint` print, under their names. If the query parameter `play` is illegal, page and JSON contain the
    reason and all legal plays."""
    text, given = request.path_params["text"], request.query_params
    try:
        return position_page(site, text, given)
    except BgdataError as error:
        own, _, theirs = given.get("away", "").partition("-")
        return refusal(site, error, text, {**given, "own": own, "theirs": theirs})


def position_page(site: Site, text: str, given: Mapping[str, str]) -> Page:
    """Make the page of a position in the notation `text`, with the query parameters `given`. Raises the errors of
    `PositionRequest` and the player, and TooBusyError if too many pages are being computed."""
    asked = PositionRequest(text, given)
    if not 1 <= asked.plays <= site.limits.plays:
        raise UsageError(f"expected 1 to {site.limits.plays} plays, got {asked.plays}")
    position, roll = asked.position, asked.roll
    if (verdict := asked.verdict) and verdict.play is None:
        drawing = format_board_svg(position, roll=roll, stakes=asked.stakes)
        shown_ = {"asked": asked, "verdict": verdict, "position": position, "board": drawing}
        return Page("illegal.html", shown_, {"error": verdict.error, **verdict_data(verdict, verdict.legal_plays)}, 400)
    with site.player(asked.ply) as player:
        found = position_answers(site, player, asked)
    more = {
        "asked": asked,
        "position": position,
        "board": format_board_svg(position, roll=roll, play=asked.play, stakes=asked.stakes),
        "facts": position_facts(position, asked.state),  # identifiers contain roll and stakes if possible
        "unsaid": omission_note(asked.state),
        "source": source_words(found["evaluation"]),
        "answers": side_by_side(found["evaluation"], found["probed"], found["bare"], found["exact"]),
        "ranked": list(play_rows(asked, found["ranked"])),
        "n_plays": len(found["ranked"]),
        "mean": sum(row["equity"] * row["weight"] for row in found["rolls"]) / 36 if found["rolls"] else None,
        "headline": headline(asked, found),
        "rolled": {} if found["is_over"] else kept_estimates(site, asked),
        **form_values(
            site, asked.text if asked.match else position.id, position, asked.fields, is_setup=asked.is_setup
        ),
    }
    return Page("position.html", found | more, partial(page_data, asked, found))


def headline(asked: PositionRequest, found: Mapping[str, Any]) -> str:
    """The headline of the page: the best play of the roll, or before the roll the right cube action."""
    ranked, standing = found["ranked"], found["standing"]
    if found["is_over"]:
        return "The game is over"
    if asked.roll:
        return f"{asked.roll} to play: {ranked[0].play}"
    if standing is None:
        return "Before the roll"
    if not standing.may_double:
        return f"Before the roll: {standing.why_not}"
    answer = f"; if doubled: {'take' if standing.take_gain > 0 else 'pass'}"
    is_doubled = any(action.name.startswith("DOUBLE") for action in standing.best)
    return f"Before the roll: {best_words(standing, asked.own_stakes)}{'' if is_doubled else answer}"


def verdict_data(verdict: Verdict | None, plays: Sequence[Play]) -> dict[str, object]:
    """The JSON that says whether a play is legal, and lists all legal plays."""
    return {"verdict": str(verdict) if verdict else None, "legal_plays": [str(play) for play in plays]}


def warm_up(site: Site) -> None:
    """Load the kernels that pages need, so that the first page is as quick as later ones."""
    for text, roll in (("4HPwATDgc/ABMA", "31"), ("CgAAEAEAAAAAAA", "")):
        try:
            position_page(site, text, {"roll": roll} if roll else {})
        except BgdataError:
            return  # pages will report the error


def position_answers(site: Site, player: LookaheadPlayer, asked: PositionRequest) -> dict[str, Any]:
    """The answers of a player and of the tables for a position, by their names in the page template. Raises the
    player's errors."""
    position, roll = asked.position, asked.roll
    evaluation, bare = player.evaluate(position), site.bare_player().evaluate(position)
    found: dict[str, Any] = {
        "evaluation": evaluation,
        "bare": bare,  # evaluation without tables
        "is_over": evaluation.source is AnswerSource.OVER,
        "standing": None,  # the decision with the current cube
        "failed": "",  # why there is no cube decision
        **{name: [] for name in ("probed", "cubes", "exact", "ranked", "rolls", "beside")},
    }
    if found["is_over"]:
        return found
    try:
        check_offer(asked.match, asked.text)
        rules = cube_rules_for(site, asked)
        found["standing"] = player.decide_cube(position, asked.own_stakes, rules)
        found["cubes"] = list(cube_states(player, asked, rules))
        found["exact"] = list(exact_cubes(site, asked, rules))
        if roll:
            given = (asked.stakes, rules) if asked.stakes else ()
            found["ranked"] = player.rank_plays(position, roll, *given)
            found["beside"] = [values_at(player, ply, position, roll, given) for ply in reversed(range(asked.ply))]
    except BgdataError as error:
        found["failed"] = site.public(error)
        found["ranked"] = player.rank_plays(position, roll) if roll else []
    return found | {"probed": list(table_rows(site, position)), "rolls": roll_rows(player, position)}


def values_at(
    player: LookaheadPlayer, ply: int, position: Position, roll: Roll, given: tuple[Stakes, CubeRules] | tuple[()]
) -> dict[str, float]:
    """The value of each play that the player evaluates at another ply, by the name of the play. `given` are the stakes
    and rules, or empty."""
    ranked = LookaheadPlayer(player.evaluator, ply, player.filters, player.cubes).rank_plays(position, roll, *given)
    return {str(row.play): ranking_equity(row) for row in ranked if row.evaluation.ply == ply}


def ranking_equity(row: RankedPlay) -> float:
    """The equity by which a play is ranked: cubeful if the stakes are known, otherwise cubeless."""
    return row.evaluation.cubeless_equity if row.cubeful_equity is None else row.cubeful_equity


def page_data(asked: PositionRequest, found: Mapping[str, Any]) -> dict[str, object]:
    """The JSON of the page, from the answers `found`."""
    position, roll, evaluation = asked.position, asked.roll, found["evaluation"]
    legal = asked.verdict.legal_plays if asked.verdict else legal_plays(position, roll) if roll else []
    plays = [asked.play] if asked.play else [] if found["is_over"] else legal
    standing = found["standing"]
    smallest: dict[str, Row] = {}  # the first answer of each method is from its smallest table
    for row in found["probed"]:
        smallest.setdefault(row["method"], row)
    return {
        **verdict_data(asked.verdict, legal),
        "show": whole_rows(position_rows(position, asked.match, roll, plays)),
        "eval": whole_rows([evaluation_row(position, evaluation)]),
        "cube": whole_rows([cube_row(position, standing, asked.own_stakes, evaluation)] if standing else []),
        "probe": whole_rows(probe_rows(position, smallest.values())),
        "hint": whole_rows(ranked_rows(position, roll, found["ranked"][: asked.plays])) if roll else [],
        "rolls": whole_rows(found["rolls"]),
        "errors": {"cube": found["failed"]} if found["failed"] else {},
    }


def cube_states(player: LookaheadPlayer, asked: PositionRequest, rules: CubeRules) -> Iterator[Row]:
    """The cube decisions for a centered cube and for a cube that either player owns. Raises the errors of the player's
    `decide_cube`."""
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


def loss_step(loss: float) -> str:
    """The word for a loss in points, such as mistake; it is also the CSS class for its color."""
    return next(word for most, word in STEPS if loss < most or most == STEPS[-1][0])


def play_rows(asked: PositionRequest, ranked: list[RankedPlay]) -> Iterator[Row]:
    """The rows of the plays on the page, each with a link and a color."""
    for rank, row in enumerate(ranked[: asked.plays], start=1):
        yield {
            "rank": rank,
            "play": str(row.play),
            "address": asked.address_after(row.play),
            "picture": address(f"/board{position_path(asked.position)[9:]}",
                               {"roll": asked.roll, "play": str(row.play), **stakes_query(asked.stakes)}),
            "equity": ranking_equity(row),
            "mwc": row.mwc,
            "loss": row.loss,
            "step": loss_step(row.loss),
            "evaluation": row.evaluation,
        }  # fmt: skip


def roll_rows(player: LookaheadPlayer, position: Position) -> list[Row]:
    """Return a row for each of the 21 rolls: the cubeless value after its best play at 0-ply, and its luck."""
    board = np.array([position.board], np.int8).repeat(len(DICE), axis=0)
    with threads(1):  # for so little work, several threads are slower
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
    """Draw a position with a roll, and a play as arrows."""
    asked = PositionRequest(request.path_params["text"].removesuffix(".svg"), request.query_params)
    text = format_board_svg(asked.position, roll=asked.roll, play=asked.play, stakes=asked.stakes)
    text = text.replace(">", f">{DARK}", 1)
    return Response(text, media_type="image/svg+xml", headers={"cache-control": "public, max-age=3600"})
