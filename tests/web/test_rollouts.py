"""Rollouts on the site: the figures of the command, and a stream that goes on where others left off."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

import bgdata
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.game.position import Position
from bgdata.play.rollout import roll_out, rolling
from bgdata.web.asked import Asked
from bgdata.web.limits import Limits
from bgdata.web.rollouts import ROUND, estimates
from bgdata.web.site import Site
from tests.cli.command_line import POSITION, position_id, succeeds
from tests.web.reading import read


def test_the_page_is_the_command(client: TestClient, site_root: Path) -> None:
    found = client.get(f"/rollout/{POSITION}.json?trials=72").json()
    assert found == json.loads(succeeds(site_root, "rollout", POSITION, "--trials", "72", "--format", "json"))
    assert "72 games by" in read(client, f"/rollout/{POSITION}?trials=72").text


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (f"{POSITION}?trials=1332", "expected at most 1,296 trials on this site"),
        (f"{POSITION}?trials=37", "expected a multiple of 36 trials"),
        ("nonsense", "expected one of position id"),
        (position_id([0, 2], []), "expected a game in progress"),
    ],
)
def test_what_cannot_be_rolled_out(client: TestClient, where: str, said: str) -> None:
    assert said in read(client, f"/rollout/{where}", 400).text
    if "trials" not in where:
        assert said in read(client, f"/rollout-stream/{where}", 400).text


def test_rounds_add_up(site_root: Path) -> None:
    """Each estimate is that of a rollout of as many games."""
    player = bgdata.open_player(site_root).evaluator
    assert isinstance(player, NetworkPlayer)
    board = np.array(Position(POSITION).board, np.int8)
    for number, result in enumerate(rolling(board, player.chooser, 72, 216), start=1):
        whole = roll_out(board[None], player.chooser, 72 * number)
        for name, column, expected in zip(result._fields, result, whole, strict=True):
            assert np.array_equal(column, expected), name
    assert number == 3


def test_a_stream(client: TestClient, site_root: Path) -> None:
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


def test_streams_are_limited_and_given_back(site_root: Path) -> None:
    site = Site(bgdata.open_warehouse(site_root), Limits(streams=1))
    asked = Asked(POSITION, {})
    first = estimates(site, asked)
    assert next(first).startswith("data: ")
    assert list(estimates(site, asked)) == ["event: done\ndata: {}\n\n"]
    first.close()
    assert next(estimates(site, asked)).startswith("data: ")
