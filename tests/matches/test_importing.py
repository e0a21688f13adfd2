"""Tests of the page that takes match files: what comes of them, and what is refused."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from starlette.requests import Request

import bgdata
from bgdata.matches.pages import importing
from bgdata.matches.pages.import_process import LIBRARY, library_files
from bgdata.web.app import create_app
from bgdata.web.site import Limits, Site
from tests.subtests import each
from tests.web.reading import open_client, read, wait_until

if TYPE_CHECKING:
    from starlette.testclient import TestClient

TOKEN = "a-token-of-the-test"
PAGE = f"/import/{TOKEN}"
MATCH = """ 3 point match

 Game 1
 {anna} : 0                       ben : 0
  1) 31: 8/5 6/5                 41: 24/23 13/9
  2) 66: 24/18(2) 13/7(2)        32: 24/21 13/11
  3)  Doubles => 2                Drops
      Wins 1 point
"""
FOREIGN_FORM = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
HTML_NAME = "<img src=x onerror=alert(1)>"


def match_text(name: str = "anna", first: str = "8/5 6/5") -> bytes:
    """A match file whose first player has this name."""
    return MATCH.replace("{anna}", name).replace("8/5 6/5", first).encode()


@pytest.fixture(scope="module")
def shared_root(site_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with everything that the analysis of matches needs, to which tests write."""
    root = tmp_path_factory.mktemp("import") / "warehouse"
    kinds = ("bearoff_one_sided", "bearoff_gammon", "bearoff_two_sided", "network", "match_equity")
    for kind in kinds:
        shutil.copytree(site_root / kind, root / kind)
    return root


@pytest.fixture
def importing_client(shared_root: Path) -> Iterator[TestClient]:
    """A client of a site that accepts match files."""
    app = create_app(bgdata.open_warehouse(shared_root), Limits(upload_bytes=1 << 20), token=TOKEN)
    with open_client(app, follow_redirects=False) as client:
        yield client


def send(client: TestClient, *files: tuple[str, bytes], where: str = PAGE, **more: Any) -> Any:
    """Submit a form with files, each a name and its content, and return the response."""
    return client.post(where, files=[("file", file) for file in files], **more)


def zip_bytes(name: str, content: bytes) -> bytes:
    """A zip archive with one file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return packed.getvalue()


def wait_for_import(client: TestClient) -> dict[str, Any]:
    """Wait until the last import has ended, and return its state."""
    wait_until(lambda: client.get(f"{PAGE}.json").json()["state"] != "working", 240)
    state: dict[str, Any] = client.get(f"{PAGE}.json").json()
    return state


def test_import_that_ends_while_the_page_is_made_is_shown_as_working(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page may have read the library before the import ended, and only a page that says `working` is read again."""
    site = Site(bgdata.open_warehouse(tmp_path))
    importer = importing.Importer(site, TOKEN)
    importer.work = importing.ImportState("working", "starting")

    def end_meanwhile(_: object) -> list[Path]:
        importer.work.state = "done"
        return []

    monkeypatch.setattr(importing, "library_files", end_meanwhile)
    asked = {"type": "http", "path": PAGE, "path_params": {"token": TOKEN}, "query_string": b"", "headers": []}
    page = importer.page(site, Request(asked))
    assert page.shown["work"]["state"] == "working"
    assert importer.page(site, Request(asked)).shown["work"]["state"] == "done"


