"""Rollouts on the site: the figures of the command, and streams of estimates."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import bgdata
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.game.position import Position
from bgdata.selfplay import pages as rollouts
from bgdata.selfplay.pages import ROUND, estimate_events
from bgdata.selfplay.rollout import roll_out, rollout_rounds
from bgdata.web.app import create_app
from bgdata.web.position_request import PositionRequest
from bgdata.web.site import Budget, Limits, Site
from tests.command_line import POSITION, position_id, succeeds
from tests.web.reading import asked as asked_of
from tests.web.reading import read, serving, wait_until

if TYPE_CHECKING:
    from starlette.testclient import TestClient


def test_page_equals_the_command(client: TestClient, site_root: Path) -> None:
    found = client.get(f"/rollout/{POSITION}.json?trials=72").json()
    assert found == json.loads(succeeds(site_root, "rollout", POSITION, "--trials", "72", "--format", "json"))
    assert "72 games by" in read(client, f"/rollout/{POSITION}?trials=72").text


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (f"{POSITION}?trials=1332", "expected at most 1,296 trials on this site"),
        (f"{POSITION}?trials=37", "expected a multiple of 36 trials"),
        ("nonsense", "expected one of position id"),
        (position_id([0, 2], []), "expected a game in progress"),
    ],
)
def test_invalid_rollouts_are_refused(client: TestClient, where: str, message: str) -> None:
    assert message in read(client, f"/rollout/{where}", 400).text
    if "trials" not in where:
        assert message in read(client, f"/rollout-stream/{where}", 400).text


def test_rounds_equal_rollouts_of_all_games(site_root: Path) -> None:
    player = bgdata.open_player(site_root).evaluator
    assert isinstance(player, NetworkPlayer)
    board = np.array(Position(POSITION).board, np.int8)
    for number, result in enumerate(rollout_rounds(board, player.chooser, 72, 216), start=1):
        whole = roll_out(board[None], player.chooser, 72 * number)
        for name, column, expected in zip(result._fields, result, whole, strict=True):
            assert np.array_equal(column, expected), name
    assert number == 3


def test_stream_sends_an_estimate_for_each_round(client: TestClient, site_root: Path) -> None:
    player = bgdata.open_player(site_root).evaluator
    assert isinstance(player, NetworkPlayer)
    answer = client.get(f"/rollout-stream/{POSITION}")
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [event for event in answer.text.split("\n\n") if event]
    assert events[-1] == "event: done\ndata: {}"
    rows = [json.loads(event.removeprefix("data: ")) for event in events[:-1]]
    assert [row["trials"] for row in rows] == [ROUND * number for number in (1, 2, 3)]
    last = roll_out(np.array([Position(POSITION).board], np.int8), player.chooser, 3 * ROUND)
    assert rows[-1]["cubeless_equity"] == float(last.equities[0])


def test_closed_streams_free_their_place(site_root: Path) -> None:
    site = Site(bgdata.open_warehouse(site_root), Limits(streams=1))
    asked = PositionRequest(POSITION, {})
    first = estimate_events(site, asked)
    assert next(first).startswith("data: ")
    (refused,) = estimate_events(site, asked)
    assert refused.startswith('event: refused\ndata: {"error": "expected at most 1 rollouts that are watched at once')
    first.close()
    assert next(estimate_events(site, asked)).startswith("data: ")


def test_stream_is_charged_to_its_client(site_root: Path) -> None:
    """Only rounds are charged, and a client without seconds left is refused."""
    site = Site(bgdata.open_warehouse(site_root), Limits(client_share=0.0, client_seconds=1000.0), is_limited=True)
    assert site.budget
    watched = estimate_events(site, PositionRequest(POSITION, {}), "a")
    next(watched)
    left = site.budget.seconds_left("a")
    assert left < 1000.0
    assert site.budget.seconds_left("a") == left
    next(watched)
    assert site.budget.seconds_left("a") < left
    site.budget.spend("a", site.budget.seconds_left("a") - 5.0)  # reserved for other pages
    assert list(watched) == [
        'event: refused\ndata: {"error": "expected fewer questions at once; try again in a few seconds"}\n\n'
    ]
    with site.charge("a"):
        pass
    assert next(estimate_events(site, PositionRequest(POSITION, {}), "b")).startswith("data: ")


def test_stream_ends_with_its_connection(site_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a real socket a client gets one stream at a time, and the rollout stops when the client disconnects."""
    played, ended = threading.Event(), threading.Event()

    def endless(*given: object) -> Iterator[object]:
        board, chooser, trials, *_ = given
        try:
            while True:
                played.set()
                yield from rollout_rounds(board, chooser, trials, trials)  # type: ignore[arg-type]
        finally:
            ended.set()

    monkeypatch.setattr(rollouts, "rollout_rounds", endless)
    app = create_app(bgdata.open_warehouse(site_root), Limits(streams=1, seat_seconds=0.0), hosts=())
    where = f"/rollout-stream/{POSITION}"
    with serving(app) as port:
        with asked_of(port, where) as first:
            assert first.readline().startswith(b"data: {")
            assert first.readline() == b"\n"
            with asked_of(port, f"{where}.json") as second:
                assert second.status == 429
                message = "expected one rollout at once for each reader, found another; leave its page"
                assert json.loads(second.read()) == {"error": message}
            played.clear()
            assert played.wait(60)
            assert not ended.is_set()
        assert ended.wait(60)
        wait_until(lambda: response_status(port, where) == 200)


def response_status(port: int, where: str) -> int:
    """The status of a response that is not read further."""
    with asked_of(port, where) as answer:
        return answer.status


def test_next_rollout_waits_for_the_previous_one() -> None:
    """When a page is reloaded, for example, the old stream ends a moment later."""
    budget = Budget(Limits(seat_seconds=60.0))
    budget.watch("a")
    timer = threading.Timer(0.05, budget.leave, ["a"])
    timer.start()
    budget.watch("a")
    budget.watch("b")
    timer.join()
