"""Rollouts: a page with a short one, and a stream of estimates that goes on for as long as somebody watches."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator

import numpy as np
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from bgdata.errors import UsageError
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.game.board_svg import format_board_svg
from bgdata.game.outcome import check_in_progress
from bgdata.play.rollout import Limits, RolloutResult, roll_out, rolling
from bgdata.rows.plain import plain, whole_rows
from bgdata.rows.rollouts import rollout_row
from bgdata.web.answer import Page, address, position_path
from bgdata.web.asked import Asked, whole
from bgdata.web.site import Row, Site

TRIALS = 72  # games of the page, unless said
ROUND = 72  # games between two estimates of a stream


def network_of(player: LookaheadPlayer) -> NetworkPlayer:
    """The player as one that kernels can play. Raises UsageError for another one."""
    if not isinstance(player.evaluator, NetworkPlayer):
        raise UsageError(f"expected a player with networks to roll out, got {player.label}")
    return player.evaluator


def row_of(player: NetworkPlayer, asked: Asked, result: RolloutResult) -> Row:
    """A result as `bgdata rollout` prints it."""
    first = {"position_id": asked.position.id, "player": player.label, "version": player.version}
    return first | rollout_row(result, 0, Limits())


def page(site: Site, request: Request) -> Page:
    """A rollout without a cube of so many games; JSON is that of `bgdata rollout`."""
    asked = Asked(request.path_params["text"], request.query_params)
    check_in_progress(asked.position)
    trials = whole(request.query_params, "trials", TRIALS)
    if trials > site.limits.trials:
        raise UsageError(f"expected at most {site.limits.trials:,} trials on this site, got {trials:,}")
    with site.player() as lent:
        player = network_of(lent)
        result = roll_out(np.array([asked.position.board], np.int8), player.chooser, trials)
        row = row_of(player, asked, result)
    shown = {
        "asked": asked,
        "row": row,
        "board": format_board_svg(asked.position),
        "stream": address(f"/rollout-stream{position_path(asked.position)[9:]}", {}),
        "most": site.limits.stream_trials,
    }
    return Page("rollout.html", shown, whole_rows([row]))


def stream(site: Site, request: Request) -> Response:
    """Estimates as server-sent events, one for each round of games."""
    asked = Asked(request.path_params["text"], request.query_params)
    check_in_progress(asked.position)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(estimates(site, asked), media_type="text/event-stream", headers=headers)


def estimates(site: Site, asked: Asked) -> Generator[str]:
    """The events of a stream, which ends at once where too many are watched already. Other requests have the player
    between two rounds."""
    rounds: Iterator[RolloutResult] | None = None
    if not site.streams.acquire(blocking=False):
        yield "event: done\ndata: {}\n\n"
        return
    try:
        while True:
            with site.player() as lent:
                player = network_of(lent)
                board = np.array(asked.position.board, np.int8)
                rounds = rounds or rolling(board, player.chooser, ROUND, site.limits.stream_trials)
                result = next(rounds, None)
                row = row_of(player, asked, result) if result else None
            if row is None:
                yield "event: done\ndata: {}\n\n"
                return
            yield f"data: {json.dumps(plain(row), allow_nan=False)}\n\n"
    finally:
        site.streams.release()
