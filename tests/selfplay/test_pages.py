"""Rollouts on the site: the figures of the command, and streams of estimates."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import numpy as np
import pytest

import bgdata
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.game.position import Position
from bgdata.selfplay.pages import choices
from bgdata.selfplay.pages import rollout as rollouts
from bgdata.selfplay.pages.rollout import ROUND, estimate_events, round_rows
from bgdata.selfplay.rollout import roll_out, rollout_rounds
from bgdata.web.app import create_app
from bgdata.web.position_request import PositionRequest
from bgdata.web.site import Budget, Limits, Site
from tests.command_line import POSITION, output_of, position_id
from tests.web.reading import asked as asked_of
from tests.web.reading import read, serving, wait_until

if TYPE_CHECKING:
    from starlette.testclient import TestClient


def events_of(text: str) -> list[str]:
    """The events of a stream."""
    return [event for event in text.split("\n\n") if event]


def data_of(event: str) -> Any:
    return json.loads(event.removeprefix("data: "))


@pytest.fixture
def player(site_root: Path) -> NetworkPlayer:
    player = bgdata.open_player(site_root).evaluator
    assert isinstance(player, NetworkPlayer)
    return player


def test_page_equals_the_command(client: TestClient, site_root: Path) -> None:
    rows = client.get(f"/rollout/{POSITION}.json?trials=72").json()
    assert rows == json.loads(output_of(site_root, "rollout", POSITION, "--trials", "72", "--format", "json"))
    assert "72 games by" in read(client, f"/rollout/{POSITION}?trials=72").text


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (f"{POSITION}?trials=1332", "expected at most 1,296 trials on this site"),
        (f"{POSITION}?trials=37", "expected a multiple of 36 trials"),
        ("nonsense", "expected one of position id"),
        (position_id([0, 2], []), "expected a game in progress"),
    ],
)
def test_invalid_rollouts_are_refused(client: TestClient, page: str, message: str) -> None:
    assert message in read(client, f"/rollout/{page}", 400).text
    if "trials" not in page:
        assert message in read(client, f"/rollout-stream/{page}", 400).text


def test_rounds_equal_rollouts_of_all_games(player: NetworkPlayer) -> None:
    board = np.array(Position(POSITION).board, np.int8)
    rounds = list(rollout_rounds(board, player.chooser, 72, 216))
    assert len(rounds) == 3
    for number, result in enumerate(rounds, start=1):
        expected = roll_out(board[None], player.chooser, 72 * number)
        for name, values in result._asdict().items():
            assert np.array_equal(values, getattr(expected, name)), name


def test_stream_sends_an_estimate_for_each_round(client: TestClient, player: NetworkPlayer) -> None:
    response = client.get(f"/rollout-stream/{POSITION}")
    assert response.headers["content-type"].startswith("text/event-stream")
    *estimates, last_event = events_of(response.text)
    assert last_event == "event: done\ndata: {}"
    rows = [data_of(event) for event in estimates]
    assert [row["trials"] for row in rows] == [ROUND, 2 * ROUND, 3 * ROUND]
    expected = roll_out(np.array([Position(POSITION).board], np.int8), player.chooser, 3 * ROUND)
    assert rows[-1]["cubeless_equity"] == float(expected.equities[0])


def test_closed_streams_free_their_place(site_root: Path) -> None:
    site = Site(bgdata.open_warehouse(site_root), Limits(streams=1))
    request = PositionRequest(POSITION, {})
    first_stream = estimate_events(site, round_rows(site, request))
    assert next(first_stream).startswith("data: ")
    (refusal,) = estimate_events(site, round_rows(site, request))
    reason = json.loads(refusal.removeprefix("event: refused\ndata: "))
    assert reason["error"].startswith("expected at most 1 rollouts that are watched at once")
    assert reason["is_busy"]
    first_stream.close()
    assert next(estimate_events(site, round_rows(site, request))).startswith("data: ")


def test_stream_is_charged_to_its_client(site_root: Path) -> None:
    """The seconds of each round are charged to the client; one without seconds left is refused."""
    site = Site(bgdata.open_warehouse(site_root), Limits(client_share=0.0, client_seconds=1000.0), is_limited=True)
    assert site.budget
    stream = estimate_events(site, round_rows(site, PositionRequest(POSITION, {}), "a"))
    next(stream)
    seconds_left = site.budget.seconds_left("a")
    assert seconds_left < 1000.0
    assert site.budget.seconds_left("a") == seconds_left
    next(stream)
    assert site.budget.seconds_left("a") < seconds_left
    site.budget.spend("a", site.budget.seconds_left("a") - 5.0)  # reserved for other pages
    error = "expected fewer questions at once; try again in a few seconds"
    assert list(stream) == [f'event: refused\ndata: {{"error": "{error}", "is_busy": true}}\n\n']
    with site.charge("a"):
        pass
    assert next(estimate_events(site, round_rows(site, PositionRequest(POSITION, {}), "b"))).startswith("data: ")


def test_stream_ends_with_its_connection(site_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a real socket, a client gets one stream at a time, and the rollout stops when the client disconnects."""
    played, ended = threading.Event(), threading.Event()

    def endless(*given: object) -> Iterator[object]:
        board, chooser, trials, *_ = given
        while True:
            played.set()
            yield from rollout_rounds(board, chooser, trials, trials)  # type: ignore[arg-type]

    def rows_until_the_end(*given: object) -> Iterator[object]:
        try:
            yield from round_rows(*given)  # type: ignore[arg-type]
        finally:
            ended.set()

    monkeypatch.setattr(rollouts, "rollout_rounds", endless)
    monkeypatch.setattr(rollouts, "round_rows", rows_until_the_end)
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
    """The HTTP status of a response whose body is not read."""
    with asked_of(port, where) as answer:
        return answer.status


