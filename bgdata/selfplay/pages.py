"""Rollouts: a page with a short one, and a stream of estimates that goes on for as long as somebody watches."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator

import numpy as np
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from bgdata.errors import BgdataError, UsageError
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.rows import left_out
from bgdata.game.board_svg import format_board_svg
from bgdata.game.classes import check_in_progress
from bgdata.rows import plain, whole_rows
from bgdata.selfplay.rollout import Limits, RolloutResult, roll_out, rollout_rounds
from bgdata.selfplay.rows import rollout_row, who_rolled
from bgdata.web.answer import Page, address, client_of, position_path
from bgdata.web.position_request import PositionRequest, whole
from bgdata.web.site import Row, Site

TRIALS = 72  # games of the page, unless said
ROUND = 72  # games between two estimates of a stream


def network_of(player: LookaheadPlayer) -> NetworkPlayer:
    """The player as one that kernels can play. Raises UsageError for another one."""
    if not isinstance(player.evaluator, NetworkPlayer):
        raise UsageError(f"expected a player with networks to roll out, got {player.label}")
    return player.evaluator


def row_of(player: NetworkPlayer, asked: PositionRequest, result: RolloutResult) -> Row:
    """A result as `bgdata rollout` prints it."""
    return {"position_id": asked.position.id, **who_rolled(player)} | rollout_row(result, 0, Limits())


def page(site: Site, request: Request) -> Page:
    """A rollout without a cube of so many games; JSON is that of `bgdata rollout`."""
    asked = PositionRequest(request.path_params["text"], request.query_params)
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
        "left_out": left_out(asked.match),
        "row": row,
        "board": format_board_svg(asked.position),
        "stream": address(f"/rollout-stream{position_path(asked.position)[9:]}", {}),
        "most": site.limits.stream_trials,
    }
    return Page("rollout.html", shown, whole_rows([row]))


class EventStream(StreamingResponse):
    """Server-sent events. What makes them ends with the connection, however that ends and even before it began."""

    def __init__(self, events: Generator[str], ended: Callable[[], None]) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(events, media_type="text/event-stream", headers=headers)
        self._events, self._ended = events, ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events for as long as somebody reads them."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._events.close()
            self._ended()


def stream(site: Site, request: Request) -> Response:
    """Estimates as server-sent events, one for each round of games. Raises TooMuchAskedError."""
    asked, client = PositionRequest(request.path_params["text"], request.query_params), client_of(request)
    check_in_progress(asked.position)
    if site.budget:
        site.budget.watch(client)
    return EventStream(estimates(site, asked, client), lambda: site.budget.leave(client) if site.budget else None)


def event(name: str, data: object) -> str:
    """A server-sent event; without a name it is a message."""
    return f"event: {name}\n" * bool(name) + f"data: {json.dumps(data, allow_nan=False)}\n\n"


def estimates(site: Site, asked: PositionRequest, client: str = "") -> Generator[str]:
    """The events of a stream: estimates, and at its end `done`, or `refused` with the reason."""
    if not site.streams.acquire(blocking=False):
        said = f"expected at most {site.limits.streams} rollouts that are watched at once; try again in a minute"
        yield event("refused", {"error": said})
        return
    try:
        for row in rounds(site, asked, client):
            yield event("", plain(row))
        yield event("done", {})
    except BgdataError as error:
        yield event("refused", {"error": site.public(error)})
    finally:
        site.streams.release()


def rounds(site: Site, asked: PositionRequest, client: str) -> Iterator[Row]:
    """The estimate after each round of games, which the client is charged for. Other requests have the player between
    two rounds. Raises TooBusyError."""
    results: Iterator[RolloutResult] | None = None
    while True:
        with site.charge(client, site.limits.client_reserve), site.player() as lent:
            player = network_of(lent)
            board = np.array(asked.position.board, np.int8)
            results = results or rollout_rounds(board, player.chooser, ROUND, site.limits.stream_trials)
            result = next(results, None)
            if result is None:
                return
            row = row_of(player, asked, result)
        yield row