@pytest.mark.slow
def test_files_become_a_library_with_reports(importing_client: TestClient, shared_root: Path) -> None:
    """Imported files give reports. Names with HTML are escaped everywhere; a second import adds to the first, and known
    files are left out."""
    client = importing_client
    answer = send(client, ("first.mat", match_text(HTML_NAME)), ("notes.txt", b"no match at all"))
    assert (answer.status_code, answer.headers["location"]) == (303, PAGE)
    state = wait_for_import(client)
    assert (state["state"], state["error"]) == ("done", "")
    assert "notes.txt: left out: expected a match file, found none" in state["notes"]
    assert "1 matches in the library" in state["notes"]

    club = zip_bytes("club/second.mat", match_text("cora", "13/9"))
    dated = b'; [DT "2026-11-28"]\n\n' + match_text("dora", "13/10 6/5")
    send(client, ("again.mat", match_text(HTML_NAME)), ("club.zip", club), ("first.mat", dated))
    state = wait_for_import(client)
    assert (state["state"], state["error"]) == ("done", "")
    assert "again.mat: is in the library already" in state["notes"]
    assert "1 of 3 games were judged before" in state["notes"]
    files = sorted(path.name for path in library_files(bgdata.open_warehouse(shared_root)))
    assert files == ["club.zip", "first-2.mat", "first.mat"]

    library = client.get("/matches.json").json()
    assert {row["player_0"] for row in library["matches"]} == {HTML_NAME, "cora", "dora"}
    assert {row["player"] for row in library["players"]} == {HTML_NAME, "cora", "dora", "ben"}
    links = [link for link in read(client, PAGE).links if link.startswith(("/matches?", "/quiz?"))]
    assert len(links) >= 12
    games = (f"/game/matches/{LIBRARY}", f"/game/matches/{LIBRARY}/0")
    for where in (PAGE, "/matches", "/positions?source=matches", "/search?q=img", *games, *links):
        assert "<img src=x" not in client.get(where.partition("#")[0]).text, where

    report = client.get("/matches.json?player=ben").json()
    (ben,) = (row for row in library["players"] if row["player"] == "ben")
    assert ben["matches"] == 3
    (total,) = (row for row in report["report"] if row["part"] == "all")
    for name in ("decisions", "performance_rating", "pr"):
        assert total[name] == ben[name]
    matches = [row for row in report["report"] if row["part"] == "match"]
    assert len(matches) == 3
    assert report["worst"][0]["loss"] == max(row["loss"] for row in report["worst"])

    recent = client.get("/matches.json?player=ben&since=2026-11-28").json()
    recent_matches = [row for row in recent["report"] if row["part"] == "match"]
    assert recent_matches == [row for row in matches if "dora" in row["name"]], "the only match with a date"
    assert {row["match"] for row in recent["worst"]} < {row["match"] for row in report["worst"]}
    assert "No decision since then." in read(client, "/matches?player=ben&since=9999-01-01").text
    assert "<b>" not in client.get("/matches", params={"player": "ben", "since": "'\"><b>"}).text

    page = read(client, "/matches?player=ben")
    assert "Decisions of ben" in page.text
    assert f"/game/matches/{LIBRARY}/0?turn=1#board" in page.links
    for link in page.links:
        if not link.startswith(("/claims", "/match-equity", "#")):  # of what is not in this warehouse
            assert client.get(link.partition("#")[0]).status_code in (200, 303), link


@pytest.mark.slow
def test_hostile_archives_are_left_out(importing_client: TestClient, shared_root: Path) -> None:
    library = library_files(bgdata.open_warehouse(shared_root))
    send(
        importing_client,
        ("outside.zip", zip_bytes("../../outside.mat", match_text("eve"))),
        ("bomb.zip", zip_bytes("bomb.mat", b"\0" * (1 << 27))),
        ("torn.zip", b"PK\x03\x04torn"),
    )
    state = wait_for_import(importing_client)
    assert (state["state"], state["error"]) == ("failed", "expected a new file with matches, found none in 3")
    notes = " ".join(state["notes"])
    assert "outside.zip: left out: expected names inside the archive" in notes
    assert "bomb.zip: left out: expected at most" in notes
    assert "torn.zip: left out: expected a whole zip archive" in notes
    assert str(shared_root) not in notes
    assert library_files(bgdata.open_warehouse(shared_root)) == library
    assert not list(shared_root.rglob("*outside.mat"))
    assert not list((shared_root / "raw").glob(".incoming-*"))


@each(
    "name",
    ["../evil.mat", "a/b.mat", "..\\evil.mat", "/etc/cron.d/x", ".hidden", "C:evil.mat", "new\nline.mat", "x" * 201,
     " blank.mat", ".."],
)  # fmt: skip
def test_only_plain_file_names_are_accepted(name: str) -> None:
    with pytest.raises(bgdata.errors.UsageError, match=r"expected the plain name of a file, at most 200 bytes long"):
        importing.checked_name(name)


def test_path_as_a_name_is_refused_in_one_line(importing_client: TestClient, shared_root: Path) -> None:
    answer = send(importing_client, ("../../evil<b>.mat", match_text()), headers={"accept": "application/json"})
    assert answer.status_code == 400
    error = "expected the plain name of a file, at most 200 bytes long, got '../../evil<b>.mat'"
    assert answer.json()["error"] == error
    assert list(shared_root.parent.glob("*.mat")) == []


