"""Rollouts of the choices in a position: the better plays of its roll, or the cube actions before the roll. The site
keeps rollouts while the warehouse does not change, so a reader who comes back continues from them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from bgdata.equity.cube import CubeRules
from bgdata.errors import BgdataError, UsageError
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.pages.answers import cube_rules_for
from bgdata.evaluation.rows import check_offer
from bgdata.game.board_svg import format_board_svg
from bgdata.game.classes import check_in_progress
from bgdata.game.match import Money, Stakes
from bgdata.kernel_cache import module_cache
from bgdata.rows import whole_rows
from bgdata.selfplay import cubeful_rollout
from bgdata.selfplay.growing_rollout import GrowingRollout, rollout_of_cube, rollout_of_plays
from bgdata.selfplay.pages.rollout import ROUND, network_of, watched_stream
from bgdata.web.answer import Page, client_of, wants_json
from bgdata.web.position_request import PositionRequest, integer_parameter
from bgdata.web.site import Row, Site

WITHIN, MOST_PLAYS = 0.16, 5  # points behind the best static play, and number of plays
WARM = "CgAAEAEAAAAAAA"  # a position with a short game left, for `warm_up`
FIRST_ROUND = 36  # games of each choice before the others get more
FIRST_SECONDS = 0.15  # time for games of a page that is requested for the first time, after those of one choice


def page(site: Site, request: Request) -> Page:
    """The page of a rollout of the plays of a roll, or of the cube actions before it. The cube, the score and the rules
    are in the address; without them, plays are rolled out cubeless. The JSON form plays `trials` games of each choice;
    the page shows the games so far. Raises UsageError if there are too many trials."""
    asked = requested_choices(request)
    trials = integer_parameter(request.query_params, "trials", ROUND)
    if trials > site.limits.trials:
        raise UsageError(f"expected at most {site.limits.trials:,} trials on this site, got {trials:,}")
    if trials < ROUND or trials % (ROUND // 2):
        raise UsageError(f"expected a multiple of {ROUND // 2} trials, at least {ROUND}, got {trials}")
    is_exact = "trials" in request.query_params or wants_json(request)
    begun = time.monotonic()
    for found in growing_rollouts(site, asked, None, trials):
        rollout = found
        if not is_exact and time.monotonic() - begun > FIRST_SECONDS and rollout.estimates():
            break
    rows = [row._asdict() for row in rollout.estimates(trials if is_exact else None)]
    names = [row["choice"] for row in rows]
    shown = {
        "asked": asked,
        "rolled": {row["choice"]: row for row in rows},
        "names": names + [name for name in rollout.names if name not in names],
        "board": format_board_svg(asked.position, roll=asked.roll, stakes=asked.stakes),
        "trials": trials,
        "most": site.limits.stream_trials,
    }
    return Page("choices.html", shown, whole_rows(rows))


def stream(site: Site, request: Request) -> Response:
    """Roll out the choices of a page, and send an estimate as a server-sent event after each round of games. Raises
    TooMuchAskedError if the client already has as many streams as allowed."""
    asked, client = requested_choices(request), client_of(request)
    return watched_stream(site, client, estimates(site, asked, client))


def requested_choices(request: Request) -> PositionRequest:
    """Return the position and settings of the rollout that an address requests. Raises the errors of `PositionRequest`,
    InvalidPositionError if the game is over, and UsageError if options contradict each other."""
    asked = PositionRequest(request.path_params["text"], request.query_params)
    check_in_progress(asked.position)
    check_offer(asked.match, asked.text)
    return asked


def choices_key(asked: PositionRequest) -> object:
    """Return the key under which a site keeps the rollout of this request."""
    stakes = asked.stakes if asked.roll else asked.own_stakes
    rules = asked.options["met"], asked.has_beavers, asked.ply if asked.roll else 0
    return "choices", tuple(asked.position.board), str(asked.roll), stakes, rules


def rollout_for(site: Site, asked: PositionRequest, player: LookaheadPlayer) -> GrowingRollout:
    """Return the rollout that the site has kept for this request, or a new one. Raises UsageError if the player has no
    networks, MissingTableError if there is no match equity table, and the errors of `roll_out_with_cube`."""

    def make() -> GrowingRollout:
        rules, chooser = cube_rules_for(site, asked), network_of(player).chooser
        if asked.roll is None:
            return rollout_of_cube(asked.position, asked.own_stakes, rules, chooser)
        ranked = player.rank_plays(asked.position, asked.roll, *((asked.stakes, rules) if asked.stakes else ()))
        return rollout_of_plays(ranked, asked.stakes, rules, chooser, WITHIN, MOST_PLAYS)

    return site.keep(choices_key(asked), make)


def warm_up(site: Site) -> None:
    """Load the compiled kernels of rollouts, so that the first rollout is as quick as later ones. Other requests can
    use the player meanwhile. If the kernels have never been compiled, which takes a minute, that is left to the first
    rollout."""
    if not module_cache(Path(cubeful_rollout.__file__)).is_dir():
        return
    with suppress(BgdataError):
        with site.player() as player:
            chooser, rules = network_of(player).chooser, CubeRules()
            ranked = player.rank_plays(WARM, "21")
        for stakes in (None, Stakes(Money(is_jacoby=False))):
            rollout_of_plays(ranked, stakes, rules, chooser, WITHIN, 1).grow(0, FIRST_ROUND)


def growing_rollouts(site: Site, asked: PositionRequest, client: str | None, trials: int) -> Iterator[GrowingRollout]:
    """Yield the rollout as it is, and again after each round of games, until all choices have `trials` games. A round
    goes to the choice with the fewest games. Other requests may use the player between rounds. Each round is charged to
    the client, if any. Raises TooBusyError if the player stays busy."""
    while True:
        with site.player(asked.ply) as player:
            rollout = rollout_for(site, asked, player)
        yield rollout
        paid = nullcontext() if client is None else site.charge(client, site.limits.client_reserve)
        with paid, site.player(asked.ply):
            row = min(range(len(rollout.names)), key=rollout.trials)
            if (missing := trials - rollout.trials(row)) <= 0:
                return
            rollout.grow(row, min(ROUND if rollout.trials(row) else FIRST_ROUND, missing))


def estimates(site: Site, asked: PositionRequest, client: str = "") -> Iterator[Row]:
    """Yield the estimates of all choices after each round of games. Raises TooBusyError if the player stays busy."""
    for rollout in growing_rollouts(site, asked, client, site.limits.stream_trials):
        if rows := rollout.estimates():
            yield {"rows": [row._asdict() for row in rows]}


def kept_estimates(site: Site, asked: PositionRequest) -> dict[str, Row]:
    """Return the estimates that the site has kept, by choice; empty if nobody has rolled the position out."""
    kept: GrowingRollout | None = site.kept_result(choices_key(asked))
    return {row.choice: row._asdict() for row in kept.estimates()} if kept else {}
