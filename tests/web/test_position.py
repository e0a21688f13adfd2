"""The page of a position: what commands say, and what is wrong about an address."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

import bgdata
from bgdata.game.dice import ROLLS
from bgdata.game.identifiers import identify
from bgdata.game.position import Position
from tests.cli.command_line import POSITION, position_id, run, succeeds
from tests.web.reading import read

START = "4HPwATDgc/ABMA"
XGID = "XGID=-b----E-C---eE---c-e----B-:1:1:1:31:2:3:0:7:10"
OVER = position_id([0, 2], [])


def data(root: Path, *arguments: str) -> object:
    return json.loads(succeeds(root, *arguments, "--format", "json"))


@pytest.mark.parametrize(
    ("notation", "query", "commands"),
    [
        (START, "", {"show": (), "eval": (), "cube": ()}),
        (START, "roll=31", {"show": ("--roll", "31"), "hint": ("31", "--plays", "10"), "eval": ()}),
        (START, "roll=31&ply=1&plays=2", {"hint": ("31", "--plays", "2", "--ply", "1"), "eval": ("--ply", "1")}),
        (START, "roll=31&cube=2&owner=opponent", {"hint": ("31", "--plays=10", "--cube", "2", "--owner", "opponent")}),
        (START, "cube=2", {"cube": ("--cube", "2")}),
        (START, "jacoby=1&beavers=1", {"cube": ("--jacoby", "--beavers")}),
        (START, "away=2-4&met=published-12", {"cube": ("--away", "2-4", "--met", "published-12")}),
        (START, "away=1-4&crawford=1&met=published-12", {"cube": ("--away=1-4", "--crawford", "--met=published-12")}),
        (POSITION, "", {"show": (), "eval": (), "probe": (), "cube": ()}),
        (XGID, "met=published-12", {"show": (), "eval": (), "hint": ("--plays", "10", "--met", "published-12")}),
    ],
)  # fmt: skip
def test_json_is_what_commands_print(
    client: TestClient, site_root: Path, notation: str, query: str, commands: dict[str, tuple[str, ...]]
) -> None:
    found = client.get(f"/position/{quote(notation, safe='/+:=,-')}.json?{query}").json()
    for name, arguments in commands.items():
        assert found[name] == data(site_root, name, notation, *arguments), name


def test_every_notation_is_an_address(client: TestClient) -> None:
    expected = client.get(f"/position/{START}.json").json()["eval"]
    for name, text in identify(Position(START)).items():
        if name != "match_id":
            assert client.get(f"/position/{quote(text, safe='/')}.json").json()["eval"] == expected, name


def test_the_page(client: TestClient) -> None:
    page = read(client, f"/position/{POSITION}")
    assert "Before the roll" in page.text
    assert "two-sided table" in page.text
    for word in ("exact, two-sided", "one-sided, combined", "race network", "centered", "owned by the opponent"):
        assert word in page.text
    for text in identify(Position(POSITION)).values():
        assert text in page.text
    assert "The game is over" in read(client, f"/position/{OVER}").text


def test_names_hold_roll_score_and_cube(client: TestClient) -> None:
    """Who copies one gets the same page; what no name can hold is left out of them."""
    page = read(client, f"/position/{START}?roll=31&away=2-4&cube=2&owner=on_roll&met=published-12")
    (xgid,) = (word for word in page.text.split() if word.startswith("XGID="))
    (gnubg_id,) = (word for word in page.text.split() if word.startswith(f"{START}:"))
    expected = client.get(f"/position/{START}.json?roll=31&away=2-4&cube=2&owner=on_roll&met=published-12").json()
    for name in (xgid, gnubg_id):
        found = client.get(f"/position/{quote(name, safe='/')}.json?met=published-12").json()
        assert (found["cube"], found["hint"]) == (expected["cube"], expected["hint"]), name
    assert START in read(client, f"/position/{START}?cube=8192&owner=on_roll").text


def test_plays_lead_on(client: TestClient) -> None:
    """Every play of the page leads to the position after it, the opponent on roll, with score and cube turned."""
    page = read(client, f"/position/{START}?roll=31&away=2-4&cube=2&owner=on_roll&met=published-12&plays=60")
    after = [play.next_position.id for play in Position(START).legal_plays("31")]
    for name in after:
        assert f"/position/{name}?away=4-2&cube=2&owner=opponent&met=published-12" in page.links
    best = client.get(f"/position/{START}.json?roll=31").json()["hint"][0]["play"]
    assert best == "8/5 6/5"


def test_rolls_are_the_best_plays(client: TestClient, site_root: Path) -> None:
    """Against the plays of each roll, ranked one by one."""
    player = bgdata.open_player(site_root)
    rows = client.get(f"/position/{START}.json").json()["rolls"]
    assert [row["roll"] for row in rows] == [str(roll) for roll in ROLLS]
    for row in rows:
        assert row["equity"] == pytest.approx(player.best_play(START, row["roll"]).evaluation.cubeless_equity, abs=1e-6)
    weights = np.array([row["weight"] for row in rows])
    assert np.array([row["luck"] for row in rows]) @ weights == pytest.approx(0, abs=1e-9)


def test_the_three_cubes(client: TestClient, site_root: Path) -> None:
    text = read(client, f"/position/{POSITION}").text
    for arguments in ((), ("--cube", "2", "--owner", "on_roll"), ("--cube", "2", "--owner", "opponent")):
        (row,) = json.loads(run(site_root, "cube", POSITION, *arguments, "--format", "json").stdout)
        assert f"{row['no_double']:+.4f}".replace("-", "−") in text


def test_changes_of_the_editor_are_undone(client: TestClient) -> None:
    """One after the other, with the score; the address says all that there is to know."""
    given = {"q": POSITION, "undo": START, "away": "3-5"}
    first = client.get("/position", params=given).headers["location"]
    page = read(client, first)
    undo = next(link for link in page.links if link.endswith("#board"))
    assert undo.startswith(f"/position/{START}?")
    assert "away=3-5" in undo
    assert "undo" not in undo
    flipped = client.get("/position", params=given | {"flip": "1"}).headers["location"]
    assert flipped.startswith(f"/position/{Position(POSITION).flip().id}?")
    assert "away=5-3" in flipped
    assert "undo=" in flipped
    assert "undo" not in read(client, f"/position/{START}").text
    many = ".".join([START] * 50)
    assert client.get(f"/position/{START}", params={"undo": many}).text.count(START + "." + START) <= 21
    read(client, f"/position/{START}?undo=<b>", 400)


def test_the_editor_leads_to_a_position(client: TestClient) -> None:
    board = Position(POSITION).board
    counts = {f"p{point}": str(count) for point, count in enumerate(board)}
    answer = client.get("/position", params=counts | {"edit": "1", "q": START, "roll": "21", "away": "", "owner": ""})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/position/{POSITION}?roll=21")
    answer = client.get("/position", params={"q": START, "away": "3-5", "cube": "2"})
    assert answer.headers["location"] == f"/position/{START}?away=3-5&cube=2"
    assert client.get("/position").headers["location"] == f"/position/{START}"


def test_pictures(client: TestClient) -> None:
    answer = client.get(f"/board/{START}?roll=31&play=8/5 6/5")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.text == Position(START).svg("8/5 6/5", "31")


def test_where_a_position_occurs(client: TestClient) -> None:
    rows = client.get(f"/where/{START}.json").json()
    counts = client.get(
        "/sql.json",
        params={"q": f"select variant, count(*) as rows from turns where position_id = '{START}' group by all"},
    ).json()
    turns = [row for row in rows if row["table"] == "turns"]
    assert sorted((row["variant"], row["rows"]) for row in turns) == sorted(
        (row["variant"], row["rows"]) for row in counts
    )
    assert turns


def test_the_cube_map(client: TestClient, site_root: Path) -> None:
    rows = client.get(f"/cube-map/{START}.json?met=published-12&length=4").json()
    assert len(rows) == 16
    for row in rows:
        away = ("--away", f"{row['away']}-{row['opponent_away']}") + (("--crawford",) if row["is_crawford"] else ())
        found = json.loads(run(site_root, "cube", START, *away, "--met", "published-12", "--format", "json").stdout)
        assert row["mwc"] == pytest.approx(found[0]["equity"])
        assert row["action"] == (found[0]["best"][0] if found[0]["double_take"] is not None else "none")


WRONG = {
    "/position/nonsense": "expected one of position id, gnubg id",
    f"/position/{START[:-1]}": "expected 14 characters in a position id",
    f"/position/{'A' * 400}": "expected a position of at most 300 characters",
    f"/position/{START}?roll=71": "expected two dice such as '31'",
    f"/position/{START}?roll=31&play=24/1": "expected",
    f"/position/{START}?away=0-5": "expected at least 1 point to go for each side",
    f"/position/{START}?away=x": "expected points that the player on roll and the opponent need",
    f"/position/{START}?crawford=1": "expected --away with --crawford",
    f"/position/{START}?crawford=maybe": "expected 1 or 0 as crawford",
    f"/position/{START}?cube=3": "expected a power of two as cube value",
    f"/position/{START}?cube=-2": "expected a whole number as cube",
    f"/position/{START}?owner=me": "expected an owner of the cube",
    f"/position/{START}?ply=2": "expected a ply from 0 to 1 on this site",
    f"/position/{START}?plays=0": "expected 1 to 60 plays",
    f"/position/{START}?plays=1e3": "expected a whole number as plays",
    f"/cube-map/{START}?length=1&met=published-12": "expected 2 to 15 points to go",
    f"/cube-map/{OVER}?met=published-12": "expected a game in progress",
    "/position?q=nonsense": "expected one of position id",
    "/position?edit=1&p1=16": "expected at most 15 checkers",
}


@pytest.mark.parametrize("where", WRONG)
def test_wrong_addresses_say_what_was_expected(client: TestClient, where: str) -> None:
    assert WRONG[where] in read(client, where, 400).text
    path, mark, query = where.partition("?")
    assert WRONG[where] in client.get(f"{path}.json{mark}{query}").json()["error"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(max_size=40), st.text(max_size=8), st.text(max_size=8), st.sampled_from(["away", "cube", "owner", "met"])
)
def test_any_text(client: TestClient, text: str, roll: str, value: str, name: str) -> None:
    """Whatever is asked, the answer is a page, and nothing of it is taken for an element."""
    for where in ("position", "board", "where", "cube-map"):
        try:
            path = quote(text, safe="")
        except UnicodeEncodeError:
            return
        answer = client.get(f"/{where}/{path}", params={"roll": roll, name: value})
        assert answer.status_code in (200, 303, 307, 400, 404)
    answer = client.get(f"/position/{START}", params={"roll": roll, name: value, "play": text})
    assert answer.status_code in (200, 400, 404)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(-3, 3), min_size=26, max_size=26))
def test_any_checkers(client: TestClient, counts: list[int]) -> None:
    answer = client.get(f"/position/{','.join(map(str, counts))}", params={"roll": "52"})
    assert answer.status_code in (200, 400)


def test_tables_alone(client: TestClient, site_root: Path) -> None:
    rows = json.loads(succeeds(site_root, "probe", POSITION, "--format", "json"))
    assert client.get(f"/probe/{POSITION}.json").json() == rows
    assert rows[0]["source"] in read(client, f"/probe/{POSITION}").text
    assert f"/probe/{POSITION}" in read(client, f"/position/{POSITION}").links
    assert "expected a bearoff that a table" in read(client, f"/probe/{START}", 404).text
    read(client, "/probe/nonsense", 400)