@each(
    ("headers", "status", "words"),
    [
        ({"host": "evil.example"}, 421, "as the host"),
        ({"origin": "https://evil.example"}, 403, "files from a page of this site"),
        ({"origin": "null"}, 403, "files from a page of this site"),
        (FOREIGN_FORM, 403, "files from a page of this site"),
        ({"sec-fetch-site": "same-site", "origin": "http://localhost"}, 403, "got another site"),
        ({"content-length": "x"}, 411, "content-length"),
        ({"content-length": "9" * 30}, 413, "at most 1,048,576 bytes"),
        ({"content-length": str((1 << 20) + 1)}, 413, "at most 1,048,576 bytes"),
    ],
)
def test_requests_from_other_sites_or_too_large_are_refused(
    importing_client: TestClient, headers: dict[str, str], status: int, words: str
) -> None:
    answer = send(importing_client, ("a.mat", match_text()), headers=headers)
    assert answer.status_code == status
    assert words in answer.text
    assert "content-security-policy" in answer.headers


def test_address_without_the_token_is_unknown(importing_client: TestClient) -> None:
    for where in ("/import/wrong", f"/import/{TOKEN[:-1]}", f"/import/{TOKEN}x", "/import/%C3%A9"):
        assert importing_client.get(where).status_code == 404
        answer = send(importing_client, ("a.mat", match_text()), where=where)
        assert answer.status_code == 404, where
        assert "expected a page of this site" in answer.text
    for where in ("/import", "/import/", f"{PAGE}/more"):
        assert importing_client.get(where).status_code == 404
    assert TOKEN not in importing_client.get("/").text + importing_client.get("/matches").text


def test_other_pages_accept_no_files(importing_client: TestClient) -> None:
    for where in ("/", "/matches", "/importer"):
        answer = send(importing_client, ("a.mat", match_text()), where=where)
        assert answer.status_code == 405
        assert "expected GET or HEAD" in answer.text
    assert importing_client.put(PAGE, content=b"x").status_code == 405


@each(
    ("form", "words"),
    {
        "three files": ({"files": [("file", (f"{number}.mat", b"x")) for number in range(3)]}, "Too many files"),
        "ply 3": ({"files": [("file", ("a.mat", b"x"))], "data": {"ply": "3"}}, "from 0 to 2 as ply"),
        "equal names": ({"files": [("file", ("a.mat", b"x")), ("file", ("A.mat", b"y"))]}, "one name twice"),
        "no file": ({"data": {"ply": "0"}}, "expected a file, got none"),
        "wrong boundary": (
            {"content": b"--x", "headers": {"content-type": "multipart/form-data; boundary=y"}},
            "expected a form",
        ),
        "no boundary": ({"content": b"--x", "headers": {"content-type": "multipart/form-data"}}, "expected a form"),
    },
)
def test_invalid_forms_are_refused(
    importing_client: TestClient, monkeypatch: pytest.MonkeyPatch, form: dict[str, Any], words: str
) -> None:
    monkeypatch.setattr(importing, "MAX_FILES", 2)
    monkeypatch.setattr(importing, "library_files", lambda _: [])
    answer = importing_client.post(PAGE, **form)
    assert answer.status_code == 400
    assert words in answer.text
    assert importing_client.get(f"{PAGE}.json").json()["state"] == "idle"


def test_second_import_is_refused_while_one_works(importing_client: TestClient) -> None:
    with importing_client.app.state.importer._lock:  # type: ignore[attr-defined]
        answer = send(importing_client, ("a.mat", match_text()))
    assert answer.status_code == 503
    assert "expected one import at a time" in answer.text


def test_process_that_dies_is_a_failure(importing_client: TestClient, shared_root: Path) -> None:
    """If the importing process dies, nothing of the import stays, and the next one may begin."""
    importer = importing_client.app.state.importer  # type: ignore[attr-defined]
    send(importing_client, ("late.mat", match_text("late")))
    importer._process.kill()
    state = wait_for_import(importing_client)
    assert state["state"] == "failed"
    assert "found that its process was ended" in state["error"]
    assert "message" in importing_client.get(PAGE).text
    assert importer._lock.acquire(timeout=30)
    importer._lock.release()
    assert not list((shared_root / "raw").glob(".incoming-*"))


def test_site_without_import_has_no_such_page(client: TestClient) -> None:
    assert client.get(PAGE).status_code == 404
    assert client.get("/import").status_code == 404
    assert send(client, ("a.mat", match_text())).status_code == 405


def test_unknown_players_and_analyses_are_named(client: TestClient) -> None:
    assert "no analysed decisions of 'nobody'" in read(client, "/matches?player=nobody", 404).text
    assert "from 1 to 99,999" in read(client, "/matches?page=0", 400).text
    player = client.get("/matches.json").json()["players"][0]["player"]
    answer = client.get("/matches.json", params={"player": player, "analysis": "none"})
    assert answer.status_code == 404
    assert "in match_analysis/'none'" in answer.json()["error"]
