"""Pages of one position: who says what it is worth, its plays, its rolls, and where it occurs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple
from urllib.parse import urlencode

import numpy as np
from starlette.requests import Request

from bgdata.equity.cube import CubeDecision, CubeRules
from bgdata.equity.pages.mets import met_of, names_of
from bgdata.errors import BgdataError, UsageError
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.evaluator import AnswerSource
from bgdata.evaluation.lookahead_player import Evaluation, LookaheadPlayer, RankedPlay
from bgdata.evaluation.pages.beside import exact_cubes, kept_tables, side_by_side
from bgdata.evaluation.rows.cube import best_words, check_offer, cube_row
from bgdata.evaluation.rows.positions import evaluation_row, position_facts, position_rows, ranked_rows, source_words
from bgdata.evaluation.rows.probe import exact_rows, one_sided_rows, probe_rows, rows_of
from bgdata.game.board_svg import format_board_svg
from bgdata.game.codec import flip_boards
from bgdata.game.dice import ROLLS
from bgdata.game.identifiers import unsaid_words
from bgdata.game.match import Cube, CubeOwner, MatchScore, Stakes
from bgdata.game.play_kernels import batch_plays
from bgdata.game.plays import Play, Verdict, legal_plays
from bgdata.game.position import Position
from bgdata.game.rolls import CHANCES, DICE
from bgdata.kernel import threads
from bgdata.rows import whole_rows
from bgdata.web.answer import Page, address, position_path
from bgdata.web.asked import Asked, stakes_query
from bgdata.web.site import Row, Site

STEPS = ((0.005, "best"), (0.02, "good"), (0.04, "doubtful"), (0.08, "mistake"), (9.0, "blunder"))  # points lost
LUCKY = 0.6  # points: the strongest color of a roll
SHADES = 5  # of either side of a heat map


def rules_of(site: Site, asked: Asked) -> CubeRules:
    """The match equity table, and the rules of what is played for. Raises MissingTableError."""
    if isinstance(asked.own_stakes.score, MatchScore):
        return CubeRules(met=met_of(site, asked.options["met"]))
    return CubeRules(has_beavers=asked.has_beavers)


def page(site: Site, request: Request) -> Page:
    """The page of a position. JSON has under `show`, `eval`, `cube`, `probe` and `hint` what these commands print.
    Where `play` is illegal, JSON and page say why, and have all legal plays."""
    return answer_of(site, request.path_params["text"], request.query_params)


class Found(NamedTuple):
    """What the player, and the tables, say of a position."""

    evaluation: Evaluation
    bare: Evaluation  # by the network alone
    probed: list[Row]  # by each bearoff table
    standing: CubeDecision | None  # at the cube as it stands
    cubes: list[Row]
    ranked: list[RankedPlay]
    rolls: list[Row]
    failed: str  # why there is nothing about the cube
    exact: list[Row]  # cube decisions by each table that has them

    @property
    def is_over(self) -> bool:
        """Whether the game is over."""
        return self.evaluation.source is AnswerSource.OVER


def answer_of(site: Site, text: str, given: Mapping[str, str]) -> Page:
    """The page of a position and of all that its address says. Raises what `Asked` raises, TooBusyError, and what the
    player raises."""
    asked = Asked(text, given)
    if not 1 <= asked.plays <= site.limits.plays:
        raise UsageError(f"expected 1 to {site.limits.plays} plays, got {asked.plays}")
    if asked.verdict and asked.verdict.play is None:
        return refusal(asked, asked.verdict)
    with site.player(asked.ply) as player:
        found = found_by(site, player, asked)
    return Page("position.html", shown_of(asked, found) | editor_of(site, asked), data_of(asked, found))


def refusal(asked: Asked, verdict: Verdict) -> Page:
    """The page of a play that is illegal: why, and what could be played."""
    board = format_board_svg(asked.position, roll=asked.roll, stakes=asked.stakes)
    shown_ = {"asked": asked, "verdict": verdict, "position": asked.position, "board": board}
    return Page("illegal.html", shown_, {"error": verdict.error, **verdict_of(verdict, verdict.legal_plays)}, 400)


def verdict_of(verdict: Verdict | None, plays: Sequence[Play]) -> dict[str, object]:
    """What JSON says of a play, and of all that are legal."""
    return {"verdict": str(verdict) if verdict else None, "legal_plays": [str(play) for play in plays]}


def warm_up(site: Site) -> None:
    """Load the kernels that pages need, so that the first one is as quick as the others."""
    for text, roll in (("4HPwATDgc/ABMA", "31"), ("CgAAEAEAAAAAAA", "")):
        try:
            answer_of(site, text, {"roll": roll} if roll else {})
        except BgdataError:
            return  # pages will say so


def found_by(site: Site, player: LookaheadPlayer, asked: Asked) -> Found:
    """What a player says. Raises what it raises."""
    position, roll = asked.position, asked.roll
    evaluation, bare = player.evaluate(position), site.bare_player().evaluate(position)
    if evaluation.source is AnswerSource.OVER:
        return Found(evaluation, bare, [], None, [], [], [], "", [])
    standing, cubes, ranked, failed = None, list[Row](), list[RankedPlay](), ""
    exact: list[Row] = []
    try:
        check_offer(asked.match, asked.text)
        rules = rules_of(site, asked)
        standing = player.decide_cube(position, asked.own_stakes, rules)
        cubes = list(cube_states(player, asked, rules))
        exact = list(exact_cubes(site, asked, rules))
        if roll:
            ranked = player.rank_plays(position, roll, *((asked.stakes, rules) if asked.stakes else ()))
    except BgdataError as error:
        failed = site.public(error)
        ranked = player.rank_plays(position, roll) if roll else []
    probed, rolls = list(tables_of(site, position)), roll_rows(player, position)
    return Found(evaluation, bare, probed, standing, cubes, ranked, rolls, failed, exact)


def data_of(asked: Asked, found: Found) -> dict[str, object]:
    """The JSON of the page."""
    position, roll = asked.position, asked.roll
    legal = asked.verdict.legal_plays if asked.verdict else legal_plays(position, roll) if roll else []
    plays = [asked.play] if asked.play else [] if found.is_over else legal
    cubes = [cube_row(position, found.standing, asked.own_stakes, found.evaluation)] if found.standing else []
    return {
        **verdict_of(asked.verdict, legal),
        "show": whole_rows(position_rows(position, asked.match, roll, plays)),
        "eval": whole_rows([evaluation_row(position, found.evaluation)]),
        "cube": whole_rows(cubes),
        "probe": whole_rows(probe_rows(position, smallest_of(found.probed).values())),
        "hint": whole_rows(ranked_rows(position, roll, found.ranked[: asked.plays])) if roll else [],
        "rolls": whole_rows(found.rolls),
        "errors": {"cube": found.failed} if found.failed else {},
    }


def shown_of(asked: Asked, found: Found) -> dict[str, object]:
    """What the page shows."""
    position, rolls = asked.position, found.rolls
    return {
        **found._asdict(),
        "asked": asked,
        "position": position,
        "board": format_board_svg(position, roll=asked.roll, play=asked.play, stakes=asked.stakes),
        "facts": position_facts(position, asked.state),  # with what is rolled and played for, where names can hold it
        "unsaid": unsaid_words(asked.state),
        "source": source_words(found.evaluation),
        "is_over": found.is_over,
        "answers": side_by_side(found.evaluation, found.probed, found.bare, found.exact),
        "ranked": list(play_rows(asked, found.ranked)),
        "n_plays": len(found.ranked),
        "mean": sum(row["equity"] * row["weight"] for row in rolls) / 36 if rolls else None,
    }


def editor_of(site: Site, asked: Asked) -> dict[str, object]:
    """What the editor chooses from, and what its fields have before anybody changes them."""
    own, _, theirs = asked.fields["away"].partition("-")
    filled = {"q": asked.text if asked.match else asked.position.id, **asked.fields, "own": own, "theirs": theirs}
    return {"mets": names_of(site), "filled": filled, "filled_text": urlencode(filled)}


def cube_states(player: LookaheadPlayer, asked: Asked, rules: CubeRules) -> Iterator[Row]:
    """The decision for each place where the cube can be. Raises what `decide_cube` of the player raises."""
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


def tables_of(site: Site, position: Position, most: int | None = None) -> Iterator[Row]:
    """What every table that covers a position has for it, or the smallest `most` exact and one-sided ones; nothing for
    other positions."""
    try:
        on_roll, opponent = rows_of(position)
    except BgdataError:
        return
    for find in (exact_rows, one_sided_rows):
        try:
            yield from islice(find(kept_tables(site), on_roll, opponent), most)
        except BgdataError as error:
            yield {"source": site.public(error), "method": "damaged"}


def smallest_of(probed: Sequence[Row]) -> dict[str, Row]:
    """The first answer of each method, which is that of the smallest table."""
    found: dict[str, Row] = {}
    for row in probed:
        found.setdefault(row["method"], row)
    return found


def step_of(loss: float) -> str:
    """The word, and the color, of a loss in points."""
    return next(word for most, word in STEPS if loss < most or most == STEPS[-1][0])


def play_rows(asked: Asked, ranked: list[RankedPlay]) -> Iterator[Row]:
    """The plays that a page shows, each with its address and its color."""
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
            "step": step_of(row.loss),
            "evaluation": row.evaluation,
        }  # fmt: skip


def shade(value: float, most: float) -> int:
    """The color of a value of a heat map: -5 to 5."""
    return round(SHADES * max(-1.0, min(1.0, value / most)))


def roll_rows(player: LookaheadPlayer, position: Position) -> list[Row]:
    """What each of the 21 rolls is worth without a cube after its best play at 0-ply, and how lucky it is."""
    board = np.array([position.board], np.int8).repeat(len(DICE), axis=0)
    with threads(1):  # for so little, threads would wait for one another longer than they compute
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
