"""Tests of the whole site: links, headers, refusals, and empty, damaged or changing warehouses."""

from __future__ import annotations

import errno
import http.client
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import AsyncMock, Mock
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import bgdata
from bgdata.game.position import Position
from bgdata.store.dataset import ImportedDataset
from bgdata.web import app as web_app
from bgdata.web import connections
from bgdata.web import site as site_module
from bgdata.web.app import HEADERS, create_app
from bgdata.web.openapi import ADDRESSES
from bgdata.web.search import own_address
from bgdata.web.site import Budget, Limits, Site, folders_in
from tests.command_line import POSITION
from tests.kept import own
from tests.subtests import each
from tests.web.reading import asked, inner_links, open_client, read, serving, wait_until

if TYPE_CHECKING:
    from starlette.routing import Router
    from starlette.testclient import TestClient

START = "4HPwATDgc/ABMA"
ROOTS = ("/table", "/game", "/file", "/table/bearoff_two_sided", "/table/selfplay/pubeval-20-seed-3")
PARTS = (
    "bearoff_two_sided", "3x3", "selfplay", "pubeval-20-seed-3", "r1-00000000", "manifest.json", "..", ".", "%2e%2e",
    "<script>alert(1)</script>", "'; drop table games; --", "current", "\x00", "a" * 300, "NaN", "../../etc/passwd",
)  # fmt: skip
PAGES = (
    "/",
    "/table",
    "/claims",
    "/players",
    "/openings?objective=double-match-point",
    "/openings/train?objective=double-match-point",
    "/quiz",
    "/matches",
    "/positions",
    f"/positions?like={START}",
    "/sql",
    f"/position/{START}",
)


@pytest.mark.slow
def test_every_link_has_a_page(client: TestClient) -> None:
    """Follow links from the home page through a few hundred pages, including every kind of page."""
    waiting = ["/", f"/position/{START}?roll=31", f"/position/{POSITION}", "/table/selfplay/pubeval-20-seed-3"]
    pages = set[str]()
    while waiting and len(pages) < 250:
        where = waiting.pop(0)
        if where in pages or where.startswith(("/file/", "/board/", "/sql?", "/openapi.json")):
            continue
        pages.add(where)
        waiting += inner_links(read(client, where), where)
    kinds = {where.partition("?")[0].strip("/").partition("/")[0] for where in pages}
    words = "table position claims players openings sql match-equity where cube-map race probe game"
    assert kinds >= {"", *words.split()}


@each("where", [*PAGES, "/nowhere", "/static/site.css", "/table/none", f"/board/{START}"])
def test_responses_have_security_headers(client: TestClient, where: str) -> None:
    answer = client.get(where)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_texts_are_compressed_and_files_are_not(client: TestClient) -> None:
    """Clients that cannot read gzip get plain text; parts of files stay parts."""
    for where in ("/claims", "/table.json", "/static/site.css", "/sql?q=from versions&format=csv"):
        answer = client.get(where)
        assert answer.headers["content-encoding"] == "gzip", where
        assert "accept-encoding" in answer.headers["vary"].lower()
        assert int(answer.headers["content-length"]) < len(answer.content), where
        bare = client.get(where, headers={"accept-encoding": "identity"})
        assert "content-encoding" not in bare.headers
        assert bare.content == answer.content
    version = client.get("/table/bearoff_two_sided/3x3.json").json()["name"]
    part = client.get(f"/file/{version}/table.parquet", headers={"range": "bytes=0-3"})
    assert (part.status_code, part.content, "content-encoding" in part.headers) == (206, b"PAR1", False)
    parquet = client.get("/sql?q=from versions&format=parquet")
    assert "content-encoding" not in parquet.headers


@each("where", PAGES)
def test_json_is_at_the_same_address(client: TestClient, where: str) -> None:
    path, mark, query = where.partition("?")
    by_address = client.get(f"{path}.json{mark}{query}") if path != "/" else client.get("/.json")
    by_header = client.get(where, headers={"accept": "application/json"})
    assert by_address.headers["content-type"] == by_header.headers["content-type"] == "application/json"
    assert by_address.json() == by_header.json()
    as_page = client.get(where, headers={"accept": "text/html,application/json;q=0.9"})
    assert "text/html" in as_page.headers["content-type"]