def test_next_rollout_waits_for_the_previous_one() -> None:
    """A rollout waits a moment for the same client's previous one to end, as after a page is reloaded."""
    budget = Budget(Limits(seat_seconds=60.0))
    budget.watch("a")
    timer = threading.Timer(0.05, budget.leave, ["a"])
    timer.start()
    budget.watch("a")
    budget.watch("b")
    timer.join()


@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ("roll=21&away=2-4&met=published-12", ("21", "--plays", "5", "--away", "2-4", "--met", "published-12")),
        ("roll=21&cube=2&owner=on_roll&jacoby=1", ("21", "--plays", "5", "--cube", "2", "--owner=on_roll", "--jacoby")),
        ("cube=1", ("--cube", "1")),
    ],
)
def test_choices_equal_the_command(client: TestClient, site_root: Path, query: str, arguments: tuple[str, ...]) -> None:
    """The page's plays and cube actions, with score, cube and rules, have the values of `bgdata rollout`."""
    rows = client.get(f"/choices/{POSITION}.json?{query}&trials=72").json()
    output = output_of(site_root, "rollout", POSITION, *arguments, "--trials", "72", "--format", "json")
    expected = {row["choice"]: row for row in json.loads(output)}
    assert {row["choice"] for row in rows} == expected.keys()
    for row in rows:
        assert row["value"] == pytest.approx(expected[row["choice"]]["value"], abs=1e-9)
        assert row["standard_error"] == pytest.approx(expected[row["choice"]]["standard_error"], abs=1e-9)
        assert row["trials"] == 72
        assert row["unit"] == expected[row["choice"]]["unit"]


def test_choices_without_stakes_equal_the_cubeless_command(client: TestClient, site_root: Path) -> None:
    rows = client.get(f"/choices/{POSITION}.json?roll=21&trials=72").json()
    output = output_of(site_root, "rollout", POSITION, "21", "--plays", "5", "--trials=72", "--format=json")
    expected = {row["play"]: row["cubeless_equity"] for row in json.loads(output)}
    assert {row["choice"]: row["value"] for row in rows} == pytest.approx(expected, abs=1e-9)


