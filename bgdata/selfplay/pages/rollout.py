"""The rollout page of a position, and a stream of estimates that runs while a client reads it."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial

import numpy as np
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from bgdata.errors import BgdataError, TooBusyError, UsageError
from bgdata.evaluation.chances import CHANCES
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.rows import unused_parts
from bgdata.game.board_svg import format_board_svg
from bgdata.game.classes import check_in_progress
from bgdata.rows import json_value, whole_rows
from bgdata.selfplay.rollout import Limits, RolloutResult, roll_out, rollout_rounds
from bgdata.selfplay.rows import player_columns, rollout_row
from bgdata.web.answer import Page, address, client_of, position_path, wants_json
from bgdata.web.position_request import PositionRequest, integer_parameter
from bgdata.web.site import Row, Site

TRIALS = 72  # default number of games of the page
ROUND = 72  # games between two estimates of a stream


def network_of(player: LookaheadPlayer) -> NetworkPlayer:
    """Return the network by which the site's player evaluates, for kernels. Raises UsageError if the player has no
    network."""
    if not isinstance(player.evaluator, NetworkPlayer):
        raise UsageError(f"expected a player with networks to roll out, got {player.label}")
    return player.evaluator


def result_row(player: NetworkPlayer, asked: PositionRequest, result: RolloutResult) -> Row:
    """Return the result of a rollout as a row of data, with the columns of `bgdata rollout`."""
    return {"position_id": asked.position.id, **player_columns(player)} | rollout_row(result, 0, Limits())


def page(site: Site, request: Request) -> Page:
    """The page of a cubeless rollout; its JSON form is what `bgdata rollout` prints. If `trials` is not given, the page
    shows the estimate that the site has kept, or the static one, and the stream continues from it. Raises UsageError if
    there are too many trials."""
    asked = PositionRequest(request.path_params["text"], request.query_params)
    check_in_progress(asked.position)
    trials = integer_parameter(request.query_params, "trials", TRIALS)
    if trials > site.limits.trials:
        raise UsageError(f"expected at most {site.limits.trials:,} trials on this site, got {trials:,}")
    is_exact = "trials" in request.query_params or wants_json(request)
    with site.player() as lent:
        player = network_of(lent)
        kept: KeptRounds | None = site.kept_result(rollout_key(asked))
        if is_exact:
            result = roll_out(np.array([asked.position.board], np.int8), player.chooser, trials)
            row = result_row(player, asked, result)
        elif kept and kept.last:
            row = result_row(player, asked, kept.last)
        else:
            row = static_row(lent, player, asked)
    shown = {
        "asked": asked,
        "left_out": unused_parts(asked.match),
        "row": row,
        "board": format_board_svg(asked.position),
        "stream": address(f"/rollout-stream{position_path(asked.position)[9:]}", {}),
        "most": site.limits.stream_trials,
    }
    return Page("rollout.html", shown, whole_rows([row]))


def static_row(player: LookaheadPlayer, network: NetworkPlayer, asked: PositionRequest) -> Row:
    """Return the static evaluation of the position as a row of data: the start of a rollout, without games."""
    chances = {name: getattr(player.evaluate(asked.position), name) for name in (*CHANCES, "cubeless_equity")}
    errors = dict.fromkeys([f"{name}_standard_error" for name in CHANCES])
    return {**player_columns(network), **chances, **errors, "standard_error": None, "trials": 0}


class KeptRounds:
    """A cubeless rollout that the site keeps, and its last result. Each client that reads it may add rounds of
    games."""

    def __init__(self, begin: Callable[[], Iterator[RolloutResult]]) -> None:
        self._rounds = begin()
        self.last: RolloutResult | None = None

    def grow(self) -> bool:
        """Play one more round of games. Returns False if the rollout already has the maximum number."""
        found = next(self._rounds, None)
        self.last = found or self.last
        return found is not None


def rollout_key(asked: PositionRequest) -> object:
    """Return the key under which a site keeps the rollout of this position."""
    return "rounds", tuple(asked.position.board)


class EventStream(StreamingResponse):
    """Server-sent events. When the connection ends, even before the first event, the generator is closed and `on_close`
    is called."""

    def __init__(self, events: Generator[str], on_close: Callable[[], None]) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(events, media_type="text/event-stream", headers=headers)
        self._events, self._on_close = events, on_close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until the client disconnects."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._events.close()
            self._on_close()


def stream(site: Site, request: Request) -> Response:
    """Roll out a position, and send an estimate as a server-sent event after each round of games. Raises
    TooMuchAskedError if the client already has as many streams as allowed."""
    asked, client = PositionRequest(request.path_params["text"], request.query_params), client_of(request)
    check_in_progress(asked.position)
    return watched_stream(site, client, round_rows(site, asked, client))


def watched_stream(site: Site, client: str, rows: Iterator[Mapping[str, object]]) -> Response:
    """Return a response that sends rows as server-sent events while the client is connected. Raises TooMuchAskedError
    if the client already has as many streams as allowed."""
    if site.budget:
        site.budget.watch(client)
    return EventStream(estimate_events(site, rows), lambda: site.budget.leave(client) if site.budget else None)


def event_text(name: str, data: object) -> str:
    """Return a server-sent event as a string. If `name` is empty, the event is a plain message."""
    return f"event: {name}\n" * bool(name) + f"data: {json.dumps(data, allow_nan=False)}\n\n"


def estimate_events(site: Site, rows: Iterator[Mapping[str, object]]) -> Generator[str]:
    """Yield the events of a stream: one for each row, then `done`, or `refused` with the reason and whether the client
    may try again later."""
    if not site.streams.acquire(blocking=False):
        message = f"expected at most {site.limits.streams} rollouts that are watched at once; try again in a minute"
        yield event_text("refused", {"error": message, "is_busy": True})
        return
    try:
        for row in rows:
            yield event_text("", json_value(row))
        yield event_text("done", {})
    except BgdataError as error:
        yield event_text("refused", {"error": site.public(error), "is_busy": isinstance(error, TooBusyError)})
    finally:
        site.streams.release()


def round_rows(site: Site, asked: PositionRequest, client: str = "") -> Iterator[Row]:
    """Yield a row with the kept estimate, if any, and a row with the estimate after each further round of games. Each
    round is charged to the client, and releases the player afterwards, so that other requests can use it. Raises
    TooBusyError if the player stays busy."""
    board, most = np.array(asked.position.board, np.int8), site.limits.stream_trials
    is_begun = False
    while True:
        with site.charge(client, site.limits.client_reserve), site.player() as lent:
            player = network_of(lent)
            begin = partial(rollout_rounds, board, player.chooser, ROUND, most)
            kept = site.keep(rollout_key(asked), partial(KeptRounds, begin))
            if (is_begun or not kept.last) and not kept.grow():
                return
            is_begun = True
            assert kept.last
            row = result_row(player, asked, kept.last)
        yield row