@each(
    ("changes", "status"),
    [
        ({}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}, 403),
        ({"sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}, 403),
        ({"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
    ],
)
def test_requests_by_other_sites_are_refused(client: TestClient, changes: dict[str, str], status: int) -> None:
    """A person may follow a link, but pictures, frames and scripts of other sites are refused."""
    picture = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
    answer = client.get("/", headers=picture | changes)
    assert answer.status_code == status
    assert ("got another site" in answer.text) == (status == 403)


@each("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_only_get_and_head_are_allowed(client: TestClient, method: str) -> None:
    answer = client.request(method, "/table")
    assert answer.status_code == 405
    assert "expected GET or HEAD" in answer.text


@each(
    ("host", "status"),
    [("evil.example", 421), ("evil.example:8000", 421), ("127.0.0.1:8000", 200), ("[::1]:8000", 200)],
)
def test_requests_for_other_hosts_are_refused(client: TestClient, host: str, status: int) -> None:
    assert client.get("/", headers={"host": host}).status_code == status


def test_invalid_requests_are_refused(client: TestClient) -> None:
    assert client.request("GET", "/", content=b"x").status_code == 413
    assert client.get("/search?q=" + "x" * 9000).status_code == 414
    assert client.head("/").status_code == 200
    assert client.get("/nowhere.json").json() == {"error": "expected a page of this site, got /nowhere"}


@each(
    "where",
    [
        "/static/../site.py", "/static/%2e%2e/site.py", "/file/../../etc/passwd", "/table/%2e%2e/%2e%2e",
        "/file/bearoff_two_sided/3x3/%2e%2e/manifest.json", "/table/bearoff_two_sided/..%2f..", "/table/<script>/x",
        "/game/selfplay/<script>/1", "/table/bearoff_two_sided/<script>", "/where/<script>", "/cube-map/<script>",
    ],
)  # fmt: skip
def test_paths_outside_the_warehouse_are_refused(client: TestClient, where: str) -> None:
    answer = client.get(where)
    assert answer.status_code in (400, 404), answer.text
    assert "<script>" not in answer.text
    assert "root:" not in answer.text


@each(
    ("text", "where"),
    [
        (START, f"/position/{START}"),
        ("start", "/position/start"),
        ("bearoff_two_sided", "/table/bearoff_two_sided"),
        ("bearoff_two_sided/3x3", "/table/bearoff_two_sided/3x3"),
        ("3x15", "/table/bearoff_gammon/3x15"),
        ("A12.luck", "/claims?name=A12.luck"),
        ("", "/"),
    ],
)
def test_search_redirects_to_the_found_page(client: TestClient, text: str, where: str) -> None:
    answer = client.get("/search", params={"q": text})
    assert (answer.status_code, answer.headers["location"]) == (303, where)
    assert client.get(where).status_code == 200


@each("name", ["games", "turns", "opening_book", "versions", "lineage", "bearoff_two_sided_3x3"])
def test_search_for_a_view_leads_to_its_rows(client: TestClient, name: str) -> None:
    where = search_target(client, name)
    assert where == f"/sql?q=from+{name}+limit+20"
    rows = client.get("/sql.json", params={"q": f"from {name} limit 20"}).json()
    assert rows
    assert client.get(where, headers={"accept": "application/json"}).json() == rows


def test_search_for_a_player_leads_to_its_scores(client: TestClient) -> None:
    player = client.get("/players.json").json()["scores"][0]["player_name"]
    answer = client.get(search_target(client, player), headers={"accept": "application/json"})
    assert {row["player_name"] for row in answer.json()["scores"]} == {player}


@each("notation", ["position_id", "match_id", "gnubg_id", "xgid", "key20", "board"])
def test_search_finds_a_position_in_any_notation(client: TestClient, notation: str) -> None:
    notations = client.get(f"/position/{START}.json?roll=31&away=3-5&plays=1").json()["show"][0]
    text = notations[notation]
    if notation == "match_id":
        text = f"{notations['position_id']}:{text}"
    where = search_target(client, text)
    assert where.startswith("/position/")
    assert client.get(f"{where}.json").json()["eval"][0]["position_id"] == START


def test_search_leads_to_the_report_of_a_player_of_matches(client: TestClient) -> None:
    """In any case of letters; a part of the name offers it."""
    player = client.get("/matches.json").json()["players"][0]["player"]
    assert search_target(client, player.upper()) == f"/matches?player={quote(player)}"
    rows = client.get("/search.json", params={"q": player[:-1]}).json()
    assert {"kind": "player", "name": player, "address": f"/matches?player={quote(player)}"} in rows


def test_search_knows_players_of_matches_by_alias(site_root: Path, client: TestClient, tmp_path: Path) -> None:
    player = client.get("/matches.json").json()["players"][0]["player"]
    root = tmp_path / "warehouse"
    root.mkdir()
    for folder in site_root.iterdir():
        if folder.is_dir():
            (root / folder.name).symlink_to(folder)
    (root / "players.toml").write_text(f'"{player}" = ["root mean square"]\n')
    with open_client(create_app(bgdata.open_warehouse(root)), follow_redirects=False) as client_with_alias:
        where = search_target(client_with_alias, "root mean square")
        assert where == "/matches?player=root+mean+square"
        assert client_with_alias.get(where).status_code == 200


def search_target(client: TestClient, text: str) -> str:
    """The address that a search redirects to."""
    answer = client.get("/search", params={"q": text})
    assert answer.status_code == 303, (text, answer.text)
    return answer.headers["location"]


@each("text", ["no such thing", "<script>", "A99", "//evil.example/elsewhere", "\x00", "é" * 100, '"><b>'])
def test_search_without_a_match_keeps_what_was_typed(client: TestClient, text: str) -> None:
    answer = client.get("/search", params={"q": text})
    assert answer.status_code == 400
    assert "<script>" not in answer.text
    assert "<b>" not in answer.text
    assert "expected a position in any notation, a table such as bearoff_two_sided/6x9" in answer.text
    assert f'value="{escape(text)}"' in answer.text.replace("&#34;", "&quot;")
    assert "got" in client.get("/search.json", params={"q": text}).json()["error"]


GNUBG_TEXT = """ GNU Backgammon  Position ID: 4HPwATDgc/ABMA
                 Match ID   : cIkFAAAAAAAE
 +13-14-15-16-17-18------19-20-21-22-23-24-+     O: gnubg"""
XGID = "XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10"


@each(
    ("text", "where"),
    [
        (f"look at {XGID}, please", f"/position/{XGID}"),
        (GNUBG_TEXT, "/position/4HPwATDgc/ABMA:cIkFAAAAAAAE"),
        (f"What about ({START})?", f"/position/{START}"),
        (f"http://127.0.0.1:8000/position/{START}?roll=31&away=3-5", f"/position/{START}?roll=31&away=3-5"),
        ("https://example.org/claims?name=A12", "/claims?name=A12"),
        (f"/cube-map/{START}", f"/cube-map/{START}"),
        ("//evil.example/position/start", "/position/start"),
        ("1-3", ""),
    ],
)
def test_search_finds_positions_in_texts_and_addresses(client: TestClient, text: str, where: str) -> None:
    answer = client.get("/search", params={"q": text})
    if where:
        assert answer.status_code == 303
        assert answer.headers["location"] == where
        assert client.get(where).status_code == 200
        assert [row["address"] for row in client.get("/search.json", params={"q": text}).json()] == [where]
    else:
        assert answer.status_code == 200


def test_search_knows_the_addresses_of_all_pages() -> None:
    """A search does not lead to pictures, files, streams, itself, or the description of the site."""
    not_pages = {"/", "/search", "/board", "/file", "/rollout-stream", "/choices-stream", "/openapi"}
    pages = {address.path.partition("/{")[0] for address in ADDRESSES} - not_pages
    assert "/quiz" in pages
    for path in pages:
        assert own_address(path) == path


def test_search_reads_opengammon_ids(client: TestClient) -> None:
    """The side to move is offered both ways; the start is the same for both, with the cube turned."""
    rows = client.get("/search.json", params={"q": "11ccccchhhjjjjj:66666888dddddoo:W1N:31"}).json()
    assert [row["address"] for row in rows] == [
        f"/position/{START}?roll=31&cube=2&owner=opponent",
        f"/position/{START}?roll=31&cube=2&owner=on_roll",
    ]
    board = list(Position(START).board)
    board[6], board[24], board[0], board[1] = 4, 3, 1, -1
    query = f"select ogid({board}, die1 := 5, die2 := 2) as id"
    (row,) = client.get("/sql.json", params={"q": query}).json()
    black, white = client.get("/search.json", params={"q": row["id"]}).json()
    assert black["address"].startswith(f"/position/{Position(board).id}?roll=52")
    assert white["address"].startswith(f"/position/{Position(board).flip().id}?roll=52")


@each(
    ("text", "expected"),
    [
        ("31", {f"/position/{START}?roll=31", "/openings?roll=31"}),
        ("13", {f"/position/{START}?roll=31", "/openings?roll=31"}),
        ("31 opening", {"/openings?roll=31"}),
        ("Opening 3-1", {"/openings?roll=31"}),
        ("44", {f"/position/{START}?roll=44"}),
        ("bearoff", {"/table/bearoff_two_sided", "/table/bearoff_one_sided"}),
        ("Gammon", {"/table/bearoff_gammon"}),
        ("claims", {"/table/claims"}),
        ("pubev", {"/table/selfplay/pubeval-20-seed-3"}),
        ("gnubg", {"/table/gnubg_benchmark"}),
    ],
)
def test_search_offers_what_it_half_knows(client: TestClient, text: str, expected: set[str]) -> None:
    rows = client.get("/search.json", params={"q": text}).json()
    addresses = {row["address"] for row in rows}
    assert expected <= addresses, addresses
    answer = client.get("/search", params={"q": text})
    if answer.status_code == 200:
        assert set(read(client, f"/search?q={text}").links) >= addresses
    for where in addresses:
        assert client.get(where).status_code == 200, where


def test_search_offers_players_and_claims_by_a_part_of_their_names(client: TestClient) -> None:
    (player, *_) = {row["player_name"] for row in client.get("/players.json").json()["scores"]}
    rows = client.get("/search.json", params={"q": player[1:].upper()}).json()
    assert {"kind": "player", "name": player, "address": f"/players?player={quote(player)}"} in rows
    claim = client.get("/claims.json").json()[0]
    rows = client.get("/search.json", params={"q": claim["claim"][:-1].lower()}).json()
    assert claim["claim"] in {row["name"].partition(":")[0] for row in rows if row["kind"] == "claim"}


def test_empty_warehouse_has_pages(empty: TestClient) -> None:
    assert "Nothing is built yet" in read(empty, "/").text
    read(empty, f"/position/{START}?roll=31")  # the network comes with the package
    read(empty, f"/where/{START}")
    for kind in bgdata.all_kinds():
        assert "None." in read(empty, f"/table/{kind}").text
    assert "No player has been scored here" in read(empty, "/players").text
    assert "No such book here. bgdata openings rolls it out" in read(empty, "/openings").text
    text = read(empty, "/openings?objective=double-match-point").text
    assert "bgdata openings --objective double-match-point rolls it out" in text
    assert "expected the register of claims in warehouse, found none" in read(empty, "/claims", 404).text
    assert "no match equity table" in read(empty, "/match-equity", 404).text
    assert "No cube: no match equity table" in read(empty, f"/position/{START}?away=3-5").text
    assert empty.get("/sql.json", params={"q": "select 1 as one"}).json() == [{"one": 1}]
    names = {
        "kind": "selfplay",
        "variant": "x",
        "version": "r1-01234567",
        "name": "table.parquet",
        "number": "1",
        "table": "turns",
    }
    for path in (address.path for address in ADDRESSES):
        where = path.replace("{text:path}", POSITION).format(**names)
        assert empty.get(where).status_code in (200, 303, 404), where


def test_missing_warehouse_is_named_on_every_page(tmp_path: Path) -> None:
    with open_client(create_app(bgdata.open_warehouse(tmp_path / "none"))) as client:
        assert "Nothing is built yet" in read(client, "/").text
        text = read(client, f"/position/{START}", 404).text
        assert "expected a warehouse in warehouse, found no such folder" in text
        assert str(tmp_path) not in text


def test_damaged_version_is_named(warehouse: bgdata.Warehouse) -> None:
    root = warehouse.root
    site = open_client(create_app(warehouse))
    table = warehouse.open("bearoff_gammon", "3x15")
    own(table.parquet).write_bytes(table.parquet.read_bytes()[:-1])
    other = own(warehouse.open("bearoff_one_sided", "3x15").folder / "manifest.json")
    other.write_text("{}")
    page = read(site, "/table/bearoff_gammon/3x15")
    assert "This version is damaged: expected" in page.text
    assert "found" in page.text
    assert "1 damaged" in read(site, "/").text
    assert "expected a manifest of format 1" in read(site, "/table/bearoff_one_sided/3x15", 500).text
    answers = [
        site.get(where).text for where in ("/table", "/table/bearoff_gammon/3x15", "/table/bearoff_one_sided/3x15")
    ]
    assert all(str(root) not in text for text in answers)
    damaged = [row for row in site.get("/table.json").json() if row["damage"]]
    assert [row["dataset"] for row in damaged] == ["bearoff_gammon", "bearoff_one_sided"]


@pytest.mark.slow
def test_pages_follow_changes_of_the_warehouse(warehouse: bgdata.Warehouse) -> None:
    with open_client(create_app(warehouse)) as client:
        kind = warehouse.kinds["bearoff_two_sided"]
        bigger = kind.smallest.with_changes({"checkers": 4})
        assert client.get("/table/bearoff_two_sided/3x4").status_code == 404
        count = "select count(*) as n from bearoff_two_sided where variant = '3x4'"
        assert client.get("/sql.json", params={"q": count}).json() == [{"n": 0}]
        built = warehouse.build(kind.name, bigger)
        assert client.get("/table/bearoff_two_sided/3x4.json").json()["name"] == built.name
        assert client.get("/sql.json", params={"q": count}).json() == [{"n": built.manifest.rows}]
        before = client.get(f"/position/{POSITION}.json").json()["probe"]
        for name in ("3x3", "3x4", "6x6"):
            shutil.rmtree(warehouse.root / kind.name / name)
        assert client.get("/table/bearoff_two_sided/3x4").status_code == 404
        after = client.get(f"/position/{POSITION}.json").json()["probe"]
        assert [row["method"] for row in before] == ["exact", "combined"]
        assert [row["method"] for row in after] == ["combined"]


def test_home_page_answers_while_others_are_loaded(site_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other pages wait until they are loaded."""
    may_go_on, load = threading.Event(), web_app.load_routes

    def slowly(site: Site, *, is_warm: bool, importer: None) -> Router:
        may_go_on.wait(60)
        return load(site, is_warm=is_warm, importer=importer)

    monkeypatch.setattr(web_app, "load_routes", slowly)
    with serving(create_app(bgdata.open_warehouse(site_root), is_warm=True)) as port, ThreadPoolExecutor(1) as pool:

        def status(where: str) -> int:
            with asked(port, where) as answer:
                return answer.status

        table = pool.submit(status, "/table")
        assert [status(where) for where in ("/", "/static/site.css", "/.json")] == [200] * 3
        assert not table.done()
        may_go_on.set()
        assert table.result(60) == 200
        assert [status(where) for where in (f"/position/{START}", "/nowhere", "/table/")] == [200, 404, 307]


def test_warm_site_has_opened_its_connection_for_queries(site_root: Path, tmp_path: Path) -> None:
    """A missing warehouse is reported by the pages, not by the start."""
    app = create_app(bgdata.open_warehouse(site_root), is_warm=True)
    with open_client(app) as client:
        assert client.get("/table").status_code == 200
        wait_until(lambda: app.state.site._connection is not None, 120)
    web_app.warm_up_queries(Site(bgdata.open_warehouse(tmp_path / "none")))


def test_where_is_in_a_fixed_order(client: TestClient, site_root: Path) -> None:
    """By table and variant, whichever server answers."""
    rows = client.get(f"/where/{START}.json").json()
    places = [(row["table"], row["variant"]) for row in rows]
    assert places == sorted(places)
    with open_client(create_app(bgdata.open_warehouse(site_root))) as other:
        assert other.get(f"/where/{START}.json").json() == rows


def test_home_page_answers_if_others_cannot_be_loaded(site_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(web_app, "load_routes")
    app = create_app(bgdata.open_warehouse(site_root))
    with open_client(app, raise_server_exceptions=False) as client:
        assert client.get("/").status_code == 200
        for _ in range(2):
            answer = client.get("/table")
            assert answer.status_code == 500
            assert "the server could not make this page" in answer.text


def test_home_page_does_not_import_slow_modules() -> None:
    """Modules for computing, drawing, training and flows are slow to load."""
    program = (
        "import sys, bgdata; from pathlib import Path; from bgdata.web.app import create_app; "
        "from bgdata.web.home import home; app = create_app(bgdata.open_warehouse(Path('none'))); "
        "home(app.state.site, None); print(*sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = {"dask", "matplotlib", "numba", "onnx", "onnxruntime", "pandas", "prefect", "sphinx", "torch"}
    assert heavy.isdisjoint(result.stdout.split())


def test_request_looks_once_whether_the_warehouse_has_changed(site_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next request looks again; outside of requests every look counts."""
    looks: list[Path] = []

    def folders_of(folder: Path) -> list[os.DirEntry[str]]:
        looks.append(folder)
        return folders_in(folder)

    app = create_app(bgdata.open_warehouse(site_root))
    monkeypatch.setattr(site_module, "folders_in", folders_of)
    with open_client(app) as client:
        for number in (1, 2):
            assert client.get(f"/position/{START}?roll=31").status_code == 200
            assert looks.count(site_root) == number
    with app.state.site.request():
        assert app.state.site.stamp == app.state.site.stamp
    assert looks.count(site_root) == 3
    assert app.state.site.stamp == app.state.site.stamp
    assert looks.count(site_root) == 5


def test_answers_are_cached_until_the_warehouse_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only recently used answers are kept. The stamp depends on kinds, variants and versions alone."""
    site = Site(bgdata.open_warehouse(tmp_path / "w"))
    monkeypatch.setattr(site_module, "MAX_KEPT", 3)
    made: list[int] = []
    for number in (1, 2, 3, 1, 4, 5, 1, 4, 5, 2):
        site.keep(number, partial(made.append, number))
    assert made == [1, 2, 3, 4, 5, 2]
    stamps = [site.stamp]
    assert site.stamp == stamps[0]
    for name in ("claims", "claims/variant", "claims/variant/r1-00000000"):
        (tmp_path / "w" / name).mkdir(parents=True)
        stamps.append(site.stamp)
        assert site.stamp == stamps[-1]
    (tmp_path / "w/claims/variant/r1-00000000/manifest.json").write_text("{}")
    assert site.stamp == stamps[-1]
    assert len(set(stamps)) == 4
    (tmp_path / "w/.staging").mkdir()
    stamps.append(site.stamp)
    (tmp_path / "w/.staging/part").mkdir()  # part of a build
    assert site.stamp == stamps[-1]
    monkeypatch.setattr(os, "scandir", Mock(side_effect=PermissionError))
    assert folders_in(tmp_path) == []


def test_internal_error_has_no_details(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer has the usual headers and JSON; the log contains the details."""
    monkeypatch.setattr(Site, "charge", Mock(side_effect=ZeroDivisionError("a secret")))
    for where, kind in (("/table", "text/html"), ("/table.json", "application/json")):
        answer = client.get(where)
        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (500, kind)
        assert "the server could not make this page" in answer.text
        assert "secret" not in answer.text
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_sixty_concurrent_clients_are_answered(site_root: Path) -> None:
    """All clients connect to a real server before the first request."""
    addresses = [f"/position/{START}?roll={high}{low}" for high in range(1, 7) for low in range(1, high)]
    addresses += [f"/probe/{POSITION}", "/table", "/sql?q=select%2042%20as%20n", f"/board/{START}", "/race"] * 9
    connected = threading.Barrier(len(addresses))
    with serving(create_app(bgdata.open_warehouse(site_root))) as port:

        def answer(where: str, *, is_crowd: bool = True) -> tuple[int, bytes]:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.connect()
            if is_crowd:
                connected.wait(60)
            connection.request("GET", where)
            response = connection.getresponse()
            body = response.read()
            connection.close()
            return response.status, body

        with ThreadPoolExecutor(len(addresses)) as pool:
            answers = list(pool.map(answer, addresses))
        assert len(addresses) == 60
        assert {status for status, _ in answers} == {200}
        alone = {where: answer(where, is_crowd=False) for where in dict.fromkeys(addresses)}
        assert answers == [alone[where] for where in addresses]


def test_names_from_others_are_escaped(warehouse: bgdata.Warehouse, tmp_path: Path) -> None:
    evil = tmp_path / "<script>alert(1)<|script>.txt"
    evil.write_text(f"{START}\n")
    kind = warehouse.kinds["positions"]
    assert isinstance(kind, ImportedDataset)
    warehouse.build("positions", kind.parameters_of([evil], "evil"), files=[evil])
    with open_client(create_app(warehouse)) as client:
        page = read(client, "/table/positions/evil")
        assert "<script>alert(1)<|script>.txt" in page.text
        assert "<script>alert" not in client.get("/table/positions/evil").text


def test_names_of_views_are_escaped(empty: TestClient) -> None:
    """Our views have no such names, but pages escape them anyway."""
    evil = "<script>alert(1)</script>"
    site = empty.app.state.site  # type: ignore[attr-defined]
    site.rows("select 1")
    site._connection[1].execute(f'create view "{evil}" as select 1 as "{evil}", 2 as """<img src=x>"')
    site._connection[1].execute(f"""comment on view "{evil}" is '{evil}'""")
    page, text = read(empty, "/sql"), empty.get("/sql").text
    assert page.text.count(evil) == 4
    text += empty.get(search_target(empty, evil)).text
    assert "<script>alert" not in text
    assert "<img" not in text


@example(["", "<script>alert(1)</script>", "manifest.json"], "/table")
@given(st.lists(st.text(max_size=12) | st.sampled_from(PARTS), min_size=1, max_size=4), st.sampled_from(ROOTS))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_name_of_a_table_has_a_page_or_error(client: TestClient, names: list[str], root: str) -> None:
    try:
        where = "/".join([root, *(quote(name, safe="") for name in names)])
    except UnicodeEncodeError:
        return
    for path in (where, f"/search?q={quote('/'.join(names), safe='')}"):
        answer = client.get(path)
        assert answer.status_code in (200, 303, 307, 400, 404), path
        assert "<script>alert" not in answer.text
        assert "root:" not in answer.text
        if answer.status_code >= 400:
            assert "expected" in answer.text or "no " in answer.text, path


def test_budgets_refill_and_count_requests_in_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Concurrent requests cannot all pass before the first is charged."""
    now = [1000.0]
    monkeypatch.setattr("bgdata.web.site.time.monotonic", lambda: now[0])
    budget = Budget(Limits(client_seconds=10.0, client_share=0.5))
    assert budget.seconds_left("a") == 10.0
    budget.spend("a", 12.0)
    assert (budget.seconds_left("a"), budget.seconds_left("b")) == (-2.0, 10.0)
    now[0] += 6.0
    assert budget.seconds_left("a") == 1.0
    now[0] += 1000.0
    assert budget.seconds_left("a") == 10.0
    budget = Budget(Limits(client_seconds=2.0, request_seconds=1.0, client_share=0.0))
    with budget.spending("a"), budget.spending("a"):
        with pytest.raises(bgdata.errors.TooBusyError, match="expected fewer questions at once"):
            budget.spending("a").__enter__()
        with budget.spending("b"):
            pass
    assert budget.seconds_left("a") == 2.0
    with budget.spending("a"):
        now[0] += 1.5
        assert budget.seconds_left("a") == 0.5
    assert budget.seconds_left("a") == 0.5


def test_remote_clients_have_a_budget(small_root: Path) -> None:
    app = create_app(bgdata.open_warehouse(small_root), Limits(client_seconds=0.0), hosts=())
    with open_client(app, base_url="http://any.example") as client:
        assert read(client, "/", 503).text.count("expected fewer questions at once") == 1


def test_second_computation_is_refused_while_one_runs(small_root: Path) -> None:
    site = Site(bgdata.open_warehouse(small_root), Limits(wait_seconds=0.01))
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with site.player():
            entered.set()
            leave.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait()
    try:
        with pytest.raises(bgdata.errors.TooBusyError), site.player():
            pass
    finally:
        leave.set()
        holder.join()


REQUEST = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    ("data", "answer"),
    [(b"", b""), (b"GET / HT", b""), (REQUEST + REQUEST[:9], b"HTTP/1.1 200")],
    ids=["before the first request", "during one", "after an answer"],
)
def test_idle_connections_are_closed(
    small_root: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, answer: bytes
) -> None:
    monkeypatch.setattr(connections, "PATIENCE_SECONDS", 0.3)
    with serving(create_app(bgdata.open_warehouse(small_root))) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
            client.sendall(data)
            received = b"".join(iter(partial(client.recv, 1 << 16), b""))
        assert received.startswith(answer)
        assert bool(received) == bool(answer)
        with asked(port, "/") as response:
            assert response.status == 200


async def large(scope: Any, _: Any, send: Any) -> None:
    """A site whose answers are larger than socket buffers."""
    if scope["type"] == "http":
        size = 1 if scope["path"] == "/small" else 20_000_000
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * size})


def test_connections_with_unread_answers_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise such connections would stay open forever."""
    monkeypatch.setattr(connections, "PATIENCE_SECONDS", 0.3)
    monkeypatch.setattr(connections, "most_connections", lambda: 1)
    with serving(large) as port, socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")

        def is_answered() -> bool:
            with suppress(http.client.HTTPException, ConnectionError), asked(port, "/small") as answer:
                return answer.read() == b"x"
            return False

        wait_until(is_answered)


@pytest.mark.parametrize(("n_others", "n_answers"), [(0, 3), (1, 1)])
def test_many_requests_of_one_client_keep_no_other_out(
    monkeypatch: pytest.MonkeyPatch, n_others: int, n_answers: int
) -> None:
    """While many connections are open, each is closed after an answer, also if it has sent more requests."""
    monkeypatch.setattr(connections, "PATIENCE_SECONDS", 0.3)
    monkeypatch.setattr(connections, "most_connections", lambda: 2)
    with serving(large) as port, ExitStack() as stack:
        for _ in range(n_others):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
        client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
        client.sendall(b"GET /small HTTP/1.1\r\nhost: localhost\r\n\r\n" * 3)
        received = b"".join(iter(partial(client.recv, 1 << 16), b""))
        assert received.count(b"HTTP/1.1 200") == n_answers


def test_slowly_read_answer_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PATIENCE_SECONDS", 0.3)
    with serving(large) as port, asked(port, "/") as answer:
        received = 0
        while piece := answer.read(2_000_000):
            received += len(piece)
            time.sleep(0.1)
    assert received == 20_000_000


def test_connections_beyond_the_limit_are_closed(small_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other connections are still answered."""
    monkeypatch.setattr(connections, "most_connections", lambda: 2)
    with (
        serving(create_app(bgdata.open_warehouse(small_root))) as port,
        socket.create_connection(("127.0.0.1", port), timeout=30),
    ):
        with asked(port, "/") as answer:
            assert answer.status == 200
        with (
            socket.create_connection(("127.0.0.1", port), timeout=30),
            socket.create_connection(("127.0.0.1", port), timeout=30) as third,
        ):
            assert third.recv(1) == b""
    assert connections.most_connections() == 2


def test_missing_threads_memory_and_files_are_reported_as_too_many_requests(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Pages and static files need threads; other errors stay internal errors."""
    monkeypatch.setattr("anyio.to_thread.run_sync", AsyncMock(side_effect=RuntimeError("can't start new thread")))
    for address in ("/position/start", "/static/site.css"):
        assert "expected few requests at once" in client.get(address).text
        assert client.get(address).status_code == 503
    monkeypatch.undo()
    for number in (errno.ENOMEM, errno.EMFILE):
        monkeypatch.setattr("bgdata.web.site.os.scandir", Mock(side_effect=OSError(number, "none left")))
        assert client.get("/").status_code == 503
    assert caplog.records == []
    monkeypatch.setattr("anyio.to_thread.run_sync", AsyncMock(side_effect=RuntimeError("another one")))
    with pytest.raises(RuntimeError, match="another one"):
        client.get("/static/site.css")