def test_rolled_out_choices_are_kept(client: TestClient) -> None:
    """The page of the position shows the rolled-out choices, and a later stream continues from them."""
    page = f"{POSITION}?roll=52&cube=1"
    assert "games each" not in read(client, f"/position/{page}").text
    rows = client.get(f"/choices/{POSITION}.json?roll=52&cube=1&trials=144").json()
    assert {row["trials"] for row in rows} == {144}
    text = read(client, f"/position/{page}").text
    assert "144 games each" in text
    assert f"{rows[0]['value']:+.4f} ± {rows[0]['standard_error']:.4f}".replace("-", "−") in text
    assert "144" in read(client, f"/choices/{page}").text
    first_event, *_ = events_of(client.get(f"/choices-stream/{page}").text)
    assert data_of(first_event)["rows"] == rows


def test_first_page_of_choices_has_an_estimate(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the server is, the page contains the first games of one choice."""
    monkeypatch.setattr(choices, "FIRST_SECONDS", 0.0)
    assert client.get(f"/choices/{POSITION}?roll=53").text.count("data-trials>36<") == 1


def test_stream_of_choices_begins_with_few_games(client: TestClient) -> None:
    """The first estimate is from 36 games of the best play; the last is from all games of every play."""
    *estimates, last_event = events_of(client.get(f"/choices-stream/{POSITION}?roll=61").text)
    assert last_event == "event: done\ndata: {}"
    first_rows = data_of(estimates[0])["rows"]
    last_rows = data_of(estimates[-1])["rows"]
    assert [(row["trials"], row["standard_error"]) for row in first_rows] == [(36, None)]
    assert {row["trials"] for row in last_rows} == {3 * ROUND}
    assert all(row["standard_error"] is not None for row in last_rows)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("roll=71", "expected two dice"),
        ("roll=21&trials=1332", "expected at most 1,296 trials on this site"),
        ("roll=21&trials=37", "expected a multiple of 36 trials, at least 72, got 37"),
        ("roll=21&jacoby=1&beavers=1", "expected rollouts without beavers"),
    ],
)
def test_invalid_choices_are_refused(client: TestClient, query: str, message: str) -> None:
    assert message in read(client, f"/choices/{POSITION}?{query}", 400).text
    assert message in client.get(f"/choices/{POSITION}.json?{query}").json()["error"]


def test_rollout_of_the_page_is_kept(client: TestClient) -> None:
    """The page begins with the static evaluation, and shows the stream's last estimate afterwards."""
    position = position_id([1, 1, 1], [1, 2])
    evaluation = client.get(f"/position/{position}.json").json()["eval"][0]
    text = read(client, f"/rollout/{position}").text
    assert "0 games by" in text
    assert f"{evaluation['cubeless_equity']:+.4f}".replace("-", "−") in text
    events = events_of(client.get(f"/rollout-stream/{position}").text)
    assert f"{3 * ROUND} games by" in read(client, f"/rollout/{position}").text
    assert events_of(client.get(f"/rollout-stream/{position}").text) == events[-2:]


@pytest.mark.parametrize("is_compiled", [True, False])
def test_warm_up_leaves_uncompiled_kernels(
    site_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_compiled: bool
) -> None:
    """Warming up loads compiled kernels, but does not compile any: that takes a minute, in which other pages would
    wait."""
    site = Site(bgdata.open_warehouse(site_root))
    begin = Mock()
    monkeypatch.setattr(choices, "module_cache", lambda _: tmp_path if is_compiled else tmp_path / "none")
    monkeypatch.setattr(choices, "rollout_of_plays", begin)
    choices.warm_up(site)
    assert begin.call_count == 2 * is_compiled
